//! The conformance suite: what every backend must do, instantiated by [`conformance!`](crate::conformance!).
//!
//! Each function panics when the backend fails it.

mod lasting;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cenote_circuit::{Access, Clear, Kind as AccessKind, Layout, Needs, Plan, bits_of, value_of};
use cenote_engine::{
    Backend, Fault, Job, Metered, ModuleJob, Party, PoolChoice, Receivers, Role, Session,
    SessionConfig,
};
use cenote_net::{Channel, Channels, Fate, Shape, Tag, mem_pair};
use cenote_program::Module;

use crate::adversary;
use crate::programs::{Kind, TestProgram};
use crate::run::{
    Outputs, batches_of, expected, extendable_pair, pair_with_limit, patient_pair, prg_of,
    program_job, roomy, run_program, sessions, sessions_over, smallest, with_option, with_pool,
};
use crate::run_pair;

pub use lasting::{
    a_fault_ends_random_access_memories, a_memory_that_ends_makes_room, faults_of_kept_wires,
    forms_that_outlive_jobs, memories_that_outlive_jobs, random_access_memories_that_outlive_jobs,
    wires_that_outlive_requests,
};

/// Instantiates the suite for one backend: one test for each function of the list.
#[macro_export]
macro_rules! conformance {
    ($backend:expr) => {
        $crate::conformance!($backend;
            quick_programs_for_all_receivers,
            aes_and_many_requests_of_one_session,
            chunk_boundaries,
            tapes,
            gate_limits_without_ands,
            long_streams_with_chunks_in_flight,
            reactive_programs,
            memories,
            structured_programs,
            inputs_in_rows,
            no_reveal_at_all,
            wires_that_outlive_requests,
            memories_that_outlive_jobs,
            forms_that_outlive_jobs,
            random_access_memories_that_outlive_jobs,
            a_fault_ends_random_access_memories,
            a_memory_that_ends_makes_room,
            faults_of_kept_wires,
            cancelled_in_each_phase,
            cancelled_while_blocked,
            vanished_peer,
            differing_jobs_are_refused_on_both_sides,
            differing_sessions_are_refused_on_both_sides,
            misuse_is_refused,
            two_sessions_at_once,
            slow_line,
            data_channels,
            nothing_is_held_back
        );
    };
    ($backend:expr; $($name:ident),*) => {
        $(
            #[test]
            fn $name() {
                $crate::conformance::$name($backend);
            }
        )*
    };
}

/// Runs programs one after the other on one session and compares with clear evaluation.
fn check_programs(config: &SessionConfig, seed: u128, programs: &[(TestProgram, Receivers)]) {
    let inputs = |i: usize| programs[i].0.inputs(seed + i as u128);
    let (garbler, evaluator) = sessions(config, seed, |session, _| {
        let run = |(i, (program, to)): (usize, &(TestProgram, Receivers))| {
            run_program(session, program, &inputs(i), *to)
        };
        programs.iter().enumerate().map(run).collect::<Result<Vec<Outputs>, Fault>>()
    });
    let (garbler, evaluator) = match (garbler, evaluator) {
        (Ok(garbler), Ok(evaluator)) => (garbler, evaluator),
        (garbler, evaluator) => panic!("{:?}, {:?}", garbler.err(), evaluator.err()),
    };
    for (role, result) in [(Role::Garbler, garbler), (Role::Evaluator, evaluator)] {
        for (i, ((program, to), output)) in programs.iter().zip(result).enumerate() {
            let clear = Clear::eval(program, &inputs(i));
            assert_eq!(output, expected(&clear, *to, role), "{program:?} to {to:?} at {role}");
        }
    }
}

/// Adders, comparisons, sorts, no gates, linear gates, one AND, constants and repeated wires as
/// outputs, empty inputs, one-sided inputs: each for every receiver, all on one session.
pub fn quick_programs_for_all_receivers(backend: Backend) {
    let programs: Vec<(TestProgram, Receivers)> = TestProgram::QUICK
        .into_iter()
        .flat_map(|program| Receivers::ALL.map(|to| (program, to)))
        .collect();
    check_programs(&roomy(backend), 1, &programs);
}

