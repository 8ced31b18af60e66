//! Pass: gates with the function and inputs of an earlier one.

use super::build::Builder;
use super::net::{Lit, Net};

/// Uses a gate again where the same function of the same wires was computed before, whatever the
/// order of the operands (KSS12 section 5.1, "removing redundant gates"). What becomes constant, an
/// identity or absorbed by that is folded on the spot.
pub(crate) fn redundant(net: &Net) -> Net {
    let mut builder = Builder::new(net.inputs, net.nodes.len());
    let mut now: Vec<Lit> = (0..net.first()).map(Lit::plain).collect();
    now.reserve(net.nodes.len());
    let read = |now: &[Lit], literal: Lit| now[literal.wire() as usize] ^ literal.inverted();
    for node in &net.nodes {
        now.push(builder.gate(node.op, read(&now, node.a), read(&now, node.b)));
    }
    builder.finish(net.outputs.iter().map(|out| read(&now, *out)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimise::net::Node;
    use crate::optimise::testing::check;

    #[test]
    fn the_function_stays() {
        check(redundant);
    }

    #[test]
    fn equal_gates_are_one() {
        let (x, y) = (Lit::plain(1), Lit::plain(2));
        let net = Net {
            inputs: 2,
            nodes: vec![
                Node::and(x, !y),
                Node::and(!y, x),
                Node::xor(x, y),
                Node::xor(y, x),
                Node::and(Lit::plain(4), Lit::plain(6)),
                Node::and(Lit::plain(3), Lit::plain(5)),
            ],
            outputs: vec![Lit::plain(7), Lit::plain(8)],
        };
        let after = redundant(&net);
        assert_eq!(after.outputs[0], after.outputs[1]);
        assert_eq!(after.nodes.len(), 3);
    }
}
