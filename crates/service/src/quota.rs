//! What whoever asks for jobs may take: so many that wait, and so many jobs and ANDs in a period. Each token has a quota, and the peer has one.
//!
//! It is looked at when a job comes, with those that wait counted as if they had run, and again when it begins; what begins is counted whatever becomes
//! of it, on disk in the transaction in which it begins, and so over restarts. Periods are counted in whole minutes, by this machine's clock.

use rusqlite::{Connection, params};

use crate::config::{MAX_PERIOD_S, Quota};
use crate::db::failed;
use crate::error::{ErrorKind, ServiceError};
use crate::jobs::{origin_name, whole};
use crate::model::{Millis, Origin};

const MINUTE: i64 = 60_000;

/// Who asks for a job: a token of the own owner's, or the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Who<'a> {
    pub(crate) origin: Origin,
    /// Name of the token; empty for the peer and the own process.
    pub(crate) submitter: &'a str,
}

/// What of a quota is used up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Used {
    Waiting,
    Jobs,
    Ands,
}

impl Used {
    /// For the own owner.
    pub(crate) fn error(self, who: Who<'_>, quota: &Quota) -> ServiceError {
        let whose = match who.origin {
            Origin::Own => format!("`{}`", who.submitter),
            Origin::Peer => "the peer".to_owned(),
        };
        let (most, what) = match self {
            Used::Waiting => (quota.most_waiting, "jobs that wait".to_owned()),
            Used::Jobs => (quota.jobs, format!("jobs in {} s", quota.period_s)),
            Used::Ands => (quota.ands, format!("ANDs in {} s", quota.period_s)),
        };
        let most = most.unwrap_or_default();
        let what = format!("the quota of {whose} is used up: {most} {what} (`[quota]`)");
        ServiceError::new(ErrorKind::Quota, what)
    }
}

impl Who<'_> {
    fn key(self) -> String {
        format!("{}:{}", origin_name(self.origin), self.submitter)
    }

    /// Jobs that wait, and their ANDs.
    fn waiting(self, db: &Connection) -> rusqlite::Result<(u64, u64)> {
        let all = "SELECT COUNT(*), TOTAL(ands) FROM job
            WHERE origin = ?1 AND submitter = ?2 AND state IN ('submitted', 'queued')";
        db.prepare_cached(all)?.query_row(params![origin_name(self.origin), self.submitter], sums)
    }

    /// Jobs that began in the last period, and their ANDs.
    fn drawn(self, db: &Connection, period_s: u64, at: Millis) -> rusqlite::Result<(u64, u64)> {
        let all = "SELECT TOTAL(jobs), TOTAL(ands) FROM drawn WHERE who = ?1 AND minute >= ?2";
        let since = at.saturating_sub(whole(period_s.saturating_mul(1000))) / MINUTE;
        db.prepare_cached(all)?.query_row(params![self.key(), since], sums)
    }
}

/// Two sums, which do not overflow in the database.
fn sums(row: &rusqlite::Row<'_>) -> rusqlite::Result<(u64, u64)> {
    let [jobs, ands] = [row.get::<_, f64>(0)?, row.get::<_, f64>(1)?];
    Ok((jobs as u64, ands as u64))
}

/// Whether one job more of so many ANDs may come; if not, what is used up.
pub(crate) fn may_come(
    db: &Connection,
    who: Who<'_>,
    quota: &Quota,
    ands: u64,
    at: Millis,
) -> Result<Option<Used>, ServiceError> {
    if quota.is_none() {
        return Ok(None);
    }
    let (waits, of_those) = who.waiting(db).map_err(failed)?;
    if quota.most_waiting.is_some_and(|most| waits >= most) {
        return Ok(Some(Used::Waiting));
    }
    let (jobs, drawn) = who.drawn(db, quota.period_s, at).map_err(failed)?;
    Ok(above(quota, waits.saturating_add(jobs), of_those.saturating_add(drawn), ands))
}

/// Counts a job that begins, unless its quota is used up by those that began before; if so, what is.
pub(crate) fn begin(
    db: &Connection,
    who: Who<'_>,
    quota: &Quota,
    ands: u64,
    at: Millis,
) -> Result<Option<Used>, ServiceError> {
    if !quota.is_none() {
        let (jobs, drawn) = who.drawn(db, quota.period_s, at).map_err(failed)?;
        if let Some(used) = above(quota, jobs, drawn, ands) {
            return Ok(Some(used));
        }
    }
    let add = "INSERT INTO drawn (who, minute, jobs, ands) VALUES (?1, ?2, 1, ?3)
        ON CONFLICT DO UPDATE SET jobs = jobs + 1, ands = MIN(ands + excluded.ands, 1 << 60)";
    let row = params![who.key(), at / MINUTE, whole(ands).min(1 << 60)];
    db.prepare_cached(add).and_then(|mut add| add.execute(row)).map_err(failed)?;
    Ok(None)
}

