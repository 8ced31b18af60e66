//! Arguments of `cenote program`, and the limits that `run` and `party` take.

use std::path::PathBuf;

use cenote_engine::cost::Link;
use cenote_engine::{Receivers, Role};
use clap::{Args, Subcommand};

use crate::args::{
    Backends, CyclesArgs, RefineArgs, backends, mbit, pool, receivers, role, rtt_ms,
};
use crate::service::client::ServiceArgs;
use crate::values::Given;

#[derive(Subcommand)]
pub(crate) enum ProgramCommand {
    /// Name, ports, digest and counts.
    Info {
        /// Structured program, text or binary.
        file: PathBuf,
    },
    /// Print the text form.
    Show {
        /// Structured program, text or binary.
        file: PathBuf,
    },
    /// Write the other form: a text becomes binary, a binary file text, a Garble program binary.
    Build {
        /// Structured program, text or binary, or a Garble program whose name ends with `.garble.rs`.
        file: PathBuf,
        /// The function of a Garble program; `main` without it.
        #[arg(long, value_name = "NAME")]
        function: Option<String>,
        /// A constant that a Garble program leaves open, such as PARTY_0::ROWS=8usize.
        #[arg(long = "const", value_name = "PARTY::NAME=VALUE", value_parser = constant)]
        constants: Vec<(String, String)>,
        /// File to write.
        #[arg(long, short, value_name = "OUT")]
        output: PathBuf,
        /// Write over an existing OUT.
        #[arg(long)]
        force: bool,
    },
    /// Write a program that computes the same with no more ANDs, in binary form.
    Optimise {
        /// Structured program, text or binary.
        file: PathBuf,
        /// File to write.
        #[arg(long, short, value_name = "OUT")]
        output: PathBuf,
        /// Balance trees, for fewer ANDs on the longest path.
        #[arg(long)]
        depth: bool,
        /// Say what each pass leaves, and name every function that became smaller.
        #[arg(long)]
        report: bool,
        /// Write over an existing OUT.
        #[arg(long)]
        force: bool,
    },
    /// Evaluate in the clear.
    Eval {
        /// Structured program, text or binary, or a circuit.
        file: PathBuf,
        /// NAME=VALUE for the input of this name: a number of its kind, for a vector one for each lane
        /// between commas, or @FILE with one a line. Without a name, hexadecimal in port order.
        #[arg(long = "input", value_name = "NAME=VALUE|HEX", value_parser = Given::parse)]
        inputs: Vec<Given>,
        #[command(flatten)]
        limits: LimitArgs,
    },
    /// Predict bytes, rounds, pool items, memory and time on each backend.
    Cost(CostArgs),
    /// Write a circuit in Bristol Fashion that computes the same, loops unrolled.
    Flatten {
        /// Structured program, text or binary.
        file: PathBuf,
        /// File to write; its ports go to a file beside it.
        #[arg(long, short, value_name = "OUT")]
        output: PathBuf,
        /// Write over an existing OUT and its ports file.
        #[arg(long)]
        force: bool,
    },
    /// Make a structured program of a circuit file: one function of gates, in a loop if it has latches.
    FromCircuit {
        /// Circuit in a Bristol format, SHDL, BLIF, AIGER or Verilog (by yosys).
        file: PathBuf,
        /// File to write: text if its name ends with `.txt`, else binary.
        #[arg(long, short, value_name = "OUT")]
        output: PathBuf,
        /// Name of the program; that of the file without it.
        #[arg(long)]
        name: Option<String>,
        /// Owner of each input port, e.g. `g,e,g`; without it, ports that the ports file does not give to
        /// anybody take turns, the garbler first.
        #[arg(long, value_name = "g|e,...", value_delimiter = ',', value_parser = role)]
        owners: Option<Vec<Role>>,
        /// Who receives outputs whose port names nobody; both without it.
        #[arg(long, value_name = "garbler|evaluator|both", value_parser = receivers)]
        reveal_to: Option<Receivers>,
        #[command(flatten)]
        cycles: CyclesArgs,
        /// Write over an existing OUT.
        #[arg(long)]
        force: bool,
    },
    /// Register a program with a running service.
    Register {
        /// Structured program, text or binary.
        file: PathBuf,
        /// Its name there; the peer's may be another.
        #[arg(long)]
        name: String,
        /// Own input, a whole number, that is the smallest group which it shows: approvals then have to say how small that may be.
        #[arg(long, value_name = "INPUT")]
        smallest_group: Option<String>,
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// List the programs of a running service.
    Registered(ServiceArgs),
    /// Print the text form of a program that is registered with a running service: what its owner approves.
    Text {
        /// Its name there, or its digest.
        name: String,
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// Measure this machine for a few seconds and keep what `cost` predicts with.
    Calibrate {
        /// File for the figures, in place of the one in the user's cache directory.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(Args, Debug)]
pub(crate) struct CostArgs {
    /// Structured program, text or binary, or a circuit.
    pub(crate) file: PathBuf,
    /// Line between the parties: `lan`, `wan`, or round-trip time and bandwidth of each direction.
    #[arg(long, default_value = "lan", value_name = "lan|wan|loopback|RTT_MS,MBIT", value_parser = link)]
    pub(crate) link: Link,
    /// Protocols, separated by commas; all that hide something without it.
    #[arg(long, value_name = "NAME[:OPTION=VALUE,..],..", value_parser = backends)]
    pub(crate) backend: Vec<Backends>,
    /// Items of the pool, as for `run`.
    #[arg(long, value_name = "N|none", value_parser = pool, allow_negative_numbers = true)]
    pub(crate) pool: Option<String>,
    #[command(flatten)]
    pub(crate) refine: RefineArgs,
    /// Figures that `calibrate --output` wrote.
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<PathBuf>,
    /// Run it as well, on inputs that are all zero and over a line like this, and show what is measured
    /// beside what is predicted; within the limits below.
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// The most that a computation may be predicted to take.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LimitArgs {
    /// Refuse a program with more ANDs than this.
    #[arg(long, value_name = "N")]
    pub(crate) max_ands: Option<u64>,
    /// Refuse a program that is predicted to send more bytes than this, both ways together.
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_bytes: Option<u64>,
    /// Refuse a program that is predicted to take longer than this on a local network.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) max_seconds: Option<f64>,
    /// Refuse a program that is predicted to need more bytes of memory than this.
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_memory: Option<u64>,
    /// TOML file with limits; options beside it win.
    #[arg(long, value_name = "FILE")]
    pub(crate) limits: Option<PathBuf>,
}

fn constant(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("use PARTY::NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn link(text: &str) -> Result<Link, String> {
    match text {
        "lan" => Ok(Link::LAN),
        "wan" => Ok(Link::WAN),
        "loopback" => Ok(Link::LOOPBACK),
        _ => {
            let (rtt, rate) = text
                .split_once(',')
                .ok_or("use lan, wan, loopback, or a round-trip time and a rate such as 20,1000")?;
            Ok(Link { rtt_ms: rtt_ms(rtt)?, mbit: Some(mbit(rate)?) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_names_or_figures() {
        assert_eq!(link("wan"), Ok(Link::WAN));
        assert_eq!(link("20,1000"), Ok(Link { rtt_ms: 20.0, mbit: Some(1000.0) }));
        for wrong in ["far", "20", "-1,100", "20,0", "20,x"] {
            assert!(link(wrong).is_err(), "{wrong}");
        }
    }
}
