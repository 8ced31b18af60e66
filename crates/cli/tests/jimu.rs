//! Backend jimu from the command line: its options, parameters, figures and evidence.

mod common;

use common::{ADDER, parties, run, write};
use serde_json::Value;
use tempfile::TempDir;

#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"))
}

#[test]
fn two_commands_compute_and_honest_ones_leave_no_evidence() {
    let dir = TempDir::new().expect("a directory");
    let file = write(dir.path(), "adder.txt", ADDER).display().to_string();
    let kept = dir.path().join("evidence");
    let evidence = format!("--evidence {}", kept.display());
    let line = format!("{file} --insecure-plaintext --backend jimu");
    for more in ["--pool 500", "--pool 500 --no-muxcore", "--pool 2000 --rho 64"] {
        let line = format!("{line} {more}");
        let garbler = format!("{line} --input 3");
        let (one, two) = parties(&garbler, &format!("{line} --input 1 {evidence}"));
        assert_eq!(one.outputs(), [Some("4"), Some("1")]);
        assert_eq!(two.outputs(), one.outputs());
        for said in [&one, &two] {
            assert_eq!(said.json.get("evidence"), Some(&Value::Null), "{said:?}");
            assert_eq!(said.json["adversary"], "malicious");
            assert!(!said.stderr.contains("WARNING"), "{said:?}");
        }
        assert!(!kept.exists(), "evidence against nobody");
    }
    let said = run(&format!("run {file} --backend jimu --pool 500 --input 3 --input 1 {evidence}"));
    assert_eq!(said.outputs(), [Some("4"), Some("1")]);
    assert!(said.json["evidence"].is_null() && !kept.exists());
    assert!(number(&said.json["epsilon_log2"]) < -38.0);
}

#[test]
fn both_sides_name_the_option_that_differs() {
    let dir = TempDir::new().expect("a directory");
    let file = write(dir.path(), "adder.txt", ADDER).display().to_string();
    let side = |more| format!("{file} --insecure-plaintext --backend jimu --input 1 {more}");
    for (more, what) in [
        ("--pool 500", "pool: here"),
        ("--rho 64", "rho: here"),
        ("--no-muxcore", "muxcore: here"),
        ("--compact", "compact: here"),
    ] {
        let (one, two) = parties(&side(""), &side(more));
        assert!(one.error(3).contains(what), "{one:?}");
        assert!(two.error(3).contains(what), "{two:?}");
    }
}

/// Options in the text of a backend and as flags are the same; twice is once too often.
#[test]
fn a_backend_takes_its_options_in_one_text() {
    let dir = TempDir::new().expect("a directory");
    let file = write(dir.path(), "adder.txt", ADDER).display().to_string();
    let of = |options: &str| run(&format!("run {file} --input 3 --input 1 {options}"));
    for (options, shown) in [
        ("--backend wrk", "wrk"),
        ("--backend wrk:rho=64", "wrk:rho=64"),
        ("--backend wrk --rho 64", "wrk:rho=64"),
        ("--backend jimu:pool=500,muxcore=false", "jimu:pool=500,muxcore=false"),
        ("--backend jimu:pool=500 --no-muxcore", "jimu:pool=500,muxcore=false"),
    ] {
        let said = of(options);
        assert_eq!(said.json["configuration"], shown, "{said:?}");
        assert_eq!(said.json["backend"], shown[..].split(':').next().expect("a name"));
    }
    for (options, what) in [
        ("--backend wrk:rho=64 --rho 64", "option `rho` of wrk is given twice"),
        ("--backend wrk:pol=5", "wrk has no option `pol`; it has pool, rho, ot"),
        ("--backend jimu:compact=yes", "compact is true or false, not yes"),
        ("--backend wkr:rho=64", "there is no backend `wkr`"),
    ] {
        let said = of(options);
        assert!(said.error(2).contains(what), "{said:?}");
    }
    // Options stay with their backend in a list.
    let said = run("bench and --ands 100 --backend wrk:pool=none,rho=64,yao");
    assert_eq!(said.json["results"][0]["rho"], 64);
    assert_eq!(said.json["results"][1]["backend"], "yao");
}

#[test]
fn what_jimu_cannot_do_is_bad_input() {
    let dir = TempDir::new().expect("a directory");
    let file = write(dir.path(), "adder.txt", ADDER).display().to_string();
    let old = write(dir.path(), "old", "kept").display().to_string();
    let values = "--input 3 --input 1";
    for line in [format!("run {file} {values}"), "bench and".to_owned(), "bench aes".to_owned()] {
        let said = run(&format!("{line} --backend jimu --pool none"));
        assert!(said.error(2).contains("wrk, which does without a pool"), "{said:?}");
        for option in ["--no-muxcore", "--compact"] {
            let said = run(&format!("{line} {option}"));
            assert!(said.error(2).contains("nothing without --backend jimu"), "{said:?}");
        }
        let said = run(&format!("{line} --backend jimu --pool 10"));
        assert!(said.error(2).contains("needs at least"), "{said:?}");
    }
    let said = run(&format!("run {file} {values} --evidence {old}.new"));
    assert!(said.error(2).contains("nothing without --backend jimu"), "{said:?}");
    for (place, what) in [(old.clone(), "exists"), (format!("{old}/new"), "no such directory")] {
        let said = run(&format!("run {file} --backend jimu {values} --evidence {place}"));
        assert!(said.error(2).contains(what), "{said:?}");
    }
    assert_eq!(std::fs::read_to_string(&old).expect("it is there"), "kept");
    let said = run("bench pool-fill --gadget mux64 --size 10000000");
    assert!(said.error(2).contains("at most"), "{said:?}");
    assert!(run("bench mux --backend wrk").error(2).contains("possible values: jimu"));
}

