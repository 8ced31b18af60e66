//! Oblivious transfer with malicious security: base OT, correlated OT by SoftSpokenOT, and what is made of it.
//!
//! | task | item |
//! |---|---|
//! | correlated OT for a whole session | [`CotSender`], [`CotReceiver`] |
//! | 128 OTs from nothing | [`base`] |
//! | all-but-one trees | [`pprf`] |
#![deny(missing_docs)]

pub mod base;
mod columns;
mod expand;
mod params;
pub mod pprf;
mod softspoken;

pub use params::Params;
pub use softspoken::{
    COLUMN_CHECK, CotReceiver, CotSender, ReceiverSetup, SenderSetup, message_len, setup_len,
};
