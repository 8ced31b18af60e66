//! The fields GF(2^6) and GF(2^8), and matrices over them: the arithmetic of Reed-Solomon codes.
//!
//! Points and entries may be secret: nothing here branches on a value or indexes memory by one.

use std::fmt;
use std::ops::Range;

use zeroize::Zeroize;

/// A small field of characteristic two; an element is a byte whose low [`Field::bits`] bits are the
/// coefficients of a polynomial, and whose other bits are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// GF(2)\[x\] / (x^6 + x + 1).
    Gf64,
    /// GF(2)\[x\] / (x^8 + x^4 + x^3 + x + 1), the field of AES.
    Gf256,
}

impl Field {
    /// Bits of an element: 6 or 8.
    pub const fn bits(self) -> u32 {
        match self {
            Field::Gf64 => 6,
            Field::Gf256 => 8,
        }
    }

    /// The byte whose ones are the bits of an element: the largest element.
    pub const fn mask(self) -> u8 {
        match self {
            Field::Gf64 => 0x3f,
            Field::Gf256 => 0xff,
        }
    }

    /// The product of `a` and `b`, of which bits outside the field are ignored.
    #[inline]
    pub const fn mul(self, a: u8, b: u8) -> u8 {
        let mut multiple = a & self.mask();
        let mut product = 0;
        let mut bit = 0;
        while bit < self.bits() {
            product ^= multiple & ones_if(b >> bit);
            multiple = self.doubled(multiple);
            bit += 1;
        }
        product
    }

    /// The inverse of `a`, or zero if `a` is zero.
    pub const fn inv(self, a: u8) -> u8 {
        // a^(2^bits - 2), the product of the squares a^2, a^4, .., a^(2^(bits - 1)).
        let mut square = a;
        let mut product = 1;
        let mut bit = 1;
        while bit < self.bits() {
            square = self.mul(square, square);
            product = self.mul(product, square);
            bit += 1;
        }
        product
    }

    /// Multiplication by `c` as a matrix of bits: byte `i` is the image of x^i, and zero where a
    /// byte has bits that an element has not.
    pub(crate) const fn bit_matrix(self, c: u8) -> u64 {
        let mut matrix = 0;
        let mut image = c & self.mask();
        let mut bit = 0;
        while bit < self.bits() {
            matrix |= (image as u64) << (8 * bit);
            image = self.doubled(image);
            bit += 1;
        }
        matrix
    }

    /// The element times x.
    const fn doubled(self, a: u8) -> u8 {
        let rest = match self {
            Field::Gf64 => 0b11,
            Field::Gf256 => 0b11011,
        };
        ((a << 1) & self.mask()) ^ (rest & ones_if(a >> (self.bits() - 1)))
    }
}

/// All ones if the lowest bit of `bit` is set, else zero.
const fn ones_if(bit: u8) -> u8 {
    (bit & 1).wrapping_neg()
}

/// All ones if `a` is zero, else zero.
const fn ones_if_zero(a: u8) -> u8 {
    ((a as u16).wrapping_sub(1) >> 8) as u8
}

/// A matrix over a small field; wiped when dropped, and never printed.
#[derive(Clone)]
pub struct Matrix {
    field: Field,
    rows: usize,
    cols: usize,
    entries: Vec<u8>,
}

impl Matrix {
    /// The matrix with these entries, row after row; bits outside the field are dropped.
    ///
    /// # Panics
    /// If there are not `rows * cols` entries.
    pub fn new(field: Field, rows: usize, cols: usize, entries: Vec<u8>) -> Matrix {
        assert_eq!(entries.len(), rows * cols);
        let mut matrix = Matrix { field, rows, cols, entries };
        matrix.entries.iter_mut().for_each(|entry| *entry &= field.mask());
        matrix
    }

    /// The `rows` x `cols` matrix of zeros.
    pub fn zero(field: Field, rows: usize, cols: usize) -> Matrix {
        Matrix { field, rows, cols, entries: vec![0; rows * cols] }
    }

    /// The `size` x `size` matrix with ones on the diagonal.
    pub fn identity(field: Field, size: usize) -> Matrix {
        let mut matrix = Matrix::zero(field, size, size);
        matrix.entries.iter_mut().step_by(size + 1).for_each(|entry| *entry = 1);
        matrix
    }

