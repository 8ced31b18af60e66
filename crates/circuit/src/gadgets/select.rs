//! Choosing: multiplexer, swap, minimum, maximum, absolute value.

use super::Bits;
use super::arith::negate_if;
use super::compare::{lt, lt_signed};
use super::logic::same_width;
use crate::gates::Gates;
use crate::lanes::zip_lanes;

/// `on_true` where `select` is set, otherwise `on_false`: one AND per bit.
///
/// # Panics
///
/// When the widths differ.
pub fn mux<G: Gates>(
    g: &mut G,
    select: &G::Wire,
    on_true: &[G::Wire],
    on_false: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    same_width(on_true, on_false);
    g.mux_many(select, on_true, on_false)
}

/// A multiplexer per lane, each with a select of its own, in one batch: one AND per bit.
///
/// # Panics
///
/// When the numbers of lanes or the widths differ.
pub fn mux_each<G: Gates>(
    g: &mut G,
    select: &[G::Wire],
    on_true: &[Bits<G>],
    on_false: &[Bits<G>],
) -> Result<Vec<Bits<G>>, G::Error> {
    assert_eq!(select.len(), on_true.len(), "different numbers of lanes");
    let selects: Vec<Bits<G>> = select.iter().map(|wire| vec![wire.clone()]).collect();
    let halves: Vec<Bits<G>> =
        selects.into_iter().zip(on_true).map(|(s, t)| [s, t.clone()].concat()).collect();
    zip_lanes(g, &halves, on_false, |g, halves, on_false| match halves.split_first() {
        Some((select, on_true)) => mux(g, select, on_true, on_false),
        None => Ok(Vec::new()),
    })
}

/// `(b, a)` where `condition` is set, otherwise `(a, b)`: one AND per bit.
///
/// # Panics
///
/// When the widths differ.
pub fn swap_if<G: Gates>(
    g: &mut G,
    condition: &G::Wire,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<(Bits<G>, Bits<G>), G::Error> {
    same_width(a, b);
    let difference = g.xor_many(a, b)?;
    let moved = g.and_groups(std::slice::from_ref(condition), &difference)?;
    Ok((g.xor_many(a, &moved)?, g.xor_many(b, &moved)?))
}

/// The smaller number, unsigned: 2n ANDs.
///
/// # Panics
///
/// When the widths differ.
pub fn min<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let less = lt(g, a, b)?;
    mux(g, &less, a, b)
}

/// The larger number, unsigned: 2n ANDs.
///
/// # Panics
///
/// When the widths differ.
pub fn max<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let less = lt(g, a, b)?;
    mux(g, &less, b, a)
}

/// The smaller number, signed: 2n ANDs.
///
/// # Panics
///
/// When the widths differ.
pub fn min_signed<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let less = lt_signed(g, a, b)?;
    mux(g, &less, a, b)
}

/// The larger number, signed: 2n ANDs.
///
/// # Panics
///
/// When the widths differ.
pub fn max_signed<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let less = lt_signed(g, a, b)?;
    mux(g, &less, b, a)
}

/// The absolute value of a signed number: n - 1 ANDs. That of -2^(n-1) is 2^(n-1), read unsigned.
pub fn abs<G: Gates>(g: &mut G, a: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    match a.last() {
        Some(sign) => negate_if(g, sign, a),
        None => Ok(Vec::new()),
    }
}

/// [`min`] on many lanes.
pub fn min_many<G: Gates>(
    g: &mut G,
    a: &[Bits<G>],
    b: &[Bits<G>],
) -> Result<Vec<Bits<G>>, G::Error> {
    zip_lanes(g, a, b, |g, a, b| min(g, a, b))
}

/// [`max`] on many lanes.
pub fn max_many<G: Gates>(
    g: &mut G,
    a: &[Bits<G>],
    b: &[Bits<G>],
) -> Result<Vec<Bits<G>>, G::Error> {
    zip_lanes(g, a, b, |g, a, b| max(g, a, b))
}
