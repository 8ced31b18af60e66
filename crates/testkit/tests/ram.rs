//! Memories of a party: what they open, what an overflow ends, and what a cheater gets of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cenote_circuit::{Access, Layout, Needs, Plan, bits_of, gadgets, value_of};
use cenote_engine::backends::plain::PLAIN_INPUT;
use cenote_engine::backends::wrk::WrkSession;
use cenote_engine::backends::{Live, Protocol, jimu, wrk, yao};
use cenote_engine::{
    Backend, Fault, JimuParams, Job, Memory, ModuleJob, Party, PoolChoice, Receivers, Rho, Role,
    WrkParams,
};
use cenote_net::{Deviation, Direction, RecordedFrame, Tag};
use cenote_prim::{Block, Prg, SessionId};
use cenote_program::Module;
use cenote_testkit::adversary::{self, End, FrameRow};
use cenote_testkit::cheater::jimu::{
    AtRest as JimuAtRest, Cheat as JimuCheat, Plan as JimuPlan, Talk, expected, run_session, tiny,
};
use cenote_testkit::cheater::{AtRest, Change, Cheat, Cheater};
use cenote_testkit::run::{
    Outputs, pair_with_limit, patient_pair, prg_of, roomy, sessions, sessions_over, smallest,
};
use cenote_testkit::run_pair_over;
use cenote_testkit::stats::in_parallel;

/// Writes each place of a memory in turn, and reads it back later.
struct Rounds {
    role: Role,
    plan: Plan,
    steps: usize,
}

impl Job for Rounds {
    type Output = Vec<u128>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", "rounds".into())]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Vec<u128>, Fault> {
        let blocks = self.plan.needs.blocks;
        let mut memory = party.init_ram(self.plan.clone(), None, prg_of(self.role, 5))?;
        let mut seen = Vec::new();
        for step in 0..self.steps {
            let place: Vec<P::Wire> = constants(party, (step % blocks) as u128, 6)?;
            let word = constants(party, step as u128 % 251, 8)?;
            let old = party.update_ram(&mut memory, &place, |_, _| Ok(word));
            let old = match old {
                Ok(old) => old,
                Err(fault) => {
                    // Nothing comes after it.
                    let next = party.access_ram(&mut memory, &place, Access::Read).err();
                    assert!(matches!(next, Some(Fault::Misuse(_))), "{next:?}");
                    return Err(fault);
                }
            };
            let bits = party.reveal(Receivers::Both, &old)?.unwrap_or_default();
            let before = step.checked_sub(blocks).map_or(0, |step| step as u128 % 251);
            assert_eq!(value_of(&bits), before, "step {step}");
            seen.push(before);
        }
        Ok(seen)
    }
}

fn constants<P: Party>(party: &mut P, value: u128, width: usize) -> Result<Vec<P::Wire>, Fault> {
    bits_of(value, width).into_iter().map(|bit| party.constant(bit)).collect()
}

