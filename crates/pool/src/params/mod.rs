//! Bucket sizes and check rates derived from the pool size and the error bound.
//!
//! POOL section 4: a peer that got `b` bad items past the guard of a pool of `n` ever wins with
//! probability `P_B(n, b)`, the chance that some bucket of `B` holds bad items only. Each bad item
//! is let through with probability `1 - r_c r_d` (checked at rate `r_c`, a check detects at rate
//! `r_d`). What is derived here keeps
//!
//! ```text
//! max over b of (1 - r_c r_d)^b * P_B(n, b)  <=  epsilon
//! ```
//!
//! for the life of the pool. Leaky ANDs (POOL-WRK, figure 8) are all checked, `r_c r_d = 1/2`, and
//! stay usable, so the smallest `B` wins; garbled ANDs (POOL-JIMU, figure 2) are spent by a check,
//! so `B / (1 - r_c)` is minimised. [`hash_codes`] has the codes that make the hash of `jimu` binding
//! to the same epsilon. `docs/parameters.md` holds the tables, what they say about the paper's own,
//! and the limits of the argument.
//!
//! Every bound is handled by its base-2 logarithm: `epsilon_log2 = -40.0` asks for an error of at
//! most 2^-40.

mod adaptive;
mod code;
mod guesses;
mod jimu;
mod one_shot;
mod recurrence;
mod wrk;

use serde::Serialize;

pub use code::{Code, HashCodes, hash_codes};
pub use guesses::{Guesses, jimu_guesses};
pub use jimu::{jimu, jimu_adaptive_error_log2, jimu_with_bucket};
pub use one_shot::{OneShotParams, one_shot, one_shot_bucket, one_shot_minimum_batch};
pub use wrk::{wrk_adaptive_error_log2, wrk_bucket, wrk_error_log2, wrk_minimum_pool};

/// Largest pool or batch size that is handled: above it the logarithms lose the last items of a
/// threshold.
pub const MAX_ITEMS: u64 = 1 << 48;

/// Largest bucket that is handled; no sensible bound needs as many.
pub const MAX_BUCKET: u32 = 256;

/// Smallest bucket: a bucket of one item has no redundancy (POOL section 4, remark 1).
pub const MIN_BUCKET: u32 = 2;

/// Parameters of a pool and the bound that they keep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PoolParams {
    /// Items in the pool, `n`.
    pub pool: u64,
    /// Error bound that was asked for, as a base-2 logarithm.
    pub epsilon_log2: f64,
    /// Items in a bucket, `B`.
    pub bucket: u32,
    /// Share of all items that is checked on entry, `r_c`, from 0 to 1.
    pub check_rate: f64,
    /// Items made for one bucket on average: `B` where checked items stay usable, else `B / (1 - r_c)`.
    pub gates_per_and: f64,
    /// The bound that these parameters reach, as a base-2 logarithm; at most `epsilon_log2`.
    pub error_log2: f64,
}

/// Why no parameters could be derived.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// The error bound is not a number from 2^-256 to 2^-1.
    #[error("the error bound 2^{0} is out of range: choose epsilon between 2^-256 and 2^-1")]
    Epsilon(f64),
    /// Even a bucket of the whole pool misses the bound.
    #[error(
        "a pool of {pool} items is too small for an error of 2^{epsilon_log2}: it needs at least {minimum} items"
    )]
    PoolTooSmall {
        /// Size that was asked for.
        pool: u64,
        /// Bound that was asked for.
        epsilon_log2: f64,
        /// Smallest size for which any bucket reaches the bound.
        minimum: u64,
    },
    /// The pool or batch is empty or holds more than [`MAX_ITEMS`] items.
    #[error("{0} items are out of range: choose from 1 to 2^48")]
    Items(u64),
    /// The bucket size is below [`MIN_BUCKET`] or above [`MAX_BUCKET`].
    #[error("a bucket of {0} is out of range: choose from 2 to 256")]
    Bucket(u32),
    /// The detection rate is not above 0 and at most 1.
    #[error("the detection rate {0} is out of range: choose above 0 and at most 1")]
    Detection(f64),
    /// No check rate below 1 makes this bucket reach the bound on this pool.
    #[error(
        "buckets of {bucket} on a pool of {pool} items cannot reach an error of 2^{epsilon_log2}: take larger buckets or a larger pool"
    )]
    BucketTooSmall {
        /// Bucket size that was asked for.
        bucket: u32,
        /// Size of the pool.
        pool: u64,
        /// Bound that was asked for.
        epsilon_log2: f64,
    },
    /// The bound needs more than [`MAX_ITEMS`] items at this bucket size.
    #[error(
        "buckets of {bucket} need more than 2^48 items for an error of 2^{epsilon_log2}: take larger buckets"
    )]
    Unreachable {
        /// Bucket size that was asked for.
        bucket: u32,
        /// Bound that was asked for.
        epsilon_log2: f64,
    },
    /// No code over a field that is handled binds to this bound.
    #[error("no code makes the interactive hash binding to 2^-{0}: choose 40, 64 or 80")]
    Binding(u32),
}

