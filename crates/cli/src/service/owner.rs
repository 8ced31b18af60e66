//! What an owner says to a running service beside jobs: programs, data sets, approvals, the peer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cenote_service::model::{Sides, Source, Terms};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::client::{Client, ServiceArgs, part};
use super::job::pair;
use super::shown::{lines, when};
use crate::computation;
use crate::exit::Failure;
use crate::output::Reply;

const DAY: Duration = Duration::from_secs(86_400);

#[derive(Subcommand)]
pub(crate) enum DataCommand {
    /// Bind a file on the machine of the service to a name, under which approvals speak of it.
    Bind {
        /// Its name.
        name: String,
        /// The file: CSV with a header, Parquet, or an Arrow IPC file.
        file: PathBuf,
        /// File with the columns and what they hold, in JSON (docs/formats/data.md).
        #[arg(long, value_name = "FILE")]
        schema: Option<PathBuf>,
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// List data sets.
    List(ServiceArgs),
}

#[derive(Subcommand)]
pub(crate) enum PeerCommand {
    /// Show the peer and whether it is connected.
    Show(ServiceArgs),
    /// Let sessions with the peer open again, after a failed check.
    Lift(ServiceArgs),
}

#[derive(Subcommand)]
pub(crate) enum ApprovalCommand {
    /// List approvals, also withdrawn ones.
    List(ServiceArgs),
    /// Withdraw an approval: no job begins under it any more.
    Withdraw {
        /// Its number.
        id: u64,
        #[command(flatten)]
        service: ServiceArgs,
    },
}

#[derive(Subcommand)]
pub(crate) enum MemoryCommand {
    /// End a memory that outlives jobs, on both sides: what is kept of it is wiped. `status` lists those that there are.
    End {
        /// Its name.
        name: String,
        #[command(flatten)]
        service: ServiceArgs,
    },
}

#[derive(Args)]
pub(crate) struct ApproveArgs {
    /// Name or digest of a registered program.
    program: String,
    /// Where an own input comes from: `submitter`, `table:DATASET` or `record:DATASET:COLUMN=PARAMETER`, the record whose COLUMN is the public
    /// PARAMETER of a job, with `:FIELD=COLUMN,..` behind it where fields and columns have other names; or `public:PARAMETER:LEAST`, that PARAMETER
    /// itself, a whole number from LEAST on.
    #[arg(long = "input", value_name = "NAME=SOURCE", value_parser = named_source)]
    inputs: Vec<(String, Source)>,
    /// Whose jobs.
    #[arg(long, value_name = "WHOSE")]
    jobs_of: SidesArg,
    /// Who may receive outputs; without it, whom the program shows them to. One that shows them to others is refused.
    #[arg(long, value_name = "WHO")]
    receivers: Option<SidesArg>,
    /// Jobs in a period, or in all where there is none.
    #[arg(long, value_name = "N")]
    uses: Option<u64>,
    /// Seconds of a period.
    #[arg(long, value_name = "SECONDS", requires = "uses")]
    period: Option<u64>,
    /// Days until it ends; without it, it ends when it is withdrawn.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: Option<u32>,
    /// Fingerprint of the peer's certificate: the one that it has, without this, or its next one.
    #[arg(long, value_name = "FINGERPRINT", default_value = "", hide_default_value = true)]
    peer: String,
    #[command(flatten)]
    service: ServiceArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum SidesArg {
    /// The own side.
    Own,
    /// The peer.
    Peer,
    /// Both.
    Both,
}

impl From<SidesArg> for Sides {
    fn from(sides: SidesArg) -> Sides {
        match sides {
            SidesArg::Own => Sides::Own,
            SidesArg::Peer => Sides::Peer,
            SidesArg::Both => Sides::Both,
        }
    }
}

/// `cenote program register`.
pub(crate) fn register(
    file: &Path,
    name: &str,
    smallest_group: Option<&str>,
    service: &ServiceArgs,
) -> Result<Reply, Failure> {
    let (module, _) = computation::read_module(file)?;
    let client = Client::new(service)?;
    let mut query = vec![("name", name)];
    query.extend(smallest_group.map(|input| ("smallest_group", input)));
    let program = client.post_bytes("/v1/programs", &query, &module.to_bytes())?;
    let mut words =
        json!({ "name": program["name"], "digest": program["digest"], "ands": program["ands"] });
    if !program["smallest_group"].is_null() {
        words["smallest_group"] = program["smallest_group"].clone();
    }
    Ok(Reply::table(words).with_json(program))
}

/// `cenote program registered`.
pub(crate) fn registered(service: &ServiceArgs) -> Result<Reply, Failure> {
    let programs = Client::new(service)?.get("/v1/programs", &[])?;
    let row = |one: &Value| {
        let cost = &one["cost"];
        [&one["name"], &one["ands"], &cost["bytes"][0], &cost["bytes"][1], &cost["rounds"]]
            .into_iter()
            .chain([&one["digest"], &when(&one["registered_at"])])
            .map(word)
            .collect()
    };
    let head =
        ["name", "ands", "bytes g -> e", "bytes e -> g", "rounds", "digest", "registered_at"];
    let text = lines(&head, programs.as_array().into_iter().flatten().map(row));
    Ok(Reply::new(programs, text))
}

/// `cenote program text`.
pub(crate) fn text(name: &str, service: &ServiceArgs) -> Result<Reply, Failure> {
    let text = Client::new(service)?.get_text(&format!("/v1/programs/{}/text", part(name)))?;
    Ok(Reply::new(json!({ "name": name, "text": text }), text))
}

pub(crate) fn data(command: DataCommand) -> Result<Reply, Failure> {
    match command {
        DataCommand::Bind { name, file, schema, service } => {
            let path = std::path::absolute(&file)
                .map_err(|error| Failure::bad_input(format!("{}: {error}", file.display())))?;
            let schema = schema.as_deref().map(schema_in).transpose()?;
            let body = json!({ "name": name, "path": path, "schema": schema });
            Ok(timed(Client::new(&service)?.post("/v1/datasets", &body)?))
        }
        DataCommand::List(service) => {
            let all = Client::new(&service)?.get("/v1/datasets", &[])?;
            Ok(listed(all, &["name", "rows", "columns", "path", "bound_at"]))
        }
    }
}

fn schema_in(file: &Path) -> Result<Value, Failure> {
    let failed = |what: String| Failure::bad_input(format!("{}: {what}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| failed(error.to_string()))
}

pub(crate) fn approve(args: ApproveArgs) -> Result<Reply, Failure> {
    let in_days = |days: u32| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from((now + DAY * days).as_millis()).unwrap_or(i64::MAX)
    };
    let terms = Terms {
        program: args.program,
        peer: args.peer,
        inputs: args.inputs.into_iter().collect(),
        submitters: args.jobs_of.into(),
        receivers: args.receivers.map(Sides::from),
        uses: args.uses,
        period_s: args.period,
        expires_at: args.days.map(in_days),
    };
    let client = Client::new(&args.service)?;
    let given = client.post("/v1/approvals", &json!(terms))?;
    let words = json!({
        "approval": given["id"],
        "program": given["terms"]["program"],
        "peer": given["terms"]["peer"],
        "receivers": given["terms"]["receivers"],
        "outputs": given["receivers"],
        "memories": memories(&given["memories"]),
    });
    Ok(Reply::table(words).with_json(given))
}

/// What a program shares with others: the names of its memories.
fn memories(all: &Value) -> String {
    let name = |memory: &Value| word(&memory["name"]);
    let names: Vec<String> = all.as_array().into_iter().flatten().map(name).collect();
    if names.is_empty() { "-".to_owned() } else { names.join(", ") }
}

pub(crate) fn approval(command: ApprovalCommand) -> Result<Reply, Failure> {
    match command {
        ApprovalCommand::List(service) => {
            let all = Client::new(&service)?.get("/v1/approvals", &[])?;
            let row = |one: &Value| {
                let terms = &one["terms"];
                let limit = match (terms["uses"].as_u64(), terms["period_s"].as_u64()) {
                    (Some(uses), Some(period)) => format!("{uses} in {period} s"),
                    (Some(uses), None) => uses.to_string(),
                    (None, _) => "-".to_owned(),
                };
                let until = terms["expires_at"].clone();
                let state = if one["withdrawn_at"].is_null() { "given" } else { "withdrawn" };
                vec![
                    word(&one["id"]),
                    state.to_owned(),
                    word(&terms["program"]).chars().take(16).collect(),
                    word(&terms["submitters"]),
                    inputs(&terms["inputs"]),
                    word(&terms["receivers"]),
                    receivers(&one["receivers"]),
                    memories(&one["memories"]),
                    format!("{}/{limit}", word(&one["spent"])),
                    word(&when(&until)),
                ]
            };
            let head = [
                "id",
                "state",
                "program",
                "jobs of",
                "inputs",
                "receivers",
                "shown to",
                "memories",
                "uses",
                "until",
            ];
            let text = lines(&head, all.as_array().into_iter().flatten().map(row));
            Ok(Reply::new(all, text))
        }
        ApprovalCommand::Withdraw { id, service } => {
            let path = format!("/v1/approvals/{id}/withdraw");
            let approval = Client::new(&service)?.post_empty(&path)?;
            Ok(Reply::new(approval, format!("no job begins under approval {id} any more")))
        }
    }
}

/// Who receives outputs, each once.
fn receivers(outputs: &Value) -> String {
    let who: BTreeSet<&str> =
        outputs.as_object().into_iter().flatten().filter_map(|(_, who)| who.as_str()).collect();
    if who.is_empty() { "-".to_owned() } else { Vec::from_iter(who).join(",") }
}

pub(crate) fn peer(command: PeerCommand) -> Result<Reply, Failure> {
    match command {
        PeerCommand::Show(service) => {
            let status = Client::new(&service)?.get("/v1/status", &[])?;
            Ok(Reply::table(worded(status["peer"].clone())).with_json(status["peer"].clone()))
        }
        PeerCommand::Lift(service) => {
            let status = Client::new(&service)?.post_empty("/v1/peer/lift")?;
            Ok(Reply::new(status, "sessions with the peer open again"))
        }
    }
}

pub(crate) fn memory(command: MemoryCommand) -> Result<Reply, Failure> {
    let MemoryCommand::End { name, service } = command;
    let path = format!("/v1/memories/{}/end", part(&name));
    let status = Client::new(&service)?.post_empty(&path)?;
    Ok(Reply::new(status, format!("memory {name} has ended, on both sides")))
}

/// `cenote status`.
pub(crate) fn status(service: &ServiceArgs) -> Result<Reply, Failure> {
    let status = Client::new(service)?.get("/v1/status", &[])?;
    let mut words = status.clone();
    let lanes = status["lanes"].as_array().cloned().unwrap_or_default();
    words["lanes"] = lanes.into_iter().map(|lane| (word(&lane["name"]), worded(lane))).collect();
    words["peer"] = worded(status["peer"].clone());
    Ok(Reply::table(words).with_json(status))
}

/// What the API says by the place in a pair, with its name: pools begun of all that may be, bytes sent and received.
fn worded(mut part: Value) -> Value {
    let pair = |value: &Value| Some((value.get(0)?.clone(), value.get(1)?.clone()));
    if let Some((begun, most)) = pair(&part["pools"]) {
        part["pools"] = json!(format!("{begun} begun, of {most}"));
    }
    if let Some((sent, received)) = pair(&part["bytes"]) {
        part["bytes"] = json!(format!("{sent} sent, {received} received"));
    }
    part
}

/// An object with its times as people read them.
fn timed(object: Value) -> Reply {
    let mut words = object.clone();
    for (name, value) in words.as_object_mut().into_iter().flatten() {
        if name.ends_with("_at") {
            *value = when(value);
        }
    }
    Reply::table(words).with_json(object)
}

/// Objects, one line each.
fn listed<const N: usize>(all: Value, fields: &[&str; N]) -> Reply {
    let cell = |object: &Value, name: &str| match name.ends_with("_at") {
        true => word(&when(&object[name])),
        false => word(&object[name]),
    };
    let row = |object: &Value| fields.iter().map(|name| cell(object, name)).collect();
    let text = lines(fields, all.as_array().into_iter().flatten().map(row));
    Reply::new(all, text)
}

fn word(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(word).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// `NAME=SOURCE`.
fn named_source(text: &str) -> Result<(String, Source), String> {
    let (name, source) = pair(text)?;
    Ok((name, self::source(&source)?))
}

fn source(text: &str) -> Result<Source, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let owned = |text: &str| text.to_owned();
    match parts.as_slice() {
        ["submitter"] => Ok(Source::Submitter),
        ["table", dataset, columns @ ..] if columns.len() <= 1 => {
            Ok(Source::Table { dataset: owned(dataset), columns: fields(columns)? })
        }
        ["record", dataset, key, columns @ ..] if columns.len() <= 1 => {
            let (key, parameter) = pair(key)?;
            Ok(Source::Record { dataset: owned(dataset), key, parameter, columns: fields(columns)? })
        }
        ["public", parameter, least] if !parameter.is_empty() => {
            let least = least.parse().map_err(|_| format!("`{least}` is no whole number"))?;
            Ok(Source::Public { parameter: owned(parameter), least })
        }
        _ => Err("a source is `submitter`, `table:DATASET[:FIELD=COLUMN,..]`, `record:DATASET:COLUMN=PARAMETER[:FIELD=COLUMN,..]` or `public:PARAMETER:LEAST`".to_owned()),
    }
}

/// Own inputs and where they come from, as `--input` takes them.
fn inputs(all: &Value) -> String {
    let Ok(all) = serde_json::from_value::<BTreeMap<String, Source>>(all.clone()) else {
        // Of a service of another release: not less than it says.
        return all.to_string();
    };
    let one = |(name, source): (&String, &Source)| format!("{name}={}", said(source));
    let words: Vec<String> = all.iter().map(one).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(" ") }
}

/// What [`source`] reads.
fn said(source: &Source) -> String {
    let fields = |columns: &BTreeMap<String, String>| {
        let pairs: Vec<String> = columns.iter().map(|(f, c)| format!("{f}={c}")).collect();
        if pairs.is_empty() { String::new() } else { format!(":{}", pairs.join(",")) }
    };
    match source {
        Source::Submitter => "submitter".to_owned(),
        Source::Table { dataset, columns } => format!("table:{dataset}{}", fields(columns)),
        Source::Record { dataset, key, parameter, columns } => {
            format!("record:{dataset}:{key}={parameter}{}", fields(columns))
        }
        Source::Public { parameter, least } => format!("public:{parameter}:{least}"),
    }
}

fn fields(columns: &[&str]) -> Result<BTreeMap<String, String>, String> {
    columns.iter().flat_map(|columns| columns.split(',')).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_names() {
        let peer = worded(json!({"name": "bob", "pools": [2, 1024]}));
        assert_eq!((&peer["pools"], &peer["name"]), (&json!("2 begun, of 1024"), &json!("bob")));
        let lane = worded(json!({"pools": 2, "bytes": [7, 0], "done": 3}));
        assert_eq!(lane, json!({"pools": 2, "bytes": "7 sent, 0 received", "done": 3}));
    }

    #[test]
    fn sources_are_read() {
        assert_eq!(source("submitter"), Ok(Source::Submitter));
        let table = Source::Table {
            dataset: "t".into(),
            columns: [("f".into(), "c".into()), ("g".into(), "d".into())].into(),
        };
        assert_eq!(source("table:t:f=c,g=d"), Ok(table));
        let record = Source::Record {
            dataset: "t".into(),
            key: "id".into(),
            parameter: "who".into(),
            columns: BTreeMap::new(),
        };
        assert_eq!(source("record:t:id=who"), Ok(record));
        let public = Source::Public { parameter: "smallest".into(), least: 10 };
        assert_eq!(source("public:smallest:10"), Ok(public));
        for text in ["submitter", "table:t", "table:t:f=c,g=d", "record:t:id=who:f=c", "public:n:3"]
        {
            assert_eq!(said(&source(text).expect("a source")), text);
        }
        for wrong in [
            "",
            "table",
            "record:t",
            "record:t:id",
            "table:t:f",
            "table:t:f=c:x",
            "file:x",
            "public:n",
            "public:n:-1",
            "public::1",
        ] {
            assert!(source(wrong).is_err(), "{wrong}");
        }
    }
}
