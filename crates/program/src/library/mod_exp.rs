//! Exponentiation modulo a secret odd number, after Montgomery (1985), in words.
//!
//! With R = 2^n for numbers of n bits, a number x stands for x / R. `cenote_circuit::gadgets` has the
//! same method gate by gate and says why each step is right; here the squares of a window, the windows
//! of the exponent and the doublings of the set-up are loops.

use cenote_circuit::{Receivers, Role};

use super::word;
use crate::builder::Builder;
use crate::error::BuildError;
use crate::module::Module;
use crate::op::{Affine, FunctionId, ValueId, WordOp};
use crate::shape::{Kind, Shape};

/// `base`^`exponent` modulo an odd `modulus`, numbers of `bits` bits: what RSA computes.
///
/// Inputs `exponent` and `modulus` of the garbler, `base` of the evaluator, which need not be below the
/// modulus; output `power` for both. Results for even moduli are meaningless.
///
/// # Errors
/// Less than 8 bits, or more than a number has.
pub fn mod_exp(bits: u32) -> Result<Module, BuildError> {
    if bits < MIN_BITS {
        return Err(BuildError::new(format!("exponentiation takes {MIN_BITS} bits at least")));
    }
    let mut b = Builder::new("mod-exp", "base to the power of exponent modulo an odd modulus")?;
    let shape = Shape::word(bits);
    let exponent = b.input("exponent", Role::Garbler, Kind::UInt, shape)?;
    let modulus = b.input("modulus", Role::Garbler, Kind::UInt, shape)?;
    let base = b.input("base", Role::Evaluator, Kind::UInt, shape)?;
    let reduce = reduce_function(&mut b, bits)?;
    let inverse = inverse(&mut b, modulus, bits)?;
    let field = Field { bits, modulus, inverse, reduce };
    let (one, square) = field.powers_of_two(&mut b)?;
    let base = field.product(&mut b, base, square)?;
    let powers = field.powers(&mut b, one, base)?;
    let power = field.windows(&mut b, powers, exponent)?;
    let wide = word(&mut b, WordOp::Zext, &[2 * bits], &[power])?;
    let power = field.reduced(&mut b, wide)?;
    b.output("power", Receivers::Both, Kind::UInt, power)?;
    b.finish()
}

/// The fewest bits of a modulus.
const MIN_BITS: u32 = 8;
/// Bits of an exponent that one step takes.
const WINDOW: u32 = 4;
/// The narrowest product that [`wrapped`] computes by halves.
const WRAPPED_FROM: u32 = 16;

/// Numbers modulo N, in Montgomery's form.
struct Field {
    bits: u32,
    modulus: ValueId,
    /// 1 / N modulo 2^n.
    inverse: ValueId,
    /// A product, N and 1 / N to the product / 2^n modulo N.
    reduce: FunctionId,
}

impl Field {
    fn reduced(&self, b: &mut Builder, product: ValueId) -> Result<ValueId, BuildError> {
        let results = b.call(self.reduce, &[product, self.modulus, self.inverse])?;
        Ok(results[0])
    }

    fn product(&self, b: &mut Builder, x: ValueId, y: ValueId) -> Result<ValueId, BuildError> {
        let product = word(b, WordOp::MulFull, &[], &[x, y])?;
        self.reduced(b, product)
    }

    fn square(&self, b: &mut Builder, x: ValueId) -> Result<ValueId, BuildError> {
        let square = word(b, WordOp::SquareFull, &[], &[x])?;
        self.reduced(b, square)
    }

    /// 2^n and 2^2n modulo N, by doubling.
    fn powers_of_two(&self, b: &mut Builder) -> Result<(ValueId, ValueId), BuildError> {
        // Residues between -N and N as n + 1 bits, signed; 1 - N is the first.
        let above = slice(b, self.modulus, 1, self.bits - 1)?;
        let even = word(b, WordOp::Zext, &[self.bits + 1], &[above])?;
        let even = word(b, WordOp::Shl, &[1], &[even])?;
        let first = word(b, WordOp::Neg, &[], &[even])?;
        let one = self.doubled(b, first)?;
        let square = self.doubled(b, one)?;
        Ok((self.lifted(b, one)?, self.lifted(b, square)?))
    }

