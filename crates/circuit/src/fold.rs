//! Constants folded on the way to another machine.

use crate::gates::{Gates, runs};

/// A machine that hands on only gates whose operands are not public.
///
/// It keeps no gates, so streams of any length pass through; [`crate::Recorder`] finds more but keeps
/// the whole circuit.
pub struct Folding<G> {
    inner: G,
}

/// A wire of [`Folding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folded<W> {
    /// A public bit for which the machine below has no wire.
    Constant(bool),
    /// A wire of the machine below.
    Wire(W),
}

use Folded::{Constant, Wire};

impl<G: Gates> Folding<G> {
    /// Folds constants in front of `inner`.
    pub fn new(inner: G) -> Self {
        Self { inner }
    }

    /// The machine below.
    pub fn inner(&self) -> &G {
        &self.inner
    }

    /// The machine below, again on its own.
    pub fn into_inner(self) -> G {
        self.inner
    }

    /// A wire of the machine below that carries `wire`, as an output needs it.
    pub fn unfold(&mut self, wire: &Folded<G::Wire>) -> Result<G::Wire, G::Error> {
        match wire {
            Constant(bit) => self.inner.constant(*bit),
            Wire(wire) => Ok(wire.clone()),
        }
    }
}

impl<G: Gates> Gates for Folding<G> {
    type Wire = Folded<G::Wire>;
    type Error = G::Error;

    fn constant(&mut self, bit: bool) -> Result<Self::Wire, G::Error> {
        Ok(Constant(bit))
    }

    fn xor(&mut self, a: &Self::Wire, b: &Self::Wire) -> Result<Self::Wire, G::Error> {
        match (a, b) {
            (Constant(false), other) | (other, Constant(false)) => Ok(other.clone()),
            (Constant(true), other) | (other, Constant(true)) => self.not(other),
            (Wire(a), Wire(b)) => self.inner.xor(a, b).map(Wire),
        }
    }

    fn not(&mut self, a: &Self::Wire) -> Result<Self::Wire, G::Error> {
        match a {
            Constant(bit) => Ok(Constant(!bit)),
            Wire(a) => self.inner.not(a).map(Wire),
        }
    }

    fn and(&mut self, a: &Self::Wire, b: &Self::Wire) -> Result<Self::Wire, G::Error> {
        match folded_and(a, b) {
            Ok(known) => Ok(known),
            Err((a, b)) => self.inner.and(a, b).map(Wire),
        }
    }

    fn and_many(
        &mut self,
        a: &[Self::Wire],
        b: &[Self::Wire],
    ) -> Result<Vec<Self::Wire>, G::Error> {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let mut out = Vec::with_capacity(a.len().min(b.len()));
        for (a, b) in a.iter().zip(b) {
            out.push(folded_and(a, b).map_err(|(a, b)| {
                left.push(a.clone());
                right.push(b.clone());
            }));
        }
        if left.is_empty() {
            return Ok(out.into_iter().flatten().collect());
        }
        let mut rest = self.inner.and_many(&left, &right)?.into_iter().map(Wire);
        Ok(out.into_iter().filter_map(|known| known.ok().or_else(|| rest.next())).collect())
    }

    fn and_groups(
        &mut self,
        selects: &[Self::Wire],
        bits: &[Self::Wire],
    ) -> Result<Vec<Self::Wire>, G::Error> {
        let below = |wires: &[Self::Wire]| wires.iter().map(secret).collect::<Option<Vec<_>>>();
        if let (Some(selects), Some(bits)) = (below(selects), below(bits)) {
            return Ok(self.inner.and_groups(&selects, &bits)?.into_iter().map(Wire).collect());
        }
        let mut out = Vec::with_capacity(bits.len());
        for (select, run) in runs(selects, bits) {
            out.extend(self.and_run(select, run)?);
        }
        Ok(out)
    }
}

impl<G: Gates> Folding<G> {
    /// One run of [`Gates::and_groups`] of which some operands are public.
    fn and_run(
        &mut self,
        select: &Folded<G::Wire>,
        run: &[Folded<G::Wire>],
    ) -> Result<Vec<Folded<G::Wire>>, G::Error> {
        let Wire(select) = select else {
            return run.iter().map(|bit| self.and(select, bit)).collect();
        };
        let bits: Vec<G::Wire> = run.iter().filter_map(secret).collect();
        let mut rest = self.inner.and_groups(std::slice::from_ref(select), &bits)?.into_iter();
        Ok(run
            .iter()
            .filter_map(|bit| match bit {
                Constant(false) => Some(Constant(false)),
                Constant(true) => Some(Wire(select.clone())),
                Wire(_) => rest.next().map(Wire),
            })
            .collect())
    }
}

/// The wire of the machine below, if it is not public.
fn secret<W: Clone>(wire: &Folded<W>) -> Option<W> {
    match wire {
        Constant(_) => None,
        Wire(wire) => Some(wire.clone()),
    }
}

/// The conjunction where an operand is public, otherwise the operands.
fn folded_and<'w, W: Clone>(
    a: &'w Folded<W>,
    b: &'w Folded<W>,
) -> Result<Folded<W>, (&'w W, &'w W)> {
    match (a, b) {
        (Constant(false), _) | (_, Constant(false)) => Ok(Constant(false)),
        (Constant(true), other) | (other, Constant(true)) => Ok(other.clone()),
        (Wire(a), Wire(b)) => Err((a, b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clear::Clear;
    use crate::count::{Counter, Depth};

    #[test]
    fn computes_what_the_machine_below_computes() {
        let values = [Constant(false), Constant(true), Wire(false), Wire(true)];
        let clear = |wire: &Folded<bool>| match wire {
            Constant(bit) | Wire(bit) => *bit,
        };
        let mut g = Folding::new(Clear);
        for a in &values {
            assert_eq!(clear(&g.not(a).unwrap()), !clear(a));
            assert_eq!(g.unfold(a).unwrap(), clear(a));
            for b in &values {
                assert_eq!(clear(&g.xor(a, b).unwrap()), clear(a) ^ clear(b));
                assert_eq!(clear(&g.and(a, b).unwrap()), clear(a) & clear(b));
            }
            let all: Vec<bool> = g.and_many(&[*a; 4], &values).unwrap().iter().map(clear).collect();
            assert_eq!(all, values.map(|b| clear(a) & clear(&b)));
            let wire = Wire(clear(a));
            for (selects, bits) in [([*a, wire], values), ([wire, wire], [wire; 4])] {
                let all = g.and_groups(&selects, &bits).unwrap();
                let expected = [0, 1, 2, 3].map(|i| clear(&selects[i / 2]) & clear(&bits[i]));
                assert_eq!(all.iter().map(clear).collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn gates_on_constants_do_not_arrive() {
        let mut g = Folding::new(Counter::new());
        let x = Wire(Depth(0));
        for constant in [Constant(false), Constant(true)] {
            g.and(&x, &constant).unwrap();
            g.and_many(&[x, constant], &[constant, constant]).unwrap();
            g.mux_many(&constant, &[x], &[constant]).unwrap();
        }
        g.xor(&x, &Constant(false)).unwrap();
        assert_eq!(g.inner().counts().and, 0);
        assert_eq!(g.inner().counts().xor, 0);
        g.and_many(&[x, x, x], &[x, Constant(true), x]).unwrap();
        assert_eq!((g.inner().counts().and, g.inner().counts().and_batches), (2, 1));
    }
}
