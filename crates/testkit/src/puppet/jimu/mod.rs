//! A second implementation of both sides of `jimu` that cheats on command.
//!
//! As the puppet of `wrk` it checks nothing that it receives and goes on after its cheat. It plays
//! any [`Job`](cenote_engine::Job) as a [`Party`](cenote_engine::Party), over the pieces of the
//! engine that do no I/O, in sessions without a handshake and with tiny pools, which an honest
//! `JimuSession` plays as well as large ones: see [`tiny`].
//!
//! Coins depend on both sides' randomness, which is fixed: a rehearsal without a cheat tells which
//! gates will be checked and which will be used ([`History`]), and the session is then played again
//! with a flaw in just those.

mod compact;
mod evaluator;
mod garbler;
mod input_sums;
mod play;
mod supply;
mod talk;

use std::sync::OnceLock;

use cenote_engine::ihash::{Label, Message};
use cenote_engine::protocols::garbled_core::{Shape, garble};
use cenote_engine::{Fault, JimuParams, JimuSwitches, PoolChoice, Rho, Role, tags};
use cenote_net::Channel;
use cenote_prim::commit::commit;
use cenote_prim::{Block, Prg, SessionId};

pub use play::{Played, expected, plan_of, play, rehearse};
pub use talk::Talk;

/// What a puppet of `jimu` does instead of following the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cheat {
    /// Nothing, but for the flaws of its [`Plan`].
    None,
    /// Commits to other shares than it deals.
    Commitment,
    /// Deals one wrong share.
    Share,
    /// Chooses its seeds so that the offset is zero.
    ZeroOffset,
    /// Sends an undefined flag with the offset.
    OffsetFlag,
    /// Keeps bit 0 of the offset's key zero.
    EvenOffset,
    /// Opens a coin other than the one committed to, in the toss with this number.
    Coin(u64),
    /// Sends a wrong correction for one symbol of the first AND.
    Symbol(Code),
    /// Sends corrections half-way between two words for the first AND.
    HalfWay(Code),
    /// Answers the consistency check of the first ANDs wrongly.
    Answer,
    /// Sets a bit after the last correction.
    Padding,
    /// Makes one AND wrong.
    Gate(Flaw, Which),
    /// Opens a checked AND on other inputs.
    CheckedInput,
    /// Opens a permutation message of a checked AND wrongly.
    CheckedPerm,
    /// Seals something else in one escrow gadget.
    Gadget(Which),
    /// Opens the other label in an inner solder.
    InnerLabel,
    /// Opens a wrong permutation message in an inner solder.
    InnerPerm,
    /// Opens a wrong offset of a gadget.
    EscrowLabel,
    /// Solders a gadget to another permutation message.
    EscrowPerm,
    /// Opens the other label in a solder of a request.
    OuterLabel,
    /// Opens a wrong permutation message in a solder of a request.
    OuterPerm,
    /// Runs another circuit: the second input of the first AND is its first one.
    OtherCircuit,
    /// Sends a wrong key of an input of the evaluator.
    Key,
    /// Sends the key of the other label of an input of the evaluator.
    OtherKey,
    /// Runs correlated OT with a correlation that is not the key of the offset.
    Correlation,
    /// Opens a wrong sum of labels.
    Proof,
    /// Sends a label for its own input that is neither of the wire's.
    InputLabel,
    /// Opens a wrong permutation message of an output.
    OutputPerm,
    /// Bonds an output to a wrong permutation message.
    Bond,
    /// Compact storage: makes a drawn AND a NAND when it sends it again.
    AgainTables,
    /// Compact storage: sends two drawn items in each other's place.
    AgainSwapped,
    /// Compact storage: sends an item as if it had been hashed later.
    AgainNumber,
    /// Compact storage: sends an item that was in the slot before.
    AgainOld,
    /// Compact storage: sends a wrong node beside the right items.
    AgainPath,
    /// Evaluator: says a wrong secret of the watch list.
    Secret,
    /// Evaluator: sends corrections of correlated OT that belong to two vectors of choice bits.
    Columns,
    /// Evaluator: shows another digest in the toss with this number.
    CoinDigest(u64),
    /// Evaluator: asks for the sum of labels of other choice bits than its own.
    Sum,
    /// Evaluator: does not show that it knows the sum of keys.
    SumDigest,
    /// Evaluator: sets a bit after its last input.
    StrayChoice,
    /// Evaluator: reports a false masked value, with the hash of the labels it has.
    Forged,
    /// Evaluator: reports true masked values with a false hash of labels.
    ForgedHash,
    /// Evaluator: sets a bit after the last masked value.
    StrayResult,
}

