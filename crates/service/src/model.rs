//! What owners and the API speak of: jobs, programs, approvals, the peer and the pool.

use std::collections::BTreeMap;

use cenote_engine::{HeldMemory, MemoryUse, memory_uses};
use cenote_program::Module;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Milliseconds since 1970, UTC.
pub type Millis = i64;

/// Where a job stands.
#[derive(Serialize, Deserialize, ToSchema, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// The own owner wants it; the peer has not answered yet.
    Submitted,
    /// Both sides agreed; it waits for its turn.
    Queued,
    /// It runs. Whoever is to receive outputs may have them from now on.
    Running,
    /// It ended well.
    Done,
    /// It ended with a fault, or a side stopped while it ran.
    Failed,
    /// A side will not run it.
    Refused,
    /// An owner took it back; its own one also while it ran.
    Cancelled,
    /// Its deadline passed before it ran.
    Expired,
}

impl JobState {
    /// All states.
    pub const ALL: [JobState; 8] = [
        JobState::Submitted,
        JobState::Queued,
        JobState::Running,
        JobState::Done,
        JobState::Failed,
        JobState::Refused,
        JobState::Cancelled,
        JobState::Expired,
    ];

    /// The name in the API and on disk.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            JobState::Submitted => "submitted",
            JobState::Queued => "queued",
            JobState::Running => "running",
            JobState::Done => "done",
            JobState::Failed => "failed",
            JobState::Refused => "refused",
            JobState::Cancelled => "cancelled",
            JobState::Expired => "expired",
        }
    }

    /// The state of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<JobState> {
        JobState::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether nothing follows.
    #[must_use]
    pub const fn is_end(self) -> bool {
        !matches!(self, JobState::Submitted | JobState::Queued | JobState::Running)
    }
}

/// Which owner asked for a job.
#[derive(Serialize, Deserialize, ToSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// This one.
    Own,
    /// The peer's.
    Peer,
}

/// A request of the own owner.
#[derive(Serialize, Deserialize, ToSchema, Clone, Default)]
#[serde(deny_unknown_fields)]
pub struct NewJob {
    /// Name or digest of a registered program.
    pub program: String,
    /// Values of own inputs that the approval leaves to the submitter, by name, as the program's types are written in JSON.
    #[serde(default)]
    pub inputs: BTreeMap<String, Value>,
    /// Public parameters, known to both sides: which record of a data set is meant. At most 16, names and values of at most 256 bytes
    /// without control characters.
    #[serde(default)]
    pub select: BTreeMap<String, String>,
    /// Higher ones go first; from -100 to 100.
    #[serde(default)]
    #[schema(minimum = -100, maximum = 100)]
    pub priority: i32,
    /// Seconds after which it must not begin any more.
    #[serde(default)]
    pub deadline_s: Option<u64>,
    /// Seconds for which the result is kept; what the configuration says without it.
    #[serde(default)]
    pub keep_result_s: Option<u64>,
    /// A second job with the same key is the first one; one with another program, other parameters or inputs, or another token's is refused. At most 256 characters.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    pub idempotency_key: Option<String>,
}

/// Inputs are secrets.
impl std::fmt::Debug for NewJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewJob").field("program", &self.program).finish_non_exhaustive()
    }
}

/// A job as its owner sees it.
#[derive(Serialize, Deserialize, ToSchema, Clone)]
pub struct JobView {
    /// 32 hexadecimal digits, equal on both sides.
    pub id: String,
    /// Who asked for it.
    pub origin: Origin,
    /// Name of the program in the own registry.
    pub program: String,
    /// Its digest.
    pub digest: String,
    /// Where it stands.
    pub state: JobState,
    /// Why, for a state that needs a reason.
    pub reason: Option<String>,
    /// Public parameters.
    pub select: BTreeMap<String, String>,
    /// Higher ones go first.
    pub priority: i32,
    /// When it came.
    #[schema(value_type = i64)]
    pub submitted_at: Millis,
    /// When it began to run.
    #[schema(value_type = Option<i64>)]
    pub started_at: Option<Millis>,
    /// When it ended.
    #[schema(value_type = Option<i64>)]
    pub ended_at: Option<Millis>,
    /// When it must not begin any more.
    #[schema(value_type = Option<i64>)]
    pub deadline_at: Option<Millis>,
    /// Own outputs by name, while they are kept; none where the peer alone receives.
    pub result: Option<Value>,
    /// When the result is forgotten.
    #[schema(value_type = Option<i64>)]
    pub result_until: Option<Millis>,
    /// What it took, once it ended well.
    pub cost: Option<JobCost>,
}

