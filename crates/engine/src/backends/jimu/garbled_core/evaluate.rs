//! Evaluation of ready buckets: every member, whatever the others output.

use std::fmt;
use std::ops::BitXor;

use bytemuck::Zeroable;
use cenote_prim::{Block, Secret};
use zeroize::Zeroize;

use super::bucket::{Member, base_tags, members};
use super::hashes::{Hashes, Level, room};
use super::{Shape, ready_blocks};
use crate::backends::jimu::ihash::{Label, Recogniser};

/// The data that the evaluator holds of a wire that has a value.
#[derive(Clone, Copy, Default, Zeroable)]
pub struct Active {
    /// L + s Delta.
    pub label: Label,
    /// The masked value s.
    pub masked: bool,
}

impl BitXor for Active {
    type Output = Active;

    #[inline(always)]
    fn bitxor(self, other: Active) -> Active {
        Active { label: self.label ^ other.label, masked: self.masked ^ other.masked }
    }
}

impl zeroize::DefaultIsZeroes for Active {}

impl fmt::Debug for Active {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Active(..)")
    }
}

/// Both labels of one wire: the garbler has cheated, and the evaluator knows its delta.
///
/// That it happened depends on the evaluator's input: the garbler must not learn of it.
#[derive(Clone)]
pub struct Conflict {
    /// The labels of masked value 0 and 1.
    pub labels: [Label; 2],
    /// The number of the wire.
    pub wire: u64,
}

impl Conflict {
    /// Delta.
    #[must_use]
    pub fn delta(&self) -> Label {
        self.labels[0] ^ self.labels[1]
    }
}

impl Drop for Conflict {
    fn drop(&mut self) {
        self.labels.zeroize();
    }
}

impl fmt::Debug for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Conflict(..)")
    }
}

/// Two labels of one wire that cannot both be right, if there are any: the ones to try for Delta.
///
/// One pair is enough. In a bucket of which half of the members or more disagree with the label that
/// was taken, and that therefore has as many bad ones, any such pair is worth more than one of a bucket
/// that is outvoted by good members: there, one of the two may have a tag by luck, which tells nothing,
/// and the label that was taken is right anyway (docs/protocols/jimu.md, "A hidden Delta").
#[derive(Clone, Copy, Default)]
pub struct Pair {
    elected: Active,
    other: Label,
    /// The number of the wire.
    wire: u64,
    /// 0: there are no such labels; 1: there are; 2: and half of their bucket disagrees.
    rank: usize,
}

impl Pair {
    /// The sum of the two: zero if there are none.
    #[must_use]
    pub fn delta(&self) -> Label {
        self.elected.label ^ self.other
    }

    /// Returns the conflict that the pair proves, if there is one and its sum is Delta: it opened `some` of what Delta opens, or `enough`.
    ///
    /// Where half of a bucket disagrees, some is enough: a label that has a tag by luck there has won already. Else it may have come from a bucket that is
    /// outvoted by good members.
    #[must_use]
    pub fn proven(&self, [some, enough]: [bool; 2]) -> Option<Conflict> {
        let is_delta = enough | (some & (self.rank > 1));
        let turn = self.delta().times(self.elected.masked);
        let labels = [self.elected.label ^ turn, self.other ^ turn];
        (is_delta & (self.rank > 0)).then_some(Conflict { labels, wire: self.wire })
    }

    /// Takes `other` in place of this if it is of a higher rank, in constant time.
    #[inline(always)]
    fn prefer(&mut self, other: &Pair) {
        let pick = other.rank > self.rank;
        self.elected.label ^= (self.elected.label ^ other.elected.label).times(pick);
        self.elected.masked ^= (self.elected.masked ^ other.elected.masked) & pick;
        self.other ^= (self.other ^ other.other).times(pick);
        self.wire ^= (self.wire ^ other.wire) & u64::from(pick).wrapping_neg();
        self.rank = self.rank.max(other.rank);
    }
}

impl zeroize::DefaultIsZeroes for Pair {}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pair(..)")
    }
}

/// Evaluates cores of one shape in buckets of one size. Holds scratch, to be used for many batches.
#[derive(Debug)]
pub struct Evaluation {
    shape: Shape,
    bucket: usize,
    delta_tag: Secret<Block>,
    hashes: Hashes,
    scratch: Scratch,
}

/// A level of a batch: the operands of each core; the output of the members for each core, each member,
/// each AND.
#[derive(Default)]
struct Scratch {
    operands: Vec<Active>,
    labels: Vec<Label>,
    tags: Vec<Block>,
    candidates: Vec<Candidate>,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.operands.zeroize();
        self.labels.zeroize();
        self.tags.zeroize();
        self.candidates.zeroize();
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scratch(..)")
    }
}

