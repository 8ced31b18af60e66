//! A side that computes says that it is there; one that is gone does not, and one that does nothing
//! else is bounded.

mod common;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use cenote_net::{Channel, Fault, HEADER_LEN, Handshake, Role, Shape, Tag, mem_pair};
use common::{DATA, OTHER, pairs, run};

/// An idle limit, and work that takes many times as long.
const IDLE: Duration = Duration::from_millis(400);
const WORK: Duration = Duration::from_millis(1200);
const LIMIT: Duration = Duration::from_secs(30);

fn with_limits((mut a, mut b): (Channel, Channel)) -> (Channel, Channel) {
    for channel in [&mut a, &mut b] {
        channel.set_idle_limit(IDLE);
        channel.set_work_limit(LIMIT);
    }
    (a, b)
}

/// A channel whose peer is bare bytes.
fn raw() -> (Channel, TcpStream) {
    let listener = cenote_net::tcp_listen("127.0.0.1:0").unwrap();
    let peer = TcpStream::connect(listener.address()).unwrap();
    peer.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let mut channel = cenote_net::tcp_accept(&listener, LIMIT).unwrap();
    channel.set_idle_limit(IDLE);
    channel.set_work_limit(LIMIT);
    (channel, peer)
}

/// The same, and the peer sent a frame.
fn heard() -> (Channel, TcpStream) {
    let (mut channel, mut peer) = raw();
    peer.write_all(&[DATA.id, 0, 0, 0, 0]).unwrap();
    channel.recv(DATA, 0).unwrap();
    (channel, peer)
}

/// Cancels a channel that waits for ever.
fn watch(channel: &Channel) {
    let canceller = channel.canceller();
    thread::spawn(move || {
        thread::sleep(LIMIT / 2);
        canceller.cancel();
    });
}

const ALIVE: [u8; HEADER_LEN] = [Tag::ALIVE.id, 0, 0, 0, 0];

