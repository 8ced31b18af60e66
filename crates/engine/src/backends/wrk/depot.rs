//! The depot of one session: ready triples and shares, where the supply puts them and requests take them.
//!
//! **Two ways to refill.** Where the channels to the peer can be extended, the supply has a channel and a thread
//! of its own (`refiller.rs`) and works beside requests; a request waits only for items that are not there yet.
//! Over a channel alone, the request itself refills between two chunks, with nothing in flight.
//! Both give the same items in the same order: they are numbered over the life of the session by the order in
//! which they are made, and leave by [`Stock::reserve`](cenote_pool::Stock::reserve) alone, so both sides take the same ones without a
//! message.
//! **What a request says.** What it waits for, and how many ANDs it is going to take: the leader makes them ahead
//! of it, `REFILLS_AHEAD` refills at most, so that memory does not grow with the request.
//! **Waiting.** A side that waits for items reads what comes on the channel of requests meanwhile: a peer that
//! has tables to send would otherwise never come to the point where it orders what both wait for.
//! **Checks.** Items come here after all checks of their batch (`supply.rs`). Once one of them has failed,
//! nothing leaves, and the channel of requests is cancelled (`refiller.rs`): nothing is opened any more, nor sent.

use std::sync::Arc;
use std::thread::JoinHandle;

use bytemuck::cast_slice;
use cenote_net::{Canceller, Channel, Channels, Counters, Fault, Phase, Role};
use cenote_pool::{Journal, Lease, Level, Occupancy};
use cenote_prim::{Block, Prg, Secret, SessionId, Workers};

use super::WrkParams;
use super::opening::Openings;
use super::refiller::Refiller;
use super::share::Share;
use super::shelves::{Items, Shelves, Store};
use super::stored::Stored;
use super::supply::{MAX_STOCK, MAX_TAKE, POOL, SPARE_SHARES, Supply, set_up};
use crate::parts::keeper::Keeper;
use crate::parts::notes::{locked, unkept};
use crate::parts::pace::Pace;
use crate::parts::shelves::{Marks, start};
use crate::session::store_fault;

/// Refills that the leader makes ahead of a request whose size it knows, besides those that are on the line.
const REFILLS_AHEAD: usize = 2;
/// Turns from the start of a batch's last slice to its triples, by the lag.
const STEPS: usize = 4;
/// The number of the supply's channel.
const CHANNEL: u32 = 1;

/// One party's ready items, and what refills them.
pub struct Depot {
    params: WrkParams,
    delta: Secret<Block>,
    start: Block,
    openings: Openings,
    shelves: Arc<Shelves>,
    refills: Refills,
    pace: Pace,
    /// Triples made ahead of a request.
    ahead: usize,
    workers: Workers,
}

/// Who refills, and where.
enum Refills {
    /// Whoever needs items, on the channel of requests.
    Between(Box<dyn Supply>),
    /// A thread, on a channel of its own. It waits for the first call, so that a journal comes before it.
    Beside { waiting: Option<Box<Refiller>>, thread: Option<JoinHandle<()>>, canceller: Canceller },
}

impl Depot {
    /// Sets the supply up, on a channel of its own if there is a way to one; makes no items yet. With a `keeper` there are those that it kept.
    ///
    /// # Errors
    /// Faults of the channels and of the checks of oblivious transfer; `Storage`.
    pub fn open(
        channels: &mut Channels,
        session: SessionId,
        role: Role,
        mut params: WrkParams,
        prg: &mut Prg,
        mut keeper: Option<Keeper>,
    ) -> Result<Depot, Fault> {
        let shelves = Arc::new(Shelves::new(Items::new(&params)));
        let (mut supply, beside) = if channels.can_open() {
            let nonce = prg.bytes32();
            let (mut channel, agreed) = channels.open(CHANNEL, session.0, role, nonce)?;
            let id = SessionId(agreed.session_id);
            let supply = paced_supply(&mut channel, id, role, &mut params, prg, keeper.as_mut());
            let (supply, pace) = supply.inspect_err(|fault| {
                keeper.iter_mut().for_each(|keeper| keeper.fail(fault));
                channel.abort();
            })?;
            (supply, Some((channel, id, pace)))
        } else {
            params = params.with_ot(params.ot);
            let (control, prg) = (channels.control(), prg.fork());
            let supply = set_up(control, session, role, params, prg, keeper.as_mut());
            let failed = |fault: &Fault| keeper.iter_mut().for_each(|keeper| keeper.fail(fault));
            (supply.inspect_err(failed)?, None)
        };
        let restored = match keeper {
            Some(keeper) => shelves.restore(keeper, &mut *supply, &mut params)?,
            None => 0,
        };
        let pace = beside.as_ref().map_or(Pace::LEAST, |(.., pace)| *pace);
        let (delta, start) = (Secret::new(supply.delta()), supply.start());
        let on_the_line = STEPS * (pace.lag - 1) / supply.slices().of_batch() as usize;
        let ahead = ((REFILLS_AHEAD + on_the_line) * params.triples()).min(MAX_STOCK);
        // Another refill begins just below that.
        shelves.lock().items.triples.expect(ahead + params.triples());
        let refills = match beside {
            None => Refills::Between(supply),
            Some((channel, id, pace)) => {
                let openings = Openings::new(id, role);
                let shelves = Arc::clone(&shelves);
                shelves.made(channel.counters());
                let canceller = channels.control().canceller();
                let lag = pace.lag;
                let ordered = restored;
                let refiller = Refiller { supply, channel, openings, shelves, role, lag, ordered };
                Refills::Beside { waiting: Some(Box::new(refiller)), thread: None, canceller }
            }
        };
        let openings = Openings::new(session, role);
        let workers = Workers::default();
        Ok(Depot { params, delta, start, openings, shelves, refills, pace, ahead, workers })
    }

