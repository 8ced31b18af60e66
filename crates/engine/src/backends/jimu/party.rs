//! The Party API of one request over a session.

use cenote_net::{Fault, Phase, Role};
use cenote_prim::{Block, Secret};
use zeroize::Zeroizing;

use super::evaluator::{Escrows, Replay, Values};
use super::messages::ResultHash;
use super::{Core, EvaluatorSide, GarblerSide, MAX_PIECE, Side};
use crate::backends::jimu::garbled_core::Conflict;
use crate::backends::jimu::ihash::{Label, Message, Perm};
use crate::parts::chunk::Chunk;
use crate::parts::recording::{Executor, Recording, pieces};
use crate::party::Receivers;

/// Runs the job of a request again in the clear, beside this run.
pub(super) type Beside<'s> = dyn Fn(Replay) -> Result<(), Fault> + 's;

/// One party of one request.
pub type JimuParty<'s> = Recording<Request<'s>>;

/// A request, whose wires are in [`Core`] until it is dropped.
pub struct Request<'s> {
    core: &'s mut Core,
    beside: &'s Beside<'s>,
}

impl Core {
    /// The party of the next request.
    pub(super) fn party<'s>(&'s mut self, beside: &'s Beside<'s>) -> JimuParty<'s> {
        self.channels.control().set_phase(Phase::Online);
        Recording::new(Request { core: self, beside }, false)
    }
}

impl Executor for Request<'_> {
    fn role(&self) -> Role {
        self.core.role
    }

    fn fail(&mut self, fault: Fault) -> Fault {
        self.core.fail(fault)
    }

    fn core_widths(&self) -> Vec<usize> {
        self.core.side.params().muxes.iter().map(|(shape, _)| shape.ands()).collect()
    }

    fn resize(&mut self, slots: usize) {
        match &mut self.core.side {
            Side::Garbler(side) => side.request.resize(slots),
            Side::Evaluator(side) => side.request.resize(slots),
        }
    }

    /// Solders and evaluates a chunk, with refills before it if cores are missing.
    fn chunk(&mut self, chunk: Chunk) -> Result<(), Fault> {
        let Core { channels, side, .. } = &mut *self.core;
        let channel = channels.control();
        let wanted: Vec<_> = side.params().demand(&chunk).into_iter().enumerate().collect();
        match side {
            Side::Garbler(side) => {
                let GarblerSide { depot, request, .. } = &mut **side;
                depot.reserve(channel, &wanted, Phase::Online)?;
                channel.set_phase(Phase::Online);
                request.chunk(channel, depot, &chunk)
            }
            Side::Evaluator(side) => {
                let EvaluatorSide { depot, request, conflict, .. } = &mut **side;
                depot.reserve(channel, &wanted, Phase::Online)?;
                channel.set_phase(Phase::Online);
                request.chunk(channel, depot, &chunk, conflict)?;
                self.recover()
            }
        }
    }

    /// All checks are done as messages come: there are none to run.
    fn settle(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn input(&mut self, owner: Role, slots: &[usize], bits: &[bool]) -> Result<(), Fault> {
        let Core { channels, side, .. } = &mut *self.core;
        let channel = channels.control();
        let mut coming = slots.len();
        for (slots, bits) in pieces(slots, bits, MAX_PIECE) {
            match (&mut *side, owner) {
                (Side::Garbler(side), Role::Garbler) => {
                    side.request.own_inputs(channel, &mut side.depot, slots, bits, coming)?;
                }
                (Side::Garbler(side), Role::Evaluator) => {
                    side.request.peer_inputs(channel, &mut side.depot, slots, coming)?;
                }
                (Side::Evaluator(side), Role::Garbler) => {
                    side.request.peer_inputs(channel, &mut side.depot, slots, coming)?;
                }
                (Side::Evaluator(side), Role::Evaluator) => {
                    side.request.own_inputs(channel, &mut side.depot, slots, bits, coming)?;
                }
            }
            coming -= slots.len();
        }
        Ok(())
    }

    fn open(&mut self, to: Receivers, slots: &[usize]) -> Result<Option<Vec<bool>>, Fault> {
        let bound = if to.include(Role::Evaluator) { 0 } else { slots.len() };
        let (bonds, escrows) = self.bonds(bound)?;
        let clear = self.in_the_clear(slots.len(), escrows)?;
        let mut values = to.include(self.core.role).then(Vec::new);
        for (i, piece) in slots.chunks(MAX_PIECE).enumerate() {
            let place = i * MAX_PIECE..i * MAX_PIECE + piece.len();
            let clear = clear.as_ref().map(|[values, bits]| {
                (
                    &values[place.clone()],
                    if bits.is_empty() { &[][..] } else { &bits[place.clone()] },
                )
            });
            let each = bonds.len() / slots.len();
            let bonds = &bonds[place.start * each..place.end * each];
            let opened = self.open_piece(to, piece, bonds, clear)?;
            if let (Some(values), Some(opened)) = (&mut values, opened) {
                values.extend(opened);
            }
        }
        Ok(values)
    }

    fn keep(&mut self, name: &str, slots: &[usize]) -> Result<(), Fault> {
        let clear = self.in_the_clear(slots.len(), Escrows::default())?.map(|[values, _]| values);
        let Core { channels, side, .. } = &mut *self.core;
        let channel = channels.control();
        match side {
            Side::Garbler(side) => {
                let GarblerSide { depot, request, kept } = &mut **side;
                kept.room(name, slots.len())?;
                let (bonds, _) = depot.take_escrowed(channel, slots.len(), slots.len())?;
                channel.set_phase(Phase::Online);
                let bonds: &[Message] = bytemuck::cast_slice(&bonds);
                for (piece, bonds) in slots.chunks(MAX_PIECE).zip(bonds.chunks(MAX_PIECE)) {
                    request.bond(channel, depot.perm_blocks(), piece, bonds)?;
                }
                kept.keep(name, slots.len(), request.keep(slots))
            }
            Side::Evaluator(side) => {
                let EvaluatorSide { depot, request, kept, .. } = &mut **side;
                kept.room(name, slots.len())?;
                kept.keep(name, slots.len(), request.keep(channel, depot, slots, clear)?)
            }
        }
    }

    fn kept(&self, name: &str) -> Result<usize, Fault> {
        match &self.core.side {
            Side::Garbler(side) => side.kept.of(name).map(|(wires, _)| *wires),
            Side::Evaluator(side) => side.kept.of(name).map(|(wires, _)| *wires),
        }
    }

    fn restore(&mut self, kept: &[(&str, Vec<usize>)]) -> Result<(), Fault> {
        for (name, slots) in kept {
            match &mut self.core.side {
                Side::Garbler(side) => side.request.restore(slots, &side.kept.of(name)?.1),
                Side::Evaluator(side) => side.request.restore(slots, &side.kept.of(name)?.1),
            }
        }
        // They may be those of a bucket with the wrong label, and be revealed before any chunk.
        self.recover()
    }
}

