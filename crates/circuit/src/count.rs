//! Counting what a program costs, without computing it.

use std::cell::Cell;
use std::convert::Infallible;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use zeroize::DefaultIsZeroes;

use crate::gates::Gates;
use crate::program::Program;
use crate::tape::{DeckCell, Op, Operand, Tape};

/// Gates by type and the multiplicative depth of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// ANDs: the only gates that cost communication. A multiplexed bit counts as one.
    pub and: u64,
    /// XORs.
    pub xor: u64,
    /// Negations.
    pub not: u64,
    /// Public constants.
    pub constant: u64,
    /// The largest number of ANDs on a path from an input to any wire.
    pub and_depth: u32,
    /// Batches of independent ANDs as the program hands them over, single gates included:
    /// what a backend that pays one round per batch would pay.
    pub and_batches: u64,
}

/// Counts gates. A wire is its own depth; inputs have depth 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter {
    counts: Counts,
}

impl Counter {
    /// A counter at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The counts of one run of `program`.
    pub fn count<P: Program>(program: &P) -> Counts {
        let inputs: Vec<Vec<Depth>> = program
            .signature()
            .inputs
            .iter()
            .map(|port| vec![Depth::default(); port.bits])
            .collect();
        let mut counter = Self::new();
        match program.run(&mut counter, &inputs) {
            Ok(_) => counter.counts,
            Err(never) => match never {},
        }
    }

    fn and_depth(&mut self, a: Depth, b: Depth) -> Depth {
        let depth = a.0.max(b.0).saturating_add(1);
        self.counts.and += 1;
        self.counts.and_depth = self.counts.and_depth.max(depth);
        Depth(depth)
    }
}

/// The wire of a [`Counter`]: how many ANDs lie below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Depth(pub u32);

impl DefaultIsZeroes for Depth {}

impl DeckCell for Depth {}

impl Gates for Counter {
    type Wire = Depth;
    type Error = Infallible;

    fn constant(&mut self, _bit: bool) -> Result<Depth, Infallible> {
        self.counts.constant += 1;
        Ok(Depth(0))
    }

    fn xor(&mut self, a: &Depth, b: &Depth) -> Result<Depth, Infallible> {
        self.counts.xor += 1;
        Ok(Depth(a.0.max(b.0)))
    }

    fn not(&mut self, a: &Depth) -> Result<Depth, Infallible> {
        self.counts.not += 1;
        Ok(*a)
    }

    fn and(&mut self, a: &Depth, b: &Depth) -> Result<Depth, Infallible> {
        self.counts.and_batches += 1;
        Ok(self.and_depth(*a, *b))
    }

    fn and_many(&mut self, a: &[Depth], b: &[Depth]) -> Result<Vec<Depth>, Infallible> {
        let batch: Vec<Depth> = a.iter().zip(b).map(|(a, b)| self.and_depth(*a, *b)).collect();
        self.counts.and_batches += u64::from(!batch.is_empty());
        Ok(batch)
    }

    fn play(
        &mut self,
        tape: &Tape,
        lanes: usize,
        operands: &[Operand<'_, Depth>],
        out: &mut [Vec<Depth>],
    ) -> Result<(), Infallible> {
        let counts = &mut self.counts;
        let all = lanes as u64;
        tape.depths(
            lanes,
            operands,
            out,
            |depth| Depth(depth.0.saturating_add(1)),
            |[linear, ands], deepest| {
                for step in linear {
                    match step.op() {
                        Op::Zero | Op::One => counts.constant += 1,
                        Op::Not => counts.not += all,
                        _ => counts.xor += all,
                    }
                }
                let ands = ands.iter().filter(|step| step.op() == Op::And).count() as u64;
                counts.and += ands * all;
                counts.and_depth = counts.and_depth.max(deepest.0);
                // Batches are those of the program, not those that fit a cache.
                counts.and_batches += u64::from(ands > 0 && lanes > 0);
                Ok(())
            },
        )
    }
}

/// Runs gates on `G` and keeps the largest number of wires that were alive at once.
///
/// A wire is alive from its gate until its last handle is dropped, so the figure tells the working
/// memory of a backend that executes the same program.
pub struct Live<G> {
    inner: G,
    gauge: Rc<Gauge>,
}

#[derive(Debug, Default)]
struct Gauge {
    now: Cell<usize>,
    peak: Cell<usize>,
}

/// A wire of [`Live`].
pub struct LiveWire<W>(Rc<Held<W>>);

struct Held<W> {
    wire: W,
    gauge: Rc<Gauge>,
}

impl<W> Clone for LiveWire<W> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<W> Drop for Held<W> {
    fn drop(&mut self) {
        self.gauge.now.set(self.gauge.now.get() - 1);
    }
}

impl<G: Gates> Live<G> {
    /// Watches the wires of `inner`.
    pub fn new(inner: G) -> Self {
        Self { inner, gauge: Rc::default() }
    }

