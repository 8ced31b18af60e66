//! `cenote pool` and `party --store`: items that outlive the process that made them.

mod common;

use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{ADDER, Said, parties, run, start, write};
use tempfile::TempDir;

struct Owners {
    dir: TempDir,
    file: String,
}

impl Owners {
    fn new() -> Owners {
        let dir = TempDir::new().expect("a directory");
        let file = write(dir.path(), "adder.txt", ADDER).display().to_string();
        let owners = Owners { dir, file };
        for side in ["a", "b", "c"] {
            run(&format!("init {}.id --name {side}", owners.at(side)));
        }
        for (side, peer) in [("a", "b"), ("b", "a"), ("c", "a")] {
            run(&format!("pair {}.id {}.id/identity.crt.pem", owners.at(side), owners.at(peer)));
        }
        owners
    }

    fn at(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    fn store(&self, side: &str) -> String {
        format!("--identity {0}.id --store {0} --store-key {0}.key", self.at(side))
    }

    fn fill_line(&self, side: &str, ands: u32) -> String {
        let store = format!("{0} --store-key {0}.key --identity {0}.id", self.at(side));
        format!("pool fill {store} --pool 1100 --wait 3 --ands {ands}")
    }

    /// Both sides fill their stores; the garbler's is `a`.
    fn fill(&self, ands: u32) -> [Said; 2] {
        let garbler = self.fill_line("a", ands);
        let mut garbler = start(&format!("{garbler} --role garbler --listen 127.0.0.1:0"));
        let address = garbler.address();
        let evaluator = self.fill_line("b", ands);
        let evaluator = run(&format!("{evaluator} --role evaluator --connect {address}"));
        [garbler.end(), evaluator]
    }

    fn compute(&self) -> [Said; 2] {
        let line = format!("{} --pool 1100", self.file);
        let (garbler, evaluator) = parties(
            &format!("{line} --input 3 {}", self.store("a")),
            &format!("{line} --input 1 {}", self.store("b")),
        );
        [garbler, evaluator]
    }

    fn pool(&self, what: &str, side: &str) -> Said {
        run(&format!("pool {what} {0} --store-key {0}.key", self.at(side)))
    }

    fn ready(&self, side: &str) -> Option<u64> {
        self.pool("show", side).json["ready"]["stock.triple"].as_u64()
    }
}

#[test]
fn what_was_filled_serves_programs_until_it_is_ended() {
    let owners = Owners::new();
    for side in owners.fill(3000) {
        assert_eq!((side.code, &side.json["pools"]), (0, &1.into()), "{side:?}");
        assert!(side.json["ready"]["stock.triple"].as_u64().is_some_and(|ready| ready >= 3000));
    }
    let before = owners.ready("a");
    for used in [3, 6] {
        for side in owners.compute() {
            assert_eq!(side.outputs(), [Some("4"), Some("1")]);
            assert_eq!(side.json["kappa"], 112);
            // No pool is filled, nothing is made.
            assert!(side.json["cost"]["bytes_sent"].as_u64().is_some_and(|bytes| bytes < 250_000));
        }
        assert_eq!(owners.ready("a").map(|ready| ready + used), before);
        assert_eq!(owners.ready("a"), owners.ready("b"));
    }
    let ended = owners.pool("end", "a");
    assert_eq!((ended.code, &ended.json["epoch"]), (0, &serde_json::Value::Null));
    // The other side's ends when they meet.
    for side in owners.compute() {
        assert_eq!(side.outputs(), [Some("4"), Some("1")]);
    }
    let shown = ["a", "b"].map(|side| owners.pool("show", side).json);
    assert_eq!((&shown[0]["epoch"], &shown[1]["epochs"]), (&shown[1]["epoch"], &2.into()));
}

/// The same with the other backend, and what a store says of it.
#[test]
fn jimu_keeps_its_items_too() {
    let owners = Owners::new();
    let jimu = |line: String| line.replace("--pool 1100", "--backend jimu --pool 400");
    let mut garbler =
        start(&format!("{} --role garbler --listen 127.0.0.1:0", jimu(owners.fill_line("a", 200))));
    let connect = format!("--role evaluator --connect {}", garbler.address());
    let filled = run(&format!("{} {connect}", jimu(owners.fill_line("b", 200))));
    for side in [garbler.end(), filled] {
        assert_eq!((side.code, &side.json["pools"]), (0, &1.into()), "{side:?}");
        assert_eq!((&side.json["backend"], &side.json["kappa"]), (&"jimu".into(), &112.into()));
        assert_eq!(side.json["ready"]["pool.and"], 400);
    }
    let ready = |side| owners.pool("show", side).json["ready"].clone();
    let before = ready("a");
    let line = jimu(format!("{} --pool 1100", owners.file));
    let [a, b] = ["a", "b"].map(|side| format!("{line} --input 1 {}", owners.store(side)));
    let (garbler, evaluator) = parties(&a, &b);
    for side in [garbler, evaluator] {
        assert_eq!(side.outputs()[0], Some("2"), "{side:?}");
    }
    assert_eq!(ready("a"), ready("b"));
    let ands = |ready: &serde_json::Value| ready["stock.and"].as_u64().expect("a number");
    assert_eq!(ands(&ready("a")) + 3, ands(&before));
    // The store of one backend is none of the other's.
    let wrk = format!("{} --pool 1100 --input 1", owners.file);
    let [a, b] = ["a", "b"].map(|side| format!("{wrk} {}", owners.store(side)));
    let (garbler, evaluator) = parties(&a, &b);
    assert!(garbler.code != 0 && evaluator.code != 0);
    assert!([garbler, evaluator].iter().any(|side| side.stderr.contains("by another backend")));
    assert_eq!(ready("a"), ready("b"));
}

/// Killed at any moment, nothing is lost for good.
#[test]
fn killed_processes_go_on_with_what_was_kept() {
    let owners = Owners::new();
    owners.fill(3000);
    for milliseconds in [1, 5, 20, 60, 120, 250] {
        let garbler = owners.fill_line("a", 60_000);
        let mut garbler = start(&format!("{garbler} --role garbler --listen 127.0.0.1:0"));
        let address = garbler.address();
        let evaluator = owners.fill_line("b", 60_000);
        let mut evaluator = start(&format!("{evaluator} --role evaluator --connect {address}"));
        thread::sleep(Duration::from_millis(milliseconds));
        let killed = if milliseconds % 2 == 0 { &mut garbler } else { &mut evaluator };
        killed.child.kill().expect("it runs, or has ended");
        garbler.end();
        evaluator.end();
        for side in owners.compute() {
            assert_eq!(side.outputs(), [Some("4"), Some("1")], "after {milliseconds} ms");
        }
        assert_eq!(owners.ready("a"), owners.ready("b"));
    }
    assert_eq!(owners.pool("show", "a").json["held"], false);
}

#[test]
fn stores_that_cannot_be_used_say_why() {
    let owners = Owners::new();
    let nothing = owners.pool("show", "a");
    assert!(nothing.error(2).contains("nothing is kept there"));
    let yao = owners.fill_line("a", 10) + " --backend yao --role garbler --listen 127.0.0.1:0";
    let yao = run(&yao.replace("--pool 1100", ""));
    assert!(yao.error(2).contains("yao keeps no items; use wrk or jimu"), "{yao:?}");
    owners.fill(1000);
    let at = owners.at("a");
    // Another key; two processes; a copy; a key of nothing.
    let other = run(&format!("pool show {at} --store-key {}.key", owners.at("b")));
    assert!(other.error(8).contains("key"), "{other:?}");
    let line = owners.fill_line("a", 10);
    let mut waiting = start(&format!("{line} --role garbler --listen 127.0.0.1:0"));
    waiting.address();
    // It opens its store once it listens.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let mut tries = std::iter::repeat_with(|| {
        thread::sleep(Duration::from_millis(50));
        owners.pool("show", "a")
    });
    let busy = tries.find(|said| said.code != 0 || std::time::Instant::now() > end);
    let busy = busy.filter(|said| said.code != 0);
    let busy = busy.expect("it has the store by now");
    assert!(busy.error(8).contains("another process"), "{busy:?}");
    waiting.child.kill().expect("it waits");
    waiting.end();
    let copied = Command::new("cp").args(["-r", &at, &owners.at("c")]).status().expect("cp");
    assert!(copied.success());
    std::fs::copy(format!("{at}.key"), owners.at("c.key")).expect("a key");
    let copy = owners.pool("show", "c");
    assert_eq!((copy.code, &copy.json["epoch"]), (0, &serde_json::Value::Null), "{copy:?}");
    assert!(copy.stderr.contains("a copy, or a backup"), "{copy:?}");
    std::fs::remove_file(format!("{at}.key")).expect("it is there");
    assert_eq!(owners.pool("show", "a").code, 8);
    assert!(!Path::new(&format!("{at}.key")).exists(), "a lost key is not made anew");
    // One side with a store meets one without.
    let line = format!("{} --pool 1100 --input 1", owners.file);
    let without = format!("{line} --identity {at}.id");
    let (garbler, evaluator) = parties(&without, &format!("{line} {}", owners.store("b")));
    for side in [garbler, evaluator] {
        assert!(side.error(3).contains("give both sides a store, or neither"), "{side:?}");
    }
    // Whoever is on a line without TLS may be anybody.
    let plain = line_without_identity(&owners.fill_line("b", 10));
    let said = run(&format!("{plain} --insecure-plaintext --role evaluator --connect 127.0.0.1:1"));
    assert!(said.error(2).contains("a peer that is known"), "{said:?}");
}

