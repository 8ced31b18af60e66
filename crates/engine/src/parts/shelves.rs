//! Ready items under one lock, between the thread of a supply, which works on a channel of its own and puts items there, and that of requests,
//! which takes them. Whatever leaves is noted here first (`notes.rs`).
//!
//! **Waiting.** A side that waits for items reads what comes on the channel of requests meanwhile: a peer that
//! has something to send would otherwise never come to the point where it orders what both wait for.
//! **Failure.** Once a check of the supply has failed, nothing leaves, and the channel of requests is cancelled.

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use cenote_net::{Canceller, Channel, Counters, Fault, Phase};
use cenote_pool::{Journal, Refused};
use cenote_prim::{Secret, wipe_stack};

use super::notes::{Notes, locked};

/// How often a side that waits for items looks at the channel of requests.
const ATTENTION: Duration = Duration::from_millis(5);

/// Whether a fault says no more than that the peer is not there any more.
pub(crate) fn is_of_the_line(fault: &Fault) -> bool {
    matches!(fault, Fault::Transport(_) | Fault::PeerAborted)
}

/// The stocks of a backend, with the wants of its requests.
pub(crate) trait Items: Send {
    /// Nobody waits any more.
    fn nobody_waits(&mut self);
}

/// The items, shared by the supply and by requests.
pub(crate) struct Shelves<I> {
    store: Mutex<Store<I>>,
    pub(crate) changed: Condvar,
}

/// The items, the wants and the end, under one lock.
pub(crate) struct Store<I> {
    pub(crate) items: I,
    pub(crate) notes: Notes,
    /// Of the supply's channel.
    pub(crate) traffic: Counters,
    /// All is to be saved, for the last time or not.
    pub(crate) save: Option<bool>,
    /// How often all was saved.
    pub(crate) saves: u64,
    /// The session ends.
    pub(crate) end: bool,
    /// How often something was made.
    steps: u64,
    /// Why the supply has ended.
    ended: Option<Fault>,
}

impl<I> Store<I> {
    /// Why the session is over: a check of the supply has failed, or its thread has.
    pub(crate) fn failure(&self) -> Option<Fault> {
        self.ended.clone().filter(|fault| !is_of_the_line(fault))
    }
}

/// What is kept ready: below the low mark more is made, until the high one is reached.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Marks {
    low: usize,
    high: usize,
    rising: bool,
}

impl Marks {
    /// Marks at most at `most`; the level rises to the high one first.
    pub(crate) fn new(low: usize, high: usize, most: usize) -> Marks {
        Marks { low: low.min(high).min(most), high: high.min(most), rising: true }
    }

    pub(crate) const fn high(&self) -> usize {
        self.high
    }

    /// What is to be ready or under way now that `level` is.
    pub(crate) fn target(&mut self, level: usize) -> usize {
        self.rising = level < if self.rising { self.high } else { self.low };
        if self.rising { self.high } else { 0 }
    }
}

impl<I: Items> Shelves<I> {
    pub(crate) fn new(items: I) -> Shelves<I> {
        let store = Store {
            items,
            notes: Notes::default(),
            traffic: Counters::default(),
            save: None,
            saves: 0,
            end: false,
            steps: 0,
            ended: None,
        };
        Shelves { store: Mutex::new(store), changed: Condvar::new() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Store<I>> {
        self.store.lock().unwrap_or_else(|poisoned| {
            // Whoever panicked may have left items that were not written: none of them leaves.
            let mut store = poisoned.into_inner();
            store.ended = Some(panicked());
            store
        })
    }

    /// The items, unless a check of the supply has failed.
    pub(crate) fn sound(&self) -> Result<MutexGuard<'_, Store<I>>, Fault> {
        let store = self.lock();
        match store.failure() {
            None => Ok(store),
            Some(fault) => Err(fault),
        }
    }

    pub(crate) fn want(&self, change: impl FnOnce(&mut Store<I>)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Says what is wanted and waits until it is there, unless it is there already. Nothing of this side's is
    /// held back meanwhile, and the peer can send what it has.
    pub(crate) fn wait(
        &self,
        channel: &mut Channel,
        change: impl FnOnce(&mut Store<I>),
        enough: impl Fn(&Store<I>) -> bool,
    ) -> Result<(), Fault> {
        if enough(&self.lock()) {
            return Ok(());
        }
        channel.flush()?;
        channel.set_phase(Phase::Preprocess);
        self.want(change);
        let result = self.wait_until(channel, enough);
        self.want(|store| {
            store.items.nobody_waits();
            store.save = None;
        });
        result
    }

    fn wait_until(
        &self,
        channel: &mut Channel,
        enough: impl Fn(&Store<I>) -> bool,
    ) -> Result<(), Fault> {
        let limit = channel.work_limit();
        let mut seen = (self.lock().steps, Instant::now());
        loop {
            let store = self.lock();
            let waiting = |store: &mut Store<I>| !enough(store) && store.ended.is_none();
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
            let saving = store.save.is_some();
            drop(store);
            if seen.1.elapsed() > limit {
                return Err(late(limit));
            }
            if !saving {
                channel.attend()?;
            }
        }
    }

    /// Waits for a change of what is wanted, or of what is there.
    pub(crate) fn wait_for_change<'s>(
        &'s self,
        store: MutexGuard<'s, Store<I>>,
    ) -> MutexGuard<'s, Store<I>> {
        self.changed.wait(store).unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the thread of the supply save all that is ready, and waits until it has.
    pub(crate) fn save_beside(&self, channel: &mut Channel, last: bool) -> Result<(), Fault> {
        let saved = self.lock().saves;
        self.wait(channel, |store| store.save = Some(last), |store| store.saves > saved)
    }

    /// All is on disk.
    pub(crate) fn saved(&self) {
        let mut store = self.lock();
        store.saves += 1;
        store.save = None;
    }

    /// Waits until this side wants to save as well, for the last time or not; nothing when it wants to end.
    pub(crate) fn wants_to_save(&self) -> Option<bool> {
        let waiting = |store: &mut Store<I>| !store.end && store.save.is_none();
        let store = self.changed.wait_while(self.lock(), waiting);
        let store = store.unwrap_or_else(PoisonError::into_inner);
        store.save.filter(|_| !store.end)
    }

    /// The pool that goes on, the first time that something is about to be made.
    ///
    /// # Errors
    /// `Storage`.
    pub(crate) fn begin_making(&self) -> Result<Option<Secret<Vec<u8>>>, Fault> {
        let keeper = self.lock().notes.keeper.clone();
        keeper.map_or(Ok(None), |keeper| locked(&keeper).begin_making())
    }

    /// Whether items are kept for later sessions.
    pub(crate) fn are_kept(&self) -> bool {
        self.lock().notes.are_kept()
    }

    /// Ends what is kept, if `fault` asks for it: before the peer hears of it.
    pub(crate) fn burn(&self, fault: &Fault) {
        let keeper = self.lock().notes.keeper.clone();
        keeper.iter().for_each(|keeper| locked(keeper).fail(fault));
    }

    /// The fault to report where requests ended with `fault`: that of the supply, if it is why the line to the peer broke.
    pub(crate) fn explain(&self, fault: Fault) -> Fault {
        let failure = self.lock().failure();
        failure.filter(|_| is_of_the_line(&fault)).unwrap_or(fault)
    }

    /// The supply has made something, with this traffic so far.
    pub(crate) fn made(&self, traffic: Counters) {
        self.lock().traffic = traffic;
        self.step();
    }

    /// Something was made: whoever waits for it waits on.
    pub(crate) fn step(&self) {
        self.lock().steps += 1;
        self.changed.notify_all();
    }

    /// The supply has ended, for this reason.
    pub(crate) fn end(&self, fault: Fault) {
        self.lock().ended.get_or_insert(fault);
        self.changed.notify_all();
    }

    /// Whether this side has asked for the end.
    pub(crate) fn is_ending(&self) -> bool {
        self.lock().end
    }

    /// The journal, locked for each note alone.
    pub(crate) fn journal(&self) -> impl Journal + '_ {
        Noted(self)
    }
}

