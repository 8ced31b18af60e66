//! Stock of preprocessed items: parameter search, draw, refill, occupancy.
//!
//! A *pool* holds `n` items of which a cheating peer may have spoiled a few. Before an item is used
//! it is combined with others into a *bucket*, drawn at random, that is good as long as one of its
//! items is good. The pool is refilled for every bucket drawn, so that it serves requests without
//! end, and one error bound epsilon holds for its whole life ("POOL: Scalable On-Demand Secure
//! Computation Service Against Malicious Adversaries", CCS 2017).
//!
//! [`params`] derives the bucket size from `n` and epsilon; [`Pool`] is the pool, [`Stock`] the
//! queue of finished items formed ahead of requests, [`Lease`] what one request reserved of it. The
//! crate knows no protocol: what an item is and how a bucket is combined is its user's matter.

pub mod params;
mod store;

pub use store::{Draws, Lease, Occupancy, Pool, Stock, StoreError, shuffle};