/// AES-128 and more requests from one pool that is refilled on the way.
pub fn aes_and_many_requests_of_one_session(backend: Backend) {
    let aes = (TestProgram(Kind::Aes), Receivers::Both);
    let add = (TestProgram(Kind::Add), Receivers::Evaluator);
    let config = with_pool(backend, PoolChoice::Kept(1100));
    check_programs(&config, 2, &[add, aes, add, aes, add]);
}

/// Numbers of ANDs around those of a chunk, of two and of three.
pub fn chunk_boundaries(backend: Backend) {
    const CHUNK: usize = 4 << 10;
    let counts = [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 1];
    let programs = counts.map(|n| (TestProgram(Kind::Ands(n)), Receivers::Both));
    check_programs(&with_pool(backend, batches_of(backend, 10_000)), 3, &programs);
}

/// Tapes on few lanes, on many, and on so many that chunks end within a row of lanes.
pub fn tapes(backend: Backend) {
    let programs = [1, 3, 40, 300, 1100].map(|n| (TestProgram(Kind::Tapes(n)), Receivers::Both));
    check_programs(&with_pool(backend, batches_of(backend, 10_000)), 21, &programs);
}

/// Numbers of linear gates around those of a chunk, and chunks without ANDs between others.
pub fn gate_limits_without_ands(backend: Backend) {
    const GATES: usize = 128 << 10;
    let xors = [GATES - 2, GATES - 1, GATES, GATES + 1].map(Kind::Xors);
    let gaps = [GATES, 3 * GATES].map(Kind::Gap);
    let programs: Vec<(TestProgram, Receivers)> =
        xors.into_iter().chain(gaps).map(|kind| (TestProgram(kind), Receivers::Both)).collect();
    check_programs(&smallest(backend), 4, &programs);
}

/// More than a million gates; batches smaller than a chunk, so that refills come while chunks are
/// in flight. Bounded memory has a test of its own.
pub fn long_streams_with_chunks_in_flight(backend: Backend) {
    let stream = (TestProgram(Kind::Stream(1_200_000)), Receivers::Both);
    check_programs(&with_pool(backend, batches_of(backend, 30_000)), 5, &[stream]);
}

/// Searches a number of the garbler's by comparisons whose results both learn.
struct Search {
    role: Role,
    secret: u128,
}

impl Job for Search {
    type Output = u128;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", "binary search".into())]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<u128, Fault> {
        let bits = cenote_circuit::bits_of(self.secret, 8);
        let own = (self.role == Role::Garbler).then_some(bits.as_slice());
        let secret = party.input(Role::Garbler, 8, own)?;
        let mut found = 0;
        for bit in (0..8).rev() {
            let guess = cenote_circuit::bits_of(found | 1 << bit, 8);
            let guess = cenote_circuit::gadgets::constant_bits(party, &guess)?;
            let below = cenote_circuit::gadgets::lt(party, &secret, &guess)?;
            let revealed = party.reveal(Receivers::Both, &[below])?;
            let below = revealed.ok_or_else(|| Fault::Internal("both receive".into()))?[0];
            found |= u128::from(!below) << bit;
        }
        // A late input and a last reveal to one side use wires from before the reveals.
        let late = party.input(
            Role::Evaluator,
            1,
            Some(&[true]).filter(|_| self.role == Role::Evaluator).map(<[bool; 1]>::as_slice),
        )?;
        let last = party.and(&late[0], &secret[0])?;
        let last = party.reveal(Receivers::Evaluator, &[last])?;
        if let Some(bits) = last {
            assert_eq!(bits[0], found & 1 == 1);
        }
        Ok(found)
    }
}

