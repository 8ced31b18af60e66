//! Runs of bits: prefixes, leading and trailing zeros.

use super::Bits;
use super::logic::or;
use crate::gates::Gates;

/// Whether any of the bits 0 to i is set, for every i: n - 1 ANDs.
pub fn prefix_or<G: Gates>(g: &mut G, bits: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let mut prefix: Bits<G> = Vec::with_capacity(bits.len());
    for bit in bits {
        let next = match prefix.last() {
            Some(any) => or(g, any, bit)?,
            None => bit.clone(),
        };
        prefix.push(next);
    }
    Ok(prefix)
}

/// Whether all of the bits 0 to i are set, for every i: n - 1 ANDs.
pub fn prefix_and<G: Gates>(g: &mut G, bits: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let mut prefix: Bits<G> = Vec::with_capacity(bits.len());
    for bit in bits {
        let next = match prefix.last() {
            Some(all) => g.and(all, bit)?,
            None => bit.clone(),
        };
        prefix.push(next);
    }
    Ok(prefix)
}

/// How many zeros stand below the lowest set bit (n for the number 0), as floor(log2 n) + 1 bits:
/// n - 1 ANDs.
pub fn trailing_zeros<G: Gates>(g: &mut G, bits: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let seen = prefix_or(g, bits)?;
    let Some(last) = seen.last() else { return Ok(Vec::new()) };
    // Exactly one place is the first, so that XORs pick the bits of its number.
    let mut first = vec![seen[0].clone()];
    for pair in seen.windows(2) {
        first.push(g.xor(&pair[0], &pair[1])?);
    }
    first.push(g.not(last)?);
    let mut out = Vec::new();
    for bit in 0..usize::BITS - bits.len().leading_zeros() {
        let mut places = first.iter().enumerate().filter(|(place, _)| place >> bit & 1 == 1);
        let Some((_, place)) = places.next() else { break };
        let mut sum = place.clone();
        for (_, place) in places {
            sum = g.xor(&sum, place)?;
        }
        out.push(sum);
    }
    Ok(out)
}

/// How many zeros stand above the highest set bit; see [`trailing_zeros`].
pub fn leading_zeros<G: Gates>(g: &mut G, bits: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let reversed: Bits<G> = bits.iter().rev().cloned().collect();
    trailing_zeros(g, &reversed)
}
