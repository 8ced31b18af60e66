//! Data channels: to whom they lead, what they are bound to, and that they live and end with the control
//! channel.

mod common;

use std::thread;
use std::time::{Duration, Instant};

use cenote_net::{
    Agreed, Channel, Channels, Fault, Identity, Role, Shape, mem_channels, mem_pair, tcp_listen,
    tls_accept, tls_connect,
};
use common::{DATA, LIMIT};

const SESSION: [u8; 32] = [7; 32];

/// Opens a data channel on both sides, by the number and session of each.
fn meet(
    (mut a, mut b): (Channels, Channels),
    numbers: [u32; 2],
    sessions: [[u8; 32]; 2],
) -> [Result<(Channel, Agreed), Fault>; 2] {
    thread::scope(|scope| {
        let other = scope.spawn(|| b.open(numbers[1], sessions[1], Role::Evaluator, [2; 32]));
        let own = a.open(numbers[0], sessions[0], Role::Garbler, [1; 32]);
        [own, other.join().expect("thread")]
    })
}

/// Sides whose every data channel is a fresh pair, whatever its number.
fn any_number() -> (Channels, Channels) {
    let ((a, b), (c, d)) = (mem_pair(), mem_pair());
    let side = |control, data| {
        let mut data = Some(data);
        Channels::new(control, move |_| Ok(data.take().expect("one channel")))
    };
    (side(a, c), side(b, d))
}

fn refusal(outcome: Result<(Channel, Agreed), Fault>) -> String {
    match outcome {
        Err(Fault::Policy(what)) => what,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn both_sides_get_one_identity_that_is_the_channels_own() {
    let mut ids = vec![SESSION];
    for number in [1, 2] {
        let [own, other] =
            meet(mem_channels(), [number; 2], [SESSION; 2]).map(|it| it.expect("opens"));
        assert_eq!(own.1.session_id, other.1.session_id);
        ids.push(own.1.session_id);
    }
    let [of_another, _] = meet(mem_channels(), [1; 2], [[8; 32]; 2]).map(|it| it.expect("opens"));
    ids.push(of_another.1.session_id);
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len());
}

#[test]
fn a_channel_of_another_session_or_number_is_refused_on_both_sides() {
    for outcome in meet(any_number(), [1; 2], [SESSION, [8; 32]]) {
        assert!(refusal(outcome).starts_with("session: "));
    }
    for outcome in meet(any_number(), [1, 2], [SESSION; 2]) {
        assert!(refusal(outcome).starts_with("number: "));
    }
}

#[test]
fn a_channel_to_another_certificate_is_refused() {
    let names = ["a", "b", "c"];
    let [a, b, c] = names.map(|name| Identity::generate(name).expect("identity"));
    let listener = tcp_listen("127.0.0.1:0").expect("listens");
    let address = listener.address().to_string();
    // A takes C for its peer on the second connection, and C takes A.
    thread::scope(|scope| {
        scope.spawn(|| {
            let _kept = tls_connect(&address, &b, a.certificate(), LIMIT).expect("B calls");
            let _too = tls_connect(&address, &c, a.certificate(), LIMIT).expect("C calls");
        });
        let control = tls_accept(&listener, &a, b.certificate(), LIMIT, |_, _| ()).expect("B");
        let data = tls_accept(&listener, &a, c.certificate(), LIMIT, |_, _| ()).expect("C");
        let mut data = Some(data);
        let mut channels = Channels::new(control, move |_| Ok(data.take().expect("one channel")));
        let outcome = channels.open(1, SESSION, Role::Garbler, [1; 32]);
        assert_eq!(refusal(outcome), "a data channel leads to another peer");
    });
}

#[test]
fn a_channel_alone_has_no_others() {
    let (a, _b) = mem_pair();
    let mut channels = Channels::from(a);
    assert!(!channels.can_open());
    let outcome = channels.open(1, SESSION, Role::Garbler, [1; 32]).err();
    assert_eq!(outcome, Some(Fault::Misuse("no data channels".into())));
}

#[test]
fn limits_are_those_of_the_control_channel() {
    let (mut a, b) = mem_channels();
    a.control().set_idle_limit(Duration::from_millis(50));
    a.control().set_work_limit(Duration::from_millis(70));
    let [own, other] = meet((a, b), [1; 2], [SESSION; 2]).map(|it| it.expect("opens").0);
    let mut own = own;
    assert_eq!(own.work_limit(), Duration::from_millis(70));
    let fault = own.recv(DATA, 1).expect_err("nothing comes");
    assert!(fault.to_string().contains("for 0.0"), "{fault}");
    drop(other);
}

/// Whoever waits on any of the channels is woken.
#[test]
fn all_channels_are_cancelled_together() {
    let (mut a, b) = mem_channels();
    let canceller = a.control().canceller();
    let control = thread::scope(|scope| {
        let mut ends = None;
        let opened = scope.spawn(|| {
            let mut b = b;
            (b.open(1, SESSION, Role::Evaluator, [2; 32]), b)
        });
        let own = a.open(1, SESSION, Role::Garbler, [1; 32]).expect("opens").0;
        ends.replace((own, opened.join().expect("thread")));
        ends.expect("both")
    });
    let (mut data, _peer) = control;
    let mut control = a.into_control();
    let began = Instant::now();
    thread::scope(|scope| {
        let waits = [&mut data, &mut control].map(|channel| scope.spawn(|| channel.recv(DATA, 1)));
        thread::sleep(Duration::from_millis(100));
        canceller.cancel();
        for wait in waits {
            let fault = wait.join().expect("thread").expect_err("cancelled");
            assert_eq!(fault, Fault::Transport("cancelled".into()));
        }
    });
    assert!(began.elapsed() < Duration::from_secs(30));
}

/// Two channels on a shaped line share its bandwidth: each alone would take half of the time.
#[test]
fn channels_of_one_side_share_a_shaped_line() {
    let shape = Shape { rtt: Duration::ZERO, mbit_per_s: Some(80.0) };
    let (mut a, mut b) = mem_channels();
    a.control().shape(shape).expect("fresh");
    b.control().shape(shape).expect("fresh");
    let (mut own, mut other) = thread::scope(|scope| {
        let other = scope.spawn(|| b.open(1, SESSION, Role::Evaluator, [2; 32]).expect("opens").0);
        (
            a.open(1, SESSION, Role::Garbler, [1; 32]).expect("opens").0,
            other.join().expect("thread"),
        )
    });
    let (mut a, mut b) = (a.into_control(), b.into_control());
    // 10 MB/s: 2 MB take 200 ms.
    let bytes = vec![0; 1_000_000];
    let began = Instant::now();
    thread::scope(|scope| {
        for channel in [&mut a, &mut own] {
            scope.spawn(|| {
                channel.send(DATA, &bytes).and_then(|()| channel.flush()).expect("sends")
            });
        }
        for channel in [&mut b, &mut other] {
            scope.spawn(|| {
                assert_eq!(channel.recv(DATA, 1_000_000).expect("comes").len(), 1_000_000)
            });
        }
    });
    assert!(began.elapsed() >= Duration::from_millis(195), "{:?}", began.elapsed());
}
