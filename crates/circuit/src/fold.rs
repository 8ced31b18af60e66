//! Constants folded on the way to another machine.

use crate::gates::{Gates, runs};

/// A machine that hands on only gates whose operands are not public: no backend spends one on a public bit.
///
/// It keeps no gates, so streams of any length pass through; [`crate::Recorder`] finds more but keeps
/// the whole circuit.
pub struct Folding<'m, G: ?Sized>(&'m mut G);

/// A wire of [`Folding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Folded<W> {
    /// A bit that both parties know, for which the machine below has no wire.
    Known(bool),
    /// A wire of the machine below.
    Wire(W),
}

use Folded::{Known, Wire};

impl<W: Clone> Folded<W> {
    /// The wire of a bit that is not known.
    pub fn wire(&self) -> Option<W> {
        match self {
            Known(_) => None,
            Wire(wire) => Some(wire.clone()),
        }
    }
}

impl<'m, G: Gates + ?Sized> Folding<'m, G> {
    /// Folds constants in front of `inner`.
    pub fn new(inner: &'m mut G) -> Self {
        Self(inner)
    }

    /// A wire of the machine below that carries `wire`: what follows costs the same whatever it is.
    pub fn unfold(&mut self, wire: Folded<G::Wire>) -> Result<G::Wire, G::Error> {
        match wire {
            Known(bit) => self.0.constant(bit),
            Wire(wire) => Ok(wire),
        }
    }
}

impl<G: Gates + ?Sized> Gates for Folding<'_, G> {
    type Wire = Folded<G::Wire>;
    type Error = G::Error;

    fn constant(&mut self, bit: bool) -> Result<Self::Wire, G::Error> {
        Ok(Known(bit))
    }

    fn xor(&mut self, a: &Self::Wire, b: &Self::Wire) -> Result<Self::Wire, G::Error> {
        match (a, b) {
            (Wire(a), Wire(b)) => self.0.xor(a, b).map(Wire),
            (Known(a), Known(b)) => Ok(Known(a ^ b)),
            (Known(false), wire) | (wire, Known(false)) => Ok(wire.clone()),
            (Known(true), wire) | (wire, Known(true)) => self.not(wire),
        }
    }

    fn not(&mut self, a: &Self::Wire) -> Result<Self::Wire, G::Error> {
        match a {
            Wire(a) => self.0.not(a).map(Wire),
            Known(a) => Ok(Known(!a)),
        }
    }

    fn and(&mut self, a: &Self::Wire, b: &Self::Wire) -> Result<Self::Wire, G::Error> {
        match (a, b) {
            (Wire(a), Wire(b)) => self.0.and(a, b).map(Wire),
            _ => Ok(known_and(a, b)),
        }
    }

    fn xor_many(
        &mut self,
        a: &[Self::Wire],
        b: &[Self::Wire],
    ) -> Result<Vec<Self::Wire>, G::Error> {
        if let (Some(a), Some(b)) = (wires(a), wires(b)) {
            return Ok(self.0.xor_many(&a, &b)?.into_iter().map(Wire).collect());
        }
        let mut out = Vec::with_capacity(a.len().min(b.len()));
        for (a, b) in a.iter().zip(b) {
            out.push(self.xor(a, b)?);
        }
        Ok(out)
    }

    fn and_many(
        &mut self,
        a: &[Self::Wire],
        b: &[Self::Wire],
    ) -> Result<Vec<Self::Wire>, G::Error> {
        let count = a.len().min(b.len());
        let (mut left, mut right) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (a, b) in a.iter().zip(b) {
            if let (Wire(a), Wire(b)) = (a, b) {
                left.push(a.clone());
                right.push(b.clone());
            }
        }
        let mut products = match left.len() {
            0 => Vec::new(),
            _ => self.0.and_many(&left, &right)?,
        }
        .into_iter();
        if left.len() == count {
            return Ok(products.map(Wire).collect());
        }
        let mut out = Vec::with_capacity(count);
        out.extend(a.iter().zip(b).filter_map(|(a, b)| match (a, b) {
            (Wire(_), Wire(_)) => products.next().map(Wire),
            _ => Some(known_and(a, b)),
        }));
        Ok(out)
    }

    fn and_groups(
        &mut self,
        selects: &[Self::Wire],
        bits: &[Self::Wire],
    ) -> Result<Vec<Self::Wire>, G::Error> {
        if let (Some(selects), Some(bits)) = (wires(selects), wires(bits)) {
            return Ok(self.0.and_groups(&selects, &bits)?.into_iter().map(Wire).collect());
        }
        let mut out = Vec::with_capacity(bits.len());
        for (select, run) in runs(selects, bits) {
            let left: Vec<G::Wire> = run.iter().filter_map(Folded::wire).collect();
            let mut products = match select.wire() {
                Some(select) if !left.is_empty() => self.0.and_groups(&[select], &left)?,
                _ => Vec::new(),
            }
            .into_iter();
            out.extend(run.iter().filter_map(|bit| match (select, bit) {
                (Wire(_), Wire(_)) => products.next().map(Wire),
                _ => Some(known_and(select, bit)),
            }));
        }
        Ok(out)
    }

    fn mux_many(
        &mut self,
        select: &Self::Wire,
        on_true: &[Self::Wire],
        on_false: &[Self::Wire],
    ) -> Result<Vec<Self::Wire>, G::Error> {
        let count = on_true.len().min(on_false.len());
        let select_wire = match select {
            Known(true) => return Ok(on_true[..count].to_vec()),
            Known(false) => return Ok(on_false[..count].to_vec()),
            Wire(wire) => wire,
        };
        let (mut left, mut right) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (a, b) in on_true.iter().zip(on_false) {
            if let (Wire(a), Wire(b)) = (a, b) {
                left.push(a.clone());
                right.push(b.clone());
            }
        }
        let mut chosen = match left.len() {
            0 => Vec::new(),
            _ => self.0.mux_many(select_wire, &left, &right)?,
        }
        .into_iter();
        let mut out = Vec::with_capacity(count);
        for (a, b) in on_true.iter().zip(on_false) {
            out.push(match (a, b) {
                (Wire(_), Wire(_)) => match chosen.next() {
                    Some(wire) => Wire(wire),
                    None => break,
                },
                _ => self.mux_known(select, a, b)?,
            });
        }
        Ok(out)
    }
}

