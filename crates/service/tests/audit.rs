//! The audit log with real files: what is changed, taken out, added or torn off is found, and what is not.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::{env, thread};

use cenote_service::audit::{
    AuditError, AuditLog, Entry, Gap, Head, OwnerKey, PublicKey, Side, contains, diff,
    diff_between, verify,
};
use data_encoding::HEXLOWER;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// An organisation: its key and its log.
struct Owner {
    _dir: TempDir,
    key: Arc<OwnerKey>,
    path: PathBuf,
}

impl Owner {
    fn new() -> Owner {
        Owner::within(&env::temp_dir())
    }

    fn within(dir: &Path) -> Owner {
        let dir = tempfile::tempdir_in(dir).unwrap();
        let key = Arc::new(OwnerKey::load_or_create(&dir.path().join("owner.key")).unwrap());
        let path = dir.path().join("audit.log");
        Owner { _dir: dir, key, path }
    }

    fn open(&self) -> Result<AuditLog, AuditError> {
        AuditLog::open(&self.path, self.key.clone())
    }

    /// Notes these and ends.
    fn notes(&self, entries: &[Entry]) -> Head {
        let log = self.open().unwrap();
        for entry in entries {
            log.append(entry).unwrap();
        }
        log.head()
    }

    fn public(&self) -> PublicKey {
        self.key.public()
    }

    fn verify(&self) -> Result<Head, AuditError> {
        verify(&self.path, &self.public())
    }

    fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.path).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn values(&self) -> Vec<Value> {
        self.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn rewrite(&self, lines: &[String]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&self.path, text).unwrap();
    }
}

