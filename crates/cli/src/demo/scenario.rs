//! The course of the demonstration, one thing after the other.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use cenote_circuit::{bits_of, hex_from_bits};
use cenote_engine::Role;
use cenote_engine::backends::wrk::supply::{POOL, TRIPLES};
use cenote_pool::{Level, Occupancy};
use cenote_prim::Prg;
use serde::Serialize;

use super::jobs::aes::FIPS_197;
use super::jobs::{Answer, Sizes, maximum, median, quarters, top, total};
use super::lines::{Event, Order, Promise, Report, Request, store};
use super::screen::Screen;
use super::servers::{NAMES, Servers};
use super::table::Table;
use super::{ISSUER_A, ISSUER_B};
use crate::args::{DemoArgs, sound};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::{Format, Reply};
use crate::progress;

/// Triples that the servers keep ready.
const READY: usize = 1 << 17;
/// Triples made at a time while a progress bar is shown.
const STEP: usize = 1 << 14;

/// All that happened; the object of `--json`.
#[derive(Serialize)]
pub(crate) struct Outcome {
    pub(crate) issuers: Vec<Issuer>,
    pub(crate) session: SessionOutcome,
    pub(crate) pool: PoolOutcome,
    pub(crate) requests: Vec<Step>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cheat: Option<CheatOutcome>,
    pub(crate) all_equal: bool,
    pub(crate) wall_s: f64,
}

/// One issuer.
#[derive(Serialize)]
pub(crate) struct Issuer {
    pub(crate) name: &'static str,
    pub(crate) rows: usize,
    pub(crate) process: u32,
    pub(crate) fingerprint: String,
}

/// The session.
#[derive(Serialize)]
pub(crate) struct SessionOutcome {
    pub(crate) id: String,
    #[serde(flatten)]
    pub(crate) promise: Promise,
    pub(crate) setup_s: f64,
    pub(crate) setup_bytes: u64,
}

/// The first filling of the pool.
#[derive(Serialize)]
pub(crate) struct PoolOutcome {
    pub(crate) capacity: u64,
    pub(crate) fill_s: f64,
    pub(crate) triples_ready: u64,
    pub(crate) ready_s: f64,
    /// Both ways, for both.
    pub(crate) bytes: u64,
}

/// One request.
#[derive(Serialize)]
pub(crate) struct Step {
    pub(crate) request: &'static str,
    pub(crate) title: &'static str,
    /// Who receives.
    pub(crate) receivers: &'static str,
    /// The answer that a receiver obtained.
    pub(crate) result: Option<Answer>,
    pub(crate) oracle: Answer,
    /// Every receiver obtained the oracle's answer, and nobody else anything.
    pub(crate) equal: bool,
    pub(crate) ands: u64,
    /// Both ways together.
    pub(crate) bytes: u64,
    pub(crate) rounds: u64,
    /// From the order to the slower server's answer.
    pub(crate) latency_s: f64,
    /// Of the latency, waiting for triples.
    pub(crate) refill_s: f64,
    pub(crate) pool_level: u64,
    pub(crate) pool_capacity: u64,
    pub(crate) triples_ready: u64,
    pub(crate) epsilon_log2: f64,
    /// All pools and stocks of A after the request; B's have had the same items.
    pub(crate) stores: Vec<Level>,
}

/// A session in which B cheats, and the one after it.
#[derive(Serialize)]
pub(crate) struct CheatOutcome {
    pub(crate) what: &'static str,
    pub(crate) a_says: String,
    pub(crate) b_says: String,
    /// A found the cheat, and nobody obtained a result.
    pub(crate) caught: bool,
    /// The first request of the next session, by the same processes.
    pub(crate) after: Step,
}

/// A request, who receives it, and what it must give.
struct Part {
    name: &'static str,
    title: &'static str,
    /// Whether A and B receive.
    to: [bool; 2],
    orders: [Request; 2],
    oracle: Answer,
}

