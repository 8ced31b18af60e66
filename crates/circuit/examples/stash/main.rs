//! Measures the stash of Circuit ORAM, by the eviction of the circuit in the clear: the table of docs/protocols/ram.md, a row each.
//!
//! Usage: `cargo run --release -p cenote-circuit --example stash -- --blocks N --accesses M --seed S`, for N a power of two
//! from 4 on.

#[allow(dead_code, reason = "tests of the memory use all of it")]
mod plain;

fn main() {
    let (mut blocks, mut accesses, mut seed) = (256_u64, 1_000_000_u64, 1_u64);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match (word.as_str(), words.next().and_then(|number| number.parse().ok())) {
            ("--blocks", Some(number)) => blocks = number,
            ("--accesses", Some(number)) => accesses = number,
            ("--seed", Some(number)) => seed = number,
            _ => usage(),
        }
    }
    if blocks < 4 || !blocks.is_power_of_two() || accesses == 0 {
        usage();
    }
    println!(
        "{blocks} blocks, {accesses} accesses: -log2 of the share with more than r in the stash"
    );
    let depth = blocks.ilog2() as usize;
    let tail = plain::tail(depth, accesses, seed);
    for (r, count) in tail.into_iter().enumerate() {
        let share = (accesses as f64).log2() - (count as f64).log2();
        println!(
            "r = {r:2}: {share:5.1} ({count} times), the bound {:4.1}",
            plain::bound(depth, r)
        );
    }
}

fn usage() -> ! {
    eprintln!("usage: stash [--blocks N] [--accesses M] [--seed S], N a power of two from 4 on");
    std::process::exit(2)
}
