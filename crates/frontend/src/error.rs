//! Errors in a source text.

use std::fmt;

/// Why a source text became no module: where, what, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    /// The file, as the caller named it.
    pub file: String,
    /// Line and column, counted from 1; none for what concerns the whole file.
    pub place: Option<(usize, usize)>,
    /// The problem, and what to do.
    pub what: String,
}

/// `file:line:column: what`.
impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for SourceError {}
