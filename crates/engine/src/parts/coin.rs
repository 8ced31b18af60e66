//! Coin toss by commit and open.
//!
//! **Functionality.** Both parties obtain one uniform block that neither could bias.
//! **Messages.** garbler -> evaluator: commitment to its coin (and, for the equality test that
//! rides along, to its digest); evaluator -> garbler: its coin and digest in the clear; garbler ->
//! evaluator: opening. The coin is the xor.
//! **Adversary.** Malicious; commitment in the random-oracle model. A Fiat-Shamir coin would let
//! the garbler grind batches until a bucket is bad, so it is not used here (docs/protocols/ot.md,
//! "This may not be imitated for the coin that shuffles buckets").
//! **Abort.** The garbler may abort after seeing the coin; abort is final, so it gains no second try.
//! **Checks.**
//! - `coin.opening`: the opening fits the commitment. Catches a garbler that picks its coin after
//!   the evaluator's (biased coin) or echoes the evaluator's digest.
//! - `equality.digest`: both digests are the same. Catches a wrong G of the leaky-AND batch
//!   (`leaky_and.rs`); nothing of the batch may enter the pool before it.
//!
//! **Private values.** The garbler's coin and digest until the opening: hidden by the 32-byte nonce
//! of the commitment.
//! **Costs.** 32 B + 48 B + 80 B; three messages.

use cenote_net::Fault;
use cenote_prim::commit::{Commitment, Nonce, commit, opens};
use cenote_prim::{Block, SessionId};
use subtle::ConstantTimeEq;

/// A coin together with a digest that must be the same on both sides.
#[derive(Clone, Copy)]
pub struct Contribution {
    /// This party's coin.
    pub coin: Block,
    /// This party's digest of what must be equal.
    pub digest: [u8; 32],
}

/// Bytes of an encoded [`Contribution`].
pub const CONTRIBUTION_LEN: usize = 48;
/// Bytes of an opening: contribution and nonce.
pub const OPENING_LEN: usize = CONTRIBUTION_LEN + 32;

impl Contribution {
    /// The wire form: coin, then digest.
    #[must_use]
    pub fn encode(&self) -> [u8; CONTRIBUTION_LEN] {
        let mut bytes = [0; CONTRIBUTION_LEN];
        bytes[..16].copy_from_slice(&self.coin.to_bytes());
        bytes[16..].copy_from_slice(&self.digest);
        bytes
    }

    /// Reads the wire form.
    #[must_use]
    pub fn decode(bytes: &[u8; CONTRIBUTION_LEN]) -> Contribution {
        let (mut coin, mut digest) = ([0; 16], [0; 32]);
        coin.copy_from_slice(&bytes[..16]);
        digest.copy_from_slice(&bytes[16..]);
        Contribution { coin: Block::from_bytes(coin), digest }
    }

    /// The joint coin, if the digests agree.
    ///
    /// # Errors
    /// `Misbehaved("equality.digest")` otherwise.
    pub fn join(&self, other: &Contribution) -> Result<Block, Fault> {
        if bool::from(self.digest.ct_eq(&other.digest)) {
            Ok(self.coin ^ other.coin)
        } else {
            Err(Fault::Misbehaved("equality.digest"))
        }
    }
}

/// The garbler's side: commits first, opens last.
pub struct Committer {
    own: Contribution,
    nonce: Nonce,
}

impl Committer {
    /// Commits to `own`; `nonce` is fresh randomness, `label` names this toss in the session.
    #[must_use]
    pub fn new(
        session: &SessionId,
        label: &str,
        own: Contribution,
        nonce: Nonce,
    ) -> (Committer, Commitment) {
        let commitment = commit(session, label, &own.encode(), &nonce);
        (Committer { own, nonce }, commitment)
    }

    /// The joint coin and the opening to send, after the evaluator's contribution.
    ///
    /// # Errors
    /// As [`Contribution::join`]; then nothing is opened.
    pub fn open(self, peer: &[u8; CONTRIBUTION_LEN]) -> Result<(Block, [u8; OPENING_LEN]), Fault> {
        let coin = self.own.join(&Contribution::decode(peer))?;
        let mut opening = [0; OPENING_LEN];
        opening[..CONTRIBUTION_LEN].copy_from_slice(&self.own.encode());
        opening[CONTRIBUTION_LEN..].copy_from_slice(&self.nonce);
        Ok((coin, opening))
    }
}

/// The evaluator's last step: checks the garbler's opening and joins.
///
/// # Errors
/// `Misbehaved("coin.opening")` or as [`Contribution::join`].
pub fn finish(
    session: &SessionId,
    label: &str,
    own: &Contribution,
    commitment: &Commitment,
    opening: &[u8; OPENING_LEN],
) -> Result<Block, Fault> {
    let (mut value, mut nonce) = ([0; CONTRIBUTION_LEN], [0; 32]);
    value.copy_from_slice(&opening[..CONTRIBUTION_LEN]);
    nonce.copy_from_slice(&opening[CONTRIBUTION_LEN..]);
    if !opens(commitment, session, label, &value, &nonce) {
        return Err(Fault::Misbehaved("coin.opening"));
    }
    own.join(&Contribution::decode(&value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: SessionId = SessionId([5; 32]);

    fn contribution(coin: u128, digest: u8) -> Contribution {
        Contribution { coin: Block::new(coin), digest: [digest; 32] }
    }

    #[test]
    fn honest_parties_agree() {
        let (a, b) = (contribution(11, 7), contribution(6, 7));
        let (committer, c) = Committer::new(&SESSION, "t", a, [9; 32]);
        let (coin, opening) = committer.open(&b.encode()).expect("equal digests");
        assert_eq!(coin, Block::new(11 ^ 6));
        assert_eq!(finish(&SESSION, "t", &b, &c, &opening), Ok(coin));
    }

    #[test]
    fn different_digests_end_it_before_anything_is_opened() {
        let (committer, _) = Committer::new(&SESSION, "t", contribution(1, 7), [9; 32]);
        let fault = committer.open(&contribution(2, 8).encode()).err();
        assert_eq!(fault, Some(Fault::Misbehaved("equality.digest")));
    }

    #[test]
    fn a_coin_chosen_late_is_caught() {
        let b = contribution(6, 7);
        let (_, c) = Committer::new(&SESSION, "t", contribution(11, 7), [9; 32]);
        let (late, _) = Committer::new(&SESSION, "t", contribution(10, 7), [9; 32]);
        let (_, opening) = late.open(&b.encode()).expect("equal digests");
        let fault = finish(&SESSION, "t", &b, &c, &opening).err();
        assert_eq!(fault, Some(Fault::Misbehaved("coin.opening")));
    }

    #[test]
    fn echoing_the_digest_is_caught() {
        // The garbler does not know the right digest, commits to another and wants to show the
        // evaluator its own one back.
        let b = contribution(6, 8);
        let (cheat, c) = Committer::new(&SESSION, "t", contribution(1, 7), [9; 32]);
        let mut opening = [0; OPENING_LEN];
        opening[..16].copy_from_slice(&cheat.own.coin.to_bytes());
        opening[16..48].copy_from_slice(&b.digest);
        opening[48..].copy_from_slice(&cheat.nonce);
        let fault = finish(&SESSION, "t", &b, &c, &opening).err();
        assert_eq!(fault, Some(Fault::Misbehaved("coin.opening")));
    }
}
