//! The figures of a machine in a file.

use std::fs;
use std::path::{Path, PathBuf};

use etcetera::{BaseStrategy, choose_base_strategy};
use serde_json::Value;

use super::{MACHINE_VERSION, Machine};
use crate::backends::Backend;

impl Machine {
    /// Where `cenote program calibrate` keeps the figures of this machine: `cenote/machine.json` in the
    /// user's cache directory.
    ///
    /// # Errors
    /// Why there is no such directory.
    pub fn kept() -> Result<PathBuf, String> {
        let strategy = choose_base_strategy().map_err(|error| error.to_string())?;
        Ok(strategy.cache_dir().join("cenote").join("machine.json"))
    }

    /// Figures that `cenote program calibrate` wrote.
    ///
    /// # Errors
    /// The file, the line and the column, and what is wrong there.
    pub fn read(file: &Path) -> Result<Machine, String> {
        let name = file.display();
        let text = fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
        parse(&text).map_err(|what| format!("{name}{what}"))
    }
}

fn parse(text: &str) -> Result<Machine, String> {
    let placed = |error: serde_json::Error| {
        let (line, column, what) = (error.line(), error.column(), error.to_string());
        let what = what.split(" at line ").next().unwrap_or_default();
        format!(":{line}:{column}: {what}")
    };
    let value: Value = serde_json::from_str(text).map_err(placed)?;
    // Before anything else: another version has other fields.
    if value["version"] != MACHINE_VERSION {
        return Err(format!(": these figures are not of version {MACHINE_VERSION}"));
    }
    let machine: Machine = serde_json::from_str(text).map_err(placed)?;
    match Backend::ALL.iter().find(|backend| !machine.has(**backend)) {
        Some(backend) => Err(format!(": no figures of `{}`; measure again", backend.name())),
        None => Ok(machine),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_of_another_version_or_form_are_refused_with_their_place() {
        let mut value = serde_json::to_value(Machine::typical()).expect("JSON");
        assert_eq!(parse(&value.to_string()), Ok(Machine::typical()));
        let text = serde_json::to_string_pretty(&value).expect("JSON");
        let broken = text.replacen("\"setup_s\": 0.005", "\"setup_s\": \"fast\"", 1);
        let line = broken.lines().take_while(|line| !line.contains("fast")).count() + 1;
        let what = parse(&broken).expect_err("a text for a number");
        assert!(what.starts_with(&format!(":{line}:")) && what.contains("fast"), "{what}");
        assert!(parse("{\n]").is_err_and(|what| what.starts_with(":2:1: ")));
        let mut less = value.clone();
        less["speeds"].as_object_mut().expect("by name").remove("yao");
        assert!(parse(&less.to_string()).is_err_and(|what| what.contains("no figures of `yao`")));
        value["version"] = json!(MACHINE_VERSION + 1);
        assert!(parse(&value.to_string()).is_err_and(|what| what.contains("version")));
    }
}
