//! Two services of two owners, over real sockets and files.

mod common;

use std::time::{Duration, Instant};

use cenote_service::ErrorKind;
use cenote_service::audit::{PublicKey, diff, verify};
use cenote_service::model::{JobFilter, JobState, NewJob, Origin, Sides, Source, Terms};
use common::{LESS, Pair, approve, long, terms};
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

#[test]
fn a_job_of_one_owner_is_computed_with_the_data_of_the_other() {
    let pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    for (x, less) in [(3, true), (7, false)] {
        let (job, new) = pair.a().submit(&compare(x)).unwrap();
        assert!(new);
        let own = pair.a().wait(&job.id, LONG).unwrap();
        assert_eq!(own.state, JobState::Done, "{:?}", own.reason);
        assert_eq!(own.result.unwrap()["z"], json!(less));
        assert!(own.cost.unwrap().ands > 0);
        let theirs = pair.b().wait(&job.id, LONG).unwrap();
        assert_eq!((theirs.state, theirs.origin), (JobState::Done, Origin::Peer));
        assert_eq!(theirs.result.unwrap()["z"], json!(less));
    }
    assert_eq!(pair.a().approvals().unwrap()[0].spent, 2);
    assert_eq!(pair.b().approvals().unwrap()[0].spent, 2);
    // The key of the first job finds the first job.
    let keyed = NewJob { idempotency_key: Some("k".into()), ..compare(1) };
    let (first, new) = pair.a().submit(&keyed).unwrap();
    let (again, newer) = pair.a().submit(&keyed).unwrap();
    assert!(new && !newer);
    assert_eq!(first.id, again.id);
    assert_eq!(pair.a().jobs(&JobFilter::default()).unwrap().len(), 3);
    pair.stop();
}

#[test]
fn nothing_runs_that_one_owner_has_not_approved() {
    let pair = Pair::start();
    let denied = pair.a().submit(&compare(3)).unwrap_err();
    assert!(denied.what.contains("no approval"), "{denied}");
    // The submitter approves, the other side does not.
    pair.approve_a(Sides::Own, None);
    let (job, _) = pair.a().submit(&compare(3)).unwrap();
    let ended = pair.a().wait(&job.id, LONG).unwrap();
    assert_eq!(ended.state, JobState::Refused);
    assert!(ended.reason.unwrap().contains("has not approved"));
    assert!(pair.b().job(&job.id).is_err());
    // Approved for its own jobs alone.
    pair.approve_b(Sides::Own, None);
    let (job, _) = pair.a().submit(&compare(3)).unwrap();
    assert_eq!(pair.a().wait(&job.id, LONG).unwrap().state, JobState::Refused);
    // For one use.
    pair.approve_b(Sides::Peer, Some(1));
    let (job, _) = pair.a().submit(&compare(3)).unwrap();
    assert_eq!(pair.a().wait(&job.id, LONG).unwrap().state, JobState::Done);
    let (job, _) = pair.a().submit(&compare(3)).unwrap();
    let ended = pair.a().wait(&job.id, LONG).unwrap();
    assert_eq!(ended.state, JobState::Refused);
    assert!(ended.reason.unwrap().contains("no uses left"));
    pair.stop();
}

#[test]
fn a_service_that_comes_back_goes_on_and_uses_nothing_twice() {
    let mut pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    for round in 0..3_u32 {
        let jobs: Vec<_> = (0..5).map(|x| pair.a().submit(&compare(x)).unwrap().0.id).collect();
        for (x, id) in (0..5).zip(jobs) {
            let job = pair.a().wait(&id, LONG).unwrap();
            assert_eq!(job.state, JobState::Done, "{:?}", job.reason);
            assert_eq!(job.result.unwrap()["z"], json!(x < 5));
        }
        match round {
            0 => pair.restart(0),
            1 => pair.restart(1),
            _ => {}
        }
    }
    let used = pair.journals();
    assert!(used.iter().all(|items| *items > 0), "{used:?}");
    assert_eq!(used[0], used[1]);
    pair.stop();
}

