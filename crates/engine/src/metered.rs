//! A job that counts its ANDs while it runs, for a bar of progress.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_circuit::{Gates, Operand, Resting, Tape};
use cenote_net::{Fault, Role};

use crate::named_memory::{MemoryUse, RamStates};
use crate::party::Party;
use crate::session::Job;

/// A job whose ANDs are counted on their way to the backend.
pub struct Metered<'c, J> {
    /// The job that runs.
    pub job: J,
    /// ANDs so far.
    pub done: &'c AtomicU64,
}

impl<J: Job> Job for Metered<'_, J> {
    type Output = J::Output;

    fn terms(&self) -> Vec<(&'static str, String)> {
        self.job.terms()
    }

    fn ands(&self) -> u64 {
        self.job.ands()
    }

    fn memories(&self) -> Vec<MemoryUse> {
        self.job.memories()
    }

    fn recall(&self, states: &RamStates) {
        self.job.recall(states);
    }

    fn states(&self) -> RamStates {
        self.job.states()
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<J::Output, Fault> {
        self.job.run(&mut Counting { party, done: self.done })
    }
}

struct Counting<'p, P> {
    party: &'p mut P,
    done: &'p AtomicU64,
}

impl<P> Counting<'_, P> {
    fn count(&self, ands: usize) {
        self.done.fetch_add(ands as u64, Ordering::Relaxed);
    }
}

impl<P: Party> Gates for Counting<'_, P> {
    type Wire = P::Wire;
    type Error = Fault;

    fn constant(&mut self, bit: bool) -> Result<P::Wire, Fault> {
        self.party.constant(bit)
    }

    fn xor(&mut self, a: &P::Wire, b: &P::Wire) -> Result<P::Wire, Fault> {
        self.party.xor(a, b)
    }

    fn not(&mut self, a: &P::Wire) -> Result<P::Wire, Fault> {
        self.party.not(a)
    }

    fn and(&mut self, a: &P::Wire, b: &P::Wire) -> Result<P::Wire, Fault> {
        self.count(1);
        self.party.and(a, b)
    }

    fn xor_many(&mut self, a: &[P::Wire], b: &[P::Wire]) -> Result<Vec<P::Wire>, Fault> {
        self.party.xor_many(a, b)
    }

    fn and_many(&mut self, a: &[P::Wire], b: &[P::Wire]) -> Result<Vec<P::Wire>, Fault> {
        self.count(a.len().min(b.len()));
        self.party.and_many(a, b)
    }

    fn and_groups(&mut self, selects: &[P::Wire], bits: &[P::Wire]) -> Result<Vec<P::Wire>, Fault> {
        self.count(bits.len());
        self.party.and_groups(selects, bits)
    }

    fn mux_many(
        &mut self,
        select: &P::Wire,
        on_true: &[P::Wire],
        on_false: &[P::Wire],
    ) -> Result<Vec<P::Wire>, Fault> {
        self.count(on_true.len().min(on_false.len()));
        self.party.mux_many(select, on_true, on_false)
    }

    fn play(
        &mut self,
        tape: &Tape,
        lanes: usize,
        operands: &[Operand<'_, P::Wire>],
        out: &mut [Vec<P::Wire>],
    ) -> Result<(), Fault> {
        self.count(tape.ands() * lanes);
        self.party.play(tape, lanes, operands, out)
    }

    fn play_in_place(
        &mut self,
        tape: &Tape,
        wires: &mut [P::Wire],
        starts: &[&[u32]],
    ) -> Result<(), Fault> {
        self.count(tape.ands() * starts.first().map_or(0, |starts| starts.len()));
        self.party.play_in_place(tape, wires, starts)
    }
}

impl<P: Party> Party for Counting<'_, P> {
    type Checked<'q>
        = P::Checked<'q>
    where
        Self: 'q;

    fn role(&self) -> Role {
        self.party.role()
    }

    fn input(
        &mut self,
        owner: Role,
        len: usize,
        bits: Option<&[bool]>,
    ) -> Result<Vec<P::Wire>, Fault> {
        self.party.input(owner, len, bits)
    }

    fn check(&mut self) -> Result<P::Checked<'_>, Fault> {
        self.party.check()
    }

    fn keep(&mut self, name: &str, wires: &[P::Wire]) -> Result<(), Fault> {
        self.party.keep(name, wires)
    }

    fn packs(&self) -> bool {
        self.party.packs()
    }

    fn rest(&mut self, wires: Vec<P::Wire>) -> Result<Resting<P::Wire>, Fault> {
        self.party.rest(wires)
    }

    fn wake(&mut self, cells: Vec<Resting<P::Wire>>) -> Result<Vec<Vec<P::Wire>>, Fault> {
        self.party.wake(cells)
    }

    fn keep_cells(&mut self, name: &str, cells: Vec<Resting<P::Wire>>) -> Result<(), Fault> {
        self.party.keep_cells(name, cells)
    }

    fn kept_cells(
        &mut self,
        name: &str,
        lengths: &[usize],
    ) -> Result<Vec<Resting<P::Wire>>, Fault> {
        self.party.kept_cells(name, lengths)
    }

    fn kept_all(&mut self, names: &[&str]) -> Result<Vec<Vec<P::Wire>>, Fault> {
        self.party.kept_all(names)
    }
}
