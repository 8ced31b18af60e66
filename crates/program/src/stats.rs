//! The cost of a module, counted on its structure: each loop body once, whatever the trips.

mod accesses;
mod course;
mod tapes;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use cenote_circuit::{
    Broken, Draw, Gates, Operand, Plan, Price, Ram, Reactive, Receivers, Role, Rows, Start, Tape,
    runs,
};
use serde::{Deserialize, Serialize};

use crate::apply::{lookup, store, work};
use crate::each_lane::{EachLane, each_lane, groups};
use crate::fold::Folded;
use crate::infer::bits_for;
use crate::liveness::alive_bits;
use crate::memory::{DynReactive, Held, Step};
use crate::module::{Body, LastingRam, Module, NamedMemory};
use crate::op::{Block, Statement, WordOp};
use crate::rounds::Recorded;
use crate::run::{Env, Machine, all_wires, call, map_group, opaque, run_block, wires};
use crate::run_value::{Value, Values, in_memory};
use crate::shape::Shape;
pub use accesses::Accesses;
use course::Course;

/// The cost of a module on any backend. Gates are exact for a module without `if` and `reveal`, and
/// else a bound: of each figure the larger of the branches counts, and opened bits count as
/// secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// ANDs, those of multiplexers included.
    pub ands: u64,
    /// XORs.
    pub xors: u64,
    /// Negations.
    pub nots: u64,
    /// ANDs on the longest path, at most: iterations of a loop count as one after the other.
    pub depth: u64,
    /// Batches of independent ANDs, at most: words of few lanes and maps of few iterations run by layers.
    pub batches: u64,
    /// Batches of XORs; each negation is one as well.
    pub linear_batches: u64,
    /// Batches of either kind that are no gate alone.
    pub calls: u64,
    /// Multiplexers by their number of bits; their ANDs are in `ands` as well.
    pub muxes: BTreeMap<u32, u64>,
    /// Accesses to tables at secret places, in maps aside, where every iteration looks at all of its own.
    pub memories: Vec<Accesses>,
    /// Bits of values that are alive at once, at most.
    pub live_bits: u64,
    /// The same without those that rest in memories between accesses, which some backends pack.
    pub awake_bits: u64,
    /// Input bits of the garbler.
    pub garbler_input_bits: u64,
    /// Input bits of the evaluator.
    pub evaluator_input_bits: u64,
    /// Output bits that the garbler learns.
    pub garbler_output_bits: u64,
    /// Output bits that the evaluator learns.
    pub evaluator_output_bits: u64,
    /// Times that values are opened before the end.
    pub reveals: u64,
    /// Bits that are opened before the end.
    pub revealed_bits: u64,
    /// Bits that each party enters for memories: those that are tossed, and those of permutations.
    pub tossed_bits: u64,
    /// Joint permutations of memories, and those of [`Stats::tossed_bits`] that are for them.
    pub permutations: [u64; 2],
    /// Bits of memories that outlive the run, as it finds them; of random access memories what its accesses come to, at most.
    pub found_bits: u64,
    /// How often wires of memories wake that rest, at most, with a backend that packs those.
    pub wakes: u64,
    /// Bits of such memories as it leaves them, at most.
    pub left_bits: u64,
    /// Stretches of the program with ANDs, from one value that is opened to the next, of which the
    /// last ends with the program.
    pub stretches: u64,
    /// Whether the last of them comes after the last value that is opened.
    pub ends_in_stretch: bool,
    /// Statements that are executed.
    pub statements: u64,
    /// Bits that all statements together give, read or copy: what is moved about in memory.
    pub moved_bits: u64,
    /// Those of them in values of more than 2^16 bits, which leave the caches.
    pub wide_bits: u64,
    /// Gates, statements and bits that were looked at to count the others: what counting takes.
    pub counted: u64,
}

/// A value of which nothing is known.
fn unknown(shape: Shape) -> Value<u64> {
    Value::Secret(vec![0; shape.bits()])
}

