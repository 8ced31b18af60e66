//! The garbler's supply: hashes, garbles, answers checks, and keeps what requests take.

#[cfg(test)]
mod exposed;
mod kept;
mod measure;

use std::sync::Arc;

use cenote_net::{Channel, Fault, Phase, Role};
use cenote_ot::{CotSend, watch};
use cenote_prim::bits::pack;
use cenote_prim::{Block, Prg, Secret, SessionId};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::compact::Again;
use super::store::Keep;
use crate::backends::jimu::batch::{self, Selection, lanes};
use crate::backends::jimu::compact::Leaves;
use crate::backends::jimu::depot::{Items, Shelves};
use crate::backends::jimu::garbled_core::{self, Shape};
use crate::backends::jimu::ihash::{HashSender, LANES, Label, Message, ReedSolomonSender, encode};
use crate::backends::jimu::input_check::{self, Sums};
use crate::backends::jimu::kept::count;
use crate::backends::jimu::params::{JimuParams, PoolSpec};
use crate::backends::jimu::store::Sealer;
#[cfg(test)]
use crate::backends::jimu::store::flip_in_pool;
use crate::backends::jimu::tags;
use crate::parts::keeper::Keeper;
use crate::parts::toss::Tosses;

/// The garbler's side of everything that does not depend on the function.
pub(in crate::backends::jimu) struct Supply {
    session: SessionId,
    params: JimuParams,
    hash: ReedSolomonSender,
    delta: Secret<Label>,
    choices: Box<dyn CotSend>,
    sealer: Sealer,
    leaves: Leaves,
    pools: Vec<CorePool>,
    /// Ready cores, messages of their base wires; messages of wires in escrow; labels of wires for the evaluator's inputs.
    shelves: Arc<Shelves>,
    /// Pools that lie on disk, full; none once anything was made.
    waiting: Vec<bool>,
    tosses: Tosses,
    prg: Prg,
}

/// A pool of cores of one shape.
struct CorePool {
    shape: Shape,
    spec: PoolSpec,
    pool: Option<Keep>,
}

/// Blocks of a message.
const MESSAGE: usize = size_of::<Message>() / 16;
/// Blocks of a label.
const LABEL: usize = size_of::<Label>() / 16;

/// The items that survived the check of a batch, by number.
struct Batch {
    fresh: Vec<u64>,
    selection: Selection,
}

/// Room for a strip, used again for the next one.
#[derive(Default)]
struct Strip {
    messages: Zeroizing<Vec<Message>>,
    tables: Vec<Block>,
    frame: Vec<u8>,
}

impl Supply {
    /// Watch lists, delta, and correlated OTs for the evaluator's inputs; with a `keeper`, the former two are those of its epoch.
    pub(in crate::backends::jimu) fn setup(
        channel: &mut Channel,
        session: SessionId,
        params: JimuParams,
        mut prg: Prg,
        mut keeper: Option<&mut Keeper>,
    ) -> Result<Supply, Fault> {
        let (session, kept) = kept::open(channel, session, &params, keeper.as_deref_mut())?;
        let mut tosses = Tosses::new(session, Role::Garbler);
        // Correlated OT under the key of Delta, which is drawn first where there is none yet.
        let key = match &kept {
            Some((_, delta, _)) => delta.key(),
            None => {
                count(keeper.as_deref_mut())?;
                prg.block().with_lsb(true)
            }
        };
        let mut choices = params.ot.sender(channel, &session, 0, key, &mut prg)?;
        let (hash, delta, epoch) = match kept {
            Some(kept) => kept,
            None => {
                let cot = &mut *choices;
                let (mut hash, seeds) = send_seeds(channel, cot, &session, &params, &mut prg)?;
                let cot = &mut *choices;
                let delta = send_delta(channel, cot, &mut hash, &params, &mut tosses, &mut prg)?;
                if let Some(keeper) = keeper {
                    kept::begin(keeper, session, (&hash, &seeds), &delta)?;
                }
                (hash, delta, session)
            }
        };
        let pools = params.cores().map(|(shape, &spec)| CorePool { shape, spec, pool: None });
        let pools: Vec<CorePool> = pools.collect();
        let cores = pools.iter().map(|CorePool { shape, .. }| shape.stock(shape.wires() * MESSAGE));
        let stocks = cores.chain(batch::stocks_of_wires(MESSAGE, LABEL));
        let shelves = Arc::new(Shelves::new(Items::new(stocks.collect())));
        Ok(Supply {
            session,
            pools,
            shelves,
            hash,
            delta,
            choices,
            sealer: Sealer::new(0, &mut prg),
            leaves: Leaves::new(epoch),
            waiting: Vec::new(),
            tosses,
            prg,
            params,
        })
    }

