//! Values while a module runs.

use std::borrow::Cow;

use crate::fold::Folded;
use crate::memory::Shared;

/// The bits of one value, lane by lane.
#[derive(Clone)]
pub(crate) enum Value<W> {
    /// Wires alone, which machines take as they are.
    Secret(Vec<W>),
    /// Wires and bits that both parties know.
    Mixed(Vec<Folded<W>>),
    /// Rows in a memory, which `lookup` and `store` alone take.
    Memory(Shared<W>),
}

/// What is done with rows that have been taken out of their memory only.
pub(crate) fn in_memory() -> ! {
    unreachable!("rows are taken out of a memory before anything else reads them")
}

/// Values in order.
pub(crate) type Values<W> = Vec<Value<W>>;

impl<W: Clone> Value<W> {
    /// A value of these bits.
    pub(crate) fn of(bits: Vec<Folded<W>>) -> Value<W> {
        let known = |bit: &Folded<W>| matches!(bit, Folded::Known(_));
        if bits.iter().any(known) {
            return Value::Mixed(bits);
        }
        let wire = |bit| match bit {
            Folded::Wire(wire) => Some(wire),
            Folded::Known(_) => None,
        };
        Value::Secret(bits.into_iter().filter_map(wire).collect())
    }

    /// A value that both parties know.
    pub(crate) fn known(bits: impl IntoIterator<Item = bool>) -> Value<W> {
        Value::Mixed(bits.into_iter().map(Folded::Known).collect())
    }

    pub(crate) fn is_memory(&self) -> bool {
        matches!(self, Value::Memory(_))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Value::Secret(wires) => wires.len(),
            Value::Mixed(bits) => bits.len(),
            Value::Memory(_) => in_memory(),
        }
    }

    /// Its wires, if it has nothing else.
    pub(crate) fn secret(&self) -> Option<&[W]> {
        match self {
            Value::Secret(wires) => Some(wires),
            Value::Mixed(_) | Value::Memory(_) => None,
        }
    }

    pub(crate) fn bits(&self) -> Cow<'_, [Folded<W>]> {
        match self {
            Value::Secret(wires) => wires.iter().cloned().map(Folded::Wire).collect(),
            Value::Mixed(bits) => bits.into(),
            Value::Memory(_) => in_memory(),
        }
    }

    pub(crate) fn into_bits(self) -> Vec<Folded<W>> {
        match self {
            Value::Secret(wires) => wires.into_iter().map(Folded::Wire).collect(),
            Value::Mixed(bits) => bits,
            Value::Memory(_) => in_memory(),
        }
    }

    /// The same bits on another machine.
    pub(crate) fn map<V: Clone>(&self, wire: impl Fn(&W) -> V) -> Value<V> {
        let bit = |bit: &Folded<W>| match bit {
            Folded::Known(bit) => Folded::Known(*bit),
            Folded::Wire(bit) => Folded::Wire(wire(bit)),
        };
        match self {
            Value::Secret(wires) => Value::Secret(wires.iter().map(wire).collect()),
            Value::Mixed(bits) => Value::Mixed(bits.iter().map(bit).collect()),
            Value::Memory(_) => in_memory(),
        }
    }

    /// `count` words of `width` bits, the first from word `first` on, the next `stride` words further.
    pub(crate) fn lanes(&self, width: usize, first: usize, count: usize, stride: i64) -> Value<W> {
        let words = Words { width, first, count, stride };
        match self {
            Value::Secret(wires) => Value::Secret(words.of(wires)),
            Value::Mixed(bits) => Value::of(words.of(bits)),
            Value::Memory(_) => in_memory(),
        }
    }

    /// The words of `width` bits that `indices` names.
    pub(crate) fn gather(&self, width: usize, indices: &[u32]) -> Value<W> {
        match self {
            Value::Secret(wires) => Value::Secret(gather(wires, width, indices)),
            Value::Mixed(bits) => Value::of(gather(bits, width, indices)),
            Value::Memory(_) => in_memory(),
        }
    }

    /// Its bits, `times` times over.
    pub(crate) fn repeated(&self, times: usize) -> Value<W> {
        match self {
            Value::Secret(wires) => Value::Secret(repeated(wires, times)),
            Value::Mixed(bits) => Value::Mixed(repeated(bits, times)),
            Value::Memory(_) => in_memory(),
        }
    }

    /// Puts the bits of `more` behind its own.
    pub(crate) fn append(&mut self, more: Value<W>) {
        match (&mut *self, more) {
            (Value::Secret(wires), Value::Secret(more)) => wires.extend(more),
            (Value::Mixed(bits), more) => bits.extend(more.into_bits()),
            (Value::Memory(_), _) => in_memory(),
            (Value::Secret(wires), more) => {
                let mut bits: Vec<_> = wires.drain(..).map(Folded::Wire).collect();
                bits.extend(more.into_bits());
                *self = Value::Mixed(bits);
            }
        }
    }

    /// The value with its bits from `start` on replaced by those of `part`.
    pub(crate) fn replaced(self, start: usize, part: Value<W>) -> Value<W> {
        match (self, part) {
            (Value::Secret(mut wires), Value::Secret(part)) => {
                wires[start..start + part.len()].clone_from_slice(&part);
                Value::Secret(wires)
            }
            (value, part) => {
                let (mut bits, part) = (value.into_bits(), part.into_bits());
                bits[start..start + part.len()].clone_from_slice(&part);
                Value::of(bits)
            }
        }
    }
}

/// Words at regular distances.
struct Words {
    width: usize,
    first: usize,
    count: usize,
    stride: i64,
}

impl Words {
    fn of<T: Clone>(&self, bits: &[T]) -> Vec<T> {
        let Words { width, first, count, stride } = *self;
        if stride == 1 {
            return bits[first * width..(first + count) * width].to_vec();
        }
        let mut out = Vec::with_capacity(count * width);
        for i in 0..count as i64 {
            let start = (first as i64 + i * stride) as usize * width;
            out.extend_from_slice(&bits[start..start + width]);
        }
        out
    }
}

fn repeated<T: Clone>(bits: &[T], times: usize) -> Vec<T> {
    let mut out = Vec::with_capacity(bits.len() * times);
    for _ in 0..times {
        out.extend_from_slice(bits);
    }
    out
}

fn gather<T: Clone>(bits: &[T], width: usize, indices: &[u32]) -> Vec<T> {
    let mut out = Vec::with_capacity(indices.len() * width);
    for index in indices {
        let start = *index as usize * width;
        out.extend_from_slice(&bits[start..start + width]);
    }
    out
}
