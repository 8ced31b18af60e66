//! `cenote doctor` on real directories: a healthy one, one for each fault, and a service that runs.

mod common;

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use common::{LIMIT, Said, cenote, run, start};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A certificate of 2020.
const ENDED: &str = "\
-----BEGIN CERTIFICATE-----
MIIBCTCBr6ADAgECAgEHMAoGCCqGSM49BAMCMA4xDDAKBgNVBAMMA29sZDAeFw0y
MDAxMDEwMDAwMDBaFw0yMDEyMzEyMzU5NTlaMA4xDDAKBgNVBAMMA29sZDBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABJdkpARYJTg7CLMKuC08zwmO3H1tVZklz81h
V3iI1aeWCzwkekBfbUlCoUxjl06V+30acooVSFGO6phJr8O9AVAwCgYIKoZIzj0E
AwIDSQAwRgIhAN9REb8FI6s3+IxG/NuzdnVX6VvVImIlW2sObQbIjU7CAiEA54Pk
QY+rsu7WsxEbgTMuRrq2gdShb1NytQingWn/nTw=
-----END CERTIFICATE-----
";

/// Alice, who listens for Bob, who calls her; they have paired, and no service runs.
struct Owners {
    home: TempDir,
}

/// An address where nothing listens.
fn free() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

impl Owners {
    fn new() -> Owners {
        let owners = Owners { home: TempDir::new().expect("a directory") };
        let link = free();
        for (name, way) in [("alice", "--listen"), ("bob", "--connect")] {
            let (dir, api) = (owners.at(name, ""), free());
            let said =
                run(&format!("init {} --name {name} {way} {link} --api {api}", dir.display()));
            assert_eq!(said.code, 0, "{said:?}");
        }
        for (name, peer) in [("alice", "bob"), ("bob", "alice")] {
            let certificate = owners.at(peer, "identity.crt.pem");
            let line = format!("pair {} {}", owners.at(name, "").display(), certificate.display());
            assert_eq!(run(&line).code, 0);
        }
        owners
    }

    fn at(&self, name: &str, file: &str) -> PathBuf {
        self.home.path().join(name).join(file)
    }

    fn doctor(&self, name: &str) -> Said {
        run(&format!("doctor {}", self.at(name, "").display()))
    }

    /// What is said of a fault: it is the only one, it is bad, and its remedy.
    #[track_caller]
    fn fault(&self, check: &str) -> (String, String) {
        let said = self.doctor("alice");
        let of = bad(&said);
        assert_eq!(of, [check], "{said:?}");
        assert_eq!((said.code, said.json["bad"].as_u64()), (2, Some(1)), "{said:?}");
        let one = check_of(&said, check);
        let text = |name: &str| one[name].as_str().expect("a text").to_owned();
        (text("found"), text("remedy"))
    }

    fn chmod(&self, file: &str, mode: u32) {
        let path = self.at("alice", file);
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is there");
    }

    fn change_config(&self, change: impl FnOnce(String) -> String) {
        let file = self.at("alice", "cenote.toml");
        let text = fs::read_to_string(&file).expect("it is there");
        fs::write(file, change(text)).expect("writable");
    }

    /// An address of Alice's configuration.
    fn address(&self, section: &str) -> String {
        let text = fs::read_to_string(self.at("alice", "cenote.toml")).expect("it is there");
        let (_, rest) = text.split_once(section).expect("the section");
        let (_, rest) = rest.split_once("\nlisten = \"").expect("the key");
        rest.split_once('"').expect("a string").0.to_owned()
    }
}

fn checks(said: &Said) -> &[Value] {
    said.json["checks"].as_array().unwrap_or_else(|| panic!("{said:?}"))
}

fn check_of<'a>(said: &'a Said, check: &str) -> &'a Value {
    let found = checks(said).iter().find(|one| one["check"] == check);
    found.unwrap_or_else(|| panic!("{check}: {said:?}"))
}

fn state<'a>(said: &'a Said, check: &str) -> &'a str {
    check_of(said, check)["state"].as_str().expect("a state")
}

