//! Pass: fewer ANDs, by rewriting small cones with forms of minimal multiplicative complexity.

use super::build::Builder;
use super::forms::{Form, Sum, VARIABLES, form};
use super::net::{Lit, Net, Node, Op};

/// Rewrites cones of up to four inputs where that lowers the number of ANDs.
///
/// From the outputs down, each gate is looked at with the cones that end in it. What is saved is the
/// ANDs of the cone that nothing outside reads; what is spent is the ANDs of the best [`Form`] of the
/// function. The cone with the largest difference is replaced. So full adders come down to one AND,
/// multiplexers, `a b + a c`, absorption and unions to what they need, however they are written.
pub(crate) fn ands(net: &Net) -> Net {
    let mut pass = Pass {
        net,
        uses: net.uses(),
        owner: vec![0; net.wires()],
        chosen: vec![None; net.nodes.len()],
        cones: Vec::new(),
    };
    let mut search = Search::default();
    for index in (0..net.nodes.len()).rev() {
        let root = net.first() + index as u32;
        if pass.uses[root as usize] > 0
            && pass.claim(root, &mut search.gone) > 1
            && let Some(cone) = search.best(&mut pass, root)
        {
            pass.commit(root, cone);
        }
    }
    pass.rebuild()
}

/// Inputs of a cone at most.
const LEAVES: usize = 4;
/// Inputs of a cone that is on the way to one with fewer, at most.
const WIDE: usize = 5;
/// Gates of a cone at most.
const GATES: usize = 16;
/// Cones that are looked at for each gate.
const CONES: usize = 16;
/// Gates that are looked at to see what a gate owns.
const GLANCE: usize = 24;

/// A replacement: the form over the leaves.
#[derive(Clone, Copy)]
struct Cone {
    leaves: Leaves,
    form: &'static Form,
}

struct Pass<'a> {
    net: &'a Net,
    /// Gates, forms and outputs that read each wire.
    uses: Vec<u32>,
    /// The gate that claimed each wire last.
    owner: Vec<u32>,
    /// For every gate, its replacement in `cones`.
    chosen: Vec<Option<u32>>,
    cones: Vec<Cone>,
}

impl Pass<'_> {
    /// Lets go of the gate of `root` and of all that only it used, down to the first wire for which
    /// `stop` holds. Appends the gates to `gone`.
    fn release(&mut self, root: u32, gone: &mut Vec<u32>, limit: usize) {
        let start = gone.len();
        gone.push(root);
        let mut next = start;
        while let Some(wire) = gone.get(next).copied() {
            next += 1;
            let Some(node) = self.net.node(wire) else { continue };
            for operand in node.operands() {
                let uses = &mut self.uses[operand.wire() as usize];
                *uses -= 1;
                if *uses == 0 && self.net.node(operand.wire()).is_some() {
                    gone.push(operand.wire());
                }
            }
            if next - start >= limit {
                gone.truncate(next);
                break;
            }
        }
    }

    /// Takes back what [`Self::release`] did.
    fn restore(&mut self, gone: &[u32]) {
        for node in gone.iter().filter_map(|wire| self.net.node(*wire)) {
            for operand in node.operands() {
                self.uses[operand.wire() as usize] += 1;
            }
        }
    }

    fn is_and(&self, wire: u32) -> bool {
        self.net.node(wire).is_some_and(|node| node.op == Op::And)
    }

    /// Finds the nearest gates that go when `root` goes, marks them as its own and counts their ANDs.
    fn claim(&mut self, root: u32, gone: &mut Vec<u32>) -> usize {
        gone.clear();
        self.release(root, gone, GLANCE);
        self.restore(gone);
        gone.iter().for_each(|wire| self.owner[*wire as usize] = root);
        gone.iter().filter(|wire| self.is_and(**wire)).count()
    }

    /// ANDs that go when the cone from `leaves` to `root` is replaced.
    fn saved(&mut self, root: u32, leaves: Leaves, gone: &mut Vec<u32>) -> usize {
        leaves.each(|leaf| self.uses[leaf as usize] += 1);
        gone.clear();
        self.release(root, gone, usize::MAX);
        self.restore(gone);
        leaves.each(|leaf| self.uses[leaf as usize] -= 1);
        gone.iter().filter(|wire| self.is_and(**wire)).count()
    }

    fn commit(&mut self, root: u32, cone: Cone) {
        cone.leaves.each(|leaf| self.uses[leaf as usize] += 1);
        self.release(root, &mut Vec::new(), usize::MAX);
        cone.leaves.each(|leaf| self.uses[leaf as usize] -= 1);
        let sums = cone.form.ands().iter().flatten().chain([&cone.form.out]);
        for sum in sums {
            for (i, leaf) in cone.leaves.slice().iter().enumerate() {
                self.uses[*leaf as usize] += u32::from(sum >> (i + 1) & 1);
            }
        }
        // A leaf that the function does not depend on may have lost its last reader.
        cone.leaves.each(|leaf| {
            if self.uses[leaf as usize] == 0 {
                self.release(leaf, &mut Vec::new(), usize::MAX);
            }
        });
        self.chosen[(root - self.net.first()) as usize] = Some(self.cones.len() as u32);
        self.cones.push(cone);
    }

    /// The net with all replacements, without the gates that nobody uses any more.
    fn rebuild(&self) -> Net {
        let mut builder = Builder::new(self.net.inputs, self.net.nodes.len());
        let mut now: Vec<Lit> = (0..self.net.first()).map(Lit::plain).collect();
        now.reserve(self.net.nodes.len());
        let read = |now: &[Lit], literal: Lit| now[literal.wire() as usize] ^ literal.inverted();
        for (index, node) in self.net.nodes.iter().enumerate() {
            let literal = match self.chosen[index] {
                _ if self.uses[now.len()] == 0 => Lit::FALSE,
                None => builder.gate(node.op, read(&now, node.a), read(&now, node.b)),
                Some(cone) => {
                    let Cone { leaves, form } = self.cones[cone as usize];
                    let leaves: Vec<Lit> =
                        leaves.slice().iter().map(|leaf| now[*leaf as usize]).collect();
                    build(&mut builder, form, &leaves)
                }
            };
            now.push(literal);
        }
        builder.finish(self.net.outputs.iter().map(|out| read(&now, *out)).collect())
    }
}

