//! The only way to make a module: every call is checked where it is made.

mod places;
mod ports;

use std::collections::{HashMap, HashSet};

use cenote_circuit::{Circuit, CircuitError, Gate, Program as _, Signature};

use crate::error::{BuildError, check_name, ensure};
use crate::infer::infer;
use crate::limits::{
    MAX_ABOUT, MAX_CONSTANT_BITS, MAX_DEPTH, MAX_FUNCTIONS, MAX_NESTING, MAX_STATEMENTS, MAX_TRIPS,
};
use crate::liveness;
use crate::module::{Body, Code, Function, Input, Module, NamedMemory, Output};
use crate::op::{Affine, Block, Constant, FunctionId, LoopVar, Op, Statement, ValueId, WordOp};
use crate::path::{Names, Version};
use crate::shape::Shape;
use crate::tables::EPSILON;

/// Builds a module statement by statement.
pub struct Builder {
    version: Version,
    name: String,
    about: String,
    functions: Vec<Function>,
    /// Whether each function opens values.
    reveals: Vec<bool>,
    inputs: Vec<Input>,
    input_names: Names,
    memories: Vec<NamedMemory>,
    memory_names: Names,
    outputs: Vec<Output>,
    output_names: Names,
    /// Blocks within blocks of each function, those of what it calls included.
    depths: Vec<usize>,
    frames: Vec<Frame>,
    statements: usize,
    constant_bits: u64,
    values: usize,
    names: HashSet<String>,
}

/// A body under construction.
struct Frame {
    /// The function's name and parameters; the main body has none.
    head: Option<(String, Vec<Shape>)>,
    shapes: Vec<Shape>,
    public: Vec<bool>,
    visible: Vec<bool>,
    /// The largest number in each constant that is a place, found once: many accesses may name it.
    largest: HashMap<ValueId, u64>,
    open: Vec<Open>,
    /// Blocks within blocks, those of called functions included.
    depth: usize,
    reveals: bool,
}

/// A block under construction.
struct Open {
    kind: OpenKind,
    block: Block,
    /// Values that go out of sight with the block.
    defined: Vec<ValueId>,
}

enum OpenKind {
    Body,
    For { trips: u32, carried: Vec<ValueId> },
    Map { trips: u32, mapped: Vec<ValueId> },
    Then { condition: ValueId },
    Otherwise { condition: ValueId, then: Block },
}

impl Frame {
    fn new(head: Option<(String, Vec<Shape>)>) -> Frame {
        let body = Open { kind: OpenKind::Body, block: Block::default(), defined: Vec::new() };
        Frame {
            head,
            shapes: Vec::new(),
            public: Vec::new(),
            visible: Vec::new(),
            largest: HashMap::new(),
            open: vec![body],
            depth: 1,
            reveals: false,
        }
    }

    fn top(&mut self) -> &mut Open {
        // A frame keeps its body open until it is taken apart.
        self.open.last_mut().unwrap_or_else(|| unreachable!("a frame has an open block"))
    }

    fn define(&mut self, shape: Shape, public: bool) -> ValueId {
        let id = ValueId(self.shapes.len() as u32);
        self.shapes.push(shape);
        self.public.push(public);
        self.visible.push(true);
        self.top().defined.push(id);
        id
    }

    fn begin(&mut self, kind: OpenKind, params: &[Shape]) -> Vec<ValueId> {
        let first_param = self.shapes.len() as u32;
        let block = Block { first_param, params: params.len() as u32, ..Block::default() };
        self.open.push(Open { kind, block, defined: Vec::new() });
        params.iter().map(|shape| self.define(*shape, false)).collect()
    }

    fn end(&mut self, results: &[ValueId]) -> Option<(OpenKind, Block)> {
        let mut open = self.open.pop()?;
        for id in open.defined {
            self.visible[id.index()] = false;
        }
        open.block.results = results.to_vec();
        Some((open.kind, open.block))
    }

    fn trips(&self) -> Vec<u32> {
        let trips = self.open.iter().filter_map(|open| match open.kind {
            OpenKind::For { trips, .. } => Some(trips),
            _ => None,
        });
        trips.collect()
    }