#[test]
fn what_waits_can_be_taken_back_and_expires() {
    let mut pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    pair.stop_one(1);
    let (job, _) = pair.a().submit(&compare(3)).unwrap();
    let late = NewJob { deadline_s: Some(1), ..compare(3) };
    let (late, _) = pair.a().submit(&late).unwrap();
    assert_eq!(pair.a().cancel(&job.id).unwrap().state, JobState::Cancelled);
    assert!(pair.a().cancel(&job.id).is_err());
    assert_eq!(pair.a().wait(&late.id, LONG).unwrap().state, JobState::Expired);
    let (waits, _) = pair.a().submit(&compare(4)).unwrap();
    pair.start_one(1);
    assert_eq!(pair.a().wait(&waits.id, LONG).unwrap().state, JobState::Done);
    pair.stop();
}

#[test]
fn inputs_that_are_not_the_programs_are_refused_at_once() {
    let pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    let refused = |job: NewJob| pair.a().submit(&job).unwrap_err().what;
    assert!(refused(NewJob { program: "other".into(), ..compare(1) }).contains("`other`"));
    assert!(refused(NewJob { inputs: [].into(), ..compare(1) }).contains("`x`"));
    let more = NewJob {
        inputs: [("x".to_owned(), json!(1)), ("y".to_owned(), json!(1))].into(),
        ..compare(1)
    };
    assert!(refused(more).contains("`y` is no input of this side"));
    let secret = NewJob { inputs: [("x".to_owned(), json!("48151623421"))].into(), ..compare(1) };
    assert!(!refused(secret).contains("48151623421"));
    assert!(LESS.contains("lt"));
    pair.stop();
}

#[test]
fn an_approval_that_the_owner_did_not_sign_permits_nothing() {
    let mut pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Own);
    pair.stop_one(1);
    // Somebody with access to the database lets the peer in.
    let db = rusqlite::Connection::open(pair.dir(1).join("service.db")).unwrap();
    let change = "UPDATE approval SET terms = replace(terms, '\"submitters\":\"own\"', '\"submitters\":\"peer\"')";
    assert_eq!(db.execute(change, []).unwrap(), 1);
    drop(db);
    pair.start_one(1);
    let (job, _) = pair.a().submit(&compare(3)).unwrap();
    assert_eq!(pair.a().wait(&job.id, LONG).unwrap().state, JobState::Refused);
    assert!(pair.b().submit(&compare(3)).unwrap_err().what.contains("signature"));
    pair.stop();
}

/// Programs say garbler and evaluator, approvals own and peer.
#[test]
fn another_role_shows_nobody_else_the_outputs() {
    let mut pair = Pair::start();
    let program = LESS.replace("program less", "program kept").replace("z: both", "z: garbler");
    pair.a().register("kept", program.as_bytes()).unwrap();
    let own = terms(Sides::Own, None, Source::Submitter, "x");
    let given = pair.a().approve(Terms { program: "kept".into(), ..own }).unwrap();
    assert_eq!(given.terms.receivers, Some(Sides::Own));
    pair.stop_one(0);
    pair.configure(0, "role = \"garbler\"", "role = \"evaluator\"");
    pair.start_one(0);
    let inputs = [("y".to_owned(), json!(3))].into();
    let job = NewJob { program: "kept".into(), inputs, ..NewJob::default() };
    let refused = pair.a().submit(&job).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Forbidden, "{refused}");
    let why = "permits receivers `own`, the program's outputs are for `peer`";
    assert!(refused.what.contains(why), "{refused}");
    pair.stop();
}

