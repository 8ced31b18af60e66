//! `cenote doctor`: whether the directory of a service, its machine and the way to its peer are as they should be.
//!
//! | question | file |
//! |---|---|
//! | configuration, certificates, keys, tokens, data sets | `files.rs` |
//! | clock, processor, disk | `machine.rs` |
//! | does it run, what does it say, are its ports free, does the peer answer | `live.rs` |
//! | the stores of the pools | `stores.rs` |
//!
//! Nothing is changed, but for a file that is made and taken away to see whether the disk can be written, and what opening a store
//! always does. No check shows a secret.

mod files;
mod live;
mod machine;
mod stores;

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use cenote_service::config::Config;
use clap::Args;
use serde_json::{Value, json};

use crate::exit::Kind;
use crate::output::Reply;
use crate::service::running::Running;

#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// Directory of the service.
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// File with a token to ask the running service with, in place of the one in the directory.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// What a check came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Ok,
    /// The service runs so, but not as well or as long as it could.
    Warning,
    /// The service does not start so, no job runs, or a secret lies open.
    Bad,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Bad => "bad",
        }
    }
}

struct Check {
    name: String,
    state: State,
    found: String,
    remedy: Option<String>,
}

/// What was found so far.
#[derive(Default)]
struct Report(Vec<Check>);

impl Report {
    fn add(&mut self, name: &str, state: State, found: String, remedy: Option<String>) {
        self.0.push(Check { name: name.to_owned(), state, found, remedy });
    }

    fn ok(&mut self, name: &str, found: impl Into<String>) {
        self.add(name, State::Ok, found.into(), None);
    }

    fn warning(&mut self, name: &str, found: impl Into<String>, remedy: impl Into<String>) {
        self.add(name, State::Warning, found.into(), Some(remedy.into()));
    }

    fn bad(&mut self, name: &str, found: impl Into<String>, remedy: impl Into<String>) {
        self.add(name, State::Bad, found.into(), Some(remedy.into()));
    }

    /// A failure in the words of whatever failed, which end with the remedy.
    fn failed(&mut self, name: &str, words: &str, otherwise: &str) {
        match words.rsplit_once("; ") {
            Some((found, remedy)) => self.bad(name, found, remedy),
            None => self.bad(name, words, otherwise),
        }
    }

    fn count(&self, state: State) -> usize {
        self.0.iter().filter(|check| check.state == state).count()
    }

    fn reply(&self, dir: &Path) -> Reply {
        let object = |check: &Check| {
            json!({
                "check": check.name, "state": check.state.name(),
                "found": check.found, "remedy": check.remedy,
            })
        };
        let (bad, warnings) = (self.count(State::Bad), self.count(State::Warning));
        let json = json!({
            "dir": dir.display().to_string(),
            "checks": self.0.iter().map(object).collect::<Vec<Value>>(),
            "bad": bad,
            "warnings": warnings,
        });
        let reply = Reply::new(json, self.text());
        if bad > 0 { reply.ending(Kind::BadInput) } else { reply }
    }

    fn text(&self) -> String {
        let widest = self.0.iter().map(|check| check.name.len()).max().unwrap_or_default();
        let line = |check: &Check| {
            let Check { name, state, found, remedy } = check;
            let begins = format!("{:7}  {name:widest$}  ", state.name());
            let indent = " ".repeat(begins.len());
            // A message of a parser has lines of its own.
            let found = found.trim_end().replace('\n', &format!("\n{indent}"));
            let remedy = remedy.iter().map(|remedy| format!("{indent}remedy: {remedy}\n"));
            format!("{begins}{found}\n{}", remedy.collect::<String>())
        };
        let all: String = self.0.iter().map(line).collect();
        let (bad, warnings) = (self.count(State::Bad), self.count(State::Warning));
        format!("{all}{bad} bad, {warnings} to look at\n")
    }
}

/// A service on this machine, as far as it is known.
struct Place<'a> {
    dir: &'a Path,
    config: Option<Config>,
    /// Fingerprint of the peer's certificate that is kept.
    peer: Option<String>,
    /// First second of the own certificate.
    not_before: Option<i64>,
    /// Whether this process has the user to whom the directory belongs.
    own: bool,
    running: Running,
}

/// All checks; whatever they find is a reply.
pub(crate) fn doctor(args: &DoctorArgs) -> Reply {
    let (dir, mut report) = (args.dir.as_path(), Report::default());
    let uid = dir.metadata().map(|metadata| metadata.uid());
    let mut place = Place {
        dir,
        config: None,
        peer: None,
        not_before: None,
        own: uid.is_ok_and(|uid| uid == rustix::process::geteuid().as_raw()),
        running: Running::in_dir(dir),
    };
    files::check(&mut place, &mut report);
    machine::check(&place, &mut report);
    live::check(&place, args.token_file.as_deref(), &mut report);
    stores::check(&place, &mut report);
    report.reply(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_failure_end_with_the_remedy() {
        let mut report = Report::default();
        report.failed("a", "x: y; z; do that", "else");
        report.failed("b", "x", "do this");
        let remedies: Vec<_> = report.0.iter().map(|check| check.remedy.clone()).collect();
        assert_eq!(remedies, [Some("do that".to_owned()), Some("do this".to_owned())]);
        assert_eq!(report.0[0].found, "x: y; z");
        assert_eq!(report.count(State::Bad), 2);
    }

    #[test]
    fn lines_are_in_columns() {
        let mut report = Report::default();
        report.ok("one", "1");
        report.warning("second", "2\n22", "r");
        let text = "ok       one     1\nwarning  second  2\n                 22\n                 remedy: r\n0 bad, 1 to look at\n";
        assert_eq!(report.text(), text);
    }
}
