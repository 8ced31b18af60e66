//! Memories against arrays, their prices against what runs take, and what is opened and kept against what it should look like.

use super::*;
use crate::{bits_of, value_of};

/// A machine in the clear that tosses bits of its own.
struct Machine {
    seed: u64,
    /// What was opened, a list each time.
    opened: Vec<Vec<bool>>,
}

impl Machine {
    fn new(seed: u64) -> Machine {
        Machine { seed: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, opened: Vec::new() }
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
        Ok(a & b)
    }
    fn xor_many(&mut self, a: &[bool], b: &[bool]) -> Result<Vec<bool>, Broken> {
        Ok(a.iter().zip(b).map(|(a, b)| a ^ b).collect())
    }
    fn and_many(&mut self, a: &[bool], b: &[bool]) -> Result<Vec<bool>, Broken> {
        Ok(a.iter().zip(b).map(|(a, b)| a & b).collect())
    }
}

impl Reactive for Machine {
    fn open(&mut self, wires: &[bool]) -> Result<Vec<bool>, Broken> {
        self.opened.push(wires.to_vec());
        Ok(wires.to_vec())
    }
    fn toss(&mut self, bits: usize) -> Result<Vec<bool>, Broken> {
        Ok((0..bits).map(|_| self.next() & 1 == 1).collect())
    }
    fn broken(&mut self, why: Broken) -> Broken {
        why
    }
}

/// Needs of a memory with the bound of 2^-40.
fn needs(blocks: usize, width: usize, is_given: bool) -> Needs {
    Needs { is_given, ..Needs::new(blocks, width, 1 << 20) }
}

const FLAT: Layout = Layout::Trees { trees: 1, factor: 1 };

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
            for layout in all.into_iter().filter(|layout| Plan::new(needs, *layout).is_some()) {
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

/// With stashes that are too small, an overflow is found before anything wrong is read.
#[test]
fn an_overflow_is_told_and_nothing_wrong_is_read() {
    let mut overflows = 0;
    for seed in 0..40 {
        let mut g = Machine::new(seed);
        let mut plan = Plan::new(needs(64, 8, false), nested(2, 2)).unwrap();
        for tree in &mut plan.trees {
            (tree.bucket, tree.stash) = (1, 2);
        }
        let mut ram = Ram::empty(&mut g, plan).unwrap();
        let mut array = [0; 64];
        for step in 0..400u128 {
            let place = g.below(64);
            let word = bits_of(step % 251, 8);
            let read = ram.update(&mut g, &bits_of(u128::from(place), 6), |_, _| Ok(word));
            match read {
                Ok(read) => assert_eq!(value_of(&read), array[place as usize], "step {step}"),
                Err(why) => {
                    assert_eq!(why, Broken::Overflow);
                    overflows += 1;
                    break;
                }
            }
            array[place as usize] = step % 251;
        }
    }
    assert!(overflows > 30, "{overflows}");
}

/// Slots of a path in the clear: index and leaf of a block.
type Slots = Vec<Option<(usize, usize)>>;

/// CO, algorithms 2 to 4, as they are written there, of which the circuit keeps the places only: a level that gives and receives
/// puts the new block where the other one was, any other into its first empty slot. `new` counts as the last block of the stash.
fn evict_in_the_clear(
    levels: &mut [Slots],
    turns: usize,
    depth: usize,
    new: Option<(usize, usize)>,
) {
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
                levels[0][place.expect("room in the stash")] = last;
            }
        } else if write.is_some() {
            let place = place.or_else(|| levels[i].iter().position(Option::is_none));
            levels[i][place.expect("room in the level")] = write;
        }
    }
    assert!(hold.is_none());
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
                evict_in_the_clear(
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
        let mut leaf = leaf.to_vec();
        leaf.extend((0..level.max(1) - 1).rev().map(|turn| turns >> turn & 1 == 1));
        leaf.reverse();
        slot[0].then(|| (value_of(index) as usize, value_of(&leaf) as usize))
    };
    let levels = path.levels.iter().enumerate();
    let all = levels.map(|(level, slots)| slots.iter().map(|s| slot(level, s)).collect()).collect();
    tree.save(path);
    all
}

