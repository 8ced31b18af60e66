//! Bytes on the wire: a formula for every message, and digests that pin them all.

use std::collections::BTreeMap;

use cenote_engine::backends::jimu::PoolSpec;
use cenote_engine::backends::jimu::costs::{self, InputBatch, Item};
use cenote_engine::backends::{jimu, wrk, yao};
use cenote_engine::parts;
use cenote_engine::{
    Backend, JimuParams, JimuSwitches, PoolChoice, Receivers, Rho, Role, Session, SessionConfig,
    WrkParams, tags,
};
use cenote_net::{Direction, HEADER_LEN, RecordedFrame, Tag, TranscriptDigest};
use cenote_ot::{Choice, tags as ot};
use cenote_prim::bits::packed_len;
use cenote_prim::simd::{Level, limit};
use cenote_testkit::adversary::entry;
use cenote_testkit::programs::{Kind, MUX_WIDTHS, TestProgram};
use cenote_testkit::run::{config, patient_pair, prg_of, run_program, smallest, with_pool};
use cenote_testkit::run_pair_over;
use cenote_testkit::stats::fits;

/// Payload bytes by tag and sender.
type Bytes = BTreeMap<(&'static str, &'static str), usize>;

/// Bits of each input and of the outputs of [`Kind::Ands`].
const INPUT: usize = 64;
const OUTPUT: usize = 2;
/// ANDs of a full chunk, and spare shares that inputs make.
const CHUNK: usize = 16 << 10;
const SPARE: usize = 4096;

#[derive(Default)]
struct Formula(Bytes);

impl Formula {
    fn add(&mut self, tag: Tag, from: Role, bytes: usize) {
        *self.0.entry((tag.name, from.name())).or_default() += bytes;
    }

    fn both(&mut self, tag: Tag, bytes: usize) {
        self.add(tag, Role::Garbler, bytes);
        self.add(tag, Role::Evaluator, bytes);
    }

    /// A set-up of correlated OT with `sender` the one that has Delta.
    fn setup(&mut self, choice: Choice, sender: Role) {
        self.add(ot::BASE_POINTS, sender, 128 * 2 * 32);
        self.add(ot::BASE_POINT, sender.peer(), 32);
        let Choice::SoftSpoken(params) = choice;
        let (trees, depth) = (params.trees(), params.digit_bits());
        self.add(ot::TREES, sender.peer(), trees * (32 * depth + 32) + 32);
    }

    /// `n` COTs from `receiver`, in chunks.
    fn cots(&mut self, choice: Choice, receiver: Role, n: usize) {
        let Choice::SoftSpoken(params) = choice;
        let mut left = n.next_multiple_of(128);
        while left > 0 {
            let chunk = left.min(params.chunk());
            let blocks = chunk / 128 + 1;
            self.add(ot::CHUNK, receiver, 16 * (params.trees() - 1) * blocks + 16 * 129);
            left -= chunk;
        }
    }

    fn shares(&mut self, choice: Choice, n: usize) {
        self.cots(choice, Role::Garbler, n);
        self.cots(choice, Role::Evaluator, n);
    }

    fn toss(&mut self) {
        self.add(parts::tags::COIN_COMMIT, Role::Garbler, 32);
        self.add(parts::tags::COIN_REPLY, Role::Evaluator, 48);
        self.add(parts::tags::COIN_OPEN, Role::Garbler, 80);
    }

    fn leaky_ands(&mut self, n: usize) {
        self.both(wrk::tags::LEAKY_G, 16 * n);
        self.both(wrk::tags::LEAKY_D, packed_len(n));
        self.toss();
    }

    fn refill(&mut self, params: &WrkParams) {
        let triples = params.batch / params.bucket;
        self.shares(params.ot, 3 * params.batch + triples);
        self.leaky_ands(params.batch);
        self.both(wrk::tags::BUCKET_OPEN, packed_len((params.bucket - 1) * triples) + 16);
    }

    fn fill(&mut self, params: &WrkParams) {
        let mut left = params.pool.unwrap_or(0);
        while left > 0 {
            let n = params.batch.min(left);
            self.shares(params.ot, 3 * n);
            self.leaky_ands(n);
            left -= n;
        }
    }

    fn wrk_setup(&mut self, params: &WrkParams) {
        self.setup(params.ot, Role::Garbler);
        self.setup(params.ot, Role::Evaluator);
        self.toss();
    }

