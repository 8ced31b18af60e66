//! A lane: one session with the peer after the other, in which jobs run, from items that are kept on disk.
//!
//! Small and large jobs have a lane each, with a pool of its own, so that a small one never waits for a large one to end. In each the garbler leads: it
//! says which jobs come next, out of those that both have agreed to: as many small ones in one run as wait, a large one alone. Both
//! write down that the jobs run, and spend a use of their approvals for each, and wait for their disks at the same time; then each says
//! which it goes on with, before the first byte of them. A session that ends with a fault fails the jobs that ran, and another one begins.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use cenote_engine::{
    Evidence, Fault, HeldMemory, MOST_POOLS, ModuleJob, ModuleJobs, NamedMemories, Outcome, Role,
    Session, has_bound_left, memory_uses,
};
use cenote_job::json;
use cenote_net::{Channels, Handshake, Tag};
use cenote_pool::{DiskStore, Store as _, StoreKey};
use cenote_program::Module;

use super::connect::Backoff;
use super::messages::{
    GO, MAX_ORDER, MAX_VERDICTS, ORDER, Order, REFUSED, REPLY, Refusal, Verdict, Verdicts,
};
use super::rotation;
use super::watched::{Seen, Watched};
use crate::course::{Begun, Started, told};
use crate::histogram::Histogram;
use crate::inner::{Inner, lock};
use crate::model::{JobCost, LaneView, MemoryView};
use crate::registry::hex;

/// Ready triples between two steps of filling.
const STEP: usize = 1 << 15;
/// How long nothing happens before what was made is saved.
const REST: Duration = Duration::from_secs(2);
/// How long a side waits for the peer at a time.
const WAIT: Duration = Duration::from_secs(5);
/// How long a follower waits for orders; the leader's machine says all the while that it is there.
const PATIENCE: Duration = Duration::from_secs(365 * 86_400);
/// How long the peer may be silent.
pub(crate) const SILENT: Duration = Duration::from_secs(20);

/// What is known of a lane, for its owner.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneState {
    pub(crate) state: &'static str,
    reason: Option<String>,
    ready: u64,
    done: u64,
    /// Bytes of the session that is open, or was last; and of those before.
    bytes: [u64; 2],
    earlier: [u64; 2],
    /// How long jobs took that ended well.
    seconds: Histogram,
    /// The jobs that began last in this session.
    jobs: Vec<String>,
    /// Those of them that run.
    running: Vec<String>,
    /// The session was cut for a job that its owner took back.
    cut: bool,
    /// Whether the log has it as ready; none before it has said anything.
    logged: Option<bool>,
    /// What this session holds for later jobs.
    memories: NamedMemories,
    /// What the session before held at its end.
    left: NamedMemories,
}

impl LaneState {
    /// Bytes sent and received in all sessions since the service started: a session counts its own from 0.
    fn all_bytes(&self) -> [u64; 2] {
        let [sent, received] = self.earlier;
        [sent.saturating_add(self.bytes[0]), received.saturating_add(self.bytes[1])]
    }
}

/// One of both lanes.
pub(crate) struct Lane {
    pub(crate) small: bool,
    pub(crate) seen: Seen,
    pub(crate) state: std::sync::Mutex<LaneState>,
    /// Proof that the peer has cheated, once there is any.
    found: std::sync::Mutex<Option<Evidence>>,
}

impl Lane {
    pub(crate) fn new(small: bool) -> Lane {
        let state = LaneState { state: "waiting", ..LaneState::default() };
        let found = std::sync::Mutex::default();
        Lane { small, seen: Seen::default(), state: std::sync::Mutex::new(state), found }
    }

