//! Merkle tree over BLAKE3: one root commits to many leaves, each opened by a logarithmic path.

use subtle::ConstantTimeEq;

use crate::{RandomOracle, SessionId};

/// Hash of a node.
pub type Node = [u8; 32];

/// All levels of the tree, leaves first. An odd last node moves up unchanged.
pub struct MerkleTree {
    session: SessionId,
    levels: Vec<Vec<Node>>,
}

impl MerkleTree {
    /// Builds the tree over `leaves`. The root of no leaves is the hash of an empty level.
    pub fn new<T: AsRef<[u8]>>(session: SessionId, leaves: &[T]) -> MerkleTree {
        let hashed = leaves.iter().map(|leaf| hash_leaf(&session, leaf.as_ref())).collect();
        let mut levels: Vec<Vec<Node>> = vec![hashed];
        while let Some(level) = levels.last().filter(|level| level.len() > 1) {
            let parents = level.chunks(2).map(|pair| hash_pair(&session, pair)).collect();
            levels.push(parents);
        }
        MerkleTree { session, levels }
    }

    /// The root, bound to the number of leaves.
    pub fn root(&self) -> Node {
        let top = self.levels.last().and_then(|level| level.first());
        hash_root(&self.session, self.levels[0].len(), top)
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
    let (mut node, mut at, mut width) = (hash_leaf(session, leaf), index, count);
    let mut siblings = path.iter();
    while width > 1 {
        if at ^ 1 < width {
            let Some(sibling) = siblings.next() else { return false };
            let pair = if at & 1 == 0 { [node, *sibling] } else { [*sibling, node] };
            node = hash_pair(session, &pair);
        }
        at >>= 1;
        width = width.div_ceil(2);
    }
    let same: bool = hash_root(session, count, Some(&node)).ct_eq(root).into();
    siblings.next().is_none() && same
}

fn hash_leaf(session: &SessionId, leaf: &[u8]) -> Node {
    RandomOracle::new("cenote 2026 prim merkle leaf v1", session).bytes(leaf).digest()
}

fn hash_pair(session: &SessionId, pair: &[Node]) -> Node {
    match pair {
        [left, right] => RandomOracle::new("cenote 2026 prim merkle node v1", session)
            .bytes(left)
            .bytes(right)
            .digest(),
        single => single[0],
    }
}

fn hash_root(session: &SessionId, count: usize, top: Option<&Node>) -> Node {
    let oracle = RandomOracle::new("cenote 2026 prim merkle root v1", session);
    let oracle = oracle.number(count as u64);
    top.map_or(oracle.digest(), |top| oracle.clone().bytes(top).digest())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_leaf_verifies_and_nothing_else_does() {
        let session = SessionId([3; 32]);
        for count in [0usize, 1, 2, 3, 5, 8, 13] {
            let leaves: Vec<[u8; 2]> = (0..count).map(|i| [i as u8, 1]).collect();
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
}
