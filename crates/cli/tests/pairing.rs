//! Two owners who pair over the network, as two processes: honest, wrong, replaced, and with somebody in between.

mod common;

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::process::Stdio;

use common::{Running, Said, run, start_with};
use tempfile::TempDir;

/// The identities of these people, in directories of their names.
fn people(names: &[&str]) -> TempDir {
    let dir = TempDir::new().expect("a directory");
    for name in names {
        assert_eq!(run(&format!("init {} --name {name}", at(&dir, name))).code, 0);
    }
    dir
}

fn at(dir: &TempDir, name: &str) -> String {
    dir.path().join(name).display().to_string()
}

fn certificate(dir: &TempDir, name: &str) -> String {
    fs::read_to_string(dir.path().join(name).join("identity.crt.pem")).expect("an identity")
}

/// Whose certificate this one keeps, if any.
fn kept(dir: &TempDir, name: &str) -> Option<String> {
    fs::read_to_string(dir.path().join(name).join("peer.crt.pem")).ok()
}

fn listen(dir: &TempDir, name: &str, more: &str) -> (Running, String) {
    let line = format!("pair {} --listen 127.0.0.1:0 --wait 30 {more}", at(dir, name));
    let mut running = start_with(&line, Stdio::piped());
    let address = running.address();
    (running, address)
}

fn connect(dir: &TempDir, name: &str, address: &str) -> Running {
    let line = format!("pair {} --connect {address} --wait 30", at(dir, name));
    start_with(&line, Stdio::piped())
}

/// The code on a screen.
fn code(side: &mut Running) -> String {
    let code = side.told("read this code to them: ");
    assert_eq!(code.len(), 14, "{code}");
    code
}

/// Types a line, and waits for what comes of it.
fn typed(mut side: Running, line: &str) -> Said {
    types(&mut side, line);
    side.end()
}

fn types(side: &mut Running, line: &str) {
    let mut stdin = side.child.stdin.take().expect("a pipe");
    stdin.write_all(format!("{line}\n").as_bytes()).expect("it is read");
}

/// Lets two sides type what the other shows.
fn agree(mut one: Running, mut two: Running) -> [Said; 2] {
    let codes = [code(&mut one), code(&mut two)];
    types(&mut one, &codes[1]);
    types(&mut two, &codes[0]);
    [one.end(), two.end()]
}

#[test]
fn two_owners_pair_with_two_commands() {
    let dir = people(&["alice", "bob"]);
    let (alice, address) = listen(&dir, "alice", "");
    let strangers = [(); 2].map(|()| TcpStream::connect(&address).expect("it listens"));
    (&strangers[0]).write_all(b"GET / HTTP/1.0\r\n\r\n").expect("it is read");
    let [alice, bob] = agree(alice, connect(&dir, "bob", &address));
    for (said, own, other) in [(&alice, "alice", "bob"), (&bob, "bob", "alice")] {
        assert_eq!(said.code, 0, "{said:?}");
        assert_eq!(said.json["peer_accepted"], true);
        assert_eq!(kept(&dir, own), Some(certificate(&dir, other)));
        let fingerprint = run(&format!("pair {}", at(&dir, other))).json["fingerprint"].clone();
        assert_eq!(said.json["peer_fingerprint"], fingerprint);
        let fingerprint = fingerprint.as_str().expect("text");
        assert!(said.stderr.contains(&format!("peer fingerprint  {fingerprint}")), "{said:?}");
    }
    assert!(alice.stderr.contains("note: turned away 127.0.0.1:"), "{alice:?}");
}

#[test]
fn a_wrong_code_keeps_nothing() {
    let dir = people(&["alice", "bob"]);
    let (mut alice, address) = listen(&dir, "alice", "");
    let mut bob = connect(&dir, "bob", &address);
    let (alices, bobs) = (code(&mut alice), code(&mut bob));
    // Of the own screen, which is the easiest to type.
    let refused = typed(bob, &bobs);
    assert!(refused.error(3).contains("somebody is in between"), "{refused:?}");
    assert_eq!(kept(&dir, "bob"), None);
    // The other owner's decision is another, and is told of it.
    let alice = typed(alice, &bobs);
    assert_eq!((alice.code, &alice.json["peer_accepted"]), (0, &false.into()), "{alice:?}");
    assert_eq!(kept(&dir, "alice"), Some(certificate(&dir, "bob")));
    assert_ne!(alices, bobs);

    // No line at all, and a peer who is gone by then.
    let (mut alice, address) = listen(&dir, "alice", "");
    let mut bob = connect(&dir, "bob", &address);
    let alices = code(&mut alice);
    drop(alice.child.stdin.take());
    let alice = alice.end();
    assert!(alice.error(3).contains("no code was typed"), "{alice:?}");
    code(&mut bob);
    let bob = typed(bob, &alices);
    assert_eq!((bob.code, &bob.json["peer_accepted"]), (0, &false.into()), "{bob:?}");
}

