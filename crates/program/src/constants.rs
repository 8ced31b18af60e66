//! Statements whose operands are all constants, computed before a module runs.

use cenote_circuit::Clear;

use crate::apply::{apply, work};
use crate::fold::Folded;
use crate::op::{Constant, Op};
use crate::run_value::Value;
use crate::shape::Shape;

/// Bits that a statement gives, at most: what repeats a constant takes less room than its result.
pub(crate) const MAX_BITS: usize = 1 << 12;
/// Gates that all statements of a module take together, at most: it may be untrusted.
pub(crate) const MAX_WORK: u64 = 1 << 24;

/// Computes the results of a statement, in these shapes, unless they are too large or depend on
/// more than its operands. The work that this takes goes off the work that is left.
pub(crate) fn computed(
    op: &Op,
    args: &[&Constant],
    results: &[Shape],
    left: &mut u64,
) -> Option<Vec<Constant>> {
    let shapes: Vec<Shape> = args.iter().map(|constant| constant.shape).collect();
    let total = |shapes: &[Shape]| shapes.iter().map(|shape| shape.bits()).sum::<usize>();
    let gates = match op {
        Op::Word(op, attrs) => work(*op, attrs, &shapes),
        _ => 0,
    };
    let cost = gates.saturating_add((total(&shapes) + total(results)) as u64);
    if total(results) > MAX_BITS || cost > *left {
        return None;
    }
    let known = |constant: &&Constant| -> Value<bool> {
        Value::known((0..constant.shape.bits()).map(|i| constant.bit(i)))
    };
    let mut values = args.iter().map(known);
    let width = shapes.first()?.width as usize;
    let found = match op {
        Op::Word(op, attrs) => {
            let values: Vec<Value<bool>> = values.collect();
            let operands: Vec<_> = shapes.iter().copied().zip(&values).collect();
            let Ok(results) = apply(&mut Clear, *op, attrs, &operands);
            results
        }
        Op::Lanes { at, count, stride } if at.terms.is_empty() => {
            vec![values.next()?.lanes(width, at.position(&[]), *count as usize, *stride)]
        }
        Op::Put(at) if at.terms.is_empty() => {
            vec![values.next()?.replaced(at.position(&[]) * width, values.next()?)]
        }
        Op::Gather(indices) => vec![values.next()?.gather(width, indices)],
        _ => return None,
    };
    *left -= cost;
    let constant = |(value, shape): (Value<bool>, &Shape)| {
        let bits = value.into_bits().into_iter().map(|bit| match bit {
            Folded::Known(bit) | Folded::Wire(bit) => bit,
        });
        Constant::new(*shape, &bits.collect::<Vec<bool>>())
    };
    Some(found.into_iter().zip(results).map(constant).collect())
}
