//! The evaluator's supply: takes hashes and tables, checks, draws buckets, and keeps what requests
//! take.

#[cfg(test)]
mod exposed;
mod kept;
mod measure;

use std::sync::Arc;

use cenote_net::{Channel, Fault, Phase, Role};
use cenote_ot::{CotReceive, watch};
use cenote_pool::Pool;
use cenote_pool::params::Code;
use cenote_prim::bits::pack;
use cenote_prim::merkle::{MerkleBuilder, Node};
use cenote_prim::{Block, Prg, Secret, SessionId};
use zeroize::{Zeroize, Zeroizing};

use super::compact::{Exchange, Root};
use super::escrow::Escrow;
use super::stored::{Items as Rows, Keep, Store, TAG};
use crate::backends::jimu::batch::{self, Selection, lanes};
use crate::backends::jimu::compact::Leaves;
use crate::backends::jimu::depot::{Items, Shelves};
use crate::backends::jimu::garbled_core::{self, Checked, Members, Shape};
use crate::backends::jimu::ihash::{
    HashReceiver, Held, LANES, Label, Message, Recogniser, ReedSolomonEscrow, ReedSolomonReceiver,
    Statement, Tag, decode, encoded_len,
};
use crate::backends::jimu::input_check::{self, Sums};
use crate::backends::jimu::kept::{Found, count};
use crate::backends::jimu::params::JimuParams;
use crate::backends::jimu::store::{AHEAD, Sealer, Stored};
use crate::backends::jimu::tags;
use crate::parts::keeper::Keeper;
use crate::parts::toss::Tosses;
use crate::session::store_fault;
use kept::{Opened, Seeds};

/// The evaluator's side of everything that does not depend on the function.
pub(in crate::backends::jimu) struct Supply {
    session: SessionId,
    params: JimuParams,
    hash: ReedSolomonReceiver,
    /// Tag of Delta's label.
    delta: Block,
    choices: Box<dyn CotReceive>,
    sealer: Sealer,
    leaves: Leaves,
    pools: Vec<CorePool>,
    escrow: Arc<Escrow>,
    /// Ready buckets of cores, folded; wires in escrow, tags and corrections of permutation messages; wires for inputs ([`InputWire`]).
    shelves: Arc<Shelves>,
    /// Pools that lie on disk, full; none once anything was made.
    waiting: Vec<bool>,
    /// What earlier sessions have found out.
    found: Option<Found>,
    tosses: Tosses,
    prg: Prg,
}

/// A pool of cores of one shape.
struct CorePool {
    shape: Shape,
    store: Store,
}

/// A wire for an input of the evaluator: its active label and tag, and the choice bit, which is its
/// masked value.
#[derive(Clone, Copy, Default)]
pub(in crate::backends::jimu) struct InputWire {
    pub(in crate::backends::jimu) label: Label,
    pub(in crate::backends::jimu) tag: Block,
    pub(in crate::backends::jimu) choice: bool,
}

impl zeroize::DefaultIsZeroes for InputWire {}

impl InputWire {
    /// The wires of a part of a stock.
    pub(in crate::backends::jimu) fn all(blocks: &[Block]) -> impl Iterator<Item = InputWire> {
        blocks.as_chunks::<INPUT>().0.iter().map(|[a, b, c, tag, choice]| InputWire {
            label: Label([*a, *b, *c]),
            tag: *tag,
            choice: choice.lsb(),
        })
    }
}

/// Blocks of an [`InputWire`] in stock.
const INPUT: usize = 5;

/// The items that survived the check of a batch.
struct Batch {
    fresh: Vec<Stored>,
    /// Their leaves, in compact storage.
    leaves: Vec<Node>,
    selection: Selection,
}

