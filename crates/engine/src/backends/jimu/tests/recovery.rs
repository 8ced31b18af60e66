//! The run in the clear beside the garbled one, of sessions in which a bucket outputs the wrong label.
//!
//! Both sides are honest; members of a ready bucket are spoiled in the evaluator's memory, as a garbler
//! could have made them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use cenote_circuit::{Layout, Needs, Plan};
use cenote_net::{Canceller, Channel, Fault, Role};
use cenote_prim::{Block, Prg, SessionId};

use super::{channels, params};
use crate::backends::jimu::ihash::Label;
use crate::backends::jimu::tally;
use crate::backends::jimu::{JimuSession, Side};
use crate::backends::{Live, Protocol};
use crate::options::Rho;
use crate::party::{Party, Receivers};
use crate::session::Job;

/// A step of a [`Rounds`] that a test meddles with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meddle {
    /// Nothing is changed.
    None,
    /// An input of the garbler too many.
    Input,
    /// A reveal left out.
    NoReveal,
    /// A reveal of one more wire.
    Wider,
    /// The job ends.
    End,
    /// The job panics.
    Panic,
    /// The job goes on for as long as it may.
    Endless,
}

/// A job of many reveals, each of which needs the inputs and steers what comes next.
struct Rounds<'t> {
    role: Role,
    rounds: usize,
    seed: u128,
    /// Whether it keeps its last product.
    keeps: bool,
    /// The job of this seed came before, and kept its last product, with which this one begins.
    after: Option<u128>,
    /// Called before each reveal of a run in the clear, and what the run is to do then.
    in_the_clear: &'t (dyn Fn(usize) -> Meddle + Sync),
}

type Shown = Vec<Option<Vec<bool>>>;

/// Who receives what a round reveals.
const RECEIVERS: [Receivers; 3] = [Receivers::Both, Receivers::Garbler, Receivers::Evaluator];

impl Rounds<'_> {
    fn bit(&self, owner: Role, round: usize) -> bool {
        let number = self.seed << 32 | (round as u128) << 1 | owner as u128;
        Prg::new(Block::new(number)).block().lsb()
    }

    fn enter<P: Party>(&self, party: &mut P, owner: Role, round: usize) -> Result<P::Wire, Fault> {
        // As a job that draws its inputs: others when it runs again, which must not count.
        let bits = [self.bit(owner, round) ^ is_in_the_clear()];
        let mut wires = party.input(owner, 1, (owner == self.role).then_some(&bits))?;
        Ok(wires.remove(0))
    }

    /// Returns the values that the job must give.
    fn expected(&self) -> Shown {
        self.evaluate().1
    }

    /// The last product, and the values.
    fn evaluate(&self) -> (bool, Shown) {
        let before = self.after.map(|seed| Rounds { seed, after: None, ..*self });
        let (mut state, mut shown) = (before.is_none_or(|job| job.evaluate().0), Vec::new());
        let (start, mut product) = (state, state);
        for round in 0..self.rounds {
            let (x, y) = (self.bit(Role::Garbler, round), self.bit(Role::Evaluator, round));
            product = (state ^ x) & (state ^ y);
            state = product ^ x;
            let to = RECEIVERS[round % 3];
            shown.push(to.include(self.role).then(|| vec![state, x ^ y ^ start]));
            state ^= to == Receivers::Both && state;
        }
        (product, shown)
    }
}

fn is_in_the_clear() -> bool {
    std::thread::current().name() == Some("cenote replay")
}

