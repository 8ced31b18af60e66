//! Fewer ANDs: statements that repeat, that nothing reads or that give constants go, and functions of
//! gates and pieces of all blocks pass through the gate-level optimiser, each once, however often it runs.
//!
//! A piece becomes a circuit only if that saves ANDs enough for what it adds to the file; what works lane
//! by lane becomes the circuit of one lane in a map. The whole module decides in the end: what constants
//! save where it runs may be lost in a circuit.

use cenote_circuit::optimise::{self, Options, PassReport, Report};
use cenote_circuit::{Circuit, Gate, Program as _};
use serde::{Deserialize, Serialize};

use crate::builder::plain_circuit;
use crate::module::{Code, Function, Module};
use crate::outline::{Piece, Planner, RECORDED};
use crate::stats::Stats;

/// The result of optimising a module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OptimiseReport {
    /// ANDs of the module before.
    pub ands_before: u64,
    /// ANDs of the module after.
    pub ands_after: u64,
    /// The gates and ANDs of the whole module that each pass leaves, in the order in which the
    /// passes ran: `start`, `words` for statements that went, `recorded` for pieces that became
    /// gates, the passes of the gate-level optimiser, and `end` with what constants save in
    /// circuits where these run.
    pub passes: Vec<PassReport>,
    /// The functions that were replaced, and those that were made.
    pub functions: Vec<FunctionReport>,
}

/// The fate of a function, or of statements that are one now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionReport {
    /// Its name.
    pub name: String,
    /// How often it runs.
    pub times: u64,
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

impl Module {
    /// The same function with no more ANDs, and what was done. With [`Options::depth`], circuits are
    /// shallow where that takes no more ANDs.
    #[must_use]
    pub fn optimised(&self, options: &Options) -> (Module, OptimiseReport) {
        let Ok(start) = self.stats_within(COUNTED) else {
            return (self.clone(), OptimiseReport::default());
        };
        let tidy = self.tidied().unwrap_or_else(|_| self.clone());
        let (tidy, stats) = match tidy.stats_within(COUNTED) {
            Ok(stats) if stats.ands <= start.ands => (tidy, stats),
            _ => (self.clone(), start.clone()),
        };
        let mut passes = Passes::new(&start, &stats);
        let mut functions = Vec::new();
        let (better, stats) =
            tidy.with_better_functions(options, stats, &mut passes, &mut functions);
        let (best, stats) = better.with_circuits(options, stats, &mut passes, &mut functions);
        passes.add("end", stats.gates(), stats.ands);
        let passes = passes.finish();
        let report =
            OptimiseReport { ands_before: start.ands, ands_after: stats.ands, passes, functions };
        (best, report)
    }

    /// Functions of gates replaced where the module has no more ANDs then.
    fn with_better_functions(
        &self,
        options: &Options,
        mut stats: Stats,
        passes: &mut Passes,
        functions: &mut Vec<FunctionReport>,
    ) -> (Module, Stats) {
        let mut best = self.clone();
        // Counting the module again for each function is what takes time.
        let mut work = COUNTED;
        for (index, times) in self.calls().into_iter().enumerate() {
            if times == 0 || work == 0 {
                continue;
            }
            let function = &self.functions[index];
            let Some((circuit, report)) = replacement(function, options) else { continue };
            let mut next = best.clone();
            let done = report_of(&function.name, times, function, &circuit);
            next.functions[index].code = Code::Gates(Box::new(circuit));
            // What is alive at calls of the function is another now: reading finds it anew.
            let Ok(next) = Module::from_bytes(&next.to_bytes()) else { continue };
            let Ok(found) = next.stats_within(COUNTED) else { continue };
            work = work.saturating_sub(found.counted.max(COUNTED >> 10));
            if found.ands <= stats.ands {
                passes.take(&report, times);
                functions.extend(done);
                (best, stats) = (next, found);
            }
        }
        (best, stats)
    }

    /// Pieces of all blocks replaced by circuits, as far as they keep what they promise.
    fn with_circuits(
        &self,
        options: &Options,
        stats: Stats,
        passes: &mut Passes,
        functions: &mut Vec<FunctionReport>,
    ) -> (Module, Stats) {
        let mut planner = Planner::new(options, self.to_bytes().len());
        if self.plan(&mut planner).is_err() {
            return (self.clone(), stats);
        }
        let mut pieces = planner.chosen();
        while !pieces.is_empty() {
            let module = self.with_pieces(&pieces).and_then(|module| module.tidied());
            let found = module.as_ref().ok().and_then(|module| module.stats_within(COUNTED).ok());
            let (Ok(module), Some(found)) = (module, found) else { break };
            // What is known where a piece runs may make it cheaper than it looks by itself.
            let saved: u64 = pieces.iter().map(Piece::saved).fold(0, u64::saturating_add);
            let kept = found.ands.saturating_add(saved / 2) <= stats.ands;
            if kept && (saved > 0 || found.depth < stats.depth) {
                for piece in &pieces {
                    passes.take(&piece.report, piece.times);
                }
                functions.extend(reports_of(&module, &pieces));
                return (module, found);
            }
            pieces.truncate(pieces.len() / 2);
        }
        (self.clone(), stats)
    }
}

