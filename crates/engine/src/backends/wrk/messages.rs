//! The two bulk messages of a chunk.

use cenote_net::Fault;
use cenote_prim::{Block, RandomOracle, SessionId, bits};

/// Garbler to evaluator: two blocks a gate, then the packed colour bits of the output labels,
/// padded to whole blocks.
pub(super) struct TableMessage {
    blocks: Vec<Block>,
    gates: usize,
}

impl TableMessage {
    pub(super) fn with_gates(gates: usize) -> TableMessage {
        let colours = bits::packed_len(gates).div_ceil(16);
        TableMessage { blocks: vec![Block::ZERO; 2 * gates + colours], gates }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &Block::as_bytes(&self.blocks)[..self.len()]
    }

    pub(super) fn as_bytes_mut(&mut self) -> &mut [u8] {
        let len = self.len();
        &mut Block::as_bytes_mut(&mut self.blocks)[..len]
    }

    /// Refuses stray bits after the last colour bit.
    pub(super) fn validate(&self) -> Result<(), Fault> {
        match bits::is_canonical(self.colours(), self.gates) {
            true => Ok(()),
            false => Err(Fault::Misbehaved("wrk.tables.format")),
        }
    }

    pub(super) fn gates(&self, first: usize, n: usize) -> &[Block] {
        &self.blocks[2 * first..2 * (first + n)]
    }

    pub(super) fn gates_mut(&mut self, first: usize, n: usize) -> &mut [Block] {
        &mut self.blocks[2 * first..2 * (first + n)]
    }

    pub(super) fn colours(&self) -> &[u8] {
        &self.as_bytes()[32 * self.gates..]
    }

    pub(super) fn set_colours(&mut self, colours: impl Iterator<Item = bool>) {
        let packed = bits::pack(colours);
        let from = 32 * self.gates;
        self.as_bytes_mut()[from..].copy_from_slice(&packed);
    }

    fn len(&self) -> usize {
        32 * self.gates + bits::packed_len(self.gates)
    }
}

/// Evaluator to garbler: the masked values of all AND outputs of a chunk, the hash of its labels, and
/// the seed of the garbler's answer.
pub(super) struct MaskedReport<'a> {
    pub(super) masked: &'a [u8],
    pub(super) label_hash: Block,
    pub(super) seed: Block,
}

impl<'a> MaskedReport<'a> {
    pub(super) const fn len(gates: usize) -> usize {
        bits::packed_len(gates) + 32
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        [self.masked, &self.label_hash.to_bytes(), &self.seed.to_bytes()].concat()
    }

    pub(super) fn decode(message: &'a [u8], gates: usize) -> Result<MaskedReport<'a>, Fault> {
        const BAD: Fault = Fault::Misbehaved("wrk.masked.format");
        let (masked, rest) = message.split_at_checked(bits::packed_len(gates)).ok_or(BAD)?;
        let (hash, seed) = rest.split_first_chunk::<16>().ok_or(BAD)?;
        let seed: [u8; 16] = seed.try_into().map_err(|_| BAD)?;
        if !bits::is_canonical(masked, gates) {
            return Err(BAD);
        }
        let (label_hash, seed) = (Block::from_bytes(*hash), Block::from_bytes(seed));
        Ok(MaskedReport { masked, label_hash, seed })
    }

    /// Seed of the coefficients of the label hash: fixed by the reported values, so that a false
    /// report needs a label the evaluator does not have.
    pub(super) fn label_seed(&self, session: &SessionId, chunk: u64) -> Block {
        let oracle = RandomOracle::new("cenote 2026 engine wrk labels v1", session);
        oracle.number(chunk).bytes(self.masked).block()
    }
}
