//! Shapes of results, and what operations ask of their operands.

use crate::limits::{MAX_NUMBER, MAX_PLACE};
use crate::op::WordOp;
use crate::shape::Shape;

/// The shapes of the results of `op`, or what is wrong and what to do about it.
pub(crate) fn infer(op: WordOp, attrs: &[u32], args: &[Shape]) -> Result<Vec<Shape>, String> {
    let rule = op.rule();
    match rule.operands {
        Some(count) if count != args.len() => {
            return Err(format!(
                "`{}` takes {count} operands, {} were given",
                rule.name,
                args.len()
            ));
        }
        None if args.is_empty() => {
            return Err(format!("`{}` takes at least one operand", rule.name));
        }
        _ => {}
    }
    if rule.attributes.len() != attrs.len() {
        let (takes, given) = (rule.attributes.join(", "), attrs.len());
        return Err(format!("`{}` takes the attributes [{takes}], {given} were given", rule.name));
    }
    let shapes = results(op, attrs, args).map_err(|why| format!("`{}`: {why}", rule.name))?;
    match shapes.iter().find_map(|shape| shape.flaw().map(|flaw| (shape, flaw))) {
        Some((shape, flaw)) => Err(format!("`{}` would give {shape}, which is {flaw}", rule.name)),
        None => Ok(shapes),
    }
}

fn results(op: WordOp, attrs: &[u32], args: &[Shape]) -> Result<Vec<Shape>, String> {
    use WordOp::*;
    let first = args[0];
    let attr = |i: usize| attrs.get(i).copied().unwrap_or(0);
    let one = |shape: Shape| Ok(vec![shape]);
    match op {
        Not => one(first),
        Xor | And | Or => Ok(vec![same(args)?]),
        Mux => mux(args),
        Add | Sub | Mul | Min | Max | MinS | MaxS => Ok(vec![number(same(args)?)?]),
        Neg | Abs | Square | Isqrt => Ok(vec![number(first)?]),
        MulFull | MulFullS | SquareFull => {
            let shape = number(same(args)?)?;
            one(Shape { width: 2 * shape.width, ..shape })
        }
        DivRem | DivRemS => {
            let shape = number(same(args)?)?;
            Ok(vec![shape, shape])
        }
        Popcount | Lzcnt => one(Shape { width: bits_for(first.width), ..first }),
        AddO | AddOS | SubO | SubOS | MulO | MulOS => {
            let shape = number(same(args)?)?;
            Ok(vec![shape, Shape { width: 1, ..shape }])
        }
        Eq => Ok(vec![Shape { width: 1, ..same(args)? }]),
        Lt | Le | LtS | LeS => Ok(vec![Shape { width: 1, ..number(same(args)?)? }]),
        ShlBy | ShrBy | SarBy | RotlBy => shift_by(args),
        Sum | SumS => {
            divides(attr(1), first.lanes, "groups")?;
            number(first)?;
            one(number(Shape { lanes: attr(1), width: attr(0) })?)
        }
        Rand | Ror | Rxor => {
            divides(attr(0), first.lanes, "groups")?;
            one(Shape { lanes: attr(0), ..first })
        }
        ArgMin | ArgMax | ArgMinS | ArgMaxS => {
            number(first)?;
            ensure(first.lanes > 1, || "one lane has no position; it is its own extreme".into())?;
            let index = Shape::word(bits_for(first.lanes - 1));
            Ok(vec![index, Shape { lanes: 1, ..first }])
        }
        Sort => {
            key(first, attr(0), attr(1))?;
            flags(&attrs[2..])?;
            one(first)
        }
        TopK => {
            key(first, attr(1), attr(2))?;
            flags(&attrs[3..])?;
            one(Shape { lanes: at_most(attr(0), first.lanes)?, ..first })
        }
        MatMul => mat_mul(attrs, args),
        Lookup => one(Shape { lanes: address(args[1])?, ..first }),
        Store => store(args),
        _ => wired(op, attrs, args),
    }
}

