//! Reads and writes at places of an array.

use super::{Cpu, Kernel, Vector};
use crate::Block;

/// [`crate::places::spread`].
pub(crate) fn spread(cpu: Cpu, words: &mut [u32], length: u32, offsets: &[u32]) {
    cpu.run(Spread { words, length, offsets });
}

/// The same in what instructions the caller is compiled for.
#[inline(always)]
pub(crate) fn spread_words(words: &mut [u32], length: u32, offsets: &[u32]) {
    for (word, offset) in words.iter_mut().zip(offsets) {
        *word = ((u64::from(*word) * u64::from(length)) >> 32) as u32 + offset;
    }
}

struct Spread<'a> {
    words: &'a mut [u32],
    length: u32,
    offsets: &'a [u32],
}

impl Kernel for Spread<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, _: V::Cpu) {
        spread_words(self.words, self.length, self.offsets);
    }
}

/// [`crate::places::add_rows`].
pub(crate) fn add_rows<const N: usize>(
    cpu: Cpu,
    table: &[Block],
    rows: &[[u32; N]],
    sums: &mut [Block],
) {
    cpu.run(AddRows { table, rows, sums });
}

struct AddRows<'a, const N: usize> {
    table: &'a [Block],
    rows: &'a [[u32; N]],
    sums: &'a mut [Block],
}

impl<const N: usize> Kernel for AddRows<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        V::add_rows(cpu, self.table, self.rows, self.sums);
    }
}

/// [`crate::places::xor_rows`].
#[inline]
pub(crate) fn xor_rows(
    cpu: Cpu,
    cells: &mut [Block],
    len: usize,
    steps: impl Iterator<Item = [u32; 3]>,
) {
    cpu.run(XorRows { cells, len, steps });
}

struct XorRows<'a, S> {
    cells: &'a mut [Block],
    len: usize,
    steps: S,
}

impl<S: Iterator<Item = [u32; 3]>> Kernel for XorRows<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        let XorRows { cells, len, steps } = self;
        for [a, b, out] in steps {
            let [a, b, out] = [a as usize * len, b as usize * len, out as usize * len];
            let whole = len - len % V::LANES;
            for i in (0..whole).step_by(V::LANES) {
                let left = V::load(cpu, &cells[a + i..a + i + V::LANES]);
                let right = V::load(cpu, &cells[b + i..b + i + V::LANES]);
                left.xor(right).store(&mut cells[out + i..out + i + V::LANES]);
            }
            if whole < len {
                let left = V::load(cpu, &cells[a + whole..a + len]);
                let right = V::load(cpu, &cells[b + whole..b + len]);
                left.xor(right).store(&mut cells[out + whole..out + len]);
            }
        }
    }
}

/// [`crate::places::add_at`].
pub(crate) fn add_at(cpu: Cpu, blocks: &mut [Block], place: u32, patch: Block, keep: Block) {
    let cpu = if blocks.len() < 4 { cpu.narrow() } else { cpu };
    cpu.run(AddAt { blocks, place, patch, keep });
}

struct AddAt<'a> {
    blocks: &'a mut [Block],
    place: u32,
    patch: Block,
    keep: Block,
}

impl Kernel for AddAt<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        let (span, lane) = (self.place as usize / V::LANES, self.place as usize % V::LANES);
        let lanes: [Block; 4] = std::array::from_fn(|i| self.patch.times(i == lane));
        let (patch, keep) = (V::load(cpu, &lanes), V::splat(cpu, self.keep));
        let change = |i: usize, blocks: &mut [Block]| {
            let here = V::splat(cpu, Block::new(u128::MAX).times(i == span));
            V::load(cpu, blocks).and(keep).xor(patch.and(here)).store(blocks);
        };
        let registers = self.blocks.len() / V::LANES;
        let mut chunks = self.blocks.chunks_exact_mut(V::LANES);
        (&mut chunks).enumerate().for_each(|(i, blocks)| change(i, blocks));
        change(registers, chunks.into_remainder());
    }
}
