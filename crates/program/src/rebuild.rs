//! A module built again statement by statement: what was computed before or is never read goes, what
//! constants give becomes a constant, and pieces that are smaller as circuits become calls.

use std::collections::{HashMap, HashSet};

use crate::builder::Builder;
use crate::constants;
use crate::error::BuildError;
use crate::module::{Body, Code, Module};
use crate::op::{Block, Constant, FunctionId, Op, Statement, ValueId, WordOp};
use crate::outline::{Piece, Planner, Stretch};
use crate::shape::Shape;

/// Rounds in which statements that nothing reads go.
const MAX_ROUNDS: usize = 32;

impl Module {
    /// The same module without statements that nothing reads, that repeat an earlier one or that have
    /// constant operands.
    pub(crate) fn tidied(&self) -> Result<Module, BuildError> {
        let mut work = constants::MAX_WORK;
        let mut tidy = self.rebuilt(Pieces::None, &mut work)?;
        // What only a dead statement read is dead in the next round. Long chains of such are left as they
        // are: they cost nothing that matters, and rounds take time.
        for _ in 0..MAX_ROUNDS {
            let next = tidy.rebuilt(Pieces::None, &mut work)?;
            if next == tidy {
                return Ok(tidy);
            }
            tidy = next;
        }
        Ok(tidy)
    }

    /// Shows a planner all stretches.
    pub(crate) fn plan(&self, planner: &mut Planner<'_>) -> Result<(), BuildError> {
        self.rebuilt(Pieces::Plan(planner), &mut 0).map(|_| ())
    }

    /// The same module with calls of circuits in place of these pieces.
    pub(crate) fn with_pieces(&self, pieces: &[Piece]) -> Result<Module, BuildError> {
        self.rebuilt(Pieces::Replace(pieces), &mut 0)
    }

    /// Constants are computed as long as there is `work` left.
    fn rebuilt(&self, pieces: Pieces<'_, '_>, work: &mut u64) -> Result<Module, BuildError> {
        let rebuild = Rebuild {
            module: self,
            b: Builder::of_version(self.version, &self.name, &self.about)?,
            functions: Vec::new(),
            names: self.functions.iter().map(|function| function.name.clone()).collect(),
            circuits: HashMap::new(),
            pieces,
            stretches: 0,
            work,
        };
        rebuild.run()
    }

    /// How often each function runs.
    pub(crate) fn calls(&self) -> Vec<u64> {
        let mut calls = vec![0; self.functions.len()];
        count_calls(&self.main.block, 1, &mut calls);
        for index in (0..self.functions.len()).rev() {
            if let Code::Body(body) = &self.functions[index].code {
                count_calls(&body.block, calls[index], &mut calls);
            }
        }
        calls
    }
}

fn count_calls(block: &Block, times: u64, calls: &mut [u64]) {
    for statement in &block.statements {
        match &statement.op {
            Op::For { trips, body } | Op::Map { trips, body } => {
                count_calls(body, times.saturating_mul(u64::from(*trips)), calls);
            }
            Op::If { then, otherwise } => {
                count_calls(then, times, calls);
                count_calls(otherwise, times, calls);
            }
            Op::Call(callee) => {
                let calls = &mut calls[callee.0 as usize];
                *calls = calls.saturating_add(times);
            }
            _ => {}
        }
    }
}

/// The treatment of stretches of statements.
enum Pieces<'p, 'o> {
    None,
    Plan(&'p mut Planner<'o>),
    Replace(&'p [Piece]),
}

struct Rebuild<'m, 'p, 'o> {
    module: &'m Module,
    b: Builder,
    /// The new number of each function.
    functions: Vec<FunctionId>,
    names: HashSet<String>,
    /// Functions that were made of pieces, by their keys.
    circuits: HashMap<&'p [u8], FunctionId>,
    pieces: Pieces<'p, 'o>,
    /// Stretches so far.
    stretches: usize,
    /// The work that may still be spent on constants.
    work: &'p mut u64,
}

/// The new values of a body, and what statements in sight compute.
struct Scope<'b> {
    shapes: &'b [Shape],
    values: Vec<Option<ValueId>>,
    known: Vec<HashMap<String, Vec<ValueId>>>,
    /// New values that are constants.
    constants: HashMap<ValueId, Constant>,
    /// How often the statements run.
    times: u64,
}

