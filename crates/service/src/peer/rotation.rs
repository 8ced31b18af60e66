//! Certificates that change while both services run (docs/protocols/service.md, "A certificate that changes").
//!
//! The side whose certificate changes has its next identity in `next/`, and a mark there once its owner wants it. The other side has the
//! next certificate of its peer beside the one that it uses, and accepts both until the next one is used, once.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cenote_net::{CERTIFICATE_FILE, Fault, Fingerprint, Identity, KEY_FILE, PeerCertificate};

use crate::error::{ErrorKind, ServiceError};

/// Where the next identity of a service lies, in its directory.
const NEXT: &str = "next";
/// Its owner wants it: from then on it is put in place, whatever ends in between.
const WANTED: &str = "wanted";
/// The peer's next certificate, beside the one that is used.
const NEXT_PEER: &str = "peer.next.crt.pem";

/// Makes the next identity of the service in `dir`, or finds the one that was made: its certificate file and fingerprint.
///
/// # Errors
/// `Invalid` where it cannot be written or read.
pub fn prepare(dir: &Path, name: &str) -> Result<(PathBuf, Fingerprint), ServiceError> {
    let invalid = |fault: Fault| ServiceError::invalid(fault.to_string());
    let next = dir.join(NEXT);
    if next.join(WANTED).exists() {
        let what = "the identity that was made last is being put in place; start the service, and look for `identity.changed` in its audit log";
        return Err(ServiceError::invalid(what));
    }
    if !next.join(CERTIFICATE_FILE).exists() {
        Identity::generate(name).and_then(|identity| identity.save(&next)).map_err(invalid)?;
    }
    let identity = Identity::load(&next).map_err(invalid)?;
    Ok((next.join(CERTIFICATE_FILE), identity.fingerprint()))
}

/// Says that the next identity is wanted now: a service that runs takes it within seconds, another one when it starts.
///
/// # Errors
/// `Invalid` where there is none; `Unavailable` where that cannot be written.
pub fn want(dir: &Path) -> Result<Fingerprint, ServiceError> {
    let next = dir.join(NEXT);
    let identity = Identity::load(&next).map_err(|fault| {
        ServiceError::invalid(format!("{fault}; `cenote rotate` without --now makes it"))
    })?;
    let marked = File::create(next.join(WANTED)).and_then(|mark| mark.sync_all());
    marked.and_then(|()| sync(&next)).map_err(|error| unwritten(&next, &error))?;
    Ok(identity.fingerprint())
}

/// The file of the peer's next certificate, given that of the one that is used.
#[must_use]
pub fn next_peer_file(used: &Path) -> PathBuf {
    used.with_file_name(NEXT_PEER)
}

/// Puts the next identity in place if it is wanted, in steps of which each may be done already; whether it was.
pub(crate) fn take(dir: &Path) -> Result<bool, ServiceError> {
    let next = dir.join(NEXT);
    if !next.join(WANTED).exists() {
        return Ok(false);
    }
    for file in [KEY_FILE, CERTIFICATE_FILE] {
        match fs::rename(next.join(file), dir.join(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(unwritten(&next.join(file), &error));
            }
            _ => {}
        }
    }
    sync(dir).map_err(|error| unwritten(dir, &error))?;
    Ok(true)
}

/// The change is in the log: nothing is wanted any more. What else lies in `next/` stays there.
pub(crate) fn taken(dir: &Path) -> Result<(), ServiceError> {
    let next = dir.join(NEXT);
    fs::remove_file(next.join(WANTED)).map_err(|error| unwritten(&next, &error))?;
    let _ = fs::remove_dir(&next);
    Ok(())
}

/// Puts the peer's next certificate in the place of the one that was used, if its file is still of that one.
pub(crate) fn adopt(used: &Path, next: &PeerCertificate) -> Result<(), Fault> {
    let file = next_peer_file(used);
    if PeerCertificate::load(&file)? != *next {
        let what = "the file of the peer's next certificate has become another one";
        return Err(Fault::Policy(what.into()));
    }
    let parent = used.parent().unwrap_or(Path::new("."));
    fs::rename(file, used)
        .and_then(|()| sync(parent))
        .map_err(|error| Fault::Storage(format!("{}: {error}", used.display())))
}

/// Notes whose the store of a lane is, if nobody did yet.
pub(crate) fn note(stores: &Path, lane: &str, peer: &str) -> io::Result<()> {
    let mark = mark(stores, lane);
    if mark.exists() || !stores.join(lane).exists() {
        return Ok(());
    }
    write(&mark, peer)
}

