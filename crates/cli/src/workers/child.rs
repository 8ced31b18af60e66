//! A child: one party, told by a line on standard input and the program that follows it.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cenote_engine::Role;
use cenote_job as job;
use cenote_net::{Channels, Identity, PeerCertificate, tcp_listen};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::json;

use super::{LineSpec, Report, Spec, Task};
use crate::computation::Computation;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::link::{self, End, Protection};
use crate::output::{self, Reply};
use crate::{bench, run};

/// How long one child waits for the other.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Runs the child. Its failures are lines like its report; the parent gives them their exit code.
pub(crate) fn command() -> Result<Reply, Failure> {
    // A terminal's Ctrl-C reaches the children too.
    let interrupt = Interrupt::install(None)?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(|e| Failure::internal(e.to_string()))?;
    let mut spec: Spec = serde_json::from_str(&line).map_err(|_| {
        Failure::bad_input("`cenote worker` is started by `cenote run` and `bench`")
    })?;
    drop(line);
    if let Task::Run(work) = &mut spec.task {
        let taken = job::Computation::taken_over(io::stdin().lock());
        work.computation =
            Some(Computation::of(taken.map_err(|e| Failure::internal(e.to_string()))?));
    }
    if let Some(core) = spec.core {
        pin(&[core])?;
    }
    let orphaned = interrupt.clone();
    thread::spawn(move || {
        // Nothing more is written: a return means that the parent is gone or wants an end.
        let _ = io::stdin().lock().read(&mut [0]);
        orphaned.trigger();
    });
    let result = work(spec, &interrupt).map_err(|failure| interrupt.or(failure));
    match result {
        Ok(report) => output::line(&json!({ "report": report })),
        Err(failure) => output::line(&json!({ "failure": failure })),
    }
    Ok(Reply::silent())
}

fn work(spec: Spec, interrupt: &Interrupt) -> Result<Report, Failure> {
    let started = Instant::now();
    let role = spec.role;
    let protection = protection(&spec.line, role)?;
    let end = match spec.connect {
        Some(address) => End::Connect(address),
        None => {
            let listener = tcp_listen("127.0.0.1:0")?;
            output::line(&json!({ "listening": listener.address().to_string() }));
            End::Accept(Arc::new(listener))
        }
    };
    let mut channels = link::open(end, protection, TIMEOUT, spec.line.shape())?;
    if spec.line.one_channel {
        channels = channels.into_control().into();
    }
    let canceller = channels.control().canceller();
    interrupt.on_signal(move || canceller.cancel());
    let mut report = perform(spec.task, channels, role)?;
    report.wall_s = started.elapsed().as_secs_f64();
    report.process();
    Ok(report)
}

fn perform(task: Task, channels: Channels, role: Role) -> Result<Report, Failure> {
    match task {
        Task::Run(work) => run::party(channels, role, work),
        Task::And { ands, config, threads } => {
            bench::and::party(channels, role, ands, config, threads)
        }
        Task::Wires { wires, config } => bench::wires::party(channels, role, wires, config),
        Task::Aes { blocks, jobs, warm, config } => {
            bench::aes::party(channels, role, blocks, jobs, warm, config)
        }
        Task::Ot { digit_bits, count } => {
            bench::ot::party(channels.into_control(), role, digit_bits, count)
        }
        Task::PoolFill { width, config } => bench::pool_fill::party(channels, role, width, config),
        Task::Mux { width, muxes, config } => {
            bench::mux::party(channels, role, width, muxes, config)
        }
        Task::Oram { work, warm, config } => bench::oram::party(channels, role, work, warm, config),
        Task::Module { work, warm, config } => {
            bench::module::party(channels, role, work, warm, config)
        }
    }
}

fn protection(line: &LineSpec, role: Role) -> Result<Protection, Failure> {
    let Some(dir) = &line.identities else { return Ok(Protection::Plain) };
    let identity = Identity::load(dir.join(role.name()))?;
    let peer = dir.join(role.peer().name()).join(cenote_net::CERTIFICATE_FILE);
    Ok(Protection::Tls { identity: Arc::new(identity), peer: PeerCertificate::load(peer)? })
}

/// Has this thread, and those that it starts, run on these processor cores alone.
pub(crate) fn pin(cores: &[usize]) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    cores.iter().for_each(|core| set.set(*core));
    sched_setaffinity(None, &set)
        .map_err(|error| Failure::internal(format!("pinning to cores {cores:?}: {error}")))
}
