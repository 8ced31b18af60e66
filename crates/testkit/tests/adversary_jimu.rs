//! Runs the cheats of the adversary table against `jimu`.

use cenote_engine::{Fault, Role};
use cenote_testkit::adversary::{End, JIMU};
use cenote_testkit::cheater::jimu::{
    Cheat, Outcome, Plan, Talk, expected, plan_of, run_session, tiny, tiny_compact,
};
use cenote_testkit::stats::{fits, in_parallel};

/// Jobs of a session, as `role` runs them.
fn talks(role: Role, seed: u128) -> Vec<Talk> {
    (0..2).map(|job| Talk::random(role, seed << 8 | job)).collect()
}

#[test]
fn a_cheater_without_a_cheat_is_a_party_like_any_other() {
    for role in [Role::Garbler, Role::Evaluator] {
        for (seed, params) in [tiny(), tiny(), tiny_compact(), tiny_compact()].iter().enumerate() {
            let seed = seed as u128;
            let talks = talks(role, seed);
            let outcome = run_session(params, &Plan::of(Cheat::None), &talks, role, seed);
            assert_eq!((outcome.honest.1, outcome.cheater.1), (None, None));
            assert_eq!(outcome.honest.0, expected(&talks, role));
            assert_eq!(outcome.cheater.0, expected(&talks, role.peer()));
            assert!(outcome.history.reports.iter().all(|good| *good));
        }
    }
}

/// Whether a session ended as the row says; whether the cheat was caught.
fn judge(what: &str, end: End, talks: &[Talk], outcome: &Outcome) -> bool {
    let role = talks[0].role();
    let right = expected(talks, role);
    let (outputs, fault) = &outcome.honest;
    // Whatever was output is right.
    assert_eq!(outputs[..], right[..outputs.len()], "{what}");
    let caught = match (end, fault) {
        (End::Right | End::Chance(..) | End::CaughtOrRight(_), None) => false,
        (End::Caught(id) | End::Chance(id, _) | End::CaughtOrRight(id), Some(fault)) => {
            assert_eq!(*fault, Fault::Misbehaved(id), "{what}");
            true
        }
        _ => panic!("{what}: expected {end:?}, got {fault:?}"),
    };
    // The one thing that a cheater sees who was caught, and one who was not is told nothing.
    let seen = caught.then_some(Fault::PeerAborted);
    assert_eq!(outcome.cheater.1, seen, "{what}");
    if !caught {
        assert_eq!(outcome.cheater.0, expected(talks, role.peer()), "{what}");
        assert!(outcome.history.reports.iter().all(|good| *good), "{what}");
    }
    caught
}

/// Sessions for a frequency: enough to tell one half from never and always.
const TRIALS: u128 = 48;

#[test]
fn every_check_catches_the_cheat_it_exists_for() {
    in_parallel(JIMU, |_, row| {
        let trials = match row.end {
            End::Chance(..) => TRIALS,
            End::CaughtOrRight(_) => 8,
            _ => 2,
        };
        let what = format!("{:?} of the {}", row.cheat, row.by);
        let mut caught = 0;
        for seed in 0..trials {
            let talks = talks(row.by.peer(), seed);
            let params = row.cheat.params();
            let plan = plan_of(row.cheat, &params, &talks, seed);
            let outcome = run_session(&params, &plan, &talks, row.by.peer(), seed);
            caught += u64::from(judge(&what, row.end, &talks, &outcome));
        }
        match row.end {
            End::Chance(_, odds) => {
                let fits = fits(caught, trials as u64, odds, odds);
                assert!(fits, "{what}: caught {caught} of {trials}");
            }
            End::CaughtOrRight(_) => assert!(caught > 0, "{what} is never caught"),
            _ => {}
        }
    });
}
