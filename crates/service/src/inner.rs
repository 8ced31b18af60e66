//! What the threads of a service share, and what happens to jobs on it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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
use crate::model::{JobCost, JobState, NewJob, Origin, Source, Submitters, Terms};
use crate::peer::connect::Way;
use crate::peer::lane::{self, Lane};
use crate::peer::link;
use crate::peer::messages::{Refusal, Verdict};
use crate::permit::{self, Denied};
use crate::registry::{self, Registered, Registry, hex};

/// What the threads of a service share.
pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) db: Db,
    pub(crate) audit: AuditLog,
    pub(crate) way: Arc<Way>,
    pub(crate) key: Arc<OwnerKey>,
    pub(crate) public: PublicKey,
    pub(crate) registry: Registry,
    pub(crate) lanes: [Lane; 2],
    /// Counts changes, of which threads wait for the next.
    pub(crate) changes: Mutex<u64>,
    pub(crate) changed: Condvar,
    pub(crate) cancelled: Mutex<Vec<String>>,
    pub(crate) peer_head: Mutex<String>,
    pub(crate) links: AtomicU64,
    pub(crate) stopping: AtomicBool,
    peer_stopping: AtomicBool,
    pub(crate) held: AtomicBool,
    pub(crate) threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What a thread of the service does.
type Work = Box<dyn FnOnce(&Arc<Inner>) + Send>;

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

impl Inner {
    /// Opens everything and starts the threads.
    pub(crate) fn start(dir: &Path) -> Result<Arc<Inner>, ServiceError> {
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
        Ok(inner)
    }

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
        let mut start = |name: &str, work: Work| {
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
    pub(crate) fn peer_name(&self) -> String {
        self.way.fingerprint().to_string()
    }

    pub(crate) fn level(&self, lane: &Lane) -> usize {
        if lane.small { self.config.pool.small } else { self.config.pool.large }
    }

    pub(crate) fn is_small(&self, program: &Registered) -> bool {
        program.ands <= self.config.jobs.small_ands
    }

    pub(crate) fn permit(
        &self,
        program: &Registered,
        origin: Origin,
    ) -> Result<Result<permit::Permit, Denied>, ServiceError> {
        permit::permit(&self.db, &self.public, &self.peer_name(), program, origin)
    }

    pub(crate) fn open(&self) -> Result<(), ServiceError> {
        if self.is_stopping() {
            return Err(ServiceError::new(ErrorKind::Unavailable, "the service is stopping"));
        }
        Ok(())
    }

    /// Whether all that was given belongs to the program.
    pub(crate) fn check_names(
        &self,
        program: &Registered,
        job: &NewJob,
    ) -> Result<(), ServiceError> {
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

    pub(crate) fn check_terms(
        &self,
        program: &Registered,
        terms: &Terms,
    ) -> Result<(), ServiceError> {
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
    pub(crate) fn own_bits(
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
        if self.is_stopping() {
            return Err(Refusal::Unavailable);
        }
        // After a lost answer it is offered again.
        let known = self.db.with(|db| Ok(jobs::stored(db, &offer.id))).and_then(|found| found);
        let taken = match known {
            Ok(None) => self.take(offer),
            Ok(Some(known)) => {
                let same = known.origin == Origin::Peer && known.offer.program == offer.program;
                match same && !known.state.is_end() {
                    true => Ok(()),
                    false => Err((Refusal::Over, "there was another job of this id".to_owned())),
                }
            }
            Err(error) => Err((Refusal::Unavailable, error.to_string())),
        };
        taken.map_err(|(refusal, why)| {
            tracing::info!(job = offer.id, program = offer.program, why, "refused");
            refusal
        })
    }

    /// Puts a job of the peer's down; or why not, for it and for the own log.
    fn take(&self, offer: &Offer) -> Result<(), (Refusal, String)> {
        let because = |refusal: Refusal| move |error: ServiceError| (refusal, error.to_string());
        let program = self.registry.program(&self.db, &offer.program);
        let program = program.map_err(because(Refusal::UnknownProgram))?;
        let permit = self.permit(&program, Origin::Peer).map_err(because(Refusal::Unavailable))?;
        let permit = permit.map_err(|denied| match denied {
            Denied::NotApproved => (Refusal::NotApproved, "no approval permits it".to_owned()),
            Denied::Quota => (Refusal::Quota, "the approval has no uses left".to_owned()),
        })?;
        let job = NewJob { select: offer.select.clone(), ..NewJob::default() };
        drop(self.own_bits(&program, &permit.terms, &job).map_err(because(Refusal::NoData))?);
        let waiting = self.db.with(|db| Ok(jobs::waiting(db, Origin::Peer))).and_then(|all| all);
        if waiting.map_err(because(Refusal::Unavailable))? >= self.config.jobs.most_waiting {
            return Err((Refusal::Busy, "too many jobs of the peer's wait".to_owned()));
        }
        let keep = self.config.jobs.keep_results_s;
        let arrival = Arrival {
            offer,
            origin: Origin::Peer,
            state: JobState::Queued,
            approval: permit.id,
            small: self.is_small(&program),
            inputs: &BTreeMap::new(),
            idempotency_key: None,
            keep_ms: i64::try_from(keep.saturating_mul(1000)).unwrap_or(i64::MAX / 2),
        };
        self.db.change(|db| jobs::put(db, &arrival)).map_err(because(Refusal::Unavailable))?;
        self.changed();
        Ok(())
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

    pub(crate) fn log(
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

pub(crate) fn new_id() -> String {
    let mut bytes = [0; 16];
    cenote_prim::os_bytes(&mut bytes);
    hex(&bytes)
}

pub(crate) fn facts(all: &[(&str, Value)]) -> Map<String, Value> {
    all.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
