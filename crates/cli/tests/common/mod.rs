//! Running the built command.

#![allow(dead_code, reason = "every test file uses its part")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Nothing that these tests do may take longer.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Two numbers of two bits: their sum, three bits, and whether both are odd.
pub(crate) const ADDER: &str = "9 13
2 2 2
2 3 1

2 1 0 2 4 AND
2 1 1 3 5 XOR
2 1 1 3 6 AND
2 1 5 4 7 AND
1 1 4 8 EQW
2 1 0 2 9 XOR
2 1 5 4 10 XOR
2 1 6 7 11 XOR
1 1 8 12 EQW
";

/// A program whose garbler gives a table.
pub(crate) const PURCHASES: &str = "cenote 1
program spent \"what one customer spent\"
input rows.customer: garbler uint 3xb16
input rows.amount: garbler fixed.8 3xb24
input who: evaluator uint b16
{
  %3 = eq %0, %2
  %4 = const 3xb24 all 0x0
  %5 = mux %3, %1, %4
  %6 = sum{width=24, groups=1} %5
}
output spent: both fixed.8 %6
";

/// Writes `text` to `name` in `dir`.
pub(crate) fn write(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, text).expect("the temporary directory is writable");
    path
}

/// The command with `arguments`, as on a machine that was never calibrated.
pub(crate) fn cenote<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cenote"));
    command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/no-cache"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The exit code and output of a finished command.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) json: Value,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    fn of(output: &Output) -> Said {
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        Said {
            code: output.status.code().unwrap_or(-1),
            json: serde_json::from_str(&stdout).unwrap_or(Value::Null),
            stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The message of a failure, which must have `code`.
    #[track_caller]
    pub(crate) fn error(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.json["exit_code"], code, "{self:?}");
        self.json["error"].as_str().expect("a failure has a message")
    }

    /// The outputs of a success.
    #[track_caller]
    pub(crate) fn outputs(&self) -> Vec<Option<&str>> {
        assert_eq!(self.code, 0, "{self:?}");
        let outputs = self.json["outputs"].as_array().expect("a success has outputs");
        outputs.iter().map(Value::as_str).collect()
    }
}

/// Runs the command with one line of arguments, `--json` among them.
pub(crate) fn run(line: &str) -> Said {
    start(line).end()
}

/// Starts the command with one line of arguments and `--json`.
pub(crate) fn start(line: &str) -> Running {
    start_with(line, Stdio::null())
}

/// The same with this standard input.
pub(crate) fn start_with(line: &str, stdin: Stdio) -> Running {
    let arguments = line.split_whitespace().chain(["--json"]);
    let mut child = cenote(arguments).stdin(stdin).spawn().expect("the command starts");
    let mut out = child.stdout.take().expect("a pipe");
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        out.read_to_end(&mut text).map(|_| text)
    });
    let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    Running { child, reader, stderr, said: String::new() }
}

/// A command that runs.
pub(crate) struct Running {
    pub(crate) child: Child,
    reader: JoinHandle<std::io::Result<Vec<u8>>>,
    stderr: BufReader<std::process::ChildStderr>,
    said: String,
}

impl Running {
    /// The address that `party --listen` announces.
    pub(crate) fn address(&mut self) -> String {
        self.told("listening on ")
    }

    /// The rest of the next line on standard error that begins so.
    pub(crate) fn told(&mut self, begins: &str) -> String {
        loop {
            let before = self.said.len();
            self.stderr.read_line(&mut self.said).expect("standard error is text");
            let line = &self.said[before..];
            assert!(!line.is_empty(), "no {begins:?}: {}", self.said);
            if let Some(rest) = line.strip_prefix(begins) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Waits for its end, within [`LIMIT`].
    #[track_caller]
    pub(crate) fn end(mut self) -> Said {
        let started = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("a child can be waited for") {
                Some(status) => break status,
                None if started.elapsed() > LIMIT => {
                    let _ = self.child.kill();
                    panic!("the command did not end");
                }
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        let stdout = self.reader.join().expect("the reader does not panic").expect("a pipe");
        let mut stderr = self.said.into_bytes();
        self.stderr.read_to_end(&mut stderr).expect("a pipe");
        Said::of(&Output { status, stdout, stderr })
    }
}

/// Runs the two sides of a computation with what each adds to `cenote party`; the garbler listens.
pub(crate) fn parties(garbler: &str, evaluator: &str) -> (Said, Said) {
    let mut listening = start(&format!("party --role garbler --listen 127.0.0.1:0 {garbler}"));
    let address = listening.address();
    let other = run(&format!("party --role evaluator --connect {address} {evaluator}"));
    (listening.end(), other)
}
