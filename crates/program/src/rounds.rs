//! The body of a loop as a tape: recorded once, played in every round.
//!
//! A round reads words of values from around it, at places that move with the counters, and replaces the values that go on to the next round, or words
//! of them. The tape is what is between. Where all of a body works on as many lanes of vectors, it is the tape of one of them.

use std::collections::BTreeMap;

use cenote_circuit::{MAX_TAPE, Operand, Order, Starts, Tape, TapeRecorder, TapeWire};

use crate::each_lane::is_each_lane;
use crate::fold::Folded;
use crate::module::{Code, Module};
use crate::op::{Affine, Block, Op, Statement, ValueId, WordOp};
use crate::run::{Env, Machine, all_wires, define, run_statement, wires};
use crate::run_value::{Value, Values};

/// Words that a round reads, at most.
const MOST_READS: usize = 32;
/// Rounds from which on recording one costs little.
const FEWEST_ROUNDS: u32 = 8;
/// Lanes from which on they are played side by side.
const SIDE_BY_SIDE: u32 = 8;

/// Where a value of a round is from.
enum Origin<'a> {
    /// It goes on from round to round, and is as the round before left it.
    Carried(usize),
    /// It is of the blocks around the loop.
    Around,
    /// A carried one with words replaced.
    Replaced(usize, &'a [(Affine, ValueId)]),
    /// The round makes it.
    Made,
}

/// Words that are read as a value of the round.
struct Read {
    id: ValueId,
    of: ValueId,
    at: Affine,
    count: u32,
    stride: i64,
}

/// A value of the round that replaces a carried one, or words of it.
struct Write {
    carried: usize,
    at: Option<Affine>,
    value: ValueId,
}

/// What a body reads, does and writes.
struct Outline<'b, 'e, W> {
    env: &'e Env<'e, W>,
    body: &'b Block,
    replaced: BTreeMap<ValueId, (usize, Vec<(Affine, ValueId)>)>,
    reads: Vec<Read>,
    does: Vec<&'b Statement>,
    writes: Vec<Write>,
    /// Lanes of the widest vector that it works on.
    lanes: u32,
}

impl<'b, 'e, W: Clone> Outline<'b, 'e, W> {
    /// None if a round is no tape.
    fn of(module: &Module, env: &'e Env<'e, W>, body: &'b Block) -> Option<Self> {
        let is_gates = |statement: &Statement| match &statement.op {
            Op::Call(function) => {
                matches!(module.functions[function.0 as usize].code, Code::Gates(_))
            }
            _ => true,
        };
        let is_memory = |number: usize| env.memories.keep(ValueId(number as u32));
        if !body.statements.iter().all(is_gates) || body.numbers().any(is_memory) {
            return None;
        }
        let (replaced, reads, does, writes) = (BTreeMap::new(), Vec::new(), Vec::new(), Vec::new());
        let mut outline = Outline { env, body, replaced, reads, does, writes, lanes: 1 };
        body.statements.iter().try_for_each(|statement| outline.statement(statement))?;
        for (carried, id) in body.results.iter().enumerate() {
            outline.result(carried, *id)?;
        }
        let fits = outline.reads.len() <= MOST_READS
            && if outline.is_side_by_side() { outline.fits_lanes() } else { outline.fits_one() };
        fits.then_some(outline)
    }

