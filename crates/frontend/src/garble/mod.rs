//! Programs in Garble, a language like Rust whose programs always end (docs/formats/garble.md).
//!
//! Garble's own compiler makes the circuit; it becomes one gate-level function of a module as it is. The
//! ports get their types from the signature of the compiled function: its first parameter is the
//! garbler's, the second the evaluator's, and both learn the result.

mod ports;
mod syntax;

use std::collections::{HashMap, HashSet};

use cenote_circuit::{Circuit, Gate, Receivers, Role, Signature};
use cenote_program::{Builder, Kind, Module, Shape};
use garble_lang::ast::Type;
use garble_lang::circuit::{Circuit as GarbleCircuit, Gate as GarbleGate};
use garble_lang::compile::CompilerError;
use garble_lang::literal::Literal;
use garble_lang::parse::ParseError;
use garble_lang::token::{MetaInfo, Token};
use garble_lang::{CompileTimeError, Error, TypedFnDef, TypedProgram};

use crate::error::SourceError;
use ports::{Layout, Port};

/// The function to compile, and its constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The function; `main` unless said otherwise.
    pub function: String,
    /// Values of the constants that the source leaves open: `PARTY::NAME` and a Garble literal.
    pub constants: Vec<(String, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Self { function: "main".to_owned(), constants: Vec::new() }
    }
}

/// Bytes of a source text, at most.
pub const MAX_SOURCE: usize = 1 << 20;
/// Stack of the compiler, which follows the nesting of the source.
const STACK: usize = 1 << 30;

/// Compiles a function of the Garble text `source`, which was read from `file`.
///
/// Garble unrolls loops and arrays as far as the text says: an untrusted text can take any time, and
/// so much memory that the process is aborted. `cenote program build` therefore compiles in a process of
/// its own; whoever calls this should do the same.
///
/// # Errors
/// Anything that Garble's compiler refuses, a function that is not one of one or two parties, types
/// without bits, more bits or gates than a module takes.
pub fn compile(file: &str, source: &str, options: &Options) -> Result<Module, SourceError> {
    on_large_stack(Compiler { file, source, options }, |compiler| compiler.run())
}

/// Does all that [`compile`] does before it makes a circuit: runs Garble's parser and type checker,
/// which unroll nothing.
///
/// # Errors
/// Fails if they refuse the text.
pub fn check(file: &str, source: &str) -> Result<(), SourceError> {
    let options = &Options::default();
    on_large_stack(Compiler { file, source, options }, |compiler| compiler.checked().map(drop))
}

fn on_large_stack<T: Send>(
    compiler: Compiler<'_>,
    work: impl FnOnce(&Compiler<'_>) -> Result<T, SourceError> + Send,
) -> Result<T, SourceError> {
    if compiler.source.len() > MAX_SOURCE {
        let what = format!("a Garble program has at most {MAX_SOURCE} bytes");
        return Err(compiler.whole(what));
    }
    // The compiler goes as deep as the source is nested, and panics on what its checks overlook.
    std::thread::scope(|scope| {
        let large = std::thread::Builder::new().stack_size(STACK);
        let running = large.spawn_scoped(scope, || work(&compiler));
        match running.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => {
                Err(compiler.whole("the Garble compiler failed on this program".to_owned()))
            }
            Err(error) => {
                Err(compiler.whole(format!("the Garble compiler does not start: {error}")))
            }
        }
    })
}

/// The constants that a program asks for, with types and places, in the order of the source.
fn asked(program: &TypedProgram) -> Vec<(String, &Type, MetaInfo)> {
    let mut asked: Vec<_> = program
        .const_deps
        .iter()
        .flat_map(|(party, names)| {
            names.iter().map(move |(name, (ty, place))| (format!("{party}::{name}"), ty, *place))
        })
        .collect();
    asked.sort_by(|a, b| (a.2.start, &a.0).cmp(&(b.2.start, &b.0)));
    asked
}

/// Garble's message on a function that nothing calls.
const UNUSED: &str = "is declared but never used";

struct Compiler<'c> {
    file: &'c str,
    source: &'c str,
    options: &'c Options,
}