    /// What requests need of this party's global key ([`Width::kept_delta`](super::Width::kept_delta)).
    #[must_use]
    pub fn delta(&self) -> Block {
        *self.delta
    }

    /// A joint coin that was tossed after both global keys were fixed.
    #[must_use]
    pub fn start(&self) -> Block {
        self.start
    }

    /// The parameters of the session.
    #[must_use]
    pub fn params(&self) -> &WrkParams {
        &self.params
    }

    /// How far the garbler of requests is ahead of their checks.
    pub(super) const fn pace(&self) -> Pace {
        self.pace
    }

    /// The openings of authenticated bits on the channel of requests.
    pub fn openings(&mut self) -> &mut Openings {
        &mut self.openings
    }

    /// Whether taking so many triples or shares now would talk on the channel of requests.
    #[must_use]
    pub fn would_talk(&self, triples: usize, shares: usize) -> bool {
        matches!(self.refills, Refills::Between(_)) && {
            let ready = &self.shelves.lock().items;
            ready.triples.level() < triples || ready.shares.level() < shares
        }
    }

    /// Hands `n` ready triples, and the openings of this channel, to `user`, at most [`MAX_TAKE`], when they are there. They
    /// are the blocks of the lease, as [`Triple`](super::bucket::Triple)s of the session's width.
    ///
    /// # Errors
    /// Faults of the channels and of the checks.
    pub fn take_triples<T>(
        &mut self,
        channel: &mut Channel,
        n: usize,
        user: impl FnOnce(Lease<'_>, &mut Openings) -> T,
    ) -> Result<T, Fault> {
        self.wait_for_triples(channel, n)?;
        let Store { items: Items { triples, wanted, .. }, notes, .. } =
            &mut *self.shelves.sound()?;
        wanted.expected = wanted.expected.saturating_sub(n);
        let lease = triples.reserve(notes, n).map_err(store_fault)?;
        // What was ahead of the request is less now.
        self.shelves.changed.notify_all();
        Ok(user(lease, &mut self.openings))
    }

    /// Takes `n` random authenticated bits, at most [`MAX_TAKE`].
    ///
    /// # Errors
    /// Faults of the channels and of the checks.
    pub fn take_shares(
        &mut self,
        channel: &mut Channel,
        n: usize,
    ) -> Result<Secret<Vec<Share>>, Fault> {
        let missing = n.saturating_sub(self.shelves.lock().items.shares.level());
        if missing > 0 {
            self.make_shares(channel, missing + SPARE_SHARES, n)?;
        }
        let Store { items: Items { shares, .. }, notes, .. } = &mut *self.shelves.sound()?;
        let lease = shares.reserve(notes, n).map_err(store_fault)?;
        Ok(Secret::new(cast_slice(&lease).to_vec()))
    }

    /// Fills the pool, unless it is full or there is none.
    ///
    /// # Errors
    /// Faults of the channels and of the checks.
    pub fn fill(&mut self, channel: &mut Channel) -> Result<(), Fault> {
        self.start_supply()?;
        match &mut self.refills {
            Refills::Between(supply) => supply.fill(channel, &mut self.openings, &self.shelves),
            Refills::Beside { .. } if self.params.pool.is_none() => Ok(()),
            Refills::Beside { .. } => {
                let full = |store: &Store| store.items.pool_is_full();
                self.shelves.wait(channel, |store| store.items.wanted.pool = true, full)
            }
        }
    }

    /// Makes `triples` ready, or [`MAX_STOCK`] if that is less, and some shares for inputs.
    ///
    /// # Errors
    /// Faults of the channels and of the checks.
    pub fn stock(&mut self, channel: &mut Channel, triples: usize) -> Result<(), Fault> {
        self.wait_for_triples(channel, triples.min(MAX_STOCK))?;
        channel.set_phase(Phase::Preprocess);
        // What is kept is for many requests, which had better make nothing.
        let spare = if self.is_kept() { MAX_TAKE } else { SPARE_SHARES };
        if self.shelves.lock().items.shares.level() < spare {
            self.make_shares(channel, spare, spare)?;
        }
        Ok(())
    }

    /// From now on begins to make triples where fewer than `low` are ready and goes on until `high` are, or [`MAX_STOCK`] if that is less, where
    /// the supply works beside requests.
    ///
    /// # Errors
    /// `Internal` when there is no thread for it.
    pub fn keep(&mut self, low: usize, high: usize) -> Result<(), Fault> {
        self.start_supply()?;
        self.shelves.want(|store| store.items.wanted.kept = Marks::new(low, high, MAX_STOCK));
        Ok(())
    }

    /// Announces a request that takes as many triples, and perhaps fewer or more.
    ///
    /// # Errors
    /// `Internal` when there is no thread for the supply.
    pub fn expect(&mut self, triples: u64) -> Result<(), Fault> {
        self.start_supply()?;
        let ahead = self.ahead;
        self.shelves.want(|store| {
            let wanted = &mut store.items.wanted;
            (wanted.expected, wanted.ahead) =
                (usize::try_from(triples).unwrap_or(usize::MAX), ahead);
        });
        Ok(())
    }

    /// Starts the thread of the supply, if it has one that does not run yet.
    fn start_supply(&mut self) -> Result<(), Fault> {
        let Refills::Beside { waiting, thread, canceller } = &mut self.refills else {
            return Ok(());
        };
        if let Some(refiller) = waiting.take() {
            *thread = Some(start(refiller, Arc::clone(&self.shelves), canceller.clone())?);
        }
        Ok(())
    }

    fn wait_for_triples(&mut self, channel: &mut Channel, n: usize) -> Result<(), Fault> {
        self.start_supply()?;
        match &mut self.refills {
            Refills::Between(supply) => {
                while self.shelves.lock().items.triples.level() < n {
                    supply.refill(channel, &mut self.openings, &self.shelves)?;
                }
                Ok(())
            }
            Refills::Beside { .. } => {
                let enough = |store: &Store| store.items.triples.level() >= n;
                self.shelves.wait(channel, |store| store.items.wanted.triples = n, enough)
            }
        }
    }

    /// Makes `n` shares or some more, so that `ready` are there.
    fn make_shares(&mut self, channel: &mut Channel, n: usize, ready: usize) -> Result<(), Fault> {
        self.start_supply()?;
        match &mut self.refills {
            Refills::Between(supply) => {
                supply.spare_shares(channel, &mut self.openings, &self.shelves, n)
            }
            Refills::Beside { .. } => {
                let enough = |store: &Store| store.items.shares.level() >= ready;
                self.shelves.wait(channel, |store| store.items.wanted.shares = n, enough)
            }
        }
    }

    /// Keeps what is ready for a later session, on disk at both sides when this returns; the pool as well if `last`, and then nothing is made any more.
    /// Both sides call it, between the same requests.
    ///
    /// # Errors
    /// `Misuse` for a session that keeps nothing; `Storage`; faults of the channels.
    pub fn save(&mut self, channel: &mut Channel, last: bool) -> Result<(), Fault> {
        if !self.is_kept() {
            return Err(unkept());
        }
        self.start_supply()?;
        match &mut self.refills {
            Refills::Between(supply) => {
                channel.set_phase(Phase::Preprocess);
                self.shelves.save(channel, &**supply, last)?;
                channel.flush()
            }
            Refills::Beside { .. } => self.shelves.save_beside(channel, last),
        }
    }

    /// Memories of programs, encoded: what an earlier session saved of them, or what is saved next.
    pub(super) fn memories(&self, change: impl FnOnce(&mut Stored)) {
        change(&mut self.shelves.lock().items.memories);
    }

    /// Notes that a job may change memories, if anything is kept.
    ///
    /// # Errors
    /// `Storage`.
    pub(super) fn change_memories(&self) -> Result<(), Fault> {
        let keeper = self.shelves.lock().notes.keeper.clone();
        keeper.map_or(Ok(()), |keeper| locked(&keeper).change_memories())
    }

    /// Whether a job was noted since memories were saved.
    pub(super) fn has_changed_memories(&self) -> bool {
        let keeper = self.shelves.lock().notes.keeper.clone();
        keeper.is_some_and(|keeper| locked(&keeper).has_changed_memories())
    }

    /// Whether items are kept for later sessions.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.shelves.are_kept()
    }

