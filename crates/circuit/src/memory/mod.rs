//! Random access memory: rows of one width, read and written at secret places.
//!
//! [`Ram`] is the one interface: a memory that the cheapest of [`Plan`]s keeps, as [`Rows`] that every access goes over or as
//! Circuit ORAM, flat or recursive (docs/protocols/ram.md).

mod evict;
mod nest;
mod plan;
mod ram;
mod rows;
#[cfg(test)]
mod tests;
mod tree;

use crate::count::{Counter, Depth};
use crate::gates::Gates;
pub use plan::{Kind, Layout, MAX_BLOCKS, MAX_EPSILON, Needs, Plan, Price, TreeShape};
pub use ram::Ram;
pub use rows::{Access, Rows};

/// A machine that can also open bits to both parties, and toss bits that nobody knows.
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
}

/// Counts an access: leaves that are opened are those of the first path.
impl Reactive for Counter {
    fn open(&mut self, wires: &[Depth]) -> Result<Vec<bool>, Self::Error> {
        Ok(vec![false; wires.len()])
    }

    fn toss(&mut self, bits: usize) -> Result<Vec<Depth>, Self::Error> {
        Ok(vec![Depth::default(); bits])
    }

    fn broken(&mut self, why: Broken) -> Self::Error {
        unreachable!("a counter opens no flag, and counts no more than there may be: {why:?}")
    }
}
