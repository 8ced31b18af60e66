//! `cenote params`: what a pool size and an error bound ask for.

use cenote_engine::{Backend, SessionConfig};
use cenote_pool::params::{PoolParams, jimu, shown_log2, wrk_bucket};
use serde_json::{Map, Value, json};

use crate::args::{ParamsArgs, PoolBackend};
use crate::exit::Failure;
use crate::output::Reply;

/// The chance that checking a bad garbled AND of JIMU shows it.
const JIMU_DETECTION: f64 = 0.5;

pub(crate) fn command(args: &ParamsArgs) -> Result<Reply, Failure> {
    let fields = match args.epsilon_log2 {
        Some(epsilon_log2) => pool(args, epsilon_log2)?,
        None => session(args)?,
    };
    Ok(Reply::table(Value::Object(fields)))
}

/// The pool alone, for any bound.
fn pool(args: &ParamsArgs, epsilon_log2: f64) -> Result<Map<String, Value>, Failure> {
    let derived = match args.backend {
        PoolBackend::Jimu => jimu(args.pool, epsilon_log2, JIMU_DETECTION),
        PoolBackend::Wrk => wrk_bucket(args.pool, epsilon_log2),
    };
    let params = derived.map_err(|error| Failure::bad_input(error.to_string()))?;
    let PoolParams { pool, epsilon_log2, .. } = params;
    let bound = json!({ "pool": pool, "epsilon_log2": epsilon_log2 });
    let mut fields = named(args.backend);
    for part in [bound, costs(&params)] {
        fields.extend(part.as_object().cloned().unwrap_or_default());
    }
    Ok(fields)
}

/// All that a session takes, whose bound covers its pools, codes and checks together.
fn session(args: &ParamsArgs) -> Result<Map<String, Value>, Failure> {
    let pool = args.pool.to_string();
    let named = vec![SessionConfig::new(backend(args.backend))];
    let mut fields = self::named(args.backend);
    for config in args.refine.apply(Some(&pool), named)? {
        fields.extend(Backend::shown(&config).map_err(Failure::unusable)?);
        if args.backend == PoolBackend::Wrk {
            let params = wrk_bucket(args.pool, config.rho().epsilon_log2());
            let params = params.map_err(|error| Failure::bad_input(error.to_string()))?;
            fields.extend(costs(&params).as_object().cloned().unwrap_or_default());
        }
    }
    Ok(fields)
}

fn named(backend: PoolBackend) -> Map<String, Value> {
    let name = self::backend(backend).name();
    Map::from_iter([("backend".to_owned(), json!(name))])
}

const fn backend(backend: PoolBackend) -> Backend {
    match backend {
        PoolBackend::Jimu => Backend::Jimu,
        PoolBackend::Wrk => Backend::Wrk,
    }
}

fn costs(params: &PoolParams) -> Value {
    json!({
        "bucket": params.bucket,
        "check_rate": params.check_rate,
        "gates_per_and": params.gates_per_and,
        "error_log2": shown_log2(params.error_log2, 3),
    })
}
