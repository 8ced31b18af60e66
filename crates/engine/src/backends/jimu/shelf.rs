//! Finished items, taken in order: blocks in one flat array, as their number depends on the width of
//! a core and the size of a bucket.

use std::ops::Range;

use cenote_net::Fault;
use cenote_prim::Block;
use zeroize::Zeroize;

/// A queue of items of `stride` blocks. Taking burns: what was taken is wiped with the next call
/// that takes or puts, used or not.
pub(super) struct Shelf {
    stride: usize,
    blocks: Vec<Block>,
    /// Items at the front that were taken.
    taken: usize,
    /// Of those, items that were wiped.
    wiped: usize,
    consumed: u64,
}

impl Shelf {
    pub(super) fn new(stride: usize) -> Shelf {
        Shelf { stride, blocks: Vec::new(), taken: 0, wiped: 0, consumed: 0 }
    }

    /// Blocks of an item.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Items that can be taken.
    pub(super) fn level(&self) -> usize {
        self.blocks.len() / self.stride - self.taken
    }

    /// Items taken so far.
    pub(super) fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Room for `items` more, zero, at the end.
    pub(super) fn room(&mut self, items: usize) -> &mut [Block] {
        let more = items * self.stride;
        let len = self.blocks.len() - self.taken * self.stride;
        self.append(items, |blocks| blocks.resize(blocks.len() + more, Block::ZERO));
        &mut self.blocks[len..]
    }

    /// Lets `put` append `items` items.
    pub(super) fn append(&mut self, items: usize, put: impl FnOnce(&mut Vec<Block>)) {
        self.compact();
        let (len, more) = (self.blocks.len(), items * self.stride);
        if len + more > self.blocks.capacity() {
            // Growing in place would leave a copy of the items in freed memory.
            let mut larger = Vec::with_capacity((len + more).next_power_of_two());
            larger.extend_from_slice(&self.blocks);
            self.blocks.zeroize();
            self.blocks = larger;
        }
        put(&mut self.blocks);
        debug_assert_eq!(self.blocks.len(), len + more);
    }

    /// The oldest `items` that were not taken, or as many as there are. They stay.
    pub(super) fn peek(&self, items: usize) -> &[Block] {
        &self.blocks[self.range(self.taken, items.min(self.level()))]
    }

    /// The oldest item that was not taken, for tests to change.
    #[cfg(test)]
    pub(super) fn next_mut(&mut self) -> &mut [Block] {
        let range = self.range(self.taken, 1);
        &mut self.blocks[range]
    }

    /// Takes the oldest `items`.
    pub(super) fn take(&mut self, items: usize) -> Result<&[Block], Fault> {
        if items > self.level() {
            return Err(Fault::Internal("more items were taken than are ready".into()));
        }
        self.wipe();
        let first = self.taken;
        self.taken += items;
        self.consumed += items as u64;
        Ok(&self.blocks[self.range(first, items)])
    }

    fn range(&self, first: usize, items: usize) -> Range<usize> {
        first * self.stride..(first + items) * self.stride
    }

    fn wipe(&mut self) {
        let range = self.range(self.wiped, self.taken - self.wiped);
        self.blocks[range].zeroize();
        self.wiped = self.taken;
    }

    /// Gives up the room of what was taken.
    fn compact(&mut self) {
        self.wipe();
        let (from, kept) = (self.taken * self.stride, self.level() * self.stride);
        self.blocks.copy_within(from.., 0);
        self.blocks[kept..].zeroize();
        self.blocks.truncate(kept);
        (self.taken, self.wiped) = (0, 0);
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.blocks.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_leave_in_order_once_and_are_wiped() {
        let mut shelf = Shelf::new(2);
        let block = |i: usize| Block::new(i as u128 + 1);
        let (mut put, mut got) = (0, 0);
        for (items, take) in [(5, 3), (1, 3), (40, 7), (0, 33)] {
            for slot in shelf.room(items) {
                *slot = block(put);
                put += 1;
            }
            for taken in shelf.take(take).expect("enough") {
                assert!(taken.ct_eq(block(got)));
                got += 1;
            }
        }
        assert_eq!((shelf.level(), shelf.consumed()), (0, 46));
        assert!(shelf.take(1).is_err());
        shelf.room(0);
        assert!(shelf.blocks.is_empty());
    }
}