    fn in_map(&self) -> bool {
        self.open.iter().any(|open| matches!(open.kind, OpenKind::Map { .. }))
    }
}

impl Builder {
    /// A module without ports and statements.
    ///
    /// # Errors
    /// A name that is empty, too long or has other characters than letters, digits and `_ - .`; an `about`
    /// that is too long or has line breaks.
    pub fn new(name: &str, about: &str) -> Result<Builder, BuildError> {
        Builder::of_version(Version::NEW, name, about)
    }

    /// A module of a version that is read from a file.
    pub(crate) fn of_version(
        version: Version,
        name: &str,
        about: &str,
    ) -> Result<Builder, BuildError> {
        check_name(name)?;
        ensure(about.len() <= MAX_ABOUT && !about.chars().any(misleads), || {
            format!("the text about a module is one line of at most {MAX_ABOUT} bytes, all visible")
        })?;
        Ok(Builder {
            version,
            name: name.to_owned(),
            about: about.to_owned(),
            functions: Vec::new(),
            reveals: Vec::new(),
            inputs: Vec::new(),
            input_names: Names::default(),
            memories: Vec::new(),
            memory_names: Names::default(),
            outputs: Vec::new(),
            output_names: Names::default(),
            depths: Vec::new(),
            frames: vec![Frame::new(None)],
            statements: 0,
            constant_bits: 0,
            values: 0,
            names: HashSet::new(),
        })
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().unwrap_or_else(|| unreachable!("the main body stays open"))
    }

    fn shape_of(&mut self, id: ValueId) -> Result<Shape, BuildError> {
        let frame = self.frame();
        let seen = frame.visible.get(id.index()).copied().unwrap_or(false);
        ensure(seen, || {
            format!("value {} is not defined here; blocks see what encloses them", id.0)
        })?;
        Ok(frame.shapes[id.index()])
    }

    fn shapes_of(&mut self, ids: &[ValueId]) -> Result<Vec<Shape>, BuildError> {
        ids.iter().map(|id| self.shape_of(*id)).collect()
    }

    /// The shape of a value that is in sight.
    ///
    /// # Errors
    /// A value that is not.
    pub fn shape(&mut self, id: ValueId) -> Result<Shape, BuildError> {
        self.shape_of(id)
    }

    /// Whether the value is known to both parties while the program runs.
    ///
    /// # Errors
    /// A value that is not in sight.
    pub fn is_public(&mut self, id: ValueId) -> Result<bool, BuildError> {
        self.shape_of(id)?;
        Ok(self.frame().public[id.index()])
    }

    fn push(
        &mut self,
        op: Op,
        args: &[ValueId],
        results: &[Shape],
        public: bool,
    ) -> Result<Vec<ValueId>, BuildError> {
        self.room(results.len())?;
        ensure(self.statements < MAX_STATEMENTS, too_many)?;
        self.statements += 1;
        let frame = self.frame();
        let first_result = frame.shapes.len() as u32;
        let statement = Statement {
            op,
            args: args.to_vec(),
            first_result,
            results: results.len() as u32,
            dead: Vec::new(),
        };
        frame.top().block.statements.push(statement);
        Ok(results.iter().map(|shape| frame.define(*shape, public)).collect())
    }

    /// Whether the function may have this many more values.
    fn room(&mut self, values: usize) -> Result<(), BuildError> {
        self.values = self.values.saturating_add(values);
        ensure(self.values <= MAX_STATEMENTS, too_many)
    }

    fn push_one(
        &mut self,
        op: Op,
        args: &[ValueId],
        shape: Shape,
        public: bool,
    ) -> Result<ValueId, BuildError> {
        let ids = self.push(op, args, &[shape], public)?;
        ids.first().copied().ok_or_else(|| BuildError::new("a statement without a result"))
    }

    fn all_public(&mut self, args: &[ValueId]) -> bool {
        let frame = self.frame();
        args.iter().all(|id| frame.public[id.index()])
    }

    /// A public value; `bits` lane by lane, least significant bit of each word first.
    ///
    /// # Errors
    /// A bad shape, or another number of bits.
    pub fn constant(&mut self, shape: Shape, bits: &[bool]) -> Result<ValueId, BuildError> {
        ensure(shape.bits() == bits.len(), || {
            format!("a constant of {shape} has {} bits, {} were given", shape.bits(), bits.len())
        })?;
        self.packed_constant(Constant::new(shape, bits))
    }

