//! Circuit files: Bristol Fashion, the old Bristol format, SHDL, BLIF, AIGER, and what may lie beside
//! them. Verilog is recognised but not read: the command lets yosys make BLIF of it.
//!
//! `docs/formats` describes the formats. Everything here reads hostile bytes: counts are limited by
//! the size of the file before anything is allocated, no depth of the stack depends on the file.

pub mod aiger;
pub mod blif;
pub mod bristol;
mod detect;
mod error;
mod file;
mod frame;
mod names;
mod netlist;
mod parts;
mod ports;
mod shdl;
mod table;

pub use detect::{Format, detect};
pub use error::{ParseError, Place};
pub use file::{
    ReadError, parse_beside, ports_path, read_bytes, read_circuit, read_file, read_ports,
    read_start,
};
pub use ports::{BitOrder, PortSpec, Ports, TableOrder};

use crate::circuit::Circuit;
use crate::program::{Program, Signature};
use crate::sequential::Sequential;
use error::Source;

/// The largest number of bits of all input ports together, and of all output ports, and of a state.
pub const MAX_PORT_BITS: usize = 1 << 24;
/// The largest number of ports of either kind.
pub const MAX_PORTS: usize = 1 << 12;

/// The remedy for a file in a Bristol format that is no text.
pub(crate) const BRISTOL: &str = "give a circuit in a Bristol format";

/// The contents of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A function of its inputs.
    Circuit(Circuit),
    /// A circuit with latches.
    Sequential(Sequential),
}

/// The files that lie beside a circuit file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// Names, owners and bit orders of the ports.
    pub ports: Option<&'a Ports>,
    /// Name and contents of the `.fmt` file of an SHDL circuit; not looked at for others.
    pub fmt: Option<(&'a str, &'a [u8])>,
}

/// Reads a file in any format; `name` appears in errors and, without directories and extension, as
/// the circuit's label, and its extension decides where the contents do not.
///
/// Ports are named as the file names them, or `in0`, `in1`, ..., `out0`, ..., and take their wires
/// least significant bit first; the ports file says otherwise. Never panics and never allocates
/// more than a small multiple of the input, whatever the bytes.
pub fn parse(name: &str, bytes: &[u8], beside: Beside<'_>) -> Result<Parsed, ParseError> {
    let text = |what: &str| Source::new(name, bytes, &format!("give a circuit in {what}"));
    let format = detect(name, bytes)?;
    if format != Format::Shdl {
        beside.ports.map_or(Ok(()), Ports::without_tables)?;
    }
    let parts = match format {
        Format::OldBristol | Format::BristolFashion => {
            bristol::read(Source::new(name, bytes, BRISTOL)?)?
        }
        Format::Shdl => {
            let fmt = beside.fmt.map(|(name, bytes)| Source::new(name, bytes, "give a .fmt file"));
            let tables = beside.ports.and_then(|ports| ports.tables);
            let order = tables.map_or(TableOrder::default(), |(order, _)| order);
            shdl::read(text("SHDL")?, fmt.transpose()?, order)?
        }
        Format::Blif => blif::read(text("BLIF")?)?,
        Format::AigerAscii => aiger::read(name, bytes, false)?,
        Format::AigerBinary => aiger::read(name, bytes, true)?,
        Format::Verilog => {
            let remedy = "make BLIF of it with yosys, as the command `cenote circuit convert` does";
            return Err(Source { name, text: "" }.error_at(0, "this is Verilog", remedy));
        }
    };
    parts.finish(name, beside.ports)
}

/// As [`parse`], with nothing beside and for circuits without latches.
pub fn parse_any(name: &str, bytes: &[u8]) -> Result<Circuit, ParseError> {
    parse_with_ports(name, bytes, None)
}

/// As [`parse_any`], with the names, owners and bit orders of a ports file.
pub fn parse_with_ports(
    name: &str,
    bytes: &[u8],
    ports: Option<&Ports>,
) -> Result<Circuit, ParseError> {
    parse(name, bytes, Beside { ports, fmt: None })?.combinational(name)
}

impl Parsed {
    /// The circuit, or that `file` has latches.
    pub fn combinational(self, file: &str) -> Result<Circuit, ParseError> {
        match self {
            Self::Circuit(circuit) => Ok(circuit),
            Self::Sequential(sequential) => {
                let bits = sequential.initial().len();
                let message = format!("the circuit has latches ({bits} bits of state)");
                let remedy = "say for how many cycles it shall run with --cycles N: `program \
                              from-circuit` makes a loop of them, `circuit convert` one circuit";
                Err(Source { name: file, text: "" }.error_at(0, message, remedy))
            }
        }
    }

    /// The label: where the circuit came from, e.g. the stem of a file name.
    pub fn name(&self) -> String {
        self.cycle().0.name()
    }

    /// The ports, without a state.
    pub fn signature(&self) -> Signature {
        self.cycle().1
    }

    /// The gates (those of one cycle), the ports without the state, the state before the first cycle.
    fn cycle(&self) -> (&Circuit, Signature, &[bool]) {
        match self {
            Self::Circuit(circuit) => (circuit, circuit.signature(), &[]),
            Self::Sequential(sequential) => {
                (sequential.circuit(), sequential.signature(), sequential.initial())
            }
        }
    }
}
