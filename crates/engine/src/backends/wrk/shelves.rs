//! The shelves of a depot (`depot.rs`): ready items and the wants of requests under one lock, between the thread of the supply, which puts items there, and
//! that of requests, which takes them. Whatever leaves is noted here first (`parts/notes.rs`).

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytemuck::cast_slice_mut;
use cenote_net::{Channel, Counters, Fault, Phase};
use cenote_pool::params::shown_log2;
use cenote_pool::{Journal, Level, Pool, PoolError, Refused, Stock};
use cenote_prim::{Block, Secret};
use zeroize::Zeroize;

use super::WrkParams;
use super::bucket::Triple;
use super::packed::packed_bytes;
use super::refiller::{Begun, Start};
use super::share::Share;
use super::stored::Stored;
use super::supply::{POOL, SHARES, Supply, TRIPLES};
use crate::parts::keeper::{Keeper, KeptPool, MEMORIES, POOL_PART};
use crate::parts::notes::{Notes, kept, locked, unkept};

/// How often a side that waits for items looks at the channel of requests.
const ATTENTION: Duration = Duration::from_millis(5);

/// Whether a fault says no more than that the peer is not there any more.
pub(super) fn is_of_the_line(fault: &Fault) -> bool {
    matches!(fault, Fault::Transport(_) | Fault::PeerAborted)
}

/// The items, shared by the supply and by requests.
pub(super) struct Shelves {
    store: Mutex<Store>,
    pub(super) changed: Condvar,
}

/// The stocks, the wants and the end, under one lock.
pub(super) struct Store {
    pub(super) triples: Stock,
    pub(super) shares: Stock,
    pub(super) notes: Notes,
    pub(super) pool: Option<Level>,
    /// Memories of programs, as they are saved with the items.
    pub(super) memories: Stored,
    /// Begun and not ready yet.
    coming: Begun,
    pub(super) wanted: Wanted,
    pub(super) traffic: Counters,
    /// How often something was made.
    steps: u64,
    /// How often all was saved.
    pub(super) saves: u64,
    /// Why the supply has ended.
    ended: Option<Fault>,
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
    pub(super) kept: usize,
    /// All is to be saved, for the last time or not.
    pub(super) save: Option<bool>,
    /// The session ends.
    pub(super) end: bool,
}

impl Store {
    /// Why the session is over: a check of the supply has failed, or its thread has.
    pub(super) fn failure(&self) -> Option<Fault> {
        self.ended.clone().filter(|fault| !is_of_the_line(fault))
    }

    pub(super) fn pool_is_full(&self) -> bool {
        self.pool.as_ref().is_none_or(|pool| Some(pool.level) == pool.capacity)
    }
}

impl Shelves {
    pub(super) fn new(params: &WrkParams) -> Shelves {
        let store = Store {
            triples: Stock::new(TRIPLES, 4 * packed_bytes(params.leaky) / size_of::<Block>()),
            shares: Stock::new(SHARES, size_of::<Share>() / size_of::<Block>()),
            notes: Notes::default(),
            pool: params.pool.map(|capacity| Level::unfilled(POOL, capacity)),
            memories: Stored::default(),
            coming: Begun::default(),
            wanted: Wanted::default(),
            traffic: Counters::default(),
            steps: 0,
            saves: 0,
            ended: None,
        };
        Shelves { store: Mutex::new(store), changed: Condvar::new() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(|poisoned| {
            // Whoever panicked may have left items that were not written: none of them leaves.
            let mut store = poisoned.into_inner();
            store.ended = Some(panicked());
            store
        })
    }

    /// The items, unless a check of the supply has failed.
    pub(super) fn sound(&self) -> Result<MutexGuard<'_, Store>, Fault> {
        let store = self.lock();
        match store.failure() {
            None => Ok(store),
            Some(fault) => Err(fault),
        }
    }

    pub(super) fn want(&self, change: impl FnOnce(&mut Wanted)) {
        change(&mut self.lock().wanted);
        self.changed.notify_all();
    }