    pub(crate) const fn name(&self) -> &'static str {
        if self.small { "small" } else { "large" }
    }

    /// What its connections are for.
    pub(crate) fn purpose(&self) -> String {
        format!("lane.{}", self.name())
    }

    /// Proof that the peer has cheated, once there is any.
    pub(crate) fn found(&self) -> MutexGuard<'_, Option<Evidence>> {
        lock(&self.found)
    }

    /// Whether no session of it is open, nor will be before the peer is let in again.
    pub(crate) fn rests(&self) -> bool {
        let state = lock(&self.state);
        matches!(state.state, "held" | "stopped")
    }

    /// The jobs that began last in this session.
    pub(crate) fn last_jobs(&self) -> Vec<String> {
        lock(&self.state).jobs.clone()
    }

    /// Ends the session in which this job runs, if one does; and no other, for none begins meanwhile.
    pub(crate) fn cut(&self, job: &str, end: impl FnOnce()) {
        self.set(|now| {
            if now.running.iter().any(|one| one == job) {
                now.cut = true;
                end();
            }
        });
    }

    /// Whether this session was cut.
    pub(crate) fn is_cut(&self) -> bool {
        lock(&self.state).cut
    }

    /// Another session opens.
    pub(crate) fn opens(&self) {
        self.set(|now| {
            now.earlier = now.all_bytes();
            now.bytes = [0; 2];
            now.jobs.clear();
            now.running.clear();
            now.cut = false;
        });
    }

    /// What its session holds for later jobs.
    pub(crate) fn memories(&self) -> NamedMemories {
        lock(&self.state).memories.clone()
    }

    /// What its session holds under this name.
    pub(crate) fn held(&self, name: &str) -> Option<HeldMemory> {
        lock(&self.state).memories.list().find(|memory| memory.name == name).cloned()
    }

    /// Whether jobs run in it now.
    pub(crate) fn is_ready(&self) -> bool {
        lock(&self.state).state == "ready"
    }

    /// Its session is over: what that held may go on in the next one.
    fn closes(&self) {
        let mut now = lock(&self.state);
        let held = std::mem::take(&mut now.memories);
        if held != NamedMemories::default() {
            now.left = held;
        }
    }

    /// Another session goes on with these; the others ended with the one before.
    fn goes_on(&self, found: &NamedMemories) {
        let left = std::mem::take(&mut lock(&self.state).left);
        for memory in left.list().filter(|left| found.list().all(|found| found != *left)) {
            let (name, jobs) = (&memory.name, memory.version);
            tracing::warn!(memory = name, jobs, "a memory ended with its session");
        }
    }

    /// Says in the log that jobs run in it now, or why not: once for each change.
    fn logs(&self, why_not: Option<&str>) {
        let is_ready = Some(why_not.is_none());
        if std::mem::replace(&mut lock(&self.state).logged, is_ready) == is_ready {
            return;
        }
        match why_not {
            None => tracing::info!(lane = self.name(), "the lane is ready"),
            Some(why) => tracing::info!(lane = self.name(), why, "the lane is not ready"),
        }
    }

    /// No job runs in it any more.
    pub(crate) fn runs_nothing(&self) {
        self.set(|now| now.running.clear());
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut LaneState)) {
        change(&mut lock(&self.state));
    }

    /// A job that was submitted so long ago ended well.
    pub(crate) fn took(&self, seconds: f64) {
        self.set(|now| now.seconds.put(seconds));
    }

    /// How long jobs took that ended well.
    pub(crate) fn seconds(&self) -> Histogram {
        lock(&self.state).seconds.clone()
    }

    /// As its owner sees it.
    pub(crate) fn view(&self, level: usize) -> LaneView {
        let now = lock(&self.state).clone();
        let bytes = now.all_bytes();
        LaneView {
            name: self.name().to_owned(),
            state: now.state.to_owned(),
            reason: now.reason,
            ready: now.ready,
            level: level as u64,
            done: now.done,
            bytes,
            pools: self.seen.ledger().pools,
            memories: now.memories.list().map(MemoryView::from).collect(),
        }
    }
}

