//! Commands with a peer: honest, different, wrong, silent and hostile ones.

mod common;

use std::fs::{File, remove_file};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use common::{ADDER, LIMIT, PURCHASES, Running, Said, parties, run, start, write};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

fn adder(dir: &TempDir) -> String {
    write(dir.path(), "adder.txt", ADDER).display().to_string()
}

#[test]
fn every_backend_runs_a_circuit_on_this_machine() {
    let dir = TempDir::new().expect("a directory");
    let file = adder(&dir);
    for backend in ["plain", "yao", "wrk", "jimu"] {
        let line = format!("run {file} --backend {backend}");
        let said = run(&format!("{line} --input garbler=3 --input evaluator=1"));
        assert_eq!(said.outputs(), [Some("4"), Some("1")], "{backend}");
        assert_eq!(said.json["ands"], 3);
        assert!(said.json["parties"]["evaluator"]["bytes_sent"].as_u64().expect("a count") > 0);
    }
    // Owners are named port by port, or ports take turns; who receives changes nothing here.
    for inputs in ["--input evaluator=2 --input garbler=3", "--input 2 --input garbler=3"] {
        let said = run(&format!("run {file} --backend yao --reveal-to evaluator {inputs}"));
        assert_eq!(said.outputs(), [Some("5"), Some("0")]);
    }
}

/// The program is gone as soon as values are read: the two processes have it from the command.
#[test]
fn the_file_of_a_run_is_read_once() {
    let dir = TempDir::new().expect("a directory");
    let values = dir.path().join("values");
    let made = Command::new("mkfifo").arg(&values).status().expect("a command");
    assert!(made.success());
    let purchases = "customer,amount\n7,1.5\n8,2\n7,4\n";
    for (text, inputs, value, outputs) in [
        (ADDER, ["garbler=@", "evaluator=1"], "3\n", vec![Some("4"), Some("1")]),
        (PURCHASES, ["rows=@", "who=7"], purchases, vec![Some("000580")]),
    ] {
        let file = write(dir.path(), "program", text);
        let [garbler, evaluator] = inputs;
        let line = format!("run {} --input {garbler}{}", file.display(), values.display());
        let running = start(&format!("{line} --backend yao --input {evaluator}"));
        let (opened, open) = channel();
        let pipe = values.clone();
        // Opens when the other end is opened, which is after the program was read.
        thread::spawn(move || opened.send(File::create(pipe)));
        let mut pipe = open.recv_timeout(LIMIT).expect("values are read").expect("a pipe");
        remove_file(&file).expect("it was there");
        pipe.write_all(value.as_bytes()).expect("they are still read");
        drop(pipe);
        assert_eq!(running.end().outputs(), outputs);
    }
}

#[test]
fn two_commands_compute_over_plain_tcp() {
    let dir = TempDir::new().expect("a directory");
    let line = format!("{} --insecure-plaintext", adder(&dir));
    let (garbler, evaluator) = parties(&format!("{line} --input 3"), &format!("{line} --input 1"));
    assert_eq!(garbler.outputs(), [Some("4"), Some("1")]);
    assert_eq!(evaluator.outputs(), garbler.outputs());
    assert_eq!(garbler.json["epsilon_log2"], -40.0);
    assert_eq!(garbler.json["peer"], "not authenticated");
    // The job is too small for silent OT; how far a side is ahead goes by how busy the machine is.
    let by_line = &garbler.json["cost"]["on_the_line"];
    assert_eq!(by_line["ot"], "softspoken4");
    assert!(by_line["lag"].as_u64() >= Some(1) && by_line["ahead"].as_u64() >= Some(1));
    let line_and_ot = format!("{line} --ot silent");
    let (garbler, evaluator) =
        parties(&format!("{line_and_ot} --input 3"), &format!("{line_and_ot} --input 1"));
    for side in [garbler, evaluator] {
        assert_eq!(side.json["cost"]["on_the_line"]["ot"], "silent");
    }

    let line = format!("{line} --backend yao --reveal-to garbler --owners e,e");
    let (garbler, evaluator) = parties(&line, &format!("{line} --input 3 --input 2"));
    assert_eq!(garbler.outputs(), [Some("5"), Some("0")]);
    assert_eq!(evaluator.outputs(), [None, None]);
}

