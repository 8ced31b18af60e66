//! First light: one request over one session.

use cenote_circuit::Gates;
use cenote_engine::backends::wrk::WrkSession;
use cenote_engine::{Party, PoolChoice, Receivers, Rho, Role, WrkParams};
use cenote_prim::{Prg, SessionId};
use cenote_testkit::run_pair;

#[test]
fn adders_and_chains() {
    let (a, b) = run_pair(|channel, role| {
        let params = WrkParams::derive(PoolChoice::OneShot(1), Rho::Bits40).expect("sound");
        let session = SessionId([7; 32]);
        let mut session = WrkSession::open(channel, session, role, params, Prg::from_os())?;
        let mut results = Vec::new();
        for (x, y) in [(3u128, 5u128), (u128::from(u64::MAX), 1), (77, 1000)] {
            let mut party = session.party();
            let bits = |owner: Role, v: u128| {
                (owner == role).then(|| cenote_circuit::bits_of(v, 64))
            };
            let xs = party.input(Role::Garbler, 64, bits(Role::Garbler, x).as_deref())?;
            let ys = party.input(Role::Evaluator, 64, bits(Role::Evaluator, y).as_deref())?;
            let sum = cenote_circuit::gadgets::add(&mut party, &xs, &ys)?;
            let mut chain = xs[0].clone();
            for i in 0..40_000 {
                let t = party.xor(&chain, &ys[i % 64])?;
                chain = party.and(&t, &xs[i % 64])?;
                chain = party.not(&chain)?;
            }
            let mut out = sum;
            out.push(chain);
            results.push(party.reveal(Receivers::Both, &out)?);
        }
        Ok::<_, cenote_engine::Fault>(results)
    });
    let (a, b) = (a.expect("garbler"), b.expect("evaluator"));
    assert_eq!(a, b);
    for (r, (x, y)) in a.iter().zip([(3u128, 5u128), (u128::from(u64::MAX), 1), (77, 1000)]) {
        let r = r.as_ref().expect("both receive");
        assert_eq!(cenote_circuit::value_of(&r[..64]), (x + y) & u128::from(u64::MAX));
        let bit = |v: u128, i: usize| v >> i & 1 == 1;
        let mut chain = bit(x, 0);
        for i in 0..40_000 {
            chain = !((chain ^ bit(y, i % 64)) & bit(x, i % 64));
        }
        assert_eq!(r[64], chain);
    }
}