/// Takes a job that began a moment ago out of the count again.
pub(crate) fn give_back(
    db: &Connection,
    who: Who<'_>,
    ands: u64,
    at: Millis,
) -> Result<(), ServiceError> {
    let less = "UPDATE drawn SET jobs = MAX(jobs - 1, 0), ands = MAX(ands - ?3, 0)
        WHERE who = ?1 AND minute = (SELECT MAX(minute) FROM drawn WHERE who = ?1 AND minute <= ?2)";
    let row = params![who.key(), at / MINUTE, whole(ands).min(1 << 60)];
    let changed = db.prepare_cached(less).and_then(|mut less| less.execute(row));
    changed.map(drop).map_err(failed)
}

/// What one job more is above, beside so many jobs and ANDs.
fn above(quota: &Quota, jobs: u64, drawn: u64, ands: u64) -> Option<Used> {
    if quota.jobs.is_some_and(|most| jobs >= most) {
        return Some(Used::Jobs);
    }
    quota.ands.is_some_and(|most| drawn.saturating_add(ands) > most).then_some(Used::Ands)
}

/// Forgets what no quota counts any more.
pub(crate) fn tidy(db: &Connection, at: Millis) -> Result<(), ServiceError> {
    let forget = "DELETE FROM drawn WHERE minute < ?1";
    let since = at.saturating_sub(whole(MAX_PERIOD_S * 1000)) / MINUTE;
    db.prepare_cached(forget).and_then(|mut one| one.execute([since])).map(drop).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;

    const AT: Millis = 1_800_000_000_000;

    #[test]
    fn what_begins_counts_for_a_period_and_for_whoever_asked() {
        let dir = tempfile::tempdir().unwrap();
        let open = || Db::open(&dir.path().join("service.db")).unwrap();
        let quota = Quota { jobs: Some(3), ands: Some(100), period_s: 600, most_waiting: None };
        let begins = |db: &Db, who: Who<'_>, ands: u64, at: Millis| {
            db.change(|db| begin(db, who, &quota, ands, at)).unwrap()
        };
        let [ann, bob] = ["ann", "bob"].map(|submitter| Who { origin: Origin::Own, submitter });
        let peer = Who { origin: Origin::Peer, submitter: "ann" };
        let db = open();
        assert_eq!(begins(&db, ann, 101, AT), Some(Used::Ands));
        assert_eq!(begins(&db, ann, 60, AT), None);
        assert_eq!(begins(&db, ann, 41, AT), Some(Used::Ands));
        assert_eq!(begins(&db, ann, 40, AT), None);
        let may = |ands| db.change(|db| may_come(db, ann, &quota, ands, AT)).unwrap();
        assert_eq!([may(0), may(1)], [None, Some(Used::Ands)]);
        assert_eq!(begins(&db, ann, 0, AT), None);
        assert_eq!(begins(&db, ann, 0, AT), Some(Used::Jobs));
        // What the peer did not go on with does not count, and nothing else is given back.
        db.change(|db| give_back(db, ann, 40, AT + 60_000)).unwrap();
        assert_eq!(begins(&db, ann, 41, AT), Some(Used::Ands));
        assert_eq!(begins(&db, ann, 40, AT), None);
        assert_eq!(begins(&db, ann, 0, AT), Some(Used::Jobs));
        for other in [bob, peer] {
            assert_eq!(begins(&db, other, 100, AT), None);
            assert_eq!(begins(&db, other, 1, AT), Some(Used::Ands));
        }
        drop(db);
        let db = open();
        assert_eq!(begins(&db, bob, 1, AT + 590_000), Some(Used::Ands), "a restart gives back");
        assert_eq!(begins(&db, bob, 100, AT + 700_000), None);
        assert_eq!(begins(&db, ann, u64::MAX, AT + 700_000), Some(Used::Ands));
        // Sums do not overflow, and old ones go.
        for _ in 0..20 {
            let none = Quota::default();
            assert_eq!(db.change(|db| begin(db, ann, &none, u64::MAX, AT)).unwrap(), None);
        }
        assert_eq!(begins(&db, ann, 1, AT), Some(Used::Jobs));
        let count = "SELECT COUNT(*) FROM drawn";
        let left = || db.with(|db| db.query_row(count, [], |row| row.get::<_, i64>(0))).unwrap();
        assert!(left() > 0);
        db.change(|db| tidy(db, AT + 1000 * MAX_PERIOD_S as i64 + 1_000_000)).unwrap();
        assert_eq!(left(), 0);
    }
}
