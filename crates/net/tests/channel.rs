//! The contract of a channel, over memory and TCP alike.

mod common;

use std::thread;
use std::time::{Duration, Instant};

use cenote_net::{Channel, Fault, Handshake, MAX_FRAME, Phase, Role, Tag, mem_pair};
use common::{DATA, OTHER, pairs, run, tcp_pair};

#[test]
fn channels_move_between_threads() {
    fn is_send<T: Send>() {}
    is_send::<Channel>();
    is_send::<cenote_net::Canceller>();
}

#[test]
fn frames_of_all_sizes_arrive_in_order() {
    let sizes = [0, 1, 5, 100, 4095, 32767, 32768, 65536, 70000, 1 << 20, 5, 0, MAX_FRAME];
    for (name, pair) in pairs() {
        run(
            pair,
            |mut a| {
                for (i, &n) in sizes.iter().enumerate() {
                    a.send(DATA, &vec![i as u8; n]).unwrap();
                }
                a.flush().unwrap();
                a.recv(OTHER, 1).unwrap();
            },
            |mut b| {
                for (i, &n) in sizes.iter().enumerate() {
                    let got = if i % 2 == 0 { b.recv(DATA, n) } else { b.recv_bounded(DATA, n) };
                    assert_eq!(got.unwrap(), vec![i as u8; n], "{name}: frame {i}");
                }
                b.send(OTHER, &[1]).unwrap();
                b.close();
            },
        );
    }
}

#[test]
fn wrong_tag_and_wrong_length_are_misbehaviour() {
    type Receive = fn(&mut Channel) -> Result<(), Fault>;
    let (tag, length) = ("frame: wrong tag", "frame: wrong length");
    let wrong: [(&str, &str, Receive); 6] = [
        ("tag", tag, |c| c.recv(OTHER, 3).map(drop)),
        ("tag of a hello", tag, |c| Handshake::new("x").run(c, Role::Garbler, [0; 32]).map(drop)),
        ("too short", length, |c| c.recv(DATA, 4).map(drop)),
        ("too long", length, |c| c.recv(DATA, 2).map(drop)),
        ("nothing", length, |c| c.recv_into(DATA, &mut [])),
        ("over the bound", length, |c| c.recv_bounded(DATA, 2).map(drop)),
    ];
    for (what, check, receive) in wrong {
        for (name, (mut a, mut b)) in pairs() {
            a.send(DATA, &[]).and(a.flush()).unwrap();
            b.recv(DATA, 0).unwrap();
            a.send(DATA, &[1, 2, 3]).unwrap();
            a.flush().unwrap();
            let started = Instant::now();
            let fault = receive(&mut b).unwrap_err();
            assert_eq!(fault, Fault::Misbehaved(check), "{name}, {what}");
            assert!(started.elapsed() < Duration::from_secs(5), "{name}, {what}: it waited");
            assert!(
                matches!(b.recv(DATA, 3), Err(Fault::Misuse(_))),
                "{name}: usable after a fault"
            );
        }
    }
}

#[test]
fn misuse_is_named() {
    for what in 0..4 {
        let (mut a, _b) = mem_pair();
        let result = match what {
            0 => a.send(DATA, &vec![0; MAX_FRAME + 1]),
            1 => a.recv(DATA, MAX_FRAME + 1).map(drop),
            2 => a.send(Tag::ABORT, &[]),
            _ => a.recv(Tag::BYE, 0).map(drop),
        };
        assert!(matches!(result, Err(Fault::Misuse(_))), "case {what}: {result:?}");
    }
}

#[test]
fn abort_reaches_a_peer_that_receives_sends_or_computes() {
    for (name, (mut a, mut b)) in pairs() {
        thread::scope(|scope| {
            scope.spawn(|| a.abort());
            assert_eq!(b.recv(DATA, 100_000), Err(Fault::PeerAborted), "{name}");
        });
        assert!(a.send(DATA, &[]).is_err(), "{name}: usable after the abort");
    }
    for (name, pair) in pairs() {
        run(
            pair,
            |mut a| {
                thread::sleep(Duration::from_millis(50));
                a.abort();
            },
            |mut b| {
                let block = vec![0; 1 << 20];
                let fault = (0..100_000).find_map(|_| b.send(DATA, &block).err());
                assert_eq!(fault, Some(Fault::PeerAborted), "{name}");
            },
        );
    }
    for (name, (mut a, mut b)) in pairs() {
        a.send(DATA, &[7]).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || a.abort());
            assert_eq!(b.recv(DATA, 1), Ok(vec![7]), "{name}: what came before the abort counts");
            assert_eq!(b.recv(DATA, 1), Err(Fault::PeerAborted), "{name}");
        });
    }
}

