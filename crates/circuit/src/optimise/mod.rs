//! The optimiser: the same function with fewer gates, above all with fewer ANDs.
//!
//! XORs and negations cost a protocol nothing but time, so ANDs come first. The passes are
//! those of KSS12 section 5.1 and a reduction of ANDs by small cones; `docs/optimiser.md` describes them
//! and what they leave of the public circuits. Every pass is a function from a net to a net.
//! [`circuit`] optimises a circuit in memory, [`file()`] streams one that need not fit.

mod ands;
mod balance;
mod build;
mod constants;
mod dead;
mod forms;
mod identities;
mod inverters;
mod net;
mod pipeline;
mod polarity;
mod redundant;
mod report;
mod stream;
#[cfg(test)]
mod testing;

pub use report::{PassReport, Report};
pub use stream::{OptimiseError, Optimised, file, outputs};

use crate::circuit::Circuit;
use net::Net;

/// How to optimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Gates that are looked at together when a file is streamed: more find more repetitions, and take
    /// more memory (about 60 bytes each). A circuit in memory is one window.
    pub window: usize,
    /// Balance trees at the end, for fewer ANDs on the longest path.
    pub depth: bool,
}

/// Gates of a window at most.
const MAX_WINDOW: usize = 1 << 26;

impl Default for Options {
    fn default() -> Self {
        Self { window: 1 << 20, depth: false }
    }
}

/// A circuit of the same function and ports, with no more ANDs, and what each pass did.
///
/// Should what is left have more gates, because of inverters, and no fewer ANDs, the circuit stays as
/// it is.
pub fn circuit(circuit: &Circuit, options: &Options) -> (Circuit, Report) {
    let net = Net::from(circuit);
    let mut report = Report::default();
    report.add("start", net.size());
    let after = pipeline::run(net, options.depth, &mut report);
    let better = after.circuit(circuit).filter(|after| {
        let (start, end) = (report.start(), report.end());
        end.ands < start.ands || after.gates().len() <= circuit.gates().len() || options.depth
    });
    (better.unwrap_or_else(|| circuit.clone()), report.finish())
}
