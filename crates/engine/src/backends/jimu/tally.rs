//! Counts steps of which tests ask whether there are equally many, by thread.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// One more step of this thread.
pub(crate) fn step() {
    STEPS.set(STEPS.get() + 1);
}

/// Steps of this thread since it was asked last.
pub(crate) fn steps() -> u64 {
    STEPS.take()
}