impl Supply {
    /// Watch lists, delta, and correlated OTs for this side's inputs; with a `keeper`, the former two are those of its epoch.
    pub(in crate::backends::jimu) fn setup(
        channel: &mut Channel,
        session: SessionId,
        params: JimuParams,
        mut prg: Prg,
        mut keeper: Option<&mut Keeper>,
    ) -> Result<Supply, Fault> {
        let (session, kept, found) = kept::open(channel, session, &params, keeper.as_deref_mut())?;
        let mut tosses = Tosses::new(session, Role::Evaluator);
        if kept.is_none() {
            count(keeper.as_deref_mut())?;
        }
        let mut choices = params.ot.receiver(channel, &session, 0, &mut prg)?;
        let Opened { hash, delta, epoch, escrow } = match kept {
            Some(kept) => kept,
            None => {
                let (cot, keeps) = (&mut *choices, keeper.is_some());
                let seen = receive_seeds(channel, cot, &session, &params, keeps, &mut prg)?;
                let mut hash = seen.hash(&params, session, &mut prg);
                let cot = &mut *choices;
                let delta = receive_delta(channel, cot, &mut hash, &params, &mut tosses, &mut prg)?;
                // Only now: a later connection proves the correlation of its own OT, and what was sealed is under that of this one.
                if let Some(keeper) = keeper {
                    kept::begin(keeper, session, &seen, (&hash, delta), found.as_ref())?;
                }
                let escrow = seen.escrow(&params);
                Opened { hash, delta, epoch: session, escrow }
            }
        };
        let compact = params.switches.compact;
        let pools = params
            .cores()
            .map(|(shape, &spec)| CorePool { shape, store: Store::new(shape, spec, compact) });
        let pools: Vec<CorePool> = pools.collect();
        let cores = params
            .cores()
            .map(|(shape, spec)| shape.stock(garbled_core::ready_blocks(shape, spec.bucket)));
        let stocks = cores.chain(batch::stocks_of_wires(escrowed_blocks(&params), INPUT));
        let shelves = Arc::new(Shelves::new(Items::new(stocks.collect())));
        let widest = pools.iter().map(|pool| pool.store.rows.stride()).max().unwrap_or_default();
        Ok(Supply {
            session,
            pools,
            escrow: Arc::new(escrow),
            hash,
            delta,
            choices,
            sealer: Sealer::new(widest, &mut prg),
            leaves: Leaves::new(epoch),
            shelves,
            waiting: Vec::new(),
            found,
            tosses,
            prg,
            params,
        })
    }

    /// Where it puts what it has made.
    pub(in crate::backends::jimu) fn shelves(&self) -> Arc<Shelves> {
        Arc::clone(&self.shelves)
    }

    pub(in crate::backends::jimu) fn hash(&self) -> &ReedSolomonReceiver {
        &self.hash
    }

    /// Tag of Delta's label.
    pub(in crate::backends::jimu) fn delta(&self) -> Block {
        self.delta
    }

    /// What Delta opens.
    pub(in crate::backends::jimu) fn escrow(&self) -> Arc<Escrow> {
        Arc::clone(&self.escrow)
    }

    /// All pools.
    fn stores(&self) -> impl Iterator<Item = &Store> {
        self.pools.iter().map(|pool| &pool.store)
    }

    fn fill_store(&mut self, channel: &mut Channel, at: usize) -> Result<(), Fault> {
        if self.is_waiting(at) || self.pools[at].store.pool.is_some() {
            return Ok(());
        }
        channel.set_phase(Phase::Preprocess);
        let full = if self.params.switches.compact {
            Keep::Compact(self.fill_root(channel, at)?)
        } else {
            Keep::Stored(self.fill_rows(channel, at)?)
        };
        self.pools[at].store.pool = Some(full);
        Ok(())
    }

