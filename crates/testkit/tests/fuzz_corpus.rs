//! The fuzz targets on stable Rust: their saved corpus, then seeded random mutations of it.
//!
//! Longer runs with coverage feedback: `make fuzz`. What those find goes into `fuzz/corpus`, so that
//! it stays found here.

// A crate of its own for libFuzzer, a module here.
#[allow(unreachable_pub)]
#[path = "../../../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;
use std::time::{Duration, Instant};

use cenote_prim::{Block, Prg};

/// Time spent on mutations of each target.
const MUTATION_TIME: Duration = Duration::from_secs(2);
/// Longest time for one input: none of the targets may be made slow by a small input.
const SLOWEST: Duration = Duration::from_secs(5);
/// Longest mutated input, in bytes.
const LONGEST: usize = 64 << 10;
/// Values that break length arithmetic.
const EDGES: [u32; 8] = [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

fn run(name: &str, target: fn(&[u8]), input: &[u8]) {
    let start = Instant::now();
    let outcome = catch_unwind(|| target(input));
    let shown: String = input.iter().take(2048).map(|byte| format!("{byte:02x}")).collect();
    assert!(outcome.is_ok(), "{name} panicked on {} bytes: {shown}", input.len());
    assert!(start.elapsed() < SLOWEST, "{name} took {:?} on {shown}", start.elapsed());
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let entries =
        fs::read_dir(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("readable")).collect()
}

/// Random choices from a fixed seed.
struct Dice(Prg);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        let mut bytes = [0; 8];
        self.0.fill_bytes(&mut bytes);
        (u64::from_le_bytes(bytes) % bound.max(1) as u64) as usize
    }

    /// One random change to `input`; `other` lends pieces.
    fn mutate(&mut self, input: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(input.len() + 1);
        let end = (at + self.below(64)).min(input.len());
        match self.below(8) {
            0 if at < input.len() => input[at] ^= 1 << self.below(8),
            1 if at < input.len() => input[at] = self.below(256) as u8,
            2 => input.truncate(at),
            3 => drop(input.drain(at..end)),
            4 => {
                let piece = input[at..end].to_vec();
                input.splice(at..at, piece);
            }
            5 => {
                let from = self.below(other.len() + 1);
                let piece = &other[from..(from + self.below(256)).min(other.len())];
                input.splice(at..at, piece.iter().copied());
            }
            6 => {
                let edge = EDGES[self.below(EDGES.len())].to_le_bytes();
                let width = [1, 2, 4][self.below(3)];
                let until = (at + width).min(input.len());
                input.splice(at..until, edge[..width].iter().copied());
            }
            _ => {
                // The same for formats that are text.
                let edge = EDGES[self.below(EDGES.len())].to_string();
                input.splice(at..end.min(at + 3), edge.bytes());
            }
        }
        input.truncate(LONGEST);
    }
}

fn exercise(name: &str) {
    let (_, target) = targets::TARGETS.iter().find(|(known, _)| *known == name).expect("a target");
    let corpus = corpus(name);
    assert!(!corpus.is_empty(), "fuzz/corpus/{name} is empty");
    for input in &corpus {
        run(name, *target, input);
    }
    let mut dice = Dice(Prg::new(Block::new(0xf0cc)));
    let (start, mut count) = (Instant::now(), 0u64);
    while start.elapsed() < MUTATION_TIME {
        let mut input = corpus[dice.below(corpus.len())].clone();
        for _ in 0..=dice.below(4) {
            let other = dice.below(corpus.len());
            dice.mutate(&mut input, &corpus[other]);
        }
        run(name, *target, &input);
        count += 1;
    }
    println!("{name}: {} saved inputs, {count} mutations", corpus.len());
}

#[test]
fn every_target_has_a_test_and_a_corpus() {
    let tested = [
        "aiger",
        "blif",
        "bristol",
        "bristol_stream",
        "certificate",
        "codec",
        "garble",
        "handshake",
        "ihash",
        "limits",
        "opening",
        "ot",
        "ports",
        "program_binary",
        "program_text",
        "shdl",
        "tls",
        "values",
        "watch",
    ];
    let known: Vec<&str> = targets::TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(known, tested);
}

#[test]
fn aiger() {
    exercise("aiger");
}

#[test]
fn blif() {
    exercise("blif");
}

#[test]
fn bristol() {
    exercise("bristol");
}

#[test]
fn certificate() {
    exercise("certificate");
}

#[test]
fn bristol_stream() {
    exercise("bristol_stream");
}

#[test]
fn codec() {
    exercise("codec");
}

#[test]
fn garble() {
    exercise("garble");
}

#[test]
fn handshake() {
    exercise("handshake");
}

#[test]
fn ihash() {
    exercise("ihash");
}

#[test]
fn limits() {
    exercise("limits");
}

#[test]
fn opening() {
    exercise("opening");
}

#[test]
fn ot() {
    exercise("ot");
}

#[test]
fn ports() {
    exercise("ports");
}

#[test]
fn program_binary() {
    exercise("program_binary");
}

#[test]
fn program_text() {
    exercise("program_text");
}

#[test]
fn shdl() {
    exercise("shdl");
}

#[test]
fn tls() {
    exercise("tls");
}

#[test]
fn values() {
    exercise("values");
}

#[test]
fn watch() {
    exercise("watch");
}
