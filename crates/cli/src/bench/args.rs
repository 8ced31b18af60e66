//! Arguments of `cenote bench`.

use std::path::PathBuf;

use cenote_engine::SessionConfig;
use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, Subcommand, ValueEnum};

use crate::args::{
    Backends, OptimiseArgs, RefineArgs, ThreadArgs, about_backends, backends, items, mbit, pool,
    rho, rtt_ms, threads,
};
use crate::exit::Failure;

#[derive(Subcommand, Debug)]
pub(crate) enum BenchCommand {
    /// A stream of ANDs with XORs between: half of it one chain, half wide.
    And(BenchAndArgs),
    /// What days of that stream make, use and send, by the plan of a session; no party runs it.
    Days(BenchDaysArgs),
    /// The stream of ANDs by one party alone, with one thread and with several, against a recorded peer.
    Threads(BenchThreadsArgs),
    /// Inputs of either party, and outputs to both.
    Wires(BenchWiresArgs),
    /// AES-128 under the garbler's key on the evaluator's blocks.
    Aes(BenchAesArgs),
    /// Correlated oblivious transfers in one direction.
    Ot(BenchOtArgs),
    /// Filling one pool of garbled gates, and what a gate costs to make, to check and to keep.
    PoolFill(BenchPoolFillArgs),
    /// Multiplexers, from pools of their own and without, in turns.
    Mux(BenchMuxArgs),
    /// Accesses to a memory at secret places: scanned, in trees (Circuit ORAM), or permuted (square-root ORAM).
    Oram(BenchOramArgs),
    /// Optimising a circuit file, streaming, in one process.
    Optimise(BenchOptimiseArgs),
    /// Hamming distance of a string of each party.
    Hamming(BenchHammingArgs),
    /// Sorting the numbers of both parties.
    Sort(BenchSortArgs),
    /// Edit distance of a string of each party.
    Edit(BenchEditArgs),
    /// From nothing to the program of an edit distance, checked, counted and written; no party runs it.
    CompileEdit(BenchCompileEditArgs),
    /// From nothing to the program of an RSA exponentiation with secret base, exponent and modulus.
    CompileRsa(BenchCompileRsaArgs),
    /// Jobs through two services: how many a second, and how long one takes.
    Service(BenchServiceArgs),
    /// Jobs through two services that are killed at random instants; fails if an item leaves twice, a result is wrong or a job has no end.
    Kills(BenchKillsArgs),
    /// What this machine could do, and the speeds that this allows the protocols at most.
    Limits,
}

/// The options that all benches of a backend take.
#[derive(Args, Clone, Debug)]
pub(crate) struct BenchSecurityArgs {
    #[arg(long, value_name = "NAME[:OPTION=VALUE,..],..", default_value = "wrk", value_parser = backends)]
    #[arg(help = about_backends("Protocol, with its options if there are any, or several between commas, measured in turns"))]
    pub(crate) backend: Vec<Backends>,
    /// Items of the pool: leaky ANDs, 480000 without it, or `none` for one-shot batches (wrk);
    /// garbled ANDs, 1048576 without it (jimu).
    #[arg(long, value_name = "N|none", value_parser = pool, allow_negative_numbers = true)]
    pub(crate) pool: Option<String>,
    #[command(flatten)]
    pub(crate) refine: RefineArgs,
}

/// The line between the parties of a bench, and how often it runs.
#[derive(Args, Clone, Debug)]
pub(crate) struct BenchLineArgs {
    /// TLS 1.3 with certificates made for the run.
    #[arg(long)]
    pub(crate) tls: bool,
    /// Round-trip time that is added, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 0.0, value_parser = rtt_ms, allow_negative_numbers = true)]
    pub(crate) rtt_ms: f64,
    /// Bandwidth of each direction in Mbit/s; unlimited without it.
    #[arg(long, value_name = "RATE", value_parser = mbit, allow_negative_numbers = true)]
    pub(crate) mbit: Option<f64>,
    /// One channel alone: what is made ahead is made between chunks, not beside them
    #[arg(long)]
    pub(crate) one_channel: bool,
    /// Runs; the reply gives medians.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
}

