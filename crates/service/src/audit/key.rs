//! The key that an owner signs with: ed25519, in a file for its owner alone, its public half beside it.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::str::FromStr;

use cenote_prim::{Secret, os_bytes};
use data_encoding::HEXLOWER;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use tempfile::NamedTempFile;

use super::{AuditError, from_hex};

/// Bytes of either half.
const KEY: usize = 32;
/// Of the file beside the key that has the public half.
const PUBLIC: &str = "pub";

/// The log that the key signs, beside it.
const LOG: &str = "audit.log";

/// The key that an owner signs with. Wiped, never printed.
pub struct OwnerKey(Box<SigningKey>);

/// The half of an [`OwnerKey`] that the peer is given: 64 hexadecimal digits as text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl OwnerKey {
    /// The key in the file at `path`; a fresh one in a new file if there is none, and nothing beside it that one has signed. The public half is kept
    /// beside it, `owner.pub` of `owner.key`.
    ///
    /// # Errors
    /// [`AuditError::Key`] if others may read the file or it is no key, if it is missing, or if the public half beside it
    /// is of another key; [`AuditError::File`] of the file system.
    pub fn load_or_create(path: &Path) -> Result<OwnerKey, AuditError> {
        let key = match OwnerKey::look(path)? {
            Some(key) => key,
            None => OwnerKey(create(path)?),
        };
        key.publish(&path.with_extension(PUBLIC))?;
        Ok(key)
    }

    /// The key in the file at `path`, none where [`OwnerKey::load_or_create`] would make one. Nothing is written.
    ///
    /// # Errors
    /// As there.
    pub fn look(path: &Path) -> Result<Option<OwnerKey>, AuditError> {
        if path.extension().is_some_and(|extension| extension == PUBLIC) {
            let what = "this is the name of a public half";
            return Err(refused(path, what, "name the key itself, as owner.key"));
        }
        let public = path.with_extension(PUBLIC);
        let mut key = load(path)?;
        if key.is_none()
            && [&public, &path.with_file_name(LOG)].into_iter().any(|one| is_there(one))
        {
            // Another process that makes one at this moment writes them after it.
            key = load(path)?;
            if key.is_none() {
                let what =
                    "it is missing, and its public half or the audit log that it signed is there";
                return Err(refused(path, what, "put owner.key back from the backup"));
            }
        }
        let key = key.map(OwnerKey);
        if let Some(key) = &key {
            key.has_half_in(&public)?;
        }
        Ok(key)
    }

    /// The half that the peer is given.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs `message` as a `what`: no signature of one kind is one of another. docs/protocols/labels.md lists the kinds.
    #[must_use]
    pub fn sign(&self, what: &str, message: &[u8]) -> [u8; 64] {
        self.0.sign(&digest(what, message)).to_bytes()
    }

    /// What only this key makes of `message`: to see later whether another is the same, without keeping it. Who has the public half alone can try nothing.
    #[must_use]
    pub(crate) fn tag(&self, message: &[u8]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("cenote 2026 service inputs of a job v1");
        // As long as ever, so that it cannot be taken for a part of the message.
        hasher.update(self.0.as_bytes());
        hasher.update(message);
        *hasher.finalize().as_bytes()
    }

    /// Whether this key's public half is in the file at `path`; false where there is none.
    fn has_half_in(&self, path: &Path) -> Result<bool, AuditError> {
        match PublicKey::load(path) {
            Ok(public) if public == self.public() => Ok(true),
            Ok(_) => {
                let remedy = "put back the pair, or remove this file and it is written anew";
                Err(refused(path, "not the public half of the key beside it", remedy))
            }
            Err(AuditError::File { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Sees to it that the public half is in the file at `path`.
    fn publish(&self, path: &Path) -> Result<(), AuditError> {
        if self.has_half_in(path)? {
            return Ok(());
        }
        let text = format!("{}\n", self.public());
        let written = write_new(path, text.as_bytes(), 0o644).or_else(there_already);
        written.map_err(|error| AuditError::file(path, error))
    }
}

impl PublicKey {
    /// Whether the owner of this key signed `message` as a `what`.
    #[must_use]
    pub fn verify(&self, what: &str, message: &[u8], signature: &[u8; 64]) -> bool {
        let signature = Signature::from_bytes(signature);
        self.0.verify_strict(&digest(what, message), &signature).is_ok()
    }

    /// The key in a file that [`OwnerKey::load_or_create`] wrote, and that the peer was given.
    ///
    /// # Errors
    /// [`AuditError::Key`] if it is none; [`AuditError::File`] of the file system.
    pub fn load(path: &Path) -> Result<PublicKey, AuditError> {
        let mut text = String::new();
        let read = File::open(path).and_then(|file| file.take(1 << 10).read_to_string(&mut text));
        match read {
            Err(error) if error.kind() != io::ErrorKind::InvalidData => {
                Err(AuditError::file(path, error))
            }
            _ => text.trim_end().parse().map_err(|_| {
                refused(path, "no public key", "it has 64 digits of 0-9a-f; copy it again")
            }),
        }
    }
}

/// What is signed: short, whatever the message is, and of no use elsewhere.
fn digest(what: &str, message: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("cenote 2026 service owner signature v1");
    hasher.update(&(what.len() as u64).to_le_bytes());
    hasher.update(what.as_bytes());
    hasher.update(message);
    *hasher.finalize().as_bytes()
}

/// The key in a file, if there is one.
fn load(path: &Path) -> Result<Option<Box<SigningKey>>, AuditError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(AuditError::file(path, error)),
    };
    let failed = |error| AuditError::file(path, error);
    let mode = file.metadata().map_err(failed)?.mode();
    if mode & 0o077 != 0 {
        let remedy = "chmod 600, and think about who has; if somebody may have, put owner.key, owner.pub and audit.log aside for a new key";
        return Err(refused(path, "others may read it", remedy));
    }
    // One more byte than a key has, so that the buffer does not grow, and a longer file is seen.
    let mut bytes = Secret::new([0; KEY + 1]);
    let read = fill(file, &mut bytes[..]).map_err(failed)?;
    let key = bytes.first_chunk::<KEY>().filter(|_| read == KEY);
    match key {
        Some(key) => Ok(Some(Box::new(SigningKey::from_bytes(key)))),
        None => Err(refused(path, "no key", "name the file that was made as one: it has 32 bytes")),
    }
}

/// Whether there is a file with something in it.
fn is_there(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.len() > 0)
}

