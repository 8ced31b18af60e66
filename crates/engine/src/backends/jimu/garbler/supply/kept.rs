//! What the garbler keeps beyond its session (`backends/jimu/kept.rs`).

use cenote_net::{Channel, Fault, Phase, Role};
use cenote_pool::Level;
use cenote_prim::{Block, Secret, SessionId};

use super::{CorePool, Keep, LABEL, Supply, hash_of};
use crate::backends::jimu::batch;
use crate::backends::jimu::depot;
use crate::backends::jimu::ihash::{Label, ReedSolomonSender};
use crate::backends::jimu::input_check;
use crate::backends::jimu::kept::{Epoch, MOST_WIRES, WIRES, other_size};
use crate::backends::jimu::params::JimuParams;
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
        if at < self.pools.len() {
            return self.refill(channel, at, buckets);
        }
        channel.set_phase(Phase::Preprocess);
        if at == self.params.escrow_stock() {
            return self.make_escrow(channel, batch::escrow(missing));
        }
        self.make_inputs(channel, input_check::batch(&self.params, missing))
    }

    fn fill(&mut self, channel: &mut Channel, at: usize) -> Result<(), Fault> {
        self.fill_pool(channel, at)
    }

    fn levels(&self) -> Vec<Level> {
        let journal = self.shelves.journal();
        let level = |(at, CorePool { shape, spec, pool }): (usize, &CorePool)| match pool {
            Some(pool) => pool.counters(&journal),
            None if self.is_waiting(at) => batch::waiting(*shape, spec),
            None => Level::unfilled(shape.pool_name(), spec.capacity),
        };
        self.pools.iter().enumerate().map(level).collect()
    }

    fn pool_bytes(&self) -> Result<Secret<Vec<u8>>, Fault> {
        let mut bytes = Secret::<Vec<u8>>::default();
        for pool in self.pools.iter().filter_map(|pool| pool.pool.as_ref()) {
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
        for at in 0..self.pools.len() {
            if self.is_waiting(at) {
                let CorePool { shape, spec, .. } = self.pools[at];
                let name = shape.pool_name();
                let own = rest.split_at_checked(size_of::<u64>() * spec.capacity);
                let (own, others) = own.ok_or_else(|| other_size(&name))?;
                rest = others;
                let numbers = own.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number));
                let sealer = (!self.params.switches.compact).then_some(&self.sealer);
                let kept = Keep::full(sealer, shape, spec.capacity, numbers.collect())?;
                self.pools[at].pool = Some(kept);
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
}
