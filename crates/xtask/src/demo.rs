//! The demonstration: the command and the Python package as releases, then `python -m demo`.

use std::path::Path;

use super::python::Environment;
use super::suite::{cargo, succeeds};

/// What the package needs to speak with a service, and what builds it.
fn needed(requirement: &str) -> bool {
    ["httpx=", "maturin=", "tomli="].iter().any(|name| requirement.starts_with(name))
}

/// Builds what is missing and runs the demonstration with these arguments.
pub(crate) fn run(root: &Path, arguments: &[String]) -> bool {
    if !cargo(root, &["build", "--release", "--locked", "--package", "cenote-cli"], &[]) {
        return false;
    }
    // An environment of its own: that of the checks takes minutes to download.
    let Some(environment) = Environment::prepare(root, &root.join("target/demo"), needed) else {
        return false;
    };
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), |dir| root.join(dir));
    let mut demo = environment.python(&["-m", "demo", "--cenote"]);
    demo.arg(target.join("release/cenote")).args(arguments);
    environment.run("maturin", &["develop", "--release", "--locked", "--quiet"])
        && succeeds(&mut demo)
}
