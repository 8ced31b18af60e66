//! Work on untrusted input: in processes of its own, with an end to their time and memory. They
//! share a process group, so that nothing they start outlives them, and they end with the pipe from this
//! process, however this one ends.

use std::ffi::OsString;
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getrlimit, kill_current_process_group,
    kill_process_group, setrlimit, waitid,
};

use crate::exit::Failure;
use crate::output::Reply;

/// How often the end of a process is looked for.
const TICK: Duration = Duration::from_millis(10);
/// Exit codes of [`command`] where the program is not there, or does not start.
const NOT_THERE: i32 = 127;
const NO_START: i32 = 126;

/// How work ended.
#[derive(Debug)]
pub(crate) enum End {
    /// By itself: its status, and what it wrote to standard output.
    Done(ExitStatus, Vec<u8>),
    /// It took too long and was killed, with all that it had started.
    Late,
}

/// This command as its part `name`, which has to call [`confine`].
pub(crate) fn part(name: &str) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(name);
    Ok(command)
}

/// The command that starts `program`, each of whose processes has `memory` bytes.
pub(crate) fn program(program: &str, memory: u64) -> io::Result<Command> {
    let mut command = part(crate::LIMITED)?;
    command.arg(memory.to_string()).arg(program);
    Ok(command)
}

/// Whether what [`program`] started was not there.
pub(crate) fn not_there(status: ExitStatus) -> bool {
    status.code() == Some(NOT_THERE)
}

/// Runs `command` until it ends, or `time` is over. It reads `line` first; its standard input stays open
/// as long as it shall work.
pub(crate) fn run(mut command: Command, line: &[u8], time: Duration) -> io::Result<End> {
    let start = Instant::now();
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut group = Group(command.spawn()?);
    let (input, output) = (group.0.stdin.take(), group.0.stdout.take());
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        output.map_or(Ok(0), |mut output| output.read_to_end(&mut bytes)).map(|_| bytes)
    });
    if let Some(mut input) = input.as_ref() {
        // Work that ends before it has read everything says why by its status.
        let _ = input.write_all(line);
    }
    while !group.has_ended()? {
        if start.elapsed() > time {
            return Ok(End::Late);
        }
        thread::sleep(TICK);
    }
    let status = group.end()?;
    let output = reader.join().map_err(|_| io::Error::other("reading the output failed"))??;
    Ok(End::Done(status, output))
}

/// A process and all in its group, which it leads.
struct Group(Child);

impl Group {
    /// Whether the leader has ended. It is still there to be waited for, so its number is no other's.
    fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(Pid::from_child(&self.0)), options)?.is_some())
    }

    fn end(&mut self) -> io::Result<ExitStatus> {
        // Fails only if nobody is left.
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        self.0.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // After a wait, the number may be another's.
        if self.has_ended().is_ok() {
            let _ = self.end();
        }
    }
}

/// Confines this process, the leader of its group, and what it starts: `memory` bytes for each, and an
/// end with standard input, from which the first line is returned.
pub(crate) fn confine(memory: u64) -> io::Result<String> {
    for (resource, most) in [(Resource::As, memory), (Resource::Core, 0)] {
        // A limit that is lower already stays.
        let most = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    thread::Builder::new().stack_size(64 << 10).spawn(|| {
        // Nothing more is written: a return means that the parent is gone or wants an end.
        let _ = io::stdin().lock().read(&mut [0]);
        let _ = kill_current_process_group(Signal::KILL);
    })?;
    Ok(line)
}

/// The part that [`program`] runs: confines itself, starts the program, and ends as it does.
pub(crate) fn command() -> Result<Reply, Failure> {
    let misused = || Failure::bad_input("`cenote limited` is started by other commands of cenote");
    let mut arguments = std::env::args_os().skip(2);
    let memory = arguments.next().and_then(|memory| memory.to_str()?.parse().ok());
    let (Some(memory), Some(program)) = (memory, arguments.next()) else { return Err(misused()) };
    confine(memory).map_err(|error| Failure::internal(format!("limits: {error}")))?;
    std::process::exit(status_of(program, arguments))
}

fn status_of(program: OsString, arguments: impl Iterator<Item = OsString>) -> i32 {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    match command.status() {
        Ok(status) => status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1),
        Err(error) if error.kind() == ErrorKind::NotFound => NOT_THERE,
        Err(_) => NO_START,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_ends_is_heard() {
        let end = run(shell("read x; echo got $x; exit 3"), b"this\n", Duration::from_secs(60));
        let Ok(End::Done(status, output)) = end else { panic!("{end:?}") };
        assert_eq!((status.code(), output), (Some(3), b"got this\n".to_vec()));
    }

    /// Of a process that would end only in minutes.
    fn gone(pid: &str) -> bool {
        let pid = Pid::from_raw(pid.trim().parse().expect("a number")).expect("positive");
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if rustix::process::test_kill_process(pid).is_err() {
                return true;
            }
            // A zombie is not gone until init has seen it.
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
            if stat.is_ok_and(|stat| stat.contains(") Z ")) {
                return true;
            }
            thread::sleep(TICK);
        }
        false
    }

    #[test]
    fn nothing_outlives_its_time_or_its_leader() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("pid");
        let start =
            |rest: &str| shell(&format!("sleep 300 & echo $! > {}; {rest}", file.display()));
        let late = run(start("wait"), b"", Duration::from_millis(500));
        assert!(matches!(late, Ok(End::Late)), "{late:?}");
        assert!(gone(&std::fs::read_to_string(&file).expect("written")));
        // The grandchild holds the pipe, which must not keep the command waiting.
        let done = run(start("exit 0"), b"", Duration::from_secs(100));
        assert!(matches!(done, Ok(End::Done(..))), "{done:?}");
        assert!(gone(&std::fs::read_to_string(&file).expect("written")));
    }
}
