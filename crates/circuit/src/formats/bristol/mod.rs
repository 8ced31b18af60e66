//! Bristol Fashion and the old Bristol format; `docs/formats/bristol.md` describes them.

mod parse;
mod write;

pub(super) use parse::{format, read};
pub use write::{WriteError, write_bristol, write_bristol_fashion};
