//! Rates of correlated OT: each side alone without I/O, then both over loopback; and the setup.
//!
//! `cargo run --release -p cenote-ot --example ot_bench [digit bits] [chunk]`, or `ot_bench silent`

use std::thread;
use std::time::{Duration, Instant};

use cenote_net::{Channel, Role, mem_pair, tcp_accept, tcp_connect, tcp_listen};
use cenote_ot::setup::{ReceiverSetup, SenderSetup};
use cenote_ot::softspoken::{CotReceiver, CotSender, Params, message_len};
use cenote_ot::{Choice, Duplex, base};
use cenote_prim::{Block, Prg, SessionId};

const COTS: usize = 1 << 25;
const SESSION: SessionId = SessionId([1; 32]);

fn main() {
    if std::env::args().nth(1).is_some_and(|arg| arg == "silent") {
        return silent();
    }
    let mut args = std::env::args().skip(1).map(|arg| arg.parse().expect("a number"));
    let digit_bits = args.next().unwrap_or(4);
    let chunk = args.next().unwrap_or(Params::default().chunk());
    let params = Params::new(digit_bits, chunk).expect("valid parameters");
    let bits = 8.0 * message_len(params, chunk) as f64 / chunk as f64;
    println!("digits of {digit_bits} bits, chunks of {chunk}, {bits:.2} bits on the wire per COT");
    alone(params);
    loopback(params);
}

fn alone(params: Params) {
    let (mut sender, mut receiver) = setup(params);
    let chunk = params.chunk();
    let (mut keys, mut macs) = (vec![Block::ZERO; chunk], vec![Block::ZERO; chunk]);
    let mut message = Vec::new();
    let (mut sending, mut receiving) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..COTS / chunk {
        let start = Instant::now();
        receiver.produce(&mut macs, &mut message).expect("a chunk");
        receiving += start.elapsed();
        let start = Instant::now();
        sender.absorb(&message, &mut keys).expect("an honest chunk");
        sending += start.elapsed();
    }
    let delta = sender.delta();
    assert!(keys.iter().zip(&macs).all(|(k, m)| *k == *m ^ delta.times(m.lsb())));
    println!("receiver {}, sender {}", rate(receiving), rate(sending));
}

fn setup(params: Params) -> (CotSender, CotReceiver) {
    let mut prg = Prg::from_os();
    let delta = prg.block().with_lsb(true);
    let start = Instant::now();
    let (mut receiver, point) = ReceiverSetup::new(&SESSION, 0, params, &mut prg);
    let mut sender = SenderSetup::new(&SESSION, 0, params, delta).expect("odd");
    for _ in 0..base::PARTS {
        sender.base().part(&mut prg);
    }
    let first = start.elapsed();
    let mut parts = sender.base().sent().chunks(base::PART_LEN);
    parts.try_for_each(|part| receiver.base().take(part)).expect("honest points");
    let (receiver, trees) = receiver.finish(&mut prg).expect("all points");
    let second = start.elapsed() - first;
    let sender = sender.finish(&point, &trees).expect("honest trees");
    let third = start.elapsed() - first - second;
    println!("setup: points {first:.1?}, receiver {second:.1?}, sender {third:.1?}");
    (sender, receiver)
}

