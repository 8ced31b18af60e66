//! The binary form (docs/formats/program.md): what is hashed, stored and agreed on.
//!
//! A module has exactly one binary form, that of its version, and reading goes through [`Builder`], so that what was read
//! is as valid as what was built.

use cenote_circuit::{Circuit, Gate, Receivers, Role};

use crate::builder::Builder;
use crate::error::BuildError;
use crate::limits::{MAX_FILE_BYTES, MAX_NESTING, MAX_STEPS, MAX_WIDTH};
use crate::module::{Code, Input, Module, NamedMemory, Output};
use crate::op::{Affine, Block, Constant, FunctionId, LoopVar, Op, Statement, ValueId, WordOp};
use crate::path::{PathStep, PortPath, Version};
use crate::shape::{Kind, Shape};

/// The first bytes of the binary form; the version follows.
pub const MAGIC: &[u8; 7] = b"\x89cenote";

/// Why bytes are no module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {what}")]
pub struct BinaryError {
    /// Where reading stopped.
    pub offset: usize,
    /// The problem there.
    pub what: String,
}

impl Module {
    /// The binary form.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer(MAGIC.to_vec());
        w.0.push(self.version as u8);
        w.text(&self.name);
        w.text(&self.about);
        w.number(self.functions.len() as u64);
        for function in &self.functions {
            w.text(&function.name);
            w.shapes(&function.params);
            match &function.code {
                Code::Body(body) => {
                    w.0.push(0);
                    w.block(&body.block);
                }
                Code::Gates(circuit) => {
                    w.0.push(1);
                    w.shapes(&function.results);
                    w.circuit(circuit);
                }
            }
        }
        w.number(self.inputs.len() as u64);
        self.inputs.iter().for_each(|port| w.input(self.version, port));
        if self.version.has_memories() {
            w.number(self.memories.len() as u64);
            self.memories.iter().for_each(|memory| w.memory(memory));
        }
        w.statements(&self.main.block.statements);
        self.memories.iter().for_each(|memory| w.left(memory));
        w.number(self.outputs.len() as u64);
        self.outputs.iter().for_each(|port| w.output(self.version, port));
        w.0
    }

    /// Reads the binary form, whoever wrote it.
    ///
    /// # Errors
    /// Anything but the one binary form of a valid module.
    pub fn from_bytes(bytes: &[u8]) -> Result<Module, BinaryError> {
        let mut r = Reader { bytes, at: 0 };
        let module = r.module()?;
        if r.at != bytes.len() {
            return Err(r.error("there are bytes after the end"));
        }
        if module.to_bytes() != bytes {
            return Err(r.error("this is not the one form that the module has"));
        }
        Ok(module)
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// Small numbers of either sign in few bytes.
    fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)) as u64);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn shape(&mut self, shape: Shape) {
        self.number(u64::from(shape.lanes));
        self.number(u64::from(shape.width));
    }

    fn shapes(&mut self, shapes: &[Shape]) {
        self.number(shapes.len() as u64);
        shapes.iter().for_each(|shape| self.shape(*shape));
    }

    fn kind(&mut self, kind: Kind) {
        self.0.push(match kind {
            Kind::Bits => 0,
            Kind::Bool => 1,
            Kind::UInt => 2,
            Kind::Int => 3,
            Kind::Fixed { .. } => 4,
        });
        if let Kind::Fixed { fraction } = kind {
            self.number(u64::from(fraction));
        }
    }

    /// Where a port stands; in version 1 it has a name alone.
    fn path(&mut self, version: Version, path: &PortPath) {
        if version == Version::One {
            return self.text(&path.name());
        }
        self.number(path.steps().len() as u64);
        for step in path.steps() {
            self.text(&step.name);
            self.number(step.sizes.len() as u64);
            step.sizes.iter().for_each(|size| self.number(u64::from(*size)));
        }
    }

    fn input(&mut self, version: Version, port: &Input) {
        self.path(version, &port.path);
        self.0.push(match port.owner {
            Role::Garbler => 0,
            Role::Evaluator => 1,
        });
        self.kind(port.kind);
        match version {
            Version::One => self.shape(port.shape),
            Version::Two | Version::Three | Version::Four => {
                self.number(u64::from(port.shape.width))
            }
        }
    }

    fn memory(&mut self, memory: &NamedMemory) {
        self.path(Version::Three, &memory.path);
        let is_ram = u8::from(memory.ram.is_some());
        self.0.push(u8::from(memory.is_new) | is_ram << 1);
        self.kind(memory.kind);
        self.number(u64::from(memory.shape.width));
        memory.ram.iter().for_each(|ram| self.number(ram.accesses()));
    }

    /// What is left in each memory: 0 for nothing, else one more than the number of the value.
    fn left(&mut self, memory: &NamedMemory) {
        self.number(memory.left.map_or(0, |value| u64::from(value.0) + 1));
    }

    fn output(&mut self, version: Version, port: &Output) {
        self.path(version, &port.path);
        self.0.push(match port.receiver {
            Receivers::Garbler => 0,
            Receivers::Evaluator => 1,
            Receivers::Both => 2,
        });
        self.kind(port.kind);
        self.number(u64::from(port.value.0));
    }

    fn ids(&mut self, ids: &[ValueId]) {
        self.number(ids.len() as u64);
        ids.iter().for_each(|id| self.number(u64::from(id.0)));
    }

    fn affine(&mut self, at: &Affine) {
        self.signed(at.constant);
        self.number(at.terms.len() as u64);
        for (var, factor) in &at.terms {
            self.number(u64::from(var.0));
            self.signed(*factor);
        }
    }

    fn block(&mut self, block: &Block) {
        self.statements(&block.statements);
        self.ids(&block.results);
    }

    fn statements(&mut self, statements: &[Statement]) {
        self.number(statements.len() as u64);
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.op {
            Op::Const(constant) => {
                self.0.push(tag::CONST);
                self.shape(constant.shape);
                self.bytes(&constant.packed);
                return;
            }
            Op::Word(op, attrs) => {
                self.0.push(tag::WORD);
                self.0.push(*op as u8);
                attrs.iter().for_each(|attr| self.number(u64::from(*attr)));
            }
            Op::Lanes { at, count, stride } => {
                self.0.push(tag::LANES);
                self.affine(at);
                self.number(u64::from(*count));
                self.signed(*stride);
            }
            Op::Put(at) => {
                self.0.push(tag::PUT);
                self.affine(at);
            }
            Op::Gather(indices) => {
                self.0.push(tag::GATHER);
                self.number(indices.len() as u64);
                indices.iter().for_each(|index| self.number(u64::from(*index)));
            }
            Op::Reveal => self.0.push(tag::REVEAL),
            Op::For { trips, .. } => {
                self.0.push(tag::FOR);
                self.number(u64::from(*trips));
            }
            Op::Map { trips, .. } => {
                self.0.push(tag::MAP);
                self.number(u64::from(*trips));
            }
            Op::If { .. } => self.0.push(tag::IF),
            Op::Call(function) => {
                self.0.push(tag::CALL);
                self.number(u64::from(function.0));
            }
        }
        self.ids(&statement.args);
        match &statement.op {
            Op::For { body, .. } | Op::Map { body, .. } => self.block(body),
            Op::If { then, otherwise } => {
                self.block(then);
                self.block(otherwise);
            }
            _ => {}
        }
    }

    fn circuit(&mut self, circuit: &Circuit) {
        self.number(circuit.gates().len() as u64);
        for gate in circuit.gates() {
            let (code, operands) = match *gate {
                Gate::Xor(a, b) => (0, [Some(a), Some(b)]),
                Gate::And(a, b) => (1, [Some(a), Some(b)]),
                Gate::Inv(a) => (2, [Some(a), None]),
                Gate::Eq(bit) => (if bit { 4 } else { 3 }, [None, None]),
                Gate::Eqw(a) => (5, [Some(a), None]),
            };
            self.0.push(code);
            operands.into_iter().flatten().for_each(|wire| self.number(u64::from(wire)));
        }
        circuit.output_wires().iter().for_each(|wire| self.number(u64::from(*wire)));
    }
}

