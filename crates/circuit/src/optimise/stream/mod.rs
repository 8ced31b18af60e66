//! Circuit files of any size, in memory for a window of gates and for the wires that are live.
//!
//! The file is read once, its gates go to a temporary file. Then scans and passes take turns, each of
//! which reads the last one's gates from their end and writes its own: backwards, for dead gates and last
//! uses (KSS12 section 5.1, "removing unused gates", and section 4.5, "working set"); forwards in windows,
//! for the passes; backwards again; forwards, to the result.

mod live;
mod tape;
mod windows;
mod write;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::net::{Lit, Node, Op, Size};
use super::report::Report;
use super::{MAX_WINDOW, Options};
use crate::circuit::{Gate as FileGate, MAX_WIRES};
use crate::formats::ReadError;
use crate::formats::bristol::{Sink, Streamed, stream};
use live::{Gate, Scanned};
use tape::{Record, Tape};
use write::Ports;

/// The result of optimising a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimised {
    /// The sizes that each pass left.
    pub report: Report,
    /// Most wires that are live at once: the working set of the file, its dead gates aside.
    pub live_wires: usize,
    /// Gates of the largest window.
    pub window: usize,
}

/// Why a file cannot be optimised.
#[derive(Debug, thiserror::Error)]
pub enum OptimiseError {
    /// The circuit cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The result, or a temporary file beside it, cannot be written.
    #[error("{}: {source}; choose a directory with enough room", path.display())]
    Write {
        /// The result.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Too many wires.
    #[error("{}: the circuit has more than {MAX_WIRES} wires, or 2^29 live ones", path.display())]
    TooLarge {
        /// The circuit.
        path: PathBuf,
    },
}

/// Optimises a circuit file in either Bristol format into a file in Bristol Fashion, in memory for a
/// window and the live wires. Temporary files, of about 12 bytes for each gate, stand in the directory of
/// the result and have no names. The wires of inputs and outputs keep their order, so that a ports file
/// fits both.
pub fn file(from: &Path, to: &Path, options: &Options) -> Result<Optimised, OptimiseError> {
    let directory = match to.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let unwritten = |source| OptimiseError::Write { path: to.to_owned(), source };
    let too_large = || OptimiseError::TooLarge { path: from.to_owned() };
    let (scanned, file, start) = read(from, directory, unwritten)?;
    let scanned = scanned.ok_or_else(too_large)?;
    let inputs = file.inputs.iter().sum::<usize>() as u32;
    let live_wires = scanned.slots - 1;
    let mut report = Report::default();
    report.add("start", start);
    report.add("unused", scanned.size);
    let options = Options { window: options.window.clamp(1, MAX_WINDOW), ..*options };
    let optimised = windows::optimise(scanned, inputs, &options, &mut report, directory)
        .map_err(unwritten)?
        .ok_or_else(too_large)?;
    let scanned = live::scan(optimised.tape, inputs, &optimised.outputs, directory)
        .map_err(unwritten)?
        .ok_or_else(too_large)?;
    let ands = scanned.size.ands;
    let ports = Ports { inputs: file.inputs, outputs: file.outputs };
    let target = File::create(to).map_err(unwritten)?;
    let gates = write::write(scanned, &ports, target).map_err(unwritten)?;
    report.add("written", Size { gates, ands });
    Ok(Optimised { report: report.finish(), live_wires, window: optimised.largest })
}

/// The outputs of a circuit file for 64 assignments of its inputs at once: bit i of the word for an input
/// wire is its value in assignment i. In memory are the live wires.
pub fn outputs(path: &Path, word: impl Fn(u32) -> u64) -> Result<Vec<u64>, OptimiseError> {
    let directory = std::env::temp_dir();
    let unwritten = |source| OptimiseError::Write { path: directory.clone(), source };
    let (scanned, ..) = read(path, &directory, unwritten)?;
    let mut scanned = scanned.ok_or_else(|| OptimiseError::TooLarge { path: path.to_owned() })?;
    let mut values = vec![0u64; scanned.slots];
    for input in &scanned.inputs {
        values[input.slot as usize] = word(input.wire);
    }
    let sign = |inverted: bool| if inverted { u64::MAX } else { 0 };
    while let Some(record) = scanned.tape.next().map_err(unwritten)? {
        let Gate { op, operands, out, .. } = Gate::unpack(record);
        let [a, b] = operands.map(|read| values[read.slot as usize] ^ sign(read.inverted));
        values[out as usize] = match op {
            Op::And => a & b,
            Op::Xor => a ^ b,
        };
    }
    let value = |out: &Lit| values[out.wire() as usize] ^ sign(out.inverted());
    Ok(scanned.outputs.iter().map(value).collect())
}

/// Reads a file and scans it for the first time; its sizes at the start.
fn read(
    path: &Path,
    directory: &Path,
    unwritten: impl Fn(io::Error) -> OptimiseError,
) -> Result<(Option<Scanned>, Streamed, Size), OptimiseError> {
    let tape = Tape::new(directory).map_err(&unwritten)?;
    let mut sink = ToTape { tape, size: Size::default() };
    let file = stream(path, &mut sink)?;
    let outputs: Vec<Lit> = file.output_wires.iter().map(|wire| literal(*wire)).collect();
    let inputs = file.inputs.iter().sum::<usize>() as u32;
    let back = sink.tape.backwards().map_err(&unwritten)?;
    let scanned = live::scan(back, inputs, &outputs, directory).map_err(&unwritten)?;
    Ok((scanned, file, sink.size))
}

/// Wires of a file are numbered from 0 on, wire 0 of a tape is the constant.
fn literal(wire: u32) -> Lit {
    Lit::plain(wire + 1)
}

/// Writes the gates of a file to a tape.
struct ToTape {
    tape: Tape,
    size: Size,
}

impl Sink for ToTape {
    fn gate(&mut self, wire: u32, gate: FileGate) -> io::Result<()> {
        let Node { op, a, b } = Node::of(gate, literal);
        self.size.gates += 1;
        self.size.ands += u64::from(op == Op::And);
        self.tape.push(Record { a: a.0, b: b.0, out: Record::out(op, literal(wire).wire()) })
    }
}
