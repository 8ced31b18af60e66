//! The service: what its owner may ask of it, and what its threads share.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cenote_data::Schema;
use cenote_engine::Fault;
use cenote_job::json;
use cenote_net::{Identity, PeerCertificate};
use serde_json::{Map, Value, json};

use crate::audit::{AuditLog, Entry, Head, OwnerKey, PublicKey};
use crate::config::Config;
use crate::db::{Db, now};
use crate::error::{ErrorKind, ServiceError};
use crate::jobs::{self, Arrival, Offer, Stored};
use crate::journal::LaneJournal;
use crate::model::{
    ApprovalView, DataSetView, JobCost, JobFilter, JobState, JobView, LaneView, NewJob, Origin,
    PeerView, ProgramView, Status, Terms,
};
use crate::peer::connect::Way;
use crate::peer::lane::{self, Lane};
use crate::peer::link;
use crate::peer::messages::{Refusal, Verdict, are_parameters};
use crate::permit::{self, Denied};
use crate::registry::{self, Registered, Registry, hex};

/// Longest idempotency key.
const MAX_KEY: usize = 256;
/// How long a stop waits for the job that runs and for the peer.
const GRACE: Duration = Duration::from_secs(20);

/// A running service. Clones are the same one.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

/// What the threads of a service share.
pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) db: Db,
    pub(crate) audit: AuditLog,
    pub(crate) way: Arc<Way>,
    key: Arc<OwnerKey>,
    public: PublicKey,
    registry: Registry,
    lanes: [Lane; 2],
    /// Counts changes, of which threads wait for the next.
    changes: Mutex<u64>,
    changed: Condvar,
    cancelled: Mutex<Vec<String>>,
    peer_head: Mutex<String>,
    links: AtomicU64,
    stopping: AtomicBool,
    peer_stopping: AtomicBool,
    held: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// A job that may begin: its program and the bits of the own inputs, port by port.
pub(crate) struct Prepared {
    pub(crate) program: Arc<Registered>,
    pub(crate) own: Vec<Vec<bool>>,
    approval: i64,
    origin: Origin,
    select: BTreeMap<String, String>,
}

impl Drop for Prepared {
    fn drop(&mut self) {
        for bits in &mut self.own {
            zeroize::Zeroize::zeroize(bits.as_mut_slice());
        }
    }
}

impl Service {
    /// Starts the service whose configuration, keys and state are in `dir`: it looks for the peer from now on.
    ///
    /// # Errors
    /// `Invalid` for a configuration, certificate or state that cannot be used; `Unavailable` when it cannot listen or write. Each
    /// with its remedy.
    pub fn start(dir: &Path) -> Result<Service, ServiceError> {
        let config = Config::load(dir)?;
        let unusable = |fault: Fault| ServiceError::invalid(fault.to_string());
        let identity = Identity::load(dir).map_err(unusable)?;
        let peer =
            PeerCertificate::load(config.path(&config.peer.certificate)).map_err(unusable)?;
        let db = Db::open(&dir.join("service.db"))?;
        let audited = |error: crate::audit::AuditError| {
            ServiceError::new(ErrorKind::Unavailable, error.to_string())
        };
        let key = Arc::new(OwnerKey::load_or_create(&dir.join("owner.key")).map_err(audited)?);
        let audit = AuditLog::open(&dir.join("audit.log"), Arc::clone(&key)).map_err(audited)?;
        let (way, listener) =
            Way::new(&config.peer, identity, peer).map_err(|fault| match fault {
                Fault::Transport(_) => ServiceError::new(ErrorKind::Unavailable, fault.to_string()),
                other => unusable(other),
            })?;
        let inner = Arc::new(Inner {
            public: key.public(),
            config,
            db,
            audit,
            way,
            key,
            registry: Registry::default(),
            lanes: [Lane::new(true), Lane::new(false)],
            changes: Mutex::new(0),
            changed: Condvar::new(),
            cancelled: Mutex::default(),
            peer_head: Mutex::default(),
            links: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            peer_stopping: AtomicBool::new(false),
            held: AtomicBool::new(false),
            threads: Mutex::default(),
        });
        inner.recover()?;
        inner.spawn(listener)?;
        Ok(Service(inner))
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
    /// not those of the program, `Busy` when too many jobs wait, `Unavailable`.
    pub fn submit(&self, job: &NewJob) -> Result<(JobView, bool), ServiceError> {
        let inner = &self.0;
        inner.open()?;
        if let Some(key) = &job.idempotency_key {
            if key.is_empty() || key.len() > MAX_KEY {
                let what = format!("an idempotency key has 1 to {MAX_KEY} bytes");
                return Err(ServiceError::invalid(what));
            }
            if let Some(id) = inner.db.change(|db| jobs::with_key(db, key))? {
                return Ok((jobs::view(&inner.db, &id)?, false));
            }
        }
        if !are_parameters(&job.select) || !(-100..=100).contains(&job.priority) {
            let what = "at most 16 parameters, of 256 bytes without control characters; a priority from -100 to 100";
            return Err(ServiceError::invalid(what));
        }
        let program = inner.registry.program(&inner.db, &job.program)?;
        let permit = inner.permit(&program, Origin::Own)?.map_err(|denied| match denied {
            Denied::NotApproved => ServiceError::new(
                ErrorKind::Forbidden,
                format!("no approval of the owner permits `{}` with this peer; `cenote approve` gives one", program.name),
            ),
            Denied::Quota => ServiceError::new(
                ErrorKind::Busy,
                format!("the approval of `{}` has no uses left", program.name),
            ),
        })?;
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
        inner.db.change(|db| {
            if jobs::waiting(db, Origin::Own)? >= inner.config.jobs.most_waiting {
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
                    inputs: &job.inputs,
                    idempotency_key: job.idempotency_key.as_deref(),
                    keep_ms: i64::try_from(keep.saturating_mul(1000)).unwrap_or(i64::MAX / 2),
                },
            )
        })?;
        inner.changed();
        Ok((jobs::view(&inner.db, &offer.id)?, true))
    }