    /// The `to.len()` x `from.len()` matrix that takes the values of a polynomial of degree below
    /// `from.len()` at the points `from` to its values at the points `to`.
    ///
    /// The points `from` are distinct, else the matrix is of no use. A point of `to` may be one of
    /// them: its row is a unit vector.
    pub fn interpolation(field: Field, from: &[u8], to: &[u8]) -> Matrix {
        let mut weights = Matrix::zero(field, 1, from.len());
        for (i, weight) in weights.entries.iter_mut().enumerate() {
            let others = from.iter().enumerate().filter(|(j, _)| *j != i);
            let product = others.fold(1, |product, (_, x)| field.mul(product, from[i] ^ x));
            *weight = field.inv(product);
        }
        let mut matrix = Matrix::zero(field, to.len(), from.len());
        for (row, at) in matrix.entries.chunks_exact_mut(from.len().max(1)).zip(to) {
            lagrange_row(field, from, &weights.entries, *at, row);
        }
        matrix
    }

    /// The field of the entries.
    pub fn field(&self) -> Field {
        self.field
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// All entries, row after row.
    pub fn entries(&self) -> &[u8] {
        &self.entries
    }

    /// The entry at row `row`, column `col`.
    ///
    /// # Panics
    /// If there is none.
    pub fn at(&self, row: usize, col: usize) -> u8 {
        self.row(row)[col]
    }

    /// Sets the entry at row `row`, column `col`; bits outside the field are dropped.
    ///
    /// # Panics
    /// If there is none.
    pub fn set(&mut self, row: usize, col: usize, value: u8) {
        assert!(col < self.cols);
        self.entries[row * self.cols + col] = value & self.field.mask();
    }

    /// Row `row`.
    ///
    /// # Panics
    /// If there is none.
    pub fn row(&self, row: usize) -> &[u8] {
        &self.entries[row * self.cols..(row + 1) * self.cols]
    }

    /// The matrix of the rows in a range.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn row_range(&self, rows: Range<usize>) -> Matrix {
        let entries = self.entries[rows.start * self.cols..rows.end * self.cols].to_vec();
        Matrix { field: self.field, rows: rows.len(), cols: self.cols, entries }
    }

    /// The matrix of the columns in a range.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn col_range(&self, cols: Range<usize>) -> Matrix {
        let mut out = Matrix::zero(self.field, self.rows, cols.len());
        for row in 0..self.rows {
            let to = row * cols.len()..(row + 1) * cols.len();
            out.entries[to].copy_from_slice(&self.row(row)[cols.clone()]);
        }
        out
    }

    /// The rows of `self`, then those of `below`.
    ///
    /// # Panics
    /// If the fields or the numbers of columns differ.
    pub fn stack(&self, below: &Matrix) -> Matrix {
        assert_eq!((self.field, self.cols), (below.field, below.cols));
        let mut out = Matrix::zero(self.field, self.rows + below.rows, self.cols);
        let (top, bottom) = out.entries.split_at_mut(self.entries.len());
        top.copy_from_slice(&self.entries);
        bottom.copy_from_slice(&below.entries);
        out
    }

    /// The columns of `self`, then those of `right`.
    ///
    /// # Panics
    /// If the fields or the numbers of rows differ.
    pub fn beside(&self, right: &Matrix) -> Matrix {
        assert_eq!((self.field, self.rows), (right.field, right.rows));
        let mut out = Matrix::zero(self.field, self.rows, self.cols + right.cols);
        for (row, to) in out.entries.chunks_exact_mut((self.cols + right.cols).max(1)).enumerate() {
            let (first, second) = to.split_at_mut(self.cols);
            first.copy_from_slice(self.row(row));
            second.copy_from_slice(right.row(row));
        }
        out
    }

    /// The product of `self` and `right`.
    ///
    /// # Panics
    /// If the fields differ, or `right` has not a row for every column of `self`.
    pub fn mul(&self, right: &Matrix) -> Matrix {
        assert_eq!((self.field, self.cols), (right.field, right.rows));
        let mut out = Matrix::zero(self.field, self.rows, right.cols);
        for (row, to) in out.entries.chunks_exact_mut(right.cols.max(1)).enumerate() {
            for (factor, from) in self.row(row).iter().zip(0..) {
                add_multiple(self.field, *factor, right.row(from), to);
            }
        }
        out
    }

    /// The inverse, or `None` if there is none; only that becomes visible in the time.
    ///
    /// # Panics
    /// If the matrix is not square.
    pub fn inverse(&self) -> Option<Matrix> {
        assert_eq!(self.rows, self.cols);
        let (size, width) = (self.rows, 2 * self.rows);
        let mut work = self.beside(&Matrix::identity(self.field, size));
        let mut singular = 0;
        for k in 0..size {
            singular |= work.bring_pivot(k);
            let pivot = work.row_range(k..k + 1);
            for (row, entries) in work.entries.chunks_exact_mut(width).enumerate() {
                if row != k {
                    add_multiple(self.field, entries[k], &pivot.entries, entries);
                }
            }
        }
        (singular == 0).then(|| work.col_range(size..width))
    }

    /// Makes the entry (k, k) one by adding rows below and scaling; all ones if that fails.
    fn bring_pivot(&mut self, k: usize) -> u8 {
        let field = self.field;
        let (done, below) = self.entries.split_at_mut((k + 1) * self.cols);
        let pivot = &mut done[k * self.cols..];
        for row in below.chunks_exact(self.cols) {
            let wanted = ones_if_zero(pivot[k]);
            pivot.iter_mut().zip(row).for_each(|(to, from)| *to ^= from & wanted);
        }
        let singular = ones_if_zero(pivot[k]);
        let scale = field.inv(pivot[k]);
        pivot.iter_mut().for_each(|entry| *entry = field.mul(*entry, scale));
        singular
    }
}