impl<'b> Scope<'b> {
    fn new(body: &'b Body, times: u64) -> Scope<'b> {
        let values = vec![None; body.shapes.len()];
        let (known, constants) = (vec![HashMap::new()], HashMap::new());
        Scope { shapes: &body.shapes, values, known, constants, times }
    }

    fn get(&self, id: ValueId) -> ValueId {
        // Definition before use is the promise of the module that is read.
        self.values[id.index()].unwrap_or_else(|| unreachable!("value {} is defined", id.0))
    }

    fn all(&self, ids: &[ValueId]) -> Vec<ValueId> {
        ids.iter().map(|id| self.get(*id)).collect()
    }

    fn define(&mut self, old: impl Iterator<Item = ValueId>, new: &[ValueId]) {
        for (old, new) in old.zip(new) {
            self.values[old.index()] = Some(*new);
        }
    }
}

impl<'m, 'p> Rebuild<'m, 'p, '_> {
    fn run(mut self) -> Result<Module, BuildError> {
        let module = self.module;
        for (function, times) in module.functions.iter().zip(module.calls()) {
            let id = match &function.code {
                Code::Gates(circuit) => {
                    let circuit = circuit.as_ref().clone();
                    self.b.circuit(&function.name, circuit, &function.params, &function.results)?
                }
                Code::Body(body) => {
                    let params = self.b.begin_function(&function.name, &function.params)?;
                    let mut scope = Scope::new(body, times);
                    scope.define(body.block.params(), &params);
                    self.statements(&mut scope, &body.block)?;
                    self.b.end_function(&scope.all(&body.block.results))?
                }
            };
            self.functions.push(id);
        }
        let mut scope = Scope::new(&module.main, 1);
        for (port, id) in module.inputs.iter().zip(module.main.block.params()) {
            let path = port.path.clone();
            let new = self.b.input_at(path, port.owner, port.kind, port.shape.width)?;
            scope.define([id].into_iter(), &[new]);
        }
        let memories = module.main.block.params().skip(module.inputs.len());
        for (memory, id) in module.memories.iter().zip(memories) {
            let (path, width) = (memory.path.clone(), memory.shape.width);
            let (is_new, kind) = (memory.is_new, memory.kind);
            let new = match &memory.ram {
                Some(ram) => self.b.ram_at(path, is_new, kind, width, ram.accesses() as u32)?,
                None => self.b.memory_at(path, is_new, kind, width)?,
            };
            scope.define([id].into_iter(), &[new]);
        }
        self.statements(&mut scope, &module.main.block)?;
        for (memory, left) in module.memories.iter().filter_map(|m| Some((m, m.left?))) {
            self.b.leave(&memory.name, scope.get(left))?;
        }
        for port in &module.outputs {
            let path = port.path.clone();
            self.b.output_at(path, port.receiver, port.kind, scope.get(port.value))?;
        }
        self.b.finish()
    }

    fn block(
        &mut self,
        scope: &mut Scope<'m>,
        block: &'m Block,
    ) -> Result<Vec<ValueId>, BuildError> {
        scope.known.push(HashMap::new());
        self.statements(scope, block)?;
        scope.known.pop();
        Ok(scope.all(&block.results))
    }

    fn statements(&mut self, scope: &mut Scope<'m>, block: &'m Block) -> Result<(), BuildError> {
        let mut rest = block.statements.as_slice();
        while !rest.is_empty() {
            let straight = rest.iter().take_while(|statement| self.is_straight(statement)).count();
            let (stretch, after) = rest.split_at(straight.max(1));
            rest = after;
            let number = self.stretches;
            self.stretches += 1;
            match self.pieces {
                Pieces::Replace(pieces) if pieces.iter().any(|piece| piece.stretch == number) => {
                    self.replace(scope, stretch, number, pieces)?;
                }
                _ => stretch.iter().try_for_each(|statement| self.statement(scope, statement))?,
            }
            if straight > 0 {
                self.show(scope, stretch, number)?;
            }
        }
        Ok(())
    }

    /// Shows the planner, if there is one, a stretch that was built.
    fn show(
        &mut self,
        scope: &Scope<'m>,
        statements: &'m [Statement],
        number: usize,
    ) -> Result<(), BuildError> {
        let Pieces::Plan(planner) = &mut self.pieces else { return Ok(()) };
        let (mut public, mut constants) = (HashSet::new(), HashMap::new());
        let results = statements.iter().flat_map(Statement::results);
        for id in statements.iter().flat_map(|s| s.args.iter().copied()).chain(results) {
            // A statement that nothing reads has no new value.
            let Some(new) = scope.values[id.index()] else { continue };
            if self.b.is_public(new)? {
                public.insert(id);
            }
            if let Some(constant) = scope.constants.get(&new) {
                constants.insert(id, constant.clone());
            }
        }
        let (module, shapes, times) = (self.module, scope.shapes, scope.times);
        planner.stretch(&Stretch { number, module, shapes, statements, public, constants, times });
        Ok(())
    }

