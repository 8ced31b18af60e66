//! `cenote bench pool-fill`: one pool of garbled gates, and what an item costs.

use cenote_engine::backends::jimu::PoolSpec;
use cenote_engine::{Backend, JimuParams, Role, Session, SessionConfig};
use cenote_job::Summary;
use cenote_net::Channels;
use serde_json::{Map, Value, json};

use super::{Setting, measure, summary};
use crate::bench::args::{BenchPoolFillArgs, Gadget};
use crate::exit::Failure;
use crate::output::{Format, Reply};
use crate::workers::{Both, Fill, Rehearsal, Report, Task};

/// Wires of the batches that are made and checked for nothing after the pool is full, about, and
/// how few and how many those are.
const REHEARSED_WIRES: usize = 1 << 22;
const REHEARSALS: (usize, usize) = (5, 100);

pub(super) fn command(args: &BenchPoolFillArgs, format: Format) -> Result<Reply, Failure> {
    let width = args.gadget.width();
    let config = args.jimu.session(args.size, true)?;
    let params = JimuParams::of(&config).map_err(Failure::unusable)?;
    let spec = pool(&params, width);
    if (spec.capacity as u64) < args.size {
        let most = spec.capacity;
        let what = format!("--size: a pool of these in memory holds at most {most} items");
        return Err(Failure::bad_input(what));
    }
    let setting = Setting::new(&args.line)?;
    // There is no result to compare: the parties have checked each other's part, or failed.
    let runs =
        measure(&[Task::PoolFill { width, config }], &setting, args.line.repeat, format, |_| {
            Ok(())
        })?;
    let runs = runs.into_iter().flatten().map(|both| figures(&both, &spec)).collect();
    let result = work(args.gadget, &params, &spec);
    Ok(Reply::table(summary::result(result, runs, &setting, &args.line)))
}

/// The pool of cores of `width`.
fn pool(params: &JimuParams, width: usize) -> PoolSpec {
    let found = params.cores().find(|(shape, _)| shape.ands() == width);
    found.map_or(params.ands, |(_, spec)| *spec)
}

fn work(gadget: Gadget, params: &JimuParams, spec: &PoolSpec) -> Map<String, Value> {
    let gadget = match gadget {
        Gadget::And => "and".to_owned(),
        other => format!("mux{}", other.width()),
    };
    let mut fields = Map::new();
    fields.insert("backend".into(), json!(Backend::Jimu.name()));
    fields.insert("gadget".into(), json!(gadget));
    fields.extend(spec.shown().as_object().cloned().unwrap_or_default());
    fields.insert("rho".into(), json!(params.rho.bits()));
    fields.insert("epsilon_log2".into(), json!(params.epsilon_log2()));
    fields.insert("compact".into(), json!(params.switches.compact));
    fields
}

fn figures(both: &Both, spec: &PoolSpec) -> Value {
    let mut figures = summary::times(both);
    let items = spec.capacity as f64;
    let (fill_s, fill_bytes) = summary::fill(both).unwrap_or_default();
    figures.insert("fill_s".into(), json!(fill_s));
    figures.insert("items_per_s".into(), json!(items / fill_s));
    figures.insert("bytes_per_item".into(), json!(fill_bytes as f64 / items));
    figures.extend(rehearsed(both, spec.batch));
    let stored =
        |report: &Report| json!(report.fill.as_ref().map(|fill| fill.stored_bytes / spec.capacity));
    let peak = |report: &Report| json!(report.fill.as_ref().and_then(|fill| fill.peak_rss_bytes));
    for (name, of) in [
        ("stored_bytes_per_item", &stored as &dyn Fn(&Report) -> Value),
        ("fill_peak_rss_bytes", &peak),
    ] {
        let parties = json!({ "garbler": of(&both.garbler), "evaluator": of(&both.evaluator) });
        figures.insert(name.into(), parties);
    }
    figures.insert("parties".into(), summary::parties(both));
    Value::Object(figures)
}

/// Speed of making and of checking: medians over the rehearsals of one run.
fn rehearsed(both: &Both, items: usize) -> Map<String, Value> {
    let items = items as f64;
    let pairs = || both.garbler.rehearsals.iter().zip(&both.evaluator.rehearsals);
    let rate = |seconds: fn(&Rehearsal) -> f64| {
        let rates = pairs().map(|(g, e)| json!(items / seconds(g).max(seconds(e)).max(1e-9)));
        summary::median(rates.collect())
    };
    let bytes = |sent: fn(&Rehearsal) -> u64| {
        summary::median(pairs().map(|(g, e)| json!((sent(g) + sent(e)) as f64 / items)).collect())
    };
    Map::from_iter([
        ("made_per_s".to_owned(), rate(|rehearsal| rehearsal.made_s)),
        ("checked_per_s".to_owned(), rate(|rehearsal| rehearsal.checked_s)),
        ("bytes_per_made".to_owned(), bytes(|rehearsal| rehearsal.made_bytes_sent)),
        ("bytes_per_checked".to_owned(), bytes(|rehearsal| rehearsal.checked_bytes_sent)),
    ])
}

/// One party's work.
pub(crate) fn party(
    channels: Channels,
    role: Role,
    width: usize,
    config: SessionConfig,
) -> Result<Report, Failure> {
    let items = pool(&JimuParams::of(&config)?, width).batch;
    let mut session = Session::open(channels, role, &config)?;
    let mut report = Report::default();
    let fill = Fill::of(&mut session, |session| session.measure(|cores| cores.fill_pool(width)))?;
    report.fill =
        Some(Fill { stored_bytes: session.measure(|cores| cores.stored_bytes(width))?, ..fill });
    let wires = items * (2 * width + 1);
    for _ in 0..(REHEARSED_WIRES / wires).clamp(REHEARSALS.0, REHEARSALS.1) {
        report.rehearsals.push(Rehearsal::of(&mut session, width, items)?);
    }
    report.session(&Summary::of(&mut session));
    session.close();
    Ok(report.finish())
}