#[test]
fn a_use_is_spent_when_outputs_could_first_have_been_opened() {
    let mut pair = Pair::start();
    pair.approve_a(Sides::Own, Some(2));
    pair.approve_b(Sides::Peer, None);
    let (job, _) = pair.a().submit(&compare(3)).unwrap();
    assert_eq!(pair.a().wait(&job.id, LONG).unwrap().state, JobState::Done);
    pair.restart(0);
    assert_eq!(pair.a().approvals().unwrap()[0].spent, 1);
    let (job, _) = pair.a().submit(&compare(3)).unwrap();
    assert_eq!(pair.a().wait(&job.id, LONG).unwrap().state, JobState::Done);
    assert!(pair.a().submit(&compare(3)).unwrap_err().what.contains("no uses left"));
    pair.stop();
}

#[test]
fn the_audit_logs_of_both_agree_and_verify() {
    let pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    for x in 0..3 {
        let (job, _) = pair.a().submit(&compare(x)).unwrap();
        assert_eq!(pair.a().wait(&job.id, LONG).unwrap().state, JobState::Done);
        assert_eq!(pair.b().wait(&job.id, LONG).unwrap().state, JobState::Done);
    }
    let dirs = [0, 1].map(|side| pair.dir(side).to_owned());
    pair.stop_and(|| {
        let keys = dirs.each_ref().map(|dir| PublicKey::load(&dir.join("owner.pub")).unwrap());
        let logs = dirs.each_ref().map(|dir| dir.join("audit.log"));
        for (log, key) in logs.iter().zip(&keys) {
            assert!(verify(log, key).unwrap().sequence >= 3);
        }
        let difference = diff(&logs[0], &keys[0], &logs[1], &keys[1]).unwrap();
        assert!(difference.is_none(), "{difference}");
        assert_eq!(difference.agreed, 3);
    });
}

#[test]
fn a_record_is_looked_for_when_a_use_is_spent_not_before() {
    let pair = Pair::start();
    pair.approve_a(Sides::Own, None);
    pair.approve_b(Sides::Peer, Some(2));
    let ask = |which: &str| {
        let select = [("which".to_owned(), which.to_owned())].into();
        let (job, _) = pair.a().submit(&NewJob { select, ..compare(3) }).unwrap();
        pair.a().wait(&job.id, LONG).unwrap()
    };
    let none = ask("seven");
    assert_eq!(none.state, JobState::Refused);
    assert!(none.reason.unwrap().contains("does not have the data"));
    assert_eq!(pair.b().approvals().unwrap()[0].spent, 1);
    let theirs = pair.b().job(&none.id).unwrap();
    assert_eq!(theirs.state, JobState::Failed, "{:?}", theirs.reason);
    // The own use was for nothing: nothing can have been opened.
    assert_eq!(pair.a().approvals().unwrap()[0].spent, 0);
    let log = std::fs::read_to_string(pair.dir(1).join("audit.log")).unwrap();
    let begun = log.lines().find(|line| line.contains("job.begun")).unwrap();
    assert!(begun.contains("seven"), "{begun}");
    assert_eq!(ask("six").state, JobState::Done);
    assert!(ask("five").reason.unwrap().contains("no uses left"));
    // And a job without the parameter is refused without a use.
    pair.approve_b(Sides::Peer, Some(1));
    let (job, _) = pair.a().submit(&NewJob { select: [].into(), ..compare(3) }).unwrap();
    assert_eq!(pair.a().wait(&job.id, LONG).unwrap().state, JobState::Refused);
    assert_eq!(pair.b().approvals().unwrap()[1].spent, 0);
    pair.stop();
}

