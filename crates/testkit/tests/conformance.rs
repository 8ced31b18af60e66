//! The conformance suite for every backend.

mod plain {
    cenote_testkit::conformance!(cenote_engine::Backend::Plain);
}

mod yao {
    cenote_testkit::conformance!(cenote_engine::Backend::Yao);
}

mod jimu {
    cenote_testkit::conformance!(cenote_engine::Backend::Jimu);
}

mod wrk {
    cenote_testkit::conformance!(cenote_engine::Backend::Wrk);

    use cenote_circuit::Gates;
    use cenote_engine::backends::wrk::WrkSession;
    use cenote_engine::{Fault, Party, PoolChoice, Receivers, Rho, WrkParams};
    use cenote_prim::SessionId;
    use cenote_testkit::run::prg_of;

    #[test]
    fn a_wire_of_another_request_is_refused() {
        let (garbler, evaluator) = cenote_testkit::run_pair(|channel, role| {
            let params = WrkParams::derive(PoolChoice::OneShot(1), Rho::Bits40)?;
            let prg = prg_of(role, 1);
            let mut session = WrkSession::open(channel, SessionId([1; 32]), role, params, prg)?;
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
