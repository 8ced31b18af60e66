//! From the runs of a bench to its reply.

use cenote_engine::{Backend, SessionConfig};
use serde_json::{Map, Value, json};

use super::Setting;
use crate::bench::args::BenchLineArgs;
use crate::exit::Failure;
use crate::output::Reply;
use crate::workers::{Both, JobReport, Report};

/// The fields that all benches share, for one run.
pub(super) fn times(both: &Both) -> Map<String, Value> {
    let most = |value: fn(&Report) -> f64| value(&both.garbler).max(value(&both.evaluator));
    let mut fields = Map::new();
    fields.insert("wall_s".into(), json!(most(|r| r.wall_s)));
    fields.insert("setup_s".into(), json!(most(|r| r.setup_s)));
    fields.insert("preprocess_s".into(), json!(most(|r| r.preprocess_s)));
    fields.insert("online_s".into(), json!(most(|r| r.online_s)));
    fields
}

/// Seconds of one run but for its set-up.
pub(super) fn after_setup(both: &Both) -> f64 {
    let after = |report: &Report| (report.wall_s - report.setup_s).max(1e-9);
    after(&both.garbler).max(after(&both.evaluator))
}

/// Seconds of the online phase.
pub(super) fn online(both: &Both) -> f64 {
    both.garbler.online_s.max(both.evaluator.online_s).max(1e-9)
}

/// Bytes of both directions.
pub(super) fn bytes(both: &Both) -> u64 {
    both.garbler.bytes_sent + both.evaluator.bytes_sent
}

/// Seconds and bytes of filling the pools before the first job, where that was measured apart.
pub(super) fn fill(both: &Both) -> Option<(f64, u64)> {
    let (garbler, evaluator) = (both.garbler.fill.as_ref()?, both.evaluator.fill.as_ref()?);
    let seconds = garbler.wall_s.max(evaluator.wall_s).max(1e-9);
    Some((seconds, garbler.bytes_sent + evaluator.bytes_sent))
}

/// A job as both parties see it.
pub(super) struct Job {
    pub(super) seconds: f64,
    /// Of these, what comes before the part that is measured.
    pub(super) start_s: f64,
    /// Of both directions.
    pub(super) bytes: u64,
}

/// The last job, agreement to result.
pub(super) fn last_job(both: &Both) -> Job {
    let last = |report: &Report| report.jobs.last().cloned().unwrap_or_default();
    Job::of(&last(&both.garbler), &last(&both.evaluator))
}

/// All jobs.
pub(super) fn jobs(both: &Both) -> Vec<Job> {
    let pairs = both.garbler.jobs.iter().zip(&both.evaluator.jobs);
    pairs.map(|(garbler, evaluator)| Job::of(garbler, evaluator)).collect()
}

impl Job {
    fn of(garbler: &JobReport, evaluator: &JobReport) -> Job {
        Job {
            seconds: garbler.wall_s.max(evaluator.wall_s).max(1e-9),
            start_s: garbler.start_s.max(evaluator.start_s),
            bytes: garbler.bytes_sent + evaluator.bytes_sent,
        }
    }
}

/// Lists what each party spent.
pub(super) fn parties(both: &Both) -> Value {
    let party = |report: &Report| {
        json!({
            "bytes_sent": report.bytes_sent,
            "rounds": report.rounds,
            "peak_rss_bytes": report.peak_rss_bytes,
            "cpu_s": report.cpu_s,
            "on_the_line": report.on_the_line,
            "stores": report.stores,
            "setup_s": report.setup_s,
            "preprocess_s": report.preprocess_s,
            "online_s": report.online_s,
        })
    };
    json!({ "garbler": party(&both.garbler), "evaluator": party(&both.evaluator) })
}

/// The session's parameters.
pub(super) fn session(config: &SessionConfig) -> Result<Map<String, Value>, Failure> {
    let mut fields = Map::new();
    fields.insert("backend".into(), json!(config.backend.name()));
    fields.extend(Backend::shown(config).map_err(Failure::unusable)?);
    Ok(fields)
}

/// Joins what was done, the medians of its runs, and how they were taken.
pub(super) fn result(
    mut work: Map<String, Value>,
    runs: Vec<Value>,
    how: &Setting,
    line: &BenchLineArgs,
) -> Value {
    work.extend(median(runs).as_object().cloned().unwrap_or_default());
    work.extend(setting(how, line));
    Value::Object(work)
}

/// How the figures were taken.
fn setting(setting: &Setting, line: &BenchLineArgs) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("tls".into(), json!(line.tls));
    fields.insert("rtt_ms".into(), json!(line.rtt_ms));
    fields.insert("mbit".into(), json!(line.mbit));
    fields.insert("pinned".into(), json!(setting.cores.is_some()));
    fields.insert("repeat".into(), json!(line.repeat));
    fields.insert("verified".into(), json!(true));
    fields
}

/// One object for each task; a single one stands alone.
pub(super) fn reply(mut results: Vec<Value>) -> Reply {
    match results.len() {
        1 => Reply::table(results.remove(0)),
        _ => {
            let named = |value: &Value| value["backend"].as_str().unwrap_or_default().to_owned();
            let text = results.iter().map(|value| (named(value), value.clone())).collect();
            let text = Reply::table(Value::Object(text));
            text.with_json(json!({ "results": results }))
        }
    }
}

/// The median of every number in objects of one shape; everything else is that of the first.
pub(super) fn median(mut runs: Vec<Value>) -> Value {
    if runs.iter().all(Value::is_number) && !runs.is_empty() {
        let number = |value: &Value| value.as_f64().unwrap_or_default();
        runs.sort_by(|a, b| number(a).total_cmp(&number(b)));
        let middle = runs.len() / 2;
        if runs.len() % 2 == 1 || runs.iter().all(Value::is_u64) {
            return runs.swap_remove(middle);
        }
        return json!((number(&runs[middle - 1]) + number(&runs[middle])) / 2.0);
    }
    let Some(Value::Object(first)) = runs.first() else {
        return runs.into_iter().next().unwrap_or(Value::Null);
    };
    let names: Vec<String> = first.keys().cloned().collect();
    let of = |name: &String| median(runs.iter().map(|run| run[name].clone()).collect());
    Value::Object(names.iter().map(|name| (name.clone(), of(name))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_taken_field_by_field() {
        let run = |a: f64, b: u64| json!({ "name": "x", "a": a, "inner": { "b": b } });
        let odd = median(vec![run(3.0, 1), run(1.0, 9), run(2.0, 5)]);
        assert_eq!(odd, run(2.0, 5));
        let even = median(vec![run(3.0, 1), run(1.0, 9)]);
        assert_eq!(even, run(2.0, 9));
    }
}
