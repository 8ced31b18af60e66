//! Bytes on the wire: a formula for every message, and digests that pin them all.

use std::collections::BTreeMap;

use cenote_engine::{Backend, PoolChoice, Receivers, Rho, Role, Session, WrkParams, tags};
use cenote_net::{Direction, HEADER_LEN, Tag, TranscriptDigest};
use cenote_ot::tags as ot;
use cenote_prim::bits::packed_len;
use cenote_prim::simd::{Level, limit};
use cenote_testkit::programs::{Kind, TestProgram};
use cenote_testkit::run::{patient_pair, prg_of, run_program, smallest, with_pool};
use cenote_testkit::run_pair_over;

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
    fn setup(&mut self, params: cenote_ot::Params, sender: Role) {
        self.add(ot::BASE_POINTS, sender, 128 * 2 * 32);
        self.add(ot::BASE_POINT, sender.peer(), 32);
        let (trees, depth) = (params.trees(), params.digit_bits());
        self.add(ot::TREES, sender.peer(), trees * (32 * depth + 32) + 32);
    }

    /// `n` COTs from `receiver`, in chunks.
    fn cots(&mut self, params: cenote_ot::Params, receiver: Role, n: usize) {
        let mut left = n.next_multiple_of(128);
        while left > 0 {
            let chunk = left.min(params.chunk());
            let blocks = chunk / 128 + 1;
            self.add(ot::CHUNK, receiver, 16 * (params.trees() - 1) * blocks + 16 * 129);
            left -= chunk;
        }
    }

    fn shares(&mut self, params: cenote_ot::Params, n: usize) {
        self.cots(params, Role::Garbler, n);
        self.cots(params, Role::Evaluator, n);
    }

    fn toss(&mut self) {
        self.add(tags::COIN_COMMIT, Role::Garbler, 32);
        self.add(tags::COIN_REPLY, Role::Evaluator, 48);
        self.add(tags::COIN_OPEN, Role::Garbler, 80);
    }

    fn leaky_ands(&mut self, n: usize) {
        self.both(tags::LEAKY_G, 16 * n);
        self.both(tags::LEAKY_D, packed_len(n));
        self.toss();
    }

    fn refill(&mut self, params: &WrkParams) {
        let triples = params.batch / params.bucket;
        self.shares(params.ot, 3 * params.batch + triples);
        self.leaky_ands(params.batch);
        self.both(tags::BUCKET_OPEN, packed_len((params.bucket - 1) * triples) + 16);
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
            self.add(tags::INPUT_MASK, owner.peer(), packed_len(INPUT) + 16);
            self.add(tags::INPUT_BITS, owner, packed_len(INPUT));
            self.add(tags::INPUT_LABELS, Role::Garbler, 16 * INPUT);
        }
        (0..refills).for_each(|_| self.refill(params));
        let mut left = ands;
        while left > 0 {
            let n = left.min(CHUNK);
            self.both(tags::BEAVER_OPEN, packed_len(2 * n) + 16);
            self.add(tags::TABLES, Role::Garbler, 32 * n + packed_len(n));
            self.add(tags::MASKED, Role::Evaluator, packed_len(n) + 32);
            self.add(tags::MAC_HASH, Role::Garbler, 16);
            left -= n;
        }
        self.both(tags::OUTPUT_MASK, packed_len(OUTPUT) + 16);
    }

    fn yao(&mut self, ands: usize) {
        let params = cenote_ot::Params::default();
        self.setup(params, Role::Garbler);
        self.add(tags::YAO_START, Role::Garbler, 16);
        self.add(tags::YAO_LABELS, Role::Garbler, 16 * INPUT);
        self.cots(params, Role::Evaluator, INPUT);
        self.add(ot::CHOICES, Role::Evaluator, packed_len(INPUT));
        self.add(tags::YAO_TABLES, Role::Garbler, 32 * ands);
        self.add(tags::YAO_DECODE, Role::Garbler, packed_len(OUTPUT));
        self.add(tags::YAO_OUTPUT, Role::Evaluator, packed_len(OUTPUT));
    }

    fn total(&self) -> usize {
        self.0.values().sum()
    }
}