#[test]
fn tls_takes_the_paired_peer_and_no_other() {
    let dir = TempDir::new().expect("a directory");
    let at = |name: &str| dir.path().join(name).display().to_string();
    for name in ["a", "b", "c"] {
        run(&format!("init {} --name {name}", at(name)));
    }
    run(&format!("pair {} {}/identity.crt.pem", at("a"), at("b")));
    let file = adder(&dir);
    let garbler = format!("{file} --backend yao --input 2 --identity {}", at("a"));
    let evaluator = |who: &str| {
        let peer = format!("--peer-cert {}/identity.crt.pem", at("a"));
        format!("{file} --backend yao --input 2 --identity {} {peer}", at(who))
    };
    let (one, two) = parties(&garbler, &evaluator("b"));
    assert_eq!(one.outputs(), [Some("4"), Some("0")]);
    assert_eq!(two.outputs(), one.outputs());
    for side in [&one, &two] {
        assert_eq!(side.json["peer"], "pinned certificate");
    }

    // Strangers do not end the wait for the peer: a port scan, silent ones, another certificate.
    let mut listening = start(&format!("party --role garbler --listen 127.0.0.1:0 {garbler}"));
    let address = listening.address();
    let call = || TcpStream::connect(&address).expect("the listener listens");
    call().write_all(b"GET / HTTP/1.0\r\n\r\n").expect("it reads");
    let silent = [(); 5].map(|()| call());
    let other = run(&format!("party --role evaluator --connect {address} {}", evaluator("c")));
    assert!(other.error(3).contains("refused this side's certificate"));
    let two = run(&format!("party --role evaluator --connect {address} {}", evaluator("b")));
    let one = listening.end();
    assert_eq!(two.outputs(), one.outputs());
    assert!(one.stderr.contains("note: turned away 127.0.0.1:"), "{one:?}");
    assert!(one.stderr.contains("fingerprint"), "{one:?}");
    drop(silent);

    let (one, two) = parties(&format!("{garbler} --wait 2"), &evaluator("c"));
    assert!(one.error(5).contains("fingerprint"));
    assert!(two.error(3).contains("certificate"));

    let said = run(&format!(
        "party {file} --role garbler --connect 127.0.0.1:1 --input 2 --identity {}",
        at("c")
    ));
    assert!(said.error(2).contains("cenote pair"));
}

/// Both sides must refuse, and name what differs.
#[track_caller]
fn refused(both: (Said, Said), what: &str) {
    for said in [both.0, both.1] {
        let error = said.error(3);
        assert!(error.contains(what), "{error}");
        assert!(said.json.get("outputs").is_none());
    }
}

#[test]
fn whatever_differs_is_refused_on_both_sides_by_name() {
    let dir = TempDir::new().expect("a directory");
    let file = adder(&dir);
    let other = ADDER.replace("2 1 0 2 9 XOR", "2 1 0 2 9 AND");
    let other = write(dir.path(), "other.txt", &other).display().to_string();
    let side = |file: &str, more: &str| format!("{file} --insecure-plaintext --input 1 {more}");
    let one = side(&file, "");
    refused(parties(&one, &side(&other, "")), "program: here");
    refused(parties(&one, &side(&other, "")), "cenote circuit info");
    refused(parties(&one, &side(&file, "--backend yao")), "backend: here");
    refused(parties(&one, &side(&file, "--rho 64")), "rho: here");
    refused(parties(&one, &side(&file, "--pool 480000")), "pool: here");
    refused(parties(&one, &side(&file, "--reveal-to garbler")), "reveal-to: here");
    let both_theirs = format!("{} --owners e,e --input 1", side(&file, ""));
    refused(parties(&one, &both_theirs), "owners: here");
    // The same circuit under another name is the same program.
    let copy = write(dir.path(), "copy.txt", ADDER).display().to_string();
    let (one, two) = parties(&one, &side(&copy, ""));
    assert_eq!(one.outputs(), two.outputs());
}

