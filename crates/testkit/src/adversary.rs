//! The adversary table, as data: every message tampered with in every way, every check with the
//! cheat it exists for, and what the honest side must make of it.
//!
//! `tests/adversary.rs` plays every row and fails when a message tag or a check of the source has
//! none. Whatever the row, the honest side never gives a wrong output against a protocol that
//! covers cheating, and the cheater sees the one uniform abort frame.

use cenote_engine::{Backend, Role, tags};
use cenote_net::Tag;
use cenote_ot::tags as ot;

use crate::puppet::Cheat;

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

/// One cheat of an active cheater; see [`crate::puppet`].
#[derive(Clone, Copy, Debug)]
pub struct CheatRow {
    /// The cheat.
    pub cheat: Cheat,
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
    FrameRow { backend, tag, from, index: 0, flip, replay }
}

const fn wrk(tag: Tag, from: Role, flip: End, replay: End) -> FrameRow {
    row(Backend::Wrk, tag, from, flip, Some(replay))
}

const fn once(backend: Backend, tag: Tag, from: Role, flip: End) -> FrameRow {
    row(backend, tag, from, flip, None)
}

const fn later(tag: Tag, from: Role, flip: End) -> FrameRow {
    FrameRow { backend: Backend::Wrk, tag, from, index: 1, flip, replay: None }
}

const fn open(backend: Backend, tag: Tag, from: Role) -> FrameRow {
    row(backend, tag, from, End::Unprotected, Some(End::Unprotected))
}

const COLUMNS: End = End::Caught(cenote_ot::COLUMN_CHECK);
const MAC: End = End::Caught("opening.mac");
const EQUAL: End = End::Caught("equality.digest");
const COIN: End = End::Caught("coin.opening");

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
    wrk(tags::LEAKY_G, A, End::NoticedOrRight, End::Noticed),
    wrk(tags::LEAKY_G, B, End::NoticedOrRight, EQUAL),
    wrk(tags::LEAKY_D, A, End::Noticed, End::Noticed),
    wrk(tags::LEAKY_D, B, End::Noticed, EQUAL),
    wrk(tags::COIN_COMMIT, A, COIN, COIN),
    wrk(tags::COIN_REPLY, B, EQUAL, EQUAL),
    wrk(tags::COIN_OPEN, A, COIN, COIN),
    later(tags::COIN_COMMIT, A, COIN),
    // Two coins: two permutations, so that the openings are of other shares.
    later(tags::COIN_REPLY, B, End::Noticed),
    later(tags::COIN_OPEN, A, COIN),
    // The second request, after one that ended well.
    later(tags::INPUT_MASK, A, MAC),
    later(tags::BEAVER_OPEN, B, MAC),
    later(tags::TABLES, A, End::NoticedOrRight),
    later(tags::MASKED, B, End::NoticedOrRight),
    later(tags::MAC_HASH, A, End::Caught("wrk.masked")),
    later(tags::OUTPUT_MASK, A, MAC),
    later(tags::OUTPUT_MASK, B, MAC),
    wrk(tags::BUCKET_OPEN, A, MAC, MAC),
    wrk(tags::BUCKET_OPEN, B, MAC, MAC),
    wrk(tags::BEAVER_OPEN, A, MAC, MAC),
    wrk(tags::BEAVER_OPEN, B, MAC, MAC),
    // Table blocks are read where masked values are one.
    wrk(tags::TABLES, A, End::NoticedOrRight, End::Noticed),
    // The last block is the seed of the answer, which the evaluator may choose.
    wrk(tags::MASKED, B, End::NoticedOrRight, End::Caught("wrk.labels")),
    wrk(tags::MAC_HASH, A, End::Caught("wrk.masked"), End::Caught("wrk.masked")),
    wrk(tags::INPUT_MASK, A, MAC, MAC),
    wrk(tags::INPUT_MASK, B, MAC, MAC),
    wrk(tags::INPUT_BITS, A, End::Noticed, End::Noticed),
    wrk(tags::INPUT_BITS, B, End::Noticed, End::Noticed),
    wrk(tags::INPUT_LABELS, A, End::Noticed, End::Noticed),
    wrk(tags::OUTPUT_MASK, A, MAC, MAC),
    wrk(tags::OUTPUT_MASK, B, MAC, MAC),
    row(Backend::Yao, Tag::HELLO, A, End::Noticed, Some(End::Noticed)),
    row(Backend::Yao, Tag::HELLO, B, End::Noticed, Some(End::Noticed)),
    once(Backend::Yao, ot::BASE_POINT, B, End::Noticed),
    once(Backend::Yao, ot::BASE_POINTS, A, End::Noticed),
    once(Backend::Yao, ot::TREES, B, End::NoticedOrRight),
    row(Backend::Yao, ot::CHUNK, B, COLUMNS, Some(COLUMNS)),
    once(Backend::Yao, tags::YAO_START, A, End::Unprotected),
    open(Backend::Yao, tags::YAO_TABLES, A),
    open(Backend::Yao, tags::YAO_LABELS, A),
    open(Backend::Yao, ot::CHOICES, B),
    open(Backend::Yao, tags::YAO_DECODE, A),
    open(Backend::Yao, tags::YAO_OUTPUT, B),
    row(Backend::Plain, Tag::HELLO, A, End::Noticed, Some(End::Noticed)),
    row(Backend::Plain, Tag::HELLO, B, End::Noticed, Some(End::Noticed)),
    open(Backend::Plain, tags::PLAIN_INPUT, A),
    open(Backend::Plain, tags::PLAIN_INPUT, B),
];

