//! One tree of Circuit ORAM (Wang, Chan, Shi, CCS 2015): where blocks lie, and how one is taken out of a path.
//!
//! A block is a list of wires: whether it is there, its index, its data, and the bits of its leaf, the lowest of the tree first. A
//! bucket at level i (the root is 1, a leaf D + 1) lies on a path whose first i - 1 turns are public, and so are those bits of the leaf
//! of each block in it: they are left out, and a block of a deeper level is the beginning of one that lies higher.
//! A slot whose block is not there may hold anything.

use std::collections::BTreeMap;

use super::plan::TreeShape;
use crate::gates::Gates;

/// A block or an empty slot.
pub(super) type Block<W> = Vec<W>;

/// A tree with its stash.
pub(super) struct Tree<W> {
    pub(super) shape: TreeShape,
    /// Level 0.
    pub(super) stash: Vec<Block<W>>,
    /// By the number of the node, the root's being 1, children's twice that and one more; those that no access came to are empty.
    buckets: BTreeMap<u64, Vec<Block<W>>>,
    /// Paths that were evicted.
    pub(super) evictions: u64,
}

/// The slots of a path, level by level, the stash first; taken out of a tree.
pub(super) struct Path<W> {
    /// The turn at each level: the bits of the leaf.
    pub(super) turns: Vec<bool>,
    pub(super) levels: Vec<Vec<Block<W>>>,
}

impl<W: Clone> Tree<W> {
    /// A tree without blocks.
    pub(super) fn new<G: Gates<Wire = W>>(g: &mut G, shape: TreeShape) -> Result<Self, G::Error> {
        let empty = vec![g.constant(false)?; shape.length(0)];
        let stash = vec![empty; shape.stash];
        Ok(Tree { shape, stash, buckets: BTreeMap::new(), evictions: 0 })
    }

    /// Takes a path out.
    pub(super) fn load<G: Gates<Wire = W>>(
        &mut self,
        g: &mut G,
        turns: Vec<bool>,
    ) -> Result<Path<W>, G::Error> {
        let mut levels = vec![std::mem::take(&mut self.stash)];
        for (level, node) in nodes(&turns).enumerate() {
            levels.push(match self.buckets.remove(&node) {
                Some(bucket) => bucket,
                None => {
                    vec![vec![g.constant(false)?; self.shape.length(level + 1)]; self.shape.bucket]
                }
            });
        }
        Ok(Path { turns, levels })
    }

    /// Puts a path back.
    pub(super) fn save(&mut self, path: Path<W>) {
        let mut levels = path.levels.into_iter();
        self.stash = levels.next().unwrap_or_default();
        self.buckets.extend(nodes(&path.turns).zip(levels));
    }

    /// ReadAndRemove: the data of the block with this index on the path to `leaf`, zeros if there is none. (S + Z (D + 1)) (l + w)
    /// ANDs for an index of l bits and data of w.
    pub(super) fn take<G: Gates<Wire = W>>(
        &mut self,
        g: &mut G,
        leaf: Vec<bool>,
        index: &[W],
    ) -> Result<Vec<W>, G::Error> {
        let mut path = self.load(g, leaf)?;
        let mut slots: Vec<&mut Block<W>> = path.levels.iter_mut().flatten().collect();
        let mut found: Vec<W> = slots.iter().map(|slot| slot[0].clone()).collect();
        for (bit, wanted) in index.iter().enumerate() {
            let other = vec![g.not(wanted)?; slots.len()];
            let own: Vec<W> = slots.iter().map(|slot| slot[1 + bit].clone()).collect();
            let same = g.xor_many(&own, &other)?;
            found = g.and_many(&found, &same)?;
        }
        let data = 1 + index.len()..1 + index.len() + self.shape.width;
        let all: Vec<W> =
            slots.iter().flat_map(|slot| slot[data.clone()].iter().cloned()).collect();
        let picked = g.and_groups(&found, &all)?;
        for (slot, found) in slots.iter_mut().zip(&found) {
            slot[0] = g.xor(&slot[0], found)?;
        }
        self.save(path);
        sum(g, &picked, self.shape.width)
    }

    /// ReadAndRemove, a function of the data, and the block back with another leaf: then two evictions. Gives whether the stash had
    /// no room for it.
    pub(super) fn access<G: Gates<Wire = W>>(
        &mut self,
        g: &mut G,
        leaf: Vec<bool>,
        index: &[W],
        next_leaf: &[W],
        change: impl FnOnce(&mut G, Vec<W>) -> Result<Vec<W>, G::Error>,
    ) -> Result<W, G::Error> {
        let data = self.take(g, leaf, index)?;
        let data = change(g, data)?;
        self.put(g, index, &data, next_leaf)
    }

    /// A block that is not in the tree, and two evictions. Gives whether the stash had no room for it.
    pub(super) fn put<G: Gates<Wire = W>>(
        &mut self,
        g: &mut G,
        index: &[W],
        data: &[W],
        leaf: &[W],
    ) -> Result<W, G::Error> {
        let mut block = vec![g.constant(true)?];
        block.extend(index.iter().chain(data).chain(leaf.iter().rev()).cloned());
        let lost = self.evict_with(g, block)?;
        self.evict(g)?;
        Ok(lost)
    }

    /// The next path in reverse lexicographic order.
    pub(super) fn next_turns(&mut self) -> Vec<bool> {
        let number = self.evictions;
        self.evictions += 1;
        (0..self.shape.depth).map(|turn| number >> turn & 1 == 1).collect()
    }
}

/// The nodes of a path, the root first.
fn nodes(turns: &[bool]) -> impl Iterator<Item = u64> + '_ {
    let below = turns.iter().scan(1, |node, turn| {
        *node = 2 * *node + u64::from(*turn);
        Some(*node)
    });
    std::iter::once(1).chain(below)
}

/// The XOR of words of `width` bits.
pub(super) fn sum<G: Gates>(
    g: &mut G,
    words: &[G::Wire],
    width: usize,
) -> Result<Vec<G::Wire>, G::Error> {
    let mut words = words.chunks(width.max(1));
    let first = words.next().map(<[_]>::to_vec).unwrap_or_default();
    words.try_fold(first, |sum, word| g.xor_many(&sum, word))
}
