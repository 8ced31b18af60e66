//! Merkle trees over BLAKE3: one root commits to many leaves.
//!
//! An odd last node of a level moves up unchanged, so that the leaves below a node are those from
//! a multiple of a power of two on, as many as that power or up to the last. [`MerkleTree`] has all
//! nodes and opens single leaves. [`MerkleBuilder`] gives the same root from leaves that pass by
//! once; [`cover`] and [`exchange`] are for those who keep nothing but the root and replace many
//! leaves at a time.

mod many;

use subtle::ConstantTimeEq;

use crate::{RandomOracle, SessionId};

/// Hash of a node.
pub type Node = [u8; 32];

/// The hashes of the trees of a session. Leaves, pairs and roots are apart: nothing that is one of
/// them can pass for another.
#[derive(Clone)]
pub struct MerkleHash {
    session: SessionId,
    leaves: [u8; 32],
    pairs: [u8; 32],
}

impl MerkleHash {
    /// The hashes of `session`.
    pub fn new(session: SessionId) -> MerkleHash {
        // Many nodes are hashed: one compression for a pair, with keys made once.
        let key = |domain| RandomOracle::new(domain, &session).digest();
        let leaves = key("cenote 2026 prim merkle leaf v2");
        let pairs = key("cenote 2026 prim merkle node v2");
        MerkleHash { session, leaves, pairs }
    }

    /// The node of a leaf.
    pub fn leaf(&self, content: &[u8]) -> Node {
        *blake3::keyed_hash(&self.leaves, content).as_bytes()
    }

    /// Appends the nodes of leaves whose contents stand one after the other, `len` bytes each.
    ///
    /// # Panics
    /// If the length is zero or the contents are no whole ones.
    pub fn leaves(&self, len: usize, contents: &[u8], nodes: &mut Vec<Node>) {
        many::keyed_hashes(&self.leaves, len, contents, nodes);
    }

    fn pair(&self, left: &Node, right: &Node) -> Node {
        let mut pair = [0; 64];
        pair[..32].copy_from_slice(left);
        pair[32..].copy_from_slice(right);
        *blake3::keyed_hash(&self.pairs, &pair).as_bytes()
    }

    fn root(&self, count: usize, top: Option<&Node>) -> Node {
        let oracle = RandomOracle::new("cenote 2026 prim merkle root v1", &self.session);
        let oracle = oracle.number(count as u64);
        top.map_or(oracle.digest(), |top| oracle.clone().bytes(top).digest())
    }
}

/// All levels of the tree, leaves first.
pub struct MerkleTree {
    hash: MerkleHash,
    levels: Vec<Vec<Node>>,
}

impl MerkleTree {
    /// Builds the tree over `leaves`. The root of no leaves is the hash of an empty level.
    pub fn new<T: AsRef<[u8]>>(session: SessionId, leaves: &[T]) -> MerkleTree {
        let hash = MerkleHash::new(session);
        let hashed = leaves.iter().map(|leaf| hash.leaf(leaf.as_ref())).collect();
        let mut levels: Vec<Vec<Node>> = vec![hashed];
        while let Some(level) = levels.last().filter(|level| level.len() > 1) {
            let parents = level.chunks(2).map(|nodes| match nodes {
                [left, right] => hash.pair(left, right),
                single => single[0],
            });
            levels.push(parents.collect());
        }
        MerkleTree { hash, levels }
    }

    /// The root, bound to the number of leaves.
    pub fn root(&self) -> Node {
        let top = self.levels.last().and_then(|level| level.first());
        self.hash.root(self.levels[0].len(), top)
    }

    /// The siblings from leaf `index` to the top, or `None` beyond the last leaf.
    pub fn path(&self, index: usize) -> Option<Vec<Node>> {
        self.levels[0].get(index)?;
        let siblings = self
            .levels
            .iter()
            .enumerate()
            .filter_map(|(height, level)| level.get((index >> height) ^ 1).copied());
        Some(siblings.collect())
    }
}

