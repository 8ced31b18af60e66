//! Oblivious transfer with malicious security: base OT, correlated OT by SoftSpokenOT, and what is
//! made of it.
//!
//! | task | item |
//! |---|---|
//! | correlated OT for a whole session | [`CotSender`], [`CotReceiver`] |
//! | the same behind a trait, whatever makes it | [`CorrelatedSender`], [`CorrelatedReceiver`] |
//! | random and chosen OT, correlated OT with chosen bits | [`rot`] |
//! | some of many seeds, at secret places | [`watch`] |
//! | 128 OTs from nothing | [`base`] |
//! | all-but-one trees | [`pprf`] |
//! | the ideal functionality, with feature `test-util` | `ideal` |
//!
//! The page of these protocols is docs/protocols/ot.md.
#![deny(missing_docs)]

pub mod base;
mod columns;
mod correlated;
mod expand;
#[cfg(any(test, feature = "test-util"))]
pub mod ideal;
mod params;
pub mod pprf;
pub mod rot;
mod sharing;
mod softspoken;
pub mod tags;
pub mod watch;

pub use correlated::{CorrelatedReceiver, CorrelatedSender};
pub use params::Params;
pub use softspoken::{
    COLUMN_CHECK, CotReceiver, CotSender, ReceiverSetup, SenderSetup, message_len, setup_len,
};
