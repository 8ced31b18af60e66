//! The evaluator of a request: verifies the solders of a chunk, then evaluates it.

mod compact;
mod escrow;
mod recovery;
mod stored;
mod supply;

use std::ops::{BitXor, Deref, DerefMut};
use std::sync::Arc;

use cenote_net::{Channel, Fault, Phase};
use cenote_pool::Lease;
use cenote_prim::{Block, Growing, Secret, bits};
use zeroize::{Zeroize, Zeroizing};

use super::messages::{self, ResultHash};
use super::{JimuParams, MAX_PIECE, depot};
use crate::backends::jimu::garbled_core::{
    Active, Conflict, Evaluation, Pair, Shape, base_tags, ready_blocks,
};
use crate::backends::jimu::ihash::{
    Label, Message, Perm, Recogniser, ReedSolomonTags, Tag, decode, encoded_len,
};
use crate::backends::jimu::tags;
use crate::parts::chunk::{Chunk, Gate, Kind, Pass, groups, walk};

use escrow::Escrow;
#[cfg(test)]
pub(super) use recovery::Opened;
pub(super) use recovery::Replay;
pub(super) use recovery::{Escrows, Values};
use recovery::{Input, KeptValues, Recovery};
pub(super) use supply::{InputWire, Supply};

/// The evaluator's ready items: buckets of cores, wires in escrow, [`InputWire`]s.
pub(super) struct Depot {
    depot: depot::Depot<Supply>,
    hash: ReedSolomonTags,
    delta: Block,
    escrow: Arc<Escrow>,
}

impl Depot {
    pub(super) fn new(params: JimuParams, supply: Supply) -> Depot {
        let (hash, delta, escrow) = (supply.hash().tags(), supply.delta(), supply.escrow());
        Depot { depot: depot::Depot::new(params, supply.shelves(), supply), hash, delta, escrow }
    }

    /// What recognises messages.
    pub(super) const fn hash(&self) -> &ReedSolomonTags {
        &self.hash
    }

    /// Tag of Delta's label.
    pub(super) const fn delta(&self) -> Block {
        self.delta
    }

    /// What Delta opens.
    pub(super) const fn escrow(&self) -> &Arc<Escrow> {
        &self.escrow
    }

