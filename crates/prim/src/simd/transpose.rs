//! Transposition of 128 x 128 bit matrices, one per lane.

use super::{Cpu, Kernel, Shuffle, Vector};
use crate::Block;

/// [`crate::transpose::columns_to_rows`] for lengths already checked.
pub(crate) fn columns_to_rows(cpu: Cpu, columns: &[Block], rows: &mut [Block]) {
    cpu.run(ColumnsToRows { columns, rows });
}

/// [`crate::transpose::rows_to_columns`] for lengths already checked.
pub(crate) fn rows_to_columns(cpu: Cpu, rows: &[Block], columns: &mut [Block]) {
    cpu.run(RowsToColumns { rows, columns });
}

struct ColumnsToRows<'a> {
    columns: &'a [Block],
    rows: &'a mut [Block],
}

impl Kernel for ColumnsToRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        columns_to_rows_by::<V::Shuffler>(cpu, self.columns, self.rows);
    }
}

struct RowsToColumns<'a> {
    rows: &'a [Block],
    columns: &'a mut [Block],
}

impl Kernel for RowsToColumns<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        rows_to_columns_by::<V::Shuffler>(cpu, self.rows, self.columns);
    }
}

#[inline(always)]
fn columns_to_rows_by<V: Shuffle>(cpu: V::Cpu, columns: &[Block], rows: &mut [Block]) {
    let n = columns.len() / 128;
    let zero = V::load(cpu, &[]);
    let (mut squares, mut middle) = ([zero; 128], [[zero; 8]; 16]);
    let mut rows = rows;
    let (mut q, mut width) = (0, first_width::<V>(columns));
    while width > 0 {
        let (strip, later) = rows.split_at_mut(128 * width);
        for (square, column) in squares.iter_mut().zip(columns.chunks_exact(n)) {
            *square = V::load(cpu, &column[q..q + width]);
        }
        transpose(&mut squares, &mut middle);
        for (r, lanes) in squares.chunks_exact_mut(V::LANES).enumerate() {
            V::transpose_lanes(lanes);
            for (lane, rows) in lanes.iter().zip(strip.chunks_exact_mut(128)) {
                lane.store(&mut rows[r * V::LANES..(r + 1) * V::LANES]);
            }
        }
        rows = later;
        q += width;
        width = V::LANES.min(n - q);
    }
}

#[inline(always)]
fn rows_to_columns_by<V: Shuffle>(cpu: V::Cpu, rows: &[Block], columns: &mut [Block]) {
    let n = columns.len() / 128;
    let zero = V::load(cpu, &[]);
    let (mut squares, mut middle) = ([zero; 128], [[zero; 8]; 16]);
    let mut rows = rows;
    let (mut q, mut width) = (0, first_width::<V>(columns));
    while width > 0 {
        let (strip, later) = rows.split_at(128 * width);
        for (r, lanes) in squares.chunks_exact_mut(V::LANES).enumerate() {
            for (lane, rows) in lanes.iter_mut().zip(strip.chunks_exact(128)) {
                *lane = V::load(cpu, &rows[r * V::LANES..(r + 1) * V::LANES]);
            }
            V::transpose_lanes(lanes);
        }
        transpose(&mut squares, &mut middle);
        for (square, column) in squares.iter().zip(columns.chunks_exact_mut(n)) {
            square.store(&mut column[q..q + width]);
        }
        rows = later;
        q += width;
        width = V::LANES.min(n - q);
    }
}

/// Blocks of each column to take first. In a large matrix, as many as bring the next register to
/// its natural alignment: the columns are often a power of two apart, and a cache line of each
/// would not survive until the second half of it is wanted.
#[inline(always)]
fn first_width<V: Shuffle>(columns: &[Block]) -> usize {
    const LARGE: usize = 128 * 32;
    if columns.len() < LARGE {
        return V::LANES.min(columns.len() / 128);
    }
    V::LANES - columns.as_ptr().addr() / size_of::<Block>() % V::LANES
}

/// Transposes the matrix in each lane: bit `j` of vector `i` swaps with bit `i` of vector `j`.
///
/// An entry's place has 14 address bits: 7 of the vector, 4 of the byte, 3 of the bit. Interleaving
/// the bytes of two vectors rotates the address of a byte: the vector bit in which they differ
/// enters at the bottom of the byte's, whose top bit becomes the vector's. Three such steps bring
/// eight vectors into eight adjacent bytes, where their bits are transposed; four more bring
/// the other four vector bits.
#[inline(always)]
fn transpose<V: Shuffle>(m: &mut [V; 128], middle: &mut [[V; 8]; 16]) {
    // Entry [h][t] of the middle: rows 8 h .. 8 h + 7 of the columns 8 t .. 8 t + 7 and of those
    // 64 further on.
    let (low, high) = m.as_chunks::<8>().0.split_at(8);
    for (t, (low, high)) in low.iter().zip(high).enumerate() {
        let (low, high) = (bytes_of_rows(low), bytes_of_rows(high));
        for h in 0..8 {
            (middle[2 * h][t], middle[2 * h + 1][t]) = low[h].interleave_bytes(high[h]);
        }
    }
    for (rows, x) in m.as_chunks_mut::<8>().0.iter_mut().zip(middle.iter()) {
        *rows = rotate(rotate(rotate(*x)));
    }
}

/// From eight columns, the rows' bytes: entry h has those of the rows 16 h .. 16 h + 15.
#[inline(always)]
fn bytes_of_rows<V: Shuffle>(columns: &[V; 8]) -> [V; 8] {
    let mut x = *columns;
    for (i, x) in x.iter_mut().enumerate() {
        *x = columns[i ^ V::FLIP];
    }
    x = rotate(rotate(rotate(x)));
    for x in &mut x {
        *x = x.transpose_bits();
    }
    x
}

/// Interleaves the bytes of vectors that differ in the top bit of their index.
#[inline(always)]
pub(super) fn rotate<V: Shuffle>(x: [V; 8]) -> [V; 8] {
    let mut out = x;
    for i in 0..4 {
        (out[2 * i], out[2 * i + 1]) = x[i].interleave_bytes(x[i + 4]);
    }
    out
}
