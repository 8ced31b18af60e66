//! Truth tables and covers as few ANDs.

use crate::gates::Gates;
use crate::record::{Literal, RecordError, Recorder};

/// The most inputs of a truth table.
pub(super) const MAX_TABLE: usize = 6;

/// Truth tables of the six variables.
const VARIABLES: [u64; MAX_TABLE] = [
    0xaaaa_aaaa_aaaa_aaaa,
    0xcccc_cccc_cccc_cccc,
    0xf0f0_f0f0_f0f0_f0f0,
    0xff00_ff00_ff00_ff00,
    0xffff_0000_ffff_0000,
    0xffff_ffff_0000_0000,
];

/// The function of at most [`MAX_TABLE`] inputs whose value for the assignment i is bit i of `truth`;
/// the first input is the least significant bit of i.
///
/// Functions of three inputs take as few ANDs as possible: none if they are linear, one if they are
/// quadratic (carry, majority, multiplexer), else two. Larger ones are split as
/// f = f0 xor x (f0 xor f1) until three inputs are left.
pub(super) fn table(
    g: &mut Recorder,
    truth: u64,
    inputs: &[Literal],
) -> Result<Literal, RecordError> {
    let used = (0..inputs.len()).filter(|v| halves(truth, *v).0 != halves(truth, *v).1);
    let used: Vec<usize> = used.collect();
    if used.len() <= 3 {
        return small(g, normal_form(truth), &used, inputs);
    }
    let best = used.into_iter().min_by_key(|v| {
        let (low, high) = halves(truth, *v);
        products(low) + products(low ^ high)
    });
    let Some(split) = best else { return g.constant(truth & 1 == 1) };
    let (low, high) = halves(truth, split);
    let rest = table(g, low, inputs)?;
    let change = table(g, low ^ high, inputs)?;
    let change = g.and(&inputs[split], &change)?;
    g.xor(&rest, &change)
}

/// The functions for a variable that is 0 and 1; neither depends on it any more.
fn halves(truth: u64, variable: usize) -> (u64, u64) {
    let (mask, shift) = (VARIABLES[variable], 1 << variable);
    let (low, high) = (truth & !mask, truth & mask);
    (low | low << shift, high | high >> shift)
}

/// The algebraic normal form: bit i is the coefficient of the product of the variables in i.
fn normal_form(truth: u64) -> u64 {
    let mut form = truth;
    for (variable, mask) in VARIABLES.iter().enumerate() {
        form ^= (form & !mask) << (1 << variable);
    }
    form
}

/// Products of two or more variables in the normal form.
fn products(truth: u64) -> u32 {
    // Bits 0, 1, 2, 4, 8, 16 and 32 are the constant and the variables.
    (normal_form(truth) & !0x0000_0001_0001_0117).count_ones()
}

/// A normal form in at most three variables, those of `used`.
fn small(
    g: &mut Recorder,
    form: u64,
    used: &[usize],
    inputs: &[Literal],
) -> Result<Literal, RecordError> {
    let coefficient = |product: &[usize]| {
        let product = product.iter().map(|i| used.get(*i).map(|v| 1u32 << v));
        product.sum::<Option<u32>>().is_some_and(|i| form >> i & 1 == 1)
    };
    // A product of two variables shall be one of x and y.
    let [mut x, mut y, mut z] = [0, 1, 2];
    if !coefficient(&[x, y]) {
        if coefficient(&[x, z]) {
            (y, z) = (z, y);
        } else if coefficient(&[y, z]) {
            (x, z) = (z, x);
        }
    }
    let [xy, xz, yz] = [coefficient(&[x, y]), coefficient(&[x, z]), coefficient(&[y, z])];
    let mut linear = [coefficient(&[x]), coefficient(&[y]), coefficient(&[z])];
    let mut constant = coefficient(&[]);
    let zero = g.constant(false)?;
    let [x, y, z] = [x, y, z].map(|i| used.get(i).map_or(zero, |v| inputs[*v]));
    let mut product = zero;
    if coefficient(&[0, 1, 2]) {
        // With t = (x + yz)(y + xz), where xz and yz are the coefficients, the function is
        // t (z + xy) + xy (xz x + yz y + xz yz) + xz yz z + linear terms.
        let (left, right) = (plus(g, x, yz)?, plus(g, y, xz)?);
        let t = g.and(&left, &right)?;
        let factor = plus(g, z, xy)?;
        product = g.and(&t, &factor)?;
        linear = [linear[0] ^ (xy & xz), linear[1] ^ (xy & yz), linear[2] ^ (xz & yz)];
        constant ^= xy & xz & yz;
    } else if xy {
        // (x + yz z)(y + xz z). Linear terms stay outside: so functions that differ only in these, an
        // AND, an OR and a NOR, share their product.
        let left = if yz { g.xor(&x, &z)? } else { x };
        let right = if xz { g.xor(&y, &z)? } else { y };
        product = g.and(&left, &right)?;
        linear[2] ^= xz & yz;
    }
    let mut sum = product;
    for (wanted, variable) in linear.into_iter().zip([x, y, z]) {
        if wanted {
            sum = g.xor(&sum, &variable)?;
        }
    }
    plus(g, sum, constant)
}

/// A literal plus a constant.
fn plus(g: &mut Recorder, literal: Literal, constant: bool) -> Result<Literal, RecordError> {
    if constant { g.not(&literal) } else { Ok(literal) }
}

