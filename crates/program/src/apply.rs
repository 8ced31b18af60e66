//! Word operations on a machine, by the gadgets of the standard library.

use cenote_circuit::gadgets::{self, Order};
use cenote_circuit::{Access, Gates, Rows};

use crate::division::divide;
use crate::each_lane::{EachLane, is_each_lane};
use crate::fold::{Fold, Folded};
use crate::infer::bits_for;
use crate::op::WordOp;
use crate::run_value::{Value, Values};
use crate::shape::Shape;
use crate::wiring::{Operand, broadcast, wire};

/// Executes `op`; operands and results are the bits of a value, lane by lane. Wires alone go to the
/// machine as they are; what is known is folded in between.
pub(crate) fn apply<G: EachLane>(
    g: &mut G,
    op: WordOp,
    attrs: &[u32],
    args: &[(Shape, &Value<G::Wire>)],
) -> Result<Values<G::Wire>, G::Error> {
    use WordOp::*;
    let secret = args.iter().map(|(shape, value)| Some((*shape, value.secret()?)));
    if let Some(args) = secret.collect::<Option<Vec<_>>>()
        && let Some(bits) = without_constants(g, op, attrs, &args, None)?
    {
        return Ok(vec![Value::Secret(bits)]);
    }
    if op == Mux
        && let Some(bits) = words_or_zeros(g, args)?
    {
        return Ok(vec![Value::Secret(bits)]);
    }
    if matches!(op, DivRem | DivRemS) {
        return divide(g, op, args);
    }
    if is_each_lane(op) {
        return g.each_lane(op, args);
    }
    match op {
        MatMul => return mat_mul(g, attrs, args).map(|product| vec![product]),
        Sum | SumS => return sum(g, op == SumS, attrs, args[0]).map(|sums| vec![sums]),
        _ => {}
    }
    let folded: Vec<_> = args.iter().map(|(shape, value)| (*shape, value.bits())).collect();
    let folded: Vec<_> = folded.iter().map(|(shape, bits)| (*shape, &bits[..])).collect();
    let fold = &mut Fold::new(g);
    let zero = Folded::Known(false);
    if let Some(bits) = without_constants(fold, op, attrs, &folded, Some(&zero))? {
        return Ok(vec![Value::of(bits)]);
    }
    let bits = match op {
        Lookup => {
            let places: Vec<_> = folded[1].1.chunks(folded[1].0.width as usize).collect();
            lookup(fold, rows_of(folded[0].1, folded[0].0), &places)?
        }
        Store => {
            let table = rows_of(folded[0].1, folded[0].0);
            store(fold, table, folded[1].1, folded[2].1, &folded[3].1[0])?
        }
        _ => {
            let results = extreme(fold, op, folded[0])?;
            return Ok(results.into_iter().map(Value::of).collect());
        }
    };
    Ok(vec![Value::of(bits)])
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
        _ => return Ok(None),
    };
    Ok(Some(bits))
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
    let (on_true, on_false) = (all(1), all(2));
    let difference = g.xor_many(&on_true, &on_false)?;
    let chosen = g.and_groups(args[0].1, &difference)?;
    g.xor_many(&chosen, &on_false)
}

/// Words where the select of their lane says so, and zeros elsewhere: the gates of folding, without a look at every bit.
fn words_or_zeros<G: Gates>(
    g: &mut G,
    args: &[(Shape, &Value<G::Wire>)],
) -> Result<Option<Vec<G::Wire>>, G::Error> {
    let [(selects, select), (shape, on_true), (_, Value::Mixed(on_false))] = args else {
        return Ok(None);
    };
    let is_zero = |bit: &Folded<G::Wire>| matches!(bit, Folded::Known(false));
    match (select.secret(), on_true.secret()) {
        (Some(select), Some(on_true)) if selects.lanes > 1 && on_false.iter().all(is_zero) => {
            g.and_groups(select, &broadcast(*shape, on_true, selects.lanes)).map(Some)
        }
        _ => Ok(None),
    }
}

fn words<W: Clone>((shape, bits): Operand<'_, W>) -> Vec<Vec<W>> {
    bits.chunks(shape.width as usize).map(<[W]>::to_vec).collect()
}

