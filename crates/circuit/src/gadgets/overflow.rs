//! Arithmetic that tells when a result does not fit, or takes the nearest number that does.

use super::Bits;
use super::arith::{add_carry, sub_borrow};
use super::logic::{any_set, same_width};
use super::mul::{mul_full, mul_signed_full};
use super::select::mux;
use crate::gates::Gates;

/// `a + b` modulo 2^n and whether that is not the sum, signed: n ANDs. Unsigned it is [`add_carry`].
///
/// # Panics
///
/// When the widths differ.
pub fn add_signed_overflow<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<(Bits<G>, G::Wire), G::Error> {
    let (sum, carry) = add_carry(g, a, b, None)?;
    let overflow = carry_into_sign(g, [a, b, &sum], &carry)?;
    Ok((sum, overflow))
}

/// `a - b` modulo 2^n and whether that is not the difference, signed: n ANDs. Unsigned it is
/// [`sub_borrow`].
///
/// # Panics
///
/// When the widths differ.
pub fn sub_signed_overflow<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<(Bits<G>, G::Wire), G::Error> {
    let (difference, borrow) = sub_borrow(g, a, b)?;
    let overflow = carry_into_sign(g, [a, b, &difference], &borrow)?;
    Ok((difference, overflow))
}

/// `carry` plus the carry into the highest bit: whether they differ.
fn carry_into_sign<G: Gates>(
    g: &mut G,
    numbers: [&[G::Wire]; 3],
    carry: &G::Wire,
) -> Result<G::Wire, G::Error> {
    let mut flag = carry.clone();
    for sign in numbers.into_iter().filter_map(<[_]>::last) {
        flag = g.xor(&flag, sign)?;
    }
    Ok(flag)
}

/// `a * b` modulo 2^n and whether that is not the product, unsigned: n - 1 ANDs more than [`mul_full`].
///
/// # Panics
///
/// When the widths differ.
pub fn mul_overflow<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<(Bits<G>, G::Wire), G::Error> {
    let width = same_width(a, b);
    let mut product = mul_full(g, a, b)?;
    let overflow = any_set(g, &product[width..])?;
    product.truncate(width);
    Ok((product, overflow))
}

/// `a * b` modulo 2^n and whether that is not the product, signed: n - 1 ANDs more than
/// [`mul_signed_full`].
///
/// # Panics
///
/// When the widths differ.
pub fn mul_signed_overflow<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<(Bits<G>, G::Wire), G::Error> {
    let width = same_width(a, b);
    let mut product = mul_signed_full(g, a, b)?;
    let high = product.split_off(width);
    // It fits where the upper half repeats the sign.
    let signs: Bits<G> = product.last().into_iter().cycle().take(width).cloned().collect();
    let differs = g.xor_many(&high, &signs)?;
    Ok((product, any_set(g, &differs)?))
}

/// `a + b` or the largest number, unsigned: 2n ANDs.
///
/// # Panics
///
/// When the widths differ.
pub fn add_saturating<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let (sum, carry) = add_carry(g, a, b, None)?;
    all_ones_if(g, &carry, &sum)
}

/// `a - b` or 0, unsigned: 2n ANDs.
///
/// # Panics
///
/// When the widths differ.
pub fn sub_saturating<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let (difference, borrow) = sub_borrow(g, a, b)?;
    let fits = g.not(&borrow)?;
    g.and_groups(&[fits], &difference)
}

/// `a * b` or the largest number, unsigned: 2n - 1 ANDs more than [`mul_full`].
///
/// # Panics
///
/// When the widths differ.
pub fn mul_saturating<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let (product, overflow) = mul_overflow(g, a, b)?;
    all_ones_if(g, &overflow, &product)
}

/// `a + b` or the nearest number there is, signed: 2n ANDs.
///
/// # Panics
///
/// When the widths differ.
pub fn add_signed_saturating<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let (sum, overflow) = add_signed_overflow(g, a, b)?;
    extreme_if(g, &overflow, a.last(), &sum)
}

/// `a - b` or the nearest number there is, signed: 2n ANDs.
///
/// # Panics
///
/// When the widths differ.
pub fn sub_signed_saturating<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let (difference, overflow) = sub_signed_overflow(g, a, b)?;
    extreme_if(g, &overflow, a.last(), &difference)
}

/// `a * b` or the nearest number there is, signed: 2n - 1 ANDs more than [`mul_signed_full`].
///
/// # Panics
///
/// When the widths differ.
pub fn mul_signed_saturating<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let (product, overflow) = mul_signed_overflow(g, a, b)?;
    let (Some(sign_a), Some(sign_b)) = (a.last(), b.last()) else { return Ok(product) };
    let negative = g.xor(sign_a, sign_b)?;
    extreme_if(g, &overflow, Some(&negative), &product)
}

/// All ones where `overflow` is set, otherwise `value`.
fn all_ones_if<G: Gates>(
    g: &mut G,
    overflow: &G::Wire,
    value: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let fits = g.not(overflow)?;
    let kept = g.and_groups(&[fits], value)?;
    g.xor_many(&kept, &vec![overflow.clone(); value.len()])
}

/// The smallest number where `overflow` is set and the result is negative, the largest where it is
/// not, otherwise `value`.
fn extreme_if<G: Gates>(
    g: &mut G,
    overflow: &G::Wire,
    negative: Option<&G::Wire>,
    value: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let Some(negative) = negative else { return Ok(Vec::new()) };
    let mut extreme = vec![g.not(negative)?; value.len() - 1];
    extreme.push(negative.clone());
    mux(g, overflow, &extreme, value)
}
