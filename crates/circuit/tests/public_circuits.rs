//! The public circuits in Bristol Fashion, against arithmetic and the standards.

use std::io::Write as _;
use std::path::PathBuf;

use cenote_circuit::gadgets::{divide, divide_signed};
use cenote_circuit::{
    Circuit, Clear, bits_of, hex_from_bits, read_circuit, value_from_hex, value_of,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// The circuit, or nothing when the data directory is missing, which CI does not forgive.
fn public(name: &str) -> Option<Circuit> {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = data.join("bristol-fashion").join(name);
    if !path.exists() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", path.display());
        // The harness swallows what passing tests print.
        let _ = writeln!(std::io::stderr(), "skipped: {} is missing", path.display());
        return None;
    }
    Some(read_circuit(&path).unwrap())
}

fn eval(circuit: &Circuit, inputs: &[u64]) -> u64 {
    let inputs: Vec<_> = inputs.iter().map(|value| bits_of((*value).into(), 64)).collect();
    value_of(&Clear::eval(circuit, &inputs)[0]) as u64
}

/// Numbers that are often small, large or a power of two.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => any::<u64>(),
        1 => 0..4u64,
        1 => (0..64u32).prop_map(|bit| 1 << bit),
        1 => (0..64u32).prop_map(|bits| u64::MAX >> bits),
        1 => (0..4u64).prop_map(|below| u64::MAX - below),
    ]
}

fn check<S: Strategy>(cases: u32, strategy: S, test: impl Fn(S::Value)) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&strategy, |value| {
            test(value);
            Ok(())
        })
        .unwrap();
}

