//! AES under a sequence of keys, each used for one or two blocks.

use zeroize::Zeroize;

use super::aes::{self, RCON, ROUND_KEYS};
use super::{Cpu, Kernel, Vector};
use crate::Block;

/// Keys expanded at a time for large calls.
const AHEAD: usize = 32;

/// Keys expanded at a time for calls of few blocks: little enough to overlap with the call before.
const AHEAD_FEW: usize = 8;

/// Blocks that are hashed with the least latency, not the highest rate.
const FEW: usize = 4;

/// Registers of keys expanded, and of blocks hashed, side by side: they hide latencies.
const KEYS_WIDE: usize = 8;
const WIDE: usize = 4;

/// The keys `start xor k` for k = 0, 1, .., expanded a batch ahead of their use.
///
/// Small calls that depend on each other then cost the latency of the cipher alone.
pub(crate) struct KeyQueue {
    start: Block,
    /// Index of the key after the batch.
    next: u64,
    /// Keys at the start of the batch that are used up, or were never made.
    used: usize,
    batch: Box<Batch>,
}

/// Round key r of key k at `[r][k]`.
#[repr(align(64))]
struct Batch([[Block; AHEAD]; ROUND_KEYS]);

impl KeyQueue {
    /// The queue whose first key is `start`.
    pub(crate) fn new(start: Block) -> KeyQueue {
        let batch = Box::new(Batch([[Block::ZERO; AHEAD]; ROUND_KEYS]));
        KeyQueue { start, next: 0, used: AHEAD, batch }
    }

    /// Replaces every block x by pi(sigma(x)) xor sigma(x) with pi under the next key for every
    /// `PER_KEY` (1 or 2) blocks.
    pub(crate) fn hash<const PER_KEY: usize>(&mut self, cpu: Cpu, blocks: &mut [Block]) {
        let mut blocks = blocks;
        while !blocks.is_empty() {
            if self.used == AHEAD {
                let keys = if blocks.len() <= FEW { AHEAD_FEW } else { AHEAD };
                cpu.run(Refill { queue: self, keys });
            }
            let keys = blocks.len().div_ceil(PER_KEY).min(AHEAD - self.used);
            let (now, later) = blocks.split_at_mut(blocks.len().min(keys * PER_KEY));
            self.hash_ready::<PER_KEY>(cpu, now);
            self.used += keys;
            blocks = later;
        }
    }

    /// [`KeyQueue::hash`] of as few blocks as one or two gates have, which depend on those before: as straight as can be.
    #[inline(always)]
    pub(crate) fn hash_few<const PER_KEY: usize, const N: usize>(
        &mut self,
        cpu: Cpu,
        blocks: &mut [Block; N],
    ) {
        const { assert!(N <= FEW && N.is_multiple_of(PER_KEY)) };
        if self.used == AHEAD {
            cpu.run(Refill { queue: self, keys: AHEAD_FEW });
        }
        let at = self.used;
        if AHEAD - at < N / PER_KEY {
            return self.hash::<PER_KEY>(cpu, blocks);
        }
        self.used += N / PER_KEY;
        cpu.narrow().run(HashFew::<PER_KEY, N> { batch: &self.batch, at, blocks });
    }

    /// Hashes under keys of the batch, for which `blocks` are not too many.
    fn hash_ready<const PER_KEY: usize>(&self, cpu: Cpu, blocks: &mut [Block]) {
        let (batch, at) = (&*self.batch, self.used);
        let mut done = 0;
        if blocks.len() > FEW {
            done = cpu.run(Hash::<PER_KEY> { batch, at, blocks });
        }
        let (fours, rest) = blocks[done..].as_chunks_mut::<FEW>();
        let at = at + done / PER_KEY;
        for (i, blocks) in fours.iter_mut().enumerate() {
            let at = at + i * FEW / PER_KEY;
            cpu.narrow().run(HashFew::<PER_KEY, FEW> { batch, at, blocks });
        }
        for (i, block) in rest.iter_mut().enumerate() {
            let at = at + (fours.len() * FEW + i) / PER_KEY;
            let blocks = std::array::from_mut(block);
            cpu.narrow().run(HashFew::<PER_KEY, 1> { batch, at, blocks });
        }
    }
}

impl Drop for KeyQueue {
    fn drop(&mut self) {
        self.start.zeroize();
        self.batch.0.as_flattened_mut().zeroize();
    }
}

/// Expands the next `keys` keys, [`AHEAD`] or [`AHEAD_FEW`].
struct Refill<'a> {
    queue: &'a mut KeyQueue,
    keys: usize,
}