#[test]
fn a_known_peer_is_not_replaced() {
    let dir = people(&["alice", "bob", "carol"]);
    run(&format!("pair {} {}/identity.crt.pem", at(&dir, "alice"), at(&dir, "bob")));
    let (alice, address) = listen(&dir, "alice", "");
    let carol = connect(&dir, "carol", &address);
    let alice = alice.end();
    assert!(alice.error(3).contains("--replace"), "{alice:?}");
    assert_eq!(typed(carol, "").code, 3);
    assert_eq!(kept(&dir, "alice"), Some(certificate(&dir, "bob")));
    // The same peer again is no replacement; another is one that was asked for.
    for (name, more) in [("bob", ""), ("carol", "--replace")] {
        let (alice, address) = listen(&dir, "alice", more);
        let said = agree(alice, connect(&dir, name, &address));
        assert_eq!(said.map(|side| side.code), [0, 0]);
        assert_eq!(kept(&dir, "alice"), Some(certificate(&dir, name)));
    }
}

/// Mallory pairs with both, and passes nothing on that would help: the codes on the owners' screens are of two
/// connections.
#[test]
fn somebody_in_between_is_kept_by_neither() {
    let dir = people(&["alice", "bob", "mallory"]);
    let (mut alice, address) = listen(&dir, "alice", "");
    let mut to_alice = connect(&dir, "mallory", &address);
    let (mut to_bob, address) = listen(&dir, "mallory", "");
    let mut bob = connect(&dir, "bob", &address);
    let (alices, bobs) = (code(&mut alice), code(&mut bob));
    let mallorys = [code(&mut to_alice), code(&mut to_bob)];
    assert!(!mallorys.contains(&alices) && !mallorys.contains(&bobs));
    for (name, said) in [("alice", typed(alice, &bobs)), ("bob", typed(bob, &alices))] {
        assert!(said.error(3).contains("in between"), "{said:?}");
        assert_eq!(kept(&dir, name), None);
    }
    for side in [to_alice, to_bob] {
        assert_eq!(typed(side, "").code, 3);
    }
}

#[test]
fn the_own_identity_is_no_peer() {
    let dir = people(&["alice"]);
    let line = format!("pair {} --listen 127.0.0.1:0 --wait 3", at(&dir, "alice"));
    let mut listening = start_with(&line, Stdio::piped());
    let address = listening.address();
    let calling = connect(&dir, "alice", &address).end();
    assert!(calling.error(3).contains("this side's own"), "{calling:?}");
    assert_eq!(listening.end().code, 5);
    assert_eq!(kept(&dir, "alice"), None);
}

#[test]
fn one_way_at_a_time() {
    let dir = people(&["alice"]);
    let alice = at(&dir, "alice");
    let file = format!("{alice}/identity.crt.pem");
    for wrong in [
        format!("pair {alice} {file} --listen 127.0.0.1:0"),
        format!("pair {alice} --connect 127.0.0.1:1 --listen 127.0.0.1:0"),
        format!("pair {alice} --wait 5"),
        format!("pair {alice} --replace"),
        format!("pair {alice} --connect nowhere"),
    ] {
        run(&wrong).error(2);
    }
}

#[test]
fn a_next_certificate_is_made_kept_and_taken() {
    let dir = TempDir::new().expect("a directory");
    let (alice, bob) = (at(&dir, "alice"), at(&dir, "bob"));
    for (name, way) in [("alice", "--listen"), ("bob", "--connect")] {
        let line = format!("init {} --name {name} {way} 127.0.0.1:7700", at(&dir, name));
        assert_eq!(run(&line).code, 0);
    }
    let pair = |own: &str, with: &str| run(&format!("pair {own} {with}"));
    let next = format!("{alice}/next/identity.crt.pem");
    assert_eq!(pair(&alice, &format!("{bob}/identity.crt.pem")).code, 0);
    assert!(run(&format!("rotate {alice} --now")).error(2).contains("without --now"));
    let made = run(&format!("rotate {alice}"));
    assert_eq!((made.code, &made.json["certificate"]), (0, &next.as_str().into()), "{made:?}");
    assert_eq!(run(&format!("rotate {alice}")).json, made.json);
    // There is no certificate yet that it could be next to.
    assert!(pair(&bob, &format!("{next} --next")).error(2).contains("peer.crt.pem"));
    let first = format!("{alice}/identity.crt.pem");
    assert_eq!(pair(&bob, &first).code, 0);
    assert!(pair(&bob, &format!("{first} --next")).error(2).contains("already"));
    assert!(pair(&bob, &format!("{bob}/identity.crt.pem --next")).error(2).contains("own"));
    let kept = pair(&bob, &format!("{next} --next"));
    assert_eq!(kept.json["next_fingerprint"], made.json["fingerprint"], "{kept:?}");
    assert_eq!(kept.json["peer_fingerprint"], made.json["before"], "{kept:?}");
    let file = |path: &str| fs::read_to_string(dir.path().join(path)).expect("it is there");
    assert_eq!(file("bob/peer.next.crt.pem"), file("alice/next/identity.crt.pem"));
    assert_eq!(file("bob/peer.crt.pem"), file("alice/identity.crt.pem"));
    let taken = run(&format!("rotate {alice} --now"));
    assert_eq!(taken.json["fingerprint"], made.json["fingerprint"], "{taken:?}");
    assert!(dir.path().join("alice/next/wanted").exists());
}
