//! docs/errors.md has a row for everything that the sources can say to an operator, and no row for what they cannot.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use common::run;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All Rust files below a folder, without their tests.
fn sources(folder: &str) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        if path.is_dir() {
            all.extend(sources(&name));
        } else if name.ends_with(".rs") {
            let text = text(&name);
            all.push(text.split("\n#[cfg(test)]\n").next().unwrap().to_owned());
        }
    }
    all
}

/// What stands in code marks in the first cells of the rows below a heading.
fn rows(heading: &str) -> BTreeSet<String> {
    let page = text("docs/errors.md");
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).expect("the heading");
    let section = rest.split("\n## ").next().unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let marked = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned));
    marked.collect()
}

/// What stands between two texts, each time.
fn between<'a>(text: &'a str, begins: &str, ends: &str) -> Vec<&'a str> {
    let after = text.split(begins).skip(1);
    after.filter_map(|rest| rest.split(ends).next()).collect()
}

/// The strings in a piece of source; `\` at the end of a line joins it with the next.
fn strings(source: &str) -> Vec<String> {
    let (mut all, mut rest) = (Vec::new(), source);
    while let Some((_, tail)) = rest.split_once('"') {
        let mut end = 0;
        let bytes = tail.as_bytes();
        while end < bytes.len() && bytes[end] != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        all.push(tail[..end].to_owned());
        rest = tail.get(end + 1..).unwrap_or_default();
    }
    all
}

/// What stands before the parenthesis that closes a call, and its own strings, those of calls within left out.
fn arguments(rest: &str) -> (&str, Vec<String>) {
    let (mut depth, mut all, mut at) = (1, Vec::new(), 0);
    let bytes = rest.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'(' => depth += 1,
            b')' if depth == 1 => break,
            b')' => depth -= 1,
            b'"' => {
                let string = strings(&rest[at..]).remove(0);
                at += string.len() + 1;
                all.extend((depth == 1).then_some(string));
            }
            _ => {}
        }
        at += 1;
    }
    (&rest[..at], all)
}

#[track_caller]
fn same(what: &str, code: &BTreeSet<String>, page: &BTreeSet<String>) {
    let missing: Vec<_> = code.difference(page).collect();
    let stale: Vec<_> = page.difference(code).collect();
    assert!(missing.is_empty(), "docs/errors.md has no row for {what}: {missing:#?}");
    assert!(stale.is_empty(), "docs/errors.md has {what} that there are not: {stale:#?}");
}

fn set<S: Into<String>>(all: impl IntoIterator<Item = S>) -> BTreeSet<String> {
    all.into_iter().map(Into::into).collect()
}

#[test]
fn every_exit_code_has_a_row() {
    let source = text("crates/cli/src/exit.rs");
    let (_, body) = source.split_once("const fn code").unwrap();
    let arms = between(body, "Kind::", ",").into_iter().filter_map(|arm| arm.split_once(" => "));
    let codes: BTreeSet<String> = set(arms
        .map(|(_, code)| code)
        .filter(|code| code.bytes().all(|byte| byte.is_ascii_digit())));
    assert!(codes.len() >= 9, "{codes:?}");
    same("exit codes", &codes, &rows("Exit codes"));
}

#[test]
fn every_kind_of_problem_has_a_row() {
    let mut kinds = BTreeSet::new();
    for source in sources("crates/service/src/api") {
        // `Problem::new(STATUS, "kind", ..)` and `(STATUS, "kind")`.
        for begins in ["StatusCode::", "Problem::new(status"] {
            for piece in between(&source, begins, "\n") {
                let name: String = piece.chars().skip_while(|c| *c != ',').take(60).collect();
                if let Some(rest) = name.strip_prefix(", \"") {
                    kinds.extend(rest.split('"').next().map(str::to_owned));
                }
            }
        }
    }
    assert!(kinds.len() >= 13, "{kinds:?}");
    same("kinds of problems", &kinds, &rows("Answers of the API"));
    // And the description of the API names them.
    let description = text("docs/openapi.json");
    for kind in &kinds {
        assert!(description.contains(&format!("`{kind}`")), "{kind}");
    }
}

