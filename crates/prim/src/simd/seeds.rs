//! Many streams of AES in counter mode: runs of all of them, or the same places of all of them.

use std::ops::Range;

use zeroize::Zeroize;

use super::aes::{self, RCON, ROUND_KEYS};
use super::{Cpu, Kernel, Vector};
use crate::Block;
use crate::planes::VECTOR;

/// Streams whose keys stand together.
const TOGETHER: usize = 4;

/// Bytes of a block.
const BYTES: usize = size_of::<Block>();

/// Blocks of a [`VECTOR`].
const BLOCKS: usize = VECTOR / BYTES;

/// The round keys of many streams; wiped when dropped.
///
/// The lanes of a register are different streams at the same place: one load brings the round keys
/// of all of them, and a few blocks of many streams fill registers.
pub(crate) struct Bank {
    streams: usize,
    keys: Vec<Keys>,
}

/// Round key `r` of stream `s` of a few at `[r][s]`.
#[repr(align(64))]
struct Keys([[Block; TOGETHER]; ROUND_KEYS]);

impl Bank {
    /// The streams under these seeds.
    pub(crate) fn new(cpu: Cpu, seeds: &[Block]) -> Bank {
        cpu.run(Expand { seeds })
    }

    /// The number of streams.
    pub(crate) fn len(&self) -> usize {
        self.streams
    }

    /// Writes to the rows of `out`, `lanes` bytes each, the streams from block `first` on, and with
    /// `mask`.
    pub(crate) fn fill(
        &self,
        cpu: Cpu,
        streams: Range<usize>,
        first: u64,
        mask: u8,
        (out, lanes): (&mut [u8], usize),
    ) {
        let rows = Rows { streams, mask, vectors: lanes / VECTOR, out: out.as_chunks_mut().0 };
        cpu.run(Fill { bank: self, first, rows });
    }

    /// Writes to the rows of `out`, `lanes` bytes each, the `width` bytes of the streams from every
    /// start on, one after the other, and with `mask`; then zeros.
    pub(crate) fn gather(
        &self,
        cpu: Cpu,
        streams: Range<usize>,
        (starts, width): (&[u64], usize),
        mask: u8,
        (out, lanes): (&mut [u8], usize),
    ) {
        let plan = Plan::new(starts, width);
        let rows = Rows { streams, mask, vectors: lanes / VECTOR, out: out.as_chunks_mut().0 };
        cpu.run(Gather { bank: self, plan: &plan, rows });
    }

    /// The round keys of register `register`: those of the streams from `register * LANES` on.
    #[inline(always)]
    fn round_keys<V: Vector>(&self, cpu: V::Cpu, register: usize) -> [V; ROUND_KEYS] {
        let stream = register * V::LANES;
        let group = &self.keys[stream / TOGETHER];
        let mut keys = [V::load(cpu, &[]); ROUND_KEYS];
        for (key, row) in keys.iter_mut().zip(&group.0) {
            *key = V::load(cpu, &row[stream % TOGETHER..][..V::LANES]);
        }
        keys
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.0.as_flattened_mut().zeroize();
    }
}

struct Expand<'a> {
    seeds: &'a [Block],
}

impl Kernel for Expand<'_> {
    type Output = Bank;

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) -> Bank {
        let mut keys = Vec::with_capacity(self.seeds.len().div_ceil(TOGETHER));
        for seeds in self.seeds.chunks(TOGETHER) {
            keys.push(Keys([[Block::ZERO; TOGETHER]; ROUND_KEYS]));
            let Some(Keys(rows)) = keys.last_mut() else { continue };
            rows[0][..seeds.len()].copy_from_slice(seeds);
            for at in (0..TOGETHER).step_by(V::LANES) {
                let mut key = [V::load(cpu, &rows[0][at..at + V::LANES])];
                for (rcon, row) in RCON.iter().zip(&mut rows[1..]) {
                    aes::next_round_keys(cpu, &mut key, *rcon);
                    key[0].store(&mut row[at..at + V::LANES]);
                }
            }
        }
        Bank { streams: self.seeds.len(), keys }
    }
}

/// Where results go: a row of vectors for each of the streams.
struct Rows<'a> {
    streams: Range<usize>,
    mask: u8,
    vectors: usize,
    /// The rows that were not handed out yet.
    out: &'a mut [[u8; VECTOR]],
}

impl<'a> Rows<'a> {
    /// The registers that have lanes of the streams.
    #[inline(always)]
    fn registers<V: Vector>(&self) -> Range<usize> {
        match self.streams.is_empty() {
            true => 0..0,
            false => self.streams.start / V::LANES..self.streams.end.div_ceil(V::LANES),
        }
    }

