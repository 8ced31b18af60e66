//! Two parties over a channel.

use std::thread;

use cenote_net::{Channel, Fault, Role, mem_pair};
use cenote_ot::setup::{ReceiverSetup, SenderSetup};
use cenote_ot::softspoken::{COLUMN_CHECK, CotReceiver, CotSender, Params, message_len, setup_len};
use cenote_ot::{Choice, Duplex, base, pprf};
use cenote_prim::{Block, Prg, RandomOracle, SessionId};
use curve25519_dalek::ristretto::RistrettoPoint;
use curve25519_dalek::scalar::Scalar;

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
        // Frames: base points in eight, base point, trees, chunks of 1024, 1024, 128 and 256.
        let chunks = [1024, 1024, 128, 256].map(|n| message_len(params, n));
        let (from_sender, from_receiver) = setup_len(params);
        assert_eq!(traffic.bytes_sent as usize, from_sender + 8 * 5);
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
    let setup = SenderSetup::new(&SESSION, 0, Params::default(), even);
    assert!(matches!(setup, Err(Fault::Misuse(_))));
    assert_eq!(COLUMN_CHECK, "ot.softspoken.columns");
}

#[test]
fn a_setup_with_parts_missing_does_not_end() {
    let mut prg = Prg::new(Block::ONE);
    let mut setup = SenderSetup::new(&SESSION, 0, Params::default(), delta()).unwrap();
    (1..base::PARTS).for_each(|_| assert_eq!(setup.base().part(&mut prg).len(), base::PART_LEN));
    let trees = vec![0; pprf::message_len(Params::default())];
    assert!(matches!(setup.finish(&[0; 32], &trees), Err(Fault::Misuse(_))));
}

/// A setup on the sender's side, and its points.
fn started(instance: u64, params: Params, delta: Block, prg: &mut Prg) -> (SenderSetup, Vec<u8>) {
    let mut setup = SenderSetup::new(&SESSION, instance, params, delta).unwrap();
    (0..base::PARTS).for_each(|_| assert_eq!(setup.base().part(prg).len(), base::PART_LEN));
    let points = setup.base().sent().to_vec();
    (setup, points)
}

/// A setup on the receiver's side, with all points of the sender.
fn built(
    mut setup: ReceiverSetup,
    points: &[u8],
    prg: &mut Prg,
) -> Result<(CotReceiver, Vec<u8>), Fault> {
    points.chunks(base::PART_LEN).try_for_each(|part| setup.base().take(part))?;
    setup.finish(prg)
}

/// Changes the three messages of a setup: point, points, trees.
type Alter<'a> = &'a dyn Fn(&mut [u8], &mut Vec<u8>, &mut Vec<u8>);

