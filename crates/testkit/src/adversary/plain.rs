//! The rows of `plain`, which promises nothing against a cheater.

use cenote_engine::backends::plain::PLAIN_INPUT;
use cenote_engine::{Backend, Role};
use cenote_net::Tag;

use super::{A, B, End, Entry, FrameRow, frame};

const fn open(tag: Tag, from: Role) -> FrameRow {
    frame(Backend::Plain, tag, from, End::Unprotected, Some(End::Unprotected))
}

/// Its entry in the tests of all backends.
pub(super) const ENTRY: Entry = Entry {
    backend: Backend::Plain,
    frames: FRAMES,
    milestones: &[(PLAIN_INPUT, A)],
    stray: &[(PLAIN_INPUT, A, "plain.input.format"), (PLAIN_INPUT, B, "plain.input.format")],
    wire: ["e813725209b8a3c0713348ac", "4bb3507b5237adac28a7e11a"],
};

/// Every message, from each side that sends it.
const FRAMES: &[FrameRow] = &[
    frame(Backend::Plain, Tag::HELLO, A, End::Noticed, Some(End::Noticed)),
    frame(Backend::Plain, Tag::HELLO, B, End::Noticed, Some(End::Noticed)),
    open(PLAIN_INPUT, A),
    open(PLAIN_INPUT, B),
];
