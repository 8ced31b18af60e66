//! Structured programs: a typed signature and a body of operations on words and vectors of secret
//! bits, bounded loops, maps, calls and gate-level blocks.
//!
//! A [`Module`] is what both owners read, hash, approve and price before it runs. [`Builder`] makes
//! one, [`Module::to_text`] and [`Module::to_bytes`] write it, [`Module::run_on`] executes it on any
//! backend, and [`Module::stats`] counts what it costs; none of them expands its loops.
//!
//! `docs/formats/program.md` describes both forms and every operation.
//!
//! Start with [`Builder`] or [`Module::parse_text`]. Front ends (`frontend`, the Python package) drive the builder; `engine`
//! runs modules between two parties, as the machine that [`Host`] describes, and prices their [`Stats`].

mod apply;
mod binary;
mod builder;
mod circuits;
mod constants;
mod csv_file;
mod cycles;
mod division;
mod each_lane;
mod error;
mod execute;
mod fold;
mod host;
mod infer;
pub mod library;
pub mod limits;
mod liveness;
mod memory;
mod module;
mod op;
mod optimise;
mod outline;
mod path;
mod rebuild;
mod rounds;
mod run;
mod run_value;
mod shape;
mod side_by_side;
mod stats;
mod stream;
mod tables;
mod tapes;
mod text;
mod values;
mod wiring;

pub use binary::{BinaryError, MAGIC};
pub use builder::Builder;
pub use circuits::plain_name;
pub use csv_file::{Column, CsvError, CsvFile};
pub use error::BuildError;
pub use host::{Host, Remembering};
pub use module::{Function, Input, LastingRam, Module, NamedMemory, Output};
pub use op::{Affine, Block, Constant, FunctionId, LoopVar, Op, Statement, ValueId, WordOp};
pub use optimise::{FunctionReport, OptimiseReport};
pub use path::{PathStep, PortPath, Version};
pub use run::EXECUTION;
pub use shape::{Kind, Shape};
pub use stats::{Accesses, Stats, StatsError};
pub use stream::Stream;
pub use tables::{ANDS_PER_OPENING, Life, Table, memory_from};
pub use text::TextError;
pub use values::ValueError;
