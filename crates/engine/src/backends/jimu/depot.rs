//! The depot of one session: ready cores, wires in escrow and wires for inputs, where the supply puts them and requests take them.
//!
//! **Two ways to refill.** The request itself refills between two chunks, on its channel. From [`Depot::keep`] on, where the channels to the
//! peer can be extended, the supply has a channel and a thread of its own (`refiller.rs`) and works beside requests, which wait only for
//! what is not there yet. Both give the same items in the same order: they are numbered by the order in which they are made, and leave
//! by [`Stock::reserve`] alone, so both sides take the same ones without a message.
//! **Checks.** Items come here after all checks of their batch and of their own solders. Once one has failed in the thread of the supply,
//! nothing leaves, and the channel of requests is cancelled (`parts/shelves.rs`).

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cenote_net::{Canceller, Channel, Channels, Counters, Fault, Phase, Role};
use cenote_pool::{Journal, Lease, Level, Occupancy, Stock};
use cenote_prim::{Block, Secret, SessionId};

use super::ihash::Statement;
use super::kept::{MOST_KEPT, WIRES, other_size};
use super::params::JimuParams;
use super::refiller::Refiller;
use super::{MAX_STOCK, batch, input_check};
use crate::parts::keeper::{Keeper, KeptPool, POOL_PART};
use crate::parts::notes::{kept, locked, unkept};
use crate::parts::shelves::{self, Marks, start};
use crate::session::store_fault;

/// The number of the supply's channel.
const CHANNEL: u32 = 1;
/// The part of a snapshot that has the evaluator's statements about wires in escrow.
const STATEMENTS: &str = "statements";
/// How long an orderly end waits for the batch that is being made.
const LAST_BATCH: Duration = Duration::from_secs(10);

/// The items, shared by the supply and by requests.
pub(super) type Shelves = shelves::Shelves<Items>;
/// What is under their lock.
pub(super) type Ready = shelves::Store<Items>;

/// The stocks of ready cores, pool by pool, then that of wires in escrow, then that of wires for the evaluator's inputs; and what is wanted of each.
pub(super) struct Items {
    pub(super) stocks: Vec<Stock>,
    wanted: Vec<Wanted>,
    /// Levels of the pools.
    pools: Vec<Level>,
    /// The evaluator's, of the batches of wires in escrow that are ready.
    stated: Vec<Stated>,
}

/// A batch of wires in escrow: the numbers of its items, and what it states.
pub(super) type Stated = (Range<u64>, Arc<Statement>);

/// The items of a stock that are wanted.
#[derive(Clone, Copy, Default)]
struct Wanted {
    /// So many are waited for.
    now: usize,
    /// So many are kept ready.
    kept: Marks,
}

impl shelves::Items for Items {
    fn nobody_waits(&mut self) {
        self.wanted.iter_mut().for_each(|wanted| wanted.now = 0);
    }
}

impl Items {
    /// Nothing ready.
    pub(super) fn new(stocks: Vec<Stock>) -> Items {
        let wanted = vec![Wanted::default(); stocks.len()];
        Items { stocks, wanted, pools: Vec::new(), stated: Vec::new() }
    }

    /// Number of the stock of wires in escrow, behind those of cores; that of wires for inputs comes next.
    pub(super) fn escrow(&self) -> usize {
        self.stocks.len() - 2
    }

    /// Takes wires in escrow of a batch that states this.
    pub(super) fn put_escrowed(&mut self, blocks: &[Block], statement: Statement) {
        let at = self.escrow();
        let stock = &mut self.stocks[at];
        let (first, wires) = (stock.numbers().end, blocks.len() / stock.stride());
        stock.room(wires).copy_from_slice(blocks);
        self.stated.push((first..first + wires as u64, Arc::new(statement)));
    }

    /// What is stated of wires in escrow with these numbers, the first that are ready or were taken last.
    pub(super) fn stated(&mut self, items: &Range<u64>) -> Vec<Stated> {
        self.stated.retain(|(of, _)| of.end > items.start);
        self.stated.iter().filter(|(of, _)| of.start < items.end).cloned().collect()
    }

    /// All that is stated of what is ready, to be kept.
    fn statements(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (items, statement) in &self.stated {
            let Statement { first, vectors, sacrificed, seed, sums } = &**statement;
            let numbers = [items.start, items.end, *first, *vectors, *sacrificed];
            bytes.extend(numbers.into_iter().flat_map(u64::to_le_bytes));
            bytes.extend_from_slice(&seed.to_bytes());
            bytes.extend_from_slice(Block::as_bytes(sums));
        }
        bytes
    }

