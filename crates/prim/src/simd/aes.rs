//! AES-128: key schedule, and the modes that map a slice of blocks under one key.

use zeroize::Zeroize;

use super::{Cpu, Kernel, Vector};
use crate::Block;

/// Round keys of AES-128.
pub(crate) const ROUND_KEYS: usize = 11;

/// Round constants of the key schedule (FIPS 197, section 5.2).
pub(super) const RCON: [u8; ROUND_KEYS - 1] =
    [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];

/// Registers in flight: they hide the latency of a round.
const WIDE: usize = 8;

/// The image of a block x at place i of a slice; pi is AES under the key at hand.
#[derive(Clone, Copy)]
pub(crate) enum Mode {
    /// pi(x)
    Encrypt,
    /// pi(first + i)
    Counter(u128),
    /// pi(x) xor x
    Cr,
    /// pi(sigma(x)) xor sigma(x)
    Ccr,
    /// pi(pi(sigma(x)) xor (first + i)) xor pi(sigma(x))
    Tccr(u128),
}

/// The round keys of one key; wiped when dropped.
#[derive(Clone)]
pub(crate) struct Schedule([Block; ROUND_KEYS]);

impl Schedule {
    /// Expands `key`.
    pub(crate) fn new(cpu: Cpu, key: Block) -> Schedule {
        let mut schedule = Schedule([Block::ZERO; ROUND_KEYS]);
        cpu.narrow().run(Expand { key, schedule: &mut schedule });
        schedule
    }

    /// Replaces every block by what `mode` says.
    pub(crate) fn map(&self, cpu: Cpu, mode: Mode, blocks: &mut [Block]) {
        let cpu = if blocks.len() == 1 { cpu.narrow() } else { cpu };
        cpu.run(Map { schedule: self, mode, blocks });
    }

    /// [`crate::aes::Aes128::half_tree`] on halves of equal length.
    pub(crate) fn half_tree(&self, cpu: Cpu, low: &mut [Block], high: &mut [Block]) -> Block {
        cpu.run(HalfTree { schedule: self, low, high })
    }

    /// A round key, in every lane.
    #[inline(always)]
    pub(super) fn round_key<V: Vector>(&self, cpu: V::Cpu, round: usize) -> V {
        V::splat(cpu, self.0[round])
    }

    /// The round keys, each in every lane.
    #[inline(always)]
    pub(super) fn splat<V: Vector>(&self, cpu: V::Cpu) -> [V; ROUND_KEYS] {
        let mut keys = [V::splat(cpu, self.0[0]); ROUND_KEYS];
        for (key, block) in keys.iter_mut().zip(&self.0) {
            *key = V::splat(cpu, *block);
        }
        keys
    }
}

impl Drop for Schedule {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Encrypts `N` registers side by side.
#[inline(always)]
pub(super) fn encrypt<V: Vector, const N: usize>(keys: &[V; ROUND_KEYS], x: &mut [V; N]) {
    for x in x.iter_mut() {
        *x = x.xor(keys[0]);
    }
    for key in &keys[1..ROUND_KEYS - 1] {
        for x in x.iter_mut() {
            *x = x.aes_round(*key);
        }
    }
    for x in x.iter_mut() {
        *x = x.aes_last(keys[ROUND_KEYS - 1]);
    }
}

struct Expand<'a> {
    key: Block,
    schedule: &'a mut Schedule,
}

impl Kernel for Expand<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        let mut key = [V::load(cpu, &[self.key])];
        key[0].store(&mut self.schedule.0[..1]);
        for (rcon, place) in RCON.iter().zip(&mut self.schedule.0[1..]) {
            next_round_keys(cpu, &mut key, *rcon);
            key[0].store(std::slice::from_mut(place));
        }
    }
}

/// Replaces round keys by those after them.
#[inline(always)]
pub(super) fn next_round_keys<V: Vector, const N: usize>(cpu: V::Cpu, keys: &mut [V; N], rcon: u8) {
    let rcon = V::splat(cpu, Block::new(u128::from(rcon) * 0x00000001_00000001_00000001_00000001));
    let mut words = *keys;
    for word in &mut words {
        *word = word.rotated_last_word();
    }
    // The four columns of the state are equal, so that the last round is the S-box alone.
    for word in &mut words {
        *word = word.aes_last(rcon);
    }
    for (key, word) in keys.iter_mut().zip(&words) {
        *key = key.next_round_key(*word);
    }
}