fn line_without_identity(line: &str) -> String {
    let mut words = line.split(' ').collect::<Vec<_>>();
    let at = words.iter().position(|word| *word == "--identity").expect("it has one");
    words.drain(at..at + 2);
    words.join(" ")
}

/// What is kept with one peer is not spent on another.
#[test]
fn a_store_is_of_one_peer_and_role() {
    let owners = Owners::new();
    owners.fill(1000);
    let ready = owners.ready("a");
    // A copy has no items, but is a store.
    let copied = Command::new("cp").args(["-r", &owners.at("b"), &owners.at("c")]).status();
    assert!(copied.expect("cp").success());
    std::fs::copy(owners.at("b.key"), owners.at("c.key")).expect("a key");
    // The store of the garbler with the other owner, whom `a` takes for once.
    let peer = format!("--peer-cert {}.id/identity.crt.pem", owners.at("c"));
    let line = format!("{} --pool 1100 --input 1", owners.file);
    let (garbler, evaluator) = parties(
        &format!("{line} {} {peer}", owners.store("a")),
        &format!("{line} {}", owners.store("c")),
    );
    assert!(garbler.error(3).contains("another peer's"), "{garbler:?}");
    assert!(evaluator.code == 6 || evaluator.code == 5, "{evaluator:?}");
    assert_eq!(owners.ready("a"), ready);
}

