//! SoftSpokenOT: a session of correlated OT with random choice bits, K_j = M_j xor x_j Delta.
//!
//! Paper: Roy, "SoftSpokenOT: Quieter OT Extension from Small-Field Silent VOLE in the Minicrypt
//! Model", CRYPTO 2022 (ePrint 2022/192): small-field VOLE of section 3, subspace VOLE with the
//! repetition code and its consistency check of section 4. The page is docs/protocols/ot.md.
//! Roles here / in the paper: [`CotReceiver`] (x, M) / P_S, [`CotSender`] (Delta, K) / P_R.
//! Adversary: malicious, static, either party. Model: random oracle, PRG.
//! Parameters: kappa = 128; digits of k = 1, 2, 4 or 8 bits; n_c = 128 / k trees; 128 rows of each
//! chunk are sacrificed.
//! Leakage and abort: for each wrong correction the receiver guesses one digit of Delta (k bits)
//! and is caught if wrong; it learns the AND of its guesses. A chunk is checked before any
//! of it is released.
//! Checks: `ot.softspoken.columns` - corrections that do not belong to one vector of choice bits -
//! in [`CotSender::absorb`], before the keys of the chunk are released. `ot.base.point` and
//! `ot.pprf` in the setup.
//! Private values: choice bits u_0 - in corrections u_i xor u_0, masked by u_i, of which the sender
//! lacks a leaf, and in the answer u~, masked by the sacrificed block; Delta - in no message of this file
//! (in those of `base.rs` and `bases.rs` masked, as their headers say).
//! Cost: setup 32 + 8192 + n_c (32 k + 32) + 32 bytes; a chunk of N COTs one message of
//! 16 (n_c - 1) (N / 128 + 1) + 2064 bytes; for each COT 2^k / k AES calls and one product in
//! GF(2^128) on each side.
//! Differences from the paper: the challenge comes from the random oracle instead of the sender
//! (one message instead of three); a hash over GF(2^128) with independent coefficients; bit 0 of
//! Delta is 1 and the choice bit is carried in bit 0 of M. Constant time in Delta and x: yes.
//! Status: not audited.

use std::ops::Range;

use cenote_net::{Channel, Fault};
use cenote_prim::{Block, RandomOracle, Secret, SessionId, gf128};

use crate::columns::{ANSWER, Answer, Columns, Strip, challenge};
use crate::correlated::{MAX_COTS, Sent};
use crate::expand::{Leaves, Row, ZERO_ROW, add_bytes, add_masked, write_sum};
pub use crate::params::Params;
use crate::params::{ROWS, STRIP};
use crate::tags::CHUNK;
use crate::{base, pprf};

/// The check of the extension: all columns of a chunk belong to one vector of choice bits.
pub const COLUMN_CHECK: &str = "ot.softspoken.columns";

/// Bytes of the message for `cots` COTs (one chunk).
pub const fn message_len(params: Params, cots: usize) -> usize {
    corrections_len(params, cots / ROWS + 1) + ANSWER
}

/// Payload bytes of a setup: from the COT sender, from the COT receiver.
pub const fn setup_len(params: Params) -> (usize, usize) {
    (base::RECEIVER_LEN, base::SENDER_LEN + pprf::message_len(params))
}

/// Messages of an extension by `cots` COTs, rounded up to a multiple of 128.
pub(crate) const fn extension(params: Params, cots: u64) -> Sent {
    let rows = cots.div_ceil(ROWS as u64);
    let chunk = (params.chunk() / ROWS) as u64;
    let (whole, rest) = (rows / chunk, (rows % chunk) as usize);
    let last = if rest > 0 { message_len(params, ROWS * rest) as u64 } else { 0 };
    let bytes = whole.saturating_mul(message_len(params, params.chunk()) as u64);
    Sent { bytes: bytes.saturating_add(last), messages: whole + (rest > 0) as u64 }
}

/// Bytes of the corrections for chunks of `blocks` blocks, the sacrificed one among them.
const fn corrections_len(params: Params, blocks: usize) -> usize {
    16 * (params.trees() - 1) * blocks
}

