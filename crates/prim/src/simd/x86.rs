//! The registers of x86-64. All `unsafe` code of the workspace is here.
//!
//! Two facts carry every block: a token ([`Aesni`], [`Vaes512`]) is made only after the processor
//! was asked for its instructions, and a register value is made only with its token.

#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::sync::atomic::{AtomicU8, Ordering};

use super::factors::{AFFINE, NIBBLE_PRODUCTS};
use super::{Kernel, Lanes, Level, Shuffle, Symbols, Vector};
use crate::Block;
use crate::field::Field;

/// Proof that the processor has AES-NI, PCLMULQDQ and AVX2.
#[derive(Clone, Copy)]
pub(crate) struct Aesni(());

/// Proof that the processor has VAES, VPCLMULQDQ, GFNI and AVX-512 F, BW, DQ and VL,
/// and what [`Aesni`] proves.
#[derive(Clone, Copy)]
pub(crate) struct Vaes512(());

/// A vector unit that the processor has.
#[derive(Clone, Copy)]
pub(crate) enum Cpu {
    Aesni(Aesni),
    Vaes512(Vaes512),
}

/// The level in use; 0 before the first question. Never above what the processor has: only
/// [`Cpu::limit`] writes it.
static LEVEL: AtomicU8 = AtomicU8::new(0);

impl Cpu {
    /// The unit to use now; none at the portable level.
    #[inline]
    pub(crate) fn current() -> Option<Cpu> {
        const PORTABLE: u8 = Level::Portable as u8;
        const AESNI: u8 = Level::Aesni as u8;
        const VAES512: u8 = Level::Vaes512 as u8;
        match LEVEL.load(Ordering::Relaxed) {
            PORTABLE => None,
            AESNI => Some(Cpu::Aesni(Aesni(()))),
            VAES512 => Some(Cpu::Vaes512(Vaes512(()))),
            _ => Cpu::limit(Level::Vaes512),
        }
    }

    /// From now on, the best unit that is not above `most`.
    pub(super) fn limit(most: Level) -> Option<Cpu> {
        let cpu = Cpu::best(most);
        let level = cpu.map_or(Level::Portable, Cpu::level);
        LEVEL.store(level as u8, Ordering::Relaxed);
        cpu
    }

    /// The best unit of the processor that is not above `most`.
    pub(super) fn best(most: Level) -> Option<Cpu> {
        let aesni = is_x86_feature_detected!("aes")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("avx2");
        let vaes512 = is_x86_feature_detected!("vaes")
            && is_x86_feature_detected!("vpclmulqdq")
            && is_x86_feature_detected!("gfni")
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        match most {
            Level::Vaes512 if aesni && vaes512 => Some(Cpu::Vaes512(Vaes512(()))),
            Level::Aesni | Level::Vaes512 if aesni => Some(Cpu::Aesni(Aesni(()))),
            _ => None,
        }
    }

    /// Brings all cache lines of `item` close.
    #[inline]
    pub(super) fn prefetch<T>(item: &T) {
        const LINE: usize = 64;
        let item = std::ptr::from_ref(item).cast::<i8>();
        let into_line = item.addr() % LINE;
        for line in 0..(into_line + size_of::<T>()).div_ceil(LINE) {
            let at = item.wrapping_sub(into_line).wrapping_add(line * LINE);
            // SAFETY: SSE is part of x86-64; a prefetch reads nothing the program can see and
            // never faults, whatever its address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(at) }
        }
    }

    /// The unit with one lane: enough for one block.
    #[inline]
    pub(super) fn narrow(self) -> Cpu {
        match self {
            Cpu::Aesni(cpu) => Cpu::Aesni(cpu),
            // The wide token proves what the narrow one does.
            Cpu::Vaes512(_) => Cpu::Aesni(Aesni(())),
        }
    }

    pub(super) fn level(self) -> Level {
        match self {
            Cpu::Aesni(_) => Level::Aesni,
            Cpu::Vaes512(_) => Level::Vaes512,
        }
    }

