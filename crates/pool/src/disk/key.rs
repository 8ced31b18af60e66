//! The key that opens a store: from a file, or from a passphrase.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use cenote_prim::{Secret, os_bytes};

use super::files::{create_private, sync_parent};
use super::sealed::{KEY, Key};
use crate::store::{FailureKind, StoreFailure};

/// Opens stores: 32 bytes, or a passphrase that makes them. Wiped, never printed.
pub struct StoreKey(Kind);

enum Kind {
    Bytes(Secret<Vec<u8>>),
    Passphrase(Secret<Vec<u8>>),
}

/// How a store makes its key of what its owner has; kept with it, in the clear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    /// KiB of memory, passes and lanes of Argon2id; all 0 if the key is in a file.
    pub(super) cost: [u32; 3],
    pub(super) salt: [u8; 16],
}

/// The second recommended option of RFC 9106, section 4: 64 MiB, 3 passes, 4 lanes.
const COST: [u32; 3] = [64 << 10, 3, 4];
/// No store asks for more than this, so a damaged one cannot.
const MAX_COST: [u32; 3] = [1 << 20, 64, 64];
const FROM_FILE: [u32; 3] = [0; 3];
/// Bytes of a passphrase that is read from a file.
const LONGEST: usize = 1024;

impl StoreKey {
    /// A fresh key, in a new file that only its owner can read.
    ///
    /// # Errors
    /// If there is such a file, which is left as it is; of the file system.
    pub fn create(path: &Path) -> Result<StoreKey, StoreFailure> {
        let mut bytes = Secret::new(vec![0; KEY]);
        os_bytes(&mut bytes);
        let write = || {
            let mut file = create_private(path)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            sync_parent(path)
        };
        write().map_err(|error| refused(path, &error))?;
        Ok(StoreKey(Kind::Bytes(bytes)))
    }

    /// The key in a file that [`StoreKey::create`] made.
    ///
    /// # Errors
    /// If it is none, or if others may read it; of the file system.
    pub fn load(path: &Path) -> Result<StoreKey, StoreFailure> {
        let mut bytes = Secret::new(vec![0; KEY]);
        let mut read = || {
            let mut file = File::open(path)?;
            private(&file, path)?;
            file.read_exact(&mut bytes)?;
            match file.read(&mut [0])? {
                0 => Ok(()),
                _ => Err(io::ErrorKind::InvalidData.into()),
            }
        };
        read().map_err(|error| refused(path, &error))?;
        Ok(StoreKey(Kind::Bytes(bytes)))
    }

    /// What each store makes a key of its own of, by Argon2id under its salt.
    ///
    /// # Errors
    /// If it is empty.
    pub fn passphrase(text: &str) -> Result<StoreKey, StoreFailure> {
        if text.is_empty() {
            let what = "the passphrase of the store is empty";
            return Err(StoreFailure::new(FailureKind::Misuse, what, "choose a long one"));
        }
        Ok(StoreKey(Kind::Passphrase(Secret::new(text.into()))))
    }

    /// The passphrase in a file, a credential of systemd's or an open descriptor (`/dev/fd/3`): all of it but the end of the line.
    ///
    /// # Errors
    /// If it is empty or longer than 1,024 bytes, or if others may read it; of the file system.
    pub fn load_passphrase(path: &Path) -> Result<StoreKey, StoreFailure> {
        // With room for the end of the line, and for a byte that says that it is too long.
        let mut text = Secret::new(vec![0; LONGEST + 3]);
        let mut length = 0;
        let mut read = || {
            let mut file = File::open(path)?;
            private(&file, path)?;
            while length < text.len() {
                match file.read(&mut text[length..])? {
                    0 => break,
                    more => length += more,
                }
            }
            Ok(())
        };
        read().map_err(|error| refused(path, &error))?;
        let line = &text[..length];
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.len() > LONGEST {
            let what = format!(
                "passphrase file {}: it is empty, or longer than {LONGEST} bytes",
                path.display()
            );
            return Err(StoreFailure::new(FailureKind::Misuse, what, "put the passphrase there"));
        }
        Ok(StoreKey(Kind::Passphrase(Secret::new(line.to_vec()))))
    }

    /// A key that anybody knows.
    #[cfg(any(test, feature = "test-util"))]
    pub fn known(byte: u8) -> StoreKey {
        StoreKey(Kind::Bytes(Secret::new(vec![byte; KEY])))
    }

    /// How a new store makes its key of this.
    pub(super) fn recipe(&self) -> Recipe {
        let mut salt = [0; 16];
        os_bytes(&mut salt);
        let cost = match self.0 {
            Kind::Bytes(_) => FROM_FILE,
            Kind::Passphrase(_) => COST,
        };
        Recipe { cost, salt }
    }

    /// The key of the store with this recipe; nothing if it is one for another kind of key.
    pub(super) fn prepare(&self, recipe: &Recipe) -> Option<Key> {
        match &self.0 {
            Kind::Bytes(bytes) if recipe.cost == FROM_FILE => Key::new(bytes.clone()),
            Kind::Passphrase(text) if recipe.cost != FROM_FILE => stretch(text, recipe),
            _ => None,
        }
    }
}

/// Where systemd hands out credentials.
const CREDENTIALS: &str = "/run/credentials";

/// Refuses a file that others may read. systemd hands out a credential as root's with mode 440, where the group's bits stand for a list that
/// names the user of the service alone.
fn private(file: &File, path: &Path) -> io::Result<()> {
    let about = file.metadata()?;
    let credential = is_credential(path, (about.uid(), about.gid(), about.mode() & 0o777));
    if about.is_file() && about.mode() & 0o077 != 0 && !credential {
        let reason = "others may read it: chmod 600, and think about who has";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    Ok(())
}

/// Whether systemd made a file with this owner, group and mode there.
pub(super) fn is_credential(path: &Path, about: (u32, u32, u32)) -> bool {
    path.starts_with(CREDENTIALS) && about == (0, 0, 0o440)
}

fn stretch(passphrase: &[u8], recipe: &Recipe) -> Option<Key> {
    let [memory, passes, lanes] = recipe.cost;
    if recipe.cost.iter().zip(MAX_COST).any(|(cost, most)| *cost > most) {
        return None;
    }
    let params = Params::new(memory, passes, lanes, Some(KEY)).ok()?;
    let mut blocks = Secret::new(vec![Block::default(); params.block_count()]);
    let mut key = Secret::new(vec![0; KEY]);
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon.hash_password_into_with_memory(passphrase, &recipe.salt, &mut key, &mut **blocks).ok()?;
    Key::new(key)
}

fn refused(path: &Path, error: &io::Error) -> StoreFailure {
    use io::ErrorKind as Error;
    let (kind, remedy) = match error.kind() {
        Error::AlreadyExists => (FailureKind::Misuse, "name a new file; keys are not overwritten"),
        Error::UnexpectedEof | Error::InvalidData => {
            (FailureKind::Damaged, "name the file that was made as a key: it has 32 bytes")
        }
        Error::StorageFull | Error::QuotaExceeded => (FailureKind::Full, "make room"),
        Error::NotFound => {
            let remedy = "name the key that was made with the store; without it the store is lost: remove both sides' and fill anew";
            (FailureKind::Io, remedy)
        }
        _ => (FailureKind::Io, "name a file of your own in a directory of your own"),
    };
    StoreFailure::new(kind, format_args!("key file {}: {error}", path.display()), remedy)
}

impl fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreKey(..)")
    }
}