/// Names of what is bad.
fn bad(said: &Said) -> Vec<&str> {
    let bad = checks(said).iter().filter(|one| one["state"] == "bad");
    bad.filter_map(|one| one["check"].as_str()).collect()
}

#[test]
fn a_fresh_directory_is_healthy_and_no_secret_is_shown() {
    let owners = Owners::new();
    for name in ["alice", "bob"] {
        let said = owners.doctor(name);
        assert_eq!((said.code, bad(&said)), (0, vec![]), "{said:?}");
        for check in [
            "directory",
            "writable",
            "configuration",
            "identity",
            "identity ends",
            "peer's certificate",
            "peer's ends",
            "tokens",
            "token",
            "owner's key",
            "data sets",
            "service",
            "port of the API",
            "store small",
            "store large",
        ] {
            assert_eq!(state(&said, check), "ok", "{check}: {said:?}");
        }
        assert!(check_of(&said, "identity ends")["found"].as_str().unwrap().starts_with("4096-"));
        let token = fs::read_to_string(owners.at(name, "token")).unwrap();
        assert!(!said.stdout.contains(token.trim()) && !said.stdout.contains("PRIVATE KEY"));
        for one in checks(&said) {
            assert_eq!(one["state"] == "ok", one["remedy"].is_null(), "{one}");
        }
    }
    let (alice, bob) = (owners.doctor("alice"), owners.doctor("bob"));
    assert_eq!(state(&alice, "port for the peer"), "ok");
    // Nobody listens, which may be nobody's fault.
    assert_eq!(state(&bob, "way to the peer"), "warning");
    let listener = TcpListener::bind(owners.address("[peer]")).unwrap();
    assert_eq!(state(&owners.doctor("bob"), "way to the peer"), "ok");
    drop(listener);
    // Nothing was left there.
    assert_eq!(fs::read_dir(owners.at("alice", "")).unwrap().count(), 7);
    let text = cenote(["doctor"]).current_dir(owners.at("alice", "")).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.starts_with("ok       directory ") && text.contains("\n0 bad, "), "{text}");
}

#[test]
fn a_directory_that_is_none_is_bad() {
    let home = TempDir::new().unwrap();
    let said = run(&format!("doctor {}", home.path().join("none").display()));
    assert_eq!(said.code, 2);
    assert_eq!(state(&said, "directory"), "bad");
    assert!(check_of(&said, "directory")["remedy"].as_str().unwrap().contains("cenote init"));
}

#[test]
fn certificates_that_are_missing_or_wrong_are_bad() {
    let owners = Owners::new();
    let peer = owners.at("alice", "peer.crt.pem");
    let good = fs::read(&peer).unwrap();
    fs::remove_file(&peer).unwrap();
    let (_, remedy) = owners.fault("peer's certificate");
    assert!(remedy.contains("cenote pair"), "{remedy}");
    fs::copy(owners.at("alice", "identity.crt.pem"), &peer).unwrap();
    let (found, _) = owners.fault("peer's certificate");
    assert!(found.contains("the own certificate"), "{found}");
    fs::write(&peer, &good[..good.len() / 2]).unwrap();
    let (found, remedy) = owners.fault("peer's certificate");
    assert!(found.contains("peer.crt.pem"), "{found} {remedy}");
    fs::write(&peer, ENDED).unwrap();
    let said = owners.doctor("alice");
    assert_eq!((said.code, state(&said, "peer's ends")), (0, "warning"), "{said:?}");
    let found = check_of(&said, "peer's ends")["found"].as_str().unwrap();
    assert!(found.contains("2020-12-31"), "{found}");
    fs::write(&peer, good).unwrap();
    fs::copy(owners.at("bob", "identity.key.pem"), owners.at("alice", "identity.key.pem")).unwrap();
    let (found, _) = owners.fault("identity");
    assert!(found.contains("not the key of"), "{found}");
}