    /// 2^n times a signed residue.
    fn doubled(&self, b: &mut Builder, residue: ValueId) -> Result<ValueId, BuildError> {
        let wide = word(b, WordOp::Zext, &[self.bits + 1], &[self.modulus])?;
        let (_, carried) = b.begin_for(self.bits, &[residue])?;
        // Twice a negative residue plus N, twice another minus N.
        let negative = slice(b, carried[0], self.bits, 1)?;
        let subtract = word(b, WordOp::Not, &[], &[negative])?;
        let flip = word(b, WordOp::Sext, &[self.bits + 1], &[subtract])?;
        let operand = word(b, WordOp::Xor, &[], &[wide, flip])?;
        let twice = word(b, WordOp::Shl, &[1], &[carried[0]])?;
        let next = add_bit(b, WordOp::Add, twice, operand, subtract)?[0];
        let next = slice(b, next, 1, self.bits + 1)?;
        Ok(b.end_for(&[next])?[0])
    }

    /// The residue that is not negative.
    fn lifted(&self, b: &mut Builder, residue: ValueId) -> Result<ValueId, BuildError> {
        let negative = slice(b, residue, self.bits, 1)?;
        let low = slice(b, residue, 0, self.bits)?;
        corrected(b, low, negative, self.modulus, self.bits)
    }

    /// The powers 0 .. 2^w - 1 of the base.
    fn powers(&self, b: &mut Builder, one: ValueId, base: ValueId) -> Result<ValueId, BuildError> {
        let rest = (1 << WINDOW) - 2;
        let zeros =
            b.constant(Shape::vector(rest, self.bits), &vec![false; (rest * self.bits) as usize])?;
        let table = word(b, WordOp::Join, &[], &[one, base, zeros])?;
        let (i, carried) = b.begin_for(rest / 2, &[table])?;
        let root = b.lanes(carried[0], Affine::at(1).plus(i, 1), 1, 1)?;
        let even = self.square(b, root)?;
        let odd = self.product(b, even, base)?;
        let pair = word(b, WordOp::Join, &[], &[even, odd])?;
        let table = b.put(carried[0], Affine::at(2).plus(i, 2), pair)?;
        Ok(b.end_for(&[table])?[0])
    }

    /// The power that the exponent names, window by window from above.
    fn windows(
        &self,
        b: &mut Builder,
        powers: ValueId,
        exponent: ValueId,
    ) -> Result<ValueId, BuildError> {
        let count = self.bits.div_ceil(WINDOW) - 1;
        // The first window, perhaps a narrow one, has nothing to square.
        let first = slice(b, exponent, count * WINDOW, self.bits - count * WINDOW)?;
        let power = word(b, WordOp::Lookup, &[], &[powers, first])?;
        let windows = slice(b, exponent, 0, count * WINDOW)?;
        let windows = word(b, WordOp::Reshape, &[count, WINDOW], &[windows])?;
        let (i, carried) = b.begin_for(count, &[power])?;
        let (_, squared) = b.begin_for(WINDOW, &carried)?;
        let square = self.square(b, squared[0])?;
        let power = b.end_for(&[square])?[0];
        let window = b.lanes(windows, Affine::at(i64::from(count) - 1).plus(i, -1), 1, 1)?;
        let factor = word(b, WordOp::Lookup, &[], &[powers, window])?;
        let power = self.product(b, power, factor)?;
        Ok(b.end_for(&[power])?[0])
    }
}

fn slice(b: &mut Builder, value: ValueId, from: u32, width: u32) -> Result<ValueId, BuildError> {
    word(b, WordOp::Slice, &[from, width], &[value])
}

/// `x + y + bit` above a bit that means nothing; the results of `op`, [`WordOp::Add`] or
/// [`WordOp::AddO`].
fn add_bit(
    b: &mut Builder,
    op: WordOp,
    x: ValueId,
    y: ValueId,
    bit: ValueId,
) -> Result<Vec<ValueId>, BuildError> {
    // One plus the bit carries the bit into what is above.
    let one = b.constant(Shape::word(1), &[true])?;
    let x = word(b, WordOp::Concat, &[], &[one, x])?;
    let y = word(b, WordOp::Concat, &[], &[bit, y])?;
    b.word(op, &[], &[x, y])
}

/// `x`, plus the modulus where `negative` is set.
fn corrected(
    b: &mut Builder,
    x: ValueId,
    negative: ValueId,
    modulus: ValueId,
    bits: u32,
) -> Result<ValueId, BuildError> {
    let all = word(b, WordOp::Sext, &[bits], &[negative])?;
    let correction = word(b, WordOp::And, &[], &[all, modulus])?;
    word(b, WordOp::Add, &[], &[x, correction])
}

