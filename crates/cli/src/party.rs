//! `cenote party`: one side of a computation. `cenote run` starts two of the same work.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cenote_circuit::{Circuit, Gate, Gates, Program, Signature};
use cenote_engine::{ProgramJob, Receivers, Role, Session, role_of};
use cenote_net::{Channel, Fault, Handshake, PeerCertificate, tcp_listen};
use cenote_prim::{Prg, RandomOracle, SessionId};
use serde_json::{Value, json};

use crate::args::PartyArgs;
use crate::exit::Failure;
use crate::identity::{self, PEER_FILE};
use crate::interrupt::Interrupt;
use crate::link::{self, End, Protection};
use crate::output::{self, Format, Reply};
use crate::progress::Meter;
use crate::workers::{JobReport, Report, Security};
use crate::{circuit, evidence, values};

pub(crate) fn command(args: PartyArgs, format: Format) -> Result<Reply, Failure> {
    let (role, limit) = (args.role, Duration::from_secs(args.idle_limit));
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
    let patience = Duration::from_secs(args.wait);
    let mut channel = link::open(&end, &protection, patience, None)?;
    channel.set_idle_limit(limit);
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
    let circuit = circuit::read(&args.file)?;
    let security = args.security.chosen()?;
    let none = vec![None; circuit.signature().inputs.len()];
    let owners = args.owners.as_ref().map(|owners| owners.iter().copied().map(Some).collect());
    let signature = values::with_owners(circuit.signature(), &owners.unwrap_or(none))?;
    let to = values::receivers(&signature, args.reveal_to)?;
    evidence::check(args.evidence.as_deref(), security.backend())?;
    if args.evidence.is_some() && args.role == Role::Garbler {
        let what = "--evidence means nothing for the garbler: the evaluator alone can have any";
        return Err(Failure::bad_input(what));
    }
    let work = Work::new(circuit, signature, args.role, &args.inputs, to, security)?;
    Ok(work.keeping(args.evidence.clone()))
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

/// One run of a circuit as one party sees it.
pub(crate) struct Work {
    circuit: Circuit,
    signature: Signature,
    own: Vec<Vec<bool>>,
    to: Receivers,
    security: Security,
    ands: u64,
    /// Where evidence goes, should there be any.
    evidence: Option<PathBuf>,
}

impl Work {
    /// Checks values and parameters; `texts` are those of the ports that `role` owns.
    pub(crate) fn new(
        circuit: Circuit,
        signature: Signature,
        role: Role,
        texts: &[String],
        to: Receivers,
        security: Security,
    ) -> Result<Work, Failure> {
        let ands = conjunctions(&circuit);
        security.config(ands)?;
        let own = own_bits(&signature, role, texts)?;
        Ok(Work { circuit, signature, own, to, security, ands, evidence: None })
    }

    /// Keeps evidence in this file.
    pub(crate) fn keeping(self, evidence: Option<PathBuf>) -> Work {
        Work { evidence, ..self }
    }

    /// The checks of [`Work::new`] alone; gives the number of conjunctions.
    pub(crate) fn check(
        circuit: &Circuit,
        signature: &Signature,
        role: Role,
        texts: &[String],
        security: Security,
    ) -> Result<u64, Failure> {
        let ands = conjunctions(circuit);
        security.config(ands)?;
        own_bits(signature, role, texts).map(|_| ands)
    }

    /// Agrees with the peer, computes, and ends the session.
    pub(crate) fn run(
        &self,
        mut channel: Channel,
        role: Role,
        done: &AtomicU64,
    ) -> Result<Report, Failure> {
        let mut prg = Prg::from_os();
        self.agree(&mut channel, role, &mut prg).inspect_err(|_| channel.abort())?;
        let config = self.security.config(self.ands)?;
        let mut session = Session::open(channel, role, &config, prg)?;
        let bound = Bound { work: self, done };
        let job = ProgramJob::new(&bound, role, self.own.clone(), self.to)?;
        let outcome = session.run(&job);
        let evidence = session.claims().evidence;
        let mut report = Report::default();
        report.session(&mut session);
        session.close();
        // After a failed job as well; and after the end, so that the peer waits for nothing that only
        // one who found it out does.
        report.evidence = evidence.map(|found| evidence::tell(&found, self.evidence.as_deref()));
        report.jobs.push(JobReport::of(&outcome?));
        Ok(report.finish())
    }

    /// Names everything that the two command lines could differ in, so that one refusal tells all;
    /// what follows binds the same values again.
    fn agree(&self, channel: &mut Channel, role: Role, prg: &mut Prg) -> Result<(), Fault> {
        let mut handshake = Handshake::new("run")
            .field("program", hex(&self.circuit.digest()))
            .field("owners", self.owners())
            .field("reveal-to", self.to.name())
            .field("backend", self.security.backend().name());
        for (name, value) in self.security.terms() {
            handshake = handshake.field(name, value);
        }
        handshake.run(channel, role, prg.bytes32()).map(drop).map_err(|fault| match fault {
            Fault::Policy(what) if what.contains("program: here") => {
                Fault::Policy(format!("{what}; compare with `cenote circuit info` on both sides"))
            }
            other => other,
        })
    }

    /// One letter for each input port, or a digest where there are very many.
    fn owners(&self) -> String {
        let letter = |owner| match role_of(owner) {
            Role::Garbler => 'g',
            Role::Evaluator => 'e',
        };
        let letters: String = self.signature.owners().into_iter().map(letter).collect();
        if letters.len() <= 512 { letters } else { hex(&digest(&letters)) }
    }
}

fn conjunctions(circuit: &Circuit) -> u64 {
    circuit.gates().iter().filter(|gate| matches!(gate, Gate::And(..))).count() as u64
}

fn own_bits(
    signature: &Signature,
    role: Role,
    texts: &[String],
) -> Result<Vec<Vec<bool>>, Failure> {
    let owned = signature.inputs.iter().filter(|port| port.owner.map(role_of) == Some(role));
    let owned: Vec<_> = owned.collect();
    values::all_bits(owned.into_iter(), texts, &format!("the {role}"))
}

fn digest(text: &str) -> [u8; 32] {
    RandomOracle::new("cenote 2026 owners of many ports v1", &SessionId([0; 32]))
        .bytes(text.as_bytes())
        .digest()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The circuit with the owners of this run. Its file's name is nobody's business but the owner's.
struct Bound<'w> {
    work: &'w Work,
    done: &'w AtomicU64,
}

impl Program for Bound<'_> {
    fn name(&self) -> String {
        "circuit".to_owned()
    }

    fn signature(&self) -> Signature {
        self.work.signature.clone()
    }

    fn digest(&self) -> [u8; 32] {
        self.work.circuit.digest()
    }

    fn run<G: Gates>(
        &self,
        g: &mut G,
        inputs: &[Vec<G::Wire>],
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        self.work.circuit.run(&mut Metered { gates: g, done: self.done }, inputs)
    }
}