#[test]
fn two_garblers_are_refused() {
    let dir = TempDir::new().expect("a directory");
    let line = format!("party {} --role garbler --insecure-plaintext --input 1", adder(&dir));
    let mut listening = start(&format!("{line} --listen 127.0.0.1:0"));
    let other = run(&format!("{line} --connect {}", listening.address()));
    refused((listening.end(), other), "role: here garbler");
}

#[test]
fn nobody_there_is_a_failed_connection() {
    let dir = TempDir::new().expect("a directory");
    let line = format!("party {} --role garbler --insecure-plaintext --input 1", adder(&dir));
    assert!(
        run(&format!("{line} --connect 127.0.0.1:1 --wait 1")).error(5).contains("127.0.0.1:1")
    );
    assert!(run(&format!("{line} --listen 127.0.0.1:0 --wait 1")).error(5).contains("no peer"));
}

#[test]
fn an_address_that_is_none_is_bad_input_at_once() {
    let dir = TempDir::new().expect("a directory");
    let line = format!("party {} --role garbler --insecure-plaintext --input 1", adder(&dir));
    let started = Instant::now();
    for address in ["127.0.0.1:99999", "127.0.0.1", "http://127.0.0.1:80", ":7700"] {
        for end in ["--connect", "--listen"] {
            let said = run(&format!("{line} {end} {address}"));
            assert!(said.error(2).contains("write HOST:PORT"), "{said:?}");
        }
    }
    assert!(started.elapsed() < Duration::from_secs(10), "nobody was waited for");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound");
    let said = run(&format!("{line} --listen {address}"));
    assert!(said.error(5).contains("choose another port"), "{said:?}");
}

#[test]
fn a_silent_caller_does_not_outlast_the_wait() {
    let dir = TempDir::new().expect("a directory");
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    let (a, b) = (a.display(), b.display());
    run(&format!("init {a}"));
    run(&format!("init {b}"));
    let mut waiting = start(&format!(
        "party {} --role garbler --input 1 --listen 127.0.0.1:0 --wait 2 --identity {a} \
         --peer-cert {b}/identity.crt.pem",
        adder(&dir)
    ));
    let started = Instant::now();
    let address = waiting.address();
    for _ in 0..15 {
        let mut scan = TcpStream::connect(&address).expect("it listens");
        scan.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("it reads");
    }
    let _silent = TcpStream::connect(&address).expect("it listens");
    let said = waiting.end();
    assert!(said.error(5).contains("callers turned away: 15"), "{said:?}");
    // A flood fills no log.
    assert_eq!(said.stderr.matches("note: turned away 127.0.0.1:").count(), 10, "{said:?}");
    assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
}

#[test]
fn pinned_and_open_do_not_go_together() {
    let dir = TempDir::new().expect("a directory");
    let line = format!("party {} --role garbler --connect 127.0.0.1:1", adder(&dir));
    for option in ["--peer-cert x.pem", "--identity x", "--identity x --peer-cert x.pem"] {
        let said = run(&format!("{line} --insecure-plaintext {option}"));
        assert!(said.error(2).contains("cannot be used with"), "{said:?}");
    }
    let said = run(&format!("{line} --input 1 --identity {}/none", dir.path().display()));
    assert!(said.error(2).contains("cenote init"), "{said:?}");
}

#[test]
fn receivers_of_the_ports_file_are_not_overridden() {
    let dir = TempDir::new().expect("a directory");
    let file = adder(&dir);
    let input = |name| format!("[[input]]\nname = \"{name}\"\nbits = 2\n\n");
    let output = |name, more| format!("[[output]]\nname = \"{name}\"\nbits = {more}\n\n");
    let ports =
        [input("x"), input("y"), output("sum", "3\nreceiver = \"garbler\""), output("odd", "1")];
    let ports = format!("version = 1\n\n{}", ports.concat());
    write(dir.path(), "adder.ports.toml", &ports);
    let line = format!("run {file} --backend plain --input 3 --input 1");
    assert_eq!(run(&format!("{line} --reveal-to garbler")).code, 0);
    assert_eq!(run(&line).code, 0);
    let party = format!("party {file} --role garbler --insecure-plaintext --input 1 --listen x:0");
    for line in [line, party] {
        let said = run(&format!("{line} --reveal-to evaluator"));
        assert!(said.error(2).contains("gives `sum` to garbler"), "{said:?}");
    }
}