/// The gates of a circuit as they stand in a file.
pub(crate) fn circuit_bytes(circuit: &Circuit) -> Vec<u8> {
    let mut writer = Writer(Vec::new());
    writer.circuit(circuit);
    writer.0
}

mod tag {
    pub(super) const CONST: u8 = 0;
    pub(super) const WORD: u8 = 1;
    pub(super) const LANES: u8 = 2;
    pub(super) const PUT: u8 = 3;
    pub(super) const GATHER: u8 = 4;
    pub(super) const REVEAL: u8 = 5;
    pub(super) const FOR: u8 = 6;
    pub(super) const MAP: u8 = 7;
    pub(super) const IF: u8 = 8;
    pub(super) const CALL: u8 = 9;
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

type Read<T> = Result<T, BinaryError>;

impl Reader<'_> {
    fn error(&self, what: impl Into<String>) -> BinaryError {
        BinaryError { offset: self.at, what: what.into() }
    }

    fn built<T>(&self, result: Result<T, BuildError>) -> Read<T> {
        result.map_err(|error| self.error(error.to_string()))
    }

    fn byte(&mut self) -> Read<u8> {
        let byte =
            self.bytes.get(self.at).copied().ok_or_else(|| self.error("the file ends here"))?;
        self.at += 1;
        Ok(byte)
    }