impl Compiler<'_> {
    fn run(&self) -> Result<Module, SourceError> {
        let program = self.checked()?;
        let consts = self.constants(&program)?;
        let name = &self.options.function;
        if !program.fn_defs.contains_key(name) {
            let mut names: Vec<&str> = program.fn_defs.keys().map(String::as_str).collect();
            names.sort_unstable();
            let there = match names.join(", ") {
                names if names.is_empty() => "no function at all".to_owned(),
                names => names,
            };
            return Err(self.whole(format!("there is no function `{name}`; there are: {there}")));
        }
        let compiled = program.compile_with_constants(name, consts);
        let (circuit, function, sizes) = compiled.map_err(|errors| self.refused(&errors.into()))?;
        let layout = Layout { program: &program, sizes: &sizes };
        self.module(&layout, function, &circuit)
    }

    /// The program with its types.
    fn checked(&self) -> Result<TypedProgram, SourceError> {
        if let Some(offset) = syntax::open_comment(self.source) {
            let what = "this comment has no end; close it with */".to_owned();
            return Err(self.at_offset(offset, what));
        }
        // What the scanner refuses is said below.
        if let Ok(tokens) = garble_lang::scan::scan(self.source) {
            self.syntax(&tokens.0)?;
        }
        garble_lang::check(self.source).map_err(|error| self.refused(&error))
    }

    fn syntax(&self, tokens: &[Token]) -> Result<(), SourceError> {
        let place = |token: &Token| token_place(&token.1);
        if let Some(token) = syntax::too_deep(tokens) {
            let what = "too much stands within each other here, or in functions that may call each \
                        other; give parts names with `let`, or write fewer functions";
            return Err(self.at(place(token), what.to_owned()));
        }
        if let Some(ParseError(what, token)) = syntax::first_error(tokens) {
            return Err(self.at(token_place(&token), what.to_string()));
        }
        if let Some(token) = syntax::unclosed(tokens) {
            return Err(self.at(place(token), "this bracket has no end".to_owned()));
        }
        Ok(())
    }

    fn whole(&self, what: String) -> SourceError {
        SourceError { file: self.file.to_owned(), place: None, what }
    }

    /// At the token after the blanks at `place`.
    fn at(&self, place: Place, what: String) -> SourceError {
        let (line, column) = place;
        let before: usize = self.source.split_inclusive('\n').take(line).map(str::len).sum();
        let rest = &self.source[before..];
        let at = rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at);
        let offset = before + at + blanks(&rest[at..]);
        self.at_offset(offset.min(self.source.trim_end().len()), what)
    }

    fn at_offset(&self, offset: usize, what: String) -> SourceError {
        let before = self.source.get(..offset).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        SourceError { file: self.file.to_owned(), place: Some((line, column)), what }
    }

    /// The first of the compiler's errors, and how many more there are.
    fn refused(&self, error: &Error) -> SourceError {
        let found: Vec<(Option<Place>, String)> = match error {
            Error::CompileTimeError(error) => listed(error),
            other => vec![(None, other.prettify(self.source))],
        };
        let more = found.len().saturating_sub(1);
        // A function is not used, in Garble's eyes, if what should call it has an error.
        let cause = found.iter().position(|(_, what)| !what.contains(UNUSED)).unwrap_or(0);
        let (place, mut what) = found.into_iter().nth(cause).unwrap_or_default();
        if what.contains(UNUSED) {
            what.push_str("; write `pub fn` for what is compiled");
        }
        if more > 0 {
            what = format!("{what} (and {more} more)");
        }
        match place {
            Some(place) => self.at(place, what),
            None => self.whole(what),
        }
    }

    /// The given constants with the types that the program asks for.
    fn constants(
        &self,
        program: &TypedProgram,
    ) -> Result<HashMap<String, HashMap<String, Literal>>, SourceError> {
        let mut constants: HashMap<String, HashMap<String, Literal>> = HashMap::new();
        for (name, text) in &self.options.constants {
            let known = name.split_once("::").and_then(|(party, constant)| {
                let (ty, _) = program.const_deps.get(party)?.get(constant)?;
                Some((party, constant, ty))
            });
            let (party, constant, ty) = known.ok_or_else(|| {
                let asked: Vec<String> =
                    asked(program).into_iter().map(|(asked, ..)| asked).collect();
                self.whole(match asked.is_empty() {
                    true => format!("the program asks for no constants; leave `{name}` out"),
                    false => format!("the program asks for {}, not for `{name}`", asked.join(", ")),
                })
            })?;
            let literal = Literal::parse(program, ty, text);
            let literal = literal.map_err(|_| {
                self.whole(format!("the constant `{name}` is of type {ty}, which `{text}` is not"))
            })?;
            constants.entry(party.to_owned()).or_default().insert(constant.to_owned(), literal);
        }
        let given: HashSet<&str> =
            self.options.constants.iter().map(|(name, _)| name.as_str()).collect();
        match asked(program).into_iter().find(|(name, ..)| !given.contains(name.as_str())) {
            None => Ok(constants),
            Some((name, ty, place)) => Err(self.at(
                token_place(&place),
                format!("the constant {name} needs a value of type {ty}; add --const {name}=VALUE"),
            )),
        }
    }

    fn module(
        &self,
        layout: &Layout<'_>,
        function: &TypedFnDef,
        circuit: &GarbleCircuit,
    ) -> Result<Module, SourceError> {
        let place = |what: String| self.at(token_place(&function.meta), what);
        let (mut inputs, mut owners) = (Vec::new(), Vec::new());
        let mut bits = 0;
        for (owner, name, ty) in parties(layout, function).map_err(place)? {
            bits = layout.flatten(&name, &ty, bits, &mut inputs);
            owners.resize(inputs.len(), owner);
        }
        if bits == 0 {
            return Err(place(format!("`{}` has no inputs", function.identifier)));
        }
        let outputs = results(layout, function, circuit, bits);
        let built = self.build(bits, circuit, &inputs, &owners, &outputs);
        built.map_err(|error| place(error.to_string()))
    }

    fn build(
        &self,
        bits: usize,
        circuit: &GarbleCircuit,
        inputs: &[Port],
        owners: &[Role],
        outputs: &[Port],
    ) -> Result<Module, Box<dyn std::error::Error>> {
        let function = &self.options.function;
        let about = format!("the Garble function {function} of {}", self.file);
        let about: String = about.chars().filter(|sign| !sign.is_control()).take(1000).collect();
        let mut b = Builder::new(&module_name(self.file, function), &about)?;
        let shapes = |ports: &[Port]| ports.iter().map(|port| port.shape).collect::<Vec<Shape>>();
        let (params, results) = (shapes(inputs), shapes(outputs));
        let gates = gates(bits, circuit, inputs, outputs)?;
        let callee = b.circuit(function, gates, &params, &results)?;
        let mut args = Vec::with_capacity(inputs.len());
        for (port, owner) in inputs.iter().zip(owners) {
            args.push(b.input_at(port.path.clone(), *owner, port.kind, port.shape.width)?);
        }
        let values = b.call(callee, &args)?;
        for (port, value) in outputs.iter().zip(values) {
            b.output_at(port.path.clone(), Receivers::Both, port.kind, value)?;
        }
        Ok(b.finish()?)
    }
}

