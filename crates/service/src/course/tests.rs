//! Two services under a random sequence of what can happen to them: jobs, approvals, messages that are lost, processes that are killed and machines
//! that lose their power, all by a seed, so that a failure is seen again. Their threads and sockets are left out, and what a session computes
//! is computed in the clear; everything else, database and files among it, is the service's own.
//!
//! A kill leaves files as they are. A loss of power takes a random part of whatever no call has waited for away: the tail of the
//! database's write-ahead log and that of the audit log, in the middle of a line or frame.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cenote_engine::Fault;
use cenote_net::Identity;
use cenote_prim::{Block, Prg};
use serde_json::{Value, json};

use crate::Service;
use crate::audit::{contains, verify};
use crate::course::Begun;
use crate::error::ErrorKind;
use crate::inner::{Inner, lock};
use crate::jobs;
use crate::model::{JobCost, JobState, JobView, NewJob, Sides, Source, Terms};
use crate::peer::messages::{Answer, News, Order, Refusal, Verdict, Verdicts, encode};
use crate::peer::{lane, link};
use crate::registry::hex;

const LESS: &str = "cenote 1
program less \"x < y\"
input x: garbler uint b32
input y: evaluator uint b32
{
  %2 = lt %0, %1
}
output z: both bool %2
";
/// The same of so many bits that it is a large one.
const WIDE: &str = "cenote 1
program wide \"x < y\"
input x: garbler uint b128
input y: evaluator uint b128
{
  %2 = lt %0, %1
}
output z: both bool %2
";
const PROGRAMS: [(&str, &str); 2] = [("less", LESS), ("wide", WIDE)];
/// Sessions that a side cuts at most.
const CUTS: usize = 2;
/// Own input of each side, the other's, and what its data set has.
const INPUTS: [[&str; 2]; 2] = [["x", "y"], ["y", "x"]];
const RECORDS: [[(&str, u32); 2]; 2] = [[("four", 4), ("nine", 9)], [("five", 5), ("six", 6)]];
const COST: JobCost = JobCost { ands: 32, bytes_sent: 1, bytes_received: 1, seconds: 0.0 };

/// One service, and what its owner was told.
struct Side {
    dir: PathBuf,
    /// None while the process is down.
    service: Option<Service>,
    /// The next news are the first on a connection.
    first: bool,
    /// Own jobs that were taken, and what they ask for.
    asked: BTreeMap<String, Option<bool>>,
    /// The same in the order in which they were asked for, which a seed repeats.
    order: Vec<String>,
    /// Ends that the owner has seen.
    seen: HashMap<String, (JobState, Option<Value>)>,
    withdrawn: BTreeSet<i64>,
    /// Jobs that were computed, by approval.
    uses: BTreeMap<i64, u64>,
    /// Sessions that it wanted to cut.
    cuts: usize,
}

impl Side {
    fn service(&self) -> &Service {
        self.service.as_ref().unwrap()
    }

    fn inner(&self) -> &Inner {
        &self.service().0
    }

    /// A job was taken that asks for this.
    fn takes(&mut self, id: String, result: Option<bool>) {
        self.order.push(id.clone());
        self.asked.insert(id, result);
    }

    fn open(&mut self) {
        let (inner, listener) = Inner::open_in(&self.dir).unwrap();
        assert!(listener.is_none());
        // The log grows only: what is durable is a part of it.
        inner.db.with(|db| db.pragma_update(None, "wal_autocheckpoint", 0)).unwrap();
        self.service = Some(Service(inner));
        self.first = true;
        for id in self.asked.keys() {
            assert!(self.service().job(id).is_ok(), "job {id} was taken, and is gone");
        }
        for (id, told) in &self.seen {
            let job = self.service().job(id).unwrap();
            assert_eq!((job.state, job.result), *told, "job {id} had ended otherwise");
        }
    }

    /// Bytes of both logs that are on the disk.
    fn durable(&self) -> [u64; 2] {
        let inner = self.inner();
        let lines = usize::try_from(inner.audit.head().sequence).unwrap();
        let log = fs::read(self.dir.join("audit.log")).unwrap();
        let settled: usize =
            log.split_inclusive(|byte| *byte == b'\n').take(lines).map(<[u8]>::len).sum();
        [inner.db.durable.load(Ordering::SeqCst), settled as u64]
    }

    /// Copies the files of a process that is no more to where the next one begins, as far as they are `kept`.
    fn copy_to(&self, dir: &Path, kept: [u64; 2]) {
        fs::create_dir_all(dir).unwrap();
        for entry in fs::read_dir(&self.dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::copy(&path, dir.join(path.file_name().unwrap())).unwrap();
            }
        }
        for (name, length) in ["service.db-wal", "audit.log"].iter().zip(kept) {
            let file = fs::OpenOptions::new().write(true).open(dir.join(name)).unwrap();
            file.set_len(length).unwrap();
        }
    }
}