    /// Whether the module may have one more constant, of this shape.
    pub(crate) fn room_for_constant(&self, shape: Shape) -> Result<(), BuildError> {
        check_shape(shape)?;
        ensure(self.constant_bits + shape.bits() as u64 <= MAX_CONSTANT_BITS, || {
            format!("the constants have more than {MAX_CONSTANT_BITS} bits; make them inputs")
        })
    }

    pub(crate) fn packed_constant(&mut self, constant: Constant) -> Result<ValueId, BuildError> {
        let shape = constant.shape;
        self.room_for_constant(shape)?;
        self.constant_bits += shape.bits() as u64;
        let bytes = shape.bits().div_ceil(8);
        let spare = bytes * 8 - shape.bits();
        let tail = constant.packed.last().copied().unwrap_or(0);
        ensure(constant.packed.len() == bytes && u32::from(tail) >> (8 - spare) == 0, || {
            format!("a constant of {shape} takes {bytes} bytes, with zeros after its last bit")
        })?;
        self.push_one(Op::Const(constant), &[], shape, true)
    }

    /// An operation on words, with its attributes in the order of [`WordOp::attributes`].
    ///
    /// # Errors
    /// Operands or attributes that do not fit; a constant place beyond the end of a table.
    pub fn word(
        &mut self,
        op: WordOp,
        attrs: &[u32],
        args: &[ValueId],
    ) -> Result<Vec<ValueId>, BuildError> {
        if let (WordOp::Lookup | WordOp::Store, [table, place, ..]) = (op, args) {
            self.check_place(op, *table, *place)?;
        }
        self.pure_word(op, attrs, args)
    }

    fn pure_word(
        &mut self,
        op: WordOp,
        attrs: &[u32],
        args: &[ValueId],
    ) -> Result<Vec<ValueId>, BuildError> {
        let shapes = self.shapes_of(args)?;
        let results = infer(op, attrs, &shapes).map_err(BuildError::new)?;
        let public = self.all_public(args);
        self.push(Op::Word(op, attrs.to_vec()), args, &results, public)
    }

    fn position(
        &mut self,
        at: &Affine,
        reach: i64,
        lanes: u32,
        what: &str,
    ) -> Result<(), BuildError> {
        let trips = self.frame().trips();
        let range = at.range(&trips).and_then(|(low, high)| {
            let (low, high) = (low.checked_add(reach.min(0))?, high.checked_add(reach.max(0))?);
            Some((low, high))
        });
        let (low, high) = range.ok_or_else(|| {
            BuildError::new(format!(
                "`{what}`: a loop counter that is not in scope, or a position too far out"
            ))
        })?;
        ensure(low >= 0 && high < i64::from(lanes), || {
            format!("`{what}` reaches lanes {low} to {high} of {lanes}")
        })
    }

    /// `count` lanes of a value from `at` on, `stride` apart.
    ///
    /// # Errors
    /// Lanes that some iteration of the loops around does not find.
    pub fn lanes(
        &mut self,
        value: ValueId,
        at: Affine,
        count: u32,
        stride: i64,
    ) -> Result<ValueId, BuildError> {
        let at = at.in_order();
        let shape = self.shape_of(value)?;
        let reach = stride.checked_mul(i64::from(count) - 1);
        let reach = reach.ok_or_else(|| BuildError::new("`lanes`: a stride too large"))?;
        self.position(&at, reach, shape.lanes, "lanes")?;
        let result = Shape { lanes: count, ..shape };
        check_shape(result)?;
        let public = at.terms.is_empty() && self.all_public(&[value]);
        self.push_one(Op::Lanes { at, count, stride }, &[value], result, public)
    }