#[test]
fn orderly_end_and_cut_connection_are_told_apart() {
    for (name, (a, mut b)) in pairs() {
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut a = a;
                a.send(DATA, &[1]).unwrap();
                a.close();
            });
            assert_eq!(b.recv(DATA, 1), Ok(vec![1]), "{name}: close flushes");
            assert!(matches!(b.recv(DATA, 1), Err(Fault::Transport(_))), "{name}");
            assert!(b.peer_closed(), "{name}");
            b.close();
        });
    }
    for (name, (a, mut b)) in pairs() {
        drop(a);
        assert!(matches!(b.recv(DATA, 1), Err(Fault::Transport(_))), "{name}");
        assert!(!b.peer_closed(), "{name}");
    }
}

#[test]
fn a_silent_peer_costs_the_idle_limit_and_no_more() {
    for (name, (mut a, mut b)) in pairs() {
        b.set_idle_limit(Duration::from_millis(100));
        let started = Instant::now();
        assert!(matches!(b.recv(DATA, 1), Err(Fault::Transport(_))), "{name}: receive");
        assert!(started.elapsed() >= Duration::from_millis(100), "{name}");
        assert!(started.elapsed() < Duration::from_secs(5), "{name}");

        a.set_idle_limit(Duration::from_millis(100));
        let block = vec![0; 1 << 20];
        let started = Instant::now();
        let fault = (0..100).find_map(|_| a.send(DATA, &block).err());
        assert!(matches!(fault, Some(Fault::Transport(_))), "{name}: send: {fault:?}");
        assert!(started.elapsed() < Duration::from_secs(8), "{name}");
        a.abort();
        assert!(started.elapsed() < Duration::from_secs(12), "{name}: abort of a full pipe");
    }
}

#[test]
fn cancelling_ends_a_blocked_call_and_still_lets_the_peer_know() {
    for (name, pair) in pairs() {
        let canceller = pair.0.canceller();
        run(
            pair,
            |mut a| {
                let started = Instant::now();
                assert_eq!(a.recv(DATA, 1), Err(Fault::Transport("cancelled".into())), "{name}");
                assert!(started.elapsed() < Duration::from_secs(5), "{name}");
                a.abort();
            },
            |mut b| {
                thread::sleep(Duration::from_millis(30));
                canceller.cancel();
                assert_eq!(b.recv(DATA, 1), Err(Fault::PeerAborted), "{name}");
            },
        );
    }
}

#[test]
fn both_sides_send_32_mib_before_either_reads() {
    for (name, pair) in pairs() {
        let side = |mut c: Channel| {
            let block: Vec<u8> = (0..1 << 20).map(|i| (i * 7) as u8).collect();
            for _ in 0..32 {
                c.send(DATA, &block).unwrap();
            }
            c.flush().unwrap();
            let mut got = vec![0; 1 << 20];
            for _ in 0..32 {
                c.recv_into(DATA, &mut got).unwrap();
                assert!(got == block, "{name}");
            }
        };
        run(pair, side, side);
    }
}

#[test]
fn counters_hold_bytes_messages_and_rounds_by_phase() {
    for (name, pair) in pairs() {
        run(
            pair,
            |mut a| {
                a.send(DATA, &[0; 10]).unwrap();
                a.send(DATA, &[0; 20]).unwrap();
                a.recv(DATA, 3).unwrap();
                a.recv(DATA, 4).unwrap();
                a.set_phase(Phase::Online);
                a.send(DATA, &[0; 100_000]).unwrap();
                a.recv(DATA, 0).unwrap();
                let counters = a.counters();
                let setup = counters.phase(Phase::Setup);
                assert_eq!((setup.bytes_sent, setup.bytes_received), (40, 17), "{name}");
                assert_eq!((setup.messages_sent, setup.messages_received, setup.rounds), (2, 2, 1));
                let online = counters.phase(Phase::Online);
                assert_eq!((online.bytes_sent, online.bytes_received), (100_005, 5), "{name}");
                assert_eq!(online.rounds, 1, "{name}");
                assert_eq!(counters.phase(Phase::Preprocess), Default::default(), "{name}");
                assert_eq!((counters.total().rounds, counters.total().bytes_sent), (2, 100_045));
            },
            |mut b| {
                b.recv(DATA, 10).unwrap();
                b.recv(DATA, 20).unwrap();
                b.send(DATA, &[0; 3]).unwrap();
                b.send(DATA, &[0; 4]).unwrap();
                b.recv(DATA, 100_000).unwrap();
                b.send(DATA, &[]).unwrap();
                b.flush().unwrap();
                assert_eq!(b.counters().total().rounds, 1, "{name}: b waited for a reply once");
                assert_eq!(b.counters().total().bytes_received, 100_045, "{name}");
            },
        );
    }
}

