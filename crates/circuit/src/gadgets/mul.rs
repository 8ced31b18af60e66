//! Multiplication: rows of XORs, and Karatsuba from the width where it takes fewer ANDs.
//!
//! A row of the schoolbook method costs an AND for each bit of the partial product and one for adding
//! it. Written with digits -1 and 1 instead of 0 and 1, a partial product is an XOR, which
//! halves the ANDs: twice a product of bits is whether they agree, plus both bits, minus 1.
//!
//! Karatsuba and Ofman 1962, in the subtractive form: the product of the differences of the halves
//! is one bit narrower than that of their sums, and its sign costs no AND.

use super::Bits;
use super::arith::{add_carry, negate_if, sub_borrow};
use super::columns::Columns;
use super::logic::{not_bits, or, same_width};
use crate::gates::Gates;
use crate::lanes::zip_lanes;

/// `a * b` modulo 2^n: n(n + 3) / 2 - 1 ANDs from 5 to 104 bits, fewer from there. Where one factor is
/// public, [`mul_constant`] is cheaper.
///
/// # Panics
///
/// When the widths differ.
pub fn mul<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let width = same_width(a, b);
    if width < KARATSUBA_LOW_FROM { direct_low(g, a, b) } else { split_low(g, a, b) }
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
    let mut columns = Columns::new(rest);
    for operand in [&low[half..], &cross_a, &cross_b] {
        columns.add(operand, 0);
    }
    let mut out = low[..half].to_vec();
    out.extend(columns.total(g)?);
    Ok(out)
}

/// The whole product of an n-bit and an m-bit number, n + m bits.
///
/// nm + n + m - 1 ANDs or about that where the narrower is below 28 bits, fewer from there.
pub fn mul_full<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let (a, b) = if a.len() < b.len() { (b, a) } else { (a, b) };
    if !karatsuba_wins(b.len()) {
        return direct(g, a, b);
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

/// The whole product of two signed n-bit numbers, 2n bits: about what [`mul_full`] costs, 2n ANDs more
/// from 28 bits.
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
    let (Some((sign_a, low_a)), Some((sign_b, low_b))) = (a.split_last(), b.split_last()) else {
        return Ok(Vec::new());
    };
    // With inverted sign bits these are unsigned numbers, too large by 2^(n-1).
    let a = [low_a, &[g.not(sign_a)?]].concat();
    let b = [low_b, &[g.not(sign_b)?]].concat();
    if !karatsuba_wins(width) {
        return square_rows(g, &a, &b, true);
    }
    let product = mul_full(g, &a, &b)?;
    let (mut sum, carry) = add_carry(g, &a, &b, None)?;
    sum.push(carry);
    let mut columns = Columns::new(width + 1);
    columns.add(&product[width - 1..], 0);
    columns.subtract(g, &sum, 0)?;
    columns.add_constant(1, width - 1);
    let mut out = product[..width - 1].to_vec();
    out.extend(columns.total(g)?);
    Ok(out)
}

/// `a` times a public number modulo 2^`width`, `a` unsigned.
///
/// An addition for each nonzero digit but the first, where the digits are -1, 0, 1 and no two neighbours
/// differ from 0: `width` / 3 additions for an average number, none for a power of two.
pub fn mul_constant<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    constant: &[bool],
    width: usize,
) -> Result<Bits<G>, G::Error> {
    let bit = |i: usize| constant.get(i).copied().unwrap_or(false);
    let mut columns = Columns::new(width);
    let mut carry = false;
    for i in 0..width {
        // What is left is odd here: the next bit decides whether to round it down or up.
        if bit(i) != carry {
            carry = bit(i + 1);
            if carry {
                columns.subtract(g, a, i)?;
            } else {
                columns.add(a, i);
            }
        }
    }
    columns.total(g)
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
    let mut columns = Columns::new(width);
    for (bit, weight) in g.and_many(&left, &right)?.iter().zip(weight) {
        columns.add_bit(bit, weight);
    }
    columns.total(g)
}

fn direct<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    if b.len() < 3 { schoolbook(g, a, b, a.len() + b.len()) } else { rows(g, a, b) }
}

fn direct_low<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    if a.len() < 5 { schoolbook(g, a, b, a.len()) } else { rows_low(g, a, b) }
}