/// Payload bytes of a session with one request, but for hellos, measured.
fn measured(backend: Backend, pool: PoolChoice, ands: usize) -> Bytes {
    let program = TestProgram(Kind::Ands(ands));
    let inputs = program.inputs(3);
    let (mut garbler, evaluator) = patient_pair();
    let recording = garbler.record();
    let ends = run_pair_over((garbler, evaluator), |channel, role| {
        let prg = prg_of(role, 3);
        let mut session = Session::open(channel, role, &with_pool(backend, pool), prg)?;
        run_program(&mut session, &program, &inputs, Receivers::Both)?;
        let traffic = session.counters().total();
        session.close();
        Ok::<_, cenote_engine::Fault>(traffic)
    });
    let traffic = ends.0.expect("honest");
    let mut bytes = Bytes::new();
    let (mut sent, mut received) = (0, 0);
    for frame in recording.frames() {
        let from = match frame.direction {
            Direction::Sent => Role::Garbler,
            Direction::Received => Role::Evaluator,
        };
        let all = if from == Role::Garbler { &mut sent } else { &mut received };
        *all += (HEADER_LEN + frame.payload.len()) as u64;
        let mut known = tags::ALL.iter().chain(ot::ALL);
        if let Some(tag) = known.find(|tag| tag.id == frame.tag) {
            *bytes.entry((tag.name, from.name())).or_default() += frame.payload.len();
        }
    }
    assert_eq!((traffic.bytes_sent, traffic.bytes_received), (sent, received), "the counters");
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

fn digest(backend: Backend) -> TranscriptDigest {
    let program = TestProgram(Kind::Compare);
    let (mut garbler, evaluator) = patient_pair();
    garbler.enable_transcript();
    let ends = run_pair_over((garbler, evaluator), |channel, role| {
        let prg = prg_of(role, 2026);
        let mut session = Session::open(channel, role, &smallest(backend), prg)?;
        for request in 0..2 {
            run_program(&mut session, &program, &program.inputs(request), Receivers::Both)?;
        }
        let digest = session.channel().transcript_digest();
        session.close();
        Ok::<_, cenote_engine::Fault>(digest)
    });
    ends.0.expect("honest").expect("enabled")
}

/// First bytes of the digests of an honest session with fixed randomness: garbler's frames,
/// evaluator's frames. They change when a byte on the wire does, and then [`PROTOCOL_VERSION`]
/// (../../net/src/handshake.rs) must as well, once a release is out.
///
/// [`PROTOCOL_VERSION`]: cenote_net::PROTOCOL_VERSION
const PINNED: [(Backend, &str, &str); 3] = [
    (Backend::Plain, "b03fe30b330e494ac3528431", "027ffdc53ee8608822024c97"),
    (Backend::Yao, "43a8ec77d8a73049797b495d", "5cf36a2fe7a01b468f9f9657"),
    (Backend::Wrk, "72e5ed75eed93d986db9cb3d", "0131a2d5d3564883a4571cc0"),
];

#[test]
fn wire_bytes_are_pinned_on_every_kind_of_processor() {
    let hex =
        |digest: [u8; 32]| digest[..12].iter().map(|b| format!("{b:02x}")).collect::<String>();
    for most in [Level::Portable, Level::Aesni, Level::Vaes512] {
        let level = limit(most);
        let found = Backend::ALL.map(|backend| {
            let digest = digest(backend);
            (backend, hex(digest.sent), hex(digest.received))
        });
        let pinned = PINNED.map(|(backend, a, b)| (backend, a.to_owned(), b.to_owned()));
        assert_eq!(found, pinned, "at level {level:?}");
    }
}
