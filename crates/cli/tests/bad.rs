//! What `cenote serve` does on a disk that is full or cannot be written, with ports that are taken and files that cannot be used, beside another
//! service, and with a peer that was told something else: an exit code, and what to do; or it goes on and says why no job runs.
//!
//! Full and read-only disks are file systems of the test's own, in a namespace (`unshare -Urm`). Where that is not permitted, these tests say so and pass,
//! but not where `CI` is set. One that becomes read-only while it is written needs a real root and a loop device, and is left out without them:
//! in a namespace the only way is to mount a file system again, which the kernel refuses (`EBUSY`) while files of it are open to be written.

mod common;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{LIMIT, Running, Said, run, start};
use rustix::fs::Access;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Whether Alice's number is less than Bob's.
const LESS: &str = "cenote 1
program less \"x < y\"
input x: garbler uint b32
input y: evaluator uint b32
{
  %2 = lt %0, %1
}
output z: both bool %2
";

fn free() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

/// Alice, who listens and garbles, and Bob, who calls her.
struct Owners {
    home: TempDir,
}

impl Owners {
    fn new() -> Owners {
        let owners = Owners { home: TempDir::new().expect("a directory") };
        let link = free();
        for (name, way) in [("alice", "--listen"), ("bob", "--connect")] {
            let (dir, api) = (owners.dir(name), free());
            let said = run(&format!("init {dir} --name {name} {way} {link} --api {api}"));
            assert_eq!(said.code, 0, "{said:?}");
            owners.change(name, |text| {
                text.replace("# small = 100000", "small = 2000")
                    .replace("# large = 500000", "large = 2000")
            });
        }
        for (name, peer) in [("alice", "bob"), ("bob", "alice")] {
            let line = format!("pair {} {}/identity.crt.pem", owners.dir(name), owners.dir(peer));
            assert_eq!(run(&line).code, 0);
        }
        fs::write(owners.home.path().join("less.cenote"), LESS).unwrap();
        fs::write(owners.at("bob", "data/y.csv"), "name,y\nfive,5\n").unwrap();
        fs::write(owners.at("alice", "data/x.csv"), "name,x\nthree,3\n").unwrap();
        owners
    }

    fn dir(&self, name: &str) -> String {
        self.home.path().join(name).display().to_string()
    }

    fn at(&self, name: &str, file: &str) -> PathBuf {
        self.home.path().join(name).join(file)
    }

    fn change(&self, name: &str, change: impl FnOnce(String) -> String) {
        let file = self.at(name, "cenote.toml");
        let text = fs::read_to_string(&file).unwrap();
        let changed = change(text.clone());
        assert_ne!(text, changed);
        fs::write(file, changed).unwrap();
    }

    /// An address of a configuration.
    fn address(&self, name: &str, section: &str) -> String {
        let text = fs::read_to_string(self.at(name, "cenote.toml")).unwrap();
        let (_, rest) = text.split_once(section).unwrap();
        rest.split_once("\nlisten = \"").unwrap().1.split_once('"').unwrap().0.to_owned()
    }

    fn serve(&self, name: &str) -> Running {
        start(&format!("serve {}", self.dir(name)))
    }

    /// A command to a service.
    fn ask(&self, name: &str, line: &str) -> Said {
        run(&format!("{line} --service {}", self.dir(name)))
    }