/// Whether a_i equals b_j, at weight i + j - 1, for all i and j with 0 < i + j < `below`. No AND.
///
/// 2 a_i b_j is that bit plus a_i plus b_j minus 1, so these bits are the product but for sums of a
/// and b, which the callers supply.
fn agreements<G: Gates>(
    g: &mut G,
    columns: &mut Columns<G::Wire>,
    a: &[G::Wire],
    b: &[G::Wire],
    below: usize,
) -> Result<(), G::Error> {
    columns.reserve((a.len() + 2) * (b.len() + 2));
    for (j, b) in not_bits(g, b)?.iter().enumerate() {
        let row = &a[usize::from(j == 0)..a.len().min(below.saturating_sub(j))];
        columns.add(&g.xor_many(row, &vec![b.clone(); row.len()])?, j.saturating_sub(1));
    }
    Ok(())
}

/// Subtracts half of `sum`, and half of its lowest bit once more: the agreement of the lowest bits,
/// which [`agreements`] leaves out, is the complement of that bit.
fn subtract_half<G: Gates>(
    g: &mut G,
    columns: &mut Columns<G::Wire>,
    sum: &[G::Wire],
) -> Result<(), G::Error> {
    columns.subtract(g, &sum[1..], 0)?;
    columns.subtract(g, &sum[..1], 0)
}

/// The whole product of two numbers of n > 0 bits, signed or unsigned: n^2 + 2n - 1 ANDs at most.
fn square_rows<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
    signed: bool,
) -> Result<Bits<G>, G::Error> {
    let mut columns = Columns::new(2 * a.len());
    place_square_rows(g, &mut columns, a, b, signed)?;
    columns.total(g)
}

/// Twice the product is the agreements plus (2^n - 1)(a + b) minus (2^n - 1)^2. Signed numbers are
/// unsigned ones minus 2^(n-1) once their sign bits are inverted.
fn place_square_rows<G: Gates>(
    g: &mut G,
    columns: &mut Columns<G::Wire>,
    a: &[G::Wire],
    b: &[G::Wire],
    signed: bool,
) -> Result<(), G::Error> {
    let width = a.len();
    let (mut sum, carry) = add_carry(g, a, b, None)?;
    sum.push(carry);
    agreements(g, columns, a, b, 2 * width)?;
    subtract_half(g, columns, &sum)?;
    columns.add_constant(1, width);
    columns.add_constant(-1, 2 * width - 1);
    if signed {
        columns.add_constant(1, 2 * width - 2);
    } else {
        columns.add(&sum, width - 1);
    }
    Ok(())
}

/// The whole product of numbers of m >= n > 0 bits: about mn + m + n ANDs.
fn rows<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    if a.len() == b.len() {
        return square_rows(g, a, b, false);
    }
    let (m, n) = (a.len(), b.len());
    let mut columns = Columns::new(m + n);
    agreements(g, &mut columns, a, b, m + n)?;
    columns.add(a, n - 1);
    columns.add(b, m - 1);
    columns.subtract(g, &a[1..], 0)?;
    columns.subtract(g, &b[1..], 0)?;
    // The agreement of the lowest bits minus these bits is 1 minus twice their disjunction.
    let lowest = or(g, &a[0], &b[0])?;
    columns.subtract(g, &[lowest], 0)?;
    for (constant, at) in [(1, m - 1), (1, n - 1), (-1, m + n - 1)] {
        columns.add_constant(constant, at);
    }
    columns.total(g)
}

/// The product modulo 2^n for n > 0: n(n + 3) / 2 - 1 ANDs.
fn rows_low<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let mut columns = Columns::new(a.len());
    place_rows_low(g, &mut columns, a, b)?;
    columns.total(g)
}