#[test]
fn params_show_a_session_unless_a_bound_is_named() {
    let said = run("params --backend jimu --pool 1048576").json;
    assert_eq!(
        (&said["pool"], &said["bucket"], &said["rho"]),
        (&1_048_576.into(), &4.into(), &40.into())
    );
    let cost = 4.0 / (1.0 - number(&said["check_rate"]));
    assert!((number(&said["gates_per_and"]) - cost).abs() < 1e-9);
    assert_eq!(said["codes"]["labels"], serde_json::json!([88, 48, 32]));
    assert_eq!(said["codes"]["perms"], serde_json::json!([44, 21, 20]));
    let pools = said["mux_pools"].as_object().expect("one for each width");
    assert_eq!(pools.keys().collect::<Vec<_>>(), ["64", "32", "16", "8"]);
    let sum = number(&said["epsilon_log2"]);
    assert!(number(&said["error_log2"]) < sum && sum < -38.0, "the sum of all bounds: {sum}");

    let said = run("params --backend jimu --pool 100000 --no-muxcore --rho 80").json;
    assert_eq!((&said["rho"], &said["mux_pools"]), (&80.into(), &serde_json::json!({})));
    let said = run("params --backend wrk --pool 480000").json;
    assert_eq!((&said["bucket"], &said["epsilon_log2"]), (&3.into(), &(-40.0).into()));
    let said = run("params --backend jimu --pool 100000 --rho 40 --epsilon-log2 -41");
    assert!(said.error(2).contains("cannot be used with"), "{said:?}");
    let said = run("params --backend wrk --pool 480000 --compact");
    assert!(said.error(2).contains("nothing without --backend jimu"), "{said:?}");
}

#[test]
fn a_bench_tells_the_filling_from_what_follows() {
    let said = run("bench and --backend jimu --pool 4000 --ands 20000 --repeat 2").json;
    assert_eq!(
        (&said["backend"], &said["pool"], &said["verified"]),
        (&"jimu".into(), &4000.into(), &true.into())
    );
    for name in ["fill_s", "steady_ands_per_s", "ands_per_s", "online_ands_per_s", "batch"] {
        assert!(number(&said[name]) > 0.0, "{name}: {said}");
    }
    // The filling is outside: it costs time and bytes that the steady figures do not have.
    assert!(number(&said["steady_ands_per_s"]) > number(&said["ands_per_s"]));
    let filling = number(&said["bytes_per_and"]) - number(&said["steady_bytes_per_and"]);
    assert!(filling * 20_000.0 > number(&said["fill_bytes"]), "{said}");

    let said = run("bench and --backend wrk,yao --pool 20000 --ands 20000").json;
    assert!(number(&said["results"][0]["fill_s"]) > 0.0);
    assert!(said["results"][1].get("fill_s").is_none(), "{said}");
    let said = run("bench aes --backend jimu --pool 1000 --no-muxcore");
    assert_eq!((said.code, &said.json["verified"]), (0, &true.into()), "{said:?}");
}

#[test]
fn a_gate_costs_what_the_structures_take() {
    for (gadget, blocks) in [("and", 16), ("mux8", 9 * 8 + 2 * 17 + 1)] {
        let said = run(&format!("bench pool-fill --gadget {gadget} --size 2000")).json;
        assert_eq!((&said["gadget"], &said["pool"]), (&gadget.into(), &2000.into()), "{said}");
        let stored = &said["stored_bytes_per_item"];
        assert_eq!(
            (&stored["garbler"], &stored["evaluator"]),
            (&16.into(), &(16 + 16 * blocks).into())
        );
        for name in ["fill_s", "items_per_s", "made_per_s", "checked_per_s", "bytes_per_item"] {
            assert!(number(&said[name]) > 0.0, "{name}: {said}");
        }
        // A checked item is as many openings, of 64 bytes, as it has wires.
        let wires = (number(&said["bytes_per_checked"]) / 64.0).floor();
        assert_eq!(wires, if gadget == "and" { 3.0 } else { 17.0 }, "{said}");
        assert!(number(&said["fill_peak_rss_bytes"]["evaluator"]) > 1e6);
    }
}

#[test]
fn multiplexers_are_compared_with_and_without_their_pools() {
    let said = run("bench mux --width 20 --muxes 800 --pool 1000").json;
    assert_eq!(
        (&said["width"], &said["muxes"], &said["verified"]),
        (&20.into(), &800.into(), &true.into())
    );
    let [with, without] = [&said["with_muxcore"], &said["without_muxcore"]];
    for figures in [with, without] {
        for name in ["fill_s", "job_s", "us_per_mux", "bytes_per_mux", "muxes_per_s"] {
            assert!(number(&figures[name]) > 0.0, "{name}: {said}");
        }
    }
    let ratio = number(&with["bytes_per_mux"]) / number(&without["bytes_per_mux"]);
    assert!((number(&said["bytes_ratio"]) - ratio).abs() < 1e-9);
    assert!(number(&with["fill_bytes"]) > number(&without["fill_bytes"]), "two pools and one");
}
