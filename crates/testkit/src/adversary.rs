//! The adversary table, as data: every message tampered with in every way, every check with the
//! cheat it exists for, and what the honest side must make of it.
//!
//! `tests/adversary.rs` plays every row and fails when a message tag or a check of the source has
//! none. Whatever the row, the honest side never gives a wrong output against a protocol that
//! covers cheating, and the cheater sees the one uniform abort frame.

use cenote_engine::backends::{jimu::tags as jimu_tags, plain, wrk, yao};
use cenote_engine::parts;
use cenote_engine::{Backend, JimuSwitches, Role, SessionConfig};
use cenote_net::Tag;
use cenote_ot::tags as ot;

use crate::puppet::jimu::{self, Code, Flaw, Which};
use crate::puppet::{Cheat, Setting};
use crate::run::smallest;

/// How a session must end at the honest side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum End {
    /// By this check; nothing is put out after the cheat.
    Caught(&'static str),
    /// By any fault: the code behind a changed frame may notice first. Nothing is put out.
    Noticed,
    /// By a fault, or with the right output: the change hits a place that is read by chance only.
    NoticedOrRight,
    /// By this check with this probability, independent of the honest inputs; else with the right output.
    Chance(&'static str, f64),
    /// By this check or with the right output.
    CaughtOrRight(&'static str),
    /// Without a fault and with the right output: the protocol makes up for what was done.
    Right,
    /// Refused on both sides by name, as any difference is.
    Refused,
    /// No promise: the backend does not cover cheating. It still ends, without a panic.
    Unprotected,
}

/// One message of one backend. Cut, dropped, doubled and swapped frames have the same end in every
/// row: see [`cut`] and [`End::Noticed`].
#[derive(Clone, Copy, Debug)]
pub struct FrameRow {
    /// The backend.
    pub backend: Backend,
    /// Whether its storage is compact.
    pub compact: bool,
    /// The message.
    pub tag: Tag,
    /// Who sends it, changed.
    pub from: Role,
    /// Which of the messages with this tag, counted from 0.
    pub index: usize,
    /// One bit flipped: the first, the last, others.
    pub flip: End,
    /// Sent again in place of the next with its tag; none where a session has no next one.
    pub replay: Option<End>,
}

impl FrameRow {
    /// The sessions that the message is of.
    #[must_use]
    pub fn config(&self) -> SessionConfig {
        let config = smallest(self.backend);
        SessionConfig { jimu: JimuSwitches { compact: self.compact, ..config.jimu }, ..config }
    }
}

/// One cheat of an active cheater against `wrk`; see [`crate::puppet`].
#[derive(Clone, Copy, Debug)]
pub struct CheatRow {
    /// What the session is like.
    pub setting: Setting,
    /// The cheat.
    pub cheat: Cheat,
    /// At which of its occasions, counted from 0.
    pub at: usize,
    /// Who cheats.
    pub by: Role,
    /// How the session ends for the other.
    pub end: End,
}

/// One cheat of an active cheater against `jimu`; see [`jimu`].
#[derive(Clone, Copy, Debug)]
pub struct JimuRow {
    /// The cheat.
    pub cheat: jimu::Cheat,
    /// Who cheats.
    pub by: Role,
    /// How the session ends for the other.
    pub end: End,
}

/// Bytes in place of a frame.
#[derive(Clone, Copy, Debug)]
pub struct RawRow {
    /// What it is.
    pub what: &'static str,
    /// The bytes.
    pub bytes: &'static [u8],
    /// The display form of the honest side's fault starts like this.
    pub fault: &'static str,
}

const A: Role = Role::Garbler;
const B: Role = Role::Evaluator;

const fn row(backend: Backend, tag: Tag, from: Role, flip: End, replay: Option<End>) -> FrameRow {
    FrameRow { backend, compact: false, tag, from, index: 0, flip, replay }
}

const fn wrk(tag: Tag, from: Role, flip: End, replay: End) -> FrameRow {
    row(Backend::Wrk, tag, from, flip, Some(replay))
}

const fn once(backend: Backend, tag: Tag, from: Role, flip: End) -> FrameRow {
    row(backend, tag, from, flip, None)
}

const fn later(tag: Tag, from: Role, flip: End) -> FrameRow {
    FrameRow { index: 1, ..once(Backend::Wrk, tag, from, flip) }
}

const fn jimu(tag: Tag, from: Role, flip: End, replay: End) -> FrameRow {
    row(Backend::Jimu, tag, from, flip, Some(replay))
}

/// A message of `jimu` that has `index` others with its tag before it.
const fn nth(index: usize, tag: Tag, from: Role, flip: End) -> FrameRow {
    FrameRow { index, ..once(Backend::Jimu, tag, from, flip) }
}

const fn compact(tag: Tag, from: Role, flip: End, replay: End) -> FrameRow {
    FrameRow { compact: true, ..jimu(tag, from, flip, replay) }
}

const fn open(backend: Backend, tag: Tag, from: Role) -> FrameRow {
    row(backend, tag, from, End::Unprotected, Some(End::Unprotected))
}

const COLUMNS: End = End::Caught(cenote_ot::COLUMN_CHECK);
const MAC: End = End::Caught("opening.mac");
const EQUAL: End = End::Caught("equality.digest");
const COIN: End = End::Caught("coin.opening");
const SHARE: End = End::Caught("jimu.watch.share");
const SECRET: End = End::Caught("jimu.watch.secret");
const CODEWORD: End = End::Caught("jimu.hash.codeword");
const RESULT: End = End::Caught("jimu.output.result");
const OUTER: End = End::Caught("jimu.outer");
const PERM: End = End::Caught("jimu.output.perm");
const LABEL: End = End::Caught("jimu.input.label");
const MERKLE: End = End::Caught("jimu.merkle");
const LENGTH: End = End::Caught("leaky-and.length");
const INPUT: End = End::Caught("wrk.input.format");
const LABELS: End = End::Caught("wrk.labels");
const MASKED: End = End::Caught("wrk.masked");
const REPORT: End = End::Caught("wrk.report.format");
const TABLES: End = End::Caught("wrk.tables.format");

/// Every message that a session of any backend sends, from each side that sends it.
pub const FRAMES: &[FrameRow] = &[
    wrk(Tag::HELLO, A, End::Noticed, End::Noticed),
    wrk(Tag::HELLO, B, End::Noticed, End::Noticed),
    once(Backend::Wrk, ot::BASE_POINT, A, End::Noticed),
    once(Backend::Wrk, ot::BASE_POINT, B, End::Noticed),
    once(Backend::Wrk, ot::BASE_POINTS, A, End::Noticed),
    once(Backend::Wrk, ot::BASE_POINTS, B, End::Noticed),
    // A sum that the opener does not read is a right guess of one bit of its Delta.
    once(Backend::Wrk, ot::TREES, A, End::NoticedOrRight),
    once(Backend::Wrk, ot::TREES, B, End::NoticedOrRight),
    wrk(ot::CHUNK, A, COLUMNS, End::Noticed),
    wrk(ot::CHUNK, B, COLUMNS, End::Noticed),
    // G is read where the victim's x is one.
    wrk(wrk::tags::LEAKY_G, A, End::NoticedOrRight, End::Noticed),
    wrk(wrk::tags::LEAKY_G, B, End::NoticedOrRight, EQUAL),
    wrk(wrk::tags::LEAKY_D, A, End::Noticed, End::Noticed),
    wrk(wrk::tags::LEAKY_D, B, End::Noticed, EQUAL),
    wrk(parts::tags::COIN_COMMIT, A, COIN, COIN),
    wrk(parts::tags::COIN_REPLY, B, EQUAL, EQUAL),
    wrk(parts::tags::COIN_OPEN, A, COIN, COIN),
    later(parts::tags::COIN_COMMIT, A, COIN),
    // Two coins: two permutations, so that the openings are of other shares.
    later(parts::tags::COIN_REPLY, B, End::Noticed),
    later(parts::tags::COIN_OPEN, A, COIN),
    // The second request, after one that ended well.
    later(wrk::tags::INPUT_MASK, A, MAC),
    later(wrk::tags::BEAVER_OPEN, B, MAC),
    later(wrk::tags::TABLES, A, End::NoticedOrRight),
    later(wrk::tags::REPORT, B, End::NoticedOrRight),
    later(wrk::tags::MAC_HASH, A, End::Caught("wrk.masked")),
    later(wrk::tags::OUTPUT_MASK, A, MAC),
    later(wrk::tags::OUTPUT_MASK, B, MAC),
    wrk(wrk::tags::BUCKET_OPEN, A, MAC, MAC),
    wrk(wrk::tags::BUCKET_OPEN, B, MAC, MAC),
    wrk(wrk::tags::BEAVER_OPEN, A, MAC, MAC),
    wrk(wrk::tags::BEAVER_OPEN, B, MAC, MAC),
    // Table blocks are read where masked values are one.
    wrk(wrk::tags::TABLES, A, End::NoticedOrRight, End::Noticed),
    // The last block is the seed of the answer, which the evaluator may choose.
    wrk(wrk::tags::REPORT, B, End::NoticedOrRight, End::Caught("wrk.labels")),
    wrk(wrk::tags::MAC_HASH, A, End::Caught("wrk.masked"), End::Caught("wrk.masked")),
    wrk(wrk::tags::INPUT_MASK, A, MAC, MAC),
    wrk(wrk::tags::INPUT_MASK, B, MAC, MAC),
    wrk(wrk::tags::INPUT_BITS, A, End::Noticed, End::Noticed),
    wrk(wrk::tags::INPUT_BITS, B, End::Noticed, End::Noticed),
    wrk(wrk::tags::INPUT_LABELS, A, End::Noticed, End::Noticed),
    wrk(wrk::tags::OUTPUT_MASK, A, MAC, MAC),
    wrk(wrk::tags::OUTPUT_MASK, B, MAC, MAC),
    jimu(Tag::HELLO, A, End::Noticed, End::Noticed),
    jimu(Tag::HELLO, B, End::Noticed, End::Noticed),
    jimu(ot::BASE_POINT, B, End::Noticed, End::Noticed),
    jimu(ot::BASE_POINTS, A, End::Noticed, End::Noticed),
    jimu(ot::TREES, B, End::NoticedOrRight, End::Noticed),
    jimu(ot::CHUNK, B, COLUMNS, COLUMNS),
    jimu(ot::CHOICES, B, End::Noticed, End::Noticed),
    // A pair is a seed and a share, of which one is read.
    jimu(ot::MASKED, A, End::NoticedOrRight, End::Noticed),
    jimu(ot::WATCH_COMMIT, A, SHARE, SHARE),
    nth(1, ot::WATCH_COMMIT, A, SHARE),
    jimu(ot::WATCH_SECRET, B, SECRET, SECRET),
    nth(1, ot::WATCH_SECRET, B, SECRET),
    // Corrections are read where they are watched.
    nth(0, jimu_tags::JIMU_OFFSET, A, End::NoticedOrRight),
    jimu(parts::tags::COIN_COMMIT, A, COIN, COIN),
    // Two coins: the answer is for other coefficients.
    jimu(parts::tags::COIN_REPLY, B, End::Noticed, End::Noticed),
    jimu(parts::tags::COIN_OPEN, A, COIN, COIN),
    nth(3, parts::tags::COIN_COMMIT, A, COIN),
    nth(3, parts::tags::COIN_OPEN, A, COIN),
    // Gadgets, further gadgets, their wires, inputs, ANDs: tables are read where masked values
    // are one, and a bad AND is dropped.
    jimu(jimu_tags::JIMU_STRIP, A, End::NoticedOrRight, End::Noticed),
    nth(3, jimu_tags::JIMU_STRIP, A, End::NoticedOrRight),
    nth(5, jimu_tags::JIMU_STRIP, A, End::NoticedOrRight),
    nth(7, jimu_tags::JIMU_STRIP, A, End::NoticedOrRight),
    jimu(jimu_tags::JIMU_CLOSE, A, End::NoticedOrRight, CODEWORD),
    jimu(jimu_tags::JIMU_ANSWER, A, CODEWORD, CODEWORD),
    nth(4, jimu_tags::JIMU_ANSWER, A, CODEWORD),
    jimu(jimu_tags::JIMU_CHECK, A, End::Caught("jimu.check"), End::Noticed),
    nth(4, jimu_tags::JIMU_CHECK, A, End::Caught("jimu.check")),
    nth(0, jimu_tags::JIMU_INNER, A, End::Caught("jimu.inner")),
    nth(0, jimu_tags::JIMU_ESCROW, A, End::Caught("jimu.escrow")),
    nth(0, jimu_tags::JIMU_SUM, B, End::Caught("jimu.input.sum")),
    nth(0, jimu_tags::JIMU_PROOF, A, End::Caught("jimu.input.proof")),
    jimu(jimu_tags::JIMU_LABELS, A, LABEL, LABEL),
    // Another input, as far as the garbler can see: its solders do not fit the evaluator's tags.
    // Replayed, five bits are the same too often.
    nth(0, jimu_tags::JIMU_CHOICES, B, End::Noticed),
    jimu(jimu_tags::JIMU_OUTER, A, OUTER, OUTER),
    nth(1, jimu_tags::JIMU_OUTER, A, OUTER),
    jimu(jimu_tags::JIMU_PERMS, A, PERM, PERM),
    nth(1, jimu_tags::JIMU_PERMS, A, PERM),
    nth(0, jimu_tags::JIMU_BOND, A, End::Caught("jimu.output.bond")),
    jimu(jimu_tags::JIMU_RESULT, B, RESULT, RESULT),
    nth(1, jimu_tags::JIMU_RESULT, B, RESULT),
    nth(2, jimu_tags::JIMU_RESULT, B, RESULT),
    compact(jimu_tags::JIMU_AGAIN, A, MERKLE, End::Noticed),
    compact(jimu_tags::JIMU_PATHS, A, MERKLE, End::Noticed),
    row(Backend::Yao, Tag::HELLO, A, End::Noticed, Some(End::Noticed)),
    row(Backend::Yao, Tag::HELLO, B, End::Noticed, Some(End::Noticed)),
    once(Backend::Yao, ot::BASE_POINT, B, End::Noticed),
    once(Backend::Yao, ot::BASE_POINTS, A, End::Noticed),
    once(Backend::Yao, ot::TREES, B, End::NoticedOrRight),
    row(Backend::Yao, ot::CHUNK, B, COLUMNS, Some(COLUMNS)),
    once(Backend::Yao, yao::tags::YAO_START, A, End::Unprotected),
    open(Backend::Yao, yao::tags::YAO_TABLES, A),
    open(Backend::Yao, yao::tags::YAO_LABELS, A),
    open(Backend::Yao, ot::CHOICES, B),
    open(Backend::Yao, yao::tags::YAO_DECODE, A),
    open(Backend::Yao, yao::tags::YAO_OUTPUT, B),
    row(Backend::Plain, Tag::HELLO, A, End::Noticed, Some(End::Noticed)),
    row(Backend::Plain, Tag::HELLO, B, End::Noticed, Some(End::Noticed)),
    open(Backend::Plain, plain::PLAIN_INPUT, A),
    open(Backend::Plain, plain::PLAIN_INPUT, B),
];

/// Tags that no session of a backend sends yet, and where they are tested.
pub const UNUSED: &[(Tag, &str)] = &[];

/// The end of a frame that lost its last byte.
#[must_use]
pub fn cut(tag: Tag) -> End {
    match tag {
        Tag::HELLO => End::Caught("handshake: hello cut short"),
        yao::tags::YAO_TABLES => End::Caught("yao.tables.format"),
        _ => End::Caught("frame: wrong length"),
    }
}

const fn by(by: Role, cheat: Cheat, end: End) -> CheatRow {
    CheatRow { setting: Setting::Small, cheat, at: 0, by, end }
}

const fn both(cheat: Cheat, end: End) -> [CheatRow; 2] {
    [by(A, cheat, end), by(B, cheat, end)]
}

/// Cheats of one side of a small session that both sides can play.
const OF_BOTH: &[[CheatRow; 2]] = &[
    both(Cheat::OtherProgram, End::Refused),
    both(Cheat::BadPoint, End::Caught("ot.base.point")),
    both(Cheat::InconsistentChoices, COLUMNS),
    both(Cheat::WrongG(1), End::Chance("equality.digest", 0.5)),
    both(Cheat::WrongG(2), End::Chance("equality.digest", 0.75)),
    both(Cheat::WrongDelta, EQUAL),
    both(Cheat::WrongD, EQUAL),
    both(Cheat::StrayD, LENGTH),
    both(Cheat::WrongDigest, EQUAL),
    both(Cheat::FalseBucketBit, MAC),
    both(Cheat::FalseInputMask, MAC),
    both(Cheat::FalseBeaverBit, MAC),
    both(Cheat::FalseOutputMask, MAC),
    both(Cheat::MisplacedOpening, MAC),
    both(Cheat::StrayOpening, MAC),
    both(Cheat::OtherCircuit, MAC),
    both(Cheat::StrayInputBit, INPUT),
];

/// Cheats that only one role has occasion for.
const OF_ONE: &[CheatRow] = &[
    by(A, Cheat::BiasedCoin, COIN),
    at(1, by(A, Cheat::BiasedCoin, COIN)),
    by(A, Cheat::EchoDigest, COIN),
    by(A, Cheat::TableColour(0), End::Chance("wrk.masked", 0.5)),
    by(A, Cheat::TableColour(1), End::Chance("wrk.masked", 0.5)),
    by(A, Cheat::TableBits, End::CaughtOrRight("wrk.masked")),
    by(A, Cheat::ColourBit, MASKED),
    by(A, Cheat::StrayColour, TABLES),
    by(A, Cheat::InputLabel, End::CaughtOrRight("wrk.masked")),
    by(A, Cheat::WrongAnswer, MASKED),
    by(B, Cheat::FalseMasked, LABELS),
    by(B, Cheat::FalseLabelHash, LABELS),
    by(B, Cheat::StrayMasked, REPORT),
];

/// The same row for a later occasion.
const fn at(at: usize, row: CheatRow) -> CheatRow {
    CheatRow { at, ..row }
}

/// A row of a session of this setting: the cheat happens at its occasion with this number.
const fn long(by: Role, cheat: Cheat, at: usize, end: End) -> CheatRow {
    CheatRow { setting: Setting::Long, cheat, at, by, end }
}

const fn pool(by: Role, cheat: Cheat, at: usize, end: End) -> CheatRow {
    CheatRow { setting: Setting::Pool, ..long(by, cheat, at, end) }
}

/// Cheats in sessions of three requests, of three chunks (0, 1, 2), one (3) and two (4, 5).
const LONG: &[CheatRow] = &[
    // The next chunk is garbled, or evaluated, before the check.
    long(B, Cheat::FalseMasked, 0, LABELS),
    long(B, Cheat::FalseMasked, 1, LABELS),
    long(B, Cheat::FalseMasked, 4, LABELS),
    long(B, Cheat::FalseLabelHash, 0, LABELS),
    long(B, Cheat::FalseLabelHash, 4, LABELS),
    long(B, Cheat::StrayMasked, 1, REPORT),
    long(A, Cheat::ColourBit, 0, MASKED),
    long(A, Cheat::ColourBit, 1, MASKED),
    long(A, Cheat::ColourBit, 4, MASKED),
    long(A, Cheat::WrongAnswer, 0, MASKED),
    long(A, Cheat::WrongAnswer, 4, MASKED),
    long(A, Cheat::StrayColour, 1, TABLES),
    // The last of a request, and the only one.
    long(B, Cheat::FalseMasked, 2, LABELS),
    long(B, Cheat::FalseLabelHash, 3, LABELS),
    long(A, Cheat::ColourBit, 5, MASKED),
    long(A, Cheat::WrongAnswer, 3, MASKED),
    // A report came before.
    long(A, Cheat::ForeseenSeed, 2, MASKED),
    long(A, Cheat::ForeseenSeed, 5, MASKED),
    // Of the last request.
    long(A, Cheat::InputLabel, 2, MASKED),
    long(A, Cheat::OtherProgram, 2, End::Refused),
    long(A, Cheat::FalseInputMask, 2, MAC),
    long(B, Cheat::FalseInputMask, 2, MAC),
    long(A, Cheat::StrayInputBit, 2, INPUT),
    long(B, Cheat::StrayInputBit, 2, INPUT),
    long(A, Cheat::FalseBeaverBit, 4, MAC),
    long(B, Cheat::FalseBeaverBit, 4, MAC),
    long(A, Cheat::OtherCircuit, 0, MAC),
    long(B, Cheat::OtherCircuit, 4, MAC),
    long(A, Cheat::FalseOutputMask, 1, MAC),
    long(B, Cheat::FalseOutputMask, 2, MAC),
    long(A, Cheat::MisplacedOpening, 5, MAC),
    long(B, Cheat::MisplacedOpening, 3, MAC),
];

/// Cheats in sessions with a pool. Batches of leaky ANDs: 0 and 1 fill it, 2 and 3 are for the first
/// request, 4 for the last. A toss belongs to each, after that of the set-up.
const POOL: &[CheatRow] = &[
    pool(A, Cheat::InconsistentChoices, 1, COLUMNS),
    pool(B, Cheat::InconsistentChoices, 3, COLUMNS),
    pool(A, Cheat::BiasedCoin, 2, COIN),
    pool(A, Cheat::BiasedCoin, 5, COIN),
    pool(A, Cheat::WrongG(64), 1, EQUAL),
    pool(B, Cheat::WrongG(64), 4, EQUAL),
    pool(A, Cheat::WrongDelta, 3, EQUAL),
    pool(B, Cheat::WrongDelta, 1, EQUAL),
    pool(A, Cheat::WrongD, 1, EQUAL),
    pool(B, Cheat::WrongD, 3, EQUAL),
    pool(A, Cheat::WrongDigest, 4, EQUAL),
    pool(B, Cheat::WrongDigest, 1, EQUAL),
    pool(A, Cheat::StrayD, 2, LENGTH),
    pool(B, Cheat::StrayD, 1, LENGTH),
    pool(A, Cheat::EchoDigest, 1, COIN),
    pool(A, Cheat::EchoDigest, 4, COIN),
    pool(A, Cheat::FalseBucketBit, 1, MAC),
    pool(B, Cheat::FalseBucketBit, 2, MAC),
    pool(A, Cheat::ColourBit, 2, MASKED),
    pool(B, Cheat::FalseMasked, 2, LABELS),
];

/// In which setting each check must have a row, because the code takes another way there.
pub const MATTERS: &[(Setting, &[&str])] = &[
    (
        Setting::Long,
        &[
            "opening.mac",
            "wrk.input.format",
            "wrk.labels",
            "wrk.masked",
            "wrk.report.format",
            "wrk.tables.format",
        ],
    ),
    (
        Setting::Pool,
        &[
            "coin.opening",
            "equality.digest",
            "leaky-and.length",
            "opening.mac",
            cenote_ot::COLUMN_CHECK,
            "wrk.labels",
            "wrk.masked",
        ],
    ),
];

const CHECKED: End = End::Caught("jimu.check");
const INNER: End = End::Caught("jimu.inner");
const ESCROW: End = End::Caught("jimu.escrow");
const PROOF: End = End::Caught("jimu.input.proof");
const SUM: End = End::Caught("jimu.input.sum");
const OFFSET: End = End::Caught("jimu.offset");
const FORMAT: End = End::Caught("jimu.format");

const fn garbler(cheat: jimu::Cheat, end: End) -> JimuRow {
    JimuRow { cheat, by: A, end }
}

const fn evaluator(cheat: jimu::Cheat, end: End) -> JimuRow {
    JimuRow { cheat, by: B, end }
}

/// A gate of a session of [`jimu::tiny`], half of whose items are checked.
const fn gate(flaw: Flaw, which: Which, end: End) -> JimuRow {
    garbler(jimu::Cheat::Gate(flaw, which), end)
}

/// Caught in the check of items with this probability.
const fn odds(odds: f64) -> End {
    End::Chance("jimu.check", odds)
}

/// Cheats against `jimu`.
pub const JIMU: &[JimuRow] = &[
    garbler(jimu::Cheat::Commitment, SHARE),
    garbler(jimu::Cheat::Share, End::Chance("jimu.watch.share", 56.0 / 88.0)),
    garbler(jimu::Cheat::ZeroOffset, OFFSET),
    garbler(jimu::Cheat::OffsetFlag, OFFSET),
    garbler(jimu::Cheat::EvenOffset, PROOF),
    garbler(jimu::Cheat::Coin(0), COIN),
    garbler(jimu::Cheat::Coin(2), COIN),
    garbler(jimu::Cheat::Symbol(Code::Labels), End::Chance("jimu.hash.codeword", 32.0 / 88.0)),
    garbler(jimu::Cheat::Symbol(Code::Perms), End::CaughtOrRight("jimu.hash.codeword")),
    // They pass with 2^-15 and 2^-13.
    garbler(jimu::Cheat::HalfWay(Code::Labels), CODEWORD),
    garbler(jimu::Cheat::HalfWay(Code::Perms), CODEWORD),
    garbler(jimu::Cheat::Answer, CODEWORD),
    garbler(jimu::Cheat::Padding, FORMAT),
    gate(Flaw::Half, Which::First, odds(0.25)),
    gate(Flaw::Half, Which::Checked, End::CaughtOrRight("jimu.check")),
    gate(Flaw::ThreeQuarters, Which::Checked, End::CaughtOrRight("jimu.check")),
    gate(Flaw::All, Which::Checked, CHECKED),
    gate(Flaw::Turn, Which::Checked, End::CaughtOrRight("jimu.check")),
    gate(Flaw::Nand, Which::Checked, CHECKED),
    gate(Flaw::OtherOffset, Which::Checked, End::CaughtOrRight("jimu.check")),
    gate(Flaw::Half, Which::Used(0), End::Right),
    gate(Flaw::All, Which::Used(1), End::Right),
    gate(Flaw::Turn, Which::Used(0), End::Right),
    gate(Flaw::Nand, Which::Used(0), End::Right),
    gate(Flaw::Nand, Which::Used(2), End::Right),
    gate(Flaw::OtherOffset, Which::Used(1), End::Right),
    garbler(jimu::Cheat::Hidden(Code::Labels), CHECKED),
    garbler(jimu::Cheat::Hidden(Code::Perms), CHECKED),
    garbler(jimu::Cheat::CheckedInput, CHECKED),
    garbler(jimu::Cheat::CheckedPerm, CHECKED),
    garbler(jimu::Cheat::Gadget(Which::First), odds(0.5)),
    garbler(jimu::Cheat::Gadget(Which::Checked), CHECKED),
    garbler(jimu::Cheat::Gadget(Which::Used(0)), End::Right),
    garbler(jimu::Cheat::HiddenGadget, CHECKED),
    garbler(jimu::Cheat::InnerLabel, INNER),
    garbler(jimu::Cheat::InnerNot, INNER),
    garbler(jimu::Cheat::EscrowLabel, ESCROW),
    garbler(jimu::Cheat::EscrowPerm, ESCROW),
    garbler(jimu::Cheat::OuterLabel, OUTER),
    garbler(jimu::Cheat::OuterNot, OUTER),
    garbler(jimu::Cheat::OtherCircuit, OUTER),
    garbler(jimu::Cheat::Key, PROOF),
    garbler(jimu::Cheat::OtherKey, PROOF),
    garbler(jimu::Cheat::Correlation, PROOF),
    garbler(jimu::Cheat::FittingKey, PROOF),
    garbler(jimu::Cheat::FittingCorrelation, PROOF),
    garbler(jimu::Cheat::Proof, PROOF),
    garbler(jimu::Cheat::InputLabel, LABEL),
    garbler(jimu::Cheat::OutputPerm, PERM),
    garbler(jimu::Cheat::Bond, End::Caught("jimu.output.bond")),
    garbler(jimu::Cheat::AgainTables, MERKLE),
    garbler(jimu::Cheat::AgainSwapped, MERKLE),
    garbler(jimu::Cheat::AgainNumber, MERKLE),
    garbler(jimu::Cheat::AgainOld, MERKLE),
    garbler(jimu::Cheat::AgainPath, MERKLE),
    evaluator(jimu::Cheat::Secret, SECRET),
    evaluator(jimu::Cheat::Columns, COLUMNS),
    evaluator(jimu::Cheat::CoinDigest(0), EQUAL),
    evaluator(jimu::Cheat::Sum, SUM),
    evaluator(jimu::Cheat::SumDigest, SUM),
    evaluator(jimu::Cheat::StrayChoice, FORMAT),
    evaluator(jimu::Cheat::Forged, RESULT),
    evaluator(jimu::Cheat::ForgedHash, RESULT),
    evaluator(jimu::Cheat::StrayResult, FORMAT),
];

/// Every row of a cheat against `wrk`.
pub fn cheats() -> impl Iterator<Item = CheatRow> {
    OF_BOTH.iter().flatten().chain(OF_ONE).chain(LONG).chain(POOL).copied()
}

/// Bytes that are no frame of the protocol, in place of the first frame after the handshakes.
pub const RAW: &[RawRow] = &[
    RawRow { what: "abort", bytes: &[0, 0, 0, 0, 0], fault: "the peer aborted" },
    RawRow { what: "bye", bytes: &[1, 0, 0, 0, 0], fault: "connection: the peer ended" },
    RawRow {
        what: "abort with a payload",
        bytes: &[0, 1, 0, 0, 0, 7],
        fault: "the peer misbehaved: frame: control frame with a payload",
    },
    RawRow {
        what: "bye with a payload",
        bytes: &[1, 9, 0, 0, 0, 7],
        fault: "the peer misbehaved: frame: control frame with a payload",
    },
    RawRow {
        what: "a frame over the limit",
        bytes: &[44, 255, 255, 255, 255],
        fault: "the peer misbehaved: frame: length over the limit",
    },
    RawRow {
        what: "a tag that nobody has",
        bytes: &[255, 0, 0, 0, 0],
        fault: "the peer misbehaved: frame: wrong tag",
    },
    RawRow {
        what: "a hello out of place",
        bytes: &[2, 0, 0, 0, 0],
        fault: "the peer misbehaved: frame: wrong tag",
    },
];

/// A check whose cheat is played by a test of its own.
#[derive(Clone, Copy, Debug)]
pub struct Elsewhere {
    /// The check's id.
    pub check: &'static str,
    /// The file of the test, seen from the root of the repository.
    pub file: &'static str,
    /// The test's name.
    pub test: &'static str,
}

const fn elsewhere(check: &'static str, file: &'static str, test: &'static str) -> Elsewhere {
    Elsewhere { check, file, test }
}

const fn in_hello(check: &'static str) -> Elsewhere {
    elsewhere(check, "crates/net/tests/handshake.rs", "every_malformed_hello_meets_its_check")
}

/// Checks of the source that have their cheats elsewhere than in this table, or there as well.
pub const ELSEWHERE: &[Elsewhere] = &[
    elsewhere("ot.pprf", "crates/ot/src/pprf.rs", "tags_digest_lengths_and_sessions_are_checked"),
    // No length of it passes the frame check.
    elsewhere("ot.choices", "crates/ot/src/rot.rs", "stray_choice_bits_are_refused"),
    elsewhere("yao.format", "crates/testkit/tests/adversary.rs", OPEN_BACKENDS),
    elsewhere("plain.input.format", "crates/testkit/tests/adversary.rs", OPEN_BACKENDS),
    in_hello("handshake: hello cut short"),
    in_hello("handshake: hello too long"),
    in_hello("handshake: bytes after the end"),
    in_hello("handshake: no such role"),
    in_hello("handshake: bad name"),
    in_hello("handshake: too many fields"),
    in_hello("handshake: value too long"),
    in_hello("handshake: field named twice"),
    elsewhere(
        "handshake: our own nonce came back",
        "crates/net/tests/handshake.rs",
        "a_reflected_hello_is_misbehaviour",
    ),
    elsewhere(
        "handshake: fields in another order",
        "crates/net/tests/handshake.rs",
        "fields_in_another_order_are_misbehaviour",
    ),
    elsewhere("frame: wrong tag", "crates/net/tests/channel.rs", WRONG_FRAMES),
    elsewhere("frame: wrong length", "crates/net/tests/channel.rs", WRONG_FRAMES),
    elsewhere(
        "frame: length over the limit",
        "crates/net/tests/channel.rs",
        "a_hostile_length_is_refused_before_memory_is_allocated",
    ),
    elsewhere(
        "frame: control frame with a payload",
        "crates/net/tests/alive.rs",
        "a_keep_alive_has_no_payload",
    ),
    elsewhere(
        "shape: not a shaped line on the other side",
        "crates/net/tests/shape.rs",
        "one_shaped_side_is_found_out",
    ),
    elsewhere(
        "tls: no welcome",
        "crates/net/src/tls/tests.rs",
        "a_server_that_says_something_else_than_welcome_misbehaves",
    ),
];

const OPEN_BACKENDS: &str = "stray_bits_are_refused_where_cheating_is_not_covered";
const WRONG_FRAMES: &str = "wrong_tag_and_wrong_length_are_misbehaviour";
