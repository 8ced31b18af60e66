//! Circuit ORAM whose positions are kept by scans or, recursively, in further trees.
//!
//! A position is a bit, whether there is one, and a leaf. A memory of zeros begins with no block and no position anywhere, for nothing: the
//! leaf that is opened for a block without one is tossed in its place, so that it is as uniform as any.

use super::in_hand::{InHand, Wanted};
use super::plan::{Layout, Plan};
use super::resting::{Resting, wake};
use super::rows::{Access, Rows};
use super::state::{State, Trees};
use super::tree::Tree;
use super::{Broken, Reactive};
use crate::bits::bits_of;
use crate::gadgets;

/// The trees of a memory, and the positions of the last one's blocks.
pub(super) struct Nest<W> {
    plan: Plan,
    factor: usize,
    trees: Vec<Tree<W>>,
    positions: Rows<W>,
    /// Whether a stash overflowed since the flag was opened.
    lost: Option<W>,
    /// Accesses that there may be.
    left: u64,
    /// The row that was taken, until it is put back, and the leaf that it gets.
    in_hand: Option<(InHand<W>, Vec<W>)>,
}

/// A leaf for each tree, and another one for a block that has none.
struct Tossed<W> {
    next: Vec<W>,
    first: Vec<W>,
}

impl<W: Clone> Nest<W> {
    /// A memory of zeros.
    pub(super) fn empty<G: Reactive<Wire = W>>(g: &mut G, plan: Plan) -> Result<Self, G::Error> {
        let factor = match plan.layout {
            Layout::Trees { factor, .. } => factor,
            _ => 0,
        };
        let trees = plan.trees.iter().map(|shape| Tree::new(g, *shape));
        let trees = trees.collect::<Result<Vec<_>, _>>()?;
        let last = plan.trees[plan.trees.len() - 1];
        let rows = vec![vec![g.constant(false)?; last.position()]; last.blocks];
        let positions = Rows::of(rows);
        let left = plan.needs.accesses;
        Ok(Nest { plan, factor, trees, positions, lost: None, left, in_hand: None })
    }

    /// A memory of these rows.
    pub(super) fn of<G: Reactive<Wire = W>>(
        g: &mut G,
        plan: Plan,
        rows: Vec<Vec<W>>,
    ) -> Result<Self, G::Error> {
        let most_awake = plan.needs.most_awake;
        let mut nest = Nest::empty(g, plan)?;
        let (there, zero) = (g.constant(true)?, g.constant(false)?);
        let mut blocks = rows;
        for tree in 0..nest.trees.len() {
            let shape = nest.trees[tree].shape;
            let (count, together) = (blocks.len(), shape.puts_together(most_awake));
            let mut positions = Vec::with_capacity(count);
            for (i, data) in blocks.into_iter().enumerate() {
                if i > 0 && i % together == 0 {
                    nest.open_with_flag(g, Vec::new())?;
                    nest.trees[tree].turn_to_puts(g, together.min(count - i), most_awake)?;
                }
                let index = gadgets::constant_bits(g, &bits_of(i as u128, shape.index()))?;
                let leaf = g.toss(shape.depth)?;
                let lost = nest.trees[tree].put(g, &index, &data, &leaf)?;
                nest.note(g, lost)?;
                positions.push([std::slice::from_ref(&there), &leaf].concat());
            }
            if tree + 1 == nest.trees.len() {
                nest.positions = Rows::of(positions);
                break;
            }
            let full = shape.position() << nest.factor;
            let pack = |positions: &[Vec<W>]| {
                let mut block = positions.concat();
                block.resize(full, zero.clone());
                block
            };
            blocks = positions.chunks(1 << nest.factor).map(pack).collect();
        }
        Ok(nest)
    }

