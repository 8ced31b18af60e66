//! The text form (docs/formats/program.md): what people read. Printing what was parsed gives the
//! canonical text, and parsing that gives the same module.

mod lex;
mod parse;
mod print;

/// Why a text is no module: where, what, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {what}")]
pub struct TextError {
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted from 1.
    pub column: usize,
    /// The problem, and what was expected.
    pub what: String,
}
