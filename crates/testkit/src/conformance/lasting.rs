//! What outlives a request: wires that it keeps, and memories of programs.

use std::sync::Mutex;

use cenote_circuit::{Access, Layout, Needs, Plan, bits_of, gadgets, value_of};
use cenote_engine::{
    Backend, Fault, Job, MAX_KEPT_WIRES, MemoryUse, ModuleJob, Party, RamStates, Receivers, Role,
};
use cenote_program::Module;

use crate::run::{prg_of, roomy, sessions};

/// A sum over three requests, of which the first two show nothing.
struct Running {
    role: Role,
    request: usize,
    own: u128,
}

const SUM: &str = "sum";

impl Job for Running {
    type Output = Option<u128>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", "running sum".into()), ("request", self.request.to_string())]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Option<u128>, Fault> {
        if self.request == 2 {
            let sum = party.kept(SUM)?;
            let opened = party.reveal(Receivers::Both, &sum)?;
            // Forgotten, and kept anew.
            party.keep(SUM, &[])?;
            party.keep(SUM, &sum[..1])?;
            assert_eq!(party.kept(SUM)?.len(), 1);
            return Ok(opened.as_deref().map(value_of));
        }
        let owner = [Role::Garbler, Role::Evaluator][self.request];
        let bits = (owner == self.role).then(|| bits_of(self.own, 16));
        let mut sum = party.input(owner, 16, bits.as_deref())?;
        if self.request == 1 {
            // Nothing reads these ANDs: their wires are free when the kept ones come.
            drop(party.and_many(&sum, &sum)?);
            let before = party.kept(SUM)?;
            let again = party.kept(SUM)?;
            let double = gadgets::add(party, &before, &again)?;
            sum = gadgets::add(party, &sum, &double)?;
        }
        party.keep(SUM, &sum)?;
        Ok(None)
    }
}

/// Wires of one request go into later ones, if the backend keeps any.
pub fn wires_that_outlive_requests(backend: Backend) {
    if !backend.keeps_wires() {
        return;
    }
    let (garbler, evaluator) = sessions(&roomy(backend), 9, |session, role| {
        let own = if role == Role::Garbler { 20_011 } else { 7_777 };
        let run = |request| Ok(session.run(&Running { role, request, own })?.output);
        (0..3).map(run).collect::<Result<Vec<_>, Fault>>()
    });
    let expected = Ok(vec![None, None, Some(2 * 20_011 + 7_777)]);
    assert_eq!((&garbler, &evaluator), (&expected, &expected));
}

/// A table of three words: begun, added to at a secret place, read and ended.
const BEGINS: &str = "cenote 3\nprogram begins \"\"\nmemory sums[3]: new uint b8\n{\n %1 = const 3xb8 all 0x10\n}\nkeep sums: %1\n";
const ADDS: &str = "cenote 3\nprogram adds \"\"\ninput place: a uint b2\ninput more: b uint b8\nmemory sums[3]: found uint b8\n{
 %3 = lookup %2, %0\n %4 = add %3, %1\n %5 = const b1 0x1\n %6 = store %2, %0, %4, %5\n}\nkeep sums: %6\noutput before: b uint %3\n";
const ENDS: &str = "cenote 3\nprogram ends \"\"\nmemory sums[3]: found uint b8\n{\n}\noutput sums[3]: both uint %0\n";

/// More than half of what a session holds goes from one memory to another: there is room because the first one ends, wherever it stands.
pub fn a_memory_that_ends_makes_room(backend: Backend) {
    // Elsewhere it takes long: `plain` and `yao` go the same way up to the session.
    if !backend.keeps_wires() || backend.data_channels() > 0 || backend.keeps_items() {
        return;
    }
    let lanes = MAX_KEPT_WIRES / 16 + 1;
    let begins = format!(
        "cenote 3\nprogram begins \"\"\nmemory old[{lanes}]: new uint b8\n{{\n}}\nkeep old: %0\n"
    );
    let moves = format!(
        "cenote 3\nprogram moves \"\"\nmemory new[{lanes}]: new uint b8\nmemory old[{lanes}]: found uint b8\n{{\n}}\nkeep new: %1\n"
    );
    let programs = [begins, moves].map(|text| Module::parse_text(&text).expect("a program"));
    let (garbler, evaluator) = sessions(&roomy(backend), 13, |session, role| {
        for module in &programs {
            session.run(&ModuleJob::new(module, role, Vec::new())?)?;
        }
        Ok(session.memories().list().map(|memory| memory.name.clone()).collect::<Vec<_>>())
    });
    assert_eq!((garbler, evaluator), (Ok(vec!["new".into()]), Ok(vec!["new".into()])));
}

