//! `cenote circuit`: circuit files, in the clear.

use std::fs;
use std::path::{Path, PathBuf};

use cenote_circuit::formats::aiger::{write_aiger_ascii, write_aiger_binary};
use cenote_circuit::formats::blif::write_blif;
use cenote_circuit::formats::bristol::{write_bristol, write_bristol_fashion};
use cenote_circuit::formats::{
    Format as FileFormat, Parsed, detect, parse_beside, ports_path, read_bytes, read_ports,
    read_start,
};
use cenote_circuit::optimise::{self, OptimiseError, Options, PassReport, Report};
use cenote_circuit::{Circuit, Clear, MAX_UNROLLED, Program, Sequential};
use clap::ValueEnum;
use serde_json::json;

use crate::args::{CircuitCommand, CyclesArgs};
use cenote_job as job;

use crate::computation::{Computation, hex_outputs};
use crate::exit::Failure;
use crate::output::Reply;
use crate::values::{self, Given};
use crate::verilog;

/// A format that circuits are written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum CircuitFormat {
    /// Bristol Fashion.
    Fashion,
    /// The old Bristol format.
    Old,
    /// BLIF.
    Blif,
    /// AIGER as text.
    Aag,
    /// AIGER as bytes.
    Aig,
}

pub(crate) fn command(command: CircuitCommand) -> Result<Reply, Failure> {
    match command {
        CircuitCommand::Info { file, cycles } => info(&file, cycles),
        CircuitCommand::Eval { file, inputs, cycles } => eval(&file, &inputs, cycles),
        CircuitCommand::Convert { file, output, to, cycles, optimise, force } => {
            if let Some(output) = output.as_deref().filter(|_| !force) {
                refuse_existing(output)?;
            }
            let shared = |output: &Path| ports_path(output) == ports_path(&file);
            if cycles.cycles.is_some() && output.as_deref().is_some_and(shared) {
                let message = "the ports file of OUT would be that of FILE as well; choose another \
                               name for OUT";
                return Err(Failure::bad_input(message));
            }
            convert(&file, output, Conversion { to, cycles, optimise })
        }
        CircuitCommand::Optimise { file, output, to, report, optimise, force } => {
            if !force {
                refuse_existing(&output)?;
            }
            let to = to.unwrap_or(CircuitFormat::Fashion);
            optimised(&file, &output, to, &optimise.options(), report)
        }
    }
}

/// Reads a circuit; what is wrong with it is bad input, named with its place and the remedy.
pub(crate) fn read(file: &Path) -> Result<Circuit, Failure> {
    combinational(read_any(file)?.0, file)
}

/// Reads a circuit, with latches or without.
pub(crate) fn read_parsed(file: &Path) -> Result<Parsed, Failure> {
    Ok(read_any(file)?.0)
}

/// Reads a file in any format; returns its contents and its format.
fn read_any(file: &Path) -> Result<(Parsed, FileFormat), Failure> {
    let bytes = read_bytes(file).map_err(bad_input)?;
    let format = detect(&file.to_string_lossy(), &bytes).map_err(bad_input)?;
    let parsed = if format == FileFormat::Verilog {
        let blif = verilog::to_blif(file, &bytes)?;
        parse_beside(file, &blif).map_err(|error| bad_input(error).at("as BLIF by yosys"))?
    } else {
        parse_beside(file, &bytes).map_err(bad_input)?
    };
    Ok((parsed, format))
}

fn bad_input(error: impl ToString) -> Failure {
    Failure::bad_input(error.to_string())
}

fn combinational(parsed: Parsed, file: &Path) -> Result<Circuit, Failure> {
    parsed.combinational(&file.to_string_lossy()).map_err(bad_input)
}

/// The circuit of the cycles that were asked for, if any were.
fn unrolled(parsed: Parsed, file: &Path, asked: CyclesArgs) -> Result<Parsed, Failure> {
    let Some(cycles) = asked.cycles else { return Ok(parsed) };
    let shown = file.display();
    let Parsed::Sequential(sequential) = parsed else { return Err(no_latches(file)) };
    let circuit = sequential.unroll(cycles, asked.shown(), MAX_UNROLLED);
    circuit.map(Parsed::Circuit).map_err(|error| Failure::bad_input(format!("{shown}: {error}")))
}

