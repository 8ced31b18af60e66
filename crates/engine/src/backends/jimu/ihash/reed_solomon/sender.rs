//! The garbler's end.

use cenote_pool::params::HashCodes;
use cenote_prim::{Block, SessionId, zeroize_to_fit};

use super::check_seeds;
use super::code::{Code, Coefficients, LABEL_BLOCKS, scattered, strips};
use super::encoder::{Encoder, Work};
use super::planes::Window;
use crate::backends::jimu::ihash::{HashSender, LANES, Message};

/// Blocks of a [`Message`].
const MESSAGE_BLOCKS: usize = size_of::<Message>() / size_of::<Block>();

/// The garbler's end of the Reed-Solomon hash.
pub struct ReedSolomonSender {
    session: SessionId,
    pub(super) labels: Encoder,
    pub(super) perms: Encoder,
    /// The number of the next wire.
    next: u64,
    /// The first wire of the batch.
    batch: u64,
    /// Whether the batch has the wires that its answer sacrifices.
    closed: bool,
    work: Work,
}

impl ReedSolomonSender {
    /// The end that knows all seeds: `labels` and `perms`, one for every symbol of each code.
    ///
    /// # Panics
    /// If there are not so many.
    #[must_use]
    pub fn new(
        codes: &HashCodes,
        session: SessionId,
        labels: &[Block],
        perms: &[Block],
    ) -> ReedSolomonSender {
        ReedSolomonSender {
            session,
            labels: Encoder::new(Code::labels(codes), labels),
            perms: Encoder::new(Code::perms(codes), perms),
            next: 0,
            batch: 0,
            closed: false,
            work: Work::default(),
        }
    }

    /// The number of the next wire.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Wires that [`HashSender::close`] hashes.
    #[must_use]
    pub fn closing(&self) -> usize {
        self.sacrificed() * LANES
    }

    /// Goes on with wire number `first`, or with the first vector after it: those before it were hashed under these seeds in an earlier
    /// session, or may have been.
    ///
    /// # Panics
    /// In the midst of a batch, or if so many were hashed already.
    pub fn go_on(&mut self, first: u64) {
        assert!(self.next == self.batch && self.next <= first && !self.closed);
        self.next = first.next_multiple_of(LANES as u64);
        self.batch = self.next;
    }

    /// Vectors that end a batch.
    fn sacrificed(&self) -> usize {
        self.labels.code.combinations.max(self.perms.code.combinations)
    }

    /// Corrections, and messages if wanted, of the next `lanes` wires.
    fn extend(
        &mut self,
        lanes: usize,
        mut messages: Option<&mut [Message]>,
        corrections: &mut Vec<u8>,
    ) -> u64 {
        assert!(lanes.is_multiple_of(LANES) && !self.closed);
        let start = corrections.len();
        corrections.resize(start + self.corrections_len(lanes), 0);
        let of_labels = self.labels.code.correction_planes() * lanes;
        let (first, second) = corrections[start..].split_at_mut(of_labels);
        for (at, width) in strips(lanes) {
            let parts = [(&self.labels, 0, &mut *first), (&self.perms, LABEL_BLOCKS, &mut *second)];
            for (encoder, offset, rows) in parts {
                encoder.load(self.next + at as u64, width, &mut self.work);
                encoder.correct(width, &mut self.work, rows, Window { lanes, at });
                if let Some(messages) = &mut messages {
                    let out = bytemuck::cast_slice_mut(&mut messages[at..at + width]);
                    encoder.forms(width, &mut self.work, out, MESSAGE_BLOCKS, offset);
                }
            }
        }
        let first = self.next;
        self.next += lanes as u64;
        first
    }

    /// Messages of scattered wires, and their corrections in planes of so many lanes if wanted.
    fn repeat(
        &self,
        starts: &[u64],
        width: usize,
        messages: &mut Vec<Message>,
        mut corrections: Option<(usize, &mut [u8])>,
    ) {
        // Strips are whole vectors: the last may reach beyond the end, each other one is
        // overwritten there by its successor.
        resize(messages, starts.len() * width + LANES);
        let of_labels = self.labels.code.correction_planes();
        let mut work = Work::default();
        scattered(starts, width, |starts, width, at| {
            let wires = (starts.len() * width).next_multiple_of(LANES);
            let out = bytemuck::cast_slice_mut(&mut messages[at..at + wires]);
            for (encoder, offset) in [(&self.labels, 0), (&self.perms, LABEL_BLOCKS)] {
                encoder.load_again((starts, width), wires, corrections.is_some(), &mut work);
                if let Some((lanes, rows)) = &mut corrections {
                    let window = Window { lanes: *lanes, at };
                    let (of_labels, of_perms) = rows.split_at_mut(of_labels * window.lanes);
                    let rows = if offset == 0 { of_labels } else { of_perms };
                    encoder.correct(wires, &mut work, rows, window);
                }
                encoder.forms(wires, &mut work, out, MESSAGE_BLOCKS, offset);
            }
        });
        messages.truncate(starts.len() * width);
    }
}

/// Makes `messages` as many, without leaving a copy behind.
fn resize(messages: &mut Vec<Message>, count: usize) {
    zeroize_to_fit(messages, count);
    messages.resize(count, Message::ZERO);
}

impl HashSender for ReedSolomonSender {
    fn hash(
        &mut self,
        lanes: usize,
        messages: &mut Vec<Message>,
        corrections: &mut Vec<u8>,
    ) -> u64 {
        resize(messages, lanes);
        self.extend(lanes, Some(messages), corrections)
    }

    fn corrections_len(&self, lanes: usize) -> usize {
        (self.labels.code.correction_planes() + self.perms.code.correction_planes()) * lanes
    }

    fn perm_blocks(&self) -> usize {
        self.perms.code.form_blocks()
    }

    fn again(&self, starts: &[u64], width: usize, messages: &mut Vec<Message>) {
        self.repeat(starts, width, messages, None);
    }

    fn again_with_corrections(
        &self,
        starts: &[u64],
        width: usize,
        lanes: usize,
        messages: &mut Vec<Message>,
        corrections: &mut Vec<u8>,
    ) {
        assert!(lanes.is_multiple_of(LANES) && starts.len() * width <= lanes);
        let first = corrections.len();
        corrections.resize(first + self.corrections_len(lanes), 0);
        self.repeat(starts, width, messages, Some((lanes, &mut corrections[first..])));
    }

    fn close(&mut self, corrections: &mut Vec<u8>) {
        self.extend(self.closing(), None, corrections);
        self.closed = true;
    }

    fn answer(&mut self, coin: Block) -> Vec<u8> {
        assert!(self.closed, "a batch is answered for when it is closed");
        let batch = self.batch..self.next;
        let vectors = (batch.end - batch.start) as usize / LANES;
        let mut answer = Vec::new();
        for encoder in [&self.labels, &self.perms] {
            let seed = check_seeds(&self.session, &encoder.code, self.batch, coin);
            let factors = Coefficients::expand(&encoder.code, seed, vectors, self.sacrificed());
            encoder.answer(batch.clone(), &factors, &mut self.work, &mut answer);
        }
        self.batch = self.next;
        self.closed = false;
        answer
    }
}