    /// The next `count` wires in escrow, of the `coming` ones that are taken one piece after the other.
    pub(super) fn take_escrowed(
        &mut self,
        channel: &mut Channel,
        count: usize,
        coming: usize,
    ) -> Result<Escrows, Fault> {
        let (blocks, items) = self.depot.take_escrowed(channel, count, coming)?;
        let stated = self.depot.ready()?.items.stated(&items);
        let stride = supply::escrowed_blocks(self.depot.params());
        Ok(Escrows::new(blocks, stride, items, stated))
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

/// The check of outputs to this side: their permutation messages are those that were hashed.
const PERM_CHECK: &str = "jimu.output.perm";
/// The same of outputs to the garbler alone.
const BOND_CHECK: &str = "jimu.output.bond";

/// Lanes that are evaluated together.
const BATCH: usize = 64;

/// The evaluator's live wires, by slot: value = masked value + permutation bit + flip.
#[derive(Default)]
pub(super) struct Evaluator {
    active: Growing<Active>,
    tagged: Vec<Tagged>,
    pending: Vec<bool>,
    /// One for each pool of cores.
    evaluations: Vec<Evaluation>,
    opened: Secret<Vec<Message>>,
    expected: Vec<Tag>,
    /// By how much each solder shifts the masked value.
    shifts: Vec<bool>,
    pub(super) recovery: Recovery,
}

/// The evaluator's knowledge of a wire before anything is evaluated.
#[derive(Clone, Copy, Default)]
struct Tagged {
    tag: Tag,
    flip: bool,
}

/// Wires between two requests.
pub(super) struct KeptWires {
    active: Secret<Vec<Active>>,
    tagged: Vec<Tagged>,
    values: Arc<KeptValues>,
}

impl BitXor for Tagged {
    type Output = Tagged;
    #[inline(always)]
    fn bitxor(self, other: Tagged) -> Tagged {
        Tagged { tag: self.tag ^ other.tag, flip: self.flip ^ other.flip }
    }
}

impl Evaluator {
    #[cfg(test)]
    pub(super) fn label_of(&self, slot: usize) -> Label {
        self.active[slot].label
    }

    pub(super) fn resize(&mut self, slots: usize) {
        self.active.grow(slots);
        self.tagged.resize(slots, Tagged::default());
        self.pending.resize(slots, false);
    }

    /// Verifies the outer solders of a chunk, then evaluates it. Two labels of one wire that give the
    /// garbler's Delta are recorded in `conflict` and change nothing else.
    pub(super) fn chunk(
        &mut self,
        channel: &mut Channel,
        depot: &Depot,
        chunk: &Chunk,
        conflict: &mut Option<Conflict>,
    ) -> Result<(), Fault> {
        let pools = depot.params().cores();
        let specs: Vec<(Shape, usize)> = pools.map(|(shape, spec)| (shape, spec.bucket)).collect();
        let (counts, delta, hash) = (depot.params().demand(chunk), depot.delta(), depot.hash());
        if self.evaluations.is_empty() {
            let new = |&(shape, bucket)| Evaluation::new(shape, bucket, delta);
            self.evaluations = specs.iter().map(new).collect();
        }
        let solders =
            counts.iter().zip(&specs).map(|(count, (shape, _))| count * shape.inputs()).sum();
        self.receive_solders(channel, hash, solders)?;
        // The supply waits meanwhile for a place for what it has made, but not the peer.
        let mut ready = depot.ready()?;
        let leases = ready.take_cores(&counts)?;
        let rest = leases.iter().map(|lease| &lease[..]).collect();
        self.verify(chunk, Cores { specs: &specs, rest }, hash, delta)?;
        let mut pair = Zeroizing::new(Pair::default());
        self.evaluate(chunk, (&specs, leases), hash, &mut pair);
        drop(ready);
        depot.taken();
        if chunk.ands > 0 {
            // Tried whether or not there is a pair, and although Delta may be known.
            let found = pair.proven(depot.escrow().agrees(&pair.delta()));
            *conflict = conflict.take().or(found);
        }
        Ok(())
    }

    fn receive_solders(
        &mut self,
        channel: &mut Channel,
        hash: &ReedSolomonTags,
        count: usize,
    ) -> Result<(), Fault> {
        self.opened.clear();
        self.opened.resize(count, Message::ZERO);
        for piece in self.opened.chunks_mut(MAX_PIECE) {
            let len = encoded_len(piece.len(), hash.perm_blocks());
            let frame = channel.recv(tags::JIMU_OUTER, len)?;
            if !decode(&frame, hash.perm_blocks(), piece) {
                return Err(Fault::Misbehaved("jimu.format"));
            }
        }
        Ok(())
    }

    /// Carries the tags through the chunk and holds every solder against them.
    fn verify(
        &mut self,
        chunk: &Chunk,
        mut cores: Cores<'_>,
        hash: &ReedSolomonTags,
        delta: Block,
    ) -> Result<(), Fault> {
        self.expected.clear();
        self.shifts.clear();
        for group in groups(&chunk.gates) {
            if group[0].kind == Kind::And {
                self.solder_tags(group, cores.next(group.len())?, delta)?;
            } else {
                group[0].linear(&mut self.tagged, Tagged { tag: Tag::ZERO, flip: true });
            }
        }
        if hash.agree(&self.opened, &self.expected) {
            Ok(())
        } else {
            Err(Fault::Misbehaved("jimu.outer"))
        }
    }

    fn solder_tags(
        &mut self,
        lanes: &[Gate],
        (inputs, outputs): (&[Tag], &[Tag]),
        delta: Block,
    ) -> Result<(), Fault> {
        let shared = lanes.first().map(|gate| gate.a);
        let slots = shared.into_iter().chain(lanes.iter().map(|gate| gate.b));
        for (slot, base) in slots.zip(inputs) {
            let live = self.tagged[slot as usize];
            let opened = self.opened.get(self.expected.len()).ok_or_else(miscounted)?;
            let shift = opened.perm.bit() ^ live.flip;
            let mut tag = live.tag ^ *base;
            tag.label ^= delta.times(shift);
            self.expected.push(tag);
            self.shifts.push(shift);
        }
        for (gate, output) in lanes.iter().zip(outputs) {
            self.tagged[gate.out as usize] = Tagged { tag: *output, flip: false };
        }
        Ok(())
    }

    fn evaluate(
        &mut self,
        chunk: &Chunk,
        (specs, leases): (&[(Shape, usize)], Vec<Lease<'_>>),
        hash: &ReedSolomonTags,
        pair: &mut Pair,
    ) {
        let mut pass = EvaluatePass {
            hash,
            active: &mut self.active,
            solders: self.opened.iter().zip(&self.shifts),
            waiting: specs.iter().map(|_| Waiting::default()).collect(),
            evaluations: &mut self.evaluations,
            specs,
            leases,
            outputs: Zeroizing::new(Vec::new()),
            pair,
        };
        walk(&chunk.gates, BATCH, &mut self.pending, &mut pass);
    }

    /// The garbler's inputs: the labels of wires in escrow, of either value.
    pub(super) fn peer_inputs(
        &mut self,
        channel: &mut Channel,
        depot: &mut Depot,
        slots: &[usize],
        coming: usize,
    ) -> Result<(), Fault> {
        let delta = depot.delta();
        let escrows = depot.take_escrowed(channel, slots.len(), coming)?;
        channel.set_phase(Phase::Online);
        let mut labels = vec![Label::ZERO; slots.len()];
        channel.recv_into(tags::JIMU_LABELS, bytemuck::cast_slice_mut(&mut labels))?;
        let mut seen = vec![Block::ZERO; slots.len()];
        depot.hash().tags_of_labels(&labels, &mut seen);
        let (mut good, mut all_masked) = (true, Zeroizing::new(Vec::with_capacity(slots.len())));
        let wires = slots.iter().zip(&labels).zip(escrows.tags()).zip(seen);
        for (((&slot, label), tag), seen) in wires {
            let masked = seen.ct_eq(tag.label ^ delta);
            good &= masked | seen.ct_eq(tag.label);
            all_masked.push(masked);
            self.active[slot] = Active { label: *label, masked };
            self.tagged[slot] = Tagged { tag, flip: false };
        }
        labels.zeroize();
        self.recovery.input(escrows, all_masked);
        if good { Ok(()) } else { Err(Fault::Misbehaved("jimu.input.label")) }
    }

    /// The evaluator's own inputs, of so many that are coming, announced masked by choice bits.
    pub(super) fn own_inputs(
        &mut self,
        channel: &mut Channel,
        depot: &mut Depot,
        slots: &[usize],
        values: &[bool],
        coming: usize,
    ) -> Result<(), Fault> {
        self.recovery.own_input(values);
        let blocks = depot.take_inputs(channel, slots.len(), coming)?;
        let wires: Secret<Vec<InputWire>> = InputWire::all(&blocks).collect();
        channel.set_phase(Phase::Online);
        let flips: Vec<bool> =
            wires.iter().zip(values).map(|(wire, value)| wire.choice ^ value).collect();
        for ((&slot, wire), &flip) in slots.iter().zip(&*wires).zip(&flips) {
            let tag = Tag { label: wire.tag, perm: Block::ZERO };
            // The choice bit is in the label already: the wire was hashed with masked value 0.
            self.active[slot] = Active { label: wire.label, masked: wire.choice };
            self.tagged[slot] = Tagged { tag, flip };
        }
        channel.send(tags::JIMU_CHOICES, &bits::pack(flips))
    }

    /// The values of `slots`: the garbler opens their permutation messages. Returns the bits.
    pub(super) fn learn(
        &mut self,
        channel: &mut Channel,
        depot: &Depot,
        slots: &[usize],
    ) -> Result<Vec<Perm>, Fault> {
        let expected = slots.iter().map(|&slot| self.tagged[slot].tag.perm);
        receive_perms(channel, depot.hash(), tags::JIMU_PERMS, expected, PERM_CHECK)
    }

    /// The values that permutation bits, opened and verified, give to `slots`.
    pub(super) fn values(&self, slots: &[usize], perms: &[bool]) -> Vec<bool> {
        let value = |(&slot, perm): (&usize, &bool)| {
            self.active[slot].masked ^ perm ^ self.tagged[slot].flip
        };
        slots.iter().zip(perms).map(value).collect()
    }

    /// The sums of the permutation messages of `slots` with those of `bonds`, in escrow, tags of these.
    pub(super) fn sums(
        &mut self,
        channel: &mut Channel,
        depot: &Depot,
        slots: &[usize],
        bonds: &[Block],
    ) -> Result<Vec<Perm>, Fault> {
        let wires = slots.iter().zip(bonds);
        let expected = wires.map(|(&slot, bond)| self.tagged[slot].tag.perm ^ *bond);
        receive_perms(channel, depot.hash(), tags::JIMU_BOND, expected, BOND_CHECK)
    }

    /// What is kept of `slots`, whose values are `clear` in recovery.
    pub(super) fn keep(
        &mut self,
        channel: &mut Channel,
        depot: &mut Depot,
        slots: &[usize],
        clear: Option<Values>,
    ) -> Result<KeptWires, Fault> {
        let wires = depot.take_escrowed(channel, slots.len(), slots.len())?;
        channel.set_phase(Phase::Online);
        let bonds: Vec<Block> = wires.tags().map(|tag| tag.perm).collect();
        let mut masked = Zeroizing::new(Vec::with_capacity(slots.len()));
        for (piece, bonds) in slots.chunks(MAX_PIECE).zip(bonds.chunks(MAX_PIECE)) {
            let sums = self.sums(channel, depot, piece, bonds)?;
            // Values but for the permutation bits in escrow: masked as inputs of the garbler are.
            let sums: Vec<bool> = sums.iter().map(Perm::bit).collect();
            masked.extend(self.values(piece, &sums));
        }
        Ok(KeptWires {
            active: slots.iter().map(|&slot| self.active[slot]).collect(),
            tagged: slots.iter().map(|&slot| self.tagged[slot]).collect(),
            values: Arc::new(KeptValues { clear, escrowed: Input { wires, masked } }),
        })
    }

    pub(super) fn restore(&mut self, slots: &[usize], wires: &KeptWires) {
        let KeptWires { active, tagged, values } = wires;
        for ((&slot, active), tagged) in slots.iter().zip(active.iter()).zip(tagged) {
            (self.active[slot], self.tagged[slot]) = (*active, *tagged);
        }
        self.recovery.restored(Arc::clone(values));
    }

    /// Reports masked values and labels of `slots`; if `instead` are the values that an honest run would
    /// have given, those that go with these, by the permutation bits and Delta. Both ways take
    /// the same time.
    pub(super) fn report(
        &self,
        channel: &mut Channel,
        hash: &ResultHash,
        slots: &[usize],
        instead: Option<&[bool]>,
        (perms, delta): (&[bool], &Label),
    ) -> Result<(), Fault> {
        let mut outputs: Vec<Active> = slots.iter().map(|&slot| self.active[slot]).collect();
        for (i, (output, &slot)) in outputs.iter_mut().zip(slots).enumerate() {
            let value = instead.is_some_and(|values| values[i]);
            let masked = value ^ perms[i] ^ self.tagged[slot].flip;
            let turn = (masked ^ output.masked) & instead.is_some();
            output.label ^= delta.times(turn);
            output.masked ^= turn;
        }
        let mut message = bits::pack(outputs.iter().map(|output| output.masked));
        let mut keys: Vec<Block> = outputs.iter().map(|output| output.label.key()).collect();
        let proof = hash.of(&message, &keys);
        message.extend_from_slice(&proof.to_bytes());
        keys.zeroize();
        outputs.zeroize();
        channel.send(tags::JIMU_RESULT, &message)
    }
}

/// Permutation messages that must agree with `expected`.
fn receive_perms(
    channel: &mut Channel,
    hash: &ReedSolomonTags,
    tag: cenote_net::Tag,
    expected: impl Iterator<Item = Block>,
    check: &'static str,
) -> Result<Vec<Perm>, Fault> {
    let expected: Vec<Tag> = expected.map(|perm| Tag { label: Block::ZERO, perm }).collect();
    let perm_blocks = hash.perm_blocks();
    let bytes = channel.recv(tag, 16 * perm_blocks * expected.len())?;
    let opened = messages::decode_perms(&bytes, perm_blocks);
    if !hash.agree(&opened, &expected) {
        return Err(Fault::Misbehaved(check));
    }
    Ok(opened.iter().map(|message| message.perm).collect())
}

/// The ready cores of a chunk, pool by pool.
struct Cores<'a> {
    /// Shape and bucket of each pool.
    specs: &'a [(Shape, usize)],
    rest: Vec<&'a [Block]>,
}

impl<'a> Cores<'a> {
    /// Tags of the input and of the output wires of the base of the next core of so many ANDs.
    fn next(&mut self, ands: usize) -> Result<(&'a [Tag], &'a [Tag]), Fault> {
        let pool = pool_of(self.specs, ands).ok_or_else(miscounted)?;
        let (shape, bucket) = self.specs[pool];
        let next = self.rest[pool].split_at_checked(ready_blocks(shape, bucket));
        let (core, rest) = next.ok_or_else(miscounted)?;
        self.rest[pool] = rest;
        Ok(base_tags(shape, core).split_at(shape.inputs()))
    }
}

/// The pool of cores of so many ANDs.
fn pool_of(specs: &[(Shape, usize)], ands: usize) -> Option<usize> {
    specs.iter().position(|(shape, _)| shape.ands() == ands)
}

/// Chunks count their cores when they are recorded.
fn miscounted() -> Fault {
    Fault::Internal("a chunk takes more cores than it counted".into())
}

/// Cores of one pool whose inputs are ready.
#[derive(Default)]
struct Waiting {
    cores: usize,
    inputs: Vec<Active>,
    slots: Vec<u32>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.inputs.zeroize();
    }
}

struct EvaluatePass<'a, S> {
    hash: &'a ReedSolomonTags,
    active: &'a mut [Active],
    /// Solders and shifts that are still to come.
    solders: S,
    waiting: Vec<Waiting>,
    evaluations: &'a mut [Evaluation],
    /// Shape and bucket of each pool, and its ready cores that are still to come.
    specs: &'a [(Shape, usize)],
    leases: Vec<Lease<'a>>,
    outputs: Zeroizing<Vec<Active>>,
    pair: &'a mut Pair,
}

