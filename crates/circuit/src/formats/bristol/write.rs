//! Writing both Bristol formats.

use std::fmt::Write as _;

use crate::circuit::{Circuit, Gate};
use crate::program::Program;

/// Why a circuit cannot be written in the old Bristol format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The old format has one or two inputs and exactly one output.
    #[error(
        "the old Bristol format has one or two inputs and one output, the circuit has {inputs} \
         and {outputs}; write Bristol Fashion instead"
    )]
    Ports {
        /// Input ports of the circuit.
        inputs: usize,
        /// Output ports of the circuit.
        outputs: usize,
    },
    /// The old format writes a constant as `x xor x`, so it needs an input wire.
    #[error(
        "the old Bristol format has no constants without inputs; write Bristol Fashion instead"
    )]
    NoInput,
}

/// The circuit in Bristol Fashion, least significant bits first.
pub fn write_bristol_fashion(circuit: &Circuit) -> String {
    let signature = circuit.signature();
    let list = |widths: Vec<usize>| {
        let mut line = widths.len().to_string();
        widths.iter().for_each(|bits| line.push_str(&format!(" {bits}")));
        line
    };
    let numbered = Numbered::new(circuit, Style::Fashion);
    let mut text = format!(
        "{} {}\n{}\n{}\n\n",
        numbered.lines.len(),
        numbered.wires,
        list(signature.inputs.iter().map(|port| port.bits).collect()),
        list(signature.outputs.iter().map(|port| port.bits).collect()),
    );
    numbered.write(&mut text);
    text
}

/// The circuit in the old Bristol format, least significant bits first. Constants and copies are
/// written with XOR and INV.
pub fn write_bristol(circuit: &Circuit) -> Result<String, WriteError> {
    let signature = circuit.signature();
    let (inputs, outputs) = (signature.inputs.len(), signature.outputs.len());
    let (first, second) = match &signature.inputs[..] {
        [one] => (one.bits, 0),
        [one, two] if two.bits > 0 => (one.bits, two.bits),
        _ => return Err(WriteError::Ports { inputs, outputs }),
    };
    let [output] = &signature.outputs[..] else {
        return Err(WriteError::Ports { inputs, outputs });
    };
    let constant = circuit.gates().iter().any(|gate| matches!(gate, Gate::Eq(_)));
    if constant && first + second == 0 {
        return Err(WriteError::NoInput);
    }
    let numbered = Numbered::new(circuit, Style::Old);
    let (gates, wires) = (numbered.lines.len(), numbered.wires);
    let mut text = format!("{gates} {wires}\n{first} {second} {}\n\n", output.bits);
    numbered.write(&mut text);
    Ok(text)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Old,
    Fashion,
}

/// Gates as they stand in a file: results may be numbered freely, outputs are the last wires.
struct Numbered {
    lines: Vec<Gate>,
    /// For every line, whether its result is an output, and then which.
    output: Vec<Option<u32>>,
    inputs: usize,
    outputs: usize,
    wires: usize,
}

impl Numbered {
    fn new(circuit: &Circuit, style: Style) -> Self {
        let inputs = circuit.wires() - circuit.gates().len();
        let mut this = Self {
            lines: Vec::with_capacity(circuit.gates().len()),
            output: Vec::new(),
            inputs,
            outputs: circuit.output_wires().len(),
            wires: 0,
        };
        // Line that computes each wire of the circuit, in file-independent numbering.
        let mut place: Vec<u32> = (0..inputs as u32).collect();
        for gate in circuit.gates() {
            let gate = gate.map(|wire| place[wire as usize]);
            place.push(this.gate(gate, style));
        }
        for (i, wire) in circuit.output_wires().iter().enumerate() {
            let line = (place[*wire as usize] as usize).checked_sub(inputs);
            // An input, or a result that is an output already, is copied.
            let line = match line.filter(|line| this.output[*line].is_none()) {
                Some(line) => line,
                None => {
                    let copy = this.gate(Gate::Eqw(place[*wire as usize]), style);
                    copy as usize - inputs
                }
            };
            this.output[line] = Some(i as u32);
        }
        this.wires = inputs + this.lines.len();
        this
    }

    /// Appends a gate, spelled out if the old format lacks it; the number of its result.
    fn gate(&mut self, gate: Gate, style: Style) -> u32 {
        match (style, gate) {
            (Style::Old, Gate::Eq(bit)) => {
                let zero = self.push(Gate::Xor(0, 0));
                if bit { self.push(Gate::Inv(zero)) } else { zero }
            }
            (Style::Old, Gate::Eqw(wire)) => {
                let inverted = self.push(Gate::Inv(wire));
                self.push(Gate::Inv(inverted))
            }
            _ => self.push(gate),
        }
    }

    fn push(&mut self, gate: Gate) -> u32 {
        self.lines.push(gate);
        self.output.push(None);
        (self.inputs + self.lines.len() - 1) as u32
    }

    fn write(&self, text: &mut String) {
        let first_output = (self.wires - self.outputs) as u32;
        let mut next = self.inputs as u32;
        let mut number: Vec<u32> = (0..next).collect();
        for (gate, output) in self.lines.iter().zip(&self.output) {
            let out = match output {
                Some(output) => first_output + output,
                None => {
                    next += 1;
                    next - 1
                }
            };
            number.push(out);
            // Writing to a string cannot fail.
            let _ = match gate.map(|wire| number[wire as usize]) {
                Gate::Xor(a, b) => writeln!(text, "2 1 {a} {b} {out} XOR"),
                Gate::And(a, b) => writeln!(text, "2 1 {a} {b} {out} AND"),
                Gate::Inv(a) => writeln!(text, "1 1 {a} {out} INV"),
                Gate::Eq(bit) => writeln!(text, "1 1 {} {out} EQ", u8::from(bit)),
                Gate::Eqw(a) => writeln!(text, "1 1 {a} {out} EQW"),
            };
        }
    }
}