/// A bound as it is shown: `log2` with this many decimals, and never a better one than it is.
#[must_use]
pub fn shown_log2(log2: f64, decimals: u32) -> f64 {
    let scale = 10f64.powi(decimals as i32);
    // Of a number of so few digits, the last ones of its product with the scale are noise.
    let scaled = log2 * scale;
    let near = scaled.round();
    if (scaled - near).abs() < 1e-6 { near / scale } else { scaled.ceil() / scale }
}

/// Refuses bounds for which the searches would be meaningless or endless.
fn check_epsilon(epsilon_log2: f64) -> Result<(), ParamsError> {
    if (-256.0..=-1.0).contains(&epsilon_log2) {
        Ok(())
    } else {
        Err(ParamsError::Epsilon(epsilon_log2))
    }
}

fn check_items(items: u64) -> Result<(), ParamsError> {
    if (1..=MAX_ITEMS).contains(&items) { Ok(()) } else { Err(ParamsError::Items(items)) }
}

fn check_bucket(bucket: u32) -> Result<(), ParamsError> {
    if (MIN_BUCKET..=MAX_BUCKET).contains(&bucket) {
        Ok(())
    } else {
        Err(ParamsError::Bucket(bucket))
    }
}

/// Bad items beyond this many are useless to a cheater when each is let through with probability
/// 1/2: the chance that they all pass is already below epsilon.
fn useful_bad_items(epsilon_log2: f64) -> u64 {
    (-epsilon_log2).ceil() as u64
}

/// Smallest value in `low..=MAX_ITEMS` for which `sound` holds, where `sound` never turns false
/// again; `None` if there is none.
fn smallest_sound(low: u64, sound: impl Fn(u64) -> bool) -> Option<u64> {
    let mut high = low;
    while !sound(high) {
        if high == MAX_ITEMS {
            return None;
        }
        high = (high * 2).min(MAX_ITEMS);
    }
    let mut low = low;
    while low < high {
        let middle = low + (high - low) / 2;
        if sound(middle) { high = middle } else { low = middle + 1 }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::shown_log2;

    #[test]
    fn a_bound_is_never_shown_better_than_it_is() {
        for (log2, decimals, shown) in [
            (-38.775, 1, "-38.7"),
            (-78.557, 1, "-78.5"),
            (-38.7, 1, "-38.7"),
            (-38.7001, 1, "-38.7"),
            (-40.0, 1, "-40"),
            (-40.0, 3, "-40"),
            (-40.000_01, 0, "-40"),
            (-39.999, 0, "-39"),
            (-38.774_9, 3, "-38.774"),
            (-38.775, 3, "-38.775"),
        ] {
            let found = shown_log2(log2, decimals);
            assert_eq!(found.to_string(), shown, "{log2} with {decimals}");
        }
        for step in 0..2000 {
            let log2 = -40.0 + f64::from(step) * 0.001_37;
            for decimals in 0..4 {
                let by = shown_log2(log2, decimals) - log2;
                assert!(by >= -1e-9 && by < 0.1f64.powi(decimals as i32), "{log2}: {by}");
                // What was rounded stays.
                let shown = shown_log2(log2, decimals);
                assert_eq!(shown_log2(shown, decimals), shown);
            }
        }
    }
}
