//! The data that the garbler keeps of a pool: of each item the number of its first wire. All else
//! comes from the seeds again.

use cenote_net::Fault;
use cenote_pool::{Draws, Pool};

use crate::backends::jimu::batch::{Levels, defect};
use crate::backends::jimu::store::{Sealer, Stored};

/// A full pool.
pub(super) enum Keep {
    /// Numbers with seals.
    Stored(Pool<Stored>),
    /// Numbers alone, half as large (`compact.rs`).
    Compact(Pool<u64>),
}

impl Keep {
    /// A pool of `numbers`; `sealer` is none in compact storage.
    pub(super) fn full(
        sealer: Option<&Sealer>,
        capacity: usize,
        numbers: Vec<u64>,
    ) -> Result<Keep, Fault> {
        Ok(match sealer {
            Some(sealer) => {
                Keep::Stored(Pool::full(capacity, seal(sealer, &numbers)).map_err(defect)?)
            }
            None => Keep::Compact(Pool::full(capacity, numbers).map_err(defect)?),
        })
    }

    /// The items in compact storage, slot after slot.
    pub(super) fn compact(&self) -> Option<&[u64]> {
        match self {
            Keep::Stored(_) => None,
            Keep::Compact(pool) => Some(pool.items()),
        }
    }

    /// Exchanges fresh items for drawn ones.
    pub(super) fn exchange(
        &mut self,
        sealer: &Sealer,
        draws: &Draws,
        numbers: &mut [u64],
    ) -> Result<(), Fault> {
        match self {
            Keep::Stored(pool) => {
                let mut items = seal(sealer, numbers);
                pool.exchange(draws, &mut items).map_err(defect)?;
                for (number, item) in numbers.iter_mut().zip(items) {
                    *number = sealer.open(item, &[])?;
                }
                Ok(())
            }
            Keep::Compact(pool) => pool.exchange(draws, numbers).map_err(defect),
        }
    }

    /// Counters of the pool.
    pub(super) fn levels(&self) -> Levels {
        match self {
            Keep::Stored(pool) => Levels::of(pool),
            Keep::Compact(pool) => Levels::of(pool),
        }
    }

    /// Bytes kept of the items.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Keep::Stored(pool) => size_of_val(pool.items()),
            Keep::Compact(pool) => size_of_val(pool.items()),
        }
    }
}

fn seal(sealer: &Sealer, numbers: &[u64]) -> Vec<Stored> {
    numbers.iter().map(|&number| sealer.seal(number, &[])).collect()
}
