//! Writing BLIF.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::circuit::Gate;
use crate::formats::Parsed;
use crate::formats::names::{bit_names, generic_names};

/// The circuit in BLIF, gate by gate. Bit i of a port `a` is `a[i]`.
pub fn write_blif(parsed: &Parsed) -> String {
    let (circuit, signature, initial) = parsed.cycle();
    let inputs: Vec<_> = signature.inputs.iter().map(|p| (p.name.as_str(), p.bits)).collect();
    let outputs: Vec<_> = signature.outputs.iter().map(|p| (p.name.as_str(), p.bits)).collect();
    let (mut taken, mut given) = (bit_names("in", &inputs), bit_names("out", &outputs));
    // A model has one name space for all wires.
    let distinct: HashSet<&str> = taken.iter().chain(&given).map(String::as_str).collect();
    if distinct.len() < taken.len() + given.len() {
        (taken, given) = (generic_names("in", &inputs), generic_names("out", &outputs));
    }
    let mut prefix = String::from("n");
    while taken.iter().chain(&given).any(|name| name.starts_with(&prefix)) {
        prefix.push('n');
    }
    let label: String = parsed.name().chars().filter(char::is_ascii_alphanumeric).collect();
    let mut text = format!(".model {}\n", if label.is_empty() { "circuit" } else { &label });
    for (command, names) in [(".inputs", &taken), (".outputs", &given)] {
        text.push_str(command);
        names.iter().for_each(|name| text.extend([" ", name]));
        text.push('\n');
    }
    let name = |wire: u32| match taken.get(wire as usize) {
        Some(name) => name.clone(),
        None => format!("{prefix}{wire}"),
    };
    let wires = circuit.output_wires();
    let (shown, next) = wires.split_at(wires.len() - initial.len());
    for (i, (wire, bit)) in next.iter().zip(initial).enumerate() {
        let state = name((taken.len() + i) as u32);
        // Writing to a string cannot fail.
        let _ = writeln!(text, ".latch {} {state} {}", name(*wire), u8::from(*bit));
    }
    let first = (circuit.wires() - circuit.gates().len()) as u32;
    for (out, gate) in (first..).zip(circuit.gates()) {
        let out = name(out);
        let _ = match *gate {
            Gate::Xor(a, b) => writeln!(text, ".names {} {} {out}\n10 1\n01 1", name(a), name(b)),
            Gate::And(a, b) => writeln!(text, ".names {} {} {out}\n11 1", name(a), name(b)),
            Gate::Inv(a) => writeln!(text, ".names {} {out}\n0 1", name(a)),
            Gate::Eqw(a) => writeln!(text, ".names {} {out}\n1 1", name(a)),
            Gate::Eq(true) => writeln!(text, ".names {out}\n1"),
            Gate::Eq(false) => writeln!(text, ".names {out}"),
        };
    }
    for (out, wire) in given.iter().zip(shown) {
        let _ = writeln!(text, ".names {} {out}\n1 1", name(*wire));
    }
    text.push_str(".end\n");
    text
}