    /// A job as it stands.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub fn job(&self, id: &str) -> Result<JobView, ServiceError> {
        jobs::view(&self.0.db, id)
    }

    /// A job when it has ended, or after `limit` as it stands then. Blocks.
    ///
    /// # Errors
    /// As [`Service::job`].
    pub fn wait(&self, id: &str, limit: Duration) -> Result<JobView, ServiceError> {
        let end = Instant::now() + limit;
        loop {
            let seen = *lock(&self.0.changes);
            let job = jobs::view(&self.0.db, id)?;
            let left = end.saturating_duration_since(Instant::now());
            if job.state.is_end() || left.is_zero() {
                return Ok(job);
            }
            self.0.wait_change(seen, left);
        }
    }

    /// Jobs, newest first.
    ///
    /// # Errors
    /// `Unavailable`.
    pub fn jobs(&self, filter: &JobFilter) -> Result<Vec<JobView>, ServiceError> {
        jobs::list(&self.0.db, filter)
    }

    /// Takes back a job that has not begun.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` when it runs or has ended.
    pub fn cancel(&self, id: &str) -> Result<JobView, ServiceError> {
        let before = jobs::view(&self.0.db, id)?;
        if !self.0.db.change(|db| jobs::cancel(db, id, "the own owner took it back"))? {
            let what = format!("job {id} is {} and cannot be taken back", before.state.name());
            return Err(ServiceError::new(ErrorKind::Conflict, what));
        }
        if before.origin == Origin::Own {
            lock(&self.0.cancelled).push(id.to_owned());
        }
        self.0.changed();
        jobs::view(&self.0.db, id)
    }

    /// Registers a program, in its text or binary form, under a name.
    ///
    /// # Errors
    /// `Invalid` for anything else; `Conflict` when name or program are taken.
    pub fn register(&self, name: &str, module: &[u8]) -> Result<ProgramView, ServiceError> {
        let inner = &self.0;
        let most = inner.config.jobs.most_ands;
        let program = inner.registry.register(&inner.db, name, module, most)?;
        let own = facts(&[("name", json!(name)), ("program", json!(program.digest))]);
        inner.log("program.registered", None, None, own)?;
        self.program(name)
    }

    /// All programs.
    ///
    /// # Errors
    /// `Unavailable`.
    pub fn programs(&self) -> Result<Vec<ProgramView>, ServiceError> {
        self.0.registry.programs(&self.0.db)
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
        if terms.peer != peer {
            let what =
                format!("the peer of this service is {peer}, the approval is for {}", terms.peer);
            return Err(ServiceError::invalid(what));
        }
        inner.check_terms(&program, &terms)?;
        let given = permit::approve(&inner.db, &inner.key, &terms)?;
        let own = facts(&[("approval", json!(given.id)), ("terms", json!(terms))]);
        inner.log("approval.given", None, None, own)?;
        inner.changed();
        Ok(given)
    }

    /// All approvals, oldest first.
    ///
    /// # Errors
    /// `Unavailable`.
    pub fn approvals(&self) -> Result<Vec<ApprovalView>, ServiceError> {
        permit::all(&self.0.db)
    }

    /// Withdraws an approval: no job begins under it any more.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub fn withdraw(&self, id: i64) -> Result<ApprovalView, ServiceError> {
        let approval = permit::withdraw(&self.0.db, id)?;
        self.0.log("approval.withdrawn", None, None, facts(&[("approval", json!(id))]))?;
        Ok(approval)
    }

    /// Binds a file of this machine to a name, under which approvals speak of it.
    ///
    /// # Errors
    /// `Invalid` for a file that cannot be read or breaks the schema.
    pub fn bind(
        &self,
        name: &str,
        path: &Path,
        schema: Option<&Schema>,
    ) -> Result<DataSetView, ServiceError> {
        let inner = &self.0;
        let bound = inner.registry.bind(&inner.db, name, path, schema)?;
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
    /// `Conflict` when nothing is held; `Unavailable`.
    pub fn lift(&self) -> Result<Status, ServiceError> {
        let inner = &self.0;
        if !inner.is_held() {
            return Err(ServiceError::new(
                ErrorKind::Conflict,
                "nothing is held: no check has failed",
            ));
        }
        for lane in &inner.lanes {
            let lifted = lane::store(inner, lane).and_then(|mut store| {
                let release = store.release();
                release.map_err(|failure| Fault::Storage(failure.to_string()))
            });
            lifted.map_err(|fault| ServiceError::new(ErrorKind::Unavailable, fault.to_string()))?;
        }
        inner.log("peer.lifted", None, None, Map::new())?;
        inner.db.with(|db| db.execute("DELETE FROM flag WHERE name = 'held'", []))?;
        inner.held.store(false, Ordering::SeqCst);
        inner.changed();
        self.status()
    }

    /// The service as it is.
    ///
    /// # Errors
    /// `Unavailable`.
    pub fn status(&self) -> Result<Status, ServiceError> {
        let inner = &self.0;
        Ok(Status {
            name: inner.config.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            peer: PeerView {
                name: inner.config.peer.name.clone(),
                fingerprint: inner.peer_name(),
                role: inner.config.peer.role.name().to_owned(),
                connected: inner.links.load(Ordering::SeqCst) > 0,
                held: inner.is_held(),
            },
            lanes: self.lanes(),
            jobs: jobs::counts(&inner.db)?,
            stopping: inner.is_stopping(),
        })
    }

    fn lanes(&self) -> Vec<LaneView> {
        self.0.lanes.iter().map(|lane| lane.view(self.0.level(lane))).collect()
    }

    /// Whether jobs would run now.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.0.is_stopping() && self.lanes().iter().all(|lane| lane.state == "ready")
    }

    /// The head of the audit log, and the last one that the peer told of its own.
    #[must_use]
    pub fn audit_heads(&self) -> (Head, String) {
        (self.0.audit.head(), lock(&self.0.peer_head).clone())
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
        if let Err(error) = inner.log("service.stopped", None, None, Map::new()) {
            tracing::error!(%error, "the end is not in the audit log");
        }
    }
}