    /// Where it puts what it has made.
    pub(in crate::backends::jimu) fn shelves(&self) -> Arc<Shelves> {
        Arc::clone(&self.shelves)
    }

    /// Delta between the two labels of every wire.
    pub(in crate::backends::jimu) fn delta(&self) -> Label {
        *self.delta
    }

    /// Blocks of a permutation message on the wire.
    pub(in crate::backends::jimu) fn perm_blocks(&self) -> usize {
        self.hash.perm_blocks()
    }

    fn fill_pool(&mut self, channel: &mut Channel, at: usize) -> Result<(), Fault> {
        let CorePool { shape, spec, .. } = self.pools[at];
        if self.is_waiting(at) || self.pools[at].pool.is_some() {
            return Ok(());
        }
        channel.set_phase(Phase::Preprocess);
        let mut items = Vec::with_capacity(spec.capacity);
        while items.len() < spec.capacity {
            let missing = spec.capacity - items.len();
            let batch = self.generate(channel, &spec, shape, spec.fresh(missing))?;
            items.extend(batch.fresh.into_iter().take(missing));
        }
        let sealer = (!self.params.switches.compact).then_some(&self.sealer);
        self.pools[at].pool = Some(Keep::full(sealer, shape, spec.capacity, items)?);
        Ok(())
    }

    /// A fresh batch, exchanged for drawn items. What the evaluator did not keep is sent again. What
    /// draws from the pool is charged to the phase `buckets`: online for a request that waits for it.
    fn draw(
        &mut self,
        channel: &mut Channel,
        at: usize,
        buckets: Phase,
    ) -> Result<Vec<u64>, Fault> {
        self.fill_pool(channel, at)?;
        let CorePool { shape, spec, .. } = self.pools[at];
        channel.set_phase(Phase::Preprocess);
        let mut batch = self.generate(channel, &spec, shape, spec.batch)?;
        channel.set_phase(buckets);
        let draws = batch::draws(&spec, &mut batch.selection.coins, batch.fresh.len())?;
        batch.fresh.truncate(draws.positions().len());
        let Some(pool) = &mut self.pools[at].pool else {
            return Err(Fault::Internal("a pool that was filled is gone".into()));
        };
        pool.exchange(&mut self.shelves.journal(), &self.sealer, &draws, &mut batch.fresh)?;
        if let Some(numbers) = pool.compact() {
            let again = Again::new(shape, &self.hash, &self.delta);
            again.send(channel, &mut self.leaves, numbers, (&draws, &batch.fresh))?;
        }
        Ok(batch.fresh)
    }

    /// One batch through pool number `at` of cores.
    pub(in crate::backends::jimu) fn refill(
        &mut self,
        channel: &mut Channel,
        at: usize,
        buckets: Phase,
    ) -> Result<(), Fault> {
        let drawn = self.draw(channel, at, buckets)?;
        self.solder_buckets(channel, at, &drawn)
    }