/// Has `end` destroy what is ready in a lane if its store is of another certificate of the peer's. Pools that were begun with that one
/// count on: the peer is the same.
pub(crate) fn claim(
    stores: &Path,
    lane: &str,
    peer: &str,
    end: impl FnOnce() -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mark = mark(stores, lane);
    let unwritten = |error| Fault::Storage(format!("{}: {error}", mark.display()));
    match fs::read_to_string(&mark) {
        Ok(known) if known == peer => return Ok(()),
        Ok(_) => end()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(stores).map_err(unwritten)?;
        }
        Err(error) => return Err(unwritten(error)),
    }
    write(&mark, peer).map_err(unwritten)
}

fn mark(stores: &Path, lane: &str) -> PathBuf {
    stores.join(format!("{lane}.peer"))
}

/// Whole, or as it was.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(parent)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync(parent)
}

fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

fn unwritten(path: &Path, error: &io::Error) -> ServiceError {
    ServiceError::new(ErrorKind::Unavailable, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(dir: &Path) -> Fingerprint {
        let identity = Identity::generate("a").unwrap();
        identity.save(dir).unwrap();
        identity.fingerprint()
    }

    /// Whatever was done when a crash came, the next start has one identity whose key and certificate belong together.
    #[test]
    fn an_identity_is_put_in_place_from_any_step() {
        for done in 0..3 {
            let temp = tempfile::tempdir().unwrap();
            let dir = temp.path();
            let first = made(dir);
            assert!(!take(dir).unwrap());
            assert!(want(dir).unwrap_err().what.contains("cenote rotate"));
            let (file, second) = prepare(dir, "a").unwrap();
            assert_eq!(prepare(dir, "a").unwrap(), (file, second));
            assert!(!take(dir).unwrap());
            assert_eq!(Identity::load(dir).unwrap().fingerprint(), first);
            assert_eq!(want(dir).unwrap(), second);
            // A third one would be taken for it, and the peer does not trust that.
            assert!(prepare(dir, "a").unwrap_err().what.contains("being put in place"));
            fs::write(dir.join(NEXT).join("note.txt"), "of the owner's").unwrap();
            for file in &[KEY_FILE, CERTIFICATE_FILE][..done] {
                fs::rename(dir.join(NEXT).join(file), dir.join(file)).unwrap();
            }
            assert!(take(dir).unwrap());
            // Until it is in the log it is wanted.
            assert!(take(dir).unwrap());
            taken(dir).unwrap();
            assert!(!take(dir).unwrap());
            assert_eq!(Identity::load(dir).unwrap().fingerprint(), second);
        }
    }

    #[test]
    fn a_file_that_became_another_is_not_put_in_place() {
        let temp = tempfile::tempdir().unwrap();
        let used = temp.path().join("peer.crt.pem");
        let [old, next, other] =
            ["a", "b", "c"].map(|name| Identity::generate(name).unwrap().certificate().clone());
        fs::write(&used, old.to_pem()).unwrap();
        fs::write(next_peer_file(&used), other.to_pem()).unwrap();
        assert!(matches!(adopt(&used, &next), Err(Fault::Policy(_))));
        assert_eq!(PeerCertificate::load(&used).unwrap(), old);
        adopt(&used, &other).unwrap();
        assert_eq!(PeerCertificate::load(&used).unwrap(), other);
    }

    #[test]
    fn what_is_ready_for_another_certificate_ends() {
        let temp = tempfile::tempdir().unwrap();
        let stores = temp.path().join("stores");
        let claimed = |peer: &str| {
            let mut ended = false;
            let end = || {
                ended = true;
                Ok(())
            };
            claim(&stores, "small", peer, end).unwrap();
            ended
        };
        assert!(!claimed("A") && !claimed("A"));
        // What could not be ended is not taken over.
        let failed = || Err(Fault::Storage("disk".into()));
        assert!(claim(&stores, "small", "B", failed).is_err());
        assert!(claimed("B") && !claimed("B"));
        // Of a release that noted nothing: it is of whom the service knew when it started.
        fs::create_dir_all(stores.join("small")).unwrap();
        fs::remove_file(stores.join("small.peer")).unwrap();
        note(&stores, "small", "A").unwrap();
        assert!(!claimed("A"));
        note(&stores, "small", "B").unwrap();
        assert!(claimed("B"));
    }
}
