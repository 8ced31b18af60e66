//! The two server processes, as the demonstration holds them. None is left behind.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::lines::{Event, Order};
use crate::exit::{Failure, Kind};
use crate::interrupt::Interrupt;

/// How long a server may take to end before it is made to.
const GRACE: Duration = Duration::from_secs(4);
/// How often an interruption is looked for.
const TICK: Duration = Duration::from_millis(50);

/// Names of the servers, in the order of everything here that comes in pairs.
pub(crate) const NAMES: [&str; 2] = ["issuer A", "issuer B"];

/// Both servers, A first.
pub(crate) struct Servers<'i> {
    running: Vec<Running>,
    events: Receiver<(usize, Event)>,
    interrupt: &'i Interrupt,
}

struct Running {
    process: Child,
    /// Open as long as the server shall run.
    orders: Option<ChildStdin>,
}

impl Servers<'_> {
    /// Starts both processes.
    pub(crate) fn start(interrupt: &Interrupt) -> Result<Servers<'_>, Failure> {
        // They end with the pipes to them; this process must live until they have.
        interrupt.on_signal(|| ());
        let (sender, events) = channel();
        let mut servers = Servers { running: Vec::new(), events, interrupt };
        for server in 0..NAMES.len() {
            servers.spawn(server, &sender)?;
        }
        Ok(servers)
    }

    fn spawn(&mut self, server: usize, events: &Sender<(usize, Event)>) -> Result<(), Failure> {
        let failed = |error: std::io::Error| {
            Failure::internal(format!("starting {}: {error}", NAMES[server]))
        };
        let program = std::env::current_exe().map_err(failed)?;
        let mut process = Command::new(program)
            .arg(crate::DEMO_SERVER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(failed)?;
        let (orders, stdout) = (process.stdin.take(), process.stdout.take());
        self.running.push(Running { process, orders });
        let Some(stdout) = stdout else { return Err(failed(std::io::Error::other("no pipe"))) };
        let events = events.clone();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap_or_else(|error| {
                    Event::Failed(Failure::internal(format!("a line of a server: {error}")))
                });
                if events.send((server, event)).is_err() {
                    return;
                }
            }
            let gone = Failure::internal("the server process ended");
            let _ = events.send((server, Event::Failed(gone)));
        });
        Ok(())
    }

    /// Process numbers.
    pub(crate) fn ids(&self) -> Vec<u32> {
        self.running.iter().map(|running| running.process.id()).collect()
    }

    /// Gives each server an order and waits for what both say to it, whatever that is.
    pub(crate) fn outcomes(&mut self, orders: [Order; 2]) -> Result<[Event; 2], Failure> {
        for (server, order) in orders.iter().enumerate() {
            self.send(server, order)?;
        }
        let mut heard = [None, None];
        while heard.iter().any(Option::is_none) {
            let (server, event) = self.next()?;
            heard[server] = Some(event);
        }
        let [Some(a), Some(b)] = heard else {
            return Err(Failure::internal("a server said nothing"));
        };
        Ok([a, b])
    }

    /// As [`Self::outcomes`], for orders that must not fail.
    pub(crate) fn send_both(&mut self, orders: [Order; 2]) -> Result<[Event; 2], Failure> {
        let events = self.outcomes(orders)?;
        let mut worst: Option<Failure> = None;
        for (event, name) in events.iter().zip(NAMES) {
            let Event::Failed(failure) = event else { continue };
            let rank = |failure: &Failure| match failure.kind {
                Kind::PeerAborted => 0,
                Kind::Connection => 1,
                _ => 2,
            };
            // Of two that failed, the one that tells the reason.
            if worst.as_ref().is_none_or(|worst| rank(worst) < rank(failure)) {
                worst = Some(failure.clone().at(name));
            }
        }
        worst.map_or(Ok(events), Err)
    }

    fn send(&mut self, server: usize, order: &Order) -> Result<(), Failure> {
        let failed = |error: String| Failure::internal(format!("{}: {error}", NAMES[server]));
        let mut line = serde_json::to_vec(order).map_err(|error| failed(error.to_string()))?;
        line.push(b'\n');
        let pipe = self.running.get_mut(server).and_then(|running| running.orders.as_mut());
        let pipe = pipe.ok_or_else(|| failed("is not running".into()))?;
        let written = pipe.write_all(&line).and_then(|()| pipe.flush());
        written.map_err(|error| self.interrupt.or(failed(error.to_string())))
    }

    fn next(&mut self) -> Result<(usize, Event), Failure> {
        loop {
            if self.interrupt.hit() {
                return Err(Failure::interrupted());
            }
            match self.events.recv_timeout(TICK) {
                Ok(event) => return Ok(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.interrupt.or(Failure::internal("both servers are gone")));
                }
            }
        }
    }
}

impl Drop for Servers<'_> {
    fn drop(&mut self) {
        // A closed pipe tells a server to end.
        self.running.iter_mut().for_each(|running| running.orders = None);
        let deadline = Instant::now() + GRACE;
        for running in &mut self.running {
            while let Ok(None) = running.process.try_wait() {
                if Instant::now() > deadline {
                    // Both fail only on a process that has ended.
                    let _ = running.process.kill();
                    let _ = running.process.wait();
                    break;
                }
                thread::sleep(Duration::from_millis(2));
            }
        }
    }
}
