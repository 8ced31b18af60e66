//! Finished items, formed ahead of requests and handed out in order.

use std::fmt;
use std::ops::{Deref, Range};

use cenote_prim::Block;
use zeroize::Zeroize;

use super::{Journal, Level, StoreError};

/// A queue of finished items, such as buckets combined into triples: one flat array, `stride` blocks
/// an item.
///
/// Buckets do not depend on the function, so requests start from here at once. Order matters only
/// in that both parties keep the same one. How much to keep ready is the refilling side's choice.
pub struct Stock {
    name: String,
    stride: usize,
    /// Zero but for the items that are ready.
    blocks: Vec<Block>,
    /// Place in `blocks`, in items, of those that are ready.
    ready: Range<usize>,
    made: u64,
}

impl Stock {
    /// An empty stock of items of `stride` blocks. Journals and occupancy know it by `name`.
    ///
    /// # Panics
    /// If items have no blocks.
    pub fn new(name: impl Into<String>, stride: usize) -> Self {
        assert!(stride > 0, "items have blocks");
        Self { name: name.into(), stride, blocks: Vec::new(), ready: 0..0, made: 0 }
    }

    /// Makes `count` more items ready, which the caller then writes: their blocks, zero.
    pub fn room(&mut self, count: usize) -> &mut [Block] {
        self.make_room(count);
        let first = self.ready.end;
        self.ready.end += count;
        self.made += count as u64;
        let place = self.place(first, count);
        &mut self.blocks[place]
    }

    /// Sees to it that there is room for `count` more items, however they come: the items that are ready move
    /// once at most.
    pub fn make_room(&mut self, count: usize) {
        let more = (self.ready.end + count) * self.stride > self.blocks.len();
        if more && self.ready.start > 0 {
            self.move_to_front();
        }
        let needed = (self.ready.end + count) * self.stride;
        if needed > self.blocks.capacity() {
            // Growing in place would leave a copy of the items in freed memory.
            let mut larger = Vec::with_capacity(needed.next_power_of_two());
            cenote_prim::prefer_large_pages(&larger);
            larger.extend_from_slice(&self.blocks);
            // Not the capacity, of which the rest was never written.
            self.blocks[..].zeroize();
            self.blocks = larger;
        }
        if needed > self.blocks.len() {
            self.blocks.resize(needed, Block::ZERO);
        }
    }

    /// Takes address space for `count` items in all, of which nothing is used before they come: as long as there are
    /// no more, the array never moves.
    pub fn expect(&mut self, count: usize) {
        if self.blocks.is_empty() {
            self.blocks = Vec::with_capacity(count * self.stride);
            cenote_prim::prefer_large_pages(&self.blocks);
        }
    }

    fn move_to_front(&mut self) {
        let Range { start, end } = self.ready;
        let level = end - start;
        self.blocks.copy_within(start * self.stride..end * self.stride, 0);
        // Before `start` are zeros: leases have wiped what was there.
        self.blocks[start.max(level) * self.stride..end * self.stride].zeroize();
        self.ready = 0..level;
    }

    /// Takes the oldest `count` items out for one request, once `journal` has taken note of it.
    /// *Reserving burns*: whatever the lease holds is wiped with it, used or not.
    ///
    /// # Errors
    /// [`StoreError::Exhausted`], [`StoreError::Refused`]; then none was taken.
    pub fn reserve(
        &mut self,
        journal: &mut dyn Journal,
        count: usize,
    ) -> Result<Lease<'_>, StoreError> {
        let left = self.level();
        if count > left {
            return Err(StoreError::Exhausted { asked: count, left });
        }
        if count > 0 {
            let next = self.made - left as u64;
            journal.reserve(&self.name, next..next + count as u64)?;
        }
        let place = self.place(self.ready.start, count);
        self.ready.start += count;
        Ok(Lease { blocks: &mut self.blocks[place], stride: self.stride })
    }

    /// The blocks of the oldest `count` items, or of as many as there are. They stay.
    pub fn peek(&self, count: usize) -> &[Block] {
        &self.blocks[self.place(self.ready.start, count.min(self.level()))]
    }

    /// Numbers of the items that are ready.
    pub fn numbers(&self) -> Range<u64> {
        self.made - self.level() as u64..self.made
    }

    /// Tells a journal that comes late which numbers it has missed.
    ///
    /// # Errors
    /// [`StoreError::Refused`].
    pub fn tell(&self, journal: &mut dyn Journal) -> Result<(), StoreError> {
        let next = self.numbers().start;
        if next > 0 {
            journal.reserve(&self.name, 0..next)?;
        }
        Ok(())
    }

    /// Gives the items that are ready, and those that come, the numbers from `first` on: those that are left out count as having left.
    ///
    /// # Errors
    /// [`StoreError::Refused`] by `journal`, for a smaller number than before above all; then nothing has changed.
    pub fn renumber(&mut self, journal: &mut dyn Journal, first: u64) -> Result<(), StoreError> {
        let next = self.numbers().start;
        if first != next {
            journal.reserve(&self.name, next..first)?;
            self.made = first + self.level() as u64;
        }
        Ok(())
    }

    /// The name by which journals and occupancy know it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Blocks of an item.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Items ready.
    pub fn level(&self) -> usize {
        self.ready.len()
    }

    /// The counters, of which `journal` has the consumption.
    pub fn counters(&self, journal: &dyn Journal) -> Level {
        Level {
            name: self.name.clone(),
            level: self.level() as u64,
            capacity: None,
            made: self.made,
            consumed: journal.consumed(&self.name),
        }
    }

    fn place(&self, first: usize, count: usize) -> Range<usize> {
        first * self.stride..(first + count) * self.stride
    }
}

