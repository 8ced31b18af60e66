//! One batch without a pool: `N` buckets cut from exactly `N B` leaky ANDs (WRK17, section 4; POOL
//! table 6, "WRK").

use serde::Serialize;

use super::recurrence::{binomial_log2, binomials_log2};
use super::{
    MAX_BUCKET, MAX_ITEMS, MIN_BUCKET, ParamsError, check_bucket, check_epsilon, check_items,
    smallest_sound, useful_bad_items,
};

/// Parameters of a batch that is made, bucketed and used without a pool.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OneShotParams {
    /// Buckets in the batch, `N`: AND gates that it serves.
    pub batch: u64,
    /// Items in a bucket, `B`.
    pub bucket: u32,
    /// Leaky ANDs to make, `N B`.
    pub items: u64,
    /// The bound of [`one_shot`] for this batch, as a base-2 logarithm.
    pub error_log2: f64,
}

/// Returns the parameters of a batch of `batch` buckets of `bucket` items, with the bound that it
/// reaches, whatever that is.
///
/// The bound is `max_c 2^-c min(1, N C(c, B) / C(N B, B))`: `c` items are bad and all pass their
/// check, times the expected number of buckets with bad items only. `c` need not be a multiple of
/// `B`: spare bad items that land beside good ones stay unnoticed, so a cheater uses about `2B` of
/// them. Counting full buckets alone, `max_m C(N, m) / C(N B, m B) 2^-mB`, makes the same batch
/// look 1.3 (`B = 3`) to 3 bits (`B = 5`) better than it is; the sizes published for WRK (280K,
/// 3.1K and 320 at 2^-40) are thresholds of the bound used here.
///
/// # Errors
/// Arguments out of range; `batch * bucket` may not exceed 2^48.
pub fn one_shot(batch: u64, bucket: u32, epsilon_log2: f64) -> Result<OneShotParams, ParamsError> {
    check_epsilon(epsilon_log2)?;
    check_bucket(bucket)?;
    check_items(batch)?;
    let items = batch * u64::from(bucket);
    check_items(items)?;
    Ok(OneShotParams { batch, bucket, items, error_log2: error_log2(batch, bucket, epsilon_log2) })
}

/// Smallest bucket with which a batch of `batch` buckets keeps the error at or below
/// `2^epsilon_log2`.
///
/// # Errors
/// Arguments out of range. Any batch has an answer, small ones a costly one: see
/// [`one_shot_minimum_batch`].
pub fn one_shot_bucket(batch: u64, epsilon_log2: f64) -> Result<OneShotParams, ParamsError> {
    check_epsilon(epsilon_log2)?;
    check_items(batch)?;
    // As many items as epsilon has bits always suffice: to spoil a whole bucket is to pass as many
    // checks.
    (MIN_BUCKET..=MAX_BUCKET)
        .find(|&bucket| error_log2(batch, bucket, epsilon_log2) <= epsilon_log2)
        .ok_or(ParamsError::Epsilon(epsilon_log2))
        .and_then(|bucket| one_shot(batch, bucket, epsilon_log2))
}

/// Smallest number of buckets of `bucket` items that keeps the error at or below `2^epsilon_log2`;
/// smaller requests are padded to it.
///
/// # Errors
/// [`ParamsError::Unreachable`] if it would exceed 2^48 items; arguments out of range.
pub fn one_shot_minimum_batch(bucket: u32, epsilon_log2: f64) -> Result<u64, ParamsError> {
    check_epsilon(epsilon_log2)?;
    check_bucket(bucket)?;
    smallest_sound(1, |batch| error_log2(batch, bucket, epsilon_log2) <= epsilon_log2)
        .filter(|batch| *batch <= MAX_ITEMS / u64::from(bucket))
        .ok_or(ParamsError::Unreachable { bucket, epsilon_log2 })
}

