//! Random modules: both forms, execution, counts and streams agree, and broken files are refused.

mod random;

use std::cell::Cell;

use cenote_circuit::{Circuit, Clear, Counter};
use cenote_program::Module;
use proptest::prelude::*;

use random::{Limits, Random, Sample};

const REACTIVE: Limits = Limits { statements: 40, width: 9, reveals: true };
const QUIET: Limits = Limits { reveals: false, ..REACTIVE };

proptest! {
    // A failure names its seed.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn forms_round_trip(seed: u64) {
        let Sample { module, .. } = Sample::new(seed, REACTIVE);
        let (text, bytes) = (module.to_text(), module.to_bytes());
        let parsed = Module::parse_text(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert_eq!(&parsed, &module);
        prop_assert_eq!(&parsed.to_text(), &text);
        let read = Module::from_bytes(&bytes).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert_eq!(&read, &module);
        prop_assert_eq!(read.digest(), module.digest());
    }

    #[test]
    fn modules_compute_what_they_say(seed: u64) {
        let sample = Sample::new(seed, REACTIVE);
        for round in 0..4 {
            let inputs = sample.input_bits(seed ^ round);
            let Ok(expected) = sample.reference(&inputs) else { break };
            let got = sample.module.evaluate(&inputs);
            prop_assert_eq!(got, expected, "{}\n{:?}", sample.module.to_text(), inputs);
        }
    }

    #[test]
    fn counts_and_circuits_are_those_of_the_stream(seed: u64) {
        let sample = Sample::new(seed, QUIET);
        let stats = sample.module.stats().unwrap();
        let stream = sample.module.stream().unwrap();
        let counts = Counter::count(&stream);
        let branches = sample.module.to_text().contains(" if %");
        if branches {
            prop_assert!(stats.ands >= counts.and);
        } else {
            let (got, expected) = ((stats.ands, stats.xors, stats.nots), (counts.and, counts.xor, counts.not));
            prop_assert_eq!(got, expected, "{}", sample.module.to_text());
            // A tape by layers has fewer.
            prop_assert!(stats.batches >= counts.and_batches, "{}", sample.module.to_text());
        }
        prop_assert!(stats.depth >= u64::from(counts.and_depth));
        let circuit = Circuit::from_program(&stream).unwrap();
        let inputs = sample.input_bits(seed);
        prop_assert_eq!(Clear::eval(&circuit, &inputs), sample.module.evaluate(&inputs));
    }

    #[test]
    fn broken_bytes_are_refused_or_canonical(seed: u64) {
        let mut random = Random(seed);
        let mut bytes = Sample::new(seed, REACTIVE).module.to_bytes();
        for _ in 0..8 {
            mutate(&mut bytes, &mut random, |r| r.next() as u8);
            match Module::from_bytes(&bytes) {
                Ok(module) => prop_assert_eq!(module.to_bytes(), bytes.clone()),
                Err(error) => {
                    prop_assert!(error.offset <= bytes.len());
                    prop_assert!(!error.what.is_empty());
                }
            }
        }
    }

    #[test]
    fn broken_texts_are_refused_or_round_trip(seed: u64) {
        const CHARACTERS: &[u8] = b"%{}()|,:=+-*<>#\"\\ \nx0123456789abfis";
        let mut random = Random(seed);
        let mut text = Sample::new(seed, REACTIVE).module.to_text().into_bytes();
        for _ in 0..8 {
            mutate(&mut text, &mut random, |r| r.pick(CHARACTERS).unwrap());
            let text = String::from_utf8_lossy(&text);
            match Module::parse_text(&text) {
                Ok(module) => {
                    let canonical = module.to_text();
                    let again = Module::parse_text(&canonical);
                    prop_assert_eq!(again.as_ref(), Ok(&module));
                    prop_assert_eq!(Module::from_bytes(&module.to_bytes()), Ok(module));
                }
                Err(error) => {
                    prop_assert!(error.line >= 1 && error.line <= text.lines().count() + 1);
                    prop_assert!(error.column >= 1 && !error.what.is_empty());
                }
            }
        }
    }
}

/// Replaces, removes, doubles or adds a few bytes.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random, byte: impl Fn(&mut Random) -> u8) {
    let last = bytes.len().saturating_sub(1) as u32;
    let at = random.within(0, last) as usize;
    match random.within(0, 4) {
        0 if !bytes.is_empty() => drop(bytes.remove(at)),
        1 => bytes.insert(at, byte(random)),
        2 => {
            let end = (at + random.within(1, 20) as usize).min(bytes.len());
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
        _ if !bytes.is_empty() => bytes[at] = byte(random),
        _ => {}
    }
}

/// Every operation, and every kind of statement, is met often enough for the properties to mean
/// something.
#[test]
fn samples_hold_everything() {
    let mut text = String::new();
    let ties = Cell::new(0);
    for seed in 0..400 {
        let sample = Sample::new(seed, REACTIVE);
        text.push_str(&sample.module.to_text());
        if sample.reference(&sample.input_bits(seed)).is_err() {
            ties.set(ties.get() + 1);
        }
    }
    let controls = ["const", "lanes", "put", "gather", "reveal", "for", "map", "if", "call"];
    let words = cenote_program::WordOp::ALL.iter().map(|op| op.name());
    for name in words.chain(controls) {
        let count = text.lines().filter(|line| {
            let op = line.split(" = ").last().unwrap().trim_start();
            op.split([' ', '{']).next() == Some(name)
        });
        assert!(count.count() >= 5, "{name}");
    }
    assert!(ties.get() < 100, "{} samples have ties", ties.get());
}
