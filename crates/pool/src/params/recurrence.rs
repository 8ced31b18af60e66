//! The recurrence of POOL section 4, in base-2 logarithms.

use std::collections::VecDeque;

/// `log2 C(n, 0) ..= log2 C(n, top)`, as sums of logarithms of ratios: unlike differences of
/// log-gamma this keeps full precision at `n = 2^48`. Entries beyond `n` are minus infinity.
pub(super) fn binomials_log2(n: u64, top: u32) -> Vec<f64> {
    let mut row = Vec::with_capacity(top as usize + 1);
    let mut sum = 0.0;
    row.push(sum);
    for j in 0..u64::from(top) {
        let ratio = if j < n { (n - j) as f64 / (j + 1) as f64 } else { 0.0 };
        sum += ratio.log2();
        row.push(sum);
    }
    row
}

/// `log2 C(n, k)`.
pub(super) fn binomial_log2(n: u64, k: u32) -> f64 {
    binomials_log2(n, k)[k as usize]
}

/// `log2` of the sum of the terms' powers of two.
pub(super) fn sum_log2(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + terms.map(|t| (t - top).exp2()).sum::<f64>().log2()
}

/// One draw of a bucket from a pool in which `bad` items are bad: `log2` of the chance to take
/// exactly `i` bad ones, for `i` from 0 to the bucket size.
pub(super) fn draw_log2(pool: u64, bucket: u32, bad: u64) -> Vec<f64> {
    let from_good = binomials_log2(pool - bad, bucket);
    let from_bad = binomials_log2(bad, bucket);
    let all = binomial_log2(pool, bucket);
    from_bad.iter().zip(from_good.iter().rev()).map(|(i, rest)| i + rest - all).collect()
}

/// Yields `(b, log2 P_B(n, b))` for `b = B, B + 1, .., n`.
///
/// Below `B` the probability is zero. A draw without any bad item changes nothing in a pool that is
/// refilled, so the term `i = 0` of the paper's sum is a loop onto itself; it is divided out: `P_k
/// = (h_B + sum_{0<i<B} h_i P_{k-i}) / sum_{0<i<=B} h_i`, where the denominator is `1 - h_0`
/// without its cancellation.
pub(super) struct LifetimeOdds {
    pool: u64,
    bucket: u32,
    bad: u64,
    /// `log2 P(k - 1), log2 P(k - 2), ..`, newest first, `bucket - 1` of them.
    last: VecDeque<f64>,
}

impl LifetimeOdds {
    pub(super) fn new(pool: u64, bucket: u32) -> Self {
        let last = vec![f64::NEG_INFINITY; bucket as usize - 1].into();
        Self { pool, bucket, bad: u64::from(bucket), last }
    }
}

impl Iterator for LifetimeOdds {
    type Item = (u64, f64);

    fn next(&mut self) -> Option<Self::Item> {
        if self.bad > self.pool {
            return None;
        }
        let draw = draw_log2(self.pool, self.bucket, self.bad);
        let (at_once, taken) = (draw[self.bucket as usize], &draw[1..]);
        let later = taken.iter().zip(&self.last).map(|(h, p)| h + p);
        let odds = sum_log2(later.chain([at_once])) - sum_log2(taken.iter().copied());
        self.last.pop_back();
        self.last.push_front(odds);
        self.bad += 1;
        Some((self.bad - 1, odds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plain arithmetic for small pools, independent of the logarithms.
    fn direct(pool: u64, bucket: u64) -> Vec<f64> {
        fn choose(n: u64, k: u64) -> f64 {
            if k > n { 0.0 } else { (0..k).map(|j| (n - j) as f64 / (j + 1) as f64).product() }
        }
        let mut odds = vec![0.0; pool as usize + 1];
        for k in bucket..=pool {
            let h = |i| choose(pool - k, bucket - i) * choose(k, i) / choose(pool, bucket);
            let later: f64 = (1..bucket).map(|i| h(i) * odds[(k - i) as usize]).sum();
            odds[k as usize] = (h(bucket) + later) / (1.0 - h(0));
        }
        odds
    }

    #[test]
    fn agrees_with_plain_arithmetic_on_small_pools() {
        for (pool, bucket) in [(2, 2), (5, 3), (12, 2), (12, 4), (40, 3), (40, 7), (90, 5)] {
            let expected = direct(pool, u64::from(bucket));
            let mut seen = 0;
            for (bad, odds) in LifetimeOdds::new(pool, bucket) {
                let relative = odds.exp2() / expected[bad as usize] - 1.0;
                assert!(relative.abs() < 1e-11, "n={pool} B={bucket} b={bad}: off by {relative}");
                seen += 1;
            }
            assert_eq!(seen, pool - u64::from(bucket) + 1);
        }
    }

    #[test]
    fn agrees_with_a_simulated_pool() {
        // 3 bad items among 8, buckets of 2: play the game many times with a fixed generator.
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut coin = |n: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % n
        };
        let (games, mut wins) = (200_000, 0u32);
        for _ in 0..games {
            let mut bad = 3;
            while bad >= 2 {
                let first = coin(8) < bad;
                let second = coin(7) < bad - u64::from(first);
                if first && second {
                    wins += 1;
                    break;
                }
                bad -= u64::from(first) + u64::from(second);
            }
        }
        let (_, odds) = LifetimeOdds::new(8, 2).nth(1).expect("three bad items");
        let (rate, expected) = (f64::from(wins) / f64::from(games), odds.exp2());
        assert!((rate - expected).abs() < 0.005, "{rate} against {expected}");
    }

    #[test]
    fn a_draw_is_a_distribution_even_of_huge_pools() {
        for (pool, bucket, bad) in
            [(10, 3, 4), (1 << 20, 4, 77), (1 << 48, 5, 3), (1 << 48, 3, 1 << 47)]
        {
            let total = sum_log2(draw_log2(pool, bucket, bad).into_iter());
            assert!(total.abs() < 1e-9, "n={pool}: {total}");
        }
    }

    #[test]
    fn more_bad_items_never_hurt_the_cheater() {
        let odds: Vec<f64> = LifetimeOdds::new(500, 4).map(|(_, p)| p).collect();
        assert!(odds.windows(2).all(|w| w[0] <= w[1] + 1e-12));
        assert!(odds.last().expect("not empty").abs() < 1e-12, "all items bad: certain");
    }
}
