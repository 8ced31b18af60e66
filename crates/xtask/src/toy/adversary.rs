//! The rows of `toy`, which promises nothing against a cheater.

use cenote_engine::backends::toy::TOY_INPUT;
use cenote_engine::{Backend, Role};
use cenote_net::Tag;

use super::{A, B, End, Entry, FrameRow, frame};

const fn open(tag: Tag, from: Role) -> FrameRow {
    frame(Backend::Toy, tag, from, End::Unprotected, Some(End::Unprotected))
}

/// Its entry in the tests of all backends.
pub(super) const ENTRY: Entry = Entry {
    backend: Backend::Toy,
    frames: FRAMES,
    milestones: &[(TOY_INPUT, A)],
    stray: &[(TOY_INPUT, A, "toy.input.format"), (TOY_INPUT, B, "toy.input.format")],
    wire: ["40f36d5d6738356bc7888592", "5b2dcae44f6557abbb0e5e6a"],
};

/// Every message, from each side that sends it.
const FRAMES: &[FrameRow] = &[
    frame(Backend::Toy, Tag::HELLO, A, End::Noticed, Some(End::Noticed)),
    frame(Backend::Toy, Tag::HELLO, B, End::Noticed, Some(End::Noticed)),
    open(TOY_INPUT, A),
    open(TOY_INPUT, B),
];