    fn origin(&self, id: ValueId) -> Origin<'_> {
        if let Some((carried, words)) = self.replaced.get(&id) {
            return Origin::Replaced(*carried, words);
        }
        match id.index().checked_sub(self.body.first_param as usize) {
            None => Origin::Around,
            Some(param) if param < self.body.params as usize => Origin::Carried(param),
            Some(_) => Origin::Made,
        }
    }

    fn statement(&mut self, statement: &'b Statement) -> Option<()> {
        let args = &statement.args;
        match &statement.op {
            Op::For { .. } | Op::Map { .. } | Op::If { .. } | Op::Reveal => return None,
            Op::Word(WordOp::Lookup | WordOp::Store, _) => return None,
            Op::Lanes { at, count, stride } => match self.origin(args[0]) {
                Origin::Carried(_) | Origin::Around => {
                    let id = ValueId(statement.first_result);
                    let (at, count, stride) = (at.clone(), *count, *stride);
                    self.reads.push(Read { id, of: args[0], at, count, stride });
                    return Some(());
                }
                Origin::Made if at.terms.is_empty() => {}
                Origin::Made | Origin::Replaced(..) => return None,
            },
            Op::Put(at) => {
                let (carried, mut words) = match self.origin(args[0]) {
                    Origin::Carried(carried) => (carried, Vec::new()),
                    Origin::Replaced(carried, words) => (carried, words.to_vec()),
                    Origin::Made if at.terms.is_empty() => return self.does(statement),
                    Origin::Made | Origin::Around => return None,
                };
                words.push((at.clone(), args[1]));
                self.replaced.insert(ValueId(statement.first_result), (carried, words));
                return self.reads_whole(args[1]);
            }
            Op::Const(_) | Op::Word(..) | Op::Gather(_) | Op::Call(_) => {}
        }
        self.does(statement)
    }

    fn does(&mut self, statement: &'b Statement) -> Option<()> {
        statement.args.iter().try_for_each(|id| self.reads_whole(*id))?;
        if !matches!(statement.op, Op::Const(_)) {
            let all = statement.args.iter().copied().chain(statement.results());
            self.lanes = all.map(|id| self.env.shape(id).lanes).fold(self.lanes, u32::max);
        }
        self.does.push(statement);
        Some(())
    }

    /// A value is used as it is.
    fn reads_whole(&mut self, id: ValueId) -> Option<()> {
        match self.origin(id) {
            Origin::Made => return Some(()),
            Origin::Replaced(..) => return None,
            Origin::Carried(_) | Origin::Around => {}
        }
        if !self.reads.iter().any(|read| read.id == id) {
            let (at, count) = (Affine::at(0), self.env.shape(id).lanes);
            self.reads.push(Read { id, of: id, at, count, stride: 1 });
        }
        Some(())
    }

    fn result(&mut self, carried: usize, id: ValueId) -> Option<()> {
        match self.origin(id) {
            Origin::Carried(same) if same == carried => {}
            Origin::Replaced(of, words) => {
                let write = |(at, value): &(Affine, ValueId)| Write {
                    carried,
                    at: Some(at.clone()),
                    value: *value,
                };
                let writes: Vec<Write> = words.iter().map(write).collect();
                if of != carried {
                    return None;
                }
                self.writes.extend(writes);
            }
            Origin::Carried(_) | Origin::Around | Origin::Made => {
                self.reads_whole(id)?;
                self.writes.push(Write { carried, at: None, value: id });
            }
        }
        Some(())
    }

    fn is_side_by_side(&self) -> bool {
        self.lanes >= SIDE_BY_SIDE
    }

    /// Whether no vector is so long that its lanes had better be played side by side, and what is read is in one piece.
    fn fits_one(&self) -> bool {
        self.reads
            .iter()
            .all(|read| read.count < SIDE_BY_SIDE && (read.stride == 1 || read.count == 1))
    }

    /// Whether each lane of what is made and written comes from the same lane of what is read, or from what is the same for all.
    fn fits_lanes(&self) -> bool {
        let lanes = |id: ValueId| self.env.shape(id).lanes;
        let is_scalar = |id: ValueId| lanes(id) == 1;
        let does = |statement: &&Statement| match &statement.op {
            Op::Const(constant) => {
                let width = constant.shape.width as usize;
                (width..constant.shape.bits()).all(|i| constant.bit(i) == constant.bit(i - width))
            }
            // What selects for all lanes at once may be cheaper together.
            Op::Word(WordOp::Mux, _) if is_scalar(statement.args[0]) => false,
            Op::Word(op, _) => {
                is_lane_wise(*op) && statement.results().all(|id| lanes(id) == self.lanes)
            }
            _ => false,
        };
        self.does.iter().all(does)
            && self.reads.iter().all(|read| {
                let many = read.count == self.lanes && read.stride >= 1;
                many || read.count == 1
            })
            && self.writes.iter().all(|write| lanes(write.value) == self.lanes)
    }
}

/// Whether each lane of the results comes from the same lane of the operands.
fn is_lane_wise(op: WordOp) -> bool {
    use WordOp::*;
    is_each_lane(op)
        || matches!(op, Xor | And | Or | Not | Mux | Slice | Concat | Zext | Sext)
        || matches!(op, Shl | Shr | Sar | Rotl)
}

