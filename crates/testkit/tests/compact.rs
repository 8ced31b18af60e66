//! Pools of `jimu` in compact storage: sessions of it compute, keep nothing, send what the formulas
//! say, and notice every change of what comes again.

use cenote_circuit::Clear;
use cenote_engine::backends::jimu::costs;
use cenote_engine::backends::jimu::garbled_core::Shape;
use cenote_engine::backends::jimu::{self, PoolSpec};
use cenote_engine::{Fault, JimuParams, Receivers, Rho, Role, Session, SessionConfig};
use cenote_net::{Channel, Deviation, Direction, RecordedFrame, Tag, mem_pair};
use cenote_pool::Level;
use cenote_testkit::programs::{Kind, TestProgram};
use cenote_testkit::run::{
    config as text, expected, patient_pair, prg_of, run_program, sessions, sessions_over,
};

fn config(pool: u64, rho: Rho, compact: bool) -> SessionConfig {
    text(&format!("jimu:pool={pool},rho={},compact={compact}", rho.bits()))
}

/// The counters of the stock of ANDs, into which buckets go.
fn ands(session: &Session) -> Level {
    let levels = session.occupancy().expect("stocks");
    levels.of("stock.and").expect("a stock of ANDs").clone()
}

/// Runs programs one after the other on one session, compares with clear evaluation, and returns
/// how many buckets of ANDs were drawn.
fn check(config: &SessionConfig, seed: u128, programs: &[(Kind, Receivers)]) -> u64 {
    let (garbler, evaluator) = sessions(config, seed, |session, role| {
        for (kind, to) in programs {
            let program = TestProgram(*kind);
            let inputs = program.inputs(seed);
            let output = run_program(session, &program, &inputs, *to)?;
            let clear = expected(&Clear::eval(&program, &inputs), *to, role);
            assert_eq!(output, clear, "{kind:?} to {to:?} at the {role}");
        }
        Ok(ands(session).made)
    });
    let drawn = garbler.expect("honest");
    assert_eq!(evaluator, Ok(drawn), "both sides count alike");
    drawn
}

#[test]
fn programs_of_all_kinds_run_on_pools_that_are_not_stored() {
    let quick = TestProgram::QUICK.into_iter().map(|program| program.0);
    let programs: Vec<(Kind, Receivers)> = quick
        .chain([Kind::MuxEdges, Kind::Muxes])
        .flat_map(|kind| Receivers::ALL.map(|to| (kind, to)))
        .collect();
    check(&config(400, Rho::Bits40, true), 1, &programs);
}

#[test]
fn a_tiny_pool_is_drawn_from_many_times_over() {
    // Batches as large as the pool and larger: most drawn items entered in the same run.
    for pool in [60, 200] {
        let programs = [
            (Kind::Aes, Receivers::Both),
            (Kind::Muxes, Receivers::Garbler),
            (Kind::Aes, Receivers::Evaluator),
        ];
        let drawn = check(&config(pool, Rho::Bits40, true), 2, &programs);
        assert!(drawn > 50 * pool, "{drawn} buckets");
    }
}

#[test]
fn the_hashes_of_higher_bounds_come_again_as_well() {
    for rho in [Rho::Bits64, Rho::Bits80] {
        let programs = [(Kind::Compare, Receivers::Garbler), (Kind::Muxes, Receivers::Both)];
        check(&config(150, rho, true), 3, &programs);
        check(&config(3000, rho, true), 4, &[(Kind::Ands(6000), Receivers::Both)]);
    }
}

/// Bytes kept for the pool of cores of `width` on both sides, after some draws.
fn stored(pool: u64, compact: bool, width: usize) -> [usize; 2] {
    let (garbler, evaluator) = sessions(&config(pool, Rho::Bits40, compact), 5, |session, _| {
        session.stock(1)?;
        let muxes = TestProgram(Kind::Muxes);
        run_program(session, &muxes, &muxes.inputs(5), Receivers::Both)?;
        session.measure(|cores| cores.stored_bytes(width))
    });
    [garbler.expect("honest"), evaluator.expect("honest")]
}

#[test]
fn what_is_kept_does_not_grow_with_the_pool() {
    for (width, row) in [(1, 16 * 17), (8, 16 * 108)] {
        let [small, large] = [150, 6000].map(|pool| stored(pool, true, width));
        assert!(small[1] == large[1] && large[1] <= 100, "{large:?} bytes");
        assert_eq!([small[0], large[0]], [8 * 150, 8 * 6000]);
        // The same pools, stored.
        let [small, large] = [150, 6000].map(|pool| stored(pool, false, width));
        assert_eq!([small, large], [[16 * 150, row * 150], [16 * 6000, row * 6000]]);
    }
}

/// The lengths of the messages with this tag.
fn lengths(frames: &[RecordedFrame], tag: Tag) -> Vec<usize> {
    let own = frames.iter().filter(|frame| frame.tag == tag.id);
    own.map(|frame| frame.payload.len()).collect()
}

