//! What both sides know of a memory that was put away: how far it is in its life, and which of its wires there are (docs/formats/memory.md).
//!
//! It is read like anything from elsewhere: what is no state of the plan is none, and room is made for no more than there are bytes.

use super::plan::{Layout, LevelShape, Plan, TreeShape};
use super::tree::level_of;

/// The first byte.
const VERSION: u8 = 1;

/// A state, by the form of the memory.
pub(super) enum State {
    Scan,
    Trees(Trees),
    Root(Periods),
}

/// Of Circuit ORAM.
pub(super) struct Trees {
    /// Accesses that there may be.
    pub(super) left: u64,
    /// Whether it began with given rows, which were put in one by one.
    pub(super) is_filled: bool,
    /// The nodes that have buckets, in order, of each tree.
    pub(super) buckets: Vec<Vec<u64>>,
}

/// Of square-root ORAM.
pub(super) struct Periods {
    /// The places that were opened in this period, in order, of each level: as many of each as there were accesses.
    pub(super) opened: Vec<Vec<usize>>,
}

impl Trees {
    /// Paths of a tree that were evicted: two for each access, and for each block that was put in.
    pub(super) fn evictions(&self, plan: &Plan, shape: TreeShape) -> Option<u64> {
        let filled = if self.is_filled { shape.blocks as u64 } else { 0 };
        let accesses = plan.needs.accesses.checked_sub(self.left)?;
        accesses.checked_add(filled)?.checked_mul(2)
    }

    fn fits(&self, plan: &Plan) -> bool {
        let node = |nodes: &[u64], shape: &TreeShape| {
            nodes.iter().all(|node| (1..2 << shape.depth).contains(node))
                && nodes.windows(2).all(|pair| pair[0] < pair[1])
        };
        (plan.needs.is_given || !self.is_filled)
            && self.buckets.len() == plan.trees.len()
            && self.buckets.iter().zip(&plan.trees).all(|(nodes, shape)| node(nodes, shape))
            && plan.trees.iter().all(|shape| self.evictions(plan, *shape).is_some())
    }
}

impl Periods {
    /// Accesses of this period so far.
    pub(super) fn accesses(&self) -> usize {
        self.opened.first().map_or(0, Vec::len)
    }

    fn fits(&self, plan: &Plan, period: usize) -> bool {
        let places = |opened: &Vec<usize>, shape: &LevelShape| {
            let mut sorted = opened.clone();
            sorted.sort_unstable();
            sorted.dedup();
            sorted.len() == self.accesses()
                && opened.len() == self.accesses()
                && sorted.last().is_none_or(|last| *last < shape.blocks)
        };
        self.accesses() <= period
            && self.opened.len() == plan.levels.len()
            && self.opened.iter().zip(&plan.levels).all(|(opened, shape)| places(opened, shape))
    }
}

impl State {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        let list = |bytes: &mut Vec<u8>, items: &mut dyn ExactSizeIterator<Item = u64>| {
            // Nodes are below 2^25, places and numbers of them as well.
            bytes.extend((items.len() as u32).to_le_bytes());
            items.for_each(|item| bytes.extend((item as u32).to_le_bytes()));
        };
        match self {
            State::Scan => bytes.push(0),
            State::Trees(trees) => {
                bytes.push(1);
                bytes.extend(trees.left.to_le_bytes());
                bytes.push(trees.is_filled.into());
                for nodes in &trees.buckets {
                    list(&mut bytes, &mut nodes.iter().copied());
                }
            }
            State::Root(periods) => {
                bytes.push(2);
                for opened in &periods.opened {
                    list(&mut bytes, &mut opened.iter().map(|place| *place as u64));
                }
            }
        }
        bytes
    }

    /// `None` if these bytes are no state of a memory of this plan.
    pub(super) fn read(plan: &Plan, bytes: &[u8]) -> Option<State> {
        let mut rest = bytes;
        let [version, form] = take(&mut rest)?;
        if version != VERSION {
            return None;
        }
        let state = match (plan.layout, form) {
            (Layout::Scan, 0) => State::Scan,
            (Layout::Trees { .. }, 1) => {
                let left = u64::from_le_bytes(take(&mut rest)?);
                let is_filled = match take(&mut rest)? {
                    [0] => false,
                    [1] => true,
                    [_] => return None,
                };
                let lists = plan.trees.iter().map(|_| list(&mut rest));
                let trees = Trees { left, is_filled, buckets: lists.collect::<Option<_>>()? };
                trees.fits(plan).then_some(State::Trees(trees))?
            }
            (Layout::SquareRoot { period, .. }, 2) => {
                let places = |items: Vec<u64>| items.into_iter().map(|place| place as usize);
                let lists = plan.levels.iter().map(|_| list(&mut rest));
                let lists = lists.map(|items| Some(places(items?).collect()));
                let periods = Periods { opened: lists.collect::<Option<_>>()? };
                periods.fits(plan, period).then_some(State::Root(periods))?
            }
            _ => return None,
        };
        rest.is_empty().then_some(state)
    }

    /// Wires of each cell of what was put away, in order. Of trees: of each the stash and its buckets by their nodes; then the last one's positions with
    /// the flag of overflow. Of square-root ORAM: of each level the blocks that were not opened, level 0 with their indices, and the stash;
    /// then the places of the last level's blocks with whether they were used.
    pub(super) fn cells(&self, plan: &Plan) -> Vec<usize> {
        let mut cells = Vec::new();
        match self {
            State::Scan => cells.push(plan.needs.blocks * plan.needs.width),
            State::Trees(trees) => {
                for (nodes, shape) in trees.buckets.iter().zip(&plan.trees) {
                    cells.push(shape.stash * shape.length(0));
                    cells.extend(nodes.iter().map(|n| shape.bucket * shape.length(level_of(*n))));
                }
                cells.push(plan.trees.last().map_or(0, TreeShape::positions) + 1);
            }
            State::Root(periods) => {
                let opened = periods.accesses();
                for (level, shape) in plan.levels.iter().enumerate() {
                    let index = if level == 0 { shape.index() } else { 0 };
                    cells.push((shape.blocks - opened) * (shape.width + index));
                    cells.push(opened * (shape.index() + shape.width));
                }
                let last = plan.levels.last();
                cells.push(last.map_or(0, |last| last.blocks * (last.index() + 1)));
            }
        }
        cells
    }
}

/// The next bytes.
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, others) = rest.split_first_chunk()?;
    *rest = others;
    Some(*taken)
}

/// The next list of numbers.
fn list(rest: &mut &[u8]) -> Option<Vec<u64>> {
    let count = u32::from_le_bytes(take(rest)?) as usize;
    let (items, others) = rest.split_at_checked(count.checked_mul(4)?)?;
    *rest = others;
    let number = |item: &[u8]| item.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    Some(items.chunks(4).map(number).collect())
}
