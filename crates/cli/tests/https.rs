//! A service whose API others reach: `init` gives it TLS, and commands speak to it by its certificate alone.

mod common;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use common::{LIMIT, PURCHASES, Said, cenote, run, start, write};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// The directory of a service with a peer that never comes, and its API with TLS at a port.
fn made(home: &Path, name: &str) -> (PathBuf, u16) {
    let (dir, port) = (home.join(name), port());
    let said = run(&format!(
        "init {} --name {name} --listen 127.0.0.1:0 --api 0.0.0.0:{port} --api-name {name}.example",
        dir.display()
    ));
    assert_eq!(said.code, 0, "{said:?}");
    let certificate = dir.join("api.crt.pem");
    assert_eq!(said.json["api_certificate"], certificate.display().to_string());
    (dir, port)
}

fn state(said: &Said, check: &str) -> String {
    let checks = said.json["checks"].as_array().unwrap_or_else(|| panic!("{said:?}"));
    let found = checks.iter().find(|one| one["check"] == check);
    found.unwrap_or_else(|| panic!("{check}: {said:?}"))["state"].as_str().unwrap().to_owned()
}

#[test]
fn commands_speak_to_it_by_its_certificate_alone() {
    let home = TempDir::new().unwrap();
    let (alice, port) = made(home.path(), "alice");
    let (bob, _) = made(home.path(), "bob");
    let shown = alice.display();
    let peer = bob.join("identity.crt.pem");
    assert_eq!(run(&format!("pair {shown} {}", peer.display())).code, 0);
    let said = run(&format!("doctor {shown}"));
    assert_eq!((said.code, state(&said, "API's ends")), (0, "ok".to_owned()), "{said:?}");
    let service = start(&format!("serve {shown}"));
    let begun = Instant::now();
    while run(&format!("status --service {shown}")).code != 0 {
        assert!(begun.elapsed() < LIMIT, "{:?}", run(&format!("doctor {shown}")));
        thread::sleep(Duration::from_millis(100));
    }
    let said = run(&format!("doctor {shown}"));
    assert_eq!((said.code, state(&said, "service")), (0, "ok".to_owned()), "{said:?}");
    let own = alice.join("api.crt.pem");
    let asked = |url: &str, ca: Option<&Path>| {
        let ca = ca.map_or(String::new(), |ca| format!("--ca {}", ca.display()));
        run(&format!("status --url {url} --token-file {shown}/token {ca}"))
    };
    let here = format!("https://127.0.0.1:{port}");
    assert_eq!(asked(&here, Some(&own)).json["name"], "alice");
    assert_eq!(asked(&format!("https://localhost:{port}/"), Some(&own)).code, 0);
    // Another's certificate, none, a file that has none.
    let other = asked(&here, Some(&bob.join("api.crt.pem")));
    assert!(other.error(5).contains("certificate"), "{other:?}");
    assert!(asked(&here, None).error(2).contains("--ca FILE"));
    assert!(asked(&here, Some(&alice.join("token"))).error(2).contains("no certificate"));
    // Without TLS nothing is sent to other machines, and nothing is had from this one.
    let open = asked("http://192.0.2.1:7780", None);
    assert!(open.error(2).contains("use https://"), "{open:?}");
    assert!(asked(&format!("http://127.0.0.1:{port}"), None).error(5).contains("400"));
    what_is_approved_is_read_first(home.path(), &alice);
    // A new certificate, while it runs.
    let before = home.path().join("before.pem");
    fs::copy(&own, &before).unwrap();
    let renewed = run(&format!("certificate {shown} --name alice.example"));
    assert_eq!(renewed.code, 0, "{renewed:?}");
    assert_eq!(asked(&here, Some(&before)).code, 5);
    assert_eq!(asked(&here, Some(&own)).code, 0);
    let pid = Pid::from_raw(i32::try_from(service.child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(service.end().code, 0);
}

/// The owner of a service that runs sees what a program computes, what it takes and to whom it shows what.
fn what_is_approved_is_read_first(home: &Path, dir: &Path) {
    let file = write(home, "spent.cenote", &PURCHASES.replace("spent: both", "spent: evaluator"));
    let service = format!("--service {}", dir.display());
    let made = run(&format!("program register {} --name spent {service}", file.display()));
    let digest = made.json["digest"].as_str().unwrap_or_else(|| panic!("{made:?}"));
    let shown = run(&format!("program show {}", file.display()));
    for which in ["spent", digest] {
        let text = run(&format!("program text {which} {service}"));
        assert_eq!((text.code, &text.json["text"]), (0, &shown.json["text"]), "{text:?}");
    }
    let words = cenote(["program", "text", "spent", "--service"]).arg(dir).output().unwrap();
    assert!(
        String::from_utf8_lossy(&words.stdout).contains("output spent: evaluator"),
        "{words:?}"
    );
    let other = run(&format!("program text earned {service}"));
    assert!(other.error(2).contains("no program `earned`"), "{other:?}");
    let listed = run(&format!("program registered {service}"));
    let cost = &listed.json[0]["cost"];
    assert_eq!((&cost["backend"], &cost["rounds"]), (&"wrk".into(), &6.into()), "{listed:?}");
    let words = cenote(["program", "registered", "--service"]).arg(dir).output().unwrap();
    let words = String::from_utf8_lossy(&words.stdout).into_owned();
    assert!(words.contains(&cost["bytes"][0].to_string()) && words.contains(digest), "{words}");
    // The own side garbles.
    let own = run(&format!("approve spent --jobs-of own --receivers own {service}"));
    assert!(own.error(2).contains("the program's outputs are for `peer`"), "{own:?}");
    let given = run(&format!("approve spent --jobs-of own --receivers peer {service}"));
    assert_eq!(given.json["terms"]["receivers"], "peer", "{given:?}");
    assert_eq!(given.json["receivers"]["spent"], "evaluator", "{given:?}");
    let words = cenote(["approval", "list", "--service"]).arg(dir).output().unwrap();
    let words = String::from_utf8_lossy(&words.stdout).into_owned();
    assert!(
        words.lines().any(|line| line.contains("given") && line.contains("evaluator")),
        "{words}"
    );
}

#[test]
fn what_has_no_tls_or_cannot_have_it_is_said_before_anything_listens() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("carol");
    let line = format!("init {} --listen 127.0.0.1:0 --api 0.0.0.0:1", dir.display());
    assert!(run(&line).error(2).contains("--api-name"));
    let (alice, _) = made(home.path(), "alice");
    let shown = alice.display();
    assert_eq!(run(&format!("pair {shown} {shown}/../carol/identity.crt.pem")).code, 0);
    let config = alice.join("cenote.toml");
    let text = fs::read_to_string(&config).unwrap();
    let with = |from: &str, to: &str| fs::write(&config, text.replace(from, to)).unwrap();
    with("key = \"api.key.pem\"\n", "");
    assert!(run(&format!("serve {shown}")).error(2).contains("both `certificate` and `key`"));
    with("certificate = \"api.crt.pem\"\nkey = \"api.key.pem\"\n", "");
    assert!(run(&format!("serve {shown}")).error(2).contains("`cenote certificate`"));
    // An organisation's own is not written over.
    with("api.crt.pem", "theirs.pem");
    let kept = run(&format!("certificate {shown} --name a"));
    assert!(kept.error(2).contains("not made here"), "{kept:?}");
    fs::write(&config, &text).unwrap();
    fs::remove_file(alice.join("api.key.pem")).unwrap();
    assert!(run(&format!("serve {shown}")).error(2).contains("api.key.pem: No such file"));
    assert_eq!(state(&run(&format!("doctor {shown}")), "API's certificate"), "bad");
}