/// A circuit for a function of gates that is smaller than what it is now.
fn replacement(function: &Function, options: &Options) -> Option<(Circuit, Report)> {
    let Code::Gates(before) = &function.code else { return None };
    let (after, report) = optimise::circuit(before, options);
    let size = |circuit: &Circuit| {
        let depth = if options.depth { circuit.stats().and_depth } else { 0 };
        (ands(circuit), depth, circuit.gates().len())
    };
    if size(&after) >= size(before) {
        return None;
    }
    let (gates, wires) = (after.gates().to_vec(), after.output_wires().to_vec());
    let circuit = plain_circuit(&function.params, &function.results, gates, wires).ok()?;
    Some((circuit, report))
}

fn report_of(name: &str, times: u64, was: &Function, is: &Circuit) -> Option<FunctionReport> {
    let Code::Gates(was) = &was.code else { return None };
    Some(FunctionReport {
        name: name.to_owned(),
        times,
        ands_before: ands(was),
        ands_after: ands(is),
        gates_before: was.gates().len() as u64,
        gates_after: is.gates().len() as u64,
    })
}

/// The functions that pieces became, in the order of the module.
fn reports_of(module: &Module, pieces: &[Piece]) -> Vec<FunctionReport> {
    let report = |function: &Function| {
        let Code::Gates(circuit) = &function.code else { return None };
        let same = |piece: &&Piece| {
            piece.circuit.gates() == circuit.gates()
                && piece.circuit.output_wires() == circuit.output_wires()
                && piece.circuit.signature() == circuit.signature()
        };
        let [ands_before, gates_before] = pieces.iter().find(same)?.before;
        Some(FunctionReport {
            name: function.name.clone(),
            times: pieces.iter().filter(same).fold(0, |sum, piece| sum.saturating_add(piece.times)),
            ands_before,
            ands_after: ands(circuit),
            gates_before,
            gates_after: circuit.gates().len() as u64,
        })
    };
    module.functions.iter().filter_map(report).collect()
}

fn ands(circuit: &Circuit) -> u64 {
    circuit.gates().iter().filter(|gate| matches!(gate, Gate::And(..))).count() as u64
}

/// The sizes that passes leave of a module: what they take of its circuits, as often as these run,
/// comes off.
struct Passes {
    rows: Vec<PassReport>,
    /// Gates and ANDs when the words were tidy.
    words: [u64; 2],
}

impl Passes {
    fn new(start: &Stats, words: &Stats) -> Passes {
        let words = [words.gates(), words.ands];
        let mut passes = Passes { rows: Vec::new(), words };
        passes.add("start", start.gates(), start.ands);
        passes.add("words", words[0], words[1]);
        passes.add(RECORDED, words[0], words[1]);
        passes
    }

    fn add(&mut self, name: &str, gates: u64, ands: u64) {
        let name = name.to_owned();
        self.rows.push(PassReport { name, gates, ands, gates_left: 1.0, ands_left: 1.0 });
    }

    /// Takes off what the passes of a circuit took that runs so many times.
    fn take(&mut self, report: &Report, times: u64) {
        let start = report.start();
        for pass in report.passes.iter().skip(1) {
            let place = self.rows.iter().position(|row| row.name == pass.name);
            let place = place.unwrap_or_else(|| self.copy_of_words(&pass.name));
            let less = |from: u64, start: u64, left: u64| {
                let (gone, more) = (start.saturating_sub(left), left.saturating_sub(start));
                from.saturating_sub(times.saturating_mul(gone))
                    .saturating_add(times.saturating_mul(more))
            };
            let row = &mut self.rows[place];
            row.gates = less(row.gates, start.gates, pass.gates);
            row.ands = less(row.ands, start.ands, pass.ands);
        }
    }

    /// The place of another pass, from which nothing was taken so far.
    fn copy_of_words(&mut self, name: &str) -> usize {
        let words = self.words;
        self.add(name, words[0], words[1]);
        self.rows.len() - 1
    }

    fn finish(mut self) -> Vec<PassReport> {
        let start = self.rows.first().cloned().unwrap_or_default();
        let fraction = |part: u64, of: u64| if of == 0 { 1.0 } else { part as f64 / of as f64 };
        for pass in &mut self.rows {
            pass.gates_left = fraction(pass.gates, start.gates);
            pass.ands_left = fraction(pass.ands, start.ands);
        }
        self.rows
    }
}
