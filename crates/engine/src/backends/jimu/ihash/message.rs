//! The messages that the interactive hash binds the garbler to: one label and one permutation
//! message a wire.

use std::ops::{BitXor, BitXorAssign};

use bytemuck::{Pod, Zeroable};
use cenote_prim::Block;

/// A wire label, or a sum of labels: a polynomial of degree below 48 over GF(2^8).
///
/// The first block holds its values at the 16 points that can never be watched: the key of the
/// gate hash. The other two hold its values at the first 32 points of the code. These 48 values
/// determine the polynomial, and everything that is done with labels is linear in them.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct Label(pub [Block; 3]);

/// A permutation message, or a sum of such: a polynomial whose value at the one point that can
/// never be watched is the first symbol. Its bit 0 is the permutation bit.
///
/// Over GF(2^6), 21 symbols of 6 bits lie one after the other in the first block and the second is
/// zero; over GF(2^8), 32 symbols fill both.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct Perm(pub [Block; 2]);

/// All that the garbler knows of a hashed wire.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Message {
    /// The label of masked value 0.
    pub label: Label,
    /// The message that carries the permutation bit.
    pub perm: Perm,
}

/// The evaluator's hash of a [`Message`], compressed to one block each. Linear, as the message is.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Tag {
    /// Hash of the label.
    pub label: Block,
    /// Hash of the permutation message.
    pub perm: Block,
}

impl Label {
    /// The zero polynomial.
    pub const ZERO: Label = Label([Block::ZERO; 3]);

    /// The polynomial with this key and zeros at the points 0 .. 32.
    #[must_use]
    pub const fn of_key(key: Block) -> Label {
        Label([key, Block::ZERO, Block::ZERO])
    }

    /// The key of the gate hash.
    #[inline(always)]
    #[must_use]
    pub fn key(&self) -> Block {
        self.0[0]
    }

    /// The label if `bit`, zero otherwise, in constant time.
    #[inline(always)]
    #[must_use]
    pub fn times(self, bit: bool) -> Label {
        Label(self.0.map(|block| block.times(bit)))
    }
}

impl Perm {
    /// The zero polynomial.
    pub const ZERO: Perm = Perm([Block::ZERO; 2]);

    /// The permutation bit.
    #[inline(always)]
    #[must_use]
    pub fn bit(&self) -> bool {
        self.0[0].lsb()
    }

    /// The message if `bit`, zero otherwise, in constant time.
    #[inline(always)]
    #[must_use]
    pub fn times(self, bit: bool) -> Perm {
        Perm(self.0.map(|block| block.times(bit)))
    }
}

impl Message {
    /// Zero label, zero permutation message.
    pub const ZERO: Message = Message { label: Label::ZERO, perm: Perm::ZERO };

    /// Returns the message that opens as the difference of two wires whose masked values differ by
    /// `shift` beyond their permutation bits: the sum of both messages with Delta added to the
    /// label if the masked values of one value differ.
    #[inline(always)]
    #[must_use]
    pub fn solder(&self, other: &Message, shift: bool, delta: &Label) -> Message {
        let sum = *self ^ *other;
        let differ = sum.perm.bit() ^ shift;
        Message { label: sum.label ^ delta.times(differ), perm: sum.perm }
    }
}

/// Bytes of `count` messages of which the permutation part takes `perm_blocks` blocks.
#[must_use]
pub const fn encoded_len(count: usize, perm_blocks: usize) -> usize {
    (3 + perm_blocks) * size_of::<Block>() * count
}

/// Appends messages, of which the permutation part takes `perm_blocks` blocks, 1 or 2.
pub fn encode(messages: &[Message], perm_blocks: usize, out: &mut Vec<u8>) {
    out.reserve(encoded_len(messages.len(), perm_blocks));
    let message_len = encoded_len(1, perm_blocks);
    for message in messages {
        out.extend_from_slice(&bytemuck::bytes_of(message)[..message_len]);
    }
}

/// Reads as many messages as there is room for; whether `bytes` has the length of so many. Whether
/// a permutation part is in canonical form is for [`super::Recogniser::agree`] to say.
#[must_use]
pub fn decode(bytes: &[u8], perm_blocks: usize, messages: &mut [Message]) -> bool {
    let message_len = encoded_len(1, perm_blocks);
    if bytes.len() != encoded_len(messages.len(), perm_blocks) {
        return false;
    }
    for (message, bytes) in messages.iter_mut().zip(bytes.chunks_exact(message_len)) {
        *message = Message::ZERO;
        bytemuck::bytes_of_mut(message)[..message_len].copy_from_slice(bytes);
    }
    true
}

