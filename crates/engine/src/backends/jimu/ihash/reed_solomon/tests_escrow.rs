//! Permutation bits read off the streams of all seeds, of batches with places that are spoiled.

use cenote_pool::params::HashCodes;
use cenote_prim::Prg;

use super::tests::{RHOS, Setup, codes};
use super::*;
use crate::backends::jimu::ihash::{HashReceiver, HashSender, LANES, Message, Statement};

/// A batch as the receiver keeps it: what it states, messages, and corrections in blocks.
struct Kept {
    statement: Statement,
    messages: Vec<Message>,
    corrections: Vec<Block>,
    stride: usize,
}

/// Hashes wires, of which `spoil` changes what the sender sends and by what, before its answer, it stands for them.
fn hash(
    (setup, codes): (&mut Setup, &HashCodes),
    wires: usize,
    coin: u128,
    spoil: impl Fn(&mut [u8]),
) -> Kept {
    let (mut messages, mut sent, mut tags) = (Vec::new(), Vec::new(), Vec::new());
    setup.sender.hash(wires, &mut messages, &mut sent);
    spoil(&mut sent);
    setup.receiver.keep_corrections();
    setup.receiver.hash(wires, &sent, &mut tags).expect("well-formed");
    let stride = ReedSolomonEscrow::correction_blocks(codes) + 1;
    let mut corrections = vec![Block::ZERO; wires * stride];
    setup.receiver.perm_corrections(wires, &sent, &mut corrections, stride, 1);
    sent.clear();
    setup.sender.close(&mut sent);
    setup.receiver.close(&sent).expect("well-formed");
    let coin = Block::new(coin);
    let answer = setup.sender.answer(coin);
    let held = setup.receiver.held(coin);
    setup.receiver.check(&held, &answer).expect("nothing is wrong where it looks");
    let statement = setup.receiver.statement(&held, &answer);
    Kept { statement, messages, corrections: corrections[1..].to_vec(), stride }
}

/// The places that are not watched of permutation messages.
fn unwatched(setup: &Setup) -> Vec<u8> {
    let list = &setup.lists[1];
    (0..list.seeds.len() as u8).filter(|place| !list.positions.contains(place)).collect()
}

/// What decodes with these seeds at the places that are not watched.
fn escrow((setup, codes): (&Setup, &HashCodes), seeds: &[Block]) -> ReedSolomonEscrow {
    let places = unwatched(setup);
    let others = Watch { positions: &places, seeds };
    ReedSolomonEscrow::new(codes, setup.lists[1].watch(), others)
}

fn seeds(setup: &Setup) -> Vec<Block> {
    unwatched(setup).iter().map(|place| setup.lists[1].seeds[usize::from(*place)]).collect()
}

/// Whether the bits of the wires from `first` on come out, by the place that is clean.
fn right(escrow: &ReedSolomonEscrow, kept: &Kept, first: usize, wires: usize) -> bool {
    let clean = escrow.clean(&kept.statement);
    assert!(clean.iter().filter(|clean| **clean).count() <= 1);
    let corrections = (&kept.corrections[first * kept.stride..], kept.stride);
    let bits = escrow.bits(kept.statement.first + first as u64, wires, corrections, &clean);
    let expected = kept.messages[first..first + wires].iter().map(|wire| wire.perm.bit());
    bits.iter().copied().eq(expected)
}

#[test]
fn all_seeds_give_the_permutation_bits() {
    for rho in RHOS {
        let (mut setup, codes) = (Setup::with(rho, 31), codes(rho));
        // Batches that begin anywhere.
        for (wires, coin) in [(640, 1), (64, 2), (1088, 3)] {
            let kept = hash((&mut setup, &codes), wires, coin, |_| ());
            let escrow = escrow((&setup, &codes), &seeds(&setup));
            assert_eq!(escrow.clean(&kept.statement).iter().position(|clean| *clean), Some(0));
            for (first, count) in [(0, wires), (0, 1), (wires - 1, 1), (7, wires - 9), (0, 0)] {
                assert!(right(&escrow, &kept, first, count), "{rho:?}: {count} from {first}");
            }
        }
    }
}

