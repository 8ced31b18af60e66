//! The items that the garbling cheater makes ahead of requests.

use cenote_engine::Fault;
use cenote_engine::backends::jimu;

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
use super::lies::{distance, negated, wrong_key};
use super::params::{escrow_batch, input_batch};

/// The survivors of the check of a batch, and the coin's further words.
struct Batch {
    fresh: Vec<u64>,
    coins: Coins,
}

impl Garbler {
    fn items(&mut self, kind: Kind) -> &mut Items {
        match kind {
            Kind::And => &mut self.history.gates,
            Kind::Wide => &mut self.history.cores,
        }
    }

    /// Messages of the wires of the base of the next ready core.
    pub(super) fn take_core(&mut self, kind: Kind) -> Result<Vec<Message>, Fault> {
        while self.items(kind).used == self.items(kind).buckets.len() {
            let buckets = self.draw(kind)?;
            self.solder_buckets(kind, &buckets)?;
        }
        let items = self.items(kind);
        let base = items.buckets[items.used][0];
        items.used += 1;
        let core = self.messages(&[base], kind.shape().wires());
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

    /// The next wires in escrow.
    pub(super) fn take_escrowed(&mut self, count: usize) -> Result<Vec<Message>, Fault> {
        while self.pools.escrowed.len() < count {
            let total = escrow_batch(count - self.pools.escrowed.len());
            let (_, messages, mut frame) = self.hash_wires(total);
            self.spoil_escrowed(&mut frame, total);
            // In strips of 48 vectors.
            self.send_strips(&frame, total)?;
            self.close(false)?;
            self.pools.escrowed.extend(messages);
        }
        self.history.escrowed += count;
        Ok(self.pools.escrowed.drain(..count).collect())
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
            items.extend(self.generate(kind, count)?.fresh.into_iter().take(missing));
        }
        let pool = Pool::full(format!("{kind:?}"), spec.capacity, items).expect("as many as that");
        self.pools.full.insert(kind, pool);
        Ok(())
    }

    /// Buckets drawn for a fresh batch.
    fn draw(&mut self, kind: Kind) -> Result<Vec<u64>, Fault> {
        self.fill(kind)?;
        let spec = kind.spec(&self.params);
        let Batch { mut fresh, mut coins } = self.generate(kind, spec.batch)?;
        fresh.truncate(fresh.len() / spec.bucket * spec.bucket);
        let mut draws = Draws::new(spec.bucket, spec.capacity).expect("a shape");
        draws.draw(fresh.len() / spec.bucket, || coins.word());
        let numbers = self.pools.full[&kind].items().to_vec();
        self.send_again(kind, &numbers, &draws)?;
        let Pools { full, journal, .. } = &mut self.pools;
        let pool = full.get_mut(&kind).expect("filled above");
        pool.exchange(journal, &draws, &mut fresh).expect("one fresh item for each drawn");
        self.items(kind).buckets.extend(fresh.chunks(spec.bucket).map(<[u64]>::to_vec));
        Ok(fresh)
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

    fn generate(&mut self, kind: Kind, items: usize) -> Result<Batch, Fault> {
        let numbers = self.send_strip(kind, items)?;
        let coin = self.close(kind == Kind::And && self.history.gates.made.is_empty())?;
        let chosen = Selection::new(coin, kind.spec(&self.params).check_below, kind, items);
        self.open_checked(kind, &chosen, &numbers)?;
        let checked = chosen.checked.iter().map(|item| numbers[*item]);
        let own = self.items(kind);
        own.made.extend(&numbers);
        own.checked.extend(checked);
        let fresh = chosen.survivors.iter().map(|item| numbers[*item]).collect();
        Ok(Batch { fresh, coins: chosen.coins })
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
        let shape = kind.shape();
        let (wires, blocks) = (shape.wires(), shape.table_blocks());
        assert!(items * wires <= 3072, "a batch of the cheater is one strip");
        let (first, messages, mut frame) = self.hash_wires(items * wires);
        let numbers: Vec<u64> = (0..items).map(|item| first + (item * wires) as u64).collect();
        if kind == Kind::And && self.history.gates.made.is_empty() {
            self.spoil_corrections(&mut frame, (items * wires).next_multiple_of(LANES));
        }
        let mut tables = vec![Block::ZERO; items * blocks];
        garbled_core::garble(shape, &self.delta, &numbers, &messages, &mut tables);
        self.spoil_gates(kind, &numbers, &messages, &mut tables);
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
        let shape = kind.shape();
        let own = tables.chunks_mut(shape.table_blocks()).zip(messages.chunks(shape.wires()));
        for (i, (number, (table, wires))) in numbers.iter().zip(own).enumerate() {
            if let Some(flaw) = self.flaw_of(*number, none && i == 0) {
                flaw.apply(shape, (*number, wires), &self.delta, table);
            }
        }
    }

    /// Wrong corrections of permutation messages of wire 0 of a batch of `lanes` for escrow.
    fn spoil_escrowed(&self, corrections: &mut [u8], lanes: usize) {
        let codes = &self.params.codes;
        let planes = &mut corrections[codes.labels.parity() as usize * lanes..];
        let last = (codes.perms.n - 1) as u8;
        let own = self.cheats(Cheat::Escrowed).then_some(&last);
        for place in self.plan.corrections.iter().chain(own) {
            // Bit 0 of a symbol of six.
            let bit = 6 * (usize::from(*place) - codes.perms.k as usize);
            planes[bit / 8 * lanes] ^= 1 << (bit % 8);
        }
    }

    /// Sends the corrections of a batch of wires, planes of `lanes`, in strips.
    fn send_strips(&mut self, corrections: &[u8], lanes: usize) -> Result<(), Fault> {
        for first in (0..lanes).step_by(3072) {
            let strip = first..lanes.min(first + 3072);
            let planes = corrections.chunks_exact(lanes).map(|plane| &plane[strip.clone()]);
            self.channel.send(jimu::tags::JIMU_STRIP, &planes.collect::<Vec<_>>().concat())?;
        }
        Ok(())
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
        let (shape, mut opened) = (kind.shape(), Vec::new());
        let wires = self.messages(&starts, shape.wires());
        let mut inputs = pack(chosen.inputs.iter().copied());
        inputs[0] ^= u8::from(self.cheats(Cheat::CheckedInput));
        garbled_core::open_for_check(shape, &self.delta, &wires, &inputs, &mut opened);
        if self.cheats(Cheat::CheckedPerm) {
            opened[0].perm.0[0] ^= Block::ONE;
        }
        self.hide(kind, &starts, &mut opened);
        self.send_messages(jimu::tags::JIMU_CHECK, &opened)
    }

    /// Opens bad items that are checked as if they were right.
    fn hide(&self, kind: Kind, checked: &[u64], opened: &mut [Message]) {
        for (number, opened) in checked.iter().zip(opened.chunks_mut(kind.shape().wires())) {
            match self.plan.cheat {
                Cheat::Hidden(code) if self.flaw_of(*number, false).is_some() => {
                    opened[2].label ^= self.delta;
                    opened[2].perm.0[0] ^= Block::ONE.times(code == Code::Perms);
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
        let shape = kind.shape();
        let (members, mut solders) = (self.messages(numbers, shape.wires()), Vec::new());
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

    pub(super) fn prove_inputs(&mut self, coin: Block, labels: &[Label]) -> Result<(), Fault> {
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
