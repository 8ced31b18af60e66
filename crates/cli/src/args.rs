//! The arguments of every command, as `--help` shows them.

use std::path::PathBuf;

use cenote_circuit::Shown;
use cenote_circuit::optimise::Options;
use cenote_engine::{Backend, Receivers, Role, SessionConfig};
use cenote_job::policy;
use cenote_prim::Workers;
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

use crate::bench::args::BenchCommand;
use crate::circuit::CircuitFormat;
use crate::exit::Failure;
use crate::identity::{InitArgs, PairArgs, RotateArgs};
use crate::pool::PoolCommand;
use crate::program::args::{LimitArgs, ProgramCommand};
use crate::service::audit::AuditCommand;
use crate::service::client::ServiceArgs;
use crate::service::doctor::DoctorArgs;
use crate::service::job::JobCommand;
use crate::service::owner::{
    ApprovalCommand, ApproveArgs, DataCommand, MemoryCommand, PeerCommand,
};
use crate::service::serve::ServeArgs;
use crate::service::setup::{CertificateArgs, TokenCommand};
use crate::store_key::KeyArgs;
use crate::values::Given;

const EXIT_CODES: &str = "\
Exit codes: 0 success; 1 defect of this program; 2 bad input, nothing was started;
3 refused: the parties do not agree, or a certificate or the code of a pairing is not the expected one;
4 the peer misbehaved; 5 the connection failed; 6 the peer aborted;
7 a stock or limit ran out; 8 what is kept on disk cannot be read or written;
130 interrupted.";

/// Secure two-party computation: two private inputs in, one result out, against a peer that may cheat.
#[derive(Parser)]
#[command(name = "cenote", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// Print one JSON object on standard output instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a program or circuit with both parties on this machine, as two processes.
    Run(RunArgs),
    /// Run one side of a computation with a peer.
    Party(Box<PartyArgs>),
    /// Measure; where both parties run, they do on this machine, one core each.
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Look at, evaluate and convert circuit files.
    #[command(subcommand)]
    Circuit(CircuitCommand),
    /// Look at, evaluate, convert and price structured programs.
    #[command(subcommand)]
    Program(ProgramCommand),
    /// Derive bucket sizes, check rates and codes from a pool size and an error bound.
    Params(ParamsArgs),
    /// Items that are made ahead of programs and outlive their session.
    #[command(subcommand)]
    Pool(PoolCommand),
    /// Run a service that answers jobs of two owners, until a signal ends it.
    Serve(ServeArgs),
    /// Jobs of a running service.
    #[command(subcommand)]
    Job(JobCommand),
    /// Data sets of a running service.
    #[command(subcommand)]
    Data(DataCommand),
    /// Permit jobs of a program, under terms.
    Approve(Box<ApproveArgs>),
    /// What is permitted.
    #[command(subcommand)]
    Approval(ApprovalCommand),
    /// What a running service holds for later jobs.
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// The peer of a running service.
    #[command(subcommand)]
    Peer(PeerCommand),
    /// Show a running service: the peer, the pools, jobs by state.
    Status(ServiceArgs),
    /// Check the directory of a service, its machine, the way to the peer, and the service if it runs.
    Doctor(DoctorArgs),
    /// Check the audit logs of services.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Who may call the API of a service.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Make key and certificate of a service's HTTP API anew.
    Certificate(CertificateArgs),
    /// Make this side's certificate and private key, and the configuration of a service.
    Init(InitArgs),
    /// Get a peer's certificate, over the network or from a file, make sure of it, and keep it.
    Pair(PairArgs),
    /// Change the certificate of a service while it runs: make the next one, then take it.
    Rotate(RotateArgs),
}

/// The backend of a session with its options; both sides must choose the same.
#[derive(Args, Clone, Debug)]
pub(crate) struct SecurityArgs {
    #[arg(long, value_name = "NAME[:OPTION=VALUE,..]", default_value = "wrk", value_parser = backend)]
    #[arg(help = about_backends("Protocol, with its options if there are any"))]
    pub(crate) backend: SessionConfig,
    /// Items of the pool: leaky ANDs (wrk; without it 480000 for a program of as many ANDs, else none), or
    /// `none` for one-shot batches; garbled ANDs, 10000 without it (jimu).
    #[arg(long, value_name = "N|none", value_parser = pool, allow_negative_numbers = true)]
    pub(crate) pool: Option<String>,
    #[command(flatten)]
    pub(crate) refine: RefineArgs,
}

