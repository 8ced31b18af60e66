//! Labels that separate the hashes of different purposes: one style, one list, each in one place.
//!
//! `cenote 2026 CRATE WHAT vN`, so that nobody else's hash has them and a grep finds them all. The list is
//! `docs/protocols/labels.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::source;

/// The list: rows of label, file and use.
const LIST: &str = "docs/protocols/labels.md";
/// The calls that take a label as their first argument.
const TAKERS: &[&str] = &["RandomOracle::new(", "derive_key("];
/// Programs are identified by their digests, so these two stay as they were first released.
const DIGESTS: &[&str] =
    &["cenote 2025 program gate stream v1", "cenote 2026 structured program v1"];
/// Its cheaters repeat the labels of the protocols that they run.
const REPEATING: &str = "testkit";

/// Breaches in the sources among these [`files`](source::files), their tests aside, and in the list.
pub(crate) fn check(root: &Path, files: &[(String, String)]) -> Vec<String> {
    match fs::read_to_string(root.join(LIST)) {
        Ok(list) => breaches(&list, files),
        Err(error) => vec![format!("{LIST}: {error}")],
    }
}

fn breaches(list: &str, files: &[(String, String)]) -> Vec<String> {
    let rows: Vec<(&str, &str)> = list.lines().filter_map(row).collect();
    let mut found = overlaps(&rows);
    let mut left: BTreeSet<(&str, &str)> = rows.iter().copied().collect();
    for (path, text) in files {
        let mut parts = path.split('/').skip(1);
        let (krate, folder) = (parts.next().unwrap_or_default(), parts.next());
        if folder != Some("src") || krate == "xtask" {
            continue;
        }
        for label in labels(source::without_tests(text)) {
            if krate == REPEATING {
                if !rows.iter().any(|(listed, _)| *listed == label) {
                    found.push(format!("{path}: label {label:?} is none of {LIST}"));
                }
                continue;
            }
            if !is_well_formed(label, krate) {
                found.push(format!("{path}: label {label:?}: `cenote 2026 {krate} WHAT vN`"));
            }
            if !left.remove(&(label, path.as_str())) {
                found.push(format!("{path}: label {label:?} is not in {LIST}, or used twice"));
            }
        }
    }
    found.extend(left.iter().map(|(label, path)| format!("{LIST}: {label:?} is not in {path}")));
    found
}

/// Label and file of a row of the list.
fn row(line: &str) -> Option<(&str, &str)> {
    let (label, rest) = line.strip_prefix("| `")?.split_once("` | `")?;
    Some((label, rest.split_once('`')?.0))
}

/// Labels of the list that are the same as another or its beginning.
fn overlaps(rows: &[(&str, &str)]) -> Vec<String> {
    let mut sorted: Vec<&str> = rows.iter().map(|(label, _)| *label).collect();
    sorted.sort_unstable();
    // In order, what begins with a label comes next to it.
    let pairs = sorted.windows(2).filter(|pair| pair[1].starts_with(pair[0]));
    pairs.map(|pair| format!("{LIST}: {:?} is the beginning of {:?}", pair[0], pair[1])).collect()
}

/// Literals in the place of a label, and others that look like one.
fn labels(text: &str) -> impl Iterator<Item = &str> {
    let looks = text.match_indices("\"cenote 20").filter_map(|(at, _)| literal(&text[at..]));
    let taken = TAKERS.iter().flat_map(|taker| text.split(taker).skip(1)).filter_map(literal);
    looks.chain(taken.filter(|label| !label.starts_with("cenote 20")))
}

/// The string literal that `rest` starts with.
fn literal(rest: &str) -> Option<&str> {
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

fn is_well_formed(label: &str, krate: &str) -> bool {
    let mut words = label.split(' ');
    let version = words.next_back().and_then(|word| word.strip_prefix('v'));
    let head = [words.next(), words.next(), words.next()];
    let fits = head == [Some("cenote"), Some("2026"), Some(krate)] && words.next().is_some();
    DIGESTS.contains(&label) || fits && version.is_some_and(|n| n.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_name_crate_purpose_and_version() {
        assert!(is_well_formed("cenote 2026 ot base key v1", "ot"));
        for wrong in
            ["cenote ot base key", "cenote 2026 ot base key", "cenote 2026 ot v1", "ot base key v1"]
        {
            assert!(!is_well_formed(wrong, "ot"), "{wrong}");
        }
        assert!(!is_well_formed("cenote 2026 ot base key v1", "engine"));
    }

    #[test]
    fn labels_are_found_where_they_are_taken_and_where_they_are_named() {
        let text =
            "RandomOracle::new(\n    \"a\", s) const C: &str = \"cenote 2026 x y v1\"; f(\"b\")
            blake3::Hasher::new_derive_key(\"c\") RandomOracle::new(\"cenote 2026 x z v1\", s)";
        let mut found: Vec<&str> = labels(text).collect();
        found.sort_unstable();
        assert_eq!(found, ["a", "c", "cenote 2026 x y v1", "cenote 2026 x z v1"]);
    }

    #[test]
    fn the_list_and_the_code_have_the_same_labels() {
        let list = "| label | where | hashes |\n|---|---|---|\n\
                    | `cenote 2026 ot a v1` | `crates/ot/src/a.rs` | a |\n\
                    | `cenote 2026 ot b v1` | `crates/ot/src/b.rs` | b |\n";
        let found = |files: &[(&str, &str)]| {
            let file = |(path, label): &(&str, &str)| {
                (format!("crates/{path}"), format!("RandomOracle::new(\"{label}\", s)"))
            };
            breaches(list, &files.iter().map(file).collect::<Vec<_>>()).len()
        };
        let (a, b) =
            (("ot/src/a.rs", "cenote 2026 ot a v1"), ("ot/src/b.rs", "cenote 2026 ot b v1"));
        assert_eq!(found(&[a, b]), 0);
        assert_eq!(found(&[a]), 1, "left over");
        assert_eq!(found(&[a, b, ("ot/src/c.rs", "cenote 2026 ot c v1")]), 1, "not listed");
        assert_eq!(found(&[a, b, ("ot/src/c.rs", b.1)]), 1, "used twice");
        assert_eq!(found(&[a, ("ot/src/c.rs", b.1)]), 2, "elsewhere");
        assert_eq!(found(&[a, b, ("testkit/src/c.rs", b.1)]), 0);
        assert_eq!(found(&[a, b, ("testkit/src/c.rs", "cenote 2026 ot c v1")]), 1);
    }

    #[test]
    fn no_label_is_the_beginning_of_another() {
        assert!(overlaps(&[("a v1", ""), ("b v1", ""), ("a v2", "")]).is_empty());
        assert_eq!(overlaps(&[("b v1", ""), ("a v1", ""), ("a v10", "")]).len(), 1);
        assert_eq!(overlaps(&[("a v1", ""), ("a v1", "")]).len(), 1);
    }
}