/// A module so large that even its loop bodies, each taken once, are too much to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bodies of the program have more than {0} gates to look at; write it with loops")]
pub struct StatsError(u64);

/// Gates, and steps of work that needs no gate, that are looked at before a module is refused: about a
/// second.
const MAX_COUNTED: u64 = 1 << 28;
/// The cost of a batch besides its gates, in gates of a batch.
const BATCH: usize = 8;
/// The extra cost of a gate outside of batches, in the same.
const SINGLE: usize = 2;
/// Bits of a value of which a backend no longer keeps all wires in the caches.
const WIDE: usize = 1 << 16;
/// The cost of a statement besides its bits, in gates.
const STATEMENT: usize = 64;

impl Module {
    /// Counts gates, bits and depth without expanding any loop.
    ///
    /// # Errors
    /// A module whose loop bodies alone have too many gates to look at.
    pub fn stats(&self) -> Result<Stats, StatsError> {
        self.stats_within(MAX_COUNTED)
    }

    /// [`Self::stats`] for no more than `limit` gates that are looked at, by which the time is
    /// bounded.
    ///
    /// # Errors
    /// A module that takes more.
    pub fn stats_within(&self, limit: u64) -> Result<Stats, StatsError> {
        let inputs = self.inputs.iter().map(|port| unknown(port.shape));
        let mut tally = Tally::new(limit);
        let mut params: Vec<_> = inputs.collect();
        for memory in &self.memories {
            params.push(match (memory.carried(), memory.is_new) {
                (Some(ram), _) => {
                    let ram = tally.go_on_with(memory, ram)?;
                    Value::Memory(Rc::new(RefCell::new(ram)))
                }
                (None, true) => memory.zeros(),
                (None, false) => unknown(memory.shape),
            });
            if let Some(plan) = memory.gets_rows() {
                let held = Held::of(plan, 0, Start::Rows);
                tally.keeps(plan, held, plan.start(), Price::default())?;
            }
        }
        let mut stats = self.stats_on(tally, &self.main, params)?;
        let (found, left, at_once) = self.found_and_left();
        (stats.found_bits, stats.left_bits) = (found, left);
        add(&mut stats.wakes, 1, at_once);
        let values = alive_bits(&self.main, &self.functions);
        add(&mut stats.live_bits, 1, values);
        add(&mut stats.awake_bits, 1, values);
        for port in &self.inputs {
            *match port.owner {
                Role::Garbler => &mut stats.garbler_input_bits,
                Role::Evaluator => &mut stats.evaluator_input_bits,
            } += port.shape.bits() as u64;
        }
        for port in &self.outputs {
            let bits = port.shape.bits() as u64;
            if port.receiver != Receivers::Evaluator {
                stats.garbler_output_bits += bits;
            }
            if port.receiver != Receivers::Garbler {
                stats.evaluator_output_bits += bits;
            }
        }
        Ok(stats)
    }
}

impl Module {
    /// The cost of a body with these parameters, on top of what was counted; ports are not.
    fn stats_on(
        &self,
        mut tally: Tally,
        body: &Body,
        params: Vec<Value<u64>>,
    ) -> Result<Stats, StatsError> {
        let outputs = call(self, &mut tally, body, params)?;
        opaque(&mut tally, outputs)?;
        let Tally { course, looked_at: counted, stats, .. } = tally;
        let (stretches, ends_in_stretch) = (course.stretches(), course.last);
        Ok(Stats { counted, stretches, ends_in_stretch, ..stats })
    }
}

impl Stats {
    /// Gates of all kinds.
    #[must_use]
    pub fn gates(&self) -> u64 {
        self.ands.saturating_add(self.xors).saturating_add(self.nots)
    }

    /// ANDs of all accesses to tables, those that begin a memory included.
    #[must_use]
    pub fn access_ands(&self) -> u64 {
        let ands = self.memories.iter().flat_map(|accesses| [accesses.ands, accesses.start_ands]);
        ands.fold(0, u64::saturating_add)
    }

