//! Counting ones, and the Hamming distance.

use super::Bits;
use super::columns::Columns;
use crate::gates::Gates;
use crate::lanes::{map_lanes, zip_lanes};

/// How many of `n` bits are set, as floor(log2 n) + 1 bits: n - (ones of n in binary) ANDs.
pub fn popcount<G: Gates>(g: &mut G, bits: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    sum_bits(g, bits, bits.len().checked_ilog2().map_or(0, |log| log as usize + 1))
}

/// How many of `bits` are set, modulo 2^`width`: at most an AND for each bit.
pub fn sum_bits<G: Gates>(g: &mut G, bits: &[G::Wire], width: usize) -> Result<Bits<G>, G::Error> {
    let mut columns = Columns::new(width);
    columns.add_column(bits, 0);
    columns.total(g)
}

/// In how many bits `a` and `b` differ; costs what [`popcount`] costs.
///
/// # Panics
///
/// When the widths differ.
pub fn hamming<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    super::logic::same_width(a, b);
    let differs = g.xor_many(a, b)?;
    popcount(g, &differs)
}

/// [`popcount`] on many lanes.
pub fn popcount_many<G: Gates>(g: &mut G, a: &[Bits<G>]) -> Result<Vec<Bits<G>>, G::Error> {
    map_lanes(g, a, |g, a| popcount(g, a))
}

/// [`hamming`] on many lanes.
pub fn hamming_many<G: Gates>(
    g: &mut G,
    a: &[Bits<G>],
    b: &[Bits<G>],
) -> Result<Vec<Bits<G>>, G::Error> {
    zip_lanes(g, a, b, |g, a, b| hamming(g, a, b))
}