pub(crate) fn no_latches(file: &Path) -> Failure {
    let shown = file.display();
    Failure::bad_input(format!("{shown}: the circuit has no latches; leave out --cycles"))
}

fn info(file: &Path, cycles: CyclesArgs) -> Result<Reply, Failure> {
    let (circuit, latches) = match unrolled(read_any(file)?.0, file, cycles)? {
        Parsed::Circuit(circuit) => (circuit, 0),
        // One cycle, whose last ports are the state.
        Parsed::Sequential(sequential) => {
            (sequential.circuit().clone(), sequential.initial().len())
        }
    };
    let digest: String = circuit.digest().iter().map(|byte| format!("{byte:02x}")).collect();
    let stats = serde_json::to_value(circuit.stats())
        .map_err(|error| Failure::internal(error.to_string()))?;
    let mut json =
        json!({ "file": file.display().to_string(), "name": circuit.name(), "digest": digest });
    if latches > 0 {
        json["latches"] = latches.into();
    }
    let mut words = json.clone();
    for (name, value) in stats.as_object().into_iter().flatten() {
        json[name] = value.clone();
        if !value.is_array() {
            words[name] = value.clone();
        }
    }
    let signature = circuit.signature();
    let inputs = signature.inputs.iter().map(|port| format!("{}[{}]", port.name, port.bits));
    let outputs = signature.outputs.iter().map(|port| format!("{}[{}]", port.name, port.bits));
    words["inputs"] = inputs.collect();
    words["outputs"] = outputs.collect();
    Ok(Reply::table(words).with_json(json))
}

fn eval(file: &Path, inputs: &[Given], cycles: CyclesArgs) -> Result<Reply, Failure> {
    let circuit = combinational(unrolled(read_any(file)?.0, file, cycles)?, file)?;
    let computation = Computation::of(job::Computation::Circuit(circuit.clone()));
    let bits = values::all_bits(&computation.ports(), inputs, "the circuit")?;
    let outputs = hex_outputs(&Clear::eval(&circuit, &bits));
    Ok(Reply::new(json!({ "outputs": outputs }), computation.outputs_text(&outputs)))
}

/// The options of `convert`.
struct Conversion {
    to: Option<CircuitFormat>,
    cycles: CyclesArgs,
    optimise: bool,
}

fn convert(file: &Path, output: Option<PathBuf>, asked: Conversion) -> Result<Reply, Failure> {
    let (parsed, found) = read_any(file)?;
    let mut parsed = unrolled(parsed, file, asked.cycles)?;
    if asked.optimise {
        parsed = smaller(parsed, &Options::default())?.0;
    }
    let to = asked.to.unwrap_or(match found {
        FileFormat::BristolFashion => CircuitFormat::Old,
        _ => CircuitFormat::Fashion,
    });
    let encoded = Encoded::new(parsed, found, to, file)?;
    let (format, gates) = (name_of(to), encoded.gates);
    let Some(output) = output else {
        let Ok(text) = String::from_utf8(encoded.bytes) else {
            return Err(Failure::bad_input("this format is no text; name a file with -o OUT"));
        };
        return Ok(Reply::new(json!({ "format": format, "gates": gates, "text": text }), text));
    };
    let ports = encoded.write(&output)?;
    let words = format!("{format} format, {gates} gates, written to {}", output.display());
    let json = json!({
        "format": format,
        "gates": gates,
        "file": output.display().to_string(),
        "ports": ports.map(|ports| ports.display().to_string()),
    });
    Ok(Reply::new(json, words))
}

/// A circuit as it will be written.
struct Encoded {
    bytes: Vec<u8>,
    /// The ports file beside it.
    ports: Option<String>,
    gates: usize,
}

impl Encoded {
    /// The circuit of `file`, which is in format `found`.
    fn new(
        parsed: Parsed,
        found: FileFormat,
        to: CircuitFormat,
        file: &Path,
    ) -> Result<Self, Failure> {
        let gates = cycle(&parsed).gates().len();
        // Names, owners and receivers have no place in the Bristol formats, owners have none anywhere.
        let bristol = matches!(found, FileFormat::OldBristol | FileFormat::BristolFashion);
        let ports = parsed.signature().ports_toml();
        let ports = (!bristol || ports_path(file).exists()).then_some(ports);
        Ok(Self { bytes: encoded(parsed, to, file)?, ports, gates })
    }

