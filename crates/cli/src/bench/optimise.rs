//! `cenote bench optimise`: a circuit file through the optimiser, streaming.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::time::Instant;

use cenote_circuit::optimise;
use cenote_prim::{Block, Prg};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{made, summary, wrong};
use crate::bench::args::BenchOptimiseArgs;
use crate::circuit::unoptimised;
use crate::exit::Failure;
use crate::output::Reply;
use crate::workers::peak_rss;

pub(super) fn command(args: &BenchOptimiseArgs) -> Result<Reply, Failure> {
    let dir = TempDir::with_prefix("cenote-bench-")
        .map_err(|error| Failure::internal(format!("a directory for circuits: {error}")))?;
    let own = dir.path().join("made.txt");
    let file = match (&args.file, args.made) {
        (Some(file), _) => file.as_path(),
        (None, gates) => {
            let file = File::create(&own).map(BufWriter::new);
            file.and_then(|file| made::write(gates.unwrap_or_default(), file))
                .map_err(|error| Failure::internal(format!("{}: {error}", own.display())))?;
            own.as_path()
        }
    };
    let after = dir.path().join("after.txt");
    let runs = (0..args.repeat).map(|_| run(args, file, &after)).collect::<Result<_, _>>()?;
    let mut reply = summary::median(runs);
    verify(file, &after)?;
    reply["window"] = json!(args.optimise.window);
    reply["repeat"] = json!(args.repeat);
    reply["verified"] = json!(true);
    Ok(Reply::table(reply))
}

fn run(args: &BenchOptimiseArgs, file: &Path, after: &Path) -> Result<Value, Failure> {
    let start = Instant::now();
    let done = optimise::file(file, after, &args.optimise.options()).map_err(unoptimised)?;
    let seconds = start.elapsed().as_secs_f64().max(1e-9);
    let (before, after) = (done.report.start(), done.report.end());
    Ok(json!({
        "gates": before.gates,
        "non_xor": before.ands,
        "gates_after": after.gates,
        "non_xor_after": after.ands,
        "compile_s": seconds,
        "gates_per_s": before.gates as f64 / seconds,
        "peak_rss_bytes": peak_rss(),
        "live_wires": done.live_wires,
    }))
}

/// Both files give the same outputs for 64 assignments.
fn verify(before: &Path, after: &Path) -> Result<(), Failure> {
    let word = |wire: u32| Prg::new(Block::new(u128::from(wire))).block().to_u128() as u64;
    let [before, after] =
        [before, after].map(|file| optimise::outputs(file, word).map_err(unoptimised));
    if before? == after? { Ok(()) } else { Err(wrong("bench optimise")) }
}
