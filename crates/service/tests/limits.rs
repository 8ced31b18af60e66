//! What whoever asks may take, and how small a group may be: each service decides by itself, over real sockets and restarts.

mod common;

use std::time::Duration;

use cenote_service::model::{JobState, NewJob, Sides, Source, Terms};
use cenote_service::{ErrorKind, Service};
use common::{LESS, Pair, approve, prepared, record, terms};
use serde_json::json;

const LONG: Duration = Duration::from_secs(60);

fn compare(x: u32) -> NewJob {
    NewJob {
        program: "less".into(),
        inputs: [("x".to_owned(), json!(x))].into(),
        select: [("which".to_owned(), "five".to_owned())].into(),
        ..NewJob::default()
    }
}

fn configure(dir: &std::path::Path, more: &str) {
    let file = dir.join("cenote.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let config = config.split("[quota").next().unwrap();
    std::fs::write(&file, format!("{config}{more}")).unwrap();
}

#[test]
fn a_token_takes_what_its_quota_has_and_a_restart_gives_nothing_back() {
    let (temp, dirs, _) = prepared();
    configure(&dirs[0], "[quota.each]\njobs = 2\n[quota.token.big]\nands = 96\nmost_waiting = 1\n");
    let mut pair = Pair::of(temp, dirs);
    approve(&pair, Sides::Own, Sides::Peer);
    let ask = |service: &Service, token: &str| {
        let (job, _) = service.submit_as(&compare(3), token)?;
        let ended = service.wait(&job.id, LONG)?;
        assert_eq!(ended.state, JobState::Done, "{:?}", ended.reason);
        Ok::<_, cenote_service::ServiceError>(())
    };
    for _ in 0..2 {
        ask(pair.a(), "billing").unwrap();
    }
    let refused = ask(pair.a(), "billing").unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Quota);
    assert!(refused.what.contains("`billing` is used up: 2 jobs in 86400 s"), "{refused}");
    // Each token has its own; a comparison has 32 ANDs.
    ask(pair.a(), "other").unwrap();
    for _ in 0..3 {
        ask(pair.a(), "big").unwrap();
    }
    assert!(ask(pair.a(), "big").unwrap_err().what.contains("96 ANDs in 86400 s"));
    pair.restart(0);
    for token in ["billing", "big"] {
        assert_eq!(ask(pair.a(), token).unwrap_err().kind, ErrorKind::Quota, "{token}");
    }
    // Those that wait count as well, and do so when they begin under another configuration.
    pair.stop_one(1);
    pair.a().submit_as(&compare(1), "new").unwrap();
    let (late, _) = pair.a().submit_as(&compare(1), "new").unwrap();
    assert_eq!(pair.a().submit_as(&compare(1), "new").unwrap_err().kind, ErrorKind::Quota);
    pair.stop_one(0);
    configure(pair.dir(0), "[quota.each]\njobs = 1\n");
    pair.start_one(0);
    pair.start_one(1);
    let ended = pair.a().wait(&late.id, LONG).unwrap();
    assert_eq!(ended.state, JobState::Refused, "{:?}", ended.reason);
    assert!(ended.reason.unwrap().contains("the quota of `new` is used up: 1 jobs"));
    let theirs = pair.b().wait(&late.id, LONG).unwrap();
    assert!(theirs.state.is_end() && theirs.state != JobState::Done, "{theirs:?}");
    // Token names and what they may take are not in what owners show each other.
    let log = std::fs::read_to_string(pair.dir(0).join("audit.log")).unwrap();
    assert!(!log.contains("`new`") && !log.contains("is used up"), "{log}");
    pair.stop();
}

#[test]
fn a_peer_takes_what_its_quota_has() {
    let (temp, dirs, _) = prepared();
    configure(&dirs[1], "[quota.peer]\nands = 64\n");
    let pair = Pair::of(temp, dirs);
    approve(&pair, Sides::Own, Sides::Peer);
    for expected in [JobState::Done, JobState::Done, JobState::Refused] {
        let (job, _) = pair.a().submit(&compare(3)).unwrap();
        let ended = pair.a().wait(&job.id, LONG).unwrap();
        assert_eq!(ended.state, expected, "{:?}", ended.reason);
        if expected == JobState::Refused {
            let reason = ended.reason.unwrap();
            assert!(reason.contains("or your jobs took what it allows in a period"), "{reason}");
        }
    }
    pair.stop();
}

/// Whether the garbler's number is less than the evaluator's, of groups as large as both say.
const GROUPED: &str = "cenote 1
program grouped \"the sum of two numbers, zero below what both ask for\"
input x: garbler uint b32
input least: garbler uint b16
input y: evaluator uint b32
input their_least: evaluator uint b16
{
  %4 = add %0, %2
  %5 = max %1, %3
  %6 = zext{width=32} %5
  %7 = le %6, %4
  %8 = const b32 0x0
  %9 = mux %7, %4, %8
}
output z: both uint %9
";

fn grouped(x: u32, smallest: &str) -> NewJob {
    NewJob {
        program: "grouped".into(),
        inputs: [("x".to_owned(), json!(x))].into(),
        select: [("which", "five"), ("smallest", smallest)]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .into(),
        ..NewJob::default()
    }
}

/// The owner of `y` lets the peer have groups from `least` on, or says nothing of it.
fn give(pair: &Pair, least: Option<u64>) -> Result<i64, cenote_service::ServiceError> {
    let mut given = terms(Sides::Peer, None, record(), "y");
    if let Some(least) = least {
        let public = Source::Public { parameter: "smallest".into(), least };
        given.inputs.insert("their_least".into(), public);
    }
    pair.b().approve(Terms { program: "grouped".into(), ..given }).map(|given| given.id)
}

fn take(pair: &Pair, least: u64) {
    let mut own = terms(Sides::Own, None, Source::Submitter, "x");
    own.inputs.insert("least".into(), Source::Public { parameter: "smallest".into(), least });
    pair.a().approve(Terms { program: "grouped".into(), ..own }).unwrap();
}

#[test]
fn a_smallest_group_is_one_number_of_the_own_side_and_stays() {
    let pair = Pair::start();
    for wrong in ["least", "x", "z", ""] {
        let refused = pair.b().register_with("grouped", GROUPED.as_bytes(), Some(wrong));
        assert_eq!(refused.unwrap_err().kind, ErrorKind::Invalid, "{wrong}");
    }
    let table = LESS.replace("b32", "2xb32");
    let refused = pair.b().register_with("table", table.as_bytes(), Some("y")).unwrap_err();
    assert!(refused.what.contains("`y` is not one whole number"), "{refused}");
    // It has one, and no other.
    pair.b().register_with("grouped", GROUPED.as_bytes(), Some("y")).unwrap();
    let other = pair.b().register_with("grouped", GROUPED.as_bytes(), Some("their_least"));
    assert_eq!(other.unwrap_err().kind, ErrorKind::Conflict);
    pair.stop();
}

#[test]
fn a_group_is_as_large_as_each_owner_says() {
    let pair = Pair::start();
    let made = pair.a().register_with("grouped", GROUPED.as_bytes(), Some("least")).unwrap();
    assert_eq!(made.smallest_group.as_deref(), Some("least"));
    // Whoever registers it again does not lose it.
    let again = pair.a().register("grouped", GROUPED.as_bytes()).unwrap();
    assert_eq!(again.smallest_group.as_deref(), Some("least"));
    pair.b().register("grouped", GROUPED.as_bytes()).unwrap();
    // Before its owner names it, an approval may leave it to anybody but the submitter.
    assert!(give(&pair, None).unwrap_err().what.contains("`their_least`"));
    let early = give(&pair, Some(0)).unwrap();
    take(&pair, 1);
    let ask = |smallest: &str| {
        let (job, _) = pair.a().submit(&grouped(3, smallest))?;
        Ok::<_, cenote_service::ServiceError>(pair.a().wait(&job.id, LONG).unwrap())
    };
    let done = ask("8").unwrap();
    assert_eq!((done.state, done.result.unwrap()["z"].clone()), (JobState::Done, json!(8)));
    assert_eq!(ask("9").unwrap().result.unwrap()["z"], json!(0));
    // From now on one that does not say how small it may be permits nothing: neither what waits nor what is asked for.
    pair.b().register_with("grouped", GROUPED.as_bytes(), Some("their_least")).unwrap();
    assert!(give(&pair, None).unwrap_err().what.contains("has a smallest group"));
    assert!(give(&pair, Some(0)).unwrap_err().what.contains("has a smallest group"));
    let refused = ask("8").unwrap();
    assert_eq!(refused.state, JobState::Refused);
    assert!(refused.reason.unwrap().contains("has not approved"));
    let spent =
        |id: i64| pair.b().approvals().unwrap().iter().find(|one| one.id == id).unwrap().spent;
    assert_eq!(spent(early), 2);
    // The peer asks for smaller ones, and for what is no number.
    let five = give(&pair, Some(5)).unwrap();
    for (smallest, state) in
        [("5", JobState::Done), ("4", JobState::Refused), ("8", JobState::Done)]
    {
        assert_eq!(ask(smallest).unwrap().state, state, "{smallest}");
    }
    assert_eq!(spent(five), 2);
    // The own side refuses by itself, before anybody else hears of it.
    for smallest in ["0", "05", "-1", "x", ""] {
        let refused = ask(smallest).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Forbidden, "{smallest}: {refused}");
        assert!(refused.what.contains("permits `smallest` from 1 on"), "{smallest}: {refused}");
    }
    assert!(ask("65536").is_err(), "more than the input takes");
    // A submitter does not give it in place of the parameter.
    let mut own = grouped(3, "8");
    own.inputs.insert("least".into(), json!(1));
    let refused = pair.a().submit(&own);
    assert!(
        refused.is_err()
            || pair.a().wait(&refused.unwrap().0.id, LONG).unwrap().result.unwrap()["z"]
                == json!(8)
    );
    pair.stop();
}

