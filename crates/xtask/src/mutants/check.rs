//! Checks of the list of mutants, as far as they need no build.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::list::{self, Mutant, Test};
use crate::source;
use crate::tree::apply;

/// Crates that have checks of their own; each of these checks needs a mutant.
const CHECKING: &[&str] = &["engine", "ot", "net", "pool", "service"];

/// Breaches in `mutants/*.toml`.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let layers = match list::layers(root) {
        Ok(layers) => layers,
        Err(error) => return vec![error],
    };
    let rules = layers.iter().flat_map(|layer| layer.rules.keys().cloned()).collect();
    let mutants: Vec<Mutant> = layers.into_iter().flat_map(|layer| layer.mutants).collect();
    let mut found = check_ids(&mutants);
    for mutant in &mutants {
        let breaches = check_edits(root, mutant).into_iter().chain(check_test(root, &mutant.test));
        found.extend(breaches.map(|breach| format!("mutants: {}: {breach}", mutant.id)));
    }
    found.extend(check_coverage(&mutants, &checks_of(root, CHECKING), &rules));
    found
}

fn check_ids(mutants: &[Mutant]) -> Vec<String> {
    let mut times = BTreeMap::new();
    for mutant in mutants {
        *times.entry(&mutant.id).or_insert(0) += 1;
    }
    let twice = times.into_iter().filter(|(_, times)| *times > 1);
    twice.map(|(id, times)| format!("mutants: {id}: {times} entries")).collect()
}

/// Edits that do not fit; several of one file build on each other.
fn check_edits(root: &Path, mutant: &Mutant) -> Vec<String> {
    let mut texts = BTreeMap::new();
    let edits = mutant.edits.iter().filter_map(|edit| {
        let read = || fs::read_to_string(root.join(&edit.file)).unwrap_or_default();
        let text = texts.entry(&edit.file).or_insert_with(read);
        apply(edit, text).map(|changed| *text = changed).err()
    });
    edits.collect()
}

/// Returns the problem with a test, if any: the file of its target does not exist, or nothing has
/// its name. The body of a test in `tests` may be in `src`, where a macro takes it from.
fn check_test(root: &Path, test: &Test) -> Option<String> {
    let folder = format!("crates/{}", test.target[1].trim_start_matches("cenote-"));
    let mut files = Vec::new();
    source::collect(&root.join(&folder).join("src"), &mut files);
    if let Some(name) = test.target.get(3) {
        let file = root.join(&folder).join("tests").join(name).with_extension("rs");
        if !file.is_file() {
            return Some(format!("there is no {}", file.display()));
        }
        files.push(file);
    }
    let name = test.arguments[0].rsplit("::").next().unwrap_or_default();
    let here = |path| fs::read_to_string(path).is_ok_and(|text: String| text.contains(name));
    (!files.iter().any(here)).then(|| format!("{folder} has no test {name}"))
}

/// Ids of checks in the sources: `Misbehaved("id")` and constants whose name ends in CHECK.
fn checks_of(root: &Path, crates: &[&str]) -> BTreeSet<String> {
    let mut files = Vec::new();
    for name in crates {
        source::collect(&root.join("crates").join(name).join("src"), &mut files);
    }
    let texts = files.iter().flat_map(fs::read_to_string);
    texts.flat_map(|text| checks_in(&text)).collect()
}

fn checks_in(text: &str) -> Vec<String> {
    let ids = ["Misbehaved(\"", "_CHECK: &str = \""].map(|marker| {
        let ids = text.split(marker).skip(1).filter_map(|rest| rest.split('"').next());
        ids.map(str::to_owned).collect::<Vec<_>>()
    });
    ids.concat()
}

/// Checks without a mutant, and mutants of what is neither a check nor a rule.
fn check_coverage(
    mutants: &[Mutant],
    checks: &BTreeSet<String>,
    rules: &BTreeSet<String>,
) -> Vec<String> {
    let removed: BTreeSet<String> = mutants.iter().map(|mutant| mutant.check.clone()).collect();
    let bare = checks.union(rules).filter(|check| !removed.contains(*check));
    let strange =
        removed.iter().filter(|check| !checks.contains(*check) && !rules.contains(*check));
    bare.map(|check| format!("mutants: {check} has no mutant"))
        .chain(strange.map(|check| format!("mutants: {check} is neither a check nor a rule")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(text: &str) -> Test {
        text.parse().unwrap()
    }

    fn mutant(id: &str, check: &str) -> Mutant {
        let (id, check) = (id.into(), check.into());
        Mutant { id, check, edits: vec![], test: test("-p cenote-ot --lib a"), hangs: false }
    }

    #[test]
    fn every_check_has_a_mutant_and_every_mutant_a_check() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let (checks, rules) = (names(&["a.b", "c"]), names(&["rule"]));
        let mutants = [mutant("1", "a.b"), mutant("2", "c"), mutant("3", "rule")];
        assert!(check_coverage(&mutants, &checks, &rules).is_empty());
        assert!(check_ids(&mutants).is_empty());
        assert_eq!(check_coverage(&mutants[1..], &checks, &rules).len(), 1);
        assert_eq!(check_coverage(&mutants[..2], &checks, &rules).len(), 1);
        assert_eq!(check_coverage(&mutants, &checks, &names(&[])).len(), 1);
        let twice = [mutant("1", "a.b"), mutant("1", "c")];
        assert_eq!(check_ids(&twice).len(), 1);
    }

    #[test]
    fn checks_are_found_in_sources() {
        let text = "Err(Fault::Misbehaved(\"a.b\")) const OF_CHECK: &str = \"c\"; \"d\"";
        assert_eq!(checks_in(text), ["a.b", "c"]);
    }

    #[test]
    fn tests_are_found_by_target_and_name() {
        let root = crate::repository_root();
        let own = "-p cenote-xtask --lib tests_are_found_by_target_and_name";
        assert_eq!(check_test(&root, &test(own)), None);
        let other = "-p cenote-testkit --test adversary every_check_has_a_row -- --exact";
        assert_eq!(check_test(&root, &test(other)), None);
        for wrong in [
            "-p cenote-testkit --test adversary no_such_test",
            "-p cenote-testkit --test no_such_file every_check_has_a_row",
        ] {
            assert!(check_test(&root, &test(wrong)).is_some(), "{wrong}");
        }
    }
}
