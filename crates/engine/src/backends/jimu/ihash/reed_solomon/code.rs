//! The two codes of the hash: points, matrices and layouts that both sides share.

use std::ops::Range;

use cenote_pool::params::{Code as Lengths, HashCodes};
use cenote_prim::Block;
use cenote_prim::field::{Field, Matrix};
use cenote_prim::planes::{pack6, packed6, to_blocks};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::planes::Planes;
use crate::backends::jimu::ihash::LANES;

/// Blocks of a [`crate::backends::jimu::ihash::Label`].
pub(super) const LABEL_BLOCKS: usize = 3;

/// A Reed-Solomon code: a word is a polynomial of degree below `k`, its symbols are the values at
/// the points 0 .. n, of which the receiver knows `w`. The values at the `k - w` points from n on
/// are what it can know nothing about.
///
/// The *form* of a word is how messages hold it: its values at those further points, then those at
/// the points 0 .. w.
#[derive(Clone, Copy)]
pub(super) struct Code {
    pub(super) field: Field,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) w: usize,
    /// Combinations of the consistency check.
    pub(super) combinations: usize,
    /// Separates the coefficients of the two codes.
    pub(super) domain: u64,
}

impl Code {
    /// The code of the labels.
    pub(super) fn labels(codes: &HashCodes) -> Code {
        let code = Code::new(&codes.labels, codes.label_combinations, 0);
        assert_eq!((code.field, code.k), (Field::Gf256, 16 * LABEL_BLOCKS));
        // The key of a gate hash is what the receiver can know nothing about.
        assert_eq!(code.extra(), 16);
        code
    }

    /// The code of the permutation messages.
    pub(super) fn perms(codes: &HashCodes) -> Code {
        let code = Code::new(&codes.perms, codes.perm_combinations, 1);
        assert!(matches!((code.field, code.k), (Field::Gf64, 1..=21) | (Field::Gf256, 32)));
        assert_eq!(code.extra(), 1);
        code
    }

    fn new(lengths: &Lengths, combinations: u32, domain: u64) -> Code {
        let field = if lengths.field_bits == 6 { Field::Gf64 } else { Field::Gf256 };
        assert_eq!(field.bits(), lengths.field_bits);
        let [n, k, w] = [lengths.n, lengths.k, lengths.w].map(|length| length as usize);
        assert!(0 < w && w < k && k <= n && n + (k - w) <= 1 << field.bits());
        Code { field, n, k, w, combinations: combinations as usize, domain }
    }

    /// Points that are never watched.
    pub(super) fn extra(&self) -> usize {
        self.k - self.w
    }

    /// Symbols that the streams do not give.
    pub(super) fn parity(&self) -> usize {
        self.n - self.k
    }

    /// The values at `to` from those at `from`; there are `k` of the latter.
    pub(super) fn interpolation(&self, from: &[u8], to: &[u8]) -> Matrix {
        Matrix::interpolation(self.field, from, to)
    }

    /// The points that are never watched.
    pub(super) fn extra_points(&self) -> Vec<u8> {
        points(self.n..self.n + self.extra())
    }

    /// The points of a form.
    pub(super) fn form_points(&self) -> Vec<u8> {
        [self.extra_points(), points(0..self.w)].concat()
    }

    /// The matrix that takes the streams at `positions` and all corrections to the symbols at
    /// `positions`. A correction that belongs to none of them meets a column of zeros: the
    /// positions are secret, so that all corrections must be read.
    pub(super) fn selection(&self, positions: &[u8]) -> Matrix {
        let mut chosen = Matrix::zero(self.field, positions.len(), self.parity());
        for (row, position) in positions.iter().enumerate() {
            for (col, point) in points(self.k..self.n).iter().enumerate() {
                chosen.set(row, col, position.ct_eq(point).unwrap_u8());
            }
        }
        Matrix::identity(self.field, positions.len()).beside(&chosen)
    }

    /// Planes of bytes that the corrections of a word take.
    pub(super) fn correction_planes(&self) -> usize {
        match self.field {
            Field::Gf64 => packed6(self.parity()),
            Field::Gf256 => self.parity(),
        }
    }