    /// A request of `ands` ANDs whose supply makes `refills` batches; outputs to both.
    fn wrk_request(&mut self, params: &WrkParams, ands: usize, refills: usize) {
        for owner in [Role::Garbler, Role::Evaluator] {
            self.add(wrk::tags::INPUT_MASK, owner.peer(), packed_len(INPUT) + 16);
            self.add(wrk::tags::INPUT_BITS, owner, packed_len(INPUT));
            self.add(wrk::tags::INPUT_LABELS, Role::Garbler, 16 * INPUT);
        }
        (0..refills).for_each(|_| self.refill(params));
        let mut left = ands;
        while left > 0 {
            let n = left.min(CHUNK);
            self.both(wrk::tags::BEAVER_OPEN, packed_len(2 * n) + 16);
            self.add(wrk::tags::TABLES, Role::Garbler, 32 * n + packed_len(n));
            self.add(wrk::tags::REPORT, Role::Evaluator, packed_len(n) + 32);
            self.add(wrk::tags::MAC_HASH, Role::Garbler, 16);
            left -= n;
        }
        self.both(wrk::tags::OUTPUT_MASK, packed_len(OUTPUT) + 16);
    }

    fn yao(&mut self, ands: usize) {
        let params = Choice::default();
        self.setup(params, Role::Garbler);
        self.add(yao::tags::YAO_START, Role::Garbler, 16);
        self.add(yao::tags::YAO_LABELS, Role::Garbler, 16 * INPUT);
        self.cots(params, Role::Evaluator, INPUT);
        self.add(ot::CHOICES, Role::Evaluator, packed_len(INPUT));
        self.add(yao::tags::YAO_TABLES, Role::Garbler, 32 * ands);
        self.add(yao::tags::YAO_DECODE, Role::Garbler, packed_len(OUTPUT));
        self.add(yao::tags::YAO_OUTPUT, Role::Evaluator, packed_len(OUTPUT));
    }

    fn total(&self) -> usize {
        self.0.values().sum()
    }
}

/// Payload bytes of a session with one request, but for hellos, measured.
fn measured(backend: Backend, pool: PoolChoice, ands: usize) -> Bytes {
    bytes_of(&recorded(&with_pool(backend, pool), TestProgram(Kind::Ands(ands)), Receivers::Both))
}

/// The frames of a session with one request, seen from the garbler.
fn recorded(config: &SessionConfig, program: TestProgram, to: Receivers) -> Vec<RecordedFrame> {
    let inputs = program.inputs(3);
    let (mut garbler, evaluator) = patient_pair();
    let recording = garbler.record();
    let ends = run_pair_over((garbler, evaluator), |channel, role| {
        let mut session = Session::open_seeded(channel, role, config, prg_of(role, 3))?;
        run_program(&mut session, &program, &inputs, to)?;
        let traffic = session.counters().total();
        session.close();
        Ok::<_, cenote_engine::Fault>(traffic)
    });
    let traffic = ends.0.expect("honest");
    let frames = recording.frames();
    let total = |direction: Direction| {
        let frames = frames.iter().filter(|frame| frame.direction == direction);
        frames.map(|frame| (HEADER_LEN + frame.payload.len()) as u64).sum::<u64>()
    };
    let counted = (traffic.bytes_sent, traffic.bytes_received);
    assert_eq!(counted, (total(Direction::Sent), total(Direction::Received)), "the counters");
    frames
}

fn bytes_of(frames: &[RecordedFrame]) -> Bytes {
    let mut bytes = Bytes::new();
    for frame in frames {
        let from = match frame.direction {
            Direction::Sent => Role::Garbler,
            Direction::Received => Role::Evaluator,
        };
        let mut known = tags::all().chain(ot::ALL);
        if let Some(tag) = known.find(|tag| tag.id == frame.tag) {
            *bytes.entry((tag.name, from.name())).or_default() += frame.payload.len();
        }
    }
    bytes
}

