//! Pass: gates whose value does not depend on the inputs.

use super::net::{Lit, Net, Node, Op};

/// Replaces every gate that is constant by its operands: both constant, `x and false`,
/// `x and not x`, `x xor x`, `x xor not x`. Constants propagate on the way.
pub(crate) fn constants(net: &Net) -> Net {
    net.rewritten(|node| constant(node).map(|bit| Lit::FALSE ^ bit).ok_or_else(|| node.into()))
}

fn constant(node: Node) -> Option<bool> {
    let Node { op, a, b } = node;
    match op {
        Op::And if a == Lit::FALSE || b == Lit::FALSE || a == !b => Some(false),
        Op::And if a == Lit::TRUE && b == Lit::TRUE => Some(true),
        Op::Xor if a.wire() == b.wire() => Some(a != b),
        Op::And | Op::Xor => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimise::testing::check;

    #[test]
    fn the_function_stays() {
        check(constants);
    }

    #[test]
    fn constants_propagate_and_fold() {
        let x = Lit::plain(1);
        // zero = x and not x; one = zero xor true; x and zero; one and one; x xor x.
        let net = Net {
            inputs: 1,
            nodes: vec![
                Node::and(x, !x),
                Node::xor(Lit::plain(2), Lit::TRUE),
                Node::and(x, Lit::plain(2)),
                Node::and(Lit::plain(3), Lit::plain(3)),
                Node::xor(x, x),
            ],
            outputs: (2..7).map(Lit::plain).collect(),
        };
        let after = constants(&net);
        assert!(after.nodes.is_empty(), "{after:?}");
        assert_eq!(after.outputs, [0, 1, 0, 1, 0].map(Lit));
    }
}
