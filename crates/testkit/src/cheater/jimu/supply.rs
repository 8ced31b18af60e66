//! The items that the garbling cheater makes ahead of requests.

use cenote_engine::Fault;
use cenote_engine::backends::jimu;
use cenote_engine::backends::jimu::escrow;
use cenote_engine::backends::jimu::garbled_core;
use cenote_engine::backends::jimu::ihash::{HashSender, LANES, Label, Message, encode};
use cenote_pool::{Draws, Pool};
use cenote_prim::Block;
use cenote_prim::bits::pack;
use cenote_prim::field::Field;
use cenote_prim::merkle::MerkleHash;

use super::cheat::{Cheat, Code, Flaw, Which};
use super::coins::{Coins, Selection};
use super::garbler::{Garbler, Pools};
use super::input_sums::{Sums, add_multiple};
use super::items::{Items, Kind};
use super::lies::{distance, near, negated, wrong_key};
use super::params::{ESCROW_RESERVE, input_batch};

/// The survivors of the check of a batch: items, numbers of the extra wires, the coin's further
/// words.
struct Batch {
    fresh: Vec<u64>,
    extra: Vec<u64>,
    coins: Coins,
}

impl Garbler {
    fn items(&mut self, kind: Kind) -> &mut Items {
        match kind {
            Kind::And => &mut self.history.gates,
            Kind::Wide => &mut self.history.cores,
            Kind::Escrow => &mut self.history.gadgets,
        }
    }

    /// Messages of the wires of the base of the next ready core.
    pub(super) fn take_core(&mut self, kind: Kind) -> Result<Vec<Message>, Fault> {
        while self.items(kind).used == self.items(kind).buckets.len() {
            let buckets = self.draw(kind, 0)?.0;
            self.solder_buckets(kind, &buckets)?;
        }
        let items = self.items(kind);
        let base = items.buckets[items.used][0];
        items.used += 1;
        let core = self.messages(&[base], kind.wires());
        if kind == Kind::And {
            let labels = [core[2].label, core[2].label ^ self.delta];
            self.history.outputs.push(labels.map(|label| {
                let mut bytes = [0; 48];
                bytes.copy_from_slice(Block::as_bytes(&label.0));
                bytes
            }));
        }
        Ok(core)
    }

    /// The next wires soldered to escrow.
    pub(super) fn take_escrowed(&mut self, count: usize) -> Result<Vec<Message>, Fault> {
        self.reserve_escrow(count)?;
        self.history.gadgets.used += count;
        Ok(self.pools.escrowed.drain(..count).collect())
    }

    /// Makes sure that so many wires in escrow are ready, and those that the evaluator keeps.
    pub(super) fn reserve_escrow(&mut self, count: usize) -> Result<(), Fault> {
        while self.pools.escrowed.len() < count + ESCROW_RESERVE {
            let spec = self.params.escrow;
            let (buckets, extra) = self.draw(Kind::Escrow, spec.batch / spec.bucket)?;
            self.solder_escrow(&buckets, &extra)?;
        }
        Ok(())
    }

    pub(super) fn take_inputs(&mut self, count: usize) -> Result<Vec<Label>, Fault> {
        while self.pools.inputs.len() < count {
            self.make_inputs(count - self.pools.inputs.len())?;
        }
        Ok(self.pools.inputs.drain(..count).collect())
    }

    fn messages(&self, numbers: &[u64], width: usize) -> Vec<Message> {
        let mut messages = Vec::new();
        self.hash.again(numbers, width, &mut messages);
        messages
    }

    /// Makes sure that a pool is full.
    pub(super) fn fill(&mut self, kind: Kind) -> Result<(), Fault> {
        if self.pools.full.contains_key(&kind) {
            return Ok(());
        }
        let (spec, mut items) = (kind.spec(&self.params), Vec::new());
        while items.len() < spec.capacity {
            let missing = spec.capacity - items.len();
            let expected = missing as f64 / (1.0 - spec.check_rate());
            let count = ((expected + 4.0 * expected.sqrt() + 16.0) as usize).min(spec.batch);
            items.extend(self.generate(kind, count, 0)?.fresh.into_iter().take(missing));
        }
        let pool = Pool::full(format!("{kind:?}"), spec.capacity, items).expect("as many as that");
        self.pools.full.insert(kind, pool);
        Ok(())
    }

