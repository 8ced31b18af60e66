//! The Party API of one request over a `wrk` session.

use cenote_net::{Fault, Phase, Role};
use cenote_prim::{Block, Secret, bits};

use super::Core;
use super::evaluator::Evaluator;
use super::garbler::Garbler;
use super::masks::Masks;
use crate::backends::wrk::authenticated_half_gates::Active;
use crate::backends::wrk::resting::{Corrections, Resting, moved};
use crate::backends::wrk::share::Share;
use crate::backends::wrk::supply::MAX_TAKE;
use crate::backends::wrk::tags;
use crate::parts::chunk::Chunk;
use crate::parts::recording::{Executor, PackedWires, Recording, pieces};
use crate::party::{Receivers, unlike};

/// One party of one request.
pub type WrkParty<'s> = Recording<Request<'s>>;

/// A request: masks, labels and masked values of its live wires, by slot.
pub struct Request<'s> {
    core: &'s mut Core,
    masks: Masks,
    side: Side,
    /// Those that came after the last chunk, in their order.
    inputs: Vec<Input>,
    /// Bits of these.
    begun: usize,
}

/// Bits of an input whose masks are chosen and, by the peer of their owner, opened; the rest is [`Request::finish_inputs`].
struct Input {
    owner: Role,
    slots: Vec<usize>,
    shares: Secret<Vec<Share>>,
    /// At the owner.
    bits: Secret<Vec<bool>>,
}

enum Side {
    Garbler(Garbler),
    Evaluator(Evaluator),
}

impl Core {
    /// The party of the next request.
    pub(super) fn party(&mut self) -> WrkParty<'_> {
        let side = match self.role {
            Role::Garbler => Side::Garbler(Garbler::default()),
            Role::Evaluator => Side::Evaluator(Evaluator::default()),
        };
        self.channel.set_phase(Phase::Online);
        let faulted = self.in_flight;
        let request =
            Request { core: self, masks: Masks::default(), side, inputs: Vec::new(), begun: 0 };
        Recording::new(request, faulted)
    }

    /// Adds the corrections of both sides to so many wires that come back; the garbler's go first, so that neither side waits for room on the line.
    fn exchange_corrections(
        &mut self,
        own: Vec<u8>,
        wires: usize,
        said: &mut Corrections,
    ) -> Result<(), Fault> {
        let (channel, len) = (&mut self.channel, bits::packed_len(wires));
        if self.role == Role::Garbler {
            channel.send(tags::KEPT_BITS, &own)?;
            channel.flush()?;
        }
        let peer = Corrections::checked(channel.recv(tags::KEPT_BITS, len)?, wires)?;
        if self.role == Role::Evaluator {
            channel.send(tags::KEPT_BITS, &own)?;
            channel.flush()?;
        }
        let (garbler, evaluator) = match self.role {
            Role::Garbler => (own, peer),
            Role::Evaluator => (peer, own),
        };
        said.garbler.extend(garbler);
        said.evaluator.extend(evaluator);
        Ok(())
    }

    /// Sends the own proof, the evaluator first, and checks the peer's.
    fn prove(&mut self, [own, expected]: [Block; 2]) -> Result<(), Fault> {
        if self.role == Role::Evaluator {
            self.channel.send(tags::KEPT_PROOF, &own.to_bytes())?;
            self.channel.flush()?;
        }
        let mut proof = [0; 16];
        self.channel.recv_into(tags::KEPT_PROOF, &mut proof)?;
        if !expected.ct_eq(Block::from_bytes(proof)) {
            return Err(Fault::Misbehaved("wrk.kept"));
        }
        if self.role == Role::Garbler {
            self.channel.send(tags::KEPT_PROOF, &own.to_bytes())?;
            self.channel.flush()?;
        }
        Ok(())
    }
}