/// The rounds of a loop as a tape.
pub(crate) struct Rounds<W> {
    tape: Tape,
    lanes: usize,
    /// The words that it reads: of which value, where, how many bits of each lane, and how far apart those of two lanes are.
    reads: Vec<(Source, Place, usize, usize)>,
    /// The values of the blocks around that it reads.
    around: Vec<Vec<W>>,
    /// The words that it writes: into which value, and where.
    writes: Vec<(usize, Option<Place>)>,
}

#[derive(Clone, Copy)]
enum Source {
    Carried(usize),
    Around(usize),
}

/// The first bit of words of so many bits.
struct Place(Affine, usize);

impl Place {
    fn bit(&self, counters: &[u32]) -> usize {
        self.0.position(counters) * self.1
    }
}

impl<W: Clone> Rounds<W> {
    /// Records a round of a loop that begins with these values; gives nothing, and has done nothing, if it is no tape.
    pub(crate) fn of<M: Machine<Wire = W>>(
        module: &Module,
        machine: &mut M,
        env: &Env<'_, W>,
        carried: &[Value<W>],
        trips: u32,
        body: &Block,
    ) -> Result<Option<Rounds<W>>, M::Error> {
        let is_memory = |value: &Value<W>| matches!(value, Value::Memory(_));
        if trips < FEWEST_ROUNDS || carried.iter().any(is_memory) {
            return Ok(None);
        }
        let Some(outline) = Outline::of(module, env, body) else { return Ok(None) };
        let Some(tape) = outline.tape(module) else { return Ok(None) };
        let mut around = Vec::new();
        let mut reads = Vec::with_capacity(outline.reads.len());
        for read in &outline.reads {
            let width = env.shape(read.of).width as usize;
            let mut place = Place(read.at.clone(), width);
            let source = match outline.origin(read.of) {
                Origin::Carried(carried) => Source::Carried(carried),
                _ => {
                    around.push(match outline.partly_known(read) {
                        Some(bits) => {
                            place = Place(Affine::at(0), width);
                            unknown(&bits)
                        }
                        None => wires(machine, env.get(read.of).clone())?,
                    });
                    Source::Around(around.len() - 1)
                }
            };
            let stride = if read.count == 1 { 0 } else { width * read.stride as usize };
            reads.push((source, place, outline.bits(read), stride));
        }
        let place = |write: &Write| {
            let width = env.shape(write.value).width as usize;
            (write.carried, write.at.clone().map(|at| Place(at, width)))
        };
        let writes = outline.writes.iter().map(place).collect();
        let lanes = if outline.is_side_by_side() { outline.lanes as usize } else { 1 };
        Ok(Some(Rounds { tape, lanes, reads, around, writes }))
    }

    /// What recording it looked at.
    pub(crate) fn size(&self) -> usize {
        self.tape.inputs() + self.tape.steps().len()
    }

    /// Plays so many rounds; gives what the last one leaves. `counters` are those of the loops around.
    pub(crate) fn play<M: Machine<Wire = W>>(
        &self,
        machine: &mut M,
        counters: &mut Vec<u32>,
        carried: Values<W>,
        trips: u32,
    ) -> Result<Values<W>, M::Error> {
        let mut carried = all_wires(machine, carried)?;
        let mut written = vec![Vec::new(); self.writes.len()];
        let moved = (self.tape.inputs() + self.tape.outputs()) * self.lanes;
        for counter in 0..trips {
            machine.step(moved)?;
            counters.push(counter);
            let mut operands = [Operand::same(&[]); MOST_READS];
            for (operand, (source, place, bits, stride)) in operands.iter_mut().zip(&self.reads) {
                let wires = match *source {
                    Source::Carried(number) => &carried[number],
                    Source::Around(number) => &self.around[number],
                };
                let starts = Starts::Every { first: place.bit(counters), stride: *stride };
                *operand = Operand { wires, bits: *bits, starts };
            }
            machine.play(&self.tape, self.lanes, &operands[..self.reads.len()], &mut written)?;
            for ((number, place), new) in self.writes.iter().zip(&mut written) {
                match place {
                    None => std::mem::swap(&mut carried[*number], new),
                    Some(place) => {
                        let old = &mut carried[*number][place.bit(counters)..][..new.len()];
                        old.swap_with_slice(new);
                    }
                }
                new.clear();
            }
            counters.pop();
        }
        Ok(carried.into_iter().map(Value::Secret).collect())
    }
}

/// The wires among bits of which some are known.
fn unknown<W: Clone>(bits: &[Folded<W>]) -> Vec<W> {
    bits.iter().filter_map(Folded::wire).collect()
}

