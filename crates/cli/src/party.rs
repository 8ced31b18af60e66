//! `cenote party`: one side of a computation. `cenote run` starts two of the same work.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use cenote_circuit::Signature;
use cenote_engine::cost::Limits;
use cenote_engine::{Receivers, Role, SessionConfig};
use cenote_job::{Request, policy};
use cenote_net::{Channels, PeerCertificate, tcp_listen};
use cenote_pool::Store;
use serde_json::{Value, json};

use crate::args::{PartyArgs, PeerArgs};
use crate::computation::Computation;
use crate::exit::Failure;
use crate::identity::{self, PEER_FILE};
use crate::interrupt::Interrupt;
use crate::link::{self, End, Protection};
use crate::output::{self, Format, Reply};
use crate::program::calibrate;
use crate::progress::Meter;
use crate::values::Port;
use crate::workers::{JobReport, Report};
use crate::{evidence, pool, values};

pub(crate) fn command(args: PartyArgs, format: Format) -> Result<Reply, Failure> {
    let role = args.peer.role;
    let work = prepare(&args)?;
    // Asked for before anything listens.
    let key = args.store.as_deref().map(|dir| pool::key(dir, &args.key)).transpose()?;
    let (meeting, interrupt) = Meeting::prepare(args.peer, format)?;
    let store = args.store.as_deref().zip(key.as_ref());
    let store = store.map(|(dir, key)| pool::open(dir, key)).transpose()?;
    let started = Instant::now();
    let channels = meeting.channels(&interrupt)?;
    let meter = Meter::start(work.computation.ands(), "ANDs");
    let ran = work.run(channels, role, meter.count(), store.map(|store| Box::new(store) as _));
    let mut report = ran.map_err(|failure| interrupt.or(failure))?;
    report.wall_s = started.elapsed().as_secs_f64();
    report.process();
    Ok(reply(&work, role, &report))
}

/// All that it takes to reach the peer, checked before it is tried.
pub(crate) struct Meeting {
    end: End,
    protection: Protection,
    wait: Duration,
    limits: [Duration; 2],
}

impl Meeting {
    /// Listens, if this side does; signals are caught from now on.
    pub(crate) fn prepare(args: PeerArgs, format: Format) -> Result<(Meeting, Interrupt), Failure> {
        let protection = protection(&args)?;
        let interrupt = Interrupt::install(format)?;
        let [wait, idle, work] =
            [args.wait, args.idle_limit, args.work_limit].map(Duration::from_secs);
        let end = match (args.listen, args.connect) {
            (Some(address), _) => {
                let listener = tcp_listen(&address)?;
                output::note(&format!("listening on {}", listener.address()));
                End::Accept(Arc::new(listener))
            }
            (None, Some(address)) => End::Connect(address),
            (None, None) => return Err(Failure::bad_input("give --listen or --connect")),
        };
        Ok((Meeting { end, protection, wait, limits: [idle, work] }, interrupt))
    }

    /// Reaches the peer; a signal ends the session.
    pub(crate) fn channels(self, interrupt: &Interrupt) -> Result<Channels, Failure> {
        let mut channels = link::open(self.end, self.protection, self.wait, None)?;
        channels.control().set_idle_limit(self.limits[0]);
        channels.control().set_work_limit(self.limits[1]);
        let canceller = channels.control().canceller();
        interrupt.on_signal(move || canceller.cancel());
        Ok(channels)
    }
}

/// Everything that can be checked before the peer hears of the run.
fn prepare(args: &PartyArgs) -> Result<Work, Failure> {
    let computation = Computation::read(&args.file)?;
    let config = args.security.chosen()?;
    // A store serves many sessions.
    let config = if args.store.is_some() { pool::kept(config)? } else { config };
    let none = vec![None; computation.signature().inputs.len()];
    let owners = args.owners.as_ref().map(|owners| owners.iter().copied().map(Some).collect());
    let signature = values::with_owners(computation.signature(), &owners.unwrap_or(none))?;
    let to = values::receivers(&signature, args.reveal_to)?;
    evidence::check(args.evidence.as_deref(), config.backend)?;
    if args.evidence.is_some() && args.peer.role == Role::Garbler {
        let what = "--evidence means nothing for the garbler: the evaluator alone can have any";
        return Err(Failure::bad_input(what));
    }
    let limits = args.limits.chosen()?;
    let owned = computation.ports().into_iter().zip(signature.owners());
    let role = args.peer.role;
    let owned = owned.filter(|(_, owner)| *owner == role);
    let owned: Vec<Port> = owned.map(|(port, _)| port).collect();
    let own = values::all_bits(&owned, &args.inputs, &format!("the {role}"))?;
    let work = Work::new(computation, signature, own, to, config)?;
    work.on(args.threads.threads).keeping(args.evidence.clone()).within(Some(limits), role)
}