/// Writes the Lagrange polynomials of the points `from` at `at`: at i the product of all
/// at - from\[j\], j other than i, times `weights[i]`.
fn lagrange_row(field: Field, from: &[u8], weights: &[u8], at: u8, row: &mut [u8]) {
    let mut before = 1;
    for (entry, (x, weight)) in row.iter_mut().zip(from.iter().zip(weights)) {
        *entry = field.mul(before, *weight);
        before = field.mul(before, at ^ x);
    }
    let mut after = 1;
    for (entry, x) in row.iter_mut().zip(from).rev() {
        *entry = field.mul(*entry, after);
        after = field.mul(after, at ^ x);
    }
}

/// Adds `factor` times `from` to `to`.
fn add_multiple(field: Field, factor: u8, from: &[u8], to: &mut [u8]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to ^= field.mul(factor, *from));
}

impl Drop for Matrix {
    fn drop(&mut self) {
        self.entries.zeroize();
    }
}

impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matrix({} x {})", self.rows, self.cols)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Prg};

    const FIELDS: [Field; 2] = [Field::Gf64, Field::Gf256];

    fn elements(field: Field) -> impl Iterator<Item = u8> + Clone {
        0..=field.mask()
    }

    fn random(field: Field, rows: usize, cols: usize, seed: u128) -> Matrix {
        let mut entries = vec![0; rows * cols];
        Prg::new(Block::new(seed)).fill_bytes(&mut entries);
        Matrix::new(field, rows, cols, entries)
    }

    /// Horner's rule.
    fn evaluate(field: Field, polynomial: &[u8], at: u8) -> u8 {
        polynomial.iter().rev().fold(0, |value, coefficient| field.mul(value, at) ^ coefficient)
    }

    #[test]
    fn multiplication_is_that_of_polynomials_modulo_the_modulus() {
        for (field, modulus) in [(Field::Gf64, 0b1000011_u32), (Field::Gf256, 0b100011011)] {
            for (a, b) in elements(field).flat_map(|a| elements(field).map(move |b| (a, b))) {
                let bits = (0..8).filter(|i| b >> i & 1 == 1);
                let mut product = bits.fold(0, |sum, i| sum ^ u32::from(a) << i);
                for i in (field.bits()..16).rev() {
                    product ^= (modulus << (i - field.bits())) * (product >> i & 1);
                }
                assert_eq!(u32::from(field.mul(a, b)), product);
            }
        }
    }

    #[test]
    fn fields_obey_their_axioms() {
        for field in FIELDS {
            assert_eq!(field.inv(0), 0);
            for a in elements(field) {
                assert_eq!(field.mul(a, 1), a);
                assert!(a == 0 || field.mul(a, field.inv(a)) == 1);
                for b in elements(field) {
                    let ab = field.mul(a, b);
                    assert!(ab <= field.mask());
                    assert_eq!(ab, field.mul(b, a));
                    assert_eq!((ab == 0), (a == 0 || b == 0));
                    let c = a.wrapping_mul(37).wrapping_add(b) & field.mask();
                    assert_eq!(field.mul(ab, c), field.mul(a, field.mul(b, c)));
                    assert_eq!(field.mul(a, b ^ c), ab ^ field.mul(a, c));
                }
            }
        }
        assert_eq!(Field::Gf64.mul(0xc1, 0x83), Field::Gf64.mul(1, 3));
    }

    #[test]
    fn bit_matrices_hold_the_images_of_unit_vectors() {
        for field in FIELDS {
            for c in elements(field) {
                let images = field.bit_matrix(c).to_le_bytes();
                for (i, image) in images.into_iter().enumerate() {
                    let unit = if i < field.bits() as usize { 1 << i } else { 0 };
                    assert_eq!(image, field.mul(c, unit));
                }
            }
        }
    }

    #[test]
    fn interpolation_evaluates_polynomials() {
        for (field, degree) in FIELDS.into_iter().flat_map(|f| [1, 2, 3, 16, 48].map(|d| (f, d))) {
            // Every third point is known; powers of 3 reach all of them but zero in both fields.
            let from: Vec<u8> = (0..degree as u8).map(|i| field.mul(i, 3)).collect();
            let to: Vec<u8> = elements(field).collect();
            let matrix = Matrix::interpolation(field, &from, &to);
            let polynomial = random(field, degree, 1, degree as u128);
            let values = |at: &[u8]| {
                let values = at.iter().map(|x| evaluate(field, polynomial.entries(), *x));
                Matrix::new(field, at.len(), 1, values.collect())
            };
            assert_eq!(matrix.mul(&values(&from)).entries(), values(&to).entries());
            let identity = Matrix::interpolation(field, &from, &from);
            assert_eq!(identity.entries(), Matrix::identity(field, degree).entries());
        }
    }

    #[test]
    fn any_rows_of_a_reed_solomon_generator_are_invertible() {
        let to: Vec<u8> = (0..56).collect();
        let generator = Matrix::interpolation(Field::Gf256, &to[..16], &to);
        for first in 0..40 {
            let low = generator.row_range(first / 2..first / 2 + 9);
            let rows = low.stack(&generator.row_range(first + 9..first + 16));
            let inverse = rows.inverse().expect("a code of maximal distance");
            let identity = Matrix::identity(Field::Gf256, 16);
            assert_eq!(inverse.mul(&rows).entries(), identity.entries());
        }
    }

    #[test]
    fn inverses_exist_for_regular_matrices_and_only_for_those() {
        for field in FIELDS {
            for size in 0..12 {
                let lower = random(field, size, size, 4);
                let mut matrix = Matrix::identity(field, size);
                for (row, col) in (0..size).flat_map(|r| (0..r).map(move |c| (r, c))) {
                    matrix.set(row, col, lower.at(row, col));
                }
                // The first pivots are zero.
                let swap: Vec<u8> =
                    (0..size * size).map(|i| (i % size + i / size + 1 == size) as u8).collect();
                let matrix = Matrix::new(field, size, size, swap).mul(&matrix);
                let inverse = matrix.inverse().expect("regular");
                let identity = Matrix::identity(field, size);
                assert_eq!(matrix.mul(&inverse).entries(), identity.entries());
                let singular = matrix.row_range(0..size).mul(&random(field, size, size / 2, 5));
                let singular = singular.mul(&random(field, size / 2, size, 6));
                assert_eq!(singular.inverse().is_none(), size > 0);
            }
        }
    }

    #[test]
    fn parts_and_joints_keep_every_entry_in_its_place() {
        let matrix = random(Field::Gf64, 5, 7, 9);
        let parts = matrix.row_range(0..2).stack(&matrix.row_range(2..5));
        assert_eq!(parts.entries(), matrix.entries());
        let parts = matrix.col_range(0..3).beside(&matrix.col_range(3..7));
        assert_eq!(parts.entries(), matrix.entries());
        assert_eq!(matrix.at(3, 4), matrix.entries()[25]);
        assert_eq!(matrix.col_range(4..5).row(3), [matrix.at(3, 4)]);
        assert_eq!(matrix.row_range(1..1).stack(&matrix).rows(), 5);
        assert_eq!((matrix.cols(), matrix.field()), (7, Field::Gf64));
        assert_eq!(format!("{matrix:?}"), "Matrix(5 x 7)");
        let mut other = matrix.clone();
        other.set(3, 4, !matrix.at(3, 4));
        let mut entries = matrix.entries().to_vec();
        entries[25] ^= 0x3f;
        assert_eq!(other.entries(), entries);
    }
}
