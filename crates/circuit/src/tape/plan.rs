//! In which order and in which slots the gates of a tape are done.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use cenote_prim::prefer_large_pages;

use super::recorder::Batches;
use super::{Op, Order, Source, Step, Tape};
use crate::circuit::Gate;

impl Tape {
    /// Plans `gates` on `inputs` input wires; words of so many of the outputs. Every wire gets a slot, and a slot is used again once its wire was read for the last time.
    pub(super) fn new(
        inputs: usize,
        gates: &[Gate],
        (outputs, words): (&[u32], Vec<usize>),
        batches: &Batches,
        order: Order,
    ) -> Tape {
        let (gates, outputs) = &without_copies(inputs, gates, outputs);
        let mut planned = Ordered::default();
        match order {
            Order::Recorded => planned.as_recorded(gates, &batches.first),
            Order::Layers { window } => {
                for start in (0..gates.len()).step_by(window) {
                    let end = gates.len().min(start + window);
                    planned.by_layers(inputs, start, &gates[start..end], &batches.groups);
                }
            }
        }
        let last_use = last_uses(inputs, gates, outputs, &planned.gates);
        let slots =
            Slots { last_use, slot: vec![None; inputs + gates.len()], free: vec![], used: 0 };
        let tape = slots.assign(inputs, gates, outputs, &batches.groups, &planned);
        Tape { words, ..tape }
    }

    /// The tape of a circuit, by layers.
    pub(crate) fn of_circuit(inputs: usize, gates: &[Gate], outputs: (&[u32], Vec<usize>)) -> Tape {
        Tape::new(inputs, gates, outputs, &Batches::default(), Order::LAYERS)
    }
}

/// The gates and outputs with what a copy gives replaced by what it is of. The copies stay where they are, and nobody reads them.
fn without_copies<'g>(
    inputs: usize,
    gates: &'g [Gate],
    outputs: &'g [u32],
) -> (Cow<'g, [Gate]>, Cow<'g, [u32]>) {
    if !gates.iter().any(|gate| matches!(gate, Gate::Eqw(_))) {
        return (gates.into(), outputs.into());
    }
    let mut roots: Vec<u32> = (0..inputs as u32).collect();
    let mut resolved = Vec::with_capacity(gates.len());
    for gate in gates {
        let gate = gate.map(|wire| roots[wire as usize]);
        roots.push(match gate {
            Gate::Eqw(root) => root,
            _ => roots.len() as u32,
        });
        resolved.push(gate);
    }
    let outputs = outputs.iter().map(|wire| roots[*wire as usize]).collect();
    (resolved.into(), outputs)
}

/// Gates in order of execution.
#[derive(Default)]
struct Ordered {
    gates: Vec<u32>,
    /// Ends of runs: linear gates and batches of ANDs in turn, linear first.
    runs: Vec<u32>,
}

impl Ordered {
    /// A batch ends where the next begins, or at a linear gate.
    fn as_recorded(&mut self, gates: &[Gate], first: &[u32]) {
        self.gates = (0..gates.len() as u32).collect();
        let mut first = first.iter().copied().peekable();
        for (i, gate) in (0..).zip(gates) {
            while first.next_if(|first| *first < i).is_some() {}
            let begins = first.peek() == Some(&i);
            let is_and = matches!(gate, Gate::And(..));
            let in_ands = self.runs.len() % 2 == 1;
            if is_and && (begins || !in_ands) {
                // The linear gates before it, perhaps none, and the batch before those.
                if in_ands {
                    self.runs.push(i);
                }
                self.runs.push(i);
            } else if !is_and && in_ands {
                self.runs.push(i);
            }
        }
        if self.runs.len().is_multiple_of(2) {
            self.runs.push(gates.len() as u32);
        }
        self.runs.push(gates.len() as u32);
    }

