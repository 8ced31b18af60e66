//! The rows of `yao`, which promises nothing against a cheater.

use cenote_engine::backends::yao::tags;
use cenote_engine::{Backend, Role};
use cenote_net::Tag;
use cenote_ot::tags as ot;

use super::{A, B, COLUMNS, End, Entry, FrameRow, frame};

const fn once(tag: Tag, from: Role, flip: End) -> FrameRow {
    frame(Backend::Yao, tag, from, flip, None)
}

const fn open(tag: Tag, from: Role) -> FrameRow {
    frame(Backend::Yao, tag, from, End::Unprotected, Some(End::Unprotected))
}

/// Its entry in the tests of all backends.
pub(super) const ENTRY: Entry = Entry {
    backend: Backend::Yao,
    frames: FRAMES,
    milestones: &[(ot::BASE_POINTS, A), (ot::TREES, B), (ot::CHUNK, B), (tags::YAO_LABELS, A)],
    stray: &[(tags::YAO_DECODE, A, "yao.format"), (tags::YAO_OUTPUT, B, "yao.format")],
    wire: ["23ab6e33d64063892ece1ce8", "3d96a6c802c3738b8669e9fa"],
};

/// Every message, from each side that sends it.
const FRAMES: &[FrameRow] = &[
    frame(Backend::Yao, Tag::HELLO, A, End::Noticed, Some(End::Noticed)),
    frame(Backend::Yao, Tag::HELLO, B, End::Noticed, Some(End::Noticed)),
    once(ot::BASE_POINT, B, End::Noticed),
    once(ot::BASE_POINTS, A, End::Noticed),
    once(ot::TREES, B, End::NoticedOrRight),
    frame(Backend::Yao, ot::CHUNK, B, COLUMNS, Some(COLUMNS)),
    once(tags::YAO_START, A, End::Unprotected),
    FrameRow { cut: End::Caught("yao.tables.format"), ..open(tags::YAO_TABLES, A) },
    open(tags::YAO_LABELS, A),
    open(ot::CHOICES, B),
    open(tags::YAO_DECODE, A),
    open(tags::YAO_OUTPUT, B),
];
