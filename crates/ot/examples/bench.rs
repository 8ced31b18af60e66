//! Rates of correlated OT on one core: each side alone without I/O, and the setup.
//!
//! `cargo run --release -p cenote-ot --example bench [digit bits] [chunk]`

use std::time::{Duration, Instant};

use cenote_ot::{CotReceiver, CotSender, Params, ReceiverSetup, SenderSetup, message_len};
use cenote_prim::{Block, Prg, SessionId};

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse().expect("a number"));
    let digit_bits = args.next().unwrap_or(4);
    let chunk = args.next().unwrap_or(Params::default().chunk());
    let params = Params::new(digit_bits, chunk).expect("valid parameters");
    let (mut sender, mut receiver) = setup(params);
    let (mut keys, mut macs) = (vec![Block::ZERO; chunk], vec![Block::ZERO; chunk]);
    let mut message = Vec::new();
    let (mut sending, mut receiving) = (Duration::ZERO, Duration::ZERO);
    let rounds = (1 << 25) / chunk;
    for _ in 0..rounds {
        let start = Instant::now();
        receiver.produce(&mut macs, &mut message).expect("a chunk");
        receiving += start.elapsed();
        let start = Instant::now();
        sender.absorb(&message, &mut keys).expect("an honest chunk");
        sending += start.elapsed();
    }
    let delta = sender.delta();
    assert!(keys.iter().zip(&macs).all(|(k, m)| *k == *m ^ delta.times(m.lsb())));
    let rate = |time: Duration| (rounds * chunk) as f64 / time.as_secs_f64() / 1e6;
    println!("digits of {digit_bits} bits, chunks of {chunk}");
    println!("receiver {:7.1} M COT/s", rate(receiving));
    println!("sender   {:7.1} M COT/s", rate(sending));
    println!(
        "wire     {:7.2} bits per COT",
        8.0 * message_len(params, chunk) as f64 / chunk as f64
    );
}

fn setup(params: Params) -> (CotSender, CotReceiver) {
    let session = SessionId([1; 32]);
    let mut prg = Prg::from_os();
    let delta = prg.block().with_lsb(true);
    let start = Instant::now();
    let (receiver, point) = ReceiverSetup::new(&session, 0, params, &mut prg);
    let (sender, points) = SenderSetup::new(&session, 0, params, delta, &mut prg).expect("odd");
    let first = start.elapsed();
    let (receiver, trees) = receiver.finish(&points, &mut prg).expect("honest points");
    let second = start.elapsed() - first;
    let sender = sender.finish(&point, &trees).expect("honest trees");
    let third = start.elapsed() - first - second;
    println!("setup: choose {first:.1?}, receiver {second:.1?}, sender {third:.1?}");
    (sender, receiver)
}
