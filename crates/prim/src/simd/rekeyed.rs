//! AES under a sequence of keys, each used for one or two blocks.

use zeroize::Zeroize;

use super::aes::{self, RCON, ROUND_KEYS};
use super::{Cpu, Kernel, Vector};
use crate::Block;

/// Keys expanded at a time.
const AHEAD: usize = 32;

/// Keys that a read of the last ones may touch beyond them.
const MARGIN: usize = 4;

/// Registers of keys in flight: they hide the latency of a round.
const WIDE: usize = 4;

/// The keys `start xor k` for k = 0, 1, .., expanded a batch ahead of their use.
///
/// Small calls that depend on each other then cost the latency of the cipher alone.
pub(crate) struct KeyQueue {
    start: Block,
    /// Index of the key after the batch.
    next: u64,
    /// Keys of the batch that were used.
    used: usize,
    batch: Box<Batch>,
}

/// Round key r of key k at `[r][k]`.
#[repr(align(64))]
struct Batch([[Block; AHEAD + MARGIN]; ROUND_KEYS]);

impl KeyQueue {
    /// The queue whose first key is `start`.
    pub(crate) fn new(start: Block) -> KeyQueue {
        let batch = Box::new(Batch([[Block::ZERO; AHEAD + MARGIN]; ROUND_KEYS]));
        KeyQueue { start, next: 0, used: AHEAD, batch }
    }

    /// Replaces every block x by pi(sigma(x)) xor sigma(x) with pi under the next key for every
    /// `PER_KEY` (1 or 2) blocks.
    pub(crate) fn hash<const PER_KEY: usize>(&mut self, cpu: Cpu, blocks: &mut [Block]) {
        cpu.run(Hash::<PER_KEY> { queue: self, blocks });
    }
}

impl Drop for KeyQueue {
    fn drop(&mut self) {
        self.start.zeroize();
        self.batch.0.as_flattened_mut().zeroize();
    }
}

struct Hash<'a, const PER_KEY: usize> {
    queue: &'a mut KeyQueue,
    blocks: &'a mut [Block],
}

impl<const PER_KEY: usize> Kernel for Hash<'_, PER_KEY> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        let (queue, mut blocks) = (self.queue, self.blocks);
        while !blocks.is_empty() {
            if queue.used == AHEAD {
                refill::<V>(cpu, queue);
            }
            let keys = blocks.len().div_ceil(PER_KEY).min(AHEAD - queue.used);
            let (now, later) = blocks.split_at_mut(blocks.len().min(keys * PER_KEY));
            hash::<V, PER_KEY>(cpu, &queue.batch, queue.used, now);
            queue.used += keys;
            blocks = later;
        }
    }
}

/// Expands the next batch of keys.
#[inline(always)]
fn refill<V: Vector>(cpu: V::Cpu, queue: &mut KeyQueue) {
    let start = V::splat(cpu, queue.start);
    for first in (0..AHEAD).step_by(WIDE * V::LANES) {
        let mut keys: [V; WIDE] = aes::count(cpu, u128::from(queue.next) + first as u128);
        for key in &mut keys {
            *key = key.xor(start);
        }
        for round in 0..ROUND_KEYS {
            let row = &mut queue.batch.0[round][first..first + WIDE * V::LANES];
            for (key, place) in keys.iter_mut().zip(row.chunks_exact_mut(V::LANES)) {
                key.store(place);
                *key = RCON.get(round).map_or(*key, |&rcon| key.next_round_key(rcon));
            }
        }
    }
    queue.next += AHEAD as u64;
    queue.used = 0;
}

/// Hashes under the keys from `at` on, for which `blocks` are not too many.
#[inline(always)]
fn hash<V: Vector, const PER_KEY: usize>(
    cpu: V::Cpu,
    batch: &Batch,
    at: usize,
    blocks: &mut [Block],
) {
    let mut at = at;
    let mut wide = blocks.chunks_exact_mut(WIDE * V::LANES);
    for chunk in &mut wide {
        match PER_KEY {
            1 => full::<V, 1, WIDE>(cpu, batch, at, chunk),
            _ => full::<V, 2, { WIDE / 2 }>(cpu, batch, at, chunk),
        }
        at += WIDE * V::LANES / PER_KEY;
    }
    for (i, chunk) in wide.into_remainder().chunks_mut(V::LANES).enumerate() {
        few::<V, PER_KEY>(cpu, batch, at + i * V::LANES / PER_KEY, chunk);
    }
}

/// Hashes exactly `PER_KEY * N * V::LANES` blocks under the keys from `at` on.
#[inline(always)]
fn full<V: Vector, const PER_KEY: usize, const N: usize>(
    cpu: V::Cpu,
    batch: &Batch,
    at: usize,
    blocks: &mut [Block],
) {
    let zero = V::splat(cpu, Block::ZERO);
    let mut input = [[zero; PER_KEY]; N];
    for (x, chunk) in input.as_flattened_mut().iter_mut().zip(blocks.chunks_exact(V::LANES)) {
        *x = V::load(cpu, chunk).sigma();
    }
    for group in &mut input {
        if let [a, b] = group.as_mut_slice() {
            (*a, *b) = a.unzip(*b);
        }
    }
    let mut x = input;
    for (round, row) in batch.0.iter().enumerate() {
        let row = &row[at..at + N * V::LANES];
        for (group, keys) in x.iter_mut().zip(row.chunks_exact(V::LANES)) {
            let key = V::load(cpu, keys);
            for x in group.iter_mut() {
                *x = cipher_step(*x, round, key);
            }
        }
    }
    for (group, input) in x.iter_mut().zip(&input) {
        for (x, input) in group.iter_mut().zip(input) {
            *x = x.xor(*input);
        }
        if let [a, b] = group.as_mut_slice() {
            (*a, *b) = a.zip(*b);
        }
    }
    for (x, chunk) in x.as_flattened().iter().zip(blocks.chunks_exact_mut(V::LANES)) {
        x.store(chunk);
    }
}

/// Hashes at most `V::LANES` blocks under the keys from `at` on.
#[inline(always)]
fn few<V: Vector, const PER_KEY: usize>(
    cpu: V::Cpu,
    batch: &Batch,
    at: usize,
    blocks: &mut [Block],
) {
    let input = V::load(cpu, blocks).sigma();
    let mut x = input;
    for (round, row) in batch.0.iter().enumerate() {
        let row = &row[at..at + MARGIN];
        let key = if PER_KEY == 1 { V::load(cpu, row) } else { V::load_twice(cpu, row) };
        x = cipher_step(x, round, key);
    }
    x.xor(input).store(blocks);
}

/// Step `round` of a block through AES, 0 being the whitening.
#[inline(always)]
fn cipher_step<V: Vector>(x: V, round: usize, key: V) -> V {
    const LAST: usize = ROUND_KEYS - 1;
    match round {
        0 => x.xor(key),
        LAST => x.aes_last(key),
        _ => x.aes_round(key),
    }
}