    /// Buckets drawn for a fresh batch, and its extra wires.
    fn draw(&mut self, kind: Kind, extra: usize) -> Result<(Vec<u64>, Vec<u64>), Fault> {
        self.fill(kind)?;
        let spec = kind.spec(&self.params);
        let Batch { mut fresh, extra, mut coins } = self.generate(kind, spec.batch, extra)?;
        fresh.truncate(fresh.len() / spec.bucket * spec.bucket);
        let mut draws = Draws::new(spec.bucket, spec.capacity).expect("a shape");
        draws.draw(fresh.len() / spec.bucket, || coins.word());
        let numbers = self.pools.full[&kind].items().to_vec();
        self.send_again(kind, &numbers, &draws)?;
        let Pools { full, journal, .. } = &mut self.pools;
        let pool = full.get_mut(&kind).expect("filled above");
        pool.exchange(journal, &draws, &mut fresh).expect("one fresh item for each drawn");
        self.items(kind).buckets.extend(fresh.chunks(spec.bucket).map(<[u64]>::to_vec));
        Ok((fresh, extra))
    }

    /// Sends what `draws` take out of the pool that holds `numbers`.
    fn send_again(&mut self, kind: Kind, numbers: &[u64], draws: &Draws) -> Result<(), Fault> {
        if !self.params.switches.compact || draws.positions().is_empty() {
            return Ok(());
        }
        let hash = MerkleHash::new(self.session);
        let cheat = self.plan.cheat;
        let (items, nodes) = self.sent.again(&hash, cheat, &self.delta, kind, numbers, draws);
        self.channel.send(jimu::tags::JIMU_AGAIN, &items)?;
        if nodes.is_empty() { Ok(()) } else { self.channel.send(jimu::tags::JIMU_PATHS, &nodes) }
    }

    fn generate(&mut self, kind: Kind, items: usize, extra: usize) -> Result<Batch, Fault> {
        let numbers = self.send_strip(kind, items)?;
        let mut wires = Vec::new();
        if extra > 0 {
            let (first, _, frame) = self.hash_wires(extra);
            self.channel.send(jimu::tags::JIMU_STRIP, &frame)?;
            wires.extend(first..first + extra as u64);
        }
        let coin = self.close(kind == Kind::And && self.history.gates.made.is_empty())?;
        let chosen = Selection::new(coin, kind.spec(&self.params).check_below, kind, items);
        self.open_checked(kind, &chosen, &numbers)?;
        let checked = chosen.checked.iter().map(|item| numbers[*item]);
        let own = self.items(kind);
        own.made.extend(&numbers);
        own.checked.extend(checked);
        let fresh = chosen.survivors.iter().map(|item| numbers[*item]).collect();
        Ok(Batch { fresh, extra: wires, coins: chosen.coins })
    }

    /// Hashes vectors that hold `wires`: number of the first, messages, corrections.
    fn hash_wires(&mut self, wires: usize) -> (u64, Vec<Message>, Vec<u8>) {
        let (mut messages, mut frame) = (Vec::new(), Vec::new());
        let lanes = wires.next_multiple_of(LANES);
        let first = self.hash.hash(lanes, &mut messages, &mut frame);
        messages.truncate(wires);
        (first, messages, frame)
    }

    /// Items in one strip: batches are small. Returns their numbers.
    fn send_strip(&mut self, kind: Kind, items: usize) -> Result<Vec<u64>, Fault> {
        let (wires, blocks) = (kind.wires(), kind.table_blocks());
        assert!(items * wires <= 3072, "a batch of the cheater is one strip");
        let (first, messages, mut frame) = self.hash_wires(items * wires);
        let numbers: Vec<u64> = (0..items).map(|item| first + (item * wires) as u64).collect();
        if kind == Kind::And && self.history.gates.made.is_empty() {
            self.spoil_corrections(&mut frame, (items * wires).next_multiple_of(LANES));
        }
        let mut tables = vec![Block::ZERO; items * blocks];
        match kind.shape() {
            Some(shape) => {
                garbled_core::garble(shape, &self.delta, &numbers, &messages, &mut tables);
                self.spoil_gates(kind, &numbers, &messages, &mut tables);
            }
            None => {
                escrow::seal(blocks, &numbers, &messages, &mut tables);
                self.spoil_gadgets(&numbers, &messages, &mut tables);
            }
        }
        frame.extend_from_slice(Block::as_bytes(&tables));
        self.sent.note(kind, &numbers, (items * wires).next_multiple_of(LANES), &frame);
        self.channel.send(jimu::tags::JIMU_STRIP, &frame)?;
        Ok(numbers)
    }