    /// The rows of the lanes of a register, none for lanes that are none of the streams. To be
    /// called for all registers in order.
    #[inline(always)]
    fn of_register<V: Vector>(&mut self, register: usize) -> [&'a mut [[u8; VECTOR]]; TOGETHER] {
        let mut rows: [&mut [_]; TOGETHER] = Default::default();
        for (lane, row) in rows[..V::LANES].iter_mut().enumerate() {
            if self.streams.contains(&(register * V::LANES + lane)) {
                let (next, later) = std::mem::take(&mut self.out).split_at_mut(self.vectors);
                (*row, self.out) = (next, later);
            }
        }
        rows
    }
}

/// Writes vector `vector` of the streams of a register, given their blocks in order.
#[inline(always)]
fn store<V: Vector>(
    rows: &mut [&mut [[u8; VECTOR]]; TOGETHER],
    vector: usize,
    mask: V,
    blocks: [V; BLOCKS],
) {
    let blocks = V::lanes_to_rows(blocks);
    for (x, row) in blocks.chunks_exact(BLOCKS / V::LANES).zip(rows) {
        if let Some(place) = row.get_mut(vector) {
            for (x, place) in x.iter().zip(place.chunks_exact_mut(V::BYTES)) {
                x.and(mask).store_bytes(place);
            }
        }
    }
}

/// `mask` in every byte.
#[inline(always)]
fn splat_byte<V: Vector>(cpu: V::Cpu, mask: u8) -> V {
    V::splat(cpu, Block::from_bytes([mask; BYTES]))
}

struct Fill<'a> {
    bank: &'a Bank,
    first: u64,
    rows: Rows<'a>,
}

impl Kernel for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(mut self, cpu: V::Cpu) {
        let mask = splat_byte::<V>(cpu, self.rows.mask);
        for register in self.rows.registers::<V>() {
            let keys = self.bank.round_keys::<V>(cpu, register);
            let mut rows = self.rows.of_register::<V>(register);
            let (mut vector, all) = (0, self.rows.vectors);
            while vector < all {
                let first = self.first + (vector * BLOCKS) as u64;
                vector += match all - vector {
                    1 => run::<V, BLOCKS>(cpu, &keys, first, &mut rows, (vector, mask)),
                    _ => run::<V, { 2 * BLOCKS }>(cpu, &keys, first, &mut rows, (vector, mask)),
                };
            }
        }
    }
}

/// Writes the `N` blocks from block `first` on of the streams of a register; returns the number of
/// vectors.
#[inline(always)]
fn run<V: Vector, const N: usize>(
    cpu: V::Cpu,
    keys: &[V; ROUND_KEYS],
    first: u64,
    rows: &mut [&mut [[u8; VECTOR]]; TOGETHER],
    (vector, mask): (usize, V),
) -> usize {
    let mut x = [V::splat(cpu, Block::new(first.into())); N];
    for (i, x) in x.iter_mut().enumerate() {
        *x = x.add_low(i as u64);
    }
    aes::encrypt(keys, &mut x);
    for (i, blocks) in x.as_chunks().0.iter().enumerate() {
        store(rows, vector + i, mask, *blocks);
    }
    N / BLOCKS
}

/// The steps that are taken for every stream, vector after vector of the output.
#[derive(Default)]
struct Plan {
    /// Blocks to encrypt.
    counters: Vec<Block>,
    /// The moves of their bytes.
    moves: Vec<Move>,
    vectors: Vec<Ends>,
    /// Moves before the last one that concern the same block of the output.
    depth: usize,
}

/// Bytes that go from a block into each of the blocks of a vector of the output.
struct Move {
    /// For every byte of the output, its place in the block, or [`NOWHERE`].
    places: [[u8; BYTES]; BLOCKS],
    /// The block: a counter of the vector at hand, the first one being 1, or the one before it.
    from: [u8; BLOCKS],
}

/// The numbers of counters and of moves at the end of a vector.
#[derive(Clone, Copy, Default)]
struct Ends {
    counters: usize,
    moves: usize,
}

/// No place in a block.
const NOWHERE: u8 = 0xff;

/// Blocks at hand for a vector: one for each of its bytes, at most, and the one before.
const AT_HAND: usize = VECTOR + 1;