/// The store of a lane.
pub(crate) fn store(inner: &Inner, lane: &Lane) -> Result<DiskStore, Fault> {
    let config = &inner.config;
    let (dir, key) = config.store_files(lane.name());
    let all = dir.parent().unwrap_or(&dir);
    std::fs::create_dir_all(all)
        .map_err(|error| Fault::Storage(format!("{}: {error}", all.display())))?;
    let makes = config.keys_beside_stores() && !dir.exists() && !key.exists();
    let key = if makes { StoreKey::create(&key) } else { config.store_key(lane.name()) };
    let store = key.and_then(|key| DiskStore::open(&dir, &key));
    let store = store.map_err(|failure| Fault::Storage(failure.to_string()))?;
    if store.restored() {
        let lane = lane.name();
        tracing::warn!(
            lane,
            "its store was copied, changed or put back: what was ready is destroyed and made again"
        );
    }
    Ok(store)
}

/// The store of a lane if there is one yet, looked at; while `Inner::opening` is held.
fn kept(inner: &Inner, lane: &Lane) -> Result<Option<Watched>, Fault> {
    let (dir, _) = inner.config.store_files(lane.name());
    let is_there = dir.try_exists();
    if !is_there.map_err(|error| Fault::Storage(format!("{}: {error}", dir.display())))? {
        return Ok(None);
    }
    store(inner, lane).map(|store| Some(Watched::new(store, lane.seen.clone())))
}

/// Whether the store of a lane, if there is one yet, says that a check has failed. One that cannot be read says nothing; it opens no session.
pub(crate) fn is_held_on_disk(inner: &Inner, lane: &Lane) -> bool {
    let _opening = lock(&inner.opening);
    if let Err(fault) = kept(inner, lane) {
        tracing::error!(lane = lane.name(), %fault, "its store cannot be opened");
    }
    lane.seen.ledger().held
}

/// The pools that were begun in a lane, for the bound of both; all that there may be, if its store is there and could not be read.
fn begun(inner: &Inner, lane: &Lane) -> u64 {
    if !lane.seen.is_known()
        && let Err(fault) = kept(inner, lane)
        && !lane.seen.is_known()
    {
        tracing::error!(lane = lane.name(), %fault, "its pools are not known: the other lane begins none");
        return MOST_POOLS;
    }
    lane.seen.ledger().pools
}

/// Destroys what is ready in a lane, its keys first, while `Inner::opening` is held. How many pools were begun stays known.
fn end(inner: &Inner, lane: &Lane) -> Result<(), Fault> {
    let ended = kept(inner, lane)?.map_or(Ok(()), |mut store| store.end(false));
    ended.map_err(|failure| Fault::Storage(failure.to_string()))
}

/// Lets sessions of a lane open again, in which everything is made anew.
pub(crate) fn release(inner: &Inner, lane: &Lane) -> Result<(), Fault> {
    let _opening = lock(&inner.opening);
    end(inner, lane)?;
    let mut store = store(inner, lane)?;
    store.release().map_err(|failure| Fault::Storage(failure.to_string()))?;
    drop(Watched::new(store, lane.seen.clone()));
    Ok(())
}

/// A hold, as a lane goes through it.
#[derive(Default)]
struct Hold {
    /// What was ready is destroyed.
    ended: bool,
    /// When that is tried again.
    again: Option<Instant>,
}

impl Hold {
    /// Destroys what is ready, once: whoever cheated in one lane knows what was sent in the other.
    fn stands(&mut self, inner: &Inner, lane: &Lane) {
        if !self.ended && self.again.is_none_or(|at| Instant::now() >= at) {
            let opening = lock(&inner.opening);
            let ended = end(inner, lane);
            drop(opening);
            match ended {
                Ok(()) => self.ended = true,
                Err(fault) => {
                    tracing::error!(lane = lane.name(), %fault, "what is ready cannot be destroyed");
                    self.again = Some(Instant::now() + AGAIN);
                }
            }
        }
        lane.set(|now| {
            (now.state, now.reason) = ("held", Some(HELD.into()));
            if self.ended {
                now.ready = 0;
            }
        });
    }
}

