//! `cenote program calibrate`: short programs whose times tell how fast this machine is.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use cenote_engine::cost::{Demand, Machine, Plan, Speed};
use cenote_engine::{Backend, Role, SessionConfig};
use cenote_job as job;
use cenote_program::Module;
use serde_json::{Value, json};

use super::run::Trial;
use crate::computation::Computation;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::{self, Format, Reply};
use crate::progress;

/// The measurements, in the order in which one figure needs the ones before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Probe {
    Start,
    Moved,
    Statement,
    Linear,
    LinearBatch,
    Evaluated,
    Batch,
    Call,
    Wide,
    Pool,
    Input(Role),
}

impl Probe {
    const ALL: [Probe; 12] = [
        Probe::Start,
        Probe::Moved,
        Probe::Statement,
        Probe::Linear,
        Probe::LinearBatch,
        Probe::Evaluated,
        Probe::Batch,
        Probe::Call,
        Probe::Wide,
        Probe::Pool,
        Probe::Input(Role::Garbler),
        Probe::Input(Role::Evaluator),
    ];

    /// A program that does mostly one thing, for about a tenth of a second on `backend`.
    fn text(self, backend: Backend) -> String {
        // ANDs and inputs are what backends differ in.
        let size = backend.probe();
        let slow = |trips: u32| trips * size.trips / 2;
        let bits = size.inputs;
        match self {
            Probe::Start => repeated(1, 1, "and %3, %4"),
            Probe::Moved => repeated(500, 8192, "rotl{by=1} %3"),
            Probe::Statement => repeated(100_000, 1, "concat %3"),
            Probe::Linear => repeated(500, 8192, "xor %3, %4"),
            Probe::LinearBatch => repeated(500, 4096, "not %3"),
            Probe::Evaluated => repeated(slow(24).max(16), 8192, "and %3, %4"),
            Probe::Batch => repeated(slow(48), 4096, "neg %3"),
            Probe::Call => repeated(slow(400), 32, "mul %3, %4"),
            Probe::Wide => merging(slow(4).max(2)),
            // One multiplexer has a pool filled for the widest cores.
            Probe::Pool => repeated(1, 64, "mux %0, %3, %4"),
            Probe::Input(owner) => {
                let owner = owner.name();
                format!(
                    "cenote 1\nprogram probe \"measures this machine\"\n\
                     input a: {owner} bits {bits}xb1\n{{\n%r = lanes{{at=0, count=1, stride=1}} %0\n}}\n\
                     output c: both bits %r\n"
                )
            }
        }
    }
}

/// A loop around an operation on `bits` bits, in words of at most 4,096; in loops of so few rounds that they are no tapes, which would take less.
fn repeated(trips: u32, bits: u32, body: &str) -> String {
    let width = bits.min(4096);
    let lanes = bits / width;
    let (outer, inner) = if trips > 1 { (trips.div_ceil(7), 7) } else { (1, 1) };
    format!(
        "cenote 1\nprogram probe \"measures this machine\"\n\
         input a: garbler bits b1\ninput b: evaluator bits b1\n{{\n\
         %x = tile{{times={bits}}} %0\n%y = tile{{times={bits}}} %1\n\
         %p = reshape{{lanes={lanes}, width={width}}} %x\n\
         %q = reshape{{lanes={lanes}, width={width}}} %y\n\
         %r = for {outer} (%p) {{ |%o|\n\
         %i = for {inner} (%o) {{ |%3| %4 = concat %q %5 = {body} yield %5 }}\nyield %i }}\n\
         %l = lanes{{at=0, count=1, stride=1}} %r\n\
         %c = slice{{lo=0, width=1}} %l\n}}\noutput c: both bits %c\n"
    )
}

/// Layers of a network that merges tables: what programs mostly do with large values.
fn merging(layers: u32) -> String {
    format!(
        "cenote 1\nprogram probe \"measures this machine\"\n\
         input a: garbler bits b17\ninput b: evaluator bits b17\n{{\n\
         %x = tile{{times=4096}} %0\n%y = tile{{times=4096}} %1\n%t = join %x, %y\n\
         %z = const b17 0x00000\n\
         %r = for {layers} (%t) {{ |%u|\n\
         %v = reshape{{lanes=8, width=17408}} %u\n\
         %c = lanes{{at=1, count=4, stride=2}} %v\n%d = reshape{{lanes=4096, width=17}} %c\n\
         %e = lanes{{at=0, count=4, stride=2}} %v\n%f = reshape{{lanes=4096, width=17}} %e\n\
         %g = lt %d, %f\n%h = xor %f, %d\n%i = mux %g, %h, %z\n\
         %j = xor %f, %i\n%k = xor %d, %i\n%l = join %j, %k\n\
         %m = reshape{{lanes=8, width=17408}} %l\n%n = transpose{{rows=2}} %m\n\
         %o = reshape{{lanes=8192, width=17}} %n\nyield %o }}\n\
         %s = lanes{{at=0, count=1, stride=1}} %r\n}}\noutput c: both bits %s\n"
    )
}

