//! The evaluator's stored form of items: rows of tables, tags and numbers, sealed.

use cenote_net::Fault;
use cenote_pool::{Draws, Journal, Level, Pool};
use cenote_prim::merkle::Node;
use cenote_prim::{Block, Secret};

use super::compact::Root;
use crate::backends::jimu::garbled_core::Shape;
use crate::backends::jimu::ihash::Tag;
use crate::backends::jimu::params::PoolSpec;
use crate::backends::jimu::store::{AHEAD, FAR, Sealer, Slab, Stored};
use crate::session::store_fault;

/// Blocks of a tag.
pub(super) const TAG: usize = size_of::<Tag>() / 16;

/// A pool and the rows of items: tables, tags, number of the first wire.
///
/// In stored form the item in a slot of the pool lies in the row of this number. A batch is written behind them, one row after the other; as a drawn item leaves its row,
/// what its slot has now is written there. So memory that is far away is touched once for each item, and not again to write it.
pub(super) struct Store {
    pub(super) shape: Shape,
    pub(super) spec: PoolSpec,
    pub(super) rows: Slab,
    /// Leaves of the batch that is being received, in compact storage.
    pub(super) leaves: Option<Vec<Node>>,
    pub(super) pool: Option<Keep>,
}

/// The data that is kept of a full pool.
pub(super) enum Keep {
    /// The items.
    Stored(Pool<Stored>),
    /// The root of a tree over them (`compact.rs`).
    Compact(Root),
}

impl Store {
    pub(super) fn new(shape: Shape, spec: PoolSpec, compact: bool) -> Store {
        let stride = shape.table_blocks() + TAG * shape.wires() + 1;
        let leaves = compact.then(Vec::new);
        Store { shape, spec, rows: Slab::new(stride), leaves, pool: None }
    }

    /// Makes room for a batch of so many items, and in stored pools for all items.
    pub(super) fn begin(&mut self, items: usize) {
        match &mut self.leaves {
            Some(leaves) => {
                leaves.clear();
                self.rows.begin(0, items);
            }
            None => self.rows.begin(self.spec.capacity, self.spec.batch),
        }
    }

    /// Stores an item, of which `tables` are the bytes; it is sealed at once, while it is in the caches.
    pub(super) fn put(
        &mut self,
        sealer: &Sealer,
        number: u64,
        tables: &[u8],
        tags: &[Tag],
    ) -> Stored {
        let place = self.rows.claim();
        let row = self.rows.row_mut(place);
        let (first, rest) = row.split_at_mut(self.shape.table_blocks());
        let (second, last) = rest.split_at_mut(TAG * tags.len());
        Block::as_bytes_mut(first).copy_from_slice(tables);
        second.copy_from_slice(bytemuck::cast_slice(tags));
        last[0] = Block::new(number.into());
        sealer.seal(place.into(), row)
    }

    /// Moves `items` out of their rows, after a look at their seals; `later` are the next ones.
    pub(super) fn take(
        &mut self,
        sealer: &Sealer,
        (items, later): (&[Stored], &[Stored]),
        out: &mut Items,
    ) -> Result<(), Fault> {
        out.clear();
        let mut ahead = items.iter().chain(later).skip(AHEAD);
        let mut far = items.iter().chain(later).skip(FAR);
        for &item in items {
            if let Some(later) = far.next() {
                self.rows.locate(later.place);
            }
            if let Some(later) = ahead.next() {
                self.rows.prefetch(later.place);
                if let Some(Keep::Stored(pool)) = &self.pool {
                    cenote_prim::prefetch(pool.items(), later.place as usize);
                }
            }
            let row = u32::try_from(item.place).ok().and_then(|row| self.rows.row(row));
            let row = row.unwrap_or_default();
            let place = sealer.open(item, row)?;
            out.push(self.shape, row);
            match &mut self.pool {
                // What came into its slot is of this batch.
                Some(Keep::Stored(pool)) if (place as usize) < pool.capacity() => {
                    pool.relocate(place as usize, |fresh| {
                        self.rows.copy(fresh.place, place);
                        sealer.moved(fresh, place)
                    });
                }
                // It came and went with this batch.
                Some(Keep::Stored(_)) => {}
                _ => self.rows.release(place as u32),
            }
        }
        Ok(())
    }

    /// Puts items of a batch into the slots from this one on, of a pool that is not full yet.
    pub(super) fn settle(&mut self, sealer: &Sealer, first: usize, items: &mut [Stored]) {
        for (slot, item) in (first as u64..).zip(items) {
            self.rows.copy(item.place, slot);
            *item = sealer.moved(*item, slot);
        }
    }

