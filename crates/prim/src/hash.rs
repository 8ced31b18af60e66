//! Fixed-key AES hashes, named after the notions they meet (Guo, Katz, Wang, Yu, S&P 2020).
//!
//! Let pi be AES-128 under a fixed public key, modelled as an ideal permutation, and sigma the
//! linear orthomorphism of [`Block::sigma`].
//!
//! | function | formula | notion |
//! |---|---|---|
//! | [`cr`] | pi(x) xor x | correlation robust |
//! | [`ccr`] | pi(sigma(x)) xor sigma(x) | circular correlation robust |
//! | [`tccr`] | pi(pi(sigma(x)) xor i) xor pi(sigma(x)) | tweakable circular correlation robust |
//!
//! Garbling uses the re-keyed hash of [`crate::mitccrh`], whose bound does not shrink with the
//! number of gates.

use std::sync::OnceLock;

use crate::Block;
use crate::aes::Aes128;
use crate::simd::aes::Mode;

/// The fixed public key: the first 128 bits of the fractional part of pi, a nothing-up-my-sleeve
/// constant.
const FIXED_KEY: Block = Block::new(0x243f6a8885a308d313198a2e03707344);

fn pi() -> &'static Aes128 {
    static PI: OnceLock<Aes128> = OnceLock::new();
    PI.get_or_init(|| Aes128::new(FIXED_KEY))
}

/// Replaces every block x by pi(x) xor x.
pub fn cr(blocks: &mut [Block]) {
    pi().map(Mode::Cr, blocks);
}

/// Replaces every block x by pi(sigma(x)) xor sigma(x).
pub fn ccr(blocks: &mut [Block]) {
    pi().map(Mode::Ccr, blocks);
}

/// Replaces every block x by pi(pi(sigma(x)) xor i) xor pi(sigma(x)), with i = `first_tweak` for
/// the first block, `first_tweak + 1` for the next.
pub fn tccr(first_tweak: u128, blocks: &mut [Block]) {
    pi().map(Mode::Tccr(first_tweak), blocks);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pi_of(x: Block) -> Block {
        let mut one = [x];
        Aes128::new(FIXED_KEY).encrypt(&mut one);
        one[0]
    }

    #[test]
    fn hashes_follow_their_formulas_at_every_length() {
        for len in [0, 1, 31, 32, 33, 101] {
            let x: Vec<Block> = (0..len as u128).map(|i| Block::new(i * 0x1234567 + 9)).collect();
            let (mut a, mut b, mut c) = (x.clone(), x.clone(), x.clone());
            cr(&mut a);
            ccr(&mut b);
            tccr(100, &mut c);
            for i in 0..len {
                let s = x[i].sigma();
                assert_eq!(a[i], pi_of(x[i]) ^ x[i]);
                assert_eq!(b[i], pi_of(s) ^ s);
                let tweak = Block::new(100 + i as u128);
                assert_eq!(c[i], pi_of(pi_of(s) ^ tweak) ^ pi_of(s));
            }
        }
    }
}
