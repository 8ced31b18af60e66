//! Joint coins of a session: runs `coin.rs` over the channel, one toss after the other.

use cenote_net::{Channel, Fault, Role};
use cenote_prim::commit::Commitment;
use cenote_prim::{Block, Prg, SessionId};

use super::coin::{self, Contribution};
use super::tags;

/// The tosses of one session, numbered alike on both sides.
pub(crate) struct Tosses {
    session: SessionId,
    role: Role,
    count: u64,
}

impl Tosses {
    /// No toss yet.
    pub(crate) fn new(session: SessionId, role: Role) -> Tosses {
        Tosses { session, role, count: 0 }
    }

    /// A joint coin, together with the equality of `digest` on both sides.
    ///
    /// # Errors
    /// Those of `coin.rs`; faults of the channel.
    pub(crate) fn toss(
        &mut self,
        channel: &mut Channel,
        prg: &mut Prg,
        digest: [u8; 32],
    ) -> Result<Block, Fault> {
        match self.role {
            Role::Garbler => self.commit(channel, prg, digest)?.finish(channel),
            Role::Evaluator => self.reply(channel, prg, digest)?.finish(channel),
        }
    }

    /// The garbler's first step of a toss: it commits.
    ///
    /// # Errors
    /// Faults of the channel.
    pub(crate) fn commit(
        &mut self,
        channel: &mut Channel,
        prg: &mut Prg,
        digest: [u8; 32],
    ) -> Result<Committer, Fault> {
        let own = Contribution { coin: prg.block(), digest };
        let label = self.next_label();
        let (committer, commitment) =
            coin::Committer::new(&self.session, &label, own, prg.bytes32());
        channel.send(tags::COIN_COMMIT, &commitment.0)?;
        Ok(Committer(committer))
    }

    /// The evaluator's first step: it takes the commitment and answers.
    ///
    /// # Errors
    /// Faults of the channel.
    pub(crate) fn reply(
        &mut self,
        channel: &mut Channel,
        prg: &mut Prg,
        digest: [u8; 32],
    ) -> Result<Replier, Fault> {
        let own = Contribution { coin: prg.block(), digest };
        let label = self.next_label();
        let mut commitment = Commitment([0; 32]);
        channel.recv_into(tags::COIN_COMMIT, &mut commitment.0)?;
        channel.send(tags::COIN_REPLY, &own.encode())?;
        Ok(Replier { session: self.session, label, own, commitment })
    }

    fn next_label(&mut self) -> String {
        self.count += 1;
        format!("toss {}", self.count - 1)
    }
}

/// The garbler between its commitment and the coin.
pub(crate) struct Committer(coin::Committer);

impl Committer {
    /// Takes the evaluator's contribution and opens.
    ///
    /// # Errors
    /// Those of `coin.rs`; faults of the channel.
    pub(crate) fn finish(self, channel: &mut Channel) -> Result<Block, Fault> {
        let mut reply = [0; coin::CONTRIBUTION_LEN];
        channel.recv_into(tags::COIN_REPLY, &mut reply)?;
        let (coin, opening) = self.0.open(&reply)?;
        channel.send(tags::COIN_OPEN, &opening)?;
        Ok(coin)
    }
}

/// The evaluator between its contribution and the coin.
pub(crate) struct Replier {
    session: SessionId,
    label: String,
    own: Contribution,
    commitment: Commitment,
}

impl Replier {
    /// Takes the opening.
    ///
    /// # Errors
    /// Those of `coin.rs`; faults of the channel.
    pub(crate) fn finish(self, channel: &mut Channel) -> Result<Block, Fault> {
        let mut opening = [0; coin::OPENING_LEN];
        channel.recv_into(tags::COIN_OPEN, &mut opening)?;
        coin::finish(&self.session, &self.label, &self.own, &self.commitment, &opening)
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
        let word = self.blocks[self.next / 2].to_u128() >> (64 * (self.next % 2));
        self.next += 1;
        word as u64
    }
}