impl Inner {
    /// What a crash left: jobs that ran have failed, and a hold stands.
    fn recover(&self) -> Result<(), ServiceError> {
        let held = "SELECT COUNT(*) FROM flag WHERE name = 'held'";
        let held: i64 = self.db.with(|db| db.query_row(held, [], |row| row.get(0)))?;
        self.held.store(held > 0, Ordering::SeqCst);
        self.log(
            "service.started",
            None,
            None,
            facts(&[("version", json!(env!("CARGO_PKG_VERSION")))]),
        )?;
        for id in jobs::fail_running(&self.db)? {
            self.log(
                "job.failed",
                Some(&id),
                None,
                facts(&[("reason", json!("the service stopped"))]),
            )?;
        }
        jobs::tidy(&self.db)?;
        Ok(())
    }

    fn spawn(self: &Arc<Self>, listener: Option<cenote_net::Listener>) -> Result<(), ServiceError> {
        let mut threads = lock(&self.threads);
        let mut start = |name: &str, work: Box<dyn FnOnce(&Arc<Inner>) + Send>| {
            let inner = Arc::clone(self);
            let thread = std::thread::Builder::new().name(name.to_owned());
            let started = thread.spawn(move || work(&inner));
            let failed = |error: std::io::Error| {
                ServiceError::new(ErrorKind::Unavailable, error.to_string())
            };
            threads.push(started.map_err(failed)?);
            Ok::<_, ServiceError>(())
        };
        if let Some(listener) = listener {
            start(
                "listener",
                Box::new(move |inner| {
                    inner.way.listen(&listener, |address, fault| {
                        tracing::info!(%address, %fault, "turned away");
                    });
                }),
            )?;
        }
        for place in 0..self.lanes.len() {
            start("lane", Box::new(move |inner| lane::run(inner, &inner.lanes[place])))?;
        }
        for tells in [true, false] {
            start("link", Box::new(move |inner| link::run(inner, tells)))?;
        }
        start(
            "clock",
            Box::new(|inner| {
                while !inner.way.is_over() {
                    inner.pause(Duration::from_secs(1));
                    match jobs::tidy(&inner.db) {
                        Ok(0) => {}
                        Ok(_) => inner.changed(),
                        Err(error) => tracing::error!(%error, "jobs cannot expire"),
                    }
                }
            }),
        )
    }

