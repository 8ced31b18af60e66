//! Two services in directories of their own.
#![allow(dead_code, unreachable_pub)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cenote_net::Identity;
use cenote_pool::{DiskStore, StoreKey};
use cenote_service::model::{Sides, Source, Terms};
use cenote_service::{Service, check_journal};

/// Whether the garbler's number is less than the evaluator's.
pub const LESS: &str = "cenote 1
program less \"x < y\"
input x: garbler uint b32
input y: evaluator uint b32
{
  %2 = lt %0, %1
}
output z: both bool %2
";

/// So many multiplications of what the garbler brings by what the evaluator does.
pub fn long(name: &str, steps: u32) -> String {
    format!(
        "cenote 1
program {name} \"a long way\"
input x: garbler uint b32
input y: evaluator uint b32
{{
  %2 = for {steps} (%0) {{
    |%3|
    %4 = mul %3, %1
    yield %4
  }}
}}
output z: both uint %2
"
    )
}

/// Waits until it is so, for so long at most.
pub fn until(limit: Duration, what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + limit;
    while !is() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The store of a lane of a service that does not run.
pub fn open_store(dir: &Path, lane: &str) -> DiskStore {
    let store = dir.join("stores").join(lane);
    let key = StoreKey::load(&store.with_extension("key")).unwrap();
    DiskStore::open(&store, &key).unwrap()
}

/// The number of the row that the job names.
pub fn record() -> Source {
    Source::Record {
        dataset: "numbers".into(),
        key: "name".into(),
        parameter: "which".into(),
        columns: [].into(),
    }
}

pub struct Pair {
    services: [Option<Service>; 2],
    dirs: [PathBuf; 2],
    _temp: tempfile::TempDir,
}

/// The directories of two services that know each other, not started; side 0 garbles, and listens at the port.
pub fn prepared() -> (tempfile::TempDir, [PathBuf; 2], u16) {
    let temp = tempfile::tempdir().unwrap();
    let dirs = ["a", "b"].map(|name| temp.path().join(name));
    let identities = ["a", "b"].map(|name| Identity::generate(name).unwrap());
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for (side, dir) in dirs.iter().enumerate() {
        std::fs::create_dir_all(dir.join("data")).unwrap();
        identities[side].save(dir).unwrap();
        let peer = identities[1 - side].certificate().to_pem();
        std::fs::write(dir.join("peer.crt.pem"), peer).unwrap();
        let (role, way) = [("garbler", "listen"), ("evaluator", "connect")][side];
        let config = format!(
            "name = \"side {side}\"\n[peer]\nname = \"other\"\nrole = \"{role}\"\n{way} = \"127.0.0.1:{port}\"\n\
                 [pool]\nsmall = 2000\nlarge = 2000\n[jobs]\nsmall_ands = 1000\n"
        );
        std::fs::write(dir.join("cenote.toml"), config).unwrap();
    }
    (temp, dirs, port)
}

impl Pair {
    pub fn start() -> Pair {
        let (temp, dirs, _) = prepared();
        Pair::of(temp, dirs)
    }

    /// The services of directories that were prepared.
    pub fn of(temp: tempfile::TempDir, dirs: [PathBuf; 2]) -> Pair {
        let [a, b] = [&dirs[0], &dirs[1]].map(|dir| Service::start(dir).unwrap());
        a.register("less", LESS.as_bytes()).unwrap();
        b.register("less", LESS.as_bytes()).unwrap();
        let table = dirs[1].join("data/numbers.csv");
        std::fs::write(&table, "name,y\nfive,5\nsix,6\n").unwrap();
        b.bind("numbers", &table, None).unwrap();
        Pair { services: [Some(a), Some(b)], dirs, _temp: temp }
    }

    pub fn dir(&self, side: usize) -> &Path {
        &self.dirs[side]
    }

    /// Changes a line of the configuration of one side, which does not run.
    pub fn configure(&self, side: usize, from: &str, to: &str) {
        let file = self.dirs[side].join("cenote.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(&file, text.replace(from, to)).unwrap();
    }

    /// Stops both; the directories stay until `then` has looked at them.
    pub fn stop_and(mut self, then: impl FnOnce()) {
        (0..2).for_each(|side| self.stop_one(side));
        then();
    }

    pub fn a(&self) -> &Service {
        self.services[0].as_ref().unwrap()
    }

    pub fn b(&self) -> &Service {
        self.services[1].as_ref().unwrap()
    }

    pub fn approve_a(&self, submitters: Sides, uses: Option<u64>) {
        self.a().approve(terms(submitters, uses, Source::Submitter, "x")).unwrap();
    }

    pub fn approve_b(&self, submitters: Sides, uses: Option<u64>) {
        let source = Source::Record {
            dataset: "numbers".into(),
            key: "name".into(),
            parameter: "which".into(),
            columns: [("y".to_owned(), "y".to_owned())].into(),
        };
        self.b().approve(terms(submitters, uses, source, "y")).unwrap();
    }

    pub fn stop_one(&mut self, side: usize) {
        self.services[side].take().unwrap().stop();
    }

    pub fn start_one(&mut self, side: usize) {
        self.services[side] = Some(Service::start(&self.dirs[side]).unwrap());
    }

    pub fn restart(&mut self, side: usize) {
        self.stop_one(side);
        self.start_one(side);
    }

    /// Items that left the small lane of each side; none of them twice.
    pub fn journals(&self) -> [u64; 2] {
        [0, 1].map(|side| check_journal(&self.dirs[side].join("journal/small.log")).unwrap())
    }

    pub fn stop(self) {
        let stop = |service: Service| std::thread::spawn(move || service.stop());
        let threads: Vec<_> = self.services.into_iter().flatten().map(stop).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

pub fn terms(submitters: Sides, uses: Option<u64>, source: Source, input: &str) -> Terms {
    Terms {
        program: "less".into(),
        peer: String::new(),
        inputs: [(input.to_owned(), source)].into(),
        submitters,
        receivers: None,
        uses,
        period_s: None,
        expires_at: None,
    }
}

pub fn approve(pair: &Pair, a: Sides, b: Sides) {
    pair.approve_a(a, None);
    pair.approve_b(b, None);
}
