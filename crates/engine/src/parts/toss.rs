//! Joint coins of a session: numbers the tosses (`coin.rs`, `equality.rs`) and runs them over the channel.

use cenote_net::{Channel, Fault, Role};
use cenote_prim::{Block, Prg, SessionId};

use super::pace::MOST_LAG;
use super::{coin, equality, tags};

/// Tests of equality that an evaluator has replied to and not confirmed, at most: a batch a turn, from a reply to the
/// opening a lag of the supply and a turn later, and the reply of that turn.
pub(crate) const MOST_REPLIED: usize = MOST_LAG + 2;

/// The tosses of one session, numbered alike on both sides.
pub(crate) struct Tosses {
    session: SessionId,
    role: Role,
    count: u64,
    /// Evaluator: tests of equality in which it replied and that it has not confirmed.
    replied: usize,
}

impl Tosses {
    /// No toss yet.
    pub(crate) fn new(session: SessionId, role: Role) -> Tosses {
        Tosses { session, role, count: 0, replied: 0 }
    }

    /// The session whose coins these are.
    pub(crate) const fn session(&self) -> SessionId {
        self.session
    }

    /// A joint coin.
    ///
    /// # Errors
    /// Those of `coin.rs`; faults of the channel.
    pub(crate) fn toss(&mut self, channel: &mut Channel, prg: &mut Prg) -> Result<Block, Fault> {
        let label = self.label();
        match self.role {
            Role::Garbler => {
                let (committer, commitment) = coin::Committer::new(&self.session, &label, prg);
                channel.send(tags::COIN_COMMIT, &commitment)?;
                let mut reply = [0; coin::REPLY_LEN];
                channel.recv_into(tags::COIN_REPLY, &mut reply)?;
                let (coin, opening) = committer.open(&reply);
                channel.send(tags::COIN_OPEN, &opening)?;
                Ok(coin)
            }
            Role::Evaluator => {
                let mut commitment = [0; coin::COMMIT_LEN];
                channel.recv_into(tags::COIN_COMMIT, &mut commitment)?;
                let (replier, reply) = coin::Replier::new(&self.session, &label, prg, commitment);
                channel.send(tags::COIN_REPLY, &reply)?;
                let mut opening = [0; coin::OPENING_LEN];
                channel.recv_into(tags::COIN_OPEN, &mut opening)?;
                replier.finish(&opening)
            }
        }
    }

    /// The garbler's first step of the next toss with a test of `digest`; [`equality::Committer::open`] is
    /// its last. Another toss may begin in between, and replies are taken in order.
    pub(crate) fn commit_equal(
        &mut self,
        prg: &mut Prg,
        digest: &[u8; 32],
    ) -> (equality::Committer, [u8; equality::COMMIT_LEN]) {
        let label = self.label();
        equality::Committer::new(&self.session, &label, prg, digest)
    }

    /// The evaluator's first step. A reply tests one guess of a garbler that cheats, so it replies to [`MOST_REPLIED`] at most
    /// before the first of them is confirmed: there are no more guesses than that before the first failure.
    ///
    /// # Errors
    /// Those of `equality.rs`; `Internal` for one more test.
    pub(crate) fn reply_equal(
        &mut self,
        prg: &mut Prg,
        digest: &[u8; 32],
        message: &[u8; equality::COMMIT_LEN],
    ) -> Result<(equality::Replier, [u8; equality::REPLY_LEN]), Fault> {
        if self.replied == MOST_REPLIED {
            return Err(Fault::Internal(
                "too many tests of equality that are not confirmed".into(),
            ));
        }
        self.replied += 1;
        let label = self.label();
        equality::Replier::new(&self.session, &label, prg, digest, message)
    }

    /// The evaluator's last step.
    ///
    /// # Errors
    /// Those of `equality.rs`; then this party replies in no other test.
    pub(crate) fn finish_equal(
        &mut self,
        replier: equality::Replier,
        opening: &[u8; equality::OPENING_LEN],
    ) -> Result<Block, Fault> {
        let finished = replier.finish(opening);
        if finished.is_ok() {
            self.replied -= 1;
        } else {
            self.replied = MOST_REPLIED;
        }
        finished
    }

    /// The name of the next toss.
    fn label(&mut self) -> String {
        self.count += 1;
        format!("toss {}", self.count - 1)
    }
}

/// Public words from a joint coin, made many at a time.
pub(crate) struct Coins {
    prg: Prg,
    blocks: [Block; 64],
    next: usize,
}

impl Coins {
    /// The words of `coin`.
    pub(crate) fn new(coin: Block) -> Coins {
        Coins { prg: Prg::new(coin), blocks: [Block::ZERO; 64], next: 128 }
    }

    /// The next word.
    #[inline]
    pub(crate) fn word(&mut self) -> u64 {
        if self.next == 128 {
            self.prg.fill(&mut self.blocks);
            self.next = 0;
        }
        let block = self.blocks[self.next / 2].to_u128();
        let word = if self.next.is_multiple_of(2) { block } else { block >> 64 };
        self.next += 1;
        word as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_evaluator_replies_to_so_many_tests_and_to_none_after_a_failure() {
        let mut prg = Prg::new(Block::new(1));
        let [mut a, mut b] =
            [Role::Garbler, Role::Evaluator].map(|r| Tosses::new(SessionId([1; 32]), r));
        let digest = [1; 32];
        let mut begun: Vec<_> =
            (0..MOST_REPLIED + 3).map(|_| a.commit_equal(&mut prg, &digest)).collect();
        let messages: Vec<_> = begun.iter().map(|(_, message)| *message).collect();
        let mut replies: Vec<_> = messages[..MOST_REPLIED]
            .iter()
            .map(|message| b.reply_equal(&mut prg, &digest, message).expect("in bounds"))
            .collect();
        let early = b.reply_equal(&mut prg, &digest, &messages[MOST_REPLIED]).err();
        assert!(matches!(early, Some(Fault::Internal(_))), "{early:?}");
        let (replier, reply) = replies.remove(0);
        let (coin, opening) = begun.remove(0).0.open(&reply).expect("equal");
        assert_eq!(b.finish_equal(replier, &opening), Ok(coin));
        b.reply_equal(&mut prg, &digest, &messages[MOST_REPLIED]).expect("one was confirmed");
        let (replier, reply) = replies.remove(0);
        let (_, opening) = begun.remove(0).0.open(&reply).expect("equal");
        b.finish_equal(replier, &opening).expect("equal");
        let failed = b.finish_equal(replies.remove(0).0, &[0; equality::OPENING_LEN]).err();
        assert_eq!(failed, Some(Fault::Misbehaved("equality.tag")));
        let later = b.reply_equal(&mut prg, &digest, &messages[MOST_REPLIED + 1]).err();
        assert!(matches!(later, Some(Fault::Internal(_))), "{later:?}");
    }
}
