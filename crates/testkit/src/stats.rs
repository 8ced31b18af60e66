//! Intervals for measured frequencies.

/// Whether `hits` of `trials` fits a probability between `low` and `high`: within five standard
/// deviations and one count, so that a right program fails once in millions of runs.
#[must_use]
pub fn fits(hits: u64, trials: u64, low: f64, high: f64) -> bool {
    let n = trials as f64;
    let margin = |p: f64| 5.0 * (n * p * (1.0 - p)).sqrt() + 1.0;
    let hits = hits as f64;
    hits >= n * low - margin(low) && hits <= n * high + margin(high)
}

/// Whether two frequencies may come from one probability: within five standard deviations of their
/// difference and one count.
#[must_use]
pub fn same(a: (u64, u64), b: (u64, u64)) -> bool {
    let (hits, trials) = ((a.0 + b.0) as f64, (a.1 + b.1) as f64);
    let p = hits / trials;
    let spread = (p * (1.0 - p) * (1.0 / a.1 as f64 + 1.0 / b.1 as f64)).sqrt();
    let difference = a.0 as f64 / a.1 as f64 - b.0 as f64 / b.1 as f64;
    difference.abs() <= 5.0 * spread + 1.0 / a.1.min(b.1) as f64
}

/// Runs `work` on every item on a few threads: most sessions of the tests wait for something.
pub fn in_parallel<T: Sync>(items: &[T], work: impl Fn(usize, &T) + Sync) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8.min(items.len()) {
            scope.spawn(|| {
                while let Some((i, item)) = {
                    let i = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    items.get(i).map(|item| (i, item))
                } {
                    work(i, item);
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_refuse_what_is_far_off() {
        assert!(fits(500, 1000, 0.5, 0.5) && fits(575, 1000, 0.5, 0.5));
        assert!(!fits(600, 1000, 0.5, 0.5) && !fits(400, 1000, 0.5, 0.5));
        assert!(fits(600, 1000, 0.5, 0.6) && fits(0, 1000, 0.0, 0.0));
        assert!(!fits(5, 1000, 0.0, 0.0) && !fits(995, 1000, 1.0, 1.0));
        assert!(same((480, 1000), (520, 1000)) && !same((400, 1000), (600, 1000)));
        assert!(same((0, 10), (0, 20)));
    }
}
