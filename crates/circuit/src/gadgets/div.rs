//! Division with remainder, and the square root.
//!
//! Division by zero is defined, as on RISC-V: the quotient is all ones (-1 when signed) and the
//! remainder is the dividend. Signed division rounds towards zero, the remainder has the sign of the
//! dividend, and -2^(n-1) / -1 wraps to -2^(n-1) with remainder 0.

use super::Bits;
use super::arith::{add, negate_if, ripple, sub_borrow};
use super::logic::or;
use super::select::abs;
use crate::gates::Gates;
use crate::lanes::zip_lanes;

/// Quotient and remainder of unsigned numbers, both as wide as the dividend.
///
/// Non-restoring division in which step w looks at about w bits only, and never at more than the divisor
/// has. n bits by m <= n bits: (n - m)(m + 1) + m(m + 9) / 2 - 4 ANDs, one more for m < n.
pub fn divide<G: Gates>(
    g: &mut G,
    dividend: &[G::Wire],
    divisor: &[G::Wire],
) -> Result<(Bits<G>, Bits<G>), G::Error> {
    let above = bits_above(g, divisor)?;
    let nonzero = if divisor.len() < dividend.len() { any(g, divisor, &above)? } else { None };
    non_restoring(g, dividend, divisor, &above, nonzero.as_ref())
}

/// Quotient and remainder of signed numbers, both as wide as the dividend, rounding towards zero.
///
/// 3n + m - 2 ANDs more than [`divide`], one less for m < n.
pub fn divide_signed<G: Gates>(
    g: &mut G,
    dividend: &[G::Wire],
    divisor: &[G::Wire],
) -> Result<(Bits<G>, Bits<G>), G::Error> {
    let (Some(sign_a), Some(sign_b)) = (dividend.last(), divisor.last()) else {
        return divide(g, dividend, divisor);
    };
    let (a, b) = (abs(g, dividend)?, abs(g, divisor)?);
    let above = bits_above(g, &b)?;
    let nonzero = any(g, &b, &above)?;
    let (quotient, remainder) = non_restoring(g, &a, &b, &above, nonzero.as_ref())?;
    // The quotient by zero is all ones already, so its sign must not be touched.
    let mut negative = g.xor(sign_a, sign_b)?;
    if let Some(nonzero) = nonzero {
        negative = g.and(&negative, &nonzero)?;
    }
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

/// Whether any of `bits` is set; nothing of no bits.
fn any<G: Gates>(
    g: &mut G,
    bits: &[G::Wire],
    above: &[G::Wire],
) -> Result<Option<G::Wire>, G::Error> {
    match (bits, above) {
        ([first, ..], [above, ..]) => or(g, above, first).map(Some),
        _ => Ok(bits.first().cloned()),
    }
}

/// Step w adds or subtracts the divisor so that the residue ends up between -divisor and divisor, and
/// needs only its w + 2 lowest bits: where the divisor has a higher bit the residue is negative. Nor does
/// it ever need more bits than the divisor and a sign. `nonzero` is asked for where the divisor is narrower.
fn non_restoring<G: Gates>(
    g: &mut G,
    dividend: &[G::Wire],
    divisor: &[G::Wire],
    above: &[G::Wire],
    nonzero: Option<&G::Wire>,
) -> Result<(Bits<G>, Bits<G>), G::Error> {
    if divisor.is_empty() {
        let ones = dividend.iter().map(|_| g.constant(true)).collect::<Result<_, _>>()?;
        return Ok((ones, dividend.to_vec()));
    }
    let mut quotient: Bits<G> = Vec::with_capacity(dividend.len());
    let mut residue: Bits<G> = Vec::with_capacity(divisor.len() + 2);
    for (step, bit) in dividend.iter().rev().enumerate() {
        let width = (step + 2).min(divisor.len() + 1);
        residue.insert(0, bit.clone());
        residue = match quotient.last() {
            None => first_residue(g, bit, divisor)?,
            Some(subtract) => {
                // The bits of the divisor, inverted to subtract; a zero above its last one.
                let mut operand = Vec::with_capacity(width);
                for bit in divisor.iter().take(width) {
                    operand.push(g.xor(bit, subtract)?);
                }
                operand.resize(width, subtract.clone());
                ripple(g, &residue[..width], &operand, Some(subtract.clone()), false)?.0
            }
        };
        let sign = &residue[width - 1];
        let negative = match above.get(step) {
            Some(above) => or(g, sign, above)?,
            None => sign.clone(),
        };
        quotient.push(g.not(&negative)?);
    }
    let width = dividend.len().min(divisor.len());
    if let Some(last) = quotient.last() {
        let negative = g.not(last)?;
        let correction = g.and_groups(&[negative], &divisor[..width])?;
        residue = add(g, &residue[..width], &correction)?;
    }
    quotient.reverse();
    if let Some(nonzero) = nonzero {
        // By zero the residue is what was read of the dividend: its bits that found no room are missing in
        // the remainder, and made the quotient wrong on their way out as signs.
        let zero = g.not(nonzero)?;
        let lost = g.and_groups(&[zero], &dividend[width..])?;
        for (bit, lost) in quotient.iter_mut().zip(&lost) {
            *bit = g.xor(bit, lost)?;
        }
        residue.extend(lost);
    }
    Ok((quotient, residue))
}

/// The two lowest bits of `bit - divisor`.
fn first_residue<G: Gates>(
    g: &mut G,
    bit: &G::Wire,
    divisor: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let (mut residue, borrow) = sub_borrow(g, std::slice::from_ref(bit), &divisor[..1])?;
    residue.push(match divisor.get(1) {
        Some(next) => g.xor(&borrow, next)?,
        None => borrow,
    });
    Ok(residue)
}

/// The square root of an unsigned number of n bits, rounded down, as k = ceil(n / 2) bits: k(k + 1) / 2
/// ANDs. Digit by digit like [`divide`], the divisor being what is known of the root.
pub fn isqrt<G: Gates>(g: &mut G, a: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let mut padded = a.to_vec();
    if a.len() % 2 == 1 {
        padded.push(g.constant(false)?);
    }
    // The root so far from its highest bit down, and a - root^2, negative where the last bit is 0.
    let mut root: Bits<G> = Vec::with_capacity(padded.len() / 2);
    let mut residue: Bits<G> = Vec::new();
    for pair in padded.chunks_exact(2).rev() {
        // 4 residue + pair - (4 root + 1), or + (4 root + 3) where it is negative: plus 3 in either
        // case, and plus four times the root, inverted to subtract.
        let both = g.xor(&pair[0], &pair[1])?;
        let carry = or(g, &pair[0], &pair[1])?;
        let mut next = vec![g.not(&pair[0])?, g.not(&both)?];
        match root.last() {
            None => next.push(g.not(&carry)?),
            Some(subtract) => {
                let mut operand = Vec::with_capacity(root.len() + 1);
                for bit in root.iter().rev() {
                    operand.push(g.xor(bit, subtract)?);
                }
                operand.push(subtract.clone());
                let upper = &residue[..operand.len()];
                next.extend(ripple(g, upper, &operand, Some(carry), false)?.0);
            }
        }
        let sign = next[root.len() + 2].clone();
        root.push(g.not(&sign)?);
        residue = next;
    }
    root.reverse();
    Ok(root)
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
