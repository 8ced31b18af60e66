//! Recording of gates into chunks, and the walk over a chunk that finds independent ANDs.

use std::rc::Rc;

use crate::wires::{Arena, Wire};

/// ANDs of a full chunk.
const CHUNK_ANDS: usize = 16 << 10;
/// Gates of a full chunk.
const CHUNK_GATES: usize = 128 << 10;

/// What a gate does with its slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Kind {
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
}

/// A recorded gate over slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    pub(super) kind: Kind,
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) out: u32,
}

/// Gates in program order.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) gates: Vec<Gate>,
    pub(super) ands: usize,
}

/// Records gates until a chunk is full.
pub(super) struct Recorder {
    arena: Rc<Arena>,
    chunk: Chunk,
}

impl Recorder {
    pub(super) fn new() -> Recorder {
        Recorder { arena: Rc::new(Arena::default()), chunk: Chunk::default() }
    }

    /// Records one gate; the second input of a gate with one is that one. `None` for a wire of
    /// another request.
    #[inline]
    pub(super) fn push(&mut self, kind: Kind, a: &Wire, b: &Wire) -> Option<Wire> {
        let own = a.is_of(&self.arena) && b.is_of(&self.arena);
        own.then(|| self.push_slots(kind, a.slot() as u32, b.slot() as u32))
    }

    pub(super) fn constant(&mut self, bit: bool) -> Wire {
        self.push_slots(if bit { Kind::One } else { Kind::Zero }, 0, 0)
    }

    #[inline]
    fn push_slots(&mut self, kind: Kind, a: u32, b: u32) -> Wire {
        let wire = self.arena.alloc();
        self.chunk.gates.push(Gate { kind, a, b, out: wire.slot() as u32 });
        self.chunk.ands += usize::from(kind == Kind::And);
        wire
    }

    /// Fresh wires whose data the caller provides.
    pub(super) fn wires(&self, n: usize) -> Vec<Wire> {
        (0..n).map(|_| self.arena.alloc()).collect()
    }

    /// Slots of `wires`; `None` if one is of another request.
    pub(super) fn slots(&self, wires: &[Wire]) -> Option<Vec<usize>> {
        wires.iter().map(|wire| wire.is_of(&self.arena).then(|| wire.slot())).collect()
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.chunk.ands >= CHUNK_ANDS || self.chunk.gates.len() >= CHUNK_GATES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunk.gates.is_empty()
    }

    /// The gates so far; recording starts afresh.
    pub(super) fn take(&mut self) -> Chunk {
        std::mem::take(&mut self.chunk)
    }

    /// Slots ever used.
    pub(super) fn slots_used(&self) -> usize {
        self.arena.len()
    }
}

/// One pass over a chunk that treats independent ANDs together.
pub(super) trait Pass {
    /// A gate other than AND: at once.
    fn linear(&mut self, gate: &Gate);
    /// An AND whose inputs are ready: reads them now, is done at the next flush.
    fn gather(&mut self, gate: &Gate);
    /// Does the gathered ANDs.
    fn flush(&mut self);
}

/// Walks `gates` in order. ANDs gather until one of them is read or overwritten, or `batch` wait.
/// `pending` is scratch: one flag a slot, all clear before and after. The walk depends on the
/// program alone, so both parties batch alike.
pub(super) fn walk(gates: &[Gate], batch: usize, pending: &mut [bool], pass: &mut impl Pass) {
    let mut waiting: Vec<u32> = Vec::with_capacity(batch);
    for gate in gates {
        let touches =
            pending[gate.a as usize] | pending[gate.b as usize] | pending[gate.out as usize];
        if touches || waiting.len() == batch {
            pass.flush();
            waiting.drain(..).for_each(|slot| pending[slot as usize] = false);
        }
        if gate.kind == Kind::And {
            pass.gather(gate);
            pending[gate.out as usize] = true;
            waiting.push(gate.out);
        } else {
            pass.linear(gate);
        }
    }
    pass.flush();
    waiting.drain(..).for_each(|slot| pending[slot as usize] = false);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clear evaluation by batches, to be compared with evaluation gate by gate.
    struct Clear {
        values: Vec<bool>,
        gathered: Vec<(u32, bool)>,
        largest: usize,
    }

    impl Pass for Clear {
        fn linear(&mut self, gate: &Gate) {
            self.values[gate.out as usize] = match gate.kind {
                Kind::Zero => false,
                Kind::One => true,
                Kind::Not => !self.values[gate.a as usize],
                _ => self.values[gate.a as usize] ^ self.values[gate.b as usize],
            };
        }
        fn gather(&mut self, gate: &Gate) {
            let bit = self.values[gate.a as usize] & self.values[gate.b as usize];
            self.gathered.push((gate.out, bit));
        }
        fn flush(&mut self) {
            self.largest = self.largest.max(self.gathered.len());
            for (out, bit) in self.gathered.drain(..) {
                self.values[out as usize] = bit;
            }
        }
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
                    Gate { kind, a: slot(1), b: slot(2), out: slot(3) }
                })
                .collect();
            let start: Vec<bool> = (0..24).map(|i| i % 3 == 0).collect();
            let run = |batch| {
                let mut pass = Clear { values: start.clone(), gathered: vec![], largest: 0 };
                let mut pending = vec![false; 24];
                walk(&gates, batch, &mut pending, &mut pass);
                assert!(pending.iter().all(|p| !p));
                assert!(pass.largest <= batch);
                pass.values
            };
            let one = run(1);
            assert_eq!(run(2), one);
            assert_eq!(run(64), one);
        }
    }
}
