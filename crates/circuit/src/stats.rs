//! Statistics of a circuit.

use serde::{Deserialize, Serialize};

use crate::circuit::{Circuit, Gate};
use crate::program::{InputPort, OutputPort, Program};

/// Gates by type, depths, memory and ports of a circuit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// All gates.
    pub gates: usize,
    /// ANDs; a MAND counts once per bit.
    pub and: usize,
    /// XORs.
    pub xor: usize,
    /// Negations.
    pub inv: usize,
    /// Constants.
    pub eq: usize,
    /// Copies.
    pub eqw: usize,
    /// Inputs and gates together.
    pub wires: usize,
    /// Gates on the longest path.
    pub depth: usize,
    /// ANDs on the path with most of them.
    pub and_depth: usize,
    /// The largest number of wires that are alive at once when the circuit is executed.
    pub live_wires: usize,
    /// The input ports.
    pub inputs: Vec<InputPort>,
    /// The output ports.
    pub outputs: Vec<OutputPort>,
}

impl Circuit {
    /// Its statistics; one pass over the gates.
    pub fn stats(&self) -> Stats {
        let signature = self.signature();
        let inputs = signature.input_bits();
        let mut stats = Stats {
            gates: self.gates().len(),
            and: 0,
            xor: 0,
            inv: 0,
            eq: 0,
            eqw: 0,
            wires: self.wires(),
            depth: 0,
            and_depth: 0,
            live_wires: self.tape().slots() - 1,
            inputs: signature.inputs,
            outputs: signature.outputs,
        };
        let mut depths: Vec<(u32, u32)> = Vec::with_capacity(self.gates().len());
        for gate in self.gates() {
            let (mut depth, mut and_depth) = (0, 0);
            for wire in gate.operands() {
                let below = (wire as usize).checked_sub(inputs).map_or((0, 0), |gate| depths[gate]);
                depth = depth.max(below.0);
                and_depth = and_depth.max(below.1);
            }
            match gate {
                Gate::And(..) => stats.and += 1,
                Gate::Xor(..) => stats.xor += 1,
                Gate::Inv(_) => stats.inv += 1,
                Gate::Eq(_) => stats.eq += 1,
                Gate::Eqw(_) => stats.eqw += 1,
            }
            let here = (depth + 1, and_depth + u32::from(matches!(gate, Gate::And(..))));
            stats.depth = stats.depth.max(here.0 as usize);
            stats.and_depth = stats.and_depth.max(here.1 as usize);
            depths.push(here);
        }
        stats
    }
}
