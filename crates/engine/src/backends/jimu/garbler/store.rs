//! The data that the garbler keeps of a pool: of each item the number of its first wire. All else
//! comes from the seeds again.

use cenote_net::Fault;
use cenote_pool::{Draws, Journal, Level, Pool};

use crate::backends::jimu::garbled_core::Shape;
use crate::backends::jimu::store::{Sealer, Stored};
use crate::session::store_fault;

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
        shape: Shape,
        capacity: usize,
        numbers: Vec<u64>,
    ) -> Result<Keep, Fault> {
        let name = shape.pool_name();
        let full = match sealer {
            Some(sealer) => Pool::full(name, capacity, seal(sealer, &numbers)).map(Keep::Stored),
            None => Pool::full(name, capacity, numbers).map(Keep::Compact),
        };
        full.map_err(store_fault)
    }

    /// The items in compact storage, slot after slot.
    pub(super) fn compact(&self) -> Option<&[u64]> {
        match self {
            Keep::Stored(_) => None,
            Keep::Compact(pool) => Some(pool.items()),
        }
    }

    /// The items, slot after slot, after a look at their seals.
    pub(super) fn numbers(&self, sealer: &Sealer) -> Result<Vec<u64>, Fault> {
        match self {
            Keep::Stored(pool) => pool.items().iter().map(|item| sealer.open(*item, &[])).collect(),
            Keep::Compact(pool) => Ok(pool.items().to_vec()),
        }
    }

    /// Exchanges fresh items for drawn ones.
    pub(super) fn exchange(
        &mut self,
        journal: &mut dyn Journal,
        sealer: &Sealer,
        draws: &Draws,
        numbers: &mut [u64],
    ) -> Result<(), Fault> {
        match self {
            Keep::Stored(pool) => {
                let mut items = seal(sealer, numbers);
                pool.exchange(journal, draws, &mut items).map_err(store_fault)?;
                for (number, item) in numbers.iter_mut().zip(items) {
                    *number = sealer.open(item, &[])?;
                }
                Ok(())
            }
            Keep::Compact(pool) => pool.exchange(journal, draws, numbers).map_err(store_fault),
        }
    }

    /// Counters of the pool.
    pub(super) fn counters(&self, journal: &dyn Journal) -> Level {
        match self {
            Keep::Stored(pool) => pool.counters(journal),
            Keep::Compact(pool) => pool.counters(journal),
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