    /// Takes over what [`Items::statements`] gave, of a code of so many places.
    fn put_back_statements(&mut self, bytes: &[u8], places: usize) -> Result<(), Fault> {
        let each = 5 * 8 + 16 + 16 * places;
        if !bytes.len().is_multiple_of(each) {
            return Err(other_size(STATEMENTS));
        }
        self.stated.extend(bytes.chunks_exact(each).map(|bytes| {
            let (numbers, rest) = bytes.split_at(5 * 8);
            let number =
                |i: usize| numbers.as_chunks().0.get(i).map_or(0, |n| u64::from_le_bytes(*n));
            let blocks: Vec<Block> =
                rest.as_chunks().0.iter().map(|bytes| Block::from_bytes(*bytes)).collect();
            let statement = Statement {
                first: number(2),
                vectors: number(3),
                sacrificed: number(4),
                seed: blocks[0],
                sums: blocks[1..].to_vec(),
            };
            (number(0)..number(1), Arc::new(statement))
        }));
        Ok(())
    }

    /// Items ready in stock number `at`.
    pub(super) fn level(&self, at: usize) -> usize {
        self.stocks.get(at).map_or(0, Stock::level)
    }

    /// A stock of which somebody waits for more, and how many are missing there.
    pub(super) fn is_waited_for(&self) -> Option<(usize, usize)> {
        let missing = |at: usize| self.wanted[at].now.saturating_sub(self.level(at));
        (0..self.stocks.len()).map(|at| (at, missing(at))).find(|(_, missing)| *missing > 0)
    }

    /// A stock that is to be refilled, and how many are missing there.
    pub(super) fn is_low(&mut self) -> Option<(usize, usize)> {
        let levels = self.stocks.iter().map(Stock::level);
        let missing = levels.zip(&mut self.wanted).map(|(level, wanted)| {
            let target = wanted.kept.target(level);
            target.saturating_sub(level)
        });
        // Escrow and inputs first, which take a small part of the time.
        missing.enumerate().rev().find(|(_, missing)| *missing > 0)
    }

    /// The most of a stock that this side lacks, now or from time to time.
    pub(super) fn most(&self, at: usize) -> usize {
        self.wanted.get(at).map_or(0, |wanted| wanted.now.max(wanted.kept.high()))
    }
}

impl Shelves {
    /// The pools have these levels.
    pub(super) fn pools_are(&self, levels: Vec<Level>) {
        self.lock().items.pools = levels;
    }
}

impl Ready {
    /// The next ready cores, as many of each pool as `counts` says.
    pub(super) fn take_cores(&mut self, counts: &[usize]) -> Result<Vec<Lease<'_>>, Fault> {
        let Ready { items, notes, .. } = self;
        let cores = items.stocks.iter_mut().zip(counts);
        cores.map(|(stock, &count)| stock.reserve(notes, count).map_err(store_fault)).collect()
    }
}

/// One side's supply.
pub(super) trait Supply: Send + 'static {
    /// A batch of what stock number `at` holds; of single wires `missing`, or some more or fewer. What draws from a pool is charged to `buckets`.
    fn make(
        &mut self,
        channel: &mut Channel,
        at: usize,
        missing: usize,
        buckets: Phase,
    ) -> Result<(), Fault>;

    /// Fills pool number `at`, unless it is full.
    fn fill(&mut self, channel: &mut Channel, at: usize) -> Result<(), Fault>;

    /// Levels of all pools.
    fn levels(&self) -> Vec<Level>;

    /// All pools as a snapshot names them.
    fn kept_pools(&self) -> Vec<KeptPool> {
        let pool = |Level { name, level, capacity, .. }| KeptPool {
            name,
            capacity: capacity.unwrap_or_default(),
            items: level,
        };
        self.levels().into_iter().map(pool).collect()
    }

    /// What a snapshot has of all full pools.
    fn pool_bytes(&self) -> Result<Secret<Vec<u8>>, Fault>;

    /// These pools lie on disk, full, until something is made.
    fn go_on(&mut self, waiting: Vec<bool>);

    /// Wires that were hashed so far.
    fn hashed(&self) -> u64;

    /// Fresh randomness.
    fn nonce(&mut self) -> [u8; 32];

    /// The identity of the connection: coins and sums belong to it until [`Supply::bind`].
    fn session(&self) -> SessionId;

    /// Coins and sums belong to the channel with this identity from now on.
    fn bind(&mut self, channel: SessionId);
}

/// One party's ready items, and what refills them.
pub(super) struct Depot<S> {
    params: JimuParams,
    shelves: Arc<Shelves>,
    /// None once it works beside requests.
    supply: Option<Box<S>>,
    beside: Option<Thread>,
}

