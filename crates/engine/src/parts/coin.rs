//! Coin toss by commit and open.
//!
//! **Functionality.** Both parties obtain one uniform block that neither could bias.
//! **Messages.** garbler -> evaluator: commitment to its coin; evaluator -> garbler: its coin;
//! garbler -> evaluator: opening. The coin is the xor. A test of equality rides along in `equality.rs`.
//! **Adversary.** Malicious; commitment in the random-oracle model. A Fiat-Shamir coin would let
//! the garbler grind batches until a bucket is bad, so it is not used here (docs/protocols/ot.md,
//! "This may not be imitated for the coin that shuffles buckets").
//! **Abort.** The garbler may abort after seeing the coin; abort is final, so it gains no second try.
//! **Checks.** `coin.opening`: the opening fits the commitment. Catches a garbler that picks its coin
//! after the evaluator's (biased coin).
//! **Private values.** The garbler's coin until the opening: hidden by the 32-byte nonce of the
//! commitment.
//! **Costs.** 32 B + 16 B + 48 B; three messages.

use cenote_net::Fault;
use cenote_prim::commit::{Commitment, Nonce, commit, opens};
use cenote_prim::{Block, Prg, SessionId};

/// Bytes of the garbler's commitment.
pub const COMMIT_LEN: usize = 32;
/// Bytes of the evaluator's reply: its coin.
pub const REPLY_LEN: usize = 16;
/// Bytes of the garbler's opening: coin and nonce.
pub const OPENING_LEN: usize = 48;

/// The garbler between its commitment and its opening.
pub struct Committer {
    coin: Block,
    nonce: Nonce,
}

impl Committer {
    /// Commits to a coin of `prg`; `label` names this toss in the session.
    #[must_use]
    pub fn new(session: &SessionId, label: &str, prg: &mut Prg) -> (Committer, [u8; COMMIT_LEN]) {
        let (coin, nonce) = (prg.block(), prg.bytes32());
        let commitment = commit(session, label, &coin.to_bytes(), &nonce);
        (Committer { coin, nonce }, commitment.0)
    }

    /// The joint coin and the opening to send, after the evaluator's coin.
    #[must_use]
    pub fn open(self, reply: &[u8; REPLY_LEN]) -> (Block, [u8; OPENING_LEN]) {
        let mut opening = [0; OPENING_LEN];
        opening[..16].copy_from_slice(&self.coin.to_bytes());
        opening[16..].copy_from_slice(&self.nonce);
        (self.coin ^ Block::from_bytes(*reply), opening)
    }
}

/// The evaluator between its reply and the garbler's opening.
pub struct Replier {
    session: SessionId,
    label: String,
    commitment: Commitment,
    coin: Block,
}

impl Replier {
    /// Replies to `commitment` with a coin of `prg`.
    #[must_use]
    pub fn new(
        session: &SessionId,
        label: &str,
        prg: &mut Prg,
        commitment: [u8; COMMIT_LEN],
    ) -> (Replier, [u8; REPLY_LEN]) {
        let (coin, commitment) = (prg.block(), Commitment(commitment));
        let label = label.to_owned();
        (Replier { session: *session, label, commitment, coin }, coin.to_bytes())
    }

    /// The joint coin, after the garbler's opening.
    ///
    /// # Errors
    /// `Misbehaved("coin.opening")` if it does not fit the commitment.
    pub fn finish(self, opening: &[u8; OPENING_LEN]) -> Result<Block, Fault> {
        let (mut coin, mut nonce) = ([0; 16], [0; 32]);
        coin.copy_from_slice(&opening[..16]);
        nonce.copy_from_slice(&opening[16..]);
        if !opens(&self.commitment, &self.session, &self.label, &coin, &nonce) {
            return Err(Fault::Misbehaved("coin.opening"));
        }
        Ok(self.coin ^ Block::from_bytes(coin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: SessionId = SessionId([5; 32]);

    fn prg(seed: u128) -> Prg {
        Prg::new(Block::new(seed))
    }

    #[test]
    fn honest_parties_agree() {
        let (a, b) = (prg(1).block(), prg(2).block());
        let (committer, commitment) = Committer::new(&SESSION, "t", &mut prg(1));
        let (replier, reply) = Replier::new(&SESSION, "t", &mut prg(2), commitment);
        let (coin, opening) = committer.open(&reply);
        assert_eq!(coin, a ^ b);
        assert_eq!(replier.finish(&opening), Ok(coin));
    }

    #[test]
    fn a_coin_chosen_late_is_caught() {
        let (_, commitment) = Committer::new(&SESSION, "t", &mut prg(1));
        let (late, _) = Committer::new(&SESSION, "t", &mut prg(3));
        let (replier, reply) = Replier::new(&SESSION, "t", &mut prg(2), commitment);
        let fault = replier.finish(&late.open(&reply).1).err();
        assert_eq!(fault, Some(Fault::Misbehaved("coin.opening")));
    }
}