/// A revealed bit steers what comes next.
pub fn reactive_programs(backend: Backend) {
    for secret in [0, 1, 77, 255] {
        let (garbler, evaluator) = sessions(&roomy(backend), 6, |session, role| {
            let secret = if role == Role::Garbler { secret } else { 0 };
            session.run(&Search { role, secret }).map(|outcome| outcome.output)
        });
        assert_eq!((garbler, evaluator), (Ok(secret), Ok(secret)));
    }
}

/// Accesses to a memory of the garbler's rows, or of zeros, at places of the evaluator's.
struct Accesses {
    role: Role,
    plan: Plan,
}

/// Rows of four bits.
const ROWS: [u128; 6] = [3, 14, 1, 5, 9, 2];
/// Beyond the end as well, and again and again.
const PLACES: [u128; 12] = [4, 1, 6, 4, 4, 0, 5, 7, 1, 1, 2, 4];
const WORDS: [u128; 12] = [7, 12, 9, 8, 2, 15, 0, 1, 6, 3, 4, 5];

impl Job for Accesses {
    type Output = Vec<u128>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", "memory".into())]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Vec<u128>, Fault> {
        let mut input = |owner: Role, values: &[u128], width: usize| {
            let bits: Vec<bool> = values.iter().flat_map(|value| bits_of(*value, width)).collect();
            let own = (self.role == owner).then_some(bits.as_slice());
            let wires = party.input(owner, bits.len(), own)?;
            Ok::<_, Fault>(wires.chunks(width).map(<[_]>::to_vec).collect::<Vec<_>>())
        };
        let rows = input(Role::Garbler, &ROWS, 4)?;
        let words = input(Role::Garbler, &WORDS, 4)?;
        let places = input(Role::Evaluator, &PLACES, 3)?;
        let prg = prg_of(self.role, 9);
        let rows = self.plan.needs.is_given.then_some(rows);
        let mut memory = party.init_ram(self.plan.clone(), rows, prg)?;
        let wide = Access::Write { word: &words[0][1..], enable: &words[0][0] };
        let misuse = party.access_ram(&mut memory, &places[0], wide).err();
        assert!(matches!(misuse, Some(Fault::Misuse(_))), "{misuse:?}");
        let misuse = party.ram_row(&mut memory, ROWS.len()).err();
        assert!(matches!(misuse, Some(Fault::Misuse(_))), "{misuse:?}");
        let mut read = Vec::new();
        for (step, (place, word)) in places.iter().zip(&words).enumerate() {
            let row = match step % 3 {
                0 => party.access_ram(&mut memory, place, Access::Read)?,
                1 => {
                    let enable = &word[1];
                    party.access_ram(&mut memory, place, Access::Write { word, enable })?
                }
                _ => {
                    party.update_ram(&mut memory, place, |party, row| party.xor_many(row, word))?
                }
            };
            read.extend(row);
        }
        read.extend(party.ram_row(&mut memory, 4)?);
        let bits = party.reveal(Receivers::Both, &read)?.unwrap_or_default();
        Ok(bits.chunks(4).map(value_of).collect())
    }
}

/// What an array gives, as [`Accesses`] reads it.
fn array_accesses(is_given: bool) -> Vec<u128> {
    let (mut array, mut read) = (if is_given { ROWS } else { [0; 6] }, Vec::new());
    for (step, (place, word)) in PLACES.iter().zip(WORDS).enumerate() {
        let row = array.get_mut(*place as usize);
        if step % 3 != 1 {
            read.push(row.as_ref().map_or(0, |row| **row));
        }
        match (row, step % 3) {
            (Some(row), 1) if word >> 1 & 1 == 1 => *row = word,
            (Some(row), 2) => *row ^= word,
            _ => {}
        }
    }
    read.push(array[4]);
    read
}

