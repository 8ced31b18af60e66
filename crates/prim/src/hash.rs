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

/// The fixed public key: the first 128 bits of the fractional part of pi, a nothing-up-my-sleeve
/// constant.
const FIXED_KEY: Block = Block::new(0x243f6a8885a308d313198a2e03707344);

/// Blocks hashed per call of the cipher: enough to fill its pipeline.
const LANES: usize = 32;

fn pi() -> &'static Aes128 {
    static PI: OnceLock<Aes128> = OnceLock::new();
    PI.get_or_init(|| Aes128::new(FIXED_KEY))
}

/// Replaces every block x by pi(x) xor x.
pub fn cr(blocks: &mut [Block]) {
    for chunk in blocks.chunks_mut(LANES) {
        davies_meyer(chunk);
    }
}

/// Replaces every block x by pi(sigma(x)) xor sigma(x).
pub fn ccr(blocks: &mut [Block]) {
    for chunk in blocks.chunks_mut(LANES) {
        chunk.iter_mut().for_each(|x| *x = x.sigma());
        davies_meyer(chunk);
    }
}

/// Replaces every block x by pi(pi(sigma(x)) xor i) xor pi(sigma(x)), with i = `first_tweak` for
/// the first block, `first_tweak + 1` for the next.
pub fn tccr(first_tweak: u128, blocks: &mut [Block]) {
    let mut tweak = first_tweak;
    for chunk in blocks.chunks_mut(LANES) {
        chunk.iter_mut().for_each(|x| *x = x.sigma());
        pi().encrypt(chunk);
        let mut inner = [Block::ZERO; LANES];
        let inner = &mut inner[..chunk.len()];
        inner.copy_from_slice(chunk);
        for x in chunk.iter_mut() {
            *x ^= Block::new(tweak);
            tweak = tweak.wrapping_add(1);
        }
        pi().encrypt(chunk);
        chunk.iter_mut().zip(inner).for_each(|(x, y)| *x ^= *y);
    }
}

fn davies_meyer(chunk: &mut [Block]) {
    let mut input = [Block::ZERO; LANES];
    let input = &mut input[..chunk.len()];
    input.copy_from_slice(chunk);
    pi().encrypt(chunk);
    chunk.iter_mut().zip(input).for_each(|(x, y)| *x ^= *y);
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
        for len in [0, 1, LANES - 1, LANES, LANES + 1, 3 * LANES + 5] {
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
