//! Executing a module on a machine, statement by statement.
//!
//! Memory follows the values that are alive, never the number of gates: loops run one iteration after
//! the other, and a value goes after its last use. Where an iteration is a tape (`rounds.rs`), its values are the slots of that.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use cenote_circuit::{Circuit, Plan, Program, Ram, Rows};

use crate::apply::{apply, lookup, rows_of, store, work};
use crate::each_lane::{EachLane, is_each_lane};
use crate::fold::{Fold, Folded};
use crate::host::keeper;
use crate::memory::{DynReactive, Shared, Step};
use crate::module::{Body, Code, Module};
use crate::op::{Affine, Block, Op, Statement, ValueId, WordOp};
use crate::run_value::{Value, Values, in_memory};
use crate::shape::Shape;
use crate::tables::Memories;

/// Version of the gates that a module becomes. Two parties agree on it, because the digest of a module
/// does not say which gates an addition takes. Whatever changes them raises it; a test tells.
pub const EXECUTION: u32 = 11;

/// Iterations of a map that run side by side, given the bits of one.
///
/// Many enough to fill every batch, few enough that a wide map does not need memory for all lanes.
pub(crate) fn map_group(trips: u32, bits: u64) -> u32 {
    let fit = MAP_BITS / bits.max(1);
    trips.min(u32::try_from(fit).unwrap_or(u32::MAX).max(1))
}

/// Bits of all iterations of a map that run side by side.
const MAP_BITS: u64 = 1 << 20;

/// A machine on which blocks run: one that executes, or one that counts.
pub(crate) trait Machine: EachLane {
    /// Takes note of a statement that gives `bits` bits.
    fn step(&mut self, bits: usize) -> Result<(), Self::Error> {
        let _ = bits;
        Ok(())
    }

    /// Takes note of bits that are copied besides.
    fn copied(&mut self, bits: usize) -> Result<(), Self::Error> {
        let _ = bits;
        Ok(())
    }

    /// Does what takes about `amount` steps, whether gates show it or not.
    fn working<T>(
        &mut self,
        amount: u64,
        run: impl FnOnce(&mut Self) -> Result<T, Self::Error>,
    ) -> Result<T, Self::Error> {
        let _ = amount;
        run(self)
    }

    /// Opens a value to both parties.
    fn reveal(&mut self, value: Value<Self::Wire>) -> Result<Value<Self::Wire>, Self::Error>;

    /// Words of a table at secret places, by looking at all of it.
    fn lookup(
        &mut self,
        table: Rows<Self::Wire>,
        places: &[&[Self::Wire]],
    ) -> Result<Vec<Self::Wire>, Self::Error> {
        lookup(self, table, places)
    }

    /// A table with the word at a secret place replaced.
    fn store(
        &mut self,
        table: Rows<Self::Wire>,
        place: &[Self::Wire],
        word: &[Self::Wire],
        enable: &Self::Wire,
    ) -> Result<Vec<Self::Wire>, Self::Error> {
        store(self, table, place, word, enable)
    }

    /// The machine that keeps tables in memories; no iteration of a map does.
    fn memories(&mut self) -> Option<&mut DynReactive<'_, Self::Wire, Self::Error>> {
        None
    }

    /// A memory as planned, of given rows or of zeros.
    fn begin(
        &mut self,
        plan: &Plan,
        rows: Option<Rows<Self::Wire>>,
    ) -> Result<Ram<Self::Wire>, Self::Error> {
        let mut machine = keeper(self.memories());
        match rows {
            Some(rows) => Ram::of(&mut machine, plan.clone(), rows),
            None => Ram::empty(&mut machine, plan.clone()),
        }
    }

    /// The rows of a memory, which ends.
    fn rows(&mut self, ram: &mut Ram<Self::Wire>) -> Result<Vec<Self::Wire>, Self::Error> {
        let mut machine = keeper(self.memories());
        let mut rows = Vec::new();
        for index in 0..ram.plan().needs.blocks {
            rows.extend(ram.row(&mut machine, index)?);
        }
        Ok(rows)
    }

    /// One step on a memory; gives the row that is read.
    fn access(
        &mut self,
        ram: &mut Ram<Self::Wire>,
        step: Step<'_, Self::Wire>,
    ) -> Result<Vec<Self::Wire>, Self::Error> {
        step.run(&mut keeper(self.memories()), ram)
    }

    fn run_for(
        &mut self,
        module: &Module,
        env: &mut Env<'_, Self::Wire>,
        carried: Values<Self::Wire>,
        trips: u32,
        body: &Block,
    ) -> Result<Values<Self::Wire>, Self::Error> {
        run_rounds(module, self, env, carried, trips, body)
    }

    fn run_map(
        &mut self,
        module: &Module,
        env: &mut Env<'_, Self::Wire>,
        mapped: Values<Self::Wire>,
        trips: u32,
        body: &Block,
    ) -> Result<Values<Self::Wire>, Self::Error>;

    fn run_if(
        &mut self,
        module: &Module,
        env: &mut Env<'_, Self::Wire>,
        statement: &Statement,
        then: &Block,
        otherwise: &Block,
    ) -> Result<Values<Self::Wire>, Self::Error> {
        let condition = env.get(statement.args[0]).bits();
        let Some(Folded::Known(bit)) = condition.first() else {
            unreachable!("the builder takes public conditions only")
        };
        let chosen = if *bit { then } else { otherwise };
        let results = run_block(module, self, env, chosen, Vec::new())?;
        opaque(self, results)
    }
}