/// The bound that stashes are made by, 2^-(6 + 4 r / 3) for more than r blocks after the first eviction, on a tree whose
/// blocks are accessed in turn: the worst order, as each has been away for longest.
#[test]
fn stashes_hold_no_more_than_the_bound_says() {
    for blocks in [16, 128] {
        let mut g = Machine::new(7);
        let mut tree = tree::Tree::new(&mut g, TreeShape::new(blocks, 1, 2, 24)).unwrap();
        let shape = tree.shape;
        let mut positions = vec![vec![false; shape.depth]; blocks];
        let mut more_than = [0u32; 24];
        let rounds = 5_000 / blocks;
        for (round, block) in (0..rounds).flat_map(|round| (0..blocks).map(move |i| (round, i))) {
            let index = bits_of(block as u128, shape.index());
            let data = tree.take(&mut g, positions[block].clone(), &index).unwrap();
            assert_eq!(data, [round > 0], "the block is where it should be");
            positions[block] = g.toss(shape.depth).unwrap();
            let leaf = positions[block].iter().rev();
            let new = [true].iter().chain(&index).chain(&[true]).chain(leaf).copied().collect();
            assert!(!tree.evict_with(&mut g, new).unwrap());
            let held = tree.stash.iter().filter(|slot| slot[0]).count();
            tree.evict(&mut g).unwrap();
            if round > 1 {
                more_than[..held].iter_mut().for_each(|count| *count += 1);
            }
        }
        let all = ((rounds - 2) * blocks) as f64;
        for (r, &count) in more_than.iter().enumerate() {
            let bound = all * (-6.0 - 4.0 / 3.0 * r as f64).exp2();
            // Counts of rare events: more than four above a small mean is less than one in a hundred.
            assert!(f64::from(count) <= bound.max(4.0), "{blocks}: {count} with more than {r}");
        }
        // It is not always empty either: the bound is about something.
        assert!(more_than[0] > 0);
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

/// What is opened is as uniform for one place again and again as for all in turn or at random, from the first access on:
/// chi-square of the leaves, and of two in a row.
#[test]
fn opened_leaves_are_uniform_whatever_is_accessed() {
    let pattern = |kind: u64, step: u64| match kind {
        0 => 5,
        1 => step % 8,
        2 => step / 2 % 8,
        _ => (step * step + 3 * step) % 7 % 8,
    };
    for kind in 0..4 {
        let (mut single, mut pairs) = ([0u32; 8], [0u32; 64]);
        for run in 0..400 {
            let mut g = Machine::new(1000 * kind + run);
            let plan = Plan::new(needs(8, 1, run % 2 == 1), FLAT).unwrap();
            let mut ram = if run % 2 == 1 {
                Ram::of(&mut g, plan, Rows::new(vec![vec![true]; 8]).unwrap()).unwrap()
            } else {
                Ram::empty(&mut g, plan).unwrap()
            };
            for step in 0..16 {
                let place = bits_of(u128::from(pattern(kind, step)), 3);
                ram.access(&mut g, &place, Access::Read).unwrap();
            }
            let leaves: Vec<usize> =
                g.opened.iter().map(|bits| value_of(&bits[..3]) as usize).collect();
            leaves.iter().for_each(|leaf| single[*leaf] += 1);
            leaves.chunks(2).for_each(|pair| pairs[8 * pair[0] + pair[1]] += 1);
        }
        // 7 and 63 degrees of freedom: beyond these with a probability of 2^-20 each.
        assert!(chi_square(&single) < 43.0, "{kind}: {single:?}");
        assert!(chi_square(&pairs) < 135.0, "{kind}: {pairs:?}");
    }
}

fn chi_square(counts: &[u32]) -> f64 {
    let mean = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    counts.iter().map(|count| (f64::from(*count) - mean).powi(2) / mean).sum()
}
