//! Circuit files: Bristol Fashion, the old Bristol format, and the ports beside them.
//!
//! `docs/formats/bristol.md` and `docs/formats/ports.md` describe the formats. Everything here reads
//! hostile bytes: counts are limited by the size of the file before anything is allocated.

mod file;
mod parse;
mod ports;
mod write;

pub use file::{ReadError, ports_path, read_circuit};
pub use parse::{Format, detect, parse_any, parse_with_ports};
pub use ports::{BitOrder, PortSpec, Ports};
pub use write::{WriteError, write_bristol, write_bristol_fashion};

/// Why a circuit file or a ports file cannot be read: where, what, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}; {remedy}")]
pub struct ParseError {
    /// The name of the file as it was given.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

/// The largest number of bits of all input ports together, and of all output ports.
pub const MAX_PORT_BITS: usize = 1 << 24;
/// The largest number of ports of either kind.
pub const MAX_PORTS: usize = 1 << 12;
