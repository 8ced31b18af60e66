//! Reads and writes at places of an array: of many public ones, quickly, and of a secret one, without saying which.

use crate::Block;
use crate::simd::{Cpu, places};

/// Replaces each word by its offset plus the high 32 bits of its product with `length`: a place in a part of an
/// array that begins there and has so many items, uniform but for `length` / 2^32 of its share, if the word is.
pub fn spread(words: &mut [u32], length: u32, offsets: &[u32]) {
    match Cpu::current() {
        Some(cpu) => places::spread(cpu, words, length, offsets),
        None => places::spread_words(words, length, offsets),
    }
}

/// Adds to `sums[i]` the blocks of `table` at the places `rows[i]`; stops at the shorter slice. The places become
/// visible to others on the machine.
///
/// # Panics
/// If a place is not in the table.
pub fn add_rows<const N: usize>(table: &[Block], rows: &[[u32; N]], sums: &mut [Block]) {
    match Cpu::current() {
        Some(cpu) => places::add_rows(cpu, table, rows, sums),
        None => {
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum = row.iter().fold(*sum, |sum, place| sum ^ table[*place as usize]);
            }
        }
    }
}

/// Puts the XOR of two rows into a third, for each `[a, b, out]` of `steps` in turn. Row i of `cells` is the `len` blocks from `i * len` on.
///
/// # Panics
/// If a row is not in `cells`.
pub fn xor_rows(cells: &mut [Block], len: usize, steps: impl Iterator<Item = [u32; 3]>) {
    match Cpu::current() {
        Some(cpu) => places::xor_rows(cpu, cells, len, steps),
        None => {
            for step in steps {
                let [a, b, out] = step.map(|row| row as usize * len);
                (0..len).for_each(|i| cells[out + i] = cells[a + i] ^ cells[b + i]);
            }
        }
    }
}

/// Puts the words of `len` lanes into rows: the block of place j of the word of lane i goes to place i of the row `rows[j]`, if there is one.
/// Row r of `cells` is the `len` blocks from `r * len` on.
///
/// # Panics
/// If a word is shorter than `rows`, or a row is not in `cells`.
pub fn words_to_rows<'w>(
    cells: &mut [Block],
    len: usize,
    rows: &[Option<u32>],
    word: impl Fn(usize) -> &'w [Block],
) {
    match Cpu::current() {
        Some(cpu) => places::words_to_rows(cpu, cells, len, rows, word),
        None => each_word_to_rows(cells, len, rows, word),
    }
}

/// [`words_to_rows`] of anything, one after the other.
///
/// # Panics
/// As it does.
pub fn each_word_to_rows<'w, T: Copy + 'w>(
    cells: &mut [T],
    len: usize,
    rows: &[Option<u32>],
    word: impl Fn(usize) -> &'w [T],
) {
    // The longer of the two loops is the inner one.
    if rows.len() <= 8 {
        for (j, row) in rows.iter().enumerate() {
            let Some(row) = row else { continue };
            let row = &mut cells[*row as usize * len..][..len];
            row.iter_mut().enumerate().for_each(|(lane, cell)| *cell = word(lane)[j]);
        }
        return;
    }
    for lane in 0..len {
        for (row, item) in rows.iter().zip(&word(lane)[..rows.len()]) {
            row.iter().for_each(|row| cells[*row as usize * len + lane] = *item);
        }
    }
}

/// The way back of [`words_to_rows`]: puts the words of `len` lanes into `out`, that of each lane where `start` says.
///
/// # Panics
/// If a word does not fit into `out`, or a row is not in `cells`.
pub fn rows_to_words(
    cells: &[Block],
    len: usize,
    rows: &[u32],
    out: &mut [Block],
    start: impl Fn(usize) -> usize,
) {
    match Cpu::current() {
        Some(cpu) => places::rows_to_words(cpu, cells, len, rows, out, start),
        None => rows_to_each_word(cells, len, rows, out, start),
    }
}

/// [`rows_to_words`] of anything, one after the other.
///
/// # Panics
/// As it does.
pub fn rows_to_each_word<T: Copy>(
    cells: &[T],
    len: usize,
    rows: &[u32],
    out: &mut [T],
    start: impl Fn(usize) -> usize,
) {
    for lane in 0..len {
        let row = |row: &u32| cells[*row as usize * len + lane];
        let word = out[start(lane)..][..rows.len()].iter_mut();
        word.zip(rows).for_each(|(item, at)| *item = row(at));
    }
}

