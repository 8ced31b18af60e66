//! Compact storage: the garbling cheater sends drawn items again, some of them others than they were.

use std::collections::BTreeMap;

use cenote_engine::backends::jimu::ihash::{LANES, Label};
use cenote_pool::Draws;
use cenote_prim::Block;
use cenote_prim::merkle::{MerkleBuilder, MerkleHash, Node, Part, cover};

use super::cheat::Cheat;
use super::items::Kind;

/// The data that was sent of the items, by number.
#[derive(Default)]
pub(super) struct Sent {
    items: BTreeMap<u64, Item>,
    /// The items that the slots of a pool held before its last draws.
    before: BTreeMap<Kind, Vec<u64>>,
}

#[derive(Clone)]
struct Item {
    number: u64,
    /// Corrections of each wire.
    wires: Vec<Vec<u8>>,
    tables: Vec<u8>,
}

impl Item {
    /// The content of its leaf: number, corrections and tables, all in blocks.
    fn leaf(&self, hash: &MerkleHash) -> Node {
        let mut content = u128::from(self.number).to_le_bytes().to_vec();
        for wire in &self.wires {
            content.extend(wire);
            content.resize(content.len().next_multiple_of(16), 0);
        }
        content.extend(&self.tables);
        hash.leaf(&content)
    }
}

impl Sent {
    /// Remembers a strip of `lanes` that began with the items of these numbers.
    pub(super) fn note(&mut self, kind: Kind, numbers: &[u64], lanes: usize, strip: &[u8]) {
        let tables = 16 * kind.shape().table_blocks();
        let (corrections, all) = strip.split_at(strip.len() - tables * numbers.len());
        for (i, (number, tables)) in numbers.iter().zip(all.chunks(tables)).enumerate() {
            let lane = |wire: usize| corrections.chunks(lanes).map(move |plane| plane[wire]);
            let wires = (0..kind.shape().wires())
                .map(|wire| lane(i * kind.shape().wires() + wire).collect());
            let tables = tables.to_vec();
            let item = Item { number: *number, wires: wires.collect(), tables };
            self.items.insert(*number, item);
        }
    }
}

/// Items as a message has them.
fn encode(items: &[Item]) -> Vec<u8> {
    let mut frame: Vec<u8> = items.iter().flat_map(|item| item.number.to_le_bytes()).collect();
    let wires: Vec<&Vec<u8>> = items.iter().flat_map(|item| &item.wires).collect();
    let lanes = wires.len().next_multiple_of(LANES);
    for plane in 0..wires[0].len() {
        let start = frame.len();
        frame.extend(wires.iter().map(|wire| wire[plane]));
        frame.resize(start + lanes, 0);
    }
    frame.extend(items.iter().flat_map(|item| &item.tables));
    frame
}

impl Sent {
    /// Returns what `draws` take out of the pool that holds `numbers`, and the nodes beside it.
    pub(super) fn again(
        &mut self,
        hash: &MerkleHash,
        cheat: Cheat,
        delta: &Label,
        kind: Kind,
        numbers: &[u64],
        draws: &Draws,
    ) -> (Vec<u8>, Vec<u8>) {
        let mut slots = draws.positions().to_vec();
        slots.sort_unstable();
        slots.dedup();
        let leaf = |number: &u64| self.items[number].leaf(hash);
        let mut nodes: Vec<Node> = Vec::new();
        for part in cover(numbers.len(), &slots) {
            if let Part::Rest { first, height } = part {
                let mut tree = MerkleBuilder::new(hash.clone());
                numbers[first..first + (1 << height)].iter().for_each(|n| tree.push(leaf(n)));
                nodes.extend(tree.take_subtree());
            }
        }
        let own = |slot: &u32| self.items[&numbers[*slot as usize]].clone();
        let mut items: Vec<Item> = slots.iter().map(own).collect();
        match cheat {
            // A NAND.
            Cheat::AgainTables if kind == Kind::And => {
                let mask = items[0].tables[96..].iter_mut();
                mask.zip(Block::as_bytes(&delta.0)).for_each(|(table, delta)| *table ^= delta);
            }
            Cheat::AgainSwapped => items.swap(0, 1),
            Cheat::AgainNumber => items[0].number += LANES as u64,
            Cheat::AgainOld => self.put_old(kind, numbers, &slots, &mut items),
            Cheat::AgainPath => nodes[0][31] ^= 1,
            _ => {}
        }
        self.before.insert(kind, numbers.to_vec());
        (encode(&items), nodes.concat())
    }

    /// Puts what a slot held before in the place of one of `items`, which are those of `slots`.
    fn put_old(&self, kind: Kind, numbers: &[u64], slots: &[u32], items: &mut [Item]) {
        let Some(before) = self.before.get(&kind) else { return };
        let left = |slot: &u32| before[*slot as usize] != numbers[*slot as usize];
        if let Some(place) = slots.iter().position(left) {
            items[place] = self.items[&before[slots[place] as usize]].clone();
        }
    }
}
