//! The circuit of a core, as a value: its sizes, tables, check and price follow from it.

use std::ops::{BitXor, Range};

use cenote_prim::bits;

/// A small circuit of ANDs over sums of wires. Every wire of it is hashed and soldered, and that of every
/// AND is an output.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shape {
    name: &'static str,
    /// Wires from outside, the first of all; the outputs of the ANDs follow in their order.
    inputs: usize,
    /// The operands of ANDs: sums of wires, by their places, in the order in which their wires become known.
    operands: &'static [&'static [u8]],
    /// The left and the right operand of each AND, by their places, in an order in which they can run.
    ands: &'static [[u8; 2]],
    detection: f64,
}

/// ANDs of which none needs another, and the operands that are there as soon as those before have run.
pub(super) type Level = (Range<usize>, Range<usize>);

/// Most ANDs of a core: the differences of their right operands fill half a block.
const MAX_ANDS: usize = 64;

/// Operands that are one wire each, and ANDs of the first with each of the others.
const SINGLE: [&[u8]; MAX_ANDS + 1] = {
    const PLACES: &[u8; MAX_ANDS + 1] = &{
        let mut places = [0; MAX_ANDS + 1];
        let mut i = 1;
        while i <= MAX_ANDS {
            places[i] = i as u8;
            i += 1;
        }
        places
    };
    let mut single: [&[u8]; MAX_ANDS + 1] = [&[]; MAX_ANDS + 1];
    let mut i = 0;
    while i <= MAX_ANDS {
        single[i] = std::slice::from_ref(&PLACES[i]);
        i += 1;
    }
    single
};
const WITH_FIRST: [[u8; 2]; MAX_ANDS] = {
    let mut ands = [[0; 2]; MAX_ANDS];
    let mut i = 0;
    while i < MAX_ANDS {
        ands[i] = [0, i as u8 + 1];
        i += 1;
    }
    ands
};

impl Shape {
    /// One AND.
    pub const AND: Shape = Shape::mux("and", 1);

    /// The cores of multiplexers, POOL's MUXCORE, widest first: ANDs of one wire with each of several.
    pub const MUXES: [Shape; 4] = [
        Shape::mux("mux-64", 64),
        Shape::mux("mux-32", 32),
        Shape::mux("mux-16", 16),
        Shape::mux("mux-8", 8),
    ];

    const fn mux(name: &'static str, width: usize) -> Shape {
        let (operands, ands) = (SINGLE.split_at(width + 1).0, WITH_FIRST.split_at(width).0);
        Shape::new(name, width + 1, operands, ands, 0.5)
    }

    /// A core of the pools `pool.name`. `detection` is the chance that checking it shows an AND that is
    /// wrong, at least: the smallest probability, on random inputs, that the left operand of an AND has a
    /// certain value, or the right one, or their sum.
    ///
    /// # Panics
    /// If there are more than 64 ANDs, or more operands than wires.
    pub(super) const fn new(
        name: &'static str,
        inputs: usize,
        operands: &'static [&'static [u8]],
        ands: &'static [[u8; 2]],
        detection: f64,
    ) -> Shape {
        assert!(ands.len() <= MAX_ANDS && operands.len() <= inputs + ands.len());
        Shape { name, inputs, operands, ands, detection }
    }

    /// Name of its pool and stock.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// ANDs of the core.
    #[must_use]
    pub const fn ands(self) -> usize {
        self.ands.len()
    }

    /// Wires of the core.
    #[must_use]
    pub const fn wires(self) -> usize {
        self.inputs + self.ands.len()
    }

    /// Input wires, which are the first of all.
    #[must_use]
    pub const fn inputs(self) -> usize {
        self.inputs
    }

    /// Blocks of the tables: three labels an AND.
    #[must_use]
    pub const fn table_blocks(self) -> usize {
        9 * self.ands.len()
    }

    /// The chance that checking a bad core shows it.
    #[must_use]
    pub const fn detection(self) -> f64 {
        self.detection
    }

    pub(super) const fn operands(self) -> usize {
        self.operands.len()
    }

    /// Left and right operand of an AND.
    #[inline(always)]
    pub(super) const fn and(&self, and: usize) -> [usize; 2] {
        let [left, right] = self.ands[and];
        [left as usize, right as usize]
    }

    /// Place of the output of an AND among the wires.
    #[inline(always)]
    pub(super) const fn output(&self, and: usize) -> usize {
        self.inputs + and
    }

    /// The sum that an operand is, of what `of` gives of the wires.
    #[inline(always)]
    pub(super) fn sum<T: BitXor<Output = T>>(&self, operand: usize, of: impl Fn(usize) -> T) -> T {
        let wires = self.operands[operand];
        let mut sum = of(wires[0].into());
        for wire in &wires[1..] {
            sum = sum ^ of((*wire).into());
        }
        sum
    }

    /// The ANDs in as few steps as there can be.
    pub(super) fn levels(self) -> Vec<Level> {
        let mut levels: Vec<Level> = Vec::new();
        let (mut operands, mut ands) = (0, 0);
        while ands < self.ands.len() {
            let known = |wires: &&&[u8]| wires.iter().all(|w| usize::from(*w) < self.inputs + ands);
            let new = self.operands[operands..].iter().take_while(known).count();
            let ready = |and: &&[u8; 2]| and.iter().all(|o| usize::from(*o) < operands + new);
            let runs = self.ands[ands..].iter().take_while(ready).count();
            assert!(runs > 0, "an AND needs what comes behind it");
            levels.push((operands..operands + new, ands..ands + runs));
            (operands, ands) = (operands + new, ands + runs);
        }
        levels
    }

    /// The value of every wire of each of `cores`, in order, from the packed bits of their inputs.
    pub(super) fn values(self, inputs: &[u8], cores: usize) -> Vec<bool> {
        assert!(inputs.len() >= bits::packed_len(cores * self.inputs));
        let mut values = Vec::with_capacity(cores * self.wires());
        for core in 0..cores {
            let first = values.len();
            values.extend((0..self.inputs).map(|i| bits::get(inputs, core * self.inputs + i)));
            for and in 0..self.ands.len() {
                let [left, right] = self.and(and).map(|o| self.sum(o, |w| values[first + w]));
                values.push(left & right);
            }
        }
        values
    }
}
