//! Circuits without a state, as modules of one function of gates.

use cenote_circuit::{Circuit, Receivers, Signature};

use crate::builder::Builder;
use crate::error::BuildError;
use crate::module::Module;
use crate::shape::{Kind, Shape};

impl Module {
    /// A circuit with the owners and receivers of `signature`, which has its ports: inputs that are
    /// nobody's take turns, outputs without a receiver go to both.
    ///
    /// # Errors
    /// Ports without bits, names that a module does not take, more than a module may have.
    pub fn from_circuit(
        name: &str,
        circuit: Circuit,
        signature: &Signature,
    ) -> Result<Module, BuildError> {
        let word = |bits: usize| Shape::word(u32::try_from(bits).unwrap_or(u32::MAX));
        let params: Vec<Shape> = signature.inputs.iter().map(|port| word(port.bits)).collect();
        let results: Vec<Shape> = signature.outputs.iter().map(|port| word(port.bits)).collect();
        let mut b = Builder::new(name, "gates of a circuit file")?;
        let function = b.circuit("gates", circuit, &params, &results)?;
        let mut args = Vec::with_capacity(params.len());
        for ((port, shape), owner) in signature.inputs.iter().zip(&params).zip(signature.owners()) {
            args.push(b.input(&port.name, owner, Kind::Bits, *shape)?);
        }
        let values = b.call(function, &args)?;
        for (port, value) in signature.outputs.iter().zip(values) {
            b.output(&port.name, port.receiver.unwrap_or(Receivers::Both), Kind::Bits, value)?;
        }
        b.finish()
    }
}

/// A name for a module, from that of a file.
#[must_use]
pub fn plain_name(stem: &str) -> String {
    let sign = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    let name: String = stem.chars().map(sign).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name
    } else {
        format!("_{name}")
    }
}
