//! What a tape consists of.

use std::convert::Infallible;
use std::fmt;

use cenote_prim::prefetch;

use super::Tape;
use super::deck::BATCH;
use crate::circuit::MAX_WIRES;

/// What a step does with its slots, in the order of their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `out = a xor b`.
    Xor,
    /// `out = not a`; `b` is the slot after the last one, where a machine may keep a public 1.
    Not,
    /// A public 0.
    Zero,
    /// A public 1.
    One,
    /// `out = a and b`.
    And,
    /// The next `b` steps are ANDs that share their operand `a`; nothing is done here.
    Group,
}

/// One step. Slots are below [`Tape::slots`], but for a negation's `b`.
///
/// Twelve bytes, since on one lane a circuit of millions of gates is played as fast as its steps come from memory: of each number, the two high
/// bits are flags.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Flags: last read of `a`, kept.
    a: u32,
    /// Flags: last read of `b`, and the high bit of the operation.
    b: u32,
    /// Flags: the low bits of the operation.
    out: u32,
}

const FLAG_BITS: u32 = 2;
const SLOT_BITS: u32 = u32::BITS - FLAG_BITS;
const SLOT: u32 = (1 << SLOT_BITS) - 1;
const HIGH: u32 = 1 << 31;
const LOW: u32 = 1 << 30;
// A tape has a slot for what nobody reads besides those of the wires, and behind them that of the public 1.
const _: () = assert!(MAX_WIRES < SLOT as usize);

/// By their bits. Those of linear steps are the first, XOR and NOT without the bit that constants have.
const OPS: [Op; 8] =
    [Op::Xor, Op::Not, Op::Zero, Op::One, Op::And, Op::Group, Op::Group, Op::Group];

const fn flag(bit: u32, is_set: bool) -> u32 {
    if is_set { bit } else { 0 }
}

impl Step {
    /// A step whose result nobody has asked for yet.
    pub(super) fn new(op: Op, a: u32, b: u32, out: u32) -> Step {
        debug_assert!(a.max(b).max(out) <= SLOT);
        let op = op as u32;
        Step { a, b: b | (op >> 2) << 31, out: out | op << SLOT_BITS }
    }

    /// The same step, which reads a slot for the last time.
    pub(super) fn last(self, a: bool, b: bool) -> Step {
        Step { a: self.a | flag(HIGH, a), b: self.b | flag(LOW, b), ..self }
    }

    /// The same step, which reads `b`.
    pub(super) fn reading(self, b: u32) -> Step {
        debug_assert!(b <= SLOT);
        Step { b: self.b & !SLOT | b, ..self }
    }

    /// The same step with its result there, which is an output if it is kept.
    pub(super) fn giving(self, out: u32, kept: bool) -> Step {
        debug_assert!(out <= SLOT);
        Step { a: self.a | flag(LOW, kept), out: self.out & !SLOT | out, ..self }
    }

    /// The operation.
    #[must_use]
    #[inline(always)]
    pub const fn op(&self) -> Op {
        OPS[((self.b >> 31) << 2 | self.out >> SLOT_BITS) as usize]
    }

    /// First operand.
    #[must_use]
    #[inline(always)]
    pub const fn a(&self) -> u32 {
        self.a & SLOT
    }

    /// Second operand.
    #[must_use]
    #[inline(always)]
    pub const fn b(&self) -> u32 {
        self.b & SLOT
    }

    /// Where the result goes.
    #[must_use]
    #[inline(always)]
    pub const fn out(&self) -> u32 {
        self.out & SLOT
    }

    /// Both operands, and where the result goes.
    #[must_use]
    #[inline(always)]
    pub const fn slots(&self) -> [u32; 3] {
        [self.a(), self.b(), self.out()]
    }

    /// Whether it reads slot `a` for the last time, before something else is put there.
    #[must_use]
    pub const fn last_a(&self) -> bool {
        self.a & HIGH != 0
    }

    /// The same of `b`.
    #[must_use]
    pub const fn last_b(&self) -> bool {
        self.b & LOW != 0
    }