#[test]
fn tables_of_earlier_versions_go_on() {
    let mut pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    let first = NewJob { idempotency_key: Some("k".into()), ..compare(3) };
    let (job, _) = pair.a().submit(&first).unwrap();
    assert_eq!(pair.a().wait(&job.id, LONG).unwrap().state, JobState::Done);
    pair.stop_one(0);
    // As a release before this one left them.
    let file = pair.dir(0).join("service.db");
    let db = rusqlite::Connection::open(&file).unwrap();
    let second = "DROP INDEX job_turn; CREATE INDEX job_next ON job (state, lane, priority DESC, number); ALTER TABLE job DROP COLUMN asked;";
    db.execute_batch(&format!("{second} PRAGMA user_version = 2;")).unwrap();
    drop(db);
    pair.start_one(0);
    // What its inputs were is not known any more.
    let other = NewJob { inputs: compare(7).inputs, ..first };
    assert_eq!(pair.a().submit_as(&other, "x").unwrap().0.id, job.id);
    pair.stop_one(0);
    let db = rusqlite::Connection::open(&file).unwrap();
    let back = "DROP INDEX job_waits; DROP TABLE drawn; DROP TABLE cut; ALTER TABLE job DROP COLUMN submitter;
        ALTER TABLE job DROP COLUMN ands; ALTER TABLE program DROP COLUMN smallest_group; PRAGMA user_version = 1;";
    db.execute_batch(&format!("{second} {back}")).unwrap();
    drop(db);
    pair.start_one(0);
    assert_eq!(pair.a().job(&job.id).unwrap().state, JobState::Done);
    assert_eq!(pair.a().approvals().unwrap()[0].spent, 1);
    let (job, _) = pair.a().submit_as(&compare(7), "x").unwrap();
    assert_eq!(pair.a().wait(&job.id, LONG).unwrap().result.unwrap()["z"], json!(false));
    pair.stop();
}

