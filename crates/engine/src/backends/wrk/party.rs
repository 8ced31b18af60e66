//! The Party API of one request over a `wrk` session.

use cenote_circuit::{Gates, Rows};
use cenote_net::{Fault, Phase, Role};
use cenote_prim::{Block, Secret, bits};

use super::Core;
use super::evaluator::Evaluator;
use super::garbler::Garbler;
use super::masks::Masks;
use crate::backends::wrk::authenticated_half_gates::Active;
use crate::backends::wrk::share::Share;
use crate::backends::wrk::supply::MAX_TAKE;
use crate::backends::wrk::tags;
use crate::parts::chunk::{Kind, Recorder};
use crate::parts::wires::Wire;
use crate::party::{Checked, Party, Receivers, expect_input};

/// One party of one request.
pub struct WrkParty<'s> {
    core: &'s mut Core,
    recorder: Recorder,
    masks: Masks,
    side: Side,
    /// A call failed: nothing may follow.
    faulted: bool,
}

enum Side {
    Garbler(Garbler),
    Evaluator(Evaluator),
}

impl<'s> WrkParty<'s> {
    pub(super) fn new(core: &'s mut Core) -> WrkParty<'s> {
        let side = match core.role {
            Role::Garbler => Side::Garbler(Garbler::default()),
            Role::Evaluator => Side::Evaluator(Evaluator::default()),
        };
        core.channel.set_phase(Phase::Online);
        let faulted = core.in_flight;
        WrkParty { core, recorder: Recorder::new(), masks: Masks::default(), side, faulted }
    }

    /// Runs one step; a fault ends the session for the peer as well.
    fn guarded<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.faulted {
            return Err(session_failed());
        }
        step(self).map_err(|fault| {
            self.faulted = true;
            self.core.fail(fault)
        })
    }

    #[inline]
    fn gate(&mut self, kind: Kind, a: &Wire, b: &Wire) -> Result<Wire, Fault> {
        self.make_room()?;
        match self.recorder.push(kind, a, b) {
            Some(wire) => Ok(wire),
            None => self.guarded(|_| Err(foreign_wire())),
        }
    }

    /// Flushes a full chunk: a gate is about to be recorded.
    #[inline]
    fn make_room(&mut self) -> Result<(), Fault> {
        if self.faulted {
            return Err(session_failed());
        }
        if self.recorder.is_full() { self.guarded(Self::flush) } else { Ok(()) }
    }

    /// Masks the recorded chunk, opens its f and g, and moves the chunks in flight on by one.
    fn flush(&mut self) -> Result<(), Fault> {
        let chunk = self.recorder.take();
        if self.core.depot.would_talk(chunk.ands) {
            // A refill on the same connection: nothing may be in flight.
            self.settle()?;
        }
        self.core.in_flight = true;
        self.resize();
        let Core { depot, channel, .. } = &mut *self.core;
        let beaver =
            depot.take_triples(channel, chunk.ands, |triples| self.masks.pass(chunk, triples))?;
        channel.set_phase(Phase::Online);
        self.core.send_beaver(&beaver)?;
        match &mut self.side {
            Side::Garbler(garbler) => garbler.step(self.core, beaver),
            Side::Evaluator(evaluator) => evaluator.step(self.core, beaver),
        }
    }

    /// Garbles, evaluates and checks all that is in flight.
    fn settle(&mut self) -> Result<(), Fault> {
        match &mut self.side {
            Side::Garbler(garbler) => garbler.settle(self.core),
            Side::Evaluator(evaluator) => evaluator.settle(self.core),
        }
    }

    /// Brings every wire up to date, all checks done.
    fn drain(&mut self) -> Result<(), Fault> {
        if !self.recorder.is_empty() {
            self.flush()?;
        }
        self.settle()?;
        self.core.in_flight = false;
        Ok(())
    }