/// A memory goes from job to job, if the backend keeps wires: what is not there, or is there already, is said before anything is sent,
/// and the session goes on.
pub fn memories_that_outlive_jobs(backend: Backend) {
    if !backend.keeps_wires() {
        return;
    }
    let parse = |text: &str| Module::parse_text(text).expect("a program");
    let (begins, adds, ends) = (parse(BEGINS), parse(ADDS), parse(ENDS));
    let (garbler, evaluator) = sessions(&roomy(backend), 12, |session, role| {
        let mut run = |module: &Module, inputs: [u128; 2]| {
            let own = inputs[usize::from(role == Role::Evaluator)];
            let bits = module.inputs().iter().filter(|port| port.owner == role);
            let own = bits.map(|port| bits_of(own, port.shape.bits())).collect();
            let outcome = session.run(&ModuleJob::new(module, role, own)?)?;
            let versions =
                session.memories().list().map(|memory| memory.version).collect::<Vec<_>>();
            Ok::<_, Fault>((outcome.output, versions))
        };
        assert!(matches!(run(&adds, [0, 0]), Err(Fault::Policy(_))), "nothing is there yet");
        assert_eq!(run(&begins, [0, 0])?.1, [1]);
        assert!(matches!(run(&begins, [0, 0]), Err(Fault::Policy(_))), "it is there already");
        for (version, (place, more, before)) in (2..).zip([(1, 5, 16), (1, 7, 21), (3, 9, 0)]) {
            let (outputs, versions) = run(&adds, [place, more])?;
            let shown = (role == Role::Evaluator).then(|| bits_of(before, 8));
            assert_eq!((outputs, versions), (vec![shown], vec![version]));
        }
        let (outputs, versions) = run(&ends, [0, 0])?;
        assert!(versions.is_empty());
        assert!(matches!(run(&ends, [0, 0]), Err(Fault::Policy(_))), "it has ended");
        assert_eq!(run(&begins, [0, 0])?.1, [1], "and may begin again");
        Ok(outputs)
    });
    let words = [16, 28, 16].map(|word| bits_of(word, 8)).concat();
    let expected = Ok(vec![Some(words)]);
    assert_eq!((&garbler, &evaluator), (&expected, &expected));
}

/// A name under which nothing is kept ends the session; so does keeping, with a backend that keeps nothing.
pub fn faults_of_kept_wires(backend: Backend) {
    let (garbler, evaluator) = sessions(&roomy(backend), 10, |session, role| {
        let mut run = |request| session.run(&Running { role, request, own: 1 }).map(drop);
        let refused = run(usize::from(backend.keeps_wires()));
        assert!(matches!(refused, Err(Fault::Misuse(_))), "{refused:?}");
        assert_eq!(run(0), Err(Fault::Misuse("the session has failed".into())));
        Ok(())
    });
    assert_eq!((garbler, evaluator), (Ok(()), Ok(())));
}

/// Writes to places of a memory that is kept in its form, each the number of its step, and shows what was there.
struct Visits<'s> {
    role: Role,
    plan: Plan,
    first: usize,
    /// The state that it finds, and then the one that it leaves.
    state: &'s Mutex<Option<Vec<u8>>>,
}

/// Accesses of a request.
const VISITS: usize = 3;

impl Job for Visits<'_> {
    type Output = Vec<u128>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", format!("visits {}", self.first))]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Vec<u128>, Fault> {
        let (plan, prg) = (self.plan.clone(), prg_of(self.role, 50 + self.first as u128));
        let found = self.state.lock().expect("no panic").clone();
        let mut memory = match found {
            Some(state) => party.kept_ram(SUM, plan, state, prg)?,
            None => party.init_ram(plan, None, prg)?,
        };
        let mut seen = Vec::new();
        for step in self.first..self.first + VISITS {
            let place = bits_of(place(step), 2);
            let bits = (self.role == Role::Garbler).then_some(&place[..]);
            let place = party.input(Role::Garbler, 2, bits)?;
            let word = bits_of(step as u128 + 1, 4).into_iter().map(|bit| party.constant(bit));
            let word = word.collect::<Result<Vec<_>, Fault>>()?;
            let old = if step % 2 == 0 {
                party.update_ram(&mut memory, &place, |_, _| Ok(word))?
            } else {
                party.access_ram(&mut memory, &place, Access::Read)?
            };
            seen.extend(party.reveal(Receivers::Both, &old)?.as_deref().map(value_of));
        }
        // A backend may run it again in the clear, which comes to the same.
        let state = party.keep_ram(SUM, memory)?;
        *self.state.lock().expect("no panic") = Some(state);
        Ok(seen)
    }
}