impl<'a, S: Iterator<Item = (&'a Message, &'a bool)>> Pass for EvaluatePass<'a, S> {
    #[inline]
    fn linear(&mut self, gate: &Gate) {
        // The value of a constant, as of a negation, is in the flip.
        gate.linear(self.active, Active::default());
    }

    fn gather(&mut self, ands: &[Gate]) {
        let pool = pool_of(self.specs, ands.len());
        let Some(waiting) = pool.and_then(|pool| self.waiting.get_mut(pool)) else { return };
        waiting.cores += 1;
        let slots = ands.iter().map(|gate| gate.b);
        for slot in std::iter::once(ands[0].a).chain(slots) {
            let Some((opened, &shift)) = self.solders.next() else { return };
            let live = self.active[slot as usize];
            let label = live.label ^ opened.label;
            waiting.inputs.push(Active { label, masked: live.masked ^ shift });
        }
        waiting.slots.extend(ands.iter().map(|gate| gate.out));
    }

    fn flush(&mut self) {
        for (pool, waiting) in self.waiting.iter_mut().enumerate() {
            if waiting.cores == 0 {
                continue;
            }
            // The cores were counted when they were recorded and again when they were verified. They
            // are wiped as soon as they were used, while they are in the caches.
            let Some(ready) = self.leases[pool].split_off(waiting.cores) else { return };
            self.outputs.clear();
            self.outputs.resize(waiting.slots.len(), Active::default());
            self.evaluations[pool].evaluate(
                self.hash,
                &ready,
                &waiting.inputs,
                &mut self.outputs,
                self.pair,
            );
            for (slot, output) in waiting.slots.drain(..).zip(self.outputs.iter()) {
                self.active[slot as usize] = *output;
            }
            // Wiped at the end of the chunk: that takes as long as the room is large.
            waiting.inputs.clear();
            waiting.cores = 0;
        }
    }
}