    /// The accesses to tables of this shape that are kept so.
    fn accesses(&mut self, key: [u32; 4]) -> &mut Accesses {
        let [rows, bits, trees, levels] = key;
        let new = Accesses { rows, bits, trees, levels, ..Accesses::default() };
        let place = match self.memories.binary_search_by_key(&new.key(), Accesses::key) {
            Ok(place) => place,
            Err(place) => {
                self.memories.insert(place, new);
                place
            }
        };
        &mut self.memories[place]
    }

    /// Raises each figure to that of `other`.
    fn at_least(&mut self, other: &Stats) {
        let raise = |mine: &mut u64, theirs: u64| *mine = theirs.max(*mine);
        raise(&mut self.ands, other.ands);
        raise(&mut self.xors, other.xors);
        raise(&mut self.nots, other.nots);
        raise(&mut self.depth, other.depth);
        raise(&mut self.batches, other.batches);
        raise(&mut self.linear_batches, other.linear_batches);
        raise(&mut self.calls, other.calls);
        for (width, count) in &other.muxes {
            raise(self.muxes.entry(*width).or_default(), *count);
        }
        for theirs in &other.memories {
            let mine = self.accesses(theirs.key());
            raise(&mut mine.reads, theirs.reads);
            raise(&mut mine.writes, theirs.writes);
            raise(&mut mine.updates, theirs.updates);
            raise(&mut mine.ands, theirs.ands);
            raise(&mut mine.spare_ands, theirs.spare_ands);
            raise(&mut mine.start_ands, theirs.start_ands);
            raise(&mut mine.opens, theirs.opens);
        }
        raise(&mut self.live_bits, other.live_bits);
        raise(&mut self.awake_bits, other.awake_bits);
        raise(&mut self.wakes, other.wakes);
        raise(&mut self.reveals, other.reveals);
        raise(&mut self.revealed_bits, other.revealed_bits);
        raise(&mut self.tossed_bits, other.tossed_bits);
        for (mine, theirs) in self.permutations.iter_mut().zip(other.permutations) {
            raise(mine, theirs);
        }
        raise(&mut self.statements, other.statements);
        raise(&mut self.moved_bits, other.moved_bits);
        raise(&mut self.wide_bits, other.wide_bits);
    }
}

/// Counts gates, each as often as the loops around it run. A wire is its depth.
struct Tally {
    stats: Stats,
    /// Where it opens values, in the innermost loop.
    course: Course,
    weight: u64,
    batch_weight: u64,
    in_map: bool,
    looked_at: u64,
    limit: u64,
}

impl Tally {
    fn look(&mut self, gates: usize) -> Result<(), StatsError> {
        self.looked_at = self.looked_at.saturating_add(gates as u64);
        if self.looked_at > self.limit { Err(StatsError(self.limit)) } else { Ok(()) }
    }

    fn count_ands(&mut self, count: usize) -> Result<(), StatsError> {
        self.look(count)?;
        add(&mut self.stats.ands, self.weight, count as u64);
        if count > 0 {
            self.course.and_depth();
        }
        Ok(())
    }

    fn call(&mut self) -> Result<(), StatsError> {
        add(&mut self.stats.calls, self.batch_weight, 1);
        self.look(BATCH)
    }

    fn deeper(&mut self, a: u64, b: u64) -> u64 {
        let depth = a.max(b).saturating_add(1);
        self.stats.depth = self.stats.depth.max(depth);
        depth
    }

    fn batch(&mut self, ands: usize) {
        add(&mut self.stats.batches, self.batch_weight, ands.min(1) as u64);
    }

    /// The accesses to memories of this shape that are kept so.
    fn accesses_of(&mut self, plan: &Plan) -> &mut Accesses {
        let sizes = [plan.needs.blocks, plan.needs.width, plan.trees.len(), plan.levels.len()];
        self.stats.accesses(sizes.map(|size| size as u32))
    }

    fn opened(&mut self, bits: usize) {
        self.course.reveal();
        add(&mut self.stats.reveals, self.weight, 1);
        add(&mut self.stats.revealed_bits, self.weight, bits as u64);
    }

