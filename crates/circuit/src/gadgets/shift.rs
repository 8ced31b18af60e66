//! Shifts and rotations by public and by secret amounts.
//!
//! A secret amount is an unsigned number of any width. Shifting by the width or more gives zeros
//! (sign bits for the signed shift); rotations go round.

use super::Bits;
use super::logic::any_set;
use super::select::mux;
use crate::gates::Gates;

/// `a << by` modulo 2^n. No AND.
pub fn shift_left<G: Gates>(g: &mut G, a: &[G::Wire], by: usize) -> Result<Bits<G>, G::Error> {
    let by = by.min(a.len());
    let mut out = zeros(g, by)?;
    out.extend_from_slice(&a[..a.len() - by]);
    Ok(out)
}

/// `a >> by`, unsigned. No AND.
pub fn shift_right<G: Gates>(g: &mut G, a: &[G::Wire], by: usize) -> Result<Bits<G>, G::Error> {
    let by = by.min(a.len());
    let mut out = a[by..].to_vec();
    out.extend(zeros(g, by)?);
    Ok(out)
}

/// `a >> by`, filling with the sign. No AND.
pub fn shift_right_signed<W: Clone>(a: &[W], by: usize) -> Vec<W> {
    let by = by.min(a.len());
    let fill = a.last().into_iter().cycle().take(by);
    a[by..].iter().chain(fill).cloned().collect()
}

/// Rotation towards the most significant bit. No gate at all.
pub fn rotate_left<W: Clone>(a: &[W], by: usize) -> Vec<W> {
    let mut out = a.to_vec();
    if !out.is_empty() {
        let by = by % out.len();
        out.rotate_right(by);
    }
    out
}

/// `a << by` for a secret `by` of k bits: n ANDs for each of min(k, ceil(log2 n)) stages; if k is
/// larger, n + k - ceil(log2 n) - 1 more.
pub fn shift_left_by<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    by: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let reversed: Bits<G> = a.iter().rev().cloned().collect();
    let mut out = shift_right_by(g, &reversed, by)?;
    out.reverse();
    Ok(out)
}

/// `a >> by` for a secret `by`, unsigned; costs what [`shift_left_by`] costs.
pub fn shift_right_by<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    by: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let (stages, large) = by.split_at(by.len().min(stages(a.len())));
    let mut out = a.to_vec();
    for (stage, select) in stages.iter().enumerate() {
        // Moving in zeros: the top bits are an AND with the negated select, no multiplexer.
        let distance = 1 << stage;
        let keep = g.not(select)?;
        let (low, top) = out.split_at(out.len() - distance);
        let mut next = mux(g, select, &out[distance..], low)?;
        next.extend(g.and_groups(&[keep], top)?);
        out = next;
    }
    if large.is_empty() {
        return Ok(out);
    }
    let gone = any_set(g, large)?;
    let keep = g.not(&gone)?;
    g.and_groups(&[keep], &out)
}

/// `a >> by` for a secret `by`, filling with the sign; costs what [`shift_left_by`] costs.
pub fn shift_right_signed_by<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    by: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let (stages, large) = by.split_at(by.len().min(stages(a.len())));
    let mut out = a.to_vec();
    for (stage, select) in stages.iter().enumerate() {
        let shifted = shift_right_signed(&out, 1 << stage);
        out = mux_below_sign(g, select, &shifted, &out)?;
    }
    if large.is_empty() {
        return Ok(out);
    }
    let gone = any_set(g, large)?;
    let signs = shift_right_signed(&out, out.len());
    mux_below_sign(g, &gone, &signs, &out)
}

/// A multiplexer of two numbers with the same sign bit.
fn mux_below_sign<G: Gates>(
    g: &mut G,
    select: &G::Wire,
    on_true: &[G::Wire],
    on_false: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let Some((sign, low)) = on_false.split_last() else { return Ok(Vec::new()) };
    let mut out = mux(g, select, &on_true[..low.len()], low)?;
    out.push(sign.clone());
    Ok(out)
}

/// Rotation towards the most significant bit by a secret amount modulo n.
///
/// n ANDs for each bit of `by`.
pub fn rotate_left_by<G: Gates>(
    g: &mut G,
    a: &[G::Wire],
    by: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let mut out = a.to_vec();
    let mut distance = 1 % a.len().max(1);
    for select in by {
        let rotated = rotate_left(&out, distance);
        out = mux(g, select, &rotated, &out)?;
        distance = distance * 2 % a.len().max(1);
    }
    Ok(out)
}

/// Bits of an amount that move a number of `width` bits by less than its width.
fn stages(width: usize) -> usize {
    width.next_power_of_two().trailing_zeros() as usize
}

fn zeros<G: Gates>(g: &mut G, count: usize) -> Result<Bits<G>, G::Error> {
    (0..count).map(|_| g.constant(false)).collect()
}
