//! `cenote params`: what a pool size and an error bound ask for.

use cenote_pool::params::{jimu, wrk_bucket};
use serde_json::json;

use crate::args::{ParamsArgs, PoolBackend};
use crate::exit::Failure;
use crate::output::Reply;

/// The chance that checking a bad garbled AND of JIMU shows it.
const JIMU_DETECTION: f64 = 0.5;

pub(crate) fn command(args: &ParamsArgs) -> Result<Reply, Failure> {
    let (name, derived) = match args.backend {
        PoolBackend::Jimu => ("jimu", jimu(args.pool, args.epsilon_log2, JIMU_DETECTION)),
        PoolBackend::Wrk => ("wrk", wrk_bucket(args.pool, args.epsilon_log2)),
    };
    let params = derived.map_err(|error| Failure::bad_input(error.to_string()))?;
    Ok(Reply::table(json!({
        "backend": name,
        "pool": params.pool,
        "epsilon_log2": params.epsilon_log2,
        "bucket": params.bucket,
        "check_rate": params.check_rate,
        "gates_per_and": params.gates_per_and,
        "error_log2": params.error_log2,
    })))
}
