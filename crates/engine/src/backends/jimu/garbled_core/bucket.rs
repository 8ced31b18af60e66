//! Buckets of cores: soldered together, then folded into what evaluation needs.
//!
//! **Ready bucket**, in blocks: a tag for each wire of the base; then for each member a head, the
//! folded tables and the key of D of each operand. The head is the number of the member and, in its
//! high half, delta of the right operand of each AND. For the base D and delta are zero.

use bytemuck::{cast_slice, cast_slice_mut};
use cenote_prim::Block;

use super::Shape;
use super::garble::ands;
use super::solder::solder_tag;
use crate::backends::jimu::ihash::{Label, Message, Tag};

/// Blocks of a ready bucket of `bucket` members.
#[must_use]
pub const fn ready_blocks(shape: Shape, bucket: usize) -> usize {
    2 * shape.wires() + bucket * member_blocks(shape)
}

/// Blocks of one member: head, tables, keys.
const fn member_blocks(shape: Shape) -> usize {
    1 + shape.table_blocks() + shape.operands()
}

/// Solders that make a bucket of `bucket` members.
#[must_use]
pub const fn inner_len(shape: Shape, bucket: usize) -> usize {
    (bucket - 1) * shape.wires()
}

/// Opens the inner solders of buckets of `bucket` members, whose wires are `wires`: for each bucket,
/// each member but the first and each wire, in order, appended to `out`.
///
/// # Panics
/// If `wires` are not those of whole buckets.
pub fn inner_solders(
    shape: Shape,
    bucket: usize,
    delta: &Label,
    wires: &[Message],
    out: &mut Vec<Message>,
) {
    assert!(wires.len().is_multiple_of(bucket * shape.wires()));
    out.reserve(wires.len());
    for wires in wires.chunks(bucket * shape.wires()) {
        let (base, members) = wires.split_at(shape.wires());
        for member in members.chunks(shape.wires()) {
            out.extend(member.iter().zip(base).map(|(m, b)| m.solder(b, false, delta)));
        }
    }
}

/// The tags that `opened` inner solders must agree with, appended to `out`; `tags` are those of the
/// wires.
///
/// # Panics
/// If the slices do not describe the same number of whole buckets.
pub fn inner_tags(
    shape: Shape,
    bucket: usize,
    delta_tag: Block,
    tags: &[Tag],
    opened: &[Message],
    out: &mut Vec<Tag>,
) {
    assert!(tags.len().is_multiple_of(bucket * shape.wires()));
    assert_eq!(opened.len() * bucket, tags.len() * (bucket - 1));
    out.reserve(opened.len());
    let mut opened = opened.iter();
    for tags in tags.chunks(bucket * shape.wires()) {
        let (base, members) = tags.split_at(shape.wires());
        for member in members.chunks(shape.wires()) {
            let wires = member.iter().zip(base).zip(&mut opened);
            out.extend(wires.map(|((m, b), opened)| solder_tag([m, b], false, opened, delta_tag)));
        }
    }
}

/// Members of buckets and the solders that connect them.
#[derive(Clone, Copy)]
pub struct Members<'a> {
    /// The number of each member.
    pub numbers: &'a [u64],
    /// `shape.table_blocks()` of each member.
    pub tables: &'a [Block],
    /// `shape.wires()` of each member.
    pub tags: &'a [Tag],
    /// Inner solders, found to agree with [`inner_tags`].
    pub opened: &'a [Message],
}

/// Writes the ready buckets into `out`, [`ready_blocks`] each.
///
/// # Panics
/// If the slices do not describe the same number of whole buckets.
pub fn fold(shape: Shape, bucket: usize, members: &Members<'_>, out: &mut [Block]) {
    let buckets = members.numbers.len() / bucket;
    assert_eq!(members.numbers.len(), buckets * bucket);
    assert_eq!(members.tables.len(), buckets * bucket * shape.table_blocks());
    assert_eq!(members.tags.len(), buckets * bucket * shape.wires());
    assert_eq!(members.opened.len(), buckets * inner_len(shape, bucket));
    assert_eq!(out.len(), buckets * ready_blocks(shape, bucket));
    let base = vec![Message::ZERO; shape.wires()];
    let mut opened = members.opened.chunks(shape.wires());
    for (((ready, numbers), tables), tags) in out
        .chunks_mut(ready_blocks(shape, bucket))
        .zip(members.numbers.chunks(bucket))
        .zip(members.tables.chunks(bucket * shape.table_blocks()))
        .zip(members.tags.chunks(bucket * shape.wires()))
    {
        let (ready_tags, ready_members) = ready.split_at_mut(2 * shape.wires());
        ready_tags.copy_from_slice(cast_slice(&tags[..shape.wires()]));
        let solders = std::iter::once(&base[..]).chain(&mut opened);
        for (((member, number), tables), solders) in ready_members
            .chunks_mut(member_blocks(shape))
            .zip(numbers)
            .zip(tables.chunks(shape.table_blocks()))
            .zip(solders)
        {
            fold_member(shape, *number, tables, solders, member);
        }
    }
}

/// Writes one member of a ready bucket.
fn fold_member(
    shape: Shape,
    number: u64,
    tables: &[Block],
    solders: &[Message],
    member: &mut [Block],
) {
    let (head, rest) = member.split_at_mut(1);
    let (folded, keys) = rest.split_at_mut(shape.table_blocks());
    let delta = |operand: usize| shape.sum(operand, |wire| solders[wire].perm.bit());
    let mut deltas = 0u64;
    let folded = cast_slice_mut::<Block, Label>(folded).as_chunks_mut().0;
    for (and, (folded, [tg, te, mk])) in folded.iter_mut().zip(ands(tables)).enumerate() {
        let [left, right] = shape.and(and);
        deltas |= u64::from(delta(right)) << and;
        let te = *te ^ shape.sum(left, |wire| solders[wire].label);
        let shifted = tg.times(delta(left)) ^ te.times(delta(right));
        *folded = [*tg, te, *mk ^ solders[shape.output(and)].label ^ shifted];
    }
    head[0] = Block::new(u128::from(deltas) << 64 | u128::from(number));
    for (operand, key) in keys.iter_mut().enumerate() {
        *key = shape.sum(operand, |wire| solders[wire].label.key());
    }
}

/// The tags of the wires of a ready bucket's base, in order.
///
/// # Panics
/// If there are too few blocks.
#[must_use]
pub fn base_tags(shape: Shape, ready: &[Block]) -> &[Tag] {
    cast_slice(&ready[..2 * shape.wires()])
}

/// A member of a ready bucket.
pub(super) struct Member<'a> {
    pub(super) number: u64,
    /// Bit i: delta of the right operand of AND i.
    pub(super) deltas: u64,
    pub(super) tables: &'a [[Label; 3]],
    /// Keys of D of the operands.
    pub(super) keys: &'a [Block],
}

/// The members of a ready bucket.
pub(super) fn members(shape: Shape, ready: &[Block]) -> impl Iterator<Item = Member<'_>> {
    ready[2 * shape.wires()..].chunks_exact(member_blocks(shape)).map(move |member| {
        let (head, rest) = member.split_at(1);
        let (tables, keys) = rest.split_at(shape.table_blocks());
        let head = head[0].to_u128();
        Member { number: head as u64, deltas: (head >> 64) as u64, tables: ands(tables), keys }
    })
}
