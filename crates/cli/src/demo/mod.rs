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

use cenote_engine::{Fault, SessionConfig};

use crate::args::DemoArgs;
use crate::exit::Failure;
use crate::output::{Format, Reply};

/// The tables that come with the program: data/cdnow/README.md.
const ISSUER_A: &str = include_str!("../../../../data/cdnow/issuer_a.csv");
const ISSUER_B: &str = include_str!("../../../../data/cdnow/issuer_b.csv");

/// Runs the demonstration.
///
/// # Errors
/// `BadInput`, before anything is started, for tables that cannot be used; what happened to a server.
pub(crate) fn command(args: &DemoArgs, format: Format) -> Result<Reply, Failure> {
    scenario::run(args, format)
}

/// The session of the two servers.
fn session(pool: u64) -> Result<SessionConfig, Fault> {
    format!("wrk:pool={pool}").parse()
}