    /// Writes it, and its ports beside it, of which it returns the path.
    fn write(&self, output: &Path) -> Result<Option<PathBuf>, Failure> {
        write(output, &self.bytes)?;
        let beside = ports_path(output);
        if let Some(ports) = &self.ports {
            write(&beside, ports)?;
            return Ok(Some(beside));
        }
        remove_stale(&beside)?;
        Ok(None)
    }
}

/// Removes a ports file that belongs to a circuit which was written over.
fn remove_stale(ports: &Path) -> Result<(), Failure> {
    if ports.exists() {
        fs::remove_file(ports).map_err(|error| unwritable(ports, &error))?;
    }
    Ok(())
}

/// The gates of a circuit, of one cycle if it has latches.
fn cycle(parsed: &Parsed) -> &Circuit {
    match parsed {
        Parsed::Circuit(circuit) => circuit,
        Parsed::Sequential(sequential) => sequential.circuit(),
    }
}

/// The same function with fewer gates, in memory.
fn smaller(parsed: Parsed, options: &Options) -> Result<(Parsed, Report), Failure> {
    let (circuit, report) = optimise::circuit(cycle(&parsed), options);
    let parsed = match parsed {
        Parsed::Circuit(_) => Parsed::Circuit(circuit),
        Parsed::Sequential(sequential) => {
            let again = Sequential::new(circuit, sequential.initial().to_vec());
            Parsed::Sequential(again.map_err(bad_input)?)
        }
    };
    Ok((parsed, report))
}

/// Optimises a file into another.
fn optimised(
    file: &Path,
    output: &Path,
    to: CircuitFormat,
    options: &Options,
    report: bool,
) -> Result<Reply, Failure> {
    let same = |path: &Path| path.canonicalize().ok();
    if same(output).is_some_and(|output| same(file) == Some(output)) {
        let message = format!("{}: is the circuit itself; choose another file", output.display());
        return Err(Failure::bad_input(message));
    }
    let done = if to == CircuitFormat::Fashion && is_bristol(file)? {
        streamed(file, output, options)?
    } else {
        whole(file, output, to, options)?
    };
    let (start, ports) = (done.report.start(), done.ports);
    let mut json = json!({
        "file": output.display().to_string(),
        "ports": ports.map(|ports| ports.display().to_string()),
        "gates": done.gates,
        "ands": done.ands,
        "gates_before": start.gates,
        "ands_before": start.ands,
        "live_wires": done.live_wires,
    });
    let mut words = format!(
        "{} of {} gates, {} of {} ANDs, written to {}\n",
        done.gates,
        start.gates,
        done.ands,
        start.ands,
        output.display()
    );
    if report {
        words.push_str(&passes(&done.report.passes));
        let passes = serde_json::to_value(&done.report.passes);
        json["report"] = passes.map_err(|error| Failure::internal(error.to_string()))?;
    }
    Ok(Reply::new(json, words))
}

/// The outcome of optimising a file.
struct Done {
    report: Report,
    /// Gates that were written.
    gates: u64,
    ands: u64,
    live_wires: usize,
    ports: Option<PathBuf>,
}

/// Whether a file is in a Bristol format, as its beginning tells; so is what is no circuit at all, because
/// the reader of these formats says best what is wrong with it.
fn is_bristol(file: &Path) -> Result<bool, Failure> {
    use FileFormat::{AigerAscii, AigerBinary, Blif, Shdl, Verilog};
    let start = read_start(file).map_err(bad_input)?;
    let format = detect(&file.to_string_lossy(), &start);
    Ok(!matches!(format, Ok(Shdl | Blif | AigerAscii | AigerBinary | Verilog)))
}

