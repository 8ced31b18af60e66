//! Builds and runs tests in the copy of the sources.

use std::fmt;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::list::Mutant;
use super::tree::Tree;
use crate::suite::Counts;

/// What became of a mutant.
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

/// Plays mutants in a tree, with a build folder of their own.
pub(super) struct Player<'t> {
    tree: &'t Tree,
    build: PathBuf,
    log: PathBuf,
}

impl<'t> Player<'t> {
    /// Builds go to `folder`.
    pub(super) fn new(tree: &'t Tree, folder: &Path) -> Player<'t> {
        Player { tree, build: folder.join("build"), log: folder.join("log") }
    }

    /// The time that `test` takes as the sources are.
    ///
    /// # Errors
    /// Why it cannot tell one mutant from another.
    pub(super) fn unchanged(&self, test: &str) -> Result<Duration, String> {
        self.compile(test)?;
        let start = Instant::now();
        match self.run(test, None)? {
            End::Passed => Ok(start.elapsed()),
            End::Failed | End::Hung => Err(format!("the test fails ({})", self.log.display())),
            End::Void(why) => Err(why.into()),
        }
    }

    /// Whether the mutant's test fails within `limit`.
    pub(super) fn play(&self, mutant: &Mutant, limit: Duration) -> Verdict {
        let played = self.tree.with(&mutant.edits, || {
            self.compile(&mutant.test)?;
            self.run(&mutant.test, Some(limit))
        });
        match played.and_then(|end| end) {
            Ok(End::Passed) => Verdict::Survived,
            Ok(End::Failed) => Verdict::Noticed,
            Ok(End::Hung) if mutant.hangs => Verdict::Noticed,
            Ok(End::Hung) => Verdict::Broken(format!("no end after {} s", limit.as_secs())),
            Ok(End::Void(why)) => Verdict::Broken(why.into()),
            Err(error) => Verdict::Broken(error),
        }
    }

    fn compile(&self, test: &str) -> Result<(), String> {
        match self.cargo(&["--no-run"], test, None)? {
            Some(status) if status.success() => Ok(()),
            _ => Err(format!("does not compile ({})", self.log.display())),
        }
    }

    fn run(&self, test: &str, limit: Option<Duration>) -> Result<End, String> {
        let status = self.cargo(&[], test, limit)?;
        let log = fs::read(&self.log).map_err(|error| error.to_string())?;
        let mut counts = Counts::default();
        String::from_utf8_lossy(&log).lines().for_each(|line| counts.add(line));
        Ok(end(status, &counts))
    }

    /// The status of `cargo test`, its output in the log; `None` after `limit`.
    fn cargo(
        &self,
        options: &[&str],
        test: &str,
        limit: Option<Duration>,
    ) -> Result<Option<ExitStatus>, String> {
        let mut command = Command::new(env!("CARGO"));
        command
            .args(["test", "--quiet", "--locked"])
            .args(options)
            .args(test.split_whitespace())
            .env("CARGO_TARGET_DIR", &self.build)
            // The same cases each time.
            .env("PROPTEST_RNG_SEED", "2017")
            .current_dir(self.tree.path());
        run_for(&mut command, &self.log, limit).map_err(|error| format!("cargo: {error}"))
    }
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

/// Runs a command and all that it starts, for `limit` at most; `None` if it was ended.
fn run_for(
    command: &mut Command,
    log: &Path,
    limit: Option<Duration>,
) -> std::io::Result<Option<ExitStatus>> {
    let output = File::create(log)?;
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).process_group(0);
    let mut child = command.spawn()?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if limit.is_some_and(|limit| start.elapsed() > limit) {
            kill_process_group(Pid::from_child(&child), Signal::KILL)?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::list::Edit;

    /// A package with one check and its test.
    fn package(folder: &Path) -> Tree {
        let files = [
            ("Cargo.toml", "[package]\nname = \"tiny\"\nedition = \"2024\"\n\n[workspace]\n"),
            ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"tiny\"\nversion = \"0.0.0\"\n"),
            (
                "src/lib.rs",
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
        Tree::of(&folder.join("source"), &folder.join("tree")).unwrap()
    }

    fn mutant(find: &str, replace: &str, test: &str) -> Mutant {
        let (find, replace) = (find.into(), replace.into());
        Mutant {
            id: "tiny".into(),
            check: "tiny".into(),
            edits: vec![Edit { file: "src/lib.rs".into(), find, replace }],
            test: format!("-p tiny --lib {test}"),
            hangs: test == "waits",
        }
    }

    #[test]
    fn only_a_test_that_fails_has_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let tree = package(folder.path());
        let player = Player::new(&tree, folder.path());
        let play = |mutant: &Mutant| player.play(mutant, Duration::from_secs(30));
        let broken = |mutant: &Mutant| match play(mutant) {
            Verdict::Broken(why) => why,
            verdict => panic!("{verdict}"),
        };
        assert!(player.unchanged("-p tiny --lib checks").is_ok());
        assert!(player.unchanged("-p tiny --lib chekcs").unwrap_err().contains("no test"));

        assert_eq!(play(&mutant("n < 7", "true", "checks")), Verdict::Noticed);
        assert_eq!(play(&mutant("n < 7", "n < 8", "checks")), Verdict::Survived);
        assert!(broken(&mutant("n < 7", "n < x", "checks")).contains("compile"));
        assert!(broken(&mutant("n < 9", "true", "checks")).contains("0 times"));
        assert!(broken(&mutant("n < 7", "true", "chekcs")).contains("no test"));
        let dies = mutant("n < 7", "std::process::abort()", "checks");
        assert!(broken(&dies).contains("died"));
        // And the next one starts from the sources as they are.
        assert_eq!(play(&mutant("n < 7", "true", "checks")), Verdict::Noticed);
    }

    #[test]
    fn a_test_that_hangs_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let tree = package(folder.path());
        let player = Player::new(&tree, folder.path());
        let mut hangs = mutant("n < 7", "true", "waits");
        assert_eq!(player.play(&hangs, Duration::from_secs(2)), Verdict::Noticed);
        hangs.hangs = false;
        let Verdict::Broken(why) = player.play(&hangs, Duration::from_secs(2)) else { panic!() };
        assert!(why.contains("2 s"));
    }
}
