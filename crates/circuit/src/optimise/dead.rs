//! Pass: gates that no output depends on.

use super::net::{Lit, Net};

/// Removes gates that no output depends on; the others keep their order.
pub(crate) fn dead(net: &Net) -> Net {
    let mut alive = vec![false; net.wires()];
    for output in &net.outputs {
        alive[output.wire() as usize] = true;
    }
    let first = net.first() as usize;
    for (index, node) in net.nodes.iter().enumerate().rev() {
        if alive[first + index] {
            for operand in node.operands() {
                alive[operand.wire() as usize] = true;
            }
        }
    }
    let mut wires: Vec<u32> = (0..net.first()).collect();
    wires.reserve(net.nodes.len());
    let mut kept = Net { inputs: net.inputs, ..Net::default() };
    let read = |wires: &[u32], literal: Lit| {
        Lit::plain(wires[literal.wire() as usize]) ^ literal.inverted()
    };
    for (index, node) in net.nodes.iter().enumerate() {
        // Nobody reads the number of a gate that goes.
        wires.push(kept.wires() as u32);
        if alive[first + index] {
            kept.nodes.push(node.map(|literal| read(&wires, literal)));
        }
    }
    kept.outputs = net.outputs.iter().map(|out| read(&wires, *out)).collect();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimise::net::Node;
    use crate::optimise::testing::{check, random};

    #[test]
    fn the_function_stays() {
        check(dead);
    }

    #[test]
    fn every_gate_that_is_left_is_read() {
        for seed in 0..50 {
            let after = dead(&random(seed, 5, 200));
            let uses = after.uses();
            assert!(uses[after.first() as usize..].iter().all(|uses| *uses > 0));
        }
        let x = Lit::plain(1);
        let nodes = vec![Node::and(x, x), Node::and(Lit::plain(2), x), Node::xor(x, Lit::TRUE)];
        let net = Net { inputs: 1, nodes, outputs: vec![Lit::plain(4)] };
        assert_eq!(dead(&net).nodes.len(), 1);
    }
}
