//! Circuit files: both formats, ports files, errors, hostile input.

use cenote_circuit::formats::bristol::*;
use cenote_circuit::formats::*;
use cenote_circuit::optimise::{self, Options};
use cenote_circuit::{Circuit, Clear, Gate, Program, Receivers, Role, bits_of, value_of};
use proptest::prelude::*;

const ADDER_FASHION: &str = "5 9\n2 2 2\n1 2\n\n2 1 0 2 7 XOR\n2 1 0 2 4 AND\n\
                             2 1 1 3 5 XOR\n1 1 1 6 EQW\n2 1 5 4 8 XOR\n";
const ADDER_OLD: &str =
    "4 8\n2 2 2\n\n2 1 0 2 6 XOR\n2 1 0 2 4 AND\n2 1 1 3 5 XOR\n2 1 5 4 7 XOR\n";

fn eval(circuit: &Circuit, inputs: &[u128]) -> Vec<u128> {
    let ports = circuit.signature().inputs;
    let bits: Vec<_> = inputs.iter().zip(&ports).map(|(v, p)| bits_of(*v, p.bits)).collect();
    Clear::eval(circuit, &bits).iter().map(|bits| value_of(bits)).collect()
}

#[test]
fn both_formats_are_told_apart_and_read() {
    for (text, format) in [(ADDER_FASHION, Format::BristolFashion), (ADDER_OLD, Format::OldBristol)]
    {
        assert_eq!(detect("x", text.as_bytes()), Ok(format));
        // Line ends of other systems and missing blank lines change nothing.
        for text in [text.to_owned(), text.replace('\n', "\r\n"), text.replace("\n\n", "\n")] {
            let circuit = parse_any("dir/adder.v1.txt", text.as_bytes()).unwrap();
            assert_eq!(circuit.name(), "adder.v1");
            for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
                assert_eq!(eval(&circuit, &[a, b]), [(a + b) % 4]);
            }
        }
    }
}

#[test]
fn every_gate_of_bristol_fashion() {
    let text = "7 12\n2 2 1\n2 3 1\n\n1 1 1 4 EQ\n1 1 0 3 EQ\n4 2 0 1 1 2 5 6 MAND\n\
                1 1 5 7 INV\n2 1 7 6 8 XOR\n1 1 8 9 EQW\n2 2 4 2 10 11 MAND\n";
    assert!(parse_any("x", text.as_bytes()).is_err(), "MAND of one pair writes one wire");
    let text = text.replace("2 2 4 2 10 11 MAND", "4 2 4 3 2 4 10 11 MAND");
    let circuit = parse_any("x", text.as_bytes()).unwrap();
    let stats = circuit.stats();
    assert_eq!((stats.and, stats.xor, stats.inv, stats.eq, stats.eqw), (4, 1, 1, 2, 1));
    for (a, b) in (0..4u128).flat_map(|a| (0..2u128).map(move |b| (a, b))) {
        let (a0, a1) = (a & 1, a >> 1);
        let wire5 = a0 & a1;
        let wire9 = (1 - wire5) ^ (a1 & b);
        let wire8 = wire9;
        assert_eq!(eval(&circuit, &[a, b]), [wire8 | wire9 << 1 | b << 2, 0]);
    }
}

#[test]
fn no_gates_at_all() {
    let circuit = parse_any("x", b"0 4\n2 3 1\n1 4\n").unwrap();
    assert_eq!(eval(&circuit, &[5, 1]), [13]);
    let circuit = parse_any("x", b"0 4\n3 1 4\n").unwrap();
    assert_eq!(eval(&circuit, &[5, 1]), [13]);
    let circuit = parse_any("x", b"0 0\n0\n0\n").unwrap();
    assert_eq!(eval(&circuit, &[]), [0u128; 0]);
}

