//! The evaluating cheater. It evaluates the base of a bucket alone: the garbler is honest.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use cenote_circuit::Gates;
use cenote_engine::backends::jimu;
use cenote_engine::backends::jimu::ihash::{
    HashReceiver, LANES, Label, Message, Recogniser, ReedSolomonReceiver, Tag, Watch, decode,
    encoded_len,
};
use cenote_engine::{Checked, Fault, JimuParams, Party, Receivers, Role};
use cenote_net::{Channel, Deviation, MAX_FRAME};
use cenote_ot::{CotReceive, watch};
use cenote_pool::{Draws, MemoryJournal, Pool};
use cenote_prim::gf128::LinearHash;
use cenote_prim::{Block, Prg, RandomOracle, SessionId, bits, keyed};

use super::cheat::{AtRest, Cheat, Plan};
use super::coins::{Coins, Selection, Tosses, blocks_of, first_block};
use super::input_sums::Sums;
use super::items::Kind;
use super::kept::Kept;
use super::lies::garbage;
use super::params::{PIECE, escrow_batch, input_batch};

/// The cheater that evaluates.
pub(super) struct Evaluator {
    pub(super) channel: Channel,
    session: SessionId,
    params: JimuParams,
    cheat: Cheat,
    /// Reveals that come before a cheat with one.
    after: u64,
    prg: Prg,
    hash: ReedSolomonReceiver,
    /// Tag of Delta.
    delta: Block,
    choices: Box<dyn CotReceive>,
    tosses: Tosses,
    full: BTreeMap<Kind, Pool<u64>>,
    journal: MemoryJournal,
    /// Tables of items and tags of their last wires, by number.
    items: BTreeMap<u64, (Vec<Block>, Tag)>,
    ready: VecDeque<u64>,
    escrowed: VecDeque<Tag>,
    inputs: VecDeque<(Label, bool)>,
    live: Vec<Live>,
    steps: Vec<Step>,
    kept: Kept<Live>,
    reports: u64,
}

/// A wire that has a value: value = masked value + permutation bit + flip.
#[derive(Clone, Copy, Default)]
struct Live {
    label: Label,
    masked: bool,
    flip: bool,
}

/// A gate over places of live wires.
#[derive(Clone, Copy)]
enum Step {
    Xor(usize, usize, usize),
    Not(usize, usize),
    And(usize, usize, usize),
}

impl Evaluator {
    pub(super) fn set_up(
        mut channel: Channel,
        session: SessionId,
        params: JimuParams,
        &Plan { cheat, after, .. }: &Plan,
        mut prg: Prg,
    ) -> Result<Evaluator, Fault> {
        match cheat {
            Cheat::Secret => {
                channel.deviate(cenote_ot::tags::WATCH_SECRET, 0, Deviation::Flip(3));
            }
            Cheat::Columns => {
                channel.deviate(cenote_ot::tags::CHUNK, 2, Deviation::Flip(0));
            }
            _ => {}
        }
        let mut choices = params.ot.receiver(&mut channel, &session, 0, &mut prg)?;
        let seeds = receive_seeds(&mut channel, &mut *choices, session, &params, &mut prg);
        let mut hash = seeds?;
        let mut tosses = Tosses { session, role: Role::Evaluator, count: 0, cheat };
        let (delta, keys, bits) =
            receive_delta(&mut channel, &mut *choices, &mut hash, params.input_sacrificed())?;
        let coin = settle(&mut channel, &mut hash, &mut tosses, &mut prg)?;
        let mut evaluator = Evaluator {
            channel,
            session,
            params,
            cheat,
            after,
            prg,
            hash,
            delta,
            choices,
            tosses,
            full: BTreeMap::new(),
            journal: MemoryJournal::default(),
            items: BTreeMap::new(),
            ready: VecDeque::new(),
            escrowed: VecDeque::new(),
            inputs: VecDeque::new(),
            live: Vec::new(),
            steps: Vec::new(),
            kept: Kept::default(),
            reports: 0,
        };
        // Sums that are claimed wrongly come later.
        evaluator.cheat = Cheat::None;
        evaluator.claim_sums(coin, &keys, &bits)?;
        evaluator.cheat = cheat;
        Ok(evaluator)
    }

    fn fill(&mut self, kind: Kind) -> Result<(), Fault> {
        if self.full.contains_key(&kind) {
            return Ok(());
        }
        let (spec, mut items) = (kind.spec(&self.params), Vec::new());
        while items.len() < spec.capacity {
            let missing = spec.capacity - items.len();
            let expected = missing as f64 / (1.0 - spec.check_rate());
            let count = ((expected + 4.0 * expected.sqrt() + 16.0) as usize).min(spec.batch);
            items.extend(self.generate(kind, count)?.0.into_iter().take(missing));
        }
        self.full.insert(
            kind,
            Pool::full(format!("{kind:?}"), spec.capacity, items).expect("as many as that"),
        );
        Ok(())
    }