/// A stash that is too small overflows on both sides at the same access, and until then nothing wrong is read.
#[test]
fn an_overflow_is_a_fault_of_its_own_on_both_sides() {
    let mut plan =
        Plan::new(Needs::new(64, 8, 1000), Layout::Trees { trees: 1, factor: 1 }).unwrap();
    (plan.trees[0].bucket, plan.trees[0].stash) = (1, 2);
    let ends = sessions(&smallest(Backend::Plain), 4, |session, role| {
        session.run(&Rounds { role, plan: plan.clone(), steps: 1000 }).map(|outcome| outcome.output)
    });
    let what = |end: Result<Vec<u128>, Fault>| match end {
        Err(Fault::Overflowed(what)) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(what(ends.0), what(ends.1));
}

/// With the stash of the plan it does not; then its accesses are over.
#[test]
fn a_memory_lasts_for_the_accesses_of_its_plan() {
    for (steps, is_over) in [(300, false), (301, true)] {
        let plan =
            Plan::new(Needs::new(64, 8, 300), Layout::Trees { trees: 2, factor: 2 }).unwrap();
        let ends = sessions(&smallest(Backend::Plain), 4, |session, role| {
            session
                .run(&Rounds { role, plan: plan.clone(), steps })
                .map(|outcome| outcome.output.len())
        });
        match ends {
            (Ok(300), Ok(300)) => assert!(!is_over),
            (Err(Fault::Exhausted(_)), Err(Fault::Exhausted(_))) => assert!(is_over),
            other => panic!("{other:?}"),
        }
    }
}

/// Reads, writes and updates of a memory at places that neither side knows, some of them beyond the end, in an order that both know.
struct Random {
    role: Role,
    plan: Plan,
    steps: usize,
}

/// Rows of this memory, bits of a place and of a row.
const RANDOM: (usize, usize, usize) = (12, 4, 2);

/// Steps whose places and words are entered, and rows revealed, together.
const TOGETHER: usize = 100;

/// What a step does.
#[derive(Clone, Copy)]
enum Step {
    Read,
    /// Where a secret bit is set.
    Write,
    Add,
    /// At a place that both know.
    Row(usize),
}

impl Random {
    /// So many accesses to a memory of zeros. Its stashes are of few slots, which do not overflow with these leaves; where the backend packs, all
    /// buckets rest between two accesses.
    fn new(role: Role, layout: Layout, steps: usize) -> Random {
        let (rows, _, width) = RANDOM;
        let needs = Needs { epsilon: 8, most_awake: 0, ..Needs::new(rows, width, steps as u64) };
        Random { role, plan: Plan::new(needs, layout).expect("rows enough"), steps }
    }

    fn step(number: usize) -> Step {
        let random = Prg::new(Block::new(number as u128)).block().to_u128() as usize;
        match random % 4 {
            0 => Step::Read,
            1 => Step::Write,
            2 => Step::Add,
            _ => Step::Row(random / 4 % RANDOM.0),
        }
    }

    /// The share that `owner` enters of the places and words of all steps: of each a place, a word and whether it is written.
    fn share(&self, owner: Role) -> Vec<bool> {
        let bits = self.steps * (RANDOM.1 + RANDOM.2 + 1);
        let mut prg = prg_of(owner, 900);
        (0..bits).map(|_| prg.block().colour()).collect()
    }

    /// What an array gives.
    fn expected(&self) -> Vec<u128> {
        let shares = [Role::Garbler, Role::Evaluator].map(|owner| self.share(owner));
        let inputs: Vec<bool> = shares[0].iter().zip(&shares[1]).map(|(a, b)| a ^ b).collect();
        let (mut array, mut read) = (vec![0; RANDOM.0], Vec::new());
        for (number, input) in inputs.chunks(RANDOM.1 + RANDOM.2 + 1).enumerate() {
            let (place, word) = input.split_at(RANDOM.1);
            let (word, enable) = (value_of(&word[..RANDOM.2]), word[RANDOM.2]);
            let place = value_of(place) as usize;
            let before = array.get(place).copied().unwrap_or(0);
            let after = match Random::step(number) {
                Step::Row(row) => {
                    read.push(array[row]);
                    continue;
                }
                Step::Write => {
                    if enable {
                        word
                    } else {
                        before
                    }
                }
                Step::Read => before,
                Step::Add => (before + word) % (1 << RANDOM.2),
            };
            if !matches!(Random::step(number), Step::Write) {
                read.push(before);
            }
            array.get_mut(place).into_iter().for_each(|row| *row = after);
        }
        read
    }
}

impl Job for Random {
    type Output = Vec<u128>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", "random accesses".into())]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Vec<u128>, Fault> {
        let share = self.share(self.role);
        let each = RANDOM.1 + RANDOM.2 + 1;
        let mut memory = party.init_ram(self.plan.clone(), None, prg_of(self.role, 6))?;
        let mut seen = Vec::new();
        for (chunk, own) in share.chunks(TOGETHER * each).enumerate() {
            let mut enter =
                |owner: Role| party.input(owner, own.len(), (owner == self.role).then_some(own));
            let (garbler, evaluator) = (enter(Role::Garbler)?, enter(Role::Evaluator)?);
            let inputs = party.xor_many(&garbler, &evaluator)?;
            let mut read = Vec::new();
            for (number, input) in (chunk * TOGETHER..).zip(inputs.chunks(each)) {
                let (place, word) = input.split_at(RANDOM.1);
                let (word, enable) = (&word[..RANDOM.2], &word[RANDOM.2]);
                read.extend(match Random::step(number) {
                    Step::Read => party.access_ram(&mut memory, place, Access::Read)?,
                    Step::Write => {
                        party.access_ram(&mut memory, place, Access::Write { word, enable })?
                    }
                    Step::Add => {
                        let add = |party: &mut P, row: &[P::Wire]| gadgets::add(party, row, word);
                        party.update_ram(&mut memory, place, add)?
                    }
                    Step::Row(row) => party.ram_row(&mut memory, row)?,
                });
            }
            let bits = party.reveal(Receivers::Both, &read)?.unwrap_or_default();
            seen.extend(bits.chunks(RANDOM.2).map(value_of));
        }
        Ok(seen)
    }
}

/// Trees that hold each other's positions, and square-root ORAM of two levels.
const NESTED: Layout = Layout::Trees { trees: 2, factor: 1 };
const SHUFFLED: Layout = Layout::SquareRoot { levels: 2, factor: 1, period: 6 };

/// Gives the messages in which wires woke, at the garbler.
fn random_accesses(backend: Backend, layout: Layout, steps: usize) -> usize {
    let mut channels = patient_pair();
    let recording = (backend == Backend::Wrk).then(|| channels.0.record());
    let ends = sessions_over(channels, &roomy(backend), 4, |session, role| {
        let job = Random::new(role, layout, steps);
        session.run(&job).map(|outcome| outcome.output)
    });
    let expected = Random::new(Role::Garbler, layout, steps).expected();
    assert!(ends.0.as_ref() == Ok(&expected), "{backend:?}, {layout:?}: {:?}", ends.0);
    assert!(ends.1.as_ref() == Ok(&expected), "{backend:?}, {layout:?}: {:?}", ends.1);
    let frames = recording.map(|recording| recording.frames()).unwrap_or_default();
    let woke =
        |f: &&RecordedFrame| (f.tag, f.direction) == (wrk::tags::KEPT_BITS.id, Direction::Sent);
    frames.iter().filter(woke).count()
}

