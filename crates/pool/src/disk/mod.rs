//! A [`Store`] in files: one directory for the relation with one peer (docs/formats/pool.md has the bytes).
//!
//! | file | what | sealed under |
//! |---|---|---|
//! | `ledger` | header, [`Ledger`], marks of the files it was written with | the key of the store |
//! | `unheld` | empty; that it is gone means that a check failed | |
//! | `epoch.key` | random key of the open epoch | the key of the store |
//! | `epoch.secrets`, `SNAPSHOT.PART` | what the protocol keeps | the key of the epoch |
//! | `lock` | empty; locked while the store is open | |
//!
//! *Adversary.* Three things are kept apart. (1) Power goes at any moment: what was not synced is there, gone or garbage, file by
//! file. (2) Somebody reads the disk, or a backup, without the key: all content is sealed. Sizes, names of snapshots and parts, and times
//! of changes are seen. (3) The owner, a tool or a stranger without the key puts other bytes there: everything that is read is authenticated and
//! bound to store, epoch, kind, snapshot and part. *Assumed:* what was synced stays; rename is atomic; the key is kept elsewhere.
//!
//! *One commit.* Each call but `end` and `amend` takes effect when a new `ledger` takes the place of the old one (write aside, sync, rename, sync the
//! directory). Files that it will name are written and synced before, files that it no longer names are destroyed after, and at each opening
//! whatever it does not name. So `burn` and `settle` write the ledger first: files first would leave some of several. They return when the files are
//! gone as well. To *destroy* is to overwrite the head of a file with zeros, sync, unlink, sync: without the key in the head, the rest says nothing.
//! Drives and file systems that write elsewhere may keep the old head; it is sealed still.
//!
//! `amend` puts a new `epoch.secrets` in the place of the old one in the same way. What the old one had stays readable under the key of the epoch, and ends with it.
//!
//! *The end needs no space.* Of `end`, the loss of `epoch.key` is the commit: without it no ledger opens anything, so whatever ledger is there, the next
//! opening takes the epoch as ended. To hold is to remove `unheld` before that, durably, and a held store whose ledger names an epoch ends it when it is opened. That
//! the ledger has both as well is for a store whose disk is not full. `begin` ends what there is with a ledger of its own, then begins: a loss of power may
//! leave it with no epoch.
//!
//! *Copies.* Items may be used once, so an epoch must not come back from a backup. The ledger records inode, times of birth and of change of a *witness*, an empty file that is made anew for each writing of the ledger and removed
//! after the next, and inode and time of change of `epoch.key` as it was once written: no call sets these to a wanted value, and linking or renaming changes the second. A ledger whose witness is gone or another, or a key that is another file or was written over in place, was copied or put back:
//! opening destroys the epoch (in the copy; counts and hold stay) and [`DiskStore::restored`] says so.
//! *Not detected:* the whole disk or virtual machine put back to an earlier state (nothing in it remembers); a copy of a snapshot's part, which is as good as the part until burnt, and after that is named by nothing.
//! Replays to a peer that was not put back fail in the protocol, which compares epochs and numbers; if both sides are put back, only this is left. A store that was moved to
//! another file system is a copy, too, and so is one whose inodes are numbered anew at a mount: a loss of items, never of security.

mod files;
mod key;
mod ledger;
mod place;
mod sealed;
#[cfg(any(test, feature = "test-util"))]
mod simulated;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;

use cenote_prim::Secret;

use crate::store::{FailureKind, Ledger, Name, PoolError, Store, StoreFailure};
use ledger::{Header, Record, Unreadable};
use place::{Place, failure};
use sealed::Key;

pub use files::{Directory, Files, Mark, NewFile};
pub use key::StoreKey;
#[cfg(any(test, feature = "test-util"))]
pub use simulated::SimulatedDisk;

const LEDGER: &str = "ledger";
const NEW_LEDGER: &str = "ledger.new";
/// One of these is there, made just before the ledger was written.
const WITNESSES: [&str; 2] = ["witness.0", "witness.1"];
const UNHELD: &str = "unheld";
const KEY: &str = "epoch.key";
const SECRETS: &str = "epoch.secrets";
const NEW_SECRETS: &str = "epoch.secrets.new";
/// Kind and version of the key of an epoch.
const KEY_MAGIC: &[u8; 8] = b"cenoteK\x02";
/// Longest name of a part or of a stock.
const MAX_NAME: usize = 64;