#[test]
fn a_hostile_length_is_refused_before_memory_is_allocated() {
    use std::io::Write;
    let listener = cenote_net::tcp_listen("127.0.0.1:0").unwrap();
    let mut raw = std::net::TcpStream::connect(listener.address()).unwrap();
    let mut channel = cenote_net::tcp_accept(&listener, common::LIMIT).unwrap();
    channel.set_idle_limit(Duration::from_secs(1));
    raw.write_all(&[DATA.id, 255, 255, 255, 255]).unwrap();
    let fault = channel.recv_bounded(DATA, usize::MAX);
    assert_eq!(fault, Err(Fault::Misbehaved("frame: length over the limit")));
}

/// A peer that sends without end and takes nothing, so that every send here waits and reads.
#[test]
fn what_a_peer_sends_unasked_is_kept_up_to_a_limit() {
    use std::io::Write;
    let limit = 128 << 20;
    // Of all sockets these keep least in buffers of the system.
    let (end, mut peer) = std::os::unix::net::UnixStream::pair().unwrap();
    peer.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut channel = cenote_net::unix_channel(end).unwrap();
    channel.set_idle_limit(Duration::from_millis(500));
    thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let block = vec![0; 1 << 20];
            (0..100).find_map(|_| channel.send(DATA, &block).err())
        });
        let (block, mut sent) = (vec![0xff; 1 << 20], 0);
        while !sending.is_finished() && sent < 2 * limit {
            sent += peer.write(&block).unwrap_or(0);
        }
        let fault = sending.join().unwrap();
        assert!(matches!(fault, Some(Fault::Transport(_))), "{fault:?}");
        assert!((limit - (1 << 20)..limit + (8 << 20)).contains(&sent), "{} MiB", sent >> 20);
    });
}

#[test]
fn the_abort_frame_is_the_same_whatever_the_reason() {
    use std::io::Read;
    let causes: [fn(&mut Channel); 3] = [
        |_| {},
        |c| drop(c.send(DATA, &vec![0; MAX_FRAME + 1])),
        |c| {
            c.set_idle_limit(Duration::from_millis(20));
            drop(c.recv(DATA, 1));
        },
    ];
    for cause in causes {
        let listener = cenote_net::tcp_listen("127.0.0.1:0").unwrap();
        let mut raw = std::net::TcpStream::connect(listener.address()).unwrap();
        let mut channel = cenote_net::tcp_accept(&listener, common::LIMIT).unwrap();
        cause(&mut channel);
        let reader = thread::spawn(move || {
            let mut got = Vec::new();
            raw.read_to_end(&mut got).unwrap();
            got
        });
        channel.abort();
        assert_eq!(reader.join().unwrap(), [0, 0, 0, 0, 0]);
    }
}

#[test]
fn an_abort_is_not_lost_to_unread_bytes() {
    for _ in 0..20 {
        run(
            tcp_pair(),
            |mut a| a.abort(),
            |mut b| {
                // Unread by a: closing its socket with these would reset the connection.
                let _ = b.send(DATA, &[0; 1000]);
                assert_eq!(b.recv(DATA, 1), Err(Fault::PeerAborted));
            },
        );
    }
}

/// Whoever waits for something else reads meanwhile: what the peer sent before it said goodbye is still received, and one that is gone without a word is a
/// fault.
#[test]
fn what_came_before_a_goodbye_is_received_by_who_attends() {
    for (name, (mut a, mut b)) in pairs() {
        a.send(DATA, &[7; 100]).unwrap();
        a.close();
        for _ in 0..20 {
            b.attend().unwrap();
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(b.recv(DATA, 100).unwrap(), [7; 100], "{name}");
        assert!(b.recv(DATA, 1).is_err());
    }
    for (name, (mut a, mut b)) in pairs() {
        a.send(DATA, &[7; 100]).unwrap();
        a.abort();
        let attends = (0..1000).try_for_each(|_| {
            thread::sleep(Duration::from_millis(1));
            b.attend()
        });
        assert_eq!(attends, Err(Fault::PeerAborted), "{name}");
    }
}
