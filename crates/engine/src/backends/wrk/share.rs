//! Authenticated shares.
//!
//! **Construction.** Bits authenticated by information-theoretic MACs under session-long global
//! keys (WRK17; Katz, Ranellucci, Rosulek, Wang, CRYPTO 2018). An authenticated share of a bit
//! s = s^A xor s^B gives each party P its bit s^P with a MAC M = K xor s^P Delta_{P'}, and the key
//! K of the peer's bit.
//! **Bit conventions** (docs/protocols/wrk.md). Bit 0 of both Deltas is 1, bit 0 of every key is
//! 0, so that s^P = bit 0 of M; bit 1 (the colour) of Delta is 1 at the garbler, 0 at the evaluator.
//! **Roles.** Symmetric, except that a public constant is added to the garbler's bit.

use std::ops::BitXor;

use bytemuck::{Pod, Zeroable};
use cenote_net::Role;
use cenote_prim::Block;
use zeroize::Zeroize;

/// One party's half of an authenticated bit.
#[derive(Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Share {
    /// MAC on the own bit, under the peer's key; bit 0 is the own bit.
    pub mac: Block,
    /// Key for the peer's MAC; bit 0 is 0.
    pub key: Block,
}

impl Share {
    /// The share of a public zero.
    pub const ZERO: Share = Share { mac: Block::ZERO, key: Block::ZERO };

    /// The own bit.
    #[inline(always)]
    pub fn bit(self) -> bool {
        self.mac.lsb()
    }

    /// The share of this bit times a public `bit`: local.
    #[inline(always)]
    pub fn times(self, bit: bool) -> Share {
        Share { mac: self.mac.times(bit), key: self.key.times(bit) }
    }

    /// Adds a public `bit`: the garbler flips its bit, the evaluator moves its key by
    /// Delta xor 1, which keeps bit 0 of the key at zero, so that bit 0 of a MAC stays the bit itself.
    #[inline(always)]
    pub fn add_public(self, bit: bool, role: Role, delta: Block) -> Share {
        match role {
            Role::Garbler => Share { mac: self.mac ^ Block::ONE.times(bit), key: self.key },
            Role::Evaluator => {
                Share { mac: self.mac, key: self.key ^ (delta ^ Block::ONE).times(bit) }
            }
        }
    }

    /// s^P Delta_P xor K: this party's additive share of s Delta_P, the peer's being its MAC.
    #[inline(always)]
    pub fn times_delta(self, delta: Block) -> Block {
        delta.times(self.bit()) ^ self.key
    }

    /// s^P Delta_P xor K xor M: this party's additive share of s (Delta_A xor Delta_B).
    #[inline(always)]
    pub fn times_both_deltas(self, delta: Block) -> Block {
        self.times_delta(delta) ^ self.mac
    }
}

/// The share of the XOR: local.
impl BitXor for Share {
    type Output = Share;
    #[inline(always)]
    fn bitxor(self, other: Share) -> Share {
        Share { mac: self.mac ^ other.mac, key: self.key ^ other.key }
    }
}

/// Shares as correlated OT makes them: MACs and keys in arrays of their own.
#[derive(Clone, Copy)]
pub struct ShareSlice<'a> {
    /// MACs on the own bits.
    pub macs: &'a [Block],
    /// Keys of the peer's bits; as many.
    pub keys: &'a [Block],
}

impl<'a> ShareSlice<'a> {
    /// Number of shares.
    #[must_use]
    pub const fn len(self) -> usize {
        self.macs.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.macs.is_empty()
    }

    /// The first `n` shares and the others.
    ///
    /// # Panics
    /// If there are fewer than `n`.
    #[must_use]
    pub fn split_at(self, n: usize) -> (ShareSlice<'a>, ShareSlice<'a>) {
        let ((macs, more_macs), (keys, more_keys)) = (self.macs.split_at(n), self.keys.split_at(n));
        (ShareSlice { macs, keys }, ShareSlice { macs: more_macs, keys: more_keys })
    }

    /// The shares one by one.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Share> + 'a {
        self.macs.iter().zip(self.keys).map(|(&mac, &key)| Share { mac, key })
    }
}

