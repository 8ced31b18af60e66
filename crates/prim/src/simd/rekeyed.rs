//! AES under a sequence of keys, each used for one or two blocks.

use zeroize::Zeroize;

use super::aes::{RCON, ROUND_KEYS};
use super::{Cpu, Kernel, Vector};
use crate::Block;

/// Keys in each lane of a register: of each, a 32-bit word.
const SLICED: usize = 4;

/// Sets of registers that are expanded side by side: each waits for the S-box most of the time.
const SETS: usize = 2;

/// Registers that the round keys of a unit take, in each round.
const WIDE: usize = SETS * SLICED;

/// Keys of a unit where registers have four lanes, which are the most.
const MOST: usize = 4 * WIDE;

/// The most blocks that are hashed with the least latency, not at the highest rate.
const FEW: usize = 4;

/// The keys `start xor k` for k = 0, 1, .., expanded a unit ahead of their use: [`WIDE`] for each lane of a register.
///
/// What ciphers and what shuffles are two ports of a processor: while a unit is used as a whole, the next one is expanded in its place. Small calls that
/// depend on each other cost the latency of the cipher alone.
pub(crate) struct KeyQueue {
    cpu: Cpu,
    start: Block,
    /// Index of the key after the unit.
    next: u64,
    /// Keys at the start of the unit that are used up, or were never made.
    used: usize,
    /// Keys of a unit.
    unit: usize,
    keys: Box<RoundKeys>,
}

/// Round key r of key k of the unit at `[r][k]`.
#[repr(align(64))]
struct RoundKeys([[Block; MOST]; ROUND_KEYS]);

impl KeyQueue {
    /// The queue whose first key is `start`.
    pub(crate) fn new(cpu: Cpu, start: Block) -> KeyQueue {
        let keys = Box::new(RoundKeys([[Block::ZERO; MOST]; ROUND_KEYS]));
        let unit = cpu.run(UnitLen);
        KeyQueue { cpu, start, next: 0, used: unit, unit, keys }
    }

    /// What its keys are laid out for.
    pub(crate) fn cpu(&self) -> Cpu {
        self.cpu
    }

    /// Replaces every block x by pi(sigma(x)) xor sigma(x) with pi under the next key for every
    /// `PER_KEY` (1 or 2) blocks.
    pub(crate) fn hash<const PER_KEY: usize>(&mut self, blocks: &mut [Block]) {
        self.cpu.run(Hash::<PER_KEY> { queue: self, blocks });
    }

    /// [`KeyQueue::hash`] of as few blocks as one or two gates have, which depend on those before: as straight as can be.
    #[inline(always)]
    pub(crate) fn hash_few<const PER_KEY: usize, const N: usize>(
        &mut self,
        blocks: &mut [Block; N],
    ) {
        const { assert!(N <= FEW && N.is_multiple_of(PER_KEY)) };
        if self.used == self.unit {
            self.cpu.run(Refill { queue: self });
        }
        let at = self.used;
        if self.unit - at < N / PER_KEY {
            return self.hash::<PER_KEY>(blocks);
        }
        self.used += N / PER_KEY;
        self.cpu.narrow().run(HashFew::<PER_KEY, N> { keys: &self.keys, at, blocks });
    }
}

impl Drop for KeyQueue {
    fn drop(&mut self) {
        self.start.zeroize();
        self.keys.0.as_flattened_mut().zeroize();
    }
}

struct UnitLen;

impl Kernel for UnitLen {
    type Output = usize;

    #[inline(always)]
    fn run<V: Vector>(self, _: V::Cpu) -> usize {
        WIDE * V::LANES
    }
}

/// Keys of a unit in the middle of their expansion: word w of key `i * V::LANES + j` of a set is word i of lane j of its register w.
struct Expansion<V>([[V; 4]; SETS]);

