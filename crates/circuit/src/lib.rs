//! The computation itself: programs as replayable gate streams, the standard library of gadgets,
//! circuit files, statistics and clear evaluation. Knows nothing of channels, oblivious transfer or
//! parties.
//!
//! Everything is generic over [`Gates`]: a [`Program`] runs unchanged on [`Clear`] bits, on a
//! [`Counter`] and on every protocol backend.
//!
//! `program` builds on it, and backends implement [`Gates`]. Start with [`Gates`] and [`gadgets`] to compute, with
//! [`Circuit`] for a list of gates in memory, and with [`formats`] for files.

mod bits;
mod circuit;
mod clear;
mod count;
mod digest;
mod fold;
pub mod formats;
pub mod gadgets;
mod gates;
mod hex;
mod lanes;
mod memory;
pub mod optimise;
mod program;
mod record;
mod sequential;
mod stats;
mod tape;

pub use bits::{bits_of, value_of};
pub use circuit::{Circuit, CircuitError, Gate, MAX_WIRES};
pub use clear::Clear;
pub use count::{Counter, Counts, Depth, Live, LiveWire};
pub use digest::DigestGates;
pub use fold::{Folded, Folding};
pub use formats::{ParseError, parse_any, read_circuit};
pub use gates::{Gates, runs};
pub use hex::{HexError, hex_from_bits, value_from_hex};
pub use lanes::{Bundle, Lanes, map_lanes, pack, unpack, zip_lanes};
pub use memory::{
    Access, Broken, Draw, Kind, Layout, LevelShape, MAX_BLOCKS, MAX_EPSILON, Needs, Plan, Price,
    PutAway, Ram, Reactive, Resting, Rows, Start, TreeShape,
};
pub use program::{InputPort, OutputPort, Program, Receivers, Role, Signature, SignatureError};
pub use record::{Literal, MAX_RECORDED, RecordError, Recorder};
pub use sequential::{Cycles, MAX_UNROLLED, Sequential, SequentialError, Shown};
pub use stats::Stats;
pub use tape::{
    BATCH, Deck, DeckCell, MAX_TAPE, Op, Operand, Order, Source, Starts, Step, Tape, TapeRecorder,
    TapeWire, TooLong, lane_groups, zip_rows,
};
