//! Writing AIGER.

use crate::circuit::Gate;
use crate::formats::Parsed;
use crate::formats::names::bit_names;

/// The circuit in the text format. An XOR becomes three ANDs.
pub fn write_aiger_ascii(parsed: &Parsed) -> String {
    let graph = Graph::new(parsed);
    let mut lines = vec![graph.header("aag")];
    lines.extend((0..graph.inputs).map(|i| (2 * (i + 1)).to_string()));
    for (i, latch) in graph.latches().enumerate() {
        lines.push(format!("{} {latch}", 2 * (graph.inputs + 1 + i as u32)));
    }
    lines.extend(graph.outputs.iter().map(u32::to_string));
    for (i, [a, b]) in graph.ands.iter().enumerate() {
        lines.push(format!("{} {a} {b}", graph.and(i)));
    }
    lines.extend(graph.symbols(parsed));
    lines.join("\n") + "\n"
}

/// The circuit in the binary format. An XOR becomes three ANDs.
pub fn write_aiger_binary(parsed: &Parsed) -> Vec<u8> {
    let graph = Graph::new(parsed);
    let mut lines = vec![graph.header("aig")];
    lines.extend(graph.latches());
    lines.extend(graph.outputs.iter().map(u32::to_string));
    let mut bytes = (lines.join("\n") + "\n").into_bytes();
    for (i, [a, b]) in graph.ands.iter().enumerate() {
        push_difference(&mut bytes, graph.and(i) - a);
        push_difference(&mut bytes, a - b);
    }
    for symbol in graph.symbols(parsed) {
        bytes.extend(symbol.bytes());
        bytes.push(b'\n');
    }
    bytes
}

fn push_difference(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A circuit as ANDs; variables are inputs, latches, ANDs, in this order from 1 on.
struct Graph {
    inputs: u32,
    initial: Vec<bool>,
    next: Vec<u32>,
    outputs: Vec<u32>,
    /// The larger literal first.
    ands: Vec<[u32; 2]>,
}

impl Graph {
    fn new(parsed: &Parsed) -> Self {
        let (circuit, signature, initial) = parsed.cycle();
        let leaves = (circuit.wires() - circuit.gates().len()) as u32;
        let mut graph = Self {
            inputs: signature.input_bits() as u32,
            initial: initial.to_vec(),
            next: Vec::new(),
            outputs: Vec::new(),
            ands: Vec::new(),
        };
        let mut literals: Vec<u32> = (1..=leaves).map(|variable| 2 * variable).collect();
        for gate in circuit.gates() {
            let literal = match gate.map(|wire| literals[wire as usize]) {
                Gate::And(a, b) => graph.push(a, b),
                Gate::Xor(a, b) => {
                    let (both, neither) = (graph.push(a, b), graph.push(a ^ 1, b ^ 1));
                    graph.push(both ^ 1, neither ^ 1)
                }
                Gate::Inv(a) => a ^ 1,
                Gate::Eqw(a) => a,
                Gate::Eq(bit) => u32::from(bit),
            };
            literals.push(literal);
        }
        let wires = circuit.output_wires().iter();
        graph.outputs = wires.map(|wire| literals[*wire as usize]).collect();
        graph.next = graph.outputs.split_off(graph.outputs.len() - initial.len());
        graph
    }

    fn push(&mut self, a: u32, b: u32) -> u32 {
        self.ands.push([a.max(b), a.min(b)]);
        self.and(self.ands.len() - 1)
    }

    /// The literal of an AND.
    fn and(&self, number: usize) -> u32 {
        2 * (self.inputs + (self.initial.len() + number) as u32 + 1)
    }

    fn header(&self, kind: &str) -> String {
        let (inputs, latches, ands) = (self.inputs, self.initial.len(), self.ands.len());
        let most = inputs as usize + latches + ands;
        format!("{kind} {most} {inputs} {latches} {} {ands}", self.outputs.len())
    }

    /// Next value, and initial value where it is not 0.
    fn latches(&self) -> impl Iterator<Item = String> {
        let latches = self.next.iter().zip(&self.initial);
        latches.map(|(next, bit)| if *bit { format!("{next} 1") } else { next.to_string() })
    }

    fn symbols(&self, parsed: &Parsed) -> Vec<String> {
        let (_, signature, _) = parsed.cycle();
        let inputs: Vec<_> = signature.inputs.iter().map(|p| (p.name.as_str(), p.bits)).collect();
        let outputs: Vec<_> = signature.outputs.iter().map(|p| (p.name.as_str(), p.bits)).collect();
        let mut symbols = Vec::new();
        for (kind, names) in [('i', bit_names("in", &inputs)), ('o', bit_names("out", &outputs))] {
            let names = names.into_iter().enumerate();
            symbols.extend(names.map(|(i, name)| format!("{kind}{i} {name}")));
        }
        symbols
    }
}