/// The sum of each group of lanes. Only the bits that a sum can fill are computed; those above are zeros or its sign.
fn sum<G: Gates>(
    g: &mut G,
    signed: bool,
    attrs: &[u32],
    (shape, value): (Shape, &Value<G::Wire>),
) -> Result<Value<G::Wire>, G::Error> {
    let (width, groups) = (attrs[0] as usize, attrs[1]);
    let (operand, count) = (shape.width as usize, shape.lanes / groups);
    let signed = signed && operand < width;
    let log = count.next_power_of_two().ilog2() as usize;
    let filled = if signed { operand + log } else { bits_of_sum(operand, count) }.min(width);
    let shape = Shape::vector(count, shape.width);
    let size = count as usize * operand;
    let mut sums = Value::Secret(Vec::new());
    for group in 0..groups as usize {
        let sum = match value.secret() {
            // No constant is asked for: every bit of a sum has something in it, and what the signs of 2^k numbers add is the top bit or none.
            Some(bits) if !signed || count.is_power_of_two() => {
                let bits = &bits[group * size..(group + 1) * size];
                Value::Secret(sum_of_group(g, signed, filled, (shape, bits))?)
            }
            _ => {
                let first = group * count as usize;
                let bits = value.lanes(operand, first, count as usize, 1).into_bits();
                Value::of(sum_of_group(&mut Fold::new(g), signed, filled, (shape, &bits))?)
            }
        };
        sums.append(extended(sum, signed, width));
    }
    Ok(sums)
}

/// Bits of the sum of `count` numbers of so many bits.
fn bits_of_sum(width: usize, count: u32) -> usize {
    match width {
        0..64 => (u128::from(count) * ((1 << width) - 1)).checked_ilog2().map_or(0, |top| top + 1)
            as usize,
        // There are fewer than 2^32 of them.
        _ => width + count.next_power_of_two().ilog2() as usize,
    }
}

fn sum_of_group<G: Gates>(
    g: &mut G,
    signed: bool,
    width: usize,
    (shape, bits): Operand<'_, G::Wire>,
) -> Result<Vec<G::Wire>, G::Error> {
    let words = || bits.chunks(shape.width as usize).collect::<Vec<_>>();
    match shape.width {
        _ if signed => gadgets::sum_signed(g, &words(), width),
        1 => gadgets::sum_bits(g, bits, width),
        _ => gadgets::sum(g, &words(), width),
    }
}

/// A word with zeros above it, or its sign.
fn extended<W: Clone>(word: Value<W>, signed: bool, width: usize) -> Value<W> {
    let more = width - word.len();
    match (word, signed) {
        (word, _) if more == 0 => word,
        (Value::Secret(mut wires), true) => {
            let sign = wires[wires.len() - 1].clone();
            wires.resize(width, sign);
            Value::Secret(wires)
        }
        (word, signed) => {
            let mut bits = word.into_bits();
            let sign = if signed { bits[bits.len() - 1].clone() } else { Folded::Known(false) };
            bits.resize(width, sign);
            Value::of(bits)
        }
    }
}

/// The lanes of each group joined by `op`. All groups halve together, so that a round is one batch.
fn reduce<G: Gates>(
    g: &mut G,
    op: WordOp,
    groups: usize,
    value: Operand<'_, G::Wire>,
) -> Result<Vec<G::Wire>, G::Error> {
    let width = value.0.width as usize;
    let (mut bits, mut lanes) = (value.1.to_vec(), value.0.lanes as usize / groups);
    while lanes > 1 {
        let half = lanes / 2 * width;
        let side = |from: usize| -> Vec<G::Wire> {
            let groups = bits.chunks(lanes * width);
            groups.flat_map(|group| group[from..from + half].iter().cloned()).collect()
        };
        let (left, right) = (side(0), side(half));
        let joined = match op {
            WordOp::Rand => g.and_many(&left, &right)?,
            WordOp::Ror => gadgets::or_bits(g, &left, &right)?,
            _ => g.xor_many(&left, &right)?,
        };
        let odd = bits.chunks(lanes * width).map(|group| &group[2 * half..]);
        let joined = joined.chunks(half).zip(odd);
        bits = joined.flat_map(|(joined, odd)| joined.iter().chain(odd).cloned()).collect();
        lanes = lanes.div_ceil(2);
    }
    Ok(bits)
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
fn mat_mul<G: EachLane>(
    g: &mut G,
    attrs: &[u32],
    args: &[(Shape, &Value<G::Wire>)],
) -> Result<Value<G::Wire>, G::Error> {
    let (rows, inner, width) = (attrs[0], attrs[1], attrs[2]);
    let (a, b) = (args[0], args[1]);
    let (columns, wide) = (b.0.lanes / inner, a.0.width);
    let op = if attrs[3] == 1 { WordOp::MulFullS } else { WordOp::MulFull };
    // So many sums together that their products fill a batch, and no more.
    let together = (MAT_MUL_BITS / (inner * 2 * wide) as usize).max(1);
    let places: Vec<(u32, u32)> =
        (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))).collect();
    let mut out = Value::Secret(Vec::new());
    for places in places.chunks(together) {
        let products = places.len() as u32 * inner;
        let pairs = || places.iter().flat_map(|&at| (0..inner).map(move |k| (at, k)));
        let left: Vec<u32> = pairs().map(|((row, _), k)| row * inner + k).collect();
        let right: Vec<u32> = pairs().map(|((_, column), k)| k * columns + column).collect();
        let left = a.1.gather(wide as usize, &left);
        let right = b.1.gather(wide as usize, &right);
        let shape = Shape::vector(products, wide);
        let full = g.each_lane(op, &[(shape, &left), (shape, &right)])?;
        let sums = [width, places.len() as u32];
        let shape = Shape::vector(products, 2 * wide);
        for full in full {
            out.append(sum(g, attrs[3] == 1, &sums, (shape, &full))?);
        }
    }
    Ok(out)
}

