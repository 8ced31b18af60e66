//! Silent correlated OT: extensions that send almost nothing, from noise at secret places and a public code.
//!
//! Papers: Yang, Weng, Lan, Zhang, Wang, "Ferret: Fast Extension for Correlated OT with Small Communication",
//! CCS 2020 (ePrint 2020/924): the iteration from COTs to COTs, with regular noise and a local linear code of
//! ten places; Guo et al., "Half-Tree", EUROCRYPT 2023 (ePrint 2022/1431): single-point COT (`half_tree.rs`).
//! The page is docs/protocols/ot.md.
//! Roles: [`SilentReceiver`] (x, M), [`SilentSender`] (Delta, K), as in both papers.
//! Adversary: malicious, static, either party. Model: random oracle, ideal cipher for the hash of the trees,
//! LPN with regular noise over the ten-local code, a place in each tenth of the secret.
//! Parameters ([`Params`]): t trees of depth h, a secret of k COTs. An extension turns k + t h + 128 COTs into
//! t 2^h; the first of its outputs are kept for the next one. Those before the first come from SoftSpokenOT.
//! Messages of an extension, R the receiver:
//! 0. R to S, `ot.silent.choices`: d = r xor not(place) for each level of each tree, r the choice bits of COTs.
//! 1. S to R, `ot.silent.levels`: for each level its sum on the side of 0, xor K xor d Delta.
//! 2. R to S, `ot.silent.fold`: seed of coefficients chi, and X xor x*: X the sum of chi at the places, x* the
//!    choice bits of 128 COTs.
//! 3. S to R, `ot.silent.digest`: hash of what S says the fold is.
//!
//! Checks: `ot.silent.consistency` - level sums that are not those of trees with Delta at the place - in
//! `SilentReceiver::finish`, before any output. `ot.silent.choices` - stray bits. Those of SoftSpokenOT.
//! Private values: places - in d, masked by r; X, a function of the places - masked by x*; sums and Delta - in
//! the levels, one side of each masked by the K or K xor Delta that the receiver lacks; in the digest - an
//! oracle input with all of Delta in it, for a receiver that sent a wrong X.
//! Leakage and abort: a sender may ask one predicate of the places of an extension by wrong level sums; if it
//! does not hold, the session ends. The receiver learns nothing of Delta. A fold is checked before any output
//! is released.
//! Cost: set-up that of SoftSpokenOT with 8-bit digits and its message for k + t h + 128 COTs; an extension
//! ceil(t h / 8) + 32 bytes from the receiver, 16 t h + 32 from the sender; three calls of AES for each
//! leaf at the sender, two at the receiver, and 2.5 for its ten places; one product in GF(2^128).
//! Differences from the papers: outputs are never stored but made again from the trees when taken; the tree
//! hash has a key for each tree; the coefficients are the receiver's, in a message that goes anyway; they are
//! a product for each leaf and one for each tree; the ten places of an output lie in ten parts of the secret;
//! parameters harder than the published ones. Constant time in Delta and the places: yes.
//! Status: not audited. What the noise hides is an estimate of this project's own (`noise.rs`).

use cenote_net::{Channel, Fault};
use cenote_prim::{Block, Prg, RandomOracle, Secret, SessionId, bits, gf128};

use crate::base;
use crate::correlated::{MAX_COTS, Sent, Traffic};
use crate::half_tree::{Forest, Punctured, TreeKeys, Whole};
use crate::lpn::{Code, Outputs, Stream};
use crate::noise::MASK;
pub use crate::noise::Params;
use crate::softspoken::{self, CotReceiver, CotSender};
use crate::tags::{SILENT_CHOICES, SILENT_DIGEST, SILENT_FOLD, SILENT_LEVELS};

/// The check of an extension: the trees of both sides differ by Delta at the receiver's places and nowhere
/// else.
pub const TREE_CHECK: &str = "ot.silent.consistency";

/// No stray bits behind the choices.
pub const CHOICE_CHECK: &str = "ot.silent.choices";

/// Bytes of the receiver's second message: seed and masked sum.
const FOLD: usize = 32;

/// Bytes of the sender's second message.
const DIGEST: usize = 32;

/// Messages of an extension after the first.
pub(crate) const STEPS: usize = 4;

/// The protocol that the first COTs come from: 8-bit digits.
pub(crate) const BOOTSTRAP: softspoken::Params = softspoken::Params { digit_bits: 8, chunk: 32640 };

/// Payload bytes and messages of a set-up.
pub(crate) fn setup_traffic(params: Params) -> Traffic {
    let (sender, receiver) = softspoken::setup_len(BOOTSTRAP);
    let first = softspoken::extension(BOOTSTRAP, params.reserve() as u64);
    Traffic {
        sender: Sent { bytes: sender as u64, messages: base::PARTS as u64 },
        receiver: Sent { bytes: receiver as u64 + first.bytes, messages: 2 + first.messages },
    }
}

