//! What the garbler keeps beyond its session (`backends/jimu/kept.rs`).

use std::cmp::Ordering;

use cenote_net::{Channel, Fault, Phase, Role};
use cenote_pool::Level;
use cenote_prim::{Block, Secret, SessionId};

use super::{Keep, LABEL, Supply, hash_of};
use crate::backends::jimu::batch::{self, Kind, Place};
use crate::backends::jimu::depot;
use crate::backends::jimu::ihash::{HashSender, Label, ReedSolomonSender};
use crate::backends::jimu::input_check;
use crate::backends::jimu::kept::{Epoch, MOST_WIRES, WIRES, other_size};
use crate::backends::jimu::params::{JimuParams, PoolSpec};
use crate::parts::keeper::Keeper;
use crate::parts::toss::Tosses;

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

impl depot::Supply for Supply {
    fn make(
        &mut self,
        channel: &mut Channel,
        at: usize,
        missing: usize,
        buckets: Phase,
    ) -> Result<(), Fault> {
        match at.cmp(&self.pools.len()) {
            Ordering::Less => self.refill(channel, at, buckets),
            Ordering::Equal => self.refill_escrow(channel, buckets),
            Ordering::Greater => {
                self.make_inputs(channel, input_check::batch(&self.params, missing))
            }
        }
    }

    fn fill(&mut self, channel: &mut Channel, at: usize) -> Result<(), Fault> {
        self.fill_pool(channel, Place::at(at, self.pools.len()))
    }

    fn levels(&self) -> Vec<Level> {
        let journal = self.shelves.journal();
        let cores = self.pools.iter();
        let cores = cores.map(|pool| (Kind::Core(pool.shape), &pool.spec, &pool.pool));
        let escrow = Kind::Escrow(self.hash.perm_blocks());
        let all = cores.chain([(escrow, &self.escrow.spec, &self.escrow.pool)]);
        let level = |(at, (kind, spec, pool)): (usize, (Kind, &PoolSpec, &Option<Keep>))| match pool
        {
            Some(pool) => pool.counters(&journal),
            None if self.is_waiting(at) => batch::waiting(kind, spec),
            None => Level::unfilled(kind.pool_name(), spec.capacity),
        };
        all.enumerate().map(level).collect()
    }

    fn pool_bytes(&self) -> Result<Secret<Vec<u8>>, Fault> {
        let pools = self.pools.iter().map(|pool| &pool.pool).chain([&self.escrow.pool]);
        let mut bytes = Secret::<Vec<u8>>::default();
        for pool in pools.flatten() {
            let numbers = pool.numbers(&self.sealer)?;
            bytes.extend(numbers.into_iter().flat_map(u64::to_le_bytes));
        }
        Ok(bytes)
    }

    fn go_on(&mut self, waiting: Vec<bool>) {
        self.waiting = waiting;
    }

    fn hashed(&self) -> u64 {
        self.hash.next()
    }

    fn nonce(&mut self) -> [u8; 32] {
        self.prg.bytes32()
    }

    fn session(&self) -> SessionId {
        self.session
    }

    fn bind(&mut self, channel: SessionId) {
        self.session = channel;
        self.tosses = Tosses::new(channel, Role::Garbler);
    }
}

impl Supply {
    /// Whether pool number `at` of all lies on disk.
    pub(super) fn is_waiting(&self, at: usize) -> bool {
        self.waiting.get(at).is_some_and(|waits| *waits)
    }

    /// Something is about to be made: takes the pools that go on off the disk.
    pub(super) fn begin_making(&mut self) -> Result<(), Fault> {
        let Some(bytes) = self.shelves.begin_making()? else { return Ok(()) };
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
        self.shelves.lock().notes.number(WIRES, first..first + lanes as u64)
    }

    fn places(&self) -> impl Iterator<Item = Place> + use<> {
        (0..self.pools.len()).map(Place::Core).chain([Place::Escrow])
    }
}
