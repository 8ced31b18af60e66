//! Squares: about half the price of products.

use super::Bits;
use super::columns::Columns;
use super::logic::{not_bits, or};
use super::mul::{distance, mul, outer_products};
use super::select::abs;
use crate::gates::Gates;

/// `a * a` modulo 2^n, signed or unsigned: about n^2 / 4 + n / 2 ANDs, fewer from 125 bits.
pub fn square<G: Gates>(g: &mut G, a: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    if a.len() < SPLIT_LOW_FROM { rows_low(g, a) } else { split_low(g, a) }
}

/// `a * a` as 2n bits, unsigned: n(n + 3) / 2 - 3 ANDs, fewer from 46 bits.
pub fn square_full<G: Gates>(g: &mut G, a: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    match a.len() {
        0 | 1 => {
            let mut out = a.to_vec();
            out.extend(a.iter().map(|_| g.constant(false)).collect::<Result<Bits<G>, _>>()?);
            Ok(out)
        }
        width if !karatsuba_wins(width) => rows(g, a),
        width if width % 2 == 0 => karatsuba(g, a),
        _ => odd(g, a),
    }
}

/// `a * a` as 2n bits for a signed `a`: n - 1 ANDs more than [`square_full`].
pub fn square_signed_full<G: Gates>(g: &mut G, a: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let magnitude = abs(g, a)?;
    square_full(g, &magnitude)
}

/// Whether a_i equals a_j at weight i + j, minus 1, for all 1 < i + j < `below` with i < j.
///
/// This is 2 a_i a_j minus a_i minus a_j. Of the pair (0, 1), minus both bits, minus 1, half is minus
/// their disjunction, which stands for all that has weight 1.
fn agreements<G: Gates>(
    g: &mut G,
    columns: &mut Columns<G::Wire>,
    a: &[G::Wire],
    below: usize,
) -> Result<(), G::Error> {
    for (i, inverted) in not_bits(g, a)?.iter().enumerate() {
        let row = (i + 1).max(2)..a.len().min(below.saturating_sub(i));
        let Some(bits) = a.get(row.clone()) else { continue };
        columns.add(&g.xor_many(bits, &vec![inverted.clone(); bits.len()])?, i + row.start);
        row.for_each(|j| columns.add_constant(-1, i + j));
    }
    let lowest = or(g, &a[0], &a[1])?;
    columns.subtract(g, &[lowest], 2)?;
    columns.add_bit(&a[0], 0);
    columns.subtract(g, &a[2..], 2)
}

/// a^2 = the agreements of pairs + (2^n - 1) a, for n > 1.
fn rows<G: Gates>(g: &mut G, a: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let mut columns = Columns::new(2 * a.len());
    agreements(g, &mut columns, a, 2 * a.len())?;
    columns.add(a, a.len());
    columns.total(g)
}

/// The same modulo 2^n: the agreements at weights from 2^(n-1) on count for nothing when doubled.
fn rows_low<G: Gates>(g: &mut G, a: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let width = a.len();
    if width < 3 {
        let mut columns = Columns::new(width);
        columns.add(&a[..width.min(1)], 0);
        return columns.total(g);
    }
    let mut columns = Columns::new(width);
    agreements(g, &mut columns, a, width - 1)?;
    for bit in a {
        columns.add_bit(bit, width - 1);
    }
    if width % 2 == 1 {
        columns.add_bit(&a[width / 2], width - 1);
    }
    columns.total(g)
}

/// a0^2 + 2^(h+1) a0 a1 modulo 2^n.
fn split_low<G: Gates>(g: &mut G, a: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let (half, width) = (a.len().div_ceil(2), a.len());
    let low = square_full(g, &a[..half])?;
    let rest = width - half - 1;
    let cross = mul(g, &a[..rest], &a[half..half + rest])?;
    let mut columns = Columns::new(rest);
    columns.add(&low[half + 1..], 0);
    columns.add(&cross, 0);
    let mut out = low[..=half].to_vec();
    out.extend(columns.total(g)?);
    Ok(out)
}

/// The middle term of the square is a0^2 + a1^2 - (a0 - a1)^2.
fn karatsuba<G: Gates>(g: &mut G, a: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let half = a.len() / 2;
    let (a0, a1) = a.split_at(half);
    let z0 = square_full(g, a0)?;
    let z2 = square_full(g, a1)?;
    let (difference, _) = distance(g, a0, a1)?;
    let product = square_full(g, &difference)?;
    let mut columns = outer_products(g, &z0, &z2)?;
    columns.subtract(g, &product, 0)?;
    let mut out = z0[..half].to_vec();
    out.extend(columns.total(g)?);
    Ok(out)
}

/// The even part, and the top bit by hand: (a' + 2^m t)^2 = a'^2 + 2^(m+1) t a' + 2^2m t.
fn odd<G: Gates>(g: &mut G, a: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let even = a.len() - 1;
    let product = square_full(g, &a[..even])?;
    let row = g.and_groups(&a[even..], &a[..even])?;
    let mut columns = Columns::new(even + 1);
    columns.add(&product[even + 1..], 0);
    columns.add(&row, 0);
    columns.add_bit(&a[even], even - 1);
    let mut out = product[..=even].to_vec();
    out.extend(columns.total(g)?);
    Ok(out)
}

/// Whether Karatsuba's method takes fewer ANDs for `width` bits; see the test.
fn karatsuba_wins(width: usize) -> bool {
    width >= if width.is_multiple_of(2) { 46 } else { 55 }
}

/// From where halves take fewer ANDs modulo 2^n, give or take a few; see the test.
const SPLIT_LOW_FROM: usize = 125;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::{Depth, ands};

    #[test]
    fn karatsuba_is_used_exactly_where_it_wins() {
        for width in 2..=150 {
            let x = vec![Depth(0); width];
            let rows = ands(|g| rows(g, &x));
            let split = ands(|g| if width % 2 == 1 { odd(g, &x) } else { karatsuba(g, &x) });
            let chosen = ands(|g| square_full(g, &x));
            assert_eq!(chosen, rows.min(split), "{width}");
        }
    }

    #[test]
    fn halves_are_used_where_they_win_modulo_a_power_of_two() {
        for width in 2..=300 {
            let x = vec![Depth(0); width];
            let rows = ands(|g| rows_low(g, &x));
            let split = ands(|g| split_low(g, &x));
            let chosen = ands(|g| square(g, &x));
            assert!(chosen <= rows.min(split) * 103 / 100, "{width}");
        }
    }
}
