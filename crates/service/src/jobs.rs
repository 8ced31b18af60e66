//! Where jobs stand, in the database: each change of state is one transaction, and the only one that leads there.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::db::{Db, failed, now};
use crate::error::{ErrorKind, ServiceError};
use crate::model::{JobCost, JobFilter, JobState, JobView, Millis, NewJob, Origin};
use crate::quota;

/// Jobs that a list shows at most.
const MOST_LISTED: u32 = 1000;
/// Ended jobs without a result are forgotten after as long, in milliseconds: 90 days.
const FORGET_AFTER: Millis = 90 * 86_400_000;
/// Jobs of the peer's that never began, after 10 minutes: whoever offers and takes back fills no disk.
const FORGET_UNBEGUN_AFTER: Millis = 600_000;

/// The time for which cut sessions count, in milliseconds.
const DAY: Millis = 86_400_000;

/// What both services know of a job.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Offer {
    /// 32 hexadecimal digits.
    pub(crate) id: String,
    /// Digest of the program.
    pub(crate) program: String,
    /// Public parameters.
    pub(crate) select: BTreeMap<String, String>,
    pub(crate) priority: i32,
    /// Milliseconds that are left to begin it.
    pub(crate) within: Option<u64>,
}

impl Offer {
    /// Bytes in a message, at most about.
    pub(crate) fn bytes(&self) -> usize {
        // Characters may be escaped to twice as many, and a job has some 200 bytes besides.
        let select = self.select.iter().map(|(name, value)| 2 * (name.len() + value.len()) + 6);
        200 + select.sum::<usize>()
    }
}

/// A job as the service needs it to run it.
pub(crate) struct Stored {
    pub(crate) origin: Origin,
    pub(crate) state: JobState,
    pub(crate) small: bool,
    pub(crate) approval: i64,
    pub(crate) offer: Offer,
    pub(crate) inputs: BTreeMap<String, Value>,
    /// Name of the token that asked for it; empty for the peer and for the own process.
    pub(crate) submitter: String,
}

/// A job with an idempotency key.
pub(crate) struct Keyed {
    pub(crate) id: String,
    pub(crate) job: Stored,
    pub(crate) asked: Option<[u8; 32]>,
}

/// A job that ended well.
pub(crate) struct Ended {
    /// Its lane.
    pub(crate) small: bool,
    /// From the time when it came.
    pub(crate) seconds: f64,
}

/// From where a job may end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// The peer has not answered.
    Unanswered,
    /// It has not begun.
    Waiting,
    /// It runs.
    Running,
}

impl Stage {
    const fn states(self) -> &'static str {
        match self {
            Stage::Unanswered => "'submitted'",
            Stage::Waiting => "'submitted', 'queued'",
            Stage::Running => "'running'",
        }
    }
}

impl Stored {
    /// As it was submitted.
    pub(crate) fn new_job(&self) -> NewJob {
        NewJob {
            program: self.offer.program.clone(),
            inputs: self.inputs.clone(),
            select: self.offer.select.clone(),
            ..NewJob::default()
        }
    }
}

/// What is written of a job when it comes.
pub(crate) struct Arrival<'a> {
    pub(crate) offer: &'a Offer,
    pub(crate) origin: Origin,
    pub(crate) state: JobState,
    pub(crate) approval: i64,
    pub(crate) small: bool,
    pub(crate) submitter: &'a str,
    pub(crate) ands: u64,
    pub(crate) inputs: &'a BTreeMap<String, Value>,
    pub(crate) idempotency_key: Option<&'a str>,
    /// The digest of its inputs, where it has an idempotency key: they are forgotten when it ends.
    pub(crate) asked: Option<[u8; 32]>,
    pub(crate) keep_s: u64,
}

