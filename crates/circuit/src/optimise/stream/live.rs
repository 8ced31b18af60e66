//! The backward scan: dead gates, last uses and storage, with the live wires alone in memory.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::Path;

use super::super::net::{Lit, Op, Size};
use super::tape::{Backwards, Record, Tape};

/// The result of a backward scan: the live gates on a tape that is read in forward order, with
/// slots for wires. A slot holds one live wire at a time.
pub(super) struct Scanned {
    /// Records are [`Gate`]s.
    pub(super) tape: Backwards,
    /// Slots, of which 0 is the constant.
    pub(super) slots: usize,
    /// Inputs that are read, in rising order.
    pub(super) inputs: Vec<Input>,
    /// For every output, the slot of its wire as a literal.
    pub(super) outputs: Vec<Lit>,
    /// Which outputs the wires are whose gates are marked so, the last such gate first.
    pub(super) claims: Vec<Claims>,
    /// Live gates without inverters.
    pub(super) size: Size,
    /// Wires that are read negated.
    pub(super) inverters: u64,
}

/// An input wire that is live.
pub(super) struct Input {
    /// Its number, counted from 0.
    pub(super) wire: u32,
    pub(super) slot: u32,
    pub(super) negated: bool,
    pub(super) claims: Claims,
}

/// The first outputs that are a wire and its negation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Claims {
    pub(super) plain: Option<u32>,
    pub(super) negated: Option<u32>,
}

/// A gate over slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gate {
    pub(super) op: Op,
    pub(super) operands: [Read; 2],
    pub(super) out: u32,
    /// Somebody reads the negation of the result.
    pub(super) negated: bool,
    /// The result or its negation is an output.
    pub(super) output: bool,
}

/// A slot that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) slot: u32,
    pub(super) inverted: bool,
    /// Nobody reads the wire after this.
    pub(super) last: bool,
}

/// Slots have numbers below this.
const MAX_SLOTS: u32 = 1 << 29;

impl Gate {
    fn pack(self) -> Record {
        let [a, b] = self
            .operands
            .map(|read| read.slot << 2 | u32::from(read.last) << 1 | u32::from(read.inverted));
        let flags = u32::from(self.negated) << 1 | u32::from(self.output);
        Record { a, b, out: Record::out(self.op, self.out << 2 | flags) }
    }

    pub(super) fn unpack(record: Record) -> Self {
        let read =
            |word: u32| Read { slot: word >> 2, inverted: word & 1 == 1, last: word >> 1 & 1 == 1 };
        Self {
            op: record.op(),
            operands: [read(record.a), read(record.b)],
            out: record.out >> 3,
            negated: record.out >> 2 & 1 == 1,
            output: record.out >> 1 & 1 == 1,
        }
    }
}

/// Scans a tape of gates over wires: operands are literals, results wires. `outputs` are the literals of
/// the outputs; wires from 1 to `inputs` are inputs. `None` if too many wires are live at once.
pub(super) fn scan(
    mut tape: Backwards,
    inputs: u32,
    outputs: &[Lit],
    directory: &Path,
) -> io::Result<Option<Scanned>> {
    let mut live = Live::default();
    let mut claims = claims(outputs);
    let slots = outputs.iter().map(|out| live.output(*out)).collect();
    let mut scanned = Scanned {
        tape: Tape::new(directory)?.backwards()?,
        slots: 0,
        inputs: Vec::new(),
        outputs: slots,
        claims: Vec::new(),
        size: Size::default(),
        inverters: 0,
    };
    let mut kept = Tape::new(directory)?;
    while let Some(record) = tape.next()? {
        let Some(wire) = live.write(record.out >> 1) else { continue };
        let op = record.op();
        let operands = [Lit(record.a), Lit(record.b)].map(|operand| live.read(operand));
        let Wire { slot, negated, output } = wire;
        kept.push(Gate { op, operands, out: slot, negated, output }.pack())?;
        if output {
            scanned.claims.push(claims.remove(&(record.out >> 1)).unwrap_or_default());
        }
        scanned.size.gates += 1;
        scanned.size.ands += u64::from(op == Op::And);
        scanned.inverters += u64::from(negated);
    }
    let mut rest: Vec<(u32, Wire)> = live.wires.drain().collect();
    rest.sort_unstable_by_key(|(wire, _)| *wire);
    scanned.inverters += rest.iter().filter(|(_, wire)| wire.negated).count() as u64;
    debug_assert!(rest.last().is_none_or(|(wire, _)| *wire <= inputs), "a wire without a gate");
    let input = |(wire, Wire { slot, negated, .. })| {
        let claims = claims.get(&wire).copied().unwrap_or_default();
        Input { wire: wire - 1, slot, negated, claims }
    };
    scanned.inputs = rest.into_iter().map(input).collect();
    scanned.slots = live.slots as usize + 1;
    scanned.tape = kept.backwards()?;
    Ok((live.slots < MAX_SLOTS).then_some(scanned))
}

/// For every wire that is an output, which.
fn claims(outputs: &[Lit]) -> HashMap<u32, Claims, Hashing> {
    let mut claims: HashMap<u32, Claims, Hashing> = HashMap::default();
    for (i, out) in outputs.iter().enumerate().filter(|(_, out)| !out.is_constant()) {
        let claims = claims.entry(out.wire()).or_default();
        let claim = if out.inverted() { &mut claims.negated } else { &mut claims.plain };
        claim.get_or_insert(i as u32);
    }
    claims
}

#[derive(Clone, Copy, Debug, Default)]
struct Wire {
    slot: u32,
    negated: bool,
    output: bool,
}

