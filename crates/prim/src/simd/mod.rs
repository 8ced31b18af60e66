//! Kernels over vectors of 128-bit lanes, chosen at run time by what the processor has.
//!
//! A kernel is written once, in safe code, over the `Vector` trait; `x86` implements it for
//! 128-bit registers (AES-NI, PCLMULQDQ, AVX2) and 512-bit registers (VAES, VPCLMULQDQ, GFNI,
//! AVX-512). `Cpu::run` calls a kernel compiled for the level at hand, one call per slice. All
//! levels, and the portable code that stands where no `Cpu` exists, compute the same values.

// Kernels are compiled where a vector unit is known, and only there.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]

pub(crate) mod aes;
pub(crate) mod columns;
#[cfg(target_arch = "x86_64")]
mod factors;
pub(crate) mod gf128;
pub(crate) mod half_gates;
pub(crate) mod keyed;
#[cfg(not(target_arch = "x86_64"))]
mod none;
pub(crate) mod places;
pub(crate) mod planes;
pub(crate) mod rekeyed;
pub(crate) mod seeds;
pub(crate) mod streams;
pub(crate) mod transpose;
#[cfg(target_arch = "x86_64")]
mod x86;

use bytemuck::Pod;

use crate::Block;
use crate::field::Field;

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use none::Cpu;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::Cpu;

/// The instructions asked of the processor, from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// No special instruction.
    Portable = 1,
    /// AES-NI, PCLMULQDQ and AVX2.
    Aesni = 2,
    /// VAES, VPCLMULQDQ and GFNI on 512-bit registers.
    Vaes512 = 3,
}

/// The level in use: the best one the processor has, unless [`limit`] lowered it.
pub fn level() -> Level {
    Cpu::current().map_or(Level::Portable, Cpu::level)
}

/// Sets the level to the best one of the processor that is not above `most`, and returns it. It
/// changes the speed of objects made from now on, never a result: for measurements.
pub fn limit(most: Level) -> Level {
    Cpu::limit(most).map_or(Level::Portable, Cpu::level)
}

#[cfg(test)]
impl Cpu {
    /// Every vector unit the processor has, and none for the portable level.
    pub(crate) fn all() -> Vec<Option<Cpu>> {
        [Level::Portable, Level::Aesni, Level::Vaes512]
            .into_iter()
            .map(|level| (level, Cpu::best(level)))
            .filter(|(level, cpu)| cpu.map_or(Level::Portable, Cpu::level) == *level)
            .map(|(_, cpu)| cpu)
            .collect()
    }
}

/// A computation compiled once per level.
pub(crate) trait Kernel {
    /// The value that it returns.
    type Output;

    /// The computation. Implementations are `#[inline(always)]`, and so is all they call: only
    /// then are they compiled with the instructions of `V`.
    fn run<V: Vector>(self, cpu: V::Cpu) -> Self::Output;
}

/// A register of 128-bit lanes.
///
/// A value exists only where its `Cpu`, a proof that the processor has the instructions, was at
/// hand: this makes all methods safe.
pub(crate) trait Lanes: Copy {
    /// Proof that the processor has what this register needs.
    type Cpu: Copy;
    /// Blocks per register.
    const LANES: usize;
    /// Bytes per register.
    const BYTES: usize = Self::LANES * size_of::<Block>();

    /// The first blocks of the slice; lanes beyond its end are zero.
    fn load(cpu: Self::Cpu, blocks: &[Block]) -> Self;
    /// Writes the first blocks of the slice, as many as both have.
    fn store(self, blocks: &mut [Block]);
    /// The blocks at multiples of `stride`; lanes beyond the end of the slice are zero.
    fn load_spread(cpu: Self::Cpu, blocks: &[Block], stride: usize) -> Self;
    /// Writes the blocks at multiples of `stride`, as many as the slice has.
    fn store_spread(self, blocks: &mut [Block], stride: usize);
    /// The first [`Lanes::BYTES`] of the slice, which has them.
    fn load_bytes(cpu: Self::Cpu, bytes: &[u8]) -> Self;
    /// Writes the first [`Lanes::BYTES`] of the slice, which has them.
    fn store_bytes(self, bytes: &mut [u8]);
    /// `block` in every lane.
    fn splat(cpu: Self::Cpu, block: Block) -> Self;
    /// XOR.
    fn xor(self, other: Self) -> Self;
    /// Bitwise and.
    fn and(self, other: Self) -> Self;
    /// Byte `i` of a lane is byte `places[i]`, below 16, of the same lane of `self`, or zero where
    /// the high bit of `places[i]` is set.
    fn shuffle_bytes(self, places: Self) -> Self;
}