/// Outputs are secrets.
impl std::fmt::Debug for JobView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let JobView { id, state, .. } = self;
        f.debug_struct("JobView").field("id", id).field("state", state).finish_non_exhaustive()
    }
}

/// What a job took of this side. Small jobs that waited together run together: each has the share of its ANDs in the bytes, and all of the time.
#[derive(Serialize, Deserialize, ToSchema, Clone, Debug, PartialEq)]
pub struct JobCost {
    /// ANDs of the program.
    pub ands: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Seconds from its beginning to its end.
    pub seconds: f64,
}

/// Which jobs a list shows.
#[derive(Serialize, Deserialize, ToSchema, Clone, Debug, Default)]
#[serde(deny_unknown_fields)]
pub struct JobFilter {
    /// In this state alone.
    #[serde(default)]
    pub state: Option<JobState>,
    /// At most so many, the newest; 100 without it, 1,000 at most.
    #[serde(default)]
    pub limit: Option<u32>,
    /// Those that came before this job.
    #[serde(default)]
    pub before: Option<String>,
}

/// A program in the own registry.
#[derive(Serialize, Deserialize, ToSchema, Clone, Debug)]
pub struct ProgramView {
    /// Name in this registry; the peer's may be another.
    pub name: String,
    /// What both sides compare.
    pub digest: String,
    /// ANDs; a bound where opened bits steer what is computed.
    pub ands: u64,
    /// Input ports.
    pub inputs: Vec<PortView>,
    /// Output ports.
    pub outputs: Vec<PortView>,
    /// Memories that outlive its jobs. Such jobs run in the lane of large ones.
    pub memories: Vec<MemoryUseView>,
    /// The own input that is the smallest group which it shows; approvals say how small that may be.
    pub smallest_group: Option<String>,
    /// What a job of it takes of the line.
    pub cost: ProgramCost,
    /// When it was registered.
    #[schema(value_type = i64)]
    pub registered_at: Millis,
}

/// What a job of a program takes of the line on the service's backend, as the model of costs predicts it. Seconds depend on machine and line.
#[derive(Serialize, Deserialize, ToSchema, Clone, Debug, PartialEq, Eq)]
pub struct ProgramCost {
    /// The backend.
    pub backend: String,
    /// Bytes that the garbler and the evaluator send, where all that the job takes is ready.
    pub bytes: [u64; 2],
    /// Rounds, in the same case.
    pub rounds: u64,
    /// Bytes that both send to make ahead what it takes, the pool for that included, which a service fills once for many jobs; by the default oblivious transfer where the line decides on it.
    pub ahead_bytes: [u64; 2],
}

/// What a program does with a memory that outlives its jobs.
#[derive(Serialize, Deserialize, ToSchema, Clone, Debug)]
pub struct MemoryUseView {
    /// Its name, which programs share.
    pub name: String,
    /// Its parts with their sizes, kinds and widths.
    pub layout: String,
    /// Whether a job begins it, with zeros, and does not find it.
    pub begins: bool,
    /// Whether a job leaves something in it; otherwise the memory ends.
    pub keeps: bool,
}

/// What a program does with its memories.
pub(crate) fn memory_views(module: &Module) -> Vec<MemoryUseView> {
    let view = |memory: MemoryUse| {
        let MemoryUse { name, layout, is_new: begins, is_kept: keeps, .. } = memory;
        MemoryUseView { name, layout, begins, keeps }
    };
    memory_uses(module).into_iter().map(view).collect()
}

/// A memory that the session of a lane holds for later jobs.
#[derive(Serialize, Deserialize, ToSchema, Clone, Debug)]
pub struct MemoryView {
    /// Its name.
    pub name: String,
    /// Its parts with their sizes, kinds and widths.
    pub layout: String,
    /// Bits of all parts.
    pub bits: u64,
    /// Jobs that have left something in it.
    pub jobs: u64,
    /// Accesses left in the life of a random access memory: of its parts, the least.
    #[serde(default)]
    pub accesses_left: Option<u64>,
}

impl From<&HeldMemory> for MemoryView {
    fn from(held: &HeldMemory) -> MemoryView {
        let (name, layout) = (held.name.clone(), held.layout.clone());
        let (bits, accesses_left) = (held.bits as u64, held.left.iter().min().copied());
        MemoryView { name, layout, bits, jobs: held.version, accesses_left }
    }
}

