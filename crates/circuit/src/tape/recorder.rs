//! A machine that writes a tape.

use super::{Order, Tape};
use crate::circuit::{Gate, MAX_WIRES};
use crate::gates::{Gates, runs};

/// Gates of a tape at most, for [`TapeRecorder::new`]: 12 MB while it is planned.
pub const MAX_TAPE: usize = 1 << 18;

/// Writes gates down as they come: nothing is simplified, so that what plays the tape does what would have run here. Whoever wants
/// constants folded puts a [`crate::Folding`] in front.
pub struct TapeRecorder {
    inputs: usize,
    gates: Vec<Gate>,
    batches: Batches,
    limit: usize,
}

/// How recorded ANDs hang together.
#[derive(Default)]
pub(super) struct Batches {
    /// The first gate of each batch.
    pub(super) first: Vec<u32>,
    /// First gate and number of those that share an operand.
    pub(super) groups: Vec<(u32, u32)>,
}

/// A wire of a [`TapeRecorder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapeWire(pub(super) u32);

/// More gates than the tape may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a tape of more gates than its limit")]
pub struct TooLong;

impl TapeRecorder {
    /// A recorder of at most [`MAX_TAPE`] gates, and the wires of so many inputs.
    #[must_use]
    pub fn new(inputs: usize) -> (TapeRecorder, Vec<TapeWire>) {
        TapeRecorder::of_at_most(MAX_TAPE, inputs)
    }

    /// A recorder of at most `limit` gates, and the wires of so many inputs.
    ///
    /// # Panics
    /// When a tape has no slots for so many wires.
    #[must_use]
    pub fn of_at_most(limit: usize, inputs: usize) -> (TapeRecorder, Vec<TapeWire>) {
        assert!(limit.checked_add(inputs).is_some_and(|wires| wires <= MAX_WIRES));
        let wires = (0..inputs as u32).map(TapeWire).collect();
        (TapeRecorder { inputs, gates: Vec::new(), batches: Batches::default(), limit }, wires)
    }

    /// The tape that gives these words.
    #[must_use]
    pub fn finish(&self, words: &[Vec<TapeWire>], order: Order) -> Tape {
        let outputs: Vec<u32> = words.iter().flatten().map(|wire| wire.0).collect();
        let words = words.iter().map(Vec::len).collect();
        Tape::new(self.inputs, &self.gates, (&outputs, words), &self.batches, order)
    }

    fn push(&mut self, gate: Gate) -> Result<TapeWire, TooLong> {
        if self.gates.len() >= self.limit {
            return Err(TooLong);
        }
        self.gates.push(gate);
        Ok(TapeWire((self.inputs + self.gates.len() - 1) as u32))
    }

    fn begin_batch(&mut self) {
        self.batches.first.push(self.gates.len() as u32);
    }
}

impl Gates for TapeRecorder {
    type Wire = TapeWire;
    type Error = TooLong;

    fn constant(&mut self, bit: bool) -> Result<TapeWire, TooLong> {
        self.push(Gate::Eq(bit))
    }

    fn xor(&mut self, a: &TapeWire, b: &TapeWire) -> Result<TapeWire, TooLong> {
        self.push(Gate::Xor(a.0, b.0))
    }

    fn not(&mut self, a: &TapeWire) -> Result<TapeWire, TooLong> {
        self.push(Gate::Inv(a.0))
    }

    fn and(&mut self, a: &TapeWire, b: &TapeWire) -> Result<TapeWire, TooLong> {
        self.begin_batch();
        self.push(Gate::And(a.0, b.0))
    }

    fn and_many(&mut self, a: &[TapeWire], b: &[TapeWire]) -> Result<Vec<TapeWire>, TooLong> {
        self.begin_batch();
        a.iter().zip(b).map(|(a, b)| self.push(Gate::And(a.0, b.0))).collect()
    }

    fn and_groups(
        &mut self,
        selects: &[TapeWire],
        bits: &[TapeWire],
    ) -> Result<Vec<TapeWire>, TooLong> {
        self.begin_batch();
        let mut out = Vec::with_capacity(bits.len());
        for (select, run) in runs(selects, bits).filter(|(_, run)| !run.is_empty()) {
            self.batches.groups.push((self.gates.len() as u32, run.len() as u32));
            for bit in run {
                out.push(self.push(Gate::And(select.0, bit.0))?);
            }
        }
        Ok(out)
    }
}
