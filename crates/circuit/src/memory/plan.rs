//! How a memory is kept, and what it costs: from its size, the accesses of its life and a bound on its failure.
//!
//! All figures are exact, and a test compares them with what runs take. docs/protocols/ram.md has the derivation of the stash.

use super::rows::{inside_ands, lookup_ands, store_ands};
use super::waksman::switches;

/// Most blocks of a memory.
pub const MAX_BLOCKS: usize = 1 << 24;

/// Most bits of all blocks of a memory together.
const MAX_BITS: usize = 1 << 32;

/// Largest [`Needs::epsilon`].
pub const MAX_EPSILON: u32 = 128;

/// [`Needs::most_awake`] of a memory that asks for nothing else: about 70 MB with a backend that packs.
const MOST_AWAKE: usize = 1 << 20;

/// Most trees, and most positions in a block as a power of two.
const MAX_TREES: usize = 24;
const MAX_FACTOR: usize = 16;

/// Blocks of a bucket.
const BUCKET: usize = 2;

/// What is asked of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Rows of the memory.
    pub blocks: usize,
    /// Bits of each.
    pub width: usize,
    /// Accesses of its life, at most; those that fill it are counted besides.
    pub accesses: u64,
    /// Whether it begins with given rows, and not with zeros.
    pub is_given: bool,
    /// It fails with a probability of at most 2^-epsilon in its life.
    pub epsilon: u32,
    /// The ANDs that take as long as one opening, for the choice between layouts.
    pub ands_per_open: u64,
    /// Wires of each tree that stay awake between two accesses, with a machine that packs those that rest.
    pub most_awake: usize,
}

impl Needs {
    /// A memory of zeros with the usual bound, 2^-40, chosen by ANDs alone.
    #[must_use]
    pub const fn new(blocks: usize, width: usize, accesses: u64) -> Needs {
        Needs {
            blocks,
            width,
            accesses,
            is_given: false,
            epsilon: 40,
            ands_per_open: 0,
            most_awake: MOST_AWAKE,
        }
    }
}

/// How a memory is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Every access goes over all rows.
    Scan,
    /// Circuit ORAM. With one tree, the positions of its blocks are scanned; each further tree holds the positions of the one
    /// before, 2^`factor` in a block.
    Trees {
        /// Trees.
        trees: usize,
        /// Positions in a block of a further tree, as a power of two.
        factor: usize,
    },
    /// Square-root ORAM. With one level, the positions of its rows are scanned; each further level holds the positions of the one
    /// before, 2^`factor` in a block.
    SquareRoot {
        /// Levels.
        levels: usize,
        /// Positions in a block of a further level, as a power of two.
        factor: usize,
        /// Accesses between two shuffles.
        period: usize,
    },
}

/// How a memory is kept that meets certain needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What is asked of it.
    pub needs: Needs,
    /// How it is kept.
    pub layout: Layout,
    /// The trees, that of the rows first.
    pub trees: Vec<TreeShape>,
    /// The levels of square-root ORAM, that of the rows first.
    pub levels: Vec<LevelShape>,
}

/// How a memory is there when a run comes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// It begins with zeros.
    Zeros,
    /// It begins with given rows.
    Rows,
    /// It was put away; it wakes as far as accesses come to it.
    Found,
}

/// What a step takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    /// ANDs.
    pub ands: u64,
    /// Openings to both, each of which waits for the peer.
    pub opens: u64,
    /// Bits that each party enters: those that are tossed, and those of permutations.
    pub tossed: u64,
}

impl Price {
    /// Both.
    #[must_use]
    pub const fn and(self, other: Price) -> Price {
        Price {
            ands: self.ands.saturating_add(other.ands),
            opens: self.opens.saturating_add(other.opens),
            tossed: self.tossed.saturating_add(other.tossed),
        }
    }

