//! The sizes that the passes leave.

use serde::{Deserialize, Serialize};

use super::net::Size;

/// The effect of an optimisation: the sizes after each pass, in the order in which they ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The start, which has the name `start`, and then every pass.
    pub passes: Vec<PassReport>,
}

/// Sizes after one pass. Gates are counted as they would be written, with inverters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PassReport {
    /// Name of the pass.
    pub name: String,
    /// All gates.
    pub gates: u64,
    /// ANDs.
    pub ands: u64,
    /// Gates as a fraction of those at the start; 1 if there were none.
    pub gates_left: f64,
    /// ANDs as a fraction of those at the start; 1 if there were none.
    pub ands_left: f64,
}

impl Report {
    /// Sizes before the first pass.
    pub fn start(&self) -> PassReport {
        self.passes.first().cloned().unwrap_or_default()
    }

    /// Sizes after the last pass.
    pub fn end(&self) -> PassReport {
        self.passes.last().cloned().unwrap_or_default()
    }

    /// Adds what a pass left; a pass that ran before, on another window, is added up.
    pub(crate) fn add(&mut self, name: &str, size: Size) {
        let place = match self.passes.iter().position(|pass| pass.name == name) {
            Some(place) => place,
            None => {
                self.passes.push(PassReport { name: name.to_owned(), ..PassReport::default() });
                self.passes.len() - 1
            }
        };
        self.passes[place].gates += size.gates;
        self.passes[place].ands += size.ands;
    }

    /// The report with its fractions.
    pub(crate) fn finish(mut self) -> Self {
        let start = self.start();
        let fraction = |part: u64, of: u64| if of == 0 { 1.0 } else { part as f64 / of as f64 };
        for pass in &mut self.passes {
            pass.gates_left = fraction(pass.gates, start.gates);
            pass.ands_left = fraction(pass.ands, start.ands);
        }
        self
    }
}
