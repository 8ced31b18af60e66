//! From leaf seeds to subspace VOLE columns, one strip of rows at a time (Roy 2022, figure 7).

use cenote_prim::{Block, Prg, Secret};
use zeroize::Zeroize;

use crate::Params;

/// Blocks of a strip of columns: what is worked on at a time, so that the 16 leaves of a tree and
/// their sums stay in the first-level cache.
pub(crate) const STRIP: usize = 64;

/// A strip may carry one more block: the sacrificed rows at the end of a chunk.
const WIDTH: usize = STRIP + 1;

/// One strip of one column.
pub(crate) type Row = [Block; WIDTH];

pub(crate) const ZERO_ROW: Row = [Block::ZERO; WIDTH];

/// Leaves whose streams are folded at once; trees of 8 levels fold twice.
const FAN: usize = 16;

/// What the leaves of a tree add up to on a strip.
pub(crate) struct Fold {
    /// The sum of all leaves.
    pub(crate) sum: Row,
    /// For each bit of the leaf number, the sum of the leaves that have it.
    pub(crate) by_bit: [Row; 8],
}

impl Zeroize for Fold {
    fn zeroize(&mut self) {
        self.sum.zeroize();
        self.by_bit.zeroize();
    }
}

/// The streams of all leaves.
pub(crate) struct Leaves {
    digit_bits: usize,
    streams: Vec<Prg>,
    rows: Box<Secret<[Row; FAN]>>,
    sums: Box<Secret<[Row; FAN]>>,
    fold: Box<Secret<Fold>>,
}

impl Leaves {
    /// The streams with these seeds: tree after tree, leaf after leaf.
    pub(crate) fn new(params: Params, seeds: &[Block]) -> Leaves {
        Leaves {
            digit_bits: params.digit_bits(),
            streams: seeds.iter().map(|seed| Prg::new(*seed)).collect(),
            rows: Box::new(Secret::new([ZERO_ROW; FAN])),
            sums: Box::new(Secret::new([ZERO_ROW; FAN])),
            fold: Box::new(Secret::new(Fold { sum: ZERO_ROW, by_bit: [ZERO_ROW; 8] })),
        }
    }

    /// Takes the next `len` blocks of every leaf of `tree`, at most [`STRIP`] + 1, and adds them up.
    pub(crate) fn fold(&mut self, tree: usize, len: usize) -> &mut Fold {
        let leaves = 1 << self.digit_bits;
        let streams = &mut self.streams[leaves * tree..leaves * (tree + 1)];
        let Fold { sum, by_bit } = &mut **self.fold;
        if self.digit_bits == 8 {
            let (low, high) = by_bit.split_at_mut(4);
            low.fill(ZERO_ROW);
            for (streams, sum) in streams.chunks_mut(FAN).zip(self.sums.iter_mut()) {
                fill(streams, &mut self.rows[..], len);
                fold_rows::<4, FAN>(&self.rows[..], sum, low);
            }
            high.fill(ZERO_ROW);
            fold_rows::<4, FAN>(&self.sums[..], sum, high);
            return &mut self.fold;
        }
        fill(streams, &mut self.rows[..], len);
        by_bit[..self.digit_bits].fill(ZERO_ROW);
        match self.digit_bits {
            1 => fold_rows::<1, 2>(&self.rows[..2], sum, by_bit),
            2 => fold_rows::<2, 4>(&self.rows[..4], sum, by_bit),
            _ => fold_rows::<4, FAN>(&self.rows[..], sum, by_bit),
        }
        &mut self.fold
    }
}

fn fill(streams: &mut [Prg], rows: &mut [Row], len: usize) {
    for (stream, row) in streams.iter_mut().zip(rows) {
        stream.fill(&mut row[..len]);
    }
}

/// Half a block: the unit that the compiler makes vectors of.
type Words = [u64; 2 * WIDTH];

