//! Addition, subtraction, negation, sums of many numbers.

use super::Bits;
use super::columns::Columns;
use super::logic::same_width;
use crate::gates::Gates;
use crate::lanes::{map_lanes, zip_lanes};

/// `a + b` modulo 2^n: n - 1 ANDs.
///
/// # Panics
///
/// When the widths differ.
pub fn add<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    Ok(ripple(g, a, b, None, false)?.0)
}

/// `a + b + carry` as n bits and the carry out: n ANDs.
///
/// # Panics
///
/// When the widths differ.
pub fn add_carry<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
    carry: Option<&G::Wire>,
) -> Result<(Bits<G>, G::Wire), G::Error> {
    let (sum, carry) = ripple(g, a, b, carry.cloned(), true)?;
    match carry {
        Some(carry) => Ok((sum, carry)),
        None => Ok((sum, g.constant(false)?)),
    }
}

/// Ripple-carry addition; the last carry is computed only when asked for.
pub(super) fn ripple<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
    mut carry: Option<G::Wire>,
    carry_out: bool,
) -> Result<(Bits<G>, Option<G::Wire>), G::Error> {
    let width = same_width(a, b);
    let mut sum = Vec::with_capacity(width);
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        let needed = carry_out || i + 1 < width;
        carry = match carry {
            None => {
                sum.push(g.xor(a, b)?);
                if needed { Some(g.and(a, b)?) } else { None }
            }
            Some(carry) => {
                let b_c = g.xor(b, &carry)?;
                sum.push(g.xor(a, &b_c)?);
                if needed { Some(majority(g, a, &b_c, &carry)?) } else { None }
            }
        };
    }
    Ok((sum, carry))
}

/// The majority of `a`, `b` and `c` where `b_c` is `b xor c`: one AND.
pub(super) fn majority<G: Gates>(
    g: &mut G,
    a: &G::Wire,
    b_c: &G::Wire,
    c: &G::Wire,
) -> Result<G::Wire, G::Error> {
    let a_c = g.xor(a, c)?;
    let both = g.and(&a_c, b_c)?;
    g.xor(c, &both)
}

/// `a + constant` modulo 2^n: at most n - 2 ANDs, fewer when the constant ends in zeros.
///
/// # Panics
///
/// When the widths differ.
pub fn add_constant<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    constant: &[bool],
) -> Result<Bits<G>, G::Error> {
    assert_eq!(a.len(), constant.len(), "operands of different widths");
    let mut carry: Option<G::Wire> = None;
    let mut sum = Vec::with_capacity(a.len());
    for (i, (a, bit)) in a.iter().zip(constant).enumerate() {
        let last = i + 1 == constant.len();
        let Some(c) = carry.take() else {
            // Nothing carries below the lowest set bit, and from there the carry is the bit itself.
            sum.push(if *bit { g.not(a)? } else { a.clone() });
            carry = bit.then(|| a.clone());
            continue;
        };
        let a_c = g.xor(a, &c)?;
        if !last {
            let both = g.and(a, &c)?;
            carry = Some(if *bit { g.xor(&both, &a_c)? } else { both });
        }
        sum.push(if *bit { g.not(&a_c)? } else { a_c });
    }
    Ok(sum)
}

/// `a - b` modulo 2^n: n - 1 ANDs.
///
/// # Panics
///
/// When the widths differ.
pub fn sub<G: Gates>(g: &mut G, a: &[G::Wire], b: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    Ok(borrow_chain(g, a, b, false)?.0)
}

/// `a - b` modulo 2^n and whether `a < b` (unsigned): n ANDs.
///
/// # Panics
///
/// When the widths differ.
pub fn sub_borrow<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<(Bits<G>, G::Wire), G::Error> {
    let (difference, borrow) = borrow_chain(g, a, b, true)?;
    match borrow {
        Some(borrow) => Ok((difference, borrow)),
        None => Ok((difference, g.constant(false)?)),
    }
}

