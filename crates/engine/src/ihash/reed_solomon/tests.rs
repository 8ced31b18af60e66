use cenote_pool::params::{Code as Lengths, HashCodes};
use cenote_prim::Prg;

use super::*;
use crate::Rho;
use crate::ihash::{HashReceiver, HashSender, Label, Message, Tag, pair};

/// Both ends with these codes and a watch set drawn here.
pub(super) fn pair_of(codes: &HashCodes, seed: Block) -> (ReedSolomonSender, ReedSolomonReceiver) {
    let mut prg = Prg::new(seed);
    let session = SessionId(prg.bytes32());
    let mut draw = |lengths: &Lengths| {
        let mut seeds = vec![Block::ZERO; lengths.n as usize];
        prg.fill(&mut seeds);
        let mut order: Vec<(u128, u8)> =
            (0..lengths.n as u8).map(|place| (prg.block().to_u128(), place)).collect();
        order.sort_unstable();
        let mut positions: Vec<u8> =
            order[..lengths.w as usize].iter().map(|(_, place)| *place).collect();
        positions.sort_unstable();
        let known: Vec<Block> = positions.iter().map(|place| seeds[*place as usize]).collect();
        (seeds, positions, known)
    };
    let (labels, perms) = (draw(&codes.labels), draw(&codes.perms));
    let sender = ReedSolomonSender::new(codes, session, &labels.0, &perms.0);
    let watch = [&labels, &perms].map(|(_, positions, seeds)| Watch { positions, seeds });
    let receiver = ReedSolomonReceiver::new(codes, session, watch[0], watch[1], &mut prg);
    (sender, receiver)
}

const RHOS: [Rho; 3] = [Rho::Bits40, Rho::Bits64, Rho::Bits80];

fn hash(
    sender: &mut ReedSolomonSender,
    receiver: &mut ReedSolomonReceiver,
    lanes: usize,
) -> (Vec<Message>, Vec<Tag>) {
    let (mut messages, mut corrections, mut tags) = (Vec::new(), Vec::new(), Vec::new());
    let first = sender.hash(lanes, &mut messages, &mut corrections);
    assert_eq!(corrections.len(), receiver.corrections_len(lanes));
    assert_eq!(receiver.hash(lanes, &corrections, &mut tags).expect("honest"), first);
    (messages, tags)
}

fn finish(
    sender: &mut ReedSolomonSender,
    receiver: &mut ReedSolomonReceiver,
    coin: Block,
) -> Result<(), Fault> {
    let mut corrections = Vec::new();
    sender.close(&mut corrections);
    receiver.close(&corrections).expect("honest");
    let answer = sender.answer(coin);
    assert_eq!(answer.len(), receiver.answer_len());
    receiver.check(coin, &answer)
}

#[test]
fn honest_parties_agree_in_every_batch() {
    for rho in RHOS {
        let (mut sender, mut receiver) = pair(rho, Block::new(1));
        for batch in 0..3 {
            for lanes in [64, 1088, 512, 128] {
                let (messages, tags) = hash(&mut sender, &mut receiver, lanes);
                assert!(receiver.agree(&messages, &tags));
                let mut wrong = messages.clone();
                wrong.swap(0, lanes - 1);
                assert!(!receiver.agree(&wrong, &tags));
            }
            assert_eq!(finish(&mut sender, &mut receiver, Block::new(batch)), Ok(()));
        }
    }
}

#[test]
fn input_labels_are_completed_from_their_keys() {
    for rho in RHOS {
        for flip in [false, true] {
            let (mut sender, mut receiver) = pair(rho, Block::new(2));
            hash(&mut sender, &mut receiver, 64);
            receiver.keep_watched();
            let (mut messages, _) = hash(&mut sender, &mut receiver, 640);
            messages.extend(hash(&mut sender, &mut receiver, 64).0);
            let offset = if flip { messages[5].label ^ Label::one() } else { messages[5].label };
            let tag = receiver.set_offset(64 + 5, flip);
            assert!(receiver.labels_agree(&offset, tag));
            let bits: Vec<bool> = (0..700).map(|i| i % 3 == 0).collect();
            let labels: Vec<Label> = messages[3..]
                .iter()
                .zip(&bits)
                .map(|(message, bit)| message.label ^ offset.times(*bit))
                .collect();
            let keys: Vec<Block> = labels.iter().map(Label::key).collect();
            let found = receiver.complete(67, &keys, &bits);
            assert!(found.iter().zip(&labels).all(|(a, b)| a.0 == b.0));
        }
    }
}
