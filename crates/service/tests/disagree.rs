//! Two owners who disagree, in every way in which they can: what becomes of the job on both sides, what each owner is told, and that no use is spent.
//! A process of its own, for its clock and its log are those of all services of a process.

mod common;

use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use cenote_service::model::{JobState, NewJob, Sides, Source, Terms};
use cenote_service::{Service, clock};
use common::{LESS, Pair, approve, long, prepared, record, terms};
use serde_json::json;

const LONG: Duration = Duration::from_secs(90);
const HOUR: i64 = 3_600_000;

/// What both services write to their log, from `INFO` on.
struct Lines;

static LOG: Mutex<String> = Mutex::new(String::new());

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.lock().unwrap().push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Whether the other program's number is not greater; of the same form, so that both could be meant.
fn le() -> String {
    LESS.replace("lt", "le").replace("program less", "program le")
}

/// As `less`, of groups as large as both say.
const GROUPED: &str = "cenote 1
program grouped \"x < y, of groups as large as both ask for\"
input x: garbler uint b32
input least: garbler uint b16
input y: evaluator uint b32
input their_least: evaluator uint b16
{
  %4 = lt %0, %2
  %5 = le %1, %3
  %6 = and %4, %5
}
output z: both bool %6
";

fn compare(program: &str) -> NewJob {
    NewJob {
        program: program.into(),
        inputs: [("x".to_owned(), json!(3))].into(),
        select: [("which".to_owned(), "five".to_owned())].into(),
        ..NewJob::default()
    }
}

fn ask_less(_: &Pair) -> NewJob {
    compare("less")
}

fn own(program: &str) -> Terms {
    Terms { program: program.into(), ..terms(Sides::Own, None, Source::Submitter, "x") }
}

fn peers(program: &str) -> Terms {
    Terms { program: program.into(), ..terms(Sides::Peer, None, record(), "y") }
}

fn in_an_hour() -> Option<i64> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Some(now.as_millis() as i64 + HOUR)
}

/// Uses that were spent on both sides.
fn spent(pair: &Pair) -> [u64; 2] {
    [pair.a(), pair.b()].map(|side| side.approvals().unwrap().iter().map(|one| one.spent).sum())
}

fn until(what: &str, is: impl FnMut() -> bool) {
    common::until(LONG, what, is);
}

#[track_caller]
fn is_computed(pair: &Pair) {
    let (job, _) = pair.a().submit(&compare("less")).unwrap();
    for side in [pair.a(), pair.b()] {
        let done = side.wait(&job.id, LONG).unwrap();
        assert_eq!(done.state, JobState::Done, "{:?}", done.reason);
    }
}

/// That a side's job ended so, with a reason that says this.
#[track_caller]
fn ended(what: &str, side: &Service, id: &str, state: JobState, says: &str) {
    let job = side.wait(id, LONG).unwrap();
    assert_eq!(job.state, state, "{what}: {:?}", job.reason);
    let reason = job.reason.unwrap_or_default();
    assert!(reason.contains(says), "{what}: {reason}");
}

/// A job that the other side turned away when it was offered: there it was never put down, and its log says why.
#[track_caller]
fn turned_away(what: &str, pair: &Pair, job: &NewJob, told: &str, says: &str) {
    let before = spent(pair);
    let (job, _) = pair.a().submit(job).unwrap();
    ended(what, pair.a(), &job.id, JobState::Refused, told);
    assert!(pair.b().job(&job.id).is_err(), "{what}");
    let log = LOG.lock().unwrap().clone();
    let mut lines = log.lines().filter(|line| line.contains("declined") && line.contains(&job.id));
    let line = lines.next().unwrap_or_else(|| panic!("{what}: the own log is silent"));
    assert!(line.contains(says), "{what}: {line}");
    assert_eq!(spent(pair), before, "{what}: a use is spent");
}

