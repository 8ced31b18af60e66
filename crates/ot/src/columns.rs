//! The 128 columns of a chunk, the consistency check on them, and their transposition.

use std::ops::Range;

use cenote_prim::{Block, RandomOracle, Secret, SessionId, gf128, transpose};

use crate::expand::STRIP;
use crate::params::ROWS;

/// Blocks of a whole strip of columns.
const SQUARE: usize = ROWS * STRIP;

/// 128 columns of blocks, strip after strip; in a strip column after column, [`STRIP`] blocks apart.
/// Beside them one block of each column that is sacrificed: the mask of the check's answer.
pub(crate) struct Columns {
    blocks: Secret<Vec<Block>>,
    pub(crate) last: Secret<[Block; ROWS]>,
}

impl Columns {
    /// Room for `len` blocks of each column.
    pub(crate) fn new(len: usize) -> Columns {
        let blocks = Secret::new(vec![Block::ZERO; SQUARE * len.div_ceil(STRIP)]);
        Columns { blocks, last: Secret::new([Block::ZERO; ROWS]) }
    }

    /// Column `column` on strip `strip`.
    pub(crate) fn column(&mut self, strip: usize, column: usize) -> &mut [Block] {
        &mut self.blocks[SQUARE * strip + STRIP * column..][..STRIP]
    }

    /// Adds to `sums` the hash of every column on strip `strip`, with `chi` its coefficients there.
    pub(crate) fn hash(&self, strip: usize, chi: &[Block], sums: &mut [Block; ROWS]) {
        let columns = self.blocks[SQUARE * strip..].chunks(STRIP);
        for (sum, column) in sums.iter_mut().zip(columns) {
            *sum ^= gf128::inner_product(chi, &column[..chi.len()]);
        }
    }

    /// Writes the rows of strip `strip`, of which `rows.len() / 128` blocks of each column are in use.
    /// The strip is used up.
    pub(crate) fn transpose(&mut self, strip: usize, rows: &mut [Block]) {
        let len = rows.len() / ROWS;
        let columns = &mut self.blocks[SQUARE * strip..][..SQUARE];
        if len < STRIP {
            for column in 1..ROWS {
                columns.copy_within(STRIP * column..STRIP * column + len, len * column);
            }
        }
        transpose::columns_to_rows(&columns[..rows.len()], rows);
    }
}

/// A strip of a chunk.
pub(crate) struct Strip {
    /// Its number.
    pub(crate) index: usize,
    /// Its blocks among those of the chunk.
    pub(crate) blocks: Range<usize>,
    /// Blocks that every leaf gives for it: the last strip carries the sacrificed one.
    pub(crate) width: usize,
}

impl Strip {
    /// The strips of a chunk of `blocks` blocks.
    pub(crate) fn of(blocks: usize) -> impl Iterator<Item = Strip> {
        (0..blocks.div_ceil(STRIP)).map(move |index| {
            let range = STRIP * index..blocks.min(STRIP * (index + 1));
            let width = range.len() + usize::from(range.end == blocks);
            Strip { index, blocks: range, width }
        })
    }

    /// The rows of the strip.
    pub(crate) fn rows(&self) -> Range<usize> {
        ROWS * self.blocks.start..ROWS * self.blocks.end
    }
}

/// The coefficients of the universal hash: the random oracle on everything the receiver of the COTs
/// committed itself to.
pub(crate) fn challenge(transcript: &SessionId, chunk: u64, corrections: &[u8], chi: &mut [Block]) {
    let oracle = RandomOracle::new("cenote ot softspoken challenge", transcript);
    oracle.number(chunk).bytes(corrections).fill(Block::as_bytes_mut(chi));
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