#[test]
fn every_end_of_a_job_has_a_row() {
    let mut reasons = BTreeSet::new();
    let messages = text("crates/service/src/peer/messages.rs");
    let (_, refusals) = messages.split_once("fn reason(self)").unwrap();
    reasons.extend(strings(refusals.split("\n    }\n}\n").next().unwrap()));
    assert_eq!(reasons.len(), 8, "{reasons:?}");
    for source in sources("crates/service/src") {
        for call in between(&source, "cancel(db, ", ")") {
            reasons.extend(strings(call));
        }
        reasons.extend(between(&source, "reason = '", "'").into_iter().map(str::to_owned));
    }
    let back = text("crates/service/src/take_back.rs");
    for said in between(&back, ": &str =", ";") {
        reasons.extend(strings(said));
    }
    let jobs = text("crates/service/src/jobs.rs");
    reasons.extend(strings(between(&jobs, "const STOPPED: &str =", ";\n")[0]));
    // Faults of sessions, of which a page has the beginning.
    let faults = text("crates/net/src/fault.rs");
    for said in between(&faults, "#[error(\"", "\")]") {
        reasons.insert(match said.split_once("{0}") {
            Some(("the peer misbehaved: ", _)) => "the peer misbehaved: CHECK".to_owned(),
            Some((begins, _)) => format!("{begins}.."),
            None => said.to_owned(),
        });
    }
    assert!(reasons.len() >= 20, "{reasons:?}");
    reasons.insert("approval N ..".to_owned());
    reasons.insert("the quota of .. is used up: ..".to_owned());
    same("ends of jobs", &reasons, &rows("Ends of jobs"));
    let page = text("docs/errors.md");
    let permits = text("crates/service/src/permit.rs");
    let denials = between(&permits, "return denied(\"", "\"");
    assert!(denials.len() >= 5, "{denials:?}");
    for denial in denials {
        assert!(page.contains(&format!("`{denial}`")), "{denial}");
    }
}

#[test]
fn every_line_of_the_log_that_warns_has_a_row() {
    let mut messages = BTreeSet::new();
    for folder in ["crates/service/src", "crates/cli/src/service"] {
        for source in sources(folder) {
            for level in ["error", "warn"] {
                for rest in source.split(&format!("tracing::{level}!(")).skip(1) {
                    let (call, all) = arguments(rest);
                    let said = all.last().unwrap_or_else(|| panic!("no message: {call}"));
                    messages.insert(said.replace('`', ""));
                }
            }
        }
    }
    assert!(messages.len() >= 15, "{messages:?}");
    same("lines of the log", &messages, &rows("Lines of the log"));
}

#[test]
fn every_kind_of_store_failure_has_a_row() {
    let source = text("crates/pool/src/store/durable.rs");
    let (_, kinds) = source.split_once("pub enum FailureKind {").unwrap();
    let lines = kinds.split("\n}").next().unwrap().lines().map(str::trim);
    let names = lines.filter(|line| !line.starts_with("//") && !line.is_empty());
    let names = set(names.map(|line| line.trim_end_matches(',')));
    assert!(names.len() >= 7, "{names:?}");
    same("kinds of store failures", &names, &rows("Stores"));
}

#[test]
fn every_check_of_doctor_has_a_row() {
    let mut names = BTreeSet::new();
    for source in sources("crates/cli/src/service/doctor") {
        for says in [".ok(", ".bad(", ".warning(", ".failed(", "validity("] {
            for call in between(&source, says, ";") {
                if call.trim_start().starts_with('"') {
                    names.extend(strings(call).into_iter().next());
                }
            }
        }
        // Names that several findings of a check have in common.
        for name in between(&source, "let name = format!(\"", "\"") {
            let word = name.split_whitespace().next().unwrap_or_default();
            names.extend(["small", "large"].map(|lane| format!("{word} {lane}")));
        }
        for name in between(&source, "let (name, ", ";") {
            names.extend(strings(name).into_iter().next());
        }
    }
    names.extend(["owner's key", "database"].map(str::to_owned));
    let page = rows("Findings of doctor");
    same("checks of doctor", &names, &page);
    // What it says of a directory, as it runs.
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().display();
    for line in [
        format!("init {dir}/a --name a --listen 127.0.0.1:0"),
        format!("init {dir}/b --name b --connect 127.0.0.1:1"),
    ] {
        assert_eq!(run(&line).code, 0);
    }
    for name in ["a", "b", "none"] {
        let said = run(&format!("doctor {dir}/{name}"));
        for check in said.json["checks"].as_array().unwrap() {
            let check = check["check"].as_str().unwrap();
            assert!(page.contains(check), "{check}");
        }
    }
}
