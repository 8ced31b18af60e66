//! Programs of few statements: counting and sorting.

use cenote_circuit::{Receivers, Role};

use super::{bits_for, word};
use crate::builder::Builder;
use crate::error::BuildError;
use crate::module::Module;
use crate::op::{Affine, ValueId, WordOp};
use crate::shape::{Kind, Shape};

/// The number of places in which `bits` bits of the garbler and as many of the evaluator differ, for
/// both.
///
/// Inputs `x` and `y`, one lane a bit; output `distance`, a number. Less than 1.01 ANDs a bit.
///
/// # Errors
/// No bits, or more than a value has.
pub fn hamming(bits: u32) -> Result<Module, BuildError> {
    let mut b = Builder::new("hamming", "Hamming distance of two strings of bits")?;
    let x = b.input("x", Role::Garbler, Kind::Bits, Shape::vector(bits, 1))?;
    let y = b.input("y", Role::Evaluator, Kind::Bits, Shape::vector(bits, 1))?;
    let width = bits_for(u64::from(bits));
    let (pieces, rest) = (bits / PIECE, bits % PIECE);
    let mut count = b.constant(Shape::word(width), &vec![false; width as usize])?;
    if pieces > 0 {
        let (i, carried) = b.begin_for(pieces, &[count])?;
        let at = Affine::at(0).plus(i, i64::from(PIECE));
        let sum = differences(&mut b, [x, y], at, PIECE, width)?;
        let sum = word(&mut b, WordOp::Add, &[], &[carried[0], sum])?;
        count = b.end_for(&[sum])?[0];
    }
    if rest > 0 {
        let at = Affine::at(i64::from(bits - rest));
        let sum = differences(&mut b, [x, y], at, rest, width)?;
        count = word(&mut b, WordOp::Add, &[], &[count, sum])?;
    }
    b.output("distance", Receivers::Both, Kind::UInt, count)?;
    b.finish()
}

/// Bits that are compared at once: the memory of a run follows them.
const PIECE: u32 = 4096;

/// How many of `count` bits from `at` on differ.
fn differences(
    b: &mut Builder,
    operands: [ValueId; 2],
    at: Affine,
    count: u32,
    width: u32,
) -> Result<ValueId, BuildError> {
    let x = b.lanes(operands[0], at.clone(), count, 1)?;
    let y = b.lanes(operands[1], at, count, 1)?;
    let differ = word(b, WordOp::Xor, &[], &[x, y])?;
    let number = word(b, WordOp::Sum, &[bits_for(u64::from(count)).min(width), 1], &[differ])?;
    word(b, WordOp::Zext, &[width], &[number])
}

/// The `n` numbers of `width` bits that both parties have together in rising order, for both.
///
/// Inputs `x` with half of them, one more if `n` is odd, and `y` with the others; output `sorted`. `width`
/// bits are compared and as many exchanged by each comparator of Batcher's odd-even merge sort.
///
/// # Errors
/// Less than two numbers, or more bits than a value has.
pub fn sort(n: u32, width: u32) -> Result<Module, BuildError> {
    if n < 2 {
        return Err(BuildError::new("each party brings at least one number to be sorted"));
    }
    let mut b = Builder::new("sort", "the numbers of both parties in rising order")?;
    let x = b.input("x", Role::Garbler, Kind::UInt, Shape::vector(n.div_ceil(2), width))?;
    let y = b.input("y", Role::Evaluator, Kind::UInt, Shape::vector(n / 2, width))?;
    let all = word(&mut b, WordOp::Join, &[], &[x, y])?;
    let sorted = word(&mut b, WordOp::Sort, &[0, width, 0, 0], &[all])?;
    b.output("sorted", Receivers::Both, Kind::UInt, sorted)?;
    b.finish()
}
