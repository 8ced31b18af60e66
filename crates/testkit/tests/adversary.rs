//! Plays the adversary table, and fails when a message or a check has no row.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use cenote_circuit::Clear;
use cenote_engine::{Backend, Fault, JimuSwitches, Receivers, Role, Session, SessionConfig, tags};
use cenote_net::{Deviation, Direction, Fate, Tag, Witness};
use cenote_prim::{Block, Prg};
use cenote_testkit::adversary::{
    self, CheatRow, ELSEWHERE, End, FRAMES, FrameRow, JIMU, RAW, UNUSED,
};
use cenote_testkit::programs::{Kind, TestProgram};
use cenote_testkit::puppet::{Cheat, Puppet, jimu};
use cenote_testkit::run::{patient_pair, prg_of, run_program, smallest};
use cenote_testkit::run_pair_over;
use cenote_testkit::stats::{fits, in_parallel};
use cenote_testkit::tamper::{self, Ending, REQUESTS};

/// Payload lengths of an honest session by tag, sender and index.
type Frames = BTreeMap<(u8, bool), Vec<usize>>;

fn honest_frames(config: &SessionConfig) -> Frames {
    let mut frames = Frames::new();
    for frame in tamper::record_of(config, 1).frames() {
        let by_garbler = frame.direction == Direction::Sent;
        frames.entry((frame.tag, by_garbler)).or_default().push(frame.payload.len());
    }
    frames
}

/// The sessions that rows are of: those of every backend, and those of `jimu` with compact storage.
fn settings() -> Vec<SessionConfig> {
    let mut all = Backend::ALL.map(smallest).to_vec();
    let jimu = JimuSwitches { compact: true, ..JimuSwitches::DEFAULT };
    all.push(SessionConfig { jimu, ..smallest(Backend::Jimu) });
    all
}

/// Whether a session ended as its row says.
fn fits_row(end: End, Ending { right, fault, happened, .. }: &Ending) -> bool {
    let all_right = fault.is_none() && *right == REQUESTS;
    let caught_by = |check| *fault == Some(Fault::Misbehaved(check));
    let fits = match end {
        End::Caught(check) => caught_by(check),
        End::Noticed => fault.is_some(),
        End::NoticedOrRight => fault.is_some() || all_right,
        End::Chance(check, _) | End::CaughtOrRight(check) => caught_by(check) || all_right,
        End::Right => all_right,
        End::Refused => matches!(fault, Some(Fault::Policy(_))),
        End::Unprotected => true,
    };
    fits && *happened
}

fn assert_end(what: &str, end: End, ending: &Ending) {
    assert!(ending.wrong == 0 || end == End::Unprotected, "{what}: a wrong output");
    assert!(fits_row(end, ending), "{what}: expected {end:?}, got {ending:?}");
    let fault = &ending.fault;
    // No fault of the peer's making may look like a defect or a mistake of our own.
    assert!(!matches!(fault, Some(Fault::Internal(_) | Fault::Misuse(_))), "{what}: {fault:?}");
}

fn deviations(row: &FrameRow, len: usize) -> Vec<(Deviation, End)> {
    let bits = 8 * len;
    let mut prg = Prg::new(Block::new(u128::from(row.tag.id)));
    let random = (prg.block().to_u128() % bits as u128) as usize;
    let mut all: Vec<(Deviation, End)> =
        [0, bits - 1, random].map(|bit| (Deviation::Flip(bit), row.flip)).into();
    all.push((Deviation::Cut(1), adversary::cut(row.tag)));
    if row.index == 0 {
        let structure = [Deviation::Drop, Deviation::Double, Deviation::Swap];
        all.extend(structure.map(|deviation| (deviation, End::Noticed)));
    }
    all.extend(row.replay.map(|end| (Deviation::Replay, end)));
    all
}

