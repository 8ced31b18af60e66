//! Runs the adversary table, and fails when a message or a check has no row.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use cenote_engine::backends::wrk::WrkSession;
use cenote_engine::backends::{Live, Protocol, wrk};
use cenote_engine::parts::tags::{EPOCH_SAVED, EPOCH_STATE};
use cenote_engine::{
    Backend, Fault, Party, PoolChoice, Receivers, Rho, Role, SessionConfig, WrkParams, tags,
};
use cenote_net::{Deviation, Direction, Fate, RecordedFrame, Tag, Witness};
use cenote_prim::{Block, Prg, SessionId};
use cenote_testkit::adversary::{
    self, CheatRow, ELSEWHERE, Elsewhere, End, Entry, FrameRow, JIMU, MATTERS, RAW,
};
use cenote_testkit::cheater::{AtRest, Change, Cheat, Cheater, Outcome, Plan, Seen, Setting, jimu};
use cenote_testkit::programs::{Kind, TestProgram};
use cenote_testkit::run::{patient_pair, prg_of, smallest};
use cenote_testkit::run_pair_over;
use cenote_testkit::stats::{fits, in_parallel};
use cenote_testkit::tamper::{self, Ending};

/// Payload lengths of an honest session by tag, sender and index.
type Frames = BTreeMap<(u8, bool), Vec<usize>>;

fn honest_frames(config: &SessionConfig, beside: bool) -> Frames {
    let mut frames = Frames::new();
    let recording = match beside {
        false => tamper::record_of(config, 1),
        true => tamper::record_beside(config, 1),
    };
    for frame in recording.frames() {
        let by_garbler = frame.direction == Direction::Sent;
        frames.entry((frame.tag, by_garbler)).or_default().push(frame.payload.len());
    }
    frames
}

/// The sessions that rows are of.
fn settings() -> Vec<SessionConfig> {
    adversary::entries().flat_map(Entry::sessions).collect()
}

