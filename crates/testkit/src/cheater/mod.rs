//! A second, independent implementation of the `wrk` wire protocol that cheats on command.
//!
//! It speaks to an honest session of the engine, checks nothing that it receives, and goes on after
//! its cheat as well as it can: what frames changed on their way cannot show, because the honest
//! code behind them gives up first. Without a cheat it is a test of the protocol's description: with
//! and without a pool, over several requests, with several chunks in flight.

mod at_rest;
pub mod jimu;
mod online;
mod session;
mod supply;

use std::collections::{BTreeMap, VecDeque};

use cenote_engine::backends::wrk::share::{Share, conventional_delta};
use cenote_engine::{Fault, Role, WrkParams};
use cenote_net::Channel;
use cenote_ot::softspoken::CotReceiver;
use cenote_ot::{Bases, Choice, CotSend};
use cenote_prim::gf128::LinearHash;
use cenote_prim::mitccrh::Mitccrh;
use cenote_prim::{Block, Prg, RandomOracle, SessionId, bits};

pub use at_rest::{AtRest, Change};
use online::{Chunk, Gate, Input, Wire};
pub use session::{Outcome, Plan, Seen, Setting};

/// The deviation from the protocol that a [`Cheater`] makes, once: at one of its occasions, counted
/// from 0 through the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cheat {
    /// Nothing.
    None,
    /// Names another program in the handshake of the job.
    OtherProgram,
    /// Sends a first base-OT point that is not one.
    BadPoint,
    /// In a message of correlated OT: sends corrections that belong to two vectors of choice bits.
    InconsistentChoices,
    /// Garbler, in a toss: opens a coin other than the one committed to.
    BiasedCoin,
    /// In a batch of leaky ANDs: moves this many of its blocks G, each by a random difference.
    WrongG(usize),
    /// In a batch: makes its blocks G under another Delta.
    WrongDelta,
    /// In a batch: flips a bit d.
    WrongD,
    /// In a batch: sets a bit after the last bit d.
    StrayD,
    /// Garbler: as [`Cheat::WrongDelta`], then shows the peer's own tag in the test of equality.
    EchoTag,
    /// In a batch: tests another digest.
    WrongDigest,
    /// In a test of equality: sends the identity for its point.
    IdentityPoint,
    /// In a test of equality: sends a wrong tag.
    WrongTag,
    /// In a refill: shows a false bit in the opening of the bucket differences.
    FalseBucketBit,
    /// In an input of the peer: shows a false bit of its share of a mask.
    FalseInputMask,
    /// In a chunk: shows a false bit in Beaver's step.
    FalseBeaverBit,
    /// Shows a false bit of an output mask.
    FalseOutputMask,
    /// In an opening: shows the bits with a proof made for the place of another opening.
    MisplacedOpening,
    /// In an opening: sets a bit after the last one, with a proof that fits.
    StrayOpening,
    /// In an input of its own: sets a bit after the last masked bit.
    StrayInputBit,
    /// Garbler, in a chunk: flips the colour in one block of the table of the last AND, the first or
    /// the second block.
    TableColour(usize),
    /// Garbler, in a chunk: flips another bit of every table block.
    TableBits,
    /// Garbler, in a chunk: flips the colour bit of the last AND.
    ColourBit,
    /// Garbler, in a chunk: flips the colour bits of ANDs that add up to nothing in D_M if its seed is
    /// the one of the last report.
    ForeseenSeed,
    /// Garbler, in a chunk: sets a bit after the last colour bit.
    StrayColour,
    /// Garbler: sends a wrong label for an input of the evaluator.
    InputLabel,
    /// Garbler, in a chunk: sends a wrong answer to the report.
    WrongAnswer,
    /// In a chunk: takes the first wire of the session for an input of the last AND.
    OtherCircuit,
    /// Evaluator, in a chunk: reports a false masked value, with the hash of the labels it has.
    FalseMasked,
    /// Evaluator, in a chunk: reports true masked values with a false hash of labels.
    FalseLabelHash,
    /// Evaluator, in a chunk: sets a bit after the last masked value.
    StrayMasked,
}

