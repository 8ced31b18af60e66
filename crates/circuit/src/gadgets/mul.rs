//! Multiplication: schoolbook, and Karatsuba from the width where it takes fewer ANDs.
//!
//! Karatsuba and Ofman 1962, in the subtractive form: the product of the differences of the halves
//! is one bit narrower than that of their sums, and its sign costs no AND.

use super::Bits;
use super::arith::{add_carry, compress, negate_if, sub, sub_borrow};
use super::logic::{and_bits, same_width};
use crate::gates::Gates;
use crate::lanes::zip_lanes;

/// `a * b` modulo 2^n: n(n - 1) + 1 ANDs below 27 bits, fewer from there.
///
/// # Panics
///
/// When the widths differ.
pub fn mul<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let width = same_width(a, b);
    if width < KARATSUBA_LOW_FROM { schoolbook(g, a, b, width) } else { split_low(g, a, b) }
}

/// A product modulo 2^n by halves: the upper ones matter only in the low halves of the cross
/// products.
fn split_low<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let width = a.len();
    let half = width.div_ceil(2);
    let rest = width - half;
    let low = mul_full(g, &a[..half], &b[..half])?;
    let cross_a = mul(g, &a[half..], &b[..rest])?;
    let cross_b = mul(g, &a[..rest], &b[half..])?;
    let mut columns = vec![Vec::new(); rest];
    for operand in [&low[half..], &cross_a, &cross_b] {
        place(&mut columns, operand, 0);
    }
    let mut out = low[..half].to_vec();
    out.extend(compress(g, columns)?);
    Ok(out)
}

/// The whole product of an n-bit and an m-bit number, n + m bits.
///
/// 2nm - max(n, m) ANDs or about that where the narrower is below 12 bits, fewer from there.
pub fn mul_full<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let (a, b) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let total = a.len() + b.len();
    if b.len() < KARATSUBA_FROM {
        return schoolbook(g, a, b, total);
    }
    if a.len() > b.len() {
        let (low, high) = a.split_at(b.len());
        let (low, high) = (mul_full(g, low, b)?, mul_full(g, high, b)?);
        let mut out = low[..b.len()].to_vec();
        out.extend(join(g, &low[b.len()..], &high)?);
        return Ok(out);
    }
    if a.len() % 2 == 1 { odd(g, a, b) } else { karatsuba(g, a, b) }
}

/// The whole product of two signed n-bit numbers, 2n bits: 4n - 2 ANDs more than [`mul_full`].
///
/// # Panics
///
/// When the widths differ.
pub fn mul_signed_full<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let width = same_width(a, b);
    let (Some(sign_a), Some(sign_b)) = (a.last(), b.last()) else { return Ok(Vec::new()) };
    // A sign bit counts -2^(n-1) instead of 2^(n-1): 2^n times the other factor too much.
    let mut out = mul_full(g, a, b)?;
    let high = out.split_off(width);
    let excess_a = and_bits(g, &vec![sign_a.clone(); width], b)?;
    let excess_b = and_bits(g, &vec![sign_b.clone(); width], a)?;
    let high = sub(g, &high, &excess_a)?;
    out.extend(sub(g, &high, &excess_b)?);
    Ok(out)
}

/// All partial products in one batch, then carry-save layers; modulo 2^`width`.
fn schoolbook<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
    width: usize,
) -> Result<Bits<G>, G::Error> {
    let (mut left, mut right, mut weight) = (vec![], vec![], vec![]);
    for (j, b) in b.iter().enumerate() {
        for (i, a) in a.iter().enumerate().take(width.saturating_sub(j)) {
            left.push(a.clone());
            right.push(b.clone());
            weight.push(i + j);
        }
    }
    let mut columns = vec![Vec::new(); width];
    for (bit, weight) in g.and_many(&left, &right)?.into_iter().zip(weight) {
        columns[weight].push(bit);
    }
    compress(g, columns)
}