/// Row 3 is one that nothing is written to.
const fn place(step: usize) -> u128 {
    [0, 1, 0, 2, 2, 0, 1, 3, 1][step % 9]
}

/// Memories go from request to request as they are, trees, permuted rows or rows, and are one array for all of them.
pub fn forms_that_outlive_jobs(backend: Backend) {
    if !backend.keeps_wires() {
        return;
    }
    let requests = if backend.data_channels() > 0 || backend.keeps_items() { 3 } else { 12 };
    let root = |levels, period| Layout::SquareRoot { levels, factor: 1, period };
    let trees = |trees| Layout::Trees { trees, factor: 1 };
    for layout in [trees(1), trees(2), root(1, 2), root(2, 2), Layout::Scan] {
        // Stashes of few slots, which do not overflow with these leaves; buckets rest within a request as well where the backend packs.
        let needs = Needs { epsilon: 8, most_awake: 0, ..Needs::new(4, 4, 36) };
        let plan = Plan::new(needs, layout).expect("rows enough");
        let (garbler, evaluator) = sessions(&roomy(backend), 14, |session, role| {
            let state = Mutex::new(None);
            let mut seen = Vec::new();
            for request in 0..requests {
                let first = request * VISITS;
                let job = Visits { role, plan: plan.clone(), first, state: &state };
                seen.extend(session.run(&job)?.output);
            }
            Ok((seen, state.into_inner().expect("no panic")))
        });
        let mut array = [0; 4];
        let expected: Vec<u128> = (0..requests * VISITS)
            .map(|step| {
                let row = &mut array[place(step) as usize];
                if step % 2 == 0 { std::mem::replace(row, step as u128 + 1) } else { *row }
            })
            .map(|value| value % 16)
            .collect();
        let (garbler, evaluator) = (garbler.expect("honest"), evaluator.expect("honest"));
        assert_eq!(garbler, evaluator, "{layout:?}");
        assert_eq!(garbler.0, expected, "{layout:?}");
    }
}

/// Rows of the memory of a program, which is kept as square-root ORAM.
const ROWS: u32 = 3000;
/// Accesses of a run.
const RUN: u64 = 16;

/// A program that updates sixteen rows and shows what they were.
fn updates(begins: &str, accesses: u64) -> Module {
    let text = format!(
        "cenote 4\nprogram u \"\"\ninput at[16]: a uint b12\ninput put[16]: b uint b16\nmemory m[{ROWS}]: {begins} ram {accesses} uint b16\n{{\n\
        %none = const 16xb16 all 0x0\n%on = const b1 0x1\n\
        %end, %read = for {RUN} (%2, %none) {{ |%t, %r|\n\
        %i = lanes{{at=0+1*i0, count=1, stride=1}} %0\n%x = lanes{{at=0+1*i0, count=1, stride=1}} %1\n\
        %old = lookup %t, %i\n%new = add %old, %x\n%s = store %t, %i, %new, %on\n\
        %q = put{{at=0+1*i0}} %r, %old\nyield %s, %q }}\n}}\nkeep m: %end\noutput read[16]: both uint %read\n"
    );
    Module::parse_text(&text).expect("a program")
}

/// A program that reads the last row, and ends the memory or leaves it.
fn reads(ends: bool, life: u64) -> Module {
    let keep = if ends { "" } else { "keep m: %0\n" };
    let text = format!(
        "cenote 4\nprogram e \"\"\nmemory m[{ROWS}]: found ram {life} uint b16\n{{\n%i = const b12 0xbb7\n%x = lookup %0, %i\n}}\n{keep}output x: both uint %x\n"
    );
    Module::parse_text(&text).expect("a program")
}

/// Whether a backend is quick enough for the tests with memories of hundreds of rows; others go the same way, with [`forms_that_outlive_jobs`].
const fn is_quick(backend: Backend) -> bool {
    backend.keeps_wires() && backend.data_channels() == 0 && !backend.keeps_items()
}

