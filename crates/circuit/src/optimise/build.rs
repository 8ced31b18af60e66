//! Building a net gate by gate, folded and without repetitions.

use super::net::{Lit, Net, Node, Op};

/// A net under construction. Constants are folded, a gate that exists is used again, absorption
/// and cancellation are seen through one gate below.
pub(crate) struct Builder {
    net: Net,
    /// Open addressing: wires of gates, 0 where there is none.
    table: Vec<u32>,
    shift: u32,
}

impl Builder {
    /// A builder for about `gates` gates.
    pub(crate) fn new(inputs: u32, gates: usize) -> Self {
        let bits = (2 * gates.max(8)).next_power_of_two().trailing_zeros();
        let mut net = Net { inputs, ..Net::default() };
        net.nodes.reserve(gates);
        Self { net, table: vec![0; 1 << bits], shift: 64 - bits }
    }

    /// The finished net.
    pub(crate) fn finish(self, outputs: Vec<Lit>) -> Net {
        Net { outputs, ..self.net }
    }

    /// The net so far.
    pub(crate) fn net(&self) -> &Net {
        &self.net
    }

    pub(crate) fn gate(&mut self, op: Op, a: Lit, b: Lit) -> Lit {
        match op {
            Op::And => self.and(a, b),
            Op::Xor => self.xor(a, b),
        }
    }

    pub(crate) fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        let inverted = a.inverted() ^ b.inverted();
        let (a, b) = (a.positive().min(b.positive()), a.positive().max(b.positive()));
        if a == b {
            return Lit::FALSE ^ inverted;
        }
        if a == Lit::FALSE {
            return b ^ inverted;
        }
        // (p xor q) xor p = q.
        for (sum, term) in [(b, a), (a, b)] {
            if let Some(Node { op: Op::Xor, a: p, b: q }) = self.net.node(sum.wire())
                && (p == term || q == term)
            {
                return (if p == term { q } else { p }) ^ inverted;
            }
        }
        self.find(Node::xor(a, b)) ^ inverted
    }

    pub(crate) fn and(&mut self, a: Lit, b: Lit) -> Lit {
        let (a, b) = (a.min(b), a.max(b));
        if a == Lit::FALSE || a == !b {
            return Lit::FALSE;
        }
        if a == Lit::TRUE || a == b {
            return b;
        }
        for (inner, outer) in [(b, a), (a, b)] {
            let Some(node) = self.net.node(inner.wire()) else { continue };
            match absorbed(node, inner.inverted(), outer) {
                Absorbed::Not => {}
                Absorbed::Is(literal) => return literal,
                Absorbed::And(literal) => return self.and(outer, literal),
            }
        }
        self.find(Node::and(a, b))
    }

    /// The wire of a gate, new unless it exists.
    fn find(&mut self, node: Node) -> Lit {
        if 2 * self.net.nodes.len() >= self.table.len() {
            self.grow();
        }
        let place = match self.place(node) {
            Ok(wire) => return Lit::plain(wire),
            Err(place) => place,
        };
        let wire = self.net.wires() as u32;
        self.net.nodes.push(node);
        self.table[place] = wire;
        Lit::plain(wire)
    }

    /// The wire of a gate, or the place in the table for it.
    ///
    /// The first places to look at lie beside those of other gates with operands that are as recent: gates
    /// that come one after the other use the same cache lines. A wire with more readers than fit there
    /// spreads them over the whole table.
    fn place(&self, node: Node) -> Result<u32, usize> {
        let mask = self.table.len() - 1;
        let near = 2 * node.b.wire() as usize;
        let key = u64::from(node.a.0) << 32 | u64::from(node.b.0);
        let key = (key ^ u64::from(node.op == Op::Xor) << 63).wrapping_mul(HASH);
        let far = ((key ^ key >> 29).wrapping_mul(HASH) >> self.shift) as usize;
        for place in (near..near + NEAR).chain(far..) {
            match self.table[place & mask] {
                0 => return Err(place & mask),
                wire if self.net.node(wire) == Some(node) => return Ok(wire),
                _ => {}
            }
        }
        unreachable!("at most half of the table is used")
    }

    fn grow(&mut self) {
        self.table = vec![0; 2 * self.table.len()];
        self.shift -= 1;
        for index in 0..self.net.nodes.len() {
            // All gates differ, so each has a place of its own.
            if let Err(place) = self.place(self.net.nodes[index]) {
                self.table[place] = self.net.first() + index as u32;
            }
        }
    }
}