    /// Inner solders of the buckets that `numbers` name; their base wires go into the stock.
    fn solder_buckets(
        &mut self,
        channel: &mut Channel,
        at: usize,
        numbers: &[u64],
    ) -> Result<(), Fault> {
        let CorePool { shape, spec, .. } = &self.pools[at];
        let (wires, bucket) = (shape.wires(), spec.bucket);
        let mut members = Zeroizing::new(Vec::new());
        let (mut solders, mut frame) = (Vec::new(), Vec::new());
        let most = batch::messages(numbers.len() / bucket, (bucket - 1) * wires).next();
        // It never grows: nothing of it is left elsewhere.
        let mut bases = Zeroizing::new(Vec::<Message>::with_capacity(most.unwrap_or(0) * wires));
        self.shelves.lock().items.stocks[at].make_room(numbers.len() / bucket);
        let mut rest = numbers;
        for buckets in batch::messages(numbers.len() / bucket, (bucket - 1) * wires) {
            let (these, others) = rest.split_at(buckets * bucket);
            rest = others;
            frame.clear();
            for these in these.chunks(batch::near(bucket * wires) * bucket) {
                self.hash.again(these, wires, &mut members);
                solders.clear();
                garbled_core::inner_solders(*shape, bucket, &self.delta, &members, &mut solders);
                encode(&solders, self.hash.perm_blocks(), &mut frame);
                let all = members.chunks_exact(bucket * wires);
                bases.extend(all.flat_map(|bucket| &bucket[..wires]));
            }
            // First: who takes them needs the peer to have them.
            channel.send(tags::JIMU_INNER, &frame)?;
            let stock = &mut self.shelves.lock().items.stocks[at];
            stock.room(buckets).copy_from_slice(bytemuck::cast_slice(&bases));
            bases.clear();
        }
        Ok(())
    }

    /// `total` wires in escrow.
    fn make_escrow(&mut self, channel: &mut Channel, total: usize) -> Result<(), Fault> {
        self.begin_making()?;
        let mut wires = Zeroizing::new(Vec::<Message>::with_capacity(total));
        let mut room = Strip::default();
        for strip in batch::strips(total, 1) {
            self.hash_strip(channel, lanes(strip), &mut room, |_, messages, _| {
                wires.extend_from_slice(&messages[..strip]);
            })?;
        }
        self.close(channel)?;
        let stock = &mut self.shelves.lock().items.stocks[self.pools.len()];
        stock.room(total).copy_from_slice(bytemuck::cast_slice(&wires));
        Ok(())
    }

    /// A batch of fresh items, checked.
    fn generate(
        &mut self,
        channel: &mut Channel,
        spec: &PoolSpec,
        shape: Shape,
        items: usize,
    ) -> Result<Batch, Fault> {
        self.begin_making()?;
        let numbers = self.send_items(channel, shape, items)?;
        let coin = self.close(channel)?;
        let selection = Selection::new(coin, spec, shape, items);
        self.open_checked(channel, shape, &selection, &numbers)?;
        self.shelves.step();
        let fresh = selection.survivors.iter().map(|&item| numbers[item]);
        Ok(Batch { fresh: fresh.collect(), selection })
    }

    /// Returns the numbers of the items.
    fn send_items(
        &mut self,
        channel: &mut Channel,
        shape: Shape,
        items: usize,
    ) -> Result<Vec<u64>, Fault> {
        let (mut numbers, mut room) = (Vec::with_capacity(items), Strip::default());
        for strip in batch::strips(items, shape.wires()) {
            self.send_strip(channel, shape, strip, &mut numbers, &mut room)?;
        }
        Ok(numbers)
    }

    fn send_strip(
        &mut self,
        channel: &mut Channel,
        shape: Shape,
        items: usize,
        numbers: &mut Vec<u64>,
        room: &mut Strip,
    ) -> Result<(), Fault> {
        let delta = *self.delta;
        let wires = shape.wires();
        let mut tables = std::mem::take(&mut room.tables);
        self.hash_strip(channel, lanes(items * wires), room, |first, messages, frame| {
            let own: Vec<u64> = (0..items).map(|item| first + (item * wires) as u64).collect();
            tables.resize(items * shape.table_blocks(), Block::ZERO);
            garbled_core::garble(shape, &delta, &own, &messages[..items * wires], &mut tables);
            frame.extend_from_slice(Block::as_bytes(&tables));
            numbers.extend(own);
        })?;
        room.tables = tables;
        Ok(())
    }

