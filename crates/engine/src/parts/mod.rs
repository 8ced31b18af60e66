//! The parts that several backends are made of: the joint coin, the test of equality, chunks of
//! recorded gates, their wires, those that are kept for later
//! requests, what is kept on disk and who takes note of what leaves, ready items between a supply and requests, and the party that records.

pub(crate) mod chunk;
pub mod coin;
pub mod equality;
pub(crate) mod keeper;
pub(crate) mod kept;
pub(crate) mod notes;
pub(crate) mod pace;
mod playing;
pub(crate) mod recording;
pub(crate) mod shelves;
pub mod tags;
pub(crate) mod toss;
pub(crate) mod wires;
