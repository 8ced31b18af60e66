//! Memories that outlive a job, of two services over real sockets: jobs of several programs go on with one, in later sessions too, and a job that breaks off ends it.

mod common;

use std::time::{Duration, Instant};

use cenote_service::model::{JobState, JobView, NewJob, Sides, Terms};
use cenote_service::{ErrorKind, Service};
use common::{Pair, approve};
use serde_json::json;

const LONG: Duration = Duration::from_secs(120);

/// Three sums, begun, added to at a secret place and shown at the end; and squared for a long time. Words in trees, begun and added to.
const PROGRAMS: [(&str, &str); 6] = [
    (
        "begins",
        "cenote 3\nprogram begins \"\"\nmemory sums[3]: new uint b8\n{\n %1 = const 3xb8 all 0x10\n}\nkeep sums: %1\n",
    ),
    (
        "adds",
        "cenote 3\nprogram adds \"\"\ninput place: a uint b2\ninput more: a uint b8\nmemory sums[3]: found uint b8\n{
 %3 = lookup %2, %0\n %4 = add %3, %1\n %5 = const b1 0x1\n %6 = store %2, %0, %4, %5\n}\nkeep sums: %6\noutput before: b uint %3\n",
    ),
    (
        "ends",
        "cenote 3\nprogram ends \"\"\nmemory sums[3]: found uint b8\n{\n}\noutput sums[3]: both uint %0\n",
    ),
    (
        "opens",
        "cenote 4\nprogram opens \"\"\nmemory words[4096]: new ram 500 uint b16\n{\n}\nkeep words: %0\n",
    ),
    (
        "counts",
        "cenote 4\nprogram counts \"\"\ninput place: a uint b12\ninput more: a uint b16\nmemory words[4096]: found ram 500 uint b16\n{
 %3 = lookup %2, %0\n %4 = add %3, %1\n %5 = const b1 0x1\n %6 = store %2, %0, %4, %5\n}\nkeep words: %6\noutput before: b uint %3\n",
    ),
    (
        "slow",
        "cenote 3\nprogram slow \"\"\nmemory sums[3]: found uint b8\n{\n %1 = for 200000 (%0) {\n  |%2|\n  %3 = mul %2, %2\n  yield %3\n }\n}\nkeep sums: %1\n",
    ),
];

fn pair() -> Pair {
    let pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    for (name, text) in PROGRAMS {
        for service in [pair.a(), pair.b()] {
            service.register(name, text.as_bytes()).unwrap();
            let terms = Terms { program: name.into(), inputs: [].into(), ..own_terms() };
            // What `a` alone gives is asked for by `a`.
            let is_own = std::ptr::eq(service, pair.a());
            let submitters = match (name, is_own) {
                ("adds" | "counts", true) => Sides::Own,
                ("adds" | "counts", false) => Sides::Peer,
                _ => Sides::Both,
            };
            service.approve(Terms { submitters, ..terms }).unwrap();
        }
    }
    ready(&pair);
    pair
}

fn own_terms() -> Terms {
    common::terms(Sides::Own, None, common::record(), "x")
}

fn ready(pair: &Pair) {
    for service in [pair.a(), pair.b()] {
        common::until(LONG, "both lanes are ready", || service.is_ready());
    }
}

/// A job of `a`'s, as both see its end.
fn run(pair: &Pair, program: &str, inputs: &[(&str, u32)]) -> [JobView; 2] {
    let inputs = inputs.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let select = (program == "less").then(|| ("which".to_owned(), "five".to_owned()));
    let select = select.into_iter().collect();
    let job = NewJob { program: program.into(), inputs, select, ..NewJob::default() };
    let (job, _) = pair.a().submit(&job).unwrap();
    [pair.a(), pair.b()].map(|service| service.wait(&job.id, LONG).unwrap())
}

fn done(pair: &Pair, program: &str, inputs: &[(&str, u32)]) -> [JobView; 2] {
    let ends = run(pair, program, inputs);
    for end in &ends {
        assert_eq!(end.state, JobState::Done, "{program}: {:?}", end.reason);
    }
    ends
}

fn refused(pair: &Pair, program: &str, inputs: &[(&str, u32)], why: &str) {
    let spent = || pair.a().approvals().unwrap().iter().map(|one| one.spent).sum::<u64>();
    let before = spent();
    let [own, theirs] = run(pair, program, inputs);
    // The leader finds it first, and takes its own job back.
    assert_eq!((own.state, theirs.state), (JobState::Refused, JobState::Cancelled));
    assert!(own.reason.as_ref().is_some_and(|reason| reason.contains(why)), "{:?}", own.reason);
    assert_eq!(spent(), before, "{program}: nothing was opened");
}

