//! The rows of `toy`, which promises nothing against a cheater.

use cenote_engine::backends::toy::TOY_INPUT;
use cenote_engine::{Adversary, Backend, Receivers, Role};
use cenote_net::{RecordedFrame, Tag};
use cenote_prim::bits::packed_len;

use super::bytes::{Bytes, Case, Formula};
use super::{A, B, End, Entry, FrameRow, frame};
use crate::programs::Kind;

const fn open(tag: Tag, from: Role) -> FrameRow {
    frame(Backend::Toy, tag, from, End::Unprotected, Some(End::Unprotected))
}

/// Its entry in the tests of all backends.
pub(super) const ENTRY: Entry = Entry {
    backend: Backend::Toy,
    adversary: Adversary::None,
    variants: &[],
    frames: FRAMES,
    milestones: &[(TOY_INPUT, A)],
    stray: &[(TOY_INPUT, A, "toy.input.format"), (TOY_INPUT, B, "toy.input.format")],
    wire: ["40f36d5d6738356bc7888592", "5b2dcae44f6557abbb0e5e6a"],
    cases: &[Case::new("toy:delay=1", Kind::Ands(333), Receivers::Both)],
    bytes,
    plans: &["toy:delay=1"],
    few_ands: false,
    masked: &[],
};

/// Every message, from each side that sends it.
const FRAMES: &[FrameRow] = &[
    frame(Backend::Toy, Tag::HELLO, A, End::Noticed, Some(End::Noticed)),
    frame(Backend::Toy, Tag::HELLO, B, End::Noticed, Some(End::Noticed)),
    open(TOY_INPUT, A),
    open(TOY_INPUT, B),
];

/// Inputs, and nothing else.
fn bytes(case: &Case, _: &[RecordedFrame]) -> Bytes {
    let mut formula = Formula::default();
    for (owner, bits) in [A, B].into_iter().zip(case.work().inputs) {
        formula.add(TOY_INPUT, owner, packed_len(bits));
    }
    formula.0
}
