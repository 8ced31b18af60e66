//! The one trait every program and gadget is written against.

use crate::tape::{Operand, Tape};

/// A machine that can execute Boolean gates one after the other.
///
/// Gadgets and circuit files are generic over this trait; the clear evaluator, the gate counter
/// and every protocol backend implement it (design: the Party API, POOL figure 3). Operations are
/// fallible because a protocol backend may have to talk to its peer at any gate.
///
/// The batched forms take slices of equal length and treat position `i` of each as one gate; the
/// gates of one batch are independent, so that a backend may run them side by side.
pub trait Gates {
    /// A handle on one bit. Cloning is cheap; dropping the last clone frees its storage.
    type Wire: Clone;
    /// The error that executing a gate may give.
    type Error;

    /// A wire that carries the public `bit`.
    fn constant(&mut self, bit: bool) -> Result<Self::Wire, Self::Error>;

    /// XOR.
    fn xor(&mut self, a: &Self::Wire, b: &Self::Wire) -> Result<Self::Wire, Self::Error>;

    /// Negation.
    fn not(&mut self, a: &Self::Wire) -> Result<Self::Wire, Self::Error>;

    /// AND: the only gate that costs communication.
    fn and(&mut self, a: &Self::Wire, b: &Self::Wire) -> Result<Self::Wire, Self::Error>;

    /// `a[i] xor b[i]` for every `i`; stops at the shorter slice.
    fn xor_many(
        &mut self,
        a: &[Self::Wire],
        b: &[Self::Wire],
    ) -> Result<Vec<Self::Wire>, Self::Error> {
        a.iter().zip(b).map(|(a, b)| self.xor(a, b)).collect()
    }

    /// `a[i] and b[i]` for every `i`; stops at the shorter slice.
    fn and_many(
        &mut self,
        a: &[Self::Wire],
        b: &[Self::Wire],
    ) -> Result<Vec<Self::Wire>, Self::Error> {
        a.iter().zip(b).map(|(a, b)| self.and(a, b)).collect()
    }

    /// `selects[i] and x` for every `x` of the i-th run of `bits`, which consists of `selects.len()` runs
    /// of equal length: ANDs that share an operand, which some backends do better than others.
    ///
    /// # Panics
    ///
    /// When `bits` is no whole number of runs.
    fn and_groups(
        &mut self,
        selects: &[Self::Wire],
        bits: &[Self::Wire],
    ) -> Result<Vec<Self::Wire>, Self::Error> {
        let mut repeated = Vec::with_capacity(bits.len());
        let runs = runs(selects, bits);
        runs.for_each(|(select, run)| repeated.resize(repeated.len() + run.len(), select.clone()));
        self.and_many(&repeated, bits)
    }

    /// `if select { on_true[i] } else { on_false[i] }` for every `i`, one AND per bit.
    fn mux_many(
        &mut self,
        select: &Self::Wire,
        on_true: &[Self::Wire],
        on_false: &[Self::Wire],
    ) -> Result<Vec<Self::Wire>, Self::Error> {
        let difference = self.xor_many(on_true, on_false)?;
        let chosen = self.and_groups(std::slice::from_ref(select), &difference)?;
        self.xor_many(&chosen, on_false)
    }

