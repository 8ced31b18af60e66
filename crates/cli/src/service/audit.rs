//! `cenote audit`: the logs of services, as files; no service needs to run.

use std::path::{Path, PathBuf};

use cenote_service::audit::{
    AuditError, Gap, Head, Place, PublicKey, Side, contains, diff_between, verify,
};
use cenote_service::{JournalError, check_journal};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::exit::{Failure, Kind};
use crate::output::Reply;

/// What a line that is missing may come from.
const EXPECTED: &str = "A job that ran when the connection broke or a service crashed may be done in one log and not in the other: look whether the other side has it as failed then. Any other difference is for both owners to explain.";

#[derive(Subcommand)]
pub(crate) enum AuditCommand {
    /// Check every line of a log: its place in the chain, and that its owner signed it.
    Verify(VerifyArgs),
    /// Find the first line on which the logs of two organisations differ; ends with 3 if there is one.
    Diff(DiffArgs),
    /// Count the preprocessed items that left a service's pools, and find one that left twice.
    Journal(JournalArgs),
}

#[derive(Args)]
pub(crate) struct VerifyArgs {
    /// The log, such as DIR/audit.log.
    log: PathBuf,
    /// Its owner's public key; without it, owner.pub beside the log.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// A head that was noted elsewhere, NUMBER:HASH: the log must have had it.
    #[arg(long, value_name = "HEAD")]
    head: Vec<Head>,
}

#[derive(Args)]
pub(crate) struct DiffArgs {
    /// The log of one.
    a: PathBuf,
    /// The log of the other.
    b: PathBuf,
    /// Public key of the first; without it, owner.pub beside its log.
    #[arg(long, value_name = "FILE")]
    a_key: Option<PathBuf>,
    /// Public key of the second; without it, owner.pub beside its log.
    #[arg(long, value_name = "FILE")]
    b_key: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct JournalArgs {
    /// Directory of a service; it may run.
    dir: PathBuf,
}

pub(crate) fn command(command: AuditCommand) -> Result<Reply, Failure> {
    match command {
        AuditCommand::Verify(args) => check(&args),
        AuditCommand::Diff(args) => diff(&args),
        AuditCommand::Journal(args) => journal(&args.dir),
    }
}

fn check(args: &VerifyArgs) -> Result<Reply, Failure> {
    let key = key(&args.log, args.key.as_deref())?;
    let head = verify(&args.log, &key)?;
    for noted in &args.head {
        if !contains(&args.log, noted)? {
            let log = args.log.display();
            let what = format!(
                "{log}: the head {noted} is not on this chain: lines were changed or taken out after it was noted"
            );
            return Err(Failure::new(Kind::Refused, what));
        }
    }
    let json = json!({ "lines": head.sequence, "head": head.to_string() });
    let text = format!("{} lines, all signed and in order; head {head}", head.sequence);
    Ok(Reply::new(json, text))
}

fn diff(args: &DiffArgs) -> Result<Reply, Failure> {
    let (a_key, b_key) =
        (key(&args.a, args.a_key.as_deref())?, key(&args.b, args.b_key.as_deref())?);
    let a = Side { log: &args.a, key: &a_key, peer: None };
    let b = Side { log: &args.b, key: &b_key, peer: None };
    let found = diff_between(&a, &b)?;
    let json = json!({
        "equal": found.is_none(), "agreed": found.agreed, "before": found.before,
        "a": place(found.a.as_ref()), "b": place(found.b.as_ref()),
    });
    if found.is_none() {
        return Ok(Reply::new(json, found.to_string()));
    }
    let mut text = found.to_string();
    let places = [&found.a, &found.b];
    if places.into_iter().flatten().any(|place| matches!(place.there, Gap::Missing { .. })) {
        text = format!("{text}\n{EXPECTED}");
    }
    Ok(Reply::new(json, text).ending(Kind::Refused))
}

/// What left each lane. A lane that never had a session has no journal.
fn journal(dir: &Path) -> Result<Reply, Failure> {
    let journals = dir.join("journal");
    let paths = ["small", "large"].map(|lane| (lane, journals.join(format!("{lane}.log"))));
    if !paths.iter().any(|(_, path)| path.exists()) {
        let what = format!(
            "{}: there is no journal; name the directory of a service that had a session with its peer",
            journals.display()
        );
        return Err(Failure::bad_input(what));
    }
    let (mut json, mut lines) = (serde_json::Map::new(), Vec::new());
    for (lane, path) in paths {
        let items = if path.exists() { check_journal(&path)? } else { 0 };
        json.insert(lane.to_owned(), items.into());
        lines.push(format!("{lane}: {items} items left, none of them twice"));
    }
    Ok(Reply::new(json!({ "items": json }), lines.join("\n")))
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Failure {
        let kind = match &error {
            JournalError::Twice(_) => Kind::Refused,
            JournalError::Unreadable(_) => Kind::BadInput,
        };
        Failure::new(kind, error.to_string())
    }
}

fn place(place: Option<&Place>) -> Value {
    place.map_or(
        Value::Null,
        |place| json!({ "line": place.line, "time": place.time, "job": place.job }),
    )
}

fn key(log: &Path, given: Option<&Path>) -> Result<PublicKey, Failure> {
    let beside = log.with_file_name("owner.pub");
    Ok(PublicKey::load(given.unwrap_or(&beside))?)
}

impl From<AuditError> for Failure {
    fn from(error: AuditError) -> Failure {
        let kind = match &error {
            AuditError::Damaged { .. } => Kind::Refused,
            _ => Kind::BadInput,
        };
        Failure::new(kind, error.to_string())
    }
}
