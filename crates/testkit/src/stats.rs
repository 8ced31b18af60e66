//! Intervals for measured frequencies, and trials side by side.

use std::sync::atomic::{AtomicUsize, Ordering};

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
///
/// # Panics
/// If `work` does, without the items that nobody has begun.
pub fn in_parallel<T: Sync>(items: &[T], work: impl Fn(usize, &T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8.min(items.len()) {
            scope.spawn(|| {
                let _rest = SkipOnPanic { next: &next, end: items.len() };
                loop {
                    let i = next.fetch_add(1, Ordering::SeqCst);
                    let Some(item) = items.get(i) else { break };
                    work(i, item);
                }
            });
        }
    });
}

/// One failure is enough: leaves out the items that nobody has begun.
struct SkipOnPanic<'a> {
    next: &'a AtomicUsize,
    end: usize,
}

impl Drop for SkipOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.next.fetch_max(self.end, Ordering::SeqCst);
        }
    }
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

    #[test]
    fn nothing_is_begun_after_a_failure() {
        let begun = AtomicUsize::new(0);
        let run = std::panic::AssertUnwindSafe(|| {
            in_parallel(&[(); 4000], |i, ()| {
                begun.fetch_add(1, Ordering::SeqCst);
                assert!(i > 0);
                std::thread::sleep(std::time::Duration::from_millis(20));
            });
        });
        assert!(std::panic::catch_unwind(run).is_err());
        assert!(begun.into_inner() < 4000);
    }
}
