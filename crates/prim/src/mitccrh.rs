//! The re-keyed hash of garbling: MITCCRH (Guo, Katz, Wang, Weng, Yu, CRYPTO 2020, section 5).
//!
//! H_k(x) = AES_{S xor k}(sigma(x)) xor sigma(x) with a start point S that is random and fixed
//! only after the secret offset Delta, and a key index k that no two gates share. It is
//! multi-instance tweakable circular correlation robust, with a bound that does not grow with the
//! number of gates; with one fixed key, an attacker who sees C gates finds Delta in 2^128 / C.

use crate::Block;
use crate::aes::Aes128;

/// A run of the re-keyed hash: each key index is used once and in order.
///
/// The garbler hashes two inputs under each key ([`Mitccrh::pairs`]), the evaluator one
/// ([`Mitccrh::singles`]); both advance the key index by the same amount.
pub struct Mitccrh {
    start: Block,
    next: u64,
}

impl Mitccrh {
    /// A run with start point `start` whose first key index is 0.
    pub fn new(start: Block) -> Mitccrh {
        Mitccrh { start, next: 0 }
    }

    /// Key indices used so far.
    pub fn used(&self) -> u64 {
        self.next
    }

    /// Hashes `blocks[i]` under the i-th next key, in place.
    pub fn singles(&mut self, blocks: &mut [Block]) {
        self.run::<1>(blocks);
    }

    /// Hashes `blocks[2 i]` and `blocks[2 i + 1]` under the i-th next key, in place. A last block
    /// without a partner uses up a key of its own.
    pub fn pairs(&mut self, blocks: &mut [Block]) {
        self.run::<2>(blocks);
    }

    fn run<const PER_KEY: usize>(&mut self, blocks: &mut [Block]) {
        for group in blocks.chunks_mut(PER_KEY) {
            let aes = Aes128::new(self.start ^ Block::new(u128::from(self.next)));
            self.next += 1;
            group.iter_mut().for_each(|x| *x = x.sigma());
            let mut input = [Block::ZERO; PER_KEY];
            input[..group.len()].copy_from_slice(group);
            aes.encrypt(group);
            group.iter_mut().zip(input).for_each(|(x, y)| *x ^= y);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(start: Block, key: u64, x: Block) -> Block {
        let mut one = [x.sigma()];
        Aes128::new(start ^ Block::new(u128::from(key))).encrypt(&mut one);
        one[0] ^ x.sigma()
    }

    #[test]
    fn keys_advance_alike_for_pairs_and_singles() {
        let start = Block::new(0xabcdef);
        for cuts in [vec![1, 1, 1], vec![7, 16, 40], vec![64, 3, 129]] {
            let (mut p, mut s) = (Mitccrh::new(start), Mitccrh::new(start));
            let mut key = 0;
            for n in cuts {
                let x: Vec<Block> = (0..2 * n as u128).map(|i| Block::new(i * 77 + 1)).collect();
                let mut pairs = x.clone();
                p.pairs(&mut pairs);
                let mut singles: Vec<Block> = x.iter().copied().step_by(2).collect();
                s.singles(&mut singles);
                for i in 0..n {
                    assert_eq!(pairs[2 * i], reference(start, key, x[2 * i]));
                    assert_eq!(pairs[2 * i + 1], reference(start, key, x[2 * i + 1]));
                    assert_eq!(singles[i], pairs[2 * i]);
                    key += 1;
                }
            }
            assert_eq!((p.used(), s.used()), (key, key));
        }
    }
}
