//! `cenote circuit`: circuit files, in the clear.

use std::fs;
use std::path::{Path, PathBuf};

use cenote_circuit::formats::aiger::{write_aiger_ascii, write_aiger_binary};
use cenote_circuit::formats::blif::write_blif;
use cenote_circuit::formats::bristol::{write_bristol, write_bristol_fashion};
use cenote_circuit::formats::{
    Format as FileFormat, Parsed, detect, parse_beside, ports_path, read_bytes, read_ports,
};
use cenote_circuit::optimise::{self, OptimiseError, Options, PassReport, Report};
use cenote_circuit::{Circuit, Clear, MAX_UNROLLED, Program, Sequential};
use serde_json::json;

use crate::args::{CircuitCommand, CircuitFormat, CyclesArgs};
use crate::computation::{Computation, hex_outputs};
use crate::exit::Failure;
use crate::output::Reply;
use crate::values::{self, Given};
use crate::verilog;

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
        CircuitCommand::Optimise { file, output, report, optimise, force } => {
            if !force {
                refuse_existing(&output)?;
            }
            optimised(&file, &output, &optimise.options(), report)
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

/// What a file holds, and its format.
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
    let computation = Computation::Circuit(circuit.clone());
    let bits = values::all_bits(&computation.ports(), inputs, "the circuit")?;
    let outputs = hex_outputs(&Clear::eval(&circuit, &bits));
    Ok(Reply::new(json!({ "outputs": outputs }), computation.outputs_text(&outputs)))
}

/// What is asked of `convert`.
struct Conversion {
    to: Option<CircuitFormat>,
    cycles: CyclesArgs,
    optimise: bool,
}

fn convert(file: &Path, output: Option<PathBuf>, asked: Conversion) -> Result<Reply, Failure> {
    let (parsed, found) = read_any(file)?;
    let mut parsed = unrolled(parsed, file, asked.cycles)?;
    if asked.optimise {
        parsed = smaller(parsed)?;
    }
    let to = asked.to.unwrap_or(match found {
        FileFormat::BristolFashion => CircuitFormat::Old,
        _ => CircuitFormat::Fashion,
    });
    let gates = match &parsed {
        Parsed::Circuit(circuit) => circuit.gates().len(),
        Parsed::Sequential(sequential) => sequential.circuit().gates().len(),
    };
    // Names, owners and receivers have no place in the Bristol formats, owners have none anywhere.
    let bristol = matches!(found, FileFormat::OldBristol | FileFormat::BristolFashion);
    let ports = parsed.signature().ports_toml();
    let ports = (!bristol || ports_path(file).exists()).then_some(ports);
    let bytes = encoded(parsed, to, file)?;
    let format = name_of(to);
    let Some(output) = output else {
        let Ok(text) = String::from_utf8(bytes) else {
            return Err(Failure::bad_input("this format is no text; name a file with -o OUT"));
        };
        return Ok(Reply::new(json!({ "format": format, "gates": gates, "text": text }), text));
    };
    write(&output, &bytes)?;
    let beside = ports_path(&output);
    if let Some(ports) = &ports {
        write(&beside, ports)?;
    } else if beside.exists() {
        // Written over as well: what it says belongs to another circuit.
        fs::remove_file(&beside).map_err(|error| unwritable(&beside, &error))?;
    }
    let words = format!("{format} format, {gates} gates, written to {}", output.display());
    let json = json!({
        "format": format,
        "gates": gates,
        "file": output.display().to_string(),
        "ports": ports.map(|_| beside.display().to_string()),
    });
    Ok(Reply::new(json, words))
}

/// The same function with fewer gates, in memory.
fn smaller(parsed: Parsed) -> Result<Parsed, Failure> {
    let smaller = |circuit: &Circuit| optimise::circuit(circuit, &Options::default()).0;
    Ok(match parsed {
        Parsed::Circuit(circuit) => Parsed::Circuit(smaller(&circuit)),
        Parsed::Sequential(sequential) => {
            let circuit = smaller(sequential.circuit());
            let again = Sequential::new(circuit, sequential.initial().to_vec());
            Parsed::Sequential(again.map_err(bad_input)?)
        }
    })
}

/// Optimises a file into another; a ports file is copied, as it fits both.
fn optimised(
    file: &Path,
    output: &Path,
    options: &Options,
    report: bool,
) -> Result<Reply, Failure> {
    // Found wrong before the work starts.
    let ports = read_ports(file).map_err(|error| Failure::bad_input(error.to_string()))?;
    let same = |path: &Path| path.canonicalize().ok();
    if same(output).is_some_and(|output| same(file) == Some(output)) {
        let message = format!("{}: is the circuit itself; choose another file", output.display());
        return Err(Failure::bad_input(message));
    }
    let done = optimise::file(file, output, options).map_err(unoptimised)?;
    let beside = ports_path(output);
    match &ports {
        Some(_) => {
            fs::copy(ports_path(file), &beside).map_err(|error| unwritable(&beside, &error))?;
        }
        None if beside.exists() => {
            fs::remove_file(&beside).map_err(|error| unwritable(&beside, &error))?;
        }
        None => {}
    }
    let (start, end) = (done.report.start(), done.report.end());
    let mut json = json!({
        "file": output.display().to_string(),
        "ports": ports.is_some().then(|| beside.display().to_string()),
        "gates": end.gates,
        "ands": end.ands,
        "gates_before": start.gates,
        "ands_before": start.ands,
        "live_wires": done.live_wires,
    });
    let mut words = format!(
        "{} of {} gates, {} of {} ANDs, written to {}\n",
        end.gates,
        start.gates,
        end.ands,
        start.ands,
        output.display()
    );
    if report {
        words.push_str(&passes(&done.report));
        let passes = serde_json::to_value(&done.report.passes);
        json["report"] = passes.map_err(|error| Failure::internal(error.to_string()))?;
    }
    Ok(Reply::new(json, words))
}

/// What each pass leaves, for people.
fn passes(report: &Report) -> String {
    let mut text = format!("{:12}{:>14}{:>9}{:>14}{:>9}\n", "after", "gates", "", "ANDs", "");
    for PassReport { name, gates, ands, gates_left, ands_left } in &report.passes {
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
