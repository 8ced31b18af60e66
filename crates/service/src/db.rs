//! What the service remembers, in SQLite: jobs, programs, approvals, data sets. Not items of the pool, which have a store of their own.
//!
//! Every change is one transaction and on disk when the call returns: a use of an approval is spent before a
//! byte depends on it, and after a crash each job is in a state that is stated. SQLite itself waits for the disk at checkpoints alone (WAL,
//! `synchronous = NORMAL`); whoever changed something waits for the write-ahead log outside of the lock of the database, so that
//! many changes share one wait and readers have none ([`Db::settle`]).

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use rusqlite::{Connection, ErrorCode};

use crate::error::{ErrorKind, ServiceError};
use crate::model::Millis;

/// Version of the tables; another one is refused.
const VERSION: i64 = 4;

/// The tables of version 1.
const TABLES: &str = "
CREATE TABLE program (
    name TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, module BLOB NOT NULL, ands INTEGER NOT NULL, registered_at INTEGER NOT NULL
) STRICT;
CREATE TABLE approval (
    id INTEGER PRIMARY KEY, program TEXT NOT NULL, terms TEXT NOT NULL, signature BLOB NOT NULL, given_at INTEGER NOT NULL, withdrawn_at INTEGER,
    spent INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX approval_program ON approval (program);
CREATE TABLE used (approval INTEGER NOT NULL REFERENCES approval, at INTEGER NOT NULL) STRICT;
CREATE INDEX used_approval ON used (approval, at);
CREATE TABLE dataset (
    name TEXT PRIMARY KEY, path TEXT NOT NULL, digest TEXT NOT NULL, schema TEXT NOT NULL, rows INTEGER NOT NULL, bound_at INTEGER NOT NULL
) STRICT;
CREATE TABLE job (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, origin TEXT NOT NULL, program TEXT NOT NULL, lane TEXT NOT NULL, priority INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT,
    approval INTEGER NOT NULL, offer TEXT NOT NULL, inputs TEXT, idempotency_key TEXT UNIQUE, submitted_at INTEGER NOT NULL, started_at INTEGER,
    ended_at INTEGER, deadline_at INTEGER, keep_ms INTEGER NOT NULL, result TEXT, result_until INTEGER, cost TEXT
) STRICT;
CREATE INDEX job_next ON job (state, lane, priority DESC, number);
CREATE INDEX job_ended ON job (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX job_unbegun ON job (id) WHERE origin = 'peer' AND started_at IS NULL;
CREATE INDEX job_result ON job (result_until) WHERE result_until IS NOT NULL;
CREATE TABLE flag (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
";

/// What version 2 has beside them: who asked for a job and what that took, the input that is a program's smallest group, and sessions that were cut.
const SECOND: &str = "
ALTER TABLE program ADD COLUMN smallest_group TEXT;
ALTER TABLE job ADD COLUMN submitter TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN ands INTEGER NOT NULL DEFAULT 0;
CREATE INDEX job_waits ON job (origin, submitter, ands) WHERE state IN ('submitted', 'queued');
CREATE TABLE drawn (who TEXT NOT NULL, minute INTEGER NOT NULL, jobs INTEGER NOT NULL, ands INTEGER NOT NULL, PRIMARY KEY (who, minute)) STRICT, WITHOUT ROWID;
CREATE INDEX drawn_minute ON drawn (minute);
CREATE TABLE cut (at INTEGER NOT NULL) STRICT;
";

/// What version 3 has beside them: what a job with an idempotency key was asked for with, as a digest that the owner's key makes.
const THIRD: &str = "
ALTER TABLE job ADD COLUMN asked BLOB;
";

/// What version 4 has instead: each owner's jobs have an order of their own.
const FOURTH: &str = "
DROP INDEX job_next;
CREATE INDEX job_turn ON job (state, lane, origin, priority DESC, number);
";

/// The database of one service.
pub(crate) struct Db {
    connection: Mutex<Connection>,
    /// The write-ahead log, which stays the same file while the database is open.
    log: File,
    /// Changes that were committed, counted.
    committed: AtomicU64,
    /// Those of them that are on the disk; none any more once it failed.
    settled: Mutex<Result<u64, ServiceError>>,
    /// Bytes of the write-ahead log that are on the disk, for a simulation that takes the others away.
    #[cfg(test)]
    pub(crate) durable: AtomicU64,
}

impl Db {
    /// Opens or makes it.
    pub(crate) fn open(path: &Path) -> Result<Db, ServiceError> {
        let failed = |error: rusqlite::Error| {
            let path = path.display();
            let what = match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy) => format!(
                    "{path}: another process has it open; end that service first, one directory has one"
                ),
                _ => format!(
                    "{path}: {error}; is the disk full, read-only, or the file of another program?"
                ),
            };
            ServiceError::new(ErrorKind::Unavailable, what)
        };
        private(path)?;
        let db = Connection::open(path).map_err(failed)?;
        let set = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA locking_mode = EXCLUSIVE;";
        db.execute_batch(set).map_err(failed)?;
        let version: i64 =
            db.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
        match version {
            VERSION => {}
            before @ 0..VERSION => {
                let steps = [TABLES, SECOND, THIRD, FOURTH][before as usize..].concat();
                let make = format!("BEGIN; {steps} PRAGMA user_version = {VERSION}; COMMIT;");
                db.execute_batch(&make).map_err(failed)?;
            }
            other => {
                let what = format!(
                    "{}: tables of version {other}, this program has {VERSION}; start the release that made them",
                    path.display()
                );
                return Err(ServiceError::new(ErrorKind::Unavailable, what));
            }
        }
        db.set_prepared_statement_cache_capacity(64);
        // A write, so that the log is there.
        db.execute_batch(&format!("PRAGMA user_version = {VERSION}")).map_err(failed)?;
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let log = File::open(&log).map_err(|error| {
            let what = format!("{}: {error}", Path::new(&log).display());
            ServiceError::new(ErrorKind::Unavailable, what)
        })?;
        let (committed, settled) = (AtomicU64::new(0), Mutex::new(Ok(0)));
        Ok(Db {
            connection: Mutex::new(db),
            log,
            committed,
            settled,
            #[cfg(test)]
            durable: AtomicU64::new(0),
        })
    }

    /// Reads, or changes with one statement. What is read may not be on the disk yet: [`Db::settle`] before it is told.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ServiceError> {
        let db = self.lock();
        let before = db.total_changes();
        let value = work(&db).map_err(failed)?;
        if db.total_changes() == before {
            return Ok(value);
        }
        self.committed.fetch_add(1, Ordering::SeqCst);
        drop(db);
        self.settle().map(|()| value)
    }

    /// One transaction, on the disk when this returns; an error of `work` undoes it.
    pub(crate) fn change<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        let value = self.change_soon(work)?;
        self.settle().map(|()| value)
    }

    /// One transaction, on the disk after the next [`Db::settle`] of anybody; an error of `work` undoes it.
    pub(crate) fn change_soon<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        let mut db = self.lock();
        let all = db.transaction().map_err(failed)?;
        let value = work(&all)?;
        all.commit().map_err(failed)?;
        self.committed.fetch_add(1, Ordering::SeqCst);
        Ok(value)
    }

    /// Waits until everything that was committed is on the disk. Who comes while another one waits has the next wait in common with all others.
    pub(crate) fn settle(&self) -> Result<(), ServiceError> {
        let wanted = self.committed.load(Ordering::SeqCst);
        let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        if settled.clone()? >= wanted {
            return Ok(());
        }
        let now = self.committed.load(Ordering::SeqCst);
        *settled = self.log.sync_data().map(|()| now).map_err(|error| {
            // What is on the disk is not known any more, and a second try may say that all is well.
            let what =
                format!("the database: {error}; look at the disk and start the service again");
            ServiceError::new(ErrorKind::Unavailable, what)
        });
        #[cfg(test)]
        self.durable.store(self.log.metadata().map_or(0, |log| log.len()), Ordering::SeqCst);
        settled.clone().map(drop)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A panic inside a transaction undoes it.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the file at `path` may be a database: one begins so, or is empty. It is not opened, which would change it.
///
/// # Errors
/// `Unavailable`, with the remedy.
pub fn look(path: &Path) -> Result<(), ServiceError> {
    let mut begins = Vec::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut begins));
    let what = match read {
        Ok(_) if begins.is_empty() || begins == b"SQLite format 3\0" => return Ok(()),
        Ok(_) => "this is no database".to_owned(),
        Err(error) => error.to_string(),
    };
    let what = format!("{}: {what}; put it back from the backup", path.display());
    Err(ServiceError::new(ErrorKind::Unavailable, what))
}

/// Makes the file with the owner's permissions alone: inputs and results wait in it.
fn private(path: &Path) -> Result<(), ServiceError> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let made = options.create(true).append(true).mode(0o600).open(path);
    made.map(drop).map_err(|error| {
        let what =
            format!("{}: {error}; is the disk full, read-only, or another user's?", path.display());
        ServiceError::new(ErrorKind::Unavailable, what)
    })
}

pub(crate) fn failed(error: rusqlite::Error) -> ServiceError {
    let what = format!("the database: {error}; look at the disk of the service");
    ServiceError::new(ErrorKind::Unavailable, what)
}

/// Now.
pub(crate) fn now() -> Millis {
    let since = crate::clock::wall().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}