/// Runs every step.
pub(crate) fn run(args: &DemoArgs, format: Format) -> Result<Reply, Failure> {
    let started = Instant::now();
    let tables = [
        table(args.issuer_a.as_deref(), "issuer_a.csv", ISSUER_A)?,
        table(args.issuer_b.as_deref(), "issuer_b.csv", ISSUER_B)?,
    ];
    same_periods(&tables)?;
    sound(super::session(args.pool)?, 0)?;
    let interrupt = Interrupt::install(format)?;
    let place = tempfile::Builder::new().prefix("cenote-demo-").tempdir();
    let place = place.map_err(|error| Failure::internal(format!("temporary files: {error}")))?;
    let mut stage = Stage {
        servers: Servers::start(&interrupt)?,
        screen: Screen::new(format, tables[0].quarters()),
        sizes: Sizes { a: tables[0].rows().len(), b: tables[1].rows().len() },
        address: None,
        pool: args.pool,
    };
    let files = [
        own_file(place.path(), "a", args.issuer_a.as_deref(), ISSUER_A)?,
        own_file(place.path(), "b", args.issuer_b.as_deref(), ISSUER_B)?,
    ];
    let issuers = stage.start_and_pair(&files)?;
    stage.screen.issuers(&issuers);
    let session = stage.open(false)?;
    stage.screen.session(&session);
    let pool = stage.fill()?;
    stage.screen.pool(&pool);
    let mut requests = Vec::new();
    for part in parts(&tables) {
        let act = stage.perform(&part)?;
        stage.screen.act(requests.len() + 1, &act);
        requests.push(act);
    }
    let cheat = if args.cheat { Some(stage.cheat(&tables)?) } else { None };
    stage.servers.send_both([Order::Close, Order::Close])?;
    let equal = requests.iter().chain(cheat.iter().map(|cheat| &cheat.after));
    let differ: Vec<&str> = equal.filter(|act| !act.equal).map(|act| act.request).collect();
    if !differ.is_empty() || cheat.as_ref().is_some_and(|cheat| !cheat.caught) {
        let what =
            if differ.is_empty() { "a cheat was not caught".into() } else { differ.join(", ") };
        return Err(Failure::internal(format!("not what the clear oracle says: {what}")));
    }
    let wall_s = started.elapsed().as_secs_f64();
    let outcome = Outcome { issuers, session, pool, requests, cheat, all_equal: true, wall_s };
    let text = stage.screen.summary(&outcome);
    let json = serde_json::to_value(&outcome).map_err(|e| Failure::internal(e.to_string()))?;
    Ok(Reply::new(json, text))
}

fn table(file: Option<&Path>, name: &str, shipped: &str) -> Result<Table, Failure> {
    Ok(match file {
        Some(file) => Table::load(file)?,
        None => Table::parse(name, shipped.as_bytes())?,
    })
}

/// Amounts are compared and added period by period, so the periods must be the same.
fn same_periods([a, b]: &[Table; 2]) -> Result<(), Failure> {
    match a.quarters().iter().zip(b.quarters()).find(|(a, b)| a != b) {
        None => Ok(()),
        Some((a, b)) => Err(Failure::bad_input(format!(
            "issuer A's table has the period {a:?} where issuer B's has {b:?}; \
             bring tables of the same periods, under the same names"
        ))),
    }
}

/// A server's own table and the directory of its identity; the other server is told of neither.
fn own_file(
    place: &Path,
    name: &str,
    given: Option<&Path>,
    shipped: &str,
) -> Result<(PathBuf, PathBuf), Failure> {
    let failed = |error: std::io::Error| Failure::internal(format!("temporary files: {error}"));
    let dir = place.join(name);
    fs::create_dir(&dir).map_err(failed)?;
    let file = match given {
        Some(file) => file.to_owned(),
        None => {
            let file = dir.join("table.csv");
            fs::write(&file, shipped).map_err(failed)?;
            file
        }
    };
    Ok((file, dir.join("identity")))
}