#[test]
fn integers() {
    type Binary = (&'static str, fn(u64, u64) -> u64);
    let binary: [Binary; 3] = [
        ("adder64.txt", u64::wrapping_add),
        ("sub64.txt", u64::wrapping_sub),
        ("mult64.txt", u64::wrapping_mul),
    ];
    for (name, function) in binary {
        let Some(circuit) = public(name) else { continue };
        check(300, (number(), number()), |(a, b)| {
            assert_eq!(eval(&circuit, &[a, b]), function(a, b), "{name} {a} {b}");
        });
    }
    if let Some(circuit) = public("neg64.txt") {
        check(300, number(), |a| assert_eq!(eval(&circuit, &[a]), a.wrapping_neg()));
    }
    if let Some(circuit) = public("zero_equal.txt") {
        check(300, number(), |a| assert_eq!(eval(&circuit, &[a]), u64::from(a == 0)));
        (0..64).for_each(|bit| assert_eq!(eval(&circuit, &[1 << bit]), 0));
    }
}

#[test]
fn unsigned_division_including_divisors_of_2_to_the_63_and_more() {
    let Some(circuit) = public("udivide64.txt") else { return };
    // Copies of this circuit are in circulation that are wrong for divisors of 2^63 and more; the
    // one at hand must not be.
    let large = number().prop_map(|divisor| divisor | 1 << 63);
    check(600, (number(), prop_oneof![number(), large]), |(a, b)| {
        assert_eq!(eval(&circuit, &[a, b]), a.checked_div(b).unwrap_or(u64::MAX), "{a} / {b}");
    });
    let edges = [0, 1, 2, 3, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX];
    for (a, b) in edges.iter().flat_map(|&a| edges.map(|b| (a, b))) {
        assert_eq!(eval(&circuit, &[a, b]), a.checked_div(b).unwrap_or(u64::MAX), "{a} / {b}");
    }
}

#[test]
fn signed_division() {
    let Some(circuit) = public("divide64.txt") else { return };
    let quotient = |x: i64, y: i64| eval(&circuit, &[x as u64, y as u64]) as i64;
    check(600, (number(), number().prop_filter("not zero", |b| *b != 0)), |(a, b)| {
        let (x, y) = (a as i64, b as i64);
        assert_eq!(quotient(x, y), x.wrapping_div(y), "{x} / {y}");
    });
    let edges = [i64::MIN, i64::MIN + 1, -3, -2, -1, 0, 1, 2, 3, i64::MAX - 1, i64::MAX];
    for (x, y) in edges.iter().flat_map(|&x| edges.map(|y| (x, y))).filter(|(_, y)| *y != 0) {
        assert_eq!(quotient(x, y), x.wrapping_div(y), "{x} / {y}");
    }
    // By zero the file gives -1, or 1 for a negative dividend, or 2 for the least one; our own gadget
    // always gives -1.
    for (x, by_zero) in [(7, -1), (0, -1), (-7, 1), (i64::MIN + 1, 1), (i64::MIN, 2)] {
        assert_eq!(quotient(x, 0), by_zero, "{x} / 0");
    }
}

#[test]
fn our_own_gadgets_agree_on_the_quotients() {
    check(200, (number(), number()), |(a, b)| {
        let (x, y) = (bits_of(a.into(), 64), bits_of(b.into(), 64));
        let Ok((quotient, _)) = divide(&mut Clear, &x, &y);
        assert_eq!(value_of(&quotient) as u64, a.checked_div(b).unwrap_or(u64::MAX));
        let Ok((quotient, _)) = divide_signed(&mut Clear, &x, &y);
        let expected = if b == 0 { -1 } else { (a as i64).wrapping_div(b as i64) };
        assert_eq!(value_of(&quotient) as u64 as i64, expected);
    });
}

#[test]
fn floating_point_addition() {
    let Some(circuit) = public("FP-add.txt") else { return };
    let add = |a: f64, b: f64| f64::from_bits(eval(&circuit, &[a.to_bits(), b.to_bits()]));
    check(2000, (prop::num::f64::NORMAL, prop::num::f64::NORMAL), |(a, b)| {
        let sum = a + b;
        if sum.is_normal() || sum == 0.0 {
            assert_eq!(add(a, b).to_bits(), sum.to_bits(), "{a} + {b}");
        }
    });
    // Exponents close enough for cancellation and rounding to matter.
    check(2000, (any::<u64>(), any::<u64>(), 0..60u64, any::<bool>(), any::<bool>()), |t| {
        let (x, y, distance, s, u) = t;
        let fraction = |bits: u64| bits >> 12;
        let a = f64::from_bits(u64::from(s) << 63 | 1000 << 52 | fraction(x));
        let b = f64::from_bits(u64::from(u) << 63 | (1000 + distance) << 52 | fraction(y));
        assert_eq!(add(a, b).to_bits(), (a + b).to_bits(), "{a:e} + {b:e}");
        assert_eq!(add(b, a).to_bits(), (a + b).to_bits(), "{b:e} + {a:e}");
    });
}

#[test]
fn aes_takes_the_hexadecimal_digits_of_the_standard() {
    let Some(circuit) = public("aes_128.txt") else { return };
    let key = value_from_hex("key", 128, "000102030405060708090a0b0c0d0e0f").unwrap();
    let block = value_from_hex("block", 128, "00112233445566778899aabbccddeeff").unwrap();
    let out = Clear::eval(&circuit, &[key, block]);
    assert_eq!(hex_from_bits(&out[0]), "69c4e0d86a7b0430d8cdb78070b4c55a");
    assert_eq!(circuit.stats().and, 6400);
}

#[test]
fn sha_256_takes_the_hexadecimal_digits_of_the_standard() {
    let Some(circuit) = public("sha256.txt") else { return };
    let block = format!("61626380{:0120x}", 24);
    let state = "6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19";
    let inputs =
        [value_from_hex("b", 512, &block).unwrap(), value_from_hex("s", 256, state).unwrap()];
    let out = Clear::eval(&circuit, &inputs);
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(hex_from_bits(&out[0]), expected);
    assert_eq!(circuit.stats().and, 22_573);
}
