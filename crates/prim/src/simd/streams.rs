//! Sums of the streams of many keys, without storing the streams.

use super::aes::{self, ROUND_KEYS, Schedule};
use super::{Cpu, Kernel, Vector};
use crate::Block;

/// [`crate::streams::Streams::fold`], from counter `first` on.
pub(crate) fn fold<const N: usize>(
    cpu: Cpu,
    schedules: &[Schedule],
    first: u128,
    sum: &mut [Block],
    by_bit: &mut [[Block; N]],
) {
    cpu.run(Fold { schedules, first, sum, by_bit });
}

struct Fold<'a, const N: usize> {
    schedules: &'a [Schedule],
    first: u128,
    sum: &'a mut [Block],
    by_bit: &'a mut [[Block; N]],
}

impl<const N: usize> Kernel for Fold<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        // Eight registers in flight each time.
        match self.schedules.len() {
            2 => groups::<V, 2, 1, 4, N>(cpu, self),
            4 => groups::<V, 4, 1, 2, N>(cpu, self),
            8 => groups::<V, 4, 2, 2, N>(cpu, self),
            _ => groups::<V, 4, 4, 2, N>(cpu, self),
        }
    }
}

/// Adds streams up in groups of `PARTS` times `LEAVES`, `WIDE` registers of each at a time: what belongs to bits within
/// a group is added up in registers first.
#[inline(always)]
fn groups<V: Vector, const LEAVES: usize, const PARTS: usize, const WIDE: usize, const N: usize>(
    cpu: V::Cpu,
    job: Fold<'_, N>,
) {
    let inner = (LEAVES * PARTS).trailing_zeros() as usize;
    let (low, high) = job.by_bit.split_at_mut(inner);
    for (number, group) in job.schedules.chunks_exact(LEAVES * PARTS).enumerate() {
        for (i, sum) in job.sum.chunks_mut(WIDE * V::LANES).enumerate() {
            let at = i * WIDE * V::LANES;
            let place = at..at + sum.len();
            let counters: [V; WIDE] = aes::count(cpu, job.first.wrapping_add(at as u128));
            let zero = [V::splat(cpu, Block::ZERO); WIDE];
            let (mut bits, mut parts) = ([zero; 2], [zero; PARTS]);
            for (part, leaves) in parts.iter_mut().zip(group.chunks_exact(LEAVES)) {
                let x = streams::<V, LEAVES, WIDE>(cpu, leaves, &counters);
                *part = halve(x[0], x[1], &mut bits[0]);
                if LEAVES == 4 {
                    let other = halve(x[2], x[3], &mut bits[0]);
                    *part = halve(*part, other, &mut bits[1]);
                }
            }
            let mut bits = [bits[0], bits[1], zero, zero];
            let mut total = parts[0];
            if PARTS > 1 {
                total = halve(total, parts[1], &mut bits[2]);
            }
            if PARTS == 4 {
                let other = halve(parts[2], parts[3], &mut bits[2]);
                total = halve(total, other, &mut bits[3]);
            }
            // The first group with a bit writes over what was there.
            add(cpu, number > 0, sum, &total);
            for (row, bits) in low.iter_mut().zip(&bits) {
                add(cpu, number > 0, &mut row[place.clone()], bits);
            }
            for (bit, row) in high.iter_mut().enumerate() {
                if number >> bit & 1 == 1 {
                    add(cpu, number > 1 << bit, &mut row[place.clone()], &total);
                }
            }
        }
    }
}

/// The sum of two halves, of which the second one has the bit of `odd`.
#[inline(always)]
fn halve<V: Vector, const WIDE: usize>(
    a: [V; WIDE],
    b: [V; WIDE],
    odd: &mut [V; WIDE],
) -> [V; WIDE] {
    let mut sum = a;
    for ((sum, b), odd) in sum.iter_mut().zip(&b).zip(odd) {
        (*sum, *odd) = (sum.xor(*b), odd.xor(*b));
    }
    sum
}

/// The encryptions of the counters under each key.
#[inline(always)]
fn streams<V: Vector, const LEAVES: usize, const WIDE: usize>(
    cpu: V::Cpu,
    schedules: &[Schedule],
    counters: &[V; WIDE],
) -> [[V; WIDE]; LEAVES] {
    let mut x = [*counters; LEAVES];
    for round in 0..ROUND_KEYS {
        for (x, schedule) in x.iter_mut().zip(schedules) {
            let key = schedule.round_key::<V>(cpu, round);
            for x in x.iter_mut() {
                *x = match round {
                    0 => x.xor(key),
                    _ if round == ROUND_KEYS - 1 => x.aes_last(key),
                    _ => x.aes_round(key),
                };
            }
        }
    }
    x
}

/// Writes registers to a slice, as far as it goes, or adds them `to` what it holds.
#[inline(always)]
fn add<V: Vector, const WIDE: usize>(cpu: V::Cpu, to: bool, blocks: &mut [Block], x: &[V; WIDE]) {
    for (i, x) in x.iter().enumerate() {
        let blocks = blocks.get_mut(i * V::LANES..).unwrap_or_default();
        let x = if to { V::load(cpu, blocks).xor(*x) } else { *x };
        x.store(blocks);
    }
}
