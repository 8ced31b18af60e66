//! The entry of `jimu`.

mod bytes;

use cenote_engine::backends::jimu::tags;
use cenote_engine::parts::tags as coin;
use cenote_engine::{Adversary, Backend, Role};
use cenote_net::Tag;
use cenote_ot::tags as ot;

use super::{A, B, COIN, COLUMNS, End, Entry, FrameRow, Variant, frame};
use crate::cheater::jimu::{Cheat, Code, Flaw, Which};

const fn row(tag: Tag, from: Role, flip: End, replay: End) -> FrameRow {
    frame(Backend::Jimu, tag, from, flip, Some(replay))
}

/// A message that has `index` others with its tag before it.
const fn nth(index: usize, tag: Tag, from: Role, flip: End) -> FrameRow {
    FrameRow { index, ..frame(Backend::Jimu, tag, from, flip, None) }
}

const COMPACT: Variant = ("compact", "true");

const fn compact(tag: Tag, from: Role, flip: End, replay: End) -> FrameRow {
    FrameRow { variant: Some(COMPACT), ..row(tag, from, flip, replay) }
}

/// A message of a supply with a channel of its own.
const fn supply(tag: Tag, from: Role, flip: End, replay: Option<End>) -> FrameRow {
    FrameRow { beside: true, ..frame(Backend::Jimu, tag, from, flip, replay) }
}

const SHARE: End = End::Caught("jimu.watch.share");
const SECRET: End = End::Caught("jimu.watch.secret");
const CODEWORD: End = End::Caught("jimu.hash.codeword");
const RESULT: End = End::Caught("jimu.output.result");
const OUTER: End = End::Caught("jimu.outer");
const PERM: End = End::Caught("jimu.output.perm");
const LABEL: End = End::Caught("jimu.input.label");
const MERKLE: End = End::Caught("jimu.merkle");
const CHECKED: End = End::Caught("jimu.check");
const INNER: End = End::Caught("jimu.inner");

const PROOF: End = End::Caught("jimu.input.proof");
const SUM: End = End::Caught("jimu.input.sum");
const DELTA: End = End::Caught("jimu.delta");
const FORMAT: End = End::Caught("jimu.format");

/// Its entry in the tests of all backends.
pub(super) const ENTRY: Entry = Entry {
    backend: Backend::Jimu,
    adversary: Adversary::Malicious,
    variants: &[COMPACT],
    frames: FRAMES,
    milestones: &[
        (ot::BASE_POINTS, A),
        (ot::TREES, B),
        (ot::WATCH_SECRET, B),
        (tags::JIMU_DELTA, A),
        (tags::JIMU_STRIP, A),
        (coin::COIN_REPLY, B),
        (tags::JIMU_ANSWER, A),
        (tags::JIMU_INNER, A),
        (tags::JIMU_SUM, B),
        (tags::JIMU_CHOICES, B),
        (tags::JIMU_OUTER, A),
    ],
    stray: &[],
    wire: ["90a64895110c238364d71dce", "497a057ccc889626cdc36ebb"],
    cases: bytes::CASES,
    bytes: bytes::of,
    plans: &["jimu:pool=1500"],
    few_ands: true,
    masked: &[],
};

