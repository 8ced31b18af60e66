//! What the evaluator keeps beyond its session (`backends/jimu/kept.rs`).

use cenote_net::{Channel, Fault, Phase, Role};
use cenote_ot::watch::Sealed;
use cenote_pool::Level;
use cenote_prim::{Block, Prg, Secret, SessionId};

use super::Supply;
use crate::backends::jimu::batch;
use crate::backends::jimu::depot;
use crate::backends::jimu::evaluator::escrow::Escrow;
use crate::backends::jimu::ihash::{ReedSolomonReceiver, Watch};
use crate::backends::jimu::input_check;
use crate::backends::jimu::kept::{Epoch, Found, MOST_WIRES, WIRES, other_size};
use crate::backends::jimu::params::JimuParams;
use crate::parts::keeper::{Keeper, POOL_PART};
use crate::parts::toss::Tosses;

/// What is seen of the streams of both codes; places and seeds of the labels come first.
pub(super) struct Seeds {
    pub(super) places: Secret<Vec<u8>>,
    pub(super) seeds: Secret<Vec<Block>>,
    /// Of the secret matrices, where they are to be had again.
    pub(super) matrices: Option<Block>,
    /// What is not seen.
    pub(super) sealed: [Sealed; 2],
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

    /// What Delta opens.
    pub(super) fn escrow(self, params: &JimuParams) -> Escrow {
        let labels = params.codes.labels.w as usize;
        let watched = Watch { positions: &self.places[labels..], seeds: &self.seeds[labels..] };
        Escrow::new(params, watched, self.sealed)
    }
}

/// What goes on.
pub(super) struct Opened {
    pub(super) hash: ReedSolomonReceiver,
    /// Tag of Delta.
    pub(super) delta: Block,
    /// The connection in which the epoch began.
    pub(super) epoch: SessionId,
    pub(super) escrow: Escrow,
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
    let [labels, perms] = [params.codes.labels, params.codes.perms];
    let watched = (labels.w + perms.w) as usize;
    let sealed = [labels, perms].map(|code| Sealed::blocks(code.n as usize));
    let mut found = None;
    let read = |bytes: &[u8]| {
        let (bytes, own) = Found::split_off(bytes)?;
        found = own;
        let blocks = watched + sealed.iter().sum::<usize>() + OTHERS;
        let epoch = Epoch::from_bytes(bytes, blocks, watched)?;
        let (seeds, others) = epoch.blocks.split_at(watched);
        let (first, others) = others.split_at(sealed[0]);
        let (second, others) = others.split_at(sealed[1]);
        let (own, others_own) = epoch.places.split_at(labels.w as usize);
        let sealed = [
            Sealed::from_blocks(first, own, labels.n as usize),
            Sealed::from_blocks(second, others_own, perms.n as usize),
        ];
        let others: [Block; OTHERS] = others.try_into().ok()?;
        let seeds: Secret<Vec<Block>> = seeds.iter().copied().collect();
        (!worn).then_some((epoch, seeds, sealed, Secret::new(others)))
    };
    let (id, kept) = keeper.open(channel, session, Role::Evaluator, read)?;
    let opened = kept.map(|(Epoch { id: epoch, wires, places, .. }, seeds, sealed, others)| {
        let [matrices, tag, rest @ ..] = *others;
        let seen = Seeds { places, seeds, matrices: Some(matrices), sealed };
        let mut hash = seen.hash(params, id, &mut Prg::new(matrices));
        hash.go_on(wires.max(keeper.noted(WIRES)), rest);
        Opened { hash, delta: tag, epoch, escrow: seen.escrow(params) }
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
    let sealed = seen.sealed.each_ref().map(Sealed::to_blocks);
    let sealed = sealed.iter().flat_map(|blocks| blocks.iter().copied());
    let blocks = seen.seeds.iter().copied().chain(sealed).chain(others).collect();
    let epoch = Epoch { id, wires: hash.next(), blocks, places: seen.places.clone() };
    let mut secrets = epoch.to_bytes();
    let found = Found::to_bytes(found);
    let mut own = Secret::with_capacity(secrets.len() + found.len());
    own.append(&mut secrets);
    own.extend_from_slice(&found);
    keeper.begin(&own)
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
        self.fill_store(channel, at)
    }

    fn levels(&self) -> Vec<Level> {
        let journal = self.shelves.journal();
        let level = |(at, store): (usize, &super::Store)| match self.is_waiting(at) {
            true => batch::waiting(store.shape, &store.spec),
            false => store.counters(&journal),
        };
        self.stores().enumerate().map(level).collect()
    }

    fn pool_bytes(&self) -> Result<Secret<Vec<u8>>, Fault> {
        let full = self.stores().filter(|store| store.pool.is_some());
        let mut bytes = Secret::with_capacity(full.map(super::Store::kept_len).sum());
        self.stores().try_for_each(|store| store.kept(&self.sealer, &mut bytes))?;
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
        self.tosses = Tosses::new(channel, Role::Evaluator);
    }
}

impl Supply {
    /// What earlier sessions have found out, once.
    pub(in crate::backends::jimu) fn take_found(&mut self) -> Option<Found> {
        self.found.take()
    }

    /// Whether pool number `at` of all lies on disk.
    pub(super) fn is_waiting(&self, at: usize) -> bool {
        self.waiting.get(at).is_some_and(|waits| *waits)
    }

    /// Something is about to be made: takes the pools that go on off the disk.
    pub(super) fn begin_making(&mut self) -> Result<(), Fault> {
        let Some(bytes) = self.shelves.begin_making()? else { return Ok(()) };
        let mut rest = &bytes[..];
        let Supply { pools, sealer, waiting, .. } = self;
        let stores = pools.iter_mut().map(|pool| &mut pool.store);
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
        self.shelves.lock().notes.number(WIRES, first..first + lanes as u64)
    }
}
