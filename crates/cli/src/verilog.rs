//! Verilog, which yosys turns into BLIF.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use crate::exit::Failure;
use crate::limited::{self, End};

/// How long yosys may take, and how much memory each of its processes has.
const LIMIT: Duration = Duration::from_secs(600);
const MEMORY: u64 = 8 << 30;
/// Most bytes of its messages that are read, and of its result: as many as a circuit file may have.
const MAX_LOG: u64 = 64 << 10;
const MAX_BLIF: u64 = 1 << 30;

/// The design, flat, as ANDs, XORs, negations and flip-flops of one edge that start as 0 or 1.
/// A wire that nothing drives would silently be zero, and a name that was mistyped is such a wire:
/// both are refused. Functions of the system's libraries (DPI) are not called. No word of it comes from the user: the design lies in the file that `DESIGN` stands for.
const SCRIPT: &str = "\
read_verilog -nodpi -noautowire DESIGN
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
    if let Some(word) = reads_files(bytes) {
        return Err(Failure::bad_input(format!(
            "{shown}: `{word}`: a design must be complete in itself; put what it reads into the file"
        )));
    }
    let dir = tempfile::tempdir().map_err(io)?;
    let system = file.extension().is_some_and(|extension| extension == "sv");
    let (design, words) =
        if system { ("design.sv", "-sv design.sv") } else { ("design.v", "design.v") };
    fs::write(dir.path().join(design), bytes).map_err(io)?;
    fs::write(dir.path().join("script.ys"), SCRIPT.replace("DESIGN", words)).map_err(io)?;
    let mut yosys = limited::program("yosys", MEMORY).map_err(io)?;
    let log = dir.path().join("log");
    yosys.args(["-q", "-s", "script.ys"]).current_dir(dir.path());
    yosys.stderr(File::create(&log).map_err(io)?);
    let status = match limited::run(yosys, b"\n", LIMIT).map_err(io)? {
        End::Done(status, _) => status,
        End::Late => {
            let seconds = LIMIT.as_secs();
            return Err(Failure::bad_input(format!(
                "{shown}: yosys took more than {seconds} seconds; simplify the design, or give its BLIF"
            )));
        }
    };
    if limited::not_there(status) {
        return Err(Failure::bad_input(format!(
            "{shown}: this is Verilog, and yosys, which reads it, is not there; install yosys"
        )));
    }
    if !status.success() {
        let log = read(&log, MAX_LOG).map_err(io)?;
        let text = String::from_utf8_lossy(bytes);
        let said = complaint(&String::from_utf8_lossy(&log), design, &shown.to_string(), &text);
        return Err(Failure::bad_input(said));
    }
    read(&dir.path().join("circuit.blif"), MAX_BLIF).map_err(io)
}

/// A word by which the design could read other files of this machine. Words may be pasted together from
/// parts, so that pasting is one as well.
fn reads_files(bytes: &[u8]) -> Option<&'static str> {
    let words = ["include", "readmem", "$fopen", "``"];
    let has = |word: &&str| bytes.windows(word.len()).any(|part| part == word.as_bytes());
    words.into_iter().find(has)
}

fn read(path: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The error among the messages, with the name of the user's file and what to do.
fn complaint(log: &str, design: &str, file: &str, text: &str) -> String {
    let Some((place, what)) = log.lines().find_map(|line| line.split_once("ERROR: ")) else {
        let most = MEMORY >> 30;
        return format!(
            "{file}: yosys died, as it does when it needs more than {most} GiB; simplify the design, or \
             give its BLIF"
        );
    };
    let problem = |line: &str| line.strip_prefix("Warning: ")?.strip_suffix('.').map(str::to_owned);
    if what.contains("'check -assert'")
        && let Some(problem) = log.lines().find_map(problem)
    {
        return format!("{file}: {problem}; correct the Verilog");
    }
    let line = place.strip_prefix(design).and_then(|place| place.strip_prefix(':'));
    let line = line.map(|line| line.trim_end().trim_end_matches(':'));
    match line {
        Some(line) => match column(text, line, what) {
            Some(column) => format!("{file}:{line}:{column}: {what}; correct the Verilog"),
            None => format!("{file}:{line}: {what}; correct the Verilog"),
        },
        None => format!("{file}: yosys: {what}; correct the Verilog"),
    }
}

/// The column of the sign or word that a message quotes, which yosys leaves out: where the line has it
/// once.
fn column(text: &str, line: &str, what: &str) -> Option<usize> {
    let line = text.lines().nth(line.parse::<usize>().ok()?.checked_sub(1)?)?;
    let quoted = what.split_once(['\'', '`'])?.1.split('\'').next()?.trim_start_matches('\\');
    let in_word = |sign: Option<char>| sign.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let is_word = in_word(quoted.chars().next());
    let mut found = line.match_indices(quoted).map(|(at, _)| at).filter(|at| {
        let (before, after) = (&line[..*at], &line[at + quoted.len()..]);
        !is_word || !(in_word(before.chars().next_back()) || in_word(after.chars().next()))
    });
    let at = found.next().filter(|_| !quoted.is_empty())?;
    found.next().is_none().then(|| line[..at].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::complaint;

    #[test]
    fn errors_name_the_file_of_the_user() {
        let complaint = |log: &str| {
            complaint(log, "design.v", "dir/a.v", "module m(input a);\n  assign b = ;\n f(b, b)\n")
        };
        let said = complaint("Warning: x\ndesign.v:2: ERROR: syntax error, unexpected ';'\n");
        assert_eq!(said, "dir/a.v:2:14: syntax error, unexpected ';'; correct the Verilog");
        // No column is better than a wrong one.
        let said = complaint("design.v:3: ERROR: Identifier `\\b' is twice there.");
        assert_eq!(said, "dir/a.v:3: Identifier `\\b' is twice there.; correct the Verilog");
        let said = complaint("design.v:9: ERROR: syntax error, unexpected TOK_ID");
        assert_eq!(said, "dir/a.v:9: syntax error, unexpected TOK_ID; correct the Verilog");
        let said = complaint("ERROR: Module `\\x' is not there.");
        assert_eq!(said, "dir/a.v: yosys: Module `\\x' is not there.; correct the Verilog");
        let log = "Warning: Wire m.\\x is used but has no driver.\nERROR: Found 1 problems in 'check -assert'.\n";
        let said = complaint(log);
        assert_eq!(said, "dir/a.v: Wire m.\\x is used but has no driver; correct the Verilog");
        let said = complaint("design.v:1: ERROR: Identifier `\\m' is there.");
        assert_eq!(said, "dir/a.v:1:8: Identifier `\\m' is there.; correct the Verilog");
        assert!(complaint("terminate called").contains("more than 8 GiB"));
    }
}
