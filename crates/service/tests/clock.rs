//! What a clock that is changed while two services run does: uses that were spent stay spent, the audit log says so, deadlines and periods go by it.
//! A process of its own, for the clock is one of all services of a process.

mod common;

use std::time::Duration;

use cenote_service::audit::{PublicKey, verify};
use cenote_service::clock;
use cenote_service::model::{JobState, JobView, NewJob, Sides, Source, Terms};
use common::Pair;
use serde_json::json;

const LONG: Duration = Duration::from_secs(60);
const HOUR: i64 = 3_600_000;

fn compare(deadline_s: Option<u64>) -> NewJob {
    NewJob {
        program: "less".into(),
        inputs: [("x".to_owned(), json!(3))].into(),
        select: [("which".to_owned(), "five".to_owned())].into(),
        deadline_s,
        ..NewJob::default()
    }
}

fn ended(pair: &Pair) -> JobView {
    let (job, _) = pair.a().submit(&compare(None)).unwrap();
    pair.a().wait(&job.id, LONG).unwrap()
}

#[test]
fn a_changed_clock_gives_no_use_back_and_is_in_the_audit_log() {
    let mut pair = Pair::start();
    pair.approve_a(Sides::Own, None);
    let source = Source::Record {
        dataset: "numbers".into(),
        key: "name".into(),
        parameter: "which".into(),
        columns: [("y".to_owned(), "y".to_owned())].into(),
    };
    let hourly = Terms { period_s: Some(3600), ..common::terms(Sides::Peer, Some(1), source, "y") };
    pair.b().approve(hourly).unwrap();
    assert_eq!(ended(&pair).state, JobState::Done);
    assert!(ended(&pair).reason.unwrap().contains("no uses left"));
    // A day back: what was spent then lies ahead, and is spent.
    clock::set_ahead(-24 * HOUR);
    assert!(ended(&pair).reason.unwrap().contains("no uses left"));
    // Two hours on: the next period.
    clock::set_ahead(2 * HOUR);
    let done = ended(&pair);
    assert_eq!(done.state, JobState::Done, "{:?}", done.reason);
    assert!(ended(&pair).reason.unwrap().contains("no uses left"));
    // A deadline goes by the clock as well, and waiting for the peer does not.
    pair.stop_one(1);
    let (job, _) = pair.a().submit(&compare(Some(600))).unwrap();
    clock::set_ahead(3 * HOUR);
    let late = pair.a().wait(&job.id, Duration::from_secs(10)).unwrap();
    assert_eq!(late.state, JobState::Expired, "{:?}", late.reason);
    // Back to the right time, and over a restart.
    clock::set_ahead(0);
    pair.start_one(1);
    assert!(ended(&pair).reason.unwrap().contains("no uses left"));
    let dirs = [0, 1].map(|side| pair.dir(side).to_owned());
    pair.stop_and(|| {
        for dir in &dirs {
            let log = dir.join("audit.log");
            verify(&log, &PublicKey::load(&dir.join("owner.pub")).unwrap()).unwrap();
            let text = std::fs::read_to_string(&log).unwrap();
            assert!(text.contains("\"kind\":\"log.clock\""), "{text}");
        }
    });
}
