//! The Party API of one request over a session.

use cenote_circuit::{Gates, Rows, runs};
use cenote_net::{Fault, Phase, Role};
use zeroize::Zeroizing;

use super::evaluator::Replay;
use super::messages::ResultHash;
use super::{Core, EvaluatorSide, GarblerSide, MAX_PIECE, Side};
use crate::backends::jimu::garbled_core::Conflict;
use crate::backends::jimu::ihash::Label;
use crate::parts::chunk::{Kind, Recorder};
use crate::parts::wires::Wire;
use crate::party::{Checked, Party, Receivers, expect_input};

/// Runs the job of a request again in the clear, beside this run.
pub(super) type Beside<'s> = dyn Fn(Replay) -> Result<(), Fault> + 's;

/// One party of one request.
pub struct JimuParty<'s> {
    core: &'s mut Core,
    beside: &'s Beside<'s>,
    recorder: Recorder,
    /// A call failed: nothing may follow.
    faulted: bool,
}

impl<'s> JimuParty<'s> {
    pub(super) fn new(core: &'s mut Core, beside: &'s Beside<'s>) -> JimuParty<'s> {
        core.channel.set_phase(Phase::Online);
        JimuParty { core, beside, recorder: Recorder::new(), faulted: false }
    }

    /// Runs one step; a fault ends the session for the peer as well.
    fn guarded<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.faulted {
            return Err(session_failed());
        }
        step(self).inspect_err(|_| {
            self.faulted = true;
            self.core.channel.abort();
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

    /// Solders and evaluates the recorded chunk, with refills before it if cores are missing.
    fn flush(&mut self) -> Result<(), Fault> {
        let chunk = self.recorder.take();
        let slots = self.recorder.slots_used();
        let Core { channel, side, .. } = &mut *self.core;
        match side {
            Side::Garbler(side) => {
                let GarblerSide { supply, request } = &mut **side;
                for (pool, count) in supply.params().demand(&chunk).into_iter().enumerate() {
                    while supply.ready(pool) < count {
                        supply.refill(channel, pool, Phase::Online)?;
                    }
                }
                if chunk.ands > 0 {
                    supply.reserve_escrow(channel, 0)?;
                }
                channel.set_phase(Phase::Online);
                request.resize(slots);
                request.chunk(channel, supply, &chunk)
            }
            Side::Evaluator(side) => {
                let EvaluatorSide { supply, request, conflict } = &mut **side;
                for (pool, count) in supply.params().demand(&chunk).into_iter().enumerate() {
                    while supply.ready(pool) < count {
                        supply.refill(channel, pool, Phase::Online)?;
                    }
                }
                if chunk.ands > 0 {
                    supply.reserve_escrow(channel, 0)?;
                }
                channel.set_phase(Phase::Online);
                request.resize(slots);
                request.chunk(channel, supply, &chunk, conflict)?;
                self.recover()
            }
        }
    }

    /// Starts the replay, if Delta is known. Before the first chunk of a request nothing is wrong.
    fn recover(&mut self) -> Result<(), Fault> {
        let Side::Evaluator(side) = &mut self.core.side else { return Ok(()) };
        let EvaluatorSide { supply, request, conflict: Some(conflict) } = &mut **side else {
            return Ok(());
        };
        let replay = request.recovery.replay(&conflict.delta(), supply.hash());
        replay.map_or(Ok(()), self.beside)
    }

    /// Brings every wire up to date. All checks are done as messages come: there are none to run.
    fn drain(&mut self) -> Result<(), Fault> {
        if self.recorder.is_empty() { Ok(()) } else { self.flush() }
    }

    /// Inputs of at most [`MAX_PIECE`] bits.
    fn input_piece(&mut self, owner: Role, len: usize, bits: &[bool]) -> Result<Vec<Wire>, Fault> {
        let wires = self.recorder.wires(len);
        let slots: Vec<usize> = wires.iter().map(Wire::slot).collect();
        let used = self.recorder.slots_used();
        let Core { channel, side, .. } = &mut *self.core;
        match (side, owner) {
            (Side::Garbler(side), Role::Garbler) => {
                let GarblerSide { supply, request } = &mut **side;
                request.resize(used);
                request.own_inputs(channel, supply, &slots, bits)?;
            }
            (Side::Garbler(side), Role::Evaluator) => {
                let GarblerSide { supply, request } = &mut **side;
                request.resize(used);
                request.peer_inputs(channel, supply, &slots)?;
            }
            (Side::Evaluator(side), Role::Garbler) => {
                let EvaluatorSide { supply, request, .. } = &mut **side;
                request.resize(used);
                request.peer_inputs(channel, supply, &slots)?;
            }
            (Side::Evaluator(side), Role::Evaluator) => {
                let EvaluatorSide { supply, request, .. } = &mut **side;
                request.resize(used);
                request.own_inputs(channel, supply, &slots, bits)?;
            }
        }
        Ok(wires)
    }

    /// A reveal of at most [`MAX_PIECE`] wires. `instead` are their values in the clear, if this is
    /// an evaluator that has to put those out.
    fn open_piece(
        &mut self,
        to: Receivers,
        slots: &[usize],
        instead: Option<&[bool]>,
    ) -> Result<Option<Vec<bool>>, Fault> {
        let Core { channel, side, session, reports, .. } = &mut *self.core;
        let hash = ResultHash { session: *session, number: *reports };
        *reports += 1;
        match side {
            Side::Garbler(side) => {
                let GarblerSide { supply, request } = &mut **side;
                if to.include(Role::Evaluator) {
                    request.reveal_to_peer(channel, supply.perm_blocks(), slots)?;
                } else {
                    request.bond(channel, supply, slots)?;
                }
                match to {
                    Receivers::Evaluator => channel.flush().map(|()| None),
                    _ => request.revealed(channel, &hash, &supply.delta(), slots).map(Some),
                }
            }
            Side::Evaluator(side) => {
                let EvaluatorSide { supply, request, conflict } = &mut **side;
                let delta = conflict.as_ref().map_or(Label::ZERO, Conflict::delta);
                let perms = Zeroizing::new(if to.include(Role::Evaluator) {
                    request.learn(channel, supply, slots)?
                } else {
                    request.bond(channel, supply, slots, &delta)?
                });
                if to.include(Role::Garbler) {
                    request.report(channel, &hash, slots, instead, (&perms, &delta))?;
                    channel.flush()?;
                }
                let garbled = || request.values(slots, &perms);
                let values = instead.map_or_else(garbled, <[bool]>::to_vec);
                Ok(to.include(Role::Evaluator).then_some(values))
            }
        }
    }

    /// An evaluator that recovers: the values of the coming reveal, of `wires` wires, in the clear.
    fn in_the_clear(&mut self, wires: usize) -> Result<Option<Zeroizing<Vec<bool>>>, Fault> {
        let Core { channel, side, .. } = &mut *self.core;
        match side {
            Side::Garbler(_) => Ok(None),
            Side::Evaluator(side) => side.request.recovery.reveal(channel, wires),
        }
    }
}

impl Drop for JimuParty<'_> {
    fn drop(&mut self) {
        match &mut self.core.side {
            Side::Garbler(side) => side.request = Default::default(),
            Side::Evaluator(side) => side.request = Default::default(),
        }
    }
}

#[cfg(test)]
impl JimuParty<'_> {
    /// Shows a test what is secret in the session and at a wire.
    pub(crate) fn secrets_of(
        &self,
        wire: &Wire,
        show: &mut impl FnMut(&'static str, &cenote_prim::Block),
    ) {
        match &self.core.side {
            Side::Garbler(side) => {
                let (delta, label) = (side.supply.delta(), side.request.label_of(wire.slot()));
                show("delta", &delta.0[0]);
                show("key of the delta", &delta.key());
                show("label", &label.0[0]);
                show("key of a label", &label.key());
            }
            Side::Evaluator(side) => {
                let label = side.request.label_of(wire.slot());
                show("active label", &label.0[0]);
                show("key of an active label", &label.key());
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

impl Gates for JimuParty<'_> {
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

    fn and_groups(&mut self, selects: &[Wire], bits: &[Wire]) -> Result<Vec<Wire>, Fault> {
        let muxes = self.core.side.params().muxes.iter();
        let pools: Vec<usize> = muxes.map(|(shape, _)| shape.ands()).collect();
        let mut out = Vec::with_capacity(bits.len());
        for (select, mut rest) in runs(selects, bits) {
            for &width in &pools {
                while let Some((lanes, others)) = rest.split_at_checked(width) {
                    self.make_room()?;
                    let wires = self.recorder.push_core(select, lanes);
                    out.extend(wires.map_or_else(|| self.guarded(|_| Err(foreign_wire())), Ok)?);
                    rest = others;
                }
            }
            for lane in rest {
                out.push(self.and(select, lane)?);
            }
        }
        Ok(out)
    }
}

impl<'s> Party for JimuParty<'s> {
    type Checked<'p>
        = JimuChecked<'p, 's>
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
            if let (Side::Evaluator(side), Role::Evaluator) = (&mut party.core.side, owner) {
                side.request.recovery.own_input(own);
            }
            let mut wires = Vec::with_capacity(len);
            for first in (0..len).step_by(MAX_PIECE) {
                let piece = MAX_PIECE.min(len - first);
                let bits = own.get(first..first + piece).unwrap_or_default();
                wires.extend(party.input_piece(owner, piece, bits)?);
            }
            Ok(wires)
        })
    }

    fn check(&mut self) -> Result<JimuChecked<'_, 's>, Fault> {
        self.guarded(Self::drain)?;
        Ok(JimuChecked(self))
    }
}

/// A party whose checks all ran, with nothing recorded since.
pub struct JimuChecked<'p, 's>(&'p mut JimuParty<'s>);

impl Checked<Wire> for JimuChecked<'_, '_> {
    fn open(self, to: Receivers, wires: &[Wire]) -> Result<Option<Vec<bool>>, Fault> {
        self.0.guarded(|party| {
            let slots = party.recorder.slots(wires).ok_or_else(foreign_wire)?;
            let clear = party.in_the_clear(slots.len())?;
            let mut values = to.include(party.core.role).then(Vec::new);
            for (i, piece) in slots.chunks(MAX_PIECE).enumerate() {
                let clear = clear.as_ref().map(|clear| &clear[i * MAX_PIECE..][..piece.len()]);
                let opened = party.open_piece(to, piece, clear)?;
                if let (Some(values), Some(opened)) = (&mut values, opened) {
                    values.extend(opened);
                }
            }
            Ok(values)
        })
    }
}