    /// `value` with its lanes from `at` on replaced by those of `part`.
    ///
    /// # Errors
    /// As [`Self::lanes`]; words of another width.
    pub fn put(
        &mut self,
        value: ValueId,
        at: Affine,
        part: ValueId,
    ) -> Result<ValueId, BuildError> {
        let at = at.in_order();
        let (shape, piece) = (self.shape_of(value)?, self.shape_of(part)?);
        ensure(shape.width == piece.width, || {
            format!("`put`: {piece} into {shape}, of another width")
        })?;
        self.position(&at, i64::from(piece.lanes) - 1, shape.lanes, "put")?;
        let public = at.terms.is_empty() && self.all_public(&[value, part]);
        self.push_one(Op::Put(at), &[value, part], shape, public)
    }

    /// The lanes of a value that `indices` name, in that order.
    ///
    /// # Errors
    /// An index beyond the lanes; no index at all.
    pub fn gather(&mut self, value: ValueId, indices: &[u32]) -> Result<ValueId, BuildError> {
        let shape = self.shape_of(value)?;
        if let Some(index) = indices.iter().find(|index| **index >= shape.lanes) {
            return Err(BuildError::new(format!("`gather`: lane {index} of {shape}")));
        }
        let lanes = u32::try_from(indices.len()).unwrap_or(u32::MAX);
        let result = Shape { lanes, ..shape };
        check_shape(result)?;
        let public = self.all_public(&[value]);
        self.push_one(Op::Gather(indices.to_vec()), &[value], result, public)
    }

    /// A statement that depends on its operands alone, but for calls; of one that was built before, with what is known of its places since.
    pub(crate) fn pure(&mut self, op: &Op, args: &[ValueId]) -> Result<Vec<ValueId>, BuildError> {
        match op {
            Op::Const(constant) => self.packed_constant(constant.clone()).map(|id| vec![id]),
            Op::Word(op, attrs) => self.pure_word(*op, attrs, args),
            Op::Lanes { at, count, stride } => {
                self.lanes(args[0], at.clone(), *count, *stride).map(|id| vec![id])
            }
            Op::Put(at) => self.put(args[0], at.clone(), args[1]).map(|id| vec![id]),
            Op::Gather(indices) => self.gather(args[0], indices).map(|id| vec![id]),
            _ => unreachable!("only operations without blocks and effects come here"),
        }
    }

    /// Opens a value to both parties; the result may steer [`Self::begin_if`].
    ///
    /// # Errors
    /// Inside a map, whose lanes run side by side.
    pub fn reveal(&mut self, value: ValueId) -> Result<ValueId, BuildError> {
        let shape = self.shape_of(value)?;
        ensure(!self.frame().in_map(), || {
            "nothing is revealed inside a map; reveal its results".to_owned()
        })?;
        self.frame().reveals = true;
        self.push_one(Op::Reveal, &[value], shape, true)
    }

    fn nest(&mut self) -> Result<(), BuildError> {
        ensure(self.frame().open.len() < MAX_NESTING, || {
            format!("blocks are nested more than {MAX_NESTING} deep")
        })?;
        self.deepen(1)
    }

    /// Notes that so many blocks stand within the open one, in it or in what it calls: whoever walks the
    /// module recurses so deep.
    fn deepen(&mut self, blocks: usize) -> Result<(), BuildError> {
        let frame = self.frame();
        frame.depth = frame.depth.max(frame.open.len() + blocks);
        ensure(frame.depth <= MAX_DEPTH, || {
            format!("blocks and calls are nested more than {MAX_DEPTH} deep in all")
        })
    }

    /// Begins a loop that carries values; gives its counter and the carried values inside.
    ///
    /// # Errors
    /// No iteration or too many, too deep nesting.
    pub fn begin_for(
        &mut self,
        trips: u32,
        carried: &[ValueId],
    ) -> Result<(LoopVar, Vec<ValueId>), BuildError> {
        check_trips(trips)?;
        self.nest()?;
        self.room(carried.len())?;
        let shapes = self.shapes_of(carried)?;
        let var = LoopVar(self.frame().trips().len() as u32);
        let kind = OpenKind::For { trips, carried: carried.to_vec() };
        Ok((var, self.frame().begin(kind, &shapes)))
    }

