//! From one form to another: text and binary, to circuits and from them.

use std::path::Path;

use cenote_circuit::formats::Parsed;
use cenote_circuit::formats::bristol::write_bristol_fashion;
use cenote_circuit::formats::ports_path;
use cenote_circuit::optimise::Options;
use cenote_circuit::{Circuit, Program, Sequential, Signature};
use cenote_engine::{Receivers, Role};
use cenote_program::{Module, plain_name};
use serde_json::json;

use super::hex;
use crate::args::CyclesArgs;
use crate::circuit::{self, refuse_existing, write};
use crate::computation::{self, Form};
use crate::exit::Failure;
use crate::garble;
use crate::output::Reply;
use crate::values;

/// The most gates of a program that is unrolled to a circuit: its file has some gigabytes.
const MAX_FLAT: u64 = 1 << 26;

/// The user's options for a program in another language.
pub(super) struct Source {
    pub(super) function: Option<String>,
    pub(super) constants: Vec<(String, String)>,
}

pub(super) fn build(
    file: &Path,
    source: Source,
    output: &Path,
    force: bool,
) -> Result<Reply, Failure> {
    if file.to_string_lossy().ends_with(computation::GARBLE) {
        let module = garble::compiled(file, source.function, source.constants)?;
        refuse_file(output, force)?;
        return written(&module, output, Form::Binary);
    }
    if source.function.is_some() || !source.constants.is_empty() {
        let what =
            "--function and --const are for Garble programs, whose names end with `.garble.rs`";
        return Err(Failure::bad_input(format!("{}: {what}", file.display())));
    }
    let (module, form) = computation::read_module(file)?;
    refuse_file(output, force)?;
    let to = match form {
        Form::Text => Form::Binary,
        Form::Binary => Form::Text,
    };
    written(&module, output, to)
}

pub(super) fn optimise(
    file: &Path,
    output: &Path,
    options: &Options,
    report: bool,
    force: bool,
) -> Result<Reply, Failure> {
    let (module, _) = computation::read_module(file)?;
    refuse_file(output, force)?;
    let (module, done) = module.optimised(options);
    let bytes = module.to_bytes();
    write(output, &bytes)?;
    let (shown, digest) = (output.display().to_string(), hex(&module.digest()));
    let mut words = format!(
        "{} of {} ANDs left, {} bytes written to {shown}\ndigest {digest}\n",
        done.ands_after,
        done.ands_before,
        bytes.len()
    );
    let mut json = json!({
        "file": shown, "bytes": bytes.len(), "digest": digest, "ands_before": done.ands_before,
        "ands_after": done.ands_after, "functions": done.functions,
    });
    if report {
        words.push_str(&circuit::passes(&done.passes));
        for function in &done.functions {
            words.push_str(&format!(
                "{}: {} of {} ANDs, {} of {} gates, {} times\n",
                function.name,
                function.ands_after,
                function.ands_before,
                function.gates_after,
                function.gates_before,
                function.times
            ));
        }
        let passes = serde_json::to_value(&done.passes);
        json["report"] = passes.map_err(|error| Failure::internal(error.to_string()))?;
    }
    Ok(Reply::new(json, words))
}

fn written(module: &Module, output: &Path, form: Form) -> Result<Reply, Failure> {
    let (bytes, name) = match form {
        Form::Text => (module.to_text().into_bytes(), "text"),
        Form::Binary => (module.to_bytes(), "binary"),
    };
    write(output, &bytes)?;
    let (shown, digest) = (output.display().to_string(), hex(&module.digest()));
    let words = format!("{name} form, {} bytes, written to {shown}\ndigest {digest}", bytes.len());
    let json = json!({ "file": shown, "form": name, "bytes": bytes.len(), "digest": digest });
    Ok(Reply::new(json, words))
}

fn refuse_file(output: &Path, force: bool) -> Result<(), Failure> {
    if output.exists() && !force {
        let output = output.display();
        let what = format!("{output}: exists; remove it, or write over it with --force");
        return Err(Failure::bad_input(what));
    }
    Ok(())
}

