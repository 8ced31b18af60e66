//! Wires hashed once more, from the corrections of the first time.

use cenote_net::Fault;
use cenote_prim::Block;

use crate::Rho;
use crate::backends::jimu::ihash::{HashReceiver, HashSender, LANES, Message, Tag, pair};

const RHOS: [Rho; 3] = [Rho::Bits40, Rho::Bits64, Rho::Bits80];

/// Starts all over the first `wires` wires, pieces of `width` that overlap here and there.
fn starts(count: usize, width: usize, wires: usize) -> Vec<u64> {
    (0..count).map(|i| (i * i * 37 % (wires - width + 1)) as u64).collect()
}

#[test]
fn scattered_wires_have_the_messages_corrections_and_tags_of_the_first_time() {
    for rho in RHOS {
        let (mut sender, mut receiver) = pair(rho, Block::new(31));
        let (mut messages, mut corrections, mut tags) = (Vec::new(), Vec::new(), Vec::new());
        let wires = 1600;
        sender.hash(wires, &mut messages, &mut corrections);
        receiver.hash(wires, &corrections, &mut tags).expect("honest");
        let planes = corrections.len() / wires;
        for (count, width) in
            [(0, 3), (1, 3), (70, 1), (342, 3), (400, 3), (31, 17), (5, 129), (2, 1300), (4, 0)]
        {
            let starts = starts(count, width, wires);
            let lanes = (count * width).next_multiple_of(LANES) + (count % 2) * LANES;
            let (mut found, mut sent, mut held) = (Vec::new(), vec![7], Vec::new());
            sender.again_with_corrections(&starts, width, lanes, &mut found, &mut sent);
            assert_eq!(sent.len(), 1 + sender.corrections_len(lanes));
            receiver.hash_again(&starts, width, lanes, &sent[1..], &mut held).expect("the same");
            assert_eq!((found.len(), held.len()), (count * width, count * width));
            for (i, (message, tag)) in found.iter().zip(&held).enumerate() {
                let wire = starts[i / width] as usize + i % width;
                assert!(same(message, &messages[wire]) && same_tag(tag, &tags[wire]));
                for plane in 0..planes {
                    let again = sent[1 + plane * lanes + i];
                    assert_eq!(again, corrections[plane * wires + wire], "plane {plane}");
                }
            }
            let rest = |plane: usize| &sent[1 + plane * lanes..][count * width..lanes];
            assert!((0..planes).all(|plane| rest(plane).iter().all(|byte| *byte == 0)));
        }
    }
}

fn same(a: &Message, b: &Message) -> bool {
    bytemuck::bytes_of(a) == bytemuck::bytes_of(b)
}

fn same_tag(a: &Tag, b: &Tag) -> bool {
    bytemuck::bytes_of(a) == bytemuck::bytes_of(b)
}

#[test]
fn what_is_malformed_or_was_never_hashed_is_refused() {
    for rho in RHOS {
        let (mut sender, mut receiver) = pair(rho, Block::new(32));
        let (mut messages, mut corrections, mut tags) = (Vec::new(), Vec::new(), Vec::new());
        sender.hash(LANES, &mut messages, &mut corrections);
        receiver.hash(LANES, &corrections, &mut tags).expect("honest");
        let mut again = |starts: &[u64], width: usize, bytes: &[u8]| {
            receiver.hash_again(starts, width, LANES, bytes, &mut tags)
        };
        let format = Err(Fault::Misbehaved("jimu.format"));
        // All lanes are used, then all but one.
        let all: Vec<u64> = (0..64).collect();
        assert_eq!(again(&all, 1, &corrections), Ok(()));
        assert_eq!(again(&all[..63], 1, &corrections), format);
        corrections.chunks_exact_mut(LANES).for_each(|plane| plane[3..].fill(0));
        assert_eq!(again(&[61], 3, &corrections), Ok(()));
        corrections[3] = 1;
        assert_eq!(again(&[61], 3, &corrections), format);
        corrections[3] = 0;
        for start in [62, 64, u64::MAX - 1, u64::MAX] {
            assert_eq!(again(&[0, start], 3, &corrections), format);
        }
        assert_eq!(again(&[0], 3, &corrections[1..]), format);
        assert_eq!(again(&[0], 3, &[&corrections[..], &[0]].concat()), format);
        if rho == Rho::Bits40 {
            // The last symbol of 23 leaves padding behind it.
            let last = corrections.len() - LANES;
            corrections[last + 1] |= 0x80;
            assert_eq!(again(&[0], 3, &corrections), format);
        }
    }
}