    /// Ends what is kept, if `fault` asks for it: before the peer hears of it.
    pub fn burn(&self, fault: &Fault) {
        self.shelves.burn(fault);
    }

    /// Returns the fault to report where requests ended with `fault`: that of the supply, if it is why the line
    /// to the peer broke.
    #[must_use]
    pub fn explain(&self, fault: Fault) -> Fault {
        self.shelves.explain(fault)
    }

    /// Levels of the pool and of the stocks.
    #[must_use]
    pub fn occupancy(&self) -> Occupancy {
        let store = self.shelves.lock();
        let Store { items: Items { triples, shares, pool, .. }, notes, .. } = &*store;
        let pool = pool.clone().map(|pool| Level { consumed: notes.consumed(POOL), ..pool });
        let stocks = [triples, shares].map(|stock| stock.counters(notes));
        let stores = pool.into_iter().chain(stocks).collect();
        Occupancy { stores, epsilon_log2: self.params.epsilon_log2 }
    }

    /// Replaces the journal, which sees every item before it leaves.
    ///
    /// # Errors
    /// `Misuse` when items have left.
    pub fn set_journal(&mut self, journal: Box<dyn Journal>) -> Result<(), Fault> {
        let Store { items: Items { triples, shares, .. }, notes, .. } = &mut *self.shelves.lock();
        notes.replace(journal, [&*triples, &*shares])
    }

