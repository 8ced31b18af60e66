//! `cenote bench hamming`, `sort` and `edit`: programs of the library through a backend.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use cenote_circuit::{bits_of, hex_from_bits, value_of};
use cenote_engine::{Job, ModuleJob, Role, Session, SessionConfig};
use cenote_job::Summary;
use cenote_net::Channels;
use cenote_prim::{Block, Prg};
use cenote_program::{Module, Stats, library};
use num_bigint::BigUint;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Setting, and, compile, measure, sessions, summary, wrong};
use crate::bench::args::{
    BenchEditArgs, BenchHammingArgs, BenchLineArgs, BenchSecurityArgs, BenchSortArgs,
};
use crate::exit::Failure;
use crate::output::{Format, Reply};
use crate::workers::{Both, Fill, JobReport, Report, Task};

/// A program of the library and its size; `Rsa` is compiled and evaluated, not run.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Work {
    Hamming { bits: u32 },
    Sort { n: u32, width: u32 },
    Edit { rows: u32, columns: u32, bits: u32 },
    Rsa { bits: u32 },
}

pub(super) fn hamming(args: &BenchHammingArgs, format: Format) -> Result<Reply, Failure> {
    command(
        Work::Hamming { bits: args.bits },
        None,
        args.warm.warm,
        &args.security,
        &args.line,
        format,
    )
}

pub(super) fn sort(args: &BenchSortArgs, format: Format) -> Result<Reply, Failure> {
    let work = Work::Sort { n: args.n, width: u32::from(args.width) };
    command(work, None, args.warm.warm, &args.security, &args.line, format)
}

pub(super) fn edit(args: &BenchEditArgs, format: Format) -> Result<Reply, Failure> {
    let (n, bits) = (args.n, u32::from(args.bits));
    let whole = Work::Edit { rows: n, columns: n, bits };
    let Some(rows) = args.rows else {
        return command(whole, None, args.warm.warm, &args.security, &args.line, format);
    };
    if rows > n {
        return Err(Failure::bad_input(format!("--rows {rows}: the table has {n} rows")));
    }
    let slice = Work::Edit { rows, columns: n, bits };
    command(slice, Some(whole), args.warm.warm, &args.security, &args.line, format)
}

/// Measures `work`, a second run of it if `warm`; `whole` is what it is a slice of.
fn command(
    work: Work,
    whole: Option<Work>,
    warm: bool,
    security: &BenchSecurityArgs,
    line: &BenchLineArgs,
    format: Format,
) -> Result<Reply, Failure> {
    let stats = compile::stats(&work.module()?)?;
    let whole = whole.map(|whole| compile::stats(&whole.module()?)).transpose()?;
    let sessions = sessions(security, stats.ands)?;
    let setting = Setting::new(line)?;
    let task = |config: &SessionConfig| Task::Module { work, warm, config: *config };
    let tasks: Vec<Task> = sessions.iter().map(task).collect();
    let expected = vec![Some(hex_from_bits(&work.expected()))];
    let runs = measure(&tasks, &setting, line.repeat, format, |both| {
        let right = both.garbler.outputs == expected && both.evaluator.outputs == expected;
        if right { Ok(()) } else { Err(wrong("bench of a program")) }
    })?;
    let results = sessions.iter().zip(runs).map(|(config, runs)| {
        let mut result = summary::session(config)?;
        result.insert("ands".into(), json!(stats.ands));
        result.insert("warm".into(), json!(warm));
        result.extend(work.fields());
        result.extend(compile::gates(&stats));
        let figures = runs.iter().map(|both| figures(both, &stats, whole.as_ref())).collect();
        Ok(summary::result(result, figures, &setting, line))
    });
    Ok(summary::reply(results.collect::<Result<_, Failure>>()?))
}

