//! The shelves of a depot (`depot.rs`): what `parts/shelves.rs` has under one lock, for triples and shares.

use std::sync::{Arc, Mutex};

use bytemuck::cast_slice_mut;
use cenote_net::{Channel, Fault};
use cenote_pool::params::shown_log2;
use cenote_pool::{Level, Pool, PoolError, Stock};
use cenote_prim::Block;
use zeroize::Zeroize;

use super::WrkParams;
use super::bucket::Triple;
use super::packed::packed_bytes;
use super::refiller::{Begun, Start};
use super::share::Share;
use super::stored::Stored;
use super::supply::{POOL, SHARES, Supply, TRIPLES};
use crate::parts::keeper::{Keeper, KeptPool, MEMORIES, POOL_PART};
use crate::parts::notes::{kept, locked, unkept};
use crate::parts::shelves::{self, Marks};

/// The items, shared by the supply and by requests.
pub(super) type Shelves = shelves::Shelves<Items>;
/// What is under their lock.
pub(super) type Store = shelves::Store<Items>;

/// The stocks and the wants.
pub(super) struct Items {
    pub(super) triples: Stock,
    pub(super) shares: Stock,
    pub(super) pool: Option<Level>,
    /// Memories of programs, as they are saved with the items.
    pub(super) memories: Stored,
    /// Begun and not ready yet.
    coming: Begun,
    pub(super) wanted: Wanted,
}

/// The wants of requests.
#[derive(Default)]
pub(super) struct Wanted {
    pub(super) pool: bool,
    /// Triples that somebody waits for.
    pub(super) triples: usize,
    /// Shares to be made.
    pub(super) shares: usize,
    /// Triples that the running request is still going to take, of which so many are made ahead.
    pub(super) expected: usize,
    pub(super) ahead: usize,
    /// Triples to be kept ready.
    pub(super) kept: Marks,
}

impl shelves::Items for Items {
    fn nobody_waits(&mut self) {
        let wanted = &mut self.wanted;
        (wanted.pool, wanted.triples, wanted.shares) = (false, 0, 0);
    }
}

impl Items {
    pub(super) fn new(params: &WrkParams) -> Items {
        Items {
            triples: Stock::new(TRIPLES, 4 * packed_bytes(params.leaky) / size_of::<Block>()),
            shares: Stock::new(SHARES, size_of::<Share>() / size_of::<Block>()),
            pool: params.pool.map(|capacity| Level::unfilled(POOL, capacity)),
            memories: Stored::default(),
            coming: Begun::default(),
            wanted: Wanted::default(),
        }
    }

    pub(super) fn pool_is_full(&self) -> bool {
        self.pool.as_ref().is_none_or(|pool| Some(pool.level) == pool.capacity)
    }
}

impl Shelves {
    /// What begins next; none at the end. A batch that has begun goes on, `within` it. Waits until something is to begin if the
    /// supply `rests`. The pool is filled before anything else, if nothing was ordered yet.
    pub(super) fn next_start(&self, within: bool, rests: bool, fresh: bool) -> Option<Start> {
        let mut store = self.lock();
        loop {
            let (ends, saves) = (store.end, store.save);
            let items = &mut store.items;
            let level = items.triples.level() + items.coming.triples;
            let wanted = &mut items.wanted;
            let ahead = wanted.expected.min(wanted.ahead);
            let target = wanted.triples.max(ahead).max(wanted.kept.target(level));
            if ends {
                return None;
            }
            if wanted.shares > 0 {
                return Some(Start::Shares(std::mem::take(&mut wanted.shares)));
            }
            let makes = level < target || (wanted.pool && fresh);
            if within || (makes && saves.is_none()) {
                return Some(Start::Slice);
            }
            if !rests {
                return Some(Start::Nothing);
            }
            if let Some(last) = saves {
                return Some(Start::Save(last));
            }
            store = self.wait_for_change(store);
        }
    }

    /// So much has begun.
    pub(super) fn coming(&self, begun: Begun) {
        let coming = &mut self.lock().items.coming;
        coming.triples += begun.triples;
        coming.shares += begun.shares;
    }

    /// Triples and shares, ready or under way.
    pub(super) fn levels(&self) -> (usize, usize) {
        let Items { triples, shares, coming, .. } = &self.lock().items;
        (triples.level() + coming.triples, shares.level() + coming.shares)
    }