/// The options of backends that have flags of their own.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RefineArgs {
    /// Statistical security in bits: 40, 64 or 80; 40 without it (wrk and jimu).
    #[arg(long, value_parser = rho)]
    pub(crate) rho: Option<String>,
    /// Correlated oblivious transfer: auto (wrk; goes by the line), softspoken4, softspoken8 or silent (wrk).
    #[arg(long, value_name = "NAME")]
    pub(crate) ot: Option<String>,
    /// Multiplexers take ANDs from the pool of ANDs, not cores from pools of their own (jimu).
    #[arg(long)]
    pub(crate) no_muxcore: bool,
    /// The pools are not stored: what is drawn is sent again (jimu).
    #[arg(long)]
    pub(crate) compact: bool,
}

impl RefineArgs {
    /// Sets what these flags and `pool` say in each session whose backend has it; a flag that none has is
    /// bad input.
    pub(crate) fn apply(
        &self,
        pool: Option<&str>,
        mut sessions: Vec<SessionConfig>,
    ) -> Result<Vec<SessionConfig>, Failure> {
        for (flag, option, value) in [
            ("--pool", "pool", pool),
            ("--rho", "rho", self.rho.as_deref()),
            ("--ot", "ot", self.ot.as_deref()),
            ("--no-muxcore", "muxcore", self.no_muxcore.then_some("false")),
            ("--compact", "compact", self.compact.then_some("true")),
        ] {
            let Some(value) = value else { continue };
            let has = |config: &SessionConfig| config.option(option).is_some();
            if !sessions.iter().any(has) {
                return Err(meaningless(flag, |backend| has(&SessionConfig::new(backend))));
            }
            for config in sessions.iter_mut().filter(|config| has(config)) {
                *config = config.set(option, value).map_err(Failure::unusable)?;
            }
        }
        Ok(sessions)
    }
}

/// The failure that `flag` is where none of the backends that have it, those of `has`, was named.
pub(crate) fn meaningless(flag: &str, has: impl Fn(Backend) -> bool) -> Failure {
    let with = Backend::ALL.into_iter().filter(|backend| has(*backend));
    let names = with.map(Backend::name).collect::<Vec<_>>().join(" or ");
    let what = format!("{flag} means nothing without --backend {names}; leave it out");
    Failure::bad_input(what)
}

/// The session `config` for a computation of `ands` ANDs. What has no sound parameters is bad input, and
/// nothing starts.
pub(crate) fn sound(config: SessionConfig, ands: u64) -> Result<SessionConfig, Failure> {
    let config = config.for_ands(ands);
    Backend::shown(&config).map(|_| config).map_err(Failure::unusable)
}

impl SecurityArgs {
    /// The session that was asked for.
    pub(crate) fn chosen(&self) -> Result<SessionConfig, Failure> {
        let chosen = self.refine.apply(self.pool.as_deref(), vec![self.backend])?;
        chosen.into_iter().next().ok_or_else(|| Failure::internal("one backend was named"))
    }
}

/// The threads of a party.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ThreadArgs {
    /// Compute on T threads, 1 to 64: what a party makes ahead, most of its work, side by side, and its requests beside
    /// that (wrk). The peer may have another number.
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = threads)]
    pub(crate) threads: usize,
}