/// Whether `path` proves that `leaf` is number `index` of the `count` leaves under `root`.
#[must_use]
pub fn verify(
    session: &SessionId,
    root: &Node,
    count: usize,
    index: usize,
    leaf: &[u8],
    path: &[Node],
) -> bool {
    if index >= count {
        return false;
    }
    let hash = MerkleHash::new(*session);
    let (mut node, mut at, mut width) = (hash.leaf(leaf), index, count);
    let mut siblings = path.iter();
    while width > 1 {
        if at ^ 1 < width {
            let Some(sibling) = siblings.next() else { return false };
            let (left, right) = if at & 1 == 0 { (&node, sibling) } else { (sibling, &node) };
            node = hash.pair(left, right);
        }
        at >>= 1;
        width = width.div_ceil(2);
    }
    let same: bool = hash.root(count, Some(&node)).ct_eq(root).into();
    siblings.next().is_none() && same
}

/// Builds a tree from the left to the right and keeps no more than one node a level.
#[derive(Clone)]
pub struct MerkleBuilder {
    hash: MerkleHash,
    count: usize,
    /// The complete subtrees of the leaves so far: their heights are the bits of the count.
    peaks: Vec<Node>,
}

impl MerkleBuilder {
    /// No leaf yet.
    pub fn new(hash: MerkleHash) -> MerkleBuilder {
        MerkleBuilder { hash, count: 0, peaks: Vec::new() }
    }

    /// The number of leaves so far.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Appends a leaf, by [`MerkleHash::leaf`].
    pub fn push(&mut self, leaf: Node) {
        self.push_subtree(0, leaf);
    }

    /// Appends the node over 2^`height` leaves.
    ///
    /// # Panics
    /// If no such node begins here: if the count is no multiple of 2^`height`.
    pub fn push_subtree(&mut self, height: u32, mut node: Node) {
        assert!(self.count.is_multiple_of(1 << height));
        let mut place = self.count >> height;
        while place & 1 == 1 {
            let left = self.peaks.pop().expect("a peak for each bit of the count");
            node = self.hash.pair(&left, &node);
            place >>= 1;
        }
        self.peaks.push(node);
        self.count += 1 << height;
    }

    /// The node over all leaves so far, if their number is a power of two; then starts again.
    pub fn take_subtree(&mut self) -> Option<Node> {
        let [node] = self.peaks[..] else { return None };
        self.peaks.clear();
        self.count = 0;
        Some(node)
    }

    /// The root of the tree of the leaves so far.
    pub fn root(&self) -> Node {
        let mut peaks = self.peaks.iter().rev().copied();
        let last = peaks.next();
        let top = last.map(|last| peaks.fold(last, |right, left| self.hash.pair(&left, &right)));
        self.hash.root(self.count, top.as_ref())
    }
}

/// A part of a tree: what [`cover`] cuts it into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The next of the chosen leaves.
    Chosen,
    /// A node over leaves none of which is chosen: 2^`height` of them from `first` on.
    Rest {
        /// The first of these leaves.
        first: usize,
        /// Levels above the leaves.
        height: u32,
    },
}

/// Cuts a tree of `count` leaves into the chosen leaves and the fewest complete subtrees that hold
/// the others, from the left to the right. For k of n leaves these are about k log2(n / k) subtrees.
///
/// # Panics
/// The iterator does, if `chosen` is not ascending, has a leaf twice or one beyond the last.
pub fn cover(count: usize, chosen: &[u32]) -> impl Iterator<Item = Part> {
    let (mut at, mut chosen) = (0, chosen.iter().map(|leaf| *leaf as usize).peekable());
    std::iter::from_fn(move || {
        let next = chosen.peek().copied().unwrap_or(count);
        assert!(at <= next && next <= count, "chosen leaves are in order and in the tree");
        if at == count {
            return None;
        }
        let (part, leaves) = match next - at {
            0 => (Part::Chosen, 1),
            gap => {
                // A node begins at multiples of its size only.
                let height = gap.ilog2().min(at.trailing_zeros());
                (Part::Rest { first: at, height }, 1 << height)
            }
        };
        chosen.next_if_eq(&at);
        at += leaves;
        Some(part)
    })
}

