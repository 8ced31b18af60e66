//! The service: what its owner may ask of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cenote_data::Schema;
use cenote_engine::MOST_POOLS;
use cenote_pool::params::shown_log2;
use serde_json::{Map, json};

use crate::audit::Head;
use crate::config::Config;
use crate::db::now;
use crate::error::{ErrorKind, ServiceError};
use crate::expiry::Expiry;
use crate::histogram::Histogram;
use crate::inner::{Inner, facts, lock, new_id};
use crate::jobs::{self, Arrival, Offer};
use crate::model::{
    ApprovalView, DataSetView, JobFilter, JobState, JobView, LaneView, LineView, NewJob, Origin,
    PeerView, ProgramView, Status, Terms, memory_views,
};
use crate::peer::lane::Lane;
use crate::peer::messages::are_parameters;
use crate::permit;
use crate::quota::{self, Who};
use crate::registry::{NewProgram, receivers};

/// Between two looks at a job that somebody waits for.
const LOOK: Duration = Duration::from_secs(1);
/// How long a stop waits for the job that runs and for the peer.
const GRACE: Duration = Duration::from_secs(20);

/// What was read, once it is on the disk.
fn settled<T>(inner: &Inner, read: T) -> Result<T, ServiceError> {
    inner.db.settle().map(|()| read)
}

/// What is counted of a lane since the service started, for operators.
pub(crate) struct LaneFigures {
    /// Its name.
    pub(crate) lane: &'static str,
    /// Items that left its stocks and pools, by their names.
    pub(crate) used: BTreeMap<String, u64>,
    /// How long jobs took that ended well.
    pub(crate) seconds: Histogram,
}

/// A running service. Clones are the same one.
#[derive(Clone)]
pub struct Service(pub(crate) Arc<Inner>);

impl Service {
    /// Starts the service whose configuration, keys and state are in `dir`: it looks for the peer from now on.
    ///
    /// # Errors
    /// `Invalid` for a configuration, certificate or state that cannot be used; `Unavailable` when it cannot listen or write. Each
    /// with its remedy.
    pub fn start(dir: &Path) -> Result<Service, ServiceError> {
        Inner::start(dir).map(Service)
    }

    /// The configuration it was started with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Asks for a job, or finds the one that was asked for with the same idempotency key; and whether it is new.
    ///
    /// # Errors
    /// `NotFound` for a program that is not registered, `Forbidden` when no own approval permits it, `Invalid` for inputs that are
    /// not those of the program, `Conflict` when the job of this key was asked for otherwise, `Busy` when too many jobs wait, `Unavailable`.
    pub fn submit(&self, job: &NewJob) -> Result<(JobView, bool), ServiceError> {
        self.submit_as(job, "")
    }

    /// As [`Service::submit`], for the holder of the token of this name, which has a quota.
    ///
    /// # Errors
    /// As there; `Quota` when that is used up.
    pub fn submit_as(&self, job: &NewJob, token: &str) -> Result<(JobView, bool), ServiceError> {
        let inner = &self.0;
        inner.open()?;
        let asked = job.idempotency_key.as_deref().map(|key| inner.asked(key, job)).transpose()?;
        if let Some(id) = inner.known(job, token, asked)? {
            return Ok((settled(inner, jobs::view(&inner.db, &id)?)?, false));
        }
        if !(-100..=100).contains(&job.priority) {
            let what = format!("a priority is from -100 to 100, not {}", job.priority);
            return Err(ServiceError::invalid(what));
        }
        if !are_parameters(&job.select) {
            let what = "select: at most 16 public parameters, names and values of at most 256 bytes without control characters";
            return Err(ServiceError::invalid(what));
        }
        let program = inner.registry.program(&inner.db, &job.program)?;
        let permit = inner
            .permit(&program, Origin::Own, &job.select)?
            .map_err(|denied| ServiceError::new(ErrorKind::Forbidden, denied.why(&program.name)))?;
        inner.check_names(&program, job)?;
        drop(inner.own_bits(&program, &permit.terms, job)?);
        let offer = Offer {
            id: new_id(),
            program: program.digest.clone(),
            select: job.select.clone(),
            priority: job.priority,
            within: job.deadline_s.map(|seconds| seconds.saturating_mul(1000)),
        };
        let keep = job.keep_result_s.unwrap_or(inner.config.jobs.keep_results_s);
        let who = Who { origin: Origin::Own, submitter: token };
        let quota = inner.quota(who);
        inner.db.change_soon(|db| {
            if let Some(used) = quota::may_come(db, who, &quota, program.ands, now())? {
                return Err(used.error(who, &quota));
            }
            if jobs::waiting(db)? >= inner.config.jobs.most_waiting {
                let what = "too many jobs wait (jobs.most_waiting); submit it later";
                return Err(ServiceError::new(ErrorKind::Busy, what));
            }
            jobs::put(
                db,
                &Arrival {
                    offer: &offer,
                    origin: Origin::Own,
                    state: JobState::Submitted,
                    approval: permit.id,
                    small: inner.is_small(&program),
                    submitter: token,
                    ands: program.ands,
                    inputs: &job.inputs,
                    idempotency_key: job.idempotency_key.as_deref(),
                    asked,
                    keep_s: keep,
                },
            )
        })?;
        // It goes its way; who asked for it hears of it when no crash can take it back.
        inner.changed();
        Ok((settled(inner, jobs::view(&inner.db, &offer.id)?)?, true))
    }