    /// Lets so many triples, or [`MAX_STOCK`] if that is less, be made ahead of a request that is announced from now on.
    pub(super) fn set_ahead(&mut self, triples: usize) {
        self.ahead = triples.min(MAX_STOCK);
    }

    /// The threads that compute for the supply and for requests.
    pub(super) fn workers(&self) -> Workers {
        self.workers.clone()
    }

    /// Spreads computation over so many threads.
    ///
    /// # Errors
    /// `Misuse` when it works beside requests already; `Internal` when there is no thread for it.
    pub(super) fn set_threads(&mut self, threads: usize) -> Result<(), Fault> {
        let supply = match &mut self.refills {
            Refills::Between(supply) => supply,
            Refills::Beside { waiting: Some(refiller), .. } => &mut refiller.supply,
            Refills::Beside { .. } => {
                return Err(Fault::Misuse("the session works on its threads already".into()));
            }
        };
        let no_thread = |error| Fault::Internal(format!("no thread for the session: {error}"));
        self.workers = Workers::new(threads).map_err(no_thread)?;
        supply.set_workers(self.workers.clone());
        Ok(())
    }

    /// Traffic of the supply's channel.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.shelves.lock().traffic
    }

    /// Asks the supply to end; its last step may take a moment, for which the drop waits.
    pub fn end(&self) {
        let Refills::Beside { canceller, .. } = &self.refills else { return };
        self.shelves.want(|store| store.end = true);
        // The supply's thread may be blocked on the peer: this wakes it. Abort and bye still leave a cancelled channel.
        canceller.cancel();
    }

    /// Returns the shares that lie in the pool.
    #[cfg(test)]
    pub(crate) fn pooled(&self) -> Vec<Share> {
        match &self.refills {
            Refills::Between(supply) => supply.pooled(),
            Refills::Beside { .. } => Vec::new(),
        }
    }

    /// Returns this party's global key, whole, where the supply has no thread of its own.
    #[cfg(test)]
    pub(crate) fn whole_delta(&self) -> Option<Block> {
        match &self.refills {
            Refills::Between(supply) => Some(supply.whole_delta()),
            Refills::Beside { .. } => None,
        }
    }

    #[cfg(test)]
    pub(super) fn shelves(&self) -> Arc<Shelves> {
        Arc::clone(&self.shelves)
    }
}

impl Drop for Depot {
    fn drop(&mut self) {
        self.end();
        if let Refills::Beside { thread, .. } = &mut self.refills
            && let Some(thread) = thread.take()
        {
            // It has nothing to say, not even of a panic.
            let _ = thread.join();
        }
    }
}

/// A supply on a channel of its own, at the pace of its line and with the oblivious transfer that suits it.
fn paced_supply(
    channel: &mut Channel,
    id: SessionId,
    role: Role,
    params: &mut WrkParams,
    prg: &mut Prg,
    keeper: Option<&mut Keeper>,
) -> Result<(Box<dyn Supply>, Pace), Fault> {
    let allowed = params.ots();
    let (pace, chosen) = Pace::agree(channel, role, allowed.len(), |line| {
        let chosen = params.fastest(&allowed, line);
        (Pace::of(line, params.with_ot(allowed[chosen]).loads()), chosen)
    })?;
    *params = params.with_ot(allowed[chosen]);
    let mut supply = set_up(channel, id, role, *params, prg.fork(), keeper)?;
    supply.set_lag(pace.lag as u64);
    // The supply's first turn may be a long time away.
    channel.flush()?;
    Ok((supply, pace))
}