    fn fill_rows(&mut self, channel: &mut Channel, at: usize) -> Result<Pool<Stored>, Fault> {
        let spec = self.pools[at].store.spec;
        let mut items = Vec::with_capacity(spec.capacity);
        while items.len() < spec.capacity {
            let missing = spec.capacity - items.len();
            let mut batch = self.generate(channel, at, spec.fresh(missing))?;
            batch.fresh.truncate(missing);
            let store = &mut self.pools[at].store;
            store.settle(&self.sealer, items.len(), &mut batch.fresh);
            items.extend(batch.fresh);
        }
        let name = self.pools[at].shape.pool_name();
        Pool::full(name, spec.capacity, items).map_err(store_fault)
    }

    fn fill_root(&mut self, channel: &mut Channel, at: usize) -> Result<Root, Fault> {
        let (shape, spec) = (self.pools[at].shape, self.pools[at].store.spec);
        let mut tree = MerkleBuilder::new(self.leaves.hash.clone());
        while tree.count() < spec.capacity {
            let missing = spec.capacity - tree.count();
            let batch = self.generate(channel, at, spec.fresh(missing))?;
            batch.leaves.iter().take(missing).for_each(|leaf| tree.push(*leaf));
            self.pools[at].store.end();
        }
        Root::new(shape, spec.capacity, &tree)
    }

    /// One batch through pool number `at` of cores; phases as for the garbler.
    pub(in crate::backends::jimu) fn refill(
        &mut self,
        channel: &mut Channel,
        at: usize,
        buckets: Phase,
    ) -> Result<(), Fault> {
        let drawn = self.draw(channel, at, buckets)?;
        self.solder_buckets(channel, at, &drawn)?;
        self.pools[at].store.end();
        Ok(())
    }

    /// A fresh batch, exchanged for drawn items.
    fn draw(
        &mut self,
        channel: &mut Channel,
        at: usize,
        buckets: Phase,
    ) -> Result<Vec<Stored>, Fault> {
        self.fill_store(channel, at)?;
        channel.set_phase(Phase::Preprocess);
        let spec = self.pools[at].store.spec;
        let mut batch = self.generate(channel, at, spec.batch)?;
        channel.set_phase(buckets);
        let draws = batch::draws(&spec, &mut batch.selection.coins, batch.fresh.len())?;
        let rest = batch.fresh.split_off(draws.positions().len());
        let store = &mut self.pools[at].store;
        store.release(&rest);
        let journal = &mut self.shelves.journal();
        if !self.params.switches.compact {
            store.exchange(journal, &draws, &mut batch.fresh)?;
            return Ok(batch.fresh);
        }
        let (hash, sealer, leaves) = (&self.hash, &self.sealer, &mut self.leaves);
        let exchange = Exchange { channel, hash, sealer, leaves, store, journal };
        exchange.run(&draws, &mut batch.fresh, &batch.leaves)?;
        Ok(batch.fresh)
    }

