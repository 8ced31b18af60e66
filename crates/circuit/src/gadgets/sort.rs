//! Oblivious sorting and merging of rows.
//!
//! A row is a key in its first `key_bits` bits (unsigned, least significant bit first) and a payload
//! in the others. Rows with equal keys come out in no particular order: where that matters, make the
//! row number the low bits of the key. One comparator takes one AND per key bit to compare and one
//! per bit of the row to exchange.

use std::rc::Rc;

use super::Bits;
use super::network::{Layer, Network, NetworkKind};
use crate::gates::Gates;
use crate::lanes::{Bundle, Lanes};

/// Which row comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The smallest key first.
    Ascending,
    /// The largest key first.
    Descending,
}

/// Sorts rows by Batcher's odd-even merge network.
///
/// # Panics
///
/// When rows differ in width or are narrower than `key_bits`.
pub fn sort<G: Gates>(
    g: &mut G,
    rows: &[Bits<G>],
    key_bits: usize,
    order: Order,
) -> Result<Vec<Bits<G>>, G::Error> {
    sort_with(g, NetworkKind::OddEven, rows, key_bits, order)
}

/// [`sort`] by a network of the caller's choice.
///
/// # Panics
///
/// As [`sort`].
pub fn sort_with<G: Gates>(
    g: &mut G,
    kind: NetworkKind,
    rows: &[Bits<G>],
    key_bits: usize,
    order: Order,
) -> Result<Vec<Bits<G>>, G::Error> {
    run(g, Network::sort(kind, rows.len()), rows, key_bits, order, rows.len())
}

/// Merges two lists that are already sorted in `order`, by an odd-even merge network.
///
/// # Panics
///
/// As [`sort`].
pub fn merge<G: Gates>(
    g: &mut G,
    first: &[Bits<G>],
    second: &[Bits<G>],
    key_bits: usize,
    order: Order,
) -> Result<Vec<Bits<G>>, G::Error> {
    merge_with(g, NetworkKind::OddEven, first, second, key_bits, order)
}

/// [`merge`] by a network of the caller's choice.
///
/// # Panics
///
/// As [`sort`].
pub fn merge_with<G: Gates>(
    g: &mut G,
    kind: NetworkKind,
    first: &[Bits<G>],
    second: &[Bits<G>],
    key_bits: usize,
    order: Order,
) -> Result<Vec<Bits<G>>, G::Error> {
    let rows = [first, second].concat();
    let network = Network::merge(kind, first.len(), second.len());
    run(g, network, &rows, key_bits, order, rows.len())
}

/// [`sort`] of many lists of the same length at once.
///
/// # Panics
///
/// As [`sort`], and when the lists differ in length.
pub fn sort_many<G: Gates>(
    g: &mut G,
    lists: &[Vec<Bits<G>>],
    key_bits: usize,
    order: Order,
) -> Result<Vec<Vec<Bits<G>>>, G::Error> {
    let rows = lists.first().map_or(0, Vec::len);
    let network = Network::sort(NetworkKind::OddEven, rows);
    run_many(g, network, lists, key_bits, order, rows)
}

/// The first `keep` rows that `network` gives, without the comparators that only others need.
pub(super) fn run<G: Gates>(
    g: &mut G,
    network: Network,
    rows: &[Bits<G>],
    key_bits: usize,
    order: Order,
    keep: usize,
) -> Result<Vec<Bits<G>>, G::Error> {
    let mut table = Table::new(rows, key_bits, order);
    if keep >= rows.len() {
        for layer in network.layers() {
            table.exchange_all(g, layer.pairs())?;
        }
        return Ok(table.into_rows(rows.len()));
    }
    let layers: Vec<Layer> = network.layers().collect();
    let mut wanted: Vec<bool> = (0..rows.len()).map(|row| row < keep).collect();
    let mut wanted_after = Vec::with_capacity(layers.len());
    for layer in layers.iter().rev() {
        wanted_after.push(wanted.clone());
        for (a, b) in layer.pairs() {
            let either = wanted[a] | wanted[b];
            (wanted[a], wanted[b]) = (either, either);
        }
    }
    for (layer, wanted) in layers.into_iter().zip(wanted_after.into_iter().rev()) {
        table.exchange_all(g, layer.pairs().filter(|(a, b)| wanted[*a] | wanted[*b]))?;
    }
    Ok(table.into_rows(keep))
}

