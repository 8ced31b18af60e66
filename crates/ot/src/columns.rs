//! The 128 columns of a chunk, the consistency check on them, and their transposition.

use std::ops::Range;

use cenote_prim::{Block, RandomOracle, Secret, SessionId, gf128, transpose};

use crate::expand::{Row, ZERO_ROW};
use crate::params::{ROWS, STRIP};

/// A piece of the columns of a chunk.
pub(crate) struct Strip {
    /// Its number.
    pub(crate) index: usize,
    /// Its blocks among those of the chunk. The last block of all is sacrificed.
    pub(crate) blocks: Range<usize>,
    /// Its rows among those of the chunk: none of the sacrificed block.
    pub(crate) rows: Range<usize>,
}

impl Strip {
    /// The strips of a chunk of `blocks` blocks, the sacrificed one among them.
    pub(crate) fn of(blocks: usize) -> impl Iterator<Item = Strip> {
        (0..blocks.div_ceil(STRIP)).map(move |index| {
            let range = STRIP * index..blocks.min(STRIP * (index + 1));
            let rows = ROWS * range.start..ROWS * range.end.min(blocks - 1);
            Strip { index, blocks: range, rows }
        })
    }
}

/// 128 columns of blocks: strip after strip, and in a strip column after column.
pub(crate) struct Columns(Secret<Vec<Row>>);

impl Columns {
    /// Room for so many strips.
    pub(crate) fn new(strips: usize) -> Columns {
        Columns(Secret::new(vec![ZERO_ROW; ROWS * strips]))
    }

    /// The columns on strip `strip`.
    pub(crate) fn strip(&mut self, strip: usize) -> &mut [Row] {
        &mut self.0[ROWS * strip..ROWS * (strip + 1)]
    }

    /// Adds to `sums` the hash of every column on strip `strip`, with `chi` its coefficients there.
    pub(crate) fn hash(&self, strip: usize, chi: &[Block], sums: &mut [Block; ROWS]) {
        for (sum, column) in sums.iter_mut().zip(&self.0[ROWS * strip..]) {
            *sum ^= gf128::inner_product(chi, &column[..chi.len()]);
        }
    }

    /// Writes the first `rows.len()` rows of strip `strip`, which is used up.
    pub(crate) fn transpose(&mut self, strip: usize, rows: &mut [Block]) {
        let len = rows.len() / ROWS;
        let columns = self.strip(strip).as_flattened_mut();
        if len < STRIP {
            for column in 1..ROWS {
                columns.copy_within(STRIP * column..STRIP * column + len, len * column);
            }
        }
        transpose::columns_to_rows(&columns[..rows.len()], rows);
    }
}

/// The coefficients of the universal hash: the random oracle on everything the receiver of the COTs
/// committed itself to, and one for the sacrificed block, which masks the rest.
pub(crate) fn challenge(transcript: &SessionId, chunk: u64, corrections: &[u8], chi: &mut [Block]) {
    let oracle = RandomOracle::new("cenote 2026 ot softspoken challenge v1", transcript);
    if let Some((last, chi)) = chi.split_last_mut() {
        oracle.number(chunk).bytes(corrections).fill(Block::as_bytes_mut(chi));
        *last = Block::ONE;
    }
}

/// The receiver's answer to the challenge.
pub(crate) struct Answer {
    /// Hash of the choice bits.
    pub(crate) choices: Block,
    /// Hash of each column.
    pub(crate) columns: [Block; ROWS],
}

/// Bytes of an answer.
pub(crate) const ANSWER: usize = 16 * (1 + ROWS);

impl Answer {
    pub(crate) fn write(&self, out: &mut [u8]) {
        out[..16].copy_from_slice(&self.choices.to_bytes());
        out[16..].copy_from_slice(Block::as_bytes(&self.columns));
    }

    pub(crate) fn read(bytes: &[u8; ANSWER]) -> Answer {
        let mut columns = [Block::ZERO; ROWS];
        let (choices, rest) = bytes.split_at(16);
        Block::as_bytes_mut(&mut columns).copy_from_slice(rest);
        let mut block = [0; 16];
        block.copy_from_slice(choices);
        Answer { choices: Block::from_bytes(block), columns }
    }

    /// Whether `hashes`, the sender's, are the answer's plus Delta times the choices; visits all.
    pub(crate) fn agrees(&self, delta: Block, hashes: &[Block; ROWS]) -> bool {
        let mut difference = Block::ZERO;
        for (c, (ours, theirs)) in hashes.iter().zip(&self.columns).enumerate() {
            let bit = delta.to_u128() >> c & 1 == 1;
            let wrong = *ours ^ *theirs ^ self.choices.times(bit);
            difference = Block::new(difference.to_u128() | wrong.to_u128());
        }
        difference.ct_eq(Block::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn coefficients_are_of_one_transcript_one_chunk_and_one_message() {
        let chi = |transcript: u8, chunk, corrections: &[u8]| {
            let mut chi = [Block::ZERO; 5];
            challenge(&SessionId([transcript; 32]), chunk, corrections, &mut chi);
            assert_eq!(chi[4], Block::ONE, "the sacrificed block masks the sum");
            chi[..4].to_vec()
        };
        let all = [chi(1, 2, &[3, 4]), chi(9, 2, &[3, 4]), chi(1, 9, &[3, 4]), chi(1, 2, &[3, 5])];
        let distinct: HashSet<[u8; 16]> = all.concat().iter().map(|c| c.to_bytes()).collect();
        assert_eq!(distinct.len(), 16);
        assert_eq!(chi(1, 2, &[3, 4]), all[0]);
    }
}
