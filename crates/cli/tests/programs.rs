//! Programs of the library from the command line: built, priced and run on every backend.

mod common;

use common::run;
use serde_json::Value;

#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"))
}

#[test]
fn programs_run_on_every_backend() {
    for work in ["hamming --bits 5000", "sort --n 12 --width 8", "edit --n 20 --bits 2"] {
        let said = run(&format!("bench {work} --pool 4000 --backend plain,yao,wrk,jimu")).json;
        let results = said["results"].as_array().expect("four backends");
        assert_eq!(results.len(), 4);
        for result in results {
            assert_eq!(result["verified"], true, "{result}");
            assert!(number(&result["gates"]) > number(&result["non_xor"]), "{result}");
            assert!(number(&result["job_s"]) > 0.0, "{result}");
            assert_eq!(result["ands"], result["non_xor"], "{result}");
        }
        let counts: Vec<&Value> = results.iter().map(|result| &result["non_xor"]).collect();
        assert!(counts.iter().all(|count| *count == counts[0]), "{work}: {counts:?}");
    }
}

/// Pools of multiplexers are filled by the first job that takes any: a second one finds them full.
#[test]
fn a_job_that_is_warm_fills_no_pools() {
    let of = |how: &str| {
        let work = format!("bench sort --n 16 --width 16 --backend jimu:pool=4000 {how}");
        let said = run(&work).json;
        assert_eq!(said["verified"], true, "{said}");
        (
            number(&said["steady_bytes_per_and"]),
            number(&said["bytes_per_and"]),
            said["warm"] == true,
        )
    };
    let ((cold, all, no), (steady, both, yes)) = (of(""), of("--warm"));
    assert!(!no && yes && 2.0 * steady < cold && both < all, "{cold} {all} {steady} {both}");
    let said = run("bench oram --blocks 40 --width 8 --accesses 3 --sqrt --warm --backend yao");
    assert!(said.json["verified"] == true && said.json["warm"] == true, "{said:?}");
}

#[test]
fn a_slice_predicts_the_whole() {
    let slice = run("bench edit --n 60 --rows 20 --backend yao").json;
    let whole = run("bench edit --n 60 --backend yao").json;
    assert_eq!((&slice["rows"], &whole["rows"]), (&20.into(), &60.into()));
    assert_eq!(slice["whole"]["non_xor"], whole["non_xor"]);
    assert!(whole.get("whole").is_none());
    let times = number(&whole["non_xor"]) / number(&slice["non_xor"]);
    assert!((2.5..3.5).contains(&times), "{times}");
    let predicted = number(&slice["whole"]["predicted_job_s"]) / number(&slice["job_s"]);
    assert!((predicted - times).abs() < 1e-6, "{predicted} {times}");
    let said = run("bench edit --n 60 --rows 61");
    assert!(said.error(2).contains("60 rows"), "{said:?}");
}

/// Fewer ANDs with more trees, for more openings; what was read is compared with a list.
#[test]
fn accesses_to_memories_are_measured() {
    let of = |kind: &str| {
        let what = "bench oram --blocks 4096 --width 8 --accesses 6 --backend plain,yao";
        let said = run(&format!("{what} {kind}")).json;
        for result in said["results"].as_array().expect("two backends") {
            assert_eq!(result["verified"], true, "{result}");
            // What is opened in the clear needs no answer.
            let least = if result["backend"] == "plain" { 0.0 } else { number(&result["trees"]) };
            assert!(number(&result["rounds_per_access"]) >= least, "{result}");
            let all = 6.0 * number(&result["ands_per_access"]) + number(&result["start_ands"]);
            let bytes = 6.0 * number(&result["bytes_per_access"]) / all;
            assert!(result["backend"] == "plain" || bytes >= 32.0, "{result}");
            assert!(number(&result["wall_per_access_s"]) > 0.0, "{result}");
        }
        ["trees", "ands_per_access"].map(|name| number(&said["results"][0][name]))
    };
    let [[one, flat], [more, nested]] = [of("--flat"), of("--recursive")];
    assert!(one < more && flat > nested, "{one} {flat} {more} {nested}");
    assert_eq!(of("--sqrt")[0], 0.0);
    assert_eq!(of("--scan"), [0.0, of("--scan")[1]]);
    // 4,096 positions, 512, and 64, which are scanned.
    let [chosen, settable] = of("--factor 8 --cutoff 256");
    assert!(chosen == 3.0 && settable < flat, "{chosen} {settable} {flat}");
    assert!(run("bench oram --blocks 2 --recursive").error(2).contains("too few"));
}

