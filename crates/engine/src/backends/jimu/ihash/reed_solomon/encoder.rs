//! One code, as the sender has it: all streams.

use std::ops::Range;

use cenote_prim::Block;
use cenote_prim::field::Field;
use cenote_prim::planes::{PlaneMap, combine, pack6, xor_into};
use cenote_prim::seeds::SeedBank;

use super::code::{Blocks, Code, Coefficients, points, strips};
use super::planes::{Planes, Window};
use crate::backends::jimu::ihash::LANES;

/// The streams of a code and what turns them into words.
pub(super) struct Encoder {
    pub(super) code: Code,
    bank: SeedBank,
    /// From the symbols of the streams 0 .. k to those that words have at the others.
    parity: PlaneMap,
    /// From the same to the symbols at the points that are never watched.
    extra: PlaneMap,
}

/// Room of a sender for one strip.
#[derive(Default)]
pub(super) struct Work {
    /// Symbols at the points that are never watched, then those of the streams.
    words: Planes,
    corrections: Planes,
    packed: Planes,
}

impl Encoder {
    /// The code with its seeds.
    pub(super) fn new(code: Code, seeds: &[Block]) -> Encoder {
        assert_eq!(seeds.len(), code.n);
        let known = points(0..code.k);
        let map = |to: &[u8]| PlaneMap::new(&code.interpolation(&known, to));
        let (parity, extra) = (map(&points(code.k..code.n)), map(&code.extra_points()));
        Encoder { code, bank: SeedBank::new(seeds), parity, extra }
    }

    /// Loads the streams at the lanes from `first` on.
    pub(super) fn load(&self, first: u64, lanes: usize, work: &mut Work) {
        let Code { n, field, .. } = self.code;
        let words = work.words.get(self.code.extra() + n, lanes);
        let streams = &mut words[self.code.extra() * lanes..];
        self.bank.fill(0..n, first, lanes, field.mask(), streams);
    }

    /// Loads the streams that determine the words, or all that [`Encoder::correct`] needs, at `width`
    /// lanes from each of `starts` on; then zeros, up to `lanes`.
    pub(super) fn load_again(
        &self,
        (starts, width): (&[u64], usize),
        lanes: usize,
        all: bool,
        work: &mut Work,
    ) {
        let Code { n, k, field, .. } = self.code;
        let count = if all { n } else { k };
        let words = work.words.get(self.code.extra() + count, lanes);
        let streams = &mut words[self.code.extra() * lanes..];
        self.bank.gather(0..count, starts, width, field.mask(), lanes, streams);
    }

    /// Writes the corrections of the loaded strip to its window of `message`.
    pub(super) fn correct(
        &self,
        lanes: usize,
        work: &mut Work,
        message: &mut [u8],
        window: Window,
    ) {
        let (extra, parity) = (self.code.extra(), self.code.parity());
        let streams = &work.words.get(extra + self.code.n, lanes)[extra * lanes..];
        let (systematic, rest) = streams.split_at(self.code.k * lanes);
        let corrections = work.corrections.get(parity, lanes);
        self.parity.apply(systematic, corrections, lanes);
        xor_into(corrections, rest);
        match self.code.field {
            Field::Gf64 => {
                let packed = work.packed.get(self.code.correction_planes(), lanes);
                pack6(corrections, lanes, packed);
                window.write(message, packed, lanes);
            }
            Field::Gf256 => window.write(message, corrections, lanes),
        }
    }

    /// Writes the forms of the loaded words.
    pub(super) fn forms(
        &self,
        lanes: usize,
        work: &mut Work,
        out: &mut [Block],
        stride: usize,
        offset: usize,
    ) {
        let Code { k, .. } = self.code;
        let words = work.words.get(self.code.extra() + k, lanes);
        let (extra, streams) = words.split_at_mut(self.code.extra() * lanes);
        self.extra.apply(&streams[..k * lanes], extra, lanes);
        let to = Blocks { out, stride, offset, packed: &mut work.packed };
        self.code.form_to_blocks(&words[..k * lanes], lanes, to);
    }

    /// Appends the combinations of the wires of a batch.
    pub(super) fn answer(
        &self,
        batch: Range<u64>,
        coefficients: &Coefficients,
        work: &mut Work,
        out: &mut Vec<u8>,
    ) {
        let Code { field, k, combinations, .. } = self.code;
        let mut sums = Planes::default();
        let sums = sums.get(combinations * k, LANES);
        for (at, lanes) in strips((batch.end - batch.start) as usize) {
            let streams = work.words.get(k, lanes);
            self.bank.fill(0..k, batch.start + at as u64, lanes, field.mask(), streams);
            let factors = coefficients.of_strip(at, lanes);
            combine(field, &factors, combinations, streams, k, lanes, sums);
        }
        let blocks = self.code.form_blocks();
        for sum in sums.chunks_exact(k * LANES) {
            let skip = self.code.extra() * LANES;
            let words = work.words.get(self.code.extra() + k, LANES);
            words[skip..].copy_from_slice(sum);
            let mut forms = vec![Block::ZERO; blocks * LANES];
            self.forms(LANES, work, &mut forms, blocks, 0);
            out.extend_from_slice(Block::as_bytes(&forms));
        }
    }
}
