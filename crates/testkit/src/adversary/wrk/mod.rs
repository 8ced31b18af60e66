//! The entry of `wrk`.

mod bytes;

use cenote_engine::backends::wrk::tags;
use cenote_engine::parts::tags as coin;
use cenote_engine::{Adversary, Backend, Role};
use cenote_net::Tag;
use cenote_ot::tags as ot;

use super::{A, B, COIN, COLUMNS, End, Entry, FrameRow, Variant, frame};
use crate::cheater::{Cheat, Setting};

const fn row(tag: Tag, from: Role, flip: End, replay: End) -> FrameRow {
    frame(Backend::Wrk, tag, from, flip, Some(replay))
}

const fn once(tag: Tag, from: Role, flip: End) -> FrameRow {
    frame(Backend::Wrk, tag, from, flip, None)
}

/// A message that has one with its tag before it.
const fn later(tag: Tag, from: Role, flip: End) -> FrameRow {
    FrameRow { index: 1, ..once(tag, from, flip) }
}

const SILENT: Variant = ("ot", "silent");

/// A message of silent OT, over one channel and on that of the supply.
const fn silent(beside: bool, tag: Tag, from: Role, flip: End) -> FrameRow {
    FrameRow { variant: Some(SILENT), beside, ..once(tag, from, flip) }
}

/// A message on the channel of the supply.
const fn supply(tag: Tag, from: Role, flip: End, replay: Option<End>) -> FrameRow {
    FrameRow { beside: true, ..frame(Backend::Wrk, tag, from, flip, replay) }
}

const POINT: End = End::Caught("equality.point");
const LENGTH: End = End::Caught("leaky-and.length");
const EQUAL: End = End::Caught("equality.tag");
const INPUT: End = End::Caught("wrk.input.format");
const LABELS: End = End::Caught("wrk.labels");
const MASKED: End = End::Caught("wrk.masked");
const REPORT: End = End::Caught("wrk.report.format");
const TABLES: End = End::Caught("wrk.tables.format");
const FOREST: End = End::Caught(cenote_ot::silent::TREE_CHECK);
const MAC: End = End::Caught("opening.mac");

/// Its entry in the tests of all backends.
pub(super) const ENTRY: Entry = Entry {
    backend: Backend::Wrk,
    adversary: Adversary::Malicious,
    variants: &[SILENT],
    frames: FRAMES,
    milestones: &[
        (ot::BASE_POINTS, B),
        (ot::TREES, B),
        (coin::COIN_COMMIT, A),
        (tags::LEAKY_G, A),
        (tags::LEAKY_D, B),
        (tags::BUCKET_OPEN, A),
        (tags::INPUT_MASK, B),
        (tags::BEAVER_OPEN, B),
        (tags::TABLES, A),
        (tags::REPORT, B),
    ],
    stray: &[],
    wire: ["6fcca019c6c310f27ee76921", "04fafaa36605317755836b43"],
    cases: bytes::CASES,
    bytes: bytes::of,
    plans: &["wrk", "wrk:pool=20000", "wrk:ot=silent"],
    few_ands: false,
    masked: &[
        [(tags::INPUT_BITS, A), (tags::INPUT_MASK, B)],
        [(tags::INPUT_BITS, B), (tags::INPUT_MASK, A)],
        [(tags::REPORT, B), (tags::OUTPUT_MASK, A)],
        [(tags::REPORT, B), (tags::OUTPUT_MASK, B)],
    ],
};