impl<G: Gates + ?Sized> Folding<'_, G> {
    /// `if select { a } else { b }` where `a` or `b` is known.
    fn mux_known(
        &mut self,
        select: &Folded<G::Wire>,
        a: &Folded<G::Wire>,
        b: &Folded<G::Wire>,
    ) -> Result<Folded<G::Wire>, G::Error> {
        let difference = self.xor(a, b)?;
        let chosen = self.and(select, &difference)?;
        self.xor(&chosen, b)
    }
}

/// The wires of bits of which none is known.
fn wires<W: Clone>(bits: &[Folded<W>]) -> Option<Vec<W>> {
    let mut wires = Vec::with_capacity(bits.len());
    for bit in bits {
        wires.push(bit.wire()?);
    }
    Some(wires)
}

/// An AND of which at least one operand is known.
fn known_and<W: Clone>(a: &Folded<W>, b: &Folded<W>) -> Folded<W> {
    match (a, b) {
        (Known(true), other) | (other, Known(true)) => other.clone(),
        _ => Known(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clear::Clear;
    use crate::count::{Counter, Depth};

    #[test]
    fn computes_what_the_machine_below_computes() {
        let values = [Known(false), Known(true), Wire(false), Wire(true)];
        let clear = |wire: &Folded<bool>| match wire {
            Known(bit) | Wire(bit) => *bit,
        };
        let mut clear_machine = Clear;
        let mut g = Folding::new(&mut clear_machine);
        for a in &values {
            assert_eq!(clear(&g.not(a).unwrap()), !clear(a));
            assert_eq!(g.unfold(*a).unwrap(), clear(a));
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
        let mut counter = Counter::new();
        let mut g = Folding::new(&mut counter);
        let x = Wire(Depth(0));
        for constant in [Known(false), Known(true)] {
            g.and(&x, &constant).unwrap();
            g.and_many(&[x, constant], &[constant, constant]).unwrap();
            g.mux_many(&constant, &[x], &[constant]).unwrap();
        }
        g.xor(&x, &Known(false)).unwrap();
        assert_eq!((g.0.counts().and, g.0.counts().xor), (0, 0));
        g.and_many(&[x, x, x], &[x, Known(true), x]).unwrap();
        assert_eq!((g.0.counts().and, g.0.counts().and_batches), (2, 1));
    }
}
