//! A module built again statement by statement: what was computed before or is never read goes, what
//! constants give becomes a constant, and stretches of loop bodies become functions, so that the gate-level optimiser sees each body once.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::builder::{BuildError, Builder};
use crate::constants;
use crate::module::{Block, Body, Code, Module, Statement};
use crate::op::{Constant, FunctionId, Op, ValueId};
use crate::shape::Shape;

impl Module {
    /// The same module without statements that nothing reads, that repeat an earlier one or that have
    /// constant operands.
    pub(crate) fn tidied(&self) -> Result<Module, BuildError> {
        let mut work = constants::MAX_WORK;
        let mut tidy = self.rebuilt(false, &mut work)?;
        // What only a dead statement read is dead in the next round.
        loop {
            let next = tidy.rebuilt(false, &mut work)?;
            if next == tidy {
                return Ok(tidy);
            }
            tidy = next;
        }
    }

    /// The same module with the stretches of its loop bodies that need no counter as functions.
    pub(crate) fn outlined(&self) -> Result<Module, BuildError> {
        self.rebuilt(true, &mut 0)
    }

    /// Constants are computed as long as there is `work` left.
    fn rebuilt(&self, outline: bool, work: &mut u64) -> Result<Module, BuildError> {
        let names = self.functions.iter().map(|function| function.name.clone()).collect();
        let builder = Builder::new(&self.name, &self.about)?;
        let functions = Vec::new();
        let rebuild =
            Rebuild { module: self, b: builder, functions, names, outline, made: 0, work };
        rebuild.run()
    }
}

struct Rebuild<'m> {
    module: &'m Module,
    b: Builder,
    /// The new number of each function.
    functions: Vec<FunctionId>,
    names: HashSet<String>,
    outline: bool,
    made: usize,
    /// What may still be spent on constants.
    work: &'m mut u64,
}

/// The new values of a body, and what statements in sight compute.
struct Scope<'b> {
    shapes: &'b [Shape],
    values: Vec<Option<ValueId>>,
    known: Vec<HashMap<String, Vec<ValueId>>>,
    /// New values that are constants.
    constants: HashMap<ValueId, Constant>,
    loops: usize,
}