/// Those of `bench and`, the job alone, and what the whole would take if this is a slice of it.
fn figures(both: &Both, stats: &Stats, whole: Option<&Stats>) -> Value {
    let mut figures = match and::figures(both, stats.ands) {
        Value::Object(figures) => figures,
        _ => Map::new(),
    };
    let job = summary::last_job(both);
    figures.insert("job_s".into(), json!(job.seconds));
    if let Some(whole) = whole {
        let times = whole.ands as f64 / stats.ands as f64;
        let mut fields = compile::gates(whole);
        fields.insert("predicted_job_s".into(), json!(times * job.seconds));
        fields.insert("predicted_job_bytes".into(), json!((times * job.bytes as f64).round()));
        figures.insert("whole".into(), Value::Object(fields));
    }
    Value::Object(figures)
}

/// One party's work.
pub(crate) fn party(
    channels: Channels,
    role: Role,
    work: Work,
    warm: bool,
    config: SessionConfig,
) -> Result<Report, Failure> {
    let module = work.module()?;
    // The text that a configuration travels as says nothing of the computation.
    let ands = compile::stats(&module)?.ands;
    let config = config.for_ands(ands);
    let ports = module.inputs().iter().zip(work.inputs());
    let own = ports.filter(|(port, _)| port.owner == role).map(|(_, bits)| bits).collect();
    let job = ModuleJob::new(&module, role, own)?.at(config.rho()).of_ands(ands);
    jobs(channels, role, &config, &measured(&job, warm))
}

/// One party's session of jobs, one after the other, whose pool is filled before the first.
pub(super) fn jobs<J>(
    channels: Channels,
    role: Role,
    config: &SessionConfig,
    jobs: &[&J],
) -> Result<Report, Failure>
where
    J: Job<Output = Vec<Option<Vec<bool>>>>,
{
    let mut session = Session::open(channels, role, config)?;
    let mut report = Report::default();
    if config.has_pool() {
        report.fill = Some(Fill::of(&mut session, Session::fill)?);
    }
    for job in jobs {
        let outcome = session.run(*job)?;
        report.jobs.push(JobReport::of(&outcome));
    }
    report.session(&Summary::of(&mut session));
    session.close();
    Ok(report.finish())
}

/// Seconds of the part of a job with which it ends, in its last run.
#[derive(Default)]
pub(super) struct Tail(Mutex<Option<f64>>);

impl Tail {
    /// The part has `begun` then and ends now.
    pub(super) fn ends(&self, begun: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(begun.elapsed().as_secs_f64());
    }

    /// What comes before the part is the start of the job that is `done`.
    pub(super) fn leave_to(self, done: &mut JobReport) {
        if let Some(tail_s) = self.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            done.start_s = (done.wall_s - tail_s).max(0.0);
        }
    }
}

/// A job, and before it the same for nothing if it is to find all pools full.
pub(super) fn measured<J>(job: &J, warm: bool) -> Vec<&J> {
    vec![job; 1 + usize::from(warm)]
}

impl Work {
    pub(super) fn module(self) -> Result<Module, Failure> {
        let module = match self {
            Work::Hamming { bits } => library::hamming(bits),
            Work::Sort { n, width } => library::sort(n, width),
            Work::Edit { rows, columns, bits } => library::edit_distance(rows, columns, bits),
            Work::Rsa { bits } => library::mod_exp(bits),
        };
        module.map_err(|error| Failure::bad_input(error.to_string()))
    }

    fn fields(self) -> Map<String, Value> {
        let fields = match self {
            Work::Hamming { bits } => vec![("bits", bits)],
            Work::Sort { n, width } => vec![("n", n), ("width", width)],
            Work::Edit { rows, columns, bits } => {
                vec![("n", columns), ("rows", rows), ("bits", bits)]
            }
            Work::Rsa { bits } => vec![("bits", bits)],
        };
        fields.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect()
    }

    /// Bits of each input, fixed so that everybody can check the result: those of the garbler, that of the
    /// evaluator.
    pub(super) fn inputs(self) -> Vec<Vec<bool>> {
        let counts = match self {
            Work::Hamming { bits } => vec![bits, bits],
            Work::Sort { n, width } => vec![n.div_ceil(2) * width, n / 2 * width],
            Work::Edit { rows, columns, bits } => vec![rows * bits, columns * bits],
            Work::Rsa { bits } => vec![bits; 3],
        };
        let mut prg = Prg::new(Block::new(3));
        let mut word = |count: u32| {
            let count = count as usize;
            let blocks = (0..count.div_ceil(128)).map(|_| prg.block().to_u128());
            let mut bits: Vec<bool> = blocks.flat_map(|block| bits_of(block, 128)).collect();
            bits.truncate(count);
            bits
        };
        let mut inputs: Vec<Vec<bool>> = counts.into_iter().map(&mut word).collect();
        if let (Work::Rsa { .. }, [_, modulus, _]) = (self, inputs.as_mut_slice()) {
            // A modulus is odd.
            modulus[0] = true;
        }
        inputs
    }