    /// Builds a stretch with its pieces, each where its last statement was.
    fn replace(
        &mut self,
        scope: &mut Scope<'m>,
        stretch: &'m [Statement],
        number: usize,
        pieces: &'p [Piece],
    ) -> Result<(), BuildError> {
        let mut part = HashMap::new();
        for piece in pieces.iter().filter(|piece| piece.stretch == number) {
            part.extend(piece.items.iter().map(|item| (*item, piece)));
        }
        for (place, statement) in stretch.iter().enumerate() {
            match part.get(&place) {
                None => self.statement(scope, statement)?,
                Some(piece) if piece.items.last() == Some(&place) => self.piece(scope, piece)?,
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// A call in place of a piece, in a map if it is that of one lane.
    fn piece(&mut self, scope: &mut Scope<'m>, piece: &'p Piece) -> Result<(), BuildError> {
        let shape = |id: &ValueId| {
            let shape = scope.shapes[id.index()];
            if piece.lanes.is_some() { Shape::word(shape.width) } else { shape }
        };
        let function = match self.circuits.get(piece.key.as_slice()) {
            Some(function) => *function,
            None => {
                let name = self.fresh_name();
                let params: Vec<Shape> = piece.params.iter().map(shape).collect();
                let results: Vec<Shape> = piece.results.iter().map(shape).collect();
                self.b.circuit(&name, piece.circuit.clone(), &params, &results)?
            }
        };
        self.circuits.insert(&piece.key, function);
        let mut args = scope.all(&piece.params);
        let results = match piece.lanes {
            None => self.b.call(function, &args)?,
            Some(lanes) => {
                let mapped = |id: &ValueId| scope.shapes[id.index()].lanes > 1;
                let ids = piece.params.iter().zip(&args).filter(|(id, _)| mapped(id));
                let split: Vec<ValueId> = ids.map(|(_, arg)| *arg).collect();
                let mut parts = self.b.begin_map(lanes, &split)?.into_iter();
                let params = piece.params.iter().zip(&mut args).filter(|(id, _)| mapped(id));
                params.zip(&mut parts).for_each(|((_, arg), part)| *arg = part);
                let results = self.b.call(function, &args)?;
                self.b.end_map(&results)?
            }
        };
        scope.define(piece.results.iter().copied(), &results);
        Ok(())
    }

    /// Whether a statement depends on its operands alone.
    fn is_straight(&self, statement: &Statement) -> bool {
        match &statement.op {
            Op::Const(_) | Op::Word(..) | Op::Gather(_) => true,
            Op::Lanes { at, .. } | Op::Put(at) => at.terms.is_empty(),
            Op::Call(callee) => {
                matches!(self.module.functions[callee.0 as usize].code, Code::Gates(_))
            }
            _ => false,
        }
    }

    fn fresh_name(&mut self) -> String {
        let mut number = self.circuits.len();
        loop {
            number += 1;
            let name = format!("gates.{number}");
            if self.names.insert(name.clone()) {
                return name;
            }
        }
    }

    fn statement(
        &mut self,
        scope: &mut Scope<'m>,
        statement: &'m Statement,
    ) -> Result<(), BuildError> {
        let args = scope.all(&statement.args);
        let pure = matches!(
            statement.op,
            Op::Const(_) | Op::Word(..) | Op::Gather(_) | Op::Lanes { .. } | Op::Put(_)
        );
        if !pure {
            let results = self.control(scope, statement, &args)?;
            scope.define(statement.results(), &results);
            return Ok(());
        }
        if statement.results().all(|id| statement.dead.contains(&id)) {
            return Ok(());
        }
        let results = match self.computed(scope, statement, &args) {
            Some(constants) => {
                let constants = constants.into_iter().map(Op::Const);
                let ids = constants.map(|op| Ok(self.once(scope, &op, &[])?[0]));
                ids.collect::<Result<Vec<ValueId>, BuildError>>()?
            }
            None => self.word_or_beyond(scope, statement, &args)?,
        };
        scope.define(statement.results(), &results);
        Ok(())
    }

    /// The results of a statement; of an access at a place that has become a constant beyond the end, which no text may name, what it comes to: a table as it
    /// was, and zeros in place of rows.
    fn word_or_beyond(
        &mut self,
        scope: &mut Scope<'m>,
        statement: &'m Statement,
        args: &[ValueId],
    ) -> Result<Vec<ValueId>, BuildError> {
        let Op::Word(op @ (WordOp::Lookup | WordOp::Store), _) = statement.op else {
            return self.once(scope, &statement.op, args);
        };
        let table = self.b.shape(args[0])?;
        let is_there = |number: u64| number < u64::from(table.lanes);
        let places = scope.constants.get(&args[1]);
        // The text has none such itself, and computed ones are short.
        let is_beyond = |places: &&Constant| {
            places.shape.bits() <= constants::MAX_BITS && !places.numbers().all(is_there)
        };
        let Some(places) = places.filter(is_beyond) else {
            return self.once(scope, &statement.op, args);
        };
        if op == WordOp::Store {
            return Ok(vec![args[0]]);
        }
        let there: Vec<bool> = places.numbers().map(is_there).collect();
        let width = places.shape.width as usize;
        let inside = (0..places.shape.bits()).map(|i| there[i / width] && places.bit(i));
        let inside = Constant::new(places.shape, &inside.collect::<Vec<bool>>());
        let there = Constant::new(Shape { width: 1, ..places.shape }, &there);
        let zeros = Constant::new(Shape::word(table.width), &vec![false; table.width as usize]);
        let constants =
            [inside, there, zeros].map(|constant| self.once(scope, &Op::Const(constant), &[]));
        let [inside, there, zeros] = constants;
        let rows = self.once(scope, &statement.op, &[args[0], inside?[0]])?[0];
        self.once(scope, &Op::Word(WordOp::Mux, Vec::new()), &[there?[0], rows, zeros?[0]])
    }

    /// The results of a statement if its operands are constants.
    fn computed(
        &mut self,
        scope: &Scope<'_>,
        statement: &Statement,
        args: &[ValueId],
    ) -> Option<Vec<Constant>> {
        let operands: Option<Vec<&Constant>> =
            args.iter().map(|id| scope.constants.get(id)).collect();
        let shapes: Vec<Shape> = statement.results().map(|id| scope.shapes[id.index()]).collect();
        constants::computed(&statement.op, &operands?, &shapes, self.work)
    }

    /// The results of a pure operation, those of an equal one in sight if there is one.
    fn once(
        &mut self,
        scope: &mut Scope<'_>,
        op: &Op,
        args: &[ValueId],
    ) -> Result<Vec<ValueId>, BuildError> {
        let key = format!("{op:?} {args:?}");
        // Zeros that a memory may begin with are no other's: it could not use them up.
        let is_own = matches!(op, Op::Const(zeros) if zeros.is_zero() && zeros.shape.lanes > 1);
        let known = scope.known.iter().rev().find_map(|known| known.get(&key));
        if let Some(known) = known.filter(|_| !is_own) {
            return Ok(known.clone());
        }
        let results = self.b.pure(op, args)?;
        if let Op::Const(constant) = op {
            scope.constants.insert(results[0], constant.clone());
        }
        if let Some(innermost) = scope.known.last_mut() {
            innermost.insert(key, results.clone());
        }
        Ok(results)
    }

    fn control(
        &mut self,
        scope: &mut Scope<'m>,
        statement: &'m Statement,
        args: &[ValueId],
    ) -> Result<Vec<ValueId>, BuildError> {
        match &statement.op {
            Op::For { trips, body } => {
                let (_, params) = self.b.begin_for(*trips, args)?;
                let results = self.inner_block(scope, *trips, body, &params)?;
                self.b.end_for(&results)
            }
            Op::Map { trips, body } => {
                let params = self.b.begin_map(*trips, args)?;
                let results = self.inner_block(scope, *trips, body, &params)?;
                self.b.end_map(&results)
            }
            Op::If { then, otherwise } => {
                self.b.begin_if(args[0])?;
                let results = self.block(scope, then)?;
                self.b.begin_else(&results)?;
                let results = self.block(scope, otherwise)?;
                self.b.end_if(&results)
            }
            Op::Reveal => self.b.reveal(args[0]).map(|id| vec![id]),
            Op::Call(callee) => self.b.call(self.functions[callee.0 as usize], args),
            _ => self.b.pure(&statement.op, args),
        }
    }

    /// The body of a loop or a map.
    fn inner_block(
        &mut self,
        scope: &mut Scope<'m>,
        trips: u32,
        body: &'m Block,
        params: &[ValueId],
    ) -> Result<Vec<ValueId>, BuildError> {
        scope.define(body.params(), params);
        let before = scope.times;
        scope.times = before.saturating_mul(u64::from(trips));
        let results = self.block(scope, body)?;
        scope.times = before;
        Ok(results)
    }
}
