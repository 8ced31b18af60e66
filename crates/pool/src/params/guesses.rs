//! Guesses that cost a garbler of POOL-JIMU nothing: what its surviving bad items come to if some pass
//! for good. The argument is in `docs/protocols/jimu.md`.

use super::jimu::{MAX_BAD_ITEMS, check};
use super::recurrence::{draw_log2, sum_log2};
use super::{ParamsError, PoolParams, check_bucket};

/// Where bad items of one pool come to lie over its life. Each is the base-2 logarithm of an average, that
/// they were not caught included, for the number of bad items that makes it most.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Guesses {
    /// Bad items that are drawn into buckets.
    pub all_log2: f64,
    /// Of these, the ones in *contested* buckets, of which at least half is bad: what they output may
    /// win the vote.
    pub contested_log2: f64,
    /// *Lost* buckets, of which more than half is bad: they may output the other label of a wire, and are
    /// right only because this gives Delta away.
    pub lost_log2: f64,
    /// Pairs of a lost bucket and a bad item anywhere, which may hide that.
    pub hiding_log2: f64,
}

/// The guesses that a pool with `params` gives to a garbler.
///
/// `b` bad items are drawn into at most `b` buckets, and the fewer are left in the pool, the less often two
/// of them meet.
///
/// # Errors
/// Arguments out of range.
pub fn jimu_guesses(params: &PoolParams, detection: f64) -> Result<Guesses, ParamsError> {
    check(params.pool, params.epsilon_log2, detection)?;
    check_bucket(params.bucket)?;
    let none = f64::NEG_INFINITY;
    let mut most =
        Guesses { all_log2: none, contested_log2: none, lost_log2: none, hiding_log2: none };
    for (bad, passed) in survivors(params, detection) {
        let [items, lost] = meetings(params.pool, params.bucket, bad);
        let bad = (bad as f64).log2();
        for (most, here) in [
            (&mut most.all_log2, bad),
            (&mut most.contested_log2, items),
            (&mut most.lost_log2, lost),
            (&mut most.hiding_log2, lost + bad),
        ] {
            *most = most.max(passed + here);
        }
    }
    Ok(most)
}

/// `log2` of how many items in contested buckets, and of how many lost buckets, `bad` items in a pool come
/// to at most until all of them are drawn, on average.
fn meetings(pool: u64, bucket: u32, bad: u64) -> [f64; 2] {
    let (draw, bucket) = (draw_log2(pool, bucket, bad), bucket as usize);
    let draws = (bad as f64).log2() - sum_log2(draw[1..].iter().copied());
    let half = bucket.div_ceil(2)..=bucket;
    let items = sum_log2(half.map(|count| draw[count] + (count as f64).log2()));
    [draws + items, draws + sum_log2(draw[bucket / 2 + 1..].iter().copied())]
}

/// Numbers of bad items, and `log2` of the chance that all of them pass their check; up to a number that
/// passes so seldom that more of them do not matter.
fn survivors(params: &PoolParams, detection: f64) -> impl Iterator<Item = (u64, f64)> {
    let pass = (-params.check_rate * detection).ln_1p() / std::f64::consts::LN_2;
    let most = (64.0 / -pass).ceil().min(MAX_BAD_ITEMS as f64).min(params.pool as f64) as u64;
    (1..=most).map(move |bad| (bad, bad as f64 * pass))
}

#[cfg(test)]
mod tests {
    use super::super::jimu;
    use super::*;

    /// Sizes of pools from the smallest to `largest`, half a bit apart; and the last before each smaller
    /// bucket, where fewest are checked.
    fn sizes(epsilon_log2: f64, detection: f64, largest: u64) -> Vec<PoolParams> {
        let derive = |pool: u64| jimu(pool, epsilon_log2, detection).ok();
        let steps = (10..60).map(|step| (f64::from(step) / 2.0).exp2() as u64);
        let mut found: Vec<PoolParams> = Vec::new();
        for next in steps.filter(|pool| *pool < largest).chain([largest]).filter_map(derive) {
            if let Some(last) = found.last().copied().filter(|last| last.bucket > next.bucket) {
                let (mut low, mut high) = (last.pool, next.pool);
                while low + 1 < high {
                    let middle = low + (high - low) / 2;
                    let same = derive(middle).is_some_and(|found| found.bucket == last.bucket);
                    if same { low = middle } else { high = middle }
                }
                found.extend(derive(low));
            }
            found.push(next);
        }
        found
    }

    #[test]
    fn items_of_a_simulated_pool_meet_as_counted() {
        let mut state = 0x2545_f491_4f6c_dd1du64;
        let mut below = |n: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % n
        };
        for (pool, bucket, bad) in [(12, 3, 4), (20, 4, 6), (30, 5, 5)] {
            let (games, mut items, mut lost) = (20_000, 0u64, 0u64);
            for _ in 0..games {
                let mut left = bad;
                while left > 0 {
                    let (mut rest, mut drawn) = (left, 0);
                    for member in 0..bucket {
                        let hit = below(pool - member) < rest;
                        (rest, drawn) = (rest - u64::from(hit), drawn + u64::from(hit));
                    }
                    items += if 2 * drawn >= bucket { drawn } else { 0 };
                    lost += u64::from(2 * drawn > bucket);
                    left = rest;
                }
            }
            // Counted as if none were drawn before the last.
            let counted = meetings(pool, bucket as u32, bad).map(f64::exp2);
            for (found, counted) in [items, lost].into_iter().zip(counted) {
                let share = found as f64 / f64::from(games) / counted;
                assert!(share < 1.0 && share > 0.15, "{pool}, {bucket}, {bad}: {share}");
            }
        }
    }

    /// The figures of docs/protocols/jimu.md, for all sizes that sessions take.
    #[test]
    fn bad_items_seldom_meet_whatever_the_size() {
        for (epsilon, largest, most) in [
            // ANDs, in compact storage; cores of multiplexers; at 2^-64 and 2^-80.
            (-41.0, 1 << 30, [6.2, -7.2, -14.3, -7.8]),
            (-44.0, 1_250_000, [4.2, -10.2, -16.2, -10.2]),
            (-65.0, 1 << 30, [5.8, -15.9, -23.2, -18.2]),
            (-81.0, 1 << 30, [6.5, -24.4, -29.2, -23.9]),
        ] {
            let sizes = sizes(epsilon, 0.5, largest);
            let all: Vec<Guesses> =
                sizes.iter().map(|params| jimu_guesses(params, 0.5).expect("in range")).collect();
            let of = |g: &Guesses| [g.all_log2, g.contested_log2, g.lost_log2, g.hiding_log2];
            for figure in 0..4 {
                let found = all.iter().map(of).map(|g| g[figure]).fold(f64::NEG_INFINITY, f64::max);
                let near = found <= most[figure] && found > most[figure] - 0.1;
                assert!(near, "2^{epsilon}: {found} is not just below {}", most[figure]);
            }
        }
    }
}
