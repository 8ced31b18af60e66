//! Pass: gates whose value is an operand.

use super::net::{Lit, Net, Node, Op};

/// Removes identity gates: copies, `x xor false`, `x and true`, `x and x`.
pub(crate) fn identities(net: &Net) -> Net {
    net.rewritten(|node| identity(node).ok_or_else(|| node.into()))
}

fn identity(node: Node) -> Option<Lit> {
    match (node.op, node.a, node.b) {
        (Op::And, a, b) if a == b => Some(a),
        (Op::And, Lit::TRUE, other) | (Op::And, other, Lit::TRUE) => Some(other),
        (Op::Xor, Lit::FALSE, other) | (Op::Xor, other, Lit::FALSE) => Some(other),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimise::testing::check;

    #[test]
    fn the_function_stays() {
        check(identities);
    }

    #[test]
    fn chains_of_copies_vanish() {
        let (x, y) = (Lit::plain(1), Lit::plain(2));
        let net = Net {
            inputs: 2,
            nodes: vec![
                Node::xor(x, Lit::FALSE),
                Node::and(Lit::plain(3), Lit::TRUE),
                Node::and(Lit::plain(4), Lit::plain(4)),
                Node::and(Lit::plain(5), y),
            ],
            outputs: vec![Lit::plain(6)],
        };
        assert_eq!(identities(&net).nodes, [Node::and(x, y)]);
    }
}
