//! Words of small-field symbols, side by side: linear maps, combinations and layouts.
//!
//! A *plane* is a row of `lanes` bytes, `lanes` a multiple of 64: one symbol of as many words.
//! Planes stand one after the other in a byte slice, so that symbol `r` of word `l` is byte
//! `r * lanes + l`. All symbols are secret.

use std::fmt;

use zeroize::Zeroizing;

use crate::Block;
use crate::field::{Field, Matrix};
use crate::simd::planes::{Factors, Places};
use crate::simd::{self, Cpu};

/// Lanes that are handled together: all counts of lanes are multiples of it.
pub const VECTOR: usize = 64;

/// Symbols that are handled together.
type Vector = [u8; VECTOR];

/// Words of a vector.
const WORDS: usize = VECTOR / 8;

/// One in every byte.
const EVERY_BYTE: u64 = 0x0101_0101_0101_0101;

/// A matrix made ready to be applied to many words; wiped when dropped.
pub struct PlaneMap {
    rows: usize,
    cols: usize,
    form: Form,
}

enum Form {
    /// Matrices of bits, row after row.
    Portable(Zeroizing<Vec<u64>>),
    Vector(Cpu, Factors),
}

impl PlaneMap {
    /// The map that multiplies words by `matrix`.
    pub fn new(matrix: &Matrix) -> PlaneMap {
        PlaneMap::on(Cpu::current(), matrix)
    }

    /// The map for use on `cpu`.
    fn on(cpu: Option<Cpu>, matrix: &Matrix) -> PlaneMap {
        let (field, rows, cols) = (matrix.field(), matrix.rows(), matrix.cols());
        let form = match cpu {
            Some(cpu) => Form::Vector(cpu, Factors::new(cpu, field, rows, cols, matrix.entries())),
            None => {
                let mut matrices = Zeroizing::new(vec![0; rows * cols]);
                for (bits, entry) in matrices.iter_mut().zip(matrix.entries()) {
                    *bits = field.bit_matrix(*entry);
                }
                Form::Portable(matrices)
            }
        };
        PlaneMap { rows, cols, form }
    }

    /// The number of output planes.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of input planes.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Writes the matrix times each word of `input` (`cols` planes) to `output` (`rows` planes).
    /// Bits of the input outside the field are ignored.
    ///
    /// # Panics
    /// If `lanes` is not a multiple of 64 or a length is not as said.
    pub fn apply(&self, input: &[u8], output: &mut [u8], lanes: usize) {
        check_planes(input, self.cols, lanes);
        check_planes(output, self.rows, lanes);
        match &self.form {
            Form::Vector(cpu, factors) => {
                let places = Places { line: lanes, step: VECTOR };
                let count = lanes / VECTOR;
                factors.apply::<false>(*cpu, count, (input, places), (output, places));
            }
            Form::Portable(matrices) => self.apply_portable(matrices, input, output, lanes),
        }
    }

    fn apply_portable(&self, matrices: &[u64], input: &[u8], output: &mut [u8], lanes: usize) {
        output.fill(0);
        for row in 0..self.rows {
            let to = &mut output[row * lanes..(row + 1) * lanes];
            for col in 0..self.cols {
                let from = &input[col * lanes..(col + 1) * lanes];
                add_multiple(matrices[row * self.cols + col], from, to);
            }
        }
    }
}

impl fmt::Debug for PlaneMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlaneMap({} x {})", self.rows, self.cols)
    }
}

/// Adds to each of `t` groups of `rows` planes of 64 lanes in `acc` a combination of the vectors of
/// 64 lanes of `input` (`rows` planes of `lanes`): group `k` has vector `v` multiplied by
/// `coefficients[k * lanes / 64 + v]`. The coefficients are public; bits outside the field
/// are ignored.
///
/// # Panics
/// If `lanes` is not a multiple of 64 or a length is not as said.
pub fn combine(
    field: Field,
    coefficients: &[u8],
    t: usize,
    input: &[u8],
    rows: usize,
    lanes: usize,
    acc: &mut [u8],
) {
    combine_on(Cpu::current(), field, coefficients, t, input, rows, lanes, acc);
}

