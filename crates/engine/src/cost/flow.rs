//! The traffic that a part of a session puts on the wire.

use cenote_net::{HEADER_LEN, Role};
use cenote_ot::{Params as OtParams, message_len, setup_len};
use serde::{Deserialize, Serialize};

use crate::parts::coin::{CONTRIBUTION_LEN, OPENING_LEN};

/// Traffic of a part of a session, written down in the order in which the garbler sends and receives: rounds
/// follow from that order. Sums and products stop at the largest number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Bytes with frame headers, from the garbler and from the evaluator.
    pub bytes: [u64; 2],
    /// Frames, from the garbler and from the evaluator.
    pub frames: [u64; 2],
    /// Rounds as a channel counts them, at the garbler.
    pub rounds: u64,
    /// How often one side waits for a message that the other one sends only then: each costs half a
    /// round-trip time.
    pub waits: u64,
    /// Who sends first and who last.
    #[serde(skip)]
    ends: Option<(Role, Role)>,
}

impl Flow {
    /// `frames` messages of `payload` bytes altogether.
    pub(crate) fn sends(self, from: Role, payload: u64, frames: u64) -> Flow {
        let headers = frames.saturating_mul(HEADER_LEN as u64);
        let mut next = Flow { ends: (frames > 0).then_some((from, from)), ..Flow::default() };
        next.bytes[from as usize] = payload.saturating_add(headers);
        next.frames[from as usize] = frames;
        self.and(next)
    }

    /// The same message from both sides, which send before they receive.
    pub(crate) fn crosses(self, payload: u64, frames: u64) -> Flow {
        self.sends(Role::Garbler, payload, frames).sends(Role::Evaluator, payload, frames)
    }

    pub(crate) fn waits(mut self, waits: u64) -> Flow {
        self.waits = self.waits.saturating_add(waits);
        self
    }

    /// As often as `count` says, one after the other.
    pub(crate) fn times(self, count: u64) -> Flow {
        let times = |x: u64| x.saturating_mul(count);
        let between = self.turn(self).saturating_mul(count.saturating_sub(1));
        Flow {
            bytes: self.bytes.map(times),
            frames: self.frames.map(times),
            rounds: times(self.rounds).saturating_add(between),
            waits: times(self.waits),
            ends: self.ends.filter(|_| count > 0),
        }
    }

    /// Both one after the other.
    #[must_use]
    pub fn and(self, next: Flow) -> Flow {
        let add = |a: [u64; 2], b: [u64; 2]| [a[0].saturating_add(b[0]), a[1].saturating_add(b[1])];
        let rounds = self.rounds.saturating_add(next.rounds).saturating_add(self.turn(next));
        let ends = match (self.ends, next.ends) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (one, other) => one.or(other),
        };
        Flow {
            bytes: add(self.bytes, next.bytes),
            frames: add(self.frames, next.frames),
            rounds,
            waits: self.waits.saturating_add(next.waits),
            ends,
        }
    }

    /// One, if the garbler has sent last and receives next: a channel counts a round then.
    fn turn(self, next: Flow) -> u64 {
        let ends = (self.ends.map(|(_, last)| last), next.ends.map(|(first, _)| first));
        u64::from(ends == (Some(Role::Garbler), Some(Role::Evaluator)))
    }

    /// A set-up of correlated OT; `sender` has Delta.
    pub(crate) fn ot_setup(self, params: OtParams, sender: Role) -> Flow {
        let (from_sender, from_receiver) = setup_len(params);
        // The points cross, then come the trees; bytes of both are counted with the first.
        let points = match sender {
            Role::Garbler => [(sender, from_sender), (sender.peer(), from_receiver)],
            Role::Evaluator => [(sender.peer(), from_receiver), (sender, from_sender)],
        };
        let crossing =
            points.into_iter().fold(self, |flow, (from, bytes)| flow.sends(from, bytes as u64, 1));
        crossing.sends(sender.peer(), 0, 1)
    }

    /// `count` correlated OTs: messages of their receiver alone.
    pub(crate) fn cots(self, params: OtParams, receiver: Role, count: u64) -> Flow {
        let (chunk, count) = (params.chunk() as u64, count.next_multiple_of(128));
        let (whole, rest) = (count / chunk, count % chunk);
        let message = |cots: u64| message_len(params, cots as usize) as u64;
        let whole = Flow::default().sends(receiver, message(chunk), 1).times(whole);
        let rest = if rest > 0 { self.sends(receiver, message(rest), 1) } else { self };
        rest.and(whole)
    }

    /// A toss of a joint coin.
    pub(crate) fn toss(self) -> Flow {
        self.sends(Role::Garbler, 32, 1).sends(Role::Evaluator, CONTRIBUTION_LEN as u64, 1).sends(
            Role::Garbler,
            OPENING_LEN as u64,
            1,
        )
    }

    /// A handshake with hellos of `bytes` bytes.
    pub(crate) fn hello(self, bytes: usize) -> Flow {
        self.crosses(bytes as u64, 1).waits(1)
    }
}

/// Bytes of `bits` packed bits.
pub(crate) const fn packed(bits: u64) -> u64 {
    bits.div_ceil(8)
}