/// Keeps a session open and runs jobs in it until the service stops.
pub(crate) fn run(inner: &Arc<Inner>, lane: &Lane) {
    let (mut backoff, mut hold) = (Backoff::new(), Hold::default());
    while !inner.way.is_over() {
        if inner.is_held() {
            hold.stands(inner, lane);
            inner.pause(Duration::from_secs(1));
            continue;
        }
        hold = Hold::default();
        lane.opens();
        // A peer that has started again may have been told something else. Not another lane's session: two that break off would wake each other.
        let met = inner.meetings.load(Ordering::SeqCst);
        let is_new = || inner.meetings.load(Ordering::SeqCst) != met;
        // A defect ends a session, not the service.
        let served = catch_unwind(AssertUnwindSafe(|| serve(inner, lane, &mut backoff)));
        let ended = served.unwrap_or_else(|_| Err(Fault::Internal("a lane panicked".into())));
        lane.closes();
        // Whatever the session ended with: what the store says was found first.
        if lane.seen.ledger().held || matches!(ended, Err(Fault::Misbehaved(_))) {
            inner.hold(lane, &ended.as_ref().err().map_or_else(|| HELD.into(), Fault::to_string));
        }
        match ended {
            Ok(()) if inner.is_stopping() => break,
            Ok(()) => {
                lane.set(|now| (now.state, now.reason) = ("waiting", Some(ENDED.into())));
                lane.logs(Some(ENDED));
                inner.changed();
                inner.rest(&lane.purpose(), &mut backoff, is_new);
            }
            Err(fault) => {
                inner.fail_left(lane, &fault);
                no_session(inner, lane, &fault, &mut backoff);
                if !inner.is_held() {
                    inner.rest(&lane.purpose(), &mut backoff, is_new);
                }
            }
        }
    }
    lane.set(|now| now.state = "stopped");
}

/// Says why there is no session.
fn no_session(inner: &Inner, lane: &Lane, fault: &Fault, backoff: &mut Backoff) {
    let (name, held) = (lane.name(), inner.is_held());
    let calm = matches!(fault, Fault::Transport(_) | Fault::PeerAborted);
    let refused = matches!(fault, Fault::Policy(_)) && !held;
    let calls = inner.config.peer.connect.is_some();
    // What is refused stays so until an owner has changed something: that is said once, and stays the reason while nobody calls.
    let quiet = calm || (refused && !backoff.refuse(fault, calls));
    let (state, reason) = match backoff.refused() {
        Some(reason) if calm => ("failed", reason.to_owned()),
        _ => (if calm { "waiting" } else { "failed" }, told(&fault.to_string()).to_owned()),
    };
    if !inner.way.is_over() {
        lane.logs(Some(&reason));
    }
    lane.set(|now| (now.state, now.reason) = (state, Some(reason)));
    if quiet || held {
        tracing::debug!(lane = name, %fault, "no session");
    } else if refused {
        tracing::error!(lane = name, %fault, "refused: no job runs before an owner has changed that");
    } else {
        tracing::error!(lane = name, %fault, "no session");
    }
}

const ENDED: &str = "the session ended in order; the next one opens";
/// Between two tries to destroy what is ready.
const AGAIN: Duration = Duration::from_secs(30);
const HELD: &str = "a check failed: the peer, or somebody in its place, cheated; after `cenote peer lift` sessions open again";

fn serve(inner: &Arc<Inner>, lane: &Lane, backoff: &mut Backoff) -> Result<(), Fault> {
    let breaks = inner.breaks.load(Ordering::SeqCst);
    let mut session = open(inner, lane)?;
    inner.sessions.fetch_add(1, Ordering::SeqCst);
    lane.goes_on(session.memories());
    look(lane, &mut session);
    let ended = work(inner, lane, &mut session, backoff, breaks);
    look(lane, &mut session);
    ended?;
    session.put_away()
}