/// The values of one run of a body, or of one iteration of a map.
pub(crate) struct Env<'b, W> {
    shapes: &'b [Shape],
    pub(crate) memories: &'b Memories,
    /// The values that an iteration sees of the blocks around it; their numbers are below `first`.
    captured: BTreeMap<ValueId, Value<W>>,
    first: usize,
    /// The values from `first` on.
    values: Vec<Option<Value<W>>>,
    /// Whether values from `first` on, and those that are captured, are one lane of what their shapes say.
    one_lane: bool,
    /// Counters of the loops around the statement, outermost first.
    pub(crate) counters: Vec<u32>,
}

impl<'b, W: Clone> Env<'b, W> {
    /// Room for the values that have these numbers.
    fn new(shapes: &'b [Shape], memories: &'b Memories, numbers: Range<usize>) -> Env<'b, W> {
        let (first, values) = (numbers.start, vec![None; numbers.len()]);
        let (captured, counters, one_lane) = (BTreeMap::new(), Vec::new(), false);
        Env { shapes, memories, captured, first, values, one_lane, counters }
    }

    /// Room for what a round of a loop reads and makes, or for one lane of it.
    pub(crate) fn round<V: Clone>(&self, body: &Block, one_lane: bool) -> Env<'b, V> {
        Env { one_lane, ..Env::new(self.shapes, self.memories, body.numbers()) }
    }

    /// Gives a value its number, whichever block it is of.
    pub(crate) fn set(&mut self, id: ValueId, value: Value<W>) {
        if id.index() < self.first {
            self.captured.insert(id, value);
        } else {
            self.put(id, value);
        }
    }

    /// Builds what one iteration of a map sees: the captured values, as wires of its machine.
    pub(crate) fn inner<V: Clone>(&self, body: &Block, wire: impl Fn(&W) -> V) -> Env<'b, V> {
        let mut inner = Env::new(self.shapes, self.memories, body.numbers());
        inner.counters.clone_from(&self.counters);
        let captured = body.captured.iter().map(|id| (*id, self.get(*id).map(&wire)));
        inner.captured = captured.collect();
        inner
    }

    /// Values that there is room for.
    pub(crate) fn size(&self) -> usize {
        self.values.len() + self.captured.len()
    }

    pub(crate) fn shape(&self, id: ValueId) -> Shape {
        let shape = self.shapes[id.index()];
        if self.one_lane { Shape::word(shape.width) } else { shape }
    }

    pub(crate) fn get(&self, id: ValueId) -> &Value<W> {
        let value = match id.index().checked_sub(self.first) {
            Some(own) => self.values[own].as_ref(),
            None => self.captured.get(&id),
        };
        // Definition before use and liveness are the builder's promises.
        value.unwrap_or_else(|| unreachable!("value {} is alive", id.0))
    }

    pub(crate) fn remove(&mut self, id: ValueId) -> Option<Value<W>> {
        self.values[id.index() - self.first].take()
    }

    /// The operands of a statement that takes them over: each moved out at its last use.
    fn take(&mut self, statement: &Statement) -> Values<W> {
        let captured = match &statement.op {
            Op::For { body, .. } | Op::Map { body, .. } => body.captured.as_slice(),
            _ => &[],
        };
        let dead = |id: &ValueId| statement.dead.binary_search(id).is_ok();
        let moves = |id: &ValueId| dead(id) && captured.binary_search(id).is_err();
        self.move_out(&statement.args, moves)
    }

    /// Values in order: those that `moves` names are moved out, the others copied.
    fn move_out(&mut self, ids: &[ValueId], moves: impl Fn(&ValueId) -> bool) -> Values<W> {
        let mut moved: BTreeMap<ValueId, usize> = BTreeMap::new();
        let mut values: Values<W> = Vec::with_capacity(ids.len());
        for id in ids {
            let value = match moved.get(id) {
                Some(first) => values[*first].clone(),
                None if moves(id) => {
                    moved.insert(*id, values.len());
                    self.remove(*id).unwrap_or_else(|| unreachable!("value {} is alive", id.0))
                }
                None => self.get(*id).clone(),
            };
            values.push(value);
        }
        values
    }

    pub(crate) fn put(&mut self, id: ValueId, value: Value<W>) {
        let place = id.index() - self.first;
        self.values[place] = Some(value);
    }

    /// The results of a block: its own are moved out, those of enclosing blocks copied.
    fn results(&mut self, block: &Block) -> Values<W> {
        self.move_out(&block.results, |id| block.captured.binary_search(id).is_err())
    }
}

