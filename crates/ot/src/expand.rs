//! From leaf seeds to subspace VOLE columns, one strip of rows at a time (Roy 2022, section 3).

use cenote_prim::streams::Streams;
use cenote_prim::{Block, Secret};

use crate::params::{Params, STRIP};

/// One strip of one column.
pub(crate) type Row = [Block; STRIP];

pub(crate) const ZERO_ROW: Row = [Block::ZERO; STRIP];

/// The streams of all leaves.
pub(crate) struct Leaves {
    trees: Vec<Streams>,
    sum: Box<Secret<Row>>,
}

impl Leaves {
    /// The streams with these seeds: tree after tree, leaf after leaf.
    pub(crate) fn new(params: Params, seeds: &[Block]) -> Leaves {
        let trees = seeds.chunks(params.leaves()).map(Streams::new).collect();
        Leaves { trees, sum: Box::new(Secret::new(ZERO_ROW)) }
    }

    /// Takes the next `width` blocks, at most [`STRIP`], of every leaf of `tree`. Writes to
    /// `by_bit[b]` the sum of the leaves whose number has bit `b`; returns the sum of all.
    pub(crate) fn fold(&mut self, tree: usize, width: usize, by_bit: &mut [Row]) -> &mut Row {
        let sum = &mut **self.sum;
        self.trees[tree].fold(&mut sum[..width], by_bit);
        sum
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
mod tests {
    use super::*;
    use cenote_prim::Prg;

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
