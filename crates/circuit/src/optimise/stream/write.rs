//! Writing a scanned circuit in Bristol Fashion, gate by gate.

use std::io::{self, Write};

use super::super::net::{Lit, Op};
use super::live::{Claims, Gate, Read, Scanned};

/// Widths of the ports of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ports {
    pub(super) inputs: Vec<usize>,
    pub(super) outputs: Vec<usize>,
}

/// Writes the file and returns its number of gates.
pub(super) fn write(mut scanned: Scanned, ports: &Ports, out: impl Write) -> io::Result<u64> {
    let inputs: u64 = ports.inputs.iter().map(|bits| *bits as u64).sum();
    let gates = lines(&scanned);
    let wires = inputs + gates;
    let mut text = Text { out, block: Vec::with_capacity(2 * BLOCK) };
    text.header(gates, wires, ports)?;
    let mut writer = Writer {
        text,
        wires: vec![[0; 2]; scanned.slots],
        next: inputs,
        first_output: wires - scanned.outputs.len() as u64,
    };
    for input in &scanned.inputs {
        writer.wires[input.slot as usize][0] = u64::from(input.wire);
        if input.negated {
            writer.invert(input.slot, input.claims)?;
        }
    }
    let mut claims = std::mem::take(&mut scanned.claims);
    while let Some(record) = scanned.tape.next()? {
        let gate = Gate::unpack(record);
        let claims = if gate.output { claims.pop() } else { None }.unwrap_or_default();
        writer.gate(&gate, claims)?;
    }
    for (i, output) in scanned.outputs.iter().enumerate() {
        writer.copy(i as u64, *output)?;
    }
    writer.text.flush(0)?;
    writer.text.out.flush()?;
    Ok(gates)
}

/// Gates, inverters, and copies for outputs that are inputs, constants or other outputs.
fn lines(scanned: &Scanned) -> u64 {
    let count = |claim: Option<u32>| u64::from(claim.is_some());
    let gates = scanned.claims.iter().map(|claims| count(claims.plain) + count(claims.negated));
    let inputs = scanned.inputs.iter().map(|input| count(input.claims.negated));
    let claimed = gates.chain(inputs).sum::<u64>();
    scanned.size.gates + scanned.inverters + scanned.outputs.len() as u64 - claimed
}

struct Writer<W> {
    text: Text<W>,
    /// For every slot, the number of its wire and of the negation.
    wires: Vec<[u64; 2]>,
    next: u64,
    first_output: u64,
}

impl<W: Write> Writer<W> {
    /// The number of a new wire.
    fn number(&mut self, claim: Option<u32>) -> u64 {
        if let Some(output) = claim {
            return self.first_output + u64::from(output);
        }
        self.next += 1;
        self.next - 1
    }

    fn gate(&mut self, gate: &Gate, claims: Claims) -> io::Result<()> {
        let read = |read: Read| self.wires[read.slot as usize][usize::from(read.inverted)];
        let [a, b] = gate.operands.map(read);
        let out = self.number(claims.plain);
        let kind = match gate.op {
            Op::And => b" AND\n",
            Op::Xor => b" XOR\n",
        };
        self.text.line(b"2 1", &[a, b, out], kind)?;
        self.wires[gate.out as usize][0] = out;
        if gate.negated { self.invert(gate.out, claims) } else { Ok(()) }
    }

    fn invert(&mut self, slot: u32, claims: Claims) -> io::Result<()> {
        let out = self.number(claims.negated);
        let wire = self.wires[slot as usize][0];
        self.wires[slot as usize][1] = out;
        self.text.line(b"1 1", &[wire, out], b" INV\n")
    }

    /// Copies an output, unless its gate wrote it as such.
    fn copy(&mut self, output: u64, literal: Lit) -> io::Result<()> {
        let out = self.first_output + output;
        if literal.is_constant() {
            return self.text.line(b"1 1", &[u64::from(literal.inverted()), out], b" EQ\n");
        }
        match self.wires[literal.wire() as usize][usize::from(literal.inverted())] {
            wire if wire == out => Ok(()),
            wire => self.text.line(b"1 1", &[wire, out], b" EQW\n"),
        }
    }
}

/// Text that is written in large pieces.
struct Text<W> {
    out: W,
    block: Vec<u8>,
}

const BLOCK: usize = 1 << 20;

impl<W: Write> Text<W> {
    fn header(&mut self, gates: u64, wires: u64, ports: &Ports) -> io::Result<()> {
        let numbers = |widths: &[usize]| {
            let mut line = widths.len().to_string();
            widths.iter().for_each(|bits| line.push_str(&format!(" {bits}")));
            line
        };
        let (inputs, outputs) = (numbers(&ports.inputs), numbers(&ports.outputs));
        self.block.extend(format!("{gates} {wires}\n{inputs}\n{outputs}\n\n").as_bytes());
        Ok(())
    }

    fn line(&mut self, start: &[u8], wires: &[u64], end: &[u8]) -> io::Result<()> {
        self.block.extend_from_slice(start);
        for wire in wires {
            decimal(&mut self.block, *wire);
        }
        self.block.extend_from_slice(end);
        self.flush(BLOCK)
    }

    /// Writes what is there if it is more than `least` bytes.
    fn flush(&mut self, least: usize) -> io::Result<()> {
        if self.block.len() > least {
            self.out.write_all(&self.block)?;
            self.block.clear();
        }
        Ok(())
    }
}

/// Appends a blank and a number.
fn decimal(text: &mut Vec<u8>, mut number: u64) {
    let mut digits = [b' '; 21];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[start - 1..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_usual() {
        for number in [0, 1, 9, 10, 99, 100, 1 << 31, u64::MAX] {
            let mut text = Vec::new();
            decimal(&mut text, number);
            assert_eq!(text, format!(" {number}").as_bytes());
        }
    }
}