pub(super) fn command(output: Option<PathBuf>, format: Format) -> Result<Reply, Failure> {
    let file = output.map_or_else(|| Machine::kept().map_err(homeless), Ok)?;
    let interrupt = Interrupt::install(format)?;
    let machine = measure(&interrupt)?;
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent).map_err(|error| unwritable(&file, &error))?;
    }
    let text = serde_json::to_string_pretty(&machine);
    let text = text.map_err(|error| Failure::internal(error.to_string()))?;
    fs::write(&file, text + "\n").map_err(|error| unwritable(&file, &error))?;
    let shown = serde_json::to_value(machine).unwrap_or_default();
    Ok(Reply::table(json!({ "file": file.display().to_string(), "machine": shown })))
}

fn unwritable(file: &Path, error: &std::io::Error) -> Failure {
    let file = file.display();
    Failure::bad_input(format!("{file}: {error}; name another place with --output"))
}

#[allow(clippy::needless_pass_by_value)]
fn homeless(what: String) -> Failure {
    Failure::bad_input(format!("{what}; name a file with --output"))
}

/// The figures of this machine and where they are from.
pub(super) fn figures(file: Option<&Path>) -> Result<(Machine, Value), Failure> {
    if let Some(file) = file {
        let machine = Machine::read(file).map_err(Failure::bad_input)?;
        return Ok((machine, json!(file.display().to_string())));
    }
    Ok(typical())
}

/// Those that are kept, or else typical ones.
pub(crate) fn typical() -> (Machine, Value) {
    let typical = (Machine::typical(), Value::Null);
    let Ok(file) = Machine::kept() else { return typical };
    if !file.exists() {
        return typical;
    }
    match Machine::read(&file) {
        Ok(machine) => (machine, json!(file.display().to_string())),
        Err(what) => {
            output::note(&format!("note: {what}; `cenote program calibrate` makes it anew"));
            typical
        }
    }
}

fn measure(interrupt: &Interrupt) -> Result<Machine, Failure> {
    let bar = progress::bar((Backend::ALL.len() * Probe::ALL.len()) as u64, "measuring");
    let mut machine = Machine::typical();
    machine.counted_s = counting()?;
    for backend in Backend::ALL {
        let mut lessons = Lessons::default();
        for probe in Probe::ALL {
            let trial = lessons.run(probe, backend, interrupt)?;
            if (probe, backend) == (Probe::Start, Backend::Plain) && trial.memory[0] > 0 {
                machine.process_bytes = trial.memory[0];
            }
            bar.inc(1);
        }
        machine.set_speed(backend, lessons.speed);
    }
    bar.finish_and_clear();
    Ok(machine)
}

/// Seconds of counting a gate of a program. A process has no memory at first and some later: a mean.
fn counting() -> Result<f64, Failure> {
    let text = "cenote 1\nprogram probe \"measures this machine\"\n\
                input a: garbler bits 8192xb16\ninput b: garbler bits 8192xb1\n\
                {\n%2 = transpose{rows=2} %0\n%3 = mux %1, %0, %2\n%4 = xor %3, %2\n\
                %5 = sum{width=29, groups=1} %4\n%6 = sum{width=14, groups=1} %1\n}\n\
                output c: both bits %5\noutput d: both bits %6\n";
    let module = Module::parse_text(text).map_err(|e| Failure::internal(e.to_string()))?;
    let start = Instant::now();
    let mut counted = 0;
    for _ in 0..RUNS {
        let stats = module.stats().map_err(|error| Failure::internal(error.to_string()))?;
        counted += stats.counted;
    }
    Ok(start.elapsed().as_secs_f64() / counted as f64)
}

/// The lessons of the probes so far about a backend.
#[derive(Default)]
struct Lessons {
    speed: Speed,
    /// Seconds of the online phase of a program that does nothing.
    start_s: f64,
}

