//! `cenote bench days`: what days of the stream of ANDs make, use and send, by the plan of a session; nothing runs.

use cenote_circuit::Program;
use cenote_engine::SessionConfig;
use cenote_engine::cost::{Demand, Items, Numbers, Plan};
use cenote_program::Stats;
use serde_json::{Map, Value, json};

use super::stream::Stream;
use super::{sessions, summary};
use crate::bench::args::BenchDaysArgs;
use crate::exit::Failure;
use crate::output::Reply;

const SECONDS_OF_A_DAY: f64 = 86_400.0;

pub(super) fn command(args: &BenchDaysArgs) -> Result<Reply, Failure> {
    let ands = (f64::from(args.days) * SECONDS_OF_A_DAY * args.ands_per_s).round() as u64;
    let results = sessions(&args.security, ands)?.into_iter().map(|config| {
        let mut result = summary::session(&config)?;
        result.insert("days".into(), json!(args.days));
        result.insert("ands_per_s".into(), json!(args.ands_per_s));
        let counted = counted(&config, ands, &result)?;
        result.extend(counted);
        Ok(Value::Object(result))
    });
    Ok(summary::reply(results.collect::<Result<_, Failure>>()?))
}

/// The counters of a session after the stream: those of its plan, and what follows from the parameters that are `shown`.
fn counted(
    config: &SessionConfig,
    ands: u64,
    shown: &Map<String, Value>,
) -> Result<Map<String, Value>, Failure> {
    let stream = Stream { ands };
    // As it is: half of the ANDs wide, half in a chain, an XOR for each.
    let stats = Stats { ands, xors: ands, ..Stats::default() };
    let demand = Demand::new(stats, &stream.signature());
    let plan = Plan::new(config, &demand).map_err(Failure::unusable)?;
    let number = |name: &str| shown.get(name).and_then(Value::as_f64);
    let mut fields = Map::new();
    fields.insert("ands".into(), json!(ands));
    if let (Some(Items { what, made, pool, .. }), Some(batch), Some(bucket)) =
        (plan.items.first(), number("batch"), number("bucket"))
    {
        // Each batch goes through the pool, which is full again behind it, into ANDs that are ready.
        let refills = (made - pool) / batch as u64;
        let left = batch * (1.0 - number("check_rate").unwrap_or(0.0));
        let ready = (refills * (left / bucket).floor() as u64).saturating_sub(ands);
        for (name, value) in [
            ("items", json!(what)),
            ("made", json!(made)),
            ("refills", json!(refills)),
            ("pool_at_end", json!(pool)),
            ("ready_at_end", json!(ready)),
        ] {
            fields.insert(name.into(), value);
        }
    }
    let bytes = plan.total().bytes;
    fields.insert("bytes_sent".into(), json!({ "garbler": bytes[0], "evaluator": bytes[1] }));
    let numbers = plan.numbers.iter().map(|Numbers { what, used, bits }| {
        let log2 = (*used.max(&1) as f64).log2();
        json!({ "what": what, "used": used, "used_log2": log2, "bits": bits })
    });
    fields.insert("numbers".into(), numbers.collect());
    Ok(fields)
}