#[test]
fn jobs_that_wait_together_run_together_and_stand_alone() {
    let mut pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    pair.stop_one(1);
    let ask = |x: u32| {
        let which = if x % 4 == 3 { "seven" } else { "five" };
        let select = [("which".to_owned(), which.to_owned())].into();
        pair.a().submit(&NewJob { select, ..compare(x) }).unwrap().0.id
    };
    let jobs: Vec<String> = (0..40).map(ask).collect();
    pair.start_one(1);
    let mut runs = std::collections::BTreeSet::new();
    for (x, id) in jobs.iter().enumerate() {
        let job = pair.a().wait(id, LONG).unwrap();
        if x % 4 == 3 {
            // What one of them is refused for, the others do not notice.
            assert_eq!(job.state, JobState::Refused, "{:?}", job.reason);
            continue;
        }
        assert_eq!(job.state, JobState::Done, "{:?}", job.reason);
        assert_eq!(job.result.unwrap()["z"], json!(x < 5));
        let cost = job.cost.unwrap();
        assert!(cost.bytes_sent > 0 && cost.bytes_received > 0);
        runs.insert(cost.seconds.to_bits());
    }
    assert!(runs.len() < 10, "30 jobs of 32 ANDs in {} runs, of 1,000 each", runs.len());
    assert_eq!(pair.a().approvals().unwrap()[0].spent, 30);
    assert_eq!(pair.b().approvals().unwrap()[0].spent, 40);
    let used = pair.journals();
    assert_eq!(used[0], used[1]);
    pair.stop();
}

/// Each side says how far its log goes before the first byte of a job, and the line of that job is on the disk by then.
#[test]
fn a_job_is_in_the_log_of_both_before_its_first_byte() {
    let pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    let job = pair.a().submit(&compare(3)).unwrap().0.id;
    assert_eq!(pair.a().wait(&job, LONG).unwrap().state, JobState::Done);
    assert_eq!(pair.b().wait(&job, LONG).unwrap().state, JobState::Done);
    let dirs = [0, 1].map(|side| pair.dir(side).to_owned());
    pair.stop_and(|| {
        let logs = dirs.map(|dir| std::fs::read_to_string(dir.join("audit.log")).unwrap());
        let line = |side: usize, kind: &str| -> serde_json::Value {
            let mut lines = logs[side].lines().filter(|line| line.contains(&job));
            serde_json::from_str(lines.find(|line| line.contains(kind)).unwrap()).unwrap()
        };
        for side in 0..2 {
            let begun = line(1 - side, "job.begun")["sequence"].as_u64().unwrap();
            let heard = line(side, "job.done")["own"]["peer_head"].as_str().unwrap().to_owned();
            let heard: u64 = heard.split(':').next().unwrap().parse().unwrap();
            assert!(heard >= begun, "{heard}, not {begun}");
        }
    });
}

/// What was bound and what a job took is in the own log, by the digest of the file.
#[test]
fn the_log_has_the_digest_of_the_data_that_a_job_took() {
    let pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    let file = pair.dir(1).join("data/numbers.csv");
    let digest = |pair: &Pair| pair.b().datasets().unwrap()[0].digest.clone();
    let before = digest(&pair);
    let bytes = std::fs::read(&file).unwrap();
    assert_eq!(before, blake3::hash(&bytes).to_hex().as_str());
    let run = |pair: &Pair| {
        let job = pair.a().submit(&compare(3)).unwrap().0.id;
        assert_eq!(pair.a().wait(&job, LONG).unwrap().state, JobState::Done);
        job
    };
    let first = run(&pair);
    std::fs::write(&file, "name,y\nfive,5\nsix,60\n").unwrap();
    pair.b().bind("numbers", &file, None).unwrap();
    let after = digest(&pair);
    assert_ne!(before, after);
    let second = run(&pair);
    let dirs = [0, 1].map(|side| pair.dir(side).to_owned());
    pair.stop_and(|| {
        let lines = |side: usize, kind: &str| -> Vec<serde_json::Value> {
            let text = std::fs::read_to_string(dirs[side].join("audit.log")).unwrap();
            let all = text.lines().map(|line| serde_json::from_str(line).unwrap());
            all.filter(|line: &serde_json::Value| line["kind"] == kind).collect()
        };
        let bound = lines(1, "dataset.bound");
        let digests: Vec<_> = bound.iter().map(|line| &line["own"]["digest"]).collect();
        assert_eq!(digests, [&before, &after]);
        assert!(bound.iter().all(|line| line["own"]["name"] == "numbers"));
        let begun = lines(1, "job.begun");
        for (line, (job, digest)) in begun.iter().zip([(&first, &before), (&second, &after)]) {
            assert_eq!(line["job"], **job);
            assert_eq!(line["own"]["data"], json!({ "numbers": digest }));
        }
        assert_eq!(begun.len(), 2);
        // The other side took none.
        assert!(lines(0, "job.begun").iter().all(|line| line["own"]["data"] == json!({})));
    });
}

