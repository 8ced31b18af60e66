//! Fewer ANDs: statements that repeat or that nothing reads go, and functions and loop bodies pass
//! through the gate-level optimiser, each once, however often it runs.
//!
//! A function of gates, or one without loops, branches and opened values, is optimised as a circuit, once
//! for all its calls. The outcome is kept where the whole module then has fewer ANDs, or as many with
//! fewer other gates in a function of gates: what constants save at a call may be lost in a circuit.

use cenote_circuit::optimise::{self, Options};
use cenote_circuit::{Circuit, Gate, Gates, Program, Signature};
use serde::{Deserialize, Serialize};

use crate::builder::plain_circuit;
use crate::module::{Block, Body, Code, Module};
use crate::op::Op;
use crate::run::run_function;

/// What became of the functions of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptimiseReport {
    /// ANDs of the module before.
    pub ands_before: u64,
    /// ANDs of the module after.
    pub ands_after: u64,
    /// The functions that were replaced.
    pub functions: Vec<FunctionReport>,
}

/// What became of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionReport {
    /// Its name.
    pub name: String,
    /// ANDs of one call before.
    pub ands_before: u64,
    /// ANDs of one call after.
    pub ands_after: u64,
    /// All gates of one call before.
    pub gates_before: u64,
    /// All gates of one call after.
    pub gates_after: u64,
}

/// Gates that are looked at to count a module; larger ones stay as they are.
const COUNTED: u64 = 1 << 28;
/// Gates and work of a function, at most, that is made a circuit.
const MAX_GATES: u64 = 1 << 22;

impl Module {
    /// The same function with no more ANDs, and what was done.
    #[must_use]
    pub fn optimised(&self, options: &Options) -> (Module, OptimiseReport) {
        let tidy = self.tidied().unwrap_or_else(|_| self.clone());
        let (mut best, mut report) = tidy.with_better_functions(options);
        let bodies = tidy.outlined().map(|outlined| outlined.with_better_functions(options));
        if let Ok((module, with_bodies)) = bodies
            && with_bodies.ands_after < report.ands_after
        {
            (best, report) = (module, with_bodies);
        }
        report.ands_before = self.stats_within(COUNTED).map_or(report.ands_before, |s| s.ands);
        (best, report)
    }

    /// Functions replaced where that lowers the ANDs of the module.
    fn with_better_functions(&self, options: &Options) -> (Module, OptimiseReport) {
        let mut best = self.clone();
        let Ok(stats) = self.stats_within(COUNTED) else {
            return (best, OptimiseReport::default());
        };
        let mut report = OptimiseReport {
            ands_before: stats.ands,
            ands_after: stats.ands,
            functions: Vec::new(),
        };
        let mut straights = Vec::with_capacity(self.functions.len());
        for index in 0..self.functions.len() {
            let straight = match &best.functions[index].code {
                Code::Body(body) => is_straight(&body.block, &straights),
                Code::Gates(_) => true,
            };
            straights.push(straight);
            if !straight {
                continue;
            }
            let Some((circuit, outcome)) = best.replacement(index, options) else { continue };
            let mut next = best.clone();
            next.functions[index].code = Code::Gates(Box::new(circuit));
            // What is alive at calls of the function is another now: reading finds it anew.
            let Ok(next) = Module::from_bytes(&next.to_bytes()) else { continue };
            let Ok(stats) = next.stats_within(COUNTED) else { continue };
            let was_gates = matches!(self.functions[index].code, Code::Gates(_));
            if stats.ands < report.ands_after || (was_gates && stats.ands == report.ands_after) {
                report.ands_after = stats.ands;
                report.functions.push(outcome);
                best = next;
            }
        }
        (best, report)
    }

    /// A circuit for a function that is smaller than what it is now.
    fn replacement(&self, index: usize, options: &Options) -> Option<(Circuit, FunctionReport)> {
        let function = &self.functions[index];
        let before = match &function.code {
            Code::Gates(circuit) => circuit.as_ref().clone(),
            Code::Body(body) => {
                // Whatever calls it, a function may be far too large to be a circuit.
                self.body_stats(body, &function.params, MAX_GATES).ok()?;
                Circuit::from_program(&Single { module: self, body, index }).ok()?
            }
        };
        let (after, _) = optimise::circuit(&before, options);
        let (gates, wires) = (after.gates().to_vec(), after.output_wires().to_vec());
        let after = plain_circuit(&function.params, &function.results, gates, wires).ok()?;
        let report = FunctionReport {
            name: function.name.clone(),
            ands_before: ands(&before),
            ands_after: ands(&after),
            gates_before: before.gates().len() as u64,
            gates_after: after.gates().len() as u64,
        };
        let body = matches!(function.code, Code::Body(_));
        let fewer = report.ands_after < report.ands_before
            || (!body && report.gates_after < report.gates_before);
        fewer.then_some((after, report))
    }
}

/// Whether statements run one after the other, each once, given which functions called are of that kind.
fn is_straight(block: &Block, functions: &[bool]) -> bool {
    block.statements.iter().all(|statement| match &statement.op {
        Op::For { .. } | Op::Map { .. } | Op::If { .. } | Op::Reveal => false,
        Op::Call(callee) => functions.get(callee.0 as usize).copied().unwrap_or(false),
        _ => true,
    })
}

fn ands(circuit: &Circuit) -> u64 {
    circuit.gates().iter().filter(|gate| matches!(gate, Gate::And(..))).count() as u64
}

/// One function of a module, as a program of gates.
struct Single<'m> {
    module: &'m Module,
    body: &'m Body,
    index: usize,
}

impl Program for Single<'_> {
    fn name(&self) -> String {
        self.module.functions[self.index].name.clone()
    }

    fn signature(&self) -> Signature {
        let function = &self.module.functions[self.index];
        let mut signature = Signature::new();
        for (i, shape) in function.params.iter().enumerate() {
            signature = signature.input(&format!("in{i}"), shape.bits(), None);
        }
        for (i, shape) in function.results.iter().enumerate() {
            signature = signature.output(&format!("out{i}"), shape.bits(), None);
        }
        signature
    }

    fn digest(&self) -> [u8; 32] {
        self.module.digest()
    }

    fn run<G: Gates>(
        &self,
        g: &mut G,
        inputs: &[Vec<G::Wire>],
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        run_function(self.module, self.body, g, inputs)
    }
}