/// Every message, from each side that sends it.
const FRAMES: &[FrameRow] = &[
    row(Tag::HELLO, A, End::Noticed, End::Noticed),
    row(Tag::HELLO, B, End::Noticed, End::Noticed),
    once(ot::BASE_POINT, A, End::Noticed),
    row(ot::BASE_POINTS, B, End::Noticed, End::Noticed),
    once(ot::TURNED, A, End::NoticedOrRight),
    // A sum that the opener does not read is a right guess of one bit of its Delta.
    once(ot::TREES, A, End::NoticedOrRight),
    once(ot::TREES, B, End::NoticedOrRight),
    row(ot::CHUNK, A, COLUMNS, End::Noticed),
    row(ot::CHUNK, B, COLUMNS, End::Noticed),
    // Who chose finds that the answer does not fit.
    silent(false, ot::SILENT_CHOICES, A, End::Noticed),
    silent(false, ot::SILENT_CHOICES, B, End::Noticed),
    silent(false, ot::SILENT_LEVELS, A, FOREST),
    silent(false, ot::SILENT_LEVELS, B, FOREST),
    silent(false, ot::SILENT_FOLD, A, End::Noticed),
    silent(false, ot::SILENT_FOLD, B, End::Noticed),
    silent(false, ot::SILENT_DIGEST, A, FOREST),
    silent(false, ot::SILENT_DIGEST, B, FOREST),
    silent(true, ot::SILENT_CHOICES, A, End::Noticed),
    silent(true, ot::SILENT_CHOICES, B, End::Noticed),
    silent(true, ot::SILENT_LEVELS, A, FOREST),
    silent(true, ot::SILENT_LEVELS, B, FOREST),
    silent(true, ot::SILENT_FOLD, A, End::Noticed),
    silent(true, ot::SILENT_FOLD, B, End::Noticed),
    silent(true, ot::SILENT_DIGEST, A, FOREST),
    silent(true, ot::SILENT_DIGEST, B, FOREST),
    // G is read where the victim's x is one.
    row(tags::LEAKY_G, A, End::NoticedOrRight, End::Noticed),
    row(tags::LEAKY_G, B, End::NoticedOrRight, EQUAL),
    row(tags::LEAKY_D, A, End::Noticed, End::Noticed),
    row(tags::LEAKY_D, B, End::Noticed, EQUAL),
    row(coin::COIN_COMMIT, A, COIN, End::Noticed),
    // Two starts of the hash, so that no G is right; sent again, it has no place for point and tag.
    row(coin::COIN_REPLY, B, End::Noticed, End::Noticed),
    row(coin::COIN_OPEN, A, COIN, End::Noticed),
    // With a test of equality: a changed point may be none.
    later(coin::COIN_COMMIT, A, End::Noticed),
    later(coin::COIN_REPLY, B, End::Noticed),
    later(coin::COIN_OPEN, A, End::Noticed),
    // The second request, after one that ended well.
    later(tags::INPUT_MASK, A, MAC),
    later(tags::BEAVER_OPEN, B, MAC),
    later(tags::TABLES, A, End::NoticedOrRight),
    later(tags::REPORT, B, End::NoticedOrRight),
    later(tags::MAC_HASH, A, End::Caught("wrk.masked")),
    later(tags::OUTPUT_MASK, A, MAC),
    later(tags::OUTPUT_MASK, B, MAC),
    row(tags::BUCKET_OPEN, A, MAC, MAC),
    row(tags::BUCKET_OPEN, B, MAC, MAC),
    row(tags::BEAVER_OPEN, A, MAC, MAC),
    row(tags::BEAVER_OPEN, B, MAC, MAC),
    // Table blocks are read where masked values are one.
    row(tags::TABLES, A, End::NoticedOrRight, End::Noticed),
    // The last block is the seed of the answer, which the evaluator may choose.
    row(tags::REPORT, B, End::NoticedOrRight, End::Caught("wrk.labels")),
    row(tags::MAC_HASH, A, End::Caught("wrk.masked"), End::Caught("wrk.masked")),
    row(tags::INPUT_MASK, A, MAC, MAC),
    row(tags::INPUT_MASK, B, MAC, MAC),
    row(tags::INPUT_BITS, A, End::Noticed, End::Noticed),
    row(tags::INPUT_BITS, B, End::Noticed, End::Noticed),
    row(tags::INPUT_LABELS, A, End::Noticed, End::Noticed),
    row(tags::OUTPUT_MASK, A, MAC, MAC),
    row(tags::OUTPUT_MASK, B, MAC, MAC),
    supply(Tag::HELLO, A, End::Noticed, None),
    supply(Tag::HELLO, B, End::Noticed, None),
    supply(ot::BASE_POINT, A, End::Noticed, None),
    supply(ot::BASE_POINTS, B, End::Noticed, Some(End::Noticed)),
    supply(ot::TURNED, A, End::NoticedOrRight, None),
    supply(ot::TREES, A, End::NoticedOrRight, None),
    supply(ot::TREES, B, End::NoticedOrRight, None),
    supply(ot::CHUNK, A, COLUMNS, Some(End::Noticed)),
    supply(ot::CHUNK, B, COLUMNS, Some(End::Noticed)),
    supply(tags::LEAKY_G, A, End::NoticedOrRight, Some(End::Noticed)),
    supply(tags::LEAKY_G, B, End::NoticedOrRight, Some(EQUAL)),
    supply(tags::LEAKY_D, A, End::Noticed, Some(End::Noticed)),
    supply(tags::LEAKY_D, B, End::Noticed, Some(EQUAL)),
    supply(coin::COIN_COMMIT, A, COIN, Some(End::Noticed)),
    supply(coin::COIN_REPLY, B, End::Noticed, Some(End::Noticed)),
    supply(coin::COIN_OPEN, A, COIN, Some(End::Noticed)),
    supply(tags::BUCKET_OPEN, A, MAC, Some(MAC)),
    supply(tags::BUCKET_OPEN, B, MAC, Some(MAC)),
    // What a probe says is not looked at, nor what a frame of the train has besides its number. Another pace makes no
    // difference to a request of one chunk.
    supply(coin::PACE_PROBE, A, End::Right, None),
    supply(coin::PACE_TRAIN, B, End::NoticedOrRight, None),
    supply(coin::PACE, A, End::NoticedOrRight, None),
    // Any other order is malformed, or not what both do.
    supply(tags::ORDER, A, End::Noticed, Some(End::Noticed)),
];

