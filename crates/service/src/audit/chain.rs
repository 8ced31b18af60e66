//! Reading a log line by line, and what is checked on the way. Memory does not grow with the log.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::line::{Line, MAX_LINE};
use super::{AuditError, Head, PublicKey};

/// What helps where a line is not what was written.
const KEEP: &str = "keep this file as it is and find out who changed it; a copy from before that is right up to its head";

/// Checks every line of the log at `path`: its number, its place in the chain, and that the owner of `key` signed it.
/// Returns how far it goes, to compare with what is known of it from elsewhere.
///
/// # Errors
/// [`AuditError::Damaged`] names the first bad line, which may be one that is being written just now; [`AuditError::File`] of the file system.
pub fn verify(path: &Path, key: &PublicKey) -> Result<Head, AuditError> {
    let mut chain = Chain::open(path, Some(*key))?;
    while chain.next()?.is_some() {}
    Ok(chain.head)
}

/// Checks a log as [`verify`] does, as it may lie there: what a crash left without an end of line is cut off by the service that opens it, and may be under
/// way. Without a key, signatures are left aside.
///
/// # Errors
/// As [`verify`].
pub fn verify_lying(path: &Path, key: Option<&PublicKey>) -> Result<Head, AuditError> {
    let mut chain = Chain::open(path, key.copied())?;
    while let Next::Line(..) = chain.step()? {}
    Ok(chain.head)
}

/// Whether the log at `path` had this head once: a head that a peer noted must lie on the chain. Lines after it
/// are not looked at, and neither are signatures: the hash stands for all lines before.
///
/// # Errors
/// [`AuditError::Damaged`] names the first bad line up to there; [`AuditError::File`] of the file system.
pub fn contains(path: &Path, head: &Head) -> Result<bool, AuditError> {
    let mut chain = Chain::open(path, None)?;
    while chain.head.sequence < head.sequence {
        if chain.next()?.is_none() {
            return Ok(false);
        }
    }
    Ok(chain.head == *head)
}

/// A log that is being read, from its first line on.
pub(super) struct Chain {
    path: PathBuf,
    file: BufReader<File>,
    key: Option<PublicKey>,
    buffer: Vec<u8>,
    /// The last line that was read.
    pub(super) head: Head,
    /// Bytes up to the end of it.
    pub(super) length: u64,
}

/// What is next in a log.
pub(super) enum Next {
    /// A line; with where it starts.
    Line(Box<Line>, u64),
    /// Bytes without an end of line, at the end of the file.
    Torn,
    End,
}

impl Chain {
    /// The log at `path`; signatures are checked if there is a key.
    pub(super) fn open(path: &Path, key: Option<PublicKey>) -> Result<Chain, AuditError> {
        let file = File::open(path).map_err(|error| AuditError::file(path, error))?;
        Ok(Chain::of(path, file, key))
    }

    /// The log in a file that is at its start.
    pub(super) fn of(path: &Path, file: File, key: Option<PublicKey>) -> Chain {
        let (path, file) = (path.to_owned(), BufReader::with_capacity(1 << 16, file));
        Chain { path, file, key, buffer: Vec::new(), head: Head::START, length: 0 }
    }

    /// The next line, with where it starts.
    pub(super) fn next(&mut self) -> Result<Option<(Box<Line>, u64)>, AuditError> {
        match self.step()? {
            Next::Line(line, at) => Ok(Some((line, at))),
            Next::End => Ok(None),
            Next::Torn => {
                let what = "the last line has no end".into();
                let remedy = "if it is being written just now, check again; if a crash cut it off, the service that opens the log notes that";
                Err(AuditError::Damaged {
                    path: self.path.clone(),
                    line: self.head.sequence + 1,
                    what,
                    remedy,
                })
            }
        }
    }

    /// The next line, or how the log ends.
    pub(super) fn step(&mut self) -> Result<Next, AuditError> {
        read_line(&mut self.file, &mut self.buffer)
            .map_err(|error| AuditError::file(&self.path, error))?;
        let raw = match self.buffer.split_last() {
            None => return Ok(Next::End),
            Some((b'\n', raw)) => raw,
            Some(_) if self.buffer.len() < MAX_LINE => return Ok(Next::Torn),
            Some(_) => return Err(self.damaged(format!("it has more than {MAX_LINE} bytes"))),
        };
        let line = Line::read(raw).map_err(|what| self.damaged(what))?;
        if line.body.sequence != self.head.sequence + 1 {
            return Err(self.damaged(format!("it has the number {}", line.body.sequence)));
        }
        if !line.body.follows(&self.head.hash) {
            return Err(self.damaged("it does not follow the line before it".into()));
        }
        if self.key.is_some_and(|key| !line.is_signed_by(&key)) {
            return Err(self.damaged("it is not signed with this owner's key".into()));
        }
        let at = self.length;
        self.head = Head { sequence: line.body.sequence, hash: line.hash };
        self.length += self.buffer.len() as u64;
        Ok(Next::Line(Box::new(line), at))
    }

    /// The error that the line after the last one that was read is bad.
    pub(super) fn damaged(&self, what: String) -> AuditError {
        let (path, line) = (self.path.clone(), self.head.sequence + 1);
        AuditError::Damaged { path, line, what, remedy: KEEP }
    }
}

/// The line that starts at byte `at` of a log, if it still does.
pub(super) fn line_at(path: &Path, at: u64) -> Result<Line, AuditError> {
    let read = || {
        let (mut file, mut buffer) = (BufReader::new(File::open(path)?), Vec::new());
        file.seek(SeekFrom::Start(at))?;
        read_line(&mut file, &mut buffer)?;
        let raw = buffer.strip_suffix(b"\n").unwrap_or(&buffer);
        Line::read(raw).map_err(|what| io::Error::new(io::ErrorKind::InvalidData, what))
    };
    read().map_err(|error| AuditError::file(path, error))
}

/// Reads into `buffer` up to the end of a line, of the file, or of what a line may have.
fn read_line(file: &mut BufReader<File>, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    file.take(MAX_LINE as u64).read_until(b'\n', buffer).map(|_| ())
}
