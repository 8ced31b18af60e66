//! Both sides of a session with a look at what they keep to themselves.

mod beside;
mod delta;
mod flips;
mod hiding;
mod kept;
mod recovery;
mod sums;

use std::time::Duration;

use cenote_net::{Channel, Fault, Role, mem_pair};
use cenote_prim::{Block, Prg, SessionId};

use super::{JimuParams, JimuSwitches, evaluator, garbler};
use crate::options::{PoolChoice, Rho};

/// Parameters of small pools.
fn params(pool: u64, rho: Rho, compact: bool) -> JimuParams {
    let switches = JimuSwitches { compact, ..JimuSwitches::DEFAULT };
    JimuParams::derive(PoolChoice::Kept(pool), rho, switches).expect("sound")
}

/// Runs both supplies; whoever fails ends the session.
fn supplies<G: Send, E: Send>(
    (mut own, mut other): (Channel, Channel),
    params: &JimuParams,
    seed: u128,
    garble: impl FnOnce(&mut Channel, &mut garbler::Depot) -> Result<G, Fault> + Send,
    evaluate: impl FnOnce(&mut Channel, &mut evaluator::Depot) -> Result<E, Fault> + Send,
) -> (Result<G, Fault>, Result<E, Fault>) {
    let prg = |role: Role| Prg::new(Block::new(seed << 1 | role as u128));
    let session = SessionId([6; 32]);
    std::thread::scope(|scope| {
        let garbler = scope.spawn(move || {
            let prg = prg(Role::Garbler);
            garbler::Supply::setup(&mut own, session, params.clone(), prg, None)
                .and_then(|supply| {
                    garble(&mut own, &mut garbler::Depot::new(params.clone(), supply))
                })
                .and_then(|made| own.flush().map(|()| made))
                .inspect_err(|_| own.abort())
        });
        let evaluated = evaluator::Supply::setup(
            &mut other,
            session,
            params.clone(),
            prg(Role::Evaluator),
            None,
        )
        .and_then(|supply| evaluate(&mut other, &mut evaluator::Depot::new(params.clone(), supply)))
        .and_then(|made| other.flush().map(|()| made))
        .inspect_err(|_| other.abort());
        (garbler.join().expect("no panic"), evaluated)
    })
}

/// A connection whose ends are patient with a busy machine.
fn channels() -> (Channel, Channel) {
    let (mut a, mut b) = mem_pair();
    for channel in [&mut a, &mut b] {
        channel.set_work_limit(Duration::from_secs(60));
    }
    (a, b)
}