fn protection(args: &PeerArgs) -> Result<Protection, Failure> {
    let Some(dir) = &args.identity else { return Ok(Protection::Plain) };
    let identity = identity::own(dir)?;
    let kept = dir.join(PEER_FILE);
    let file: &Path = args.peer_cert.as_deref().unwrap_or(&kept);
    if args.peer_cert.is_none() && !kept.exists() {
        return Err(Failure::bad_input(format!(
            "whom to talk to is not known: give --peer-cert, or run `cenote pair {}` with PEER_CERT, --listen or --connect",
            dir.display()
        )));
    }
    Ok(Protection::Tls { identity: Arc::new(identity), peer: PeerCertificate::load(file)? })
}

/// One run of a program or circuit as one party sees it.
pub(crate) struct Work {
    request: Request,
    /// For people: names and kinds of outputs.
    computation: Computation,
    /// Where evidence goes, should there be any.
    evidence: Option<PathBuf>,
}

impl Work {
    /// Checks parameters; `own` are the bits of this side's ports.
    pub(crate) fn new(
        computation: Computation,
        signature: Signature,
        own: Vec<Vec<bool>>,
        to: Receivers,
        config: SessionConfig,
    ) -> Result<Work, Failure> {
        let request = Request::new(Arc::clone(&computation.0), signature, own, to, config);
        let request = request.map_err(Failure::unusable)?;
        Ok(Work { request, computation, evidence: None })
    }

    /// The same on so many threads of this side.
    pub(crate) fn on(self, threads: usize) -> Work {
        Work { request: self.request.on(threads), ..self }
    }

    /// Keeps evidence in this file.
    pub(crate) fn keeping(self, evidence: Option<PathBuf>) -> Work {
        Work { evidence, ..self }
    }

    /// Refuses, when the parties meet, to compute what is predicted to take more than `limits` allow.
    pub(crate) fn within(self, limits: Option<Limits>, role: Role) -> Result<Work, Failure> {
        let Some(limits) = limits else { return Ok(self) };
        let (machine, _) = calibrate::typical();
        let request = self.request.within(&limits, &machine, policy::PEER_LINK, role);
        Ok(Work { request: request.map_err(Failure::unusable)?, ..self })
    }

    /// Agrees with the peer, computes, and ends the session.
    pub(crate) fn run(
        &self,
        channels: Channels,
        role: Role,
        done: &AtomicU64,
        store: Option<Box<dyn Store>>,
    ) -> Result<Report, Failure> {
        let ran = match store {
            Some(store) => self.request.run_kept(channels, role, done, store)?,
            None => self.request.run(channels, role, done)?,
        };
        if let Some(Err(fault)) = &ran.put_away {
            output::note(&format!("what was left is not kept: {fault}"));
        }
        let mut report = Report::default();
        report.session(&ran.summary);
        // After a failed job as well; and after the end, so that the peer waits for nothing that only
        // one who found it out does.
        let evidence = ran.summary.evidence.as_ref();
        report.evidence = evidence.map(|found| evidence::report(found, self.evidence.as_deref()));
        report.jobs.push(JobReport::of(&ran.outcome?));
        Ok(report.finish())
    }
}

fn reply(work: &Work, role: Role, report: &Report) -> Reply {
    let mut json = json!({
        "outputs": report.outputs,
        "role": role.name(),
        "backend": work.request.config().backend.name(),
        "configuration": work.request.config(),
        "ands": work.computation.ands(),
        "adversary": report.adversary,
        "peer": report.peer,
        "kappa": report.kappa,
        "epsilon_log2": report.epsilon_log2,
        "evidence": report.evidence,
        "wall_s": report.wall_s,
        "cost": cost(report),
    });
    if let Some(typed) = work.computation.typed(&report.outputs) {
        json["values"] = Value::Object(typed);
    }
    Reply::new(json, work.computation.outputs_text(&report.outputs))
}

/// Lists what a run cost one party.
pub(crate) fn cost(report: &Report) -> Value {
    json!({
        "setup_s": report.setup_s,
        "preprocess_s": report.preprocess_s,
        "online_s": report.online_s,
        "bytes_sent": report.bytes_sent,
        "bytes_received": report.bytes_received,
        "rounds": report.rounds,
        "peak_rss_bytes": report.peak_rss_bytes,
        "cpu_s": report.cpu_s,
        "on_the_line": report.on_the_line,
        "stores": report.stores,
    })
}