/// Writes down a job that came.
pub(crate) fn put(db: &Connection, job: &Arrival<'_>) -> Result<(), ServiceError> {
    let text = |error: serde_json::Error| ServiceError::invalid(error.to_string());
    let within =
        job.offer.within.map(|ms| now().saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)));
    let put = "INSERT INTO job (id, origin, program, lane, priority, state, approval, offer, inputs, idempotency_key, submitted_at, deadline_at, keep_ms, submitter, ands, asked)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
    let row = params![
        job.offer.id,
        origin_name(job.origin),
        job.offer.program,
        lane(job.small),
        job.offer.priority,
        job.state.name(),
        job.approval,
        serde_json::to_string(job.offer).map_err(text)?,
        serde_json::to_string(job.inputs).map_err(text)?,
        job.idempotency_key,
        now(),
        within,
        i64::try_from(job.keep_s.saturating_mul(1000)).unwrap_or(i64::MAX / 2),
        job.submitter,
        whole(job.ands),
        job.asked
    ];
    db.prepare_cached(put).and_then(|mut put| put.execute(row)).map(drop).map_err(failed)
}

/// A number as the database has it.
pub(crate) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

const fn lane(small: bool) -> &'static str {
    if small { "small" } else { "large" }
}

pub(crate) const fn origin_name(origin: Origin) -> &'static str {
    match origin {
        Origin::Own => "own",
        Origin::Peer => "peer",
    }
}

/// The job with this key, if there is one, and what is left of its inputs; none of one that an earlier release took.
pub(crate) fn with_key(db: &Connection, key: &str) -> Result<Option<Keyed>, ServiceError> {
    let find = "SELECT id, asked FROM job WHERE idempotency_key = ?1";
    let row = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get(1)?));
    let found = db.query_row(find, [key], row).optional().map_err(failed)?;
    let Some((id, asked)) = found else { return Ok(None) };
    let missing = || ServiceError::new(ErrorKind::Internal, format!("job {id} is gone"));
    let job = stored(db, &id)?.ok_or_else(missing)?;
    Ok(Some(Keyed { id, job, asked }))
}

/// How many of the own owner wait.
pub(crate) fn waiting(db: &Connection) -> Result<u64, ServiceError> {
    count(db, "SELECT COUNT(*) FROM job WHERE state IN ('submitted', 'queued') AND origin = 'own'")
}

/// How many of the peer's have not begun: they wait, or have ended and are not forgotten yet.
pub(crate) fn unbegun_of_peer(db: &Connection) -> Result<u64, ServiceError> {
    count(db, "SELECT COUNT(*) FROM job WHERE origin = 'peer' AND started_at IS NULL")
}

fn count(db: &Connection, sql: &str) -> Result<u64, ServiceError> {
    let count =
        db.prepare_cached(sql).and_then(|mut all| all.query_row([], |row| row.get::<_, i64>(0)));
    count.map(i64::unsigned_abs).map_err(failed)
}

/// Jobs by state.
pub(crate) fn counts(db: &Db) -> Result<BTreeMap<String, u64>, ServiceError> {
    let rows = db.with(|db| {
        let mut all = db.prepare_cached("SELECT state, COUNT(*) FROM job GROUP BY state")?;
        let rows =
            all.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    })?;
    let mut counts: BTreeMap<String, u64> =
        JobState::ALL.iter().map(|state| (state.name().to_owned(), 0)).collect();
    counts.extend(rows.into_iter().map(|(state, count)| (state, count.unsigned_abs())));
    Ok(counts)
}