/// Payload bytes of each message of an extension, in order.
pub(crate) const fn extension(params: Params) -> [usize; STEPS] {
    [bits::packed_len(params.levels()), 16 * params.levels(), FOLD, DIGEST]
}

/// Payload bytes and messages of the extensions for the first `cots` COTs of a session.
pub(crate) const fn traffic(params: Params, cots: u64) -> Traffic {
    let extensions = cots.div_ceil(params.output());
    let [choices, levels, fold, digest] = extension(params);
    Traffic {
        sender: sent(extensions, (levels + digest) as u64),
        receiver: sent(extensions, (choices + fold) as u64),
    }
}

/// Two messages of `bytes` bytes together, as often as `times`.
const fn sent(times: u64, bytes: u64) -> Sent {
    Sent { bytes: times.saturating_mul(bytes), messages: times.saturating_mul(2) }
}

/// What both sides count, and derive from the set-up alike.
struct Course {
    params: Params,
    transcript: SessionId,
    tree_start: Block,
    code_seed: Block,
    /// Extensions that were begun.
    begun: u64,
    failed: bool,
}

impl Course {
    fn new(params: Params, setup: &SessionId) -> Course {
        let numbers = [params.trees, params.depth, params.secret];
        let oracle = RandomOracle::new("cenote 2026 ot silent v1", setup);
        let oracle = numbers.iter().fold(oracle, |oracle, number| oracle.number(*number as u64));
        let transcript = SessionId(oracle.digest());
        let tree_start = RandomOracle::new("cenote 2026 ot silent trees v1", &transcript).block();
        let code_seed = RandomOracle::new("cenote 2026 ot silent code v1", &transcript).block();
        Course { params, transcript, tree_start, code_seed, begun: 0, failed: false }
    }

    /// No fault so far.
    fn sound(&self) -> Result<(), Fault> {
        if self.failed {
            return Err(Fault::Misuse("ot: used after a fault".into()));
        }
        Ok(())
    }

    /// Opens the next extension.
    fn begin(&mut self) -> Result<(), Fault> {
        self.sound()?;
        if (self.begun + 1).saturating_mul(self.params.output()) > MAX_COTS {
            return Err(Fault::Exhausted("ot: COTs of a session".into()));
        }
        self.begun += 1;
        Ok(())
    }

    /// Until the step ends well the session counts as failed.
    fn step<T>(&mut self, state: &mut Option<T>) -> Result<T, Fault> {
        self.sound()?;
        self.failed = true;
        state.take().ok_or_else(|| Fault::Misuse("ot: a step out of its turn".into()))
    }

    fn keys(&self) -> TreeKeys {
        TreeKeys::new(self.tree_start, (self.begun - 1) * self.params.trees as u64)
    }

    fn code(&self) -> Code {
        Code::new(self.code_seed, self.begun - 1, self.params.secret)
    }

    fn digest(&self, fold: Block) -> [u8; DIGEST] {
        let oracle = RandomOracle::new("cenote 2026 ot silent digest v1", &self.transcript);
        oracle.number(self.begun).blocks(&[fold]).digest()
    }

    fn check_batch(&self, cots: usize) -> Result<(), Fault> {
        self.sound()?;
        if cots == 0 || !cots.is_multiple_of(128) {
            return Err(Fault::Misuse(format!("ot: {cots} COTs")));
        }
        Ok(())
    }
}

/// COTs that an extension takes, by use.
struct Reserve {
    secret: Secret<Vec<Block>>,
    levels: Secret<Vec<Block>>,
    mask: Secret<Vec<Block>>,
}

impl Reserve {
    fn split(params: Params, mut cots: Secret<Vec<Block>>) -> Reserve {
        let (secret, levels) = (params.secret, params.levels());
        let part = |from: usize, len: usize| cots[from..from + len].iter().copied().collect();
        let (level_cots, mask) = (part(secret, levels), part(secret + levels, MASK));
        cots[secret..].fill(Block::ZERO);
        cots.truncate(secret);
        Reserve { secret: cots, levels: level_cots, mask }
    }
}

/// The coefficients of the check: that of leaf j of tree i is the product of a factor of the tree and one
/// for each bit of j that is 1.
struct Coefficients {
    trees: Vec<Block>,
    bits: Vec<Block>,
    leaves: Vec<Block>,
}

impl Coefficients {
    fn new(params: Params, seed: Block) -> Coefficients {
        let mut prg = Prg::new(seed);
        let mut trees = vec![Block::ZERO; params.trees];
        let mut bits = vec![Block::ZERO; params.depth];
        prg.fill(&mut trees);
        prg.fill(&mut bits);
        let mut leaves = vec![Block::ONE];
        for factor in &bits {
            leaves.extend_from_within(..);
            let half = leaves.len() / 2;
            leaves[half..].iter_mut().for_each(|leaf| *leaf = gf128::mul(*leaf, *factor));
        }
        Coefficients { trees, bits, leaves }
    }

