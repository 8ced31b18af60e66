//! The seam to the file system: one flat directory, and the few calls that a store needs of it.
//!
//! [`Directory`] is the real one. The other, in `simulated.rs`, loses power and fills up when a test says so. Nothing here knows
//! what is in the files. A name is durable once [`Files::sync`] has returned after it was made, moved or removed; bytes are once
//! [`NewFile::sync`] has.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek as _, Write};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

/// One directory, used by nobody else while this lives. Errors are the file system's.
pub trait Files: Send {
    /// The directory, for messages.
    fn place(&self) -> String;

    /// The names in it.
    fn list(&self) -> io::Result<Vec<String>>;

    /// By which a file is known again.
    fn mark(&self, name: &str) -> io::Result<Mark>;

    /// The bytes of a file.
    fn read(&self, name: &str) -> io::Result<Box<dyn Read + '_>>;

    /// A new file that only its owner can read; there must be none of this name.
    fn create(&mut self, name: &str) -> io::Result<Box<dyn NewFile + '_>>;

    /// Overwrites the first `bytes` bytes of a file with zeros, or all if it has no more, durably.
    fn blank(&mut self, name: &str, bytes: u64) -> io::Result<()>;

    /// Gives a file another name; a file that had it is gone. Before a loss of power or after, never in between.
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&mut self, name: &str) -> io::Result<()>;

    /// Makes the names durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// A file that is being written. Errors are the file system's.
pub trait NewFile: Write {
    /// Makes its bytes durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// By which a file is told from a copy of it, be it at its own place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its number on its file system.
    pub inode: u64,
    /// When it was made, in nanoseconds since 1970; 0 where the file system does not keep it. No call sets it to a wanted value.
    pub born: i64,
    /// When its bytes or attributes were last changed, in nanoseconds since 1970. No call sets it to a wanted value.
    pub changed: i64,
}

/// A directory of the file system, locked.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// The lock goes when this is closed.
    _lock: File,
}

/// The file that is locked; never read, never removed.
const LOCK: &str = "lock";

impl Directory {
    /// Opens and locks a directory, which is made if there is none.
    ///
    /// # Errors
    /// `WouldBlock` if another process has it for more than a moment, `PermissionDenied` if others may write to it; of the file system.
    pub fn open(path: &Path) -> io::Result<Directory> {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) => {}
            Ok(()) => sync_parent(path)?,
        }
        if fs::metadata(path)?.mode() & 0o022 != 0 {
            let reason = "others may write to the directory";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(path.join(LOCK))?;
        lock_soon(&lock)?;
        Ok(Directory { path: path.to_owned(), _lock: lock })
    }
}

/// Locks a file, which another process may hold for a moment, to look at what is kept.
fn lock_soon(file: &File) -> io::Result<()> {
    let end = Instant::now() + A_MOMENT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() > end => {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            Err(TryLockError::WouldBlock) => thread::sleep(A_MOMENT / 100),
        }
    }
}

/// Longer than it takes to open what is kept, to look at it and to close it.
const A_MOMENT: Duration = Duration::from_secs(1);

/// Makes the name of `path` durable.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// A new file at `path`, for its owner alone.
pub(super) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

impl Files for Directory {
    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let names = fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name().into_string()));
        let names = names.collect::<io::Result<Vec<_>>>()?;
        Ok(names.into_iter().flatten().filter(|name| name != LOCK).collect())
    }

    fn mark(&self, name: &str) -> io::Result<Mark> {
        mark_of(&fs::symlink_metadata(self.path.join(name))?)
    }

    fn read(&self, name: &str) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(File::open(self.path.join(name))?))
    }

    fn create(&mut self, name: &str) -> io::Result<Box<dyn NewFile + '_>> {
        Ok(Box::new(create_private(&self.path.join(name))?))
    }

    fn blank(&mut self, name: &str, bytes: u64) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(self.path.join(name))?;
        let bytes = bytes.min(file.metadata()?.len());
        file.rewind()?;
        io::copy(&mut io::repeat(0).take(bytes), &mut file)?;
        file.sync_all()
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync(&mut self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }
}

impl NewFile for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

fn mark_of(metadata: &fs::Metadata) -> io::Result<Mark> {
    let since_1970 = metadata.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    let born = since_1970.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0);
    let changed = metadata.ctime().wrapping_mul(1_000_000_000).wrapping_add(metadata.ctime_nsec());
    Ok(Mark { inode: metadata.ino(), born, changed })
}
