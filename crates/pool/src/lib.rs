//! Stock of preprocessed items: parameter search, draw, refill, occupancy.
//!
//! A *pool* holds `n` items of which a cheating peer may have spoiled a few. Before an item is used
//! it is combined with others into a *bucket*, drawn at random, that is good as long as one of its
//! items is good. The pool is refilled for every bucket drawn, so that it serves requests without
//! end, and one error bound epsilon holds for its whole life ("POOL: Scalable On-Demand Secure
//! Computation Service Against Malicious Adversaries", CCS 2017).
//!
//! [`params`] derives the bucket size from `n` and epsilon; [`Pool`] is the pool, [`Stock`] the
//! queue of finished items formed ahead of requests, [`Lease`] what one request reserved of it; a
//! [`Journal`] sees whatever leaves either before it does. What outlives a process is in a [`Store`], on
//! disk a [`DiskStore`] ([`disk`]). The crate knows no protocol: what an item
//! is and how a bucket is combined is its user's matter.
//!
//! ```
//! use cenote_pool::{Draws, Journal, MemoryJournal, Pool, Stock, params};
//! use cenote_prim::Block;
//!
//! let bucket = params::wrk_bucket(1_073, -40.0)?.bucket as usize;
//! let mut pool = Pool::full("pool", 1_073, (0..1_073u64).collect())?;
//! let (mut ready, mut journal) = (Stock::new("ready", 1), MemoryJournal::default());
//!
//! // Fresh items first; then both parties toss the coin that chooses positions.
//! let mut items: Vec<u64> = (2_000..).take(4 * bucket).collect();
//! let mut coin = 7u64;
//! let coins = || {
//!     coin = coin.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
//!     coin
//! };
//! let mut draws = Draws::new(bucket, pool.capacity())?;
//! draws.draw(4, coins);
//! pool.exchange(&mut journal, &draws, &mut items)?;
//!
//! // The protocol combines each bucket into one finished item; requests lease those.
//! for (item, members) in ready.room(4).iter_mut().zip(items.chunks(bucket)) {
//!     *item = Block::new(members.iter().sum::<u64>().into());
//! }
//! let lease = ready.reserve(&mut journal, 3)?;
//! assert_eq!(lease.items().len(), 3);
//! drop(lease);
//! assert_eq!((ready.level(), journal.consumed("ready")), (1, 3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Its users are the backends with pools, `wrk` and `jimu` of `engine`. Start with the example and [`params`].

pub mod disk;
pub mod params;
mod store;

#[cfg(feature = "test-util")]
pub use disk::SimulatedDisk;
pub use disk::{DiskStore, StoreKey};
pub use store::{
    Draws, FailureKind, Journal, Lease, Leaving, Ledger, Level, MOST_STRIDE, MemoryJournal, Name,
    Occupancy, Pool, PoolError, Refused, Stock, Store, StoreError, StoreFailure, shuffle,
};
