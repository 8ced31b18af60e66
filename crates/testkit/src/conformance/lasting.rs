//! What outlives a request: wires that it keeps, and memories of programs.

use cenote_circuit::{bits_of, gadgets, value_of};
use cenote_engine::{Backend, Fault, Job, MAX_KEPT_WIRES, ModuleJob, Party, Receivers, Role};
use cenote_program::Module;

use crate::run::{roomy, sessions};

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
