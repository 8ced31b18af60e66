//! The parameters that follow from what the owners choose, as results show them.

use cenote_engine::backends::jimu::PoolSpec;
use cenote_engine::{Backend, JimuParams, SessionConfig, WrkParams};
use cenote_pool::params::{Code, shown_log2};
use serde_json::{Map, Value, json};

use crate::exit::Failure;

/// Derived parameters of a backend that has any.
pub(crate) enum Derived {
    Wrk(WrkParams),
    Jimu(Box<JimuParams>),
}

impl Derived {
    /// Those of `config`; what cannot be derived is bad input.
    pub(crate) fn of(config: &SessionConfig) -> Result<Option<Derived>, Failure> {
        let derived = match config.backend {
            Backend::Plain | Backend::Yao => return Ok(None),
            Backend::Wrk => WrkParams::derive(config.pool, config.rho).map(Derived::Wrk),
            Backend::Jimu => return Ok(Some(Derived::Jimu(Box::new(jimu_of(config)?)))),
        };
        derived.map(Some).map_err(Failure::unusable)
    }

    /// The fields of a result.
    pub(crate) fn fields(&self, rho: u32) -> Map<String, Value> {
        let fields = match self {
            Derived::Wrk(params) => json!({
                "pool": params.pool,
                "bucket": params.bucket,
                "batch": params.batch,
                "rho": rho,
                "epsilon_log2": params.epsilon_log2,
                "adaptive_epsilon_log2": params.adaptive_epsilon_log2,
            }),
            Derived::Jimu(params) => jimu(params, rho),
        };
        fields.as_object().cloned().unwrap_or_default()
    }
}

/// Those of a session of jimu.
pub(crate) fn jimu_of(config: &SessionConfig) -> Result<JimuParams, Failure> {
    JimuParams::derive(config.pool, config.rho, config.jimu).map_err(Failure::unusable)
}

fn jimu(params: &JimuParams, rho: u32) -> Value {
    let muxes: Map<String, Value> =
        params.muxes.iter().map(|(width, spec)| (width.to_string(), pool(spec))).collect();
    json!({
        "pool": params.ands.capacity,
        "bucket": params.ands.bucket,
        "check_rate": params.ands.check_rate(),
        "batch": params.ands.batch,
        "gates_per_and": made(&params.ands),
        "error_log2": shown_log2(params.ands.error_log2, 3),
        "rho": rho,
        "epsilon_log2": params.epsilon_log2,
        "adaptive_epsilon_log2": params.adaptive_epsilon_log2(),
        "escrow_pool": pool(&params.escrow),
        "mux_pools": muxes,
        "codes": { "labels": code(&params.codes.labels), "perms": code(&params.codes.perms) },
        "compact": params.switches.compact,
    })
}

/// One pool beside the one of ANDs.
pub(crate) fn pool(spec: &PoolSpec) -> Value {
    json!({
        "pool": spec.capacity,
        "bucket": spec.bucket,
        "check_rate": spec.check_rate(),
        "batch": spec.batch,
        "made_per_bucket": made(spec),
        "error_log2": shown_log2(spec.error_log2, 3),
    })
}

/// Items made for one bucket on average: some are checked, and those are spent.
fn made(spec: &PoolSpec) -> f64 {
    spec.bucket as f64 / (1.0 - spec.check_rate())
}

/// [n, k, w]: symbols of a word, of a message, and those that are watched.
fn code(code: &Code) -> [u32; 3] {
    [code.n, code.k, code.w]
}
