//! Builds and runs tests in the copy of the sources.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::list::{Mutant, Test};
use crate::suite::Counts;
use crate::tree::Tree;

/// The fate of a mutant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    Noticed,
    Survived,
    /// It says nothing about the test: why.
    Broken(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Noticed => f.write_str("noticed"),
            Verdict::Survived => f.write_str("SURVIVED"),
            Verdict::Broken(why) => write!(f, "BROKEN: {why}"),
        }
    }
}

/// How a test ended.
#[derive(Debug, PartialEq)]
enum End {
    Passed,
    Failed,
    Hung,
    /// Neither: why.
    Void(&'static str),
}

/// Chosen along with every test in `tests`, which neither has: dependencies then have the features that
/// they have in the whole workspace, and all tests share one build of them with `make test`. A test of
/// a library would have these built with every mutant.
const PROGRAMS: &[&str] = &["-p", "cenote-cli", "-p", "cenote-py"];

/// Runs mutants in a tree, with a build folder of their own.
pub(super) struct Runner<'t> {
    tree: &'t Tree,
    build: PathBuf,
    log: PathBuf,
    along: &'static [&'static str],
}

impl<'t> Runner<'t> {
    /// Builds go to `folder`.
    pub(super) fn new(tree: &'t Tree, folder: &Path) -> Runner<'t> {
        Runner { tree, build: folder.join("build"), log: folder.join("log"), along: PROGRAMS }
    }

    /// The time that `test` takes as the sources are.
    ///
    /// # Errors
    /// Why it cannot tell one mutant from another.
    pub(super) fn unchanged(&self, test: &Test) -> Result<Duration, String> {
        let mut command = self.compile(test)?;
        let start = Instant::now();
        match self.finish(&mut command, None)? {
            End::Passed => Ok(start.elapsed()),
            End::Failed | End::Hung => Err(format!("the test fails ({})", self.log.display())),
            End::Void(why) => Err(why.into()),
        }
    }

    /// Whether the mutant's test fails within `limit`.
    pub(super) fn run(&self, mutant: &Mutant, limit: Duration) -> Verdict {
        let ran = self.tree.with(&mutant.edits, || {
            let mut command = self.compile(&mutant.test)?;
            self.finish(&mut command, Some(limit))
        });
        match ran.and_then(|end| end) {
            Ok(End::Passed) => Verdict::Survived,
            Ok(End::Failed) => Verdict::Noticed,
            Ok(End::Hung) if mutant.hangs => Verdict::Noticed,
            Ok(End::Hung) => Verdict::Broken(format!("no end after {} s", limit.as_secs())),
            Ok(End::Void(why)) => Verdict::Broken(why.into()),
            Err(error) => Verdict::Broken(error),
        }
    }

    /// Builds a test. The command that runs it is not cargo's, so that it can be ended.
    fn compile(&self, test: &Test) -> Result<Command, String> {
        let along = if test.is_of_library() { &[] } else { self.along };
        let built = Command::new(env!("CARGO"))
            .args(["test", "--quiet", "--locked", "--no-run"])
            .arg("--message-format=json-render-diagnostics")
            .args(&test.target)
            .args(along)
            .env("CARGO_TARGET_DIR", &self.build)
            .current_dir(self.tree.path())
            .output()
            .map_err(|error| format!("cargo: {error}"))?;
        fs::write(&self.log, &built.stderr).map_err(|error| error.to_string())?;
        if !built.status.success() {
            return Err(format!("does not compile ({})", self.log.display()));
        }
        let program = String::from_utf8_lossy(&built.stdout)
            .lines()
            .find_map(|line| test_program(line, &test.target[1]));
        let (program, folder) = program.ok_or("cargo built no test")?;
        let mut command = Command::new(program);
        // The folder as cargo has it, and the same cases each time.
        command.args(&test.arguments).current_dir(folder).env("PROPTEST_RNG_SEED", "2017");
        Ok(command)
    }

    /// Runs a test, its output in the log, for `limit` at most.
    fn finish(&self, command: &mut Command, limit: Option<Duration>) -> Result<End, String> {
        let mut run = || {
            let log = File::create(&self.log)?;
            command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
            let status = wait(command.spawn()?, limit)?;
            Ok((status, fs::read(&self.log)?))
        };
        let (status, log) = run().map_err(|error: io::Error| error.to_string())?;
        let mut counts = Counts::default();
        String::from_utf8_lossy(&log).lines().for_each(|line| counts.add(line));
        Ok(end(status, &counts))
    }
}

/// The test of a package that a line of cargo's messages tells of, and the folder of the package.
fn test_program(line: &str, package: &str) -> Option<(PathBuf, PathBuf)> {
    let message: Value = serde_json::from_str(line).ok()?;
    let program = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let named = folder.file_name()?.to_str()? == package.trim_start_matches("cenote-");
    named.then(|| (program.into(), folder.into()))
}

/// A test fails by saying so: a process that dies, or runs no test, has shown nothing.
fn end(status: Option<ExitStatus>, counts: &Counts) -> End {
    match status {
        None => End::Hung,
        Some(_) if counts.failed > 0 => End::Failed,
        Some(status) if !status.success() => End::Void("the test died without a result"),
        Some(_) if counts.passed == 0 => End::Void("no test has run"),
        Some(_) => End::Passed,
    }
}

/// Waits for a process, for `limit` at most; `None` if it had to be ended.
fn wait(mut child: Child, limit: Option<Duration>) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if limit.is_some_and(|limit| start.elapsed() > limit) {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use crate::tree::Edit;

    /// A package with one check and its test.
    fn package(folder: &Path) -> Tree {
        let files = [
            ("crates/tiny/Cargo.toml", "[package]\nname = \"tiny\"\nedition = \"2024\"\n"),
            ("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n"),
            ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"tiny\"\nversion = \"0.0.0\"\n"),
            (
                "crates/tiny/src/lib.rs",
                "pub fn checked(n: u8) -> bool {\n    n < 7\n}\n\n#[cfg(test)]\nmod tests {\n    \
                 #[test]\n    fn checks() {\n        assert!(!super::checked(9));\n    }\n\n    \
                 #[test]\n    fn waits() {\n        while super::checked(9) {}\n    }\n}\n",
            ),
        ];
        for (name, text) in files {
            let path = folder.join("source").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Tree::of(&folder.join("source"), &folder.join("tree"), &BTreeMap::new()).unwrap()
    }

    fn test_of(name: &str) -> Test {
        format!("-p tiny --lib {name}").parse().unwrap()
    }

    fn mutant(find: &str, replace: &str, test: &str) -> Mutant {
        let (find, replace) = (find.into(), replace.into());
        Mutant {
            id: "tiny".into(),
            check: "tiny".into(),
            edits: vec![Edit { file: "crates/tiny/src/lib.rs".into(), find, replace }],
            test: test_of(test),
            hangs: test == "waits",
        }
    }

    #[test]
    fn only_a_test_that_fails_has_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let tree = package(folder.path());
        let runner = Runner { along: &[], ..Runner::new(&tree, folder.path()) };
        let run = |mutant: &Mutant| runner.run(mutant, Duration::from_secs(30));
        let broken = |mutant: &Mutant| match run(mutant) {
            Verdict::Broken(why) => why,
            verdict => panic!("{verdict}"),
        };
        assert!(runner.unchanged(&test_of("checks")).is_ok());
        assert!(runner.unchanged(&test_of("chekcs")).unwrap_err().contains("no test"));

        assert_eq!(run(&mutant("n < 7", "true", "checks")), Verdict::Noticed);
        assert_eq!(run(&mutant("n < 7", "n < 8", "checks")), Verdict::Survived);
        assert!(broken(&mutant("n < 7", "n < x", "checks")).contains("compile"));
        assert!(broken(&mutant("n < 9", "true", "checks")).contains("0 times"));
        assert!(broken(&mutant("n < 7", "true", "chekcs")).contains("no test"));
        let dies = mutant("n < 7", "std::process::abort()", "checks");
        assert!(broken(&dies).contains("died"));
        // And the next one starts from the sources as they are.
        assert_eq!(run(&mutant("n < 7", "true", "checks")), Verdict::Noticed);
    }

    #[test]
    fn a_test_that_hangs_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let tree = package(folder.path());
        let runner = Runner { along: &[], ..Runner::new(&tree, folder.path()) };
        let mut hangs = mutant("n < 7", "true", "waits");
        assert_eq!(runner.run(&hangs, Duration::from_secs(2)), Verdict::Noticed);
        hangs.hangs = false;
        let Verdict::Broken(why) = runner.run(&hangs, Duration::from_secs(2)) else { panic!() };
        assert!(why.contains("2 s"));
    }
}