/// The connection on which a side tells its news: one message at a time, which arrives when it does.
#[derive(Default)]
struct Connection {
    under_way: Option<Message>,
    /// News of a connection that broke, which the other side has got and not looked at yet; it does so before it looks at those of the next one.
    late: Option<News>,
}

impl Message {
    const fn is_news(&self) -> bool {
        matches!(self, Message::News(_))
    }

    const fn is_answer(&self) -> bool {
        matches!(self, Message::Answer(..))
    }
}

/// As it was sent.
enum Message {
    News(Vec<u8>),
    /// The answer, and the news to which it is one.
    Answer(News, Vec<u8>),
}

struct World {
    temp: tempfile::TempDir,
    sides: [Side; 2],
    /// By the side that tells.
    links: [Connection; 2],
    random: Prg,
    crashes: u32,
    /// Jobs that were taken back while they ran.
    taken: u32,
    /// Jobs that were computed: once each.
    computed: BTreeSet<String>,
    /// Jobs that were taken back before their own side went on with them.
    never: BTreeSet<String>,
}

impl World {
    fn new(seed: u64) -> World {
        let temp = tempfile::tempdir().unwrap();
        let identities = ["a", "b"].map(|name| Identity::generate(name).unwrap());
        let sides = [0, 1].map(|side| {
            let dir = temp.path().join(format!("{side}.0"));
            let data = temp.path().join(format!("data.{side}"));
            fs::create_dir_all(&dir).unwrap();
            fs::create_dir_all(&data).unwrap();
            identities[side].save(&dir).unwrap();
            fs::write(dir.join("peer.crt.pem"), identities[1 - side].certificate().to_pem()).unwrap();
            let role = ["garbler", "evaluator"][side];
            let config = format!(
                "name = \"{side}\"\n[peer]\nname = \"other\"\nrole = \"{role}\"\nconnect = \"127.0.0.1:1\"\n\
                 [data]\ndirectories = [{data:?}]\n[jobs]\nsmall_ands = 100\ncuts_a_day = {CUTS}\n"
            );
            fs::write(dir.join("cenote.toml"), config).unwrap();
            let table = data.join("numbers.csv");
            let rows = RECORDS[side].map(|(name, value)| format!("{name},{value}\n")).concat();
            fs::write(&table, format!("name,{}\n{rows}", INPUTS[side][0])).unwrap();
            let mut side = Side {
                dir,
                service: None,
                first: true,
                asked: BTreeMap::new(),
                order: Vec::new(),
                seen: HashMap::new(),
                withdrawn: BTreeSet::new(),
                uses: BTreeMap::new(),
                cuts: 0,
            };
            side.open();
            for (name, text) in PROGRAMS {
                side.service().register(name, text.as_bytes()).unwrap();
            }
            side.service().bind("numbers", &table, None).unwrap();
            side
        });
        let random = Prg::new(Block::new(u128::from(seed)));
        let (computed, never) = (BTreeSet::new(), BTreeSet::new());
        let links = <[Connection; 2]>::default();
        let world = World { temp, sides, links, random, crashes: 0, taken: 0, computed, never };
        for (side, peers) in [(0, false), (0, true), (1, false), (1, true)] {
            for (name, _) in PROGRAMS {
                world.approve(name, side, peers, None);
            }
        }
        world
    }