    /// Wipes the rows of items that are not needed.
    pub(super) fn release(&mut self, items: &[Stored]) {
        items.iter().for_each(|item| self.rows.release(item.place as u32));
    }

    /// Exchanges fresh items of a stored pool for drawn ones.
    pub(super) fn exchange(
        &mut self,
        journal: &mut dyn Journal,
        draws: &Draws,
        fresh: &mut [Stored],
    ) -> Result<(), Fault> {
        match &mut self.pool {
            Some(Keep::Stored(pool)) => pool.exchange(journal, draws, fresh).map_err(store_fault),
            _ => Err(Fault::Internal("a pool that was filled is gone".into())),
        }
    }

    /// What is kept of a full pool: the rows of its items, slot after slot, after a look at their seals; or its root.
    pub(super) fn kept(&self, sealer: &Sealer, out: &mut Secret<Vec<u8>>) -> Result<(), Fault> {
        match &self.pool {
            None => {}
            Some(Keep::Compact(root)) => out.extend_from_slice(root.node()),
            Some(Keep::Stored(pool)) => {
                for (slot, item) in (0..).zip(pool.items()) {
                    debug_assert_eq!(
                        item.place, slot,
                        "between batches each lies in its slot's row"
                    );
                    let row = u32::try_from(item.place).ok().and_then(|row| self.rows.row(row));
                    let row = row.unwrap_or_default();
                    sealer.open(*item, row)?;
                    out.extend_from_slice(Block::as_bytes(row));
                }
            }
        }
        Ok(())
    }

    /// Bytes of that.
    pub(super) fn kept_len(&self) -> usize {
        match self.leaves {
            Some(_) => size_of::<Node>(),
            None => 16 * self.rows.stride() * self.spec.capacity,
        }
    }

    /// Takes a pool that was kept, of [`Store::kept_len`] bytes.
    pub(super) fn put_back(&mut self, sealer: &Sealer, bytes: &[u8]) -> Result<(), Fault> {
        let (name, capacity) = (self.shape.pool_name(), self.spec.capacity);
        if let (Some(_), Ok(node)) = (&self.leaves, bytes.try_into()) {
            self.pool = Some(Keep::Compact(Root::kept(&name, capacity, node)?));
            return Ok(());
        }
        self.begin(self.spec.batch);
        let rows = bytes.chunks_exact(16 * self.rows.stride()).take(capacity);
        let items = (0..).zip(rows).map(|(slot, bytes)| {
            let row = self.rows.row_mut(slot);
            Block::as_bytes_mut(row).copy_from_slice(bytes);
            sealer.seal(slot.into(), row)
        });
        let full = Pool::full(name, capacity, items.collect()).map_err(store_fault)?;
        self.pool = Some(Keep::Stored(full));
        Ok(())
    }

    /// Counters of the pool.
    pub(super) fn counters(&self, journal: &dyn Journal) -> Level {
        match &self.pool {
            Some(Keep::Stored(pool)) => pool.counters(journal),
            Some(Keep::Compact(root)) => root.pool.counters(journal),
            None => Level::unfilled(self.shape.pool_name(), self.spec.capacity),
        }
    }

    /// Ends a batch: in compact storage no memory is kept for the next one.
    pub(super) fn end(&mut self) {
        if self.leaves.is_some() {
            self.rows = Slab::new(self.rows.stride());
            self.leaves = Some(Vec::new());
        }
    }

    /// Bytes kept for the items of the pool: places, seals and rows; or the root, and what room
    /// for rows there is.
    pub(super) fn bytes(&self) -> usize {
        match &self.pool {
            Some(Keep::Stored(pool)) => {
                let row = self.rows.stride() * size_of::<Block>();
                pool.capacity() * (size_of::<Stored>() + row)
            }
            Some(Keep::Compact(root)) => size_of_val(root) + self.rows.bytes(),
            None => 0,
        }
    }
}

/// Contiguous copies of items, in the order in which they are used.
#[derive(Default)]
pub(super) struct Items {
    pub(super) numbers: Vec<u64>,
    pub(super) tables: Vec<Block>,
    pub(super) tags: Vec<Tag>,
}

impl Items {
    pub(super) fn clear(&mut self) {
        self.numbers.clear();
        self.tables.clear();
        self.tags.clear();
    }

    pub(super) fn push(&mut self, shape: Shape, row: &[Block]) {
        let (tables, rest) = row.split_at(shape.table_blocks());
        let (tags, number) = rest.split_at(TAG * shape.wires());
        self.tables.extend_from_slice(tables);
        self.tags.extend_from_slice(bytemuck::cast_slice(tags));
        self.numbers.push(number[0].to_u128() as u64);
    }
}
