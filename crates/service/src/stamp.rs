//! What changes when a file does, so that it is read again then.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The state of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp([i64; 5], u64, u64);

impl Stamp {
    pub(crate) fn of(file: &Metadata) -> Stamp {
        let times = [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()];
        let [a, b, c, d] = times;
        Stamp([a, b, c, d, i64::from(file.mode())], file.ino(), file.len())
    }

    /// Of what is at this path now, if anything.
    pub(crate) fn at(path: &Path) -> Option<Stamp> {
        std::fs::metadata(path).ok().map(|metadata| Stamp::of(&metadata))
    }
}