    fn number(&mut self) -> Read<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                break;
            }
            number |= part << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.error("a number that is too large"))
    }

    fn small(&mut self) -> Read<u32> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| self.error(format!("{number} is too large a number")))
    }

    fn signed(&mut self) -> Read<i64> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// A count of things that take at least a byte each.
    fn count(&mut self) -> Read<usize> {
        let count = self.number()?;
        let left = self.bytes.len() - self.at;
        match usize::try_from(count) {
            Ok(count) if count <= left => Ok(count),
            _ => Err(self.error(format!("{count} items are announced, {left} bytes are left"))),
        }
    }

    fn slice(&mut self) -> Read<&[u8]> {
        let count = self.count()?;
        let start = self.at;
        self.at += count;
        Ok(&self.bytes[start..self.at])
    }

    fn text(&mut self) -> Read<String> {
        let bytes = self.slice()?.to_vec();
        String::from_utf8(bytes).map_err(|_| self.error("text that is not UTF-8"))
    }

    fn shape(&mut self) -> Read<Shape> {
        Ok(Shape { lanes: self.small()?, width: self.small()? })
    }

    fn many<T>(&mut self, mut one: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let count = self.count()?;
        (0..count).map(|_| one(self)).collect()
    }

    fn kind(&mut self) -> Read<Kind> {
        Ok(match self.byte()? {
            0 => Kind::Bits,
            1 => Kind::Bool,
            2 => Kind::UInt,
            3 => Kind::Int,
            4 => Kind::Fixed { fraction: self.small()? },
            other => return Err(self.error(format!("{other} is no kind of port"))),
        })
    }

    fn ids(&mut self) -> Read<Vec<ValueId>> {
        self.many(|r| r.small().map(ValueId))
    }

    fn affine(&mut self) -> Read<Affine> {
        let constant = self.signed()?;
        let count = self.count()?;
        if count > MAX_NESTING {
            return Err(self.error(format!("a position has at most {MAX_NESTING} loop counters")));
        }
        let term = |r: &mut Self| Ok((LoopVar(r.small()?), r.signed()?));
        let terms: Vec<_> = (0..count).map(|_| term(self)).collect::<Read<_>>()?;
        Ok(terms.into_iter().fold(Affine::at(constant), |at, (var, factor)| at.plus(var, factor)))
    }

    fn module(&mut self) -> Read<Module> {
        if self.bytes.len() > MAX_FILE_BYTES {
            return Err(self.error(format!("a file has at most {MAX_FILE_BYTES} bytes")));
        }
        if !self.bytes.starts_with(MAGIC) {
            return Err(self.error("this is no program of Cenote"));
        }
        self.at = MAGIC.len();
        let number = u32::from(self.byte()?);
        let version = Version::numbered(number).ok_or_else(|| {
            self.error(format!(
                "this is a program of version {number}; this reader knows version {}",
                Version::known()
            ))
        })?;
        let (name, about) = (self.text()?, self.text()?);
        let mut builder = self.built(Builder::of_version(version, &name, &about))?;
        let b = &mut builder;
        self.many(|r| r.function(b))?;
        self.many(|r| r.input(version, b))?;
        let memories = match version {
            Version::One | Version::Two => Vec::new(),
            Version::Three | Version::Four => self.many(|r| r.memory(version, b))?,
        };
        self.statements(b)?;
        memories.iter().try_for_each(|name| self.left(b, name))?;
        self.many(|r| r.output(version, b))?;
        self.built(builder.finish())
    }

    fn function(&mut self, b: &mut Builder) -> Read<()> {
        let name = self.text()?;
        let params = self.many(Self::shape)?;
        match self.byte()? {
            0 => {
                let begun = b.begin_function(&name, &params);
                self.built(begun)?;
                let results = self.block(b)?;
                let ended = b.end_function(&results);
                self.built(ended).map(drop)
            }
            1 => {
                let results = self.many(Self::shape)?;
                let circuit = self.circuit(&params, &results)?;
                let added = b.circuit(&name, circuit, &params, &results);
                self.built(added).map(drop)
            }
            other => Err(self.error(format!("{other} is no kind of function"))),
        }
    }

    /// Where a port stands; in version 1 a name alone.
    fn path(&mut self, version: Version) -> Read<PortPath> {
        if version == Version::One {
            return Ok(PortPath::plain(&self.text()?, 1));
        }
        let count = self.count()?;
        if count > MAX_STEPS {
            return Err(self.error(format!("a port is named by at most {MAX_STEPS} steps")));
        }
        let step = |r: &mut Self| Ok(PathStep { name: r.text()?, sizes: r.many(Self::small)? });
        Ok(PortPath::new((0..count).map(|_| step(self)).collect::<Read<_>>()?))
    }

    fn input(&mut self, version: Version, b: &mut Builder) -> Read<()> {
        let path = self.path(version)?;
        let owner = match self.byte()? {
            0 => Role::Garbler,
            1 => Role::Evaluator,
            other => return Err(self.error(format!("{other} is no party"))),
        };
        let kind = self.kind()?;
        let added = match version {
            Version::One => b.input(&path.name(), owner, kind, self.shape()?),
            Version::Two | Version::Three | Version::Four => {
                b.input_at(path, owner, kind, self.small()?)
            }
        };
        self.built(added).map(drop)
    }

    /// Gives the name of the memory.
    fn memory(&mut self, version: Version, b: &mut Builder) -> Read<String> {
        let path = self.path(Version::Three)?;
        let most = if version >= Version::Four { 3 } else { 1 };
        let begins = self.byte()?;
        if begins > most {
            return Err(self.error(format!("{begins} is not 0 to {most}")));
        }
        let (is_new, is_ram) = (begins & 1 == 1, begins > 1);
        let (kind, width, name) = (self.kind()?, self.small()?, path.name());
        let added = match is_ram {
            true => b.ram_at(path, is_new, kind, width, self.small()?),
            false => b.memory_at(path, is_new, kind, width),
        };
        self.built(added).map(|_| name)
    }

    fn left(&mut self, b: &mut Builder, name: &str) -> Read<()> {
        match self.small()?.checked_sub(1) {
            None => Ok(()),
            Some(value) => {
                let left = b.leave(name, ValueId(value));
                self.built(left)
            }
        }
    }

    fn output(&mut self, version: Version, b: &mut Builder) -> Read<()> {
        let path = self.path(version)?;
        let receiver = match self.byte()? {
            0 => Receivers::Garbler,
            1 => Receivers::Evaluator,
            2 => Receivers::Both,
            other => return Err(self.error(format!("{other} is no receiver"))),
        };
        let (kind, value) = (self.kind()?, ValueId(self.small()?));
        let added = match version {
            Version::One => b.output(&path.name(), receiver, kind, value),
            Version::Two | Version::Three | Version::Four => {
                b.output_at(path, receiver, kind, value)
            }
        };
        self.built(added)
    }

    /// The statements of a block, and its results.
    fn block(&mut self, b: &mut Builder) -> Read<Vec<ValueId>> {
        self.statements(b)?;
        self.ids()
    }

    fn statements(&mut self, b: &mut Builder) -> Read<()> {
        let count = self.count()?;
        (0..count).try_for_each(|_| self.statement(b))
    }

    fn statement(&mut self, b: &mut Builder) -> Read<()> {
        let tag = self.byte()?;
        match tag {
            tag::CONST => {
                let shape = self.shape()?;
                let packed = self.slice()?.to_vec();
                let added = b.packed_constant(Constant { shape, packed });
                self.built(added).map(drop)
            }
            tag::WORD => {
                let code = usize::from(self.byte()?);
                let op = WordOp::ALL.get(code).copied();
                let op = op.ok_or_else(|| self.error(format!("{code} is no word operation")))?;
                let attrs: Read<Vec<u32>> = op.attributes().iter().map(|_| self.small()).collect();
                let (attrs, args) = (attrs?, self.ids()?);
                let added = b.word(op, &attrs, &args);
                self.built(added).map(drop)
            }
            tag::LANES => {
                let (at, count, stride) = (self.affine()?, self.small()?, self.signed()?);
                let [value] = self.operands()?;
                let added = b.lanes(value, at, count, stride);
                self.built(added).map(drop)
            }
            tag::PUT => {
                let at = self.affine()?;
                let [value, part] = self.operands()?;
                let added = b.put(value, at, part);
                self.built(added).map(drop)
            }
            tag::GATHER => {
                let indices = self.many(Self::small)?;
                let [value] = self.operands()?;
                let added = b.gather(value, &indices);
                self.built(added).map(drop)
            }
            tag::REVEAL => {
                let [value] = self.operands()?;
                let added = b.reveal(value);
                self.built(added).map(drop)
            }
            _ => self.control(tag, b),
        }
    }

    fn operands<const N: usize>(&mut self) -> Read<[ValueId; N]> {
        let ids = self.ids()?;
        let given = ids.len();
        ids.try_into()
            .map_err(|_| self.error(format!("{N} operands are needed, {given} are given")))
    }

    fn control(&mut self, tag: u8, b: &mut Builder) -> Read<()> {
        let ended = match tag {
            tag::FOR => {
                let (trips, carried) = (self.small()?, self.ids()?);
                let begun = b.begin_for(trips, &carried);
                self.built(begun)?;
                let results = self.block(b)?;
                b.end_for(&results)
            }
            tag::MAP => {
                let (trips, mapped) = (self.small()?, self.ids()?);
                let begun = b.begin_map(trips, &mapped);
                self.built(begun)?;
                let results = self.block(b)?;
                b.end_map(&results)
            }
            tag::IF => {
                let [condition] = self.operands()?;
                let begun = b.begin_if(condition);
                self.built(begun)?;
                let results = self.block(b)?;
                let turned = b.begin_else(&results);
                self.built(turned)?;
                let results = self.block(b)?;
                b.end_if(&results)
            }
            tag::CALL => {
                let (function, args) = (FunctionId(self.small()?), self.ids()?);
                b.call(function, &args)
            }
            other => return Err(self.error(format!("{other} is no operation"))),
        };
        self.built(ended).map(drop)
    }

    fn circuit(&mut self, params: &[Shape], results: &[Shape]) -> Read<Circuit> {
        let bits = |shapes: &[Shape]| -> u64 {
            let bits = shapes.iter().map(|shape| u64::from(shape.lanes) * u64::from(shape.width));
            bits.fold(0, u64::saturating_add)
        };
        if bits(params).max(bits(results)) > u64::from(MAX_WIDTH) {
            return Err(self.error(format!("a circuit has at most {MAX_WIDTH} bits of ports")));
        }
        let gates = self.many(Self::gate)?;
        let outputs: Read<Vec<u32>> = (0..bits(results)).map(|_| self.small()).collect();
        let circuit = crate::builder::plain_circuit(params, results, gates, outputs?);
        circuit.map_err(|error| self.error(error.to_string()))
    }

    fn gate(&mut self) -> Read<Gate> {
        Ok(match self.byte()? {
            0 => Gate::Xor(self.small()?, self.small()?),
            1 => Gate::And(self.small()?, self.small()?),
            2 => Gate::Inv(self.small()?),
            3 => Gate::Eq(false),
            4 => Gate::Eq(true),
            5 => Gate::Eqw(self.small()?),
            other => return Err(self.error(format!("{other} is no gate"))),
        })
    }
}