impl Drop for Stock {
    fn drop(&mut self) {
        self.blocks[..].zeroize();
    }
}

impl fmt::Debug for Stock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stock({}: {} items, {} made)", self.name, self.level(), self.made)
    }
}

/// The blocks of items reserved for one request, wiped at the end.
#[must_use = "the items of a dropped lease are lost"]
pub struct Lease<'s> {
    blocks: &'s mut [Block],
    stride: usize,
}

impl<'s> Lease<'s> {
    /// The items one by one.
    pub fn items(&self) -> impl ExactSizeIterator<Item = &[Block]> {
        self.blocks.chunks_exact(self.stride)
    }

    /// Splits off the first `count` items, if there are so many: they are wiped with what is returned, while
    /// they are in the caches.
    pub fn split_off(&mut self, count: usize) -> Option<Lease<'s>> {
        let len = count.checked_mul(self.stride).filter(|len| *len <= self.blocks.len())?;
        let (blocks, rest) = std::mem::take(&mut self.blocks).split_at_mut(len);
        self.blocks = rest;
        Some(Lease { blocks, stride: self.stride })
    }
}

impl Deref for Lease<'_> {
    type Target = [Block];

    fn deref(&self) -> &[Block] {
        self.blocks
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.blocks.zeroize();
    }
}

impl fmt::Debug for Lease<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lease({} items)", self.blocks.len() / self.stride)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryJournal;
    use cenote_prim::Prg;

    fn block(number: u64) -> Block {
        Block::new(number.into())
    }

    /// Two blocks an item: its number, and that of the next one.
    fn push(stock: &mut Stock, count: usize) {
        let made = stock.made;
        for (number, item) in (made..).zip(stock.room(count).chunks_exact_mut(2)) {
            item.copy_from_slice(&[block(number + 1), block(number + 2)]);
        }
    }

    #[test]
    fn nothing_is_kept_but_what_is_ready() {
        let (mut stock, mut journal) = (Stock::new("pairs", 2), MemoryJournal::default());
        let (mut taken, mut prg) = (0, Prg::new(Block::new(1)));
        // Grows, moves to the front, empties.
        for _ in 0..200 {
            let mut below = |bound: usize| prg.block().to_u128() as usize % bound;
            let more = below(12);
            push(&mut stock, more);
            let take = below(stock.level() + 1).max(stock.level().saturating_sub(20));
            let lease = stock.reserve(&mut journal, take).expect("enough");
            for (number, item) in (taken + 1..).zip(lease.items()) {
                assert!(item[0].ct_eq(block(number)) && item[1].ct_eq(block(number + 1)));
            }
            taken += take as u64;
            let (mut lease, part) = (lease, below(take + 1));
            assert!(lease.split_off(take + 1).is_none());
            let first = lease.split_off(part).expect("no more than there are");
            assert_eq!((first.items().len(), lease.items().len()), (part, take - part));
            drop(first);
            assert!(lease.iter().all(|block| !block.ct_eq(Block::ZERO)));
            drop(lease);
            let ready = stock.place(stock.ready.start, stock.level());
            for (place, block) in stock.blocks.iter().enumerate() {
                assert_ne!(block.ct_eq(Block::ZERO), ready.contains(&place), "{taken}: {place}");
            }
        }
        assert_eq!(taken + stock.level() as u64, stock.made);
    }
}
