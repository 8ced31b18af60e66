//! Circuits of the EPFL benchmarks in AIGER and BLIF: the same functions, and those of arithmetic.

use std::io::Write as _;
use std::path::PathBuf;

use cenote_circuit::formats::aiger::{write_aiger_ascii, write_aiger_binary};
use cenote_circuit::formats::blif::write_blif;
use cenote_circuit::formats::{Format, Parsed, detect, parse_any};
use cenote_circuit::{Circuit, Clear, Program, bits_of, read_circuit, value_of};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/epfl").join(name)
}

/// The circuit in both formats, or nothing when the data directory is missing, which CI does not
/// forgive.
fn both(name: &str) -> Option<[Circuit; 2]> {
    let paths = ["aig", "blif"].map(|kind| path(&format!("{name}.{kind}")));
    if let Some(missing) = paths.iter().find(|path| !path.exists()) {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", missing.display());
        // The harness swallows what passing tests print.
        let _ = writeln!(std::io::stderr(), "skipped: {} is missing", missing.display());
        return None;
    }
    Some(paths.map(|path| read_circuit(&path).unwrap()))
}

/// Names and widths of ports.
type Named = Vec<(String, usize)>;

fn ports(circuit: &Circuit) -> (Named, Named) {
    let signature = circuit.signature();
    let inputs = signature.inputs.into_iter().map(|port| (port.name, port.bits));
    let outputs = signature.outputs.into_iter().map(|port| (port.name, port.bits));
    (inputs.collect(), outputs.collect())
}

fn named(ports: &[(&str, usize)]) -> Named {
    ports.iter().map(|(name, bits)| ((*name).to_owned(), *bits)).collect()
}

/// Evaluates both files on `inputs`; they have to agree.
fn eval(circuits: &[Circuit; 2], inputs: &[Vec<bool>]) -> Vec<u128> {
    let [a, b] = circuits.each_ref().map(|circuit| Clear::eval(circuit, inputs));
    assert_eq!(a, b);
    a.iter().map(|port| value_of(port)).collect()
}

/// Numbers that are often small, large or a power of two.
fn number() -> impl Strategy<Value = u128> {
    prop_oneof![
        4 => any::<u128>(),
        1 => 0..4u128,
        1 => (0..128u32).prop_map(|bit| 1 << bit),
        1 => (0..128u32).prop_map(|bits| u128::MAX >> bits),
        1 => (0..4u128).prop_map(|below| u128::MAX - below),
    ]
}

fn check<S: Strategy>(strategy: S, test: impl Fn(S::Value)) {
    let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
    let test = |value| {
        test(value);
        Ok(())
    };
    TestRunner::new(config).run(&strategy, test).unwrap();
}

#[test]
fn adder() {
    let Some(circuits) = both("adder") else { return };
    for circuit in &circuits {
        let (inputs, outputs) = ports(circuit);
        assert_eq!(inputs, named(&[("a", 128), ("b", 128)]));
        assert_eq!(outputs, named(&[("f", 128), ("cOut", 1)]));
    }
    check((number(), number()), |(a, b)| {
        let out = eval(&circuits, &[bits_of(a, 128), bits_of(b, 128)]);
        let (sum, carry) = a.overflowing_add(b);
        assert_eq!(out, [sum, carry.into()]);
    });
}

#[test]
fn barrel_shifter() {
    let Some(circuits) = both("bar") else { return };
    for circuit in &circuits {
        let (inputs, outputs) = ports(circuit);
        assert_eq!(inputs, named(&[("a", 128), ("shift", 7)]));
        assert_eq!(outputs, named(&[("result", 128)]));
    }
    check((number(), 0..128u32), |(a, shift)| {
        let out = eval(&circuits, &[bits_of(a, 128), bits_of(shift.into(), 7)]);
        assert_eq!(out, [a.rotate_left(shift)]);
    });
}

#[test]
fn what_is_written_is_the_same_function() {
    for name in ["adder", "bar", "max"] {
        let Some([circuit, _]) = both(name) else { return };
        let signature = circuit.signature();
        let parsed = Parsed::Circuit(circuit);
        let files = [
            (Format::AigerAscii, write_aiger_ascii(&parsed).into_bytes()),
            (Format::AigerBinary, write_aiger_binary(&parsed)),
            (Format::Blif, write_blif(&parsed).into_bytes()),
        ];
        let Parsed::Circuit(circuit) = parsed else { unreachable!("it has no latches") };
        for (format, bytes) in files {
            assert_eq!(detect("x", &bytes), Ok(format));
            let read = parse_any("x", &bytes).unwrap();
            assert_eq!(read.signature(), signature);
            assert_eq!(read.stats().and, circuit.stats().and);
            let inputs = signature
                .inputs
                .iter()
                .map(|port| (0..port.bits).map(|bit| bit % 3 == 0 || bit % 7 == 2).collect());
            let inputs: Vec<Vec<bool>> = inputs.collect();
            assert_eq!(Clear::eval(&read, &inputs), Clear::eval(&circuit, &inputs));
        }
    }
}

#[test]
fn max() {
    let Some(circuits) = both("max") else { return };
    for circuit in &circuits {
        let (inputs, outputs) = ports(circuit);
        assert_eq!(inputs, named(&[("in0", 128), ("in1", 128), ("in2", 128), ("in3", 128)]));
        assert_eq!(outputs, named(&[("result", 128), ("address", 2)]));
    }
    check([number(), number(), number(), number()], |numbers| {
        let out = eval(&circuits, &numbers.map(|number| bits_of(number, 128)));
        // The numbers are signed.
        let largest = numbers.into_iter().max_by_key(|number| *number as i128).unwrap();
        assert_eq!(out[0], largest);
        assert_eq!(numbers[out[1] as usize], largest);
    });
}
