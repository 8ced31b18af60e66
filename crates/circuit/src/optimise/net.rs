//! The form in which circuits are optimised: AND and XOR gates over literals.

use std::ops::{BitXor, Not};

use super::polarity::Polarity;
use crate::circuit::{Circuit, Gate};
use crate::program::Program;

/// A wire or its negation. Wire 0 is the constant false, wires from 1 on are inputs and then gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lit(pub(crate) u32);

impl Lit {
    pub(crate) const FALSE: Lit = Lit(0);
    pub(crate) const TRUE: Lit = Lit(1);

    pub(crate) fn plain(wire: u32) -> Self {
        Self(wire << 1)
    }

    pub(crate) fn wire(self) -> u32 {
        self.0 >> 1
    }

    pub(crate) fn inverted(self) -> bool {
        self.0 & 1 == 1
    }

    pub(crate) fn is_constant(self) -> bool {
        self.0 < 2
    }

    /// The literal without its negation.
    pub(crate) fn positive(self) -> Self {
        Self(self.0 & !1)
    }
}

impl Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}

/// The literal, negated if the bit is set.
impl BitXor<bool> for Lit {
    type Output = Lit;

    fn bitxor(self, bit: bool) -> Lit {
        Lit(self.0 ^ u32::from(bit))
    }
}

/// The operation of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    And,
    Xor,
}

/// A gate. An inverter is `a xor true`, a copy `a xor false`, a constant `false xor c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) op: Op,
    pub(crate) a: Lit,
    pub(crate) b: Lit,
}

impl Node {
    pub(crate) fn and(a: Lit, b: Lit) -> Self {
        Self { op: Op::And, a, b }
    }

    pub(crate) fn xor(a: Lit, b: Lit) -> Self {
        Self { op: Op::Xor, a, b }
    }

    /// A gate of a circuit, on the literals of its wires.
    pub(crate) fn of(gate: Gate, literal: impl Fn(u32) -> Lit) -> Self {
        match gate {
            Gate::Xor(a, b) => Self::xor(literal(a), literal(b)),
            Gate::And(a, b) => Self::and(literal(a), literal(b)),
            Gate::Inv(a) => Self::xor(literal(a), Lit::TRUE),
            Gate::Eq(bit) => Self::xor(Lit::FALSE, Lit::FALSE ^ bit),
            Gate::Eqw(a) => Self::xor(literal(a), Lit::FALSE),
        }
    }

    pub(crate) fn operands(self) -> [Lit; 2] {
        [self.a, self.b]
    }

    pub(crate) fn map(self, mut literal: impl FnMut(Lit) -> Lit) -> Self {
        Self { op: self.op, a: literal(self.a), b: literal(self.b) }
    }

    /// Returns what the gate equals if an operand is constant: a constant, a copy or a negation.
    pub(crate) fn as_copy(self) -> Option<Lit> {
        let (constant, other) = match self.operands() {
            [a, b] if b.is_constant() => (b, a),
            [a, b] if a.is_constant() => (a, b),
            _ => return None,
        };
        Some(match self.op {
            Op::Xor => other ^ constant.inverted(),
            Op::And if constant.inverted() => other,
            Op::And => Lit::FALSE,
        })
    }
}

/// A circuit or a window of one: `inputs` input wires, gates in topological order, outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Net {
    pub(crate) inputs: u32,
    pub(crate) nodes: Vec<Node>,
    pub(crate) outputs: Vec<Lit>,
}

/// Gates of a net as they would be written, with the inverters that its literals stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) gates: u64,
    pub(crate) ands: u64,
}

impl Net {
    /// The wire that the first gate writes.
    pub(crate) fn first(&self) -> u32 {
        self.inputs + 1
    }

    /// Constant, inputs and gates together.
    pub(crate) fn wires(&self) -> usize {
        self.first() as usize + self.nodes.len()
    }

    /// The gate that writes `wire`, unless that is an input or the constant.
    pub(crate) fn node(&self, wire: u32) -> Option<Node> {
        let index = wire.checked_sub(self.first())?;
        self.nodes.get(index as usize).copied()
    }

    pub(crate) fn ands(&self) -> u64 {
        self.nodes.iter().filter(|node| node.op == Op::And).count() as u64
    }

    pub(crate) fn size(&self) -> Size {
        let gates = self.nodes.len() as u64 + Polarity::of(self).inverters();
        Size { gates, ands: self.ands() }
    }

    /// How many gates and outputs read each wire.
    pub(crate) fn uses(&self) -> Vec<u32> {
        let mut uses = vec![0u32; self.wires()];
        for literal in self.nodes.iter().flat_map(|node| node.operands()).chain(self.outputs_iter())
        {
            uses[literal.wire() as usize] += 1;
        }
        uses
    }

