//! What a parser makes of a file, before the ports file has its say.

use super::error::Source;
use super::{ParseError, Ports};
use crate::circuit::{Circuit, Gate};
use crate::program::Signature;

/// Ports, gates and output wires, as [`Circuit::new`] takes them.
pub(super) struct Parts {
    pub(super) signature: Signature,
    pub(super) gates: Vec<Gate>,
    pub(super) outputs: Vec<u32>,
}

impl Parts {
    /// The circuit of file `name`, with the ports as `ports` describes them.
    pub(super) fn finish(
        mut self,
        name: &str,
        ports: Option<&Ports>,
    ) -> Result<Circuit, ParseError> {
        if let Some(ports) = ports {
            self.signature = ports.apply(&self.signature, &mut self.gates, &mut self.outputs)?;
        }
        Circuit::new(label(name), self.signature, self.gates, self.outputs).map_err(|error| {
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
