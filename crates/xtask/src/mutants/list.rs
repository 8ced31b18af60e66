//! The list of mutants: `mutants/*.toml`.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;

use crate::tree::Edit;

/// Crates in the order of their layers: a change of one rebuilds those after it.
const LAYERS: &[&str] = &["prim", "net", "circuit", "program", "ot", "pool", "engine"];

/// A change that takes a check away, and the test that has to fail with it.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Entry")]
pub(super) struct Mutant {
    pub(super) id: String,
    /// Check id of the sources, or a rule that the list declares.
    pub(super) check: String,
    pub(super) edits: Vec<Edit>,
    pub(super) test: Test,
    /// Whether the test notices by never ending.
    pub(super) hangs: bool,
}

/// A test, out of the arguments of `cargo test`: `-p CRATE`, `--lib` or `--test NAME`, the start of
/// the test's name, and what follows for the test itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Test {
    /// Arguments that name what to build.
    pub(super) target: Vec<String>,
    /// Arguments of the test that was built; the first is the name.
    pub(super) arguments: Vec<String>,
}

impl Test {
    /// Whether it is a library's own: nothing above that library is built for it.
    pub(super) fn is_of_library(&self) -> bool {
        self.target[2] == "--lib"
    }
}

impl FromStr for Test {
    type Err = String;

    fn from_str(text: &str) -> Result<Test, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (target, rest) = match words.as_slice() {
            ["-p", _, "--lib", rest @ ..] => (&words[..3], rest),
            ["-p", _, "--test", _, rest @ ..] => (&words[..4], rest),
            _ => return Err(format!("-p CRATE, then --lib or --test NAME; not {text}")),
        };
        if rest.first().is_none_or(|name| name.starts_with('-')) {
            return Err(format!("names no test: {text}"));
        }
        let owned = |word: &&str| (*word).to_owned();
        let arguments = rest.iter().filter(|word| **word != "--").map(owned).collect();
        Ok(Test { target: target.iter().map(owned).collect(), arguments })
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cargo test {} {}", self.target.join(" "), self.arguments.join(" "))
    }
}

/// A mutant as it is written: one edit in place, or several in a list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    check: String,
    file: Option<PathBuf>,
    find: Option<String>,
    replace: Option<String>,
    #[serde(default)]
    edit: Vec<Edit>,
    test: String,
    #[serde(default)]
    hangs: bool,
    why: String,
}

impl TryFrom<Entry> for Mutant {
    type Error = String;

    fn try_from(entry: Entry) -> Result<Mutant, String> {
        let Entry { id, check, file, find, replace, edit, test, hangs, why } = entry;
        let edits = match (file, find, replace, edit) {
            (Some(file), Some(find), Some(replace), edit) if edit.is_empty() => {
                vec![Edit { file, find, replace }]
            }
            (None, None, None, edit) if !edit.is_empty() => edit,
            _ => return Err(format!("{id}: file, find and replace, or a list of edits")),
        };
        let test = test.parse().map_err(|error| format!("{id}: {error}"))?;
        if why.is_empty() || why.contains('\n') {
            return Err(format!("{id}: why is one line"));
        }
        Ok(Mutant { id, check, edits, test, hangs })
    }
}

/// One file of the list.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Layer {
    /// The rules that mutants remove and that are no check ids, with a line each.
    #[serde(default)]
    pub(super) rules: BTreeMap<String, String>,
    #[serde(default, rename = "mutant")]
    pub(super) mutants: Vec<Mutant>,
}

/// All files of the list, by name.
pub(super) fn layers(root: &Path) -> Result<Vec<Layer>, String> {
    let folder = root.join("mutants");
    let entries = fs::read_dir(&folder).map_err(|error| format!("mutants: {error}"))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths.iter().map(|path| layer(path)).collect()
}

fn layer(path: &Path) -> Result<Layer, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string());
    let layer = text.and_then(|text| toml::from_str(&text).map_err(|error| error.to_string()));
    layer.map_err(|error| format!("{}: {error}", path.display()))
}

/// The mutants of all files.
pub(super) fn read(root: &Path) -> Result<Vec<Mutant>, String> {
    Ok(layers(root)?.into_iter().flat_map(|layer| layer.mutants).collect())
}

/// Those whose ids start with one of `wanted`; all, if nothing is.
pub(super) fn choose(all: Vec<Mutant>, wanted: &[&String]) -> Result<Vec<Mutant>, String> {
    let unknown = |start: &&&String| !all.iter().any(|mutant| mutant.id.starts_with(**start));
    if let Some(start) = wanted.iter().find(unknown) {
        return Err(format!("no mutant's id starts with {start}"));
    }
    let mut chosen = all;
    chosen.retain(|mutant| {
        wanted.is_empty() || wanted.iter().any(|start| mutant.id.starts_with(*start))
    });
    Ok(chosen)
}

/// Puts next to each other what changes the same crate and what is tested by the same one.
pub(super) fn order(mutants: &mut [Mutant]) {
    mutants.sort_by_cached_key(|mutant| {
        let file = &mutant.edits[0].file;
        let krate = file.iter().nth(1).and_then(|name| name.to_str()).unwrap_or_default();
        let layer = LAYERS.iter().position(|name| *name == krate).unwrap_or(LAYERS.len());
        (layer, mutant.test.clone(), file.clone(), mutant.id.clone())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        [rules]
        "tls.pin" = "whose certificate it is"

        [[mutant]]
        id = "b.two"
        check = "tls.pin"
        test = "-p cenote-net --lib pins"
        why = "anybody joins"
        [[mutant.edit]]
        file = "crates/net/src/a.rs"
        find = "a"
        replace = "b"
        [[mutant.edit]]
        file = "crates/net/src/b.rs"
        find = "a"
        replace = "b"

        [[mutant]]
        id = "a.one"
        check = "tls.pin"
        file = "crates/prim/src/a.rs"
        find = "a"
        replace = "b"
        test = "-p cenote-net --lib pins"
        why = "anybody joins"
    "#;

    #[test]
    fn one_edit_or_several() {
        let mut mutants = toml::from_str::<Layer>(TEXT).unwrap().mutants;
        assert_eq!(mutants.iter().map(|mutant| mutant.edits.len()).collect::<Vec<_>>(), [2, 1]);
        order(&mut mutants);
        assert_eq!(mutants[0].id, "a.one");
        let (known, unknown) = ("b.".to_owned(), "c".to_owned());
        assert_eq!(choose(mutants.clone(), &[&known]).unwrap()[0].id, "b.two");
        assert!(choose(mutants, &[&known, &unknown]).is_err());
    }

    #[test]
    fn entries_that_are_not_whole_are_refused() {
        for (old, new) in [
            ("why = \"anybody joins\"", ""),
            ("why = \"anybody joins\"", "why = \"\""),
            ("why = \"anybody joins\"", "why = \"a\"\nWhy = \"b\""),
            (
                "id = \"a.one\"",
                "id = \"a.one\"\nedit = [{file = \"a\", find = \"a\", replace = \"b\"}]",
            ),
            ("file = \"crates/prim/src/a.rs\"", ""),
            ("--lib pins", "--lib"),
            ("--lib pins", "--lib -- --exact"),
            ("--lib pins", "pins"),
        ] {
            assert!(TEXT.contains(old));
            assert!(toml::from_str::<Layer>(&TEXT.replace(old, new)).is_err(), "{new}");
        }
    }
}
