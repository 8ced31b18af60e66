//! Cells of the edit distance table, in differences.
//!
//! Neighbours in the table of Levenshtein's distance differ by -1, 0 or 1, and a cell exceeds its
//! upper left neighbour by 0 or 1 (Ukkonen 1985, Myers 1999). So a cell needs no numbers: the
//! differences along its left and upper sides give those along its right and lower ones.

use super::Bits;
use super::logic::{not_bits, same_width};
use crate::gates::Gates;

/// Differences of neighbours in the table, one per cell: 1, -1, or 0 where neither bit is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deltas<W> {
    /// Whether the difference is 1.
    pub plus: Vec<W>,
    /// Whether the difference is -1; never together with `plus`.
    pub minus: Vec<W>,
}

/// Many cells that do not depend on each other (an anti-diagonal): 4 ANDs each, in 3 batches.
///
/// `unequal` tells whether the characters of a cell differ, `left` is the difference from the upper
/// left to the lower left neighbour, `upper` that from the upper left to the upper right one. The
/// result is the difference along the right side (the `left` of the next column) and along the lower
/// side (the `upper` of the next row). Fewer ANDs cannot do: the three products below are of degree
/// ANDs whose sums with the inputs give the result.
///
/// # Panics
///
/// When the lengths differ.
pub fn edit_cells<G: Gates>(
    g: &mut G,
    unequal: &[G::Wire],
    left: &Deltas<G::Wire>,
    upper: &Deltas<G::Wire>,
) -> Result<(Deltas<G::Wire>, Deltas<G::Wire>), G::Error> {
    let cells = same_width(unequal, &left.plus);
    same_width(unequal, &left.minus);
    same_width(unequal, &upper.plus);
    same_width(unequal, &upper.minus);
    let left_rises = not_bits(g, &left.minus)?;
    let upper_rises = not_bits(g, &upper.minus)?;
    let diagonal = g.and_many(unequal, &left_rises)?;
    let diagonal = g.and_many(&diagonal, &upper_rises)?;
    // The diagonal difference minus that of the upper side is the right side's, and so crosswise.
    let sides = [upper.plus.as_slice(), &left.plus].concat();
    let both = g.and_many(&[diagonal.as_slice(), &diagonal].concat(), &sides)?;
    let (with_upper, with_left) = both.split_at(cells);
    let right = difference(g, &diagonal, upper, with_upper)?;
    let lower = difference(g, &diagonal, left, with_left)?;
    Ok((right, lower))
}

/// `diagonal - side`, where `both` is `diagonal and side.plus`.
fn difference<G: Gates>(
    g: &mut G,
    diagonal: &[G::Wire],
    side: &Deltas<G::Wire>,
    both: &[G::Wire],
) -> Result<Deltas<G::Wire>, G::Error> {
    let minus = g.xor_many(&side.plus, both)?;
    let alone: Bits<G> = g.xor_many(diagonal, both)?;
    // Where the side falls the diagonal is 0.
    let plus = g.xor_many(&alone, &side.minus)?;
    Ok(Deltas { plus, minus })
}
