//! Comparison and equality.

use super::Bits;
use super::arith::next_borrow;
use super::logic::{all_set, any_set, not_bits, same_width};
use crate::gates::Gates;
use crate::lanes::zip_lanes;

/// Whether `a < b`, unsigned: n ANDs.
///
/// # Panics
///
/// When the widths differ.
pub fn lt<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<G::Wire, G::Error> {
    same_width(a, b);
    let mut borrow: Option<G::Wire> = None;
    for (a, b) in a.iter().zip(b) {
        let a_b = g.xor(a, b)?;
        borrow = Some(next_borrow(g, &a_b, b, borrow.as_ref())?);
    }
    match borrow {
        Some(borrow) => Ok(borrow),
        None => g.constant(false),
    }
}

/// Whether `a <= b`, unsigned: n ANDs.
///
/// # Panics
///
/// When the widths differ.
pub fn le<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<G::Wire, G::Error> {
    let greater = lt(g, b, a)?;
    g.not(&greater)
}

/// Whether `a < b`, signed: n ANDs.
///
/// # Panics
///
/// When the widths differ.
pub fn lt_signed<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<G::Wire, G::Error> {
    let width = same_width(a, b);
    // A sign bit weighs -2^(n-1): with the two sign bits exchanged the unsigned order is the signed.
    let (mut low, mut high) = (a.to_vec(), b.to_vec());
    if width > 0 {
        std::mem::swap(&mut low[width - 1], &mut high[width - 1]);
    }
    lt(g, &low, &high)
}

/// Whether `a <= b`, signed: n ANDs.
///
/// # Panics
///
/// When the widths differ.
pub fn le_signed<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<G::Wire, G::Error> {
    let greater = lt_signed(g, b, a)?;
    g.not(&greater)
}

/// Whether `a` equals `b`: n - 1 ANDs, depth ceil(log2 n).
///
/// # Panics
///
/// When the widths differ.
pub fn eq<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<G::Wire, G::Error> {
    same_width(a, b);
    let differs = g.xor_many(a, b)?;
    let same = not_bits(g, &differs)?;
    all_set(g, &same)
}

/// Whether `a` is zero: n - 1 ANDs, depth ceil(log2 n).
pub fn is_zero<G: Gates>(g: &mut G, a: &[G::Wire]) -> Result<G::Wire, G::Error> {
    let inverted = not_bits(g, a)?;
    all_set(g, &inverted)
}

/// Whether `a` is not zero: n - 1 ANDs, depth ceil(log2 n).
pub fn nonzero<G: Gates>(g: &mut G, a: &[G::Wire]) -> Result<G::Wire, G::Error> {
    any_set(g, a)
}

/// [`lt`] on many lanes: one bit per lane.
pub fn lt_many<G: Gates>(g: &mut G, a: &[Bits<G>], b: &[Bits<G>]) -> Result<Bits<G>, G::Error> {
    Ok(zip_lanes(g, a, b, |g, a, b| Ok(vec![lt(g, a, b)?]))?.concat())
}

/// [`lt_signed`] on many lanes: one bit per lane.
pub fn lt_signed_many<G: Gates>(
    g: &mut G,
    a: &[Bits<G>],
    b: &[Bits<G>],
) -> Result<Bits<G>, G::Error> {
    Ok(zip_lanes(g, a, b, |g, a, b| Ok(vec![lt_signed(g, a, b)?]))?.concat())
}

/// [`eq`] on many lanes: one bit per lane.
pub fn eq_many<G: Gates>(g: &mut G, a: &[Bits<G>], b: &[Bits<G>]) -> Result<Bits<G>, G::Error> {
    Ok(zip_lanes(g, a, b, |g, a, b| Ok(vec![eq(g, a, b)?]))?.concat())
}