#[derive(Args)]
pub(crate) struct RunArgs {
    /// Structured program, or circuit in a Bristol format, SHDL, BLIF, AIGER or Verilog (by yosys).
    pub(crate) file: PathBuf,
    /// NAME=VALUE for the input of this name: a number of its kind, for a vector one for each lane
    /// between commas, or @FILE with one a line. Without a name, a port's value in hexadecimal, most
    /// significant digit first, or @FILE that holds it: the i-th belongs to port i. A circuit's ports
    /// without an owner take turns, the garbler first.
    #[arg(long = "input", value_name = "NAME=VALUE|[garbler=|evaluator=]HEX", value_parser = Given::parse)]
    pub(crate) inputs: Vec<Given>,
    #[command(flatten)]
    pub(crate) security: SecurityArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    /// Who receives outputs whose port names nobody; both without it.
    #[arg(long, value_name = "garbler|evaluator|both", value_parser = receivers)]
    pub(crate) reveal_to: Option<Receivers>,
    /// Should the peer be found to have cheated, keep the evidence in FILE, readable for its owner alone
    /// (jimu, for the evaluator).
    #[arg(long, value_name = "FILE")]
    pub(crate) evidence: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// Which party this is, and how it reaches the other.
#[derive(Args)]
#[command(group = ArgGroup::new("peer").required(true).args(["listen", "connect"]))]
#[command(group = ArgGroup::new("line").required(true).args(["identity", "insecure_plaintext"]))]
pub(crate) struct PeerArgs {
    /// Which party this is.
    #[arg(long, value_parser = role)]
    pub(crate) role: Role,
    /// Wait for the peer on HOST:PORT.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<String>,
    /// Connect to the peer at HOST:PORT.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) connect: Option<String>,
    /// Directory that `cenote init` made: TLS with mutual authentication.
    #[arg(long, value_name = "DIR")]
    pub(crate) identity: Option<PathBuf>,
    /// The peer's certificate; without it, the one that `cenote pair` kept in DIR.
    #[arg(long, value_name = "FILE", requires = "identity", conflicts_with = "insecure_plaintext")]
    pub(crate) peer_cert: Option<PathBuf>,
    /// No encryption and no authentication: whoever is on the line can read and change everything.
    #[arg(long)]
    pub(crate) insecure_plaintext: bool,
    /// Seconds to wait for the peer to come.
    #[arg(long, value_name = "SECONDS", default_value_t = policy::PEER_COMES.as_secs(), value_parser = seconds)]
    pub(crate) wait: u64,
    /// Seconds that the peer may stay silent: its machine or the line is dead then.
    #[arg(long, value_name = "SECONDS", default_value_t = policy::PEER_SILENT.as_secs(), value_parser = seconds)]
    pub(crate) idle_limit: u64,
    /// Seconds that the peer may compute between two messages, saying only that it is there.
    #[arg(long, value_name = "SECONDS", default_value_t = policy::PEER_WORKS.as_secs(), value_parser = seconds)]
    pub(crate) work_limit: u64,
}

#[derive(Args)]
pub(crate) struct PartyArgs {
    /// Structured program, or circuit in a Bristol format, SHDL, BLIF, AIGER or Verilog (by yosys); the
    /// peer has the same.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// Value of an own port: NAME=VALUE, numbers of its kind, or hexadecimal in port order, most
    /// significant digit first; @FILE in place of a value names a file that holds it.
    #[arg(long = "input", value_name = "NAME=VALUE|HEX", value_parser = Given::parse)]
    pub(crate) inputs: Vec<Given>,
    /// Owner of each input port, e.g. `g,e,g`; without it, ports take turns, the garbler first.
    #[arg(long, value_name = "g|e,...", value_delimiter = ',', value_parser = role)]
    pub(crate) owners: Option<Vec<Role>>,
    #[command(flatten)]
    pub(crate) security: SecurityArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    /// Who receives outputs whose port names nobody; both without it.
    #[arg(long, value_name = "garbler|evaluator|both", value_parser = receivers)]
    pub(crate) reveal_to: Option<Receivers>,
    /// Should the peer be found to have cheated, keep the evidence in FILE, readable for its owner alone
    /// (jimu, for the evaluator).
    #[arg(long, value_name = "FILE")]
    pub(crate) evidence: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Take items that earlier sessions with this peer have kept in DIR, and keep there what is left; the peer does the same (wrk, jimu).
    /// `cenote pool fill` makes them ahead.
    #[arg(long, value_name = "DIR", requires = "key", conflicts_with = "insecure_plaintext")]
    pub(crate) store: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

/// How a circuit file is optimised.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct OptimiseArgs {
    /// Gates that are looked at together; memory is for these and for the live wires.
    #[arg(long, value_name = "GATES", default_value_t = 1 << 20, value_parser = clap::value_parser!(u32).range(1..=1 << 26))]
    pub(crate) window: u32,
    /// Balance trees, for fewer ANDs on the longest path.
    #[arg(long)]
    pub(crate) depth: bool,
}

impl OptimiseArgs {
    pub(crate) fn options(&self) -> Options {
        Options { window: self.window as usize, depth: self.depth }
    }
}

#[derive(Subcommand)]
pub(crate) enum CircuitCommand {
    /// Ports, gates by type, depths and live wires.
    Info {
        /// Circuit in a Bristol format, SHDL, BLIF, AIGER or Verilog (by yosys).
        file: PathBuf,
        #[command(flatten)]
        cycles: CyclesArgs,
    },
    /// Evaluate in the clear.
    Eval {
        /// Circuit in a Bristol format, SHDL, BLIF, AIGER or Verilog (by yosys).
        file: PathBuf,
        /// A port's value in hexadecimal, most significant digit first, or @FILE that holds it; one
        /// for each input port, in port order.
        #[arg(long = "input", value_name = "[NAME=]HEX", value_parser = Given::parse)]
        inputs: Vec<Given>,
        #[command(flatten)]
        cycles: CyclesArgs,
    },
    /// Write a circuit in another format.
    Convert {
        /// Circuit in a Bristol format, SHDL, BLIF, AIGER or Verilog (by yosys).
        file: PathBuf,
        /// File to write; without it, standard output.
        #[arg(long, short, value_name = "OUT")]
        output: Option<PathBuf>,
        /// Format to write; without it, Bristol Fashion, or the old format if FILE is in Bristol Fashion.
        #[arg(long)]
        to: Option<CircuitFormat>,
        #[command(flatten)]
        cycles: CyclesArgs,
        /// Optimise it first, in memory.
        #[arg(long)]
        optimise: bool,
        /// Write over an existing OUT and its ports file.
        #[arg(long, requires = "output")]
        force: bool,
    },
    /// Write the same function with fewer gates and ANDs; from a Bristol format to Bristol Fashion whatever
    /// the size.
    Optimise {
        /// Circuit in a Bristol format, SHDL, BLIF, AIGER or Verilog (by yosys).
        file: PathBuf,
        /// File to write.
        #[arg(long, short, value_name = "OUT")]
        output: PathBuf,
        /// Format to write; without it, Bristol Fashion.
        #[arg(long)]
        to: Option<CircuitFormat>,
        /// Say what each pass leaves.
        #[arg(long)]
        report: bool,
        #[command(flatten)]
        optimise: OptimiseArgs,
        /// Write over an existing OUT and its ports file.
        #[arg(long)]
        force: bool,
    },
}

/// How a circuit with latches becomes one without.
#[derive(Args, Clone, Copy)]
pub(crate) struct CyclesArgs {
    /// Run a circuit with latches for N cycles from its initial state. A port carries the values of all
    /// cycles, the first in the least significant bits; outputs are those of the last cycle.
    #[arg(long, value_name = "N")]
    pub(crate) cycles: Option<usize>,
    /// Outputs of every cycle.
    #[arg(long, requires = "cycles")]
    pub(crate) every: bool,
}

impl CyclesArgs {
    /// Which outputs there are.
    pub(crate) fn shown(self) -> Shown {
        if self.every { Shown::Every } else { Shown::Last }
    }
}

#[derive(Args, Debug)]
pub(crate) struct ParamsArgs {
    /// Protocol whose pool it is.
    #[arg(long, value_enum)]
    pub(crate) backend: PoolBackend,
    /// Items of the pool: garbled ANDs (jimu) or leaky ANDs (wrk).
    #[arg(long, value_name = "N", value_parser = items, allow_negative_numbers = true)]
    pub(crate) pool: u64,
    /// Base-2 logarithm of the error bound for the whole life of this pool alone, whatever else a
    /// session has; without it, the parameters of a session with --rho.
    #[arg(long, value_name = "LOG2", value_parser = log2, allow_negative_numbers = true,
        conflicts_with_all = ["rho", "no_muxcore", "compact"])]
    pub(crate) epsilon_log2: Option<f64>,
    #[command(flatten)]
    pub(crate) refine: RefineArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum PoolBackend {
    /// Garbled ANDs, of which a share is opened and spent.
    Jimu,
    /// Leaky ANDs, all checked and all kept.
    Wrk,
}

