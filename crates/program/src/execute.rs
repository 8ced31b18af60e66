//! The machine that a module is given: everything runs on it, iterations of maps side by side.

mod lasting;

use std::rc::Rc;

use cenote_circuit::{Bundle, Clear, Gates, Lanes};

use crate::each_lane::EachLane;
use crate::host::Host;
use crate::memory::DynReactive;
use crate::module::Module;
use crate::op::Block;
use crate::rounds::Recorded;
use crate::run::{Env, Machine, all_wires, call, map_group, opaque, run_block, run_rounds, wires};
use crate::run_value::{Value, Values};
use crate::side_by_side;
use crate::tapes::Tapes;
use lasting::{found, leave};

impl Module {
    /// Runs the module: one vector of wires for each input, lane by lane, least significant bit first,
    /// and one for each output.
    ///
    /// # Errors
    /// Those of the machine.
    ///
    /// # Panics
    /// When `inputs` do not fit [`Self::signature`]; [`cenote_circuit::Signature::check_inputs`] tells.
    pub fn run_on<W: Clone, E>(
        &self,
        host: &mut (dyn Host<Wire = W, Error = E> + '_),
        inputs: Vec<Vec<W>>,
    ) -> Result<Vec<Vec<W>>, E> {
        if let Err(error) = self.signature().check_inputs(&inputs) {
            panic!("{error}");
        }
        let mut inputs: Vec<Value<W>> = inputs.into_iter().map(Value::Secret).collect();
        for memory in &self.memories {
            inputs.push(found(host, memory)?);
        }
        // What ends makes room for what is left.
        for memory in self.memories.iter().filter(|memory| !memory.is_kept()) {
            host.leave(memory, &[])?;
        }
        let mut base = Base { host, tapes: Rc::default() };
        let values = call(self, &mut base, &self.main, inputs)?;
        let mut values = opaque(&mut base, values)?.into_iter();
        let outputs = values.by_ref().take(self.outputs.len());
        let outputs = outputs.map(|value| wires(&mut base, value)).collect::<Result<_, E>>()?;
        for (memory, value) in self.memories.iter().filter(|memory| memory.is_kept()).zip(values) {
            leave(base.host, memory, value)?;
        }
        Ok(outputs)
    }

    /// The outputs in the clear.
    ///
    /// # Panics
    /// As [`Self::run_on`].
    #[must_use]
    pub fn evaluate(&self, inputs: &[Vec<bool>]) -> Vec<Vec<bool>> {
        match self.run_on(&mut Clear, inputs.to_vec()) {
            Ok(outputs) => outputs,
            Err(never) => match never {},
        }
    }
}

/// The machine that a module was given.
struct Base<'h, 'd, W, E> {
    host: &'h mut (dyn Host<Wire = W, Error = E> + 'd),
    tapes: Rc<Tapes>,
}

impl<W: Clone, E> Gates for Base<'_, '_, W, E> {
    type Wire = W;
    type Error = E;
    cenote_circuit::delegate!(self => self.host);
}

/// Many iterations side by side on the machine that the module was given.
type Wide<'l, 'h, 'd, W, E> = Lanes<'l, Base<'h, 'd, W, E>>;

/// A machine that can run iterations side by side.
trait SideBySide: Machine {
    /// The wires of the machine that the module was given.
    type Given: Clone;

    /// One wire for all iterations of a map, from the wires of each.
    fn spread(&self, parts: &[&Self::Wire]) -> Bundle<Self::Given>;

    /// The wires of each iteration.
    fn split(&self, bundle: &Bundle<Self::Given>, trips: usize) -> Vec<Self::Wire>;

    fn with_lanes<T>(
        &mut self,
        trips: usize,
        run: impl FnOnce(&mut Wide<'_, '_, '_, Self::Given, Self::Error>) -> T,
    ) -> T;
}

impl<W: Clone, E> EachLane for Base<'_, '_, W, E> {
    fn tapes(&self) -> Option<Rc<Tapes>> {
        Some(Rc::clone(&self.tapes))
    }
}

impl<W: Clone, E> Machine for Base<'_, '_, W, E> {
    fn reveal(&mut self, value: Value<W>) -> Result<Value<W>, E> {
        let wires = wires(self, value)?;
        Ok(Value::known(self.host.reveal(&wires)?))
    }

    fn memories(&mut self) -> Option<&mut DynReactive<'_, W, E>> {
        self.host.memories()
    }

    fn run_for(
        &mut self,
        module: &Module,
        env: &mut Env<'_, W>,
        carried: Values<W>,
        trips: u32,
        body: &Block,
    ) -> Result<Values<W>, E> {
        let recorded = match carried.iter().any(Value::is_memory) {
            false => Recorded::of(module, self, env, trips, body)?,
            true => None,
        };
        match recorded {
            Some(recorded) => recorded.play(self, env, carried, trips),
            None => run_rounds(module, self, env, carried, trips, body),
        }
    }

    fn run_map(
        &mut self,
        module: &Module,
        env: &mut Env<'_, W>,
        mapped: Values<W>,
        trips: u32,
        body: &Block,
    ) -> Result<Values<W>, E> {
        let mapped = all_wires(self, mapped)?;
        match side_by_side::play(module, self, env, &mapped, trips, body)? {
            Some(results) => Ok(results),
            None => run_groups(module, self, env, &mapped, trips, body),
        }
    }
}