/// 1 / `odd` modulo 2^n by Newton's iteration.
fn inverse(b: &mut Builder, odd: ValueId, bits: u32) -> Result<ValueId, BuildError> {
    // Odd numbers are their own inverses modulo 8; modulo 16 the highest bit may flip.
    let (low, high) = (slice(b, odd, 1, 1)?, slice(b, odd, 2, 1)?);
    let flip = word(b, WordOp::Xor, &[], &[low, high])?;
    let nothing = b.constant(Shape::word(3), &[false; 3])?;
    let flip = word(b, WordOp::Concat, &[], &[nothing, flip])?;
    let start = slice(b, odd, 0, 4)?;
    let mut x = word(b, WordOp::Xor, &[], &[start, flip])?;
    let mut known = 4;
    while known < bits {
        // odd * x = 1 + 2^known t, so x - 2^known t x is right to twice as many bits.
        let rest = known.min(bits - known);
        let low = slice(b, odd, 0, known)?;
        let low = word(b, WordOp::MulFull, &[], &[low, x])?;
        let low = slice(b, low, known, rest)?;
        let (high, part) = (slice(b, odd, known, rest)?, slice(b, x, 0, rest)?);
        let high = word(b, WordOp::Mul, &[], &[high, part])?;
        let t = word(b, WordOp::Add, &[], &[low, high])?;
        let correction = word(b, WordOp::Mul, &[], &[t, part])?;
        let correction = word(b, WordOp::Neg, &[], &[correction])?;
        x = word(b, WordOp::Concat, &[], &[x, correction])?;
        known += rest;
    }
    Ok(x)
}

/// The function of [`Field::reduce`].
///
/// With q = product / N mod 2^n, the lower halves of the product and of q N are equal; the difference of
/// the upper ones is the result, give or take N.
fn reduce_function(b: &mut Builder, bits: u32) -> Result<FunctionId, BuildError> {
    let shapes = [Shape::word(2 * bits), Shape::word(bits), Shape::word(bits)];
    let params = b.begin_function("reduce", &shapes)?;
    let [product, modulus, inverse] = params[..] else {
        return Err(BuildError::new("a reduction takes three values"));
    };
    let (low, high) = (slice(b, product, 0, bits)?, slice(b, product, bits, bits)?);
    let quotient = word(b, WordOp::Mul, &[], &[low, inverse])?;
    let (multiple, extra) = wrapped(b, quotient, modulus, bits)?;
    // The upper half of q N modulo 2^n - 1: q N minus its lower half, `upper` + `carry`.
    let low = word(b, WordOp::Not, &[], &[low])?;
    let sum = add_bit(b, WordOp::AddO, multiple, low, extra)?;
    let upper = slice(b, sum[0], 1, bits)?;
    let (difference, negative) = subtract_wrapped(b, high, upper, sum[1], bits)?;
    let result = corrected(b, difference, negative, modulus, bits)?;
    b.end_function(&[result])
}

/// `x - y` and whether it is negative, where y = `y` + `carry` is all ones for 0.
fn subtract_wrapped(
    b: &mut Builder,
    x: ValueId,
    y: ValueId,
    carry: ValueId,
    bits: u32,
) -> Result<(ValueId, ValueId), BuildError> {
    let (lowest, above) = (slice(b, y, 0, 1)?, slice(b, y, 1, bits - 1)?);
    let lowest_sum = word(b, WordOp::Xor, &[], &[lowest, carry])?;
    let ones = word(b, WordOp::Concat, &[], &[lowest_sum, above])?;
    let ones = word(b, WordOp::Reshape, &[bits, 1], &[ones])?;
    let zero = word(b, WordOp::Rand, &[1], &[ones])?;
    // x + ~y + 1 - carry; for 0 nothing is added.
    let ends = word(b, WordOp::Join, &[], &[lowest, carry])?;
    let ends = word(b, WordOp::Not, &[], &[ends])?;
    let not_zero = word(b, WordOp::Not, &[], &[zero])?;
    let ends = word(b, WordOp::And, &[], &[ends, not_zero])?;
    let above = word(b, WordOp::Not, &[], &[above])?;
    let (lowest, unit) = (b.lanes(ends, Affine::at(0), 1, 1)?, b.lanes(ends, Affine::at(1), 1, 1)?);
    let inverted = word(b, WordOp::Concat, &[], &[lowest, above])?;
    let sum = add_bit(b, WordOp::AddO, x, inverted, unit)?;
    let positive = word(b, WordOp::Xor, &[], &[sum[1], zero])?;
    let negative = word(b, WordOp::Not, &[], &[positive])?;
    Ok((slice(b, sum[0], 1, bits)?, negative))
}

