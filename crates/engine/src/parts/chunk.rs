//! Recording of gates into chunks, and the walk over a chunk that finds independent ANDs.

use std::ops::BitXor;
use std::rc::Rc;

use cenote_circuit::zip_rows;

use crate::parts::wires::{Arena, Wire};

/// ANDs of a full chunk: what is computed of them stays in the second-level cache.
pub(crate) const CHUNK_ANDS: usize = 4 << 10;
/// Gates of a full chunk.
pub(crate) const CHUNK_GATES: usize = 128 << 10;

/// The operation of a gate on its slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A public 0.
    Zero,
    /// A public 1.
    One,
    /// `out = a xor b`.
    Xor,
    /// `out = not a`.
    Not,
    /// `out = a and b`.
    And,
    /// The next `b` gates are ANDs that share their input `a`. Nothing is computed: whoever has no
    /// better way takes them one by one.
    Core,
}

/// A recorded gate over slots, or gates of one kind on rows of slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate {
    pub(crate) kind: Kind,
    /// How many gates: gate `i` is on the slots `i` behind `a`, `b` and `out`, of which any two rows are the same or apart.
    pub(crate) n: u16,
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) out: u32,
}

impl Gate {
    /// One gate.
    pub(crate) const fn one(kind: Kind, a: u32, b: u32, out: u32) -> Gate {
        Gate { kind, n: 1, a, b, out }
    }

    /// `n` of its gates, from gate `first` on.
    #[inline]
    pub(crate) fn part(&self, first: u16, n: u16) -> Gate {
        let [a, b, out] = [self.a, self.b, self.out].map(|slot| slot + u32::from(first));
        Gate { kind: self.kind, n, a, b, out }
    }

    /// The slots of each gate: `[a, b, out]`.
    #[inline]
    pub(crate) fn each(&self) -> impl ExactSizeIterator<Item = [usize; 3]> {
        let slots = [self.a, self.b, self.out].map(|slot| slot as usize);
        (0..usize::from(self.n)).map(move |i| slots.map(|slot| slot + i))
    }

    /// Does gates other than ANDs on whatever a backend keeps of each wire, of which zero is the default:
    /// a negation is the XOR with `one`.
    #[inline(always)]
    pub(crate) fn linear<T>(&self, wires: &mut [T], one: T)
    where
        T: Copy + Default + BitXor<Output = T>,
    {
        let [a, b, out] = [self.a, self.b, self.out].map(|slot| slot as usize);
        let n = usize::from(self.n);
        match self.kind {
            Kind::Zero => wires[out..out + n].fill(T::default()),
            Kind::One => wires[out..out + n].fill(one),
            Kind::Xor => zip_rows(wires, [a, b, out], n, |a, b| a ^ b),
            Kind::Not => zip_rows(wires, [a, a, out], n, |a, _| a ^ one),
            Kind::And | Kind::Core => unreachable!("an AND is not linear"),
        }
    }

    /// Whether any of its slots is marked.
    #[inline(always)]
    fn touches(&self, marked: &[bool]) -> bool {
        let [a, b, out] = [self.a, self.b, self.out].map(|slot| slot as usize);
        let n = usize::from(self.n);
        if n == 1 {
            return marked[a] | marked[b] | marked[out];
        }
        [a, b, out]
            .iter()
            .any(|&row| marked[row..row + n].iter().fold(false, |any, mark| any | mark))
    }
}

/// The gates one by one, those of a core together.
pub(crate) fn groups(mut gates: &[Gate]) -> impl Iterator<Item = &[Gate]> {
    std::iter::from_fn(move || {
        let (first, after) = gates.split_first()?;
        let (group, after) = match first.kind {
            Kind::Core => after.split_at((first.b as usize).min(after.len())),
            _ => (std::slice::from_ref(first), after),
        };
        gates = after;
        Some(group)
    })
}

/// Gates in program order.
#[derive(Default)]
pub struct Chunk {
    pub(crate) gates: Vec<Gate>,
    /// How many they are, each of a row counted.
    pub(crate) len: usize,
    /// ANDs, those of cores included.
    pub(crate) ands: usize,
    /// Cores recorded of each of [`CORE_WIDTHS`].
    pub(crate) cores: [usize; CORE_WIDTHS.len()],
}

impl Chunk {
    #[inline]
    pub(super) fn push(&mut self, gate: Gate) {
        self.gates.push(gate);
        self.len += usize::from(gate.n);
        self.ands += if gate.kind == Kind::And { usize::from(gate.n) } else { 0 };
    }
}

/// Widths of the cores that are recorded, widest first (POOL section 5).
pub(crate) const CORE_WIDTHS: [usize; 4] = [64, 32, 16, 8];

/// Records gates until a chunk is full.
pub(crate) struct Recorder {
    pub(super) arena: Rc<Arena>,
    pub(super) chunk: Chunk,
    /// Whether rows of ANDs are one gate, as those of other gates are.
    pub(super) rows_of_ands: bool,
}