/// A peer that accepts one connection, sends `bytes` and then stays as it is until the end.
fn hostile(bytes: Vec<u8>) -> String {
    listening(bytes).0
}

/// The same; its thread returns what it was sent.
fn listening(bytes: Vec<u8>) -> (String, JoinHandle<std::io::Result<Vec<u8>>>) {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("bound").to_string();
    let told = thread::spawn(move || {
        let (mut stream, _) = socket.accept()?;
        stream.write_all(&bytes)?;
        stream.set_read_timeout(Some(LIMIT))?;
        let mut told = Vec::new();
        stream.read_to_end(&mut told).map(|_| told)
    });
    (address, told)
}

#[test]
fn garbage_and_silence_end_in_bounded_time() {
    let dir = TempDir::new().expect("a directory");
    let line = format!("party {} --role garbler --input 1 --idle-limit 1", adder(&dir));
    let junk: Vec<u8> = (0..100_000u32).map(|i| (i % 251) as u8 | 0x80).collect();
    let started = Instant::now();
    let plain = format!("{line} --insecure-plaintext");
    // What is no frame of ours is a set-up that is wrong; a hello that is none is the peer's doing.
    let said = run(&format!("{plain} --connect {}", hostile(junk.clone())));
    assert!(said.error(5).contains("does not speak Cenote's protocol"));
    run(&format!("{plain} --connect {}", hostile(vec![2, 0, 0, 0, 0]))).error(4);
    run(&format!("{plain} --connect {}", hostile(vec![2, 200, 0, 0, 0, 1]))).error(5);
    run(&format!("{plain} --connect {}", hostile(vec![]))).error(5);
    run(&format!("{plain} --connect {}", hostile(vec![0, 0, 0, 0, 0]))).error(6);
    let identity = dir.path().join("a").display().to_string();
    let peer = dir.path().join("b").display().to_string();
    run(&format!("init {identity}"));
    run(&format!("init {peer}"));
    let tls = format!("{line} --identity {identity} --peer-cert {peer}/identity.crt.pem");
    let said = run(&format!("{tls} --connect {}", hostile(junk)));
    assert!([4, 5].contains(&said.code), "{said:?}");
    assert!(started.elapsed() < Duration::from_secs(30));
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(id as i32).expect("a process has a number")
}

fn interrupt(id: u32) {
    kill_process(pid(id), Signal::INT).expect("the process is there");
}

#[test]
fn ctrl_c_ends_a_party_that_waits() {
    let dir = TempDir::new().expect("a directory");
    let line = format!("party {} --role garbler --insecure-plaintext --input 1", adder(&dir));
    let mut nobody_came = start(&format!("{line} --listen 127.0.0.1:0"));
    nobody_came.address();
    interrupt(nobody_came.child.id());
    nobody_came.end().error(130);

    let (address, told) = listening(vec![]);
    let silent = start(&format!("{line} --connect {address}"));
    thread::sleep(Duration::from_millis(500));
    let started = Instant::now();
    interrupt(silent.child.id());
    silent.end().error(130);
    assert!(started.elapsed() < Duration::from_secs(8));
    let told = told.join().expect("no panic").expect("the connection ends in order");
    assert!(told.ends_with(&[0, 0, 0, 0, 0]), "the peer was not told");
}

