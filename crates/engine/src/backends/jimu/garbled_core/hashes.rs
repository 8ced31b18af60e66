//! The gate hash of many cores at once: all keys are gathered before the cipher runs.

use std::fmt;
use std::ops::Range;

use cenote_prim::{Block, keyed};
use zeroize::Zeroize;

use super::Shape;
use crate::backends::jimu::ihash::Label;

/// Hashes that are made at a time, half of them: enough to fill the cipher, few enough to stay near it.
const ANDS: usize = 128;

/// Scratch for the hashes of `n` sets of the operands of cores, level by level.
pub(super) struct Hashes {
    shape: Shape,
    pub(super) levels: Vec<Level>,
    runs: Vec<Run>,
    /// Of the left and the right operand of each AND.
    spots: Vec<[Spot; 2]>,
    /// For each run, the keys of its operands in the first set, in the second, ..
    keys: Vec<Block>,
    tweaks: Vec<Block>,
    /// In the order of the keys, three blocks for each use of an operand.
    hashes: Vec<Label>,
    sets: usize,
}

/// ANDs of which none needs another, and the operands that are there as soon as those before have run.
#[derive(Clone)]
pub(super) struct Level {
    pub(super) operands: Range<usize>,
    pub(super) ands: Range<usize>,
    runs: Range<usize>,
}

/// Operands of a level, one behind the other, that as many ANDs use.
struct Run {
    operands: Range<usize>,
    uses: usize,
    /// Hashes of a set in the runs before.
    before: usize,
}

/// Where a hash is: `sets * before + set * stride + at`.
#[derive(Clone, Copy)]
struct Spot {
    before: usize,
    stride: usize,
    at: usize,
}

/// `len` zero or used items of `room`, which grows if need be and leaves nothing behind.
pub(super) fn room<T: Zeroize + Clone + Default>(room: &mut Vec<T>, len: usize) -> &mut [T] {
    if room.len() < len {
        room.zeroize();
        *room = vec![T::default(); len];
    }
    &mut room[..len]
}

impl Hashes {
    pub(super) fn new(shape: Shape) -> Hashes {
        let mut used = vec![0; shape.operands()];
        for operand in (0..shape.ands()).flat_map(|and| shape.and(and)) {
            used[operand] += 1;
        }
        let (mut levels, mut runs, mut before) = (Vec::new(), Vec::<Run>::new(), 0);
        let mut places = Vec::new();
        for (operands, ands) in shape.levels() {
            let first = runs.len();
            for operand in operands.clone() {
                let uses = used[operand];
                match runs[first..].last_mut() {
                    Some(run) if run.uses == uses => run.operands.end += 1,
                    _ => runs.push(Run { operands: operand..operand + 1, uses, before }),
                }
                places.push((runs.len() - 1, before));
                before += uses;
            }
            levels.push(Level { operands, ands, runs: first..runs.len() });
        }
        let spots = (0..shape.ands()).map(|and| {
            shape.and(and).map(|operand| {
                let (run, place) = &mut places[operand];
                let (before, stride) = (runs[*run].before, runs[*run].hashes());
                *place += 1;
                Spot { before, stride, at: *place - 1 - before }
            })
        });
        let spots = spots.collect();
        let (keys, tweaks, hashes) = Default::default();
        Hashes { shape, levels, runs, spots, keys, tweaks, hashes, sets: 0 }
    }

    /// How many cores with `sets` sets each are best hashed at a time.
    pub(super) fn batch(shape: Shape, sets: usize) -> usize {
        (ANDS / (shape.ands() * sets)).max(1)
    }

    /// Begins with `sets` sets, of which all must be [`Hashes::set`] for a level before it is run.
    pub(super) fn begin(&mut self, sets: usize) {
        self.sets = sets;
        room(&mut self.keys, sets * self.shape.operands());
        room(&mut self.tweaks, sets * self.shape.operands());
        room(&mut self.hashes, sets * 2 * self.shape.ands());
    }

    /// The keys of `set` and those that follow, one of each operand of a level of the core of this number.
    #[inline(always)]
    pub(super) fn set<const N: usize>(
        &mut self,
        level: &Level,
        set: usize,
        number: u64,
        keys: impl Fn(usize) -> [Block; N],
    ) {
        for run in &self.runs[level.runs.clone()] {
            let at = run.operands.start * self.sets + set * run.operands.len();
            let count = run.operands.len();
            let places = at..at + N * count;
            let (places, tweaks) = (&mut self.keys[places.clone()], &mut self.tweaks[places]);
            for i in 0..count {
                let operand = run.operands.start + i;
                let tweak = Block::new(u128::from(number.wrapping_add(operand as u64)) << 64);
                for (set, key) in keys(operand).into_iter().enumerate() {
                    places[set * count + i] = key;
                    tweaks[set * count + i] = tweak;
                }
            }
        }
    }

    /// Computes the hashes of the operands of a level, one for each use.
    pub(super) fn run(&mut self, level: &Level) {
        let blocks = bytemuck::cast_slice_mut::<Label, Block>(&mut self.hashes);
        for run in &self.runs[level.runs.clone()] {
            let keys = run.operands.start * self.sets..run.operands.end * self.sets;
            let (first, count) = (3 * self.sets * run.before, 3 * self.sets * run.hashes());
            let (keys, tweaks) = (&self.keys[keys.clone()], &self.tweaks[keys]);
            keyed::expand(keys, tweaks, 3 * run.uses, &mut blocks[first..][..count]);
        }
    }

    /// The hashes of the operands of an AND of a set.
    #[inline(always)]
    pub(super) fn of(&self, set: usize, and: usize) -> [&Label; 2] {
        let [left, right] = &self.spots[and];
        [&self.hashes[left.place(self.sets, set)], &self.hashes[right.place(self.sets, set)]]
    }
}

impl Spot {
    #[inline(always)]
    fn place(&self, sets: usize, set: usize) -> usize {
        sets * self.before + set * self.stride + self.at
    }
}

impl Run {
    /// Hashes of a set.
    fn hashes(&self) -> usize {
        self.operands.len() * self.uses
    }
}

impl Drop for Hashes {
    fn drop(&mut self) {
        self.keys.zeroize();
        self.hashes.zeroize();
    }
}

impl fmt::Debug for Hashes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hashes(..)")
    }
}