/// Runs a loop round by round.
pub(crate) fn run_rounds<M: Machine>(
    module: &Module,
    machine: &mut M,
    env: &mut Env<'_, M::Wire>,
    carried: Values<M::Wire>,
    trips: u32,
    body: &Block,
) -> Result<Values<M::Wire>, M::Error> {
    let mut carried = opaque(machine, carried)?;
    for counter in 0..trips {
        env.counters.push(counter);
        carried = run_block(module, machine, env, body, carried)?;
        carried = opaque(machine, carried)?;
        env.counters.pop();
    }
    Ok(carried)
}

/// Runs a body on values of its parameters.
pub(crate) fn call<M: Machine>(
    module: &Module,
    machine: &mut M,
    body: &Body,
    args: Values<M::Wire>,
) -> Result<Values<M::Wire>, M::Error> {
    // Room for all values is made at once.
    machine.working(body.shapes.len() as u64, |_| Ok(()))?;
    let mut env = Env::new(&body.shapes, &body.memories, 0..body.shapes.len());
    run_block(module, machine, &mut env, &body.block, args)
}

pub(crate) fn run_block<M: Machine>(
    module: &Module,
    machine: &mut M,
    env: &mut Env<'_, M::Wire>,
    block: &Block,
    args: Values<M::Wire>,
) -> Result<Values<M::Wire>, M::Error> {
    for (id, value) in block.params().zip(args) {
        define(machine, env, id, value)?;
    }
    for statement in &block.statements {
        let results = run_statement(module, machine, env, statement)?;
        for (id, value) in statement.results().zip(results) {
            define(machine, env, id, value)?;
        }
        for id in &statement.dead {
            drop(env.remove(*id));
        }
    }
    let copied = |id: &&ValueId| block.captured.binary_search(id).is_ok();
    machine.copied(block.results.iter().filter(copied).map(|id| env.get(*id).len()).sum())?;
    let results = env.results(block);
    // What the block did not read would stay until its next run, or for good.
    for id in block.params() {
        drop(env.remove(id));
    }
    Ok(results)
}