/// The requests with the answers of the clear oracle.
fn parts(tables: &[Table; 2]) -> Vec<Part> {
    let [a, b] = tables;
    let both = |name, title, request: Request, oracle| Part {
        name,
        title,
        to: [true, true],
        orders: [request.clone(), request],
        oracle,
    };
    vec![
        both(
            "shared-total",
            "shared customers and their total spend",
            Request::Total,
            Answer::Total(total::reference(a, b)),
        ),
        both(
            "shared-by-quarter",
            "the same by quarter, groups under 10 hidden",
            Request::Quarters,
            Answer::Quarters(quarters::reference(a, b)),
        ),
        Part {
            to: [true, false],
            ..both(
                "top-shared",
                "top 10 shared customers by combined spend",
                Request::Top,
                Answer::Ranks(top::reference(a, b)),
            )
        },
        aes_part(),
        maximum_part(tables),
        both(
            "median-spend",
            "median spend of all accounts (reactive)",
            Request::Median,
            Answer::Cents(median::reference(a, b)),
        ),
    ]
}

/// The demonstration deals the shares of the standard's key: neither server sees the other's.
fn aes_part() -> Part {
    let [key, block, cipher] = FIPS_197;
    let share = Prg::from_os().block().to_u128();
    let hex = |value: u128| hex_from_bits(&bits_of(value, 128));
    Part {
        name: "aes-shared-key",
        title: "AES-128, key in two shares (vector of FIPS 197, C.1)",
        to: [true, true],
        orders: [
            Request::Aes { share: hex(share), block: Some(hex(block)) },
            Request::Aes { share: hex(share ^ key), block: None },
        ],
        oracle: Answer::Block(hex(cipher)),
    }
}

fn maximum_part(tables: &[Table; 2]) -> Part {
    let larger = tables.iter().map(maximum::best).max().unwrap_or(0);
    Part {
        name: "maximum",
        title: "the larger of two numbers: the best customer's spend",
        to: [true, true],
        orders: [Request::Maximum, Request::Maximum],
        oracle: Answer::Cents(u64::from(larger)),
    }
}

struct Stage<'i> {
    servers: Servers<'i>,
    screen: Screen,
    sizes: Sizes,
    /// Where A listens.
    address: Option<String>,
    pool: u64,
}

