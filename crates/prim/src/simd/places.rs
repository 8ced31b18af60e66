//! Reads and writes at places of an array.

use super::{Cpu, Kernel, Lanes, Shuffle, Vector};
use crate::Block;

/// As many lanes as the widest register has.
const MOST_LANES: usize = 4;

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

/// [`crate::places::words_to_rows`].
pub(crate) fn words_to_rows<'w>(
    cpu: Cpu,
    cells: &mut [Block],
    len: usize,
    rows: &[Option<u32>],
    word: impl Fn(usize) -> &'w [Block],
) {
    cpu.run(WordsToRows { cells, len, rows, word });
}

struct WordsToRows<'a, W> {
    cells: &'a mut [Block],
    len: usize,
    rows: &'a [Option<u32>],
    word: W,
}

impl<'w, W: Fn(usize) -> &'w [Block]> Kernel for WordsToRows<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        let WordsToRows { cells, len, rows, word } = self;
        let side = V::Shuffler::LANES;
        for lane in (0..len).step_by(side) {
            let mut words = [&[][..]; MOST_LANES];
            let words = &mut words[..side.min(len - lane)];
            words.iter_mut().enumerate().for_each(|(i, it)| *it = &word(lane + i)[..rows.len()]);
            for (j, rows) in rows.chunks(side).enumerate() {
                let places = [j * side, lane, len];
                // Sizes that the compiler knows need no masks.
                if words.len() == side && rows.len() == side {
                    square_to_rows::<V::Shuffler>(cpu, words, rows, cells, places, [side; 2]);
                } else {
                    let sizes = [words.len(), rows.len()];
                    square_to_rows::<V::Shuffler>(cpu, words, rows, cells, places, sizes);
                }
            }
        }
    }
}

/// The blocks from place `from` on of the words of some lanes, put into rows.
#[inline(always)]
fn square_to_rows<V: Shuffle>(
    cpu: V::Cpu,
    words: &[&[Block]],
    rows: &[Option<u32>],
    cells: &mut [Block],
    [from, lane, len]: [usize; 3],
    [lanes, bits]: [usize; 2],
) {
    let mut square = [V::load(cpu, &[]); MOST_LANES];
    let square = &mut square[..V::LANES];
    for (register, word) in square.iter_mut().zip(&words[..lanes]) {
        *register = V::load(cpu, &word[from..from + bits]);
    }
    V::transpose_lanes(square);
    for (register, row) in square.iter().zip(&rows[..bits]) {
        let Some(row) = row else { continue };
        register.store(&mut cells[*row as usize * len + lane..][..lanes]);
    }
}

/// [`crate::places::rows_to_words`].
pub(crate) fn rows_to_words(
    cpu: Cpu,
    cells: &[Block],
    len: usize,
    rows: &[u32],
    out: &mut [Block],
    start: impl Fn(usize) -> usize,
) {
    cpu.run(RowsToWords { cells, len, rows, out, start });
}

struct RowsToWords<'a, S> {
    cells: &'a [Block],
    len: usize,
    rows: &'a [u32],
    out: &'a mut [Block],
    start: S,
}

impl<S: Fn(usize) -> usize> Kernel for RowsToWords<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        let RowsToWords { cells, len, rows, out, start } = self;
        let side = V::Shuffler::LANES;
        for lane in (0..len).step_by(side) {
            let mut starts = [0; MOST_LANES];
            let starts = &mut starts[..side.min(len - lane)];
            starts.iter_mut().enumerate().for_each(|(i, it)| *it = start(lane + i));
            for (j, rows) in rows.chunks(side).enumerate() {
                let places = [j * side, lane, len];
                if starts.len() == side && rows.len() == side {
                    square_to_words::<V::Shuffler>(
                        cpu, cells, rows, out, starts, places, [side; 2],
                    );
                } else {
                    let sizes = [starts.len(), rows.len()];
                    square_to_words::<V::Shuffler>(cpu, cells, rows, out, starts, places, sizes);
                }
            }
        }
    }
}

/// Cells of some rows and lanes, put from place `to` on into the words that begin at `starts`.
#[inline(always)]
fn square_to_words<V: Shuffle>(
    cpu: V::Cpu,
    cells: &[Block],
    rows: &[u32],
    out: &mut [Block],
    starts: &[usize],
    [to, lane, len]: [usize; 3],
    [lanes, bits]: [usize; 2],
) {
    let mut square = [V::load(cpu, &[]); MOST_LANES];
    let square = &mut square[..V::LANES];
    for (register, row) in square.iter_mut().zip(&rows[..bits]) {
        *register = V::load(cpu, &cells[*row as usize * len + lane..][..lanes]);
    }
    V::transpose_lanes(square);
    for (register, start) in square.iter().zip(&starts[..lanes]) {
        register.store(&mut out[start + to..][..bits]);
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
