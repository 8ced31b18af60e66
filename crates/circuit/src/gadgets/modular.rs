//! Arithmetic modulo a secret odd number, after Montgomery (1985).
//!
//! With R = 2^n for numbers of n bits, a number x stands for x / R. A product T of two of them is
//! brought back below the modulus N as T / R: with q = T / N mod R, the lower halves of T and of q N
//! are equal, and the difference of their upper halves is T / R, give or take N. As the lower half of
//! q N is known, q N is needed only modulo 2^n - 1, which is where [`wrapped`] saves.

use super::Bits;
use super::arith::{add, add_carry, negate, ripple, sub_borrow};
use super::columns::Columns;
use super::logic::{all_set, constant_bits, not_bits, same_width};
use super::mul::{distance, mul, mul_full};
use super::square::square_full;
use super::table::lookup;
use crate::gates::Gates;

/// A modulus N of n bits with what multiplication needs to know about it.
///
/// The fields are plain numbers of n bits, so that a loop may carry them. Where they come from
/// elsewhere they have to be what is written here, or results are meaningless.
#[derive(Clone, Debug)]
pub struct MontgomeryContext<W> {
    /// N, odd.
    pub modulus: Vec<W>,
    /// 1 / N modulo 2^n.
    pub inverse: Vec<W>,
    /// 2^n modulo N: what stands for 1.
    pub one: Vec<W>,
    /// 2^2n modulo N: what brings numbers into this form.
    pub square: Vec<W>,
}

impl<W: Clone> MontgomeryContext<W> {
    /// The context of an odd `modulus`: about 2n^2 ANDs and two products.
    ///
    /// Results for even moduli are meaningless.
    pub fn new<G: Gates<Wire = W>>(g: &mut G, modulus: &[W]) -> Result<Self, G::Error> {
        let inverse = inverse(g, modulus)?;
        let (one, square) = powers_of_two(g, modulus)?;
        Ok(Self { modulus: modulus.to_vec(), inverse, one, square })
    }

    /// `a` modulo N in Montgomery's form, for any `a` of n bits.
    ///
    /// # Panics
    ///
    /// When the width is not that of the modulus.
    pub fn enter<G: Gates<Wire = W>>(&self, g: &mut G, a: &[W]) -> Result<Bits<G>, G::Error> {
        mont_mul(g, self, a, &self.square)
    }

    /// The number below N that `a` stands for.
    ///
    /// # Panics
    ///
    /// When the width is not that of the modulus.
    pub fn leave<G: Gates<Wire = W>>(&self, g: &mut G, a: &[W]) -> Result<Bits<G>, G::Error> {
        let mut wide = a.to_vec();
        wide.extend(constant_bits(g, &vec![false; a.len()])?);
        self.reduce(g, &wide)
    }

    /// `product` / 2^n modulo N, below N, for `product` < 2^n N.
    fn reduce<G: Gates<Wire = W>>(&self, g: &mut G, product: &[W]) -> Result<Bits<G>, G::Error> {
        let (low, high) =
            product.split_at(same_width(&self.modulus, &product[..product.len() / 2]));
        let quotient = mul(g, low, &self.inverse)?;
        let (multiple, extra) = wrapped(g, &quotient, &self.modulus)?;
        // The upper half of q N modulo 2^n - 1: q N minus its lower half, `upper` + `carry`.
        let low = not_bits(g, low)?;
        let (upper, carry) = add_carry(g, &multiple, &low, Some(&extra))?;
        let (difference, negative) = subtract_wrapped(g, high, &upper, &carry)?;
        let correction = g.and_groups(&[negative], &self.modulus)?;
        add(g, &difference, &correction)
    }
}

/// `a - b` and whether it is negative, where b = `b` + `carry` is all ones for 0.
fn subtract_wrapped<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
    carry: &G::Wire,
) -> Result<(Bits<G>, G::Wire), G::Error> {
    let mut ones = b[1..].to_vec();
    ones.push(g.xor(&b[0], carry)?);
    let zero = all_set(g, &ones)?;
    let not_zero = g.not(&zero)?;
    // a + ~b + 1 - carry; for 0 nothing is added.
    let mut inverted = not_bits(g, b)?;
    let no_carry = g.not(carry)?;
    let lowest = g.and_many(&[inverted[0].clone(), no_carry], &[not_zero.clone(), not_zero])?;
    inverted[0] = lowest[0].clone();
    let (difference, reached) = add_carry(g, a, &inverted, Some(&lowest[1]))?;
    let positive = g.xor(&reached, &zero)?;
    Ok((difference, g.not(&positive)?))
}