/// A port of a program.
#[derive(Serialize, Deserialize, ToSchema, Clone, Debug)]
pub struct PortView {
    /// Its name; fields of a record are behind a dot.
    pub name: String,
    /// Its type, as `cenote program info` shows it.
    pub kind: String,
    /// `garbler`, `evaluator`, or `both` for an output.
    pub party: String,
}

/// What an owner permits: deny by default. Signed with the owner's key.
#[derive(Serialize, Deserialize, ToSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// Digest of the program.
    pub program: String,
    /// Fingerprint of the peer's certificate.
    pub peer: String,
    /// Where each own input comes from, by its name in the program.
    #[serde(default)]
    pub inputs: BTreeMap<String, Source>,
    /// Whose jobs: those of the own owner, of the peer's, or of both.
    pub submitters: Sides,
    /// Who may receive outputs. Without it, when an approval is given, whom the program shows them to; then it is part of what is signed. Older
    /// approvals have none and leave it to the program, as do those of programs without outputs.
    #[serde(default)]
    pub receivers: Option<Sides>,
    /// Jobs in a period, or in all where there is none.
    #[serde(default)]
    pub uses: Option<u64>,
    /// Seconds of a period.
    #[serde(default)]
    pub period_s: Option<u64>,
    /// When it ends.
    #[serde(default)]
    #[schema(value_type = Option<i64>)]
    pub expires_at: Option<Millis>,
}

/// One of the two sides, or both.
#[derive(Serialize, Deserialize, ToSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Sides {
    /// The own one.
    Own,
    /// The peer's.
    Peer,
    /// Both.
    Both,
}

impl Sides {
    /// The name in the API and on disk.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Sides::Own => "own",
            Sides::Peer => "peer",
            Sides::Both => "both",
        }
    }

    /// Whether all of `others` are among these.
    #[must_use]
    pub fn include(self, others: Sides) -> bool {
        self == Sides::Both || self == others
    }
}

impl From<Origin> for Sides {
    fn from(origin: Origin) -> Sides {
        match origin {
            Origin::Own => Sides::Own,
            Origin::Peer => Sides::Peer,
        }
    }
}

/// Where an own input comes from.
#[derive(Serialize, Deserialize, ToSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case", tag = "from", from = "WrittenSource")]
pub enum Source {
    /// The one who submits gives it; so only jobs of the own owner.
    Submitter,
    /// A whole data set, whose columns are the fields of the input.
    Table {
        /// Name of the data set.
        dataset: String,
        /// Field of the input, and the column it is in; columns of the same name where none are given.
        #[serde(default)]
        columns: BTreeMap<String, String>,
    },
    /// One record of a data set: the one whose key is the public parameter of this name. The peer learns whether there is one.
    Record {
        /// Name of the data set.
        dataset: String,
        /// Column that is looked in.
        key: String,
        /// Name of the public parameter.
        parameter: String,
        /// Field of the input, and the column it is in.
        #[serde(default)]
        columns: BTreeMap<String, String>,
    },
    /// The public parameter of this name, a whole number, which each side gives to the program by itself.
    Public {
        /// Name of the public parameter.
        parameter: String,
        /// The smallest number with which a job may run.
        least: u64,
    },
}

/// A source as it is read. serde lets a variant without fields pass whatever stands beside its tag, one with none it does not: who writes a
/// data set beside `submitter` means something else than they would permit.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields, tag = "from")]
enum WrittenSource {
    Submitter {},
    Table {
        dataset: String,
        #[serde(default)]
        columns: BTreeMap<String, String>,
    },
    Record {
        dataset: String,
        key: String,
        parameter: String,
        #[serde(default)]
        columns: BTreeMap<String, String>,
    },
    Public {
        parameter: String,
        least: u64,
    },
}

impl From<WrittenSource> for Source {
    fn from(written: WrittenSource) -> Source {
        match written {
            WrittenSource::Submitter {} => Source::Submitter,
            WrittenSource::Table { dataset, columns } => Source::Table { dataset, columns },
            WrittenSource::Record { dataset, key, parameter, columns } => {
                Source::Record { dataset, key, parameter, columns }
            }
            WrittenSource::Public { parameter, least } => Source::Public { parameter, least },
        }
    }
}

