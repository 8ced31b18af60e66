//! Writing the text form.

use std::fmt::{self, Write as _};

use cenote_circuit::{Circuit, Gate};

use crate::module::{Code, Input, Module, NamedMemory, Output};
use crate::op::{Affine, Block, Constant, Op, Statement, ValueId};
use crate::path::Version;
use crate::shape::Shape;

impl Module {
    /// The text form.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        // Writing into a string does not fail.
        let _ = Printer { out: &mut out, module: self, indent: 0 }.module();
        out
    }
}

/// Whether a run begins a memory or finds it.
pub(super) const fn memory_word(is_new: bool) -> &'static str {
    if is_new { "new" } else { "found" }
}

struct Printer<'p> {
    out: &'p mut String,
    module: &'p Module,
    indent: usize,
}

impl Printer<'_> {
    fn module(&mut self) -> fmt::Result {
        let module = self.module;
        writeln!(self.out, "cenote {}", module.version.number())?;
        writeln!(self.out, "program {} {}", module.name, quoted(&module.about))?;
        self.functions()?;
        for Input { name, path, owner, kind, shape } in &module.inputs {
            let owner = module.version.owner(*owner);
            match module.version {
                Version::One => writeln!(self.out, "input {name}: {owner} {kind} {shape}")?,
                Version::Two | Version::Three | Version::Four => {
                    writeln!(
                        self.out,
                        "input {path}: {owner} {kind} {}",
                        Shape::word(shape.width)
                    )?;
                }
            }
        }
        for NamedMemory { path, is_new, kind, shape, ram, .. } in &module.memories {
            let (begins, word) = (memory_word(*is_new), Shape::word(shape.width));
            let ram = ram.as_ref().map(|ram| format!("ram {} ", ram.accesses()));
            let ram = ram.unwrap_or_default();
            writeln!(self.out, "memory {path}: {begins} {ram}{kind} {word}")?;
        }
        writeln!(self.out, "{{")?;
        self.indent = 1;
        self.statements(&module.main.block.statements)?;
        self.indent = 0;
        writeln!(self.out, "}}")?;
        for NamedMemory { name: memory, left, .. } in &module.memories {
            if let Some(left) = left {
                writeln!(self.out, "keep {memory}: {}", name(*left))?;
            }
        }
        for Output { name: plain, path, receiver, kind, value, .. } in &module.outputs {
            let (to, value) = (module.version.receiver(*receiver), name(*value));
            match module.version {
                Version::One => writeln!(self.out, "output {plain}: {to} {kind} {value}")?,
                Version::Two | Version::Three | Version::Four => {
                    writeln!(self.out, "output {path}: {to} {kind} {value}")?;
                }
            }
        }
        Ok(())
    }

    fn functions(&mut self) -> fmt::Result {
        for function in &self.module.functions {
            match &function.code {
                Code::Body(body) => {
                    let params = body.block.params().zip(&function.params);
                    let params: Vec<String> =
                        params.map(|(id, shape)| format!("{}: {shape}", name(id))).collect();
                    writeln!(self.out, "function {} ({}) {{", function.name, params.join(", "))?;
                    self.body(&body.block)?;
                    writeln!(self.out, "}}")?;
                }
                Code::Gates(circuit) => {
                    let (params, results) = (shapes(&function.params), shapes(&function.results));
                    writeln!(self.out, "circuit {} ({params}) -> ({results}) {{", function.name)?;
                    self.gates(circuit)?;
                    writeln!(self.out, "}}")?;
                }
            }
        }
        Ok(())
    }

    fn line(&mut self) {
        self.out.extend(std::iter::repeat_n("  ", self.indent));
    }

    fn body(&mut self, block: &Block) -> fmt::Result {
        self.indent += 1;
        self.statements(&block.statements)?;
        self.line();
        if block.results.is_empty() {
            writeln!(self.out, "yield")?;
        } else {
            writeln!(self.out, "yield {}", names(&block.results))?;
        }
        self.indent -= 1;
        Ok(())
    }

    fn statements(&mut self, statements: &[Statement]) -> fmt::Result {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> fmt::Result {
        self.line();
        let results: Vec<ValueId> = statement.results().collect();
        if !results.is_empty() {
            write!(self.out, "{} = ", names(&results))?;
        }
        let args = names(&statement.args);
        match &statement.op {
            Op::Const(constant) => write!(self.out, "const {}", literal(constant))?,
            Op::Word(op, attrs) => {
                self.out.push_str(op.name());
                if !attrs.is_empty() {
                    let pairs = op.attributes().iter().zip(attrs);
                    let pairs: Vec<String> = pairs.map(|(n, v)| format!("{n}={v}")).collect();
                    write!(self.out, "{{{}}}", pairs.join(", "))?;
                }
                write!(self.out, " {args}")?;
            }
            Op::Lanes { at, count, stride } => {
                write!(
                    self.out,
                    "lanes{{at={}, count={count}, stride={stride}}} {args}",
                    place(at)
                )?;
            }
            Op::Put(at) => write!(self.out, "put{{at={}}} {args}", place(at))?,
            Op::Gather(indices) => {
                let indices: Vec<String> = indices.iter().map(u32::to_string).collect();
                write!(self.out, "gather{{{}}} {args}", indices.join(", "))?;
            }
            Op::Reveal => write!(self.out, "reveal {args}")?,
            Op::Call(function) => {
                let callee = &self.module.functions[function.0 as usize].name;
                write!(self.out, "call {callee} ({args})")?;
            }
            Op::For { trips, body } => {
                write!(self.out, "for {trips} ({args}) {{ |{}|", params(body))?;
                return self.nested(body);
            }
            Op::Map { trips, body } => {
                write!(self.out, "map {trips} ({args}) {{ |{}|", params(body))?;
                return self.nested(body);
            }
            Op::If { then, otherwise } => {
                writeln!(self.out, "if {args} {{")?;
                self.body(then)?;
                self.line();
                write!(self.out, "}} else {{")?;
                return self.nested(otherwise);
            }
        }
        self.out.push('\n');
        Ok(())
    }

    fn nested(&mut self, body: &Block) -> fmt::Result {
        self.out.push('\n');
        self.body(body)?;
        self.line();
        writeln!(self.out, "}}")
    }

    fn gates(&mut self, circuit: &Circuit) -> fmt::Result {
        for gate in circuit.gates() {
            match *gate {
                Gate::Xor(a, b) => writeln!(self.out, "  xor {a} {b}")?,
                Gate::And(a, b) => writeln!(self.out, "  and {a} {b}")?,
                Gate::Inv(a) => writeln!(self.out, "  not {a}")?,
                Gate::Eq(bit) => writeln!(self.out, "  const {}", u8::from(bit))?,
                Gate::Eqw(a) => writeln!(self.out, "  copy {a}")?,
            }
        }
        let wires: Vec<String> = circuit.output_wires().iter().map(u32::to_string).collect();
        writeln!(self.out, "  yield {}", wires.join(" "))
    }
}

