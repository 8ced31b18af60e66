//! Linear maps from a few blocks to one, over GF(2^8).

use std::fmt;

use zeroize::Zeroizing;

use crate::Block;
use crate::field::{Field, Matrix};
use crate::simd::{self, Cpu};

/// Bytes of a block.
const BYTES: usize = size_of::<Block>();

/// The map of messages of `m` blocks, as vectors of `16 m` bytes, to blocks that a matrix over
/// GF(2^8) with 16 rows and `16 m` columns makes; wiped when dropped.
pub struct ColumnMap {
    /// Blocks of a message.
    blocks: usize,
    /// The unit that multiplies, if any.
    cpu: Option<Cpu>,
    /// For the unit, what it wants; else entry `8 c + i` is column c times x^i.
    images: Zeroizing<Vec<Block>>,
}

impl ColumnMap {
    /// The map that multiplies by `matrix`.
    ///
    /// # Panics
    /// If the matrix is not over [`Field::Gf256`], has not 16 rows, or the number of its columns is
    /// not a multiple of 16.
    pub fn new(matrix: &Matrix) -> ColumnMap {
        ColumnMap::on(Cpu::current(), matrix)
    }

    /// The map for use on `cpu`.
    fn on(cpu: Option<Cpu>, matrix: &Matrix) -> ColumnMap {
        assert_eq!((matrix.field(), matrix.rows()), (Field::Gf256, BYTES));
        assert!(matrix.cols().is_multiple_of(BYTES));
        let mut images = Zeroizing::new(vec![Block::ZERO; 8 * matrix.cols()]);
        for (i, image) in images.iter_mut().enumerate() {
            let entry = |row| Field::Gf256.mul(matrix.at(row, i / 8), 1 << (i % 8));
            *image = Block::from_bytes(std::array::from_fn(entry));
        }
        if let Some(cpu) = cpu {
            images = simd::columns::prepare(cpu, &images);
        }
        ColumnMap { blocks: matrix.cols() / BYTES, cpu, images }
    }

    /// Blocks of a message.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// The image of one message: byte `c` of its bytes is multiplied by column `c`.
    ///
    /// # Panics
    /// If the message has not [`ColumnMap::blocks`] blocks.
    pub fn apply(&self, message: &[Block]) -> Block {
        let mut out = [Block::ZERO];
        self.apply_many(message, &mut out);
        out[0]
    }

    /// Writes the images of messages, which stand one after the other.
    ///
    /// # Panics
    /// If there are not [`ColumnMap::blocks`] blocks for every block of `out`.
    pub fn apply_many(&self, messages: &[Block], out: &mut [Block]) {
        assert_eq!(messages.len(), self.blocks * out.len());
        if let Some(cpu) = self.cpu {
            return simd::columns::apply(cpu, &self.images, self.blocks, messages, out);
        }
        for (i, out) in out.iter_mut().enumerate() {
            let message = &messages[i * self.blocks..(i + 1) * self.blocks];
            *out = Block::ZERO;
            for (byte, images) in Block::as_bytes(message).iter().zip(self.images.chunks_exact(8)) {
                for (bit, image) in images.iter().enumerate() {
                    *out ^= image.times(byte >> bit & 1 == 1);
                }
            }
        }
    }
}

impl fmt::Debug for ColumnMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ColumnMap({} blocks)", self.blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;

    #[test]
    fn maps_multiply_messages_by_the_matrix_at_every_level() {
        for (cpu, m) in Cpu::all().into_iter().flat_map(|c| (0..=4).map(move |m| (c, m))) {
            let mut entries = vec![0; BYTES * BYTES * m];
            Prg::new(Block::new(1)).fill_bytes(&mut entries);
            let matrix = Matrix::new(Field::Gf256, BYTES, BYTES * m, entries);
            let map = ColumnMap::on(cpu, &matrix);
            assert_eq!(map.blocks(), m);
            for count in 0..20 {
                let mut messages = vec![Block::ZERO; m * count];
                Prg::new(Block::new(2)).fill(&mut messages);
                let mut out = vec![Block::ONE; count];
                map.apply_many(&messages, &mut out);
                for (i, image) in out.into_iter().enumerate() {
                    let message = &messages[i * m..(i + 1) * m];
                    assert_eq!(map.apply(message), image);
                    let bytes = Block::as_bytes(message).to_vec();
                    let message = Matrix::new(Field::Gf256, BYTES * m, 1, bytes);
                    assert_eq!(matrix.mul(&message).entries(), image.to_bytes());
                }
            }
        }
    }

    #[test]
    #[should_panic]
    fn matrices_over_other_fields_are_refused() {
        ColumnMap::new(&Matrix::zero(Field::Gf64, 16, 16));
    }

    #[test]
    fn debug_shows_the_shape_alone() {
        let map = ColumnMap::new(&Matrix::zero(Field::Gf256, 16, 32));
        assert_eq!(format!("{map:?}"), "ColumnMap(2 blocks)");
    }
}
