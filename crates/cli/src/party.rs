//! `cenote party`: one side of a computation. `cenote run` starts two of the same work.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use cenote_circuit::{Circuit, Gates, Program, Signature};
use cenote_engine::cost::{Excess, Limits};
use cenote_engine::{Metered, ModuleJob, ProgramJob, Receivers, Role, Session, SessionConfig};
use cenote_net::{Channel, Fault, Handshake, PeerCertificate, tcp_listen};
use cenote_prim::{Prg, RandomOracle, SessionId};
use serde_json::{Value, json};

use crate::args::{PartyArgs, sound};
use crate::computation::Computation;
use crate::exit::Failure;
use crate::identity::{self, PEER_FILE};
use crate::interrupt::Interrupt;
use crate::link::{self, End, Protection};
use crate::output::{self, Format, Reply};
use crate::program::{calibrate, limits};
use crate::progress::Meter;
use crate::values::{Given, Port};
use crate::workers::{JobReport, Report};
use crate::{evidence, values};

pub(crate) fn command(args: PartyArgs, format: Format) -> Result<Reply, Failure> {
    let role = args.role;
    let [idle_limit, work_limit] = [args.idle_limit, args.work_limit].map(Duration::from_secs);
    let work = prepare(&args)?;
    let protection = protection(&args)?;
    let interrupt = Interrupt::install(format)?;
    let end = match (args.listen, args.connect) {
        (Some(address), _) => {
            let listener = tcp_listen(&address)?;
            output::note(&format!("listening on {}", listener.address()));
            End::Accept(listener)
        }
        (None, Some(address)) => End::Connect(address),
        (None, None) => return Err(Failure::bad_input("give --listen or --connect")),
    };
    let started = Instant::now();
    let timeout = Duration::from_secs(args.wait);
    let mut channel = link::open(end, &protection, timeout, None)?;
    channel.set_idle_limit(idle_limit);
    channel.set_work_limit(work_limit);
    let canceller = channel.canceller();
    interrupt.on_signal(move || canceller.cancel());
    let meter = Meter::start(work.ands, "ANDs");
    let mut report =
        work.run(channel, role, meter.count()).map_err(|failure| interrupt.or(failure))?;
    report.wall_s = started.elapsed().as_secs_f64();
    report.process();
    Ok(reply(&work, role, &report))
}

/// Everything that can be checked before the peer hears of the run.
fn prepare(args: &PartyArgs) -> Result<Work, Failure> {
    let computation = Computation::read(&args.file)?;
    let config = args.security.chosen()?;
    let none = vec![None; computation.signature().inputs.len()];
    let owners = args.owners.as_ref().map(|owners| owners.iter().copied().map(Some).collect());
    let signature = values::with_owners(computation.signature(), &owners.unwrap_or(none))?;
    let to = values::receivers(&signature, args.reveal_to)?;
    evidence::check(args.evidence.as_deref(), config.backend)?;
    if args.evidence.is_some() && args.role == Role::Garbler {
        let what = "--evidence means nothing for the garbler: the evaluator alone can have any";
        return Err(Failure::bad_input(what));
    }
    let limits = args.limits.chosen()?;
    let work = Work::new(computation, signature, args.role, &args.inputs, to, config)?;
    work.keeping(args.evidence.clone()).within(Some(limits), args.role)
}

fn protection(args: &PartyArgs) -> Result<Protection, Failure> {
    let Some(dir) = &args.identity else { return Ok(Protection::Plain) };
    let identity = identity::own(dir)?;
    let kept = dir.join(PEER_FILE);
    let file: &Path = args.peer_cert.as_deref().unwrap_or(&kept);
    if args.peer_cert.is_none() && !kept.exists() {
        return Err(Failure::bad_input(format!(
            "whom to talk to is not known: give --peer-cert, or run `cenote pair {} PEER_CERT`",
            dir.display()
        )));
    }
    Ok(Protection::Tls(Box::new((identity, PeerCertificate::load(file)?))))
}

/// One run of a program or circuit as one party sees it.
pub(crate) struct Work {
    computation: Computation,
    signature: Signature,
    own: Vec<Vec<bool>>,
    to: Receivers,
    config: SessionConfig,
    ands: u64,
    /// Where evidence goes, should there be any.
    evidence: Option<PathBuf>,
    /// Why this side will not run it.
    excess: Option<Excess>,
}

impl Work {
    /// Checks values and parameters; `given` are those of the ports that `role` owns.
    pub(crate) fn new(
        computation: Computation,
        signature: Signature,
        role: Role,
        given: &[Given],
        to: Receivers,
        config: SessionConfig,
    ) -> Result<Work, Failure> {
        let ands = computation.ands();
        let config = sound(config, ands)?;
        let owners = signature.owners();
        let owned = computation.ports().into_iter().zip(owners);
        let owned = owned.filter(|(_, owner)| *owner == role);
        let owned: Vec<Port> = owned.map(|(port, _)| port).collect();
        let own = values::all_bits(&owned, given, &format!("the {role}"))?;
        let (evidence, excess) = (None, None);
        Ok(Work { computation, signature, own, to, config, ands, evidence, excess })
    }