/// Writes the encryptions of 0 and 1 under `keys[i]` to `pairs[2 i]` and `pairs[2 i + 1]`.
pub(crate) fn first_pairs(cpu: Cpu, keys: &[Block], pairs: &mut [Block]) {
    cpu.run(FirstPairs { keys, pairs });
}

struct FirstPairs<'a> {
    keys: &'a [Block],
    pairs: &'a mut [Block],
}

impl Kernel for FirstPairs<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        const SIDE_BY_SIDE: usize = 4;
        let wide = SIDE_BY_SIDE * V::LANES;
        for (keys, pairs) in self.keys.chunks(wide).zip(self.pairs.chunks_mut(2 * wide)) {
            first_pairs_of::<V, SIDE_BY_SIDE>(cpu, keys, pairs);
        }
    }
}

/// At most `N * V::LANES` keys; each schedule is made and used in one pass.
#[inline(always)]
fn first_pairs_of<V: Vector, const N: usize>(cpu: V::Cpu, keys: &[Block], pairs: &mut [Block]) {
    let one = V::splat(cpu, Block::ONE);
    let mut keys: [V; N] = load(cpu, keys);
    let (mut zeros, mut ones) = (keys, keys);
    for x in &mut ones {
        *x = x.xor(one);
    }
    for rcon in &RCON[..ROUND_KEYS - 2] {
        next_round_keys(cpu, &mut keys, *rcon);
        for ((zero, one), key) in zeros.iter_mut().zip(&mut ones).zip(&keys) {
            (*zero, *one) = (zero.aes_round(*key), one.aes_round(*key));
        }
    }
    next_round_keys(cpu, &mut keys, RCON[ROUND_KEYS - 2]);
    for (i, key) in keys.iter().enumerate() {
        let (low, high) = zeros[i].aes_last(*key).zip(ones[i].aes_last(*key));
        low.store(pairs.get_mut(2 * i * V::LANES..).unwrap_or_default());
        high.store(pairs.get_mut((2 * i + 1) * V::LANES..).unwrap_or_default());
    }
}

struct Map<'a> {
    schedule: &'a Schedule,
    mode: Mode,
    blocks: &'a mut [Block],
}

impl Kernel for Map<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        let keys = self.schedule.splat::<V>(cpu);
        let mut place = 0;
        let mut chunks = self.blocks.chunks_exact_mut(WIDE * V::LANES);
        for chunk in &mut chunks {
            map::<V, WIDE>(cpu, &keys, self.mode, place, chunk);
            place += (WIDE * V::LANES) as u128;
        }
        let rest = chunks.into_remainder();
        if rest.len() > V::LANES {
            map::<V, WIDE>(cpu, &keys, self.mode, place, rest);
        } else if !rest.is_empty() {
            map::<V, 1>(cpu, &keys, self.mode, place, rest);
        }
    }
}

/// Maps at most `N * V::LANES` blocks, the first of which is at `place` of its slice.
#[inline(always)]
fn map<V: Vector, const N: usize>(
    cpu: V::Cpu,
    keys: &[V; ROUND_KEYS],
    mode: Mode,
    place: u128,
    blocks: &mut [Block],
) {
    let zero = V::splat(cpu, Block::ZERO);
    let mut x: [V; N] = match mode {
        Mode::Counter(first) => count(cpu, first.wrapping_add(place)),
        _ => load(cpu, blocks),
    };
    let mut mask = [zero; N];
    if let Mode::Ccr | Mode::Tccr(_) = mode {
        for x in x.iter_mut() {
            *x = x.sigma();
        }
    }
    if let Mode::Tccr(first) = mode {
        encrypt(keys, &mut x);
        mask = count(cpu, first.wrapping_add(place));
        for (x, mask) in x.iter_mut().zip(&mut mask) {
            (*x, *mask) = (x.xor(*mask), *x);
        }
    } else if let Mode::Cr | Mode::Ccr = mode {
        mask = x;
    }
    encrypt(keys, &mut x);
    for (x, mask) in x.iter_mut().zip(&mask) {
        *x = x.xor(*mask);
    }
    store(&x, blocks);
}