/// One cheat of an active cheater against `wrk`; see [`crate::cheater`].
#[derive(Clone, Copy, Debug)]
pub struct CheatRow {
    /// The setting of the session.
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
    both(Cheat::WrongG(1), End::Chance("equality.tag", 0.5)),
    both(Cheat::WrongG(2), End::Chance("equality.tag", 0.75)),
    both(Cheat::WrongDelta, EQUAL),
    both(Cheat::WrongD, EQUAL),
    both(Cheat::StrayD, LENGTH),
    both(Cheat::WrongDigest, EQUAL),
    both(Cheat::IdentityPoint, POINT),
    both(Cheat::WrongTag, EQUAL),
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
    by(A, Cheat::EchoTag, EQUAL),
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

/// Cheats in sessions with a pool. Batches of leaky ANDs: 0 fills it, 1 and 2 are for the first
/// request, 3 for the last. A toss belongs to each, after that of the set-up.
const POOL: &[CheatRow] = &[
    pool(A, Cheat::InconsistentChoices, 1, COLUMNS),
    pool(B, Cheat::InconsistentChoices, 3, COLUMNS),
    pool(A, Cheat::BiasedCoin, 2, COIN),
    pool(A, Cheat::BiasedCoin, 4, COIN),
    pool(A, Cheat::WrongG(64), 1, EQUAL),
    pool(B, Cheat::WrongG(64), 3, EQUAL),
    pool(A, Cheat::WrongDelta, 3, EQUAL),
    pool(B, Cheat::WrongDelta, 1, EQUAL),
    pool(A, Cheat::WrongD, 1, EQUAL),
    pool(B, Cheat::WrongD, 3, EQUAL),
    pool(A, Cheat::WrongDigest, 3, EQUAL),
    pool(B, Cheat::WrongDigest, 1, EQUAL),
    pool(A, Cheat::StrayD, 2, LENGTH),
    pool(B, Cheat::StrayD, 1, LENGTH),
    pool(A, Cheat::EchoTag, 1, EQUAL),
    pool(A, Cheat::EchoTag, 3, EQUAL),
    pool(A, Cheat::WrongTag, 3, EQUAL),
    pool(B, Cheat::WrongTag, 2, EQUAL),
    pool(A, Cheat::IdentityPoint, 1, POINT),
    pool(B, Cheat::IdentityPoint, 3, POINT),
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
            "equality.point",
            "equality.tag",
            "leaky-and.length",
            "opening.mac",
            cenote_ot::softspoken::COLUMN_CHECK,
            "wrk.labels",
            "wrk.masked",
        ],
    ),
];

/// Every row of a cheat against `wrk`.
pub fn cheats() -> impl Iterator<Item = CheatRow> {
    OF_BOTH.iter().flatten().chain(OF_ONE).chain(LONG).chain(POOL).copied()
}

#[cfg(test)]
mod tests {
    use cenote_circuit::Gates;
    use cenote_engine::backends::wrk::WrkSession;
    use cenote_engine::backends::{Live, Protocol};
    use cenote_engine::{Fault, Party, PoolChoice, Receivers, Rho, WrkParams};
    use cenote_prim::SessionId;

    use crate::run::prg_of;

    #[test]
    fn a_wire_of_another_request_is_refused() {
        let (garbler, evaluator) = crate::run_pair(|channel, role| {
            let params = WrkParams::derive(PoolChoice::OneShot(1), Rho::Bits40)?;
            let prg = prg_of(role, 1);
            let mut session =
                WrkSession::open(channel.into(), SessionId([1; 32]), role, params, || prg, None)?;
            let old = session.party().constant(true)?;
            let mut party = session.party();
            let own = party.constant(true)?;
            assert!(matches!(party.and(&own, &old), Err(Fault::Misuse(_))));
            let opened = party.reveal(Receivers::Both, &[old]);
            assert!(matches!(opened, Err(Fault::Misuse(_))), "{opened:?}");
            session.channel().close();
            Ok::<_, Fault>(())
        });
        assert_eq!((garbler, evaluator), (Ok(()), Ok(())));
    }
}