/// Where the corrections of a tree other than the first lie, for one strip.
fn correction(tree: usize, blocks: usize, strip: &Strip) -> Range<usize> {
    let place = (tree - 1) * blocks;
    16 * (place + strip.blocks.start)..16 * (place + strip.blocks.end)
}

/// The counters that both parties keep: chunks never repeat, and a session that failed stays
/// failed.
struct Course {
    params: Params,
    transcript: SessionId,
    chunk: u64,
    made: u64,
    starts: u64,
    failed: bool,
}

impl Course {
    fn new(params: Params, transcript: SessionId) -> Course {
        Course { params, transcript, chunk: 0, made: 0, starts: 0, failed: false }
    }

    /// Opens a chunk of `cots` COTs; until [`Course::end`] the session counts as failed.
    fn begin(&mut self, cots: usize) -> Result<u64, Fault> {
        if self.failed {
            return Err(Fault::Misuse("ot: used after a fault".into()));
        }
        if cots == 0 || !cots.is_multiple_of(ROWS) || cots > self.params.chunk() {
            return Err(Fault::Misuse(format!("ot: a chunk of {cots} COTs")));
        }
        if self.made + cots as u64 > MAX_COTS {
            return Err(Fault::Exhausted("ot: COTs of a session".into()));
        }
        self.made += cots as u64;
        self.failed = true;
        Ok(self.chunk)
    }

    fn end(&mut self) {
        self.chunk += 1;
        self.failed = false;
    }

    fn check_batch(&self, cots: usize) -> Result<(), Fault> {
        if cots == 0 || !cots.is_multiple_of(ROWS) {
            return Err(Fault::Misuse(format!("ot: an extension by {cots} COTs")));
        }
        Ok(())
    }

    fn hash_start(&mut self) -> Block {
        let oracle = RandomOracle::new("cenote 2026 ot hash start v1", &self.transcript);
        self.starts += 1;
        oracle.number(self.starts).block()
    }
}

/// The party with Delta and the keys K.
pub struct CotSender {
    course: Course,
    delta: Secret<Block>,
    leaves: Leaves,
    columns: Columns,
    chi: Vec<Block>,
    message: Vec<u8>,
}

impl CotSender {
    /// Delta; its bit 0 is 1.
    pub fn delta(&self) -> Block {
        *self.delta
    }

    /// The id of the set-up, for what is built on it.
    pub(crate) fn transcript(&self) -> &SessionId {
        &self.course.transcript
    }

    /// The parameters of the session.
    pub fn params(&self) -> Params {
        self.course.params
    }

    /// A start point for a hash that breaks the correlation: fixed after Delta, equal on both sides
    /// when both ask in the same order, and never returned before.
    pub fn hash_start(&mut self) -> Block {
        self.course.hash_start()
    }

    /// Takes in the message of the next chunk and writes its keys, whose bit 0 is 0.
    ///
    /// # Errors
    /// `Misbehaved` when the message is wrong; then `keys` holds none. `Misuse` when `keys` is
    /// empty, over the chunk size or no multiple of 128, or after a fault; `Exhausted` over
    /// [`MAX_COTS`].
    pub fn absorb(&mut self, message: &[u8], keys: &mut [Block]) -> Result<(), Fault> {
        let params = self.course.params;
        let chunk = self.course.begin(keys.len())?;
        let blocks = keys.len() / ROWS + 1;
        let (corrections, answer) = message
            .split_at_checked(corrections_len(params, blocks))
            .ok_or(Fault::Misbehaved(COLUMN_CHECK))?;
        let answer = answer.try_into().map_err(|_| Fault::Misbehaved(COLUMN_CHECK))?;
        challenge(&self.course.transcript, chunk, corrections, &mut self.chi[..blocks]);
        let mut hashes = [Block::ZERO; ROWS];
        for strip in Strip::of(blocks) {
            for tree in 0..params.trees() {
                self.spread(tree, blocks, &strip, corrections);
            }
            self.columns.hash(0, &self.chi[strip.blocks.clone()], &mut hashes);
            // Bit 0 of K xor M is the choice bit, because Delta's is 1. It is kept in M alone.
            self.columns.strip(0)[0] = ZERO_ROW;
            self.columns.transpose(0, &mut keys[strip.rows]);
        }
        if !Answer::read(answer).agrees(*self.delta, &hashes) {
            keys.fill(Block::ZERO);
            return Err(Fault::Misbehaved(COLUMN_CHECK));
        }
        self.course.end();
        Ok(())
    }

