//! Layers for tests: record what travels, digest it, tamper with what is sent.
//!
//! They see frames, work over every kind of channel, and cost one comparison a frame when absent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::frame::{MAX_FRAME, encode_header};
use crate::{Channel, Tag};

/// Which way a frame went, seen from the recording side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Direction {
    /// To the peer.
    Sent,
    /// From the peer.
    Received,
}

/// A frame as it travelled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedFrame {
    /// Which way it went.
    pub direction: Direction,
    /// The tag's byte.
    pub tag: u8,
    /// The payload.
    pub payload: Vec<u8>,
}

/// The frames that a channel sent and received, in order; clones share them.
#[derive(Clone, Default, Debug)]
pub struct Recording {
    frames: Arc<Mutex<Vec<RecordedFrame>>>,
}

impl Recording {
    /// A copy of all frames so far.
    #[must_use]
    pub fn frames(&self) -> Vec<RecordedFrame> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All bytes of one direction, headers included, as they were on the wire.
    #[must_use]
    pub fn wire_bytes(&self, direction: Direction) -> Vec<u8> {
        let mut bytes = Vec::new();
        for frame in self.frames().iter().filter(|frame| frame.direction == direction) {
            bytes.extend_from_slice(&encode_header(frame.tag, frame.payload.len()));
            bytes.extend_from_slice(&frame.payload);
        }
        bytes
    }

    fn push(&self, direction: Direction, tag: u8, payload: &[u8]) {
        let frame = RecordedFrame { direction, tag, payload: payload.to_vec() };
        self.frames.lock().unwrap_or_else(PoisonError::into_inner).push(frame);
    }
}

/// BLAKE3 digests of all frames, headers included, in each direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TranscriptDigest {
    /// Of the frames sent.
    pub sent: [u8; 32],
    /// Of the frames received.
    pub received: [u8; 32],
}

/// A frame on its way out, as a tampering rule sees it.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The tag's byte.
    pub tag: u8,
    /// How many frames with this tag the protocol sent before.
    pub index: usize,
    /// The payload that the protocol meant to send.
    pub payload: &'a [u8],
}

/// The fate of a frame under a tampering rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Send it as it is.
    Pass,
    /// Send nothing.
    Drop,
    /// Send another payload of at most [`MAX_FRAME`] bytes under the same tag.
    Replace(Vec<u8>),
    /// Send it twice.
    Double,
    /// Send it after the next frame.
    Hold,
    /// Send these bytes instead, which need not be a frame.
    Raw(Vec<u8>),
}

/// A single deviation from the protocol, for tables of cheats; see [`Channel::deviate`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Deviation {
    /// Flip one bit, counted modulo the payload's bits; an empty payload gains a byte.
    Flip(usize),
    /// Cut this many bytes off the end, at most all of them.
    Cut(usize),
    /// Leave the frame out.
    Drop,
    /// Send the frame twice.
    Double,
    /// Change places with the frame that follows.
    Swap,
    /// Send the frame again in place of the next one with its tag.
    Replay,
    /// Send another payload.
    Replace(Vec<u8>),
}

/// Tells whether a [`Deviation`] found its frame and changed what was sent.
#[derive(Clone, Default, Debug)]
pub struct Witness(Arc<AtomicBool>);