/// All that happens in a session, whatever it ends with.
fn work(
    inner: &Inner,
    lane: &Lane,
    session: &mut Session,
    backoff: &mut Backoff,
    breaks: u64,
) -> Result<(), Fault> {
    fill(inner, lane, session)?;
    backoff.reset();
    lane.set(|now| (now.state, now.reason) = ("ready", None));
    lane.logs(None);
    inner.changed();
    match session.role() {
        Role::Garbler => lead(inner, lane, session, breaks),
        Role::Evaluator => follow(inner, lane, session),
    }
}

fn open(inner: &Arc<Inner>, lane: &Lane) -> Result<Session, Fault> {
    let purpose = lane.purpose();
    let mut control = inner.way.channel(&purpose, WAIT)?;
    if inner.is_held() {
        // It may have been too late to be cut with the others.
        return Err(Fault::Policy(HELD.into()));
    }
    control.set_idle_limit(SILENT);
    control.set_work_limit(PATIENCE);
    let way = Arc::clone(&inner.way);
    let channels = Channels::new(control, move |number| {
        way.channel(&format!("{purpose}.{number}"), cenote_job::policy::DATA_CHANNEL_COMES)
    });
    let level = inner.level(lane);
    let config = inner.config.pool.backend.lasting().for_ands(level as u64);
    let facts = |all: Handshake| {
        let all = all.field("for", format!("service, {} jobs", lane.name()));
        all.field("level", level.to_string())
            .remedy("level", "give [pool] the same numbers on both sides")
            .field("small_ands", inner.config.jobs.small_ands.to_string())
            .remedy("small_ands", "give [jobs] the same number on both sides")
    };
    let opening = lock(&inner.opening);
    rotation::claim(&inner.config.dir.join("stores"), lane.name(), &inner.peer_name(), || {
        tracing::warn!(
            lane = lane.name(),
            "the peer has another certificate: the pools are made again"
        );
        end(inner, lane)
    })?;
    let others: Vec<&Lane> = inner.lanes.iter().filter(|one| one.name() != lane.name()).collect();
    let seen = others.iter().map(|other| other.seen.clone()).collect();
    let store = Watched::new(store(inner, lane)?, lane.seen.clone()).beside(seen);
    // The lanes have a pool each, of one relation.
    let pools = others.into_iter().map(|other| begun(inner, other));
    has_bound_left(store.ledger(), pools.fold(store.ledger().pools, u64::saturating_add))?;
    drop(opening);
    let mut session =
        Session::open_kept(channels, inner.config.peer.role, &config, facts, Box::new(store))?;
    let live = Arc::new(AtomicBool::new(false));
    session.set_journal(Box::new(inner.journal(lane, &live)?))?;
    live.store(true, Ordering::SeqCst);
    session.set_threads(inner.config.pool.threads)?;
    Ok(session)
}

/// Makes what is to be ready, in steps that are seen; from then on it is made beside jobs, from the low mark to that.
fn fill(inner: &Inner, lane: &Lane, session: &mut Session) -> Result<(), Fault> {
    let level = inner.level(lane);
    lane.set(|now| (now.state, now.reason) = ("filling", None));
    // A pool counts for the relation: none is begun for what is there.
    if lacks(inner, lane, session) {
        session.fill()?;
    }
    for step in (STEP..level + STEP).step_by(STEP) {
        session.stock(step.min(level))?;
        look(lane, session);
    }
    session.save()?;
    session.keep(inner.config.pool.low_mark(level), level)
}