    /// Receives as many chunks as it takes to fill `keys`, whose bits 0 are 0.
    ///
    /// # Errors
    /// `Misuse` when the length is 0 or no multiple of 128; else as [`CotSender::absorb`], and
    /// faults of the channel. After a fault no key may be used.
    pub fn extend(&mut self, ch: &mut Channel, keys: &mut [Block]) -> Result<(), Fault> {
        self.course.check_batch(keys.len())?;
        let mut message = std::mem::take(&mut self.message);
        for keys in keys.chunks_mut(self.course.params.chunk()) {
            message.resize(message_len(self.course.params, keys.len()), 0);
            ch.recv_into(CHUNK, &mut message)?;
            self.absorb(&message, keys)?;
        }
        self.message = message;
        Ok(())
    }

    /// The columns of one tree on one strip: w_b = v'_b xor Delta_b (u' xor correction). The leaf
    /// that stands in the punctured place has Delta_b in both terms and cancels, whatever it is.
    fn spread(&mut self, tree: usize, blocks: usize, strip: &Strip, corrections: &[u8]) {
        let bits = self.course.params.digit_bits();
        let columns = &mut self.columns.strip(0)[bits * tree..bits * (tree + 1)];
        let sum = self.leaves.fold(tree, strip.blocks.len(), columns);
        if tree > 0 {
            add_bytes(sum, &corrections[correction(tree, blocks, strip)]);
        }
        for (bit, column) in columns.iter_mut().enumerate() {
            add_masked(column, sum, self.delta.to_u128() >> (bits * tree + bit) & 1 == 1);
        }
    }

    /// A sender with the leaves of a set-up. `transcript` must bind the seeds of all leaves: a challenge that could be known
    /// before they are fixed would let the receiver pick seeds for it.
    pub(crate) fn new(
        params: Params,
        transcript: SessionId,
        delta: Block,
        seeds: &[Block],
    ) -> CotSender {
        CotSender::from_seeds(Course::new(params, transcript), delta, seeds)
    }

    fn from_seeds(course: Course, delta: Block, seeds: &[Block]) -> CotSender {
        let params = course.params;
        CotSender {
            course,
            delta: Secret::new(delta),
            leaves: Leaves::new(params, seeds),
            columns: Columns::new(1),
            chi: vec![Block::ZERO; params.chunk() / ROWS + 1],
            message: Vec::new(),
        }
    }
}

/// The party with the choice bits x and the MACs M.
pub struct CotReceiver {
    course: Course,
    leaves: Leaves,
    columns: Columns,
    choices: Secret<Vec<Row>>,
    chi: Vec<Block>,
    message: Vec<u8>,
}

impl CotReceiver {
    /// The id of the set-up, for what is built on it.
    pub(crate) fn transcript(&self) -> &SessionId {
        &self.course.transcript
    }

    /// The parameters of the session.
    pub fn params(&self) -> Params {
        self.course.params
    }

    /// As [`CotSender::hash_start`].
    pub fn hash_start(&mut self) -> Block {
        self.course.hash_start()
    }

    /// Writes the next chunk: MACs, whose bit 0 is the random choice bit, and the message to the
    /// sender.
    ///
    /// # Errors
    /// `Misuse` when `macs` is empty, over the chunk size or no multiple of 128; `Exhausted` over
    /// [`MAX_COTS`].
    pub fn produce(&mut self, macs: &mut [Block], message: &mut Vec<u8>) -> Result<(), Fault> {
        let chunk = self.course.begin(macs.len())?;
        let blocks = macs.len() / ROWS + 1;
        message.resize(message_len(self.course.params, macs.len()), 0);
        let (corrections, answer) =
            message.split_at_mut(corrections_len(self.course.params, blocks));
        self.correct(blocks, corrections);
        self.answer(chunk, blocks, corrections).write(answer);
        self.release(blocks, macs);
        self.course.end();
        Ok(())
    }