#[allow(clippy::too_many_arguments)]
fn combine_on(
    cpu: Option<Cpu>,
    field: Field,
    coefficients: &[u8],
    t: usize,
    input: &[u8],
    rows: usize,
    lanes: usize,
    acc: &mut [u8],
) {
    check_planes(input, rows, lanes);
    let vectors = lanes / VECTOR;
    assert_eq!(coefficients.len(), t * vectors);
    assert_eq!(acc.len(), t * rows * VECTOR);
    if let Some(cpu) = cpu {
        let factors = Factors::new(cpu, field, t, vectors, coefficients);
        let from = Places { line: VECTOR, step: lanes };
        let to = Places { line: rows * VECTOR, step: VECTOR };
        return factors.apply::<true>(cpu, rows, (input, from), (acc, to));
    }
    for (i, coefficient) in coefficients.iter().enumerate() {
        let (group, vector) = (i / vectors, i % vectors);
        let matrix = field.bit_matrix(*coefficient);
        for row in 0..rows {
            let from = row * lanes + vector * VECTOR;
            let to = (group * rows + row) * VECTOR;
            add_multiple(matrix, &input[from..from + VECTOR], &mut acc[to..to + VECTOR]);
        }
    }
}

/// Writes the words of at most 16 planes as blocks: byte `b` of `out[lane * stride + offset]` is
/// plane `b` at `lane`; planes that are missing are zero.
///
/// # Panics
/// If `lanes` is not a multiple of 64, the planes are no whole ones or more than 16, or `out` ends
/// before the last block.
pub fn to_blocks(planes: &[u8], lanes: usize, out: &mut [Block], stride: usize, offset: usize) {
    to_blocks_on(Cpu::current(), planes, lanes, out, stride, offset);
}

fn to_blocks_on(
    cpu: Option<Cpu>,
    planes: &[u8],
    lanes: usize,
    out: &mut [Block],
    stride: usize,
    offset: usize,
) {
    let count = count_planes(planes, lanes);
    assert!(count <= size_of::<Block>());
    if lanes == 0 {
        return;
    }
    let out = &mut out[offset..=offset + (lanes - 1) * stride];
    if let Some(cpu) = cpu {
        return simd::planes::to_blocks(cpu, planes, lanes, out, stride);
    }
    for lane in 0..lanes {
        let mut bytes = [0; size_of::<Block>()];
        for (byte, plane) in bytes.iter_mut().zip(planes.chunks_exact(lanes)) {
            *byte = plane[lane];
        }
        out[lane * stride] = Block::from_bytes(bytes);
    }
}

/// The inverse of [`to_blocks`]: plane `b` at `lane` is byte `b` of
/// `blocks[lane * stride + offset]`, for as many planes, at most 16, as `planes` has.
///
/// # Panics
/// If `lanes` is not a multiple of 64, the planes are no whole ones or more than 16, or `blocks`
/// ends before the last block.
pub fn from_blocks(
    blocks: &[Block],
    stride: usize,
    offset: usize,
    planes: &mut [u8],
    lanes: usize,
) {
    from_blocks_on(Cpu::current(), blocks, stride, offset, planes, lanes);
}

fn from_blocks_on(
    cpu: Option<Cpu>,
    blocks: &[Block],
    stride: usize,
    offset: usize,
    planes: &mut [u8],
    lanes: usize,
) {
    let count = count_planes(planes, lanes);
    assert!(count <= size_of::<Block>());
    if lanes == 0 {
        return;
    }
    let blocks = &blocks[offset..=offset + (lanes - 1) * stride];
    if let Some(cpu) = cpu {
        return simd::planes::from_blocks(cpu, blocks, stride, planes, lanes);
    }
    for lane in 0..lanes {
        let bytes = blocks[lane * stride].to_bytes();
        for (plane, byte) in planes.chunks_exact_mut(lanes).zip(bytes) {
            plane[lane] = byte;
        }
    }
}

/// Planes that [`pack6`] makes of `planes` planes.
pub const fn packed6(planes: usize) -> usize {
    3 * planes.div_ceil(4)
}

/// Packs planes of 6-bit symbols: symbol `i` of a word is at bit `6 i` of its little-endian string
/// of [`packed6`] bytes, the rest of which is zero. The upper two bits of the input are ignored.
///
/// # Panics
/// If `lanes` is not a multiple of 64, or `planes` or `out` is not a whole number of planes, the
/// latter [`packed6`] of that of the former.
pub fn pack6(planes: &[u8], lanes: usize, out: &mut [u8]) {
    pack6_on(Cpu::current(), planes, lanes, out);
}

