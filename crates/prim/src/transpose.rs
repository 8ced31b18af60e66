//! Transposition of bit matrices whose rows or columns are 128 bits.

use crate::Block;
use crate::simd::{self, Cpu};

/// Transposes `columns` (128 columns of `n` blocks each, column after column: bit `j` of block
/// `q` of column `c` is entry (128 q + j, c)) into `rows` (128 `n` blocks: bit `c` of row `r`).
///
/// # Panics
/// If the lengths are not equal and a multiple of 128.
pub fn columns_to_rows(columns: &[Block], rows: &mut [Block]) {
    columns_to_rows_on(Cpu::current(), columns, rows);
}

/// The inverse of [`columns_to_rows`].
///
/// # Panics
/// If the lengths are not equal and a multiple of 128.
pub fn rows_to_columns(rows: &[Block], columns: &mut [Block]) {
    rows_to_columns_on(Cpu::current(), rows, columns);
}

fn columns_to_rows_on(cpu: Option<Cpu>, columns: &[Block], rows: &mut [Block]) {
    let n = squares(columns, rows);
    if let Some(cpu) = cpu {
        return simd::transpose::columns_to_rows(cpu, columns, rows);
    }
    for (q, rows) in rows.as_chunks_mut::<128>().0.iter_mut().enumerate() {
        for (c, row) in rows.iter_mut().enumerate() {
            *row = columns[c * n + q];
        }
        square_portable(rows);
    }
}

fn rows_to_columns_on(cpu: Option<Cpu>, rows: &[Block], columns: &mut [Block]) {
    let n = squares(rows, columns);
    if let Some(cpu) = cpu {
        return simd::transpose::rows_to_columns(cpu, rows, columns);
    }
    for (q, rows) in rows.as_chunks::<128>().0.iter().enumerate() {
        let mut square = *rows;
        square_portable(&mut square);
        for (c, column) in square.into_iter().enumerate() {
            columns[c * n + q] = column;
        }
    }
}

/// The number of 128 x 128 squares in each of two matrices.
fn squares(from: &[Block], to: &[Block]) -> usize {
    assert_eq!(from.len(), to.len());
    assert!(from.len().is_multiple_of(128));
    from.len() / 128
}

/// Transposes a 128 x 128 matrix in place: bit `j` of block `i` swaps with bit `i` of block `j`.
fn square_portable(m: &mut [Block; 128]) {
    // Recursive halves (Hacker's Delight, section 7-3): swap off-diagonal quadrants, then halve.
    let mut width = 64;
    let mut mask = u128::MAX >> 64;
    while width > 0 {
        let mut row = 0;
        while row < 128 {
            let (a, b) = (m[row].to_u128(), m[row + width].to_u128());
            let t = ((a >> width) ^ b) & mask;
            m[row] = Block::new(a ^ (t << width));
            m[row + width] = Block::new(b ^ t);
            row = (row + width + 1) & !width;
        }
        width /= 2;
        mask ^= mask << width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;

    #[test]
    fn every_entry_lands_in_its_place_at_every_level() {
        // Blocks in front give the slices every alignment.
        let sizes: Vec<(usize, usize)> =
            (0..8).map(|n| (n, n % 4)).chain([(33, 0), (34, 1), (35, 2), (36, 3)]).collect();
        for (cpu, (n, skip)) in
            Cpu::all().into_iter().flat_map(|c| sizes.iter().map(move |s| (c, *s)))
        {
            let mut columns = vec![Block::ZERO; 128 * n + skip];
            Prg::new(Block::new(n as u128)).fill(&mut columns);
            let columns = &columns[skip..];
            let mut rows = vec![Block::ZERO; 128 * n + skip];
            let rows = &mut rows[skip..];
            columns_to_rows_on(cpu, columns, rows);
            for (r, row) in rows.iter().enumerate() {
                for c in 0..128 {
                    let column = columns[c * n + r / 128].to_u128();
                    assert_eq!(row.to_u128() >> c & 1, column >> (r % 128) & 1);
                }
            }
            let mut back = vec![Block::ZERO; 128 * n + skip];
            rows_to_columns_on(cpu, rows, &mut back[skip..]);
            assert_eq!(&back[skip..], columns);
        }
    }

    #[test]
    #[should_panic]
    fn ragged_lengths_are_refused() {
        columns_to_rows(&[Block::ZERO; 127], &mut [Block::ZERO; 127]);
    }
}
