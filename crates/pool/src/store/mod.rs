//! The pool and the stock, in memory.
//!
//! Everything that both parties do here is deterministic given the public coins, so two parties
//! that feed the same counts and coins keep equal positions without a message.
//!
//! Items leave through [`Stock::reserve`] and [`Pool::exchange`] alone, and both show the [`Journal`]
//! their numbers first. A durable store hooks in there.

mod draws;
mod full_pool;
mod journal;
mod stock;

use serde::{Deserialize, Serialize};

pub use draws::{Draws, shuffle};
pub use full_pool::Pool;
pub use journal::{Journal, MemoryJournal, Refused};
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

/// All pools and stocks of one side of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Pools, then stocks.
    pub stores: Vec<Level>,
    /// The error bound that the pools keep together for their whole life, as a base-2 logarithm.
    pub epsilon_log2: f64,
}

impl Occupancy {
    /// The counters of the pool or stock with this name.
    pub fn of(&self, name: &str) -> Option<&Level> {
        self.stores.iter().find(|level| level.name == name)
    }
}

/// How full a pool or stock is and what went through it: `level = made - consumed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// The name, as its journal knows it.
    pub name: String,
    /// Items there.
    pub level: u64,
    /// Items of a pool that is full; a stock grows as needed.
    pub capacity: Option<u64>,
    /// Items that have entered.
    pub made: u64,
    /// Items that have left, used or burned.
    pub consumed: u64,
}

impl Level {
    /// Of a pool of `capacity` that has not been filled.
    pub fn unfilled(name: impl Into<String>, capacity: usize) -> Self {
        Self { name: name.into(), level: 0, capacity: Some(capacity as u64), made: 0, consumed: 0 }
    }
}
