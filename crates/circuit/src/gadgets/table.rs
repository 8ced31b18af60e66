//! Reading and writing a list at a secret place.

use super::Bits;
use super::logic::same_width;
use super::select::mux;
use crate::gates::Gates;

/// `table[index]` for an unsigned secret `index`: (rows - 1) n ANDs for rows of n bits.
///
/// A tree of multiplexers, the lowest bit of the index first. An index of the number of rows or more
/// gives some row; bits of the index that no row needs are not looked at.
///
/// # Panics
///
/// When the table is empty, the index too narrow for it, or rows differ in width.
pub fn lookup<G: Gates>(
    g: &mut G,
    table: &[Bits<G>],
    index: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    let mut rows = table.to_vec();
    for select in index {
        if rows.len() == 1 {
            break;
        }
        let last = if rows.len() % 2 == 1 { rows.pop() } else { None };
        let halves: Vec<(Bits<G>, Bits<G>)> =
            rows.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        let width = halves.first().map_or(0, |(even, _)| even.len());
        let (even, odd): (Vec<Bits<G>>, Vec<Bits<G>>) = halves.into_iter().unzip();
        assert!(even.iter().chain(&odd).all(|row| row.len() == width), "rows of different widths");
        // All rows share the select: one multiplexer.
        let chosen = mux(g, select, &odd.concat(), &even.concat())?;
        rows = match width {
            0 => vec![Vec::new(); even.len()],
            _ => chosen.chunks(width).map(<[_]>::to_vec).collect(),
        };
        rows.extend(last);
    }
    assert_eq!(rows.len(), 1, "an empty table or too narrow an index");
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
    let selects = decode(g, index, enable, table.len())?;
    let mut differences = Vec::with_capacity(table.len() * value.len());
    for row in table {
        same_width(row, value);
        differences.extend(g.xor_many(row, value)?);
    }
    let changes = g.and_groups(&selects, &differences)?;
    let changes = changes.chunks(value.len().max(1));
    let Some(_) = value.first() else { return Ok(table.to_vec()) };
    table.iter().zip(changes).map(|(row, change)| g.xor_many(row, change)).collect()
}

/// Bit i of the first `rows` is `enable` where `index` is i: about one AND for each row.
///
/// # Panics
///
/// When the index is too narrow for the rows.
pub fn decode<G: Gates>(
    g: &mut G,
    index: &[G::Wire],
    enable: &G::Wire,
    rows: usize,
) -> Result<Bits<G>, G::Error> {
    assert!(rows.checked_shr(index.len() as u32).unwrap_or(0) <= 1, "too narrow an index");
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
    Ok(ways)
}