#[test]
fn errors_name_file_place_and_remedy() {
    let cases: &[(&str, &str, &str)] = &[
        ("", "1:1", "empty"),
        ("\n\n5\n", "3:1", "two numbers"),
        ("5 9 1\n", "1:1", "two numbers"),
        ("1 3\n", "1:4", "inputs is missing"),
        ("1 3\n2 1\n2 1 0 1 2 XOR\n", "2:1", "three numbers"),
        ("1 3\n2 1 1 1\n1 1\n", "2:1", "2 inputs are announced and 3 widths"),
        ("1 3\n2 1 1\n2 1\n", "3:1", "2 outputs are announced and 1"),
        ("1 3x\n2 1 1\n1 1\n", "1:3", "`3x`"),
        ("1 -3\n2 1 1\n1 1\n", "1:3", "`-3`"),
        ("1 99999999999999999999999\n2 1 1\n1 1\n", "1:3", "no number"),
        ("4294967295 3\n2 1 1\n1 1\n", "1:1", "no number"),
        ("1000000000 3\n2 1 1\n1 1\n", "1:1", "more than the file can hold"),
        ("1 1000000000\n2 1 1\n1 1\n\n2 1 0 1 2 XOR\n", "1:1", "more than the file can write"),
        ("1 1073741822\n2 1 1\n1 1\n\n2 1 0 1 2 XOR\n", "1:1", "more than the file can write"),
        ("1 1073741823\n2 1 1\n1 1\n\n2 1 0 1 2 XOR\n", "1:3", "is no number"),
        ("1 1\n2 1 1\n1 1\n\n2 1 0 1 2 XOR\n", "1:1", "fewer than the ports"),
        (
            "1 1000000000\n1 1000000000\n1 1\n\n2 1 0 1 2 XOR\n",
            "2:1",
            "inputs have 1000000000 bits",
        ),
        ("2 4\n2 1 1\n1 1\n\n2 1 0 1 3 XOR\n", "5:14", "2 gates are announced and 1 given"),
        ("1 3\n2 1 1\n1 1\n\n2 1 0 1 2 XOR\n2 1 0 1 2 XOR\n", "6:1", "more than the 1 announced"),
        ("1 3\n2 1 1\n1 1\n\n2 1 0 1 2 NAND\n", "5:1", "`NAND` is no gate"),
        ("1 3\n2 1 1\n1 1\n\n1 1 0 1 2 XOR\n", "5:1", "`XOR` is no gate"),
        ("1 3\n2 1 1\n1 1\n\n2 1 0 1 XOR\n", "5:1", "`XOR` is no gate"),
        ("1 3\n2 1 1\n1 1\n\nXOR XOR XOR\n", "5:1", "`XOR` is no number"),
        ("1 3\n2 1 1\n1 1\n\n2 1 0 2 2 XOR\n", "5:7", "wire 2 is read but was not written"),
        ("1 3\n2 1 1\n1 1\n\n2 1 0 9 2 XOR\n", "5:7", "wire 9 does not exist"),
        ("1 3\n2 1 1\n1 1\n\n2 1 0 1 9 XOR\n", "5:9", "wire 9 does not exist"),
        ("1 3\n2 1 1\n1 1\n\n2 1 0 1 1 XOR\n", "5:9", "wire 1 is an input"),
        ("2 4\n2 1 1\n1 1\n\n2 1 0 1 2 XOR\n2 1 0 1 2 XOR\n", "6:9", "wire 2 is written twice"),
        ("2 5\n2 1 1\n1 1\n\n2 1 0 1 2 XOR\n2 1 0 1 3 XOR\n", "6:14", "wire 4 is read but was not"),
        ("1 3\n2 1 1\n1 1\n\n1 1 2 2 EQ\n", "5:1", "`EQ` is no gate of Bristol Fashion"),
        ("1 3\n1 1 1\n\n1 1 0 2 EQW\n", "4:1", "`EQW` is no gate of the old"),
        ("1 3\n2 1 1\n1 1\n\n1 0 2 MAND\n", "5:1", "`MAND` is no gate"),
        ("1 3\n2 1 1\n1 1\n\n0 0 MAND\n", "5:1", "`MAND` is no gate"),
        ("1 3\n2 1 1\n1 1\n\n18446744073709551615 1 0 1 2 XOR\n", "5:1", "no number"),
    ];
    for (text, place, message) in cases {
        let error = parse_any("dir/file.txt", text.as_bytes()).unwrap_err();
        let shown = error.to_string();
        assert_eq!(error.place.to_string(), *place, "{text:?}: {shown}");
        assert!(error.message.contains(message), "{text:?}: {shown}");
        assert!(shown.starts_with(&format!("dir/file.txt:{place}: ")) && !error.remedy.is_empty());
    }
    let binary = parse_any("x", b"1 3\n2 1 1\n1\xff\n").unwrap_err();
    assert_eq!(binary.place, Place::Text { line: 3, column: 2 });
}