#[derive(Args, Debug)]
pub(crate) struct BenchAndArgs {
    /// ANDs of the stream.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub(crate) ands: u64,
    #[command(flatten)]
    pub(crate) security: BenchSecurityArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) line: BenchLineArgs,
}

#[derive(Args, Debug)]
pub(crate) struct BenchDaysArgs {
    /// Days without an end of the session.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=3650))]
    pub(crate) days: u16,
    /// ANDs a second, as `bench and` measures them.
    #[arg(long, value_name = "RATE", value_parser = rate, allow_negative_numbers = true)]
    pub(crate) ands_per_s: f64,
    #[command(flatten)]
    pub(crate) security: BenchSecurityArgs,
}

/// ANDs a second: a session numbers those of ten years.
fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| (1e-3..=1e9).contains(rate));
    rate.ok_or_else(|| "a number from 0.001 to 1e9 is expected".to_owned())
}

#[derive(Args, Debug)]
pub(crate) struct BenchThreadsArgs {
    /// ANDs of the stream.
    #[arg(long, value_name = "N", default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    pub(crate) ands: u64,
    /// The threads that one is compared with, on as many processor cores.
    #[arg(long, value_name = "T", default_value_t = 2, value_parser = threads)]
    pub(crate) threads: usize,
    /// Runs of each; the reply gives medians.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    #[command(flatten)]
    pub(crate) security: BenchSecurityArgs,
}

#[derive(Args, Debug)]
pub(crate) struct BenchWiresArgs {
    /// Input bits of each party, and output bits.
    #[arg(long, value_name = "N", default_value_t = 1 << 20, value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub(crate) wires: u32,
    #[command(flatten)]
    pub(crate) security: BenchSecurityArgs,
    #[command(flatten)]
    pub(crate) line: BenchLineArgs,
}

#[derive(Args, Debug)]
pub(crate) struct BenchAesArgs {
    /// Blocks of one job.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1 << 17))]
    pub(crate) blocks: u32,
    /// Jobs over the same session, one after the other.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) jobs: u32,
    /// Make nothing ahead: the first job fills the pool, and a job makes the triples it lacks.
    #[arg(long)]
    pub(crate) cold: bool,
    #[command(flatten)]
    pub(crate) security: BenchSecurityArgs,
    #[command(flatten)]
    pub(crate) line: BenchLineArgs,
}

/// Which of the runs of a job is measured.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct WarmArgs {
    /// Run the job once before the one that is measured, so that this finds all pools full.
    #[arg(long)]
    pub(crate) warm: bool,
}

#[derive(Args, Debug)]
pub(crate) struct BenchHammingArgs {
    /// Bits of each string.
    #[arg(long, value_name = "N", default_value_t = 1 << 20, value_parser = clap::value_parser!(u32).range(1..=1 << 26))]
    pub(crate) bits: u32,
    #[command(flatten)]
    pub(crate) warm: WarmArgs,
    #[command(flatten)]
    pub(crate) security: BenchSecurityArgs,
    #[command(flatten)]
    pub(crate) line: BenchLineArgs,
}

#[derive(Args, Debug)]
pub(crate) struct BenchSortArgs {
    /// Numbers of both parties together.
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(2..=1 << 20))]
    pub(crate) n: u32,
    /// Bits of a number.
    #[arg(long, value_name = "BITS", default_value_t = 32, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) width: u8,
    #[command(flatten)]
    pub(crate) warm: WarmArgs,
    #[command(flatten)]
    pub(crate) security: BenchSecurityArgs,
    #[command(flatten)]
    pub(crate) line: BenchLineArgs,
}

#[derive(Args, Debug)]
pub(crate) struct BenchEditArgs {
    /// Symbols of each string.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub(crate) n: u32,
    /// Bits of a symbol.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub(crate) bits: u8,
    /// Only the first ROWS of the N rows of the table; the reply predicts the whole.
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub(crate) rows: Option<u32>,
    #[command(flatten)]
    pub(crate) warm: WarmArgs,
    #[command(flatten)]
    pub(crate) security: BenchSecurityArgs,
    #[command(flatten)]
    pub(crate) line: BenchLineArgs,
}

