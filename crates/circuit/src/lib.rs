//! What is computed: programs as replayable gate streams, the standard library of gadgets, circuit
//! files, statistics and clear evaluation. Knows nothing of channels, oblivious transfer or parties.
//!
//! Everything is generic over [`Gates`]: a [`Program`] runs unchanged on [`Clear`] bits, on a
//! [`Counter`] and on every protocol backend.

mod bits;
mod clear;
mod count;
mod digest;
pub mod gadgets;
mod gates;
mod lanes;
mod program;

pub use bits::{bits_of, value_of};
pub use clear::Clear;
pub use count::{Counter, Counts, Depth, Live, LiveWire};
pub use digest::DigestGates;
pub use gates::Gates;
pub use lanes::{Bundle, Lanes, map_lanes, pack, unpack, zip_lanes};
pub use program::{InputPort, OutputPort, Owner, Program, Receiver, Signature, SignatureError};
