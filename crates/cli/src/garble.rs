//! Garble, compiled in a process of its own: its compiler unrolls loops and arrays as long as there is
//! memory, which only a limit ends.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use cenote_frontend::garble::{MAX_SOURCE, Options, compile};
use cenote_program::Module;
use serde::{Deserialize, Serialize};

use crate::exit::Failure;
use crate::limited::{self, End};
use crate::output::Reply;

/// How long the compiler may take, and how much memory.
const TIME: Duration = Duration::from_secs(120);
const MEMORY: u64 = 4 << 30;
/// Exit code of the process that refuses a program; what it wrote says why.
const REFUSED: i32 = 2;

/// The text to compile, and its options.
#[derive(Serialize, Deserialize)]
struct Task {
    file: String,
    source: String,
    function: Option<String>,
    constants: Vec<(String, String)>,
}

/// The module of a function of the Garble text in `file`.
pub(crate) fn compiled(
    file: &Path,
    function: Option<String>,
    constants: Vec<(String, String)>,
) -> Result<Module, Failure> {
    let name = file.display().to_string();
    let source = source(file).map_err(|what| Failure::bad_input(format!("{name}{what}")))?;
    let failed = |what: String| Failure::internal(format!("{name}: compiling it: {what}"));
    let task = Task { file: name.clone(), source, function, constants };
    let mut line = serde_json::to_vec(&task).map_err(|error| failed(error.to_string()))?;
    line.push(b'\n');
    let io = |error: io::Error| failed(error.to_string());
    let mut part = limited::part(crate::GARBLE).map_err(io)?;
    // What a compiler says as it dies is not for the user.
    part.stderr(Stdio::null());
    let remedy = "make loops, arrays and numbers smaller, or constants of the program";
    match limited::run(part, &line, TIME).map_err(io)? {
        End::Late => {
            let seconds = TIME.as_secs();
            let what = format!("{name}: Garble's compiler took more than {seconds} s; {remedy}");
            Err(Failure::bad_input(what))
        }
        End::Done(status, output) if status.success() => {
            Module::from_bytes(&output).map_err(|error| failed(error.to_string()))
        }
        End::Done(status, output) if status.code() == Some(REFUSED) && !output.is_empty() => {
            Err(Failure::bad_input(String::from_utf8_lossy(&output)))
        }
        End::Done(..) => {
            let most = MEMORY >> 30;
            Err(Failure::bad_input(format!(
                "{name}: Garble's compiler died, as it does when it needs more than {most} GiB; {remedy}"
            )))
        }
    }
}

/// The text; else the place and what is wrong.
fn source(file: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(|error| format!(": {error}"))?;
    let mut opened = opened.take(MAX_SOURCE as u64 + 1);
    opened.read_to_end(&mut bytes).map_err(|error| format!(": {error}"))?;
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let before = String::from_utf8_lossy(before);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!(":{line}:{column}: the text is not UTF-8; save it as UTF-8")
    })
}

/// The part that compiles what it reads, and writes the binary form or what is wrong.
pub(crate) fn command() -> Result<Reply, Failure> {
    let internal = |error: io::Error| Failure::internal(error.to_string());
    let line = limited::confine(MEMORY).map_err(internal)?;
    let task: Task = serde_json::from_str(&line)
        .map_err(|_| Failure::bad_input("`cenote garble` is started by `cenote program build`"))?;
    let mut options = Options { constants: task.constants, ..Options::default() };
    options.function = task.function.unwrap_or(options.function);
    let (bytes, code) = match compile(&task.file, &task.source, &options) {
        Ok(module) => (module.to_bytes(), 0),
        Err(error) => (error.to_string().into_bytes(), REFUSED),
    };
    let mut out = io::stdout().lock();
    out.write_all(&bytes).and_then(|()| out.flush()).map_err(internal)?;
    std::process::exit(code)
}
