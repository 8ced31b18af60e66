use crate::Block;

/// The identifier that binds a value to one run of one protocol: 32 bytes both parties agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionId(pub [u8; 32]);

/// A random oracle: BLAKE3 in key-derivation mode.
///
/// Every instance carries a domain string, one of the list in `docs/protocols/labels.md`, and the session id,
/// so that no two uses can ever meet on one input. Variable-length inputs are prefixed by their length.
#[derive(Clone)]
pub struct RandomOracle(blake3::Hasher);

impl RandomOracle {
    /// The oracle for `domain` in this session.
    pub fn new(domain: &'static str, session: &SessionId) -> RandomOracle {
        let mut hasher = blake3::Hasher::new_derive_key(domain);
        hasher.update(&session.0);
        RandomOracle(hasher)
    }

    /// Absorbs a byte string, prefixed by its length.
    pub fn bytes(mut self, bytes: &[u8]) -> RandomOracle {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Absorbs an integer: a counter, an index.
    pub fn number(mut self, number: u64) -> RandomOracle {
        self.0.update(&number.to_le_bytes());
        self
    }

    /// Absorbs blocks, prefixed by their number.
    pub fn blocks(self, blocks: &[Block]) -> RandomOracle {
        self.bytes(Block::as_bytes(blocks))
    }

    /// The first 16 bytes of the answer.
    pub fn block(&self) -> Block {
        let mut bytes = [0; 16];
        self.fill(&mut bytes);
        Block::from_bytes(bytes)
    }

    /// The first 32 bytes of the answer.
    pub fn digest(&self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }

    /// Fills `out` with the answer, of any length.
    pub fn fill(&self, out: &mut [u8]) {
        self.0.finalize_xof().fill(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domain_session_and_cuts_separate() {
        let (s, t) = (SessionId([1; 32]), SessionId([2; 32]));
        let answers = [
            RandomOracle::new("cenote test a", &s).digest(),
            RandomOracle::new("cenote test b", &s).digest(),
            RandomOracle::new("cenote test a", &t).digest(),
            RandomOracle::new("cenote test a", &s).bytes(b"ab").bytes(b"c").digest(),
            RandomOracle::new("cenote test a", &s).bytes(b"a").bytes(b"bc").digest(),
            RandomOracle::new("cenote test a", &s).number(1).digest(),
        ];
        for (i, a) in answers.iter().enumerate() {
            assert!(answers[i + 1..].iter().all(|b| a != b));
        }
    }
}