#[test]
fn every_message_of_wrk_has_the_bytes_of_its_formula() {
    // No ANDs, one, batches within a chunk, chunks within a batch; without and with a pool.
    let cases = [
        (PoolChoice::OneShot(1), 0usize),
        (PoolChoice::OneShot(1), 1),
        (PoolChoice::OneShot(1), 333),
        (PoolChoice::OneShot(20_000), 20_001),
        (PoolChoice::Kept(1100), 3000),
        (PoolChoice::Kept(9000), 17_000),
    ];
    for (pool, ands) in cases {
        let params = WrkParams::derive(pool, Rho::Bits40).expect("sound");
        let mut formula = Formula::default();
        formula.wrk_setup(&params);
        formula.shares(params.ot, INPUT + SPARE);
        let refills = ands.div_ceil(params.batch / params.bucket);
        if refills > 0 {
            formula.fill(&params);
        }
        formula.wrk_request(&params, ands, refills);
        assert_eq!(measured(Backend::Wrk, pool, ands), formula.0, "{pool:?}, {ands} ANDs");
    }
}

#[test]
fn every_message_of_yao_has_the_bytes_of_its_formula() {
    for ands in [1, 333, 20_001] {
        let mut formula = Formula::default();
        formula.yao(ands);
        assert_eq!(measured(Backend::Yao, PoolChoice::OneShot(1), ands), formula.0, "{ands}");
    }
}

#[test]
fn bytes_per_and_with_a_pool_of_480_thousand() {
    let params = WrkParams::derive(PoolChoice::Kept(480_000), Rho::Bits40).expect("sound");
    assert_eq!(params.bucket, 3);
    let triples = params.batch / params.bucket;
    let mut steady = Formula::default();
    steady.refill(&params);
    let mut online = Formula::default();
    online.wrk_request(&params, 100 * CHUNK, 0);
    let per_and =
        steady.total() as f64 / triples as f64 + online.total() as f64 / (100 * CHUNK) as f64;
    assert!(per_and > 150.0 && per_and <= 230.0, "{per_and} bytes");
    // The pool's own filling and the set-up counted, over ten million ANDs.
    let mut once = Formula::default();
    once.wrk_setup(&params);
    once.fill(&params);
    let all = per_and + once.total() as f64 / 1e7;
    assert!(all <= 230.0, "{all} bytes");
}

/// A session of `jimu` by the formulas of `costs`. What the coins decide, the number of items that
/// are checked in each batch, comes from the transcript.
struct Jimu<'p> {
    formula: Formula,
    params: &'p JimuParams,
    /// Bytes of checks of each batch, from the transcript.
    checks: std::vec::IntoIter<usize>,
    /// Items made and items checked, by what they are.
    made: BTreeMap<&'static str, (u64, u64, f64)>,
    /// Ready buckets by width; 0 stands for escrow.
    ready: BTreeMap<usize, usize>,
    /// Wires made for inputs of the evaluator.
    inputs: usize,
}