impl Owners {
    /// A file with a passphrase, for its owner alone.
    fn secret(&self, name: &str, text: &str) -> String {
        let file = write(self.dir.path(), name, text);
        fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("changed");
        file.display().to_string()
    }

    /// What the command says at a terminal where these lines are typed, each at a prompt; and its exit code.
    fn at_a_terminal(&self, line: &str, typed: &[&str]) -> (String, i32) {
        let command = format!("{} {line}", env!("CARGO_BIN_EXE_cenote"));
        let mut script = Command::new("script");
        script.args(["-qefc", &command, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = script.spawn().expect("script, of bsdutils");
        let mut keys = child.stdin.take().expect("a pipe");
        let mut screen = child.stdout.take().expect("a pipe");
        let (mut shown, mut byte) = (Vec::new(), [0]);
        for text in typed {
            // Nothing is typed before it is asked for.
            while !shown.ends_with(b": ") && screen.read(&mut byte).expect("a pipe") > 0 {
                shown.push(byte[0]);
            }
            shown.push(b'|');
            writeln!(keys, "{text}").expect("it reads");
        }
        screen.read_to_end(&mut shown).expect("a pipe");
        let code = child.wait().expect("it ends").code().unwrap_or(-1);
        (String::from_utf8_lossy(&shown).into_owned(), code)
    }
}

#[test]
fn a_passphrase_opens_a_store_from_a_file_a_descriptor_and_the_terminal() {
    let owners = Owners::new();
    let secret = owners.secret("secret", "correct horse\n");
    let with = |line: &str| line.replace(&format!("--store-key {}.key", owners.at("a")), "");
    let line = with(&owners.fill_line("a", 1000));
    let passphrase = format!("--store-passphrase-file {secret}");
    let mut garbler = start(&format!("{line} {passphrase} --role garbler --listen 127.0.0.1:0"));
    let address = garbler.address();
    let evaluator = owners.fill_line("b", 1000);
    run(&format!("{evaluator} --role evaluator --connect {address}"));
    let filled = garbler.end();
    assert_eq!(filled.code, 0, "{filled:?}");
    assert!(filled.stderr.contains("under the passphrase"), "{filled:?}");
    let at = owners.at("a");
    assert!(!Path::new(&format!("{at}.key")).exists());
    // The same in other ways: an end of line more or less, an open descriptor.
    let bare = owners.secret("bare", "correct horse");
    let shown = run(&format!("pool show {at} --store-passphrase-file {bare}"));
    assert!(shown.json["ready"]["stock.triple"].as_u64().is_some_and(|ready| ready >= 1000));
    let script = format!(
        "exec {} --json pool show {at} --store-passphrase-file /dev/fd/3 3< {secret}",
        env!("CARGO_BIN_EXE_cenote")
    );
    let output = Command::new("sh").args(["-c", &script]).output().expect("sh");
    assert_eq!(output.stdout, shown.stdout.as_bytes(), "{output:?}");
    let line = format!("{} --pool 1100", owners.file);
    let store = format!("--identity {at}.id --store {at} {passphrase}");
    let (garbler, evaluator) = parties(
        &format!("{line} --input 3 {store}"),
        &format!("{line} --input 1 {}", owners.store("b")),
    );
    assert_eq!((garbler.outputs(), evaluator.code), (vec![Some("4"), Some("1")], 0));
    // On a terminal, where nobody sees it.
    let show = format!("pool show {at} --store-passphrase");
    let (screen, code) = owners.at_a_terminal(&show, &["correct horse"]);
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("of stock.triple") && !screen.contains("horse"), "{screen}");
    let (screen, code) = owners.at_a_terminal(&show, &["correct house"]);
    assert!(code == 8 && screen.contains("does not open"), "{screen}");
    // Who thinks better of it has the terminal as it was.
    let (screen, _) = owners.at_a_terminal(&format!("{show}; echo ended $?; stty -a"), &["\u{3}"]);
    assert!(screen.contains("ended 130"), "{screen}");
    assert!([" echo ", " icanon ", "isig "].iter().all(|mode| screen.contains(mode)), "{screen}");
    // A new store asks twice.
    let new = format!(
        "{} --store-passphrase --role garbler --listen 127.0.0.1:0",
        owners.fill_line("c", 9)
    );
    let new = new.replace(&format!("--store-key {}.key", owners.at("c")), "");
    let (screen, code) = owners.at_a_terminal(&new, &["one", "another"]);
    assert!(code == 2 && screen.contains("differ; nothing was made"), "{screen}");
    assert!(!Path::new(&owners.at("c")).exists());
}

#[test]
fn what_is_no_passphrase_of_a_store_is_refused() {
    let owners = Owners::new();
    owners.fill(1000);
    let at = owners.at("a");
    let show = |options: &str| run(&format!("pool show {at} {options}"));
    let secret = owners.secret("secret", "x\n");
    // The store has a key file.
    let other = show(&format!("--store-passphrase-file {secret}"));
    assert!(other.error(8).contains("key file or passphrase that it was made with"), "{other:?}");
    fs::set_permissions(&secret, Permissions::from_mode(0o640)).expect("changed");
    let open = show(&format!("--store-passphrase-file {secret}"));
    assert!(open.error(8).contains("others may read it"), "{open:?}");
    for text in ["\n".to_owned(), "x".repeat(1025)] {
        let odd = owners.secret("odd", &text);
        let odd = show(&format!("--store-passphrase-file {odd}"));
        assert!(odd.error(8).contains("empty, or longer"), "{odd:?}");
    }
    assert_eq!(show("").code, 2, "none of them");
    assert_eq!(show(&format!("--store-key {at}.key --store-passphrase")).code, 2, "two of them");
    let party = format!("party --role garbler --listen 127.0.0.1:0 --identity {at}.id --input 3");
    for half in [format!("--store {at}"), format!("--store-key {at}.key")] {
        assert_eq!(run(&format!("{party} {half} {}", owners.file)).code, 2, "{half}");
    }
    // `script` runs a command at a terminal; without one nobody can be asked.
    let command =
        format!("{} --json pool show {at} --store-passphrase", env!("CARGO_BIN_EXE_cenote"));
    let alone = Command::new("setsid").args(["-w", "sh", "-c", &command]).output().expect("setsid");
    assert_eq!(alone.status.code(), Some(2), "{alone:?}");
    assert!(
        String::from_utf8_lossy(&alone.stdout).contains("--store-passphrase-file"),
        "{alone:?}"
    );
}
