//! One tree of Circuit ORAM (Wang, Chan, Shi, CCS 2015): where blocks lie, and how one is taken out of a path.
//!
//! A block is a list of wires: whether it is there, its index, its data, and the bits of its leaf, the lowest of the tree first. A
//! bucket at level i (the root is 1, a leaf D + 1) lies on a path whose first i - 1 turns are public, and so are those bits of the leaf
//! of each block in it: they are left out, and a block of a deeper level is the beginning of one that lies higher.
//! A slot whose block is not there may hold anything.

use std::collections::{BTreeMap, BTreeSet};

use super::Reactive;
use super::plan::TreeShape;
use super::resting::{Resting, wake};
use crate::gates::Gates;

/// A block or an empty slot.
pub(super) type Block<W> = Vec<W>;

/// A tree with its stash.
pub(super) struct Tree<W> {
    pub(super) shape: TreeShape,
    /// Level 0.
    pub(super) stash: Vec<Block<W>>,
    /// Buckets that accesses came to and that are awake, by the number of the node: the root's is 1, children's are twice that and one more.
    warm: BTreeMap<u64, Vec<Block<W>>>,
    /// All others but those that no access came to, which are empty.
    resting: BTreeMap<u64, Resting<W>>,
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
        Ok(Tree { shape, stash, warm: BTreeMap::new(), resting: BTreeMap::new(), evictions: 0 })
    }

    /// A tree as [`Self::put_away`] has left it: the wires of its stash, and buckets by their nodes.
    pub(super) fn found(
        shape: TreeShape,
        stash: &[W],
        resting: BTreeMap<u64, Resting<W>>,
        evictions: u64,
    ) -> Self {
        let stash = stash.chunks(shape.length(0)).map(<[_]>::to_vec).collect();
        Tree { shape, stash, warm: BTreeMap::new(), resting, evictions }
    }

    /// The wires of the stash, and those of all buckets that there are, by their nodes.
    pub(super) fn put_away(self) -> (Vec<W>, BTreeMap<u64, Resting<W>>) {
        let warm = self.warm.into_iter().map(|(node, slots)| (node, slots.concat()));
        let mut buckets = self.resting;
        buckets.extend(warm.map(|(node, wires)| (node, Resting::Wires(wires))));
        (self.stash.concat(), buckets)
    }

    /// Comes right after the leaf of the next access was opened: makes its three paths ready.
    pub(super) fn turn_to<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        leaf: &[bool],
        most_awake: usize,
    ) -> Result<(), G::Error> {
        let paths: Vec<_> = std::iter::once(leaf.to_vec()).chain(self.evicted_next(2)).collect();
        self.make_ready(g, &paths, most_awake)
    }

    /// Comes right after an opening: makes the paths of so many blocks ready that are put in next, two for each.
    pub(super) fn turn_to_puts<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        puts: usize,
        most_awake: usize,
    ) -> Result<(), G::Error> {
        let paths: Vec<_> = self.evicted_next(2 * puts as u64).collect();
        self.make_ready(g, &paths, most_awake)
    }

    /// If more wires of buckets are awake than `most_awake`, those rest that are on none of the paths; what else is on the paths wakes, all at once.
    fn make_ready<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        paths: &[Vec<bool>],
        most_awake: usize,
    ) -> Result<(), G::Error> {
        let ahead: BTreeSet<u64> = paths.iter().flat_map(|turns| nodes(turns)).collect();
        let awake = self.warm.values().flatten().map(Vec::len).sum::<usize>();
        let idle = self.warm.keys().filter(|node| !ahead.contains(node)).copied();
        let idle: Vec<u64> = idle.filter(|_| g.packs() && awake > most_awake).collect();
        for node in idle {
            let slots = self.warm.remove(&node).unwrap_or_default();
            self.resting.insert(node, g.rest(slots.concat())?);
        }
        self.wake(g, ahead)
    }

    /// Wakes those of some buckets that rest.
    fn wake<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        nodes: impl IntoIterator<Item = u64>,
    ) -> Result<(), G::Error> {
        let cells = nodes.into_iter().filter_map(|node| Some((node, self.resting.remove(&node)?)));
        let (nodes, cells): (Vec<u64>, Vec<_>) = cells.unzip();
        for (node, wires) in nodes.into_iter().zip(wake(g, cells)?) {
            let slots = wires.chunks(self.shape.length(level_of(node)));
            self.warm.insert(node, slots.map(<[_]>::to_vec).collect());
        }
        Ok(())
    }

    /// Takes a path out.
    pub(super) fn load<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        turns: Vec<bool>,
    ) -> Result<Path<W>, G::Error> {
        // Nothing, where it was made ready.
        self.wake(g, nodes(&turns))?;
        let mut levels = vec![std::mem::take(&mut self.stash)];
        for (level, node) in nodes(&turns).enumerate() {
            levels.push(match self.warm.remove(&node) {
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
        self.warm.extend(nodes(&path.turns).zip(levels));
    }

    /// ReadAndRemove: the data of the block with this index on the path to `leaf`, zeros if there is none. (S + Z (D + 1)) (l + w)
    /// ANDs for an index of l bits and data of w.
    pub(super) fn take<G: Reactive<Wire = W>>(
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
    pub(super) fn access<G: Reactive<Wire = W>>(
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
    pub(super) fn put<G: Reactive<Wire = W>>(
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
        let turns = self.turns_of(self.evictions);
        self.evictions += 1;
        turns
    }

    /// The paths of so many evictions that come next.
    fn evicted_next(&self, count: u64) -> impl Iterator<Item = Vec<bool>> + '_ {
        (0..count).map(|ahead| self.turns_of(self.evictions.wrapping_add(ahead)))
    }

    /// The path of an eviction by its number.
    fn turns_of(&self, number: u64) -> Vec<bool> {
        (0..self.shape.depth).map(|turn| number >> turn & 1 == 1).collect()
    }
}

/// The level at which a node is.
pub(super) const fn level_of(node: u64) -> usize {
    (u64::BITS - node.leading_zeros()) as usize
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
