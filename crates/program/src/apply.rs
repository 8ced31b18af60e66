//! Word operations on a machine, by the gadgets of the standard library.

use std::borrow::Cow;

use cenote_circuit::gadgets::{self, Order};
use cenote_circuit::{Bundle, Gates, Lanes};

use crate::extra;
use crate::infer::bits_for;
use crate::op::WordOp;
use crate::shape::Shape;
use crate::wiring::{Operand, broadcast, wire, word};

/// Executes `op`; operands and results are the bits of a value, lane by lane.
pub(crate) fn apply<G: Gates>(
    g: &mut G,
    op: WordOp,
    attrs: &[u32],
    args: &[Operand<'_, G::Wire>],
) -> Result<Vec<Vec<G::Wire>>, G::Error> {
    use WordOp::*;
    let zero = g.constant(false)?;
    if let Some(bits) = without_constants(g, op, attrs, args, Some(&zero))? {
        return Ok(vec![bits]);
    }
    let lanes = args.iter().map(|(shape, _)| shape.lanes).max().unwrap_or(1);
    let bits = match op {
        Sum | SumS => sum(g, op == SumS, attrs, args[0])?,
        ArgMin | ArgMax | ArgMinS | ArgMaxS => return extreme(g, op, args[0]),
        MatMul => mat_mul(g, attrs, args)?,
        Lookup => lookup(g, args)?,
        Store => store(g, args)?,
        _ => return each_lane(g, op, args, lanes),
    };
    Ok(vec![bits])
}

/// Executes `op` on wires of a machine that folds no constants, if it needs none.
pub(crate) fn apply_secret<G: Gates>(
    g: &mut G,
    op: WordOp,
    attrs: &[u32],
    args: &[Operand<'_, G::Wire>],
) -> Result<Option<Vec<G::Wire>>, G::Error> {
    without_constants(g, op, attrs, args, None)
}

/// Executes `op` if its gadget never asks for a constant but `zero`, where there is one.
fn without_constants<G: Gates>(
    g: &mut G,
    op: WordOp,
    attrs: &[u32],
    args: &[Operand<'_, G::Wire>],
    zero: Option<&G::Wire>,
) -> Result<Option<Vec<G::Wire>>, G::Error> {
    use WordOp::*;
    if let Some(bits) = wire(op, attrs, args, zero) {
        return Ok(Some(bits));
    }
    let lanes = args.iter().map(|(shape, _)| shape.lanes).max().unwrap_or(1);
    let all = |i: usize| broadcast(args[i].0, args[i].1, lanes);
    let bits = match op {
        Xor => g.xor_many(&all(0), &all(1))?,
        And => g.and_many(&all(0), &all(1))?,
        Or => gadgets::or_bits(g, &all(0), &all(1))?,
        Not => gadgets::not_bits(g, args[0].1)?,
        Mux => mux(g, args, lanes)?,
        Rand | Ror | Rxor => reduce(g, op, attrs[0] as usize, args[0])?,
        Sort => sort(g, attrs, None, args[0])?,
        TopK => sort(g, &attrs[1..], Some(attrs[0] as usize), args[0])?,
        Sum if fills(args[0].0, attrs[0], attrs[1]) => sum(g, false, attrs, args[0])?,
        _ => return Ok(None),
    };
    Ok(Some(bits))
}

/// Whether the sums of lanes of this shape, in groups, have something in every bit.
fn fills(shape: Shape, width: u32, groups: u32) -> bool {
    width <= shape.width + (shape.lanes / groups.max(1)).max(1).ilog2()
}

/// About the gates of `op` before any is folded: what it takes to execute it on constants.
pub(crate) fn work(op: WordOp, attrs: &[u32], args: &[Shape]) -> u64 {
    use WordOp::*;
    let bits = |shape: Shape| u64::from(shape.lanes) * u64::from(shape.width);
    let lanes = args.iter().map(|shape| u64::from(shape.lanes)).max().unwrap_or(1);
    let first = args.first().copied().unwrap_or(Shape::word(1));
    let width = u64::from(first.width);
    let per_bit = match op {
        Mul | Square | MulFull | MulFullS | SquareFull | MulO | MulOS => width,
        DivRem | DivRemS | Isqrt => 2 * width,
        ShlBy | ShrBy | SarBy | RotlBy => 32,
        Sort | TopK => u64::from(bits_for(first.lanes)).pow(2),
        MatMul => {
            let columns = args.get(1).map_or(0, |shape| shape.lanes) / attrs[1].max(1);
            u64::from(columns) * width
        }
        Lookup => args.get(1).map_or(1, |shape| u64::from(shape.lanes)),
        _ => 1,
    };
    lanes.max(u64::from(first.lanes)).saturating_mul(width).saturating_mul(per_bit).max(bits(first))
}

/// A select of one bit goes with a word.
fn mux<G: Gates>(
    g: &mut G,
    args: &[Operand<'_, G::Wire>],
    lanes: u32,
) -> Result<Vec<G::Wire>, G::Error> {
    let all = |i: usize| broadcast(args[i].0, args[i].1, lanes);
    if args[0].0.lanes == 1 {
        return g.mux_many(&args[0].1[0], &all(1), &all(2));
    }
    let width = args[1].0.width as usize;
    let selects: Vec<G::Wire> =
        args[0].1.iter().flat_map(|bit| std::iter::repeat_n(bit.clone(), width)).collect();
    let (on_true, on_false) = (all(1), all(2));
    let difference = g.xor_many(&on_true, &on_false)?;
    let chosen = g.and_many(&selects, &difference)?;
    g.xor_many(&chosen, &on_false)
}

/// An operation that treats every lane alike, on all lanes side by side.
fn each_lane<G: Gates>(
    g: &mut G,
    op: WordOp,
    args: &[Operand<'_, G::Wire>],
    lanes: u32,
) -> Result<Vec<Vec<G::Wire>>, G::Error> {
    if lanes == 1 {
        let words: Vec<Vec<G::Wire>> = args.iter().map(|(_, bits)| bits.to_vec()).collect();
        return number(g, op, &words);
    }
    let lanes = lanes as usize;
    let packed: Vec<Vec<Bundle<G::Wire>>> = args.iter().map(|value| pack(*value, lanes)).collect();
    let results = number(&mut Lanes::new(g, lanes), op, &packed)?;
    let unpack = |bits: Vec<Bundle<G::Wire>>| {
        let lane = |lane: usize| bits.iter().map(move |bit| bit[lane].clone());
        (0..lanes).flat_map(lane).collect()
    };
    Ok(results.into_iter().map(unpack).collect())
}

/// For each bit of a word, that of all lanes.
fn pack<W: Clone>((shape, bits): Operand<'_, W>, lanes: usize) -> Vec<Bundle<W>> {
    let width = shape.width as usize;
    let bundle = |bit: usize| -> Vec<W> {
        match shape.lanes {
            1 => vec![bits[bit].clone(); lanes],
            _ => bits.iter().skip(bit).step_by(width).cloned().collect(),
        }
    };
    (0..width).map(|bit| bundle(bit).into()).collect()
}

/// The wrapped result and whether it differs from the true one.
fn checked<G: Gates>(
    g: &mut G,
    op: WordOp,
    a: &[G::Wire],
    b: &[G::Wire],
) -> Result<Vec<Vec<G::Wire>>, G::Error> {
    let (value, overflow) = match op {
        WordOp::AddO => gadgets::add_carry(g, a, b, None)?,
        WordOp::SubO => gadgets::sub_borrow(g, a, b)?,
        WordOp::AddOS => gadgets::add_signed_overflow(g, a, b)?,
        WordOp::SubOS => gadgets::sub_signed_overflow(g, a, b)?,
        WordOp::MulO => gadgets::mul_overflow(g, a, b)?,
        _ => gadgets::mul_signed_overflow(g, a, b)?,
    };
    Ok(vec![value, vec![overflow]])
}

/// An operation on one word of each operand.
fn number<G: Gates>(
    g: &mut G,
    op: WordOp,
    args: &[Vec<G::Wire>],
) -> Result<Vec<Vec<G::Wire>>, G::Error> {
    use WordOp::*;
    let a = &args[0][..];
    let b = args.get(1).map_or(a, Vec::as_slice);
    let bits = match op {
        Add => gadgets::add(g, a, b)?,
        Sub => gadgets::sub(g, a, b)?,
        Neg => gadgets::negate(g, a)?,
        Abs => gadgets::abs(g, a)?,
        Mul => gadgets::mul(g, a, b)?,
        Square => gadgets::square(g, a)?,
        MulFull => gadgets::mul_full(g, a, b)?,
        SquareFull => gadgets::square_full(g, a)?,
        MulFullS => gadgets::mul_signed_full(g, a, b)?,
        DivRem => return gadgets::divide(g, a, b).map(|(q, r)| vec![q, r]),
        DivRemS => return gadgets::divide_signed(g, a, b).map(|(q, r)| vec![q, r]),
        Isqrt => {
            let mut root = gadgets::isqrt(g, a)?;
            root.resize(a.len(), g.constant(false)?);
            root
        }
        Popcount => {
            let mut count = gadgets::popcount(g, a)?;
            count.truncate(bits_for(a.len() as u32) as usize);
            count
        }
        Lzcnt => gadgets::leading_zeros(g, a)?,
        AddO | AddOS | SubO | SubOS | MulO | MulOS => return checked(g, op, a, b),
        Min => gadgets::min(g, a, b)?,
        Max => gadgets::max(g, a, b)?,
        MinS => gadgets::min_signed(g, a, b)?,
        MaxS => gadgets::max_signed(g, a, b)?,
        Eq => vec![gadgets::eq(g, a, b)?],
        Lt => vec![gadgets::lt(g, a, b)?],
        Le => vec![gadgets::le(g, a, b)?],
        LtS => vec![gadgets::lt_signed(g, a, b)?],
        LeS => vec![gadgets::le_signed(g, a, b)?],
        ShlBy => gadgets::shift_left_by(g, a, b)?,
        ShrBy => gadgets::shift_right_by(g, a, b)?,
        SarBy => gadgets::shift_right_signed_by(g, a, b)?,
        RotlBy => gadgets::rotate_left_by(g, a, b)?,
        _ => unreachable!("`{}` is no operation on one word of each operand", op.name()),
    };
    Ok(vec![bits])
}

fn words<W: Clone>((shape, bits): Operand<'_, W>) -> Vec<Vec<W>> {
    bits.chunks(shape.width as usize).map(<[W]>::to_vec).collect()
}

fn sum<G: Gates>(
    g: &mut G,
    signed: bool,
    attrs: &[u32],
    value: Operand<'_, G::Wire>,
) -> Result<Vec<G::Wire>, G::Error> {
    let (width, groups) = (attrs[0] as usize, attrs[1] as usize);
    let mut operand = value.0.width as usize;
    let mut bits = Cow::Borrowed(value.1);
    if signed && operand < width {
        // A sign stands in all bits above it.
        let above = |word: &[G::Wire]| vec![word[operand - 1].clone(); width - operand];
        bits =
            bits.chunks(operand).flat_map(|word| [word.to_vec(), above(word)].concat()).collect();
        operand = width;
    }
    let mut out = Vec::with_capacity(groups * width);
    for group in bits.chunks(bits.len() / groups) {
        let operands: Vec<&[G::Wire]> = group.chunks(operand).collect();
        out.extend(gadgets::sum(g, &operands, width)?);
    }
    Ok(out)
}

fn reduce<G: Gates>(
    g: &mut G,
    op: WordOp,
    groups: usize,
    value: Operand<'_, G::Wire>,
) -> Result<Vec<G::Wire>, G::Error> {
    let lanes = words(value);
    let mut groups: Vec<Vec<Vec<G::Wire>>> =
        lanes.chunks(lanes.len() / groups).map(<[_]>::to_vec).collect();
    // All groups halve together, so that a round is one batch.
    while groups.first().is_some_and(|group| group.len() > 1) {
        let half = groups[0].len() / 2;
        let side = |from: usize| -> Vec<G::Wire> {
            groups.iter().flat_map(|group| group[from..from + half].concat()).collect()
        };
        let (left, right) = (side(0), side(half));
        let joined = match op {
            WordOp::Rand => g.and_many(&left, &right)?,
            WordOp::Ror => gadgets::or_bits(g, &left, &right)?,
            _ => g.xor_many(&left, &right)?,
        };
        let width = value.0.width as usize;
        let mut joined = joined.chunks(width).map(<[G::Wire]>::to_vec);
        for group in &mut groups {
            let odd = group.split_off(2 * half);
            *group = joined.by_ref().take(half).chain(odd).collect();
        }
    }
    Ok(groups.concat().concat())
}

/// Signed numbers with their signs flipped sort as unsigned ones do.
fn flip_sign<G: Gates>(
    g: &mut G,
    signed: bool,
    sign: usize,
    rows: &mut [Vec<G::Wire>],
) -> Result<(), G::Error> {
    if signed {
        for row in rows {
            row[sign] = g.not(&row[sign])?;
        }
    }
    Ok(())
}

fn extreme<G: Gates>(
    g: &mut G,
    op: WordOp,
    value: Operand<'_, G::Wire>,
) -> Result<Vec<Vec<G::Wire>>, G::Error> {
    let signed = matches!(op, WordOp::ArgMinS | WordOp::ArgMaxS);
    let sign = value.0.width as usize - 1;
    let mut rows = words(value);
    flip_sign(g, signed, sign, &mut rows)?;
    let found = match op {
        WordOp::ArgMin | WordOp::ArgMinS => gadgets::arg_min(g, &rows)?,
        _ => gadgets::arg_max(g, &rows)?,
    };
    let mut best = [found.value];
    flip_sign(g, signed, sign, &mut best)?;
    let [best] = best;
    Ok(vec![found.index, best])
}

fn sort<G: Gates>(
    g: &mut G,
    attrs: &[u32],
    first: Option<usize>,
    value: Operand<'_, G::Wire>,
) -> Result<Vec<G::Wire>, G::Error> {
    let (lo, key) = (attrs[0] as usize, attrs[1] as usize);
    let (signed, descending) = (attrs[2] == 1, attrs[3] == 1);
    let order = if descending { Order::Descending } else { Order::Ascending };
    let mut rows = words(value);
    rows.iter_mut().for_each(|row| row.rotate_left(lo));
    flip_sign(g, signed, key - 1, &mut rows)?;
    let mut sorted = match first {
        Some(k) => gadgets::top_k(g, &rows, key, k, order)?,
        None => gadgets::sort(g, &rows, key, order)?,
    };
    flip_sign(g, signed, key - 1, &mut sorted)?;
    sorted.iter_mut().for_each(|row| row.rotate_right(lo));
    Ok(sorted.concat())
}

/// Products side by side, then their sums, a group of sums at a time.
fn mat_mul<G: Gates>(
    g: &mut G,
    attrs: &[u32],
    args: &[Operand<'_, G::Wire>],
) -> Result<Vec<G::Wire>, G::Error> {
    let (rows, inner, width) = (attrs[0] as usize, attrs[1] as usize, attrs[2]);
    let (a, b) = (args[0], args[1]);
    let columns = b.0.lanes as usize / inner;
    let signed = attrs[3] == 1;
    // So many sums together that their products fill a batch, and no more.
    let together = (MAT_MUL_BITS / (inner * 2 * a.0.width as usize)).max(1);
    let places: Vec<(usize, usize)> =
        (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))).collect();
    let mut out = Vec::with_capacity(rows * columns * width as usize);
    for places in places.chunks(together) {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for (row, column) in places {
            for k in 0..inner {
                left.extend_from_slice(word(a.0, a.1, row * inner + k));
                right.extend_from_slice(word(b.0, b.1, k * columns + column));
            }
        }
        let products = (places.len() * inner) as u32;
        let shape = Shape::vector(products, a.0.width);
        let op = if signed { WordOp::MulFullS } else { WordOp::MulFull };
        let full = each_lane(g, op, &[(shape, &left), (shape, &right)], products)?.concat();
        let full_shape = Shape::vector(products, 2 * a.0.width);
        out.extend(sum(g, signed, &[width, places.len() as u32], (full_shape, &full))?);
    }
    Ok(out)
}

/// Bits of the products of a matrix product that are alive together, unless those of one sum are more.
const MAT_MUL_BITS: usize = 1 << 20;

fn lookup<G: Gates>(g: &mut G, args: &[Operand<'_, G::Wire>]) -> Result<Vec<G::Wire>, G::Error> {
    let table = words(args[0]);
    let mut out = Vec::new();
    for index in words(args[1]) {
        out.extend(extra::lookup(g, &table, &index)?);
    }
    Ok(out)
}

fn store<G: Gates>(g: &mut G, args: &[Operand<'_, G::Wire>]) -> Result<Vec<G::Wire>, G::Error> {
    let table = words(args[0]);
    let here = extra::one_hot(g, args[1].1, table.len(), &args[3].1[0])?;
    let mut out = Vec::with_capacity(args[0].1.len());
    for (old, here) in table.iter().zip(&here) {
        out.extend(g.mux_many(here, args[2].1, old)?);
    }
    Ok(out)
}
