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
    assert!(run("bench oram --blocks 2 --recursive").error(2).contains("too few"));
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
