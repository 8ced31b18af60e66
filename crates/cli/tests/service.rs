//! Two services as processes, through their APIs: killed at random instants, and under mixed load.

use std::process::Command;

use serde_json::Value;

fn bench(args: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_cenote"))
        .args(["--json", "bench"])
        .args(args)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).unwrap()
}

/// The command itself fails if an item left twice, a result is wrong, a job has no end or a service does not come back.
#[test]
fn whoever_is_killed_uses_nothing_twice_and_comes_back() {
    for (kills, backend, least) in [(50, "wrk", 10), (10, "jimu:pool=2000", 1)] {
        let figures = bench(&["kills", "--kills", &kills.to_string(), "--backend", backend]);
        let all = ["a", "b", "both"].map(|side| figures["kills"][side].as_u64().unwrap());
        assert_eq!(all.iter().sum::<u64>(), kills, "{figures}");
        assert!(all.iter().all(|kills| *kills > 0), "{figures}");
        // How many goes by how soon a busy machine starts services again.
        assert!(figures["done_on_both"].as_u64().unwrap() > least, "{figures}");
        assert!(figures["done_of_b"].as_u64().unwrap() > 0, "{figures}");
        for what in ["items_used_once", "items_of_large_jobs"] {
            assert!(figures[what].as_u64().unwrap() > 0, "{what}: {figures}");
        }
    }
}

/// For two minutes, beside the kills of the other test. The command fails if memory or latencies grow.
#[test]
fn small_jobs_run_beside_large_ones_and_nothing_grows() {
    let sizes = ["--sorted", "1024", "--small", "20000", "--large", "20000"];
    let load = ["--clients", "2", "--rate", "10", "--large-every", "5"];
    let flat = ["--memory-growth", "1.25", "--latency-growth", "4"];
    let args = ["service", "--mixed", "--seconds", "120"];
    let figures = bench(&[&args[..], &sizes, &load, &flat].concat());
    let jobs = |kind: &str| figures[kind]["jobs"].as_u64().unwrap();
    assert!(jobs("small") > 10 * jobs("large").max(1), "{figures}");
    // In each third there is something to compare.
    assert!(jobs("large") >= 5, "{figures}");
    for third in figures["most_resident_bytes_by_third"].as_array().unwrap() {
        let sides = third.as_array().unwrap().iter().map(|bytes| bytes.as_u64().unwrap());
        assert!(sides.into_iter().all(|bytes| bytes > 1 << 20), "{figures}");
    }
    let thirds = figures["small"]["latency_ms_by_third"].as_array().unwrap();
    assert!(thirds.iter().all(|third| third["p50"].as_f64().unwrap() > 0.0), "{figures}");
}
