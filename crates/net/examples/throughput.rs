//! Measures a channel on this machine: one-way throughput by frame size, and the round trip.
//!
//! `cargo run --release -p cenote-net --example throughput`

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use cenote_net::{
    Channel, Fault, Identity, Tag, mem_pair, tcp_accept, tcp_connect, tcp_listen, tls_accept,
    tls_connect,
};

const DATA: Tag = Tag::new(16, "data");
const BYTES: usize = 4 << 30;
const TRIPS: u32 = 20_000;

fn main() -> Result<(), Box<dyn Error>> {
    measure("mem", &|| Ok(mem_pair()))?;
    measure("tcp", &tcp_pair)?;
    measure("tls", &tls_pair)?;
    Ok(())
}

fn tcp_pair() -> Result<(Channel, Channel), Fault> {
    let limit = Duration::from_secs(5);
    let listener = tcp_listen("127.0.0.1:0")?;
    let connected = tcp_connect(&listener.address().to_string(), limit)?;
    Ok((tcp_accept(&listener, limit)?, connected))
}

fn tls_pair() -> Result<(Channel, Channel), Fault> {
    let limit = Duration::from_secs(5);
    let (server, client) = (Identity::generate("server")?, Identity::generate("client")?);
    let listener = tcp_listen("127.0.0.1:0")?;
    let address = listener.address().to_string();
    let (pinned, own) = (server.certificate().clone(), client.certificate().clone());
    let connecting = thread::spawn(move || tls_connect(&address, &client, &pinned, limit));
    let accepted = tls_accept(&listener, &server, &own, limit, |_, _| ())?;
    let connected = connecting.join().map_err(|_| Fault::Internal("a thread panicked".into()))?;
    Ok((accepted, connected?))
}

fn measure(name: &str, pair: &dyn Fn() -> Result<(Channel, Channel), Fault>) -> Result<(), Fault> {
    for size in [4 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20] {
        let seconds = one_way(pair()?, size)?;
        println!(
            "{name}: {:>7} byte frames, one way: {:.2} GB/s",
            size,
            BYTES as f64 / seconds / 1e9
        );
    }
    let seconds = round_trips(pair()?)?;
    println!("{name}: round trip: {:.1} us", seconds / f64::from(TRIPS) * 1e6);
    Ok(())
}

fn one_way((mut a, mut b): (Channel, Channel), size: usize) -> Result<f64, Fault> {
    let started = Instant::now();
    let sender = thread::spawn(move || -> Result<(), Fault> {
        pin(0);
        let block = vec![1; size];
        for _ in 0..BYTES / size {
            a.send(DATA, &block)?;
        }
        a.recv(DATA, 0)?;
        Ok(())
    });
    pin(1);
    let mut block = vec![0; size];
    for _ in 0..BYTES / size {
        b.recv_into(DATA, &mut block)?;
    }
    let seconds = started.elapsed().as_secs_f64();
    b.send(DATA, &[])?;
    b.flush()?;
    sender.join().map_err(|_| Fault::Internal("the sender panicked".into()))??;
    Ok(seconds)
}

fn round_trips((mut a, mut b): (Channel, Channel)) -> Result<f64, Fault> {
    let echo = thread::spawn(move || -> Result<(), Fault> {
        pin(0);
        let mut block = [0; 16];
        for _ in 0..TRIPS {
            a.recv_into(DATA, &mut block)?;
            a.send(DATA, &block)?;
        }
        a.flush()
    });
    pin(1);
    let mut block = [0; 16];
    let started = Instant::now();
    for _ in 0..TRIPS {
        b.send(DATA, &block)?;
        b.recv_into(DATA, &mut block)?;
    }
    let seconds = started.elapsed().as_secs_f64();
    echo.join().map_err(|_| Fault::Internal("the echo panicked".into()))??;
    Ok(seconds)
}

/// Binds this thread to one core; on failure the scheduler decides, and the figure is rougher.
fn pin(core: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(core);
    let _ = rustix::thread::sched_setaffinity(None, &set);
}
