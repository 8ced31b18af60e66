//! From leaf seeds to subspace VOLE columns, one strip of rows at a time (Roy 2022, section 3).

use cenote_prim::{Block, Prg, Secret};

use crate::params::Params;

/// Blocks of a strip of columns: what is worked on at a time, so that the 16 leaves of a tree and
/// their sums stay in the first-level cache.
pub(crate) const STRIP: usize = 64;

/// One strip of one column.
pub(crate) type Row = [Block; STRIP];

pub(crate) const ZERO_ROW: Row = [Block::ZERO; STRIP];

/// Leaves whose streams are added up at once; trees of 8 levels do it in two steps.
const FAN: usize = 16;

/// The streams of all leaves.
pub(crate) struct Leaves {
    digit_bits: usize,
    streams: Vec<Prg>,
    rows: Box<Secret<[Row; FAN]>>,
    partial: Box<Secret<[Row; FAN]>>,
    sum: Box<Secret<Row>>,
}

impl Leaves {
    /// The streams with these seeds: tree after tree, leaf after leaf.
    pub(crate) fn new(params: Params, seeds: &[Block]) -> Leaves {
        Leaves {
            digit_bits: params.digit_bits(),
            streams: seeds.iter().map(|seed| Prg::new(*seed)).collect(),
            rows: Box::new(Secret::new([ZERO_ROW; FAN])),
            partial: Box::new(Secret::new([ZERO_ROW; FAN])),
            sum: Box::new(Secret::new(ZERO_ROW)),
        }
    }

    /// Takes the next `width` blocks, at most [`STRIP`], of every leaf of `tree`. Writes to
    /// `by_bit[b]` the sum of the leaves whose number has bit `b`; returns the sum of all.
    pub(crate) fn fold(&mut self, tree: usize, width: usize, by_bit: &mut [Row]) -> &mut Row {
        let leaves = 1 << self.digit_bits;
        let streams = &mut self.streams[leaves * tree..leaves * (tree + 1)];
        let (rows, sum) = (&mut **self.rows, &mut **self.sum);
        if self.digit_bits == 8 {
            let (low, high) = by_bit.split_at_mut(4);
            low.fill(ZERO_ROW);
            for (streams, partial) in streams.chunks_mut(FAN).zip(self.partial.iter_mut()) {
                fill(streams, rows, width);
                fold_rows::<4, FAN, true>(rows, width, partial, low);
            }
            fold_rows::<4, FAN, false>(&self.partial[..], width, sum, high);
            return sum;
        }
        fill(streams, rows, width);
        match self.digit_bits {
            1 => fold_rows::<1, 2, false>(rows, width, sum, by_bit),
            2 => fold_rows::<2, 4, false>(rows, width, sum, by_bit),
            _ => fold_rows::<4, FAN, false>(rows, width, sum, by_bit),
        }
        sum
    }
}

fn fill(streams: &mut [Prg], rows: &mut [Row], width: usize) {
    for (stream, row) in streams.iter_mut().zip(rows) {
        stream.fill(&mut row[..width]);
    }
}

/// Half blocks: the unit that the compiler makes vectors of.
type Words = [u64; 2 * STRIP];

fn words(row: &Row) -> &Words {
    bytemuck::cast_ref(row)
}

fn words_mut(row: &mut Row) -> &mut Words {
    bytemuck::cast_mut(row)
}

/// Sets `sum` to the sum of the first `L` = 2^`K` rows, and `by_bit[b]` to the sum of those whose
/// number has bit `b`, or with `ADD` adds them to it.
fn fold_rows<const K: usize, const L: usize, const ADD: bool>(
    rows: &[Row],
    width: usize,
    sum: &mut Row,
    by_bit: &mut [Row],
) {
    let rows: &[Row; L] = rows[..L].try_into().expect("2^K rows");
    let by_bit: &mut [Row; K] = (&mut by_bit[..K]).try_into().expect("K rows");
    let rows: [&Words; L] = std::array::from_fn(|i| words(&rows[i]));
    let sum = words_mut(sum);
    let by_bit: &mut [Words; K] = bytemuck::cast_mut(by_bit);
    for p in 0..2 * width.min(STRIP) {
        let mut x: [u64; L] = std::array::from_fn(|i| rows[i][p]);
        let mut half = L / 2;
        // In the b-th round the odd places hold the leaves with bit b.
        for by_bit in by_bit.iter_mut() {
            let mut odd = 0;
            for i in 0..half {
                odd ^= x[2 * i + 1];
                x[i] = x[2 * i] ^ x[2 * i + 1];
            }
            by_bit[p] = if ADD { by_bit[p] ^ odd } else { odd };
            half /= 2;
        }
        sum[p] = x[0];
    }
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
            for (tree, len) in [(0, 1), (params.trees() - 1, STRIP), (1, 5)] {
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
                let mut folded = vec![[Block::ONE; STRIP]; k];
                assert!(leaves.fold(tree, len, &mut folded)[..len] == sum[..len]);
                assert!((0..k).all(|b| folded[b][..len] == by_bit[b][..len]));
            }
        }
    }

    #[test]
    fn streams_go_on() {
        let params = Params::default();
        let seeds = vec![Block::new(3); params.trees() * params.leaves()];
        let mut leaves = [Leaves::new(params, &seeds), Leaves::new(params, &seeds)];
        let mut parts = [[ZERO_ROW; 4]; 3];
        leaves[0].fold(2, 64, &mut parts[0]);
        leaves[1].fold(2, 30, &mut parts[1]);
        leaves[1].fold(2, 34, &mut parts[2]);
        assert!(parts[0][1][..30] == parts[1][1][..30]);
        assert!(parts[0][1][30..] == parts[2][1][..34]);
    }
}