/// Tags that no session of a backend sends yet, and where they are tested.
pub const UNUSED: &[(Tag, &str)] = &[
    (ot::MASKED, "chosen OT of messages: no backend asks for it; crates/ot"),
    (ot::WATCH_COMMIT, "watch lists: no backend asks for them; crates/ot"),
    (ot::WATCH_SECRET, "watch lists: no backend asks for them; crates/ot"),
];

/// The end of a frame that lost its last byte.
#[must_use]
pub fn cut(tag: Tag) -> End {
    match tag {
        Tag::HELLO => End::Caught("handshake: hello cut short"),
        tags::YAO_TABLES => End::Caught("yao.tables.format"),
        _ => End::Caught("frame: wrong length"),
    }
}

const fn both(cheat: Cheat, end: End) -> [CheatRow; 2] {
    [CheatRow { cheat, by: A, end }, CheatRow { cheat, by: B, end }]
}

const fn by(by: Role, cheat: Cheat, end: End) -> CheatRow {
    CheatRow { cheat, by, end }
}

/// Cheats of one side of a `wrk` session that both sides can play.
const OF_BOTH: &[[CheatRow; 2]] = &[
    both(Cheat::OtherProgram, End::Refused),
    both(Cheat::BadPoint, End::Caught("ot.base.point")),
    both(Cheat::InconsistentChoices, COLUMNS),
    both(Cheat::WrongG(1), End::Chance("equality.digest", 0.5)),
    both(Cheat::WrongG(2), End::Chance("equality.digest", 0.75)),
    both(Cheat::WrongDelta, EQUAL),
    both(Cheat::WrongD, EQUAL),
    both(Cheat::StrayD, End::Caught("leaky-and.length")),
    both(Cheat::WrongDigest, EQUAL),
    both(Cheat::FalseBucketBit, MAC),
    both(Cheat::FalseInputMask, MAC),
    both(Cheat::FalseBeaverBit, MAC),
    both(Cheat::FalseOutputMask, MAC),
    both(Cheat::ReplayedOpening, MAC),
    both(Cheat::OtherCircuit, MAC),
    both(Cheat::StrayInputBit, End::Caught("wrk.input.format")),
];

/// Cheats that only one role has occasion for.
const OF_ONE: &[CheatRow] = &[
    by(A, Cheat::BiasedCoin(0), COIN),
    by(A, Cheat::BiasedCoin(1), COIN),
    by(A, Cheat::EchoDigest, COIN),
    by(A, Cheat::TableColour(0), End::Chance("wrk.masked", 0.5)),
    by(A, Cheat::TableColour(1), End::Chance("wrk.masked", 0.5)),
    by(A, Cheat::TableBits, End::CaughtOrRight("wrk.masked")),
    by(A, Cheat::ColourBit, End::Caught("wrk.masked")),
    by(A, Cheat::StrayColour, End::Caught("wrk.tables.format")),
    by(A, Cheat::InputLabel, End::CaughtOrRight("wrk.masked")),
    by(A, Cheat::WrongAnswer, End::Caught("wrk.masked")),
    by(B, Cheat::FalseMasked, End::Caught("wrk.labels")),
    by(B, Cheat::FalseLabelHash, End::Caught("wrk.labels")),
    by(B, Cheat::StrayMasked, End::Caught("wrk.masked.format")),
];

/// Every row of a cheat.
pub fn cheats() -> impl Iterator<Item = CheatRow> {
    OF_BOTH.iter().flatten().chain(OF_ONE).copied()
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

/// Checks of the source that have their cheats elsewhere than in this table.
pub const ELSEWHERE: &[(&str, &str)] = &[
    ("ot.pprf", "flipped trees below; every sum of a tree in crates/ot"),
    ("ot.choices", "no length of it passes the frame check; crates/ot"),
    ("jimu.watch.", "every wrong share and a seed too many in crates/ot, watch.rs"),
    ("yao.format", "flipped frames of yao"),
    ("plain.input.format", "flipped frames of plain"),
    ("handshake: ", "crates/net/tests/handshake.rs"),
    ("frame: ", "raw rows; crates/net/tests/channel.rs"),
    ("shape: ", "crates/net/tests/shape.rs"),
    ("tls: ", "crates/net, tests of tls.rs"),
];
