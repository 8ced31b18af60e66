//! Products of a matrix and messages of a few blocks, many columns side by side.

use zeroize::Zeroizing;

use super::{Cpu, Kernel, Lanes, Symbols, Vector};
use crate::Block;

/// Bytes of a block: columns that it is multiplied by.
const BYTES: usize = size_of::<Block>();

/// The columns as a vector unit wants them, from `images`, of which entry `8 c + i` is column `c`
/// times x^i: for as many columns as a register has lanes, the columns, then those times x, ..
pub(crate) fn prepare(cpu: Cpu, images: &[Block]) -> Zeroizing<Vec<Block>> {
    cpu.run(Prepare { images })
}

/// Multiplies messages of `m` blocks by columns made by [`prepare`].
pub(crate) fn apply(cpu: Cpu, columns: &[Block], m: usize, messages: &[Block], out: &mut [Block]) {
    cpu.run(Apply { columns, m, messages, out });
}

struct Prepare<'a> {
    images: &'a [Block],
}

impl Kernel for Prepare<'_> {
    type Output = Zeroizing<Vec<Block>>;

    #[inline(always)]
    fn run<V: Vector>(self, _: V::Cpu) -> Zeroizing<Vec<Block>> {
        let (lanes, images) = (V::Shuffler::LANES, V::Shuffler::IMAGES);
        let mut out = Zeroizing::new(vec![Block::ZERO; self.images.len() / 8 * images]);
        for (i, out) in out.iter_mut().enumerate() {
            let (group, power, lane) = (i / lanes / images, i / lanes % images, i % lanes);
            *out = self.images[8 * (group * lanes + lane) + power];
        }
        out
    }
}

struct Apply<'a> {
    columns: &'a [Block],
    m: usize,
    messages: &'a [Block],
    out: &'a mut [Block],
}

impl Kernel for Apply<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        match V::Shuffler::LANES {
            4 => apply_by::<V::Shuffler, 4>(cpu, self),
            _ => apply_by::<V::Shuffler, 2>(cpu, self),
        }
    }
}

/// `LANES` messages at a time, whose sums are folded together.
#[inline(always)]
fn apply_by<S: Symbols, const LANES: usize>(cpu: S::Cpu, job: Apply<'_>) {
    let mut outs = job.out.chunks_exact_mut(LANES);
    let mut messages = job.messages;
    for out in &mut outs {
        let (now, later) = messages.split_at(LANES * job.m);
        let mut sums = [S::load(cpu, &[]); LANES];
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum = product(cpu, job.columns, &now[i * job.m..(i + 1) * job.m]);
        }
        fold(sums).store(out);
        messages = later;
    }
    for (i, out) in outs.into_remainder().iter_mut().enumerate() {
        let mut sums = [S::load(cpu, &[]); LANES];
        sums[0] = product(cpu, job.columns, &messages[i * job.m..(i + 1) * job.m]);
        fold(sums).store(std::slice::from_mut(out));
    }
}

/// The sum of all lanes is the image of a message.
#[inline(always)]
fn product<S: Symbols>(cpu: S::Cpu, columns: &[Block], message: &[Block]) -> S {
    let columns = columns.chunks_exact(BYTES * S::IMAGES);
    let mut sum = S::load(cpu, &[]);
    for (columns, block) in columns.zip(message) {
        let block = S::splat(cpu, *block);
        let groups = columns.chunks_exact(S::LANES * S::IMAGES);
        for (first, images) in (0..).step_by(S::LANES).zip(groups) {
            sum = sum.xor(block.shuffle_bytes(byte_of_lane(cpu, first)).times_images(images));
        }
    }
    sum
}

/// Places that bring byte `first + l` of lane `l` to all its bytes; `first` is a multiple of the
/// number of lanes.
#[inline(always)]
fn byte_of_lane<S: Symbols>(cpu: S::Cpu, first: u8) -> S {
    const EVERY: u128 = 0x01010101_01010101_01010101_01010101;
    let lanes = [0, 1, 2, 3].map(|lane| Block::new(EVERY * lane));
    S::load(cpu, &lanes).xor(S::splat(cpu, Block::new(EVERY * u128::from(first))))
}

/// Lane `i` is the sum of the lanes of register `i`.
#[inline(always)]
fn fold<S: Symbols, const LANES: usize>(registers: [S; LANES]) -> S {
    let mut rows = registers;
    S::transpose_lanes(&mut rows);
    rows[1..].iter().fold(rows[0], |sum, row| sum.xor(*row))
}
