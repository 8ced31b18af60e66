//! The circuit files of `data/circuits`: as our gadgets give them, and right.

#[path = "shipped/programs.rs"]
mod programs;

use std::path::{Path, PathBuf};

use cenote_circuit::{Circuit, Clear, bits_of, read_circuit, value_of};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/circuits").join(name)
}

fn eval(circuit: &Circuit, bits: usize, x: u64, y: u64) -> Vec<u128> {
    let inputs = [bits_of(x.into(), bits), bits_of(y.into(), bits)];
    Clear::eval(circuit, &inputs).iter().map(|port| value_of(port)).collect()
}

#[test]
fn the_files_are_what_the_example_writes() {
    for (name, circuit, ports) in programs::all() {
        let read = |name: String| std::fs::read_to_string(file(&name)).expect("shipped");
        assert_eq!(read(format!("{name}.txt")), circuit, "run the example shipped_circuits");
        assert_eq!(read(format!("{name}.ports.toml")), ports, "run the example shipped_circuits");
    }
}

#[test]
fn the_files_compute_what_they_say() {
    let add = read_circuit(&file("add64.txt")).expect("shipped");
    let max = read_circuit(&file("max32.txt")).expect("shipped");
    let edges = [0, 1, 2, 77, (1 << 31) - 1, 1 << 31, (1 << 32) - 1];
    for (x, y) in edges.iter().flat_map(|&x| edges.map(|y| (x, y))) {
        assert_eq!(eval(&max, 32, x, y), [x.max(y).into(), (x < y).into()]);
        let (x, y) = (x.wrapping_mul(0x1_0001_0003), y.wrapping_mul(u64::MAX - 4));
        assert_eq!(eval(&add, 64, x, y), [x.wrapping_add(y).into()]);
    }
}