#[test]
fn every_frame_flipped_cut_dropped_doubled_swapped_replayed() {
    let settings = settings();
    let honest: Vec<Frames> = settings.iter().map(honest_frames).collect();
    let mut cases = Vec::new();
    for row in FRAMES {
        let place = settings.iter().position(|config| *config == row.config()).expect("a setting");
        let frames = &honest[place][&(row.tag.id, row.from == Role::Garbler)];
        for (deviation, end) in deviations(row, frames[row.index]) {
            cases.push((row, deviation, end));
        }
    }
    in_parallel(&cases, |i, (row, deviation, end)| {
        let FrameRow { backend, tag, from, index, .. } = **row;
        let what =
            format!("{} {} number {index} of the {from}, {deviation:?}", backend.name(), tag.name);
        let run = |patience: u64| {
            let patience = Duration::from_secs(patience);
            let seed = 77 + i as u128;
            tamper::deviate(&row.config(), (tag, from, index), deviation.clone(), patience, seed)
        };
        let mut ending = run(1);
        if ending.wrong == 0 && !fits_row(*end, &ending) {
            // On a busy machine one side may have given up on the other too soon.
            ending = run(30);
        }
        assert_end(&what, *end, &ending);
    });
}

#[test]
fn bytes_that_are_no_frame_of_the_protocol() {
    for backend in Backend::ALL {
        for row in RAW {
            // In place of the first frame after the handshake of the job.
            let ending = tamper::cheat(
                &smallest(backend),
                Role::Garbler,
                &|channel| {
                    let mut hellos = 0;
                    channel.tamper(move |frame| {
                        hellos += usize::from(frame.tag == Tag::HELLO.id);
                        let due = hellos == 2 && frame.tag != Tag::HELLO.id;
                        if due { Fate::Raw(row.bytes.to_vec()) } else { Fate::Pass }
                    });
                    Witness::default()
                },
                Duration::from_secs(30),
                5,
            );
            let fault = ending.fault.map(|fault| fault.to_string()).unwrap_or_default();
            assert!(fault.starts_with(row.fault), "{} {}: {fault}", backend.name(), row.what);
            assert_eq!((ending.right, ending.wrong), (0, 0), "{} {}", backend.name(), row.what);
        }
    }
}

/// The end at the honest side of a session with a puppet, and what the puppet saw.
fn play(row: &CheatRow, seed: u128) -> (Ending, Result<Vec<bool>, Fault>) {
    let program = TestProgram(Kind::Small);
    let inputs = program.inputs(seed);
    let channels = patient_pair();
    let (garbler, evaluator) = run_pair_over(channels, |channel, role| {
        if role == row.by {
            return (None, Some(Puppet::play(channel, role, &inputs, row.cheat, seed)));
        }
        let honest =
            Session::open_seeded(channel, role, &smallest(Backend::Wrk), prg_of(role, seed))
                .and_then(|mut session| {
                    let output = run_program(&mut session, &program, &inputs, Receivers::Both)?;
                    session.close();
                    Ok(output)
                });
        (Some(honest), None)
    });
    let (cheater, honest) =
        if row.by == Role::Garbler { (garbler, evaluator) } else { (evaluator, garbler) };
    let (honest, seen) = (honest.0.expect("one is honest"), cheater.1.expect("one cheats"));
    let clear: Vec<_> = Clear::eval(&program, &inputs).into_iter().map(Some).collect();
    let right = if honest.as_ref() == Ok(&clear) { REQUESTS } else { 0 };
    let wrong = usize::from(honest.is_ok() && right == 0);
    (Ending { right, wrong, fault: honest.err(), happened: true }, seen)
}

#[test]
fn a_puppet_that_does_not_cheat_is_a_party_like_any_other() {
    for by in [Role::Garbler, Role::Evaluator] {
        for seed in 0..4 {
            let row = CheatRow { cheat: Cheat::None, by, end: End::NoticedOrRight };
            let (ending, seen) = play(&row, seed);
            assert_eq!((ending.right, ending.fault), (REQUESTS, None));
            let program = TestProgram(Kind::Small);
            assert_eq!(seen, Ok(Clear::eval(&program, &program.inputs(seed)).concat()));
        }
    }
}

/// Sessions for a frequency: enough to tell one half from never and always.
const TRIALS: u128 = 48;

