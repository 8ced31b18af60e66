//! The parts that several backends are made of: the joint coin, the hash of half gates, chunks of
//! recorded gates, their wires, and the party that records them.

pub(crate) mod chunk;
pub mod coin;
pub mod gate_hash;
pub(crate) mod recording;
pub mod tags;
pub(crate) mod toss;
pub(crate) mod wires;
