//! Finished items, formed ahead of requests and handed out in order.

use std::collections::VecDeque;
use std::fmt;

use zeroize::Zeroize;

use super::StoreError;

/// A queue of finished items, such as buckets combined into triples.
///
/// Buckets do not depend on the function, so requests start from here at once. Order matters only
/// in that both parties keep the same one. How much to keep ready is the refilling side's choice.
pub struct Stock<T: Copy + Zeroize> {
    items: VecDeque<T>,
    consumed: u64,
}

impl<T: Copy + Zeroize> Stock<T> {
    /// An empty stock.
    pub fn new() -> Self {
        Self { items: VecDeque::new(), consumed: 0 }
    }

    /// Appends `items`.
    pub fn push(&mut self, items: &[T]) {
        self.extend(items.iter().copied());
    }

    /// Appends what `items` yields, without an array in between.
    pub fn extend(&mut self, items: impl ExactSizeIterator<Item = T>) {
        let needed = self.items.len() + items.len();
        if needed > self.items.capacity() {
            // Growing in place would leave a copy of the items in freed memory.
            let mut larger = VecDeque::with_capacity(needed.next_power_of_two());
            larger.extend(&self.items);
            self.wipe();
            self.items = larger;
        }
        self.items.extend(items);
    }

    /// Takes the oldest `count` items out for one request. *Reserving burns*: whatever the lease
    /// does not use is wiped with it and never comes back.
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

    /// Items reserved so far.
    pub fn consumed(&self) -> u64 {
        self.consumed
    }

    fn wipe(&mut self) {
        self.items.iter_mut().for_each(Zeroize::zeroize);
    }
}

impl<T: Copy + Zeroize> Default for Stock<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy + Zeroize> Drop for Stock<T> {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl<T: Copy + Zeroize> fmt::Debug for Stock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stock({} items, {} consumed)", self.level(), self.consumed)
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

    /// All items not handed out yet.
    pub fn rest(&mut self) -> &[T] {
        let first = self.used;
        self.used = self.items.len();
        &self.items[first..]
    }

    /// Number of items not handed out yet.
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
