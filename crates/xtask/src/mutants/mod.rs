//! Mutants: small changes that each take one security check away, and the tests that must notice.
//!
//! `mutants/*.toml` is the list (mutants/README.md has the format). Each change is made in a copy
//! of the sources, never in the sources, one at a time; its test has to fail there.

mod check;
mod list;
mod runner;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

pub(crate) use check::check;
use list::{Mutant, Test};
use runner::{Runner, Verdict};

use crate::tree::Tree;

/// Time that a test may take whatever it took without a mutant: machines can be busy.
const TIMEOUT: Duration = Duration::from_secs(120);
/// How many times longer than without a mutant a test may take on top of that.
const SLOWER: u32 = 5;

/// Runs the mutants whose ids start with one of `wanted`, or all; `--list` names them instead.
pub(crate) fn run(root: &Path, wanted: &[String]) -> bool {
    let (options, ids): (Vec<_>, Vec<_>) = wanted.iter().partition(|word| word.starts_with("--"));
    let chosen = list::read(root).and_then(|mutants| list::choose(mutants, &ids));
    match (chosen, options.as_slice()) {
        (Ok(mutants), [option]) if *option == "--list" => {
            for Mutant { id, check, test, .. } in mutants {
                println!("{id}\t{check}\t{test}");
            }
            true
        }
        (Ok(mutants), []) => report(run_all(root, mutants)),
        (Ok(_), _) => report(Err("the only option is --list".into())),
        (Err(error), _) => report(Err(error)),
    }
}

/// Runs one mutant, which the hash of the commit chooses; without a commit, the first. It is one of a library's own test: what others take to build
/// would be a seventh of the time of all tests.
pub(crate) fn run_one(root: &Path) -> bool {
    let one = list::read(root).and_then(|mut mutants| {
        mutants.retain(|mutant| mutant.test.is_of_library());
        mutants.sort_by(|a, b| a.id.cmp(&b.id));
        let place = commit(root).map_or(0, |number| number as usize % mutants.len().max(1));
        mutants.into_iter().nth(place).ok_or_else(|| "the list is empty".into())
    });
    report(one.and_then(|one| run_all(root, vec![one])))
}

/// A number out of the hash of the commit that is checked out.
fn commit(root: &Path) -> Option<u64> {
    let head = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root).output().ok()?;
    u64::from_str_radix(std::str::from_utf8(&head.stdout).ok()?.get(..12)?, 16).ok()
}

/// Counts of a run.
#[derive(Default)]
struct Summary {
    noticed: usize,
    survived: usize,
    broken: usize,
}

fn report(ran: Result<Summary, String>) -> bool {
    match ran {
        Ok(Summary { noticed, survived, broken }) => {
            let broken_ones = if broken > 0 { format!(", {broken} broken") } else { String::new() };
            println!("mutants: {noticed} noticed, {survived} survived{broken_ones}");
            survived == 0 && broken == 0
        }
        Err(error) => {
            eprintln!("mutants: {error}");
            false
        }
    }
}

/// Runs `mutants` in the order in which least has to be built again.
fn run_all(root: &Path, mut mutants: Vec<Mutant>) -> Result<Summary, String> {
    list::order(&mut mutants);
    let folder = root.join("target/mutants");
    let tree = Tree::scratch(root, &folder, &BTreeMap::new())?;
    let runner = Runner::new(&tree, &folder);
    let mut limits = BTreeMap::new();
    let mut summary = Summary::default();
    for mutant in &mutants {
        let start = Instant::now();
        let limit = limits.entry(&mutant.test).or_insert_with(|| limit(&runner, &mutant.test));
        let verdict = match limit {
            Ok(limit) => runner.run(mutant, *limit),
            Err(error) => Verdict::Broken(error.clone()),
        };
        match verdict {
            Verdict::Noticed => summary.noticed += 1,
            Verdict::Survived => summary.survived += 1,
            Verdict::Broken(_) => summary.broken += 1,
        }
        println!("{} {verdict} ({:.0} s)", mutant.id, start.elapsed().as_secs_f64());
    }
    Ok(summary)
}

/// Runs a test once as it is: it has to pass, and its time says when it hangs.
fn limit(runner: &Runner<'_>, test: &Test) -> Result<Duration, String> {
    let time = runner.unchanged(test).map_err(|error| format!("without the mutant: {error}"))?;
    Ok(TIMEOUT + SLOWER * time)
}
