//! A time limit that runs.

use std::fmt;
use std::time::{Duration, Instant};

/// So much time from the moment at which this was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    began: Instant,
    whole: Duration,
}

impl Limit {
    pub(crate) fn of(whole: Duration) -> Limit {
        Limit { began: Instant::now(), whole }
    }

    /// This much, but no more than what is left.
    pub(crate) fn part(&self, most: Duration) -> Limit {
        Limit::of(most.min(self.left()))
    }

    pub(crate) fn left(&self) -> Duration {
        self.whole.saturating_sub(self.began.elapsed())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.left().is_zero()
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", (self.whole.as_secs_f64() * 10.0).round() / 10.0)
    }
}
