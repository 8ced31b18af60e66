//! Shaped lines: when data arrives. Lower bounds are exact, upper bounds leave room for a busy machine.

mod common;

use std::thread::sleep;
use std::time::{Duration, Instant};

use cenote_net::{Channel, Fault, Shape, mem_pair};
use common::{DATA, pairs, run};

const MS: Duration = Duration::from_millis(1);

fn shaped(mut pair: (Channel, Channel), rtt: Duration, mbit: Option<f64>) -> (Channel, Channel) {
    let shape = Shape { rtt, mbit_per_s: mbit };
    pair.0.shape(shape).unwrap();
    pair.1.shape(shape).unwrap();
    pair
}

#[test]
fn each_round_trip_takes_the_round_trip_time() {
    for (name, pair) in pairs() {
        let started = Instant::now();
        run(
            shaped(pair, 20 * MS, None),
            |mut a| {
                for _ in 0..5 {
                    a.send(DATA, &[1]).unwrap();
                    a.recv(DATA, 1).unwrap();
                }
            },
            |mut b| {
                for _ in 0..5 {
                    b.recv(DATA, 1).unwrap();
                    b.send(DATA, &[1]).unwrap();
                }
                b.flush().unwrap();
            },
        );
        let took = started.elapsed();
        assert!(took >= 100 * MS && took < 2000 * MS, "{name}: {took:?}");
    }
}

#[test]
fn frames_sent_together_are_in_flight_together() {
    for (name, pair) in pairs() {
        let started = Instant::now();
        run(
            shaped(pair, 100 * MS, None),
            |mut a| {
                for _ in 0..100 {
                    a.send(DATA, &[1]).unwrap();
                    a.flush().unwrap();
                }
                let took = started.elapsed();
                assert!(took < 1000 * MS, "{name}: the sends slept: {took:?}");
                sleep(1500 * MS);
            },
            |mut b| {
                for _ in 0..100 {
                    b.recv(DATA, 1).unwrap();
                }
                // Long before the sender is back: it need not help its data along.
                let took = started.elapsed();
                assert!(took >= 50 * MS && took < 1000 * MS, "{name}: {took:?}");
            },
        );
    }
}

#[test]
fn data_travels_while_the_receiver_computes() {
    run(
        shaped(mem_pair(), 1000 * MS, None),
        |mut a| {
            a.send(DATA, &[1]).unwrap();
            a.flush().unwrap();
            sleep(1000 * MS);
        },
        |mut b| {
            sleep(600 * MS);
            let started = Instant::now();
            b.recv(DATA, 1).unwrap();
            assert!(started.elapsed() < 490 * MS, "{:?}", started.elapsed());
        },
    );
}

#[test]
fn bandwidth_is_limited_in_each_direction_by_itself() {
    // 2.5 MB at 25 Mbit/s take 800 ms, both ways at once; one after the other would take twice that.
    for (name, pair) in pairs() {
        let started = Instant::now();
        let side = |mut c: Channel| {
            let block = vec![7; 250_000];
            for _ in 0..10 {
                c.send(DATA, &block).unwrap();
            }
            for _ in 0..10 {
                assert_eq!(c.recv(DATA, block.len()).unwrap(), block);
            }
        };
        run(shaped(pair, Duration::ZERO, Some(25.0)), side, side);
        let took = started.elapsed();
        assert!(took >= 800 * MS && took < 1590 * MS, "{name}: {took:?}");
    }
}

#[test]
fn a_shaped_line_aborts_cancels_and_stays_free_of_deadlock() {
    for (name, pair) in pairs() {
        let pair = shaped(pair, 20 * MS, None);
        let canceller = pair.1.canceller();
        run(
            pair,
            |mut a| {
                let block = vec![1; 1 << 20];
                (0..20).for_each(|_| a.send(DATA, &block).unwrap());
                (0..20).for_each(|_| drop(a.recv(DATA, 1 << 20).unwrap()));
                assert_eq!(a.recv(DATA, 1), Err(Fault::PeerAborted), "{name}");
            },
            |mut b| {
                let block = vec![1; 1 << 20];
                (0..20).for_each(|_| b.send(DATA, &block).unwrap());
                (0..20).for_each(|_| drop(b.recv(DATA, 1 << 20).unwrap()));
                canceller.cancel();
                assert_eq!(b.recv(DATA, 1), Err(Fault::Transport("cancelled".into())), "{name}");
                b.abort();
            },
        );
    }
}

#[test]
fn lines_that_make_no_sense_are_misuse() {
    let (mut a, _b) = mem_pair();
    for (rtt, mbit) in
        [(MS, Some(0.0)), (MS, Some(f64::NAN)), (MS, Some(-5.0)), (MS * 60_000, None)]
    {
        let shape = Shape { rtt, mbit_per_s: mbit };
        assert!(matches!(a.shape(shape), Err(Fault::Misuse(_))), "{shape:?}");
    }
    a.send(DATA, &[]).unwrap();
    let late = a.shape(Shape { rtt: MS, mbit_per_s: None });
    assert!(matches!(late, Err(Fault::Misuse(_))));
}

#[test]
fn one_shaped_side_is_found_out() {
    // As a shaped line would have it: segments that are too long, and segments of nothing.
    for byte in [255, 0] {
        let (mut a, mut b) = mem_pair();
        a.shape(Shape { rtt: MS, mbit_per_s: None }).unwrap();
        a.set_idle_limit(1000 * MS);
        b.send(DATA, &[byte; 100]).unwrap();
        b.close();
        let fault = Fault::Misbehaved("shape: not a shaped line on the other side");
        assert_eq!(a.recv(DATA, 100), Err(fault));
    }
}
