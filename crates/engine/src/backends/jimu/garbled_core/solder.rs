//! Solders: a wire becomes another wire of the same value.
//!
//! A live wire is a sum of hashed wires, of value v = s + p + flip: XOR adds messages,
//! tags, labels, masked values and flips; negation turns the flip.

use cenote_prim::Block;

use super::bucket::base_tags;
use super::{Active, Shape};
use crate::backends::jimu::ihash::{Label, Message, Tag};

/// Returns the message that the garbler opens to make the wire `base` out of the live wire.
#[inline(always)]
#[must_use]
pub fn outer_solder(live: &Message, flip: bool, base: &Message, delta: &Label) -> Message {
    live.solder(base, flip, delta)
}

/// [`outer_solder`] for each live wire, appended to `out`: input wire after input wire, core after
/// core; `bases` are the messages of all wires of each base.
///
/// # Panics
/// If the slices do not describe the same number of cores.
pub fn outer_solders(
    shape: Shape,
    delta: &Label,
    live: &[Message],
    flips: &[bool],
    bases: &[Message],
    out: &mut Vec<Message>,
) {
    assert_eq!(live.len(), flips.len());
    assert_eq!(live.len() * shape.wires(), bases.len() * shape.inputs());
    let bases = bases.chunks(shape.wires()).flat_map(|base| &base[..shape.inputs()]);
    let solders = live.iter().zip(flips).zip(bases);
    out.extend(solders.map(|((live, flip), base)| outer_solder(live, *flip, base, delta)));
}

/// Returns the bit that `opened` adds to a masked value.
#[inline(always)]
fn shift(opened: &Message, flip: bool) -> bool {
    opened.perm.bit() ^ flip
}

/// The tag of what a solder opens, if it is as [`outer_solder`] makes it.
#[inline(always)]
pub(super) fn solder_tag(wires: [&Tag; 2], flip: bool, opened: &Message, delta_tag: Block) -> Tag {
    let sum = *wires[0] ^ *wires[1];
    Tag { label: sum.label ^ delta_tag.times(shift(opened, flip)), perm: sum.perm }
}

/// The tags that the `opened` solders must agree with, appended to `out`, for live wires with tags
/// `live` and ready buckets of `bucket` members; the order is that of [`outer_solders`].
///
/// # Panics
/// If the slices do not describe the same number of cores.
pub fn outer_tags(
    (shape, bucket): (Shape, usize),
    delta_tag: Block,
    live: &[Tag],
    flips: &[bool],
    ready: &[Block],
    opened: &[Message],
    out: &mut Vec<Tag>,
) {
    assert!(live.len() == flips.len() && live.len() == opened.len());
    assert_eq!(live.len() * super::ready_blocks(shape, bucket), ready.len() * shape.inputs());
    let bases = ready
        .chunks(super::ready_blocks(shape, bucket))
        .flat_map(|ready| &base_tags(shape, ready)[..shape.inputs()]);
    let wires = live.iter().zip(bases).zip(flips).zip(opened);
    out.extend(
        wires.map(|(((live, base), flip), opened)| {
            solder_tag([live, base], *flip, opened, delta_tag)
        }),
    );
}

/// The active labels on the wires of the bases, appended to `out`; the solders must have been found
/// to agree with [`outer_tags`].
///
/// # Panics
/// If the lengths differ.
pub fn outer_inputs(live: &[Active], flips: &[bool], opened: &[Message], out: &mut Vec<Active>) {
    assert!(live.len() == flips.len() && live.len() == opened.len());
    let wires = live.iter().zip(flips).zip(opened);
    out.extend(wires.map(|((live, flip), opened)| Active {
        label: live.label ^ opened.label,
        masked: live.masked ^ shift(opened, *flip),
    }));
}