    /// Says what is wanted and waits until it is there, unless it is there already. Nothing of this side's is
    /// held back meanwhile, and the peer can send what it has.
    pub(super) fn wait(
        &self,
        channel: &mut Channel,
        change: impl FnOnce(&mut Wanted),
        enough: impl Fn(&Store) -> bool,
    ) -> Result<(), Fault> {
        if enough(&self.lock()) {
            return Ok(());
        }
        channel.flush()?;
        channel.set_phase(Phase::Preprocess);
        self.want(change);
        let result = self.wait_until(channel, enough);
        self.want(|wanted| {
            (wanted.pool, wanted.triples, wanted.shares, wanted.save) = (false, 0, 0, None);
        });
        result
    }

    fn wait_until(
        &self,
        channel: &mut Channel,
        enough: impl Fn(&Store) -> bool,
    ) -> Result<(), Fault> {
        let limit = channel.work_limit();
        let mut seen = (self.lock().steps, Instant::now());
        loop {
            let store = self.lock();
            let waiting = |store: &mut Store| !enough(store) && store.ended.is_none();
            let waited = self.changed.wait_timeout_while(store, ATTENTION, waiting);
            let (store, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if let Some(fault) = store.failure() {
                return Err(fault);
            }
            if enough(&store) {
                return Ok(());
            }
            if let Some(fault) = &store.ended {
                return Err(fault.clone());
            }
            if store.steps != seen.0 {
                seen = (store.steps, Instant::now());
            }
            // Whoever has saved for the last time closes, and the other has still to hear from its disk.
            let saving = store.wanted.save.is_some();
            drop(store);
            if seen.1.elapsed() > limit {
                return Err(late(limit));
            }
            if !saving {
                channel.attend()?;
            }
        }
    }

    /// What begins next; none at the end. A batch that has begun goes on, `within` it. Waits until something is to begin if the
    /// supply `rests`. The pool is filled before anything else, if nothing was ordered yet.
    pub(super) fn next_start(&self, within: bool, rests: bool, fresh: bool) -> Option<Start> {
        let mut store = self.lock();
        loop {
            let level = store.triples.level() + store.coming.triples;
            let wanted = &mut store.wanted;
            let target = wanted.triples.max(wanted.expected.min(wanted.ahead)).max(wanted.kept);
            if wanted.end {
                return None;
            }
            if wanted.shares > 0 {
                return Some(Start::Shares(std::mem::take(&mut wanted.shares)));
            }
            let makes = level < target || (wanted.pool && fresh);
            if within || (makes && wanted.save.is_none()) {
                return Some(Start::Slice);
            }
            if !rests {
                return Some(Start::Nothing);
            }
            if let Some(last) = wanted.save {
                return Some(Start::Save(last));
            }
            store = self.changed.wait(store).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// So much has begun.
    pub(super) fn coming(&self, begun: Begun) {
        let coming = &mut self.lock().coming;
        coming.triples += begun.triples;
        coming.shares += begun.shares;
    }

    /// Triples and shares, ready or under way.
    pub(super) fn levels(&self) -> (usize, usize) {
        let store = self.lock();
        let (triples, shares) = (store.triples.level(), store.shares.level());
        (triples + store.coming.triples, shares + store.coming.shares)
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
            self.lock().pool.iter_mut().for_each(full);
        }
        let PoolError { at_once, adaptive } = keeper.error();
        params.epsilon_log2 = shown_log2(at_once.log2(), 3);
        params.adaptive_epsilon_log2 = shown_log2(adaptive.log2(), 3);
        let mut store = self.lock();
        let Store { triples, shares, notes, .. } = &mut *store;
        for stock in [triples, shares] {
            notes.put_back(&keeper, stock)?;
        }
        store.memories.bytes = keeper.memories()?;
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
        let memories = std::mem::take(&mut store.memories);
        let Store { triples, shares, notes, .. } = &*store;
        let keeper = notes.keeper.clone().ok_or_else(unkept)?;
        let mut keeper = locked(&keeper);
        let jobs = keeper.noted(MEMORIES);
        let numbers = [triples.numbers(), shares.numbers(), jobs..jobs];
        let (capacity, items) =
            store.pool.as_ref().map_or((0, 0), |pool| (pool.capacity.unwrap_or(0), pool.level));
        let pool = [KeptPool { name: POOL_PART.into(), capacity, items }];
        let pool = last.then_some(&pool[..]);
        if keeper.must_write() {
            let [triples, shares] = [kept(&store.triples), kept(&store.shares)];
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
        let mut store = self.lock();
        store.saves += 1;
        store.wanted.save = None;
        Ok(())
    }

    /// The pool that goes on, the first time that something is about to be made.
    ///
    /// # Errors
    /// `Storage`.
    pub(super) fn begin_making(&self) -> Result<Option<Secret<Vec<u8>>>, Fault> {
        let keeper = self.lock().notes.keeper.clone();
        keeper.map_or(Ok(None), |keeper| locked(&keeper).begin_making())
    }

    /// Waits until this side wants to save as well, for the last time or not; nothing when it wants to end.
    pub(super) fn wants_to_save(&self) -> Option<bool> {
        let waiting = |store: &mut Store| !store.wanted.end && store.wanted.save.is_none();
        let store = self.changed.wait_while(self.lock(), waiting);
        let store = store.unwrap_or_else(PoisonError::into_inner);
        store.wanted.save.filter(|_| !store.wanted.end)
    }

    /// Ends what is kept, if `fault` asks for it: before the peer hears of it.
    pub(super) fn burn(&self, fault: &Fault) {
        let keeper = self.lock().notes.keeper.clone();
        keeper.iter().for_each(|keeper| locked(keeper).fail(fault));
    }

    /// The supply has made something, with this traffic so far.
    pub(super) fn made(&self, traffic: Counters) {
        self.lock().traffic = traffic;
        self.step();
    }

    /// Something was made: whoever waits for it waits on.
    pub(super) fn step(&self) {
        self.lock().steps += 1;
        self.changed.notify_all();
    }

    /// The supply has ended, for this reason.
    pub(super) fn end(&self, fault: Fault) {
        self.lock().ended.get_or_insert(fault);
        self.changed.notify_all();
    }

    /// Whether this side has asked for the end.
    pub(super) fn is_ending(&self) -> bool {
        self.lock().wanted.end
    }

    pub(super) fn pool_is<T: Copy + Zeroize>(&self, pool: &Pool<T>) {
        let mut store = self.lock();
        store.pool = Some(pool.counters(&store.notes));
    }

    /// Makes so many triples ready, which `write` writes where they wait.
    pub(super) fn put_triples<const N: usize>(
        &self,
        count: usize,
        write: impl FnOnce(&mut [Triple<N>]),
    ) {
        let mut store = self.lock();
        store.coming.triples = store.coming.triples.saturating_sub(count);
        write(cast_slice_mut(store.triples.room(count)));
    }

    pub(super) fn put_shares(&self, shares: impl ExactSizeIterator<Item = Share>) {
        let mut store = self.lock();
        store.coming.shares = store.coming.shares.saturating_sub(shares.len());
        let room = cast_slice_mut::<Block, Share>(store.shares.room(shares.len()));
        room.iter_mut().zip(shares).for_each(|(place, share)| *place = share);
    }

    /// The journal, locked for each note alone.
    pub(super) fn journal(&self) -> impl Journal + '_ {
        Noted(self)
    }
}

struct Noted<'s>(&'s Shelves);

impl Journal for Noted<'_> {
    fn reserve(&mut self, store: &str, items: Range<u64>) -> Result<(), Refused> {
        self.0.lock().notes.reserve(store, items)
    }

    fn consumed(&self, store: &str) -> u64 {
        self.0.lock().notes.consumed(store)
    }
}

pub(super) fn panicked() -> Fault {
    Fault::Internal("the supply has failed".into())
}

fn late(limit: Duration) -> Fault {
    Fault::Transport(format!("the peer made nothing ready for {} s", limit.as_secs_f32()))
}