    fn linear(&mut self, xors: usize) -> Result<(), StatsError> {
        self.look(xors)?;
        add(&mut self.stats.xors, self.weight, xors as u64);
        add(&mut self.stats.linear_batches, self.batch_weight, xors.min(1) as u64);
        Ok(())
    }

    /// Scans a table, and takes note of accesses to a memory of its shape.
    fn scan<T>(
        &mut self,
        table: Rows<u64>,
        [reads, writes]: [u64; 2],
        scan: impl FnOnce(&mut Tally, Rows<u64>) -> Result<T, StatsError>,
    ) -> Result<T, StatsError> {
        let (rows, width) = table.shape();
        let before = self.stats.ands;
        let result = scan(self, table)?;
        if !self.in_map {
            let ands = self.stats.ands - before;
            let accesses = self.stats.accesses([rows as u32, width as u32, 0, 0]);
            add(&mut accesses.reads, self.weight, reads);
            add(&mut accesses.writes, self.weight, writes);
            add(&mut accesses.ands, 1, ands);
        }
        Ok(result)
    }

    /// Runs `step` as if it ran `times` times.
    fn weighted<T>(
        &mut self,
        times: u64,
        batches: u64,
        step: impl FnOnce(&mut Tally) -> Result<T, StatsError>,
    ) -> Result<T, StatsError> {
        let before = (self.weight, self.batch_weight);
        self.weight = self.weight.saturating_mul(times);
        self.batch_weight = self.batch_weight.saturating_mul(batches);
        let result = step(self);
        (self.weight, self.batch_weight) = before;
        result
    }
}

fn add(sum: &mut u64, weight: u64, count: u64) {
    *sum = sum.saturating_add(weight.saturating_mul(count));
}

impl Gates for Tally {
    type Wire = u64;
    type Error = StatsError;

    fn constant(&mut self, _: bool) -> Result<u64, StatsError> {
        self.look(1)?;
        Ok(0)
    }

    fn xor(&mut self, a: &u64, b: &u64) -> Result<u64, StatsError> {
        self.look(SINGLE)?;
        self.linear(1)?;
        Ok(*a.max(b))
    }

    fn xor_many(&mut self, a: &[u64], b: &[u64]) -> Result<Vec<u64>, StatsError> {
        self.call()?;
        self.linear(a.len().min(b.len()))?;
        Ok(a.iter().zip(b).map(|(a, b)| *a.max(b)).collect())
    }

    fn not(&mut self, a: &u64) -> Result<u64, StatsError> {
        self.look(SINGLE)?;
        self.look(1)?;
        add(&mut self.stats.nots, self.weight, 1);
        // Batches know no negations: each lane of a map has its own.
        add(&mut self.stats.linear_batches, self.weight, 1);
        Ok(*a)
    }

    fn and(&mut self, a: &u64, b: &u64) -> Result<u64, StatsError> {
        self.look(SINGLE)?;
        self.count_ands(1)?;
        self.batch(1);
        Ok(self.deeper(*a, *b))
    }

    fn and_many(&mut self, a: &[u64], b: &[u64]) -> Result<Vec<u64>, StatsError> {
        self.call()?;
        self.count_ands(a.len().min(b.len()))?;
        self.batch(a.len().min(b.len()));
        Ok(a.iter().zip(b).map(|(a, b)| self.deeper(*a, *b)).collect())
    }

    fn and_groups(&mut self, selects: &[u64], bits: &[u64]) -> Result<Vec<u64>, StatsError> {
        self.call()?;
        self.count_ands(bits.len())?;
        self.batch(bits.len());
        if let Some(width) = bits.len().checked_div(selects.len()) {
            let muxes = self.stats.muxes.entry(width as u32).or_default();
            add(muxes, self.weight, selects.len() as u64);
        }
        let mut out = Vec::with_capacity(bits.len());
        for (select, run) in runs(selects, bits) {
            out.extend(run.iter().map(|bit| *select.max(bit)));
        }
        for depth in &mut out {
            *depth = self.deeper(*depth, *depth);
        }
        Ok(out)
    }

