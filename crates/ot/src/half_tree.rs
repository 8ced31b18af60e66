//! Half trees: GGM trees of which all levels sum to Delta, and those trees without one leaf.
//!
//! Paper: Guo, Yang, Wang, Zhang, Xie, Liu, Zhao, "Half-Tree: Halving the Cost of Tree Expansion in COT and
//! DPF", EUROCRYPT 2023 (ePrint 2022/1431), section 4 (correlated GGM).
//! A node x has the children x xor H(x), with bit 0 of the path, and H(x), with bit 1; the top has the
//! children x and x xor Delta. So each level sums to Delta, one call of AES makes both children, and the
//! missing leaf is the sum of the others. H(x) = pi(sigma(x)) xor sigma(x), with a key for each tree.
//! Bit i of a leaf's number is bit i of its path from the top, so that the children of a level lie in two
//! halves of an array.
//! Constant time in Delta and in the place of the missing leaf: all nodes are visited, places are picked by
//! masks.

use cenote_prim::aes::Aes128;
use cenote_prim::places::add_at;
use cenote_prim::{Block, Secret};

/// All bits of a block, and all but bit 0.
const ALL: Block = Block::new(u128::MAX);
const NO_LSB: Block = Block::new(!1);

/// A forest that can be written down leaf by leaf, again and again.
pub(crate) trait Forest: Send {
    /// Writes the leaves of a tree; `out` has room for exactly them.
    fn leaves(&self, tree: usize, out: &mut [Block]);
}

/// The key of the hash of tree `tree`, in order over the whole session: no two trees have the same.
#[derive(Clone, Copy)]
pub(crate) struct TreeKeys {
    start: Block,
    first: u64,
}

impl TreeKeys {
    pub(crate) const fn new(start: Block, first: u64) -> TreeKeys {
        TreeKeys { start, first }
    }

    fn of(self, tree: usize) -> Aes128 {
        Aes128::new(self.start ^ Block::new(u128::from(self.first + tree as u64)))
    }
}

/// Whole trees: bits 0 of all leaves are 0.
pub(crate) struct Whole {
    keys: TreeKeys,
    delta: Secret<Block>,
    roots: Secret<Vec<Block>>,
}

impl Whole {
    pub(crate) fn new(keys: TreeKeys, delta: Block, roots: Secret<Vec<Block>>) -> Whole {
        Whole { keys, delta: Secret::new(delta), roots }
    }

    /// Writes the nodes of the last level to `out` and the sum of those with bit 0 on each level to `sums`.
    pub(crate) fn sums(&self, tree: usize, out: &mut [Block], sums: &mut [Block]) {
        let aes = self.keys.of(tree);
        (out[0], out[1]) = (self.roots[tree], self.roots[tree] ^ *self.delta);
        sums[0] = out[0];
        for (level, place) in sums.iter_mut().enumerate().skip(1) {
            // Both sides of a level sum to Delta.
            *place = *self.delta ^ aes.half_tree(&mut out[..2 << level]);
        }
    }
}

impl Forest for Whole {
    fn leaves(&self, tree: usize, out: &mut [Block]) {
        let aes = self.keys.of(tree);
        (out[0], out[1]) = (self.roots[tree], self.roots[tree] ^ *self.delta);
        let mut width = 4;
        while width <= out.len() {
            aes.half_tree(&mut out[..width]);
            width *= 2;
        }
        add_at(out, 0, Block::ZERO, NO_LSB);
    }
}

/// Trees without the leaf at `places`, which is that of the whole tree xor Delta. Bit 0 is 1 there and 0
/// in all other leaves.
pub(crate) struct Punctured {
    keys: TreeKeys,
    depth: usize,
    places: Secret<Vec<u32>>,
    /// For each tree what is added to the sibling of the path on each level, and to the missing leaf: the
    /// nodes on the path have no meaning.
    patches: Secret<Vec<Block>>,
}

impl Punctured {
    pub(crate) fn new(keys: TreeKeys, depth: usize, places: Secret<Vec<u32>>) -> Punctured {
        let patches = Secret::new(vec![Block::ZERO; places.len() * (depth + 1)]);
        Punctured { keys, depth, places, patches }
    }