/// A memory of a session is an array, however it is kept.
#[test]
fn ten_thousand_random_accesses_are_those_of_an_array() {
    in_parallel(&[NESTED, SHUFFLED], |_, layout| {
        random_accesses(Backend::Plain, *layout, 10_000);
    });
}

/// The same where each bit is authenticated and all buckets rest between two accesses: each tree wakes some in nearly all of these.
#[test]
fn random_accesses_of_wrk_are_those_of_an_array_though_buckets_rest() {
    let rows = [(NESTED, 550..=600), (SHUFFLED, 0..=0)];
    in_parallel(&rows, |_, (layout, woken)| {
        let woke = random_accesses(Backend::Wrk, *layout, 300);
        assert!(woken.contains(&woke), "{layout:?}: {woke}");
    });
}

/// A program that writes a row of a memory and reads it.
fn written_and_read() -> Module {
    let text = "cenote 2\nprogram m \"\"\ninput at: a uint b14\ninput put: b uint b16\n{\n\
        %zero = const 8192xb16 all 0x0\n%on = const b1 0x1\n%new = store %zero, %0, %1, %on\n\
        %read = lookup %new, %0\n}\noutput read: both uint %read\n";
    Module::parse_text(text).expect("a program")
}

/// In a session that fails more rarely, so do the memories of its programs: their stashes are larger, which ANDs show.
#[test]
fn memories_fail_as_rarely_as_their_session() {
    let module = written_and_read();
    let mut more = module.clone();
    more.share_bound(80);
    let ands = |module: &Module| module.stats().expect("small").ands;
    assert!(ands(&more) > ands(&module));
    for (rho, ands) in [(Rho::Bits40, ands(&module)), (Rho::Bits80, ands(&more))] {
        let ends = sessions(&smallest(Backend::Yao), 4, |session, role| {
            let own = [bits_of(5000, 14), bits_of(321, 16)][role as usize].clone();
            let job = ModuleJob::new(&module, role, vec![own])?.at(rho);
            session.run(&job).map(|outcome| (outcome.output, outcome.cost.total().bytes_sent))
        });
        let (garbler, evaluator) = (ends.0.expect("honest"), ends.1.expect("honest"));
        assert_eq!((&garbler.0, &evaluator.0), (&vec![Some(bits_of(321, 16))], &garbler.0));
        // 32 bytes an AND, and little else beside so many.
        let sent = garbler.1 as f64 / (32 * ands) as f64;
        assert!((1.0..1.1).contains(&sent), "{rho:?}: {sent}");
    }
}

/// What a side tosses for the leaves of a program is another in every run: who has seen a leaf knows it.
#[test]
fn programs_toss_anew_in_every_run() {
    let module = written_and_read();
    let mut channels = patient_pair();
    let recording = channels.0.record();
    let ends = sessions_over(channels, &smallest(Backend::Plain), 4, |session, role| {
        let own = [bits_of(5000, 14), bits_of(321, 16)][role as usize].clone();
        let job = ModuleJob::new(&module, role, vec![own])?;
        let mut run = || session.run(&job).map(|outcome| outcome.output[0].clone());
        Ok([run()?, run()?])
    });
    let read = Some(bits_of(321, 16));
    assert_eq!(ends.0, Ok([read.clone(), read.clone()]));
    assert_eq!(ends.1, ends.0);
    for sent in [Direction::Sent, Direction::Received] {
        let is_tossed = |frame: &RecordedFrame| {
            (frame.tag, frame.direction) == (PLAIN_INPUT.id, sent) && frame.payload.len() >= 128
        };
        let tossed = recording.frames().into_iter().filter(is_tossed);
        let tossed: Vec<Vec<u8>> = tossed.map(|frame| frame.payload).collect();
        assert_eq!(tossed.len(), 2, "one toss is enough for a run");
        let differ = tossed[0].iter().zip(&tossed[1]).map(|(a, b)| (a ^ b).count_ones());
        // Of 1,024 random bits, 350 or fewer differ with a probability below 2^-70.
        assert!(differ.sum::<u32>() > 350, "{sent:?}");
    }
}

/// Accesses to a memory, as `role` runs them; the one who cheats in them runs [`Talk::peer`].
fn accesses(role: Role, seed: u128) -> Talk {
    Talk::random(role, seed).remembering()
}

/// The same to a memory that is shuffled.
fn shuffled(role: Role, seed: u128) -> Talk {
    Talk::random(role, seed).shuffling()
}

/// The same to a memory whose buckets rest between two accesses.
fn resting(role: Role, seed: u128) -> Talk {
    Talk::random(role, seed).resting()
}

/// What `role` has to read, however the memory is kept.
fn right(role: Role, seed: u128) -> Outputs {
    expected(&[accesses(role, seed)], role).remove(0)
}

/// What a cheater of `wrk` does.
#[derive(Clone, Copy, Debug)]
enum Lie {
    /// A cheat of the table, at this of its occasions.
    Cheat(Cheat, usize),
    /// A change of the wires that it has after some of the openings: of all, or of one that is taken up again.
    Wires(u64, Option<u64>, Change),
    /// What it does to wires that rested in this job, at this of the calls that wake some.
    Rest(u64, AtRest),
}

