//! A look at what the garbler knows and a hand in what it stores, for tests.

use super::{HashSender, Keep, Message, Supply};
use crate::backends::jimu::store::{Location, flip_in_pool};

impl Supply {
    /// Flips one bit of the item in `slot` of a full pool, counted modulo those of the location. In
    /// compact storage: of its number.
    pub(in crate::backends::jimu) fn flip(
        &mut self,
        at: usize,
        slot: usize,
        location: Location,
        bit: usize,
    ) {
        let journal = &mut self.shelves.journal();
        match self.pools[at].pool.as_mut().expect("the pool is full") {
            Keep::Stored(pool) => {
                flip_in_pool(pool, journal, slot, |item| item.flipped(location, bit));
            }
            Keep::Compact(pool) => {
                flip_in_pool(pool, journal, slot, |number| number ^ 1 << (bit % 64));
            }
        }
    }

    /// The messages of the wires from `start` on.
    pub(in crate::backends::jimu) fn messages(&self, start: u64, count: usize) -> Vec<Message> {
        let mut messages = Vec::new();
        self.hash.again(&[start], count, &mut messages);
        messages
    }
}
