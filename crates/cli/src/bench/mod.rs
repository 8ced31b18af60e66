//! `cenote bench`: both parties as processes of their own on this machine, one core each; the optimiser,
//! the compilation of programs, the counters of days and the limits of the machine have no parties.

pub(crate) mod aes;
pub(crate) mod and;
pub(crate) mod args;
mod compile;
mod days;
mod limits;
mod made;
pub(crate) mod module;
pub(crate) mod mux;
mod optimise;
pub(crate) mod oram;
pub(crate) mod ot;
pub(crate) mod pool_fill;
mod service;
mod stream;
mod summary;
mod threads;
pub(crate) mod wires;

use cenote_engine::{Role, SessionConfig};
use cenote_net::Identity;
use cenote_prim::{RandomOracle, SessionId};
use rustix::thread::{CpuSet, sched_getaffinity};
use tempfile::TempDir;

use crate::args::{Backends, sound};
use crate::bench::args::{BenchCommand, BenchLineArgs, BenchSecurityArgs};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::{self, Format, Reply};
use crate::progress;
use crate::workers::{Both, LineSpec, Spec, Task, run_pair};

pub(crate) fn command(bench: BenchCommand, format: Format) -> Result<Reply, Failure> {
    match bench {
        BenchCommand::And(args) => and::command(&args, format),
        BenchCommand::Days(args) => days::command(&args),
        BenchCommand::Threads(args) => threads::command(&args),
        BenchCommand::Wires(args) => wires::command(&args, format),
        BenchCommand::Aes(args) => aes::command(&args, format),
        BenchCommand::Ot(args) => ot::command(&args, format),
        BenchCommand::PoolFill(args) => pool_fill::command(&args, format),
        BenchCommand::Mux(args) => mux::command(&args, format),
        BenchCommand::Oram(args) => oram::command(&args, format),
        BenchCommand::Optimise(args) => optimise::command(&args),
        BenchCommand::Hamming(args) => module::hamming(&args, format),
        BenchCommand::Sort(args) => module::sort(&args, format),
        BenchCommand::Edit(args) => module::edit(&args, format),
        BenchCommand::CompileEdit(args) => compile::edit(&args),
        BenchCommand::CompileRsa(args) => compile::rsa(&args),
        BenchCommand::Service(args) => service::load(&args),
        BenchCommand::Kills(args) => service::kills(&args),
        BenchCommand::Limits => limits::command(),
    }
}

/// A session of every backend that was asked for, checked for sound parameters before anything starts.
fn sessions(args: &BenchSecurityArgs, ands: u64) -> Result<Vec<SessionConfig>, Failure> {
    let named = Backends::all(&args.backend);
    let all = args.refine.apply(args.pool.as_deref(), named)?;
    all.into_iter().map(|config| sound(config.lasting(), ands)).collect()
}

/// The machine and line of a bench.
struct Setting {
    cores: Option<[usize; 2]>,
    line: LineSpec,
    /// Keeps the identities of the line for as long as it is used.
    _identities: Option<TempDir>,
}

impl Setting {
    fn new(args: &BenchLineArgs) -> Result<Setting, Failure> {
        let identities = args.tls.then(identities).transpose()?;
        let line = LineSpec {
            identities: identities.as_ref().map(|dir| dir.path().to_owned()),
            rtt_ms: args.rtt_ms,
            mbit: args.mbit,
            one_channel: args.one_channel,
        };
        let cores = two_cores();
        if cores.is_none() {
            output::note("note: fewer than two processor cores, so the parties are not pinned");
        }
        Ok(Setting { cores, line, _identities: identities })
    }

    /// The same for parties of so many threads: several have all cores.
    fn with_threads(self, threads: usize) -> Setting {
        Setting { cores: self.cores.filter(|_| threads == 1), ..self }
    }

    fn spec(&self, role: Role, task: &Task) -> Spec {
        Spec {
            role,
            connect: None,
            core: self.cores.map(|cores| cores[role as usize]),
            line: self.line.clone(),
            task: task.clone(),
        }
    }
}

/// Runs every task `repeat` times, in turns, and checks every result; returns the runs of each task.
fn measure(
    tasks: &[Task],
    setting: &Setting,
    repeat: u32,
    format: Format,
    verify: impl Fn(&Both) -> Result<(), Failure>,
) -> Result<Vec<Vec<Both>>, Failure> {
    let interrupt = Interrupt::install(format)?;
    let mut runs: Vec<Vec<Both>> = tasks.iter().map(|_| Vec::new()).collect();
    let bar = progress::bar(u64::from(repeat) * tasks.len() as u64, "measuring");
    for _ in 0..repeat {
        for (task, runs) in tasks.iter().zip(&mut runs) {
            let both = run_pair(|role| setting.spec(role, task), &interrupt)?;
            verify(&both)?;
            runs.push(both);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(runs)
}

/// Two cores that this process may use.
pub(crate) fn two_cores() -> Option<[usize; 2]> {
    cores().first_chunk().copied()
}

/// The processor cores that this process may use.
fn cores() -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect()
}

/// An identity for each role, in a directory that vanishes with the value.
fn identities() -> Result<TempDir, Failure> {
    let dir = TempDir::with_prefix("cenote-bench-")
        .map_err(|error| Failure::internal(format!("a directory for identities: {error}")))?;
    for role in [Role::Garbler, Role::Evaluator] {
        Identity::generate(role.name())?.save(dir.path().join(role.name()))?;
    }
    Ok(dir)
}

/// The failure that a wrong result of a bench is.
fn wrong(what: &str) -> Failure {
    Failure::internal(format!("{what}: the result is not that of clear evaluation"))
}

/// The identity of a bench's program: a hash of its name, parameters and version.
fn digest(label: &str) -> [u8; 32] {
    let oracle = RandomOracle::new("cenote 2026 cli bench program v1", &SessionId([0; 32]));
    oracle.bytes(label.as_bytes()).digest()
}
