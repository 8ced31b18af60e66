//! Bitwise logic and wide ANDs.

use super::Bits;
use crate::gates::Gates;

/// Public bits as wires.
pub fn constant_bits<G: Gates>(g: &mut G, bits: &[bool]) -> Result<Bits<G>, G::Error> {
    bits.iter().map(|bit| g.constant(*bit)).collect()
}

/// Negation of every bit. No AND.
pub fn not_bits<G: Gates>(g: &mut G, a: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    a.iter().map(|bit| g.not(bit)).collect()
}

/// Bitwise XOR. No AND.
///
/// # Panics
///
/// When the widths differ.
pub fn xor_bits<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    same_width(a, b);
    g.xor_many(a, b)
}

/// Bitwise and: one AND per bit.
///
/// # Panics
///
/// When the widths differ.
pub fn and_bits<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    same_width(a, b);
    g.and_many(a, b)
}

/// Bitwise or: one AND per bit.
///
/// # Panics
///
/// When the widths differ.
pub fn or_bits<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    same_width(a, b);
    let both = g.and_many(a, b)?;
    let one = g.xor_many(a, b)?;
    g.xor_many(&both, &one)
}

/// Disjunction of two bits: one AND.
pub fn or<G: Gates>(g: &mut G, a: &G::Wire, b: &G::Wire) -> Result<G::Wire, G::Error> {
    let both = g.and(a, b)?;
    let one = g.xor(a, b)?;
    g.xor(&both, &one)
}

/// Whether all of `n` bits are set (true for none): n - 1 ANDs in a tree of depth ceil(log2 n).
pub fn all_set<G: Gates>(g: &mut G, bits: &[G::Wire]) -> Result<G::Wire, G::Error> {
    let mut row = bits.to_vec();
    while row.len() > 1 {
        let odd = if row.len() % 2 == 1 { row.pop() } else { None };
        let (low, high) = row.split_at(row.len() / 2);
        row = g.and_many(low, high)?;
        row.extend(odd);
    }
    match row.pop() {
        Some(bit) => Ok(bit),
        None => g.constant(true),
    }
}

/// Whether any of `n` bits is set (false for none): n - 1 ANDs in a tree of depth ceil(log2 n).
pub fn any_set<G: Gates>(g: &mut G, bits: &[G::Wire]) -> Result<G::Wire, G::Error> {
    let inverted = not_bits(g, bits)?;
    let none = all_set(g, &inverted)?;
    g.not(&none)
}

/// The width shared by two operands.
pub(super) fn same_width<W>(a: &[W], b: &[W]) -> usize {
    assert_eq!(a.len(), b.len(), "operands of different widths");
    a.len()
}
