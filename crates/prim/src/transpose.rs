//! Transposition of bit matrices whose rows or columns are 128 bits.

use crate::Block;

/// Transposes `columns` (128 columns of `n` blocks each, column after column: bit `j` of block
/// `q` of column `c` is entry (128 q + j, c)) into `rows` (128 `n` blocks: bit `c` of row `r`).
///
/// # Panics
/// If the lengths are not equal and a multiple of 128.
pub fn columns_to_rows(columns: &[Block], rows: &mut [Block]) {
    assert_eq!(columns.len(), rows.len());
    assert!(columns.len().is_multiple_of(128));
    let n = columns.len() / 128;
    for q in 0..n {
        let square: &mut [Block; 128] =
            (&mut rows[128 * q..128 * (q + 1)]).try_into().expect("128 rows");
        for (c, row) in square.iter_mut().enumerate() {
            *row = columns[c * n + q];
        }
        square_portable(square);
    }
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
    fn every_entry_lands_in_its_place() {
        for n in [1, 2, 5] {
            let mut columns = vec![Block::ZERO; 128 * n];
            Prg::new(Block::new(n as u128)).fill(&mut columns);
            let mut rows = vec![Block::ZERO; 128 * n];
            columns_to_rows(&columns, &mut rows);
            for r in 0..128 * n {
                for c in 0..128 {
                    let column = columns[c * n + r / 128].to_u128();
                    assert_eq!(rows[r].to_u128() >> c & 1, column >> (r % 128) & 1);
                }
            }
        }
    }
}
