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
    let words = |wide: usize, f: &dyn Fn(&[T], &mut Vec<T>)| {
        let mut out = Vec::with_capacity(shape.lanes as usize * wide);
        bits.chunks(width).for_each(|word| f(word, &mut out));
        Some(out)
    };
    match op {
        Slice => {
            let part = attr(0)..attr(0) + attr(1);
            words(attr(1), &|word, out| out.extend_from_slice(&word[part.clone()]))
        }
        Zext => {
            let zero = zero?;
            words(attr(0), &|word, out| extend(out, word, attr(0), zero))
        }
        Sext => words(attr(0), &|word, out| extend(out, word, attr(0), &word[width - 1])),
        Shl => {
            let (by, zero) = (attr(0).min(width), zero?);
            words(width, &|word, out| {
                out.resize(out.len() + by, zero.clone());
                out.extend_from_slice(&word[..width - by]);
            })
        }
        Shr => {
            let zero = zero?;
            words(width, &|word, out| extend(out, &word[attr(0).min(width)..], width, zero))
        }
        Sar => words(width, &|word, out| {
            extend(out, &word[attr(0).min(width)..], width, &word[width - 1]);
        }),
        Rotl => words(width, &|word, out| {
            let (low, high) = word.split_at(width - attr(0) % width);
            out.extend_from_slice(high);
            out.extend_from_slice(low);
        }),
        Concat => Some(concat(args)),
        Join => Some(args.iter().map(|(_, bits)| *bits).collect::<Vec<_>>().concat()),
        Tile => Some(repeated(bits, attr(0))),
        Repeat => words(width * attr(0), &|word, out| {
            (0..attr(0)).for_each(|_| out.extend_from_slice(word));
        }),
        Reshape => Some(bits.to_vec()),
        Transpose => Some(transposed(bits, width, attr(0))),
        _ => None,
    }
}

/// A matrix of words by rows, column by column.
fn transposed<T: Clone>(bits: &[T], width: usize, rows: usize) -> Vec<T> {
    let columns = bits.len() / width / rows;
    let mut out = Vec::with_capacity(bits.len());
    for column in 0..columns {
        for row in 0..rows {
            let start = (row * columns + column) * width;
            out.extend_from_slice(&bits[start..start + width]);
        }
    }
    out
}

/// Puts a word behind `out`, with fillers up to `width` bits.
fn extend<T: Clone>(out: &mut Vec<T>, word: &[T], width: usize, filler: &T) {
    let end = out.len() + width;
    out.extend_from_slice(word);
    out.resize(end, filler.clone());
}

/// The same bits several times.
fn repeated<T: Clone>(bits: &[T], times: usize) -> Vec<T> {
    let mut out = Vec::with_capacity(bits.len() * times);
    (0..times).for_each(|_| out.extend_from_slice(bits));
    out
}

fn concat<T: Clone>(args: &[Operand<'_, T>]) -> Vec<T> {
    let lanes = args.iter().map(|(shape, _)| shape.lanes).max().unwrap_or(1) as usize;
    let width: usize = args.iter().map(|(shape, _)| shape.width as usize).sum();
    let mut out = Vec::with_capacity(lanes * width);
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
    repeated(bits, lanes as usize).into()
}