/// Over every kind of link, side by side.
fn over_all(scenario: impl Fn(&'static str, (Channel, Channel)) + Sync) {
    let scenario = &scenario;
    thread::scope(|scope| {
        for (name, pair) in pairs() {
            scope.spawn(move || scenario(name, with_limits(pair)));
        }
    });
}

#[test]
fn work_longer_than_the_idle_limit_ends_no_session() {
    over_all(|name, pair| {
        let (a, b) = run(
            pair,
            |mut a| {
                a.send(DATA, &[1]).unwrap();
                a.flush().unwrap();
                thread::sleep(WORK);
                a.send(DATA, &[2]).unwrap();
                // Now the other side works, in turn.
                a.recv(OTHER, 1).unwrap();
                a.counters().total()
            },
            |mut b| {
                assert_eq!(b.recv(DATA, 1), Ok(vec![1]), "{name}");
                assert_eq!(b.recv(DATA, 1), Ok(vec![2]), "{name}");
                b.send(OTHER, &[3]).unwrap();
                let counters = b.counters().total();
                b.close();
                counters
            },
        );
        for counters in [a, b] {
            let messages = counters.messages_sent + counters.messages_received;
            assert_eq!((messages, counters.rounds.max(1)), (3, 1), "{name}");
            assert_eq!(counters.bytes_sent + counters.bytes_received, 18, "{name}");
        }
    });
}

#[test]
fn a_line_that_is_shaped_is_kept_alive_too() {
    let shape = Shape { rtt: Duration::from_millis(20), mbit_per_s: Some(1.0) };
    let shaped = |mut channel: Channel| {
        channel.shape(shape).unwrap();
        channel
    };
    let (a, b) = with_limits(mem_pair());
    run(
        (shaped(a), shaped(b)),
        |mut a| {
            a.send(DATA, &[1]).unwrap();
            a.flush().unwrap();
            thread::sleep(WORK);
            a.close();
        },
        |mut b| {
            b.recv(DATA, 1).unwrap();
            assert!(matches!(b.recv(DATA, 1), Err(Fault::Transport(_))));
            assert!(b.peer_closed());
        },
    );
}

#[test]
fn a_peer_that_works_may_leave_a_write_waiting() {
    over_all(|name, pair| {
        // Frames so small that they have no time of their own, and more than any line holds.
        let (block, frames) = ([7; 8 << 10], 4 << 10);
        run(
            pair,
            |mut a| {
                a.recv(OTHER, 0).unwrap();
                for _ in 0..frames {
                    a.send(DATA, &block).and(a.flush()).unwrap();
                }
                a.recv(OTHER, 0).unwrap();
            },
            |mut b| {
                b.send(OTHER, &[]).unwrap();
                b.flush().unwrap();
                thread::sleep(WORK);
                for _ in 0..frames {
                    assert!(b.recv(DATA, block.len()).unwrap() == block, "{name}");
                }
                b.send(OTHER, &[]).unwrap();
                b.close();
            },
        );
    });
}

#[test]
fn a_peer_that_stopped_is_given_up_after_the_idle_limit() {
    let (mut channel, mut peer) = heard();
    peer.write_all(&ALIVE).unwrap();
    let started = Instant::now();
    let fault = channel.recv(DATA, 0).unwrap_err();
    assert_eq!(fault, Fault::Transport("the peer was silent for 0.4 s".into()));
    assert!((IDLE..LIMIT / 3).contains(&started.elapsed()));
}

#[test]
fn a_peer_that_is_only_there_is_given_up_after_the_work_limit() {
    over_all(|name, (mut a, mut b)| {
        let work = 2 * IDLE;
        b.set_work_limit(work);
        watch(&b);
        a.send(OTHER, &[]).unwrap();
        a.flush().unwrap();
        b.recv(OTHER, 0).unwrap();
        let started = Instant::now();
        let fault = b.recv(DATA, 1).unwrap_err();
        assert_eq!(fault, Fault::Transport("the peer did not go on for 0.8 s".into()), "{name}");
        assert!((work..LIMIT / 3).contains(&started.elapsed()), "{name}");

        // A peer that is there, and takes nothing.
        let (mut a, mut b) = with_limits(mem_pair());
        b.set_work_limit(work);
        watch(&b);
        a.send(OTHER, &[]).unwrap();
        a.flush().unwrap();
        let started = Instant::now();
        let fault = (0..10_000).find_map(|_| b.send(DATA, &[0; 8 << 10]).and(b.flush()).err());
        assert!(matches!(fault, Some(Fault::Transport(_))), "{name}: {fault:?}");
        assert!((work..LIMIT / 3).contains(&started.elapsed()), "{name}");
    });
}

/// Its bytes are no signs of life.
#[test]
fn a_frame_that_has_begun_comes_in_time() {
    let (mut channel, mut peer) = raw();
    let started = Instant::now();
    let fault = thread::scope(|scope| {
        let receiver = scope.spawn(move || channel.recv(DATA, 100));
        peer.write_all(&[DATA.id, 100, 0, 0, 0]).unwrap();
        while !receiver.is_finished() && peer.write_all(&[0]).is_ok() {
            thread::sleep(IDLE / 10);
        }
        receiver.join().unwrap().unwrap_err()
    });
    assert_eq!(fault, Fault::Transport("the peer was silent for 0.4 s".into()));
    assert!(started.elapsed() < LIMIT / 3);
}

/// Nor are those of its header.
#[test]
fn a_header_that_has_begun_comes_in_time() {
    let (mut channel, mut peer) = heard();
    peer.write_all(&ALIVE.repeat(3)).unwrap();
    let fault = thread::scope(|scope| {
        let receiver = scope.spawn(move || channel.recv(DATA, 0));
        for byte in [DATA.id, 0, 0, 0, 0] {
            if !receiver.is_finished() && peer.write_all(&[byte]).is_ok() {
                thread::sleep(IDLE / 2);
            }
        }
        receiver.join().unwrap().unwrap_err()
    });
    assert_eq!(fault, Fault::Transport("the peer was silent for 0.4 s".into()));
}

#[test]
fn a_flood_of_keep_alives_ends() {
    let (mut channel, mut peer) = heard();
    watch(&channel);
    let flood = thread::spawn(move || {
        let frames = ALIVE.repeat(1 << 12);
        let mut sent = 0;
        while peer.write_all(&frames).is_ok() {
            sent += frames.len();
        }
        sent
    });
    let started = Instant::now();
    assert_eq!(
        channel.recv_bounded(DATA, 1),
        Err(Fault::Transport("the peer sent keep-alives without end".into()))
    );
    channel.close();
    assert!(started.elapsed() < LIMIT / 3, "they cost next to nothing");
    assert!(flood.join().unwrap() < 64 << 20, "a bounded number");
}

#[test]
fn a_keep_alive_comes_before_no_first_frame() {
    let (mut channel, mut peer) = raw();
    peer.write_all(&[ALIVE, [DATA.id, 0, 0, 0, 0]].concat()).unwrap();
    let fault = channel.recv(DATA, 0).unwrap_err();
    assert!(matches!(&fault, Fault::Transport(text) if text.contains("does not speak")), "{fault}");
    // Nor before the hello.
    let (mut channel, mut peer) = raw();
    peer.write_all(&ALIVE.repeat(2)).unwrap();
    let hello = Handshake::new("session").run(&mut channel, Role::Garbler, [1; 32]);
    assert_eq!(hello.unwrap_err(), fault);
}

#[test]
fn a_keep_alive_has_no_payload() {
    let (mut channel, mut peer) = raw();
    peer.write_all(&[Tag::ALIVE.id, 1, 0, 0, 0, 0]).unwrap();
    let fault = Fault::Misbehaved("frame: control frame with a payload");
    assert_eq!(channel.recv(DATA, 1), Err(fault));
    let (mut a, _b) = mem_pair();
    assert!(matches!(a.send(Tag::ALIVE, &[]), Err(Fault::Misuse(_))));
}

/// All that has arrived, within this time or until the end.
fn arrived(peer: &mut TcpStream, time: Duration, most: usize) -> Vec<u8> {
    let (started, mut got) = (Instant::now(), Vec::new());
    let mut buf = vec![0; 64 << 10];
    while started.elapsed() < time && got.len() < most {
        match peer.read(&mut buf) {
            Ok(0) => break,
            Ok(n) => got.extend_from_slice(&buf[..n]),
            Err(e) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&e.kind()) => {}
            Err(e) => panic!("{e}"),
        }
    }
    got
}

