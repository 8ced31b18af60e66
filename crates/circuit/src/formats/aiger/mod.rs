//! AIGER, the and-inverter graphs of hardware model checking, as text (`aag`) and binary (`aig`);
//! `docs/formats/aiger.md` describes what is read.

mod graph;
mod header;
mod reader;
mod sections;
mod symbols;
mod write;

pub use write::{write_aiger_ascii, write_aiger_binary};

use super::ParseError;
use super::parts::Parts;
use graph::Graph;
use reader::Reader;

/// Reads a file of either kind.
pub(super) fn read(name: &str, bytes: &[u8], binary: bool) -> Result<Parts, ParseError> {
    let mut reader = Reader::new(name, bytes, binary);
    let header = header::read(&mut reader)?;
    let mut graph = Graph::new(&header);
    sections::read(&mut reader, &header, &mut graph)?;
    let names = symbols::read(&mut reader, &header)?;
    graph.finish(&reader, names)
}
