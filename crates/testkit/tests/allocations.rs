//! What runs on arrays allocates nothing while a loop goes round.

use allocation_counter::measure;
use cenote_engine::{Backend, ModuleJob, Role};
use cenote_program::Module;
use cenote_testkit::run::{sessions, smallest};

/// A sum of words, and vectors of which words are read and replaced where the counter is.
fn module(rounds: u32) -> Module {
    let text = format!(
        "cenote 1\nprogram loops \"\"\ninput a: garbler uint 1024xb8\ninput b: evaluator uint b8\n\
         input c: evaluator uint 16xb8\n{{\n\
         %sum = for {rounds} (%1) {{ |%s|\n%w = lanes{{at=0 + 1*i0, count=1, stride=1}} %0\n\
         %t = mul %s, %w\n%u = add %t, %1\nyield %u\n}}\n\
         %ring, %last = for {rounds} (%0, %2) {{ |%r, %l|\n%w = lanes{{at=0 + 1*i0, count=16, stride=1}} %r\n\
         %t = add %w, %l\n%q = put{{at=7 + 1*i0}} %r, %t\nyield %q, %t\n}}\n\
         }}\noutput x: both uint %sum\noutput y: both uint %ring\noutput z: both uint %last\n"
    );
    Module::parse_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Allocations of each side's thread while a warm session runs so many rounds.
fn allocations(backend: Backend, rounds: u32) -> [u64; 2] {
    let module = module(rounds);
    let (garbler, evaluator) = sessions(&smallest(backend), 1, |session, role| {
        let own = match role {
            Role::Garbler => vec![vec![true; 8 * 1024]],
            Role::Evaluator => vec![vec![true; 8], vec![true; 8 * 16]],
        };
        let job = ModuleJob::new(&module, role, own)?;
        session.run(&job)?;
        let mut result = Ok(());
        let info = measure(|| result = session.run(&job).map(drop));
        result.map(|()| info.count_total)
    });
    [garbler.expect("honest"), evaluator.expect("honest")]
}

#[test]
fn rounds_of_a_loop_allocate_nothing() {
    for backend in [Backend::Plain, Backend::Yao] {
        let few = allocations(backend, 100);
        assert!(few.iter().all(|count| *count > 10), "the counter counts: {few:?}");
        let many = allocations(backend, 900);
        // How the bytes of messages come may make room for them once more, or not.
        let alike = few.iter().zip(&many).all(|(few, many)| few.abs_diff(*many) <= 8);
        assert!(alike, "{}: {few:?} and {many:?}", backend.name());
    }
}
