//! The demonstration: the command and the Python package as releases, then `python -m demo`.

use std::path::Path;

use super::python::Environment;
use super::suite::{built, cargo, succeeds};

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
    let mut demo = environment.python(&["-m", "demo", "--cenote"]);
    demo.arg(built(root, "release")).args(arguments);
    environment.run("maturin", &["develop", "--release", "--locked", "--quiet"])
        && succeeds(&mut demo)
}