fn loopback(params: Params) {
    let listener = tcp_listen("127.0.0.1:0").expect("a port");
    let address = listener.address().to_string();
    let limit = Duration::from_secs(5);
    let mut blocks = vec![Block::ZERO; 1 << 20];
    let receiver = thread::spawn(move || {
        let mut ch: Channel = tcp_accept(&listener, limit).expect("a peer");
        let mut prg = Prg::from_os();
        let cot = CotReceiver::setup(&mut ch, &SESSION, 0, params, &mut prg);
        let mut cot = cot.expect("an honest peer");
        let mut macs = vec![Block::ZERO; 1 << 20];
        for _ in 0..COTS >> 20 {
            cot.extend(&mut ch, &mut macs).expect("a channel");
        }
        ch.close();
    });
    let mut ch = tcp_connect(&address, limit).expect("a peer");
    let (mut prg, start) = (Prg::from_os(), Instant::now());
    let delta = prg.block().with_lsb(true);
    let cot = CotSender::setup(&mut ch, &SESSION, 0, params, delta, &mut prg);
    let mut cot = cot.expect("an honest peer");
    let set_up = start.elapsed();
    for _ in 0..COTS >> 20 {
        cot.extend(&mut ch, &mut blocks).expect("an honest peer");
    }
    println!("loopback: setup {set_up:.1?}, then {}", rate(start.elapsed() - set_up));
    ch.close();
    receiver.join().expect("no panic");
}

/// COTs of a call.
const PIECE: usize = 255 * 128;

/// Silent OT in one direction and in both, in memory.
fn silent() {
    let (mut a, mut b) = mem_pair();
    let receiver = thread::spawn(move || {
        let mut prg = Prg::from_os();
        let cot = Choice::silent().receiver(&mut b, &SESSION, 0, &mut prg);
        let mut cot = cot.expect("an honest peer");
        let mut macs = vec![Block::ZERO; PIECE];
        (0..COTS / PIECE).for_each(|_| cot.extend(&mut b, &mut macs).expect("an honest peer"));
        b
    });
    let (mut prg, start) = (Prg::from_os(), Instant::now());
    let delta = prg.block().with_lsb(true);
    let cot = Choice::silent().sender(&mut a, &SESSION, 0, delta, &mut prg);
    let mut cot = cot.expect("an honest peer");
    let (set_up, mut keys) = (start.elapsed(), vec![Block::ZERO; PIECE]);
    let before = a.counters().total();
    (0..COTS / PIECE).for_each(|_| cot.extend(&mut a, &mut keys).expect("an honest peer"));
    let mut b = receiver.join().expect("no panic");
    let time = start.elapsed() - set_up;
    let after = a.counters().total();
    let bytes = after.bytes_sent + after.bytes_received - before.bytes_sent - before.bytes_received;
    let per_cot = bytes as f64 / COTS as f64;
    println!("one way: setup {set_up:.1?}, then {}, {per_cot:.3} bytes a COT", rate(time));
    let other = thread::spawn(move || duplex(&mut b, Role::Evaluator));
    let times = duplex(&mut a, Role::Garbler);
    other.join().expect("no panic");
    let [steps, macs, keys] = times.map(rate);
    println!("both ways: extensions {steps}, MACs {macs}, keys {keys}");
}

/// Time in extensions, in taking MACs and in taking keys.
fn duplex(ch: &mut Channel, role: Role) -> [Duration; 3] {
    let mut prg = Prg::from_os();
    let delta = prg.block().with_lsb(true);
    let cots = Duplex::setup(ch, &SESSION, role, Choice::silent(), delta, &mut prg);
    let mut cots = cots.expect("an honest peer");
    let (mut times, mut blocks) = ([Duration::ZERO; 3], vec![Block::ZERO; PIECE]);
    let mut time = |i: usize, work: &mut dyn FnMut() -> Result<(), cenote_net::Fault>| {
        let start = Instant::now();
        work().expect("an honest peer");
        times[i] += start.elapsed();
    };
    for _ in 0..COTS / PIECE {
        if cots.ready() < PIECE as u64 {
            time(0, &mut || {
                cots.begin(ch)?;
                (0..cots.steps()).try_for_each(|_| cots.step(ch))
            });
        }
        time(1, &mut || cots.take_macs(ch, &mut blocks));
        time(2, &mut || cots.take_keys(ch, &mut blocks));
    }
    times
}

fn rate(time: Duration) -> String {
    format!("{:.1} M COT/s", COTS as f64 / time.as_secs_f64() / 1e6)
}