impl<W: Clone> Outline<'_, '_, W> {
    /// What is read of a value of the blocks around of which something is known, as folding sees it: not where it moves.
    fn partly_known(&self, read: &Read) -> Option<Vec<Folded<W>>> {
        let is_around = matches!(self.origin(read.of), Origin::Around);
        match is_around.then(|| self.env.get(read.of))? {
            value @ Value::Mixed(_) if read.at.terms.is_empty() => {
                let (first, width) = (read.at.position(&[]), self.env.shape(read.of).width);
                let lanes = value.lanes(width as usize, first, read.count as usize, read.stride);
                let mut bits = lanes.into_bits();
                if self.is_side_by_side() && self.is_same_for_all(read, &bits) {
                    bits.truncate(width as usize);
                }
                Some(bits)
            }
            Value::Memory(_) | Value::Secret(_) | Value::Mixed(_) => None,
        }
    }

    /// Whether these bits are known, and the same in each lane.
    fn is_same_for_all(&self, read: &Read, bits: &[Folded<W>]) -> bool {
        let width = self.env.shape(read.of).width as usize;
        let known = |bit: &Folded<W>| match bit {
            Folded::Known(bit) => Some(*bit),
            Folded::Wire(_) => None,
        };
        let (first, others) = bits.split_at(width.min(bits.len()));
        first.iter().all(|bit| known(bit).is_some())
            && others.iter().map(known).eq(first.iter().map(known).cycle().take(others.len()))
    }

    /// Bits of each lane that are read.
    fn bits(&self, read: &Read) -> usize {
        if let Some(bits) = self.partly_known(read) {
            return unknown(&bits).len();
        }
        let words = if self.is_side_by_side() { 1 } else { read.count as usize };
        words * self.env.shape(read.of).width as usize
    }

    /// Whether lanes differ in what is known of them, or rows in a memory are read.
    fn is_no_input(&self, read: &Read) -> bool {
        if let Some(bits) = self.partly_known(read) {
            return self.is_side_by_side() && read.count > 1 && !self.is_same_for_all(read, &bits);
        }
        let is_around = matches!(self.origin(read.of), Origin::Around);
        is_around && matches!(self.env.get(read.of), Value::Memory(_))
    }

    /// Runs the body once on a recorder.
    fn tape(&self, module: &Module) -> Option<Tape> {
        let inputs = self.reads.iter().map(|read| self.bits(read)).sum();
        if inputs > MAX_TAPE || self.reads.iter().any(|read| self.is_no_input(read)) {
            return None;
        }
        let (mut recorder, inputs) = TapeRecorder::new(inputs);
        let mut inputs = inputs.into_iter();
        let mut env = self.env.round(self.body, self.is_side_by_side());
        for read in &self.reads {
            let value = match self.partly_known(read) {
                Some(bits) => {
                    let bit = |bit: &Folded<W>| match bit {
                        Folded::Known(bit) => Some(Folded::Known(*bit)),
                        Folded::Wire(_) => inputs.next().map(Folded::Wire),
                    };
                    Value::of(bits.iter().filter_map(bit).collect())
                }
                None => Value::Secret(inputs.by_ref().take(self.bits(read)).collect()),
            };
            env.set(read.id, value);
        }
        for statement in &self.does {
            self.record(module, &mut recorder, &mut env, statement)?;
        }
        let word = |write: &Write| wires(&mut recorder, env.get(write.value).clone()).ok();
        let words = self.writes.iter().map(word).collect::<Option<Vec<_>>>()?;
        let lanes = if self.is_side_by_side() { self.lanes as usize } else { 1 };
        Some(recorder.finish(&words, Order::of_lanes(lanes)))
    }

    fn record(
        &self,
        module: &Module,
        recorder: &mut TapeRecorder,
        env: &mut Env<'_, TapeWire>,
        statement: &Statement,
    ) -> Option<()> {
        let values = match &statement.op {
            Op::Const(constant) if self.is_side_by_side() => {
                let width = constant.shape.width as usize;
                vec![Value::known((0..width).map(|i| constant.bit(i)))]
            }
            _ => run_statement(module, recorder, env, statement).ok()?,
        };
        for (id, value) in statement.results().zip(values) {
            define(recorder, env, id, value).ok()?;
        }
        Some(())
    }
}