type Result<T> = std::result::Result<T, StoreFailure>;

/// A durable store in one directory.
pub struct DiskStore {
    place: Place,
    header: Header,
    key: Key,
    ledger: Ledger,
    /// Which witness the ledger has.
    side: bool,
    open: Option<Open>,
    restored: bool,
    /// A call failed: what is on disk may be another thing than what is here.
    failed: bool,
}

/// The open epoch.
struct Open {
    key: Key,
    /// Of the file of the key.
    mark: Mark,
}

impl DiskStore {
    /// Opens the store in a directory, or begins one if there is none or it is empty.
    ///
    /// # Errors
    /// `Busy`, `WrongKey`, `Damaged`; of the file system.
    pub fn open(path: &Path, key: &StoreKey) -> Result<DiskStore> {
        let directory = Directory::open(path);
        let path = path.display().to_string();
        DiskStore::open_on(directory.map_err(|error| failure(&path, &error))?, key)
    }

    /// As [`DiskStore::open`], on any files.
    ///
    /// # Errors
    /// See there.
    pub fn open_on(files: impl Files + 'static, key: &StoreKey) -> Result<DiskStore> {
        let place = Place::new(Box::new(files));
        let names = place.list()?;
        let there = |name: &str| names.iter().any(|other| other == name);
        if !there(LEDGER) {
            let unfinished = |name: &&String| *name == NEW_LEDGER || WITNESSES.contains(&&***name);
            return match names.iter().find(|name| !unfinished(name)) {
                Some(_) => Err(place.damaged(LEDGER, "is missing, but other files are there")),
                None => DiskStore::fresh(place, key),
            };
        }
        let bytes = place.read(LEDGER)?;
        let (header, key, sealed) =
            Header::read(&bytes, key).map_err(|why| unreadable(&place, why))?;
        let Some(record) = Record::open(&header, &key, sealed) else {
            return Err(unreadable(&place, Unreadable::Damaged));
        };
        let (side, own) = record.witness;
        let witness = WITNESSES[usize::from(side)];
        let restored = !there(witness) || place.mark(witness)? != own;
        let mut ledger = record.ledger;
        ledger.held |= record.complete && !there(UNHELD);
        let mut store =
            DiskStore { place, header, key, ledger, side, open: None, restored, failed: false };
        if record.complete {
            store.resume(record.key)?;
        } else {
            store.complete()?;
        }
        store.sweep()?;
        Ok(store)
    }

    /// Whether the files were copied or put back: the epoch that they had has ended here. The owner should hear of it;
    /// it is said at each opening until the ledger is written again.
    #[must_use]
    pub const fn restored(&self) -> bool {
        self.restored
    }

    /// The owner lets the relation go on after a check failed.
    ///
    /// # Errors
    /// Of the files.
    pub fn release(&mut self) -> Result<()> {
        self.act(|store| if store.ledger.held { store.complete() } else { Ok(()) })
    }

    fn fresh(place: Place, key: &StoreKey) -> Result<DiskStore> {
        let made = Header::new(key);
        let (header, key) = made.ok_or_else(|| misuse("the key makes no key of a store"))?;
        let (ledger, side, open) = (Ledger::default(), false, None);
        let mut store =
            DiskStore { place, header, key, ledger, side, open, restored: false, failed: false };
        store.write(&Ledger::default(), None, false)?;
        store.complete()?;
        Ok(store)
    }

    /// Makes the file whose absence holds; until the ledger says that it was there, it does not.
    fn complete(&mut self) -> Result<()> {
        self.place.remove(UNHELD)?;
        self.place.create(UNHELD, |_| Ok(()))?;
        self.place.sync()?;
        self.change(|ledger| ledger.held = false)
    }

    /// Opens the epoch that the ledger names, or ends it: its key is gone or a copy, or a check failed.
    fn resume(&mut self, noted: Option<Mark>) -> Result<()> {
        let (Some(epoch), Some(noted)) = (self.ledger.epoch, noted) else { return Ok(()) };
        if let Some((key, mark)) = self.key_of(&epoch)? {
            let same = (mark.inode, mark.changed) == (noted.inode, noted.changed);
            self.restored |= !same;
            if !self.restored && !self.ledger.held {
                self.open = Some(Open { key, mark });
                return Ok(());
            }
        }
        forget_epoch(&mut self.ledger);
        self.destroy_key()
    }

