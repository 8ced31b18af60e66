//! Reading both Bristol formats.

use crate::circuit::{Gate, MAX_WIRES};
use crate::formats::error::{Source, shown};
use crate::formats::parts::Parts;
use crate::formats::{Format, MAX_PORT_BITS, MAX_PORTS, ParseError};
use crate::program::Signature;

/// Reads a circuit in either format.
pub(crate) fn read(source: Source<'_>) -> Result<Parts, ParseError> {
    let mut lines = Lines::new(source);
    let header = header(&mut lines)?;
    let mut memory = Memory::new(&header);
    let mut body = Body::new(&lines, &header, 0, &mut memory);
    while let Some(line) = lines.next() {
        body.gate(line)?;
    }
    let outputs = body.finish()?;
    let gates = memory.gates;
    let mut signature = Signature::new();
    for (i, bits) in header.inputs.iter().enumerate() {
        signature = signature.input(&format!("in{i}"), *bits, None);
    }
    for (i, bits) in header.outputs.iter().enumerate() {
        signature = signature.output(&format!("out{i}"), *bits, None);
    }
    Ok(Parts { signature, gates, outputs, initial: Vec::new() })
}

/// Which of the two formats the first three lines are in.
pub(crate) fn format(source: Source<'_>) -> Result<Format, ParseError> {
    Ok(header(&mut Lines::new(source))?.format)
}

/// The lines that are not blank.
pub(super) struct Lines<'a> {
    source: Source<'a>,
    rest: std::str::Lines<'a>,
    /// Bytes of the file, of which the source may be the first piece.
    bytes: u64,
}

impl<'a> Lines<'a> {
    fn new(source: Source<'a>) -> Self {
        Self::start(source, source.text.len() as u64)
    }

    /// The lines at the start of a file of so many bytes.
    pub(super) fn start(source: Source<'a>, bytes: u64) -> Self {
        Self { source, rest: source.text.lines(), bytes }
    }

    pub(super) fn next(&mut self) -> Option<&'a str> {
        self.rest.by_ref().map(str::trim).find(|line| !line.is_empty())
    }

    /// An error at `piece`, which is part of the file.
    fn error(&self, piece: &str, message: impl Into<String>, remedy: &str) -> ParseError {
        self.source.error(piece, message, remedy)
    }

    fn numbers(&self, line: &str) -> Result<Vec<usize>, ParseError> {
        line.split_ascii_whitespace().map(|word| number(self.source, word)).collect()
    }
}

fn number(source: Source<'_>, word: &str) -> Result<usize, ParseError> {
    let number = if word.bytes().all(|byte| byte.is_ascii_digit()) {
        word.parse::<usize>().ok().filter(|number| *number <= MAX_WIRES)
    } else {
        None
    };
    number.ok_or_else(|| {
        let message = format!("`{}` is no number between 0 and {MAX_WIRES}", shown(word));
        source.error(word, message, "write a decimal number here")
    })
}

pub(super) struct Header {
    pub(super) format: Format,
    pub(super) gates: usize,
    pub(super) wires: usize,
    pub(super) inputs: Vec<usize>,
    pub(super) outputs: Vec<usize>,
    pub(super) input_bits: usize,
    pub(super) output_bits: usize,
}