fn look(lane: &Lane, session: &mut Session) {
    let ready = session.ready().map_or(0, |all| all.level);
    if let Some(found) = session.evidence() {
        // It stays, whatever becomes of the session.
        *lane.found() = Some(found);
    }
    let traffic = session.counters().total();
    lane.set(|now| {
        now.ready = ready;
        now.bytes = [traffic.bytes_sent, traffic.bytes_received];
        now.memories = session.memories().clone();
    });
}

/// Whether less is ready than is to be.
fn lacks(inner: &Inner, lane: &Lane, session: &Session) -> bool {
    session.ready().is_none_or(|all| all.level < inner.level(lane) as u64)
}

fn made(session: &Session) -> u64 {
    session.ready().map_or(0, |all| all.made)
}

/// The garbler's side: says what comes next, until the service stops or the link has broken more often than these `breaks`. Then the
/// peer may be away, or another process: a job that begins in its session would fail, so the session ends first.
fn lead(inner: &Inner, lane: &Lane, session: &mut Session, breaks: u64) -> Result<(), Fault> {
    let mut saved = made(session);
    // A save writes all that is ready anew: for memories, it is to take a tenth of the time at most.
    let (mut took, mut last) = (Duration::ZERO, Instant::now());
    let mut seen = 0;
    let mut rests = Instant::now();
    loop {
        if inner.is_held() {
            // What waits for a job does not read, and would not see that its channel was cut.
            return Err(Fault::Policy(HELD.into()));
        }
        if lane.is_cut() {
            // Its last run had just ended.
            return Err(Fault::Transport("the session was cut".into()));
        }
        let broken = inner.breaks.load(Ordering::SeqCst) != breaks;
        if broken || inner.is_stopping() || inner.peer_is_stopping() {
            return send(session, &Order::End);
        }
        if let Some(name) = inner.next_ending(lane, session.memories()) {
            send(session, &Order::EndMemory(name.clone()))?;
            end_memory(inner, lane, session, &name)?;
            saved = made(session);
            continue;
        }
        match inner.next_jobs(lane) {
            jobs if !jobs.is_empty() => {
                lead_jobs(inner, lane, session, &jobs)?;
                rests = Instant::now();
            }
            // Another job would make what was saved of memories out of date at once.
            _ if (session.has_unsaved_memories() && last.elapsed() >= 10 * took)
                || (rests.elapsed() >= REST && made(session) != saved) =>
            {
                let begins = Instant::now();
                send(session, &Order::Save)?;
                session.save()?;
                saved = made(session);
                (took, last) = (begins.elapsed(), Instant::now());
            }
            _ if session.has_unsaved_memories() => seen = inner.wait_change(seen, took),
            _ => seen = inner.wait_change(seen, REST),
        }
        look(lane, session);
    }
}

fn lead_jobs(
    inner: &Inner,
    lane: &Lane,
    session: &mut Session,
    ids: &[String],
) -> Result<(), Fault> {
    let (mut started, mut waits) = (Vec::new(), false);
    for id in ids {
        match inner.start_job(id, lane) {
            Ok(job) => started.push(job),
            Err(why) => {
                // It has ended, or waits on, as the others do then, for what may take a moment.
                tracing::info!(job = id, lane = lane.name(), why = why.reason(), "does not run");
                waits = why == Refusal::Unavailable;
                if waits {
                    break;
                }
            }
        }
    }
    if started.is_empty() {
        if waits {
            inner.pause(REST);
        }
        return Ok(());
    }
    let ids = started.iter().map(|job| id_bytes(&job.id)).collect::<Result<Vec<_>, Fault>>()?;
    let jobs = ids.len();
    send(session, &Order::Run(ids))?;
    let (begun, own) = begin(inner, lane, started.into_iter().map(Ok).collect())?;
    let theirs = received(session, REPLY, MAX_VERDICTS, |bytes| Verdicts::decode(bytes, jobs))?;
    session.between(|channel| channel.send(GO, &own.encode()))?;
    compute(inner, lane, session, begun, &theirs)
}

