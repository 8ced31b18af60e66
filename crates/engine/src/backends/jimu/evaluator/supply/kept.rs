//! What the evaluator keeps beyond its session (`backends/jimu/kept.rs`).

use std::sync::{Arc, Mutex};

use cenote_net::{Channel, Fault, Phase, Role};
use cenote_pool::Journal;
use cenote_prim::{Block, Prg, Secret, SessionId};

use super::Supply;
use crate::backends::jimu::ihash::{ReedSolomonReceiver, Watch};
use crate::backends::jimu::kept::{Epoch, Found, MOST_WIRES, WIRES, other_size};
use crate::backends::jimu::params::JimuParams;
use crate::parts::keeper::{Keeper, KeptPool, POOL_PART};
use crate::parts::notes::{kept, locked, unkept};
use crate::session::store_fault;

/// What is seen of the streams of both codes; places and seeds of the labels come first.
pub(super) struct Seeds {
    pub(super) places: Secret<Vec<u8>>,
    pub(super) seeds: Secret<Vec<Block>>,
    /// Of the secret matrices, where they are to be had again.
    pub(super) matrices: Option<Block>,
}

impl Seeds {
    /// The hash that sees so much.
    pub(super) fn hash(
        &self,
        params: &JimuParams,
        session: SessionId,
        prg: &mut Prg,
    ) -> ReedSolomonReceiver {
        let labels = params.codes.labels.w as usize;
        let (first, second) = self.places.split_at(labels);
        let (seeds, others) = self.seeds.split_at(labels);
        let labels = Watch { positions: first, seeds };
        let perms = Watch { positions: second, seeds: others };
        let mut matrices = self.matrices.map(Prg::new);
        let prg = matrices.as_mut().unwrap_or(prg);
        ReedSolomonReceiver::new(&params.codes, session, labels, perms, prg)
    }
}

/// What goes on.
pub(super) struct Opened {
    pub(super) hash: ReedSolomonReceiver,
    /// Tag of Delta.
    pub(super) delta: Block,
    /// The connection in which the epoch began.
    pub(super) epoch: SessionId,
}

/// The id of a session, what goes on in it, and what earlier ones have found out.
type Begun = (SessionId, Option<Opened>, Option<Found>);

/// Blocks beside the seeds: that of the matrices, the tag of Delta, what is added to labels with their keys.
const OTHERS: usize = 4;

/// What is on disk of an epoch; nothing without a `keeper`.
pub(super) fn open(
    channel: &mut Channel,
    session: SessionId,
    params: &JimuParams,
    keeper: Option<&mut Keeper>,
) -> Result<Begun, Fault> {
    let Some(keeper) = keeper else { return Ok((session, None, None)) };
    let worn = keeper.noted(WIRES) >= MOST_WIRES;
    let watched = (params.codes.labels.w + params.codes.perms.w) as usize;
    let mut found = None;
    let read = |bytes: &[u8]| {
        let (bytes, own) = Found::split_off(bytes)?;
        found = own;
        let epoch = Epoch::from_bytes(bytes, watched + OTHERS, watched)?;
        let (seeds, others) = epoch.blocks.split_at(watched);
        let others: [Block; OTHERS] = others.try_into().ok()?;
        let seeds = seeds.iter().copied().collect();
        (!worn).then_some((epoch, seeds, Secret::new(others)))
    };
    let (id, kept) = keeper.open(channel, session, Role::Evaluator, read)?;
    let opened = kept.map(|(Epoch { id: epoch, wires, places, .. }, seeds, others)| {
        let [matrices, tag, rest @ ..] = *others;
        let seen = Seeds { places, seeds, matrices: Some(matrices) };
        let mut hash = seen.hash(params, id, &mut Prg::new(matrices));
        hash.go_on(wires.max(keeper.noted(WIRES)), rest);
        Opened { hash, delta: tag, epoch }
    });
    if let (None, Some(found)) = (&opened, &mut found) {
        found.earlier = true;
    }
    Ok((id, opened, found))
}

/// An epoch begins, with this hash and tag of Delta.
pub(super) fn begin(
    keeper: &mut Keeper,
    id: SessionId,
    seen: &Seeds,
    (hash, tag): (&ReedSolomonReceiver, Block),
    found: Option<&Found>,
) -> Result<(), Fault> {
    let matrices = seen.matrices.unwrap_or_default();
    let others = [matrices, tag].into_iter().chain(*hash.delta());
    let blocks = seen.seeds.iter().copied().chain(others).collect();
    let epoch = Epoch { id, wires: hash.next(), blocks, places: seen.places.clone() };
    let mut secrets = epoch.to_bytes();
    let found = Found::to_bytes(found);
    let mut own = Secret::with_capacity(secrets.len() + found.len());
    own.append(&mut secrets);
    own.extend_from_slice(&found);
    keeper.begin(&own)
}

