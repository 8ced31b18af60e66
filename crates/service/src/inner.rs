//! What the threads of a service share, and how it starts. What happens to a job is in `course.rs`.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cenote_engine::Fault;
use cenote_net::{Identity, Listener, PeerCertificate};
use serde_json::{Map, Value, json};

use crate::audit::{AuditError, AuditLog, Entry, Head, OwnerKey, PublicKey};
use crate::config::{Config, Quota};
use crate::course::told;
use crate::db::Db;
use crate::error::{ErrorKind, ServiceError};
use crate::evidence;
use crate::expiry::{Expiry, Reminder};
use crate::jobs;
use crate::journal::LaneJournal;
use crate::memories::Ending;
use crate::model::{LineView, Origin};
use crate::peer::connect::{Backoff, Way};
use crate::peer::lane::{self, Lane};
use crate::peer::line::Line;
use crate::peer::link;
use crate::peer::messages::Declined;
use crate::peer::rotation;
use crate::permit::{self, Denied, Use};
use crate::quota::Who;
use crate::registry::{self, Registered, Registry, hex};
use crate::stamp::Stamp;
use crate::take_back;
use crate::watch::Watch;

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
    /// Held while a store is opened, or looked at by the other lane.
    pub(crate) opening: Mutex<()>,
    /// Counts changes, of which threads wait for the next.
    pub(crate) changes: Mutex<u64>,
    pub(crate) changed: Condvar,
    pub(crate) watch: Watch,
    /// Own jobs that are not wanted any more, and jobs of the peer's that do not run here, which the peer has not heard of yet.
    pub(crate) cancelled: Mutex<Vec<String>>,
    pub(crate) declined: Mutex<Vec<Declined>>,
    /// Memories that an owner ends.
    pub(crate) ending: Mutex<Ending>,
    /// Own jobs for which a session is to be cut, as soon as the peer has heard of them; and since when.
    pub(crate) cuts: Mutex<Vec<(String, Instant)>>,
    /// Jobs of the peer's that run here and that it does not want any more.
    pub(crate) taken_by_peer: Mutex<HashSet<String>>,
    pub(crate) peer_head: Mutex<Option<Head>>,
    pub(crate) line: Line,
    pub(crate) links: AtomicU64,
    /// How often a connection of the link broke.
    pub(crate) breaks: AtomicU64,
    /// How often a connection of the link that was new brought news or an answer, and how often a session opened.
    pub(crate) meetings: AtomicU64,
    pub(crate) sessions: AtomicU64,
    pub(crate) stopping: AtomicBool,
    peer_stopping: AtomicBool,
    pub(crate) held: AtomicBool,
    pub(crate) told: Mutex<evidence::Told>,
    /// An earlier run has kept proof that the peer has cheated.
    pub(crate) has_labels: bool,
    pub(crate) threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Whether a service in this directory had a database and has none: it would start with an empty one, in which nothing is approved.
#[must_use]
pub fn is_database_lost(dir: &Path) -> bool {
    let has_lines = std::fs::metadata(dir.join("audit.log")).is_ok_and(|log| log.len() > 0);
    has_lines && !dir.join("service.db").exists()
}

/// How long sessions may take to end before the peer is let in again.
const ENDS: Duration = Duration::from_secs(10);

/// The connections of the link, one for the news of each side.
const BOTH: u64 = 0b11;

/// How long a rest is at least, where something else has gone well with the peer: nobody is made to try without a pause.
const LEAST_REST: Duration = Duration::from_millis(500);

/// How long an owner waits for a measure of the line.
const MEASURE: Duration = Duration::from_secs(20);

/// What a thread of the service does.
type Work = Box<dyn FnOnce(&Arc<Inner>) + Send>;

impl Inner {
    /// Opens everything and starts the threads.
    pub(crate) fn start(dir: &Path) -> Result<Arc<Inner>, ServiceError> {
        let (inner, listener) = Inner::open_in(dir)?;
        inner.spawn(listener)?;
        Ok(inner)
    }

