//! How full a pool and a stock are.

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use super::full_pool::Pool;
use super::stock::Stock;

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