/// The roots of a tree of `count` leaves with `old` and with `new` at the places `chosen`.
/// `rest` gives the other nodes of the [`cover`], one after the other.
///
/// If the first root is that of a tree that is known to be right, then so are all of `old` and of
/// the nodes, and the second root commits to what it should.
///
/// # Errors
/// Those of `rest`.
///
/// # Panics
/// If there are not as many of `old` and `new` as are chosen, or as [`cover`] does.
pub fn exchange<E>(
    hash: &MerkleHash,
    count: usize,
    chosen: &[u32],
    (old, new): (&[Node], &[Node]),
    mut rest: impl FnMut() -> Result<Node, E>,
) -> Result<(Node, Node), E> {
    assert!(old.len() == chosen.len() && new.len() == chosen.len());
    let mut leaves = old.iter().zip(new);
    let (mut before, mut after) =
        (MerkleBuilder::new(hash.clone()), MerkleBuilder::new(hash.clone()));
    for part in cover(count, chosen) {
        let (height, left, right) = match part {
            Part::Chosen => {
                let (old, new) = leaves.next().expect("as many as are chosen");
                (0, *old, *new)
            }
            Part::Rest { height, .. } => {
                let node = rest()?;
                (height, node, node)
            }
        };
        before.push_subtree(height, left);
        after.push_subtree(height, right);
    }
    Ok((before.root(), after.root()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: SessionId = SessionId([3; 32]);

    fn leaves(count: usize) -> Vec<[u8; 3]> {
        (0..count).map(|i| [i as u8, (i >> 8) as u8, 1]).collect()
    }

    #[test]
    fn every_leaf_verifies_and_nothing_else_does() {
        let session = SESSION;
        for count in [0usize, 1, 2, 3, 5, 8, 13] {
            let leaves = leaves(count);
            let tree = MerkleTree::new(session, &leaves);
            let root = tree.root();
            for (i, leaf) in leaves.iter().enumerate() {
                let path = tree.path(i).expect("leaf exists");
                assert!(verify(&session, &root, count, i, leaf, &path));
                assert!(!verify(&session, &root, count, i, b"xx", &path));
                assert!(!verify(&session, &root, count + 1, i, leaf, &path));
                let other = (i + 1) % count;
                assert!(count == 1 || !verify(&session, &root, count, other, leaf, &path));
                let mut long = path.clone();
                long.push([0; 32]);
                assert!(!verify(&session, &root, count, i, leaf, &long));
            }
            assert!(tree.path(count).is_none());
        }
    }

    #[test]
    fn leaves_that_pass_by_give_the_same_root() {
        for count in (0..70).chain([255, 256, 257, 1000]) {
            let tree = MerkleTree::new(SESSION, &leaves(count));
            let mut builder = MerkleBuilder::new(tree.hash.clone());
            for leaf in leaves(count) {
                builder.push(builder.hash.leaf(&leaf));
                assert!(builder.peaks.len() <= 1 + builder.count().ilog2() as usize);
            }
            assert_eq!((builder.root(), builder.count()), (tree.root(), count));
            let whole = count.is_power_of_two().then(|| tree.levels.last().map(|top| top[0]));
            assert_eq!(builder.take_subtree(), whole.flatten());
            assert!(!count.is_power_of_two() || builder.count() == 0);
        }
    }

    #[test]
    #[should_panic = "is_multiple_of"]
    fn a_subtree_has_its_places() {
        let mut builder = MerkleBuilder::new(MerkleHash::new(SESSION));
        builder.push([1; 32]);
        builder.push_subtree(1, [2; 32]);
    }

    #[test]
    fn sessions_leaves_and_pairs_are_apart() {
        let hash = MerkleHash::new(SESSION);
        let contents: Vec<u8> = (0..100).collect();
        let mut nodes = Vec::new();
        hash.leaves(5, &contents, &mut nodes);
        assert!(nodes.iter().zip(contents.chunks(5)).all(|(node, leaf)| *node == hash.leaf(leaf)));
        assert_eq!(nodes.len(), 20);
        let other = MerkleHash::new(SessionId([4; 32]));
        let pair = hash.pair(&[1; 32], &[2; 32]);
        let joined = [[1; 32], [2; 32]].concat();
        assert_ne!(pair, hash.leaf(&joined));
        assert_ne!(pair, other.pair(&[1; 32], &[2; 32]));
        assert_ne!(hash.leaf(&joined), other.leaf(&joined));
        assert_ne!(hash.root(1, Some(&pair)), other.root(1, Some(&pair)));
        assert_ne!(hash.root(1, Some(&pair)), hash.root(2, Some(&pair)));
    }

    /// Some leaves of `count`, by the bits of `pattern`.
    fn some(count: usize, pattern: u64) -> Vec<u32> {
        let chosen = |leaf: usize| pattern.rotate_right((leaf * leaf) as u32) & 1 == 1;
        (0..count).filter(|leaf| chosen(*leaf)).map(|leaf| leaf as u32).collect()
    }

    const PATTERNS: [u64; 6] = [0, u64::MAX, 1, 1 << 63 | 1 << 36, 0x0123_4567_89ab_cdef, 1 << 9];

    /// The nodes of a cover, from the tree itself.
    fn rest(tree: &MerkleTree, count: usize, chosen: &[u32]) -> Vec<Node> {
        let node = |part| match part {
            Part::Chosen => None,
            Part::Rest { first, height } => Some(tree.levels[height as usize][first >> height]),
        };
        cover(count, chosen).filter_map(node).collect()
    }

    #[test]
    fn a_cover_has_every_leaf_once() {
        for (count, pattern) in (0..70).flat_map(|count| PATTERNS.map(|p| (count, p))) {
            let chosen = some(count, pattern);
            let (mut at, mut seen) = (0, Vec::new());
            for part in cover(count, &chosen) {
                match part {
                    Part::Chosen => {
                        seen.push(at as u32);
                        at += 1;
                    }
                    Part::Rest { first, height } => {
                        assert!(first == at && first.is_multiple_of(1 << height));
                        at += 1 << height;
                    }
                }
            }
            assert_eq!((at, seen), (count, chosen));
        }
        // A path of the tree of 2^10 leaves.
        assert_eq!(cover(1024, &[77]).count(), 11);
        assert_eq!(cover(1024, &[]).count(), 1);
    }

    #[test]
    fn exchanged_leaves_give_both_roots() {
        for (count, pattern) in [1, 2, 3, 7, 8, 33, 70, 256, 300]
            .into_iter()
            .flat_map(|count| PATTERNS.map(|p| (count, p)))
        {
            let chosen = some(count, pattern);
            let mut contents = leaves(count);
            let before = MerkleTree::new(SESSION, &contents);
            chosen.iter().for_each(|leaf| contents[*leaf as usize][2] = 2);
            let after = MerkleTree::new(SESSION, &contents);
            let at = |tree: &MerkleTree| -> Vec<Node> {
                chosen.iter().map(|leaf| tree.levels[0][*leaf as usize]).collect()
            };
            let (old, new) = (at(&before), at(&after));
            let nodes = rest(&before, count, &chosen);
            let roots = |old: &[Node], nodes: &[Node]| {
                let mut nodes = nodes.iter().copied();
                exchange(&before.hash, count, &chosen, (old, &new), || nodes.next().ok_or(()))
            };
            assert_eq!(roots(&old, &nodes), Ok((before.root(), after.root())));
            for forged in 0..old.len().min(40) {
                let mut old = old.clone();
                old[forged][forged % 32] ^= 1;
                assert_ne!(roots(&old, &nodes).expect("nodes").0, before.root());
            }
            for forged in 0..nodes.len().min(40) {
                let mut nodes = nodes.clone();
                nodes[forged][forged % 32] ^= 1;
                assert_ne!(roots(&old, &nodes).expect("nodes").0, before.root());
            }
            assert!(nodes.is_empty() || roots(&old, &nodes[1..]).is_err());
        }
    }

    #[test]
    #[should_panic = "in order"]
    fn chosen_leaves_are_in_order() {
        cover(9, &[3, 3]).for_each(drop);
    }
}