/// Bits of the products of a matrix product that are alive together, unless those of one sum are more.
const MAT_MUL_BITS: usize = 1 << 20;

/// The rows of a table.
pub(crate) fn rows_of<W: Clone>(bits: &[W], shape: Shape) -> Rows<W> {
    let rows = bits.chunks(shape.width as usize).map(<[W]>::to_vec).collect();
    // A value has one lane at least, and all of its lanes have one width.
    Rows::new(rows).unwrap_or_else(|| unreachable!("a table has rows of one width"))
}

/// The words of a table at secret places, by looking at all of it.
pub(crate) fn lookup<G: Gates>(
    g: &mut G,
    mut table: Rows<G::Wire>,
    places: &[&[G::Wire]],
) -> Result<Vec<G::Wire>, G::Error> {
    let mut words = Vec::new();
    for place in places {
        words.extend(table.access(g, place, Access::Read)?);
    }
    Ok(words)
}

/// The table with the word at a secret place replaced where a secret bit is set.
pub(crate) fn store<G: Gates>(
    g: &mut G,
    mut table: Rows<G::Wire>,
    place: &[G::Wire],
    word: &[G::Wire],
    enable: &G::Wire,
) -> Result<Vec<G::Wire>, G::Error> {
    table.access(g, place, Access::Write { word, enable })?;
    Ok(table.into_inner().concat())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use cenote_circuit::Clear;

    use super::*;

    #[test]
    fn sums_are_as_wide_as_they_can_be() {
        for (width, count, bits) in
            [(1, 1, 1), (1, 5, 3), (3, 1, 3), (3, 2, 4), (3, 3, 5), (3, 4, 5), (2, 1000, 12)]
        {
            assert_eq!(bits_of_sum(width, count), bits, "{count} of {width} bits");
        }
        for (count, more) in [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (1 << 26, 26)] {
            for width in [40, 63, 64, 65, 4096] {
                assert_eq!(bits_of_sum(width, count), width + more, "{count} of {width} bits");
            }
        }
    }

    /// Computes in the clear and has no constants.
    struct NoConstants;

    impl Gates for NoConstants {
        type Wire = bool;
        type Error = Infallible;

        fn constant(&mut self, _: bool) -> Result<bool, Infallible> {
            unreachable!("a constant is asked for")
        }

        fn xor(&mut self, a: &bool, b: &bool) -> Result<bool, Infallible> {
            Clear.xor(a, b)
        }

        fn not(&mut self, a: &bool) -> Result<bool, Infallible> {
            Clear.not(a)
        }

        fn and(&mut self, a: &bool, b: &bool) -> Result<bool, Infallible> {
            Clear.and(a, b)
        }
    }

    /// Sums of as many lanes as `count` says, in three groups.
    fn check(signed: bool, [operand, width, count]: [u32; 3]) {
        let word = |i: u32| (i.wrapping_mul(0x9e37_79b9) >> 7) & ((1 << operand) - 1);
        let words: Vec<u32> = (0..3 * count).map(word).collect();
        let bits = words.iter().flat_map(|word| (0..operand).map(move |bit| word >> bit & 1 == 1));
        let value = Value::Secret(bits.collect());
        let shape = Shape::vector(3 * count, operand);
        let Ok(sums) = sum(&mut NoConstants, signed, &[width, 3], (shape, &value));
        let number = |word: &u32| match signed && word >> (operand - 1) == 1 {
            true => i64::from(*word) - (1 << operand),
            false => i64::from(*word),
        };
        let expected = words.chunks(count as usize).flat_map(|group| {
            let sum: i64 = group.iter().map(number).sum();
            (0..width).map(move |bit| sum >> bit & 1 == 1)
        });
        let found = sums.into_bits().into_iter().map(|bit| match bit {
            Folded::Known(bit) | Folded::Wire(bit) => bit,
        });
        assert!(found.eq(expected), "{signed} {operand} {width} {count}");
    }

    #[test]
    fn sums_of_wires_ask_for_no_constant() {
        for operand in 1..5 {
            for (width, count) in (1..12).flat_map(|width| (1..10).map(move |n| (width, n))) {
                check(false, [operand, width, count]);
                // The others fold constants, for which this machine has no wires either.
                check(true, [operand, width, count]);
            }
        }
    }
}