impl Request<'_> {
    /// Starts the replay, if Delta is known. Nothing is wrong before the first chunk of a request and the first
    /// wires that it takes up.
    fn recover(&mut self) -> Result<(), Fault> {
        let Side::Evaluator(side) = &mut self.core.side else { return Ok(()) };
        let EvaluatorSide { depot, request, conflict: Some(conflict), .. } = &mut **side else {
            return Ok(());
        };
        let replay = request.recovery.replay(&conflict.delta(), depot.escrow());
        replay.map_or(Ok(()), self.beside)
    }

    /// So many wires in escrow, to which outputs to the garbler alone are bound: messages at the garbler, tags of permutation messages at the evaluator; and
    /// what the latter has of them.
    fn bonds(&mut self, wires: usize) -> Result<(Secret<Vec<Block>>, Escrows), Fault> {
        if wires == 0 {
            return Ok(Default::default());
        }
        let Core { channels, side, .. } = &mut *self.core;
        let channel = channels.control();
        let bonds = match side {
            Side::Garbler(side) => {
                let (messages, _) = side.depot.take_escrowed(channel, wires, wires)?;
                (messages, Escrows::default())
            }
            Side::Evaluator(side) => {
                let escrows = side.depot.take_escrowed(channel, wires, wires)?;
                (escrows.tags().map(|tag| tag.perm).collect(), escrows)
            }
        };
        channel.set_phase(Phase::Online);
        Ok(bonds)
    }

    /// A reveal of at most [`MAX_PIECE`] wires, bound to `bonds` if it is to the garbler alone. `clear` are their values, and the permutation bits of the
    /// bonds, if this is an evaluator that has to put those out.
    fn open_piece(
        &mut self,
        to: Receivers,
        slots: &[usize],
        bonds: &[Block],
        clear: Option<(&[bool], &[bool])>,
    ) -> Result<Option<Vec<bool>>, Fault> {
        let Core { channels, side, session, reports, .. } = &mut *self.core;
        let channel = channels.control();
        let hash = ResultHash { session: *session, number: *reports };
        *reports += 1;
        match side {
            Side::Garbler(side) => {
                let GarblerSide { depot, request, .. } = &mut **side;
                if to.include(Role::Evaluator) {
                    request.reveal_to_peer(channel, depot.perm_blocks(), slots)?;
                } else {
                    let bonds = bytemuck::cast_slice(bonds);
                    request.bond(channel, depot.perm_blocks(), slots, bonds)?;
                }
                match to {
                    Receivers::Evaluator => channel.flush().map(|()| None),
                    _ => request.revealed(channel, &hash, &depot.delta(), slots).map(Some),
                }
            }
            Side::Evaluator(side) => {
                let EvaluatorSide { depot, request, conflict, .. } = &mut **side;
                let delta = conflict.as_ref().map_or(Label::ZERO, Conflict::delta);
                let (instead, bits) = clear.unzip();
                let perms = if to.include(Role::Evaluator) {
                    request.learn(channel, depot, slots)?
                } else {
                    request.sums(channel, depot, slots, bonds)?
                };
                let mut perms: Values = Zeroizing::new(perms.iter().map(Perm::bit).collect());
                let bonds = bits.unwrap_or_default();
                perms.iter_mut().zip(bonds).for_each(|(perm, bond)| *perm ^= bond);
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

    /// An evaluator that recovers: the values of the coming reveal, of `wires` wires, in the clear, and the permutation bits of `bonds`.
    fn in_the_clear(&mut self, wires: usize, bonds: Escrows) -> Result<Option<[Values; 2]>, Fault> {
        let Core { channels, side, .. } = &mut *self.core;
        let channel = channels.control();
        match side {
            Side::Garbler(_) => Ok(None),
            Side::Evaluator(side) => side.request.recovery.reveal(channel, wires, bonds),
        }
    }
}

impl Drop for Request<'_> {
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
        wire: &crate::Wire,
        show: &mut impl FnMut(&'static str, &cenote_prim::Block),
    ) {
        match &self.executor.core.side {
            Side::Garbler(side) => {
                let (delta, label) = (side.depot.delta(), side.request.label_of(wire.slot()));
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
