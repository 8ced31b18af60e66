//! The sort-merge join of two sorted tables, obliviously.
//!
//! Both lists of keys are sorted already, so a merging network brings equal keys together: about
//! n log n comparators instead of the n log^2 n of a sort. Payloads stay at home: what is found out
//! about neighbours travels back through the same exchanges, one AND per comparator and bit, and meets
//! the payload at its own row.

use std::rc::Rc;

use cenote_circuit::gadgets::{self, Bits, Network, NetworkKind};
use cenote_circuit::{Gates, Lanes};

/// Comparators run at once: keeps the wires of a block in the cache.
const BLOCK: usize = 1024;

/// Two lists, merged.
pub(crate) struct Merged<W> {
    /// Column i holds bit i of all rows in merged order: key first, then what travelled along.
    columns: Vec<Vec<W>>,
    key_bits: usize,
    first: usize,
    exchanges: Vec<Exchange<W>>,
}

/// Comparators of one block and whether each exchanged its rows.
struct Exchange<W> {
    pairs: Vec<(usize, usize)>,
    swapped: Vec<W>,
}

/// Merges two lists of rows that are ascending by their first `key_bits` bits.
///
/// Takes `key_bits` and one AND per bit of a row for each comparator of the network.
pub(crate) fn merge<G: Gates>(
    g: &mut G,
    first: &[Bits<G>],
    second: &[Bits<G>],
    key_bits: usize,
) -> Result<Merged<G::Wire>, G::Error> {
    let width = first.first().or(second.first()).map_or(key_bits, Vec::len);
    let rows = || first.iter().chain(second);
    let columns = (0..width).map(|bit| rows().map(|row| row[bit].clone()).collect()).collect();
    let mut merged = Merged { columns, key_bits, first: first.len(), exchanges: Vec::new() };
    for layer in Network::merge(NetworkKind::OddEven, first.len(), second.len()).layers() {
        let pairs: Vec<(usize, usize)> = layer.pairs().collect();
        for pairs in pairs.chunks(BLOCK) {
            merged.exchange(g, pairs.to_vec())?;
        }
    }
    Ok(merged)
}

impl<W: Clone> Merged<W> {
    /// Puts the smaller row of each pair first.
    fn exchange<G: Gates<Wire = W>>(
        &mut self,
        g: &mut G,
        pairs: Vec<(usize, usize)>,
    ) -> Result<(), G::Error> {
        let mut differences = Vec::with_capacity(self.columns.len());
        let mut swapped: Option<Vec<W>> = None;
        for (bit, column) in self.columns.iter().enumerate() {
            let low: Vec<W> = pairs.iter().map(|pair| column[pair.0].clone()).collect();
            let high: Vec<W> = pairs.iter().map(|pair| column[pair.1].clone()).collect();
            let difference = g.xor_many(&low, &high)?;
            if bit < self.key_bits {
                // The borrow of high - low.
                swapped = Some(match swapped {
                    None => g.and_many(&difference, &low)?,
                    Some(borrow) => {
                        let change = g.xor_many(&low, &borrow)?;
                        let change = g.and_many(&difference, &change)?;
                        g.xor_many(&borrow, &change)?
                    }
                });
            }
            differences.push(difference);
        }
        let Some(swapped) = swapped else { return Ok(()) };
        for (column, difference) in self.columns.iter_mut().zip(differences) {
            move_pairs(g, &pairs, &swapped, &difference, column)?;
        }
        self.exchanges.push(Exchange { pairs, swapped });
        Ok(())
    }