    /// Opens tree `tree`: `sums` are those of each level on the side that the path leaves. Writes its
    /// leaves.
    pub(crate) fn open(&mut self, tree: usize, sums: &[Block], out: &mut [Block]) {
        let (aes, place) = (self.keys.of(tree), self.places[tree]);
        let patches = &mut self.patches[(self.depth + 1) * tree..][..self.depth + 1];
        out[..2].fill(Block::ZERO);
        // The children of a level sum to what it sums to itself.
        let mut total = Block::ZERO;
        for (level, known) in sums.iter().enumerate() {
            let nodes = &mut out[..2 << level];
            let ones = if level > 0 { aes.half_tree(nodes) } else { Block::ZERO };
            // The sibling is on the side of 1 when the path takes 0.
            let side = ones ^ total.times(place >> level & 1 == 1);
            patches[level] = side ^ *known;
            total ^= patches[level];
            add_at(nodes, sibling(place, level), patches[level], ALL);
        }
        patches[self.depth] = total.with_lsb(true);
        add_at(out, place, patches[self.depth], NO_LSB);
    }

    /// The places of the missing leaves.
    pub(crate) fn places(&self) -> &[u32] {
        &self.places
    }
}

impl Forest for Punctured {
    fn leaves(&self, tree: usize, out: &mut [Block]) {
        let (aes, place) = (self.keys.of(tree), self.places[tree]);
        let patches = &self.patches[(self.depth + 1) * tree..][..self.depth + 1];
        out[..2].fill(Block::ZERO);
        for (level, patch) in patches[..self.depth].iter().enumerate() {
            let nodes = &mut out[..2 << level];
            if level > 0 {
                aes.half_tree(nodes);
            }
            add_at(nodes, sibling(place, level), *patch, ALL);
        }
        add_at(out, place, patches[self.depth], NO_LSB);
    }
}

/// The node beside the path to `place`, on level `level`.
const fn sibling(place: u32, level: usize) -> u32 {
    (place ^ 1 << level) & ((2 << level) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cenote_prim::Prg;

    /// Trees of every depth and every place: all leaves but one are equal, and that one differs by Delta.
    #[test]
    fn a_punctured_tree_is_the_whole_one_but_for_delta_at_its_place() {
        let mut prg = Prg::new(Block::new(5));
        let delta = prg.block().with_lsb(true);
        for depth in 1..7 {
            let n = 1 << depth;
            let mut roots = vec![Block::ZERO; n];
            prg.fill(&mut roots);
            let keys = TreeKeys::new(prg.block(), 40);
            let whole = Whole::new(keys, delta, Secret::new(roots));
            let places = Secret::new((0..n as u32).collect());
            let mut punctured = Punctured::new(keys, depth, places);
            for tree in 0..n {
                let (mut all, mut zeros) = (vec![Block::ZERO; n], vec![Block::ZERO; depth]);
                whole.sums(tree, &mut all, &mut zeros);
                assert_eq!(all.iter().fold(Block::ZERO, |sum, node| sum ^ *node), delta);
                let side = |(i, zeros): (usize, &Block)| *zeros ^ delta.times(tree >> i & 1 == 0);
                let known: Vec<Block> = zeros.iter().enumerate().map(side).collect();
                let (mut opened, mut again) = (vec![Block::ZERO; n], vec![Block::ONE; n]);
                punctured.open(tree, &known, &mut opened);
                punctured.leaves(tree, &mut again);
                assert_eq!(opened, again);
                whole.leaves(tree, &mut all);
                for (i, (v, w)) in all.iter().zip(&opened).enumerate() {
                    assert_eq!(*v ^ *w, delta.times(i == tree), "depth {depth}");
                    assert_eq!((v.lsb(), w.lsb()), (false, i == tree));
                }
            }
        }
    }

    #[test]
    fn trees_have_hashes_of_their_own() {
        let keys = TreeKeys::new(Block::new(3), 7);
        let whole = Whole::new(keys, Block::ONE, Secret::new(vec![Block::new(9); 2]));
        let mut leaves = [[Block::ZERO; 16]; 2];
        (0..2).for_each(|tree| whole.leaves(tree, &mut leaves[tree]));
        assert!(leaves[0].iter().zip(&leaves[1]).all(|(a, b)| a != b));
    }
}
