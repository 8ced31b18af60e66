//! The report of a party on its work.

use std::fs;

use cenote_circuit::hex_from_bits;
use cenote_engine::cost::OnTheLine;
use cenote_engine::{Fault, Outcome, Session};
use cenote_job::Summary;
use cenote_net::{Counters, Handshake, Phase};
use cenote_pool::Level;
use cenote_prim::Prg;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::evidence::Found;

/// One party's figures for a whole session. Times in seconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    /// From the start of the work, before connecting, to its end.
    pub(crate) wall_s: f64,
    pub(crate) setup_s: f64,
    pub(crate) preprocess_s: f64,
    pub(crate) online_s: f64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) rounds: u64,
    /// The largest resident memory of the process, where the system tells.
    pub(crate) peak_rss_bytes: Option<u64>,
    pub(crate) cpu_s: f64,
    /// Hexadecimal outputs of the last job; `None` for what this party does not receive.
    pub(crate) outputs: Vec<Option<String>>,
    pub(crate) jobs: Vec<JobReport>,
    /// Base-2 logarithm of the error bound, where the backend has one.
    pub(crate) epsilon_log2: Option<f64>,
    pub(crate) kappa: u32,
    /// The peer that the session is safe against.
    pub(crate) adversary: String,
    /// How the peer is known.
    pub(crate) peer: String,
    /// What the session took by its line.
    pub(crate) on_the_line: Option<OnTheLine>,
    /// Pools and stocks, at the end.
    pub(crate) stores: Vec<Level>,
    /// That the peer was found to have cheated.
    pub(crate) evidence: Option<Found>,
    /// Filling pools before the first job, where that is measured apart.
    pub(crate) fill: Option<Fill>,
    pub(crate) rehearsals: Vec<Rehearsal>,
}

/// One job of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct JobReport {
    /// The job alone: agreement to result.
    pub(crate) wall_s: f64,
    pub(crate) online_s: f64,
    /// What of `wall_s` comes before the part that is measured, where there is such a part.
    pub(crate) start_s: f64,
    pub(crate) bytes_sent: u64,
    pub(crate) rounds: u64,
    /// Hexadecimal outputs.
    pub(crate) outputs: Vec<Option<String>>,
}

/// Filling pools.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Fill {
    pub(crate) wall_s: f64,
    pub(crate) bytes_sent: u64,
    /// The largest resident memory of the process up to then.
    pub(crate) peak_rss_bytes: Option<u64>,
    /// Bytes kept for the items, where that was asked for.
    pub(crate) stored_bytes: usize,
}

/// A batch made and checked for nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rehearsal {
    pub(crate) made_s: f64,
    pub(crate) made_bytes_sent: u64,
    pub(crate) checked_s: f64,
    pub(crate) checked_bytes_sent: u64,
}

impl Fill {
    pub(crate) fn of(
        session: &mut Session,
        fill: impl FnOnce(&mut Session) -> Result<(), Fault>,
    ) -> Result<Fill, Fault> {
        let before = session.counters();
        fill(session)?;
        let cost = session.counters().since(&before).total();
        meet(session)?;
        Ok(Fill {
            wall_s: cost.time.as_secs_f64(),
            bytes_sent: cost.bytes_sent,
            peak_rss_bytes: peak_rss(),
            stored_bytes: 0,
        })
    }
}

impl Rehearsal {
    pub(crate) fn of(
        session: &mut Session,
        width: usize,
        items: usize,
    ) -> Result<Rehearsal, Fault> {
        let before = session.counters();
        session.measure(|cores| cores.rehearse(width, items))?;
        let cost = session.counters().since(&before);
        meet(session)?;
        let (made, checked) = (cost.phase(Phase::Preprocess), cost.phase(Phase::Online));
        Ok(Rehearsal {
            made_s: made.time.as_secs_f64(),
            made_bytes_sent: made.bytes_sent,
            checked_s: checked.time.as_secs_f64(),
            checked_bytes_sent: checked.bytes_sent,
        })
    }
}

/// The parties wait for each other, so that what is measured next holds no rest of what was before.
fn meet(session: &mut Session) -> Result<(), Fault> {
    let (role, nonce) = (session.role(), Prg::from_os().bytes32());
    Handshake::new("bench step").run(session.channel(), role, nonce).map(drop)
}

impl JobReport {
    pub(crate) fn of(outcome: &Outcome<Vec<Option<Vec<bool>>>>) -> JobReport {
        let total = outcome.cost.total();
        JobReport {
            wall_s: total.time.as_secs_f64(),
            online_s: outcome.cost.phase(Phase::Online).time.as_secs_f64(),
            start_s: 0.0,
            bytes_sent: total.bytes_sent,
            rounds: total.rounds,
            outputs: outcome.output.iter().map(|bits| bits.as_deref().map(hex_from_bits)).collect(),
        }
    }
}

impl Report {
    /// The finished report; the outputs are those of the last job.
    pub(crate) fn finish(mut self) -> Report {
        self.outputs = self.jobs.last().map(|job| job.outputs.clone()).unwrap_or_default();
        self
    }

    /// Adds traffic and time by phase.
    pub(crate) fn count(&mut self, counters: &Counters) {
        let seconds = |phase| counters.phase(phase).time.as_secs_f64();
        self.setup_s = seconds(Phase::Setup);
        self.preprocess_s = seconds(Phase::Preprocess);
        self.online_s = seconds(Phase::Online);
        let total = counters.total();
        self.bytes_sent = total.bytes_sent;
        self.bytes_received = total.bytes_received;
        self.rounds = total.rounds;
    }

    /// Adds what a session did and promises.
    pub(crate) fn session(&mut self, summary: &Summary) {
        self.count(&summary.counters);
        let claims = &summary.claims;
        self.epsilon_log2 = claims.promise.epsilon_log2;
        self.kappa = claims.promise.kappa;
        self.adversary = claims.promise.adversary.name().to_owned();
        self.peer = claims.peer.name().to_owned();
        self.on_the_line.clone_from(&summary.on_the_line);
        self.stores.clone_from(&summary.stores);
    }

    /// Adds what the system knows about this process.
    pub(crate) fn process(&mut self) {
        self.peak_rss_bytes = peak_rss();
        self.cpu_s = spent_by(ClockId::ProcessCPUTime);
    }
}

/// Seconds on a clock of processor time.
pub(crate) fn spent_by(clock: ClockId) -> f64 {
    let spent = clock_gettime(clock);
    spent.tv_sec as f64 + spent.tv_nsec as f64 * 1e-9
}

/// Most memory of this process so far. Linux tells in /proc/self/status: `VmHWM:  1234 kB`.
pub(crate) fn peak_rss() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}
