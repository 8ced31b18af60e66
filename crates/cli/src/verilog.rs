//! Verilog, which yosys turns into BLIF.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::exit::Failure;

/// How long yosys may take.
const LIMIT: Duration = Duration::from_secs(600);
/// How often its end is looked for.
const TICK: Duration = Duration::from_millis(10);
/// Most bytes of its messages that are read, and of its result: as many as a circuit file may have.
const MAX_LOG: u64 = 64 << 10;
const MAX_BLIF: u64 = 1 << 30;

/// The design, flat, as ANDs, exclusive ors, negations and flip-flops of one edge that start as 0 or 1.
/// A wire that nothing drives would silently be zero, and a name that was mistyped is such a wire:
/// both are refused. No word of it comes from the user: the design lies in the file that `DESIGN` stands for.
const SCRIPT: &str = "\
read_verilog -noautowire DESIGN
hierarchy -check -auto-top
proc
flatten
check -assert
synth -flatten
async2sync
dfflegalize -cell $_DFF_P_ 01
abc -g AND,XOR
opt_clean
check -assert
write_blif circuit.blif
";

/// The BLIF that yosys makes of the Verilog in `bytes`; `file` is its name in messages.
///
/// Yosys works in a directory of its own, which is removed.
pub(crate) fn to_blif(file: &Path, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let shown = file.display();
    let failed = |what: &str| Failure::internal(format!("{shown}: giving it to yosys: {what}"));
    let io = |error: std::io::Error| failed(&error.to_string());
    let dir = tempfile::tempdir().map_err(io)?;
    let system = file.extension().is_some_and(|extension| extension == "sv");
    let (design, words) =
        if system { ("design.sv", "-sv design.sv") } else { ("design.v", "design.v") };
    fs::write(dir.path().join(design), bytes).map_err(io)?;
    fs::write(dir.path().join("script.ys"), SCRIPT.replace("DESIGN", words)).map_err(io)?;
    let child = start(dir.path()).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::bad_input(format!(
            "{shown}: this is Verilog, and yosys, which reads it, is not there; install yosys"
        )),
        _ => io(error),
    })?;
    let status = wait(child).map_err(io)?;
    let Some(status) = status else {
        let seconds = LIMIT.as_secs();
        return Err(Failure::bad_input(format!(
            "{shown}: yosys took more than {seconds} seconds; simplify the design, or give its BLIF"
        )));
    };
    if !status.success() {
        let log = read(&dir.path().join("log"), MAX_LOG).map_err(io)?;
        let said = complaint(&String::from_utf8_lossy(&log), design, &shown.to_string());
        return Err(Failure::bad_input(format!("{said}; correct the Verilog")));
    }
    read(&dir.path().join("circuit.blif"), MAX_BLIF).map_err(io)
}

fn start(dir: &Path) -> std::io::Result<Child> {
    Command::new("yosys")
        .args(["-q", "-s", "script.ys"])
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(dir.join("log"))?)
        .spawn()
}

/// Its end, or nothing if it took too long and was stopped.
fn wait(mut child: Child) -> std::io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(TICK);
    }
}

fn read(path: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The error among the messages, with the name of the user's file.
fn complaint(log: &str, design: &str, file: &str) -> String {
    let line = log.lines().find(|line| line.contains("ERROR: ")).unwrap_or("it gives no reason");
    let found = |line: &&str| line.starts_with("Warning: ") && line.ends_with('.');
    let problem = match line.contains("'check -assert'") {
        true => log.lines().find(found).and_then(|line| line.strip_prefix("Warning: ")),
        false => None,
    };
    if let Some(problem) = problem {
        return format!("{file}: {}", problem.trim_end_matches('.'));
    }
    match line.split_once("ERROR: ") {
        Some((place, what)) if place.starts_with(design) => {
            format!("{file}{} {what}", place.trim_start_matches(design).trim_end())
        }
        Some((_, what)) => format!("{file}: yosys: {what}"),
        None => format!("{file}: yosys failed: {line}"),
    }
}

#[cfg(test)]
mod tests {
    use super::complaint;

    #[test]
    fn errors_name_the_file_of_the_user() {
        let log = "Warning: x\ndesign.v:2: ERROR: syntax error, unexpected ';'\n";
        let said = complaint(log, "design.v", "dir/a.v");
        assert_eq!(said, "dir/a.v:2: syntax error, unexpected ';'");
        let said = complaint("ERROR: Module `\\x' is not part of the design.", "design.v", "a.v");
        assert_eq!(said, "a.v: yosys: Module `\\x' is not part of the design.");
        let log = "Warning: Wire m.\\x is used but has no driver.\nERROR: Found 1 problems in 'check -assert'.\n";
        let said = complaint(log, "design.v", "a.v");
        assert_eq!(said, "a.v: Wire m.\\x is used but has no driver");
        assert_eq!(complaint("", "design.v", "a.v"), "a.v: yosys failed: it gives no reason");
    }
}
