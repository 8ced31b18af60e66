//! Who sees what leaves, before it leaves.

use std::collections::BTreeMap;
use std::ops::Range;

/// Sees the items of all pools and stocks of one side of a session before they leave.
///
/// The items of a store are numbered from 0 in the order in which they leave it, and no number comes
/// twice. A journal on disk makes the end of the range safe before it returns, and starts behind it
/// after a crash. Nothing else needs to be synchronous.
pub trait Journal: Send {
    /// Notes that the items of `store` with these numbers leave it.
    ///
    /// # Errors
    /// [`Refused`]; then none of them leaves.
    fn reserve(&mut self, store: &str, items: Range<u64>) -> Result<(), Refused>;

    /// Items of `store` that have left, which is the number of the next one.
    fn consumed(&self, store: &str) -> u64;
}

/// A journal did not take note of items, so that they must not leave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the journal lets nothing leave {store}: {reason}")]
pub struct Refused {
    /// The pool or stock.
    pub store: String,
    /// Why not.
    pub reason: String,
}

/// The journal of a session whose items do not outlive its process.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    consumed: BTreeMap<String, u64>,
}

impl Journal for MemoryJournal {
    fn reserve(&mut self, store: &str, items: Range<u64>) -> Result<(), Refused> {
        let next = self.consumed(store);
        if items.start != next || items.end < next {
            let reason = format!("items {items:?} do not follow the {next} that have left");
            return Err(Refused { store: store.into(), reason });
        }
        match self.consumed.get_mut(store) {
            Some(consumed) => *consumed = items.end,
            None => drop(self.consumed.insert(store.into(), items.end)),
        }
        Ok(())
    }

    fn consumed(&self, store: &str) -> u64 {
        self.consumed.get(store).copied().unwrap_or(0)
    }
}