/// A random access memory of a program goes from job after job until its life is spent, against an array.
pub fn random_access_memories_that_outlive_jobs(backend: Backend) {
    if !is_quick(backend) {
        return;
    }
    let life = if backend == Backend::Plain { 1024 } else { 256 };
    let [begins, goes_on] = ["new", "found"].map(|begins| updates(begins, life));
    let (other, peeks, ends) = (updates("found", life + 1), reads(false, life), reads(true, life));
    let plan = goes_on.memories()[0].plan().expect("square-root ORAM");
    assert!(matches!(plan.layout, Layout::SquareRoot { .. }));
    let places = |run: u64| (0..RUN).map(move |i| ((run * 7 + i * i * 31) % 3005) as u128);
    let jobs = life / RUN;
    let (garbler, evaluator) = sessions(&roomy(backend), 15, |session, role| {
        let mut run = |module: &Module, run: u64| {
            let ports: [Vec<bool>; 2] = [
                places(run).flat_map(|place| bits_of(place, 12)).collect(),
                (0..RUN).flat_map(|i| bits_of((run * 100 + i).into(), 16)).collect(),
            ];
            let own =
                if module.inputs().is_empty() { None } else { Some(ports[role as usize].clone()) };
            let outcome = session.run(&ModuleJob::new(module, role, own.into_iter().collect())?)?;
            let left: Vec<u64> = session.memories().list().flat_map(|m| m.left.clone()).collect();
            let words = outcome.output[0].as_deref().unwrap_or_default();
            Ok::<_, Fault>((words.chunks(16).map(value_of).collect::<Vec<_>>(), left))
        };
        let mut seen = Vec::new();
        for job in 0..jobs {
            let (read, left) = run(if job == 0 { &begins } else { &goes_on }, job)?;
            assert_eq!(left, [life - RUN * (job + 1)]);
            seen.extend(read);
            if job == 0 {
                let refused = run(&other, 1);
                assert!(matches!(&refused, Err(Fault::Policy(why)) if why.contains("not m[3000]")));
            }
        }
        // All of its life is gone, and it can only end.
        for module in [&goes_on, &peeks, &ends] {
            let refused = run(module, 1);
            assert!(matches!(&refused, Err(Fault::Policy(why)) if why.contains("0 accesses left")));
        }
        Ok(seen)
    });
    let mut array = vec![0u128; ROWS as usize];
    let expected: Vec<u128> = (0..jobs)
        .flat_map(|run| places(run).zip(0..RUN).map(move |(place, i)| (place, run * 100 + i)))
        .map(|(place, more)| match array.get_mut(place as usize) {
            Some(row) => std::mem::replace(row, (*row + u128::from(more)) % (1 << 16)),
            None => 0,
        })
        .collect();
    assert_eq!(garbler.as_ref(), Ok(&expected));
    assert_eq!(evaluator, garbler);
}

/// A job that fails when it has run.
struct Breaks<'m>(ModuleJob<'m>);

impl Job for Breaks<'_> {
    type Output = ();

    fn terms(&self) -> Vec<(&'static str, String)> {
        self.0.terms()
    }

    fn memories(&self) -> Vec<MemoryUse> {
        self.0.memories()
    }

    fn recall(&self, states: &RamStates) {
        self.0.recall(states);
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<(), Fault> {
        self.0.run(party)?;
        Err(Fault::Internal("broken".into()))
    }
}

/// A job that fails behind an opened place ends the session with the memory: nothing finds it as it was before.
pub fn a_fault_ends_random_access_memories(backend: Backend) {
    if !is_quick(backend) {
        return;
    }
    let (begins, peeks) = (updates("new", 256), reads(false, 256));
    let (garbler, evaluator) = sessions(&roomy(backend), 16, |session, role| {
        let own = vec![false; [16 * 12, 256][role as usize]];
        session.run(&ModuleJob::new(&begins, role, vec![own])?)?;
        session.run(&ModuleJob::new(&peeks, role, Vec::new())?)?;
        let broken = session.run(&Breaks(ModuleJob::new(&peeks, role, Vec::new())?));
        assert!(broken.is_err());
        assert_eq!(session.memories().list().count(), 0);
        let next = session.run(&ModuleJob::new(&peeks, role, Vec::new())?).map(drop);
        assert!(matches!(next, Err(Fault::Policy(_))), "{next:?}");
        let next = session.run(&ModuleJob::new(&reads(true, 256), role, Vec::new())?).map(drop);
        assert!(next.is_err());
        Ok(())
    });
    assert_eq!((garbler, evaluator), (Ok(()), Ok(())));
}
