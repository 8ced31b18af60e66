//! The gate hash of many cores at once: all keys are gathered before the cipher runs.

use std::fmt;
use std::ops::Range;

use cenote_prim::{Block, keyed};
use zeroize::Zeroize;

use super::Shape;
use super::shape::Level;
use crate::backends::jimu::ihash::Label;

/// Hashes that are made at a time, half of them: enough to fill the cipher, few enough to stay near it.
const ANDS: usize = 128;

/// Scratch for the hashes of `n` sets of the operands of cores, level by level.
pub(super) struct Hashes {
    shape: Shape,
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

/// Operands of a level, one behind the other, that as many ANDs use.
struct Run {
    operands: Range<usize>,
    uses: usize,
    /// Hashes of a set in the runs before.
    before: usize,
}

/// Where a hash is: `sets * before + set * stride + at`.
#[derive(Clone, Copy, Default)]
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
        let mut uses = vec![0; shape.operands()];
        let mut spots = vec![[Spot::default(); 2]; shape.ands()];
        for (and, spots) in spots.iter_mut().enumerate() {
            for (spot, operand) in spots.iter_mut().zip(shape.and(and)) {
                spot.at = uses[operand];
                uses[operand] += 1;
            }
        }
        let (levels, mut runs) = (shape.levels(), Vec::<Run>::new());
        for operand in levels.iter().flat_map(|level| level.operands.clone()) {
            let uses = uses[operand];
            let begins = levels.iter().any(|level| level.operands.start == operand);
            match runs.last_mut() {
                Some(run) if run.uses == uses && !begins => run.operands.end += 1,
                last => {
                    let before = last.map_or(0, |run| run.before + run.hashes());
                    runs.push(Run { operands: operand..operand + 1, uses, before });
                }
            }
        }
        for (and, spots) in spots.iter_mut().enumerate() {
            for (spot, operand) in spots.iter_mut().zip(shape.and(and)) {
                for run in runs.iter().filter(|run| run.operands.contains(&operand)) {
                    spot.at += (operand - run.operands.start) * run.uses;
                    (spot.before, spot.stride) = (run.before, run.hashes());
                }
            }
        }
        let (keys, tweaks, hashes) = Default::default();
        Hashes { shape, runs, spots, keys, tweaks, hashes, sets: 0 }
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

    /// The keys of one set: those of the operands of a level of the core of this number.
    #[inline(always)]
    pub(super) fn set(
        &mut self,
        level: &Level,
        set: usize,
        number: u64,
        key: impl Fn(usize) -> Block,
    ) {
        for run in self.runs.iter().filter(|run| run.is_of(level)) {
            let at = run.operands.start * self.sets + set * run.operands.len();
            let keys = self.keys[at..].iter_mut().zip(&mut self.tweaks[at..]);
            for ((place, tweak), operand) in keys.zip(run.operands.clone()) {
                *place = key(operand);
                *tweak = Block::new(u128::from(number.wrapping_add(operand as u64)) << 64);
            }
        }
    }

    /// Computes the hashes of the operands of a level, one for each use.
    pub(super) fn run(&mut self, level: &Level) {
        let blocks = bytemuck::cast_slice_mut::<Label, Block>(&mut self.hashes);
        for run in self.runs.iter().filter(|run| run.is_of(level)) {
            let keys = run.operands.start * self.sets..run.operands.end * self.sets;
            let (first, count) = (3 * self.sets * run.before, 3 * self.sets * run.hashes());
            let (keys, tweaks) = (&self.keys[keys.clone()], &self.tweaks[keys]);
            keyed::expand(keys, tweaks, 3 * run.uses, &mut blocks[first..][..count]);
        }
    }

    /// The hashes of the operands of an AND of a set.
    #[inline(always)]
    pub(super) fn of(&self, set: usize, and: usize) -> [Label; 2] {
        self.spots[and]
            .map(|Spot { before, stride, at }| self.hashes[self.sets * before + set * stride + at])
    }
}

impl Run {
    /// Hashes of a set.
    fn hashes(&self) -> usize {
        self.operands.len() * self.uses
    }

    fn is_of(&self, level: &Level) -> bool {
        level.operands.contains(&self.operands.start)
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