#[test]
fn keep_alives_come_after_the_first_frame_and_before_the_last() {
    let (mut channel, mut peer) = raw();
    assert_eq!(arrived(&mut peer, 2 * IDLE, usize::MAX), []);
    channel.send(DATA, &[]).unwrap();
    channel.flush().unwrap();
    let got = arrived(&mut peer, 4 * IDLE, usize::MAX);
    let (first, rest) = got.split_at(HEADER_LEN);
    assert_eq!(first, [DATA.id, 0, 0, 0, 0]);
    assert!(!rest.is_empty() && rest.chunks(HEADER_LEN).all(|frame| frame == ALIVE));
    // One in each quarter of the idle limit, or fewer.
    assert!(rest.len() / HEADER_LEN <= 17, "{}", rest.len());

    // A fault ends them, though the owner of the channel takes its time.
    assert!(channel.send(DATA, &vec![0; 32 << 20]).is_err());
    arrived(&mut peer, IDLE / 8, usize::MAX);
    assert_eq!(arrived(&mut peer, 2 * IDLE, usize::MAX), []);
    thread::scope(|scope| {
        scope.spawn(|| channel.abort());
        assert_eq!(arrived(&mut peer, LIMIT, usize::MAX), [0; HEADER_LEN]);
    });
}

#[test]
fn a_keep_alive_never_comes_within_a_frame() {
    let (mut channel, mut peer) = raw();
    let payload: Vec<u8> = (0..16 << 20).map(|i| (i * 31) as u8).collect();
    thread::scope(|scope| {
        let payload = &payload;
        scope.spawn(move || {
            channel.send(DATA, payload).unwrap();
            channel.send(OTHER, &[9]).unwrap();
            channel.flush().unwrap();
            thread::sleep(IDLE);
            channel.close();
        });
        // Slower than the period of keep-alives, while the sender waits in the middle of the frame.
        let mut got = Vec::new();
        while got.len() < payload.len() / 2 {
            got.extend(arrived(&mut peer, IDLE, 1 << 20));
            thread::sleep(IDLE / 2);
        }
        got.extend(arrived(&mut peer, LIMIT, usize::MAX));
        let (first, mut rest) = got.split_at(HEADER_LEN + payload.len());
        assert!(first[HEADER_LEN..] == payload[..], "the payload is whole");
        let mut frames = Vec::new();
        while let Some((head, tail)) = rest.split_first_chunk::<HEADER_LEN>() {
            let header = cenote_net::decode_frame_header(head).unwrap();
            let (payload, tail) = tail.split_at(header.len);
            rest = tail;
            frames.push((header.tag, payload));
        }
        let total = frames.len();
        frames.retain(|(tag, _)| *tag != Tag::ALIVE.id);
        assert_eq!(frames, [(OTHER.id, &[9][..]), (Tag::BYE.id, &[])]);
        assert!(total > frames.len());
    });
}
