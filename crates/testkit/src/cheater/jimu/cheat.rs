//! The cheats of the cheaters of `jimu`, as data.

use cenote_engine::JimuParams;
use cenote_engine::backends::jimu::garbled_core::{Shape, garble};
use cenote_engine::backends::jimu::ihash::{Label, Message};
use cenote_prim::Block;

use super::lies::{garbage, near};
use super::params::{tiny, tiny_compact};

/// The deviation from the protocol that a cheater of `jimu` makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cheat {
    /// Nothing, but for the flaws of its [`Plan`].
    None,
    /// Commits to other shares than it deals.
    Commitment,
    /// Deals one wrong share.
    Share,
    /// Chooses its seeds so that Delta can be zero, and makes it so.
    ZeroDelta,
    /// Keeps bit 0 of Delta's key zero.
    EvenDelta,
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
    /// Makes an AND a NAND and opens, when it is checked, what would hide that: its other output label,
    /// or another permutation message that makes this the right one.
    Hidden(Code),
    /// Opens a checked AND on other inputs.
    CheckedInput,
    /// Opens a permutation message of a checked AND wrongly.
    CheckedPerm,
    /// Deals another seed than it uses at one place of the code of permutation messages.
    Seed,
    /// Sends wrong corrections of one symbol of a wire in escrow.
    Escrowed,
    /// Opens the other label in an inner solder.
    InnerLabel,
    /// Solders a wire of a member to the negation of its base's.
    InnerNot,

    /// Opens the other label in a solder of a request.
    OuterLabel,
    /// Solders a wire of a request to its negation.
    OuterNot,
    /// Runs another circuit: the second input of the first AND is its first one.
    OtherCircuit,
    /// Sends a wrong key of a wire that proves Delta.
    ProvingKey,
    /// Sends a wrong key of an input of the evaluator.
    Key,
    /// Sends the key of the other label of an input of the evaluator.
    OtherKey,
    /// Has another key of Delta than the correlation of correlated OT.
    Correlation,
    /// Sends a wrong key, and opens the sums that the evaluator has found with it.
    FittingKey,
    /// The same, and opens the sums that the evaluator has found.
    FittingCorrelation,
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
    /// Evaluator: after a reveal, takes every wire that it has for one with the other masked value.
    Turned,
    /// Changes its part of wires that were kept, when a request takes them up.
    Kept(AtRest),
}

/// What a cheater does to its part of wires that were kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtRest {
    /// Takes another label of each: the garbler that of the other value, the evaluator, which has no other one, a wrong one.
    Label,
    /// Garbler: takes permutation messages with the other bit.
    Perm,
    /// Garbler: takes each wire for its negation, label and permutation message.
    Negated,
    /// Evaluator: takes the other masked values.
    Masked,
    /// Takes each wire for the one before it.
    Swapped,
    /// Takes those that were kept under the same name before, if there were any.
    Older,
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
/// outputs wrongly is one, two, three or four of the four.
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
    /// Garbled with another delta.
    OtherDelta,
    /// In sessions of [`weak`](super::weak): a wrong label that has the right tag if the evaluator does not
    /// watch the last place.
    Near,
    /// The same from the label of the other value.
    NearOther,
}

impl Flaw {
    /// Every flaw that is one in all sessions, and the share of inputs on which it shows.
    pub const ALL: [(Flaw, f64); 6] = [
        (Flaw::Half, 0.5),
        (Flaw::ThreeQuarters, 0.75),
        (Flaw::All, 1.0),
        (Flaw::Turn, 0.5),
        (Flaw::Nand, 1.0),
        // On the input that needs neither delta, if the output label needs it.
        (Flaw::OtherDelta, 0.875),
    ];

