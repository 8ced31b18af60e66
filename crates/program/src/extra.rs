//! Gadgets that word operations need beyond the standard library.

use cenote_circuit::Gates;
use cenote_circuit::gadgets;

use crate::infer::bits_for;
use crate::op::WordOp;

/// The entry at a secret position by a tree of multiplexers; beyond the end, the last one.
pub(crate) fn lookup<G: Gates>(
    g: &mut G,
    table: &[Vec<G::Wire>],
    index: &[G::Wire],
) -> Result<Vec<G::Wire>, G::Error> {
    let mut entries = table.to_vec();
    for bit in index {
        let mut next = Vec::with_capacity(entries.len().div_ceil(2));
        for pair in entries.chunks(2) {
            next.push(match pair {
                [low, high] => g.mux_many(bit, high, low)?,
                _ => pair[0].clone(),
            });
        }
        entries = next;
        if entries.len() == 1 {
            break;
        }
    }
    Ok(entries.swap_remove(0))
}

/// For each of `count` positions, whether `enable` is set and the index is this one.
pub(crate) fn one_hot<G: Gates>(
    g: &mut G,
    index: &[G::Wire],
    count: usize,
    enable: &G::Wire,
) -> Result<Vec<G::Wire>, G::Error> {
    let mut here = vec![enable.clone()];
    for (level, bit) in index.iter().enumerate().rev() {
        // Positions that agree in the bits above; the first `count` of them can be reached.
        let needed = count.div_ceil(1 << level.min(32)).max(1);
        let bits = vec![bit.clone(); here.len()];
        let ones = g.and_many(&here, &bits)?;
        let zeros = g.xor_many(&here, &ones)?;
        here = zeros.into_iter().zip(ones).flat_map(|(zero, one)| [zero, one]).collect();
        here.truncate(needed);
    }
    here.resize(count, g.constant(false)?);
    Ok(here)
}

/// How many zeros stand above the highest bit that is set.
pub(crate) fn leading_zeros<G: Gates>(g: &mut G, a: &[G::Wire]) -> Result<Vec<G::Wire>, G::Error> {
    // After a prefix of ors from above, the zeros are those that stand above.
    let mut clear = Vec::with_capacity(a.len());
    let mut none = g.constant(true)?;
    for bit in a.iter().rev() {
        let unset = g.not(bit)?;
        none = g.and(&none, &unset)?;
        clear.push(none.clone());
    }
    let mut count = gadgets::popcount(g, &clear)?;
    count.truncate(bits_for(a.len() as u32) as usize);
    Ok(count)
}

/// The integer square root, rounded down, as wide as the operand.
pub(crate) fn isqrt<G: Gates>(g: &mut G, a: &[G::Wire]) -> Result<Vec<G::Wire>, G::Error> {
    let zero = g.constant(false)?;
    let mut padded = a.to_vec();
    padded.resize(a.len().next_multiple_of(2), zero.clone());
    let digits = padded.len() / 2;
    // Digit by digit: two bits come down, and 4 root + 1 is subtracted where it fits.
    let (mut root, mut rest): (Vec<G::Wire>, Vec<G::Wire>) = (Vec::new(), Vec::new());
    for digit in (0..digits).rev() {
        let mut current = padded[2 * digit..2 * digit + 2].to_vec();
        current.extend(rest);
        let mut trial = vec![g.constant(true)?, zero.clone()];
        trial.extend(root.iter().cloned());
        let width = current.len().max(trial.len());
        current.resize(width, zero.clone());
        trial.resize(width, zero.clone());
        let (difference, borrow) = gadgets::sub_borrow(g, &current, &trial)?;
        rest = g.mux_many(&borrow, &current, &difference)?;
        root.insert(0, g.not(&borrow)?);
        // The rest is at most twice the root.
        rest.truncate(root.len() + 1);
    }
    root.resize(a.len(), zero);
    Ok(root)
}

/// The wrapped result and whether it differs from the true one.
pub(crate) fn checked<G: Gates>(
    g: &mut G,
    op: WordOp,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<Vec<Vec<G::Wire>>, G::Error> {
    use WordOp::{AddO, AddOS, MulO, SubO, SubOS};
    let width = a.len();
    match op {
        AddO => {
            let (sum, carry) = gadgets::add_carry(g, a, b, None)?;
            Ok(vec![sum, vec![carry]])
        }
        SubO => gadgets::sub_borrow(g, a, b).map(|(value, borrow)| vec![value, vec![borrow]]),
        AddOS | SubOS => {
            let (a, b) = (sign_extended(a), sign_extended(b));
            let mut value = match op {
                AddOS => gadgets::add(g, &a, &b)?,
                _ => gadgets::sub(g, &a, &b)?,
            };
            let sign = value.split_off(width);
            let overflow = g.xor(&sign[0], &value[width - 1])?;
            Ok(vec![value, vec![overflow]])
        }
        _ => {
            let mut value = match op {
                MulO => gadgets::mul_full(g, a, b)?,
                _ => gadgets::mul_signed_full(g, a, b)?,
            };
            let high = value.split_off(width);
            let wrong = if op == MulO {
                high
            } else {
                let signs = vec![value[width - 1].clone(); width];
                g.xor_many(&high, &signs)?
            };
            let overflow = gadgets::any_set(g, &wrong)?;
            Ok(vec![value, vec![overflow]])
        }
    }
}

fn sign_extended<W: Clone>(word: &[W]) -> Vec<W> {
    word.iter().chain(word.last()).cloned().collect()
}