pub(crate) fn run_statement<M: Machine>(
    module: &Module,
    machine: &mut M,
    env: &mut Env<'_, M::Wire>,
    statement: &Statement,
) -> Result<Values<M::Wire>, M::Error> {
    let args = &statement.args;
    let shape = |id: ValueId| env.shape(id);
    machine
        .step(touched(statement, |id| if env.memories.keep(id) { 0 } else { shape(id).bits() }))?;
    let value = match &statement.op {
        Op::Const(constant) => Value::known((0..constant.shape.bits()).map(|i| constant.bit(i))),
        Op::Word(op @ (WordOp::Lookup | WordOp::Store), _) => {
            return run_table(machine, env, statement, *op);
        }
        Op::Word(op, attrs) => return run_word(machine, env, statement, *op, attrs),
        Op::Lanes { at, count, stride } => {
            let (width, first) = (shape(args[0]).width as usize, at.position(&env.counters));
            let lanes = env.get(args[0]).lanes(width, first, *count as usize, *stride);
            opaque_if_moving(machine, at, lanes)?
        }
        Op::Put(at) => {
            let start = at.position(&env.counters) * shape(args[0]).width as usize;
            let mut operands = env.take(statement).into_iter();
            let (Some(value), Some(part)) = (operands.next(), operands.next()) else {
                unreachable!("the builder takes two operands")
            };
            // Wires in wires are replaced where they are.
            let value = opaque_if_moving(machine, at, value)?;
            let part = opaque_if_moving(machine, at, part)?;
            value.replaced(start, part)
        }
        Op::Gather(indices) => env.get(args[0]).gather(shape(args[0]).width as usize, indices),
        Op::Reveal => {
            let value = env.get(args[0]).clone();
            machine.reveal(value)?
        }
        Op::For { trips, body } => {
            let carried = env.take(statement);
            return machine.run_for(module, env, carried, *trips, body);
        }
        Op::Map { trips, body } => {
            let mapped = env.take(statement);
            return machine.run_map(module, env, mapped, *trips, body);
        }
        Op::If { then, otherwise } => {
            return machine.run_if(module, env, statement, then, otherwise);
        }
        Op::Call(function) => {
            let args = env.take(statement);
            return match &module.functions[function.0 as usize].code {
                Code::Body(body) => call(module, machine, body, args),
                Code::Gates(circuit) => gates(machine, circuit, args),
            };
        }
    };
    Ok(vec![value])
}

/// Bits that a statement gives, reads as a whole or copies.
fn touched(statement: &Statement, bits: impl Fn(ValueId) -> usize) -> usize {
    let args = &statement.args;
    let results: usize = statement.results().map(&bits).sum();
    let copied = |place: usize| if statement.uses_up(place) { 0 } else { bits(args[place]) };
    match &statement.op {
        // What is used up is changed where it is.
        Op::Put(_) => bits(args[1]) + copied(0),
        Op::Word(WordOp::Slice, _) => results,
        // What is used up goes on as it is.
        Op::Word(WordOp::Reshape, _) => copied(0),
        // Layers of adders, each two thirds of the one before.
        Op::Word(WordOp::Sum | WordOp::SumS, _) => results.saturating_add(3 * bits(args[0])),
        Op::Word(..) => args.iter().map(|id| bits(*id)).fold(results, usize::max),
        Op::For { .. } | Op::Map { .. } | Op::Call(_) => {
            (0..args.len()).map(copied).fold(results, usize::saturating_add)
        }
        _ => results,
    }
}

fn gates<M: Machine>(
    machine: &mut M,
    circuit: &Circuit,
    args: Values<M::Wire>,
) -> Result<Values<M::Wire>, M::Error> {
    let args: Vec<_> = args.into_iter().map(Value::into_bits).collect();
    let results = machine
        .working(circuit.wires() as u64, |machine| circuit.run(&mut Fold::new(machine), &args))?;
    Ok(results.into_iter().map(Value::of).collect())
}

fn run_word<M: Machine>(
    machine: &mut M,
    env: &mut Env<'_, M::Wire>,
    statement: &Statement,
    op: WordOp,
    attrs: &[u32],
) -> Result<Values<M::Wire>, M::Error> {
    let args = &statement.args;
    let shapes: Vec<Shape> = args.iter().map(|id| env.shape(*id)).collect();
    if op == WordOp::Reshape {
        return machine.working(work(op, attrs, &shapes), |_| Ok(env.take(statement)));
    }
    let operands: Vec<_> = args.iter().map(|id| (env.shape(*id), env.get(*id))).collect();
    if is_each_lane(op) {
        // The machine tells itself how many lanes it looks at.
        return apply(machine, op, attrs, &operands);
    }
    machine.working(work(op, attrs, &shapes), |machine| apply(machine, op, attrs, &operands))
}

/// `lookup` and `store` of wires alone, on a memory. Where something is public, folding costs less.
fn run_table<M: Machine>(
    machine: &mut M,
    env: &mut Env<'_, M::Wire>,
    statement: &Statement,
    op: WordOp,
) -> Result<Values<M::Wire>, M::Error> {
    let args = &statement.args;
    if let Value::Memory(ram) = env.get(args[0]) {
        return access(machine, env, statement, op, Rc::clone(ram));
    }
    let wires = |id: &ValueId| env.get(*id).secret().map(<[_]>::to_vec);
    let others: Option<Vec<Vec<M::Wire>>> = args[1..].iter().map(wires).collect();
    let (Some(others), Some(_)) = (others, env.get(args[0]).secret()) else {
        return run_word(machine, env, statement, op, &[]);
    };
    let shapes: Vec<Shape> = args.iter().map(|id| env.shape(*id)).collect();
    // A table that is used up becomes the memory; of any other, a copy does.
    let table = env.move_out(&args[..1], |_| statement.uses_up(0)).remove(0);
    let rows = rows_of(table.secret().unwrap_or_default(), shapes[0]);
    drop(table);
    let bits = machine.working(work(op, &[], &shapes), |machine| {
        if op == WordOp::Lookup {
            let places: Vec<_> = others[0].chunks(shapes[1].width as usize).collect();
            return machine.lookup(rows, &places);
        }
        machine.store(rows, &others[0], &others[1], &others[2][0])
    })?;
    Ok(vec![Value::Secret(bits)])
}

