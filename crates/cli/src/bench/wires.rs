//! `cenote bench wires`: inputs of either party, and outputs to both.

use std::time::Instant;

use cenote_circuit::{bits_of, hex_from_bits};
use cenote_engine::{Fault, Job, Party, Receivers, Role, SessionConfig};
use cenote_net::Channels;
use cenote_prim::{Block, Prg};
use serde_json::{Value, json};

use super::module::Tail;
use super::{Setting, measure, module, sessions, summary, wrong};
use crate::bench::args::BenchWiresArgs;
use crate::exit::Failure;
use crate::output::{self, Format, Reply};
use crate::workers::{Both, Report, Task};

/// Bits of the sum of the inputs.
const SUM: usize = 128;

/// What a job brings in or opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Inputs of a party, and the sum of them as the result.
    Inputs(Role),
    /// The same of the garbler, and then all of them as results.
    Outputs,
}

/// The jobs of a session. The first is not measured: it leaves what the others leave, shares that were made for more inputs than came.
const PARTS: [Part; 4] = [
    Part::Inputs(Role::Garbler),
    Part::Inputs(Role::Garbler),
    Part::Inputs(Role::Evaluator),
    Part::Outputs,
];

pub(super) fn command(args: &BenchWiresArgs, format: Format) -> Result<Reply, Failure> {
    let wires = args.wires as usize;
    let sessions = sessions(&args.security, 0)?;
    let setting = Setting::new(&args.line)?;
    let task = |config: &SessionConfig| Task::Wires { wires, config: *config };
    let tasks: Vec<Task> = sessions.iter().map(task).collect();
    let expected = PARTS.map(|part| vec![Some(hex_from_bits(&part.expected(wires)))]);
    let runs = measure(&tasks, &setting, args.line.repeat, format, |both| {
        let right = |report: &Report| report.jobs.iter().map(|job| &job.outputs).eq(&expected);
        let right = right(&both.garbler) && right(&both.evaluator);
        if right { Ok(()) } else { Err(wrong("bench wires")) }
    })?;
    let results = sessions.iter().zip(runs).map(|(config, runs)| {
        let mut result = summary::session(config)?;
        result.insert("wires".into(), json!(wires));
        let figures = runs.iter().map(|both| figures(both, wires)).collect();
        Ok(summary::result(result, figures, &setting, &args.line))
    });
    Ok(summary::reply(results.collect::<Result<_, Failure>>()?))
}

/// Jobs with inputs from agreement to result, what they make included; outputs from the time when all that they hang on is there.
fn figures(both: &Both, wires: usize) -> Value {
    let mut figures = summary::times(both);
    let jobs = summary::jobs(both).split_off(1);
    let wires = wires as f64;
    let (names, fill) = (["garbler_input", "evaluator_input", "output"], summary::fill(both));
    // The last job begins like this one.
    let before = jobs.first().map_or(0, |job| job.bytes);
    for ((name, part), job) in names.into_iter().zip(&PARTS[1..]).zip(&jobs) {
        let bytes =
            if *part == Part::Outputs { job.bytes.saturating_sub(before) } else { job.bytes };
        let seconds = (job.seconds - job.start_s).max(1e-9);
        figures.insert(format!("{name}s_per_s"), json!(wires / seconds));
        figures.insert(format!("bytes_per_{name}"), json!(bytes as f64 / wires));
    }
    if let Some((fill_s, fill_bytes)) = fill {
        figures.insert("fill_s".into(), json!(fill_s));
        figures.insert("fill_bytes".into(), json!(fill_bytes));
    }
    figures.insert("parties".into(), summary::parties(both));
    Value::Object(figures)
}

/// One party's work.
pub(crate) fn party(
    channels: Channels,
    role: Role,
    wires: usize,
    config: SessionConfig,
) -> Result<Report, Failure> {
    let jobs = PARTS.map(|part| Phase { part, wires, role, opening: Tail::default() });
    let mut report = module::jobs(channels, role, &config, &jobs.each_ref())?;
    for (done, job) in report.jobs.iter_mut().zip(jobs) {
        job.opening.leave_to(done);
    }
    Ok(report)
}

/// One party's run of a job.
struct Phase {
    part: Part,
    wires: usize,
    role: Role,
    /// In which all wires are opened, where they are.
    opening: Tail,
}

impl Job for Phase {
    type Output = Vec<Option<Vec<bool>>>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        let digest = super::digest(&format!("bench wires {} {:?} v1", self.wires, self.part));
        vec![("program", "bench wires".to_owned()), ("digest", output::hex(&digest))]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Self::Output, Fault> {
        let owner = self.part.owner();
        let bits = (owner == self.role).then(|| self.part.inputs(self.wires));
        let inputs = party.input(owner, self.wires, bits.as_deref())?;
        let mut sum = vec![party.constant(false)?; SUM];
        for word in inputs.chunks(SUM) {
            let more = party.xor_many(&sum[..word.len()], word)?;
            sum.splice(..word.len(), more);
        }
        // When this is open, both sides have all inputs, checked.
        let sum = party.reveal(Receivers::Both, &sum)?;
        if self.part != Part::Outputs {
            return Ok(vec![sum]);
        }
        let begun = Instant::now();
        let outputs = party.reveal(Receivers::Both, &inputs)?;
        self.opening.ends(begun);
        Ok(vec![outputs])
    }
}

impl Part {
    const fn owner(self) -> Role {
        match self {
            Part::Inputs(owner) => owner,
            Part::Outputs => Role::Garbler,
        }
    }

    /// The input bits, fixed so that everybody can check the result.
    fn inputs(self, wires: usize) -> Vec<bool> {
        let mut prg = Prg::new(Block::new(7 + self.owner() as u128));
        let blocks = (0..wires.div_ceil(128)).map(|_| prg.block().to_u128());
        let mut bits: Vec<bool> = blocks.flat_map(|block| bits_of(block, 128)).collect();
        bits.truncate(wires);
        bits
    }

    /// The result, in the clear.
    fn expected(self, wires: usize) -> Vec<bool> {
        let inputs = self.inputs(wires);
        if self == Part::Outputs {
            return inputs;
        }
        let mut sum = vec![false; SUM];
        for word in inputs.chunks(SUM) {
            sum.iter_mut().zip(word).for_each(|(sum, bit)| *sum ^= bit);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_bit_is_in_the_result() {
        for part in PARTS {
            for wires in [1, 128, 300] {
                let inputs = part.inputs(wires);
                assert_eq!(inputs.len(), wires);
                let ones = |bits: &[bool]| bits.iter().filter(|bit| **bit).count() % 2;
                assert_eq!(ones(&part.expected(wires)), ones(&inputs), "{part:?} {wires}");
            }
        }
        let [_, x, y, _] = PARTS.map(|part| part.inputs(300));
        assert_ne!(x, y);
        assert_eq!(Part::Outputs.expected(300), x);
    }
}