    fn mux_many(
        &mut self,
        select: &u64,
        on_true: &[u64],
        on_false: &[u64],
    ) -> Result<Vec<u64>, StatsError> {
        let count = on_true.len().min(on_false.len());
        self.call()?;
        self.count_ands(count)?;
        self.batch(count);
        self.linear(count)?;
        self.linear(count)?;
        let muxes = self.stats.muxes.entry(count as u32).or_default();
        add(muxes, self.weight, 1);
        let pairs = on_true.iter().zip(on_false);
        Ok(pairs.map(|(a, b)| self.deeper(*select, *a.max(b)).max(*b)).collect())
    }

    fn play(
        &mut self,
        tape: &Tape,
        lanes: usize,
        operands: &[Operand<'_, u64>],
        out: &mut [Vec<u64>],
    ) -> Result<(), StatsError> {
        self.play_tape(tape, lanes, operands, out)
    }
}

/// Opens leaves and tosses bits of memories; leaves that are opened are those of the first path.
impl Reactive for Tally {
    fn open(&mut self, wires: &[u64]) -> Result<Vec<bool>, StatsError> {
        self.opened(wires.len());
        Ok(vec![false; wires.len()])
    }

    fn toss(&mut self, bits: usize) -> Result<Vec<u64>, StatsError> {
        add(&mut self.stats.tossed_bits, self.weight, bits as u64);
        self.linear(bits)?;
        Ok(vec![0; bits])
    }

    fn own_inputs(&mut self, _: Role, bits: usize, _: &Draw<'_>) -> Result<Vec<u64>, StatsError> {
        // Those of a shuffle are in its price.
        Ok(vec![0; bits])
    }

    fn broken(&mut self, why: Broken) -> StatsError {
        unreachable!("each access is counted once, and the flag is not set: {why:?}")
    }
}

impl EachLane for Tally {
    /// One lane counts for all of them, if it is known of all lanes alike what is known.
    fn each_lane(
        &mut self,
        op: WordOp,
        args: &[(Shape, &Value<u64>)],
    ) -> Result<Values<u64>, StatsError> {
        let (lanes, groups) = groups(args);
        let typical: Option<Vec<_>> = args.iter().map(|arg| typical(*arg)).collect();
        let Some(typical) = typical.filter(|_| lanes > 1) else {
            let shapes: Vec<Shape> = args.iter().map(|(shape, _)| *shape).collect();
            return self.working(work(op, &[], &shapes), |tally| each_lane(tally, op, args));
        };
        let words: Vec<_> = typical.iter().map(|(shape, value)| (*shape, value)).collect();
        let results = self.weighted(lanes as u64, groups as u64, |tally| {
            EachLane::each_lane(tally, op, &words)
        })?;
        let bits: usize = results.iter().map(Value::len).sum();
        self.look(lanes * bits)?;
        Ok(results.into_iter().map(|result| result.repeated(lanes)).collect())
    }
}

/// One lane for all lanes: each bit as deep as the deepest of them, or known. None if it is known in some
/// lanes only, or differs.
fn typical((shape, value): (Shape, &Value<u64>)) -> Option<(Shape, Value<u64>)> {
    let width = shape.width as usize;
    let word = match value {
        Value::Secret(depths) => {
            let mut deepest = depths[..width].to_vec();
            for lane in depths.chunks(width).skip(1) {
                deepest.iter_mut().zip(lane).for_each(|(most, depth)| *most = *depth.max(most));
            }
            Value::Secret(deepest)
        }
        Value::Mixed(bits) => {
            let mut word = bits[..width].to_vec();
            for lane in bits.chunks(width).skip(1) {
                for (most, bit) in word.iter_mut().zip(lane) {
                    match (most, bit) {
                        (Folded::Wire(most), Folded::Wire(depth)) => *most = *depth.max(most),
                        (most, bit) if most == bit => {}
                        _ => return None,
                    }
                }
            }
            Value::of(word)
        }
        Value::Memory(_) => in_memory(),
    };
    Some((Shape::word(shape.width), word))
}

impl Tally {
    fn new(limit: u64) -> Tally {
        let (stats, course) = (Stats::default(), Course::default());
        let (weight, batch_weight, looked_at, in_map) = (1, 1, 0, false);
        Tally { stats, course, weight, batch_weight, in_map, looked_at, limit }
    }

