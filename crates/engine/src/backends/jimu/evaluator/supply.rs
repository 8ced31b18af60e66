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
use cenote_prim::{Block, Prg, SessionId};
use zeroize::{Zeroize, Zeroizing};

use super::compact::{Exchange, Root};
use super::stored::{Items as Rows, Keep, Store, TAG};
use crate::backends::jimu::batch::{self, Kind, Place, Selection, lanes};
use crate::backends::jimu::compact::Leaves;
use crate::backends::jimu::depot::{Items, Shelves};
use crate::backends::jimu::escrow;
use crate::backends::jimu::garbled_core::{self, Checked, Members, Shape};
use crate::backends::jimu::ihash::{
    HashReceiver, LANES, Label, Message, Recogniser, ReedSolomonReceiver, Tag, decode, encoded_len,
};
use crate::backends::jimu::input_check::Sums;
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
    escrow: EscrowPool,
    /// Ready buckets of cores, folded; wires in escrow ([`Escrowed`]); wires for inputs ([`InputWire`]).
    shelves: Arc<Shelves>,
    /// Pools that lie on disk, full, those of cores first; none once anything was made.
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

/// The pool of escrow gadgets.
struct EscrowPool {
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

/// A wire with the records that give its permutation message to whoever knows Delta.
#[derive(Clone, Copy)]
pub(in crate::backends::jimu) struct Escrowed<'a> {
    pub(in crate::backends::jimu) tag: Tag,
    pub(in crate::backends::jimu) records: &'a [Block],
}

impl<'a> Escrowed<'a> {
    /// The wires of a part of a stock, `stride` blocks each.
    pub(in crate::backends::jimu) fn all(
        blocks: &'a [Block],
        stride: usize,
    ) -> impl Iterator<Item = Escrowed<'a>> {
        blocks.chunks_exact(stride).map(|item| {
            let (tag, records) = item.split_at(TAG);
            Escrowed { tag: Tag { label: tag[0], perm: tag[1] }, records }
        })
    }
}

/// Blocks of an [`InputWire`] in stock.
const INPUT: usize = 5;