/// Name, bits and jobs of the memories in the lane of large jobs.
fn held(service: &Service) -> Vec<(String, u64, u64)> {
    let [small, large] = service.status().unwrap().lanes.try_into().unwrap();
    assert!(small.memories.is_empty());
    large.memories.into_iter().map(|memory| (memory.name, memory.bits, memory.jobs)).collect()
}

#[test]
fn jobs_go_on_with_a_memory_until_it_ends() {
    let mut pair = pair();
    let program = pair.b().program("adds").unwrap();
    let [memory] = &*program.memories else { panic!("{:?}", program.memories) };
    assert_eq!((&*memory.layout, memory.begins, memory.keeps), ("sums[3] uint 8", false, true));

    let add = |place, more| [("place", place), ("more", more)];
    refused(&pair, "adds", &add(0, 1), "there is no memory `sums`");
    done(&pair, "begins", &[]);
    refused(&pair, "begins", &[], "memory `sums` is there already");
    for (jobs, (place, more, before)) in (2..).zip([(1, 5, 16), (1, 7, 21), (3, 9, 0)]) {
        let [_, theirs] = done(&pair, "adds", &add(place, more));
        assert_eq!(theirs.result, Some(json!({ "before": before })));
        // A job of the other lane in between.
        done(&pair, "less", &[("x", 1)]);
        for service in [pair.a(), pair.b()] {
            common::until(LONG, "both say so", || held(service) == [("sums".into(), 24, jobs)]);
        }
    }
    // Whoever asks hears why, from the own side or from the peer.
    let (job, _) =
        pair.b().submit(&NewJob { program: "begins".into(), ..NewJob::default() }).unwrap();
    let [own, theirs] = [pair.b(), pair.a()].map(|service| service.wait(&job.id, LONG).unwrap());
    assert_eq!((theirs.state, own.state), (JobState::Refused, JobState::Refused));
    assert!(
        own.reason.as_ref().is_some_and(|why| why.contains("is there already")),
        "{:?}",
        own.reason
    );

    let logs =
        || [0, 1].map(|side| std::fs::read_to_string(pair.dir(side).join("audit.log")).unwrap());
    let versions =
        |log: &str| (1..=4).filter(|n| log.contains(&format!("version {n} of "))).count();
    common::until(LONG, "both logs say what each job found", || {
        logs().iter().all(|log| log.contains(r#"{"sums":"new"}"#) && versions(log) == 3)
    });
    let ends = done(&pair, "ends", &[]);
    for end in ends {
        assert_eq!(end.result, Some(json!({ "sums": [16, 28, 16] })));
    }
    refused(&pair, "ends", &[], "there is no memory `sums`");

    // It goes on when a service starts again.
    done(&pair, "begins", &[]);
    for side in [1, 0] {
        let [_, theirs] = done(&pair, "adds", &add(0, 1));
        assert_eq!(theirs.result, Some(json!({ "before": 17 - side })));
        pair.restart(side as usize);
        ready(&pair);
        let jobs = 3 - side;
        for service in [pair.a(), pair.b()] {
            assert_eq!(held(service), [("sums".to_owned(), 24, jobs)]);
        }
    }
    pair.stop();
}

/// A random access memory goes on from job to job and when a service starts again, until the accesses of its life are used up.
#[test]
fn jobs_go_on_with_trees() {
    let mut pair = pair();
    done(&pair, "opens", &[]);
    let counts = |pair: &Pair, more: u32, before: u32| {
        let [_, theirs] = done(pair, "counts", &[("place", 77), ("more", more)]);
        assert_eq!(theirs.result, Some(json!({ "before": before })));
    };
    counts(&pair, 5, 0);
    counts(&pair, 1, 5);
    let left =
        |service: &Service| service.status().unwrap().lanes[1].memories[0].accesses_left.unwrap();
    let before = left(pair.a());
    for side in [1, 0] {
        pair.restart(side);
        ready(&pair);
        counts(&pair, 1, 7 - side as u32);
    }
    for service in [pair.a(), pair.b()] {
        common::until(LONG, "accesses are counted", || left(service) < before);
    }
    pair.stop();
}

/// A job that its owner takes back while it runs ends the session, and the memory with it, on both sides.
#[test]
fn a_memory_ends_with_a_job_that_is_cut() {
    let pair = pair();
    done(&pair, "begins", &[]);
    // One that is taken back while it begins changes nothing, and the memory goes on: a busy machine may be slow to begin.
    let mut ended = false;
    for _ in 0..10 {
        let slow = NewJob { program: "slow".into(), ..NewJob::default() };
        let (job, _) = pair.a().submit(&slow).unwrap();
        let running = || pair.a().job(&job.id).unwrap().state == JobState::Running;
        common::until(LONG, "it runs", running);
        std::thread::sleep(Duration::from_secs(1));
        pair.a().cancel(&job.id).unwrap();
        for service in [pair.a(), pair.b()] {
            let end = service.wait(&job.id, LONG).unwrap();
            assert!(matches!(end.state, JobState::Cancelled | JobState::Failed), "{end:?}");
        }
        let all = [pair.a(), pair.b()];
        let both =
            |is: fn(&Service) -> bool| all.iter().all(|service| service.is_ready() && is(service));
        let gone = |service: &Service| held(service).is_empty();
        let end = Instant::now() + LONG / 6;
        while !ended && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(50));
            ended = both(gone);
        }
        if ended {
            break;
        }
        assert!(both(|service| held(service).len() == 1), "it goes on, or ends on both sides");
    }
    assert!(ended, "a job that was cut ends it");
    refused(&pair, "adds", &[("place", 0), ("more", 1)], "there is no memory `sums`");
    done(&pair, "begins", &[]);
    let [_, theirs] = done(&pair, "adds", &[("place", 0), ("more", 1)]);
    assert_eq!(theirs.result, Some(json!({ "before": 16 })), "nothing is left of the first");
    pair.stop();
}