/// A memory is read and written at secret places, however it is kept, and takes the ANDs of its price.
pub fn memories(backend: Backend) {
    let trees = |trees| Layout::Trees { trees, factor: 1 };
    let root = |levels, factor, period| Layout::SquareRoot { levels, factor, period };
    let trees = [(Layout::Scan, true), (trees(1), true), (trees(2), false)];
    let roots = [(root(1, 1, 3), true), (root(2, 1, 3), false)];
    for (layout, is_given) in trees.into_iter().chain(roots) {
        // A stash of a few blocks, which overflows now and then, though not with these seeds; buckets rest where the backend packs.
        let needs = Needs { is_given, epsilon: 8, most_awake: 0, ..Needs::new(ROWS.len(), 4, 13) };
        let plan = Plan::new(needs, layout).expect("six rows");
        let ands = |kind| 4 * plan.access(3, kind).ands;
        let accesses = ands(AccessKind::Read) + ands(AccessKind::Write) + ands(AccessKind::Update);
        let row = if layout == Layout::Scan { 0 } else { plan.access(3, AccessKind::Read).ands };
        let outcome = sessions(&roomy(backend), 8, |session, role| {
            let done = AtomicU64::new(0);
            let job = Accesses { role, plan: plan.clone() };
            let outcome = session.run(&Metered { job, done: &done })?;
            assert_eq!(
                done.load(Ordering::Relaxed),
                plan.start().ands + accesses + row + plan.upkeep(13).ands
            );
            Ok(outcome.output)
        });
        let expected = array_accesses(is_given);
        assert_eq!(outcome, (Ok(expected.clone()), Ok(expected)), "{layout:?}");
    }
}

/// A module with every kind of block: a loop that moves along a vector, a map, calls of both kinds of
/// function, and a branch that an opened bit decides.
const STRUCTURED: &str = r#"
cenote 1
program structured "which of the sums of squares are large, and their product if any is"
function square (%x: b8) {
  %y = squarefull %x
  yield %y
}
circuit majority (b1, b1, b1) -> (b1) { xor 0 1 xor 1 2 and 3 4 xor 5 1 yield 6 }
input a: garbler uint 4xb8
input b: evaluator uint 4xb8
{
  %pairs = concat %0, %1
  %sums = map 4 (%pairs) { |%pair|
    %low = slice{lo=0, width=8} %pair
    %high = slice{lo=8, width=8} %pair
    %p = call square (%low)
    %q = call square (%high)
    %sum = add %p, %q
    yield %sum
  }
  %zero = const b16 0x0
  %total = for 4 (%zero) { |%so_far|
    %next = lanes{at=0 + 1*i0, count=1, stride=1} %sums
    %sum = add %so_far, %next
    yield %sum
  }
  %large = const b16 0x2000
  %are_large = lt %large, %sums
  %first = lanes{at=0, count=1, stride=1} %are_large
  %second = lanes{at=1, count=1, stride=1} %are_large
  %third = lanes{at=2, count=1, stride=1} %are_large
  %most = call majority (%first, %second, %third)
  %opened = reveal %most
  %result = if %opened {
    %product = mul %total, %total
    yield %product
  } else {
    %negated = neg %total
    yield %negated
  }
}
output total: garbler uint %total
output result: evaluator int %result
output are_large: both bool %are_large
"#;

/// Structured programs give what they give in the clear, each output to its receiver.
pub fn structured_programs(backend: Backend) {
    let module = Module::parse_text(STRUCTURED);
    let module = module.unwrap_or_else(|error| panic!("{error}"));
    for (seed, values) in [[1u8, 2, 3, 4], [200, 190, 3, 255]].iter().enumerate() {
        let words = |shift: u8| {
            let word = |value: &u8| bits_of(u128::from(value.wrapping_add(shift)), 8);
            values.iter().flat_map(word).collect::<Vec<bool>>()
        };
        let inputs = [words(0), words(3)];
        let clear = module.evaluate(&inputs);
        let outputs = |role| {
            let receivers = [Receivers::Garbler, Receivers::Evaluator, Receivers::Both];
            let ports = clear.iter().zip(receivers);
            ports.map(|(bits, to)| to.include(role).then(|| bits.clone())).collect::<Outputs>()
        };
        let (garbler, evaluator) = sessions(&roomy(backend), seed as u128, |session, role| {
            let own = inputs[usize::from(role == Role::Evaluator)].clone();
            let job = ModuleJob::new(&module, role, vec![own])?;
            session.run(&job).map(|outcome| outcome.output)
        });
        assert_eq!(garbler, Ok(outputs(Role::Garbler)));
        assert_eq!(evaluator, Ok(outputs(Role::Evaluator)));
    }
}

