//! Coins: how they are tossed, and what they decide.

use cenote_engine::{Fault, Role, parts};
use cenote_net::Channel;
use cenote_prim::commit::commit;
use cenote_prim::{Block, Prg, SessionId};

use super::cheat::Cheat;
use super::items::Kind;

/// The words of a coin: low half of a block, then its high half.
pub struct Coins {
    prg: Prg,
    half: Option<u64>,
}

impl Coins {
    /// Those of this coin.
    #[must_use]
    pub fn new(coin: Block) -> Coins {
        Coins { prg: Prg::new(coin), half: None }
    }

    /// The next one.
    pub fn word(&mut self) -> u64 {
        self.half.take().unwrap_or_else(|| {
            let block = self.prg.block().to_u128();
            self.half = Some((block >> 64) as u64);
            block as u64
        })
    }
}

/// Which items of a batch are checked, on which inputs, and which survive: as honest parties see it,
/// or sessions of the cheater would fail.
pub struct Selection {
    /// Those that are checked.
    pub checked: Vec<usize>,
    /// Their inputs, two bits for an AND.
    pub inputs: Vec<bool>,
    /// The others.
    pub survivors: Vec<usize>,
    /// Words for the draws.
    pub coins: Coins,
}

impl Selection {
    /// The choice of a coin among this many items.
    #[must_use]
    pub fn new(coin: Block, check_below: u32, kind: Kind, items: usize) -> Selection {
        let mut coins = Coins::new(coin);
        let (mut checked, mut inputs, mut survivors) = (vec![], vec![], vec![]);
        for item in 0..items {
            if coins.word() as u32 >= check_below {
                survivors.push(item);
                continue;
            }
            checked.push(item);
            for first in (0..kind.shape().inputs()).step_by(64) {
                let word = coins.word();
                let bits = 0..(kind.shape().inputs() - first).min(64);
                inputs.extend(bits.map(|bit| word >> bit & 1 == 1));
            }
        }
        Selection { checked, inputs, survivors, coins }
    }
}

/// The tosses of a session, which look at no opening.
pub(super) struct Tosses {
    pub(super) session: SessionId,
    pub(super) role: Role,
    pub(super) count: u64,
    pub(super) cheat: Cheat,
}

impl Tosses {
    pub(super) fn toss(&mut self, channel: &mut Channel, prg: &mut Prg) -> Result<Block, Fault> {
        let (number, coin) = (self.count, prg.block());
        self.count += 1;
        let mut value = coin.to_bytes();
        if self.role == Role::Evaluator {
            channel.recv(parts::tags::COIN_COMMIT, 32)?;
            channel.send(parts::tags::COIN_REPLY, &value)?;
            let opening = channel.recv(parts::tags::COIN_OPEN, 48)?;
            return Ok(coin ^ first_block(&opening));
        }
        let nonce = prg.bytes32();
        let commitment = commit(&self.session, &format!("toss {number}"), &value, &nonce);
        channel.send(parts::tags::COIN_COMMIT, &commitment.0)?;
        let reply = channel.recv(parts::tags::COIN_REPLY, 16)?;
        value[3] ^= u8::from(self.cheat == Cheat::Coin(number));
        channel.send(parts::tags::COIN_OPEN, &[value.as_slice(), &nonce].concat())?;
        Ok(first_block(&value) ^ first_block(&reply))
    }
}

pub(super) fn first_block(bytes: &[u8]) -> Block {
    let mut block = [0; 16];
    block.copy_from_slice(&bytes[..16]);
    Block::from_bytes(block)
}

/// The blocks in `bytes`.
pub(super) fn blocks_of(bytes: &[u8]) -> Vec<Block> {
    bytes.chunks_exact(16).map(first_block).collect()
}
