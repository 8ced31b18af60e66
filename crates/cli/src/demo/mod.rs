//! `cenote demo`: two card issuers, two servers, one stream of different requests on real data.
//!
//! The command starts two processes of this program, each with its own table, and tells them over
//! their standard input which request comes next. They pair, open one session over mutual TLS, fill
//! one pool and answer from it. The command compares every answer with what it computes itself, in the
//! clear, from both tables. docs/demo.md tells what is revealed to whom.

mod jobs;
mod lines;
mod scenario;
mod screen;
pub(crate) mod server;
mod servers;
mod table;

use std::path::PathBuf;

use clap::Args;

use crate::exit::Failure;
use crate::output::{Format, Reply};

/// The tables that come with the program: data/cdnow/README.md.
const ISSUER_A: &str = include_str!("../../../../data/cdnow/issuer_a.csv");
const ISSUER_B: &str = include_str!("../../../../data/cdnow/issuer_b.csv");

/// Arguments of `cenote demo`.
#[derive(Args)]
pub(crate) struct DemoArgs {
    /// Another table for issuer A: CSV with `customer` and six quarters, in cents.
    #[arg(long, value_name = "FILE")]
    issuer_a: Option<PathBuf>,
    /// Another table for issuer B.
    #[arg(long, value_name = "FILE")]
    issuer_b: Option<PathBuf>,
    /// Leaky ANDs of the pool.
    #[arg(long, value_name = "N", default_value_t = 480_000, value_parser = crate::args::items, allow_negative_numbers = true)]
    pool: u64,
    /// At the end, let issuer B cheat in a session of its own, and show that the servers go on.
    #[arg(long)]
    cheat: bool,
}

/// Runs the demonstration.
///
/// # Errors
/// `BadInput`, before anything is started, for tables that cannot be used; what happened to a server.
pub(crate) fn command(args: &DemoArgs, format: Format) -> Result<Reply, Failure> {
    scenario::run(args, format)
}
