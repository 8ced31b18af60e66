//! Reading both Bristol formats.

use super::ports::Ports;
use super::{MAX_PORT_BITS, MAX_PORTS, ParseError};
use crate::circuit::{Circuit, CircuitError, Gate, MAX_WIRES};
use crate::program::Signature;

/// Which of the two formats a file is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Two inputs and one output: the format of 2011 to 2019.
    OldBristol,
    /// Any number of ports, and the gates EQ, EQW and MAND.
    BristolFashion,
}

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
    let mut lines = Lines::new(name, bytes)?;
    let header = header(&mut lines)?;
    let (mut gates, mut outputs) = Body::read(&mut lines, &header)?;
    let mut signature = Signature::new();
    for (i, bits) in header.inputs.iter().enumerate() {
        signature = signature.input(&format!("in{i}"), *bits, None);
    }
    for (i, bits) in header.outputs.iter().enumerate() {
        signature = signature.output(&format!("out{i}"), *bits, None);
    }
    if let Some(ports) = ports {
        signature = ports.apply(&signature, &mut gates, &mut outputs)?;
    }
    Circuit::new(label(name), signature, gates, outputs)
        .map_err(|error: CircuitError| lines.error(error.to_string(), "report this file"))
}

/// The format of a file, from its first three lines.
pub fn detect(name: &str, bytes: &[u8]) -> Result<Format, ParseError> {
    Ok(header(&mut Lines::new(name, bytes)?)?.format)
}

fn label(name: &str) -> &str {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    match file.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => file,
    }
}

/// The lines that are not blank, with their numbers.
struct Lines<'a> {
    name: &'a str,
    rest: std::iter::Enumerate<std::str::Lines<'a>>,
    /// The last line handed out.
    line: usize,
    bytes: usize,
}

impl<'a> Lines<'a> {
    fn new(name: &'a str, bytes: &'a [u8]) -> Result<Self, ParseError> {
        let text = std::str::from_utf8(bytes).map_err(|error| ParseError {
            file: name.to_owned(),
            line: 1 + bytes[..error.valid_up_to()].iter().filter(|b| **b == b'\n').count(),
            message: "this is not text".to_owned(),
            remedy: "give a circuit in a Bristol format".to_owned(),
        })?;
        Ok(Self { name, rest: text.lines().enumerate(), line: 1, bytes: bytes.len() })
    }

    fn next(&mut self) -> Option<&'a str> {
        for (i, line) in self.rest.by_ref() {
            self.line = i + 1;
            if !line.trim().is_empty() {
                return Some(line);
            }
        }
        None
    }

    fn error(&self, message: impl Into<String>, remedy: &str) -> ParseError {
        ParseError {
            file: self.name.to_owned(),
            line: self.line,
            message: message.into(),
            remedy: remedy.to_owned(),
        }
    }

    fn number(&self, token: &str) -> Result<usize, ParseError> {
        let number = if token.bytes().all(|byte| byte.is_ascii_digit()) {
            token.parse::<usize>().ok().filter(|number| *number <= MAX_WIRES)
        } else {
            None
        };
        number.ok_or_else(|| {
            let shown: String = token.chars().take(20).collect();
            let message = format!("`{shown}` is no number between 0 and {MAX_WIRES}");
            self.error(message, "write a decimal number here")
        })
    }

    fn numbers(&self, line: &str) -> Result<Vec<usize>, ParseError> {
        line.split_ascii_whitespace().map(|token| self.number(token)).collect()
    }
}

struct Header {
    format: Format,
    gates: usize,
    wires: usize,
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    input_bits: usize,
    output_bits: usize,
}

