//! The entry of `yao`, which promises nothing against a cheater.

use cenote_engine::backends::yao::tags;
use cenote_engine::{Adversary, Backend, Receivers, Role};
use cenote_net::{RecordedFrame, Tag};
use cenote_ot::{Choice, tags as ot};
use cenote_prim::bits::packed_len;

use super::bytes::{Bytes, Case, Formula};
use super::{A, B, COLUMNS, End, Entry, FrameRow, frame};
use crate::programs::Kind;

const fn once(tag: Tag, from: Role, flip: End) -> FrameRow {
    frame(Backend::Yao, tag, from, flip, None)
}

const fn open(tag: Tag, from: Role) -> FrameRow {
    frame(Backend::Yao, tag, from, End::Unprotected, Some(End::Unprotected))
}

const fn ands(n: usize) -> Case {
    Case::new("yao", Kind::Ands(n), Receivers::Both)
}

/// Its entry in the tests of all backends.
pub(super) const ENTRY: Entry = Entry {
    backend: Backend::Yao,
    adversary: Adversary::SemiHonest,
    variants: &[],
    frames: FRAMES,
    milestones: &[(ot::BASE_POINTS, A), (ot::TREES, B), (ot::CHUNK, B), (tags::YAO_LABELS, A)],
    stray: &[(tags::YAO_DECODE, A, "yao.format"), (tags::YAO_OUTPUT, B, "yao.format")],
    wire: ["a2f85a4c1af9165eadd1bd0d", "3d96a6c802c3738b8669e9fa"],
    cases: &[ands(1), ands(333), ands(20_001)],
    bytes,
    plans: &["yao"],
    few_ands: false,
    masked: &[[(tags::YAO_DECODE, A), (tags::YAO_OUTPUT, B)]],
};

/// Every message, from each side that sends it.
const FRAMES: &[FrameRow] = &[
    frame(Backend::Yao, Tag::HELLO, A, End::Noticed, Some(End::Noticed)),
    frame(Backend::Yao, Tag::HELLO, B, End::Noticed, Some(End::Noticed)),
    once(ot::BASE_POINT, B, End::Noticed),
    frame(Backend::Yao, ot::BASE_POINTS, A, End::Noticed, Some(End::Noticed)),
    once(ot::TREES, B, End::NoticedOrRight),
    frame(Backend::Yao, ot::CHUNK, B, COLUMNS, Some(COLUMNS)),
    once(tags::YAO_START, A, End::Unprotected),
    FrameRow { cut: End::Caught("yao.tables.format"), ..open(tags::YAO_TABLES, A) },
    open(tags::YAO_LABELS, A),
    open(ot::CHOICES, B),
    open(tags::YAO_DECODE, A),
    open(tags::YAO_OUTPUT, B),
];

/// The bytes of a session of which both sides receive the outputs.
fn bytes(case: &Case, _: &[RecordedFrame]) -> Bytes {
    let (work, params) = (case.work(), Choice::default());
    let mut formula = Formula::default();
    formula.setup(params, A);
    formula.add(tags::YAO_START, A, 16);
    formula.add(tags::YAO_LABELS, A, 16 * work.inputs[0]);
    formula.cots(params, B, work.inputs[1]);
    formula.add(ot::CHOICES, B, packed_len(work.inputs[1]));
    formula.add(tags::YAO_TABLES, A, 32 * work.ands);
    formula.add(tags::YAO_DECODE, A, packed_len(work.outputs));
    formula.add(tags::YAO_OUTPUT, B, packed_len(work.outputs));
    formula.0
}
