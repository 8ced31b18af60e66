//! Linear maps of many words side by side, and changes of their layout.

use zeroize::Zeroizing;

use super::transpose::rotate;
use super::{Cpu, Kernel, Symbols, Vector};
use crate::Block;
use crate::field::Field;
use crate::planes::{self, VECTOR};

/// Blocks whose bytes are transposed together.
const SQUARE: usize = size_of::<Block>();

/// A matrix in the form a vector unit wants; wiped when dropped.
///
/// The rows are cut into tiles of a power of two, as many as a kernel sums side by side. Tile after
/// tile stand the factors, column after column.
pub(crate) struct Factors {
    rows: usize,
    cols: usize,
    words: Zeroizing<Vec<u64>>,
}

/// Where the vectors of a computation stand in a slice: vector (number `i` of the matrix's rows or
/// columns, number `k` of the computation) at byte `i * line + k * step`.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    /// From a row or column to the next.
    pub(crate) line: usize,
    /// From a vector to the next that is handled alike.
    pub(crate) step: usize,
}

impl Factors {
    /// The `rows` x `cols` matrix with these entries, row after row.
    pub(crate) fn new(cpu: Cpu, field: Field, rows: usize, cols: usize, entries: &[u8]) -> Factors {
        let words = cpu.run(Prepare { field, rows, cols, entries });
        Factors { rows, cols, words }
    }

    /// Multiplies `count` words of [`VECTOR`] lanes, and writes the products or adds them to what
    /// is there.
    pub(crate) fn apply<const ADD: bool>(
        &self,
        cpu: Cpu,
        count: usize,
        (input, from): (&[u8], Places),
        (output, to): (&mut [u8], Places),
    ) {
        cpu.run(Apply::<ADD> { factors: self, count, input, from, output, to });
    }
}

/// Rows of the next tile, where `left` rows are left.
#[inline(always)]
fn tile_rows<S: Symbols>(left: usize) -> usize {
    if left >= S::SUMS { S::SUMS } else { 1 << left.ilog2() }
}

struct Prepare<'a> {
    field: Field,
    rows: usize,
    cols: usize,
    entries: &'a [u8],
}

impl Kernel for Prepare<'_> {
    type Output = Zeroizing<Vec<u64>>;

    #[inline(always)]
    fn run<V: Vector>(self, _: V::Cpu) -> Zeroizing<Vec<u64>> {
        prepare::<V::Shuffler>(self)
    }
}

#[inline(always)]
fn prepare<S: Symbols>(matrix: Prepare<'_>) -> Zeroizing<Vec<u64>> {
    let (rows, cols) = (matrix.rows, matrix.cols);
    let words = rows * cols * size_of::<S::Factor>() / size_of::<u64>();
    let mut words = Zeroizing::new(vec![0; words]);
    let factors: &mut [S::Factor] = bytemuck::cast_slice_mut(&mut words);
    let mut first = 0;
    while first < rows {
        let tile = tile_rows::<S>(rows - first);
        let factors = &mut factors[first * cols..(first + tile) * cols];
        for (col, factors) in factors.chunks_exact_mut(tile).enumerate() {
            for (i, factor) in factors.iter_mut().enumerate() {
                *factor = S::factor(matrix.field, matrix.entries[(first + i) * cols + col]);
            }
        }
        first += tile;
    }
    words
}

struct Apply<'a, const ADD: bool> {
    factors: &'a Factors,
    count: usize,
    input: &'a [u8],
    from: Places,
    output: &'a mut [u8],
    to: Places,
}

impl<const ADD: bool> Kernel for Apply<'_, ADD> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        apply::<V::Shuffler, ADD>(cpu, self);
    }
}

#[inline(always)]
fn apply<S: Symbols, const ADD: bool>(cpu: S::Cpu, job: Apply<'_, ADD>) {
    let (rows, cols) = (job.factors.rows, job.factors.cols);
    let factors: &[S::Factor] = bytemuck::cast_slice(&job.factors.words);
    let mut first = 0;
    while first < rows {
        let tile = tile_rows::<S>(rows - first);
        let factors = &factors[first * cols..(first + tile) * cols];
        for part in (0..job.count * VECTOR).step_by(S::BYTES) {
            let (k, byte) = (part / VECTOR, part % VECTOR);
            let input = job.input.get(k * job.from.step + byte..).unwrap_or_default();
            let output = &mut job.output[first * job.to.line + k * job.to.step + byte..];
            let (from, to) = (job.from.line, job.to.line);
            match tile {
                16 => sums::<S, ADD, 16>(cpu, factors, input, from, output, to),
                8 => sums::<S, ADD, 8>(cpu, factors, input, from, output, to),
                4 => sums::<S, ADD, 4>(cpu, factors, input, from, output, to),
                2 => sums::<S, ADD, 2>(cpu, factors, input, from, output, to),
                _ => sums::<S, ADD, 1>(cpu, factors, input, from, output, to),
            }
        }
        first += tile;
    }
}