#[derive(Args, Debug)]
pub(crate) struct BenchCompileEditArgs {
    /// Symbols of each string.
    #[arg(long, value_name = "N", default_value_t = 4095, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub(crate) n: u32,
    /// Bits of a symbol.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub(crate) bits: u8,
}

#[derive(Args, Debug)]
pub(crate) struct BenchCompileRsaArgs {
    /// Bits of base, exponent and modulus.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u16).range(8..=2048))]
    pub(crate) bits: u16,
}

#[derive(Args, Debug)]
pub(crate) struct BenchOtArgs {
    /// Bits of a SoftSpoken digit: more mean fewer bytes and more work.
    #[arg(long, default_value = "4", value_parser = PossibleValuesParser::new(["1", "2", "4", "8"]))]
    pub(crate) k: String,
    /// Silent OT instead of SoftSpokenOT: hardly any bytes.
    #[arg(long, conflicts_with = "k")]
    pub(crate) silent: bool,
    /// Correlated OTs.
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..=1 << 39))]
    pub(crate) count: u64,
    #[command(flatten)]
    pub(crate) line: BenchLineArgs,
}

/// The options that benches of garbled gates take.
#[derive(Args, Debug)]
pub(crate) struct BenchJimuArgs {
    /// Protocol; no other has pools of garbled gates.
    #[arg(long, default_value = "jimu", value_parser = PossibleValuesParser::new(["jimu"]))]
    pub(crate) backend: String,
    /// Statistical security in bits: 40, 64 or 80.
    #[arg(long, default_value = "40", value_parser = rho)]
    pub(crate) rho: String,
    /// The pools are not stored: what is drawn is sent again.
    #[arg(long)]
    pub(crate) compact: bool,
}

impl BenchJimuArgs {
    /// A session with a pool of `size`.
    pub(crate) fn session(&self, size: u64, muxcore: bool) -> Result<SessionConfig, Failure> {
        let Self { backend, rho, compact, .. } = self;
        let text = format!("{backend}:pool={size},rho={rho},muxcore={muxcore},compact={compact}");
        text.parse().map_err(Failure::unusable)
    }
}

