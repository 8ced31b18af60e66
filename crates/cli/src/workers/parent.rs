//! The parent: starts two children, waits for their reports, leaves none behind.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use cenote_engine::Role;
use serde::Deserialize;

use super::{Report, RunSpec, Spec, Task};
use crate::exit::{Failure, Kind};
use crate::interrupt::Interrupt;

/// How long one child may go on after the other failed, or both after an interruption.
const GRACE: Duration = Duration::from_secs(5);
/// How often an interruption is looked for.
const TICK: Duration = Duration::from_millis(100);

/// The reports of both parties.
pub(crate) struct Both {
    pub(crate) garbler: Report,
    pub(crate) evaluator: Report,
}

/// A line of a child.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Listening(String),
    Report(Box<Report>),
    Failure(Failure),
}

/// Runs one child for each role; `spec` gives the work of a role, its `connect` is filled in here.
pub(crate) fn run_pair(
    spec: impl Fn(Role) -> Spec,
    interrupt: &Interrupt,
) -> Result<Both, Failure> {
    // The children end with the pipes to them; this process must live until they have.
    interrupt.on_signal(|| ());
    let (sender, lines) = channel();
    let mut pair = Pair { children: Vec::new(), lines, interrupt };
    pair.start(&spec(Role::Garbler), &sender)?;
    let address = match pair.next(None)? {
        (_, Line::Listening(address)) => address,
        (role, Line::Failure(failure)) => return Err(interrupt.or(failure.at(role.name()))),
        (_, Line::Report(_)) => return Err(Failure::internal("a child did not listen")),
    };
    pair.start(&Spec { connect: Some(address), ..spec(Role::Evaluator) }, &sender)?;
    drop(sender);
    pair.reports()
}

struct Pair<'i> {
    children: Vec<Running>,
    lines: Receiver<(Role, Line)>,
    interrupt: &'i Interrupt,
}

struct Running {
    process: Child,
    /// Open as long as the child shall work.
    stdin: Option<ChildStdin>,
}

impl Pair<'_> {
    fn start(&mut self, spec: &Spec, lines: &Sender<(Role, Line)>) -> Result<(), Failure> {
        let failed = |what: &str| Failure::internal(format!("starting a party: {what}"));
        let program = std::env::current_exe().map_err(|error| failed(&error.to_string()))?;
        let mut process = Command::new(program)
            .arg(crate::WORKER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|error| failed(&error.to_string()))?;
        let (stdin, stdout) = (process.stdin.take(), process.stdout.take());
        self.children.push(Running { process, stdin });
        let stdin = self.children.last_mut().and_then(|child| child.stdin.as_mut());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else { return Err(failed("no pipes")) };
        let mut text = serde_json::to_vec(spec).map_err(|error| failed(&error.to_string()))?;
        text.push(b'\n');
        stdin.write_all(&text).map_err(|error| failed(&error.to_string()))?;
        if let Task::Run(RunSpec { computation: Some(computation), .. }) = &spec.task {
            computation.hand_over(stdin).map_err(|error| failed(&error.to_string()))?;
        }
        let (role, lines) = (spec.role, lines.clone());
        thread::spawn(move || {
            let mut ended = false;
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let Ok(line) = serde_json::from_str::<Line>(&line) else { continue };
                ended |= !matches!(line, Line::Listening(_));
                let _ = lines.send((role, line));
            }
            if !ended {
                let failure = Failure::internal("the process ended without a report");
                let _ = lines.send((role, Line::Failure(failure)));
            }
        });
        Ok(())
    }

    /// The next line, until `deadline`; an interruption sets one.
    fn next(&mut self, mut deadline: Option<Instant>) -> Result<(Role, Line), Failure> {
        loop {
            match self.lines.recv_timeout(TICK) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.interrupt.or(Failure::internal("both processes are gone")));
                }
            }
            if self.interrupt.hit() && self.children.iter().any(|child| child.stdin.is_some()) {
                self.let_go();
                deadline = Some(Instant::now() + GRACE);
            }
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return Err(self.interrupt.or(Failure::internal("a process does not end")));
            }
        }
    }

    fn reports(&mut self) -> Result<Both, Failure> {
        let mut reports: [Option<Report>; 2] = [None, None];
        let mut failure: Option<Failure> = None;
        for _ in 0..2 {
            let deadline = failure.as_ref().map(|_| Instant::now() + GRACE);
            match self.next(deadline) {
                Ok((role, Line::Report(report))) => reports[role as usize] = Some(*report),
                Ok((role, Line::Failure(new))) => {
                    failure = Some(worse(failure, new.at(role.name())))
                }
                Ok((_, Line::Listening(_))) => {
                    failure = Some(Failure::internal("an unexpected line of a child"));
                }
                Err(late) => {
                    failure = Some(failure.unwrap_or(late));
                    break;
                }
            }
        }
        match (failure, reports) {
            (None, [Some(garbler), Some(evaluator)]) => Ok(Both { garbler, evaluator }),
            (failure, _) => {
                let none = || Failure::internal("a report is missing");
                Err(self.interrupt.or(failure.unwrap_or_else(none)))
            }
        }
    }

    /// Closes the pipes, which tells the children to end.
    fn let_go(&mut self) {
        self.children.iter_mut().for_each(|child| child.stdin = None);
    }
}

impl Drop for Pair<'_> {
    fn drop(&mut self) {
        self.let_go();
        let deadline = Instant::now() + GRACE;
        for child in &mut self.children {
            while let Ok(None) = child.process.try_wait() {
                if Instant::now() > deadline {
                    // Both fail only on a process that has ended.
                    let _ = child.process.kill();
                    let _ = child.process.wait();
                    break;
                }
                thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

/// Of two parties that failed, the one that tells the reason.
fn worse(one: Option<Failure>, two: Failure) -> Failure {
    let rank = |failure: &Failure| match failure.kind {
        Kind::PeerAborted => 0,
        Kind::Connection => 1,
        _ => 2,
    };
    match one {
        Some(one) if rank(&one) >= rank(&two) => one,
        _ => two,
    }
}
