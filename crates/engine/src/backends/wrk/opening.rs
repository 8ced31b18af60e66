//! Opening of authenticated bits to the peer, many at once.
//!
//! **Functionality.** The opener shows bits it holds MACs on; the verifier learns them or catches a
//! lie. **Message.** The packed bits and one block, sum of chi_i M_i over GF(2^128), with
//! coefficients chi from the random oracle on (session, direction, counter, bits).
//! **Adversary.** Malicious opener. Showing bits that differ from the authenticated ones in a set
//! e != 0 needs sum chi_i M_i xor (sum e_i chi_i) Delta. The coefficients are fixed by the shown
//! bits, so each random-oracle query hits sum e_i chi_i = 0 with probability 2^-128, and otherwise
//! the opener would know Delta, whatever the number of bits. Of Delta_B that is its low t bits, of which t - 2 are
//! random (`packed.rs`): nothing that the evaluator sends depends on them but whether it goes on, so that there is
//! one guess, and a wrong one ends the session (docs/protocols/wrk.md, "What is kept of shares").
//! **Checks.** `opening.mac`: the block is right. Catches every wrong bit and every wrong MAC; the
//! bits may not be used before it.
//! **Private values.** Bits that are not opened: the sum is a function of opened bits and of keys
//! that the verifier knows, so it tells nothing.
//! **Costs.** ceil(n / 8) + 16 bytes, one message.
//! **Difference from the papers.** A hash of all MACs would do as well; the sum is cheaper.

use cenote_net::{Fault, Role};
use cenote_prim::gf128::LinearHash;
use cenote_prim::{Block, RandomOracle, Secret, SessionId, bits};

/// The openings of one session: counts those of each direction, so that no oracle query repeats.
pub struct Openings {
    session: SessionId,
    role: Role,
    shown: u64,
    seen: u64,
}

/// Bytes of the opening of `n` bits.
#[must_use]
pub const fn message_len(n: usize) -> usize {
    bits::packed_len(n) + 16
}

impl Openings {
    /// No openings yet.
    #[must_use]
    pub fn new(session: SessionId, role: Role) -> Openings {
        Openings { session, role, shown: 0, seen: 0 }
    }

    /// The message that opens the bits of `macs` to the peer.
    #[must_use]
    pub fn open(&mut self, macs: &[Block]) -> Vec<u8> {
        let mut message = bits::pack(macs.iter().map(|mac| mac.lsb()));
        let mut hash = self.hash(self.role, self.shown, &message);
        self.shown += 1;
        hash.absorb(macs);
        message.extend_from_slice(&hash.finish().to_bytes());
        message
    }

    /// The packed bits of `message`, which opens one bit for each of `keys`.
    ///
    /// # Errors
    /// `Misbehaved("opening.mac")` if the bits are not the authenticated ones or the message is
    /// malformed.
    pub fn verify(
        &mut self,
        message: &[u8],
        keys: &[Block],
        delta: Block,
    ) -> Result<Vec<u8>, Fault> {
        const CAUGHT: Fault = Fault::Misbehaved("opening.mac");
        let (shown, proof) =
            message.split_at_checked(bits::packed_len(keys.len())).ok_or(CAUGHT)?;
        let proof: [u8; 16] = proof.try_into().map_err(|_| CAUGHT)?;
        if !bits::is_canonical(shown, keys.len()) {
            return Err(CAUGHT);
        }
        let mut hash = self.hash(self.role.peer(), self.seen, shown);
        self.seen += 1;
        let mut expected = Secret::new([Block::ZERO; 512]);
        for (part, keys) in keys.chunks(512).enumerate() {
            let expected = &mut expected[..keys.len()];
            for (i, (mac, key)) in expected.iter_mut().zip(keys).enumerate() {
                *mac = *key ^ delta.times(bits::get(shown, 512 * part + i));
            }
            hash.absorb(expected);
        }
        if hash.finish().ct_eq(Block::from_bytes(proof)) { Ok(shown.to_vec()) } else { Err(CAUGHT) }
    }

    fn hash(&self, opener: Role, counter: u64, shown: &[u8]) -> LinearHash {
        let oracle = RandomOracle::new("cenote 2026 engine opening v1", &self.session);
        LinearHash::new(oracle.number(opener as u64).number(counter).bytes(shown).block())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::wrk::leaky_and::Width;
    use crate::backends::wrk::share::dealer::Dealer;

    fn pair() -> (Openings, Openings) {
        let session = SessionId([1; 32]);
        (Openings::new(session, Role::Garbler), Openings::new(session, Role::Evaluator))
    }

    #[test]
    fn bits_arrive_at_every_length() {
        let mut d = Dealer::new(3);
        let (mut a, mut b) = pair();
        for n in [0usize, 1, 7, 8, 9, 511, 512, 513, 2000] {
            let (sa, sb) = d.shares(n);
            let macs: Vec<Block> = sa.iter().map(|s| s.mac).collect();
            let keys: Vec<Block> = sb.iter().map(|s| s.key).collect();
            let message = a.open(&macs);
            assert_eq!(message.len(), message_len(n));
            let shown = b.verify(&message, &keys, d.deltas[1]).expect("honest");
            assert!((0..n).all(|i| bits::get(&shown, i) == sa[i].bit()));
        }
    }

    #[test]
    fn every_single_bit_of_the_message_counts() {
        let mut d = Dealer::new(4);
        let (sa, sb) = d.shares(13);
        let macs: Vec<Block> = sa.iter().map(|s| s.mac).collect();
        let keys: Vec<Block> = sb.iter().map(|s| s.key).collect();
        let honest = pair().0.open(&macs);
        for bit in 0..8 * honest.len() {
            let mut forged = honest.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            let fault = pair().1.verify(&forged, &keys, d.deltas[1]).err();
            assert_eq!(fault, Some(Fault::Misbehaved("opening.mac")), "bit {bit}");
        }
        for cut in 0..honest.len() {
            assert!(pair().1.verify(&honest[..cut], &keys, d.deltas[1]).is_err());
        }
    }

    /// A garbler that lies about a bit has one guess at what is kept of Delta_B: here it lacks eight bits.
    #[test]
    fn a_lie_passes_for_one_value_of_the_low_bits_of_delta() {
        let (mut d, width) = (Dealer::new(6), Width::Bits64);
        let (sa, sb) = d.shares(13);
        let macs: Vec<Block> = sa.iter().map(|s| width.cut(s.mac)).collect();
        let keys: Vec<Block> = sb.iter().map(|s| width.cut(s.key)).collect();
        let delta = width.kept_delta(d.deltas[1], Role::Evaluator);
        let known = delta.to_u128() & !(0xff << 20);
        let passed: Vec<u128> = (0..256u128)
            .map(|guess| known | guess << 20)
            .filter(|guess| {
                let mut forged = macs.clone();
                forged[5] ^= Block::new(*guess);
                let message = pair().0.open(&forged);
                pair().1.verify(&message, &keys, delta).is_ok()
            })
            .collect();
        assert_eq!(passed, [delta.to_u128()]);
    }

    #[test]
    fn an_opening_is_bound_to_its_place() {
        let mut d = Dealer::new(5);
        let (sa, sb) = d.shares(4);
        let macs: Vec<Block> = sa.iter().map(|s| s.mac).collect();
        let keys: Vec<Block> = sb.iter().map(|s| s.key).collect();
        let (mut a, mut b) = pair();
        let message = a.open(&macs);
        assert!(b.verify(&message, &keys, d.deltas[1]).is_ok());
        assert!(b.verify(&message, &keys, d.deltas[1]).is_err(), "replayed");
    }
}
