//! Circuits with a memory: one cycle, its state, and what many cycles compute.

use crate::circuit::{Circuit, CircuitError};
use crate::clear::Clear;
use crate::formats::MAX_PORT_BITS;
use crate::gates::Gates;
use crate::program::{Program, Signature};
use crate::record::RecordError;

/// A synchronous circuit: inputs and state of a cycle give its outputs and the next state.
///
/// The state is the last input port and the last output port of [`Self::circuit`]. Outputs are those
/// of the cycle, so one that is a register shows what the register held before the cycle's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequential {
    circuit: Circuit,
    initial: Vec<bool>,
}

/// Which outputs of a number of cycles there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Those of the last cycle.
    Last,
    /// Those of every cycle.
    Every,
}

/// Why a sequential circuit cannot be made or unrolled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SequentialError {
    /// The last ports do not carry the state.
    #[error("the last input and the last output must be the state of {bits} bits")]
    State {
        /// Bits of the state.
        bits: usize,
    },
    /// No cycle at all.
    #[error("a sequential circuit runs for at least one cycle")]
    NoCycle,
    /// Too many gates.
    #[error("{gates} gates in each of {cycles} cycles are more than {limit}; take fewer cycles")]
    Gates {
        /// Gates of one cycle.
        gates: usize,
        /// Cycles that were asked for.
        cycles: usize,
        /// Most gates.
        limit: usize,
    },
    /// Too many bits at the ports.
    #[error("the ports of {cycles} cycles have more than {MAX_PORT_BITS} bits; take fewer cycles")]
    Ports {
        /// Cycles that were asked for.
        cycles: usize,
    },
    /// The cycles make no circuit.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Gates of all cycles together, before simplification, that [`Sequential::unroll`] is meant for.
pub const MAX_UNROLLED: usize = 1 << 26;

impl Sequential {
    /// A sequential circuit from the circuit of one cycle and the state before the first.
    pub fn new(circuit: Circuit, initial: Vec<bool>) -> Result<Self, SequentialError> {
        let signature = circuit.signature();
        let taken = signature.inputs.last().map(|port| port.bits);
        let given = signature.outputs.last().map(|port| port.bits);
        if taken != Some(initial.len()) || given != Some(initial.len()) {
            return Err(SequentialError::State { bits: initial.len() });
        }
        Ok(Self { circuit, initial })
    }

    /// The parts of [`Circuit::new`] for ports without the state, and the state: its input wires
    /// follow those of the ports, its next values follow `outputs`.
    pub(crate) fn assemble(
        label: &str,
        mut signature: Signature,
        gates: Vec<crate::circuit::Gate>,
        outputs: Vec<u32>,
        initial: Vec<bool>,
    ) -> Result<Self, CircuitError> {
        let mut name = String::from("state");
        let taken = |name: &str| {
            signature.inputs.iter().any(|port| port.name == name)
                || signature.outputs.iter().any(|port| port.name == name)
        };
        while taken(&name) {
            name.push('_');
        }
        signature = signature.input(&name, initial.len(), None).output(&name, initial.len(), None);
        let circuit = Circuit::new(label, signature, gates, outputs)?;
        Ok(Self { circuit, initial })
    }

    /// One cycle, with the state as last input and last output.
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// The state before the first cycle.
    pub fn initial(&self) -> &[bool] {
        &self.initial
    }

    /// The ports of one cycle, without the state.
    pub fn signature(&self) -> Signature {
        let mut signature = self.circuit.signature();
        signature.inputs.pop();
        signature.outputs.pop();
        signature
    }

    /// One cycle in the clear: takes the state to the next one and returns the outputs.
    ///
    /// # Panics
    ///
    /// When `state` or `inputs` do not fit.
    pub fn step(&self, state: &mut Vec<bool>, inputs: &[Vec<bool>]) -> Vec<Vec<bool>> {
        let mut inputs = inputs.to_vec();
        inputs.push(std::mem::take(state));
        let mut outputs = Clear::eval(&self.circuit, &inputs);
        *state = outputs.pop().unwrap_or_default();
        outputs
    }

    /// The program that runs `cycles` cycles from the initial state, one after the other.
    ///
    /// A port of b bits becomes one of b bits for each cycle (an output only if every cycle is
    /// shown), the first cycle in the least significant bits.
    pub fn cycles(&self, cycles: usize, shown: Shown) -> Result<Cycles<'_>, SequentialError> {
        if cycles == 0 {
            return Err(SequentialError::NoCycle);
        }
        let mut signature = self.signature();
        let (takes, gives) = (signature.input_bits(), signature.output_bits());
        let repeats = if shown == Shown::Every { cycles } else { 1 };
        for (bits, times) in [(takes, cycles), (gives, repeats)] {
            if bits.checked_mul(times).is_none_or(|bits| bits > MAX_PORT_BITS) {
                return Err(SequentialError::Ports { cycles });
            }
        }
        signature.inputs.iter_mut().for_each(|port| port.bits *= cycles);
        signature.outputs.iter_mut().for_each(|port| port.bits *= repeats);
        Ok(Cycles { sequential: self, signature, cycles, shown })
    }

    /// [`Self::cycles`] as a circuit, refused if the cycles have more than `limit` gates together
    /// before simplification.
    pub fn unroll(
        &self,
        cycles: usize,
        shown: Shown,
        limit: usize,
    ) -> Result<Circuit, SequentialError> {
        let gates = self.circuit.gates().len();
        if gates.checked_mul(cycles).is_none_or(|all| all > limit) {
            return Err(SequentialError::Gates { gates, cycles, limit });
        }
        Ok(Circuit::from_program(&self.cycles(cycles, shown)?)?)
    }
}

/// A number of cycles of a [`Sequential`] as a program.
#[derive(Clone, Debug)]
pub struct Cycles<'a> {
    sequential: &'a Sequential,
    signature: Signature,
    cycles: usize,
    shown: Shown,
}

impl Program for Cycles<'_> {
    fn name(&self) -> String {
        self.sequential.circuit.name()
    }

    fn signature(&self) -> Signature {
        self.signature.clone()
    }

    fn run<G: Gates>(
        &self,
        g: &mut G,
        inputs: &[Vec<G::Wire>],
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        let mut state = Vec::with_capacity(self.sequential.initial.len());
        for bit in &self.sequential.initial {
            state.push(g.constant(*bit)?);
        }
        let mut shown: Vec<Vec<G::Wire>> = vec![Vec::new(); self.signature.outputs.len()];
        for cycle in 0..self.cycles {
            let part = |port: &Vec<G::Wire>| {
                let bits = port.len() / self.cycles;
                port.iter().skip(cycle * bits).take(bits).cloned().collect()
            };
            let mut now: Vec<Vec<G::Wire>> = inputs.iter().map(part).collect();
            now.push(state);
            let mut outputs = self.sequential.circuit.run(g, &now)?;
            state = outputs.pop().unwrap_or_default();
            if self.shown == Shown::Last {
                shown = outputs;
            } else {
                shown.iter_mut().zip(outputs).for_each(|(all, port)| all.extend(port));
            }
        }
        Ok(shown)
    }
}
