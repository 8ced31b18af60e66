//! The evaluator's input wires: labels by correlated OT, checked without a look at any choice bit.
//!
//! **Construction.** Ours. For hashed labels L_i the keys travel by
//! correlated OT with the correlation k(Delta): the evaluator obtains k(L_i) + r_i k(Delta) for random
//! r_i and completes the label with the symbols it watches. An input y is later announced as y + r.
//! **Messages.** G -> E, in strips: corrections, D_i = K_i + k(L_i). Coin: chi_{t,i} in GF(2^8). E -> G: x_t =
//! sum chi_{t,i} r_i, hash of w_t = sum chi_{t,i} key_i. G -> E: V_t = sum chi_{t,i} L_i + x_t Delta.
//! **Adversary.** Malicious. The correlation of a COT is one for all i, so a garbler's error is a
//! wrong correlation, which shows in every sum with x_t != 0, or an error of D_i that does not depend
//! on r_i: whether it is caught tells nothing about r. With two ciphertexts a wire instead, one of
//! which is wrong, not being caught would tell r_i, and y + r then y.
//! **Checks.**
//! - `jimu.input.sum` (garbler): the hash is that of k(V_t). Catches an evaluator with a wrong x_t,
//!   to whom V_t would show a multiple of Delta. Nothing is opened before it.
//! - `jimu.input.proof` (evaluator): V_t agrees with the sum of the tags and k(V_t) = w_t. Catches a
//!   wrong correlation, a wrong D_i. No wire of the batch is used before it.
//!
//! **Private values.** r: the 8 t bits of all x_t are masked by 8 t + rho + 40 sacrificed choice bits. L_i, Delta: V_t is what the
//! evaluator can compute from w_t and its watched symbols.
//! **Costs.** 16 bytes a wire beside corrections and COT; combinations x (1 + 48) + 32 bytes a batch of up to 2^16 wires, in strips.

use cenote_prim::field::Field;
use cenote_prim::{Block, RandomOracle, SessionId};

use super::params::JimuParams;
use crate::backends::jimu::ihash::Label;
use crate::parts::toss::Coins;

/// Fewest and most wires of a batch.
const FEWEST: usize = 2048;
const MOST: usize = 1 << 16;
/// COTs come in rows of this many.
const ROW: usize = 128;

/// Wires of the next batch when `missing` are needed.
pub(super) fn batch(params: &JimuParams, missing: usize) -> usize {
    (missing + params.input_sacrificed()).clamp(FEWEST, MOST).next_multiple_of(ROW)
}

/// Wires of which none is kept, by which a set-up proves that the key of Delta is the correlation of correlated OT.
pub(super) fn none(params: &JimuParams) -> usize {
    params.input_sacrificed().next_multiple_of(ROW)
}

/// Wires that a batch gives at most.
pub(super) fn most(params: &JimuParams) -> usize {
    MOST - params.input_sacrificed()
}

/// The sums of a batch, by their public coefficients.
pub(super) struct Sums {
    session: SessionId,
    count: usize,
    coins: Block,
}

/// A vector over GF(2^8) in bytes.
pub(super) trait Symbols: Copy + Default {
    /// Adds those bits of `other` that are in `mask`, repeated.
    fn add_masked(&mut self, other: &Self, mask: u64);
    fn scale(self, factor: u8) -> Self;
}

impl Symbols for u8 {
    #[inline]
    fn add_masked(&mut self, other: &u8, mask: u64) {
        *self ^= other & mask as u8;
    }
    fn scale(self, factor: u8) -> u8 {
        Field::Gf256.mul(self, factor)
    }
}

impl Symbols for Block {
    #[inline]
    fn add_masked(&mut self, other: &Block, mask: u64) {
        *self ^= Block::new(other.to_u128() & (u128::from(mask) << 64 | u128::from(mask)));
    }
    fn scale(self, factor: u8) -> Block {
        Block::from_bytes(self.to_bytes().map(|symbol| symbol.scale(factor)))
    }
}