    /// What both sides know of it, and all that it holds, in the order of [`State::cells`].
    ///
    /// # Panics
    /// When a row is in hand.
    pub(super) fn put_away<G: Reactive<Wire = W>>(
        self,
        g: &mut G,
    ) -> Result<(State, Vec<Resting<W>>), G::Error> {
        assert!(!self.is_in_hand(), "a row that was taken is put back before all is put away");
        let is_filled = self.trees[0].evictions != 2 * (self.plan.needs.accesses - self.left);
        let (mut cells, mut buckets) = (Vec::new(), Vec::with_capacity(self.trees.len()));
        for tree in self.trees {
            let (stash, own) = tree.put_away();
            cells.push(Resting::Wires(stash));
            buckets.push(own.keys().copied().collect());
            cells.extend(own.into_values());
        }
        // The flag goes on with the rest: nothing wrong is read before the next leaf, which is opened with it.
        let lost = match self.lost {
            Some(lost) => lost,
            None => g.constant(false)?,
        };
        let mut positions = self.positions.into_inner().concat();
        positions.push(lost);
        cells.push(Resting::Wires(positions));
        Ok((State::Trees(Trees { left: self.left, is_filled, buckets }), cells))
    }

    /// The opposite, for a state of the plan and its cells.
    pub(super) fn found<G: Reactive<Wire = W>>(
        g: &mut G,
        plan: Plan,
        state: Trees,
        cells: Vec<Resting<W>>,
    ) -> Result<Self, G::Error> {
        let mut nest = Nest::empty(g, plan)?;
        let (mut cells, mut awake) = (cells.into_iter(), Vec::new());
        let mut resting = Vec::with_capacity(nest.trees.len());
        for own in &state.buckets {
            awake.extend(cells.next());
            resting.push(own.iter().copied().zip(cells.by_ref()).collect());
        }
        awake.extend(cells.next());
        let mut awake = wake(g, awake)?;
        let mut positions = awake.pop().unwrap_or_default();
        nest.lost = positions.pop();
        let width = nest.trees[nest.trees.len() - 1].shape.position();
        nest.positions = Rows::of(positions.chunks(width).map(<[_]>::to_vec).collect());
        for ((tree, stash), resting) in nest.trees.iter_mut().zip(&awake).zip(resting) {
            let evictions = state.evictions(&nest.plan, tree.shape).unwrap_or_default();
            *tree = Tree::found(tree.shape, stash, resting, evictions);
        }
        nest.left = state.left;
        Ok(nest)
    }