impl Job for Rounds<'_> {
    type Output = Shown;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Shown, Fault> {
        let (mut state, mut shown) = match self.after {
            Some(_) => (party.kept("product")?.remove(0), Vec::new()),
            None => (party.constant(true)?, Vec::new()),
        };
        let (start, mut last) = (state.clone(), state.clone());
        for round in 0..self.rounds {
            let x = self.enter(party, Role::Garbler, round)?;
            let y = self.enter(party, Role::Evaluator, round)?;
            let (left, right) = (party.xor(&state, &x)?, party.xor(&state, &y)?);
            let product = party.and(&left, &right)?;
            state = party.xor(&product, &x)?;
            last = product;
            let sum = party.xor(&x, &y)?;
            let mut wires = vec![state.clone(), party.xor(&sum, &start)?];
            let meddle = if is_in_the_clear() { (self.in_the_clear)(round) } else { Meddle::None };
            match meddle {
                Meddle::None => {}
                Meddle::Input => drop(party.input(Role::Garbler, 1, None)?),
                Meddle::NoReveal => continue,
                Meddle::Wider => wires.push(state.clone()),
                Meddle::End => return Ok(shown),
                Meddle::Panic => panic!("as the test wants it"),
                Meddle::Endless => loop {
                    party.and(&x, &y)?;
                },
            }
            let to = RECEIVERS[round % 3];
            let bits = party.reveal(to, &wires)?;
            if to == Receivers::Both && bits.as_ref().is_some_and(|bits| bits[0]) {
                state = party.constant(false)?;
            }
            shown.push(bits);
        }
        if self.keeps {
            party.keep("product", &[last])?;
        }
        Ok(shown)
    }
}

/// Which members of the first bucket output the wrong label.
#[derive(Clone, Copy)]
enum Spoiled {
    None,
    /// The vote is right.
    One,
    /// The vote is wrong.
    AllButOne,
    /// The same of the first bucket that is drawn in the second job.
    Later,
}

type Ran = Result<Shown, Fault>;

/// A session over `ends` in which both sides run jobs one after the other until one fails: what each run
/// gave, and whether the evaluator has evidence.
fn run_session<J: Job<Output = Shown>>(
    ends: (Channel, Channel),
    spoiled: Spoiled,
    garblers: &[J],
    evaluators: &[J],
) -> (Vec<Ran>, Vec<Ran>, bool) {
    let params = &params(100, Rho::Bits40, false);
    let open = |channel: Channel, role| {
        let (id, prg) = (SessionId([6; 32]), Prg::new(Block::new(role as u128)));
        let mut session =
            JimuSession::open(channel.into(), id, role, params.clone(), || prg, None)?;
        session.stock(1)?;
        Ok::<_, Fault>(session)
    };
    let run = |session: &mut JimuSession, jobs: &[J], before: &dyn Fn(&mut JimuSession, usize)| {
        let mut ran = Vec::new();
        for job in jobs {
            session.stock(1).expect("nothing has failed");
            before(session, ran.len());
            let result = session.run(job).and_then(|shown| {
                session.channel().flush()?;
                Ok(shown)
            });
            let failed = result.is_err();
            ran.push(result.inspect_err(|_| session.channel().abort()));
            if failed {
                break;
            }
        }
        ran
    };
    let (delta, of_garbler) = mpsc::channel();
    std::thread::scope(|scope| {
        let garbler = scope.spawn(move || {
            let mut session = open(ends.0, Role::Garbler).expect("honest");
            let Side::Garbler(side) = &session.core.side else { unreachable!() };
            delta.send(side.depot.delta()).expect("the other side waits");
            run(&mut session, garblers, &|_, _| ())
        });
        let mut session = open(ends.1, Role::Evaluator).expect("honest");
        let delta: Label = of_garbler.recv().expect("sent at once");
        let members = match spoiled {
            Spoiled::None => 0,
            Spoiled::One => 1,
            Spoiled::AllButOne | Spoiled::Later => params.ands.bucket - 1,
        };
        let spoil = |session: &mut JimuSession, job: usize| {
            let Side::Evaluator(side) = &mut session.core.side else { unreachable!() };
            if job == usize::from(matches!(spoiled, Spoiled::Later)) {
                side.depot.supply().expect("between requests").turn(members, &delta);
            }
        };
        let ran = run(&mut session, evaluators, &spoil);
        let evidence = session.evidence().is_some();
        (garbler.join().expect("no panic"), ran, evidence)
    })
}

/// Both sides of a job.
fn both<'t>(
    rounds: usize,
    seed: u128,
    in_the_clear: &'t (dyn Fn(usize) -> Meddle + Sync),
) -> [Rounds<'t>; 2] {
    [Role::Garbler, Role::Evaluator].map(|role| Rounds {
        role,
        rounds,
        seed,
        keeps: false,
        after: None,
        in_the_clear,
    })
}

