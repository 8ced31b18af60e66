//! Gates in any order, each with one output, and what they compute.

use super::ParseError;
use super::error::{Source, shown};
use super::frame::{Frame, Leaves, PortsError};
use super::parts::Parts;
use super::table::{MAX_TABLE, cover, table, truth_of_cover};
use crate::gates::Gates;
use crate::record::{Literal, RecordError, Recorder};

/// The driver of a wire.
#[derive(Clone, Copy)]
pub(super) enum Driver {
    /// Nothing so far.
    None,
    /// The input with this number.
    Input(u32),
    /// The latch with this number.
    Latch(u32),
    /// A truth table of the operands, the first one the least significant.
    Table { operands: Span, truth: u64 },
    /// A cover of the operands; `on` says whether its rows give 1.
    Cover { operands: Span, rows: Span, on: bool },
}

/// A piece of one of the pools of a [`Netlist`].
#[derive(Clone, Copy)]
pub(super) struct Span {
    start: u32,
    len: u32,
}

impl Span {
    fn of<T>(self, pool: &[T]) -> &[T] {
        let start = self.start as usize;
        pool.get(start..start + self.len as usize).unwrap_or_default()
    }
}

/// A wire.
#[derive(Clone, Copy)]
pub(super) struct Net<'a> {
    /// Where the file names it first; empty if it does not.
    pub(super) word: &'a str,
    pub(super) driver: Driver,
}

impl Net<'_> {
    pub(super) const EMPTY: Self = Self { word: "", driver: Driver::None };
}

/// The wires of a file and their gates.
pub(super) struct Netlist<'a> {
    pub(super) source: Source<'a>,
    pub(super) nets: Vec<Net<'a>>,
    operands: Vec<u32>,
    rows: Vec<&'a str>,
}

impl<'a> Netlist<'a> {
    pub(super) fn new(source: Source<'a>) -> Self {
        Self { source, nets: Vec::new(), operands: Vec::new(), rows: Vec::new() }
    }

    /// Stores the operands of a gate.
    pub(super) fn operands(&mut self, operands: &[u32]) -> Span {
        let start = self.operands.len() as u32;
        self.operands.extend(operands);
        Span { start, len: operands.len() as u32 }
    }

    /// Stores the rows of a cover.
    pub(super) fn rows(&mut self, rows: &[&'a str]) -> Span {
        let start = self.rows.len() as u32;
        self.rows.extend(rows);
        Span { start, len: rows.len() as u32 }
    }

    /// Says what drives a wire; `word` is where the file says so.
    pub(super) fn drive(&mut self, net: u32, word: &str, driver: Driver) -> Result<(), ParseError> {
        match self.nets.get_mut(net as usize) {
            Some(net) if matches!(net.driver, Driver::None) => net.driver = driver,
            _ => {
                let message = format!("`{}` is driven twice", shown(word));
                return Err(self.source.error(word, message, "give every wire one driver"));
            }
        }
        Ok(())
    }

    /// The file's function: `outputs` and `next` are wires by number of the output and the latch.
    pub(super) fn finish(
        &self,
        frame: Frame,
        outputs: &[u32],
        next: &[u32],
    ) -> Result<Parts, ParseError> {
        let at_start = |(message, remedy): PortsError| self.source.error_at(0, message, remedy);
        frame.check().map_err(at_start)?;
        let order = self.order()?;
        let recorded = || {
            let (mut recorder, leaves) = frame.open()?;
            let values = self.values(&order, &mut recorder, &leaves)?;
            let of = |nets: &[u32]| nets.iter().map(|net| values[*net as usize]).collect();
            let (outputs, next): (Vec<_>, Vec<_>) = (of(outputs), of(next));
            frame.close(recorder, &outputs, next)
        };
        recorded().map_err(|error: RecordError| {
            self.source.error_at(0, error.to_string(), "split the computation")
        })
    }

    fn inputs_of(&self, net: u32) -> &[u32] {
        match self.nets[net as usize].driver {
            Driver::Table { operands, .. } | Driver::Cover { operands, .. } => {
                operands.of(&self.operands)
            }
            Driver::None | Driver::Input(_) | Driver::Latch(_) => &[],
        }
    }

    /// All wires that the file names, each after those that it is computed from.
    fn order(&self) -> Result<Vec<u32>, ParseError> {
        let order = topological(self.nets.len(), |net, i| self.inputs_of(net).get(i).copied())
            .map_err(|net| {
                let word = self.nets[net as usize].word;
                let message = format!("`{}` is computed from itself", shown(word));
                self.source.error(word, message, "cut the cycle, with a latch where one is meant")
            })?;
        for net in &self.nets {
            if matches!(net.driver, Driver::None) && !net.word.is_empty() {
                let message = format!("`{}` is read but nothing drives it", shown(net.word));
                let remedy = "list it among the inputs, or add its gate";
                return Err(self.source.error(net.word, message, remedy));
            }
        }
        Ok(order)
    }

    fn values(
        &self,
        order: &[u32],
        g: &mut Recorder,
        leaves: &Leaves,
    ) -> Result<Vec<Literal>, RecordError> {
        let zero = g.constant(false)?;
        let mut values = vec![zero; self.nets.len()];
        let mut inputs = Vec::new();
        for net in order {
            inputs.clear();
            inputs.extend(self.inputs_of(*net).iter().map(|input| values[*input as usize]));
            let value = match self.nets[*net as usize].driver {
                Driver::None => zero,
                Driver::Input(input) => leaves.inputs[input as usize],
                Driver::Latch(latch) => leaves.state[latch as usize],
                Driver::Table { truth, .. } => table(g, truth, &inputs)?,
                Driver::Cover { rows, on, .. } => {
                    let rows = rows.of(&self.rows);
                    let value = if inputs.len() <= MAX_TABLE {
                        table(g, truth_of_cover(rows), &inputs)?
                    } else {
                        cover(g, rows, &inputs)?
                    };
                    if on { value } else { g.not(&value)? }
                }
            };
            values[*net as usize] = value;
        }
        Ok(values)
    }
}

/// The numbers below `nodes`, each after its inputs; a node that depends on itself is the error.
/// `input` gives the i-th input of a node.
///
/// Keeps its own stack: how deep a file goes is up to the file.
pub(super) fn topological(
    nodes: usize,
    input: impl Fn(u32, usize) -> Option<u32>,
) -> Result<Vec<u32>, u32> {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let mut marks = vec![NEW; nodes];
    let mut order = Vec::with_capacity(nodes);
    let mut stack: Vec<(u32, usize)> = Vec::new();
    for root in 0..nodes as u32 {
        if marks[root as usize] == NEW {
            marks[root as usize] = OPEN;
            stack.push((root, 0));
        }
        while let Some((node, next)) = stack.last_mut() {
            let Some(below) = input(*node, *next) else {
                marks[*node as usize] = DONE;
                order.push(*node);
                stack.pop();
                continue;
            };
            *next += 1;
            match marks[below as usize] {
                NEW => {
                    marks[below as usize] = OPEN;
                    stack.push((below, 0));
                }
                OPEN => return Err(below),
                _ => {}
            }
        }
    }
    Ok(order)
}