    /// The part of a tree in the fold.
    fn fold(&self, tree: usize, leaves: &[Block]) -> Block {
        gf128::mul(self.trees[tree], gf128::inner_product(&self.leaves, leaves))
    }

    /// The coefficient at a secret place.
    fn at(&self, tree: usize, place: u32) -> Block {
        self.bits.iter().enumerate().fold(self.trees[tree], |product, (i, factor)| {
            let factor = Block::ONE ^ (Block::ONE ^ *factor).times(place >> i & 1 == 1);
            gf128::mul(product, factor)
        })
    }
}

/// The sum of `blocks[i]` times X^i: 128 choice bits are one element of GF(2^128), and K = M xor x Delta holds
/// for the sums as well.
fn packed(blocks: &[Block]) -> Block {
    let powers: [Block; MASK] = std::array::from_fn(|i| Block::new(1 << i));
    gf128::inner_product(&powers, blocks)
}

/// The party with Delta and the keys K.
pub struct SilentSender {
    source: CotSender,
    course: Course,
    prg: Prg,
    reserve: Secret<Vec<Block>>,
    running: Option<SenderState>,
    keys: Stream<Whole>,
}

/// An extension whose levels were sent.
struct SenderState {
    outputs: Outputs<Whole>,
    mask: Secret<Vec<Block>>,
}

impl SilentSender {
    /// Sets a session up with a [`SilentReceiver`] on the other side. Arguments and errors as
    /// [`CotSender::setup`].
    ///
    /// # Errors
    /// `Misuse` when bit 0 of `delta` is 0; `Misbehaved`; faults of the channel.
    pub fn setup(
        ch: &mut Channel,
        session: &SessionId,
        instance: u64,
        params: Params,
        delta: Block,
        prg: &mut Prg,
    ) -> Result<SilentSender, Fault> {
        let source = CotSender::setup(ch, session, instance, BOOTSTRAP, delta, prg)?;
        SilentSender::bootstrap(ch, source, params, prg)
    }

    /// The sender whose first COTs are made by `source`, of [`BOOTSTRAP`].
    pub(crate) fn bootstrap(
        ch: &mut Channel,
        mut source: CotSender,
        params: Params,
        prg: &mut Prg,
    ) -> Result<SilentSender, Fault> {
        let mut reserve = Secret::new(vec![Block::ZERO; params.reserve()]);
        source.extend(ch, &mut reserve)?;
        Ok(SilentSender::new(source, params, reserve, prg.fork()))
    }

    fn new(source: CotSender, params: Params, reserve: Secret<Vec<Block>>, prg: Prg) -> Self {
        let course = Course::new(params, source.transcript());
        SilentSender { source, course, prg, reserve, running: None, keys: Stream::new(params) }
    }

    /// Delta; its bit 0 is 1.
    pub fn delta(&self) -> Block {
        self.source.delta()
    }

    /// As [`CotSender::hash_start`].
    pub fn hash_start(&mut self) -> Block {
        self.source.hash_start()
    }

    /// Keys that are ready.
    pub fn ready(&self) -> u64 {
        self.keys.left()
    }

    /// Starts an extension: from the receiver's choices to the sums of all levels.
    fn levels(&mut self, choices: &[u8]) -> Result<Vec<u8>, Fault> {
        let (params, delta) = (self.course.params, self.source.delta());
        self.course.begin()?;
        self.course.failed = true;
        if !bits::is_canonical(choices, params.levels()) {
            return Err(Fault::Misbehaved(CHOICE_CHECK));
        }
        let reserve = Reserve::split(params, std::mem::take(&mut self.reserve));
        let mut roots = Secret::new(vec![Block::ZERO; params.trees]);
        self.prg.fill(&mut roots);
        let forest = Whole::new(self.course.keys(), delta, roots);
        let mut sums = vec![Block::ZERO; params.levels()];
        let mut nodes = Secret::new(vec![Block::ZERO; params.leaves()]);
        for (tree, sums) in sums.chunks_mut(params.depth).enumerate() {
            forest.sums(tree, &mut nodes, sums);
        }
        for (i, (sum, key)) in sums.iter_mut().zip(&*reserve.levels).enumerate() {
            *sum ^= *key ^ delta.times(bits::get(choices, i));
        }
        let outputs = Outputs::new(params, self.course.code(), forest, reserve.secret);
        self.running = Some(SenderState { outputs, mask: reserve.mask });
        self.course.failed = false;
        Ok(Block::as_bytes(&sums).to_vec())
    }