    /// A number below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        u64::from_le_bytes(self.random.bytes32()[..8].try_into().unwrap()) % limit
    }

    fn side(&mut self) -> usize {
        self.below(2) as usize
    }

    fn one_of(&mut self, side: usize) -> Option<String> {
        let place = self.below(1 + self.sides[side].order.len() as u64) as usize;
        self.sides[side].order.get(place).cloned()
    }

    fn step(&mut self) {
        match self.below(100) {
            0..20 => self.submit(),
            20..23 => {
                let (side, peers, uses) = (self.side(), self.below(2) == 0, self.below(8));
                let (name, _) = PROGRAMS[self.side()];
                self.approve(name, side, peers, (uses > 2).then_some(uses));
            }
            23..24 => self.withdraw(),
            24..27 => self.cancel(),
            27..32 => self.look(),
            32..64 => {
                let side = self.side();
                for _ in 0..=self.below(3) {
                    self.link(side);
                }
            }
            64..94 => {
                let lane = usize::from(self.below(3) == 0);
                self.run(lane, true);
            }
            94..97 => {
                let side = self.side();
                self.crash(side);
            }
            _ => self.time_passes(),
        }
    }

    fn submit(&mut self) {
        let (side, value) = (self.side(), self.below(10) as u32);
        let records = RECORDS[1 - side];
        let which = self.below(5) as usize;
        let (name, other) = records.get(which / 2).map_or(("none", None), |(n, v)| (*n, Some(*v)));
        let job = NewJob {
            program: PROGRAMS[usize::from(self.below(3) == 0)].0.into(),
            inputs: [(INPUTS[side][0].to_owned(), json!(value))].into(),
            select: [("which".to_owned(), name.to_owned())].into(),
            deadline_s: (self.below(4) == 0).then_some(60),
            priority: self.below(3) as i32,
            ..NewJob::default()
        };
        let less = |other: u32| if side == 0 { value < other } else { other < value };
        if let Ok((job, new)) = self.sides[side].service().submit(&job) {
            assert!(new);
            self.sides[side].takes(job.id, other.map(less));
        }
    }

    fn approve(&self, program: &str, side: usize, peers: bool, uses: Option<u64>) {
        let source = if peers {
            Source::Record {
                dataset: "numbers".into(),
                key: "name".into(),
                parameter: "which".into(),
                columns: BTreeMap::new(),
            }
        } else {
            Source::Submitter
        };
        let terms = Terms {
            program: program.into(),
            peer: String::new(),
            inputs: [(INPUTS[side][0].to_owned(), source)].into(),
            submitters: if peers { Sides::Peer } else { Sides::Own },
            receivers: None,
            uses,
            period_s: None,
            expires_at: None,
        };
        self.sides[side].service().approve(terms).unwrap();
    }

    fn withdraw(&mut self) {
        let side = self.side();
        let all = self.sides[side].service().approvals().unwrap();
        if !all.is_empty() {
            let id = all[self.below(all.len() as u64) as usize].id;
            self.sides[side].service().withdraw(id).unwrap();
            self.sides[side].withdrawn.insert(id);
        }
    }

    fn cancel(&mut self) {
        let side = self.side();
        if let Some(id) = self.one_of(side)
            && let Ok(job) = self.sides[side].service().cancel(&id)
        {
            self.saw(side, job);
        }
    }

    /// A job of the lane is taken back while it runs, by whoever asked for it; before or after its own side looked for the last time whether it was.
    /// What follows of that may take its time.
    fn take_back(&mut self, lane: usize, begun: bool) {
        let (side, heard) = (self.side(), self.below(8));
        let running = |side: &Side| jobs::running_in(&side.inner().db, lane == 0).unwrap();
        let own = |id: &&String| self.sides[side].asked.contains_key(*id);
        let all = running(&self.sides[side]);
        let Some(id) = all.iter().find(own).cloned() else { return };
        let spent = |side: &Side| {
            side.service().approvals().unwrap().iter().map(|one| one.spent).collect::<Vec<_>>()
        };
        let (before, waits) =
            (spent(&self.sides[side]), lock(&self.sides[side].inner().cuts).len());
        // Not by who was asked.
        if running(&self.sides[1 - side]).contains(&id) {
            let refused = self.sides[1 - side].service().cancel(&id).unwrap_err();
            assert_eq!(refused.kind, ErrorKind::Conflict);
            let news = News { cancelled: vec![id.clone()], ..News::default() };
            link::heard(self.sides[side].inner(), &news).unwrap();
        }
        let job = self.sides[side].service().cancel(&id).unwrap();
        assert_eq!(job.state, JobState::Cancelled);
        assert_eq!(before, spent(&self.sides[side]), "a use comes back");
        self.saw(side, job);
        self.taken += 1;
        if !begun {
            self.never.insert(id);
        }
        let cuts = lock(&self.sides[side].inner().cuts).len() - waits;
        self.sides[side].cuts += cuts;
        assert!(cuts == 0 || lane == 1, "others run with a small one");
        assert!(self.sides[side].cuts <= CUTS);
        if heard < 5 {
            (0..=heard).for_each(|_| self.link(side));
        } else if heard < 7 {
            self.sides[side].inner().cut_overdue(Duration::ZERO);
        }
    }

    fn look(&mut self) {
        let side = self.side();
        if let Some(id) = self.one_of(side) {
            let job = self.sides[side].service().job(&id).unwrap();
            self.saw(side, job);
        }
    }

    /// The owner is told where a job of its own stands.
    fn saw(&mut self, side: usize, job: JobView) {
        if job.state == JobState::Done {
            assert!(self.computed.contains(&job.id));
            let z = job.result.as_ref().map(|result| result["z"].clone());
            assert_eq!(z, self.sides[side].asked[&job.id].map(Value::Bool), "a wrong result");
        }
        if job.state.is_end() {
            self.sides[side].seen.insert(job.id, (job.state, job.result));
        }
    }

    /// What happens next on the connection on which a side tells its news.
    fn link(&mut self, side: usize) {
        match self.below(30) {
            0 => self.breaks(side),
            1..4 => self.looks_at_late(side),
            _ => self.goes_on(side),
        }
    }

    /// A message is sent where none is under way, or arrives.
    fn goes_on(&mut self, side: usize) {
        let [own, other] = [side, 1 - side].map(|side| self.sides[side].inner());
        let sent = match self.links[side].under_way.take() {
            None => {
                let news = link::news(own, self.sides[side].first).unwrap();
                self.told_head(side, &news.head);
                Some(Message::News(encode(&news).unwrap()))
            }
            Some(Message::News(bytes)) => {
                if let Some(late) = self.links[side].late.take() {
                    drop(link::heard(other, &late).unwrap());
                }
                let news = News::decode(&bytes).unwrap();
                let answer = link::heard(other, &news).unwrap();
                self.told_head(1 - side, &answer.head);
                Some(Message::Answer(news, encode(&answer).unwrap()))
            }
            Some(Message::Answer(news, bytes)) => {
                link::answered(own, &news, &Answer::decode(&bytes, &news).unwrap()).unwrap();
                None
            }
        };
        self.sides[side].first &= sent.is_some();
        self.links[side].under_way = sent;
    }

    fn looks_at_late(&mut self, side: usize) {
        if let Some(late) = self.links[side].late.take() {
            drop(link::heard(self.sides[1 - side].inner(), &late).unwrap());
        }
    }

    /// A connection breaks, and another one is made. What was under way has come to the other end, or is lost.
    fn breaks(&mut self, side: usize) {
        let comes = self.below(2) == 0;
        match self.links[side].under_way.take() {
            Some(Message::News(bytes)) if comes => {
                self.looks_at_late(side);
                self.links[side].late = Some(News::decode(&bytes).unwrap());
            }
            answer @ Some(Message::Answer(..)) if comes => {
                self.links[side].under_way = answer;
                self.goes_on(side);
            }
            _ => {}
        }
        self.sides[side].first = true;
    }

    /// All that is under way arrives, then news of a side and their answer.
    fn tell(&mut self, side: usize) {
        while self.links[side].under_way.is_some() {
            self.goes_on(side);
        }
        (0..3).for_each(|_| self.goes_on(side));
    }

    /// What a side says of its log is on its disk.
    fn told_head(&self, side: usize, head: &crate::audit::Head) {
        let side = &self.sides[side];
        let copy = self.temp.path().join("head.log");
        let log = fs::read(side.dir.join("audit.log")).unwrap();
        fs::write(&copy, &log[..side.durable()[1] as usize]).unwrap();
        assert!(contains(&copy, head).unwrap());
    }

    /// One run of a lane, with an interruption anywhere if that is to be. Whether there was one to run.
    fn run(&mut self, lane: usize, interrupted: bool) -> bool {
        let ran = self.run_one(lane, interrupted);
        // What was cut when the run had ended is seen by the next.
        self.is_cut(lane);
        ran
    }

    fn run_one(&mut self, on: usize, interrupted: bool) -> bool {
        let stop = |world: &mut World, begun: bool| interrupted && world.interrupted(on, begun);
        let leader = self.sides[0].inner();
        let ids = leader.next_jobs(&leader.lanes[on]);
        let started = ids.iter().filter_map(|id| leader.start_job(id, &leader.lanes[on]).ok());
        let started: Vec<_> = started.collect();
        if started.is_empty() {
            return !ids.is_empty();
        }
        let ids: Vec<[u8; 16]> = started
            .iter()
            .map(|job| u128::from_str_radix(&job.id, 16).unwrap().to_be_bytes())
            .collect();
        assert_eq!(Order::decode(&Order::Run(ids.clone()).encode()), Ok(Order::Run(ids.clone())));
        if stop(self, false) {
            return true;
        }
        let follower = self.sides[1].inner();
        assert!(follower.go_together(&ids, &follower.lanes[on]));
        let follows: Vec<_> =
            ids.iter().map(|id| follower.start_job(&hex(id), &follower.lanes[on])).collect();
        if stop(self, false) {
            return true;
        }
        let started = [started.into_iter().map(Ok).collect(), follows];
        let mut begun = started.into_iter().enumerate().map(|(side, started)| {
            let inner = self.sides[side].inner();
            lane::begin(inner, &inner.lanes[on], started).unwrap()
        });
        let (first, second) = (begun.next().unwrap(), begun.next().unwrap());
        drop(begun);
        let said =
            [&first.1, &second.1].map(|own| Verdicts::decode(&own.encode(), ids.len()).unwrap());
        (0..2).for_each(|side| self.told_head(side, &said[side].head));
        if stop(self, true) {
            return true;
        }
        let leads = lane::agreed(self.sides[0].inner(), first.0, &said[1]);
        // The leader's word may not arrive.
        if stop(self, true) {
            return true;
        }
        let follows = lane::agreed(self.sides[1].inner(), second.0, &said[0]);
        self.compute(&leads, &follows);
        if stop(self, true) {
            return true;
        }
        (0..2).for_each(|side| self.sides[side].inner().lanes[on].runs_nothing());
        let results: Vec<_> = leads.iter().zip(&follows).map(|(a, b)| result(a, b)).collect();
        for (side, jobs) in [leads, follows].iter().enumerate() {
            for (job, z) in jobs.iter().zip(&results) {
                let (result, head) = (Some(json!({ "z": z })), said[1 - side].head);
                self.sides[side].inner().done(job, result, &COST, head, &BTreeMap::new());
            }
            if stop(self, true) {
                break;
            }
        }
        true
    }

    /// From here on outputs may be known to somebody.
    fn compute(&mut self, leads: &[Begun], follows: &[Begun]) {
        let ids = |jobs: &[Begun]| jobs.iter().map(|job| job.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(leads), ids(follows));
        for job in leads {
            assert!(self.computed.insert(job.id.clone()), "a job is computed twice");
            assert!(!self.never.contains(&job.id), "a job is computed that was taken back");
        }
        for side in 0..2 {
            self.is_spent(side, &ids(leads));
        }
    }

    /// That the uses of these jobs are spent and the jobs noted, whatever happens to the machine now.
    fn is_spent(&mut self, side: usize, ids: &[String]) {
        let copy = self.temp.path().join("spent");
        let side = &mut self.sides[side];
        side.copy_to(&copy, side.durable());
        let log = fs::read_to_string(copy.join("audit.log")).unwrap();
        let db = rusqlite::Connection::open(copy.join("service.db")).unwrap();
        for id in ids {
            // But for one that was taken back while it ran.
            let told = side.seen.get(id).map(|told| told.0);
            assert!(
                matches!(told, None | Some(JobState::Cancelled)),
                "a job runs whose end was told"
            );
            let begun = log.lines().any(|line| line.contains("job.begun") && line.contains(id));
            assert!(begun, "no line of job {id}");
            let find = "SELECT state, approval FROM job WHERE id = ?1";
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let (state, approval): (String, i64) = db.query_row(find, [id], row).unwrap();
            assert!(["running", "cancelled"].contains(&state.as_str()), "{state}");
            assert!(!side.withdrawn.contains(&approval), "it was withdrawn");
            *side.uses.entry(approval).or_default() += 1;
            let spent = "SELECT spent FROM approval WHERE id = ?1";
            let spent: i64 = db.query_row(spent, [approval], |row| row.get(0)).unwrap();
            assert!(spent.unsigned_abs() >= side.uses[&approval], "{spent} uses are spent");
        }
        drop(db);
        fs::remove_dir_all(copy).unwrap();
    }

    /// Whether a run ends here: with the connection, or with one or both processes.
    fn interrupted(&mut self, lane: usize, begun: bool) -> bool {
        if self.below(8) == 0 {
            self.take_back(lane, begun);
        }
        if self.is_cut(lane) {
            return true;
        }
        let what = self.below(60);
        if what > 3 {
            return false;
        }
        for side in 0..2 {
            if what & (1 << side) != 0 {
                self.crash(side);
            } else {
                let inner = Arc::clone(&self.sides[side].service().0);
                inner.fail_left(&inner.lanes[lane], &Fault::Transport("the line broke".into()));
                inner.lanes[lane].opens();
                self.breaks(side);
            }
        }
        true
    }

    /// Whether a side cut the session of a lane: then it is over on both, and another one opens.
    fn is_cut(&mut self, lane: usize) -> bool {
        let is_cut = self.sides.iter().any(|side| side.inner().lanes[lane].is_cut());
        if is_cut {
            for side in &self.sides {
                let inner = side.inner();
                inner.fail_left(&inner.lanes[lane], &Fault::Transport("cut".into()));
                inner.lanes[lane].opens();
            }
        }
        is_cut
    }

    /// A process is killed, or its machine loses its power; it is started again.
    fn crash(&mut self, side: usize) {
        self.crashes += 1;
        // Its news may arrive all the same, and so may what it answered; it hears nothing any more.
        for told in [side, 1 - side] {
            let hears = [Message::is_news, Message::is_answer][usize::from(told == side)];
            if self.links[told].under_way.as_ref().is_some_and(hears) {
                self.links[told].under_way = None;
            }
            self.breaks(told);
        }
        self.links[1 - side].late = None;
        let durable = self.sides[side].durable();
        let mut kept = ["service.db-wal", "audit.log"]
            .map(|name| fs::metadata(self.sides[side].dir.join(name)).unwrap().len());
        if self.below(2) == 0 {
            for (kept, durable) in kept.iter_mut().zip(durable) {
                *kept = durable + self.below(*kept - durable + 1);
            }
        }
        let next = self.temp.path().join(format!("{side}.{}", self.crashes));
        self.sides[side].copy_to(&next, kept);
        if kept[1] > durable[1] && self.below(3) == 0 {
            // Pages reach the disk in any order.
            let at = durable[1] + self.below(kept[1] - durable[1]);
            let log = fs::OpenOptions::new().write(true).open(next.join("audit.log")).unwrap();
            log.write_all_at(&vec![0; (kept[1] - at).min(100) as usize], at).unwrap();
        }
        self.sides[side].service = None;
        self.sides[side].dir = next;
        self.sides[side].open();
    }

    fn time_passes(&mut self) {
        let by = 1000 * self.below(60) as i64;
        crate::clock::set_ahead_by(by);
        for side in &self.sides {
            jobs::tidy(&side.inner().db).unwrap();
        }
    }

    /// An offer that was long under way has as many seconds left where it arrives, so that it expires there later; and a job whose time was over when it
    /// was to begin is refused on one side before the other has looked at its clock.
    fn deadlines_pass(&self) {
        let open = |side: &Side| {
            let mut all = side.service().jobs(&crate::model::JobFilter::default()).unwrap();
            all.retain(|job| !job.state.is_end());
            all
        };
        for side in 0..2 {
            for job in open(&self.sides[side]) {
                assert!(job.deadline_at.is_some(), "job {} of side {side} never ends", job.id);
                let other = self.sides[1 - side].service().job(&job.id);
                assert!(other.is_err() || other.unwrap().state.is_end(), "job {}", job.id);
            }
        }
        crate::clock::set_ahead_by(60_000);
        for side in &self.sides {
            jobs::tidy(&side.inner().db).unwrap();
        }
    }

    /// Nothing happens any more, and everything arrives: each job ends, on both sides.
    fn rests(&mut self) {
        (0..2).for_each(|side| self.sides[side].inner().cut_overdue(Duration::ZERO));
        for lane in 0..2 {
            self.is_cut(lane);
        }
        for _ in 0..100 {
            (0..2).for_each(|side| self.tell(side));
            let ran = [0, 1].map(|lane| self.run(lane, false)).contains(&true);
            let open = |side: &Side| {
                let all = side.service().jobs(&crate::model::JobFilter::default()).unwrap();
                all.iter().any(|job| !job.state.is_end())
            };
            if !ran && !self.sides.iter().any(open) {
                break;
            }
        }
        (0..2).for_each(|side| self.tell(side));
        self.deadlines_pass();
        for side in 0..2 {
            let all = crate::model::JobFilter { limit: Some(1000), ..Default::default() };
            for job in self.sides[side].service().jobs(&all).unwrap() {
                assert!(job.state.is_end(), "job {} of side {side} is {:?}", job.id, job.state);
                if self.sides[side].asked.contains_key(&job.id) {
                    self.saw(side, job);
                }
            }
            let inner = self.sides[side].inner();
            assert!(lock(&inner.cancelled).is_empty() && lock(&inner.declined).is_empty());
            assert!(lock(&inner.cuts).is_empty() && !inner.is_held());
            inner.settle().unwrap();
            for approval in self.sides[side].service().approvals().unwrap() {
                let ran = self.sides[side].uses.get(&approval.id).copied().unwrap_or_default();
                assert!(approval.spent >= ran);
                assert!(approval.terms.uses.is_none_or(|uses| approval.spent <= uses));
            }
            verify(&self.sides[side].dir.join("audit.log"), &inner.public).unwrap();
        }
    }
}

