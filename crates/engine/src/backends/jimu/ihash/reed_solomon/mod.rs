//! The interactive hash from Reed-Solomon codes.
//!
//! **Construction.** IHash of JIMU (ASIACRYPT 2017; POOL section 3), repaired as said below
//! (docs/protocols/jimu.md, "The interactive hash"). A wire is a random word of each of two codes (`cenote_pool::params::HashCodes`),
//! one for the label and one for the permutation message. A word is a polynomial of degree below k;
//! its symbols are the values at the points 0 .. n. The sender has n seeds, whose streams give
//! symbol i of wire j as byte j of stream i; the streams 0 .. k determine the word, and for the
//! others it sends the difference between word and stream. The receiver has the seeds at w secret
//! places (`cenote_ot::watch`), hence the symbols there. The secrets of a word are its values at
//! the k - w points from n on: the key of the gate hash, and a symbol with the permutation bit.
//! **Functionality.** The receiver holds a tag of every wire. It is linear in the message, tells
//! nothing about the secrets, and the sender cannot show two messages that agree with it.
//! **Roles.** [`ReedSolomonSender`] (the garbler) hashes and opens, [`ReedSolomonReceiver`] (the
//! evaluator) watches and checks.
//!
//! **Messages.** Corrections of L wires: n - k planes of L bytes for the labels, then those of the
//! permutation messages, over GF(2^6) packed from 23 to 18 planes. An opening: the message. A batch
//! ends with t further vectors of 64 wires, which are sacrificed; then comes a coin that neither
//! side could foresee, and the answer: for each code its combinations c = 0, 1, .., 64 words each,
//! Y_c = sum over vectors v of chi_{c,v} m_v, plus the c-th sacrificed vector. The 64 lanes of a
//! vector have their coefficients in common and are 64 checks side by side.
//! **Tags.** What is compared is a linear function of the watched symbols h:
//! - labels, and permutation messages over GF(2^8): R h for a secret random matrix R with 16 rows,
//!   the tag of a message being R E times its form, where E takes polynomials to their watched
//!   symbols. If h differs from the watched symbols of a shown message by d other than 0, then
//!   R d = 0 with probability 2^-128. R is independent of all that the sender sees: of a
//!   comparison it learns nothing, or that the session is over. Hence q comparisons err with
//!   probability q 2^-128 at most, and the same holds for both parts of a message together.
//! - permutation messages over GF(2^6): these polynomials have one degree of freedom beyond the
//!   watched symbols, so that the one with these and with 0 at the point that is never watched is
//!   as good as h. A message is reduced to it by subtracting a multiple of the polynomial v that is
//!   0 wherever this side looks and 1 at that point: nothing is lost. The tag fills a block with
//!   zeros, which shown messages must have there, too.
//!
//! **Adversary.** Malicious, static, either party.
//! *Sender.* It can correct words away from the code, say half-way between two words of it, and
//! decide later which of the two it opens. An error at a watched place survives the t combinations
//! with probability |F|^-t <= 2^-(rho + 8). After a check all wires of the batch therefore agree with
//! words of the code, to which they are bound, outside one set E of places none of which is watched.
//! To be opened as another word of the code, a wire must agree with that at all watched places. The
//! two words differ at n - k + 1 places at least, and at each of these either the wire has an error,
//! so that it lies in E, or the opened word is wrong there: none of them may be watched. Over the
//! watch set, of which the sender learns before that it misses E and no more, both together have
//! probability C(k - 1, w) / C(n, w) <= 2^-rho at most. Without the check the errors could stay
//! watched, and only that part of the places would have to be missed at which the opened word is
//! wrong: half of them, for either word.
//! *Receiver.* Any w symbols and the secrets of a word are k values at k points: independent and
//! uniform, whatever w places it has chosen.
//!
//! **Checks.** `jimu.hash.codeword` (receiver): the answer has the tags of the combinations, for
//! both codes, nothing else being told. Catches corrections that lead away from the code at a
//! watched place; no tag may be relied on before. After a failure no further check passes.
//! `jimu.format` (receiver): length and padding of corrections.
//! **Private values.** Words: in the corrections, masked by streams where they are not watched; in
//! the answer, masked by the sacrificed words, one for each combination, used nowhere else. Places
//! and tags: never sent, and not visible in time: all corrections enter every tag, by a matrix that
//! has zeros for those that are not watched, and all matrices are made without branches.
//! **Costs.** For rho = 40: 40 + 18 bytes a wire; 512 wires and 26.6 kB a batch. An opening takes
//! 48 + 16 bytes. The sender stores nothing; the receiver keeps the tags of a batch. Whoever forgets
//! the tags as well can have them again from the corrections: that these are the same is for the
//! caller to check.
//! **Differences from the paper and the released code.** Keys and permutation bits are values at
//! points that cannot be watched, instead of functions of symbols that can: a receiver that chose
//! its places well would know all of them. The consistency check and the choice of the places, both
//! missing in the code, are ours (docs/protocols/jimu.md, ot.md); tags are shorter than the watched symbols.
//! Status: not audited.

mod code;
mod encoder;
mod escrow;
mod inputs;
mod planes;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_again;
#[cfg(test)]
mod tests_escrow;
mod watcher;

use cenote_net::Fault;
use cenote_prim::{Block, RandomOracle, SessionId};

pub use escrow::ReedSolomonEscrow;
pub use receiver::{ReedSolomonReceiver, ReedSolomonTags};
pub use sender::ReedSolomonSender;

use code::Code;

/// The answer to the consistency check is not that of codewords.
const CODEWORD: Fault = Fault::Misbehaved("jimu.hash.codeword");
/// A message is malformed.
const FORMAT: Fault = Fault::Misbehaved("jimu.format");

/// The receiver's knowledge of the streams of a code: secret, as its matrices are.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// The positions it watches, ascending.
    pub positions: &'a [u8],
    /// The seeds at these.
    pub seeds: &'a [Block],
}

/// The seed of the coefficients by which a code is checked.
fn check_seeds(session: &SessionId, code: &Code, batch: u64, coin: Block) -> Block {
    let oracle = RandomOracle::new("cenote 2026 engine jimu hash check v1", session);
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
