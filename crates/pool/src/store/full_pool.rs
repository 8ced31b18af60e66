//! The pool: full before and after every bucket.

use std::fmt;
use std::mem;

use cenote_prim::{Task, Workers};
use zeroize::Zeroize;

use super::{Draws, Journal, Level, StoreError};

/// Items in one flat array, drawn at random and replaced at once (POOL section 6).
///
/// The bound of [`crate::params`] rests on three things. The pool is full at each draw:
/// [`Pool::full`] accepts no fewer items, and [`Pool::exchange`] puts a fresh item in each emptied
/// place. No item leaves twice: it changes places with the fresh one. Positions are unpredictable
/// when items enter: the caller tosses the joint coin only after the items in the pool *and the
/// refill of this exchange* are fixed and have passed their checks.
pub struct Pool<T: Copy + Zeroize> {
    name: String,
    items: Vec<T>,
    consumed: u64,
}

/// Exchanges that the prefetch runs ahead: a memory latency, and what is done of a bucket between.
const PREFETCH: usize = 24;

/// Parts of a pool for each thread that exchanges: the threads need not be equally fast.
const PARTS: usize = 4;

impl<T: Copy + Zeroize> Pool<T> {
    /// Opens a pool of `capacity` items. Journals and occupancy know it by `name`.
    ///
    /// # Errors
    /// [`StoreError::NotFull`] unless there are exactly `capacity` items; those given are wiped.
    pub fn full(
        name: impl Into<String>,
        capacity: usize,
        mut items: Vec<T>,
    ) -> Result<Self, StoreError> {
        if items.len() != capacity {
            let given = items.len();
            items.zeroize();
            return Err(StoreError::NotFull { capacity, items: given });
        }
        Ok(Self { name: name.into(), items, consumed: 0 })
    }

    /// Exchanges the drawn buckets, one after the other, for fresh items, once `journal` has taken
    /// note of it.
    ///
    /// `items` holds one fresh item per drawn position, bucket after bucket; each changes places
    /// with the item drawn there, so that `items` holds the buckets afterwards. A fresh item may be
    /// drawn by a later bucket of the same run.
    ///
    /// # Errors
    /// [`StoreError::OtherPool`], [`StoreError::Length`], [`StoreError::Refused`]; then nothing has
    /// moved.
    pub fn exchange(
        &mut self,
        journal: &mut dyn Journal,
        draws: &Draws,
        items: &mut [T],
    ) -> Result<(), StoreError> {
        let mut leaving = self.leave(journal, draws, items.len())?;
        leaving.exchange(items);
        leaving.done()
    }

    /// Takes note that what is drawn leaves, for `fresh` items that the caller exchanges then: all of them, as
    /// [`Pool::exchange`] does, but in parts or by several threads.
    ///
    /// # Errors
    /// As [`Pool::exchange`].
    pub fn leave<'p>(
        &'p mut self,
        journal: &mut dyn Journal,
        draws: &'p Draws,
        fresh: usize,
    ) -> Result<Leaving<'p, T>, StoreError> {
        let (drawn_for, capacity) = (draws.capacity(), self.capacity());
        if drawn_for != capacity {
            return Err(StoreError::OtherPool { drawn_for, capacity });
        }
        let positions = draws.positions();
        if fresh != positions.len() {
            return Err(StoreError::Length { expected: positions.len(), got: fresh });
        }
        let consumed = self.consumed + positions.len() as u64;
        if !positions.is_empty() {
            journal.reserve(&self.name, self.consumed..consumed)?;
        }
        self.consumed = consumed;
        Ok(Leaving { items: &mut self.items, positions })
    }

    /// The items, slot after slot.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// Lets the item in `slot` lie elsewhere: it stays the same one. None does, if there is no such slot.
    pub fn relocate(&mut self, slot: usize, change: impl FnOnce(T) -> T) {
        if let Some(item) = self.items.get_mut(slot) {
            *item = change(*item);
        }
    }

    /// Number of items, always.
    pub fn capacity(&self) -> usize {
        self.items.len()
    }

    /// The counters, of which `journal` has the consumption.
    pub fn counters(&self, journal: &dyn Journal) -> Level {
        let capacity = self.capacity() as u64;
        Level {
            name: self.name.clone(),
            level: capacity,
            capacity: Some(capacity),
            made: capacity + self.consumed,
            consumed: journal.consumed(&self.name),
        }
    }
}

