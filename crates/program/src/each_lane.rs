//! Operations that treat every lane alike, on many lanes side by side.

use std::rc::Rc;

use cenote_circuit::gadgets;
use cenote_circuit::{Bundle, Clear, Gates, Lanes, Operand, Order};

use crate::fold::{Fold, Folded};
use crate::infer::bits_for;
use crate::op::WordOp;
use crate::run_value::{Value, Values, in_memory};
use crate::shape::Shape;
use crate::tapes::{Gadget, Pattern, Tapes};

/// Whether `op` is one of these.
pub(crate) fn is_each_lane(op: WordOp) -> bool {
    use WordOp::*;
    matches!(
        op,
        Add | Sub
            | Neg
            | Abs
            | Mul
            | Square
            | MulFull
            | SquareFull
            | MulFullS
            | DivRem
            | DivRemS
            | Isqrt
            | Popcount
            | Lzcnt
            | AddO
            | AddOS
            | SubO
            | SubOS
            | MulO
            | MulOS
            | Min
            | Max
            | MinS
            | MaxS
            | Eq
            | Lt
            | Le
            | LtS
            | LeS
            | ShlBy
            | ShrBy
            | SarBy
            | RotlBy
    )
}

/// Lanes that run side by side, for words of `width` bits: many enough to fill every batch, few enough
/// that all wires inside of the operation stay in the cache.
fn group(width: u32) -> usize {
    (GROUP_BITS / width as usize).clamp(16, 1024)
}

/// Bits of an operand that run side by side.
const GROUP_BITS: usize = 4096;

/// A machine that executes these operations; one that only counts need not look at every lane.
pub(crate) trait EachLane: Gates + Sized {
    /// Executes `op` lane by lane; operands with one lane go with each.
    fn each_lane(
        &mut self,
        op: WordOp,
        args: &[(Shape, &Value<Self::Wire>)],
    ) -> Result<Values<Self::Wire>, Self::Error> {
        each_lane(self, op, args)
    }

    /// Where it remembers tapes, if it plays any.
    fn tapes(&self) -> Option<Rc<Tapes>> {
        None
    }
}

impl EachLane for Clear {}

/// Lanes of an operation, and in how many groups they run.
pub(crate) fn groups<W>(args: &[(Shape, &Value<W>)]) -> (usize, usize) {
    let lanes = args.iter().map(|(shape, _)| shape.lanes).max().unwrap_or(1) as usize;
    (lanes, lanes.div_ceil(if lanes < FEW { 1 } else { group(args[0].0.width) }))
}

/// Executes `op` group by group.
pub(crate) fn each_lane<G: EachLane>(
    g: &mut G,
    op: WordOp,
    args: &[(Shape, &Value<G::Wire>)],
) -> Result<Values<G::Wire>, G::Error> {
    let (lanes, _) = groups(args);
    let group = if lanes < FEW { 1 } else { group(args[0].0.width) };
    let mut results: Values<G::Wire> = Vec::new();
    for first in (0..lanes).step_by(group) {
        let part = Part { first, count: group.min(lanes - first) };
        let values = part.run(g, op, args)?;
        results.resize_with(values.len(), || Value::Secret(Vec::new()));
        for (all, value) in results.iter_mut().zip(values) {
            all.append(value);
        }
    }
    Ok(results)
}

/// Lanes that are too few to be worth putting side by side.
const FEW: usize = 4;

/// Lanes that run side by side.
struct Part {
    first: usize,
    count: usize,
}

