//! `cenote bench and`: a stream of ANDs through a backend.

use cenote_circuit::{Clear, hex_from_bits};
use cenote_engine::{ProgramJob, Receivers, Role, Session, SessionConfig};
use cenote_job::Summary;
use cenote_net::Channels;
use serde_json::{Value, json};

use super::stream::Stream;
use super::{Setting, measure, sessions, summary, wrong};
use crate::bench::args::BenchAndArgs;
use crate::exit::Failure;
use crate::output::{Format, Reply};
use crate::workers::{Both, Fill, JobReport, Report, Task};

pub(super) fn command(args: &BenchAndArgs, format: Format) -> Result<Reply, Failure> {
    let ands = args.ands;
    let sessions = sessions(&args.security, ands)?;
    let threads = args.threads.threads;
    let setting = Setting::new(&args.line)?.with_threads(threads);
    let task = |config: &SessionConfig| Task::And { ands, config: *config, threads };
    let tasks: Vec<Task> = sessions.iter().map(task).collect();
    let expected: Vec<Option<String>> = Clear::eval(&Stream { ands }, &Stream::inputs())
        .iter()
        .map(|bits| Some(hex_from_bits(bits)))
        .collect();
    let runs = measure(&tasks, &setting, args.line.repeat, format, |both| {
        let right = both.garbler.outputs == expected && both.evaluator.outputs == expected;
        if right { Ok(()) } else { Err(wrong("bench and")) }
    })?;
    let results = sessions.iter().zip(runs).map(|(config, runs)| {
        let mut result = summary::session(config)?;
        result.insert("ands".into(), json!(ands));
        result.insert("threads".into(), json!(threads));
        let figures = runs.iter().map(|both| figures(both, ands)).collect();
        Ok(summary::result(result, figures, &setting, &args.line))
    });
    Ok(summary::reply(results.collect::<Result<_, Failure>>()?))
}

/// Rates of jobs of `ands` ANDs each, the steady ones of the last.
pub(super) fn figures(both: &Both, ands: u64) -> Value {
    let mut figures = summary::times(both);
    let ands = ands as f64;
    let all = ands * both.garbler.jobs.len() as f64;
    figures.insert("ands_per_s".into(), json!(all / summary::after_setup(both)));
    figures.insert("online_ands_per_s".into(), json!(all / summary::online(both)));
    figures.insert("bytes_per_and".into(), json!(summary::bytes(both) as f64 / all));
    if let Some((fill_s, fill_bytes)) = summary::fill(both) {
        let job = summary::last_job(both);
        figures.insert("fill_s".into(), json!(fill_s));
        figures.insert("fill_bytes".into(), json!(fill_bytes));
        figures.insert("steady_ands_per_s".into(), json!(ands / job.seconds));
        figures.insert("steady_bytes_per_and".into(), json!(job.bytes as f64 / ands));
    }
    figures.insert("parties".into(), summary::parties(both));
    Value::Object(figures)
}

/// One party's work.
pub(crate) fn party(
    channels: Channels,
    role: Role,
    ands: u64,
    config: SessionConfig,
    threads: usize,
) -> Result<Report, Failure> {
    let mut session = Session::open(channels, role, &config.for_ands(ands))?;
    session.set_threads(threads)?;
    let mut report = Report::default();
    if config.has_pool() {
        report.fill = Some(Fill::of(&mut session, Session::fill)?);
    }
    let program = Stream { ands };
    let own = Stream::inputs_of(role);
    let job = ProgramJob::new(&program, role, own, Receivers::Both)?.of_ands(ands);
    let outcome = session.run(&job)?;
    report.jobs.push(JobReport::of(&outcome));
    report.session(&Summary::of(&mut session));
    session.close();
    Ok(report.finish())
}