    /// The key in the file, if it is one of this epoch. What else may be there is left of a key that was being destroyed.
    fn key_of(&self, epoch: &Name) -> Result<Option<(Key, Mark)>> {
        if !self.place.list()?.iter().any(|name| name == KEY) {
            return Ok(None);
        }
        let bytes = self.place.read(KEY)?;
        let sealed = bytes.strip_prefix(KEY_MAGIC);
        let key = sealed.and_then(|sealed| Key::unwrap(&self.key, &self.about_key(epoch), sealed));
        let mark = self.place.mark(KEY)?;
        Ok(key.map(|key| (key, mark)))
    }

    fn about_key(&self, epoch: &Name) -> Vec<u8> {
        [&KEY_MAGIC[..], self.header.id(), epoch].concat()
    }

    fn destroy_key(&mut self) -> Result<()> {
        let destroyed = self.place.destroy(KEY);
        self.place.sync().and(destroyed)
    }

    /// Destroys all files of a store that it does not name.
    fn sweep(&mut self) -> Result<()> {
        let mut result = Ok(());
        let names = self.place.list()?;
        let unnamed: Vec<_> = names.iter().filter(|name| !self.names(name)).collect();
        for name in &unnamed {
            result = result.and(self.place.destroy(name));
        }
        if unnamed.is_empty() { result } else { self.place.sync().and(result) }
    }

    /// Whether a file is to stay. What does not look like one of a store is not ours to remove.
    fn names(&self, file: &str) -> bool {
        match (file, file.split_once('.')) {
            (KEY | SECRETS, _) => self.open.is_some(),
            (NEW_LEDGER | NEW_SECRETS, _) => false,
            _ if WITNESSES.contains(&file) => file == WITNESSES[usize::from(self.side)],
            (_, Some((snapshot, part))) if is_hex_name(snapshot) => {
                self.ledger.snapshots.iter().any(|(name, parts)| {
                    hex(name) == snapshot && parts.iter().any(|other| other == part)
                })
            }
            _ => true,
        }
    }

    /// Writes what the ledger becomes; it is that once the disk has it.
    fn change(&mut self, change: impl FnOnce(&mut Ledger)) -> Result<()> {
        let mut next = self.ledger.clone();
        change(&mut next);
        self.write(&next, self.open.as_ref().map(|open| open.mark), true)?;
        self.ledger = next;
        Ok(())
    }

    fn write(&mut self, ledger: &Ledger, key_mark: Option<Mark>, complete: bool) -> Result<()> {
        let (header, key, ledger) = (&self.header, &self.key, ledger.clone());
        let side = !self.side;
        let [old, new] = [self.side, side].map(|side| WITNESSES[usize::from(side)]);
        self.place.forget(new)?;
        self.place.create(new, |_| Ok(()))?;
        let own = self.place.mark(new)?;
        self.place.destroy(NEW_LEDGER)?;
        let record = Record { ledger, witness: (side, own), key: key_mark, complete };
        self.place.create(NEW_LEDGER, |file| file.write_all(&record.seal(header, key)))?;
        // The name of the witness before that of the ledger.
        self.place.sync()?;
        self.place.replace(NEW_LEDGER, LEDGER)?;
        self.side = side;
        self.place.forget(old)
    }

    /// Runs a call that changes something, unless one has failed.
    fn act(&mut self, call: impl FnOnce(&mut DiskStore) -> Result<()>) -> Result<()> {
        if self.failed {
            return Err(misuse("the store has failed before"));
        }
        let result = call(self);
        self.failed = matches!(&result, Err(failure) if failure.kind != FailureKind::Misuse);
        result
    }

    fn opened(&self) -> Result<(&Open, &Name)> {
        match (&self.open, &self.ledger.epoch) {
            (Some(open), Some(epoch)) if !self.failed => Ok((open, epoch)),
            _ => Err(misuse("no epoch is open")),
        }
    }

