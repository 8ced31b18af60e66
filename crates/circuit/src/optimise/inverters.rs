//! Pass: inverters, which become signs of literals.

use super::net::{Lit, Net, Node, Op};

/// Removes inverters: `x xor true` is the literal `not x`, and signs of the operands of an XOR
/// move to its result. What is left of them becomes gates again when the net is written, once
/// for each wire that is needed both ways.
pub(crate) fn inverters(net: &Net) -> Net {
    net.rewritten(|node| match (node.op, node.a, node.b) {
        (Op::Xor, Lit::TRUE, other) | (Op::Xor, other, Lit::TRUE) => Ok(!other),
        (Op::Xor, a, b) => Err(super::net::Kept {
            node: Node::xor(a.positive(), b.positive()),
            inverted: a.inverted() ^ b.inverted(),
        }),
        (Op::And, ..) => Err(node.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimise::testing::check;

    #[test]
    fn the_function_stays() {
        check(inverters);
    }

    #[test]
    fn inverters_meet_and_cancel() {
        // not (not x xor y) xor not z, of which three inverters leave one.
        let net = Net {
            inputs: 3,
            nodes: vec![
                Node::xor(Lit::plain(1), Lit::TRUE),
                Node::xor(Lit::plain(4), Lit::plain(2)),
                Node::xor(Lit::plain(5), Lit::TRUE),
                Node::xor(Lit::plain(3), Lit::TRUE),
                Node::xor(Lit::plain(6), Lit::plain(7)),
            ],
            outputs: vec![Lit::plain(8)],
        };
        let after = inverters(&net);
        assert_eq!((after.nodes.len(), after.size().gates), (2, 3));
        // With an even number of them, none is left.
        let even = Net { outputs: vec![!Lit::plain(8)], ..net };
        assert_eq!(inverters(&even).size().gates, 2);
    }
}
