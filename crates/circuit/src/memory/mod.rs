//! Random access memory: rows of one width, read and written at secret places.
//!
//! [`Ram`] is the one interface: a memory that the cheapest of [`Plan`]s keeps, as [`Rows`] that every access goes over, as
//! square-root ORAM or as Circuit ORAM, both flat or recursive (docs/protocols/ram.md).

mod evict;
mod in_hand;
mod nest;
mod plan;
mod ram;
mod resting;
mod root;
mod rows;
mod state;
#[cfg(test)]
mod tests;
mod tree;
mod waksman;

use cenote_prim::Role;
use zeroize::Zeroizing;

use crate::count::{Counter, Depth};
use crate::gates::Gates;
pub use plan::{
    Kind, Layout, LevelShape, MAX_BLOCKS, MAX_EPSILON, Needs, Plan, Price, Start, TreeShape,
};
pub use ram::{PutAway, Ram};
pub use resting::Resting;
pub use rows::{Access, Rows};

/// What a party draws, from uniform words of its own generator.
pub type Draw<'d> = dyn Fn(&mut dyn FnMut() -> u64) -> Zeroizing<Vec<bool>> + 'd;

/// A machine that can also open bits to both parties, toss bits that nobody knows, and take bits that one party draws.
pub trait Reactive: Gates {
    /// Opens wires to both parties, after all checks.
    ///
    /// # Errors
    /// Those of the machine.
    fn open(&mut self, wires: &[Self::Wire]) -> Result<Vec<bool>, Self::Error>;

    /// Wires of bits that are uniform and independent of all else whatever one of the parties does, and that neither knows.
    ///
    /// # Errors
    /// Those of the machine.
    fn toss(&mut self, bits: usize) -> Result<Vec<Self::Wire>, Self::Error>;

    /// Wires of as many bits as `owner` draws, which it alone knows. A party that cheats enters what it likes.
    ///
    /// # Errors
    /// Those of the machine.
    fn own_inputs(
        &mut self,
        owner: Role,
        bits: usize,
        draw: &Draw<'_>,
    ) -> Result<Vec<Self::Wire>, Self::Error>;

    /// Whether it packs wires that rest. It may wait for its peer when they wake, so that few are laid to rest: [`Needs::most_awake`].
    fn packs(&self) -> bool {
        false
    }

    /// Lets wires rest that no gate reads for a while. It comes right after an opening, or after other wires that were laid to rest, with no gate,
    /// toss or input in between; so a machine may rely on it that these wires were there when all checks ran.
    ///
    /// # Errors
    /// Those of the machine.
    fn rest(&mut self, wires: Vec<Self::Wire>) -> Result<Resting<Self::Wire>, Self::Error> {
        Ok(Resting::Wires(wires))
    }

    /// The wires of cells that rest, in their order: all that are needed at a time, in one call, because a machine may have to wait for its peer.
    ///
    /// # Errors
    /// Those of the machine; [`Broken::Unlike`] for cells that another one packed.
    fn wake(
        &mut self,
        cells: Vec<Resting<Self::Wire>>,
    ) -> Result<Vec<Vec<Self::Wire>>, Self::Error> {
        let wires: Option<Vec<_>> = cells.into_iter().map(Resting::into_wires).collect();
        wires.ok_or_else(|| self.broken(Broken::Unlike))
    }

    /// The error of a memory that cannot go on.
    fn broken(&mut self, why: Broken) -> Self::Error;
}

impl<R: Reactive + ?Sized> Reactive for &mut R {
    fn open(&mut self, wires: &[Self::Wire]) -> Result<Vec<bool>, Self::Error> {
        (**self).open(wires)
    }

    fn toss(&mut self, bits: usize) -> Result<Vec<Self::Wire>, Self::Error> {
        (**self).toss(bits)
    }

    fn own_inputs(
        &mut self,
        owner: Role,
        bits: usize,
        draw: &Draw<'_>,
    ) -> Result<Vec<Self::Wire>, Self::Error> {
        (**self).own_inputs(owner, bits, draw)
    }

    fn packs(&self) -> bool {
        (**self).packs()
    }

    fn rest(&mut self, wires: Vec<Self::Wire>) -> Result<Resting<Self::Wire>, Self::Error> {
        (**self).rest(wires)
    }

    fn wake(
        &mut self,
        cells: Vec<Resting<Self::Wire>>,
    ) -> Result<Vec<Vec<Self::Wire>>, Self::Error> {
        (**self).wake(cells)
    }

    fn broken(&mut self, why: Broken) -> Self::Error {
        (**self).broken(why)
    }
}

/// Why a memory cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The stash of a tree overflowed, which happens with the probability that [`Needs::epsilon`] bounds.
    Overflow,
    /// It had all the accesses that its stashes were made for.
    Spent,
    /// A place was opened that is none, or was opened before: no peer that the backend holds to its part comes to this.
    Misplaced,
    /// What was put away is none of this plan, or of this machine.
    Unlike,
}

/// Counts an access: leaves that are opened are those of the first path.
impl Reactive for Counter {
    fn open(&mut self, wires: &[Depth]) -> Result<Vec<bool>, Self::Error> {
        Ok(vec![false; wires.len()])
    }

    fn toss(&mut self, bits: usize) -> Result<Vec<Depth>, Self::Error> {
        Ok(vec![Depth::default(); bits])
    }

    fn own_inputs(
        &mut self,
        _: Role,
        bits: usize,
        _: &Draw<'_>,
    ) -> Result<Vec<Depth>, Self::Error> {
        Ok(vec![Depth::default(); bits])
    }

    fn broken(&mut self, why: Broken) -> Self::Error {
        unreachable!("a counter opens no flag, and counts no more than there may be: {why:?}")
    }
}