    /// The bases of the buckets drawn for a fresh batch.
    fn draw(&mut self, kind: Kind) -> Result<Vec<u64>, Fault> {
        self.fill(kind)?;
        let spec = kind.spec(&self.params);
        let (mut fresh, mut coins) = self.generate(kind, spec.batch)?;
        let buckets = fresh.len() / spec.bucket;
        fresh.truncate(buckets * spec.bucket);
        let mut draws = Draws::new(spec.bucket, spec.capacity).expect("a shape");
        draws.draw(buckets, || coins.word());
        if self.params.switches.compact && buckets > 0 {
            // What it was sent the first time is at hand.
            self.channel.recv_bounded(jimu::tags::JIMU_AGAIN, MAX_FRAME)?;
            let distinct: BTreeSet<u32> = draws.positions().iter().copied().collect();
            if distinct.len() < spec.capacity {
                self.channel.recv_bounded(jimu::tags::JIMU_PATHS, MAX_FRAME)?;
            }
        }
        let pool = self.full.get_mut(&kind).expect("filled above");
        pool.exchange(&mut self.journal, &draws, &mut fresh).expect("as many as drawn");
        let openings = buckets * (spec.bucket - 1) * kind.shape().wires();
        if openings > 0 {
            self.channel.recv(jimu::tags::JIMU_INNER, encoded_len(openings, 1))?;
        }
        Ok(fresh.chunks(spec.bucket).map(|members| members[0]).collect())
    }

    fn generate(&mut self, kind: Kind, items: usize) -> Result<(Vec<u64>, Coins), Fault> {
        let (wires, blocks) = (kind.shape().wires(), kind.shape().table_blocks());
        let (first, found, tables) = self.hash_wires(items * wires, 16 * blocks * items)?;
        let numbers: Vec<u64> = (0..items).map(|item| first + (item * wires) as u64).collect();
        for (item, tables) in tables.chunks(16 * blocks).enumerate() {
            let last = found[(item + 1) * wires - 1];
            self.items.insert(numbers[item], (blocks_of(tables), last));
        }

        let coin = self.close()?;
        let chosen = Selection::new(coin, kind.spec(&self.params).check_below, kind, items);
        if !chosen.checked.is_empty() {
            let openings = chosen.checked.len() * wires;
            self.channel.recv(jimu::tags::JIMU_CHECK, encoded_len(openings, 1))?;
        }
        Ok((chosen.survivors.iter().map(|item| numbers[*item]).collect(), chosen.coins))
    }

    /// Hashes vectors that hold `wires`: number of the first, tags, and the `more` bytes behind.
    fn hash_wires(&mut self, wires: usize, more: usize) -> Result<(u64, Vec<Tag>, Vec<u8>), Fault> {
        let lanes = wires.next_multiple_of(LANES);
        let corrections = self.hash.corrections_len(lanes);
        let mut frame = self.channel.recv(jimu::tags::JIMU_STRIP, corrections + more)?;
        let rest = frame.split_off(corrections);
        let mut found = Vec::new();
        let first = self.hash.hash(lanes, &frame, &mut found)?;
        found.truncate(wires);
        Ok((first, found, rest))
    }

    fn close(&mut self) -> Result<Block, Fault> {
        let last = self.hash.corrections_len(self.hash.sacrificed());
        let frame = self.channel.recv(jimu::tags::JIMU_CLOSE, last)?;
        self.hash.close(&frame)?;
        settle(&mut self.channel, &mut self.hash, &mut self.tosses, &mut self.prg)
    }

    fn take_inputs(&mut self, count: usize) -> Result<Vec<(Label, bool)>, Fault> {
        while self.inputs.len() < count {
            self.make_inputs(count - self.inputs.len())?;
        }
        Ok(self.inputs.drain(..count).collect())
    }

    fn make_inputs(&mut self, missing: usize) -> Result<(), Fault> {
        let (total, sacrificed) = input_batch(&self.params, missing);
        assert!(total <= 3072, "a batch of the cheater is one strip");
        let mut keys = vec![Block::ZERO; total];
        self.choices.extend(&mut self.channel, &mut keys)?;
        let choices: Vec<bool> = keys.iter().map(|key| key.lsb()).collect();
        self.hash.keep_watched();
        let (first, _, masked) = self.hash_wires(total, 16 * total)?;
        keys.iter_mut().zip(blocks_of(&masked)).for_each(|(key, masked)| *key ^= masked);
        let labels = self.hash.complete(first, &keys, &choices);
        let coin = self.close()?;
        self.claim_sums(coin, &keys, &choices)?;
        self.inputs.extend(labels.into_iter().zip(choices).take(total - sacrificed));
        Ok(())
    }