    /// Runs `kernel` compiled for this unit.
    #[inline]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "aes,pclmulqdq,avx2")]
        fn aesni<K: Kernel>(cpu: Aesni, kernel: K) -> K::Output {
            kernel.run::<Xmm>(cpu)
        }
        #[target_feature(enable = "aes,pclmulqdq,avx2,vaes,vpclmulqdq,gfni")]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        fn vaes512<K: Kernel>(cpu: Vaes512, kernel: K) -> K::Output {
            kernel.run::<Zmm>(cpu)
        }
        match self {
            // SAFETY: the token proves the enabled instructions.
            Cpu::Aesni(cpu) => unsafe { aesni(cpu, kernel) },
            // SAFETY: the token proves the enabled instructions.
            Cpu::Vaes512(cpu) => unsafe { vaes512(cpu, kernel) },
        }
    }
}

/// One block.
#[derive(Clone, Copy)]
pub(crate) struct Xmm(__m128i);

/// Two blocks.
#[derive(Clone, Copy)]
pub(crate) struct Ymm(__m256i);

/// Four blocks.
#[derive(Clone, Copy)]
pub(crate) struct Zmm(__m512i);

/// Calls intrinsics.
macro_rules! proven {
    ($calls:expr) => {
        // SAFETY: register values exist only with a token, which proves the instructions; what
        // touches memory stays inside the slice at hand, as said there.
        unsafe { $calls }
    };
}

/// AES RotWord of the last word of a round key, into all four words.
const ROTATED_LAST_WORD: i32 = 0x0c0f0e0d;

/// The immediate of a carry-less multiplication of half `a` by half `b`.
macro_rules! clmul {
    ($multiply:ident, $x:expr, $y:expr) => {
        match (A, B) {
            (false, false) => $multiply::<0x00>($x, $y),
            (true, false) => $multiply::<0x01>($x, $y),
            (false, true) => $multiply::<0x10>($x, $y),
            (true, true) => $multiply::<0x11>($x, $y),
        }
    };
}

impl Lanes for Xmm {
    type Cpu = Aesni;
    const LANES: usize = 1;

    #[inline(always)]
    fn load(_: Aesni, blocks: &[Block]) -> Xmm {
        match blocks.first() {
            // A reference to a block covers the 16 bytes read.
            Some(block) => Xmm(proven!(_mm_loadu_si128(std::ptr::from_ref(block).cast()))),
            None => Xmm(proven!(_mm_setzero_si128())),
        }
    }

    #[inline(always)]
    fn store(self, blocks: &mut [Block]) {
        if let Some(block) = blocks.first_mut() {
            // A reference to a block covers the 16 bytes written.
            proven!(_mm_storeu_si128(std::ptr::from_mut(block).cast(), self.0));
        }
    }

    #[inline(always)]
    fn load_spread(cpu: Aesni, blocks: &[Block], _: usize) -> Xmm {
        Xmm::load(cpu, blocks)
    }

    #[inline(always)]
    fn store_spread(self, blocks: &mut [Block], _: usize) {
        self.store(blocks);
    }

    #[inline(always)]
    fn load_bytes(_: Aesni, bytes: &[u8]) -> Xmm {
        let bytes = &bytes[..Xmm::BYTES];
        // The slice covers the bytes read.
        Xmm(proven!(_mm_loadu_si128(bytes.as_ptr().cast())))
    }

    #[inline(always)]
    fn store_bytes(self, bytes: &mut [u8]) {
        let bytes = &mut bytes[..Xmm::BYTES];
        // The slice covers the bytes written.
        proven!(_mm_storeu_si128(bytes.as_mut_ptr().cast(), self.0));
    }

    #[inline(always)]
    fn splat(cpu: Aesni, block: Block) -> Xmm {
        Xmm::load(cpu, &[block])
    }