/// The product of `a` and `b` in Montgomery's form: one of them below N, the other of n bits.
///
/// The result is below N. A whole product, the lower half of another and about half of a third.
///
/// # Panics
///
/// When the widths differ.
pub fn mont_mul<G: Gates>(
    g: &mut G,
    context: &MontgomeryContext<G::Wire>,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    same_width(a, b);
    let product = mul_full(g, a, b)?;
    context.reduce(g, &product)
}

/// The square of `a` < N in Montgomery's form, cheaper than [`mont_mul`].
///
/// # Panics
///
/// When the width is not that of the modulus.
pub fn mont_square<G: Gates>(
    g: &mut G,
    context: &MontgomeryContext<G::Wire>,
    a: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let product = square_full(g, a)?;
    context.reduce(g, &product)
}

/// The powers 0 .. 2^`bits` - 1 of `base`, all in Montgomery's form: the table of [`mod_exp_step`].
pub fn mont_powers<G: Gates>(
    g: &mut G,
    context: &MontgomeryContext<G::Wire>,
    base: &[G::Wire],
    bits: usize,
) -> Result<Vec<Bits<G>>, G::Error> {
    let mut powers = vec![context.one.clone(), base.to_vec()];
    for i in 2..1 << bits {
        powers.push(match i % 2 {
            0 => mont_square(g, context, &powers[i / 2])?,
            _ => mont_mul(g, context, &powers[i - 1], base)?,
        });
    }
    Ok(powers)
}

/// One window of an exponent: `power`^(2^w) times the power of the base that the `window` of w bits
/// names. w squares, one [`lookup`] and one product; everything in Montgomery's form.
///
/// # Panics
///
/// When `powers` does not fit the window or widths differ.
pub fn mod_exp_step<G: Gates>(
    g: &mut G,
    context: &MontgomeryContext<G::Wire>,
    powers: &[Bits<G>],
    power: &[G::Wire],
    window: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let mut power = power.to_vec();
    for _ in window {
        power = mont_square(g, context, &power)?;
    }
    let factor = lookup(g, powers, window)?;
    mont_mul(g, context, &power, &factor)
}

/// `base`^`exponent` modulo an odd `modulus`; all three may be secret, the exponent of any width.
///
/// By windows of 4 bits. `base` need not be below the modulus; 0^0 is 1 (0 modulo 1). Results for even
/// moduli are meaningless.
///
/// # Panics
///
/// When the widths of `base` and `modulus` differ.
pub fn mod_exp<G: Gates>(
    g: &mut G,
    base: &[G::Wire],
    exponent: &[G::Wire],
    modulus: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    if same_width(base, modulus) == 0 {
        return Ok(Vec::new());
    }
    let context = MontgomeryContext::new(g, modulus)?;
    let base = context.enter(g, base)?;
    let bits = exponent.len().min(WINDOW);
    let powers = mont_powers(g, &context, &base, bits)?;
    let mut windows = exponent.chunks(WINDOW).rev();
    // The first window has nothing to square.
    let mut power = match windows.next() {
        Some(window) => lookup(g, &powers[..1 << window.len()], window)?,
        None => context.one.clone(),
    };
    for window in windows {
        power = mod_exp_step(g, &context, &powers, &power, window)?;
    }
    context.leave(g, &power)
}

/// 1 / `odd` modulo 2^n by Newton's iteration.
fn inverse<G: Gates>(g: &mut G, odd: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let width = odd.len();
    let mut x = odd[..width.min(4)].to_vec();
    if width > 3 {
        // Odd numbers are their own inverses modulo 8; modulo 16 the highest bit may flip.
        let flip = g.xor(&odd[1], &odd[2])?;
        x[3] = g.xor(&odd[3], &flip)?;
    }
    while x.len() < width {
        let (half, rest) = (x.len(), x.len().min(width - x.len()));
        // odd * x = 1 + 2^half t, so x - 2^half t x is right to twice as many bits.
        let low = mul_full(g, &odd[..half], &x)?;
        let high = mul(g, &odd[half..half + rest], &x[..rest])?;
        let t = add(g, &low[half..half + rest], &high)?;
        let correction = mul(g, &t, &x[..rest])?;
        x.extend(negate(g, &correction)?);
    }
    Ok(x)
}