    fn resize(&mut self) {
        let slots = self.recorder.slots_used();
        self.masks.shares.resize(slots, Share::ZERO);
        match &mut self.side {
            Side::Garbler(garbler) => garbler.resize(slots),
            Side::Evaluator(evaluator) => evaluator.resize(slots),
        }
    }

    /// Inputs of at most [`MAX_TAKE`] bits.
    fn input_piece(&mut self, owner: Role, len: usize, bits: &[bool]) -> Result<Vec<Wire>, Fault> {
        let shares = self.core.depot.take_shares(&mut self.core.channel, len)?;
        self.core.channel.set_phase(Phase::Online);
        let wires = self.recorder.wires(len);
        self.resize();
        for (wire, share) in wires.iter().zip(shares.iter()) {
            self.masks.shares[wire.slot()] = *share;
        }
        let masked = self.masked_inputs(owner, &shares, bits)?;
        match &mut self.side {
            Side::Garbler(garbler) => {
                let delta = self.core.depot.delta();
                let mut labels = Secret::new(vec![Block::ZERO; len]);
                self.core.prg.fill(&mut labels);
                for ((wire, label), &masked) in wires.iter().zip(labels.iter_mut()).zip(&masked) {
                    garbler.labels[wire.slot()] = *label;
                    garbler.masked[wire.slot()] = masked;
                    *label ^= delta.times(masked);
                }
                self.core.channel.send(tags::INPUT_LABELS, Block::as_bytes(&labels))?;
            }
            Side::Evaluator(evaluator) => {
                let mut labels = Secret::new(vec![Block::ZERO; len]);
                self.core
                    .channel
                    .recv_into(tags::INPUT_LABELS, Block::as_bytes_mut(&mut labels))?;
                for ((wire, label), masked) in wires.iter().zip(labels.iter()).zip(masked) {
                    evaluator.active[wire.slot()] = Active { label: *label, masked };
                }
            }
        }
        Ok(wires)
    }

    /// Lambda = x xor lambda: the owner learns the peer's shares of the masks and sends Lambda.
    fn masked_inputs(
        &mut self,
        owner: Role,
        shares: &[Share],
        bits: &[bool],
    ) -> Result<Vec<bool>, Fault> {
        let core = &mut *self.core;
        if owner == core.role {
            let keys: Secret<Vec<Block>> = shares.iter().map(|share| share.key).collect();
            let peer = core.open_from_peer(tags::INPUT_MASK, &keys)?;
            let masked: Vec<bool> = (bits.iter().zip(shares).enumerate())
                .map(|(i, (bit, share))| bit ^ share.bit() ^ bits::get(&peer, i))
                .collect();
            core.channel.send(tags::INPUT_BITS, &bits::pack(masked.iter().copied()))?;
            Ok(masked)
        } else {
            let macs: Secret<Vec<Block>> = shares.iter().map(|share| share.mac).collect();
            core.open_to_peer(tags::INPUT_MASK, &macs)?;
            let packed = core.channel.recv(tags::INPUT_BITS, bits::packed_len(shares.len()))?;
            if !bits::is_canonical(&packed, shares.len()) {
                return Err(Fault::Misbehaved("wrk.input.format"));
            }
            Ok((0..shares.len()).map(|i| bits::get(&packed, i)).collect())
        }
    }

    /// One direction of a reveal: `to` learns the peer's shares of the masks.
    fn open_to(&mut self, to: Role, slots: &[usize]) -> Result<Option<Vec<bool>>, Fault> {
        let shares: Secret<Vec<Share>> =
            slots.iter().map(|&slot| self.masks.shares[slot]).collect();
        if to != self.core.role {
            let macs: Secret<Vec<Block>> = shares.iter().map(|share| share.mac).collect();
            self.core.open_to_peer(tags::OUTPUT_MASK, &macs)?;
            self.core.channel.flush()?;
            return Ok(None);
        }
        let keys: Secret<Vec<Block>> = shares.iter().map(|share| share.key).collect();
        let peer = self.core.open_from_peer(tags::OUTPUT_MASK, &keys)?;
        let masked = |slot: usize| match &self.side {
            Side::Garbler(garbler) => garbler.masked[slot],
            Side::Evaluator(evaluator) => evaluator.active[slot].masked,
        };
        let outputs = slots.iter().zip(shares.iter()).enumerate();
        Ok(Some(
            outputs.map(|(i, (&slot, s))| masked(slot) ^ s.bit() ^ bits::get(&peer, i)).collect(),
        ))
    }
}

