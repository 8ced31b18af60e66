//! The layers for tests: recording, digests, tampering.

mod common;

use std::time::Duration;

use cenote_net::{Channel, Deviation, Direction, Fate, Fault, Tag, Witness, mem_pair};
use common::{DATA, OTHER, pairs};

/// Sends three DATA frames through a deviation and returns the payloads that arrive.
fn arrivals(index: usize, deviation: Deviation) -> (Vec<Vec<u8>>, Witness) {
    let (mut a, mut b) = mem_pair();
    let witness = a.deviate(DATA, index, deviation);
    for i in 0..3u8 {
        a.send(DATA, &[i, i]).unwrap();
    }
    a.close();
    (std::iter::from_fn(|| b.recv_bounded(DATA, 100).ok()).collect(), witness)
}

fn payloads(index: usize, deviation: Deviation) -> Vec<Vec<u8>> {
    let (got, witness) = arrivals(index, deviation);
    assert!(witness.happened());
    got
}

#[test]
fn each_deviation_does_what_it_says() {
    let plain = vec![vec![0, 0], vec![1, 1], vec![2, 2]];
    let with = |i: usize, payload: Vec<u8>| {
        let mut all = plain.clone();
        all[i] = payload;
        all
    };
    assert_eq!(payloads(1, Deviation::Flip(9)), with(1, vec![1, 3]));
    assert_eq!(payloads(1, Deviation::Flip(16 + 9)), with(1, vec![1, 3]), "modulo the length");
    assert_eq!(payloads(2, Deviation::Cut(1)), with(2, vec![2]));
    assert_eq!(payloads(2, Deviation::Cut(5)), with(2, vec![]));
    assert_eq!(payloads(0, Deviation::Drop), [[1, 1], [2, 2]]);
    assert_eq!(payloads(0, Deviation::Double), [[0, 0], [0, 0], [1, 1], [2, 2]]);
    assert_eq!(payloads(0, Deviation::Swap), [[1, 1], [0, 0], [2, 2]]);
    assert_eq!(payloads(0, Deviation::Replay), with(1, vec![0, 0]));
    assert_eq!(payloads(1, Deviation::Replace(vec![7; 3])), with(1, vec![7; 3]));
}

#[test]
fn a_deviation_that_finds_no_frame_says_so() {
    let (_, witness) = arrivals(3, Deviation::Drop);
    assert!(!witness.happened());
    let (_, witness) = arrivals(2, Deviation::Replay);
    assert!(!witness.happened(), "no frame after the last to replace");
    let (mut a, _b) = mem_pair();
    let witness = a.deviate(DATA, 0, Deviation::Cut(1));
    a.send(DATA, &[]).unwrap();
    assert!(!witness.happened(), "nothing to cut");
}

#[test]
fn tampering_works_over_every_channel_and_can_send_garbage() {
    for (name, (mut a, mut b)) in pairs() {
        a.tamper(|frame| if frame.index == 1 { Fate::Raw(vec![255; 40]) } else { Fate::Pass });
        let big = vec![5; 100_000];
        a.send(DATA, &big).unwrap();
        a.send(DATA, &big).unwrap();
        a.flush().unwrap();
        assert_eq!(b.recv(DATA, big.len()), Ok(big), "{name}");
        assert!(matches!(b.recv_bounded(DATA, 1), Err(Fault::Misbehaved(_))), "{name}");
    }
}

#[test]
fn a_dropped_frame_is_a_transport_fault_in_bounded_time() {
    for (name, (mut a, mut b)) in pairs() {
        a.deviate(DATA, 0, Deviation::Drop);
        b.set_idle_limit(Duration::from_millis(50));
        a.send(DATA, &[1]).unwrap();
        a.flush().unwrap();
        assert!(matches!(b.recv(DATA, 1), Err(Fault::Transport(_))), "{name}");
    }
}

#[test]
fn recordings_and_digests_agree_between_the_sides() {
    for (name, (mut a, mut b)) in pairs() {
        let (of_a, of_b) = (a.record(), b.record());
        a.enable_transcript();
        b.enable_transcript();
        assert_eq!(mem_pair().0.transcript_digest(), None);
        let exchange = |from: &mut Channel, to: &mut Channel, tag: Tag, n: usize| {
            from.send(tag, &vec![3; n]).unwrap();
            from.flush().unwrap();
            to.recv(tag, n).unwrap();
        };
        exchange(&mut a, &mut b, DATA, 10);
        exchange(&mut b, &mut a, OTHER, 40_000);
        exchange(&mut a, &mut b, DATA, 0);
        let (digest_a, digest_b) = (a.transcript_digest().unwrap(), b.transcript_digest().unwrap());
        assert_eq!(
            (digest_a.sent, digest_a.received),
            (digest_b.received, digest_b.sent),
            "{name}"
        );
        for (direction, opposite) in
            [(Direction::Sent, Direction::Received), (Direction::Received, Direction::Sent)]
        {
            let bytes = of_a.wire_bytes(direction);
            assert_eq!(bytes, of_b.wire_bytes(opposite), "{name}");
            let digest =
                if direction == Direction::Sent { digest_a.sent } else { digest_a.received };
            assert_eq!(*blake3::hash(&bytes).as_bytes(), digest, "{name}");
        }
        let sent = of_a.wire_bytes(Direction::Sent).len() as u64;
        assert_eq!(sent, a.counters().total().bytes_sent, "{name}");
    }
}