/// Each message of the setup changed in one place: which check catches it.
#[test]
fn a_tampered_setup_is_caught_by_the_named_check() {
    let params = Params::new(4, 128).unwrap();
    let run = |alter: Alter<'_>| {
        let mut prg = Prg::new(Block::new(3));
        let (receiver, mut point) = ReceiverSetup::new(&SESSION, 0, params, &mut prg);
        let (sender, mut points) = started(0, params, delta(), &mut prg);
        let (mut original, mut nothing) = (points.clone(), Vec::new());
        alter(&mut point, &mut points, &mut nothing);
        let built = built(receiver, &points, &mut prg);
        let (_, mut trees) = match built {
            Ok(built) => built,
            Err(fault) => return Some(fault),
        };
        alter(&mut [0; 32], &mut original, &mut trees);
        sender.finish(&point, &trees).err()
    };
    let base = Some(Fault::Misbehaved(base::POINT_CHECK));
    let trees = Some(Fault::Misbehaved(pprf::TREE_CHECK));
    assert_eq!(run(&|_, _, _| ()), None);
    assert_eq!(run(&|point, _, _| point.fill(0)), base);
    assert_eq!(run(&|_, points, _| points[64 * 5..][..32].fill(255)), base);
    for len in [8000, 7 * base::PART_LEN, 9 * base::PART_LEN] {
        assert_eq!(run(&|_, points, _| *points = points.repeat(2)[..len].to_vec()), base);
    }
    // Another valid point, or two that changed places: the base keys differ.
    let another = RistrettoPoint::mul_base(&Scalar::from(5u8)).compress().to_bytes();
    assert_eq!(run(&|point, _, _| point.copy_from_slice(&another)), trees);
    assert_eq!(run(&|_, points, _| points[..32].copy_from_slice(&another)), trees);
    assert_eq!(run(&|_, points, _| points.rotate_left(32)), trees);
    let flip = |at: usize| {
        move |_: &mut [u8], _: &mut Vec<u8>, trees: &mut Vec<u8>| {
            if let Some(byte) = trees.get_mut(at) {
                *byte ^= 1;
            }
        }
    };
    // Tree 0: four pairs of masked sums, the sum of the tags; the digest at the end.
    assert_eq!(run(&flip(128)), trees);
    assert_eq!(run(&flip(pprf::message_len(params) - 1)), trees);
    // Of the two sums of a level the sender opens one.
    for level in 0..4 {
        let caught = [run(&flip(32 * level)), run(&flip(32 * level + 16))];
        assert!(caught.contains(&None) && caught.contains(&trees), "level {level}");
    }
}

/// No byte of the setup that the Delta holder sends leans with Delta.
#[test]
fn a_setup_message_changes_with_the_randomness_alone() {
    let params = Params::default();
    let points = |delta: Block, seed: u128| {
        let mut prg = Prg::new(Block::new(seed));
        started(0, params, delta, &mut prg).1
    };
    let ones = Block::new(u128::MAX);
    let mut leaning = 0i32;
    for seed in 0..8 {
        let (a, b) = (points(Block::ONE, 2 * seed), points(ones, 2 * seed + 1));
        let weight = |m: &[u8]| m.iter().map(|b| (b >> 1 & 1) as i32).sum::<i32>();
        leaning += weight(&a) - weight(&b);
    }
    // 131072 fair bits on either side: sigma of the difference 256.
    assert!(leaning.abs() < 1536, "{leaning}");
}

/// The wire bytes of a setup and a chunk, for fixed randomness: they do not change unnoticed.
#[test]
fn known_transcript() {
    let digests = [1, 2, 4, 8].map(|k| {
        let params = Params::new(k, 256).unwrap();
        let (mut a, mut b) = (Prg::new(Block::new(1)), Prg::new(Block::new(2)));
        let (receiver, point) = ReceiverSetup::new(&SESSION, 7, params, &mut a);
        let (sender, points) = started(7, params, delta(), &mut b);
        let (mut receiver, trees) = built(receiver, &points, &mut a).unwrap();
        let mut sender = sender.finish(&point, &trees).unwrap();
        let (mut chunk, mut blocks) = (Vec::new(), [Block::ZERO; 256]);
        receiver.produce(&mut blocks, &mut chunk).unwrap();
        sender.absorb(&chunk, &mut blocks).unwrap();
        let oracle = RandomOracle::new("cenote test OT transcript", &SESSION);
        let oracle =
            oracle.bytes(&point).bytes(&points).bytes(&trees).bytes(&chunk).blocks(&blocks);
        oracle.number(sender.hash_start().to_u128() as u64).block().to_u128() as u64
    });
    let known =
        [1837544680017658416, 2247740079634851506, 2854899243980556815, 9477793485343297363];
    assert_eq!(digests, known);
}

fn duplex(ch: &mut Channel, role: Role, choice: Choice) -> Result<(Duplex, Block), Fault> {
    let mut prg = Prg::new(Block::new(70 + role as u128));
    let delta = prg.block().with_lsb(true);
    Ok((Duplex::setup(ch, &SESSION, role, choice, delta, &mut prg)?, delta))
}

