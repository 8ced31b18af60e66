//! Jobs that are taken back while they run, over real sockets: they end for both owners, nobody is taken for a cheat, and others go on.

mod common;

use std::path::Path;
use std::time::Duration;

use cenote_service::Service;
use cenote_service::audit::{PublicKey, diff};
use cenote_service::model::{JobState, LaneView, NewJob, Sides, Source, Terms};
use common::{Pair, approve, long, prepared, terms};
use serde_json::json;

const LONG: Duration = Duration::from_secs(120);

fn until(what: &str, is: impl FnMut() -> bool) {
    common::until(LONG, what, is);
}

/// Two services that cut one session a day, with programs that take long and very long.
fn pair() -> Pair {
    let (temp, dirs, _) = prepared();
    for dir in &dirs {
        let file = dir.join("cenote.toml");
        let config = std::fs::read_to_string(&file).unwrap();
        std::fs::write(file, config + "cuts_a_day = 1\n").unwrap();
    }
    let pair = Pair::of(temp, dirs);
    approve(&pair, Sides::Own, Sides::Peer);
    for (program, steps) in [("long", 1000), ("longer", 60_000)] {
        for (service, input, sides) in [(pair.a(), "x", Sides::Both), (pair.b(), "y", Sides::Both)]
        {
            service.register(program, long(program, steps).as_bytes()).unwrap();
            let table = Source::Record {
                dataset: "own".into(),
                key: "name".into(),
                parameter: "own".into(),
                columns: [].into(),
            };
            let dir = service.config().dir.join("data/own.csv");
            std::fs::write(&dir, format!("name,{input}\none,3\n")).unwrap();
            service.bind("own", &dir, None).unwrap();
            let terms = Terms { program: program.into(), ..terms(sides, None, table, input) };
            service.approve(terms).unwrap();
        }
    }
    for service in [pair.a(), pair.b()] {
        until("both lanes are ready", || service.is_ready());
    }
    pair
}

fn job(program: &str) -> NewJob {
    let select = [("own".to_owned(), "one".to_owned())].into();
    NewJob { program: program.into(), select, ..NewJob::default() }
}

fn lane(service: &Service, name: &str) -> LaneView {
    service.status().unwrap().lanes.into_iter().find(|lane| lane.name == name).unwrap()
}

fn runs(service: &Service, id: &str) -> bool {
    service.job(id).is_ok_and(|job| job.state == JobState::Running)
}

/// Until both have begun and said so.
fn is_under_way(asks: &Service, other: &Service, id: &str) {
    until("it runs on both", || runs(asks, id) && runs(other, id));
    std::thread::sleep(Duration::from_millis(500));
    assert!(runs(asks, id) && runs(other, id), "it was over too soon");
}

fn spent(service: &Service) -> Vec<u64> {
    service.approvals().unwrap().iter().map(|one| one.spent).collect()
}

fn log(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("audit.log")).unwrap()
}