/// Adds a product modulo 2^n to n columns.
///
/// The agreements at weights from 2^n on count for nothing when doubled.
fn place_rows_low<G: Gates>(
    g: &mut G,
    columns: &mut Columns<G::Wire>,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<(), G::Error> {
    let width = a.len();
    let (mut sum, carry) = add_carry(g, a, b, None)?;
    sum.push(carry);
    agreements(g, columns, a, b, width)?;
    subtract_half(g, columns, &sum)?;
    for bit in a.iter().chain(b) {
        columns.add_bit(bit, width - 1);
    }
    columns.add_constant(1 - width as i64, width - 1);
    Ok(())
}

/// Adds the product of two numbers of the same width to a sum of any width.
///
/// # Panics
///
/// When the widths differ.
pub(super) fn place_product<G: Gates>(
    g: &mut G,
    columns: &mut Columns<G::Wire>,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<(), G::Error> {
    let (width, wanted) = (same_width(a, b), columns.width());
    if width.min(wanted) == 0 {
        return Ok(());
    }
    if wanted <= width && wanted < KARATSUBA_LOW_FROM {
        return place_rows_low(g, columns, &a[..wanted], &b[..wanted]);
    }
    if wanted <= width {
        columns.add(&mul(g, &a[..wanted], &b[..wanted])?, 0);
    } else if karatsuba_wins(width) {
        columns.add(&mul_full(g, a, b)?, 0);
    } else {
        place_square_rows(g, columns, a, b, false)?;
    }
    Ok(())
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
    let mut columns = outer_products(g, &z0, &z2)?;
    columns.add(&signed, 0);
    columns.add(&vec![subtract.clone(); half], 2 * half);
    columns.add_bit(&subtract, 0);
    let mut out = z0[..half].to_vec();
    out.extend(columns.total(g)?);
    Ok(out)
}

/// z0 + (z0 + z2) 2^h + z2 2^2h without its h lowest bits, for products of 2h bits.
///
/// It contains z0's upper plus z2's lower half twice: they are added once.
pub(super) fn outer_products<G: Gates>(
    g: &mut G,
    z0: &[G::Wire],
    z2: &[G::Wire],
) -> Result<Columns<G::Wire>, G::Error> {
    let half = z0.len() / 2;
    let (mut shared, carry) = add_carry(g, &z0[half..], &z2[..half], None)?;
    shared.push(carry);
    let mut columns = Columns::new(3 * half);
    columns.add(&z0[..half], 0);
    columns.add(&z2[half..], half);
    columns.add(&z2[half..], 2 * half);
    columns.add(&shared, 0);
    columns.add(&shared, half);
    Ok(columns)
}

/// The whole product for an odd width: the even part, and the top row and column by hand.
fn odd<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let even = a.len() - 1;
    let product = mul_full(g, &a[..even], &b[..even])?;
    let row = g.and_groups(&a[even..], b)?;
    let column = g.and_groups(&b[even..], &a[..even])?;
    let mut columns = Columns::new(even + 2);
    columns.add(&product[even..], 0);
    columns.add(&row, 0);
    columns.add(&column, 0);
    let mut out = product[..even].to_vec();
    out.extend(columns.total(g)?);
    Ok(out)
}

/// `|a - b|` and whether `a < b`.
pub(super) fn distance<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<(Bits<G>, G::Wire), G::Error> {
    let (difference, negative) = sub_borrow(g, a, b)?;
    Ok((negate_if(g, &negative, &difference)?, negative))
}

/// The sum of a narrow and a wide number that is known to fit the wide one.
fn join<G: Gates>(g: &mut G, narrow: &[G::Wire], wide: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let mut columns = Columns::new(wide.len());
    columns.add(wide, 0);
    columns.add(narrow, 0);
    columns.total(g)
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

/// Whether Karatsuba's method takes fewer ANDs for factors of `width` bits; see the test.
fn karatsuba_wins(width: usize) -> bool {
    width >= if width.is_multiple_of(2) { 28 } else { 37 }
}

/// From where halves take fewer ANDs modulo 2^n, give or take a few; see the test.
const KARATSUBA_LOW_FROM: usize = 105;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::{Depth, ands};

    #[test]
    fn karatsuba_is_used_exactly_where_it_wins() {
        for width in 2..=150 {
            let x = vec![Depth(0); width];
            let plain = ands(|g| schoolbook(g, &x, &x, 2 * width));
            let rows = ands(|g| rows(g, &x, &x));
            let split =
                ands(|g| if width % 2 == 1 { odd(g, &x, &x) } else { karatsuba(g, &x, &x) });
            let chosen = ands(|g| mul_full(g, &x, &x));
            assert_eq!(chosen, plain.min(rows).min(split), "{width}");
        }
    }

    #[test]
    fn halves_are_used_where_they_win_modulo_a_power_of_two() {
        for width in 1..=300 {
            let x = vec![Depth(0); width];
            let plain = ands(|g| schoolbook(g, &x, &x, width));
            let rows = ands(|g| rows_low(g, &x, &x));
            let split = ands(|g| split_low(g, &x, &x));
            let chosen = ands(|g| mul(g, &x, &x));
            assert!(chosen <= plain.min(rows).min(split) * 103 / 100, "{width}");
        }
    }
}