    /// A memory that outlives the run: what it takes besides the accesses, at most.
    fn go_on_with(
        &mut self,
        memory: &NamedMemory,
        ram: &LastingRam,
    ) -> Result<Ram<u64>, StatsError> {
        let LastingRam { plan, spends, .. } = ram;
        let (begins, start, upkeep, spare) = match memory.is_new {
            // Of zeros.
            true => (Start::Zeros, plan.empty_start(), plan.upkeep(*spends), 0),
            false => {
                let spare = plan.upkeep_spare(*spends);
                (Start::Found, Price::default(), plan.upkeep_later(*spends), spare)
            }
        };
        self.keeps(plan, Held::of(plan, *spends, begins), start, upkeep)?;
        let weight = self.weight;
        add(&mut self.accesses_of(plan).spare_ands, weight, spare);
        Ram::sample(self, plan.clone())
    }

    /// Counts what a memory takes besides its accesses.
    fn keeps(
        &mut self,
        plan: &Plan,
        held: Held,
        start: Price,
        upkeep: Price,
    ) -> Result<(), StatsError> {
        let (all, weight) = (start.and(upkeep), self.weight);
        add(&mut self.stats.ands, weight, all.ands);
        // An exchange takes three for each AND, other steps fewer.
        add(&mut self.stats.xors, weight, all.ands.saturating_mul(3));
        add(&mut self.stats.tossed_bits, weight, all.tossed);
        if let levels @ 1.. = plan.levels.len() as u64 {
            // One for each level at first, and with each shuffle, which inverts one more.
            let permutations = upkeep.opens.saturating_mul(levels + 1).saturating_add(levels);
            add(&mut self.stats.permutations[0], weight, permutations);
            add(&mut self.stats.permutations[1], weight, all.tossed);
        }
        add(&mut self.stats.live_bits, 1, held.all);
        add(&mut self.stats.awake_bits, 1, held.awake);
        add(&mut self.stats.wakes, weight, held.wakes);
        if start.ands > 0 {
            self.course.and_depth();
        }
        if all.opens > 0 {
            // Each of them stands between two accesses, or two rows that are put in, behind which a flag is opened.
            self.course.reveal();
            self.course.between = self.course.between.saturating_add(all.opens);
            let places = plan.levels.first().map_or(0, |rows| rows.blocks * rows.index()) as u64;
            let bits = upkeep.opens.saturating_mul(places).saturating_add(start.opens);
            add(&mut self.stats.reveals, weight, all.opens);
            add(&mut self.stats.revealed_bits, weight, bits);
        }
        // One row after the other, each in no more steps than it has ANDs.
        self.stats.depth = self.stats.depth.saturating_add(all.ands);
        let accesses = self.accesses_of(plan);
        add(&mut accesses.start_ands, weight, start.ands);
        add(&mut accesses.ands, weight, upkeep.ands);
        add(&mut accesses.opens, weight, all.opens);
        Ok(())
    }
}

impl Machine for Tally {
    fn step(&mut self, bits: usize) -> Result<(), StatsError> {
        add(&mut self.stats.statements, self.weight, 1);
        self.look(STATEMENT)?;
        self.copied(bits)
    }

    fn copied(&mut self, bits: usize) -> Result<(), StatsError> {
        add(&mut self.stats.moved_bits, self.weight, bits as u64);
        if bits > WIDE {
            add(&mut self.stats.wide_bits, self.weight, bits as u64);
        }
        self.look(bits)
    }