#[test]
fn every_check_catches_the_cheat_it_exists_for() {
    let rows: Vec<CheatRow> = adversary::cheats().collect();
    in_parallel(&rows, |_, row| {
        let trials = match row.end {
            End::Chance(..) => TRIALS,
            End::CaughtOrRight(_) => 8,
            _ => 2,
        };
        let mut caught = 0;
        for seed in 0..trials {
            let (ending, seen) = play(row, seed);
            let what = format!("{:?} of the {}", row.cheat, row.by);
            assert_end(&what, row.end, &ending);
            let Some(fault) = ending.fault else { continue };
            caught += 1;
            // The one thing a caught cheater sees, unless it had its output already.
            match seen {
                Err(seen) if fault == Fault::PeerAborted => panic!("{what}: {seen}"),
                Err(Fault::Policy(_)) if row.end == End::Refused => {}
                Err(seen) => assert_eq!(seen, Fault::PeerAborted, "{what}"),
                Ok(_) => assert_eq!((row.cheat, row.by), (Cheat::FalseOutputMask, Role::Evaluator)),
            }
        }
        match row.end {
            End::Chance(_, odds) => assert!(
                fits(caught, trials as u64, odds, odds),
                "{:?} of the {}: caught {caught} of {trials}",
                row.cheat,
                row.by
            ),
            End::CaughtOrRight(_) => assert!(caught > 0, "{:?} is never caught", row.cheat),
            _ => {}
        }
    });
}

#[test]
fn every_message_has_a_row() {
    let rows: BTreeSet<(usize, u8, bool)> = FRAMES
        .iter()
        .map(|row| (row.backend as usize, row.tag.id, row.from == Role::Garbler))
        .collect();
    let mut sent = BTreeSet::new();
    for config in settings() {
        for (tag, by_garbler) in honest_frames(&config).into_keys() {
            sent.insert((config.backend as usize, tag, by_garbler));
        }
    }
    assert_eq!(rows, sent, "(backend, tag, from the garbler): rows, and what sessions send");
    for tag in tags::ALL.iter().chain(cenote_ot::tags::ALL) {
        let used = FRAMES.iter().any(|row| row.tag == *tag);
        let unused = UNUSED.iter().any(|(other, _)| other == tag);
        assert!(used != unused, "{} has no row, or is called unused and has one", tag.name);
    }
}

/// Ids of checks in the sources: `Misbehaved("id")` and constants whose name ends in CHECK.
fn checks_of_the_sources() -> BTreeSet<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeSet::new();
    let mut folders: Vec<_> =
        ["engine", "ot", "net", "pool"].map(|name| crates.join(name).join("src")).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a source folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source file");
            for marker in ["Misbehaved(\"", "_CHECK: &str = \""] {
                let ids = text.split(marker).skip(1);
                found.extend(ids.filter_map(|rest| rest.split('"').next().map(str::to_owned)));
            }
        }
    }
    found
}

#[test]
fn every_check_has_a_row() {
    let caught: BTreeSet<&str> = adversary::cheats()
        .map(|row| row.end)
        .chain(JIMU.iter().map(|row| row.end))
        .chain(FRAMES.iter().map(|row| adversary::cut(row.tag)))
        .filter_map(|end| match end {
            End::Caught(check) | End::Chance(check, _) | End::CaughtOrRight(check) => Some(check),
            _ => None,
        })
        .collect();
    let checks = checks_of_the_sources();
    assert!(checks.len() > 20, "the search finds no checks: {checks:?}");
    for check in &checks {
        let elsewhere = ELSEWHERE.iter().any(|(start, _)| check.starts_with(start));
        assert!(caught.contains(check.as_str()) || elsewhere, "the check {check} has no row");
    }
    for check in caught {
        assert!(checks.contains(check), "{check} is no check of the sources");
    }
    let played: Vec<Cheat> = adversary::cheats().map(|row| row.cheat).collect();
    for cheat in Cheat::ALL {
        assert!(played.contains(cheat), "{cheat:?} is never played");
    }
    for cheat in jimu::Cheat::ALL {
        assert!(JIMU.iter().any(|row| row.cheat == *cheat), "{cheat:?} is never played");
    }
}