/// The gates of a form.
fn build(builder: &mut Builder, form: &Form, leaves: &[Lit]) -> Lit {
    let mut terms = vec![Lit::TRUE];
    terms.extend_from_slice(leaves);
    // A form may not name variables that its function does not depend on, but nothing hinges on that.
    terms.resize(1 + LEAVES, Lit::FALSE);
    for [a, b] in form.ands() {
        let (a, b) = (sum(builder, *a, &terms), sum(builder, *b, &terms));
        terms.push(builder.and(a, b));
    }
    sum(builder, form.out, &terms)
}

fn sum(builder: &mut Builder, sum: Sum, terms: &[Lit]) -> Lit {
    let terms = terms.iter().enumerate().filter(|(i, _)| sum >> i & 1 == 1);
    terms.fold(Lit::FALSE, |sum, (_, term)| builder.xor(sum, *term))
}

/// A sorted set of wires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Leaves {
    wires: [u32; WIDE],
    len: u8,
}

impl Leaves {
    fn slice(&self) -> &[u32] {
        &self.wires[..usize::from(self.len)]
    }

    fn each(self, mut visit: impl FnMut(u32)) {
        self.slice().iter().for_each(|wire| visit(*wire));
    }

    /// The set with one more wire; `None` if it is full.
    fn with(mut self, wire: u32) -> Option<Self> {
        if wire == 0 || self.slice().contains(&wire) {
            return Some(self);
        }
        let mut place = usize::from(self.len);
        // Moved one by one: the set is too small for a call.
        *self.wires.get_mut(place)? = wire;
        while place > 0 && self.wires[place - 1] > wire {
            self.wires.swap(place - 1, place);
            place -= 1;
        }
        self.len += 1;
        Some(self)
    }

    /// The set without its wire at `place`.
    fn without(mut self, place: usize) -> Self {
        for place in place + 1..usize::from(self.len) {
            self.wires.swap(place - 1, place);
        }
        self.len -= 1;
        self
    }
}

/// A cone on the way: one gate more than the cone that it was made from.
#[derive(Clone, Copy)]
struct Step {
    leaves: Leaves,
    /// Leaves from this place on stay leaves.
    open: u8,
    ands: u8,
    gates: u8,
    /// Place of the smaller cone, if there is one.
    from: u8,
    /// The gate that is in this cone and not in the smaller one; it lies below those that are in both.
    gate: u32,
}

