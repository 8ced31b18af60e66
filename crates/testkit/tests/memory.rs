//! Memory is constant in the length of a program. A test binary of its own: it reads the peak of
//! the whole process.

use cenote_circuit::Clear;
use cenote_engine::{Backend, Receivers};
use cenote_testkit::adversary::entry;
use cenote_testkit::programs::{Kind, TestProgram};
use cenote_testkit::run::{batches_of, run_program, sessions, with_pool};

/// Peak resident memory in KiB; none where the system does not tell.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn run(backend: Backend, gates: usize) {
    // Where ANDs are slow, fewer will do: an item of a pool is more than a kilobyte, were it kept.
    let kind = if entry(backend).few_ands { Kind::Sparse } else { Kind::Stream };
    let program = TestProgram(kind(gates));
    let inputs = program.inputs(1);
    let config = with_pool(backend, batches_of(backend, 20_000));
    let (garbler, evaluator) =
        sessions(&config, 1, |session, _| run_program(session, &program, &inputs, Receivers::Both));
    let clear: Vec<_> = Clear::eval(&program, &inputs).into_iter().map(Some).collect();
    assert_eq!((garbler, evaluator), (Ok(clear.clone()), Ok(clear)));
}

#[test]
fn peak_memory_does_not_follow_the_length() {
    for backend in Backend::ALL {
        run(backend, 1_000_000);
        run(backend, 1_000_000);
        let Some(short) = peak_kib() else {
            println!("skipped: this system does not tell its peak memory");
            return;
        };
        run(backend, 4_000_000);
        let grown = peak_kib().unwrap_or(short) - short;
        // Three million more gates on both sides: four bytes for each would be seen, and whatever
        // is kept of a gate takes more. The rest is room for the allocator and for the queue
        // between the threads, which fills as the machine pleases.
        assert!(grown < 24 << 10, "{}: {grown} KiB more for four times the gates", backend.name());
    }
}