/// The wires that are live at one place of the tape.
#[derive(Default)]
struct Live {
    wires: HashMap<u32, Wire, Hashing>,
    /// Slots that were used and are free.
    free: Vec<u32>,
    slots: u32,
}

impl Live {
    /// The wire whose gate this is, if anybody reads it; before its gate it is not live.
    fn write(&mut self, wire: u32) -> Option<Wire> {
        let found = self.wires.remove(&wire)?;
        self.free.push(found.slot);
        Some(found)
    }

    /// Reads a literal; seen from the end, the first read of a wire is its last use.
    fn read(&mut self, literal: Lit) -> Read {
        let inverted = literal.inverted();
        if literal.is_constant() {
            return Read { slot: 0, inverted, last: false };
        }
        let (wire, last) = self.wire(literal.wire());
        wire.negated |= inverted;
        Read { slot: wire.slot, inverted, last }
    }

    /// An output is never read for the last time.
    fn output(&mut self, literal: Lit) -> Lit {
        if literal.is_constant() {
            return literal;
        }
        let (wire, _) = self.wire(literal.wire());
        wire.output = true;
        wire.negated |= literal.inverted();
        Lit::plain(wire.slot) ^ literal.inverted()
    }

    /// The live wire, and whether it became so now.
    fn wire(&mut self, wire: u32) -> (&mut Wire, bool) {
        use std::collections::hash_map::Entry;
        match self.wires.entry(wire) {
            Entry::Occupied(entry) => (entry.into_mut(), false),
            Entry::Vacant(entry) => {
                let slot = self.free.pop().unwrap_or_else(|| {
                    self.slots += 1;
                    self.slots
                });
                (entry.insert(Wire { slot, ..Wire::default() }), true)
            }
        }
    }
}

/// Hashes of wire numbers: the upper half of a x + b modulo 2^64 (Dietzfelbinger 1996: any two numbers
/// collide no more often than at random), with a and b that nobody who writes files can know.
pub(super) struct Hashing {
    factor: u64,
    addend: u64,
}

impl Default for Hashing {
    fn default() -> Self {
        let random = RandomState::new();
        Self { factor: random.hash_one(0), addend: random.hash_one(1) }
    }
}

impl BuildHasher for Hashing {
    type Hasher = WireHash;

    fn build_hasher(&self) -> WireHash {
        WireHash { factor: self.factor, hash: self.addend }
    }
}

pub(super) struct WireHash {
    factor: u64,
    hash: u64,
}

impl Hasher for WireHash {
    /// Tables take the lowest bits.
    fn finish(&self) -> u64 {
        self.hash.rotate_left(32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, wire: u32) {
        self.hash = self.hash.wrapping_add(self.factor.wrapping_mul(u64::from(wire)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_keyed_and_spread() {
        let (first, second) = (Hashing::default(), Hashing::default());
        assert!((0..64u32).any(|wire| first.hash_one(wire) != second.hash_one(wire)));
        // Numbers that agree in their lower bits must not agree in those of their hashes.
        for step in [1, 1 << 16, 1 << 20] {
            let low = |i: u32| first.hash_one(i * step) & 0xffff;
            let found: std::collections::BTreeSet<u64> = (0..1 << 11).map(low).collect();
            assert!(found.len() > 16, "{}", found.len());
        }
    }

    #[test]
    fn gates_survive_packing() {
        for bits in 0..128u32 {
            let bit = |i: u32| bits >> i & 1 == 1;
            let read = |slot: u32, i: u32| Read { slot, inverted: bit(i), last: bit(i + 1) };
            let gate = Gate {
                op: if bit(0) { Op::And } else { Op::Xor },
                operands: [read(MAX_SLOTS, 1), read(5, 3)],
                out: MAX_SLOTS - 1,
                negated: bit(5),
                output: bit(6),
            };
            assert_eq!(Gate::unpack(gate.pack()), gate);
        }
    }

    #[test]
    fn dead_gates_go_and_slots_are_used_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut tape = Tape::new(dir.path()).expect("a tape");
        let mut gate = |op: Op, a: Lit, b: Lit, out: u32| {
            tape.push(Record { a: a.0, b: b.0, out: Record::out(op, out) }).expect("written");
        };
        // A chain over inputs 1 and 2 on wires 3, 5, 7, ...; every other gate is dead.
        let chain = 1000u32;
        for i in 0..chain {
            let wire = 3 + 2 * i;
            let below = if i == 0 { 2 } else { wire - 2 };
            gate(Op::And, !Lit::plain(1), Lit::plain(below), wire);
            gate(Op::Xor, Lit::plain(1), Lit::plain(wire), wire + 1);
        }
        let out = Lit::plain(3 + 2 * (chain - 1));
        let back = tape.backwards().expect("written");
        let mut found = scan(back, 2, &[out, !out], dir.path()).expect("read").expect("few slots");
        assert_eq!((found.size.gates, found.size.ands, found.inverters), (1000, 1000, 2));
        assert_eq!(found.slots, 3);
        let inputs: Vec<_> = found.inputs.iter().map(|i| (i.wire, i.negated)).collect();
        assert_eq!(inputs, [(0, true), (1, false)]);
        assert_eq!(found.claims.len(), 1);
        for i in 0..chain {
            let gate = Gate::unpack(found.tape.next().expect("read").expect("a gate"));
            assert_eq!((gate.operands[0].last, gate.operands[1].last), (i + 1 == chain, true));
            assert_eq!((gate.output, gate.negated), (i + 1 == chain, i + 1 == chain));
        }
    }
}
