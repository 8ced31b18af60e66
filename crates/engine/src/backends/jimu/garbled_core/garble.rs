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
    let levels = hashes.levels.clone();
    let batch = Hashes::batch(shape, 2);
    for ((numbers, wires), tables) in numbers
        .chunks(batch)
        .zip(wires.chunks(batch * shape.wires()))
        .zip(tables.chunks_mut(batch * shape.table_blocks()))
    {
        hashes.begin(2 * numbers.len());
        for level in &levels {
            for (core, (&number, wires)) in
                numbers.iter().zip(wires.chunks(shape.wires())).enumerate()
            {
                hashes.set(level, 2 * core, number, |operand| {
                    let key = shape.sum(operand, |wire| wires[wire].label.key());
                    [key, key ^ delta.key()]
                });
            }
            hashes.run(level);
        }
        let cores = wires.chunks(shape.wires()).zip(tables.chunks_mut(shape.table_blocks()));
        for (core, (wires, tables)) in cores.enumerate() {
            garble_core(shape, delta, wires, (&hashes, 2 * core), tables);
        }
    }
}

/// The tables of one core from the hashes of its operands: of the labels L in the set of that number, of
/// the labels L + Delta in the next.
#[inline(always)]
fn garble_core(
    shape: Shape,
    delta: &Label,
    wires: &[Message],
    (hashes, set): (&Hashes, usize),
    tables: &mut [Block],
) {
    let perm = |operand: usize| shape.sum(operand, |wire| wires[wire].perm.bit());
    let tables = cast_slice_mut::<Block, Label>(tables).as_chunks_mut().0;
    for (and, ([tg, te, mk], out)) in tables.iter_mut().zip(&wires[shape.inputs()..]).enumerate() {
        let [left, right] = shape.and(and);
        let [h_left, h_right] = hashes.of(set, and);
        let [other_left, other_right] = hashes.of(set + 1, and);
        let (p_left, p_right) = (perm(left), perm(right));
        let eval = shape.sum(left, |wire| wires[wire].label) ^ delta.times(p_left);
        *tg = *h_left ^ *other_left ^ delta.times(p_right);
        *te = *h_right ^ *other_right ^ eval;
        *mk = *h_left ^ *h_right ^ out.label ^ delta.times((p_left & p_right) ^ out.perm.bit());
    }
}

/// The three tables of each AND.
pub(super) fn ands(tables: &[Block]) -> &[[Label; 3]] {
    cast_slice::<Block, Label>(tables).as_chunks().0
}