/// The thread of a supply.
struct Thread {
    thread: JoinHandle<()>,
    /// Of all channels of the session.
    cancel: Canceller,
    leads: bool,
}

impl<S: Supply> Depot<S> {
    pub(super) fn new(params: JimuParams, shelves: Arc<Shelves>, supply: S) -> Depot<S> {
        shelves.pools_are(supply.levels());
        Depot { params, shelves, supply: Some(Box::new(supply)), beside: None }
    }

    pub(super) fn params(&self) -> &JimuParams {
        &self.params
    }

    /// The supply, where it does not work beside requests.
    pub(super) fn supply(&mut self) -> Result<&mut S, Fault> {
        let none = || Fault::Misuse("the supply works beside requests".into());
        self.supply.as_deref_mut().ok_or_else(none)
    }

    /// The items that are ready.
    ///
    /// # Errors
    /// That of the supply, if a check has failed there.
    pub(super) fn ready(&self) -> Result<MutexGuard<'_, Ready>, Fault> {
        self.shelves.sound()
    }

    /// Something was taken: perhaps more is to be made now.
    pub(super) fn taken(&self) {
        self.shelves.changed.notify_all();
    }

    /// Sees to it that so many items of stocks are ready, each by its number.
    pub(super) fn reserve(
        &mut self,
        channel: &mut Channel,
        wanted: &[(usize, usize)],
        buckets: Phase,
    ) -> Result<(), Fault> {
        let shelves = &self.shelves;
        let Some(supply) = &mut self.supply else {
            let want = |store: &mut Ready| {
                wanted.iter().for_each(|&(at, count)| store.items.wanted[at].now = count);
            };
            let enough =
                |store: &Ready| wanted.iter().all(|&(at, count)| store.items.level(at) >= count);
            return shelves.wait(channel, want, enough);
        };
        for &(at, count) in wanted {
            loop {
                let missing = count.saturating_sub(shelves.lock().items.level(at));
                if missing == 0 {
                    break;
                }
                supply.make(channel, at, missing, buckets)?;
                shelves.pools_are(supply.levels());
            }
        }
        Ok(())
    }

    /// The next `count` single wires of stock number `at`, of the `coming` ones that are taken one piece after the other, and their numbers.
    fn take(
        &mut self,
        channel: &mut Channel,
        (at, most): (usize, usize),
        (count, coming): (usize, usize),
    ) -> Result<(Secret<Vec<Block>>, Range<u64>), Fault> {
        // As many as a batch has: each takes some round trips.
        let wires = coming.min(most).max(count);
        let enough = move |store: &Ready| store.items.level(at) >= count;
        let is_there = enough(&self.shelves.lock());
        if !is_there && self.supply.is_some() {
            self.reserve(channel, &[(at, wires)], Phase::Online)?;
        } else if !is_there {
            // Beside requests the levels of the two sides differ for a moment, and a leader that has `count` orders no more for this: a follower may wait
            // for as many and not for all `wires`.
            let want = |store: &mut Ready| store.items.wanted[at].now = wires;
            self.shelves.wait(channel, want, enough)?;
        }
        let Ready { items, notes, .. } = &mut *self.shelves.sound()?;
        let stock = &mut items.stocks[at];
        let first = stock.numbers().start;
        let lease = stock.reserve(notes, count).map_err(store_fault)?;
        self.taken();
        Ok((Secret::new(lease.to_vec()), first..first + count as u64))
    }

    /// The next `count` wires in escrow, of the `coming` ones that are taken one piece after the other, and their numbers.
    pub(super) fn take_escrowed(
        &mut self,
        channel: &mut Channel,
        count: usize,
        coming: usize,
    ) -> Result<(Secret<Vec<Block>>, Range<u64>), Fault> {
        let stock = (self.params.escrow_stock(), batch::MOST_ESCROWED);
        self.take(channel, stock, (count, coming))
    }

    /// The next `count` wires for the evaluator's inputs, of the `coming` ones that an input takes one piece after the other.
    pub(super) fn take_inputs(
        &mut self,
        channel: &mut Channel,
        count: usize,
        coming: usize,
    ) -> Result<Secret<Vec<Block>>, Fault> {
        let stock = (self.params.escrow_stock() + 1, input_check::most(&self.params));
        self.take(channel, stock, (count, coming)).map(|(wires, _)| wires)
    }

    /// The pool of ANDs. Those of wider cores are filled by the first request that has a multiplexer for them.
    pub(super) fn fill(&mut self, channel: &mut Channel) -> Result<(), Fault> {
        let Some(supply) = &mut self.supply else {
            // It is full as soon as anything comes out of it.
            return self.reserve(channel, &[(0, 1)], Phase::Preprocess);
        };
        supply.fill(channel, 0)?;
        self.shelves.pools_are(supply.levels());
        Ok(())
    }

    /// Makes `ands` single ANDs ready, and some wires for inputs and in escrow.
    pub(super) fn stock(&mut self, channel: &mut Channel, ands: usize) -> Result<(), Fault> {
        let (escrow, spare) = (self.params.escrow_stock(), self.params.spare(self.is_kept()));
        let wanted = [(0, ands.min(self.most())), (escrow + 1, spare), (escrow, spare)];
        self.reserve(channel, &wanted, Phase::Preprocess)
    }

    /// Most single ANDs that are kept ready.
    fn most(&self) -> usize {
        if self.is_kept() { MOST_KEPT } else { MAX_STOCK }
    }

    /// From now on the supply works beside requests, if it can have a channel: it begins to make single ANDs where fewer than `low` are
    /// ready and goes on until `high` are, or a number that is the most; wires for inputs and in escrow likewise.
    pub(super) fn keep(
        &mut self,
        channels: &mut Channels,
        role: Role,
        (low, high): (usize, usize),
    ) -> Result<(), Fault> {
        let spare = self.params.spare(self.is_kept());
        let (escrow, most) = (self.params.escrow_stock(), self.most());
        self.shelves.want(|store| {
            let wanted = &mut store.items.wanted;
            wanted[0].kept = Marks::new(low, high, most);
            for at in [escrow, escrow + 1] {
                wanted[at].kept = Marks::new(spare.div_ceil(2), spare, most);
            }
        });
        let Some(supply) = self.supply.take_if(|_| channels.can_open()) else { return Ok(()) };
        self.begin_beside(channels, role, supply).inspect_err(|fault| {
            // Nothing is made any more.
            self.shelves.end(fault.clone());
        })
    }

    fn begin_beside(
        &mut self,
        channels: &mut Channels,
        role: Role,
        mut supply: Box<S>,
    ) -> Result<(), Fault> {
        let (nonce, session) = (supply.nonce(), supply.session());
        let (channel, agreed) = channels.open(CHANNEL, session.0, role, nonce)?;
        supply.bind(SessionId(agreed.session_id));
        let shelves = Arc::clone(&self.shelves);
        shelves.made(channel.counters());
        let refiller = Refiller { supply, channel, shelves, role };
        let cancel = channels.control().canceller();
        let thread = start(Box::new(refiller), Arc::clone(&self.shelves), cancel.clone())?;
        self.beside = Some(Thread { thread, cancel, leads: role == Role::Garbler });
        Ok(())
    }

    /// Takes over what `keeper` kept of stocks and pools; the bound is for all pools so far.
    pub(super) fn put_back(&mut self, mut keeper: Keeper) -> Result<(), Fault> {
        let supply = self.supply()?;
        let pools = supply.kept_pools().into_iter().map(|pool| (pool.name, pool.capacity));
        let items = keeper.pools_go_on(&pools.collect::<Vec<_>>())?.unwrap_or_default();
        supply.go_on(items.into_iter().map(|items| items > 0).collect());
        let (hashed, levels) = (supply.hashed(), supply.levels());
        self.params.kept = Some(keeper.error());
        let Ready { items, notes, .. } = &mut *self.shelves.lock();
        items.pools = levels;
        for stock in &mut items.stocks {
            notes.put_back(&keeper, stock)?;
        }
        items.put_back_statements(&keeper.part(STATEMENTS)?, self.params.codes.perms.n as usize)?;
        notes.journal.reserve(WIRES, 0..hashed).map_err(|no| store_fault(no.into()))?;
        notes.keeper = Some(Arc::new(Mutex::new(keeper)));
        Ok(())
    }

    /// Keeps what is ready for a later session; if `last`, the pools as well, and then nothing is made any more.
    pub(super) fn save(&mut self, channel: &mut Channel, last: bool) -> Result<(), Fault> {
        if !self.is_kept() {
            return Err(unkept());
        }
        match &self.supply {
            Some(supply) => save(&**supply, &self.shelves, channel, last),
            None => self.shelves.save_beside(channel, last),
        }
    }

    /// Writes down what was found, or that nothing was: the same work either way.
    pub(super) fn remember(&self, found: &[u8]) -> Result<(), Fault> {
        let keeper = self.shelves.lock().notes.keeper.clone();
        keeper.map_or(Ok(()), |keeper| locked(&keeper).amend(found))
    }

    /// Another journal, from now on.
    pub(super) fn set_journal(&mut self, mut journal: Box<dyn Journal>) -> Result<(), Fault> {
        let hashed = self.supply()?.hashed();
        let Ready { items, notes, .. } = &mut *self.shelves.lock();
        if notes.are_kept() {
            let told = journal.reserve(WIRES, 0..hashed);
            told.map_err(|refused| store_fault(refused.into()))?;
        }
        notes.replace(journal, &items.stocks)
    }

    /// Whether items outlive the session.
    pub(super) fn is_kept(&self) -> bool {
        self.shelves.are_kept()
    }

    /// Ends what is kept, if `fault` asks for it: before the peer hears of it. Returns the fault to report.
    pub(super) fn burn(&self, fault: Fault) -> Fault {
        let fault = self.shelves.explain(fault);
        self.shelves.burn(&fault);
        fault
    }

    /// Levels of all pools and stocks.
    pub(super) fn occupancy(&self) -> Occupancy {
        let Ready { items, notes, .. } = &*self.shelves.lock();
        let consumed =
            |pool: &Level| Level { consumed: notes.consumed(&pool.name), ..pool.clone() };
        let stocks = items.stocks.iter().map(|stock| stock.counters(notes));
        let stores = items.pools.iter().map(consumed).chain(stocks).collect();
        Occupancy { stores, epsilon_log2: self.params.epsilon_log2() }
    }

    #[cfg(test)]
    pub(super) fn shelves(&self) -> Arc<Shelves> {
        Arc::clone(&self.shelves)
    }

    #[cfg(test)]
    pub(super) fn level(&self, at: usize) -> usize {
        self.shelves.lock().items.level(at)
    }

    /// Traffic of the supply's channel.
    pub(super) fn counters(&self) -> Counters {
        self.shelves.lock().traffic
    }

    /// An orderly end: a leader ends the batch that it makes first, for the follower's last request may take of it.
    pub(super) fn finish(&self) {
        let leading = self.beside.as_ref().filter(|beside| beside.leads);
        if let Some(Thread { thread, .. }) = leading {
            self.shelves.want(|store| store.end = true);
            let began = Instant::now();
            while !thread.is_finished() && began.elapsed() < LAST_BATCH {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self.end();
    }
}

impl<S> Depot<S> {
    /// Asks the supply to end; its last step may take a moment, for which the drop waits.
    pub(super) fn end(&self) {
        let Some(Thread { cancel, .. }) = &self.beside else { return };
        self.shelves.want(|store| store.end = true);
        // Its thread may be blocked on the peer: this wakes it. Abort and bye still leave a cancelled channel.
        cancel.cancel();
    }
}

impl<S> Drop for Depot<S> {
    fn drop(&mut self) {
        self.end();
        if let Some(Thread { thread, .. }) = self.beside.take() {
            // It has nothing to say, not even of a panic.
            let _ = thread.join();
        }
    }
}

/// Has what is ready on disk at both sides; if `last`, the pools as well. Nothing is under way, nor does a request run.
pub(super) fn save<S: Supply>(
    supply: &S,
    shelves: &Shelves,
    channel: &mut Channel,
    last: bool,
) -> Result<(), Fault> {
    let keeper = shelves.lock().notes.keeper.clone().ok_or_else(unkept)?;
    channel.set_phase(Phase::Preprocess);
    // The shelves are locked before the keeper, never the other way.
    let has_made = locked(&keeper).has_made();
    let pools = last.then(|| supply.kept_pools());
    let (mut stocks, mut items, mut stated) = (Vec::new(), None, Vec::new());
    let mut numbers: Vec<_> = shelves.lock().items.stocks.iter().map(Stock::numbers).collect();
    numbers.push(supply.hashed()..supply.hashed());
    if has_made {
        let named = |stock: &Stock| (stock.name().to_owned(), kept(stock));
        stocks = shelves.lock().items.stocks.iter().map(named).collect();
        stated = shelves.lock().items.statements();
        items = last.then(|| supply.pool_bytes()).transpose()?;
    }
    let parts = stocks.iter().map(|(name, bytes)| (name.as_str(), &bytes[..]));
    let parts = parts.chain(has_made.then_some((STATEMENTS, &stated[..])));
    let parts = parts.chain(items.as_ref().map(|items| (POOL_PART, &items[..])));
    let parts: Vec<_> = parts.collect();
    locked(&keeper).save(channel, &numbers, pools.as_deref(), &[], &parts)?;
    shelves.saved();
    channel.flush()
}