#[test]
fn what_others_may_read_is_bad() {
    let owners = Owners::new();
    for (file, check, mode) in [
        ("", "directory", 0o777),
        ("identity.key.pem", "identity", 0o644),
        ("token", "token", 0o640),
        ("tokens.toml", "tokens", 0o604),
        ("owner.key", "owner's key", 0o644),
    ] {
        let path = owners.at("alice", file);
        if !path.exists() {
            // What a key has.
            fs::write(&path, [7; 32]).unwrap();
        }
        owners.chmod(file, mode);
        let (_, remedy) = owners.fault(check);
        assert!(remedy.contains("chmod 600") || remedy.contains("chmod 700"), "{file}: {remedy}");
        owners.chmod(file, if file.is_empty() { 0o700 } else { 0o600 });
    }
    assert_eq!(owners.doctor("alice").code, 0);
    owners.chmod("", 0o755);
    assert_eq!(state(&owners.doctor("alice"), "directory"), "warning");
}

/// A service would not start.
#[test]
fn what_the_service_wrote_and_cannot_use_is_bad() {
    let owners = Owners::new();
    let mut service = start(&format!("serve {}", owners.at("alice", "").display()));
    service.told("{");
    let started = Instant::now();
    while !owners.at("alice", "owner.pub").exists()
        || fs::read(owners.at("alice", "audit.log")).is_ok_and(|log| log.is_empty())
    {
        assert!(started.elapsed() < LIMIT);
        thread::sleep(Duration::from_millis(50));
    }
    let pid = Pid::from_raw(i32::try_from(service.child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(service.end().code, 0);
    let said = owners.doctor("alice");
    assert_eq!((said.code, state(&said, "audit log")), (0, "ok"), "{said:?}");
    let kept = |file: &str| {
        let (path, away) = (owners.at("alice", file), owners.home.path().join("kept"));
        fs::copy(&path, &away).unwrap();
        (path, away)
    };
    let refused = |remedy: &str| {
        let said = run(&format!("serve {}", owners.at("alice", "").display()));
        assert!(said.error(8).contains(remedy), "{said:?}");
    };
    let (path, away) = kept("owner.key");
    for public in [true, false] {
        fs::remove_file(&path).unwrap();
        if !public {
            fs::remove_file(owners.at("alice", "owner.pub")).unwrap();
        }
        let (found, remedy) = owners.fault("owner's key");
        assert!(found.contains("is missing") && remedy == "put owner.key back from the backup");
        refused(&remedy);
        assert!(!path.exists(), "another key took its place");
        fs::copy(&away, &path).unwrap();
    }
    for (file, check, spoilt, remedy) in [
        ("service.db", "database", &b"no database, though it has some bytes\n"[..], "backup"),
        ("audit.log", "audit log", b"{}\n", "keep this file"),
    ] {
        let (path, away) = kept(file);
        fs::write(&path, spoilt).unwrap();
        assert!(owners.fault(check).1.contains(remedy));
        refused("; ");
        fs::copy(&away, &path).unwrap();
    }
    let (path, away) = kept("service.db");
    fs::remove_file(&path).unwrap();
    assert_eq!(state(&owners.doctor("alice"), "database"), "warning");
    fs::copy(&away, &path).unwrap();
    // What a crash cuts off at the end, the service notes and goes on.
    let (path, _) = kept("audit.log");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [&whole[..], &whole[..20]].concat()).unwrap();
    assert_eq!(owners.doctor("alice").code, 0);
}

#[test]
fn a_directory_that_cannot_be_written_is_bad() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let owners = Owners::new();
    owners.chmod("", 0o500);
    owners.fault("writable");
    owners.chmod("", 0o700);
}

#[test]
fn a_configuration_with_an_unknown_key_is_bad() {
    let owners = Owners::new();
    owners.change_config(|text| text.replace("[pool]\n", "[pool]\nlargest = 7\n"));
    let (found, remedy) = owners.fault("configuration");
    assert!(found.contains("largest") && remedy.contains("cenote init"), "{found} {remedy}");
}