/// Memories of given rows: the beginning has its own time, and what is read differs from what zeros give.
#[test]
fn memories_of_given_rows_are_measured() {
    for kind in ["", "--scan", "--flat", "--sqrt", "--factor 4 --cutoff 8"] {
        let what = "bench oram --blocks 40 --width 8 --accesses 3 --given --pool 4000";
        let said = run(&format!("{what} {kind} --backend plain,yao,wrk,jimu")).json;
        for result in said["results"].as_array().expect("four backends") {
            assert_eq!((&result["verified"], &result["given"]), (&true.into(), &true.into()));
            let [start, access, job] =
                ["start_s", "wall_per_access_s", "job_s"].map(|name| number(&result[name]));
            assert!(start > 0.0 && access > 0.0 && start + 3.0 * access <= 1.001 * job, "{result}");
            assert_eq!(number(&result["start_ands"]) > 0.0, result["layout"] != "scan", "{result}");
            assert_eq!(result["bytes_per_access"], Value::Null, "{result}");
            assert!(number(&result["job_bytes"]) > 0.0, "{result}");
        }
        let result = &said["results"][0];
        let layout = match kind {
            "" => result["cheapest"].as_str().expect("a name"),
            "--flat" => "one tree",
            "--scan" => "scan",
            "--sqrt" => "square root",
            _ => "recursive",
        };
        assert_eq!(result["layout"], layout, "{kind}");
    }
}

#[test]
fn one_layout_is_named_and_a_factor_has_a_cut_off() {
    for (kind, what) in [
        ("--scan --sqrt", "cannot be used with"),
        ("--flat --factor 8 --cutoff 256", "cannot be used with"),
        ("--sqrt --factor 8 --cutoff 256", "cannot be used with"),
        ("--factor 8", "--cutoff"),
        ("--cutoff 8", "--factor"),
        ("--factor 6 --cutoff 8", "power of two"),
        ("--factor 1 --cutoff 8", "power of two"),
        ("--blocks 100 --factor 8 --cutoff 1", "too few"),
    ] {
        let said = run(&format!("bench oram {kind}"));
        assert!(said.error(2).contains(what), "{kind}: {said:?}");
    }
}

#[test]
fn input_and_output_wires_are_measured() {
    let said = run("bench wires --wires 8960 --pool 4000 --backend plain,yao,wrk,jimu").json;
    for result in said["results"].as_array().expect("four backends") {
        assert_eq!((&result["verified"], &result["wires"]), (&true.into(), &8960.into()));
        for name in ["garbler_input", "evaluator_input", "output"] {
            assert!(number(&result[format!("{name}s_per_s")]) > 0.0, "{result}");
        }
        let [garbler, evaluator, output] = ["garbler_input", "evaluator_input", "output"]
            .map(|name| number(&result[format!("bytes_per_{name}")]));
        match result["backend"].as_str() {
            Some("plain") => {}
            // A label; a transfer, whose correlation is the label; a bit each way.
            Some("yao") => {
                assert!(garbler >= 16.0 && evaluator > 4.0 && output < 1.0, "{result}");
            }
            // A share and a label each; a bit each way.
            Some("wrk") => {
                assert!(garbler > 16.0 && evaluator > 16.0, "{result}");
                assert!((0.2..1.0).contains(&output), "{result}");
            }
            // Messages of the interactive hash: one of 16 bytes opens an output.
            _ => {
                assert!(garbler > 16.0 && evaluator > 16.0, "{result}");
                assert!((16.0..17.0).contains(&output), "{result}");
            }
        }
    }
}

