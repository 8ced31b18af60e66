//! Writing a log: one process, one line after another. Lines reach the disk in their order; who needs one there waits for it, and
//! those who wait at once have one wait in common.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde_json::{Map, Value};

use super::chain::{Chain, Next};
use super::line::{Body, Line, check_entry, time_text, write};
use super::{AuditError, Entry, Head, OwnerKey};

/// Most bytes of what was torn off that are noted.
const TORN_SHOWN: usize = 256;

/// The log of a service, open for writing; no other process has it open so.
pub struct AuditLog {
    path: PathBuf,
    key: Arc<OwnerKey>,
    state: Mutex<State>,
    /// The last line that is on the disk.
    settled: Mutex<Head>,
    /// Whoever waits for the disk.
    turn: Mutex<()>,
}

struct State {
    file: Arc<File>,
    /// Bytes that were written: more, or fewer, are somebody else's doing.
    length: u64,
    head: Head,
    /// Time of the last line; none if there is no line.
    time: Option<String>,
    clock: fn() -> SystemTime,
    /// Why nothing more is written.
    stopped: Option<String>,
}

impl AuditLog {
    /// Opens the log at `path`, or begins one. The whole chain is checked, and the signature of the last line; [`verify`](super::verify)
    /// checks all. A last line without an end, as a crash leaves it, was never reported as noted: it is cut off, and that is noted.
    ///
    /// # Errors
    /// [`AuditError::Busy`] if it is open elsewhere; [`AuditError::Damaged`] names the first line that is not as it was written, or
    /// was written with another key; [`AuditError::Key`] if others may write to it; [`AuditError::File`] of the file system.
    pub fn open(path: &Path, key: Arc<OwnerKey>) -> Result<AuditLog, AuditError> {
        AuditLog::open_settled(path, key, u64::MAX)
    }

    /// [`AuditLog::open`] where it is known that so many lines were on the disk: a loss of power may have left any part of those that were
    /// written after them. From the first of these that is not whole they are cut off as well.
    ///
    /// # Errors
    /// As [`AuditLog::open`].
    pub fn open_settled(
        path: &Path,
        key: Arc<OwnerKey>,
        settled: u64,
    ) -> Result<AuditLog, AuditError> {
        let failed = |error| AuditError::file(path, error);
        let file = lock(path)?;
        let reader = file.try_clone().map_err(failed)?;
        let (chain, last, torn) = read(Chain::of(path, reader, None), settled)?;
        if let Some(line) = &last
            && !line.is_signed_by(&key.public())
        {
            let line = line.body.sequence;
            let what = "it is not signed with the key of this owner".into();
            let remedy = "give the key that this log was begun with; another key has another log";
            return Err(AuditError::Damaged { path: path.to_owned(), line, what, remedy });
        }
        let settled = Mutex::new(chain.head);
        let state = State {
            file: Arc::new(file),
            length: chain.length,
            head: chain.head,
            time: last.map(|line| line.body.time),
            clock: crate::clock::wall,
            stopped: None,
        };
        let (path, state, turn) = (path.to_owned(), Mutex::new(state), Mutex::default());
        let log = AuditLog { path, key, state, settled, turn };
        if torn {
            log.cut()?;
        }
        Ok(log)
    }

    /// Notes an entry; when this returns, it is on the disk. Threads take turns.
    ///
    /// # Errors
    /// [`AuditError::Entry`] if it cannot be noted so, and [`AuditError::Clock`]: nothing happened then. [`AuditError::Stopped`] if the disk failed, now or before, or somebody
    /// else changed the file: this entry may be there or not, and no other will be until the log is opened again.
    pub fn append(&self, entry: &Entry) -> Result<Head, AuditError> {
        let head = self.append_soon(entry)?;
        self.settle().map(|_| head)
    }

    /// Notes an entry; after the next [`AuditLog::settle`] of anybody it is on the disk.
    ///
    /// # Errors
    /// As [`AuditLog::append`].
    pub fn append_soon(&self, entry: &Entry) -> Result<Head, AuditError> {
        check_entry(entry)?;
        self.note(entry)
    }