fn pack6_on(cpu: Option<Cpu>, planes: &[u8], lanes: usize, out: &mut [u8]) {
    check_planes(out, packed6(count_planes(planes, lanes)), lanes);
    let (planes, out) = (planes.as_chunks().0, out.as_chunks_mut().0);
    match (cpu, lanes / VECTOR) {
        (_, 0) => {}
        (Some(cpu), vectors) => simd::planes::pack6(cpu, planes, vectors, out),
        (None, vectors) => pack6_vectors(planes, vectors, out),
    }
}

/// [`pack6`] for planes of `vectors` vectors.
#[inline(always)]
pub(crate) fn pack6_vectors(planes: &[Vector], vectors: usize, out: &mut [Vector]) {
    for (planes, out) in planes.chunks(4 * vectors).zip(out.chunks_exact_mut(3 * vectors)) {
        for at in 0..vectors {
            let mut symbols = [[0; WORDS]; 4];
            for (symbols, plane) in symbols.iter_mut().zip(planes.chunks_exact(vectors)) {
                *symbols = to_words(&plane[at]);
            }
            let [a, b, c, d] = symbols;
            let mut packed = [[0; WORDS]; 3];
            for i in 0..WORDS {
                packed[0][i] = bits(a[i], 0x3f) | bits(b[i] << 6, 0xc0);
                packed[1][i] = bits(b[i] >> 2, 0x0f) | bits(c[i] << 4, 0xf0);
                packed[2][i] = bits(c[i] >> 4, 0x03) | bits(d[i] << 2, 0xfc);
            }
            for (plane, packed) in out.chunks_exact_mut(vectors).zip(&packed) {
                plane[at] = to_bytes(packed);
            }
        }
    }
}

/// The inverse of [`pack6`], for as many planes as `planes` has. Returns whether the bits after the
/// last symbol were zero in all words: the only encoding a decoder accepts.
///
/// # Panics
/// As [`pack6`].
#[must_use]
pub fn unpack6(packed: &[u8], lanes: usize, planes: &mut [u8]) -> bool {
    unpack6_on(Cpu::current(), packed, lanes, planes)
}

fn unpack6_on(cpu: Option<Cpu>, packed: &[u8], lanes: usize, planes: &mut [u8]) -> bool {
    check_planes(packed, packed6(count_planes(planes, lanes)), lanes);
    let (packed, planes) = (packed.as_chunks().0, planes.as_chunks_mut().0);
    match (cpu, lanes / VECTOR) {
        (_, 0) => true,
        (Some(cpu), vectors) => simd::planes::unpack6(cpu, packed, vectors, planes),
        (None, vectors) => unpack6_vectors(packed, vectors, planes),
    }
}

/// [`unpack6`] for planes of `vectors` vectors.
#[inline(always)]
pub(crate) fn unpack6_vectors(packed: &[Vector], vectors: usize, planes: &mut [Vector]) -> bool {
    let mut rest = 0;
    for (packed, planes) in packed.chunks_exact(3 * vectors).zip(planes.chunks_mut(4 * vectors)) {
        for at in 0..vectors {
            let [x, y, z] = [0, 1, 2].map(|plane| to_words(&packed[plane * vectors + at]));
            let mut symbols = [[0; WORDS]; 4];
            for i in 0..WORDS {
                symbols[0][i] = bits(x[i], 0x3f);
                symbols[1][i] = bits(x[i] >> 6, 0x03) | bits(y[i] << 2, 0x3c);
                symbols[2][i] = bits(y[i] >> 4, 0x0f) | bits(z[i] << 4, 0x30);
                symbols[3][i] = bits(z[i] >> 2, 0x3f);
            }
            for (i, symbols) in symbols.iter().enumerate() {
                match planes.get_mut(i * vectors + at) {
                    Some(plane) => *plane = to_bytes(symbols),
                    None => rest |= symbols.iter().fold(0, |rest, word| rest | word),
                }
            }
        }
    }
    rest == 0
}