impl Recorder {
    pub(crate) fn new(rows_of_ands: bool) -> Recorder {
        Recorder { arena: Rc::default(), chunk: Chunk::default(), rows_of_ands }
    }

    /// Records one gate; the second input of a gate with one is that one. `None` for a wire of
    /// another request.
    #[inline]
    pub(crate) fn push(&mut self, kind: Kind, a: &Wire, b: &Wire) -> Option<Wire> {
        let own = a.is_of(&self.arena) && b.is_of(&self.arena);
        own.then(|| self.push_slots(kind, a.slot() as u32, b.slot() as u32))
    }

    /// Records gates of one kind on the next of `pairs`, as many as the chunk has room for; their wires go to `out`. `None` if one of them is of
    /// another request.
    #[inline]
    pub(crate) fn push_many<'w>(
        &mut self,
        kind: Kind,
        pairs: &mut impl ExactSizeIterator<Item = (&'w Wire, &'w Wire)>,
        out: &mut Vec<Wire>,
    ) -> Option<()> {
        let Chunk { gates, len, ands, .. } = &mut self.chunk;
        let mut n = pairs.len().min(CHUNK_GATES.saturating_sub(*len));
        if kind == Kind::And {
            n = n.min(CHUNK_ANDS.saturating_sub(*ands));
            *ands += n;
        }
        *len += n;
        gates.reserve(n);
        let mut own = true;
        self.arena.alloc_each(pairs.take(n), |(a, b), wire| {
            own &= a.is_of(&self.arena) & b.is_of(&self.arena);
            let [a, b, slot] = [a, b, &wire].map(|wire| wire.slot() as u32);
            gates.push(Gate::one(kind, a, b, slot));
            out.push(wire);
        });
        own.then_some(())
    }

    /// Records a core: an AND of `a` with each of `b`, whose number is one of [`CORE_WIDTHS`]. `None`
    /// for a wire of another request.
    pub(crate) fn push_core(&mut self, a: &Wire, b: &[Wire]) -> Option<Vec<Wire>> {
        let width = CORE_WIDTHS.iter().position(|&width| width == b.len())?;
        let own = a.is_of(&self.arena) && b.iter().all(|b| b.is_of(&self.arena));
        own.then(|| {
            let (a, lanes) = (a.slot() as u32, b.len() as u32);
            self.chunk.push(Gate::one(Kind::Core, a, lanes, a));
            self.chunk.cores[width] += 1;
            b.iter().map(|b| self.push_slots(Kind::And, a, b.slot() as u32)).collect()
        })
    }

    pub(crate) fn constant(&mut self, bit: bool) -> Wire {
        self.push_slots(if bit { Kind::One } else { Kind::Zero }, 0, 0)
    }

    #[inline]
    fn push_slots(&mut self, kind: Kind, a: u32, b: u32) -> Wire {
        let wire = self.arena.alloc();
        self.chunk.push(Gate::one(kind, a, b, wire.slot() as u32));
        wire
    }

    /// Fresh wires whose data the caller provides.
    pub(crate) fn wires(&self, n: usize) -> Vec<Wire> {
        (0..n).map(|_| self.arena.alloc()).collect()
    }

    /// Slots of `wires`; `None` if one is of another request.
    pub(crate) fn slots(&self, wires: &[Wire]) -> Option<Vec<usize>> {
        wires.iter().map(|wire| wire.is_of(&self.arena).then(|| wire.slot())).collect()
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.chunk.ands >= CHUNK_ANDS || self.chunk.len >= CHUNK_GATES
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunk.gates.is_empty()
    }

    /// The gates so far; recording starts afresh.
    pub(crate) fn take(&mut self) -> Chunk {
        std::mem::take(&mut self.chunk)
    }

    /// Slots ever used.
    pub(crate) fn slots_used(&self) -> usize {
        self.arena.len()
    }
}

/// One pass over a chunk that treats independent ANDs together.
pub(crate) trait Pass {
    /// A gate other than AND: at once.
    fn linear(&mut self, gate: &Gate);
    /// An AND, some of a row or those of a core, whose inputs are ready: reads them now, is done at the next flush.
    fn gather(&mut self, ands: &[Gate]);
    /// Does the gathered ANDs.
    fn flush(&mut self);
}

/// Walks `gates` in order. ANDs gather until one of them is read or overwritten, or `batch` wait; a
/// core stays together, however wide. `pending` is scratch: one flag a slot, all clear before and
/// after. The walk depends on the program alone, so both parties batch alike.
pub(crate) fn walk(gates: &[Gate], batch: usize, pending: &mut [bool], pass: &mut impl Pass) {
    debug_assert!(batch > 0, "a batch has ANDs");
    let mut waiting = Gathered { rows: Vec::with_capacity(batch), count: 0, pending };
    for group in groups(gates) {
        if waiting.count >= batch || group.iter().any(|gate| gate.touches(waiting.pending)) {
            waiting.flush(pass);
        }
        match group {
            [gate] if gate.kind != Kind::And => pass.linear(gate),
            [row] => {
                let mut done = 0;
                while done < row.n {
                    let room = u16::try_from(batch - waiting.count).unwrap_or(u16::MAX);
                    let part = row.part(done, room.min(row.n - done));
                    done += part.n;
                    pass.gather(&[part]);
                    waiting.add(&part);
                    if waiting.count >= batch {
                        waiting.flush(pass);
                    }
                }
            }
            core => {
                pass.gather(core);
                core.iter().for_each(|gate| waiting.add(gate));
            }
        }
    }
    waiting.flush(pass);
}

