//! All-but-one GGM trees with a consistency check: for each digit of Delta, the builder knows all
//! leaves and the opener all but the one at its digit.
//!
//! Paper: Roy, "SoftSpokenOT", CRYPTO 2022 (ePrint 2022/192), figure 13 (puncturable PRF from OT)
//! and figure 14 (its consistency check).
//! Roles here / in the paper: builder / P_S, opener / P_R. The COT receiver builds, the COT sender
//! opens.
//! Adversary: malicious, static, either party. Model: PRG; the tag oracle a random oracle.
//! Parameters: k = digit bits; n_c = 128 / k trees of depth k from 128 base OTs; tags of 2 kappa =
//! 256 bits, so that a leaf seed is bound by its tag.
//! Leakage and abort: a builder that sends a wrong sum guesses a bit of a digit for each; a wrong
//! guess is caught. Nothing is learned beyond the AND of the guesses.
//! Checks: `ot.pprf` - sums that do not come from one tree per digit - in [`open`], before any leaf
//! is used.
//! Private values: the digits - never in a message of this protocol (they chose the base keys); the
//! builder's sums - masked by the base keys, of which the opener knows one of each pair.
//! Cost: one message of n_c (32 k + 32) + 32 bytes.
//! Differences from the paper: one digest over the tags of all trees instead of one for each; the
//! leaf expands by the random oracle instead of a PRG and a collision-resistant PRG; the first
//! level is masked like the others. Constant time in the digits: every node is visited and picked
//! by masks. Status: not audited.

use cenote_net::Fault;
use cenote_prim::{Block, Prg, RandomOracle, Secret, SessionId};

use crate::params::Params;

/// The check of this protocol: the trees that the opener rebuilt are the builder's.
pub const TREE_CHECK: &str = "ot.pprf";

/// Blocks of a leaf's tag.
const TAG: usize = 2;

/// Bytes of the builder's message.
pub const fn message_len(params: Params) -> usize {
    params.trees() * tree_len(params) + DIGEST
}

const DIGEST: usize = 32;

const fn tree_len(params: Params) -> usize {
    16 * (2 * params.digit_bits() + TAG)
}

/// The base OT that opens level `level` of tree `tree`: the root decides the top bit of a digit.
fn base_index(params: Params, tree: usize, level: usize) -> usize {
    params.digit_bits() * (tree + 1) - 1 - level
}

/// Builds the trees; returns the seeds of all leaves, tree after tree, and the message.
///
/// `keys` are the pairs of the base OTs, whose receiver chose *not* bit `i` of Delta in OT `i`.
pub fn build(
    session: &SessionId,
    params: Params,
    keys: &[[Block; 2]],
    prg: &mut Prg,
) -> (Secret<Vec<Block>>, Vec<u8>) {
    let mut seeds = Secret::with_capacity(params.trees() * params.leaves());
    let mut message = Vec::with_capacity(message_len(params));
    let mut tags = Secret::with_capacity(TAG * params.leaves() * params.trees());
    for tree in 0..params.trees() {
        let mut nodes = Secret::new(vec![prg.block()]);
        for level in 0..params.digit_bits() {
            nodes = Secret::new(children(&nodes));
            let key = keys[base_index(params, tree, level)];
            let sums = side_sums(&nodes);
            message
                .extend([sums[0] ^ key[0], sums[1] ^ key[1]].map(Block::to_bytes).as_flattened());
        }
        let mut tag_sum = [Block::ZERO; TAG];
        for (leaf, node) in nodes.iter().enumerate() {
            let (seed, tag) = expand_leaf(session, tree, leaf, *node);
            seeds.push(seed);
            tags.extend(tag);
            tag_sum.iter_mut().zip(tag).for_each(|(sum, tag)| *sum ^= tag);
        }
        message.extend_from_slice(Block::as_bytes(&tag_sum));
    }
    message.extend_from_slice(&tag_digest(session, &tags));
    (seeds, message)
}

