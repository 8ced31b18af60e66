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
use crate::tape::{self, MAX_TAPE, Tape, TapeRecorder};

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

/// The rows one after the other, and how two of them change places.
struct Table<W> {
    wires: Vec<W>,
    width: usize,
    comparator: Comparator,
}

/// How two rows are put in order.
struct Comparator {
    key_bits: usize,
    order: Order,
    /// None for rows that are too wide for one.
    tape: Option<Tape>,
}

impl<W: Clone> Table<W> {
    fn new(rows: &[Vec<W>], key_bits: usize, order: Order) -> Self {
        let width = rows.first().map_or(key_bits, Vec::len);
        assert!(rows.iter().all(|row| row.len() == width), "rows of different widths");
        assert!(width >= key_bits, "the key is wider than the row");
        Self { wires: rows.concat(), width, comparator: Comparator::new(width, key_bits, order) }
    }

    fn into_rows(self, keep: usize) -> Vec<Vec<W>> {
        let rows = self.wires.chunks(self.width.max(1)).take(keep).map(<[W]>::to_vec);
        let mut rows: Vec<_> = rows.collect();
        rows.resize(keep, Vec::new());
        rows
    }

    fn exchange_one<G: Gates<Wire = W>>(
        &mut self,
        g: &mut G,
        a: usize,
        b: usize,
    ) -> Result<(), G::Error> {
        let Comparator { key_bits, order, .. } = self.comparator;
        let rows = [a, b].map(|row| row * self.width..(row + 1) * self.width);
        let [low, high] = rows.clone().map(|row| &self.wires[row]);
        let moved = exchange(g, low, high, key_bits, order)?;
        for (row, moved) in rows.into_iter().zip(moved.chunks(self.width)) {
            self.wires[row].clone_from_slice(moved);
        }
        Ok(())
    }

    /// Compares and exchanges disjoint pairs of rows, block by block to stay in the cache.
    fn exchange_all<G: Gates<Wire = W>>(
        &mut self,
        g: &mut G,
        pairs: impl Iterator<Item = (usize, usize)>,
    ) -> Result<(), G::Error> {
        if self.comparator.key_bits == 0 {
            return Ok(());
        }
        let Some(tape) = &self.comparator.tape else {
            return pairs.into_iter().try_for_each(|(a, b)| self.exchange_one(g, a, b));
        };
        let (width, mut pairs) = (self.width, pairs.peekable());
        let [mut low, mut high] = [Vec::new(), Vec::new()];
        let block = (BLOCK_WIRES / width).clamp(MIN_BLOCK, MAX_BLOCK);
        while pairs.peek().is_some() {
            low.clear();
            high.clear();
            for (a, b) in pairs.by_ref().take(block) {
                low.push((a * width) as u32);
                high.push((b * width) as u32);
            }
            g.play_in_place(tape, &mut self.wires, &[&low, &high])?;
        }
        Ok(())
    }
}

impl Comparator {
    fn new(width: usize, key_bits: usize, order: Order) -> Comparator {
        let tape = || {
            let (mut g, wires) = TapeRecorder::new(2 * width);
            let (low, high) = wires.split_at(width);
            let mut moved = exchange(&mut g, low, high, key_bits, order).ok()?;
            let high = moved.split_off(width);
            Some(g.finish(&[moved, high], tape::Order::Recorded))
        };
        let fits = key_bits > 0 && width <= MAX_TAPE / 8;
        Comparator { key_bits, order, tape: fits.then(tape).flatten() }
    }
}

/// Both rows, in order. They change places when the one that should come second is strictly before the other: the borrow of (high - low), or of
/// (low - high) when descending.
fn exchange<G: Gates>(
    g: &mut G,
    low: &[G::Wire],
    high: &[G::Wire],
    key_bits: usize,
    order: Order,
) -> Result<Bits<G>, G::Error> {
    let differences = g.xor_many(low, high)?;
    let subtrahend = if order == Order::Ascending { low } else { high };
    let mut swap = g.and(&differences[0], &subtrahend[0])?;
    for (difference, subtrahend) in differences.iter().zip(subtrahend).take(key_bits).skip(1) {
        let change = g.xor(subtrahend, &swap)?;
        let change = g.and(difference, &change)?;
        swap = g.xor(&swap, &change)?;
    }
    let moved = g.and_groups(&[swap], &differences)?;
    let mut rows = g.xor_many(low, &moved)?;
    rows.extend(g.xor_many(high, &moved)?);
    Ok(rows)
}

/// Wires of one block of comparators: about what fits a second-level cache.
const BLOCK_WIRES: usize = 1 << 15;
const MIN_BLOCK: usize = 64;
const MAX_BLOCK: usize = 2048;
