//! Tests that no secrets of sessions are left in this process's memory once these were dropped.
//!
//! A session of each backend runs on two threads that end. Before it is dropped, some of its secrets are noted
//! in disguise; then all writable memory of the process is searched for them, freed heap and the stacks of ended threads included.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};

use cenote_net::{Channel, Deviation, Role, Tag, mem_pair};
use cenote_prim::{Block, Prg};

use super::{Opened, Session, SessionConfig};
use crate::backends::wrk;
use crate::backends::wrk::WrkParams;
use crate::parts;
use crate::{Fault, Job, MemoryUse, Party, PoolChoice, Receivers, Rho};

/// A secret under a mask, so that the note itself is no find.
struct Needle {
    what: &'static str,
    disguised: u128,
}

const DISGUISE: u128 = 0x5bd1_e995_0b74_2ac3_9e37_79b9_7f4a_7c15;

impl Needle {
    /// Out of line: what the compiler spills here is overwritten by later calls.
    #[inline(never)]
    fn new(what: &'static str, secret: &Block) -> Needle {
        Needle { what, disguised: secret.to_u128() ^ DISGUISE }
    }
}

/// The names of all needles that lie in this process's memory, and where; none where the system does not show it.
fn found(needles: &[Needle]) -> Option<Vec<String>> {
    let names: HashMap<u128, _> = needles.iter().map(|n| (n.disguised, n.what)).collect();
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let mut memory = File::open("/proc/self/mem").ok()?;
    let mut room = vec![0; (1 << 20) + 16];
    let own = room.as_ptr() as u64;
    let own = own..own + room.len() as u64;
    let mut found = Vec::new();
    for line in
        maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|p| p.starts_with("rw")))
    {
        let (from, to) = line.split(' ').next()?.split_once('-')?;
        let (from, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
        for at in (from..to).step_by(1 << 20) {
            let len = room.len().min((to - at) as usize);
            memory.seek(SeekFrom::Start(at)).ok()?;
            if memory.read_exact(&mut room[..len]).is_err() {
                continue;
            }
            for (i, window) in room[..len].windows(16).enumerate().step_by(4) {
                let Ok(window) = <[u8; 16]>::try_from(window) else { continue };
                let here = u128::from_le_bytes(window) ^ DISGUISE;
                let hit = names.get(&here).filter(|_| !own.contains(&(at + i as u64)));
                if let Some(what) = hit {
                    found.push(format!("{what} at {:x} in {line}", at + i as u64));
                }
            }
        }
    }
    Some(found)
}

/// Runs both parties on threads that end, and asserts that nothing they noted is left.
fn nothing_is_left(party: impl Fn(Channel, Role) -> Result<Vec<Needle>, Fault> + Sync) {
    let (garbler, evaluator) = mem_pair();
    let needles = std::thread::scope(|scope| {
        let party = &party;
        let both = [(garbler, Role::Garbler), (evaluator, Role::Evaluator)]
            .map(|(channel, role)| scope.spawn(move || party(channel, role)));
        both.map(|thread| thread.join().expect("no panic").expect("a session that ends well"))
    });
    let needles: Vec<Needle> = needles.into_iter().flatten().collect();
    assert!(needles.len() >= 6);
    assert_gone(&needles);
}

/// Nothing of `needles` lies in memory, where the search finds what does.
fn assert_gone(needles: &[Needle]) {
    let there = Box::new(Prg::from_os().block());
    let planted = found(&[Needle::new("planted", &there)]);
    let Some(planted) = planted else {
        println!("skipped: this system does not show a process its memory");
        return;
    };
    assert!(!planted.is_empty(), "{:?} is not found", std::hint::black_box(there).lsb());
    assert_eq!(found(needles), Some(vec![]));
}

/// Gates in several rounds, with more live wires in each, so that the arrays of a request move.
fn work<P: Party>(party: &mut P) -> Result<Vec<P::Wire>, Fault> {
    let role = party.role();
    let mut input = |owner| party.input(owner, 3, (role == owner).then_some(&[true, false, true]));
    let (a, b) = (input(Role::Garbler)?, input(Role::Evaluator)?);
    let mut live = party.and_many(&a, &b)?;
    for _ in 0..8 {
        let other = vec![live[live.len() - 1].clone(); live.len()];
        let more = party.and_many(&live, &other)?;
        live.extend(more);
        // Checks as well, where wires can be kept; in place of fewer.
        let kept = party.keep("live", &live);
        assert!(matches!(kept, Ok(()) | Err(Fault::Misuse(_))), "{kept:?}");
        party.check()?;
    }
    party.reveal(Receivers::Both, &live[..2])?;
    Ok(live)
}

/// Opens a session, works, and notes its keys and what is secret at two wires.
fn keep_notes(
    config: &SessionConfig,
    threads: usize,
    channel: Channel,
    role: Role,
) -> Result<Vec<Needle>, Fault> {
    let mut session = Session::open(channel, role, config)?;
    session.set_threads(threads)?;
    let needles = noted(&mut session)?;
    session.close();
    Ok(needles)
}

