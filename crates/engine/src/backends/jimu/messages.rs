//! Messages of reveals.

use cenote_prim::gf128::LinearHash;
use cenote_prim::{Block, RandomOracle, SessionId, bits};

use crate::backends::jimu::ihash::{Message, Perm};

/// Permutation messages, 16 or 32 bytes each.
#[must_use]
pub fn encode_perms(perms: &[Perm], perm_blocks: usize) -> Vec<u8> {
    let blocks: Vec<Block> =
        perms.iter().flat_map(|perm| &perm.0[..perm_blocks]).copied().collect();
    Block::as_bytes(&blocks).to_vec()
}

/// The permutation messages in `bytes`, each beside a zero label; what is left over is ignored.
#[must_use]
pub fn decode_perms(bytes: &[u8], perm_blocks: usize) -> Vec<Message> {
    let mut messages = vec![Message::ZERO; bytes.len() / (16 * perm_blocks)];
    for (message, own) in messages.iter_mut().zip(bytes.chunks_exact(16 * perm_blocks)) {
        for (block, bytes) in message.perm.0.iter_mut().zip(own.as_chunks::<16>().0) {
            *block = Block::from_bytes(*bytes);
        }
    }
    messages
}

/// Bytes of the evaluator's report on `n` outputs: masked values and hash.
pub(super) fn result_len(n: usize) -> usize {
    bits::packed_len(n) + 16
}

/// The hash of the labels of outputs, for one reveal.
///
/// The coefficients depend on the masked values: to report another one, the evaluator would have to
/// know k(Delta) or hit a sum of coefficients that is zero, 2^-128 for each query of the oracle.
pub(super) struct ResultHash {
    pub(super) session: SessionId,
    /// Reports of the session before this one.
    pub(super) number: u64,
}

impl ResultHash {
    /// The hash over the keys of the active labels.
    pub(super) fn of(&self, masked: &[u8], keys: &[Block]) -> Block {
        let oracle = RandomOracle::new("cenote 2026 engine jimu output labels v1", &self.session);
        let mut hash = LinearHash::new(oracle.number(self.number).bytes(masked).block());
        hash.absorb(keys);
        hash.finish()
    }
}
