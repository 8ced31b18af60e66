//! The body of a loop as a tape: recorded once, played in every round.
//!
//! A round reads words of values from around it, at places that move with the counters, and replaces the values that go on to the next round, or words
//! of them. The tape is what is between. Where all of a body works on as many lanes of vectors, it is the tape of one of them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use cenote_circuit::{MAX_TAPE, Operand, Order, Starts, Tape, TapeRecorder, TapeWire};

use crate::each_lane::is_each_lane;
use crate::fold::Folded;
use crate::module::{Code, Module};
use crate::op::{Affine, Block, Op, Statement, ValueId, WordOp};
use crate::run::{Env, Machine, all_wires, define, run_statement, wires};
use crate::run_value::{Value, Values};
use crate::tapes::{Input, Place, Rounds, Source};

/// Words that a round reads, at most.
const MOST_READS: usize = 32;
/// Words that a round puts into one value, at most.
const MOST_PUTS: usize = 32;
/// Rounds from which on recording one costs little.
const FEWEST_ROUNDS: u32 = 8;
/// Lanes from which on they are played side by side.
const SIDE_BY_SIDE: u32 = 8;
/// Bits of a lane up to which gates one by one take no longer than statements that do all bits at once.
const NARROW: usize = 128;

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
        let fits = outline.is_narrow()
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
                    return self.read(Read { id, of: args[0], at, count, stride });
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
                if words.len() == MOST_PUTS {
                    return None;
                }
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
        if self.reads.iter().any(|read| read.id == id) {
            return Some(());
        }
        let (at, count) = (Affine::at(0), self.env.shape(id).lanes);
        self.read(Read { id, of: id, at, count, stride: 1 })
    }

    fn read(&mut self, read: Read) -> Option<()> {
        self.reads.push(read);
        (self.reads.len() <= MOST_READS).then_some(())
    }

    fn result(&mut self, carried: usize, id: ValueId) -> Option<()> {
        match self.origin(id) {
            Origin::Carried(same) if same == carried => {}
            Origin::Replaced(of, _) if of != carried => return None,
            Origin::Replaced(_, words) => {
                let write = |(at, value): (Affine, ValueId)| Write { carried, at: Some(at), value };
                let words = words.to_vec();
                self.writes.extend(words.into_iter().map(write));
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

    /// Lanes that the tape is played on.
    fn played(&self) -> usize {
        if self.is_side_by_side() { self.lanes as usize } else { 1 }
    }

    /// Whether no value is so wide that its bits had better be worked on side by side.
    fn is_narrow(&self) -> bool {
        let lanes = |lanes: u32| if self.is_side_by_side() { 1 } else { lanes as usize };
        let is_narrow =
            |id: ValueId, count: u32| lanes(count) * self.env.shape(id).width as usize <= NARROW;
        let made = |id: ValueId| is_narrow(id, self.env.shape(id).lanes);
        self.does.iter().all(|statement| statement.results().all(made))
            && self.reads.iter().all(|read| is_narrow(read.of, read.count))
    }

    /// Whether what is read is in one piece.
    fn fits_one(&self) -> bool {
        self.reads.iter().all(|read| read.stride == 1 || read.count == 1)
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

/// The rounds of a loop, and the wires of what they read of values of which something is known.
pub(crate) struct Recorded<W> {
    pub(crate) rounds: Rc<Rounds>,
    known: Vec<Vec<W>>,
}

impl<W: Clone> Recorded<W> {
    /// Records a round; gives nothing if it is no tape.
    pub(crate) fn of<M: Machine<Wire = W>>(
        module: &Module,
        machine: &mut M,
        env: &Env<'_, W>,
        trips: u32,
        body: &Block,
    ) -> Result<Option<Recorded<W>>, M::Error> {
        if trips < FEWEST_ROUNDS {
            return Ok(None);
        }
        let tapes = machine.tapes();
        let remembered = tapes.as_ref().and_then(|tapes| tapes.rounds(body));
        match remembered {
            Some(None) => return Ok(None),
            Some(Some(rounds)) if reads_wires_alone(&rounds, env) => {
                return Ok(Some(Recorded { rounds, known: Vec::new() }));
            }
            _ => {}
        }
        let outline = Outline::of(module, env, body);
        let Some(outline) = outline else {
            tapes.inspect(|tapes| tapes.remember_rounds(body, None));
            return Ok(None);
        };
        let (mut inputs, mut known) = (Vec::with_capacity(outline.reads.len()), Vec::new());
        for read in &outline.reads {
            let Some(input) = outline.input(read, trips, known.len()) else { return Ok(None) };
            if let Source::Known(_) = input.input.of {
                known.push(match &input.folded {
                    Some(bits) => bits.iter().filter_map(Folded::wire).collect(),
                    None => wires(machine, env.get(read.of).clone())?,
                });
            }
            inputs.push(input);
        }
        let Some(tape) = outline.tape(module, &inputs) else { return Ok(None) };
        let place = |write: &Write| {
            let width = env.shape(write.value).width as usize;
            (write.carried, write.at.clone().map(|at| Place(at, width)))
        };
        let writes = outline.writes.iter().map(place).collect();
        let reads = inputs.into_iter().map(|resolved| resolved.input).collect();
        let rounds = Rc::new(Rounds { tape, lanes: outline.played(), reads, writes });
        if known.is_empty() {
            tapes.inspect(|tapes| tapes.remember_rounds(body, Some(&rounds)));
        }
        Ok(Some(Recorded { rounds, known }))
    }

    /// Plays so many rounds; gives what the last one leaves.
    pub(crate) fn play<M: Machine<Wire = W>>(
        &self,
        machine: &mut M,
        env: &Env<'_, W>,
        carried: Values<W>,
        trips: u32,
    ) -> Result<Values<W>, M::Error> {
        let Rounds { tape, lanes, reads, writes } = &*self.rounds;
        let mut carried = all_wires(machine, carried)?;
        let mut written = vec![Vec::new(); writes.len()];
        let mut counters = env.counters.clone();
        for counter in 0..trips {
            counters.push(counter);
            let mut operands = [Operand::same(&[]); MOST_READS];
            for (operand, read) in operands.iter_mut().zip(reads) {
                let wires = match read.of {
                    Source::Carried(number) => &carried[number],
                    Source::Around(id) => env.get(id).secret().unwrap_or_default(),
                    Source::Known(number) => &self.known[number],
                };
                let (first, stride) = (read.place.bit(&counters), read.stride);
                *operand =
                    Operand { wires, bits: read.bits, starts: Starts::Every { first, stride } };
            }
            machine.play(tape, *lanes, &operands[..reads.len()], &mut written)?;
            for ((number, place), new) in writes.iter().zip(&mut written) {
                match place {
                    None => std::mem::swap(&mut carried[*number], new),
                    Some(place) => {
                        let old = &mut carried[*number][place.bit(&counters)..][..new.len()];
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

/// Whether all that rounds read of values around is wires, as it was when they were recorded.
fn reads_wires_alone<W: Clone>(rounds: &Rounds, env: &Env<'_, W>) -> bool {
    rounds.reads.iter().all(|read| match read.of {
        Source::Carried(_) => true,
        Source::Around(id) => env.get(id).secret().is_some(),
        Source::Known(_) => false,
    })
}

/// Where what a round reads is from, and its bits in the tape where something of them is known.
struct Resolved<W> {
    input: Input,
    folded: Option<Vec<Folded<W>>>,
}

impl<W: Clone> Outline<'_, '_, W> {
    /// None if lanes differ in what is known of them, if rows in a memory are read, or if many more bits would become wires than rounds read.
    fn input(&self, read: &Read, trips: u32, known: usize) -> Option<Resolved<W>> {
        let width = self.env.shape(read.of).width as usize;
        let words = if self.is_side_by_side() { 1 } else { read.count as usize };
        let stride = if read.count == 1 { 0 } else { width * read.stride as usize };
        let (mut folded, mut place) = (None, Place(read.at.clone(), width));
        let of = match self.origin(read.of) {
            Origin::Carried(carried) => Source::Carried(carried),
            _ => match self.env.get(read.of) {
                Value::Secret(_) => Source::Around(read.of),
                Value::Memory(_) => return None,
                value if read.at.terms.is_empty() => {
                    folded = Some(self.folded(read, value)?);
                    place = Place(Affine::at(0), width);
                    Source::Known(known)
                }
                value => {
                    let all = (trips as usize).saturating_mul(words * width * self.played());
                    if value.len() / 4 > all {
                        return None;
                    }
                    Source::Known(known)
                }
            },
        };
        let bits = match &folded {
            Some(bits) => bits.iter().filter(|bit| bit.wire().is_some()).count(),
            None => words * width,
        };
        // A lane of which all is known has no wires.
        let stride = if bits == 0 { 0 } else { stride };
        Some(Resolved { input: Input { of, place, bits, stride }, folded })
    }

    /// What is read of a value of which something is known, as folding sees it: the same in all lanes.
    fn folded(&self, read: &Read, value: &Value<W>) -> Option<Vec<Folded<W>>> {
        let width = self.env.shape(read.of).width as usize;
        let first = read.at.position(&[]);
        if read.count as usize * width > MAX_TAPE {
            return None;
        }
        let mut bits = value.lanes(width, first, read.count as usize, read.stride).into_bits();
        if self.is_side_by_side() && read.count > 1 {
            let known = |bit: &Folded<W>| match bit {
                Folded::Known(bit) => Some(*bit),
                Folded::Wire(_) => None,
            };
            let (one, others) = bits.split_at(width);
            let is_known = one.iter().all(|bit| known(bit).is_some());
            let is_same =
                others.iter().map(known).eq(one.iter().map(known).cycle().take(others.len()));
            if !is_known || !is_same {
                return None;
            }
            bits.truncate(width);
        }
        Some(bits)
    }

    /// Runs the body once on a recorder.
    fn tape(&self, module: &Module, reads: &[Resolved<W>]) -> Option<Tape> {
        let inputs = reads.iter().map(|read| read.input.bits).sum();
        if inputs > MAX_TAPE {
            return None;
        }
        let (mut recorder, inputs) = TapeRecorder::new(inputs);
        let mut inputs = inputs.into_iter();
        let mut env = self.env.round(self.body, self.is_side_by_side());
        for (read, Resolved { input, folded }) in self.reads.iter().zip(reads) {
            let bit = |bit: &Folded<W>| match bit {
                Folded::Known(bit) => Some(Folded::Known(*bit)),
                Folded::Wire(_) => inputs.next().map(Folded::Wire),
            };
            let value = match folded {
                Some(bits) => Value::of(bits.iter().filter_map(bit).collect()),
                None => Value::Secret(inputs.by_ref().take(input.bits).collect()),
            };
            env.set(read.id, value);
        }
        for statement in &self.does {
            self.record(module, &mut recorder, &mut env, statement)?;
        }
        let word = |write: &Write| wires(&mut recorder, env.get(write.value).clone()).ok();
        let words = self.writes.iter().map(word).collect::<Option<Vec<_>>>()?;
        Some(recorder.finish(&words, Order::of_lanes(self.played())))
    }

    fn record(
        &self,
        module: &Module,
        recorder: &mut TapeRecorder,
        env: &mut Env<'_, TapeWire>,
        statement: &Statement,
    ) -> Option<()> {
        // What is put is not done with where it is read last.
        let is_written = |id: &ValueId| self.writes.iter().any(|write| write.value == *id);
        let mut statement = Cow::Borrowed(statement);
        if statement.dead.iter().any(is_written) {
            statement.to_mut().dead.retain(|id| !is_written(id));
        }
        let values = match &statement.op {
            Op::Const(constant) if self.is_side_by_side() => {
                let width = constant.shape.width as usize;
                vec![Value::known((0..width).map(|i| constant.bit(i)))]
            }
            _ => run_statement(module, recorder, env, &statement).ok()?,
        };
        for (id, value) in statement.results().zip(values) {
            define(recorder, env, id, value).ok()?;
        }
        for id in &statement.dead {
            drop(env.remove(*id));
        }
        Some(())
    }
}
