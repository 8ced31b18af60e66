//! A side that refuses a run does not begin it, whatever the peer says.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;

use cenote_engine::cost::{Excess, Limits, Machine};
use cenote_engine::{Fault, Receivers, Role, Session, SessionConfig};
use cenote_job::{Computation, Request, facts, policy};
use cenote_net::{Channel, mem_pair};
use cenote_program::Module;

const PROGRAM: &str = "cenote 2\nprogram and \"one AND\"\n\
                       input x: a bits b1\ninput y: b bits b1\n{\n%2 = and %0, %1\n}\n\
                       output z: both bits %2\n";

fn request(role: Role, limits: &Limits) -> Request {
    let module = Module::parse_text(PROGRAM).expect("well-formed");
    let computation = Computation::of_module(Arc::new(module)).expect("small");
    let (signature, own) = (computation.signature(), vec![vec![true]]);
    let request = Request::new(Arc::new(computation), signature, own, Receivers::Both, config());
    let request = request.expect("sound");
    request.within(limits, &Machine::typical(), policy::PEER_LINK, role).expect("sound")
}

fn config() -> SessionConfig {
    "wrk".parse().expect("a backend")
}

fn none() -> Limits {
    Limits { ands: 0, ..Limits::default() }
}

fn refusal(fault: Fault) -> String {
    match fault {
        Fault::Policy(text) => text,
        other => panic!("{other:?}"),
    }
}

fn run(role: Role, limits: &Limits, channel: Channel) -> Result<Vec<Option<Vec<bool>>>, Fault> {
    let ran = request(role, limits).run(channel, role, &AtomicU64::new(0))?;
    ran.outcome.map(|outcome| outcome.output)
}

#[test]
fn both_hear_which_side_refuses_and_what_the_program_takes() {
    for (limits, who) in [([none(), Limits::default()], 0), ([Limits::default(), none()], 1)] {
        let (garbler, evaluator) = mem_pair();
        let ends = thread::scope(|scope| {
            let other = scope.spawn(|| run(Role::Evaluator, &limits[1], evaluator));
            [run(Role::Garbler, &limits[0], garbler), other.join().expect("no panic")]
        });
        let said = ends.map(|end| refusal(end.expect_err("refused")));
        assert!(said[who].contains("1 ANDs predicted, more than the limit of 0"), "{said:?}");
        assert!(said[1 - who].contains("above the limits of the other side"), "{said:?}");
        assert!(!said[1 - who].contains("limit of 0"), "a limit is its owner's: {said:?}");
    }
}

#[test]
fn within_the_limits_it_runs() {
    let (garbler, evaluator) = mem_pair();
    let limits = Limits::default();
    let ends = thread::scope(|scope| {
        let other = scope.spawn(|| run(Role::Evaluator, &limits, evaluator));
        [run(Role::Garbler, &limits, garbler), other.join().expect("no panic")]
    });
    assert_eq!(ends, [Ok(vec![Some(vec![true])]), Ok(vec![Some(vec![true])])]);
}

/// A peer that says what this side says agrees to be refused. It hears of the end, and of nothing else.
#[test]
fn an_echo_of_the_refusal_begins_nothing() {
    let (garbler, peer) = mem_pair();
    let honest = thread::spawn(move || run(Role::Garbler, &none(), garbler));
    let module = Module::parse_text(PROGRAM).expect("well-formed");
    let computation = Computation::of_module(Arc::new(module)).expect("small");
    let (signature, config) = (computation.signature(), config().for_ands(computation.ands()));
    let figure = "1 ANDs predicted".to_owned();
    let echoed = Excess { figure, limit: String::new(), option: "ands" };
    let echo = Some((Role::Garbler, &echoed));
    let facts = facts(&computation, &signature, Receivers::Both, config, echo);
    let session = Session::open_for(peer, Role::Evaluator, &config, facts);
    // It got through the handshake, and heard the end of it instead of a set-up.
    assert_eq!(session.map(drop), Err(Fault::PeerAborted));
    let said = refusal(honest.join().expect("no panic").expect_err("refused"));
    assert!(said.contains("takes too much") && said.contains("agrees to be refused"), "{said}");
}