    fn begin_epoch(&mut self, epoch: Name, secrets: &[u8]) -> Result<()> {
        if self.ledger.held {
            return Err(misuse("a check failed, and the owner has not released the store"));
        }
        if self.ledger.epoch.is_some() {
            self.end(false)?;
        }
        let key = Key::random();
        let sealed = key.wrap(&self.key, &self.about_key(&epoch));
        self.place.create(KEY, |file| {
            file.write_all(KEY_MAGIC)?;
            file.write_all(&sealed)
        })?;
        write_sealed(&mut self.place, SECRETS, &key, &about(&epoch, None), secrets)?;
        self.place.sync()?;
        let mark = self.place.mark(KEY)?;
        self.open = Some(Open { key, mark });
        self.change(|ledger| {
            forget_epoch(ledger);
            ledger.epoch = Some(epoch);
            ledger.epochs = ledger.epochs.saturating_add(1);
        })
    }

    fn save_snapshot(&mut self, snapshot: Name, parts: &[(&str, &[u8])]) -> Result<()> {
        if self.ledger.snapshots.iter().any(|(name, _)| *name == snapshot) {
            return Err(misuse("a snapshot has this name"));
        }
        let names: Vec<String> = parts.iter().map(|(part, _)| (*part).to_owned()).collect();
        for (number, name) in names.iter().enumerate() {
            if !is_part_name(name) || names[..number].contains(name) {
                let rule = "names of parts are different, of 1 to 64 characters of [a-z0-9.-]";
                return Err(misuse(format_args!("{name:?}: {rule}")));
            }
        }
        let written = self.write_parts(&snapshot, parts);
        if written.is_err() {
            // The snapshot is not there without a line in the ledger; this only gives its space back.
            let _ = self.sweep();
        }
        written?;
        self.change(|ledger| ledger.snapshots.push((snapshot, names)))
    }

    fn write_parts(&mut self, snapshot: &Name, parts: &[(&str, &[u8])]) -> Result<()> {
        let (Some(open), Some(epoch)) = (&self.open, &self.ledger.epoch) else {
            return Err(misuse("no epoch is open"));
        };
        for (part, bytes) in parts {
            let about = about(epoch, Some((snapshot, part)));
            write_sealed(&mut self.place, &file_of(snapshot, part), &open.key, &about, bytes)?;
        }
        self.place.sync()
    }
}

impl Store for DiskStore {
    fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn begin(&mut self, epoch: Name, secrets: &[u8]) -> Result<()> {
        self.act(|store| store.begin_epoch(epoch, secrets))
    }

    fn secrets(&self) -> Result<Secret<Vec<u8>>> {
        let (open, epoch) = self.opened()?;
        self.place.open(SECRETS, &open.key, &about(epoch, None))
    }

    fn amend(&mut self, secrets: &[u8]) -> Result<()> {
        self.act(|store| {
            store.opened()?;
            let DiskStore { open, place, ledger, .. } = store;
            let (Some(open), Some(epoch)) = (open, &ledger.epoch) else { return Ok(()) };
            write_sealed(place, NEW_SECRETS, &open.key, &about(epoch, None), secrets)?;
            place.sync()?;
            place.replace(NEW_SECRETS, SECRETS)
        })
    }

    /// Also after a failure. To hold, then to lose the key, needs no space; the rest only tells of that.
    fn end(&mut self, hold: bool) -> Result<()> {
        let noted = self.ledger.epoch.is_none() && (self.ledger.held || !hold);
        if noted && !self.failed {
            return Ok(());
        }
        let held = if hold { self.place.remove(UNHELD) } else { Ok(()) };
        self.open = None;
        self.ledger.held |= hold;
        forget_epoch(&mut self.ledger);
        let destroyed = self.destroy_key();
        let written = self.change(|_| ());
        let swept = self.sweep();
        let result = held.and(destroyed).and(written).and(swept);
        self.failed |= result.is_err();
        result
    }

    fn spend(&mut self, stock: &str, below: u64) -> Result<()> {
        self.act(|store| {
            store.opened()?;
            if stock.len() > MAX_NAME {
                return Err(misuse(format_args!("{stock:?}: a name of more than 64 bytes")));
            }
            if store.ledger.spent.get(stock).is_some_and(|noted| *noted >= below) {
                return Ok(());
            }
            store.change(|ledger| {
                ledger.spent.insert(stock.to_owned(), below);
            })
        })
    }