    /// Opens everything, as a crash may have left it.
    pub(crate) fn open_in(dir: &Path) -> Result<(Arc<Inner>, Option<Listener>), ServiceError> {
        let config = Config::load(dir)?;
        let unusable = |fault: Fault| ServiceError::invalid(fault.to_string());
        // A crash may have come before it was wholly in place.
        let changed = rotation::take(dir)?;
        let identity = Identity::load(dir).map_err(unusable)?;
        let file = config.path(&config.peer.certificate);
        let peer = PeerCertificate::load(&file).map_err(unusable)?;
        if is_database_lost(dir) {
            tracing::warn!(
                "service.db is not there, though the audit log has lines; put it back from the backup"
            );
        }
        let db = Db::open(&dir.join("service.db"))?;
        let key = Arc::new(OwnerKey::load_or_create(&dir.join("owner.key")).map_err(unavailable)?);
        let settled = db.with(|db| Ok(jobs::logged(db)))??;
        let audit = AuditLog::open_settled(&dir.join("audit.log"), Arc::clone(&key), settled);
        let audit = audit.map_err(unavailable)?;
        let (way, listener) =
            Way::new(&config.peer, identity, peer, file).map_err(|fault| match fault {
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
            opening: Mutex::default(),
            changes: Mutex::new(0),
            changed: Condvar::new(),
            watch: Watch::default(),
            cancelled: Mutex::default(),
            declined: Mutex::default(),
            ending: Mutex::default(),
            cuts: Mutex::default(),
            taken_by_peer: Mutex::default(),
            peer_head: Mutex::default(),
            line: Line::default(),
            links: AtomicU64::new(0),
            breaks: AtomicU64::new(0),
            meetings: AtomicU64::new(0),
            sessions: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            peer_stopping: AtomicBool::new(false),
            held: AtomicBool::new(false),
            told: Mutex::new(evidence::Told::new()),
            has_labels: evidence::has_labels(dir),
            threads: Mutex::default(),
        });
        inner.recover()?;
        inner.watch_certificates(changed)?;
        Ok((inner, listener))
    }

    /// What a crash left: jobs that ran have failed, and a hold stands.
    fn recover(&self) -> Result<(), ServiceError> {
        let held = "SELECT COUNT(*) FROM flag WHERE name = 'held'";
        let held: i64 = self.db.with(|db| db.query_row(held, [], |row| row.get(0)))?;
        // A store may say so alone: its end is on disk first.
        let in_store = self.lanes.iter().filter(|lane| lane::is_held_on_disk(self, lane));
        let in_store: Vec<&Lane> = in_store.collect();
        self.held.store(held > 0, Ordering::SeqCst);
        self.log(
            "service.started",
            None,
            None,
            facts(&[("version", json!(env!("CARGO_PKG_VERSION")))]),
        )?;
        // Before anything is written down of which nobody waits for the disk: a job's own note may be lost with its line.
        self.db.change(|db| jobs::note_logged(db, self.audit.head().sequence))?;
        for id in jobs::fail_running(&self.db)? {
            tracing::info!(job = id, why = jobs::STOPPED, "a job failed");
            self.log(
                "job.failed",
                Some(&id),
                None,
                facts(&[("reason", json!("the service stopped"))]),
            )?;
        }
        jobs::tidy(&self.db)?;
        if self.is_held() {
            tracing::error!("a check failed before: the peer is held until the owner lifts that");
        } else if let Some(lane) = in_store.first() {
            self.hold(lane, "a check failed before the service ended; its store says so");
        }
        Ok(())
    }

