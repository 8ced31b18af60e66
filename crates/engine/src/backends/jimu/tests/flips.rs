//! Bits of a stored pool that flip, wherever they lie: seen before the item is used.

use cenote_net::{Channel, Fault, Phase};
use cenote_prim::{Block, Prg};

use super::{channels, params, supplies};
use crate::backends::jimu::store::Location;
use crate::backends::jimu::{evaluator, garbler};
use crate::options::Rho;

/// Refills in which an item would have been drawn by far: each batch draws two of three slots.
const REFILLS: usize = 30;
/// The pools of ANDs and of a wider core. Pools of cores are in the order of their widths; the last is that of eight ANDs.
const POOLS: [usize; 2] = [0, 4];

fn garbler_refills(
    channel: &mut Channel,
    depot: &mut garbler::Depot,
    at: usize,
) -> Result<(), Fault> {
    depot.supply()?.refill(channel, at, Phase::Preprocess)
}

fn evaluator_refills(
    channel: &mut Channel,
    depot: &mut evaluator::Depot,
    at: usize,
) -> Result<(), Fault> {
    depot.supply()?.refill(channel, at, Phase::Preprocess)
}

/// Which side's memory changes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Side {
    Garbler,
    Evaluator,
    Neither,
}

/// Fills a pool, flips one bit of one item, and refills until a side gives up or all went well.
fn flipped(
    (side, at): (Side, usize),
    (location, slot, bit): (Location, usize, usize),
    refills: usize,
    compact: bool,
) -> [Result<(), Fault>; 2] {
    let params = params(100, Rho::Bits40, compact);
    let (garbler, evaluator) = supplies(
        channels(),
        &params,
        bit as u128 >> 1 ^ slot as u128,
        |channel, depot| {
            garbler_refills(channel, depot, at)?;
            if side == Side::Garbler {
                depot.supply()?.flip(at, slot, location, bit);
            }
            (0..refills).try_for_each(|_| garbler_refills(channel, depot, at))
        },
        |channel, depot| {
            evaluator_refills(channel, depot, at)?;
            if side == Side::Evaluator {
                depot.supply()?.flip(at, slot, location, bit);
            }
            (0..refills).try_for_each(|_| evaluator_refills(channel, depot, at))
        },
    );
    [garbler, evaluator]
}

/// Slots and bits, the first and the last of each location among them.
fn choices(count: usize, seed: u128) -> Vec<(usize, usize)> {
    let mut prg = Prg::new(Block::new(seed));
    let mut word = || prg.block().to_u128() as usize >> 1;
    let random = (0..count).map(|_| (word() % 100, word()));
    [(0, 0), (99, usize::MAX)].into_iter().chain(random).collect()
}

#[test]
fn nothing_happens_where_nothing_flips() {
    for at in POOLS {
        let ends = flipped((Side::Neither, at), (Location::Seal, 0, 0), 3, false);
        assert_eq!(ends, [Ok(()), Ok(())]);
    }
}

#[test]
fn a_bit_of_a_stored_item_of_the_evaluator_flips() {
    for (i, at) in POOLS.into_iter().enumerate() {
        for location in Location::ALL {
            for (slot, bit) in choices(2 - i.min(2), location as u128) {
                let [garbler, evaluator] =
                    flipped((Side::Evaluator, at), (location, slot, bit), REFILLS, false);
                let what = format!("{location:?} of slot {slot}, bit {bit}");
                assert!(matches!(evaluator, Err(Fault::Internal(_))), "{what}: {evaluator:?}");
                assert_eq!(garbler, Err(Fault::PeerAborted), "{what}");
            }
        }
    }
}

#[test]
fn a_bit_of_a_stored_item_of_the_garbler_flips() {
    for at in POOLS {
        // All that it stores is a number in the place of a row, and its seal.
        for location in [Location::Place, Location::Seal] {
            for (slot, bit) in choices(1, location as u128) {
                let [garbler, evaluator] =
                    flipped((Side::Garbler, at), (location, slot, bit), REFILLS, false);
                let what = format!("{location:?} of slot {slot}, bit {bit}");
                assert!(matches!(garbler, Err(Fault::Internal(_))), "{what}: {garbler:?}");
                assert_eq!(evaluator, Err(Fault::PeerAborted), "{what}");
            }
        }
    }
}

/// In compact storage nothing is sealed: the evaluator's root sees another item, its own root a
/// bit that flipped in itself.
#[test]
fn a_bit_of_a_compact_pool_flips() {
    for side in [Side::Garbler, Side::Evaluator] {
        for (slot, bit) in choices(2, 9) {
            let ends = flipped((side, 0), (Location::Place, slot, bit), REFILLS, true);
            let seen = [Err(Fault::PeerAborted), Err(Fault::Misbehaved("jimu.merkle"))];
            assert_eq!(ends, seen, "{side:?}: slot {slot}, bit {bit}");
        }
    }
}
