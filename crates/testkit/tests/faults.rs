//! A fault ends a session, on both sides.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use cenote_circuit::Gates;
use cenote_engine::{Fault, Party, Role};
use cenote_prim::{Prg, SessionId};
use cenote_testkit::run_pair;

/// Time that the peer has to hear of a fault.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The test for the backend in the module `wrk` or `jimu`, which has the function `open`.
macro_rules! faults {
    () => {
        #[test]
        fn nothing_follows_a_fault_and_the_peer_hears_of_it_at_once() {
            let (heard, hears) = mpsc::channel();
            let hears = Mutex::new(hears);
            let run = |channel, role| {
                let mut session = open(channel, role)?;
                let foreign = session.party().constant(true)?;
                let mut party = session.party();
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
    use cenote_engine::backends::Protocol;
    use cenote_engine::backends::wrk::WrkSession;
    use cenote_engine::{PoolChoice, Rho, WrkParams};
    use cenote_net::Channel;

    fn open(channel: Channel, role: Role) -> Result<WrkSession, Fault> {
        let params = WrkParams::derive(PoolChoice::OneShot(1), Rho::Bits40)?;
        WrkSession::open(channel.into(), SessionId([5; 32]), role, params, Prg::from_os, None)
    }

    faults!();
}

mod jimu {
    use super::*;
    use cenote_engine::backends::Protocol;
    use cenote_engine::backends::jimu::JimuSession;
    use cenote_engine::{JimuParams, JimuSwitches, PoolChoice, Rho};
    use cenote_net::Channel;

    fn open(channel: Channel, role: Role) -> Result<JimuSession, Fault> {
        let pool = PoolChoice::Kept(100);
        let params = JimuParams::derive(pool, Rho::Bits40, JimuSwitches::DEFAULT)?;
        JimuSession::open(channel.into(), SessionId([5; 32]), role, params, Prg::from_os, None)
    }

    faults!();
}
