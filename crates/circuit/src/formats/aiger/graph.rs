//! And-inverter graphs as circuits.

use super::header::Header;
use super::reader::Reader;
use super::symbols::Names;
use crate::formats::ParseError;
use crate::formats::frame::{Frame, Leaves};
use crate::formats::netlist::topological;
use crate::formats::parts::Parts;
use crate::gates::Gates;
use crate::record::{Literal, RecordError, Recorder};

/// The definition of a variable.
#[derive(Clone, Copy)]
pub(super) enum Node {
    /// Nothing so far.
    None,
    /// The constant 0.
    Zero,
    /// The input with this number.
    Input(u32),
    /// The latch with this number.
    Latch(u32),
    /// An AND of two literals, and where it stands.
    And { inputs: [u32; 2], at: usize },
}

/// A graph; literal 2 v is variable v, literal 2 v + 1 its negation.
pub(super) struct Graph {
    nodes: Vec<Node>,
    initial: Vec<bool>,
    /// Literals and where they stand.
    next: Vec<(u32, usize)>,
    outputs: Vec<(u32, usize)>,
}

impl Graph {
    pub(super) fn new(header: &Header) -> Self {
        let mut nodes = vec![Node::None; header.most as usize + 1];
        nodes[0] = Node::Zero;
        Self { nodes, initial: Vec::new(), next: Vec::new(), outputs: Vec::new() }
    }

    /// The largest variable.
    pub(super) fn most(&self) -> u32 {
        self.nodes.len() as u32 - 1
    }

    /// Whether the variable was free and is this now.
    pub(super) fn define(&mut self, variable: u32, node: Node) -> bool {
        match self.nodes.get_mut(variable as usize) {
            Some(place @ Node::None) => {
                *place = node;
                true
            }
            _ => false,
        }
    }

    /// The next latch.
    pub(super) fn latch(&mut self, initial: bool, next: (u32, usize)) {
        self.initial.push(initial);
        self.next.push(next);
    }

    /// The next output.
    pub(super) fn output(&mut self, literal: (u32, usize)) {
        self.outputs.push(literal);
    }

    fn inputs(&self, variable: u32) -> Option<[u32; 2]> {
        match self.nodes.get(variable as usize) {
            Some(Node::And { inputs, .. }) => Some(*inputs),
            _ => None,
        }
    }

    pub(super) fn finish(self, reader: &Reader<'_>, names: Names) -> Result<Parts, ParseError> {
        self.check_read(reader)?;
        let frame = Frame {
            inputs: names.inputs(),
            outputs: names.outputs(),
            initial: self.initial.clone(),
        };
        frame.check().map_err(|(message, remedy)| reader.error(0, message, remedy))?;
        let below = |variable: u32, i: usize| {
            self.inputs(variable).and_then(|inputs| inputs.get(i).map(|literal| literal / 2))
        };
        let order = topological(self.nodes.len(), below).map_err(|variable| {
            let at = match self.nodes[variable as usize] {
                Node::And { at, .. } => at,
                _ => 0,
            };
            let message = format!("AND {} is computed from itself", 2 * variable);
            reader.error(at, message, "cut the cycle, with a latch where one is meant")
        })?;
        let recorded = || {
            let (mut recorder, leaves) = frame.open()?;
            let values = self.values(&order, &mut recorder, &leaves)?;
            let mut of = |literals: &[(u32, usize)]| -> Result<Vec<Literal>, RecordError> {
                let literals = literals.iter();
                literals.map(|(literal, _)| value(&mut recorder, &values, *literal)).collect()
            };
            let (outputs, next) = (of(&self.outputs)?, of(&self.next)?);
            frame.close(recorder, &outputs, next)
        };
        recorded().map_err(|error: RecordError| {
            reader.error(0, error.to_string(), "split the computation")
        })
    }

    /// Whatever is read must be defined.
    fn check_read(&self, reader: &Reader<'_>) -> Result<(), ParseError> {
        let ands = self.nodes.iter().filter_map(|node| match node {
            Node::And { inputs, at } => Some((*inputs, *at)),
            _ => None,
        });
        let ands = ands.flat_map(|(inputs, at)| inputs.map(|literal| (literal, at)));
        for (literal, at) in ands.chain(self.next.iter().chain(&self.outputs).copied()) {
            if matches!(self.nodes[literal as usize / 2], Node::None) {
                let message = format!("literal {literal} is read but not defined");
                return Err(reader.error(at, message, "define it as input, latch or AND"));
            }
        }
        Ok(())
    }

    fn values(
        &self,
        order: &[u32],
        g: &mut Recorder,
        leaves: &Leaves,
    ) -> Result<Vec<Literal>, RecordError> {
        let zero = g.constant(false)?;
        let mut values = vec![zero; self.nodes.len()];
        for variable in order {
            values[*variable as usize] = match self.nodes[*variable as usize] {
                Node::None | Node::Zero => zero,
                Node::Input(input) => leaves.inputs[input as usize],
                Node::Latch(latch) => leaves.state[latch as usize],
                Node::And { inputs, .. } => self.and(inputs, g, &values)?,
            };
        }
        Ok(values)
    }

    /// An AND. The format writes XORs and multiplexers as three; here they take none
    /// and one.
    fn and(
        &self,
        [p, q]: [u32; 2],
        g: &mut Recorder,
        values: &[Literal],
    ) -> Result<Literal, RecordError> {
        if let Some([select, a, b]) = self.multiplexer([p, q]) {
            let select = value(g, values, select)?;
            let (a, b) = (value(g, values, a)?, value(g, values, b)?);
            let change = g.xor(&a, &b)?;
            let change = g.and(&select, &change)?;
            let chosen = g.xor(&change, &b)?;
            return g.not(&chosen);
        }
        let (p, q) = (value(g, values, p)?, value(g, values, q)?);
        g.and(&p, &q)
    }

    /// `[s, a, b]` if the AND is not (s ? a : b): of not (s and a) and not (not s and b).
    fn multiplexer(&self, [p, q]: [u32; 2]) -> Option<[u32; 3]> {
        if p & q & 1 == 0 {
            return None;
        }
        let ([s, a], [t, b]) = (self.inputs(p / 2)?, self.inputs(q / 2)?);
        [([s, a], [t, b]), ([a, s], [t, b]), ([s, a], [b, t]), ([a, s], [b, t])]
            .into_iter()
            .find(|(left, right)| left[0] == right[0] ^ 1)
            .map(|(left, right)| [left[0], left[1], right[1]])
    }
}

fn value(g: &mut Recorder, values: &[Literal], literal: u32) -> Result<Literal, RecordError> {
    let value = values[literal as usize / 2];
    if literal & 1 == 1 { g.not(&value) } else { Ok(value) }
}