/// Neither behind a large one of the same owner nor behind one of the other.
#[test]
fn a_small_job_is_done_while_a_large_one_runs() {
    let pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    // So many steps that it runs for minutes.
    let program = long("long", 60_000);
    for side in [pair.a(), pair.b()] {
        side.register("long", program.as_bytes()).unwrap();
    }
    let of = |submitters, source, input| Terms {
        program: "long".into(),
        ..terms(submitters, None, source, input)
    };
    pair.a().approve(of(Sides::Own, Source::Submitter, "x")).unwrap();
    pair.b().approve(of(Sides::Peer, common::record(), "y")).unwrap();
    let large = pair.a().submit(&NewJob { program: "long".into(), ..compare(3) }).unwrap().0.id;
    let state = |side: &cenote_service::Service| side.job(&large).map(|job| job.state);
    let end = Instant::now() + LONG;
    while [pair.a(), pair.b()].map(state) != [Ok(JobState::Running), Ok(JobState::Running)] {
        assert!(Instant::now() < end, "it does not begin: {:?}", pair.a().job(&large));
        std::thread::sleep(Duration::from_millis(20));
    }
    for x in [3, 7] {
        let small = pair.a().submit(&compare(x)).unwrap().0.id;
        for side in [pair.a(), pair.b()] {
            let done = side.wait(&small, LONG).unwrap();
            assert_eq!(done.state, JobState::Done, "{:?}", done.reason);
            assert_eq!(done.result.unwrap()["z"], json!(x < 5));
            assert_eq!(state(side), Ok(JobState::Running), "the small one waited for it");
        }
    }
    assert_eq!(pair.a().cancel(&large).unwrap().state, JobState::Cancelled);
    assert_eq!(pair.b().wait(&large, LONG).unwrap().state, JobState::Cancelled);
    pair.stop();
}

#[test]
fn a_withdrawn_approval_ends_the_jobs_that_wait_and_no_session() {
    let mut pair = Pair::start();
    pair.approve_a(Sides::Own, None);
    pair.approve_b(Sides::Peer, None);
    pair.stop_one(1);
    let waiting: Vec<_> = (0..5).map(|x| pair.a().submit(&compare(x)).unwrap().0.id).collect();
    pair.a().withdraw(1).unwrap();
    pair.start_one(1);
    for id in &waiting {
        let job = pair.a().wait(id, LONG).unwrap();
        assert_eq!(job.state, JobState::Refused);
        assert!(job.reason.unwrap().contains("withdrawn"));
        // The other side, which had agreed, does not wait for it.
        let theirs = pair.b().wait(id, LONG).unwrap();
        assert_eq!(theirs.state, JobState::Cancelled, "{:?}", theirs.reason);
        assert_eq!(pair.b().approvals().unwrap()[0].spent, 0);
    }
    let pools = |pair: &Pair| {
        pair.a().status().unwrap().lanes.iter().map(|lane| lane.pools).collect::<Vec<_>>()
    };
    let before = pools(&pair);
    pair.approve_a(Sides::Own, None);
    let (job, _) = pair.a().submit(&compare(3)).unwrap();
    assert_eq!(pair.a().wait(&job.id, LONG).unwrap().state, JobState::Done);
    assert_eq!(pools(&pair), before);
    pair.stop();
}

