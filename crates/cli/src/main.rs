//! The `cenote` command: secure two-party computation from a shell.
//!
//! `docs/cli.md` describes the commands, their JSON and the exit codes. Every command is a module
//! with a function from its arguments to a [`output::Reply`] or a [`exit::Failure`]; only `output`
//! prints, and nothing here reads the environment.

mod args;
mod bench;
mod circuit;
mod computation;
mod evidence;
mod exit;
mod garble;
mod identity;
mod interrupt;
mod limited;
mod link;
mod output;
mod params;
mod party;
mod pool;
mod program;
mod progress;
mod run;
mod service;
mod store_key;
mod values;
mod verilog;
mod workers;

use std::process::ExitCode;

use args::{Cli, Command};
use cenote_prim::keep_freed_memory;
use clap::Parser;
use exit::Failure;
use output::{Format, Reply};

/// First argument of one party of `run` and `bench`, started by them.
const WORKER: &str = "worker";
/// First argument of a process that runs a program of others within limits.
const LIMITED: &str = "limited";
/// First argument of the process that compiles Garble.
const GARBLE: &str = "garble";

fn main() -> ExitCode {
    keep_freed_memory();
    if let Some(work) = part() {
        return match work() {
            Ok(reply) => output::reply(&reply, Format::Human),
            Err(failure) => output::failure(&failure, Format::Human),
        };
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return output::usage(&error),
    };
    let format = if cli.json { Format::Json } else { Format::Human };
    match dispatch(cli.command, format) {
        Ok(reply) => output::reply(&reply, format),
        Err(failure) => output::failure(&failure, format),
    }
}

/// The work of a process that a command started. These names are no commands: help does not list
/// them and no message suggests them.
fn part() -> Option<fn() -> Result<Reply, Failure>> {
    let name = std::env::args_os().nth(1)?;
    let parts = [
        (WORKER, workers::child::command as fn() -> _),
        (LIMITED, limited::command),
        (GARBLE, garble::command),
    ];
    parts.into_iter().find_map(|(part, work)| (name == part).then_some(work))
}

fn dispatch(command: Command, format: Format) -> Result<Reply, Failure> {
    match command {
        Command::Run(args) => run::command(args, format),
        Command::Party(args) => party::command(*args, format),
        Command::Bench(bench) => bench::command(bench, format),
        Command::Circuit(circuit) => circuit::command(circuit),
        Command::Program(program) => program::command(program, format),
        Command::Params(args) => params::command(&args),
        Command::Pool(pool) => pool::command(pool, format),
        Command::Serve(args) => service::serve::serve(&args, format),
        Command::Job(job) => service::job::command(job),
        Command::Data(data) => service::owner::data(data),
        Command::Approve(args) => service::owner::approve(*args),
        Command::Approval(approval) => service::owner::approval(approval),
        Command::Memory(memory) => service::owner::memory(memory),
        Command::Peer(peer) => service::owner::peer(peer),
        Command::Status(args) => service::owner::status(&args),
        Command::Audit(audit) => service::audit::command(audit),
        Command::Doctor(args) => Ok(service::doctor::doctor(&args)),
        Command::Token(token) => service::setup::token(&token),
        Command::Certificate(args) => service::setup::certificate(&args),
        Command::Init(args) => identity::init(&args),
        Command::Pair(args) => identity::pair(&args, format),
        Command::Rotate(args) => identity::rotate(&args),
    }
}