    /// The peer, as approvals name it.
    fn peer_name(&self) -> String {
        self.way.fingerprint().to_string()
    }

    pub(crate) fn level(&self, lane: &Lane) -> usize {
        if lane.small { self.config.pool.small } else { self.config.pool.large }
    }

    fn is_small(&self, program: &Registered) -> bool {
        program.ands <= self.config.jobs.small_ands
    }

    fn permit(
        &self,
        program: &Registered,
        origin: Origin,
    ) -> Result<Result<permit::Permit, Denied>, ServiceError> {
        permit::permit(&self.db, &self.public, &self.peer_name(), program, origin)
    }

    fn open(&self) -> Result<(), ServiceError> {
        if self.is_stopping() {
            return Err(ServiceError::new(ErrorKind::Unavailable, "the service is stopping"));
        }
        Ok(())
    }

    /// Whether all that was given belongs to the program.
    fn check_names(&self, program: &Registered, job: &NewJob) -> Result<(), ServiceError> {
        let own = registry::own_inputs(&program.module, self.config.peer.role);
        match job.inputs.keys().find(|name| !own.contains_key(name.as_str())) {
            None => Ok(()),
            Some(name) => {
                let names: Vec<&str> = own.into_keys().collect();
                let what =
                    format!("`{name}` is no input of this side; these are: {}", names.join(", "));
                Err(ServiceError::invalid(what))
            }
        }
    }

    fn check_terms(&self, program: &Registered, terms: &Terms) -> Result<(), ServiceError> {
        use crate::model::{Source, Submitters};
        let own = registry::own_inputs(&program.module, self.config.peer.role);
        if let Some(name) = terms.inputs.keys().find(|name| !own.contains_key(name.as_str())) {
            return Err(ServiceError::invalid(format!("`{name}` is no input of this side")));
        }
        for name in own.keys() {
            match terms.inputs.get(*name) {
                Some(Source::Table { dataset, .. } | Source::Record { dataset, .. }) => {
                    drop(self.registry.dataset(&self.db, dataset)?);
                }
                None | Some(Source::Submitter) if terms.submitters != Submitters::Own => {
                    let what = format!(
                        "jobs of the peer's need a data set for `{name}`: nobody else gives it then"
                    );
                    return Err(ServiceError::invalid(what));
                }
                None | Some(Source::Submitter) => {}
            }
        }
        Ok(())
    }

