//! Wires between two accesses.

use cenote_prim::Secret;

use super::{Broken, Reactive};

/// Wires that no gate reads for a while.
pub enum Resting<W> {
    /// As they are.
    Wires(Vec<W>),
    /// As the machine that they belong to packs them: it alone knows how.
    Packed {
        /// How many wires.
        wires: usize,
        /// What it has of them.
        bytes: Secret<Vec<u8>>,
    },
}

impl<W> Resting<W> {
    /// How many wires there are.
    #[must_use]
    pub const fn wires(&self) -> usize {
        match self {
            Resting::Wires(wires) => wires.len(),
            Resting::Packed { wires, .. } => *wires,
        }
    }

    /// The wires, unless they are packed.
    #[must_use]
    pub fn into_wires(self) -> Option<Vec<W>> {
        match self {
            Resting::Wires(wires) => Some(wires),
            Resting::Packed { .. } => None,
        }
    }
}

/// The wires of cells, all at once; for none of them the machine is not asked.
pub(super) fn wake<G: Reactive + ?Sized>(
    g: &mut G,
    cells: Vec<Resting<G::Wire>>,
) -> Result<Vec<Vec<G::Wire>>, G::Error> {
    if cells.is_empty() {
        return Ok(Vec::new());
    }
    let lengths: Vec<usize> = cells.iter().map(Resting::wires).collect();
    let awake = g.wake(cells)?;
    if awake.iter().map(Vec::len).eq(lengths) { Ok(awake) } else { Err(g.broken(Broken::Unlike)) }
}