    /// Ends a loop; `results` are what the next iteration carries.
    ///
    /// # Errors
    /// Results whose shapes differ from what is carried; another block is open.
    pub fn end_for(&mut self, results: &[ValueId]) -> Result<Vec<ValueId>, BuildError> {
        let given = self.shapes_of(results)?;
        let OpenKind::For { trips, carried } = &self.frame().top().kind else {
            return Err(BuildError::new("there is no open loop"));
        };
        let (trips, carried) = (*trips, carried.clone());
        // What is carried was in sight when the loop began, and still is.
        let frame = self.frame();
        let expected: Vec<Shape> = carried.iter().map(|id| frame.shapes[id.index()]).collect();
        ensure(given == expected, || {
            format!("the loop carries {}, its body gives {}", list(&expected), list(&given))
        })?;
        let Some((_, body)) = frame.end(results) else {
            return Err(BuildError::new("there is no open loop"));
        };
        self.push(Op::For { trips, body }, &carried, &expected, false)
    }

    /// Begins a map; gives the part of each operand that one iteration takes.
    ///
    /// # Errors
    /// Lanes that do not split into `trips` parts; as [`Self::begin_for`].
    pub fn begin_map(
        &mut self,
        trips: u32,
        mapped: &[ValueId],
    ) -> Result<Vec<ValueId>, BuildError> {
        check_trips(trips)?;
        self.nest()?;
        self.room(mapped.len())?;
        let mut parts = Vec::with_capacity(mapped.len());
        for shape in self.shapes_of(mapped)? {
            ensure(shape.lanes.is_multiple_of(trips), || {
                format!("`map`: the lanes of {shape} do not split into {trips} parts")
            })?;
            parts.push(Shape { lanes: shape.lanes / trips, ..shape });
        }
        let kind = OpenKind::Map { trips, mapped: mapped.to_vec() };
        Ok(self.frame().begin(kind, &parts))
    }

    /// Ends a map; gives the results of all iterations, one after the other in lanes.
    ///
    /// # Errors
    /// Results that become too large; another block is open.
    pub fn end_map(&mut self, results: &[ValueId]) -> Result<Vec<ValueId>, BuildError> {
        let given = self.shapes_of(results)?;
        let OpenKind::Map { trips, mapped } = &self.frame().top().kind else {
            return Err(BuildError::new("there is no open map"));
        };
        let (trips, mapped) = (*trips, mapped.clone());
        let mut shapes = Vec::with_capacity(given.len());
        for shape in given {
            let lanes = shape.lanes.saturating_mul(trips);
            let all = Shape { lanes, ..shape };
            check_shape(all)?;
            shapes.push(all);
        }
        let Some((_, body)) = self.frame().end(results) else {
            return Err(BuildError::new("there is no open map"));
        };
        self.push(Op::Map { trips, body }, &mapped, &shapes, false)
    }

    /// Begins what runs where a public bit is set.
    ///
    /// # Errors
    /// A condition that is secret or not one bit.
    pub fn begin_if(&mut self, condition: ValueId) -> Result<(), BuildError> {
        self.nest()?;
        let bit = self.shape_of(condition)? == Shape::word(1) && self.is_public(condition)?;
        ensure(bit, || {
            "`if` takes one public bit; choose between secrets with mux, or reveal the bit"
                .to_owned()
        })?;
        self.frame().begin(OpenKind::Then { condition }, &[]);
        Ok(())
    }

    /// Ends that with its results and begins what runs where the bit is not set.
    ///
    /// # Errors
    /// No block of [`Self::begin_if`] is open.
    pub fn begin_else(&mut self, results: &[ValueId]) -> Result<(), BuildError> {
        self.shapes_of(results)?;
        let OpenKind::Then { condition } = self.frame().top().kind else {
            return Err(BuildError::new("there is no open `if`"));
        };
        if let Some((_, then)) = self.frame().end(results) {
            self.frame().begin(OpenKind::Otherwise { condition, then }, &[]);
        }
        Ok(())
    }

    /// Ends the second block; both give results of the same shapes.
    ///
    /// # Errors
    /// Results of other shapes than those of the first block; no such block is open.
    pub fn end_if(&mut self, results: &[ValueId]) -> Result<Vec<ValueId>, BuildError> {
        let given = self.shapes_of(results)?;
        let OpenKind::Otherwise { then, .. } = &self.frame().top().kind else {
            return Err(BuildError::new("there is no open `else`"));
        };
        let first = then.results.clone();
        let frame = self.frame();
        let expected: Vec<Shape> = first.iter().map(|id| frame.shapes[id.index()]).collect();
        ensure(given == expected, || {
            format!("one branch gives {}, the other {}", list(&expected), list(&given))
        })?;
        match frame.end(results) {
            Some((OpenKind::Otherwise { condition, then }, otherwise)) => {
                self.push(Op::If { then, otherwise }, &[condition], &expected, false)
            }
            _ => Err(BuildError::new("there is no open `else`")),
        }
    }

