//! The Python package: built into a virtual environment, linted, typed and tested.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::suite::{Counts, built, cargo, succeeds};

/// The list of what belongs into an environment.
const REQUIREMENTS: &str = "python/requirements-dev.txt";

/// Runs every check of the package in `python`; goes on after a failure, so that one run shows everything.
pub(crate) fn check(root: &Path, counts: &mut Counts) -> bool {
    let Some(environment) = Environment::prepare(root, &root.join("target/venv"), |_| true) else {
        return false;
    };
    // The library and the command (services of the tests are processes of it) as the tests of the workspace built them: alone, both have other features,
    // for which half of the dependencies would be built again.
    let built = cargo(root, &["test", "--workspace", "--no-run", "--quiet", "--locked"], &[]);
    if !built || !environment.takes_built() {
        return false;
    }
    let checks: [(&str, &[&str]); 5] = [
        ("maturin", &["sdist", "--out", "../target/sdist"]),
        ("ruff", &["check", ".", "../programs", "../demo"]),
        ("ruff", &["format", "--check", ".", "../programs", "../demo"]),
        ("mypy", &[]),
        ("stubtest", &["cenote"]),
    ];
    let failed = checks.iter().filter(|(tool, arguments)| !environment.run(tool, arguments));
    let failed = failed.count();
    tests(&environment, counts) && failed == 0
}

/// The API of a service, fuzzed from its own description for so many seconds.
pub(crate) fn fuzz_api(root: &Path, seconds: &str) -> bool {
    let Ok(1..) = seconds.parse::<u32>() else {
        eprintln!("fuzz-api: {seconds} is no number of seconds");
        return false;
    };
    let Some(environment) = Environment::prepare(root, &root.join("target/venv"), |_| true) else {
        return false;
    };
    if !environment.run("maturin", &["develop", "--quiet", "--locked"])
        || !cargo(root, &["build", "--package", "cenote-cli", "--locked"], &[])
    {
        return false;
    }
    let mut command = environment.command("pytest", &["tests/test_api_fuzz.py", "--durations=0"]);
    command.env("CENOTE_BIN", built(root, "debug")).env("CENOTE_FUZZ_API", seconds);
    succeeds(&mut command)
}

/// A virtual environment for the package of the sources at `root`.
pub(crate) struct Environment {
    root: PathBuf,
    place: PathBuf,
}

impl Environment {
    /// Makes the environment at `place` with the lines of the requirements that are `wanted`, unless it is
    /// there with everything in it.
    pub(crate) fn prepare(
        root: &Path,
        place: &Path,
        wanted: fn(&str) -> bool,
    ) -> Option<Environment> {
        let environment = Environment { root: root.to_owned(), place: place.to_owned() };
        let Ok(all) = fs::read_to_string(root.join(REQUIREMENTS)) else {
            eprintln!("python: {REQUIREMENTS} is missing");
            return None;
        };
        let wanted: String =
            all.lines().filter(|line| wanted(line)).map(|line| format!("{line}\n")).collect();
        let installed = place.join("installed.txt");
        if fs::read_to_string(&installed).is_ok_and(|known| known == wanted) {
            return Some(environment);
        }
        let made = environment.fill(&wanted) && fs::write(installed, wanted).is_ok();
        if !made {
            let place = place.display();
            eprintln!("python: no environment in {place}; is python3-venv installed (.ci/setup)?");
        }
        made.then_some(environment)
    }

    fn fill(&self, wanted: &str) -> bool {
        let list = self.place.join("wanted.txt");
        succeeds(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&self.place))
            && fs::write(&list, wanted).is_ok()
            && succeeds(
                Command::new(self.tool("pip"))
                    .args(["install", "--quiet", "--disable-pip-version-check", "-r"])
                    .arg(list),
            )
    }

    /// Has the package where its sources are, with the library that was built for tests, as `maturin develop` would.
    fn takes_built(&self) -> bool {
        let library = built(&self.root, "debug");
        let library = library.with_file_name(format!("deps/{DLL_PREFIX}_native{DLL_SUFFIX}"));
        let package = self.root.join("python");
        let script = "import pathlib, sys, sysconfig\npathlib.Path(sysconfig.get_paths()['purelib'], 'cenote.pth').write_text(sys.argv[1] + '\\n')";
        let copied = fs::copy(&library, package.join("cenote/_native.abi3.so"));
        if let Err(error) = &copied {
            eprintln!("python: {}: {error}", library.display());
        }
        let at = package.to_string_lossy();
        copied.is_ok() && succeeds(&mut self.python(&["-c", script, &at]))
    }

    fn tool(&self, name: &str) -> PathBuf {
        self.place.join("bin").join(name)
    }

    fn command(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.tool(name));
        command
            .args(arguments)
            .current_dir(self.root.join("python"))
            .env("VIRTUAL_ENV", &self.place);
        command
    }

    /// Python, to be run at the root of the sources.
    pub(crate) fn python(&self, arguments: &[&str]) -> Command {
        let mut command = self.command("python", arguments);
        command.current_dir(&self.root);
        command
    }

    /// Runs a program of the environment in the folder of the package.
    pub(crate) fn run(&self, name: &str, arguments: &[&str]) -> bool {
        let passed = succeeds(&mut self.command(name, arguments));
        if !passed {
            eprintln!("python: {name} {} failed", arguments.join(" "));
        }
        passed
    }
}

/// The tests of the package, their results added to those of the workspace.
fn tests(environment: &Environment, counts: &mut Counts) -> bool {
    let mut command = environment.command("pytest", &["--hypothesis-seed=2017"]);
    let cenote = built(&environment.root, "debug");
    let started = command.env("CENOTE_BIN", cenote).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = started else { return false };
    let mut last = String::new();
    for line in child
        .stdout
        .take()
        .into_iter()
        .flat_map(|out| BufReader::new(out).lines())
        .map_while(Result::ok)
    {
        println!("{line}");
        last = line;
    }
    let found = summary(&last);
    counts.passed += found.passed;
    counts.failed += found.failed;
    counts.ignored += found.ignored;
    // No test at all would be a broken suite, not a passed one.
    child.wait().is_ok_and(|status| status.success()) && found.failed == 0 && found.passed > 0
}

/// The numbers of a line such as `3 failed, 72 passed, 1 skipped in 8.01s`.
fn summary(line: &str) -> Counts {
    let mut counts = Counts::default();
    let line = line.trim_matches(|c: char| c == '=' || c == ' ');
    let fields = line.split(" in ").next().unwrap_or_default().split(", ");
    for (number, what) in fields.filter_map(|field| field.split_once(' ')) {
        let number: u64 = number.parse().unwrap_or(0);
        match what {
            "passed" => counts.passed += number,
            "failed" | "error" | "errors" => counts.failed += number,
            "skipped" => counts.ignored += number,
            _ => {}
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_pytest_is_counted() {
        let count = |line: &str| {
            let Counts { passed, failed, ignored } = summary(line);
            (passed, failed, ignored)
        };
        assert_eq!(count("72 passed in 8.01s"), (72, 0, 0));
        assert_eq!(
            count("=== 3 failed, 72 passed, 1 skipped, 2 errors in 61.2s (0:01:01) ==="),
            (72, 5, 1)
        );
        assert_eq!(count("no tests ran in 0.10s"), (0, 0, 0));
    }
}