/// The codes of the interactive hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// That of labels.
    Labels,
    /// That of permutation messages.
    Perms,
}

/// How an AND is wrong. The error is an affine function of the masked values of its inputs: what it
/// puts out wrongly is one, two, three or four of the four.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// Garbage on two of the four inputs.
    Half,
    /// Garbage on three of the four.
    ThreeQuarters,
    /// Garbage on all.
    All,
    /// The label of the other value on two of the four.
    Turn,
    /// The label of the other value on all: a NAND.
    Nand,
    /// Garbled with another offset.
    OtherOffset,
}

impl Flaw {
    /// Every flaw, and the share of inputs on which it shows.
    pub const ALL: [(Flaw, f64); 6] = [
        (Flaw::Half, 0.5),
        (Flaw::ThreeQuarters, 0.75),
        (Flaw::All, 1.0),
        (Flaw::Turn, 0.5),
        (Flaw::Nand, 1.0),
        // On the input that needs neither offset, if the output label needs it.
        (Flaw::OtherOffset, 0.875),
    ];

    /// Makes the tables of the AND with this number and these wires wrong.
    pub fn apply(self, number: u64, offset: &Label, wires: &[Message], tables: &mut [Block]) {
        let one = garbler::garbage(number);
        let other = one ^ *offset;
        let mut add = |place: usize, error: Label| {
            let table = tables[3 * place..3 * place + 3].iter_mut();
            table.zip(error.0).for_each(|(block, error)| *block ^= error);
        };
        match self {
            Flaw::Half => add(0, one),
            Flaw::ThreeQuarters => {
                add(0, one);
                add(1, other);
            }
            Flaw::All => add(2, one),
            Flaw::Turn => add(0, *offset),
            Flaw::Nand => add(2, *offset),
            Flaw::OtherOffset => garble(Shape::AND, &other, &[number], wires, tables),
        }
    }
}

/// Which item a cheat is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// The first that is made, whatever happens to it.
    First,
    /// One that will be checked.
    Checked,
    /// The member with this number of a bucket that will be used.
    Used(usize),
}

impl Cheat {
    /// Every cheat, with the values of its argument that the table tries.
    pub const ALL: &[Cheat] = &[
        Cheat::Commitment,
        Cheat::Share,
        Cheat::ZeroOffset,
        Cheat::OffsetFlag,
        Cheat::EvenOffset,
        Cheat::Coin(0),
        Cheat::Coin(2),
        Cheat::Symbol(Code::Labels),
        Cheat::Symbol(Code::Perms),
        Cheat::HalfWay(Code::Labels),
        Cheat::HalfWay(Code::Perms),
        Cheat::Answer,
        Cheat::Padding,
        Cheat::Gate(Flaw::Half, Which::First),
        Cheat::Gate(Flaw::Half, Which::Checked),
        Cheat::Gate(Flaw::Half, Which::Used(0)),
        Cheat::Gate(Flaw::ThreeQuarters, Which::Checked),
        Cheat::Gate(Flaw::All, Which::First),
        Cheat::Gate(Flaw::All, Which::Checked),
        Cheat::Gate(Flaw::All, Which::Used(1)),
        Cheat::Gate(Flaw::Turn, Which::Checked),
        Cheat::Gate(Flaw::Turn, Which::Used(0)),
        Cheat::Gate(Flaw::Nand, Which::Checked),
        Cheat::Gate(Flaw::Nand, Which::Used(0)),
        Cheat::Gate(Flaw::Nand, Which::Used(2)),
        Cheat::Gate(Flaw::OtherOffset, Which::Checked),
        Cheat::Gate(Flaw::OtherOffset, Which::Used(1)),
        Cheat::CheckedInput,
        Cheat::CheckedPerm,
        Cheat::Gadget(Which::First),
        Cheat::Gadget(Which::Checked),
        Cheat::Gadget(Which::Used(0)),
        Cheat::InnerLabel,
        Cheat::InnerPerm,
        Cheat::EscrowLabel,
        Cheat::EscrowPerm,
        Cheat::OuterLabel,
        Cheat::OuterPerm,
        Cheat::OtherCircuit,
        Cheat::Key,
        Cheat::OtherKey,
        Cheat::Correlation,
        Cheat::Proof,
        Cheat::InputLabel,
        Cheat::OutputPerm,
        Cheat::Bond,
        Cheat::AgainTables,
        Cheat::AgainSwapped,
        Cheat::AgainNumber,
        Cheat::AgainOld,
        Cheat::AgainPath,
        Cheat::Secret,
        Cheat::Columns,
        Cheat::CoinDigest(0),
        Cheat::Sum,
        Cheat::SumDigest,
        Cheat::StrayChoice,
        Cheat::Forged,
        Cheat::ForgedHash,
        Cheat::StrayResult,
    ];