    /// Begins a function; gives its parameters. It sees nothing of what is around it.
    ///
    /// # Errors
    /// A bad or repeated name, bad shapes.
    pub fn begin_function(
        &mut self,
        name: &str,
        params: &[Shape],
    ) -> Result<Vec<ValueId>, BuildError> {
        self.function_name(name)?;
        ensure(self.frames.len() <= MAX_NESTING, || {
            format!("functions are nested more than {MAX_NESTING} deep: does one use itself?")
        })?;
        self.room(params.len())?;
        params.iter().try_for_each(|shape| check_shape(*shape))?;
        let mut frame = Frame::new(Some((name.to_owned(), params.to_vec())));
        frame.top().block.params = params.len() as u32;
        let ids = params.iter().map(|shape| frame.define(*shape, false)).collect();
        self.frames.push(frame);
        Ok(ids)
    }

    /// Ends a function with its results.
    ///
    /// # Errors
    /// Open blocks; a value that is not in sight.
    pub fn end_function(&mut self, results: &[ValueId]) -> Result<FunctionId, BuildError> {
        let shapes = self.shapes_of(results)?;
        ensure(self.frames.len() > 1, || "there is no open function".to_owned())?;
        ensure(self.frame().open.len() == 1, || {
            "blocks of the function are still open".to_owned()
        })?;
        let Some(mut frame) = self.frames.pop() else {
            return Err(BuildError::new("there is no open function"));
        };
        let (name, params) = frame.head.take().unwrap_or_default();
        let reveals = frame.reveals;
        let Some((_, block)) = frame.end(results) else {
            return Err(BuildError::new("there is no open function"));
        };
        let body = liveness::finish(frame.shapes, block, &self.functions)?;
        self.reveals.push(reveals);
        self.depths.push(frame.depth);
        self.functions.push(Function { name, params, results: shapes, code: Code::Body(body) });
        Ok(FunctionId(self.functions.len() as u32 - 1))
    }

    /// Adds a circuit as a function: one parameter for each input port, one result for each output
    /// port, as words of the given shapes.
    ///
    /// # Errors
    /// Shapes that do not have the bits of the ports; a bad name; ports without bits.
    pub fn circuit(
        &mut self,
        name: &str,
        circuit: Circuit,
        params: &[Shape],
        results: &[Shape],
    ) -> Result<FunctionId, BuildError> {
        self.function_name(name)?;
        let signature = circuit.signature();
        let inputs: Vec<usize> = signature.inputs.iter().map(|port| port.bits).collect();
        let outputs: Vec<usize> = signature.outputs.iter().map(|port| port.bits).collect();
        for (shapes, bits, what) in [(params, inputs, "input"), (results, outputs, "output")] {
            shapes.iter().try_for_each(|shape| check_shape(*shape))?;
            let given: Vec<usize> = shapes.iter().map(|shape| shape.bits()).collect();
            ensure(given == bits, || {
                format!("circuit `{name}` has {what} ports of {bits:?} bits, not {given:?}")
            })?;
        }
        let (gates, wires) = (circuit.gates().to_vec(), circuit.output_wires().to_vec());
        let plain = plain_circuit(params, results, gates, wires);
        let circuit =
            plain.map_err(|error| BuildError::new(format!("circuit `{name}`: {error}")))?;
        self.reveals.push(false);
        self.depths.push(1);
        self.functions.push(Function {
            name: name.to_owned(),
            params: params.to_vec(),
            results: results.to_vec(),
            code: Code::Gates(Box::new(circuit)),
        });
        Ok(FunctionId(self.functions.len() as u32 - 1))
    }

