//! Plays the cheats of the adversary table against `jimu`.

use cenote_engine::{Fault, Role};
use cenote_testkit::adversary::{End, JIMU};
use cenote_testkit::puppet::jimu::{
    Cheat, Plan, Played, Talk, expected, plan_of, play, tiny, tiny_compact,
};
use cenote_testkit::stats::{fits, in_parallel};

/// Jobs of a session, as `role` runs them.
fn talks(role: Role, seed: u128) -> Vec<Talk> {
    (0..2).map(|job| Talk::random(role, seed << 8 | job)).collect()
}

#[test]
fn a_puppet_that_does_not_cheat_is_a_party_like_any_other() {
    for role in [Role::Garbler, Role::Evaluator] {
        for (seed, params) in [tiny(), tiny(), tiny_compact(), tiny_compact()].iter().enumerate() {
            let seed = seed as u128;
            let talks = talks(role, seed);
            let played = play(params, &Plan::of(Cheat::None), &talks, role, seed);
            assert_eq!((played.honest.1, played.cheater.1), (None, None));
            assert_eq!(played.honest.0, expected(&talks, role));
            assert_eq!(played.cheater.0, expected(&talks, role.peer()));
            assert!(played.history.reports.iter().all(|good| *good));
        }
    }
}

/// Whether a session ended as the row says; whether the cheat was caught.
fn judge(what: &str, end: End, talks: &[Talk], played: &Played) -> bool {
    let role = talks[0].role();
    let right = expected(talks, role);
    let (outputs, fault) = &played.honest;
    // Whatever was put out is right.
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
    assert_eq!(played.cheater.1, seen, "{what}");
    if !caught {
        assert_eq!(played.cheater.0, expected(talks, role.peer()), "{what}");
        assert!(played.history.reports.iter().all(|good| *good), "{what}");
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
            let played = play(&params, &plan, &talks, row.by.peer(), seed);
            caught += u64::from(judge(&what, row.end, &talks, &played));
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