    /// Makes the tables of a core with this number and these wires wrong, in its AND in the middle.
    pub fn apply(
        self,
        shape: Shape,
        (number, wires): (u64, &[Message]),
        delta: &Label,
        tables: &mut [Block],
    ) {
        let one = garbage(number);
        let other = one ^ *delta;
        let and = shape.ands() / 2;
        let mut add = |place: usize, error: Label| {
            let place = 9 * and + 3 * place;
            let table = tables[place..place + 3].iter_mut();
            table.zip(error.0).for_each(|(block, error)| *block ^= error);
        };
        match self {
            Flaw::Half => add(0, one),
            Flaw::ThreeQuarters => {
                add(0, one);
                add(1, other);
            }
            Flaw::All => add(2, one),
            Flaw::Turn => add(0, *delta),
            Flaw::Nand => add(2, *delta),
            Flaw::Near => add(2, near()),
            Flaw::NearOther => add(2, near() ^ *delta),
            Flaw::OtherDelta => garble(shape, &other, &[number], wires, tables),
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
    /// Every cheat, with the values of its argument that the table tries; but none with kept wires, which no job of the table has.
    pub const ALL: &[Cheat] = &[
        Cheat::Commitment,
        Cheat::Share,
        Cheat::ZeroDelta,
        Cheat::EvenDelta,
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
        Cheat::Gate(Flaw::All, Which::Checked),
        Cheat::Gate(Flaw::All, Which::Used(1)),
        Cheat::Gate(Flaw::Turn, Which::Checked),
        Cheat::Gate(Flaw::Turn, Which::Used(0)),
        Cheat::Gate(Flaw::Nand, Which::Checked),
        Cheat::Gate(Flaw::Nand, Which::Used(0)),
        Cheat::Gate(Flaw::Nand, Which::Used(2)),
        Cheat::Gate(Flaw::OtherDelta, Which::Checked),
        Cheat::Gate(Flaw::OtherDelta, Which::Used(1)),
        Cheat::Hidden(Code::Labels),
        Cheat::Hidden(Code::Perms),
        Cheat::CheckedInput,
        Cheat::CheckedPerm,
        Cheat::Seed,
        Cheat::Escrowed,
        Cheat::InnerLabel,
        Cheat::InnerNot,
        Cheat::OuterLabel,
        Cheat::OuterNot,
        Cheat::OtherCircuit,
        Cheat::ProvingKey,
        Cheat::Key,
        Cheat::OtherKey,
        Cheat::Correlation,
        Cheat::FittingKey,
        Cheat::FittingCorrelation,
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
        Cheat::Sum,
        Cheat::SumDigest,
        Cheat::StrayChoice,
        Cheat::Forged,
        Cheat::ForgedHash,
        Cheat::StrayResult,
        Cheat::Turned,
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
            Cheat::Gate(_, which) => Some(which),
            Cheat::Hidden(_) => Some(Which::Checked),
            _ => None,
        }
    }
}

/// A cheat, and the items that have flaws, by the number of their first wire.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cheat.
    pub cheat: Cheat,
    /// ANDs, or cores of multiplexers.
    pub gates: Vec<(u64, Flaw)>,
    /// Places of permutation messages at which another seed is dealt than is used.
    pub seeds: Vec<u8>,
    /// Places of permutation messages at which corrections of the first wire of every batch for escrow are wrong.
    pub corrections: Vec<u8>,
    /// Places of labels and of permutation messages at which another share is dealt than was committed to.
    pub shares: [Vec<u8>; 2],
    /// Reveals that come before a cheat with inputs, gates or reveals of a request.
    pub after: u64,
}

impl Plan {
    /// A cheat that needs no foresight.
    #[must_use]
    pub const fn of(cheat: Cheat) -> Plan {
        Plan {
            cheat,
            gates: Vec::new(),
            seeds: Vec::new(),
            corrections: Vec::new(),
            shares: [Vec::new(), Vec::new()],
            after: 0,
        }
    }

    /// Flaws in `gates` and nothing else.
    #[must_use]
    pub fn flaws(gates: Vec<(u64, Flaw)>) -> Plan {
        Plan { gates, ..Plan::of(Cheat::None) }
    }
}
