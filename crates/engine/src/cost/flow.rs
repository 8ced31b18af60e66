//! The traffic that a part of a session puts on the wire.

use cenote_net::{HEADER_LEN, Role};
use cenote_ot::{Choice, Sent, Traffic};
use serde::{Deserialize, Serialize};

use crate::parts::{coin, equality};

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
    /// Correlated OTs, in either direction.
    #[serde(skip)]
    pub(super) cots: u64,
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
            cots: times(self.cots),
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
            cots: self.cots.saturating_add(next.cots),
            ends,
        }
    }

    /// One, if the garbler has sent last and receives next: a channel counts a round then.
    fn turn(self, next: Flow) -> u64 {
        let ends = (self.ends.map(|(_, last)| last), next.ends.map(|(first, _)| first));
        u64::from(ends == (Some(Role::Garbler), Some(Role::Evaluator)))
    }

    /// A set-up of correlated OT; `sender` has Delta.
    pub(crate) fn ot_setup(self, ot: Choice, sender: Role) -> Flow {
        let traffic = ot.setup_traffic();
        // First messages cross; the bytes of the receiver's others are counted with its first.
        let first = |sent: Sent| Sent { messages: 1, ..sent };
        let mut ends = [(sender, traffic.sender), (sender.peer(), first(traffic.receiver))];
        ends.sort_by_key(|(from, _)| *from as u8);
        let crossing = ends.into_iter().fold(self, |flow, (from, sent)| flow.sent(from, sent));
        crossing.sends(sender.peer(), 0, traffic.receiver.messages - 1)
    }

    /// The set-ups of both directions at once.
    pub(crate) fn ot_setups(self, ot: Choice) -> Flow {
        let [garbler, evaluator] = ot.duplex_traffic();
        let cots = garbler.messages - 3;
        // Bytes are counted with the first messages; points, what turns them round, then trees, then the first COTs of silent OT.
        let points = self.sends(Role::Garbler, garbler.bytes, 1);
        let points = points.sends(Role::Evaluator, evaluator.bytes, evaluator.messages - cots - 1);
        let trees = points.sends(Role::Garbler, 0, 2).sends(Role::Evaluator, 0, 1);
        trees.crosses(0, cots).waits(3 + u64::from(ot.is_silent()))
    }

    /// `count` correlated OTs, without the extensions of silent OT.
    pub(crate) fn cots(self, ot: Choice, receiver: Role, count: u64) -> Flow {
        let traffic = if ot.is_silent() { Traffic::default() } else { ot.traffic(count) };
        let flow = self.sent(receiver.peer(), traffic.sender).sent(receiver, traffic.receiver);
        Flow { cots: flow.cots.saturating_add(count), ..flow }
    }

    fn sent(self, from: Role, sent: Sent) -> Flow {
        self.sends(from, sent.bytes, sent.messages)
    }

    /// A toss of a joint coin.
    pub(crate) fn toss(self) -> Flow {
        let [commit, reply, opening] = [coin::COMMIT_LEN, coin::REPLY_LEN, coin::OPENING_LEN];
        let flow = self.sends(Role::Garbler, commit as u64, 1);
        flow.sends(Role::Evaluator, reply as u64, 1).sends(Role::Garbler, opening as u64, 1)
    }

    /// The first message of a toss with a test of equality.
    pub(crate) fn commits(self) -> Flow {
        self.sends(Role::Garbler, equality::COMMIT_LEN as u64, 1)
    }

    /// The other two.
    pub(crate) fn replies_and_opens(self) -> Flow {
        let replied = self.sends(Role::Evaluator, equality::REPLY_LEN as u64, 1);
        replied.sends(Role::Garbler, equality::OPENING_LEN as u64, 1)
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
