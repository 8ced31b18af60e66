//! A lane: one session with the peer after the other, in which jobs run one after the other, from items that are kept on disk.
//!
//! Small and large jobs have a lane each, with a pool of its own, so that a small one never waits for a large one to end. In each the garbler leads: it
//! says which job comes next, out of those that both have agreed to, and the follower looks once more whether it goes on. Both
//! write down that the job runs, and spend a use of their approvals, before the first byte of it: the follower before it replies, the leader
//! before it begins. A session that ends with a fault fails the job that ran, and another one begins.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cenote_engine::backends::wrk::supply::TRIPLES;
use cenote_engine::{Fault, MOST_POOLS, ModuleJob, Role, Session, SessionConfig};
use cenote_job::json;
use cenote_net::{Channels, Handshake, Tag};
use cenote_pool::{DiskStore, StoreKey};

use super::connect::Backoff;
use super::messages::{ORDER, ORDER_LEN, Order, REPLY, REPLY_LEN, Refusal, Reply, Verdict};
use super::rotation;
use super::watched::{Seen, Watched};
use crate::audit::Head;
use crate::course::Begun;
use crate::inner::{Inner, lock};
use crate::model::{JobCost, LaneView};

/// Items of a pool.
const CONFIG: &str = "wrk:pool=480000";
/// Ready triples between two steps of filling.
const STEP: usize = 1 << 15;
/// How long nothing happens before what was made is saved.
const REST: Duration = Duration::from_secs(2);
/// How long a side waits for the peer at a time.
const WAIT: Duration = Duration::from_secs(5);
/// How long a follower waits for orders; the leader's machine says all the while that it is there.
const PATIENCE: Duration = Duration::from_secs(365 * 86_400);
/// How long the peer may be silent.
const SILENT: Duration = Duration::from_secs(20);

/// What is known of a lane, for its owner.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneState {
    pub(crate) state: &'static str,
    reason: Option<String>,
    ready: u64,
    done: u64,
    bytes: [u64; 2],
    epsilon_log2: Option<f64>,
}

/// One of both lanes.
pub(crate) struct Lane {
    pub(crate) small: bool,
    pub(crate) seen: Seen,
    pub(crate) state: std::sync::Mutex<LaneState>,
}

impl Lane {
    pub(crate) fn new(small: bool) -> Lane {
        let state = LaneState { state: "waiting", ..LaneState::default() };
        Lane { small, seen: Seen::default(), state: std::sync::Mutex::new(state) }
    }

    pub(crate) const fn name(&self) -> &'static str {
        if self.small { "small" } else { "large" }
    }

    /// Whether no session of it is open, nor will be before the peer is let in again.
    pub(crate) fn rests(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        matches!(state.state, "held" | "stopped")
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut LaneState)) {
        change(&mut self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }

    /// As its owner sees it.
    pub(crate) fn view(&self, level: usize) -> LaneView {
        let now = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let ledger = self.seen.ledger();
        LaneView {
            name: self.name().to_owned(),
            state: now.state.to_owned(),
            reason: now.reason,
            ready: now.ready,
            level: level as u64,
            done: now.done,
            bytes: now.bytes,
            pools: [ledger.pools, MOST_POOLS],
            epsilon_log2: now.epsilon_log2,
        }
    }
}

