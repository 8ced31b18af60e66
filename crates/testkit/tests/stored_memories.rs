//! Memories of programs that a session saves and a later one goes on with: what was left is found, and nothing is ever done twice from one
//! version, whatever is lost and whatever a peer claims.

#[expect(dead_code, reason = "other tests of epochs use all of it")]
mod relation;

use std::collections::BTreeSet;
use std::sync::Mutex;

use cenote_circuit::bits_of;
use cenote_engine::backends::wrk::supply::POOL;
use cenote_engine::{
    Backend, Fault, HeldMemory, Job, MemoryUse, ModuleJob, Party, PoolChoice, Role, Session,
};
use cenote_program::Module;
use cenote_testkit::disk::Disk;
use cenote_testkit::run::{config, patient_pair, sessions, smallest, with_pool};
use relation::{Relation, changed, level, ok};

const BEGINS: &str = "cenote 3\nprogram begins \"\"\nmemory sums[150]: new uint b8\n{\n %1 = const 150xb8 all 0x10\n}\nkeep sums: %1\n";
const ADDS: &str = "cenote 3\nprogram adds \"\"\ninput place: a uint b2\ninput more: b uint b8\nmemory sums[150]: found uint b8\n{
 %3 = lookup %2, %0\n %4 = add %3, %1\n %5 = const b1 0x1\n %6 = store %2, %0, %4, %5\n}\nkeep sums: %6\noutput before: both uint %3\n";
const ENDS: &str = "cenote 3\nprogram ends \"\"\nmemory sums[150]: found uint b8\n{\n %1 = const b2 0x1\n %2 = lookup %0, %1\n}\noutput sum: both uint %2\n";

/// What a run gives: the word that both see.
fn run(session: &mut Session, text: &str, more: u128) -> Result<Option<Vec<bool>>, Fault> {
    let (module, role) = (Module::parse_text(text).expect("a program"), session.role());
    let own = module.inputs().iter().filter(|port| port.owner == role);
    let value = if role == Role::Garbler { 1 } else { more };
    let own = own.map(|port| bits_of(value, port.shape.bits())).collect();
    let mut output = session.run(&ModuleJob::new(&module, role, own)?)?.output;
    Ok(output.pop().flatten())
}

/// Adds to the word, which is `before`.
fn adds(session: &mut Session, more: u128, before: u128) -> Result<(), Fault> {
    assert_eq!(run(session, ADDS, more)?, Some(bits_of(before, 8)), "adds {more}");
    Ok(())
}

fn held(session: &Session) -> Vec<HeldMemory> {
    session.memories().list().cloned().collect()
}

fn versions(session: &Session) -> Vec<u64> {
    session.memories().list().map(|memory| memory.version).collect()
}

#[test]
fn memories_go_on_in_later_sessions() {
    let pool = with_pool(Backend::Wrk, PoolChoice::Kept(1073));
    let wide = config("wrk:pool=1073,rho=80");
    let kinds = [(smallest(Backend::Wrk), false), (pool, true), (pool, false), (wide, true)];
    for (config, beside) in kinds {
        let mut relation = Relation::default();
        let left = ok(relation.session(&config, beside, |mut session, _| {
            assert!(held(&session).is_empty());
            run(&mut session, BEGINS, 0)?;
            adds(&mut session, 5, 16)?;
            let left = held(&session);
            session.put_away()?;
            Ok(left)
        }));
        assert_eq!(left[0], left[1]);
        // Saved on the way, and then the line breaks.
        let found = ok(relation.session(&config, beside, |mut session, _| {
            let found = held(&session);
            adds(&mut session, 7, 21)?;
            session.save()?;
            Ok(found)
        }));
        assert_eq!(found, left);
        let end = ok(relation.session(&config, beside, |mut session, _| {
            assert_eq!(versions(&session), [3]);
            let sum = run(&mut session, ENDS, 0)?;
            session.put_away()?;
            Ok(sum)
        }));
        assert_eq!(end[0], Some(bits_of(28, 8)));
        let after = ok(relation.session(&config, beside, |session, _| Ok(versions(&session))));
        assert!(after.iter().all(Vec::is_empty), "ended for good: {after:?}");
        relation.check();
    }
}

