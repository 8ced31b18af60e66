//! Evaluation of ready buckets: every member, whatever the others put out.

use std::cmp::Reverse;
use std::fmt;

use cenote_prim::{Block, Secret};
use zeroize::Zeroize;

use super::bucket::{Member, base_tags, members};
use super::hashes::{Hashes, room};
use super::{Shape, ready_blocks};
use crate::ihash::{HashReceiver, Label};

/// What the evaluator holds of a wire that has a value.
#[derive(Clone, Copy, Default)]
pub struct Active {
    /// L + s Delta.
    pub label: Label,
    /// The masked value s.
    pub masked: bool,
}

impl zeroize::DefaultIsZeroes for Active {}

impl fmt::Debug for Active {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Active(..)")
    }
}

/// Both labels of one wire: the garbler has cheated, and the evaluator knows its offset.
///
/// That it happened depends on the evaluator's input: the garbler must not learn of it.
pub struct Conflict {
    /// The labels of masked value 0 and 1.
    pub labels: [Label; 2],
    /// The number of the wire.
    pub wire: u64,
    /// Members of its bucket that do not agree with the label that was elected.
    pub(super) against: usize,
}

impl Conflict {
    /// The offset.
    #[must_use]
    pub fn offset(&self) -> Label {
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

/// Evaluates cores of one shape in buckets of one size. Holds scratch, to be used for many batches.
#[derive(Debug)]
pub struct Evaluation {
    shape: Shape,
    bucket: usize,
    offset_tag: Secret<Block>,
    hashes: Hashes,
    scratch: Scratch,
}

/// What the members of a batch put out: for each core, each member, each lane.
#[derive(Default)]
struct Scratch {
    labels: Vec<Label>,
    tags: Vec<Block>,
    candidates: Vec<Candidate>,
}

impl Drop for Scratch {
    fn drop(&mut self) {
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
    /// For buckets of `bucket` members; `offset_tag` is the tag of the garbler's offset.
    ///
    /// # Panics
    /// If a bucket has no members.
    #[must_use]
    pub fn new(shape: Shape, bucket: usize, offset_tag: Block) -> Evaluation {
        assert!(bucket > 0);
        Evaluation {
            shape,
            bucket,
            offset_tag: Secret::new(offset_tag),
            hashes: Hashes::new(shape),
            scratch: Scratch::default(),
        }
    }

    /// Evaluates independent cores: `ready` is a bucket for each, `inputs` the active labels of its
    /// base's input wires; `outputs` gets those of the o of its lanes.
    ///
    /// Never fails: a wire of which no member knows a label gets the label zero. Of several labels that
    /// have a tag of their wire, it gets the one that most members put out. What members put out
    /// that cannot both be right is added to `conflicts`; but for that, the time depends on the number of
    /// cores only. At most [`MAX_CONFLICTS`] are kept, those first whose bucket is most divided: a label
    /// that has a tag by luck in a bucket that outvotes it must not hide what two true ones tell.
    ///
    /// # Panics
    /// If the slices do not describe the same number of cores.
    pub fn evaluate(
        &mut self,
        hash: &impl HashReceiver,
        ready: &[Block],
        inputs: &[Active],
        outputs: &mut [Active],
        conflicts: &mut Vec<Conflict>,
    ) {
        let stride = ready_blocks(self.shape, self.bucket);
        let cores = ready.len() / stride;
        assert_eq!(ready.len(), cores * stride);
        assert_eq!(inputs.len(), cores * self.shape.inputs());
        assert_eq!(outputs.len(), cores * self.shape.width());
        let batch = Hashes::batch(self.shape, self.bucket);
        for ((ready, inputs), outputs) in ready
            .chunks(batch * stride)
            .zip(inputs.chunks(batch * self.shape.inputs()))
            .zip(outputs.chunks_mut(batch * self.shape.width()))
        {
            self.members(ready, inputs);
            self.tags(hash, outputs.len() * self.bucket);
            if self.select(ready, outputs) {
                self.conflicts(ready, conflicts);
            }
        }
    }

    /// What every member of a batch puts out on its base's wires.
    pub(super) fn members(&mut self, ready: &[Block], inputs: &[Active]) {
        let (shape, stride) = (self.shape, ready_blocks(self.shape, self.bucket));
        let sets = ready.len() / stride * self.bucket;
        self.hashes.begin(sets);
        let cores = || ready.chunks_exact(stride).zip(inputs.chunks_exact(shape.inputs()));
        let mut set = 0;
        for (ready, inputs) in cores() {
            for member in members(shape, ready) {
                let keys = inputs.iter().zip(member.keys).map(|(i, key)| i.label.key() ^ *key);
                self.hashes.set(set, member.number, keys);
                set += 1;
            }
        }
        let (c, x) = self.hashes.run();
        let labels = room(&mut self.scratch.labels, sets * shape.width());
        let mut rooms = c
            .chunks_exact(shape.width())
            .zip(x.chunks_exact(shape.width()))
            .zip(labels.chunks_exact_mut(shape.width()));
        for (ready, inputs) in cores() {
            for (member, (hashes, labels)) in members(shape, ready).zip(&mut rooms) {
                evaluate_member(&member, inputs, hashes, labels);
            }
        }
    }

    /// What [`Evaluation::members`] found last.
    #[cfg(test)]
    pub(super) fn labels(&self) -> &[Label] {
        &self.scratch.labels
    }

    fn tags(&mut self, hash: &impl HashReceiver, labels: usize) {
        let tags = room(&mut self.scratch.tags, labels);
        hash.tags_of_labels(&self.scratch.labels[..labels], tags);
    }

    /// Picks for each wire, of the labels that have one of its tags, the one that most members put
    /// out. Whether a wire has labels of both masked values.
    ///
    /// Votes decide because a label may have a tag by luck: a garbler who guesses places that are not
    /// watched loses nothing with a label that is dropped, and has many such guesses. A guess that hits
    /// still loses against two good members.
    fn select(&mut self, ready: &[Block], outputs: &mut [Active]) -> bool {
        let stride = ready_blocks(self.shape, self.bucket);
        let mut both_seen = false;
        let mut candidates = std::mem::take(&mut self.scratch.candidates);
        let cores = ready.chunks_exact(stride).zip(outputs.chunks_exact_mut(self.shape.width()));
        for (core, (ready, outputs)) in cores.enumerate() {
            let tags = &base_tags(self.shape, ready)[self.shape.inputs()..];
            for (lane, (output, tag)) in outputs.iter_mut().zip(tags).enumerate() {
                candidates.clear();
                candidates.extend(self.places(core, lane).map(|place| {
                    let label = self.scratch.labels[place];
                    Candidate { label, is: self.is_label(place, tag.label) }
                }));
                *output = elect(&candidates);
                let any =
                    |masked: usize| candidates.iter().fold(false, |any, c| any | c.is[masked]);
                both_seen |= any(0) & any(1);
            }
        }
        self.scratch.candidates = candidates;
        both_seen
    }

    /// Where the members' labels of a wire are.
    #[inline(always)]
    fn places(&self, core: usize, lane: usize) -> impl Iterator<Item = usize> + use<> {
        let (width, bucket) = (self.shape.width(), self.bucket);
        (0..bucket).map(move |member| (core * bucket + member) * width + lane)
    }

    /// Whether a label has the tag of masked value 0, of masked value 1, of a wire.
    #[inline(always)]
    fn is_label(&self, place: usize, own: Block) -> [bool; 2] {
        let tag = self.scratch.tags[place];
        [tag.ct_eq(own), tag.ct_eq(own ^ *self.offset_tag)]
    }

    /// All pairs of labels of different masked values of the wires of a batch.
    #[cold]
    fn conflicts(&self, ready: &[Block], conflicts: &mut Vec<Conflict>) {
        let stride = ready_blocks(self.shape, self.bucket);
        for (core, ready) in ready.chunks(stride).enumerate() {
            let Some(base) = members(self.shape, ready).next() else { continue };
            for lane in 0..self.shape.width() {
                let o = self.shape.o(lane);
                let own = base_tags(self.shape, ready)[o].label;
                let labels = |masked: usize| {
                    self.places(core, lane)
                        .filter(move |place| self.is_label(*place, own)[masked])
                        .map(|place| self.scratch.labels[place])
                };
                let wire = base.number + o as u64;
                let of_all = || self.places(core, lane).map(|place| self.scratch.labels[place]);
                let votes = |label: Label| of_all().filter(|other| same(&label, other)).count();
                let most = labels(0).chain(labels(1)).map(votes).max().unwrap_or_default();
                let against = self.bucket - most;
                let pairs = labels(0).flat_map(|zero| labels(1).map(move |one| [zero, one]));
                conflicts.extend(pairs.map(|labels| Conflict { labels, wire, against }));
            }
        }
        conflicts.sort_by_key(|conflict| Reverse(conflict.against));
        conflicts.truncate(MAX_CONFLICTS);
    }
}

/// Most conflicts that are kept at a time; a few are enough.
pub const MAX_CONFLICTS: usize = 64;

/// What a member puts out for a wire, and of which masked values it has the tag.
#[derive(Clone, Copy, Default)]
struct Candidate {
    label: Label,
    is: [bool; 2],
}

impl zeroize::DefaultIsZeroes for Candidate {}

/// The candidate that has a tag and that most others agree with, in constant time; the first among
/// equals; zero if none has a tag.
#[inline(always)]
fn elect(candidates: &[Candidate]) -> Active {
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
    elected
}

/// Whether two labels are the same.
#[inline(always)]
fn same(a: &Label, b: &Label) -> bool {
    let [x, y, z] = (*a ^ *b).0;
    // Different blocks must not cancel: a bit that is set stays set.
    (x.to_u128() | y.to_u128() | z.to_u128()) == 0
}

/// The labels that one member puts out, from the hashes of its input labels.
#[inline(always)]
fn evaluate_member(
    member: &Member<'_>,
    inputs: &[Active],
    (c, x): (&[Label], &[Label]),
    labels: &mut [Label],
) {
    let (common, inputs) = inputs.split_first().expect("cores have a common input");
    let lanes = c.iter().zip(x).zip(member.tables).zip(inputs).zip(labels);
    for (lane, ((((c, x), [tg, te, mk]), input), label)) in lanes.enumerate() {
        let shifted = input.masked ^ (member.deltas >> lane & 1 == 1);
        let left = *c ^ tg.times(common.masked);
        let right = *x ^ te.times(input.masked) ^ common.label.times(shifted);
        *label = left ^ right ^ *mk;
    }
}