    /// So many times as much.
    #[must_use]
    pub const fn times(self, times: u64) -> Price {
        Price {
            ands: self.ands.saturating_mul(times),
            opens: self.opens.saturating_mul(times),
            tossed: self.tossed.saturating_mul(times),
        }
    }

    /// In ANDs, a tossed bit being worth two.
    #[must_use]
    pub fn worth(self, ands_per_open: u64) -> u128 {
        let opens = u128::from(self.opens) * u128::from(ands_per_open);
        u128::from(self.ands) + 2 * u128::from(self.tossed) + opens
    }
}

impl Plan {
    /// The plan that takes least in the life of the memory, a tossed bit being worth two ANDs. `None` for no blocks, more than
    /// [`MAX_BLOCKS`], more than 2^32 bits in all of them, or an epsilon above 128.
    #[must_use]
    pub fn cheapest(needs: Needs) -> Option<Plan> {
        let factors = || (1..=6).map(|factor| (2..=8, factor));
        let nested = factors().flat_map(|(trees, factor)| trees.map(move |trees| (trees, factor)));
        let nested: Vec<_> = std::iter::once((1, 1)).chain(nested).collect();
        let trees = nested.iter().map(|&(trees, factor)| Layout::Trees { trees, factor });
        let trees = std::iter::once(Layout::Scan).chain(trees);
        let trees = trees.filter_map(|layout| Plan::new(needs, layout));
        let roots = nested.iter().filter_map(|&(levels, factor)| Plan::root(needs, levels, factor));
        trees.chain(roots).min_by_key(Plan::worth)
    }

    /// The plan of square-root ORAM with so many levels whose period takes least; `None` as of [`Plan::new`].
    #[must_use]
    pub fn root(needs: Needs, levels: usize, factor: usize) -> Option<Plan> {
        let of = |period: usize| Plan::new(needs, Layout::SquareRoot { levels, factor, period });
        let any = of(1)?;
        // T^2 = 2 S / c for a shuffle that takes S and c for each entry of a stash; then periods of one length.
        let shuffle = any.shuffle().worth(needs.ands_per_open);
        let best = (2 * shuffle / u128::from(any.stash_ands())).isqrt() as u64;
        let most = any.levels[levels - 1].blocks as u64;
        let accesses = needs.accesses.max(1);
        let periods = accesses.div_ceil(best.clamp(1, most));
        let periods = [periods, periods.saturating_sub(1).max(1)];
        let plans = periods.into_iter().filter_map(|count| of(accesses.div_ceil(count) as usize));
        plans.min_by_key(Plan::worth)
    }

    /// The plan of a layout; `None` if the memory is too small for it, and for needs that have no [`Plan::cheapest`].
    #[must_use]
    pub fn new(needs: Needs, layout: Layout) -> Option<Plan> {
        let is_wide = needs.blocks.checked_mul(needs.width).is_none_or(|bits| bits > MAX_BITS);
        let has_blocks = (1..=MAX_BLOCKS).contains(&needs.blocks);
        if !has_blocks || is_wide || needs.epsilon > MAX_EPSILON {
            return None;
        }
        let (count, factor) = match layout {
            Layout::Scan => {
                return Some(Plan { needs, layout, trees: Vec::new(), levels: Vec::new() });
            }
            Layout::Trees { trees, factor } => (trees, factor),
            Layout::SquareRoot { levels, factor, .. } => (levels, factor),
        };
        if !(1..=MAX_TREES).contains(&count) || !(1..=MAX_FACTOR).contains(&factor) {
            return None;
        }
        let up = |tree: usize| match 1usize.checked_shl((tree * factor) as u32) {
            Some(of_one) => needs.blocks.div_ceil(of_one),
            None => 1,
        };
        if up(count - 1) < 2 || needs.width == 0 {
            return None;
        }
        if let Layout::SquareRoot { period, .. } = layout {
            let mut levels: Vec<LevelShape> = Vec::with_capacity(count);
            for level in 0..count {
                let width = levels.last().map_or(needs.width, |below| below.index() << factor);
                levels.push(LevelShape { blocks: up(level), width });
            }
            let has_period = (1..=levels[count - 1].blocks).contains(&period);
            return has_period.then_some(Plan { needs, layout, trees: Vec::new(), levels });
        }
        let filled = if needs.is_given { (0..count).map(|tree| up(tree) as u128).sum() } else { 0 };
        let operations = u128::from(needs.accesses) * count as u128 + filled;
        let mut trees: Vec<TreeShape> = Vec::with_capacity(count);
        for tree in 0..count {
            let width = trees.last().map_or(needs.width, |below| below.position() << factor);
            let stash = stash(needs.epsilon, operations, up(tree));
            trees.push(TreeShape::new(up(tree), width, BUCKET, stash));
        }
        Some(Plan { needs, layout, trees, levels: Vec::new() })
    }