/// Computes and shows nothing; the session then serves another request.
struct Silent(Role);

impl Job for Silent {
    type Output = ();

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", "silent".into())]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<(), Fault> {
        let bits = [true, false];
        let own = |owner: Role| (owner == self.0).then_some(bits.as_slice());
        let x = party.input(Role::Garbler, 2, own(Role::Garbler))?;
        let y = party.input(Role::Evaluator, 2, own(Role::Evaluator))?;
        party.and_many(&x, &y).map(|_| ())
    }
}

/// Rows of inputs of both owners with no gate between. Some are dropped at once, so that the next one has their places.
struct Row {
    role: Role,
    /// Bits of two inputs of each row.
    long: usize,
}

impl Row {
    /// Owner, bits and whether its wires are kept.
    fn inputs(&self) -> Vec<(Role, Vec<bool>, bool)> {
        let (a, b) = (Role::Garbler, Role::Evaluator);
        let all = [
            (b, 1, true),
            (a, 9, false),
            (b, self.long, true),
            (b, 3, false),
            (a, self.long - 800, true),
            (a, 2, true),
            (b, 7, true),
        ];
        let bits = |len: usize| (0..len).map(|i| (i * i + len) % 3 != 2).collect();
        all.map(|(owner, len, kept)| (owner, bits(len), kept)).into()
    }

    /// One wire of each input that is kept, and all of the last: what a row leaves.
    fn rest<W: Clone>(kept: &[Vec<W>]) -> Vec<W> {
        kept.iter().map(|wires| wires[wires.len() / 2].clone()).chain(kept[4].clone()).collect()
    }
}

impl Job for Row {
    type Output = Option<Vec<bool>>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", "inputs in rows".into())]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Option<Vec<bool>>, Fault> {
        let mut all = Vec::new();
        for _ in 0..3 {
            let mut kept = Vec::new();
            for (owner, bits, keep) in self.inputs() {
                let own = (owner == self.role).then_some(bits.as_slice());
                let wires = party.input(owner, bits.len(), own)?;
                if keep {
                    kept.push(wires);
                }
            }
            all.extend(Row::rest(&kept));
            let other = vec![all[0].clone(); all.len()];
            all = party.and_many(&all, &other)?;
        }
        party.reveal(Receivers::Both, &all)
    }
}

/// Asserts what rows of inputs come to.
fn check_rows<C: Into<Channels> + Send>(channels: (C, C), backend: Backend, long: usize) {
    let run = |session: &mut Session, role| Ok(session.run(&Row { role, long })?.output);
    let ends = sessions_over(channels, &roomy(backend), 11, run);
    let mut clear = Vec::new();
    for _ in 0..3 {
        let inputs = Row { role: Role::Garbler, long }.inputs().into_iter();
        let kept: Vec<_> = inputs.filter(|(.., kept)| *kept).map(|(_, bits, _)| bits).collect();
        clear.extend(Row::rest(&kept));
        let first = clear[0];
        clear.iter_mut().for_each(|bit: &mut bool| *bit &= first);
    }
    assert!(clear.contains(&true) && clear.contains(&false));
    assert_eq!(ends, (Ok(Some(clear.clone())), Ok(Some(clear))), "{long}");
}