/// A key that comes again with another question: nobody is given the answer to the first one for it.
#[test]
fn a_key_is_of_one_question() {
    let mut pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    for side in [pair.a(), pair.b()] {
        side.register("other", LESS.replace("less", "other").as_bytes()).unwrap();
    }
    let keyed = |x: u32| NewJob { idempotency_key: Some("k".into()), ..compare(x) };
    let job = pair.a().submit_as(&keyed(3), "billing").unwrap().0.id;
    assert_eq!(pair.a().wait(&job, LONG).unwrap().state, JobState::Done);
    // Its inputs are forgotten by now, and the service may be another process.
    for _ in 0..2 {
        let again = NewJob { priority: 5, deadline_s: Some(9), ..keyed(3) };
        let (found, new) = pair.a().submit_as(&again, "billing").unwrap();
        assert_eq!((found.id, new), (job.clone(), false));
        let select = [("which".to_owned(), "six".to_owned())].into();
        for (other, token, what) in [
            (keyed(4), "billing", "other inputs"),
            (NewJob { select, ..keyed(3) }, "billing", "other public parameters"),
            (NewJob { program: "other".into(), ..keyed(3) }, "billing", "another program"),
            // Not whether the inputs are the same.
            (keyed(3), "else", "another token"),
            (keyed(4), "else", "another token"),
        ] {
            let refused = pair.a().submit_as(&other, token).unwrap_err();
            assert_eq!(refused.kind, ErrorKind::Conflict, "{refused}");
            assert!(refused.what.contains(what) && refused.what.contains("a key of its own"));
        }
        pair.restart(0);
    }
    // What is kept of them cannot be tried without the owner's key.
    pair.stop_one(0);
    let asked = |dir: &std::path::Path| -> Vec<u8> {
        let db = rusqlite::Connection::open(dir.join("service.db")).unwrap();
        db.query_row("SELECT asked FROM job", [], |row| row.get(0)).unwrap()
    };
    let (text, kept) = (br#"["k",{"x":3}]"#, asked(pair.dir(0)));
    assert_eq!(kept.len(), 32);
    for key in ["", "cenote 2026 service inputs of a job v1"] {
        assert_ne!(kept, blake3::derive_key(key, text));
    }
    assert_ne!(kept, blake3::hash(text).as_bytes());
    pair.start_one(0);
    pair.stop();
}