/// Whether a process works; one that ended and that nobody has asked about yet does not.
fn alive(id: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{id}/stat"));
    state.is_ok_and(|state| !state.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
}

/// The processes that `id` started.
fn children(id: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(Path::new("/proc").join(format!("{id}/task/{id}/children")));
    let list = list.expect("Linux tells");
    list.split_whitespace().map(|id| id.parse().expect("a number")).collect()
}

/// A bench that would take minutes, and the numbers of its two processes.
fn long_bench() -> (Running, Vec<u32>) {
    let bench = start("bench aes --backend yao --jobs 100000");
    let started = Instant::now();
    loop {
        let both = children(bench.child.id());
        if both.len() == 2 {
            thread::sleep(Duration::from_millis(500));
            return (bench, both);
        }
        assert!(started.elapsed() < LIMIT);
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn ctrl_c_ends_both_processes_of_a_run() {
    let (bench, both) = long_bench();
    interrupt(bench.child.id());
    bench.end().error(130);
    for child in both {
        assert!(!alive(child), "a process was left behind");
    }
}

#[test]
fn both_processes_of_a_run_end_with_one_that_is_killed() {
    let (bench, both) = long_bench();
    kill_process(pid(bench.child.id()), Signal::KILL).expect("the process is there");
    bench.end();
    let started = Instant::now();
    while both.iter().any(|child| alive(*child)) {
        assert!(started.elapsed() < Duration::from_secs(20), "a process was left behind");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn benches_report_what_they_measured() {
    let said = run("bench and --backend plain,yao --ands 50000 --repeat 2");
    let results = said.json["results"].as_array().expect("two backends");
    assert_eq!(results.len(), 2);
    for result in results {
        assert_eq!((&result["ands"], &result["verified"]), (&50_000.into(), &true.into()));
        for name in ["wall_s", "ands_per_s"] {
            assert!(result[name].as_f64().expect("a number") > 0.0);
        }
        for party in ["garbler", "evaluator"] {
            let party = &result["parties"][party];
            assert!(party["bytes_sent"].as_u64().expect("a count") > 0);
            assert!(party["peak_rss_bytes"].as_u64().expect("a count") > 1 << 20);
        }
    }
    // 32 bytes an AND by half gates, base OTs and frames aside.
    let bytes = results[1]["bytes_per_and"].as_f64().expect("a number");
    assert!((32.0..33.0).contains(&bytes), "{bytes}");

    let said = run("bench aes --backend wrk --pool none --jobs 2 --tls");
    assert_eq!((said.code, &said.json["ands"]), (0, &6400.into()), "{said:?}");
    let cold = run("bench aes --backend wrk --pool none --cold");
    assert_eq!((&said.json["warm"], &cold.json["warm"]), (&true.into(), &false.into()));
    assert!(said.json["online_ms"].as_f64().expect("a number") > 0.0);

    // Batches are for the work: many small ones would take a thousand bytes and more for each AND.
    for work in ["and --ands 50000", "aes --blocks 8", "sort --n 128"] {
        let said = run(&format!("bench {work} --backend wrk --pool none"));
        let bytes = said.json["bytes_per_and"].as_f64().expect("a number");
        assert!(bytes < 500.0, "{work}: {bytes}");
    }

    let said = run("bench ot --k 2 --count 1000 --rtt-ms 10 --mbit 100");
    assert!(said.json["ots_per_s"].as_f64().expect("a number") > 0.0, "{said:?}");
    assert!(said.json["setup_s"].as_f64().expect("a number") > 0.02);
}

#[test]
fn parameters_of_a_bench_are_checked_first() {
    let said = run("bench and --pool 10 --ands 100");
    assert!(said.error(2).contains("needs at least"));
    assert!(!run("bench and --pool 10 --ands 100").error(2).starts_with("refused"));
    assert!(run("bench and --rtt-ms 99999").error(2).contains("--rtt-ms"));
    assert!(run("bench and --rtt-ms -1").error(2).contains("not negative"));
    assert!(run("bench and --mbit -1").error(2).contains("positive"));
    assert!(run("bench and --pool -5").error(2).contains("positive"));
    for option in ["--pool 480000", "--pool none", "--rho 40"] {
        let said = run(&format!("bench and --backend yao,plain {option}"));
        assert!(said.error(2).contains("means nothing without --backend wrk or jimu"), "{said:?}");
    }
}