/// Words at secret places, too many to be scanned.
fn places(begins: bool) -> String {
    let how = if begins { "new" } else { "found" };
    format!(
        "cenote 4\nprogram places \"\"\ninput place: a uint b12\ninput more: b uint b16\nmemory words[4096]: {how} ram 1048576 uint b16\n{{
 %3 = lookup %2, %0\n %4 = add %3, %1\n %5 = const b1 0x1\n %6 = store %2, %0, %4, %5\n}}\nkeep words: %6\noutput before: both uint %3\n"
    )
}

/// So do random access memories, with what is opened of them.
#[test]
fn random_access_memories_go_on_in_later_sessions() {
    let config = smallest(Backend::Wrk);
    let mut relation = Relation::default();
    for session in 0..3u128 {
        let states = ok(relation.session(&config, false, |mut session_of, _| {
            for job in 0..3 {
                let done = 3 * session + job;
                let before = run(&mut session_of, &places(done == 0), 5)?;
                assert_eq!(before, Some(bits_of(5 * done, 16)), "{session} {job}");
            }
            let states = held(&session_of).remove(0).states;
            session_of.put_away()?;
            Ok(states)
        }));
        assert!(states[0] == states[1] && states[0].contains_key("words"), "{states:?}");
    }
    relation.check();
}

/// The pool stays where it is when nothing is made, though memories change.
#[test]
fn saving_memories_costs_no_pool() {
    let config = with_pool(Backend::Wrk, PoolChoice::Kept(1073));
    let mut relation = Relation::default();
    ok(relation.session(&config, false, |mut session, _| {
        session.fill()?;
        session.stock(9000)?;
        run(&mut session, BEGINS, 0)?;
        session.put_away()
    }));
    for version in 1..4 {
        let found = ok(relation.session(&config, false, |mut session, _| {
            let found = (versions(&session), level(&session, POOL));
            run(&mut session, ADDS, 1)?;
            session.save()?;
            Ok(found)
        }));
        assert_eq!(found, [(vec![version], 1073), (vec![version], 1073)]);
    }
    assert!(relation.disks.iter().all(|disk| disk.ledger().pools == 1));
    relation.check();
}

/// Versions from which a job gave its result, by the job that left them.
type Seen = Mutex<BTreeSet<(u64, [u8; 32])>>;

/// Goes on with the memory if there is one, else begins one; twice, saved in between, then an orderly end.
fn script(mut session: Session, seen: &Seen) -> Result<(), Fault> {
    for _ in 0..2 {
        if held(&session).is_empty() {
            run(&mut session, BEGINS, 0)?;
        }
        let from = held(&session).remove(0);
        run(&mut session, ADDS, 1)?;
        seen.lock().expect("no panic").insert((from.version, from.job_id));
        session.save()?;
    }
    session.put_away()
}

/// Power is lost on either side or on both before any change of the disk: no result is ever given twice from one version of a memory, both sides
/// hold the same, and what is held is right.
#[test]
fn a_loss_of_power_at_any_time_resumes_no_old_version() {
    let config = smallest(Backend::Wrk);
    let mut whole = Relation::default();
    let nobody = Seen::default();
    ok(whole.session(&config, false, |session, _| script(session, &nobody)));
    ok(whole.session(&config, false, |session, _| script(session, &nobody)));
    let changes = whole.disks[0].changes();
    assert!((10..80).contains(&changes), "{changes}");
    let mut went_on = 0;
    let cuts = (0..changes).flat_map(|at| [[at, changes], [changes, at], [at, at]]);
    for (at, cut) in cuts.enumerate() {
        let mut relation = Relation::default();
        relation.disks.iter().zip(cut).for_each(|(disk, at)| disk.cut_after(at));
        let mut all = BTreeSet::new();
        let mut note = |seen: [Seen; 2]| {
            let given = seen.map(|seen| seen.into_inner().expect("no panic"));
            let given: BTreeSet<_> = given.into_iter().flatten().collect();
            for from in given {
                assert!(all.insert(from), "at {at}: twice from version {}", from.0);
            }
        };
        for round in 0..4 {
            if round == 2 {
                relation.disks.iter().for_each(Disk::restart);
            }
            let seen = [Seen::default(), Seen::default()];
            let held_at_first = relation.session(&config, false, |session, role| {
                let held = held(&session);
                script(session, &seen[role as usize])?;
                Ok(held)
            });
            note(seen);
            if let [Ok(a), Ok(b)] = held_at_first {
                assert_eq!(a, b, "at {at}");
                went_on += usize::from(round == 2 && !a.is_empty());
            }
        }
        let sums = ok(relation.session(&config, false, |mut session, _| {
            let version = held(&session)[0].version;
            Ok((version, run(&mut session, ENDS, 0)?))
        }));
        let [(version, sum), other] = &sums;
        assert_eq!((version, sum), (&other.0, &other.1));
        assert_eq!(*sum, Some(bits_of(u128::from(15 + version), 8)), "at {at}");
        relation.check();
    }
    assert!(went_on > changes / 2, "{went_on} of {changes}: memories survive some losses");
}