    /// Waits until every line is on the disk; the last of them. Who comes while another one waits has the next wait in common with all others.
    ///
    /// # Errors
    /// [`AuditError::Stopped`], as [`AuditLog::append`].
    pub fn settle(&self) -> Result<Head, AuditError> {
        let wanted = self.written()?.0;
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let settled = self.head();
        if settled.sequence >= wanted.sequence {
            return Ok(settled);
        }
        let (written, file) = self.written()?;
        if let Err(error) = file.sync_data() {
            // What is on the disk is not known any more, and a second try may say that all is well.
            let why = format!("a line did not reach the disk: {error}");
            self.state().stopped = Some(why.clone());
            return Err(AuditError::Stopped { path: self.path.clone(), why });
        }
        *self.settled.lock().unwrap_or_else(PoisonError::into_inner) = written;
        Ok(written)
    }

    /// How far the log goes on the disk.
    #[must_use]
    pub fn head(&self) -> Head {
        *self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last line that was written, and where.
    fn written(&self) -> Result<(Head, Arc<File>), AuditError> {
        let state = self.state();
        match state.stopped.clone() {
            Some(why) => Err(AuditError::Stopped { path: self.path.clone(), why }),
            None => Ok((state.head, Arc::clone(&state.file))),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What a panic could leave is as whole as what an error does: `stopped` is set before anything is written.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cuts off what is torn, and notes that.
    fn cut(&self) -> Result<(), AuditError> {
        let failed = |error| AuditError::file(&self.path, error);
        let state = self.state();
        let whole = state.file.metadata().map_err(failed)?.len();
        let mut torn = vec![0; TORN_SHOWN];
        let shown = state.file.read_at(&mut torn, state.length).map_err(failed)?;
        torn.truncate(shown);
        let (bytes, length) = (whole - state.length, state.length);
        state.file.set_len(length).and_then(|()| state.file.sync_all()).map_err(failed)?;
        drop(state);
        let text = String::from_utf8_lossy(&torn).into_owned();
        self.note(&own_entry("log.cut", [("bytes", bytes.into()), ("text", text.into())]))?;
        self.settle().map(drop)
    }

    fn note(&self, entry: &Entry) -> Result<Head, AuditError> {
        let mut state = self.state();
        if let Some(why) = state.stopped.clone() {
            return Err(AuditError::Stopped { path: self.path.clone(), why });
        }
        let time = time_text((state.clock)())?;
        let (mut lines, mut head) = (Vec::new(), state.head);
        if let Some(before) = state.time.as_ref().filter(|before| time < **before) {
            let back = own_entry("log.clock", [("before", before.as_str().into())]);
            head = write(&Body::after(&head, &time, &back), &self.key, &mut lines)?;
        }
        head = write(&Body::after(&head, &time, entry), &self.key, &mut lines)?;
        state.stopped = Some("a write was not finished".into());
        if let Err(why) = state.write(&self.path, &lines) {
            state.stopped = Some(why.clone());
            return Err(AuditError::Stopped { path: self.path.clone(), why });
        }
        state.stopped = None;
        (state.head, state.time) = (head, Some(time));
        Ok(head)
    }
}

impl State {
    /// Writes lines, in one call unless the system takes fewer bytes.
    fn write(&mut self, path: &Path, lines: &[u8]) -> Result<(), String> {
        self.check(path)?;
        (&*self.file)
            .write_all(lines)
            .map_err(|error| format!("a line could not be written: {error}"))?;
        self.length += lines.len() as u64;
        Ok(())
    }

    /// That the file is still the one at `path`, and is as it was left. Who moves a log away would lose what is noted after.
    fn check(&self, path: &Path) -> Result<(), String> {
        let own = self.file.metadata().map_err(|error| error.to_string())?;
        let there = fs::metadata(path).map_err(|error| format!("the file is gone: {error}"))?;
        if (own.dev(), own.ino()) != (there.dev(), there.ino()) {
            return Err("another file has taken its place: put the log back".into());
        }
        if own.len() != self.length {
            return Err(format!(
                "somebody else changed it: {} bytes, not {}",
                own.len(),
                self.length
            ));
        }
        Ok(())
    }
}

/// The file at `path`, for this process alone.
fn lock(path: &Path) -> Result<File, AuditError> {
    let failed = |error| AuditError::file(path, error);
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    let file = options.open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(AuditError::Busy { path: path.to_owned() }),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(failed(io::Error::new(io::ErrorKind::IsADirectory, "not an ordinary file")));
    }
    if metadata.mode() & 0o022 != 0 {
        let reason = "others may write to it: chmod go-w, and verify it";
        return Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, reason)));
    }
    // Its name may be new.
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let parent = parent.unwrap_or(Path::new("."));
    File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)?;
    Ok(file)
}