    #[inline(always)]
    fn xor(self, other: Xmm) -> Xmm {
        Xmm(proven!(_mm_xor_si128(self.0, other.0)))
    }

    #[inline(always)]
    fn and(self, other: Xmm) -> Xmm {
        Xmm(proven!(_mm_and_si128(self.0, other.0)))
    }

    #[inline(always)]
    fn shuffle_bytes(self, places: Xmm) -> Xmm {
        Xmm(proven!(_mm_shuffle_epi8(self.0, places.0)))
    }
}

/// [`Vector::add_rows`], a block at a time: a register of several would have to be put together first.
#[inline(always)]
fn add_rows<const N: usize>(cpu: Aesni, table: &[Block], rows: &[[u32; N]], sums: &mut [Block]) {
    let last = rows.as_flattened().iter().fold(0, |last, place| last.max(*place));
    assert!(rows.is_empty() || N == 0 || (last as usize) < table.len());
    for (sum, row) in sums.iter_mut().zip(rows) {
        let mut x = Xmm::load(cpu, std::slice::from_ref(sum));
        for place in row {
            // No place is above the last one, which is in the table.
            x = x.xor(Xmm(proven!(_mm_loadu_si128(table.as_ptr().add(*place as usize).cast()))));
        }
        x.store(std::slice::from_mut(sum));
    }
}

impl Vector for Xmm {
    type Shuffler = Ymm;

    #[inline(always)]
    fn lanes_to_rows(blocks: [Xmm; 4]) -> [Xmm; 4] {
        blocks
    }

    #[inline(always)]
    fn transpose_words([a, b, c, d]: [Xmm; 4]) -> [Xmm; 4] {
        let rows = proven!({
            let (ab_low, ab_high) = (_mm_unpacklo_epi32(a.0, b.0), _mm_unpackhi_epi32(a.0, b.0));
            let (cd_low, cd_high) = (_mm_unpacklo_epi32(c.0, d.0), _mm_unpackhi_epi32(c.0, d.0));
            [
                _mm_unpacklo_epi64(ab_low, cd_low),
                _mm_unpackhi_epi64(ab_low, cd_low),
                _mm_unpacklo_epi64(ab_high, cd_high),
                _mm_unpackhi_epi64(ab_high, cd_high),
            ]
        });
        rows.map(Xmm)
    }

    #[inline(always)]
    fn add_low(self, count: u64) -> Xmm {
        self.add_count(count)
    }

    #[inline(always)]
    fn add_count(self, first: u64) -> Xmm {
        Xmm(proven!(_mm_add_epi64(self.0, _mm_set_epi64x(0, first.cast_signed()))))
    }

    #[inline(always)]
    fn sigma(self) -> Xmm {
        Xmm(proven!({
            let swapped = _mm_shuffle_epi32::<0b01_00_11_10>(self.0);
            _mm_xor_si128(swapped, _mm_and_si128(self.0, _mm_set_epi64x(-1, 0)))
        }))
    }

    #[inline(always)]
    fn spread_lsb(self) -> Xmm {
        Xmm(proven!({
            let bit = _mm_and_si128(self.0, _mm_set1_epi32(1));
            _mm_shuffle_epi32::<0>(_mm_sub_epi32(_mm_setzero_si128(), bit))
        }))
    }

    #[inline(always)]
    fn aes_round(self, key: Xmm) -> Xmm {
        Xmm(proven!(_mm_aesenc_si128(self.0, key.0)))
    }

    #[inline(always)]
    fn aes_last(self, key: Xmm) -> Xmm {
        Xmm(proven!(_mm_aesenclast_si128(self.0, key.0)))
    }

    #[inline(always)]
    fn rotated_last_word(self) -> Xmm {
        Xmm(proven!(_mm_shuffle_epi8(self.0, _mm_set1_epi32(ROTATED_LAST_WORD))))
    }