    /// The same layout with another bound; `None` for an epsilon above 128.
    #[must_use]
    pub fn with_epsilon(&self, epsilon: u32) -> Option<Plan> {
        Plan::new(Needs { epsilon, ..self.needs }, self.layout)
    }

    /// What an access takes with an index of so many bits: a read, a write, or an update without what its function takes. With square-root ORAM
    /// that is the first access of a period: see [`Plan::upkeep`].
    #[must_use]
    pub fn access(&self, index: usize, kind: Kind) -> Price {
        let Needs { blocks, width, .. } = self.needs;
        let factor = match self.layout {
            Layout::Trees { factor, .. } => factor,
            Layout::SquareRoot { factor, .. } => return self.root_access(index, kind, factor),
            Layout::Scan => 0,
        };
        if self.trees.is_empty() {
            let (read, write) =
                (lookup_ands(blocks, width, index), store_ands(blocks, width, index));
            let ands = match kind {
                Kind::Read => read,
                Kind::Write => write,
                Kind::Update => read + write,
            };
            return Price { ands, ..Price::default() };
        };
        let mut ands = if kind == Kind::Write { width as u64 } else { 0 };
        if let Some(inside) = inside_ands(blocks, index) {
            ands += inside + (self.trees[0].index() + 2 * width) as u64;
        }
        let mut tossed = 0;
        for (i, tree) in self.trees.iter().enumerate() {
            // Where the block is, or is to be if it was never seen.
            let (rows, digits) = match self.trees.get(i + 1) {
                Some(_) => (1 << factor, factor),
                None => (tree.blocks, tree.index()),
            };
            let position = tree.position();
            ands += lookup_ands(rows, position, digits) + store_ands(rows, position, digits);
            ands += tree.depth as u64 + tree.access_ands();
            tossed += 2 * tree.depth as u64;
        }
        Price { ands, opens: self.trees.len() as u64, tossed }
    }

    /// An access to square-root ORAM with empty stashes.
    fn root_access(&self, index: usize, kind: Kind, factor: usize) -> Price {
        let Needs { blocks, width, .. } = self.needs;
        let mut ands = if kind == Kind::Write { width as u64 } else { 0 };
        if let Some(inside) = inside_ands(blocks, index) {
            ands += inside + (self.levels[0].index() + 2 * width) as u64;
        }
        for pair in self.levels.windows(2) {
            // The new block, if it is the one; the position in it, or the first one, and whose that is.
            let digits = pair[0].index();
            ands += pair[1].width as u64 + lookup_ands(1 << factor, digits, factor);
            ands += 2 * digits as u64;
        }
        let last = self.levels[self.levels.len() - 1];
        // The row that is asked for, the first that was not used, and the position.
        ands += store_ands(last.blocks, last.index(), last.index()) + last.blocks as u64 - 1;
        Price { ands, opens: self.levels.len() as u64, tossed: 0 }
    }