pub(super) fn header(lines: &mut Lines<'_>) -> Result<Header, ParseError> {
    const START: &str = "start the file with the numbers of gates and wires";
    let Some(first) = lines.next() else {
        return Err(lines.error(lines.source.end(), "the file is empty", START));
    };
    let &[gates, wires] = &lines.numbers(first)?[..] else {
        return Err(lines.error(first, "the first line does not hold two numbers", START));
    };
    let Some(second) = lines.next() else {
        let message = "the line of inputs is missing";
        return Err(lines.error(lines.source.end(), message, "add it after the first line"));
    };
    // The third line of Bristol Fashion lists outputs; that of the old format is a gate.
    let mut ahead = lines.rest.clone().map(str::trim).filter(|line| !line.is_empty());
    let listed = ahead.next().is_some_and(|line| line.ends_with(|c: char| c.is_ascii_digit()));
    let (format, inputs, outputs) = if listed {
        let inputs = port_list(lines, second, "input")?;
        let third = lines.next().unwrap_or_default();
        (Format::BristolFashion, inputs, port_list(lines, third, "output")?)
    } else {
        let &[one, other, output] = &lines.numbers(second)?[..] else {
            let remedy = "give two input widths and one output width (old Bristol), or add the \
                          line of outputs (Bristol Fashion)";
            return Err(lines.error(
                second,
                "the line of ports does not hold three numbers",
                remedy,
            ));
        };
        (Format::OldBristol, old_inputs(one, other), vec![output])
    };
    let input_bits = total(lines, second, &inputs, "inputs")?;
    let output_bits = total(lines, second, &outputs, "outputs")?;
    let header = Header { format, gates, wires, inputs, outputs, input_bits, output_bits };
    check_counts(lines, first, &header)?;
    Ok(header)
}

/// The old format writes a missing second input as width 0.
fn old_inputs(first: usize, second: usize) -> Vec<usize> {
    if second == 0 { vec![first] } else { vec![first, second] }
}

fn port_list(lines: &Lines<'_>, line: &str, kind: &str) -> Result<Vec<usize>, ParseError> {
    let numbers = lines.numbers(line)?;
    let Some((count, widths)) = numbers.split_first() else {
        return Err(lines.error(line, format!("the line of {kind}s is empty"), "list the ports"));
    };
    if *count != widths.len() || *count > MAX_PORTS {
        let given = widths.len();
        let message = format!("{count} {kind}s are announced and {given} widths are given");
        let remedy = format!("write the number of {kind}s (at most {MAX_PORTS}), then each width");
        return Err(lines.error(line, message, &remedy));
    }
    Ok(widths.to_vec())
}

fn total(lines: &Lines<'_>, line: &str, widths: &[usize], kind: &str) -> Result<usize, ParseError> {
    let bits = widths.iter().fold(0usize, |sum, bits| sum.saturating_add(*bits));
    if bits > MAX_PORT_BITS {
        let message = format!("the {kind} have {bits} bits together");
        let remedy = format!("split the computation: a file has at most {MAX_PORT_BITS}");
        return Err(lines.error(line, message, &remedy));
    }
    Ok(bits)
}

/// Checks that what the header announces is possible in a file of this size.
fn check_counts(lines: &Lines<'_>, line: &str, header: &Header) -> Result<(), ParseError> {
    const REMEDY: &str = "correct the counts in the first line, or fetch the whole file";
    let Header { gates, wires, input_bits, output_bits, .. } = *header;
    let bytes = usize::try_from(lines.bytes).unwrap_or(usize::MAX);
    // The shortest gate is `1 1 0 1 EQ`; every wire that a gate writes is named on its line.
    let message = if gates > bytes / 10 {
        format!("{gates} gates are announced, more than the file can hold")
    } else if wires < input_bits || wires < output_bits {
        format!("{wires} wires are announced, fewer than the ports take")
    } else if wires - input_bits > bytes / 2 {
        format!("{wires} wires are announced, more than the file can write")
    } else {
        return Ok(());
    };
    Err(lines.error(line, message, REMEDY))
}

/// A number and the word that it stands in.
#[derive(Clone, Copy)]
struct Number<'a> {
    value: usize,
    word: &'a str,
}

/// Where the gates of a file go.
pub(super) trait Store {
    /// The number under which gates read a wire of the file, input or written; `None` if it is neither.
    /// The wire is among those that are announced.
    fn number(&self, wire: usize) -> Option<u32>;

    /// Takes the gate that writes a wire that is announced and no input; false if it was written before.
    fn write(&mut self, wire: usize, gate: Gate) -> bool;
}