    /// Wrong corrections of wire 0 of a strip of `lanes`.
    fn spoil_corrections(&self, corrections: &mut [u8], lanes: usize) {
        let codes = &self.params.codes;
        let (code, wrong) = match self.plan.cheat {
            Cheat::Symbol(code) => (code, 1),
            Cheat::HalfWay(Code::Labels) => (Code::Labels, codes.labels.parity() as usize / 2),
            Cheat::HalfWay(Code::Perms) => (Code::Perms, codes.perms.parity() as usize / 2),
            Cheat::Padding => {
                *corrections.last_mut().expect("not empty") ^= 1 << 7;
                return;
            }
            _ => return,
        };
        match code {
            Code::Labels => {
                let difference = distance(Field::Gf256, codes.labels.n, codes.labels.k);
                let rows = corrections.chunks_mut(lanes).zip(difference);
                rows.take(wrong).for_each(|(row, difference)| row[0] ^= difference);
            }
            Code::Perms => {
                let difference = distance(Field::Gf64, codes.perms.n, codes.perms.k);
                let planes = &mut corrections[codes.labels.parity() as usize * lanes..];
                for (symbol, difference) in difference.into_iter().take(wrong).enumerate() {
                    let shifted = u16::from(difference) << (6 * symbol % 8);
                    for (i, part) in shifted.to_le_bytes().into_iter().enumerate() {
                        if part != 0 {
                            planes[(6 * symbol / 8 + i) * lanes] ^= part;
                        }
                    }
                }
            }
        }
    }

    fn flaw_of(&self, number: u64, first: bool) -> Option<Flaw> {
        match self.plan.cheat {
            Cheat::Gate(flaw, Which::First) if first => Some(flaw),
            _ => self.plan.gates.iter().find(|gate| gate.0 == number).map(|gate| gate.1),
        }
    }

    fn spoil_gates(&self, kind: Kind, numbers: &[u64], messages: &[Message], tables: &mut [Block]) {
        let none = kind == Kind::And && self.history.gates.made.is_empty();
        let own = tables.chunks_mut(kind.table_blocks()).zip(messages.chunks(kind.wires()));
        for (i, (number, (table, wires))) in numbers.iter().zip(own).enumerate() {
            if let (Some(flaw), Some(shape)) = (self.flaw_of(*number, none && i == 0), kind.shape())
            {
                flaw.apply(shape, (*number, wires), &self.delta, table);
            }
        }
    }

    fn spoil_gadgets(&self, numbers: &[u64], messages: &[Message], sealed: &mut [Block]) {
        let none = self.history.gadgets.made.is_empty();
        let first = none && self.cheats(Cheat::Gadget(Which::First));
        for (i, (number, sealed)) in numbers.iter().zip(sealed).enumerate() {
            if first && i == 0 || self.plan.gadgets.contains(number) {
                *sealed ^= Block::ONE;
            }
            if self.plan.decoys.contains(number) {
                let wire = Message { label: messages[i].label ^ near(), ..messages[i] };
                escrow::seal(1, &[*number], &[wire], std::slice::from_mut(sealed));
            }
        }
    }

    /// Ends a batch; `first` if it is the first of ANDs.
    fn close(&mut self, first: bool) -> Result<Block, Fault> {
        let mut frame = Vec::new();
        self.hash.close(&mut frame);
        self.channel.send(jimu::tags::JIMU_CLOSE, &frame)?;
        let coin = self.tosses.toss(&mut self.channel, &mut self.prg)?;
        let mut answer = self.hash.answer(coin);
        answer[77] ^= u8::from(first && self.cheats(Cheat::Answer));
        self.channel.send(jimu::tags::JIMU_ANSWER, &answer)?;
        Ok(coin)
    }

    fn open_checked(
        &mut self,
        kind: Kind,
        chosen: &Selection,
        numbers: &[u64],
    ) -> Result<(), Fault> {
        if chosen.checked.is_empty() {
            return Ok(());
        }
        let starts: Vec<u64> = chosen.checked.iter().map(|item| numbers[*item]).collect();
        let mut opened = self.messages(&starts, kind.wires());
        if let Some(shape) = kind.shape() {
            let mut inputs = pack(chosen.inputs.iter().copied());
            inputs[0] ^= u8::from(self.cheats(Cheat::CheckedInput));
            let wires = std::mem::take(&mut opened);
            let delta = &self.delta;
            garbled_core::open_for_check(shape, delta, &wires, &inputs, &mut opened);
            if self.cheats(Cheat::CheckedPerm) {
                opened[0].perm.0[0] ^= Block::ONE;
            }
        }
        self.hide(kind, &starts, &mut opened);
        self.send_messages(jimu::tags::JIMU_CHECK, &opened)
    }

