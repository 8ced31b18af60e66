//! Two labels of one wire in an epoch: later sessions know of them, and the garbler sees nothing of it in any.

use std::sync::mpsc;

use cenote_net::{Channel, Direction, Fate, Fault, RecordedFrame, Role};
use cenote_pool::{DiskStore, SimulatedDisk, Store, StoreKey};
use cenote_prim::{Block, Prg, SessionId};

use super::{channels, params};
use crate::backends::jimu::{JimuSession, Side, tags};
use crate::backends::{Live, Protocol};
use crate::claims::Evidence;
use crate::options::Rho;
use crate::party::{Checked, Party, Receivers};
use crate::session::Job;

/// Four products of secret bits, for both.
struct Products {
    role: Role,
    seed: u8,
}

impl Products {
    fn bits(&self, owner: Role) -> [bool; 4] {
        let seed = Block::new(u128::from(self.seed) << 1 | owner as u128);
        let word = Prg::new(seed).block().to_u128();
        std::array::from_fn(|i| word >> i & 1 == 1)
    }

    fn expected(&self) -> Vec<bool> {
        let [x, y] = [Role::Garbler, Role::Evaluator].map(|owner| self.bits(owner));
        x.iter().zip(y).map(|(x, y)| x & y).collect()
    }
}

impl Job for Products {
    type Output = Vec<bool>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Vec<bool>, Fault> {
        let mut wires = Vec::new();
        for owner in [Role::Garbler, Role::Evaluator] {
            let bits = self.bits(owner);
            wires.push(party.input(owner, 4, (owner == self.role).then_some(&bits[..]))?);
        }
        let products = party.and_many(&wires[0], &wires[1])?;
        Ok(party.check()?.open(Receivers::Both, &products)?.unwrap_or_default())
    }
}

/// How a session ends, and what the evaluator has to do with it.
#[derive(Clone, Copy, PartialEq)]
enum End {
    PutAway,
    /// The garbler is gone when the job is done.
    HangUp,
    /// And the evaluator's caller too, by a panic or without a word.
    Dropped,
}

/// Both sides' disks, and how many sessions they have had.
struct Epoch {
    disks: [SimulatedDisk; 2],
    sessions: u8,
}

impl Epoch {
    fn new() -> Epoch {
        Epoch { disks: Default::default(), sessions: 0 }
    }

    /// A session of one job, in which the first members of the first bucket may output the wrong label: the frames at the garbler, and the
    /// evaluator's evidence.
    fn session(&mut self, members: usize, end: End) -> (Vec<RecordedFrame>, Option<Evidence>) {
        self.sessions += 1;
        let params = &params(100, Rho::Bits40, false);
        let open = |channel, role: Role| {
            let store = DiskStore::open_on(self.disks[role as usize].clone(), &StoreKey::known(3));
            let store = Box::new(store.expect("a store"));
            let prg = Prg::new(Block::new(u128::from(self.sessions) << 1 | role as u128));
            let (id, params) = (SessionId([self.sessions; 32]), params.clone());
            let opened = JimuSession::open(channel, id, role, params, || prg, Some(store));
            let mut session = opened.expect("honest");
            session.stock(10).expect("honest");
            session
        };
        let run = |session: &mut JimuSession, role: Role| {
            let job = Products { role, seed: self.sessions };
            assert_eq!(session.run(&job).expect("honest"), job.expected(), "{role:?}");
            session.channel().flush().expect("the peer is there");
        };
        let ((mut own, other), (delta, of_garbler)) = (channels(), mpsc::channel());
        let recording = own.record();
        let evidence = std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut session = open(own.into(), Role::Garbler);
                let Side::Garbler(side) = &session.core.side else { unreachable!() };
                delta.send(side.depot.delta()).expect("the other side waits");
                run(&mut session, Role::Garbler);
                if end == End::PutAway {
                    session.save(true, &crate::NamedMemories::default()).expect("both put away");
                    session.close();
                }
            });
            let mut session = open(other.into(), Role::Evaluator);
            let delta = of_garbler.recv().expect("sent at once");
            let Side::Evaluator(side) = &mut session.core.side else { unreachable!() };
            side.depot.supply().expect("between requests").turn(members, &delta);
            run(&mut session, Role::Evaluator);
            match end {
                End::PutAway => {
                    session.save(true, &crate::NamedMemories::default()).expect("both put away");
                    session.close();
                }
                End::Dropped => {}
                End::HangUp => {
                    let gone = session
                        .save(true, &crate::NamedMemories::default())
                        .expect_err("the garbler is gone");
                    assert!(matches!(gone, Fault::Transport(_) | Fault::PeerAborted), "{gone:?}");
                }
            }
            session.evidence()
        });
        (recording.frames(), evidence)
    }
}

