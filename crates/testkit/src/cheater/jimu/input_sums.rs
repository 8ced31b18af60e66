//! The sums over the evaluator's input wires, by the definition.

use std::sync::OnceLock;

use cenote_prim::field::Field;
use cenote_prim::{Block, RandomOracle, SessionId};

use super::coins::Coins;

/// The public coefficients of a batch.
pub(super) struct Sums {
    session: SessionId,
    coins: Block,
    count: usize,
}

/// A product in GF(2^8), by a table: nothing here is secret from anybody.
fn product(a: u8, b: u8) -> u8 {
    static TABLE: OnceLock<Vec<u8>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let all = 0..=u16::MAX;
        all.map(|pair| Field::Gf256.mul((pair >> 8) as u8, pair as u8)).collect()
    });
    table[usize::from(a) << 8 | usize::from(b)]
}

/// Adds `factor` times `term` to `sum`.
pub(super) fn add_multiple(sum: &mut [u8], factor: u8, term: &[u8]) {
    sum.iter_mut().zip(term).for_each(|(sum, term)| *sum ^= product(factor, *term));
}

impl Sums {
    pub(super) fn new(session: SessionId, count: usize, coin: Block) -> Sums {
        let oracle = RandomOracle::new("cenote 2026 engine jimu input sums v1", &session);
        Sums { session, coins: oracle.blocks(&[coin]).block(), count }
    }

    /// Each sum over vectors of `len` bytes, which stand one after the other.
    pub(super) fn of(&self, terms: &[u8], len: usize) -> Vec<Vec<u8>> {
        let mut coins = Coins::new(self.coins);
        let mut sums = vec![vec![0; len]; self.count];
        for term in terms.chunks_exact(len) {
            let word = coins.word().to_le_bytes();
            for (sum, coefficient) in sums.iter_mut().zip(word) {
                add_multiple(sum, coefficient, term);
            }
        }
        sums
    }

    /// The hash over the keys of all sums.
    pub(super) fn digest(&self, keys: &[Block]) -> [u8; 32] {
        let oracle = RandomOracle::new("cenote 2026 engine jimu input keys v1", &self.session);
        oracle.blocks(&[self.coins]).blocks(keys).digest()
    }
}
