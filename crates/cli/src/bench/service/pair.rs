//! Two services on this machine, as processes of their own, whose owners have agreed on two programs.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cenote_engine::SessionConfig;
use cenote_net::{CERTIFICATE_FILE, Identity};
use cenote_program::{Module, library};
use cenote_service::api::{Role, Tokens};
use cenote_service::config::{CONFIG_FILE, DATA_DIRECTORY, TOKEN_FILE};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::exit::Failure;
use crate::identity::PEER_FILE;
use crate::service::client::{Client, ServiceArgs};

/// Whether the garbler's number is less than the evaluator's.
const LESS: &str = "cenote 1
program less \"x < y\"
input x: garbler uint b32
input y: evaluator uint b32
{
  %2 = lt %0, %1
}
output z: both bool %2
";
/// Numbers of the evaluator's table.
pub(super) const ROWS: u32 = 10;
/// How long a service may take to start or end.
const LONG: Duration = Duration::from_secs(120);
const TICK: Duration = Duration::from_millis(20);

/// What the services keep ready.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) backend: SessionConfig,
    pub(super) small: u64,
    pub(super) large: u64,
    /// Numbers that a large job sorts.
    pub(super) sorted: u32,
}

/// The two; they end with the value.
pub(super) struct Pair {
    dir: TempDir,
    sizes: Sizes,
    running: [Option<Child>; 2],
}

impl Pair {
    /// Directories of two services that know each other; none runs.
    pub(super) fn prepare(sizes: Sizes) -> Result<Pair, Failure> {
        let dir = TempDir::with_prefix("cenote-bench-").map_err(|error| unwritten(&error))?;
        let pair = Pair { dir, sizes, running: [None, None] };
        let peer = free_port()?;
        let identities = [Identity::generate("a")?, Identity::generate("b")?];
        for (side, identity) in identities.iter().enumerate() {
            let dir = pair.dir(side);
            identity.save(&dir)?;
            let other = identities[1 - side].certificate().to_pem();
            let (role, way) = [("garbler", "listen"), ("evaluator", "connect")][side];
            let api = free_port()?;
            let Sizes { backend, small, large, .. } = sizes;
            let config = format!(
                "name = \"side {side}\"\n[peer]\nname = \"other\"\nrole = \"{role}\"\n{way} = \"127.0.0.1:{peer}\"\n\
                 [api]\nlisten = \"127.0.0.1:{api}\"\n[pool]\nbackend = \"{backend}\"\nsmall = {small}\nlarge = {large}\n"
            );
            let token = Tokens::add(&dir.join("tokens.toml"), "owner", &Role::ALL)?;
            private(&dir.join(TOKEN_FILE), &token)?;
            let written = [(CONFIG_FILE, &config), (PEER_FILE, &other)];
            for (name, text) in written {
                std::fs::write(dir.join(name), text).map_err(|error| unwritten(&error))?;
            }
        }
        debug_assert!(pair.dir(0).join(CERTIFICATE_FILE).exists());
        Ok(pair)
    }

    pub(super) fn dir(&self, side: usize) -> PathBuf {
        self.dir.path().join(["a", "b"][side])
    }