/// Agrees to what the other side runs, and gives up.
struct GivesUp<'m>(ModuleJob<'m>);

impl Job for GivesUp<'_> {
    type Output = ();

    fn terms(&self) -> Vec<(&'static str, String)> {
        self.0.terms()
    }

    fn memories(&self) -> Vec<MemoryUse> {
        self.0.memories()
    }

    fn run<P: Party>(&self, _: &mut P) -> Result<(), Fault> {
        Err(Fault::Misuse("gives up".into()))
    }
}

/// A job that was begun and did not end, on either side, ends the memory on both.
#[test]
fn a_job_that_breaks_off_ends_the_memory() {
    let config = smallest(Backend::Wrk);
    for breaks in [Role::Garbler, Role::Evaluator] {
        let mut relation = Relation::default();
        ok(relation.session(&config, false, |mut session, _| {
            run(&mut session, BEGINS, 0)?;
            session.put_away()
        }));
        let ends = relation.session(&config, false, |mut session, role| {
            assert_eq!(versions(&session), [1]);
            if role != breaks {
                return run(&mut session, ADDS, 1).map(drop);
            }
            let module = Module::parse_text(ADDS).expect("a program");
            let own = vec![vec![false; if role == Role::Garbler { 2 } else { 8 }]];
            session.run(&GivesUp(ModuleJob::new(&module, role, own)?)).map(drop)
        });
        assert!(ends.iter().all(Result::is_err), "{ends:?}");
        let after = ok(relation.session(&config, false, |session, _| Ok(versions(&session))));
        assert!(after.iter().all(Vec::is_empty), "{breaks}: {after:?}");
    }
}

/// A memory that is ended is gone on both sides, on disk as well, and its name is free; others go on, once they were saved anew.
#[test]
fn a_memory_that_is_ended_is_gone_and_others_go_on() {
    let config = smallest(Backend::Wrk);
    for saves in [true, false] {
        let mut relation = Relation::default();
        ok(relation.session(&config, false, |mut session, _| {
            run(&mut session, BEGINS, 0)?;
            run(&mut session, &BEGINS.replace("sums", "more"), 0)?;
            adds(&mut session, 5, 16)?;
            session.put_away()
        }));
        ok(relation.session(&config, false, |mut session, _| {
            let unknown = session.end_memory("sum");
            assert!(matches!(unknown, Err(Fault::Policy(why)) if why.contains("memory `sum`")));
            let ended = session.end_memory("sums")?;
            assert_eq!(
                (ended.name.as_str(), ended.version, versions(&session)),
                ("sums", 2, vec![1])
            );
            assert!(session.has_unsaved_memories());
            assert!(matches!(run(&mut session, ADDS, 1), Err(Fault::Policy(_))));
            if saves {
                session.save()?;
            }
            Ok(())
        }));
        let left = if saves { vec!["more"] } else { Vec::new() };
        ok(relation.session(&config, false, |mut session, _| {
            assert_eq!(held(&session).iter().map(|m| &*m.name).collect::<Vec<_>>(), left);
            run(&mut session, BEGINS, 0)?;
            adds(&mut session, 1, 16)
        }));
        relation.check();
    }
}