#[test]
fn ports_that_are_taken_are_bad() {
    let owners = Owners::new();
    for (section, check) in [("[api]", "port of the API"), ("[peer]", "port for the peer")] {
        let taken = TcpListener::bind(owners.address(section)).unwrap();
        let (found, remedy) = owners.fault(check);
        assert!(found.contains("in use") && remedy.contains("port"), "{found} {remedy}");
        drop(taken);
    }
}

#[test]
fn an_api_for_other_machines_is_bad() {
    let owners = Owners::new();
    let api = owners.address("[api]");
    let (_, port) = api.rsplit_once(':').unwrap();
    owners.change_config(|text| text.replace(&api, &format!("0.0.0.0:{port}")));
    let (found, _) = owners.fault("port of the API");
    assert!(found.contains("no TLS"), "{found}");
}

#[test]
fn a_clock_that_was_set_back_is_bad() {
    let owners = Owners::new();
    fs::write(owners.at("alice", "audit.log"), "{\"time\":\"2999-01-01T00:00:00.000Z\"}\n")
        .unwrap();
    let said = owners.doctor("alice");
    assert_eq!(state(&said, "clock"), "bad");
    let found = check_of(&said, "clock")["found"].as_str().expect("a text");
    assert!(found.contains("2999-01-01"), "{found}");
}

#[test]
fn a_key_that_was_there_is_missed() {
    let owners = Owners::new();
    fs::write(owners.at("alice", "owner.pub"), "of a key that is gone").unwrap();
    let (found, remedy) = owners.fault("owner's key");
    assert!(found.contains("public half") && remedy.contains("backup"), "{found} {remedy}");
}

#[test]
fn stores_that_cannot_be_opened_are_bad() {
    let owners = Owners::new();
    let stores = owners.at("alice", "stores");
    fs::create_dir_all(stores.join("small")).unwrap();
    let (found, remedy) = owners.fault("store small");
    assert!(found.contains("small.key") && remedy.contains("remove stores/"), "{found} {remedy}");
    fs::write(stores.join("small.key"), [7; 32]).unwrap();
    owners.chmod("stores/small.key", 0o644);
    owners.fault("store small");
    owners.chmod("stores/small.key", 0o600);
    let said = owners.doctor("alice");
    assert_eq!((said.code, state(&said, "store small")), (0, "ok"), "{said:?}");
    // Its absence is how a store says that a check failed.
    fs::remove_file(stores.join("small/unheld")).unwrap();
    let (found, remedy) = owners.fault("store small");
    assert!(found.contains("a check failed") && remedy.contains("peer lift"), "{found} {remedy}");
    fs::write(stores.join("small/ledger"), "nonsense").unwrap();
    owners.fault("store small");
}

#[test]
fn stores_can_be_opened_by_another_file() {
    let owners = Owners::new();
    let stores = ["store small", "store large"];
    let named = |name: &str, file: &str| {
        owners.change_config(|text| {
            let (before, after) = text.split_once("[stores]\n").expect("the section");
            let rest = after.split_once("[data]").expect("the next one").1;
            format!("{before}[stores]\n{name} = \"{file}\"\n\n[data]{rest}")
        });
        owners.doctor("alice")
    };
    for (name, good, odd) in [("passphrase_file", 12, 0), ("key_file", 32, 31)] {
        let said = named(name, "secret");
        assert_eq!((said.code, bad(&said)), (2, stores.to_vec()), "{said:?}");
        for (length, mode, state_is) in
            [(good, 0o600, "ok"), (odd, 0o600, "bad"), (good, 0o644, "bad")]
        {
            fs::write(owners.at("alice", "secret"), vec![b'x'; length]).unwrap();
            owners.chmod("secret", mode);
            let said = owners.doctor("alice");
            for store in stores {
                assert_eq!(state(&said, store), state_is, "{length} {mode:o}: {said:?}");
            }
        }
        // What systemd hands out is there while it runs.
        let said = named(name, "/run/credentials/cenote@nobody.service/stores");
        assert_eq!((said.code, state(&said, "store small")), (0, "warning"), "{said:?}");
        fs::remove_file(owners.at("alice", "secret")).unwrap();
    }
    let said = named("key_file = \"a\"\npassphrase_file", "b");
    assert_eq!(bad(&said), ["configuration"], "{said:?}");
}

