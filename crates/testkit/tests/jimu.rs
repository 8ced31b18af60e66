//! The features that only `jimu` has: multiplexers of its own, switches, and a hash that follows
//! rho.

use cenote_circuit::Clear;
use cenote_engine::{
    Backend, Fault, JimuParams, JimuSwitches, PoolChoice, Receivers, Rho, Role, Session,
    SessionConfig,
};
use cenote_testkit::programs::{Kind, MUX_WIDTHS, TestProgram};
use cenote_testkit::run::{config, expected, prg_of, run_program, sessions, smallest};
use cenote_testkit::run_pair;

/// A small pool: wide cores are large.
const POOL: &str = "jimu:pool=100";

fn consumed(session: &Session) -> u64 {
    let levels = session.occupancy().expect("stocks");
    levels.of("stock.and").expect("a stock of ANDs").consumed
}

/// Runs programs one after the other, compares with clear evaluation, and returns how many cores
/// of width 1 were taken for each.
fn check(config: &SessionConfig, programs: &[(Kind, Receivers)]) -> Vec<u64> {
    let (garbler, evaluator) = sessions(config, 31, |session, role| {
        let mut taken = Vec::new();
        for (kind, to) in programs {
            let program = TestProgram(*kind);
            let inputs = program.inputs(77);
            let before = consumed(session);
            let output = run_program(session, &program, &inputs, *to)?;
            let clear = expected(&Clear::eval(&program, &inputs), *to, role);
            assert_eq!(output, clear, "{kind:?} to {to:?} at the {role}");
            taken.push(consumed(session) - before);
        }
        Ok(taken)
    });
    let taken = garbler.expect("honest");
    assert_eq!(evaluator, Ok(taken.clone()), "both sides count alike");
    taken
}

#[test]
fn multiplexers_take_cores_of_their_own() {
    let muxes = [(Kind::Muxes, Receivers::Both), (Kind::MuxEdges, Receivers::Both)];
    let without = check(&config("jimu:pool=100,muxcore=false"), &muxes);
    let with = check(&config(POOL), &muxes);
    // Widths 64, 32, 16 and 8 leave up to seven lanes of each multiplexer. The edges have ten
    // multiplexers of nine lanes, an OR, and nine of them.
    let rest: usize = MUX_WIDTHS.iter().map(|width| width % 8).sum();
    assert_eq!((without[0], with[0]), (347, rest as u64));
    assert_eq!((without[1], with[1]), (10 * 9 + 10, 10 + 10));
}

#[test]
fn a_pool_too_small_for_wide_cores_goes_without() {
    let small = config("jimu:pool=44");
    let params = JimuParams::of(&small).expect("sound");
    assert_eq!(params.muxes, []);
    assert_eq!(check(&small, &[(Kind::MuxEdges, Receivers::Both)]), [100]);
}

#[test]
fn the_hash_of_higher_bounds_computes_the_same() {
    let programs: Vec<(Kind, Receivers)> =
        Receivers::ALL.into_iter().map(|to| (Kind::Compare, to)).collect();
    let strict = [64, 80].map(|rho| config(&format!("{POOL},rho={rho}")));
    for config in strict {
        // Permutation messages of two blocks, in every kind of message.
        let params = JimuParams::of(&config).expect("sound");
        assert_eq!((params.codes.perms.field_bits, params.rho), (8, config.rho()));
        assert!(params.epsilon_log2() < 1.5 - f64::from(params.rho.bits()));
        check(&config, &programs);
    }
    check(&strict[0], &[(Kind::MuxEdges, Receivers::Garbler)]);
}

/// How a session ends that the sides open with these configurations.
fn open(configs: [SessionConfig; 2]) -> [Result<(), Fault>; 2] {
    let (garbler, evaluator) = run_pair(|channel, role: Role| {
        Session::open_seeded(channel, role, &configs[role as usize], prg_of(role, 11)).map(|_| ())
    });
    [garbler, evaluator]
}

#[test]
fn what_has_no_sound_pool_is_refused() {
    for none in [PoolChoice::OneShot(1), PoolChoice::OneShot(1_000_000)] {
        let derived = JimuParams::derive(none, Rho::Bits40, JimuSwitches::DEFAULT);
        assert!(matches!(derived, Err(Fault::Policy(_))), "{none:?}");
    }
    for pool in [1, 39, 41, 1 << 40, u64::MAX] {
        for end in open([config(&format!("jimu:pool={pool}")); 2]) {
            assert!(matches!(end, Err(Fault::Policy(_))), "{pool}: {end:?}");
        }
    }
    // A pool that is sound at 2^-40 is not at 2^-80.
    assert_eq!(open([config("jimu:pool=60"); 2]), [Ok(()), Ok(())]);
    for end in open([config("jimu:pool=60,rho=80"); 2]) {
        assert!(matches!(end, Err(Fault::Policy(_))), "{end:?}");
    }
}

#[test]
fn differing_parameters_are_refused_by_name_on_both_sides() {
    let own = smallest(Backend::Jimu);
    for (other, names) in [
        ("jimu:pool=400,muxcore=false", &["multiplexers", "epsilon"][..]),
        ("jimu:pool=400,compact=true", &["compact"]),
        ("jimu:pool=401", &["pool", "multiplexers"]),
        ("jimu:pool=20000", &["pool", "bucket", "check rate"]),
        ("jimu:pool=400,rho=64", &["bucket", "check rate"]),
    ] {
        let other = config(other);
        for configs in [[own, other], [other, own]] {
            for end in open(configs) {
                let Err(Fault::Policy(text)) = &end else { panic!("{other:?}: {end:?}") };
                assert!(names.iter().all(|name| text.contains(name)), "{names:?}: {text}");
            }
        }
    }
}