#[cfg(test)]
impl WrkParty<'_> {
    /// Shows a test what is secret at a wire.
    pub(crate) fn secrets_of(&self, wire: &Wire, show: &mut impl FnMut(&'static str, &Block)) {
        let share = &self.masks.shares[wire.slot()];
        show("MAC of a mask", &share.mac);
        show("key of a mask", &share.key);
        match &self.side {
            Side::Garbler(garbler) => show("label", &garbler.labels[wire.slot()]),
            Side::Evaluator(evaluator) => {
                show("active label", &evaluator.active[wire.slot()].label)
            }
        }
    }
}

fn foreign_wire() -> Fault {
    Fault::Misuse("a wire of another request".into())
}

fn session_failed() -> Fault {
    Fault::Misuse("the session has failed".into())
}

impl Gates for WrkParty<'_> {
    type Wire = Wire;
    type Error = Fault;

    fn constant(&mut self, bit: bool) -> Result<Wire, Fault> {
        self.make_room()?;
        Ok(self.recorder.constant(bit))
    }

    #[inline]
    fn xor(&mut self, a: &Wire, b: &Wire) -> Result<Wire, Fault> {
        self.gate(Kind::Xor, a, b)
    }

    #[inline]
    fn not(&mut self, a: &Wire) -> Result<Wire, Fault> {
        self.gate(Kind::Not, a, a)
    }

    #[inline]
    fn and(&mut self, a: &Wire, b: &Wire) -> Result<Wire, Fault> {
        self.gate(Kind::And, a, b)
    }
}

impl<'s> Party for WrkParty<'s> {
    type Checked<'p>
        = WrkChecked<'p, 's>
    where
        Self: 'p;
    type Memory = Rows<Self::Wire>;

    fn role(&self) -> Role {
        self.core.role
    }

    fn input(
        &mut self,
        owner: Role,
        len: usize,
        bits: Option<&[bool]>,
    ) -> Result<Vec<Wire>, Fault> {
        let own = expect_input(self.core.role, owner, len, bits)?;
        self.guarded(|party| {
            party.drain()?;
            let mut wires = Vec::with_capacity(len);
            for first in (0..len).step_by(MAX_TAKE) {
                let piece = MAX_TAKE.min(len - first);
                let bits = own.get(first..first + piece).unwrap_or_default();
                wires.extend(party.input_piece(owner, piece, bits)?);
            }
            Ok(wires)
        })
    }

    fn check(&mut self) -> Result<WrkChecked<'_, 's>, Fault> {
        self.guarded(|party| party.drain().and_then(|()| party.core.depot.check()))?;
        Ok(WrkChecked(self))
    }
}

/// A party whose deferred checks all ran, with nothing recorded since.
pub struct WrkChecked<'p, 's>(&'p mut WrkParty<'s>);

impl Checked<Wire> for WrkChecked<'_, '_> {
    fn open(self, to: Receivers, wires: &[Wire]) -> Result<Option<Vec<bool>>, Fault> {
        self.0.guarded(|party| {
            let slots = party.recorder.slots(wires).ok_or_else(foreign_wire)?;
            let mut result = None;
            for role in [Role::Evaluator, Role::Garbler] {
                if to.include(role) {
                    // Every message leaves, whichever of them has this side's output.
                    let opened = party.open_to(role, &slots)?;
                    result = result.or(opened);
                }
            }
            Ok(result)
        })
    }
}