/// Inputs come right whatever lies between them: another owner, more shares to be made, a wire whose place is taken.
pub fn inputs_in_rows(backend: Backend) {
    check_rows(patient_pair(), backend, 5000);
    let extendable = || extendable_pair(Duration::from_secs(30), |_, _| ());
    check_rows(extendable(), backend, 5000);
    // More than go together.
    check_rows(extendable(), backend, 34_000);
}

/// A request that reveals nothing ends like any other, and the next one is served.
pub fn no_reveal_at_all(backend: Backend) {
    let add = TestProgram(Kind::Add);
    let inputs = add.inputs(7);
    let (garbler, evaluator) = sessions(&roomy(backend), 7, |session, role| {
        session.run(&Silent(role))?;
        run_program(session, &add, &inputs, Receivers::Both)
    });
    let clear = expected(&Clear::eval(&add, &inputs), Receivers::Both, Role::Garbler);
    assert_eq!((garbler, evaluator), (Ok(clear.clone()), Ok(clear)));
}

/// The frames at whose sending a session is cancelled: one for each phase, with the role that
/// sends it.
fn milestones(backend: Backend) -> Vec<(Tag, Role)> {
    let hello = [(Tag::HELLO, Role::Garbler), (Tag::HELLO, Role::Evaluator)];
    hello.into_iter().chain(adversary::entry(backend).milestones.iter().copied()).collect()
}

/// Ctrl-C at any time: the side that was cancelled says so, the other learns that it is over.
pub fn cancelled_in_each_phase(backend: Backend) {
    let program = TestProgram(Kind::Small);
    let inputs = program.inputs(8);
    for (tag, at) in milestones(backend) {
        let (mut garbler, mut evaluator) = patient_pair();
        let channel = if at == Role::Garbler { &mut garbler } else { &mut evaluator };
        let canceller = channel.canceller();
        channel.tamper(move |frame| {
            if frame.tag == tag.id {
                canceller.cancel();
            }
            Fate::Pass
        });
        let start = Instant::now();
        let (g, e) = sessions_over((garbler, evaluator), &smallest(backend), 8, |session, _| {
            run_program(session, &program, &inputs, Receivers::Both)
        });
        let (own, peer) = if at == Role::Garbler { (g, e) } else { (e, g) };
        assert_eq!(own, Err(Fault::Transport("cancelled".into())), "{} {at}", tag.name);
        assert!(
            matches!(peer, Err(Fault::PeerAborted | Fault::Transport(_))),
            "{} {at}: {peer:?}",
            tag.name
        );
        assert!(start.elapsed() < Duration::from_secs(20), "{} {at}", tag.name);
    }
}

/// Ctrl-C while the peer keeps silent.
pub fn cancelled_while_blocked(backend: Backend) {
    let (garbler, _evaluator) = patient_pair();
    let canceller = garbler.canceller();
    let start = Instant::now();
    let result = std::thread::scope(|scope| {
        let config = smallest(backend);
        let open = scope.spawn(move || {
            Session::open_seeded(garbler, Role::Garbler, &config, prg_of(Role::Garbler, 1)).err()
        });
        std::thread::sleep(Duration::from_millis(50));
        canceller.cancel();
        open.join().expect("no panic")
    });
    assert_eq!(result, Some(Fault::Transport("cancelled".into())));
    assert!(start.elapsed() < Duration::from_secs(10));
}

/// Both results are refusals that name `what`.
fn assert_refused<T>(results: (Result<T, Fault>, Result<T, Fault>), what: &str) {
    for (role, result) in [(Role::Garbler, results.0), (Role::Evaluator, results.1)] {
        match result.err() {
            Some(Fault::Policy(text)) => assert!(text.contains(what), "{role}: {text}"),
            other => panic!("{role}: expected a refusal about {what}, got {other:?}"),
        }
    }
}