struct Noted<'s, I>(&'s Shelves<I>);

impl<I: Items> Journal for Noted<'_, I> {
    fn reserve(&mut self, store: &str, items: Range<u64>) -> Result<(), Refused> {
        self.0.lock().notes.reserve(store, items)
    }

    fn consumed(&self, store: &str) -> u64 {
        self.0.lock().notes.consumed(store)
    }
}

/// A supply with a channel of its own, to be run by a thread.
pub(crate) trait Beside: Send + 'static {
    fn channel(&mut self) -> &mut Channel;

    /// Works until the session ends or something fails.
    fn work(&mut self) -> Result<(), Fault>;
}

/// Starts the thread. Requests hear from `shelves` why it has ended, and `cancel` ends their channel when a check has failed here.
///
/// # Errors
/// `Internal` when there is no thread.
pub(crate) fn start<I: Items + 'static>(
    mut supply: Box<impl Beside>,
    shelves: Arc<Shelves<I>>,
    cancel: Canceller,
) -> Result<JoinHandle<()>, Fault> {
    let thread = Builder::new().name("cenote supply".into()).spawn(move || {
        let _end = End(Arc::clone(&shelves), cancel.clone());
        let result = supply.work();
        let channel = supply.channel();
        shelves.made(channel.counters());
        match result {
            Ok(()) => channel.close(),
            Err(fault) => {
                // First, as the disk and an abort may take a moment: requests take, send and open nothing more. They burn as well
                // before they abort.
                shelves.end(fault.clone());
                if shelves.lock().failure().is_some() {
                    cancel.cancel();
                }
                shelves.burn(&fault);
                channel.abort();
            }
        }
        drop(supply);
    });
    thread.map_err(|error| Fault::Internal(format!("no thread for the supply: {error}")))
}

/// Says that the supply has ended, should its thread panic: requests would wait for ever, or open outputs.
struct End<I: Items>(Arc<Shelves<I>>, Canceller);

impl<I: Items> Drop for End<I> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end(panicked());
            self.1.cancel();
        }
        wipe_stack();
    }
}

pub(crate) fn panicked() -> Fault {
    Fault::Internal("the supply has failed".into())
}

fn late(limit: Duration) -> Fault {
    Fault::Transport(format!("the peer made nothing ready for {} s", limit.as_secs_f32()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_rises_to_the_high_mark_and_falls_to_the_low_one() {
        let mut marks = Marks::new(30, 100, 1000);
        let rises = |marks: &mut Marks, level| marks.target(level) > level;
        // It begins empty or nearly full: either way it rises first.
        assert!([0, 40, 99].iter().all(|level| rises(&mut marks, *level)));
        assert!([100, 120, 99, 31, 30].iter().all(|level| !rises(&mut marks, *level)));
        assert!([29, 30, 99].iter().all(|level| rises(&mut marks, *level)));
        assert!([100, 99].iter().all(|level| !rises(&mut marks, *level)));
        assert_eq!(marks.target(29), 100);
        // Of marks that are out of order or too high, the smaller and the most that may be.
        let mut one = Marks::new(500, 200, 100);
        assert_eq!((one.target(99), one.high()), (100, 100));
        assert_eq!(one.target(100), 0);
        assert_eq!(one.target(99), 100);
    }
}
