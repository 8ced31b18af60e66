//! AES under many keys, each used for a few blocks.

use zeroize::Zeroizing;

use super::aes::{self, RCON, ROUND_KEYS};
use super::{Cpu, Kernel, Vector};
use crate::Block;

/// Registers of blocks in flight where a key is used for many: they hide the latency of a round.
const WIDE: usize = 8;

/// Keys that are expanded together where each is used for many blocks.
const KEYS: usize = 8;

/// [`crate::keyed::expand`] for lengths already checked.
pub(crate) fn expand(cpu: Cpu, keys: &[Block], tweaks: &[Block], per: usize, out: &mut [Block]) {
    cpu.run(Expand { keys, tweaks, per, out });
}

struct Expand<'a> {
    keys: &'a [Block],
    tweaks: &'a [Block],
    per: usize,
    out: &'a mut [Block],
}

impl Kernel for Expand<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        match self.per {
            0 => {}
            1 => few::<V, 1, 4>(cpu, self),
            2 => few::<V, 2, 4>(cpu, self),
            3 => few::<V, 3, 4>(cpu, self),
            _ => many::<V>(cpu, self),
        }
    }
}

/// `PER` blocks a key: schedules are made and used in one pass, `N` registers of keys side by side.
#[inline(always)]
fn few<V: Vector, const PER: usize, const N: usize>(cpu: V::Cpu, job: Expand<'_>) {
    let wide = N * V::LANES;
    let mut keys = job.keys.chunks_exact(wide);
    let mut tweaks = job.tweaks.chunks_exact(wide);
    let mut out = job.out.chunks_exact_mut(wide * PER);
    for ((keys, tweaks), out) in (&mut keys).zip(&mut tweaks).zip(&mut out) {
        few_of::<V, PER, N>(cpu, keys, tweaks, out);
    }
    let out = out.into_remainder().chunks_mut(V::LANES * PER);
    let (keys, tweaks) = (keys.remainder().chunks(V::LANES), tweaks.remainder().chunks(V::LANES));
    for ((keys, tweaks), out) in keys.zip(tweaks).zip(out) {
        few_of::<V, PER, 1>(cpu, keys, tweaks, out);
    }
}

/// At most `N * V::LANES` keys.
#[inline(always)]
fn few_of<V: Vector, const PER: usize, const N: usize>(
    cpu: V::Cpu,
    keys: &[Block],
    tweaks: &[Block],
    out: &mut [Block],
) {
    let mut keys: [V; N] = aes::load(cpu, keys);
    let tweaks: [V; N] = aes::load(cpu, tweaks);
    let mut x = [[V::load(cpu, &[]); PER]; N];
    for ((x, tweak), key) in x.iter_mut().zip(&tweaks).zip(&keys) {
        for (x, count) in x.iter_mut().zip(0..) {
            *x = tweak.add_low(count).xor(*key);
        }
    }
    for rcon in &RCON[..ROUND_KEYS - 2] {
        aes::next_round_keys(cpu, &mut keys, *rcon);
        for (x, key) in x.iter_mut().zip(&keys) {
            x.iter_mut().for_each(|x| *x = x.aes_round(*key));
        }
    }
    aes::next_round_keys(cpu, &mut keys, RCON[ROUND_KEYS - 2]);
    for (i, (x, key)) in x.iter().zip(&keys).enumerate() {
        for (j, x) in x.iter().enumerate() {
            let out = out.get_mut(i * V::LANES * PER + j..).unwrap_or_default();
            x.aes_last(*key).store_spread(out, PER);
        }
    }
}

/// Many blocks a key: schedules are made ahead, a few together.
#[inline(always)]
fn many<V: Vector>(cpu: V::Cpu, job: Expand<'_>) {
    let mut schedules = Zeroizing::new([[Block::ZERO; ROUND_KEYS]; KEYS]);
    let groups = job.keys.chunks(KEYS).zip(job.tweaks.chunks(KEYS));
    for ((keys, tweaks), out) in groups.zip(job.out.chunks_mut(KEYS * job.per)) {
        match V::LANES {
            1 => schedule::<V, KEYS>(cpu, keys, &mut schedules),
            _ => schedule::<V, 2>(cpu, keys, &mut schedules),
        }
        let outs = out.chunks_exact_mut(job.per);
        for ((schedule, tweak), out) in schedules.iter().zip(tweaks).zip(outs) {
            let mut keys = [V::splat(cpu, schedule[0]); ROUND_KEYS];
            for (key, block) in keys.iter_mut().zip(schedule) {
                *key = V::splat(cpu, *block);
            }
            counters(cpu, &keys, *tweak, out);
        }
    }
}

/// Makes the schedules of `keys`, at most [`KEYS`] as `N` registers.
#[inline(always)]
fn schedule<V: Vector, const N: usize>(
    cpu: V::Cpu,
    keys: &[Block],
    schedules: &mut [[Block; ROUND_KEYS]; KEYS],
) {
    let mut keys: [V; N] = aes::load(cpu, keys);
    for round in 0..ROUND_KEYS {
        if round > 0 {
            aes::next_round_keys(cpu, &mut keys, RCON[round - 1]);
        }
        for (i, key) in keys.iter().enumerate() {
            let places = &mut schedules.as_flattened_mut()[i * V::LANES * ROUND_KEYS + round..];
            key.store_spread(places, ROUND_KEYS);
        }
    }
}

/// The encryptions of `tweak`, `tweak + 1`, .. under one key.
#[inline(always)]
fn counters<V: Vector>(cpu: V::Cpu, keys: &[V; ROUND_KEYS], tweak: Block, out: &mut [Block]) {
    let tweak = V::splat(cpu, tweak);
    let (mut first, mut out) = (0, out);
    while !out.is_empty() {
        let registers = match out.len().div_ceil(V::LANES) {
            WIDE.. => WIDE,
            6.. => 6,
            4.. => 4,
            few => few,
        };
        let (now, later) = out.split_at_mut(out.len().min(registers * V::LANES));
        match registers {
            1 => counters_of::<V, 1>(keys, tweak, first, now),
            2 => counters_of::<V, 2>(keys, tweak, first, now),
            3 => counters_of::<V, 3>(keys, tweak, first, now),
            4 => counters_of::<V, 4>(keys, tweak, first, now),
            6 => counters_of::<V, 6>(keys, tweak, first, now),
            _ => counters_of::<V, WIDE>(keys, tweak, first, now),
        }
        (first, out) = (first + (registers * V::LANES) as u64, later);
    }
}

/// At most `N` registers of encryptions, from `tweak + first` on.
#[inline(always)]
fn counters_of<V: Vector, const N: usize>(
    keys: &[V; ROUND_KEYS],
    tweak: V,
    first: u64,
    out: &mut [Block],
) {
    let mut x = [tweak; N];
    for (i, x) in x.iter_mut().enumerate() {
        *x = x.add_count(first + (i * V::LANES) as u64);
    }
    aes::encrypt(keys, &mut x);
    aes::store(&x, out);
}
