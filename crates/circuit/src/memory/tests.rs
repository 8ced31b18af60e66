//! Memories against arrays, their prices against what runs take, and what is opened and kept against what it should look like.

use cenote_prim::{Block, Prg};

use super::*;
use crate::{bits_of, value_of};

mod away;
#[path = "../../examples/stash/plain.rs"]
mod plain;
mod root;

use plain::Slots;

/// A machine in the clear that tosses bits of its own.
struct Machine {
    seed: u64,
    /// What was opened, a list each time.
    opened: Vec<Vec<bool>>,
    /// What the parties draw from.
    prgs: [Prg; 2],
    /// A party that enters zeros instead.
    zeros: Option<Role>,
    /// What was counted.
    taken: Price,
}

impl Machine {
    fn new(seed: u64) -> Machine {
        let prgs = [0, 1].map(|role| Prg::new(Block::new(u128::from(seed) << 1 | role)));
        let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Machine { seed, opened: Vec::new(), prgs, zeros: None, taken: Price::default() }
    }

    /// xorshift64*.
    fn next(&mut self) -> u64 {
        self.seed ^= self.seed >> 12;
        self.seed ^= self.seed << 25;
        self.seed ^= self.seed >> 27;
        self.seed.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

impl Gates for Machine {
    type Wire = bool;
    type Error = Broken;

    fn constant(&mut self, bit: bool) -> Result<bool, Broken> {
        Ok(bit)
    }
    fn xor(&mut self, a: &bool, b: &bool) -> Result<bool, Broken> {
        Ok(a ^ b)
    }
    fn not(&mut self, a: &bool) -> Result<bool, Broken> {
        Ok(!a)
    }
    fn and(&mut self, a: &bool, b: &bool) -> Result<bool, Broken> {
        self.taken.ands += 1;
        Ok(a & b)
    }
    fn xor_many(&mut self, a: &[bool], b: &[bool]) -> Result<Vec<bool>, Broken> {
        Ok(a.iter().zip(b).map(|(a, b)| a ^ b).collect())
    }
    fn and_many(&mut self, a: &[bool], b: &[bool]) -> Result<Vec<bool>, Broken> {
        self.taken.ands += a.len().min(b.len()) as u64;
        Ok(a.iter().zip(b).map(|(a, b)| a & b).collect())
    }
}

impl Reactive for Machine {
    fn open(&mut self, wires: &[bool]) -> Result<Vec<bool>, Broken> {
        self.taken.opens += 1;
        self.opened.push(wires.to_vec());
        Ok(wires.to_vec())
    }
    fn own_inputs(
        &mut self,
        owner: Role,
        bits: usize,
        draw: &Draw<'_>,
    ) -> Result<Vec<bool>, Broken> {
        if owner == Role::Garbler {
            self.taken.tossed += bits as u64;
        }
        let prg = &mut self.prgs[owner as usize];
        let drawn = draw(&mut || prg.block().to_u128() as u64);
        assert_eq!(drawn.len(), bits);
        Ok(if self.zeros == Some(owner) { vec![false; bits] } else { drawn.to_vec() })
    }
    fn toss(&mut self, bits: usize) -> Result<Vec<bool>, Broken> {
        self.taken.tossed += bits as u64;
        Ok((0..bits).map(|_| self.next() & 1 == 1).collect())
    }
    fn broken(&mut self, why: Broken) -> Broken {
        why
    }
}

/// Needs of a memory with the bound of 2^-40. With a machine that packs, no bucket stays awake.
fn needs(blocks: usize, width: usize, is_given: bool) -> Needs {
    Needs { is_given, most_awake: 0, ..Needs::new(blocks, width, 1 << 20) }
}

const FLAT: Layout = Layout::Trees { trees: 1, factor: 1 };

const fn root(levels: usize, factor: usize, period: usize) -> Layout {
    Layout::SquareRoot { levels, factor, period }
}

const fn nested(trees: usize, factor: usize) -> Layout {
    Layout::Trees { trees, factor }
}

/// Reads, writes, updates and places beyond the end, in a random order.
fn against_an_array(needs: Needs, layout: Layout, steps: u64) -> Machine {
    let mut g = Machine::new(steps + needs.blocks as u64);
    let plan = Plan::new(needs, layout).unwrap();
    let Needs { blocks, width, is_given, .. } = needs;
    let mask = (1u128 << width) - 1;
    let mut array = vec![0; blocks];
    if is_given {
        array.iter_mut().for_each(|row| *row = u128::from(g.next()) & mask);
    }
    let rows = || Rows::new(array.iter().map(|row| bits_of(*row, width)).collect()).unwrap();
    let mut ram =
        if is_given { Ram::of(&mut g, plan, rows()) } else { Ram::empty(&mut g, plan) }.unwrap();
    for step in 0..steps {
        // Now and then an index of fewer bits, or of more.
        let bits = blocks.next_power_of_two().trailing_zeros() as usize
            + [0, 0, 1, 3][g.below(4) as usize];
        let bits = if g.below(8) == 0 { 1 } else { bits.max(1) };
        let place =
            if g.below(16) == 0 { u64::MAX } else { g.below(blocks as u64) } & ((1 << bits) - 1);
        let index = bits_of(u128::from(place), bits);
        let here = array.get_mut(place as usize);
        let before = here.as_ref().map_or(0, |row| **row);
        let (word, enable) = (u128::from(g.next()) & mask, g.below(3) > 0);
        match g.below(3) {
            0 => {
                let read = ram.access(&mut g, &index, Access::Read).unwrap();
                assert_eq!(value_of(&read), before, "step {step}");
            }
            1 => {
                let word_bits = bits_of(word, width);
                let write = Access::Write { word: &word_bits, enable: &enable };
                assert_eq!(ram.access(&mut g, &index, write), Ok(vec![]));
                if let (Some(row), true) = (here, enable) {
                    *row = word;
                }
            }
            _ => {
                let not = |g: &mut Machine, row: &[bool]| crate::gadgets::not_bits(g, row);
                let read = ram.update(&mut g, &index, not).unwrap();
                assert_eq!(value_of(&read), before, "step {step}");
                if let Some(row) = here {
                    *row ^= mask;
                }
            }
        }
    }
    for (i, expected) in array.iter().enumerate() {
        assert_eq!(value_of(&ram.row(&mut g, i).unwrap()), *expected);
    }
    g
}

#[test]
fn memories_are_arrays() {
    for blocks in [2, 3, 5, 8, 13, 64, 100] {
        for is_given in [false, true] {
            let needs = needs(blocks, 7, is_given);
            let all = [Layout::Scan, FLAT, nested(2, 1), nested(2, 2), nested(3, 1), nested(2, 3)];
            let roots = [root(1, 1, 1), root(1, 1, 2), root(1, 2, 5), root(2, 1, 2), root(2, 2, 5)];
            let all = all.into_iter().chain(roots).chain([root(3, 1, 3), root(2, 3, 7)]);
            for layout in all.filter(|layout| Plan::new(needs, *layout).is_some()) {
                against_an_array(needs, layout, 60);
            }
        }
    }
}

#[test]
fn ten_thousand_accesses_in_a_row() {
    against_an_array(needs(300, 16, false), nested(2, 3), 10_000);
}

/// The price is what a counter counts, and runs open and toss what it says.
#[test]
fn prices_are_what_runs_take() {
    for (blocks, width) in [(2, 1), (5, 3), (16, 8), (37, 32), (256, 5)] {
        for is_given in [false, true] {
            for layout in [Layout::Scan, FLAT, nested(2, 1), nested(2, 3), nested(3, 2)] {
                let Some(plan) = Plan::new(needs(blocks, width, is_given), layout) else {
                    continue;
                };
                let what = format!("{blocks} of {width}, given {is_given}, {layout:?}");
                let mut counter = Tally::default();
                let row = vec![Depth::default(); width];
                let mut ram = if is_given {
                    let rows = Rows::new(vec![row.clone(); blocks]).unwrap();
                    Ram::of(&mut counter, plan.clone(), rows).unwrap()
                } else {
                    Ram::empty(&mut counter, plan.clone()).unwrap()
                };
                assert_eq!(counter.take(), plan.start(), "start of {what}");
                for index in [1, 4, 8, 11] {
                    let place = vec![Depth::default(); index];
                    for kind in [Kind::Read, Kind::Write, Kind::Update] {
                        let one = Depth::default();
                        let write = Access::Write { word: &row, enable: &one };
                        match kind {
                            Kind::Read => ram.access(&mut counter, &place, Access::Read),
                            Kind::Write => ram.access(&mut counter, &place, write),
                            Kind::Update => {
                                ram.update(&mut counter, &place, |_, row| Ok(row.to_vec()))
                            }
                        }
                        .unwrap();
                        assert_eq!(
                            counter.take(),
                            plan.access(index, kind),
                            "{kind:?} {index} {what}"
                        );
                    }
                }
            }
        }
    }
}

/// Counts a price.
#[derive(Default)]
struct Tally {
    counter: Counter,
    so_far: u64,
    opens: u64,
    tossed: u64,
}

impl Tally {
    fn take(&mut self) -> Price {
        let ands = self.counter.counts().and - self.so_far;
        self.so_far += ands;
        let price = Price { ands, opens: self.opens, tossed: self.tossed };
        (self.opens, self.tossed) = (0, 0);
        price
    }
}

impl Gates for Tally {
    type Wire = Depth;
    type Error = std::convert::Infallible;
    crate::delegate!(self => self.counter);
}

impl Reactive for Tally {
    fn own_inputs(
        &mut self,
        owner: Role,
        bits: usize,
        draw: &Draw<'_>,
    ) -> Result<Vec<Depth>, Self::Error> {
        self.counter.own_inputs(owner, bits, draw)
    }
    fn open(&mut self, wires: &[Depth]) -> Result<Vec<bool>, Self::Error> {
        self.opens += 1;
        self.counter.open(wires)
    }
    fn toss(&mut self, bits: usize) -> Result<Vec<Depth>, Self::Error> {
        self.tossed += bits as u64;
        self.counter.toss(bits)
    }
    fn broken(&mut self, why: Broken) -> Self::Error {
        self.counter.broken(why)
    }
}

/// With stashes that are too small, an overflow is found before anything wrong is read: of rows that are put in, of any tree, and of
/// the last access, whose flag nobody opens.
#[test]
fn an_overflow_is_told_and_nothing_wrong_is_read() {
    for (is_given, most_awake, layout) in [
        (false, 0, FLAT),
        (false, 0, nested(2, 2)),
        (true, usize::MAX, FLAT),
        (true, usize::MAX, nested(2, 2)),
        (true, 0, FLAT),
        (true, 0, nested(2, 2)),
    ] {
        // Of accesses, of the first one, and while rows are put in.
        let mut overflows = [0; 3];
        for seed in 0..40 {
            let mut g = Machine::new(seed);
            let needs = Needs { most_awake, ..needs(64, 8, is_given) };
            let mut plan = Plan::new(needs, layout).unwrap();
            for tree in &mut plan.trees {
                // Rows that are put in are many at once.
                (tree.bucket, tree.stash) = (1, if is_given { 3 } else { 2 });
            }
            let mut array: Vec<u128> = (0..64).map(|i| if is_given { i * 3 } else { 0 }).collect();
            let ram = if is_given {
                let rows = array.iter().map(|row| bits_of(*row, 8)).collect();
                Ram::of(&mut g, plan, Rows::new(rows).unwrap())
            } else {
                Ram::empty(&mut g, plan)
            };
            let mut ram = match ram {
                Ok(ram) => ram,
                Err(why) => {
                    assert_eq!(why, Broken::Overflow);
                    overflows[2] += 1;
                    continue;
                }
            };
            for step in 0..400u128 {
                let place = g.below(64);
                let word = bits_of(step % 251, 8);
                let read = ram.update(&mut g, &bits_of(u128::from(place), 6), |_, _| Ok(word));
                match read {
                    // Before the flag of this access is opened.
                    Ok(read) => assert_eq!(value_of(&read), array[place as usize], "step {step}"),
                    Err(why) => {
                        assert_eq!(why, Broken::Overflow);
                        overflows[usize::from(step == 0)] += 1;
                        break;
                    }
                }
                array[place as usize] = step % 251;
            }
        }
        let what = format!("{layout:?}, given {is_given}, {most_awake} awake: {overflows:?}");
        let [later, at_first, at_once] = overflows;
        assert!(later + at_first + at_once > 20, "{what}");
        // Of what is put in last, no more is opened before the first access.
        assert!(is_given || at_first + at_once == 0, "{what}");
        assert_eq!(at_once > 0, is_given && most_awake == 0, "{what}");
        assert!(at_first > 0 || !is_given || most_awake == 0, "{what}");
    }
}

/// The slots of the paths of a tree after each eviction are those of the paper.
#[test]
fn evictions_are_those_of_the_paper() {
    for (blocks, bucket) in [(2, 2), (7, 2), (32, 2), (32, 3), (40, 4), (8, 1)] {
        let mut g = Machine::new(blocks as u64);
        let mut tree = tree::Tree::new(&mut g, TreeShape::new(blocks, 0, bucket, 12)).unwrap();
        let shape = tree.shape;
        let mut moved = 0;
        for step in 0..400 {
            let block = g.below(blocks as u64) as usize;
            let leaf = g.below(1 << shape.depth) as usize;
            let index = bits_of(block as u128, shape.index());
            for old in 0..1 << shape.depth {
                // Wherever it is: tests know no positions.
                tree.take(&mut g, bits_of(old, shape.depth), &index).unwrap();
            }
            let new = [true]
                .into_iter()
                .chain(index)
                .chain(bits_of(leaf as u128, shape.depth).into_iter().rev());
            let new: Vec<bool> = new.collect();
            for new in [Some(new), None] {
                let turns = tree.evictions as usize % (1 << shape.depth);
                let mut expected = slots(&mut g, &mut tree, turns);
                let before = expected.clone();
                plain::evict(
                    &mut expected,
                    turns,
                    shape.depth,
                    new.as_ref().map(|_| (block, leaf)),
                );
                match new {
                    Some(new) => assert!(!tree.evict_with(&mut g, new).unwrap()),
                    None => tree.evict(&mut g).unwrap(),
                }
                moved += u32::from(before != expected);
                assert_eq!(
                    slots(&mut g, &mut tree, turns),
                    expected,
                    "{blocks}, {bucket}, step {step}"
                );
            }
        }
        assert!(moved > 200, "{moved}");
    }
}

/// What lies on a path.
fn slots(g: &mut Machine, tree: &mut tree::Tree<bool>, turns: usize) -> Vec<Slots> {
    let shape = tree.shape;
    let path = tree.load(g, bits_of(turns as u128, shape.depth)).unwrap();
    let slot = |level: usize, slot: &Vec<bool>| {
        let (index, leaf) = slot[1..].split_at(shape.index());
        // Of a level below the root, the first turns are those of the path.
        let mut leaf = leaf[shape.width..].to_vec();
        leaf.extend((0..level.max(1) - 1).rev().map(|turn| turns >> turn & 1 == 1));
        leaf.reverse();
        slot[0].then(|| (value_of(index) as usize, value_of(&leaf) as usize))
    };
    let levels = path.levels.iter().enumerate();
    let all = levels.map(|(level, slots)| slots.iter().map(|s| slot(level, s)).collect()).collect();
    tree.save(path);
    all
}

/// With the same leaves blocks lie in the simulator where they lie in the circuit, access for access.
#[test]
fn the_simulator_of_the_stash_is_the_circuit() {
    for (blocks, bucket) in [(4, 2), (16, 2), (64, 2), (16, 1)] {
        let mut g = Machine::new(7);
        let mut tree = tree::Tree::new(&mut g, TreeShape::new(blocks, 1, bucket, 24)).unwrap();
        let shape = tree.shape;
        let mut plain = plain::PlainTree::new(shape.depth, bucket);
        let (mut leaves, mut held) = (vec![None; blocks], 0);
        for access in 0..600 {
            let block =
                if access < 300 { access % blocks } else { g.below(blocks as u64) as usize };
            let index = bits_of(block as u128, shape.index());
            let next = g.toss(shape.depth).unwrap();
            let next_leaf = value_of(&next) as usize;
            let old = leaves[block].replace(next_leaf);
            let leaf = bits_of(old.unwrap_or(0) as u128, shape.depth);
            let data = tree.take(&mut g, leaf, &index).unwrap();
            assert_eq!(data, [old.is_some()], "the block is where it should be");
            assert_eq!(old.is_some_and(|leaf| plain.take(block, leaf)), old.is_some());
            let leaf = next.iter().rev();
            let new = [true].iter().chain(&index).chain(&[true]).chain(leaf).copied().collect();
            assert!(!tree.evict_with(&mut g, new).unwrap());
            plain.evict(Some((block, next_leaf)));
            held = held.max(plain.held());
            assert_eq!(tree.stash.iter().filter(|slot| slot[0]).count(), plain.held());
            tree.evict(&mut g).unwrap();
            plain.evict(None);
            let turns = g.below(1 << shape.depth) as usize;
            let mut both = [slots(&mut g, &mut tree, turns), plain.path(turns)];
            // A stash that has room for all has fewer empty slots.
            both.iter_mut().for_each(|path| path[0].resize(24, None));
            assert_eq!(both[0], both[1], "{blocks}, {bucket}, access {access}");
        }
        assert!(held > 1 || bucket > 1, "{blocks}, {bucket}: some are in the stash");
    }
}

/// The bound that stashes are made by, wherever more than r blocks were there.
#[test]
fn stashes_hold_no_more_than_the_bound_says() {
    for (depth, accesses) in [(8, 1_000_000), (10, 1_000_000), (12, 1_000_000), (15, 500_000)] {
        let tail = plain::tail(depth, accesses, depth as u64);
        for (r, &count) in tail.iter().enumerate() {
            let bound = accesses as f64 * (-plain::bound(depth, r)).exp2();
            assert!(count as f64 <= bound, "2^{depth}: {count} with more than {r}");
        }
        // It is not always empty either: the bound is about something.
        assert!(tail.len() > 3, "2^{depth}: {tail:?}");
    }
}

#[test]
fn a_memory_has_the_accesses_that_it_was_made_for() {
    let mut g = Machine::new(1);
    let plan = Plan::new(Needs::new(8, 2, 3), FLAT).unwrap();
    let mut ram = Ram::empty(&mut g, plan).unwrap();
    let place = bits_of(3, 3);
    for _ in 0..3 {
        ram.access(&mut g, &place, Access::Read).unwrap();
    }
    assert_eq!(ram.access(&mut g, &place, Access::Read), Err(Broken::Spent));
}

/// An access in the middle of an update would find no block where the row was, and put back zeros.
#[test]
fn nothing_comes_between_the_halves_of_an_update() {
    type Step = fn(&mut Ram<bool>, &mut Machine, &[bool]) -> Result<Vec<bool>, Broken>;
    let steps: [Step; 3] = [
        |ram, g, place| ram.take(g, place),
        |ram, g, place| ram.access(g, place, Access::Read),
        |ram, g, _| ram.row(g, 3),
    ];
    for layout in [FLAT, nested(2, 1), root(1, 1, 3), root(2, 1, 4)] {
        for step in steps {
            let mut g = Machine::new(3);
            let mut ram =
                Ram::empty(&mut g, Plan::new(needs(8, 2, false), layout).unwrap()).unwrap();
            let place = bits_of(3, 3);
            ram.take(&mut g, &place).unwrap();
            ram.put(&mut g, &[true, false], &true).unwrap();
            assert_eq!(ram.take(&mut g, &place), Ok(vec![true, false]));
            let next = std::panic::AssertUnwindSafe(|| step(&mut ram, &mut g, &place));
            assert!(std::panic::catch_unwind(next).is_err());
        }
    }
}

#[test]
fn a_public_index_beyond_the_end_is_read_as_zeros() {
    for layout in [Layout::Scan, FLAT, nested(2, 1), root(1, 1, 3), root(2, 1, 4)] {
        let mut g = Machine::new(3);
        let plan = Plan::new(needs(8, 2, true), layout).unwrap();
        let rows = Rows::new(vec![vec![true; 2]; 8]).unwrap();
        let mut ram = Ram::of(&mut g, plan, rows).unwrap();
        assert_eq!(ram.row(&mut g, 7), Ok(vec![true; 2]));
        let opened = g.opened.len();
        for index in [8, 15, 16, usize::MAX] {
            assert_eq!(ram.row(&mut g, index), Ok(vec![false; 2]), "{layout:?} at {index}");
        }
        assert_eq!(g.opened.len(), opened, "for nothing");
    }
}

/// Whatever is asked for there is a plan whose figures hold, or none.
#[test]
fn needs_without_measure_have_no_plan() {
    let usual = Needs::new(1 << 24, 256, u64::MAX);
    let plan = Plan::cheapest(Needs { ands_per_open: u64::MAX, epsilon: 128, ..usual }).unwrap();
    assert_eq!(plan.layout, Layout::Scan, "openings that cost everything");
    assert!(Plan::cheapest(usual).is_some_and(|plan| plan.trees.len() > 1));
    for none in [
        Needs { blocks: 0, ..usual },
        Needs { blocks: (1 << 24) + 1, width: 1, ..usual },
        Needs { blocks: usize::MAX, width: 1, ..usual },
        Needs { width: 257, ..usual },
        Needs { width: usize::MAX, ..usual },
        Needs { epsilon: 129, ..usual },
        Needs { epsilon: u32::MAX, ..usual },
    ] {
        assert_eq!(Plan::cheapest(none), None, "{none:?}");
        assert_eq!(Plan::new(none, FLAT), None, "{none:?}");
    }
    for (trees, factor) in
        [(0, 1), (1, 0), (25, 1), (64, 1), (usize::MAX, 1), (24, 16), (2, 17), (2, usize::MAX)]
    {
        assert_eq!(Plan::new(usual, nested(trees, factor)), None, "{trees} trees, {factor}");
    }
    assert!(Plan::new(usual, nested(24, 1)).is_some_and(|plan| plan.trees[23].blocks == 2));
}

/// The stash is the smallest with log2 N - (6 + 4 S / 3) <= -epsilon, for the operations of all trees together.
#[test]
fn stashes_are_made_for_all_operations() {
    let stash = |accesses, is_given, epsilon, layout| {
        let needs = Needs { is_given, epsilon, ..Needs::new(16, 1, accesses) };
        Plan::new(needs, layout).unwrap().trees[0].stash
    };
    assert_eq!(stash(1 << 20, false, 40, FLAT), 41);
    // One more than a power of two; twice as many of two trees; rows that are put in, 16 and 8.
    assert_eq!(stash((1 << 20) + 1, false, 40, FLAT), 42);
    assert_eq!(stash(1 << 20, false, 40, nested(2, 1)), 42);
    assert_eq!(stash((1 << 19) - 12, true, 40, nested(2, 1)), 41);
    assert_eq!(stash((1 << 19) - 11, true, 40, nested(2, 1)), 42);
    assert_eq!(stash(1, false, 0, FLAT), 2);
    // With more than 2^14 blocks a bit for each.
    let large = |blocks| Plan::new(Needs::new(blocks, 1, 1 << 20), FLAT).unwrap().trees[0].stash;
    assert_eq!([1 << 14, (1 << 14) + 1].map(large), [41, 54]);
    let two = Plan::new(Needs::new(1 << 15, 1, 1 << 20), nested(2, 1)).unwrap();
    assert_eq!([two.trees[0].stash, two.trees[1].stash], [55, 42]);
    // More than 2^64 operations.
    assert_eq!(stash(u64::MAX, false, 128, FLAT), (3 * (128 + 64 - 6) as usize).div_ceil(4));
    assert_eq!(
        stash(u64::MAX, false, 128, nested(2, 1)),
        (3 * (128 + 65 - 6) as usize).div_ceil(4)
    );
}

/// What is opened is as uniform for one place again and again as for all in turn or at random, from the first access on:
/// chi-square of the leaves, and of two that are up to a round of all places apart, so that a leaf that comes twice shows.
#[test]
fn opened_leaves_are_uniform_whatever_is_accessed() {
    let patterns: [fn(u64) -> u64; 5] = [
        |_| 5,
        |step| step % 8,
        |step| step / 2 % 8,
        |step| (step * step + 3 * step) % 7 % 8,
        // Beyond the end.
        |step| 8 + step % 2,
    ];
    // With trees of eight blocks and of four, the turns that both have.
    for (layout, turns) in [(FLAT, 3), (nested(2, 1), 2)] {
        for (kind, pattern) in (0..).zip(patterns) {
            let lists: Vec<Vec<usize>> = (0..60)
                .map(|run| opened_leaves(layout, turns, 1000 * kind + run, pattern))
                .collect();
            let what = format!("{layout:?}, accesses {kind}");
            let mut single = vec![0; 1 << turns];
            lists.iter().flatten().for_each(|leaf| single[*leaf] += 1);
            // Of 2^n - 1 degrees of freedom, beyond these with a probability of 2^-20.
            let bound = |degrees: usize| {
                [34.0, 43.0, 58.0, 135.0][[3, 7, 15, 63].binary_search(&degrees).unwrap()]
            };
            assert!(chi_square(&single) < bound(single.len() - 1), "{what}: {single:?}");
            for lag in 1..=16 {
                let mut pairs = vec![0; 1 << (2 * turns)];
                for leaves in &lists {
                    let both = leaves.iter().zip(&leaves[lag..]);
                    both.for_each(|(a, b)| pairs[a << turns | b] += 1);
                }
                assert!(
                    chi_square(&pairs) < bound(pairs.len() - 1),
                    "{what}, {lag} apart: {pairs:?}"
                );
            }
        }
    }
}

/// The first turns of the leaves that twenty accesses to eight rows open.
fn opened_leaves(layout: Layout, turns: usize, seed: u64, place: fn(u64) -> u64) -> Vec<usize> {
    let mut g = Machine::new(seed);
    // With stashes of a few blocks, which do not overflow with these seeds.
    let needs = Needs { is_given: seed % 2 == 1, epsilon: 12, ..Needs::new(8, 1, 20) };
    let plan = Plan::new(needs, layout).unwrap();
    let mut ram = if needs.is_given {
        Ram::of(&mut g, plan, Rows::new(vec![vec![true]; 8]).unwrap()).unwrap()
    } else {
        Ram::empty(&mut g, plan).unwrap()
    };
    for step in 0..20 {
        let place = bits_of(u128::from(place(step)), 4);
        ram.access(&mut g, &place, Access::Read).unwrap();
    }
    g.opened.iter().map(|bits| value_of(&bits[..turns]) as usize).collect()
}

fn chi_square(counts: &[u32]) -> f64 {
    let mean = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    counts.iter().map(|count| (f64::from(*count) - mean).powi(2) / mean).sum()
}