impl Supply {
    /// Takes over what `keeper` kept of stocks and pools; the bound is for all pools so far.
    pub(in crate::backends::jimu) fn keep(&mut self, mut keeper: Keeper) -> Result<(), Fault> {
        let pools: Vec<_> =
            self.kept_pools().into_iter().map(|pool| (pool.name, pool.capacity)).collect();
        let items = keeper.pools_go_on(&pools)?.unwrap_or_default();
        self.waiting = items.into_iter().map(|items| items > 0).collect();
        self.params.kept = Some(keeper.error());
        let Supply { pools, escrow, inputs, notes, .. } = self;
        let cores = pools.iter_mut().map(|pool| &mut pool.ready);
        for stock in cores.chain([&mut escrow.ready, inputs]) {
            notes.put_back(&keeper, stock)?;
        }
        notes.journal.reserve(WIRES, 0..self.hash.next()).map_err(|no| store_fault(no.into()))?;
        notes.keeper = Some(Arc::new(Mutex::new(keeper)));
        Ok(())
    }

    /// What earlier sessions have found out, once.
    pub(in crate::backends::jimu) fn take_found(&mut self) -> Option<Found> {
        self.found.take()
    }

    /// Writes down what was found, or that nothing was: the same work either way.
    pub(in crate::backends::jimu) fn remember(&self, found: &[u8]) -> Result<(), Fault> {
        self.notes.keeper.as_ref().map_or(Ok(()), |keeper| locked(keeper).amend(found))
    }

    /// Another journal, from now on.
    pub(in crate::backends::jimu) fn set_journal(
        &mut self,
        mut journal: Box<dyn Journal>,
    ) -> Result<(), Fault> {
        if self.notes.are_kept() {
            let told = journal.reserve(WIRES, 0..self.hash.next());
            told.map_err(|refused| store_fault(refused.into()))?;
        }
        let Supply { pools, escrow, inputs, notes, .. } = self;
        let cores = pools.iter().map(|pool| &pool.ready);
        notes.replace(journal, cores.chain([&escrow.ready, &*inputs]))
    }

    /// Whether items outlive the session.
    pub(in crate::backends::jimu) fn is_kept(&self) -> bool {
        self.notes.are_kept()
    }

    /// Ends what is kept, if `fault` asks for it: before the peer hears of it.
    pub(in crate::backends::jimu) fn burn(&self, fault: &Fault) {
        self.notes.burn(fault);
    }

    /// Keeps what is ready for a later session; if `last`, the pools as well, and then nothing is made any more.
    pub(in crate::backends::jimu) fn save(
        &mut self,
        channel: &mut Channel,
        last: bool,
    ) -> Result<(), Fault> {
        let keeper = self.notes.keeper.clone().ok_or_else(unkept)?;
        let mut keeper = locked(&keeper);
        channel.set_phase(Phase::Preprocess);
        let mut numbers: Vec<_> = self.stocks().map(|stock| stock.numbers()).collect();
        numbers.push(self.hash.next()..self.hash.next());
        let pools = last.then(|| self.kept_pools());
        if keeper.has_made() {
            let stocks: Vec<_> = self.stocks().map(|stock| (stock.name(), kept(stock))).collect();
            let items = last.then(|| self.pool_bytes()).transpose()?;
            let parts = stocks.iter().map(|(name, bytes)| (*name, &bytes[..]));
            let parts = parts.chain(items.as_ref().map(|items| (POOL_PART, &items[..])));
            keeper.save(channel, &numbers, pools.as_deref(), &[], &parts.collect::<Vec<_>>())?;
        } else {
            keeper.save(channel, &numbers, pools.as_deref(), &[], &[])?;
        }
        channel.flush()
    }

    /// Whether pool number `at` of all lies on disk.
    pub(super) fn is_waiting(&self, at: usize) -> bool {
        self.waiting.get(at).is_some_and(|waits| *waits)
    }

    /// Something is about to be made: takes the pools that go on off the disk.
    pub(super) fn begin_making(&mut self) -> Result<(), Fault> {
        let Some(bytes) = self.notes.begin_making()? else { return Ok(()) };
        let mut rest = &bytes[..];
        let Supply { pools, escrow, sealer, waiting, .. } = self;
        let stores = pools.iter_mut().map(|pool| &mut pool.store).chain([&mut escrow.store]);
        for (store, _) in stores.zip(&*waiting).filter(|(_, waits)| **waits) {
            let own = rest.split_at_checked(store.kept_len());
            let (own, others) = own.ok_or_else(|| other_size(POOL_PART))?;
            rest = others;
            store.put_back(sealer, own)?;
        }
        waiting.clear();
        Ok(())
    }

    /// So many wires are about to be hashed.
    pub(super) fn number_wires(&mut self, lanes: usize) -> Result<(), Fault> {
        let first = self.hash.next();
        self.notes.number(WIRES, first..first + lanes as u64)
    }

    /// All pools as a snapshot names them.
    fn kept_pools(&self) -> Vec<KeptPool> {
        let pool = |(at, store): (usize, &super::Store)| {
            let capacity = store.spec.capacity as u64;
            let full = self.is_waiting(at) || store.pool.is_some();
            let items = if full { capacity } else { 0 };
            KeptPool { name: store.kind.pool_name(), capacity, items }
        };
        self.stores().enumerate().map(pool).collect()
    }

    /// What is kept of all full pools.
    fn pool_bytes(&self) -> Result<Secret<Vec<u8>>, Fault> {
        let full = self.stores().filter(|store| store.pool.is_some());
        let mut bytes = Secret::with_capacity(full.map(super::Store::kept_len).sum());
        self.stores().try_for_each(|store| store.kept(&self.sealer, &mut bytes))?;
        Ok(bytes)
    }
}