    /// The sums of choice bits and the proof that the keys are known; what is opened then.
    fn claim_sums(&mut self, coin: Block, keys: &[Block], choices: &[bool]) -> Result<(), Fault> {
        let count = self.params.input_sums();
        let sums = Sums::new(self.session, count, coin);
        let bits: Vec<u8> = choices.iter().map(|choice| u8::from(*choice)).collect();
        let mut claim = sums.of(&bits, 1).concat();
        let keys = sums.of(Block::as_bytes(keys), 16);
        let keys: Vec<Block> = keys.iter().map(|key| first_block(key)).collect();
        let mut digest = sums.digest(&keys);
        claim[0] ^= u8::from(self.cheat == Cheat::Sum);
        digest[31] ^= u8::from(self.cheat == Cheat::SumDigest);
        claim.extend_from_slice(&digest);
        self.channel.send(jimu::tags::JIMU_SUM, &claim)?;
        self.channel.recv(jimu::tags::JIMU_PROOF, 48 * count).map(drop)
    }

    /// The masked value of a label, by the tag of masked value 0.
    fn masked(&self, label: &Label, tag: Block) -> bool {
        self.hash.labels_agree(label, tag ^ self.delta)
    }

    fn own_inputs(&mut self, values: &[bool]) -> Result<Vec<usize>, Fault> {
        let wires = self.take_inputs(values.len())?;
        let flips: Vec<bool> = wires.iter().zip(values).map(|((_, r), y)| r ^ y).collect();
        let mut packed = bits::pack(flips.iter().copied());
        if let (Cheat::StrayChoice, Some(last)) = (self.cheat, packed.last_mut()) {
            *last |= 1 << 7;
        }
        self.channel.send(jimu::tags::JIMU_CHOICES, &packed)?;
        let wires = wires.into_iter().zip(flips);
        Ok(wires.map(|((label, masked), flip)| self.add(Live { label, masked, flip })).collect())
    }

    fn peer_inputs(&mut self, len: usize) -> Result<Vec<usize>, Fault> {
        let found = self.take_escrowed(len)?;
        let labels = blocks_of(&self.channel.recv(jimu::tags::JIMU_LABELS, 48 * len)?);
        let labels = labels.chunks(3).map(|blocks| Label([blocks[0], blocks[1], blocks[2]]));
        let wires = labels.zip(found);
        let wires: Vec<Live> = wires
            .map(|(label, tag)| Live { label, masked: self.masked(&label, tag.label), flip: false })
            .collect();
        Ok(wires.into_iter().map(|wire| self.add(wire)).collect())
    }

    fn take_escrowed(&mut self, count: usize) -> Result<Vec<Tag>, Fault> {
        while self.escrowed.len() < count {
            let mut rest = escrow_batch(count - self.escrowed.len());
            while rest > 0 {
                let strip = rest.min(3072);
                let found = self.hash_wires(strip, 0)?.1;
                self.escrowed.extend(found);
                rest -= strip;
            }
            self.close()?;
        }
        Ok(self.escrowed.drain(..count).collect())
    }

    fn add(&mut self, wire: Live) -> usize {
        self.live.push(wire);
        self.live.len() - 1
    }

    fn step(&mut self, step: impl FnOnce(usize) -> Step) -> Result<usize, Fault> {
        let out = self.add(Live::default());
        self.steps.push(step(out));
        Ok(out)
    }