/// Bytes of `jimu.again` and `jimu.paths` of each refill of the pool of ANDs.
fn sent_again(pool: u64, refills: usize) -> (JimuParams, Vec<[usize; 2]>) {
    let config = config(pool, Rho::Bits40, true);
    let params = JimuParams::of(&config).expect("sound");
    let (mut garbler, evaluator) = patient_pair();
    let recording = garbler.record();
    let (filled, all) = sessions_over((garbler, evaluator), &config, 6, |session, _| {
        session.fill()?;
        let filled = recording.frames().len();
        let mut marks = vec![filled];
        for _ in 0..refills {
            let ready = ands(session).level;
            session.stock(ready as usize + 1)?;
            marks.push(recording.frames().len());
        }
        Ok(marks)
    });
    all.expect("honest");
    let frames = recording.frames();
    assert!(frames.iter().all(|frame| {
        let again = [jimu::tags::JIMU_AGAIN.id, jimu::tags::JIMU_PATHS.id].contains(&frame.tag);
        !again || frame.direction == Direction::Sent
    }));
    let marks = filled.expect("honest");
    assert!(lengths(&frames[..marks[0]], jimu::tags::JIMU_AGAIN).is_empty(), "nothing was drawn");
    let of_refill = |frames: &[RecordedFrame]| {
        // The first refill makes escrow and inputs as well: the pool of ANDs comes first.
        let end = frames.iter().position(|frame| frame.tag == jimu::tags::JIMU_INNER.id);
        let frames = &frames[..end.expect("solders follow")];
        [jimu::tags::JIMU_AGAIN, jimu::tags::JIMU_PATHS]
            .map(|tag| lengths(frames, tag).iter().sum())
    };
    let bytes = marks.windows(2).map(|marks| of_refill(&frames[marks[0]..marks[1]])).collect();
    (params, bytes)
}

#[test]
fn what_comes_again_has_the_bytes_of_the_formulas() {
    for (pool, refills) in [(400, 30), (3000, 10), (20_000, 3)] {
        let (params, bytes) = sent_again(pool, refills);
        let spec: PoolSpec = params.ands;
        let survivors = (1.0 - spec.check_rate()) * spec.batch as f64;
        let buckets = survivors as usize / spec.bucket;
        let (mut slots, mut nodes) = (0, 0);
        for [again, paths] in bytes {
            // Which slots the coins chose is not seen; how many, follows from the bytes.
            let drawn =
                (1..=pool as usize).find(|n| costs::again(&params, Shape::AND, *n) == again);
            slots += drawn.expect("the bytes of so many items");
            assert!(paths.is_multiple_of(32));
            nodes += paths / 32;
        }
        let near = |sum: usize, average: f64| {
            let each = sum as f64 / refills as f64;
            assert!((each / average - 1.0).abs() < 0.06, "{pool}: {each}, average {average}");
        };
        near(slots, costs::drawn_slots(&spec, buckets));
        near(nodes, costs::rest_nodes(&spec, buckets));
    }
}

/// How a session ends for the evaluator that draws from a pool of ANDs while the garbler deviates.
fn deviate(pool: u64, tag: Tag, index: usize, deviation: Deviation) -> Result<(), Fault> {
    let (mut garbler, evaluator) = patient_pair();
    let witness = garbler.deviate(tag, index, deviation);
    let config = config(pool, Rho::Bits40, true);
    let (_, end) = sessions_over((garbler, evaluator), &config, 7, |session, _| session.stock(1));
    assert!(witness.happened());
    end
}

#[test]
fn every_bit_that_comes_again_is_compared() {
    let other = Err(Fault::Misbehaved("jimu.merkle"));
    // The numbers, the corrections and their last lanes, the tables; a few hundred slots are drawn.
    let places = [0, 1, 7, 40, 63, 64 * 70, 64 * 200, 20_000, 100_000, 333_333, 500_000];
    for flip in places.into_iter().chain((0..20).map(|i| 8 * (7 + i * 2750) + i % 8)) {
        assert_eq!(deviate(400, jimu::tags::JIMU_AGAIN, 0, Deviation::Flip(flip)), other, "{flip}");
    }
    for flip in [0, 255, 256, 5000, 77_777] {
        assert_eq!(
            deviate(3000, jimu::tags::JIMU_PATHS, 0, Deviation::Flip(flip)),
            other,
            "{flip}"
        );
    }
    // The second message of either kind.
    assert_eq!(deviate(6000, jimu::tags::JIMU_AGAIN, 1, Deviation::Flip(9)), other);
    assert_eq!(deviate(20_000, jimu::tags::JIMU_PATHS, 1, Deviation::Flip(9)), other);
    for tag in [jimu::tags::JIMU_AGAIN, jimu::tags::JIMU_PATHS] {
        for deviation in [Deviation::Cut(1), Deviation::Drop, Deviation::Double, Deviation::Swap] {
            let end = deviate(3000, tag, 0, deviation.clone());
            assert!(matches!(end, Err(Fault::Misbehaved(_))), "{}: {deviation:?}", tag.name);
        }
    }
}

#[test]
fn one_side_alone_does_not_store_its_pool() {
    let open = |channel: Channel, role: Role| {
        let config = config(400, Rho::Bits40, role == Role::Garbler);
        Session::open_seeded(channel, role, &config, prg_of(role, 8)).map(drop)
    };
    let (garbler, evaluator) = cenote_testkit::run_pair_over(mem_pair(), open);
    for end in [garbler, evaluator] {
        assert!(matches!(&end, Err(Fault::Policy(text)) if text.contains("compact")), "{end:?}");
    }
}