impl<W: Clone, E> SideBySide for Base<'_, '_, W, E> {
    type Given = W;

    fn spread(&self, parts: &[&W]) -> Bundle<W> {
        parts.iter().map(|wire| (*wire).clone()).collect::<Vec<W>>().into()
    }

    fn split(&self, bundle: &Bundle<W>, _: usize) -> Vec<W> {
        bundle.to_vec()
    }

    fn with_lanes<T>(
        &mut self,
        trips: usize,
        run: impl FnOnce(&mut Wide<'_, '_, '_, W, E>) -> T,
    ) -> T {
        run(&mut Lanes::new(self, trips))
    }
}

impl<W: Clone, E> EachLane for Wide<'_, '_, '_, W, E> {}

impl<W: Clone, E> Machine for Wide<'_, '_, '_, W, E> {
    fn reveal(&mut self, _: Value<Bundle<W>>) -> Result<Value<Bundle<W>>, E> {
        unreachable!("the builder lets no map reveal anything")
    }

    fn run_map(
        &mut self,
        module: &Module,
        env: &mut Env<'_, Bundle<W>>,
        mapped: Values<Bundle<W>>,
        trips: u32,
        body: &Block,
    ) -> Result<Values<Bundle<W>>, E> {
        let mapped = all_wires(self, mapped)?;
        run_groups(module, self, env, &mapped, trips, body)
    }
}

impl<W: Clone, E> SideBySide for Wide<'_, '_, '_, W, E> {
    type Given = W;

    /// The iterations of the inner map lie side by side within each lane.
    fn spread(&self, parts: &[&Bundle<W>]) -> Bundle<W> {
        let lane = |lane: usize| parts.iter().map(move |part| part[lane].clone());
        (0..self.width()).flat_map(lane).collect::<Vec<W>>().into()
    }

    fn split(&self, bundle: &Bundle<W>, trips: usize) -> Vec<Bundle<W>> {
        let part =
            |i: usize| bundle.iter().skip(i).step_by(trips).cloned().collect::<Vec<W>>().into();
        (0..trips).map(part).collect()
    }

    fn with_lanes<T>(
        &mut self,
        trips: usize,
        run: impl FnOnce(&mut Wide<'_, '_, '_, W, E>) -> T,
    ) -> T {
        let width = self.width() * trips;
        run(&mut Lanes::new(self.inner(), width))
    }
}

/// Iterations of a map side by side, a group at a time.
fn run_groups<M: SideBySide>(
    module: &Module,
    machine: &mut M,
    env: &Env<'_, M::Wire>,
    mapped: &[Vec<M::Wire>],
    trips: u32,
    body: &Block,
) -> Result<Values<M::Wire>, M::Error> {
    let mut results: Vec<Vec<M::Wire>> = vec![Vec::new(); body.results.len()];
    let (trips, group) = (trips as usize, map_group(trips, body.lane_bits) as usize);
    for start in (0..trips).step_by(group) {
        let count = group.min(trips - start);
        let group = Group { module, body, start, count, trips };
        for (all, part) in results.iter_mut().zip(group.run(machine, env, mapped)?) {
            all.extend(part);
        }
    }
    Ok(results.into_iter().map(Value::Secret).collect())
}

/// Iterations of a map that run side by side.
struct Group<'b> {
    module: &'b Module,
    body: &'b Block,
    start: usize,
    count: usize,
    trips: usize,
}

impl Group<'_> {
    fn run<M: SideBySide>(
        &self,
        machine: &mut M,
        env: &Env<'_, M::Wire>,
        mapped: &[Vec<M::Wire>],
    ) -> Result<Vec<Vec<M::Wire>>, M::Error> {
        let args = mapped.iter().map(|value| self.part(machine, value)).collect();
        let same = |wire: &M::Wire| machine.spread(&vec![wire; self.count]);
        let mut inner = env.inner(self.body, same);
        let results = machine.with_lanes(self.count, |wide| {
            let values = run_block(self.module, wide, &mut inner, self.body, args)?;
            all_wires(wide, values)
        })?;
        Ok(results.iter().map(|bits| self.whole(machine, bits)).collect())
    }

    /// Returns what the iterations of the group take of an operand, as wires for all of them.
    fn part<M: SideBySide>(&self, machine: &M, value: &[M::Wire]) -> Value<Bundle<M::Given>> {
        let bits = value.len() / self.trips;
        let bit = |bit: usize| {
            let of = |i: usize| &value[(self.start + i) * bits + bit];
            machine.spread(&(0..self.count).map(of).collect::<Vec<_>>())
        };
        Value::Secret((0..bits).map(bit).collect())
    }

    /// The results of the iterations one after the other.
    fn whole<M: SideBySide>(&self, machine: &M, bits: &[Bundle<M::Given>]) -> Vec<M::Wire> {
        let split = |bundle| machine.split(bundle, self.count);
        let bits: Vec<Vec<M::Wire>> = bits.iter().map(split).collect();
        let iteration = |i: usize| bits.iter().map(move |bit| bit[i].clone());
        (0..self.count).flat_map(iteration).collect()
    }
}