/// One register of `N` rows: the sums of the products of a register of every column.
#[inline(always)]
fn sums<S: Symbols, const ADD: bool, const N: usize>(
    cpu: S::Cpu,
    factors: &[S::Factor],
    input: &[u8],
    from: usize,
    output: &mut [u8],
    to: usize,
) {
    let mut sums = [S::load(cpu, &[]); N];
    if ADD {
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum = S::load_bytes(cpu, &output[i * to..]);
        }
    }
    for (col, factors) in factors.as_chunks::<N>().0.iter().enumerate() {
        let symbols = S::load_bytes(cpu, &input[col * from..]).split();
        for (sum, factor) in sums.iter_mut().zip(factors) {
            *sum = sum.xor(S::times(symbols, factor));
        }
    }
    for (i, sum) in sums.iter().enumerate() {
        sum.store_bytes(&mut output[i * to..]);
    }
}

/// [`crate::planes::to_blocks`] for lengths already checked.
pub(crate) fn to_blocks(cpu: Cpu, planes: &[u8], lanes: usize, out: &mut [Block], stride: usize) {
    cpu.run(ToBlocks { planes, lanes, out, stride });
}

/// [`crate::planes::from_blocks`] for lengths already checked.
pub(crate) fn from_blocks(
    cpu: Cpu,
    blocks: &[Block],
    stride: usize,
    planes: &mut [u8],
    lanes: usize,
) {
    cpu.run(FromBlocks { blocks, stride, planes, lanes });
}

struct ToBlocks<'a> {
    planes: &'a [u8],
    lanes: usize,
    out: &'a mut [Block],
    stride: usize,
}

impl Kernel for ToBlocks<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        to_blocks_by::<V::Shuffler>(cpu, self);
    }
}

struct FromBlocks<'a> {
    blocks: &'a [Block],
    stride: usize,
    planes: &'a mut [u8],
    lanes: usize,
}

impl Kernel for FromBlocks<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        from_blocks_by::<V::Shuffler>(cpu, self);
    }
}

#[inline(always)]
fn to_blocks_by<S: Symbols>(cpu: S::Cpu, job: ToBlocks<'_>) {
    let planes = job.planes.len() / job.lanes;
    for lane in (0..job.lanes).step_by(S::BYTES) {
        let mut x = [[S::load(cpu, &[]); 2]; SQUARE / 2];
        for (i, x) in x.as_flattened_mut().iter_mut().enumerate() {
            if i < planes {
                *x = S::load_bytes(cpu, &job.planes[i * job.lanes + lane..]);
            }
        }
        for (i, x) in transpose_bytes(x).as_flattened().iter().enumerate() {
            x.store_spread(&mut job.out[(lane + i) * job.stride..], SQUARE * job.stride);
        }
    }
}

#[inline(always)]
fn from_blocks_by<S: Symbols>(cpu: S::Cpu, job: FromBlocks<'_>) {
    let planes = job.planes.len() / job.lanes;
    for lane in (0..job.lanes).step_by(S::BYTES) {
        let mut x = [[S::load(cpu, &[]); 2]; SQUARE / 2];
        for (i, x) in x.as_flattened_mut().iter_mut().enumerate() {
            let blocks = &job.blocks[(lane + i) * job.stride..];
            *x = S::load_spread(cpu, blocks, SQUARE * job.stride);
        }
        for (i, x) in transpose_bytes(x).as_flattened().iter().enumerate() {
            if i < planes {
                x.store_bytes(&mut job.planes[i * job.lanes + lane..]);
            }
        }
    }
}

/// In each lane, swaps byte `j` of register `i` with byte `i` of register `j`.
///
/// The address of a byte has four bits of the register and four of the byte. Three rotations bring
/// the upper bits of the register, of the even and of the odd ones, to the bottom of the byte's,
/// whose upper bits become the register's; interleaving the even and the odd ones brings the last.
#[inline(always)]
fn transpose_bytes<S: Symbols>(x: [[S; 2]; SQUARE / 2]) -> [[S; 2]; SQUARE / 2] {
    let (mut even, mut odd) = ([x[0][0]; SQUARE / 2], [x[0][1]; SQUARE / 2]);
    for (i, pair) in x.iter().enumerate() {
        (even[i], odd[i]) = (pair[0], pair[1]);
    }
    (even, odd) = (rotate(rotate(rotate(even))), rotate(rotate(rotate(odd))));
    let mut out = x;
    for (i, out) in out.iter_mut().enumerate() {
        (out[0], out[1]) = even[i].interleave_bytes(odd[i]);
    }
    out
}

/// [`planes::pack6_vectors`], compiled for the unit.
pub(crate) fn pack6(cpu: Cpu, planes: &[[u8; VECTOR]], vectors: usize, out: &mut [[u8; VECTOR]]) {
    cpu.run(Pack6 { planes, vectors, out });
}

/// [`planes::unpack6_vectors`], compiled for the unit.
pub(crate) fn unpack6(
    cpu: Cpu,
    packed: &[[u8; VECTOR]],
    vectors: usize,
    planes: &mut [[u8; VECTOR]],
) -> bool {
    cpu.run(Unpack6 { packed, vectors, planes })
}

struct Pack6<'a> {
    planes: &'a [[u8; VECTOR]],
    vectors: usize,
    out: &'a mut [[u8; VECTOR]],
}

impl Kernel for Pack6<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, _: V::Cpu) {
        planes::pack6_vectors(self.planes, self.vectors, self.out);
    }
}

struct Unpack6<'a> {
    packed: &'a [[u8; VECTOR]],
    vectors: usize,
    planes: &'a mut [[u8; VECTOR]],
}

impl Kernel for Unpack6<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<V: Vector>(self, _: V::Cpu) -> bool {
        planes::unpack6_vectors(self.packed, self.vectors, self.planes)
    }
}
