//! How many instructions a party takes for an AND, with all that is around it: what no busy machine changes. Counted by Valgrind, which
//! has no AVX-512, so that the kernels are those for AES-NI; with the program and without, so that what a session costs is not in it. Tests are
//! less optimised than releases: a figure tells what a change does, not what a release takes.

use std::path::Path;
use std::process::Command;

use cenote_engine::Role;
use cenote_testkit::alone::{CASES, Case};

/// Of each of [`CASES`], the garbler's and the evaluator's: a fifth more than was counted, for other compilers.
const MOST: [[u64; 2]; 6] =
    [[112, 112], [1790, 1670], [1610, 1490], [1690, 1580], [6210, 5020], [6750, 6250]];

/// Whether there is something to count with, without which CI fails, and the build is the one that the bounds are of.
fn can_count() -> bool {
    let found = Command::new("valgrind").arg("--version").output().is_ok();
    if found && cfg!(all(target_arch = "x86_64", debug_assertions)) {
        return true;
    }
    assert!(found || std::env::var("CI").as_deref() != Ok("true"), "valgrind is missing");
    eprintln!("skipped: instructions are counted by valgrind, on x86-64, in builds for tests");
    false
}

/// Instructions of the whole process that plays one party, with the program or without.
fn instructions(case: usize, role: Role, run: bool, received: &Path) -> u64 {
    let arguments = [case, role as usize, usize::from(run)].map(|number| number.to_string());
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env!("CARGO_BIN_EXE_alone"))
        .args(arguments)
        .arg(received)
        .output()
        .expect("valgrind starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected :"));
    collected.and_then(|(_, count)| count.trim().parse().ok()).expect("a count of instructions")
}

/// Instructions for each AND, the garbler's and the evaluator's.
fn for_each_and(index: usize, case: &Case) -> [u64; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let received = case.record();
    [Role::Garbler, Role::Evaluator].map(|role| {
        let file = folder.path().join(format!("{role:?}"));
        std::fs::write(&file, &received[role as usize]).expect("a file");
        let [without, with] = [false, true].map(|run| instructions(index, role, run, &file));
        (with - without) / case.ands()
    })
}

#[test]
fn no_party_takes_more_instructions_for_an_and() {
    if !can_count() {
        return;
    }
    let cases: Vec<usize> = (0..CASES.len()).collect();
    // Two at a time: as many as the smallest machines have cores.
    let counted = std::thread::scope(|scope| {
        let halves = [cases.iter().step_by(2), cases[1..].iter().step_by(2)];
        let halves = halves.map(|half| {
            scope
                .spawn(move || half.map(|i| (*i, for_each_and(*i, &CASES[*i]))).collect::<Vec<_>>())
        });
        halves.map(|half| half.join().expect("counts")).concat()
    });
    let mut above = Vec::new();
    for (i, counted) in counted {
        println!("{:14} {counted:?}, at most {:?}", CASES[i].name, MOST[i]);
        for (counted, most) in counted.into_iter().zip(MOST[i]) {
            // A bound far above what is counted tells nothing.
            if !(most / 2..=most).contains(&counted) {
                above.push(format!("{}: {counted}, not {} to {most}", CASES[i].name, most / 2));
            }
        }
    }
    assert!(above.is_empty(), "{above:#?}");
}
