//! A program as a job takes it.

use std::sync::Arc;

use cenote_circuit::{Circuit, Gate, Program, Signature};
use cenote_engine::Fault;
use cenote_engine::cost::Demand;
use cenote_program::{Module, Stats};

/// A circuit or a structured program, with what counting it gives.
pub enum Computation {
    /// A circuit.
    Circuit(Circuit),
    /// A structured program; loops are counted, not run.
    Module {
        /// The program.
        module: Arc<Module>,
        /// Its counts.
        stats: Stats,
    },
}

impl Computation {
    /// A structured program, counted.
    ///
    /// # Errors
    /// `Exhausted` for a program that is too large to be counted.
    pub fn of_module(module: Arc<Module>) -> Result<Computation, Fault> {
        let stats = module.stats().map_err(|error| Fault::Exhausted(error.to_string()))?;
        Ok(Computation::Module { module, stats })
    }

    /// Ports with owners and receivers, as far as the program names them.
    #[must_use]
    pub fn signature(&self) -> Signature {
        match self {
            Computation::Circuit(circuit) => circuit.signature(),
            Computation::Module { module, .. } => module.signature(),
        }
    }

    /// The digest that both sides compare.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        match self {
            Computation::Circuit(circuit) => circuit.digest(),
            Computation::Module { module, .. } => module.digest(),
        }
    }

    /// ANDs; a bound, where opened bits steer what is computed.
    #[must_use]
    pub fn ands(&self) -> u64 {
        match self {
            Computation::Circuit(circuit) => {
                circuit.gates().iter().filter(|gate| matches!(gate, Gate::And(..))).count() as u64
            }
            Computation::Module { stats, .. } => stats.ands,
        }
    }

    /// Returns the demand of a run on a backend, with the owners and receivers of `signature`.
    #[must_use]
    pub fn demand(&self, signature: &Signature) -> Demand {
        match self {
            Computation::Circuit(circuit) => Demand::of_circuit(circuit, signature),
            Computation::Module { stats, .. } => Demand::new(stats.clone(), signature),
        }
    }

    /// The command that describes it.
    #[must_use]
    pub const fn info_command(&self) -> &'static str {
        match self {
            Computation::Circuit(_) => "circuit info",
            Computation::Module { .. } => "program info",
        }
    }
}