impl Cheat {
    /// Every cheat, with every value of its argument that the table tries.
    pub const ALL: &[Cheat] = &[
        Cheat::OtherProgram,
        Cheat::BadPoint,
        Cheat::InconsistentChoices,
        Cheat::BiasedCoin,
        Cheat::WrongG(1),
        Cheat::WrongG(2),
        Cheat::WrongG(64),
        Cheat::WrongDelta,
        Cheat::WrongD,
        Cheat::StrayD,
        Cheat::EchoTag,
        Cheat::WrongDigest,
        Cheat::IdentityPoint,
        Cheat::WrongTag,
        Cheat::FalseBucketBit,
        Cheat::FalseInputMask,
        Cheat::FalseBeaverBit,
        Cheat::FalseOutputMask,
        Cheat::MisplacedOpening,
        Cheat::StrayOpening,
        Cheat::StrayInputBit,
        Cheat::TableColour(0),
        Cheat::TableColour(1),
        Cheat::TableBits,
        Cheat::ColourBit,
        Cheat::ForeseenSeed,
        Cheat::StrayColour,
        Cheat::InputLabel,
        Cheat::WrongAnswer,
        Cheat::OtherCircuit,
        Cheat::FalseMasked,
        Cheat::FalseLabelHash,
        Cheat::StrayMasked,
    ];
}

/// The cheating party: a [`cenote_engine::Party`] that runs any job.
pub struct Cheater {
    channel: Channel,
    role: Role,
    session: SessionId,
    params: WrkParams,
    cheat: Cheat,
    /// Occasions to cheat until it does, and jobs begun when it did.
    occasions_left: usize,
    cheated_in: Option<usize>,
    jobs: usize,
    prg: Prg,
    delta: Block,
    keys: Box<dyn CotSend>,
    macs: CotReceiver,
    tosses: u64,
    /// Openings shown to the peer.
    shown: u64,
    leaky: [Mitccrh; 2],
    half_gates: Mitccrh,
    pool: Vec<supply::Leaky>,
    triples: VecDeque<Triple>,
    shares: VecDeque<Share>,
    /// Wires so far, and the gates recorded of the next chunk.
    wires: Vec<Wire>,
    /// Those since the last chunk.
    inputs: Vec<Input>,
    kept: BTreeMap<String, Vec<usize>>,
    /// What was kept under each name before.
    older: BTreeMap<String, Vec<usize>>,
    /// Calls that are to wake packed wires of this request before those of one are changed, and how.
    at_wake: Option<(u64, AtRest)>,
    /// The last packed cell of each length that woke.
    woken_cells: BTreeMap<usize, Vec<usize>>,
    /// How often kept wires came back.
    woken: u64,
    /// Labels of kept wires come back moved by Delta.
    relabelled: bool,
    /// Reveals so far, and what changes after one of them: see [`Cheater::change_after`].
    reveals: u64,
    changes: Option<(u64, Option<u64>, Change)>,
    /// The wires there were then, how often gates are to take one of them until one is changed, and how.
    due: Option<(usize, u64, Change)>,
    gates: Vec<Gate>,
    ands: usize,
    chunks: u64,
    /// Chunks garbled and not answered for, or not yet evaluated.
    waiting: VecDeque<Chunk>,
    /// Evaluator: for each evaluated chunk, whether an answer to its report is due.
    unanswered: VecDeque<bool>,
    /// Evaluator: answers received.
    answers: usize,
    /// Garbler: the seed of the last report.
    last_seed: Block,
}

/// A ready triple with a spare share for the mask of the gate's output.
#[derive(Clone, Copy)]
struct Triple {
    x: Share,
    y: Share,
    z: Share,
    mask: Share,
}