struct HalfTree<'a> {
    schedule: &'a Schedule,
    low: &'a mut [Block],
    high: &'a mut [Block],
}

impl Kernel for HalfTree<'_> {
    type Output = Block;

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) -> Block {
        let keys = self.schedule.splat::<V>(cpu);
        let wide = WIDE * V::LANES;
        let mut sum = V::splat(cpu, Block::ZERO);
        let (mut low, mut high) =
            (self.low.chunks_exact_mut(wide), self.high.chunks_exact_mut(wide));
        for (low, high) in (&mut low).zip(&mut high) {
            for x in half_tree::<V, WIDE>(cpu, &keys, low, high) {
                sum = sum.xor(x);
            }
        }
        let (low, high) = (low.into_remainder(), high.into_remainder());
        if low.len() > V::LANES {
            half_tree::<V, WIDE>(cpu, &keys, low, high);
        } else if !low.is_empty() {
            half_tree::<V, 1>(cpu, &keys, low, high);
        }
        let mut lanes = [Block::ZERO; 4];
        sum.store(&mut lanes);
        lanes.iter().chain(&*high).fold(Block::ZERO, |sum, block| sum ^ *block)
    }
}

/// At most `N * V::LANES` nodes; returns the hashes, those of nothing beyond the end.
#[inline(always)]
fn half_tree<V: Vector, const N: usize>(
    cpu: V::Cpu,
    keys: &[V; ROUND_KEYS],
    low: &mut [Block],
    high: &mut [Block],
) -> [V; N] {
    let nodes: [V; N] = load(cpu, low);
    let mut x = nodes;
    for x in x.iter_mut() {
        *x = x.sigma();
    }
    let mask = x;
    encrypt(keys, &mut x);
    let mut rest = nodes;
    for ((x, mask), rest) in x.iter_mut().zip(&mask).zip(&mut rest) {
        *x = x.xor(*mask);
        *rest = rest.xor(*x);
    }
    store(&rest, low);
    store(&x, high);
    x
}

/// `first`, `first + 1`, .. modulo 2^128, register after register.
#[inline(always)]
pub(super) fn count<V: Vector, const N: usize>(cpu: V::Cpu, first: u128) -> [V; N] {
    if (first as u64).checked_add((N * V::LANES) as u64).is_none() {
        return count_over_carry(cpu, first);
    }
    let mut x = [V::splat(cpu, Block::new(first)); N];
    for (i, x) in x.iter_mut().enumerate() {
        *x = x.add_count((i * V::LANES) as u64);
    }
    x
}

/// [`count`] where the low halves wrap around.
#[cold]
#[inline(never)]
fn count_over_carry<V: Vector, const N: usize>(cpu: V::Cpu, first: u128) -> [V; N] {
    let mut x = [V::load(cpu, &[]); N];
    for (i, x) in x.iter_mut().enumerate() {
        let mut blocks = [Block::ZERO; 4];
        for (lane, block) in blocks.iter_mut().enumerate() {
            *block = Block::new(first.wrapping_add((i * V::LANES + lane) as u128));
        }
        *x = V::load(cpu, &blocks);
    }
    x
}

/// Loads registers from a slice; what lies beyond its end is zero.
#[inline(always)]
pub(super) fn load<V: Vector, const N: usize>(cpu: V::Cpu, blocks: &[Block]) -> [V; N] {
    let mut x = [V::load(cpu, &[]); N];
    for (i, x) in x.iter_mut().enumerate() {
        *x = V::load(cpu, blocks.get(i * V::LANES..).unwrap_or_default());
    }
    x
}

/// Stores registers into a slice, as far as it goes.
#[inline(always)]
pub(super) fn store<V: Vector, const N: usize>(x: &[V; N], blocks: &mut [Block]) {
    for (i, x) in x.iter().enumerate() {
        x.store(blocks.get_mut(i * V::LANES..).unwrap_or_default());
    }
}
