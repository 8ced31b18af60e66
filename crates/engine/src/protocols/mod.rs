//! The small protocols: state machines over messages, without I/O, tested in one thread.

pub mod authenticated_half_gates;
pub mod bucket;
pub mod coin;
pub mod escrow;
pub mod garbled_core;
pub mod gate_hash;
pub mod half_gates;
pub mod leaky_and;
pub mod opening;
pub mod share;
#[cfg(test)]
pub(crate) mod tally;
