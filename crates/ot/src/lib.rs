//! Oblivious transfer with malicious security: base OT, correlated OT by SoftSpokenOT or silent, and what is
//! made of it.
//!
//! | task | item |
//! |---|---|
//! | correlated OT for a whole session, by the protocol of a [`Choice`] | [`CotSend`], [`CotReceive`] |
//! | the same in both directions over one channel | [`Duplex`] |
//! | the protocols that a choice is of | [`softspoken`], [`silent`] |
//! | random and chosen OT, correlated OT with chosen bits | [`rot`] |
//! | some of many seeds, at secret places | [`watch`] |
//! | the set-up of SoftSpokenOT in one direction | [`setup`] |
//! | 128 OTs from nothing | [`base`] |
//! | the same in both directions, kept for the set-ups of many sessions | [`Bases`] |
//! | all-but-one trees | [`pprf`] |
//! | the ideal functionality, with feature `test-util` | `ideal` |
//!
//! The page of these protocols is docs/protocols/ot.md.
//!
//! The backends in `engine` are its users. Start with [`Choice::sender`] and [`Choice::receiver`], both over one
//! channel: one session of each direction serves everything made later.
#![deny(missing_docs)]

pub mod base;
mod bases;
mod choice;
mod columns;
mod correlated;
mod duplex;
mod expand;
mod half_tree;
#[cfg(any(test, feature = "test-util"))]
pub mod ideal;
mod lpn;
mod noise;
mod params;
pub mod pprf;
pub mod rot;
pub mod setup;
mod sharing;
pub mod silent;
pub mod softspoken;
pub mod tags;
pub mod watch;

pub use bases::Bases;
pub use choice::Choice;
pub use correlated::{CotReceive, CotSend, MAX_COTS, Sent, Traffic};
pub use duplex::{Duplex, Keys, Macs};

/// Computational security that a set-up leaves, in bits: `T` calls of AES find one of its hidden seeds with
/// probability `T / 2^120` at most.
///
/// A sender knows the sibling of each of the 128 tree nodes that it may not know, and one call tests all those
/// that are on the same side of theirs: 128 in each of at most two set-ups (in `wrk` the session's and that between the
/// directions, in `jimu` its two instances). Counted in calls of AES, a
/// discrete logarithm in ristretto255 and a try at the Fiat-Shamir challenge are dearer.
pub const KAPPA: u32 = 120;