impl Symbols for Label {
    #[inline]
    fn add_masked(&mut self, other: &Label, mask: u64) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, block)| sum.add_masked(block, mask));
    }
    fn scale(self, factor: u8) -> Label {
        Label(self.0.map(|block| block.scale(factor)))
    }
}

impl Sums {
    /// The sums that `coin`, tossed after the batch was sent, asks for.
    pub(super) fn new(session: SessionId, params: &JimuParams, coin: Block) -> Sums {
        let oracle = RandomOracle::new("cenote 2026 engine jimu input sums v1", &session);
        let coins = oracle.blocks(&[coin]).block();
        Sums { session, count: params.input_sums(), coins }
    }

    /// Number of sums.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Bytes of the evaluator's message: one symbol a sum, and the hash.
    pub(super) fn message_len(&self) -> usize {
        self.count + 32
    }

    /// The sums over `terms`. Eight partial sums, one for each bit of a coefficient, replace most of
    /// the multiplications. Coefficients are public, but half of all branches on them would be mispredicted.
    pub(super) fn of<T: Symbols>(&self, terms: &[T]) -> Vec<T> {
        let mut coins = Coins::new(self.coins);
        let mut partial = vec![[T::default(); 8]; self.count];
        for term in terms {
            for sums in partial.chunks_mut(8) {
                let coefficients = coins.word();
                for (bit, sum) in sums.as_flattened_mut().iter_mut().enumerate() {
                    sum.add_masked(term, (coefficients >> bit & 1).wrapping_neg());
                }
            }
        }
        let whole = |bits: &[T; 8]| {
            let mut sum = T::default();
            for (bit, part) in bits.iter().enumerate() {
                sum.add_masked(&part.scale(1 << bit), u64::MAX);
            }
            sum
        };
        partial.iter().map(whole).collect()
    }

    /// `sums` with a multiple of `delta` added to each, by the sums of the choice bits.
    pub(super) fn shifted<T: Symbols>(&self, mut sums: Vec<T>, choices: &[u8], delta: T) -> Vec<T> {
        for (sum, &choice) in sums.iter_mut().zip(choices) {
            sum.add_masked(&delta.scale(choice), u64::MAX);
        }
        sums
    }

    /// The hash that shows that the keys of all sums are known.
    pub(super) fn digest(&self, keys: &[Block]) -> [u8; 32] {
        RandomOracle::new("cenote 2026 engine jimu input keys v1", &self.session)
            .blocks(&[self.coins])
            .blocks(keys)
            .digest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{PoolChoice, Rho};
    use cenote_prim::Prg;

    /// The bound that `JimuParams::input_sacrificed` counts on.
    #[test]
    fn a_session_has_less_than_two_to_the_32_batches() {
        assert!(cenote_ot::MAX_COTS / FEWEST as u64 <= 1 << 32);
    }

    #[test]
    fn sums_are_linear_and_agree_on_keys_and_labels() {
        for rho in [Rho::Bits40, Rho::Bits80] {
            let params = JimuParams::derive(PoolChoice::Kept(1000), rho, Default::default());
            let params = params.expect("sound");
            let sums = Sums::new(SessionId([1; 32]), &params, Block::new(9));
            let mut blocks = vec![Block::ZERO; 3 * 130];
            Prg::new(Block::new(5)).fill(&mut blocks);
            let labels: Vec<Label> = bytemuck::cast_slice(&blocks).to_vec();
            let keys: Vec<Block> = labels.iter().map(Label::key).collect();
            let (of_labels, of_keys) = (sums.of(&labels), sums.of(&keys));
            assert_eq!(of_labels.len(), params.input_sums());
            assert!(of_labels.iter().zip(&of_keys).all(|(l, &k)| l.key().ct_eq(k)));
            // One term: the sum is its multiple by the first coefficient.
            let ones = sums.of(&[1u8]);
            let single = sums.of(&labels[..1]);
            assert!(
                ones.iter()
                    .zip(&single)
                    .all(|(&c, sum)| { sum.key().ct_eq(labels[0].key().scale(c)) })
            );
            assert_ne!(sums.of(&[1u8, 0, 1])[0], ones[0]);
        }
    }
}
