//! The results of a sample, computed on numbers. Words have at most 128 bits, factors at most 64.

use std::collections::HashMap;

use cenote_circuit::Gate;
use cenote_program::{Shape, WordOp};

use super::{At, Block, Function, Op, Sample, Step};

/// Lanes of `width` bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vector {
    pub(crate) width: u32,
    pub(crate) lanes: Vec<u128>,
}

/// Two different words with equal keys were sorted: either order is right.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tie;

impl Vector {
    fn new(width: u32, lanes: impl IntoIterator<Item = u128>) -> Vector {
        let lanes = lanes.into_iter().map(|lane| lane & mask(width)).collect();
        Vector { width, lanes }
    }

    pub(crate) fn from_bits(bits: &[bool], shape: Shape) -> Vector {
        let lanes = bits.chunks(shape.width as usize).map(super::number).collect();
        Vector { width: shape.width, lanes }
    }

    pub(crate) fn bits(&self) -> Vec<bool> {
        let word = |lane: &u128| (0..self.width).map(|i| lane >> i & 1 == 1).collect::<Vec<_>>();
        self.lanes.iter().flat_map(word).collect()
    }

    fn lane(&self, i: usize) -> u128 {
        if self.lanes.len() == 1 { self.lanes[0] } else { self.lanes[i] }
    }
}

fn mask(width: u32) -> u128 {
    u128::MAX >> (128 - width)
}

fn signed(value: u128, width: u32) -> i128 {
    (value << (128 - width)) as i128 >> (128 - width)
}

impl Sample {
    /// The outputs.
    pub(crate) fn reference(&self, inputs: &[Vec<bool>]) -> Result<Vec<Vec<bool>>, Tie> {
        let mut env = Env { sample: self, values: HashMap::new(), counters: Vec::new() };
        for (i, (bits, (_, shape))) in inputs.iter().zip(&self.inputs).enumerate() {
            env.values.insert(i, Vector::from_bits(bits, *shape));
        }
        let outputs = env.block(&self.main, &[], Vec::new())?;
        Ok(outputs.iter().map(Vector::bits).collect())
    }
}

struct Env<'s> {
    sample: &'s Sample,
    values: HashMap<usize, Vector>,
    counters: Vec<u32>,
}

impl Env<'_> {
    fn block(
        &mut self,
        block: &Block,
        params: &[usize],
        args: Vec<Vector>,
    ) -> Result<Vec<Vector>, Tie> {
        self.values.extend(params.iter().copied().zip(args));
        for step in &block.steps {
            let args: Vec<Vector> = step.args.iter().map(|id| self.values[id].clone()).collect();
            let results = self.step(step, args)?;
            assert_eq!(results.len(), step.results.len());
            for ((id, shape), value) in step.results.iter().zip(results) {
                let is = Shape::vector(value.lanes.len() as u32, value.width);
                assert_eq!(is, *shape, "shape of value {id}");
                self.values.insert(*id, value);
            }
        }
        Ok(block.results.iter().map(|id| self.values[id].clone()).collect())
    }

    fn step(&mut self, step: &Step, mut args: Vec<Vector>) -> Result<Vec<Vector>, Tie> {
        Ok(match &step.op {
            Op::Const(width, lanes) => vec![Vector::new(*width, lanes.iter().copied())],
            Op::Word(op, attrs) => return word(*op, attrs, &args),
            Op::Lanes { at, count, stride } => {
                let first = self.position(at);
                let lane = |i: u32| args[0].lanes[(first + i64::from(i) * stride) as usize];
                vec![Vector::new(args[0].width, (0..*count).map(lane))]
            }
            Op::Put(at) => {
                let first = self.position(at) as usize;
                for i in 0..args[1].lanes.len() {
                    args[0].lanes[first + i] = args[1].lanes[i];
                }
                vec![args[0].clone()]
            }
            Op::Gather(indices) => {
                let lanes = indices.iter().map(|index| args[0].lanes[*index as usize]);
                vec![Vector::new(args[0].width, lanes)]
            }
            Op::Reveal => args,
            Op::For { trips, params, body } => {
                for counter in 0..*trips {
                    self.counters.push(counter);
                    args = self.block(body, params, args)?;
                    self.counters.pop();
                }
                args
            }
            Op::Map { trips, params, body } => self.map(*trips as usize, params, body, &args)?,
            Op::If(then, otherwise) => {
                let block = if args[0].lanes[0] == 1 { then } else { otherwise };
                self.block(block, &[], Vec::new())?
            }
            Op::Call(index) => self.call(*index, args)?,
        })
    }

    fn position(&self, at: &At) -> i64 {
        let moved = at.factors.iter().zip(&self.counters).map(|(f, i)| f * i64::from(*i));
        at.constant + moved.sum::<i64>()
    }

    fn map(
        &mut self,
        trips: usize,
        params: &[usize],
        body: &Block,
        args: &[Vector],
    ) -> Result<Vec<Vector>, Tie> {
        let mut whole: Vec<Vector> = Vec::new();
        for trip in 0..trips {
            let part = |value: &Vector| {
                let count = value.lanes.len() / trips;
                let lanes = value.lanes[trip * count..(trip + 1) * count].to_vec();
                Vector { width: value.width, lanes }
            };
            let results = self.block(body, params, args.iter().map(part).collect())?;
            if trip == 0 {
                whole = results;
            } else {
                for (all, more) in whole.iter_mut().zip(results) {
                    all.lanes.extend(more.lanes);
                }
            }
        }
        Ok(whole)
    }

    fn call(&self, index: usize, args: Vec<Vector>) -> Result<Vec<Vector>, Tie> {
        match &self.sample.functions[index] {
            Function::Body { params, block } => {
                let (sample, values) = (self.sample, HashMap::new());
                Env { sample, values, counters: Vec::new() }.block(block, params, args)
            }
            Function::Gates { outputs, gates, wires } => {
                let mut values: Vec<bool> = args.iter().flat_map(Vector::bits).collect();
                for gate in gates {
                    let at = |wire: u32| values[wire as usize];
                    let value = match *gate {
                        Gate::Xor(a, b) => at(a) ^ at(b),
                        Gate::And(a, b) => at(a) & at(b),
                        Gate::Inv(a) => !at(a),
                        Gate::Eq(bit) => bit,
                        Gate::Eqw(a) => at(a),
                    };
                    values.push(value);
                }
                let mut bits = wires.iter().map(|wire| values[*wire as usize]);
                let port = |shape: &Shape| {
                    let bits: Vec<bool> = bits.by_ref().take(shape.bits()).collect();
                    Vector::from_bits(&bits, *shape)
                };
                Ok(outputs.iter().map(port).collect())
            }
        }
    }
}

