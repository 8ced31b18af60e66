//! In which order and in which storage a circuit is executed.

use crate::circuit::Gate;
use crate::gates::Gates;

/// The execution plan of a circuit.
///
/// Gates are reordered within windows so that all ANDs of one depth form a batch; windows
/// bound how many more wires are alive than in the order of the file. Every wire gets a slot, and a
/// slot is used again once its wire was read for the last time.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Gates in order of execution; operands are slots, marked [`LAST`] at the last use.
    gates: Vec<Gate>,
    /// Where each gate's result goes; [`NOWHERE`] if nobody reads it.
    targets: Vec<u32>,
    /// Ends of runs in `gates`: linear gates and batches of ANDs in turn, linear first.
    runs: Vec<u32>,
    /// Slot of every input wire, or [`NOWHERE`].
    inputs: Vec<u32>,
    /// Slots of the output wires.
    outputs: Vec<u32>,
    slots: usize,
}

impl Plan {
    /// Plans the execution of `gates` on `inputs` input wires.
    pub(crate) fn new(inputs: usize, gates: &[Gate], outputs: &[u32]) -> Self {
        let mut order = Vec::with_capacity(gates.len());
        let mut runs = Vec::new();
        for start in (0..gates.len()).step_by(WINDOW) {
            let window = &gates[start..gates.len().min(start + WINDOW)];
            level_order(inputs, start, window, &mut order, &mut runs);
        }
        let last_use = last_uses(inputs, gates, outputs, &order);
        Slots::new(inputs + gates.len(), last_use).assign(inputs, gates, outputs, &order, runs)
    }

    /// The largest number of wires alive at once.
    pub(crate) fn live_wires(&self) -> usize {
        self.slots
    }

    /// Executes the gates; the outputs of all ports in one list.
    pub(crate) fn run<G: Gates>(
        &self,
        g: &mut G,
        inputs: &[Vec<G::Wire>],
    ) -> Result<Vec<G::Wire>, G::Error> {
        let mut store = Store(vec![None; self.slots]);
        for (wire, slot) in inputs.iter().flatten().zip(&self.inputs) {
            store.put(*slot, wire.clone());
        }
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let mut start = 0;
        for (run, end) in self.runs.iter().enumerate() {
            let range = start..*end as usize;
            start = *end as usize;
            let gates = self.gates[range.clone()].iter().zip(&self.targets[range]);
            if run % 2 == 0 {
                for (gate, target) in gates {
                    let wire = store.linear(g, *gate)?;
                    store.put(*target, wire);
                }
                continue;
            }
            left.clear();
            right.clear();
            for (gate, _) in gates.clone() {
                if let Gate::And(a, b) = gate {
                    left.push(store.read(*a));
                    right.push(store.read(*b));
                }
            }
            for (wire, (_, target)) in g.and_many(&left, &right)?.into_iter().zip(gates) {
                store.put(*target, wire);
            }
        }
        Ok(self.outputs.iter().map(|slot| store.read(*slot)).collect())
    }
}

/// Wires by slot.
struct Store<W>(Vec<Option<W>>);

impl<W: Clone> Store<W> {
    fn get(&self, operand: u32) -> &W {
        match &self.0[(operand & !LAST) as usize] {
            Some(wire) => wire,
            None => unreachable!("the plan reads a slot between its write and its last use"),
        }
    }

    /// A handle on the wire, moved out at its last use.
    fn read(&mut self, operand: u32) -> W {
        let wire =
            if operand & LAST == 0 { None } else { self.0[(operand & !LAST) as usize].take() };
        wire.unwrap_or_else(|| self.get(operand).clone())
    }

    fn put(&mut self, slot: u32, wire: W) {
        if slot != NOWHERE {
            self.0[slot as usize] = Some(wire);
        }
    }

    fn linear<G: Gates<Wire = W>>(&mut self, g: &mut G, gate: Gate) -> Result<W, G::Error> {
        let wire = match gate {
            Gate::Xor(a, b) => g.xor(self.get(a), self.get(b))?,
            Gate::And(a, b) => g.and(self.get(a), self.get(b))?,
            Gate::Inv(a) => g.not(self.get(a))?,
            Gate::Eq(bit) => g.constant(bit)?,
            Gate::Eqw(a) => return Ok(self.read(a)),
        };
        for operand in gate.operands().filter(|operand| operand & LAST != 0) {
            self.0[(operand & !LAST) as usize] = None;
        }
        Ok(wire)
    }
}