fn header(lines: &mut Lines<'_>) -> Result<Header, ParseError> {
    const START: &str = "start the file with the numbers of gates and wires";
    let Some(line) = lines.next() else {
        return Err(lines.error("the file is empty", START));
    };
    let &[gates, wires] = &lines.numbers(line)?[..] else {
        return Err(lines.error("the first line does not hold two numbers", START));
    };
    let counts_line = lines.line;
    let Some(second) = lines.next() else {
        return Err(lines.error("the line of inputs is missing", "add it after the first line"));
    };
    let second_line = lines.line;
    // The third line of Bristol Fashion lists outputs; that of the old format is a gate.
    let mut ahead = lines.rest.clone().map(|(_, line)| line.trim()).filter(|line| !line.is_empty());
    let listed = ahead.next().is_some_and(|line| line.ends_with(|c: char| c.is_ascii_digit()));
    let (format, inputs, outputs) = if listed {
        let inputs = port_list(lines, second, "input")?;
        let third = lines.next().unwrap_or_default();
        (Format::BristolFashion, inputs, port_list(lines, third, "output")?)
    } else {
        let &[first, other, output] = &lines.numbers(second)?[..] else {
            let remedy = "give two input widths and one output width (old Bristol), or add the \
                          line of outputs (Bristol Fashion)";
            return Err(lines.error("the line of ports does not hold three numbers", remedy));
        };
        (Format::OldBristol, old_inputs(first, other), vec![output])
    };
    lines.line = second_line;
    let input_bits = total(lines, &inputs, "inputs")?;
    let output_bits = total(lines, &outputs, "outputs")?;
    lines.line = counts_line;
    check_counts(lines, gates, wires, input_bits, output_bits)?;
    Ok(Header { format, gates, wires, inputs, outputs, input_bits, output_bits })
}

/// The old format writes a missing second input as width 0.
fn old_inputs(first: usize, second: usize) -> Vec<usize> {
    if second == 0 { vec![first] } else { vec![first, second] }
}

fn port_list(lines: &Lines<'_>, line: &str, kind: &str) -> Result<Vec<usize>, ParseError> {
    let numbers = lines.numbers(line)?;
    let Some((count, widths)) = numbers.split_first() else {
        return Err(lines.error(format!("the line of {kind}s is empty"), "list the ports"));
    };
    if *count != widths.len() || *count > MAX_PORTS {
        let given = widths.len();
        let message = format!("{count} {kind}s are announced and {given} widths are given");
        let remedy = format!("write the number of {kind}s (at most {MAX_PORTS}), then each width");
        return Err(lines.error(message, &remedy));
    }
    Ok(widths.to_vec())
}

fn total(lines: &Lines<'_>, widths: &[usize], kind: &str) -> Result<usize, ParseError> {
    let bits = widths.iter().fold(0usize, |sum, bits| sum.saturating_add(*bits));
    if bits > MAX_PORT_BITS {
        let message = format!("the {kind} have {bits} bits together");
        let remedy = format!("split the computation: a file has at most {MAX_PORT_BITS}");
        return Err(lines.error(message, &remedy));
    }
    Ok(bits)
}

/// What the header announces must be possible in a file of this size.
fn check_counts(
    lines: &Lines<'_>,
    gates: usize,
    wires: usize,
    input_bits: usize,
    output_bits: usize,
) -> Result<(), ParseError> {
    const REMEDY: &str = "correct the counts in the first line, or fetch the whole file";
    // The shortest gate is `1 1 0 1 EQ`; every wire that a gate writes is named on its line.
    if gates > lines.bytes / 10 {
        let message = format!("{gates} gates are announced, more than the file can hold");
        return Err(lines.error(message, REMEDY));
    }
    if wires < input_bits || wires < output_bits {
        let message = format!("{wires} wires are announced, fewer than the ports take");
        return Err(lines.error(message, REMEDY));
    }
    if wires - input_bits > lines.bytes / 2 {
        let message = format!("{wires} wires are announced, more than the file can write");
        return Err(lines.error(message, REMEDY));
    }
    Ok(())
}

/// Reads gates and renumbers their wires in the order in which they are written.
struct Body<'l, 'a> {
    lines: &'l mut Lines<'a>,
    header: &'l Header,
    gates: Vec<Gate>,
    /// New number of every wire after the inputs; [`UNWRITTEN`] until it is written.
    wires: Vec<u32>,
}

impl<'l, 'a> Body<'l, 'a> {
    /// The gates and the output wires.
    fn read(
        lines: &'l mut Lines<'a>,
        header: &'l Header,
    ) -> Result<(Vec<Gate>, Vec<u32>), ParseError> {
        let gates = Vec::with_capacity(header.gates);
        let wires = vec![UNWRITTEN; header.wires - header.input_bits];
        let mut body = Self { lines, header, gates, wires };
        let mut numbers = Vec::new();
        for read in 0..header.gates {
            let Some(line) = body.lines.next() else {
                let message = format!("{} gates are announced and {read} given", header.gates);
                let remedy = "correct the first line, or fetch the whole file";
                return Err(body.lines.error(message, remedy));
            };
            body.line(line, &mut numbers)?;
        }
        if body.lines.next().is_some() {
            let message = format!("there are more than the {} announced gates", header.gates);
            let remedy = "correct the number of gates in the first line";
            return Err(body.lines.error(message, remedy));
        }
        let outputs = (header.wires - header.output_bits..header.wires)
            .map(|wire| body.operand(wire))
            .collect::<Result<_, _>>()?;
        Ok((body.gates, outputs))
    }