/// Both directions at once, with keys that are taken several calls after their MACs.
#[test]
fn both_directions_with_keys_that_lag() {
    const TAKES: [usize; 4] = [256, 128, 640, 128];
    const LAG: usize = 2;
    let run = |role| {
        move |ch: &mut Channel| {
            let (mut cots, delta) = duplex(ch, role, Choice::default())?;
            assert_eq!((cots.ready(), cots.steps()), (u64::MAX, 0));
            assert!(matches!(cots.begin(ch), Err(Fault::Misuse(_))));
            assert!(matches!(cots.step(ch), Err(Fault::Misuse(_))));
            let (mut macs, mut keys) = (Vec::new(), Vec::new());
            for turn in 0..TAKES.len() + LAG {
                if let Some(n) = TAKES.get(turn) {
                    let mut new = vec![Block::ZERO; *n];
                    cots.take_macs(ch, &mut new)?;
                    macs.extend(new);
                }
                if let Some(n) = turn.checked_sub(LAG).and_then(|turn| TAKES.get(turn)) {
                    let mut new = vec![Block::ZERO; *n];
                    cots.take_keys(ch, &mut new)?;
                    keys.extend(new);
                }
            }
            Ok::<_, Fault>((macs, keys, delta))
        }
    };
    let (a, b) = both(run(Role::Garbler), run(Role::Evaluator));
    let (a, b) = (a.unwrap(), b.unwrap());
    for ((macs, ..), (_, keys, delta)) in [(&a, &b), (&b, &a)] {
        assert_eq!(macs.len(), TAKES.iter().sum::<usize>());
        assert_eq!(keys.len(), macs.len());
        for (k, m) in keys.iter().zip(macs) {
            assert_eq!((*k, k.lsb()), (*m ^ delta.times(m.lsb()), false));
        }
    }
}

/// Set-up, and calls that need one extension, two, and none; payloads are as the formulas say.
#[test]
fn a_silent_session_sends_what_its_formulas_say() {
    let choice = Choice::silent();
    let takes = [128, choice.chunk(), choice.chunk() - 256];
    let bytes = |ch: &Channel| {
        let total = ch.counters().total();
        (total.bytes_sent, total.bytes_received)
    };
    let (sent, received) = both(
        |ch| {
            let mut prg = Prg::new(Block::new(1));
            let mut cot = choice.sender(ch, &SESSION, 0, delta(), &mut prg)?;
            let setup = bytes(ch);
            let keys = takes.map(|n| {
                let mut keys = vec![Block::ZERO; n];
                cot.extend(ch, &mut keys).map(|()| keys)
            });
            Ok::<_, Fault>((keys, setup, bytes(ch), cot.hash_start()))
        },
        |ch| {
            let mut cot = choice.receiver(ch, &SESSION, 0, &mut Prg::new(Block::new(2)))?;
            let macs = takes.map(|n| {
                let mut macs = vec![Block::ZERO; n];
                cot.extend(ch, &mut macs).map(|()| macs)
            });
            Ok::<_, Fault>((macs, cot.hash_start()))
        },
    );
    let ((keys, setup, end, start), (macs, other)) = (sent.unwrap(), received.unwrap());
    assert_eq!(start, other);
    for (keys, macs) in keys.into_iter().zip(macs) {
        for (k, m) in keys.unwrap().iter().zip(&macs.unwrap()) {
            assert_eq!((*k, k.lsb()), (*m ^ delta().times(m.lsb()), false));
        }
    }
    let framed = |sent: cenote_ot::Sent| sent.bytes + 5 * sent.messages;
    let first = choice.setup_traffic();
    assert_eq!(setup, (framed(first.sender), framed(first.receiver)));
    let later = choice.traffic(2 * choice.chunk() as u64);
    assert_eq!(later, choice.traffic(takes.iter().sum::<usize>() as u64));
    assert_eq!(end.0 - setup.0, framed(later.sender));
    assert_eq!(end.1 - setup.1, framed(later.receiver));
    assert_eq!(choice.traffic(choice.chunk() as u64).bytes(), 330_304);
}