    fn function_name(&mut self, name: &str) -> Result<(), BuildError> {
        check_name(name)?;
        ensure(self.functions.len() < MAX_FUNCTIONS, || {
            format!("more than {MAX_FUNCTIONS} functions")
        })?;
        ensure(self.names.insert(name.to_owned()), || format!("there are two functions `{name}`"))
    }

    /// Calls a function.
    ///
    /// # Errors
    /// Operands of other shapes than its parameters; one that reveals, inside a map.
    pub fn call(
        &mut self,
        function: FunctionId,
        args: &[ValueId],
    ) -> Result<Vec<ValueId>, BuildError> {
        let given = self.shapes_of(args)?;
        let index = function.0 as usize;
        let Some(callee) = self.functions.get(index) else {
            return Err(BuildError::new("there is no such function"));
        };
        let (expected, results) = (callee.params.clone(), callee.results.clone());
        ensure(given == expected, || {
            format!(
                "`{}` takes {}, not {}",
                self.functions[index].name,
                list(&expected),
                list(&given)
            )
        })?;
        let reveals = self.reveals[index];
        ensure(!reveals || !self.frame().in_map(), || {
            format!("`{}` reveals something, which no map may do", self.functions[index].name)
        })?;
        self.deepen(self.depths[index])?;
        self.frame().reveals |= reveals;
        self.push(Op::Call(function), args, &results, false)
    }

    /// The finished module.
    ///
    /// # Errors
    /// Open blocks or functions; more memory than any program may take.
    pub fn finish(mut self) -> Result<Module, BuildError> {
        let closed = self.frames.len() == 1 && self.frame().open.len() == 1;
        ensure(closed, || "blocks or functions are still open".to_owned())?;
        let Some(mut frame) = self.frames.pop() else {
            return Err(BuildError::new("there is no main block"));
        };
        self.check_left()?;
        let left = self.memories.iter().filter_map(|memory| memory.left);
        let results: Vec<ValueId> =
            self.outputs.iter().map(|port| port.value).chain(left).collect();
        let Some((_, block)) = frame.end(&results) else {
            return Err(BuildError::new("there is no main block"));
        };
        let mut main: Body = liveness::finish(frame.shapes, block, &self.functions)?;
        self.follow_rams(&mut main)?;
        let Builder { version, name, about, functions, inputs, memories, outputs, .. } = self;
        let mut module =
            Module { version, name, about, functions, inputs, memories, outputs, main };
        module.share_bound(EPSILON);
        Ok(module)
    }
}

/// A circuit whose ports have no names of their own: what a function needs to know of it.
pub(crate) fn plain_circuit(
    params: &[Shape],
    results: &[Shape],
    gates: Vec<Gate>,
    outputs: Vec<u32>,
) -> Result<Circuit, CircuitError> {
    let mut signature = Signature::new();
    for (i, shape) in params.iter().enumerate() {
        signature = signature.input(&format!("in{i}"), shape.bits(), None);
    }
    for (i, shape) in results.iter().enumerate() {
        signature = signature.output(&format!("out{i}"), shape.bits(), None);
    }
    Circuit::new("function", signature, gates, outputs)
}

/// Characters that break a line, or that change how the text around them looks: an owner approves what it
/// reads.
fn misleads(sign: char) -> bool {
    sign.is_control()
        || matches!(sign, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}')
        || ('\u{200b}'..='\u{200f}').contains(&sign)
        || ('\u{2028}'..='\u{202e}').contains(&sign)
        || ('\u{2060}'..='\u{206f}').contains(&sign)
}

fn check_shape(shape: Shape) -> Result<(), BuildError> {
    match shape.flaw() {
        Some(flaw) => Err(BuildError::new(format!("{shape} is {flaw}"))),
        None => Ok(()),
    }
}

fn too_many() -> String {
    format!("more than {MAX_STATEMENTS} statements or values; use loops and functions")
}

fn check_trips(trips: u32) -> Result<(), BuildError> {
    ensure((1..=MAX_TRIPS).contains(&trips), || {
        format!("a loop runs 1 to {MAX_TRIPS} times, not {trips}")
    })
}

fn list(shapes: &[Shape]) -> String {
    let shapes: Vec<String> = shapes.iter().map(Shape::to_string).collect();
    format!("({})", shapes.join(", "))
}