/// Gives a value its number: in a memory if one begins or goes on with it.
pub(crate) fn define<M: Machine>(
    machine: &mut M,
    env: &mut Env<'_, M::Wire>,
    id: ValueId,
    value: Value<M::Wire>,
) -> Result<(), M::Error> {
    let value = match (env.memories.start(id), value) {
        (Some(plan), value) if machine.memories().is_some() => {
            let rows = if plan.needs.is_given {
                Some(rows_of(&wires(machine, value)?, env.shape(id)))
            } else {
                None
            };
            Value::Memory(Rc::new(RefCell::new(machine.begin(plan, rows)?)))
        }
        (_, Value::Memory(ram)) if !env.memories.keep(id) => {
            Value::Secret(machine.rows(&mut ram.borrow_mut())?)
        }
        (_, value) => value,
    };
    env.put(id, value);
    Ok(())
}

/// `lookup` and `store` on a memory, at secret places or public ones.
fn access<M: Machine>(
    machine: &mut M,
    env: &Env<'_, M::Wire>,
    statement: &Statement,
    op: WordOp,
    ram: Shared<M::Wire>,
) -> Result<Values<M::Wire>, M::Error> {
    let [_, others @ ..] = &statement.args[..] else { unreachable!("there is a table") };
    let width = env.shape(others[0]).width as usize;
    let others = others.iter().map(|id| wires(machine, env.get(*id).clone()));
    let others = others.collect::<Result<Vec<_>, _>>()?;
    let mut memory = ram.borrow_mut();
    if op == WordOp::Lookup {
        let is_update = env.memories.updates(ValueId(statement.first_result));
        let mut words = Vec::new();
        for place in others[0].chunks(width) {
            let step = if is_update { Step::Take(place) } else { Step::Read(place) };
            words.extend(machine.access(&mut memory, step)?);
        }
        return Ok(vec![Value::Secret(words)]);
    }
    let (place, word, enable) = (&others[0][..], &others[1][..], &others[2][0]);
    let step = if memory.is_in_hand() {
        Step::Put(word, enable)
    } else {
        Step::Write(place, word, enable)
    };
    machine.access(&mut memory, step)?;
    drop(memory);
    Ok(vec![Value::Memory(ram)])
}

pub(crate) fn wires<M: Machine>(
    machine: &mut M,
    value: Value<M::Wire>,
) -> Result<Vec<M::Wire>, M::Error> {
    match value {
        Value::Secret(wires) => Ok(wires),
        Value::Memory(_) => in_memory(),
        Value::Mixed(bits) => {
            let mut fold = Fold::new(machine);
            bits.into_iter().map(|bit| fold.unfold(bit)).collect()
        }
    }
}

/// The wires of each value.
pub(crate) fn all_wires<M: Machine>(
    machine: &mut M,
    values: Values<M::Wire>,
) -> Result<Vec<Vec<M::Wire>>, M::Error> {
    values.into_iter().map(|value| wires(machine, value)).collect()
}

/// Constants become wires, so that every iteration costs the same.
pub(crate) fn opaque<M: Machine>(
    machine: &mut M,
    values: Values<M::Wire>,
) -> Result<Values<M::Wire>, M::Error> {
    let wires = |value| match value {
        Value::Memory(ram) => Ok(Value::Memory(ram)),
        value => wires(machine, value).map(Value::Secret),
    };
    values.into_iter().map(wires).collect()
}

fn opaque_if_moving<M: Machine>(
    machine: &mut M,
    at: &Affine,
    value: Value<M::Wire>,
) -> Result<Value<M::Wire>, M::Error> {
    if at.terms.is_empty() { Ok(value) } else { wires(machine, value).map(Value::Secret) }
}
