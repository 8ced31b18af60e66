//! The interactive hash from Reed-Solomon codes.

mod code;
mod encoder;
mod inputs;
mod planes;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;
mod watcher;

use cenote_net::Fault;
use cenote_prim::{Block, RandomOracle, SessionId};

pub use receiver::ReedSolomonReceiver;
pub use sender::ReedSolomonSender;

use code::Code;

/// The answer to the consistency check is not that of codewords.
const CODEWORD: Fault = Fault::Misbehaved("jimu.hash.codeword");
/// A message is malformed.
const FORMAT: Fault = Fault::Misbehaved("jimu.format");

/// What the receiver knows of the streams of a code: secret, as its matrices are.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// The positions it watches, ascending.
    pub positions: &'a [u8],
    /// The seeds at these.
    pub seeds: &'a [Block],
}

/// The seed of the coefficients by which a code is checked.
fn check_seeds(session: &SessionId, code: &Code, batch: u64, coin: Block) -> Block {
    let oracle = RandomOracle::new("cenote 2026 jimu hash check v1", session);
    oracle.number(code.domain).number(batch).blocks(&[coin]).block()
}

/// Both ends, for tests: the seeds and the watched positions come from `seed`, so that anybody who
/// has it knows everything.
#[cfg(test)]
pub(crate) fn pair(rho: crate::Rho, seed: Block) -> (ReedSolomonSender, ReedSolomonReceiver) {
    let rho = -rho.epsilon_log2() as u32;
    let codes = cenote_pool::params::hash_codes(rho).expect("the bounds are in range");
    tests::pair_of(&codes, seed)
}
