//! Constant factors in the forms in which vector units multiply by them.

use crate::field::Field;

/// Forms of the powers of x, of which that of any factor is a sum: all forms are linear.
pub(super) struct Basis<const WORDS: usize>([[u64; WORDS]; 8]);

impl<const WORDS: usize> Basis<WORDS> {
    /// The form of `factor`, in the same time for all.
    #[inline(always)]
    pub(super) fn of(&self, factor: u8) -> [u64; WORDS] {
        let mut sum = [0; WORDS];
        for (bit, form) in self.0.iter().enumerate() {
            let set = u64::from(factor >> bit & 1).wrapping_neg();
            for (sum, word) in sum.iter_mut().zip(form) {
                *sum ^= word & set;
            }
        }
        sum
    }
}

/// Matrices for the affine instruction, which wants row `i` in byte `7 - i`, in each field.
pub(super) static AFFINE: [Basis<1>; 2] = {
    let mut bases = [const { Basis([[0; 1]; 8]) }; 2];
    let mut i = 0;
    while i < 16 {
        bases[i / 8].0[i % 8] = [transposed(bit_matrix(i)).swap_bytes()];
        i += 1;
    }
    bases
};

/// The products with 0, .., 15, a byte each, and with 0, 16, .., 240, in each field.
pub(super) static NIBBLE_PRODUCTS: [Basis<4>; 2] = {
    let mut bases = [const { Basis([[0; 4]; 8]) }; 2];
    let mut i = 0;
    while i < 16 {
        let images = bit_matrix(i).to_le_bytes();
        let mut byte = 0;
        while byte < 32 {
            let mut bit = 0;
            while bit < 4 {
                let image = images[byte / 16 * 4 + bit] as u64 * (byte as u64 >> bit & 1);
                bases[i / 8].0[i % 8][byte / 8] ^= image << (byte % 8 * 8);
                bit += 1;
            }
            byte += 1;
        }
        i += 1;
    }
    bases
};

/// Multiplication by x^(i modulo 8) in field i / 8.
const fn bit_matrix(i: usize) -> u64 {
    let field = if i < 8 { Field::Gf64 } else { Field::Gf256 };
    field.bit_matrix(1 << (i % 8))
}

/// The transpose of a matrix of bits whose rows are bytes.
const fn transposed(matrix: u64) -> u64 {
    let mut out = 0;
    let mut i = 0;
    while i < 64 {
        out |= (matrix >> i & 1) << (i % 8 * 8 + i / 8);
        i += 1;
    }
    out
}
