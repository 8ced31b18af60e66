//! `cenote program cost`: what a computation will take, on each backend.

use std::fmt::Write as _;

use cenote_engine::cost::{Demand, Link, Machine, Plan};
use cenote_engine::{Backend, Receivers, Role, SessionConfig};
use cenote_job::facts;
use cenote_program::{Accesses, memory_from};
use serde_json::{Map, Value, json};

use super::args::CostArgs;
use super::run::Trial;
use super::{calibrate, counts, limits};
use crate::args::{Backends, sound};
use crate::computation::Computation;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::{Format, Reply};

pub(super) fn command(args: &CostArgs, format: Format) -> Result<Reply, Failure> {
    let computation = Computation::read(&args.file)?;
    let signature = computation.signature();
    let demand = computation.demand(&signature);
    let named = match &args.backend[..] {
        [] => Backend::ALL[1..].iter().map(|backend| SessionConfig::new(*backend)).collect(),
        lists => Backends::all(lists),
    };
    let sessions = args.refine.apply(args.pool.as_deref(), named)?;
    let most = args.limits.chosen()?;
    let (machine, source) = calibrate::figures(args.machine.as_deref())?;
    let interrupt = args.check.then(|| Interrupt::install(format)).transpose()?;
    let mut results = Vec::with_capacity(sessions.len());
    for config in sessions {
        let config = sound(config, demand.stats.ands)?;
        let facts = facts(&computation, &signature, Receivers::Both, config, None);
        let demand = demand.clone().with_facts(facts);
        let fastest = Plan::fastest_ot(config, &machine, &demand, args.link);
        let fastest = fastest.map_err(Failure::unusable)?;
        let taken = config.or_by_line(fastest);
        let plan = Plan::new(&taken, &demand).map_err(Failure::unusable)?;
        let mut result = predicted(config.backend, &plan, &demand, &machine, args.link);
        result.insert("configuration".to_owned(), json!(config));
        result.insert("fastest".to_owned(), json!(fastest));
        if let Some(interrupt) = &interrupt {
            for role in [Role::Garbler, Role::Evaluator] {
                limits::refuse(&most, &config, &demand, &machine, role)?;
            }
            // One channel has no line to go by.
            let trial = Trial::run(&computation, &signature, taken, Some(args.link), interrupt)?;
            result.insert("measured".to_owned(), measured(&trial));
        }
        results.push(Value::Object(result));
    }
    let json = json!({
        "file": args.file.display().to_string(),
        "link": args.link,
        "machine": source,
        "counts": counts(&demand.stats),
        "memories": demand.stats.memories.iter().map(memory).collect::<Vec<_>>(),
        "backends": results,
    });
    let text = table(&json);
    Ok(Reply::new(json, text))
}

fn predicted(
    backend: Backend,
    plan: &Plan,
    demand: &Demand,
    machine: &Machine,
    link: Link,
) -> Map<String, Value> {
    let total = plan.total();
    let times = plan.times(machine, backend, demand, link);
    let memory = plan.memory_on(link).map(|bytes| bytes.saturating_add(machine.process_bytes));
    let items: Vec<Value> = plan
        .items
        .iter()
        .map(|items| {
            json!({ "what": items.what, "width": items.width, "made": items.made, "pool": items.pool })
        })
        .collect();
    let fields = json!({
        "backend": backend.name(),
        "seconds": times.total(),
        "phase_seconds": times,
        "bytes_sent": { "garbler": total.bytes[0], "evaluator": total.bytes[1] },
        "rounds": total.rounds,
        "waits": total.waits,
        "on_the_line": plan.on_the_line(link),
        "memory_bytes": { "garbler": memory[0], "evaluator": memory[1] },
        "items": items,
        "access_ands": plan.access_ands,
        "phases": {
            "setup": plan.setup, "preprocess": plan.preprocess, "online": plan.online,
        },
    });
    fields.as_object().cloned().unwrap_or_default()
}

fn measured(trial: &Trial) -> Value {
    json!({
        "seconds": trial.wall_s,
        "phase_seconds": {
            "setup_s": (trial.wall_s - trial.preprocess_s - trial.online_s).max(0.0),
            "preprocess_s": trial.preprocess_s,
            "online_s": trial.online_s,
        },
        "bytes_sent": { "garbler": trial.bytes[0], "evaluator": trial.bytes[1] },
        "rounds": trial.rounds,
        "memory_bytes": { "garbler": trial.memory[0], "evaluator": trial.memory[1] },
    })
}

/// How tables of one shape are kept, and what an access takes on average.
fn memory(kept: &Accesses) -> Value {
    let accesses = (kept.reads + kept.writes + kept.updates).max(1);
    let from = |is_given| memory_from(kept.rows, kept.bits, is_given);
    json!({
        "rows": kept.rows,
        "bits": kept.bits,
        "kept": match (kept.trees, kept.levels) {
            (0, 0) => "scanned",
            (0, _) => "square root",
            _ => "trees",
        },
        "trees": kept.trees,
        "levels": kept.levels,
        "reads": kept.reads,
        "writes": kept.writes,
        "updates": kept.updates,
        "ands_per_access": kept.ands / accesses,
        "mean_ands_per_access": kept.ands.saturating_sub(kept.spare_ands) / accesses,
        "opens_per_access": kept.trees + kept.levels,
        "start_ands": kept.start_ands,
        "memory_from": { "zeros": from(false), "given": from(true) },
    })
}

