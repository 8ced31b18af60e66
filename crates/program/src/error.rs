//! The problem that a call of the builder may have, and the checks that everything built shares.

use crate::limits::MAX_NAME;

/// A problem with a call of the builder, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BuildError(String);

impl BuildError {
    pub(crate) fn new(what: impl Into<String>) -> BuildError {
        BuildError(what.into())
    }
}

pub(crate) fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), BuildError> {
    if holds { Ok(()) } else { Err(BuildError(why())) }
}

/// Checks the name of a module, a function or a port.
pub(crate) fn check_name(name: &str) -> Result<(), BuildError> {
    let sign = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    ensure(starts && name.chars().all(sign) && name.len() <= MAX_NAME, || {
        format!(
            "`{}` is no name: use at most {MAX_NAME} letters, digits and _ - ., a letter first",
            name.escape_debug()
        )
    })
}