    #[inline(always)]
    fn next_round_key(self, word: Xmm) -> Xmm {
        Xmm(proven!({
            let key = _mm_xor_si128(self.0, _mm_slli_si128::<4>(self.0));
            _mm_xor_si128(_mm_xor_si128(key, _mm_slli_si128::<8>(key)), word.0)
        }))
    }

    #[inline(always)]
    fn clmul<const A: bool, const B: bool>(self, other: Xmm) -> Xmm {
        Xmm(proven!(clmul!(_mm_clmulepi64_si128, self.0, other.0)))
    }

    #[inline(always)]
    fn unzip(self, other: Xmm) -> (Xmm, Xmm) {
        (self, other)
    }

    #[inline(always)]
    fn zip(self, odd: Xmm) -> (Xmm, Xmm) {
        (self, odd)
    }

    #[inline(always)]
    fn add_rows<const N: usize>(
        cpu: Aesni,
        table: &[Block],
        rows: &[[u32; N]],
        sums: &mut [Block],
    ) {
        add_rows(cpu, table, rows, sums);
    }
}

impl Lanes for Ymm {
    type Cpu = Aesni;
    const LANES: usize = 2;

    #[inline(always)]
    fn load(cpu: Aesni, blocks: &[Block]) -> Ymm {
        match blocks.first_chunk::<2>() {
            // A reference to two blocks covers the 32 bytes read.
            Some(pair) => Ymm(proven!(_mm256_loadu_si256(std::ptr::from_ref(pair).cast()))),
            None => Ymm(proven!(_mm256_zextsi128_si256(Xmm::load(cpu, blocks).0))),
        }
    }

    #[inline(always)]
    fn store(self, blocks: &mut [Block]) {
        match blocks.first_chunk_mut::<2>() {
            // A reference to two blocks covers the 32 bytes written.
            Some(pair) => proven!(_mm256_storeu_si256(std::ptr::from_mut(pair).cast(), self.0)),
            None => Xmm(proven!(_mm256_castsi256_si128(self.0))).store(blocks),
        }
    }

    #[inline(always)]
    fn load_spread(cpu: Aesni, blocks: &[Block], stride: usize) -> Ymm {
        let low = Xmm::load(cpu, blocks);
        let high = Xmm::load(cpu, blocks.get(stride..).unwrap_or_default());
        Ymm(proven!(_mm256_set_m128i(high.0, low.0)))
    }

    #[inline(always)]
    fn store_spread(self, blocks: &mut [Block], stride: usize) {
        Xmm(proven!(_mm256_castsi256_si128(self.0))).store(blocks);
        let high = Xmm(proven!(_mm256_extracti128_si256::<1>(self.0)));
        high.store(blocks.get_mut(stride..).unwrap_or_default());
    }

    #[inline(always)]
    fn load_bytes(_: Aesni, bytes: &[u8]) -> Ymm {
        let bytes = &bytes[..Ymm::BYTES];
        // The slice covers the bytes read.
        Ymm(proven!(_mm256_loadu_si256(bytes.as_ptr().cast())))
    }

    #[inline(always)]
    fn store_bytes(self, bytes: &mut [u8]) {
        let bytes = &mut bytes[..Ymm::BYTES];
        // The slice covers the bytes written.
        proven!(_mm256_storeu_si256(bytes.as_mut_ptr().cast(), self.0));
    }

    #[inline(always)]
    fn splat(cpu: Aesni, block: Block) -> Ymm {
        Ymm(proven!(_mm256_broadcastsi128_si256(Xmm::splat(cpu, block).0)))
    }

    #[inline(always)]
    fn xor(self, other: Ymm) -> Ymm {
        Ymm(proven!(_mm256_xor_si256(self.0, other.0)))
    }

    #[inline(always)]
    fn and(self, other: Ymm) -> Ymm {
        Ymm(proven!(_mm256_and_si256(self.0, other.0)))
    }

    #[inline(always)]
    fn shuffle_bytes(self, places: Ymm) -> Ymm {
        Ymm(proven!(_mm256_shuffle_epi8(self.0, places.0)))
    }
}