pub(super) fn flatten(file: &Path, output: &Path, force: bool) -> Result<Reply, Failure> {
    let (module, _) = computation::read_module(file)?;
    let stats = computation::stats(file, &module)?;
    if !force {
        refuse_existing(output)?;
    }
    let refuse = |what: String| Failure::bad_input(format!("{}: {what}", file.display()));
    let stream = module.stream().ok_or_else(|| {
        refuse("the program opens values before its end, which no circuit does".to_owned())
    })?;
    let gates = stats.ands.saturating_add(stats.xors).saturating_add(stats.nots);
    if gates > MAX_FLAT {
        return Err(refuse(format!(
            "the program has {gates} gates, a circuit file at most {MAX_FLAT}; run the program itself"
        )));
    }
    let circuit = Circuit::from_program(&stream).map_err(|error| refuse(error.to_string()))?;
    write(output, write_bristol_fashion(&circuit))?;
    let ports = ports_path(output);
    write(&ports, circuit.ports_toml())?;
    let stats = circuit.stats();
    let (shown, beside) = (output.display().to_string(), ports.display().to_string());
    let words = format!("{} gates, {} of them ANDs, written to {shown}", stats.gates, stats.and);
    let json = json!({ "file": shown, "ports": beside, "gates": stats.gates, "and": stats.and });
    Ok(Reply::new(json, words))
}

/// The user's options for a circuit that becomes a program.
pub(super) struct Wish {
    pub(super) name: Option<String>,
    pub(super) owners: Option<Vec<Role>>,
    pub(super) reveal_to: Option<Receivers>,
    pub(super) cycles: CyclesArgs,
}

impl Wish {
    /// The ports with their owners and receivers.
    fn ports(&self, mut signature: Signature) -> Result<Signature, Failure> {
        let none = vec![None; signature.inputs.len()];
        let owners = self.owners.as_ref();
        let owners = owners.map_or(none, |owners| owners.iter().copied().map(Some).collect());
        signature = values::with_owners(signature, &owners)?;
        let to = values::receivers(&signature, self.reveal_to)?;
        for port in &mut signature.outputs {
            port.receiver = port.receiver.or(Some(to));
        }
        Ok(signature)
    }

    fn name_for(&self, file: &Path) -> String {
        let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        self.name.clone().or(stem.map(|stem| plain_name(&stem))).unwrap_or_default()
    }
}

pub(super) fn from_circuit(
    file: &Path,
    output: &Path,
    wish: Wish,
    force: bool,
) -> Result<Reply, Failure> {
    let module = match (circuit::read_parsed(file)?, wish.cycles.cycles) {
        (Parsed::Sequential(sequential), Some(cycles)) => looped(file, &sequential, cycles, &wish)?,
        (_, Some(_)) => return Err(circuit::no_latches(file)),
        (parsed, None) => {
            let combinational = parsed.combinational(&file.to_string_lossy());
            let circuit = combinational.map_err(|error| Failure::bad_input(error.to_string()))?;
            let signature = wish.ports(circuit.signature())?;
            let module = Module::from_circuit(&wish.name_for(file), circuit, &signature);
            module.map_err(|error| Failure::bad_input(format!("{}: {error}", file.display())))?
        }
    };
    refuse_file(output, force)?;
    let text = output.extension().is_some_and(|extension| extension == "txt");
    written(&module, output, if text { Form::Text } else { Form::Binary })
}

/// A program that loops over the cycles of a circuit with latches.
fn looped(
    file: &Path,
    sequential: &Sequential,
    cycles: usize,
    wish: &Wish,
) -> Result<Module, Failure> {
    let bad_input = |error: String| Failure::bad_input(format!("{}: {error}", file.display()));
    let mut signature = sequential.circuit().signature();
    let ports = wish.ports(sequential.signature())?;
    // The state comes after the ports.
    for (whole, port) in signature.inputs.iter_mut().zip(&ports.inputs) {
        whole.owner = port.owner;
    }
    for (whole, port) in signature.outputs.iter_mut().zip(&ports.outputs) {
        whole.receiver = port.receiver;
    }
    let (gates, wires) =
        (sequential.circuit().gates().to_vec(), sequential.circuit().output_wires().to_vec());
    let circuit = Circuit::new(&sequential.circuit().name(), signature, gates, wires)
        .map_err(|error| bad_input(error.to_string()))?;
    let owned = Sequential::new(circuit, sequential.initial().to_vec())
        .map_err(|error| bad_input(error.to_string()))?;
    // More than any circuit can run for is refused with the number that it can.
    let count = u32::try_from(cycles).unwrap_or(u32::MAX);
    Module::from_cycles(&wish.name_for(file), &owned, count, wish.cycles.shown())
        .map_err(|error| bad_input(error.to_string()))
}
