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

/// ANDs that a deck hands over together, at most.
pub const BATCH: usize = 32;

/// The cells of a tape's slots on some lanes, and behind them those of a public 1. Their room is kept from one tape to the next, and wiped in
/// the end.
#[derive(Default)]
pub struct Deck<C: DeckCell> {
    cells: Zeroizing<Vec<C>>,
    lanes: usize,
    /// The slot of the public 1.
    one: u32,
    /// Operands and results of the ANDs that are handed over.
    batch: Zeroizing<[[C; BATCH]; 3]>,
}

impl<C: DeckCell> Deck<C> {
    /// Takes the inputs of `count` lanes from lane `first` on, and what a public 1 is.
    ///
    /// # Panics
    /// When the operands do not have the wires that the tape reads.
    pub fn load(
        &mut self,
        tape: &Tape,
        operands: &[Operand<'_, C>],
        [first, count]: [usize; 2],
        one: C,
    ) {
        let cells = (tape.slots() + 1) * count;
        if self.cells.len() < cells {
            // Growing in place would leave what it held behind.
            self.cells = Zeroizing::new(vec![C::default(); cells]);
        }
        (self.lanes, self.one) = (count, tape.slots() as u32);
        self.row_mut(self.one).fill(one);
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

    /// All cells: on one lane, that of each slot.
    #[inline(always)]
    pub fn cells_mut(&mut self) -> &mut [C] {
        &mut self.cells
    }
}

impl<C: DeckCell + BitXor<Output = C>> Deck<C> {
    /// Does a step that is no AND; a negation is the XOR with the public 1.
    #[inline]
    pub fn linear(&mut self, step: &Step) {
        match step.op() {
            Op::Zero => self.row_mut(step.out()).fill(C::default()),
            Op::One => self.zip([self.one, self.one, step.out()], |one, _| one),
            Op::Xor | Op::Not => self.zip(step.slots(), |a, b| a ^ b),
            Op::And | Op::Group => unreachable!("an AND is not linear"),
        }
    }
}

impl Deck<Block> {
    /// Does all of some steps that are no ANDs, as [`Deck::linear`].
    pub fn linear_all(&mut self, steps: &[Step]) {
        if self.lanes == 1 {
            let cells = &mut self.cells[..];
            let one = cells[self.one as usize];
            return each_piece(steps, |steps| {
                for step in steps {
                    let [a, b, out] = step.slots().map(|slot| slot as usize);
                    cells[out] = match step.is_xor() {
                        true => cells[a] ^ cells[b],
                        false => one.times(step.op() == Op::One),
                    };
                }
            });
        }
        for steps in steps.chunk_by(|a, b| a.is_xor() && b.is_xor()) {
            match steps[0].is_xor() {
                true => xor_rows(&mut self.cells, self.lanes, steps.iter().map(Step::slots)),
                false => self.linear(&steps[0]),
            }
        }
    }

    /// Does the independent ANDs of a batch on all lanes by `and`, which is given at most [`BATCH`] operands of either side, and room for as many
    /// results.
    ///
    /// # Errors
    /// Those of `and`, at once.
    #[inline(always)]
    pub fn ands<E>(
        &mut self,
        tape: &Tape,
        steps: &[Step],
        mut and: impl FnMut([&[Block]; 2], &mut [Block]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (cells, lanes) = (&mut self.cells[..], self.lanes);
        let [a, b, out] = &mut *self.batch;
        if lanes == 1 {
            return tape.each_ands::<E>(steps, |steps| {
                for ((step, a), b) in steps.iter().zip(&mut *a).zip(&mut *b) {
                    (*a, *b) = (cells[step.a() as usize], cells[step.b() as usize]);
                }
                let n = steps.len();
                and([&a[..n], &b[..n]], &mut out[..n])?;
                steps.iter().zip(&*out).for_each(|(step, out)| cells[step.out() as usize] = *out);
                Ok(())
            });
        }
        let (mut to, mut waiting) = ([0; BATCH], 0);
        for step in steps.iter().filter(|step| step.op() == Op::And) {
            let rows = step.slots().map(|slot| slot as usize * lanes);
            let mut lane = 0;
            while lane < lanes {
                let count = (BATCH - waiting).min(lanes - lane);
                let [left, right, result] = rows.map(|row| row + lane..row + lane + count);
                lane += count;
                if count == BATCH {
                    and([&cells[left], &cells[right]], out)?;
                    cells[result].copy_from_slice(out);
                    continue;
                }
                let now = waiting..waiting + count;
                a[now.clone()].copy_from_slice(&cells[left]);
                b[now.clone()].copy_from_slice(&cells[right]);
                to[now].iter_mut().zip(result).for_each(|(to, cell)| *to = cell);
                waiting += count;
                if waiting == BATCH {
                    and([a, b], out)?;
                    to.iter().zip(&*out).for_each(|(cell, value)| cells[*cell] = *value);
                    waiting = 0;
                }
            }
        }
        and([&a[..waiting], &b[..waiting]], &mut out[..waiting])?;
        to[..waiting].iter().zip(out).for_each(|(cell, value)| cells[*cell] = *value);
        Ok(())
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
            self.load(tape, operands, [first, count], true);
            for (linear, ands) in tape.runs() {
                linear.iter().for_each(|step| self.linear(step));
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