impl Shuffle for Ymm {
    const FLIP: usize = 0;

    #[inline(always)]
    fn interleave_bytes(self, other: Ymm) -> (Ymm, Ymm) {
        let low = proven!(_mm256_unpacklo_epi8(self.0, other.0));
        let high = proven!(_mm256_unpackhi_epi8(self.0, other.0));
        (Ymm(low), Ymm(high))
    }

    #[inline(always)]
    fn transpose_bits(self) -> Ymm {
        // Three exchanges of off-diagonal quadrants (Hacker's Delight, section 7-3).
        macro_rules! exchange {
            ($x:expr, $distance:literal, $mask:literal) => {{
                let t = _mm256_xor_si256($x, _mm256_srli_epi64::<$distance>($x));
                let t = _mm256_and_si256(t, _mm256_set1_epi64x($mask));
                _mm256_xor_si256($x, _mm256_xor_si256(t, _mm256_slli_epi64::<$distance>(t)))
            }};
        }
        Ymm(proven!({
            let x = exchange!(self.0, 7, 0x00aa00aa00aa00aa);
            let x = exchange!(x, 14, 0x0000cccc0000cccc);
            exchange!(x, 28, 0x00000000f0f0f0f0)
        }))
    }

    #[inline(always)]
    fn transpose_lanes(rows: &mut [Ymm]) {
        if let [a, b] = rows {
            let low = proven!(_mm256_permute2x128_si256::<0x20>(a.0, b.0));
            let high = proven!(_mm256_permute2x128_si256::<0x31>(a.0, b.0));
            (a.0, b.0) = (low, high);
        }
    }
}

impl Symbols for Ymm {
    /// The products of the factor and the low and the high four bits of a symbol.
    type Factor = [u64; 4];
    /// The low and the high four bits of the symbols.
    type Split = (Ymm, Ymm);
    const SUMS: usize = 8;
    const IMAGES: usize = 8;

    #[inline(always)]
    fn factor(field: Field, factor: u8) -> [u64; 4] {
        NIBBLE_PRODUCTS[field as usize].of(factor)
    }

    #[inline(always)]
    fn split(self) -> (Ymm, Ymm) {
        proven!({
            let nibble = _mm256_set1_epi8(0xf);
            let high = _mm256_and_si256(_mm256_srli_epi16::<4>(self.0), nibble);
            (Ymm(_mm256_and_si256(self.0, nibble)), Ymm(high))
        })
    }

    #[inline(always)]
    fn times((low, high): (Ymm, Ymm), factor: &[u64; 4]) -> Ymm {
        let products: *const __m128i = std::ptr::from_ref(factor).cast();
        // The two lanes read are the factor.
        proven!({
            let of_low = _mm256_broadcastsi128_si256(_mm_loadu_si128(products));
            let of_high = _mm256_broadcastsi128_si256(_mm_loadu_si128(products.add(1)));
            let low = _mm256_shuffle_epi8(of_low, low.0);
            Ymm(_mm256_xor_si256(low, _mm256_shuffle_epi8(of_high, high.0)))
        })
    }

    #[inline(always)]
    fn times_images(self, images: &[Block]) -> Ymm {
        let mut bits = self.0;
        let mut sum = proven!(_mm256_setzero_si256());
        // From the top bit of the symbols to the bottom one.
        for pair in images[..Ymm::LANES * Ymm::IMAGES].as_chunks::<2>().0.iter().rev() {
            // A reference to two blocks covers the 32 bytes read.
            proven!({
                let image = _mm256_loadu_si256(std::ptr::from_ref(pair).cast());
                let set = _mm256_cmpgt_epi8(_mm256_setzero_si256(), bits);
                sum = _mm256_xor_si256(sum, _mm256_and_si256(image, set));
                bits = _mm256_add_epi8(bits, bits);
            });
        }
        Ymm(sum)
    }
}

