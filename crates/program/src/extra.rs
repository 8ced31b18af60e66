//! Gadgets that word operations need beyond the standard library.

use cenote_circuit::{Gates, gadgets};

use crate::infer::bits_for;

/// The entry at a secret position by a tree of multiplexers; beyond the end, the last one.
/// The table is not empty.
pub(crate) fn lookup<G: Gates>(
    g: &mut G,
    table: &[Vec<G::Wire>],
    index: &[G::Wire],
) -> Result<Vec<G::Wire>, G::Error> {
    let digits = (bits_for(table.len() as u32 - 1) as usize).min(index.len());
    let (low, high) = index.split_at(digits);
    let mut position = low.to_vec();
    if !high.is_empty() {
        let beyond = gadgets::any_set(g, high)?;
        position = gadgets::or_bits(g, low, &vec![beyond; digits])?;
    }
    // Behind the entries stands the last one again and again. As long as the last entry is the same
    // word, a pair of both takes no gate.
    let (mut entries, last, mut same) = (table.to_vec(), table[table.len() - 1].clone(), true);
    for bit in &position {
        if entries.len() == 1 {
            break;
        }
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for pair in entries.chunks(2) {
            if pair.len() == 2 || !same {
                low.extend_from_slice(&pair[0]);
                high.extend_from_slice(pair.get(1).unwrap_or(&last));
            }
        }
        // All pairs share the bit: one multiplexer.
        let chosen = g.mux_many(bit, &high, &low)?;
        let mut next: Vec<Vec<G::Wire>> = chosen.chunks(last.len()).map(<[_]>::to_vec).collect();
        if same && entries.len() % 2 == 1 {
            next.push(last.clone());
        }
        same &= entries.len() % 2 == 1;
        entries = next;
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