impl Lessons {
    fn run(
        &mut self,
        probe: Probe,
        backend: Backend,
        interrupt: &Interrupt,
    ) -> Result<Trial, Failure> {
        let text = probe.text(backend);
        let module = Module::parse_text(&text).map_err(|e| Failure::internal(e.to_string()))?;
        let computation = Computation::of(job::Computation::of_module(Arc::new(module))?);
        let demand = computation.demand(&computation.signature());
        let config = SessionConfig::new(backend).for_ands(demand.stats.ands);
        let plan = Plan::new(&config, &demand);
        let plan = plan.map_err(Failure::unusable)?;
        let signature = computation.signature();
        let trial = best(|| Trial::run(&computation, &signature, config, None, interrupt))?;
        self.learn(probe, &plan, &demand, &trial);
        Ok(trial)
    }

    /// Learns from one probe: from its time without what the figures so far explain.
    fn learn(&mut self, probe: Probe, plan: &Plan, demand: &Demand, trial: &Trial) {
        let (speed, stats) = (&mut self.speed, &demand.stats);
        let rest = (trial.online_s - self.start_s - speed.online(plan, demand)).max(0.0);
        let explained = speed.setup_s + plan.made * speed.made_s + speed.online(plan, demand);
        let each = |count: f64| rest / count.max(1.0);
        match probe {
            Probe::Start => {
                self.start_s = trial.online_s;
                speed.setup_s = (trial.wall_s - trial.preprocess_s).max(0.0);
            }
            Probe::Moved => speed.moved_s = each(stats.moved_bits as f64),
            Probe::Wide => speed.wide_s = each(stats.wide_bits as f64),
            Probe::Statement => speed.statement_s = each(stats.statements as f64),
            Probe::Linear => speed.linear_s = each((stats.xors + stats.nots) as f64),
            Probe::LinearBatch => speed.linear_batch_s = each(stats.linear_batches as f64),
            Probe::Evaluated => {
                speed.evaluated_s = each(plan.evaluated);
                if plan.made > 0.0 {
                    speed.made_s = trial.preprocess_s / plan.made;
                }
            }
            Probe::Batch => speed.batch_s = each(stats.batches as f64),
            Probe::Call => speed.call_s = each(stats.calls as f64),
            Probe::Pool if plan.pool_bytes == 0 => {}
            Probe::Pool => {
                speed.pool_s = (trial.wall_s - explained).max(0.0) / plan.pool_bytes as f64;
            }
            Probe::Input(owner) => {
                // Reading inputs and what is prepared for them comes before they are brought in.
                let rest = (trial.wall_s - explained).max(0.0);
                let bits = stats.garbler_input_bits + stats.evaluator_input_bits;
                speed.input_s[owner as usize] = rest / bits.max(1) as f64;
            }
        }
    }
}

/// The least of each time of some runs: whatever disturbs makes them longer.
fn best(run: impl Fn() -> Result<Trial, Failure>) -> Result<Trial, Failure> {
    let mut best = run()?;
    for _ in 1..RUNS {
        let next = run()?;
        best.wall_s = best.wall_s.min(next.wall_s);
        best.preprocess_s = best.preprocess_s.min(next.preprocess_s);
        best.online_s = best.online_s.min(next.online_s);
    }
    Ok(best)
}

/// Runs of each probe.
const RUNS: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_programs_that_do_what_they_are_for() {
        for backend in Backend::ALL {
            for probe in Probe::ALL {
                let module = Module::parse_text(&probe.text(backend)).expect("a program");
                let stats = module.stats().expect("small");
                let linear = stats.xors + stats.nots;
                match probe {
                    Probe::Start => assert_eq!((stats.ands, linear), (1, 0)),
                    Probe::Moved => {
                        assert!(stats.ands + linear + stats.wide_bits == 0);
                        assert!(stats.moved_bits > 1 << 20);
                    }
                    Probe::Wide => assert!(stats.wide_bits >= 1 << 18),
                    Probe::Pool => assert_eq!(stats.muxes.get(&64), Some(&1)),
                    Probe::Statement => assert!(stats.statements >= 100_000),
                    Probe::Linear => {
                        assert!(stats.ands == 0 && linear > 1000 * stats.linear_batches);
                    }
                    Probe::LinearBatch => {
                        assert!(stats.ands == 0 && stats.linear_batches > 1 << 20);
                    }
                    Probe::Evaluated => {
                        assert!(linear == 0 && stats.ands > 1000 * stats.batches);
                    }
                    Probe::Batch => {
                        assert!(stats.ands > 1 << 13 && stats.ands == stats.batches);
                        assert!(stats.calls < stats.batches / 100);
                    }
                    Probe::Call => assert!(stats.calls > 100 && stats.calls > stats.ands / 200),
                    Probe::Input(owner) => {
                        let own = [stats.garbler_input_bits, stats.evaluator_input_bits];
                        assert!(own[owner as usize] > 1000 && own[1 - owner as usize] == 0);
                    }
                }
            }
        }
    }
}
