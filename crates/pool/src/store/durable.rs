//! What outlives the process that made it: the seam behind which files lie.
//!
//! An *epoch* is one set-up of two parties and all items that were made under its global keys. Its secrets are
//! written at its beginning; items are kept in *snapshots*, whole; what leaves is noted before it leaves. A snapshot may be older than the notes:
//! items whose numbers lie below [`Ledger::spent`] are not taken from it. Whatever is not in a snapshot is lost with the process,
//! which is always safe.

use std::collections::BTreeMap;
use std::fmt;

use cenote_prim::Secret;

/// Items that are noted ahead of need at most.
pub const MOST_STRIDE: u64 = 1 << 16;

/// The name of an epoch or of a snapshot; never given twice.
pub type Name = [u8; 32];

/// All that one side keeps of the relation with one peer.
///
/// Every call that changes anything returns when the change would survive a loss of power, and a call that was cut off has
/// changed all or nothing. After an error nothing may be done with the store but to drop it, and with what it gave but to burn it.
pub trait Store: Send {
    /// What is known without reading items.
    fn ledger(&self) -> &Ledger;

    /// Begins an epoch with `secrets`, which stay until its end. What there was of earlier ones is destroyed first.
    ///
    /// # Errors
    /// Of the files.
    fn begin(&mut self, epoch: Name, secrets: &[u8]) -> Result<(), StoreFailure>;

    /// The secrets of the open epoch.
    ///
    /// # Errors
    /// Of the files; when no epoch is open.
    fn secrets(&self) -> Result<Secret<Vec<u8>>, StoreFailure>;

    /// Writes other secrets of the open epoch in place of those that there are.
    ///
    /// # Errors
    /// Of the files; when no epoch is open.
    fn amend(&mut self, secrets: &[u8]) -> Result<(), StoreFailure>;

    /// Ends the open epoch for good, if there is one, its secrets first. With `hold` no other may begin until the owner says so.
    ///
    /// # Errors
    /// Of the files; the epoch has ended for this process even so.
    fn end(&mut self, hold: bool) -> Result<(), StoreFailure>;

    /// Items that are noted ahead of need at a time, so that small requests do not wait for the disk: at most [`MOST_STRIDE`].
    fn stride(&self) -> u64 {
        MOST_STRIDE
    }

    /// Notes that items of `stock` with numbers below `below` have left, or might have. A smaller number than before changes nothing: [`Store::leave`] lowers it.
    ///
    /// # Errors
    /// Of the files.
    fn spend(&mut self, stock: &str, below: u64) -> Result<(), StoreFailure>;

    /// Notes exactly what has left of each stock, be it less than was noted ahead of use.
    ///
    /// # Errors
    /// Of the files.
    fn leave(&mut self, spent: &[(&str, u64)]) -> Result<(), StoreFailure>;

    /// Notes that a pool is about to be filled, which may fail with `error`.
    ///
    /// # Errors
    /// Of the files.
    fn count_pool(&mut self, error: PoolError) -> Result<(), StoreFailure>;

    /// Keeps a snapshot of the open epoch beside those that there are: its parts, by name.
    ///
    /// # Errors
    /// Of the files; when no epoch is open or there is a snapshot of that name.
    fn save(&mut self, snapshot: Name, parts: &[(&str, &[u8])]) -> Result<(), StoreFailure>;

    /// Destroys all snapshots but `snapshot`.
    ///
    /// # Errors
    /// Of the files.
    fn settle(&mut self, snapshot: Option<Name>) -> Result<(), StoreFailure>;

    /// The bytes of one part of a snapshot.
    ///
    /// # Errors
    /// Of the files; when there is no such part.
    fn load(&self, snapshot: &Name, part: &str) -> Result<Secret<Vec<u8>>, StoreFailure>;

    /// Destroys the parts of this name in all snapshots.
    ///
    /// # Errors
    /// Of the files.
    fn burn(&mut self, part: &str) -> Result<(), StoreFailure>;
}

/// How likely it is, at most, that a cheater gets anything by one of some pools: probabilities, which add up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoolError {
    /// Of a cheater that brings all its bad items in at the start.
    pub at_once: f64,
    /// Of one that brings them in when it sees that it still needs them (docs/parameters.md).
    pub adaptive: f64,
}

impl PoolError {
    /// The same for these and other pools.
    #[must_use]
    pub fn plus(self, more: PoolError) -> PoolError {
        PoolError { at_once: self.at_once + more.at_once, adaptive: self.adaptive + more.adaptive }
    }
}

/// What a store knows without reading items.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// The open epoch.
    pub epoch: Option<Name>,
    /// Epochs with this peer, the open one included.
    pub epochs: u64,
    /// Pools that were filled, or were about to be, with this peer, over all epochs.
    pub pools: u64,
    /// The sum over them, each by the parameters that it was made with.
    pub error: PoolError,
    /// No epoch may begin until the owner says so: a check failed.
    pub held: bool,
    /// Of the open epoch: by stock, the number below which items have left or might have.
    pub spent: BTreeMap<String, u64>,
    /// Snapshots of the open epoch, oldest first, with the names of their parts.
    pub snapshots: Vec<(Name, Vec<String>)>,
}

/// Why a store cannot be used, or could not keep something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {remedy}")]
pub struct StoreFailure {
    /// What kind.
    pub kind: FailureKind,
    /// What failed, with the file.
    pub what: String,
    /// What its owner can do.
    pub remedy: String,
}

/// Kinds of failures of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// Another process has it open.
    Busy,
    /// The key does not open it.
    WrongKey,
    /// Something is there that this side never wrote whole.
    Damaged,
    /// A copy, or a backup that was put back: items in it may have been used.
    Restored,
    /// No space is left.
    Full,
    /// Any other failure to read or write.
    Io,
    /// A call out of its turn.
    Misuse,
}

impl StoreFailure {
    /// A failure of this kind.
    pub fn new(kind: FailureKind, what: impl fmt::Display, remedy: impl fmt::Display) -> Self {
        Self { kind, what: what.to_string(), remedy: remedy.to_string() }
    }
}