    /// Takes over what `keeper` kept: items, and the pool into `supply`. Returns the slices that its pool spares; the bound in `params` is for all pools so far.
    pub(super) fn restore(
        &self,
        mut keeper: Keeper,
        supply: &mut dyn Supply,
        params: &mut WrkParams,
    ) -> Result<u64, Fault> {
        let mut ordered = 0;
        let capacity = params.pool.map_or(0, |pool| pool as u64);
        let pool = keeper.pools_go_on(&[(POOL_PART.into(), capacity)])?;
        if pool.is_some_and(|items| items.iter().all(|items| *items > 0)) {
            supply.skip_pool();
            ordered = supply.called();
            let full = |pool: &mut Level| (pool.level, pool.made) = (capacity, capacity);
            self.lock().items.pool.iter_mut().for_each(full);
        }
        let PoolError { at_once, adaptive } = keeper.error();
        params.epsilon_log2 = shown_log2(at_once.log2(), 3);
        params.adaptive_epsilon_log2 = shown_log2(adaptive.log2(), 3);
        let mut store = self.lock();
        let Store { items: Items { triples, shares, memories, .. }, notes, .. } = &mut *store;
        for stock in [triples, shares] {
            notes.put_back(&keeper, stock)?;
        }
        memories.bytes = keeper.memories()?;
        store.notes.keeper = Some(Arc::new(Mutex::new(keeper)));
        Ok(ordered)
    }

    /// Saves what is ready, and the pool if `last`; nothing is under way, nor does a request run.
    pub(super) fn save(
        &self,
        channel: &mut Channel,
        supply: &dyn Supply,
        last: bool,
    ) -> Result<(), Fault> {
        let mut store = self.lock();
        let memories = std::mem::take(&mut store.items.memories);
        let Store { items: Items { triples, shares, pool, .. }, notes, .. } = &*store;
        let keeper = notes.keeper.clone().ok_or_else(unkept)?;
        let mut keeper = locked(&keeper);
        let jobs = keeper.noted(MEMORIES);
        let numbers = [triples.numbers(), shares.numbers(), jobs..jobs];
        let (capacity, items) =
            pool.as_ref().map_or((0, 0), |pool| (pool.capacity.unwrap_or(0), pool.level));
        let pool = [KeptPool { name: POOL_PART.into(), capacity, items }];
        let pool = last.then_some(&pool[..]);
        if keeper.must_write() {
            let [triples, shares] = [kept(triples), kept(shares)];
            // The peer may take its time.
            drop(store);
            // Nothing is in the supply before anything is made.
            let items = (last && keeper.has_made()).then(|| supply.pool());
            let mut parts = vec![(TRIPLES, &triples[..]), (SHARES, &shares[..])];
            parts.extend((!memories.bytes.is_empty()).then_some((MEMORIES, &memories.bytes[..])));
            parts.extend(items.as_ref().map(|items| (POOL_PART, &items[..])));
            keeper.save(channel, &numbers, pool, &memories.known, &parts)?;
        } else {
            drop(store);
            keeper.save(channel, &numbers, pool, &memories.known, &[])?;
        }
        self.saved();
        Ok(())
    }

    pub(super) fn pool_is<T: Copy + Zeroize>(&self, pool: &Pool<T>) {
        let mut store = self.lock();
        store.items.pool = Some(pool.counters(&store.notes));
    }

    /// Makes so many triples ready, which `write` writes where they wait.
    pub(super) fn put_triples<const N: usize>(
        &self,
        count: usize,
        write: impl FnOnce(&mut [Triple<N>]),
    ) {
        let Items { triples, coming, .. } = &mut self.lock().items;
        coming.triples = coming.triples.saturating_sub(count);
        write(cast_slice_mut(triples.room(count)));
    }

    pub(super) fn put_shares(&self, shares: impl ExactSizeIterator<Item = Share>) {
        let Items { shares: stock, coming, .. } = &mut self.lock().items;
        coming.shares = coming.shares.saturating_sub(shares.len());
        let room = cast_slice_mut::<Block, Share>(stock.room(shares.len()));
        room.iter_mut().zip(shares).for_each(|(place, share)| *place = share);
    }
}
