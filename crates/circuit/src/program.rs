//! Programs: a name, a typed signature and a replayable stream of gates.

/// A party as the owner of an input, and the parties that receive an output.
pub use cenote_prim::{Receivers, Role};
use serde::{Deserialize, Serialize};

use crate::digest;
use crate::gates::Gates;

/// One input of a program: a number of `bits` bits, least significant bit first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputPort {
    /// Its name, for people.
    pub name: String,
    /// Its width.
    pub bits: usize,
    /// Who provides it; `None` leaves that to the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Role>,
}

/// One output of a program: a number of `bits` bits, least significant bit first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputPort {
    /// Its name, for people.
    pub name: String,
    /// Its width.
    pub bits: usize,
    /// Who learns it; `None` leaves that to the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<Receivers>,
}

/// The typed signature of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// The inputs in the order in which [`Program::run`] takes them.
    pub inputs: Vec<InputPort>,
    /// The outputs in the order in which [`Program::run`] returns them.
    pub outputs: Vec<OutputPort>,
}

/// Why a set of inputs does not fit a signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// Another number of inputs than the signature has.
    #[error("the program takes {expected} inputs, {given} were given")]
    Ports {
        /// Inputs of the signature.
        expected: usize,
        /// Inputs that were given.
        given: usize,
    },
    /// An input of another width than its port.
    #[error("input `{port}` takes {expected} bits, {given} were given")]
    Bits {
        /// The port's name.
        port: String,
        /// Bits of the port.
        expected: usize,
        /// Bits that were given.
        given: usize,
    },
}

impl Signature {
    /// An empty signature, to be extended by [`Self::input`] and [`Self::output`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an input of `bits` bits.
    #[must_use]
    pub fn input(mut self, name: &str, bits: usize, owner: Option<Role>) -> Self {
        self.inputs.push(InputPort { name: name.to_owned(), bits, owner });
        self
    }

    /// Adds an output of `bits` bits.
    #[must_use]
    pub fn output(mut self, name: &str, bits: usize, receiver: Option<Receivers>) -> Self {
        self.outputs.push(OutputPort { name: name.to_owned(), bits, receiver });
        self
    }

    /// All input bits together.
    pub fn input_bits(&self) -> usize {
        self.inputs.iter().map(|port| port.bits).sum()
    }

    /// All output bits together.
    pub fn output_bits(&self) -> usize {
        self.outputs.iter().map(|port| port.bits).sum()
    }

    /// Who provides each input. Ports that name no owner take turns, the garbler first.
    pub fn owners(&self) -> Vec<Role> {
        let mut turns = Role::ALL.into_iter().cycle();
        self.inputs
            .iter()
            .map(|port| port.owner.or_else(|| turns.next()).unwrap_or(Role::Garbler))
            .collect()
    }

    /// Whether `inputs` have the number and the widths that the ports ask for.
    pub fn check_inputs<W>(&self, inputs: &[Vec<W>]) -> Result<(), SignatureError> {
        if inputs.len() != self.inputs.len() {
            return Err(SignatureError::Ports { expected: self.inputs.len(), given: inputs.len() });
        }
        for (port, bits) in self.inputs.iter().zip(inputs) {
            if port.bits != bits.len() {
                return Err(SignatureError::Bits {
                    port: port.name.clone(),
                    expected: port.bits,
                    given: bits.len(),
                });
            }
        }
        Ok(())
    }
}

/// Something that can be computed: by a backend, in the clear, or only counted.
///
/// Running a program twice, on any machine, gives the same stream of gates in the same batches: the
/// stream depends on the program and its parameters alone, never on the values of the wires. Two threads
/// may run it at once.
pub trait Program: Sync {
    /// A name for people, e.g. `aes-128`.
    fn name(&self) -> String;

    /// Ports in order, with their owners and receivers.
    fn signature(&self) -> Signature;

    /// The identity of the program.
    ///
    /// The provided method hashes the name, the signature and the whole stream of gates, so every
    /// parameter that changes what is computed changes the digest; it costs one pass over the
    /// stream. A type that overrides it must bind at least its name, all its parameters, its
    /// signature and a version of its code.
    fn digest(&self) -> [u8; 32] {
        digest::program_digest(&self.name(), self)
    }

    /// Executes the program on `g`: one vector of wires per input port in, one per output port out,
    /// least significant bit first.
    ///
    /// # Panics
    ///
    /// May panic when `inputs` do not fit the signature; [`Signature::check_inputs`] tells.
    fn run<G: Gates>(
        &self,
        g: &mut G,
        inputs: &[Vec<G::Wire>],
    ) -> Result<Vec<Vec<G::Wire>>, G::Error>;
}

impl<P: Program + ?Sized> Program for &P {
    fn name(&self) -> String {
        (**self).name()
    }

    fn signature(&self) -> Signature {
        (**self).signature()
    }

    fn digest(&self) -> [u8; 32] {
        (**self).digest()
    }

    fn run<G: Gates>(
        &self,
        g: &mut G,
        inputs: &[Vec<G::Wire>],
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        (**self).run(g, inputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_without_an_owner_take_turns() {
        let signature = Signature::new()
            .input("a", 1, None)
            .input("b", 1, Some(Role::Garbler))
            .input("c", 1, None)
            .input("d", 1, None);
        let expected = [Role::Garbler, Role::Garbler, Role::Evaluator, Role::Garbler];
        assert_eq!(signature.owners(), expected);
    }

    #[test]
    fn misfits_are_named() {
        let signature = Signature::new().input("x", 2, None);
        assert!(signature.check_inputs(&[vec![true; 2]]).is_ok());
        assert_eq!(
            signature.check_inputs(&[vec![true]]),
            Err(SignatureError::Bits { port: "x".into(), expected: 2, given: 1 })
        );
        assert_eq!(
            signature.check_inputs::<bool>(&[]),
            Err(SignatureError::Ports { expected: 1, given: 0 })
        );
    }
}
