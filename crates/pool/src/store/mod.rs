//! The pool and the stock, in memory.
//!
//! Everything that both parties do here is deterministic given the public coins, so two parties
//! that feed the same counts and coins keep equal positions without a message.
//!
//! A later, durable store has one place to hook in: items leave only through [`Stock::reserve`] and
//! [`Pool::exchange`], and both know the running number of what leaves ([`Stock::consumed`],
//! [`Pool::buckets`]). A durable backing makes that number safe on disk *before* either returns,
//! and starts behind it after a crash. Nothing else needs to be synchronous.

mod draws;
mod full_pool;
mod stock;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

pub use draws::{Draws, shuffle};
pub use full_pool::Pool;
pub use stock::{Lease, Stock};

/// Misuse of a pool or stock by its owner; a peer cannot cause any of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
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
}

/// How full the pool and the stock are and what went through them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Size of the pool; 0 without a pool.
    pub capacity: u64,
    /// Items in the pool; equal to the capacity whenever nobody is drawing.
    pub level: u64,
    /// Finished items ready for requests.
    pub stock: u64,
    /// Finished items reserved by requests so far, used or burned.
    pub consumed: u64,
    /// Items that entered the pool after its first filling.
    pub refilled: u64,
    /// Buckets drawn so far.
    pub buckets: u64,
    /// The error bound that the pool keeps for its whole life, as a base-2 logarithm.
    pub epsilon_log2: f64,
}

impl Occupancy {
    /// Reads the counters of `pool` and `stock`.
    pub fn of<T: Copy + Zeroize, R: Copy + Zeroize>(
        pool: &Pool<T>,
        stock: &Stock<R>,
        epsilon_log2: f64,
    ) -> Self {
        let capacity = pool.capacity() as u64;
        Self {
            capacity,
            level: capacity,
            stock: stock.level() as u64,
            consumed: stock.consumed(),
            refilled: pool.refilled(),
            buckets: pool.buckets(),
            epsilon_log2,
        }
    }
}