pub(crate) fn backend(text: &str) -> Result<SessionConfig, String> {
    text.parse().map_err(|fault| Failure::unusable(fault).message)
}

/// The help of an option that names a backend: `what` it takes, and all there are.
pub(crate) fn about_backends(what: &str) -> String {
    let all = Backend::ALL.map(|backend| format!("\n{}: {}", backend.name(), backend.about()));
    format!("{what}, e.g. `wrk:pool=480000,rho=64`{}", all.concat())
}

/// Some backends with their options.
#[derive(Clone, Debug)]
pub(crate) struct Backends(Vec<SessionConfig>);

impl Backends {
    /// All of them, in their order.
    pub(crate) fn all(lists: &[Backends]) -> Vec<SessionConfig> {
        lists.iter().flat_map(|list| list.0.iter().copied()).collect()
    }
}

pub(crate) fn backends(text: &str) -> Result<Backends, String> {
    let all = SessionConfig::parse_list(text).map(Backends);
    all.map_err(|fault| Failure::unusable(fault).message)
}

pub(crate) fn pool(text: &str) -> Result<String, String> {
    let checked = if text == "none" { Ok(()) } else { items(text).map(drop) };
    checked.map(|()| text.to_owned()).map_err(|what| format!("{what}, or `none`"))
}