    /// Appends the gates of a window by depth: linear gates of depth 0, the ANDs on them, linear gates of depth 1, ... Wires from before the window have depth 0;
    /// ANDs of one group have that of the deepest.
    fn by_layers(&mut self, inputs: usize, start: usize, window: &[Gate], groups: &[(u32, u32)]) {
        let first = inputs + start;
        let mut depth = vec![0u32; window.len()];
        let mut sizes: Vec<u32> = Vec::new();
        let mut keys = Vec::with_capacity(window.len());
        let mut groups = groups.iter().map(|(first, n)| (*first as usize, (first + n) as usize));
        let mut group = groups.next();
        let mut of_group = (0, 0);
        for (i, gate) in window.iter().enumerate() {
            let below = |gate: &Gate, depth: &[u32]| {
                let operand =
                    |wire: u32| (wire as usize).checked_sub(first).map_or(0, |i| depth[i]);
                gate.operands().map(operand).max().unwrap_or(0)
            };
            while group.is_some_and(|(_, end)| end <= start + i) {
                group = groups.next();
            }
            let mut own = below(gate, &depth);
            if let Some((begin, end)) = group.filter(|(begin, _)| *begin <= start + i) {
                if of_group.0 != end {
                    let members =
                        &window[begin.max(start) - start..(end - start).min(window.len())];
                    let deepest = members.iter().map(|gate| below(gate, &depth)).max();
                    of_group = (end, deepest.unwrap_or(0));
                }
                own = of_group.1;
            }
            let and = u32::from(matches!(gate, Gate::And(..)));
            depth[i] = own + and;
            let key = (2 * own + and) as usize;
            if sizes.len() <= key {
                sizes.resize(key + 1, 0);
            }
            sizes[key] += 1;
            keys.push(key);
        }
        self.by_keys(start, sizes, &keys);
    }

    /// Appends gates by ascending keys, of which there are so many each; those of one key in their order.
    fn by_keys(&mut self, start: usize, mut sizes: Vec<u32>, keys: &[usize]) {
        // Runs alternate, so a window ends with an (empty) batch if it has to.
        sizes.resize(sizes.len().next_multiple_of(2), 0);
        let mut next = self.gates.len() as u32;
        let mut position = Vec::with_capacity(sizes.len());
        for size in sizes {
            position.push(next as usize);
            next += size;
            self.runs.push(next);
        }
        self.gates.resize(next as usize, 0);
        for (i, key) in keys.iter().enumerate() {
            self.gates[position[*key]] = (start + i) as u32;
            position[*key] += 1;
        }
    }
}

