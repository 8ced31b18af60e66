//! Compact storage: pools of which nothing is stored.
//!
//! **Construction.** POOL section 4, end of "Costs", and section 6. The garbler makes its items
//! again from the seeds of its watch lists, which come from one block. The evaluator keeps the root
//! of a Merkle tree over the slots of the pool; drawn items are sent again, with the nodes that lead
//! to the root.
//! **Leaf** of a slot: hash of the number of the item's first wire, the corrections of its wires
//! and its tables. With the number and the corrections the evaluator has the tags that passed the
//! checks of the item's batch (`HashReceiver::hash_again`).
//! **First filling.** As of stored pools; leaves enter the tree as batches pass their checks, in
//! the order of the slots, and all else is dropped.
//! **Refill.** A fresh batch, checked as ever, and a run of draws as one step ([`Run`]). The old item
//! of each slot that is drawn comes again; fresh items drawn in the same run are still there.
//!
//! **Messages**, G -> E, after the openings of checked items and before the solders. Both sides know
//! all lengths from the draws.
//! - `jimu.again`: the old items of the drawn slots in the order of the slots, as many as fill a
//!   strip: numbers (8 bytes each), corrections, tables; the latter two are laid out as in a strip,
//!   corrections of lanes beyond the last wire being zero.
//! - `jimu.paths`: the fewest nodes that hold all other slots (`merkle::cover`), 32 bytes each.
//!
//! **Adversary.** Malicious, either party. A garbler that sends anything else than the item that a
//! slot holds has found a collision of BLAKE3; an evaluator sends nothing.
//! **Checks.** `jimu.merkle` (evaluator): the leaves of what was sent again and the nodes give the
//! root. Catches items that were never checked, that belong to another slot, or that the slot
//! held before. No such item is soldered before; the next root is computed from the same nodes and
//! rests on it.
//! **Private values.** None: what is sent again was sent before, in clear, and numbers, slots and
//! nodes follow from that and the coins.
//! **Costs.** Of n slots, k of them drawn: 8 bytes, corrections and tables for each of the k, and
//! about k log2(n / k) nodes of 32 bytes. The garbler makes and hashes all n items for every batch.
//! It keeps which item lies in which slot, 8 bytes each: public, and derivable from the coins of all
//! batches, but not from the seed alone. The evaluator keeps 32 bytes and counters. Either has one
//! batch in memory while that passes through.
//! **Difference from the paper.** It says no more than that gates are hashed, organised in a tree,
//! and that 16 and 32 bytes are stored.

#[cfg(test)]
mod sessions;

use cenote_pool::Draws;
use cenote_prim::merkle::{MerkleHash, Node};
use cenote_prim::planes::to_blocks;
use cenote_prim::{Block, SessionId};

use super::batch::lanes;
use super::garbled_core::Shape;

/// Nodes of a message at most.
pub(super) const MAX_NODES: usize = 2048;

/// The leaves of items.
pub(super) struct Leaves {
    pub(super) hash: MerkleHash,
    columns: Vec<Block>,
    contents: Vec<Block>,
}

/// Leaves whose contents are gathered before they are hashed: they stay in the caches.
const GATHERED: usize = 64;

impl Leaves {
    pub(super) fn new(session: SessionId) -> Leaves {
        Leaves { hash: MerkleHash::new(session), columns: Vec::new(), contents: Vec::new() }
    }

    /// Appends the leaves of items to `out`. `strip` is what a strip of them consists of:
    /// corrections, then tables.
    pub(super) fn of(&mut self, shape: Shape, numbers: &[u64], strip: &[u8], out: &mut Vec<Node>) {
        if numbers.is_empty() {
            return;
        }
        let (wires, blocks) = (shape.wires(), shape.table_blocks());
        let (corrections, tables) = strip.split_at(strip.len() - 16 * numbers.len() * blocks);
        let lanes = lanes(numbers.len() * wires);
        let column = corrections.len().div_ceil(16 * lanes);
        self.columns.resize(lanes * column, Block::ZERO);
        for (block, planes) in corrections.chunks(16 * lanes).enumerate() {
            to_blocks(planes, lanes, &mut self.columns, column, block);
        }
        let len = 1 + wires * column + blocks;
        self.contents.resize(GATHERED * len, Block::ZERO);
        for ((numbers, columns), tables) in numbers
            .chunks(GATHERED)
            .zip(self.columns.chunks(GATHERED * wires * column))
            .zip(tables.chunks(16 * GATHERED * blocks))
        {
            let contents = &mut self.contents[..numbers.len() * len];
            let items = columns.chunks_exact(wires * column).zip(tables.chunks_exact(16 * blocks));
            for ((content, number), (columns, tables)) in
                contents.chunks_exact_mut(len).zip(numbers).zip(items)
            {
                let (head, rest) = content.split_at_mut(1);
                let (first, second) = rest.split_at_mut(columns.len());
                head[0] = Block::new(u128::from(*number));
                first.copy_from_slice(columns);
                Block::as_bytes_mut(second).copy_from_slice(tables);
            }
            self.hash.leaves(16 * len, Block::as_bytes(contents), out);
        }
    }
}

/// Bytes of a message with `items` items, whose corrections have this length.
pub(super) fn again_len(shape: Shape, items: usize, corrections: usize) -> usize {
    items * (size_of::<u64>() + 16 * shape.table_blocks()) + corrections
}