/// One result of `f` for each lane.
fn each(args: &[Vector], width: u32, f: impl Fn(u128, u128, u128) -> u128) -> Vec<Vector> {
    let lanes = args.iter().map(|arg| arg.lanes.len()).max().unwrap();
    let operand = |i: usize, lane: usize| args.get(i).map_or(0, |arg| arg.lane(lane));
    let result = |lane| f(operand(0, lane), operand(1, lane), operand(2, lane));
    vec![Vector::new(width, (0..lanes).map(result))]
}

fn two(args: &[Vector], widths: [u32; 2], f: impl Fn(u128, u128) -> [u128; 2]) -> Vec<Vector> {
    let part = |i: usize| each(args, widths[i], |a, b, _| f(a, b)[i]).swap_remove(0);
    vec![part(0), part(1)]
}

// Long: one line for each operation.
fn word(op: WordOp, attrs: &[u32], args: &[Vector]) -> Result<Vec<Vector>, Tie> {
    use WordOp::*;
    let w = args[0].width;
    let s = |x: u128| signed(x, w);
    let truth = |holds: bool| u128::from(holds);
    Ok(match op {
        Xor => each(args, w, |a, b, _| a ^ b),
        And => each(args, w, |a, b, _| a & b),
        Or => each(args, w, |a, b, _| a | b),
        Not => each(args, w, |a, _, _| !a),
        Mux => each(args, args[1].width, |select, a, b| if select == 1 { a } else { b }),
        Add => each(args, w, |a, b, _| a + b),
        Sub => each(args, w, |a, b, _| a.wrapping_sub(b)),
        Neg => each(args, w, |a, _, _| a.wrapping_neg()),
        Abs => each(args, w, |a, _, _| s(a).unsigned_abs()),
        Mul => each(args, w, |a, b, _| a * b),
        Square => each(args, w, |a, _, _| a * a),
        MulFull => each(args, 2 * w, |a, b, _| a * b),
        MulFullS => each(args, 2 * w, |a, b, _| (s(a) * s(b)) as u128),
        SquareFull => each(args, 2 * w, |a, _, _| a * a),
        Isqrt => each(args, w, |a, _, _| {
            (0..=65).rev().fold(0, |root: u128, bit| {
                let next = root | 1 << bit;
                if next.checked_mul(next).is_some_and(|square| square <= a) { next } else { root }
            })
        }),
        Popcount => each(args, digits(w), |a, _, _| u128::from(a.count_ones())),
        Lzcnt => each(args, digits(w), |a, _, _| u128::from(a.leading_zeros() - (128 - w))),
        DivRem => two(args, [w, w], |a, b| match b {
            0 => [u128::MAX, a],
            _ => [a / b, a % b],
        }),
        DivRemS => two(args, [w, w], |a, b| match b {
            0 => [u128::MAX, a],
            _ => [(s(a) / s(b)) as u128, (s(a) % s(b)) as u128],
        }),
        AddO => two(args, [w, 1], |a, b| [a + b, truth(a + b > mask(w))]),
        SubO => two(args, [w, 1], |a, b| [a.wrapping_sub(b), truth(a < b)]),
        MulO => two(args, [w, 1], |a, b| [a * b, truth(a * b > mask(w))]),
        AddOS | SubOS | MulOS => two(args, [w, 1], |a, b| {
            let exact = match op {
                AddOS => s(a) + s(b),
                SubOS => s(a) - s(b),
                _ => s(a) * s(b),
            };
            [exact as u128, truth(s(exact as u128 & mask(w)) != exact)]
        }),
        Min => each(args, w, |a, b, _| a.min(b)),
        Max => each(args, w, |a, b, _| a.max(b)),
        MinS => each(args, w, |a, b, _| s(a).min(s(b)) as u128),
        MaxS => each(args, w, |a, b, _| s(a).max(s(b)) as u128),
        Eq => each(args, 1, |a, b, _| truth(a == b)),
        Lt => each(args, 1, |a, b, _| truth(a < b)),
        Le => each(args, 1, |a, b, _| truth(a <= b)),
        LtS => each(args, 1, |a, b, _| truth(s(a) < s(b))),
        LeS => each(args, 1, |a, b, _| truth(s(a) <= s(b))),
        ShlBy => each(args, w, |a, by, _| if by < 128 { a << by } else { 0 }),
        ShrBy => each(args, w, |a, by, _| if by < 128 { a >> by } else { 0 }),
        SarBy => each(args, w, |a, by, _| (s(a) >> by.min(127)) as u128),
        RotlBy => each(args, w, |a, by, _| rotated(a, (by % u128::from(w)) as u32, w)),
        _ => return over_lanes(op, attrs, args),
    })
}