    /// Of the steps announced and the gates looked at, the more count.
    fn working<T>(
        &mut self,
        amount: u64,
        run: impl FnOnce(&mut Tally) -> Result<T, StatsError>,
    ) -> Result<T, StatsError> {
        let announced = self.looked_at.saturating_add(amount);
        if announced > self.limit {
            return Err(StatsError(self.limit));
        }
        let result = run(self)?;
        self.looked_at = self.looked_at.max(announced);
        Ok(result)
    }

    fn reveal(&mut self, value: Value<u64>) -> Result<Value<u64>, StatsError> {
        self.opened(value.len());
        wires(self, value).map(Value::Secret)
    }

    fn lookup(&mut self, table: Rows<u64>, places: &[&[u64]]) -> Result<Vec<u64>, StatsError> {
        self.scan(table, [places.len() as u64, 0], |tally, table| lookup(tally, table, places))
    }

    fn store(
        &mut self,
        table: Rows<u64>,
        place: &[u64],
        word: &[u64],
        enable: &u64,
    ) -> Result<Vec<u64>, StatsError> {
        self.scan(table, [0, 1], |tally, table| store(tally, table, place, word, enable))
    }

    fn memories(&mut self) -> Option<&mut DynReactive<'_, u64, StatsError>> {
        if self.in_map { None } else { Some(self) }
    }

    /// Given rows are not put in one by one, nor are shuffles run: what these take follows from the plan, whose accesses are all counted here
    /// as far as they are not alike.
    fn begin(&mut self, plan: &Plan, _: Option<Rows<u64>>) -> Result<Ram<u64>, StatsError> {
        let accesses = plan.needs.accesses;
        let begins = if plan.needs.is_given { Start::Rows } else { Start::Zeros };
        self.keeps(plan, Held::of(plan, accesses, begins), plan.start(), plan.upkeep(accesses))?;
        Ram::sample(self, plan.clone())
    }

    /// A leaf or a place is opened behind all that came before.
    fn access(&mut self, ram: &mut Ram<u64>, step: Step<'_, u64>) -> Result<Vec<u64>, StatsError> {
        let (ands, opens) = (self.stats.ands, self.stats.reveals);
        let deep = |place: &[u64]| vec![self.stats.depth; place.len()];
        let (place, counts): (_, fn(&mut Accesses) -> Option<&mut u64>) = match step {
            Step::Read(place) => (deep(place), |kept| Some(&mut kept.reads)),
            Step::Write(place, ..) => (deep(place), |kept| Some(&mut kept.writes)),
            Step::Take(place) => (deep(place), |kept| Some(&mut kept.updates)),
            Step::Put(..) => (Vec::new(), |_| None),
        };
        let step = match step {
            Step::Read(_) => Step::Read(&place),
            Step::Write(_, word, enable) => Step::Write(&place, word, enable),
            Step::Take(_) => Step::Take(&place),
            put @ Step::Put(..) => put,
        };
        let word = step.run(self, ram)?;
        let (ands, opens) = (self.stats.ands - ands, self.stats.reveals - opens);
        let weight = self.weight;
        let accesses = self.accesses_of(ram.plan());
        if let Some(count) = counts(accesses) {
            add(count, weight, 1);
        }
        add(&mut accesses.ands, 1, ands);
        add(&mut accesses.opens, 1, opens);
        Ok(word)
    }

    /// One row counts for all of them.
    fn rows(&mut self, ram: &mut Ram<u64>) -> Result<Vec<u64>, StatsError> {
        let rows = ram.plan().needs.blocks;
        let index = vec![0; bits_for(rows as u32 - 1) as usize];
        let row =
            self.weighted(rows as u64, rows as u64, |tally| tally.access(ram, Step::Read(&index)))?;
        self.look(rows * row.len())?;
        Ok(vec![self.stats.depth; rows * row.len()])
    }

