//! Pass: shallower trees, on request.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::build::Builder;
use super::net::{Lit, Net, Op};

/// Rebuilds trees of equal gates whose inner results nobody else reads, the shallowest operands first.
/// The number of gates stays; what falls is the depth in ANDs, and then the depth in gates.
pub(crate) fn balance(net: &Net) -> Net {
    let uses = net.uses();
    let inner = inner(net, &uses);
    let mut deep = Deep { builder: Builder::new(net.inputs, net.nodes.len()), depth: Vec::new() };
    deep.depth.resize(net.first() as usize, (0, 0));
    let mut now: Vec<Lit> = (0..net.first()).map(Lit::plain).collect();
    for (index, node) in net.nodes.iter().enumerate() {
        if inner[index] {
            // Part of the tree of its reader.
            now.push(Lit::FALSE);
            continue;
        }
        let root = net.first() + index as u32;
        let mut inverted = false;
        let operands = leaves(net, &inner, root, &mut inverted);
        let operands =
            operands.iter().map(|leaf| now[leaf.wire() as usize] ^ leaf.inverted()).collect();
        now.push(deep.tree(node.op, operands) ^ inverted);
    }
    let outputs = net.outputs.iter();
    deep.builder.finish(outputs.map(|out| now[out.wire() as usize] ^ out.inverted()).collect())
}

/// Gates that are read once, by a gate of their kind.
fn inner(net: &Net, uses: &[u32]) -> Vec<bool> {
    let mut inner = vec![false; net.nodes.len()];
    for reader in &net.nodes {
        for operand in reader.operands() {
            let Some(node) = net.node(operand.wire()) else { continue };
            // Signs move through XORs, not through ANDs.
            let joins = node.op == reader.op && (node.op == Op::Xor || !operand.inverted());
            if joins && uses[operand.wire() as usize] == 1 {
                inner[(operand.wire() - net.first()) as usize] = true;
            }
        }
    }
    inner
}

/// The operands of the tree that ends in `root`.
fn leaves(net: &Net, inner: &[bool], root: u32, inverted: &mut bool) -> Vec<Lit> {
    let mut found = Vec::new();
    let mut open = vec![Lit::plain(root)];
    while let Some(literal) = open.pop() {
        let gate = literal.wire().checked_sub(net.first()).map(|index| index as usize);
        match net.node(literal.wire()) {
            Some(node) if literal.wire() == root || gate.is_some_and(|gate| inner[gate]) => {
                *inverted ^= literal.inverted();
                open.extend(node.operands());
            }
            _ => found.push(literal),
        }
    }
    found
}

/// A builder that knows how deep its wires are.
struct Deep {
    builder: Builder,
    /// ANDs and gates on the longest path to each wire.
    depth: Vec<(u32, u32)>,
}

impl Deep {
    fn tree(&mut self, op: Op, operands: Vec<Lit>) -> Lit {
        let mut open: BinaryHeap<_> = operands
            .into_iter()
            .map(|lit| Reverse((self.depth[lit.wire() as usize], lit)))
            .collect();
        while let Some(Reverse((_, a))) = open.pop() {
            let Some(Reverse((_, b))) = open.pop() else { return a };
            let joined = self.builder.gate(op, a, b);
            self.measure();
            open.push(Reverse((self.depth[joined.wire() as usize], joined)));
        }
        Lit::FALSE
    }

    /// Depths of the gates that came since.
    fn measure(&mut self) {
        let net = self.builder.net();
        while let Some(node) = net.node(self.depth.len() as u32) {
            let [a, b] = node.operands().map(|operand| self.depth[operand.wire() as usize]);
            let ands = a.0.max(b.0) + u32::from(node.op == Op::And);
            self.depth.push((ands, a.1.max(b.1) + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimise::net::Node;
    use crate::optimise::testing::check;

    #[test]
    fn the_function_stays() {
        check(balance);
    }

    #[test]
    fn chains_become_trees() {
        for op in [Op::And, Op::Xor] {
            let chain = |i: u32| Node {
                op,
                a: Lit::plain(if i == 0 { 1 } else { 64 + i }),
                b: Lit::plain(i + 2),
            };
            let nodes = (0..63).map(chain).collect();
            let net = Net { inputs: 64, nodes, outputs: vec![Lit::plain(64 + 63)] };
            let after = balance(&net);
            let mut deep = Deep { builder: Builder::new(64, 64), depth: vec![(0, 0); 65] };
            for node in &after.nodes {
                deep.builder.gate(node.op, node.a, node.b);
            }
            deep.measure();
            assert_eq!(deep.depth.last(), Some(&(if op == Op::And { 6 } else { 0 }, 6)));
            assert_eq!(after.nodes.len(), 63);
        }
    }

    #[test]
    fn late_operands_come_last() {
        // ((deep and a) and b) and c: the deep one joins at the root.
        let lit = Lit::plain;
        let nodes = vec![
            Node::and(lit(1), !lit(2)),
            Node::and(!lit(7), lit(3)),
            Node::and(!lit(8), lit(4)),
            Node::and(lit(9), lit(5)),
            Node::and(lit(10), lit(6)),
        ];
        let net = Net { inputs: 6, nodes, outputs: vec![lit(11)] };
        let last = balance(&net).nodes.last().copied().map(Node::operands);
        assert!(last.is_some_and(|operands| operands.contains(&!lit(8))), "{last:?}");
    }
}