    /// Starts one side; it looks for the other from then on.
    pub(super) fn start(&mut self, side: usize) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::internal(format!("a service: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.dir(side).join("log.jsonl"))
            .map_err(failed)?;
        let mut command = Command::new(program);
        command.arg("serve").arg(self.dir(side)).args(["--log-level", "info"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        self.running[side] = Some(child.map_err(failed)?);
        Ok(())
    }

    /// Ends one side as a loss of power does to a process.
    pub(super) fn kill(&mut self, side: usize) {
        if let Some(mut child) = self.running[side].take() {
            // It may have ended by itself, which whoever waits for it will see.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Ends one side in order.
    pub(super) fn stop(&mut self, side: usize) -> Result<(), Failure> {
        let Some(mut child) = self.running[side].take() else { return Ok(()) };
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            kill_process(pid, Signal::TERM)
                .map_err(|error| Failure::internal(format!("a signal: {error}")))?;
        }
        let status = child.wait().map_err(|error| Failure::internal(error.to_string()))?;
        match status.success() {
            true => Ok(()),
            false => Err(self.wrong(side, &format!("it ended with {status}"))),
        }
    }

    /// The API of one side.
    pub(super) fn client(&self, side: usize) -> Result<Client, Failure> {
        let (service, url) = (self.dir(side), None);
        Client::new(&ServiceArgs { service, url, token_file: None, ca: None })
    }

    /// Waits until jobs would run on both.
    pub(super) fn ready(&mut self) -> Result<Duration, Failure> {
        let begun = Instant::now();
        for side in 0..2 {
            let client = self.client(side)?;
            loop {
                let status = client.get("/v1/status", &[]);
                let lanes = status.as_ref().ok().and_then(|status| status["lanes"].as_array());
                if lanes.is_some_and(|lanes| lanes.iter().all(|lane| lane["state"] == "ready")) {
                    break;
                }
                self.alive(side)?;
                if begun.elapsed() > LONG {
                    let what = status.map_or_else(|failure| failure.message, |at| at.to_string());
                    return Err(self.wrong(side, &format!("it does not become ready: {what}")));
                }
                std::thread::sleep(TICK);
            }
        }
        Ok(begun.elapsed())
    }

    /// That a side runs which was started.
    pub(super) fn alive(&mut self, side: usize) -> Result<(), Failure> {
        let ended = self.running[side].as_mut().and_then(|child| child.try_wait().ok().flatten());
        match ended {
            None => Ok(()),
            Some(status) => Err(self.wrong(side, &format!("it ended with {status}"))),
        }
    }

    /// A failure of one side, with the end of its log.
    pub(super) fn wrong(&self, side: usize, what: &str) -> Failure {
        let log = std::fs::read_to_string(self.dir(side).join("log.jsonl")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(5).collect();
        let lines: Vec<&str> = lines.into_iter().rev().collect();
        Failure::internal(format!(
            "service {side}: {what}; its log ends with:\n{}",
            lines.join("\n")
        ))
    }

    /// Has both owners agree on the small and the large program, for jobs of the first with data of the second.
    pub(super) fn agree(&self) -> Result<(), Failure> {
        let broken = |error: &dyn std::fmt::Display| Failure::internal(error.to_string());
        let less = Module::parse_text(LESS).map_err(|error| broken(&error))?;
        let sort = library::sort(self.sizes.sorted, 32).map_err(|error| broken(&error))?;
        let data = self.dir(1).join(DATA_DIRECTORY);
        std::fs::create_dir_all(&data).map_err(|error| unwritten(&error))?;
        let rows = |n: u32| (0..n).map(|i| format!("{i},{i}\n")).collect::<String>();
        for (name, n) in [("few", ROWS), ("many", self.sizes.sorted / 2)] {
            let text = format!("name,y\n{}", rows(n));
            std::fs::write(data.join(format!("{name}.csv")), text)
                .map_err(|error| unwritten(&error))?;
            let body = json!({ "name": name, "path": format!("data/{name}.csv") });
            self.client(1)?.post("/v1/datasets", &body)?;
        }
        let columns = json!({ "y": "y" });
        let record = json!({
            "from": "record", "dataset": "few", "key": "name", "parameter": "which", "columns": columns
        });
        let table = json!({ "from": "table", "dataset": "many", "columns": columns });
        for (name, module, source) in [("less", &less, record), ("sort", &sort, table)] {
            for side in 0..2 {
                let client = self.client(side)?;
                client.post_bytes("/v1/programs", &[("name", name)], &module.to_bytes())?;
                let (whose, inputs) = match side {
                    0 => ("own", json!({ "x": { "from": "submitter" } })),
                    _ => ("peer", json!({ "y": source })),
                };
                let terms =
                    json!({ "program": name, "peer": "", "submitters": whose, "inputs": inputs });
                client.post("/v1/approvals", &terms)?;
            }
        }
        Ok(())
    }

    /// Has both agree on small jobs of the second as well, with data of the first.
    pub(super) fn agree_back(&self) -> Result<(), Failure> {
        let data = self.dir(0).join(DATA_DIRECTORY);
        std::fs::create_dir_all(&data).map_err(|error| unwritten(&error))?;
        let rows: String = (0..ROWS).map(|i| format!("{i},{i}\n")).collect();
        std::fs::write(data.join("few.csv"), format!("name,x\n{rows}"))
            .map_err(|error| unwritten(&error))?;
        self.client(0)?.post("/v1/datasets", &json!({ "name": "few", "path": "data/few.csv" }))?;
        let record = json!({
            "from": "record", "dataset": "few", "key": "name", "parameter": "which", "columns": { "x": "x" }
        });
        let own = json!({ "from": "submitter" });
        for (side, whose, inputs) in
            [(0, "peer", json!({ "x": record })), (1, "own", json!({ "y": own }))]
        {
            let terms =
                json!({ "program": "less", "peer": "", "submitters": whose, "inputs": inputs });
            self.client(side)?.post("/v1/approvals", &terms)?;
        }
        Ok(())
    }

    /// Bytes of memory that a side has in use.
    pub(super) fn resident(&self, side: usize) -> u64 {
        let Some(child) = &self.running[side] else { return 0 };
        let text = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        let text = text.unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
        number.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or_default() * 1024
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        (0..2).for_each(|side| self.kill(side));
    }
}

/// A small job, and what its result is.
pub(super) fn small_job(x: u32, which: u32) -> (Value, bool) {
    let job = json!({
        "program": "less", "inputs": { "x": x }, "select": { "which": which.to_string() },
    });
    (job, x < which)
}

/// A small job of the second side's, and what its result is.
pub(super) fn small_job_back(y: u32, which: u32) -> (Value, bool) {
    let job = json!({
        "program": "less", "inputs": { "y": y }, "select": { "which": which.to_string() },
    });
    (job, which < y)
}

/// A large job, and what its result is.
pub(super) fn large_job(sizes: Sizes) -> (Value, Vec<u32>) {
    let own: Vec<u32> = (0..sizes.sorted.div_ceil(2)).map(|i| i * 3).collect();
    let mut all: Vec<u32> = own.iter().copied().chain(0..sizes.sorted / 2).collect();
    all.sort_unstable();
    (json!({ "program": "sort", "inputs": { "x": own } }), all)
}

fn private(path: &Path, text: &str) -> Result<(), Failure> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| unwritten(&error))
}

fn free_port() -> Result<u16, Failure> {
    let bound = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    Ok(bound.map_err(|error| Failure::internal(format!("a port: {error}")))?.port())
}

fn unwritten(error: &std::io::Error) -> Failure {
    Failure::internal(format!("a file for a service: {error}"))
}