    /// Sends as many chunks as it takes to fill `macs`, whose bits 0 are the random choice bits.
    ///
    /// The peer may do the same at the same time, if what both send fits the channel's buffer: with
    /// 4-bit digits, 2^24 COTs (64 MiB) do.
    ///
    /// # Errors
    /// `Misuse` when the length is 0 or no multiple of 128; else as [`CotReceiver::produce`], and
    /// faults of the channel.
    pub fn extend(&mut self, ch: &mut Channel, macs: &mut [Block]) -> Result<(), Fault> {
        self.course.check_batch(macs.len())?;
        let mut message = std::mem::take(&mut self.message);
        for macs in macs.chunks_mut(self.course.params.chunk()) {
            self.produce(macs, &mut message)?;
            ch.send(CHUNK, &message)?;
        }
        self.message = message;
        ch.flush()
    }

    /// All columns v of a chunk, and the corrections u_i xor u_0 of all trees but the first.
    fn correct(&mut self, blocks: usize, corrections: &mut [u8]) {
        let bits = self.course.params.digit_bits();
        for strip in Strip::of(blocks) {
            let choices = &mut self.choices[strip.index];
            for tree in 0..self.course.params.trees() {
                let columns = &mut self.columns.strip(strip.index)[bits * tree..bits * (tree + 1)];
                let sum = self.leaves.fold(tree, strip.blocks.len(), columns);
                if tree == 0 {
                    *choices = *sum;
                } else {
                    write_sum(sum, choices, &mut corrections[correction(tree, blocks, &strip)]);
                }
            }
        }
    }

    /// The answer to the challenge on `corrections`.
    fn answer(&mut self, chunk: u64, blocks: usize, corrections: &[u8]) -> Answer {
        challenge(&self.course.transcript, chunk, corrections, &mut self.chi[..blocks]);
        let mut answer = Answer { choices: Block::ZERO, columns: [Block::ZERO; ROWS] };
        for strip in Strip::of(blocks) {
            let chi = &self.chi[strip.blocks.clone()];
            answer.choices ^= gf128::inner_product(chi, &self.choices[strip.index][..chi.len()]);
            self.columns.hash(strip.index, chi, &mut answer.columns);
        }
        answer
    }

    /// The rows, with the choice bits in bit 0.
    fn release(&mut self, blocks: usize, macs: &mut [Block]) {
        for strip in Strip::of(blocks) {
            self.columns.strip(strip.index)[0] = self.choices[strip.index];
            self.columns.transpose(strip.index, &mut macs[strip.rows]);
        }
    }

    /// As [`CotSender::new`].
    pub(crate) fn new(params: Params, transcript: SessionId, seeds: &[Block]) -> CotReceiver {
        CotReceiver::from_seeds(Course::new(params, transcript), seeds)
    }

    fn from_seeds(course: Course, seeds: &[Block]) -> CotReceiver {
        let params = course.params;
        let blocks = params.chunk() / ROWS + 1;
        let strips = blocks.div_ceil(STRIP);
        CotReceiver {
            course,
            leaves: Leaves::new(params, seeds),
            columns: Columns::new(strips),
            choices: Secret::new(vec![ZERO_ROW; strips]),
            chi: vec![Block::ZERO; blocks],
            message: Vec::new(),
        }
    }
}

/// A session whose setup was done by an honest dealer.
#[cfg(test)]
pub(crate) fn dealt(params: Params, delta: Block, seed: u128) -> (CotSender, CotReceiver) {
    dealt_but(params, delta, seed, Block::new(seed + 1))
}

