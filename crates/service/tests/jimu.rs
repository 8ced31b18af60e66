//! Services whose jobs run on `jimu`: what is ready is made beside jobs, and whoever is cheated is told alone.

mod common;

use std::time::Duration;

use cenote_pool::Store as _;
use cenote_service::Service;
use cenote_service::model::{JobState, LaneView, NewJob, Sides};
use common::{Pair, approve, open_store, prepared};
use serde_json::json;

const LONG: Duration = Duration::from_secs(120);
const READY: u64 = 2000;

fn start() -> Pair {
    let (temp, dirs, _) = prepared();
    for dir in &dirs {
        let file = dir.join("cenote.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(file, text.replace("[pool]", "[pool]\nbackend = \"jimu:pool=3000\""))
            .unwrap();
    }
    let pair = Pair::of(temp, dirs);
    approve(&pair, Sides::Own, Sides::Peer);
    pair
}

fn is_less(pair: &Pair, x: u32) -> bool {
    let job = NewJob {
        program: "less".into(),
        inputs: [("x".to_owned(), json!(x))].into(),
        select: [("which".to_owned(), "five".to_owned())].into(),
        ..NewJob::default()
    };
    let (job, _) = pair.a().submit(&job).unwrap();
    let ended = pair.a().wait(&job.id, LONG).unwrap();
    assert_eq!(ended.state, JobState::Done, "{:?} {:?}", ended.reason, small(pair.a()));
    pair.b().wait(&job.id, LONG).unwrap();
    ended.result.unwrap()["z"] == json!(true)
}

fn small(service: &Service) -> LaneView {
    service.status().unwrap().lanes.swap_remove(0)
}

fn until(what: &str, is: impl FnMut() -> bool) {
    common::until(LONG, what, is);
}

#[test]
fn what_jobs_take_is_made_again_beside_them_and_outlives_a_restart() {
    let mut pair = start();
    assert!(is_less(&pair, 3));
    // More than was ready at first, so that some is made after that.
    let most = small(pair.a()).ready;
    for x in 0..u32::try_from(most / 32 + 8).unwrap() {
        assert_eq!(is_less(&pair, x % 9), x % 9 < 5);
    }
    // Between the marks.
    until("as much is ready as is to be", || {
        [pair.a(), pair.b()].iter().all(|side| small(side).ready >= READY * 3 / 4)
    });
    for side in 0..2 {
        pair.restart(side);
        assert!(!is_less(&pair, 5));
    }
    let used = pair.journals();
    assert!(used[0] > most && used[0] == used[1], "{used:?} of {most}");
    pair.stop();
}

#[test]
fn both_have_the_same_protocol_and_take_another_one_when_stores_are_ended() {
    let mut pair = start();
    assert!(is_less(&pair, 3));
    let pools = small(pair.a()).pools;
    pair.stop_one(0);
    pair.configure(0, "jimu:pool=3000", "wrk");
    pair.start_one(0);
    let reason = |pair: &Pair, side: usize| {
        let side = [pair.a(), pair.b()][side];
        small(side).reason.unwrap_or_default()
    };
    until("the lanes say why", || (0..2).all(|side| reason(&pair, side).contains("jimu")));
    pair.stop_one(1);
    pair.configure(1, "jimu:pool=3000", "wrk");
    pair.start_one(1);
    // What is kept is not destroyed by a setting.
    until("a lane says why", || reason(&pair, 0).contains("by another backend"));
    (0..2).for_each(|side| pair.stop_one(side));
    for side in 0..2 {
        for lane in ["small", "large"] {
            open_store(pair.dir(side), lane).end(false).unwrap();
        }
        pair.start_one(side);
    }
    assert!(is_less(&pair, 3));
    // Whatever the protocol, pools count for the relation.
    assert!(small(pair.a()).pools > pools);
    pair.stop();
}

#[test]
fn what_keeps_no_items_serves_no_jobs() {
    let (_temp, [dir, _], _) = prepared();
    let file = dir.join("cenote.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    for (backend, why) in [
        ("yao", "wrk or jimu"),
        ("jimu:pool=3", "backend"),
        ("wrk:pool", "NAME=VALUE"),
        ("none", "wrk"),
    ] {
        let line = format!("[pool]\nbackend = \"{backend}\"");
        std::fs::write(&file, text.replace("[pool]", &line)).unwrap();
        let Err(error) = Service::start(&dir) else { panic!("{backend} starts") };
        assert!(error.what.contains(why), "{error}");
    }
    // Nor does one that would never make more.
    for percent in [0, 101] {
        let line = format!("[pool]\nlow_percent = {percent}");
        std::fs::write(&file, text.replace("[pool]", &line)).unwrap();
        let Err(error) = Service::start(&dir) else { panic!("{percent} starts") };
        assert!(error.what.contains("low_percent"), "{error}");
    }
    // Nor does one that would never have as much ready as is asked for.
    std::fs::write(&file, text.replace("large = 2000", "large = 1048577")).unwrap();
    let Err(error) = Service::start(&dir) else { panic!("it starts") };
    assert!(error.what.contains("at most"), "{error}");
}

/// The evaluator remembers what it saw in its store: `Found` in crates/engine/src/backends/jimu/kept.rs.
#[test]
fn who_was_cheated_is_told_alone() {
    let mut pair = start();
    assert!(is_less(&pair, 3));
    (0..2).for_each(|side| pair.stop_one(side));
    let mut store = open_store(pair.dir(1), "small");
    let mut secrets = store.secrets().unwrap().to_vec();
    let found = secrets.len() - (1 + 32 + 8 + 96);
    assert_eq!(secrets[found..], [0; 137], "nothing was found yet");
    let (session, wire, labels) = ([0xab; 32], 77_u64.to_le_bytes(), [[1; 48], [2; 48]].concat());
    // 2: in an epoch before this one.
    secrets.splice(found.., [&[2][..], &session, &wire, &labels].concat());
    store.amend(&secrets).unwrap();
    drop(store);
    let log = |pair: &Pair| std::fs::read_to_string(pair.dir(1).join("audit.log")).unwrap();
    (0..2).for_each(|side| pair.start_one(side));
    assert!(is_less(&pair, 3) && !is_less(&pair, 7));
    until("its owner is told", || pair.b().status().unwrap().peer.cheated == Some(true));
    let file = pair.dir(1).join(format!("evidence/labels-{}-77.json", "ab".repeat(8)));
    // Nothing else has changed: jobs run, nothing is held, and what the peer sees of the audit log is of jobs alone.
    assert!(is_less(&pair, 4));
    let [own, theirs] = [pair.b(), pair.a()].map(|side| side.status().unwrap().peer);
    assert!(!own.held && !theirs.held && theirs.cheated == Some(false));
    assert!(!pair.dir(0).join("evidence").exists());
    assert!(!log(&pair).contains("evidence") && !log(&pair).contains("cheat"));
    // When it is written depends on nothing that the peer could see: it is by now, or at the end.
    pair.stop_one(1);
    let kept: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(kept["session"], json!("ab".repeat(32)));
    assert_eq!(kept["labels"], json!(["01".repeat(48), "02".repeat(48)]));
    // Once, and told again after a restart.
    pair.start_one(1);
    assert_eq!(pair.b().status().unwrap().peer.cheated, Some(true));
    assert!(is_less(&pair, 3));
    pair.restart(1);
    assert_eq!(std::fs::read_dir(pair.dir(1).join("evidence")).unwrap().count(), 1);
    pair.stop();
}
