//! `cenote circuit`: circuit files, in the clear.

use std::fs;
use std::path::{Path, PathBuf};

use cenote_circuit::formats::bristol::{write_bristol, write_bristol_fashion};
use cenote_circuit::formats::{
    Format as FileFormat, ReadError, detect, ports_path, read_circuit, read_ports,
};
use cenote_circuit::optimise::{self, OptimiseError, Options, PassReport, Report};
use cenote_circuit::{Circuit, Clear, Program, Signature, hex_from_bits};
use serde_json::json;

use crate::args::{CircuitCommand, CircuitFormat};
use crate::exit::Failure;
use crate::output::Reply;
use crate::values;

pub(crate) fn command(command: CircuitCommand) -> Result<Reply, Failure> {
    match command {
        CircuitCommand::Info { file } => info(&file),
        CircuitCommand::Eval { file, inputs } => eval(&file, &inputs),
        CircuitCommand::Convert { file, output, to, optimise, force } => {
            if let Some(output) = output.as_deref().filter(|_| !force) {
                refuse_existing(output)?;
            }
            convert(&file, output, to, optimise)
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
    read_circuit(file).map_err(|error: ReadError| Failure::bad_input(error.to_string()))
}

fn info(file: &Path) -> Result<Reply, Failure> {
    let circuit = read(file)?;
    let digest: String = circuit.digest().iter().map(|byte| format!("{byte:02x}")).collect();
    let stats = serde_json::to_value(circuit.stats())
        .map_err(|error| Failure::internal(error.to_string()))?;
    let mut json =
        json!({ "file": file.display().to_string(), "name": circuit.name(), "digest": digest });
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

fn eval(file: &Path, inputs: &[String]) -> Result<Reply, Failure> {
    let circuit = read(file)?;
    let signature = circuit.signature();
    let inputs = values::all_bits(signature.inputs.iter(), inputs, "the circuit")?;
    let outputs: Vec<Option<String>> =
        Clear::eval(&circuit, &inputs).iter().map(|bits| Some(hex_from_bits(bits))).collect();
    Ok(Reply::new(json!({ "outputs": outputs }), outputs_text(&signature, &outputs)))
}

/// One line for each output port.
pub(crate) fn outputs_text(signature: &Signature, outputs: &[Option<String>]) -> String {
    let lines = signature.outputs.iter().zip(outputs).map(|(port, value)| {
        format!("{}  {}\n", port.name, value.as_deref().unwrap_or("(not received)"))
    });
    lines.collect()
}

fn convert(
    file: &Path,
    output: Option<PathBuf>,
    to: Option<CircuitFormat>,
    optimise: bool,
) -> Result<Reply, Failure> {
    let mut circuit = read(file)?;
    let has_ports = ports_path(file).exists();
    if optimise {
        circuit = optimise::circuit(&circuit, &Options::default()).0;
    }
    let to = match to {
        Some(to) => to,
        None => other_format(file)?,
    };
    let text = match to {
        CircuitFormat::Fashion => write_bristol_fashion(&circuit),
        CircuitFormat::Old => write_bristol(&circuit)
            .map_err(|error| Failure::bad_input(format!("{}: {error}", file.display())))?,
    };
    let format = match to {
        CircuitFormat::Fashion => "fashion",
        CircuitFormat::Old => "old",
    };
    let gates = circuit.gates().len();
    let Some(output) = output else {
        return Ok(Reply::new(json!({ "format": format, "gates": gates, "text": text }), text));
    };
    write(&output, &text)?;
    // Names, owners and receivers have no place in the formats themselves.
    let beside = ports_path(&output);
    let ports = has_ports.then_some(&beside);
    if let Some(ports) = ports {
        write(ports, &circuit.ports_toml())?;
    } else if beside.exists() {
        // Written over as well: what it says belongs to another circuit.
        fs::remove_file(&beside).map_err(|error| unwritable(&beside, &error))?;
    }
    let words = format!("{format} format, {gates} gates, written to {}", output.display());
    let json = json!({
        "format": format,
        "gates": gates,
        "file": output.display().to_string(),
        "ports": ports.map(|ports| ports.display().to_string()),
    });
    Ok(Reply::new(json, words))
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

fn other_format(file: &Path) -> Result<CircuitFormat, Failure> {
    let name = file.display().to_string();
    let bytes = fs::read(file).map_err(|error| Failure::bad_input(format!("{name}: {error}")))?;
    let found = detect(&name, &bytes).map_err(|error| Failure::bad_input(error.to_string()))?;
    Ok(match found {
        FileFormat::OldBristol => CircuitFormat::Fashion,
        FileFormat::BristolFashion => CircuitFormat::Old,
    })
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let shown = path.display();
    Failure::bad_input(format!("{shown}: {error}; choose a file that can be written"))
}

/// Nothing is written over unasked, and an old ports file must not apply to a new circuit.
fn refuse_existing(output: &Path) -> Result<(), Failure> {
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