/// The bits in `mask` of every byte of a word.
#[inline(always)]
fn bits(word: u64, mask: u8) -> u64 {
    word & (EVERY_BYTE * u64::from(mask))
}

#[inline(always)]
fn to_words(bytes: &Vector) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

#[inline(always)]
fn to_bytes(words: &[u64; WORDS]) -> Vector {
    let mut bytes = [0; VECTOR];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    bytes
}

/// Adds `src` to `dst`.
///
/// # Panics
/// If the lengths differ.
pub fn xor_into(dst: &mut [u8], src: &[u8]) {
    assert_eq!(dst.len(), src.len());
    dst.iter_mut().zip(src).for_each(|(dst, src)| *dst ^= src);
}

/// Adds the images of `from` under a matrix of bits, as [`Field::bit_matrix`] makes them, to `to`.
fn add_multiple(matrix: u64, from: &[u8], to: &mut [u8]) {
    let images = matrix.to_le_bytes().map(u64::from);
    for (to, from) in to.as_chunks_mut::<8>().0.iter_mut().zip(from.as_chunks::<8>().0) {
        let x = u64::from_le_bytes(*from);
        let mut sum = u64::from_le_bytes(*to);
        for (bit, image) in images.iter().enumerate() {
            // A product without carries: every byte is the image or zero.
            sum ^= ((x >> bit) & EVERY_BYTE) * image;
        }
        *to = sum.to_le_bytes();
    }
}

/// The number of planes in a slice.
fn count_planes(planes: &[u8], lanes: usize) -> usize {
    assert!(lanes.is_multiple_of(VECTOR));
    let count = planes.len() / lanes.max(1);
    check_planes(planes, count, lanes);
    count
}

