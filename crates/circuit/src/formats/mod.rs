//! Circuit files: Bristol Fashion, the old Bristol format, and the ports beside them.
//!
//! `docs/formats` describes the formats. Everything here reads hostile bytes: counts are limited by
//! the size of the file before anything is allocated.

pub mod bristol;
mod error;
mod file;
mod parts;
mod ports;

pub use error::{ParseError, Place};
pub use file::{ReadError, ports_path, read_circuit, read_ports};
pub use ports::{BitOrder, PortSpec, Ports};

use crate::circuit::Circuit;
use error::Source;

/// Which format a file is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Two inputs and one output: the format of 2011 to 2019.
    OldBristol,
    /// Any number of ports, and the gates EQ, EQW and MAND.
    BristolFashion,
}

/// The largest number of bits of all input ports together, and of all output ports.
pub const MAX_PORT_BITS: usize = 1 << 24;
/// The largest number of ports of either kind.
pub const MAX_PORTS: usize = 1 << 12;

/// Reads a circuit in either format; `name` appears in errors and, without directories and
/// extension, as the circuit's label.
///
/// Ports are named `in0`, `in1`, ..., `out0`, ... and take their wires least significant bit first;
/// [`parse_with_ports`] says otherwise. Never panics and never allocates more than a small multiple
/// of the input, whatever the bytes.
pub fn parse_any(name: &str, bytes: &[u8]) -> Result<Circuit, ParseError> {
    parse_with_ports(name, bytes, None)
}

/// As [`parse_any`], with the names, owners and bit orders of a ports file.
pub fn parse_with_ports(
    name: &str,
    bytes: &[u8],
    ports: Option<&Ports>,
) -> Result<Circuit, ParseError> {
    bristol::read(Source::new(name, bytes, BRISTOL)?)?.finish(name, ports)
}

/// The format of a file, from its first three lines.
pub fn detect(name: &str, bytes: &[u8]) -> Result<Format, ParseError> {
    bristol::format(Source::new(name, bytes, BRISTOL)?)
}

pub(crate) const BRISTOL: &str = "give a circuit in a Bristol format";
