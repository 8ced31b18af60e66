//! Party pairs, conformance suite, adversary table, transcript and privacy tests.
//!
//! Everything here serves the tests in `tests/`; docs/testing.md says which kind finds what.
//!
//! | task | item |
//! |---|---|
//! | both parties in one process | [`run_pair`], [`run_pair_over`] |
//! | sessions with fixed randomness | [`run`] |
//! | programs of every kind | [`programs`] |
//! | what every backend must do | [`mod@conformance`], [`conformance!`] |
//! | what each backend tells the tests of all: rows, byte formulas, digests | [`adversary::Entry`], [`adversary::bytes`] |
//! | every message changed, every check met by its cheat | [`adversary`], [`tamper`], [`cheater`] |
//! | shares without a network | [`dealer`] |
//! | what outlives a session, and losses of power | [`disk`] |
//! | a secret in a transcript | [`canary`] |
//! | measured frequencies | [`stats`] |
//! | one party alone, its instructions counted | [`alone`] |
#![deny(missing_docs)]

pub mod adversary;
pub mod alone;
pub mod canary;
pub mod cheater;
pub mod conformance;
pub mod dealer;
pub mod disk;
mod pair;
pub mod programs;
pub mod run;
pub mod stats;
pub mod tamper;

pub use pair::{run_pair, run_pair_over};