fn borrow_chain<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    b: &[G::Wire],
    borrow_out: bool,
) -> Result<(Bits<G>, Option<G::Wire>), G::Error> {
    let width = same_width(a, b);
    let mut difference = Vec::with_capacity(width);
    let mut borrow: Option<G::Wire> = None;
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        let needed = borrow_out || i + 1 < width;
        let a_b = g.xor(a, b)?;
        let next = if needed { Some(next_borrow(g, &a_b, b, borrow.as_ref())?) } else { None };
        difference.push(match &borrow {
            None => a_b,
            Some(borrow) => g.xor(&a_b, borrow)?,
        });
        borrow = next;
    }
    Ok((difference, borrow))
}

/// The borrow after a bit of `a - b`: `b` where the bits differ, the old borrow where they agree.
/// One AND. `a_b` is `a xor b`.
pub(super) fn next_borrow<G: Gates>(
    g: &mut G,
    a_b: &G::Wire,
    b: &G::Wire,
    borrow: Option<&G::Wire>,
) -> Result<G::Wire, G::Error> {
    let Some(borrow) = borrow else { return g.and(a_b, b) };
    let change = g.xor(b, borrow)?;
    let change = g.and(a_b, &change)?;
    g.xor(borrow, &change)
}

/// `-a` modulo 2^n: n - 2 ANDs.
pub fn negate<G: Gates>(g: &mut G, a: &[G::Wire]) -> Result<Bits<G>, G::Error> {
    let Some((first, rest)) = a.split_first() else { return Ok(Vec::new()) };
    let mut out = vec![first.clone()];
    // Bits above the lowest set one flip: `seen` tells whether it lies below.
    let mut seen = first.clone();
    for (i, bit) in rest.iter().enumerate() {
        let flipped = g.xor(bit, &seen)?;
        if i + 1 < rest.len() {
            let both = g.and(bit, &seen)?;
            seen = g.xor(&both, &flipped)?;
        }
        out.push(flipped);
    }
    Ok(out)
}

/// `-a` modulo 2^n where `condition` is set, otherwise `a`: n - 1 ANDs.
pub fn negate_if<G: Gates>(
    g: &mut G,
    condition: &G::Wire,
    a: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let Some((first, rest)) = a.split_first() else { return Ok(Vec::new()) };
    let mut out = vec![first.clone()];
    let mut carry = condition.clone();
    let mut flipped = g.xor(first, condition)?;
    for bit in rest {
        carry = g.and(&flipped, &carry)?;
        flipped = g.xor(bit, condition)?;
        out.push(g.xor(&flipped, &carry)?);
    }
    Ok(out)
}

/// The sum of any number of operands of any widths modulo 2^`width`.
///
/// Carry-save layers, each one batch, and one ripple at the end: about as many ANDs as a chain of
/// adders, in far fewer batches.
pub fn sum<G: Gates>(
    g: &mut G,
    operands: &[&[G::Wire]],
    width: usize,
) -> Result<Bits<G>, G::Error> {
    let mut columns = Columns::new(width);
    for operand in operands {
        columns.add(operand, 0);
    }
    columns.total(g)
}

/// [`sum`] of signed numbers of any widths. A sign counts as its complement and a public number, so that it costs no AND above its own column.
pub fn sum_signed<G: Gates>(
    g: &mut G,
    operands: &[&[G::Wire]],
    width: usize,
) -> Result<Bits<G>, G::Error> {
    let mut columns = Columns::new(width);
    for operand in operands {
        let Some((sign, bits)) = operand.split_last() else { continue };
        columns.add(bits, 0);
        columns.subtract(g, std::slice::from_ref(sign), bits.len())?;
    }
    columns.total(g)
}

/// [`add`] on many lanes.
pub fn add_many<G: Gates>(
    g: &mut G,
    a: &[Bits<G>],
    b: &[Bits<G>],
) -> Result<Vec<Bits<G>>, G::Error> {
    zip_lanes(g, a, b, |g, a, b| add(g, a, b))
}

/// [`sub`] on many lanes.
pub fn sub_many<G: Gates>(
    g: &mut G,
    a: &[Bits<G>],
    b: &[Bits<G>],
) -> Result<Vec<Bits<G>>, G::Error> {
    zip_lanes(g, a, b, |g, a, b| sub(g, a, b))
}

/// [`negate`] on many lanes.
pub fn negate_many<G: Gates>(g: &mut G, a: &[Bits<G>]) -> Result<Vec<Bits<G>>, G::Error> {
    map_lanes(g, a, |g, a| negate(g, a))
}