/// What a run gives: both inputs in the clear.
fn result(leads: &Begun, follows: &Begun) -> bool {
    assert_eq!(leads.program.digest, follows.program.digest);
    let inputs = [leads.own[0].clone(), follows.own[0].clone()];
    leads.program.module.evaluate(&inputs)[0][0]
}

/// Seeds by `CENOTE_SEEDS`, as `17` or `0..5000`; some without it.
fn seeds() -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("CENOTE_SEEDS") else { return 0..40 };
    match text.split_once("..") {
        Some((first, end)) => first.parse().unwrap()..end.parse().unwrap(),
        None => text.parse().unwrap()..text.parse::<u64>().unwrap() + 1,
    }
}

#[test]
fn whatever_happens_uses_are_spent_results_are_right_and_jobs_end() {
    let (mut computed, mut crashes, mut taken) = (0, 0, 0);
    for seed in seeds() {
        let run = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            for _ in 0..150 {
                world.step();
            }
            world.rests();
            (world.computed.len(), world.crashes, world.taken)
        });
        let (ran, crashed, back) =
            run.unwrap_or_else(|_| panic!("seed {seed}: CENOTE_SEEDS={seed}"));
        computed += ran;
        crashes += crashed;
        taken += back;
    }
    assert!(computed > 0 && crashes > 0 && taken > 0, "{computed} ran, {crashes}, {taken}");
    eprintln!(
        "{computed} jobs were computed, {taken} taken back while they ran, {crashes} crashes"
    );
}