/// Takes from every block the bits that `keep` has, then adds `patch` to the one at `place`, if there is one. The
/// place is secret: every block is read and written.
pub fn add_at(blocks: &mut [Block], place: u32, patch: Block, keep: Block) {
    match Cpu::current() {
        Some(cpu) => places::add_at(cpu, blocks, place, patch, keep),
        None => {
            for (i, block) in blocks.iter_mut().enumerate() {
                *block = (*block & keep) ^ patch.times(i == place as usize);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;

    fn random(n: usize, seed: u128) -> Vec<Block> {
        let mut blocks = vec![Block::ZERO; n];
        Prg::new(Block::new(seed)).fill(&mut blocks);
        blocks
    }

    #[test]
    fn words_are_spread_evenly_and_end_in_their_parts() {
        let offsets: Vec<u32> = (0..100).map(|i| i % 7 * 1000).collect();
        for len in 0..offsets.len() {
            let mut words: Vec<u32> =
                random(25, 3).iter().map(|block| block.to_u128() as u32).collect();
            words.extend([0, 1, u32::MAX, 1 << 31]);
            words.resize(len, 0x89ab_cdef);
            let before = words.clone();
            spread(&mut words, 1000, &offsets);
            for ((after, before), offset) in words.iter().zip(before).zip(&offsets) {
                assert_eq!(*after, ((u64::from(before) * 1000) >> 32) as u32 + offset);
            }
        }
    }

    #[test]
    fn sums_of_rows_agree_at_every_level() {
        let table = random(1000, 1);
        let mut words: Vec<u32> = (0..700u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        places::spread_words(&mut words, 1000, &[0; 700]);
        let rows: &[[u32; 10]] = words.as_chunks().0;
        let before = random(71, 2);
        for cpu in Cpu::all() {
            let mut sums = before.clone();
            match cpu {
                Some(cpu) => places::add_rows(cpu, &table, rows, &mut sums),
                None => add_rows(&table, rows, &mut sums),
            }
            for (i, row) in rows.iter().enumerate() {
                let sum = row.iter().fold(before[i], |sum, place| sum ^ table[*place as usize]);
                assert_eq!(sums[i], sum);
            }
            assert_eq!(sums[70], before[70]);
        }
    }

    #[test]
    fn a_place_outside_the_table_is_refused_at_every_level() {
        for cpu in Cpu::all().into_iter().flatten() {
            for place in [9, 10, u32::MAX] {
                let refused = std::panic::catch_unwind(|| {
                    let mut sums = [Block::ZERO; 3];
                    places::add_rows(cpu, &[Block::ONE; 9], &[[1], [place], [2]], &mut sums);
                });
                assert!(refused.is_err());
            }
        }
        assert!(std::panic::catch_unwind(|| add_rows(&[], &[[0]], &mut [Block::ZERO])).is_err());
    }

    #[test]
    fn one_block_changes_at_every_level_length_and_place() {
        let (before, patch) = (random(75, 4), Block::new(u128::MAX / 7));
        for cpu in Cpu::all().into_iter().flatten() {
            for len in 0..70 {
                for place in 0..=len {
                    let mut blocks = before.clone();
                    let keep = Block::new(!1);
                    places::add_at(cpu, &mut blocks[1..1 + len], place as u32, patch, keep);
                    for (i, (block, before)) in blocks.iter().zip(&before).enumerate() {
                        let inside = (1..1 + len).contains(&i);
                        let kept = if inside { before.with_lsb(false) } else { *before };
                        assert_eq!(*block, kept ^ patch.times(inside && i == 1 + place));
                    }
                }
            }
        }
        let mut blocks = before.clone();
        add_at(&mut blocks, 5, patch, Block::new(u128::MAX));
        assert!(blocks[5] == before[5] ^ patch && blocks[6..] == before[6..]);
    }

    /// Words with gaps between them, the last lane first.
    #[test]
    fn words_become_rows_and_words_again_at_every_level() {
        for cpu in Cpu::all() {
            for (lanes, bits) in (1..11).flat_map(|lanes| (0..11).map(move |bits| (lanes, bits))) {
                let wires = random(lanes * (bits + 3) + 1, 9);
                let start = |lane: usize| 1 + (lanes - 1 - lane) * (bits + 3);
                let word = |lane: usize| &wires[start(lane)..][..bits];
                // Rows in no order; one in four is not wanted.
                let rows: Vec<_> = (0..bits as u32).map(|j| (j * 7 + 3) % 11).collect();
                let some: Vec<_> = rows.iter().map(|j| (j % 4 != 1).then_some(*j)).collect();
                let mut cells = random(11 * lanes, 5);
                let mut expected = cells.clone();
                let places = (0..lanes).flat_map(|lane| (0..bits).map(move |j| (lane, j)));
                for (lane, j) in places.clone() {
                    let row = some[j].into_iter();
                    row.for_each(|row| expected[row as usize * lanes + lane] = word(lane)[j]);
                }
                match cpu {
                    Some(cpu) => places::words_to_rows(cpu, &mut cells, lanes, &some, word),
                    None => each_word_to_rows(&mut cells, lanes, &some, word),
                }
                assert!(cells == expected, "{lanes} x {bits}");

                let mut out = random(wires.len(), 6);
                let mut expected = out.clone();
                places.for_each(|(lane, j)| {
                    expected[start(lane) + j] = cells[rows[j] as usize * lanes + lane];
                });
                match cpu {
                    Some(cpu) => places::rows_to_words(cpu, &cells, lanes, &rows, &mut out, start),
                    None => rows_to_each_word(&cells, lanes, &rows, &mut out, start),
                }
                assert!(out == expected, "{lanes} x {bits}");
            }
        }
    }

    /// Rows that are the same, and lengths that fill no register.
    #[test]
    fn rows_are_added_in_turn() {
        for cpu in Cpu::all().into_iter().flatten() {
            for len in [1, 2, 3, 4, 5, 7, 8, 31, 32, 70] {
                let mut cells: Vec<Block> =
                    (0..5 * len as u128).map(|i| Block::new(((i * i) << 60) | i)).collect();
                let mut expected = cells.clone();
                let steps = [[0, 1, 2], [2, 2, 3], [3, 0, 3], [1, 4, 4], [4, 2, 0], [0, 3, 1]];
                for step in steps {
                    let [a, b, out] = step.map(|row: u32| row as usize * len);
                    (0..len).for_each(|i| expected[out + i] = expected[a + i] ^ expected[b + i]);
                }
                places::xor_rows(cpu, &mut cells, len, steps.into_iter());
                assert_eq!(cells, expected, "{len}");
            }
        }
    }
}