/// Opens all leaves but those at the digits of `delta`, in whose places stand seeds without
/// meaning.
///
/// `keys` are the chosen keys of the base OTs: OT `i` was asked with *not* bit `i` of Delta.
///
/// # Errors
/// `Misbehaved` when the message has the wrong length or the trees are inconsistent.
pub fn open(
    session: &SessionId,
    params: Params,
    delta: Block,
    keys: &[Block],
    message: &[u8],
) -> Result<Secret<Vec<Block>>, Fault> {
    if message.len() != message_len(params) {
        return Err(Fault::Misbehaved(TREE_CHECK));
    }
    let (body, digest) = message.split_at(message.len() - DIGEST);
    let mut seeds = Secret::with_capacity(params.trees() * params.leaves());
    let mut tags = Secret::with_capacity(TAG * params.leaves() * params.trees());
    for (tree, part) in body.chunks(tree_len(params)).enumerate() {
        let digit = digit(params, delta, tree);
        let part: Vec<Block> = part.as_chunks().0.iter().map(|b| Block::from_bytes(*b)).collect();
        let (sums, tag_sum) = part.split_at(2 * params.digit_bits());
        let mut nodes = Secret::new(vec![Block::ZERO]);
        for (level, pair) in sums.chunks(2).enumerate() {
            let key = keys[base_index(params, tree, level)];
            let path = digit >> (params.digit_bits() - 1 - level);
            nodes = Secret::new(open_level(&nodes, path, key, [pair[0], pair[1]]));
        }
        let mut missing = [tag_sum[0], tag_sum[1]];
        let first = tags.len();
        for (leaf, node) in nodes.iter().enumerate() {
            let (seed, tag) = expand_leaf(session, tree, leaf, *node);
            let known = tag.map(|tag| tag.times(!same(leaf, digit)));
            missing.iter_mut().zip(known).for_each(|(sum, tag)| *sum ^= tag);
            seeds.push(seed);
            tags.extend(known);
        }
        for (leaf, tag) in tags[first..].chunks_mut(TAG).enumerate() {
            let hole = same(leaf, digit);
            tag.iter_mut().zip(missing).for_each(|(tag, missing)| *tag ^= missing.times(hole));
        }
    }
    let consistent = subtle::ConstantTimeEq::ct_eq(&tag_digest(session, &tags)[..], digest);
    if !bool::from(consistent) {
        return Err(Fault::Misbehaved(TREE_CHECK));
    }
    Ok(seeds)
}

/// One level down on the opener's side: `nodes` has zero where the path runs; so has the answer.
/// `path`: the path's position on the new level; its last bit is the side that stays closed.
fn open_level(nodes: &[Block], path: usize, key: Block, masked: [Block; 2]) -> Vec<Block> {
    let mut next = children(nodes);
    for (parent, pair) in next.chunks_mut(2).enumerate() {
        let known = !same(parent, path >> 1);
        pair.iter_mut().for_each(|child| *child = child.times(known));
    }
    // The base OT opens the sum of the side that the path does not take.
    let side = path & 1 == 0;
    let sums = side_sums(&next);
    let pick = |pair: [Block; 2]| pair[0] ^ (pair[0] ^ pair[1]).times(side);
    let sibling = pick(masked) ^ pick(sums) ^ key;
    for (place, node) in next.iter_mut().enumerate() {
        *node ^= sibling.times(same(place, path ^ 1));
    }
    next
}

/// Digit `tree` of `delta`.
pub(crate) fn digit(params: Params, delta: Block, tree: usize) -> usize {
    let shifted = delta.to_u128() >> (params.digit_bits() * tree);
    shifted as usize & (params.leaves() - 1)
}

/// Equality of small numbers without a branch.
fn same(a: usize, b: usize) -> bool {
    subtle::ConstantTimeEq::ct_eq(&(a as u64), &(b as u64)).into()
}

fn children(nodes: &[Block]) -> Vec<Block> {
    let mut next = vec![Block::ZERO; 2 * nodes.len()];
    Prg::first_pairs(nodes, &mut next);
    next
}

/// Sums of the left and of the right children.
fn side_sums(nodes: &[Block]) -> [Block; 2] {
    nodes.chunks(2).fold([Block::ZERO; 2], |sum, pair| [sum[0] ^ pair[0], sum[1] ^ pair[1]])
}

fn expand_leaf(
    session: &SessionId,
    tree: usize,
    leaf: usize,
    node: Block,
) -> (Block, [Block; TAG]) {
    let oracle = RandomOracle::new("cenote 2026 ot pprf leaf v1", session);
    let oracle = oracle.number(tree as u64).number(leaf as u64).blocks(&[node]);
    let mut out = [Block::ZERO; 1 + TAG];
    oracle.fill(Block::as_bytes_mut(&mut out));
    (out[0], [out[1], out[2]])
}