/// Both sides of two jobs, of which the second goes on from the state of the first.
fn two_jobs<'t>(
    rounds: usize,
    seed: u128,
    in_the_clear: &'t (dyn Fn(usize) -> Meddle + Sync),
) -> [Vec<Rounds<'t>>; 2] {
    let [[a, b], [c, d]] = [seed, seed + 1].map(|seed| both(rounds, seed, in_the_clear));
    let (keeps, after) = (true, Some(seed));
    [(a, c), (b, d)].map(|(a, b)| vec![Rounds { keeps, ..a }, Rounds { keeps, after, ..b }])
}

fn is_over(fault: &Fault) -> bool {
    matches!(fault, Fault::PeerAborted | Fault::Transport(_))
}

/// However many reveals there are, and again for a later request, which is in the clear from its start; and
/// in a later request alone. What a request kept is right in the next, by either way to its values.
#[test]
fn a_job_runs_once_in_the_clear() {
    let replayed = AtomicUsize::new(0);
    let count = |_: usize| {
        replayed.fetch_add(1, Ordering::Relaxed);
        Meddle::None
    };
    let ways =
        [(Spoiled::None, 0), (Spoiled::One, 2), (Spoiled::AllButOne, 2), (Spoiled::Later, 1)];
    // The product of a single round is the spoiled one.
    for (rounds, seed) in [(30, 1), (1, 1), (1, 3), (1, 5), (1, 7)] {
        for (spoiled, passes) in ways {
            let [garblers, evaluators] = two_jobs(rounds, seed, &count);
            let right = |jobs: &[Rounds<'_>]| -> Vec<Ran> {
                jobs.iter().map(|job| Ok(job.expected())).collect()
            };
            let (garbled, ran, evidence) = run_session(channels(), spoiled, &garblers, &evaluators);
            assert_eq!((garbled, ran), (right(&garblers), right(&evaluators)));
            let replayed = replayed.swap(0, Ordering::Relaxed);
            assert_eq!((evidence, replayed), (passes > 0, passes * rounds));
        }
    }
}

/// A job, or one that has no gate of its own: wires come and go.
enum Step<'t> {
    Rounds(Rounds<'t>),
    /// Takes up the wire of the first name; keeps it under the second, or reveals it.
    Carried(&'static str, Option<&'static str>),
}

impl Job for Step<'_> {
    type Output = Shown;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Shown, Fault> {
        let (from, into) = match self {
            Step::Rounds(job) => return job.run(party),
            Step::Carried(from, into) => (from, into),
        };
        let wires = party.kept(from)?;
        match into {
            Some(into) => party.keep(into, &wires).map(|()| Vec::new()),
            None => RECEIVERS.into_iter().map(|to| party.reveal(to, &wires)).collect(),
        }
    }
}

/// A request with the wrong label on a wire from its start, and no chunk before it shows that or keeps it.
#[test]
fn a_kept_wire_is_right_where_no_gate_follows() {
    for seed in [1, 3, 5, 7, 9, 11] {
        let steps = both(1, seed, &|_| Meddle::None).map(|job| {
            let job = Rounds { keeps: true, ..job };
            let (role, product) = (job.role, job.evaluate().0);
            let revealed: Shown =
                RECEIVERS.map(|to| to.include(role).then(|| vec![product])).into();
            let expected = [job.expected(), revealed.clone(), Vec::new(), revealed];
            let jobs = vec![
                Step::Rounds(job),
                Step::Carried("product", None),
                Step::Carried("product", Some("copy")),
                Step::Carried("copy", None),
            ];
            (jobs, expected.map(Ok).to_vec())
        });
        let [(garblers, of_garbler), (evaluators, of_evaluator)] = steps;
        for spoiled in [Spoiled::None, Spoiled::AllButOne] {
            let (garbled, ran, _) = run_session(channels(), spoiled, &garblers, &evaluators);
            assert_eq!((garbled, ran), (of_garbler.clone(), of_evaluator.clone()), "{seed}");
        }
    }
}