/// Lanes that move bytes and bits: what a transposition needs.
pub(crate) trait Shuffle: Lanes {
    /// [`Shuffle::transpose_bits`] takes row `i` of a matrix in byte `i ^ FLIP`; 0 or 7.
    const FLIP: usize;

    /// In each lane, the bytes of the low halves of `self` and `other` alternately, and those of
    /// the high halves.
    fn interleave_bytes(self, other: Self) -> (Self, Self);
    /// Transposes every eight bytes as an 8 x 8 matrix of bits.
    fn transpose_bits(self) -> Self;
    /// Transposes a `LANES` x `LANES` matrix of blocks.
    fn transpose_lanes(rows: &mut [Self]);
}

/// Lanes whose bytes are symbols of [`Field`]s.
pub(crate) trait Symbols: Shuffle {
    /// A constant factor made ready.
    type Factor: Pod;
    /// Symbols made ready to be multiplied by many factors.
    type Split: Copy;
    /// Sums that fit into registers beside what a multiplication needs.
    const SUMS: usize;
    /// The number of images that [`Symbols::times_images`] wants of a constant y: y times x^i for
    /// so many i.
    const IMAGES: usize;

    /// Makes a factor ready.
    fn factor(field: Field, factor: u8) -> Self::Factor;
    /// Makes symbols ready.
    fn split(self) -> Self::Split;
    /// The product of every symbol and a factor; bits outside the field are ignored.
    fn times(symbols: Self::Split, factor: &Self::Factor) -> Self;
    /// The product of every symbol of [`Field::Gf256`] and the constant at the same place, of which
    /// `images` has `LANES` blocks for each of the first `IMAGES` powers of x.
    fn times_images(self, images: &[Block]) -> Self;
}

/// Lanes that cipher and multiply.
pub(crate) trait Vector: Lanes {
    /// The register that shuffles best at this level.
    type Shuffler: Symbols<Cpu = Self::Cpu>;

    /// From four blocks of each lane, register after register, to those of the first lane, those of
    /// the second, ..
    fn lanes_to_rows(blocks: [Self; 4]) -> [Self; 4];
    /// Transposes every lane of four registers as a 4 x 4 matrix of 32-bit words.
    fn transpose_words(rows: [Self; 4]) -> [Self; 4];
    /// Adds `count` to the low half of every lane; nothing carries into the high halves.
    fn add_low(self, count: u64) -> Self;
    /// Adds `first` to the low half of the first lane, `first + 1` to that of the second, ..;
    /// nothing carries into the high halves.
    fn add_count(self, first: u64) -> Self;
    /// [`Block::sigma`] of every lane.
    fn sigma(self) -> Self;
    /// Bit 0 of every lane, in all its places.
    fn spread_lsb(self) -> Self;
    /// An inner round of AES.
    fn aes_round(self, key: Self) -> Self;
    /// The last round of AES.
    fn aes_last(self, key: Self) -> Self;
    /// The last 32-bit word of every lane, rotated by a byte, in all four places.
    fn rotated_last_word(self) -> Self;
    /// The round key after this one, given `word`, its rotated last word after the S-box.
    fn next_round_key(self, word: Self) -> Self;
    /// Carry-less product of the high (if `A`) half of `self` and the high (if `B`) half of
    /// `other`, lane by lane.
    fn clmul<const A: bool, const B: bool>(self, other: Self) -> Self;
    /// The blocks of `self` then `other`: those at even and those at odd places.
    fn unzip(self, other: Self) -> (Self, Self);
    /// The inverse of [`Vector::unzip`].
    fn zip(self, odd: Self) -> (Self, Self);
    /// Adds to `sums[i]` the blocks of `table` at the places `rows[i]`, and panics if one is not in it.
    fn add_rows<const N: usize>(
        cpu: Self::Cpu,
        table: &[Block],
        rows: &[[u32; N]],
        sums: &mut [Block],
    );
}

/// Asks the processor to bring `slice[index]` close; returns at once, and does nothing where the
/// item or the instruction does not exist. The address becomes visible to others on the machine,
/// as with any access: not for secret indices.
#[inline]
pub fn prefetch<T>(slice: &[T], index: usize) {
    if let Some(item) = slice.get(index) {
        Cpu::prefetch(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefetch_takes_any_index_and_item() {
        prefetch(&[0u8; 3], 2);
        prefetch(&[[0u64; 40]; 3], 1);
        prefetch(&[[0u64; 40]; 3], 3);
        prefetch::<Block>(&[], usize::MAX);
        prefetch(&[(); 2], 1);
    }
}