    fn spawn(self: &Arc<Self>, listener: Option<Listener>) -> Result<(), ServiceError> {
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
                    // Strangers fill no log of the usual level.
                    inner.way.listen(&listener, |address, fault| {
                        tracing::debug!(%address, %fault, "turned away");
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
                let (mut reminder, mut next) = (Reminder::new(), None);
                while !inner.way.is_over() {
                    reminder.look(|| inner.expiry());
                    lock(&inner.told).look(inner);
                    if let Err(error) = inner.rotate(&mut next) {
                        tracing::error!(%error, "a certificate cannot be changed");
                    }
                    inner.pause(Duration::from_secs(1));
                    inner.cut_overdue(take_back::HEARS);
                    match jobs::tidy(&inner.db).and_then(|tidied| inner.settle().map(|()| tidied)) {
                        Ok(0) => {}
                        Ok(_) => inner.changed(),
                        Err(error) => tracing::error!(%error, "what time does is not written down"),
                    }
                }
            }),
        )
    }

    /// Before anything is connected: what is left of a change, and who hears of the next ones.
    fn watch_certificates(self: &Arc<Self>, changed: bool) -> Result<(), ServiceError> {
        if changed {
            self.own_changed(|| {})?;
        }
        let (stores, peer) = (self.config.dir.join("stores"), self.peer_name());
        for lane in &self.lanes {
            rotation::note(&stores, lane.name(), &peer).map_err(|error| {
                let what = format!("{}: {error}", stores.display());
                ServiceError::new(ErrorKind::Unavailable, what)
            })?;
        }
        let inner = Arc::downgrade(self);
        self.way.note(Box::new(move |before, now| {
            let Some(inner) = inner.upgrade() else { return Ok(()) };
            let own =
                [("before", json!(before.to_string())), ("certificate", json!(now.to_string()))];
            let logged = inner.log("peer.changed", None, None, facts(&own));
            logged.map_err(|error| Fault::Storage(error.to_string()))
        }));
        Ok(())
    }

    /// Takes the own next identity if its owner wants it, and looks which certificate the peer will have.
    fn rotate(&self, seen: &mut Option<Stamp>) -> Result<(), ServiceError> {
        let unusable = |fault: Fault| ServiceError::invalid(fault.to_string());
        let dir = &self.config.dir;
        if rotation::take(dir)? {
            let identity = Identity::load(dir).map_err(unusable)?;
            self.own_changed(|| {
                self.way.set_identity(identity);
                self.changed();
            })?;
        }
        let file = rotation::next_peer_file(&self.config.path(&self.config.peer.certificate));
        let now = Stamp::at(&file);
        if now != *seen {
            *seen = now;
            let next = now.map(|_| PeerCertificate::load(&file)).transpose();
            // A file that cannot be read lets nobody in.
            let (next, read) = match next {
                Ok(next) => (next, Ok(())),
                Err(fault) => (None, Err(unusable(fault))),
            };
            self.way.set_next(next, |name| {
                let name = json!(name.map(|name| name.to_string()));
                self.log("peer.next", None, None, facts(&[("certificate", name)]))
            })?;
            return read;
        }
        Ok(())
    }

    /// The own identity is another one, on disk: noted, then used.
    fn own_changed(&self, used: impl FnOnce()) -> Result<(), ServiceError> {
        let now = Identity::load(&self.config.dir)
            .map_err(|fault| ServiceError::invalid(fault.to_string()))?;
        let own = facts(&[("certificate", json!(now.fingerprint().to_string()))]);
        self.log("identity.changed", None, None, own)?;
        used();
        rotation::taken(&self.config.dir)
    }

    /// When the certificates that are used end.
    pub(crate) fn expiry(&self) -> Expiry {
        let [own, peer] = self.way.certificates();
        Expiry::of(&own, &peer, &self.config)
    }

    /// The peer, as approvals name it.
    pub(crate) fn peer_name(&self) -> String {
        self.way.fingerprint().to_string()
    }

    /// The lane of small jobs, or that of large ones.
    pub(crate) const fn lane(&self, small: bool) -> &Lane {
        let [of_small, of_large] = &self.lanes;
        if small { of_small } else { of_large }
    }

    pub(crate) fn level(&self, lane: &Lane) -> usize {
        if lane.small { self.config.pool.small } else { self.config.pool.large }
    }

    /// Whether its jobs run in the lane of small ones; those that share memories all run in one session.
    pub(crate) fn is_small(&self, program: &Registered) -> bool {
        program.ands <= self.config.jobs.small_ands && program.module.memories().is_empty()
    }

    pub(crate) fn permit(
        &self,
        program: &Registered,
        origin: Origin,
        select: &BTreeMap<String, String>,
    ) -> Result<Result<permit::Permit, Denied>, ServiceError> {
        let peer = self.peer_name();
        permit::permit(&self.db, &self.public, &self.wanted(program, &peer, origin, select))
    }

    /// What an approval is to be used for.
    pub(crate) fn wanted<'a>(
        &self,
        program: &'a Registered,
        peer: &'a str,
        origin: Origin,
        select: &'a BTreeMap<String, String>,
    ) -> Use<'a> {
        let (digest, group) = (program.digest.as_str(), program.smallest_group.as_deref());
        let receivers = registry::receiving(&program.module, self.config.peer.role);
        Use { program: digest, peer, origin, select, group, receivers }
    }

    /// The quota of whoever asks for a job.
    pub(crate) fn quota(&self, who: Who<'_>) -> Quota {
        match who.origin {
            Origin::Own => self.config.quota.of_token(who.submitter),
            Origin::Peer => self.config.quota.peer,
        }
    }

    pub(crate) fn open(&self) -> Result<(), ServiceError> {
        if self.is_stopping() {
            return Err(ServiceError::new(ErrorKind::Unavailable, "the service is stopping"));
        }
        Ok(())
    }

    /// A check failed: no session opens before the owner says so, whatever happens to this process, and those that are open end.
    pub(crate) fn hold(&self, lane: &Lane, why: &str) {
        if self.held.swap(true, Ordering::SeqCst) {
            return;
        }
        self.way.cut("lane.");
        let put = "INSERT OR REPLACE INTO flag (name, value) VALUES ('held', ?1)";
        let noted = self.db.with(|db| db.execute(put, [why])).map(drop);
        let logged = evidence::keep(self, lane, why);
        for error in [noted, logged].into_iter().filter_map(Result::err) {
            tracing::error!(%error, "that the peer is held is not all written down");
        }
        self.changed();
    }

    /// Lets sessions open again. Both have ended by then, and their stores are free.
    pub(crate) fn lift(&self) -> Result<(), ServiceError> {
        if !self.is_held() {
            let what = "nothing is held: no check has failed";
            return Err(ServiceError::new(ErrorKind::Conflict, what));
        }
        let end = Instant::now() + ENDS;
        while !self.lanes.iter().all(Lane::rests) {
            if Instant::now() >= end {
                let what = "a session with the peer is still ending; lift it again in a moment";
                return Err(ServiceError::new(ErrorKind::Conflict, what));
            }
            self.pause(Duration::from_millis(50));
        }
        for lane in &self.lanes {
            let lifted = lane::release(self, lane);
            lifted.map_err(|fault| ServiceError::new(ErrorKind::Unavailable, fault.to_string()))?;
        }
        self.log("peer.lifted", None, None, Map::new())?;
        self.db.with(|db| db.execute("DELETE FROM flag WHERE name = 'held'", []))?;
        self.held.store(false, Ordering::SeqCst);
        self.changed();
        Ok(())
    }

    /// Pools that were begun with the peer in both lanes, and the bound on a cheater's success by any of them.
    pub(crate) fn pools(&self) -> (u64, f64) {
        let ledgers = self.lanes.each_ref().map(|lane| lane.seen.ledger());
        let pools = ledgers.iter().map(|ledger| ledger.pools).fold(0, u64::saturating_add);
        (pools, ledgers.iter().map(|ledger| ledger.error.adaptive).sum())
    }

    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Ordering::SeqCst)
    }

    /// A line of the audit log, on the disk when this returns.
    pub(crate) fn log(
        &self,
        kind: &str,
        job: Option<&str>,
        shared: Option<Map<String, Value>>,
        own: Map<String, Value>,
    ) -> Result<(), ServiceError> {
        self.log_soon(kind, job, shared, own)?;
        self.audit.settle().map(drop).map_err(unavailable)
    }

    /// A line of the audit log, on the disk after the next [`Inner::settle`].
    pub(crate) fn log_soon(
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
        self.audit.append_soon(&entry).map(drop).map_err(unavailable)
    }

    /// Waits until all that was written down is on the disk, in the database and in the audit log: for both at once.
    pub(crate) fn settle(&self) -> Result<(), ServiceError> {
        let log = || self.audit.settle().map(drop).map_err(unavailable);
        std::thread::scope(|scope| {
            let beside = std::thread::Builder::new().spawn_scoped(scope, log);
            let db = self.db.settle();
            let log = match beside {
                Ok(beside) => beside.join().unwrap_or_else(|_| log()),
                Err(_) => log(),
            };
            db.and(log)
        })
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

    pub(crate) fn heard_head(&self, head: Head) {
        *lock(&self.peer_head) = Some(head);
    }

    /// A connection of the link is there; whether the peer takes part in it is not known yet. It says itself if it stops.
    pub(crate) fn reached(&self) {
        self.peer_stopping.store(false, Ordering::SeqCst);
    }

    /// The peer has spoken on a connection of the link that is new.
    pub(crate) fn linked(&self, tells: bool) {
        let bit = 1 << u64::from(tells);
        let before = self.links.fetch_or(bit, Ordering::SeqCst);
        if before != BOTH && before | bit == BOTH {
            tracing::info!(peer = self.config.peer.name, "the peer is connected");
        }
        self.meetings.fetch_add(1, Ordering::SeqCst);
        self.changed();
    }

    /// A connection of the link is gone, if it was there.
    pub(crate) fn unlinked(&self, tells: bool, ended: &Result<(), Fault>) {
        let bit = 1 << u64::from(tells);
        let before = self.links.fetch_and(!bit, Ordering::SeqCst);
        if before == BOTH
            && !self.way.is_over()
            && let Err(fault) = ended
        {
            let (peer, why) = (&self.config.peer.name, fault.to_string());
            tracing::info!(peer, why = told(&why), "the peer is away");
        }
        if before & bit != 0 {
            // A thread always reads from the one on which the peer tells, so that its end is seen at once; a line that goes nowhere is seen
            // on either first, and the next job would be agreed on by then.
            self.breaks.fetch_add(1, Ordering::SeqCst);
            self.changed();
        }
    }

    /// Whether each side hears what the other one tells.
    pub(crate) fn is_linked(&self) -> bool {
        self.links.load(Ordering::SeqCst) == BOTH
    }

    /// Measures the line to the peer, on the link.
    pub(crate) fn measure(&self) -> Result<LineView, ServiceError> {
        let conflict = |what: String| ServiceError::new(ErrorKind::Conflict, what);
        if !self.is_linked() {
            return Err(conflict("the peer is not connected; `cenote doctor` says more".into()));
        }
        match self.line.ask(MEASURE, || self.changed()) {
            Some(found) => found.map_err(|what| conflict(format!("{what}; try again in a moment"))),
            None => Err(conflict("the line was not measured in time; look at it".into())),
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

    /// Waits as a backoff says before something is tried again with the peer; half a second at most once it `is_new`, which another connection that went well
    /// says: four that each wait for themselves would be there one after the other, up to half a minute apart.
    pub(crate) fn rest(&self, purpose: &str, backoff: &mut Backoff, is_new: impl Fn() -> bool) {
        let limit = backoff.next();
        let begins = Instant::now();
        while begins.elapsed() < limit && !self.way.is_over() {
            let waited = begins.elapsed();
            // Two sides that wait at random would keep missing each other: a call that nobody takes ends after 20 s, and no wait is above 30 s.
            let called = waited >= limit / 6 && self.way.is_called(purpose);
            if waited >= LEAST_REST && (called || is_new()) {
                break;
            }
            std::thread::sleep(limit.saturating_sub(waited).min(Duration::from_millis(50)));
        }
        if is_new() {
            backoff.soon();
        }
    }
}

fn unavailable(error: AuditError) -> ServiceError {
    ServiceError::new(ErrorKind::Unavailable, error.to_string())
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