/// Reads until `bytes` is full or the file ends.
fn fill(mut file: File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// A fresh key in a new file; the one in it if another process was faster.
fn create(path: &Path) -> Result<Box<SigningKey>, AuditError> {
    let mut bytes = Secret::new([0; KEY]);
    os_bytes(&mut bytes[..]);
    write_new(path, &bytes[..], 0o600)
        .or_else(there_already)
        .map_err(|error| AuditError::file(path, error))?;
    // From the file, since it may be the other's; and so that a disk that does not keep it is seen now.
    load(path)?.ok_or_else(|| AuditError::file(path, io::ErrorKind::NotFound.into()))
}

/// A new file with all of these bytes or, whatever happens, none.
fn write_new(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let parent = parent.unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(parent)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    File::open(parent)?.sync_all()
}

fn there_already(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::AlreadyExists => Ok(()),
        _ => Err(error),
    }
}

fn refused(path: &Path, what: &'static str, remedy: &'static str) -> AuditError {
    AuditError::Key { path: path.to_owned(), what, remedy }
}

impl fmt::Debug for OwnerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnerKey(..)")
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(self.0.as_bytes()))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = AuditError;

    /// # Errors
    /// [`AuditError::Text`] if it is no public key.
    fn from_str(text: &str) -> Result<PublicKey, AuditError> {
        let key = from_hex(text).and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        // Under a weak key, anybody's signature may be good.
        key.filter(|key| !key.is_weak()).map(PublicKey).ok_or(AuditError::Text {
            what: "public key",
            form: "64 digits of 0-9a-f, as owner.pub has",
        })
    }
}