    /// Verifies the inner solders of the buckets of `drawn` and folds them.
    fn solder_buckets(
        &mut self,
        channel: &mut Channel,
        at: usize,
        drawn: &[Stored],
    ) -> Result<(), Fault> {
        let CorePool { shape, store } = &mut self.pools[at];
        let (shape, bucket) = (*shape, store.spec.bucket);
        let mut items = Rows::default();
        let (mut frame, mut opened, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        let (inner, near) = ((bucket - 1) * shape.wires(), batch::near(bucket * shape.wires()));
        self.shelves.lock().items.stocks[at].make_room(drawn.len() / bucket);
        let mut rest = drawn;
        for buckets in batch::messages(drawn.len() / bucket, inner) {
            receive(channel, &self.hash, tags::JIMU_INNER, buckets * inner, &mut frame)?;
            let bytes = encoded_len(near * inner, self.hash.perm_blocks());
            for (buckets, bytes) in batch::pieces(buckets, near).zip(frame.chunks(bytes)) {
                let (these, others) = rest.split_at(buckets * bucket);
                rest = others;
                store.take(&self.sealer, (these, rest), &mut items)?;
                read(bytes, &self.hash, buckets * inner, &mut opened)?;
                expected.clear();
                let (delta, tags) = (self.delta, &items.tags);
                garbled_core::inner_tags(shape, bucket, delta, tags, &opened, &mut expected);
                if !self.hash.agree(&opened, &expected) {
                    return Err(Fault::Misbehaved("jimu.inner"));
                }
                let Rows { numbers, tables, tags } = &items;
                let members = Members { numbers, tables, tags, opened: &opened };
                let stock = &mut self.shelves.lock().items.stocks[at];
                garbled_core::fold(shape, bucket, &members, stock.room(buckets));
            }
        }
        Ok(())
    }

    /// `total` wires in escrow.
    fn make_escrow(&mut self, channel: &mut Channel, total: usize) -> Result<(), Fault> {
        self.begin_making()?;
        let stride = escrowed_blocks(&self.params);
        let mut items = Secret::new(vec![Block::ZERO; total * stride]);
        let (mut tags, mut rest) = (Vec::new(), &mut items[..]);
        self.hash.keep_corrections();
        for strip in batch::strips(total, 1) {
            // Batches are whole vectors.
            let (_, frame) = self.receive_wires(channel, strip, 0, &mut tags)?;
            let (own, others) = rest.split_at_mut(strip * stride);
            rest = others;
            self.hash.perm_corrections(strip, &frame, own, stride, TAG);
            for (item, tag) in own.chunks_exact_mut(stride).zip(&tags) {
                item[..TAG].copy_from_slice(&[tag.label, tag.perm]);
            }
        }
        let statement = self.close_stating(channel)?;
        self.shelves.lock().items.put_escrowed(&items, statement);
        Ok(())
    }

    /// A batch of fresh items, checked.
    fn generate(&mut self, channel: &mut Channel, at: usize, items: usize) -> Result<Batch, Fault> {
        self.begin_making()?;
        let (shape, spec) = (self.pools[at].shape, self.pools[at].store.spec);
        self.pools[at].store.begin(items);
        let stored = self.receive_items(channel, at, items)?;
        let coin = self.close(channel)?;
        let selection = Selection::new(coin, &spec, shape, items);
        self.check_opened(channel, at, &selection, &stored)?;
        self.shelves.step();
        let checked: Vec<Stored> = selection.checked.iter().map(|&item| stored[item]).collect();
        let store = &mut self.pools[at].store;
        store.release(&checked);
        let fresh = selection.survivors.iter().map(|&item| stored[item]).collect();
        let leaves = store.leaves.as_ref().map_or_else(Vec::new, |leaves| {
            selection.survivors.iter().map(|&item| leaves[item]).collect()
        });
        Ok(Batch { fresh, leaves, selection })
    }

    fn receive_items(
        &mut self,
        channel: &mut Channel,
        at: usize,
        items: usize,
    ) -> Result<Vec<Stored>, Fault> {
        let mut stored = Vec::with_capacity(items);
        let (mut frame, mut tags) = (Vec::new(), Vec::new());
        for strip in batch::strips(items, self.pools[at].shape.wires()) {
            self.receive_strip(channel, at, strip, &mut stored, (&mut frame, &mut tags))?;
        }
        Ok(stored)
    }

    fn receive_strip(
        &mut self,
        channel: &mut Channel,
        at: usize,
        items: usize,
        stored: &mut Vec<Stored>,
        (frame, tags): (&mut Vec<u8>, &mut Vec<Tag>),
    ) -> Result<(), Fault> {
        let shape = self.pools[at].shape;
        let (wires, blocks) = (shape.wires(), shape.table_blocks());
        let lanes = lanes(items * wires);
        let corrections = self.hash.corrections_len(lanes);
        frame.resize(corrections + 16 * items * blocks, 0);
        channel.recv_into(tags::JIMU_STRIP, frame)?;
        self.number_wires(lanes)?;
        let (corrections, tables) = frame.split_at(corrections);
        let first = self.hash.hash(lanes, corrections, tags)?;
        let numbers: Vec<u64> = (0..items).map(|item| first + (item * wires) as u64).collect();
        let store = &mut self.pools[at].store;
        for ((number, tables), tags) in
            numbers.iter().zip(tables.chunks_exact(16 * blocks)).zip(tags.chunks_exact(wires))
        {
            stored.push(store.put(&self.sealer, *number, tables, tags));
        }
        if let Some(leaves) = &mut store.leaves {
            self.leaves.of(shape, &numbers, frame, leaves);
        }
        Ok(())
    }

    /// Receives a strip of `lanes` wires: the number of the first; corrections, and `more` bytes behind them.
    fn receive_wires(
        &mut self,
        channel: &mut Channel,
        lanes: usize,
        more: usize,
        tags: &mut Vec<Tag>,
    ) -> Result<(u64, Vec<u8>), Fault> {
        let corrections = self.hash.corrections_len(lanes);
        let frame = channel.recv(tags::JIMU_STRIP, corrections + more)?;
        self.number_wires(lanes)?;
        Ok((self.hash.hash(lanes, &frame[..corrections], tags)?, frame))
    }

    /// Ends a batch: the sacrificed wires, the coin, the consistency check.
    fn close(&mut self, channel: &mut Channel) -> Result<Block, Fault> {
        self.close_with(channel, |_, _, _| ()).map(|(coin, ())| coin)
    }

    /// The same of a batch whose corrections were kept; what it states.
    fn close_stating(&mut self, channel: &mut Channel) -> Result<Statement, Fault> {
        let state = ReedSolomonReceiver::statement;
        self.close_with(channel, state).map(|(_, statement)| statement)
    }

    /// Ends a batch: the coin, and what `see` makes of the answer that passed.
    fn close_with<T>(
        &mut self,
        channel: &mut Channel,
        see: impl FnOnce(&ReedSolomonReceiver, &Held, &[u8]) -> T,
    ) -> Result<(Block, T), Fault> {
        let len = self.hash.corrections_len(self.hash.sacrificed());
        let frame = channel.recv(tags::JIMU_CLOSE, len)?;
        self.number_wires(self.hash.sacrificed())?;
        self.hash.close(&frame)?;
        let coin = self.tosses.toss(channel, &mut self.prg)?;
        // The garbler is making its answer.
        let held = self.hash.held(coin);
        let answer = channel.recv(tags::JIMU_ANSWER, self.hash.answer_len())?;
        self.hash.check(&held, &answer)?;
        Ok((coin, see(&self.hash, &held, &answer)))
    }

    fn check_opened(
        &mut self,
        channel: &mut Channel,
        at: usize,
        selection: &Selection,
        stored: &[Stored],
    ) -> Result<(), Fault> {
        let shape = self.pools[at].shape;
        let mut items = Rows::default();
        let (mut frame, mut opened) = (Vec::new(), Vec::new());
        let (mut checked, mut inputs) = (&selection.checked[..], &selection.inputs[..]);
        for count in batch::messages(checked.len(), shape.wires()) {
            let (these, others) = checked.split_at(count);
            let (bits, other_bits) = inputs.split_at(count * shape.inputs());
            (checked, inputs) = (others, other_bits);
            receive(channel, &self.hash, tags::JIMU_CHECK, count * shape.wires(), &mut frame)?;
            read(&frame, &self.hash, count * shape.wires(), &mut opened)?;
            items.clear();
            let rows = &self.pools[at].store.rows;
            for (i, &item) in these.iter().enumerate() {
                if let Some(&later) = these.get(i + AHEAD) {
                    rows.prefetch(stored[later].place);
                }
                items.push(shape, rows.row(stored[item].place as u32).unwrap_or_default());
            }
            let Rows { numbers, tables, tags } = &items;
            let inputs = &pack(bits.iter().copied());
            let cores = Checked { numbers, tables, tags, inputs, opened: &opened };
            if !garbled_core::check(shape, &self.hash, self.delta, &cores) {
                return Err(Fault::Misbehaved("jimu.check"));
            }
        }
        Ok(())
    }

    /// `total` wires for this side's inputs, sacrificed ones included (`input_check.rs`).
    fn make_inputs(&mut self, channel: &mut Channel, total: usize) -> Result<(), Fault> {
        self.begin_making()?;
        let mut keys = Zeroizing::new(vec![Block::ZERO; total]);
        self.choices.extend(channel, &mut keys)?;
        let choices = Zeroizing::new(keys.iter().map(|key| key.lsb()).collect::<Vec<bool>>());
        let (mut labels, mut tags) = (Zeroizing::new(Vec::with_capacity(total)), Vec::new());
        let (mut strip_tags, mut done) = (Vec::new(), 0);
        self.hash.keep_watched();
        for strip in batch::strips(total, 1) {
            let wires = done..done + strip;
            done += strip;
            let (first, mut frame) =
                self.receive_wires(channel, strip, 16 * strip, &mut strip_tags)?;
            let masked = &frame[self.hash.corrections_len(strip)..];
            for (key, bytes) in keys[wires.clone()].iter_mut().zip(masked.as_chunks::<16>().0) {
                *key ^= Block::from_bytes(*bytes);
            }
            frame.zeroize();
            let mut own = self.hash.complete(first, &keys[wires.clone()], &choices[wires]);
            labels.extend_from_slice(&own);
            own.zeroize();
            tags.extend(strip_tags.iter().map(|tag| tag.label));
        }
        let coin = self.close(channel)?;
        let sums = Sums::new(self.session, &self.params, coin);
        check_inputs(channel, &sums, &self.hash, (&keys, &choices, &tags), self.delta)?;
        let kept = total - self.params.input_sacrificed();
        let stock = &mut self.shelves.lock().items.stocks[self.pools.len() + 1];
        for (i, item) in stock.room(kept).chunks_exact_mut(INPUT).enumerate() {
            item[..3].copy_from_slice(&labels[i].0);
            item[3] = tags[i];
            item[4] = Block::new(choices[i].into());
        }
        Ok(())
    }
}

/// Blocks of a wire in escrow in stock.
pub(in crate::backends::jimu) fn escrowed_blocks(params: &JimuParams) -> usize {
    TAG + ReedSolomonEscrow::correction_blocks(&params.codes)
}

/// Receives the bytes of `count` openings.
fn receive(
    channel: &mut Channel,
    hash: &ReedSolomonReceiver,
    tag: cenote_net::Tag,
    count: usize,
    frame: &mut Vec<u8>,
) -> Result<(), Fault> {
    frame.resize(encoded_len(count, hash.perm_blocks()), 0);
    channel.recv_into(tag, frame)
}

/// Reads `count` openings.
fn read(
    bytes: &[u8],
    hash: &ReedSolomonReceiver,
    count: usize,
    opened: &mut Vec<Message>,
) -> Result<(), Fault> {
    opened.resize(count, Message::ZERO);
    if decode(bytes, hash.perm_blocks(), opened) {
        Ok(())
    } else {
        Err(Fault::Misbehaved("jimu.format"))
    }
}

/// Both watch lists.
fn receive_seeds(
    channel: &mut Channel,
    cot: &mut dyn CotReceive,
    session: &SessionId,
    params: &JimuParams,
    keeps: bool,
    prg: &mut Prg,
) -> Result<Seeds, Fault> {
    let mut list = |instance, code: &Code, prg: &mut Prg| {
        let (seeds, watched) = (code.n as usize, code.w as usize);
        watch::receive(channel, &mut *cot, session, instance, seeds, watched, prg)
    };
    let labels = list(0, &params.codes.labels, prg)?;
    let perms = list(1, &params.codes.perms, prg)?;
    Ok(Seeds {
        places: labels.positions.iter().chain(perms.positions.iter()).copied().collect(),
        seeds: labels.seeds.iter().chain(perms.seeds.iter()).copied().collect(),
        sealed: [labels.sealed, perms.sealed],
        matrices: keeps.then(|| prg.block()),
    })
}

/// Shows that keys of wires with these choice bits are known, and checks that they are those of the hashed labels with these tags.
fn check_inputs(
    channel: &mut Channel,
    sums: &Sums,
    hash: &ReedSolomonReceiver,
    (keys, choices, tags): (&[Block], &[bool], &[Block]),
    delta: Block,
) -> Result<(), Fault> {
    let bits = Zeroizing::new(choices.iter().map(|&bit| bit.into()).collect::<Vec<u8>>());
    let (choices, keys) = (sums.of(&bits), Zeroizing::new(sums.of(keys)));
    let mut message = choices.clone();
    message.extend_from_slice(&sums.digest(&keys));
    channel.send(tags::JIMU_SUM, &message)?;
    let mut opened = Zeroizing::new(vec![Label::ZERO; sums.count()]);
    channel.recv_into(tags::JIMU_PROOF, bytemuck::cast_slice_mut(&mut opened))?;
    let expected = sums.shifted(sums.of(tags), &choices, delta);
    let mut good = true;
    for ((label, tag), key) in opened.iter().zip(expected).zip(&*keys) {
        good &= hash.labels_agree(label, tag) & label.key().ct_eq(*key);
    }
    if good { Ok(()) } else { Err(Fault::Misbehaved("jimu.input.proof")) }
}

/// The tag of Delta, which must not be zero: both labels of every wire would be the same. Its key is the correlation of `cot`, which wires as those for
/// inputs prove, of which none is kept.
fn receive_delta(
    channel: &mut Channel,
    cot: &mut dyn CotReceive,
    hash: &mut ReedSolomonReceiver,
    params: &JimuParams,
    tosses: &mut Tosses,
    prg: &mut Prg,
) -> Result<Block, Fault> {
    let mut keys = Zeroizing::new(vec![Block::ZERO; input_check::none(params)]);
    cot.extend(channel, &mut keys)?;
    let choices = Zeroizing::new(keys.iter().map(|key| key.lsb()).collect::<Vec<bool>>());
    let lanes = LANES + keys.len();
    let (own, last) = (hash.corrections_len(lanes), hash.corrections_len(hash.sacrificed()));
    let mut shift = [0; size_of::<Block>()];
    let len = shift.len() + own + size_of_val(&keys[..]) + last;
    let frame = channel.recv(tags::JIMU_DELTA, len)?;
    let (key, rest) = frame.split_at(shift.len());
    shift.copy_from_slice(key);
    let (own, rest) = rest.split_at(own);
    let (masked, last) = rest.split_at(size_of_val(&keys[..]));
    for (key, bytes) in keys.iter_mut().zip(masked.as_chunks::<16>().0) {
        *key ^= Block::from_bytes(*bytes);
    }
    let mut tags = Vec::new();
    hash.keep_watched();
    let wire = hash.hash(lanes, own, &mut tags)?;
    let delta = hash.set_delta(wire, &Label::of_key(Block::from_bytes(shift)));
    hash.close(last)?;
    let coin = tosses.toss(channel, prg)?;
    let held = hash.held(coin);
    let answer = channel.recv(tags::JIMU_ANSWER, hash.answer_len())?;
    hash.check(&held, &answer)?;
    if delta.ct_eq(Block::ZERO) {
        return Err(Fault::Misbehaved("jimu.delta"));
    }
    let tags: Vec<Block> = tags[LANES..].iter().map(|tag| tag.label).collect();
    let sums = Sums::new(tosses.session(), params, coin);
    check_inputs(channel, &sums, hash, (&keys, &choices, &tags), delta)?;
    Ok(delta)
}
