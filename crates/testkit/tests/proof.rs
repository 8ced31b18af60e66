//! A proof that the checks ran opens outputs of the state it was made in, and of no other.

use std::marker::PhantomData;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use cenote_circuit::Gates;
use cenote_engine::{Fault, Party, Receivers, Role, Wire};
use cenote_prim::{Prg, SessionId};
use cenote_testkit::run_pair;

/// Time that the peer has to hear of a fault.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Whether a type is [`Clone`]: the inherent constant shadows that of the trait.
struct IsClone<T>(PhantomData<T>);

trait Otherwise {
    const ANSWER: bool = false;
}

impl<T> Otherwise for IsClone<T> {}

impl<T: Clone> IsClone<T> {
    const ANSWER: bool = true;
}

#[test]
fn whether_a_type_can_be_cloned_is_found_out() {
    let found = [IsClone::<Wire>::ANSWER, IsClone::<std::sync::Mutex<u8>>::ANSWER];
    assert_eq!(found, [true, false]);
}

/// The tests for the backend in the module `wrk` or `jimu`, which has `Session`, `Member` and
/// `Checked`, and the functions `open` and `member`.
macro_rules! proofs {
    () => {
        /// Returns the faults that `step` gives on both sides, with a party whose two wires are
        /// inputs of the garbler.
        fn both(
            ands: u64,
            step: impl Fn(&mut Member<'_>, &[Wire]) -> Result<(), Fault> + Sync,
        ) -> [Fault; 2] {
            let run = |channel, role| {
                let mut session = open(channel, 3, role, ands)?;
                let mut party = member(&mut session);
                let bits = (role == Role::Garbler).then_some(&[true, false][..]);
                let wires = party.input(Role::Garbler, 2, bits)?;
                step(&mut party, &wires)
            };
            let (garbler, evaluator) = run_pair(run);
            [garbler, evaluator].map(|end| end.expect_err("refused"))
        }

        #[test]
        fn it_is_used_up() {
            let copies = IsClone::<Checked>::ANSWER;
            assert!(!copies);
        }

        #[test]
        fn a_gate_makes_an_earlier_proof_void() {
            let ends = both(1, |party, wires| {
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
            let ends = both(20_000, |party, wires| {
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
        fn a_proof_is_used_in_the_request_it_was_made_in() {
            let run = |channel, role| {
                let mut session = open(channel, 4, role, 1)?;
                let proof = {
                    let mut party = member(&mut session);
                    let _as_many_gates = party.constant(true)?;
                    party.check()?
                };
                let mut party = member(&mut session);
                let bit = party.constant(true)?;
                let _checked_again = party.check()?;
                party.open(proof, Receivers::Both, &[bit]).map(drop)
            };
            let (garbler, evaluator) = run_pair(run);
            assert!(matches!(garbler, Err(Fault::Misuse(_))), "{garbler:?}");
            assert!(evaluator.is_err());
        }

        #[test]
        fn a_proof_is_used_in_the_session_it_was_made_in() {
            let make = |channel, role| {
                let mut session = open(channel, 6, role, 1)?;
                let proof = member(&mut session).check()?;
                session.channel().close();
                Ok::<_, Fault>(proof)
            };
            let (garbler, evaluator) = run_pair(make);
            let proofs = Mutex::new([garbler.ok(), evaluator.ok()]);
            let run = |channel, role| {
                let proof = proofs.lock().expect("no panic")[role as usize].take();
                let mut session = open(channel, 7, role, 1)?;
                let mut party = member(&mut session);
                let _own = party.check()?;
                party.open(proof.expect("made"), Receivers::Both, &[]).map(drop)
            };
            let (garbler, evaluator) = run_pair(run);
            let misused = |end: &Result<(), Fault>| matches!(end, Err(Fault::Misuse(_)));
            assert!(misused(&garbler) || misused(&evaluator), "{garbler:?}, {evaluator:?}");
            assert!(garbler.is_err() && evaluator.is_err());
        }

        #[test]
        fn nothing_follows_a_fault_and_the_peer_hears_of_it_at_once() {
            let (heard, hears) = mpsc::channel();
            let hears = Mutex::new(hears);
            let run = |channel, role| {
                let mut session = open(channel, 5, role, 1)?;
                let foreign = member(&mut session).constant(true)?;
                let mut party = member(&mut session);
                if role == Role::Evaluator {
                    let ended = party.input(Role::Garbler, 1, None).map(drop);
                    heard.send(ended).expect("the garbler waits");
                    return party.check().map(drop);
                }
                let own = party.constant(true)?;
                assert!(matches!(party.and(&own, &foreign), Err(Fault::Misuse(_))));
                // A gate needs no channel until its chunk is full.
                assert!(matches!(party.and(&own, &own), Err(Fault::Misuse(_))));
                // The session is still there, with whoever goes on after a fault.
                let ended = hears.lock().expect("no panic").recv_timeout(TIMEOUT);
                assert_eq!(ended, Ok(Err(Fault::PeerAborted)));
                party.check().map(drop)
            };
            let (garbler, evaluator) = run_pair(run);
            assert!(garbler.is_err() && evaluator.is_err());
        }
    };
}

mod wrk {
    use super::*;
    use cenote_engine::backends::wrk::{Checked, WrkParty as Member, WrkSession as Session};
    use cenote_engine::backends::{Live, Protocol};
    use cenote_engine::{PoolChoice, Rho, WrkParams};
    use cenote_net::Channel;

    fn open(channel: Channel, number: u8, role: Role, ands: u64) -> Result<Session, Fault> {
        let params = WrkParams::derive(PoolChoice::OneShot(ands), Rho::Bits40)?;
        Session::open(channel, SessionId([number; 32]), role, params, Prg::from_os)
    }

    fn member(session: &mut Session) -> Member<'_> {
        session.party()
    }

    proofs!();
}

mod jimu {
    use super::*;
    use cenote_engine::backends::jimu::{Checked, JimuParty as Member, JimuSession as Session};
    use cenote_engine::backends::{Live, Protocol};
    use cenote_engine::{JimuParams, JimuSwitches, PoolChoice, Rho};
    use cenote_net::Channel;

    fn open(channel: Channel, number: u8, role: Role, ands: u64) -> Result<Session, Fault> {
        let pool = PoolChoice::Kept(ands.max(100));
        let params = JimuParams::derive(pool, Rho::Bits40, JimuSwitches::DEFAULT)?;
        Session::open(channel, SessionId([number; 32]), role, params, Prg::from_os)
    }

    fn member(session: &mut Session) -> Member<'_> {
        session.party()
    }

    proofs!();

    /// A core of a multiplexer counts as gates do.
    #[test]
    fn a_multiplexer_makes_an_earlier_proof_void() {
        let ends = both(1, |party, wires| {
            let proof = party.check()?;
            let [yes, no] = [0, 1].map(|i: usize| vec![wires[i].clone(); 8]);
            let chosen = party.mux_many(&wires[0], &yes, &no)?;
            party.open(proof, Receivers::Both, &chosen).map(drop)
        });
        assert!(ends.iter().any(|end| matches!(end, Fault::Misuse(_))), "{ends:?}");
    }
}