#[test]
fn the_line_to_the_peer_is_measured_from_either_side() {
    let owners = Owners::new();
    let services = ["alice", "bob"].map(|name| {
        let file = owners.at(name, "cenote.toml");
        let text = fs::read_to_string(&file).unwrap();
        let text = text.replace("# small = 100000", "small = 2000");
        fs::write(file, text.replace("# large = 500000", "large = 2000")).unwrap();
        start(&format!("serve {}", owners.at(name, "").display()))
    });
    for name in ["alice", "bob"] {
        let started = Instant::now();
        let found = loop {
            let said = owners.doctor(name);
            let line = checks(&said).iter().find(|one| one["check"] == "line to the peer");
            if let Some(line) = line.filter(|line| line["state"] == "ok") {
                break line["found"].as_str().unwrap().to_owned();
            }
            assert!(started.elapsed() < LIMIT, "{said:?}");
            thread::sleep(Duration::from_millis(100));
        };
        assert!(found.contains(" ms there and back, "), "{found}");
        let rates: Vec<f64> = found.split(' ').filter_map(|word| word.parse().ok()).collect();
        // A way within one machine may be rounded to none.
        assert!(rates.len() == 3 && rates[1..].iter().all(|rate| *rate > 0.0), "{found}");
    }
    // Who may not measure is told what to give.
    let (token, dir) = (owners.at("alice", "few"), owners.at("alice", ""));
    let (token, dir) = (token.display(), dir.display());
    let added = run(&format!("token add few --role auditor -o {token} --service {dir}"));
    assert_eq!(added.code, 0, "{added:?}");
    let said = run(&format!("doctor {dir} --token-file {token}"));
    assert_eq!(state(&said, "line to the peer"), "warning", "{said:?}");
    let remedy = check_of(&said, "line to the peer")["remedy"].as_str().unwrap();
    assert!(remedy.contains("a token of an operator"), "{remedy}");
    for service in services {
        let pid = Pid::from_raw(i32::try_from(service.child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        assert_eq!(service.end().code, 0);
    }
}

#[test]
fn a_running_service_is_asked() {
    let owners = Owners::new();
    let service = start(&format!("serve {}", owners.at("alice", "").display()));
    let started = Instant::now();
    let said = loop {
        let said = owners.doctor("alice");
        let found = check_of(&said, "service")["found"].as_str().unwrap().to_owned();
        if found.contains("it runs, and answers") {
            break said;
        }
        assert!(started.elapsed() < LIMIT, "{said:?}");
        thread::sleep(Duration::from_millis(100));
    };
    assert_eq!((said.code, bad(&said)), (0, vec![]), "{said:?}");
    for (check, wanted) in [
        ("version", "ok"),
        ("ready", "warning"),
        ("peer", "warning"),
        ("lane small", "warning"),
        ("pools", "ok"),
        ("owner's key", "ok"),
        ("database", "ok"),
    ] {
        assert_eq!(state(&said, check), wanted, "{check}: {said:?}");
    }
    // Another directory with the address of this one: its port is taken.
    let (api, other) = (owners.address("[api]"), owners.at("bob", "cenote.toml"));
    let text = fs::read_to_string(&other).unwrap();
    let (before, after) = text.split_once("[api]").unwrap();
    let old = after.split('"').nth(1).unwrap();
    fs::write(&other, format!("{before}[api]{}", after.replace(old, &api))).unwrap();
    assert_eq!(bad(&owners.doctor("bob")), ["port of the API"]);
    // A token that the service does not know.
    fs::copy(owners.at("bob", "token"), owners.at("alice", "token")).unwrap();
    assert_eq!(state(&owners.doctor("alice"), "status"), "warning");
    // The configuration says something else by now.
    owners.change_config(|text| text.replace(&api, &free()));
    owners.fault("service");
    let pid = Pid::from_raw(i32::try_from(service.child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(service.end().code, 0);
    assert!(!checks(&owners.doctor("alice")).iter().any(|one| one["check"] == "ready"));
}