/// The job with this id.
pub(crate) fn stored(db: &Connection, id: &str) -> Result<Option<Stored>, ServiceError> {
    let find =
        "SELECT origin, state, lane, approval, offer, inputs, submitter FROM job WHERE id = ?1";
    let row = |row: &Row<'_>| {
        let words: [String; 5] = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(4)?, row.get(6)?];
        Ok((words, row.get(3)?, row.get::<_, Option<String>>(5)?))
    };
    let found = db.prepare_cached(find).and_then(|mut one| one.query_row([id], row).optional());
    let Some(([origin, state, on, offer, submitter], approval, inputs)) = found.map_err(failed)?
    else {
        return Ok(None);
    };
    let broken = |what: String| ServiceError::new(ErrorKind::Internal, format!("job {id}: {what}"));
    Ok(Some(Stored {
        origin: if origin == "own" { Origin::Own } else { Origin::Peer },
        state: JobState::named(&state).ok_or_else(|| broken(format!("state {state}")))?,
        small: on == lane(true),
        approval,
        offer: serde_json::from_str(&offer).map_err(|error| broken(error.to_string()))?,
        inputs: match inputs {
            Some(text) => serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?,
            None => BTreeMap::new(),
        },
        submitter,
    }))
}

/// A job that waits for its turn.
struct Waits {
    priority: i32,
    number: i64,
    /// Its id and the digest of its program.
    job: [String; 2],
}

/// The next jobs of a lane, at most so many, with the digests of their programs: each owner's with the highest priority first, then the oldest.
pub(crate) fn next(db: &Db, small: bool, most: usize) -> Result<Vec<[String; 2]>, ServiceError> {
    let find = "SELECT id, program, priority, number FROM job WHERE state = 'queued' AND lane = ?1 AND origin = ?2
        AND (deadline_at IS NULL OR deadline_at > ?3) ORDER BY priority DESC, number LIMIT ?4";
    db.with(|db| {
        let mut find = db.prepare_cached(find)?;
        let mut of = |origin: Origin| {
            let which = params![lane(small), origin_name(origin), now(), most as i64];
            let rows = find.query_map(which, |row| {
                let job = [row.get(0)?, row.get(1)?];
                Ok(Waits { priority: row.get(2)?, number: row.get(3)?, job })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let (own, peers) = (of(Origin::Own)?, of(Origin::Peer)?);
        Ok(by_turns(own, peers).take(most).collect())
    })
}

/// Both owners' jobs, each in their order. Whatever the peer calls urgent goes before its other jobs alone: beside the own ones it has priority 0 at most.
fn by_turns(own: Vec<Waits>, peers: Vec<Waits>) -> impl Iterator<Item = [String; 2]> {
    let (mut own, mut peers) = (own.into_iter().peekable(), peers.into_iter().peekable());
    std::iter::from_fn(move || {
        let is_own = match (own.peek(), peers.peek()) {
            (Some(own), Some(peers)) => {
                let rank = |priority, waits: &Waits| (Reverse(priority), waits.number);
                rank(own.priority, own) < rank(peers.priority.min(0), peers)
            }
            (own, _) => own.is_some(),
        };
        let next = if is_own { own.next() } else { peers.next() };
        next.map(|waits| waits.job)
    })
}

/// Jobs of a lane that run.
pub(crate) fn running_in(db: &Db, small: bool) -> Result<Vec<String>, ServiceError> {
    db.with(|db| {
        let mut all =
            db.prepare_cached("SELECT id FROM job WHERE state = 'running' AND lane = ?1")?;
        let rows = all.query_map([lane(small)], |row| row.get(0))?;
        rows.collect()
    })
}

/// Own jobs that the peer has not answered, oldest first.
pub(crate) fn unanswered(db: &Db, most: usize) -> Result<Vec<Offer>, ServiceError> {
    open_offers(db, "state = 'submitted' AND origin = 'own'", most)
}

/// Which of the peer's open jobs are not open here any more: it waits for them in vain.
pub(crate) fn gone(db: &Db, named: &[String]) -> Result<Vec<String>, ServiceError> {
    db.with(|db| {
        let known = "SELECT 1 FROM job WHERE id = ?1 AND origin = 'peer' AND state IN ('queued', 'running')";
        let mut known = db.prepare_cached(known)?;
        let mut gone = Vec::new();
        for id in named {
            if !known.exists([id])? {
                gone.push(id.clone());
            }
        }
        Ok(gone)
    })
}

/// All own jobs that have not begun, for a peer that comes back.
pub(crate) fn own_open(db: &Db) -> Result<Vec<String>, ServiceError> {
    db.with(|db| {
        let all = "SELECT id FROM job WHERE origin = 'own' AND state IN ('submitted', 'queued') ORDER BY number";
        let mut all = db.prepare_cached(all)?;
        let rows = all.query_map([], |row| row.get(0))?;
        rows.collect()
    })
}

/// Jobs of the peer's that wait and that it does not want any more: it named all that it still does.
pub(crate) fn drop_unnamed(db: &Db, named: &[String]) -> Result<u64, ServiceError> {
    db.change(|db| {
        let all = "SELECT id FROM job WHERE origin = 'peer' AND state = 'queued'";
        let waiting = db.prepare_cached(all).and_then(|mut all| {
            let rows = all.query_map([], |row| row.get::<_, String>(0))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        });
        let named: std::collections::HashSet<&String> = named.iter().collect();
        let mut dropped = 0;
        for id in waiting.map_err(failed)?.iter().filter(|id| !named.contains(id)) {
            dropped += u64::from(cancel(db, id, "the peer does not want it any more")?);
        }
        Ok(dropped)
    })
}

fn open_offers(db: &Db, which: &str, most: usize) -> Result<Vec<Offer>, ServiceError> {
    let rows = db.with(|db| {
        let all =
            format!("SELECT offer, deadline_at FROM job WHERE {which} ORDER BY number LIMIT ?1");
        let mut all = db.prepare_cached(&all)?;
        let rows = all.query_map([most as i64], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, Option<i64>>(1)?))
        })?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    })?;
    let offer = |(text, deadline): (String, Option<i64>)| {
        let mut offer: Offer = serde_json::from_str(&text)
            .map_err(|error| ServiceError::new(ErrorKind::Internal, error.to_string()))?;
        offer.within = deadline.map(|at| at.saturating_sub(now()).max(0).unsigned_abs());
        Ok(offer)
    };
    rows.into_iter().map(offer).collect()
}