/// A number of items in a pool.
pub(crate) fn items(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "use a positive whole number".to_owned())
}

pub(crate) fn rtt_ms(text: &str) -> Result<f64, String> {
    let ms = text.parse().ok().filter(|ms| (0.0..=10_000.0).contains(ms));
    ms.ok_or_else(|| "use milliseconds from 0 to 10000, not negative".to_owned())
}

pub(crate) fn mbit(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (1.0..=1e9).contains(rate));
    rate.ok_or_else(|| "use a positive rate in Mbit/s, from 1 to 10^9".to_owned())
}

/// The logarithm of a probability. People forget the sign.
fn log2(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(log2) if log2 < 0.0 && log2.is_finite() => Ok(log2),
        Ok(log2) if log2 > 0.0 && log2.is_finite() => {
            Err(format!("a bound below 1 has a negative logarithm; use -{log2}"))
        }
        _ => Err("use a negative number such as -40".to_owned()),
    }
}

pub(crate) fn threads(text: &str) -> Result<usize, String> {
    let (least, most) = Workers::COUNTS.into_inner();
    let threads = text.parse().ok().filter(|threads| Workers::COUNTS.contains(threads));
    threads.ok_or_else(|| format!("a party has {least} to {most} threads"))
}

pub(crate) fn rho(text: &str) -> Result<String, String> {
    let known = ["40", "64", "80"].contains(&text);
    if known { Ok(text.to_owned()) } else { Err("use 40, 64 or 80".to_owned()) }
}

pub(crate) fn role(text: &str) -> Result<Role, String> {
    match text {
        // The owners of a program; which of them garbles is settled here.
        "garbler" | "g" | "a" => Ok(Role::Garbler),
        "evaluator" | "e" | "b" => Ok(Role::Evaluator),
        _ => Err("use garbler or evaluator; of a program, a is the garbler".to_owned()),
    }
}

pub(crate) fn receivers(text: &str) -> Result<Receivers, String> {
    match text {
        "both" => Ok(Receivers::Both),
        _ => role(text).map(Receivers::from),
    }
}

pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(seconds @ 1..=86_400) => Ok(seconds),
        _ => Err("use a number of seconds from 1 to 86400".to_owned()),
    }
}