fn tag_digest(session: &SessionId, tags: &[Block]) -> [u8; DIGEST] {
    RandomOracle::new("cenote 2026 ot pprf tags v1", session).blocks(tags).digest()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: SessionId = SessionId([5; 32]);

    /// Base keys by an honest dealer, and Delta.
    fn dealt(seed: u128) -> (Vec<[Block; 2]>, Vec<Block>, Block) {
        let mut prg = Prg::new(Block::new(seed));
        let delta = prg.block();
        let mut pairs = vec![[Block::ZERO; 2]; 128];
        pairs.iter_mut().for_each(|pair| prg.fill(pair));
        let chosen =
            |(i, pair): (usize, &[Block; 2])| pair[1 - (delta.to_u128() >> i & 1) as usize];
        let chosen = pairs.iter().enumerate().map(chosen).collect();
        (pairs, chosen, delta)
    }

    #[test]
    fn all_leaves_but_one_are_opened() {
        for k in [1, 2, 4, 8] {
            let params = Params::new(k, 128).unwrap();
            let (pairs, chosen, delta) = dealt(k as u128);
            let (built, message) = build(&SESSION, params, &pairs, &mut Prg::new(Block::ONE));
            assert_eq!(message.len(), message_len(params));
            let opened = open(&SESSION, params, delta, &chosen, &message).unwrap();
            for leaf in 0..params.trees() * params.leaves() {
                let digit = digit(params, delta, leaf / params.leaves());
                let hole = leaf % params.leaves() == digit;
                assert_eq!(built[leaf] != opened[leaf], hole, "k {k} leaf {leaf}");
            }
            let mut distinct: Vec<u128> = built.iter().map(|b| b.to_u128()).collect();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), built.len());
        }
    }

    #[test]
    fn tags_digest_lengths_and_sessions_are_checked() {
        let refused = Some(Fault::Misbehaved(TREE_CHECK));
        for k in [1, 2, 4, 8] {
            let params = Params::new(k, 128).unwrap();
            let (pairs, chosen, delta) = dealt(3);
            let (_, message) = build(&SESSION, params, &pairs, &mut Prg::new(Block::ONE));
            let tags = tree_len(params) - 16 * TAG;
            let open = |m: &[u8]| super::open(&SESSION, params, delta, &chosen, m).err();
            for at in [
                tags,
                tags + 31,
                message.len() - DIGEST - 1,
                message.len() - DIGEST,
                message.len() - 1,
            ] {
                let mut bad = message.clone();
                bad[at] ^= 4;
                assert_eq!(open(&bad), refused);
            }
            for len in
                [0, 1, message.len() - 1, message.len() + 1, message.len() - tree_len(params)]
            {
                let mut bad = message.clone();
                bad.resize(len, 0);
                assert_eq!(open(&bad), refused);
            }
            assert_eq!(open(&message), None);
            let other = super::open(&SessionId([6; 32]), params, delta, &chosen, &message);
            assert_eq!(other.err(), refused);
        }
    }

    #[test]
    fn a_wrong_sum_is_a_guess_of_one_bit() {
        let params = Params::new(2, 128).unwrap();
        let mut passed = 0;
        for seed in 0..400 {
            let (pairs, chosen, delta) = dealt(seed);
            let (_, mut message) = build(&SESSION, params, &pairs, &mut Prg::new(Block::ONE));
            // Tree 0, level 1 (bit 0 of the digit), left sum: asked for when the bit is 1.
            message[32] ^= 1;
            let result = open(&SESSION, params, delta, &chosen, &message);
            assert_eq!(result.is_ok(), !delta.lsb());
            passed += u32::from(result.is_ok());
        }
        // 200 +- 5 sigma (sigma 10).
        assert!((150..=250).contains(&passed), "{passed}");
    }

    #[test]
    fn messages_are_balanced() {
        let params = Params::new(4, 128).unwrap();
        let mut ones = vec![0u32; 8 * message_len(params)];
        for seed in 0..400 {
            let (pairs, ..) = dealt(seed);
            let (_, message) = build(&SESSION, params, &pairs, &mut Prg::new(Block::new(seed + 7)));
            for (i, n) in ones.iter_mut().enumerate() {
                *n += u32::from(message[i / 8] >> (i % 8) & 1);
            }
        }
        assert!(ones.iter().all(|n| (140..=260).contains(n)));
    }
}
