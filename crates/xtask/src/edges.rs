//! Which crate may depend on which (docs/architecture.md, "Layers").

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Crate, and the crates of this workspace that it may use. Layers only look down.
const ALLOWED: &[(&str, &[&str])] = &[
    ("prim", &[]),
    ("net", &["prim"]),
    ("circuit", &["prim"]),
    ("program", &["circuit"]),
    ("frontend", &["circuit", "program"]),
    ("ot", &["prim", "net"]),
    ("pool", &["prim"]),
    ("engine", &["prim", "net", "circuit", "program", "ot", "pool"]),
    ("job", &["prim", "net", "circuit", "program", "pool", "engine"]),
    ("data", &["program"]),
    ("service", &["prim", "net", "circuit", "program", "pool", "engine", "job", "data"]),
    ("testkit", &["prim", "net", "circuit", "program", "frontend", "ot", "pool", "engine"]),
    (
        "cli",
        &[
            "prim", "net", "circuit", "program", "frontend", "ot", "pool", "engine", "job",
            "service",
        ],
    ),
    ("py", &["prim", "net", "circuit", "program", "engine", "job"]),
    ("xtask", &[]),
];

/// Crates that tests of any crate at or above them may use besides the allowed ones.
const TEST_SUPPORT: &[&str] = &["testkit"];

/// Breaches of [`ALLOWED`] in the manifests of the workspace at `root`.
pub(crate) fn check(root: &Path) -> Vec<String> {
    match metadata(root) {
        Ok(metadata) => breaches(&metadata),
        Err(error) => vec![format!("cargo metadata: {error}")],
    }
}

fn metadata(root: &Path) -> Result<Value, String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())
}

fn breaches(metadata: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for package in list(&metadata["packages"]) {
        let Some(name) = short_name(package) else {
            found.push(format!("{}: crate names start with cenote-", package["name"]));
            continue;
        };
        let Some((_, allowed)) = ALLOWED.iter().find(|(krate, _)| *krate == name) else {
            found.push(format!("{name}: no row in crates/xtask/src/edges.rs says what it may use"));
            continue;
        };
        for dependency in list(&package["dependencies"]) {
            let Some(used) = short_name(dependency) else { continue };
            let in_tests = dependency["kind"] == "dev" && TEST_SUPPORT.contains(&used);
            if !allowed.contains(&used) && !in_tests {
                found.push(format!("{name} may not use {used}: layers only look down"));
            }
        }
    }
    found
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn short_name(package: &Value) -> Option<&str> {
    package["name"].as_str()?.strip_prefix("cenote-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn workspace(name: &str, dependency: &str, kind: Option<&str>) -> Value {
        json!({"packages": [{"name": name, "dependencies": [
            {"name": dependency, "kind": kind}, {"name": "serde", "kind": null}]}]})
    }

    #[test]
    fn edges_downwards_pass_and_upwards_fail() {
        assert!(breaches(&workspace("cenote-engine", "cenote-pool", None)).is_empty());
        assert!(breaches(&workspace("cenote-net", "cenote-prim", None)).is_empty());
        for (user, used) in [
            ("prim", "net"),
            ("circuit", "net"),
            ("pool", "engine"),
            ("engine", "cli"),
            ("net", "ot"),
        ] {
            let manifest = workspace(&format!("cenote-{user}"), &format!("cenote-{used}"), None);
            assert_eq!(breaches(&manifest).len(), 1, "{user} -> {used}");
        }
    }

    #[test]
    fn tests_may_use_the_test_kit() {
        assert!(breaches(&workspace("cenote-engine", "cenote-testkit", Some("dev"))).is_empty());
        assert_eq!(breaches(&workspace("cenote-engine", "cenote-testkit", None)).len(), 1);
        assert_eq!(breaches(&workspace("cenote-prim", "cenote-cli", Some("dev"))).len(), 1);
    }

    #[test]
    fn unknown_crates_need_a_row() {
        assert_eq!(breaches(&workspace("cenote-new", "cenote-prim", None)).len(), 1);
        assert_eq!(breaches(&workspace("other", "cenote-prim", None)).len(), 1);
    }

    #[test]
    fn the_table_has_no_cycle() {
        for (row, (name, allowed)) in ALLOWED.iter().enumerate() {
            for used in *allowed {
                let earlier = ALLOWED[..row].iter().any(|(krate, _)| krate == used);
                assert!(earlier, "{name} -> {used} does not look down");
            }
        }
    }
}