/// Whether the cheater `by` came to do so, and how the session ended for the other side.
fn against_wrk(
    talk: fn(Role, u128) -> Talk,
    by: Role,
    lie: Lie,
    seed: u128,
) -> (bool, Result<Outputs, Fault>) {
    let params = WrkParams::derive(PoolChoice::OneShot(1500), Rho::Bits40).expect("sound");
    let id = SessionId([seed as u8; 32]);
    let (garbler, evaluator) = run_pair_over(patient_pair(), |channel, role| {
        let prg = prg_of(role, seed);
        let talk = talk(role, seed);
        if role == by {
            let cheat =
                if let Lie::Cheat(cheat, at) = lie { (cheat, at) } else { (Cheat::None, 0) };
            let mut cheater = Cheater::set_up(channel, role, id, params, cheat, prg)?;
            match lie {
                Lie::Wires(after, only, change) => cheater.change_after(after, only, change),
                Lie::Rest(at, change) => cheater.change_at_wake(at, change),
                Lie::Cheat(..) => {}
            }
            let end = talk.run(&mut cheater).and_then(|read| cheater.check().map(|_| read));
            return Ok((cheater.has_cheated(), end));
        }
        let mut session = WrkSession::open(channel.into(), id, role, params, || prg, None)?;
        let end = session.run(&talk);
        let end = end.and_then(|read| session.channel().flush().map(|()| read));
        Ok((false, end))
    });
    let (cheater, honest) =
        if by == Role::Garbler { (garbler, evaluator) } else { (evaluator, garbler) };
    let honest = honest.unwrap_or_else(|fault: Fault| (false, Err(fault)));
    // A fault of the cheater's own before it cheats would make the test empty.
    let happened = cheater.is_ok_and(|(happened, _)| happened);
    (happened, honest.1)
}

/// What a side has of its wires, changed, and the check that finds it.
const CHANGES: [(Role, Change, &str); 5] = [
    (Role::Evaluator, Change::Masked, "wrk.labels"),
    (Role::Evaluator, Change::Share, "opening.mac"),
    (Role::Garbler, Change::Masked, "wrk.masked"),
    (Role::Garbler, Change::Label, "wrk.masked"),
    (Role::Garbler, Change::Share, "opening.mac"),
];

/// A peer that opens another leaf or another flag, other bits of what is tossed, another label of these, or that changes what it has of
/// rows, positions and leaves between two accesses, all of them or a single wire: nothing wrong is read.
#[test]
fn a_cheater_of_wrk_gets_no_wrong_row() {
    const MAC: End = End::Caught("opening.mac");
    const MASKED: End = End::Caught("wrk.masked");
    let (a, b) = (Role::Garbler, Role::Evaluator);
    let mut rows: Vec<(Role, Lie, End)> = Vec::new();
    for by in [a, b] {
        // A leaf for each access, then what was read.
        let opened = Talk::ACCESSES as usize + 1;
        rows.extend((0..opened).map(|at| (by, Lie::Cheat(Cheat::FalseOutputMask, at), MAC)));
        // Of the peer's part of the leaves, and its own input.
        rows.extend((0..2).map(|at| (by, Lie::Cheat(Cheat::FalseInputMask, at), MAC)));
        rows.extend((0..4).map(|at| (by, Lie::Cheat(Cheat::FalseBeaverBit, at), MAC)));
    }
    for at in 0..2 {
        rows.push((a, Lie::Cheat(Cheat::InputLabel, at), End::CaughtOrRight("wrk.masked")));
    }
    for at in 0..4 {
        rows.push((a, Lie::Cheat(Cheat::ColourBit, at), MASKED));
        rows.push((b, Lie::Cheat(Cheat::FalseMasked, at), End::Caught("wrk.labels")));
    }
    for (by, change, check) in CHANGES {
        for after in 1..=Talk::ACCESSES {
            rows.push((by, Lie::Wires(after, None, change), End::Caught(check)));
        }
    }
    ends_of_wrk(accesses, &rows);
}

/// The same with square-root ORAM: places, and what shuffles open; bits of permutations; its part of rows, their numbers and positions.
#[test]
fn a_cheater_of_wrk_gets_no_wrong_row_of_a_shuffled_memory() {
    const MAC: End = End::Caught("opening.mac");
    let mut rows: Vec<(Role, Lie, End)> = Vec::new();
    for by in [Role::Garbler, Role::Evaluator] {
        // A place for each access, shuffles, then what was read.
        let opened = Talk::OPENED_WITH_SHUFFLES as usize + 1;
        rows.extend((0..opened).map(|at| (by, Lie::Cheat(Cheat::FalseOutputMask, at), MAC)));
        rows.extend((0..4).map(|at| (by, Lie::Cheat(Cheat::FalseInputMask, at), MAC)));
        rows.extend((0..4).map(|at| (by, Lie::Cheat(Cheat::FalseBeaverBit, at), MAC)));
    }
    for at in 0..2 {
        let end = End::CaughtOrRight("wrk.masked");
        rows.push((Role::Garbler, Lie::Cheat(Cheat::InputLabel, at), end));
    }
    for (by, change, check) in CHANGES {
        for after in 1..=Talk::OPENED_WITH_SHUFFLES {
            rows.push((by, Lie::Wires(after, None, change), End::Caught(check)));
        }
    }
    ends_of_wrk(shuffled, &rows);
}