/// Appends the gates of a window to `order`, by depth: linear gates of depth 0, the ANDs on
/// them, linear gates of depth 1, ... Wires from before the window have depth 0.
fn level_order(
    inputs: usize,
    start: usize,
    window: &[Gate],
    order: &mut Vec<u32>,
    runs: &mut Vec<u32>,
) {
    let first = inputs + start;
    let mut depth = vec![0u32; window.len()];
    let mut sizes: Vec<u32> = Vec::new();
    let mut keys = Vec::with_capacity(window.len());
    for (i, gate) in window.iter().enumerate() {
        let operand = |wire: u32| (wire as usize).checked_sub(first).map_or(0, |i| depth[i]);
        let below = gate.operands().map(operand).max().unwrap_or(0);
        let and = u32::from(matches!(gate, Gate::And(..)));
        depth[i] = below + and;
        let key = (2 * below + and) as usize;
        if sizes.len() <= key {
            sizes.resize(key + 1, 0);
        }
        sizes[key] += 1;
        keys.push(key);
    }
    // Runs alternate, so a window ends with an (empty) batch if it has to.
    sizes.resize(sizes.len().next_multiple_of(2), 0);
    let mut next = order.len() as u32;
    let mut position = Vec::with_capacity(sizes.len());
    for size in sizes {
        position.push(next as usize);
        next += size;
        runs.push(next);
    }
    order.resize(next as usize, 0);
    for (i, key) in keys.into_iter().enumerate() {
        order[position[key]] = (start + i) as u32;
        position[key] += 1;
    }
}

/// For every wire, the position in `order` that reads it last; [`KEPT`] for outputs, [`NOWHERE`] for
/// wires that are not read.
fn last_uses(inputs: usize, gates: &[Gate], outputs: &[u32], order: &[u32]) -> Vec<u32> {
    let mut last = vec![NOWHERE; inputs + gates.len()];
    for (position, gate) in order.iter().enumerate() {
        for wire in gates[*gate as usize].operands() {
            last[wire as usize] = position as u32;
        }
    }
    for wire in outputs {
        last[*wire as usize] = KEPT;
    }
    last
}

/// Assignment of slots to wires.
struct Slots {
    last_use: Vec<u32>,
    slot: Vec<u32>,
    free: Vec<u32>,
    count: u32,
}

impl Slots {
    fn new(wires: usize, last_use: Vec<u32>) -> Self {
        Self { last_use, slot: vec![NOWHERE; wires], free: Vec::new(), count: 0 }
    }

    fn claim(&mut self, wire: usize) -> u32 {
        if self.last_use[wire] == NOWHERE {
            return NOWHERE;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.slot[wire] = slot;
        slot
    }

    /// The slot of an operand; the last read is marked, and frees the slot.
    fn operand(&mut self, wire: u32, position: usize, again: bool) -> u32 {
        let slot = self.slot[wire as usize];
        if again || self.last_use[wire as usize] != position as u32 {
            return slot;
        }
        self.free.push(slot);
        slot | LAST
    }

    fn assign(
        mut self,
        inputs: usize,
        gates: &[Gate],
        outputs: &[u32],
        order: &[u32],
        runs: Vec<u32>,
    ) -> Plan {
        let input_slots = (0..inputs).map(|wire| self.claim(wire)).collect();
        let mut planned = Vec::with_capacity(order.len());
        let mut targets = Vec::with_capacity(order.len());
        for (position, gate) in order.iter().enumerate() {
            let source = gates[*gate as usize];
            // A gate that reads one wire twice frees it at the second read only.
            let mut reads = source.operands().count();
            let twice = matches!(source, Gate::Xor(a, b) | Gate::And(a, b) if a == b);
            planned.push(source.map(|wire| {
                reads -= 1;
                self.operand(wire, position, twice && reads > 0)
            }));
            targets.push(self.claim(inputs + *gate as usize));
        }
        let outputs = outputs.iter().map(|wire| self.slot[*wire as usize]).collect();
        let slots = self.count as usize;
        Plan { gates: planned, targets, runs, inputs: input_slots, outputs, slots }
    }
}

/// Gates that are reordered together.
const WINDOW: usize = 1 << 16;
const LAST: u32 = 1 << 31;
const NOWHERE: u32 = u32::MAX;
const KEPT: u32 = u32::MAX - 1;
