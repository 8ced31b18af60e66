//! POOL-JIMU: garbled ANDs, of which a share is opened on entry and thereby spent (POOL section 4,
//! figure 2).

use std::f64::consts::LN_2;

use super::adaptive;
use super::recurrence::LifetimeOdds;
use super::{
    MAX_BUCKET, MIN_BUCKET, ParamsError, PoolParams, check_bucket, check_epsilon, check_items,
};

/// A pair this much above the least cost still counts as cheapest.
const NEAR: f64 = 1.01;

/// Bad items after which the recurrence is no longer followed; see [`smallest_rate`].
pub(super) const MAX_BAD_ITEMS: u64 = 1 << 18;

/// The pair of bucket and check rate that keeps `max_b (1 - r_c r_d)^b P_B(pool, b) <=
/// 2^epsilon_log2` at the least number of garbled gates made per bucket, `B / (1 - r_c)`: the search
/// of figure 2. Among pairs within 1 % of the least it takes the smallest bucket, because all that
/// follows the pool (solders, evaluation) costs in proportion to the bucket; that is also the
/// choice of the paper's table 3.
///
/// `pool` counts garbled ANDs; `detection` is `r_d`, the chance that checking a bad gate shows it
/// (1/2 in JIMU).
///
/// # Errors
/// [`ParamsError::PoolTooSmall`] if no pair reaches the bound; arguments out of range.
pub fn jimu(pool: u64, epsilon_log2: f64, detection: f64) -> Result<PoolParams, ParamsError> {
    check(pool, epsilon_log2, detection)?;
    let mut found: Vec<PoolParams> = Vec::new();
    let mut least = f64::INFINITY;
    for bucket in MIN_BUCKET..=MAX_BUCKET {
        // Step 5: a larger bucket costs more than the best so far even with no check at all.
        if least < f64::from(bucket) {
            break;
        }
        if let Some(pair) = with_bucket(pool, bucket, epsilon_log2, detection) {
            least = least.min(pair.gates_per_and);
            found.push(pair);
        }
    }
    found.into_iter().find(|pair| pair.gates_per_and <= NEAR * least).ok_or_else(|| {
        let minimum =
            (epsilon_log2 / (1.0 - detection).max(f64::MIN_POSITIVE).log2()).floor() as u64 + 1;
        ParamsError::PoolTooSmall { pool, epsilon_log2, minimum }
    })
}

/// The smallest check rate for a given bucket size, cheapest or not: steps 1 and 2 of figure 2.
///
/// # Errors
/// [`ParamsError::BucketTooSmall`] if even checking nearly everything does not help; arguments out
/// of range.
pub fn jimu_with_bucket(
    pool: u64,
    bucket: u32,
    epsilon_log2: f64,
    detection: f64,
) -> Result<PoolParams, ParamsError> {
    check(pool, epsilon_log2, detection)?;
    check_bucket(bucket)?;
    with_bucket(pool, bucket, epsilon_log2, detection).ok_or(ParamsError::BucketTooSmall {
        bucket,
        pool,
        epsilon_log2,
    })
}

/// The bound of `params` against a cheater that also brings bad gates in *later*, when it sees that it
/// still needs them: see [`wrk_adaptive_error_log2`](super::wrk_adaptive_error_log2).
///
/// # Errors
/// Arguments out of range.
pub fn jimu_adaptive_error_log2(params: &PoolParams, detection: f64) -> Result<f64, ParamsError> {
    check(params.pool, params.epsilon_log2, detection)?;
    check_bucket(params.bucket)?;
    let pass = 1.0 - params.check_rate * detection;
    // More bad gates at once than this pass with less than a thousandth of the bound.
    let most = ((params.error_log2 - 10.0) / pass.log2()).ceil().min(MAX_BAD_ITEMS as f64) as u64;
    let value = adaptive::value_log2(params.pool, params.bucket, pass, most);
    Ok(value.max(params.error_log2))
}

pub(super) fn check(pool: u64, epsilon_log2: f64, detection: f64) -> Result<(), ParamsError> {
    check_epsilon(epsilon_log2)?;
    check_items(pool)?;
    if detection > 0.0 && detection <= 1.0 {
        Ok(())
    } else {
        Err(ParamsError::Detection(detection))
    }
}