impl Executor for Request<'_> {
    const ROWS_OF_ANDS: bool = true;

    fn role(&self) -> Role {
        self.core.role
    }

    fn fail(&mut self, fault: Fault) -> Fault {
        self.core.fail(fault)
    }

    fn resize(&mut self, slots: usize) {
        self.masks.shares.grow(slots);
        match &mut self.side {
            Side::Garbler(garbler) => garbler.resize(slots),
            Side::Evaluator(evaluator) => evaluator.resize(slots),
        }
    }

    /// Masks the chunk, opens its f and g, and moves the chunks in flight on by one.
    fn chunk(&mut self, chunk: Chunk) -> Result<(), Fault> {
        self.finish_inputs()?;
        if self.core.depot.would_talk(chunk.ands, 0) {
            // A refill on the same connection: nothing may be in flight.
            self.settle()?;
        }
        self.core.in_flight = true;
        let Core { depot, channel, role, .. } = &mut *self.core;
        let (workers, masks) = (depot.workers(), &mut self.masks);
        let (width, role) = (depot.params().leaky, *role);
        let (beaver, opening) = depot.take_triples(channel, chunk.ands, |triples, openings| {
            workers.one(|| {
                let beaver = masks.pass(chunk, triples, width, role);
                let opening = (beaver.ands() > 0).then(|| openings.open(&beaver.macs));
                (beaver, opening)
            })
        })?;
        channel.set_phase(Phase::Online);
        if let Some(opening) = opening {
            channel.send(tags::BEAVER_OPEN, &opening)?;
        }
        match &mut self.side {
            Side::Garbler(garbler) => garbler.step(self.core, beaver),
            Side::Evaluator(evaluator) => evaluator.step(self.core, beaver),
        }
    }

    /// Finishes inputs, and garbles, evaluates and checks all that is in flight.
    fn settle(&mut self) -> Result<(), Fault> {
        self.finish_inputs()?;
        match &mut self.side {
            Side::Garbler(garbler) => garbler.settle(self.core)?,
            Side::Evaluator(evaluator) => evaluator.settle(self.core)?,
        }
        self.core.in_flight = false;
        Ok(())
    }

    fn input(&mut self, owner: Role, slots: &[usize], bits: &[bool]) -> Result<(), Fault> {
        let mut pieces = pieces(slots, bits, MAX_TAKE);
        pieces.try_for_each(|(slots, bits)| self.begin_input(owner, slots, bits))
    }

    fn open(&mut self, to: Receivers, slots: &[usize]) -> Result<Option<Vec<bool>>, Fault> {
        let mut result = None;
        for role in [Role::Evaluator, Role::Garbler] {
            if to.include(role) {
                // Every message leaves, whichever of them has this side's output.
                let opened = self.open_to(role, slots)?;
                result = result.or(opened);
            }
        }
        Ok(result)
    }

    fn keep(&mut self, name: &str, slots: &[usize]) -> Result<(), Fault> {
        let resting = self.resting(slots);
        self.core.kept.keep(name, slots.len(), vec![resting])
    }

    fn kept(&self, name: &str) -> Result<usize, Fault> {
        self.core.kept.of(name).map(|(wires, _)| *wires)
    }

    fn restore(&mut self, kept: &[(&str, Vec<usize>)]) -> Result<(), Fault> {
        let all = std::mem::take(&mut self.core.kept);
        let mut cells = Vec::new();
        for (name, slots) in kept {
            let mut slots = slots.as_slice();
            for resting in &all.of(name)?.1 {
                let own = slots.split_off(..resting.wires()).ok_or_else(unlike)?;
                cells.push((resting, own));
            }
        }
        self.wake(&cells)?;
        drop(cells);
        self.core.kept = all;
        Ok(())
    }

    const PACKS: bool = true;

    fn pack(&self, slots: &[usize]) -> Secret<Vec<u8>> {
        self.resting(slots).to_bytes()
    }

    fn unpack(&mut self, cells: &[(Secret<Vec<u8>>, Vec<usize>)]) -> Result<(), Fault> {
        let whole = |(bytes, slots): &(Secret<Vec<u8>>, Vec<usize>)| {
            Resting::of_bytes(bytes).filter(|resting| resting.wires() == slots.len())
        };
        let resting = cells.iter().map(whole).collect::<Option<Vec<_>>>().ok_or_else(unlike)?;
        let cells = resting.iter().zip(cells).map(|(resting, (_, slots))| (resting, &slots[..]));
        self.wake(&cells.collect::<Vec<_>>())
    }

    fn keep_packed(
        &mut self,
        name: &str,
        wires: usize,
        cells: Vec<Secret<Vec<u8>>>,
    ) -> Result<(), Fault> {
        let cells = cells.iter().map(|bytes| Resting::of_bytes(bytes));
        let cells = cells.collect::<Option<Vec<_>>>().ok_or_else(unlike)?;
        self.core.kept.keep(name, wires, cells)
    }

    fn kept_packed(&self, name: &str) -> Result<Vec<PackedWires>, Fault> {
        let (_, cells) = self.core.kept.of(name)?;
        Ok(cells.iter().map(|resting| (resting.wires(), resting.to_bytes())).collect())
    }
}

