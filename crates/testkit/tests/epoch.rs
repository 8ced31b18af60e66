//! Sessions that keep items for later ones: what was kept serves, nothing is used twice whatever is lost, a failed check ends it all,
//! and no claim of a peer brings anything back.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cenote_circuit::Clear;
use cenote_engine::backends::wrk::supply::{POOL, TRIPLES};
use cenote_engine::backends::wrk::tags;
use cenote_engine::parts::tags::{EPOCH_SAVED, EPOCH_STATE};
use cenote_engine::{Backend, Fault, PoolChoice, Receivers, Role, Session, SessionConfig};
use cenote_net::{Channels, Deviation, Fate};
use cenote_pool::{Journal, Name, Refused};
use cenote_testkit::disk::Disk;
use cenote_testkit::programs::{Kind, TestProgram};
use cenote_testkit::run::{
    config, expected, extendable_pair, patient_pair, prg_of, run_program, smallest, with_pool,
};
use cenote_testkit::run_pair_over;

const LIMIT: Duration = Duration::from_secs(30);

/// Both sides' disks, and what has left under which epoch.
#[derive(Clone, Default)]
struct Relation {
    disks: [Disk; 2],
    left: [Arc<Mutex<Left>>; 2],
    seed: u128,
}

/// By epoch and stock: the numbers that have left.
type Left = BTreeMap<(Name, String), Vec<Range<u64>>>;

/// Takes note of what leaves in one session.
struct Seen {
    epoch: Name,
    left: Arc<Mutex<Left>>,
    consumed: BTreeMap<String, u64>,
    /// The session runs: what it was told before was skipped.
    counts: Arc<Mutex<bool>>,
}

impl Journal for Seen {
    fn reserve(&mut self, store: &str, items: Range<u64>) -> Result<(), Refused> {
        self.consumed.insert(store.to_owned(), items.end);
        if *self.counts.lock().expect("no panic") && store != POOL {
            let mut left = self.left.lock().expect("no panic");
            left.entry((self.epoch, store.to_owned())).or_default().push(items);
        }
        Ok(())
    }

    fn consumed(&self, store: &str) -> u64 {
        self.consumed.get(store).copied().unwrap_or(0)
    }
}

type Ends<T> = [Result<T, Fault>; 2];

impl Relation {
    /// A session on both sides over `channels`, whose randomness no session before had.
    fn session_over<C: Into<Channels> + Send, T: Send>(
        &mut self,
        channels: (C, C),
        config: &SessionConfig,
        party: impl Fn(Session, Role) -> Result<T, Fault> + Sync,
    ) -> Ends<T> {
        self.seed += 1;
        let (a, b) = run_pair_over(channels, |channels, role| {
            let disk = &self.disks[role as usize];
            let (prg, store) = (prg_of(role, 1000 + self.seed), disk.store());
            let mut session = Session::open_kept_seeded(channels, role, config, prg, store)?;
            let counts = Arc::default();
            let seen = Seen {
                epoch: disk.ledger().epoch.expect("one is open"),
                left: Arc::clone(&self.left[role as usize]),
                consumed: BTreeMap::new(),
                counts: Arc::clone(&counts),
            };
            session.set_journal(Box::new(seen))?;
            *counts.lock().expect("no panic") = true;
            party(session, role)
        });
        [a, b]
    }

    fn session<T: Send>(
        &mut self,
        config: &SessionConfig,
        beside: bool,
        party: impl Fn(Session, Role) -> Result<T, Fault> + Sync,
    ) -> Ends<T> {
        if beside {
            self.session_over(extendable_pair(LIMIT, |_, _| ()), config, party)
        } else {
            self.session_over(patient_pair(), config, party)
        }
    }

    /// No item has left twice, on either side, under one epoch.
    fn check(&self) {
        for left in &self.left {
            for ((_, stock), ranges) in &*left.lock().expect("no panic") {
                let mut ranges = ranges.clone();
                ranges.retain(|range| !range.is_empty());
                ranges.sort_by_key(|range| range.start);
                for pair in ranges.windows(2) {
                    assert!(pair[0].end <= pair[1].start, "{stock}: {pair:?}");
                }
            }
        }
    }
}

fn ok<T>(ends: Ends<T>) -> [T; 2]
where
    T: std::fmt::Debug,
{
    ends.map(|end| end.expect("honest"))
}

/// Runs `ands` ANDs and compares with clear evaluation.
fn compute(session: &mut Session, ands: usize, seed: u128) -> Result<(), Fault> {
    let program = TestProgram(Kind::Ands(ands));
    let (inputs, role) = (program.inputs(seed), session.role());
    let output = run_program(session, &program, &inputs, Receivers::Both)?;
    assert_eq!(output, expected(&Clear::eval(&program, &inputs), Receivers::Both, role), "{ands}");
    Ok(())
}

fn level(session: &Session, store: &str) -> u64 {
    session.occupancy().expect("stocks").of(store).map_or(0, |level| level.level)
}

/// With a pool and without, refills between requests and beside them.
fn kinds() -> Vec<(SessionConfig, bool)> {
    let pool = with_pool(Backend::Wrk, PoolChoice::Kept(1073));
    let silent = config("wrk:ot=silent").for_ands(1);
    let wide = config("wrk:pool=1073,rho=80");
    vec![
        (smallest(Backend::Wrk), false),
        (smallest(Backend::Wrk), true),
        (pool, false),
        (pool, true),
        (silent, true),
        (wide, true),
    ]
}

#[test]
fn what_was_put_away_serves_later_sessions() {
    for (config, beside) in kinds() {
        let mut relation = Relation::default();
        let ready = ok(relation.session(&config, beside, |mut session, _| {
            session.fill()?;
            session.stock(1500)?;
            compute(&mut session, 300, 1)?;
            let ready = (level(&session, TRIPLES), level(&session, POOL));
            session.put_away()?;
            Ok(ready)
        }));
        let epochs = [0, 1].map(|side| relation.disks[side].ledger().epoch.expect("open"));
        assert_eq!(epochs[0], epochs[1]);
        for request in 2..4 {
            let found = ok(relation.session(&config, beside, |mut session, _| {
                let found = (level(&session, TRIPLES), level(&session, POOL));
                compute(&mut session, 300, request)?;
                session.put_away()?;
                Ok(found)
            }));
            let used = 300 * (request as u64 - 2);
            for (before, after) in ready.iter().zip(found) {
                assert_eq!((before.0 - used, before.1), after, "{config:?} {beside}");
            }
        }
        for side in 0..2 {
            let ledger = relation.disks[side].ledger();
            assert_eq!((ledger.epoch, ledger.epochs), (Some(epochs[side]), 1));
            assert_eq!(ledger.pools, 1, "an orderly end costs no pool");
        }
        relation.check();
    }
}
