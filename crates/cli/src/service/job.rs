//! `cenote job`: jobs of a running service.

use std::time::{Duration, Instant};

use cenote_job::json::is_json;
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::client::{Client, ServiceArgs, part};
use super::shown::{lines, when};
use crate::exit::{Failure, Kind};
use crate::output::Reply;

/// Longest wait in one request.
const MOST_WAIT_S: u64 = 30;

#[derive(Subcommand)]
pub(crate) enum JobCommand {
    /// Ask for a job; its result comes by `wait`.
    Submit(SubmitArgs),
    /// List jobs, newest first.
    List {
        /// In this state alone: submitted, queued, running, done, failed, refused, cancelled or expired.
        #[arg(long)]
        state: Option<String>,
        /// At most so many.
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        /// Those that came before this job.
        #[arg(long, value_name = "ID")]
        before: Option<String>,
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// Show a job, with its result while it is kept.
    Show {
        /// Its id.
        id: String,
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// Wait for a job to end.
    Wait {
        /// Its id.
        id: String,
        /// Seconds to wait at most; without it, until it ends.
        #[arg(long, value_name = "SECONDS")]
        limit: Option<u64>,
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// Take back a job that has not begun, or an own one that runs: its result is not kept, its use stays spent.
    Cancel {
        /// Its id.
        id: String,
        #[command(flatten)]
        service: ServiceArgs,
    },
}

#[derive(Args)]
pub(crate) struct SubmitArgs {
    /// Name or digest of a registered program.
    program: String,
    /// Value of an own input that the approval leaves to the submitter: JSON, or the numbers of an array between commas or on lines; or @FILE that holds it, which keeps it out of the list of processes.
    #[arg(long = "input", value_name = "NAME=JSON|NAME=@FILE", value_parser = pair)]
    inputs: Vec<(String, String)>,
    /// Public parameter, known to both sides: which record of a data set is meant.
    #[arg(long, value_name = "NAME=TEXT", value_parser = pair)]
    select: Vec<(String, String)>,
    /// Higher ones go first, from -100 to 100.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,
    /// Seconds after which it must not begin any more.
    #[arg(long, value_name = "SECONDS")]
    deadline: Option<u64>,
    /// Seconds for which the result is kept; what the configuration says without it.
    #[arg(long, value_name = "SECONDS")]
    keep: Option<u64>,
    /// A second job with the same key is the first one.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Wait for it to end.
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    service: ServiceArgs,
}

pub(crate) fn command(command: JobCommand) -> Result<Reply, Failure> {
    match command {
        JobCommand::Submit(args) => submit(args),
        JobCommand::List { state, limit, before, service } => {
            let mut query = vec![("limit", limit.to_string())];
            query.extend(state.map(|state| ("state", state)));
            query.extend(before.map(|before| ("before", before)));
            let jobs = Client::new(&service)?.get("/v1/jobs", &query)?;
            Ok(listed(jobs))
        }
        JobCommand::Show { id, service } => Ok(shown(Client::new(&service)?.get(&path(&id), &[])?)),
        JobCommand::Wait { id, limit, service } => wait(&Client::new(&service)?, &id, limit),
        JobCommand::Cancel { id, service } => {
            let cancel = format!("{}/cancel", path(&id));
            Ok(shown(Client::new(&service)?.post_empty(&cancel)?))
        }
    }
}

fn submit(args: SubmitArgs) -> Result<Reply, Failure> {
    let mut inputs = Map::new();
    for (name, given) in args.inputs {
        let value = value(&name, &given)?;
        inputs.insert(name, value);
    }
    let mut job = json!({ "program": args.program, "inputs": inputs, "priority": args.priority });
    job["select"] = args.select.into_iter().map(|(name, text)| (name, json!(text))).collect();
    let further = [
        ("deadline_s", args.deadline.map(Value::from)),
        ("keep_result_s", args.keep.map(Value::from)),
        ("idempotency_key", args.key.map(Value::from)),
    ];
    for (name, value) in further {
        if let Some(value) = value {
            job[name] = value;
        }
    }
    let client = Client::new(&args.service)?;
    let job = client.post("/v1/jobs", &job)?;
    match job["id"].as_str() {
        Some(id) if args.wait => wait(&client, id, None),
        _ => Ok(shown(job)),
    }
}

/// A value of an input: JSON, a word that is none, or words between commas or on lines of their own, as `program eval` takes them.
fn value(name: &str, given: &str) -> Result<Value, Failure> {
    let text = match given.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file)
            .map_err(|error| Failure::bad_input(format!("--input {name}: {file}: {error}")))?,
        None => given.to_owned(),
    };
    Ok(read(text.trim()))
}

fn read(text: &str) -> Value {
    if let Ok(value) = serde_json::from_str(text) {
        return value;
    }
    if is_json(text) || !text.contains([',', '\n']) {
        return json!(text);
    }
    text.trim_end_matches(',').split([',', '\n']).map(str::trim).collect()
}

/// The job once it has ended, or as it stands when the time is over.
fn wait(client: &Client, id: &str, limit: Option<u64>) -> Result<Reply, Failure> {
    let end = limit.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    loop {
        let left = end.map_or(MOST_WAIT_S, |end| {
            end.saturating_duration_since(Instant::now()).as_secs_f64().ceil() as u64
        });
        let seconds = left.min(MOST_WAIT_S);
        let job = client.get(&path(id), &[("wait_s", seconds.to_string())])?;
        let over = end.is_some_and(|end| Instant::now() >= end);
        match job["state"].as_str() {
            Some("submitted" | "queued" | "running") if over => {
                let what = format!(
                    "job {id} has not ended; it goes on, and `cenote job wait` waits again"
                );
                return Err(Failure::new(Kind::Exhausted, what));
            }
            Some("submitted" | "queued" | "running") => {}
            Some("done") => return Ok(shown(job)),
            state => {
                let reason = job["reason"].as_str().unwrap_or("without a reason");
                let what = format!("job {id} is {}: {reason}", state.unwrap_or("in no state"));
                return Err(Failure::new(Kind::Refused, what));
            }
        }
    }
}

fn path(id: &str) -> String {
    format!("/v1/jobs/{}", part(id))
}

fn shown(mut job: Value) -> Reply {
    let json = job.clone();
    for name in ["submitted_at", "started_at", "ended_at", "deadline_at", "result_until"] {
        job[name] = when(&job[name]);
    }
    if let Some(fields) = job.as_object_mut() {
        fields.retain(|_, value| {
            !value.is_null() && value.as_object().is_none_or(|all| !all.is_empty())
        });
    }
    Reply::table(job).with_json(json)
}

fn listed(jobs: Value) -> Reply {
    let row = |job: &Value| {
        let word = |name: &str| job[name].as_str().unwrap_or("-").to_owned();
        let at = when(&job["submitted_at"]).as_str().unwrap_or("-").to_owned();
        vec![word("id"), word("state"), word("origin"), word("program"), at, word("reason")]
    };
    let head = ["id", "state", "origin", "program", "submitted", "reason"];
    let text = lines(&head, jobs.as_array().into_iter().flatten().map(row));
    Reply::new(jobs, text)
}

/// `NAME=TEXT`.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_json_or_numbers_in_rows() {
        for (text, value) in [
            ("7", json!(7)),
            ("[1, 2]", json!([1, 2])),
            ("{\"a\": [1]}", json!({"a": [1]})),
            ("0x1f", json!("0x1f")),
            ("1\n2.5\r\n-3", json!(["1", "2.5", "-3"])),
            ("1, 2,\n", json!(["1", "2"])),
            // Left as it is, for the service to say what is wrong with it.
            ("[1, 2", json!("[1, 2")),
        ] {
            assert_eq!(read(text.trim()), value, "{text}");
        }
    }
}