    /// Does the gates since the last flush.
    fn flush(&mut self) -> Result<(), Fault> {
        let steps = std::mem::take(&mut self.steps);
        let ands = steps.iter().filter(|step| matches!(step, Step::And(..))).count();
        while self.ready.len() < ands {
            let bases = self.draw(Kind::And)?;
            self.ready.extend(bases);
        }
        let mut solders = vec![Message::ZERO; 2 * ands];
        if ands > 0 {
            let frame = self.channel.recv(jimu::tags::JIMU_OUTER, encoded_len(2 * ands, 1))?;
            assert!(decode(&frame, 1, &mut solders), "the length was asked for");
        }
        let mut solders = solders.chunks(2);
        for step in steps {
            match step {
                Step::Xor(a, b, out) => {
                    let (a, b) = (self.live[a], self.live[b]);
                    let (masked, flip) = (a.masked ^ b.masked, a.flip ^ b.flip);
                    self.live[out] = Live { label: a.label ^ b.label, masked, flip };
                }
                Step::Not(a, out) => {
                    let a = self.live[a];
                    self.live[out] = Live { flip: !a.flip, ..a };
                }
                Step::And(a, b, out) => {
                    let [a, b] = [self.live[a], self.live[b]];
                    self.live[out] = self.evaluate(a, b, solders.next().unwrap_or_default());
                }
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, a: Live, b: Live, solders: &[Message]) -> Live {
        let number = self.ready.pop_front().expect("counted");
        let (tables, output) = self.items.remove(&number).expect("drawn once");
        let input = |wire: Live, solder: &Message| {
            let shift = solder.perm.bit() ^ wire.flip;
            (wire.label ^ solder.label, wire.masked ^ shift)
        };
        let [(c, s_c), (x, s_x)] = [input(a, &solders[0]), input(b, &solders[1])];
        let hash = |label: &Label, wire: u64| {
            let mut out = [Block::ZERO; 3];
            let tweak = Block::new(u128::from(wire) << 64);
            keyed::expand(&[label.key()], &[tweak], 3, &mut out);
            Label(out)
        };
        let table = |i: usize| Label([tables[3 * i], tables[3 * i + 1], tables[3 * i + 2]]);
        let left = hash(&c, number) ^ table(0).times(s_c);
        let right = hash(&x, number + 1) ^ (table(1) ^ c).times(s_x);
        let label = left ^ right ^ table(2);
        Live { label, masked: self.masked(&label, output.label), flip: false }
    }

    /// A reveal of at most [`PIECE`] wires.
    fn open_piece(&mut self, to: Receivers, wires: &[usize]) -> Result<Vec<bool>, Fault> {
        let number = self.reports;
        self.reports += 1;
        let own = to.include(Role::Evaluator);
        let tag = if own {
            jimu::tags::JIMU_PERMS
        } else {
            self.take_escrowed(wires.len())?;
            jimu::tags::JIMU_BOND
        };
        let perms = blocks_of(&self.channel.recv(tag, 16 * wires.len())?);
        if to.include(Role::Garbler) {
            self.report(number, wires)?;
        }
        let value = |(wire, perm): (&usize, &Block)| {
            self.live[*wire].masked ^ perm.lsb() ^ self.live[*wire].flip
        };
        let values = if own { wires.iter().zip(&perms).map(value).collect() } else { Vec::new() };
        if self.cheat == Cheat::Turned && number == self.after {
            self.live.iter_mut().for_each(|wire| wire.masked ^= true);
        }
        Ok(values)
    }

    fn report(&mut self, number: u64, wires: &[usize]) -> Result<(), Fault> {
        let wires: Vec<Live> = wires.iter().map(|wire| self.live[*wire]).collect();
        let mut message = bits::pack(wires.iter().map(|wire| wire.masked));
        let cheat = if number < self.after { Cheat::None } else { self.cheat };
        match cheat {
            Cheat::Forged => message[0] ^= 1,
            Cheat::StrayResult => message[0] |= 1 << 7,
            _ => {}
        }
        let oracle = RandomOracle::new("cenote 2026 engine jimu output labels v1", &self.session);
        let mut hash = LinearHash::new(oracle.number(number).bytes(&message).block());
        hash.absorb(&wires.iter().map(|wire| wire.label.key()).collect::<Vec<Block>>());
        let mut proof = hash.finish();
        if cheat == Cheat::ForgedHash {
            proof ^= Block::ONE;
        }
        message.extend_from_slice(&proof.to_bytes());
        self.channel.send(jimu::tags::JIMU_RESULT, &message)?;
        self.channel.flush()
    }
}

/// Both watch lists.
fn receive_seeds(
    channel: &mut Channel,
    cot: &mut dyn CotReceive,
    session: SessionId,
    params: &JimuParams,
    prg: &mut Prg,
) -> Result<ReedSolomonReceiver, Fault> {
    let codes = &params.codes;
    let mut list = |instance, code: &cenote_pool::params::Code, prg: &mut Prg| {
        let (n, w) = (code.n as usize, code.w as usize);
        watch::receive(channel, &mut *cot, &session, instance, n, w, prg)
    };
    let labels = list(0, &codes.labels, prg)?;
    let perms = list(1, &codes.perms, prg)?;
    let [labels, perms] =
        [&labels, &perms].map(|list| Watch { positions: &list.positions, seeds: &list.seeds });
    Ok(ReedSolomonReceiver::new(codes, session, labels, perms, prg))
}

/// The tag of Delta; keys and choice bits of the wires that prove its key.
fn receive_delta(
    channel: &mut Channel,
    choices: &mut dyn CotReceive,
    hash: &mut ReedSolomonReceiver,
    sacrificed: usize,
) -> Result<(Block, Vec<Block>, Vec<bool>), Fault> {
    let mut keys = vec![Block::ZERO; sacrificed.next_multiple_of(128)];
    choices.extend(channel, &mut keys)?;
    let (lanes, masked) = (LANES + keys.len(), 16 * keys.len());
    let (own, last) = (hash.corrections_len(lanes), hash.corrections_len(hash.sacrificed()));
    let frame = channel.recv(jimu::tags::JIMU_DELTA, 16 + own + masked + last)?;
    let mut found = Vec::new();
    hash.keep_watched();
    let wire = hash.hash(lanes, &frame[16..16 + own], &mut found)?;
    let delta = hash.set_delta(wire, &Label::of_key(first_block(&frame)));
    let (masked, last) = frame[16 + own..].split_at(masked);
    hash.close(last)?;
    let bits = keys.iter().map(|key| key.lsb()).collect();
    keys.iter_mut().zip(blocks_of(masked)).for_each(|(key, masked)| *key ^= masked);
    Ok((delta, keys, bits))
}

/// The coin of a batch, and the answer to its check, at which nobody looks.
fn settle(
    channel: &mut Channel,
    hash: &mut ReedSolomonReceiver,
    tosses: &mut Tosses,
    prg: &mut Prg,
) -> Result<Block, Fault> {
    let coin = tosses.toss(channel, prg)?;
    let answer = channel.recv(jimu::tags::JIMU_ANSWER, hash.answer_len())?;
    // The next batch needs this one to be settled.
    hash.check(&hash.held(coin), &answer)?;
    Ok(coin)
}

impl Gates for Evaluator {
    type Wire = usize;
    type Error = Fault;

    fn constant(&mut self, bit: bool) -> Result<usize, Fault> {
        Ok(self.add(Live { flip: bit, ..Live::default() }))
    }

    fn xor(&mut self, a: &usize, b: &usize) -> Result<usize, Fault> {
        self.step(|out| Step::Xor(*a, *b, out))
    }

    fn not(&mut self, a: &usize) -> Result<usize, Fault> {
        self.step(|out| Step::Not(*a, out))
    }

    fn and(&mut self, a: &usize, b: &usize) -> Result<usize, Fault> {
        self.step(|out| Step::And(*a, *b, out))
    }
}

impl Party for Evaluator {
    type Checked<'p> = &'p mut Self;

    fn role(&self) -> Role {
        Role::Evaluator
    }

    fn input(
        &mut self,
        owner: Role,
        len: usize,
        bits: Option<&[bool]>,
    ) -> Result<Vec<usize>, Fault> {
        self.flush()?;
        match owner {
            Role::Garbler => self.peer_inputs(len),
            Role::Evaluator => self.own_inputs(bits.unwrap_or_default()),
        }
    }

    fn check(&mut self) -> Result<&mut Self, Fault> {
        self.flush()?;
        Ok(self)
    }

    fn keep(&mut self, name: &str, wires: &[usize]) -> Result<(), Fault> {
        self.flush()?;
        self.take_escrowed(wires.len())?;
        for piece in wires.chunks(PIECE) {
            self.channel.recv(jimu::tags::JIMU_BOND, 16 * piece.len())?;
        }
        let wires: Vec<Live> = wires.iter().map(|wire| self.live[*wire]).collect();
        self.kept.keep(name, &wires);
        Ok(())
    }

    fn kept_all(&mut self, names: &[&str]) -> Result<Vec<Vec<usize>>, Fault> {
        self.flush()?;
        let change = |how: AtRest, wire: &Live| match how {
            AtRest::Masked => Live { masked: !wire.masked, ..*wire },
            _ => Live { label: wire.label ^ garbage(0), ..*wire },
        };
        let kept = |name: &&str| self.kept.of(name, self.cheat, change);
        let kept: Vec<Vec<Live>> = names.iter().map(kept).collect();
        let slots = |wires: Vec<Live>| wires.into_iter().map(|wire| self.add(wire)).collect();
        Ok(kept.into_iter().map(slots).collect())
    }
}

impl Checked<usize> for &mut Evaluator {
    fn open(self, to: Receivers, wires: &[usize]) -> Result<Option<Vec<bool>>, Fault> {
        let mut values = Vec::new();
        for piece in wires.chunks(PIECE) {
            values.extend(self.open_piece(to, piece)?);
        }
        Ok(to.include(Role::Evaluator).then_some(values))
    }
}
