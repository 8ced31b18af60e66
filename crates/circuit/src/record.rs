//! Recording a computation as a circuit, simplified on the way.

use std::collections::HashMap;

use crate::circuit::{Circuit, CircuitError, Gate, MAX_WIRES};
use crate::gates::Gates;
use crate::program::Signature;

/// A machine that writes gates down instead of executing them.
///
/// Constants are folded, `x xor x`, `x and x`, `x and not x` and double negations vanish, negations
/// move through XORs, a gate that was seen before is used again, and [`Self::finish`]
/// leaves out what no output depends on.
pub struct Recorder {
    inputs: u32,
    nodes: Vec<Node>,
    seen: HashMap<Node, u32>,
}

/// The wire of a [`Recorder`]: a recorded wire or its negation, or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Literal {
    wire: u32,
    inverted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Node {
    Xor(u32, u32),
    And(Literal, Literal),
}

/// Why a computation cannot be recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// More gates or inputs than a circuit holds.
    #[error("the program has more than {MAX_RECORDED} wires; run it as a stream instead")]
    TooLarge,
    /// The outputs do not match the signature.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
}

/// The largest number of wires that are recorded.
pub const MAX_RECORDED: usize = 1 << 28;

impl Recorder {
    /// A recorder and the wires of the input ports.
    pub fn new(signature: &Signature) -> Result<(Self, Vec<Vec<Literal>>), RecordError> {
        let mut next: usize = 0;
        let mut ports = Vec::with_capacity(signature.inputs.len());
        for port in &signature.inputs {
            let start = next;
            next = next.checked_add(port.bits).ok_or(RecordError::TooLarge)?;
            if next > MAX_RECORDED {
                return Err(RecordError::TooLarge);
            }
            ports.push((start..next).map(|wire| Literal::plain(wire as u32)).collect());
        }
        let recorder = Self { inputs: next as u32, nodes: Vec::new(), seen: HashMap::new() };
        Ok((recorder, ports))
    }

    /// The circuit that computes `outputs`.
    pub fn finish(
        self,
        label: &str,
        signature: Signature,
        outputs: &[Vec<Literal>],
    ) -> Result<Circuit, RecordError> {
        let alive = self.alive(outputs);
        let mut writer = Writer::new(self.inputs, self.nodes.len());
        for (i, node) in self.nodes.iter().enumerate().filter(|(i, _)| alive[*i]) {
            writer.node(i, *node);
        }
        let wires = outputs.iter().flatten().map(|literal| writer.literal(*literal)).collect();
        if writer.gates.len() + self.inputs as usize > MAX_WIRES {
            return Err(RecordError::TooLarge);
        }
        Ok(Circuit::new(label, signature, writer.gates, wires)?)
    }

    /// Which nodes an output depends on.
    fn alive(&self, outputs: &[Vec<Literal>]) -> Vec<bool> {
        let mut alive = vec![false; self.nodes.len()];
        let mark = |wire: u32, alive: &mut Vec<bool>| {
            let node = (wire as usize).checked_sub(self.inputs as usize);
            if let Some(flag) = node.and_then(|node| alive.get_mut(node)) {
                *flag = true;
            }
        };
        for literal in outputs.iter().flatten() {
            mark(literal.wire, &mut alive);
        }
        for (i, node) in self.nodes.iter().enumerate().rev() {
            if alive[i] {
                let (a, b) = match node {
                    Node::Xor(a, b) => (*a, *b),
                    Node::And(a, b) => (a.wire, b.wire),
                };
                mark(a, &mut alive);
                mark(b, &mut alive);
            }
        }
        alive
    }

    fn node(&mut self, node: Node) -> Result<u32, RecordError> {
        if let Some(wire) = self.seen.get(&node) {
            return Ok(*wire);
        }
        let wire = self.inputs as usize + self.nodes.len();
        if wire >= MAX_RECORDED {
            return Err(RecordError::TooLarge);
        }
        self.nodes.push(node);
        self.seen.insert(node, wire as u32);
        Ok(wire as u32)
    }
}

impl Gates for Recorder {
    type Wire = Literal;
    type Error = RecordError;

    fn constant(&mut self, bit: bool) -> Result<Literal, RecordError> {
        Ok(Literal { wire: CONSTANT, inverted: bit })
    }

    fn xor(&mut self, a: &Literal, b: &Literal) -> Result<Literal, RecordError> {
        let inverted = a.inverted ^ b.inverted;
        let (low, high) = (a.wire.min(b.wire), a.wire.max(b.wire));
        let wire = match (low, high) {
            (low, high) if low == high => CONSTANT,
            (wire, CONSTANT) => wire,
            (low, high) => self.node(Node::Xor(low, high))?,
        };
        Ok(Literal { wire, inverted })
    }

    fn not(&mut self, a: &Literal) -> Result<Literal, RecordError> {
        Ok(a.negated())
    }

    fn and(&mut self, a: &Literal, b: &Literal) -> Result<Literal, RecordError> {
        let (low, high) = (*a.min(b), *a.max(b));
        if high == TRUE || low == high {
            return Ok(low);
        }
        if high == TRUE.negated() || low == high.negated() {
            return Ok(TRUE.negated());
        }
        Ok(Literal::plain(self.node(Node::And(low, high))?))
    }
}

impl Literal {
    fn plain(wire: u32) -> Self {
        Self { wire, inverted: false }
    }

    fn negated(self) -> Self {
        Self { inverted: !self.inverted, ..self }
    }
}

/// Turns nodes into gates; negations become gates where an AND or an output needs them.
struct Writer {
    inputs: u32,
    gates: Vec<Gate>,
    /// Wire of every node.
    wires: Vec<u32>,
    negations: HashMap<u32, u32>,
    constants: [Option<u32>; 2],
}

impl Writer {
    fn new(inputs: u32, nodes: usize) -> Self {
        let wires = vec![0; nodes];
        Self { inputs, gates: Vec::new(), wires, negations: HashMap::new(), constants: [None; 2] }
    }

    fn push(&mut self, gate: Gate) -> u32 {
        self.gates.push(gate);
        self.inputs + (self.gates.len() - 1) as u32
    }

    fn wire(&self, recorded: u32) -> u32 {
        if recorded < self.inputs {
            recorded
        } else {
            self.wires[(recorded - self.inputs) as usize]
        }
    }

    fn node(&mut self, index: usize, node: Node) {
        let gate = match node {
            Node::Xor(a, b) => Gate::Xor(self.wire(a), self.wire(b)),
            Node::And(a, b) => {
                let a = self.literal(a);
                Gate::And(a, self.literal(b))
            }
        };
        self.wires[index] = self.push(gate);
    }

    fn literal(&mut self, literal: Literal) -> u32 {
        if literal.wire == CONSTANT {
            let known = self.constants[usize::from(literal.inverted)];
            let wire = known.unwrap_or_else(|| self.push(Gate::Eq(literal.inverted)));
            self.constants[usize::from(literal.inverted)] = Some(wire);
            return wire;
        }
        let wire = self.wire(literal.wire);
        if !literal.inverted {
            return wire;
        }
        if let Some(known) = self.negations.get(&wire) {
            return *known;
        }
        let negation = self.push(Gate::Inv(wire));
        self.negations.insert(wire, negation);
        negation
    }
}

/// The wire of the constants; false when not inverted.
const CONSTANT: u32 = u32::MAX;
const TRUE: Literal = Literal { wire: CONSTANT, inverted: true };