/// Whether a session ended as its row says.
fn fits_row(end: End, Ending { wrong, fault, happened, .. }: &Ending) -> bool {
    let all_right = fault.is_none() && *wrong == 0;
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
    all.push((Deviation::Cut(1), row.cut));
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
    let honest = [false, true].map(|beside| {
        let frames = settings.iter().map(|config| honest_frames(config, beside));
        frames.collect::<Vec<Frames>>()
    });
    let mut cases = Vec::new();
    for row in adversary::frames() {
        let place = settings.iter().position(|config| *config == row.config()).expect("a setting");
        let frames =
            &honest[usize::from(row.beside)][place][&(row.tag.id, row.from == Role::Garbler)];
        for (deviation, end) in deviations(row, frames[row.index]) {
            cases.push((row, deviation, end));
        }
    }
    in_parallel(&cases, |i, (row, deviation, end)| {
        let FrameRow { backend, beside, tag, from, index, .. } = **row;
        let place = if beside { " on a data channel" } else { "" };
        let what = format!(
            "{} {} number {index} of the {from}{place}, {deviation:?}",
            backend.name(),
            tag.name
        );
        let run = |timeout: u64| {
            let timeout = Duration::from_secs(timeout);
            let seed = 77 + i as u128;
            let deviate = if beside { tamper::deviate_beside } else { tamper::deviate };
            deviate(&row.config(), (tag, from, index), deviation.clone(), timeout, seed)
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

/// A value that has two encodings is refused, though nothing is promised.
#[test]
fn stray_bits_are_refused_where_cheating_is_not_covered() {
    for (backend, (tag, from, check)) in adversary::stray() {
        // The last bit of one byte or two, which hold 5 bits or 10.
        let (cheat, timeout) = (Deviation::Flip(15), Duration::from_secs(30));
        let ending = tamper::deviate(&smallest(backend), (tag, from, 0), cheat, timeout, 5);
        assert_eq!(ending.fault, Some(Fault::Misbehaved(check)), "{} by the {from}", tag.name);
    }
}

/// How the session ended for the honest side.
fn ending(plan: &Plan, outcome: &Outcome) -> Ending {
    let expected = plan.expected(plan.by.peer());
    let right = outcome.honest.iter().zip(&expected).filter(|(got, wanted)| got == wanted).count();
    let wrong = outcome.honest.len() - right;
    let happened = outcome.seen.cheated_in.is_some();
    Ending { right, wrong, fault: outcome.fault.clone(), happened }
}

#[test]
fn a_cheater_without_a_cheat_is_a_party_like_any_other() {
    let sessions: Vec<(Setting, Role, u128)> = Setting::ALL
        .into_iter()
        .flat_map(|setting| [(setting, Role::Garbler), (setting, Role::Evaluator)])
        .flat_map(|(setting, by)| [(setting, by, 0), (setting, by, 1)])
        .collect();
    in_parallel(&sessions, |_, &(setting, by, seed)| {
        let plan = Plan::new(setting, by, (Cheat::None, 0), seed);
        let Outcome { honest, fault, seen, frames } = plan.run();
        assert_eq!((fault, seen.fault), (None, None), "{setting:?} {by}");
        assert_eq!(honest, plan.expected(by.peer()), "{setting:?} {by}");
        assert_eq!(seen.outputs, plan.expected(by), "{setting:?} {by}");
        // Chunks that follow one whose report has no answer yet; refills between chunks.
        let found = (without(&frames, wrk::tags::MAC_HASH), with(&frames, wrk::tags::LEAKY_G));
        let wanted = match setting {
            Setting::Small => (0, 0),
            Setting::Long => (2, 0),
            Setting::Pool => (0, 1),
        };
        assert_eq!(found, wanted, "{setting:?} {by}");
    });
}

/// Returns the frames that come between the tables of two chunks of one request.
fn between_chunks(frames: &[RecordedFrame]) -> Vec<&[RecordedFrame]> {
    let requests = frames.split(|frame| frame.tag == Tag::HELLO.id);
    let inner = requests.flat_map(|frames| {
        let parts: Vec<_> = frames.split(|frame| frame.tag == wrk::tags::TABLES.id).collect();
        let last = parts.len().max(2) - 1;
        parts[1.min(last)..last].to_vec()
    });
    inner.collect()
}

fn with(frames: &[RecordedFrame], tag: Tag) -> usize {
    let has = |part: &&[RecordedFrame]| part.iter().any(|frame| frame.tag == tag.id);
    between_chunks(frames).into_iter().filter(has).count()
}

fn without(frames: &[RecordedFrame], tag: Tag) -> usize {
    between_chunks(frames).len() - with(frames, tag)
}

/// Sessions for a frequency: enough to tell one half from never and always.
const TRIALS: u128 = 48;

fn trials(row: &CheatRow) -> u128 {
    match row.end {
        End::Chance(..) => TRIALS,
        End::CaughtOrRight(_) => 8,
        _ if row.setting == Setting::Small => 2,
        _ => 1,
    }
}

#[test]
fn every_check_catches_the_cheat_it_exists_for() {
    let rows: Vec<CheatRow> = adversary::cheats().collect();
    in_parallel(&rows, |_, row| {
        let what =
            format!("{:?} number {} of the {}, {:?}", row.cheat, row.at, row.by, row.setting);
        let mut caught = 0;
        for seed in 0..trials(row) {
            let plan = Plan::new(row.setting, row.by, (row.cheat, row.at), seed);
            let outcome = plan.run();
            let ending = ending(&plan, &outcome);
            assert_end(&what, row.end, &ending);
            if ending.fault.is_some() {
                caught += 1;
                assert_caught_in_time(&what, row, &ending, &outcome.seen);
            }
        }
        match row.end {
            End::Chance(_, odds) => {
                let fits = fits(caught, trials(row) as u64, odds, odds);
                assert!(fits, "{what}: caught {caught} of {}", trials(row));
            }
            End::CaughtOrRight(_) => assert!(caught > 0, "{what}: never caught"),
            _ => {}
        }
    });
}

/// A cheat is caught in the request in which it is made, and the cheater gets nothing for it.
fn assert_caught_in_time(what: &str, row: &CheatRow, ending: &Ending, seen: &Seen) {
    assert_eq!(Some(ending.right), seen.cheated_in, "{what}: caught in another request");
    // The one thing a caught cheater sees, unless it had its output already.
    let with_output = (row.cheat, row.by) == (Cheat::FalseOutputMask, Role::Evaluator);
    match (&ending.fault, &seen.fault) {
        (Some(Fault::PeerAborted), _) => panic!("{what}: {:?}", seen.fault),
        (_, Some(Fault::Policy(_))) if row.end == End::Refused => {}
        (_, Some(fault)) => assert_eq!(*fault, Fault::PeerAborted, "{what}"),
        (_, None) => assert!(with_output, "{what}: not told"),
    }
    assert!(seen.outputs.len() == ending.right || with_output, "{what}: an output");
    if matches!(row.end, End::Caught("wrk.labels" | "wrk.report.format")) {
        // D_M of a chunk that was lied about would tell bits of the garbler's masks.
        assert_eq!(seen.answers, row.at, "{what}: answers, one for each chunk before");
    }
}

/// A garbler cheats in a request that the evaluator's application gives up before its check, and goes
/// on as if nothing were wrong: the session must not.
#[test]
fn no_request_follows_one_whose_checks_are_open() {
    let params = WrkParams::derive(PoolChoice::OneShot(800), Rho::Bits40).expect("sound");
    let id = SessionId([8; 32]);
    let program = TestProgram(Kind::Chunks(1));
    let inputs = program.inputs(1);
    let ends = run_pair_over(patient_pair(), |channel, role| {
        let prg = prg_of(role, 8);
        if role == Role::Garbler {
            let cheat = (Cheat::ColourBit, 0);
            let mut cheater = Cheater::set_up(channel, role, id, params, cheat, prg)?;
            leave_in_flight(&mut cheater, &program, &inputs)?;
            cheater.abandon()?;
            let _input = cheater.input(Role::Garbler, 1, Some(&[true]))?;
            return cheater.check().map(|_| ());
        }
        let mut session = WrkSession::open(channel.into(), id, role, params, || prg, None)?;
        leave_in_flight(&mut session.party(), &program, &inputs)?;
        let supply = [session.fill(), session.stock(1)];
        assert!(supply.iter().all(|end| matches!(end, Err(Fault::Misuse(_)))), "{supply:?}");
        let next = session.party().input(Role::Garbler, 1, None);
        assert!(matches!(next, Err(Fault::Misuse(_))), "{next:?}");
        session.channel().abort();
        Ok::<_, Fault>(())
    });
    // The garbler gets its report and nothing after it.
    assert_eq!(ends, (Err(Fault::PeerAborted), Ok(())));
}

/// A wire that was kept and is changed before its next use is noticed.
#[test]
fn a_cheater_that_changes_a_kept_wire_is_caught() {
    for (by, change, check) in [
        (Role::Evaluator, Change::Masked, "wrk.labels"),
        (Role::Evaluator, Change::Share, "wrk.kept"),
        (Role::Garbler, Change::Masked, "wrk.masked"),
        (Role::Garbler, Change::Label, "wrk.masked"),
        (Role::Garbler, Change::Share, "wrk.kept"),
    ] {
        let (cheat, again) = ((Cheat::None, 0), |cheater: &mut Cheater| {
            cheater.change("products", AtRest::Changed(change));
            use_products(cheater)
        });
        let honest = honest_end(by, cheat, again);
        assert_eq!(honest, Err(Fault::Misbehaved(check)), "{change:?} by the {by}");
    }
    assert_eq!(honest_end(Role::Garbler, (Cheat::None, 0), use_products), Ok(()));
    // Nothing is kept of a request that fails a check.
    let spoilt = honest_end(Role::Garbler, (Cheat::ColourBit, 0), use_products);
    assert_eq!(spoilt, Err(Fault::Misbehaved("wrk.masked")));
}

/// What is said of kept wires that come back is bound on both sides, to its place and to the other's.
#[test]
fn a_changed_return_of_kept_wires_is_caught() {
    const KEPT: End = End::Caught("wrk.kept");
    const LENGTH: End = End::Caught("frame: wrong length");
    let deviations = [
        (Deviation::Flip(0), KEPT),
        (Deviation::Flip(31), KEPT),
        (Deviation::Cut(1), LENGTH),
        (Deviation::Replay, KEPT),
    ];
    for tag in [wrk::tags::KEPT_BITS, wrk::tags::KEPT_PROOF] {
        let rows = deviations
            .iter()
            .flat_map(|row| [Role::Garbler, Role::Evaluator].map(|by| (by, &row.0, &row.1)));
        for (by, deviation, end) in rows {
            let id = SessionId([9; 32]);
            let (garbler, evaluator) = run_pair_over(patient_pair(), |mut channel, role| {
                if role == by {
                    channel.deviate(tag, 0, deviation.clone());
                }
                let params = WrkParams::derive(PoolChoice::OneShot(800), Rho::Bits40)?;
                let prg = prg_of(role, 9);
                let mut session = WrkSession::open(channel.into(), id, role, params, || prg, None)?;
                keep_products(&mut session.party())?;
                use_products(&mut session.party())?;
                use_products(&mut session.party())
            });
            let ends = [garbler, evaluator].map(|end| end.expect_err("a changed message"));
            let End::Caught(check) = end else { unreachable!("each is caught") };
            let what = format!("{deviation:?} of {} by the {by}: {ends:?}", tag.name);
            assert!(ends.contains(&Fault::Misbehaved(check)), "{what}");
            assert!(ends.contains(&Fault::PeerAborted), "{what}");
        }
    }
}

/// How two requests over wires that the first keeps end for the side that does not cheat.
fn honest_end(
    by: Role,
    cheat: (Cheat, usize),
    again: impl Fn(&mut Cheater) -> Result<(), Fault> + Sync,
) -> Result<(), Fault> {
    let params = WrkParams::derive(PoolChoice::OneShot(800), Rho::Bits40).expect("sound");
    let id = SessionId([9; 32]);
    let (garbler, evaluator) = run_pair_over(patient_pair(), |channel, role| {
        let prg = prg_of(role, 9);
        if role == by {
            let mut cheater = Cheater::set_up(channel, role, id, params, cheat, prg)?;
            keep_products(&mut cheater)?;
            return again(&mut cheater);
        }
        let mut session = WrkSession::open(channel.into(), id, role, params, || prg, None)?;
        let kept = keep_products(&mut session.party());
        if kept.is_err() {
            let next = session.party().kept("products");
            assert!(matches!(next, Err(Fault::Misuse(_))), "{next:?}");
        }
        kept.and_then(|()| use_products(&mut session.party()))
    });
    if by == Role::Garbler { evaluator } else { garbler }
}

/// Keeps 32 products of inputs.
fn keep_products<P: Party>(party: &mut P) -> Result<(), Fault> {
    let mut input = |owner: Role| {
        let own = (owner == party.role()).then_some(&[true; 32][..]);
        party.input(owner, 32, own)
    };
    let (x, y) = (input(Role::Garbler)?, input(Role::Evaluator)?);
    let products = party.and_many(&x, &y)?;
    party.keep("products", &products)
}

/// Multiplies each with the next, and opens that to both.
fn use_products<P: Party>(party: &mut P) -> Result<(), Fault> {
    let kept = party.kept("products")?;
    let products = party.and_many(&kept[1..], &kept[..31])?;
    let opened = party.reveal(Receivers::Both, &products)?;
    assert_eq!(opened.as_deref(), Some(&[true; 31][..]));
    Ok(())
}

/// Runs two chunks and a gate, so that the evaluator reports on the first.
fn leave_in_flight<P: Party>(
    party: &mut P,
    program: &TestProgram,
    inputs: &[Vec<bool>],
) -> Result<(), Fault> {
    let mut wires = Vec::new();
    for (owner, bits) in [Role::Garbler, Role::Evaluator].into_iter().zip(inputs) {
        let own = (owner == party.role()).then_some(&bits[..]);
        wires.push(party.input(owner, bits.len(), own)?);
    }
    let outputs = party.exec(program, &wires)?;
    // No AND is among them: the second chunk needs no message of its own.
    let mut chain = outputs[0][0].clone();
    for _ in 0..=2 << 17 {
        chain = party.xor(&chain, &outputs[0][1])?;
    }
    Ok(())
}

#[test]
fn every_message_has_a_row() {
    let rows: BTreeSet<(usize, bool, u8, bool)> = adversary::frames()
        .map(|row| (row.backend as usize, row.beside, row.tag.id, row.from == Role::Garbler))
        .collect();
    let mut sent = BTreeSet::new();
    for (config, beside) in settings().into_iter().flat_map(|it| [(it, false), (it, true)]) {
        for (tag, by_garbler) in honest_frames(&config, beside).into_keys() {
            sent.insert((config.backend as usize, beside, tag, by_garbler));
        }
    }
    assert_eq!(
        rows, sent,
        "(backend, data channel, tag, from the garbler): rows, and what is sent"
    );
    // Sessions that keep items have tables of their own: `epoch.rs`.
    // Nor do requests that keep wires: `a_changed_return_of_kept_wires_is_caught`.
    let kept = [EPOCH_STATE, EPOCH_SAVED, wrk::tags::KEPT_BITS, wrk::tags::KEPT_PROOF];
    for tag in tags::all().chain(cenote_ot::tags::ALL).filter(|tag| !kept.contains(tag)) {
        assert!(adversary::frames().any(|row| row.tag == *tag), "{} has no row", tag.name);
    }
}

/// Ids of checks in the sources: `Misbehaved("id")` and constants whose name ends in CHECK.
fn checks_of_the_sources() -> BTreeSet<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeSet::new();
    let mut folders: Vec<_> =
        ["engine", "ot", "net", "pool", "service"].map(|name| crates.join(name).join("src")).into();
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
        .chain(adversary::frames().map(|row| row.cut))
        .filter_map(|end| match end {
            End::Caught(check) | End::Chance(check, _) | End::CaughtOrRight(check) => Some(check),
            _ => None,
        })
        .collect();
    let stray = adversary::stray().map(|(_, (_, _, check))| check);
    let caught: BTreeSet<&str> = caught.into_iter().chain(stray).collect();
    let elsewhere: BTreeSet<&str> = ELSEWHERE.iter().map(|entry| entry.check).collect();
    assert_eq!(elsewhere.len(), ELSEWHERE.len(), "one entry a check");
    let covered: BTreeSet<String> = caught.union(&elsewhere).map(|&check| check.into()).collect();
    let checks = checks_of_the_sources();
    assert!(checks.len() > 20, "the search finds no checks: {checks:?}");
    let bare: Vec<_> = checks.difference(&covered).collect();
    assert!(bare.is_empty(), "no row and no entry: {bare:?}");
    let strange: Vec<_> = covered.difference(&checks).collect();
    assert!(strange.is_empty(), "no checks of the sources: {strange:?}");
    for (setting, checks) in MATTERS {
        for check in *checks {
            let row = adversary::cheats()
                .any(|row| (row.setting, row.end) == (*setting, End::Caught(check)));
            assert!(row, "the check {check} has no row in {setting:?}");
        }
    }
    let run: Vec<Cheat> = adversary::cheats().map(|row| row.cheat).collect();
    for cheat in Cheat::ALL {
        assert!(run.contains(cheat), "{cheat:?} is never run");
    }
    for cheat in jimu::Cheat::ALL {
        assert!(JIMU.iter().any(|row| row.cheat == *cheat), "{cheat:?} is never run");
    }
}

#[test]
fn the_tests_of_checks_elsewhere_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for Elsewhere { check, file, test } in ELSEWHERE {
        let text = fs::read_to_string(root.join(file)).expect("a source file");
        let found = text.split_once(&format!("fn {test}()"));
        let found = found.is_some_and(|(before, _)| before.trim_end().ends_with("#[test]"));
        assert!(found, "{check}: {file} has no test {test}");
    }
}
