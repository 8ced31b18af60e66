//! A tree of Circuit ORAM in the clear: where blocks lie, by the eviction of the circuit and without its gates. Tests of the memory hold it against the circuit.

/// Slots of a level, the stash or a bucket: the block and its leaf, whose first turn is the lowest bit.
pub(crate) type Slots = Vec<Option<(usize, usize)>>;

/// A tree with a stash that has room for all.
pub(crate) struct PlainTree {
    depth: usize,
    stash: Slots,
    /// The slots of all buckets: the root's, then level by level, by the first turns on the way there.
    buckets: Slots,
    bucket: usize,
    evictions: usize,
}

impl PlainTree {
    /// A tree without blocks.
    pub(crate) fn new(depth: usize, bucket: usize) -> PlainTree {
        let buckets = vec![None; bucket << (depth + 1)];
        PlainTree { depth, stash: Slots::new(), buckets, bucket, evictions: 0 }
    }

    /// Where the bucket of a level from 1 on begins that is on the way to a leaf.
    fn bucket_at(&self, level: usize, leaf: usize) -> usize {
        let first = 1 << (level - 1);
        self.bucket * (first | leaf & (first - 1))
    }

    /// Takes a block out of the stash and the path to its leaf; whether it was there.
    pub(crate) fn take(&mut self, block: usize, leaf: usize) -> bool {
        let is_it = |slot: &&mut Option<(usize, usize)>| slot.is_some_and(|(own, _)| own == block);
        for level in 1..=self.depth + 1 {
            let at = self.bucket_at(level, leaf);
            if let Some(slot) = self.buckets[at..at + self.bucket].iter_mut().find(is_it) {
                *slot = None;
                return true;
            }
        }
        self.stash.iter_mut().find(is_it).is_some_and(|slot| slot.take().is_some())
    }

    /// The slots of a path, level by level, the stash first.
    pub(crate) fn path(&self, leaf: usize) -> Vec<Slots> {
        let buckets = (1..=self.depth + 1).map(|level| {
            let at = self.bucket_at(level, leaf);
            self.buckets[at..at + self.bucket].to_vec()
        });
        std::iter::once(self.stash.clone()).chain(buckets).collect()
    }

    /// Evicts the next path, with a new block or without.
    pub(crate) fn evict(&mut self, new: Option<(usize, usize)>) {
        let turns = self.evictions & ((1 << self.depth) - 1);
        self.evictions += 1;
        let mut levels = self.path(turns);
        evict(&mut levels, turns, self.depth, new);
        for (level, slots) in levels.iter().enumerate().skip(1) {
            let at = self.bucket_at(level, turns);
            self.buckets[at..at + self.bucket].copy_from_slice(slots);
        }
        self.stash = levels.swap_remove(0);
    }

    /// Blocks in the stash.
    pub(crate) fn held(&self) -> usize {
        self.stash.iter().flatten().count()
    }
}

/// CO, algorithms 2 to 4, as they are written there, of which the circuit keeps the places only: a level that gives and receives
/// puts the new block where the other one was, any other into its first empty slot. `new` counts as the last block of the stash, which grows if it is full.
pub(crate) fn evict(levels: &mut [Slots], turns: usize, depth: usize, new: Option<(usize, usize)>) {
    // The first turn is the lowest bit.
    let reach = |leaf: usize| 1 + ((leaf ^ turns) | 1 << depth).trailing_zeros() as usize;
    levels[0].push(new);
    // The first of those that may go deepest.
    let best = |slots: &Slots| {
        let all = slots.iter().enumerate().filter_map(|(i, slot)| Some((reach((*slot)?.1), i)));
        all.rev().max_by_key(|(reach, _)| *reach)
    };
    let count = levels.len();
    let (mut deepest, mut target) = (vec![None; count], vec![None; count]);
    let (mut goal, mut source) = (0, None);
    for (i, slots) in levels.iter().enumerate() {
        if i > 0 && goal >= i {
            deepest[i] = source;
        }
        if let Some((reach, _)) = best(slots).filter(|(reach, _)| *reach > goal) {
            (goal, source) = (reach, Some(i));
        }
    }
    let (mut dest, mut source) = (None, None);
    for i in (0..count).rev() {
        if source == Some(i) {
            (target[i], dest, source) = (dest, None, None);
        }
        let has_room = i > 0 && levels[i].iter().any(Option::is_none);
        if deepest[i].is_some() && (target[i].is_some() || dest.is_none() && has_room) {
            (source, dest) = (deepest[i], Some(i));
        }
    }
    let (mut hold, mut dest) = (None, None);
    for i in 0..count {
        let write = if dest == Some(i) { (hold.take(), dest.take()).0 } else { None };
        let mut place = None;
        if let Some(to) = target[i] {
            let (_, slot) = best(&levels[i]).expect("a level that gives has a block");
            (hold, dest, place) = (levels[i][slot].take(), Some(to), Some(slot));
        }
        if i == 0 {
            // The new block into the stash, unless it left.
            let last = levels[0].pop().flatten();
            if last.is_some() {
                let place = place.or_else(|| levels[0].iter().position(Option::is_none));
                match place {
                    Some(place) => levels[0][place] = last,
                    None => levels[0].push(last),
                }
            }
        } else if write.is_some() {
            let place = place.or_else(|| levels[i].iter().position(Option::is_none));
            levels[i][place.expect("room in the level")] = write;
        }
    }
    assert!(hold.is_none());
}

/// How often more than r blocks were in the stash after the first eviction of an access, for each r from 0 on, of so many accesses to 2^depth blocks, all in
/// turn: the worst order, as each has been away for longest. Two rounds that come before do not count.
pub(crate) fn tail(depth: usize, accesses: u64, mut seed: u64) -> Vec<u64> {
    let blocks = 1 << depth;
    let mut tree = PlainTree::new(depth, 2);
    let mut leaves = vec![None; blocks];
    let mut more_than = Vec::new();
    for access in 0..accesses + 2 * blocks as u64 {
        let block = access as usize % blocks;
        let next = random(&mut seed) as usize % blocks;
        if let Some(leaf) = leaves[block].replace(next) {
            assert!(tree.take(block, leaf), "the block is where it should be");
        }
        tree.evict(Some((block, next)));
        if access >= 2 * blocks as u64 {
            let held = tree.held();
            more_than.resize(more_than.len().max(held), 0);
            more_than[..held].iter_mut().for_each(|count| *count += 1);
        }
        tree.evict(None);
    }
    more_than
}

/// splitmix64: nothing here is secret.
fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*seed ^ *seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Minus the logarithm of the probability that the stash of 2^depth blocks is made for: 2^-(6 + 4 r / 3) for more than r blocks, and 2^-(6 + r) beyond
/// a depth of 14.
pub(crate) fn bound(depth: usize, r: usize) -> f64 {
    let slope = if depth > 14 { 1.0 } else { 4.0 / 3.0 };
    6.0 + slope * r as f64
}
