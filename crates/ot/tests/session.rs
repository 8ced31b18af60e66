//! Two parties over a channel.

use std::thread;

use cenote_net::{Channel, Fault, mem_pair};
use cenote_ot::{COLUMN_CHECK, CotReceiver, CotSender, Params, SenderSetup, setup_len};
use cenote_prim::{Block, Prg, SessionId};

const SESSION: SessionId = SessionId([9; 32]);

fn delta() -> Block {
    Prg::new(Block::new(44)).block().with_lsb(true)
}

fn both<A: Send, B>(
    a: impl FnOnce(&mut Channel) -> A + Send,
    b: impl FnOnce(&mut Channel) -> B,
) -> (A, B) {
    let (mut ca, mut cb) = mem_pair();
    thread::scope(|scope| {
        let a = scope.spawn(move || a(&mut ca));
        let b = b(&mut cb);
        (a.join().expect("no panic"), b)
    })
}

fn sender(ch: &mut Channel, instance: u64, params: Params, seed: u128) -> Result<CotSender, Fault> {
    CotSender::setup(ch, &SESSION, instance, params, delta(), &mut Prg::new(Block::new(seed)))
}

fn receiver(
    ch: &mut Channel,
    instance: u64,
    params: Params,
    seed: u128,
) -> Result<CotReceiver, Fault> {
    CotReceiver::setup(ch, &SESSION, instance, params, &mut Prg::new(Block::new(seed)))
}

#[test]
fn a_session_of_every_digit_size() {
    for k in [1, 2, 4, 8] {
        let params = Params::new(k, 1024).unwrap();
        let (sent, received) = both(
            |ch| {
                let mut cot = sender(ch, 0, params, 1)?;
                let mut keys = vec![Block::ZERO; 128 * 17];
                cot.extend(ch, &mut keys)?;
                cot.extend(ch, &mut keys[..256])?;
                Ok::<_, Fault>((keys, cot.hash_start(), cot.hash_start(), ch.counters().total()))
            },
            |ch| {
                let mut cot = receiver(ch, 0, params, 2)?;
                let mut macs = vec![Block::ZERO; 128 * 17];
                cot.extend(ch, &mut macs)?;
                cot.extend(ch, &mut macs[..256])?;
                Ok::<_, Fault>((macs, cot.hash_start(), cot.hash_start(), ch.counters().total()))
            },
        );
        let ((keys, a, b, traffic), (macs, c, d, _)) = (sent.unwrap(), received.unwrap());
        for (k, m) in keys.iter().zip(&macs) {
            assert_eq!((*k, k.lsb()), (*m ^ delta().times(m.lsb()), false));
        }
        assert_eq!((a, b), (c, d));
        assert_ne!(a, b);
        // Frames: base points, base point, trees, chunks of 1024, 1024, 128 and 256.
        let chunks = [1024, 1024, 128, 256].map(|n| cenote_ot::message_len(params, n));
        let (from_sender, from_receiver) = setup_len(params);
        assert_eq!(traffic.bytes_sent as usize, from_sender + 5);
        assert_eq!(
            traffic.bytes_received as usize,
            from_receiver + chunks.iter().sum::<usize>() + 6 * 5
        );
        let n_c = 128 / k;
        assert_eq!(from_receiver, 32 + n_c * (32 * k + 32) + 32);
        assert_eq!(chunks[2], 16 * (n_c - 1) * 2 + 2064);
    }
}

#[test]
fn two_directions_at_once_do_not_block() {
    let params = Params::default();
    let run = |first: bool| {
        move |ch: &mut Channel| -> Result<(Vec<Block>, Vec<Block>), Fault> {
            let (mut s, mut r);
            if first {
                s = sender(ch, 0, params, 1)?;
                r = receiver(ch, 1, params, 1)?;
            } else {
                r = receiver(ch, 0, params, 2)?;
                s = sender(ch, 1, params, 2)?;
            }
            let (mut keys, mut macs) = (vec![Block::ZERO; 1 << 17], vec![Block::ZERO; 1 << 17]);
            // Both send half a megabyte before either reads.
            r.extend(ch, &mut macs)?;
            s.extend(ch, &mut keys)?;
            Ok((keys, macs))
        }
    };
    let (a, b) = both(run(true), run(false));
    let ((ka, ma), (kb, mb)) = (a.unwrap(), b.unwrap());
    for (keys, macs) in [(ka, mb), (kb, ma)] {
        assert!(keys.iter().zip(&macs).all(|(k, m)| *k == *m ^ delta().times(m.lsb())));
    }
}

#[test]
fn parties_that_disagree_fail() {
    let (a, b) = (Params::new(4, 1024).unwrap(), Params::new(4, 2048).unwrap());
    for (instance, params) in [(1, a), (0, b)] {
        let (sent, _) =
            both(|ch| sender(ch, 0, a, 1).err(), |ch| receiver(ch, instance, params, 2).err());
        assert!(matches!(sent, Some(Fault::Misbehaved(_))));
    }
}

#[test]
fn a_batch_that_the_parties_cut_differently_fails() {
    let params = Params::default();
    let (sent, _) = both(
        |ch| sender(ch, 0, params, 1)?.extend(ch, &mut vec![Block::ZERO; 1024]),
        |ch| receiver(ch, 0, params, 2)?.extend(ch, &mut vec![Block::ZERO; 2048]),
    );
    assert!(matches!(sent, Err(Fault::Misbehaved(_))));
}

#[test]
fn delta_must_be_odd() {
    let even = delta().with_lsb(false);
    let setup = SenderSetup::new(&SESSION, 0, Params::default(), even, &mut Prg::new(Block::ONE));
    assert!(matches!(setup, Err(Fault::Misuse(_))));
    assert_eq!(COLUMN_CHECK, "ot.softspoken.columns");
}
