//! The clock by which approvals, deadlines, results and the audit log go: that of the machine. Waiting and limits of silence go by a clock that
//! nobody sets. It is in one place, so that a test can change it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

/// Milliseconds by which a test has set it ahead.
static AHEAD: AtomicI64 = AtomicI64::new(0);

/// Now.
pub(crate) fn wall() -> SystemTime {
    let ahead = AHEAD.load(Ordering::SeqCst);
    let by = Duration::from_millis(ahead.unsigned_abs());
    let now = SystemTime::now();
    let moved = if ahead < 0 { now.checked_sub(by) } else { now.checked_add(by) };
    moved.unwrap_or(now)
}

/// Sets the clock of all services of this process ahead by so many milliseconds, or back: for tests, so that they need not set the machine's.
#[doc(hidden)]
pub fn set_ahead(milliseconds: i64) {
    AHEAD.store(milliseconds, Ordering::SeqCst);
}

/// Sets the clock ahead by so many milliseconds more.
#[cfg(test)]
pub(crate) fn set_ahead_by(milliseconds: i64) {
    AHEAD.fetch_add(milliseconds, Ordering::SeqCst);
}
