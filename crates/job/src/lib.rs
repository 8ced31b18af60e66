//! A job of a program, above the engine: what the command, the Python package and a service share.
//!
//! | task | item |
//! |---|---|
//! | a program or circuit that was read, with its counts | [`Computation`] |
//! | the same, from one process to another | [`Computation::hand_over`], [`Computation::taken_over`] |
//! | one side's part of a run: program by digest, own inputs, receivers, backend, limits | [`Request`] |
//! | what a session did and promises | [`Summary`] |
//! | values in JSON, as the types of a program have them | [`json`] |
//! | the line that prices are for, timeouts | [`policy`] |
//!
//! [`Request::new`] checks everything that can be checked before the peer hears of it, [`Request::within`]
//! decides by the limits, and [`Request::run`] agrees with the peer in one handshake and computes.

mod computation;
pub mod evidence;
mod handover;
pub mod json;
pub mod policy;
mod request;
mod summary;

pub use computation::Computation;
pub use request::{Ran, Request, facts};
pub use summary::Summary;
