//! Programs in other languages, compiled to modules.
//!
//! A front end takes a source text and gives a [`cenote_program::Module`]; what it cannot take it
//! refuses with the place in the source. It is apart from the module format, because compilers of others
//! are no part of what runs a program.
//!
//! The `cenote` command uses it to import files. Start with [`garble`].

mod error;
pub mod garble;

pub use error::SourceError;