fn with_bucket(pool: u64, bucket: u32, epsilon_log2: f64, detection: f64) -> Option<PoolParams> {
    if u64::from(bucket) > pool {
        return None;
    }
    let check_rate = smallest_rate(pool, bucket, epsilon_log2, detection)?;
    let gates_per_and = f64::from(bucket) / (1.0 - check_rate);
    // The smallest rate gives the whole bound away.
    let error_log2 = epsilon_log2;
    Some(PoolParams { pool, epsilon_log2, bucket, check_rate, gates_per_and, error_log2 })
}

/// Smallest check rate below 1 that keeps the bound.
///
/// For one `b` the condition solves to `r_c >= (1 - (epsilon / P_b)^(1/b)) / r_d`, so the smallest
/// rate is the largest right-hand side: no bisection. All `b` from some point on ask for at most
/// `(1 - epsilon^(1/b)) / r_d`, as `P_b <= 1`; once that falls to the rate found so far, the rest
/// cannot matter (the paper's `b_0` and its halving of `r_0`, in one step). Should this take more
/// than 2^18 bad items, that right-hand side itself is returned, which is sound and at most a few
/// parts in ten thousand too large.
fn smallest_rate(pool: u64, bucket: u32, epsilon_log2: f64, detection: f64) -> Option<f64> {
    let needed = |odds_log2: f64, bad: u64| {
        -((epsilon_log2 - odds_log2) / bad as f64 * LN_2).exp_m1() / detection
    };
    let mut rate = 0.0f64;
    for (bad, odds) in LifetimeOdds::new(pool, bucket) {
        rate = rate.max(needed(odds, bad));
        let rest = needed(0.0, bad);
        if rate >= 1.0 || rest <= rate {
            break;
        }
        if bad >= MAX_BAD_ITEMS {
            rate = rest;
            break;
        }
    }
    (rate < 1.0).then_some(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPSILON: f64 = -41.0;

    fn close(rate: f64, percent: f64) -> bool {
        (100.0 * rate - percent).abs() < 0.1
    }

    #[test]
    fn check_rates_of_table_3_and_section_7_3() {
        // Table 3: 10K 12.2 %, 100K 5.5 %, 1M 5.5 %, 10M 26.5 %; section 7.3: 35K 12.5 %, 35M 12.3 %. At 2^-41,
        // not 2^-40.
        let rows = [
            (10_000, 6, 12.2),
            (35_000, 5, 12.5),
            (100_000, 5, 5.5),
            (1_000_000, 4, 5.5),
            (10_000_000, 3, 26.5),
            (35_000_000, 3, 12.3),
        ];
        for (pool, bucket, percent) in rows {
            let found = jimu(pool, EPSILON, 0.5).expect("reachable");
            assert_eq!(found.bucket, bucket, "n={pool}");
            assert!(close(found.check_rate, percent), "n={pool}: {}", found.check_rate);
            assert!(
                (found.gates_per_and - f64::from(bucket) / (1.0 - found.check_rate)).abs() < 1e-12
            );
            let at_40 = jimu_with_bucket(pool, bucket, -40.0, 0.5).expect("reachable");
            assert!(
                !close(at_40.check_rate, percent),
                "2^-40 gives another rate: {}",
                at_40.check_rate
            );
        }
    }

    #[test]
    fn a_smaller_bucket_wins_when_it_costs_hardly_more() {
        // At ten million the least cost is that of B = 4 with 1.0 %, 4.041 gates; the table's B = 3
        // needs 4.077.
        let least = jimu_with_bucket(10_000_000, 4, EPSILON, 0.5).expect("reachable");
        assert!(close(least.check_rate, 1.0), "{}", least.check_rate);
        let found = jimu(10_000_000, EPSILON, 0.5).expect("reachable");
        assert_eq!(found.bucket, 3);
        assert!(found.gates_per_and > least.gates_per_and);
        assert!(found.gates_per_and < 1.01 * least.gates_per_and);
    }

    #[test]
    fn the_rate_is_the_smallest_that_keeps_the_bound() {
        let error = |pool, bucket, rate: f64| {
            let odds = LifetimeOdds::new(pool, bucket).take(2_000);
            odds.map(|(bad, p)| p + bad as f64 * (1.0 - rate / 2.0).log2())
                .fold(f64::NEG_INFINITY, f64::max)
        };
        for (pool, bucket) in [
            (2_000, 7),
            (10_000, 6),
            (35_000, 5),
            (100_000, 5),
            (1_000_000, 4),
            (10_000_000, 3),
            (35_000_000, 3),
        ] {
            let rate = jimu_with_bucket(pool, bucket, EPSILON, 0.5).expect("reachable").check_rate;
            assert!(error(pool, bucket, rate) <= EPSILON + 1e-9);
            assert!(error(pool, bucket, rate - 1e-4) > EPSILON);
        }
    }

    #[test]
    fn a_cheater_that_tops_up_gains_less_than_a_third_of_a_bit() {
        for pool in [10_000, 35_000, 100_000, 1_000_000, 10_000_000] {
            let found = jimu(pool, EPSILON, 0.5).expect("reachable");
            let adaptive = jimu_adaptive_error_log2(&found, 0.5).expect("in range");
            let gain = adaptive - found.error_log2;
            assert!(gain > 0.1 && gain < 0.3, "n={pool}: {gain}");
        }
    }

    #[test]
    fn full_detection_halves_the_rate() {
        let half = jimu_with_bucket(100_000, 5, EPSILON, 0.5).expect("reachable").check_rate;
        let full = jimu_with_bucket(100_000, 5, EPSILON, 1.0).expect("reachable").check_rate;
        assert!((half - 2.0 * full).abs() < 1e-12);
    }

    #[test]
    fn every_size_gets_an_answer() {
        let mut cost = f64::INFINITY;
        for shift in 0..=40 {
            match jimu(1 << shift, EPSILON, 0.5) {
                Ok(p) => {
                    assert!(shift >= 6 && p.check_rate > 0.0 && p.check_rate < 1.0);
                    assert!(
                        p.gates_per_and <= cost + 1e-3,
                        "a larger pool is never dearer: 2^{shift}"
                    );
                    cost = p.gates_per_and;
                }
                Err(ParamsError::PoolTooSmall { minimum, .. }) => {
                    assert!(shift < 6 && minimum == 42)
                }
                Err(e) => panic!("{e}"),
            }
        }
        assert!(jimu(41, EPSILON, 0.5).is_err() && jimu(42, EPSILON, 0.5).is_ok());
        // Of three in four that are found out, a quarter passes.
        let Err(ParamsError::PoolTooSmall { minimum, .. }) = jimu(2, -40.0, 0.75) else {
            panic!("a pool of two items")
        };
        assert_eq!(minimum, 21);
    }

    #[test]
    fn a_bucket_may_take_the_whole_pool_and_no_more() {
        // The one draw takes all three, of which a cheater makes all bad: half of them are checked at 2^-3.
        let whole = jimu_with_bucket(3, 3, -3.0, 1.0).expect("reachable");
        assert!((whole.check_rate - 0.5).abs() < 1e-12, "{whole:?}");
        let beyond = jimu_with_bucket(2, 3, -1.0, 1.0);
        assert!(matches!(beyond, Err(ParamsError::BucketTooSmall { bucket: 3, .. })));
    }

    #[test]
    fn arguments_out_of_range_are_refused() {
        assert!(matches!(jimu(1000, EPSILON, 0.0), Err(ParamsError::Detection(_))));
        assert!(matches!(jimu(1000, EPSILON, f64::NAN), Err(ParamsError::Detection(_))));
        assert!(matches!(jimu(0, EPSILON, 0.5), Err(ParamsError::Items(0))));
        assert!(matches!(jimu_with_bucket(1000, 1, EPSILON, 0.5), Err(ParamsError::Bucket(1))));
        assert!(matches!(
            jimu_with_bucket(10_000, 3, EPSILON, 0.5),
            Err(ParamsError::BucketTooSmall { bucket: 3, .. })
        ));
    }
}
