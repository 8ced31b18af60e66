//! What a session keeps beyond its connection: an *epoch*, that is secrets of a set-up, one Delta among them, and items made under them.
//!
//! **Construction.** docs/protocols/epoch.md, the burn variant of a session that outlives its connection. On disk are the secrets, the stocks
//! as they were when both sides last saved, and the number below which items may have left since. Whatever else there was is burnt by whatever ends a
//! connection; the pool by all but an orderly end.
//! **Messages.** Each to the other at the start of a connection: `epoch.state`, what it has. Both decide alike what goes on. When
//! both save: `epoch.saved`, the name of what was written.
//! **Roles.** Symmetric; the garbler's list of snapshots decides which of two is taken.
//! **Adversary.** Malicious: its state is a claim. It can make this side burn items or end the epoch, as it can by hanging up, and have
//! nothing back: no claim lowers a number, brings back a pool, or makes a connection repeat one before.
//! **Model.** Random oracle; the store returns what was written last, or says that it does not.
//! **What must never repeat under one Delta.** Streams and challenges of OT, hash start points, coefficients of openings, coins: all hash the id of the
//! connection, in which are fresh randomness of both sides and both states. Items: [`Keeper::note`] is durable before the first message that depends on
//! one, and a noted number never falls below what has left.
//! **Pool.** It is taken off the disk, durably, before anything is made in a connection, and comes back in an orderly end alone, when nothing is under
//! way on either side. So no step of it is ever undone. Each pool that was not saved is one more try for a cheater: they are counted, and the
//! bound is the sum over them, [`Keeper::error`], each by the parameters that it was made with.
//! **Memories.** A job that names any is counted, durably, before its first message but those of the agreement; a snapshot has the count with the
//! memories. A connection goes on with them where no more jobs were counted on either side: so no memory is ever resumed at a
//! version before one of which something may have been opened, whoever goes away when, or claims what.
//! **Leakage and abort.** A failed check ends the epoch on disk before the peer hears of it ([`Keeper::fail`]): guesses at Delta do not add up over
//! connections. A guess that only the cheater sees the outcome of (`equality.rs`, garbler) costs it the connection, and so a pool.
//! **Checks.** `epoch.state`: a well-formed state \[deciding\]. Names in `epoch.saved` that differ end the session, no more: callers are out of step,
//! or the peer lies, and what was saved before stays.
//! **Private values.** None in a message: names are hashes, numbers of items are known to both.
//! **Costs.** 99 bytes and 8 for each stock each way at the start, 32 each way for each time of saving; one small write for [`Store::stride`] items.

use std::ops::Range;

use cenote_net::{Channel, Fault, Fingerprint, Role};
use cenote_pool::{FailureKind, Ledger, Name, PoolError, Store, StoreFailure};
use cenote_prim::{RandomOracle, Secret, SessionId};

use super::tags::{EPOCH_SAVED, EPOCH_STATE};

/// The part of a snapshot that an orderly end alone writes; what its pools are called begins so.
pub(crate) const POOL_PART: &str = "pool";
/// How the names of stocks begin. What else is numbered is no item.
const STOCK: &str = "stock.";
/// The part of a snapshot that says which items it has: a line for each stock, name, first number, first number after them; and one for each
/// pool, name, capacity, items.
const INDEX_PART: &str = "index";
/// Memories of programs: the part of a snapshot that has them, and the name under which jobs that may change them are counted. What a snapshot
/// has is current as long as no job was counted since.
pub(crate) const MEMORIES: &str = "memories";
/// Under this name the connections of an epoch are counted, in [`cenote_pool::Ledger::spent`].
pub const CONNECTIONS: &str = "epoch.connections";
/// Connections of an epoch: each has hidden seeds of its own, which a search for any one of them meets all at once.
pub(crate) const MOST_CONNECTIONS: u64 = 1 << 8;
/// Bits of computational security that they cost.
pub(crate) const CONNECTIONS_LOG2: u32 = MOST_CONNECTIONS.ilog2();
/// Pools with one peer, after which the bound is spent.
pub const MOST_POOLS: u64 = 1 << 10;