impl Cheater {
    /// A session as the engine's `WrkSession` sets it up, in which this side cheats at one occasion.
    ///
    /// # Errors
    /// Whatever ends the session: what the cheater sees.
    // Long: a field a line.
    pub fn set_up(
        mut channel: Channel,
        role: Role,
        session: SessionId,
        params: WrkParams,
        (cheat, at): (Cheat, usize),
        mut prg: Prg,
    ) -> Result<Cheater, Fault> {
        let delta = conventional_delta(prg.block(), role);
        // Its wrong corrections are those of SoftSpokenOT, so it reaches inside.
        let Choice::SoftSpoken(inner) = params.ot else {
            return Err(Fault::Misuse("the cheater knows SoftSpokenOT alone".into()));
        };
        if cheat == Cheat::BadPoint {
            supply::send_bad_point(&mut channel, role)?;
        }
        let bases = Bases::run(&mut channel, &session, role, delta, &mut prg)?;
        let (keys, macs) = bases.setup(&mut channel, &session, role, inner, &mut prg)?;
        let nothing = || Mitccrh::new(Block::ZERO);
        let mut cheater = Cheater {
            channel,
            role,
            session,
            params,
            cheat,
            occasions_left: at,
            cheated_in: None,
            jobs: 0,
            prg,
            delta,
            keys: Box::new(keys),
            macs,
            tosses: 0,
            shown: 0,
            leaky: [nothing(), nothing()],
            half_gates: nothing(),
            pool: Vec::new(),
            triples: VecDeque::new(),
            shares: VecDeque::new(),
            wires: Vec::new(),
            inputs: Vec::new(),
            kept: BTreeMap::new(),
            older: BTreeMap::new(),
            at_wake: None,
            woken_cells: BTreeMap::new(),
            woken: 0,
            relabelled: false,
            reveals: 0,
            changes: None,
            due: None,
            gates: Vec::new(),
            ands: 0,
            chunks: 0,
            waiting: VecDeque::new(),
            unanswered: VecDeque::new(),
            answers: 0,
            last_seed: Block::ZERO,
        };
        let start = cheater.toss(None)?;
        cheater.leaky = [role, role.peer()].map(|direction| {
            let oracle = RandomOracle::new("cenote 2026 engine leaky-and start v1", &session);
            Mitccrh::new(oracle.number(direction as u64).blocks(&[start]).block())
        });
        let oracle = RandomOracle::new("cenote 2026 engine half-gate start v1", &session);
        cheater.half_gates = Mitccrh::new(oracle.blocks(&[start]).block());
        Ok(cheater)
    }

    /// Whether to cheat at this occasion for `cheat`.
    fn cheats(&mut self, cheat: Cheat) -> bool {
        self.cheat == cheat && self.is_time()
    }

    /// Whether this occasion is the one at which the cheat happens.
    fn is_time(&mut self) -> bool {
        let now = self.occasions_left == 0 && self.cheated_in.is_none();
        self.occasions_left = self.occasions_left.saturating_sub(1);
        if now {
            self.cheated_in = Some(self.jobs);
        }
        now
    }

    /// The message that opens the bits under `macs`; with `lie`, the first bit is false.
    fn open_bits(&mut self, macs: &[Block], lie: bool) -> Vec<u8> {
        let mut message = bits::pack(macs.iter().map(|mac| mac.lsb()));
        if lie {
            message[0] ^= 1;
        }
        if self.cheats(Cheat::StrayOpening) {
            set_stray_bit(&mut message, macs.len());
        }
        let place = self.shown ^ u64::from(self.cheats(Cheat::MisplacedOpening));
        self.shown += 1;
        let oracle = RandomOracle::new("cenote 2026 engine opening v1", &self.session);
        let seed = oracle.number(self.role as u64).number(place).bytes(&message).block();
        let mut hash = LinearHash::new(seed);
        let macs: Vec<Block> = macs.iter().map(|mac| self.cut_mac(*mac)).collect();
        hash.absorb(&macs);
        message.extend_from_slice(&hash.finish().to_bytes());
        message
    }

    /// What counts of a MAC on an own bit: a garbler's is cut as leaky ANDs are.
    fn cut_mac(&self, mac: Block) -> Block {
        if self.role == Role::Garbler { self.cut(mac) } else { mac }
    }
}

/// Sets a bit after the last of `n` packed bits.
///
/// # Panics
/// If they fill their bytes: then the cheater has no such cheat.
fn set_stray_bit(packed: &mut [u8], n: usize) {
    assert!(!n.is_multiple_of(8), "{n} bits leave no room for a stray one");
    *packed.last_mut().expect("there are bits") |= 1 << 7;
}