impl Plan {
    /// The plan that brings the `width` bytes from every start on together.
    fn new(starts: &[u64], width: usize) -> Plan {
        const MOVES: usize = 8;
        let vectors = (starts.len() * width).div_ceil(VECTOR);
        let mut plan = Plan::default();
        plan.counters.reserve(starts.len() * (width.div_ceil(BYTES) + 1));
        plan.moves.reserve(MOVES * vectors);
        plan.vectors.reserve(vectors);
        let (mut at, mut last) = (0, None);
        for start in starts {
            let mut counter = start / BYTES as u64;
            let mut from = (start % BYTES as u64) as usize;
            let end = at + width;
            while at < end {
                let len = (end - at).min(BYTES - from).min(BYTES - at % BYTES);
                let places = plan.step(counter, last != Some(counter), at);
                for (to, place) in places[at % BYTES..][..len].iter_mut().zip(from as u8..) {
                    *to = place;
                }
                last = Some(counter);
                (at, from) = (at + len, from + len);
                counter += (from / BYTES) as u64;
                from %= BYTES;
            }
        }
        plan
    }

    /// The places of bytes from the block at `counter`, which may be `new`, to byte `at` of the
    /// output and those after it in its block.
    #[inline]
    fn step(&mut self, counter: u64, new: bool, at: usize) -> &mut [u8; BYTES] {
        let (vector, block) = (at / VECTOR, at % VECTOR / BYTES);
        if at.is_multiple_of(VECTOR) {
            self.vectors.push(Ends::default());
        }
        let before = vector.checked_sub(1).map_or(Ends::default(), |before| self.vectors[before]);
        if new {
            self.counters.push(Block::new(counter.into()));
        }
        self.depth = if at.is_multiple_of(BYTES) { 0 } else { self.depth + usize::from(new) };
        let step = before.moves + self.depth;
        if step == self.moves.len() {
            self.moves.push(Move { places: [[NOWHERE; BYTES]; BLOCKS], from: [0; BLOCKS] });
        }
        self.vectors[vector] = Ends { counters: self.counters.len(), moves: self.moves.len() };
        let step = &mut self.moves[step];
        step.from[block] = (self.counters.len() - before.counters) as u8;
        &mut step.places[block]
    }
}

struct Gather<'a> {
    bank: &'a Bank,
    plan: &'a Plan,
    rows: Rows<'a>,
}

impl Kernel for Gather<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(mut self, cpu: V::Cpu) {
        let mask = splat_byte::<V>(cpu, self.rows.mask);
        let mut at_hand = [V::load(cpu, &[]); AT_HAND];
        for register in self.rows.registers::<V>() {
            let keys = self.bank.round_keys::<V>(cpu, register);
            let mut rows = self.rows.of_register::<V>(register);
            let mut before = Ends::default();
            for (vector, ends) in self.plan.vectors.iter().enumerate() {
                let counters = &self.plan.counters[before.counters..ends.counters];
                encrypt(cpu, &keys, counters, &mut at_hand[1..]);
                let mut blocks = [V::load(cpu, &[]); BLOCKS];
                for step in &self.plan.moves[before.moves..ends.moves] {
                    for (i, block) in blocks.iter_mut().enumerate() {
                        let places = V::splat(cpu, Block::from_bytes(step.places[i]));
                        let bytes = at_hand[usize::from(step.from[i])].shuffle_bytes(places);
                        *block = block.xor(bytes);
                    }
                }
                store(&mut rows, vector, mask, blocks);
                at_hand[0] = at_hand[counters.len()];
                before = *ends;
            }
            for row in rows {
                row.get_mut(self.plan.vectors.len()..).unwrap_or_default().fill([0; VECTOR]);
            }
        }
    }
}

/// Encrypts blocks for all streams of a register.
#[inline(always)]
fn encrypt<V: Vector>(cpu: V::Cpu, keys: &[V; ROUND_KEYS], counters: &[Block], out: &mut [V]) {
    let (mut counters, mut out) = (counters, out);
    while !counters.is_empty() {
        let now = match counters.len() {
            8.. => encrypt_some::<V, 8>(cpu, keys, counters, out),
            6.. => encrypt_some::<V, 6>(cpu, keys, counters, out),
            4.. => encrypt_some::<V, 4>(cpu, keys, counters, out),
            2.. => encrypt_some::<V, 2>(cpu, keys, counters, out),
            _ => encrypt_some::<V, 1>(cpu, keys, counters, out),
        };
        (counters, out) = (&counters[now..], &mut out[now..]);
    }
}

/// Encrypts the first `N` blocks, and returns `N`.
#[inline(always)]
fn encrypt_some<V: Vector, const N: usize>(
    cpu: V::Cpu,
    keys: &[V; ROUND_KEYS],
    counters: &[Block],
    out: &mut [V],
) -> usize {
    // A check between the work and its end would make the compiler reorder the work.
    let (counters, out) = (&counters[..N], &mut out[..N]);
    let mut x = [V::load(cpu, &[]); N];
    for (x, counter) in x.iter_mut().zip(counters) {
        *x = V::splat(cpu, *counter);
    }
    aes::encrypt(keys, &mut x);
    out.copy_from_slice(&x);
    N
}