    /// One gate: numbers of inputs and outputs, the wires, the type.
    fn line(&mut self, line: &str, numbers: &mut Vec<usize>) -> Result<(), ParseError> {
        let mut tokens = line.split_ascii_whitespace();
        let kind = tokens.next_back().unwrap_or_default();
        numbers.clear();
        for token in tokens {
            numbers.push(self.lines.number(token)?);
        }
        let [ins, outs, wires @ ..] = &numbers[..] else { return Err(self.shape(kind)) };
        if ins.saturating_add(*outs) != wires.len() {
            return Err(self.shape(kind));
        }
        let fashion = self.header.format == Format::BristolFashion;
        match (kind, *ins, wires) {
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
            ("EQ", 1, &[bit @ (0 | 1), out]) if fashion => self.write(out, Gate::Eq(bit == 1)),
            ("EQW", 1, &[a, out]) if fashion => {
                let gate = Gate::Eqw(self.operand(a)?);
                self.write(out, gate)
            }
            ("MAND", _, wires) if fashion && *ins == 2 * *outs && *outs > 0 => {
                let (operands, outs) = wires.split_at(*ins);
                let (left, right) = operands.split_at(outs.len());
                // All operands are read before any result is written.
                let pairs = left.iter().zip(right);
                let gates = pairs
                    .map(|(a, b)| Ok(Gate::And(self.operand(*a)?, self.operand(*b)?)))
                    .collect::<Result<Vec<_>, ParseError>>()?;
                outs.iter().zip(gates).try_for_each(|(out, gate)| self.write(*out, gate))
            }
            _ => Err(self.shape(kind)),
        }
    }

    fn shape(&self, kind: &str) -> ParseError {
        let kind: String = kind.chars().take(20).collect();
        let (message, known) = match self.header.format {
            Format::OldBristol => ("of the old Bristol format", "XOR, AND and INV"),
            Format::BristolFashion => ("of Bristol Fashion", "XOR, AND, INV, EQ, EQW and MAND"),
        };
        self.lines.error(
            format!("this line ending in `{kind}` is no gate {message}"),
            &format!("write `INPUTS OUTPUTS WIRES... TYPE`; the types are {known}"),
        )
    }

    /// The new number of a wire that is read.
    fn operand(&self, wire: usize) -> Result<u32, ParseError> {
        let inputs = self.header.input_bits;
        let number = match wire.checked_sub(inputs) {
            None => wire as u32,
            Some(gate) => match self.wires.get(gate) {
                Some(number) => *number,
                None => return Err(self.outside(wire)),
            },
        };
        if number == UNWRITTEN {
            let message = format!("wire {wire} is read but was not written");
            return Err(self.lines.error(message, "write gates in topological order"));
        }
        Ok(number)
    }

    fn write(&mut self, wire: usize, gate: Gate) -> Result<(), ParseError> {
        let inputs = self.header.input_bits;
        let Some(index) = wire.checked_sub(inputs) else {
            let message = format!("wire {wire} is an input and cannot be written");
            return Err(self.lines.error(message, "number gate outputs after the inputs"));
        };
        let number = (inputs + self.gates.len()) as u32;
        match self.wires.get_mut(index) {
            None => return Err(self.outside(wire)),
            Some(place) if *place == UNWRITTEN => *place = number,
            Some(_) => {
                let message = format!("wire {wire} is written twice");
                return Err(self.lines.error(message, "give every gate output its own wire"));
            }
        }
        self.gates.push(gate);
        Ok(())
    }

    fn outside(&self, wire: usize) -> ParseError {
        let message = format!("wire {wire} does not exist, {} are announced", self.header.wires);
        self.lines.error(message, "correct the wire, or the number of wires in the first line")
    }
}

const UNWRITTEN: u32 = u32::MAX;