#[test]
fn ports_files_name_cut_and_order_ports() {
    let ports = Ports::parse(
        "adder.ports.toml",
        br#"version = 1
[[input]]
name = "a"
owner = "evaluator"
order = "msb"
[[input]]
name = "b"
[[output]]
name = "low"
bits = 1
receiver = "both"
[[output]]
name = "high"
bits = 1
"#,
    )
    .unwrap();
    let circuit = parse_with_ports("adder", ADDER_FASHION.as_bytes(), Some(&ports)).unwrap();
    let signature = circuit.signature();
    assert_eq!(signature.inputs[0].owner, Some(Role::Evaluator));
    assert_eq!(signature.inputs[1].name, "b");
    assert_eq!(signature.outputs[0].receiver, Some(Receivers::Both));
    let swap = |x: u128| x >> 1 | (x & 1) << 1;
    for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
        let sum = swap(a) + b;
        assert_eq!(eval(&circuit, &[a, b]), [sum & 1, sum >> 1 & 1]);
    }
}

#[test]
fn bit_orders_are_permutations_with_the_documented_ends() {
    for (order, first, last) in [
        (BitOrder::Lsb, 0, 31),
        (BitOrder::Msb, 31, 0),
        (BitOrder::BytesLsb, 24, 7),
        (BitOrder::BytesMsb, 7, 24),
    ] {
        let mut wires: Vec<usize> = (0..32).map(|bit| order.wire(bit, 32)).collect();
        assert_eq!((wires[0], wires[31]), (first, last));
        wires.sort_unstable();
        assert_eq!(wires, (0..32).collect::<Vec<_>>());
    }
}

#[test]
fn ports_errors_name_file_place_and_remedy() {
    let cases: &[(&str, &str, &str)] = &[
        ("", "1:1", "version"),
        ("version = 2\n", "1:11", "version 2 is not known"),
        ("version = 1\ncolour = 3\n", "2:1", "colour"),
        ("version = 1\n[[input]]\nname = 3\n", "3:8", "string"),
        ("version = 1\n[[input]]\nname = \"a\"\nowner = \"eve\"\n", "4:9", "eve"),
        ("version = 1\n[[input]]\nname = \"a\"\n[[input\n", "4:8", ""),
        ("version = 1\n[[input]]\nname = \"a\"\n", "3:8", "has no width"),
        ("version = 1\n[[input]]\nname = \"a\\nb\"\n", "3:8", "cannot be named"),
        ("version = 1\n[[output]]\nname = \"\"\n", "3:8", "cannot be named"),
        (
            "version = 1\n[[input]]\nname = \"a\"\nbits = 5\n",
            "3:8",
            "have 5 bits, the circuit has 4",
        ),
        ("version = 1\n[[output]]\nname = \"a\"\norder = \"bytes-lsb\"\n", "3:8", "whole bytes"),
        ("version = 1\n[[input]]\nname = \"a\"\n[[input]]\nname = \"a\"\n", "5:8", "two inputs"),
        ("version = 1\n[[input]]\nname = \"a\"\nbits = 9000000000000000000\n", "3:8", "too many"),
    ];
    for (text, place, message) in cases {
        let error = Ports::parse("a.ports.toml", text.as_bytes())
            .and_then(|ports| parse_with_ports("a", ADDER_FASHION.as_bytes(), Some(&ports)))
            .unwrap_err();
        let shown = error.to_string();
        assert_eq!(error.place.to_string(), *place, "{text:?}: {shown}");
        assert!(error.message.contains(message), "{text:?}: {shown}");
        assert!(shown.starts_with(&format!("a.ports.toml:{place}: ")) && !error.remedy.is_empty());
    }
}

#[test]
fn files_are_read_with_their_ports() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("adder.txt");
    assert!(matches!(read_circuit(&path), Err(ReadError::Io { .. })));
    std::fs::write(&path, ADDER_FASHION).unwrap();
    assert_eq!(read_circuit(&path).unwrap().signature().inputs[0].name, "in0");
    let beside = ports_path(&path);
    assert_eq!(beside, dir.path().join("adder.ports.toml"));
    let ports = "version = 1\n[[input]]\nname=\"x\"\n[[input]]\nname=\"y\"\n";
    std::fs::write(&beside, ports).unwrap();
    let circuit = read_circuit(&path).unwrap();
    assert_eq!(circuit.signature().inputs[1].name, "y");
    // What is written beside a circuit restores its ports.
    std::fs::write(&beside, circuit.ports_toml()).unwrap();
    assert_eq!(read_circuit(&path).unwrap(), circuit);
    std::fs::write(&beside, "version = 3").unwrap();
    let error = read_circuit(&path).unwrap_err().to_string();
    assert!(error.contains("adder.ports.toml:1:11: version 3"), "{error}");
}

