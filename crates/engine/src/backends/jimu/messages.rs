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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutation_messages_are_read_as_they_were_written() {
        let perm = |first: u128| Perm([Block::new(first), Block::new(first + 1)]);
        for (blocks, zero) in [(1, Block::ZERO), (2, Block::new(4))] {
            let bytes = encode_perms(&[perm(1), perm(3)], blocks);
            assert_eq!(bytes.len(), 2 * 16 * blocks);
            // And what is left over.
            let read = decode_perms(&[&bytes[..], &[9; 15]].concat(), blocks);
            assert_eq!(read.len(), 2);
            assert_eq!((read[1].perm.0[0], read[1].perm.0[1]), (Block::new(3), zero));
            assert_eq!(read[0].perm.0[0], Block::ONE);
            assert!(read.iter().all(|message| message.label.key() == Block::ZERO));
        }
    }

    #[test]
    fn reports_of_other_values_keys_or_reveals_have_other_hashes() {
        assert_eq!([result_len(0), result_len(8), result_len(9)], [16, 17, 18]);
        let hash = |session: u8, number, masked: u8, key: u128| {
            ResultHash { session: SessionId([session; 32]), number }
                .of(&[masked], &[Block::new(key)])
        };
        let own = hash(1, 0, 5, 7);
        assert_ne!(own, Block::ZERO);
        for other in [hash(2, 0, 5, 7), hash(1, 1, 5, 7), hash(1, 0, 4, 7), hash(1, 0, 5, 6)] {
            assert_ne!(other, own);
        }
    }
}
