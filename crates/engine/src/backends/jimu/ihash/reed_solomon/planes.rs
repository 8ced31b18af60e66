//! Memory for planes, and the strips of a message whose planes run over all its lanes.

use cenote_prim::Block;
use cenote_prim::planes::combine;
use zeroize::Zeroizing;

use super::code::{Code, Coefficients};
use crate::backends::jimu::ihash::LANES;

/// Planes that are used again and again; wiped when dropped.
///
/// Blocks, because wiping goes element by element.
#[derive(Default)]
pub(super) struct Planes(Zeroizing<Vec<Block>>);

impl Planes {
    /// Room for `count` planes of `lanes`, which hold anything; the contents of before if they were
    /// not more.
    pub(super) fn get(&mut self, count: usize, lanes: usize) -> &mut [u8] {
        let bytes = count * lanes;
        if 16 * self.0.len() < bytes {
            self.0 = Zeroizing::new(vec![Block::ZERO; bytes.div_ceil(16)]);
        }
        &mut Block::as_bytes_mut(&mut self.0)[..bytes]
    }

    /// The first `bytes` bytes.
    pub(super) fn bytes(&self, bytes: usize) -> &[u8] {
        &Block::as_bytes(&self.0)[..bytes]
    }
}

/// Planes of `lanes` in a message, of which a strip is read or written: that from lane `at` on, as
/// far as the message goes.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub(super) lanes: usize,
    pub(super) at: usize,
}

impl Window {
    /// Writes the planes of a strip of `width` lanes to the message.
    pub(super) fn write(self, message: &mut [u8], strip: &[u8], width: usize) {
        let used = width.min(self.lanes - self.at);
        for (to, from) in message.chunks_exact_mut(self.lanes).zip(strip.chunks_exact(width)) {
            to[self.at..self.at + used].copy_from_slice(&from[..used]);
        }
    }

    /// Reads the planes of a strip of `width` lanes from the message; then zeros.
    pub(super) fn read(self, message: &[u8], strip: &mut [u8], width: usize) {
        let used = width.min(self.lanes - self.at);
        for (from, to) in message.chunks_exact(self.lanes).zip(strip.chunks_exact_mut(width)) {
            to[..used].copy_from_slice(&from[self.at..self.at + used]);
            to[used..].fill(0);
        }
    }
}

/// The tag planes of a batch, strip after strip. Its memory is kept for the next batch, and wiped
/// when dropped.
#[derive(Default)]
pub(super) struct Batch {
    strips: Vec<(usize, Planes)>,
    used: usize,
}

impl Batch {
    /// Room for a further strip of `count` planes of `lanes`, which hold anything.
    pub(super) fn push(&mut self, count: usize, lanes: usize) -> &mut [u8] {
        if self.used == self.strips.len() {
            self.strips.push((0, Planes::default()));
        }
        let strip = &mut self.strips[self.used];
        self.used += 1;
        strip.0 = lanes;
        strip.1.get(count, lanes)
    }

    /// All strips, of `count` planes each: their lanes and their planes.
    pub(super) fn strips(&self, count: usize) -> impl Iterator<Item = (usize, &[u8])> {
        let strips = self.strips[..self.used].iter();
        strips.map(move |(lanes, planes)| (*lanes, planes.bytes(count * lanes)))
    }

    /// The combinations of its strips, of `count` planes each: as many planes of a vector for each combination.
    pub(super) fn sums(&self, code: &Code, count: usize, coefficients: &Coefficients) -> Vec<u8> {
        let combinations = coefficients.combinations();
        let mut sums = vec![0; combinations * count * LANES];
        let mut at = 0;
        for (lanes, planes) in self.strips(count) {
            let factors = coefficients.of_strip(at, lanes);
            combine(code.field, &factors, combinations, planes, count, lanes, &mut sums);
            at += lanes;
        }
        sums
    }

    /// The bytes of one lane, if there are so many.
    pub(super) fn lane(&self, count: usize, mut lane: usize) -> Option<Zeroizing<Vec<u8>>> {
        for (lanes, planes) in self.strips(count) {
            if lane < lanes {
                let bytes = planes.chunks_exact(lanes).map(|plane| plane[lane]);
                return Some(Zeroizing::new(bytes.collect()));
            }
            lane -= lanes;
        }
        None
    }

    /// Forgets all strips.
    pub(super) fn clear(&mut self) {
        self.used = 0;
    }
}