#[test]
fn the_peers_owner_hears_of_jobs_that_the_leader_does_not_run() {
    let mut pair = Pair::start();
    // Jobs of the evaluator's, on data of the garbler's, who leads.
    let table = pair.dir(0).join("data/numbers.csv");
    std::fs::write(&table, "name,x\nfour,4\n").unwrap();
    pair.a().bind("numbers", &table, None).unwrap();
    let record = Source::Record {
        dataset: "numbers".into(),
        key: "name".into(),
        parameter: "which".into(),
        columns: [("x".to_owned(), "x".to_owned())].into(),
    };
    pair.a().approve(common::terms(Sides::Peer, Some(2), record, "x")).unwrap();
    pair.b().approve(common::terms(Sides::Own, None, Source::Submitter, "y")).unwrap();
    let ask = |pair: &Pair, which: &str| {
        let job = NewJob {
            program: "less".into(),
            inputs: [("y".to_owned(), json!(5))].into(),
            select: [("which".to_owned(), which.to_owned())].into(),
            ..NewJob::default()
        };
        let (job, _) = pair.b().submit(&job).unwrap();
        pair.b().wait(&job.id, LONG).unwrap()
    };
    let done = ask(&pair, "four");
    assert_eq!(done.state, JobState::Done, "{:?}", done.reason);
    assert_eq!(done.result.unwrap()["z"], json!(true));
    let none = ask(&pair, "five");
    assert_eq!(none.state, JobState::Refused);
    assert!(none.reason.unwrap().contains("does not have the data"));
    assert_eq!(pair.a().approvals().unwrap()[0].spent, 2);
    // A file that is another one costs no use: that depends on no cell.
    pair.stop_one(0);
    std::fs::write(&table, "name,x\nfour,5\n").unwrap();
    pair.start_one(0);
    let other = common::terms(Sides::Peer, None, Source::Submitter, "x");
    assert!(pair.a().approve(other).unwrap_err().what.contains("need a data set"));
    let ended = ask(&pair, "four");
    assert_eq!(ended.state, JobState::Refused);
    assert_eq!(pair.a().approvals().unwrap()[0].spent, 2);
    pair.stop();
}

#[test]
fn a_program_cannot_take_the_name_of_anothers_digest() {
    let pair = Pair::start();
    let digest = pair.a().program("less").unwrap().digest;
    let other = LESS.replace("lt", "le");
    for name in [digest.clone(), digest.to_uppercase()] {
        let refused = pair.b().register(&name, other.as_bytes()).unwrap_err();
        assert!(refused.what.contains("those are digests"), "{refused}");
    }
    pair.stop();
}

#[test]
fn files_outside_the_data_directories_are_not_read() {
    let pair = Pair::start();
    let dir = pair.dir(1);
    std::fs::write(dir.join("secrets.csv"), "first line\n1\n").unwrap();
    std::os::unix::fs::symlink(dir.join("secrets.csv"), dir.join("data/link.csv")).unwrap();
    for file in
        ["secrets.csv", "data/../secrets.csv", "data/link.csv", "data", "/proc/self/environ"]
    {
        let refused = pair.b().bind("x", std::path::Path::new(file), None).unwrap_err();
        assert!(!refused.what.contains("first line"), "{refused}");
        assert!(
            refused.what.contains("data sets lie in") || refused.what.contains("no file"),
            "{refused}"
        );
    }
    assert_eq!(pair.b().bind("x", std::path::Path::new("data/numbers.csv"), None).unwrap().rows, 2);
    pair.stop();
}

#[test]
fn a_record_of_a_parquet_file_is_an_input_and_its_only_other_column_needs_no_name() {
    let pair = Pair::start();
    pair.approve_a(Sides::Own, None);
    // As pandas writes the lines `who,worth`, `five,5` and `six,6`.
    let file = pair.dir(1).join("data/worth.parquet");
    std::fs::write(&file, include_bytes!("worth.parquet")).unwrap();
    let bound = pair.b().bind("worth", &file, None).unwrap();
    assert_eq!((bound.rows, bound.columns.len()), (2, 2));
    let record = Source::Record {
        dataset: "worth".into(),
        key: "who".into(),
        parameter: "which".into(),
        columns: [].into(),
    };
    let given = pair.b().approve(common::terms(Sides::Peer, None, record, "y")).unwrap();
    let Source::Record { columns, .. } = &given.terms.inputs["y"] else { panic!("no record") };
    assert_eq!(columns["y"], "worth");
    for (x, less) in [(4, true), (5, false)] {
        let (job, _) = pair.a().submit(&compare(x)).unwrap();
        let ended = pair.a().wait(&job.id, LONG).unwrap();
        assert_eq!(ended.state, JobState::Done, "{:?}", ended.reason);
        assert_eq!(ended.result.unwrap()["z"], json!(less));
    }
    pair.stop();
}