impl Part {
    /// Runs an operation: what is known of all lanes alike is folded before it comes to any lane;
    /// what is known of some lanes only, in each of them.
    fn run<G: EachLane>(
        &self,
        g: &mut G,
        op: WordOp,
        args: &[(Shape, &Value<G::Wire>)],
    ) -> Result<Values<G::Wire>, G::Error> {
        if let Some(tapes) = g.tapes()
            && let Some(values) = self.play(g, &tapes, op, args)?
        {
            return Ok(values);
        }
        if self.count == 1 {
            let words: Vec<_> =
                args.iter().map(|(s, value)| self.words(*s, value).folded()).collect();
            return Ok(number(&mut Fold::new(g), op, &words)?.into_iter().map(Value::of).collect());
        }
        let alike = args.iter().map(|(shape, value)| self.alike(*shape, value));
        if let Some(words) = alike.collect::<Option<Vec<_>>>() {
            let results = number(&mut Fold::new(&mut Lanes::new(g, self.count)), op, &words)?;
            return Ok(results.iter().map(|bits| self.join(bits)).collect());
        }
        let words: Vec<_> =
            args.iter().map(|(shape, value)| pack(self.count, self.words(*shape, value))).collect();
        let results = number(&mut Lanes::new(&mut Fold::new(g), self.count), op, &words)?;
        Ok(results.iter().map(|bits| Value::of(unpack(self.count, bits))).collect())
    }

    /// Runs an operation as a tape; not if something is known of some lanes only, or if the tape would be too long.
    fn play<G: Gates>(
        &self,
        g: &mut G,
        tapes: &Tapes,
        op: WordOp,
        args: &[(Shape, &Value<G::Wire>)],
    ) -> Result<Option<Values<G::Wire>>, G::Error> {
        let words: Vec<_> = args.iter().map(|(shape, value)| self.words(*shape, value)).collect();
        let patterns: Option<Vec<Pattern>> = words.iter().map(Words::pattern).collect();
        let Some(patterns) = patterns else { return Ok(None) };
        let order = Order::of_lanes(self.count);
        let record =
            |patterns: &[_]| Gadget::record(order, patterns, |g, words| number(g, op, words));
        // A word alone is worth a tape when it comes again.
        let Some(gadget) = tapes.of(op, order, patterns, self.count > 1, record) else {
            return Ok(None);
        };
        let unknown: Vec<Vec<G::Wire>> = words.iter().map(Words::unknown).collect();
        let operands: Vec<_> = words
            .iter()
            .zip(&unknown)
            .map(|(words, unknown)| words.operand(unknown, self.count))
            .collect();
        let wires = gadget.tape.play(g, self.count, &operands)?;
        Ok(Some(results(&gadget, self.count, wires)))
    }

    /// The words of these lanes, or the only one of a scalar.
    fn words<'v, W: Clone>(&self, shape: Shape, value: &'v Value<W>) -> Words<'v, W> {
        let width = shape.width as usize;
        let (first, count) = if shape.lanes == 1 { (0, 1) } else { (self.first, self.count) };
        let range = first * width..(first + count) * width;
        match value {
            Value::Secret(wires) => Words { width, bits: Bits::Wires(&wires[range]) },
            Value::Mixed(bits) => Words { width, bits: Bits::Folded(&bits[range]) },
            Value::Memory(_) => in_memory(),
        }
    }

    /// For each bit of a word, that of all lanes: wires, or what is known of all of them.
    fn alike<W: Clone>(&self, shape: Shape, value: &Value<W>) -> Option<Vec<Folded<Bundle<W>>>> {
        let Words { width, bits } = self.words(shape, value);
        let bundle = |bit: usize| match bits {
            Bits::Wires(wires) => Some(Folded::Wire(every(self.count, width, bit, wires).into())),
            Bits::Folded(bits) => {
                let mut column = bits.iter().skip(bit).step_by(width);
                if let Folded::Known(known) = bits[bit] {
                    let same = |bit: &Folded<W>| matches!(bit, Folded::Known(bit) if *bit == known);
                    return column.all(same).then_some(Folded::Known(known));
                }
                let wires: Option<Vec<W>> = column.map(Folded::wire).collect();
                Some(Folded::Wire(every(self.count, 1, 0, &wires?).into()))
            }
        };
        (0..width).map(bundle).collect()
    }

    /// The lanes one after the other.
    fn join<W: Clone>(&self, bits: &[Folded<Bundle<W>>]) -> Value<W> {
        let bundles: Option<Vec<Bundle<W>>> = bits.iter().map(Folded::wire).collect();
        if let Some(bundles) = bundles {
            return Value::Secret(unpack(self.count, &bundles));
        }
        let bit = |lane: usize, bit: &Folded<Bundle<W>>| match bit {
            Folded::Known(bit) => Folded::Known(*bit),
            Folded::Wire(bundle) => Folded::Wire(bundle[lane].clone()),
        };
        let lane = |lane: usize| bits.iter().map(move |of| bit(lane, of));
        Value::of((0..self.count).flat_map(lane).collect())
    }
}