impl Evaluation {
    /// For buckets of `bucket` members; `delta_tag` is the tag of the garbler's Delta.
    ///
    /// # Panics
    /// If a bucket has no members.
    #[must_use]
    pub fn new(shape: Shape, bucket: usize, delta_tag: Block) -> Evaluation {
        assert!(bucket > 0);
        Evaluation {
            shape,
            bucket,
            delta_tag: Secret::new(delta_tag),
            hashes: Hashes::new(shape),
            scratch: Scratch::default(),
        }
    }

    /// Evaluates independent cores: `ready` is a bucket for each, `inputs` the active labels of its
    /// base's input wires; `outputs` gets those of the outputs of its ANDs.
    ///
    /// Never fails: a wire of which no member knows a label gets the label zero. Of several labels that
    /// have a tag of their wire, it gets the one that most members output. Labels of one wire that cannot
    /// both be right take the place of `pair` if they are worth more. The time depends on the number of
    /// cores only.
    ///
    /// # Panics
    /// If the slices do not describe the same number of cores.
    pub fn evaluate(
        &mut self,
        hash: &impl Recogniser,
        ready: &[Block],
        inputs: &[Active],
        outputs: &mut [Active],
        pair: &mut Pair,
    ) {
        let stride = ready_blocks(self.shape, self.bucket);
        let cores = ready.len() / stride;
        assert_eq!(ready.len(), cores * stride);
        assert_eq!(inputs.len(), cores * self.shape.inputs());
        assert_eq!(outputs.len(), cores * self.shape.ands());
        let batch = Hashes::batch(self.shape, self.bucket);
        for ((ready, inputs), outputs) in ready
            .chunks(batch * stride)
            .zip(inputs.chunks(batch * self.shape.inputs()))
            .zip(outputs.chunks_mut(batch * self.shape.ands()))
        {
            self.hashes.begin(ready.len() / stride * self.bucket);
            for level in self.hashes.levels.clone() {
                self.operands(&level, inputs, outputs);
                let labels = self.members(&level, ready);
                self.tags(hash, labels);
                self.select(&level, ready, outputs, pair);
            }
        }
    }

    /// Sums the wires of the operands of a level, of which the outputs of the levels before are known.
    fn operands(&mut self, level: &Level, inputs: &[Active], outputs: &[Active]) {
        let shape = self.shape;
        let cores = inputs.chunks_exact(shape.inputs()).zip(outputs.chunks_exact(shape.ands()));
        let operands = room(&mut self.scratch.operands, cores.len() * shape.operands());
        for ((inputs, outputs), operands) in cores.zip(operands.chunks_exact_mut(shape.operands()))
        {
            let wire = |wire: usize| match wire.checked_sub(shape.inputs()) {
                None => inputs[wire],
                Some(and) => outputs[and],
            };
            for operand in level.operands.clone() {
                operands[operand] = shape.sum(operand, wire);
            }
        }
    }

    /// Computes the labels that every member of a batch outputs on its base's wires; returns how many.
    fn members(&mut self, level: &Level, ready: &[Block]) -> usize {
        let (shape, stride) = (self.shape, ready_blocks(self.shape, self.bucket));
        let all_operands = &self.scratch.operands;
        let cores = || ready.chunks_exact(stride).zip(all_operands.chunks_exact(shape.operands()));
        let mut set = 0;
        for (ready, operands) in cores() {
            for member in members(shape, ready) {
                let key = |operand: usize| [operands[operand].label.key() ^ member.keys[operand]];
                self.hashes.set(level, set, member.number, key);
                set += 1;
            }
        }
        self.hashes.run(level);
        let count = set * level.ands.len();
        let labels = room(&mut self.scratch.labels, count);
        let mut sets = labels.chunks_exact_mut(level.ands.len()).enumerate();
        for (ready, operands) in cores() {
            for (member, (set, labels)) in members(shape, ready).zip(&mut sets) {
                for (and, label) in level.ands.clone().zip(labels) {
                    *label = evaluate_and(
                        &member,
                        and,
                        shape.and(and).map(|o| &operands[o]),
                        self.hashes.of(set, and),
                    );
                }
            }
        }
        count
    }

    /// Returns the labels that [`Evaluation::members`] found last.
    #[cfg(test)]
    pub(super) fn labels(&self) -> &[Label] {
        &self.scratch.labels
    }

    fn tags(&mut self, hash: &impl Recogniser, labels: usize) {
        let tags = room(&mut self.scratch.tags, labels);
        hash.tags_of_labels(&self.scratch.labels[..labels], tags);
    }