/// What leaves a pool, and is not exchanged yet.
#[must_use = "a pool is full when all that leaves was exchanged"]
pub struct Leaving<'p, T> {
    items: &'p mut [T],
    positions: &'p [u32],
}

impl<T> Leaving<'_, T> {
    /// Exchanges the next ones, as many as there are fresh `items`. Positions within a bucket are distinct, so that item by item is
    /// as good as taking the bucket and refilling.
    ///
    /// # Panics
    /// If there are more than leave.
    pub fn exchange(&mut self, items: &mut [T]) {
        self.exchange_with(items, |_, _| ());
    }

    /// [`Leaving::exchange`], with the last touch for each fresh item, which is given with its number, before it goes into the pool.
    ///
    /// # Panics
    /// If there are more than leave.
    pub fn exchange_with(&mut self, items: &mut [T], mut touch: impl FnMut(usize, &mut T)) {
        let positions = self.positions;
        self.positions = &positions[items.len()..];
        for (i, item) in items.iter_mut().enumerate() {
            // A pool is larger than the caches and its positions are random.
            if let Some(&later) = positions.get(i + PREFETCH) {
                cenote_prim::prefetch(self.items, later as usize);
            }
            touch(i, item);
            mem::swap(&mut self.items[positions[i] as usize], item);
        }
    }

    /// All are exchanged.
    ///
    /// # Errors
    /// [`StoreError::Length`] if some are not.
    pub fn done(self) -> Result<(), StoreError> {
        match self.positions.len() {
            0 => Ok(()),
            expected => Err(StoreError::Length { expected, got: 0 }),
        }
    }

    /// Exchanges all, for fresh items that lie in `pieces`, by several threads: each has a part of the pool, where it goes
    /// through what is drawn there in order.
    ///
    /// # Errors
    /// [`StoreError::Length`] if there are not as many; then nothing has moved.
    pub fn exchange_on(self, workers: &Workers, pieces: &mut [&mut [T]]) -> Result<(), StoreError>
    where
        T: Send,
    {
        let (expected, got) = (self.positions.len(), pieces.iter().map(|piece| piece.len()).sum());
        if expected != got {
            return Err(StoreError::Length { expected, got });
        }
        let Leaving { items: pool, positions } = self;
        // A power of two, by which dividing is fast.
        let size = (pool.len() / (PARTS * workers.threads()) + 1).next_power_of_two();
        let (shift, parts) = (size.trailing_zeros(), pool.len().div_ceil(size));
        let room = positions.len() / parts * 5 / 4;
        let mut drawn: Vec<(Vec<u32>, Vec<&mut T>)> =
            (0..parts).map(|_| (Vec::with_capacity(room), Vec::with_capacity(room))).collect();
        let items = pieces.iter_mut().flat_map(|piece| piece.iter_mut());
        for (position, item) in positions.iter().zip(items) {
            let (positions, items) = &mut drawn[(position >> shift) as usize];
            positions.push(position & (size - 1) as u32);
            items.push(item);
        }
        let parts = pool.chunks_mut(size).zip(drawn);
        workers.run(parts.map(|(part, (positions, mut items))| {
            Box::new(move || swap_far(part, &positions, &mut items)) as Task<'_>
        }));
        Ok(())
    }
}

/// Exchanges each of `items`, which are far from each other, with the one at its position.
fn swap_far<T>(pool: &mut [T], positions: &[u32], items: &mut [&mut T]) {
    for (i, position) in positions.iter().enumerate() {
        if let (Some(&later), Some(item)) = (positions.get(i + PREFETCH), items.get(i + PREFETCH)) {
            cenote_prim::prefetch(pool, later as usize);
            cenote_prim::prefetch(std::slice::from_ref(&**item), 0);
        }
        mem::swap(&mut pool[*position as usize], items[i]);
    }
}

impl<T: Copy + Zeroize> Drop for Pool<T> {
    fn drop(&mut self) {
        self.items.zeroize();
    }
}

impl<T: Copy + Zeroize> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({}: {} items, {} drawn)", self.name, self.items.len(), self.consumed)
    }
}