/// Bytes of blanks and comments to the end of a line at the start of `text`.
fn blanks(text: &str) -> usize {
    let mut rest = text.trim_start();
    while rest.starts_with("//") {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
    }
    text.len() - rest.len()
}

/// Line and column, counted from 0.
type Place = (usize, usize);

/// Where a token and the blanks before it begin. Garble counts the columns of the first line from -1, but
/// for the first token, and has no place for the end of the text.
fn token_place(meta: &MetaInfo) -> Place {
    match (meta.start, meta.end) {
        ((0, 0), (0, 0)) => (usize::MAX, 0),
        ((0, column), _) if column > 0 => (0, column + 1),
        (start, _) => start,
    }
}

/// Where a sign is that begins no token. Garble counts the columns of later lines from 1.
fn sign_place(meta: &MetaInfo) -> Place {
    let (line, column) = meta.start;
    (line, if line > 0 { column.saturating_sub(1) } else { column })
}

fn listed(error: &CompileTimeError) -> Vec<(Option<Place>, String)> {
    match error {
        CompileTimeError::ScanErrors(errors) => {
            errors.iter().map(|e| (Some(sign_place(&e.1)), e.0.to_string())).collect()
        }
        CompileTimeError::ParseError(errors) => {
            errors.iter().map(|e| (Some(token_place(&e.1)), e.0.to_string())).collect()
        }
        CompileTimeError::TypeError(errors) => {
            errors.iter().map(|e| (Some(token_place(&e.1)), e.0.to_string())).collect()
        }
        CompileTimeError::CompilerError(errors) => {
            let place = |error: &CompilerError| match error {
                CompilerError::MissingConstant(_, _, meta) => Some(token_place(meta)),
                _ => None,
            };
            errors.iter().map(|error| (place(error), error.to_string())).collect()
        }
    }
}

