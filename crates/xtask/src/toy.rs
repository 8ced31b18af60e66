//! The proof that a backend is a folder, a file of the testkit, a line in the list of each, and its mutants: a
//! toy backend is added so to a copy of the sources, which then has to know it everywhere.
//!
//! What is added is in the folder `toy`: `docs/contribute/backend.md` shows it as the smallest example.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::python::Environment;
use crate::suite::succeeds;
use crate::tree::{Changes, Tree};

/// The new files.
const FILES: &[(&str, &str)] = &[
    ("crates/engine/src/backends/toy/mod.rs", include_str!("toy/backend.rs")),
    ("crates/testkit/src/adversary/toy.rs", include_str!("toy/adversary.rs")),
    ("mutants/toy.toml", include_str!("toy/mutants.toml")),
];

const BACKENDS: &str = "crates/engine/src/backends/mod.rs";
const TABLE: &str = "crates/testkit/src/adversary/mod.rs";

/// The new lines: their file, the line that they follow, and they.
const LINES: &[(&str, &str, &str)] = &[
    (BACKENDS, "pub mod plain;", "pub mod toy;"),
    (
        BACKENDS,
        "    Jimu = jimu::JimuSession,",
        "    /// Clear evaluation after a delay.\n    Toy = toy::ToySession,",
    ),
    (TABLE, "mod plain;", "mod toy;"),
    (TABLE, "            jimu", "            toy"),
];

/// Built together, so that all steps share one build of what they depend on.
const PACKAGES: &[&str] =
    &["-p", "cenote-engine", "-p", "cenote-testkit", "-p", "cenote-cli", "-p", "cenote-py"];

/// Tests that know all backends, and the suite of this one: starts of names, each of which has to run.
const TESTS: &[&str] = &[
    "toy::",
    "tags::tests::",
    "options::tests::",
    "every_message_has_a_row",
    "every_check_has_a_row",
    "stray_bits_are_refused_where_cheating_is_not_covered",
    "the_recording_itself_is_an_honest_peer",
    "wire_bytes_are_pinned_on_every_kind_of_processor",
];

/// The backend with an option of its own.
const CONFIGURATION: &str = "toy:delay=5";

/// A copy of the sources with the toy in it.
struct Toy {
    tree: Tree,
    folder: PathBuf,
}

