//! Two disks and sessions over them, in which whatever leaves is seen.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cenote_circuit::Clear;
use cenote_engine::parts::tags::{COIN_COMMIT, COIN_OPEN, COIN_REPLY, EPOCH_STATE};
use cenote_engine::{Fault, Receivers, Role, Session, SessionConfig};
use cenote_net::{Channels, Fate, Tag};
use cenote_pool::{Journal, Name, Refused};
use cenote_testkit::disk::Disk;
use cenote_testkit::programs::{Kind, TestProgram};
use cenote_testkit::run::{expected, extendable_pair, patient_pair, prg_of, run_program};
use cenote_testkit::run_pair_over;

pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// Both sides' disks, and what has left under which epoch.
#[derive(Clone, Default)]
pub(crate) struct Relation {
    pub(crate) disks: [Disk; 2],
    left: [Arc<Mutex<Left>>; 2],
    seed: u128,
    /// Sees the fault of a session, just after it.
    pub(crate) at_fault: Option<Arc<dyn Fn(Role) + Send + Sync>>,
}

/// By epoch and stock: the numbers that have left.
pub(crate) type Left = BTreeMap<(Name, String), Vec<Range<u64>>>;

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
        if *self.counts.lock().expect("no panic") && !store.starts_with("pool") {
            let mut left = self.left.lock().expect("no panic");
            left.entry((self.epoch, store.to_owned())).or_default().push(items);
        }
        Ok(())
    }

    fn consumed(&self, store: &str) -> u64 {
        self.consumed.get(store).copied().unwrap_or(0)
    }
}

pub(crate) type Ends<T> = [Result<T, Fault>; 2];

impl Relation {
    /// A session on both sides over `channels`, whose randomness no session before had.
    pub(crate) fn session_over<C: Into<Channels> + Send, T: Send>(
        &mut self,
        channels: (C, C),
        config: &SessionConfig,
        party: impl Fn(Session, Role) -> Result<T, Fault> + Sync,
    ) -> Ends<T> {
        self.seed += 1;
        let run = |channels, role| {
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
        };
        let (a, b) = run_pair_over(channels, |channels: C, role| {
            run(channels, role).inspect_err(|_| self.at_fault.iter().for_each(|see| see(role)))
        });
        [a, b]
    }

    pub(crate) fn session<T: Send>(
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

    /// The same, on other disks.
    pub(crate) fn copy(&self) -> Relation {
        let copy = Relation { seed: self.seed, ..Relation::default() };
        for side in 0..2 {
            copy.disks[side].put_back(self.disks[side].backup());
            let left = self.left[side].lock().expect("no panic").clone();
            *copy.left[side].lock().expect("no panic") = left;
        }
        copy
    }

    /// No item has left twice, on either side, under one epoch.
    pub(crate) fn check(&self) {
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

pub(crate) fn ok<T>(ends: Ends<T>) -> [T; 2]
where
    T: std::fmt::Debug,
{
    ends.map(|end| end.expect("honest"))
}

/// Runs `ands` ANDs and compares with clear evaluation.
pub(crate) fn compute(session: &mut Session, ands: usize, seed: u128) -> Result<(), Fault> {
    let program = TestProgram(Kind::Ands(ands));
    let (inputs, role) = (program.inputs(seed), session.role());
    let output = run_program(session, &program, &inputs, Receivers::Both)?;
    assert_eq!(output, expected(&Clear::eval(&program, &inputs), Receivers::Both, role), "{ands}");
    Ok(())
}

pub(crate) fn level(session: &Session, store: &str) -> u64 {
    session.occupancy().expect("stocks").of(store).map_or(0, |level| level.level)
}

/// A state with a change, and any other frame as it is.
pub(crate) fn changed(tag: u8, payload: &[u8], change: impl Fn(&mut Vec<u8>)) -> Fate {
    if tag != EPOCH_STATE.id {
        return Fate::Pass;
    }
    let mut state = payload.to_vec();
    change(&mut state);
    Fate::Replace(state)
}

/// Sessions that make items, in which a cheater sends its first commitment, reply or opening of a coin twice, the same or with another bit.
/// `judge` says which side refused it, from who cheated with which frame and how both ended: the epoch is over there.
pub(crate) fn second_answers(
    config: &SessionConfig,
    judge: impl Fn(Role, Tag, &Ends<()>) -> Option<usize>,
) {
    for (tag, cheater) in
        [(COIN_COMMIT, Role::Garbler), (COIN_REPLY, Role::Evaluator), (COIN_OPEN, Role::Garbler)]
    {
        let mut relation = Relation::default();
        ok(relation.session(config, false, |mut session, _| {
            session.stock(500)?;
            session.put_away()
        }));
        for other in [false, true] {
            let mut copy = relation.copy();
            let (mut a, mut b) = patient_pair();
            let channel = if cheater == Role::Garbler { &mut a } else { &mut b };
            let mut answered = false;
            channel.tamper(move |frame| {
                if frame.tag != tag.id || std::mem::replace(&mut answered, true) {
                    return Fate::Pass;
                }
                let mut second = frame.payload.to_vec();
                second[0] ^= u8::from(other);
                let whole = |payload: &[u8]| {
                    let len = (payload.len() as u32).to_le_bytes();
                    [&[tag.id], &len[..], payload].concat()
                };
                Fate::Raw([whole(frame.payload), whole(&second)].concat())
            });
            let ends = copy.session_over((a, b), config, |mut session, _| session.stock(20_000));
            let side = judge(cheater, tag, &ends);
            let side = side.unwrap_or_else(|| panic!("{} {other}: {ends:?}", tag.name));
            let ledger = copy.disks[side].ledger();
            assert!(ledger.held && ledger.epoch.is_none(), "{} {other}", tag.name);
            copy.check();
        }
    }
}