    fn outputs_iter(&self) -> impl Iterator<Item = Lit> + '_ {
        self.outputs.iter().copied()
    }

    /// The same net with every gate rewritten or replaced: `rule` gets a gate whose operands are
    /// final, and answers with the literal it equals, or with the gate to keep.
    pub(crate) fn rewritten(&self, mut rule: impl FnMut(Node) -> Result<Lit, Kept>) -> Net {
        let mut net = Net { inputs: self.inputs, ..Net::default() };
        net.nodes.reserve(self.nodes.len());
        let mut now: Vec<Lit> = (0..self.first()).map(Lit::plain).collect();
        now.reserve(self.nodes.len());
        for node in &self.nodes {
            let node = node.map(|literal| now[literal.wire() as usize] ^ literal.inverted());
            let literal = rule(node).unwrap_or_else(|kept| {
                let wire = net.wires() as u32;
                net.nodes.push(kept.node);
                Lit::plain(wire) ^ kept.inverted
            });
            now.push(literal);
        }
        let outputs = self.outputs_iter();
        net.outputs = outputs.map(|out| now[out.wire() as usize] ^ out.inverted()).collect();
        net
    }
}

/// A gate that stays, and whether its result is to be negated.
pub(crate) struct Kept {
    pub(crate) node: Node,
    pub(crate) inverted: bool,
}

impl From<Node> for Kept {
    fn from(node: Node) -> Self {
        Self { node, inverted: false }
    }
}

impl From<&Circuit> for Net {
    fn from(circuit: &Circuit) -> Net {
        let literal = |wire: u32| Lit::plain(wire + 1);
        Net {
            inputs: (circuit.wires() - circuit.gates().len()) as u32,
            nodes: circuit.gates().iter().map(|gate| Node::of(*gate, literal)).collect(),
            outputs: circuit.output_wires().iter().map(|wire| literal(*wire)).collect(),
        }
    }
}

impl Net {
    /// Gates and output wires of a circuit that computes this net.
    pub(crate) fn gates(&self) -> (Vec<Gate>, Vec<u32>) {
        let polarity = Polarity::of(self);
        let mut writer = Writer::new(self.inputs, self.wires());
        for (index, node) in self.nodes.iter().enumerate() {
            let wire = self.first() + index as u32;
            let gate = match node.as_copy() {
                Some(copy) => writer.copy(copy),
                None => {
                    let node = polarity.oriented(wire, *node);
                    let (a, b) = (writer.literal(node.a), writer.literal(node.b));
                    match node.op {
                        Op::And => Gate::And(a, b),
                        Op::Xor => Gate::Xor(a, b),
                    }
                }
            };
            let written = writer.push(gate);
            let inverted = polarity.written_inverted(wire, *node);
            writer.known[(Lit::plain(wire) ^ inverted).0 as usize] = written;
        }
        let outputs = self.outputs.iter().map(|out| writer.literal(*out)).collect();
        (writer.gates, outputs)
    }

    /// The circuit, with name and ports of the one it was made from.
    pub(crate) fn circuit(&self, like: &Circuit) -> Option<Circuit> {
        let (gates, outputs) = self.gates();
        Circuit::new(&like.name(), like.signature(), gates, outputs).ok()
    }
}

/// Turns literals into wires of a circuit.
struct Writer {
    inputs: u32,
    gates: Vec<Gate>,
    /// The wire of every literal that has one.
    known: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Writer {
    fn new(inputs: u32, wires: usize) -> Self {
        let mut known = vec![NONE; 2 * wires];
        for input in 0..inputs {
            known[Lit::plain(input + 1).0 as usize] = input;
        }
        Self { inputs, gates: Vec::new(), known }
    }

    fn push(&mut self, gate: Gate) -> u32 {
        self.gates.push(gate);
        self.inputs + self.gates.len() as u32 - 1
    }

    /// The gate for a constant, a copy or a negation.
    fn copy(&mut self, literal: Lit) -> Gate {
        if literal.is_constant() {
            return Gate::Eq(literal.inverted());
        }
        let wire = self.literal(literal.positive());
        if literal.inverted() { Gate::Inv(wire) } else { Gate::Eqw(wire) }
    }

    /// The wire of a literal, made from its negation when it has none yet.
    fn literal(&mut self, literal: Lit) -> u32 {
        let known = self.known[literal.0 as usize];
        if known != NONE {
            return known;
        }
        let gate = if literal.is_constant() {
            Gate::Eq(literal.inverted())
        } else {
            Gate::Inv(self.known[(!literal).0 as usize])
        };
        let wire = self.push(gate);
        self.known[literal.0 as usize] = wire;
        wire
    }
}