/// Gates in memory, their wires renumbered in the order in which they are written.
struct Memory {
    inputs: usize,
    gates: Vec<Gate>,
    /// New number of every wire after the inputs; [`UNWRITTEN`] until it is written.
    wires: Vec<u32>,
}

impl Memory {
    fn new(header: &Header) -> Self {
        let wires = vec![UNWRITTEN; header.wires - header.input_bits];
        Self { inputs: header.input_bits, gates: Vec::with_capacity(header.gates), wires }
    }
}

impl Store for Memory {
    fn number(&self, wire: usize) -> Option<u32> {
        match wire.checked_sub(self.inputs) {
            None => Some(wire as u32),
            Some(gate) => self.wires.get(gate).copied().filter(|number| *number != UNWRITTEN),
        }
    }

    fn write(&mut self, wire: usize, gate: Gate) -> bool {
        let number = (self.inputs + self.gates.len()) as u32;
        let place = wire.checked_sub(self.inputs).and_then(|gate| self.wires.get_mut(gate));
        let Some(place) = place.filter(|place| **place == UNWRITTEN) else { return false };
        *place = number;
        self.gates.push(gate);
        true
    }
}

const UNWRITTEN: u32 = u32::MAX;

/// Reads the gates of a file or of a piece of one.
pub(super) struct Body<'l, 'a, S> {
    source: Source<'a>,
    header: &'l Header,
    store: &'l mut S,
    /// Lines with gates so far, in earlier pieces too.
    read: usize,
    numbers: Vec<Number<'a>>,
}

impl<'l, 'a, S: Store> Body<'l, 'a, S> {
    /// The gates that `lines` are part of, after `read` earlier ones.
    pub(super) fn new(
        lines: &Lines<'a>,
        header: &'l Header,
        read: usize,
        store: &'l mut S,
    ) -> Self {
        Self { source: lines.source, header, store, read, numbers: Vec::new() }
    }

    /// Reads the line of one gate.
    pub(super) fn gate(&mut self, line: &'a str) -> Result<(), ParseError> {
        if self.read == self.header.gates {
            let message = format!("there are more than the {} announced gates", self.read);
            let remedy = "correct the number of gates in the first line";
            return Err(self.source.error(line, message, remedy));
        }
        self.read += 1;
        let mut numbers = std::mem::take(&mut self.numbers);
        let read = self.line(line, &mut numbers);
        self.numbers = numbers;
        read
    }

    /// Lines with gates so far.
    pub(super) fn read(&self) -> usize {
        self.read
    }

    /// Takes a gate if nothing is wrong with it; what is, [`Self::gate`] says.
    pub(super) fn accept(&mut self, wire: usize, gate: Gate) -> bool {
        let known = |wire: u32| {
            (wire as usize) < self.header.wires && self.store.number(wire as usize).is_some()
        };
        let own = wire >= self.header.input_bits && wire < self.header.wires;
        let good = own && self.read < self.header.gates && gate.operands().all(known);
        let taken = good && self.store.write(wire, gate);
        self.read += usize::from(taken);
        taken
    }

    /// The numbers of the output wires, when all gates were read.
    pub(super) fn finish(&self) -> Result<Vec<u32>, ParseError> {
        let end = self.source.end();
        let Header { gates, wires, output_bits, .. } = *self.header;
        if self.read < gates {
            let message = format!("{gates} gates are announced and {} given", self.read);
            let remedy = "correct the first line, or fetch the whole file";
            return Err(self.source.error(end, message, remedy));
        }
        let outputs = wires - output_bits..wires;
        outputs.map(|value| self.operand(Number { value, word: end })).collect()
    }

