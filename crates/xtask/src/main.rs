//! House keeping of the repository: `cargo xtask lint`, `test`, `mutants`, `toy`, `demo`, `fuzz-api`.
//!
//! `lint` checks what the compiler cannot: which crate may depend on which, the house rules about
//! source files, labels of hashes, the list of mutants. `test` runs every check there is, in one order, and ends with
//! one line of counts. `mutants` takes security checks away one by one and demands that a test
//! fails. `toy` adds a backend to a copy of the sources and uses it. `demo` builds and runs the demonstration. `fuzz-api` sends
//! the API of a service whatever its description allows, and more.

mod circles;
mod demo;
mod edges;
mod labels;
mod mutants;
mod python;
mod source;
mod suite;
mod test_programs;
mod toy;
mod tree;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask lint | test [STEP]... | mutants [--list] [START OF AN ID]... | toy | demo [OPTION]... | fuzz-api SECONDS";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = repository_root();
    let passed = match arguments.split_first() {
        Some((command, [])) if command == "lint" => report(&lint(&root)),
        Some((command, steps)) if command == "test" => suite::run(&root, steps),
        Some((command, [])) if command == "toy" => toy::run(&root),
        Some((command, options)) if command == "demo" => demo::run(&root, options),
        Some((command, [seconds])) if command == "fuzz-api" => python::fuzz_api(&root, seconds),
        Some((command, wanted)) if command == "mutants" => mutants::run(&root, wanted),
        _ => {
            eprintln!("{USAGE}\nsteps: {}", suite::step_names().join(" "));
            return ExitCode::from(2);
        }
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// All breaches of the layer and source rules and in the list of mutants, as printable lines.
fn lint(root: &Path) -> Vec<String> {
    let mut breaches = edges::check(root);
    match source::files(root) {
        Ok(files) => breaches.extend(
            [source::check(&files), circles::check(&files), labels::check(root, &files)].concat(),
        ),
        Err(error) => breaches.push(format!("crates: {error}")),
    }
    breaches.extend(mutants::check(root));
    breaches
}

fn report(breaches: &[String]) -> bool {
    for breach in breaches {
        eprintln!("lint: {breach}");
    }
    println!("lint: {} breaches", breaches.len());
    breaches.is_empty()
}

fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .map(Path::to_path_buf)
        .unwrap_or_default()
}