/// Refuses slices that are not `count` planes.
fn check_planes(planes: &[u8], count: usize, lanes: usize) {
    assert!(lanes.is_multiple_of(VECTOR));
    assert_eq!(planes.len(), count * lanes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;

    const FIELDS: [Field; 2] = [Field::Gf64, Field::Gf256];

    fn random(len: usize, seed: u128) -> Vec<u8> {
        let mut bytes = vec![0; len];
        Prg::new(Block::new(seed)).fill_bytes(&mut bytes);
        bytes
    }

    #[test]
    fn maps_multiply_every_word_by_the_matrix_at_every_level() {
        let shapes = [(0, 3), (3, 0), (1, 1), (4, 5), (7, 16), (8, 8), (9, 2), (23, 17), (56, 48)];
        for (cpu, field) in Cpu::all().into_iter().flat_map(|c| FIELDS.map(|f| (c, f))) {
            for ((rows, cols), lanes) in
                shapes.into_iter().flat_map(|s| [0, 64, 192].map(|l| (s, l)))
            {
                let matrix = Matrix::new(field, rows, cols, random(rows * cols, 1));
                let input = random(cols * lanes + 1, 2);
                // One byte in front keeps the planes off the natural alignment.
                let mut output = random(rows * lanes + 1, 3);
                let map = PlaneMap::on(cpu, &matrix);
                map.apply(&input[1..], &mut output[1..], lanes);
                assert_eq!((map.rows(), map.cols()), (rows, cols));
                for (row, lane) in (0..rows).flat_map(|r| (0..lanes).map(move |l| (r, l))) {
                    let word = (0..cols).map(|col| input[1 + col * lanes + lane]);
                    let products = word.zip(matrix.row(row)).map(|(x, m)| field.mul(*m, x));
                    let sum = products.fold(0, |sum, product| sum ^ product);
                    assert_eq!(output[1 + row * lanes + lane], sum);
                }
            }
        }
    }

    #[test]
    fn combinations_are_sums_of_multiples_at_every_level() {
        let shapes = [(0, 2, 64), (1, 1, 64), (2, 5, 192), (3, 7, 256), (9, 2, 640), (2, 3, 0)];
        for (cpu, field) in Cpu::all().into_iter().flat_map(|c| FIELDS.map(|f| (c, f))) {
            for (t, rows, lanes) in shapes {
                let vectors = lanes / VECTOR;
                let mut coefficients = random(t * vectors, 1);
                coefficients.iter_mut().for_each(|c| *c &= field.mask());
                let input = random(rows * lanes + 1, 2);
                let before = random(t * rows * VECTOR + 1, 3);
                let mut acc = before.clone();
                combine_on(cpu, field, &coefficients, t, &input[1..], rows, lanes, &mut acc[1..]);
                for (i, (after, before)) in acc[1..].iter().zip(&before[1..]).enumerate() {
                    let (group, row, lane) = (i / VECTOR / rows, i / VECTOR % rows, i % VECTOR);
                    let multiple = |v| {
                        let x = input[1 + row * lanes + v * VECTOR + lane];
                        field.mul(coefficients[group * vectors + v], x)
                    };
                    let sum = (0..vectors).map(multiple).fold(*before, |sum, x| sum ^ x);
                    assert_eq!(*after, sum);
                }
            }
        }
    }

    #[test]
    fn blocks_are_the_columns_of_planes_at_every_level() {
        for cpu in Cpu::all() {
            for (lanes, count) in [64, 192].into_iter().flat_map(|l| (0..=16).map(move |c| (l, c)))
            {
                for (stride, offset) in [(1, 0), (2, 1), (3, 0), (9, 7)] {
                    let planes = random(count * lanes + 1, 1);
                    let before = vec![Block::new(77); lanes * stride];
                    let mut blocks = before.clone();
                    to_blocks_on(cpu, &planes[1..], lanes, &mut blocks, stride, offset);
                    for (i, block) in blocks.iter().enumerate() {
                        let word = |b: usize| match b < count {
                            true => planes[1 + b * lanes + i / stride],
                            false => 0,
                        };
                        match i % stride == offset {
                            true => assert_eq!(block.to_bytes(), std::array::from_fn(word)),
                            false => assert_eq!(*block, before[i]),
                        }
                    }
                    let mut back = random(count * lanes + 1, 2);
                    from_blocks_on(cpu, &blocks, stride, offset, &mut back[1..], lanes);
                    assert_eq!(back[1..], planes[1..]);
                }
            }
        }
    }

    #[test]
    fn packing_is_a_string_of_six_bit_symbols_at_every_level() {
        for cpu in Cpu::all() {
            for (lanes, count) in
                [0, 64, 192].into_iter().flat_map(|l| (0..10).map(move |c| (l, c)))
            {
                let planes = random(count * lanes + 1, 1);
                let mut packed = random(packed6(count) * lanes + 1, 2);
                pack6_on(cpu, &planes[1..], lanes, &mut packed[1..]);
                let bit = |i: usize, lane| packed[1 + i / 8 * lanes + lane] >> (i % 8) & 1;
                for (i, lane) in
                    (0..8 * packed6(count)).flat_map(|i| (0..lanes).map(move |l| (i, l)))
                {
                    let symbol = planes[1..].get(i / 6 * lanes + lane).unwrap_or(&0);
                    assert_eq!(bit(i, lane), symbol >> (i % 6) & 1);
                }
                let mut back = random(count * lanes + 1, 3);
                assert!(unpack6_on(cpu, &packed[1..], lanes, &mut back[1..]));
                assert!(back[1..].iter().zip(&planes[1..]).all(|(b, p)| *b == p & 0x3f));
                for i in (0..8 * packed6(count)).filter(|_| lanes > 0) {
                    let at = 1 + i / 8 * lanes + (13 * i + 5) % lanes;
                    packed[at] ^= 1 << (i % 8);
                    let canonical = unpack6_on(cpu, &packed[1..], lanes, &mut back[1..]);
                    assert_eq!(canonical, i < 6 * count);
                    packed[at] ^= 1 << (i % 8);
                }
            }
        }
    }

    #[test]
    fn sums_are_of_bytes() {
        let (mut a, b) = (random(77, 1), random(77, 2));
        xor_into(&mut a, &b);
        xor_into(&mut a, &random(77, 1));
        assert_eq!(a, b);
    }

    #[test]
    #[should_panic]
    fn ragged_lanes_are_refused() {
        pack6(&[0; 4 * 63], 63, &mut [0; 3 * 63]);
    }

    #[test]
    fn debug_shows_the_shape_alone() {
        let map = PlaneMap::new(&Matrix::zero(Field::Gf64, 2, 3));
        assert_eq!(format!("{map:?}"), "PlaneMap(2 x 3)");
    }
}
