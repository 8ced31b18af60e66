//! Bristol Fashion and the old Bristol format; `docs/formats/bristol.md` describes them.

mod parse;
mod stream;
mod write;
mod written;

pub(super) use parse::{format, read};
pub(crate) use stream::{Sink, Streamed, stream};
pub use write::{WriteError, write_bristol, write_bristol_fashion};
