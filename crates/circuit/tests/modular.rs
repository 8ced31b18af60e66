//! Arithmetic modulo secret odd numbers against a library of large integers.

use std::convert::Infallible;

use cenote_circuit::gadgets::*;
use cenote_circuit::{Counter, Counts, Depth, Folded, Folding, Gates};
use num_bigint::BigUint;
use proptest::prelude::*;

/// 64 clear evaluations at once.
struct Words;

impl Gates for Words {
    type Wire = u64;
    type Error = Infallible;

    fn constant(&mut self, bit: bool) -> Result<u64, Infallible> {
        Ok(if bit { u64::MAX } else { 0 })
    }

    fn xor(&mut self, a: &u64, b: &u64) -> Result<u64, Infallible> {
        Ok(a ^ b)
    }

    fn not(&mut self, a: &u64) -> Result<u64, Infallible> {
        Ok(!a)
    }

    fn and(&mut self, a: &u64, b: &u64) -> Result<u64, Infallible> {
        Ok(a & b)
    }
}

fn ok<T>(result: Result<T, Infallible>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

/// Up to 64 numbers as words: word i holds bit i of all of them.
fn words(numbers: &[BigUint], width: usize) -> Vec<u64> {
    let bit = |i: usize, lane: usize| u64::from(numbers[lane].bit(i as u64)) << lane;
    (0..width).map(|i| (0..numbers.len()).map(|lane| bit(i, lane)).sum()).collect()
}

fn number(words: &[u64], lane: usize) -> BigUint {
    let mut number = BigUint::default();
    for (i, word) in words.iter().enumerate() {
        number.set_bit(i as u64, word >> lane & 1 == 1);
    }
    number
}

fn same(words: &[u64], expected: &[BigUint]) {
    for (lane, expected) in expected.iter().enumerate() {
        assert_eq!(&number(words, lane), expected, "lane {lane}");
    }
}

fn all(count: usize) -> Vec<BigUint> {
    (0..count).map(BigUint::from).collect()
}

#[test]
fn narrow_numbers_exhaustively() {
    for width in 1..=6 {
        let bases = all(1 << width);
        for modulus in all(1 << width).into_iter().skip(1).step_by(2) {
            let wide = words(&vec![modulus.clone(); 64], width);
            for exponent in all(1 << width) {
                let power = words(&vec![exponent.clone(); 64], width);
                let found = ok(mod_exp(&mut Words, &words(&bases, width), &power, &wide));
                let expected: Vec<_> =
                    bases.iter().map(|base| base.modpow(&exponent, &modulus)).collect();
                same(&found, &expected);
            }
        }
    }
}

/// Numbers of `width` bits from random bytes, extreme ones among them.
fn numbers(width: usize, bytes: &[u8]) -> Vec<BigUint> {
    let full = (BigUint::from(1u8) << width) - 1u8;
    let mut found = vec![BigUint::default(), BigUint::from(1u8), full.clone(), &full - 1u8];
    found.extend(bytes.chunks(width.div_ceil(8)).map(|chunk| {
        // Some numbers are short.
        let short = if chunk[0] % 4 == 0 { width / 2 } else { 0 };
        (BigUint::from_bytes_le(chunk) & &full) >> short
    }));
    found.truncate(64);
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn wide_numbers(
        width in prop_oneof![Just(32usize), Just(64), Just(128), Just(256), 60..140usize],
        bytes in prop::collection::vec(any::<u8>(), 4 * 64 * 32),
    ) {
        let quarter = bytes.len() / 4;
        let bases = numbers(width, &bytes[..quarter]);
        let mut moduli = numbers(width, &bytes[quarter..2 * quarter]);
        moduli.rotate_left(2);
        moduli.iter_mut().for_each(|modulus| modulus.set_bit(0, true));
        let mut exponents = numbers(9, &bytes[2 * quarter..]);
        exponents.rotate_left(1);
        let (a, m, e) = (words(&bases, width), words(&moduli, width), words(&exponents, 9));
        let expected: Vec<_> = (0..64).map(|i| bases[i].modpow(&exponents[i], &moduli[i])).collect();
        same(&ok(mod_exp(&mut Words, &a, &e, &m)), &expected);
        // The context, and its product of two numbers.
        let context = ok(MontgomeryContext::new(&mut Words, &m));
        let r = BigUint::from(1u8) << width;
        same(&context.one, &moduli.iter().map(|n| &r % n).collect::<Vec<_>>());
        same(&context.square, &moduli.iter().map(|n| &r * &r % n).collect::<Vec<_>>());
        let other = ok(context.enter(&mut Words, &words(&exponents, width)));
        let product = ok(mont_mul(&mut Words, &context, &a, &other));
        let expected: Vec<_> = (0..64).map(|i| &bases[i] * &exponents[i] % &moduli[i]).collect();
        same(&product, &expected);
    }
}

#[test]
fn an_exponent_of_many_windows() {
    let bytes: Vec<u8> = (0..4096u32).map(|i| ((i * i * 97 + i * 31) >> 5) as u8).collect();
    let bases = numbers(32, &bytes);
    let exponents = numbers(130, &bytes);
    let modulus = BigUint::from(0xffff_fffbu32);
    let (a, e) = (words(&bases, 32), words(&exponents, 130));
    let m = words(&vec![modulus.clone(); 64], 32);
    let expected: Vec<_> = (0..64).map(|i| bases[i].modpow(&exponents[i], &modulus)).collect();
    same(&ok(mod_exp(&mut Words, &a, &e, &m)), &expected);
}

type Wire = Folded<Depth>;

fn secret(width: usize) -> Vec<Wire> {
    vec![Folded::Wire(Depth(0)); width]
}

fn count<T>(run: impl FnOnce(&mut Folding<'_, Counter>) -> Result<T, Infallible>) -> Counts {
    let mut counter = Counter::new();
    ok(run(&mut Folding::new(&mut counter)));
    counter.counts()
}

/// ANDs, and gates of any kind, of a whole exponentiation: the steps are all alike.
fn exponentiation(width: usize) -> (u64, u64) {
    let x = secret(width);
    let both = |counts: Counts| [counts.and, counts.and + counts.xor + counts.not];
    let two = both(count(|g| mod_exp(g, &x, &x[..8], &x)));
    let context = MontgomeryContext {
        modulus: x.clone(),
        inverse: x.clone(),
        one: x.clone(),
        square: x.clone(),
    };
    let powers = vec![x.clone(); 16];
    let step = both(count(|g| mod_exp_step(g, &context, &powers, &x, &x[..4])));
    let steps = (width as u64).div_ceil(4) - 2;
    (two[0] + steps * step[0], two[1] + steps * step[1])
}

#[test]
fn costs_of_an_exponentiation() {
    let x = secret(64);
    let all = count(|g| mod_exp(g, &x, &x, &x));
    assert_eq!(exponentiation(64), (all.and, all.and + all.xor + all.not));
    assert_eq!(exponentiation(64), (672_519, 3_643_709));
    assert_eq!(exponentiation(256), (24_488_625, 131_250_399));
}