/// The same with buckets that rest: what a peer has of those that wake, changed, in each other's place, or as it was when one rested before.
#[test]
fn a_cheater_of_wrk_gets_no_wrong_row_of_buckets_that_rested() {
    let mut rows: Vec<(Role, Lie, End)> = Vec::new();
    for at in 0..Talk::WAKES {
        for by in [Role::Garbler, Role::Evaluator] {
            rows.push((by, Lie::Rest(at, AtRest::Swapped), End::Caught("wrk.kept")));
            // Before the first call none of them rested.
            if at > 0 {
                rows.push((by, Lie::Rest(at, AtRest::Older), End::Caught("wrk.kept")));
            }
        }
        rows.extend(CHANGES.map(|(by, change, check)| {
            (by, Lie::Rest(at, AtRest::Changed(change)), End::Caught(check))
        }));
    }
    ends_of_wrk(resting, &rows);
}

/// Plays these cheats, and compares how they end.
fn ends_of_wrk(talk: fn(Role, u128) -> Talk, rows: &[(Role, Lie, End)]) {
    in_parallel(rows, |i, &(by, lie, end)| {
        let seed = 20 + i as u128;
        let (happened, ended) = against_wrk(talk, by, lie, seed);
        let what = format!("{lie:?} of the {by}: {ended:?}");
        assert!(happened, "{what}: no cheat");
        match (end, &ended) {
            (End::Caught(check) | End::CaughtOrRight(check), Err(fault)) => {
                assert!(is_of(fault, check), "{what}");
            }
            (End::CaughtOrRight(_), Ok(read)) => {
                assert_eq!(*read, right(by.peer(), seed), "{what}")
            }
            _ => panic!("{what}: expected {end:?}"),
        }
    });
}

/// Whether a cheat met its check: a share that was changed meets another one if its wire rests before it is opened.
fn is_of(fault: &Fault, check: &'static str) -> bool {
    let rests = check == "opening.mac" && *fault == Fault::Misbehaved("wrk.kept");
    rests || *fault == Fault::Misbehaved(check)
}