/// The peer agreed to a job that waits for that.
pub(crate) fn agreed(db: &Connection, id: &str) -> Result<bool, ServiceError> {
    let put = "UPDATE job SET state = 'queued' WHERE id = ?1 AND state = 'submitted'";
    changed(db, put, params![id])
}

/// The peer agreed to a job and does not know it any more: it is offered again.
pub(crate) fn offer_again(db: &Connection, id: &str) -> Result<bool, ServiceError> {
    let put =
        "UPDATE job SET state = 'submitted' WHERE id = ?1 AND state = 'queued' AND origin = 'own'";
    changed(db, put, params![id])
}

/// A job begins: from now on outputs may be opened.
pub(crate) fn running(db: &Connection, id: &str) -> Result<bool, ServiceError> {
    let put = "UPDATE job SET state = 'running', started_at = ?2
        WHERE id = ?1 AND state IN ('submitted', 'queued') AND (deadline_at IS NULL OR deadline_at > ?2)";
    changed(db, put, params![id, now()])
}

/// Notes how many lines of the audit log are on the disk.
pub(crate) fn note_logged(db: &Connection, lines: u64) -> Result<(), ServiceError> {
    let put = "INSERT OR REPLACE INTO flag (name, value) VALUES ('logged', ?1)";
    let put = db.prepare_cached(put).and_then(|mut put| put.execute([lines.to_string()]));
    put.map(drop).map_err(failed)
}

/// As many lines of the audit log as were on the disk for certain; all of them where that was never noted.
pub(crate) fn logged(db: &Connection) -> Result<u64, ServiceError> {
    let find = "SELECT value FROM flag WHERE name = 'logged'";
    let found = db.query_row(find, [], |row| row.get::<_, String>(0)).optional().map_err(failed)?;
    Ok(found.and_then(|lines| lines.parse().ok()).unwrap_or(u64::MAX))
}