    /// What so many accesses take together besides [`Plan::access`] of each: the stashes of square-root ORAM, which grow, and its shuffles.
    #[must_use]
    pub fn upkeep(&self, accesses: u64) -> Price {
        let (full, rest) = self.periods(accesses);
        let Layout::SquareRoot { period, .. } = self.layout else {
            return Price::default();
        };
        let each = self.stashes(period as u64).and(self.shuffle());
        each.times(full).and(self.stashes(rest))
    }

    /// [`Plan::upkeep`] of so many accesses that do not begin the memory: at most, wherever in its life they come.
    #[must_use]
    pub fn upkeep_later(&self, accesses: u64) -> Price {
        let Layout::SquareRoot { period, .. } = self.layout else {
            return Price::default();
        };
        let period = period as u64;
        let (full, rest) = (accesses / period, accesses % period);
        // Any period long stretch finds each size of the stashes once; what is beside it, the last ones.
        let late = self.stashes(period).ands - self.stashes(period - rest).ands;
        let stashes =
            self.stashes(period).times(full).and(Price { ands: late, ..Price::default() });
        stashes.and(self.shuffle().times(accesses.div_ceil(period)))
    }

    /// ANDs of [`Plan::upkeep_later`] that so many accesses do not take on average over a long life, in which each is the first of a period as
    /// often as any other.
    #[must_use]
    pub fn upkeep_spare(&self, accesses: u64) -> u64 {
        let Layout::SquareRoot { period, .. } = self.layout else {
            return 0;
        };
        let each = self.stashes(period as u64).and(self.shuffle()).ands;
        let mean = u128::from(each) * u128::from(accesses) / period as u128;
        let most = self.upkeep_later(accesses).ands;
        most.saturating_sub(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// Periods that end with a shuffle, and accesses after the last one.
    fn periods(&self, accesses: u64) -> (u64, u64) {
        let Layout::SquareRoot { period, .. } = self.layout else {
            return (0, accesses);
        };
        let full = accesses.saturating_sub(1) / period as u64;
        (full, accesses - full * period as u64)
    }

    /// The stashes in so many accesses of a period.
    fn stashes(&self, accesses: u64) -> Price {
        let entries = accesses * accesses.saturating_sub(1) / 2;
        Price { ands: entries * self.stash_ands(), ..Price::default() }
    }

    /// ANDs for what one access before in the period left in the stashes.
    fn stash_ands(&self) -> u64 {
        let matches = self.levels.iter().map(|level| level.index() - 1).sum::<usize>();
        let row = self.levels.first().map_or(0, LevelShape::index);
        let blocks = self.levels.iter().map(|level| level.width).sum::<usize>();
        (matches + row + blocks) as u64
    }

    /// What a shuffle of square-root ORAM takes; nothing of any other.
    #[must_use]
    pub fn shuffle(&self) -> Price {
        let Some((level, further)) = self.levels.split_first() else {
            return Price::default();
        };
        let digits = level.index() as u64;
        // Rows with their numbers; then numbers and places.
        let own = level.joint(level.width as u64 + digits).and(level.joint(2 * digits));
        Price { opens: 1, ..own.and(LevelShape::map(further)) }
    }

    /// What its beginning takes.
    #[must_use]
    pub fn start(&self) -> Price {
        if let Some((level, further)) = self.levels.split_first() {
            // The numbers of the rows, their places, and the rows.
            let rows = if self.needs.is_given { level.width } else { 0 };
            let own = level.joint((rows + 2 * level.index()) as u64);
            return own.and(LevelShape::map(further));
        }
        if !self.needs.is_given || self.trees.is_empty() {
            return Price::default();
        }
        let (mut puts, mut price) = (0, Price::default());
        for tree in &self.trees {
            puts += tree.blocks as u64;
            price.opens += tree.waits_for_room(self.needs.most_awake);
            price.ands += tree.blocks as u64 * tree.put_ands();
            price.tossed += (tree.blocks * tree.depth) as u64;
        }
        // An opening takes the flag of all before it.
        price.ands += puts - 1 - price.opens;
        price
    }

    /// Wires of a memory that is put away, at most.
    #[must_use]
    pub fn resting_wires(&self) -> u64 {
        self.wires(self.needs.accesses, self.needs.is_given, u64::MAX)
    }

    /// Wires that a run with so many accesses holds besides those that rest, at most: of each tree, with a machine that packs, [`Needs::most_awake`]
    /// and those of the paths of the next access, or of the rows that are put in together.
    #[must_use]
    pub fn awake_wires(&self, accesses: u64, start: Start, packs: bool) -> u64 {
        let most = if packs { self.needs.most_awake as u64 } else { u64::MAX };
        match start {
            Start::Found if accesses == 0 => 0,
            Start::Found | Start::Zeros => self.wires(accesses, false, most),
            Start::Rows => self.wires(accesses, true, most),
        }
    }

    /// All wires after so many accesses, at most, of which `most` are in the buckets of each tree besides those of an access.
    fn wires(&self, accesses: u64, is_given: bool, most: u64) -> u64 {
        let Needs { blocks, width, most_awake, .. } = self.needs;
        if let Layout::SquareRoot { period, .. } = self.layout {
            // Blocks of further levels get an index when they come into the stash; rows have one.
            let period = period as u64;
            let level = |(k, level): (usize, &LevelShape)| {
                let indices = if k == 0 { level.blocks as u64 } else { period };
                (level.blocks * level.width) as u64 + indices * level.index() as u64
            };
            let map = self.levels.last().map_or(0, |last| last.blocks * (last.index() + 1));
            return self.levels.iter().enumerate().map(level).sum::<u64>() + map as u64;
        }
        let Some(last) = self.trees.last() else {
            return (blocks * width) as u64;
        };
        let tree = |tree: &TreeShape| {
            // Each access goes through one path to read and two to evict, each block that is put in through two.
            let filled = if is_given { 2 * tree.blocks as u64 } else { 0 };
            let buckets = tree.buckets(accesses.saturating_mul(3).saturating_add(filled));
            let together = if is_given { 2 * tree.puts_together(most_awake) as u64 } else { 0 };
            let awake =
                most.saturating_add(tree.buckets(1).saturating_mul(3).max(tree.buckets(together)));
            tree.stash_wires().saturating_add(buckets.min(awake))
        };
        let positions = last.positions() as u64 + 1;
        self.trees.iter().map(tree).fold(positions, u64::saturating_add)
    }

    /// Wires that wake, at most, when so many accesses come to a memory that was put away: of trees the stashes, the positions and the buckets of three
    /// paths for each access, of any other all.
    #[must_use]
    pub fn woken_wires(&self, accesses: u64) -> u64 {
        let tree = |tree: &TreeShape| {
            let paths = accesses.saturating_mul(3 * tree.buckets(1));
            paths.saturating_add(tree.stash_wires())
        };
        match self.trees.last() {
            _ if accesses == 0 => 0,
            None => self.resting_wires(),
            Some(last) => {
                let positions = last.positions() as u64 + 1;
                self.trees.iter().map(tree).fold(positions, u64::saturating_add)
            }
        }
    }

    /// How often wires wake in a run with so many accesses, at most, with a machine that packs: of a memory that was put away what is scanned and the
    /// stashes at the first, of a tree what rests on the paths of an access, or of rows that are put in together.
    #[must_use]
    pub fn wakes(&self, accesses: u64, start: Start) -> u64 {
        let most = self.needs.most_awake as u64;
        let tree = |tree: &TreeShape| {
            let (all, a_path) = (tree.buckets(u64::MAX), tree.buckets(1));
            let filled = match start {
                Start::Rows => tree.waits_for_room(self.needs.most_awake),
                Start::Found | Start::Zeros => 0,
            };
            let each = match start {
                // All that there is wakes once.
                Start::Found if all <= most => accesses.min(1 << tree.depth),
                Start::Zeros | Start::Rows if all <= most => 0,
                // As many paths as may stay awake come first.
                Start::Zeros => accesses.saturating_sub(most / (3 * a_path)),
                Start::Found | Start::Rows => accesses,
            };
            filled.saturating_add(each)
        };
        let at_first = u64::from(start == Start::Found && accesses > 0);
        self.trees.iter().map(tree).fold(at_first, u64::saturating_add)
    }

    /// What it takes to begin with zeros, also for a memory that may begin with given rows.
    #[must_use]
    pub fn empty_start(&self) -> Price {
        let needs = Needs { is_given: false, ..self.needs };
        Plan { needs, ..self.clone() }.start()
    }

    /// All that it takes in its life, in ANDs.
    fn worth(&self) -> u128 {
        let worth = |price: Price| price.worth(self.needs.ands_per_open);
        let accesses = self.needs.accesses;
        let each = worth(self.access(bits(self.needs.blocks - 1), Kind::Update));
        let all = each.saturating_mul(u128::from(accesses)).saturating_add(worth(self.start()));
        let Layout::SquareRoot { period, .. } = self.layout else {
            return all;
        };
        let (full, rest) = self.periods(accesses);
        let each = worth(self.stashes(period as u64).and(self.shuffle()));
        let full = each.saturating_mul(u128::from(full));
        all.saturating_add(full).saturating_add(worth(self.stashes(rest)))
    }
}

/// A kind of access, which is public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Gives the row.
    Read,
    /// Replaces the row.
    Write,
    /// Replaces the row by a function of it.
    Update,
}

/// Slots of the stash of a tree of so many blocks that overflows with a probability of at most 2^-epsilon in so many operations.
///
/// After the first of the two evictions of an operation there are more than r blocks in the stash with a probability of at most
/// 2^-(6 + 4 r / 3), with more than [`SMALL`] blocks 2^-(6 + r), for any memory with leaves for all of its blocks and buckets of two: measured,
/// not proved (docs/protocols/ram.md).
fn stash(epsilon: u32, operations: u128, blocks: usize) -> usize {
    let log2 = u128::BITS - operations.max(1).saturating_sub(1).leading_zeros();
    let bits = (epsilon + log2).saturating_sub(6);
    let slots = if blocks <= SMALL { (3 * bits).div_ceil(4) } else { bits };
    slots.max(2) as usize
}

/// Blocks of a tree up to which a stash falls off by 4/3 of a bit a block, with a margin.
const SMALL: usize = 1 << 14;

/// Sizes of one tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeShape {
    /// Blocks that there may be.
    pub blocks: usize,
    /// Bits of a block's data.
    pub width: usize,
    /// D: the tree has 2^D leaves, one or two for each block.
    pub depth: usize,
    /// Z: slots of a bucket.
    pub bucket: usize,
    /// S: slots of the stash.
    pub stash: usize,
}

