//! Random valid modules, each with a plain description of what it does, from which
//! [`reference`] computes the outputs without any code of the crate.

pub(crate) mod reference;

use cenote_circuit::{Circuit, Gate, Receivers, Role, Signature};
use cenote_program::{
    Affine, Builder, FunctionId, Kind, LoopVar, Module, PathStep, PortPath, Shape, ValueId, WordOp,
};

/// A module and its description.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) module: Module,
    pub(crate) functions: Vec<Function>,
    pub(crate) inputs: Vec<(Role, Shape)>,
    pub(crate) main: Block,
}

#[derive(Debug)]
pub(crate) enum Function {
    Body { params: Vec<usize>, block: Block },
    Gates { outputs: Vec<Shape>, gates: Vec<Gate>, wires: Vec<u32> },
}

#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) steps: Vec<Step>,
    pub(crate) results: Vec<usize>,
}

/// One statement; values go by their numbers.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) op: Op,
    pub(crate) args: Vec<usize>,
    pub(crate) results: Vec<(usize, Shape)>,
}

#[derive(Debug)]
pub(crate) enum Op {
    Const(u32, Vec<u128>),
    Word(WordOp, Vec<u32>),
    Lanes { at: At, count: u32, stride: i64 },
    Put(At),
    Gather(Vec<u32>),
    Reveal,
    For { trips: u32, params: Vec<usize>, body: Block },
    Map { trips: u32, params: Vec<usize>, body: Block },
    If(Block, Block),
    Call(usize),
}

/// A position: a constant, and a factor for each loop around, outermost first.
#[derive(Debug, Clone)]
pub(crate) struct At {
    pub(crate) constant: i64,
    pub(crate) factors: Vec<i64>,
}

/// The limits of a sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Statements, at most.
    pub(crate) statements: u32,
    /// Bits of a word, mostly.
    pub(crate) width: u32,
    /// Whether values are opened before the end.
    pub(crate) reveals: bool,
}