/// Another program, another receiver: refused before the first input, by name.
pub fn differing_jobs_are_refused_on_both_sides(backend: Backend) {
    let (small, one) = (TestProgram(Kind::Ands(50)), TestProgram(Kind::Ands(51)));
    let inputs = small.inputs(9);
    let refused = sessions(&smallest(backend), 9, |session, role| {
        let program = if role == Role::Garbler { small } else { one };
        let first = run_program(session, &program, &inputs, Receivers::Both);
        // The session is over for both, whatever is asked of it.
        let over = Fault::Misuse("the session has failed".into());
        let again = run_program(session, &small, &inputs, Receivers::Both);
        assert_eq!(again.err(), Some(over.clone()), "{role}");
        assert_eq!(session.fill(), Err(over.clone()), "{role}");
        assert_eq!(session.stock(1), Err(over), "{role}");
        first
    });
    assert_refused(refused, "digest");
    let refused = sessions(&smallest(backend), 10, |session, role| {
        let to = if role == Role::Garbler { Receivers::Garbler } else { Receivers::Both };
        run_program(session, &small, &inputs, to)
    });
    assert_refused(refused, "receivers");
}

/// Another backend, pool, error bound or role: refused at the handshake, by name.
pub fn differing_sessions_are_refused_on_both_sides(backend: Backend) {
    let open = |configs: [SessionConfig; 2], roles: [Role; 2]| {
        run_pair(|channel, side| {
            let i = side as usize;
            Session::open_seeded(channel, roles[i], &configs[i], prg_of(side, 11)).map(|_| ())
        })
    };
    let own = smallest(backend);
    let both = [Role::Garbler, Role::Evaluator];
    for other in Backend::ALL.into_iter().filter(|other| *other != backend) {
        assert_refused(open([own, smallest(other)], both), "backend");
        assert_refused(open([smallest(other), own], both), "backend");
    }
    assert_refused(open([own, own], [Role::Garbler, Role::Garbler]), "role");
    if SessionConfig::new(backend).option("pool").is_some() {
        let kept = with_pool(backend, PoolChoice::Kept(8000));
        assert_refused(open([own, kept], both), "pool");
        let stricter = with_option(kept, "rho", "64");
        assert_refused(open([kept, stricter], both), "bucket");
        for tiny in [1, 39] {
            let unsound = with_pool(backend, PoolChoice::Kept(tiny));
            let (garbler, evaluator) = open([unsound, unsound], both);
            for fault in [garbler.err(), evaluator.err()] {
                assert!(matches!(fault, Some(Fault::Policy(_))), "pool of {tiny}: {fault:?}");
            }
        }
    }
}

/// Wrong numbers of inputs never reach the peer.
pub fn misuse_is_refused(backend: Backend) {
    let add = TestProgram(Kind::Add);
    let mut short = add.inputs(1);
    short.iter_mut().for_each(|bits| bits.truncate(31));
    let (garbler, evaluator) = sessions(&smallest(backend), 12, |session, role| {
        let refused = program_job(&add, role, &short, Receivers::Both).err();
        assert!(matches!(&refused, Some(Fault::Misuse(_))), "{refused:?}");
        let refused = program_job(&add, role, &[], Receivers::Both).err();
        assert!(matches!(&refused, Some(Fault::Misuse(_))), "{refused:?}");
        // The session has not noticed.
        let inputs = add.inputs(2);
        let output = run_program(session, &add, &inputs, Receivers::Both)?;
        Ok(output == expected(&Clear::eval(&add, &inputs), Receivers::Both, role))
    });
    assert_eq!((garbler, evaluator), (Ok(true), Ok(true)));
}

/// Two sessions side by side do not disturb each other.
pub fn two_sessions_at_once(backend: Backend) {
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for seed in [13, 14] {
            let done = &done;
            scope.spawn(move || {
                let add = (TestProgram(Kind::Add), Receivers::Both);
                let sort = (TestProgram(Kind::Sort), Receivers::Both);
                check_programs(&smallest(backend), seed, &[add, sort, add]);
                done.fetch_add(1, Ordering::SeqCst);
            });
        }
    });
    assert_eq!(done.into_inner(), 2);
}