/// Every message, from each side that sends it.
const FRAMES: &[FrameRow] = &[
    row(Tag::HELLO, A, End::Noticed, End::Noticed),
    row(Tag::HELLO, B, End::Noticed, End::Noticed),
    nth(0, ot::BASE_POINT, B, End::Noticed),
    nth(0, ot::BASE_POINTS, A, End::Noticed),
    nth(0, ot::TREES, B, End::NoticedOrRight),
    row(ot::CHUNK, B, COLUMNS, COLUMNS),
    row(ot::CHOICES, B, End::Noticed, End::Noticed),
    // A pair is a seed and a share, of which one is read.
    row(ot::MASKED, A, End::NoticedOrRight, End::Noticed),
    row(ot::WATCH_COMMIT, A, SHARE, SHARE),
    nth(1, ot::WATCH_COMMIT, A, SHARE),
    row(ot::WATCH_SECRET, B, SECRET, SECRET),
    nth(1, ot::WATCH_SECRET, B, SECRET),
    // Corrections are read where they are watched.
    nth(0, tags::JIMU_DELTA, A, End::NoticedOrRight),
    row(coin::COIN_COMMIT, A, COIN, COIN),
    // Two coins: the answer is for other coefficients.
    row(coin::COIN_REPLY, B, End::Noticed, End::Noticed),
    row(coin::COIN_OPEN, A, COIN, COIN),
    nth(3, coin::COIN_COMMIT, A, COIN),
    nth(3, coin::COIN_OPEN, A, COIN),
    // Wires in escrow, inputs, ANDs: tables are read where masked values are one, and a bad AND is dropped.
    row(tags::JIMU_STRIP, A, End::NoticedOrRight, End::Noticed),
    nth(3, tags::JIMU_STRIP, A, End::NoticedOrRight),
    nth(5, tags::JIMU_STRIP, A, End::NoticedOrRight),
    nth(4, tags::JIMU_STRIP, A, End::NoticedOrRight),
    row(tags::JIMU_CLOSE, A, End::NoticedOrRight, CODEWORD),
    row(tags::JIMU_ANSWER, A, CODEWORD, CODEWORD),
    nth(3, tags::JIMU_ANSWER, A, CODEWORD),
    row(tags::JIMU_CHECK, A, End::Caught("jimu.check"), End::Noticed),
    nth(1, tags::JIMU_CHECK, A, End::Caught("jimu.check")),
    nth(0, tags::JIMU_INNER, A, End::Caught("jimu.inner")),
    nth(0, tags::JIMU_SUM, B, End::Caught("jimu.input.sum")),
    nth(0, tags::JIMU_PROOF, A, End::Caught("jimu.input.proof")),
    row(tags::JIMU_LABELS, A, LABEL, LABEL),
    // Another input, as far as the garbler can see: its solders do not fit the evaluator's tags.
    // Replayed, five bits are the same too often.
    nth(0, tags::JIMU_CHOICES, B, End::Noticed),
    row(tags::JIMU_OUTER, A, OUTER, OUTER),
    nth(1, tags::JIMU_OUTER, A, OUTER),
    row(tags::JIMU_PERMS, A, PERM, PERM),
    nth(1, tags::JIMU_PERMS, A, PERM),
    nth(0, tags::JIMU_BOND, A, End::Caught("jimu.output.bond")),
    row(tags::JIMU_RESULT, B, RESULT, RESULT),
    nth(1, tags::JIMU_RESULT, B, RESULT),
    nth(2, tags::JIMU_RESULT, B, RESULT),
    compact(tags::JIMU_AGAIN, A, MERKLE, End::Noticed),
    compact(tags::JIMU_PATHS, A, MERKLE, End::Noticed),
    supply(Tag::HELLO, A, End::Noticed, None),
    supply(Tag::HELLO, B, End::Noticed, None),
    supply(ot::CHUNK, B, COLUMNS, None),
    supply(coin::COIN_COMMIT, A, COIN, Some(COIN)),
    supply(coin::COIN_REPLY, B, End::Noticed, Some(End::Noticed)),
    supply(coin::COIN_OPEN, A, COIN, Some(COIN)),
    supply(tags::JIMU_STRIP, A, End::NoticedOrRight, Some(End::Noticed)),
    supply(tags::JIMU_CLOSE, A, End::NoticedOrRight, Some(CODEWORD)),
    supply(tags::JIMU_ANSWER, A, CODEWORD, Some(CODEWORD)),
    supply(tags::JIMU_CHECK, A, CHECKED, Some(End::Noticed)),
    supply(tags::JIMU_INNER, A, INNER, None),
    supply(tags::JIMU_SUM, B, SUM, None),
    supply(tags::JIMU_PROOF, A, PROOF, None),
    FrameRow { variant: Some(COMPACT), ..supply(tags::JIMU_AGAIN, A, MERKLE, None) },
    FrameRow { variant: Some(COMPACT), ..supply(tags::JIMU_PATHS, A, MERKLE, None) },
    // Any other order is malformed, or not what both do, unless other numbers of inputs come to the same batch.
    supply(tags::JIMU_ORDER, A, End::NoticedOrRight, Some(End::Noticed)),
];

