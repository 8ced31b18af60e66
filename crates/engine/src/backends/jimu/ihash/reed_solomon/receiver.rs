//! The evaluator's end.

use std::sync::Arc;

use cenote_net::Fault;
use cenote_pool::params::HashCodes;
use cenote_prim::planes::to_blocks;
use cenote_prim::{Block, Prg, Secret, SessionId};
use zeroize::Zeroizing;

use super::code::{Code, Coefficients, LABEL_BLOCKS, scattered, strips};
use super::escrow;
use super::inputs::Inputs;
use super::planes::{Batch, Window};
use super::watcher::{Opening, Watcher, Work, differences};
use super::{CODEWORD, FORMAT, Watch, check_seeds};
use crate::backends::jimu::ihash::{
    Corrections, HashReceiver, Held, LANES, Label, Message, Recogniser, Statement, Tag,
};

/// Messages that are compared at a time.
const COMPARED: usize = 64;

/// The evaluator's end of the Reed-Solomon hash.
pub struct ReedSolomonReceiver {
    session: SessionId,
    pub(super) labels: Watcher,
    pub(super) perms: Watcher,
    inputs: Inputs,
    /// Planes of the corrections of permutation messages since the last check, if they are kept.
    corrections: Option<Batch>,
    /// The number of the next wire.
    next: u64,
    /// The first wire of the batch.
    batch: u64,
    /// Whether the batch has the wires that its answer sacrifices.
    closed: bool,
    /// Whether a message was refused: none is accepted any more.
    failed: bool,
    work: Work,
    tags: ReedSolomonTags,
}

/// What the receiver's end recognises messages by. Secret.
#[derive(Clone)]
pub struct ReedSolomonTags {
    labels: Arc<Opening>,
    perms: Arc<Opening>,
    perm_blocks: usize,
}

impl ReedSolomonReceiver {
    /// The end that knows some seeds of each code. Secret matrices are drawn from `random`.
    ///
    /// # Panics
    /// If there are not as many as the codes say.
    #[must_use]
    pub fn new(
        codes: &HashCodes,
        session: SessionId,
        labels: Watch<'_>,
        perms: Watch<'_>,
        random: &mut Prg,
    ) -> ReedSolomonReceiver {
        let code = Code::labels(codes);
        let inputs = Inputs::new(&code, labels.positions);
        let labels = Watcher::new(code, labels, random);
        let perms = Watcher::new(Code::perms(codes), perms, random);
        let tags = ReedSolomonTags {
            labels: Arc::clone(&labels.opening),
            perms: Arc::clone(&perms.opening),
            perm_blocks: perms.code.form_blocks(),
        };
        ReedSolomonReceiver {
            session,
            inputs,
            labels,
            perms,
            tags,
            corrections: None,
            next: 0,
            batch: 0,
            closed: false,
            failed: false,
            work: Work::default(),
        }
    }

    /// What recognises messages without it.
    #[must_use]
    pub fn tags(&self) -> ReedSolomonTags {
        self.tags.clone()
    }

    /// The number of the next wire.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Goes on as [`ReedSolomonSender::go_on`](super::ReedSolomonSender::go_on), with what [`ReedSolomonReceiver::delta`] gave.
    ///
    /// # Panics
    /// As there.
    pub fn go_on(&mut self, first: u64, delta: [Block; 2]) {
        assert!(self.next == self.batch && self.next <= first && !self.closed);
        self.next = first.next_multiple_of(LANES as u64);
        self.batch = self.next;
        self.inputs.put_back_delta(delta);
    }

    /// What [`HashReceiver::complete`] adds to labels beside what their keys give. Secret.
    #[must_use]
    pub fn delta(&self) -> Secret<[Block; 2]> {
        self.inputs.delta()
    }

    /// Adds the next `lanes` wires to the batch; their tags are written if wanted.
    fn extend(
        &mut self,
        lanes: usize,
        corrections: &[u8],
        mut tags: Option<&mut [Tag]>,
    ) -> Result<u64, Fault> {
        assert!(lanes.is_multiple_of(LANES) && !self.closed);
        if corrections.len() != self.corrections_len(lanes) {
            self.failed = true;
            return Err(FORMAT);
        }
        self.inputs.forget_old();
        let (first, second) = corrections.split_at(self.labels.code.correction_planes() * lanes);
        let mut canonical = true;
        for (at, width) in strips(lanes) {
            let wire = self.next + at as u64;
            let mut out = tags.as_mut().map(|tags| &mut tags[at..at + width]);
            for (part, rows) in [first, second].into_iter().enumerate() {
                let watcher = if part == 0 { &mut self.labels } else { &mut self.perms };
                canonical &= watcher.load(wire, width, &mut self.work, rows, Window { lanes, at });
                match &mut self.corrections {
                    _ if part == 0 => self.inputs.keep(wire, width, watcher, &mut self.work),
                    Some(kept) => {
                        let planes = watcher.corrections(width, &mut self.work);
                        kept.push(watcher.code.parity(), width).copy_from_slice(planes);
                    }
                    None => {}
                }
                let out = out.as_mut().map(|tags| (bytemuck::cast_slice_mut(tags), part));
                watcher.hash(width, &mut self.work, out);
            }
        }
        let first = self.next;
        self.next += lanes as u64;
        self.failed |= !canonical;
        if canonical { Ok(first) } else { Err(FORMAT) }
    }

