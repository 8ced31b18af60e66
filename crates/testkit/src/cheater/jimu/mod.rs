//! A second implementation of both sides of `jimu` that cheats on command.
//!
//! As the cheater of `wrk` it checks nothing that it receives and goes on after its cheat. It runs
//! any [`Job`](cenote_engine::Job) as a [`Party`](cenote_engine::Party), over the pieces of the
//! engine that do no I/O, in sessions without a handshake and with tiny pools, which an honest
//! `JimuSession` runs as well as large ones: see [`tiny`].
//!
//! Coins depend on both sides' randomness, which is fixed: a rehearsal without a cheat tells which
//! gates will be checked and which will be used ([`History`]), and the session is then run again
//! with a flaw in just those.

mod cheat;
mod compact;
mod evaluator;
mod garbler;
mod input_sums;
mod session;
mod supply;
mod talk;

use std::sync::OnceLock;

use cenote_engine::backends::jimu::PoolSpec;
use cenote_engine::backends::jimu::garbled_core::Shape;
use cenote_engine::parts;
use cenote_engine::{Fault, JimuParams, JimuSwitches, PoolChoice, Rho, Role};
use cenote_net::Channel;
use cenote_prim::commit::commit;
use cenote_prim::{Block, Prg, SessionId};

pub use cheat::{Cheat, Code, Flaw, Plan, Which};
pub use session::{Outcome, expected, plan_of, rehearse, run_session};
pub use talk::Talk;

/// The fate of the items of one kind, by the number of their first wire.
#[derive(Clone, Default, Debug)]
pub struct Items {
    /// Those that were made, in order.
    pub made: Vec<u64>,
    /// Those that were checked.
    pub checked: Vec<u64>,
    /// Members of the buckets, in the order in which these are used.
    pub buckets: Vec<Vec<u64>>,
    /// Buckets used so far.
    pub used: usize,
}

impl Items {
    /// Members of the buckets that were used.
    pub fn used(&self) -> impl Iterator<Item = &[u64]> {
        self.buckets[..self.used].iter().map(Vec::as_slice)
    }

    /// One item of this kind.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn find(&self, which: Which) -> u64 {
        match which {
            Which::First => self.made[0],
            Which::Checked => self.checked[self.checked.len() / 2],
            Which::Used(member) => self.buckets[self.used / 2][member],
        }
    }
}

/// The record of what a garbling cheater saw of the coins, and the labels that it knows.
#[derive(Clone, Default, Debug)]
pub struct History {
    /// ANDs.
    pub gates: Items,
    /// Cores of multiplexers.
    pub cores: Items,
    /// Escrow gadgets.
    pub gadgets: Items,
    /// Both labels of the output of the base of each used bucket.
    pub outputs: Vec<[[u8; 48]; 2]>,
    /// For each report of the evaluator, whether its hash is that of the labels it implies.
    pub reports: Vec<bool>,
}

/// Pools of a few dozen items, half of which are checked, with buckets of three: no security, but
/// everything happens in a moment.
#[must_use]
pub fn tiny() -> JimuParams {
    static TINY: OnceLock<JimuParams> = OnceLock::new();
    TINY.get_or_init(|| {
        let switches = JimuSwitches { muxcore: false, compact: false };
        let derived = JimuParams::derive(PoolChoice::Kept(400), Rho::Bits40, switches);
        let mut params = derived.expect("a pool of 400 has sound buckets");
        for (pool, bucket) in [(&mut params.ands, 3), (&mut params.escrow, 2)] {
            (pool.capacity, pool.bucket, pool.batch) = (24, bucket, 96);
            pool.check_below = 1 << 31;
        }
        params
    })
    .clone()
}

/// The same in compact storage, with pools of which some slots are not drawn.
#[must_use]
pub fn tiny_compact() -> JimuParams {
    let mut params = tiny();
    params.switches.compact = true;
    (params.ands.capacity, params.escrow.capacity) = (80, 80);
    params
}

/// Wires in escrow that are always ready: on them the evaluator tries a candidate for Delta.
const ESCROW_RESERVE: usize = 8;

/// ANDs of a core of the widest multiplexers.
pub const WIDTH: usize = 64;

/// The same with a pool of cores for multiplexers of [`WIDTH`] lanes; there are to be no others.
#[must_use]
pub fn tiny_muxes() -> JimuParams {
    let mut params = tiny();
    params.switches.muxcore = true;
    params.muxes = vec![(WIDTH, PoolSpec { capacity: 6, bucket: 2, batch: 20, ..params.ands })];
    params
}