/// Out of line: what the compiler spills here lies where the end of the session wipes.
#[inline(never)]
fn noted(session: &mut Session) -> Result<Vec<Needle>, Fault> {
    let mut needles = Vec::new();
    let mut note = |what, secret: &Block| needles.push(Needle::new(what, secret));
    match &mut session.opened {
        Opened::Wrk(wrk) => {
            note("delta", &wrk.depot().whole_delta().expect("one channel"));
            let mut party = wrk.party();
            let live = work(&mut party)?;
            for wire in [&live[5], &live[live.len() - 1]] {
                party.secrets_of(wire, &mut note);
            }
        }
        Opened::Jimu(jimu) => {
            let mut party = jimu.party();
            let live = work(&mut party)?;
            for wire in [&live[5], &live[live.len() - 1]] {
                party.secrets_of(wire, &mut note);
            }
        }
        _ => {}
    }
    Ok(needles)
}

#[test]
fn nothing_of_a_session_is_left() {
    for (config, threads) in
        [("wrk", 1), ("wrk:pool=8000", 1), ("wrk:pool=8000", 3), ("jimu:pool=1000", 1)]
    {
        let config = config.parse().expect("a backend with options");
        nothing_is_left(|channel, role| keep_notes(&config, threads, channel, role));
    }
}

/// A session of `wrk` that fills its pool, small enough that what is freed stays with the process, with the same randomness each time, and ends when the evaluator notices
/// the garbler's frame `index` of `tag`: the leaky ANDs in the evaluator's pool by then.
fn pooled_until(tag: Tag, index: usize) -> Vec<Needle> {
    let config: &SessionConfig = &"wrk:pool=1100".parse().expect("wrk has a pool");
    let (mut garbler, evaluator) = mem_pair();
    garbler.deviate(tag, index, Deviation::Flip(7));
    let filled = |channel, role, seed| {
        let mut session =
            Session::open_seeded(channel, role, config, Prg::new(Block::new(seed))).expect("opens");
        let ended = session.stock(1);
        assert!(ended.is_err(), "{tag:?} is not noticed");
        let Opened::Wrk(wrk) = &mut session.opened else { unreachable!("the session is of wrk") };
        let shares = wrk.depot().pooled().into_iter();
        shares.map(|share| Needle::new("a share of a leaky AND", &share.mac)).collect()
    };
    std::thread::scope(|scope| {
        let peer = scope.spawn(|| -> Vec<Needle> { filled(garbler, Role::Garbler, 1) });
        let needles = scope.spawn(|| filled(evaluator, Role::Evaluator, 2));
        peer.join().expect("no panic");
        needles.join().expect("no panic")
    })
}

#[test]
fn nothing_of_a_batch_is_left_when_a_check_fails() {
    let params = WrkParams::derive(PoolChoice::Kept(1_100), Rho::Bits40).expect("sound");
    let capacity = params.pool.expect("kept");
    let batches = capacity.div_ceil(params.batch);
    // The first coin is that of the set-up. The one after those of the filling is that of the first refill: the
    // pool is full by then.
    let needles = pooled_until(parts::tags::COIN_OPEN, batches + 1);
    assert_eq!(needles.len(), 3 * capacity);
    assert_gone(&needles);
    for (tag, index) in [
        (parts::tags::COIN_OPEN, 1),
        (parts::tags::COIN_OPEN, batches),
        (wrk::tags::BUCKET_OPEN, 0),
    ] {
        pooled_until(tag, index);
        assert_gone(&needles);
    }
}

/// Adds nothing to a memory of one bit.
struct GoesOn;

impl Job for GoesOn {
    type Output = ();

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", "goes on".into())]
    }

    fn memories(&self) -> Vec<MemoryUse> {
        vec![one_bit(false)]
    }

    fn run<P: Party>(&self, _: &mut P) -> Result<(), Fault> {
        unreachable!("refused before it runs")
    }
}

fn one_bit(is_new: bool) -> MemoryUse {
    let (name, layout) = ("m".into(), "m bits 1".into());
    MemoryUse { name, layout, bits: 1, is_new, is_kept: true, lives: Vec::new() }
}

/// A side that holds a memory as another job left it, or as one more job did, is refused at the agreement, on both sides; so is its end.
#[test]
fn sides_that_hold_other_versions_of_a_memory_run_nothing() {
    let config: SessionConfig = "plain".parse().expect("a backend");
    type Step = fn(&mut Session) -> Result<(), Fault>;
    let steps: [Step; 2] = [
        |session| session.run(&GoesOn).map(|outcome| outcome.output),
        |session| session.end_memory("m").map(drop),
    ];
    let unlike = [([1, 2], [1, 3]), ([1, 1], [1, 0])];
    for (step, (own, other)) in steps.iter().flat_map(|step| unlike.map(|jobs| (step, jobs))) {
        let party = |channel, role, jobs: [u8; 2]| {
            let mut session = Session::open(channel, role, &config)?;
            for job in jobs.into_iter().filter(|job| *job > 0) {
                session.memories.left(vec![one_bit(false)], crate::RamStates::new(), [job; 32]);
            }
            step(&mut session)
        };
        let (garbler, evaluator) = mem_pair();
        let ends = std::thread::scope(|scope| {
            let other = scope.spawn(|| party(evaluator, Role::Evaluator, other));
            (party(garbler, Role::Garbler, own), other.join().expect("no panic"))
        });
        for end in [ends.0, ends.1] {
            let says = |why: &String| why.contains("memories");
            assert!(matches!(&end, Err(Fault::Policy(why)) if says(why)), "{end:?}");
        }
    }
}
