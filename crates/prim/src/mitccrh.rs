//! The re-keyed hash of garbling: MITCCRH (Guo, Katz, Wang, Weng, Yu, CRYPTO 2020, section 5).
//!
//! H_k(x) = AES_{S xor k}(sigma(x)) xor sigma(x) with a start point S that is random and fixed
//! only after the secret Delta, and a key index k that no two gates share. It is
//! multi-instance tweakable circular correlation robust, with a bound that does not grow with the
//! number of gates; with one fixed key, an attacker who sees C gates finds Delta in 2^128 / C.

use crate::aes::Aes128;
use crate::simd::Cpu;
use crate::simd::aes::Mode;
use crate::simd::rekeyed::KeyQueue;
use crate::{Block, Secret};

/// A run of the re-keyed hash: each key index is used once and in order.
///
/// The garbler hashes two inputs under each key ([`Mitccrh::pairs`]), the evaluator one
/// ([`Mitccrh::singles`]); both advance the key index by the same amount.
pub struct Mitccrh {
    start: Secret<Block>,
    next: u64,
    queue: Option<KeyQueue>,
}

impl Mitccrh {
    /// A run with start point `start` whose first key index is 0.
    pub fn new(start: Block) -> Mitccrh {
        Mitccrh::on(Cpu::current(), start)
    }

    /// A run on `cpu`.
    pub(crate) fn on(cpu: Option<Cpu>, start: Block) -> Mitccrh {
        let queue = cpu.map(|cpu| KeyQueue::new(cpu, start));
        Mitccrh { start: Secret::new(start), next: 0, queue }
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

    /// [`Mitccrh::singles`] of two blocks or [`Mitccrh::pairs`] of four, which wait for the hashes before them.
    #[inline(always)]
    pub(crate) fn few<const PER_KEY: usize, const N: usize>(&mut self, blocks: &mut [Block; N]) {
        let Some(queue) = &mut self.queue else { return self.run::<PER_KEY>(blocks) };
        self.next += (N / PER_KEY) as u64;
        queue.hash_few::<PER_KEY, N>(blocks);
    }

    /// The next `keys` keys, for a kernel that uses them all; none at the portable level.
    pub(crate) fn take(&mut self, keys: usize) -> Option<(Cpu, &mut KeyQueue)> {
        let queue = self.queue.as_mut()?;
        self.next += keys as u64;
        Some((queue.cpu(), queue))
    }

    fn run<const PER_KEY: usize>(&mut self, blocks: &mut [Block]) {
        let first = self.next;
        self.next += blocks.len().div_ceil(PER_KEY) as u64;
        match &mut self.queue {
            Some(queue) => queue.hash::<PER_KEY>(blocks),
            None => {
                for (index, group) in (first..).zip(blocks.chunks_mut(PER_KEY)) {
                    let key = *self.start ^ Block::new(index.into());
                    Aes128::on(None, key).map(Mode::Ccr, group);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(start: Block, key: u64, x: Block) -> Block {
        let aes = Aes128::on(None, start ^ Block::new(key.into()));
        aes.encrypt_one(x.sigma()) ^ x.sigma()
    }

    #[test]
    fn every_cut_uses_the_same_keys_at_every_level() {
        let start = Block::new(0xabcdef);
        let lengths = (0..70).chain([300, 1, 2, 127, 2, 2, 64, 32, 31, 33, 1000]);
        for cpu in Cpu::all() {
            let (mut p, mut s) = (Mitccrh::on(cpu, start), Mitccrh::on(cpu, start));
            let mut key = 0;
            for n in lengths.clone() {
                // One block in front keeps the slices off the natural alignment.
                let x: Vec<Block> =
                    (0..=2 * n as u128).map(|i| Block::new(i * 77 + (i << 90))).collect();
                let (mut pairs, mut singles) = (x.clone(), x.clone());
                p.pairs(&mut pairs[1..]);
                s.singles(&mut singles[1..=n]);
                for i in 0..n {
                    assert_eq!(pairs[2 * i + 1], reference(start, key, x[2 * i + 1]));
                    assert_eq!(pairs[2 * i + 2], reference(start, key, x[2 * i + 2]));
                    assert_eq!(singles[i + 1], reference(start, key, x[i + 1]));
                    key += 1;
                }
                assert_eq!(singles[n + 1..], x[n + 1..]);
                assert_eq!((p.used(), s.used()), (key, key));
            }
        }
    }

    /// However many keys are ready when few are asked for.
    #[test]
    fn few_go_on_where_others_ended() {
        let start = Block::new(77);
        for cpu in Cpu::all() {
            let (mut hash, mut key) = (Mitccrh::on(cpu, start), 0);
            for n in [0usize, 1, 2, 3, 0, 7, 1, 1, 31, 0, 33, 5, 8, 0, 0, 0, 0, 0, 64, 1] {
                let mut singles = vec![Block::new(key.into()); n];
                hash.singles(&mut singles);
                key += n as u64;
                let x = [1, 2, 3, 4].map(|i| Block::new(i << 70 | u128::from(key)));
                let (mut pairs, mut two) = (x, [x[0], x[1]]);
                hash.few::<2, 4>(&mut pairs);
                hash.few::<1, 2>(&mut two);
                for i in 0..4 {
                    assert_eq!(pairs[i], reference(start, key + i as u64 / 2, x[i]), "{n}");
                }
                for i in 0..2 {
                    assert_eq!(two[i], reference(start, key + 2 + i as u64, x[i]), "{n}");
                }
                key += 4;
                assert_eq!(hash.used(), key);
            }
        }
    }

    #[test]
    fn a_block_without_a_partner_uses_up_a_key() {
        let start = Block::new(5);
        for cpu in Cpu::all() {
            for n in 1..140 {
                let mut pairs = vec![Block::ONE; n];
                let mut hash = Mitccrh::on(cpu, start);
                hash.pairs(&mut pairs);
                assert_eq!(pairs[n - 1], reference(start, (n as u64 - 1) / 2, Block::ONE), "{n}");
            }
            let mut hash = Mitccrh::on(cpu, start);
            let mut key = 0;
            for n in [1usize, 3, 5, 7, 9, 61, 63, 65, 67, 1, 129] {
                let x: Vec<Block> = (0..n).map(|i| Block::new(i as u128 + 9)).collect();
                let mut pairs = x.clone();
                hash.pairs(&mut pairs);
                for (i, x) in x.iter().enumerate() {
                    assert_eq!(pairs[i], reference(start, key + i as u64 / 2, *x));
                }
                key += n.div_ceil(2) as u64;
                assert_eq!(hash.used(), key);
            }
        }
    }
}
