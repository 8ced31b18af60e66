//! Compact storage, the garbler's side: items made once more (`backends/jimu/compact.rs`).

use cenote_net::{Channel, Fault};
use cenote_pool::Draws;
use cenote_prim::Block;
use cenote_prim::merkle::{MerkleBuilder, Part, cover};
use zeroize::Zeroize;

use crate::backends::jimu::batch::{self, lanes};
use crate::backends::jimu::compact::{Drawn, Leaves, MAX_NODES, Run, encode_numbers};
use crate::backends::jimu::garbled_core::{self, Shape};
use crate::backends::jimu::ihash::{HashSender, Label, Message, ReedSolomonSender};
use crate::backends::jimu::tags;

/// Makes the items of a pool again.
pub(super) struct Again<'a> {
    shape: Shape,
    hash: &'a ReedSolomonSender,
    delta: &'a Label,
    messages: Vec<Message>,
}

impl<'a> Again<'a> {
    pub(super) fn new(shape: Shape, hash: &'a ReedSolomonSender, delta: &'a Label) -> Again<'a> {
        Again { shape, hash, delta, messages: Vec::new() }
    }

    /// Appends corrections and tables, laid out as in a strip.
    fn strip(&mut self, numbers: &[u64], out: &mut Vec<u8>) {
        let wires = self.shape.wires();
        let lanes = lanes(numbers.len() * wires);
        self.hash.again_with_corrections(numbers, wires, lanes, &mut self.messages, out);
        let mut tables = vec![Block::ZERO; numbers.len() * self.shape.table_blocks()];
        garbled_core::garble(self.shape, self.delta, numbers, &self.messages, &mut tables);
        out.extend_from_slice(Block::as_bytes(&tables));
    }

    /// Sends what `draws` have taken out of the pool, and the nodes that show where it was: `numbers`
    /// lie in the slots now, `drawn` are those of the buckets.
    pub(super) fn send(
        mut self,
        channel: &mut Channel,
        leaves: &mut Leaves,
        numbers: &[u64],
        (draws, drawn): (&Draws, &[u64]),
    ) -> Result<(), Fault> {
        let run = Run::new(draws);
        if run.slots.is_empty() {
            return Ok(());
        }
        let mut old = vec![0; run.slots.len()];
        for (place, number) in run.drawn.iter().zip(drawn) {
            if let Drawn::Old(slot) = place {
                old[*slot as usize] = *number;
            }
        }
        self.send_items(channel, &old)?;
        self.send_paths(channel, leaves, numbers, &run.slots)
    }

    fn send_items(&mut self, channel: &mut Channel, numbers: &[u64]) -> Result<(), Fault> {
        let (mut frame, mut rest) = (Vec::new(), numbers);
        for items in batch::strips(numbers.len(), self.shape.wires()) {
            let (these, others) = rest.split_at(items);
            rest = others;
            frame.clear();
            encode_numbers(these, &mut frame);
            self.strip(these, &mut frame);
            channel.send(tags::JIMU_AGAIN, &frame)?;
        }
        Ok(())
    }

    /// Makes the items of all other slots, strip after strip, and of their leaves the nodes.
    fn send_paths(
        &mut self,
        channel: &mut Channel,
        leaves: &mut Leaves,
        numbers: &[u64],
        slots: &[u32],
    ) -> Result<(), Fault> {
        let mut nodes = Nodes::new(channel, leaves, rest(numbers.len(), slots));
        let left = numbers.len() - slots.len();
        let mut others = rest(numbers.len(), slots)
            .flat_map(|(first, height)| &numbers[first..first + (1 << height)])
            .copied();
        let (mut strip, mut made) = (Vec::new(), Vec::new());
        for items in batch::strips(left, self.shape.wires()) {
            let these: Vec<u64> = others.by_ref().take(items).collect();
            strip.clear();
            self.strip(&these, &mut strip);
            made.clear();
            leaves.of(self.shape, &these, &strip, &mut made);
            for leaf in &made {
                nodes.push(*leaf)?;
            }
        }
        nodes.send()
    }
}

impl Drop for Again<'_> {
    fn drop(&mut self) {
        self.messages.zeroize();
    }
}

/// The nodes over the slots that are not drawn: first slot, height.
fn rest(count: usize, slots: &[u32]) -> impl Iterator<Item = (usize, u32)> {
    cover(count, slots).filter_map(|part| match part {
        Part::Chosen => None,
        Part::Rest { first, height } => Some((first, height)),
    })
}

/// Turns leaves into nodes of given heights, which it sends.
struct Nodes<'a, H> {
    channel: &'a mut Channel,
    heights: H,
    /// Leaves of the node that is being made.
    size: usize,
    tree: MerkleBuilder,
    frame: Vec<u8>,
}

impl<'a, H: Iterator<Item = (usize, u32)>> Nodes<'a, H> {
    fn new(channel: &'a mut Channel, leaves: &Leaves, mut heights: H) -> Nodes<'a, H> {
        let size = heights.next().map_or(0, |(_, height)| 1 << height);
        let tree = MerkleBuilder::new(leaves.hash.clone());
        Nodes { channel, heights, size, tree, frame: Vec::new() }
    }

    fn push(&mut self, leaf: [u8; 32]) -> Result<(), Fault> {
        self.tree.push(leaf);
        if self.tree.count() == self.size {
            self.frame.extend(self.tree.take_subtree().into_iter().flatten());
            self.size = self.heights.next().map_or(0, |(_, height)| 1 << height);
        }
        if self.frame.len() == 32 * MAX_NODES { self.send() } else { Ok(()) }
    }

    /// Sends what has gathered.
    fn send(&mut self) -> Result<(), Fault> {
        if !self.frame.is_empty() {
            self.channel.send(tags::JIMU_PATHS, &self.frame)?;
            self.frame.clear();
        }
        Ok(())
    }
}