/// A small generator of numbers: each sample is a function of its seed.
#[derive(Clone)]
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`.
    pub(crate) fn within(&mut self, low: u32, high: u32) -> u32 {
        low + (self.next() % (u64::from(high - low) + 1)) as u32
    }

    pub(crate) fn one_in(&mut self, n: u32) -> bool {
        self.within(1, n) == 1
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        let last = u32::try_from(from.len()).unwrap().checked_sub(1)?;
        Some(from[self.within(0, last) as usize].clone())
    }

    pub(crate) fn bits(&mut self, count: usize) -> Vec<bool> {
        // Runs of equal bits meet the corners of arithmetic more often.
        let dense = self.within(0, 3);
        (0..count)
            .map(|_| match dense {
                0 => self.one_in(8),
                1 => !self.one_in(8),
                _ => self.one_in(2),
            })
            .collect()
    }
}

impl Sample {
    /// The sample of a seed.
    pub(crate) fn new(seed: u64, limits: Limits) -> Sample {
        let builder = Builder::new("sample", "a \\ \"random\" # module").unwrap();
        let generator = Generator {
            b: builder,
            r: Random(seed),
            limits,
            fuel: limits.statements,
            scope: Vec::new(),
            trips: Vec::new(),
            in_map: false,
            depth: 0,
            functions: Vec::new(),
            shapes: Vec::new(),
        };
        generator.sample()
    }

    /// Bits for all inputs.
    pub(crate) fn input_bits(&self, seed: u64) -> Vec<Vec<bool>> {
        let mut random = Random(seed);
        self.inputs.iter().map(|(_, shape)| random.bits(shape.bits())).collect()
    }
}

struct Generator {
    b: Builder,
    r: Random,
    limits: Limits,
    fuel: u32,
    /// The values in sight, with shapes.
    scope: Vec<(ValueId, Shape)>,
    trips: Vec<(LoopVar, u32)>,
    in_map: bool,
    depth: u32,
    functions: Vec<Function>,
    shapes: Vec<(FunctionId, Vec<Shape>)>,
}

/// Bits of a value that others may use.
const MOST_BITS: usize = 200;
/// Bits of a word that others may use: products of two fit 128 bits.
const MOST_WIDTH: u32 = 64;

impl Generator {
    fn sample(mut self) -> Sample {
        for i in 0..self.r.within(0, 3) {
            self.function(i);
        }
        let mut inputs = Vec::new();
        let mut record = (PathStep::word("x"), Role::Garbler);
        for i in 0..self.r.within(1, 4) {
            if i == 0 || self.r.one_in(2) {
                let owner = if self.r.one_in(2) { Role::Garbler } else { Role::Evaluator };
                record = (self.path_step(&format!("x{i}")), owner);
            }
            let (step, owner) = record.clone();
            let path = PortPath::new(vec![step, self.path_step(&i.to_string())]);
            let shape = Shape::vector(path.sizes().product(), self.width());
            let kind = self.kind(shape);
            let id = self.b.input_at(path, owner, kind, shape.width).unwrap();
            self.scope.push((id, shape));
            inputs.push((owner, shape));
        }
        self.fuel = self.limits.statements;
        let steps = self.steps();
        let mut outputs = Vec::new();
        for i in 0..self.r.within(1, 20) {
            let (id, shape) = self.any();
            let to = [Receivers::Garbler, Receivers::Evaluator, Receivers::Both];
            let to = self.r.pick(&to).unwrap();
            let kind = self.kind(shape);
            let sizes = match shape.lanes {
                1 if self.r.one_in(2) => vec![],
                lanes if lanes % 2 == 0 => vec![lanes / 2, 2],
                lanes => vec![lanes],
            };
            let outer = PathStep { name: format!("z{}", i / 2), sizes: vec![] };
            let path = PortPath::new(vec![outer, PathStep { name: format!("part-{i}"), sizes }]);
            self.b.output_at(path, to, kind, id).unwrap();
            outputs.push(id.index());
        }
        let main = Block { steps, results: outputs };
        let module = self.b.finish().unwrap();
        Sample { module, functions: self.functions, inputs, main }
    }

    /// A step of a path, with sizes or without.
    fn path_step(&mut self, name: &str) -> PathStep {
        let sizes = (0..self.r.within(0, 2)).map(|_| self.r.within(1, 2)).collect();
        PathStep { name: name.to_owned(), sizes }
    }

    fn shape(&mut self) -> Shape {
        let lanes = if self.r.one_in(2) { 1 } else { self.r.within(1, 6) };
        Shape::vector(lanes, self.width())
    }

    fn width(&mut self) -> u32 {
        match self.r.within(0, 9) {
            0..=1 => 1,
            2 => self.r.within(1, MOST_WIDTH.min(4 * self.limits.width)),
            _ => self.r.within(1, self.limits.width),
        }
    }

    fn kind(&mut self, shape: Shape) -> Kind {
        match self.r.within(0, 4) {
            0 => Kind::UInt,
            1 => Kind::Int,
            2 => Kind::Fixed { fraction: self.r.within(0, shape.width - 1) },
            3 if shape.width == 1 => Kind::Bool,
            _ => Kind::Bits,
        }
    }

    fn function(&mut self, number: u32) {
        let name = format!("f{number}");
        let count = self.r.within(1, 3);
        let inputs: Vec<Shape> = (0..count).map(|_| self.shape()).collect();
        if self.r.one_in(3) {
            return self.gates(&name, inputs);
        }
        let params = self.b.begin_function(&name, &inputs).unwrap();
        self.scope = params.iter().copied().zip(inputs.iter().copied()).collect();
        self.fuel = self.limits.statements / 4;
        let steps = self.steps();
        let results: Vec<ValueId> = (0..self.r.within(1, 3)).map(|_| self.any().0).collect();
        let id = self.b.end_function(&results).unwrap();
        self.scope.clear();
        let block = Block { steps, results: numbers(&results) };
        self.functions.push(Function::Body { params: numbers(&params), block });
        self.shapes.push((id, inputs));
    }

    fn gates(&mut self, name: &str, inputs: Vec<Shape>) {
        let first: usize = inputs.iter().map(|shape| shape.bits()).sum();
        let (mut wires, mut gates) = (first as u32, Vec::new());
        for _ in 0..self.r.within(0, 30) {
            let (a, b) = (self.r.within(0, wires - 1), self.r.within(0, wires - 1));
            gates.push(match self.r.within(0, 9) {
                0 => Gate::Eq(self.r.one_in(2)),
                1 => Gate::Eqw(a),
                2 => Gate::Inv(a),
                3..=5 => Gate::And(a, b),
                _ => Gate::Xor(a, b),
            });
            wires += 1;
        }
        let outputs: Vec<Shape> = (0..self.r.within(1, 2)).map(|_| self.shape()).collect();
        let bits: usize = outputs.iter().map(|shape| shape.bits()).sum();
        let named: Vec<u32> = (0..bits).map(|_| self.r.within(0, wires - 1)).collect();
        let mut signature = Signature::new();
        for (i, shape) in inputs.iter().enumerate() {
            signature = signature.input(&format!("a{i}"), shape.bits(), None);
        }
        for (i, shape) in outputs.iter().enumerate() {
            signature = signature.output(&format!("b{i}"), shape.bits(), None);
        }
        let circuit = Circuit::new("any", signature, gates.clone(), named.clone()).unwrap();
        let id = self.b.circuit(name, circuit, &inputs, &outputs).unwrap();
        self.shapes.push((id, inputs));
        self.functions.push(Function::Gates { outputs, gates, wires: named });
    }

    fn any(&mut self) -> (ValueId, Shape) {
        // What is new is used more often, so that most of it reaches an output.
        let recent = if self.r.one_in(2) { 6 } else { usize::MAX };
        let from = self.scope.len().saturating_sub(recent);
        let scope = self.scope[from..].to_vec();
        self.r.pick(&scope).unwrap()
    }

    fn steps(&mut self) -> Vec<Step> {
        let most = if self.depth == 0 { u32::MAX } else { self.r.within(0, 6) };
        let mut steps = Vec::new();
        for _ in 0..most {
            if self.fuel == 0 {
                break;
            }
            self.fuel -= 1;
            self.step(&mut steps);
        }
        steps
    }

    /// Adds a statement, or none if what was thought of does not fit.
    fn step(&mut self, steps: &mut Vec<Step>) {
        let nested = self.depth < 3;
        let step = match self.r.within(0, 29) {
            0..=1 => self.constant(),
            2..=3 => self.lanes(),
            4..=5 => self.put(),
            6 => self.gather(),
            7 => self.reveal(),
            8..=9 if nested => self.for_loop(),
            10..=11 if nested => self.map(),
            12 if nested => return self.branch(steps),
            13..=14 => self.call(),
            _ => self.word(),
        };
        steps.extend(step);
    }

    fn finish(&mut self, op: Op, args: &[ValueId], results: &[ValueId]) -> Step {
        let mut shaped = Vec::new();
        for id in results {
            let shape = self.b.shape(*id).unwrap();
            shaped.push((id.index(), shape));
            if shape.bits() <= MOST_BITS && shape.width <= MOST_WIDTH {
                self.scope.push((*id, shape));
            }
        }
        Step { op, args: numbers(args), results: shaped }
    }

    fn constant(&mut self) -> Option<Step> {
        let shape = self.shape();
        let mut bits = self.r.bits(shape.bits());
        if self.r.one_in(4) {
            // The text form has a short way to write equal lanes.
            let lane = bits[..shape.width as usize].to_vec();
            bits = lane.repeat(shape.lanes as usize);
        }
        let id = self.b.constant(shape, &bits).unwrap();
        let words = bits.chunks(shape.width as usize).map(number).collect();
        Some(self.finish(Op::Const(shape.width, words), &[], &[id]))
    }

    /// A position that `reach` lanes further, over all iterations, stays among `lanes`.
    fn at(&mut self, reach: i64, lanes: u32) -> Option<(At, Affine)> {
        let mut factors = Vec::new();
        let (mut low, mut high) = (reach.min(0), reach.max(0));
        for (_, trips) in self.trips.clone() {
            let factor = i64::from(self.r.within(0, 4)) - 2;
            // A loop of one iteration takes any factor.
            let factor = if trips == 1 && self.r.one_in(3) { factor << 60 } else { factor };
            let moved = factor * i64::from(trips - 1);
            low += moved.min(0);
            high += moved.max(0);
            factors.push(factor);
        }
        let slack = i64::from(lanes) - 1 - (high - low);
        let constant = -low + i64::from(self.r.within(0, u32::try_from(slack).ok()?));
        let mut affine = Affine::at(constant);
        for ((var, _), factor) in self.trips.iter().zip(&factors) {
            affine = affine.plus(*var, *factor);
        }
        Some((At { constant, factors }, affine))
    }

    fn lanes(&mut self) -> Option<Step> {
        let (id, shape) = self.any();
        let count = self.r.within(1, shape.lanes.min(3));
        let stride = i64::from(self.r.within(0, 4)) - 2;
        let stride = if count == 1 && self.r.one_in(4) { stride << 60 } else { stride };
        let (at, affine) = self.at(stride * (i64::from(count) - 1), shape.lanes)?;
        let result = self.b.lanes(id, affine, count, stride).unwrap();
        Some(self.finish(Op::Lanes { at, count, stride }, &[id], &[result]))
    }

    fn put(&mut self) -> Option<Step> {
        let (id, shape) = self.any();
        let fits = |s: &Shape| s.width == shape.width && s.lanes <= shape.lanes;
        let part = self.pick_shape(fits)?;
        let piece = self.b.shape(part).unwrap();
        let (at, affine) = self.at(i64::from(piece.lanes) - 1, shape.lanes)?;
        let result = self.b.put(id, affine, part).unwrap();
        Some(self.finish(Op::Put(at), &[id, part], &[result]))
    }

    fn pick_shape(&mut self, fits: impl Fn(&Shape) -> bool) -> Option<ValueId> {
        let found: Vec<ValueId> =
            self.scope.iter().filter(|(_, shape)| fits(shape)).map(|(id, _)| *id).collect();
        self.r.pick(&found)
    }

    fn gather(&mut self) -> Option<Step> {
        let (id, shape) = self.any();
        let indices: Vec<u32> =
            (0..self.r.within(1, 5)).map(|_| self.r.within(0, shape.lanes - 1)).collect();
        let result = self.b.gather(id, &indices).unwrap();
        Some(self.finish(Op::Gather(indices), &[id], &[result]))
    }

    fn reveal(&mut self) -> Option<Step> {
        let (id, _) = self.any();
        if self.in_map || !self.limits.reveals {
            return None;
        }
        let result = self.b.reveal(id).unwrap();
        Some(self.finish(Op::Reveal, &[id], &[result]))
    }

    /// The statements of a block in which `params` are in sight as well.
    fn block(&mut self, params: &[ValueId]) -> (Vec<Step>, usize) {
        let outer = self.scope.len();
        for id in params {
            let shape = self.b.shape(*id).unwrap();
            self.scope.push((*id, shape));
        }
        self.depth += 1;
        let steps = self.steps();
        self.depth -= 1;
        (steps, outer)
    }

    fn for_loop(&mut self) -> Option<Step> {
        // From eight rounds on, they may be played as tapes.
        let trips = if self.r.one_in(3) { self.r.within(8, 9) } else { self.r.within(1, 4) };
        let carried: Vec<ValueId> = (0..self.r.within(0, 3)).map(|_| self.any().0).collect();
        let (var, params) = self.b.begin_for(trips, &carried).unwrap();
        self.trips.push((var, trips));
        let (steps, outer) = self.block(&params);
        let mut results = Vec::new();
        for id in &params {
            let shape = self.b.shape(*id).unwrap();
            results.push(self.pick_shape(|s| *s == shape).unwrap());
        }
        self.trips.pop();
        self.scope.truncate(outer);
        let ids = self.b.end_for(&results).unwrap();
        let body = Block { steps, results: numbers(&results) };
        Some(self.finish(Op::For { trips, params: numbers(&params), body }, &carried, &ids))
    }

    fn map(&mut self) -> Option<Step> {
        let trips = self.r.within(1, 4);
        let count = self.r.within(0, 2);
        let mapped: Vec<ValueId> =
            (0..count).filter_map(|_| self.pick_shape(|s| s.lanes.is_multiple_of(trips))).collect();
        let params = self.b.begin_map(trips, &mapped).unwrap();
        let outside = std::mem::replace(&mut self.in_map, true);
        let (steps, outer) = self.block(&params);
        self.in_map = outside;
        let results: Vec<ValueId> = (0..self.r.within(1, 2)).map(|_| self.any().0).collect();
        self.scope.truncate(outer);
        let ids = self.b.end_map(&results).unwrap();
        let body = Block { steps, results: numbers(&results) };
        Some(self.finish(Op::Map { trips, params: numbers(&params), body }, &mapped, &ids))
    }

    /// A branch on an opened bit, or on one that is known anyway.
    fn branch(&mut self, steps: &mut Vec<Step>) {
        let bits: Vec<ValueId> = self.scope.iter().map(|(id, _)| *id).collect();
        let known = |id: &ValueId| {
            self.b.is_public(*id).unwrap() && self.b.shape(*id).unwrap() == Shape::word(1)
        };
        let known: Vec<ValueId> = bits.into_iter().filter(known).collect();
        let condition = match self.r.pick(&known) {
            Some(id) => id,
            None => {
                let bit = self.r.one_in(2);
                let id = self.b.constant(Shape::word(1), &[bit]).unwrap();
                steps.push(self.finish(Op::Const(1, vec![u128::from(bit)]), &[], &[id]));
                id
            }
        };
        self.b.begin_if(condition).unwrap();
        let (then, outer) = self.block(&[]);
        let first: Vec<(ValueId, Shape)> = (0..self.r.within(0, 2)).map(|_| self.any()).collect();
        self.scope.truncate(outer);
        let ids: Vec<ValueId> = first.iter().map(|(id, _)| *id).collect();
        self.b.begin_else(&ids).unwrap();
        let then = Block { steps: then, results: numbers(&ids) };
        let (mut otherwise, outer) = self.block(&[]);
        let mut second = Vec::new();
        for (_, shape) in first {
            let id = self.pick_shape(|s| *s == shape);
            second.push(id.unwrap_or_else(|| {
                let id = self.b.constant(shape, &vec![true; shape.bits()]).unwrap();
                let words = vec![u128::MAX >> (128 - shape.width); shape.lanes as usize];
                otherwise.push(self.finish(Op::Const(shape.width, words), &[], &[id]));
                id
            }));
        }
        self.scope.truncate(outer);
        let ids = self.b.end_if(&second).unwrap();
        let otherwise = Block { steps: otherwise, results: numbers(&second) };
        steps.push(self.finish(Op::If(then, otherwise), &[condition], &ids));
    }

    fn call(&mut self) -> Option<Step> {
        let known: Vec<usize> = (0..self.shapes.len()).collect();
        let index = self.r.pick(&known)?;
        let (function, params) = self.shapes[index].clone();
        let args: Option<Vec<ValueId>> =
            params.iter().map(|shape| self.pick_shape(|s| s == shape)).collect();
        let args = args?;
        // What reveals is not called in a map.
        let results = self.b.call(function, &args).ok()?;
        Some(self.finish(Op::Call(index), &args, &results))
    }

    fn word(&mut self) -> Option<Step> {
        let op = self.r.pick(WordOp::ALL).unwrap();
        let (args, shapes) = self.operands(op)?;
        let attrs = self.attributes(op, &shapes);
        let results = self.b.word(op, &attrs, &args).ok()?;
        Some(self.finish(Op::Word(op, attrs), &args, &results))
    }

    fn operands(&mut self, op: WordOp) -> Option<(Vec<ValueId>, Vec<Shape>)> {
        use WordOp::*;
        let (first, shape) = self.any();
        let fits = |s: &Shape, lanes: u32| lanes == 1 || s.lanes == 1 || s.lanes == lanes;
        let mut args = vec![first];
        match op {
            Join | Concat => {
                for _ in 0..self.r.within(0, 2) {
                    args.push(self.pick_shape(|s| match op {
                        Join => s.width == shape.width,
                        _ => s.lanes == 1 || s.lanes == shape.lanes,
                    })?);
                }
            }
            Mux => {
                let select = self.pick_shape(|s| s.width == 1 && fits(s, shape.lanes))?;
                let other = self.pick_shape(|s| s.width == shape.width && fits(s, shape.lanes))?;
                args = vec![select, first, other];
            }
            ShlBy | ShrBy | SarBy | RotlBy => {
                args.push(self.pick_shape(|s| s.width <= 32 && fits(s, shape.lanes))?);
            }
            Lookup => args.push(self.pick_shape(|s| s.width <= 32)?),
            Store => {
                args.push(self.pick_shape(|s| s.width <= 32 && s.lanes == 1)?);
                args.push(self.pick_shape(|s| *s == Shape::word(shape.width))?);
                args.push(self.pick_shape(|s| *s == Shape::word(1))?);
            }
            MatMul => args.push(self.pick_shape(|s| s.width == shape.width)?),
            Xor | And | Or | Add | Sub | Mul | MulFull | MulFullS | DivRem | DivRemS | AddO
            | AddOS | SubO | SubOS | MulO | MulOS | Min | Max | MinS | MaxS | Eq | Lt | Le
            | LtS | LeS => {
                args.push(self.pick_shape(|s| s.width == shape.width && fits(s, shape.lanes))?);
            }
            _ => {}
        }
        let shapes = args.iter().map(|id| self.b.shape(*id).unwrap()).collect();
        Some((args, shapes))
    }

    fn attributes(&mut self, op: WordOp, shapes: &[Shape]) -> Vec<u32> {
        use WordOp::*;
        let shape = shapes[0];
        let Shape { lanes, width } = shape;
        let flag = |r: &mut Random| u32::from(r.one_in(2));
        match op {
            Slice => {
                let lo = self.r.within(0, width - 1);
                vec![lo, self.r.within(1, width - lo)]
            }
            Zext | Sext => vec![width + self.r.within(0, 5)],
            Shl | Shr | Sar | Rotl => vec![self.r.within(0, width + 3)],
            Tile | Repeat => vec![self.r.within(1, 3)],
            Reshape => {
                let bits = shape.bits() as u32;
                let widths: Vec<u32> = (1..=bits).filter(|w| bits.is_multiple_of(*w)).collect();
                let width = self.r.pick(&widths).unwrap();
                vec![bits / width, width]
            }
            Transpose | Rand | Ror | Rxor => vec![self.divisor(lanes)],
            Sum | SumS => vec![self.r.within(1, width + 3), self.divisor(lanes)],
            Sort => self.key(width),
            TopK => {
                let mut attrs = vec![self.r.within(1, lanes)];
                attrs.extend(self.key(width));
                attrs
            }
            MatMul => {
                let inner = self.divisor(lanes);
                vec![lanes / inner, inner, self.r.within(1, 2 * width + 2), flag(&mut self.r)]
            }
            _ => Vec::new(),
        }
    }

    fn divisor(&mut self, lanes: u32) -> u32 {
        let parts: Vec<u32> = (1..=lanes).filter(|part| lanes.is_multiple_of(*part)).collect();
        self.r.pick(&parts).unwrap()
    }

    /// Mostly the whole word, so that no two different words are equal in the order.
    fn key(&mut self, width: u32) -> Vec<u32> {
        let (signed, descending) = (self.r.within(0, 1), self.r.within(0, 1));
        let lo = if self.r.one_in(4) { self.r.within(0, width - 1) } else { 0 };
        let key = if self.r.one_in(4) { self.r.within(1, width - lo) } else { width - lo };
        vec![lo, key, signed, descending]
    }
}

fn numbers(ids: &[ValueId]) -> Vec<usize> {
    ids.iter().map(|id| id.index()).collect()
}

fn number(bits: &[bool]) -> u128 {
    bits.iter().rev().fold(0, |value, bit| value << 1 | u128::from(*bit))
}
