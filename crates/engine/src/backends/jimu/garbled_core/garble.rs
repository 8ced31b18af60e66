//! The garbler's tables.

use bytemuck::{cast_slice, cast_slice_mut};
use cenote_prim::Block;

use super::Shape;
use super::hashes::Hashes;
use crate::backends::jimu::ihash::{Label, Message};

/// Garbles cores: `numbers` names each, `wires` are the messages of its wires, and its tables
/// replace the content of `tables`.
///
/// # Panics
/// If the slices do not describe the same number of cores.
pub fn garble(
    shape: Shape,
    delta: &Label,
    numbers: &[u64],
    wires: &[Message],
    tables: &mut [Block],
) {
    assert_eq!(wires.len(), numbers.len() * shape.wires());
    assert_eq!(tables.len(), numbers.len() * shape.table_blocks());
    let mut hashes = Hashes::new(shape);
    let batch = Hashes::batch(shape, 2);
    for ((numbers, wires), tables) in numbers
        .chunks(batch)
        .zip(wires.chunks(batch * shape.wires()))
        .zip(tables.chunks_mut(batch * shape.table_blocks()))
    {
        garble_batch(shape, delta, &mut hashes, numbers, wires, tables);
    }
}

fn garble_batch(
    shape: Shape,
    delta: &Label,
    hashes: &mut Hashes,
    numbers: &[u64],
    wires: &[Message],
    tables: &mut [Block],
) {
    let width = shape.width();
    hashes.begin(2 * numbers.len());
    for (core, (number, wires)) in numbers.iter().zip(wires.chunks(shape.wires())).enumerate() {
        let keys = wires[..shape.inputs()].iter().map(|wire| wire.label.key());
        hashes.set(2 * core, *number, keys.clone());
        hashes.set(2 * core + 1, *number, keys.map(|key| key ^ delta.key()));
    }
    let (c, x) = hashes.run();
    for (((wires, tables), c), x) in wires
        .chunks(shape.wires())
        .zip(tables.chunks_mut(shape.table_blocks()))
        .zip(c.chunks(2 * width))
        .zip(x.chunks(2 * width))
    {
        garble_core(shape, delta, wires, (c, x), tables);
    }
}

/// The tables of one core from the hashes of c and x: of the labels L, then of the labels L + Delta.
#[inline(always)]
fn garble_core(
    shape: Shape,
    delta: &Label,
    wires: &[Message],
    (c, x): (&[Label], &[Label]),
    tables: &mut [Block],
) {
    let (c, c_other) = c.split_at(shape.width());
    let (x, x_other) = x.split_at(shape.width());
    let (common, p_c) = (wires[0].label, wires[0].perm.bit());
    let eval = common ^ delta.times(p_c);
    for (lane, [tg, te, mk]) in
        cast_slice_mut::<Block, Label>(tables).as_chunks_mut().0.iter_mut().enumerate()
    {
        let (p_x, out) = (wires[shape.x(lane)].perm.bit(), &wires[shape.o(lane)]);
        *tg = c[lane] ^ c_other[lane] ^ delta.times(p_x);
        *te = x[lane] ^ x_other[lane] ^ eval;
        *mk = c[lane] ^ x[lane] ^ out.label ^ delta.times((p_c & p_x) ^ out.perm.bit());
    }
}

/// The three tables of each lane.
pub(super) fn lanes(tables: &[Block]) -> &[[Label; 3]] {
    cast_slice::<Block, Label>(tables).as_chunks().0
}
