//! Every check of the repository, in one order, with one line of counts at the end.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// `cargo-deny`, pinned so that a new release cannot turn a check red.
const DENY_VERSION: &str = "0.20.2";

/// One check: its name and how it is run.
struct Step {
    name: &'static str,
    run: fn(&Path, &mut Counts) -> bool,
}

const STEPS: &[Step] = &[
    Step { name: "fmt", run: |root, _| cargo(root, &["fmt", "--all", "--check"], &[]) },
    Step { name: "lint", run: |root, _| super::report(&super::lint(root)) },
    Step {
        name: "clippy",
        run: |root, _| {
            cargo(
                root,
                &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
                &[],
            )
        },
    },
    Step { name: "tests", run: super::test_programs::run },
    Step { name: "mutants", run: |root, _| super::mutants::run_one(root) },
    Step {
        name: "docs",
        run: |root, _| {
            cargo(
                root,
                &["doc", "--workspace", "--no-deps", "--locked"],
                &[("RUSTDOCFLAGS", "-D warnings")],
            )
        },
    },
    Step { name: "python", run: super::python::check },
    Step { name: "deny", run: deny },
];

/// Tests summed over all `test result:` lines and the Python package.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
}

/// Names of the steps, in order.
pub(crate) fn step_names() -> Vec<&'static str> {
    STEPS.iter().map(|step| step.name).collect()
}

/// Runs the steps named in `only`, or all; goes on after a failure, so that one run shows
/// everything.
pub(crate) fn run(root: &Path, only: &[String]) -> bool {
    let (mut counts, mut failures) = (Counts::default(), Vec::new());
    if let Some(unknown) = only.iter().find(|name| !step_names().contains(&name.as_str())) {
        eprintln!("no step {unknown}; steps: {}", step_names().join(" "));
        return false;
    }
    let chosen = |name: &str| only.is_empty() || only.iter().any(|wanted| wanted == name);
    for step in STEPS.iter().filter(|step| chosen(step.name)) {
        println!("== {}", step.name);
        let start = Instant::now();
        let passed = (step.run)(root, &mut counts);
        let verdict = if passed { "passed" } else { "FAILED" };
        println!("== {} {verdict} ({:.0} s)", step.name, start.elapsed().as_secs_f64());
        if !passed {
            failures.push(step.name);
        }
    }
    match failures.as_slice() {
        [] => println!("all steps passed"),
        names => println!("failed: {}", names.join(" ")),
    }
    if chosen("tests") || chosen("python") {
        let Counts { passed, failed, ignored } = counts;
        println!("tests: {passed} passed, {failed} failed, {ignored} ignored");
    }
    failures.is_empty()
}

pub(crate) fn cargo(root: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> bool {
    succeeds(cargo_command(root).args(arguments).envs(environment.iter().copied()))
}

pub(crate) fn cargo_command(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root);
    command
}

/// Where cargo puts the command, built in this profile's folder.
pub(crate) fn built(root: &Path, profile: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root.join(target).join(profile).join("cenote")
}

pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

impl Counts {
    /// Prints what tests printed, and adds their results.
    pub(crate) fn show(&mut self, output: &str) {
        print!("{output}");
        output.lines().for_each(|line| self.add(line));
    }

    /// Adds the numbers of a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ..`.
    pub(crate) fn add(&mut self, line: &str) {
        let Some((_, numbers)) =
            line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for field in numbers.split("; ") {
            match field.split_once(' ').and_then(|(n, what)| Some((n.parse::<u64>().ok()?, what))) {
                Some((n, "passed")) => self.passed += n,
                Some((n, "failed")) => self.failed += n,
                Some((n, "ignored")) => self.ignored += n,
                _ => {}
            }
        }
    }
}

/// Licences, sources and bans of all dependencies (deny.toml).
fn deny(root: &Path, _: &mut Counts) -> bool {
    let Some(tool) = deny_tool(root) else { return false };
    succeeds(Command::new(tool).args(["check", "bans", "licenses", "sources"]).current_dir(root))
}

/// Path of `cargo-deny`: an installed one of the pinned version, else one built once into
/// `target/tools`.
fn deny_tool(root: &Path) -> Option<PathBuf> {
    let is_pinned = |tool: &Path| {
        let version = Command::new(tool).arg("--version").output();
        version.is_ok_and(|v| {
            String::from_utf8_lossy(&v.stdout).trim() == format!("cargo-deny {DENY_VERSION}")
        })
    };
    let tools = root.join("target/tools");
    let built = tools.join("bin/cargo-deny");
    if let Some(found) =
        [PathBuf::from("cargo-deny"), built.clone()].into_iter().find(|tool| is_pinned(tool))
    {
        return Some(found);
    }
    let root_argument = tools.to_string_lossy().into_owned();
    let arguments = [
        "install",
        // It runs for seconds.
        "--debug",
        "--quiet",
        "--locked",
        "--version",
        DENY_VERSION,
        "--root",
        &root_argument,
        "cargo-deny",
    ];
    cargo(root, &arguments, &[("CARGO_PROFILE_DEV_DEBUG", "0")]).then_some(built)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_summed() {
        let mut counts = Counts::default();
        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.18s",
            "test x ... FAILED",
            "test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.00s",
        ] {
            counts.add(line);
        }
        assert_eq!((counts.passed, counts.failed, counts.ignored), (5, 4, 1));
    }
}