/// Either owner ends a memory, whichever leads: it is gone on both sides, in later sessions too, and its name is free; others go on.
#[test]
fn an_owner_ends_a_memory_on_both_sides() {
    let mut pair = pair();
    let add = [("place", 0), ("more", 1)];
    done(&pair, "opens", &[]);
    for side in [0, 1] {
        let owner = || if side == 0 { pair.a() } else { pair.b() };
        let unknown = owner().end_memory("sums").unwrap_err();
        assert_eq!(unknown.kind, ErrorKind::NotFound, "{unknown}");
        done(&pair, "begins", &[]);
        done(&pair, "adds", &add);
        common::until(LONG, "it says so", || held(owner()).len() == 2);
        let status = owner().end_memory("sums").unwrap();
        assert_eq!(status.lanes[1].memories.len(), 1, "{status:?}");
        for service in [pair.a(), pair.b()] {
            common::until(LONG, "both say so", || held(service).len() == 1);
        }
        refused(&pair, "adds", &add, "there is no memory `sums`");
        let noted = |log: usize, by: &str| {
            let log = std::fs::read_to_string(pair.dir(log).join("audit.log")).unwrap();
            let mut ends = log.lines().filter(|line| line.contains("memory.ended"));
            ends.next_back().is_some_and(|line| line.contains(&format!(r#""by":"{by}""#)))
        };
        assert!(noted(side, "own") && noted(1 - side, "peer"), "both logs say who ended it");
        // What was saved with it is not found again, and the other is.
        pair.restart(side);
        ready(&pair);
        for service in [pair.a(), pair.b()] {
            let names: Vec<String> = held(service).into_iter().map(|memory| memory.0).collect();
            assert_eq!(names, ["words"]);
        }
        done(&pair, "begins", &[]);
        let [_, theirs] = done(&pair, "adds", &add);
        assert_eq!(theirs.result, Some(json!({ "before": 16 })), "nothing is left of the first");
        done(&pair, "ends", &[]);
    }
    pair.stop();
}

/// A memory that a running job has is not ended beside it.
#[test]
fn a_memory_in_use_is_not_ended() {
    let pair = pair();
    done(&pair, "begins", &[]);
    let slow = NewJob { program: "slow".into(), ..NewJob::default() };
    let (job, _) = pair.a().submit(&slow).unwrap();
    for service in [pair.a(), pair.b()] {
        let running = || service.job(&job.id).unwrap().state == JobState::Running;
        common::until(LONG, "it runs", running);
        let refused = service.end_memory("sums").unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Conflict, "{refused}");
        assert!(refused.what.contains(&format!("in use by job {}", job.id)), "{refused}");
    }
    pair.a().cancel(&job.id).unwrap();
    pair.stop();
}