impl Tag {
    /// The tag of [`Message::ZERO`].
    pub const ZERO: Tag = Tag { label: Block::ZERO, perm: Block::ZERO };
}

/// XOR, field by field.
macro_rules! exclusive_or {
    ($type:ty, |$a:ident, $b:ident| $sum:expr) => {
        impl BitXor for $type {
            type Output = $type;
            #[inline(always)]
            fn bitxor(self, other: $type) -> $type {
                let ($a, $b) = (self, other);
                $sum
            }
        }
        impl BitXorAssign for $type {
            #[inline(always)]
            fn bitxor_assign(&mut self, other: $type) {
                *self = *self ^ other;
            }
        }
        impl zeroize::DefaultIsZeroes for $type {}
    };
}

exclusive_or!(Label, |a, b| Label([a.0[0] ^ b.0[0], a.0[1] ^ b.0[1], a.0[2] ^ b.0[2]]));
exclusive_or!(Perm, |a, b| Perm([a.0[0] ^ b.0[0], a.0[1] ^ b.0[1]]));
exclusive_or!(Message, |a, b| Message { label: a.label ^ b.label, perm: a.perm ^ b.perm });
exclusive_or!(Tag, |a, b| Tag { label: a.label ^ b.label, perm: a.perm ^ b.perm });

/// Prints no content: labels are secret.
macro_rules! opaque {
    ($($type:ident),*) => {$(
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($type), "(..)"))
            }
        }
    )*};
}

opaque!(Label, Perm, Message, Tag);

#[cfg(test)]
mod tests {
    use super::*;

    fn message(first: u128) -> Message {
        let block = |i| Block::new(first + i);
        Message { label: Label([block(0), block(1), block(2)]), perm: Perm([block(3), block(4)]) }
    }

    fn same<T: Pod>(a: &T, b: &T) -> bool {
        bytemuck::bytes_of(a) == bytemuck::bytes_of(b)
    }

    #[test]
    fn what_is_encoded_is_read_and_no_other_length() {
        for (blocks, each) in [(1, 64), (2, 80)] {
            let mut messages = [message(1), message(1 << 100)];
            if blocks == 1 {
                messages.iter_mut().for_each(|message| message.perm.0[1] = Block::ZERO);
            }
            assert_eq!(encoded_len(2, blocks), 2 * each);
            let mut bytes = vec![7];
            encode(&messages, blocks, &mut bytes);
            assert_eq!((bytes.len(), bytes[0]), (1 + 2 * each, 7));
            let mut read = [message(9); 2];
            assert!(decode(&bytes[1..], blocks, &mut read));
            assert!(read.iter().zip(&messages).all(|(a, b)| same(a, b)));
            assert!(!decode(&bytes, blocks, &mut read) && !decode(&bytes[2..], blocks, &mut read));
        }
    }

    #[test]
    fn sums_are_of_every_part() {
        let (a, b) = (message(1), message(1 << 90));
        let mut sum = a ^ b;
        for (sum, (a, b)) in sum.label.0.iter().zip(a.label.0.iter().zip(b.label.0)) {
            assert_eq!(*sum, *a ^ b);
        }
        for (sum, (a, b)) in sum.perm.0.iter().zip(a.perm.0.iter().zip(b.perm.0)) {
            assert_eq!(*sum, *a ^ b);
        }
        sum ^= b;
        assert!(same(&sum, &a));
        assert!(same(&a.label.times(true), &a.label) && same(&a.label.times(false), &Label::ZERO));
        assert!(same(&a.perm.times(true), &a.perm) && same(&a.perm.times(false), &Perm::ZERO));
        assert_eq!(a.label.key(), a.label.0[0]);
        assert!((a.label ^ Label::of_key(a.label.key())).key().ct_eq(Block::ZERO));
    }

    #[test]
    fn a_solder_has_the_delta_where_masked_values_differ() {
        let delta = message(1 << 70).label;
        // Their permutation bits are 0 and 1.
        let (zero, one) = (message(1), message(2));
        assert!(!zero.perm.bit() && one.perm.bit());
        for (a, b, shift, differ) in [
            (zero, zero, false, false),
            (zero, zero, true, true),
            (zero, one, false, true),
            (one, zero, true, false),
            (one, one, false, false),
        ] {
            let solder = a.solder(&b, shift, &delta);
            assert!(same(&solder.label, &(a.label ^ b.label ^ delta.times(differ))));
            assert!(same(&solder.perm, &(a.perm ^ b.perm)));
        }
    }
}
