//! Tapes that are counted: on arrays, as backends play them.

use cenote_circuit::{Gates, Op, Operand, Step, Tape};

use super::{SINGLE, Stats, StatsError, Tally, add};
use crate::run::Machine;
use crate::tapes::Rounds;

impl Tally {
    /// A copy of the figures so far, which takes as long as there are kinds of multiplexers and memories.
    pub(super) fn copy(&mut self) -> Result<Stats, StatsError> {
        self.look(self.stats.muxes.len() + self.stats.memories.len())?;
        Ok(self.stats.clone())
    }

    /// Counts a round of a loop as one lane of its tape, which is weighed by all of them: what it reads is as deep as anything before.
    pub(super) fn round(&mut self, rounds: &Rounds, before: u64) -> Result<(), StatsError> {
        let (tape, lanes) = (&rounds.tape, rounds.lanes);
        self.step((tape.inputs() + tape.outputs()).saturating_mul(lanes))?;
        let inputs = vec![before; tape.inputs()];
        let mut out = vec![Vec::new(); tape.words().len()];
        let operands = [Operand::same(&inputs)];
        self.weighted(lanes as u64, 1, |tally| {
            tally.play_lanes(tape, (1, lanes > 1), &operands, &mut out)
        })
    }

    /// Counts a tape on so many lanes, with the batches of the program, not those that fit a cache.
    pub(super) fn play_tape(
        &mut self,
        tape: &Tape,
        lanes: usize,
        operands: &[Operand<'_, u64>],
        out: &mut [Vec<u64>],
    ) -> Result<(), StatsError> {
        self.play_lanes(tape, (lanes, lanes > 1), operands, out)
    }

    /// The same, where these lanes may stand for many.
    fn play_lanes(
        &mut self,
        tape: &Tape,
        (lanes, are_many): (usize, bool),
        operands: &[Operand<'_, u64>],
        out: &mut [Vec<u64>],
    ) -> Result<(), StatsError> {
        tape.depths(
            lanes,
            operands,
            out,
            |depth| depth.saturating_add(1),
            |[linear, ands], deepest| {
                self.stats.depth = self.stats.depth.max(deepest);
                linear.iter().try_for_each(|step| self.played(step, lanes, are_many))?;
                self.played_ands(ands, lanes, are_many)
            },
        )
    }

    /// Takes note of a linear step of a tape on so many lanes.
    fn played(&mut self, step: &Step, lanes: usize, are_many: bool) -> Result<(), StatsError> {
        match step.op() {
            Op::Zero | Op::One => self.look(1),
            Op::Not => (0..lanes).try_for_each(|_| self.not(&0).map(drop)),
            _ if are_many => self.call().and_then(|()| self.linear(lanes)),
            _ => self.xor(&0, &0).map(drop),
        }
    }

    /// Takes note of a batch of ANDs of a tape on so many lanes.
    fn played_ands(
        &mut self,
        ands: &[Step],
        lanes: usize,
        are_many: bool,
    ) -> Result<(), StatsError> {
        let mut all = 0;
        for step in ands {
            if step.op() == Op::Group {
                let muxes = self.stats.muxes.entry(step.b()).or_default();
                add(muxes, self.weight, lanes as u64);
            } else {
                all += lanes;
            }
        }
        match all {
            0 => return Ok(()),
            1 if !are_many => self.look(SINGLE)?,
            _ => self.call()?,
        }
        self.count_ands(all)?;
        self.batch(all);
        Ok(())
    }
}
