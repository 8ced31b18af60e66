//! The body of a map as a tape: recorded for one iteration, played on all of them.

use std::borrow::Cow;
use std::cell::RefCell;

use cenote_circuit::{Gates, MAX_TAPE, Operand, Order, TapeRecorder, TapeWire, TooLong};

use crate::each_lane::EachLane;
use crate::module::Module;
use crate::op::Block;
use crate::run::{Env, Machine, all_wires, run_block, wires};
use crate::run_value::{Value, Values, in_memory};

impl EachLane for TapeRecorder {}

impl Machine for TapeRecorder {
    fn reveal(&mut self, _: Value<TapeWire>) -> Result<Value<TapeWire>, TooLong> {
        unreachable!("the builder lets no map reveal anything")
    }

    /// Iterations of a map within a map, one after the other.
    fn run_map(
        &mut self,
        module: &Module,
        env: &mut Env<'_, TapeWire>,
        mapped: Values<TapeWire>,
        trips: u32,
        body: &Block,
    ) -> Result<Values<TapeWire>, TooLong> {
        let mapped = all_wires(self, mapped)?;
        let mut results = vec![Vec::new(); body.results.len()];
        for iteration in 0..trips as usize {
            let part = |value: &Vec<TapeWire>| {
                let bits = value.len() / trips as usize;
                Value::Secret(value[iteration * bits..(iteration + 1) * bits].to_vec())
            };
            let args = mapped.iter().map(part).collect();
            let values = run_block(module, self, &mut env.inner(body, |wire| *wire), body, args)?;
            for (all, value) in results.iter_mut().zip(values) {
                all.extend(wires(self, value)?);
            }
        }
        Ok(results.into_iter().map(Value::Secret).collect())
    }
}

/// Runs a map on `g` as a tape; gives nothing, and has done nothing, if the body is too long for one.
pub(crate) fn play<G: Gates>(
    module: &Module,
    g: &mut G,
    env: &Env<'_, G::Wire>,
    mapped: &[Vec<G::Wire>],
    trips: u32,
    body: &Block,
) -> Result<Option<Values<G::Wire>>, G::Error> {
    let trips = trips as usize;
    let captured: Vec<Cow<'_, [G::Wire]>> =
        body.captured.iter().map(|id| unknown(env.get(*id))).collect();
    let words = mapped.iter().map(|value| Operand::words(value, value.len() / trips));
    let operands: Vec<_> = words.chain(captured.iter().map(|wires| Operand::same(wires))).collect();
    let inputs = operands.iter().map(|operand| operand.bits).sum();
    if inputs > MAX_TAPE {
        return Ok(None);
    }
    let (mut recorder, inputs) = TapeRecorder::new(inputs);
    let inputs = RefCell::new(inputs.into_iter());
    let args = operands[..mapped.len()]
        .iter()
        .map(|operand| Value::Secret(inputs.borrow_mut().by_ref().take(operand.bits).collect()));
    let args = args.collect();
    let mut inner = env.inner(body, |_| {
        let next = inputs.borrow_mut().next();
        next.unwrap_or_else(|| unreachable!("an input for each wire that is captured"))
    });
    let results = run_block(module, &mut recorder, &mut inner, body, args)
        .and_then(|values| all_wires(&mut recorder, values));
    let Ok(results) = results else { return Ok(None) };
    let tape = recorder.finish(&results, Order::of_lanes(trips));
    let values = tape.play(g, trips, &operands)?;
    Ok(Some(values.into_iter().map(Value::Secret).collect()))
}

/// The wires of a value.
fn unknown<W: Clone>(value: &Value<W>) -> Cow<'_, [W]> {
    match value {
        Value::Secret(wires) => wires.into(),
        Value::Mixed(bits) => bits.iter().filter_map(crate::fold::Folded::wire).collect(),
        Value::Memory(_) => in_memory(),
    }
}