    /// Opens bad items that are checked as if they were right.
    fn hide(&self, kind: Kind, checked: &[u64], opened: &mut [Message]) {
        for (number, opened) in checked.iter().zip(opened.chunks_mut(kind.wires())) {
            match self.plan.cheat {
                Cheat::Hidden(code) if self.flaw_of(*number, false).is_some() => {
                    opened[2].label ^= self.delta;
                    opened[2].perm.0[0] ^= Block::ONE.times(code == Code::Perms);
                }
                Cheat::HiddenGadget if self.plan.gadgets.contains(number) => {
                    opened[0].perm.0[0] ^= Block::ONE;
                }
                _ => {}
            }
        }
    }

    fn send_messages(&mut self, tag: cenote_net::Tag, messages: &[Message]) -> Result<(), Fault> {
        let mut frame = Vec::new();
        encode(messages, 1, &mut frame);
        self.channel.send(tag, &frame)
    }

    fn solder_buckets(&mut self, kind: Kind, numbers: &[u64]) -> Result<(), Fault> {
        let Some(shape) = kind.shape() else { return Ok(()) };
        let (members, mut solders) = (self.messages(numbers, kind.wires()), Vec::new());
        let bucket = kind.spec(&self.params).bucket;
        garbled_core::inner_solders(shape, bucket, &self.delta, &members, &mut solders);
        match self.plan.cheat {
            Cheat::InnerLabel => solders[0].label ^= self.delta,
            Cheat::InnerNot => solders[0] = negated(&solders[0], &self.delta),
            _ => {}
        }
        if solders.is_empty() {
            Ok(())
        } else {
            self.send_messages(jimu::tags::JIMU_INNER, &solders)
        }
    }

    fn solder_escrow(&mut self, numbers: &[u64], extra: &[u64]) -> Result<(), Fault> {
        let bucket = self.params.escrow.bucket;
        let (gadgets, mut solders) = (self.messages(numbers, 1), Vec::new());
        let wires = self.messages(&extra[..numbers.len() / bucket], 1);
        escrow::solders(bucket, &self.delta, &gadgets, &wires, &mut solders);
        match self.plan.cheat {
            Cheat::EscrowLabel => solders[0].label ^= self.delta,
            Cheat::EscrowPerm => solders[0].perm ^= wires[0].perm ^ wires[1].perm,
            _ => {}
        }
        self.pools.escrowed.extend(wires);
        if solders.is_empty() {
            Ok(())
        } else {
            self.send_messages(jimu::tags::JIMU_ESCROW, &solders)
        }
    }

    fn make_inputs(&mut self, missing: usize) -> Result<(), Fault> {
        let (total, sacrificed) = input_batch(&self.params, missing);
        assert!(total <= 3072, "a batch of the cheater is one strip");
        let mut keys = vec![Block::ZERO; total];
        self.choices.extend(&mut self.channel, &mut keys)?;
        let (_, messages, mut frame) = self.hash_wires(total);
        for (key, message) in keys.iter_mut().zip(&messages) {
            *key ^= message.label.key();
        }
        match self.plan.cheat {
            Cheat::Key | Cheat::FittingKey => keys[0] ^= wrong_key(),
            Cheat::OtherKey => keys[0] ^= self.delta.key(),
            _ => {}
        }
        frame.extend_from_slice(Block::as_bytes(&keys));
        self.channel.send(jimu::tags::JIMU_STRIP, &frame)?;
        let coin = self.close(false)?;
        let labels: Vec<Label> = messages.iter().map(|message| message.label).collect();
        self.prove_inputs(coin, &labels)?;
        self.pools.inputs.extend(&labels[..total - sacrificed]);
        Ok(())
    }

    fn prove_inputs(&mut self, coin: Block, labels: &[Label]) -> Result<(), Fault> {
        let count = self.params.input_sums();
        let sums = Sums::new(self.session, count, coin);
        let claim = self.channel.recv(jimu::tags::JIMU_SUM, count + 32)?;
        let labels: Vec<Block> = labels.iter().flat_map(|label| label.0).collect();
        let mut opened = sums.of(Block::as_bytes(&labels), 48);
        for (sum, choice) in opened.iter_mut().zip(&claim) {
            add_multiple(sum, *choice, Block::as_bytes(&self.delta.0));
        }
        // How often the error of a wrong key is in each sum of keys.
        let wrong = match self.plan.cheat {
            Cheat::FittingKey => sums.of(&[1], 1).concat(),
            Cheat::FittingCorrelation => claim[..count].to_vec(),
            _ => Vec::new(),
        };
        for (sum, factor) in opened.iter_mut().zip(wrong) {
            add_multiple(sum, factor, &wrong_key().to_bytes());
        }
        if self.cheats(Cheat::Proof) {
            add_multiple(&mut opened[0], 1, Block::as_bytes(&self.delta.0));
        }
        self.channel.send(jimu::tags::JIMU_PROOF, &opened.concat())
    }
}