/// One of several jobs that go on with a memory of three rows of two bits: the first begins it.
struct Remembers<'m> {
    role: Role,
    layout: Layout,
    seed: u128,
    job: usize,
    /// What each job has left, at this side; a run in the clear leaves the same.
    states: &'m [Mutex<Option<Vec<u8>>>],
}

/// Updates of each job.
const UPDATES: usize = 3;

impl Remembers<'_> {
    /// The place and the word of each update of a job.
    fn updates(&self, job: usize) -> impl Iterator<Item = [usize; 2]> {
        let random = Prg::new(Block::new(self.seed << 8 | job as u128)).block().to_u128();
        (0..UPDATES).map(move |i| [0, 64].map(|at| (random >> (at + 2 * i)) as usize & 3))
    }

    /// What the job reads, bit by bit.
    fn expected(&self) -> Shown {
        let (mut rows, mut read) = ([0; 3], Vec::new());
        for job in 0..=self.job {
            read.clear();
            for [place, word] in self.updates(job) {
                let row = rows.get_mut(place).map(|row| std::mem::replace(row, *row ^ word));
                read.extend([0, 1].map(|bit| row.unwrap_or(0) >> bit & 1 == 1));
            }
        }
        vec![Some(read)]
    }
}

impl Job for Remembers<'_> {
    type Output = Shown;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Shown, Fault> {
        let accesses = (UPDATES * self.states.len()) as u64;
        let needs = Needs { epsilon: 8, ..Needs::new(3, 2, accesses) };
        let plan = Plan::new(needs, self.layout).expect("rows for a tree");
        let state = |job: usize| self.states[job].lock().expect("no panic");
        let prg = Prg::new(Block::new(self.seed << 1 | self.role as u128));
        let mut memory = match self.job.checked_sub(1) {
            None => party.init_ram(plan, None, prg)?,
            Some(before) => {
                let state = state(before).clone().expect("the job before has ended");
                party.kept_ram("memory", plan, state, prg)?
            }
        };
        let mut read = Vec::new();
        for update in self.updates(self.job) {
            // Places are the evaluator's. The second time they are other ones, which must not count.
            let mut enter = |owner: Role| {
                let value = update[usize::from(owner == Role::Garbler)];
                let bits = [0, 1].map(|bit| (value >> bit & 1 == 1) ^ is_in_the_clear());
                party.input(owner, 2, (owner == self.role).then_some(&bits))
            };
            let (place, word) = (enter(Role::Evaluator)?, enter(Role::Garbler)?);
            let change = |party: &mut P, row: &[P::Wire]| party.xor_many(row, &word);
            read.extend(party.update_ram(&mut memory, &place, change)?);
        }
        let shown = party.reveal(Receivers::Both, &read)?;
        let left = party.keep_ram("memory", memory)?;
        let before = state(self.job).replace(left.clone());
        assert!(before.is_none_or(|before| before == left), "both runs leave it in one state");
        Ok(vec![shown])
    }
}

/// A memory that goes from job to job: what a job in the clear finds in it is what the jobs before have left, garbled or in the clear.
#[test]
fn a_memory_that_goes_on_is_right_in_the_clear() {
    let trees = Layout::Trees { trees: 1, factor: 1 };
    let root = Layout::SquareRoot { levels: 1, factor: 1, period: 2 };
    for (layout, seed) in [(Layout::Scan, 1), (trees, 2), (trees, 3), (root, 4), (root, 5)] {
        for (spoiled, is_found) in [
            (Spoiled::None, false),
            (Spoiled::One, true),
            (Spoiled::AllButOne, true),
            (Spoiled::Later, true),
        ] {
            let states: [[Mutex<Option<Vec<u8>>>; 3]; 2] = Default::default();
            let [garblers, evaluators] = [Role::Garbler, Role::Evaluator].map(|role| {
                let states = &states[role as usize][..];
                let job = |job| Remembers { role, layout, seed, job, states };
                (0..states.len()).map(job).collect::<Vec<_>>()
            });
            let right = |jobs: &[Remembers<'_>]| -> Vec<Ran> {
                jobs.iter().map(|job| Ok(job.expected())).collect()
            };
            let (garbled, ran, evidence) = run_session(channels(), spoiled, &garblers, &evaluators);
            assert_eq!((garbled, ran), (right(&garblers), right(&evaluators)), "{layout:?}");
            assert_eq!(evidence, is_found, "{layout:?}");
        }
    }
}

