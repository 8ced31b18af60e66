//! The garbler of a request: solders the program's wires to ready cores.

mod compact;
mod store;
mod supply;

use std::ops::{Deref, DerefMut};

use cenote_net::{Channel, Fault};
use cenote_prim::{Growing, Secret, bits};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::messages::{self, ResultHash};
use super::{JimuParams, MAX_PIECE, depot};
use crate::backends::jimu::garbled_core::{Shape, outer_solder};
use crate::backends::jimu::ihash::{Label, Message, Perm, encode};
use crate::backends::jimu::tags;
use crate::parts::chunk::{Chunk, Gate, Kind, groups};

pub(super) use supply::Supply;

/// The garbler's ready items: messages of the base wires of cores, messages of wires in escrow, labels of wires for inputs.
pub(super) struct Depot {
    depot: depot::Depot<Supply>,
    delta: Secret<Label>,
    perm_blocks: usize,
}

impl Depot {
    pub(super) fn new(params: JimuParams, supply: Supply) -> Depot {
        let (delta, perm_blocks) = (Secret::new(supply.delta()), supply.perm_blocks());
        Depot { depot: depot::Depot::new(params, supply.shelves(), supply), delta, perm_blocks }
    }

    /// Delta between the two labels of every wire.
    pub(super) fn delta(&self) -> Label {
        *self.delta
    }

    /// Blocks of a permutation message on the wire.
    pub(super) const fn perm_blocks(&self) -> usize {
        self.perm_blocks
    }
}

impl Deref for Depot {
    type Target = depot::Depot<Supply>;

    fn deref(&self) -> &depot::Depot<Supply> {
        &self.depot
    }
}

impl DerefMut for Depot {
    fn deref_mut(&mut self) -> &mut depot::Depot<Supply> {
        &mut self.depot
    }
}

/// The garbler's live wires, by slot: value = masked value + permutation bit + flip.
#[derive(Default)]
pub(super) struct Garbler {
    wires: Growing<Message>,
    flips: Vec<bool>,
    solders: Secret<Vec<Message>>,
    frame: Vec<u8>,
}

/// Wires between two requests, with their flips.
pub(super) type KeptWires = Secret<Vec<(Message, bool)>>;

impl Garbler {
    #[cfg(test)]
    pub(super) fn label_of(&self, slot: usize) -> Label {
        self.wires[slot].label
    }

    pub(super) fn resize(&mut self, slots: usize) {
        self.wires.grow(slots);
        self.flips.resize(slots, false);
    }

    /// Opens the outer solders of a chunk.
    pub(super) fn chunk(
        &mut self,
        channel: &mut Channel,
        depot: &Depot,
        chunk: &Chunk,
    ) -> Result<(), Fault> {
        let (delta, perm_blocks) = (depot.delta(), depot.perm_blocks());
        let shapes: Vec<Shape> = depot.params().cores().map(|(shape, _)| shape).collect();
        let counts = depot.params().demand(chunk);
        let mut ready = depot.ready()?;
        let leases = ready.take_cores(&counts)?;
        let rest = leases.iter().map(|lease| bytemuck::cast_slice(lease)).collect();
        let mut cores = Cores { shapes: &shapes, rest };
        self.solders.clear();
        for group in groups(&chunk.gates) {
            if group[0].kind == Kind::And {
                self.solder(group, &mut cores, &delta)?;
            } else {
                group[0].linear(&mut self.wires, Message::ZERO);
                group[0].linear(&mut self.flips, true);
            }
        }
        drop(leases);
        drop(ready);
        depot.taken();
        for piece in self.solders.chunks(MAX_PIECE) {
            self.frame.clear();
            encode(piece, perm_blocks, &mut self.frame);
            channel.send(tags::JIMU_OUTER, &self.frame)?;
        }
        Ok(())
    }

    /// Solders the inputs of the ANDs of one core; its outputs become live wires.
    fn solder(
        &mut self,
        lanes: &[Gate],
        cores: &mut Cores<'_>,
        delta: &Label,
    ) -> Result<(), Fault> {
        let (inputs, outputs) = cores.next(lanes.len())?;
        let shared = lanes.first().map(|gate| gate.a);
        let slots = shared.into_iter().chain(lanes.iter().map(|gate| gate.b));
        for (slot, base) in slots.zip(inputs) {
            let (live, flip) = (&self.wires[slot as usize], self.flips[slot as usize]);
            self.solders.push(outer_solder(live, flip, base, delta));
        }
        for (gate, output) in lanes.iter().zip(outputs) {
            self.wires[gate.out as usize] = *output;
            self.flips[gate.out as usize] = false;
        }
        Ok(())
    }

    /// The garbler's own inputs, of so many that are coming: the active labels of wires in escrow.
    pub(super) fn own_inputs(
        &mut self,
        channel: &mut Channel,
        depot: &mut Depot,
        slots: &[usize],
        values: &[bool],
        coming: usize,
    ) -> Result<(), Fault> {
        let delta = depot.delta();
        let (escrowed, _) = depot.take_escrowed(channel, slots.len(), coming)?;
        let wires: &[Message] = bytemuck::cast_slice(&escrowed);
        channel.set_phase(cenote_net::Phase::Online);
        let mut labels = Vec::with_capacity(slots.len());
        for ((&slot, wire), &value) in slots.iter().zip(wires).zip(values) {
            labels.push(wire.label ^ delta.times(value ^ wire.perm.bit()));
            (self.wires[slot], self.flips[slot]) = (*wire, false);
        }
        channel.send(tags::JIMU_LABELS, bytemuck::cast_slice(&labels))
    }

