//! The evaluator's pass over a chunk: labels and masked values, its report, and the last check.

use std::collections::VecDeque;

use cenote_net::Fault;
use cenote_prim::{Block, Growing, Secret, bits};

use super::Core;
use super::gate_hash::{BATCH, GateHash};
use super::masks::{Beaver, Ready};
use super::messages::{Report, TableMessage, mac_hash};
use crate::backends::wrk::authenticated_half_gates::{Active, Gate, evaluate, evaluator_term};
use crate::backends::wrk::tags;
use crate::parts::chunk::{Gate as Recorded, Pass, walk};

/// The evaluator's data of each live wire and its chunks in flight.
#[derive(Default)]
pub(super) struct Evaluator {
    /// Label and masked value, as of the last evaluated chunk.
    pub(super) active: Growing<Active>,
    pending: Vec<bool>,
    /// Inputs whose labels are on the way: slots, and the masked values of an own input.
    inputs: Vec<(Vec<usize>, Option<Vec<bool>>)>,
    /// Chunks whose f and g this side has sent, oldest first.
    waiting: VecDeque<Beaver>,
    /// The answer that the garbler must give for each evaluated chunk, oldest first; none for a
    /// chunk without ANDs, which still counts.
    unanswered: VecDeque<Option<Block>>,
}

impl Evaluator {
    pub(super) fn resize(&mut self, slots: usize) {
        self.active.grow(slots);
        self.pending.resize(slots, false);
    }

    /// Takes an input. What the garbler sends for it is received when it is needed: until then, f and g of chunks leave.
    pub(super) fn input(&mut self, slots: Vec<usize>, masked: Option<Vec<bool>>) {
        self.inputs.push((slots, masked));
    }

    /// The garbler's masked values come before all labels.
    fn receive_inputs(&mut self, core: &mut Core) -> Result<(), Fault> {
        for (slots, masked) in &mut self.inputs {
            if masked.is_none() {
                *masked = Some(core.receive_masked(slots.len())?);
            }
        }
        for (slots, masked) in self.inputs.drain(..) {
            let mut labels = Secret::new(vec![Block::ZERO; slots.len()]);
            core.channel.recv_into(tags::INPUT_LABELS, Block::as_bytes_mut(&mut labels))?;
            for ((slot, &label), masked) in
                slots.iter().zip(labels.iter()).zip(masked.iter().flatten())
            {
                self.active[*slot] = Active { label, masked: *masked };
            }
        }
        Ok(())
    }

    /// Takes a chunk whose f and g this side has sent, and evaluates the one that lies so many before it as
    /// may be in flight.
    pub(super) fn step(&mut self, core: &mut Core, beaver: Beaver) -> Result<(), Fault> {
        // Sent before the evaluation, so that the garbler can garble while this side evaluates.
        core.channel.flush()?;
        self.waiting.push_back(beaver);
        if self.waiting.len() > core.ahead { self.evaluate_oldest(core) } else { Ok(()) }
    }

    /// Evaluates every chunk in flight and runs `wrk.masked` on all of them.
    pub(super) fn settle(&mut self, core: &mut Core) -> Result<(), Fault> {
        self.receive_inputs(core)?;
        while !self.waiting.is_empty() {
            self.evaluate_oldest(core)?;
        }
        while !self.unanswered.is_empty() {
            self.receive_answer(core)?;
        }
        Ok(())
    }

    fn receive_answer(&mut self, core: &mut Core) -> Result<(), Fault> {
        let Some(Some(expected)) = self.unanswered.pop_front() else { return Ok(()) };
        let mut answer = [0; 16];
        core.channel.recv_into(tags::MAC_HASH, &mut answer)?;
        if !expected.ct_eq(Block::from_bytes(answer)) {
            return Err(Fault::Misbehaved("wrk.masked"));
        }
        Ok(())
    }