/// Hashes of what an epoch belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    /// The peer's certificate and the own role: a store has one of each for its life.
    pub(crate) relation: [u8; 32],
    /// The parameters that items depend on: with others another epoch begins.
    pub(crate) items: [u8; 32],
}

impl Terms {
    /// Those of a party in `role` whose peer has this certificate, by an oracle that the backend has for nothing else; `items` adds the
    /// parameters.
    pub(crate) fn of(
        oracle: impl Fn() -> RandomOracle,
        role: Role,
        peer: Option<Fingerprint>,
        items: impl FnOnce(RandomOracle) -> RandomOracle,
    ) -> Terms {
        let peer = peer.as_ref().map_or(&[][..], |peer| &peer.0);
        let relation = oracle().bytes(b"relation").number(role as u64).bytes(peer).digest();
        Terms { relation, items: items(oracle().bytes(b"items")).digest() }
    }
}

/// A pool as a snapshot has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KeptPool {
    pub(crate) name: String,
    pub(crate) capacity: u64,
    /// None if it was not filled.
    pub(crate) items: u64,
}

/// Pools on the disk, and all that is in them.
type RestingPool = (Vec<KeptPool>, Secret<Vec<u8>>);

/// One party's side of what two parties keep.
pub struct Keeper {
    store: Box<dyn Store>,
    stocks: Vec<String>,
    terms: Terms,
    /// Items further apart were not noted by two honest sides.
    lead: u64,
    /// What one more pool adds to the error.
    more: PoolError,
    id: SessionId,
    /// The snapshot that both have.
    snapshot: Option<Name>,
    /// It ended in order: its pool goes on, until something is made.
    whole: bool,
    /// Something was made in this connection.
    made: bool,
    /// Memories may be others than those in the snapshot.
    changed: bool,
    saved: u64,
    /// The epoch has ended, or was put away: nothing leaves any more.
    over: bool,
}

/// What one side has, as it says at the start of a connection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct State {
    epoch: Option<Name>,
    noted: Vec<u64>,
    /// Oldest first; with its pool or without.
    snapshots: Vec<(Name, bool)>,
}

const MOST_SNAPSHOTS: usize = 2;

/// Bytes of a state with so many stocks.
const fn state_len(stocks: usize) -> usize {
    33 + 8 * stocks + 33 * MOST_SNAPSHOTS
}

impl State {
    /// No epoch, with so many stocks.
    fn none(stocks: usize) -> State {
        State { noted: vec![0; stocks], ..State::default() }
    }

    fn encode(&self) -> Vec<u8> {
        let len = state_len(self.noted.len());
        let mut bytes = Vec::with_capacity(len);
        bytes.push(u8::from(self.epoch.is_some()));
        bytes.extend(self.epoch.unwrap_or_default());
        bytes.extend(self.noted.iter().flat_map(|number| number.to_le_bytes()));
        for (name, whole) in &self.snapshots {
            bytes.push(1 + u8::from(*whole));
            bytes.extend(name);
        }
        bytes.resize(len, 0);
        bytes
    }

    /// A state with so many stocks, of which `bytes` are as many as it takes.
    fn decode(stocks: usize, bytes: &[u8]) -> Result<State, Fault> {
        const REFUSED: Fault = Fault::Misbehaved("epoch.state");
        let (head, rest) = bytes.split_at_checked(33).ok_or(REFUSED)?;
        let (noted, snapshots) = rest.split_at_checked(8 * stocks).ok_or(REFUSED)?;
        let name = |entry: &[u8]| entry.get(1..).and_then(|name| name.try_into().ok());
        let mut state = State::default();
        if head[0] == 1 {
            state.epoch = name(head);
        }
        state.noted =
            noted.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number)).collect();
        for entry in snapshots.chunks(33).filter(|entry| entry[0] > 0) {
            state.snapshots.push((name(entry).ok_or(REFUSED)?, entry[0] == 2));
        }
        // One form of each state, which both hash.
        if state.encode() == *bytes { Ok(state) } else { Err(REFUSED) }
    }
}

