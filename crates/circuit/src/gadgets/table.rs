//! Reading and writing a list at a secret place.

use super::Bits;
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
