//! A circuit in memory: a list of gates between named ports.

use std::fmt;
use std::sync::OnceLock;

use crate::digest;
use crate::gates::Gates;
use crate::program::{Program, Signature};
use crate::record::{RecordError, Recorder};
use crate::tape::{Operand, Tape};

/// A gate; operands are wire numbers. The gates of the formats, a MAND being several `And`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// XOR.
    Xor(u32, u32),
    /// AND.
    And(u32, u32),
    /// Negation.
    Inv(u32),
    /// A public constant.
    Eq(bool),
    /// A copy.
    Eqw(u32),
}

/// A circuit: the input wires come first, port by port, then gate `i` writes wire
/// `signature.input_bits() + i`, so gates are in topological order by construction.
///
/// It is a [`Program`]; running it executes independent ANDs in batches and drops every wire
/// after its last use. How is planned once, on the first run.
#[derive(Clone)]
pub struct Circuit {
    label: String,
    signature: Signature,
    gates: Vec<Gate>,
    outputs: Vec<u32>,
    tape: OnceLock<Tape>,
}

/// Why parts do not make a circuit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CircuitError {
    /// A gate or output reads a wire that no earlier gate writes.
    #[error("wire {wire} is read before it is written")]
    Order {
        /// The wire.
        wire: u32,
    },
    /// The output wires do not match the output ports.
    #[error("the output ports take {expected} wires, {given} were given")]
    Outputs {
        /// Bits of all output ports.
        expected: usize,
        /// Wires that were given.
        given: usize,
    },
    /// More wires than [`MAX_WIRES`].
    #[error("a circuit has at most {MAX_WIRES} wires")]
    TooLarge,
}

/// The largest number of wires of a circuit: a step of its tape has 30 bits for a slot, and a tape two slots more.
pub const MAX_WIRES: usize = (1 << 30) - 2;

impl Circuit {
    /// A circuit from its parts; `outputs` lists the wires of all output ports in order.
    pub fn new(
        label: &str,
        signature: Signature,
        gates: Vec<Gate>,
        outputs: Vec<u32>,
    ) -> Result<Self, CircuitError> {
        let inputs = signature
            .inputs
            .iter()
            .try_fold(0usize, |sum, port| sum.checked_add(port.bits))
            .ok_or(CircuitError::TooLarge)?;
        let wires = inputs.checked_add(gates.len()).ok_or(CircuitError::TooLarge)?;
        if wires > MAX_WIRES {
            return Err(CircuitError::TooLarge);
        }
        for (i, gate) in gates.iter().enumerate() {
            if let Some(wire) = gate.operands().find(|wire| *wire as usize >= inputs + i) {
                return Err(CircuitError::Order { wire });
            }
        }
        if let Some(wire) = outputs.iter().find(|wire| **wire as usize >= wires) {
            return Err(CircuitError::Order { wire: *wire });
        }
        let expected = signature.outputs.iter().fold(0usize, |sum, p| sum.saturating_add(p.bits));
        if expected != outputs.len() {
            return Err(CircuitError::Outputs { expected, given: outputs.len() });
        }
        let tape = OnceLock::new();
        Ok(Self { label: label.to_owned(), signature, gates, outputs, tape })
    }

    /// Records `program` with the simplifications of [`Recorder`].
    pub fn from_program<P: Program>(program: &P) -> Result<Self, RecordError> {
        let signature = program.signature();
        let (mut recorder, inputs) = Recorder::new(&signature)?;
        let outputs = program.run(&mut recorder, &inputs)?;
        recorder.finish(&program.name(), signature, &outputs)
    }

    /// The gates in order.
    pub fn gates(&self) -> &[Gate] {
        &self.gates
    }

    /// The wires of all output ports in order.
    pub fn output_wires(&self) -> &[u32] {
        &self.outputs
    }

    /// Inputs and gates together.
    pub fn wires(&self) -> usize {
        self.signature.input_bits() + self.gates.len()
    }

    /// Its gates and output wires.
    pub(crate) fn into_parts(self) -> (Vec<Gate>, Vec<u32>) {
        (self.gates, self.outputs)
    }

    /// How it is executed.
    pub fn tape(&self) -> &Tape {
        let inputs = self.signature.input_bits();
        let ports = || self.signature.outputs.iter().map(|port| port.bits).collect();
        self.tape.get_or_init(|| Tape::of_circuit(inputs, &self.gates, (&self.outputs, ports())))
    }
}

impl Gate {
    /// The wires it reads.
    pub fn operands(self) -> impl Iterator<Item = u32> {
        let (a, b) = match self {
            Self::Xor(a, b) | Self::And(a, b) => (Some(a), Some(b)),
            Self::Inv(a) | Self::Eqw(a) => (Some(a), None),
            Self::Eq(_) => (None, None),
        };
        a.into_iter().chain(b)
    }

    /// The same gate on other wires.
    pub(crate) fn map(self, mut wire: impl FnMut(u32) -> u32) -> Self {
        match self {
            Self::Xor(a, b) => Self::Xor(wire(a), wire(b)),
            Self::And(a, b) => Self::And(wire(a), wire(b)),
            Self::Inv(a) => Self::Inv(wire(a)),
            Self::Eqw(a) => Self::Eqw(wire(a)),
            Self::Eq(bit) => Self::Eq(bit),
        }
    }
}

impl fmt::Debug for Circuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Circuit")
            .field("label", &self.label)
            .field("signature", &self.signature)
            .field("gates", &self.gates.len())
            .finish_non_exhaustive()
    }
}

/// Equality of what is computed: ports, gates and outputs, not the label.
impl PartialEq for Circuit {
    fn eq(&self, other: &Self) -> bool {
        self.signature == other.signature
            && self.gates == other.gates
            && self.outputs == other.outputs
    }
}

impl Eq for Circuit {}

impl Program for Circuit {
    /// The label: where the circuit came from, e.g. the stem of a file name.
    fn name(&self) -> String {
        self.label.clone()
    }

    fn signature(&self) -> Signature {
        self.signature.clone()
    }

    /// Binds ports and gates but not the label: two parties may keep the same circuit under
    /// different file names.
    fn digest(&self) -> [u8; 32] {
        digest::program_digest("circuit", self)
    }

    fn run<G: Gates>(
        &self,
        g: &mut G,
        inputs: &[Vec<G::Wire>],
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        if let Err(error) = self.signature.check_inputs(inputs) {
            panic!("{error}");
        }
        let operands: Vec<_> = inputs.iter().map(|port| Operand::same(port)).collect();
        self.tape().play(g, 1, &operands)
    }
}