/// What goes on.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Resumed {
    noted: Vec<u64>,
    snapshot: Option<(Name, bool)>,
}

/// What goes on of what both have; nothing if that is no state of two honest sides.
fn decide(garbler: &State, evaluator: &State, lead: u64) -> Option<Resumed> {
    if garbler.epoch.is_none() || garbler.epoch != evaluator.epoch {
        return None;
    }
    let mut noted = Vec::with_capacity(garbler.noted.len());
    for (&a, &b) in garbler.noted.iter().zip(&evaluator.noted) {
        if a.abs_diff(b) > lead {
            return None;
        }
        noted.push(a.max(b));
    }
    let both = garbler.snapshots.iter().rev().find_map(|(name, whole)| {
        let theirs = evaluator.snapshots.iter().find(|(other, _)| other == name);
        theirs.map(|(_, too)| (*name, *whole && *too))
    });
    let none = |state: &State| state.snapshots.is_empty();
    let settled = !none(garbler) && !none(evaluator);
    if both.is_none() && settled { None } else { Some(Resumed { noted, snapshot: both }) }
}

impl Keeper {
    /// Takes `store` over for a session whose items are in `stocks` and depend on `terms`. Honest sides that were cut off have noted items
    /// `lead` apart at most. So many pools of the kind that is made fail with `error`.
    pub(crate) fn new(
        store: Box<dyn Store>,
        stocks: Vec<String>,
        terms: Terms,
        lead: u64,
        error: impl Fn(u64) -> PoolError,
    ) -> Keeper {
        let begun = store.ledger().pools;
        let (less, all) = (error(begun), error(begun.saturating_add(1)));
        let more = PoolError {
            at_once: all.at_once - less.at_once,
            adaptive: all.adaptive - less.adaptive,
        };
        let (snapshot, id) = (None, SessionId([0; 32]));
        let (whole, made, changed, over, saved) = (false, false, false, false, 0);
        Keeper { store, stocks, terms, lead, more, id, snapshot, whole, made, changed, saved, over }
    }