/// One cheat of an active cheater against `jimu`; see [`crate::cheater::jimu`].
#[derive(Clone, Copy, Debug)]
pub struct JimuRow {
    /// The cheat.
    pub cheat: Cheat,
    /// Who cheats.
    pub by: Role,
    /// How the session ends for the other.
    pub end: End,
}

const fn garbler(cheat: Cheat, end: End) -> JimuRow {
    JimuRow { cheat, by: A, end }
}

const fn evaluator(cheat: Cheat, end: End) -> JimuRow {
    JimuRow { cheat, by: B, end }
}

/// A gate of a session of [`crate::cheater::jimu::tiny`], half of whose items are checked.
const fn gate(flaw: Flaw, which: Which, end: End) -> JimuRow {
    garbler(Cheat::Gate(flaw, which), end)
}

/// Caught in the check of items with this probability.
const fn odds(odds: f64) -> End {
    End::Chance("jimu.check", odds)
}

/// Cheats against `jimu`.
pub const CHEATS: &[JimuRow] = &[
    garbler(Cheat::Commitment, SHARE),
    garbler(Cheat::Share, End::Chance("jimu.watch.share", 56.0 / 88.0)),
    garbler(Cheat::ZeroDelta, DELTA),
    garbler(Cheat::EvenDelta, PROOF),
    garbler(Cheat::Coin(0), COIN),
    garbler(Cheat::Coin(2), COIN),
    garbler(Cheat::Symbol(Code::Labels), End::Chance("jimu.hash.codeword", 32.0 / 88.0)),
    garbler(Cheat::Symbol(Code::Perms), End::CaughtOrRight("jimu.hash.codeword")),
    // They pass with 2^-15 and 2^-13.
    garbler(Cheat::HalfWay(Code::Labels), CODEWORD),
    garbler(Cheat::HalfWay(Code::Perms), CODEWORD),
    garbler(Cheat::Answer, CODEWORD),
    garbler(Cheat::Padding, FORMAT),
    gate(Flaw::Half, Which::First, odds(0.25)),
    gate(Flaw::Half, Which::Checked, End::CaughtOrRight("jimu.check")),
    gate(Flaw::ThreeQuarters, Which::Checked, End::CaughtOrRight("jimu.check")),
    gate(Flaw::All, Which::Checked, CHECKED),
    gate(Flaw::Turn, Which::Checked, End::CaughtOrRight("jimu.check")),
    gate(Flaw::Nand, Which::Checked, CHECKED),
    gate(Flaw::OtherDelta, Which::Checked, End::CaughtOrRight("jimu.check")),
    gate(Flaw::Half, Which::Used(0), End::Right),
    gate(Flaw::All, Which::Used(1), End::Right),
    gate(Flaw::Turn, Which::Used(0), End::Right),
    gate(Flaw::Nand, Which::Used(0), End::Right),
    gate(Flaw::Nand, Which::Used(2), End::Right),
    gate(Flaw::OtherDelta, Which::Used(1), End::Right),
    garbler(Cheat::Hidden(Code::Labels), CHECKED),
    garbler(Cheat::Hidden(Code::Perms), CHECKED),
    garbler(Cheat::CheckedInput, CHECKED),
    garbler(Cheat::CheckedPerm, CHECKED),
    garbler(Cheat::Seed, End::Chance("jimu.hash.codeword", 20.0 / 44.0)),
    garbler(Cheat::Escrowed, End::Chance("jimu.hash.codeword", 20.0 / 44.0)),
    garbler(Cheat::InnerLabel, INNER),
    garbler(Cheat::InnerNot, INNER),
    garbler(Cheat::OuterLabel, OUTER),
    garbler(Cheat::OuterNot, OUTER),
    garbler(Cheat::OtherCircuit, OUTER),
    garbler(Cheat::ProvingKey, PROOF),
    garbler(Cheat::Key, PROOF),
    garbler(Cheat::OtherKey, PROOF),
    garbler(Cheat::Correlation, PROOF),
    garbler(Cheat::FittingKey, PROOF),
    garbler(Cheat::FittingCorrelation, PROOF),
    garbler(Cheat::Proof, PROOF),
    garbler(Cheat::InputLabel, LABEL),
    garbler(Cheat::OutputPerm, PERM),
    garbler(Cheat::Bond, End::Caught("jimu.output.bond")),
    garbler(Cheat::AgainTables, MERKLE),
    garbler(Cheat::AgainSwapped, MERKLE),
    garbler(Cheat::AgainNumber, MERKLE),
    garbler(Cheat::AgainOld, MERKLE),
    garbler(Cheat::AgainPath, MERKLE),
    evaluator(Cheat::Secret, SECRET),
    evaluator(Cheat::Columns, COLUMNS),
    evaluator(Cheat::Sum, SUM),
    evaluator(Cheat::SumDigest, SUM),
    evaluator(Cheat::StrayChoice, FORMAT),
    evaluator(Cheat::Forged, RESULT),
    evaluator(Cheat::ForgedHash, RESULT),
    evaluator(Cheat::StrayResult, FORMAT),
    evaluator(Cheat::Turned, RESULT),
];