/// The 64-bit halves of the first `blocks` lanes.
#[inline(always)]
fn first_lanes(blocks: usize) -> __mmask8 {
    if blocks < Zmm::LANES { (1 << (2 * blocks)) - 1 } else { 0xff }
}

/// The truth table of XOR.
const XOR3: i32 = 0x96;

/// The high 64-bit half of every lane.
const HIGH_HALVES: __mmask8 = 0b10101010;

impl Lanes for Zmm {
    type Cpu = Vaes512;
    const LANES: usize = 4;

    #[inline(always)]
    fn load(_: Vaes512, blocks: &[Block]) -> Zmm {
        // Where nothing is read, a pointer to nowhere would still cost the time of a fault.
        if blocks.is_empty() {
            return Zmm(proven!(_mm512_setzero_si512()));
        }
        let lanes = first_lanes(blocks.len());
        // Masked lanes are not read.
        Zmm(proven!(_mm512_maskz_loadu_epi64(lanes, blocks.as_ptr().cast())))
    }

    #[inline(always)]
    fn store(self, blocks: &mut [Block]) {
        if blocks.is_empty() {
            return;
        }
        let lanes = first_lanes(blocks.len());
        // Masked lanes are not written.
        proven!(_mm512_mask_storeu_epi64(blocks.as_mut_ptr().cast(), lanes, self.0));
    }

    #[inline(always)]
    fn load_spread(_: Vaes512, blocks: &[Block], stride: usize) -> Zmm {
        let mut lanes = [proven!(_mm_setzero_si128()); Zmm::LANES];
        for (i, lane) in lanes.iter_mut().enumerate() {
            // The wide token proves what the narrow one does.
            let blocks = blocks.get(i * stride..).unwrap_or_default();
            *lane = Xmm::load(Aesni(()), blocks).0;
        }
        let [a, b, c, d] = lanes;
        Zmm(proven!({
            let (low, high) = (_mm256_set_m128i(b, a), _mm256_set_m128i(d, c));
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
        }))
    }

    #[inline(always)]
    fn store_spread(self, blocks: &mut [Block], stride: usize) {
        let lanes = proven!([
            _mm512_castsi512_si128(self.0),
            _mm512_extracti64x2_epi64::<1>(self.0),
            _mm512_extracti64x2_epi64::<2>(self.0),
            _mm512_extracti64x2_epi64::<3>(self.0),
        ]);
        for (i, lane) in lanes.into_iter().enumerate() {
            Xmm(lane).store(blocks.get_mut(i * stride..).unwrap_or_default());
        }
    }

    #[inline(always)]
    fn load_bytes(_: Vaes512, bytes: &[u8]) -> Zmm {
        let bytes = &bytes[..Zmm::BYTES];
        // The slice covers the bytes read.
        Zmm(proven!(_mm512_loadu_si512(bytes.as_ptr().cast())))
    }

    #[inline(always)]
    fn store_bytes(self, bytes: &mut [u8]) {
        let bytes = &mut bytes[..Zmm::BYTES];
        // The slice covers the bytes written.
        proven!(_mm512_storeu_si512(bytes.as_mut_ptr().cast(), self.0));
    }

    #[inline(always)]
    fn splat(cpu: Vaes512, block: Block) -> Zmm {
        let _ = cpu;
        let lane = proven!(_mm_loadu_si128(std::ptr::from_ref(&block).cast()));
        Zmm(proven!(_mm512_broadcast_i32x4(lane)))
    }

    #[inline(always)]
    fn xor(self, other: Zmm) -> Zmm {
        Zmm(proven!(_mm512_xor_si512(self.0, other.0)))
    }

    #[inline(always)]
    fn and(self, other: Zmm) -> Zmm {
        Zmm(proven!(_mm512_and_si512(self.0, other.0)))
    }

    #[inline(always)]
    fn shuffle_bytes(self, places: Zmm) -> Zmm {
        Zmm(proven!(_mm512_shuffle_epi8(self.0, places.0)))
    }
}

