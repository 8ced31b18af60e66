//! Random positions in a pool.

use std::fmt;

use super::StoreError;

/// Positions of a run of buckets: distinct within each bucket, uniform, below the capacity.
///
/// They are drawn ahead of the exchange so that the exchange is one loop over known addresses. The
/// coins are public and joint; the time taken depends on them alone.
#[derive(Clone)]
pub struct Draws {
    bucket: usize,
    capacity: usize,
    positions: Vec<u32>,
}

impl Draws {
    /// An empty run for buckets of `bucket` items from a pool of `capacity`.
    ///
    /// # Errors
    /// [`StoreError::Shape`] unless `1 <= bucket <= capacity < 2^32`.
    pub fn new(bucket: usize, capacity: usize) -> Result<Self, StoreError> {
        if bucket == 0 || bucket > capacity || u32::try_from(capacity).is_err() {
            return Err(StoreError::Shape { bucket, capacity });
        }
        Ok(Self { bucket, capacity, positions: Vec::new() })
    }

    /// Replaces the run by `buckets` newly drawn ones. `coins` yields uniform 64-bit words that
    /// neither party could foresee when the items now in the pool, and those of the coming refill,
    /// were fixed.
    pub fn draw(&mut self, buckets: usize, mut coins: impl FnMut() -> u64) {
        self.positions.clear();
        self.positions.resize(buckets * self.bucket, 0);
        for bucket in self.positions.chunks_exact_mut(self.bucket) {
            let mut drawn = 0;
            while drawn < bucket.len() {
                let position = below(self.capacity as u64, &mut coins);
                if !bucket[..drawn].contains(&position) {
                    bucket[drawn] = position;
                    drawn += 1;
                }
            }
        }
    }

    /// Positions, bucket after bucket.
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// Number of buckets in the run.
    pub fn buckets(&self) -> usize {
        self.positions.len() / self.bucket
    }

    /// Items in a bucket.
    pub fn bucket(&self) -> usize {
        self.bucket
    }

    /// Size of the pool that the positions are for.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

impl fmt::Debug for Draws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Draws({} x {} of {})", self.buckets(), self.bucket, self.capacity)
    }
}

/// Brings `items` into a uniformly random order (Fisher-Yates): how a batch without a pool is cut
/// into buckets. The same rule holds for the coins as in [`Draws::draw`].
pub fn shuffle<T>(items: &mut [T], mut coins: impl FnMut() -> u64) {
    // Places are drawn ahead of the exchanges, which would wait for the memory otherwise.
    let mut places = [0; 64];
    let mut end = items.len();
    while end > 1 {
        let first = end.saturating_sub(places.len()).max(1);
        for (last, place) in (first..end).rev().zip(&mut places) {
            *place = below(last as u64 + 1, &mut coins) as usize;
            cenote_prim::prefetch(items, *place);
        }
        for (last, place) in (first..end).rev().zip(&places) {
            items.swap(last, *place);
        }
        end = first;
    }
}

/// Uniform number below `bound <= 2^32`, without bias (Lemire 2019, "Fast random integer generation
/// in an interval").
fn below(bound: u64, coins: &mut impl FnMut() -> u64) -> u32 {
    loop {
        let product = u128::from(coins()) * u128::from(bound);
        let low = product as u64;
        // Words whose low half falls below 2^64 mod bound would favour some numbers.
        if low >= bound || low >= bound.wrapping_neg() % bound {
            return (product >> 64) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coins(mut state: u64) -> impl FnMut() -> u64 {
        // SplitMix64: a fixed, well distributed test sequence.
        move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }
    }

    #[test]
    fn every_position_in_every_place_is_equally_likely() {
        let (bucket, capacity, buckets) = (3usize, 50usize, 100_000usize);
        let mut draws = Draws::new(bucket, capacity).expect("shape");
        draws.draw(buckets, coins(7));
        for place in 0..bucket {
            let mut counts = vec![0u32; capacity];
            for chosen in draws.positions().chunks(bucket) {
                counts[chosen[place] as usize] += 1;
            }
            let expected = buckets as f64 / capacity as f64;
            let chi_square: f64 =
                counts.iter().map(|c| (f64::from(*c) - expected).powi(2) / expected).sum();
            // 49 degrees of freedom: 95.0 is exceeded with probability 10^-4.
            assert!(chi_square < 95.0, "place {place}: {chi_square}");
        }
    }

    #[test]
    fn every_pair_is_equally_likely() {
        let mut draws = Draws::new(2, 6).expect("shape");
        draws.draw(60_000, coins(9));
        let mut counts = [0u32; 36];
        for pair in draws.positions().chunks(2) {
            counts[(pair[0] * 6 + pair[1]) as usize] += 1;
        }
        let chi_square: f64 = counts
            .iter()
            .enumerate()
            .filter(|(i, _)| i / 6 != i % 6)
            .map(|(_, c)| (f64::from(*c) - 2_000.0).powi(2) / 2_000.0)
            .sum();
        // 29 degrees of freedom: 66.2 is exceeded with probability 10^-4.
        assert!(chi_square < 66.2, "{chi_square}");
        assert!((0..6).all(|i| counts[i * 7] == 0), "a position twice in a bucket");
    }

    #[test]
    fn biased_words_are_thrown_away() {
        // 2^64 mod 3 = 1: only the word 0 is refused.
        let mut words = [0u64, u64::MAX].into_iter();
        assert_eq!(below(3, &mut || words.next().expect("two words")), 2);
        assert_eq!(below(4, &mut || 0), 0);
    }

    #[test]
    fn bucket_of_the_whole_pool_is_a_permutation() {
        let mut draws = Draws::new(5, 5).expect("shape");
        draws.draw(10, coins(1));
        for chosen in draws.positions().chunks(5) {
            let mut sorted = chosen.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
        }
    }

    #[test]
    fn every_order_is_equally_likely() {
        let (mut counts, mut coins) = ([0u32; 256], coins(11));
        for _ in 0..24_000 {
            let mut items = [0usize, 1, 2, 3];
            shuffle(&mut items, &mut coins);
            counts[items.iter().fold(0, |code, item| 4 * code + item)] += 1;
        }
        let seen: Vec<f64> = counts.iter().filter(|c| **c > 0).map(|c| f64::from(*c)).collect();
        assert_eq!(seen.len(), 24);
        let chi_square: f64 = seen.iter().map(|c| (c - 1_000.0).powi(2) / 1_000.0).sum();
        // 23 degrees of freedom: 56.6 is exceeded with probability 10^-4.
        assert!(chi_square < 56.6, "{chi_square}");
        shuffle(&mut [0u8; 0], &mut coins);
    }

    /// However many are drawn ahead.
    #[test]
    fn a_shuffle_is_that_of_fisher_and_yates() {
        for n in (0..300).chain([1000]) {
            let (mut items, mut same): (Vec<u32>, Vec<u32>) = ((0..n).collect(), (0..n).collect());
            shuffle(&mut items, coins(n.into()));
            let mut coins = coins(n.into());
            for last in (1..same.len()).rev() {
                same.swap(last, below(last as u64 + 1, &mut coins) as usize);
            }
            assert_eq!(items, same);
        }
    }

    #[test]
    fn impossible_shapes_are_refused() {
        for (bucket, capacity) in [(0, 5), (6, 5), (1, 0), (1, 1 << 32)] {
            assert_eq!(
                Draws::new(bucket, capacity).err(),
                Some(StoreError::Shape { bucket, capacity })
            );
        }
    }
}