    /// The output, computed in the clear by means of its own.
    pub(super) fn expected(self) -> Vec<bool> {
        let inputs = self.inputs();
        let (x, y) = (&inputs[0], &inputs[1]);
        match self {
            Work::Hamming { bits } => {
                let distance = x.iter().zip(y).filter(|(x, y)| x != y).count();
                number(distance as u128, u64::from(bits))
            }
            Work::Sort { width, .. } => {
                let words = inputs.concat();
                let mut words: Vec<u128> = words.chunks(width as usize).map(value_of).collect();
                words.sort_unstable();
                words.into_iter().flat_map(|word| bits_of(word, width as usize)).collect()
            }
            Work::Edit { rows, columns, bits } => {
                let symbols =
                    |bits_of: &[bool]| bits_of.chunks(bits as usize).map(value_of).collect();
                let distance = levenshtein(symbols(x), symbols(y));
                number(distance.into(), u64::from(rows) + u64::from(columns))
            }
            Work::Rsa { bits } => {
                let [exponent, modulus, base] = [0, 1, 2].map(|input| integer(&inputs[input]));
                let power = base.modpow(&exponent, &modulus);
                (0..u64::from(bits)).map(|bit| power.bit(bit)).collect()
            }
        }
    }
}

fn integer(bits: &[bool]) -> BigUint {
    let bytes = bits.chunks(8).map(|bits| value_of(bits) as u8);
    BigUint::from_bytes_le(&bytes.collect::<Vec<u8>>())
}

/// A number as wide as the largest possible one.
fn number(value: u128, largest: u64) -> Vec<bool> {
    bits_of(value, largest.checked_ilog2().map_or(1, |log| log as usize + 1))
}

/// The table row by row.
fn levenshtein(x: Vec<u128>, y: Vec<u128>) -> u32 {
    let mut row: Vec<u32> = (0..).take(y.len() + 1).collect();
    for (above, x) in (1..).zip(&x) {
        let mut diagonal = std::mem::replace(&mut row[0], above);
        let mut left = above;
        for (entry, y) in row[1..].iter_mut().zip(&y) {
            left = (diagonal + u32::from(x != y)).min(*entry + 1).min(left + 1);
            diagonal = std::mem::replace(entry, left);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_give_what_is_expected_of_them() {
        for work in [
            Work::Hamming { bits: 1 },
            Work::Hamming { bits: 4096 },
            Work::Hamming { bits: 9000 },
            Work::Sort { n: 2, width: 5 },
            Work::Sort { n: 33, width: 8 },
            Work::Edit { rows: 20, columns: 50, bits: 1 },
            Work::Edit { rows: 64, columns: 64, bits: 2 },
            Work::Rsa { bits: 12 },
            Work::Rsa { bits: 37 },
        ] {
            let module = work.module().unwrap();
            let inputs = work.inputs();
            assert_eq!(module.evaluate(&inputs), [work.expected()], "{:?}", work.fields());
            // Whatever is computed depends on the inputs of both.
            for side in 0..2 {
                let mut other = inputs.clone();
                other[side][0] ^= true;
                let changed = module.evaluate(&other) != [work.expected()];
                assert!(changed || matches!(work, Work::Edit { .. }), "{:?}", work.fields());
            }
        }
    }

    #[test]
    fn distances_of_known_words() {
        let word = |text: &str| text.bytes().map(u128::from).collect();
        assert_eq!(levenshtein(word("kitten"), word("sitting")), 3);
        assert_eq!(levenshtein(word(""), word("abc")), 3);
        assert_eq!(levenshtein(word("abc"), word("abc")), 0);
    }
}