/// An approval as its owner sees it.
#[derive(Serialize, Deserialize, ToSchema, Clone, Debug)]
pub struct ApprovalView {
    /// Number, from 1.
    pub id: i64,
    /// What is permitted.
    pub terms: Terms,
    /// When it was given.
    #[schema(value_type = i64)]
    pub given_at: Millis,
    /// When it was withdrawn.
    #[schema(value_type = Option<i64>)]
    pub withdrawn_at: Option<Millis>,
    /// Uses so far, in all.
    pub spent: u64,
    /// The owner's signature over the terms, in hexadecimal.
    pub signature: String,
    /// Who receives each output, by its name: `garbler`, `evaluator` or `both`, as the program says, whose digest the terms have. Empty where
    /// the program cannot be read; no job of it begins then.
    pub receivers: BTreeMap<String, String>,
    /// The memories that its jobs share with those of other programs; empty as well where it cannot be read.
    pub memories: Vec<MemoryUseView>,
}

/// A data set bound by name.
#[derive(Serialize, Deserialize, ToSchema, Clone, Debug)]
pub struct DataSetView {
    /// Its name.
    pub name: String,
    /// The file.
    pub path: String,
    /// BLAKE3 of its bytes when it was bound; another file of that name is refused until it is bound again.
    pub digest: String,
    /// Rows.
    pub rows: u64,
    /// Names of columns.
    pub columns: Vec<String>,
    /// When it was bound.
    #[schema(value_type = i64)]
    pub bound_at: Millis,
}

/// The service as it is now.
#[derive(Serialize, Deserialize, ToSchema, Clone, Debug)]
pub struct Status {
    /// Name of this service.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// The peer.
    pub peer: PeerView,
    /// Sessions with it.
    pub lanes: Vec<LaneView>,
    /// Jobs by state.
    pub jobs: BTreeMap<String, u64>,
    /// No further job begins: a signal came.
    pub stopping: bool,
}

/// The peer.
#[derive(Serialize, Deserialize, ToSchema, Clone, Debug)]
pub struct PeerView {
    /// Its name in the configuration.
    pub name: String,
    /// Fingerprint of its certificate.
    pub fingerprint: String,
    /// `garbler` or `evaluator`: the own role in all programs.
    pub role: String,
    /// Whether it is connected.
    pub connected: bool,
    /// A check failed: no job runs before the owner lifts that.
    pub held: bool,
    /// Pools that were begun with it, in both lanes, and how many may be.
    pub pools: [u64; 2],
    /// log2 of the bound on a cheater's success by any of these pools; none before the first.
    pub epsilon_log2: Option<f64>,
    /// For operators and auditors: this side holds proof that the peer has cheated, and the peer does not know. `jimu` goes on then, and what comes out is right.
    pub cheated: Option<bool>,
}

/// A session with the peer. Small jobs do not wait for large ones: each kind has its own.
#[derive(Serialize, Deserialize, ToSchema, Clone, Debug)]
pub struct LaneView {
    /// `small` or `large`.
    pub name: String,
    /// `waiting` for the peer, `filling`, `ready`, `held` or `failed`.
    pub state: String,
    /// Why, for a lane that is not ready.
    pub reason: Option<String>,
    /// Ready triples.
    pub ready: u64,
    /// Ready triples that it keeps.
    pub level: u64,
    /// Jobs done since the service started.
    pub done: u64,
    /// Bytes sent and received since the service started.
    pub bytes: [u64; 2],
    /// Pools that were begun in it with this peer.
    pub pools: u64,
    /// What its session holds for later jobs.
    pub memories: Vec<MemoryView>,
}

/// The line to the peer, as it was measured.
#[derive(Serialize, Deserialize, ToSchema, Clone, Debug, PartialEq)]
pub struct LineView {
    /// Seconds from this side to the peer and back.
    pub round_trip_s: f64,
    /// Bytes a second that the peer got, beside whatever else was on the line.
    pub sent_bytes_per_s: f64,
    /// Bytes a second that came from it.
    pub received_bytes_per_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_its_own_fields_and_no_others() {
        let columns = [("f".to_owned(), "c".to_owned())].into();
        let all = [
            Source::Submitter,
            Source::Table { dataset: "d".into(), columns },
            Source::Record {
                dataset: "d".into(),
                key: "k".into(),
                parameter: "p".into(),
                columns: BTreeMap::new(),
            },
            Source::Public { parameter: "p".into(), least: 10 },
        ];
        for source in all {
            let mut written = serde_json::to_value(&source).unwrap();
            assert_eq!(serde_json::from_value::<Source>(written.clone()).unwrap(), source);
            written["other"] = "d".into();
            assert!(serde_json::from_value::<Source>(written).is_err(), "{source:?}");
        }
        let both = serde_json::json!({ "from": "submitter", "dataset": "d" });
        assert!(serde_json::from_value::<Source>(both).is_err());
    }
}
