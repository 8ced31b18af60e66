//! `cenote bench compile-edit` and `compile-rsa`: from nothing to a program that both owners could
//! approve and price.

use std::time::Instant;

use cenote_program::{Module, Stats};
use serde_json::{Map, Value, json};

use super::module::Work;
use super::wrong;
use crate::bench::args::{BenchCompileEditArgs, BenchCompileRsaArgs};
use crate::exit::Failure;
use crate::output::Reply;
use crate::workers::peak_rss;

pub(super) fn edit(args: &BenchCompileEditArgs) -> Result<Reply, Failure> {
    let (n, bits) = (args.n, u32::from(args.bits));
    let fields = [("n", json!(n)), ("bits", json!(bits))];
    measure(fields, Work::Edit { rows: n, columns: n, bits })
}

pub(super) fn rsa(args: &BenchCompileRsaArgs) -> Result<Reply, Failure> {
    measure([("bits", json!(args.bits))], Work::Rsa { bits: u32::from(args.bits) })
}

/// ANDs of a program, at most, that is evaluated to see whether it is right.
const MAX_EVALUATED: u64 = 1 << 28;

/// Builds a module, which checks it, counts it and writes it down; then it is evaluated once.
fn measure<const N: usize>(fields: [(&str, Value); N], work: Work) -> Result<Reply, Failure> {
    let started = Instant::now();
    let module = work.module()?;
    let stats = stats(&module)?;
    let bytes = module.to_bytes();
    let seconds = started.elapsed().as_secs_f64();
    let peak = peak_rss();
    if !Module::from_bytes(&bytes).is_ok_and(|read| read == module) {
        return Err(Failure::internal("the binary form reads back as another program"));
    }
    let evaluated = (stats.ands <= MAX_EVALUATED).then(|| evaluate(&module, work)).transpose()?;
    let digest: String = module.digest().iter().map(|byte| format!("{byte:02x}")).collect();
    let mut fields: Map<String, Value> =
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    fields.extend(gates(&stats));
    for (name, value) in [
        ("depth", json!(stats.depth)),
        ("compile_s", json!(seconds)),
        ("peak_rss_bytes", json!(peak)),
        ("module_bytes", json!(bytes.len())),
        ("digest", json!(digest)),
        ("evaluate_s", json!(evaluated)),
        ("verified", json!(evaluated.is_some())),
    ] {
        fields.insert(name.into(), value);
    }
    Ok(Reply::table(Value::Object(fields)))
}

/// Seconds that one evaluation in the clear takes, whose result has to be right.
fn evaluate(module: &Module, work: Work) -> Result<f64, Failure> {
    let started = Instant::now();
    let outputs = module.evaluate(&work.inputs());
    let seconds = started.elapsed().as_secs_f64();
    if outputs == [work.expected()] { Ok(seconds) } else { Err(wrong("bench of a program")) }
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