/// [`run`] on many lists of the same length at once.
pub(super) fn run_many<G: Gates>(
    g: &mut G,
    network: Network,
    lists: &[Vec<Bits<G>>],
    key_bits: usize,
    order: Order,
    keep: usize,
) -> Result<Vec<Vec<Bits<G>>>, G::Error> {
    let Some(first) = lists.first() else { return Ok(Vec::new()) };
    assert!(lists.iter().all(|list| list.len() == first.len()), "lists of different lengths");
    let bundle = |row: usize, bit: usize| -> Bundle<G::Wire> {
        Rc::new(lists.iter().map(|list| list[row][bit].clone()).collect())
    };
    let packed: Vec<Vec<_>> = first
        .iter()
        .enumerate()
        .map(|(row, bits)| (0..bits.len()).map(|bit| bundle(row, bit)).collect())
        .collect();
    let sorted = run(&mut Lanes::new(g, lists.len()), network, &packed, key_bits, order, keep)?;
    let unpacked = |lane: usize| {
        sorted.iter().map(|row| row.iter().map(|bit| bit[lane].clone()).collect()).collect()
    };
    Ok((0..lists.len()).map(unpacked).collect())
}

/// The rows, stored bit by bit, so that the comparators of a layer read memory in order.
struct Table<W> {
    columns: Vec<Vec<W>>,
    key_bits: usize,
    order: Order,
}

impl<W: Clone> Table<W> {
    fn new(rows: &[Vec<W>], key_bits: usize, order: Order) -> Self {
        let width = rows.first().map_or(key_bits, Vec::len);
        assert!(rows.iter().all(|row| row.len() == width), "rows of different widths");
        assert!(width >= key_bits, "the key is wider than the row");
        let column = |bit: usize| rows.iter().map(|row| row[bit].clone()).collect();
        Self { columns: (0..width).map(column).collect(), key_bits, order }
    }

    fn into_rows(self, keep: usize) -> Vec<Vec<W>> {
        let row = |row: usize| self.columns.iter().map(|column| column[row].clone()).collect();
        (0..keep).map(row).collect()
    }

    /// Compares and exchanges disjoint pairs of rows, block by block to stay in the cache.
    fn exchange_all<G: Gates<Wire = W>>(
        &mut self,
        g: &mut G,
        pairs: impl Iterator<Item = (usize, usize)>,
    ) -> Result<(), G::Error> {
        let block = (BLOCK_WIRES / self.columns.len().max(1)).clamp(MIN_BLOCK, MAX_BLOCK);
        let mut pairs = pairs.peekable();
        let mut chunk = Vec::with_capacity(block);
        while pairs.peek().is_some() {
            chunk.clear();
            chunk.extend(pairs.by_ref().take(block));
            self.exchange(g, &chunk)?;
        }
        Ok(())
    }

    fn exchange<G: Gates<Wire = W>>(
        &mut self,
        g: &mut G,
        pairs: &[(usize, usize)],
    ) -> Result<(), G::Error> {
        let mut differences = Vec::with_capacity(self.columns.len());
        let mut swap: Option<Vec<W>> = None;
        for (bit, column) in self.columns.iter().enumerate() {
            let low: Vec<W> = pairs.iter().map(|(a, _)| column[*a].clone()).collect();
            let high: Vec<W> = pairs.iter().map(|(_, b)| column[*b].clone()).collect();
            let difference = g.xor_many(&low, &high)?;
            if bit < self.key_bits {
                // Rows change places when the one that should come second is strictly before the
                // other: the borrow of (high - low), or of (low - high) when descending.
                let subtrahend = if self.order == Order::Ascending { &low } else { &high };
                swap = Some(match swap {
                    None => g.and_many(&difference, subtrahend)?,
                    Some(borrow) => {
                        let change = g.xor_many(subtrahend, &borrow)?;
                        let change = g.and_many(&difference, &change)?;
                        g.xor_many(&borrow, &change)?
                    }
                });
            }
            differences.push(difference);
        }
        let Some(swap) = swap else { return Ok(()) };
        self.move_rows(g, pairs, &swap, &differences)
    }

    /// Adds `swap and difference` to both rows of every pair.
    fn move_rows<G: Gates<Wire = W>>(
        &mut self,
        g: &mut G,
        pairs: &[(usize, usize)],
        swap: &[W],
        differences: &[Vec<W>],
    ) -> Result<(), G::Error> {
        let width = differences.len();
        let group = (AND_BATCH / width).max(1);
        let mut bits = Vec::with_capacity(group * width);
        for (i, (pairs, swap)) in pairs.chunks(group).zip(swap.chunks(group)).enumerate() {
            bits.clear();
            for pair in i * group..i * group + pairs.len() {
                bits.extend(differences.iter().map(|difference| difference[pair].clone()));
            }
            let moved = g.and_groups(swap, &bits)?;
            for (moved, (a, b)) in moved.chunks(width).zip(pairs) {
                for (moved, column) in moved.iter().zip(&mut self.columns) {
                    column[*a] = g.xor(&column[*a], moved)?;
                    column[*b] = g.xor(&column[*b], moved)?;
                }
            }
        }
        Ok(())
    }
}

/// Wires of one block of comparators: about what fits a second-level cache.
const BLOCK_WIRES: usize = 1 << 15;
const MIN_BLOCK: usize = 64;
const MAX_BLOCK: usize = 2048;
/// ANDs handed over at once when rows are exchanged.
const AND_BATCH: usize = 4096;
