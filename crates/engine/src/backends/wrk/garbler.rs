//! The garbler's passes over a chunk: labels and tables, then masked values and the checks.

use std::collections::VecDeque;

use cenote_net::Fault;
use cenote_prim::{Block, Growing, Secret, bits};

use super::Core;
use super::gate_hash::{BATCH, GateHash};
use super::masks::{Beaver, Ready};
use super::messages::{Report, TableMessage};
use crate::backends::wrk::authenticated_half_gates::{Gate, GateMacs, garble, garbler_term};
use crate::backends::wrk::tags;
use crate::parts::chunk::{Chunk, Gate as Recorded, Kind, Pass, walk};

/// The garbler's data of each live wire and its chunks in flight.
#[derive(Default)]
pub(super) struct Garbler {
    /// L_{w,0}, as of the last garbled chunk.
    pub(super) labels: Growing<Block>,
    /// Lambda_w, as of the last checked chunk.
    pub(super) masked: Vec<bool>,
    pending: Vec<bool>,
    unchecked: VecDeque<Garbled>,
}

/// A garbled chunk whose check is outstanding.
struct Garbled {
    chunk: Chunk,
    /// Of all ANDs, in program order: MACs, and L_{c,0}.
    macs: Secret<Vec<GateMacs>>,
    outputs: Secret<Vec<Block>>,
    /// Number of the chunk in the session.
    number: u64,
}

impl Garbler {
    pub(super) fn resize(&mut self, slots: usize) {
        self.labels.grow(slots);
        self.masked.resize(slots, false);
        self.pending.resize(slots, false);
    }

    /// Takes an input: draws its labels and sends those of its masked values, which the evaluator says of its own.
    pub(super) fn input(
        &mut self,
        core: &mut Core,
        slots: &[usize],
        own: Option<Vec<bool>>,
    ) -> Result<(), Fault> {
        let masked = own.map_or_else(|| core.receive_masked(slots.len()), Ok)?;
        let delta = core.depot.delta();
        let mut labels = Secret::new(vec![Block::ZERO; slots.len()]);
        core.prg.fill(&mut labels);
        for ((&slot, label), masked) in slots.iter().zip(labels.iter_mut()).zip(masked) {
            self.labels[slot] = *label;
            self.masked[slot] = masked;
            *label ^= delta.times(masked);
        }
        core.channel.send(tags::INPUT_LABELS, Block::as_bytes(&labels))
    }

    /// Garbles a chunk whose f and g this side has sent.
    pub(super) fn step(&mut self, core: &mut Core, beaver: Beaver) -> Result<(), Fault> {
        while self.unchecked.len() > core.ahead {
            self.check_oldest(core)?;
        }
        let opening = core.receive_beaver(&beaver)?;
        let number = core.next_chunk();
        let (chunk, (message, macs, outputs)) = core.depot.workers().one(|| {
            let peer = core.verify_beaver(&beaver, &opening)?;
            let ready = core.finish_masks(beaver, &peer);
            let garbled = self.garble(core, &ready);
            Ok((ready.chunk, garbled))
        })?;
        if !outputs.is_empty() {
            core.channel.send(tags::TABLES, message.as_bytes())?;
            core.channel.flush()?;
        }
        self.unchecked.push_back(Garbled { chunk, macs, outputs, number });
        Ok(())
    }

    /// Checks every chunk in flight.
    pub(super) fn settle(&mut self, core: &mut Core) -> Result<(), Fault> {
        while !self.unchecked.is_empty() {
            self.check_oldest(core)?;
        }
        Ok(())
    }

    fn garble(
        &mut self,
        core: &mut Core,
        ready: &Ready,
    ) -> (TableMessage, Secret<Vec<GateMacs>>, Secret<Vec<Block>>) {
        let n = ready.gates.len();
        let mut pass = GarblePass {
            delta: core.depot.delta(),
            hash: &mut core.hash,
            labels: &mut self.labels,
            gates: &ready.gates,
            tables: TableMessage::with_gates(n),
            macs: Secret::with_capacity(n),
            outputs: Secret::with_capacity(n),
            inputs: Secret::with_capacity(BATCH),
            slots: Vec::with_capacity(BATCH),
        };
        walk(&ready.chunk.gates, BATCH, &mut self.pending, &mut pass);
        let GarblePass { mut tables, macs, outputs, .. } = pass;
        tables.set_colours(outputs.iter().map(|label| label.colour()));
        (tables, macs, outputs)
    }

    /// `wrk.labels`, then the answer to it.
    fn check_oldest(&mut self, core: &mut Core) -> Result<(), Fault> {
        let Some(mut garbled) = self.unchecked.pop_front() else {
            return Ok(());
        };
        let n = garbled.outputs.len();
        if n == 0 {
            self.follow(&garbled.chunk, &[], &[], |_| ());
            return Ok(());
        }
        let report = core.channel.recv(tags::REPORT, Report::len(n))?;
        let report = Report::decode(&report, n)?;
        let Garbled { chunk, macs, outputs, number } = &mut garbled;
        let (session, delta) = (&core.session, core.depot.delta());
        let answer = core.depot.workers().one(|| {
            let report = report.verify(session, *number, delta, outputs)?;
            let mut terms = Secret::with_capacity(n);
            self.follow(chunk, macs, report.masked(), |term| terms.push(term));
            Ok(report.answer(&terms))
        })?;
        core.channel.send(tags::MAC_HASH, &answer.to_bytes())
    }

    /// Carries the masked values through a chunk; `term` sees the MAC term of each AND.
    fn follow(
        &mut self,
        chunk: &Chunk,
        macs: &[GateMacs],
        masked: &[u8],
        mut term: impl FnMut(Block),
    ) {
        let values = &mut self.masked;
        let mut macs = macs.iter().enumerate();
        for gate in &chunk.gates {
            if gate.kind != Kind::And {
                gate.linear(values, true);
                continue;
            }
            for [a, b, out] in gate.each() {
                let (i, macs) = macs.next().expect("as many as ANDs");
                term(garbler_term(macs, values[a], values[b]));
                values[out] = bits::get(masked, i);
            }
        }
    }
}

struct GarblePass<'a> {
    delta: Block,
    hash: &'a mut GateHash,
    labels: &'a mut [Block],
    gates: &'a [Gate],
    tables: TableMessage,
    macs: Secret<Vec<GateMacs>>,
    outputs: Secret<Vec<Block>>,
    inputs: Secret<Vec<[Block; 2]>>,
    slots: Vec<usize>,
}

impl Pass for GarblePass<'_> {
    #[inline]
    fn linear(&mut self, gate: &Recorded) {
        // The evaluator's label of a constant is zero and its masked value the constant.
        gate.linear(self.labels, self.delta);
    }

    #[inline]
    fn gather(&mut self, ands: &[Recorded]) {
        for [a, b, out] in ands.iter().flat_map(Recorded::each) {
            self.inputs.push([self.labels[a], self.labels[b]]);
            self.slots.push(out);
        }
    }

    fn flush(&mut self) {
        let n = self.slots.len();
        let done = self.outputs.len();
        let mut out = Secret::new([Block::ZERO; BATCH]);
        let out = &mut out[..n];
        let tables = self.tables.gates_mut(done, n);
        let gates = &self.gates[done..done + n];
        garble(self.hash, self.delta, gates, &self.inputs, tables, out);
        self.macs.extend(gates.iter().map(GateMacs::from));
        for (slot, label) in self.slots.drain(..).zip(out.iter()) {
            self.labels[slot] = *label;
        }
        self.outputs.extend_from_slice(out);
        self.inputs.clear();
    }
}