type Step = (&'static str, fn(&Toy) -> Result<(), String>);

const STEPS: [Step; 5] = [
    ("lint", Toy::lint),
    ("fmt", Toy::fmt),
    ("tests", Toy::tests),
    ("command", Toy::command),
    ("python", Toy::python),
];

/// Adds the toy and runs the steps up to the first that fails.
pub(crate) fn run(root: &Path) -> bool {
    let ran = Toy::add(root).and_then(|toy| {
        STEPS.iter().try_for_each(|(name, step)| {
            println!("== toy: {name}");
            let start = Instant::now();
            step(&toy).map_err(|error| format!("{name} FAILED: {error}"))?;
            println!("== toy: {name} passed ({:.0} s)", start.elapsed().as_secs_f64());
            Ok(())
        })
    });
    match &ran {
        Ok(()) => println!("toy: all steps passed"),
        Err(error) => eprintln!("toy: {error}"),
    }
    ran.is_ok()
}

/// The files that the toy changes or adds, as they are with it.
fn changes(root: &Path) -> Result<Changes, String> {
    let mut changes = Changes::new();
    for (file, text) in FILES {
        if root.join(file).exists() {
            return Err(format!("{file} is there already"));
        }
        changes.insert(file.into(), (*text).to_owned());
    }
    for (file, after, line) in LINES {
        let read = || fs::read_to_string(root.join(file)).map_err(|e| format!("{file}: {e}"));
        let text = changes.remove(Path::new(file)).map_or_else(read, Ok)?;
        changes
            .insert(file.into(), insert(&text, after, line).map_err(|e| format!("{file}: {e}"))?);
    }
    Ok(changes)
}

/// The text with a line after the one that is `after`.
fn insert(text: &str, after: &str, line: &str) -> Result<String, String> {
    match text.lines().filter(|found| *found == after).count() {
        1 => Ok(text.replacen(&format!("\n{after}\n"), &format!("\n{after}\n{line}\n"), 1)),
        times => Err(format!("{times} lines, not one: {after}")),
    }
}

impl Toy {
    fn add(root: &Path) -> Result<Toy, String> {
        let folder = root.join("target/toy");
        let tree = Tree::scratch(root, &folder, &changes(root)?)?;
        Ok(Toy { tree, folder })
    }

    fn lint(&self) -> Result<(), String> {
        let breaches = crate::lint(self.tree.path());
        if breaches.is_empty() { Ok(()) } else { Err(breaches.join("\n")) }
    }

    fn fmt(&self) -> Result<(), String> {
        let formatted = succeeds(self.cargo("fmt").args(["--all", "--check"]));
        formatted.then_some(()).ok_or_else(|| "the sources are not formatted".into())
    }

    fn tests(&self) -> Result<(), String> {
        let mut command = self.cargo("test");
        command.args(PACKAGES).args(["--locked", "--no-fail-fast", "--lib"]);
        for target in ["conformance", "adversary", "robustness", "transcript"] {
            command.args(["--test", target]);
        }
        let said = command.arg("--").args(TESTS).env("PROPTEST_RNG_SEED", "2017");
        let said = said.stderr(Stdio::inherit()).output().map_err(|e| format!("cargo: {e}"))?;
        let (ended, said) = (said.status, String::from_utf8_lossy(&said.stdout).into_owned());
        if !ended.success() {
            return Err(format!("{said}{ended}"));
        }
        passed(&said)
    }

    /// Two parties of the command on this machine.
    fn command(&self) -> Result<(), String> {
        let mut build = self.cargo("build");
        if !succeeds(build.args(PACKAGES).args(["--locked", "--bin", "cenote"])) {
            return Err("the command does not compile".into());
        }
        let said = Command::new(self.folder.join("build/debug/cenote"))
            .arg("run")
            .arg(self.write("adder.txt", include_str!("toy/adder.txt"))?)
            .args(["--json", "--backend", CONFIGURATION, "--input", "3", "--input", "1"])
            .env("XDG_CACHE_HOME", self.folder.join("no-cache"))
            .output()
            .map_err(|e| format!("cenote: {e}"))?;
        let text = String::from_utf8_lossy(&said.stdout);
        let json: Value = serde_json::from_str(&text).unwrap_or_default();
        let found = json!([json["outputs"], json["backend"], json["configuration"]]);
        let wanted = json!([["4", "1"], "toy", CONFIGURATION]);
        if found == wanted { Ok(()) } else { Err(format!("{text}is not {wanted}")) }
    }

    /// Two parties of the Python package.
    fn python(&self) -> Result<(), String> {
        let needed = |line: &str| line.starts_with("maturin==");
        let environment = Environment::prepare(self.tree.path(), &self.folder.join("venv"), needed);
        let environment = environment.ok_or("no environment")?;
        let build = self.folder.join("build").display().to_string();
        let develop = ["develop", "--quiet", "--locked", "--target-dir", &build];
        if !environment.run("maturin", &develop) {
            return Err("the package is not built".into());
        }
        let script = self.write("run.py", include_str!("toy/run.py"))?.display().to_string();
        let ran = environment.run("python", &[&script, "toy", CONFIGURATION]);
        ran.then_some(()).ok_or_else(|| "two parties of the package".into())
    }

    /// Cargo in the copy, with the build folder beside it.
    fn cargo(&self, command: &str) -> Command {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.arg(command).current_dir(self.tree.path());
        cargo.env("CARGO_TARGET_DIR", self.folder.join("build"));
        cargo
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }
}

/// Refuses a run of tests in which one of [`TESTS`] has not run.
fn passed(said: &str) -> Result<(), String> {
    let ran = |start: &&&str| {
        let named =
            |line: &str| line.strip_prefix("test ").is_some_and(|name| name.starts_with(**start));
        said.lines().any(|line| named(line) && line.ends_with(" ok"))
    };
    let missing: Vec<&&str> = TESTS.iter().filter(|start| !ran(start)).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("no test: {missing:?}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The templates are built by `make toy` alone; what is cheap to see of them is seen here.
    #[test]
    fn the_toy_fits_the_sources() {
        let root = crate::repository_root();
        let changes = changes(&root).unwrap();
        assert_eq!(changes.len(), FILES.len() + 2);
        for (file, _, line) in LINES {
            assert!(changes[Path::new(file)].contains(&format!("\n{line}\n")), "{file}: {line}");
        }
        let copy = tempfile::tempdir().unwrap();
        for (file, text) in &changes {
            let path = copy.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let files = crate::source::files(copy.path()).unwrap();
        assert_eq!(crate::source::check(&files), [""; 0]);
    }

    #[test]
    fn a_line_is_inserted_at_one_place() {
        assert_eq!(insert("a\nb\nc\n", "b", "x").unwrap(), "a\nb\nx\nc\n");
        assert!(insert("a\nb\nb\n", "b", "x").unwrap_err().starts_with("2 lines"));
        assert!(insert("a\nbc\n", "b", "x").unwrap_err().starts_with("0 lines"));
    }

    #[test]
    fn tests_that_did_not_run_are_missed() {
        let all: Vec<String> = TESTS.iter().map(|name| format!("test {name}a ... ok")).collect();
        assert_eq!(passed(&all.join("\n")), Ok(()));
        assert!(passed(&all[1..].join("\n")).unwrap_err().contains("toy::"));
        assert!(passed(&all.join("\n").replace("ok", "ignored")).is_err());
    }
}