    /// The row at the unsigned secret `index`, zeros beyond the end, and `change` of it in its place, nothing beyond the end.
    pub(super) fn access<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        index: &[W],
        change: impl FnOnce(&mut G, &[W]) -> Result<Vec<W>, G::Error>,
    ) -> Result<Vec<W>, G::Error> {
        let shown = self.take(g, index)?;
        let new = change(g, &shown)?;
        self.put(g, |_, _| Ok(new))?;
        Ok(shown)
    }

    /// Puts `change` of the row that was taken in its place, nothing beyond the end.
    ///
    /// # Panics
    /// When none was taken.
    pub(super) fn put<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        change: impl FnOnce(&mut G, &[W]) -> Result<Vec<W>, G::Error>,
    ) -> Result<(), G::Error> {
        let taken = self.in_hand.take();
        let (taken, leaf) = taken.expect("a row that was taken");
        let (index, new) = taken.changed(g, change)?;
        let lost = self.trees[0].put(g, &index, &new, &leaf)?;
        self.note(g, lost)
    }

    pub(super) fn is_in_hand(&self) -> bool {
        self.in_hand.is_some()
    }

    /// The row at the unsigned secret `index`, zeros beyond the end; it is in hand from here on.
    ///
    /// # Panics
    /// When one is in hand: it would be lost, and read as zeros.
    pub(super) fn take<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        index: &[W],
    ) -> Result<Vec<W>, G::Error> {
        assert!(!self.is_in_hand(), "a row that was taken is put back before the next access");
        self.left = self.left.checked_sub(1).ok_or_else(|| g.broken(Broken::Spent))?;
        let bits = self.trees[0].shape.index();
        let wanted = Wanted::of(g, index, self.plan.needs.blocks, bits)?;
        let index = &wanted.index;
        let mut tossed = Vec::with_capacity(self.trees.len());
        for tree in &self.trees {
            let depth = tree.shape.depth;
            let mut next = g.toss(2 * depth)?;
            let first = next.split_off(depth);
            tossed.push(Tossed { next, first });
        }
        let mut leaf = self.last_leaf(g, index, &tossed[tossed.len() - 1])?;
        for tree in (1..self.trees.len()).rev() {
            leaf = self.next_leaf(g, tree, leaf, index, &tossed)?;
        }
        let row = self.trees[0].take(g, leaf, index)?;
        let taken = wanted.found(g, row)?;
        let leaf = tossed.swap_remove(0).next;
        Ok(self.in_hand.insert((taken, leaf)).0.shown.clone())
    }

    /// The leaf of a block of the last tree, from the scanned positions.
    fn last_leaf<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        index: &[W],
        tossed: &Tossed<W>,
    ) -> Result<Vec<bool>, G::Error> {
        let index = &index[(self.trees.len() - 1) * self.factor..];
        let old = replace(g, &mut self.positions, index, &tossed.next)?;
        self.open(g, self.trees.len() - 1, &old, tossed)
    }

    /// The leaf of a block of the tree before `tree`, from the block of `tree` on the path to `leaf` that has its position.
    fn next_leaf<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        tree: usize,
        leaf: Vec<bool>,
        index: &[W],
        tossed: &[Tossed<W>],
    ) -> Result<Vec<bool>, G::Error> {
        let (rest, own) = index.split_at(tree * self.factor);
        let place = &rest[(tree - 1) * self.factor..];
        let below = &tossed[tree - 1];
        let mut old = Vec::new();
        let lost = self.trees[tree].access(g, leaf, own, &tossed[tree].next, |g, block| {
            let rows = block.chunks(1 + below.next.len()).map(<[_]>::to_vec).collect();
            let mut rows = Rows::of(rows);
            old = replace(g, &mut rows, place, &below.next)?;
            Ok(rows.into_inner().concat())
        })?;
        self.note(g, lost)?;
        self.open(g, tree - 1, &old, below)
    }

    /// Opens the leaf of a position of a tree, which turns to it, together with the flag of what was evicted before.
    fn open<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        tree: usize,
        position: &[W],
        tossed: &Tossed<W>,
    ) -> Result<Vec<bool>, G::Error> {
        let (there, leaf) = position.split_at(1);
        let leaf = g.mux_many(&there[0], leaf, &tossed.first)?;
        let bits = self.open_with_flag(g, leaf)?;
        self.trees[tree].turn_to(g, &bits, self.plan.needs.most_awake)?;
        Ok(bits)
    }

    /// Opens wires together with the flag of what was evicted before.
    fn open_with_flag<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        mut wires: Vec<W>,
    ) -> Result<Vec<bool>, G::Error> {
        let flag = self.lost.take();
        let has_flag = flag.is_some();
        wires.extend(flag);
        let mut bits = g.open(&wires)?;
        if has_flag && bits.pop() == Some(true) {
            return Err(g.broken(Broken::Overflow));
        }
        Ok(bits)
    }

    /// Takes note of whether a stash overflowed.
    fn note<G: Reactive<Wire = W>>(&mut self, g: &mut G, lost: W) -> Result<(), G::Error> {
        self.lost = Some(match self.lost.take() {
            Some(before) => gadgets::or(g, &before, &lost)?,
            None => lost,
        });
        Ok(())
    }
}

/// The position at `index`, and one with a new leaf in its place.
fn replace<G: Reactive>(
    g: &mut G,
    rows: &mut Rows<G::Wire>,
    index: &[G::Wire],
    leaf: &[G::Wire],
) -> Result<Vec<G::Wire>, G::Error> {
    let there = g.constant(true)?;
    let old = rows.access(g, index, Access::Read)?;
    let new = [std::slice::from_ref(&there), leaf].concat();
    rows.access(g, index, Access::Write { word: &new, enable: &there })?;
    Ok(old)
}
