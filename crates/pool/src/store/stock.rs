//! Finished items, formed ahead of requests and handed out in order.

use std::collections::VecDeque;
use std::fmt;

use zeroize::Zeroize;

use super::StoreError;

/// A queue of finished items (buckets combined into triples) with a fixed room.
///
/// Buckets do not depend on the function, so requests start from here at once. Order matters only in that both parties
/// keep the same one.
pub struct Stock<T: Copy + Zeroize> {
    items: VecDeque<T>,
    room: usize,
    consumed: u64,
}

impl<T: Copy + Zeroize> Stock<T> {
    /// An empty stock for at most `room` items. The memory is taken once: items never move, so no copy of one is left
    /// behind.
    pub fn new(room: usize) -> Self {
        Self { items: VecDeque::with_capacity(room), room, consumed: 0 }
    }

    /// Appends `items`.
    ///
    /// # Errors
    /// [`StoreError::Overfull`]; then none was taken.
    pub fn push(&mut self, items: &[T]) -> Result<(), StoreError> {
        if items.len() > self.free() {
            return Err(StoreError::Overfull { room: self.free(), pushed: items.len() });
        }
        self.items.extend(items);
        Ok(())
    }

    /// Takes the oldest `count` items out for one request. *Reserving burns*: whatever the lease does not use is wiped
    /// with it and never comes back.
    ///
    /// # Errors
    /// [`StoreError::Exhausted`]; then none was taken.
    pub fn reserve(&mut self, count: usize) -> Result<Lease<T>, StoreError> {
        if count > self.items.len() {
            return Err(StoreError::Exhausted { asked: count, left: self.items.len() });
        }
        let mut items = Vec::with_capacity(count);
        for slot in self.items.iter_mut().take(count) {
            items.push(*slot);
            slot.zeroize();
        }
        self.items.drain(..count);
        self.consumed += count as u64;
        Ok(Lease { items, used: 0 })
    }

    /// Items ready.
    pub fn level(&self) -> usize {
        self.items.len()
    }

    /// Items that may still be pushed.
    pub fn free(&self) -> usize {
        self.room - self.items.len()
    }

    /// Items reserved so far.
    pub fn consumed(&self) -> u64 {
        self.consumed
    }
}

impl<T: Copy + Zeroize> Drop for Stock<T> {
    fn drop(&mut self) {
        self.items.iter_mut().for_each(Zeroize::zeroize);
    }
}

impl<T: Copy + Zeroize> fmt::Debug for Stock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stock({} of {} items, {} consumed)", self.level(), self.room, self.consumed)
    }
}

/// Items reserved for one request, each handed out once, wiped at the end.
#[must_use = "the items of a dropped lease are lost"]
pub struct Lease<T: Copy + Zeroize> {
    items: Vec<T>,
    used: usize,
}

impl<T: Copy + Zeroize> Lease<T> {
    /// The next `count` items.
    ///
    /// # Errors
    /// [`StoreError::Exhausted`]; then none was handed out.
    pub fn take(&mut self, count: usize) -> Result<&[T], StoreError> {
        if count > self.left() {
            return Err(StoreError::Exhausted { asked: count, left: self.left() });
        }
        let first = self.used;
        self.used += count;
        Ok(&self.items[first..self.used])
    }

    /// Items not handed out yet.
    pub fn left(&self) -> usize {
        self.items.len() - self.used
    }
}

impl<T: Copy + Zeroize> Drop for Lease<T> {
    fn drop(&mut self) {
        self.items.zeroize();
    }
}

impl<T: Copy + Zeroize> fmt::Debug for Lease<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lease({} of {} items left)", self.left(), self.items.len())
    }
}