impl Side {
    /// Label and masked value at `slot`.
    fn wire(&self, slot: usize) -> Active {
        match self {
            Side::Garbler(garbler) => {
                Active { label: garbler.labels[slot], masked: garbler.masked[slot] }
            }
            Side::Evaluator(evaluator) => evaluator.active[slot],
        }
    }

    /// Puts a wire whose active label both sides know into a slot.
    fn put(&mut self, slot: usize, wire: Active, delta: Block) {
        match self {
            Side::Garbler(garbler) => {
                garbler.labels[slot] = wire.label ^ delta.times(wire.masked);
                garbler.masked[slot] = wire.masked;
            }
            Side::Evaluator(evaluator) => evaluator.active[slot] = wire,
        }
    }
}

impl Request<'_> {
    /// Opens the masks to the owner. What the owner answers is waited for once all inputs in a row have got so far.
    fn begin_input(&mut self, owner: Role, slots: &[usize], bits: &[bool]) -> Result<(), Fault> {
        let in_row = !self.inputs.is_empty() && self.begun + slots.len() <= MAX_TAKE;
        if !in_row || self.core.depot.would_talk(0, slots.len()) {
            self.settle()?;
        }
        let core = &mut *self.core;
        let shares = core.depot.take_shares(&mut core.channel, slots.len())?;
        core.channel.set_phase(Phase::Online);
        core.in_flight = true;
        for (&slot, share) in slots.iter().zip(shares.iter()) {
            self.masks.shares[slot] = *share;
        }
        if owner != core.role {
            let macs: Secret<Vec<Block>> = shares.iter().map(|share| share.mac).collect();
            core.open_to_peer(tags::INPUT_MASK, &macs)?;
        }
        let (slots, bits) = (slots.to_vec(), Secret::new(bits.to_vec()));
        self.begun += slots.len();
        self.inputs.push(Input { owner, slots, shares, bits });
        Ok(())
    }

    /// Masked values and labels of all inputs since the last chunk: one exchange for all, in their order.
    fn finish_inputs(&mut self) -> Result<(), Fault> {
        let inputs = std::mem::take(&mut self.inputs);
        self.begun = 0;
        let mut said = Vec::with_capacity(inputs.len());
        for input in &inputs {
            let own = input.owner == self.core.role;
            said.push(if own { Some(self.say_masked(input)?) } else { None });
        }
        for (input, said) in inputs.into_iter().zip(said) {
            match &mut self.side {
                Side::Garbler(garbler) => garbler.input(self.core, &input.slots, said)?,
                Side::Evaluator(evaluator) => evaluator.input(input.slots, said),
            }
        }
        Ok(())
    }

    /// Lambda = x xor lambda: the owner learns the peer's shares of the masks and sends Lambda.
    fn say_masked(&mut self, input: &Input) -> Result<Vec<bool>, Fault> {
        let keys: Secret<Vec<Block>> = input.shares.iter().map(|share| share.key).collect();
        let peer = self.core.open_from_peer(tags::INPUT_MASK, &keys)?;
        let masked: Vec<bool> = (input.bits.iter().zip(input.shares.iter()).enumerate())
            .map(|(i, (bit, share))| bit ^ share.bit() ^ bits::get(&peer, i))
            .collect();
        self.core.channel.send(tags::INPUT_BITS, &bits::pack(masked.iter().copied()))?;
        Ok(masked)
    }

    /// What rests of `slots`, after all checks.
    fn resting(&self, slots: &[usize]) -> Resting {
        let shares: Secret<Vec<Share>> =
            slots.iter().map(|&slot| self.masks.shares[slot]).collect();
        Resting::of(&shares, slots.iter().map(|&slot| self.side.wire(slot).masked))
    }

    /// Wires at rest come back into their slots, on fresh shares (`resting.rs`).
    fn wake(&mut self, cells: &[(&Resting, &[usize])]) -> Result<(), Fault> {
        if cells.iter().all(|(resting, _)| resting.wires() == 0) {
            return Ok(());
        }
        self.core.in_flight = true;
        let said = self.say_corrections(cells)?;
        let mut coins = said.coins(&self.core.session, self.core.woken);
        self.core.woken += 1;
        let (delta, [own, peer]) = (self.core.depot.delta(), said.by(self.core.role));
        let mut first = 0;
        for (resting, slots) in cells {
            let mut labels = Secret::new(vec![Block::ZERO; slots.len()]);
            coins.labels.fill(&mut labels);
            let mut back = Secret::with_capacity(slots.len());
            for ((i, &slot), &label) in slots.iter().enumerate().zip(labels.iter()) {
                let [own, peer] = [own, peer].map(|said| bits::get(said, first + i));
                let share = moved(self.masks.shares[slot], own, peer, delta);
                self.masks.shares[slot] = share;
                back.push(share);
                self.side.put(slot, Active { label, masked: resting.masked(i) }, delta);
            }
            coins.absorb(resting, &back);
            first += slots.len();
        }
        self.core.prove(coins.proofs())?;
        self.core.in_flight = false;
        Ok(())
    }

    /// Puts fresh shares into the slots, and says what the masks at rest differ by from them. The next shares are taken when the peer has taken as many:
    /// what is made for one piece waits there.
    fn say_corrections(&mut self, cells: &[(&Resting, &[usize])]) -> Result<Corrections, Fault> {
        let mut masks = cells.iter().flat_map(|(resting, slots)| {
            slots.iter().enumerate().map(|(i, &slot)| (slot, resting.own(i)))
        });
        let mut left: usize = cells.iter().map(|(_, slots)| slots.len()).sum();
        let mut said = Corrections::default();
        while left > 0 {
            let piece = left.min(MAX_TAKE);
            let Core { depot, channel, .. } = &mut *self.core;
            let fresh = depot.take_shares(channel, piece)?;
            channel.set_phase(Phase::Online);
            let own = masks.by_ref().take(piece).zip(fresh.iter()).map(|((slot, own), &share)| {
                self.masks.shares[slot] = share;
                own ^ share.bit()
            });
            let own = bits::pack(own);
            self.core.exchange_corrections(own, piece, &mut said)?;
            left -= piece;
        }
        Ok(said)
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
        let masked = |slot: usize| self.side.wire(slot).masked;
        let outputs = slots.iter().zip(shares.iter()).enumerate();
        Ok(Some(
            outputs.map(|(i, (&slot, s))| masked(slot) ^ s.bit() ^ bits::get(&peer, i)).collect(),
        ))
    }
}

#[cfg(test)]
impl WrkParty<'_> {
    /// Shows a test what is secret at a wire.
    pub(crate) fn secrets_of(
        &self,
        wire: &crate::Wire,
        show: &mut impl FnMut(&'static str, &Block),
    ) {
        let share = &self.executor.masks.shares[wire.slot()];
        show("MAC of a mask", &share.mac);
        show("key of a mask", &share.key);
        show("label", &self.executor.side.wire(wire.slot()).label);
    }
}
