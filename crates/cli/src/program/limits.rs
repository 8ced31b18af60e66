//! The limits of this side, from options and a file.

use std::fs;

use cenote_engine::cost::{Demand, Limits, Machine, Plan};
use cenote_engine::{Fault, Role, SessionConfig};
use cenote_job::policy;

use super::args::LimitArgs;
use crate::exit::Failure;

impl LimitArgs {
    /// The limits: those of the file, else the defaults, with the options in their place.
    pub(crate) fn chosen(&self) -> Result<Limits, Failure> {
        let mut limits = match &self.limits {
            None => Limits::default(),
            Some(file) => {
                let name = file.display();
                let text = fs::read_to_string(file)
                    .map_err(|error| Failure::bad_input(format!("{name}: {error}")))?;
                toml::from_str(&text).map_err(|error: toml::de::Error| {
                    let (line, column) = place(&text, error.span().map_or(0, |span| span.start));
                    Failure::bad_input(format!("{name}:{line}:{column}: {}", error.message()))
                })?
            }
        };
        limits.ands = self.max_ands.unwrap_or(limits.ands);
        limits.bytes = self.max_bytes.unwrap_or(limits.bytes);
        limits.seconds = self.max_seconds.unwrap_or(limits.seconds);
        limits.memory = self.max_memory.unwrap_or(limits.memory);
        Ok(limits)
    }
}

fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    (line, before.lines().last().filter(|_| !before.ends_with('\n')).map_or(0, str::len) + 1)
}

/// Refuses what `role` may not compute in a session by `config`, as a session would.
pub(super) fn refuse(
    limits: &Limits,
    config: &SessionConfig,
    demand: &Demand,
    machine: &Machine,
    role: Role,
) -> Result<(), Failure> {
    let plan = Plan::new(config, demand).map_err(Failure::unusable)?;
    let link = policy::PEER_LINK;
    let checked = plan.check(limits, machine, config.backend, demand, link, &[role]);
    checked.map_err(|excess| Fault::Policy(format!("the program takes too much: {excess}")).into())
}
