//! Checking of cores: they are opened on inputs that the garbler could not foresee.

use cenote_prim::{Block, bits};
use zeroize::Zeroizing;

use super::Shape;
use super::garble::lanes;
use super::hashes::Hashes;
use crate::backends::jimu::ihash::{HashReceiver, Label, Message, Tag};

/// The value of every wire of each core, in order, from the packed bits of the inputs.
fn values(shape: Shape, inputs: &[u8], cores: usize) -> impl Iterator<Item = bool> + '_ {
    assert!(inputs.len() >= bits::packed_len(cores * shape.inputs()));
    (0..cores).flat_map(move |core| {
        let input = move |wire: usize| bits::get(inputs, core * shape.inputs() + wire);
        let output = move |lane: usize| input(0) & input(shape.x(lane));
        (0..shape.inputs()).map(input).chain((0..shape.width()).map(output))
    })
}

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
    let values = values(shape, inputs, wires.len() / shape.wires());
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
pub fn check(
    shape: Shape,
    hash: &impl HashReceiver,
    delta_tag: Block,
    cores: &Checked<'_>,
) -> bool {
    let wires = cores.numbers.len() * shape.wires();
    assert!(cores.tags.len() == wires && cores.opened.len() == wires);
    assert_eq!(cores.tables.len(), cores.numbers.len() * shape.table_blocks());
    let masked: Vec<bool> = values(shape, cores.inputs, cores.numbers.len())
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
    let (width, wires) = (shape.width(), shape.wires());
    let batch = Hashes::batch(shape, 1);
    let mut hashes = Hashes::new(shape);
    let mut good = true;
    for (((numbers, tables), opened), masked) in cores
        .numbers
        .chunks(batch)
        .zip(cores.tables.chunks(batch * shape.table_blocks()))
        .zip(cores.opened.chunks(batch * wires))
        .zip(masked.chunks(batch * wires))
    {
        hashes.begin(numbers.len());
        for (core, (number, opened)) in numbers.iter().zip(opened.chunks(wires)).enumerate() {
            let keys = opened[..shape.inputs()].iter().map(|opened| opened.label.key());
            hashes.set(core, *number, keys);
        }
        let (c, x) = hashes.run();
        for ((((opened, masked), tables), c), x) in opened
            .chunks(wires)
            .zip(masked.chunks(wires))
            .zip(tables.chunks(shape.table_blocks()))
            .zip(c.chunks(width))
            .zip(x.chunks(width))
        {
            good &= core_evaluates(shape, opened, masked, lanes(tables), (c, x));
        }
    }
    good
}

/// The same for one core, from the hashes of its input labels.
fn core_evaluates(
    shape: Shape,
    opened: &[Message],
    masked: &[bool],
    tables: &[[Label; 3]],
    (c, x): (&[Label], &[Label]),
) -> bool {
    tables.iter().enumerate().fold(true, |good, (lane, [tg, te, mk])| {
        let right = (*te ^ opened[0].label).times(masked[shape.x(lane)]);
        let out = c[lane] ^ tg.times(masked[0]) ^ x[lane] ^ right ^ *mk;
        good & (out.0 == opened[shape.o(lane)].label.0)
    })
}