impl World {
    /// A job of a side's.
    fn asks(&mut self, side: usize, program: &str, priority: i32) -> String {
        let job = NewJob {
            program: program.into(),
            inputs: [(INPUTS[side][0].to_owned(), json!(3))].into(),
            select: [("which".to_owned(), RECORDS[1 - side][0].0.to_owned())].into(),
            priority,
            ..NewJob::default()
        };
        let id = self.sides[side].service().submit(&job).unwrap().0.id;
        self.sides[side].takes(id.clone(), Some(side == 0));
        id
    }

    /// A job of side 0 that has come to both, on its lane.
    fn agreed(&mut self, program: &str, lane: usize) -> String {
        let id = self.asks(0, program, 0);
        for _ in 0..2 {
            (0..2).for_each(|side| self.tell(side));
        }
        let inner = self.sides[0].inner();
        assert_eq!(inner.next_jobs(&inner.lanes[lane]), [&*id]);
        id
    }

    /// It begins on a side; none if the side does not go on with it.
    fn begins(&self, side: usize, id: &str, lane: usize) -> Option<Begun> {
        let inner = self.sides[side].inner();
        let started = vec![inner.start_job(id, &inner.lanes[lane])];
        lane::begin(inner, &inner.lanes[lane], started).unwrap().0.pop().unwrap()
    }