/// A job ends; false when it was not where it may end so. Its inputs are forgotten.
pub(crate) fn end(
    db: &Connection,
    id: &str,
    from: Stage,
    state: JobState,
    reason: &str,
) -> Result<bool, ServiceError> {
    let put = format!(
        "UPDATE job SET state = ?2, reason = ?3, ended_at = ?4, inputs = NULL WHERE id = ?1 AND state IN ({})",
        from.states()
    );
    changed(db, &put, params![id, state.name(), reason, now()])
}

/// A job that waits is taken back.
pub(crate) fn cancel(db: &Connection, id: &str, reason: &str) -> Result<bool, ServiceError> {
    end(db, id, Stage::Waiting, JobState::Cancelled, reason)
}

/// A job that runs is taken back: whatever its run gives is not kept.
pub(crate) fn interrupt(db: &Connection, id: &str, reason: &str) -> Result<bool, ServiceError> {
    end(db, id, Stage::Running, JobState::Cancelled, reason)
}

/// Whether a job is in this state.
pub(crate) fn is(db: &Connection, id: &str, state: JobState) -> Result<bool, ServiceError> {
    let find = "SELECT 1 FROM job WHERE id = ?1 AND state = ?2";
    let found = db.prepare_cached(find).and_then(|mut one| one.exists(params![id, state.name()]));
    found.map_err(failed)
}

/// Notes that a session is cut for a job, unless that was done so often within a day; whether it is.
pub(crate) fn may_cut(db: &Connection, most: u64) -> Result<bool, ServiceError> {
    let forget = "DELETE FROM cut WHERE at <= ?1";
    db.execute(forget, [now().saturating_sub(DAY)]).map_err(failed)?;
    if count(db, "SELECT COUNT(*) FROM cut")? >= most {
        return Ok(false);
    }
    db.execute("INSERT INTO cut (at) VALUES (?1)", [now()]).map(|_| true).map_err(failed)
}

/// A job ends well; none when it did not run.
pub(crate) fn done(
    db: &Connection,
    id: &str,
    result: Option<&Value>,
    cost: &JobCost,
) -> Result<Option<Ended>, ServiceError> {
    let text = |error: serde_json::Error| ServiceError::invalid(error.to_string());
    let result = result.map(serde_json::to_string).transpose().map_err(text)?;
    let cost = serde_json::to_string(cost).map_err(text)?;
    let put = "UPDATE job SET state = 'done', ended_at = ?2, inputs = NULL, result = ?3, cost = ?4,
        result_until = CASE WHEN ?3 IS NULL THEN NULL ELSE ?2 + keep_ms END WHERE id = ?1 AND state = 'running'
        RETURNING lane, ended_at - submitted_at";
    let ended = |row: &Row<'_>| {
        let on: String = row.get(0)?;
        Ok(Ended { small: on == lane(true), seconds: row.get::<_, Millis>(1)? as f64 / 1000.0 })
    };
    let row = params![id, now(), result, cost];
    let put = db.prepare_cached(put).and_then(|mut put| put.query_row(row, ended).optional());
    put.map_err(failed)
}

/// What time does: jobs whose deadline passed expire, results and old jobs are forgotten.
pub(crate) fn tidy(db: &Db) -> Result<u64, ServiceError> {
    db.change_soon(|db| {
        let steps = [
            "UPDATE job SET state = 'expired', reason = 'its deadline passed before it began', ended_at = ?1, inputs = NULL
                WHERE state IN ('submitted', 'queued') AND deadline_at <= ?1",
            "UPDATE job SET result = NULL WHERE result_until <= ?1 AND result IS NOT NULL",
        ];
        let mut changed = 0;
        for step in steps {
            let mut step = db.prepare_cached(step).map_err(failed)?;
            changed += step.execute([now()]).map_err(failed)? as u64;
        }
        let forget = [
            ("DELETE FROM job WHERE ended_at <= ?1 AND result IS NULL", FORGET_AFTER),
            (
                "DELETE FROM job WHERE ended_at <= ?1 AND origin = 'peer' AND started_at IS NULL",
                FORGET_UNBEGUN_AFTER,
            ),
        ];
        for (forget, after) in forget {
            let mut forget = db.prepare_cached(forget).map_err(failed)?;
            forget.execute([now().saturating_sub(after)]).map_err(failed)?;
        }
        quota::tidy(db, now())?;
        Ok(changed)
    })
}