    /// Hashes `lanes` wires and sends the corrections with what `more` appends.
    fn hash_strip(
        &mut self,
        channel: &mut Channel,
        lanes: usize,
        Strip { messages, frame, .. }: &mut Strip,
        more: impl FnOnce(u64, &[Message], &mut Vec<u8>),
    ) -> Result<u64, Fault> {
        self.number_wires(lanes)?;
        frame.clear();
        let first = self.hash.hash(lanes, messages, frame);
        more(first, messages, frame);
        channel.send(tags::JIMU_STRIP, frame)?;
        Ok(first)
    }

    /// Ends a batch: the sacrificed wires, the coin, the answer to the consistency check.
    fn close(&mut self, channel: &mut Channel) -> Result<Block, Fault> {
        let mut frame = Vec::new();
        self.number_wires(self.hash.closing())?;
        self.hash.close(&mut frame);
        channel.send(tags::JIMU_CLOSE, &frame)?;
        let coin = self.tosses.toss(channel, &mut self.prg)?;
        channel.send(tags::JIMU_ANSWER, &self.hash.answer(coin))?;
        Ok(coin)
    }

    fn open_checked(
        &mut self,
        channel: &mut Channel,
        shape: Shape,
        selection: &Selection,
        numbers: &[u64],
    ) -> Result<(), Fault> {
        let mut messages = Zeroizing::new(Vec::new());
        let (mut opened, mut frame) = (Vec::new(), Vec::new());
        let (mut checked, mut inputs) = (&selection.checked[..], &selection.inputs[..]);
        for items in batch::messages(checked.len(), shape.wires()) {
            let (these, others) = checked.split_at(items);
            let (bits, other_bits) = inputs.split_at(items * shape.inputs());
            (checked, inputs) = (others, other_bits);
            let starts: Vec<u64> = these.iter().map(|&item| numbers[item]).collect();
            self.hash.again(&starts, shape.wires(), &mut messages);
            opened.clear();
            let (delta, inputs) = (&self.delta, pack(bits.iter().copied()));
            garbled_core::open_for_check(shape, delta, &messages, &inputs, &mut opened);
            frame.clear();
            encode(&opened, self.hash.perm_blocks(), &mut frame);
            channel.send(tags::JIMU_CHECK, &frame)?;
        }
        Ok(())
    }

    /// `total` wires for the evaluator's inputs, sacrificed ones included: hashed labels, whose keys
    /// go to the evaluator by correlated OT (`input_check.rs`).
    fn make_inputs(&mut self, channel: &mut Channel, total: usize) -> Result<(), Fault> {
        self.begin_making()?;
        let mut keys = Zeroizing::new(vec![Block::ZERO; total]);
        self.choices.extend(channel, &mut keys)?;
        let mut labels = Zeroizing::new(Vec::<Label>::with_capacity(total));
        let (mut room, mut rest) = (Strip::default(), &keys[..]);
        for strip in batch::strips(total, 1) {
            let (keys, others) = rest.split_at(strip);
            rest = others;
            self.hash_strip(channel, strip, &mut room, |_, messages, frame| {
                for (key, message) in keys.iter().zip(messages) {
                    labels.push(message.label);
                    frame.extend_from_slice(&(*key ^ message.label.key()).to_bytes());
                }
            })?;
        }
        let coin = self.close(channel)?;
        let sums = Sums::new(self.session, &self.params, coin);
        prove_inputs(channel, &sums, &labels, &self.delta)?;
        let kept = total - self.params.input_sacrificed();
        let stock = &mut self.shelves.lock().items.stocks[self.pools.len() + 1];
        stock.room(kept).copy_from_slice(bytemuck::cast_slice(&labels[..kept]));
        Ok(())
    }
}

#[cfg(test)]
impl Supply {
    /// Which items lie in the slots of pool number `at` of cores, in compact storage.
    pub(in crate::backends::jimu) fn numbers(&self, at: usize) -> Vec<u64> {
        let numbers = self.pools[at].pool.as_ref().and_then(Keep::compact);
        numbers.expect("a full pool in compact storage").to_vec()
    }