    /// Takes a wire of the inner machine (an input) under observation.
    pub fn adopt(&self, wire: G::Wire) -> LiveWire<G::Wire> {
        let now = self.gauge.now.get() + 1;
        self.gauge.now.set(now);
        self.gauge.peak.set(self.gauge.peak.get().max(now));
        LiveWire(Rc::new(Held { wire, gauge: Rc::clone(&self.gauge) }))
    }

    /// The largest number of wires that were alive at once.
    pub fn peak(&self) -> usize {
        self.gauge.peak.get()
    }

    /// The machine below.
    pub fn inner(&self) -> &G {
        &self.inner
    }

    fn adopt_all(&self, wires: Vec<G::Wire>) -> Vec<LiveWire<G::Wire>> {
        wires.into_iter().map(|wire| self.adopt(wire)).collect()
    }
}

fn inner_wires<W: Clone>(wires: &[LiveWire<W>]) -> Vec<W> {
    wires.iter().map(|wire| wire.0.wire.clone()).collect()
}

impl<G: Gates> Gates for Live<G> {
    type Wire = LiveWire<G::Wire>;
    type Error = G::Error;

    fn constant(&mut self, bit: bool) -> Result<Self::Wire, G::Error> {
        let wire = self.inner.constant(bit)?;
        Ok(self.adopt(wire))
    }

    fn xor(&mut self, a: &Self::Wire, b: &Self::Wire) -> Result<Self::Wire, G::Error> {
        let wire = self.inner.xor(&a.0.wire, &b.0.wire)?;
        Ok(self.adopt(wire))
    }

    fn not(&mut self, a: &Self::Wire) -> Result<Self::Wire, G::Error> {
        let wire = self.inner.not(&a.0.wire)?;
        Ok(self.adopt(wire))
    }

    fn and(&mut self, a: &Self::Wire, b: &Self::Wire) -> Result<Self::Wire, G::Error> {
        let wire = self.inner.and(&a.0.wire, &b.0.wire)?;
        Ok(self.adopt(wire))
    }

    fn and_many(
        &mut self,
        a: &[Self::Wire],
        b: &[Self::Wire],
    ) -> Result<Vec<Self::Wire>, G::Error> {
        let wires = self.inner.and_many(&inner_wires(a), &inner_wires(b))?;
        Ok(self.adopt_all(wires))
    }
}

/// ANDs that a gadget takes.
#[cfg(test)]
pub(crate) fn ands<T>(
    gadget: impl FnOnce(&mut Counter) -> Result<T, std::convert::Infallible>,
) -> u64 {
    let mut counter = Counter::new();
    let Ok(_) = gadget(&mut counter);
    counter.counts().and
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_types_and_depth() {
        let mut g = Counter::new();
        let one = g.constant(true).unwrap();
        let a = g.and(&one, &Depth(0)).unwrap();
        let b = g.xor(&a, &one).unwrap();
        let many = g.and_many(&[b, one], &[b, one]).unwrap();
        g.not(&many[0]).unwrap();
        g.mux_many(&many[0], &[one, one], &[a, a]).unwrap();
        assert_eq!(many, [Depth(2), Depth(1)]);
        assert_eq!(
            g.counts(),
            Counts { and: 5, xor: 5, not: 1, constant: 1, and_depth: 3, and_batches: 3 }
        );
    }

    #[test]
    fn live_wires_fall_when_handles_are_dropped() {
        let mut g = Live::new(Counter::new());
        let a = g.adopt(Depth(0));
        for _ in 0..10 {
            drop(g.and(&a, &a).unwrap());
        }
        assert_eq!(g.peak(), 2);
        let kept = g.and_many(&[a.clone(), a.clone()], &[a.clone(), a]).unwrap();
        assert_eq!(g.peak(), 3);
        drop(kept);
        assert_eq!(g.gauge.now.get(), 0);
    }
}
