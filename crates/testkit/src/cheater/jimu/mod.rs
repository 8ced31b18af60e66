//! A second implementation of both sides of `jimu` that cheats on command.
//!
//! As the cheater of `wrk` it checks nothing that it receives and goes on after its cheat. It runs
//! any [`Job`](cenote_engine::Job) as a [`Party`](cenote_engine::Party), over the pieces of the
//! engine that do no I/O, in sessions without a handshake and with tiny pools, which an honest
//! `JimuSession` runs as well as large ones: see [`tiny`].
//!
//! Coins depend on both sides' randomness, which is fixed: a rehearsal without a cheat tells which
//! gates will be checked and which will be used ([`History`]), and the session is then run again
//! with a flaw in just those.

mod cheat;
mod coins;
mod compact;
mod evaluator;
mod garbler;
mod input_sums;
mod items;
mod kept;
mod lies;
mod params;
mod requests;
mod session;
mod supply;
mod talk;

pub use cheat::{AtRest, Cheat, Code, Flaw, Plan, Which};
pub use coins::{Coins, Selection};
pub use items::{History, Items, Kind};
pub use params::{WIDTH, tiny, tiny_compact, tiny_muxes, weak};
pub use session::{Outcome, expected, plan_of, rehearse, run_session};
pub use talk::Talk;