impl TreeShape {
    /// A tree of at least two blocks.
    pub(super) fn new(blocks: usize, width: usize, bucket: usize, stash: usize) -> TreeShape {
        TreeShape { blocks, width, depth: bits(blocks - 1), bucket, stash }
    }

    /// Bits of an index.
    pub(super) const fn index(&self) -> usize {
        bits(self.blocks - 1)
    }

    /// Bits of a position: whether there is one, and a leaf.
    pub(super) const fn position(&self) -> usize {
        1 + self.depth
    }

    /// Bits of the positions of all blocks.
    pub(super) const fn positions(&self) -> usize {
        self.blocks * self.position()
    }

    /// Bits of all slots of buckets after so many paths that were gone through, at most.
    fn buckets(&self, paths: u64) -> u64 {
        let level = |level: usize| {
            let nodes = paths.min(1 << (level - 1));
            nodes.saturating_mul((self.bucket * self.length(level)) as u64)
        };
        (1..=self.depth + 1).map(level).fold(0, u64::saturating_add)
    }

    /// Rows that are put in between two openings, behind which what they do not come to can rest: as many as come to buckets of half as many wires as
    /// may stay awake.
    pub(super) fn puts_together(&self, most_awake: usize) -> usize {
        let fits = |puts: &usize| self.buckets(2 * *puts as u64) <= most_awake as u64 / 2;
        (0..=self.depth).map(|log| 1 << log).take_while(fits).last().unwrap_or(1)
    }