    /// All that this side sees of wires before anything is opened: for each code the watched streams
    /// and all corrections, plane by plane.
    #[cfg(test)]
    pub(crate) fn seen(&self, first: u64, lanes: usize, corrections: &[u8]) -> [Vec<u8>; 2] {
        let (labels, perms) = corrections.split_at(self.labels.code.correction_planes() * lanes);
        [self.labels.seen(first, lanes, labels), self.perms.seen(first, lanes, perms)]
    }

    /// Whether the answer has the tags of the combinations of the batch.
    pub(super) fn answer_agrees(&self, held: &Held, answer: &[u8]) -> bool {
        let (first, second) = answer.split_at(self.labels.answer_len());
        let mut agree = true;
        for ((watcher, forms), tags) in
            [(&self.labels, first), (&self.perms, second)].into_iter().zip(&held.tags)
        {
            agree &= watcher.check(tags, forms);
        }
        agree
    }
}

impl Recogniser for ReedSolomonTags {
    fn perm_blocks(&self) -> usize {
        self.perm_blocks
    }

    fn labels_agree(&self, label: &Label, tag: Block) -> bool {
        let mut expected = [Block::ZERO];
        self.labels.tags_of(&label.0, &mut expected);
        expected[0].ct_eq(tag)
    }

    fn agree(&self, messages: &[Message], tags: &[Tag]) -> bool {
        assert_eq!(messages.len(), tags.len());
        let perm_blocks = self.perm_blocks;
        let mut labels = Zeroizing::new(Vec::with_capacity(LABEL_BLOCKS * COMPARED));
        let mut perms = Zeroizing::new(Vec::with_capacity(perm_blocks * COMPARED));
        let mut shown = Zeroizing::new([Block::ZERO; 2 * COMPARED]);
        let mut different = 0;
        for (messages, tags) in messages.chunks(COMPARED).zip(tags.chunks(COMPARED)) {
            labels.clear();
            perms.clear();
            for message in messages {
                labels.extend_from_slice(&message.label.0);
                let (perm, rest) = message.perm.0.split_at(perm_blocks);
                perms.extend_from_slice(perm);
                different |= differences(rest, &[Block::ZERO; 2]).to_u128();
            }
            let (of_labels, of_perms) = shown.split_at_mut(COMPARED);
            self.labels.tags_of(&labels, &mut of_labels[..messages.len()]);
            self.perms.tags_of(&perms, &mut of_perms[..messages.len()]);
            for (i, tag) in tags.iter().enumerate() {
                let held = [tag.label, tag.perm];
                different |= differences(&[of_labels[i], of_perms[i]], &held).to_u128();
            }
        }
        Block::new(different).ct_eq(Block::ZERO)
    }

    fn tags_of_labels(&self, labels: &[Label], tags: &mut [Block]) {
        assert_eq!(labels.len(), tags.len());
        self.labels.tags_of(bytemuck::cast_slice(labels), tags);
    }
}

impl Recogniser for ReedSolomonReceiver {
    fn perm_blocks(&self) -> usize {
        self.tags.perm_blocks()
    }

    fn labels_agree(&self, label: &Label, tag: Block) -> bool {
        self.tags.labels_agree(label, tag)
    }

    fn agree(&self, messages: &[Message], tags: &[Tag]) -> bool {
        self.tags.agree(messages, tags)
    }

    fn tags_of_labels(&self, labels: &[Label], tags: &mut [Block]) {
        self.tags.tags_of_labels(labels, tags);
    }
}

impl HashReceiver for ReedSolomonReceiver {
    fn hash(
        &mut self,
        lanes: usize,
        corrections: &[u8],
        tags: &mut Vec<Tag>,
    ) -> Result<u64, Fault> {
        tags.resize(lanes, Tag::ZERO);
        self.extend(lanes, corrections, Some(tags))
    }

