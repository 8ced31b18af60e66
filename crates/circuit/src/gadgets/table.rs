//! Reading and writing a list at a secret place.

use super::Bits;
use super::logic::{any_set, or, same_width};
use crate::gates::Gates;
use crate::lanes::repeat;

/// `table[index]` for an unsigned secret `index`, and zeros beyond the end.
///
/// (rows - 1) n ANDs for rows of n bits: a tree of multiplexers, the lowest bit of the index first. Where
/// the index has bits to reach beyond the end, n more and at most one for each of its bits; rows that
/// fewer bits do not reach take none.
///
/// # Panics
///
/// When the table is empty, or rows differ in width.
pub fn lookup<G: Gates>(
    g: &mut G,
    table: &[Bits<G>],
    index: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let width = table[0].len();
    assert!(table.iter().all(|row| row.len() == width), "rows of different widths");
    if width == 0 {
        return Ok(Vec::new());
    }
    let digits = table.len().next_power_of_two().trailing_zeros() as usize;
    let low = &index[..digits.min(index.len())];
    let mut rows = table[..table.len().min(1 << low.len())].to_vec();
    for bit in low {
        // Behind the last row any will do: one without a partner goes on as it is.
        let alone = if rows.len() % 2 == 1 { rows.pop() } else { None };
        let (even, odd): (Vec<_>, Vec<_>) =
            rows.chunks(2).map(|pair| (&pair[0][..], &pair[1][..])).unzip();
        // All pairs share the bit: one multiplexer.
        let chosen = g.mux_many(bit, &odd.concat(), &even.concat())?;
        rows = chosen.chunks(width).map(<[_]>::to_vec).chain(alone).collect();
    }
    let row = rows.swap_remove(0);
    match inside(g, index, table.len())? {
        Some(inside) => g.and_groups(&[inside], &row),
        None => Ok(row),
    }
}

/// Whether the unsigned `index` is one of so many rows; `None` where it has no bits to reach further. At
/// most one AND for each bit but one.
pub(crate) fn inside<G: Gates>(
    g: &mut G,
    index: &[G::Wire],
    rows: usize,
) -> Result<Option<G::Wire>, G::Error> {
    let digits = (usize::BITS - rows.leading_zeros()) as usize;
    if index.len() < digits {
        return Ok(None);
    }
    // From the lowest bit of `rows` that is set: what is below it does not matter.
    let lowest = rows.trailing_zeros() as usize;
    let mut beyond = index[lowest].clone();
    for (i, bit) in index.iter().enumerate().take(digits).skip(lowest + 1) {
        beyond = if rows >> i & 1 == 1 { g.and(&beyond, bit)? } else { or(g, &beyond, bit)? };
    }
    if index.len() > digits {
        let high = any_set(g, &index[digits..])?;
        beyond = or(g, &beyond, &high)?;
    }
    g.not(&beyond).map(Some)
}

/// The table with `table[index] = value` where `enable` is set: (rows + 1) n + rows - 1 ANDs or about
/// that for rows of n bits.
///
/// An index of the number of rows or more changes nothing, as far as the index has bits to tell.
///
/// # Panics
///
/// When widths differ.
pub fn store<G: Gates>(
    g: &mut G,
    table: &[Bits<G>],
    index: &[G::Wire],
    value: &[G::Wire],
    enable: &G::Wire,
) -> Result<Vec<Bits<G>>, G::Error> {
    let width = value.len();
    for row in table {
        same_width(row, value);
    }
    let selects = decode(g, index, enable, table.len())?;
    if width == 0 {
        return Ok(table.to_vec());
    }
    // All rows in each batch.
    let rows = table.concat();
    let differences = g.xor_many(&rows, &repeat(value, table.len()))?;
    let changes = g.and_groups(&selects, &differences)?;
    Ok(g.xor_many(&rows, &changes)?.chunks(width).map(<[_]>::to_vec).collect())
}

/// Bit i of the first `rows` is `enable` where `index` is i: about one AND for each row that the index has
/// bits to reach.
pub fn decode<G: Gates>(
    g: &mut G,
    index: &[G::Wire],
    enable: &G::Wire,
    rows: usize,
) -> Result<Bits<G>, G::Error> {
    let mut ways = vec![enable.clone()];
    for (i, bit) in index.iter().enumerate().rev() {
        // From the highest bit down, ways that lead to no row are left out.
        let wanted = ((rows.max(1) - 1) >> i.min(usize::BITS as usize - 1)) + 1;
        let ones = g.and_groups(std::slice::from_ref(bit), &ways)?;
        let zeros = g.xor_many(&ways, &ones)?;
        ways = zeros.into_iter().zip(ones).flat_map(|(zero, one)| [zero, one]).collect();
        ways.truncate(wanted);
    }
    ways.truncate(rows);
    if ways.len() < rows {
        ways.resize(rows, g.constant(false)?);
    }
    Ok(ways)
}