#[test]
fn a_large_job_that_is_taken_back_ends_with_its_session_and_nothing_else() {
    let pair = pair();
    let (first, second) = (pair.a(), pair.b());
    for (asks, other) in [(first, second), (second, first)] {
        let pools = lane(asks, "large").pools;
        let small = [first, second].map(|service| lane(service, "small").pools);
        let (long, _) = asks.submit(&job("longer")).unwrap();
        is_under_way(asks, other, &long.id);
        // Others wait behind it, and beside it.
        let (waits, _) = asks.submit(&job("long")).unwrap();
        // Who was asked cannot take it back.
        let refused = other.cancel(&long.id).unwrap_err();
        assert!(refused.what.contains("is the peer's"), "{refused}");
        let ended = asks.cancel(&long.id).unwrap();
        assert_eq!(ended.state, JobState::Cancelled);
        assert_eq!(ended.reason.unwrap(), "the own owner took it back while it ran");
        let theirs = other.wait(&long.id, LONG).unwrap();
        assert_eq!(theirs.state, JobState::Cancelled, "{:?}", theirs.reason);
        assert_eq!(theirs.reason.unwrap(), "the peer's owner took it back while it ran");
        let done = asks.wait(&waits.id, LONG).unwrap();
        assert_eq!(done.state, JobState::Done, "{:?}", done.reason);
        assert_eq!(other.wait(&waits.id, LONG).unwrap().state, JobState::Done);
        // Another session, from another pool; the other lane kept its own.
        assert!(lane(asks, "large").pools > pools);
        assert_eq!([first, second].map(|service| lane(service, "small").pools), small);
        assert!(!first.status().unwrap().peer.held && !second.status().unwrap().peer.held);
        assert!(asks.cancel(&long.id).unwrap_err().what.contains("has ended"));
    }
    // The use of each job is spent, on both sides.
    for now in [spent(first), spent(second)] {
        assert_eq!(now.iter().sum::<u64>(), 4, "{now:?}");
    }
    // More than one session a day is cut for nobody: the next ones end for their owner, and run on.
    for asks in [first, second] {
        let other = if std::ptr::eq(asks, first) { second } else { first };
        let pools = lane(asks, "large").pools;
        let (again, _) = asks.submit(&job("long")).unwrap();
        is_under_way(asks, other, &again.id);
        let ended = asks.cancel(&again.id).unwrap();
        assert!(ended.reason.unwrap().contains("the run goes on to its end"));
        let theirs = other.wait(&again.id, LONG).unwrap();
        assert_eq!(theirs.state, JobState::Done, "{:?}", theirs.reason);
        assert!(theirs.result.is_some());
        let own = asks.job(&again.id).unwrap();
        assert_eq!((own.state, own.result), (JobState::Cancelled, None));
        assert_eq!(lane(asks, "large").pools, pools, "no session was cut");
    }
    let dirs = [0, 1].map(|side| pair.dir(side).to_owned());
    pair.stop_and(|| {
        for dir in &dirs {
            let log = log(dir);
            assert!(log.contains("job.cancelled") && !log.contains("peer.held"), "{log}");
        }
        // What was computed to its end is in both logs, taken back or not.
        let keys = dirs.each_ref().map(|dir| PublicKey::load(&dir.join("owner.pub")).unwrap());
        let logs = dirs.each_ref().map(|dir| dir.join("audit.log"));
        let difference = diff(&logs[0], &keys[0], &logs[1], &keys[1]).unwrap();
        assert!(difference.is_none(), "{difference}");
    });
}

/// Whenever it comes: each job ends on both sides, and none in a hold.
#[test]
fn small_jobs_are_taken_back_at_any_moment_and_those_beside_them_are_done() {
    let pair = pair();
    let compare = |x: u32| NewJob {
        program: "less".into(),
        inputs: [("x".to_owned(), json!(x))].into(),
        select: [("which".to_owned(), "five".to_owned())].into(),
        ..NewJob::default()
    };
    let pools = lane(pair.a(), "small").pools;
    for round in 0..12_u64 {
        let jobs: Vec<String> =
            (0..6).map(|x| pair.a().submit(&compare(x)).unwrap().0.id).collect();
        std::thread::sleep(Duration::from_millis(round));
        let taken = pair.a().cancel(&jobs[2]);
        for (x, id) in jobs.iter().enumerate() {
            let job = pair.a().wait(id, LONG).unwrap();
            match job.state {
                JobState::Cancelled => assert!(x == 2 && job.result.is_none()),
                JobState::Done => assert_eq!(job.result.unwrap()["z"], json!(x < 5)),
                other => panic!("{other:?} {:?}", job.reason),
            }
            assert_eq!(taken.is_ok() && x == 2, job.state == JobState::Cancelled);
            let theirs = pair.b().wait(id, LONG);
            assert!(theirs.is_err() && x == 2 || theirs.unwrap().state.is_end());
        }
    }
    assert_eq!(lane(pair.a(), "small").pools, pools, "no session ended");
    assert!(!pair.a().status().unwrap().peer.held && !pair.b().status().unwrap().peer.held);
    pair.stop();
}

/// A stop waits for a job that runs, and then cuts it: it says that, and not that a line broke.
#[test]
fn a_job_that_a_stop_cuts_says_so() {
    let mut pair = pair();
    let (asked, _) = pair.a().submit(&job("longer")).unwrap();
    is_under_way(pair.a(), pair.b(), &asked.id);
    pair.stop_one(0);
    until("the other has noticed", || {
        pair.b().job(&asked.id).is_ok_and(|job| job.state == JobState::Failed)
    });
    pair.start_one(0);
    let ended = pair.a().job(&asked.id).unwrap();
    assert_eq!(ended.state, JobState::Failed);
    assert_eq!(ended.reason.as_deref(), Some("the service stopped while it ran; submit it again"));
    pair.stop();
}
