//! Whether a service runs in a directory.

use std::fs::{File, TryLockError};
use std::path::Path;

/// Whether one runs: then it has locked its audit log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Running {
    Yes,
    No,
    /// The log cannot be opened.
    Unknown,
}

impl Running {
    /// In this directory.
    pub(crate) fn in_dir(dir: &Path) -> Running {
        let file = match File::open(dir.join("audit.log")) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Running::No,
            Err(_) => return Running::Unknown,
        };
        match file.try_lock_shared() {
            Ok(()) => Running::No,
            Err(TryLockError::WouldBlock) => Running::Yes,
            Err(TryLockError::Error(_)) => Running::Unknown,
        }
    }
}
