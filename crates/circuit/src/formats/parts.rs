//! The result of parsing a file, before the ports file has its say.

use super::error::Source;
use super::{ParseError, Parsed, Ports};
use crate::circuit::{Circuit, Gate};
use crate::program::Signature;
use crate::sequential::Sequential;

/// Ports, gates and output wires, as [`Circuit::new`] takes them. A state is no port: its wires follow
/// the inputs, its next values follow the outputs.
pub(super) struct Parts {
    pub(super) signature: Signature,
    pub(super) gates: Vec<Gate>,
    pub(super) outputs: Vec<u32>,
    /// The state before the first cycle; empty in a circuit without memory.
    pub(super) initial: Vec<bool>,
}

impl Parts {
    /// Returns the contents of file `name`, with the ports as `ports` describes them.
    pub(super) fn finish(
        mut self,
        name: &str,
        ports: Option<&Ports>,
    ) -> Result<Parsed, ParseError> {
        if let Some(ports) = ports {
            self.signature = ports.apply(&self.signature, &mut self.gates, &mut self.outputs)?;
        }
        let Self { signature, gates, outputs, initial } = self;
        let label = label(name);
        let parsed = if initial.is_empty() {
            Circuit::new(label, signature, gates, outputs).map(Parsed::Circuit)
        } else {
            Sequential::assemble(label, signature, gates, outputs, initial).map(Parsed::Sequential)
        };
        parsed.map_err(|error| {
            Source { name, text: "" }.error_at(0, error.to_string(), "report this file")
        })
    }
}

/// The name of a file without directories and extension.
fn label(name: &str) -> &str {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    match file.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => file,
    }
}