/// The store of a lane.
pub(crate) fn store(inner: &Inner, lane: &Lane) -> Result<DiskStore, Fault> {
    let dir = inner.config.dir.join("stores");
    std::fs::create_dir_all(&dir)
        .map_err(|error| Fault::Storage(format!("{}: {error}", dir.display())))?;
    let (dir, key) = (dir.join(lane.name()), dir.join(format!("{}.key", lane.name())));
    let known = dir.exists() || key.exists();
    let key = if known { StoreKey::load(&key) } else { StoreKey::create(&key) };
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

/// Whether the store of a lane, if there is one yet, says that a check has failed.
pub(crate) fn is_held_on_disk(inner: &Inner, lane: &Lane) -> bool {
    if !inner.config.dir.join("stores").join(lane.name()).exists() {
        return false;
    }
    match store(inner, lane) {
        Ok(store) => {
            drop(Watched::new(store, lane.seen.clone()));
            lane.seen.ledger().held
        }
        Err(fault) => {
            tracing::error!(lane = lane.name(), %fault, "its store cannot be opened");
            false
        }
    }
}

/// Lets sessions of a lane open again.
pub(crate) fn release(inner: &Inner, lane: &Lane) -> Result<(), Fault> {
    let mut store = store(inner, lane)?;
    store.release().map_err(|failure| Fault::Storage(failure.to_string()))
}

/// Keeps a session open and runs jobs in it until the service stops.
pub(crate) fn run(inner: &Arc<Inner>, lane: &Lane) {
    let mut backoff = Backoff::new();
    while !inner.way.is_over() {
        if inner.is_held() {
            lane.set(|now| (now.state, now.reason) = ("held", Some(HELD.into())));
            inner.pause(Duration::from_secs(1));
            continue;
        }
        // A defect ends a session, not the service.
        let served = catch_unwind(AssertUnwindSafe(|| serve(inner, lane, &mut backoff)));
        let ended = served.unwrap_or_else(|_| Err(Fault::Internal("a lane panicked".into())));
        // Whatever the session ended with: what the store says was found first.
        if lane.seen.ledger().held || matches!(ended, Err(Fault::Misbehaved(_))) {
            inner.hold(&ended.as_ref().err().map_or_else(|| HELD.to_owned(), Fault::to_string));
        }
        match ended {
            Ok(()) if inner.is_stopping() => break,
            Ok(()) => inner.pause(backoff.next()),
            Err(fault) => {
                inner.fail_left(lane, &fault);
                let calm = matches!(fault, Fault::Transport(_) | Fault::PeerAborted);
                let state = if calm { "waiting" } else { "failed" };
                lane.set(|now| (now.state, now.reason) = (state, Some(fault.to_string())));
                if calm {
                    tracing::debug!(lane = lane.name(), %fault, "no session");
                } else {
                    tracing::error!(lane = lane.name(), %fault, "no session");
                }
                if !inner.is_held() {
                    inner.pause(backoff.next());
                }
            }
        }
    }
    lane.set(|now| now.state = "stopped");
}

const HELD: &str = "a check failed: the peer, or somebody in its place, cheated; after `cenote peer lift` sessions open again";

fn serve(inner: &Arc<Inner>, lane: &Lane, backoff: &mut Backoff) -> Result<(), Fault> {
    let breaks = inner.breaks.load(Ordering::SeqCst);
    let mut session = open(inner, lane)?;
    fill(inner, lane, &mut session)?;
    backoff.reset();
    lane.set(|now| (now.state, now.reason) = ("ready", None));
    inner.changed();
    let ended = match session.role() {
        Role::Garbler => lead(inner, lane, &mut session, breaks),
        Role::Evaluator => follow(inner, lane, &mut session),
    };
    ended?;
    session.put_away()
}

fn open(inner: &Arc<Inner>, lane: &Lane) -> Result<Session, Fault> {
    let purpose = format!("lane.{}", lane.name());
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
    let config: SessionConfig = CONFIG.parse()?;
    let level = inner.level(lane);
    let config = config.lasting().for_ands(level as u64);
    let facts = |all: Handshake| {
        let all = all.field("for", format!("service, {} jobs", lane.name()));
        all.field("level", level.to_string())
            .remedy("level", "give [pool] the same numbers on both sides")
            .field("small_ands", inner.config.jobs.small_ands.to_string())
            .remedy("small_ands", "give [jobs] the same number on both sides")
    };
    rotation::claim(&inner.config.dir.join("stores"), lane.name(), &inner.peer_name())?;
    let store = Watched::new(store(inner, lane)?, lane.seen.clone());
    let mut session =
        Session::open_kept(channels, inner.config.peer.role, &config, facts, Box::new(store))?;
    let live = Arc::new(AtomicBool::new(false));
    session.set_journal(Box::new(inner.journal(lane, &live)?))?;
    live.store(true, Ordering::SeqCst);
    session.set_threads(inner.config.pool.threads)?;
    Ok(session)
}

/// Makes what is to be ready, in steps that are seen; from then on it is made beside jobs.
fn fill(inner: &Inner, lane: &Lane, session: &mut Session) -> Result<(), Fault> {
    let level = inner.level(lane);
    lane.set(|now| (now.state, now.reason) = ("filling", None));
    // A pool counts for the relation: none is begun for what is there.
    if (triples(session).0 as usize) < level {
        session.fill()?;
    }
    for step in (STEP..level + STEP).step_by(STEP) {
        session.stock(step.min(level))?;
        look(lane, session);
    }
    session.save()?;
    session.keep(level)?;
    let claims = session.claims();
    lane.set(|now| now.epsilon_log2 = claims.promise.adaptive_epsilon_log2);
    Ok(())
}

fn look(lane: &Lane, session: &mut Session) {
    let ready = triples(session).0;
    let traffic = session.counters().total();
    lane.set(|now| {
        now.ready = ready;
        now.bytes = [traffic.bytes_sent, traffic.bytes_received];
    });
}

/// Ready triples, and those that were made.
fn triples(session: &Session) -> (u64, u64) {
    let stores = session.occupancy().map(|all| all.stores).unwrap_or_default();
    let level = stores.into_iter().find(|level| level.name == TRIPLES);
    level.map_or((0, 0), |level| (level.level, level.made))
}

/// The garbler's side: says what comes next, until the service stops or the link has broken more often than these `breaks`. Then the
/// peer may be away, or another process: a job that begins in its session would fail, so the session ends first.
fn lead(inner: &Inner, lane: &Lane, session: &mut Session, breaks: u64) -> Result<(), Fault> {
    let mut saved = triples(session).1;
    let mut seen = 0;
    let mut rests = Instant::now();
    loop {
        if inner.is_held() {
            // What waits for a job does not read, and would not see that its channel was cut.
            return Err(Fault::Policy(HELD.into()));
        }
        let broken = inner.breaks.load(Ordering::SeqCst) != breaks;
        if broken || inner.is_stopping() || inner.peer_is_stopping() {
            return send(session, Order::End);
        }
        match inner.next_job(lane) {
            Some(id) => {
                lead_job(inner, lane, session, &id)?;
                rests = Instant::now();
            }
            None if rests.elapsed() >= REST && triples(session).1 != saved => {
                send(session, Order::Save)?;
                session.save()?;
                saved = triples(session).1;
            }
            None => seen = inner.wait_change(seen, REST),
        }
        look(lane, session);
    }
}

fn lead_job(inner: &Inner, lane: &Lane, session: &mut Session, id: &str) -> Result<(), Fault> {
    let heard = *lock(&inner.peer_head);
    let job = match inner.take_turn(id, lane, heard) {
        Ok(job) => job,
        Err(why) => {
            // It has ended, or waits on for what may take a moment.
            tracing::info!(job = id, lane = lane.name(), why = why.reason(), "does not run");
            if why == Refusal::Unavailable {
                inner.pause(REST);
            }
            return Ok(());
        }
    };
    let ordered = id_bytes(id).and_then(|number| {
        send(session, Order::Run(number, inner.audit.head()))?;
        received::<_, REPLY_LEN>(session, REPLY, Reply::decode)
    });
    match ordered {
        Ok(Reply { verdict: Verdict::Accepted, head }) => {
            compute(inner, lane, session, id, &job, head)
        }
        Ok(Reply { verdict: Verdict::Refused(why), .. }) => {
            inner.refused_by_peer(id, &job, why);
            Ok(())
        }
        Err(fault) => {
            inner.failed(id, &fault);
            Err(fault)
        }
    }
}

/// The evaluator's side: does what comes next, if its owner permits.
fn follow(inner: &Inner, lane: &Lane, session: &mut Session) -> Result<(), Fault> {
    loop {
        match received::<_, ORDER_LEN>(session, ORDER, Order::decode)? {
            Order::End => return Ok(()),
            Order::Save => session.save()?,
            Order::Run(id, head) => {
                follow_job(inner, lane, session, &crate::registry::hex(&id), head)?;
            }
        }
        look(lane, session);
    }
}

fn follow_job(
    inner: &Inner,
    lane: &Lane,
    session: &mut Session,
    id: &str,
    head: Head,
) -> Result<(), Fault> {
    let begun = inner.take_turn(id, lane, Some(head));
    let verdict = match &begun {
        Ok(_) => Verdict::Accepted,
        Err(refusal) => Verdict::Refused(*refusal),
    };
    let reply = Reply { verdict, head: inner.audit.head() };
    let sent = session.between(|channel| channel.send(REPLY, &reply.encode()));
    match (sent, begun) {
        (Ok(()), Ok(job)) => compute(inner, lane, session, id, &job, head),
        (Ok(()), Err(_)) => Ok(()),
        (Err(fault), begun) => {
            if begun.is_ok() {
                inner.failed(id, &fault);
            }
            Err(fault)
        }
    }
}

/// Runs a job that both have begun.
fn compute(
    inner: &Inner,
    lane: &Lane,
    session: &mut Session,
    id: &str,
    job: &Begun,
    head: Head,
) -> Result<(), Fault> {
    let started = Instant::now();
    let ran = ModuleJob::new(&job.program.module, session.role(), job.own.clone())
        .and_then(|ready| session.run(&ready.of_ands(job.program.ands)));
    match ran {
        Ok(outcome) => {
            let total = outcome.cost.total();
            let cost = JobCost {
                ands: job.program.ands,
                bytes_sent: total.bytes_sent,
                bytes_received: total.bytes_received,
                seconds: started.elapsed().as_secs_f64(),
            };
            let named = json::outputs(&job.program.module, &outcome.output);
            let received = outcome.output.iter().any(Option::is_some);
            let result = received.then_some(serde_json::Value::Object(named));
            lane.set(|now| now.done += 1);
            inner.done(id, job, result, &cost, head);
            Ok(())
        }
        Err(fault) => {
            inner.failed(id, &fault);
            Err(fault)
        }
    }
}

fn send(session: &mut Session, order: Order) -> Result<(), Fault> {
    session.between(|channel| channel.send(ORDER, &order.encode()))
}

/// A message of the peer's; one that cannot be decoded is a failed check of the session.
fn received<T, const N: usize>(
    session: &mut Session,
    tag: Tag,
    decode: impl FnOnce(&[u8; N]) -> Result<T, Fault>,
) -> Result<T, Fault> {
    session.between(|channel| {
        let mut bytes = [0; N];
        channel.recv_into(tag, &mut bytes)?;
        decode(&bytes)
    })
}

fn id_bytes(id: &str) -> Result<[u8; 16], Fault> {
    u128::from_str_radix(id, 16)
        .map(u128::to_be_bytes)
        .map_err(|_| Fault::Internal("the id of a job".into()))
}