/// Appends numbers to a message.
pub(super) fn encode_numbers(numbers: &[u64], out: &mut Vec<u8>) {
    out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

/// The numbers of `items` items at the head of a message, and what follows them.
pub(super) fn decode_numbers(frame: &[u8], items: usize) -> (Vec<u64>, &[u8]) {
    let (numbers, rest) = frame.split_at(items * size_of::<u64>());
    let (numbers, _) = numbers.as_chunks();
    (numbers.iter().map(|number| u64::from_le_bytes(*number)).collect(), rest)
}

/// The effect of a run of draws on a pool, seen as one step.
///
/// A slot may be drawn several times: the first time it gives what it held before, later a fresh
/// item that entered it in this run.
pub(super) struct Run {
    /// Slots that are drawn, ascending.
    pub(super) slots: Vec<u32>,
    /// For each of these, which fresh item it holds afterwards.
    pub(super) entered: Vec<u32>,
    /// The items that the buckets consist of, one after the other.
    pub(super) drawn: Vec<Drawn>,
}

/// A drawn item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Drawn {
    /// The item that the slot with this place in [`Run::slots`] held before.
    Old(u32),
    /// One of the fresh items.
    Fresh(u32),
}

impl Run {
    pub(super) fn new(draws: &Draws) -> Run {
        let positions = draws.positions();
        // By slot, then by time.
        let mut order: Vec<u64> =
            positions.iter().zip(0..).map(|(slot, time)| u64::from(*slot) << 32 | time).collect();
        order.sort_unstable();
        let (mut slots, mut entered) = (Vec::new(), Vec::<u32>::new());
        let mut drawn = vec![Drawn::Old(0); positions.len()];
        for key in order {
            let (slot, time) = ((key >> 32) as u32, key as u32);
            let leaves = match entered.last_mut().filter(|_| slots.last() == Some(&slot)) {
                Some(entered) => Drawn::Fresh(std::mem::replace(entered, time)),
                None => {
                    slots.push(slot);
                    entered.push(time);
                    Drawn::Old(slots.len() as u32 - 1)
                }
            };
            drawn[time as usize] = leaves;
        }
        Run { slots, entered, drawn }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cenote_pool::{MemoryJournal, Pool};
    use cenote_prim::Prg;

    #[test]
    fn a_run_is_what_the_pool_does() {
        let mut prg = Prg::new(Block::new(3));
        for (bucket, capacity, buckets) in [(3, 3, 20), (4, 40, 0), (5, 40, 30), (2, 1000, 100)] {
            let mut draws = Draws::new(bucket, capacity).expect("shape");
            draws.draw(buckets, || prg.block().to_u128() as u64);
            let run = Run::new(&draws);
            // Old items have the numbers of their slots; fresh ones follow.
            let old = capacity as u64;
            let mut pool = Pool::full("numbers", capacity, (0..old).collect()).expect("full");
            let mut items: Vec<u64> = (old..).take(buckets * bucket).collect();
            pool.exchange(&mut MemoryJournal::default(), &draws, &mut items).expect("fits");
            let drawn = run.drawn.iter().map(|item| match item {
                Drawn::Old(place) => run.slots[*place as usize].into(),
                Drawn::Fresh(item) => old + u64::from(*item),
            });
            assert_eq!(drawn.collect::<Vec<u64>>(), items);
            let mut expected: Vec<u64> = (0..old).collect();
            for (slot, fresh) in run.slots.iter().zip(&run.entered) {
                expected[*slot as usize] = old + u64::from(*fresh);
            }
            assert_eq!(pool.items(), expected);
            assert!(run.slots.is_sorted_by(|a, b| a < b));
            let again = run.drawn.iter().any(|item| matches!(item, Drawn::Fresh(_)));
            assert_eq!(again, buckets > 0, "fresh items are drawn in the same run");
        }
    }

    #[test]
    fn every_byte_of_an_item_is_in_its_leaf_and_no_other_byte() {
        for (shape, planes) in [(Shape::AND, 58), (Shape::MUXES[3], 80), (Shape::MUXES[2], 64)] {
            let (items, wires, tables) = (5, shape.wires(), 16 * shape.table_blocks());
            let lanes = lanes(items * wires);
            let numbers: Vec<u64> = (0..items as u64).map(|i| 1000 + i * i).collect();
            let mut strip = vec![0; planes * lanes + items * tables];
            Prg::new(Block::new(4)).fill_bytes(&mut strip);
            let mut all = Leaves::new(SessionId([1; 32]));
            let mut leaves = |numbers: &[u64], strip: &[u8]| {
                let mut out = Vec::new();
                all.of(shape, numbers, strip, &mut out);
                out
            };
            let good = leaves(&numbers, &strip);
            assert_eq!(good.len(), items);
            for place in 0..strip.len() {
                strip[place] ^= 0x10;
                let found = leaves(&numbers, &strip);
                strip[place] ^= 0x10;
                let item = match place.checked_sub(planes * lanes) {
                    Some(table) => table / tables,
                    None => place % lanes / wires,
                };
                let changed = (0..items).filter(|i| found[*i] != good[*i]);
                let expected: Vec<usize> = Some(item).filter(|i| *i < items).into_iter().collect();
                assert_eq!(changed.collect::<Vec<usize>>(), expected, "byte {place}");
            }
            let mut others = numbers.clone();
            others[2] += 1;
            let found = leaves(&others, &strip);
            assert!((0..items).all(|i| (found[i] != good[i]) == (i == 2)));
            assert!(leaves(&[], &[]).is_empty());
        }
    }

    #[test]
    fn numbers_arrive_as_they_were_sent() {
        let mut frame = Vec::new();
        encode_numbers(&[1, u64::MAX, 3 << 33], &mut frame);
        frame.extend([5, 6]);
        let (numbers, rest) = decode_numbers(&frame, 3);
        assert_eq!((numbers.as_slice(), rest), (&[1, u64::MAX, 3 << 33][..], &[5, 6][..]));
        assert_eq!(again_len(Shape::AND, 3, 100), 3 * (8 + 144) + 100);
    }
}