#[test]
fn a_machine_has_limits() {
    let said = run("bench limits").json;
    let positive = |value: &Value| assert!(number(value) > 0.0, "{said}");
    for part in ["memory", "limits"] {
        said[part].as_object().expect("figures").values().for_each(positive);
    }
    let levels = said["kernels"].as_object().expect("levels");
    assert!(levels.contains_key("portable"), "{said}");
    levels
        .values()
        .flat_map(|level| level.as_object().expect("figures").values())
        .for_each(positive);
    // Eight times the AES, half the bytes.
    assert!(
        number(&said["limits"]["ot_k8_per_s"]) < number(&said["limits"]["ot_k4_per_s"]),
        "{said}"
    );
}

#[test]
fn what_the_papers_compile_is_small() {
    let edit = run("bench compile-edit --n 255 --bits 1").json;
    // KSS12 reports 41.4 % of 15.5 million gates that are no XORs.
    assert!(number(&edit["non_xor"]) < 0.27e6, "{edit}");
    assert!(number(&edit["module_bytes"]) < 4096.0, "{edit}");
    assert!(number(&edit["peak_rss_bytes"]) < 100e6, "{edit}");
    let rsa = run("bench compile-rsa --bits 256").json;
    assert!(number(&rsa["gates"]) <= 133e6, "{rsa}");
    assert!(number(&rsa["module_bytes"]) < 4096.0, "{rsa}");
    assert_eq!(rsa["digest"].as_str().map(str::len), Some(64));
    for said in [edit, rsa] {
        assert!(number(&said["compile_s"]) > 0.0 && said["verified"] == true, "{said}");
        assert!(number(&said["evaluate_s"]) > 0.0, "{said}");
    }
    // Too large to be evaluated for its own sake, and it says so.
    let wide = run("bench compile-rsa --bits 1024").json;
    assert_eq!((&wide["verified"], &wide["evaluate_s"]), (&false.into(), &Value::Null), "{wide}");
}

/// The counters of a day at an AND a second are those of a session that runs as many.
#[test]
fn days_are_counted_as_sessions_count() {
    for backend in ["wrk:pool=8000", "jimu:pool=8000"] {
        let days = run(&format!("bench days --days 1 --ands-per-s 1 --backend {backend}")).json;
        let real = run(&format!("bench and --ands 86400 --one-channel --backend {backend}")).json;
        assert_eq!(days["ands"], real["ands"]);
        let sent = ["garbler", "evaluator"].map(|side| number(&days["bytes_sent"][side]));
        let really =
            ["garbler", "evaluator"].map(|side| number(&real["parties"][side]["bytes_sent"]));
        let exact = backend.starts_with("wrk");
        for (sent, really) in sent.into_iter().zip(really) {
            // Coins decide how many garbled gates are checked.
            let off = (sent / really - 1.0).abs();
            assert!(off < if exact { 1e-3 } else { 0.05 }, "{backend}: {sent} {really}");
        }
        let stores = real["parties"]["garbler"]["stores"].as_array().expect("stores");
        let store = |name: &str| {
            let found = stores
                .iter()
                .find(|store| store["name"].as_str().is_some_and(|n| n.starts_with(name)));
            found.unwrap_or_else(|| panic!("{name} in {real}"))
        };
        assert!(number(&days["refills"]) > 10.0 && number(&days["numbers"][0]["used"]) > 86400.0);
        if exact {
            let triples = store("stock.triple");
            let buckets =
                number(&days["refills"]) * (number(&real["batch"]) / number(&real["bucket"]));
            assert_eq!(number(&triples["made"]), buckets, "{real}");
            assert_eq!(number(&triples["level"]), number(&days["ready_at_end"]), "{real}");
            assert_eq!(days["pool_at_end"], store("pool.")["level"]);
        }
    }
    assert!(run("bench days --ands-per-s 0").error(2).contains("0.001"));
    // Seven days at the speed of a fast machine, in no time.
    let week = run("bench days --days 7 --ands-per-s 1739000 --backend wrk").json;
    assert_eq!(number(&week["ands"]), 7.0 * 86_400.0 * 1_739_000.0);
    let widest = week["numbers"].as_array().expect("numbers").iter();
    assert!(
        widest.clone().count() > 0
            && widest.clone().all(|n| number(&n["used_log2"]) < 43.0 && n["bits"] == 64)
    );
}