    fn state(&self, side: usize, id: &str) -> JobState {
        self.sides[side].service().job(id).unwrap().state
    }
}

#[test]
fn only_who_asked_takes_back_a_job_that_runs() {
    let mut world = World::new(1);
    let id = world.agreed("wide", 1);
    let begun = [0, 1].map(|side| world.begins(side, &id, 1).unwrap());
    // Neither the other side's owner, nor the other side by its news.
    let refused = world.sides[1].service().cancel(&id).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Conflict);
    let news = News { cancelled: vec![id.clone()], ..News::default() };
    link::heard(world.sides[0].inner(), &news).unwrap();
    assert_eq!(world.state(0, &id), JobState::Running);
    assert!(!world.sides[0].inner().ended_by_peer(&id));
    // Nor another token of the own side.
    let refused = world.sides[0].service().cancel_for(&id, "another").unwrap_err();
    assert_eq!((refused.kind, world.state(0, &id)), (ErrorKind::Forbidden, JobState::Running));
    world.sides[0].service().cancel(&id).unwrap();
    // It hears of it before anything is cut, and cuts nothing itself.
    assert!(!world.sides[0].inner().lanes[1].is_cut());
    world.tell(0);
    let cut = [0, 1].map(|side| world.sides[side].inner().lanes[1].is_cut());
    assert_eq!(cut, [true, false]);
    let states = [JobState::Cancelled, JobState::Running];
    assert_eq!([0, 1].map(|side| world.state(side, &id)), states);
    // Whatever the run still gives is not kept by who took it back. The other side keeps it: the peer may go on, and have outputs of its own.
    let head = world.sides[0].inner().audit.head();
    let ends = [(JobState::Cancelled, None), (JobState::Done, Some(json!({ "z": true })))];
    for (side, (job, end)) in begun.iter().zip(ends).enumerate() {
        world.sides[side].inner().done(
            job,
            Some(json!({ "z": true })),
            &COST,
            head,
            &BTreeMap::new(),
        );
        let job = world.sides[side].service().job(&id).unwrap();
        let discarded = end.1.is_none();
        assert_eq!((job.state, job.result), end);
        let log = fs::read_to_string(world.sides[side].dir.join("audit.log")).unwrap();
        let done = log.lines().find(|line| line.contains("job.done")).unwrap();
        assert_eq!(done.contains("discarded"), discarded);
    }
    let all = world.sides[0].service().approvals().unwrap();
    assert_eq!(all.iter().map(|one| one.spent).sum::<u64>(), 1);
}

