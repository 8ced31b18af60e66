//! What a machine keeps of the wires of a tape, `[slot][lane]`.

use std::ops::BitXor;

use cenote_prim::Block;
use cenote_prim::places::{
    each_word_to_rows, rows_to_each_word, rows_to_words, words_to_rows, xor_rows,
};
use zeroize::{Zeroize, Zeroizing};

use super::step::each_piece;
use super::{Op, Operand, Step, Tape, lane_groups};

/// What a deck keeps of a wire.
pub trait DeckCell: Copy + Default + Zeroize {
    /// Puts the words of `lanes` lanes into rows: wire j of the word of each goes to the row of `slots[j]`, if it has one.
    fn to_rows<'w>(
        cells: &mut [Self],
        lanes: usize,
        slots: &[Option<u32>],
        word: impl Fn(usize) -> &'w [Self],
    ) where
        Self: 'w,
    {
        each_word_to_rows(cells, lanes, slots, word);
    }

    /// Puts the words in the rows of `slots` into `out`, that of each lane where `start` says.
    fn to_words(
        cells: &[Self],
        lanes: usize,
        slots: &[u32],
        out: &mut [Self],
        start: impl Fn(usize) -> usize,
    ) {
        rows_to_each_word(cells, lanes, slots, out, start);
    }
}

impl DeckCell for bool {}

impl DeckCell for u64 {}

impl DeckCell for Block {
    fn to_rows<'w>(
        cells: &mut [Block],
        lanes: usize,
        slots: &[Option<u32>],
        word: impl Fn(usize) -> &'w [Block],
    ) {
        words_to_rows(cells, lanes, slots, word);
    }

    fn to_words(
        cells: &[Block],
        lanes: usize,
        slots: &[u32],
        out: &mut [Block],
        start: impl Fn(usize) -> usize,
    ) {
        rows_to_words(cells, lanes, slots, out, start);
    }
}

/// The cells of a tape's slots on some lanes. Their room is kept from one tape to the next, and wiped in the end.
#[derive(Default)]
pub struct Deck<C: Zeroize> {
    cells: Zeroizing<Vec<C>>,
    lanes: usize,
    /// Where a public 1 is.
    one: usize,
}

impl<C: DeckCell> Deck<C> {
    /// Takes the inputs of `count` lanes from lane `first` on.
    ///
    /// # Panics
    /// When the operands do not have the wires that the tape reads.
    pub fn load(&mut self, tape: &Tape, operands: &[Operand<'_, C>], first: usize, count: usize) {
        // A public 1 is kept behind the slots.
        let cells = (tape.slots() + 1) * count;
        if self.cells.len() < cells {
            // Growing in place would leave what it held behind.
            self.cells = Zeroizing::new(vec![C::default(); cells]);
        }
        self.lanes = count;
        for (slots, operand) in tape.operands(operands) {
            if let ([slot], Some(row)) = (slots, operand.row(first, count)) {
                slot.iter().for_each(|slot| self.row_mut(*slot).copy_from_slice(row));
                continue;
            }
            C::to_rows(&mut self.cells, count, slots, |lane| operand.lane(first + lane));
        }
    }

    /// Lanes that are loaded.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// The cells of a slot.
    #[inline(always)]
    pub fn row(&self, slot: u32) -> &[C] {
        let start = slot as usize * self.lanes;
        &self.cells[start..start + self.lanes]
    }

    /// The cells of a slot.
    #[inline(always)]
    pub fn row_mut(&mut self, slot: u32) -> &mut [C] {
        let start = slot as usize * self.lanes;
        &mut self.cells[start..start + self.lanes]
    }

    /// Where the cell of a slot and a lane is among all of them.
    #[inline(always)]
    pub fn cell(&self, slot: u32, lane: usize) -> usize {
        slot as usize * self.lanes + lane
    }

    /// Puts values into the cells beside them.
    #[inline(always)]
    pub fn scatter(&mut self, cells: &[usize], values: &[C]) {
        cells.iter().zip(values).for_each(|(cell, value)| self.cells[*cell] = *value);
    }

    /// Does the same to every lane of two slots, into a third.
    #[inline(always)]
    pub fn zip(&mut self, slots: [u32; 3], f: impl Fn(C, C) -> C) {
        let rows = slots.map(|slot| slot as usize * self.lanes);
        zip_rows(&mut self.cells, rows, self.lanes, f);
    }

    /// Appends to each of `out` its word, one lane after the other.
    pub fn store(&self, tape: &Tape, out: &mut [Vec<C>]) {
        for (slots, out) in tape.words().zip(out) {
            if let [slot] = slots {
                out.extend_from_slice(self.row(*slot));
                continue;
            }
            let first = out.len();
            out.resize(first + self.lanes * slots.len(), C::default());
            let start = |lane| first + lane * slots.len();
            C::to_words(&self.cells, self.lanes, slots, out, start);
        }
    }

    /// Puts each word of outputs where the operand of its number was: of all lanes from lane `first` on.
    pub fn store_in_place(&self, tape: &Tape, wires: &mut [C], starts: &[&[u32]], first: usize) {
        for (slots, starts) in tape.words().zip(starts) {
            let start = |lane| starts[first + lane] as usize;
            C::to_words(&self.cells, self.lanes, slots, wires, start);
        }
    }

    /// All cells.
    #[inline(always)]
    pub fn cells_mut(&mut self) -> &mut [C] {
        &mut self.cells
    }
}

impl<C: DeckCell + BitXor<Output = C>> Deck<C> {
    /// Does a step that is no AND; a negation is the XOR with `one`.
    #[inline]
    pub fn linear(&mut self, step: &Step, one: C) {
        match step.op() {
            Op::Zero => self.row_mut(step.out()).fill(C::default()),
            Op::One => self.row_mut(step.out()).fill(one),
            Op::Not => {
                let [a, out] = [step.a(), step.out()].map(|slot| slot as usize * self.lanes);
                zip_rows(&mut self.cells, [a, a, out], self.lanes, |a, _| a ^ one);
            }
            Op::Xor => self.zip(step.slots(), |a, b| a ^ b),
            Op::And | Op::Group => unreachable!("an AND is not linear"),
        }
    }
}

impl Deck<Block> {
    /// Does all of some steps that are no ANDs, as [`Deck::linear`], on a deck that was given a public 1.
    pub fn linear_all(&mut self, steps: &[Step]) {
        if self.lanes == 1 {
            let (cells, one) = (&mut self.cells[..], self.one);
            return each_piece::<16>(steps, |steps| {
                for step in steps {
                    let [a, b, out] = step.slots().map(|slot| slot as usize);
                    cells[out] = match step.is_xor() {
                        true => cells[a] ^ cells[b],
                        false => cells[one].times(step.op() == Op::One),
                    };
                }
            });
        }
        for steps in steps.chunk_by(|a, b| a.is_xor() && b.is_xor()) {
            match steps[0].is_xor() {
                true => {
                    xor_rows(&mut self.cells, self.lanes, steps.iter().map(Step::slots));
                }
                false => self.linear(&steps[0], self.cells[self.one]),
            }
        }
    }