/// Karatsuba on two numbers of the same even width.
fn karatsuba<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let half = a.len() / 2;
    let (a0, a1) = a.split_at(half);
    let (b0, b1) = b.split_at(half);
    let z0 = mul_full(g, a0, b0)?;
    let z2 = mul_full(g, a1, b1)?;
    let (difference_a, negative_a) = distance(g, a0, a1)?;
    let (difference_b, negative_b) = distance(g, b0, b1)?;
    let product = mul_full(g, &difference_a, &difference_b)?;

    // The middle term is z0 + z2 - (a0 - a1)(b0 - b1): the product of the distances is added where
    // exactly one difference is negative, otherwise subtracted (inverted, plus one).
    let add = g.xor(&negative_a, &negative_b)?;
    let subtract = g.not(&add)?;
    let signed = g.xor_many(&product, &vec![subtract.clone(); product.len()])?;

    // z0 + (z0 + z2) 2^h + z2 2^2h contains z0's upper plus z2's lower half twice: add them once.
    let (z0_low, z0_high) = z0.split_at(half);
    let (z2_low, z2_high) = z2.split_at(half);
    let (shared, shared_carry) = add_carry(g, z0_high, z2_low, None)?;
    let mut columns = vec![Vec::new(); 3 * half];
    place(&mut columns, z0_low, 0);
    place(&mut columns, z2_high, half);
    place(&mut columns, z2_high, 2 * half);
    place(&mut columns, &shared, 0);
    place(&mut columns, &shared, half);
    place(&mut columns, std::slice::from_ref(&shared_carry), half);
    place(&mut columns, std::slice::from_ref(&shared_carry), 2 * half);
    place(&mut columns, &signed, 0);
    place(&mut columns, &vec![subtract.clone(); half], 2 * half);
    place(&mut columns, &[subtract], 0);
    let mut out = z0_low.to_vec();
    out.extend(compress(g, columns)?);
    Ok(out)
}

/// The whole product for an odd width: the even part, and the top row and column by hand.
fn odd<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let even = a.len() - 1;
    let product = mul_full(g, &a[..even], &b[..even])?;
    let row = g.and_many(&vec![a[even].clone(); a.len()], b)?;
    let column = g.and_many(&vec![b[even].clone(); even], &a[..even])?;
    let mut columns = vec![Vec::new(); even + 2];
    place(&mut columns, &product[even..], 0);
    place(&mut columns, &row, 0);
    place(&mut columns, &column, 0);
    let mut out = product[..even].to_vec();
    out.extend(compress(g, columns)?);
    Ok(out)
}

/// `|a - b|` and whether `a < b`.
fn distance<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<(Bits<G>, G::Wire), G::Error> {
    let (difference, negative) = sub_borrow(g, a, b)?;
    Ok((negate_if(g, &negative, &difference)?, negative))
}

/// The sum of a narrow and a wide number that is known to fit the wide one.
fn join<G: Gates>(g: &mut G, narrow: &[G::Wire], wide: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let mut columns = vec![Vec::new(); wide.len()];
    place(&mut columns, wide, 0);
    place(&mut columns, narrow, 0);
    compress(g, columns)
}

fn place<W: Clone>(columns: &mut [Vec<W>], bits: &[W], from: usize) {
    for (column, bit) in columns.iter_mut().skip(from).zip(bits) {
        column.push(bit.clone());
    }
}

/// [`mul`] on many lanes.
pub fn mul_many<G: Gates>(
    g: &mut G,
    a: &[Bits<G>],
    b: &[Bits<G>],
) -> Result<Vec<Bits<G>>, G::Error> {
    zip_lanes(g, a, b, |g, a, b| mul(g, a, b))
}

/// [`mul_full`] on many lanes.
pub fn mul_full_many<G: Gates>(
    g: &mut G,
    a: &[Bits<G>],
    b: &[Bits<G>],
) -> Result<Vec<Bits<G>>, G::Error> {
    zip_lanes(g, a, b, |g, a, b| mul_full(g, a, b))
}

/// The narrowest factor for which Karatsuba takes fewer ANDs than the schoolbook; see the test.
const KARATSUBA_FROM: usize = 12;
/// The same for a product modulo 2^n.
const KARATSUBA_LOW_FROM: usize = 27;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::{Counter, Depth};

    fn ands(run: impl FnOnce(&mut Counter)) -> u64 {
        let mut counter = Counter::new();
        run(&mut counter);
        counter.counts().and
    }

    #[test]
    fn karatsuba_is_used_exactly_where_it_wins() {
        for width in 2..=70 {
            let x = vec![Depth(0); width];
            let school = ands(|g| drop(schoolbook(g, &x, &x, 2 * width).unwrap()));
            let split = ands(|g| {
                drop(if width % 2 == 1 { odd(g, &x, &x) } else { karatsuba(g, &x, &x) }.unwrap());
            });
            let chosen = ands(|g| drop(mul_full(g, &x, &x).unwrap()));
            assert_eq!(chosen, school.min(split), "{width}");
            let school = ands(|g| drop(schoolbook(g, &x, &x, width).unwrap()));
            let split = ands(|g| drop(split_low(g, &x, &x).unwrap()));
            let chosen = ands(|g| drop(mul(g, &x, &x).unwrap()));
            assert_eq!(chosen, school.min(split), "{width} low");
        }
    }
}
