//! The forward pass: windows of gates become small nets and are optimised.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use super::super::net::{Lit, Net, Node};
use super::super::polarity::Polarity;
use super::super::report::Report;
use super::super::{Options, pipeline};
use super::live::{Gate, Hashing, Scanned};
use super::tape::{Backwards, Record, Tape};
use crate::circuit::MAX_WIRES;

/// The result of the windows: gates over new wires, in forward order.
pub(super) struct Optimised {
    pub(super) tape: Backwards,
    pub(super) outputs: Vec<Lit>,
    /// Gates of the largest window.
    pub(super) largest: usize,
}

/// Optimises the gates of a scan window by window. `None` if there are too many wires.
pub(super) fn optimise(
    mut scanned: Scanned,
    inputs: u32,
    options: &Options,
    report: &mut Report,
    directory: &Path,
) -> io::Result<Option<Optimised>> {
    let mut windows = Windows::new(&scanned, inputs, directory)?;
    let mut largest = 0;
    loop {
        let Window { net, slots } = windows.load(&mut scanned.tape, options.window.max(1))?;
        if net.nodes.is_empty() {
            break;
        }
        largest = largest.max(net.nodes.len());
        let net = pipeline::run(net, options.depth, report);
        if windows.next as usize + net.nodes.len() > MAX_WIRES {
            return Ok(None);
        }
        windows.emit(&net, &slots)?;
    }
    let value = |slot: Lit| windows.values[slot.wire() as usize] ^ slot.inverted();
    let outputs = scanned.outputs.iter().map(|slot| value(*slot)).collect();
    Ok(Some(Optimised { outputs, largest, tape: windows.tape.backwards()? }))
}

/// A window as a net, and the slots that its outputs go to.
struct Window {
    net: Net,
    slots: Vec<u32>,
}

/// The state between windows.
struct Windows {
    /// For the wire in every slot, what it is: a constant, a wire that was written before, or its
    /// negation. This is the boundary between windows.
    values: Vec<Lit>,
    /// For every slot, its literal in the window of that number.
    local: Vec<(u32, Lit)>,
    /// Number of the window, from 1 on.
    number: u32,
    /// New wires so far, the constant included.
    next: u32,
    /// New wire of each input of the window.
    inputs: Vec<u32>,
    tape: Tape,
}

/// Marks literals of gates of a window while the number of its inputs is not known.
const GATE: u32 = 1 << 31;

impl Windows {
    fn new(scanned: &Scanned, inputs: u32, directory: &Path) -> io::Result<Self> {
        let mut values = vec![Lit::FALSE; scanned.slots];
        for input in &scanned.inputs {
            values[input.slot as usize] = Lit::plain(input.wire + 1);
        }
        let local = vec![(0, Lit::FALSE); scanned.slots];
        let tape = Tape::new(directory)?;
        Ok(Self { values, local, number: 0, next: inputs + 1, inputs: Vec::new(), tape })
    }

    /// The next window of at most `size` gates.
    fn load(&mut self, tape: &mut Backwards, size: usize) -> io::Result<Window> {
        self.number += 1;
        self.inputs.clear();
        let mut known: HashMap<u32, u32, Hashing> = HashMap::default();
        let mut nodes: Vec<Node> = Vec::new();
        let mut written = Vec::new();
        while nodes.len() < size
            && let Some(record) = tape.next()?
        {
            let gate = Gate::unpack(record);
            let [a, b] = gate.operands.map(|read| self.read(read.slot, &mut known) ^ read.inverted);
            for read in gate.operands.iter().filter(|read| read.last) {
                self.local[read.slot as usize].0 = 0;
            }
            let result = Lit(GATE | (nodes.len() as u32) << 1);
            self.local[gate.out as usize] = (self.number, result);
            nodes.push(Node { op: gate.op, a, b });
            written.push(gate.out);
        }
        let first = self.inputs.len() as u32 + 1;
        let settled = |literal: Lit| match literal.0 & GATE {
            0 => literal,
            _ => Lit((literal.0 & !GATE) + (first << 1)),
        };
        for node in &mut nodes {
            *node = node.map(settled);
        }
        // A slot that still holds the result that was written to it is live after the window.
        let mut window = Window { net: Net::default(), slots: Vec::new() };
        for (index, slot) in written.into_iter().enumerate() {
            let result = Lit(GATE | (index as u32) << 1);
            if self.local[slot as usize] == (self.number, result) {
                window.slots.push(slot);
                window.net.outputs.push(settled(result));
            }
        }
        window.net.inputs = first - 1;
        window.net.nodes = nodes;
        Ok(window)
    }

    /// The literal of a slot in this window; a wire from before the window becomes an input.
    fn read(&mut self, slot: u32, known: &mut HashMap<u32, u32, Hashing>) -> Lit {
        let (number, literal) = self.local[slot as usize];
        if number == self.number {
            return literal;
        }
        let value = self.values[slot as usize];
        if value.is_constant() {
            return value;
        }
        let input = *known.entry(value.wire()).or_insert_with(|| {
            self.inputs.push(value.wire());
            self.inputs.len() as u32
        });
        let literal = Lit::plain(input) ^ value.inverted();
        self.local[slot as usize] = (self.number, literal);
        literal
    }

    /// Writes the gates of an optimised window and keeps what its outputs are.
    fn emit(&mut self, net: &Net, slots: &[u32]) -> io::Result<()> {
        let polarity = Polarity::of(net);
        let mut now: Vec<Lit> = Vec::with_capacity(net.wires());
        now.push(Lit::FALSE);
        now.extend(self.inputs.iter().map(|wire| Lit::plain(*wire)));
        let read = |now: &[Lit], literal: Lit| now[literal.wire() as usize] ^ literal.inverted();
        for (index, node) in net.nodes.iter().enumerate() {
            if let Some(copy) = node.as_copy() {
                now.push(read(&now, copy));
                continue;
            }
            let wire = net.first() + index as u32;
            let oriented = polarity.oriented(wire, *node).map(|literal| read(&now, literal));
            let out = Record::out(node.op, self.next);
            self.tape.push(Record { a: oriented.a.0, b: oriented.b.0, out })?;
            now.push(Lit::plain(self.next) ^ polarity.written_inverted(wire, *node));
            self.next += 1;
        }
        for (slot, output) in slots.iter().zip(&net.outputs) {
            self.values[*slot as usize] = read(&now, *output);
        }
        Ok(())
    }
}