/// 20 ms round trip, 200 Mbit/s: right results, and the wait is really there.
pub fn slow_line(backend: Backend) {
    let shape = Shape { rtt: Duration::from_millis(20), mbit_per_s: Some(200.0) };
    let shaped = |mut channel: Channel| {
        channel.shape(shape).expect("a fresh channel");
        channel.set_work_limit(Duration::from_secs(30));
        channel
    };
    let (garbler, evaluator) = mem_pair();
    let program = TestProgram(Kind::Compare);
    let inputs = program.inputs(15);
    let start = Instant::now();
    let channels = (shaped(garbler), shaped(evaluator));
    let (garbler, evaluator) = sessions_over(channels, &roomy(backend), 15, |session, _| {
        let output = run_program(session, &program, &inputs, Receivers::Both)?;
        Ok((output, session.counters().total().rounds))
    });
    let elapsed = start.elapsed();
    let clear = expected(&Clear::eval(&program, &inputs), Receivers::Both, Role::Garbler);
    for result in [garbler, evaluator] {
        let (output, rounds) = result.expect("honest");
        assert_eq!(output, clear);
        // Two handshakes at least; nothing may pay many more round trips than it counts.
        assert!(elapsed >= Duration::from_millis(20), "{elapsed:?}");
        assert!((2..60).contains(&rounds), "{rounds} rounds");
    }
}

/// Over channels that can be extended: the same results, whatever the backend makes beside requests.
pub fn data_channels(backend: Backend) {
    let programs = [Kind::Small, Kind::Ands(3000), Kind::Sort, Kind::Ands(700)].map(TestProgram);
    for kept in [0, 2000] {
        let channels = extendable_pair(Duration::from_secs(30), |_, _| ());
        let (garbler, evaluator) =
            sessions_over(channels, &smallest(backend), 17, |session, role| {
                session.keep(kept / 2, kept)?;
                for (program, seed) in programs.iter().zip(0..) {
                    let inputs = program.inputs(seed);
                    let output = run_program(session, program, &inputs, Receivers::Both)?;
                    assert_eq!(
                        output,
                        expected(&Clear::eval(program, &inputs), Receivers::Both, role)
                    );
                }
                Ok(())
            });
        assert_eq!((garbler, evaluator), (Ok(()), Ok(())), "{kept} kept ready");
    }
}

/// A peer that is gone before it said anything.
pub fn vanished_peer(backend: Backend) {
    let (garbler, evaluator) = pair_with_limit(Duration::from_secs(30));
    drop(evaluator);
    let open =
        Session::open_seeded(garbler, Role::Garbler, &smallest(backend), prg_of(Role::Garbler, 1));
    assert!(matches!(open.err(), Some(Fault::Transport(_))));
}

/// A side that has finished a step and falls silent has sent all that the other needs to finish it:
/// after opening, after filling the pool, after a request that reveals nothing.
pub fn nothing_is_held_back(backend: Backend) {
    let limit = Duration::from_secs(4);
    for step in 0..3 {
        let finished = AtomicUsize::new(0);
        let (garbler, evaluator) = crate::run_pair_over(pair_with_limit(limit), |channel, role| {
            let config = with_pool(backend, PoolChoice::Kept(1100));
            let mut session = Session::open_seeded(channel, role, &config, prg_of(role, 16))?;
            if step == 1 {
                session.fill()?;
            }
            if step == 2 {
                session.run(&Silent(role))?;
            }
            // Silent, but still there, until the other is done or has given up.
            finished.fetch_add(1, Ordering::SeqCst);
            let start = Instant::now();
            while finished.load(Ordering::SeqCst) < 2 && start.elapsed() < 2 * limit {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok::<_, Fault>(())
        });
        assert_eq!((garbler, evaluator), (Ok(()), Ok(())), "{} step {step}", backend.name());
    }
}
