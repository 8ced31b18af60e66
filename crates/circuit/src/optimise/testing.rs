//! Nets to test passes on.

use super::net::{Lit, Net, Node, Op};

impl Net {
    /// The outputs for 64 assignments of the inputs at once.
    pub(crate) fn eval(&self, inputs: &[u64]) -> Vec<u64> {
        let mut values = vec![0u64];
        values.extend_from_slice(inputs);
        let read = |values: &[u64], literal: Lit| {
            values[literal.wire() as usize] ^ if literal.inverted() { u64::MAX } else { 0 }
        };
        for node in &self.nodes {
            let (a, b) = (read(&values, node.a), read(&values, node.b));
            values.push(match node.op {
                Op::And => a & b,
                Op::Xor => a ^ b,
            });
        }
        self.outputs.iter().map(|out| read(&values, *out)).collect()
    }
}

/// Values of variable `i` over all assignments of six variables.
pub(crate) fn truth(i: u32) -> u64 {
    (0..64).filter(|bit| bit >> i & 1 == 1).map(|bit| 1 << bit).sum()
}

/// Numbers from a seed (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.word() % bound
    }
}

/// A net of random gates with repetitions, constants, copies and inverters. Operands are recent.
pub(crate) fn random(seed: u64, inputs: u32, gates: usize) -> Net {
    let mut random = Random(seed);
    let mut net = Net { inputs, ..Net::default() };
    for _ in 0..gates {
        let wires = net.wires() as u64;
        let literal = |random: &mut Random| {
            let back = random.below(wires.min(12));
            let wire = if random.below(8) == 0 { random.below(wires) } else { wires - 1 - back };
            Lit::plain(wire as u32) ^ (random.below(4) == 0)
        };
        let (a, b) = (literal(&mut random), literal(&mut random));
        net.nodes.push(match random.below(16) {
            0..=6 => Node::and(a, b),
            7..=12 => Node::xor(a, b),
            13 => Node::xor(a, Lit::TRUE),
            14 => Node::xor(a, Lit::FALSE),
            _ => net.nodes.last().copied().unwrap_or(Node::and(a, b)),
        });
    }
    let wires = net.wires() as u64;
    let outputs = 0..8.min(wires);
    net.outputs = outputs
        .map(|_| Lit::plain(random.below(wires) as u32) ^ (random.below(2) == 1))
        .chain([Lit::plain(wires as u32 - 1)])
        .collect();
    net
}

/// Every net of two inputs and two gates, both gates being outputs.
pub(crate) fn tiny() -> impl Iterator<Item = Net> {
    let pairs = |wires: u32| {
        (0..2 * wires).flat_map(move |a| {
            (0..2 * wires)
                .flat_map(move |b| [Op::And, Op::Xor].map(|op| Node { op, a: Lit(a), b: Lit(b) }))
        })
    };
    pairs(3).flat_map(move |one| {
        pairs(4).map(move |two| Net {
            inputs: 2,
            nodes: vec![one, two],
            outputs: vec![Lit::plain(3), Lit::plain(4), !Lit::plain(4)],
        })
    })
}

/// `pass` keeps the function of every tiny net and of random ones, never raises the number of ANDs,
/// and the circuit written from its result computes the same.
pub(crate) fn check(pass: impl Fn(&Net) -> Net) {
    let same = |net: &Net, inputs: &[u64], what: &str| {
        let after = pass(net);
        assert_eq!(net.eval(inputs), after.eval(inputs), "{what}\n{net:?}\n{after:?}");
        assert!(after.ands() <= net.ands(), "{what}: {} to {}", net.ands(), after.ands());
        let (gates, outputs) = after.gates();
        let written = written(after.inputs, &gates, &outputs);
        assert_eq!(net.eval(inputs), written.eval(inputs), "{what}, written");
        assert_eq!(gates.len() as u64, after.size().gates + constants(&after), "{what}: size");
    };
    for (i, net) in tiny().enumerate() {
        same(&net, &[truth(0), truth(1)], &format!("tiny {i}"));
    }
    for seed in 0..200 {
        let mut values = Random(!seed);
        let inputs = 1 + seed % 9;
        let net = random(seed, inputs as u32, 10 + 5 * seed as usize);
        let words: Vec<u64> = (0..inputs).map(|_| values.word()).collect();
        same(&net, &words, &format!("seed {seed}"));
    }
}

/// Outputs that are constants are written as gates that the size of a net leaves out.
fn constants(net: &Net) -> u64 {
    let used = |literal: Lit| net.outputs.contains(&literal);
    u64::from(used(Lit::FALSE)) + u64::from(used(Lit::TRUE))
}

/// The net of gates of a circuit.
fn written(inputs: u32, gates: &[crate::Gate], outputs: &[u32]) -> Net {
    let signature = crate::Signature::new().input("x", inputs as usize, None);
    let signature = signature.output("z", outputs.len(), None);
    let circuit = crate::Circuit::new("x", signature, gates.to_vec(), outputs.to_vec());
    Net::from(&circuit.expect("gates in order"))
}
