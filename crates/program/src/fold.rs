//! Constants are folded while a program runs: no backend spends a gate on a public bit.

use cenote_circuit::{Gates, runs};

/// A wire, or a bit that both parties know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folded<W> {
    Known(bool),
    Wire(W),
}

impl<W: Clone> Folded<W> {
    /// The wire of a bit that is not known.
    pub(crate) fn wire(&self) -> Option<W> {
        match self {
            Folded::Known(_) => None,
            Folded::Wire(wire) => Some(wire.clone()),
        }
    }
}

/// Gates of a machine whose wires and errors have these types.
pub(crate) type DynGates<'g, W, E> = dyn Gates<Wire = W, Error = E> + 'g;

/// A machine that folds constants and hands the rest to another one.
pub(crate) struct Fold<'m, 'g, W, E>(pub(crate) &'m mut DynGates<'g, W, E>);

impl<W: Clone, E> Fold<'_, '_, W, E> {
    /// A constant becomes a wire of the machine: what follows costs the same whatever it is.
    pub(crate) fn wire(&mut self, bit: Folded<W>) -> Result<W, E> {
        match bit {
            Folded::Known(bit) => self.0.constant(bit),
            Folded::Wire(wire) => Ok(wire),
        }
    }
}

impl<W: Clone, E> Gates for Fold<'_, '_, W, E> {
    type Wire = Folded<W>;
    type Error = E;

    fn constant(&mut self, bit: bool) -> Result<Folded<W>, E> {
        Ok(Folded::Known(bit))
    }

    fn xor(&mut self, a: &Folded<W>, b: &Folded<W>) -> Result<Folded<W>, E> {
        match (a, b) {
            (Folded::Wire(a), Folded::Wire(b)) => self.0.xor(a, b).map(Folded::Wire),
            (Folded::Known(a), Folded::Known(b)) => Ok(Folded::Known(a ^ b)),
            (Folded::Known(false), wire) | (wire, Folded::Known(false)) => Ok(wire.clone()),
            (Folded::Known(true), wire) | (wire, Folded::Known(true)) => self.not(wire),
        }
    }

    fn not(&mut self, a: &Folded<W>) -> Result<Folded<W>, E> {
        match a {
            Folded::Wire(a) => self.0.not(a).map(Folded::Wire),
            Folded::Known(a) => Ok(Folded::Known(!a)),
        }
    }

    fn and(&mut self, a: &Folded<W>, b: &Folded<W>) -> Result<Folded<W>, E> {
        match (a, b) {
            (Folded::Wire(a), Folded::Wire(b)) => self.0.and(a, b).map(Folded::Wire),
            _ => Ok(known_and(a, b)),
        }
    }

    fn xor_many(&mut self, a: &[Folded<W>], b: &[Folded<W>]) -> Result<Vec<Folded<W>>, E> {
        let wires = |bits: &[Folded<W>]| bits.iter().map(Folded::wire).collect::<Option<Vec<W>>>();
        if let (Some(a), Some(b)) = (wires(a), wires(b)) {
            return Ok(self.0.xor_many(&a, &b)?.into_iter().map(Folded::Wire).collect());
        }
        a.iter().zip(b).map(|(a, b)| self.xor(a, b)).collect()
    }

    fn and_many(&mut self, a: &[Folded<W>], b: &[Folded<W>]) -> Result<Vec<Folded<W>>, E> {
        let count = a.len().min(b.len());
        let (mut left, mut right) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (a, b) in a.iter().zip(b) {
            if let (Folded::Wire(a), Folded::Wire(b)) = (a, b) {
                left.push(a.clone());
                right.push(b.clone());
            }
        }
        let mut products = match left.len() {
            0 => Vec::new(),
            _ => self.0.and_many(&left, &right)?,
        }
        .into_iter();
        let product = |(a, b): (&Folded<W>, &Folded<W>)| match (a, b) {
            (Folded::Wire(_), Folded::Wire(_)) => products.next().map(Folded::Wire),
            _ => Some(known_and(a, b)),
        };
        Ok(a.iter().zip(b).filter_map(product).collect())
    }

    fn and_groups(
        &mut self,
        selects: &[Folded<W>],
        bits: &[Folded<W>],
    ) -> Result<Vec<Folded<W>>, E> {
        let wires = |bits: &[Folded<W>]| bits.iter().map(Folded::wire).collect::<Option<Vec<W>>>();
        if let (Some(selects), Some(bits)) = (wires(selects), wires(bits)) {
            return Ok(self.0.and_groups(&selects, &bits)?.into_iter().map(Folded::Wire).collect());
        }
        let mut out = Vec::with_capacity(bits.len());
        for (select, run) in runs(selects, bits) {
            let left: Vec<W> = run.iter().filter_map(Folded::wire).collect();
            let mut products = match select.wire() {
                Some(select) if !left.is_empty() => self.0.and_groups(&[select], &left)?,
                _ => Vec::new(),
            }
            .into_iter();
            out.extend(run.iter().filter_map(|bit| match (select, bit) {
                (Folded::Wire(_), Folded::Wire(_)) => products.next().map(Folded::Wire),
                _ => Some(known_and(select, bit)),
            }));
        }
        Ok(out)
    }

    fn mux_many(
        &mut self,
        select: &Folded<W>,
        on_true: &[Folded<W>],
        on_false: &[Folded<W>],
    ) -> Result<Vec<Folded<W>>, E> {
        let count = on_true.len().min(on_false.len());
        let select_wire = match select {
            Folded::Known(true) => return Ok(on_true[..count].to_vec()),
            Folded::Known(false) => return Ok(on_false[..count].to_vec()),
            Folded::Wire(wire) => wire,
        };
        let (mut left, mut right) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (a, b) in on_true.iter().zip(on_false) {
            if let (Folded::Wire(a), Folded::Wire(b)) = (a, b) {
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
                (Folded::Wire(_), Folded::Wire(_)) => match chosen.next() {
                    Some(wire) => Folded::Wire(wire),
                    None => break,
                },
                _ => self.mux_known(select, a, b)?,
            });
        }
        Ok(out)
    }
}

impl<W: Clone, E> Fold<'_, '_, W, E> {
    /// `if select { a } else { b }` where `a` or `b` is known.
    fn mux_known(
        &mut self,
        select: &Folded<W>,
        a: &Folded<W>,
        b: &Folded<W>,
    ) -> Result<Folded<W>, E> {
        let difference = self.xor(a, b)?;
        let chosen = self.and(select, &difference)?;
        self.xor(&chosen, b)
    }
}

/// A conjunction of which at least one operand is known.
fn known_and<W: Clone>(a: &Folded<W>, b: &Folded<W>) -> Folded<W> {
    match (a, b) {
        (Folded::Known(true), other) | (other, Folded::Known(true)) => other.clone(),
        _ => Folded::Known(false),
    }
}