fn map(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// What one side notes of itself.
fn own(kind: &str) -> Entry {
    Entry { kind: kind.into(), peer: None, job: None, shared: None, own: map(json!({"by": "ada"})) }
}

/// What both sides note of a job.
fn of_job(job: &str, outcome: &str) -> Entry {
    Entry {
        kind: "job.done".into(),
        peer: Some("north".into()),
        job: Some(job.into()),
        shared: Some(map(
            json!({"program": "7f3a", "parameters": {"k": 3, "eps": 0.1}, "outcome": outcome}),
        )),
        own: map(json!({"ms": 812})),
    }
}

fn some() -> [Entry; 5] {
    [
        own("service.began"),
        of_job("j1", "ok"),
        own("approval.given"),
        of_job("j2", "failed"),
        of_job("j3", "ok"),
    ]
}

/// The line that is named as the first bad one, and what is said of it.
#[track_caller]
fn damaged<T>(result: Result<T, AuditError>) -> (u64, String) {
    match result {
        Err(AuditError::Damaged { line, what, .. }) => (line, what),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("nothing was found"),
    }
}

/// Hash and signature of a line anew, as somebody would who knows the format but, unless it is the owner's, not the key.
fn forged(mut line: Value, key: &OwnerKey) -> String {
    let members = line.as_object_mut().unwrap();
    members.remove("hash");
    members.remove("signature");
    sealed(&in_order(&line), key)
}

fn sealed(text: &str, key: &OwnerKey) -> String {
    let hash = blake3::derive_key("cenote 2026 service audit line v1", text.as_bytes());
    let signature = HEXLOWER.encode(&key.sign("audit line", &hash));
    let text = text.strip_suffix('}').unwrap();
    format!("{text},\"hash\":\"{}\",\"signature\":\"{signature}\"}}", HEXLOWER.encode(&hash))
}

/// The members of a line in the order of the format.
fn in_order(line: &Value) -> String {
    let names = ["version", "sequence", "time", "kind", "peer", "job", "shared", "own", "previous"];
    let known = names.iter().filter_map(|name| Some((*name, line.get(*name)?)));
    let members: Vec<String> = known.map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

#[test]
fn what_was_noted_is_on_disk_in_the_form_that_is_promised() {
    let owner = Owner::new();
    let head = owner.notes(&some());
    assert_eq!(owner.verify().unwrap(), head);
    assert_eq!(head.sequence, 5);
    let lines = owner.values();
    assert_eq!(lines[0]["previous"], "0".repeat(64));
    assert_eq!(lines[4]["previous"], lines[3]["hash"]);
    assert_eq!(lines[4]["hash"], HEXLOWER.encode(&head.hash));
    assert_eq!(lines[1]["shared"]["parameters"]["eps"], 0.1);
    assert_eq!(lines[2]["peer"], Value::Null);
    for (line, raw) in lines.iter().zip(owner.lines()) {
        assert_eq!(forged(line.clone(), &owner.key), raw, "the owner, by the page of the format");
    }
    let mode = fs::metadata(&owner.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn every_field_of_every_line_is_watched() {
    let owner = Owner::new();
    owner.notes(&some());
    let whole = owner.lines();
    let thief = Owner::new();
    for (at, line) in owner.values().iter().enumerate() {
        for name in line.as_object().unwrap().keys() {
            let mut other = line.clone();
            other[name] = match &line[name] {
                Value::Number(n) => json!(n.as_u64().unwrap() + 1),
                Value::String(text) => {
                    let first = if text.starts_with('1') { '2' } else { '1' };
                    json!(format!("{first}{}", &text[1..]))
                }
                _ => json!({"else": 1}),
            };
            let mut lines = whole.clone();
            lines[at] = whole[at].replacen(
                &format!("\"{name}\":{}", line[name]),
                &format!("\"{name}\":{}", other[name]),
                1,
            );
            assert_ne!(lines[at], whole[at], "{name}");
            owner.rewrite(&lines);
            assert_eq!(damaged(owner.verify()).0, at as u64 + 1, "{name}");
            // With a hash that fits, but another's signature.
            if name != "hash" && name != "signature" {
                lines[at] = forged(other, &thief.key);
                owner.rewrite(&lines);
                assert_eq!(damaged(owner.verify()).0, at as u64 + 1, "{name}");
            }
        }
    }
    owner.rewrite(&whole);
    assert!(owner.verify().is_ok());
}

#[test]
fn a_line_with_another_signature_is_found_where_it_is() {
    let (owner, thief) = (Owner::new(), Owner::new());
    owner.notes(&some());
    let mut lines = owner.lines();
    lines[2] = forged(owner.values()[2].clone(), &thief.key);
    owner.rewrite(&lines);
    let (line, what) = damaged(owner.verify());
    assert!(line == 3 && what.contains("key"), "{line}: {what}");
}

#[test]
fn even_the_owner_cannot_number_or_chain_lines_otherwise() {
    let owner = Owner::new();
    owner.notes(&some());
    let whole = owner.lines();
    for (name, value) in [("sequence", json!(4)), ("previous", json!("0".repeat(64)))] {
        let mut line = owner.values().remove(4);
        line[name] = value;
        let mut lines = whole.clone();
        lines[4] = forged(line, &owner.key);
        owner.rewrite(&lines);
        assert_eq!(damaged(owner.verify()).0, 5, "{name}");
        owner.rewrite(&whole);
    }
}

#[test]
fn lines_cannot_be_swapped_taken_out_or_added() {
    let owner = Owner::new();
    owner.notes(&some());
    let whole = owner.lines();
    let found = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = whole.clone();
        change(&mut lines);
        owner.rewrite(&lines);
        let opened = damaged(owner.open());
        assert_eq!(damaged(owner.verify()), opened, "opening checks the chain as well");
        opened.0
    };
    for at in 0..4 {
        assert_eq!(found(&|lines| lines.swap(at, at + 1)), at as u64 + 1);
        assert_eq!(found(&|lines| drop(lines.remove(at))), at as u64 + 1);
    }
    for (at, line) in whole.iter().enumerate() {
        assert_eq!(found(&|lines| lines.insert(at, line.clone())), at as u64 + 2);
        assert_eq!(found(&|lines| lines.insert(at, String::new())), at as u64 + 1);
    }
    // Another log of the same owner has good lines, of another chain.
    let other = Owner {
        _dir: tempfile::tempdir().unwrap(),
        key: owner.key.clone(),
        path: owner.path.with_extension("b"),
    };
    other.notes(&some());
    let theirs = other.lines();
    assert_eq!(found(&|lines| lines[3] = theirs[3].clone()), 4);
    assert_eq!(found(&|lines| lines[0] = theirs[0].clone()), 2, "a first line follows nothing");
}

#[test]
fn there_is_one_way_to_write_a_line() {
    let owner = Owner::new();
    owner.notes(&[of_job("j1", "ok")]);
    let line = owner.values().remove(0);
    let text = in_order(&line);
    owner.rewrite(&[sealed(&text, &owner.key)]);
    assert!(owner.verify().is_ok());
    let time = line["time"].as_str().unwrap();
    for other in [
        text.replace("\"kind\":", "\"kind\": "),
        text.replace("\"kind\":", "\"kind\":\"job.failed\",\"kind\":"),
        text.replace("{\"ms\":812}", "{\"ms\":812,\"ms\":9}"),
        text.replace("{\"ms\":812}", "{\"ms\":812,\"a\":9}"),
        text.replace("812", "8.12e2"),
        text.replace("job.done", "job\\u002edone"),
        text.replace("job.done", "Job done"),
        text.replace("\"own\"", "\"extra\":1,\"own\""),
        text.replace("\"job\":\"j1\",", ""),
        text.replace("\"peer\":\"north\"", "\"peer\":null"),
        text.replace(time, "2026-01-01T00:00:00Z"),
        text.replace("\"version\":1", "\"version\":2"),
        text.replace("\"version\":1", "\"version\":01"),
    ] {
        assert_ne!(other, text);
        owner.rewrite(&[sealed(&other, &owner.key)]);
        assert_eq!(damaged(owner.verify()).0, 1, "{other}");
    }
    owner.rewrite(&[sealed(&text.replace("\"version\":1", "\"version\":2"), &owner.key)]);
    assert!(damaged(owner.verify()).1.contains("version 2"));
}

#[test]
fn lines_missing_at_the_end_are_seen_with_a_head_only() {
    let owner = Owner::new();
    let log = owner.open().unwrap();
    let heads: Vec<Head> = some().iter().map(|entry| log.append(entry).unwrap()).collect();
    drop(log);
    let whole = owner.lines();
    for left in 0..=5 {
        owner.rewrite(&whole[..left]);
        assert_eq!(owner.verify().unwrap().sequence, left as u64);
        assert!(contains(&owner.path, &Head::START).unwrap());
        for (at, head) in heads.iter().enumerate() {
            assert_eq!(contains(&owner.path, head).unwrap(), at < left);
        }
    }
    let mut other = heads[3];
    other.hash[0] ^= 1;
    assert!(!contains(&owner.path, &other).unwrap());
    assert!(!contains(&owner.path, &Head { sequence: 0, hash: [1; 32] }).unwrap());
    // What is bad behind a head is not its business, what is before is.
    let mut lines = whole.clone();
    lines[3] = lines[3].replace("failed", "ok");
    owner.rewrite(&lines);
    assert!(contains(&owner.path, &heads[2]).unwrap());
    assert_eq!(damaged(contains(&owner.path, &heads[4])).0, 4);
}

#[test]
fn an_owner_who_writes_its_log_anew_has_other_heads() {
    let owner = Owner::new();
    let head = owner.notes(&some());
    fs::remove_file(&owner.path).unwrap();
    let mut better = some();
    better[3] = of_job("j2", "ok");
    let rewritten = owner.notes(&better);
    assert_eq!(owner.verify().unwrap(), rewritten, "its own key says so");
    assert!(!contains(&owner.path, &head).unwrap());
}

#[test]
fn a_torn_last_line_is_cut_off_and_noted() {
    let owner = Owner::new();
    owner.notes(&some());
    let bytes = fs::read(&owner.path).unwrap();
    let last = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for cut in [last + 1, last + 100, bytes.len() - 1] {
        fs::write(&owner.path, &bytes[..cut]).unwrap();
        let (line, what) = damaged(owner.verify());
        assert!(line == 5 && what.contains("no end"), "{what}");
        let head = owner.open().unwrap().head();
        assert_eq!(owner.verify().unwrap(), head);
        let lines = owner.values();
        assert_eq!((lines.len(), &lines[4]["kind"]), (5, &json!("log.cut")));
        assert_eq!(lines[4]["own"]["bytes"], cut - last);
        let text = lines[4]["own"]["text"].as_str().unwrap();
        assert!(bytes[last..].starts_with(text.as_bytes()));
        assert_eq!(owner.open().unwrap().head(), head, "nothing is torn any more");
    }
    // Of the very first line; with bytes that are no text.
    fs::write(&owner.path, b"{\"ver\0\xff").unwrap();
    assert_eq!(owner.open().unwrap().head().sequence, 1);
    assert_eq!(owner.verify().unwrap().sequence, 1);
}

/// Pages reach the disk in any order: what no call had waited for may be damaged anywhere, and more behind it be whole.
#[test]
fn what_was_never_on_the_disk_may_be_damaged_and_is_cut_off() {
    let owner = Owner::new();
    owner.notes(&some());
    let bytes = fs::read(&owner.path).unwrap();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let third = lines[..2].concat().len();
    let mut broken = bytes.clone();
    broken[third + 20..third + 40].fill(0);
    fs::write(&owner.path, &broken).unwrap();
    for settled in [3, u64::MAX] {
        let refused = AuditLog::open_settled(&owner.path, owner.key.clone(), settled);
        assert_eq!(damaged(refused).0, 3);
    }
    assert_eq!(fs::read(&owner.path).unwrap(), broken, "nothing was changed");
    let log = AuditLog::open_settled(&owner.path, owner.key.clone(), 2).unwrap();
    assert_eq!(log.head().sequence, 3);
    drop(log);
    owner.verify().unwrap();
    let cut = &owner.values()[2];
    assert_eq!(cut["kind"], "log.cut");
    assert_eq!(cut["own"]["bytes"], bytes.len() - third);
}

#[test]
fn damage_before_the_last_line_is_refused_and_nothing_is_changed() {
    let owner = Owner::new();
    owner.notes(&some());
    let mut bytes = fs::read(&owner.path).unwrap();
    bytes[30] ^= 1;
    bytes.pop();
    fs::write(&owner.path, &bytes).unwrap();
    assert_eq!(damaged(owner.open()).0, 1);
    assert_eq!(fs::read(&owner.path).unwrap(), bytes);
}

#[test]
fn another_owners_key_does_not_open_a_log() {
    let (owner, other) = (Owner::new(), Owner::new());
    owner.notes(&some());
    let (line, what) = damaged(AuditLog::open(&owner.path, other.key.clone()));
    assert!(line == 5 && what.contains("key"), "{what}");
    assert_eq!(damaged(verify(&owner.path, &other.public())).0, 1);
}

#[test]
fn entries_that_cannot_be_noted_change_nothing() {
    let owner = Owner::new();
    let log = owner.open().unwrap();
    let mut deep = json!(1);
    for _ in 0..200 {
        deep = json!([deep]);
    }
    let mut wrong =
        vec![own(""), own("Job"), own("job done"), own("log.cut"), own(&"x".repeat(65))];
    wrong.push(Entry { job: None, ..of_job("j", "ok") });
    wrong.push(Entry { own: map(json!({"x": "x".repeat(1 << 20)})), ..own("job.done") });
    wrong.push(Entry { own: map(json!({ "x": deep })), ..own("job.done") });
    for entry in wrong {
        assert!(matches!(log.append(&entry), Err(AuditError::Entry { .. })), "{}", entry.kind);
    }
    assert_eq!(fs::metadata(&owner.path).unwrap().len(), 0);
    let large = Entry { own: map(json!({"x": "x".repeat(1_048_000)})), ..own("job.done") };
    assert_eq!(log.append(&large).unwrap().sequence, 1);
    drop(log);
    assert_eq!(owner.notes(&some()).sequence, 6);
    assert_eq!(owner.verify().unwrap().sequence, 6);
}

#[test]
fn a_log_that_is_changed_or_moved_away_stops() {
    let owner = Owner::new();
    let log = owner.open().unwrap();
    log.append(&own("service.began")).unwrap();
    OpenOptions::new().append(true).open(&owner.path).unwrap().write_all(b"x").unwrap();
    assert!(matches!(log.append(&own("a")), Err(AuditError::Stopped { .. })));
    drop(log);
    let log = owner.open().unwrap();
    fs::rename(&owner.path, owner.path.with_extension("1")).unwrap();
    assert!(matches!(log.append(&own("a")), Err(AuditError::Stopped { .. })));
    fs::write(&owner.path, "").unwrap();
    assert!(matches!(log.append(&own("a")), Err(AuditError::Stopped { .. })));
    drop(log);
    let log = owner.open().unwrap();
    log.append(&own("service.began")).unwrap();
    let copy = owner.path.with_extension("copy");
    fs::copy(&owner.path, &copy).unwrap();
    fs::rename(&copy, &owner.path).unwrap();
    match log.append(&own("a")) {
        Err(AuditError::Stopped { why, .. }) => assert!(why.contains("another file"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn files_that_others_may_change_and_what_is_no_file_are_refused() {
    let owner = Owner::new();
    owner.notes(&some());
    fs::set_permissions(&owner.path, fs::Permissions::from_mode(0o620)).unwrap();
    assert!(owner.open().unwrap_err_text().contains("chmod go-w"));
    assert!(AuditLog::open(owner.path.parent().unwrap(), owner.key.clone()).is_err());
    assert!(AuditLog::open(Path::new("/nowhere/audit.log"), owner.key.clone()).is_err());
    assert!(verify(Path::new("/nowhere/audit.log"), &owner.public()).is_err());
}

trait ErrText {
    fn unwrap_err_text(self) -> String;
}

impl<T> ErrText for Result<T, AuditError> {
    fn unwrap_err_text(self) -> String {
        self.err().unwrap().to_string()
    }
}

#[test]
fn the_key_is_kept_for_its_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("owner.key");
    let key = OwnerKey::load_or_create(&path).unwrap();
    assert_eq!(format!("{key:?}"), "OwnerKey(..)");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&path).unwrap().len(), 32);
    let public = dir.path().join("owner.pub");
    assert_eq!(PublicKey::load(&public).unwrap(), key.public());
    assert_eq!(
        fs::read_to_string(&public).unwrap().trim().parse::<PublicKey>().unwrap(),
        key.public()
    );
    assert_eq!(OwnerKey::load_or_create(&path).unwrap().public(), key.public());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing else is left");

    fs::remove_file(&public).unwrap();
    OwnerKey::load_or_create(&path).unwrap();
    assert_eq!(PublicKey::load(&public).unwrap(), key.public(), "made anew");
    let own = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(OwnerKey::load_or_create(&path).unwrap_err_text().contains("from the backup"));
    assert!(!path.exists(), "another key could not go on with the log");
    fs::write(&path, own).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&public, format!("{}\n", Owner::new().public())).unwrap();
    assert!(OwnerKey::load_or_create(&path).unwrap_err_text().contains("not the public half"));
    fs::write(&public, "no key\n").unwrap();
    assert!(OwnerKey::load_or_create(&path).unwrap_err_text().contains("no public key"));
    fs::remove_file(&public).unwrap();

    // What it has signed, or its public half, is there without it: no other key takes its place.
    let log = dir.path().join("audit.log");
    for (left, text) in [(&log, "{}\n".to_owned()), (&public, format!("{}\n", key.public()))] {
        fs::rename(&path, dir.path().join("away")).unwrap();
        fs::write(left, text).unwrap();
        let error = OwnerKey::load_or_create(&path).unwrap_err_text();
        assert!(error.ends_with("; put owner.key back from the backup"), "{error}");
        assert!(OwnerKey::look(&path).unwrap_err_text() == error && !path.exists());
        fs::rename(dir.path().join("away"), &path).unwrap();
        assert_eq!(OwnerKey::look(&path).unwrap().unwrap().public(), key.public());
        fs::remove_file(left).unwrap();
    }
    assert!(OwnerKey::look(&dir.path().join("none/owner.key")).unwrap().is_none());

    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(OwnerKey::load_or_create(&path).unwrap_err_text().contains("others may read it"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    for bytes in [&[7; 31][..], &[7; 33], b""] {
        fs::write(&path, bytes).unwrap();
        assert!(OwnerKey::load_or_create(&path).unwrap_err_text().contains("no key"));
    }
    assert!(OwnerKey::load_or_create(&dir.path().join("x.pub")).is_err());
    assert!(OwnerKey::load_or_create(Path::new("/nowhere/owner.key")).is_err());
}

#[test]
fn a_key_that_two_begin_at_once_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("owner.key");
    let keys: Vec<PublicKey> = thread::scope(|scope| {
        let make = || OwnerKey::load_or_create(&path).unwrap().public();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(keys.iter().all(|key| *key == keys[0]));
}

#[test]
fn signatures_are_of_one_kind_message_and_key() {
    let (a, b) = (Owner::new(), Owner::new());
    let signature = a.key.sign("approval", b"message");
    assert!(a.public().verify("approval", b"message", &signature));
    assert!(!a.public().verify("approva", b"lmessage", &signature));
    assert!(!a.public().verify("audit line", b"message", &signature));
    assert!(!a.public().verify("approval", b"messagE", &signature));
    assert!(!b.public().verify("approval", b"message", &signature));
    // The neutral point: signatures under it are good for most messages.
    assert!(format!("01{}", "0".repeat(62)).parse::<PublicKey>().is_err());
}

#[test]
fn heads_and_keys_are_text_and_back() {
    let owner = Owner::new();
    let head = owner.notes(&some());
    assert_eq!(head.to_string().parse::<Head>().unwrap(), head);
    assert_eq!(owner.public().to_string().parse::<PublicKey>().unwrap(), owner.public());
    let zeros = "0".repeat(64);
    assert_eq!(format!("0:{zeros}").parse::<Head>().unwrap(), Head::START);
    for text in [
        "",
        "5",
        "5:",
        &zeros,
        &format!("+5:{zeros}"),
        &format!("5:{zeros}0"),
        &format!("-1:{zeros}"),
        &format!("5:{zeros} "),
    ] {
        assert!(text.parse::<Head>().is_err(), "{text}");
    }
}

#[test]
fn threads_take_turns() {
    let owner = Owner::new();
    let log = owner.open().unwrap();
    let heads: Vec<Head> = thread::scope(|scope| {
        let note = |n: usize| {
            let log = &log;
            move || {
                (0..25)
                    .map(|i| log.append(&of_job(&format!("{n}.{i}"), "ok")).unwrap())
                    .collect::<Vec<_>>()
            }
        };
        let threads: Vec<_> = (0..8).map(|n| scope.spawn(note(n))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let mut numbers: Vec<u64> = heads.iter().map(|head| head.sequence).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=200).collect::<Vec<_>>());
    assert_eq!(owner.verify().unwrap(), log.head());
    assert!(heads.iter().all(|head| contains(&owner.path, head).unwrap()));
    assert!(
        matches!(owner.open(), Err(AuditError::Busy { .. })),
        "one at a time, in one process too"
    );
}

/// Which part of a test a process of its own plays.
const PART: &str = "CENOTE_TEST_AUDIT_PART";
const DIR: &str = "CENOTE_TEST_AUDIT_DIR";

fn play(part: &str, dir: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "a_process_of_its_own", "--nocapture"]).env(PART, part).env(DIR, dir);
    command.stdout(Stdio::piped());
    command
}

/// Does nothing by itself: other tests start it.
#[test]
fn a_process_of_its_own() {
    let Ok(part) = env::var(PART) else { return };
    let dir = PathBuf::from(env::var_os(DIR).unwrap());
    let path = dir.join("audit.log");
    match part.as_str() {
        "note until killed" => {
            let key = Arc::new(OwnerKey::load_or_create(&dir.join("owner.key")).unwrap());
            let log = AuditLog::open(&path, key).unwrap();
            loop {
                println!("head {}", log.append(&of_job("j", "ok")).unwrap());
            }
        }
        "verify" => {
            let key = PublicKey::load(&dir.join("owner.pub")).unwrap();
            let before = peak();
            let head = verify(&path, &key).unwrap();
            println!("head {head}\ngrew {}", peak() - before);
        }
        other => panic!("{other}"),
    }
}

/// Most KiB of memory that this process had.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

#[test]
fn a_second_process_is_kept_out_and_a_killed_one_loses_nothing_it_reported() {
    let owner = Owner::new();
    let mut last = Head::START;
    for _ in 0..3 {
        let mut other = play("note until killed", owner.path.parent().unwrap()).spawn().unwrap();
        let mut lines = BufReader::new(other.stdout.take().unwrap()).lines();
        let mut reported = 0;
        while reported < 20 {
            let line = lines.next().unwrap().unwrap();
            let Some(head) = line.split_once("head ").map(|(_, head)| head) else { continue };
            last = head.parse().unwrap();
            reported += 1;
        }
        assert!(matches!(owner.open(), Err(AuditError::Busy { .. })));
        other.kill().unwrap();
        other.wait().unwrap();
        for line in lines.map_while(Result::ok) {
            if let Some(Ok(head)) = line.split_once("head ").map(|(_, head)| head.parse()) {
                last = head;
            }
        }
        assert!(contains(&owner.path, &last).unwrap());
        let log = owner.open().unwrap();
        assert!(log.head().sequence >= last.sequence);
        assert_eq!(owner.verify().unwrap(), log.head());
    }
}

#[test]
fn a_long_log_is_verified_in_little_memory() {
    // Where there is no disk to wait for, if there is such a place.
    let memory = Path::new("/dev/shm");
    let owner = if memory.is_dir() { Owner::within(memory) } else { Owner::new() };
    let entry = Entry { own: map(json!({"x": "x".repeat(2000)})), ..of_job("j", "ok") };
    let log = owner.open().unwrap();
    for _ in 0..10_000 {
        log.append(&entry).unwrap();
    }
    let size = fs::metadata(&owner.path).unwrap().len();
    assert!(size > 20 << 20);
    let output = play("verify", owner.path.parent().unwrap()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&format!("head {}", log.head())), "{text}");
    let grew = text.lines().find_map(|line| line.strip_prefix("grew ")).unwrap();
    let grew: u64 = grew.parse().unwrap();
    assert!(grew < 2 << 10, "{grew} KiB for a log of {size} bytes");
}

/// Two organisations, each with its entries, and what they differ in.
fn differ(a: &[Entry], b: &[Entry]) -> cenote_service::audit::Difference {
    let (in_a, in_b) = (Owner::new(), Owner::new());
    // So that neither begins before the other's first job.
    in_a.notes(&[own("service.began")]);
    in_b.notes(&[own("service.began")]);
    in_a.notes(a);
    in_b.notes(b);
    let found = diff(&in_a.path, &in_a.public(), &in_b.path, &in_b.public()).unwrap();
    let back = diff(&in_b.path, &in_b.public(), &in_a.path, &in_a.public()).unwrap();
    assert_eq!((&found.a, &found.b), (&back.b, &back.a), "whichever is called a");
    found
}

#[test]
fn logs_with_the_same_facts_agree_in_any_order_of_jobs() {
    let jobs: Vec<Entry> = ["j1", "j2", "j3"].map(|job| of_job(job, "ok")).into();
    let same = differ(&jobs, &jobs);
    assert!(same.is_none() && same.agreed == 3 && same.before == 0);
    assert_eq!(same.to_string(), "both logs say the same of 3 jobs");
    let mut turned = jobs.clone();
    turned.reverse();
    assert!(differ(&jobs, &turned).is_none());
    let mut else_where = jobs.clone();
    for entry in &mut else_where {
        (entry.kind, entry.peer, entry.own) =
            ("job.ended".into(), Some("south".into()), Map::new());
    }
    assert!(differ(&jobs, &else_where).is_none(), "kind, peer and own facts are each side's own");
    let twice = [jobs.clone(), vec![of_job("j1", "paid")]].concat();
    assert!(differ(&twice, &twice).is_none());
}

#[test]
fn another_outcome_is_found_in_both() {
    let a = [of_job("j1", "ok"), of_job("j2", "ok"), of_job("j3", "ok")];
    let b = [of_job("j3", "o\u{1b}[2Jk"), of_job("j1", "ok"), of_job("j2", "failed")];
    let found = differ(&a, &b);
    assert_eq!(found.agreed, 1);
    let (in_a, in_b) = (found.a.clone().unwrap(), found.b.clone().unwrap());
    assert_eq!((in_a.line, in_a.job.as_str(), in_b.line, in_b.job.as_str()), (3, "j2", 2, "j3"));
    let facts = vec![("outcome".to_owned(), Some(json!("ok")), Some(json!("failed")))];
    assert_eq!(in_a.there, Gap::Other { line: 4, facts });
    let text = found.to_string();
    assert!(text.contains("outcome: \"ok\" in a, \"failed\" in b"), "{text}");
    assert!(text.contains("other facts in line 4 of b"), "{text}");
    assert!(!text.contains('\u{1b}'), "nothing for the terminal");
}

#[test]
fn a_job_that_one_side_misses_is_found_in_the_other() {
    let a = [of_job("j1", "ok"), of_job("j2", "ok"), of_job("j3", "ok")];
    let found = differ(&a, &[of_job("j1", "ok"), of_job("j3", "ok"), own("service.ended")]);
    let missing = found.a.clone().unwrap();
    assert_eq!(
        (missing.line, missing.there, found.b.clone()),
        (3, Gap::Missing { ended: false }, None)
    );
    assert!(found.to_string().contains("line 3") && found.to_string().contains("missing in b"));
    // The second entry of a job.
    let found = differ(
        &[of_job("j1", "ok"), of_job("j1", "ok")],
        &[of_job("j1", "ok"), own("service.ended")],
    );
    assert_eq!((found.a.unwrap().line, found.b), (3, None));
}

#[test]
fn what_comes_after_the_end_of_the_other_log_is_said_to() {
    let (a, b) = (Owner::new(), Owner::new());
    a.notes(&[of_job("j1", "ok")]);
    b.notes(&[of_job("j1", "ok")]);
    thread::sleep(std::time::Duration::from_millis(5));
    a.notes(&[of_job("j2", "ok")]);
    let found = diff(&a.path, &a.public(), &b.path, &b.public()).unwrap();
    assert_eq!(found.a.as_ref().unwrap().there, Gap::Missing { ended: true });
    assert!(found.to_string().contains("take a new copy"));
}

#[test]
fn jobs_from_before_the_other_log_begins_are_counted_and_left_aside() {
    let (a, b) = (Owner::new(), Owner::new());
    a.notes(&[of_job("old", "ok"), of_job("long", "begun")]);
    thread::sleep(std::time::Duration::from_millis(5));
    b.notes(&[of_job("long", "done")]);
    a.notes(&[of_job("long", "done")]);
    let found = diff(&a.path, &a.public(), &b.path, &b.public()).unwrap();
    assert!(found.is_none(), "{found}");
    assert_eq!((found.agreed, found.before), (1, 1));
    assert!(found.to_string().contains("; 1 job ended before 2"), "{found}");
    // What b has and a has not is no matter of time; nor is a log without a line an excuse.
    b.notes(&[of_job("new", "ok")]);
    assert_eq!(diff(&a.path, &a.public(), &b.path, &b.public()).unwrap().b.unwrap().job, "new");
    let empty = Owner::new();
    empty.notes(&[]);
    let found = diff(&a.path, &a.public(), &empty.path, &empty.public()).unwrap();
    assert_eq!((found.a.unwrap().line, found.since), (1, None));
}

#[test]
fn a_clock_that_is_ahead_makes_no_difference() {
    let (a, b) = (Owner::new(), Owner::new());
    a.notes(&[of_job("j1", "ok")]);
    thread::sleep(std::time::Duration::from_millis(5));
    // One event, and the first line of either log.
    b.notes(&[of_job("j1", "ok")]);
    let found = diff(&a.path, &a.public(), &b.path, &b.public()).unwrap();
    assert!(found.is_none(), "{found}");
    assert_eq!((found.agreed, found.before), (1, 0));
}

#[test]
fn jobs_with_other_organisations_can_be_left_aside() {
    let (a, b) = (Owner::new(), Owner::new());
    let with_c = Entry { peer: Some("c".into()), ..of_job("j2", "ok") };
    a.notes(&[own("service.began")]);
    b.notes(&[of_job("j1", "ok"), own("service.ended")]);
    a.notes(&[with_c, of_job("j1", "ok")]);
    let (a_key, b_key) = (a.public(), b.public());
    let in_a = Side { log: &a.path, key: &a_key, peer: Some("north") };
    let in_b = Side { log: &b.path, key: &b_key, peer: None };
    assert!(diff_between(&in_a, &in_b).unwrap().is_none());
    assert!(!diff(&a.path, &a_key, &b.path, &b_key).unwrap().is_none());
}

#[test]
fn logs_are_verified_before_they_are_compared() {
    let (a, b) = (Owner::new(), Owner::new());
    a.notes(&some());
    b.notes(&some());
    let mut lines = b.lines();
    lines[3] = lines[3].replace("failed", "ok");
    b.rewrite(&lines);
    assert_eq!(damaged(diff(&a.path, &a.public(), &b.path, &b.public())).0, 4);
    assert_eq!(damaged(diff(&a.path, &b.public(), &b.path, &b.public())).0, 1);
}

/// Any JSON that is no deeper than people write.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((".{0,6}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn facts() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((".{0,6}", json_value()), 0..4)
        .prop_map(|members| members.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_noted_can_be_verified_and_read_again(
        own in facts(), shared in prop::option::of(facts()), job in ".{0,9}", peer in prop::option::of(".{0,9}"),
    ) {
        let owner = Owner::new();
        let entry = Entry { kind: "job.done".into(), peer, job: Some(job), shared, own };
        let head = owner.notes(&[entry.clone(), entry.clone()]);
        prop_assert_eq!(owner.verify().unwrap(), head);
        prop_assert_eq!(owner.open().unwrap().head(), head);
        prop_assert_eq!(&serde_json::from_value::<Entry>(owner.values()[1].clone()).unwrap(), &entry);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1))]

    #[test]
    fn any_changed_byte_is_found(differences in prop::collection::vec(1u8..=255, 64)) {
        let owner = Owner::new();
        owner.notes(&some());
        let whole = fs::read(&owner.path).unwrap();
        for at in 0..whole.len() {
            // Each bit, and another difference.
            let bit = 1 << (at % 8);
            for difference in [bit, differences[at % 64], 0x20] {
                let mut bytes = whole.clone();
                bytes[at] ^= difference;
                fs::write(&owner.path, &bytes).unwrap();
                let line = whole[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
                prop_assert_eq!(damaged(owner.verify()).0, line as u64, "byte {} ^ {}", at, difference);
            }
        }
    }

    #[test]
    fn any_byte_more_or_less_is_found(other in any::<u8>()) {
        let owner = Owner::new();
        owner.notes(&some()[..2]);
        let whole = fs::read(&owner.path).unwrap();
        for at in 0..=whole.len() {
            let mut bytes = whole.clone();
            bytes.insert(at, other);
            fs::write(&owner.path, &bytes).unwrap();
            prop_assert!(owner.verify().is_err(), "{} at {}", other, at);
            if at < whole.len() {
                let mut bytes = whole.clone();
                bytes.remove(at);
                fs::write(&owner.path, &bytes).unwrap();
                prop_assert!(owner.verify().is_err(), "without byte {}", at);
            }
        }
    }
}
