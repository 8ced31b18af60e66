//! What a store does with files, durably and with failures that name the file and a remedy.

use std::io::{self, Read as _};

use cenote_prim::Secret;

use super::files::{Files, Mark, NewFile};
use super::sealed::{self, FILE_HEAD, Key};
use crate::store::{FailureKind, StoreFailure};

/// Longest file that is read without a key: ledger or key of an epoch.
const MAX_SHORT: u64 = 16 << 20;

/// The directory of a store.
pub(super) struct Place(Box<dyn Files>);

impl Place {
    pub(super) fn new(files: Box<dyn Files>) -> Place {
        Place(files)
    }

    pub(super) fn list(&self) -> Result<Vec<String>, StoreFailure> {
        self.0.list().map_err(|error| self.failure("", &error))
    }

    pub(super) fn mark(&self, name: &str) -> Result<Mark, StoreFailure> {
        self.0.mark(name).map_err(|error| self.failure(name, &error))
    }

    /// The bytes of a short file.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, StoreFailure> {
        let mut bytes = Vec::new();
        let read = self.0.read(name).and_then(|file| file.take(MAX_SHORT).read_to_end(&mut bytes));
        read.map_err(|error| self.failure(name, &error))?;
        Ok(bytes)
    }

    /// What is sealed in a file.
    pub(super) fn open(
        &self,
        name: &str,
        key: &Key,
        about: &[u8],
    ) -> Result<Secret<Vec<u8>>, StoreFailure> {
        let opened =
            self.0.read(name).and_then(|mut file| sealed::read_file(&mut file, key, about));
        match opened {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(self.damaged(name, "is not as it was written")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(self.damaged(name, "is gone"))
            }
            Err(error) => Err(self.failure(name, &error)),
        }
    }

    /// A new file of what `fill` writes; its name is not durable yet.
    pub(super) fn create(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut dyn NewFile) -> io::Result<()>,
    ) -> Result<(), StoreFailure> {
        let write = || {
            let mut file = self.0.create(name)?;
            fill(&mut *file)?;
            file.sync()
        };
        write().map_err(|error| self.failure(name, &error))
    }

    /// Puts a file in the place of another one, durably.
    pub(super) fn replace(&mut self, from: &str, to: &str) -> Result<(), StoreFailure> {
        let moved = self.0.rename(from, to);
        moved.map_err(|error| self.failure(to, &error))?;
        self.sync()
    }

    /// Removes a file, durably; it may be gone already.
    pub(super) fn remove(&mut self, name: &str) -> Result<(), StoreFailure> {
        match self.0.remove(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.failure(name, &error))
            }
            _ => self.sync(),
        }
    }

    /// Removes a file that holds nothing, without waiting for that; it may be gone already.
    pub(super) fn forget(&mut self, name: &str) -> Result<(), StoreFailure> {
        match self.0.remove(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.failure(name, &error))
            }
            _ => Ok(()),
        }
    }

    /// Overwrites what a file cannot be opened without, then removes it, even if that failed; durable but for its name.
    pub(super) fn destroy(&mut self, name: &str) -> Result<(), StoreFailure> {
        let blanked = self.0.blank(name, FILE_HEAD as u64);
        for result in [self.0.remove(name), blanked] {
            match result.map_err(|error| (error.kind(), self.failure(name, &error))) {
                Ok(()) | Err((io::ErrorKind::NotFound, _)) => {}
                // Where overwriting needs space, it leaves the old bytes as well.
                Err((_, failure)) if failure.kind == FailureKind::Full => {}
                Err((_, failure)) => return Err(failure),
            }
        }
        Ok(())
    }

    /// Makes names durable.
    pub(super) fn sync(&mut self) -> Result<(), StoreFailure> {
        let synced = self.0.sync();
        synced.map_err(|error| self.failure("", &error))
    }

    /// A file that this side never wrote so.
    pub(super) fn damaged(&self, name: &str, how: &str) -> StoreFailure {
        let remedy = "end what is kept, or take an empty directory if that fails; a backup cannot be put back";
        StoreFailure::new(FailureKind::Damaged, format_args!("{} {how}", self.path(name)), remedy)
    }

    fn failure(&self, name: &str, error: &io::Error) -> StoreFailure {
        failure(&self.path(name), error)
    }

    pub(super) fn path(&self, name: &str) -> String {
        match name {
            "" => self.0.place(),
            _ => format!("{}/{name}", self.0.place()),
        }
    }
}

/// What the system says of a file.
pub(super) fn failure(path: &str, error: &io::Error) -> StoreFailure {
    use io::ErrorKind as Error;
    let (kind, remedy) = match error.kind() {
        Error::StorageFull | Error::QuotaExceeded | Error::FileTooLarge => {
            (FailureKind::Full, "make room on its file system")
        }
        Error::WouldBlock => {
            (FailureKind::Busy, "another process has it: wait until that has ended")
        }
        Error::ReadOnlyFilesystem => {
            (FailureKind::Io, "name a directory on a file system that can be written to")
        }
        Error::PermissionDenied => {
            (FailureKind::Io, "name a directory that is yours alone (chmod 700)")
        }
        _ => (FailureKind::Io, "see to the disk, then start again"),
    };
    StoreFailure::new(kind, format_args!("{path}: {error}"), remedy)
}