impl Witness {
    /// Whether the deviation happened.
    #[must_use]
    pub fn happened(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

type Rule = Box<dyn FnMut(Outgoing<'_>) -> Fate + Send>;

/// The layers that are present on a channel.
#[derive(Default)]
pub(crate) struct Tap {
    digests: Option<(blake3::Hasher, blake3::Hasher)>,
    recording: Option<Recording>,
    tamper: Option<Tamper>,
}

struct Tamper {
    rule: Rule,
    /// Frames seen, by tag.
    seen: Vec<usize>,
    held: Option<Vec<u8>>,
}

impl Tap {
    /// Notes a frame that travelled.
    pub(crate) fn note(&mut self, direction: Direction, tag: u8, payload: &[u8]) {
        if let Some((sent, received)) = &mut self.digests {
            let hasher = if direction == Direction::Sent { sent } else { received };
            hasher.update(&encode_header(tag, payload.len()));
            hasher.update(payload);
        }
        if let Some(recording) = &self.recording {
            recording.push(direction, tag, payload);
        }
    }

    /// The bytes to send in place of a frame; none when the frame goes out as it is.
    pub(crate) fn tampered(&mut self, tag: u8, payload: &[u8]) -> Option<Vec<u8>> {
        let tamper = self.tamper.as_mut()?;
        let index = tamper.seen[usize::from(tag)];
        tamper.seen[usize::from(tag)] += 1;
        let frame = |payload: &[u8]| [&encode_header(tag, payload.len()), payload].concat();
        let fate = (tamper.rule)(Outgoing { tag, index, payload });
        if fate == Fate::Hold && tamper.held.is_none() {
            tamper.held = Some(frame(payload));
            return Some(Vec::new());
        }
        let held = tamper.held.take();
        let mut bytes = match fate {
            Fate::Pass if held.is_none() => return None,
            Fate::Pass | Fate::Hold => frame(payload),
            Fate::Drop => Vec::new(),
            Fate::Replace(other) => frame(&other[..other.len().min(MAX_FRAME)]),
            Fate::Double => [frame(payload), frame(payload)].concat(),
            Fate::Raw(bytes) => bytes,
        };
        bytes.extend(held.unwrap_or_default());
        Some(bytes)
    }
}

impl Channel {
    /// Keeps a running digest of all frames from here on. Takes time: for tests and audits.
    pub fn enable_transcript(&mut self) {
        self.tap().digests = Some(Default::default());
    }

    /// The digests of all frames so far; none unless [enabled](Self::enable_transcript).
    #[must_use]
    pub fn transcript_digest(&self) -> Option<TranscriptDigest> {
        let (sent, received) = self.tap.as_ref()?.digests.as_ref()?;
        Some(TranscriptDigest {
            sent: *sent.finalize().as_bytes(),
            received: *received.finalize().as_bytes(),
        })
    }

    /// Records all frames from here on, in memory.
    pub fn record(&mut self) -> Recording {
        self.tap().recording.get_or_insert_default().clone()
    }

    /// Asks `rule` about each frame to be sent, in place of the rule before. Abort and bye frames are
    /// beyond its reach. Tampered bytes are not recorded and not in the digest.
    pub fn tamper(&mut self, rule: impl FnMut(Outgoing<'_>) -> Fate + Send + 'static) {
        let seen = vec![0; 256];
        self.tap().tamper = Some(Tamper { rule: Box::new(rule), seen, held: None });
    }

    /// Deviates at the frame with this tag that has `index` others before it.
    pub fn deviate(&mut self, tag: Tag, index: usize, deviation: Deviation) -> Witness {
        let witness = Witness::default();
        let happened = Arc::clone(&witness.0);
        let mut old = None;
        self.tamper(move |frame| {
            if frame.tag != tag.id {
                return Fate::Pass;
            }
            let fate = if frame.index == index {
                deviation.fate(frame.payload, &mut old)
            } else {
                old.take().map_or(Fate::Pass, Fate::Replace)
            };
            let changes = match &fate {
                Fate::Pass => false,
                Fate::Replace(payload) => payload != frame.payload,
                _ => true,
            };
            happened.fetch_or(changes, Ordering::SeqCst);
            fate
        });
        witness
    }
}

impl Deviation {
    fn fate(&self, payload: &[u8], old: &mut Option<Vec<u8>>) -> Fate {
        match self {
            Deviation::Flip(_) if payload.is_empty() => Fate::Replace(vec![0]),
            Deviation::Flip(bit) => {
                let mut payload = payload.to_vec();
                let bit = bit % (8 * payload.len());
                payload[bit / 8] ^= 1 << (bit % 8);
                Fate::Replace(payload)
            }
            Deviation::Cut(n) => {
                Fate::Replace(payload[..payload.len().saturating_sub(*n)].to_vec())
            }
            Deviation::Drop => Fate::Drop,
            Deviation::Double => Fate::Double,
            Deviation::Swap => Fate::Hold,
            Deviation::Replay => {
                *old = Some(payload.to_vec());
                Fate::Pass
            }
            Deviation::Replace(other) => Fate::Replace(other.clone()),
        }
    }
}
