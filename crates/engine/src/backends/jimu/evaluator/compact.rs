//! Compact storage, the evaluator's side: a root, and items that come again
//! (`backends/jimu/compact.rs`).

use cenote_net::{Channel, Fault};
use cenote_pool::{Draws, Journal, Pool};
use cenote_prim::merkle::{self, MerkleBuilder, Node, Part, cover};
use subtle::ConstantTimeEq;

use super::stored::{Keep, Store};
use crate::backends::jimu::batch::{self, lanes};
use crate::backends::jimu::compact::{Drawn, Leaves, MAX_NODES, Run, again_len, decode_numbers};
use crate::backends::jimu::garbled_core::Shape;
use crate::backends::jimu::ihash::{HashReceiver, ReedSolomonReceiver};
use crate::backends::jimu::store::{Sealer, Stored};
use crate::backends::jimu::tags;
use crate::session::store_fault;

/// The items that came are not those that the slots held.
const OTHER: Fault = Fault::Misbehaved("jimu.merkle");

/// All that is kept of a pool in compact storage: its items lie with the garbler.
pub(super) struct Root {
    node: Node,
    pub(super) pool: Pool<()>,
}

impl Root {
    /// Of a pool that was filled with the leaves of `tree`.
    pub(super) fn new(shape: Shape, capacity: usize, tree: &MerkleBuilder) -> Result<Root, Fault> {
        let pool = Pool::full(shape.pool_name(), capacity, vec![(); tree.count()]);
        Ok(Root { node: tree.root(), pool: pool.map_err(store_fault)? })
    }

    /// Of a pool that was kept.
    pub(super) fn kept(name: &str, capacity: usize, node: Node) -> Result<Root, Fault> {
        let pool = Pool::full(name, capacity, vec![(); capacity]);
        Ok(Root { node, pool: pool.map_err(store_fault)? })
    }

    /// What holds all items.
    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    /// Flips one bit of the node, counted modulo its bits.
    #[cfg(test)]
    pub(super) fn flip(&mut self, bit: usize) {
        let bit = bit % (8 * size_of::<Node>());
        self.node[bit / 8] ^= 1 << (bit % 8);
    }
}

/// Receives what draws take out of a pool.
pub(super) struct Exchange<'a> {
    pub(super) channel: &'a mut Channel,
    pub(super) hash: &'a ReedSolomonReceiver,
    pub(super) sealer: &'a Sealer,
    pub(super) leaves: &'a mut Leaves,
    pub(super) store: &'a mut Store,
    pub(super) journal: &'a mut dyn Journal,
}

impl Exchange<'_> {
    /// Exchanges `fresh` items, whose leaves are `entering`, for drawn ones.
    pub(super) fn run(
        mut self,
        draws: &Draws,
        fresh: &mut [Stored],
        entering: &[Node],
    ) -> Result<(), Fault> {
        let run = Run::new(draws);
        if run.slots.is_empty() {
            return Ok(());
        }
        let Some(Keep::Compact(mut root)) = self.store.pool.take() else {
            return Err(Fault::Internal("a pool that was filled is gone".into()));
        };
        let mut leaving = vec![(); draws.positions().len()];
        root.pool.exchange(self.journal, draws, &mut leaving).map_err(store_fault)?;
        let entered: Vec<Stored> = run.entered.iter().map(|&item| fresh[item as usize]).collect();
        let new: Vec<Node> = run.entered.iter().map(|&item| entering[item as usize]).collect();
        // Their rows make room for what comes.
        self.store.release(&entered);
        let (items, old) = self.receive_items(run.slots.len())?;
        root.node = self.receive_paths(&root, &run.slots, (&old, &new))?;
        self.store.pool = Some(Keep::Compact(root));
        let drawn = run.drawn.iter().map(|drawn| match *drawn {
            Drawn::Old(slot) => items[slot as usize],
            Drawn::Fresh(item) => fresh[item as usize],
        });
        let drawn: Vec<Stored> = drawn.collect();
        fresh.copy_from_slice(&drawn);
        Ok(())
    }

    /// The old items of `count` slots, and their leaves. Nothing is known of them before
    /// [`Exchange::receive_paths`].
    fn receive_items(&mut self, count: usize) -> Result<(Vec<Stored>, Vec<Node>), Fault> {
        let shape = self.store.shape;
        let (wires, blocks) = (shape.wires(), shape.table_blocks());
        let (mut items, mut nodes) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut tags = Vec::new();
        for strip in batch::strips(count, wires) {
            let lanes = lanes(strip * wires);
            let corrections = self.hash.corrections_len(lanes);
            let len = again_len(shape, strip, corrections);
            let frame = self.channel.recv(tags::JIMU_AGAIN, len)?;
            let (numbers, body) = decode_numbers(&frame, strip);
            let (corrections, tables) = body.split_at(corrections);
            self.hash
                .hash_again(&numbers, wires, lanes, corrections, &mut tags)
                // No item that was ever checked is refused.
                .map_err(|_| OTHER)?;
            self.leaves.of(shape, &numbers, body, &mut nodes);
            for ((number, tables), tags) in
                numbers.iter().zip(tables.chunks_exact(16 * blocks)).zip(tags.chunks_exact(wires))
            {
                items.push(self.store.put(self.sealer, *number, tables, tags));
            }
        }
        Ok((items, nodes))
    }

    /// The next root: that of the tree with `new` leaves in `slots`. The `old` ones were there if
    /// they lead to the root of before.
    fn receive_paths(
        &mut self,
        root: &Root,
        slots: &[u32],
        leaves: (&[Node], &[Node]),
    ) -> Result<Node, Fault> {
        let capacity = root.pool.capacity();
        let mut missing =
            cover(capacity, slots).filter(|part| !matches!(part, Part::Chosen)).count();
        let (mut piece, mut at) = (Vec::new(), 0);
        let (hash, channel) = (&self.leaves.hash, &mut *self.channel);
        let next = || {
            if at == piece.len() {
                let nodes = missing.min(MAX_NODES);
                missing -= nodes;
                piece = channel.recv(tags::JIMU_PATHS, nodes * size_of::<Node>())?;
                at = 0;
            }
            let node = piece.get(at..).and_then(<[u8]>::first_chunk::<32>);
            at += size_of::<Node>();
            node.copied().ok_or(OTHER)
        };
        let (before, after) = merkle::exchange(hash, capacity, slots, leaves, next)?;
        if bool::from(before.ct_eq(&root.node)) { Ok(after) } else { Err(OTHER) }
    }
}
