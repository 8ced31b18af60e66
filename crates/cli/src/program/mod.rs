//! `cenote program`: structured programs.

pub(crate) mod args;
pub(crate) mod calibrate;
mod convert;
mod cost;
pub(crate) mod limits;
mod run;

use std::path::Path;

use args::{LimitArgs, ProgramCommand};
use cenote_circuit::Clear;
use cenote_circuit::optimise::Options;
use cenote_engine::{Backend, Role, SessionConfig};
use cenote_job as job;
use cenote_program::{LastingRam, PortPath, Stats};
use serde_json::{Map, Value, json};

use crate::computation::{self, Computation, hex_outputs};
use crate::exit::Failure;
use crate::output::{Format, Reply, hex};
use crate::service::owner;
use crate::values::{self, Given};

pub(crate) fn command(command: ProgramCommand, format: Format) -> Result<Reply, Failure> {
    match command {
        ProgramCommand::Info { file } => info(&file),
        ProgramCommand::Show { file } => show(&file),
        ProgramCommand::Build { file, function, constants, output, force } => {
            let source = convert::Source { function, constants };
            convert::build(&file, source, &output, force)
        }
        ProgramCommand::Optimise { file, output, depth, report, force } => {
            let options = Options { depth, ..Options::default() };
            convert::optimise(&file, &output, &options, report, force)
        }
        ProgramCommand::Eval { file, inputs, limits } => eval(&file, &inputs, &limits),
        ProgramCommand::Cost(args) => cost::command(&args, format),
        ProgramCommand::Flatten { file, output, force } => convert::flatten(&file, &output, force),
        ProgramCommand::FromCircuit { file, output, name, owners, reveal_to, cycles, force } => {
            let wish = convert::Wish { name, owners, reveal_to, cycles };
            convert::from_circuit(&file, &output, wish, force)
        }
        ProgramCommand::Register { file, name, smallest_group, service } => {
            owner::register(&file, &name, smallest_group.as_deref(), &service)
        }
        ProgramCommand::Registered(service) => owner::registered(&service),
        ProgramCommand::Text { name, service } => owner::text(&name, &service),
        ProgramCommand::Calibrate { output } => calibrate::command(output, format),
    }
}

/// All that is known of inputs, outputs and parts of memories.
fn add_ports(json: &mut Value, module: &cenote_program::Module) {
    let version = module.version();
    let inputs: Vec<Value> = module
        .inputs()
        .iter()
        .map(|port| {
            json!({
                "name": port.name, "path": port.path.to_string(), "owner": version.owner(port.owner),
                "kind": port.kind.to_string(), "shape": port.shape.to_string(),
                "lanes": port.shape.lanes, "width": port.shape.width,
            })
        })
        .collect();
    let outputs: Vec<Value> = module
        .outputs()
        .iter()
        .map(|port| {
            json!({
                "name": port.name, "path": port.path.to_string(),
                "receiver": version.receiver(port.receiver),
                "kind": port.kind.to_string(), "shape": port.shape.to_string(),
                "lanes": port.shape.lanes, "width": port.shape.width,
            })
        })
        .collect();
    let memories: Vec<Value> = module
        .memories()
        .iter()
        .map(|part| {
            json!({
                "name": part.name, "path": part.path.to_string(),
                "begins": part.is_new, "keeps": part.is_kept(),
                "kind": part.kind.to_string(), "shape": part.shape.to_string(),
                "lanes": part.shape.lanes, "width": part.shape.width,
                "accesses": part.ram.as_ref().map(LastingRam::accesses),
                "spends": part.ram.as_ref().map(|ram| ram.spends),
            })
        })
        .collect();
    json["inputs"] = inputs.into();
    json["outputs"] = outputs.into();
    json["memories"] = memories.into();
}

fn info(file: &Path) -> Result<Reply, Failure> {
    let (module, form) = computation::read_module(file)?;
    let (stats, version) = (computation::stats(file, &module)?, module.version());
    let functions: Vec<&str> = module.functions().iter().map(|f| f.name.as_str()).collect();
    let head = json!({
        "file": file.display().to_string(),
        "form": match form {
            computation::Form::Text => "text",
            computation::Form::Binary => "binary",
        },
        "name": module.name(),
        "about": module.about(),
        "version": version.number(),
        "digest": hex(&module.digest()),
        "reactive": module.is_reactive(),
    });
    let mut json = head.clone();
    add_ports(&mut json, &module);
    json["functions"] = json!(functions);
    json["stats"] = counts(&stats);
    let mut words = head;
    words["inputs"] = Value::Object(ports(module.inputs().iter().map(|port| {
        (&port.path, format!("{} {} {}", version.owner(port.owner), port.kind, port.shape))
    })));
    words["outputs"] = Value::Object(ports(module.outputs().iter().map(|port| {
        let receiver = version.receiver(port.receiver);
        (&port.path, format!("{receiver} {} {}", port.kind, port.shape))
    })));
    if !module.memories().is_empty() {
        words["memories"] = Value::Object(ports(module.memories().iter().map(|part| {
            let does = [
                if part.is_new { "begins" } else { "found" },
                if part.is_kept() { "kept" } else { "ends" },
            ];
            let life = part.ram.as_ref();
            let life = life.map(|ram| format!(", {} of {} accesses", ram.spends, ram.accesses()));
            let life = life.unwrap_or_default();
            (&part.path, format!("{}, {}: {} {}{life}", does[0], does[1], part.kind, part.shape))
        })));
    }
    words["counts"] = json["stats"].clone();
    if let Some(counts) = words["counts"].as_object_mut() {
        counts.retain(|_, count| count != &json!({}) && count != &json!([]));
    }
    Ok(Reply::table(words).with_json(json))
}

fn ports<'p>(ports: impl Iterator<Item = (&'p PortPath, String)>) -> Map<String, Value> {
    ports.map(|(path, text)| (path.to_string(), json!(text))).collect()
}

fn counts(stats: &Stats) -> Value {
    // A structure of numbers has no reason not to become JSON.
    serde_json::to_value(stats).unwrap_or_default()
}

fn show(file: &Path) -> Result<Reply, Failure> {
    let (module, _) = computation::read_module(file)?;
    let text = module.to_text();
    Ok(Reply::new(json!({ "name": module.name(), "text": text }), text))
}

fn eval(file: &Path, inputs: &[Given], limits: &LimitArgs) -> Result<Reply, Failure> {
    let computation = Computation::read(file)?;
    within(&computation, limits)?;
    let bits = values::all_bits(&computation.ports(), inputs, "the program")?;
    let outputs = match &*computation {
        job::Computation::Circuit(circuit) => hex_outputs(&Clear::eval(circuit, &bits)),
        job::Computation::Module { module, .. } => hex_outputs(&module.evaluate(&bits)),
    };
    let mut json = json!({ "outputs": outputs });
    if let Some(typed) = computation.typed(&outputs) {
        json["values"] = Value::Object(typed);
    }
    Ok(Reply::new(json, computation.outputs_text(&outputs)))
}

/// Refuses to evaluate what `run --backend plain` refuses.
fn within(computation: &Computation, limits: &LimitArgs) -> Result<(), Failure> {
    let config = SessionConfig::new(Backend::Plain).for_ands(computation.ands());
    let demand = computation.demand(&computation.signature());
    let (machine, _) = calibrate::typical();
    limits::refuse(&limits.chosen()?, &config, &demand, &machine, Role::Garbler)
}
