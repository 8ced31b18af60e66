//! SHDL, the circuits of Fairplay, with or without the `.fmt` file that names their ports;
//! `docs/formats/shdl.md` describes what is read.

mod fmt;
mod ports;
mod words;

use super::error::{Source, shown};
use super::frame::Frame;
use super::netlist::{Driver, Net, Netlist};
use super::parts::Parts;
use super::table::MAX_TABLE;
use super::{ParseError, TableOrder};
use words::Words;

/// Reads a circuit with tables of this order, and the `.fmt` file beside it if there is one.
pub(super) fn read(
    source: Source<'_>,
    fmt: Option<Source<'_>>,
    order: TableOrder,
) -> Result<Parts, ParseError> {
    let mut file = File::new(source, order);
    while file.statement()? {}
    let (inputs, outputs, wires) = match fmt {
        Some(fmt) => ports::of_fmt(fmt, &file)?,
        None => {
            let wires = file.outputs.iter().map(|io| io.wire).collect();
            (
                ports::of_comments(&file.inputs, "in0"),
                ports::of_comments(&file.outputs, "out0"),
                wires,
            )
        }
    };
    let frame = Frame { inputs, outputs, initial: Vec::new() };
    file.netlist.finish(frame, &wires, &[])
}

/// An input or an output.
struct Io<'a> {
    wire: u32,
    /// The comment on its line; Fairplay's compiler writes the variable there.
    comment: &'a str,
}

/// The contents of the statements.
struct File<'a> {
    words: Words<'a>,
    order: TableOrder,
    netlist: Netlist<'a>,
    inputs: Vec<Io<'a>>,
    outputs: Vec<Io<'a>>,
}

const GATE: &str = "write NUMBER [output] gate arity N table [ 2^N BITS ] inputs [ N NUMBERS ]";

impl<'a> File<'a> {
    fn new(source: Source<'a>, order: TableOrder) -> Self {
        let (words, netlist) = (Words::new(source), Netlist::new(source));
        Self { words, order, netlist, inputs: Vec::new(), outputs: Vec::new() }
    }

    /// One input or gate; `false` at the end of the file.
    fn statement(&mut self) -> Result<bool, ParseError> {
        let Some(number) = self.words.next() else { return Ok(false) };
        let wire = self.wire(number)?;
        let mut kind = self.words.expected("input, output or gate", GATE)?;
        let output = kind == "output";
        if output {
            kind = self.words.expected("input or gate", GATE)?;
        }
        let driver = match kind {
            "input" => Driver::Input(self.inputs.len() as u32),
            "gate" => self.gate()?,
            _ => {
                let message =
                    format!("`{}` stands where input, output or gate should", shown(kind));
                return Err(self.words.error(kind, message, GATE));
            }
        };
        self.netlist.drive(wire, number, driver)?;
        let comment = self.words.comment();
        if kind == "input" {
            self.inputs.push(Io { wire, comment });
        }
        if output {
            self.outputs.push(Io { wire, comment });
        }
        Ok(true)
    }

    /// Parses what follows `gate`.
    fn gate(&mut self) -> Result<Driver, ParseError> {
        self.words.keyword("arity", GATE)?;
        let word = self.words.expected("the number of inputs", GATE)?;
        let arity = word.parse::<usize>().ok().filter(|arity| *arity <= MAX_TABLE);
        let Some(arity) = arity else {
            let message = format!("a gate cannot have `{}` inputs", shown(word));
            return Err(self.words.error(word, message, format!("write 0 to {MAX_TABLE}")));
        };
        self.words.keyword("table", GATE)?;
        let truth = self.table(1 << arity)?;
        self.words.keyword("inputs", GATE)?;
        let mut operands = [0; MAX_TABLE];
        for operand in &mut operands[..arity] {
            let word = self.words.expected("the number of a wire", GATE)?;
            *operand = self.wire(word)?;
        }
        if self.order == TableOrder::FirstMost {
            operands[..arity].reverse();
        }
        let operands = self.netlist.operands(&operands[..arity]);
        Ok(Driver::Table { operands, truth })
    }

    /// The bits of a table, in one word or in many.
    fn table(&mut self, size: usize) -> Result<u64, ParseError> {
        let (mut truth, mut read) = (0u64, 0);
        while read < size {
            let word = self.words.expected("0 or 1", GATE)?;
            if word.len() > size - read || word.bytes().any(|byte| !matches!(byte, b'0' | b'1')) {
                let message = format!("`{}` is no part of a table of {size} bits", shown(word));
                return Err(self.words.error(word, message, GATE));
            }
            for byte in word.bytes() {
                truth |= u64::from(byte == b'1') << read;
                read += 1;
            }
        }
        Ok(truth)
    }

    /// The wire with this number.
    fn wire(&mut self, word: &'a str) -> Result<u32, ParseError> {
        // The shortest statement is `0 input`: numbers that leave so many out are no line numbers.
        let most = self.netlist.source.text.len() / 6;
        let plain = word.bytes().all(|byte| byte.is_ascii_digit());
        let number = word.parse::<usize>().ok().filter(|number| plain && *number <= most);
        let Some(number) = number else {
            let message = format!("`{}` is no number of a wire", shown(word));
            let remedy = "number inputs and gates 0, 1, 2, ... in the order of the file";
            return Err(self.words.error(word, message, remedy));
        };
        let nets = &mut self.netlist.nets;
        if nets.len() <= number {
            nets.resize(number + 1, Net::EMPTY);
        }
        if nets[number].word.is_empty() {
            nets[number].word = word;
        }
        Ok(number as u32)
    }
}