    /// One gate: numbers of inputs and outputs, the wires, the type.
    fn line(&mut self, line: &'a str, numbers: &mut Vec<Number<'a>>) -> Result<(), ParseError> {
        let mut words = line.split_ascii_whitespace();
        let kind = words.next_back().unwrap_or_default();
        numbers.clear();
        for word in words {
            numbers.push(Number { value: number(self.source, word)?, word });
        }
        let [ins, outs, wires @ ..] = &numbers[..] else { return Err(self.shape(line, kind)) };
        let (ins, outs) = (ins.value, outs.value);
        if ins.saturating_add(outs) != wires.len() {
            return Err(self.shape(line, kind));
        }
        let fashion = self.header.format == Format::BristolFashion;
        match (kind, ins, wires) {
            ("XOR", 2, &[a, b, out]) => {
                let gate = Gate::Xor(self.operand(a)?, self.operand(b)?);
                self.write(out, gate)
            }
            ("AND", 2, &[a, b, out]) => {
                let gate = Gate::And(self.operand(a)?, self.operand(b)?);
                self.write(out, gate)
            }
            ("INV" | "NOT", 1, &[a, out]) => {
                let gate = Gate::Inv(self.operand(a)?);
                self.write(out, gate)
            }
            ("EQ", 1, &[bit, out]) if fashion && bit.value <= 1 => {
                self.write(out, Gate::Eq(bit.value == 1))
            }
            ("EQW", 1, &[a, out]) if fashion => {
                let gate = Gate::Eqw(self.operand(a)?);
                self.write(out, gate)
            }
            ("MAND", _, wires) if fashion && ins == 2 * outs && outs > 0 => {
                let (operands, outs) = wires.split_at(ins);
                let (left, right) = operands.split_at(outs.len());
                // All operands are read before any result is written.
                let pairs = left.iter().zip(right);
                let gates = pairs
                    .map(|(a, b)| Ok(Gate::And(self.operand(*a)?, self.operand(*b)?)))
                    .collect::<Result<Vec<_>, ParseError>>()?;
                outs.iter().zip(gates).try_for_each(|(out, gate)| self.write(*out, gate))
            }
            _ => Err(self.shape(line, kind)),
        }
    }

    fn shape(&self, line: &str, kind: &str) -> ParseError {
        let (message, known) = match self.header.format {
            Format::OldBristol => ("of the old Bristol format", "XOR, AND and INV"),
            _ => ("of Bristol Fashion", "XOR, AND, INV, EQ, EQW and MAND"),
        };
        self.source.error(
            line,
            format!("this line ending in `{}` is no gate {message}", shown(kind)),
            format!("write `INPUTS OUTPUTS WIRES... TYPE`; the types are {known}"),
        )
    }

    /// The number under which a gate reads a wire.
    fn operand(&self, wire: Number<'_>) -> Result<u32, ParseError> {
        if wire.value >= self.header.wires {
            return Err(self.outside(wire));
        }
        self.store.number(wire.value).ok_or_else(|| {
            let message = format!("wire {} is read but was not written", wire.value);
            self.source.error(wire.word, message, "write gates in topological order")
        })
    }

    fn write(&mut self, wire: Number<'_>, gate: Gate) -> Result<(), ParseError> {
        let error =
            |message: String, remedy: &str| Err(self.source.error(wire.word, message, remedy));
        if wire.value < self.header.input_bits {
            let message = format!("wire {} is an input and cannot be written", wire.value);
            return error(message, "number gate outputs after the inputs");
        }
        if wire.value >= self.header.wires {
            return Err(self.outside(wire));
        }
        if !self.store.write(wire.value, gate) {
            let message = format!("wire {} is written twice", wire.value);
            return error(message, "give every gate output its own wire");
        }
        Ok(())
    }

    fn outside(&self, wire: Number<'_>) -> ParseError {
        let (wires, Number { value, word }) = (self.header.wires, wire);
        let message = format!("wire {value} does not exist, {wires} are announced");
        let remedy = "correct the wire, or the number of wires in the first line";
        self.source.error(word, message, remedy)
    }
}
