//! The hash of half gates: two MITCCRH keys a gate, four inputs at the garbler, two at the evaluator.

use cenote_prim::Block;
use cenote_prim::mitccrh::Mitccrh;
use zeroize::Zeroize;

/// Largest batch of gates hashed side by side.
pub(super) const BATCH: usize = 32;

/// A run of gates under MITCCRH. Key indices 2 g and 2 g + 1 belong to gate g of the run.
pub struct GateHash {
    hash: Mitccrh,
    /// Kept between calls: clearing it each time would cost as much as a single gate.
    room: Box<[Block; 4 * BATCH]>,
}

impl GateHash {
    /// A run with a start point that was fixed after the garbler's Delta.
    #[must_use]
    pub fn new(start: Block) -> GateHash {
        GateHash { hash: Mitccrh::new(start), room: Box::new([Block::ZERO; 4 * BATCH]) }
    }

    /// H(L_{a,0}), H(L_{a,1}), H(L_{b,0}), H(L_{b,1}) of each gate with inputs (L_{a,0}, L_{b,0}).
    ///
    /// # Panics
    /// If there are more than [`BATCH`] gates.
    #[inline(always)]
    pub fn both<'l>(
        &mut self,
        delta: Block,
        inputs: impl ExactSizeIterator<Item = (&'l Block, &'l Block)>,
    ) -> &[[Block; 4]] {
        let hashes = &mut self.room[..4 * inputs.len()];
        for (h, (&a, &b)) in hashes.as_chunks_mut::<4>().0.iter_mut().zip(inputs) {
            *h = [a, a ^ delta, b, b ^ delta];
        }
        self.hash.pairs(hashes);
        hashes.as_chunks::<4>().0
    }

    /// H(L_a), H(L_b) of each gate.
    ///
    /// # Panics
    /// If there are more than [`BATCH`] gates.
    #[inline(always)]
    pub fn active<'l>(
        &mut self,
        inputs: impl ExactSizeIterator<Item = (&'l Block, &'l Block)>,
    ) -> &[[Block; 2]] {
        let hashes = &mut self.room[..2 * inputs.len()];
        for (h, (a, b)) in hashes.as_chunks_mut::<2>().0.iter_mut().zip(inputs) {
            // One by one: a pair would go through memory in halves, for which a load of the whole has to wait.
            h[0] = *a;
            h[1] = *b;
        }
        self.hash.singles(hashes);
        hashes.as_chunks::<2>().0
    }
}

impl Drop for GateHash {
    fn drop(&mut self) {
        self.room.zeroize();
    }
}