/// `x * y` modulo 2^n - 1 as n bits and one more unit to add; together not 2^n.
///
/// 2^n - 1 is 2^h - 1 times 2^h + 1 for halves of h bits: a product modulo the one, recursively, and one
/// modulo the other, of the differences of the halves, instead of three products.
fn wrapped(
    b: &mut Builder,
    x: ValueId,
    y: ValueId,
    bits: u32,
) -> Result<(ValueId, ValueId), BuildError> {
    if bits < WRAPPED_FROM || bits % 2 == 1 {
        let product = word(b, WordOp::MulFull, &[], &[x, y])?;
        let (low, high) = (slice(b, product, 0, bits)?, slice(b, product, bits, bits)?);
        let sum = b.word(WordOp::AddO, &[], &[low, high])?;
        return Ok((sum[0], sum[1]));
    }
    let half = bits / 2;
    let (sum_x, sum_y) = (end_around(b, x, half)?, end_around(b, y, half)?);
    let (below, extra) = wrapped(b, sum_x, sum_y, half)?;
    let (difference, borrow) = product_above(b, x, y, half)?;
    // x y = difference - 2^h borrow + (2^h + 1) k, where k is half of what misses modulo 2^h - 1:
    // halving is a rotation there.
    let inverted = word(b, WordOp::Not, &[], &[difference])?;
    let missing = add_bit(b, WordOp::AddO, below, inverted, borrow)?;
    let low = slice(b, missing[0], 1, half)?;
    let missing = word(b, WordOp::Concat, &[], &[low, missing[1]])?;
    let extra = word(b, WordOp::Zext, &[half + 1], &[extra])?;
    let missing = word(b, WordOp::Add, &[], &[missing, extra])?;
    let k = halved(b, missing, half)?;
    let wide = half + 2;
    let (k_wide, difference) =
        (word(b, WordOp::Zext, &[wide], &[k])?, word(b, WordOp::Zext, &[wide], &[difference])?);
    let low = word(b, WordOp::Add, &[], &[k_wide, difference])?;
    // What goes from the lower half to the upper one: 2, 1, 0 or -1.
    let carry = slice(b, low, half, 2)?;
    let (carry, borrow) =
        (word(b, WordOp::Zext, &[3], &[carry])?, word(b, WordOp::Zext, &[3], &[borrow])?);
    let carry = word(b, WordOp::Sub, &[], &[carry, borrow])?;
    let carry = word(b, WordOp::Sext, &[half + 1], &[carry])?;
    let high = word(b, WordOp::Add, &[], &[k, carry])?;
    let (low, top) = (slice(b, low, 0, half)?, slice(b, high, half, 1)?);
    let high = slice(b, high, 0, half)?;
    Ok((word(b, WordOp::Concat, &[], &[low, high])?, top))
}

/// Half of a number of h + 1 bits modulo 2^h - 1, as h + 1 bits.
fn halved(b: &mut Builder, x: ValueId, half: u32) -> Result<ValueId, BuildError> {
    let (middle, ends) = (slice(b, x, 1, half - 1)?, [slice(b, x, 0, 1)?, slice(b, x, half, 1)?]);
    let [lowest, top] =
        [word(b, WordOp::Zext, &[2], &[ends[0]])?, word(b, WordOp::Zext, &[2], &[ends[1]])?];
    let highest = word(b, WordOp::Add, &[], &[lowest, top])?;
    word(b, WordOp::Concat, &[], &[middle, highest])
}

/// The halves of `x` added modulo 2^h - 1.
fn end_around(b: &mut Builder, x: ValueId, half: u32) -> Result<ValueId, BuildError> {
    let (low, high) = (slice(b, x, 0, half)?, slice(b, x, half, half)?);
    let sum = b.word(WordOp::AddO, &[], &[low, high])?;
    let carry = word(b, WordOp::Zext, &[half], &[sum[1]])?;
    word(b, WordOp::Add, &[], &[sum[0], carry])
}

/// `x * y` modulo 2^h + 1 for halves of h bits, as `difference - 2^h borrow`.
fn product_above(
    b: &mut Builder,
    x: ValueId,
    y: ValueId,
    half: u32,
) -> Result<(ValueId, ValueId), BuildError> {
    let (x, negative_x) = distance(b, x, half)?;
    let (y, negative_y) = distance(b, y, half)?;
    let product = word(b, WordOp::MulFull, &[], &[x, y])?;
    let negative = word(b, WordOp::Xor, &[], &[negative_x, negative_y])?;
    // Inverting both halves turns the sign of their difference.
    let flip = word(b, WordOp::Sext, &[2 * half], &[negative])?;
    let product = word(b, WordOp::Xor, &[], &[product, flip])?;
    let (low, high) = (slice(b, product, 0, half)?, slice(b, product, half, half)?);
    let difference = b.word(WordOp::SubO, &[], &[low, high])?;
    Ok((difference[0], difference[1]))
}