#[derive(Args, Debug)]
pub(crate) struct BenchPoolFillArgs {
    /// Contents of the pool: single ANDs, or cores of multiplexers of so many bits.
    #[arg(long, value_enum, default_value = "and")]
    pub(crate) gadget: Gadget,
    /// Items of the pool.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = items, allow_negative_numbers = true)]
    pub(crate) size: u64,
    #[command(flatten)]
    pub(crate) jimu: BenchJimuArgs,
    #[command(flatten)]
    pub(crate) line: BenchLineArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Gadget {
    And,
    Mux8,
    Mux16,
    Mux32,
    Mux64,
}

impl Gadget {
    /// ANDs of an item.
    pub(crate) const fn width(self) -> usize {
        match self {
            Gadget::And => 1,
            Gadget::Mux8 => 8,
            Gadget::Mux16 => 16,
            Gadget::Mux32 => 32,
            Gadget::Mux64 => 64,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct BenchMuxArgs {
    /// Bits of a multiplexer.
    #[arg(long, value_name = "BITS", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) width: u16,
    /// Multiplexers; as many as make a million ANDs without it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub(crate) muxes: Option<u64>,
    /// Garbled ANDs of the pool; those of multiplexers have as many items, as far as memory allows.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = items, allow_negative_numbers = true)]
    pub(crate) pool: u64,
    #[command(flatten)]
    pub(crate) jimu: BenchJimuArgs,
    #[command(flatten)]
    pub(crate) line: BenchLineArgs,
}

#[derive(Args, Debug)]
pub(crate) struct BenchOramArgs {
    /// Rows of the memory.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(2..=1 << 24))]
    pub(crate) blocks: u32,
    /// Bits of a row.
    #[arg(long, value_name = "BITS", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=128))]
    pub(crate) width: u16,
    /// Accesses, each of which reads and writes a row.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1 << 16))]
    pub(crate) accesses: u64,
    /// Begin with given rows, the garbler's input, in place of zeros.
    #[arg(long)]
    pub(crate) given: bool,
    /// Every access goes over all rows; without any of these, what takes least.
    #[arg(long, group = "layout")]
    pub(crate) scan: bool,
    /// One tree, whose positions are scanned.
    #[arg(long, group = "layout")]
    pub(crate) flat: bool,
    /// Trees that hold the positions of one another, so many as take least.
    #[arg(long, group = "layout")]
    pub(crate) recursive: bool,
    /// Trees that hold so many positions of one another in a block, a power of two.
    #[arg(long, value_name = "POSITIONS", group = "layout", requires = "cutoff", value_parser = power_of_two)]
    pub(crate) factor: Option<u32>,
    /// With `--factor`: a tree is added while there are more positions than this; what is left is scanned.
    #[arg(long, value_name = "POSITIONS", requires = "factor", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) cutoff: Option<u32>,
    /// Square-root ORAM, with levels and a period that take least.
    #[arg(long, group = "layout")]
    pub(crate) sqrt: bool,
    #[command(flatten)]
    pub(crate) warm: WarmArgs,
    #[command(flatten)]
    pub(crate) security: BenchSecurityArgs,
    #[command(flatten)]
    pub(crate) line: BenchLineArgs,
}

/// Positions in a block of a tree of positions.
fn power_of_two(text: &str) -> Result<u32, String> {
    let factor = text.parse().ok().filter(|factor: &u32| factor.is_power_of_two());
    let factor = factor.filter(|factor| (2..=1 << 16).contains(factor));
    factor.ok_or_else(|| "a power of two from 2 to 65536 is expected".to_owned())
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("circuit").required(true).args(["file", "made"]))]
pub(crate) struct BenchOptimiseArgs {
    /// Circuit in Bristol Fashion or the old Bristol format.
    pub(crate) file: Option<PathBuf>,
    /// A circuit of at least so many gates, made for the run: adders and multipliers as a simple front end
    /// writes them.
    #[arg(long, value_name = "GATES", value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub(crate) made: Option<u64>,
    #[command(flatten)]
    pub(crate) optimise: OptimiseArgs,
    /// Runs; the reply gives medians.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
}

#[derive(Args, Debug)]
pub(crate) struct BenchServiceArgs {
    /// Seconds for which jobs are asked for.
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Clients that ask for comparisons of 32 bits, each for one job after the other.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) clients: u32,
    /// Jobs a second that are asked for in all, each at its time; as many as can be done without it.
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<f64>,
    /// One large job after the other beside them: sorting.
    #[arg(long)]
    pub(crate) mixed: bool,
    /// Seconds from the begin of one large job to that of the next, if it has ended by then.
    #[arg(long, value_name = "S", default_value_t = 0, requires = "mixed")]
    pub(crate) large_every: u64,
    /// Fail if the memory of a side in the last third of the time is more than so many times that of the third before.
    #[arg(long, value_name = "FACTOR")]
    pub(crate) memory_growth: Option<f64>,
    /// The same for the median of latencies, of small jobs and of large ones, above 25 ms.
    #[arg(long, value_name = "FACTOR")]
    pub(crate) latency_growth: Option<f64>,
    /// Numbers that a large job sorts.
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(2..=65_536))]
    pub(crate) sorted: u32,
    /// Triples kept ready for small jobs.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) small: u64,
    /// Triples kept ready for large jobs.
    #[arg(long, value_name = "N", default_value_t = 500_000)]
    pub(crate) large: u64,
    /// Protocol of all jobs, as `backend` of `[pool]` has it.
    #[arg(long, value_name = "NAME[:OPTION=VALUE,..]", default_value = "wrk")]
    pub(crate) backend: SessionConfig,
}

#[derive(Args, Debug)]
pub(crate) struct BenchKillsArgs {
    /// Protocol of all jobs, as `backend` of `[pool]` has it.
    #[arg(long, value_name = "NAME[:OPTION=VALUE,..]", default_value = "wrk")]
    pub(crate) backend: SessionConfig,
    /// Kills of one side or both.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) kills: u32,
    /// Which sides are killed, and after how long.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}