    /// Rows in merged order.
    pub(crate) fn len(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// Column `bit` of the rows, in merged order.
    pub(crate) fn column(&self, bit: usize) -> &[W] {
        &self.columns[bit]
    }

    /// Whether rows i and i + 1 have the same key, for each i but the last. With keys that are
    /// strictly ascending in both lists, two neighbours in this list are never both set.
    pub(crate) fn matches<G: Gates<Wire = W>>(&self, g: &mut G) -> Result<Vec<W>, G::Error> {
        let pairs = self.len().saturating_sub(1);
        let keys = &self.columns[..self.key_bits];
        let low: Vec<Rc<Vec<W>>> =
            keys.iter().map(|bits| Rc::new(bits[..pairs].to_vec())).collect();
        let high: Vec<Rc<Vec<W>>> = keys.iter().map(|bits| Rc::new(bits[1..].to_vec())).collect();
        let equal = gadgets::eq(&mut Lanes::new(g, pairs), &low, &high)?;
        Ok(Rc::unwrap_or_clone(equal))
    }

    /// Marks both rows of each neighbouring pair that `pairs` marks, and sends the marks back: one
    /// bit per row of the first list, one per row of the second. No two marked pairs share a row.
    pub(crate) fn home<G: Gates<Wire = W>>(
        &self,
        g: &mut G,
        pairs: &[W],
    ) -> Result<(Vec<W>, Vec<W>), G::Error> {
        let mut marks = Vec::with_capacity(self.len());
        marks.extend(pairs.first().cloned());
        marks.extend(g.xor_many(pairs, pairs.get(1..).unwrap_or_default())?);
        marks.extend(pairs.last().cloned());
        for Exchange { pairs, swapped } in self.exchanges.iter().rev() {
            let low: Vec<W> = pairs.iter().map(|pair| marks[pair.0].clone()).collect();
            let high: Vec<W> = pairs.iter().map(|pair| marks[pair.1].clone()).collect();
            let difference = g.xor_many(&low, &high)?;
            move_pairs(g, pairs, swapped, &difference, &mut marks)?;
        }
        let second = marks.split_off(self.first);
        Ok((marks, second))
    }
}

/// Adds `swapped and difference` to both rows of each pair.
fn move_pairs<G: Gates>(
    g: &mut G,
    pairs: &[(usize, usize)],
    swapped: &[G::Wire],
    difference: &[G::Wire],
    column: &mut [G::Wire],
) -> Result<(), G::Error> {
    let moved = g.and_many(swapped, difference)?;
    for (moved, (a, b)) in moved.iter().zip(pairs) {
        column[*a] = g.xor(&column[*a], moved)?;
        column[*b] = g.xor(&column[*b], moved)?;
    }
    Ok(())
}

/// Whether keys are strictly ascending: what a merge relies on, and no owner can be trusted with.
pub(crate) fn ascending<G: Gates>(g: &mut G, keys: &[Bits<G>]) -> Result<G::Wire, G::Error> {
    let later = keys.get(1..).unwrap_or_default();
    let in_order = gadgets::lt_many(g, &keys[..later.len()], later)?;
    gadgets::all_set(g, &in_order)
}

/// `marks[i] and rows[i]`, bit by bit.
pub(crate) fn select_rows<G: Gates>(
    g: &mut G,
    marks: &[G::Wire],
    rows: &[Bits<G>],
) -> Result<Vec<Bits<G>>, G::Error> {
    let mut selected = vec![Vec::new(); rows.len()];
    for bit in 0..rows.first().map_or(0, Vec::len) {
        let column: Vec<G::Wire> = rows.iter().map(|row| row[bit].clone()).collect();
        for (row, wire) in selected.iter_mut().zip(g.and_many(marks, &column)?) {
            row.push(wire);
        }
    }
    Ok(selected)
}

/// `mark and bit`, for each bit: zero unless marked.
pub(crate) fn select<G: Gates>(
    g: &mut G,
    mark: &G::Wire,
    bits: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    g.and_many(&vec![mark.clone(); bits.len()], bits)
}

/// The sum of rows in `width` bits.
pub(crate) fn total<G: Gates>(
    g: &mut G,
    rows: &[Bits<G>],
    width: usize,
) -> Result<Bits<G>, G::Error> {
    let operands: Vec<&[G::Wire]> = rows.iter().map(Vec::as_slice).collect();
    gadgets::sum(g, &operands, width)
}

#[cfg(test)]
mod tests {
    use cenote_circuit::{Clear, Counter, Depth, bits_of};

    use super::*;

    #[test]
    fn marks_find_their_way_home() {
        let rows = |keys: &[u128]| keys.iter().map(|k| bits_of(*k, 8)).collect::<Vec<_>>();
        let (first, second) = ([2, 5, 9, 70, 71], [1, 5, 6, 70, 90, 200]);
        let merged = merge(&mut Clear, &rows(&first), &rows(&second), 8).expect("clear");
        let pairs = merged.matches(&mut Clear).expect("clear");
        assert_eq!(pairs.iter().filter(|pair| **pair).count(), 2);
        let (a, b) = merged.home(&mut Clear, &pairs).expect("clear");
        assert_eq!(a, [false, true, false, true, false]);
        assert_eq!(b, [false, true, false, true, false, false]);
    }

    #[test]
    fn costs_of_4096_rows_a_side() {
        const KEY: usize = 16;
        let comparators = 12 * 4096 + 1;
        let rows = vec![vec![Depth::default(); KEY]; 4096];
        let mut counter = Counter::new();
        let mut last = 0;
        let cost = |last: &mut u64, counter: &Counter| {
            let new = counter.counts().and - *last;
            *last += new;
            new
        };
        let Ok(merged) = merge(&mut counter, &rows, &rows, KEY);
        assert_eq!(cost(&mut last, &counter), comparators * 2 * KEY as u64);
        let Ok(pairs) = merged.matches(&mut counter);
        assert_eq!(cost(&mut last, &counter), 8191 * (KEY as u64 - 1));
        let Ok(_) = merged.home(&mut counter, &pairs);
        assert_eq!(cost(&mut last, &counter), comparators);
        let Ok(_) = ascending(&mut counter, &rows);
        assert_eq!(cost(&mut last, &counter), 4095 * KEY as u64 + 4094);
    }
}