/// Counts conjunctions on their way to a backend.
struct Metered<'g, G> {
    gates: &'g mut G,
    done: &'g AtomicU64,
}

impl<G> Metered<'_, G> {
    fn count(&self, ands: usize) {
        self.done.fetch_add(ands as u64, Ordering::Relaxed);
    }
}

impl<G: Gates> Gates for Metered<'_, G> {
    type Wire = G::Wire;
    type Error = G::Error;

    fn constant(&mut self, bit: bool) -> Result<G::Wire, G::Error> {
        self.gates.constant(bit)
    }

    fn xor(&mut self, a: &G::Wire, b: &G::Wire) -> Result<G::Wire, G::Error> {
        self.gates.xor(a, b)
    }

    fn not(&mut self, a: &G::Wire) -> Result<G::Wire, G::Error> {
        self.gates.not(a)
    }

    fn and(&mut self, a: &G::Wire, b: &G::Wire) -> Result<G::Wire, G::Error> {
        self.count(1);
        self.gates.and(a, b)
    }

    fn xor_many(&mut self, a: &[G::Wire], b: &[G::Wire]) -> Result<Vec<G::Wire>, G::Error> {
        self.gates.xor_many(a, b)
    }

    fn and_many(&mut self, a: &[G::Wire], b: &[G::Wire]) -> Result<Vec<G::Wire>, G::Error> {
        self.count(a.len().min(b.len()));
        self.gates.and_many(a, b)
    }

    fn and_groups(
        &mut self,
        selects: &[G::Wire],
        bits: &[G::Wire],
    ) -> Result<Vec<G::Wire>, G::Error> {
        self.count(bits.len());
        self.gates.and_groups(selects, bits)
    }

    fn mux_many(
        &mut self,
        select: &G::Wire,
        on_true: &[G::Wire],
        on_false: &[G::Wire],
    ) -> Result<Vec<G::Wire>, G::Error> {
        self.count(on_true.len().min(on_false.len()));
        self.gates.mux_many(select, on_true, on_false)
    }
}

fn reply(work: &Work, role: Role, report: &Report) -> Reply {
    let json = json!({
        "outputs": report.outputs,
        "role": role.name(),
        "backend": work.security.backend().name(),
        "ands": work.ands,
        "adversary": report.adversary,
        "kappa": report.kappa,
        "epsilon_log2": report.epsilon_log2,
        "evidence": report.evidence,
        "wall_s": report.wall_s,
        "cost": cost(report),
    });
    Reply::new(json, circuit::outputs_text(&work.signature, &report.outputs))
}

/// What a run cost one party.
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
    })
}