/// The items and wires that survived the check of a batch.
struct Batch {
    fresh: Vec<Stored>,
    /// Their leaves, in compact storage.
    leaves: Vec<Node>,
    /// Tags of the extra wires.
    extra: Vec<Tag>,
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
        let Opened { hash, delta, epoch } = match kept {
            Some(kept) => kept,
            None => {
                let keeps = keeper.is_some();
                let cot = &mut *choices;
                let seen = receive_seeds(channel, cot, &session, &params, keeps, &mut prg)?;
                let mut hash = seen.hash(&params, session, &mut prg);
                let delta = receive_delta(channel, &mut hash, &mut tosses, &mut prg)?;
                if let Some(keeper) = keeper {
                    kept::begin(keeper, session, &seen, (&hash, delta), found.as_ref())?;
                }
                Opened { hash, delta, epoch: session }
            }
        };
        let compact = params.switches.compact;
        let pools = params.cores().map(|(shape, &spec)| CorePool {
            shape,
            store: Store::new(Kind::Core(shape), spec, compact),
        });
        let pools: Vec<CorePool> = pools.collect();
        let kind = Kind::Escrow(hash.perm_blocks());
        let escrow = EscrowPool { store: Store::new(kind, params.escrow, compact) };
        let cores = params.cores().map(|(shape, spec)| {
            Kind::Core(shape).stock(garbled_core::ready_blocks(shape, spec.bucket))
        });
        let others = [
            kind.stock(escrowed_blocks(params.escrow.bucket, hash.perm_blocks())),
            batch::input_stock(INPUT),
        ];
        let shelves = Arc::new(Shelves::new(Items::new(cores.chain(others).collect())));
        let widest = pools.iter().map(|pool| pool.store.rows.stride()).max().unwrap_or_default();
        Ok(Supply {
            session,
            pools,
            escrow,
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

    /// All pools, of cores and of gadgets.
    fn stores(&self) -> impl Iterator<Item = &Store> {
        self.pools.iter().map(|pool| &pool.store).chain([&self.escrow.store])
    }

    fn store(&mut self, at: Place) -> &mut Store {
        store_of(&mut self.pools, &mut self.escrow, at)
    }

    fn fill_store(&mut self, channel: &mut Channel, at: Place) -> Result<(), Fault> {
        if self.is_waiting(at.of(self.pools.len())) || self.store(at).pool.is_some() {
            return Ok(());
        }
        channel.set_phase(Phase::Preprocess);
        let full = if self.params.switches.compact {
            Keep::Compact(self.fill_root(channel, at)?)
        } else {
            Keep::Stored(self.fill_rows(channel, at)?)
        };
        self.store(at).pool = Some(full);
        Ok(())
    }

    fn fill_rows(&mut self, channel: &mut Channel, at: Place) -> Result<Pool<Stored>, Fault> {
        let spec = self.store(at).spec;
        let mut items = Vec::with_capacity(spec.capacity);
        while items.len() < spec.capacity {
            let missing = spec.capacity - items.len();
            let mut batch = self.generate(channel, at, spec.fresh(missing), 0)?;
            batch.fresh.truncate(missing);
            let store = store_of(&mut self.pools, &mut self.escrow, at);
            store.settle(&self.sealer, items.len(), &mut batch.fresh);
            items.extend(batch.fresh);
        }
        let name = self.store(at).kind.pool_name();
        Pool::full(name, spec.capacity, items).map_err(store_fault)
    }

    fn fill_root(&mut self, channel: &mut Channel, at: Place) -> Result<Root, Fault> {
        let (kind, spec) = (self.store(at).kind, self.store(at).spec);
        let mut tree = MerkleBuilder::new(self.leaves.hash.clone());
        while tree.count() < spec.capacity {
            let missing = spec.capacity - tree.count();
            let batch = self.generate(channel, at, spec.fresh(missing), 0)?;
            batch.leaves.iter().take(missing).for_each(|leaf| tree.push(*leaf));
            self.store(at).end();
        }
        Root::new(kind, spec.capacity, &tree)
    }

    /// One batch through pool number `at` of cores; phases as for the garbler.
    pub(in crate::backends::jimu) fn refill(
        &mut self,
        channel: &mut Channel,
        at: usize,
        buckets: Phase,
    ) -> Result<(), Fault> {
        let drawn = self.draw(channel, Place::Core(at), 0, buckets)?;
        self.solder_buckets(channel, at, &drawn.fresh)?;
        self.pools[at].store.end();
        Ok(())
    }

    /// One batch of escrow gadgets and of wires soldered to them.
    fn refill_escrow(&mut self, channel: &mut Channel, buckets: Phase) -> Result<(), Fault> {
        let spec = self.escrow.store.spec;
        let drawn = self.draw(channel, Place::Escrow, spec.batch / spec.bucket, buckets)?;
        self.solder_escrow(channel, &drawn.fresh, &drawn.extra)?;
        self.escrow.store.end();
        Ok(())
    }

    /// A fresh batch, exchanged for drawn items.
    fn draw(
        &mut self,
        channel: &mut Channel,
        at: Place,
        extra: usize,
        buckets: Phase,
    ) -> Result<Batch, Fault> {
        self.fill_store(channel, at)?;
        channel.set_phase(Phase::Preprocess);
        let spec = self.store(at).spec;
        let mut batch = self.generate(channel, at, spec.batch, extra)?;
        channel.set_phase(buckets);
        let draws = batch::draws(&spec, &mut batch.selection.coins, batch.fresh.len())?;
        let rest = batch.fresh.split_off(draws.positions().len());
        let store = store_of(&mut self.pools, &mut self.escrow, at);
        store.release(&rest);
        let journal = &mut self.shelves.journal();
        if !self.params.switches.compact {
            store.exchange(journal, &draws, &mut batch.fresh)?;
            return Ok(batch);
        }
        let (hash, sealer, leaves) = (&self.hash, &self.sealer, &mut self.leaves);
        let exchange = Exchange { channel, hash, sealer, leaves, store, journal };
        exchange.run(&draws, &mut batch.fresh, &batch.leaves)?;
        Ok(batch)
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

    /// Verifies the solders between gadgets and wires and folds them.
    fn solder_escrow(
        &mut self,
        channel: &mut Channel,
        drawn: &[Stored],
        wires: &[Tag],
    ) -> Result<(), Fault> {
        let (EscrowPool { store }, at) = (&mut self.escrow, self.pools.len());
        let (bucket, perm_blocks) = (store.spec.bucket, self.hash.perm_blocks());
        let mut items = Rows::default();
        let (mut frame, mut opened) = (Vec::new(), Vec::new());
        let (mut expected, mut records) = (Vec::new(), Vec::new());
        let (mut rest, mut wires) = (drawn, wires);
        for buckets in batch::messages(drawn.len() / bucket, bucket) {
            let (these, others) = rest.split_at(buckets * bucket);
            let (own, other_wires) = wires.split_at(buckets);
            (rest, wires) = (others, other_wires);
            store.take(&self.sealer, (these, rest), &mut items)?;
            receive(channel, &self.hash, tags::JIMU_ESCROW, buckets * bucket, &mut frame)?;
            read(&frame, &self.hash, buckets * bucket, &mut opened)?;
            expected.clear();
            escrow::expected_tags(bucket, self.delta, &items.tags, own, &mut expected);
            if !self.hash.agree(&opened, &expected) {
                return Err(Fault::Misbehaved("jimu.escrow"));
            }
            records.clear();
            escrow::fold(perm_blocks, &items.numbers, &items.tables, &opened, &mut records);
            let stock = &mut self.shelves.lock().items.stocks[at];
            let stride = stock.stride();
            let each = records.chunks_exact(bucket * escrow::record_blocks(perm_blocks));
            for ((item, tag), records) in
                stock.room(buckets).chunks_exact_mut(stride).zip(own).zip(each)
            {
                item[..TAG].copy_from_slice(&[tag.label, tag.perm]);
                item[TAG..].copy_from_slice(records);
            }
        }
        Ok(())
    }

    /// A batch of fresh items and `extra` wires without tables, checked.
    fn generate(
        &mut self,
        channel: &mut Channel,
        at: Place,
        items: usize,
        extra: usize,
    ) -> Result<Batch, Fault> {
        self.begin_making()?;
        let (kind, spec) = (self.store(at).kind, self.store(at).spec);
        self.store(at).begin(items);
        let stored = self.receive_items(channel, at, items)?;
        let (mut wires, mut tags) = (Vec::with_capacity(extra), Vec::new());
        for strip in batch::strips(extra, 1) {
            self.hash_strip(channel, lanes(strip), 0, &mut tags)?;
            wires.extend_from_slice(&tags[..strip]);
        }
        let coin = self.close(channel)?;
        let selection = Selection::new(coin, &spec, kind, items);
        self.check_opened(channel, at, &selection, &stored)?;
        self.shelves.step();
        let checked: Vec<Stored> = selection.checked.iter().map(|&item| stored[item]).collect();
        let store = self.store(at);
        store.release(&checked);
        let fresh = selection.survivors.iter().map(|&item| stored[item]).collect();
        let leaves = store.leaves.as_ref().map_or_else(Vec::new, |leaves| {
            selection.survivors.iter().map(|&item| leaves[item]).collect()
        });
        Ok(Batch { fresh, leaves, extra: wires, selection })
    }

    fn receive_items(
        &mut self,
        channel: &mut Channel,
        at: Place,
        items: usize,
    ) -> Result<Vec<Stored>, Fault> {
        let mut stored = Vec::with_capacity(items);
        let (mut frame, mut tags) = (Vec::new(), Vec::new());
        for strip in batch::strips(items, self.store(at).kind.wires()) {
            self.receive_strip(channel, at, strip, &mut stored, (&mut frame, &mut tags))?;
        }
        Ok(stored)
    }

    fn receive_strip(
        &mut self,
        channel: &mut Channel,
        at: Place,
        items: usize,
        stored: &mut Vec<Stored>,
        (frame, tags): (&mut Vec<u8>, &mut Vec<Tag>),
    ) -> Result<(), Fault> {
        let kind = self.store(at).kind;
        let (wires, blocks) = (kind.wires(), kind.table_blocks());
        let lanes = lanes(items * wires);
        let corrections = self.hash.corrections_len(lanes);
        frame.resize(corrections + 16 * items * blocks, 0);
        channel.recv_into(tags::JIMU_STRIP, frame)?;
        self.number_wires(lanes)?;
        let (corrections, tables) = frame.split_at(corrections);
        let first = self.hash.hash(lanes, corrections, tags)?;
        let numbers: Vec<u64> = (0..items).map(|item| first + (item * wires) as u64).collect();
        let store = store_of(&mut self.pools, &mut self.escrow, at);
        for ((number, tables), tags) in
            numbers.iter().zip(tables.chunks_exact(16 * blocks)).zip(tags.chunks_exact(wires))
        {
            stored.push(store.put(&self.sealer, *number, tables, tags));
        }
        if let Some(leaves) = &mut store.leaves {
            self.leaves.of(kind, &numbers, frame, leaves);
        }
        Ok(())
    }

    /// Receives a strip of `lanes` wires: the number of the first, and the `more` bytes behind the
    /// corrections.
    fn hash_strip(
        &mut self,
        channel: &mut Channel,
        lanes: usize,
        more: usize,
        tags: &mut Vec<Tag>,
    ) -> Result<(u64, Vec<u8>), Fault> {
        let corrections = self.hash.corrections_len(lanes);
        let mut frame = channel.recv(tags::JIMU_STRIP, corrections + more)?;
        let rest = frame.split_off(corrections);
        self.number_wires(lanes)?;
        Ok((self.hash.hash(lanes, &frame, tags)?, rest))
    }

    /// Ends a batch: the sacrificed wires, the coin, the consistency check.
    fn close(&mut self, channel: &mut Channel) -> Result<Block, Fault> {
        let len = self.hash.corrections_len(self.hash.sacrificed());
        let frame = channel.recv(tags::JIMU_CLOSE, len)?;
        self.number_wires(self.hash.sacrificed())?;
        self.hash.close(&frame)?;
        self.settle(channel)
    }

    fn settle(&mut self, channel: &mut Channel) -> Result<Block, Fault> {
        let coin = self.tosses.toss(channel, &mut self.prg)?;
        // The garbler is making its answer.
        let held = self.hash.held(coin);
        let answer = channel.recv(tags::JIMU_ANSWER, self.hash.answer_len())?;
        self.hash.check(&held, &answer)?;
        Ok(coin)
    }

    fn check_opened(
        &mut self,
        channel: &mut Channel,
        at: Place,
        selection: &Selection,
        stored: &[Stored],
    ) -> Result<(), Fault> {
        let kind = self.store(at).kind;
        let mut items = Rows::default();
        let (mut frame, mut opened) = (Vec::new(), Vec::new());
        let (mut checked, mut inputs) = (&selection.checked[..], &selection.inputs[..]);
        for count in batch::messages(checked.len(), kind.wires()) {
            let (these, others) = checked.split_at(count);
            let (bits, other_bits) = inputs.split_at(count * kind.inputs());
            (checked, inputs) = (others, other_bits);
            receive(channel, &self.hash, tags::JIMU_CHECK, count * kind.wires(), &mut frame)?;
            read(&frame, &self.hash, count * kind.wires(), &mut opened)?;
            items.clear();
            let rows = &self.store(at).rows;
            for (i, &item) in these.iter().enumerate() {
                if let Some(&later) = these.get(i + AHEAD) {
                    rows.prefetch(stored[later].place);
                }
                items.push(kind, rows.row(stored[item].place as u32).unwrap_or_default());
            }
            let Rows { numbers, tables, tags } = &items;
            let good = match kind {
                Kind::Core(shape) => {
                    let inputs = &pack(bits.iter().copied());
                    let cores = Checked { numbers, tables, tags, inputs, opened: &opened };
                    garbled_core::check(shape, &self.hash, self.delta, &cores)
                }
                Kind::Escrow(blocks) => {
                    escrow::check(blocks, &self.hash, numbers, tables, tags, &opened)
                }
            };
            if !good {
                return Err(Fault::Misbehaved("jimu.check"));
            }
        }
        Ok(())
    }

    /// `total` wires for this side's inputs, sacrificed ones included (`input_check.rs`).
    fn make_inputs(&mut self, channel: &mut Channel, total: usize) -> Result<(), Fault> {
        channel.set_phase(Phase::Preprocess);
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
            let (first, mut masked) =
                self.hash_strip(channel, strip, 16 * strip, &mut strip_tags)?;
            for (key, bytes) in keys[wires.clone()].iter_mut().zip(masked.as_chunks::<16>().0) {
                *key ^= Block::from_bytes(*bytes);
            }
            masked.zeroize();
            let mut own = self.hash.complete(first, &keys[wires.clone()], &choices[wires]);
            labels.extend_from_slice(&own);
            own.zeroize();
            tags.extend(strip_tags.iter().map(|tag| tag.label));
        }
        let coin = self.close(channel)?;
        self.check_inputs(channel, coin, &keys, &choices, &tags)?;
        let kept = total - self.params.input_sacrificed();
        let stock = &mut self.shelves.lock().items.stocks[self.pools.len() + 1];
        for (i, item) in stock.room(kept).chunks_exact_mut(INPUT).enumerate() {
            item[..3].copy_from_slice(&labels[i].0);
            item[3] = tags[i];
            item[4] = Block::new(choices[i].into());
        }
        Ok(())
    }

    /// Shows that the keys are known, and checks that they are those of the hashed labels.
    fn check_inputs(
        &mut self,
        channel: &mut Channel,
        coin: Block,
        keys: &[Block],
        choices: &[bool],
        tags: &[Block],
    ) -> Result<(), Fault> {
        let sums = Sums::new(self.session, &self.params, coin);
        let bits = Zeroizing::new(choices.iter().map(|&bit| bit.into()).collect::<Vec<u8>>());
        let (choices, keys) = (sums.of(&bits), Zeroizing::new(sums.of(keys)));
        let mut message = choices.clone();
        message.extend_from_slice(&sums.digest(&keys));
        channel.send(tags::JIMU_SUM, &message)?;
        let mut opened = Zeroizing::new(vec![Label::ZERO; sums.count()]);
        channel.recv_into(tags::JIMU_PROOF, bytemuck::cast_slice_mut(&mut opened))?;
        let expected = sums.shifted(sums.of(tags), &choices, self.delta);
        let mut good = true;
        for ((label, tag), key) in opened.iter().zip(expected).zip(&*keys) {
            good &= self.hash.labels_agree(label, tag) & label.key().ct_eq(*key);
        }
        if good { Ok(()) } else { Err(Fault::Misbehaved("jimu.input.proof")) }
    }
}

/// Blocks of an [`Escrowed`] wire in stock, with a bucket of so many gadgets.
pub(in crate::backends::jimu) const fn escrowed_blocks(bucket: usize, perm_blocks: usize) -> usize {
    TAG + bucket * escrow::record_blocks(perm_blocks)
}

/// The store of a pool, beside what else of the supply is used.
fn store_of<'s>(pools: &'s mut [CorePool], escrow: &'s mut EscrowPool, at: Place) -> &'s mut Store {
    match at {
        Place::Core(at) => &mut pools[at].store,
        Place::Escrow => &mut escrow.store,
    }
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
        matrices: keeps.then(|| prg.block()),
    })
}

/// The tag of Delta, which must not be zero: both labels of every wire would be the same.
fn receive_delta(
    channel: &mut Channel,
    hash: &mut ReedSolomonReceiver,
    tosses: &mut Tosses,
    prg: &mut Prg,
) -> Result<Block, Fault> {
    let (own, last) = (hash.corrections_len(LANES), hash.corrections_len(hash.sacrificed()));
    let mut shift = [0; size_of::<Block>()];
    let frame = channel.recv(tags::JIMU_DELTA, shift.len() + own + last)?;
    let (key, rest) = frame.split_at(shift.len());
    shift.copy_from_slice(key);
    let (own, last) = rest.split_at(own);
    let mut tags = Vec::new();
    hash.keep_watched();
    let wire = hash.hash(LANES, own, &mut tags)?;
    let delta = hash.set_delta(wire, &Label::of_key(Block::from_bytes(shift)));
    hash.close(last)?;
    let coin = tosses.toss(channel, prg)?;
    let answer = channel.recv(tags::JIMU_ANSWER, hash.answer_len())?;
    hash.check(&hash.held(coin), &answer)?;
    if delta.ct_eq(Block::ZERO) {
        return Err(Fault::Misbehaved("jimu.delta"));
    }
    Ok(delta)
}