impl Shuffle for Zmm {
    // The matrix of the affine instruction holds row i in byte 7 - i.
    const FLIP: usize = 7;

    #[inline(always)]
    fn interleave_bytes(self, other: Zmm) -> (Zmm, Zmm) {
        let low = proven!(_mm512_unpacklo_epi8(self.0, other.0));
        let high = proven!(_mm512_unpackhi_epi8(self.0, other.0));
        (Zmm(low), Zmm(high))
    }

    #[inline(always)]
    fn transpose_bits(self) -> Zmm {
        // Multiplies unit vectors by the matrix: its columns.
        Zmm(proven!({
            let units = _mm512_set1_epi64(0x8040201008040201_u64.cast_signed());
            _mm512_gf2p8affine_epi64_epi8::<0>(units, self.0)
        }))
    }

    #[inline(always)]
    fn transpose_lanes(rows: &mut [Zmm]) {
        if let [a, b, c, d] = rows {
            proven!({
                let ab_even = _mm512_shuffle_i64x2::<0b10_00_10_00>(a.0, b.0);
                let ab_odd = _mm512_shuffle_i64x2::<0b11_01_11_01>(a.0, b.0);
                let cd_even = _mm512_shuffle_i64x2::<0b10_00_10_00>(c.0, d.0);
                let cd_odd = _mm512_shuffle_i64x2::<0b11_01_11_01>(c.0, d.0);
                a.0 = _mm512_shuffle_i64x2::<0b10_00_10_00>(ab_even, cd_even);
                b.0 = _mm512_shuffle_i64x2::<0b10_00_10_00>(ab_odd, cd_odd);
                c.0 = _mm512_shuffle_i64x2::<0b11_01_11_01>(ab_even, cd_even);
                d.0 = _mm512_shuffle_i64x2::<0b11_01_11_01>(ab_odd, cd_odd);
            });
        }
    }
}

impl Symbols for Zmm {
    /// The matrix of the affine instruction.
    type Factor = [u64; 1];
    type Split = Zmm;
    const SUMS: usize = 16;
    const IMAGES: usize = 1;

    #[inline(always)]
    fn factor(field: Field, factor: u8) -> [u64; 1] {
        AFFINE[field as usize].of(factor)
    }

    #[inline(always)]
    fn split(self) -> Zmm {
        self
    }

    #[inline(always)]
    fn times(symbols: Zmm, factor: &[u64; 1]) -> Zmm {
        Zmm(proven!({
            let matrix = _mm512_set1_epi64(factor[0].cast_signed());
            _mm512_gf2p8affine_epi64_epi8::<0>(symbols.0, matrix)
        }))
    }

    #[inline(always)]
    fn times_images(self, images: &[Block]) -> Zmm {
        let images = &images[..Zmm::LANES];
        // The slice covers the bytes read.
        Zmm(proven!(_mm512_gf2p8mul_epi8(self.0, _mm512_loadu_si512(images.as_ptr().cast()))))
    }
}

impl Vector for Zmm {
    type Shuffler = Zmm;

    #[inline(always)]
    fn lanes_to_rows(blocks: [Zmm; 4]) -> [Zmm; 4] {
        let mut rows = blocks;
        Zmm::transpose_lanes(&mut rows);
        rows
    }

    #[inline(always)]
    fn transpose_words([a, b, c, d]: [Zmm; 4]) -> [Zmm; 4] {
        let rows = proven!({
            let (ab_low, ab_high) =
                (_mm512_unpacklo_epi32(a.0, b.0), _mm512_unpackhi_epi32(a.0, b.0));
            let (cd_low, cd_high) =
                (_mm512_unpacklo_epi32(c.0, d.0), _mm512_unpackhi_epi32(c.0, d.0));
            [
                _mm512_unpacklo_epi64(ab_low, cd_low),
                _mm512_unpackhi_epi64(ab_low, cd_low),
                _mm512_unpacklo_epi64(ab_high, cd_high),
                _mm512_unpackhi_epi64(ab_high, cd_high),
            ]
        });
        rows.map(Zmm)
    }