    fn hash_again(
        &self,
        starts: &[u64],
        width: usize,
        lanes: usize,
        corrections: &[u8],
        tags: &mut Vec<Tag>,
    ) -> Result<(), Fault> {
        let wires = starts.len() * width;
        assert!(lanes.is_multiple_of(LANES) && wires <= lanes);
        let hashed =
            |start: &u64| start.checked_add(width as u64).is_some_and(|end| end <= self.next);
        if corrections.len() != self.corrections_len(lanes) || !starts.iter().all(hashed) {
            return Err(FORMAT);
        }
        let padding = corrections.chunks_exact(lanes.max(1)).flat_map(|plane| &plane[wires..]);
        let mut canonical = padding.fold(0, |sum, byte| sum | byte) == 0;
        // As for the sender, strips may reach beyond their end.
        tags.resize(wires + LANES, Tag::ZERO);
        let (first, second) = corrections.split_at(self.labels.code.correction_planes() * lanes);
        let mut work = Work::default();
        scattered(starts, width, |starts, width, at| {
            let wires = (starts.len() * width).next_multiple_of(LANES);
            let out: &mut [Block] = bytemuck::cast_slice_mut(&mut tags[at..at + wires]);
            let window = Window { lanes, at };
            for (part, rows) in [first, second].into_iter().enumerate() {
                let watcher = if part == 0 { &self.labels } else { &self.perms };
                canonical &= watcher.load_again((starts, width), wires, &mut work, rows, window);
                watcher.tags_again(wires, &mut work, out, part);
            }
        });
        tags.truncate(wires);
        if canonical { Ok(()) } else { Err(FORMAT) }
    }

    fn corrections_len(&self, lanes: usize) -> usize {
        (self.labels.code.correction_planes() + self.perms.code.correction_planes()) * lanes
    }

    fn sacrificed(&self) -> usize {
        self.labels.code.combinations.max(self.perms.code.combinations) * LANES
    }

    fn close(&mut self, corrections: &[u8]) -> Result<(), Fault> {
        self.extend(self.sacrificed(), corrections, None)?;
        self.closed = true;
        Ok(())
    }

    fn answer_len(&self) -> usize {
        self.labels.answer_len() + self.perms.answer_len()
    }

    fn held(&self, coin: Block) -> Held {
        assert!(self.closed || self.failed, "a batch is checked when it is closed");
        if self.failed {
            return Held { batch: self.batch, tags: Default::default(), corrections: None };
        }
        let vectors = (self.next - self.batch) as usize / LANES;
        let sacrificed = self.sacrificed() / LANES;
        let [labels, perms] = [&self.labels, &self.perms].map(|watcher| {
            let seed = check_seeds(&self.session, &watcher.code, self.batch, coin);
            (seed, Coefficients::expand(&watcher.code, seed, vectors, sacrificed))
        });
        let tags = [self.labels.held(&labels.1), self.perms.held(&perms.1)];
        let corrections = self.corrections.as_ref().map(|kept| Corrections {
            seed: perms.0,
            vectors,
            sums: kept.sums(&self.perms.code, self.perms.code.parity(), &perms.1),
        });
        Held { batch: self.batch, tags, corrections }
    }

    fn check(&mut self, held: &Held, answer: &[u8]) -> Result<(), Fault> {
        let own = held.batch == self.batch && self.closed;
        assert!(own || self.failed, "a batch is checked with what is held of it");
        let long = answer.len() == self.answer_len();
        if self.failed || !long || !self.answer_agrees(held, answer) {
            self.failed = true;
            return Err(CODEWORD);
        }
        self.labels.batch.clear();
        self.perms.batch.clear();
        self.inputs.stop();
        self.corrections = None;
        self.batch = self.next;
        self.closed = false;
        Ok(())
    }

    fn complete(&self, first: u64, keys: &[Block], bits: &[bool]) -> Vec<Label> {
        self.inputs.complete(first, keys, bits)
    }

    fn keep_watched(&mut self) {
        self.inputs.start();
    }

    fn keep_corrections(&mut self) {
        self.corrections = Some(Batch::default());
    }

    fn statement(&self, held: &Held, answer: &[u8]) -> Statement {
        let Corrections { seed, vectors, sums } =
            held.corrections.as_ref().expect("the corrections of the batch were kept");
        let batch = (held.batch, *vectors, self.sacrificed() / LANES);
        let (_, answer) = answer.split_at(self.labels.answer_len());
        escrow::state(&self.perms.code, batch, *seed, answer, sums)
    }

    fn perm_corrections(
        &self,
        lanes: usize,
        corrections: &[u8],
        out: &mut [Block],
        stride: usize,
        offset: usize,
    ) {
        let planes = &corrections[self.labels.code.correction_planes() * lanes..];
        for (part, planes) in planes.chunks(size_of::<Block>() * lanes).enumerate() {
            to_blocks(planes, lanes, out, stride, offset + part);
        }
    }

    fn set_delta(&mut self, wire: u64, shift: &Label) -> Block {
        self.inputs.set_delta(wire, shift);
        let lane = wire.checked_sub(self.batch).and_then(|lane| usize::try_from(lane).ok());
        let tag = lane.and_then(|lane| self.labels.tag_in_batch(lane));
        let mut shifted = [Block::ZERO];
        self.labels.tags_of(&shift.0, &mut shifted);
        tag.expect("the delta is a wire of this batch") ^ shifted[0]
    }
}