    /// Keeps evidence in this file.
    pub(crate) fn keeping(self, evidence: Option<PathBuf>) -> Work {
        Work { evidence, ..self }
    }

    /// Refuses, when the parties meet, to compute what is predicted to take more than `limits` allow.
    pub(crate) fn within(self, limits: Option<Limits>, role: Role) -> Result<Work, Failure> {
        let Some(limits) = limits else { return Ok(self) };
        let demand = self.computation.demand(&self.signature);
        let (machine, _) = calibrate::typical();
        let checked = limits::check(&limits, &self.config, &demand, &machine, role)?;
        Ok(Work { excess: checked.err(), ..self })
    }

    /// Agrees with the peer, computes, and ends the session.
    pub(crate) fn run(
        &self,
        mut channel: Channel,
        role: Role,
        done: &AtomicU64,
    ) -> Result<Report, Failure> {
        self.agree(&mut channel, role).inspect_err(|_| channel.abort())?;
        let mut session = Session::open(channel, role, &self.config)?;
        let outcome = match &self.computation {
            Computation::Circuit(circuit) => {
                let bound = Bound { work: self, circuit };
                let job = ProgramJob::new(&bound, role, self.own.clone(), self.to)?;
                session.run(&Metered { job, done })
            }
            Computation::Module { module, .. } => {
                let job = ModuleJob::new(module, role, self.own.clone())?;
                session.run(&Metered { job, done })
            }
        };
        let evidence = session.evidence();
        let mut report = Report::default();
        report.session(&mut session);
        session.close();
        // After a failed job as well; and after the end, so that the peer waits for nothing that only
        // one who found it out does.
        report.evidence = evidence.map(|found| evidence::report(&found, self.evidence.as_deref()));
        report.jobs.push(JobReport::of(&outcome?));
        Ok(report.finish())
    }

    /// Names everything that the two command lines could differ in, so that one refusal tells all;
    /// what follows binds the same values again.
    fn agree(&self, channel: &mut Channel, role: Role) -> Result<(), Fault> {
        let Work { computation, signature, to, config, excess, .. } = self;
        let handshake = handshake(computation, signature, *to, *config, excess.as_ref());
        let agreed = handshake.run(channel, role, Prg::from_os().bytes32()).map(drop);
        let fault = match (agreed, &self.excess) {
            (Err(Fault::Policy(_)) | Ok(()), Some(excess)) => {
                return Err(Fault::Policy(format!("the program takes too much: {excess}")));
            }
            (Ok(()), None) => return Ok(()),
            (Err(fault), _) => fault,
        };
        Err(match fault {
            Fault::Policy(what) if what.contains("program: here") => {
                let command = self.computation.info_command();
                Fault::Policy(format!("{what}; compare with `cenote {command}` on both sides"))
            }
            Fault::Policy(what) if what.contains("price: here") => {
                Fault::Policy(format!("{what}; the program is above the limits of the other side"))
            }
            other => other,
        })
    }
}

/// Builds the handshake: all that the two command lines have to agree on.
pub(crate) fn handshake(
    computation: &Computation,
    signature: &Signature,
    to: Receivers,
    config: SessionConfig,
    excess: Option<&Excess>,
) -> Handshake {
    let handshake = Handshake::new("run")
        .field("program", hex(&computation.digest()))
        .field("owners", owners(signature))
        .field("reveal-to", to.name())
        .field("backend", config.backend.name());
    let handshake =
        config.options().fold(handshake, |all, (name, value)| all.field(name, value.to_string()));
    // The figure of a side that refuses: both hear it, the limit stays with its owner.
    handshake.field("price", excess.map_or("accepted", |excess| excess.figure.as_str()))
}

/// One letter for each input port, or a digest where there are very many.
fn owners(signature: &Signature) -> String {
    let letter = |owner| match owner {
        Role::Garbler => 'g',
        Role::Evaluator => 'e',
    };
    let letters: String = signature.owners().into_iter().map(letter).collect();
    if letters.len() <= 512 { letters } else { hex(&digest(&letters)) }
}

fn digest(text: &str) -> [u8; 32] {
    RandomOracle::new("cenote 2026 cli owners of many ports v1", &SessionId([0; 32]))
        .bytes(text.as_bytes())
        .digest()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The circuit with the owners of this run. Its file's name is nobody's business but the owner's.
struct Bound<'w> {
    work: &'w Work,
    circuit: &'w Circuit,
}

impl Program for Bound<'_> {
    fn name(&self) -> String {
        "circuit".to_owned()
    }

    fn signature(&self) -> Signature {
        self.work.signature.clone()
    }

    fn digest(&self) -> [u8; 32] {
        self.circuit.digest()
    }

    fn run<G: Gates>(
        &self,
        g: &mut G,
        inputs: &[Vec<G::Wire>],
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        self.circuit.run(g, inputs)
    }
}

fn reply(work: &Work, role: Role, report: &Report) -> Reply {
    let mut json = json!({
        "outputs": report.outputs,
        "role": role.name(),
        "backend": work.config.backend.name(),
        "configuration": work.config,
        "ands": work.ands,
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
        "stores": report.stores,
    })
}