/// Results of operations that only move bits about.
fn wired(op: WordOp, attrs: &[u32], args: &[Shape]) -> Result<Vec<Shape>, String> {
    use WordOp::*;
    let first = args[0];
    let attr = |i: usize| attrs.get(i).copied().unwrap_or(0);
    let one = |shape: Shape| Ok(vec![shape]);
    let word = |width: u32| Ok(vec![Shape { lanes: first.lanes, width }]);
    match op {
        Slice => {
            let end = attr(0).checked_add(attr(1)).ok_or("the slice ends too far out")?;
            ensure(end <= first.width, || format!("bits {}..{end} of {first}", attr(0)))?;
            word(attr(1))
        }
        Concat => concat(args),
        Zext | Sext => {
            ensure(attr(0) >= first.width, || {
                format!("{first} is wider than {}; take a slice", attr(0))
            })?;
            word(attr(0))
        }
        Shl | Shr | Sar | Rotl => one(first),
        Join => join(args),
        Tile | Repeat => {
            let lanes = first.lanes.checked_mul(attr(0)).ok_or("too many lanes")?;
            one(Shape { lanes, ..first })
        }
        Reshape => reshape(first, Shape::vector(attr(0), attr(1))),
        Transpose => {
            divides(attr(0), first.lanes, "rows")?;
            one(first)
        }
        _ => unreachable!("`{}` does more than move bits", op.name()),
    }
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

/// Bits that hold the numbers 0 to `largest`.
pub(crate) const fn bits_for(largest: u32) -> u32 {
    match largest.checked_ilog2() {
        Some(log) => log + 1,
        None => 1,
    }
}

/// Lanes of operands that go together: one, or the same number.
fn common_lanes(args: &[Shape]) -> Result<u32, String> {
    let lanes = args.iter().map(|shape| shape.lanes).max().unwrap_or(1);
    match args.iter().find(|shape| shape.lanes != 1 && shape.lanes != lanes) {
        Some(odd) => {
            Err(format!("{odd} and {lanes} lanes do not go together; use one lane or as many"))
        }
        None => Ok(lanes),
    }
}

/// Operands of the same width.
fn same(args: &[Shape]) -> Result<Shape, String> {
    let width = args[0].width;
    match args.iter().find(|shape| shape.width != width) {
        Some(odd) => Err(format!(
            "{} and {odd} differ in width; extend the narrower with zext or sext",
            args[0]
        )),
        None => Ok(Shape { lanes: common_lanes(args)?, width }),
    }
}

fn number(shape: Shape) -> Result<Shape, String> {
    ensure(shape.width <= MAX_NUMBER, || {
        format!("numbers have at most {MAX_NUMBER} bits, not {}", shape.width)
    })?;
    Ok(shape)
}

fn concat(args: &[Shape]) -> Result<Vec<Shape>, String> {
    let width = args.iter().try_fold(0u32, |sum, shape| sum.checked_add(shape.width));
    Ok(vec![Shape { lanes: common_lanes(args)?, width: width.ok_or("the words are too wide")? }])
}

fn join(args: &[Shape]) -> Result<Vec<Shape>, String> {
    let width = args[0].width;
    if let Some(odd) = args.iter().find(|shape| shape.width != width) {
        return Err(format!("{} and {odd} differ in width", args[0]));
    }
    let lanes = args.iter().try_fold(0u32, |sum, shape| sum.checked_add(shape.lanes));
    Ok(vec![Shape { lanes: lanes.ok_or("too many lanes")?, width }])
}

fn reshape(from: Shape, to: Shape) -> Result<Vec<Shape>, String> {
    ensure(from.bits() == to.bits(), || {
        format!("{from} has {} bits, {to} has {}", from.bits(), to.bits())
    })?;
    Ok(vec![to])
}

fn divides(parts: u32, lanes: u32, what: &str) -> Result<(), String> {
    ensure(parts > 0 && lanes.is_multiple_of(parts), || {
        format!("{lanes} lanes do not split into {parts} {what}")
    })
}

fn mux(args: &[Shape]) -> Result<Vec<Shape>, String> {
    ensure(args[0].width == 1, || {
        format!("the first operand has one bit a lane, not {}", args[0])
    })?;
    let chosen = same(&args[1..])?;
    Ok(vec![Shape { lanes: common_lanes(args)?, ..chosen }])
}

fn shift_by(args: &[Shape]) -> Result<Vec<Shape>, String> {
    let (value, by) = (number(args[0])?, args[1]);
    ensure(by.width <= 32, || format!("a shift by {by}; 32 bits are enough"))?;
    Ok(vec![Shape { lanes: common_lanes(args)?, ..value }])
}

fn key(rows: Shape, lo: u32, width: u32) -> Result<(), String> {
    let end = lo.checked_add(width).ok_or("the key ends too far out")?;
    ensure(end <= rows.width && width > 0 && width <= MAX_NUMBER, || {
        format!("a key in bits {lo}..{end} of {rows}")
    })
}

fn at_most(count: u32, lanes: u32) -> Result<u32, String> {
    ensure(count <= lanes, || format!("{count} of {lanes} lanes"))?;
    Ok(count)
}

fn flags(attrs: &[u32]) -> Result<(), String> {
    ensure(attrs.iter().all(|flag| *flag <= 1), || "signed and descending are 0 or 1".into())
}

fn mat_mul(attrs: &[u32], args: &[Shape]) -> Result<Vec<Shape>, String> {
    let (rows, inner, width) = (attrs[0], attrs[1], attrs[2]);
    flags(&attrs[3..])?;
    let (a, b) = (number(args[0])?, number(args[1])?);
    ensure(a.width == b.width, || format!("{a} and {b} differ in width"))?;
    ensure(rows.checked_mul(inner) == Some(a.lanes) && inner > 0, || {
        format!("{a} is not a matrix of {rows} x {inner}")
    })?;
    divides(inner, b.lanes, "rows of the second matrix")?;
    let lanes = rows.checked_mul(b.lanes / inner).ok_or("too many lanes")?;
    Ok(vec![number(Shape { lanes, width })?])
}

/// How many positions there are.
fn address(index: Shape) -> Result<u32, String> {
    ensure(index.width <= MAX_PLACE, || {
        format!("a position of {index}; {MAX_PLACE} bits are enough")
    })?;
    Ok(index.lanes)
}

fn store(args: &[Shape]) -> Result<Vec<Shape>, String> {
    let (table, index, value, enable) = (args[0], args[1], args[2], args[3]);
    address(index)?;
    ensure(
        index.lanes == 1 && value == Shape::word(table.width) && enable == Shape::word(1),
        || {
            format!(
                "one position, one value of {} and one bit, not {index}, {value} and {enable}",
                Shape::word(table.width)
            )
        },
    )?;
    Ok(vec![table])
}
