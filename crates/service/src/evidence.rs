//! What is kept of a check that failed: a file for the own owner, and a line of the audit log that commits to it. And of cheating that no check ends (`jimu`): a file
//! alone.
//!
//! Owners show each other their audit logs, and which check failed must not reach the peer (docs/threat-model.md). So its name is in the file and in
//! the service's log alone; the line has what the peer knows anyway, and the SHA-256 of the file. The file holds a random number, so that nobody
//! finds the name by hashing the few there are. Whoever is shown the file later sees that it was written then.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use cenote_engine::Evidence;
use cenote_job::evidence as labels;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use crate::db::now;
use crate::error::{ErrorKind, ServiceError};
use crate::inner::{Inner, facts, lock, new_id};
use crate::jobs;
use crate::peer::lane::Lane;
use crate::registry::hex;

/// Where files are, in the directory of the service.
const DIRECTORY: &str = "evidence";

/// Keeps what is known of a check that failed in a lane, and says so.
///
/// # Errors
/// `Unavailable` if the file or the line cannot be written. Then the line is tried without the file, and the log has all of it.
pub(crate) fn keep(inner: &Inner, lane: &Lane, fault: &str) -> Result<(), ServiceError> {
    let mut own = known(inner, lane);
    let mut whole = own.clone();
    whole.extend(facts(&[
        ("fault", json!(fault)),
        ("peer", json!(inner.peer_name())),
        ("time_ms", json!(now())),
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("random", json!(new_id())),
    ]));
    let kept = write(&inner.config.dir, &whole);
    if let Ok((file, digest)) = &kept {
        own.extend(facts(&[("evidence", json!(file)), ("sha256", json!(digest))]));
    }
    let text = |name: &str| own.get(name).and_then(Value::as_str).unwrap_or_default();
    tracing::error!(
        lane = lane.name(),
        fault,
        jobs = own.get("jobs").map(ToString::to_string),
        epoch = text("epoch"),
        evidence = text("evidence"),
        "a check failed: the peer is held, no job runs; find out why, then `cenote peer lift` (docs/operate.md)"
    );
    let logged = inner.log("peer.held", None, None, own);
    kept.map(drop).and(logged)
}

/// When proof that the peer has cheated is written down, and what of it has been.
pub(crate) struct Told {
    next: Instant,
    told: BTreeSet<([u8; 32], u64)>,
}

/// Between two looks.
const PERIOD: Duration = Duration::from_secs(3600);

impl Told {
    pub(crate) fn new() -> Told {
        Told { next: Instant::now() + PERIOD, told: BTreeSet::new() }
    }

    /// Keeps what is new once an hour, and says so. On the service's own time: jobs wait for the same disk, and when something was found may depend on what the peer
    /// must not know. And nowhere else: the audit log, whose heads it sees, has nothing of it.
    pub(crate) fn look(&mut self, inner: &Inner) {
        if Instant::now() >= self.next {
            self.next += PERIOD;
            self.keep(inner);
        }
    }

    /// Keeps what is new.
    pub(crate) fn keep(&mut self, inner: &Inner) {
        for lane in &inner.lanes {
            let Some(found) = lane.found().clone() else { continue };
            let what = (found.session, found.wire);
            if self.told.contains(&what) {
                continue;
            }
            let (lane, session) = (lane.name(), hex(&found.session));
            match keep_labels(&inner.config.dir, &found) {
                Ok(evidence) => {
                    self.told.insert(what);
                    tracing::error!(
                        lane,
                        session,
                        evidence,
                        "the peer has cheated, and does not know that it was found out: what came out is right; decide without telling it (docs/operate.md)"
                    );
                }
                Err(error) => tracing::error!(
                    lane,
                    session,
                    %error,
                    "the peer has cheated, and the evidence cannot be written: it is tried again every hour and at the end (docs/operate.md)"
                ),
            }
        }
    }
}

/// What the names of files with labels begin with.
const LABELS: &str = "labels-";

/// Whether there are any, from earlier runs.
pub(crate) fn has_labels(dir: &Path) -> bool {
    let files = fs::read_dir(dir.join(DIRECTORY)).into_iter().flatten().flatten();
    files.into_iter().any(|file| file.file_name().to_string_lossy().starts_with(LABELS))
}

/// Writes both labels of a wire, unless they are there; the path in the directory of the service.
fn keep_labels(dir: &Path, found: &Evidence) -> io::Result<String> {
    let name = format!("{DIRECTORY}/{LABELS}{}-{}.json", hex(&found.session[..8]), found.wire);
    make_directory(&dir.join(DIRECTORY))?;
    match labels::keep(found, &dir.join(&name)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(name),
    }
}

fn make_directory(place: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(place)
}

/// What the peer knows as well.
fn known(inner: &Inner, lane: &Lane) -> Map<String, Value> {
    let ledger = lane.seen.ledger();
    let job = |id: &String| {
        let stored = inner.db.with(|db| Ok(jobs::stored(db, id))).ok().and_then(Result::ok);
        json!({ "id": id, "program": stored.flatten().map(|job| job.offer.program) })
    };
    facts(&[
        ("lane", json!(lane.name())),
        ("epoch", json!(lane.seen.last_epoch().map(|name| hex(&name)))),
        ("epochs", json!(ledger.epochs)),
        ("pools", json!(ledger.pools)),
        ("jobs", lane.last_jobs().iter().map(job).collect()),
        ("peer_head", json!(lock(&inner.peer_head).map(|head| head.to_string()))),
    ])
}

/// Writes a file for the owner alone; its path in the directory, and its hash.
fn write(dir: &Path, whole: &Map<String, Value>) -> Result<(String, String), ServiceError> {
    let place = dir.join(DIRECTORY);
    let failed = |error: io::Error| {
        let what = format!(
            "{}: {error}; make room and let this user write there; the service's log has what was to be kept",
            place.display()
        );
        ServiceError::new(ErrorKind::Unavailable, what)
    };
    let mut bytes = serde_json::to_vec_pretty(whole)
        .map_err(|error| ServiceError::new(ErrorKind::Internal, error.to_string()))?;
    bytes.push(b'\n');
    let digest = hex(&Sha256::digest(&bytes));
    let name = format!("held-{}.json", &digest[..16]);
    let written = || {
        make_directory(&place)?;
        let mut file = NamedTempFile::new_in(&place)?;
        file.write_all(&bytes)?;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o600))?;
        file.as_file().sync_all()?;
        file.persist_noclobber(place.join(&name)).map_err(|error| error.error)?;
        fs::File::open(&place)?.sync_all()
    };
    written().map_err(failed)?;
    Ok((format!("{DIRECTORY}/{name}"), digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_for_its_owner_and_has_the_hash_that_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let (name, digest) = write(dir.path(), &facts(&[("fault", json!("x"))])).unwrap();
        let path = dir.path().join(name);
        assert_eq!(hex(&Sha256::digest(fs::read(&path).unwrap())), digest);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(dir.path().join("file"), "").unwrap();
        let failed = write(&dir.path().join("file"), &Map::new()).unwrap_err();
        assert!(failed.what.contains("make room"), "{failed}");
    }
}