    #[track_caller]
    fn until(&self, name: &str, what: &str, is: impl Fn(&Value) -> bool) {
        let started = Instant::now();
        loop {
            let said = self.ask(name, "status");
            if said.code == 0 && is(&said.json) {
                return;
            }
            assert!(started.elapsed() < LIMIT, "{what}: {said:?}");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Both owners approve jobs of either, on the other's record.
    fn agree(&self) {
        let file = self.home.path().join("less.cenote");
        for (name, own) in [("alice", "x"), ("bob", "y")] {
            self.until(name, "it answers", |_| true);
            let table = self.at(name, &format!("data/{own}.csv"));
            for line in [
                format!("program register {} --name less", file.display()),
                format!("data bind {own} {}", table.display()),
                format!("approve less --jobs-of own --input {own}=submitter"),
                format!(
                    "approve less --jobs-of peer --input {own}=record:{own}:name=which:{own}={own}"
                ),
            ] {
                let said = self.ask(name, &line);
                assert_eq!(said.code, 0, "{said:?}");
            }
        }
    }

    fn compute(&self) -> Said {
        self.ask("alice", "job submit less --input x=3 --select which=five --wait")
    }
}

fn end(running: Running) -> Said {
    signal(running.child.id());
    running.end()
}

fn signal(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    // It may have ended.
    let _ = kill_process(pid, Signal::TERM);
}

fn is_ready(status: &Value) -> bool {
    status["lanes"].as_array().unwrap().iter().all(|lane| lane["state"] == "ready")
}

/// A shell in a namespace of its own, in which file systems may be mounted; none where that is not permitted.
fn namespace(flags: &str, script: &str, words: &[&str]) -> Option<Child> {
    let may = Command::new("unshare").args([flags, "true"]).stderr(Stdio::null()).status();
    let device = flags != "-m" || rustix::fs::access("/dev/loop-control", Access::WRITE_OK).is_ok();
    if !may.is_ok_and(|status| status.success()) || !device {
        let needs_root = flags == "-m";
        assert!(
            needs_root || std::env::var_os("CI").is_none(),
            "`unshare {flags}` is not permitted"
        );
        eprintln!("SKIPPED: `unshare {flags}`, or a loop device, is not permitted here");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args([flags, "sh", "-ec", script, "sh", env!("CARGO_BIN_EXE_cenote")]).args(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Some(command.spawn().expect("unshare"))
}

/// What a service that cannot start says, on a file system of its own.
fn refused_on(mount: &str) -> Option<Said> {
    let owners = Owners::new();
    let dir = owners.dir("alice");
    let source = owners.dir("source");
    fs::rename(&dir, &source).unwrap();
    fs::create_dir(&dir).unwrap();
    let script = format!("{mount}; exec \"$1\" --json serve \"$2\"");
    let output = namespace("-Urm", &script, &[&dir, &source])?.wait_with_output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(Said {
        code: output.status.code().unwrap_or(-1),
        json: serde_json::from_str(&stdout).unwrap_or_default(),
        stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

#[test]
fn a_service_does_not_start_on_a_disk_that_is_full_or_read_only() {
    let full = "mount -t tmpfs -o size=100k,mode=700 cenote \"$2\"; cp -a \"$3\"/. \"$2\"; \
                head -c 1M /dev/zero > \"$2\"/ballast 2> /dev/null || true";
    if let Some(said) = refused_on(full) {
        let error = said.error(8);
        assert!(error.contains("service.db") && error.contains("is the disk full"), "{error}");
    }
    let read_only = "mount --bind \"$3\" \"$2\"; mount -o remount,ro,bind \"$2\"";
    if let Some(said) = refused_on(read_only) {
        let error = said.error(8);
        assert!(error.contains("service.db") && error.contains("ead-only"), "{error}");
        assert!(error.contains("; "), "and what to do: {error}");
    }
}

/// A file system of the test's own: the namespace that it takes, how it is made and how it is mended.
struct Disk {
    unshare: &'static str,
    makes: &'static str,
    mends: &'static str,
}

/// In memory: it can be filled.
const MEMORY: Disk = Disk {
    unshare: "-Urm",
    makes: "mount -t tmpfs -o size=400m,mode=700 cenote \"$2\"",
    mends: "rm -f \"$2\"/ballast",
};
/// On a device that can fail. Only a real root may mount one.
const DEVICE: Disk = Disk {
    unshare: "-m",
    makes: "truncate -s 400M \"$4\".disk; mkfs.ext4 -q \"$4\".disk; mount -o loop \"$4\".disk \"$2\"; chmod 700 \"$2\"",
    mends: "umount \"$2\"; e2fsck -fp \"$4\".disk || true; mount -o loop \"$4\".disk \"$2\"",
};

/// Alice on a file system of her own, which ends with the shell; the shell mends it and starts her a second time.
struct Alone {
    shell: Child,
    pids: PathBuf,
}

impl Alone {
    fn start(owners: &Owners, disk: &Disk) -> Option<Alone> {
        let (dir, source, pids) = (owners.dir("alice"), owners.dir("source"), owners.dir("pids"));
        assert!(Command::new("cp").args(["-a", &dir, &source]).status().unwrap().success());
        let Disk { unshare, makes, mends } = disk;
        let script = format!(
            "exec >&2; {makes}; cp -a \"$3\"/. \"$2\"; sync -f \"$2\"
            \"$1\" serve \"$2\" & echo $! >> \"$4\"; wait $! || true
            {mends}
            \"$1\" serve \"$2\" & echo $! >> \"$4\"; wait $!"
        );
        let shell = namespace(unshare, &script, &[&dir, &source, &pids])?;
        Some(Alone { shell, pids: pids.into() })
    }

    /// The processes that were started so far.
    fn started(&self) -> Vec<u32> {
        let text = fs::read_to_string(&self.pids).unwrap_or_default();
        text.lines().map_while(|line| line.parse().ok()).collect()
    }

    /// The process that was started as this one.
    fn pid(&self, number: usize) -> u32 {
        let started = Instant::now();
        loop {
            if let Some(pid) = self.started().get(number) {
                return *pid;
            }
            assert!(started.elapsed() < LIMIT, "{number} services did not start");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The directory as it is in there.
    fn inside(&self, number: usize, dir: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{dir}", self.pid(number)))
    }
}

/// A test that fails leaves nothing that runs, and says what they said.
impl Drop for Alone {
    fn drop(&mut self) {
        if !thread::panicking() {
            return;
        }
        // They end when the shell has: nobody starts another one.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
        for pid in self.started() {
            let pid = Pid::from_raw(i32::try_from(pid).unwrap_or_default());
            let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
        }
        let mut said = String::new();
        let _ = self.shell.stderr.take().map(|mut pipe| pipe.read_to_string(&mut said));
        eprintln!("{said}");
    }
}

/// Takes all room that is left.
fn fill(dir: &Path) {
    let mut ballast = fs::File::create(dir.join("ballast")).unwrap();
    let mut piece = vec![0; 1 << 16];
    while !piece.is_empty() {
        if ballast.write_all(&piece).is_err() {
            piece.truncate(piece.len() / 2);
        }
    }
}

/// A program that begins a memory, and nothing else.
const BEGINS: &str = "cenote 3\nprogram begins \"\"\nmemory sums[3]: new uint b8\n{\n %1 = const 3xb8 all 0x10\n}\nkeep sums: %1\n";

/// A memory in the way of another of its name is ended by an owner, whichever, and is gone on both sides.
#[test]
fn a_memory_that_is_in_the_way_is_ended() {
    let owners = Owners::new();
    let services = ["alice", "bob"].map(|name| owners.serve(name));
    let file = owners.home.path().join("begins.cenote");
    fs::write(&file, BEGINS).unwrap();
    for name in ["alice", "bob"] {
        owners.until(name, "it answers", |_| true);
        for line in [
            format!("program register {} --name begins", file.display()),
            "approve begins --jobs-of both".to_owned(),
        ] {
            let said = owners.ask(name, &line);
            assert_eq!(said.code, 0, "{said:?}");
        }
    }
    let holds = |status: &Value| status["lanes"][1]["memories"][0]["name"] == "sums";
    for (name, other) in [("alice", "bob"), ("bob", "alice")] {
        owners.until(name, "both are ready", is_ready);
        let none = owners.ask(name, "memory end sums");
        assert!(none.error(2).contains("there is no memory `sums`"), "{none:?}");
        let begun = owners.ask(name, "job submit begins --wait");
        assert_eq!(begun.code, 0, "{begun:?}");
        let again = owners.ask(name, "job submit begins --wait");
        assert!(again.error(3).contains("there already"), "{again:?}");
        owners.until(name, "it is listed", holds);
        let ended = owners.ask(name, "memory end sums");
        assert_eq!((ended.code, holds(&ended.json)), (0, false), "{ended:?}");
        owners.until(other, "it is gone there as well", |status| !holds(status));
    }
    services.into_iter().for_each(|service| drop(end(service)));
}

/// What becomes of both services when the disk of one `breaks` while they run, of which it says `why`; and after it was mended.
fn a_disk_stops_jobs_and_nothing_else(disk: &Disk, breaks: impl FnOnce(&Alone, &str), why: &str) {
    let owners = Owners::new();
    let Some(mut alone) = Alone::start(&owners, disk) else { return };
    let bob = owners.serve("bob");
    owners.agree();
    owners.until("alice", "both are ready", is_ready);
    let done = owners.compute();
    assert_eq!(done.code, 0, "{done:?}");
    let dir = owners.dir("alice");
    breaks(&alone, &dir);
    let refused = owners.ask("alice", "job submit less --input x=3 --select which=five");
    let error = refused.error(5);
    assert!(error.contains(why) && error.contains("; look at the disk"), "{error}");
    // What the peer asks for is refused, not lost.
    let theirs = owners.ask("bob", "job submit less --input y=5 --select which=three --wait");
    let error = theirs.error(3);
    assert!(error.contains("the peer cannot take jobs now; submit it later"), "{error}");
    // It answers all the same.
    let status = owners.ask("alice", "status");
    assert_eq!((status.code, &status.json["peer"]["held"]), (0, &false.into()), "{status:?}");
    let shown = owners.ask("alice", &format!("job show {}", done.json["id"].as_str().unwrap()));
    if shown.code != 0 {
        // What is not known to be on the disk is not shown either.
        assert!(
            shown.error(5).contains("look at the disk and start the service again"),
            "{shown:?}"
        );
    }
    signal(alone.pid(0));
    alone.pid(1);
    owners.until("alice", "both are ready again", is_ready);
    let done = owners.compute();
    assert_eq!(done.code, 0, "{done:?}");
    let log = alone.inside(1, &dir);
    let verified = run(&format!("audit verify {}/audit.log", log.display()));
    assert_eq!(verified.code, 0, "{verified:?}");
    for dir in [log.display().to_string(), owners.dir("bob")] {
        let counted = run(&format!("audit journal {dir}"));
        assert_eq!(counted.code, 0, "no item left twice: {counted:?}");
    }
    signal(alone.pid(1));
    assert_eq!(alone.shell.wait().unwrap().code(), Some(0));
    assert_eq!(end(bob).code, 0);
}

#[test]
fn a_full_disk_stops_jobs_and_nothing_else_and_goes_on_after_a_restart() {
    a_disk_stops_jobs_and_nothing_else(&MEMORY, |alone, dir| fill(&alone.inside(0, dir)), "full");
}

/// The file system finds an error of its device and lets nothing be written any more, also to files that are open.
#[test]
fn a_disk_that_becomes_read_only_stops_jobs_and_nothing_else_and_goes_on_after_it_is_mended() {
    let fails = |alone: &Alone, dir: &str| {
        let mut command = Command::new("nsenter");
        command.args(["-m", "-t", &alone.pid(0).to_string()]);
        let status = command.args(["mount", "-o", "remount,abort", dir]).status();
        assert!(status.unwrap().success());
    };
    a_disk_stops_jobs_and_nothing_else(&DEVICE, fails, "disk I/O error");
}

#[test]
fn ports_that_are_taken_end_it_with_what_to_do() {
    let owners = Owners::new();
    for (section, code) in [("[api]", 5), ("[peer]", 8)] {
        let address = owners.address("alice", section);
        let taken = TcpListener::bind(&address).unwrap();
        let said = owners.serve("alice").end();
        let error = said.error(code);
        assert!(error.contains(&address) && error.contains("in use"), "{error}");
        assert!(error.contains("; choose another port") || error.contains("; end what"), "{error}");
        drop(taken);
    }
}

#[test]
fn a_second_service_in_a_directory_is_told_of_the_first() {
    let owners = Owners::new();
    let first = owners.serve("bob");
    owners.until("bob", "it answers", |_| true);
    // Which has the ports as well; that is not what it is told.
    let said = owners.serve("bob").end();
    let error = said.error(8);
    assert!(error.contains("another process") && error.contains("; end "), "{error}");
    assert_eq!(end(first).code, 0);
}

#[test]
fn what_a_running_service_stands_in_the_way_of_is_said() {
    let owners = Owners::new();
    let first = owners.serve("alice");
    owners.until("alice", "it answers", |_| true);
    let port = owners.address("alice", "[peer]");
    let said = run(&format!("pair {} --listen {port} --replace", owners.dir("alice")));
    assert!(said.error(5).contains("stop it, pair, and start it again"), "{said:?}");
    let job = owners.ask("alice", "job submit less --priority 101");
    assert!(job.error(2).starts_with("a priority is from -100 to 100"), "{job:?}");
    assert_eq!(end(first).code, 0);
}

#[test]
fn files_that_cannot_be_used_end_it_and_are_named() {
    let owners = Owners::new();
    let config = owners.at("alice", "cenote.toml");
    let good = fs::read_to_string(&config).unwrap();
    let role = "role = \"garbler\"";
    let listens = format!("\nlisten = \"{}\"\n", owners.address("alice", "[peer]"));
    for (from, to, named) in [
        ("[pool]\n", "[pool]\nlargest = 7\n", "largest"),
        (role, "role = \"judge\"", "judge"),
        ("[peer]\n", "[peer]\nconnect = \"127.0.0.1:1\"\n", "give `listen` or `connect`"),
        ("small = 2000", "small = \"many\"", "small"),
        (
            &listens,
            "\nlisten = \"nonsense\"\n",
            "[peer] listen = \"nonsense\": no address; write HOST:PORT",
        ),
        ("[pool]\n", "[pool\n", "line"),
        ("name = \"alice\"", "", "name"),
    ] {
        assert!(good.contains(from), "{from}");
        fs::write(&config, good.replace(from, to)).unwrap();
        let said = owners.serve("alice").end();
        let error = said.error(2);
        assert!(error.contains("cenote.toml") && error.contains(named), "{to}: {error}");
    }
    fs::write(&config, &good).unwrap();
    // Not the key of the certificate; not the owner's key of the log.
    let key = owners.at("alice", "identity.key.pem");
    let own = fs::read(&key).unwrap();
    fs::copy(owners.at("bob", "identity.key.pem"), &key).unwrap();
    assert!(owners.serve("alice").end().error(2).contains("identity"));
    fs::write(&key, own).unwrap();
    for name in ["alice", "bob"] {
        let service = owners.serve(name);
        owners.until(name, "it answers", |_| true);
        assert_eq!(end(service).code, 0);
    }
    // Nor is one made where its public half says that there was one.
    let key = owners.at("alice", "owner.key");
    fs::remove_file(&key).unwrap();
    let said = owners.serve("alice").end();
    assert!(said.error(8).contains("put owner.key back from the backup"), "{said:?}");
    assert!(!key.exists());
    fs::copy(owners.at("bob", "owner.key"), owners.at("alice", "owner.key")).unwrap();
    let said = owners.serve("alice").end();
    let error = said.error(8);
    assert!(error.contains("owner") && error.contains("; "), "{error}");
    // A log that somebody wrote into, and none at all where one was.
    let log = owners.at("bob", "audit.log");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replace("service.started", "service.startled")).unwrap();
    let said = owners.serve("bob").end();
    assert!(said.error(8).contains("audit.log:1: "), "{said:?}");
}

#[test]
fn settings_that_differ_are_said_once_on_each_side() {
    let owners = Owners::new();
    owners.change("bob", |text| text.replace("# small_ands = 20000", "small_ands = 10000"));
    let services = ["alice", "bob"].map(|name| owners.serve(name));
    for name in ["alice", "bob"] {
        owners.until(name, "both lanes have failed", |status| {
            status["lanes"].as_array().unwrap().iter().all(|lane| lane["state"] == "failed")
        });
    }
    thread::sleep(Duration::from_secs(10));
    for service in services {
        let said = end(service);
        let lines: Vec<&str> = said.stderr.lines().filter(|line| line.contains("ERROR")).collect();
        assert_eq!(lines.len(), 2, "one of each lane: {}", said.stderr);
        for line in lines {
            assert!(
                line.contains("small_ands") && line.contains("same number on both sides"),
                "{line}"
            );
        }
    }
}

/// What a script sees of two logs is the exit code.
#[test]
fn audit_logs_that_differ_are_a_finding() {
    use cenote_service::audit::{AuditLog, Entry, OwnerKey};
    let home = TempDir::new().unwrap();
    let note = |name: &str, jobs: &[(&str, &str)]| {
        let dir = home.path().join(name);
        fs::create_dir_all(&dir).unwrap();
        let key = OwnerKey::load_or_create(&dir.join("owner.key")).unwrap();
        let log = AuditLog::open(&dir.join("audit.log"), key.into()).unwrap();
        for (job, program) in jobs {
            let shared = [("program".to_owned(), (*program).into())].into_iter().collect();
            let (kind, own) = ("job.done".to_owned(), serde_json::Map::new());
            let job = Some((*job).to_owned());
            log.append(&Entry { kind, peer: None, job, shared: Some(shared), own }).unwrap();
        }
        dir.join("audit.log").display().to_string()
    };
    let [same, less, other] = [
        note("same", &[("2", "p"), ("1", "p")]),
        note("less", &[("1", "p")]),
        note("other", &[("1", "p"), ("2", "q")]),
    ];
    // The last to begin: what is in an earlier one alone may be of before that.
    let a = note("a", &[("1", "p"), ("2", "p")]);
    let said = run(&format!("audit diff {a} {same}"));
    assert_eq!((said.code, &said.json["agreed"]), (0, &2.into()), "{said:?}");
    for (log, expected) in [(less, true), (other, false)] {
        let said = run(&format!("audit diff {a} {log}"));
        assert_eq!((said.code, &said.json["equal"]), (3, &false.into()), "{said:?}");
        let text =
            String::from_utf8(common::cenote(["audit", "diff", &a, &log]).output().unwrap().stdout);
        assert_eq!(text.unwrap().contains("a service crashed"), expected);
    }
}

/// Once for each change, with the reason, and nothing of what was computed.
#[test]
fn the_log_says_who_is_there_which_lanes_are_ready_and_which_jobs_did_not_end_well() {
    let owners = Owners::new();
    let [alice, bob] = ["alice", "bob"].map(|name| owners.serve(name));
    owners.agree();
    let ready = |status: &Value| is_ready(status) && status["peer"]["connected"] == true;
    owners.until("alice", "both are ready", ready);
    assert_eq!(owners.compute().code, 0);
    let refused = "job submit less --input x=31415926 --select which=seven --wait";
    assert_eq!(owners.ask("alice", refused).code, 3);
    let jobs = owners.ask("alice", "job list").json;
    assert_eq!(end(bob).code, 0);
    let away = |status: &Value| status["peer"]["connected"] == false && !is_ready(status);
    owners.until("alice", "bob is away", away);
    thread::sleep(Duration::from_secs(8));
    let log = end(alice).stderr;
    assert!(!log.contains("31415926"), "{log}");
    let all = || log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let said = |message: &str| -> Vec<Value> {
        all().filter(|line| line["message"] == message && line["level"] == "INFO").collect()
    };
    let why = |line: &Value| line["why"].as_str().is_some_and(|why| !why.is_empty());
    let (here, gone) = (said("the peer is connected"), said("the peer is away"));
    assert_eq!((here.len(), gone.len()), (1, 1), "{log}");
    assert!(why(&gone[0]) && gone[0]["peer"] == "peer", "{log}");
    for lane in ["small", "large"] {
        let of = all().filter(|line| line["lane"] == lane);
        let words = of.filter_map(|line| {
            let message = line["message"].as_str()?.to_owned();
            assert!(message != "the lane is not ready" || why(&line), "{line}");
            message.starts_with("the lane is ").then_some(message)
        });
        let words: Vec<String> = words.collect();
        assert!(words.windows(2).all(|two| two[0] != two[1]), "{words:?}");
        assert_eq!(words.last().unwrap(), "the lane is not ready");
        assert!(words.contains(&"the lane is ready".to_owned()), "{words:?}");
    }
    let job = jobs.as_array().unwrap().iter().find(|job| job["state"] == "refused").unwrap();
    let refused = said("a job was refused");
    assert_eq!(refused.len(), 1, "{log}");
    assert_eq!((&refused[0]["job"], &refused[0]["why"]), (&job["id"], &job["reason"]));
}
