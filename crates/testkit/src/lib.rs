//! Party pairs, conformance suite, adversary table, transcript and privacy tests.
#![deny(missing_docs)]

pub mod adversary;
pub mod canary;
pub mod conformance;
pub mod dealer;
mod pair;
pub mod programs;
pub mod puppet;
pub mod run;
pub mod stats;
pub mod tamper;

pub use pair::{run_pair, run_pair_over};
