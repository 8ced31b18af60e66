//! Runs all test programs of the workspace, two at a time: many of them wait (for a timeout, a disk, a
//! peer), so that one after the other they would leave half of the processor idle.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::suite::{Counts, cargo_command};

/// How many run at the same time. Each uses as many threads as there are cores.
const AT_ONCE: usize = 2;

/// The suite tries the same cases each time; a plain `cargo test` tries new ones.
const FIXED_CASES: (&str, &str) = ("PROPTEST_RNG_SEED", "2017");

/// A test program, and the folder of its package, in which cargo would run it.
#[derive(Debug, PartialEq)]
struct Program {
    name: String,
    executable: PathBuf,
    folder: PathBuf,
}

/// Builds and runs all, then the examples of the documentation; sums the results.
pub(crate) fn run(root: &Path, counts: &mut Counts) -> bool {
    let Some(programs) = built(root) else { return false };
    let (next, summed) = (Mutex::new(programs.into_iter()), Mutex::new((counts, true)));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(program) = taken(&next) {
                    // A program that hangs is the last one that began.
                    println!("     Running {}", program.name);
                    let (output, passed) = output(&mut program.command());
                    let mut summed = summed.lock().unwrap_or_else(PoisonError::into_inner);
                    println!("     Results of {} ({})", program.name, program.executable.display());
                    summed.0.show(&output);
                    summed.1 &= passed;
                }
            });
        }
    });
    let (counts, passed) = summed.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut examples = cargo_command(root);
    examples.args(["test", "--workspace", "--locked", "--doc", "--no-fail-fast"]);
    let (output, examples_passed) = output(&mut examples);
    counts.show(&output);
    // No test at all would be a broken suite, not a passed one.
    passed && examples_passed && counts.failed == 0 && counts.passed > 0
}

/// The lock is not held while the program runs.
fn taken(next: &Mutex<std::vec::IntoIter<Program>>) -> Option<Program> {
    next.lock().unwrap_or_else(PoisonError::into_inner).next()
}

/// All test programs, in the order in which cargo names them.
fn built(root: &Path) -> Option<Vec<Program>> {
    let mut child = cargo_command(root)
        .args(["test", "--workspace", "--locked", "--no-run"])
        .arg("--message-format=json-render-diagnostics")
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let lines = BufReader::new(child.stdout.take()?).lines().map_while(Result::ok);
    let programs = lines.filter_map(|line| program(&line)).collect();
    child.wait().is_ok_and(|status| status.success()).then_some(programs)
}

/// The test program that a message of cargo is about, if it is about one.
fn program(message: &str) -> Option<Program> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let is_test = message["profile"]["test"].as_bool()?;
    let executable = PathBuf::from(message["executable"].as_str()?);
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    let source = Path::new(message["target"]["src_path"].as_str()?);
    let name = source.strip_prefix(folder.parent()?).ok()?.display().to_string();
    is_test.then_some(Program { name, executable, folder })
}

impl Program {
    /// As cargo would start it.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command
            .envs([FIXED_CASES])
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .current_dir(&self.folder);
        command
    }
}

/// What a command printed, and whether it ended well.
fn output(command: &mut Command) -> (String, bool) {
    match command.output() {
        Ok(ended) => {
            let text = [ended.stdout, ended.stderr].concat();
            (String::from_utf8_lossy(&text).into_owned(), ended.status.success())
        }
        Err(error) => (format!("{error}\n"), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_told_from_other_artifacts() {
        let message = |test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/net/Cargo.toml","target":
                {{"src_path":"/w/crates/net/tests/tls.rs"}},"profile":{{"test":{test}}},"executable":{executable}}}"#
            )
        };
        let expected = Program {
            name: "net/tests/tls.rs".into(),
            executable: "/w/target/debug/deps/tls-1".into(),
            folder: "/w/crates/net".into(),
        };
        assert_eq!(program(&message(true, r#""/w/target/debug/deps/tls-1""#)), Some(expected));
        assert_eq!(program(&message(false, r#""/w/target/debug/cenote""#)), None);
        assert_eq!(program(&message(true, "null")), None);
        assert_eq!(program(r#"{"reason":"build-finished","success":true}"#), None);
    }

    #[test]
    fn a_program_that_fails_or_is_not_there_does_not_pass() {
        let program = |executable: &str| Program {
            name: executable.into(),
            executable: executable.into(),
            folder: "/".into(),
        };
        assert!(output(&mut program("/bin/true").command()).1);
        assert!(!output(&mut program("/bin/false").command()).1);
        assert!(!output(&mut program("/nowhere").command()).1);
    }
}
