//! Both parties of a protocol in one process, on two threads.

use cenote_net::{Channel, Role};

use crate::run::patient_pair;

/// Runs `party` once for each role over an in-memory connection; returns what the garbler's and the
/// evaluator's runs returned. A panic of either thread is passed on.
pub fn run_pair<T: Send>(party: impl Fn(Channel, Role) -> T + Sync) -> (T, T) {
    run_pair_over(patient_pair(), party)
}

/// As [`run_pair`] over the two ends of any connection, the garbler's first.
pub fn run_pair_over<C: Send, T: Send>(
    (garbler, evaluator): (C, C),
    party: impl Fn(C, Role) -> T + Sync,
) -> (T, T) {
    std::thread::scope(|scope| {
        let other = scope.spawn(|| party(evaluator, Role::Evaluator));
        let own = party(garbler, Role::Garbler);
        match other.join() {
            Ok(other) => (own, other),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