    /// Whether the result is an output: its slot is not used again.
    #[must_use]
    pub const fn kept(&self) -> bool {
        self.a & LOW != 0
    }

    /// Whether a linear step is an XOR, as a negation is with a public 1, and no constant.
    #[inline(always)]
    pub(super) const fn is_xor(&self) -> bool {
        debug_assert!(!matches!(self.op(), Op::And | Op::Group));
        self.out & HIGH == 0
    }

    /// How many operands it reads.
    #[must_use]
    pub const fn reads(&self) -> usize {
        match self.op() {
            Op::Zero | Op::One | Op::Group => 0,
            Op::Not => 1,
            Op::Xor | Op::And => 2,
        }
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} {} -> {}", self.op(), self.a(), self.b(), self.out())
    }
}

/// How far ahead of the current step those of its run are prefetched.
const AHEAD: usize = 128;

/// Shows `each` all steps, [`BATCH`] at a time, and prefetches those that follow: between the random accesses of steps on one lane, the processor
/// does not look far enough ahead by itself.
#[inline(always)]
pub(super) fn each_piece(steps: &[Step], mut each: impl FnMut(&[Step])) {
    let Ok(()) = try_each_piece::<Infallible>(steps, |steps| {
        each(steps);
        Ok(())
    });
}

#[inline(always)]
fn try_each_piece<E>(
    steps: &[Step],
    mut each: impl FnMut(&[Step]) -> Result<(), E>,
) -> Result<(), E> {
    let (pieces, rest) = steps.as_chunks::<BATCH>();
    for (i, piece) in pieces.iter().enumerate() {
        prefetch(pieces, i + AHEAD / BATCH);
        each(piece)?;
    }
    if rest.is_empty() { Ok(()) } else { each(rest) }
}

impl Tape {
    /// Shows `each` the ANDs of a batch, [`BATCH`] at a time, without the heads of groups.
    ///
    /// # Errors
    /// Those of `each`, at once.
    #[inline(always)]
    pub(super) fn each_ands<E>(
        &self,
        ands: &[Step],
        mut each: impl FnMut(&[Step]) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.has_groups {
            return try_each_piece(ands, each);
        }
        let (mut piece, mut n) = ([Step::new(Op::And, 0, 0, 0); BATCH], 0);
        for step in ands.iter().filter(|step| step.op() == Op::And) {
            piece[n] = *step;
            n += 1;
            if n == BATCH {
                each(&piece)?;
                n = 0;
            }
        }
        if n == 0 { Ok(()) } else { each(&piece[..n]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags and the largest slots do not touch each other.
    #[test]
    fn twelve_bytes_hold_all_of_a_step() {
        assert_eq!(size_of::<Step>(), 12);
        for op in OPS {
            for flags in 0..8 {
                let [last_a, last_b, kept] = [0, 1, 2].map(|bit| flags >> bit & 1 == 1);
                for slots in [[0; 3], [SLOT; 3], [SLOT, 0, 1], [0, SLOT, 2], [7, 5, SLOT]] {
                    let step = Step::new(op, slots[0], 9, 0).last(last_a, last_b);
                    let step = step.reading(slots[1]).giving(slots[2], kept);
                    assert_eq!((step.op(), step.slots()), (op, slots));
                    assert_eq!([step.last_a(), step.last_b(), step.kept()], [last_a, last_b, kept]);
                    if !matches!(op, Op::And | Op::Group) {
                        assert_eq!(step.is_xor(), matches!(op, Op::Xor | Op::Not));
                    }
                }
            }
        }
    }

    /// Pieces are all steps in their order, the last one shorter.
    #[test]
    fn every_step_is_in_one_piece() {
        for n in [0, 1, 31, 32, 33, 64, 300] {
            let steps: Vec<Step> = (0..n).map(|i| Step::new(Op::Xor, i, 0, 0)).collect();
            let mut seen = Vec::new();
            each_piece(&steps, |piece| seen.extend_from_slice(piece));
            assert_eq!(seen, steps);
        }
    }
}