    /// The bits of the own inputs, port by port.
    fn own_bits(
        &self,
        program: &Registered,
        terms: &Terms,
        job: &NewJob,
    ) -> Result<Vec<Vec<bool>>, ServiceError> {
        let role = self.config.peer.role;
        let dataset = |name: &str| self.registry.dataset(&self.db, name);
        let mut bits: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
        for (name, ports) in registry::own_inputs(&program.module, role) {
            let value = permit::input(terms.inputs.get(name), name, &ports, job, dataset)?;
            let words = json::from_value(name, &ports, &value).map_err(ServiceError::invalid)?;
            for (port, words) in ports.iter().zip(words) {
                let parsed = port
                    .parse(&words.join(","))
                    .map_err(|e| ServiceError::invalid(e.to_string()))?;
                bits.insert(&port.name, parsed);
            }
        }
        let ports = program.module.inputs().iter().filter(|port| port.owner == role);
        Ok(ports.filter_map(|port| bits.remove(port.name.as_str())).collect())
    }

    fn prepared(&self, stored: &Stored, terms: &Terms) -> Result<Prepared, ServiceError> {
        let program = self.registry.program(&self.db, &stored.offer.program)?;
        let own = self.own_bits(&program, terms, &stored.new_job())?;
        let Stored { approval, origin, .. } = *stored;
        Ok(Prepared { program, own, approval, origin, select: stored.offer.select.clone() })
    }

