//! Circuits with a state, as modules that loop over their cycles.

use cenote_circuit::{Program as _, Receivers, Sequential, Shown};

use crate::builder::Builder;
use crate::error::BuildError;
use crate::limits::MAX_VALUE_BITS;
use crate::module::Module;
use crate::op::{Affine, ValueId};
use crate::shape::{Kind, Shape};

impl Module {
    /// `cycles` cycles of a sequential circuit from its initial state on: one loop, whatever their
    /// number.
    ///
    /// Every input has a lane for each cycle, as has every output if each cycle is shown. Outputs without
    /// a receiver go to both.
    ///
    /// # Errors
    /// An input without an owner; ports without bits, names that a module does not take; no cycle, or
    /// more than fit a value.
    pub fn from_cycles(
        name: &str,
        sequential: &Sequential,
        cycles: u32,
        shown: Shown,
    ) -> Result<Module, BuildError> {
        let mut b = Builder::new(name, "a circuit with a state, cycle by cycle")?;
        let circuit = sequential.circuit();
        let (ports, whole) = (sequential.signature(), circuit.signature());
        let widths = ports.inputs.iter().map(|port| port.bits);
        let widest = widths.chain(ports.outputs.iter().map(|port| port.bits)).max().unwrap_or(1);
        let most = MAX_VALUE_BITS / (widest.max(1) as u64);
        if cycles == 0 || u64::from(cycles) > most {
            let what = format!("{cycles} cycles: this circuit can run for 1 to {most}");
            return Err(BuildError::new(what));
        }
        let word = |bits: usize| Shape::word(u32::try_from(bits).unwrap_or(u32::MAX));
        let params: Vec<Shape> = whole.inputs.iter().map(|port| word(port.bits)).collect();
        let results: Vec<Shape> = whole.outputs.iter().map(|port| word(port.bits)).collect();
        let cycle = b.circuit("cycle", circuit.clone(), &params, &results)?;
        let mut inputs = Vec::with_capacity(ports.inputs.len());
        for port in &ports.inputs {
            let owner = port.owner.ok_or_else(|| {
                BuildError::new(format!("input `{}` has no owner; say whose it is", port.name))
            })?;
            let shape = Shape { lanes: cycles, ..word(port.bits) };
            inputs.push(b.input(&port.name, owner, Kind::Bits, shape)?);
        }
        let mut carried = vec![b.constant(word(sequential.initial().len()), sequential.initial())?];
        let lanes = if shown == Shown::Every { cycles } else { 1 };
        for port in &ports.outputs {
            let shape = Shape { lanes, ..word(port.bits) };
            carried.push(b.constant(shape, &vec![false; shape.bits()])?);
        }
        let last = b.begin_for(cycles, &carried).and_then(|(counter, carried)| {
            let at = Affine::at(0).plus(counter, 1);
            let mut args = Vec::with_capacity(params.len());
            for input in &inputs {
                args.push(b.lanes(*input, at.clone(), 1, 1)?);
            }
            args.push(carried[0]);
            let mut now: Vec<ValueId> = b.call(cycle, &args)?;
            // The state is the last output and the first value that is carried.
            now.rotate_right(1);
            if shown == Shown::Every {
                for (now, all) in now.iter_mut().zip(&carried).skip(1) {
                    *now = b.put(*all, at.clone(), *now)?;
                }
            }
            b.end_for(&now)
        })?;
        for (port, value) in ports.outputs.iter().zip(&last[1..]) {
            let receiver = port.receiver.unwrap_or(Receivers::Both);
            b.output(&port.name, receiver, Kind::Bits, *value)?;
        }
        b.finish()
    }
}
