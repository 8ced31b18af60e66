//! Threads of a party from the command line.

mod common;

use common::{ADDER, run, write};
use tempfile::TempDir;

#[test]
fn runs_have_as_many_threads_as_the_owner_wants() {
    let dir = TempDir::new().expect("a directory");
    let file = write(dir.path(), "adder.txt", ADDER).display().to_string();
    for backend in ["wrk", "yao"] {
        let line = |threads| {
            format!("run {file} --input 3 --input 1 --backend {backend} --threads {threads}")
        };
        let one = run(&line(1)).json;
        assert_eq!(run(&line(3)).json["outputs"], one["outputs"], "{backend}");
        for threads in ["0", "65", "two", "-1"] {
            let said = run(&line(0).replace("--threads 0", &format!("--threads={threads}")));
            assert!(said.error(2).contains("a party has 1 to 64 threads"), "{said:?}");
        }
    }
}

#[test]
fn a_party_is_played_alone_with_one_thread_and_with_several() {
    let said = run("bench threads --ands 20000 --threads 3 --pool 20000 --repeat 1").json;
    assert_eq!((&said["threads"], &said["pool"]), (&3.into(), &20000.into()), "{said}");
    for role in ["garbler", "evaluator"] {
        for way in ["one_thread_one_core", "one_thread", "threads"] {
            for figure in ["seconds", "cpu_s"] {
                assert!(said[role][way][figure].as_f64() > Some(0.0), "{said}");
            }
        }
        assert!(said[role]["speed_up"].as_f64() > Some(0.0), "{said}");
    }
    let said = run("bench and --ands 20000 --threads 2 --pool 20000").json;
    assert_eq!((&said["threads"], &said["pinned"]), (&2.into(), &false.into()), "{said}");
}