/// Every place but one that the receiver does not watch has another seed than was used.
#[test]
fn one_right_seed_is_enough() {
    for rho in RHOS {
        let (mut setup, codes) = (Setup::with(rho, 32), codes(rho));
        let kept = hash((&mut setup, &codes), 640, 1, |_| ());
        let (good, mut prg) = (seeds(&setup), Prg::new(Block::new(5)));
        for own in [0, 1, good.len() / 2, good.len() - 1] {
            let mut all = good.clone();
            prg.fill(&mut all);
            all[own] = good[own];
            let escrow = escrow((&setup, &codes), &all);
            let clean = escrow.clean(&kept.statement);
            assert_eq!(clean.iter().position(|clean| *clean), Some(own));
            assert!(right(&escrow, &kept, 0, 640));
        }
        // With none, no place is clean, and whatever comes out is not the bits.
        let mut all = good.clone();
        prg.fill(&mut all);
        let escrow = escrow((&setup, &codes), &all);
        assert!(!escrow.clean(&kept.statement).iter().any(|clean| *clean));
        assert!(!right(&escrow, &kept, 0, 640));
    }
}

/// Wrong corrections of one wire at places that are not watched, in a batch; other ones in the next.
#[test]
fn places_with_wrong_corrections_are_passed_over() {
    for rho in RHOS {
        let (mut setup, codes) = (Setup::with(rho, 33), codes(rho));
        let places = unwatched(&setup);
        let (labels, perms) = (Code::labels(&codes), Code::perms(&codes));
        let behind: Vec<usize> = places
            .iter()
            .map(|place| usize::from(*place))
            .filter(|place| *place >= perms.k)
            .collect();
        for (coin, lane) in [(1, 0), (2, 639)] {
            let spoiled = &behind[coin as usize..];
            let kept = hash((&mut setup, &codes), 640, coin, |sent| {
                let planes = &mut sent[labels.correction_planes() * 640..];
                for place in spoiled {
                    // Bit 0 of a symbol.
                    let symbol = place - perms.k;
                    let bit = if codes.perms.field_bits == 6 { 6 * symbol } else { 8 * symbol };
                    planes[bit / 8 * 640 + lane] ^= 1 << (bit % 8);
                }
            });
            let escrow = escrow((&setup, &codes), &seeds(&setup));
            // Each place by itself: those that are spoiled are not clean.
            for (own, place) in places.iter().enumerate() {
                let mut all = vec![Block::ZERO; places.len()];
                all[own] = seeds(&setup)[own];
                let escrow = self::escrow((&setup, &codes), &all);
                let clean = escrow.clean(&kept.statement).iter().any(|clean| *clean);
                assert_eq!(clean, !spoiled.contains(&usize::from(*place)), "{rho:?}: {place}");
            }
            assert!(right(&escrow, &kept, 0, 640));
        }
    }
}

/// A statement is of one batch: of its coin, and of its wires.
#[test]
fn a_statement_of_another_batch_has_no_clean_place() {
    let rho = crate::Rho::Bits40;
    let (mut setup, codes) = (Setup::with(rho, 34), codes(rho));
    let kept = hash((&mut setup, &codes), 640, 1, |_| ());
    let escrow = escrow((&setup, &codes), &seeds(&setup));
    let of = |statement: &Statement| escrow.clean(statement).iter().any(|clean| *clean);
    assert!(of(&kept.statement));
    let own = kept.statement;
    assert!(!of(&Statement { first: own.first + LANES as u64, ..own.clone() }));
    assert!(!of(&Statement { seed: own.seed ^ Block::ONE, ..own.clone() }));
    assert!(!of(&Statement { vectors: own.vectors - 1, ..own.clone() }));
    let mut other = own.clone();
    other.sums.iter_mut().for_each(|sum| *sum ^= Block::ONE);
    assert!(!of(&other));
}