    /// The evaluator's inputs, of so many that are coming: it announces them masked by its choice bits.
    pub(super) fn peer_inputs(
        &mut self,
        channel: &mut Channel,
        depot: &mut Depot,
        slots: &[usize],
        coming: usize,
    ) -> Result<(), Fault> {
        let wires = depot.take_inputs(channel, slots.len(), coming)?;
        let labels: &[Label] = bytemuck::cast_slice(&wires);
        channel.set_phase(cenote_net::Phase::Online);
        let masked = channel.recv(tags::JIMU_CHOICES, bits::packed_len(slots.len()))?;
        if !bits::is_canonical(&masked, slots.len()) {
            return Err(Fault::Misbehaved("jimu.format"));
        }
        for (i, (&slot, &label)) in slots.iter().zip(labels).enumerate() {
            self.wires[slot] = Message { label, perm: Perm::ZERO };
            self.flips[slot] = bits::get(&masked, i);
        }
        Ok(())
    }

    /// Opens the permutation messages of `slots` to the evaluator.
    pub(super) fn reveal_to_peer(
        &mut self,
        channel: &mut Channel,
        perm_blocks: usize,
        slots: &[usize],
    ) -> Result<(), Fault> {
        let perms: Vec<Perm> = slots.iter().map(|&slot| self.wires[slot].perm).collect();
        channel.send(tags::JIMU_PERMS, &messages::encode_perms(&perms, perm_blocks))
    }

    /// Solders the permutation messages of `slots` to those of `bonds`, wires in escrow, for a reveal to the garbler
    /// alone and for wires that are kept.
    pub(super) fn bond(
        &mut self,
        channel: &mut Channel,
        perm_blocks: usize,
        slots: &[usize],
        bonds: &[Message],
    ) -> Result<(), Fault> {
        let sums = slots.iter().zip(bonds);
        let perms: Vec<Perm> =
            sums.map(|(&slot, wire)| self.wires[slot].perm ^ wire.perm).collect();
        channel.send(tags::JIMU_BOND, &messages::encode_perms(&perms, perm_blocks))
    }

    /// What is kept of `slots`.
    pub(super) fn keep(&self, slots: &[usize]) -> KeptWires {
        slots.iter().map(|&slot| (self.wires[slot], self.flips[slot])).collect()
    }

    pub(super) fn restore(&mut self, slots: &[usize], wires: &KeptWires) {
        for (&slot, &(wire, flip)) in slots.iter().zip(wires.iter()) {
            (self.wires[slot], self.flips[slot]) = (wire, flip);
        }
    }

    /// The values of `slots` by the evaluator's report, whose labels must be right.
    pub(super) fn revealed(
        &mut self,
        channel: &mut Channel,
        hash: &ResultHash,
        delta: &Label,
        slots: &[usize],
    ) -> Result<Vec<bool>, Fault> {
        let message = channel.recv(tags::JIMU_RESULT, messages::result_len(slots.len()))?;
        let (masked, proof) = message.split_at(bits::packed_len(slots.len()));
        if !bits::is_canonical(masked, slots.len()) {
            return Err(Fault::Misbehaved("jimu.format"));
        }
        let key = |(i, &slot): (usize, &usize)| {
            self.wires[slot].label.key() ^ delta.key().times(bits::get(masked, i))
        };
        let keys = Zeroizing::new(slots.iter().enumerate().map(key).collect::<Vec<_>>());
        if !bool::from(hash.of(masked, &keys).to_bytes().ct_eq(proof)) {
            return Err(Fault::Misbehaved("jimu.output.result"));
        }
        let value = |(i, &slot): (usize, &usize)| {
            bits::get(masked, i) ^ self.wires[slot].perm.bit() ^ self.flips[slot]
        };
        Ok(slots.iter().enumerate().map(value).collect())
    }
}

/// The ready cores of a chunk, pool by pool.
struct Cores<'a> {
    shapes: &'a [Shape],
    rest: Vec<&'a [Message]>,
}

impl<'a> Cores<'a> {
    /// Input and output wires of the base of the next core of so many ANDs.
    fn next(&mut self, ands: usize) -> Result<(&'a [Message], &'a [Message]), Fault> {
        let pool = self.shapes.iter().position(|shape| shape.ands() == ands);
        let pool = pool.ok_or_else(miscounted)?;
        let shape = self.shapes[pool];
        let next = self.rest[pool].split_at_checked(shape.wires());
        let (core, rest) = next.ok_or_else(miscounted)?;
        self.rest[pool] = rest;
        Ok(core.split_at(shape.inputs()))
    }
}

/// Chunks count their cores when they are recorded.
fn miscounted() -> Fault {
    Fault::Internal("a chunk takes more cores than it counted".into())
}