#[test]
fn what_is_taken_back_before_its_side_goes_on_is_left_out() {
    let mut world = World::new(1);
    let id = world.agreed("less", 0);
    let inner = world.sides[0].inner();
    let started = vec![inner.start_job(&id, &inner.lanes[0])];
    world.sides[0].service().cancel(&id).unwrap();
    let (begun, said) = lane::begin(inner, &inner.lanes[0], started).unwrap();
    assert!(begun[0].is_none());
    assert_eq!(said.all, [Verdict::Refused(Refusal::Over)]);
    // The other side, which had begun, ends it as well.
    let theirs = world.begins(1, &id, 0);
    assert!(lane::agreed(world.sides[1].inner(), vec![theirs], &said).is_empty());
    assert_eq!(world.state(1, &id), JobState::Refused);
}

#[test]
fn no_session_is_cut_but_the_one_in_which_the_job_runs_alone_and_so_many_a_day() {
    let mut world = World::new(1);
    let waits = |world: &World| lock(&world.sides[0].inner().cuts).len();
    // A small job runs with others.
    let small = world.agreed("less", 0);
    let _begun = [0, 1].map(|side| world.begins(side, &small, 0).unwrap());
    let cancelled = world.sides[0].service().cancel(&small).unwrap();
    assert!(cancelled.reason.unwrap().contains("the run goes on to its end"));
    assert_eq!(waits(&world), 0);
    world.tell(0);
    assert_eq!(world.state(1, &small), JobState::Running);
    for number in 0..=CUTS {
        let id = world.agreed("wide", 1);
        let _begun = [0, 1].map(|side| world.begins(side, &id, 1).unwrap());
        world.sides[0].service().cancel(&id).unwrap();
        assert_eq!(waits(&world), usize::from(number < CUTS), "{number}");
        // Its run had ended, and another job runs now.
        world.sides[0].inner().lanes[1].runs_nothing();
        let next = world.asks(0, "wide", 0);
        let _begun = world.begins(0, &next, 1).unwrap();
        world.sides[0].inner().cut_overdue(Duration::ZERO);
        assert!(!world.sides[0].inner().lanes[1].is_cut(), "the session of another job");
        for side in &world.sides {
            let fault = Fault::Transport("cut".into());
            side.inner().fail_left(&side.inner().lanes[1], &fault);
            side.inner().lanes[1].opens();
        }
    }
}