    /// Blocks of a form.
    pub(super) fn form_blocks(&self) -> usize {
        match self.field {
            Field::Gf64 => 1,
            Field::Gf256 => self.k / 16,
        }
    }

    /// Writes the forms in `planes`, `k` of them, as blocks: block `b` of a lane is
    /// `out[lane * stride + offset + b]`.
    pub(super) fn form_to_blocks(&self, planes: &[u8], lanes: usize, to: Blocks<'_>) {
        match self.field {
            Field::Gf64 => pack_to_block(planes, lanes, to),
            Field::Gf256 => {
                for (block, planes) in planes.chunks_exact(16 * lanes).enumerate() {
                    to_blocks(planes, lanes, to.out, to.stride, to.offset + block);
                }
            }
        }
    }
}

/// Where the words of planes go as blocks.
pub(super) struct Blocks<'a> {
    pub(super) out: &'a mut [Block],
    pub(super) stride: usize,
    pub(super) offset: usize,
    /// Room for planes between two layouts.
    pub(super) packed: &'a mut Planes,
}

/// Writes at most 21 planes of 6-bit symbols as one block a lane.
pub(super) fn pack_to_block(planes: &[u8], lanes: usize, to: Blocks<'_>) {
    let count = packed6(planes.len() / lanes);
    let packed = to.packed.get(count, lanes);
    pack6(planes, lanes, packed);
    // 21 symbols end within byte 15: the planes above are zero.
    to_blocks(&packed[..count.min(16) * lanes], lanes, to.out, to.stride, to.offset);
}

/// The points with these numbers.
pub(super) fn points(numbers: Range<usize>) -> Vec<u8> {
    numbers.map(|number| number as u8).collect()
}

/// The coefficients of a consistency check: those of vector `v` in combination `c` at
/// `c * vectors + v`.
pub(super) struct Coefficients {
    combinations: usize,
    vectors: usize,
    all: Vec<u8>,
}

impl Coefficients {
    /// Those for a batch of `vectors`, expanded from `seed`. The last `sacrificed` vectors are the
    /// masks: combination `c` has the `c`-th of them and no other.
    pub(super) fn expand(code: &Code, seed: Block, vectors: usize, sacrificed: usize) -> Self {
        let combinations = code.combinations;
        let mut all = vec![0; combinations * vectors];
        cenote_prim::Prg::new(seed).fill_bytes(&mut all);
        for (c, row) in all.chunks_exact_mut(vectors).enumerate() {
            let masks = &mut row[vectors - sacrificed..];
            masks.fill(0);
            masks[c] = 1;
        }
        Coefficients { combinations, vectors, all }
    }

    /// The number of combinations.
    pub(super) fn combinations(&self) -> usize {
        self.combinations
    }

    /// Those of the vectors in a strip of `lanes` from lane `at` of the batch on, in the order of
    /// [`cenote_prim::planes::combine`].
    pub(super) fn of_strip(&self, at: usize, lanes: usize) -> Vec<u8> {
        let range = at / LANES..(at + lanes) / LANES;
        self.all.chunks_exact(self.vectors).flat_map(|row| &row[range.clone()]).copied().collect()
    }
}

/// Lanes of a strip at most: its planes stay in the cache of the processor's core.
pub(super) const STRIP: usize = 512;

/// The strips of `lanes`: where each begins, and its lanes.
pub(super) fn strips(lanes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..lanes).step_by(STRIP).map(move |at| (at, STRIP.min(lanes - at)))
}

/// Strips of the wires start .. start + width for each start, side by side: calls `strip` with
/// starts, a width and the place of the first of these wires among all.
pub(super) fn scattered(starts: &[u64], width: usize, mut strip: impl FnMut(&[u64], usize, usize)) {
    if (1..=STRIP).contains(&width) {
        let most = STRIP / width;
        for (i, starts) in starts.chunks(most).enumerate() {
            strip(starts, width, i * most * width);
        }
    } else {
        for (i, start) in starts.iter().enumerate() {
            strips(width).for_each(|(at, part)| strip(&[start + at as u64], part, i * width + at));
        }
    }
}

/// The points at which the receiver looks, as secret as they are.
pub(super) fn secret_points(parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(parts.concat())
}