impl<'b> Scope<'b> {
    fn new(body: &'b Body) -> Scope<'b> {
        let values = vec![None; body.shapes.len()];
        let (known, constants) = (vec![HashMap::new()], HashMap::new());
        Scope { shapes: &body.shapes, values, known, constants, loops: 0 }
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

impl Rebuild<'_> {
    fn run(mut self) -> Result<Module, BuildError> {
        let module = self.module;
        for function in &module.functions {
            let id = match &function.code {
                Code::Gates(circuit) => {
                    let circuit = circuit.as_ref().clone();
                    self.b.circuit(&function.name, circuit, &function.params, &function.results)?
                }
                Code::Body(body) => {
                    let params = self.b.begin_function(&function.name, &function.params)?;
                    let mut scope = Scope::new(body);
                    scope.define(body.block.params(), &params);
                    self.statements(&mut scope, &body.block)?;
                    self.b.end_function(&scope.all(&body.block.results))?
                }
            };
            self.functions.push(id);
        }
        let mut scope = Scope::new(&module.main);
        for (port, id) in module.inputs.iter().zip(module.main.block.params()) {
            let new = self.b.input(&port.name, port.owner, port.kind, port.shape)?;
            scope.define([id].into_iter(), &[new]);
        }
        self.statements(&mut scope, &module.main.block)?;
        for port in &module.outputs {
            self.b.output(&port.name, port.receiver, port.kind, scope.get(port.value))?;
        }
        self.b.finish()
    }

    fn block(&mut self, scope: &mut Scope<'_>, block: &Block) -> Result<Vec<ValueId>, BuildError> {
        scope.known.push(HashMap::new());
        self.statements(scope, block)?;
        scope.known.pop();
        Ok(scope.all(&block.results))
    }

    fn statements(&mut self, scope: &mut Scope<'_>, block: &Block) -> Result<(), BuildError> {
        let mut rest = block.statements.as_slice();
        while !rest.is_empty() {
            let straight = rest.iter().take_while(|statement| self.is_straight(statement)).count();
            let (stretch, after) = rest.split_at(straight.max(1));
            rest = after;
            if !(self.outline && scope.loops > 0 && self.outlined(scope, stretch)?) {
                stretch.iter().try_for_each(|statement| self.statement(scope, statement))?;
            }
        }
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

    /// Makes a stretch a function and calls it; false if it is not worth one.
    fn outlined(
        &mut self,
        scope: &mut Scope<'_>,
        stretch: &[Statement],
    ) -> Result<bool, BuildError> {
        let computes = |statement: &Statement| matches!(statement.op, Op::Word(..) | Op::Call(_));
        if stretch.iter().filter(|statement| computes(statement)).count() < 2 {
            return Ok(false);
        }
        let own: HashSet<ValueId> = stretch.iter().flat_map(Statement::results).collect();
        let dead: HashSet<ValueId> =
            stretch.iter().flat_map(|statement| statement.dead.iter().copied()).collect();
        let used = stretch.iter().flat_map(|statement| &statement.args);
        let params: BTreeMap<ValueId, Shape> =
            used.filter(|id| !own.contains(id)).map(|id| (*id, scope.shapes[id.index()])).collect();
        let mut results: Vec<ValueId> = own.difference(&dead).copied().collect();
        results.sort_unstable();
        if params.is_empty() || results.is_empty() {
            return Ok(false);
        }
        let name = self.fresh_name();
        let shapes: Vec<Shape> = params.values().copied().collect();
        let inside = self.b.begin_function(&name, &shapes)?;
        let values = vec![None; scope.values.len()];
        let (known, constants) = (vec![HashMap::new()], HashMap::new());
        let mut inner = Scope { shapes: scope.shapes, values, known, constants, loops: 0 };
        inner.define(params.keys().copied(), &inside);
        stretch.iter().try_for_each(|statement| self.statement(&mut inner, statement))?;
        let function = self.b.end_function(&inner.all(&results))?;
        let args: Vec<ValueId> = params.keys().map(|id| scope.get(*id)).collect();
        let outside = self.b.call(function, &args)?;
        scope.define(results.into_iter(), &outside);
        Ok(true)
    }

    fn fresh_name(&mut self) -> String {
        loop {
            self.made += 1;
            let name = format!("body.{}", self.made);
            if self.names.insert(name.clone()) {
                return name;
            }
        }
    }

    fn statement(
        &mut self,
        scope: &mut Scope<'_>,
        statement: &Statement,
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
            None => self.once(scope, &statement.op, &args)?,
        };
        scope.define(statement.results(), &results);
        Ok(())
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
        let known = scope.known.iter().rev().find_map(|known| known.get(&key));
        if let Some(known) = known {
            return Ok(known.clone());
        }
        let results = self.pure(op, args)?;
        if let Op::Const(constant) = op {
            scope.constants.insert(results[0], constant.clone());
        }
        if let Some(innermost) = scope.known.last_mut() {
            innermost.insert(key, results.clone());
        }
        Ok(results)
    }

    fn pure(&mut self, op: &Op, args: &[ValueId]) -> Result<Vec<ValueId>, BuildError> {
        match op {
            Op::Const(constant) => self.b.packed_constant(constant.clone()).map(|id| vec![id]),
            Op::Word(op, attrs) => self.b.word(*op, attrs, args),
            Op::Lanes { at, count, stride } => {
                self.b.lanes(args[0], at.clone(), *count, *stride).map(|id| vec![id])
            }
            Op::Put(at) => self.b.put(args[0], at.clone(), args[1]).map(|id| vec![id]),
            Op::Gather(indices) => self.b.gather(args[0], indices).map(|id| vec![id]),
            _ => unreachable!("only operations without blocks and effects come here"),
        }
    }

    fn control(
        &mut self,
        scope: &mut Scope<'_>,
        statement: &Statement,
        args: &[ValueId],
    ) -> Result<Vec<ValueId>, BuildError> {
        match &statement.op {
            Op::For { trips, body } => {
                let (_, params) = self.b.begin_for(*trips, args)?;
                let results = self.inner_block(scope, body, &params)?;
                self.b.end_for(&results)
            }
            Op::Map { trips, body } => {
                let params = self.b.begin_map(*trips, args)?;
                let results = self.inner_block(scope, body, &params)?;
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
            _ => self.pure(&statement.op, args),
        }
    }

    /// The body of a loop or a map.
    fn inner_block(
        &mut self,
        scope: &mut Scope<'_>,
        body: &Block,
        params: &[ValueId],
    ) -> Result<Vec<ValueId>, BuildError> {
        scope.define(body.params(), params);
        scope.loops += 1;
        let results = self.block(scope, body)?;
        scope.loops -= 1;
        Ok(results)
    }
}