/// Search for the best cone of a gate; its buffers are used again.
#[derive(Default)]
struct Search {
    steps: Vec<Step>,
    /// Steps to be looked at.
    open: Vec<u8>,
    gone: Vec<u32>,
}

impl Search {
    fn best(&mut self, pass: &mut Pass<'_>, root: u32) -> Option<Cone> {
        let start = Leaves::default().with(root)?;
        let none = Step { leaves: start, open: 1, ands: 0, gates: 0, from: 0, gate: 0 };
        self.steps.clear();
        self.open.clear();
        self.grow(pass, root, none, 0);
        let mut best: Option<(Cone, (usize, u32))> = None;
        for _ in 0..CONES {
            let Some(place) = self.open.pop() else { break };
            let step = self.steps[usize::from(place)];
            if let Some((cone, gain, xors)) = self.gain(pass, root, &step)
                && best.is_none_or(|(_, (most, least))| gain > most || gain == most && xors < least)
            {
                best = Some((cone, (gain, xors)));
            }
            // Every cone is reached once: a leaf is opened, and all above it are closed for good. Next
            // comes the one that opened the highest.
            for open in 1..=step.open {
                self.grow(pass, root, Step { open, ..step }, place);
            }
        }
        best.map(|(cone, _)| cone)
    }

    /// Adds the cone with the highest open leaf replaced by the operands of its gate. To save an AND, the
    /// root has to own it; XORs are opened for what they share.
    fn grow(&mut self, pass: &Pass<'_>, root: u32, step: Step, from: u8) {
        let place = usize::from(step.open) - 1;
        let gate = step.leaves.wires[place];
        let Some(node) = pass.net.node(gate) else { return };
        let useful = node.op == Op::Xor || pass.owner[gate as usize] == root;
        if !useful || usize::from(step.gates) == GATES || self.steps.len() > usize::from(u8::MAX) {
            return;
        }
        let rest = step.leaves.without(place).with(node.a.wire());
        let Some(leaves) = rest.and_then(|rest| rest.with(node.b.wire())) else { return };
        // What the opened gate reads lies below it, and so below every closed leaf.
        let closed = step.leaves.len - step.open;
        let ands = step.ands + u8::from(node.op == Op::And);
        self.open.push(self.steps.len() as u8);
        let open = leaves.len - closed;
        self.steps.push(Step { leaves, open, ands, gates: step.gates + 1, from, gate });
    }

    /// Computes the gain of replacing a cone by its best form, if there is any.
    fn gain(&mut self, pass: &mut Pass<'_>, root: u32, step: &Step) -> Option<(Cone, usize, u32)> {
        if step.ands < 2 || usize::from(step.leaves.len) > LEAVES {
            return None;
        }
        let form = form(self.truth(pass.net, step));
        let needed = form.ands().len();
        if needed >= usize::from(step.ands) {
            return None;
        }
        let saved = pass.saved(root, step.leaves, &mut self.gone);
        let cone = Cone { leaves: step.leaves, form };
        (saved > needed).then(|| (cone, saved - needed, form.xors()))
    }

