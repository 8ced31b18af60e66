//! The conformance suite for every backend, and what those alone refuse whose wires end with their request.

macro_rules! suites {
    ($($name:ident)*) => {
        $(mod $name {
            cenote_testkit::conformance!(cenote_testkit::run::config(stringify!($name)).backend);
        })*
    };
}

cenote_testkit::for_each_backend!(suites);

mod wires_of_jimu {
    use cenote_circuit::Gates;
    use cenote_engine::backends::jimu::{JimuParty, JimuSession};
    use cenote_engine::backends::{Live, Protocol};
    use cenote_engine::{Fault, JimuParams, JimuSwitches, Party, PoolChoice, Receivers, Rho, Wire};
    use cenote_prim::SessionId;
    use cenote_testkit::run::prg_of;

    type Use = fn(&mut JimuParty<'_>, &Wire, &Wire) -> Result<(), Fault>;

    /// Everything that takes wires.
    const USES: [Use; 5] = [
        |party, own, old| party.and(own, old).map(drop),
        |party, own, old| party.xor(old, own).map(drop),
        |party, _, old| party.not(old).map(drop),
        // A core, with the old wire as select and among the data.
        |party, own, old| {
            party.mux_many(old, &vec![own.clone(); 8], &vec![own.clone(); 8]).map(drop)
        },
        |party, own, old| {
            let mut lanes = vec![own.clone(); 8];
            lanes[7] = old.clone();
            party.mux_many(own, &lanes, &vec![own.clone(); 8]).map(drop)
        },
    ];

    #[test]
    fn a_wire_of_another_request_is_refused() {
        let (garbler, evaluator) = cenote_testkit::run_pair(|channel, role| {
            let params =
                JimuParams::derive(PoolChoice::Kept(100), Rho::Bits40, JimuSwitches::DEFAULT)?;
            let prg = prg_of(role, 1);
            let mut session = JimuSession::open(channel, SessionId([1; 32]), role, params, || prg)?;
            let old = session.party().constant(true)?;
            for (i, use_old) in USES.iter().enumerate() {
                let mut party = session.party();
                let own = party.constant(true)?;
                let refused = use_old(&mut party, &own, &old);
                assert!(matches!(refused, Err(Fault::Misuse(_))), "use {i}: {refused:?}");
            }
            let opened = session.party().reveal(Receivers::Both, &[old]);
            assert!(matches!(opened, Err(Fault::Misuse(_))), "{opened:?}");
            session.channel().close();
            Ok::<_, Fault>(())
        });
        assert_eq!((garbler, evaluator), (Ok(()), Ok(())));
    }
}

mod wires_of_wrk {
    use cenote_circuit::Gates;
    use cenote_engine::backends::wrk::WrkSession;
    use cenote_engine::backends::{Live, Protocol};
    use cenote_engine::{Fault, Party, PoolChoice, Receivers, Rho, WrkParams};
    use cenote_prim::SessionId;
    use cenote_testkit::run::prg_of;

    #[test]
    fn a_wire_of_another_request_is_refused() {
        let (garbler, evaluator) = cenote_testkit::run_pair(|channel, role| {
            let params = WrkParams::derive(PoolChoice::OneShot(1), Rho::Bits40)?;
            let prg = prg_of(role, 1);
            let mut session = WrkSession::open(channel, SessionId([1; 32]), role, params, || prg)?;
            let old = session.party().constant(true)?;
            let mut party = session.party();
            let own = party.constant(true)?;
            assert!(matches!(party.and(&own, &old), Err(Fault::Misuse(_))));
            let opened = party.reveal(Receivers::Both, &[old]);
            assert!(matches!(opened, Err(Fault::Misuse(_))), "{opened:?}");
            session.channel().close();
            Ok::<_, Fault>(())
        });
        assert_eq!((garbler, evaluator), (Ok(()), Ok(())));
    }
}
