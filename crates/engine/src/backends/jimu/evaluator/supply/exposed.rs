//! A hand in what the evaluator stores, for tests.

use cenote_pool::MemoryJournal;
use cenote_prim::Block;

use super::{CorePool, Keep, Supply, TAG};
use crate::backends::jimu::ihash::Label;
use crate::backends::jimu::store::{Location, flip_block, flip_in_pool};

impl Supply {
    /// Makes the first members of the next ready AND output the label of the other value, as a NAND does.
    pub(in crate::backends::jimu) fn turn(&mut self, members: usize, delta: &Label) {
        let CorePool { shape, store } = &mut self.pools[0];
        let ready = &mut self.shelves.lock().items.stocks[0];
        let (bucket, tags) = (store.spec.bucket, TAG * shape.wires());
        let mut all = ready.peek(ready.level()).to_vec();
        let item = &mut all[..ready.stride()];
        let stride = (item.len() - tags) / bucket;
        for member in item[tags..].chunks_exact_mut(stride).take(members) {
            // Behind its head and two other tables.
            for (block, part) in member[7..10].iter_mut().zip(delta.0) {
                *block ^= part;
            }
        }
        // Under the numbers that they had.
        let first = ready.numbers().start;
        *ready = shape.stock(ready.stride());
        ready.room(all.len() / ready.stride()).copy_from_slice(&all);
        ready.renumber(&mut MemoryJournal::default(), first).expect("from the first number on");
    }

    /// Flips one bit of the item in `slot` of a full pool, counted modulo those of the location. In
    /// compact storage, where there are no items: of the root.
    pub(in crate::backends::jimu) fn flip(
        &mut self,
        at: usize,
        slot: usize,
        location: Location,
        bit: usize,
    ) {
        let CorePool { shape, store } = &mut self.pools[at];
        let (tables, tags) = (shape.table_blocks(), TAG * shape.wires());
        let pool = match store.pool.as_mut().expect("the pool is full") {
            Keep::Stored(pool) => pool,
            Keep::Compact(root) => return root.flip(bit),
        };
        let row = pool.items()[slot].place as u32;
        let blocks: &mut [Block] = match location {
            Location::Table => &mut store.rows.row_mut(row)[..tables],
            Location::Tag => &mut store.rows.row_mut(row)[tables..tables + tags],
            Location::Number => &mut store.rows.row_mut(row)[tables + tags..],
            Location::Place | Location::Seal => {
                return flip_in_pool(pool, &mut self.shelves.journal(), slot, |item| {
                    item.flipped(location, bit)
                });
            }
        };
        let bits = 128 * blocks.len();
        flip_block(&mut blocks[bit % bits / 128], bit % 128);
    }
}