impl Kernel for Refill<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        let queue = self.queue;
        queue.used = AHEAD - self.keys;
        if self.keys < KEYS_WIDE * V::LANES {
            expand::<V, 2>(cpu, queue, queue.used);
        } else {
            for first in (queue.used..AHEAD).step_by(KEYS_WIDE * V::LANES) {
                expand::<V, KEYS_WIDE>(cpu, queue, first);
            }
        }
    }
}

/// Makes the next `N * V::LANES` keys the ones from place `first` on.
#[inline(always)]
fn expand<V: Vector, const N: usize>(cpu: V::Cpu, queue: &mut KeyQueue, first: usize) {
    let start = V::splat(cpu, queue.start);
    let mut keys: [V; N] = aes::count(cpu, queue.next.into());
    for key in &mut keys {
        *key = key.xor(start);
    }
    store_keys(&keys, &mut queue.batch.0[0][first..]);
    for (round, rcon) in RCON.into_iter().enumerate() {
        aes::next_round_keys(cpu, &mut keys, rcon);
        store_keys(&keys, &mut queue.batch.0[round + 1][first..]);
    }
    queue.next += (N * V::LANES) as u64;
}

#[inline(always)]
fn store_keys<V: Vector, const N: usize>(keys: &[V; N], row: &mut [Block]) {
    let row = &mut row[..N * V::LANES];
    for (i, key) in keys.iter().enumerate() {
        key.store(&mut row[i * V::LANES..(i + 1) * V::LANES]);
    }
}

/// Hashes as many blocks as fill registers, and returns their number.
struct Hash<'a, const PER_KEY: usize> {
    batch: &'a Batch,
    at: usize,
    blocks: &'a mut [Block],
}

impl<const PER_KEY: usize> Kernel for Hash<'_, PER_KEY> {
    type Output = usize;

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) -> usize {
        let mut done = 0;
        for chunk in self.blocks.chunks_exact_mut(WIDE * V::LANES) {
            let at = self.at + done / PER_KEY;
            match PER_KEY {
                1 => full::<V, 1, WIDE>(cpu, self.batch, at, chunk),
                _ => full::<V, 2, { WIDE / 2 }>(cpu, self.batch, at, chunk),
            }
            done += WIDE * V::LANES;
        }
        done
    }
}

/// Hashes a few blocks, one per register: with the least latency.
struct HashFew<'a, const PER_KEY: usize, const N: usize> {
    batch: &'a Batch,
    at: usize,
    blocks: &'a mut [Block; N],
}

impl<const PER_KEY: usize, const N: usize> Kernel for HashFew<'_, PER_KEY, N> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        few::<V, PER_KEY, N>(cpu, self.batch, self.at, self.blocks);
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
    let mut input = [[V::load(cpu, &[]); PER_KEY]; N];
    for (i, x) in input.as_flattened_mut().iter_mut().enumerate() {
        *x = V::load(cpu, &blocks[i * V::LANES..(i + 1) * V::LANES]).sigma();
    }
    if PER_KEY == 2 {
        for group in &mut input {
            (group[0], group[1]) = group[0].unzip(group[1]);
        }
    }
    let mut x = input;
    for round in 0..ROUND_KEYS {
        let row = &batch.0[round][at..at + N * V::LANES];
        for (i, group) in x.iter_mut().enumerate() {
            let key = V::load(cpu, &row[i * V::LANES..(i + 1) * V::LANES]);
            for x in group.iter_mut() {
                *x = cipher_step(*x, round, key);
            }
        }
    }
    for (group, input) in x.iter_mut().zip(&input) {
        for (x, input) in group.iter_mut().zip(input) {
            *x = x.xor(*input);
        }
    }
    if PER_KEY == 2 {
        for group in &mut x {
            (group[0], group[1]) = group[0].zip(group[1]);
        }
    }
    for (i, x) in x.as_flattened().iter().enumerate() {
        x.store(&mut blocks[i * V::LANES..(i + 1) * V::LANES]);
    }
}

/// Hashes under the keys from `at` on, with the first lane of each register.
#[inline(always)]
fn few<V: Vector, const PER_KEY: usize, const N: usize>(
    cpu: V::Cpu,
    batch: &Batch,
    at: usize,
    blocks: &mut [Block; N],
) {
    let mut input = [V::load(cpu, &[]); N];
    for (x, block) in input.iter_mut().zip(blocks.iter()) {
        *x = V::load(cpu, std::slice::from_ref(block)).sigma();
    }
    let mut x = input;
    for round in 0..ROUND_KEYS {
        let row = &batch.0[round][at..at + N.div_ceil(PER_KEY)];
        for (i, x) in x.iter_mut().enumerate() {
            *x = cipher_step(*x, round, V::load(cpu, &row[i / PER_KEY..=i / PER_KEY]));
        }
    }
    for ((x, input), block) in x.iter().zip(&input).zip(blocks) {
        x.xor(*input).store(std::slice::from_mut(block));
    }
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