fn rotated(a: u128, by: u32, width: u32) -> u128 {
    if by == 0 { a } else { a << by | a >> (width - by) }
}

fn digits(largest: u32) -> u32 {
    (32 - largest.leading_zeros()).max(1)
}

fn groups(value: &Vector, groups: u32) -> impl Iterator<Item = &[u128]> {
    value.lanes.chunks(value.lanes.len() / groups as usize)
}

// Long: one arm for each operation.
fn over_lanes(op: WordOp, attrs: &[u32], args: &[Vector]) -> Result<Vec<Vector>, Tie> {
    use WordOp::*;
    let a = &args[0];
    let w = a.width;
    let fold = |parts: u32, f: fn(u128, u128) -> u128| {
        let lanes = groups(a, parts).map(|group| group.iter().copied().reduce(f).unwrap());
        vec![Vector::new(w, lanes)]
    };
    Ok(match op {
        Sum | SumS => {
            let term = |x: &u128| if op == Sum { *x } else { signed(*x, w) as u128 };
            let total = |group: &[u128]| group.iter().map(term).fold(0, u128::wrapping_add);
            vec![Vector::new(attrs[0], groups(a, attrs[1]).map(total))]
        }
        Rand => fold(attrs[0], |x, y| x & y),
        Ror => fold(attrs[0], |x, y| x | y),
        Rxor => fold(attrs[0], |x, y| x ^ y),
        ArgMin | ArgMax | ArgMinS | ArgMaxS => {
            let sign = matches!(op, ArgMinS | ArgMaxS);
            let rank = |x: u128| if sign { signed(x, w) } else { x as i128 };
            let largest = matches!(op, ArgMax | ArgMaxS);
            let better = |x: u128, y: u128| {
                if largest { rank(x) > rank(y) } else { rank(x) < rank(y) }
            };
            let mut best = 0;
            for (i, lane) in a.lanes.iter().enumerate() {
                if better(*lane, a.lanes[best]) {
                    best = i;
                }
            }
            let index = digits(a.lanes.len() as u32 - 1);
            vec![Vector::new(index, [best as u128]), Vector::new(w, [a.lanes[best]])]
        }
        Sort => vec![Vector::new(w, sorted(a, attrs)?)],
        TopK => {
            let mut lanes = sorted(a, &attrs[1..])?;
            lanes.truncate(attrs[0] as usize);
            vec![Vector::new(w, lanes)]
        }
        MatMul => {
            let (rows, inner) = (attrs[0] as usize, attrs[1] as usize);
            let columns = args[1].lanes.len() / inner;
            let term = |x: u128| if attrs[3] == 1 { signed(x, w) as u128 } else { x };
            let entry = |at: usize| {
                let (row, column) = (at / columns, at % columns);
                let product = |k: usize| {
                    let (x, y) = (a.lanes[row * inner + k], args[1].lanes[k * columns + column]);
                    term(x).wrapping_mul(term(y))
                };
                (0..inner).map(product).fold(0, u128::wrapping_add)
            };
            vec![Vector::new(attrs[2], (0..rows * columns).map(entry))]
        }
        Lookup => {
            let entry = |i: &u128| a.lanes.get(*i as usize).copied().unwrap_or(0);
            vec![Vector::new(w, args[1].lanes.iter().map(entry))]
        }
        Store => {
            let mut lanes = a.lanes.clone();
            let index = usize::try_from(args[1].lanes[0]).unwrap();
            if let Some(lane) = lanes.get_mut(index).filter(|_| args[3].lanes[0] == 1) {
                *lane = args[2].lanes[0];
            }
            vec![Vector::new(w, lanes)]
        }
        _ => wiring(op, attrs, args),
    })
}