/// The evaluator's side: does what comes next, if its owner permits.
fn follow(inner: &Inner, lane: &Lane, session: &mut Session) -> Result<(), Fault> {
    loop {
        inner.forget_ended(lane, session.memories());
        match received(session, ORDER, MAX_ORDER, |bytes| ordered(inner, lane, bytes))? {
            Order::End => return Ok(()),
            Order::Save => session.save()?,
            Order::Run(ids) => follow_jobs(inner, lane, session, &ids)?,
            Order::EndMemory(name) => end_memory(inner, lane, session, &name)?,
        }
        look(lane, session);
    }
}

/// An order that an honest leader may give.
fn ordered(inner: &Inner, lane: &Lane, bytes: &[u8]) -> Result<Order, Fault> {
    let order = Order::decode(bytes)?;
    match &order {
        Order::Run(ids) if !inner.go_together(ids, lane) => Err(REFUSED),
        Order::EndMemory(name) if lane.held(name).is_none() => Err(REFUSED),
        _ => Ok(order),
    }
}

/// A memory ends on this side, as on the peer's. Those that go on are saved at once: what was saved before goes no further.
fn end_memory(inner: &Inner, lane: &Lane, session: &mut Session, name: &str) -> Result<(), Fault> {
    let memory = session.end_memory(name)?;
    look(lane, session);
    let noted = inner.note_end(&memory).map_err(|error| Fault::Storage(error.to_string()));
    let saved = noted.and_then(|()| session.save());
    inner.has_ended(name);
    saved
}

fn follow_jobs(
    inner: &Inner,
    lane: &Lane,
    session: &mut Session,
    ids: &[[u8; 16]],
) -> Result<(), Fault> {
    let started = ids.iter().map(|id| inner.start_job(&hex(id), lane));
    let (begun, own) = begin(inner, lane, started.collect())?;
    session.between(|channel| channel.send(REPLY, &own.encode()))?;
    let jobs = ids.len();
    let theirs = received(session, GO, MAX_VERDICTS, |bytes| Verdicts::decode(bytes, jobs))?;
    compute(inner, lane, session, begun, &theirs)
}

/// Jobs begin on this side; and what it says of them.
pub(crate) fn begin(
    inner: &Inner,
    lane: &Lane,
    started: Vec<Result<Started, Refusal>>,
) -> Result<(Vec<Option<Begun>>, Verdicts), Fault> {
    let mut begun = inner.begin(started)?;
    let ids = |begun: &[Result<Begun, Refusal>]| -> Vec<String> {
        begun.iter().flatten().map(|job| job.id.clone()).collect()
    };
    lane.set(|now| now.running = ids(&begun));
    // Whoever takes one back from now on finds it among those that run.
    for job in &mut begun {
        if job.as_ref().is_ok_and(|job| inner.is_taken_back(&job.id)) {
            *job = Err(Refusal::Over);
        }
    }
    lane.set(|now| {
        now.running = ids(&begun);
        now.jobs.clone_from(&now.running);
    });
    let verdict = |job: &Result<Begun, Refusal>| match job {
        Ok(_) => Verdict::Accepted,
        Err(why) => Verdict::Refused(*why),
    };
    let verdicts = Verdicts { all: begun.iter().map(verdict).collect(), head: inner.audit.head() };
    Ok((begun.into_iter().map(Result::ok).collect(), verdicts))
}

/// The jobs that both go on with.
pub(crate) fn agreed(inner: &Inner, begun: Vec<Option<Begun>>, theirs: &Verdicts) -> Vec<Begun> {
    inner.heard_head(theirs.head);
    let mut jobs = Vec::new();
    for (job, verdict) in begun.into_iter().zip(&theirs.all) {
        match (job, verdict) {
            (Some(job), Verdict::Accepted) => jobs.push(job),
            (Some(job), Verdict::Refused(why)) => inner.refused_by_peer(&job, *why),
            (None, _) => {}
        }
    }
    jobs
}

