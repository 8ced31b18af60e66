//! Division of words whose upper bits are known to be zeros.

use crate::each_lane::EachLane;
use crate::fold::Folded;
use crate::op::WordOp;
use crate::run_value::{Value, Values};
use crate::shape::Shape;

/// Executes a division without the upper bits of its operands that are known to be zeros. One of a dividend
/// stays, because a quotient by zero has ones there, and one of a signed divisor, which is its sign.
pub(crate) fn divide<G: EachLane>(
    g: &mut G,
    op: WordOp,
    args: &[(Shape, &Value<G::Wire>)],
) -> Result<Values<G::Wire>, G::Error> {
    let [dividend, divisor] = [args[0], args[1]];
    let width = dividend.0.width;
    let signed = u32::from(op == WordOp::DivRemS);
    let narrow = (used_bits(dividend) + 1).min(width);
    let divisor_width = (used_bits(divisor) + signed).clamp(1, width);
    if narrow.min(divisor_width) == width {
        return g.each_lane(op, args);
    }
    let (a, b) = (low(dividend, narrow), low(divisor, divisor_width));
    let shape = |shape: Shape, width: u32| Shape { width, ..shape };
    let operands = [(shape(dividend.0, narrow), &a), (shape(divisor.0, divisor_width), &b)];
    let results = g.each_lane(op, &operands)?;
    // Above its bits a quotient has its last bit again and again, a remainder zeros.
    let widen = |(i, result): (usize, Value<G::Wire>)| {
        let widened = |word: &[Folded<G::Wire>]| {
            let top = word.last().filter(|_| i == 0).cloned().unwrap_or(Folded::Known(false));
            [word.to_vec(), vec![top; (width - narrow) as usize]].concat()
        };
        Value::of(result.bits().chunks(narrow as usize).flat_map(widened).collect())
    };
    if narrow == width {
        return Ok(results);
    }
    Ok(results.into_iter().enumerate().map(widen).collect())
}

/// Bits of a word up to the highest that is not known to be zero in all lanes.
fn used_bits<W>((shape, value): (Shape, &Value<W>)) -> u32 {
    let Value::Mixed(bits) = value else { return shape.width };
    let width = shape.width as usize;
    let used = |bit: &usize| {
        bits.iter().skip(*bit).step_by(width).any(|bit| !matches!(bit, Folded::Known(false)))
    };
    (0..width).rev().find(used).map_or(0, |bit| bit as u32 + 1)
}

/// The lowest `width` bits of every word.
fn low<W: Clone>((shape, value): (Shape, &Value<W>), width: u32) -> Value<W> {
    let words = value.bits();
    let low = words.chunks(shape.width as usize).flat_map(|word| word[..width as usize].to_vec());
    Value::of(low.collect())
}