#[test]
fn an_approval_whose_data_do_not_fit_the_program_is_refused_with_row_and_column() {
    let pair = Pair::start();
    let file = pair.dir(1).join("data/more.csv");
    let approve = |rows: &str, source: Source| {
        std::fs::write(&file, format!("name,v\n{rows}")).unwrap();
        pair.b().bind("more", &file, None).unwrap();
        pair.b().approve(common::terms(Sides::Peer, None, source, "y"))
    };
    let record = |key: &str, column: &str| Source::Record {
        dataset: "more".into(),
        key: key.into(),
        parameter: "which".into(),
        columns: [("y".to_owned(), column.to_owned())].into(),
    };
    for (rows, cell) in [
        ("five,5\nsix,48151623421\n", "48151623421"),
        ("five,5\nsix,-4815162\n", "4815162"),
        ("five,5\nsix,4815162.5\n", "4815162"),
        ("five,5\nsix,\n", "none"),
    ] {
        let error = approve(rows, record("name", "v")).unwrap_err().what;
        assert!(error.contains("row 2 (the first is row 1), column `v`"), "{error}");
        assert!(!error.contains(cell), "{error}");
    }
    let good = "five,5\nsix,6\n";
    assert!(approve(good, record("name", "w")).unwrap_err().what.contains("no column `w`"));
    assert!(approve(good, record("id", "v")).unwrap_err().what.contains("no column `id`"));
    // A whole table is no single number.
    let columns = [("y".to_owned(), "v".to_owned())].into();
    let table = Source::Table { dataset: "more".into(), columns };
    assert!(approve(good, table).unwrap_err().what.contains("column `v`"));
    assert!(pair.b().approvals().unwrap().is_empty());
    assert!(approve(good, record("name", "v")).is_ok());
    pair.stop();
}

#[test]
fn the_line_is_measured_from_either_side_beside_jobs_and_not_at_will() {
    let mut pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    let sides = [pair.a(), pair.b()];
    let end = Instant::now() + LONG;
    while sides.iter().any(|side| !side.status().unwrap().peer.connected) {
        assert!(Instant::now() < end, "they do not meet");
        std::thread::sleep(Duration::from_millis(20));
    }
    let lines = sides.map(|side| side.measure().unwrap());
    for line in &lines {
        assert!(line.round_trip_s > 0.0 && line.round_trip_s < 5.0, "{line:?}");
        // Loopback, on a machine that does other things.
        for rate in [line.sent_bytes_per_s, line.received_bytes_per_s] {
            assert!(rate > 1e5, "{line:?}");
        }
    }
    // Again: what was found, not another measure.
    assert_eq!(sides.map(|side| side.measure().unwrap()), lines);
    // The link goes on behind it.
    let (job, _) = pair.a().submit(&compare(3)).unwrap();
    assert_eq!(pair.a().wait(&job.id, LONG).unwrap().state, JobState::Done);
    pair.stop_one(1);
    let end = Instant::now() + LONG;
    loop {
        match pair.a().measure() {
            Ok(_) => {}
            Err(alone) if alone.what.contains("the peer is not connected") => break,
            Err(alone) => assert_eq!(alone.kind, ErrorKind::Conflict, "{alone}"),
        }
        assert!(Instant::now() < end, "it was measured without the peer");
        std::thread::sleep(Duration::from_millis(100));
    }
    pair.stop();
}