/// Optimises a file of any size in a Bristol format; a ports file is copied, as it fits both.
fn streamed(file: &Path, output: &Path, options: &Options) -> Result<Done, Failure> {
    // Found wrong before the work starts.
    let ports = read_ports(file).map_err(bad_input)?;
    let done = optimise::file(file, output, options).map_err(unoptimised)?;
    let beside = ports_path(output);
    let ports = match ports {
        Some(_) => {
            fs::copy(ports_path(file), &beside).map_err(|error| unwritable(&beside, &error))?;
            Some(beside)
        }
        None => {
            remove_stale(&beside)?;
            None
        }
    };
    let PassReport { gates, ands, .. } = done.report.end();
    Ok(Done { report: done.report, gates, ands, live_wires: done.live_wires, ports })
}

/// Gates of a circuit that is optimised as a whole, at most: those of the largest `--window`.
const MAX_WHOLE: usize = 1 << 26;

fn fits(gates: usize, file: &Path) -> Result<(), Failure> {
    if gates <= MAX_WHOLE {
        return Ok(());
    }
    Err(Failure::bad_input(format!(
        "{}: {gates} gates, and more than {MAX_WHOLE} are optimised from a Bristol format to Bristol Fashion \
         only; `cenote circuit convert` it to that first",
        file.display()
    )))
}

/// Optimises a file that is read as a whole: in the other formats gates come in any order.
fn whole(
    file: &Path,
    output: &Path,
    to: CircuitFormat,
    options: &Options,
) -> Result<Done, Failure> {
    let (parsed, found) = read_any(file)?;
    fits(cycle(&parsed).gates().len(), file)?;
    let live_wires = cycle(&parsed).stats().live_wires;
    let (parsed, report) = smaller(parsed, options)?;
    let ands = cycle(&parsed).stats().and as u64;
    let encoded = Encoded::new(parsed, found, to, file)?;
    let ports = encoded.write(output)?;
    Ok(Done { report, gates: encoded.gates as u64, ands, live_wires, ports })
}

/// Lists what each pass leaves, for people.
pub(crate) fn passes(passes: &[PassReport]) -> String {
    let mut text = format!("{:12}{:>14}{:>9}{:>14}{:>9}\n", "after", "gates", "", "ANDs", "");
    for PassReport { name, gates, ands, gates_left, ands_left } in passes {
        let line = format!("{name:12}{gates:>14}{gates_left:>9.4}{ands:>14}{ands_left:>9.4}\n");
        text.push_str(&line);
    }
    text
}

/// All that can go wrong is a file that cannot be read or written.
pub(crate) fn unoptimised(error: OptimiseError) -> Failure {
    Failure::bad_input(error.to_string())
}

/// The bytes of a file; the Bristol formats have no latches.
fn encoded(parsed: Parsed, to: CircuitFormat, file: &Path) -> Result<Vec<u8>, Failure> {
    Ok(match to {
        CircuitFormat::Fashion => write_bristol_fashion(&combinational(parsed, file)?).into_bytes(),
        CircuitFormat::Old => write_bristol(&combinational(parsed, file)?)
            .map_err(|error| Failure::bad_input(format!("{}: {error}", file.display())))?
            .into_bytes(),
        CircuitFormat::Blif => write_blif(&parsed).into_bytes(),
        CircuitFormat::Aag => write_aiger_ascii(&parsed).into_bytes(),
        CircuitFormat::Aig => write_aiger_binary(&parsed),
    })
}

const fn name_of(format: CircuitFormat) -> &'static str {
    match format {
        CircuitFormat::Fashion => "fashion",
        CircuitFormat::Old => "old",
        CircuitFormat::Blif => "blif",
        CircuitFormat::Aag => "aag",
        CircuitFormat::Aig => "aig",
    }
}

pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    fs::write(path, content).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let shown = path.display();
    Failure::bad_input(format!("{shown}: {error}; choose a file that can be written"))
}

/// Nothing is written over unasked, and an old ports file must not apply to a new circuit.
pub(crate) fn refuse_existing(output: &Path) -> Result<(), Failure> {
    for (path, why) in
        [(output.to_owned(), "exists"), (ports_path(output), "exists and would apply")]
    {
        if path.exists() {
            return Err(Failure::bad_input(format!(
                "{}: {why}; remove it, or write over it with --force",
                path.display()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_optimised_in_memory_is_limited() {
        assert!(fits(MAX_WHOLE, Path::new("x.blif")).is_ok());
        assert!(fits(MAX_WHOLE + 1, Path::new("x.blif")).is_err());
    }
}