impl<'p> Jimu<'p> {
    fn new(params: &'p JimuParams, frames: &[RecordedFrame]) -> Jimu<'p> {
        let mut checks = Vec::new();
        for frame in frames {
            match (frame.tag, checks.last_mut()) {
                (tag, _) if tag == jimu::tags::JIMU_CLOSE.id => checks.push(0),
                (tag, Some(last)) if tag == jimu::tags::JIMU_CHECK.id => {
                    *last += frame.payload.len()
                }
                _ => {}
            }
        }
        Jimu {
            formula: Formula::default(),
            params,
            checks: checks.into_iter(),
            made: BTreeMap::new(),
            ready: BTreeMap::new(),
            inputs: 0,
        }
    }

    fn sent(&mut self, tag: Tag, bytes: usize) {
        self.formula.add(tag, Role::Garbler, bytes);
    }

    fn setup(&mut self) {
        let params = self.params;
        let before = self.formula.total();
        self.formula.setup(params.ot, Role::Garbler);
        for code in [params.codes.labels, params.codes.perms] {
            let seeds = code.n as usize;
            self.formula.cots(params.ot, Role::Evaluator, seeds);
            self.formula.add(ot::CHOICES, Role::Evaluator, packed_len(seeds));
            self.sent(ot::WATCH_COMMIT, 32);
            self.sent(ot::MASKED, 32 * seeds);
            self.formula.add(ot::WATCH_SECRET, Role::Evaluator, 16);
        }
        self.sent(jimu::tags::JIMU_DELTA, costs::delta(params));
        self.formula.toss();
        self.sent(jimu::tags::JIMU_ANSWER, costs::answer(params));
        self.formula.setup(params.ot, Role::Garbler);
        assert_eq!(self.formula.total() - before, costs::setup(params));
    }

    /// The end of a batch; the bytes of its checks.
    fn close(&mut self) -> usize {
        self.sent(jimu::tags::JIMU_CLOSE, costs::closing(self.params));
        self.formula.toss();
        self.sent(jimu::tags::JIMU_ANSWER, costs::answer(self.params));
        self.checks.next().expect("the transcript has all batches")
    }

    /// A batch of `items` with so many extra wires; returns how many items survive.
    fn batch(&mut self, item: Item, items: usize, extra: usize) -> usize {
        let params = self.params;
        let before = self.formula.total();
        self.sent(jimu::tags::JIMU_STRIP, costs::strips(params, item, items));
        self.sent(jimu::tags::JIMU_STRIP, costs::plain_strips(params, extra));
        let bytes = self.close();
        let checked = bytes / costs::check(params, item, 1);
        self.sent(jimu::tags::JIMU_CHECK, costs::check(params, item, checked));
        let whole = costs::batch(params, item, items, extra, checked);
        assert_eq!(self.formula.total() - before, whole);
        let rate = item.pool(params).expect("a pool").check_rate();
        let name = if item == Item::Gadget { "gadgets" } else { "cores" };
        let (made, shown, expected) = self.made.entry(name).or_default();
        *made += items as u64;
        *shown += checked as u64;
        *expected += items as f64 * rate;
        items - checked
    }

    /// Adds the bytes that fill a pool, the first time that it is drawn from.
    fn fill(&mut self, item: Item, key: usize) {
        if self.ready.contains_key(&key) {
            return;
        }
        self.ready.insert(key, 0);
        let pool = *item.pool(self.params).expect("a pool");
        let (mut level, before) = (0, self.formula.total());
        while level < pool.capacity {
            let items = costs::fresh_items(&pool, pool.capacity - level);
            level += self.batch(item, items, 0).min(pool.capacity - level);
        }
        let average = costs::filling(self.params, item).expect("a pool");
        self.compare_average(&pool, before, average, 1);
    }

    /// Asserts that the bytes added since the formula had `before` are so many for each of
    /// `pieces`, on the average: in large pools, where coins and what is left of a batch matter
    /// little.
    fn compare_average(&self, pool: &PoolSpec, before: usize, average: f64, pieces: usize) {
        let each = (self.formula.total() - before) as f64 / pieces as f64;
        let fits = (each / average - 1.0).abs() < 0.05;
        assert!(fits || pool.capacity < 2000, "{each} bytes, average {average}");
    }

    /// As many ready cores of a width as are taken.
    fn take(&mut self, width: usize, cores: usize) {
        let (params, item) = (self.params, Item::Core(width));
        while cores > 0 && self.ready.get(&width).is_none_or(|ready| *ready < cores) {
            self.fill(item, width);
            let (pool, before) = (item.pool(params).expect("a pool"), self.formula.total());
            let buckets = self.batch(item, pool.batch, 0) / pool.bucket;
            self.sent(jimu::tags::JIMU_INNER, costs::inner(params, width, pool, buckets));
            let average = costs::core(params, width).expect("a pool");
            let online = costs::outer(params, width) as f64;
            self.compare_average(pool, before, average - online, buckets);
            *self.ready.entry(width).or_default() += buckets;
        }
        if let Some(ready) = self.ready.get_mut(&width) {
            *ready -= cores;
        }
        self.sent(jimu::tags::JIMU_OUTER, cores * costs::outer(params, width));
    }

    fn take_escrowed(&mut self, wires: usize) {
        let (params, pool) = (self.params, &self.params.escrow);
        let enough = wires + costs::RESERVE;
        while self.ready.get(&0).is_none_or(|ready| *ready < enough) {
            self.fill(Item::Gadget, 0);
            let (extra, before) = (pool.batch / pool.bucket, self.formula.total());
            let buckets = self.batch(Item::Gadget, pool.batch, extra) / pool.bucket;
            self.sent(jimu::tags::JIMU_ESCROW, costs::escrow(params, buckets));
            self.compare_average(pool, before, costs::wire_in_escrow(params), buckets);
            *self.ready.entry(0).or_default() += buckets;
        }
        if let Some(ready) = self.ready.get_mut(&0) {
            *ready -= wires;
        }
    }

    fn garbler_input(&mut self, bits: usize) {
        self.take_escrowed(bits);
        self.sent(jimu::tags::JIMU_LABELS, 48 * bits);
    }

    fn evaluator_input(&mut self, bits: usize) {
        while self.inputs < bits {
            let (wires, kept) = costs::input_batch(self.params, bits - self.inputs);
            let (bytes, before) = (InputBatch::new(self.params, wires), self.formula.total());
            self.formula.cots(self.params.ot, Role::Evaluator, wires);
            self.sent(jimu::tags::JIMU_STRIP, bytes.strip);
            assert_eq!(self.close(), 0, "nothing is checked by opening");
            self.formula.add(jimu::tags::JIMU_SUM, Role::Evaluator, bytes.sums);
            self.sent(jimu::tags::JIMU_PROOF, bytes.proof);
            assert_eq!(self.formula.total() - before, bytes.total(self.params));
            self.inputs += kept;
        }
        self.inputs -= bits;
        self.formula.add(jimu::tags::JIMU_CHOICES, Role::Evaluator, packed_len(bits));
    }

    fn output(&mut self, bits: usize, to: Receivers) {
        let perms = bits * costs::perm(self.params);
        if to.include(Role::Evaluator) {
            self.sent(jimu::tags::JIMU_PERMS, perms);
        } else {
            self.take_escrowed(bits);
            self.sent(jimu::tags::JIMU_BOND, perms);
        }
        if to.include(Role::Garbler) {
            self.formula.add(jimu::tags::JIMU_RESULT, Role::Evaluator, packed_len(bits) + 16);
        }
    }

    /// Compares with what was sent.
    fn compare(mut self, frames: &[RecordedFrame], what: &str) {
        let mut sent = bytes_of(frames);
        sent.retain(|_, bytes| *bytes > 0);
        self.formula.0.retain(|_, bytes| *bytes > 0);
        assert_eq!(sent, self.formula.0, "{what}");
        assert_eq!(self.checks.next(), None, "{what}: a batch too many");
        for (name, (made, shown, expected)) in self.made {
            let rate = expected / made as f64;
            assert!(fits(shown, made, rate, rate), "{what}: {shown} of {made} {name}");
        }
    }
}

/// A session that computes `ands` in chunks.
fn jimu_session(pool: u64, rho: Rho, ands: usize, to: Receivers) {
    let params = JimuParams::derive(PoolChoice::Kept(pool), rho, JimuSwitches::DEFAULT);
    let params = params.expect("sound");
    let config = config(&format!("jimu:pool={pool},rho={}", rho.bits()));
    let frames = recorded(&config, TestProgram(Kind::Ands(ands)), to);
    let mut jimu = Jimu::new(&params, &frames);
    jimu.setup();
    jimu.garbler_input(INPUT);
    jimu.evaluator_input(INPUT);
    for first in (0..ands).step_by(CHUNK) {
        jimu.take(1, CHUNK.min(ands - first));
    }
    jimu.output(OUTPUT, to);
    jimu.compare(&frames, &format!("{pool}, {rho:?}, {ands} ANDs, {to:?}"));
}

#[test]
fn every_message_of_jimu_has_the_bytes_of_its_formula() {
    // No ANDs, one, batches within a chunk, a pool that is filled in one batch and in several.
    for (pool, ands, to) in [
        (100, 0, Receivers::Both),
        (100, 1, Receivers::Garbler),
        (255, 333, Receivers::Evaluator),
        (3000, 17_000, Receivers::Both),
    ] {
        jimu_session(pool, Rho::Bits40, ands, to);
    }
    for rho in [Rho::Bits64, Rho::Bits80] {
        jimu_session(100, rho, 20, Receivers::Garbler);
    }
    // Without an input of the garbler, escrow is there all the same as soon as there are ANDs.
    let pool = PoolChoice::Kept(100);
    let params = JimuParams::derive(pool, Rho::Bits40, JimuSwitches::DEFAULT).expect("sound");
    let config = with_pool(Backend::Jimu, pool);
    let program = TestProgram(Kind::EvaluatorOnly);
    let frames = recorded(&config, program, Receivers::Evaluator);
    let mut jimu = Jimu::new(&params, &frames);
    jimu.setup();
    jimu.evaluator_input(8);
    jimu.take(1, 4);
    jimu.take_escrowed(0);
    jimu.output(4, Receivers::Evaluator);
    jimu.compare(&frames, "the evaluator alone");
}

#[test]
fn every_gadget_of_jimu_has_the_bytes_of_its_formula() {
    let pool = PoolChoice::Kept(70);
    for muxcore in [true, false] {
        let switches = JimuSwitches { muxcore, ..JimuSwitches::DEFAULT };
        let params = JimuParams::derive(pool, Rho::Bits40, switches).expect("sound");
        let config = config(&format!("jimu:pool=70,muxcore={muxcore}"));
        let frames = recorded(&config, TestProgram(Kind::Muxes), Receivers::Both);
        let mut jimu = Jimu::new(&params, &frames);
        jimu.setup();
        jimu.garbler_input(131);
        jimu.evaluator_input(131);
        let mut lanes: Vec<usize> = MUX_WIDTHS.into();
        let mut cores = BTreeMap::new();
        for width in params.muxes.iter().map(|pool| pool.0) {
            cores.insert(width, lanes.iter().map(|lanes| lanes / width).sum::<usize>());
            lanes.iter_mut().for_each(|lanes| *lanes %= width);
        }
        cores.insert(1, lanes.iter().sum());
        // Pools are drawn from in their order: ANDs, then the widest first.
        jimu.take(1, cores[&1]);
        for (width, count) in cores.into_iter().rev().filter(|(width, _)| *width > 1) {
            jimu.take(width, count);
        }
        jimu.output(347, Receivers::Both);
        jimu.compare(&frames, &format!("multiplexers: {muxcore}"));
    }
}

#[test]
fn bytes_per_and_of_jimu_with_a_pool_of_a_million() {
    let params = JimuParams::derive(PoolChoice::Kept(1 << 20), Rho::Bits40, JimuSwitches::DEFAULT);
    let params = params.expect("sound");
    // What the parts add up to, without a look at the code that sends them.
    let PoolSpec { bucket, batch, .. } = params.ands;
    let (bucket, rate) = (bucket as f64, params.ands.check_rate());
    let gates = bucket / (1.0 - rate);
    let made = gates * (3.0 * 40.0 + 3.0 * 18.0 + 144.0);
    let solders = (3.0 * (bucket - 1.0) + 2.0) * 64.0;
    let checks = gates * rate * 3.0 * 64.0;
    let (labels, perms) = (params.codes.label_combinations, params.codes.perm_combinations);
    let closing = 64 * labels.max(perms) * (40 + 18);
    let end = closing + 32 + 48 + 80 + 64 * (48 * labels + 16 * perms);
    let ends = gates / batch as f64 * f64::from(end);
    let parts = made + solders + checks + ends;
    let found = costs::core(&params, 1).expect("always");
    assert!((found / parts - 1.0).abs() < 1e-3, "{found} bytes, the parts {parts}");
    assert!(found > 2000.0 && found <= 2200.0, "{found} bytes");
}

fn digest(backend: Backend) -> TranscriptDigest {
    let program = TestProgram(Kind::Compare);
    let (mut garbler, evaluator) = patient_pair();
    garbler.enable_transcript();
    let ends = run_pair_over((garbler, evaluator), |channel, role| {
        let prg = prg_of(role, 2026);
        let mut session = Session::open_seeded(channel, role, &smallest(backend), prg)?;
        for request in 0..2 {
            run_program(&mut session, &program, &program.inputs(request), Receivers::Both)?;
        }
        let digest = session.channel().transcript_digest();
        session.close();
        Ok::<_, cenote_engine::Fault>(digest)
    });
    ends.0.expect("honest").expect("enabled")
}

#[test]
fn wire_bytes_are_pinned_on_every_kind_of_processor() {
    let hex =
        |digest: [u8; 32]| digest[..12].iter().map(|b| format!("{b:02x}")).collect::<String>();
    for most in [Level::Portable, Level::Aesni, Level::Vaes512] {
        let level = limit(most);
        let found = Backend::ALL.map(|backend| {
            let digest = digest(backend);
            (backend, [hex(digest.sent), hex(digest.received)])
        });
        let pinned = Backend::ALL.map(|backend| (backend, entry(backend).wire.map(str::to_owned)));
        assert_eq!(found, pinned, "at level {level:?}");
    }
}