    /// One iteration counts for all of them. Each makes the longest path longer by no more than one
    /// whose wires all start where the longest path ends.
    fn run_for(
        &mut self,
        module: &Module,
        env: &mut Env<'_, u64>,
        carried: Values<u64>,
        trips: u32,
        body: &Block,
    ) -> Result<Values<u64>, StatsError> {
        let before = self.stats.depth;
        let level = |value: Value<u64>, depth: u64| match value {
            Value::Memory(ram) => Value::Memory(ram),
            value => Value::Secret(vec![depth; value.len()]),
        };
        let carried: Values<u64> = carried.into_iter().map(|value| level(value, before)).collect();
        let outside = std::mem::take(&mut self.course);
        let may_be_tape = !self.in_map && !carried.iter().any(Value::is_memory);
        let without = if may_be_tape { Some(self.copy()?) } else { None };
        env.counters.push(0);
        let results = self.weighted(u64::from(trips), u64::from(trips), |tally| {
            run_block(module, tally, env, body, carried)
        })?;
        env.counters.pop();
        // Recorded once it is known to be no more than may be looked at. The machine that a module is given does the same.
        if let Some(stats) = without
            && let Some(recorded) = Recorded::of(module, self, env, trips, body)?
        {
            (self.stats, self.course) = (stats, Course::default());
            self.weighted(u64::from(trips), u64::from(trips), |tally| {
                tally.round(&recorded.rounds, before)
            })?;
        }
        self.course = outside.then(self.course.times(u64::from(trips)));
        let rise = self.stats.depth - before;
        self.stats.depth = before.saturating_add(rise.saturating_mul(u64::from(trips)));
        Ok(results.into_iter().map(|value| level(value, self.stats.depth)).collect())
    }

    fn run_map(
        &mut self,
        module: &Module,
        env: &mut Env<'_, u64>,
        mapped: Values<u64>,
        trips: u32,
        body: &Block,
    ) -> Result<Values<u64>, StatsError> {
        // Every iteration gets a copy of what it sees of the blocks around.
        let captured: usize = body.captured.iter().map(|id| env.get(*id).len()).sum();
        self.look(captured)?;
        add(
            &mut self.stats.moved_bits,
            self.weight.saturating_mul(u64::from(trips)),
            captured as u64,
        );
        let mut args = Vec::with_capacity(mapped.len());
        for value in mapped {
            let value = wires(self, value)?;
            self.look(value.len())?;
            let bits = value.len() / trips as usize;
            let deepest = |bit: usize| value.iter().skip(bit).step_by(bits).max().copied();
            args.push(Value::Secret((0..bits).map(|bit| deepest(bit).unwrap_or(0)).collect()));
        }
        let mut inner = env.inner(body, Clone::clone);
        self.look(inner.size())?;
        let groups = trips.div_ceil(map_group(trips, body.lane_bits));
        let outside = std::mem::replace(&mut self.in_map, true);
        let results = self.weighted(u64::from(trips), u64::from(groups), |tally| {
            let values = run_block(module, tally, &mut inner, body, args)?;
            all_wires(tally, values)
        })?;
        self.in_map = outside;
        let whole = |value: Vec<u64>| Value::Secret(value).repeated(trips as usize);
        Ok(results.into_iter().map(whole).collect())
    }

    /// Of each figure, that of the branch where it is larger counts.
    fn run_if(
        &mut self,
        module: &Module,
        env: &mut Env<'_, u64>,
        _: &Statement,
        then: &Block,
        otherwise: &Block,
    ) -> Result<Values<u64>, StatsError> {
        let before = (self.copy()?, self.course);
        let mut branch = |tally: &mut Tally, block: &Block| {
            (tally.stats, tally.course) = before.clone();
            let values = run_block(module, tally, env, block, Vec::new())?;
            all_wires(tally, values)
        };
        let first = branch(self, then)?;
        let (costs, course) = (self.copy()?, self.course);
        let second = branch(self, otherwise)?;
        self.stats.at_least(&costs);
        self.course = self.course.or(course);
        let deeper = |(a, b): (Vec<u64>, Vec<u64>)| {
            Value::Secret(a.into_iter().zip(b).map(|(a, b)| a.max(b)).collect())
        };
        Ok(first.into_iter().zip(second).map(deeper).collect())
    }
}