    /// Makes what the next extension starts from, while the receiver opens the trees of this one.
    fn prepare(&mut self) {
        if let Some(state) = self.running.as_ref().filter(|_| self.reserve.is_empty()) {
            self.reserve = state.outputs.reserve();
        }
    }

    /// Ends an extension: from the receiver's part of the check to the sender's.
    fn answer(&mut self, message: &[u8; FOLD]) -> Result<[u8; DIGEST], Fault> {
        self.prepare();
        let state = self.course.step(&mut self.running)?;
        let fold = self.fold(&state, message);
        self.keys.append(state.outputs);
        self.course.failed = false;
        Ok(self.course.digest(fold))
    }

    /// What the receiver's fold is, if its places are those that its message says.
    fn fold(&self, state: &SenderState, message: &[u8; FOLD]) -> Block {
        let params = self.course.params;
        let (halves, _) = message.as_chunks();
        let (seed, sum) = (Block::from_bytes(halves[0]), Block::from_bytes(halves[1]));
        let chi = Coefficients::new(params, seed);
        let mut leaves = Secret::new(vec![Block::ZERO; params.leaves()]);
        let mut fold = packed(&state.mask) ^ gf128::mul(sum, self.source.delta());
        for tree in 0..params.trees {
            state.outputs.forest().leaves(tree, &mut leaves);
            fold ^= chi.fold(tree, &leaves);
        }
        fold
    }

    /// The next step with messages on a channel: 1 and 3 are this side's.
    pub(crate) fn step(&mut self, ch: &mut Channel) -> Result<(), Fault> {
        self.course.sound()?;
        if self.running.is_none() {
            let choices = ch.recv(SILENT_CHOICES, bits::packed_len(self.course.params.levels()))?;
            let levels = self.levels(&choices)?;
            ch.send(SILENT_LEVELS, &levels)?;
        } else {
            let mut fold = [0; FOLD];
            ch.recv_into(SILENT_FOLD, &mut fold)?;
            let digest = self.answer(&fold)?;
            ch.send(SILENT_DIGEST, &digest)?;
        }
        ch.flush()?;
        self.prepare();
        Ok(())
    }

    /// Fills `keys` with what is ready, without a message.
    ///
    /// # Errors
    /// `Misuse` when the length is 0, no multiple of 128 or more than is ready, or after a fault.
    pub fn take(&mut self, keys: &mut [Block]) -> Result<(), Fault> {
        self.course.check_batch(keys.len())?;
        give(&mut self.keys, keys)
    }

    /// Fills `keys`, whose bits 0 are 0, with as many extensions as it takes.
    ///
    /// # Errors
    /// `Misuse` when the length is 0 or no multiple of 128, or after a fault; `Misbehaved`; `Exhausted`;
    /// faults of the channel. After a fault no key may be used.
    pub fn extend(&mut self, ch: &mut Channel, mut keys: &mut [Block]) -> Result<(), Fault> {
        self.course.check_batch(keys.len())?;
        while !keys.is_empty() {
            if self.keys.left() == 0 {
                self.step(ch)?;
                self.step(ch)?;
            }
            let (now, later) = keys.split_at_mut(at_most(&self.keys, keys.len()));
            self.keys.give(now);
            keys = later;
        }
        Ok(())
    }
}

/// As many outputs as are ready, up to `len`.
fn at_most<F: Forest>(stream: &Stream<F>, len: usize) -> usize {
    stream.left().min(len as u64) as usize
}

/// Gives `out`, if there is so much.
fn give<F: Forest>(stream: &mut Stream<F>, out: &mut [Block]) -> Result<(), Fault> {
    if stream.left() < out.len() as u64 {
        return Err(Fault::Misuse(format!(
            "ot: {} COTs of {} that are ready",
            out.len(),
            stream.left()
        )));
    }
    stream.give(out);
    Ok(())
}

/// The party with the choice bits x and the MACs M.
pub struct SilentReceiver {
    source: CotReceiver,
    course: Course,
    prg: Prg,
    reserve: Secret<Vec<Block>>,
    chosen: Option<Chosen>,
    opened: Option<Opened>,
    macs: Stream<Punctured>,
}

/// An extension whose choices were sent.
struct Chosen {
    forest: Punctured,
    reserve: Reserve,
}

/// An extension whose trees were opened.
struct Opened {
    outputs: Outputs<Punctured>,
    digest: Secret<[u8; DIGEST]>,
}

impl SilentReceiver {
    /// Sets a session up with a [`SilentSender`] on the other side, which has the same `instance`.
    ///
    /// # Errors
    /// `Misbehaved`; faults of the channel.
    pub fn setup(
        ch: &mut Channel,
        session: &SessionId,
        instance: u64,
        params: Params,
        prg: &mut Prg,
    ) -> Result<SilentReceiver, Fault> {
        let source = CotReceiver::setup(ch, session, instance, BOOTSTRAP, prg)?;
        SilentReceiver::bootstrap(ch, source, params, prg)
    }