/// Reads what was kept of a memory, whatever the session says that there is.
struct Reads;

impl Job for Reads {
    type Output = usize;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", "reads".into())]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<usize, Fault> {
        party.kept("memory sums").map(|wires| wires.len())
    }
}

/// Nothing is left of its wires, with any backend that keeps wires.
#[test]
fn the_wires_of_a_memory_that_is_ended_are_forgotten() {
    for backend in Backend::ALL.into_iter().filter(|backend| backend.keeps_wires()) {
        let ends = sessions(&smallest(backend), 4, |session, _| {
            run(session, BEGINS, 0)?;
            let before = session.run(&Reads)?.output;
            session.end_memory("sums")?;
            let after = session.run(&Reads).map(|outcome| outcome.output);
            assert!(matches!(after, Err(Fault::Misuse(_))), "{after:?}");
            Ok(before)
        });
        assert_eq!((ends.0, ends.1), (Ok(1200), Ok(1200)), "{backend:?}");
    }
}

/// Memories that one side alone cannot read, since its release is another one, end on both: that session ends, the next ones are as any.
#[test]
fn memories_that_one_side_cannot_read_end_on_both() {
    let config = smallest(Backend::Wrk);
    // The version of the form; the last digit of that of the execution, with which the text of what both know begins: its first may not become 0.
    let execution = 5 + cenote_program::EXECUTION.to_string().len();
    for (at, side) in [(0, 0), (0, 1), (execution, 1)] {
        let mut relation = Relation::default();
        ok(relation.session(&config, false, |mut session, _| {
            run(&mut session, BEGINS, 0)?;
            session.put_away()
        }));
        relation.disks[side].change_part("memories", |bytes| bytes[at] ^= 1);
        let ends = relation.session(&config, false, |session, _| Ok(versions(&session)));
        let Err(Fault::Storage(why)) = &ends[side] else { panic!("{at} {side}: {ends:?}") };
        assert!(why.contains("another version"), "{why}");
        for begins in [true, false] {
            let found = ok(relation.session(&config, false, |mut session, _| {
                let found = versions(&session);
                if begins {
                    run(&mut session, BEGINS, 0)?;
                }
                session.put_away()?;
                Ok(found)
            }));
            let expected = if begins { vec![] } else { vec![1] };
            assert!(found.iter().all(|found| *found == expected), "{at} {side}: {found:?}");
        }
        relation.check();
    }
}

/// What a peer says of the jobs that were counted, and a backup that is put back on one side: the memory is gone, or what it was.
#[test]
fn no_claim_of_a_peer_brings_a_version_back() {
    let config = smallest(Backend::Wrk);
    let mut relation = Relation::default();
    ok(relation.session(&config, false, |mut session, _| {
        run(&mut session, BEGINS, 0)?;
        session.put_away()
    }));
    let old = relation.copy();
    ok(relation.session(&config, false, |mut session, _| {
        adds(&mut session, 1, 16)?;
        session.save()?;
        adds(&mut session, 1, 17)
    }));
    // The third number of a state: one job was saved, and one more counted.
    type Claim = (&'static str, fn(&mut Vec<u8>));
    let claims: [Claim; 4] = [
        ("what is so", |_| ()),
        ("fewer jobs", |state| state[49] = 2),
        ("no jobs", |state| state[49] = 0),
        ("more jobs", |state| state[49] = 9),
    ];
    for (claim, change) in claims {
        let mut copy = relation.copy();
        let (a, mut b) = patient_pair();
        b.tamper(move |frame| changed(frame.tag, frame.payload, change));
        let [honest, _] = copy.session_over((a, b), &config, |session, _| Ok(versions(&session)));
        assert_eq!(honest.unwrap_or_default(), Vec::<u64>::new(), "{claim}");
    }
    for side in 0..2 {
        let mut copy = relation.copy();
        copy.disks[side].put_back(old.disks[side].backup());
        let found = ok(copy.session(&config, false, |session, _| Ok(versions(&session))));
        assert!(found.iter().all(Vec::is_empty), "{found:?}");
    }
}