    /// Keeps a public 1 behind the slots of a tape, where its negations read it.
    pub fn put_one(&mut self, tape: &Tape, one: Block) {
        self.row_mut(tape.slots() as u32).fill(one);
        self.one = self.cell(tape.slots() as u32, 0);
    }
}

impl Deck<bool> {
    /// Plays a tape in the clear; appends to each of `out` its word of one lane after the other.
    pub fn play(
        &mut self,
        tape: &Tape,
        lanes: usize,
        operands: &[Operand<'_, bool>],
        out: &mut [Vec<bool>],
    ) {
        // A byte each: as much room as blocks take.
        for (first, count) in lane_groups(lanes, 16 * tape.lanes_together()) {
            self.load(tape, operands, first, count);
            for (linear, ands) in tape.runs() {
                linear.iter().for_each(|step| self.linear(step, true));
                ands.iter()
                    .filter(|step| step.op() == Op::And)
                    .for_each(|step| self.zip(step.slots(), |a, b| a & b));
            }
            self.store(tape, out);
        }
    }
}

/// Puts `f` of two rows of `n` cells into a third, cell by cell. Rows begin at `[a, b, out]`; any two of them are the same or apart.
///
/// # Panics
/// When two rows overlap in part.
#[inline(always)]
pub fn zip_rows<C: Copy>(
    cells: &mut [C],
    [a, b, out]: [usize; 3],
    n: usize,
    f: impl Fn(C, C) -> C,
) {
    if n == 1 {
        cells[out] = f(cells[a], cells[b]);
        return;
    }
    let apart = "rows are the same or apart";
    if a == out && b == out {
        cells[a..a + n].iter_mut().for_each(|cell| *cell = f(*cell, *cell));
    } else if a == out || b == out {
        let other = if a == out { b } else { a };
        let rows = cells.get_disjoint_mut([other..other + n, out..out + n]);
        let [other, row] = rows.expect(apart);
        if a == out {
            other.iter().zip(row).for_each(|(b, out)| *out = f(*out, *b));
        } else {
            other.iter().zip(row).for_each(|(a, out)| *out = f(*a, *out));
        }
    } else if a == b {
        let [a, out] = cells.get_disjoint_mut([a..a + n, out..out + n]).expect(apart);
        a.iter().zip(out).for_each(|(a, out)| *out = f(*a, *a));
    } else {
        let rows = cells.get_disjoint_mut([a..a + n, b..b + n, out..out + n]);
        let [a, b, out] = rows.expect(apart);
        a.iter().zip(b).zip(out).for_each(|((a, b), out)| *out = f(*a, *b));
    }
}
