//! The demonstration from outside, on small tables.

mod common;

use std::fmt::Write as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use common::{run, start, write};
use rustix::process::{Pid, Signal, kill_process};

const HEADER: &str = "customer,q1,q2,q3,q4,q5,q6\n";

/// `rows` customers that are multiples of `step`.
fn table(dir: &Path, name: &str, rows: u32, step: u32) -> String {
    let mut text = HEADER.to_owned();
    for customer in (1..=rows).map(|row| row * step) {
        let spend = 100 + customer * 37 % 1000;
        let second = if customer % 5 == 0 { spend } else { 0 };
        writeln!(text, "{customer},{spend},{second},0,0,0,7").expect("a string takes all");
    }
    write(dir, name, &text).display().to_string()
}

#[test]
fn six_requests_and_a_caught_cheat() {
    let dir = tempfile::tempdir().expect("a directory");
    let a = table(dir.path(), "a.csv", 40, 2);
    let b = table(dir.path(), "b.csv", 33, 3);
    let said = run(&format!("demo --issuer-a {a} --issuer-b {b} --pool 1073 --cheat"));
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(said.json["all_equal"], true);
    assert_eq!(said.json["session"]["peer"], "pinned certificate");
    let requests = said.json["requests"].as_array().expect("a list");
    assert_eq!(requests.len(), 6);
    let mut ands = 0;
    for request in requests {
        assert_eq!(request["result"], request["oracle"], "{request}");
        assert_eq!(request["epsilon_log2"], -40.0, "{request}");
        assert_eq!(request["pool_level"], 1073, "{request}");
        assert!(request["ands"].as_u64() > Some(0), "{request}");
        let stores = request["stores"].as_array().expect("a list");
        let names: Vec<&str> = stores.iter().filter_map(|store| store["name"].as_str()).collect();
        assert_eq!(names, ["pool.leaky-and", "stock.triple", "stock.share"]);
        let taken: u64 = request["ands"].as_u64().expect("a number");
        ands += taken;
        assert_eq!(stores[1]["consumed"], ands, "{request}");
    }
    // Multiples of 6 up to 80: 13 of them, two also multiples of 5.
    assert_eq!(requests[0]["result"]["total"]["customers"], 13);
    assert_eq!(requests[1]["result"]["quarters"][0]["customers"], 13);
    assert!(requests[1]["result"]["quarters"][1].is_null(), "two customers are too few");
    assert_eq!(requests[2]["receivers"], "A only");
    assert_eq!(requests[4]["ands"], 64);
    let cheat = &said.json["cheat"];
    assert_eq!(cheat["caught"], true, "{cheat}");
    assert_eq!(cheat["after"]["equal"], true, "{cheat}");
}

#[test]
fn a_malformed_table_starts_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let good = table(dir.path(), "good.csv", 3, 1);
    let bad = write(dir.path(), "bad.csv", &format!("{HEADER}1,1,1,1,1,1,1\n2,1,1,x,1,1,1\n"));
    let started = Instant::now();
    let said = run(&format!("demo --issuer-a {good} --issuer-b {}", bad.display()));
    let error = said.error(2);
    assert!(error.contains("bad.csv:3: column 4 (`q3`): no uint b20: 0 to 1048575"), "{error}");
    let said = run("demo --pool 10");
    assert!(said.error(2).starts_with("a pool of 10"), "{said:?}");
    let other = format!("{}1,1,1,1,1,1,1\n", HEADER.replace("q6", "q7"));
    let other = write(dir.path(), "other.csv", &other);
    let said = run(&format!("demo --issuer-a {good} --issuer-b {}", other.display()));
    assert!(said.error(2).contains("period \"q6\" where issuer B's has \"q7\""), "{said:?}");
    assert!(started.elapsed() < Duration::from_secs(5), "nothing was started");
}

#[cfg(target_os = "linux")]
#[test]
fn an_interruption_ends_both_servers() {
    let demo = start("demo");
    let id = demo.child.id();
    let deadline = Instant::now() + common::LIMIT;
    let servers = loop {
        let servers = children(id);
        if servers.len() == 2 {
            break servers;
        }
        assert!(Instant::now() < deadline, "the servers start");
        thread::sleep(Duration::from_millis(5));
    };
    thread::sleep(Duration::from_millis(300));
    let process = Pid::from_raw(id.cast_signed()).expect("a process number");
    kill_process(process, Signal::INT).expect("the process is there");
    assert_eq!(demo.end().error(130), "interrupted");
    for server in servers {
        assert!(!Path::new(&format!("/proc/{server}")).exists(), "a server is left");
    }
}

/// Processes that `parent` started.
#[cfg(target_os = "linux")]
fn children(parent: u32) -> Vec<u32> {
    let tasks = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    let tasks = tasks.unwrap_or_default();
    tasks.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}