/// One wire of a row, a position or a leaf, or a tossed bit; the gate that takes it up may be one that nothing hangs on.
#[test]
fn a_cheater_of_wrk_that_changes_a_single_wire_gets_no_wrong_row() {
    let mut prg = Prg::new(Block::new(7));
    let single: Vec<_> = CHANGES
        .into_iter()
        .flat_map(|change| [change; 8])
        .map(|change| (change, prg.block().to_u128() as u64 % 100))
        .collect();
    let caught = AtomicUsize::new(0);
    in_parallel(&single, |i, &((by, change, check), only)| {
        let seed = 200 + i as u128;
        let lie = Lie::Wires(1 + only % (Talk::ACCESSES - 1), Some(only), change);
        let (happened, ended) = against_wrk(accesses, by, lie, seed);
        assert!(happened, "{lie:?}");
        match ended {
            Ok(read) => assert_eq!(read, right(by.peer(), seed), "{lie:?} of the {by}"),
            Err(fault) => {
                assert!(is_of(&fault, check), "{lie:?} of the {by}: {fault:?}");
                caught.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let caught = caught.into_inner();
    assert!(2 * caught > single.len(), "{caught} of {}", single.len());
}

/// Writes four rows, each `first` and its place.
fn write_rows<P: Party>(
    party: &mut P,
    memory: &mut Memory<P::Wire>,
    first: u128,
) -> Result<(), Fault> {
    for place in 0..4u128 {
        let (index, word) = (constants(party, place, 6)?, constants(party, first + place, 8)?);
        party.update_ram(memory, &index, |_, _| Ok(word))?;
    }
    Ok(())
}

/// Writes some rows of a memory in each of so many jobs, which keep it under one name; then, as another job would, finds it and reads two of them.
fn jobs<P: Party>(
    party: &mut P,
    plan: &Plan,
    versions: u128,
    between: impl FnOnce(&mut P),
) -> Result<Vec<u128>, Fault> {
    let prg = |job: u128| prg_of(party.role(), 30 + job);
    let (first, later): (_, Vec<_>) = (prg(1), (2..=versions + 1).map(prg).collect());
    let mut memory = party.init_ram(plan.clone(), None, first)?;
    let mut between = Some(between);
    for (version, prg) in (1..).zip(later) {
        write_rows(party, &mut memory, 10 * version)?;
        let state = party.keep_ram("words", memory)?;
        if version == versions {
            between.take().into_iter().for_each(|between| between(party));
        }
        memory = party.kept_ram("words", plan.clone(), state, prg)?;
    }
    let mut read = Vec::new();
    for place in [2u128, 1] {
        let index = constants(party, place, 6)?;
        let row = party.access_ram(&mut memory, &index, Access::Read)?;
        let bits = party.reveal(Receivers::Both, &row)?.unwrap_or_default();
        read.push(value_of(&bits));
    }
    Ok(read)
}

/// However a memory is kept, what a peer changes in its part of it between two jobs, or takes for another part of it, is noticed when it comes back.
#[test]
fn a_cheater_of_wrk_that_changes_a_memory_between_jobs_gets_no_wrong_row() {
    let [masked, label, share] =
        [Change::Masked, Change::Label, Change::Share].map(AtRest::Changed);
    let cheats: [(Role, Option<(AtRest, &str)>); 9] = [
        (Role::Garbler, None),
        (Role::Evaluator, None),
        (Role::Evaluator, Some((masked, "wrk.labels"))),
        (Role::Evaluator, Some((share, "wrk.kept"))),
        (Role::Evaluator, Some((AtRest::Swapped, "wrk.kept"))),
        (Role::Garbler, Some((masked, "wrk.masked"))),
        (Role::Garbler, Some((label, "wrk.masked"))),
        (Role::Garbler, Some((share, "wrk.kept"))),
        (Role::Garbler, Some((AtRest::Swapped, "wrk.kept"))),
    ];
    let layouts = [
        Layout::Scan,
        Layout::Trees { trees: 1, factor: 1 },
        Layout::Trees { trees: 2, factor: 3 },
        Layout::SquareRoot { levels: 2, factor: 2, period: 5 },
    ];
    let rows: Vec<_> =
        layouts.iter().flat_map(|layout| cheats.map(|cheat| (*layout, cheat))).collect();
    in_parallel(&rows, |i, &(layout, (by, cheat))| {
        // Buckets rest within the jobs as well.
        let needs = Needs { most_awake: 0, ..Needs::new(64, 8, 100) };
        let plan = Plan::new(needs, layout).unwrap();
        let honest = honest_jobs(&plan, 1, by, cheat.map(|(change, _)| change), 400 + i as u128);
        let what = format!("{layout:?}, {cheat:?} of the {by}");
        match cheat {
            None => assert_eq!(honest, Ok(vec![12, 11]), "{what}"),
            // Rows at public places are read without a gate: what is wrong of them alone may never be looked at.
            Some(_) if layout == Layout::Scan && honest.is_ok() => {
                assert_eq!(honest, Ok(vec![12, 11]), "{what}");
            }
            Some((_, check)) => assert_eq!(honest, Err(Fault::Misbehaved(check)), "{what}"),
        }
    });
}

/// What [`jobs`] read for a side of `wrk` whose peer does this between the last two of them.
fn honest_jobs(
    plan: &Plan,
    versions: u128,
    by: Role,
    cheat: Option<AtRest>,
    seed: u128,
) -> Result<Vec<u128>, Fault> {
    let params = WrkParams::derive(PoolChoice::OneShot(1500), Rho::Bits40).expect("sound");
    let id = SessionId([seed as u8; 32]);
    let (garbler, evaluator) = run_pair_over(patient_pair(), |channel, role| {
        let prg = prg_of(role, seed);
        if role == by {
            let none = (Cheat::None, 0);
            let mut cheater = Cheater::set_up(channel, role, id, params, none, prg)?;
            let between = |cheater: &mut Cheater| {
                cheat.iter().for_each(|change| cheater.change("words", *change));
            };
            return jobs(&mut cheater, plan, versions, between);
        }
        let mut session = WrkSession::open(channel.into(), id, role, params, || prg, None)?;
        jobs(&mut session.party(), plan, versions, |_| ())
    });
    if by == Role::Garbler { evaluator } else { garbler }
}

/// A peer that takes what it had of a memory two jobs ago for what it has now. The state that it goes with is that of now on both sides.
#[test]
fn a_cheater_of_wrk_that_brings_an_old_memory_back_gets_no_wrong_row() {
    let layouts = [
        Layout::Scan,
        Layout::Trees { trees: 1, factor: 1 },
        Layout::Trees { trees: 2, factor: 1 },
        Layout::SquareRoot { levels: 2, factor: 1, period: 2 },
    ];
    let cheats = [None, Some(AtRest::Older)];
    let roles = [Role::Garbler, Role::Evaluator];
    let rows: Vec<_> = layouts
        .iter()
        .flat_map(|layout| cheats.map(|cheat| roles.map(|by| (*layout, cheat, by))).concat())
        .collect();
    in_parallel(&rows, |i, &(layout, cheat, by)| {
        // Few leaves, to each of which an eviction comes in the first job, and whole periods: both versions have the same cells.
        let plan = Plan::new(Needs::new(8, 8, 100), layout).unwrap();
        let honest = honest_jobs(&plan, 2, by, cheat, 500 + i as u128);
        let end = cheat.map_or(Ok(vec![22, 21]), |_| Err(Fault::Misbehaved("wrk.kept")));
        assert_eq!(honest, end, "{layout:?}, {cheat:?} of the {by}");
    });
}

/// The session in which accesses to a memory are a moment.
fn few_batches() -> JimuParams {
    let mut params = tiny();
    params.ands.batch = 1024;
    params
}

/// The same of `jimu`: permutation messages and reports of a leaf, labels of tossed bits, solders and wires between accesses.
#[test]
fn a_cheater_of_jimu_gets_no_wrong_row() {
    let reveals = 0..=Talk::ACCESSES;
    let mut rows: Vec<(Role, JimuCheat, u64, &str)> = Vec::new();
    for after in reveals {
        rows.push((Role::Garbler, JimuCheat::OutputPerm, after, "jimu.output.perm"));
        rows.push((Role::Garbler, JimuCheat::OuterLabel, after, "jimu.outer"));
        rows.push((Role::Garbler, JimuCheat::OuterNot, after, "jimu.outer"));
        rows.push((Role::Evaluator, JimuCheat::Forged, after, "jimu.output.result"));
        rows.push((Role::Evaluator, JimuCheat::ForgedHash, after, "jimu.output.result"));
        if after < Talk::ACCESSES {
            rows.push((Role::Evaluator, JimuCheat::Turned, after, "jimu.output.result"));
        }
    }
    // Its tossed bits are what the garbler enters first, its words what it enters after a leaf.
    rows.extend(
        [0, 1].map(|after| (Role::Garbler, JimuCheat::InputLabel, after, "jimu.input.label")),
    );
    let ends = [(Role::Garbler, 3), (Role::Evaluator, 4)];
    for (role, seed) in ends {
        let talks = [accesses(role, seed)];
        let honest =
            run_session(&few_batches(), &JimuPlan::of(JimuCheat::None), &talks, role, seed);
        assert_eq!(honest.honest, (expected(&talks, role), None));
        assert_eq!(honest.cheater, (expected(&talks, role.peer()), None));
    }
    in_parallel(&rows, |i, &(by, cheat, after, check)| {
        let (seed, role) = (20 + i as u128, by.peer());
        let plan = JimuPlan { after, ..JimuPlan::of(cheat) };
        let outcome = run_session(&few_batches(), &plan, &[accesses(role, seed)], role, seed);
        let what = format!("{cheat:?} after {after} reveals");
        assert_eq!(outcome.honest, (vec![], Some(Fault::Misbehaved(check))), "{what}");
        // One whose wires are turned reads other leaves than its peer, and may find its own copy broken before it is told.
        // The evaluator has its output before it reports the garbler's.
        let is_last = by == Role::Evaluator && after == Talk::ACCESSES;
        let is_told = outcome.cheater.1 == Some(Fault::PeerAborted);
        assert!(is_told || is_last || cheat == JimuCheat::Turned, "{what}: {:?}", outcome.cheater);
    });
}

/// Opened places, and what shuffles open, of a memory that is shuffled.
#[test]
fn a_cheater_of_jimu_gets_no_wrong_row_of_a_shuffled_memory() {
    let mut rows: Vec<(Role, JimuCheat, u64, &str)> = Vec::new();
    for after in 0..=Talk::OPENED_WITH_SHUFFLES {
        rows.push((Role::Garbler, JimuCheat::OutputPerm, after, "jimu.output.perm"));
        rows.push((Role::Evaluator, JimuCheat::Forged, after, "jimu.output.result"));
        rows.push((Role::Evaluator, JimuCheat::ForgedHash, after, "jimu.output.result"));
    }
    in_parallel(&rows, |i, &(by, cheat, after, check)| {
        let (seed, role) = (20 + i as u128, by.peer());
        let plan = JimuPlan { after, ..JimuPlan::of(cheat) };
        let outcome = run_session(&few_batches(), &plan, &[shuffled(role, seed)], role, seed);
        let what = format!("{cheat:?} after {after} reveals");
        assert_eq!(outcome.honest, (vec![], Some(Fault::Misbehaved(check))), "{what}");
    });
}

/// What a peer changes in its part of a memory that is kept, or takes for another part or an older one, is found by the first gate that takes a wire of it
/// up, or the first report that hangs on one. Another label alone is nothing to an evaluator that sees a wire opened before any gate: openings go
/// by permutation messages, of which it has the tags. One that is wrong from when it is kept, in the sum with a wire in escrow, is found then.
#[test]
fn a_cheater_of_jimu_that_changes_a_kept_memory_gets_no_wrong_row() {
    use JimuAtRest::{Label, Masked, Negated, Older, Perm, Swapped};
    let evaluator = [Label, Masked, Swapped, Older].map(JimuCheat::Kept);
    let evaluator = evaluator.map(|cheat| (Role::Evaluator, cheat, Some("jimu.output.result")));
    let bond = (Role::Garbler, JimuCheat::Bond, Some("jimu.output.bond"));
    let honest = [Role::Garbler, Role::Evaluator].map(|by| (by, JimuCheat::None, None));
    // The first that comes of a memory that goes on: a gate of a scan, or the opening of a shuffle.
    type Talks = fn(Role, u128) -> Talk;
    let talks: [(Talks, _); 2] = [(accesses, "jimu.outer"), (shuffled, "jimu.output.perm")];
    let mut rows = Vec::new();
    for (talk, opened) in talks {
        let garbler = [(Label, "jimu.outer"), (Perm, opened), (Negated, opened)];
        let garbler = [&garbler[..], &[(Swapped, "jimu.outer"), (Older, "jimu.outer")]].concat();
        let garbler: Vec<_> = garbler
            .into_iter()
            .map(|(how, check)| (Role::Garbler, JimuCheat::Kept(how), Some(check)))
            .collect();
        let cheats = [&garbler[..], &evaluator, &[bond], &honest].concat();
        rows.extend(cheats.into_iter().map(|row| (talk, row)));
    }
    in_parallel(&rows, |i, &(talk, (by, cheat, check))| {
        let (seed, role) = (20 + i as u128, by.peer());
        let talks = [talk(role, seed).keeping()];
        let outcome = run_session(&few_batches(), &JimuPlan::of(cheat), &talks, role, seed);
        let end = match check {
            None => (expected(&talks, role), None),
            Some(check) => (vec![], Some(Fault::Misbehaved(check))),
        };
        assert_eq!(outcome.honest, end, "row {i}: {cheat:?} of the {by}");
    });
}

/// The messages of an access, of each backend.
fn tags_of(backend: Backend) -> &'static [Tag] {
    match backend {
        Backend::Wrk => &[
            wrk::tags::INPUT_MASK,
            wrk::tags::INPUT_BITS,
            wrk::tags::INPUT_LABELS,
            wrk::tags::BEAVER_OPEN,
            wrk::tags::TABLES,
            wrk::tags::REPORT,
            wrk::tags::MAC_HASH,
            wrk::tags::OUTPUT_MASK,
        ],
        Backend::Jimu => &[
            jimu::tags::JIMU_LABELS,
            jimu::tags::JIMU_CHOICES,
            jimu::tags::JIMU_OUTER,
            jimu::tags::JIMU_PERMS,
            jimu::tags::JIMU_RESULT,
        ],
        Backend::Yao => &[
            yao::tags::YAO_LABELS,
            yao::tags::YAO_TABLES,
            yao::tags::YAO_DECODE,
            yao::tags::YAO_OUTPUT,
        ],
        Backend::Plain => &[],
    }
}

/// Those of which a part is for each bit of an input.
const INPUTS: [Tag; 5] = [
    wrk::tags::INPUT_BITS,
    wrk::tags::INPUT_LABELS,
    jimu::tags::JIMU_LABELS,
    jimu::tags::JIMU_CHOICES,
    yao::tags::YAO_LABELS,
];

/// The messages of a row in an honest session, recorded at the garbler.
fn messages<'f>(row: &FrameRow, frames: &'f [RecordedFrame]) -> Vec<&'f RecordedFrame> {
    let sent = if row.from == Role::Garbler { Direction::Sent } else { Direction::Received };
    let is_one = |frame: &&RecordedFrame| (frame.tag, frame.direction) == (row.tag.id, sent);
    frames.iter().filter(is_one).collect()
}

/// One bit of the first, a middle and the last message of each kind on its way: what the table says of it in other requests, and never
/// a wrong row where cheating is covered; nowhere a panic, as leaves that differ between the sides might cause.
#[test]
fn a_flipped_bit_of_an_access_gives_no_wrong_row() {
    let talks: [fn(Role, u128) -> Talk; 2] = [accesses, shuffled];
    let backends = [Backend::Wrk, Backend::Jimu, Backend::Yao];
    for (backend, talk) in
        backends.into_iter().flat_map(|backend| talks.map(|talk| (backend, talk)))
    {
        let config = smallest(backend);
        let run = |deviates: Option<(&FrameRow, usize, usize)>, seed: u128| {
            let mut channels = pair_with_limit(Duration::from_secs(20));
            let recording = channels.0.record();
            let witness = deviates.map(|(row, index, bit)| {
                let from =
                    if row.from == Role::Garbler { &mut channels.0 } else { &mut channels.1 };
                from.deviate(row.tag, index, Deviation::Flip(bit))
            });
            let ends = sessions_over(channels, &config, seed, |session, role| {
                session.run(&talk(role, seed)).map(|outcome| outcome.output)
            });
            (ends, witness.is_some_and(|witness| witness.happened()), recording.frames())
        };
        let (ends, _, frames) = run(None, 1);
        assert_eq!(ends, (Ok(right(Role::Garbler, 1)), Ok(right(Role::Evaluator, 1))));
        let mut cases = Vec::new();
        for row in adversary::frames() {
            let is_usual = row.variant.is_none() && !row.beside && row.index == 0;
            if row.backend != backend || !is_usual || !tags_of(backend).contains(&row.tag) {
                continue;
            }
            let all = messages(row, &frames).len();
            assert!(all > 0, "{} is not sent", row.tag.name);
            let mut places = vec![0, all / 2, all - 1];
            places.dedup();
            cases.extend(places.into_iter().map(|place| (row, place)));
        }
        in_parallel(&cases, |i, &(row, index)| {
            let seed = 40 + i as u128;
            let mut bit = Prg::new(Block::new(seed)).block().to_u128() as usize;
            if INPUTS.contains(&row.tag) {
                // Bits are tossed ahead, and the last ones used first: four of 1,024.
                let all = 8 * messages(row, &frames)[index].payload.len();
                bit = all - 1 - bit % (all / 256).max(1);
            }
            let ((garbler, evaluator), happened, _) = run(Some((row, index, bit)), seed);
            let end = if row.from == Role::Garbler { evaluator } else { garbler };
            let what = format!("{} {} number {index}: {end:?}", backend.name(), row.tag.name);
            assert!(happened, "{what}: no cheat");
            assert!(!matches!(end, Err(Fault::Internal(_) | Fault::Misuse(_))), "{what}");
            let is_right = end.as_ref().is_ok_and(|read| *read == right(row.from.peer(), seed));
            let fits = match row.flip {
                End::Caught(check) => end == Err(Fault::Misbehaved(check)),
                End::Noticed => end.is_err(),
                End::NoticedOrRight => end.is_err() || is_right,
                End::Unprotected => true,
                other => panic!("{other:?} is not an end of these rows"),
            };
            assert!(fits, "{what}: expected {:?}", row.flip);
        });
    }
}