    /// Plays a tape on `lanes` lanes, and appends to each of `out` its word, that of one lane after the other. A machine with arrays does so on all lanes at once; the
    /// ANDs are in the same order at both parties of a backend, so that whoever stands in front of one hands tapes on whole.
    fn play(
        &mut self,
        tape: &Tape,
        lanes: usize,
        operands: &[Operand<'_, Self::Wire>],
        out: &mut [Vec<Self::Wire>],
    ) -> Result<(), Self::Error> {
        tape.by_gates(self, [lanes, tape.lanes_together()], operands, out)
    }

    /// Plays a tape on words of `wires`, and puts each word of its outputs where the operand of its number was. Operand i has as many wires as word i of the
    /// outputs; `starts` has for each where the words of all lanes begin, of which none overlap.
    ///
    /// # Panics
    ///
    /// When inputs and outputs differ in number, or operands in lanes.
    fn play_in_place(
        &mut self,
        tape: &Tape,
        wires: &mut [Self::Wire],
        starts: &[&[u32]],
    ) -> Result<(), Self::Error> {
        let lanes = starts.first().map_or(0, |starts| starts.len());
        let moved = tape.play(self, lanes, &tape.operands_in_place(wires, starts))?;
        for ((starts, slots), moved) in starts.iter().zip(tape.words()).zip(moved) {
            let mut moved = moved.into_iter();
            for start in *starts {
                let word = &mut wires[*start as usize..][..slots.len()];
                word.iter_mut().zip(moved.by_ref()).for_each(|(old, new)| *old = new);
            }
        }
        Ok(())
    }
}

/// The operations of [`Gates`] for a machine that hands each of them to the one that `$inner` gives: what an
/// implementation holds beside its two types. Batches stay whole.
#[macro_export]
macro_rules! delegate {
    ($self:ident => $inner:expr) => {
        fn constant(&mut $self, bit: bool) -> Result<Self::Wire, Self::Error> {
            $inner.constant(bit)
        }
        fn xor(&mut $self, a: &Self::Wire, b: &Self::Wire) -> Result<Self::Wire, Self::Error> {
            $inner.xor(a, b)
        }
        fn not(&mut $self, a: &Self::Wire) -> Result<Self::Wire, Self::Error> {
            $inner.not(a)
        }
        fn and(&mut $self, a: &Self::Wire, b: &Self::Wire) -> Result<Self::Wire, Self::Error> {
            $inner.and(a, b)
        }
        fn xor_many(
            &mut $self,
            a: &[Self::Wire],
            b: &[Self::Wire],
        ) -> Result<Vec<Self::Wire>, Self::Error> {
            $inner.xor_many(a, b)
        }
        fn and_many(
            &mut $self,
            a: &[Self::Wire],
            b: &[Self::Wire],
        ) -> Result<Vec<Self::Wire>, Self::Error> {
            $inner.and_many(a, b)
        }
        fn and_groups(
            &mut $self,
            selects: &[Self::Wire],
            bits: &[Self::Wire],
        ) -> Result<Vec<Self::Wire>, Self::Error> {
            $inner.and_groups(selects, bits)
        }
        fn mux_many(
            &mut $self,
            select: &Self::Wire,
            on_true: &[Self::Wire],
            on_false: &[Self::Wire],
        ) -> Result<Vec<Self::Wire>, Self::Error> {
            $inner.mux_many(select, on_true, on_false)
        }
        fn play(
            &mut $self,
            tape: &$crate::Tape,
            lanes: usize,
            operands: &[$crate::Operand<'_, Self::Wire>],
            out: &mut [Vec<Self::Wire>],
        ) -> Result<(), Self::Error> {
            $inner.play(tape, lanes, operands, out)
        }
        fn play_in_place(
            &mut $self,
            tape: &$crate::Tape,
            wires: &mut [Self::Wire],
            starts: &[&[u32]],
        ) -> Result<(), Self::Error> {
            $inner.play_in_place(tape, wires, starts)
        }
    };
}

impl<G: Gates + ?Sized> Gates for &mut G {
    type Wire = G::Wire;
    type Error = G::Error;
    crate::delegate!(self => (**self));
}

/// The operands of [`Gates::and_groups`] run by run.
///
/// # Panics
///
/// When `bits` is no whole number of runs.
pub fn runs<'w, W>(selects: &'w [W], bits: &'w [W]) -> impl Iterator<Item = (&'w W, &'w [W])> {
    let length = bits.len().checked_div(selects.len()).unwrap_or(0);
    assert_eq!(length * selects.len(), bits.len(), "runs of different lengths");
    selects.iter().zip(bits.chunks(length.max(1)))
}
