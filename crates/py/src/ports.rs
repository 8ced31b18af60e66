//! Names of owners, receivers and kinds, and values as bytes.

use cenote_prim::{Receivers, Role};
use cenote_program::{Kind, PathStep, PortPath, Shape};
use pyo3::PyErr;

use crate::BuildError;

/// Names and sizes of the steps to a port.
pub(crate) type Path = Vec<(String, Vec<u32>)>;

/// Path, party, kind, fraction bits, width: a port as Python sees it.
pub(crate) type Port = (Path, &'static str, &'static str, u32, u32);

pub(crate) fn path(steps: Path) -> PortPath {
    PortPath::new(steps.into_iter().map(|(name, sizes)| PathStep { name, sizes }).collect())
}

pub(crate) fn steps(path: &PortPath) -> Path {
    path.steps().iter().map(|step| (step.name.clone(), step.sizes.clone())).collect()
}

pub(crate) fn owner(name: &str) -> Result<Role, PyErr> {
    let found = Role::ALL.into_iter().find(|role| role.name() == name);
    found.ok_or_else(|| BuildError::new_err(format!("there is no owner `{name}`")))
}

pub(crate) fn receiver(name: &str) -> Result<Receivers, PyErr> {
    let found = Receivers::ALL.into_iter().find(|receivers| receivers.name() == name);
    found.ok_or_else(|| BuildError::new_err(format!("there is no receiver `{name}`")))
}

pub(crate) fn kind(name: &str, fraction: u32) -> Result<Kind, PyErr> {
    match name {
        "bits" => Ok(Kind::Bits),
        "bool" => Ok(Kind::Bool),
        "uint" => Ok(Kind::UInt),
        "int" => Ok(Kind::Int),
        "fixed" => Ok(Kind::Fixed { fraction }),
        other => Err(BuildError::new_err(format!("there is no kind `{other}`"))),
    }
}

pub(crate) const fn kind_name(kind: Kind) -> (&'static str, u32) {
    match kind {
        Kind::Bits => ("bits", 0),
        Kind::Bool => ("bool", 0),
        Kind::UInt => ("uint", 0),
        Kind::Int => ("int", 0),
        Kind::Fixed { fraction } => ("fixed", fraction),
    }
}

/// The bits of words that are given as whole bytes each, least significant byte first.
pub(crate) fn bits(shape: Shape, bytes: &[u8]) -> Result<Vec<bool>, String> {
    let each = shape.width.div_ceil(8) as usize;
    if each == 0 || bytes.len() != each * shape.lanes as usize {
        return Err(format!("{} bytes do not make {shape}", bytes.len()));
    }
    let mut bits = Vec::with_capacity(shape.bits());
    for word in bytes.chunks_exact(each) {
        let word = word.iter().flat_map(|byte| (0..8).map(move |i| byte >> i & 1 == 1));
        bits.extend(word.take(shape.width as usize));
    }
    Ok(bits)
}

/// The opposite of [`bits`].
pub(crate) fn bytes(width: u32, bits: &[bool]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in bits.chunks(width.max(1) as usize) {
        bytes.extend(word.chunks(8).map(|byte| {
            byte.iter().enumerate().fold(0u8, |byte, (i, bit)| byte | (u8::from(*bit) << i))
        }));
    }
    bytes
}
