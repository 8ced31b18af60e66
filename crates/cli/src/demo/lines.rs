//! The messages between the demonstration and its two servers: JSON lines.
//!
//! These lines go between a server and whoever started it on the same machine. The servers talk to
//! each other over TLS alone.

use std::path::PathBuf;

use cenote_engine::{Fault, Role};
use cenote_pool::{Level, Occupancy};
use serde::{Deserialize, Serialize};

use super::jobs::{Answer, Sizes};
use crate::exit::Failure;

/// An order to a server.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Reads its table and makes an identity in `dir`. First of all.
    Start { role: Role, table: PathBuf, dir: PathBuf },
    /// Keeps the peer's certificate; A starts to listen.
    Pair { certificate: PathBuf },
    /// Opens a session in place of the one before; B connects to `address`.
    Open { address: Option<String>, sizes: Sizes, pool: u64, cheat: bool },
    /// Makes that many triples ready, and keeps them ready.
    Stock { triples: usize },
    /// Answers a request.
    Answer(Request),
    /// Ends the session in order.
    Close,
}

/// A request, with what the server does not have in its table.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Request {
    /// Shared customers and their spend.
    Total,
    /// The same by quarter.
    Quarters,
    /// Ranks of the best shared customers.
    Top,
    /// AES under a shared key; hexadecimal numbers.
    Aes { share: String, block: Option<String> },
    /// The larger of the best customers' spends.
    Maximum,
    /// The median spend.
    Median,
}

/// An event that a server reports.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Event {
    /// It started.
    Started { rows: usize, certificate: PathBuf, fingerprint: String },
    /// It knows its peer, and where it listens, if it does.
    Paired { listening: Option<String> },
    /// A session is open.
    Opened { session: String, seconds: f64, bytes_sent: u64, promise: Promise },
    /// The pool is full or triples are ready.
    Level { occupancy: Occupancy, seconds: f64, bytes_sent: u64 },
    /// A request was answered.
    Answered(Box<Report>),
    /// The session ended in order.
    Closed,
    /// The order failed; a session that was open is over. The server goes on.
    Failed(Failure),
}

/// The promise of a session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Promise {
    pub(crate) backend: String,
    pub(crate) adversary: String,
    pub(crate) peer: String,
    pub(crate) kappa: u32,
    pub(crate) epsilon_log2: Option<f64>,
    pub(crate) audited: bool,
}

/// One server's view of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The answer that this server receives, if it does.
    pub(crate) answer: Option<Answer>,
    pub(crate) job_id: String,
    pub(crate) ands: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) rounds: u64,
    /// From the order to the answer.
    pub(crate) seconds: f64,
    /// Of these, making leaky ANDs for the pool.
    pub(crate) refill_seconds: f64,
    /// Levels after the request.
    pub(crate) occupancy: Occupancy,
}

/// The counters of one pool or stock.
pub(crate) fn store(occupancy: &Occupancy, name: &str) -> Level {
    occupancy.of(name).cloned().unwrap_or_else(|| Level::unfilled(name, 0))
}

impl From<Result<Event, Fault>> for Event {
    fn from(result: Result<Event, Fault>) -> Event {
        result.unwrap_or_else(|fault| Event::Failed(Failure::from(fault)))
    }
}