    /// Lies about that.
    pub(in crate::backends::jimu) fn replace_numbers(&mut self, at: usize, numbers: &[u64]) {
        let Some(Keep::Compact(pool)) = &mut self.pools[at].pool else {
            panic!("a full pool in compact storage")
        };
        for (slot, number) in numbers.iter().enumerate() {
            flip_in_pool(pool, &mut self.shelves.journal(), slot, |_| *number);
        }
    }
}

/// Both watch lists: the evaluator obtains the seeds of the positions that it watches. Returns all seeds as well.
fn send_seeds(
    channel: &mut Channel,
    cot: &mut dyn CotSend,
    session: &SessionId,
    params: &JimuParams,
    prg: &mut Prg,
) -> Result<(ReedSolomonSender, Secret<Vec<Block>>), Fault> {
    // All items follow from this one block: who stores no pool needs no more (`compact.rs`).
    let mut streams = prg.fork();
    let [labels, perms] = [&params.codes.labels, &params.codes.perms];
    let mut seeds = Secret::new(vec![Block::ZERO; (labels.n + perms.n) as usize]);
    let (first, second) = seeds.split_at_mut(labels.n as usize);
    for (instance, (list, code)) in [(first, labels), (second, perms)].into_iter().enumerate() {
        streams.fill(list);
        let watched = code.w as usize;
        watch::send(channel, cot, session, instance as u64, list, watched, prg)?;
    }
    Ok((hash_of(params, *session, &seeds), seeds))
}

/// The hash under these seeds, of both codes.
fn hash_of(params: &JimuParams, session: SessionId, seeds: &[Block]) -> ReedSolomonSender {
    let (labels, perms) = seeds.split_at(params.codes.labels.n as usize);
    ReedSolomonSender::new(&params.codes, session, labels, perms)
}

/// Opens the sums of labels that the evaluator has shown to know already.
fn prove_inputs(
    channel: &mut Channel,
    sums: &Sums,
    labels: &[Label],
    delta: &Label,
) -> Result<(), Fault> {
    let message = channel.recv(tags::JIMU_SUM, sums.message_len())?;
    let (choices, digest) = message.split_at(sums.count());
    let opened = sums.shifted(sums.of(labels), choices, *delta);
    let keys: Vec<Block> = opened.iter().map(Label::key).collect();
    if !bool::from(sums.digest(&keys).ct_eq(digest)) {
        return Err(Fault::Misbehaved("jimu.input.sum"));
    }
    let bytes: &[u8] = bytemuck::cast_slice(&opened);
    channel.send(tags::JIMU_PROOF, bytes)
}

/// Hashes Delta: the label of wire 0, plus what makes the correlation of `cot` its key, which is public; and proves that by
/// wires as those for inputs, of which none is kept.
fn send_delta(
    channel: &mut Channel,
    cot: &mut dyn CotSend,
    hash: &mut ReedSolomonSender,
    params: &JimuParams,
    tosses: &mut Tosses,
    prg: &mut Prg,
) -> Result<Secret<Label>, Fault> {
    let mut keys = Zeroizing::new(vec![Block::ZERO; input_check::none(params)]);
    cot.extend(channel, &mut keys)?;
    let (mut messages, mut frame) = (Zeroizing::new(Vec::new()), vec![0; size_of::<Block>()]);
    hash.hash(LANES + keys.len(), &mut messages, &mut frame);
    let (delta, messages) = messages.split_at(LANES);
    let shift = delta[0].label.key() ^ cot.delta();
    frame[..size_of::<Block>()].copy_from_slice(&shift.to_bytes());
    let masked = keys.iter().zip(messages).map(|(key, message)| *key ^ message.label.key());
    frame.extend(masked.flat_map(|key| key.to_bytes()));
    hash.close(&mut frame);
    channel.send(tags::JIMU_DELTA, &frame)?;
    let coin = tosses.toss(channel, prg)?;
    channel.send(tags::JIMU_ANSWER, &hash.answer(coin))?;
    let delta = Secret::new(delta[0].label ^ Label::of_key(shift));
    let labels = Zeroizing::new(messages.iter().map(|message| message.label).collect::<Vec<_>>());
    prove_inputs(channel, &Sums::new(tosses.session(), params, coin), &labels, &delta)?;
    channel.flush()?;
    Ok(delta)
}