/// A text between quotes, as the parser takes it.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn name(id: ValueId) -> String {
    format!("%{}", id.0)
}

fn names(ids: &[ValueId]) -> String {
    ids.iter().map(|id| name(*id)).collect::<Vec<_>>().join(", ")
}

fn shapes(shapes: &[Shape]) -> String {
    shapes.iter().map(Shape::to_string).collect::<Vec<_>>().join(", ")
}

fn params(block: &Block) -> String {
    names(&block.params().collect::<Vec<_>>())
}

/// `3 + 2*i0 - 1*i1`: counters are named by their nesting.
fn place(at: &Affine) -> String {
    let mut text = at.constant.to_string();
    for (var, factor) in &at.terms {
        let sign = if *factor < 0 { '-' } else { '+' };
        let _ = write!(text, " {sign} {}*i{}", factor.unsigned_abs(), var.0);
    }
    text
}

/// The shape and one hexadecimal number for each lane, or `all` and one number for all of them.
fn literal(constant: &Constant) -> String {
    let Shape { lanes, width } = constant.shape;
    let word = |lane: u32| hex(constant, lane as usize * width as usize, width as usize);
    let first = word(0);
    let mut text = constant.shape.to_string();
    if lanes > 1 && (1..lanes).all(|lane| word(lane) == first) {
        let _ = write!(text, " all {first}");
        return text;
    }
    (0..lanes).for_each(|lane| {
        let _ = write!(text, " {}", word(lane));
    });
    text
}

fn hex(constant: &Constant, start: usize, width: usize) -> String {
    let digit = |from: usize| {
        let bits = from..(from + 4).min(width);
        bits.fold(0, |digit, i| digit | u32::from(constant.bit(start + i)) << (i - from))
    };
    let digits = (0..width).step_by(4).rev().map(|from| char::from_digit(digit(from), 16));
    format!("0x{}", digits.flatten().collect::<String>())
}
