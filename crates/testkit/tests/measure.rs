//! Code that serves measurements alone must leave a session as it was.

use cenote_circuit::{Clear, Gates, Program, Signature};
use cenote_engine::{Backend, Fault, Receivers, Role};
use cenote_net::Phase;
use cenote_testkit::run::{expected, run_program, sessions, smallest};

/// Items of the pools of the smallest session.
const POOL: usize = 400;

struct Mux;

impl Program for Mux {
    fn name(&self) -> String {
        "mux".into()
    }

    fn signature(&self) -> Signature {
        Signature::new()
            .input("x", 9, Some(Role::Garbler))
            .input("y", 8, Some(Role::Evaluator))
            .output("z", 8, None)
    }

    fn run<G: Gates>(
        &self,
        g: &mut G,
        inputs: &[Vec<G::Wire>],
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        let (select, x) = inputs[0].split_first().expect("nine bits");
        Ok(vec![g.mux_many(select, x, &inputs[1])?])
    }
}

#[test]
fn a_rehearsal_is_charged_by_phase_and_takes_nothing() {
    let inputs = [vec![true, false, true, true, false, false, true, false, true], vec![true; 8]];
    let right = Clear::eval(&Mux, &inputs);
    let (garbler, evaluator) = sessions(&smallest(Backend::Jimu), 1, |session, role| {
        assert_eq!(session.measure(|cores| cores.stored_bytes(8))?, 0, "nothing is filled");
        session.measure(|cores| cores.fill_pool(8))?;
        let row = 16 * (9 * 8 + 2 * 17 + 1);
        let each = if role == Role::Garbler { 16 } else { 16 + row };
        let stored =
            session.measure(|cores| Ok((cores.stored_bytes(8)?, cores.stored_bytes(1)?)))?;
        assert_eq!(stored, (each * POOL, 0));
        for items in [POOL, 1, 37] {
            let before = session.counters();
            session.measure(|cores| cores.rehearse(8, items))?;
            let cost = session.counters().since(&before);
            let (made, checked) = (cost.phase(Phase::Preprocess), cost.phase(Phase::Online));
            // Three labels a lane; an opening of 64 bytes for each wire of each item, and none spared.
            let [made, checked] =
                [made, checked].map(|t| (t.bytes_sent + t.bytes_received) as usize);
            assert!(made > items * 8 * 144 && checked >= items * 17 * 64, "{items}");
        }
        let said = run_program(session, &Mux, &inputs, Receivers::Both)?;
        assert_eq!(said, expected(&right, Receivers::Both, role));
        assert_eq!(session.measure(|cores| cores.stored_bytes(8))?, each * POOL);
        Ok(())
    });
    assert_eq!((garbler, evaluator), (Ok(()), Ok(())));
}

#[test]
fn pools_that_are_not_there_are_misuse() {
    let refused = |backend, step: fn(&mut cenote_engine::Session) -> Result<(), Fault>| {
        let both = sessions(&smallest(backend), 2, |session, _| {
            assert!(matches!(step(session), Err(Fault::Misuse(_))));
            Ok(())
        });
        assert_eq!(both, (Ok(()), Ok(())));
    };
    refused(Backend::Wrk, |session| session.measure(|cores| cores.fill_pool(1)));
    refused(Backend::Yao, |session| session.measure(|cores| cores.rehearse(1, 1)));
    refused(Backend::Jimu, |session| session.measure(|cores| cores.fill_pool(7)));
    refused(Backend::Jimu, |session| session.measure(|cores| cores.stored_bytes(7)).map(drop));
    refused(Backend::Jimu, |session| session.measure(|cores| cores.rehearse(8, POOL + 1)));
}