impl Stage<'_> {
    /// Both read their tables and make identities; then each is given the other's certificate file.
    fn start_and_pair(&mut self, files: &[(PathBuf, PathBuf); 2]) -> Result<Vec<Issuer>, Failure> {
        let start = |role, server: usize| {
            let (table, dir) = files[server].clone();
            Order::Start { role, table, dir }
        };
        let events =
            self.servers.send_both([start(Role::Garbler, 0), start(Role::Evaluator, 1)])?;
        let mut issuers = Vec::new();
        let mut certificates = Vec::new();
        for ((event, name), process) in events.into_iter().zip(NAMES).zip(self.servers.ids()) {
            let Event::Started { rows, certificate, fingerprint } = event else {
                return Err(unexpected());
            };
            issuers.push(Issuer { name, rows, process, fingerprint });
            certificates.push(certificate);
        }
        let [of_a, of_b] = <[PathBuf; 2]>::try_from(certificates).map_err(|_| unexpected())?;
        let orders = [Order::Pair { certificate: of_b }, Order::Pair { certificate: of_a }];
        let [Event::Paired { listening }, Event::Paired { .. }] = self.servers.send_both(orders)?
        else {
            return Err(unexpected());
        };
        self.address = listening;
        Ok(issuers)
    }

    fn open(&mut self, cheat: bool) -> Result<SessionOutcome, Failure> {
        let (sizes, pool) = (self.sizes, self.pool);
        let orders = [
            Order::Open { address: None, sizes, pool, cheat: false },
            Order::Open { address: self.address.clone(), sizes, pool, cheat },
        ];
        let [
            Event::Opened { session: id, promise, seconds, bytes_sent },
            Event::Opened { session: other, bytes_sent: back, .. },
        ] = self.servers.send_both(orders)?
        else {
            return Err(unexpected());
        };
        if id != other {
            return Err(Failure::internal("the servers are not in the same session"));
        }
        Ok(SessionOutcome { id, promise, setup_s: seconds, setup_bytes: bytes_sent + back })
    }

    /// Fills the pool, then makes the first triples ready, with a bar; from then on as many are kept ready.
    fn fill(&mut self) -> Result<PoolOutcome, Failure> {
        let bar = progress::bar(self.pool + READY as u64, "filling the pool");
        let (level, fill_s, mut bytes) = self.level(0)?;
        let (mut occupancy, mut ready_s) = (level, 0.0);
        let levels = |all: &Occupancy| (store(all, POOL).level, store(all, TRIPLES).level);
        for triples in (STEP..=READY).step_by(STEP) {
            let (pool, ready) = levels(&occupancy);
            bar.set_position(pool + ready.min(READY as u64));
            let (level, seconds, more) = self.level(triples)?;
            occupancy = level;
            ready_s += seconds;
            bytes += more;
        }
        bar.finish_and_clear();
        let (capacity, triples_ready) = levels(&occupancy);
        Ok(PoolOutcome { capacity, fill_s, triples_ready, ready_s, bytes })
    }

    fn level(&mut self, triples: usize) -> Result<(Occupancy, f64, u64), Failure> {
        let orders = [Order::Stock { triples }, Order::Stock { triples }];
        let [
            Event::Level { occupancy, seconds, bytes_sent },
            Event::Level { bytes_sent: back, .. },
        ] = self.servers.send_both(orders)?
        else {
            return Err(unexpected());
        };
        Ok((occupancy, seconds, bytes_sent + back))
    }

    fn perform(&mut self, part: &Part) -> Result<Step, Failure> {
        let orders = part.orders.clone().map(Order::Answer);
        let waiting = self.screen.waiting(part.title);
        let events = self.servers.send_both(orders);
        waiting.finish_and_clear();
        let [Event::Answered(a), Event::Answered(b)] = events? else {
            return Err(unexpected());
        };
        Ok(part.act(*a, *b))
    }

    /// B sends a wrong value in a session of its own; then a new session opens between the same
    /// processes and serves.
    fn cheat(&mut self, tables: &[Table; 2]) -> Result<CheatOutcome, Failure> {
        self.servers.send_both([Order::Close, Order::Close])?;
        self.open(true)?;
        let part = maximum_part(tables);
        let orders = part.orders.clone().map(Order::Answer);
        let says = self.servers.outcomes(orders)?.map(|event| match event {
            Event::Failed(failure) => Err(failure),
            _ => Ok("a result".to_owned()),
        });
        let caught = matches!(&says,
            [Err(a), Err(_)] if a.kind == crate::exit::Kind::PeerMisbehaved);
        let [a_says, b_says] = says.map(|result| result.unwrap_or_else(|failure| failure.message));
        self.open(false)?;
        let after = self.perform(&part)?;
        let what = "B reports one wrong bit of the masked values";
        let outcome = CheatOutcome { what, a_says, b_says, caught, after };
        self.screen.cheat(&outcome);
        Ok(outcome)
    }
}

impl Part {
    fn act(&self, a: Report, b: Report) -> Step {
        let due = |receives: bool| receives.then_some(&self.oracle);
        let equal = a.answer.as_ref() == due(self.to[0])
            && b.answer.as_ref() == due(self.to[1])
            && a.job_id == b.job_id;
        let wrong = |report: &Report| report.answer.as_ref().is_some_and(|got| *got != self.oracle);
        let pool = store(&a.occupancy, POOL);
        // Shown is the answer that differs, if one does.
        let result = if wrong(&b) { b.answer } else { a.answer.or(b.answer) };
        Step {
            request: self.name,
            title: self.title,
            receivers: match self.to {
                [true, true] => "both",
                [true, false] => "A only",
                _ => "B only",
            },
            result,
            oracle: self.oracle.clone(),
            equal,
            ands: a.ands,
            bytes: a.bytes_sent + b.bytes_sent,
            rounds: a.rounds,
            latency_s: a.seconds.max(b.seconds),
            refill_s: a.refill_seconds,
            pool_level: pool.level,
            pool_capacity: pool.capacity.unwrap_or(0),
            triples_ready: store(&a.occupancy, TRIPLES).level,
            epsilon_log2: a.occupancy.epsilon_log2,
            stores: a.occupancy.stores,
        }
    }
}

fn unexpected() -> Failure {
    Failure::internal("a server said something else than was asked")
}
