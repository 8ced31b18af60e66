//! The pool and the stock, in memory.
//!
//! Everything that both parties do here is deterministic given the public coins, so two parties
//! that feed the same counts and coins keep equal positions without a message.
//!
//! Items leave through [`Stock::reserve`] and [`Pool::exchange`] alone, and both show the [`Journal`]
//! their numbers first. A durable store hooks in there.

mod draws;
mod durable;
mod full_pool;
mod journal;
mod occupancy;
mod stock;

pub use draws::{Draws, shuffle};
pub use durable::{FailureKind, Ledger, MOST_STRIDE, Name, PoolError, Store, StoreFailure};
pub use full_pool::{Leaving, Pool};
pub use journal::{Journal, MemoryJournal, Refused};
pub use occupancy::{Level, Occupancy};
pub use stock::{Lease, Stock};

/// Misuse of a pool or stock by its owner, or a journal's refusal; a peer cannot cause any of these.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A pool was opened with another number of items than its capacity.
    #[error("a pool of {capacity} items was opened with {items}: fill it before the first draw")]
    NotFull {
        /// Size of the pool.
        capacity: usize,
        /// Items that it was given.
        items: usize,
    },
    /// The bucket size is zero or exceeds the pool, or the pool exceeds 2^32 - 1 items.
    #[error("cannot draw buckets of {bucket} from a pool of {capacity} items")]
    Shape {
        /// Items in a bucket.
        bucket: usize,
        /// Size of the pool.
        capacity: usize,
    },
    /// Positions were drawn for a pool of another size.
    #[error("positions drawn for a pool of {drawn_for} items were used on one of {capacity}")]
    OtherPool {
        /// Size that the positions were drawn for.
        drawn_for: usize,
        /// Size of this pool.
        capacity: usize,
    },
    /// There is not one fresh item per drawn position.
    #[error("{expected} fresh items are needed for the drawn positions, not {got}")]
    Length {
        /// Drawn positions.
        expected: usize,
        /// Items in the slice.
        got: usize,
    },
    /// More items were asked for than there are.
    #[error("{asked} items were asked for, {left} are left")]
    Exhausted {
        /// Items asked for.
        asked: usize,
        /// Items there.
        left: usize,
    },
    /// The journal took no note.
    #[error(transparent)]
    Refused(#[from] Refused),
}