#[test]
fn the_highest_priority_goes_first_then_the_oldest_and_no_job_of_the_peers_before_an_own_one() {
    for lane in 0..2 {
        let mut world = World::new(1);
        let program = PROGRAMS[lane].0;
        // In the order in which they come to the leader.
        let own = world.asks(0, program, 0);
        let urgent = world.asks(1, program, 100);
        (0..4).for_each(|_| (0..2).for_each(|side| world.tell(side)));
        let late = world.asks(0, program, -1);
        let later = world.asks(0, program, 0);
        let first = world.asks(0, program, 5);
        let meek = world.asks(1, program, -2);
        (0..4).for_each(|_| (0..2).for_each(|side| world.tell(side)));
        let inner = world.sides[0].inner();
        let order = [first, own, urgent.clone(), later, late, meek];
        let all = jobs::next(&inner.db, lane == 0, order.len() + 1).unwrap();
        assert_eq!(all.into_iter().map(|[id, _]| id).collect::<Vec<_>>(), order);
        // As many as go together; a large one alone.
        let together = [3, 1][lane];
        assert_eq!(inner.next_jobs(&inner.lanes[lane]), order[..together]);
        // Both owners are shown the same.
        let shown = [1, 0].map(|side| world.sides[side].service().job(&urgent).unwrap().priority);
        assert_eq!(shown, [100, 100]);
        // Nor does what has begun come again.
        drop(world.begins(0, &order[0], lane).unwrap());
        let inner = world.sides[0].inner();
        let next = inner.next_jobs(&inner.lanes[lane]);
        assert_eq!(next, order[1..=together]);
    }
}

/// What the peer calls urgent goes before its own other jobs, on the side that does not ask for them too.
#[test]
fn the_peers_priorities_count_among_its_jobs() {
    let mut world = World::new(1);
    let [meek, low, own, high] = [(1, 0), (1, 7), (0, 0), (1, 100)].map(|(side, priority)| {
        let id = world.asks(side, "wide", priority);
        (0..4).for_each(|_| (0..2).for_each(|side| world.tell(side)));
        id
    });
    let order = |side: usize| -> Vec<String> {
        let all = jobs::next(&world.sides[side].inner().db, false, 9).unwrap();
        all.into_iter().map(|[id, _]| id).collect()
    };
    // The own one is older than the first of the peer's.
    assert_eq!(order(0), [&own, &high, &low, &meek].map(Clone::clone));
    assert_eq!(order(1), [&high, &low, &meek, &own].map(Clone::clone));
}

#[test]
fn a_decline_that_overtakes_the_answer_ends_the_job_on_both_sides() {
    let mut world = World::new(1);
    world.tell(0);
    world.tell(1);
    let id = world.asks(0, "wide", 0);
    // The other side takes it, and its owner does not want it; that comes on another connection than the answer to the offer.
    (0..2).for_each(|_| world.goes_on(0));
    world.sides[1].service().cancel(&id).unwrap();
    world.tell(1);
    assert_eq!(world.state(0, &id), JobState::Refused);
    world.goes_on(0);
    assert!(world.links[0].under_way.is_none());
    let states = [JobState::Refused, JobState::Cancelled];
    assert_eq!([0, 1].map(|side| world.state(side, &id)), states);
}

#[test]
fn a_decline_that_is_lost_with_its_connection_is_said_again() {
    let mut world = World::new(1);
    let id = world.agreed("wide", 1);
    world.sides[1].service().cancel(&id).unwrap();
    world.goes_on(1);
    // The other connection stays: nobody names the job on it again.
    world.links[1].under_way = None;
    world.sides[1].first = true;
    (0..2).for_each(|_| world.tell(1));
    assert_eq!(world.state(0, &id), JobState::Refused);
    assert!(lock(&world.sides[1].inner().declined).is_empty());
}

/// The first job of all: the database has never said how far the log was on the disk, or has lost that.
#[test]
fn a_loss_of_power_while_the_first_job_begins_keeps_no_service_down() {
    let mut world = World::new(1);
    let id = world.agreed("wide", 1);
    let side = &mut world.sides[0];
    let durable = side.durable();
    assert!(side.inner().start_job(&id, &side.inner().lanes[1]).is_ok());
    let log = fs::read(side.dir.join("audit.log")).unwrap();
    assert!(log.len() as u64 > durable[1], "a line that nobody has waited for");
    let next = world.temp.path().join("next");
    side.copy_to(&next, [durable[0], log.len() as u64]);
    let log = fs::OpenOptions::new().write(true).open(next.join("audit.log")).unwrap();
    log.write_all_at(&[0; 20], durable[1] + 100).unwrap();
    side.service = None;
    side.dir = next;
    side.open();
    assert_eq!(world.state(0, &id), JobState::Submitted);
    let log = fs::read_to_string(world.sides[0].dir.join("audit.log")).unwrap();
    assert!(log.contains("log.cut") && !log.contains("\"kind\":\"job.begun\""), "{log}");
}
