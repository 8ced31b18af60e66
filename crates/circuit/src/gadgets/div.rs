//! Division with remainder.
//!
//! Division by zero is defined, as on RISC-V: the quotient is all ones (-1 when signed) and the
//! remainder is the dividend. Signed division rounds towards zero, the remainder has the sign of the
//! dividend, and -2^(n-1) / -1 wraps to -2^(n-1) with remainder 0.

use super::Bits;
use super::arith::{negate_if, sub_borrow};
use super::logic::{or, same_width};
use super::select::{abs, mux};
use crate::gates::Gates;
use crate::lanes::zip_lanes;

/// Quotient and remainder of unsigned numbers: n^2 + 3n - 3 ANDs.
///
/// Restoring division in which step w looks at w bits only: the partial remainder is a prefix of the
/// dividend, so a divisor with any higher bit set is larger.
///
/// # Panics
///
/// When the widths differ.
pub fn divide<G: Gates>(
    g: &mut G,
    dividend: &[G::Wire],
    divisor: &[G::Wire],
) -> Result<(Bits<G>, Bits<G>), G::Error> {
    let above = bits_above(g, divisor)?;
    restoring(g, dividend, divisor, &above)
}

/// Quotient and remainder of signed numbers, rounding towards zero: n^2 + 7n - 5 ANDs.
///
/// # Panics
///
/// When the widths differ.
pub fn divide_signed<G: Gates>(
    g: &mut G,
    dividend: &[G::Wire],
    divisor: &[G::Wire],
) -> Result<(Bits<G>, Bits<G>), G::Error> {
    same_width(dividend, divisor);
    let (Some(sign_a), Some(sign_b)) = (dividend.last(), divisor.last()) else {
        return Ok((Vec::new(), Vec::new()));
    };
    let (a, b) = (abs(g, dividend)?, abs(g, divisor)?);
    let above = bits_above(g, &b)?;
    let (quotient, remainder) = restoring(g, &a, &b, &above)?;
    let nonzero = match above.first() {
        Some(above) => or(g, above, &b[0])?,
        None => b[0].clone(),
    };
    // The quotient by zero is all ones already, so its sign must not be touched.
    let differ = g.xor(sign_a, sign_b)?;
    let negative = g.and(&differ, &nonzero)?;
    Ok((negate_if(g, &negative, &quotient)?, negate_if(g, sign_a, &remainder)?))
}

/// Position i tells whether any bit above bit i is set; one shorter than `bits`.
fn bits_above<G: Gates>(g: &mut G, bits: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let mut above: Bits<G> = Vec::with_capacity(bits.len());
    for bit in bits.iter().skip(1).rev() {
        let next = match above.last() {
            Some(higher) => or(g, higher, bit)?,
            None => bit.clone(),
        };
        above.push(next);
    }
    above.reverse();
    Ok(above)
}

fn restoring<G: Gates>(
    g: &mut G,
    dividend: &[G::Wire],
    divisor: &[G::Wire],
    above: &[G::Wire],
) -> Result<(Bits<G>, Bits<G>), G::Error> {
    let width = same_width(dividend, divisor);
    let mut quotient = Vec::with_capacity(width);
    let mut remainder: Bits<G> = Vec::with_capacity(width);
    for (step, bit) in dividend.iter().rev().enumerate() {
        remainder.insert(0, bit.clone());
        let (difference, borrow) = sub_borrow(g, &remainder, &divisor[..=step])?;
        let too_large = match above.get(step) {
            Some(above) => or(g, &borrow, above)?,
            None => borrow,
        };
        remainder = mux(g, &too_large, &remainder, &difference)?;
        quotient.push(g.not(&too_large)?);
    }
    quotient.reverse();
    Ok((quotient, remainder))
}

/// [`divide`] on many lanes: quotients and remainders.
pub fn divide_many<G: Gates>(
    g: &mut G,
    dividends: &[Bits<G>],
    divisors: &[Bits<G>],
) -> Result<(Vec<Bits<G>>, Vec<Bits<G>>), G::Error> {
    let both = zip_lanes(g, dividends, divisors, |g, a, b| {
        let (quotient, remainder) = divide(g, a, b)?;
        Ok([quotient, remainder].concat())
    })?;
    Ok(halves(both))
}

/// [`divide_signed`] on many lanes: quotients and remainders.
pub fn divide_signed_many<G: Gates>(
    g: &mut G,
    dividends: &[Bits<G>],
    divisors: &[Bits<G>],
) -> Result<(Vec<Bits<G>>, Vec<Bits<G>>), G::Error> {
    let both = zip_lanes(g, dividends, divisors, |g, a, b| {
        let (quotient, remainder) = divide_signed(g, a, b)?;
        Ok([quotient, remainder].concat())
    })?;
    Ok(halves(both))
}

fn halves<W>(lanes: Vec<Vec<W>>) -> (Vec<Vec<W>>, Vec<Vec<W>>) {
    lanes
        .into_iter()
        .map(|mut lane| {
            let high = lane.split_off(lane.len() / 2);
            (lane, high)
        })
        .unzip()
}