    #[inline(always)]
    fn add_low(self, count: u64) -> Zmm {
        let count = count.cast_signed();
        let counts = proven!(_mm512_maskz_set1_epi64(!HIGH_HALVES, count));
        Zmm(proven!(_mm512_add_epi64(self.0, counts)))
    }

    #[inline(always)]
    fn add_count(self, first: u64) -> Zmm {
        let [a, b, c, d] = [0, 1, 2, 3].map(|lane| first.wrapping_add(lane).cast_signed());
        Zmm(proven!(_mm512_add_epi64(self.0, _mm512_set_epi64(0, d, 0, c, 0, b, 0, a))))
    }

    #[inline(always)]
    fn add_rows<const N: usize>(
        _: Vaes512,
        table: &[Block],
        rows: &[[u32; N]],
        sums: &mut [Block],
    ) {
        // The wide token proves what the narrow one does.
        add_rows(Aesni(()), table, rows, sums);
    }

    #[inline(always)]
    fn sigma(self) -> Zmm {
        Zmm(proven!({
            let swapped = _mm512_shuffle_epi32::<0b01_00_11_10>(self.0);
            _mm512_mask_xor_epi64(swapped, HIGH_HALVES, swapped, self.0)
        }))
    }

    #[inline(always)]
    fn spread_lsb(self) -> Zmm {
        Zmm(proven!({
            let bit = _mm512_and_si512(self.0, _mm512_set1_epi32(1));
            _mm512_shuffle_epi32::<0>(_mm512_sub_epi32(_mm512_setzero_si512(), bit))
        }))
    }

    #[inline(always)]
    fn aes_round(self, key: Zmm) -> Zmm {
        Zmm(proven!(_mm512_aesenc_epi128(self.0, key.0)))
    }

    #[inline(always)]
    fn aes_last(self, key: Zmm) -> Zmm {
        Zmm(proven!(_mm512_aesenclast_epi128(self.0, key.0)))
    }

    #[inline(always)]
    fn rotated_last_word(self) -> Zmm {
        Zmm(proven!(_mm512_shuffle_epi8(self.0, _mm512_set1_epi32(ROTATED_LAST_WORD))))
    }

    #[inline(always)]
    fn next_round_key(self, word: Zmm) -> Zmm {
        Zmm(proven!({
            // Shifts by one and by two words: byte shifts are too dear in the compiler's eyes to
            // unroll the loops that hide their latency.
            let shifted = _mm512_maskz_shuffle_epi32::<0b10_01_00_00>(0xeeee, self.0);
            let key = _mm512_xor_si512(self.0, shifted);
            let shifted = _mm512_maskz_shuffle_epi32::<0b01_00_00_00>(0xcccc, key);
            _mm512_ternarylogic_epi64::<XOR3>(key, shifted, word.0)
        }))
    }

    #[inline(always)]
    fn clmul<const A: bool, const B: bool>(self, other: Zmm) -> Zmm {
        Zmm(proven!(clmul!(_mm512_clmulepi64_epi128, self.0, other.0)))
    }

    #[inline(always)]
    fn unzip(self, other: Zmm) -> (Zmm, Zmm) {
        let even = proven!(_mm512_shuffle_i64x2::<0b10_00_10_00>(self.0, other.0));
        let odd = proven!(_mm512_shuffle_i64x2::<0b11_01_11_01>(self.0, other.0));
        (Zmm(even), Zmm(odd))
    }

    #[inline(always)]
    fn zip(self, odd: Zmm) -> (Zmm, Zmm) {
        proven!({
            let first = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
            let second = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
            let low = _mm512_permutex2var_epi64(self.0, first, odd.0);
            let high = _mm512_permutex2var_epi64(self.0, second, odd.0);
            (Zmm(low), Zmm(high))
        })
    }
}
