//! Which gates are written negated, so that few inverters remain.
//!
//! Inverters live in literals and become gates again where a net is written. An XOR that is
//! only ever read negated needs no inverter of its own: it reads an operand negated, where that is
//! wanted negated as well, or where it moves the inverter closer to a wire that others share.

use super::net::{Net, Node, Op};

/// The demands of the readers of one wire, and what follows for the gate that writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Demand(u8);

impl Demand {
    const PLAIN: u8 = 1;
    const NEGATED: u8 = 2;
    const FLIP_A: u8 = 4;
    const FLIP_B: u8 = 8;

    /// Somebody reads the wire, negated or not.
    pub(crate) fn read(&mut self, inverted: bool) {
        self.0 |= if inverted { Self::NEGATED } else { Self::PLAIN };
    }

    /// Only the negation is read.
    fn only_negated(self) -> bool {
        self.0 & (Self::PLAIN | Self::NEGATED) == Self::NEGATED
    }

    /// The wire is read both ways, or its gate cannot give what is read without an inverter.
    pub(crate) fn needs_inverter(self, op: Op) -> bool {
        self.0 & Self::NEGATED != 0 && !(op == Op::Xor && self.only_negated())
    }

    fn is_negated(self) -> bool {
        self.0 & Self::NEGATED != 0
    }

    fn is_plain(self) -> bool {
        self.0 & Self::PLAIN != 0
    }
}

/// A gate as it is written: operands negated as they are wanted best. The demands are those on the
/// gate and, so far, on its operands; the operand to be negated is the one that is read so already,
/// else one that nobody reads plainly yet.
pub(crate) fn orient(node: Node, on: Demand, a: Demand, b: Demand) -> Node {
    if node.op == Op::And {
        return node;
    }
    let odd = node.a.inverted() ^ node.b.inverted() ^ on.only_negated();
    let flip_b = odd && !a.is_negated() && (b.is_negated() || (a.is_plain() && !b.is_plain()));
    Node::xor(node.a.positive() ^ (odd && !flip_b), node.b.positive() ^ flip_b)
}

/// The demands on all wires of a net.
pub(crate) struct Polarity<'a> {
    net: &'a Net,
    demands: Vec<Demand>,
}

impl<'a> Polarity<'a> {
    pub(crate) fn of(net: &'a Net) -> Self {
        let mut demands = vec![Demand::default(); net.wires()];
        for output in &net.outputs {
            demands[output.wire() as usize].read(output.inverted());
        }
        for (index, node) in net.nodes.iter().enumerate().rev() {
            if let Some(copy) = node.as_copy() {
                demands[copy.wire() as usize].read(false);
                continue;
            }
            let wire = net.inputs as usize + 1 + index;
            let [a, b] = node.operands().map(|literal| demands[literal.wire() as usize]);
            let oriented = orient(*node, demands[wire], a, b);
            for operand in oriented.operands() {
                demands[operand.wire() as usize].read(operand.inverted());
            }
            demands[wire].0 |= if oriented.a.inverted() { Demand::FLIP_A } else { 0 };
            demands[wire].0 |= if oriented.b.inverted() { Demand::FLIP_B } else { 0 };
        }
        Self { net, demands }
    }

    /// The gate with its operands negated as decided.
    pub(crate) fn oriented(&self, wire: u32, node: Node) -> Node {
        let flips = self.demands[wire as usize].0;
        let (a, b) = (flips & Demand::FLIP_A != 0, flips & Demand::FLIP_B != 0);
        match node.op {
            Op::And => node,
            Op::Xor => Node::xor(node.a.positive() ^ a, node.b.positive() ^ b),
        }
    }

    /// Whether what is written on `wire` is the negation of what the net has there.
    pub(crate) fn written_inverted(&self, wire: u32, node: Node) -> bool {
        let free = node.op == Op::Xor && node.as_copy().is_none();
        free && self.demands[wire as usize].only_negated()
    }

    /// Inverters beside the gates.
    pub(crate) fn inverters(&self) -> u64 {
        let op = |wire: usize| match self.net.node(wire as u32) {
            Some(node) if node.as_copy().is_none() => node.op,
            _ => Op::And,
        };
        let wires = self.demands.iter().enumerate().skip(1);
        wires.filter(|(wire, demand)| demand.needs_inverter(op(*wire))).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimise::net::Lit;

    #[test]
    fn a_sum_that_is_read_negated_only_needs_no_second_inverter() {
        // not (not x xor y) and not (not x xor z): one inverter, on x.
        let [x, y, z] = [1, 2, 3].map(Lit::plain);
        let net = Net {
            inputs: 3,
            nodes: vec![
                Node::xor(x, y),
                Node::xor(x, z),
                Node::and(!Lit::plain(4), !Lit::plain(5)),
            ],
            outputs: vec![Lit::plain(6)],
        };
        let polarity = Polarity::of(&net);
        assert_eq!(polarity.inverters(), 1);
        assert_eq!(net.gates().0.len(), 4);
        // Read both ways, it needs one.
        let both = Net { outputs: vec![Lit::plain(6), Lit::plain(4)], ..net };
        assert_eq!(Polarity::of(&both).inverters(), 2);
        assert_eq!(both.gates().0.len(), 5);
    }
}
