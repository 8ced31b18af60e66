//! Who takes note of what leaves the stocks of a session: on disk first, where something is kept (`keeper.rs`), then the session's journal.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytemuck::{cast_slice, cast_slice_mut};
use cenote_net::Fault;
use cenote_pool::{Journal, MemoryJournal, Refused, Stock};
use cenote_prim::{Block, Secret};

use super::keeper::{Keeper, storage};
use crate::session::{late_journal, store_fault};

/// The notes of one session.
pub(crate) struct Notes {
    pub(crate) keeper: Option<Arc<Mutex<Keeper>>>,
    pub(crate) journal: Box<dyn Journal>,
    /// Something has left in this session.
    taken: bool,
}

impl Default for Notes {
    fn default() -> Notes {
        Notes { keeper: None, journal: Box::<MemoryJournal>::default(), taken: false }
    }
}

impl Notes {
    /// Whether items are kept for later sessions.
    pub(crate) fn are_kept(&self) -> bool {
        self.keeper.is_some()
    }

    /// Another journal, which hears first what of `stocks` had left before.
    ///
    /// # Errors
    /// `Misuse` when something has left; `Storage`.
    pub(crate) fn replace<'s>(
        &mut self,
        mut journal: Box<dyn Journal>,
        stocks: impl IntoIterator<Item = &'s Stock>,
    ) -> Result<(), Fault> {
        if self.taken {
            return Err(late_journal());
        }
        for stock in stocks {
            stock.tell(&mut *journal).map_err(store_fault)?;
        }
        self.journal = journal;
        Ok(())
    }

    /// Puts into `stock` what `keeper` kept of it, but for what may have left.
    ///
    /// # Errors
    /// `Storage`.
    pub(crate) fn put_back(&mut self, keeper: &Keeper, stock: &mut Stock) -> Result<(), Fault> {
        let (bytes, noted) = (keeper.part(stock.name())?, keeper.noted(stock.name()));
        let (number, items) = bytes.split_at_checked(8).unwrap_or_default();
        let first = number.try_into().map_or(noted, u64::from_le_bytes);
        let each = size_of::<Block>() * stock.stride();
        if !items.len().is_multiple_of(each) {
            return Err(Fault::Storage(format!("{}: items of another size", stock.name())));
        }
        // Those below `noted` may have left.
        let burnt = usize::try_from(noted.saturating_sub(first)).unwrap_or(usize::MAX);
        let left = items.get(burnt.saturating_mul(each)..).unwrap_or_default();
        cast_slice_mut(stock.room(left.len() / each)).copy_from_slice(left);
        stock.renumber(&mut *self.journal, first.max(noted)).map_err(store_fault)
    }

    /// Numbers that are no items, and are never given again under what is kept, if anything is.
    ///
    /// # Errors
    /// `Storage`.
    pub(crate) fn number(&mut self, what: &str, numbers: Range<u64>) -> Result<(), Fault> {
        let Some(keeper) = &self.keeper else { return Ok(()) };
        locked(keeper).note(what, numbers.end).map_err(storage)?;
        self.journal.reserve(what, numbers).map_err(|refused| Fault::Storage(refused.to_string()))
    }
}

impl Journal for Notes {
    fn reserve(&mut self, store: &str, items: Range<u64>) -> Result<(), Refused> {
        if let Some(keeper) = &self.keeper {
            let noted = locked(keeper).note(store, items.end);
            noted.map_err(|why| Refused { store: store.into(), reason: why.to_string() })?;
        }
        self.taken = true;
        self.journal.reserve(store, items)
    }

    fn consumed(&self, store: &str) -> u64 {
        self.journal.consumed(store)
    }
}

/// The keeper, whoever had it.
pub(crate) fn locked(keeper: &Mutex<Keeper>) -> MutexGuard<'_, Keeper> {
    // A note is whole on disk or it is not; a save that panicked was not taken.
    keeper.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is ready in a stock, with the number of the first item: [`Notes::put_back`] reads it.
pub(crate) fn kept(stock: &Stock) -> Secret<Vec<u8>> {
    let blocks = stock.peek(stock.level());
    let mut bytes = Secret::with_capacity(8 + size_of_val(blocks));
    bytes.extend_from_slice(&stock.numbers().start.to_le_bytes());
    bytes.extend_from_slice(cast_slice(blocks));
    bytes
}

/// The fault of a session that keeps nothing.
pub(crate) fn unkept() -> Fault {
    Fault::Misuse("the session was opened without a store".into())
}