    /// Picks for each wire, of the labels that have one of its tags, the one that most members put
    /// out; and of the wires that have labels of both masked values the pair to try.
    ///
    /// Votes decide because a label may have a tag by luck: a garbler who guesses places that are not
    /// watched loses nothing with a label that is dropped, and has many such guesses. A guess that hits
    /// still loses against two good members.
    fn select(&mut self, level: &Level, ready: &[Block], outputs: &mut [Active], pair: &mut Pair) {
        let stride = ready_blocks(self.shape, self.bucket);
        let mut candidates = std::mem::take(&mut self.scratch.candidates);
        let cores = ready.chunks_exact(stride).zip(outputs.chunks_exact_mut(self.shape.ands()));
        for (core, (ready, outputs)) in cores.enumerate() {
            let tags = base_tags(self.shape, ready);
            let base = members(self.shape, ready).next().map_or(0, |base| base.number);
            for (place, and) in level.ands.clone().enumerate() {
                let (output, sets) =
                    (self.shape.output(and), core * self.bucket..(core + 1) * self.bucket);
                candidates.clear();
                candidates.extend(sets.map(|set| {
                    let place = set * level.ands.len() + place;
                    let label = self.scratch.labels[place];
                    Candidate { label, is: self.is_label(place, tags[output].label) }
                }));
                let (elected, votes) = elect(&candidates);
                outputs[and] = elected;
                let wire = base + output as u64;
                pair.prefer(&contradiction(&candidates, elected, votes, wire));
            }
        }
        self.scratch.candidates = candidates;
    }

    /// Whether a label has the tag of masked value 0, of masked value 1, of a wire.
    #[inline(always)]
    fn is_label(&self, place: usize, own: Block) -> [bool; 2] {
        let tag = self.scratch.tags[place];
        [tag.ct_eq(own), tag.ct_eq(own ^ *self.delta_tag)]
    }
}

/// The label that a member outputs for a wire, and of which masked values it has the tag.
#[derive(Clone, Copy, Default)]
struct Candidate {
    label: Label,
    is: [bool; 2],
}

impl zeroize::DefaultIsZeroes for Candidate {}

/// The candidate that has a tag and that most others agree with, and how many do, in constant time; the
/// first among equals; zero if none has a tag.
#[inline(always)]
fn elect(candidates: &[Candidate]) -> (Active, usize) {
    let (mut elected, mut most) = (Active::default(), 0);
    for candidate in candidates {
        let valid = candidate.is[0] | candidate.is[1];
        let agree = |other: &Candidate| usize::from(same(&candidate.label, &other.label));
        let votes = usize::from(valid) * candidates.iter().map(agree).sum::<usize>();
        let pick = votes > most;
        elected.label ^= (elected.label ^ candidate.label).times(pick);
        elected.masked ^= (elected.masked ^ candidate.is[1]) & pick;
        most = votes.max(most);
    }
    (elected, most)
}

/// Returns the pair of the label that was elected with so many votes and a candidate that has the
/// tag of the other masked value, in constant time.
#[inline(always)]
fn contradiction(candidates: &[Candidate], elected: Active, votes: usize, wire: u64) -> Pair {
    let (mut other, mut any) = (Label::ZERO, false);
    for candidate in candidates {
        let pick = (candidate.is[0] & elected.masked) | (candidate.is[1] & !elected.masked);
        other ^= (other ^ candidate.label).times(pick);
        any |= pick;
    }
    let divided = 2 * votes <= candidates.len();
    Pair { elected, other, wire, rank: usize::from(any) + usize::from(any & divided) }
}

/// Whether two labels are the same.
#[inline(always)]
fn same(a: &Label, b: &Label) -> bool {
    #[cfg(test)]
    crate::backends::jimu::tally::step();
    let [x, y, z] = (*a ^ *b).0;
    // Different blocks must not cancel: a bit that is set stays set.
    (x.to_u128() | y.to_u128() | z.to_u128()) == 0
}

/// The label that one member outputs for an AND, from its operands and their hashes.
#[inline(always)]
fn evaluate_and(
    member: &Member<'_>,
    and: usize,
    [left, right]: [&Active; 2],
    [h_left, h_right]: [&Label; 2],
) -> Label {
    let [tg, te, mk] = member.tables[and];
    let shifted = right.masked ^ (member.deltas >> and & 1 == 1);
    let right = *h_right ^ te.times(right.masked) ^ left.label.times(shifted);
    *h_left ^ tg.times(left.masked) ^ right ^ mk
}