impl<V: Vector> Expansion<V> {
    /// The next keys of a queue.
    #[inline(always)]
    fn of_next(cpu: V::Cpu, queue: &mut KeyQueue) -> Self {
        // Units begin at multiples of their length, so that nothing carries.
        let first = (queue.start ^ Block::new(queue.next.into())).to_u128();
        queue.next += (WIDE * V::LANES) as u64;
        let mut words = [V::load(cpu, &[]); 4];
        for (w, word) in words.iter_mut().enumerate() {
            *word = in_all_words(cpu, (first >> (32 * w)) as u32);
        }
        let mut sets = [words; SETS];
        for (set, words) in sets.iter_mut().enumerate() {
            let mut offsets = [Block::ZERO; 4];
            for (j, offset) in offsets[..V::LANES].iter_mut().enumerate() {
                let of_word = |i| (((set * SLICED + i) * V::LANES + j) as u128) << (32 * i);
                *offset = Block::new(of_word(0) | of_word(1) | of_word(2) | of_word(3));
            }
            words[0] = words[0].xor(V::load(cpu, &offsets[..V::LANES]));
        }
        Expansion(sets)
    }

    /// Goes on to the next round (FIPS 197, section 5.2).
    #[inline(always)]
    fn advance(&mut self, cpu: V::Cpu, rcon: u8) {
        let (places, rcon) =
            (V::splat(cpu, Block::from_bytes(ROTATED)), in_all_words::<V>(cpu, rcon.into()));
        for set in &mut self.0 {
            let [a, b, c, d] = *set;
            // What does not wait for the S-box first.
            let (ab, cd) = (a.xor(b), c.xor(d));
            let (abc, abcd) = (ab.xor(c), ab.xor(cd));
            let word = d.shuffle_bytes(places).aes_last(rcon);
            *set = [a.xor(word), ab.xor(word), abc.xor(word), abcd.xor(word)];
        }
    }

    #[inline(always)]
    fn store(&self, row: &mut [Block; MOST]) {
        for (set, words) in self.0.iter().enumerate() {
            let keys = V::transpose_words(*words);
            for (i, key) in keys.iter().enumerate() {
                let at = (set * SLICED + i) * V::LANES;
                key.store(&mut row[at..at + V::LANES]);
            }
        }
    }
}

/// Where the bytes of a rotated word are taken from, so that the last round of AES, which shifts rows, puts them through the S-box in place.
const ROTATED: [u8; 16] = {
    let mut places = [0; 16];
    let mut i = 0;
    while i < 16 {
        let (row, column) = (i % 4, i / 4);
        places[i] = ((row + 1) % 4 + 4 * ((column + 4 - row) % 4)) as u8;
        i += 1;
    }
    places
};

#[inline(always)]
fn in_all_words<V: Vector>(cpu: V::Cpu, word: u32) -> V {
    V::splat(cpu, Block::new(u128::from(word) * 0x00000001_00000001_00000001_00000001))
}

/// Expands the next unit.
struct Refill<'a> {
    queue: &'a mut KeyQueue,
}

impl Kernel for Refill<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        refill::<V>(cpu, self.queue);
    }
}

#[inline(always)]
fn refill<V: Vector>(cpu: V::Cpu, queue: &mut KeyQueue) {
    let mut next = Expansion::<V>::of_next(cpu, queue);
    for (round, row) in queue.keys.0.iter_mut().enumerate() {
        if round > 0 {
            next.advance(cpu, RCON[round - 1]);
        }
        next.store(row);
    }
    queue.used = 0;
}

/// Work under the keys of a queue, in steps.
pub(super) trait Steps<V: Vector> {
    /// Keys that it is yet to use.
    fn left(&self) -> usize;

    /// How many of those have all that one key is for.
    fn full(&self) -> usize {
        self.left()
    }