    fn evaluate_oldest(&mut self, core: &mut Core) -> Result<(), Fault> {
        let Some(beaver) = self.waiting.pop_front() else { return Ok(()) };
        self.receive_inputs(core)?;
        let n = beaver.ands();
        // The garbler opens f and g when it records a chunk, before it looks at reports.
        let opening = core.receive_beaver(&beaver)?;
        let peer = core.depot.workers().one(|| core.verify_beaver(&beaver, &opening))?;
        while self.unanswered.len() > core.ahead {
            self.receive_answer(core)?;
        }
        let number = core.next_chunk();
        let mut tables = TableMessage::with_gates(n);
        if n > 0 {
            core.channel.recv_into(tags::TABLES, tables.as_bytes_mut())?;
            tables.validate()?;
        }
        let (outputs, terms) = core.depot.workers().one(|| {
            let ready = core.finish_masks(beaver, &peer);
            self.evaluate(core, &ready, &tables)
        });
        let answer = match n {
            0 => None,
            _ => Some(self.report(core, number, &outputs, &terms)?),
        };
        self.unanswered.push_back(answer);
        Ok(())
    }

    fn evaluate(
        &mut self,
        core: &mut Core,
        ready: &Ready,
        tables: &TableMessage,
    ) -> (Secret<Vec<Active>>, Secret<Vec<Block>>) {
        let n = ready.gates.len();
        let mut pass = EvaluatePass {
            delta: core.depot.delta(),
            hash: &mut core.hash,
            active: &mut self.active,
            gates: &ready.gates,
            tables,
            outputs: Secret::with_capacity(n),
            terms: Secret::with_capacity(n),
            inputs: Secret::with_capacity(BATCH),
            slots: Vec::with_capacity(BATCH),
        };
        walk(&ready.chunk.gates, BATCH, &mut self.pending, &mut pass);
        (pass.outputs, pass.terms)
    }

    /// Sends masked values, label hash and a fresh seed; returns the answer that must come.
    fn report(
        &self,
        core: &mut Core,
        number: u64,
        outputs: &[Active],
        terms: &[Block],
    ) -> Result<Block, Fault> {
        let masked = bits::pack(outputs.iter().map(|active| active.masked));
        let labels: Secret<Vec<Block>> = outputs.iter().map(|active| active.label).collect();
        let seed = core.prg.block();
        let report = Report::new(&core.session, number, &masked, &labels, seed);
        core.channel.send(tags::REPORT, &report.encode())?;
        Ok(mac_hash(seed, terms))
    }
}

struct EvaluatePass<'a> {
    delta: Block,
    hash: &'a mut GateHash,
    active: &'a mut [Active],
    gates: &'a [Gate],
    tables: &'a TableMessage,
    outputs: Secret<Vec<Active>>,
    terms: Secret<Vec<Block>>,
    inputs: Secret<Vec<[Active; 2]>>,
    slots: Vec<usize>,
}

impl Pass for EvaluatePass<'_> {
    #[inline]
    fn linear(&mut self, gate: &Recorded) {
        gate.linear(self.active, Active { label: Block::ZERO, masked: true });
    }

    #[inline]
    fn gather(&mut self, ands: &[Recorded]) {
        for [a, b, out] in ands.iter().flat_map(Recorded::each) {
            self.inputs.push([self.active[a], self.active[b]]);
            self.slots.push(out);
        }
    }

    fn flush(&mut self) {
        let n = self.slots.len();
        let done = self.outputs.len();
        let mut out = Secret::new([Active::default(); BATCH]);
        let out = &mut out[..n];
        let gates = &self.gates[done..done + n];
        let tables = self.tables.gates(done, n);
        evaluate(self.hash, gates, &self.inputs, tables, (self.tables.colours(), done), out);
        for ((slot, new), (gate, [a, b])) in
            self.slots.drain(..).zip(out.iter()).zip(gates.iter().zip(self.inputs.iter()))
        {
            self.active[slot] = *new;
            self.terms.push(evaluator_term(gate, a.masked, b.masked, new.masked, self.delta));
        }
        self.outputs.extend_from_slice(out);
        self.inputs.clear();
    }
}