/// 2^n and 2^2n modulo an odd number of n bits, by doubling: about 2n^2 ANDs.
fn powers_of_two<G: Gates>(g: &mut G, modulus: &[G::Wire]) -> Result<(Bits<G>, Bits<G>), G::Error> {
    let width = modulus.len();
    let wide = [modulus, &[g.constant(false)?]].concat();
    // Residues between -N and N as n + 1 bits, signed; 1 - N is the first.
    let mut even = wide.clone();
    even[0] = g.constant(false)?;
    let mut residue = negate(g, &even)?;
    let mut found = Vec::with_capacity(2);
    for step in 1..=2 * width {
        // Twice a negative residue plus N, twice another minus N.
        let negative = residue[width].clone();
        let subtract = g.not(&negative)?;
        let operand = g.xor_many(&wide, &vec![subtract.clone(); width + 1])?;
        let mut twice = vec![g.constant(false)?];
        twice.extend_from_slice(&residue[..width]);
        residue = ripple(g, &twice, &operand, Some(subtract), false)?.0;
        if step % width == 0 {
            let correction = g.and_groups(&residue[width..], modulus)?;
            found.push(add(g, &residue[..width], &correction)?);
        }
    }
    let square = found.pop().unwrap_or_default();
    Ok((found.pop().unwrap_or_default(), square))
}

/// `a * b` modulo 2^n - 1 as n bits and one more unit to add; together not 2^n.
///
/// 2^n - 1 is 2^h - 1 times 2^h + 1 for halves of h bits: a product modulo the one, recursively, and one
/// modulo the other, of the differences of the halves, instead of three products.
fn wrapped<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<(Bits<G>, G::Wire), G::Error> {
    let width = a.len();
    if width < WRAPPED_FROM || width % 2 == 1 {
        let product = mul_full(g, a, b)?;
        return add_carry(g, &product[..width], &product[width..], None);
    }
    let half = width / 2;
    let (sum_a, sum_b) = (end_around(g, a)?, end_around(g, b)?);
    let (below, extra) = wrapped(g, &sum_a, &sum_b)?;
    let (difference, borrow) = product_above(g, a, b)?;
    // x = difference - 2^h borrow + (2^h + 1) k, where k is half of what misses modulo 2^h - 1: halving
    // is a rotation there.
    let mut missing = Columns::new(half + 1);
    missing.add(&below, 0);
    missing.add(&not_bits(g, &difference)?, 0);
    missing.add_bit(&borrow, 0);
    missing.add_bit(&extra, 0);
    let mut missing = missing.total(g)?;
    let carry = missing.pop();
    missing.rotate_left(1);
    let mut columns = Columns::new(width + 1);
    columns.add(&difference, 0);
    columns.subtract(g, &[borrow], half)?;
    for from in [0, half] {
        columns.add(&missing, from);
        carry.iter().for_each(|carry| columns.add_bit(carry, from + half - 1));
    }
    let mut out = columns.total(g)?;
    match out.pop() {
        Some(extra) => Ok((out, extra)),
        None => Ok((out, g.constant(false)?)),
    }
}

/// The halves of `a` added modulo 2^h - 1.
fn end_around<G: Gates>(g: &mut G, a: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let (low, high) = a.split_at(a.len() / 2);
    let (sum, carry) = add_carry(g, low, high, None)?;
    let mut columns = Columns::new(sum.len());
    columns.add(&sum, 0);
    columns.add_bit(&carry, 0);
    columns.total(g)
}

/// `a * b` modulo 2^h + 1 for halves of h bits, as `difference - 2^h borrow`.
fn product_above<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<(Bits<G>, G::Wire), G::Error> {
    let half = a.len() / 2;
    let (distance_a, negative_a) = distance(g, &a[..half], &a[half..])?;
    let (distance_b, negative_b) = distance(g, &b[..half], &b[half..])?;
    let product = mul_full(g, &distance_a, &distance_b)?;
    let negative = g.xor(&negative_a, &negative_b)?;
    // Inverting both turns the sign of a difference.
    let signed = g.xor_many(&product, &vec![negative; 2 * half])?;
    sub_borrow(g, &signed[..half], &signed[half..])
}

/// Bits of an exponent that one step takes.
const WINDOW: usize = 4;
/// The narrowest product that [`wrapped`] computes by halves.
const WRAPPED_FROM: usize = 16;