    /// The id of this connection, and what `read` makes of the secrets of the epoch that goes on. Where there is nothing, the caller
    /// sets up and [begins](Keeper::begin) another.
    ///
    /// # Errors
    /// `Policy` for the store of another peer or role; `Misbehaved`, `Storage`; faults of the channel.
    pub(crate) fn open<T>(
        &mut self,
        channel: &mut Channel,
        id: SessionId,
        role: Role,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<(SessionId, Option<T>), Fault> {
        let kept = self.kept(read)?;
        let own = self.state(kept.is_some());
        channel.send(EPOCH_STATE, &own.encode())?;
        let said = channel.recv(EPOCH_STATE, state_len(self.stocks.len()))?;
        let peer = State::decode(self.stocks.len(), &said)?;
        let (garbler, evaluator) = match role {
            Role::Garbler => (&own, &peer),
            Role::Evaluator => (&peer, &own),
        };
        let oracle = RandomOracle::new("cenote 2026 engine epoch connection v1", &id);
        let oracle = oracle.bytes(&garbler.encode()).bytes(&evaluator.encode());
        self.id = SessionId(oracle.digest());
        let goes_on = decide(garbler, evaluator, self.lead).filter(|_| kept.is_some());
        let secrets = goes_on.map(|resumed| self.resume(resumed)).transpose()?.and(kept);
        Ok((self.id, secrets))
    }

    /// What this side has of the epoch, if its items are of the kind that is wanted. `read` sees its secrets whether or not they go on.
    fn kept<T>(&self, read: impl FnOnce(&[u8]) -> Option<T>) -> Result<Option<T>, Fault> {
        let ledger = self.store.ledger();
        if ledger.epoch.is_none() {
            return Ok(None);
        }
        let secrets = self.store.secrets().map_err(storage)?;
        let Some((terms, own)) = secrets.split_at_checked(64) else { return Ok(None) };
        let (relation, items) = terms.split_at(32);
        if relation != self.terms.relation {
            let what = "what is kept here is another peer's, or was made in the other role or by another backend";
            let remedy = "take that peer's store, or end this one";
            return Err(Fault::Policy(format!("{what}: {remedy}")));
        }
        let goes_on = items == self.terms.items && self.noted(CONNECTIONS) < MOST_CONNECTIONS;
        Ok(read(own).filter(|_| goes_on))
    }

    fn state(&self, has_epoch: bool) -> State {
        let ledger = self.store.ledger();
        let Some(epoch) = ledger.epoch.filter(|_| has_epoch) else {
            return State::none(self.stocks.len());
        };
        let noted = self.stocks.iter().map(|stock| self.noted(stock)).collect();
        let snapshots = ledger.snapshots.iter().rev().take(MOST_SNAPSHOTS).rev();
        let snapshots = snapshots
            .map(|(name, parts)| (*name, parts.iter().any(|part| part == POOL_PART)))
            .collect();
        State { epoch: Some(epoch), noted, snapshots }
    }

    /// The epoch goes on: what the other side may have used is burnt before anything depends on it.
    fn resume(&mut self, Resumed { noted, snapshot }: Resumed) -> Result<(), Fault> {
        self.store.spend(CONNECTIONS, self.noted(CONNECTIONS) + 1).map_err(storage)?;
        for (stock, noted) in self.stocks.iter().zip(noted) {
            self.store.spend(stock, noted).map_err(storage)?;
        }
        self.snapshot = snapshot.map(|(name, _)| name);
        self.whole = snapshot.is_some_and(|(_, whole)| whole);
        self.store.settle(self.snapshot).map_err(storage)
    }

    /// An epoch begins with these secrets; the one before is destroyed.
    ///
    /// # Errors
    /// `Storage`.
    pub(crate) fn begin(&mut self, own: &[u8]) -> Result<(), Fault> {
        let name = self.name("epoch", b"");
        let mut secrets = Secret::with_capacity(64 + own.len());
        secrets.extend_from_slice(&self.terms.relation);
        secrets.extend_from_slice(&self.terms.items);
        secrets.extend_from_slice(own);
        self.store.begin(name, &secrets).map_err(storage)?;
        self.store.spend(CONNECTIONS, 1).map_err(storage)
    }

    /// Writes `end` over the end of the secrets of the epoch: for what is learnt in it. Nothing where no epoch is open any more.
    ///
    /// # Errors
    /// `Storage`.
    pub(crate) fn amend(&mut self, end: &[u8]) -> Result<(), Fault> {
        if self.store.ledger().epoch.is_none() {
            return Ok(());
        }
        let mut secrets = self.store.secrets().map_err(storage)?;
        let first = secrets.len().saturating_sub(end.len());
        if let Some(place) = secrets.get_mut(first..).filter(|place| place.len() == end.len()) {
            place.copy_from_slice(end);
        }
        self.store.amend(&secrets).map_err(storage)
    }

    /// The items of each of the pools that go on, if an orderly end left these, by name and capacity: none of one that was not filled yet.
    ///
    /// # Errors
    /// `Storage`.
    pub(crate) fn pools_go_on(
        &mut self,
        pools: &[(String, u64)],
    ) -> Result<Option<Vec<u64>>, Fault> {
        let Some(snapshot) = self.snapshot.filter(|_| self.whole) else { return Ok(None) };
        let index = index(&*self.store, &snapshot).map_err(storage)?;
        let of = |(name, capacity): &(String, u64)| {
            let line = index.iter().find(|(own, of, _)| own == name && of == capacity);
            line.map(|(_, _, items)| *items)
        };
        let items: Option<Vec<u64>> = pools.iter().map(of).collect();
        self.whole = items.is_some();
        Ok(items)
    }

    /// Something is about to be made in this connection: the first time, the bytes of the pool that goes on, taken off the disk for good.
    /// Without one a new pool begins, which counts.
    ///
    /// # Errors
    /// `Storage`.
    pub(crate) fn begin_making(&mut self) -> Result<Option<Secret<Vec<u8>>>, Fault> {
        if self.made {
            return Ok(None);
        }
        let pool = self.snapshot.filter(|_| self.whole);
        let pool = pool.map(|name| self.store.load(&name, POOL_PART)).transpose();
        let pool = pool.map_err(storage)?;
        self.store.burn(POOL_PART).map_err(storage)?;
        if pool.is_none() {
            // The peer may have no use for the pool for which this session was let in.
            if self.store.ledger().pools >= MOST_POOLS {
                return Err(spent());
            }
            self.store.count_pool(self.more).map_err(storage)?;
        }
        self.made = true;
        Ok(pool)
    }

    /// The bytes of a part as it was saved, none where there is no snapshot.
    ///
    /// # Errors
    /// `Storage`.
    pub(crate) fn part(&self, part: &str) -> Result<Secret<Vec<u8>>, Fault> {
        let bytes = self.snapshot.map(|name| self.store.load(&name, part)).transpose();
        Ok(bytes.map_err(storage)?.unwrap_or_default())
    }

    /// The memories that go on: none where a job may have changed them after they were saved, on either side.
    ///
    /// # Errors
    /// `Storage`.
    pub(crate) fn memories(&self) -> Result<Secret<Vec<u8>>, Fault> {
        let Some(snapshot) = self.snapshot.filter(|name| self.has_part(name, MEMORIES)) else {
            return Ok(Secret::default());
        };
        let index = index(&*self.store, &snapshot).map_err(storage)?;
        let jobs = index.iter().find(|(name, ..)| name == MEMORIES).map(|(_, jobs, _)| *jobs);
        if jobs == Some(self.noted(MEMORIES)) { self.part(MEMORIES) } else { Ok(Secret::default()) }
    }

    /// A job is about to change memories, or to show what hangs on them: what was saved of them is out of date, on disk when this returns.
    ///
    /// # Errors
    /// `Storage`.
    pub(crate) fn change_memories(&mut self) -> Result<(), Fault> {
        self.changed = true;
        self.store.spend(MEMORIES, self.noted(MEMORIES) + 1).map_err(storage)
    }

    /// Whether a job was noted since memories were saved.
    pub(crate) fn has_changed_memories(&self) -> bool {
        self.changed
    }

    fn has_part(&self, snapshot: &Name, part: &str) -> bool {
        let all = &self.store.ledger().snapshots;
        all.iter().any(|(name, parts)| name == snapshot && parts.iter().any(|own| own == part))
    }

    /// Items of `stock` below `end` are about to leave: that is on disk when this returns.
    ///
    /// # Errors
    /// Of the store, and once the epoch has ended.
    pub(crate) fn note(&mut self, stock: &str, end: u64) -> Result<(), StoreFailure> {
        if self.over {
            let (what, remedy) = ("nothing leaves after the end", "open another session");
            return Err(StoreFailure::new(FailureKind::Misuse, what, remedy));
        }
        let ahead = end.next_multiple_of(self.store.stride());
        if self.stocks.iter().any(|own| own == stock) && self.noted(stock) < end {
            self.store.spend(stock, ahead)?;
        }
        Ok(())
    }

    /// The number below which items have left, or may have.
    pub(crate) fn noted(&self, stock: &str) -> u64 {
        self.store.ledger().spent.get(stock).copied().unwrap_or(0)
    }

    /// Keeps what `parts` gives in place of what was kept before, once the peer has kept its own; or what was kept before, if nothing was made since. The items
    /// of each stock that are ready have `numbers`, equal on both sides, as is what is `known` of the parts otherwise. With `pools` nothing leaves from now on.
    ///
    /// # Errors
    /// `Policy` when the peer kept others; `Storage`; faults of the channel.
    pub(crate) fn save(
        &mut self,
        channel: &mut Channel,
        numbers: &[Range<u64>],
        pools: Option<&[KeptPool]>,
        known: &[u8],
        parts: &[(&str, &[u8])],
    ) -> Result<(), Fault> {
        self.over |= pools.is_some();
        self.saved += 1;
        let mut index: String = (self.stocks.iter().zip(numbers))
            .map(|(stock, items)| format!("{stock} {} {}\n", items.start, items.end))
            .collect();
        let resting = self.resting_pool()?;
        let of_resting = resting.iter().map(|(pools, _)| pools.as_slice());
        let pools = of_resting.chain(pools.filter(|_| resting.is_none())).flatten();
        index.extend(pools.map(|pool| {
            let KeptPool { name, capacity, items } = pool;
            format!("{name} {capacity} {items}\n")
        }));
        let text = format!("{} {}\n{index}", self.saved, self.made);
        let name = self.name("snapshot", &[text.as_bytes(), known].concat());
        if self.must_write() {
            let mut parts = parts.to_vec();
            parts.extend(resting.as_ref().map(|(_, bytes)| (POOL_PART, &bytes[..])));
            parts.push((INDEX_PART, index.as_bytes()));
            self.store.save(name, &parts).map_err(storage)?;
        }
        channel.send(EPOCH_SAVED, &name)?;
        let mut theirs = [0; 32];
        channel.recv_into(EPOCH_SAVED, &mut theirs)?;
        if theirs != name {
            let what = "the two sides save different items, or one of them for the last time";
            return Err(Fault::Policy(what.into()));
        }
        if self.must_write() {
            self.snapshot = Some(name);
            self.store.settle(self.snapshot).map_err(storage)?;
        }
        self.changed = false;
        let left = self.stocks.iter().zip(numbers);
        let left = left.map(|(stock, items)| (stock.as_str(), items.start));
        self.store.leave(&left.collect::<Vec<_>>()).map_err(storage)
    }

    /// Whether anything was made that is in no snapshot.
    pub(crate) fn has_made(&self) -> bool {
        self.made
    }

    /// Whether anything was made, or changed, that is in no snapshot.
    pub(crate) fn must_write(&self) -> bool {
        self.made || self.changed
    }

    /// The pools on the disk that nothing was taken from yet, where memories alone have changed: they go into the next snapshot as they are.
    fn resting_pool(&self) -> Result<Option<RestingPool>, Fault> {
        let rests = self.changed && !self.made && self.whole;
        let Some(snapshot) = self.snapshot.filter(|_| rests) else { return Ok(None) };
        let index = index(&*self.store, &snapshot).map_err(storage)?;
        let pools = index.into_iter().filter(|(name, ..)| name.starts_with(POOL_PART));
        let pools = pools.map(|(name, capacity, items)| KeptPool { name, capacity, items });
        Ok(Some((pools.collect(), self.store.load(&snapshot, POOL_PART).map_err(storage)?)))
    }

    fn name(&self, of: &str, text: &[u8]) -> Name {
        let oracle = RandomOracle::new("cenote 2026 engine epoch name v1", &self.id);
        oracle.bytes(of.as_bytes()).bytes(text).digest()
    }

    /// How likely it is that a cheater gets anything by the pools that were begun with this peer, or are as soon as anything is made.
    pub(crate) fn error(&self) -> PoolError {
        let begun = self.store.ledger().error;
        if self.whole || self.made { begun } else { begun.plus(self.more) }
    }

    /// Ends the epoch if `fault` is that a check failed, on disk, before the peer hears of it, and holds the relation. Whatever else ends
    /// a session leaves what is on disk as it is.
    pub(crate) fn fail(&mut self, fault: &Fault) {
        if matches!(fault, Fault::Misbehaved(_)) {
            self.over = true;
            // The session ends with `fault`, whatever the disk says; what is in memory of the store is ended.
            drop(self.store.end(true));
        }
    }
}

/// The items that a session with this peer will find, by stock: what was saved last and has not left.
///
/// # Errors
/// Of the store.
pub fn kept_items(store: &dyn Store) -> Result<Vec<(String, u64)>, StoreFailure> {
    let ledger = store.ledger();
    let Some((snapshot, parts)) = ledger.snapshots.last() else { return Ok(Vec::new()) };
    let whole = parts.iter().any(|part| part == POOL_PART);
    let left = |(stock, first, end): (String, u64, u64)| {
        if stock.starts_with(POOL_PART) {
            return whole.then_some((stock, end));
        }
        let noted = ledger.spent.get(&stock).copied().unwrap_or(0);
        let items = end.saturating_sub(first.max(noted));
        stock.starts_with(STOCK).then_some((stock, items))
    };
    Ok(index(store, snapshot)?.into_iter().filter_map(left).collect())
}

/// The lines of the index of a snapshot.
fn index(store: &dyn Store, snapshot: &Name) -> Result<Vec<(String, u64, u64)>, StoreFailure> {
    let text = store.load(snapshot, INDEX_PART)?;
    let line = |line: &str| {
        let mut words = line.split(' ');
        let (name, first, end) = (words.next()?, words.next()?, words.next()?);
        Some((name.to_owned(), first.parse().ok()?, end.parse().ok()?))
    };
    Ok(String::from_utf8_lossy(&text).lines().filter_map(line).collect())
}

/// Whether a session with this peer may open at all.
///
/// # Errors
/// `Policy` while the owner has to decide; `Exhausted` when the bound on the peer's cheating is spent.
pub(crate) fn permits(store: &dyn Store) -> Result<(), Fault> {
    let ledger = store.ledger();
    if ledger.held {
        let what = "a check failed in an earlier session with this peer";
        let remedy = "find out why, then `cenote pool lift` permits another";
        return Err(Fault::Policy(format!("{what}: {remedy}")));
    }
    has_bound_left(ledger, ledger.pools)
}

/// Whether a session may open where so many pools were begun with this peer, in all stores that there are of it: it may have to begin one.
///
/// # Errors
/// `Exhausted` when the bound on the peer's cheating is spent.
pub fn has_bound_left(ledger: &Ledger, pools: u64) -> Result<(), Fault> {
    let whole = |(_, parts): &(Name, Vec<String>)| parts.iter().any(|part| part == POOL_PART);
    if pools < MOST_POOLS || ledger.snapshots.last().is_some_and(whole) {
        return Ok(());
    }
    Err(spent())
}

fn spent() -> Fault {
    let what = format!("{MOST_POOLS} pools were begun with this peer, all that the bound allows");
    Fault::Exhausted(format!("{what}; agree with it on a new store"))
}

/// The fault of a store that failed.
pub(crate) fn storage(failure: StoreFailure) -> Fault {
    Fault::Storage(failure.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(epoch: u8, noted: [u64; 2], snapshots: &[(u8, bool)]) -> State {
        let snapshots = snapshots.iter().map(|&(name, whole)| ([name; 32], whole)).collect();
        State { epoch: Some([epoch; 32]), noted: noted.to_vec(), snapshots }
    }

    fn resumed(noted: [u64; 2], snapshot: Option<(u8, bool)>) -> Option<Resumed> {
        let snapshot = snapshot.map(|(name, whole)| ([name; 32], whole));
        Some(Resumed { noted: noted.to_vec(), snapshot })
    }

    #[test]
    fn epochs_go_on_by_the_larger_number_and_the_newest_common_snapshot() {
        let decide = |a: &State, b: &State| decide(a, b, 10);
        let (old, new) = ((1, false), (2, true));
        let own = state(7, [100, 50], &[old, new]);
        // What the other side has, and what goes on.
        let cases = [
            (state(7, [100, 50], &[old, new]), resumed([100, 50], Some(new))),
            (state(7, [110, 40], &[old, (2, false)]), resumed([110, 50], Some((2, false)))),
            (state(7, [90, 60], &[old]), resumed([100, 60], Some(old))),
            (state(7, [100, 50], &[(1, true)]), resumed([100, 50], Some(old))),
            (state(7, [100, 50], &[]), resumed([100, 50], None)),
            (state(7, [100, 50], &[(3, true)]), None),
            (state(7, [111, 50], &[new]), None),
            (state(7, [100, 39], &[new]), None),
            (state(8, [100, 50], &[new]), None),
            (State::none(2), None),
        ];
        for (other, goes_on) in cases {
            assert_eq!(decide(&own, &other), goes_on, "{other:?}");
            assert_eq!(decide(&other, &own), goes_on, "{other:?}");
        }
        assert_eq!(decide(&State::none(2), &State::none(2)), None);
        // Two that saved in another order: the garbler's newest.
        let other = state(7, [100, 50], &[new, old]);
        assert_eq!(decide(&own, &other), resumed([100, 50], Some(new)));
        assert_eq!(decide(&other, &own), resumed([100, 50], Some(old)));
    }

    #[test]
    fn states_have_one_form() {
        let whole = state(7, [1, u64::MAX], &[(1, false), (2, true)]);
        for state in [State::none(2), whole.clone(), state(0, [0, 0], &[(9, true)])] {
            assert_eq!(State::decode(2, &state.encode()), Ok(state));
        }
        let bytes = whole.encode();
        for (at, byte) in [(0, 0), (0, 2), (49, 0), (49, 3), (82, 255)] {
            let mut bad = bytes.clone();
            bad[at] = byte;
            assert_eq!(State::decode(2, &bad), Err(Fault::Misbehaved("epoch.state")), "{at}");
        }
    }

    /// Takes all that it is told.
    #[derive(Default)]
    struct Forgetful(Ledger);

    impl Store for Forgetful {
        fn ledger(&self) -> &Ledger {
            &self.0
        }
        fn begin(&mut self, _: Name, _: &[u8]) -> Result<(), StoreFailure> {
            Ok(())
        }
        fn secrets(&self) -> Result<Secret<Vec<u8>>, StoreFailure> {
            Ok(Secret::default())
        }
        fn amend(&mut self, _: &[u8]) -> Result<(), StoreFailure> {
            Ok(())
        }
        fn end(&mut self, _: bool) -> Result<(), StoreFailure> {
            Ok(())
        }
        fn spend(&mut self, stock: &str, below: u64) -> Result<(), StoreFailure> {
            self.0.spent.insert(stock.into(), below);
            Ok(())
        }
        fn leave(&mut self, _: &[(&str, u64)]) -> Result<(), StoreFailure> {
            Ok(())
        }
        fn count_pool(&mut self, _: PoolError) -> Result<(), StoreFailure> {
            Ok(())
        }
        fn save(&mut self, _: Name, _: &[(&str, &[u8])]) -> Result<(), StoreFailure> {
            Ok(())
        }
        fn settle(&mut self, _: Option<Name>) -> Result<(), StoreFailure> {
            Ok(())
        }
        fn load(&self, _: &Name, _: &str) -> Result<Secret<Vec<u8>>, StoreFailure> {
            Ok(Secret::default())
        }
        fn burn(&mut self, _: &str) -> Result<(), StoreFailure> {
            Ok(())
        }
    }

    fn keeper() -> Keeper {
        let terms = Terms { relation: [1; 32], items: [2; 32] };
        let (store, stocks) = (Box::<Forgetful>::default(), vec!["a".into(), "b".into()]);
        Keeper::new(store, stocks, terms, 10, |_| PoolError::default())
    }

    #[test]
    fn nothing_leaves_after_the_end() {
        let mut failed = keeper();
        assert_eq!(failed.note("a", 5), Ok(()));
        failed.fail(&Fault::Transport("a broken line".into()));
        assert_eq!(failed.note("a", 6), Ok(()));
        failed.fail(&Fault::Misbehaved("epoch.state"));
        assert!(failed.note("a", 7).is_err() && failed.note("another", 1).is_err());
        for (last, over) in [(None, false), (Some(&[][..]), true)] {
            let (mut a, mut b) = cenote_net::mem_pair();
            std::thread::scope(|scope| {
                let save = |channel: &mut Channel| {
                    let mut keeper = keeper();
                    keeper.save(channel, &[0..4, 0..4], last, &[], &[]).expect("both save");
                    assert_eq!(keeper.note("a", 1).is_err(), over);
                };
                scope.spawn(move || save(&mut b));
                save(&mut a);
            });
        }
    }
}
