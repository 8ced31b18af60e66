//! Party pairs, conformance suite, adversary table, transcript and privacy tests.
#![deny(missing_docs)]

pub mod conformance;
mod pair;
pub mod programs;
pub mod run;

pub use pair::{run_pair, run_pair_over};
