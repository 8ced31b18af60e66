//! Sums of products.

use super::Bits;
use super::columns::Columns;
use super::mul::place_product;
use crate::gates::Gates;
use crate::lanes::{Lanes, pack, unpack};

/// The sum of the products of numbers of n > 0 bits, unsigned, modulo 2^`width`; modulo 2^n and below,
/// signed or unsigned.
///
/// All products are added in one carry-save tree, so that each costs about n ANDs less than a [`mul`]
/// (or 2n less than a [`mul_full`]) and an addition.
///
/// [`mul`]: super::mul
/// [`mul_full`]: super::mul_full
///
/// # Panics
///
/// When `a` and `b` differ in length, or two factors in width.
pub fn dot<G: Gates>(
    g: &mut G,
    a: &[Bits<G>],
    b: &[Bits<G>],
    width: usize,
) -> Result<Bits<G>, G::Error> {
    assert_eq!(a.len(), b.len(), "different numbers of factors");
    let mut columns = Columns::new(width);
    for (a, b) in a.iter().zip(b) {
        place_product(g, &mut columns, a, b)?;
    }
    columns.total(g)
}

/// The product of the matrix of rows `a` and the matrix of rows `b`: a [`dot`] modulo 2^`width` for each
/// element, all side by side.
///
/// # Panics
///
/// When the rows of `a` are not as long as `b` has rows, or rows or factors differ in width.
pub fn matrix_product<G: Gates>(
    g: &mut G,
    a: &[Vec<Bits<G>>],
    b: &[Vec<Bits<G>>],
    width: usize,
) -> Result<Vec<Vec<Bits<G>>>, G::Error> {
    let columns = b.first().map_or(0, Vec::len);
    assert!(a.iter().all(|row| row.len() == b.len()), "matrices that do not fit");
    assert!(b.iter().all(|row| row.len() == columns), "rows of different lengths");
    let lanes = a.len() * columns;
    if lanes == 0 {
        return Ok(vec![Vec::new(); a.len()]);
    }
    // Factor k of the element in row i and column j is on lane i * columns + j.
    let left = (0..b.len()).map(|k| {
        let lanes = a.iter().flat_map(|row| vec![row[k].clone(); columns]);
        pack(&lanes.collect::<Vec<_>>())
    });
    let right = b.iter().map(|row| pack(&vec![row.as_slice(); a.len()].concat()));
    let (left, right): (Vec<_>, Vec<_>) = (left.collect(), right.collect());
    let elements = dot(&mut Lanes::new(g, lanes), &left, &right, width)?;
    Ok(unpack(&elements, lanes).chunks(columns).map(<[_]>::to_vec).collect())
}