    /// Uses the next `keys` keys, which are all lanes of the `N` (an even number) registers that `rounds` gives for each round in turn, or if not
    /// `FULL` the first ones.
    fn step<const N: usize, const FULL: bool>(
        &mut self,
        cpu: V::Cpu,
        keys: usize,
        rounds: impl FnMut(usize) -> [V; N],
    );
}

/// Does all of `steps`.
#[inline(always)]
pub(super) fn run<V: Vector>(cpu: V::Cpu, queue: &mut KeyQueue, steps: &mut impl Steps<V>) {
    let unit = WIDE * V::LANES;
    loop {
        let left = steps.left();
        if left == 0 {
            return;
        }
        if queue.used == unit {
            refill::<V>(cpu, queue);
        }
        if queue.used == 0 && steps.full() >= unit {
            whole::<V>(cpu, queue, steps);
            continue;
        }
        let keys = left.min(unit - queue.used).min(SLICED * V::LANES);
        if keys == SLICED * V::LANES && steps.full() >= keys {
            part::<V, SLICED, true>(cpu, queue, steps, SLICED * V::LANES);
        } else if keys <= 2 * V::LANES {
            part::<V, 2, false>(cpu, queue, steps, keys);
        } else {
            part::<V, SLICED, false>(cpu, queue, steps, keys);
        }
        queue.used += keys;
    }
}

/// A step that uses a whole unit, and puts the next one in its place.
#[inline(always)]
fn whole<V: Vector>(cpu: V::Cpu, queue: &mut KeyQueue, steps: &mut impl Steps<V>) {
    let mut next = Expansion::<V>::of_next(cpu, queue);
    let rows = &mut queue.keys.0;
    steps.step::<WIDE, true>(
        cpu,
        WIDE * V::LANES,
        #[inline(always)]
        |round| {
            let row = &mut rows[round];
            let keys = load::<V, WIDE, true>(cpu, row);
            if round > 0 {
                next.advance(cpu, RCON[round - 1]);
            }
            next.store(row);
            keys
        },
    );
}

/// A step that uses `keys` of the keys that are left of a unit.
#[inline(always)]
fn part<V: Vector, const N: usize, const FULL: bool>(
    cpu: V::Cpu,
    queue: &KeyQueue,
    steps: &mut impl Steps<V>,
    keys: usize,
) {
    let (rows, at) = (&queue.keys.0, queue.used);
    steps.step::<N, FULL>(
        cpu,
        keys,
        #[inline(always)]
        |round| load::<V, N, FULL>(cpu, &rows[round][at..]),
    );
}

/// The first blocks of a row, in `N` registers.
#[inline(always)]
fn load<V: Vector, const N: usize, const FULL: bool>(cpu: V::Cpu, row: &[Block]) -> [V; N] {
    let mut registers = [V::load(cpu, &[]); N];
    for (i, x) in registers.iter_mut().enumerate() {
        *x = V::load(cpu, register::<V, FULL>(row, i));
    }
    registers
}

/// What register `i` takes of the blocks: not fewer than it has lanes if they are `FULL`.
#[inline(always)]
pub(super) fn register<V: Vector, const FULL: bool>(blocks: &[Block], i: usize) -> &[Block] {
    let end = if FULL { usize::MAX } else { blocks.len() };
    &blocks[(i * V::LANES).min(end)..((i + 1) * V::LANES).min(end)]
}

/// As [`register`], to write to.
#[inline(always)]
pub(super) fn register_mut<V: Vector, const FULL: bool>(
    blocks: &mut [Block],
    i: usize,
) -> &mut [Block] {
    let end = if FULL { usize::MAX } else { blocks.len() };
    &mut blocks[(i * V::LANES).min(end)..((i + 1) * V::LANES).min(end)]
}