fn sorted(value: &Vector, attrs: &[u32]) -> Result<Vec<u128>, Tie> {
    let key = |x: u128| {
        let key = x >> attrs[0] & mask(attrs[1]);
        let key = if attrs[2] == 1 { signed(key, attrs[1]) } else { key as i128 };
        if attrs[3] == 1 { -key } else { key }
    };
    let mut lanes = value.lanes.clone();
    lanes.sort_by_key(|x| key(*x));
    match lanes.windows(2).any(|pair| pair[0] != pair[1] && key(pair[0]) == key(pair[1])) {
        true => Err(Tie),
        false => Ok(lanes),
    }
}

fn wiring(op: WordOp, attrs: &[u32], args: &[Vector]) -> Vec<Vector> {
    use WordOp::*;
    let a = &args[0];
    let w = a.width;
    let attr = |i: usize| attrs.get(i).copied().unwrap_or(0);
    // Shifts by the width and more, in two steps that a `u128` takes.
    let up = |x: u128, by: u32| if by < w { x << by } else { 0 };
    match op {
        Slice => each(args, attr(1), |x, _, _| x >> attr(0)),
        Zext => each(args, attr(0), |x, _, _| x),
        Sext => each(args, attr(0), |x, _, _| signed(x, w) as u128),
        Shl => each(args, w, |x, _, _| up(x, attr(0))),
        Shr => each(args, w, |x, _, _| if attr(0) < w { x >> attr(0) } else { 0 }),
        Sar => each(args, w, |x, _, _| (signed(x, w) >> attr(0).min(127)) as u128),
        Rotl => each(args, w, |x, _, _| rotated(x, attr(0) % w, w)),
        Concat | Reshape => bitwise(op, attrs, args),
        Join => vec![Vector::new(w, args.iter().flat_map(|arg| arg.lanes.clone()))],
        Tile => vec![Vector::new(w, a.lanes.repeat(attr(0) as usize))],
        Repeat => {
            let times = |x: &u128| std::iter::repeat_n(*x, attr(0) as usize);
            vec![Vector::new(w, a.lanes.iter().flat_map(times))]
        }
        Transpose => {
            let rows = attr(0) as usize;
            let columns = a.lanes.len() / rows;
            let lane = |at: usize| a.lanes[at % rows * columns + at / rows];
            vec![Vector::new(w, (0..a.lanes.len()).map(lane))]
        }
        _ => unreachable!("{op:?} has no reference"),
    }
}

/// Words may become wider than 128 bits here; nothing computes with those.
fn bitwise(op: WordOp, attrs: &[u32], args: &[Vector]) -> Vec<Vector> {
    let (width, bits) = match op {
        WordOp::Reshape => (attrs[1], args[0].bits()),
        _ => {
            let lanes = args.iter().map(|arg| arg.lanes.len()).max().unwrap();
            let word = |arg: &Vector, lane: usize| Vector::new(arg.width, [arg.lane(lane)]).bits();
            let lane = |lane: usize| args.iter().flat_map(move |arg| word(arg, lane));
            let bits = (0..lanes).flat_map(lane).collect();
            (args.iter().map(|arg| arg.width).sum(), bits)
        }
    };
    let lanes: Vec<u128> = bits
        .chunks(width as usize)
        .map(|word: &[bool]| super::number(&word[..word.len().min(128)]))
        .collect();
    vec![Vector { width, lanes }]
}
