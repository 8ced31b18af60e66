//! `cenote bench compile-edit` and `compile-rsa`: from nothing to a program that both owners could
//! approve and price.

use std::time::Instant;

use cenote_program::{BuildError, Module, Stats, library};
use serde_json::{Map, Value, json};

use crate::args::{BenchCompileEditArgs, BenchCompileRsaArgs};
use crate::exit::Failure;
use crate::output::Reply;
use crate::workers::peak_rss;

pub(super) fn edit(args: &BenchCompileEditArgs) -> Result<Reply, Failure> {
    let (n, bits) = (args.n, u32::from(args.bits));
    let work = [("n", json!(n)), ("bits", json!(bits))];
    measure(work, || library::edit_distance(n, n, bits))
}

pub(super) fn rsa(args: &BenchCompileRsaArgs) -> Result<Reply, Failure> {
    measure([("bits", json!(args.bits))], || library::mod_exp(u32::from(args.bits)))
}

/// Builds a module, which checks it, counts it and writes it down.
fn measure<const N: usize>(
    work: [(&str, Value); N],
    build: impl FnOnce() -> Result<Module, BuildError>,
) -> Result<Reply, Failure> {
    let started = Instant::now();
    let module = build().map_err(|error| Failure::bad_input(error.to_string()))?;
    let stats = stats(&module)?;
    let bytes = module.to_bytes();
    let seconds = started.elapsed().as_secs_f64();
    let peak = peak_rss();
    let verified = Module::from_bytes(&bytes).is_ok_and(|read| read == module);
    if !verified {
        return Err(Failure::internal("the binary form reads back as another program"));
    }
    let digest: String = module.digest().iter().map(|byte| format!("{byte:02x}")).collect();
    let mut fields: Map<String, Value> =
        work.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    fields.extend(gates(&stats));
    for (name, value) in [
        ("depth", json!(stats.depth)),
        ("compile_s", json!(seconds)),
        ("peak_rss_bytes", json!(peak)),
        ("module_bytes", json!(bytes.len())),
        ("digest", json!(digest)),
        ("verified", json!(verified)),
    ] {
        fields.insert(name.into(), value);
    }
    Ok(Reply::table(Value::Object(fields)))
}

pub(super) fn stats(module: &Module) -> Result<Stats, Failure> {
    module.stats().map_err(|error| Failure::bad_input(error.to_string()))
}

/// Gates of all types, and those that are not free.
pub(super) fn gates(stats: &Stats) -> Map<String, Value> {
    let gates = stats.ands + stats.xors + stats.nots;
    let fields = [("gates", gates), ("non_xor", stats.ands)];
    fields.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect()
}
