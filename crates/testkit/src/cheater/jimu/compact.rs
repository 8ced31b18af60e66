//! Compact storage: the garbling cheater sends drawn items again, some of them others than they were.

use std::collections::BTreeMap;

use cenote_engine::Fault;
use cenote_engine::backends::jimu;
use cenote_engine::backends::jimu::ihash::LANES;
use cenote_pool::Draws;
use cenote_prim::merkle::{MerkleBuilder, MerkleHash, Node, Part, cover};

use super::garbler::Garbler;
use super::{Cheat, Kind};

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
        let tables = 16 * kind.table_blocks();
        let (corrections, all) = strip.split_at(strip.len() - tables * numbers.len());
        for (i, (number, tables)) in numbers.iter().zip(all.chunks(tables)).enumerate() {
            let lane = |wire: usize| corrections.chunks(lanes).map(move |plane| plane[wire]);
            let wires = (0..kind.wires()).map(|wire| lane(i * kind.wires() + wire).collect());
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

impl Garbler {
    /// Sends what `draws` take out of the pool that holds `numbers`.
    pub(super) fn send_again(
        &mut self,
        kind: Kind,
        numbers: &[u64],
        draws: &Draws,
    ) -> Result<(), Fault> {
        if !self.params.switches.compact || draws.positions().is_empty() {
            return Ok(());
        }
        let mut slots = draws.positions().to_vec();
        slots.sort_unstable();
        slots.dedup();
        let hash = MerkleHash::new(self.session);
        let leaf = |number: &u64| self.sent.items[number].leaf(&hash);
        let mut nodes: Vec<Node> = Vec::new();
        for part in cover(numbers.len(), &slots) {
            if let Part::Rest { first, height } = part {
                let mut tree = MerkleBuilder::new(hash.clone());
                numbers[first..first + (1 << height)].iter().for_each(|n| tree.push(leaf(n)));
                nodes.extend(tree.take_subtree());
            }
        }
        let own = |slot: &u32| self.sent.items[&numbers[*slot as usize]].clone();
        let mut items: Vec<Item> = slots.iter().map(own).collect();
        self.exchange_item(kind, numbers, &slots, &mut items);
        self.sent.before.insert(kind, numbers.to_vec());
        self.channel.send(jimu::tags::JIMU_AGAIN, &encode(&items))?;
        if self.cheats(Cheat::AgainPath) {
            nodes[0][31] ^= 1;
        }
        let nodes = nodes.concat();
        if nodes.is_empty() { Ok(()) } else { self.channel.send(jimu::tags::JIMU_PATHS, &nodes) }
    }

    /// Puts another item in the place of one of `items`, which are those of `slots`.
    fn exchange_item(&self, kind: Kind, numbers: &[u64], slots: &[u32], items: &mut [Item]) {
        match self.plan.cheat {
            // A NAND.
            Cheat::AgainTables if kind == Kind::And => {
                let delta = cenote_prim::Block::as_bytes(&self.delta.0);
                let mask = items[0].tables[96..].iter_mut();
                mask.zip(delta).for_each(|(table, delta)| *table ^= delta);
            }
            Cheat::AgainSwapped => items.swap(0, 1),
            Cheat::AgainNumber => items[0].number += LANES as u64,
            Cheat::AgainOld => {
                let Some(before) = self.sent.before.get(&kind) else { return };
                let left = |slot: &u32| before[*slot as usize] != numbers[*slot as usize];
                if let Some(place) = slots.iter().position(left) {
                    let old = before[slots[place] as usize];
                    items[place] = self.sent.items[&old].clone();
                }
            }
            _ => {}
        }
    }
}