/// Why a job failed that a stop or a crash cut.
pub(crate) const STOPPED: &str = "the service stopped while it ran; submit it again";

/// Jobs that ran when the service stopped have failed: they are never resumed on the same randomness.
pub(crate) fn fail_running(db: &Db) -> Result<Vec<String>, ServiceError> {
    db.change(|db| {
        let all =
            db.prepare_cached("SELECT id FROM job WHERE state = 'running'").and_then(|mut all| {
                let rows = all.query_map([], |row| row.get::<_, String>(0))?;
                rows.collect::<rusqlite::Result<Vec<_>>>()
            });
        let all = all.map_err(failed)?;
        for id in &all {
            end(db, id, Stage::Running, JobState::Failed, STOPPED)?;
        }
        Ok(all)
    })
}

fn changed(db: &Connection, sql: &str, row: impl rusqlite::Params) -> Result<bool, ServiceError> {
    let rows = db.prepare_cached(sql).and_then(|mut put| put.execute(row));
    rows.map(|rows| rows > 0).map_err(failed)
}

const VIEW: &str = "SELECT job.id, origin, COALESCE(program.name, ''), job.program, state, reason, offer, submitted_at, started_at, ended_at,
    deadline_at, result, result_until, cost FROM job LEFT JOIN program ON program.digest = job.program";

/// One job as its owner sees it.
pub(crate) fn view(db: &Db, id: &str) -> Result<JobView, ServiceError> {
    let find = format!("{VIEW} WHERE job.id = ?1");
    let found = db.with(|db| db.prepare_cached(&find)?.query_row([id], shown).optional())?;
    found.ok_or_else(|| ServiceError::not_found(format!("there is no job {id}")))
}

/// Jobs, newest first.
pub(crate) fn list(db: &Db, filter: &JobFilter) -> Result<Vec<JobView>, ServiceError> {
    let limit = filter.limit.unwrap_or(100).min(MOST_LISTED);
    let state = filter.state.map(JobState::name);
    let find = format!(
        "{VIEW} WHERE (?1 IS NULL OR state = ?1) AND (?2 IS NULL OR number < (SELECT number FROM job WHERE id = ?2)) ORDER BY number DESC LIMIT ?3"
    );
    db.with(|db| {
        let mut find = db.prepare_cached(&find)?;
        let rows = find.query_map(params![state, filter.before, limit], shown)?;
        rows.collect()
    })
}

fn shown(row: &Row<'_>) -> rusqlite::Result<JobView> {
    let json = |column: usize| -> rusqlite::Result<Option<Value>> {
        let text: Option<String> = row.get(column)?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    };
    let offer: Offer = serde_json::from_value(json(6)?.unwrap_or_default()).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(6, rusqlite::types::Type::Text, Box::new(error))
    })?;
    Ok(JobView {
        id: row.get(0)?,
        origin: if row.get::<_, String>(1)? == "own" { Origin::Own } else { Origin::Peer },
        program: row.get(2)?,
        digest: row.get(3)?,
        state: JobState::named(&row.get::<_, String>(4)?).unwrap_or(JobState::Failed),
        reason: row.get(5)?,
        select: offer.select,
        priority: offer.priority,
        submitted_at: row.get(7)?,
        started_at: row.get(8)?,
        ended_at: row.get(9)?,
        deadline_at: row.get(10)?,
        result: json(11)?,
        result_until: row.get(12)?,
        cost: json(13)?.and_then(|cost| serde_json::from_value(cost).ok()),
    })
}