/// By how much the halves of `x` differ, and whether the lower one is less.
fn distance(b: &mut Builder, x: ValueId, half: u32) -> Result<(ValueId, ValueId), BuildError> {
    let (low, high) = (slice(b, x, 0, half)?, slice(b, x, half, half)?);
    let low = word(b, WordOp::Zext, &[half + 1], &[low])?;
    let high = word(b, WordOp::Zext, &[half + 1], &[high])?;
    let difference = word(b, WordOp::Sub, &[], &[low, high])?;
    let magnitude = word(b, WordOp::Abs, &[], &[difference])?;
    Ok((slice(b, magnitude, 0, half)?, slice(b, difference, half, 1)?))
}

#[cfg(test)]
mod tests {
    use cenote_circuit::{Counter, Depth, bits_of, gadgets, value_from_hex, value_of};

    use super::*;

    fn power(base: u128, exponent: u128, modulus: u128) -> u128 {
        let (mut result, mut square, mut rest) = (1 % modulus, base % modulus, exponent);
        while rest > 0 {
            if rest & 1 == 1 {
                result = result * square % modulus;
            }
            square = square * square % modulus;
            rest >>= 1;
        }
        result
    }

    #[test]
    fn powers_are_right() {
        for bits in [8, 9, 16, 31, 32, 48] {
            let module = mod_exp(bits).unwrap();
            let all = (1u128 << bits) - 1;
            let odd = 0x9e37_79b9_7f4a_7c15 & all | 1;
            for (base, exponent, modulus) in [
                (3, 5, 7),
                (0, 0, 9),
                (all, all, all),
                (all, all - 1, odd),
                (0xdead_beef_1234_5678 & all, 0x1357_9bdf_0246_8ace & all, odd),
                (all / 3, all / 5, all - 2),
                (17, 23, 1),
            ] {
                let inputs = [exponent, modulus, base].map(|x| bits_of(x, bits as usize));
                let expected = power(base, exponent, modulus);
                let what = format!("{base}^{exponent} mod {modulus}, {bits} bits");
                assert_eq!(value_of(&module.evaluate(&inputs)[0]), expected, "{what}");
            }
        }
    }

    /// The exponent has all 64 windows, the modulus its highest bit; the power is that of another library.
    #[test]
    fn a_power_of_256_bits_is_right() {
        let word = |hex: &str| value_from_hex("word", 256, hex).unwrap();
        let exponent = word("fdabe929c4a334bfc6cd75e9bb049a79d7a7a3cc8c3d5f169293de8fc88b2875");
        let modulus = word("f3f49249dc28ff90a5aec7978306d03bf38b2ffc80a4df5a51c9bc701e7ea419");
        let base = word("6bad6be28e7aa6e99f19950499dd251de512148239292d22e255accb1a466884");
        let power = word("c7f1dd952c70b665d994d3962f15cf8bfa22794be84c1037844e0b4ef67cc6a0");
        assert_eq!(mod_exp(256).unwrap().evaluate(&[exponent, modulus, base]), [power]);
    }

    #[test]
    fn words_cost_what_gates_cost() {
        let (module, bits) = (mod_exp(64).unwrap(), vec![Depth::default(); 64]);
        let stats = module.stats().unwrap();
        let mut counter = Counter::new();
        gadgets::mod_exp(&mut counter, &bits, &bits, &bits).unwrap();
        let gates = counter.counts();
        assert!(stats.ands * 100 <= gates.and * 101, "{} {}", stats.ands, gates.and);
        let (all, other) =
            (stats.ands + stats.xors + stats.nots, gates.and + gates.xor + gates.not);
        assert!(all * 100 <= other * 102, "{all} {other}");
        let counts = Counter::count(&module.stream().unwrap());
        assert_eq!((stats.ands, stats.xors, stats.nots), (counts.and, counts.xor, counts.not));
        assert!(module.to_bytes().len() < 4000, "{}", module.to_bytes().len());
    }

    #[test]
    fn narrow_numbers_are_refused() {
        assert!(mod_exp(MIN_BITS - 1).is_err());
    }
}