    /// The receiver whose first COTs are made by `source`, of [`BOOTSTRAP`].
    pub(crate) fn bootstrap(
        ch: &mut Channel,
        mut source: CotReceiver,
        params: Params,
        prg: &mut Prg,
    ) -> Result<SilentReceiver, Fault> {
        let mut reserve = Secret::new(vec![Block::ZERO; params.reserve()]);
        source.extend(ch, &mut reserve)?;
        Ok(SilentReceiver::new(source, params, reserve, prg.fork()))
    }

    fn new(source: CotReceiver, params: Params, reserve: Secret<Vec<Block>>, prg: Prg) -> Self {
        let course = Course::new(params, source.transcript());
        let macs = Stream::new(params);
        SilentReceiver { source, course, prg, reserve, chosen: None, opened: None, macs }
    }

    /// As [`CotSender::hash_start`].
    pub fn hash_start(&mut self) -> Block {
        self.source.hash_start()
    }

    /// MACs that are ready.
    pub fn ready(&self) -> u64 {
        self.macs.left()
    }

    /// Starts an extension: draws the places and writes the choices.
    fn choose(&mut self) -> Result<Vec<u8>, Fault> {
        if self.chosen.is_some() || self.opened.is_some() {
            return Err(Fault::Misuse("ot: an extension in another one".into()));
        }
        self.course.begin()?;
        let params = self.course.params;
        let reserve = Reserve::split(params, std::mem::take(&mut self.reserve));
        let mut random = Secret::new(vec![0; 4 * params.trees]);
        self.prg.fill_bytes(&mut random);
        let mask = params.leaves() as u32 - 1;
        let places: Secret<Vec<u32>> =
            random.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word) & mask).collect();
        let choices = bits::pack((0..params.levels()).map(|i| {
            let bit = places[i / params.depth] >> (i % params.depth) & 1 == 1;
            reserve.levels[i].lsb() ^ !bit
        }));
        let forest = Punctured::new(self.course.keys(), params.depth, places);
        self.chosen = Some(Chosen { forest, reserve });
        Ok(choices)
    }

    /// Opens the trees by the sums of their levels; writes this side's part of the check.
    fn open(&mut self, levels: &[u8]) -> Result<[u8; FOLD], Fault> {
        let Chosen { mut forest, reserve } = self.course.step(&mut self.chosen)?;
        let params = self.course.params;
        let mut sums: Secret<Vec<Block>> =
            levels.as_chunks().0.iter().map(|bytes| Block::from_bytes(*bytes)).collect();
        sums.iter_mut().zip(&*reserve.levels).for_each(|(sum, mac)| *sum ^= *mac);
        let seed = self.prg.block();
        let chi = Coefficients::new(params, seed);
        let mut leaves = Secret::new(vec![Block::ZERO; params.leaves()]);
        let (mut fold, mut at_places) = (packed(&reserve.mask), Block::ZERO);
        for (tree, sums) in sums.chunks(params.depth).enumerate() {
            forest.open(tree, sums, &mut leaves);
            fold ^= chi.fold(tree, &leaves);
            at_places ^= chi.at(tree, forest.places()[tree]);
        }
        let bit = |(i, mac): (usize, &Block)| u128::from(mac.lsb()) << i;
        let mask = Block::new(reserve.mask.iter().enumerate().map(bit).sum());
        let digest = Secret::new(self.course.digest(fold));
        let outputs = Outputs::new(params, self.course.code(), forest, reserve.secret);
        self.opened = Some(Opened { outputs, digest });
        self.course.failed = false;
        let message = [seed.to_bytes(), (at_places ^ mask).to_bytes()];
        Ok(*message.as_flattened().first_chunk().expect("two blocks"))
    }

    /// Makes what the next extension starts from, while the sender checks this one. Nothing is released.
    fn prepare(&mut self) {
        if let Some(opened) = self.opened.as_ref().filter(|_| self.reserve.is_empty()) {
            self.reserve = opened.outputs.reserve();
        }
    }

    /// Ends an extension: its outputs become ready.
    fn finish(&mut self, digest: &[u8; DIGEST]) -> Result<(), Fault> {
        self.prepare();
        let Opened { outputs, digest: own } = self.course.step(&mut self.opened)?;
        if !bool::from(subtle::ConstantTimeEq::ct_eq(&own[..], &digest[..])) {
            return Err(Fault::Misbehaved(TREE_CHECK));
        }
        self.macs.append(outputs);
        self.course.failed = false;
        Ok(())
    }

    /// The next step with messages on a channel: 0, 2 and 4 are this side's.
    pub(crate) fn step(&mut self, ch: &mut Channel) -> Result<(), Fault> {
        self.course.sound()?;
        if self.chosen.is_some() {
            let levels = ch.recv(SILENT_LEVELS, 16 * self.course.params.levels())?;
            let fold = self.open(&levels)?;
            ch.send(SILENT_FOLD, &fold)?;
        } else if self.opened.is_some() {
            let mut digest = [0; DIGEST];
            ch.recv_into(SILENT_DIGEST, &mut digest)?;
            return self.finish(&digest);
        } else {
            let choices = self.choose()?;
            ch.send(SILENT_CHOICES, &choices)?;
        }
        ch.flush()?;
        self.prepare();
        Ok(())
    }

    /// Fills `macs` with what is ready, without a message.
    ///
    /// # Errors
    /// `Misuse` when the length is 0, no multiple of 128 or more than is ready, or after a fault.
    pub fn take(&mut self, macs: &mut [Block]) -> Result<(), Fault> {
        self.course.check_batch(macs.len())?;
        give(&mut self.macs, macs)
    }

    /// Fills `macs`, whose bits 0 are the choice bits, with as many extensions as it takes.
    ///
    /// # Errors
    /// `Misuse` when the length is 0 or no multiple of 128, or after a fault; `Misbehaved`; `Exhausted`;
    /// faults of the channel.
    pub fn extend(&mut self, ch: &mut Channel, mut macs: &mut [Block]) -> Result<(), Fault> {
        self.course.check_batch(macs.len())?;
        while !macs.is_empty() {
            if self.macs.left() == 0 {
                (0..3).try_for_each(|_| self.step(ch))?;
            }
            let (now, later) = macs.split_at_mut(at_most(&self.macs, macs.len()));
            self.macs.give(now);
            macs = later;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(seed: u128) -> Block {
        Prg::new(Block::new(seed)).block().with_lsb(true)
    }

    /// A session whose set-up was done by an honest dealer.
    fn dealt(params: Params, delta: Block, seed: u128) -> (SilentSender, SilentReceiver) {
        let inner = softspoken::Params::new(1, 128).expect("allowed");
        let (sender, receiver) = softspoken::dealt(inner, delta, seed);
        let mut prg = Prg::new(Block::new(seed));
        let mut macs = Secret::new(vec![Block::ZERO; params.reserve()]);
        prg.fill(&mut macs);
        let keys = macs.iter().map(|mac| *mac ^ delta.times(mac.lsb())).collect();
        let sender = SilentSender::new(sender, params, keys, prg.fork());
        (sender, SilentReceiver::new(receiver, params, macs, prg.fork()))
    }

    fn extend(s: &mut SilentSender, r: &mut SilentReceiver) -> Result<(), Fault> {
        let choices = r.choose()?;
        let fold = r.open(&s.levels(&choices)?)?;
        r.finish(&s.answer(&fold)?)
    }

    fn assert_correlated(delta: Block, keys: &[Block], macs: &[Block]) {
        for (k, m) in keys.iter().zip(macs) {
            assert_eq!((*k, k.lsb()), (*m ^ delta.times(m.lsb()), false));
        }
    }

    #[test]
    fn extensions_are_correlated_and_every_cot_is_new() {
        for params in [Params::tiny(), Params::shallow(), Params::explicit(40, 5, 100)] {
            let (mut s, mut r) = dealt(params, delta(1), 5);
            let mut all = Vec::new();
            for round in 0..12 {
                extend(&mut s, &mut r).unwrap();
                assert_eq!((s.ready(), r.ready()), (params.output(), params.output()));
                // All of it, in pieces of different sizes on both sides.
                let n = params.output() as usize;
                let (mut keys, mut macs) = (vec![Block::ZERO; n], vec![Block::ZERO; n]);
                keys.chunks_mut(128 << (round % 3)).for_each(|keys| s.take(keys).unwrap());
                macs.chunks_mut(128).for_each(|macs| r.take(macs).unwrap());
                assert_correlated(delta(1), &keys, &macs);
                all.extend(macs);
            }
            let ones = all.iter().filter(|mac| mac.lsb()).count() as f64;
            let (mean, sigma) = (all.len() as f64 / 2.0, (all.len() as f64).sqrt() / 2.0);
            assert!((ones - mean).abs() < 6.0 * sigma, "{ones} of {}", all.len());
            let mut distinct: Vec<u128> = all.iter().map(|mac| mac.to_u128()).collect();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), all.len());
        }
    }

    /// What is reserved for the next extension is not given as well.
    #[test]
    fn the_reserve_and_the_outputs_are_all_there_is_once() {
        let params = Params::tiny();
        let (mut s, mut r) = dealt(params, delta(1), 5);
        extend(&mut s, &mut r).unwrap();
        let mut keys = vec![Block::ZERO; params.output() as usize];
        s.take(&mut keys).unwrap();
        assert_correlated(delta(1), &s.reserve, &r.reserve);
        let mut all: Vec<u128> = keys.iter().chain(&*s.reserve).map(|key| key.to_u128()).collect();
        let made = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!((all.len(), s.reserve.len()), (made, params.reserve()));
    }

    #[test]
    fn any_changed_byte_is_caught_and_ends_the_session() {
        let params = Params::tiny();
        let caught = Err(Fault::Misbehaved(TREE_CHECK));
        for message in 0..4 {
            let len = [bits::packed_len(params.levels()), 16 * params.levels(), FOLD, DIGEST];
            for at in [0, 1, len[message] / 2, len[message] - 16, len[message] - 1] {
                let change = |i: usize, bytes: &mut [u8]| {
                    if i == message {
                        // Bit 0 of a sum of leaves is of no use: that of a leaf is fixed.
                        bytes[at] ^= 2 << (at % 7);
                    }
                };
                let (mut s, mut r) = dealt(params, delta(1), 5);
                let mut choices = r.choose().unwrap();
                change(0, &mut choices);
                let mut levels = s.levels(&choices).unwrap();
                change(1, &mut levels);
                let mut fold = r.open(&levels).unwrap();
                change(2, &mut fold);
                let mut digest = s.answer(&fold).unwrap();
                change(3, &mut digest);
                assert_eq!(r.finish(&digest), caught, "message {message}, byte {at}");
                assert_eq!(r.ready(), 0);
                assert!(matches!(r.take(&mut [Block::ZERO; 128]), Err(Fault::Misuse(_))));
                assert!(matches!(r.choose(), Err(Fault::Misuse(_))));
                assert!(matches!(r.finish(&digest), Err(Fault::Misuse(_))));
            }
        }
    }

    #[test]
    fn stray_choice_bits_end_the_session() {
        let params = Params::shallow();
        let (mut s, mut r) = dealt(params, delta(1), 5);
        let mut choices = r.choose().unwrap();
        *choices.last_mut().unwrap() |= 0x80;
        assert_eq!(s.levels(&choices), Err(Fault::Misbehaved(CHOICE_CHECK)));
        assert!(matches!(s.levels(&choices), Err(Fault::Misuse(_))));
        assert!(matches!(s.take(&mut [Block::ZERO; 128]), Err(Fault::Misuse(_))));
    }

    #[test]
    fn extensions_have_oracles_of_their_own() {
        let (mut s, mut r) = dealt(Params::tiny(), delta(1), 5);
        extend(&mut s, &mut r).unwrap();
        let mut first = [Block::ZERO; 16];
        Whole::new(s.course.keys(), delta(1), Secret::new(vec![Block::ONE])).leaves(0, &mut first);
        let digest = s.course.digest(Block::ONE);
        extend(&mut s, &mut r).unwrap();
        let mut second = [Block::ZERO; 16];
        Whole::new(s.course.keys(), delta(1), Secret::new(vec![Block::ONE])).leaves(0, &mut second);
        assert!(first.iter().zip(&second).all(|(a, b)| a != b));
        assert_ne!(digest, s.course.digest(Block::ONE));
        let (setup, other) = (SessionId([1; 32]), SessionId([2; 32]));
        let courses =
            [(Params::tiny(), setup), (Params::tiny(), other), (Params::shallow(), setup)]
                .map(|(params, setup)| Course::new(params, &setup));
        for (i, a) in courses.iter().enumerate() {
            for b in &courses[i + 1..] {
                assert!(a.transcript != b.transcript && a.tree_start != b.tree_start);
                assert!(a.code_seed != b.code_seed && a.code_seed != b.tree_start);
            }
        }
    }

    #[test]
    fn misuse_is_refused_and_does_not_end_the_session() {
        let params = Params::tiny();
        let (mut s, mut r) = dealt(params, delta(1), 5);
        assert!(matches!(s.take(&mut [Block::ZERO; 128]), Err(Fault::Misuse(_))));
        extend(&mut s, &mut r).unwrap();
        for n in [0, 1, 127, 129, params.output() as usize + 128] {
            let mut blocks = vec![Block::ZERO; n];
            assert!(matches!(s.take(&mut blocks), Err(Fault::Misuse(_))));
            assert!(matches!(r.take(&mut blocks), Err(Fault::Misuse(_))));
        }
        let choices = r.choose().unwrap();
        assert!(matches!(r.choose(), Err(Fault::Misuse(_))));
        let fold = r.open(&s.levels(&choices).unwrap()).unwrap();
        r.finish(&s.answer(&fold).unwrap()).unwrap();
        let n = 2 * params.output() as usize;
        let (mut keys, mut macs) = (vec![Block::ZERO; n], vec![Block::ZERO; n]);
        s.take(&mut keys).unwrap();
        r.take(&mut macs).unwrap();
        assert_correlated(delta(1), &keys, &macs);
    }

    #[test]
    fn the_limit_of_a_session_holds() {
        let (mut s, mut r) = dealt(Params::tiny(), delta(1), 5);
        let most = MAX_COTS / Params::tiny().output();
        (s.course.begun, r.course.begun) = (most - 1, most - 1);
        extend(&mut s, &mut r).unwrap();
        assert!(matches!(r.choose(), Err(Fault::Exhausted(_))));
        let choices = vec![0; bits::packed_len(Params::tiny().levels())];
        assert!(matches!(s.levels(&choices), Err(Fault::Exhausted(_))));
    }

    /// The receiver's sum over its places is not what it shows: 128 choice bits, fresh for each extension,
    /// are added to it.
    #[test]
    fn the_sum_over_the_places_is_masked() {
        let params = Params::tiny();
        let (mut s, mut r) = dealt(params, delta(1), 5);
        let mut masks = vec![0];
        for _ in 0..4 {
            let choices = r.choose().unwrap();
            let fold = r.open(&s.levels(&choices).unwrap()).unwrap();
            let [seed, sum] = *fold.as_chunks().0 else { panic!("two blocks") };
            let chi = Coefficients::new(params, Block::from_bytes(seed));
            let places = r.opened.as_ref().unwrap().outputs.forest().places();
            let at = |(tree, place): (usize, &u32)| {
                let leaf = chi.leaves[*place as usize];
                let coefficient = gf128::mul(chi.trees[tree], leaf);
                assert_eq!(coefficient, chi.at(tree, *place));
                coefficient
            };
            let shown = places.iter().enumerate().map(at).fold(Block::ZERO, |a, b| a ^ b);
            masks.push((shown ^ Block::from_bytes(sum)).to_u128());
            r.finish(&s.answer(&fold).unwrap()).unwrap();
        }
        masks.sort_unstable();
        masks.dedup();
        assert_eq!(masks.len(), 5);
    }

    /// A sender that changes the last level of tree 0 and bets on a bit of the place there: the attack that
    /// the leakage of the functionality allows.
    #[test]
    fn a_wrong_level_passes_exactly_when_the_place_is_guessed() {
        let params = Params::shallow();
        let mut passed = 0;
        const RUNS: u128 = 800;
        for seed in 0..RUNS {
            let (mut s, mut r) = dealt(params, delta(1000 + seed), 7 * seed);
            let choices = r.choose().unwrap();
            let mut levels = s.levels(&choices).unwrap();
            let error = Prg::new(Block::new(12)).block();
            levels[16..32].iter_mut().zip(error.to_bytes()).for_each(|(byte, e)| *byte ^= e);
            let message = r.open(&levels).unwrap();
            // The missing leaf and its sibling take the error; they share the lower bit of their places.
            let guess = seed as u32 & 1;
            let chi =
                Coefficients::new(params, Block::from_bytes(message[..16].try_into().unwrap()));
            let at = chi.at(0, guess) ^ chi.at(0, guess | 2);
            let fold = s.fold(s.running.as_ref().unwrap(), &message) ^ gf128::mul(at, error);
            let right = r.opened.as_ref().unwrap().outputs.forest().places()[0] & 1 == guess;
            let expected = if right { Ok(()) } else { Err(Fault::Misbehaved(TREE_CHECK)) };
            assert_eq!(r.finish(&s.course.digest(fold)), expected);
            passed += u32::from(right);
        }
        // 400 +- 5 sigma (sigma 14.1).
        assert!((330..=470).contains(&passed), "{passed}");
    }

    /// Over many sessions with the same Delta, places and trees, no bit of any message leans.
    #[test]
    fn messages_are_balanced() {
        let params = Params::shallow();
        let mut ones = Vec::new();
        for seed in 0..400 {
            let (mut s, mut r) = dealt(params, delta(1), 100 + seed);
            let coefficients = r.prg.fork();
            (s.prg, r.prg) = (Prg::new(Block::new(1)), Prg::new(Block::new(2)));
            let choices = r.choose().unwrap();
            let levels = s.levels(&choices).unwrap();
            r.prg = coefficients;
            let fold = r.open(&levels).unwrap();
            let digest = s.answer(&fold).unwrap();
            // Without the padding bits of the choices.
            let all = [&levels[..], &fold, &digest, &choices[..choices.len() - 1]].concat();
            ones.resize(8 * all.len(), 0u32);
            for (i, n) in ones.iter_mut().enumerate() {
                *n += u32::from(all[i / 8] >> (i % 8) & 1);
            }
        }
        // 200 +- 6 sigma (sigma 10).
        assert!(ones.iter().all(|n| (140..=260).contains(n)));
    }
}