    fn leave(&mut self, spent: &[(&str, u64)]) -> Result<()> {
        self.act(|store| {
            store.opened()?;
            store.change(|ledger| {
                for (stock, below) in spent {
                    if let Some(noted) = ledger.spent.get_mut(*stock) {
                        *noted = *below.min(noted);
                    }
                }
            })
        })
    }

    fn count_pool(&mut self, error: PoolError) -> Result<()> {
        self.act(|store| {
            store.change(|ledger| {
                ledger.pools = ledger.pools.saturating_add(1);
                ledger.error = ledger.error.plus(error);
            })
        })
    }

    fn save(&mut self, snapshot: Name, parts: &[(&str, &[u8])]) -> Result<()> {
        self.act(|store| store.save_snapshot(snapshot, parts))
    }

    fn settle(&mut self, snapshot: Option<Name>) -> Result<()> {
        self.act(|store| {
            let snapshots = &store.ledger.snapshots;
            if snapshot.is_some_and(|kept| snapshots.iter().all(|(name, _)| *name != kept)) {
                return Err(misuse("no snapshot has this name"));
            }
            if snapshots.len() == usize::from(snapshot.is_some()) {
                return Ok(());
            }
            store.change(|ledger| ledger.snapshots.retain(|(name, _)| Some(*name) == snapshot))?;
            store.sweep()
        })
    }

    fn load(&self, snapshot: &Name, part: &str) -> Result<Secret<Vec<u8>>> {
        let (open, epoch) = self.opened()?;
        let mut snapshots = self.ledger.snapshots.iter();
        if !snapshots.any(|(name, parts)| name == snapshot && parts.iter().any(|p| p == part)) {
            return Err(misuse(format_args!("no part {part:?} in this snapshot")));
        }
        let about = about(epoch, Some((snapshot, part)));
        self.place.open(&file_of(snapshot, part), &open.key, &about)
    }

    fn burn(&mut self, part: &str) -> Result<()> {
        self.act(|store| {
            let named = |(_, parts): &(Name, Vec<String>)| parts.iter().any(|name| name == part);
            if !store.ledger.snapshots.iter().any(named) {
                return Ok(());
            }
            store.change(|ledger| {
                for (_, parts) in &mut ledger.snapshots {
                    parts.retain(|name| name != part);
                }
            })?;
            store.sweep()
        })
    }
}

impl fmt::Debug for DiskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("DiskStore");
        shown.field("place", &self.place.path("")).field("ledger", &self.ledger);
        shown.field("restored", &self.restored).finish_non_exhaustive()
    }
}

/// What is of one epoch goes.
fn forget_epoch(ledger: &mut Ledger) {
    ledger.epoch = None;
    ledger.spent.clear();
    ledger.snapshots.clear();
}

fn write_sealed(
    place: &mut Place,
    name: &str,
    key: &Key,
    about: &[u8],
    bytes: &[u8],
) -> Result<()> {
    place.create(name, |mut file| sealed::write_file(&mut file, key, about, bytes))
}

/// What a file of an epoch is bound to: secrets, or a part of a snapshot.
fn about(epoch: &Name, part: Option<(&Name, &str)>) -> Vec<u8> {
    match part {
        None => [&epoch[..], b"s"].concat(),
        Some((snapshot, part)) => [&epoch[..], b"p", snapshot, part.as_bytes()].concat(),
    }
}

fn file_of(snapshot: &Name, part: &str) -> String {
    format!("{}.{part}", hex(snapshot))
}

fn hex(name: &Name) -> String {
    name.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_hex_name(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_part_name(text: &str) -> bool {
    let allowed = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-');
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(allowed)
}

fn unreadable(place: &Place, why: Unreadable) -> StoreFailure {
    let ledger = place.path(LEDGER);
    match why {
        Unreadable::Damaged => place.damaged(LEDGER, "is not as it was written"),
        Unreadable::Version(version) => StoreFailure::new(
            FailureKind::Damaged,
            format_args!("{ledger} is of format version {version}"),
            "open it with the version of Cenote that made it, or take an empty directory",
        ),
        Unreadable::WrongKey => StoreFailure::new(
            FailureKind::WrongKey,
            format_args!("the key does not open {ledger}"),
            "give the key file or passphrase that it was made with; if this is the one, the file is damaged",
        ),
    }
}

fn misuse(what: impl fmt::Display) -> StoreFailure {
    StoreFailure::new(FailureKind::Misuse, what, "call for help of who wrote the caller")
}