/// For every wire, the position in `order` that reads it last; [`KEPT`] for outputs, [`UNREAD`] for wires that are not read.
fn last_uses(inputs: usize, gates: &[Gate], outputs: &[u32], order: &[u32]) -> Vec<u32> {
    let mut last = vec![UNREAD; inputs + gates.len()];
    for (position, gate) in order.iter().enumerate() {
        let gate = gates[*gate as usize];
        for wire in gate.operands().filter(|_| !matches!(gate, Gate::Eqw(_))) {
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
    slot: Vec<Option<u32>>,
    free: Vec<u32>,
    used: u32,
}

impl Slots {
    fn claim(&mut self, wire: usize) -> Option<u32> {
        if self.last_use[wire] == UNREAD {
            return None;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used - 1
        });
        self.slot[wire] = Some(slot);
        Some(slot)
    }

    fn of(&self, wire: u32) -> u32 {
        self.slot[wire as usize].unwrap_or_else(|| unreachable!("a wire that is read has a slot"))
    }

    /// The slot of an operand, and whether this is its last read, which frees the slot.
    fn read(&mut self, wire: u32, position: usize) -> (u32, bool) {
        let (slot, is_last) = (self.of(wire), self.last_use[wire as usize] == position as u32);
        if is_last {
            self.free.push(slot);
        }
        (slot, is_last)
    }

    /// A step without its result; none for a copy.
    fn step(&mut self, gate: Gate, position: usize) -> Option<Step> {
        let (op, a, b) = match gate {
            Gate::Eq(bit) => (if bit { Op::One } else { Op::Zero }, None, None),
            Gate::Eqw(_) => return None,
            Gate::Inv(a) => (Op::Not, Some(a), None),
            Gate::Xor(a, b) => (Op::Xor, Some(a), Some(b)),
            Gate::And(a, b) => (Op::And, Some(a), Some(b)),
        };
        // Of a wire that a gate reads twice, the first operand is the last one.
        let (b, last_b) = match b {
            Some(wire) if Some(wire) == a => (self.of(wire), false),
            Some(wire) => self.read(wire, position),
            None => (0, false),
        };
        let (a, last_a) = a.map_or((0, false), |wire| self.read(wire, position));
        Some(Step::new(op, a, b, 0).last(last_a, last_b))
    }

    fn assign(
        mut self,
        inputs: usize,
        gates: &[Gate],
        outputs: &[u32],
        groups: &[(u32, u32)],
        order: &Ordered,
    ) -> Tape {
        let input_slots = (0..inputs).map(|wire| self.claim(wire)).collect();
        let mut steps: Vec<Step> = Vec::with_capacity(order.gates.len() + groups.len());
        prefer_large_pages(&steps);
        let mut runs = Vec::with_capacity(order.runs.len());
        let mut unread = Vec::new();
        let (mut ends, mut groups_left) = (order.runs.iter().peekable(), 0);
        for (position, &gate) in order.gates.iter().enumerate() {
            while ends.next_if(|end| **end as usize <= position).is_some() {
                runs.push(steps.len() as u32);
            }
            if groups_left == 0
                && let Ok(at) = groups.binary_search_by_key(&gate, |(first, _)| *first)
                && let Gate::And(select, _) = gates[gate as usize]
            {
                let end = ends.peek().map_or(order.gates.len(), |end| **end as usize);
                groups_left = in_a_row(&order.gates[position..end], groups[at].1);
                let a = self.of(select);
                steps.push(Step::new(Op::Group, a, groups_left, a));
            }
            groups_left = groups_left.saturating_sub(1);
            let Some(step) = self.step(gates[gate as usize], position) else { continue };
            let wire = inputs + gate as usize;
            match self.claim(wire) {
                Some(out) => steps.push(step.giving(out, self.last_use[wire] == KEPT)),
                None => {
                    unread.push(steps.len());
                    steps.push(step);
                }
            }
        }
        ends.for_each(|_| runs.push(steps.len() as u32));
        unread.into_iter().for_each(|step| steps[step] = steps[step].giving(self.used, false));
        let sources = sources(inputs, outputs);
        let outputs = outputs.iter().map(|wire| self.of(*wire)).collect();
        let ands = steps.iter().filter(|step| step.op() == Op::And).count();
        let slots = self.used as usize + 1;
        for step in steps.iter_mut().filter(|step| step.op() == Op::Not) {
            *step = step.reading(slots as u32);
        }
        let words = Vec::new();
        Tape {
            inputs: input_slots,
            steps,
            runs,
            outputs,
            words,
            sources,
            slots,
            ands,
            has_groups: !groups.is_empty(),
        }
    }
}

/// How many of a group's ANDs are here one behind the other. Windows may have cut it: what is in another run is in no group.
fn in_a_row(gates: &[u32], group: u32) -> u32 {
    let numbers = gates[0]..gates[0] + group;
    numbers.zip(gates).take_while(|(number, gate)| number == *gate).count() as u32
}

fn sources(inputs: usize, outputs: &[u32]) -> Vec<Source> {
    let mut first = HashMap::new();
    let source = |(number, &wire): (u32, &u32)| match first.entry(wire) {
        _ if (wire as usize) < inputs => Source::Input(wire),
        Entry::Occupied(first) => Source::Output(*first.get()),
        Entry::Vacant(entry) => {
            entry.insert(number);
            Source::Step
        }
    };
    (0..).zip(outputs).map(source).collect()
}

const UNREAD: u32 = u32::MAX;
const KEPT: u32 = u32::MAX - 1;
