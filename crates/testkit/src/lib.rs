//! Party pairs, conformance suite, adversary table, transcript and privacy tests.

mod pair;

pub use pair::{run_pair, run_pair_over};