fn error_log2(batch: u64, bucket: u32, epsilon_log2: f64) -> f64 {
    let items = batch.saturating_mul(u64::from(bucket));
    let most = useful_bad_items(epsilon_log2).max(u64::from(bucket)).min(items);
    let all = binomials_log2(items, bucket)[bucket as usize];
    (u64::from(bucket)..=most)
        .map(|bad| {
            let full_buckets = (batch as f64).log2() + binomial_log2(bad, bucket) - all;
            full_buckets.min(0.0) - bad as f64
        })
        .fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_batch_has_more_items_than_can_be_counted() {
        let sizes = (-120..-60).map(|log2| one_shot_minimum_batch(3, f64::from(log2)));
        let counted = |size: &Result<u64, _>| size.as_ref().is_ok_and(|n| *n > 1 << 46);
        assert!(
            sizes.clone().any(|size| counted(&size)) && sizes.clone().any(|size| size.is_err())
        );
        assert!(sizes.flatten().all(|batch| batch <= MAX_ITEMS / 3));
    }

    #[test]
    fn published_batches_are_thresholds_of_this_bound() {
        // POOL table 6, "minimal circuit size", quoted there from WRK.
        let rows = [(280_000, 3, -40.04), (3_100, 4, -40.08), (320, 5, -40.00)];
        for (batch, bucket, error) in rows {
            let found = one_shot(batch, bucket, -40.0).expect("in range");
            assert!((found.error_log2 - error).abs() < 0.01, "{found:?}");
            assert!(found.error_log2 <= -40.0);
            assert_eq!(one_shot_bucket(batch, -40.0), Ok(found));
            let minimum = one_shot_minimum_batch(bucket, -40.0).expect("in range");
            assert!(minimum <= batch && minimum > batch * 95 / 100, "{minimum}");
            assert_eq!(one_shot_bucket(minimum - 1, -40.0).expect("in range").bucket, bucket + 1);
        }
        for (batch, bucket) in [(1_200_000_000, 3), (780_000, 4), (21_000, 5)] {
            let error = one_shot(batch, bucket, -64.0).expect("in range").error_log2;
            assert!(error <= -64.0 && error > -64.2, "{error}");
        }
    }

    #[test]
    fn counting_full_buckets_alone_flatters_the_batch() {
        let full_buckets_only = |batch: u64, bucket: u32| {
            (1..=8u32)
                .map(|m| {
                    binomial_log2(batch, m)
                        - binomial_log2(batch * u64::from(bucket), m * bucket)
                        - f64::from(m * bucket)
                })
                .fold(f64::NEG_INFINITY, f64::max)
        };
        for (batch, bucket, flattered) in [(280_000, 3, -41.4), (3_100, 4, -42.2), (320, 5, -43.0)]
        {
            assert!((full_buckets_only(batch, bucket) - flattered).abs() < 0.05);
            assert!(one_shot(batch, bucket, -40.0).expect("in range").error_log2 > flattered + 1.0);
        }
        // 2^14 buckets of 5 pass for 2^-65.7 by that count, and do not reach 2^-64.
        assert!(full_buckets_only(1 << 14, 5) < -65.0);
        assert_eq!(one_shot_bucket(1 << 14, -64.0).expect("in range").bucket, 6);
    }

    #[test]
    fn agrees_with_enumeration_on_a_tiny_batch() {
        // 3 buckets of 2 items: place c bad items in all C(6, c) ways and count placements with a
        // full bad bucket.
        let mut worst = 0.0f64;
        for bad in 2..=6u32 {
            let placements: Vec<u32> = (0u32..64).filter(|set| set.count_ones() == bad).collect();
            let wins =
                placements.iter().filter(|set| (0..3).any(|b| (**set >> (2 * b)) & 3 == 3)).count();
            worst = worst.max((-f64::from(bad)).exp2() * wins as f64 / placements.len() as f64);
        }
        let bound = one_shot(3, 2, -10.0).expect("in range").error_log2.exp2();
        assert!(bound >= worst * (1.0 - 1e-9) && bound < 1.3 * worst, "{bound} bounds {worst}");
    }

    #[test]
    fn tiny_and_huge_batches_get_an_answer() {
        let one = one_shot_bucket(1, -40.0).expect("in range");
        assert_eq!((one.bucket, one.items), (40, 40));
        for shift in 0..=40 {
            let found = one_shot_bucket(1 << shift, -80.0).expect("in range");
            assert!(found.error_log2 <= -80.0);
        }
        assert!(matches!(one_shot_bucket(0, -40.0), Err(ParamsError::Items(0))));
        assert!(matches!(one_shot(1 << 48, 2, -40.0), Err(ParamsError::Items(_))));
        assert!(matches!(one_shot_minimum_batch(2, -80.0), Err(ParamsError::Unreachable { .. })));
    }

    #[test]
    fn larger_batches_are_never_worse() {
        for bucket in [2, 3, 5, 9] {
            let errors: Vec<f64> = (1..300).map(|batch| error_log2(batch, bucket, -40.0)).collect();
            let sound_from = errors.iter().position(|e| *e <= -40.0).unwrap_or(errors.len());
            assert!(errors[sound_from..].iter().all(|e| *e <= -40.0), "B={bucket}");
        }
    }
}