/// The same, with `missing` where the sender lacks a seed.
#[cfg(test)]
fn dealt_but(params: Params, delta: Block, seed: u128, missing: Block) -> (CotSender, CotReceiver) {
    let mut seeds = vec![Block::ZERO; params.trees() * params.leaves()];
    cenote_prim::Prg::new(Block::new(seed)).fill(&mut seeds);
    let course = || Course::new(params, SessionId([3; 32]));
    let receiver = CotReceiver::from_seeds(course(), &seeds);
    for tree in 0..params.trees() {
        seeds[params.leaves() * tree + pprf::digit(params, delta, tree)] = missing;
    }
    (CotSender::from_seeds(course(), delta, &seeds), receiver)
}

#[cfg(test)]
mod tests {
    use cenote_prim::Prg;

    use super::*;

    fn delta(seed: u128) -> Block {
        Prg::new(Block::new(seed)).block().with_lsb(true)
    }

    fn assert_correlated(delta: Block, keys: &[Block], macs: &[Block]) {
        for (k, m) in keys.iter().zip(macs) {
            assert!(!k.lsb());
            assert_eq!(*k, *m ^ delta.times(m.lsb()));
        }
    }

    #[test]
    fn chunks_of_any_shape_are_correlated() {
        for k in [1, 2, 4, 8] {
            let params = Params::new(k, 128 * 140).unwrap();
            let (mut s, mut r) = dealt(params, delta(1), 5);
            let mut message = Vec::new();
            for blocks in [1, 2, 63, 64, 65, 128, 140] {
                let n = 128 * blocks;
                let (mut keys, mut macs) = (vec![Block::ZERO; n], vec![Block::ZERO; n]);
                r.produce(&mut macs, &mut message).unwrap();
                assert_eq!(message.len(), message_len(params, n));
                s.absorb(&message, &mut keys).unwrap();
                assert_correlated(s.delta(), &keys, &macs);
            }
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

        /// Any chunks in any order keep the contract, and every COT is new.
        #[test]
        fn sessions_keep_the_contract(
            k in proptest::sample::select(vec![1usize, 2, 4, 8]),
            blocks in proptest::collection::vec(1usize..70, 1..4),
            seed: u64,
        ) {
            let params = Params::new(k, 128 * 70).unwrap();
            let delta = delta(seed.into());
            let (mut s, mut r) = dealt(params, delta, seed.into());
            let (mut message, mut all) = (Vec::new(), Vec::new());
            for n in blocks {
                let (mut keys, mut macs) = (vec![Block::ZERO; 128 * n], vec![Block::ZERO; 128 * n]);
                r.produce(&mut macs, &mut message).unwrap();
                s.absorb(&message, &mut keys).unwrap();
                assert_correlated(delta, &keys, &macs);
                all.extend(keys.iter().map(|key| key.to_u128()));
            }
            let made = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), made);
        }
    }

    #[test]
    fn the_punctured_leaf_does_not_matter() {
        let params = Params::new(4, 256).unwrap();
        let (mut a, mut r) = dealt(params, delta(1), 5);
        let (mut b, _) = dealt_but(params, delta(1), 5, Block::new(77));
        let (mut macs, mut message) = (vec![Block::ZERO; 256], Vec::new());
        r.produce(&mut macs, &mut message).unwrap();
        let (mut ka, mut kb) = (macs.clone(), macs.clone());
        a.absorb(&message, &mut ka).unwrap();
        b.absorb(&message, &mut kb).unwrap();
        assert_eq!(ka, kb);
    }

    #[test]
    fn choice_bits_and_macs_are_balanced() {
        let (_, mut r) = dealt(Params::default(), delta(1), 9);
        let mut macs = vec![Block::ZERO; Params::default().chunk()];
        r.produce(&mut macs, &mut Vec::new()).unwrap();
        for bit in 0..128 {
            let ones = macs.iter().filter(|m| m.to_u128() >> bit & 1 == 1).count();
            // 16320 +- 6 sigma (sigma 90.3).
            assert!((15778..=16862).contains(&ones), "bit {bit}: {ones}");
        }
    }

    #[test]
    fn misuse_is_refused_and_does_not_end_the_session() {
        let params = Params::new(4, 256).unwrap();
        let (mut s, mut r) = dealt(params, delta(1), 5);
        let mut message = Vec::new();
        for n in [0, 1, 127, 129, 384] {
            let mut blocks = vec![Block::ZERO; n];
            assert!(matches!(r.produce(&mut blocks, &mut message), Err(Fault::Misuse(_))));
            assert!(matches!(s.absorb(&message, &mut blocks), Err(Fault::Misuse(_))));
        }
        let (mut keys, mut macs) = ([Block::ZERO; 128], [Block::ZERO; 128]);
        r.produce(&mut macs, &mut message).unwrap();
        s.absorb(&message, &mut keys).unwrap();
        assert_correlated(delta(1), &keys, &macs);
    }

    #[test]
    fn the_limit_of_a_session_holds() {
        let params = Params::new(2, 128).unwrap();
        let (_, mut r) = dealt(params, delta(1), 5);
        r.course.made = MAX_COTS - 128;
        let mut macs = [Block::ZERO; 128];
        assert_eq!(r.produce(&mut macs, &mut Vec::new()), Ok(()));
        assert!(matches!(r.produce(&mut macs, &mut Vec::new()), Err(Fault::Exhausted(_))));
    }

    #[test]
    fn any_changed_byte_or_length_is_caught_and_ends_the_session() {
        let refused = Err(Fault::Misbehaved(COLUMN_CHECK));
        for k in [1, 2, 4, 8] {
            let params = Params::new(k, 256).unwrap();
            let (_, mut r) = dealt(params, delta(1), 5);
            let (mut macs, mut message) = (vec![Block::ZERO; 256], Vec::new());
            r.produce(&mut macs, &mut message).unwrap();
            let len = message.len();
            let answer = len - ANSWER;
            // First, middle and last correction; choices' hash; first and last column's hash.
            for at in [0, answer / 2, answer - 1, answer, answer + 15, answer + 16, len - 1] {
                let (mut s, _) = dealt(params, delta(1), 5);
                let mut keys = vec![Block::ONE; 256];
                let mut bad = message.clone();
                bad[at] ^= 1 << (at % 8);
                assert_eq!(s.absorb(&bad, &mut keys), refused);
                assert!(keys.iter().all(|k| *k == Block::ZERO || *k == Block::ONE));
                assert!(matches!(s.absorb(&message, &mut keys), Err(Fault::Misuse(_))));
            }
            for len in [0, 1, answer, len - 1, len + 1, len + 16] {
                let (mut s, _) = dealt(params, delta(1), 5);
                let mut bad = message.clone();
                bad.resize(len, 0);
                assert_eq!(s.absorb(&bad, &mut [Block::ZERO; 256]), refused);
            }
        }
    }

    #[test]
    fn skipped_and_repeated_chunks_are_caught() {
        let params = Params::new(4, 128).unwrap();
        let (mut a, mut r) = dealt(params, delta(1), 5);
        let (mut b, _) = dealt(params, delta(1), 5);
        let (mut macs, mut first, mut second) = ([Block::ZERO; 128], Vec::new(), Vec::new());
        r.produce(&mut macs, &mut first).unwrap();
        r.produce(&mut macs, &mut second).unwrap();
        let refused = Err(Fault::Misbehaved(COLUMN_CHECK));
        assert_eq!(a.absorb(&second, &mut macs), refused);
        assert_eq!(b.absorb(&first, &mut macs), Ok(()));
        assert_eq!(b.absorb(&first, &mut macs), refused);
    }

    #[test]
    fn another_transcript_gives_another_challenge() {
        let params = Params::new(4, 128).unwrap();
        let (mut s, mut r) = dealt(params, delta(1), 5);
        s.course.transcript = SessionId([4; 32]);
        let (mut macs, mut message) = ([Block::ZERO; 128], Vec::new());
        r.produce(&mut macs, &mut message).unwrap();
        assert_eq!(s.absorb(&message, &mut macs), Err(Fault::Misbehaved(COLUMN_CHECK)));
    }

    /// The hash of the choice bits that go out is not what the answer shows: the sacrificed block,
    /// fresh for each chunk, is added to it.
    #[test]
    fn the_answer_is_masked() {
        let params = Params::new(4, 256).unwrap();
        let (_, mut r) = dealt(params, delta(1), 5);
        let (mut macs, mut message) = (vec![Block::ZERO; 256], Vec::new());
        let mut masks = Vec::new();
        for chunk in 0..4 {
            r.produce(&mut macs, &mut message).unwrap();
            let (corrections, answer) = message.split_at(corrections_len(params, 3));
            let mut chi = [Block::ZERO; 3];
            challenge(&r.course.transcript, chunk, corrections, &mut chi);
            let choices: Vec<Block> = macs
                .chunks(128)
                .map(|macs| {
                    let bit = |(i, mac): (usize, &Block)| u128::from(mac.lsb()) << i;
                    Block::new(macs.iter().enumerate().map(bit).sum())
                })
                .collect();
            let answer = Answer::read(answer.try_into().unwrap());
            masks.push((answer.choices ^ gf128::inner_product(&chi[..2], &choices)).to_u128());
        }
        masks.push(0);
        masks.sort_unstable();
        masks.dedup();
        assert_eq!(masks.len(), 5);
    }

    /// A receiver that uses other choice bits in the last tree, and bets that Delta's digit there
    /// is `guess`: the attack that the leakage of the functionality allows.
    fn cheat(r: &mut CotReceiver, guess: usize, message: &mut Vec<u8>) {
        let params = r.course.params;
        let chunk = r.course.begin(128).unwrap();
        message.resize(message_len(params, 128), 0);
        let (corrections, answer) = message.split_at_mut(corrections_len(params, 2));
        r.correct(2, corrections);
        let offset = Prg::new(Block::new(12)).block();
        let place = corrections.len() - 32;
        corrections[place..place + 16]
            .iter_mut()
            .zip(offset.to_bytes())
            .for_each(|(byte, offset)| *byte ^= offset);
        let mut honest = r.answer(chunk, 2, corrections);
        let error = cenote_prim::gf128::mul(r.chi[0], offset);
        for bit in 0..params.digit_bits() {
            let column = ROWS - params.digit_bits() + bit;
            honest.columns[column] ^= error.times(guess >> bit & 1 == 1);
        }
        honest.write(answer);
    }

    #[test]
    fn a_wrong_correction_passes_exactly_when_the_digit_is_guessed() {
        for (k, sessions) in [(1, 600), (2, 600), (4, 640)] {
            let params = Params::new(k, 128).unwrap();
            let mut passed = 0;
            for seed in 0..sessions {
                let delta = delta(1000 + seed);
                let guess = seed as usize % params.leaves();
                let (mut s, mut r) = dealt(params, delta, 5);
                let mut message = Vec::new();
                cheat(&mut r, guess, &mut message);
                let result = s.absorb(&message, &mut [Block::ZERO; 128]);
                let right = pprf::digit(params, delta, params.trees() - 1) == guess;
                assert_eq!(result.is_ok(), right);
                passed += u32::from(right);
            }
            let mean = sessions as f64 / params.leaves() as f64;
            let sigma = (mean * (1.0 - 1.0 / params.leaves() as f64)).sqrt();
            assert!(
                (f64::from(passed) - mean).abs() < 5.0 * sigma,
                "k {k}: {passed} of {sessions}"
            );
        }
    }

    /// Over many sessions with the same choice bits and Delta, no bit of the message leans.
    #[test]
    fn messages_are_balanced() {
        let params = Params::new(4, 128).unwrap();
        let mut ones = vec![0u32; 8 * message_len(params, 128)];
        for seed in 0..400 {
            let (_, mut r) = dealt(params, delta(1), 100 + seed);
            let mut message = Vec::new();
            r.produce(&mut [Block::ZERO; 128], &mut message).unwrap();
            for (i, n) in ones.iter_mut().enumerate() {
                *n += u32::from(message[i / 8] >> (i % 8) & 1);
            }
        }
        // 200 +- 6 sigma (sigma 10).
        assert!(ones.iter().all(|n| (140..=260).contains(n)));
    }
}
