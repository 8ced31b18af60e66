//! Shares as they are kept, once leaky ANDs have been made of them.
//!
//! **Width.** What is authenticated under Delta_B, MACs at the garbler and keys at the evaluator, is needed from then
//! on in its low t bits alone ([`Width`]): nothing is hashed with it any more, and a garbler that shows a wrong bit has
//! to guess the t - 2 random ones of Delta_B among them (`opening.rs`). What is authenticated under Delta_A masks labels
//! and tables: it is whole. Cutting is linear, so that all of the algebra of shares holds as it is.

use std::ops::BitXor;

use bytemuck::{Pod, Zeroable};
use cenote_net::Role;
use cenote_prim::Block;
use zeroize::Zeroize;

use super::leaky_and::Width;
use super::share::Share;

/// A share in N bytes: the block under Delta_A, then the low N - 16 bytes of the one under Delta_B.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub struct Packed<const N: usize>([u8; N]);

/// Bytes of a share for each [`Width`].
pub(super) const BITS64: usize = 24;
pub(super) const BITS96: usize = 28;
pub(super) const BITS128: usize = 32;

/// Bytes of a packed share of this width.
#[must_use]
pub const fn packed_bytes(width: Width) -> usize {
    match width {
        Width::Bits64 => BITS64,
        Width::Bits96 => BITS96,
        Width::Bits128 => BITS128,
    }
}

impl<const N: usize> Packed<N> {
    /// Cuts the share of `role`.
    #[inline(always)]
    #[must_use]
    pub fn of(share: Share, role: Role) -> Packed<N> {
        let (whole, cut) = match role {
            Role::Garbler => (share.key, share.mac),
            Role::Evaluator => (share.mac, share.key),
        };
        Packed::of_parts(whole, cut)
    }

    /// The share of `role`, in which zeros stand for what was cut.
    #[inline(always)]
    #[must_use]
    pub fn share(self, role: Role) -> Share {
        let (whole, cut) = self.parts();
        match role {
            Role::Garbler => Share { mac: cut, key: whole },
            Role::Evaluator => Share { mac: whole, key: cut },
        }
    }

    /// The share of this bit times a public `bit`.
    #[inline(always)]
    #[must_use]
    pub fn times(self, bit: bool) -> Packed<N> {
        let (whole, cut) = self.parts();
        Packed::of_parts(whole.times(bit), cut.times(bit))
    }

    #[inline(always)]
    fn of_parts(whole: Block, cut: Block) -> Packed<N> {
        let mut bytes = [0; N];
        bytes[..16].copy_from_slice(&whole.to_bytes());
        bytes[16..].copy_from_slice(&cut.to_bytes()[..N - 16]);
        Packed(bytes)
    }

    /// As blocks, in which one computes faster than in bytes.
    #[inline(always)]
    fn parts(self) -> (Block, Block) {
        let (mut whole, mut cut) = ([0; 16], [0; 16]);
        whole.copy_from_slice(&self.0[..16]);
        cut[..N - 16].copy_from_slice(&self.0[16..]);
        (Block::from_bytes(whole), Block::from_bytes(cut))
    }
}

impl<const N: usize> BitXor for Packed<N> {
    type Output = Packed<N>;
    #[inline(always)]
    fn bitxor(self, other: Packed<N>) -> Packed<N> {
        let (a, b) = (self.parts(), other.parts());
        Packed::of_parts(a.0 ^ b.0, a.1 ^ b.1)
    }
}

impl<const N: usize> Default for Packed<N> {
    fn default() -> Packed<N> {
        Packed([0; N])
    }
}

impl<const N: usize> Zeroize for Packed<N> {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl Width {
    /// The low bits of `block`.
    #[inline(always)]
    #[must_use]
    pub fn cut(self, block: Block) -> Block {
        block & Block::new(u128::MAX >> (128 - self.bits()))
    }

    /// What requests need of the global key of `role`.
    #[must_use]
    pub fn kept_delta(self, delta: Block, role: Role) -> Block {
        match role {
            Role::Garbler => delta,
            Role::Evaluator => self.cut(delta),
        }
    }

    /// What requests need of a share of `role`: as [`Packed`].
    #[inline(always)]
    #[must_use]
    pub fn kept(self, share: Share, role: Role) -> Share {
        match role {
            Role::Garbler => Share { mac: self.cut(share.mac), key: share.key },
            Role::Evaluator => Share { mac: share.mac, key: self.cut(share.key) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::wrk::share::dealer::Dealer;

    fn pack<const N: usize>(width: Width) {
        let mut d = Dealer::new(12);
        for role in [Role::Garbler, Role::Evaluator] {
            for round in 0..40 {
                let (x, y) = (d.share(), d.share());
                let (x, y) = match role {
                    Role::Garbler => (x.0, y.0),
                    Role::Evaluator => (x.1, y.1),
                };
                let bit = round % 2 == 0;
                let made = Packed::<N>::of(x, role) ^ Packed::<N>::of(y, role).times(bit);
                assert!(made.share(role) == width.kept(x ^ y.times(bit), role));
                let whole =
                    |share: Share| if role == Role::Garbler { share.key } else { share.mac };
                assert!(whole(made.share(role)) == whole(x ^ y.times(bit)));
            }
        }
        assert_eq!(packed_bytes(width), N);
        assert_eq!(N, 16 + width.bytes());
    }

    #[test]
    fn packing_is_linear_and_loses_nothing_but_the_high_bits_under_delta_b() {
        pack::<BITS64>(Width::Bits64);
        pack::<BITS96>(Width::Bits96);
        pack::<BITS128>(Width::Bits128);
        let mut d = Dealer::new(13);
        let [delta_a, delta_b] = d.deltas;
        for width in [Width::Bits64, Width::Bits96, Width::Bits128] {
            assert!(width.kept_delta(delta_a, Role::Garbler) == delta_a);
            d.deltas[1] = width.kept_delta(delta_b, Role::Evaluator);
            assert_eq!(d.deltas[1].to_u128().leading_zeros() / 8, 16 - width.bits() / 8);
            let (a, b) =
                Dealer::share(&mut Dealer { prg: d.prg.fork(), deltas: [delta_a, delta_b] });
            d.value(width.kept(a, Role::Garbler), width.kept(b, Role::Evaluator));
        }
    }
}
