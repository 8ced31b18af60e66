//! What the garbler keeps beyond its session (`backends/jimu/kept.rs`).

use std::sync::{Arc, Mutex};

use cenote_net::{Channel, Fault, Phase, Role};
use cenote_pool::Journal;
use cenote_prim::{Block, Secret, SessionId};

use super::{Keep, LABEL, Supply, hash_of};
use crate::backends::jimu::batch::Place;
use crate::backends::jimu::ihash::{Label, ReedSolomonSender};
use crate::backends::jimu::kept::{Epoch, MOST_WIRES, WIRES, other_size};
use crate::backends::jimu::params::JimuParams;
use crate::parts::keeper::{Keeper, KeptPool, POOL_PART};
use crate::parts::notes::{kept, locked, unkept};
use crate::session::store_fault;

/// Hash, Delta, and the connection in which the epoch of both began.
pub(super) type Opened = (ReedSolomonSender, Secret<Label>, SessionId);

/// The id of the session, and what goes on; nothing without a `keeper`.
pub(super) fn open(
    channel: &mut Channel,
    session: SessionId,
    params: &JimuParams,
    keeper: Option<&mut Keeper>,
) -> Result<(SessionId, Option<Opened>), Fault> {
    let Some(keeper) = keeper else { return Ok((session, None)) };
    let worn = keeper.noted(WIRES) >= MOST_WIRES;
    let seeds = (params.codes.labels.n + params.codes.perms.n) as usize;
    let read = |bytes: &[u8]| Epoch::from_bytes(bytes, seeds + LABEL, 0).filter(|_| !worn);
    let (id, epoch) = keeper.open(channel, session, Role::Garbler, read)?;
    let opened = epoch.map(|epoch| {
        let (seeds, delta) = epoch.blocks.split_at(seeds);
        let mut hash = hash_of(params, id, seeds);
        hash.go_on(epoch.wires.max(keeper.noted(WIRES)));
        let mut label = Secret::new(Label::ZERO);
        label.0.copy_from_slice(delta);
        (hash, label, epoch.id)
    });
    Ok((id, opened))
}

/// An epoch begins, with this hash and Delta.
pub(super) fn begin(
    keeper: &mut Keeper,
    id: SessionId,
    (hash, seeds): (&ReedSolomonSender, &[Block]),
    delta: &Label,
) -> Result<(), Fault> {
    let blocks = seeds.iter().chain(&delta.0).copied().collect();
    let epoch = Epoch { id, wires: hash.next(), blocks, places: Secret::default() };
    keeper.begin(&epoch.to_bytes())
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
            let stocks = self.stocks().map(|stock| (stock.name().to_owned(), kept(stock)));
            let stocks: Vec<_> = stocks.collect();
            let items = last.then(|| self.pool_bytes()).transpose()?;
            let parts = stocks.iter().map(|(name, bytes)| (name.as_str(), &bytes[..]));
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
        for at in self.places() {
            if self.is_waiting(at.of(self.pools.len())) {
                let (_, kind, spec) = self.pool(at);
                let name = kind.pool_name();
                let own = rest.split_at_checked(size_of::<u64>() * spec.capacity);
                let (own, others) = own.ok_or_else(|| other_size(&name))?;
                rest = others;
                let numbers = own.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number));
                let sealer = (!self.params.switches.compact).then_some(&self.sealer);
                let kept = Keep::full(sealer, kind, spec.capacity, numbers.collect())?;
                *self.pool(at).0 = Some(kept);
            }
        }
        self.waiting.clear();
        Ok(())
    }

    /// So many wires are about to be hashed.
    pub(super) fn number_wires(&mut self, lanes: usize) -> Result<(), Fault> {
        let first = self.hash.next();
        self.notes.number(WIRES, first..first + lanes as u64)
    }

    fn places(&self) -> impl Iterator<Item = Place> + use<> {
        (0..self.pools.len()).map(Place::Core).chain([Place::Escrow])
    }

    /// All pools as a snapshot names them.
    fn kept_pools(&mut self) -> Vec<KeptPool> {
        let places = self.places();
        let pool = |at: Place| {
            let waits = self.is_waiting(at.of(self.pools.len()));
            let (pool, kind, spec) = self.pool(at);
            let (name, capacity) = (kind.pool_name(), spec.capacity as u64);
            let full = waits || pool.is_some();
            KeptPool { name, capacity, items: if full { capacity } else { 0 } }
        };
        places.map(pool).collect()
    }

    /// The numbers in the slots of all full pools.
    fn pool_bytes(&self) -> Result<Vec<u8>, Fault> {
        let pools = self.pools.iter().map(|pool| &pool.pool).chain([&self.escrow.pool]);
        let mut bytes = Vec::new();
        for pool in pools.flatten() {
            for number in pool.numbers(&self.sealer)? {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
        }
        Ok(bytes)
    }
}