    /// A job as it stands.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub fn job(&self, id: &str) -> Result<JobView, ServiceError> {
        settled(&self.0, jobs::view(&self.0.db, id)?)
    }

    /// A job when it has ended, or after `limit` as it stands then. Blocks.
    ///
    /// # Errors
    /// As [`Service::job`].
    pub fn wait(&self, id: &str, limit: Duration) -> Result<JobView, ServiceError> {
        let end = Instant::now() + limit;
        let waiting = self.0.watch.on(id);
        loop {
            let job = jobs::view(&self.0.db, id)?;
            let left = end.saturating_duration_since(Instant::now());
            if job.state.is_end() || left.is_zero() {
                // Nothing is told that a crash could take back.
                return settled(&self.0, job);
            }
            // Some ends come with the time, or with many others.
            waiting.wait(left.min(LOOK));
        }
    }

    /// Jobs, newest first.
    ///
    /// # Errors
    /// `Unavailable`.
    pub fn jobs(&self, filter: &JobFilter) -> Result<Vec<JobView>, ServiceError> {
        let jobs = jobs::list(&self.0.db, filter)?;
        settled(&self.0, jobs)
    }

    /// Takes back a job that has not begun, or one of the own owner's that runs: its result is not kept, and its use stays spent. The run of a large one is cut,
    /// so many times a day.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` when it has ended, or is the peer's and runs.
    pub fn cancel(&self, id: &str) -> Result<JobView, ServiceError> {
        self.0.take_back(id, None)?;
        jobs::view(&self.0.db, id)
    }

    /// The same for whoever has the token of this name: a job that runs must be its own.
    ///
    /// # Errors
    /// As [`Service::cancel`]; `Forbidden`.
    pub fn cancel_for(&self, id: &str, token: &str) -> Result<JobView, ServiceError> {
        self.0.take_back(id, Some(token))?;
        jobs::view(&self.0.db, id)
    }

    /// Registers a program, in its text or binary form, under a name.
    ///
    /// # Errors
    /// As [`Service::register_with`].
    pub fn register(&self, name: &str, module: &[u8]) -> Result<ProgramView, ServiceError> {
        self.register_with(name, module, None)
    }

    /// Registers a program, of which an own input is the smallest group that it shows: approvals then have to say how small that may be.
    ///
    /// # Errors
    /// `Invalid` for what is no program, and for a name that is no own input which is one whole number; `Conflict` when name or program are taken, or
    /// registered with another smallest group.
    pub fn register_with(
        &self,
        name: &str,
        module: &[u8],
        smallest_group: Option<&str>,
    ) -> Result<ProgramView, ServiceError> {
        let inner = &self.0;
        let most = inner.config.jobs.most_ands;
        let new = NewProgram { name, bytes: module, smallest_group, role: inner.config.peer.role };
        let program = inner.registry.register(&inner.db, &new, most)?;
        let own = facts(&[
            ("name", json!(name)),
            ("program", json!(program.digest)),
            ("smallest_group", json!(program.smallest_group)),
        ]);
        inner.log("program.registered", None, None, own)?;
        self.program(name)
    }

    /// All programs.
    ///
    /// # Errors
    /// `Unavailable`.
    pub fn programs(&self) -> Result<Vec<ProgramView>, ServiceError> {
        let inner = &self.0;
        inner.registry.programs(&inner.db, &inner.config.pool.backend.lasting())
    }

    /// The program of this name or digest.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub fn program(&self, which: &str) -> Result<ProgramView, ServiceError> {
        let mut all = self.programs()?;
        all.retain(|one| one.name == which || one.digest == which);
        let missing = || ServiceError::not_found(format!("no program `{which}` is registered"));
        all.pop().ok_or_else(missing)
    }

    /// The text form of the program of this name or digest, which was registered in either.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub fn program_text(&self, which: &str) -> Result<String, ServiceError> {
        Ok(self.0.registry.program(&self.0.db, which)?.module.to_text())
    }

    /// An approval with what its program says of it.
    fn shown(&self, mut approval: ApprovalView) -> ApprovalView {
        let program = self.0.registry.of_digest(&self.0.db, &approval.terms.program);
        // Whoever withdraws one does not need its program.
        if let Ok(program) = program {
            approval.receivers = receivers(&program.module);
            approval.memories = memory_views(&program.module);
        }
        approval
    }

    /// Gives an approval, which the owner's key signs. `program` may be a name, `peer` empty for the one there is.
    ///
    /// # Errors
    /// `Invalid` for terms that could not be kept: inputs that are not the program's, data sets that are not bound.
    pub fn approve(&self, mut terms: Terms) -> Result<ApprovalView, ServiceError> {
        let inner = &self.0;
        let program = inner.registry.program(&inner.db, &terms.program)?;
        terms.program = program.digest.clone();
        let peer = inner.peer_name();
        if terms.peer.is_empty() {
            terms.peer.clone_from(&peer);
        }
        // An owner may say beforehand what the peer's next certificate is permitted.
        if terms.peer != peer && inner.way.next().as_ref() != Some(&terms.peer) {
            let what =
                format!("the peer of this service is {peer}, the approval is for {}", terms.peer);
            return Err(ServiceError::invalid(what));
        }
        inner.check_terms(&program, &mut terms)?;
        let given = permit::approve(&inner.db, &inner.key, &terms)?;
        let own = facts(&[("approval", json!(given.id)), ("terms", json!(terms))]);
        if let Err(error) = inner.log("approval.given", None, None, own) {
            // What is in no log permits nothing.
            permit::withdraw(&inner.db, given.id)?;
            return Err(error);
        }
        inner.changed();
        Ok(self.shown(given))
    }

    /// All approvals, oldest first.
    ///
    /// # Errors
    /// `Unavailable`.
    pub fn approvals(&self) -> Result<Vec<ApprovalView>, ServiceError> {
        let all = permit::all(&self.0.db)?;
        Ok(all.into_iter().map(|one| self.shown(one)).collect())
    }

    /// Withdraws an approval: no job begins under it any more.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub fn withdraw(&self, id: i64) -> Result<ApprovalView, ServiceError> {
        let approval = permit::withdraw(&self.0.db, id)?;
        self.0.log("approval.withdrawn", None, None, facts(&[("approval", json!(id))]))?;
        Ok(self.shown(approval))
    }

    /// Binds a file of this machine to a name, under which approvals speak of it.
    ///
    /// # Errors
    /// `Invalid` for a file that lies outside the configured directories, cannot be read or breaks the schema.
    pub fn bind(
        &self,
        name: &str,
        path: &Path,
        schema: Option<&Schema>,
    ) -> Result<DataSetView, ServiceError> {
        let inner = &self.0;
        let path = inner.config.data_file(path)?;
        let bound = inner.registry.bind(&inner.db, name, &path, schema)?;
        let own = facts(&[
            ("name", json!(name)),
            ("digest", json!(bound.digest)),
            ("rows", json!(bound.rows)),
        ]);
        inner.log("dataset.bound", None, None, own)?;
        Ok(bound)
    }

    /// All data sets.
    ///
    /// # Errors
    /// `Unavailable`.
    pub fn datasets(&self) -> Result<Vec<DataSetView>, ServiceError> {
        self.0.registry.datasets(&self.0.db)
    }

    /// Lets sessions with the peer open again, after a failed check.
    ///
    /// # Errors
    /// `Conflict` when nothing is held, or a session has not ended yet; `Unavailable`.
    pub fn lift(&self) -> Result<Status, ServiceError> {
        self.0.lift()?;
        self.status()
    }

    /// Ends a memory that outlives jobs, on both sides, between two jobs of its lane: what is kept of it is wiped, jobs that go on with it are refused, and its
    /// name is free. Waits until that is on disk.
    ///
    /// # Errors
    /// `NotFound` when there is none of this name, `Conflict` when a job that runs has it or no session is open, `Unavailable` when it has not ended within 20 s.
    pub fn end_memory(&self, name: &str) -> Result<Status, ServiceError> {
        self.0.end_memory(name)?;
        self.status()
    }

    /// Measures the line to the peer: at most 8 MiB each way, mostly within a second. What was measured in the last 5 s is said again.
    ///
    /// # Errors
    /// `Conflict` when the peer is not connected, or does not take part.
    pub fn measure(&self) -> Result<LineView, ServiceError> {
        self.0.measure()
    }

    /// The service as it is.
    ///
    /// # Errors
    /// `Unavailable`.
    pub fn status(&self) -> Result<Status, ServiceError> {
        let inner = &self.0;
        let (pools, error) = inner.pools();
        Ok(Status {
            name: inner.config.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            peer: PeerView {
                name: inner.config.peer.name.clone(),
                fingerprint: inner.peer_name(),
                role: inner.config.peer.role.name().to_owned(),
                connected: inner.is_linked(),
                held: inner.is_held(),
                pools: [pools, MOST_POOLS],
                epsilon_log2: (error > 0.0 && inner.lanes.iter().all(|lane| lane.seen.is_known()))
                    .then(|| shown_log2(error.log2(), 3)),
                cheated: Some(
                    inner.has_labels || inner.lanes.iter().any(|lane| lane.found().is_some()),
                ),
            },
            lanes: self.lanes(),
            jobs: jobs::counts(&inner.db)?,
            stopping: inner.is_stopping(),
        })
    }

    /// When the certificates of both sides and the API's end.
    #[must_use]
    pub fn expiry(&self) -> Expiry {
        self.0.expiry()
    }

    fn lanes(&self) -> Vec<LaneView> {
        self.0.lanes.iter().map(|lane| lane.view(self.0.level(lane))).collect()
    }

    /// What is counted of each lane beside its view.
    pub(crate) fn lane_figures(&self) -> Vec<LaneFigures> {
        let of = |lane: &Lane| LaneFigures {
            lane: lane.name(),
            used: lane.seen.used(),
            seconds: lane.seconds(),
        };
        self.0.lanes.iter().map(of).collect()
    }

    /// Whether jobs would run now, of either owner's: the peer hears of those of the own one.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let stops = self.0.is_stopping() || self.0.peer_is_stopping();
        !stops && self.0.is_linked() && self.lanes().iter().all(|lane| lane.state == "ready")
    }

    /// The head of the audit log, and the last one that the peer told of its own since the service started.
    #[must_use]
    pub fn audit_heads(&self) -> (Head, Option<Head>) {
        (self.0.audit.head(), *lock(&self.0.peer_head))
    }

    /// Ends in order: no further job begins, the one that runs ends, what is ready is put away. After 20 s whatever still runs is cut.
    pub fn stop(&self) {
        let inner = &self.0;
        if inner.stopping.swap(true, Ordering::SeqCst) {
            return;
        }
        inner.changed();
        let end = Instant::now() + GRACE;
        let busy = || inner.lanes.iter().any(|lane| lane.view(0).state == "ready");
        while busy() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        inner.way.end();
        inner.changed();
        let threads = std::mem::take(&mut *lock(&inner.threads));
        for thread in threads {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
        lock(&inner.told).keep(inner);
        let stopped = inner.log("service.stopped", None, None, Map::new());
        if let Err(error) = stopped.and_then(|()| inner.settle()) {
            tracing::error!(%error, "the end is not in the audit log");
        }
    }
}
