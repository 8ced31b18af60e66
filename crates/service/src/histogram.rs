//! How long something took, in the buckets of a histogram of Prometheus.

/// Bounds of the buckets but the last, in seconds: from a small job on a local line to a large one that waited for hours.
pub(crate) const BOUNDS: [f64; 15] =
    [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0];

/// Counted times since the service started.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Histogram {
    /// Each time is in one of them; those above all bounds in the last.
    counts: [u64; BOUNDS.len() + 1],
    /// Seconds of all.
    pub(crate) sum: f64,
}

impl Histogram {
    /// Counts a time. One below zero, of a clock that was set back, is none.
    pub(crate) fn put(&mut self, seconds: f64) {
        let seconds = seconds.max(0.0);
        let bucket = BOUNDS.partition_point(|bound| *bound < seconds);
        // There is one more bucket than bounds.
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.sum += seconds;
    }

    /// How many times are at most each bound, as Prometheus counts them.
    pub(crate) fn below(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
        bounds.zip(self.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        }))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_up_to_each_bound() {
        let mut all = Histogram::default();
        for seconds in [-1.0, 0.01, 0.011, 7200.0, 1e6] {
            all.put(seconds);
        }
        let below: Vec<(f64, u64)> = all.below().collect();
        assert_eq!(below[0], (0.01, 2));
        assert_eq!(below[1], (0.025, 3));
        assert_eq!(below[BOUNDS.len() - 2], (1800.0, 3));
        assert_eq!(below[BOUNDS.len() - 1], (7200.0, 4));
        assert_eq!(below[BOUNDS.len()], (f64::INFINITY, 5));
        assert_eq!((all.count(), all.sum), (5, 0.021 + 7200.0 + 1e6));
    }
}