/// A garbler that has lost its epoch, or says so, takes no evidence with it.
#[test]
fn evidence_outlives_its_epoch() {
    let mut epoch = Epoch::new();
    let bucket = params(100, Rho::Bits40, false).ands.bucket;
    let (_, found) = epoch.session(bucket - 1, End::PutAway);
    assert_eq!(found.as_ref().expect("found").session, [1; 32]);
    epoch.disks[Role::Garbler as usize] = SimulatedDisk::default();
    for session in 2..4 {
        let (_, evidence) = epoch.session(0, End::PutAway);
        assert_eq!(evidence, found, "session {session}");
    }
    let (_, newer) = epoch.session(bucket - 1, End::PutAway);
    assert_eq!(newer.as_ref().expect("found").session, [4; 32], "Delta of this epoch");
    let (_, evidence) = epoch.session(0, End::PutAway);
    assert_eq!(evidence, newer);
}

#[test]
fn an_evaluator_remembers_what_it_found_and_shows_nothing_of_it() {
    for end in [End::PutAway, End::HangUp, End::Dropped] {
        let [mut honest, mut spoiled] = [(); 2].map(|()| Epoch::new());
        let bucket = params(100, Rho::Bits40, false).ands.bucket;
        let mut found: Option<Evidence> = None;
        // The vote is right, or wrong; then nothing is spoiled any more.
        let courses = [(0, End::PutAway), (bucket - 1, end), (0, end), (0, End::PutAway)];
        for (place, (members, end)) in courses.into_iter().enumerate() {
            let (frames, nothing) = honest.session(0, end);
            let (others, evidence) = spoiled.session(members, end);
            assert_eq!(nothing, None);
            assert_eq!(evidence.is_some(), place > 0, "session {place}");
            if let Some(before) = &found {
                assert_eq!(evidence.as_ref(), Some(before), "session {place}");
            }
            found = evidence;
            let seen = |frames: &[RecordedFrame]| -> Vec<(bool, u8, Vec<u8>)> {
                let parts = |frame: &RecordedFrame| {
                    (frame.direction == Direction::Sent, frame.tag, frame.payload.clone())
                };
                frames.iter().map(parts).collect()
            };
            assert!(seen(&frames) == seen(&others), "session {place} looks like another");
        }
        assert_eq!(found.expect("found").session, [2; 32], "the session in which it was found");
        // What is on disk tells nothing by its size either.
        for (a, b) in honest.disks.iter().zip(&spoiled.disks) {
            assert_eq!(a.names().len(), b.names().len());
            let [own, other] = [a, b].map(|disk| disk.bytes("epoch.secrets").len());
            assert_eq!(own, other);
        }
    }
}

/// A garbler that hangs up before it has proven Delta: nothing is kept of that, for a later connection would prove the correlation of its own OT.
#[test]
fn nothing_is_kept_of_a_delta_that_was_not_proven() {
    for (tag, keeps) in [
        (tags::JIMU_DELTA, false),
        (tags::JIMU_ANSWER, false),
        (tags::JIMU_PROOF, false),
        (tags::JIMU_STRIP, true),
    ] {
        let disks: [SimulatedDisk; 2] = Default::default();
        let store = |role: Role| {
            DiskStore::open_on(disks[role as usize].clone(), &StoreKey::known(3)).expect("a store")
        };
        let (mut own, other) = channels();
        let canceller = own.canceller();
        own.tamper(move |frame| {
            if frame.tag != tag.id {
                return Fate::Pass;
            }
            canceller.cancel();
            Fate::Drop
        });
        let open = |channel: Channel, role: Role| {
            let (params, store) = (params(100, Rho::Bits40, false), Box::new(store(role)));
            let prg = Prg::new(Block::new(role as u128));
            let session = SessionId([1; 32]);
            let opened =
                JimuSession::open(channel.into(), session, role, params, || prg, Some(store));
            opened.and_then(|mut session| session.stock(1))
        };
        std::thread::scope(|scope| {
            scope.spawn(|| open(own, Role::Garbler).expect_err("cancelled"));
            open(other, Role::Evaluator).expect_err("the garbler is gone");
        });
        let kept = store(Role::Evaluator).ledger().epoch.is_some();
        assert_eq!(kept, keeps, "{tag:?}");
    }
}