/// Runs the jobs that both have begun, in one run.
fn compute(
    inner: &Inner,
    lane: &Lane,
    session: &mut Session,
    begun: Vec<Option<Begun>>,
    theirs: &Verdicts,
) -> Result<(), Fault> {
    let jobs = agreed(inner, begun, theirs);
    if jobs.is_empty() {
        lane.runs_nothing();
        return Ok(());
    }
    let (begins, role) = (Instant::now(), session.role());
    let runs = jobs.iter().map(|job| {
        let run = ModuleJob::new(&job.program.module, role, job.own.clone())?;
        Ok(run.at(inner.config.pool.backend.rho()).of_ands(job.program.ands))
    });
    let runs = runs.collect::<Result<Vec<_>, Fault>>()?;
    let before = session.memories().clone();
    let outcome = session.run(&ModuleJobs::new(runs))?;
    lane.runs_nothing();
    let seconds = begins.elapsed().as_secs_f64();
    for (place, job) in jobs.iter().enumerate() {
        let named = json::outputs(&job.program.module, &outcome.output[place]);
        let received = outcome.output[place].iter().any(Option::is_some);
        let result = received.then_some(serde_json::Value::Object(named));
        let cost = share(&outcome, &jobs, place, seconds);
        inner.done(job, result, &cost, theirs.head, &found(&before, &job.program.module));
    }
    lane.set(|now| now.done += jobs.len() as u64);
    inner.changed();
    Ok(())
}

/// What a job found in each of its memories: how many jobs had left something, and which was the last.
fn found(before: &NamedMemories, module: &Module) -> BTreeMap<String, String> {
    let found = |name: &str| match before.list().find(|memory| memory.name == name) {
        Some(memory) => format!("version {} of {}", memory.version, hex(&memory.job_id)),
        None => "new".to_owned(),
    };
    let uses = memory_uses(module).into_iter();
    uses.map(|memory| (memory.name.clone(), found(&memory.name))).collect()
}

/// What one of the jobs of a run took: of what all took the share of its ANDs, and all of the time.
fn share<T>(outcome: &Outcome<T>, jobs: &[Begun], place: usize, seconds: f64) -> JobCost {
    let (total, ands) = (outcome.cost.total(), jobs[place].program.ands);
    let all: u64 = jobs.iter().map(|job| job.program.ands + 1).sum();
    let of = |bytes: u64| (u128::from(bytes) * u128::from(ands + 1) / u128::from(all)) as u64;
    JobCost {
        ands,
        bytes_sent: of(total.bytes_sent),
        bytes_received: of(total.bytes_received),
        seconds,
    }
}

fn send(session: &mut Session, order: &Order) -> Result<(), Fault> {
    session.between(|channel| channel.send(ORDER, &order.encode()))
}

/// A message of the peer's; one that cannot be decoded is a failed check of the session.
fn received<T>(
    session: &mut Session,
    tag: Tag,
    most: usize,
    decode: impl FnOnce(&[u8]) -> Result<T, Fault>,
) -> Result<T, Fault> {
    session.between(|channel| decode(&channel.recv_bounded(tag, most)?))
}

fn id_bytes(id: &str) -> Result<[u8; 16], Fault> {
    u128::from_str_radix(id, 16)
        .map(u128::to_be_bytes)
        .map_err(|_| Fault::Internal("the id of a job".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_earlier_sessions_stay_counted() {
        let lane = Lane::new(true);
        let mut before = [0; 2];
        for bytes in [[70, 30], [5, 9], [0, 0]] {
            lane.opens();
            assert_eq!(lane.view(0).bytes, before);
            lane.set(|now| now.bytes = bytes);
            before = [before[0] + bytes[0], before[1] + bytes[1]];
            assert_eq!(lane.view(0).bytes, before);
        }
        assert_eq!(before, [75, 39]);
    }
}