#[test]
fn the_old_format_is_written_only_where_it_can_be() {
    let circuit = parse_any("x", b"0 3\n3 1 1 1\n1 1\n").unwrap();
    assert_eq!(write_bristol(&circuit), Err(WriteError::Ports { inputs: 3, outputs: 1 }));
    let circuit = parse_any("x", b"1 1\n1 0\n1 1\n\n1 1 1 0 EQ\n").unwrap();
    assert_eq!(write_bristol(&circuit), Err(WriteError::NoInput));
    assert_eq!(write_bristol_fashion(&circuit), "1 1\n1 0\n1 1\n\n1 1 1 0 EQ\n");
}

/// A random circuit, outputs that are inputs, repeated or constant included.
fn circuits() -> impl Strategy<Value = (Circuit, Vec<bool>)> {
    let gate = (0..6u8, any::<u32>(), any::<u32>());
    (
        1..6usize,
        0..6usize,
        prop::collection::vec(gate, 0..80),
        prop::collection::vec(any::<u32>(), 0..12),
    )
        .prop_flat_map(|(first, second, gates, outputs)| {
            let inputs = first + second;
            let list: Vec<Gate> = gates
                .iter()
                .enumerate()
                .map(|(i, (kind, a, b))| {
                    let (a, b) = (a % (inputs + i) as u32, b % (inputs + i) as u32);
                    match kind {
                        0 => Gate::Xor(a, b),
                        1 | 2 => Gate::And(a, b),
                        3 => Gate::Inv(a),
                        4 => Gate::Eqw(a),
                        _ => Gate::Eq(b % 2 == 1),
                    }
                })
                .collect();
            let wires = (inputs + gates.len()) as u32;
            let outputs: Vec<u32> = outputs.iter().map(|wire| wire % wires).collect();
            let signature = cenote_circuit::Signature::new()
                .input("in0", first, None)
                .input("in1", second, None)
                .output("out0", outputs.len(), None);
            let circuit = Circuit::new("random", signature, list, outputs).unwrap();
            (Just(circuit), prop::collection::vec(any::<bool>(), inputs))
        })
}

/// Evaluation gate by gate, with nothing clever.
fn reference(circuit: &Circuit, inputs: &[bool]) -> Vec<bool> {
    let mut wires = inputs.to_vec();
    for gate in circuit.gates() {
        let bit = |wire: u32| wires[wire as usize];
        let value = match *gate {
            Gate::Xor(a, b) => bit(a) ^ bit(b),
            Gate::And(a, b) => bit(a) & bit(b),
            Gate::Inv(a) => !bit(a),
            Gate::Eqw(a) => bit(a),
            Gate::Eq(value) => value,
        };
        wires.push(value);
    }
    circuit.output_wires().iter().map(|wire| wires[*wire as usize]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn running_writing_and_optimising_preserve_the_function((circuit, bits) in circuits()) {
        let expected = reference(&circuit, &bits);
        let first = circuit.signature().inputs[0].bits;
        let inputs = [bits[..first].to_vec(), bits[first..].to_vec()];
        prop_assert_eq!(&Clear::eval(&circuit, &inputs)[0], &expected);

        let optimise = |circuit| optimise::circuit(circuit, &Options::default()).0;
        let small = optimise(&circuit);
        prop_assert_eq!(&Clear::eval(&small, &inputs)[0], &expected);
        prop_assert!(small.stats().and <= circuit.stats().and);
        prop_assert!(optimise(&small).stats().and <= small.stats().and);

        let fashion = write_bristol_fashion(&circuit);
        let read = parse_any("f", fashion.as_bytes()).unwrap();
        prop_assert_eq!(detect("f", fashion.as_bytes()), Ok(Format::BristolFashion));
        prop_assert_eq!(&Clear::eval(&read, &inputs)[0], &expected);
        prop_assert_eq!(write_bristol_fashion(&read), fashion);

        let old = write_bristol(&circuit);
        if circuit.signature().inputs[1].bits > 0 {
            let old = old.unwrap();
            if old.lines().nth(3).is_some() {
                prop_assert_eq!(detect("o", old.as_bytes()), Ok(Format::OldBristol));
            }
            let read = parse_any("o", old.as_bytes()).unwrap();
            prop_assert_eq!(&Clear::eval(&read, &inputs)[0], &expected);
        }
    }

    #[test]
    fn damaged_files_never_panic(
        cut in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        noise in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        for text in [ADDER_FASHION, ADDER_OLD] {
            let mut bytes = text.as_bytes().to_vec();
            let place = at.index(bytes.len());
            bytes[place] = byte;
            let _ = parse_any("x", &bytes).map(|circuit| circuit.stats());
            bytes.truncate(cut.index(bytes.len()));
            let _ = parse_any("x", &bytes);
        }
        let _ = parse_any("x", &noise);
        let _ = Ports::parse("x", &noise);
    }
}
