use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitXor, BitXorAssign};

use bytemuck::{Pod, Zeroable};
use zeroize::DefaultIsZeroes;

/// 128 bits: an AES block, an element of GF(2^128), a wire label or a MAC.
///
/// Byte order is little-endian: bit `i` of the integer is bit `i % 8` of byte `i / 8`. Most blocks
/// are secret, so `Debug` prints no content.
#[derive(Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Block(u128);

impl Block {
    /// All bits zero.
    pub const ZERO: Block = Block(0);
    /// Bit 0 set, all others zero.
    pub const ONE: Block = Block(1);

    /// The block with the bits of `value`.
    pub const fn new(value: u128) -> Block {
        Block(value)
    }

    /// The bits as an integer.
    pub const fn to_u128(self) -> u128 {
        self.0
    }

    /// Reads 16 bytes, little-endian.
    pub const fn from_bytes(bytes: [u8; 16]) -> Block {
        Block(u128::from_le_bytes(bytes))
    }

    /// The 16 bytes, little-endian.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    /// Bit 0: the carried bit of a MAC (protocols.md B.1).
    pub const fn lsb(self) -> bool {
        self.0 & 1 == 1
    }

    /// Bit 1: the colour bit of a label.
    pub const fn colour(self) -> bool {
        self.0 & 2 == 2
    }

    /// `self` if `bit`, otherwise zero, without a branch.
    #[inline(always)]
    pub const fn times(self, bit: bool) -> Block {
        Block(self.0 & (bit as u128).wrapping_neg())
    }

    /// This block with bit 0 replaced by `bit`.
    pub const fn with_lsb(self, bit: bool) -> Block {
        Block((self.0 & !1) | bit as u128)
    }

    /// The linear orthomorphism sigma(l || r) = (l xor r) || l, with l the high half
    /// (Guo, Katz, Wang, Yu 2020, section 7.3).
    #[inline(always)]
    pub const fn sigma(self) -> Block {
        let (l, r) = ((self.0 >> 64) as u64, self.0 as u64);
        Block((((l ^ r) as u128) << 64) | l as u128)
    }

    /// Equality in time independent of the contents.
    pub fn ct_eq(self, other: Block) -> bool {
        subtle::ConstantTimeEq::ct_eq(&self.0, &other.0).into()
    }

    /// The bytes of a slice of blocks, without copying.
    pub fn as_bytes(blocks: &[Block]) -> &[u8] {
        bytemuck::cast_slice(blocks)
    }

    /// The bytes of a slice of blocks, for filling from a channel.
    pub fn as_bytes_mut(blocks: &mut [Block]) -> &mut [u8] {
        bytemuck::cast_slice_mut(blocks)
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Block(..)")
    }
}

impl DefaultIsZeroes for Block {}

impl BitXor for Block {
    type Output = Block;
    #[inline(always)]
    fn bitxor(self, other: Block) -> Block {
        Block(self.0 ^ other.0)
    }
}

impl BitXorAssign for Block {
    #[inline(always)]
    fn bitxor_assign(&mut self, other: Block) {
        self.0 ^= other.0;
    }
}

impl BitAnd for Block {
    type Output = Block;
    #[inline(always)]
    fn bitand(self, other: Block) -> Block {
        Block(self.0 & other.0)
    }
}

impl BitAndAssign for Block {
    #[inline(always)]
    fn bitand_assign(&mut self, other: Block) {
        self.0 &= other.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_little_endian() {
        let block = Block::new(0x0102);
        assert_eq!(block.to_bytes()[..2], [2, 1]);
        assert_eq!(Block::from_bytes(block.to_bytes()), block);
        assert_eq!(Block::as_bytes(&[block])[..2], [2, 1]);
    }

    #[test]
    fn times_selects_without_a_branch() {
        let block = Block::new(u128::MAX - 5);
        assert_eq!(block.times(true), block);
        assert_eq!(block.times(false), Block::ZERO);
    }

    #[test]
    fn sigma_is_an_orthomorphism_on_unit_vectors() {
        // sigma and sigma xor identity are linear; both are bijections iff no unit combination
        // is lost. On halves the matrices are [[1,1],[1,0]] and [[0,1],[1,1]], both invertible.
        let x = Block::new((7 << 64) | 5);
        assert_eq!(x.sigma(), Block::new(((7 ^ 5) << 64) | 7));
        assert_eq!(x.sigma() ^ x, Block::new((5 << 64) | (7 ^ 5)));
    }

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", Block::new(42)), "Block(..)");
    }
}
