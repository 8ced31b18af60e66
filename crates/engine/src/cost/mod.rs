//! The cost of a computation on each backend, before it runs: bytes each way, rounds, items of
//! pools, memory of each side and time on a given link.
//!
//! [`Demand`] is what the program asks, [`Plan`] what a backend makes of it. Traffic follows from the
//! formulas that the tests of each protocol assert; the number of items that are checked, which coins
//! decide, enters with its expectation. Time follows from the plan and from what a [`Machine`] was
//! measured to do. Counts saturate: a figure at the largest number stands for more.

mod demand;
mod flow;
mod kept;
mod limits;
mod machine;

use std::borrow::Cow;

use cenote_net::{Fault, Phase, Role};
use cenote_ot::Choice;
use serde::{Deserialize, Serialize};

pub use demand::Demand;
pub use flow::Flow;
pub(crate) use flow::packed;
pub use limits::{Excess, Limits};
pub use machine::{Link, MACHINE_VERSION, Machine, Speed};

use crate::backends::Backend;
use crate::options::{OT, OT_NAMES, SessionConfig, ot_name};
use crate::parts::pace::{Load, Pace};
use crate::party::Receivers;
use crate::session::session_handshake;

/// Items that a backend makes ahead of gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Items {
    /// The name of their kind.
    pub what: &'static str,
    /// ANDs of an item.
    pub width: u32,
    /// How many are made, filling of the pool included.
    pub made: u64,
    /// How many of them fill the pool at first.
    pub pool: u64,
}

/// Numbers of which no one may come twice in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Numbers {
    /// What they number.
    pub what: &'static str,
    /// How many the session uses.
    pub used: u64,
    /// Bits that they have.
    pub bits: u32,
}

/// The work of a session with one computation: opening, everything that is made ahead, the
/// computation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Plan {
    /// Handshake of the session, base OTs.
    pub setup: Flow,
    /// Filling and refilling pools.
    pub preprocess: Flow,
    /// The rest.
    pub online: Flow,
    /// Items of pools.
    pub items: Vec<Items>,
    /// Numbers that are used up.
    #[serde(skip)]
    pub numbers: Vec<Numbers>,
    /// ANDs of accesses to tables, in trees or not, which are among those of the program.
    pub access_ands: u64,
    /// Work of making them, in units of the backend: leaky ANDs or hashed wires.
    pub made: f64,
    /// Work of ANDs, in units of the backend: ANDs, or members of buckets.
    pub evaluated: f64,
    /// Bytes of filled pools, at the party that keeps more: all of them are wiped at the end.
    pub pool_bytes: u64,
    /// Bytes of memory that the garbler and the evaluator need beside what any process has, where nothing is on the line for long.
    pub memory: [u64; 2],
    /// The protocol of correlated OT.
    #[serde(skip)]
    pub ot: Choice,
    /// The pieces in which a session with a channel of its own for what is made ahead has its work on the line at once.
    #[serde(skip)]
    pub(crate) pieces: Option<Pieces>,
    /// All phases, in the order of the messages.
    #[serde(skip)]
    all: Flow,
}

/// The pieces of which several are on the line at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pieces {
    /// What is made ahead in a turn, and a chunk of gates.
    pub(crate) loads: [Load; 2],
    /// Bytes that a side keeps for each of them.
    pub(crate) kept: [u64; 2],
}

/// What goes by the line of a session: its oblivious transfer, and how much of its work is on the line at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnTheLine {
    /// The correlated oblivious transfer, by its name among the options.
    pub ot: Cow<'static, str>,
    /// Turns between a message of what is made ahead and its receipt.
    pub lag: usize,
    /// Chunks of gates that are garbled ahead of their check.
    pub ahead: usize,
}

impl OnTheLine {
    pub(crate) fn of(Pace { lag, ahead }: Pace, ot: Choice) -> OnTheLine {
        OnTheLine { ot: ot_name(ot).into(), lag, ahead }
    }
}

impl Plan {
    /// The plan of a session by `config` that computes `demand` once over one channel, nothing made before.
    ///
    /// # Errors
    /// `Policy` when the configuration is unsound.
    pub fn new(config: &SessionConfig, demand: &Demand) -> Result<Plan, Fault> {
        let mut plan = Plan { access_ands: demand.stats.access_ands(), ..Plan::default() };
        let handshake = session_handshake(config, false, |handshake| handshake)?;
        let session = handshake.encoded_len() + demand.facts;
        plan.then(Phase::Setup, Flow::default().hello(session));
        config.backend.plan(config, demand, &mut plan)?;
        Ok(plan)
    }

    /// Adds what comes next.
    pub(crate) fn then(&mut self, phase: Phase, flow: Flow) {
        let before = self.all.rounds;
        self.all = self.all.and(flow);
        let part = match phase {
            Phase::Setup => &mut self.setup,
            Phase::Preprocess => &mut self.preprocess,
            Phase::Online => &mut self.online,
        };
        // A round is of the phase in which the garbler receives.
        let rounds = part.rounds.saturating_add(self.all.rounds - before);
        *part = part.and(flow);
        part.rounds = rounds;
    }

    /// The handshake of the job.
    pub(crate) fn job(&mut self, demand: &Demand) {
        self.then(Phase::Online, Flow::default().hello(demand.job_hello));
    }

