//! Operations that only move bits about. They cost nothing.

use std::borrow::Cow;

use crate::op::WordOp;
use crate::shape::Shape;

/// An operand: its shape and its bits, lane by lane.
pub(crate) type Operand<'v, T> = (Shape, &'v [T]);

/// The result of a wiring operation, or `None` for any other; `zero` fills what was empty. Without it,
/// operations that leave something empty are others.
pub(crate) fn wire<T: Clone>(
    op: WordOp,
    attrs: &[u32],
    args: &[Operand<'_, T>],
    zero: Option<&T>,
) -> Option<Vec<T>> {
    use WordOp::*;
    let (shape, bits) = *args.first()?;
    let width = shape.width as usize;
    let attr = |i: usize| attrs.get(i).copied().unwrap_or(0) as usize;
    let words = |f: &dyn Fn(&[T]) -> Vec<T>| Some(bits.chunks(width).flat_map(f).collect());
    match op {
        Slice => {
            let part = |word: &[T]| word[attr(0)..attr(0) + attr(1)].to_vec();
            match (shape.lanes, attr(1)) {
                (1, _) => Some(part(bits)),
                (_, 1) => Some(bits.iter().skip(attr(0)).step_by(width).cloned().collect()),
                _ => words(&part),
            }
        }
        Zext => {
            let zero = zero?;
            words(&|word| extended(word, attr(0), zero))
        }
        Sext => words(&|word| extended(word, attr(0), &word[width - 1])),
        Shl => {
            let (by, zero) = (attr(0).min(width), zero?);
            words(&|word| {
                let mut out = vec![zero.clone(); by];
                out.extend_from_slice(&word[..width - by]);
                out
            })
        }
        Shr => {
            let zero = zero?;
            words(&|word| extended(&word[attr(0).min(width)..], width, zero))
        }
        Sar => words(&|word| extended(&word[attr(0).min(width)..], width, &word[width - 1])),
        Rotl => words(&|word| {
            let mut out = word.to_vec();
            out.rotate_right(attr(0) % width);
            out
        }),
        Concat => Some(concat(args)),
        Join => Some(args.iter().map(|(_, bits)| *bits).collect::<Vec<_>>().concat()),
        Tile => Some((0..attr(0)).flat_map(|_| bits.iter().cloned()).collect()),
        Repeat => words(&|word| (0..attr(0)).flat_map(|_| word.iter().cloned()).collect()),
        Reshape => Some(bits.to_vec()),
        Transpose => {
            let (rows, columns) = (attr(0), shape.lanes as usize / attr(0));
            let lane = |row: usize, column: usize| {
                let start = (row * columns + column) * width;
                bits[start..start + width].iter().cloned()
            };
            let lanes = (0..columns).flat_map(|column| (0..rows).map(move |row| (row, column)));
            Some(lanes.flat_map(|(row, column)| lane(row, column)).collect())
        }
        _ => None,
    }
}

fn extended<T: Clone>(word: &[T], width: usize, filler: &T) -> Vec<T> {
    let mut out = word.to_vec();
    out.resize(width, filler.clone());
    out
}

fn concat<T: Clone>(args: &[Operand<'_, T>]) -> Vec<T> {
    let lanes = args.iter().map(|(shape, _)| shape.lanes).max().unwrap_or(1) as usize;
    let mut out = Vec::new();
    for lane in 0..lanes {
        for (shape, bits) in args {
            out.extend_from_slice(word(*shape, bits, lane));
        }
    }
    out
}

/// The word of a lane; the only one of a scalar.
pub(crate) fn word<T>(shape: Shape, bits: &[T], lane: usize) -> &[T] {
    let (lane, width) = (if shape.lanes == 1 { 0 } else { lane }, shape.width as usize);
    &bits[lane * width..(lane + 1) * width]
}

/// The bits of `lanes` lanes of an operand that has as many, or one.
pub(crate) fn broadcast<T: Clone>(shape: Shape, bits: &[T], lanes: u32) -> Cow<'_, [T]> {
    if shape.lanes == lanes {
        return bits.into();
    }
    (0..lanes).flat_map(|_| bits.iter().cloned()).collect()
}
