//! Labels that separate the hashes of different purposes: one style, each in one place.
//!
//! `cenote 2026 CRATE WHAT vN`, so that nobody else's hash has them and a grep finds them all.

use std::collections::BTreeMap;

use crate::source;

/// The calls that take a label as their first argument.
const TAKERS: &[&str] = &["RandomOracle::new(", "derive_key("];
/// Programs are identified by their digests, so these two stay as they were first released.
const DIGESTS: &[&str] =
    &["cenote 2025 program gate stream v1", "cenote 2026 structured program v1"];
/// The testkit's cheaters repeat the labels of the protocols that they play.
const REPEATING: &[&str] = &["testkit", "xtask"];

/// Breaches in the sources among these [`files`](source::files), their tests aside.
pub(crate) fn check(files: &[(String, String)]) -> Vec<String> {
    let mut places = BTreeMap::new();
    let mut found = Vec::new();
    for (path, text) in files {
        let mut parts = path.split('/').skip(1);
        let (krate, folder) = (parts.next().unwrap_or_default(), parts.next());
        if folder != Some("src") || REPEATING.contains(&krate) {
            continue;
        }
        for label in labels(source::without_tests(text)) {
            if !is_well_formed(label, krate) {
                found.push(format!("{path}: label {label:?}: `cenote 2026 {krate} WHAT vN`"));
            }
            if let Some(first) = places.insert(label, path) {
                found.push(format!("{path}: label {label:?} is used in {first} too"));
            }
        }
    }
    found
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
}