impl Zeroize for Share {
    fn zeroize(&mut self) {
        self.mac.zeroize();
        self.key.zeroize();
    }
}

impl std::fmt::Debug for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Share(..)")
    }
}

/// Sets the two conventional bits of a global key: bit 0 to 1, bit 1 (colour) to 1 at the garbler
/// and 0 at the evaluator, so that the colours of the two deltas differ. 126 bits stay random.
#[must_use]
pub fn conventional_delta(random: Block, role: Role) -> Block {
    let colour = Block::new(2);
    let without = random ^ (random & colour);
    match role {
        Role::Garbler => (without ^ colour).with_lsb(true),
        Role::Evaluator => without.with_lsb(true),
    }
}

/// Shares for tests: what an honest dealer would hand out.
#[cfg(test)]
pub(crate) mod dealer {
    use super::*;
    use cenote_prim::Prg;

    pub(crate) struct Dealer {
        pub(crate) prg: Prg,
        pub(crate) deltas: [Block; 2],
    }

    impl Dealer {
        pub(crate) fn new(seed: u128) -> Dealer {
            let mut prg = Prg::new(Block::new(seed));
            let deltas = [
                conventional_delta(prg.block(), Role::Garbler),
                conventional_delta(prg.block(), Role::Evaluator),
            ];
            Dealer { prg, deltas }
        }

        /// (garbler's, evaluator's) halves of a random bit.
        pub(crate) fn share(&mut self) -> (Share, Share) {
            let bits = self.prg.block();
            let key_of_a = self.prg.block().with_lsb(false);
            let key_of_b = self.prg.block().with_lsb(false);
            let a = Share { mac: key_of_a ^ self.deltas[1].times(bits.lsb()), key: key_of_b };
            let b = Share { mac: key_of_b ^ self.deltas[0].times(bits.colour()), key: key_of_a };
            (a, b)
        }

        pub(crate) fn shares(&mut self, n: usize) -> (Vec<Share>, Vec<Share>) {
            (0..n).map(|_| self.share()).unzip()
        }

        /// The shared bit, after checking both MACs.
        pub(crate) fn value(&self, a: Share, b: Share) -> bool {
            assert_eq!(a.mac, b.key ^ self.deltas[1].times(a.bit()), "MAC of the garbler");
            assert_eq!(b.mac, a.key ^ self.deltas[0].times(b.bit()), "MAC of the evaluator");
            assert!(!a.key.lsb() && !b.key.lsb(), "keys carry no bit");
            a.bit() ^ b.bit()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::dealer::Dealer;
    use super::*;

    #[test]
    fn shares_are_linear_and_take_public_constants() {
        let mut d = Dealer::new(1);
        for round in 0..200 {
            let ((a, b), (c, e)) = (d.share(), d.share());
            assert_eq!(d.value(a ^ c, b ^ e), d.value(a, b) ^ d.value(c, e));
            let bit = round % 2 == 1;
            assert_eq!(d.value(a.times(bit), b.times(bit)), d.value(a, b) & bit);
            let a1 = a.add_public(bit, Role::Garbler, d.deltas[0]);
            let b1 = b.add_public(bit, Role::Evaluator, d.deltas[1]);
            assert_eq!(d.value(a1, b1), d.value(a, b) ^ bit);
        }
    }

    #[test]
    fn additive_shares_of_delta_products_add_up() {
        let mut d = Dealer::new(2);
        let [delta_a, delta_b] = d.deltas;
        for _ in 0..100 {
            let (a, b) = d.share();
            let s = d.value(a, b);
            assert_eq!(a.times_delta(delta_a) ^ b.mac, delta_a.times(s));
            let both = a.times_both_deltas(delta_a) ^ b.times_both_deltas(delta_b);
            assert_eq!(both, (delta_a ^ delta_b).times(s));
        }
    }

    #[test]
    fn conventional_bits() {
        let random = Prg::new(Block::new(4)).block();
        let a = conventional_delta(random, Role::Garbler);
        let b = conventional_delta(random, Role::Evaluator);
        assert!(a.lsb() && b.lsb() && a.colour() && !b.colour());
        assert_eq!(a.to_u128() >> 2, random.to_u128() >> 2);
    }

    use cenote_prim::Prg;
}