/// The equivalent of `outer and (inverted) node` by the gate below alone.
enum Absorbed {
    Not,
    Is(Lit),
    /// `outer` and this.
    And(Lit),
}

fn absorbed(node: Node, inverted: bool, outer: Lit) -> Absorbed {
    let Node { op, a, b } = node;
    let other = match outer.wire() {
        wire if wire == a.wire() => b,
        wire if wire == b.wire() => a,
        _ => return Absorbed::Not,
    };
    let same = outer == a || outer == b;
    match (op, inverted, same) {
        // x (x y) = x y is the inner gate itself, which the caller knows by its wire.
        (Op::And, false, true) => Absorbed::And(other),
        (Op::And, false, false) => Absorbed::Is(Lit::FALSE),
        (Op::And, true, true) => Absorbed::And(!other),
        (Op::And, true, false) => Absorbed::Is(outer),
        // Given x, x xor y is not y; given not x, it is y.
        (Op::Xor, _, _) => Absorbed::And(other ^ inverted ^ !outer.inverted()),
    }
}

/// Places beside each other that are looked at first.
const NEAR: usize = 8;
/// An odd multiplier that spreads its factor over the upper bits (2^64 over the golden ratio).
const HASH: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimise::testing::truth;

    #[test]
    fn small_identities_leave_what_they_should() {
        type Made = fn(&mut Builder, Lit, Lit, Lit) -> Lit;
        type Meant = fn(u64, u64, u64) -> u64;
        fn both(g: &mut Builder, x: Lit, y: Lit, outer: Lit, inverted: bool) -> Lit {
            let inner = g.and(x, y);
            g.and(outer, inner ^ inverted)
        }
        fn sum(g: &mut Builder, x: Lit, y: Lit, outer: Lit, inverted: bool) -> Lit {
            let inner = g.xor(x, y);
            g.and(outer, inner ^ inverted)
        }
        // What is made, what it means, gates that it may leave.
        let cases: [(Made, Meant, usize); 9] = [
            (|g, x, y, _| both(g, x, y, x, false), |x, y, _| x & y, 1),
            (|g, x, y, _| both(g, x, y, x, true), |x, y, _| x & !y, 2),
            (|g, x, y, _| both(g, x, y, !x, false), |_, _, _| 0, 1),
            (|g, x, y, _| both(g, x, y, !x, true), |x, _, _| !x, 1),
            (|g, x, y, _| sum(g, x, y, x, false), |x, y, _| x & !y, 2),
            (|g, x, y, _| sum(g, x, y, !x, true), |x, y, _| !x & !y, 2),
            (
                |g, x, y, _| {
                    let s = g.xor(x, !y);
                    g.xor(s, x)
                },
                |_, y, _| !y,
                1,
            ),
            (
                |g, x, y, _| {
                    let p = g.and(x, y);
                    let q = g.and(y, x);
                    g.xor(p, q)
                },
                |_, _, _| 0,
                1,
            ),
            (
                |g, x, y, z| {
                    let s = g.xor(x, y);
                    g.xor(s, z)
                },
                |x, y, z| x ^ y ^ z,
                2,
            ),
        ];
        for (case, (made, meant, gates)) in cases.into_iter().enumerate() {
            let mut builder = Builder::new(3, 1);
            let [x, y, z] = [1, 2, 3].map(Lit::plain);
            let out = made(&mut builder, x, y, z);
            let net = builder.finish(vec![out]);
            assert_eq!(net.nodes.len(), gates, "{case}: {net:?}");
            let inputs = [truth(0), truth(1), truth(2)];
            assert_eq!(net.eval(&inputs)[0], meant(inputs[0], inputs[1], inputs[2]), "{case}");
        }
    }

    #[test]
    fn the_table_grows() {
        let mut builder = Builder::new(40, 0);
        let all: Vec<Lit> = (1..=40)
            .flat_map(|a| (1..a).map(move |b| (a, b)))
            .map(|(a, b)| builder.and(Lit::plain(a), Lit::plain(b)))
            .collect();
        assert_eq!(builder.net().nodes.len(), 780);
        for (at, (a, b)) in (1..=40).flat_map(|a| (1..a).map(move |b| (a, b))).enumerate() {
            assert_eq!(builder.and(Lit::plain(b), Lit::plain(a)), all[at]);
        }
        assert_eq!(builder.net().nodes.len(), 780);
    }
}
