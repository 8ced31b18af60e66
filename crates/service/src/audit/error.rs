//! What can be wrong with an audit log and its key.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why something was not done with an audit log; each names the cause and a remedy.
#[derive(Debug, Error)]
pub enum AuditError {
    /// The file system refused.
    #[error("{}: {error}; {remedy}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
        /// What helps.
        remedy: &'static str,
    },
    /// Somebody writes to this log already.
    #[error("{}: another process writes to this audit log; end that first, one service has one log", path.display())]
    Busy {
        /// The log.
        path: PathBuf,
    },
    /// A file of a key that cannot be used.
    #[error("key file {}: {what}; {remedy}", path.display())]
    Key {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
        /// What helps.
        remedy: &'static str,
    },
    /// A text that is not what it should be.
    #[error("no {what}: give {form}")]
    Text {
        /// What it should be.
        what: &'static str,
        /// How that looks.
        form: &'static str,
    },
    /// A line that nobody wrote so.
    #[error("{}:{line}: {what}; {remedy}", path.display())]
    Damaged {
        /// The log.
        path: PathBuf,
        /// Its first bad line, counted from 1.
        line: u64,
        /// What is wrong.
        what: String,
        /// What helps.
        remedy: &'static str,
    },
    /// An entry that cannot be noted; the log is as it was.
    #[error("this entry cannot be noted: {what}")]
    Entry {
        /// What is wrong, and what helps.
        what: String,
    },
    /// An entry may or may not have been written, and so nothing is any more.
    #[error("{}: nothing more is noted since {why}; see to that and start the service again", path.display())]
    Stopped {
        /// The log.
        path: PathBuf,
        /// What happened.
        why: String,
    },
    /// The clock of this machine is at no time that can be written.
    #[error("the clock of this machine is not between the years 0 and 9999: set it")]
    Clock,
}

impl AuditError {
    /// What the system says of a file.
    pub(super) fn file(path: &Path, error: io::Error) -> AuditError {
        use io::ErrorKind as Error;
        let remedy = match error.kind() {
            Error::NotFound => "correct the path",
            Error::StorageFull | Error::QuotaExceeded | Error::FileTooLarge => {
                "make room on its file system"
            }
            Error::PermissionDenied => "name a file of your own in a directory of your own",
            Error::IsADirectory => "name a file",
            Error::ReadOnlyFilesystem => "name a file on a file system that can be written to",
            _ => "see to the disk, then start again",
        };
        AuditError::File { path: path.to_owned(), error, remedy }
    }

    pub(super) fn entry(what: impl Into<String>) -> AuditError {
        AuditError::Entry { what: what.into() }
    }
}
