use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitXor, BitXorAssign};

use bytemuck::{Pod, Zeroable};
use zeroize::DefaultIsZeroes;

use repr::Repr;

/// 128 bits: an AES block, an element of GF(2^128), a wire label or a MAC.
///
/// Byte order is little-endian: bit `i` of the integer is bit `i % 8` of byte `i / 8`. Most blocks
/// are secret, so `Debug` prints no content.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub struct Block(Repr);

/// One vector register: as an integer, a block would live in two general registers, and writing it
/// in halves stalls the vector load that follows in every hash.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod repr {
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_andnot_si128, _mm_cvtsi128_si64, _mm_or_si128, _mm_set_epi64x,
        _mm_set1_epi64x, _mm_shuffle_epi32, _mm_xor_si128,
    };

    pub(super) type Repr = __m128i;

    pub(super) const fn from_u128(value: u128) -> Repr {
        // SAFETY: both types are 128 plain bits.
        unsafe { std::mem::transmute::<u128, Repr>(value) }
    }

    #[inline(always)]
    pub(super) fn low(x: Repr) -> u64 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_cvtsi128_si64(x) as u64 }
    }

    #[inline(always)]
    pub(super) fn xor(a: Repr, b: Repr) -> Repr {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_xor_si128(a, b) }
    }

    #[inline(always)]
    pub(super) fn and(a: Repr, b: Repr) -> Repr {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_and_si128(a, b) }
    }

    #[inline(always)]
    pub(super) fn times(x: Repr, bit: bool) -> Repr {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_and_si128(x, _mm_set1_epi64x(-i64::from(bit))) }
    }

    #[inline(always)]
    pub(super) fn with_lsb(x: Repr, bit: bool) -> Repr {
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let cleared = _mm_andnot_si128(_mm_set_epi64x(0, 1), x);
            _mm_or_si128(cleared, _mm_set_epi64x(0, i64::from(bit)))
        }
    }

    #[inline(always)]
    pub(super) fn sigma(x: Repr) -> Repr {
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let swapped = _mm_shuffle_epi32::<0b01_00_11_10>(x);
            _mm_xor_si128(swapped, _mm_and_si128(x, _mm_set_epi64x(-1, 0)))
        }
    }
}

/// An integer, where there is no vector unit that we know.
#[cfg(not(target_arch = "x86_64"))]
mod repr {
    pub(super) type Repr = u128;

    pub(super) const fn from_u128(value: u128) -> Repr {
        value
    }

    #[inline(always)]
    pub(super) fn low(x: Repr) -> u64 {
        x as u64
    }

    #[inline(always)]
    pub(super) fn xor(a: Repr, b: Repr) -> Repr {
        a ^ b
    }

    #[inline(always)]
    pub(super) fn and(a: Repr, b: Repr) -> Repr {
        a & b
    }

    #[inline(always)]
    pub(super) fn times(x: Repr, bit: bool) -> Repr {
        x & u128::from(bit).wrapping_neg()
    }

    #[inline(always)]
    pub(super) fn with_lsb(x: Repr, bit: bool) -> Repr {
        (x & !1) | u128::from(bit)
    }

    #[inline(always)]
    pub(super) fn sigma(x: Repr) -> Repr {
        let (l, r) = ((x >> 64) as u64, x as u64);
        (u128::from(l ^ r) << 64) | u128::from(l)
    }
}

impl Block {
    /// All bits zero.
    pub const ZERO: Block = Block::new(0);
    /// Bit 0 set, all others zero.
    pub const ONE: Block = Block::new(1);

    /// The block with the bits of `value`.
    pub const fn new(value: u128) -> Block {
        Block(repr::from_u128(value))
    }

    /// The bits as an integer.
    #[inline(always)]
    pub fn to_u128(self) -> u128 {
        bytemuck::cast(self.0)
    }

    /// Reads 16 bytes, little-endian.
    pub const fn from_bytes(bytes: [u8; 16]) -> Block {
        Block::new(u128::from_le_bytes(bytes))
    }

    /// The 16 bytes, little-endian.
    #[inline(always)]
    pub fn to_bytes(self) -> [u8; 16] {
        self.to_u128().to_le_bytes()
    }

    /// Bit 0: the carried bit of a MAC, the permute bit of a label.
    #[inline(always)]
    pub fn lsb(self) -> bool {
        repr::low(self.0) & 1 == 1
    }

    /// Bit 1: the colour bit of a label.
    #[inline(always)]
    pub fn colour(self) -> bool {
        repr::low(self.0) & 2 == 2
    }

    /// `self` if `bit`, otherwise zero, without a branch.
    #[inline(always)]
    pub fn times(self, bit: bool) -> Block {
        Block(repr::times(self.0, bit))
    }

    /// This block with bit 0 replaced by `bit`.
    #[inline(always)]
    pub fn with_lsb(self, bit: bool) -> Block {
        Block(repr::with_lsb(self.0, bit))
    }

    /// The linear orthomorphism sigma(l || r) = (l xor r) || l, with l the high half
    /// (Guo, Katz, Wang, Yu 2020, section 7.3).
    #[inline(always)]
    pub fn sigma(self) -> Block {
        Block(repr::sigma(self.0))
    }

    /// Equality in time independent of the contents.
    pub fn ct_eq(self, other: Block) -> bool {
        subtle::ConstantTimeEq::ct_eq(&self.to_u128(), &other.to_u128()).into()
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

impl Default for Block {
    fn default() -> Block {
        Block::ZERO
    }
}

impl PartialEq for Block {
    #[inline]
    fn eq(&self, other: &Block) -> bool {
        self.to_u128() == other.to_u128()
    }
}

impl Eq for Block {}

impl BitXor for Block {
    type Output = Block;
    #[inline(always)]
    fn bitxor(self, other: Block) -> Block {
        Block(repr::xor(self.0, other.0))
    }
}

impl BitXorAssign for Block {
    #[inline(always)]
    fn bitxor_assign(&mut self, other: Block) {
        *self = *self ^ other;
    }
}

impl BitAnd for Block {
    type Output = Block;
    #[inline(always)]
    fn bitand(self, other: Block) -> Block {
        Block(repr::and(self.0, other.0))
    }
}

impl BitAndAssign for Block {
    #[inline(always)]
    fn bitand_assign(&mut self, other: Block) {
        *self = *self & other;
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
