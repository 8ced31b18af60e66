//! Checking of cores: they are opened on inputs that the garbler could not foresee.

use cenote_prim::Block;
use zeroize::Zeroizing;

use super::Shape;
use super::garble::ands;
use super::hashes::Hashes;
use crate::backends::jimu::ihash::{Label, Message, Recogniser, Tag};

/// Opens checked cores, whose wires are `wires`, on packed `inputs`, `shape.inputs()` bits a core:
/// appends for every wire the active label and the permutation message to `out`.
///
/// # Panics
/// If `wires` are not those of whole cores, or there are too few inputs.
pub fn open_for_check(
    shape: Shape,
    delta: &Label,
    wires: &[Message],
    inputs: &[u8],
    out: &mut Vec<Message>,
) {
    assert!(wires.len().is_multiple_of(shape.wires()));
    let values = shape.values(inputs, wires.len() / shape.wires());
    out.extend(wires.iter().zip(values).map(|(wire, value)| Message {
        label: wire.label ^ delta.times(value ^ wire.perm.bit()),
        perm: wire.perm,
    }));
}

/// Cores that are checked.
#[derive(Clone, Copy)]
pub struct Checked<'a> {
    /// The number of each.
    pub numbers: &'a [u64],
    /// `shape.table_blocks()` of each.
    pub tables: &'a [Block],
    /// `shape.wires()` of each.
    pub tags: &'a [Tag],
    /// Packed, `shape.inputs()` bits of each.
    pub inputs: &'a [u8],
    /// The messages that the garbler claims to have got from [`open_for_check`].
    pub opened: &'a [Message],
}

/// Whether `cores` are right on their inputs: what is opened is what the tags bind the garbler to,
/// and the tables lead from the input labels to exactly the output labels.
///
/// # Panics
/// If the slices do not describe the same number of cores.
pub fn check(shape: Shape, hash: &impl Recogniser, delta_tag: Block, cores: &Checked<'_>) -> bool {
    let wires = cores.numbers.len() * shape.wires();
    assert!(cores.tags.len() == wires && cores.opened.len() == wires);
    assert_eq!(cores.tables.len(), cores.numbers.len() * shape.table_blocks());
    let masked: Vec<bool> = shape
        .values(cores.inputs, cores.numbers.len())
        .into_iter()
        .zip(cores.opened)
        .map(|(value, opened)| value ^ opened.perm.bit())
        .collect();
    let tags = cores.tags.iter().zip(&masked);
    let expected: Zeroizing<Vec<Tag>> = tags
        .map(|(tag, masked)| Tag { label: tag.label ^ delta_tag.times(*masked), perm: tag.perm })
        .collect::<Vec<_>>()
        .into();
    hash.agree(cores.opened, &expected) & evaluates(shape, cores, &masked)
}

/// Whether the tables lead from the opened input labels to the opened output labels.
fn evaluates(shape: Shape, cores: &Checked<'_>, masked: &[bool]) -> bool {
    let (batch, wires) = (Hashes::batch(shape, 1), shape.wires());
    let mut hashes = Hashes::new(shape);
    let levels = hashes.levels.clone();
    let mut good = true;
    for (((numbers, tables), opened), masked) in cores
        .numbers
        .chunks(batch)
        .zip(cores.tables.chunks(batch * shape.table_blocks()))
        .zip(cores.opened.chunks(batch * wires))
        .zip(masked.chunks(batch * wires))
    {
        hashes.begin(numbers.len());
        for level in &levels {
            for (core, (&number, opened)) in numbers.iter().zip(opened.chunks(wires)).enumerate() {
                let key = |operand| [shape.sum(operand, |wire| opened[wire].label.key())];
                hashes.set(level, core, number, key);
            }
            hashes.run(level);
        }
        let cores = opened.chunks(wires).zip(masked.chunks(wires));
        let cores = cores.zip(tables.chunks(shape.table_blocks())).enumerate();
        for (core, ((opened, masked), tables)) in cores {
            good &= core_evaluates(shape, opened, masked, ands(tables), (&hashes, core));
        }
    }
    good
}

/// The same for one core, from the hashes of its operands in the set of that number.
fn core_evaluates(
    shape: Shape,
    opened: &[Message],
    masked: &[bool],
    tables: &[[Label; 3]],
    (hashes, set): (&Hashes, usize),
) -> bool {
    let masked = |operand: usize| shape.sum(operand, |wire| masked[wire]);
    tables.iter().enumerate().fold(true, |good, (and, [tg, te, mk])| {
        let ([left, right], [h_left, h_right]) = (shape.and(and), hashes.of(set, and));
        let label = shape.sum(left, |wire| opened[wire].label);
        let right = (*te ^ label).times(masked(right));
        let out = *h_left ^ tg.times(masked(left)) ^ *h_right ^ right ^ *mk;
        good & (out.0 == opened[shape.output(and)].label.0)
    })
}
