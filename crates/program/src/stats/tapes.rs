//! Tapes that are counted: on arrays, as backends play them.

use cenote_circuit::{Deck, Gates, Op, Operand, Step, Tape};

use super::{SINGLE, StatsError, Tally, add};

impl Tally {
    /// Counts a tape on so many lanes, with the batches of the program, not those that fit a cache.
    pub(super) fn play_tape(
        &mut self,
        tape: &Tape,
        lanes: usize,
        operands: &[Operand<'_, u64>],
        out: &mut [Vec<u64>],
    ) -> Result<(), StatsError> {
        let mut deck = Deck::default();
        deck.load(tape, operands, 0, lanes);
        for (linear, ands) in tape.runs() {
            for step in linear {
                self.played(step, lanes)?;
                match step.reads() {
                    0 => deck.row_mut(step.out).fill(0),
                    1 => deck.zip(&Step { b: step.a, ..*step }, |a, _| a),
                    _ => deck.zip(step, Ord::max),
                }
            }
            for step in ands.iter().filter(|step| step.op == Op::And) {
                deck.zip(step, |a, b| a.max(b).saturating_add(1));
                let deepest = deck.row(step.out).iter().max();
                self.stats.depth = self.stats.depth.max(deepest.copied().unwrap_or(0));
            }
            self.played_ands(ands, lanes)?;
        }
        deck.store(tape, out);
        Ok(())
    }

    /// Takes note of a linear step of a tape on so many lanes.
    fn played(&mut self, step: &Step, lanes: usize) -> Result<(), StatsError> {
        match (step.op, lanes) {
            (Op::Zero | Op::One, _) => self.look(1),
            (Op::Not, lanes) => (0..lanes).try_for_each(|_| self.not(&0).map(drop)),
            (_, 1) => self.xor(&0, &0).map(drop),
            (_, lanes) => self.call().and_then(|()| self.linear(lanes)),
        }
    }

    /// Takes note of a batch of ANDs of a tape on so many lanes.
    fn played_ands(&mut self, ands: &[Step], lanes: usize) -> Result<(), StatsError> {
        let mut all = 0;
        for step in ands {
            if step.op == Op::Group {
                let muxes = self.stats.muxes.entry(step.b).or_default();
                add(muxes, self.weight, lanes as u64);
            } else {
                all += lanes;
            }
        }
        match all {
            0 => return Ok(()),
            1 => self.look(SINGLE)?,
            _ => self.call()?,
        }
        self.count_ands(all)?;
        self.batch(all);
        Ok(())
    }
}