    /// The sessions in which there is occasion for it.
    #[must_use]
    pub fn params(self) -> JimuParams {
        match self {
            Cheat::AgainTables
            | Cheat::AgainSwapped
            | Cheat::AgainNumber
            | Cheat::AgainOld
            | Cheat::AgainPath => tiny_compact(),
            _ => tiny(),
        }
    }

    /// Which item has to be foreseen by a rehearsal, if any.
    #[must_use]
    pub const fn which(self) -> Option<Which> {
        match self {
            Cheat::Gate(_, which) | Cheat::Gadget(which) => Some(which),
            _ => None,
        }
    }
}

/// A cheat, and the items that have flaws, by the number of their first wire.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cheat.
    pub cheat: Cheat,
    /// ANDs.
    pub gates: Vec<(u64, Flaw)>,
    /// Escrow gadgets that seal something else.
    pub gadgets: Vec<u64>,
}

impl Plan {
    /// A cheat that needs no foresight.
    #[must_use]
    pub const fn of(cheat: Cheat) -> Plan {
        Plan { cheat, gates: Vec::new(), gadgets: Vec::new() }
    }

    /// Flaws in `gates` and `gadgets` and nothing else.
    #[must_use]
    pub fn flaws(gates: Vec<(u64, Flaw)>, gadgets: Vec<u64>) -> Plan {
        Plan { cheat: Cheat::None, gates, gadgets }
    }
}

/// What became of the items of one kind, by the number of their first wire.
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

/// What a garbling puppet saw of the coins, and the labels that it knows.
#[derive(Clone, Default, Debug)]
pub struct History {
    /// ANDs.
    pub gates: Items,
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

/// Wires in escrow that are always ready: on them the evaluator tries a candidate for the offset.
const ESCROW_RESERVE: usize = 8;

/// Most outputs of a message.
const PIECE: usize = 8192;

/// What a pool holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// ANDs.
    And,
    /// Escrow gadgets.
    Escrow,
}

impl Kind {
    const fn wires(self) -> usize {
        match self {
            Kind::And => Shape::AND.wires(),
            Kind::Escrow => 1,
        }
    }

    /// Blocks of the tables; permutation messages have one block at 2^-40.
    const fn table_blocks(self) -> usize {
        match self {
            Kind::And => Shape::AND.table_blocks(),
            Kind::Escrow => 1,
        }
    }

    const fn inputs(self) -> usize {
        match self {
            Kind::And => 2,
            Kind::Escrow => 0,
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
/// or sessions of the puppet would fail.
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
            if kind.inputs() > 0 {
                let word = coins.word();
                inputs.extend((0..kind.inputs()).map(|bit| word >> bit & 1 == 1));
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
            channel.recv(tags::COIN_COMMIT, 32)?;
            value[16] ^= u8::from(self.cheat == Cheat::CoinDigest(number));
            channel.send(tags::COIN_REPLY, &value)?;
            let opening = channel.recv(tags::COIN_OPEN, 80)?;
            return Ok(coin ^ first_block(&opening));
        }
        let nonce = prg.bytes32();
        let commitment = commit(&self.session, &format!("toss {number}"), &value, &nonce);
        channel.send(tags::COIN_COMMIT, &commitment.0)?;
        let reply = channel.recv(tags::COIN_REPLY, 48)?;
        value[3] ^= u8::from(self.cheat == Cheat::Coin(number));
        channel.send(tags::COIN_OPEN, &[value.as_slice(), &nonce].concat())?;
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