/// What the other side permits or not, the job, what its owner is told and what the other side's log says.
type Row = (&'static str, fn(&Pair), fn(&Pair) -> NewJob, &'static str, &'static str);

const NOT_APPROVED: &str = "the peer's owner has not approved this program for you";
const QUOTA: &str = "the peer's approval has no uses left";
const NO_DATA: &str = "the peer does not have the data for it";
const UNAVAILABLE: &str = "the peer cannot take jobs now; submit it later";
const NONE_PERMITS: &str = "no approval of the owner permits `less`";

/// In the order of the reasons.
const OFFERED: [Row; 12] = [
    (
        "a program that it has not registered",
        |pair| drop(pair.b().approve(peers("less")).unwrap()),
        |pair| {
            pair.a().register("le", le().as_bytes()).unwrap();
            pair.a().approve(own("le")).unwrap();
            compare("le")
        },
        "the peer has not registered this program",
        "is registered; `cenote program register` does that",
    ),
    ("no approval", |_| (), ask_less, NOT_APPROVED, NONE_PERMITS),
    (
        "an approval of another program",
        |pair| {
            pair.b().register("le", le().as_bytes()).unwrap();
            pair.b().approve(peers("le")).unwrap();
        },
        ask_less,
        NOT_APPROVED,
        NONE_PERMITS,
    ),
    (
        "an approval of its own jobs",
        |pair| drop(pair.b().approve(Terms { submitters: Sides::Own, ..peers("less") })),
        ask_less,
        NOT_APPROVED,
        NONE_PERMITS,
    ),
    (
        "an approval that was withdrawn",
        |pair| {
            let given = pair.b().approve(peers("less")).unwrap();
            pair.b().withdraw(given.id).unwrap();
        },
        ask_less,
        NOT_APPROVED,
        NONE_PERMITS,
    ),
    (
        "an approval that has expired",
        |pair| {
            let hour = Terms { expires_at: in_an_hour(), ..peers("less") };
            pair.b().approve(hour).unwrap();
            is_computed(pair);
            clock::set_ahead(2 * HOUR);
        },
        ask_less,
        NOT_APPROVED,
        NONE_PERMITS,
    ),
    (
        "a group that is too small",
        |pair| {
            pair.b().register_with("grouped", GROUPED.as_bytes(), Some("their_least")).unwrap();
            let public = |least| Source::Public { parameter: "smallest".into(), least };
            for (side, terms, input, least) in [
                (pair.a(), own("grouped"), "least", 1),
                (pair.b(), peers("grouped"), "their_least", 5),
            ] {
                side.register("grouped", GROUPED.as_bytes()).unwrap();
                let mut terms = terms;
                terms.inputs.insert(input.into(), public(least));
                side.approve(terms).unwrap();
            }
        },
        |_| {
            let mut job = compare("grouped");
            job.select.insert("smallest".into(), "4".into());
            job
        },
        NOT_APPROVED,
        "permits `smallest` from 5 on",
    ),
    (
        "an approval whose uses are spent",
        |pair| {
            pair.b().approve(Terms { uses: Some(1), ..peers("less") }).unwrap();
            is_computed(pair);
        },
        ask_less,
        QUOTA,
        "the approval of `less` has no uses left",
    ),
    (
        "an approval whose uses of a period are spent",
        |pair| {
            let hourly = Terms { uses: Some(1), period_s: Some(3600), ..peers("less") };
            pair.b().approve(hourly).unwrap();
            is_computed(pair);
        },
        ask_less,
        QUOTA,
        "the approval of `less` has no uses left",
    ),
    (
        "a quota of the peer's",
        |pair| {
            for (side, terms) in [(pair.a(), own("long")), (pair.b(), peers("long"))] {
                side.register("long", long("long", 1000).as_bytes()).unwrap();
                side.approve(terms).unwrap();
            }
        },
        |_| compare("long"),
        QUOTA,
        "100000 ANDs",
    ),
    (
        "no public parameter",
        |pair| drop(pair.b().approve(peers("less")).unwrap()),
        |_| NewJob { select: [].into(), ..compare("less") },
        NO_DATA,
        "the public parameter `which` is missing",
    ),
    (
        "a data set that is another one",
        |pair| {
            pair.b().approve(peers("less")).unwrap();
            let other = "name,y\nfive,5\nsix,7\n";
            std::fs::write(pair.dir(1).join("data/numbers.csv"), other).unwrap();
        },
        ask_less,
        NO_DATA,
        "is not the file that was bound",
    ),
];

/// What somebody wrote into the other side's database while it was down, and what its log says then.
const IN_DATABASE: [(&str, &str, &str); 3] = [
    (
        "an approval that somebody else wrote",
        "UPDATE approval SET terms = replace(terms, '\"submitters\":\"own\"', '\"submitters\":\"peer\"')",
        "does not bear the owner's signature",
    ),
    (
        "an approval of which somebody took the receivers",
        "UPDATE approval SET terms = replace(terms, '\"receivers\":\"both\"', '\"receivers\":null')",
        "does not bear the owner's signature",
    ),
    (
        "a peer that is held",
        "INSERT INTO flag (name, value) VALUES ('held', 'a check failed')",
        "the peer is held",
    ),
];

fn withdraw_all(pair: &Pair) {
    for side in [pair.a(), pair.b()] {
        for given in side.approvals().unwrap() {
            side.withdraw(given.id).unwrap();
        }
    }
}

#[test]
fn every_disagreement_ends_on_both_sides_with_a_reason_and_no_use() {
    let log = tracing_subscriber::fmt().with_ansi(false).with_writer(|| Lines);
    log.with_max_level(tracing_subscriber::filter::LevelFilter::INFO).init();
    let (temp, dirs, _) = prepared();
    let config = dirs[1].join("cenote.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text + "[quota.peer]\nands = 100000\n").unwrap();
    let mut pair = Pair::of(temp, dirs);
    for (what, sets, asks, told, says) in OFFERED {
        pair.a().approve(own("less")).unwrap();
        sets(&pair);
        turned_away(what, &pair, &asks(&pair), told, says);
        // The next one begins as this one did.
        clock::set_ahead(0);
        std::fs::write(pair.dir(1).join("data/numbers.csv"), "name,y\nfive,5\nsix,6\n").unwrap();
        withdraw_all(&pair);
    }
    for (what, change, says) in IN_DATABASE {
        approve(&pair, Sides::Own, Sides::Own);
        pair.stop_one(1);
        let db = rusqlite::Connection::open(pair.dir(1).join("service.db")).unwrap();
        assert!(db.execute(change, []).unwrap() > 0, "{what}");
        drop(db);
        pair.start_one(1);
        turned_away(what, &pair, &compare("less"), UNAVAILABLE, says);
        withdraw_all(&pair);
    }
    until("the lanes rest", || pair.b().lift().is_ok());
    after_both_had_agreed(&mut pair);
    approve(&pair, Sides::Own, Sides::Peer);
    is_computed(&pair);
    pair.stop();
}

/// Jobs that both have agreed to wait while a setting differs; meanwhile one of the owners changes its mind.
fn after_both_had_agreed(pair: &mut Pair) {
    level_differs(pair);
    let before = spent(pair);
    let asked = |theirs: Terms, job: NewJob| {
        let approvals = [pair.a().approve(own("less")), pair.b().approve(theirs)];
        let (job, _) = pair.a().submit(&job).unwrap();
        until("it is agreed", || pair.a().job(&job.id).unwrap().state == JobState::Queued);
        (job.id, approvals.map(|given| given.unwrap().id))
    };
    let less = || asked(peers("less"), compare("less"));
    let (withdrawn, withdraws) = less();
    let (own_withdrawn, own_withdraws) = less();
    let expired = asked(Terms { expires_at: in_an_hour(), ..peers("less") }, compare("less")).0;
    let late = asked(peers("less"), NewJob { deadline_s: Some(600), ..compare("less") }).0;
    let [taken, declined, unwanted, no_data] = [(); 4].map(|()| less().0);
    let words = ("too many of your jobs wait at the peer", "too many jobs of the peer's wait");
    turned_away("more than may wait", pair, &compare("less"), words.0, words.1);
    pair.b().withdraw(withdraws[1]).unwrap();
    pair.a().withdraw(own_withdraws[0]).unwrap();
    are_taken_back(pair, &taken, &declined);
    pair.stop_one(1);
    pair.a().cancel(&unwanted).unwrap();
    let numbers = pair.dir(1).join("data/numbers.csv");
    let bound = std::fs::read(&numbers).unwrap();
    std::fs::write(&numbers, "name,y\nfive,5\nsix,7\n").unwrap();
    clock::set_ahead(2 * HOUR);
    ended("late", pair.a(), &late, JobState::Expired, PASSED);
    pair.configure(1, "small = 3000", "small = 2000");
    pair.start_one(1);
    for (id, (what, own, other)) in
        [&withdrawn, &own_withdrawn, &expired, &late, &unwanted, &no_data].into_iter().zip(AGREED)
    {
        for (side, (state, says)) in [(pair.a(), own), (pair.b(), other)] {
            ended(what, side, id, state, says);
        }
    }
    // A record is looked for at the price of a use; nothing else has one.
    assert_eq!(spent(pair), [before[0], before[1] + 1]);
    // Whatever the own side refused is in its audit log.
    let log = std::fs::read_to_string(pair.dir(1).join("audit.log")).unwrap();
    for (id, says) in
        [(&withdrawn, "was withdrawn"), (&expired, "has expired"), (&no_data, NO_DATA)]
    {
        let line = log.lines().rfind(|line| line.contains(id)).unwrap();
        assert!(line.contains(says), "{line}");
    }
    std::fs::write(&numbers, bound).unwrap();
}

/// Both lanes of small jobs fail, with the reason; the other side lets no more jobs wait than are to.
fn level_differs(pair: &mut Pair) {
    pair.stop_one(1);
    pair.configure(1, "small = 2000", "small = 3000");
    pair.configure(1, "[jobs]\n", "[jobs]\nmost_waiting = 8\n");
    pair.start_one(1);
    for side in [pair.a(), pair.b()] {
        until("the lane fails", || side.status().unwrap().lanes[0].state == "failed");
        let reason = side.status().unwrap().lanes[0].reason.clone().unwrap();
        assert!(reason.contains("level: here \""), "{reason}");
        assert!(reason.contains("give [pool] the same numbers on both sides"), "{reason}");
    }
}

/// One job by who asked for it, another by who was asked, while they are connected.
fn are_taken_back(pair: &Pair, taken: &str, declined: &str) {
    pair.a().cancel(taken).unwrap();
    pair.b().cancel(declined).unwrap();
    let over = "the peer does not know it any more, or its time is over";
    ended("taken back", pair.a(), taken, JobState::Cancelled, MINE);
    ended("taken back", pair.b(), taken, JobState::Cancelled, THEIRS);
    ended("declined", pair.a(), declined, JobState::Refused, over);
    ended("declined", pair.b(), declined, JobState::Cancelled, MINE);
}

const MINE: &str = "the own owner took it back";
const THEIRS: &str = "the peer's owner took it back";
const PASSED: &str = "its deadline passed before it began";

/// How a job ends for who asked, and for who was asked.
type Agreed = (&'static str, (JobState, &'static str), (JobState, &'static str));

const AGREED: [Agreed; 6] = [
    ("withdrawn", (JobState::Refused, NOT_APPROVED), (JobState::Refused, "was withdrawn")),
    ("withdrawn by who asked", (JobState::Refused, "was withdrawn"), (JobState::Cancelled, THEIRS)),
    ("expired", (JobState::Refused, NOT_APPROVED), (JobState::Refused, "has expired")),
    ("late", (JobState::Expired, PASSED), (JobState::Expired, PASSED)),
    (
        "taken back while the other was away",
        (JobState::Cancelled, MINE),
        (JobState::Cancelled, "the peer does not want it any more"),
    ),
    (
        "another data set",
        (JobState::Refused, NO_DATA),
        (JobState::Failed, "is not the file that was bound"),
    ),
];

#[test]
fn two_of_one_role_or_with_other_numbers_are_told_which_and_run_nothing() {
    for (from, to, named, remedy) in [
        ("\"evaluator\"", "\"garbler\"", "role", "garbler"),
        ("large = 2000", "large = 4000", "level", "give [pool] the same numbers on both sides"),
    ] {
        let (temp, dirs, _) = prepared();
        let config = dirs[1].join("cenote.toml");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, text.replace(from, to)).unwrap();
        let pair = Pair::of(temp, dirs);
        for side in [pair.a(), pair.b()] {
            let large = || side.status().unwrap().lanes.into_iter().find(|one| one.name == "large");
            until("the lane fails", || large().unwrap().state == "failed");
            let reason = large().unwrap().reason.unwrap();
            assert!(reason.contains(named) && reason.contains(remedy), "{reason}");
            assert!(!side.is_ready() && !side.status().unwrap().peer.held);
        }
        pair.stop();
    }
}