/// Words of `width` bits one after the other.
struct Words<'v, W> {
    width: usize,
    bits: Bits<'v, W>,
}

impl<W: Clone> Words<'_, W> {
    fn folded(&self) -> Vec<Folded<W>> {
        match self.bits {
            Bits::Wires(wires) => wires.iter().cloned().map(Folded::Wire).collect(),
            Bits::Folded(bits) => bits.to_vec(),
        }
    }
}

impl<'v, W: Clone> Words<'v, W> {
    /// What is known of all words alike; none if something is of some only.
    fn pattern(&self) -> Option<Pattern> {
        let Bits::Folded(bits) = self.bits else { return Some(vec![Folded::Wire(()); self.width]) };
        let known = |bit: &Folded<W>| match bit {
            Folded::Known(bit) => Folded::Known(*bit),
            Folded::Wire(_) => Folded::Wire(()),
        };
        let (first, others) = bits.split_at(self.width);
        let pattern: Pattern = first.iter().map(known).collect();
        others
            .iter()
            .map(known)
            .eq(pattern.iter().cycle().take(others.len()).copied())
            .then_some(pattern)
    }

    /// The wires of words that are not wires alone.
    fn unknown(&self) -> Vec<W> {
        match self.bits {
            Bits::Wires(_) => Vec::new(),
            Bits::Folded(bits) => bits.iter().filter_map(Folded::wire).collect(),
        }
    }

    /// The wires as an operand for `count` lanes: one word for all, or one for each.
    fn operand<'o>(&self, unknown: &'o [W], count: usize) -> Operand<'o, W>
    where
        'v: 'o,
    {
        let (wires, all): (&'o [W], usize) = match self.bits {
            Bits::Wires(wires) => (wires, wires.len()),
            Bits::Folded(bits) => (unknown, bits.len()),
        };
        if all == self.width && count > 1 {
            return Operand::same(wires);
        }
        Operand::words(wires, wires.len() / count)
    }
}

/// The values that a gadget gave for so many lanes, from the wires of each.
fn results<W: Clone>(gadget: &Gadget, lanes: usize, wires: Vec<Vec<W>>) -> Values<W> {
    let value = |(pattern, wires): (&Pattern, Vec<W>)| {
        if pattern.iter().all(|bit| matches!(bit, Folded::Wire(()))) {
            return Value::Secret(wires);
        }
        let mut wires = wires.into_iter();
        let bit = |bit: &Folded<()>| match bit {
            Folded::Known(bit) => Some(Folded::Known(*bit)),
            Folded::Wire(()) => wires.next().map(Folded::Wire),
        };
        let all = pattern.iter().cycle().take(lanes * pattern.len());
        Value::of(all.filter_map(bit).collect())
    };
    gadget.results.iter().zip(wires).map(value).collect()
}

enum Bits<'v, W> {
    Wires(&'v [W]),
    Folded(&'v [Folded<W>]),
}

/// Bit `bit` of each of `count` words, of which `bits` has all or one.
fn every<T: Clone>(count: usize, width: usize, bit: usize, bits: &[T]) -> Vec<T> {
    if bits.len() == width {
        return vec![bits[bit].clone(); count];
    }
    bits.iter().skip(bit).step_by(width).cloned().collect()
}

/// For each bit of a word, that of all lanes.
fn pack<W: Clone>(count: usize, words: Words<'_, W>) -> Vec<Bundle<Folded<W>>> {
    let bits = words.folded();
    (0..words.width).map(|bit| every(count, words.width, bit, &bits).into()).collect()
}

/// The words of all lanes one after the other.
fn unpack<T: Clone>(count: usize, bundles: &[Bundle<T>]) -> Vec<T> {
    let mut out = Vec::with_capacity(count * bundles.len());
    for lane in 0..count {
        out.extend(bundles.iter().map(|bundle| bundle[lane].clone()));
    }
    out
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
