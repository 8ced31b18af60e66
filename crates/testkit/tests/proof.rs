//! A proof that the checks ran opens outputs of the state it was made in, and of no other.

use cenote_circuit::Gates;
use cenote_engine::backends::wrk::{WrkParty, WrkSession};
use cenote_engine::{Fault, Party, PoolChoice, Receivers, Rho, Role, Wire, WrkParams};
use cenote_prim::{Prg, SessionId};
use cenote_testkit::run_pair;

/// What `step` gives on both sides, with a party whose two wires are inputs of the garbler.
fn both(step: impl Fn(&mut WrkParty<'_>, &[Wire]) -> Result<(), Fault> + Sync) -> [Fault; 2] {
    let run = |channel, role| {
        let params = WrkParams::derive(PoolChoice::OneShot(20_000), Rho::Bits40)?;
        let mut session =
            WrkSession::open(channel, SessionId([3; 32]), role, params, Prg::from_os())?;
        let mut party = session.party();
        let bits = (role == Role::Garbler).then_some(&[true, false][..]);
        let wires = party.input(Role::Garbler, 2, bits)?;
        step(&mut party, &wires)
    };
    let (garbler, evaluator) = run_pair(run);
    [garbler, evaluator].map(|end| end.expect_err("refused"))
}

#[test]
fn a_gate_makes_an_earlier_proof_void() {
    let ends = both(|party, wires| {
        let proof = party.check()?;
        let product = party.and(&wires[0], &wires[1])?;
        party.open(proof, Receivers::Both, &[product]).map(drop)
    });
    assert!(
        ends.iter().all(|end| matches!(end, Fault::Misuse(_) | Fault::PeerAborted)),
        "{ends:?}"
    );
    assert!(ends.iter().any(|end| matches!(end, Fault::Misuse(_))));
}

#[test]
fn a_chunk_in_flight_makes_an_earlier_proof_void() {
    // A full chunk leaves the recorder empty, and its check is outstanding.
    let ends = both(|party, wires| {
        let proof = party.check()?;
        let mut product = wires[0].clone();
        for _ in 0..=16 << 10 {
            product = party.and(&product, &wires[1])?;
        }
        party.open(proof, Receivers::Both, &[product]).map(drop)
    });
    assert!(ends.iter().any(|end| matches!(end, Fault::Misuse(_))), "{ends:?}");
}

#[test]
fn a_proof_is_used_where_it_was_made() {
    let run = |channel, role| {
        let params = WrkParams::derive(PoolChoice::OneShot(1), Rho::Bits40)?;
        let mut session =
            WrkSession::open(channel, SessionId([4; 32]), role, params, Prg::from_os())?;
        let proof = session.party().check()?;
        let mut party = session.party();
        let bit = party.constant(true)?;
        let _checked_again = party.check()?;
        party.open(proof, Receivers::Both, &[bit]).map(drop)
    };
    let (garbler, evaluator) = run_pair(run);
    assert!(matches!(garbler, Err(Fault::Misuse(_))), "{garbler:?}");
    assert!(evaluator.is_err());
}

#[test]
fn a_foreign_wire_ends_the_session() {
    let run = |channel, role| {
        let params = WrkParams::derive(PoolChoice::OneShot(1), Rho::Bits40)?;
        let mut session =
            WrkSession::open(channel, SessionId([5; 32]), role, params, Prg::from_os())?;
        let foreign = session.party().constant(true)?;
        let mut party = session.party();
        let own = party.constant(true)?;
        assert!(matches!(party.and(&own, &foreign), Err(Fault::Misuse(_))));
        party.check().map(drop)
    };
    let (garbler, evaluator) = run_pair(run);
    assert!(garbler.is_err() && evaluator.is_err());
}