    /// Gates, what is opened on the way, and outputs: `extra` bytes for each opening, besides the packed bits.
    pub(crate) fn compute(&mut self, demand: &Demand, gates: Flow, extra: u64) {
        // Gates come before each opening on the way, and perhaps after the last.
        let [before, after] = match demand.stats.ends_in_stretch {
            false => [gates, Flow::default()],
            true => [Flow::default(), gates],
        };
        self.then(Phase::Online, before);
        if let Some((to, times, bits)) = demand.early() {
            self.then(Phase::Online, opening(to, times, bits, extra));
        }
        self.then(Phase::Online, after);
        for &(to, bits) in &demand.outputs {
            self.then(Phase::Online, opening(to, 1, bits, extra));
        }
    }

    /// How far a session is ahead of what has arrived on a link, if it goes by its line.
    #[must_use]
    pub fn on_the_line(&self, link: Link) -> Option<OnTheLine> {
        let loads = self.pieces?.loads;
        Some(OnTheLine::of(Pace::of(link.line(), loads), self.ot))
    }

    /// Bytes of memory that the garbler and the evaluator need on a link beside what any process has.
    #[must_use]
    pub fn memory_on(&self, link: Link) -> [u64; 2] {
        let on_the_line = self.on_the_line(link).zip(self.pieces);
        let more = on_the_line.map_or(0, |(OnTheLine { lag, ahead, .. }, pieces)| {
            (lag as u64 - 1) * pieces.kept[0] + (ahead as u64 - 1) * pieces.kept[1]
        });
        self.memory.map(|bytes| bytes.saturating_add(more))
    }

    /// All traffic.
    #[must_use]
    pub fn total(&self) -> Flow {
        self.all
    }

    /// Seconds of each phase on a link, with the figures of a machine, `backend` that of this plan. In each, computing, the line and waiting for answers go side by side as far as they can: the slower
    /// of the first two counts, and all waiting.
    #[must_use]
    pub fn times(&self, machine: &Machine, backend: Backend, demand: &Demand, link: Link) -> Times {
        let speed = machine.speed(backend);
        let counting = demand.stats.counted as f64 * machine.counted_s;
        // What was measured has the work of the default in it.
        let more = self.ot.seconds_per_cot() - Choice::default().seconds_per_cot();
        let seconds =
            |flow: &Flow, computing: f64| link.seconds(flow, computing + flow.cots as f64 * more);
        Times {
            setup_s: seconds(&self.setup, speed.setup_s + counting),
            preprocess_s: seconds(&self.preprocess, self.made * speed.made_s),
            online_s: seconds(&self.online, speed.online(self, demand)),
        }
    }

    /// Whether a session of `backend` with this plan is within `limits` on `machine` and `link`, for whichever
    /// of `roles` needs more memory.
    ///
    /// # Errors
    /// The first limit that it breaks.
    pub fn check(
        &self,
        limits: &Limits,
        machine: &Machine,
        backend: Backend,
        demand: &Demand,
        link: Link,
        roles: &[Role],
    ) -> Result<(), Excess> {
        let seconds = self.times(machine, backend, demand, link).total();
        let memory = self.memory_on(link);
        let memory = roles.iter().map(|role| memory[*role as usize]).max().unwrap_or(0);
        let memory = memory.saturating_add(machine.process_bytes);
        let [out, back] = self.total().bytes;
        limits.check(&demand.stats, out.saturating_add(back), seconds, memory)
    }

    /// `config` with the oblivious transfer with which its session is the fastest on a link: as it is, if no other is faster, its
    /// owner chose it, or it has none.
    ///
    /// # Errors
    /// `Policy` when the configuration is unsound.
    pub fn fastest_ot(
        config: SessionConfig,
        machine: &Machine,
        demand: &Demand,
        link: Link,
    ) -> Result<SessionConfig, Fault> {
        let seconds = |config: &SessionConfig| {
            let times = Plan::new(config, demand)?.times(machine, config.backend, demand, link);
            Ok::<f64, Fault>(times.total())
        };
        let (mut fastest, mut least) = (config, seconds(&config)?);
        for other in OT_NAMES.iter().filter_map(|name| config.set(OT, name).ok()) {
            // Some are unsound with other options.
            let Ok(seconds) = seconds(&other) else { continue };
            if seconds < least {
                (fastest, least) = (other, seconds);
            }
        }
        Ok(fastest)
    }
}

/// Seconds of the phases of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    /// Starting, counting, connecting, handshake, base OTs.
    pub setup_s: f64,
    /// Filling and refilling pools.
    pub preprocess_s: f64,
    /// The rest.
    pub online_s: f64,
}

impl Times {
    /// Seconds of the whole.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.setup_s + self.preprocess_s + self.online_s
    }
}

/// Returns the traffic of values that are opened `times` times, `bits` altogether.
fn opening(to: Receivers, times: u64, bits: u64, extra: u64) -> Flow {
    let payload = flow::packed(bits).saturating_add(extra.saturating_mul(times));
    let (mut one, mut bytes) = (Flow::default(), Flow::default());
    for role in [Role::Evaluator, Role::Garbler].into_iter().filter(|role| to.include(*role)) {
        one = one.sends(role.peer(), 0, 1).waits(1);
        bytes = bytes.sends(role.peer(), payload, 0);
    }
    one.times(times).and(bytes)
}