/// Who provides what: the parameters, or the two elements of one array.
fn parties(
    layout: &Layout<'_>,
    function: &TypedFnDef,
) -> Result<Vec<(Role, String, Type)>, String> {
    let owners = [Role::Garbler, Role::Evaluator];
    let params: Vec<(String, Type)> = match function.params.as_slice() {
        [only] => match layout.array(&only.ty) {
            Some((element, 2)) => {
                (0..2).map(|i| (format!("{}_{i}", only.name), element.clone())).collect()
            }
            Some((_, count)) => {
                return Err(format!(
                    "in Garble, one array is one input for each party: of two parties, not of {count}; add \
                     a parameter for the other party"
                ));
            }
            None => vec![(only.name.clone(), only.ty.clone())],
        },
        [_, _] => function.params.iter().map(|p| (p.name.clone(), p.ty.clone())).collect(),
        more => {
            return Err(format!(
                "`{}` has {} parameters, one for each party, and there are two parties; put what one of \
                 them provides into one struct",
                function.identifier,
                more.len()
            ));
        }
    };
    Ok(owners.into_iter().zip(params).map(|(owner, (name, ty))| (owner, name, ty)).collect())
}

/// Bits of a number in what Garble says about a panic.
const PANIC_BITS: usize = 32;

/// The result, and before it what Garble says about a panic, unless there cannot be one.
fn results(
    layout: &Layout<'_>,
    function: &TypedFnDef,
    circuit: &GarbleCircuit,
    inputs: usize,
) -> Vec<Port> {
    let mut ports = Vec::new();
    // The first gate after the inputs is the constant 0.
    if circuit.output_gates.first() != Some(&inputs) {
        let number = |name: &str, at: usize, width: usize| {
            let last = 1 + (at + 1) * PANIC_BITS;
            Port::word(name, Kind::UInt, (last - width..last).rev().collect())
        };
        ports.extend([
            Port::word("panic.happened", Kind::Bool, vec![0]),
            number("panic.reason", 0, 2),
            number("panic.line", 1, PANIC_BITS),
            number("panic.column", 2, PANIC_BITS),
        ]);
    }
    layout.flatten("result", &function.ty, 1 + 5 * PANIC_BITS, &mut ports);
    ports
}

/// The circuit with its ports as the module has them.
fn gates(
    bits: usize,
    circuit: &GarbleCircuit,
    inputs: &[Port],
    outputs: &[Port],
) -> Result<Circuit, String> {
    let small = |wire: usize| u32::try_from(wire).map_err(|_| "too many gates".to_owned());
    // Where the module has the bits that Garble counts in its own order.
    let mut moved: Vec<u32> = vec![0; bits];
    for (place, wire) in inputs.iter().flat_map(|port| &port.wires).enumerate() {
        moved[*wire] = small(place)?;
    }
    let wire = |wire: usize| moved.get(wire).map_or_else(|| small(wire), |place| Ok(*place));
    let mut gates = Vec::with_capacity(circuit.gates.len());
    for gate in &circuit.gates {
        gates.push(match gate {
            GarbleGate::Xor(a, b) => Gate::Xor(wire(*a)?, wire(*b)?),
            GarbleGate::And(a, b) => Gate::And(wire(*a)?, wire(*b)?),
            GarbleGate::Not(a) => Gate::Inv(wire(*a)?),
        });
    }
    let mut named = Vec::new();
    let mut signature = Signature::new();
    for port in inputs {
        signature = signature.input(&port.path.name(), port.shape.bits(), None);
    }
    for port in outputs {
        signature = signature.output(&port.path.name(), port.shape.bits(), None);
        for at in &port.wires {
            let output = circuit.output_gates.get(*at).ok_or("the circuit has too few outputs")?;
            named.push(wire(*output)?);
        }
    }
    Circuit::new("garble", signature, gates, named).map_err(|error| error.to_string())
}

/// The name of the file without its endings, and of the function unless it is `main`.
fn module_name(file: &str, function: &str) -> String {
    let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = file.split('.').next().unwrap_or(file);
    let sign = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    let mut name: String = stem.chars().map(sign).take(100).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name.insert(0, '_');
    }
    if function == "main" { name } else { format!("{name}.{function}") }
}