/// Replaces each x by pi(x) xor x, `PER_KEY` of them under each register of keys.
#[inline(always)]
pub(super) fn cipher<V: Vector, const PER_KEY: usize, const N: usize>(
    x: &mut [[V; PER_KEY]; N],
    mut rounds: impl FnMut(usize) -> [V; N],
) {
    let input = *x;
    for round in 0..ROUND_KEYS {
        let keys = rounds(round);
        for (group, key) in x.iter_mut().zip(keys) {
            for x in group {
                *x = cipher_step(*x, round, key);
            }
        }
    }
    for (x, input) in x.as_flattened_mut().iter_mut().zip(input.as_flattened()) {
        *x = x.xor(*input);
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
        run::<V>(cpu, self.queue, &mut Blocks::<PER_KEY>(self.blocks));
    }
}

/// Blocks to be hashed, `PER_KEY` under each key.
struct Blocks<'a, const PER_KEY: usize>(&'a mut [Block]);

impl<V: Vector, const PER_KEY: usize> Steps<V> for Blocks<'_, PER_KEY> {
    #[inline(always)]
    fn left(&self) -> usize {
        self.0.len().div_ceil(PER_KEY)
    }

    #[inline(always)]
    fn full(&self) -> usize {
        self.0.len() / PER_KEY
    }

    #[inline(always)]
    fn step<const N: usize, const FULL: bool>(
        &mut self,
        cpu: V::Cpu,
        keys: usize,
        rounds: impl FnMut(usize) -> [V; N],
    ) {
        let len = self.0.len().min(keys * PER_KEY);
        let blocks = self.0.split_off_mut(..len).unwrap_or_default();
        let mut x = [[V::load(cpu, &[]); PER_KEY]; N];
        for (i, x) in x.as_flattened_mut().iter_mut().enumerate() {
            *x = V::load(cpu, register::<V, FULL>(blocks, i)).sigma();
        }
        if PER_KEY == 2 {
            for group in &mut x {
                (group[0], group[1]) = group[0].unzip(group[1]);
            }
        }
        cipher(&mut x, rounds);
        if PER_KEY == 2 {
            for group in &mut x {
                (group[0], group[1]) = group[0].zip(group[1]);
            }
        }
        for (i, x) in x.as_flattened().iter().enumerate() {
            x.store(register_mut::<V, FULL>(blocks, i));
        }
    }
}

/// Hashes a few blocks, one per register: with the least latency.
struct HashFew<'a, const PER_KEY: usize, const N: usize> {
    keys: &'a RoundKeys,
    at: usize,
    blocks: &'a mut [Block; N],
}

impl<const PER_KEY: usize, const N: usize> Kernel for HashFew<'_, PER_KEY, N> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        let HashFew { keys, at, blocks } = self;
        let mut input = [V::load(cpu, &[]); N];
        for (x, block) in input.iter_mut().zip(blocks.iter()) {
            *x = V::load(cpu, std::slice::from_ref(block)).sigma();
        }
        let mut x = input;
        for round in 0..ROUND_KEYS {
            let row = &keys.0[round][at..at + N.div_ceil(PER_KEY)];
            for (i, x) in x.iter_mut().enumerate() {
                *x = cipher_step(*x, round, V::load(cpu, &row[i / PER_KEY..=i / PER_KEY]));
            }
        }
        for ((x, input), block) in x.iter().zip(&input).zip(blocks) {
            x.xor(*input).store(std::slice::from_mut(block));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aes::Aes128;

    #[test]
    fn indices_go_on_beyond_32_bits() {
        let start = Block::new(0x1234_5678 << 20);
        for cpu in Cpu::all().into_iter().flatten() {
            let mut queue = KeyQueue::new(cpu, start);
            queue.next = (1 << 32) - MOST as u64;
            let mut blocks = [Block::new(9); 4 * MOST];
            let first = queue.next;
            queue.hash::<1>(&mut blocks);
            for (index, block) in (first..).zip(blocks) {
                let x = Block::new(9).sigma();
                let key = start ^ Block::new(index.into());
                assert_eq!(block, Aes128::on(None, key).encrypt_one(x) ^ x, "{index}");
            }
        }
    }
}
