//! The one trait every program and gadget is written against.

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
    /// What may go wrong while executing a gate.
    type Error;

    /// A wire that carries the public `bit`.
    fn constant(&mut self, bit: bool) -> Result<Self::Wire, Self::Error>;

    /// Exclusive or.
    fn xor(&mut self, a: &Self::Wire, b: &Self::Wire) -> Result<Self::Wire, Self::Error>;

    /// Negation.
    fn not(&mut self, a: &Self::Wire) -> Result<Self::Wire, Self::Error>;

    /// Conjunction: the only gate that costs communication.
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

    /// `if select { on_true[i] } else { on_false[i] }` for every `i`, one AND per bit.
    fn mux_many(
        &mut self,
        select: &Self::Wire,
        on_true: &[Self::Wire],
        on_false: &[Self::Wire],
    ) -> Result<Vec<Self::Wire>, Self::Error> {
        let difference = self.xor_many(on_true, on_false)?;
        let selects = vec![select.clone(); difference.len()];
        let chosen = self.and_many(&selects, &difference)?;
        self.xor_many(&chosen, on_false)
    }
}