    /// How often that happens while all rows are put in.
    fn waits_for_room(&self, most_awake: usize) -> u64 {
        ((self.blocks - 1) / self.puts_together(most_awake)) as u64
    }

    /// Bits of all slots of the stash.
    const fn stash_wires(&self) -> u64 {
        (self.stash * self.length(0)) as u64
    }

    /// Bits of a slot at a level, of which 0 is the stash.
    pub(super) const fn length(&self, level: usize) -> usize {
        let turns = if level == 0 { self.depth } else { self.depth + 1 - level };
        1 + self.index() + self.width + turns
    }

    /// Bits of the number of a level.
    pub(super) const fn digits(&self) -> usize {
        bits(self.depth + 1)
    }

    /// ANDs of an access without its function.
    fn access_ands(&self) -> u64 {
        let slots = self.stash + self.bucket * (self.depth + 1);
        (slots * (self.index() + self.width)) as u64 + self.put_ands()
    }

    /// ANDs of a new block.
    fn put_ands(&self) -> u64 {
        self.evict_ands(true) + self.evict_ands(false)
    }

    /// ANDs of an eviction, with a new block or without; the names are those of the functions in `evict.rs`.
    fn evict_ands(&self, is_new: bool) -> u64 {
        let TreeShape { depth, bucket, stash, .. } = *self;
        let (digits, first) = (self.digits(), stash + usize::from(is_new));
        let reaches = first * depth + bucket * depth * (depth + 1) / 2;
        let match_up =
            |m: usize| (2 * digits * (m - 1) + m).saturating_sub(if m > 1 { 2 } else { 1 });
        let tournament = match_up(first) + depth * match_up(bucket);
        let room = (depth + 1) * (bucket - 1) + if is_new { stash - 1 } else { 0 };
        let at_least = |level: usize| digits - 1 - level.trailing_zeros() as usize;
        let sources = (1..=depth + 1).map(at_least).sum::<usize>() + 3 * digits * depth;
        let moves = 1 + depth * (2 * digits + 3) + digits;
        let chosen = stash + usize::from(is_new) + depth * (1 + 2 * bucket) + bucket;
        let buckets: usize = (1..=depth + 1).map(|level| bucket * self.length(level)).sum();
        let exchange = stash * self.length(0) + buckets;
        (reaches + tournament + room + sources + moves + chosen + exchange) as u64
    }
}

/// Sizes of one level of square-root ORAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelShape {
    /// Blocks of it.
    pub blocks: usize,
    /// Bits of a block.
    pub width: usize,
}

impl LevelShape {
    /// Bits of an index, and of a place.
    #[must_use]
    pub const fn index(&self) -> usize {
        bits(self.blocks - 1)
    }

    /// A joint permutation of rows of so many bits.
    fn joint(&self, width: u64) -> Price {
        let switches = switches(self.blocks);
        Price { ands: 2 * switches * width, opens: 0, tossed: switches }
    }

    /// Further levels anew: their blocks, and the places of these.
    fn map(further: &[LevelShape]) -> Price {
        let all = further.iter().map(|level| level.joint((level.width + level.index()) as u64));
        all.fold(Price::default(), Price::and)
    }
}

/// Bits of a number; at least one.
pub(super) const fn bits(value: usize) -> usize {
    let bits = (usize::BITS - value.leading_zeros()) as usize;
    if bits == 0 { 1 } else { bits }
}