    /// The truth table of a cone over its leaves.
    fn truth(&self, net: &Net, step: &Step) -> u16 {
        let mut known = [(0u32, 0u16); 1 + LEAVES + GATES];
        let mut count = 1;
        for (leaf, variable) in step.leaves.slice().iter().zip(VARIABLES) {
            known[count] = (*leaf, variable);
            count += 1;
        }
        let (mut value, mut step) = (0, *step);
        for _ in 0..step.gates {
            let read = |literal: Lit| {
                let found = known[..count].iter().find(|(wire, _)| *wire == literal.wire());
                found.map_or(0, |(_, table)| *table) ^ if literal.inverted() { u16::MAX } else { 0 }
            };
            let Some(Node { op, a, b }) = net.node(step.gate) else { break };
            value = match op {
                Op::And => read(a) & read(b),
                Op::Xor => read(a) ^ read(b),
            };
            known[count] = (step.gate, value);
            count += 1;
            step = self.steps[usize::from(step.from)];
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimise::dead::dead;
    use crate::optimise::redundant::redundant;
    use crate::optimise::testing::{check, truth as variable};

    fn pass(net: &Net) -> Net {
        dead(&ands(&dead(&redundant(net))))
    }

    #[test]
    fn the_function_stays() {
        check(ands);
        check(pass);
    }

    type Made = fn(&mut Builder, &[Lit]) -> Lit;

    /// ANDs that the pass leaves of an expression over four inputs.
    fn left(made: Made) -> u64 {
        let mut builder = Builder::new(4, 16);
        let inputs = [1, 2, 3, 4].map(Lit::plain);
        let out = made(&mut builder, &inputs);
        let net = builder.finish(vec![out]);
        let after = pass(&net);
        let words = [0, 1, 2, 3].map(variable);
        assert_eq!(net.eval(&words), after.eval(&words));
        after.ands()
    }

    fn or(g: &mut Builder, a: Lit, b: Lit) -> Lit {
        !g.and(!a, !b)
    }

    /// The union as it is often written: a + b + a b.
    fn long_or(g: &mut Builder, a: Lit, b: Lit) -> Lit {
        let (sum, both) = (g.xor(a, b), g.and(a, b));
        g.xor(sum, both)
    }

    #[test]
    fn known_forms_come_down_to_their_minimum() {
        let cases: [(&str, Made, u64); 10] = [
            (
                "carry, two halves",
                |g, x| {
                    let (p, s) = (g.and(x[0], x[1]), g.xor(x[0], x[1]));
                    let q = g.and(s, x[2]);
                    long_or(g, p, q)
                },
                1,
            ),
            (
                "carry, union of three",
                |g, x| {
                    let (p, q, r) = (g.and(x[0], x[1]), g.and(x[0], x[2]), g.and(x[1], x[2]));
                    let s = or(g, p, q);
                    or(g, s, r)
                },
                1,
            ),
            (
                "carry, sum of three",
                |g, x| {
                    let (p, q, r) = (g.and(x[0], x[1]), g.and(x[0], x[2]), g.and(x[1], x[2]));
                    let s = g.xor(p, q);
                    g.xor(s, r)
                },
                1,
            ),
            (
                "carry, a (b or c) or b c",
                |g, x| {
                    let s = or(g, x[1], x[2]);
                    let (p, q) = (g.and(x[0], s), g.and(x[1], x[2]));
                    or(g, p, q)
                },
                1,
            ),
            (
                "multiplexer, union",
                |g, x| {
                    let (p, q) = (g.and(x[0], x[1]), g.and(!x[0], x[2]));
                    or(g, p, q)
                },
                1,
            ),
            (
                "multiplexer, sum",
                |g, x| {
                    let (p, q) = (g.and(x[0], x[1]), g.and(!x[0], x[2]));
                    g.xor(p, q)
                },
                1,
            ),
            (
                "a b + a c",
                |g, x| {
                    let (p, q) = (g.and(x[0], x[1]), g.and(x[0], x[2]));
                    g.xor(p, q)
                },
                1,
            ),
            (
                "a b or a",
                |g, x| {
                    let p = g.and(x[0], x[1]);
                    or(g, p, x[0])
                },
                0,
            ),
            (
                "a b or not a",
                |g, x| {
                    let p = g.and(x[0], x[1]);
                    or(g, p, !x[0])
                },
                1,
            ),
            (
                "(a + b) (a + c) + (a + d) (b + c), which is (b + d) (c + d) + a + d",
                |g, x| {
                    let [p, q, r, s] =
                        [(0, 1), (0, 2), (0, 3), (1, 2)].map(|(i, j)| g.xor(x[i], x[j]));
                    let (p, q) = (g.and(p, q), g.and(r, s));
                    g.xor(p, q)
                },
                1,
            ),
        ];
        for (name, made, expected) in cases {
            assert_eq!(left(made), expected, "{name}");
        }
    }

    #[test]
    fn what_others_read_is_not_counted_as_saved() {
        // a b and a c are outputs: their sum through a (b + c) would be a third AND.
        let [a, b, c] = [1, 2, 3].map(Lit::plain);
        let nodes = vec![Node::and(a, b), Node::and(a, c), Node::xor(Lit::plain(4), Lit::plain(5))];
        let outputs = vec![Lit::plain(4), Lit::plain(5), Lit::plain(6)];
        let net = Net { inputs: 3, nodes, outputs };
        assert_eq!(pass(&net), net);
    }
}
