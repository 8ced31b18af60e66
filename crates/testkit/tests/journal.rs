//! Journals of both backends with stocks: they see every item before it leaves, and what they refuse
//! does not leave.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use cenote_circuit::Clear;
use cenote_engine::{Backend, Fault, PoolChoice, Receivers, Role, Session, SessionConfig};
use cenote_net::{Direction, Recording, Tag};
use cenote_pool::{Journal, Level, Refused};
use cenote_testkit::programs::{Kind, TestProgram};
use cenote_testkit::run::{
    config, expected, patient_pair, run_program, sessions, sessions_over, smallest, with_pool,
};

/// The numbers that have left each store, in order.
type Left = BTreeMap<String, Vec<Range<u64>>>;

/// What has left, shared with the test.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    left: Left,
    /// Lets nothing leave this store.
    closed: Option<String>,
    /// What this side has sent and received, and how much of it before something was refused.
    recording: Option<Recording>,
    frames: Option<usize>,
}

impl Journal for Notes {
    fn reserve(&mut self, store: &str, items: Range<u64>) -> Result<(), Refused> {
        let mut seen = self.0.lock().expect("no panic");
        if seen.closed.as_deref() == Some(store) {
            seen.frames = seen.recording.as_ref().map(|recording| recording.frames().len());
            return Err(Refused { store: store.to_owned(), reason: "the disk is full".to_owned() });
        }
        seen.left.entry(store.to_owned()).or_default().push(items);
        Ok(())
    }

    fn consumed(&self, store: &str) -> u64 {
        let seen = self.0.lock().expect("no panic");
        seen.left.get(store).and_then(|all| all.last()).map_or(0, |items| items.end)
    }
}

/// Both backends, with and without a pool, in both storages, with and without cores of their own for
/// multiplexers.
fn configs() -> Vec<SessionConfig> {
    let mut all = vec![smallest(Backend::Wrk), with_pool(Backend::Wrk, PoolChoice::Kept(1073))];
    for (muxcore, compact) in [(true, false), (true, true), (false, false), (false, true)] {
        all.push(config(&format!("jimu:pool=100,muxcore={muxcore},compact={compact}")));
    }
    all
}

/// Multiplexers of all widths, and more gates than a batch serves.
const PROGRAMS: [(Kind, Receivers); 2] =
    [(Kind::Muxes, Receivers::Garbler), (Kind::Ands(700), Receivers::Both)];

/// Runs the programs and compares with clear evaluation.
fn compute(session: &mut Session, role: Role) -> Result<(), Fault> {
    for (kind, to) in PROGRAMS {
        let program = TestProgram(kind);
        let inputs = program.inputs(3);
        let output = run_program(session, &program, &inputs, to)?;
        assert_eq!(output, expected(&Clear::eval(&program, &inputs), to, role), "{kind:?}");
    }
    Ok(())
}

/// The stores of a session, on which both sides must agree, and what each side's journal saw.
fn noted(config: &SessionConfig) -> (Vec<Level>, [Left; 2]) {
    let notes = [Notes::default(), Notes::default()];
    let (garbler, evaluator) = sessions(config, 21, |session, role| {
        session.set_journal(Box::new(notes[role as usize].clone()))?;
        compute(session, role)?;
        let late = session.set_journal(Box::new(Notes::default()));
        assert!(matches!(late, Err(Fault::Misuse(_))), "{late:?}");
        Ok(session.occupancy().expect("stocks"))
    });
    let levels = garbler.expect("honest");
    assert_eq!(evaluator, Ok(levels.clone()), "both sides count alike");
    (levels.stores, notes.map(|notes| notes.0.lock().expect("no panic").left.clone()))
}

#[test]
fn every_item_that_leaves_is_seen() {
    for config in configs() {
        let (stores, notes) = noted(&config);
        for left in notes {
            for Level { name, level, made, consumed, .. } in &stores {
                let ranges = left.get(name).map_or(&[][..], Vec::as_slice);
                let mut next = 0;
                for items in ranges {
                    assert!(items.start == next && items.end > next, "{name}: {ranges:?}");
                    next = items.end;
                }
                assert_eq!((next, *made), (*consumed, consumed + level), "{name} of {config:?}");
            }
            let unlisted = left.keys().find(|name| stores.iter().all(|store| store.name != **name));
            assert_eq!(unlisted, None, "{config:?}");
        }
        let consumed = |name: &str| {
            let store = stores.iter().find(|store| store.name == name);
            store.map(|store| store.consumed)
        };
        // 347 ANDs of multiplexers, of which 7 lanes at most are left over of each that has cores.
        let ands = match (config.backend, config.is_on("muxcore")) {
            (Backend::Wrk, _) => consumed("stock.triple"),
            _ => consumed("stock.and"),
        };
        let cores = config.backend == Backend::Jimu && config.is_on("muxcore");
        let (wide, pool) = (consumed("stock.mux-64"), consumed("pool.mux-64"));
        assert_eq!(ands.map(|ands| ands < 700 + 347), Some(cores), "{ands:?} of {config:?}");
        assert_eq!(wide.zip(pool).is_some_and(|(wide, pool)| wide > 0 && pool > wide), cores);
    }
}

/// How a session ends on either side, and what the one side sent after its journal had refused.
fn refused(config: &SessionConfig, store: &str, side: Role) -> ([Result<(), Fault>; 2], Vec<u8>) {
    let (mut garbler, mut evaluator) = patient_pair();
    let recording = match side {
        Role::Garbler => garbler.record(),
        Role::Evaluator => evaluator.record(),
    };
    let notes = Notes::default();
    {
        let mut seen = notes.0.lock().expect("no panic");
        (seen.closed, seen.recording) = (Some(store.to_owned()), Some(recording.clone()));
    }
    let (garbler, evaluator) = sessions_over((garbler, evaluator), config, 21, |session, role| {
        if role == side {
            session.set_journal(Box::new(notes.clone()))?;
        }
        compute(session, role)
    });
    let before = notes.0.lock().expect("no panic").frames.expect("it was asked");
    let frames = recording.frames();
    let sent = frames[before..].iter().filter(|frame| frame.direction == Direction::Sent);
    ([garbler, evaluator], sent.map(|frame| frame.tag).collect())
}

#[test]
fn nothing_is_sent_after_a_refusal() {
    for config in configs() {
        let (stores, notes) = noted(&config);
        for store in stores.iter().filter(|store| notes[0].contains_key(&store.name)) {
            for side in [Role::Garbler, Role::Evaluator] {
                let (ends, sent) = refused(&config, &store.name, side);
                let what = format!("{} of {side} of {config:?}: {ends:?}", store.name);
                let own = &ends[side as usize];
                assert!(
                    matches!(own, Err(Fault::Storage(text)) if text.contains(&store.name)),
                    "{what}"
                );
                assert_eq!(ends[side.peer() as usize], Err(Fault::PeerAborted), "{what}");
                assert!(sent.iter().all(|tag| *tag == Tag::ABORT.id), "{what}: {sent:?}");
            }
        }
    }
}
