//! Both supplies over a channel: compact storage against stored pools, and garblers that send
//! again what a slot does not hold.

use std::time::Duration;

use cenote_net::{Channel, Fault, Phase, Role, mem_pair};
use cenote_prim::{Block, Prg, SessionId};

use crate::backends::jimu::depot::Supply;
use crate::backends::jimu::{JimuParams, JimuSwitches, evaluator, garbler};
use crate::options::{PoolChoice, Rho};

/// A pool of which nearly every slot is drawn by a batch, most of them several times.
const TINY: u64 = 60;

fn params(pool: u64, rho: Rho, compact: bool) -> JimuParams {
    let switches = JimuSwitches { compact, ..JimuSwitches::DEFAULT };
    JimuParams::derive(PoolChoice::Kept(pool), rho, switches).expect("sound")
}

/// Runs both sides of a supply with randomness from `seed`.
fn supplies<G: Send, E>(
    params: &JimuParams,
    seed: u128,
    garble: impl FnOnce(&mut Channel, &mut garbler::Depot) -> Result<G, Fault> + Send,
    evaluate: impl FnOnce(&mut Channel, &mut evaluator::Depot) -> Result<E, Fault>,
) -> (Result<G, Fault>, Result<E, Fault>) {
    let (mut own, mut other) = mem_pair();
    let prg = |role: Role| Prg::new(Block::new(seed << 1 | role as u128));
    std::thread::scope(|scope| {
        let garbler = scope.spawn(move || {
            own.set_work_limit(Duration::from_secs(60));
            let (session, prg) = (SessionId([5; 32]), prg(Role::Garbler));
            let supply = garbler::Supply::setup(&mut own, session, params.clone(), prg, None)?;
            let result = garble(&mut own, &mut garbler::Depot::new(params.clone(), supply));
            own.close();
            result
        });
        let run = || {
            other.set_work_limit(Duration::from_secs(60));
            let (session, prg) = (SessionId([5; 32]), prg(Role::Evaluator));
            let supply = evaluator::Supply::setup(&mut other, session, params.clone(), prg, None)?;
            evaluate(&mut other, &mut evaluator::Depot::new(params.clone(), supply))
        };
        let evaluated = run();
        other.abort();
        (garbler.join().expect("no panic"), evaluated)
    })
}

/// The pools of ANDs, of the widest and of the narrowest other cores.
const POOLS: [usize; 3] = [0, 1, 4];
const REFILLS: usize = 3;
const ESCROWED: usize = 100;

/// All that comes out of some refills of some pools: in the stocks of either side.
fn products(params: &JimuParams, seed: u128) -> (Vec<u8>, Vec<u8>) {
    let counts = |ready: &dyn Fn(usize) -> usize| -> Vec<usize> { (0..5).map(ready).collect() };
    let bytes = |blocks: &[Block]| Block::as_bytes(blocks).to_vec();
    let (garbler, evaluator) = supplies(
        params,
        seed,
        |channel, depot| {
            for at in POOLS {
                (0..REFILLS)
                    .try_for_each(|_| depot.supply()?.refill(channel, at, Phase::Preprocess))?;
            }
            let mut all = bytes(&depot.take_escrowed(channel, ESCROWED, ESCROWED)?.0);
            let counts = counts(&|at| depot.level(at));
            let mut ready = depot.ready()?;
            ready.take_cores(&counts)?.iter().for_each(|cores| all.extend(bytes(cores)));
            Ok(all)
        },
        |channel, depot| {
            for at in POOLS {
                (0..REFILLS)
                    .try_for_each(|_| depot.supply()?.refill(channel, at, Phase::Preprocess))?;
            }
            let mut all = Vec::new();
            for tag in depot.take_escrowed(channel, ESCROWED, ESCROWED)?.tags() {
                all.extend_from_slice(bytemuck::bytes_of(&tag));
            }
            let counts = counts(&|at| depot.level(at));
            let mut ready = depot.ready()?;
            let cores = ready.take_cores(&counts)?;
            cores.iter().for_each(|cores| all.extend_from_slice(Block::as_bytes(cores)));
            Ok(all)
        },
    );
    (garbler.expect("honest"), evaluator.expect("honest"))
}

#[test]
fn the_same_buckets_come_out_as_of_stored_pools() {
    for (pool, rho) in [(TINY, Rho::Bits40), (700, Rho::Bits40), (300, Rho::Bits64)] {
        let [stored, compact] =
            [false, true].map(|compact| products(&params(pool, rho, compact), 7));
        assert!(stored.0.len() > 50_000 && stored.1.len() > 100_000);
        assert!(stored == compact, "pool {pool} at {rho:?}");
        assert!(compact != products(&params(pool, rho, true), 8));
    }
}

/// Fills the pool of ANDs and refills it once; then, with the numbers that `cheat` makes of those
/// before and after the refill, once more. How it ends for the evaluator.
fn cheated(pool: u64, cheat: impl FnOnce(&[u64], &mut Vec<u64>) + Send) -> Result<usize, Fault> {
    let (_, evaluated) = supplies(
        &params(pool, Rho::Bits40, true),
        9,
        |channel, depot| {
            depot.supply()?.fill(channel, 0)?;
            let before = depot.supply()?.numbers(0);
            depot.supply()?.refill(channel, 0, Phase::Preprocess)?;
            let mut numbers = depot.supply()?.numbers(0);
            cheat(&before, &mut numbers);
            depot.supply()?.replace_numbers(0, &numbers);
            depot.supply()?.refill(channel, 0, Phase::Preprocess)
        },
        |channel, depot| {
            depot.supply()?.refill(channel, 0, Phase::Preprocess)?;
            let before = depot.level(0);
            let end = depot.supply()?.refill(channel, 0, Phase::Preprocess);
            // Nothing is soldered of what was sent again before it was found to be right.
            assert_eq!(end.is_ok(), depot.level(0) > before);
            end.map(|()| depot.level(0))
        },
    );
    evaluated
}

#[test]
fn an_item_that_a_slot_does_not_hold_is_caught() {
    const OTHER: Fault = Fault::Misbehaved("jimu.merkle");
    // Of a large pool, few slots are drawn: the lie is about one that is, or about others.
    for pool in [TINY, 3000] {
        assert!(cheated(pool, |_, _| ()).is_ok());
        for slot in [0, 1, 17, 31, pool as usize - 1] {
            // What the slot held before.
            let stale = cheated(pool, |before, now| {
                let changed = |slot: &usize| before[*slot] != now[*slot];
                let slot = (slot..now.len()).chain(0..slot).find(changed).expect("drawn");
                now[slot] = before[slot];
            });
            assert_eq!(stale, Err(OTHER));
            // A neighbour in its batch, perhaps a checked one; no item; an item of another slot.
            assert_eq!(cheated(pool, |_, now| now[slot] += 3), Err(OTHER));
            assert_eq!(cheated(pool, |_, now| now[slot] += 1), Err(OTHER));
            assert_eq!(cheated(pool, |_, now| now.swap(slot, 23)), Err(OTHER));
            assert_eq!(cheated(pool, |_, now| now[slot] = now[23]), Err(OTHER));
        }
        // A wire that was never hashed.
        assert_eq!(cheated(pool, |_, now| now[5] = u64::MAX - 1), Err(OTHER));
        assert_eq!(cheated(pool, |before, now| now.copy_from_slice(before)), Err(OTHER));
    }
}
