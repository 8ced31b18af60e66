//! The entry of `plain`, which promises nothing against a cheater.

use cenote_engine::backends::plain::PLAIN_INPUT;
use cenote_engine::{Adversary, Backend, Receivers, Role};
use cenote_net::{RecordedFrame, Tag};
use cenote_prim::bits::packed_len;

use super::bytes::{Bytes, Case, Formula};
use super::{A, B, End, Entry, FrameRow, frame};
use crate::programs::Kind;

const fn open(tag: Tag, from: Role) -> FrameRow {
    frame(Backend::Plain, tag, from, End::Unprotected, Some(End::Unprotected))
}

/// Its entry in the tests of all backends.
pub(super) const ENTRY: Entry = Entry {
    backend: Backend::Plain,
    adversary: Adversary::None,
    variants: &[],
    frames: FRAMES,
    milestones: &[(PLAIN_INPUT, A)],
    stray: &[(PLAIN_INPUT, A, "plain.input.format"), (PLAIN_INPUT, B, "plain.input.format")],
    wire: ["e813725209b8a3c0713348ac", "4bb3507b5237adac28a7e11a"],
    cases: &[
        Case::new("plain", Kind::Ands(333), Receivers::Both),
        Case::new("plain", Kind::EvaluatorOnly, Receivers::Garbler),
    ],
    bytes,
    plans: &["plain"],
    few_ands: false,
    masked: &[],
};

/// Every message, from each side that sends it.
const FRAMES: &[FrameRow] = &[
    frame(Backend::Plain, Tag::HELLO, A, End::Noticed, Some(End::Noticed)),
    frame(Backend::Plain, Tag::HELLO, B, End::Noticed, Some(End::Noticed)),
    open(PLAIN_INPUT, A),
    open(PLAIN_INPUT, B),
];

/// Inputs, and nothing else.
fn bytes(case: &Case, _: &[RecordedFrame]) -> Bytes {
    let mut formula = Formula::default();
    for (owner, bits) in [A, B].into_iter().zip(case.work().inputs) {
        formula.add(PLAIN_INPUT, owner, packed_len(bits));
    }
    formula.0
}
