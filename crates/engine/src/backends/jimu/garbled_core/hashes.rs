//! The gate hash of many cores at once: all keys are gathered before the cipher runs.

use std::fmt;

use cenote_prim::{Block, keyed};
use zeroize::Zeroize;

use super::Shape;
use crate::backends::jimu::ihash::Label;

/// Lanes that are worked on at a time: enough to fill the cipher, few enough to stay near it.
const LANES: usize = 128;

/// Scratch for the hashes of `n` sets of input labels of cores.
pub(super) struct Hashes {
    shape: Shape,
    /// Keys of c of all sets, then those of the lanes of the first set, of the second, ..
    keys: Vec<Block>,
    tweaks: Vec<Block>,
    /// In the order of the keys, three blocks for each lane.
    hashes: Vec<Label>,
    sets: usize,
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
        Hashes { shape, keys: Vec::new(), tweaks: Vec::new(), hashes: Vec::new(), sets: 0 }
    }

    /// How many cores with `sets` sets each are best hashed at a time.
    pub(super) fn batch(shape: Shape, sets: usize) -> usize {
        (LANES / (shape.width * sets)).max(1)
    }

    /// Begins with `sets` sets, of which all must be [`Hashes::set`].
    pub(super) fn begin(&mut self, sets: usize) {
        self.sets = sets;
        room(&mut self.keys, sets * self.shape.inputs());
        room(&mut self.tweaks, sets * self.shape.inputs());
        room(&mut self.hashes, sets * 2 * self.shape.width);
    }

    /// The keys of one set: those of the input wires, in order, of the core of this number.
    #[inline(always)]
    pub(super) fn set(&mut self, set: usize, number: u64, mut keys: impl Iterator<Item = Block>) {
        let tweak = |wire: usize| Block::new(u128::from(number.wrapping_add(wire as u64)) << 64);
        let first = self.sets + set * self.shape.width;
        let lanes = first..first + self.shape.width;
        self.keys[set] = keys.next().expect("cores have a common input");
        self.tweaks[set] = tweak(0);
        let places = self.keys[lanes.clone()].iter_mut().zip(&mut self.tweaks[lanes]);
        for (lane, ((place, place_tweak), key)) in places.zip(keys).enumerate() {
            *place = key;
            *place_tweak = tweak(self.shape.x(lane));
        }
    }

    /// Computes the hashes: those of c, and those of the x; one for each lane of each set.
    pub(super) fn run(&mut self) -> (&[Label], &[Label]) {
        let (lanes, keys) = (self.sets * self.shape.width, self.sets * self.shape.inputs());
        let (keys, tweaks) = (&self.keys[..keys], &self.tweaks[..keys]);
        let hashes = &mut self.hashes[..2 * lanes];
        // With one lane, c has as many blocks as x: one long run.
        let common = if self.shape.width == 1 { 0 } else { self.sets };
        let split = common * self.shape.width;
        let (c, x) = bytemuck::cast_slice_mut::<Label, Block>(hashes).split_at_mut(3 * split);
        keyed::expand(&keys[..common], &tweaks[..common], 3 * self.shape.width, c);
        keyed::expand(&keys[common..], &tweaks[common..], 3, x);
        hashes.split_at(lanes)
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