/// The scan for labels that contradict each other, the trial of such a pair, and the reports.
#[test]
fn both_labels_of_a_wire_make_no_more_work_and_no_less() {
    let work = [Spoiled::None, Spoiled::One, Spoiled::AllButOne].map(|spoiled| {
        // The second job begins with Delta known.
        let [garblers, evaluators] = two_jobs(9, 1, &|_| Meddle::None);
        tally::steps();
        let (_, ran, evidence) = run_session(channels(), spoiled, &garblers, &evaluators);
        assert!(ran.iter().all(Result::is_ok));
        (tally::steps(), evidence)
    });
    assert_eq!(work.map(|(_, evidence)| evidence), [false, true, true]);
    assert!(work[0].0 > 0);
    assert_eq!(work.map(|(steps, _)| steps), [work[0].0; 3]);
}

/// Neither side waits for values that never come, and nothing that may be wrong is output.
#[test]
fn a_job_that_does_not_run_alike_twice_ends_the_session() {
    for meddle in [Meddle::Input, Meddle::NoReveal, Meddle::Wider, Meddle::End, Meddle::Panic] {
        let at = |round: usize| if round == 4 { meddle } else { Meddle::None };
        let [garbler, evaluator] = both(6, 3, &at);
        let (garbled, ran, _) =
            run_session(channels(), Spoiled::AllButOne, &[garbler], &[evaluator]);
        assert!(matches!(ran[..], [Err(Fault::Internal(_))]), "{meddle:?}: {ran:?}");
        assert_eq!(garbled, [Err(Fault::PeerAborted)], "{meddle:?}");
    }
}

#[test]
fn a_replay_ends_with_a_session_that_is_cancelled() {
    let ends = channels();
    let canceller: Canceller = ends.1.canceller();
    let cancel = move |round: usize| {
        if round < 4 {
            return Meddle::None;
        }
        // By then the garbled run waits for this one.
        std::thread::sleep(Duration::from_millis(500));
        canceller.cancel();
        Meddle::Endless
    };
    let [garbler, evaluator] = both(6, 4, &cancel);
    let (garbled, ran, _) = run_session(ends, Spoiled::AllButOne, &[garbler], &[evaluator]);
    assert_eq!(ran, [Err(Fault::Transport("cancelled".into()))]);
    assert!(garbled[0].as_ref().is_err_and(is_over), "{garbled:?}");
}

/// A garbler that leaves while its peer waits for the replay, and while the replay waits for it.
#[test]
fn a_replay_ends_with_a_session_that_the_peer_leaves() {
    for rounds in [6, 4] {
        let ends = channels();
        let canceller = ends.0.canceller();
        let leave = move |round: usize| {
            if rounds == 6 && round == 3 {
                canceller.cancel();
            }
            Meddle::None
        };
        let [garbler, _] = both(rounds, 5, &leave);
        let [_, evaluator] = both(6, 5, &leave);
        let (garbled, ran, _) = run_session(ends, Spoiled::AllButOne, &[garbler], &[evaluator]);
        assert_eq!(garbled[0].is_ok(), rounds == 4);
        assert!(ran[0].as_ref().is_err_and(is_over), "{ran:?}");
    }
}

/// The peer's idle limit is shorter than the replay takes.
#[test]
fn a_long_replay_keeps_the_session_alive() {
    let limit = Duration::from_secs(1);
    let (mut own, mut other) = channels();
    own.set_idle_limit(limit);
    other.set_idle_limit(limit);
    let wait = |round: usize| {
        if round == 3 {
            std::thread::sleep(3 * limit);
        }
        Meddle::None
    };
    let [garbler, evaluator] = both(6, 6, &wait);
    let right = (Ok(garbler.expected()), Ok(evaluator.expected()));
    let (garbled, ran, evidence) =
        run_session((own, other), Spoiled::AllButOne, &[garbler], &[evaluator]);
    assert!(evidence);
    assert_eq!((&garbled[0], &ran[0]), (&right.0, &right.1));
}