/// The truth table of a cover: rows of `0`, `1` and `-`, one character for each of at most
/// [`MAX_TABLE`] inputs.
pub(super) fn truth_of_cover(rows: &[&str]) -> u64 {
    let row = |row: &&str| {
        row.bytes().zip(VARIABLES).fold(u64::MAX, |truth, (byte, variable)| match byte {
            b'1' => truth & variable,
            b'0' => truth & !variable,
            _ => truth,
        })
    };
    rows.iter().map(row).fold(0, |all, truth| all | truth)
}

/// A cover of any number of inputs, product by product.
pub(super) fn cover(
    g: &mut Recorder,
    rows: &[&str],
    inputs: &[Literal],
) -> Result<Literal, RecordError> {
    let exclusive = exclusive(rows);
    let mut any = g.constant(false)?;
    for row in rows {
        let mut all = g.constant(true)?;
        for (byte, input) in row.bytes().zip(inputs) {
            let literal = match byte {
                b'1' => *input,
                b'0' => g.not(input)?,
                _ => continue,
            };
            all = g.and(&all, &literal)?;
        }
        any = if exclusive {
            g.xor(&any, &all)?
        } else {
            let (neither, none) = (g.not(&any)?, g.not(&all)?);
            let neither = g.and(&neither, &none)?;
            g.not(&neither)?
        };
    }
    Ok(any)
}

/// Whether no two rows hold at once, so that their sum is their disjunction. Only looked into for a
/// few rows.
fn exclusive(rows: &[&str]) -> bool {
    const FEW: usize = 64;
    let apart = |a: &str, b: &str| {
        a.bytes().zip(b.bytes()).any(|pair| matches!(pair, (b'0', b'1') | (b'1', b'0')))
    };
    rows.len() <= FEW && rows.iter().enumerate().all(|(i, a)| rows[..i].iter().all(|b| apart(a, b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::bits_of;
    use crate::circuit::Circuit;
    use crate::clear::Clear;
    use crate::program::Signature;

    fn recorded(
        inputs: usize,
        build: impl Fn(&mut Recorder, &[Literal]) -> Result<Literal, RecordError>,
    ) -> Circuit {
        let signature = Signature::new().input("x", inputs, None).output("z", 1, None);
        let (mut recorder, ports) = Recorder::new(&signature).unwrap();
        let out = build(&mut recorder, &ports[0]).unwrap();
        recorder.finish("table", signature, &[vec![out]]).unwrap()
    }

    fn check(circuit: &Circuit, inputs: usize, truth: u64) {
        for i in 0..1u128 << inputs {
            let out = Clear::eval(circuit, &[bits_of(i, inputs)]);
            assert_eq!(out[0][0], truth >> i & 1 == 1, "{truth:x} at {i}");
        }
    }

    #[test]
    fn three_inputs_take_the_fewest_ands() {
        for truth in 0..256u64 {
            let circuit = recorded(3, |g, inputs| table(g, truth, inputs));
            check(&circuit, 3, truth);
            let form = normal_form(truth) & 0xff;
            let expected = match (form >> 7 & 1, form & 0b0110_1000) {
                (1, _) => 2,
                (0, 0) => 0,
                _ => 1,
            };
            assert_eq!(circuit.stats().and, expected, "{truth:08b}");
        }
    }

    #[test]
    fn larger_tables_and_their_covers_agree() {
        let mut truth = 0x9e37_79b9_7f4a_7c15u64;
        for round in 0..300 {
            truth = truth.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(round);
            let inputs = 4 + round as usize % 3;
            let used = if inputs == 6 { truth } else { truth & ((1 << (1 << inputs)) - 1) };
            check(&recorded(inputs, |g, x| table(g, used, x)), inputs, used);
            let bits = |i: usize| (0..inputs).map(move |v| char::from(b'0' + (i >> v & 1) as u8));
            let ones = (0..1usize << inputs).filter(|i| used >> i & 1 == 1);
            let rows: Vec<String> = ones.map(|i| bits(i).collect()).collect();
            let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
            let mask = if inputs == 6 { u64::MAX } else { (1 << (1 << inputs)) - 1 };
            assert_eq!(truth_of_cover(&rows) & mask, used);
            check(&recorded(inputs, |g, x| cover(g, &rows, x)), inputs, used);
        }
    }

    #[test]
    fn overlapping_rows_are_a_disjunction() {
        let rows = ["1-------", "-1------", "00-----1"];
        let circuit = recorded(8, |g, inputs| cover(g, &rows, inputs));
        for i in 0..256u128 {
            let expected = i & 3 != 0 || i >> 7 & 1 == 1;
            assert_eq!(Clear::eval(&circuit, &[bits_of(i, 8)])[0][0], expected, "{i}");
        }
        let parity = ["1000000", "0100000", "0010000"];
        let circuit = recorded(7, |g, inputs| cover(g, &parity, inputs));
        assert!(circuit.stats().and < 3 * 7, "{} ANDs", circuit.stats().and);
    }

    #[test]
    fn chains_share_their_parts() {
        // The AND and the OR of six take five ANDs.
        for truth in [1u64 << 63, !1u64] {
            assert_eq!(recorded(6, |g, inputs| table(g, truth, inputs)).stats().and, 5);
        }
    }
}