/// Sets `sum` to the sum of the `L` = 2^`K` rows and adds to `by_bit[b]` those whose number has bit `b`.
#[inline(never)]
fn fold_rows<const K: usize, const L: usize>(rows: &[Row], sum: &mut Row, by_bit: &mut [Row]) {
    let rows: &[Row; L] = rows.try_into().expect("2^K rows");
    let by_bit: &mut [Row; K] = (&mut by_bit[..K]).try_into().expect("K rows");
    let rows: [&Words; L] = std::array::from_fn(|i| words(&rows[i]));
    let sum = words_mut(sum);
    let by_bit: &mut [Words; K] = bytemuck::cast_mut(by_bit);
    for p in 0..2 * WIDTH {
        let mut x: [u64; L] = std::array::from_fn(|i| rows[i][p]);
        let mut width = L / 2;
        // Halving: the odd places of the b-th round are the leaves with bit b.
        for by_bit in by_bit.iter_mut() {
            let mut odd = 0;
            for i in 0..width {
                odd ^= x[2 * i + 1];
                x[i] = x[2 * i] ^ x[2 * i + 1];
            }
            by_bit[p] ^= odd;
            width /= 2;
        }
        sum[p] = x[0];
    }
}

fn words(row: &Row) -> &Words {
    bytemuck::cast_ref(row)
}

fn words_mut(row: &mut Row) -> &mut Words {
    bytemuck::cast_mut(row)
}

/// Adds `other` to `row` if `bit`, without a branch.
pub(crate) fn add_masked(row: &mut Row, other: &Row, bit: bool) {
    let mask = u64::from(bit).wrapping_neg();
    words_mut(row).iter_mut().zip(words(other)).for_each(|(a, b)| *a ^= b & mask);
}

/// Adds blocks from the wire to the beginning of `row`.
pub(crate) fn add_bytes(row: &mut Row, bytes: &[u8]) {
    let bytes = bytes.as_chunks().0;
    words_mut(row).iter_mut().zip(bytes).for_each(|(a, b)| *a ^= u64::from_le_bytes(*b));
}

/// Writes the beginning of `a` xor `b` to the wire.
pub(crate) fn write_sum(a: &Row, b: &Row, out: &mut [u8]) {
    let out = out.as_chunks_mut().0;
    let sums = words(a).iter().zip(words(b)).map(|(a, b)| (a ^ b).to_le_bytes());
    out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum);
}

#[cfg(test)]
impl Leaves {
    pub(crate) fn set_seed(&mut self, leaf: usize, seed: Block) {
        self.streams[leaf] = Prg::new(seed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fold_is_the_two_sums_of_the_paper() {
        for k in [1, 2, 4, 8] {
            let params = Params::new(k, 128).unwrap();
            let mut seeds = vec![Block::ZERO; params.trees() * params.leaves()];
            Prg::new(Block::new(k as u128)).fill(&mut seeds);
            let mut leaves = Leaves::new(params, &seeds);
            for (tree, len) in [(0, 1), (params.trees() - 1, WIDTH), (1, 5)] {
                let mut sum = ZERO_ROW;
                let mut by_bit = [ZERO_ROW; 8];
                for x in 0..params.leaves() {
                    let mut row = ZERO_ROW;
                    Prg::new(seeds[tree * params.leaves() + x]).fill(&mut row[..len]);
                    for p in 0..len {
                        sum[p] ^= row[p];
                        (0..k).for_each(|b| by_bit[b][p] ^= row[p].times(x >> b & 1 == 1));
                    }
                }
                let fold = leaves.fold(tree, len);
                assert!(fold.sum[..len] == sum[..len]);
                assert!((0..k).all(|b| fold.by_bit[b][..len] == by_bit[b][..len]));
            }
        }
    }

    #[test]
    fn streams_go_on() {
        let params = Params::default();
        let seeds = vec![Block::new(3); params.trees() * params.leaves()];
        let (mut a, mut b) = (Leaves::new(params, &seeds), Leaves::new(params, &seeds));
        let whole = a.fold(2, 65).by_bit[1];
        let mut cut = b.fold(2, 30).by_bit[1][..30].to_vec();
        cut.extend(&b.fold(2, 35).by_bit[1][..35]);
        assert!(whole[..] == cut[..]);
    }
}
