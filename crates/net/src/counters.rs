//! The cost of a session, on the wire and in time, by phase.

use std::time::Duration;

/// The part of a session that traffic is charged to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Phase {
    /// Handshake, base oblivious transfers: once a session. A new channel starts here.
    Setup,
    /// Whatever does not depend on the function: filling and refilling pools, ready triples.
    Preprocess,
    /// Whatever depends on the function or the inputs: garbling, evaluation, reveal.
    Online,
}

impl Phase {
    /// All phases, in the order in which they usually run.
    pub const ALL: [Phase; 3] = [Phase::Setup, Phase::Preprocess, Phase::Online];

    /// The phase's name in results and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Setup => "setup",
            Phase::Preprocess => "preprocess",
            Phase::Online => "online",
        }
    }
}

/// Traffic of one phase, seen from this side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Bytes handed to the connection: payloads and frame headers, without TLS and TCP overhead.
    pub bytes_sent: u64,
    /// Bytes of the frames taken from the connection: payloads and frame headers.
    pub bytes_received: u64,
    /// Frames sent.
    pub messages_sent: u64,
    /// Frames received.
    pub messages_received: u64,
    /// How often this side turned from sending to receiving: a receive counts one round when at least
    /// one frame was sent since the receive before it.
    pub rounds: u64,
    /// Time that passed in this phase, waiting included.
    pub time: Duration,
}

impl Traffic {
    fn add(&mut self, other: &Traffic) {
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.messages_sent += other.messages_sent;
        self.messages_received += other.messages_received;
        self.rounds += other.rounds;
        self.time += other.time;
    }
}

/// Traffic of each phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    phases: [Traffic; Phase::ALL.len()],
}

impl Counters {
    /// Traffic of one phase.
    #[must_use]
    pub fn phase(&self, phase: Phase) -> Traffic {
        self.phases[phase as usize]
    }

    /// Traffic of all phases together.
    #[must_use]
    pub fn total(&self) -> Traffic {
        let mut sum = Traffic::default();
        for phase in &self.phases {
            sum.add(phase);
        }
        sum
    }

    /// Returns what was added since `earlier`, a copy of these counters from before.
    #[must_use]
    pub fn since(&self, earlier: &Counters) -> Counters {
        let mut difference = *self;
        for (now, before) in difference.phases.iter_mut().zip(&earlier.phases) {
            now.bytes_sent -= before.bytes_sent;
            now.bytes_received -= before.bytes_received;
            now.messages_sent -= before.messages_sent;
            now.messages_received -= before.messages_received;
            now.rounds -= before.rounds;
            now.time -= before.time;
        }
        difference
    }

    /// These with the traffic of a channel beside: bytes, messages and rounds, but not its time, which passed at
    /// the same time.
    #[must_use]
    pub fn beside(&self, other: &Counters) -> Counters {
        let mut sum = *self;
        for (traffic, other) in sum.phases.iter_mut().zip(&other.phases) {
            traffic.add(&Traffic { time: Duration::ZERO, ..*other });
        }
        sum
    }

    pub(crate) fn at(&mut self, phase: Phase) -> &mut Traffic {
        &mut self.phases[phase as usize]
    }
}
