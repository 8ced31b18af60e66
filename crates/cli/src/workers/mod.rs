//! Both parties on this machine, as two processes of this program.
//!
//! The parent writes one line to each child's standard input, its [`Spec`], then the program if there is
//! one, so that it is read and counted once, here. It keeps that pipe open: when it closes, for whatever reason,
//! the child ends its session and itself. A child answers with JSON lines on standard output: the address it listens on, if it does, then its report or failure.

pub(crate) mod child;
mod parent;
mod report;
mod spec;

pub(crate) use parent::{Both, run_pair};
pub(crate) use report::{Fill, JobReport, Rehearsal, Report, peak_rss, spent_by};
pub(crate) use spec::{LineSpec, RunSpec, Spec, Task};