#[cfg(test)]
mod tests {
    use cenote_circuit::Gates;
    use cenote_engine::backends::jimu::{JimuParty, JimuSession};
    use cenote_engine::backends::{Live, Protocol};
    use cenote_engine::{Fault, JimuParams, JimuSwitches, Party, PoolChoice, Receivers, Rho, Wire};
    use cenote_prim::SessionId;

    use crate::run::prg_of;

    type Use = fn(&mut JimuParty<'_>, &Wire, &Wire) -> Result<(), Fault>;

    /// Everything that takes wires.
    const USES: [Use; 5] = [
        |party, own, old| party.and(own, old).map(drop),
        |party, own, old| party.xor(old, own).map(drop),
        |party, _, old| party.not(old).map(drop),
        // A core, with the old wire as select and among the data.
        |party, own, old| {
            party.mux_many(old, &vec![own.clone(); 8], &vec![own.clone(); 8]).map(drop)
        },
        |party, own, old| {
            let mut lanes = vec![own.clone(); 8];
            lanes[7] = old.clone();
            party.mux_many(own, &lanes, &vec![own.clone(); 8]).map(drop)
        },
    ];

    #[test]
    fn a_wire_of_another_request_is_refused() {
        let (garbler, evaluator) = crate::run_pair(|channel, role| {
            let params =
                JimuParams::derive(PoolChoice::Kept(100), Rho::Bits40, JimuSwitches::DEFAULT)?;
            let prg = prg_of(role, 1);
            let mut session =
                JimuSession::open(channel.into(), SessionId([1; 32]), role, params, || prg, None)?;
            let old = session.party().constant(true)?;
            for (i, use_old) in USES.iter().enumerate() {
                let mut party = session.party();
                let own = party.constant(true)?;
                let refused = use_old(&mut party, &own, &old);
                assert!(matches!(refused, Err(Fault::Misuse(_))), "use {i}: {refused:?}");
            }
            let opened = session.party().reveal(Receivers::Both, &[old]);
            assert!(matches!(opened, Err(Fault::Misuse(_))), "{opened:?}");
            session.channel().close();
            Ok::<_, Fault>(())
        });
        assert_eq!((garbler, evaluator), (Ok(()), Ok(())));
    }
}