/// The same with a code of labels so short that one place of 48 tells two of them apart. The evaluator
/// watches 32.
#[must_use]
pub fn weak() -> JimuParams {
    let mut params = tiny();
    params.codes.labels.n = params.codes.labels.k;
    params
}

/// The same with buckets of three in escrow and a code of permutation messages of two places, of which
/// the evaluator watches one: in half of all sessions a turned permutation bit has a tag.
#[must_use]
pub fn weak_escrow() -> JimuParams {
    let mut params = tiny();
    let perms = &mut params.codes.perms;
    (perms.n, perms.k, perms.w) = (2, 2, 1);
    params.escrow.bucket = 3;
    params
}

/// Most outputs of a message.
const PIECE: usize = 8192;

/// The kind of items that a pool holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// ANDs.
    And,
    /// Cores of the widest multiplexers.
    Wide,
    /// Escrow gadgets.
    Escrow,
}

impl Kind {
    /// Returns the shape of what is garbled; none for gadgets.
    const fn shape(self) -> Option<Shape> {
        match self {
            Kind::And => Some(Shape::AND),
            Kind::Wide => Some(Shape::new(WIDTH)),
            Kind::Escrow => None,
        }
    }

    const fn wires(self) -> usize {
        match self.shape() {
            Some(shape) => shape.wires(),
            None => 1,
        }
    }

    /// Blocks of the tables; permutation messages have one block at 2^-40.
    const fn table_blocks(self) -> usize {
        match self.shape() {
            Some(shape) => shape.table_blocks(),
            None => 1,
        }
    }

    const fn inputs(self) -> usize {
        match self.shape() {
            Some(shape) => shape.inputs(),
            None => 0,
        }
    }

    /// Its pool.
    fn spec(self, params: &JimuParams) -> PoolSpec {
        match self {
            Kind::And => params.ands,
            Kind::Wide => params.muxes[0].1,
            Kind::Escrow => params.escrow,
        }
    }
}

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
            for first in (0..kind.inputs()).step_by(64) {
                let word = coins.word();
                let bits = 0..(kind.inputs() - first).min(64);
                inputs.extend(bits.map(|bit| word >> bit & 1 == 1));
            }
        }
        Selection { checked, inputs, survivors, coins }
    }
}

/// The tosses of a session, which look at no digest and at no opening.
struct Tosses {
    session: SessionId,
    role: Role,
    count: u64,
    cheat: Cheat,
}

impl Tosses {
    fn toss(&mut self, channel: &mut Channel, prg: &mut Prg) -> Result<Block, Fault> {
        let (number, coin) = (self.count, prg.block());
        self.count += 1;
        let mut value = [coin.to_bytes().as_slice(), &[0; 32]].concat();
        if self.role == Role::Evaluator {
            channel.recv(parts::tags::COIN_COMMIT, 32)?;
            value[16] ^= u8::from(self.cheat == Cheat::CoinDigest(number));
            channel.send(parts::tags::COIN_REPLY, &value)?;
            let opening = channel.recv(parts::tags::COIN_OPEN, 80)?;
            return Ok(coin ^ first_block(&opening));
        }
        let nonce = prg.bytes32();
        let commitment = commit(&self.session, &format!("toss {number}"), &value, &nonce);
        channel.send(parts::tags::COIN_COMMIT, &commitment.0)?;
        let reply = channel.recv(parts::tags::COIN_REPLY, 48)?;
        value[3] ^= u8::from(self.cheat == Cheat::Coin(number));
        channel.send(parts::tags::COIN_OPEN, &[value.as_slice(), &nonce].concat())?;
        Ok(first_block(&value) ^ first_block(&reply))
    }
}

fn first_block(bytes: &[u8]) -> Block {
    let mut block = [0; 16];
    block.copy_from_slice(&bytes[..16]);
    Block::from_bytes(block)
}

/// The blocks in `bytes`.
fn blocks_of(bytes: &[u8]) -> Vec<Block> {
    bytes.chunks_exact(16).map(first_block).collect()
}

/// Wires to make for the evaluator's inputs when `missing` are needed, and how many of them are
/// sacrificed.
fn input_batch(params: &JimuParams, missing: usize) -> (usize, usize) {
    let sacrificed = params.input_sacrificed();
    let total = (missing + sacrificed).clamp(2048, 1 << 16).next_multiple_of(128);
    (total, sacrificed)
}