/// The same in a line.
fn memory_line(text: &mut String, memory: &Value) {
    let count = |what: &str| memory[what].as_u64().unwrap_or_default();
    let kept = match (count("trees"), count("levels")) {
        (0, 0) => "scanned".to_owned(),
        (0, 1) => "as square-root ORAM of one level, one opening each".to_owned(),
        (0, levels) => format!("as square-root ORAM of {levels} levels, {levels} openings each"),
        (1, _) => "in one tree, one opening each".to_owned(),
        (trees, _) => format!("in {trees} trees, {trees} openings each"),
    };
    let from = |begins: &str| match &memory["memory_from"][begins] {
        Value::Null => "never".to_owned(),
        from => format!("from {from} on"),
    };
    let ands = match (count("ands_per_access"), count("mean_ands_per_access")) {
        (most, mean) if mean < most => {
            format!("at most {most} ANDs, {mean} on average over its life")
        }
        (ands, _) => format!("{ands} ANDs"),
    };
    let _ = writeln!(
        text,
        "{} rows of {} bits: {} reads, {} writes, {} updates of {ands}, {kept}; {} ANDs to begin (not scanned: zeros {}, given rows {})",
        memory["rows"],
        memory["bits"],
        memory["reads"],
        memory["writes"],
        memory["updates"],
        memory["start_ands"],
        from("zeros"),
        from("given"),
    );
}

/// For people: one line for each backend, and one below for what was measured.
fn table(json: &Value) -> String {
    let mut text = String::new();
    let counts = &json["counts"];
    let (rtt, mbit) = (&json["link"]["rtt_ms"], &json["link"]["mbit"]);
    let rate = mbit.as_f64().map_or("no limit".to_owned(), |mbit| format!("{mbit} Mbit/s"));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{} ANDs, depth {}; {rtt} ms, {rate}", counts["ands"], counts["depth"]);
    for memory in json["memories"].as_array().into_iter().flatten() {
        memory_line(&mut text, memory);
    }
    let _ = writeln!(
        text,
        "{:10}{:>10}{:>10}{:>10}{:>9}{:>10}{:>10}",
        "", "time", "g -> e", "e -> g", "rounds", "memory g", "memory e"
    );
    for result in json["backends"].as_array().into_iter().flatten() {
        let name = result["backend"].as_str().unwrap_or_default();
        line(&mut text, name, result);
        if result["measured"].is_object() {
            line(&mut text, "  measured", &result["measured"]);
        }
        made(&mut text, &result["items"]);
    }
    if json["machine"].is_null() {
        text.push_str(
            "times are those of a typical server; `cenote program calibrate` measures this one\n",
        );
    }
    text
}

/// Appends what is made ahead, and how to do with less of it.
fn made(text: &mut String, items: &Value) {
    let items = items.as_array().map_or(&[][..], Vec::as_slice);
    let words = |item: &Value| {
        let (what, width) = (item["what"].as_str().unwrap_or_default(), &item["width"]);
        let lanes = if *width == 1 { String::new() } else { format!(" of {width} ANDs") };
        let pool = match &item["pool"] {
            pool if *pool == 0 => String::new(),
            pool => format!(" (pool: {pool})"),
        };
        format!("{} {what}{lanes}{pool}", item["made"])
    };
    if !items.is_empty() {
        let all: Vec<String> = items.iter().map(words).collect();
        let _ = writeln!(text, "  makes {}", all.join(", "));
    }
    if items.iter().any(|item| item["width"] != 1) {
        text.push_str(
            "  --no-muxcore makes none of the wide ones, --pool sets the size of the pools\n",
        );
    }
}

fn line(text: &mut String, name: &str, figures: &Value) {
    let bytes =
        |value: &Value| scaled(value.as_f64().unwrap_or(0.0), &["B", "kB", "MB", "GB", "TB"]);
    let sent = &figures["bytes_sent"];
    let memory = &figures["memory_bytes"];
    let seconds = figures["seconds"].as_f64().unwrap_or(0.0);
    let time =
        if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.1} s") };
    let _ = writeln!(
        text,
        "{name:10}{time:>10}{:>10}{:>10}{:>9}{:>10}{:>10}",
        bytes(&sent["garbler"]),
        bytes(&sent["evaluator"]),
        figures["rounds"].to_string(),
        bytes(&memory["garbler"]),
        bytes(&memory["evaluator"]),
    );
}

fn scaled(mut number: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while number >= 1000.0 && unit + 1 < units.len() {
        number /= 1000.0;
        unit += 1;
    }
    let unit = units.get(unit).copied().unwrap_or_default();
    if number < 10.0 && unit != "B" {
        format!("{number:.2} {unit}")
    } else {
        format!("{number:.0} {unit}")
    }
}