/// Outputs of gathered ANDs.
struct Gathered<'p> {
    rows: Vec<Gate>,
    count: usize,
    pending: &'p mut [bool],
}

impl Gathered<'_> {
    #[inline]
    fn add(&mut self, ands: &Gate) {
        self.marks(ands).fill(true);
        self.count += usize::from(ands.n);
        self.rows.push(*ands);
    }

    fn marks(&mut self, ands: &Gate) -> &mut [bool] {
        &mut self.pending[ands.out as usize..][..usize::from(ands.n)]
    }

    fn flush(&mut self, pass: &mut impl Pass) {
        pass.flush();
        self.count = 0;
        while let Some(ands) = self.rows.pop() {
            self.marks(&ands).fill(false);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Clear evaluation by batches, to be compared with evaluation gate by gate.
    #[derive(Default)]
    pub(crate) struct Clear {
        pub(crate) values: Vec<bool>,
        gathered: Vec<(usize, bool)>,
        largest: usize,
    }

    impl Pass for Clear {
        fn linear(&mut self, gate: &Gate) {
            for [a, b, out] in gate.each() {
                self.values[out] = match gate.kind {
                    Kind::Zero => false,
                    Kind::One => true,
                    Kind::Not => !self.values[a],
                    _ => self.values[a] ^ self.values[b],
                };
            }
        }
        fn gather(&mut self, ands: &[Gate]) {
            for [a, b, out] in ands.iter().flat_map(Gate::each) {
                self.gathered.push((out, self.values[a] & self.values[b]));
            }
        }
        fn flush(&mut self) {
            self.largest = self.largest.max(self.gathered.len());
            for (out, bit) in self.gathered.drain(..) {
                self.values[out] = bit;
            }
        }
    }

    /// Puts a core of two ANDs with a shared input, neither of which reads the other, wherever the
    /// random gates have room for one.
    fn with_cores(gates: &[Gate]) -> Vec<Gate> {
        let mut result = Vec::new();
        for pair in gates.chunks(2) {
            let [first, second] = pair else { continue };
            let shared = Gate { kind: Kind::And, a: first.a, ..*second };
            let apart = first.out != shared.a && first.out != shared.b && first.out != shared.out;
            if first.kind == Kind::And && apart && first.n == 1 && second.n == 1 {
                let head = Gate::one(Kind::Core, first.a, 2, first.a);
                result.extend([head, *first, shared]);
            } else {
                result.extend_from_slice(pair);
            }
        }
        result
    }

    /// Each gate of each row on its own.
    fn without_rows(gates: &[Gate]) -> Vec<Gate> {
        gates.iter().flat_map(|gate| (0..gate.n).map(|i| gate.part(i, 1))).collect()
    }

    #[test]
    fn batches_compute_what_single_gates_compute() {
        let mut prg = cenote_prim::Prg::new(cenote_prim::Block::new(1));
        for _ in 0..50 {
            let gates: Vec<Gate> = (0..300)
                .map(|_| {
                    let r = prg.block().to_bytes();
                    let kind = [Kind::Zero, Kind::One, Kind::Xor, Kind::Not, Kind::And, Kind::And]
                        [usize::from(r[0] % 6)];
                    let slot = |i: usize| u32::from(r[i] % 24);
                    let row = |i: usize| u32::from(r[i] % 3 * 8);
                    match r[4] % 3 {
                        0 => Gate {
                            kind,
                            n: 2 + u16::from(r[5] % 7),
                            a: row(1),
                            b: row(2),
                            out: row(3),
                        },
                        _ => Gate::one(kind, slot(1), slot(2), slot(3)),
                    }
                })
                .collect();
            let start: Vec<bool> = (0..24).map(|i| i % 3 == 0).collect();
            let gates = with_cores(&gates);
            let run = |gates: &[Gate], batch| {
                let mut pass = Clear { values: start.clone(), gathered: vec![], largest: 0 };
                let mut pending = vec![false; 24];
                walk(gates, batch, &mut pending, &mut pass);
                assert!(pending.iter().all(|p| !p));
                assert!(pass.largest <= batch + 1, "a core stays together");
                pass.values
            };
            let one = run(&without_rows(&gates), 1);
            for batch in [1, 2, 3, 64] {
                assert_eq!(run(&gates, batch), one);
            }
        }
    }
}
