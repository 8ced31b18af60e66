//! Reading and writing a list at a secret place.

use super::Bits;
use super::logic::{any_set, or_bits, same_width};
use crate::gates::Gates;
use crate::lanes::repeat;

/// `table[index]` for an unsigned secret `index`, and the last row beyond the end.
///
/// (rows - 1) n ANDs for 2^k rows of n bits and k bits of the index, up to k n more for fewer rows. Further
/// bits of the index take k - 1 and one each; rows that fewer bits do not reach take none. A tree of
/// multiplexers, the lowest bit of the index first.
///
/// # Panics
///
/// When the table is empty, or rows differ in width.
pub fn lookup<G: Gates>(
    g: &mut G,
    table: &[Bits<G>],
    index: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let (last, width) = (table[table.len() - 1].clone(), table[0].len());
    assert!(table.iter().all(|row| row.len() == width), "rows of different widths");
    let digits = table.len().next_power_of_two().trailing_zeros() as usize;
    if digits == 0 || width == 0 {
        return Ok(last);
    }
    let (low, high) = index.split_at(digits.min(index.len()));
    let mut position = low.to_vec();
    if !high.is_empty() {
        let beyond = any_set(g, high)?;
        position = or_bits(g, low, &vec![beyond; digits])?;
    }
    // Behind the rows stands the last one again and again. As long as the last row is the same word, a
    // pair of both takes no gate.
    let (mut rows, mut same) = (table[..table.len().min(1 << low.len())].to_vec(), true);
    for bit in &position {
        let (mut even, mut odd) = (Vec::new(), Vec::new());
        for pair in rows.chunks(2) {
            if pair.len() == 2 || !same {
                even.extend_from_slice(&pair[0]);
                odd.extend_from_slice(pair.get(1).unwrap_or(&last));
            }
        }
        // All pairs share the bit: one multiplexer.
        let chosen = g.mux_many(bit, &odd, &even)?;
        let mut next: Vec<Bits<G>> = chosen.chunks(width).map(<[_]>::to_vec).collect();
        if same && rows.len() % 2 == 1 {
            next.push(last.clone());
        }
        same &= rows.len() % 2 == 1;
        rows = next;
    }
    Ok(rows.swap_remove(0))
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