/// A log that was read to its end, its last line, and whether something torn is behind it.
type Read = (Chain, Option<Box<Line>>, bool);

fn read(mut chain: Chain, settled: u64) -> Result<Read, AuditError> {
    let mut last = None;
    loop {
        match chain.step() {
            Ok(Next::Line(line, _)) => last = Some(line),
            Ok(Next::Torn) => return Ok((chain, last, true)),
            Ok(Next::End) => return Ok((chain, last, false)),
            Err(AuditError::Damaged { .. }) if chain.head.sequence >= settled => {
                return Ok((chain, last, true));
            }
            Err(error) => return Err(error),
        }
    }
}

fn own_entry<const N: usize>(kind: &str, facts: [(&str, Value); N]) -> Entry {
    let own: Map<_, _> = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Entry { kind: kind.to_owned(), peer: None, job: None, shared: None, own }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsRawFd as _, OwnedFd};
    use std::time::{Duration, UNIX_EPOCH};

    use tempfile::TempDir;

    use super::super::verify;
    use super::*;

    fn fresh() -> (TempDir, AuditLog) {
        let dir = tempfile::tempdir().unwrap();
        let key = Arc::new(OwnerKey::load_or_create(&dir.path().join("owner.key")).unwrap());
        let log = AuditLog::open(&dir.path().join("audit.log"), key).unwrap();
        (dir, log)
    }

    fn done() -> Entry {
        own_entry("job.done", [("ms", 7.into())])
    }

    fn stopped(result: Result<Head, AuditError>) -> String {
        match result {
            Err(AuditError::Stopped { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_full_disk_stops_the_log() {
        let (dir, mut log) = fresh();
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let full = Arc::new(full);
        let (path, file) = (log.path.clone(), std::mem::replace(&mut log.state().file, full));
        log.path = "/dev/full".into();
        let why = stopped(log.append(&done()));
        assert!(why.contains("No space left"), "{why}");
        assert_eq!(log.head(), Head::START);
        // The disk has room again, but what is on it is not known.
        log.path = path;
        log.state().file = file;
        assert_eq!(stopped(log.append(&done())), why);
        drop(log);
        let key = Arc::new(OwnerKey::load_or_create(&dir.path().join("owner.key")).unwrap());
        let log = AuditLog::open(&dir.path().join("audit.log"), key).unwrap();
        assert_eq!(log.append(&done()).unwrap().sequence, 1);
    }

    #[test]
    fn a_line_that_does_not_reach_the_disk_stops_the_log() {
        let (_dir, mut log) = fresh();
        // Takes writes, but cannot be synced.
        let (_reader, writer) = io::pipe().unwrap();
        let pipe = File::from(OwnedFd::from(writer));
        log.path = format!("/proc/self/fd/{}", pipe.as_raw_fd()).into();
        log.state().file = Arc::new(pipe);
        let why = stopped(log.append(&done()));
        assert!(why.contains("did not reach the disk"), "{why}");
        assert_eq!(log.head(), Head::START);
        assert_eq!(stopped(log.append(&done())), why);
    }

    #[test]
    fn a_clock_that_goes_back_is_noted_once() {
        let (_dir, log) = fresh();
        let first = log.append(&done()).unwrap();
        log.state().clock = || UNIX_EPOCH + Duration::from_secs(1);
        assert_eq!(log.append(&done()).unwrap().sequence, first.sequence + 2);
        assert_eq!(log.append(&done()).unwrap().sequence, first.sequence + 3);
        assert_eq!(verify(&log.path, &log.key.public()).unwrap(), log.head());
        let text = fs::read_to_string(&log.path).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let kinds: Vec<_> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["job.done", "log.clock", "job.done", "job.done"]);
        assert_eq!(lines[1]["own"]["before"], lines[0]["time"]);
        assert_eq!(lines[2]["time"], "1970-01-01T00:00:01.000Z");
    }

    #[test]
    fn a_clock_out_of_range_changes_nothing() {
        let (_dir, log) = fresh();
        log.state().clock = || UNIX_EPOCH + Duration::from_secs(1 << 40);
        assert!(matches!(log.append(&done()), Err(AuditError::Clock)));
        log.state().clock = SystemTime::now;
        assert_eq!(log.append(&done()).unwrap().sequence, 1);
    }
}