    /// A job that the peer's owner wants: put down, if the own owner permits it.
    pub(crate) fn offered(&self, offer: &Offer) -> Result<(), Refusal> {
        let failed = |error: ServiceError| {
            tracing::error!(%error, job = offer.id, "an offer cannot be answered");
            Refusal::Unavailable
        };
        if self.is_stopping() {
            return Err(Refusal::Unavailable);
        }
        // After a lost answer it is offered again.
        if let Some(known) = self
            .db
            .with(|db| Ok(jobs::stored(db, &offer.id)))
            .and_then(|found| found)
            .map_err(failed)?
        {
            return match known.origin == Origin::Peer
                && known.offer.program == offer.program
                && !known.state.is_end()
            {
                true => Ok(()),
                false => Err(Refusal::Over),
            };
        }
        let refused = |why: Refusal, what: &str| {
            tracing::info!(job = offer.id, program = offer.program, what, "refused");
            Err(why)
        };
        let Ok(program) = self.registry.program(&self.db, &offer.program) else {
            return refused(Refusal::UnknownProgram, "no such program is registered");
        };
        let permit = match self.permit(&program, Origin::Peer) {
            Ok(Ok(permit)) => permit,
            Ok(Err(Denied::NotApproved)) => {
                return refused(Refusal::NotApproved, "no approval permits it");
            }
            Ok(Err(Denied::Quota)) => {
                return refused(Refusal::Quota, "the approval has no uses left");
            }
            Err(error) => return refused(Refusal::Unavailable, &error.to_string()),
        };
        let job = NewJob { select: offer.select.clone(), ..NewJob::default() };
        if let Err(error) = self.own_bits(&program, &permit.terms, &job) {
            return refused(Refusal::NoData, &error.to_string());
        }
        let put = self.db.change(|db| {
            if jobs::waiting(db, Origin::Peer)? >= self.config.jobs.most_waiting {
                return Err(ServiceError::new(ErrorKind::Busy, "too many jobs of the peer's wait"));
            }
            let arrival = Arrival {
                offer,
                origin: Origin::Peer,
                state: JobState::Queued,
                approval: permit.id,
                small: self.is_small(&program),
                inputs: &BTreeMap::new(),
                idempotency_key: None,
                keep_ms: i64::try_from(self.config.jobs.keep_results_s.saturating_mul(1000))
                    .unwrap_or(i64::MAX / 2),
            };
            jobs::put(db, &arrival)
        });
        match put {
            Ok(()) => {
                self.changed();
                Ok(())
            }
            Err(error) if error.kind == ErrorKind::Busy => {
                refused(Refusal::Busy, &error.to_string())
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// The peer's answer to an offer.
    pub(crate) fn answered(&self, id: &str, verdict: Verdict) -> Result<(), ServiceError> {
        match verdict {
            Verdict::Accepted => self.db.change(|db| jobs::agreed(db, id))?,
            Verdict::Refused(why) => {
                self.refused(id, why.reason());
                true
            }
        };
        self.changed();
        Ok(())
    }

    pub(crate) fn cancelled_by_peer(&self, id: &str) -> Result<(), ServiceError> {
        let theirs = |stored: &Stored| stored.origin == Origin::Peer;
        self.db.change(|db| match jobs::stored(db, id)? {
            Some(stored) if theirs(&stored) => {
                jobs::cancel(db, id, "the peer's owner took it back")
            }
            _ => Ok(false),
        })?;
        self.changed();
        Ok(())
    }

    /// The next job of a lane, and why it cannot begin, if so.
    pub(crate) fn next_job(&self, lane: &Lane) -> Option<(String, Result<Prepared, ServiceError>)> {
        match jobs::next(&self.db, lane.small) {
            Ok(None) => None,
            Ok(Some(id)) => {
                let job = self.ready(&id);
                Some((id, job))
            }
            Err(error) => {
                tracing::error!(%error, "the queue cannot be read");
                None
            }
        }
    }

    fn ready(&self, id: &str) -> Result<Prepared, ServiceError> {
        let stored = self.db.with(|db| Ok(jobs::stored(db, id)))??;
        let stored = stored.ok_or_else(|| ServiceError::not_found("the job is gone"))?;
        let terms = permit::find(&self.db, stored.approval)?.terms;
        if stored.deadline_at.is_some_and(|at| at <= now()) {
            return Err(ServiceError::new(
                ErrorKind::Conflict,
                "its deadline passed before it began",
            ));
        }
        self.prepared(&stored, &terms)
    }

    /// A job begins on this side: written down, and a use of its approval spent, before anything of it is sent.
    pub(crate) fn begin(&self, id: &str, job: &Prepared) -> Result<(), ServiceError> {
        self.db.change(|db| {
            permit::spend(db, &self.public, job.approval)?;
            if jobs::running(db, id)? {
                Ok(())
            } else {
                Err(ServiceError::new(ErrorKind::Conflict, "the job is over"))
            }
        })?;
        self.changed();
        Ok(())
    }

    /// Whatever ran in a lane when its session ended without a word of it.
    pub(crate) fn fail_left(&self, lane: &Lane, fault: &Fault) {
        match jobs::running_in(&self.db, lane.small) {
            Ok(left) => left.iter().for_each(|id| self.failed(id, fault)),
            Err(error) => tracing::error!(%error, "jobs that ran are not written down"),
        }
    }

    /// The follower's answer to an order: the job, which has begun on this side then.
    pub(crate) fn goes_on(&self, id: &str, lane: &Lane) -> Result<Prepared, Refusal> {
        let refused = |why: Refusal, error: ServiceError| {
            tracing::info!(job = id, lane = lane.name(), %error, "refused when its turn came");
            self.refused(id, &error.to_string());
            Err(why)
        };
        let known = self.db.with(|db| Ok(jobs::stored(db, id))).and_then(|found| found);
        match known {
            Ok(Some(stored)) if matches!(stored.state, JobState::Queued | JobState::Submitted) => {}
            Ok(_) => return Err(Refusal::Over),
            Err(_) => return Err(Refusal::Unavailable),
        }
        if self.is_stopping() || self.is_held() {
            return Err(Refusal::Unavailable);
        }
        match self.ready(id).and_then(|job| self.begin(id, &job).map(|()| job)) {
            Ok(job) => Ok(job),
            Err(error) if error.kind == ErrorKind::Forbidden => {
                refused(Refusal::NotApproved, error)
            }
            Err(error) if error.kind == ErrorKind::Conflict => refused(Refusal::Over, error),
            Err(error) => refused(Refusal::NoData, error),
        }
    }

    /// A job will not run.
    pub(crate) fn refused(&self, id: &str, why: &str) {
        self.ended(id, JobState::Refused, "job.refused", why);
    }

    /// A job ended with a fault. The peer's abort says as little as it may; the own log has the check.
    pub(crate) fn failed(&self, id: &str, fault: &Fault) {
        self.ended(id, JobState::Failed, "job.failed", &fault.to_string());
    }

    fn ended(&self, id: &str, state: JobState, kind: &str, why: &str) {
        let ended = self.db.change(|db| jobs::end(db, id, state, Some(why)));
        let logged = match ended {
            Ok(true) => self.log(kind, Some(id), None, facts(&[("reason", json!(why))])),
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = logged {
            tracing::error!(%error, job = id, "the end of a job is not written down");
        }
        self.changed();
    }

    /// A job ended well.
    pub(crate) fn done(
        &self,
        id: &str,
        job: &Prepared,
        result: Option<Value>,
        cost: &JobCost,
        head: Head,
    ) {
        let shared = facts(&[
            ("program", json!(job.program.digest)),
            ("select", json!(job.select)),
            ("outcome", json!("done")),
        ]);
        let own = facts(&[
            ("origin", json!(job.origin)),
            ("approval", json!(job.approval)),
            ("peer_head", json!(head.to_string())),
        ]);
        let written = self
            .db
            .change(|db| jobs::done(db, id, result.as_ref(), cost))
            .and_then(|_| self.log("job.done", Some(id), Some(shared), own));
        if let Err(error) = written {
            tracing::error!(%error, job = id, "the end of a job is not written down");
        }
        self.changed();
    }

    /// A check failed: no session opens before the owner says so, whatever happens to this process.
    pub(crate) fn hold(&self, fault: &Fault) {
        self.held.store(true, Ordering::SeqCst);
        let put = "INSERT OR REPLACE INTO flag (name, value) VALUES ('held', ?1)";
        let noted = self.db.with(|db| db.execute(put, [fault.to_string()])).map(drop);
        let logged =
            self.log("peer.held", None, None, facts(&[("fault", json!(fault.to_string()))]));
        if let Err(error) = noted.and(logged) {
            tracing::error!(%error, "that the peer is held is not written down");
        }
        self.changed();
    }

    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Ordering::SeqCst)
    }

    fn log(
        &self,
        kind: &str,
        job: Option<&str>,
        shared: Option<Map<String, Value>>,
        own: Map<String, Value>,
    ) -> Result<(), ServiceError> {
        let entry = Entry {
            kind: kind.to_owned(),
            peer: job.map(|_| self.peer_name()),
            job: job.map(str::to_owned),
            shared,
            own,
        };
        let appended = self.audit.append(&entry);
        appended
            .map(drop)
            .map_err(|error| ServiceError::new(ErrorKind::Unavailable, error.to_string()))
    }

    /// The file in which a lane's items are noted as they leave, for whoever checks that none leaves twice.
    pub(crate) fn journal(
        &self,
        lane: &Lane,
        live: &Arc<AtomicBool>,
    ) -> Result<LaneJournal, Fault> {
        let dir = self.config.dir.join("journal");
        LaneJournal::open(&dir, lane.name(), lane.seen.clone(), Arc::clone(live))
    }

    pub(crate) fn heard_head(&self, head: &str) {
        *lock(&self.peer_head) = head.to_owned();
    }

    pub(crate) fn linked(&self, tells: bool, up: bool) {
        let bit = 1 << u64::from(tells);
        if up {
            self.links.fetch_or(bit, Ordering::SeqCst);
            self.peer_stopping.store(false, Ordering::SeqCst);
        } else {
            self.links.fetch_and(!bit, Ordering::SeqCst);
        }
    }

    pub(crate) fn peer_stops(&self, stops: bool) {
        if self.peer_stopping.swap(stops, Ordering::SeqCst) != stops {
            self.changed();
        }
    }

    pub(crate) fn peer_is_stopping(&self) -> bool {
        self.peer_stopping.load(Ordering::SeqCst)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    pub(crate) fn take_cancelled(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.cancelled))
    }

    /// Tells all who wait that something has changed.
    pub(crate) fn changed(&self) {
        *lock(&self.changes) += 1;
        self.changed.notify_all();
    }

    /// Waits until something has changed since `seen`, or so long; what to compare with the next time.
    pub(crate) fn wait_change(&self, seen: u64, limit: Duration) -> u64 {
        let changes = lock(&self.changes);
        let waited = self.changed.wait_timeout_while(changes, limit, |now| *now == seen);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits so long, or until the service stops.
    pub(crate) fn pause(&self, limit: Duration) {
        let end = Instant::now() + limit;
        while !self.way.is_over() && Instant::now() < end {
            std::thread::sleep(limit.min(Duration::from_millis(50)));
        }
    }
}

fn new_id() -> String {
    let mut bytes = [0; 16];
    cenote_prim::os_bytes(&mut bytes);
    hex(&bytes)
}

fn facts(all: &[(&str, Value)]) -> Map<String, Value> {
    all.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
