//! SHDL, BLIF and AIGER: what is read, what is refused and how, round trips, hostile input.

use cenote_circuit::formats::aiger::{write_aiger_ascii, write_aiger_binary};
use cenote_circuit::formats::blif::write_blif;
use cenote_circuit::formats::bristol::write_bristol_fashion;
use cenote_circuit::formats::*;
use cenote_circuit::{
    Circuit, Clear, Program, Receivers, Role, Sequential, SequentialError, Shown, Signature,
    bits_of, value_of,
};
use proptest::prelude::*;

fn eval(circuit: &Circuit, inputs: &[u128]) -> Vec<u128> {
    let ports = circuit.signature().inputs;
    let bits: Vec<_> = inputs.iter().zip(&ports).map(|(v, p)| bits_of(*v, p.bits)).collect();
    Clear::eval(circuit, &bits).iter().map(|bits| value_of(bits)).collect()
}

fn circuit(text: &str) -> Circuit {
    parse_any("dir/x.y", text.as_bytes()).unwrap()
}

fn sequential(bytes: &[u8]) -> Sequential {
    match parse("x", bytes, Beside::default()).unwrap() {
        Parsed::Sequential(sequential) => sequential,
        Parsed::Circuit(circuit) => panic!("no latches in {circuit:?}"),
    }
}

fn ports(signature: &Signature) -> String {
    let inputs = signature.inputs.iter().map(|port| format!("{}:{}", port.name, port.bits));
    let outputs = signature.outputs.iter().map(|port| format!("{}:{}", port.name, port.bits));
    format!("{} -> {}", inputs.collect::<Vec<_>>().join(" "), outputs.collect::<Vec<_>>().join(" "))
}

/// Two numbers of two bits, Bob's first: Alice learns their sum, Bob whether it is over 3.
const SHDL: &str = "\
0 input\t\t//output$input.bob$0
1 input\t\t//output$input.bob$1
2 input\t\t//output$input.alice$0
3 input\t\t//output$input.alice$1
4 output gate arity 2 table [ 0 1 1 0 ] inputs [ 2 0 ]\t//output$output.alice$0
5 gate arity 2 table [ 0 0 0 1 ] inputs [ 2 0 ]
6 output gate arity 3 table [ 0 1 1 0 1 0 0 1 ] inputs [ 5 3 1 ]\t//output$output.alice$1
7 gate arity 3 table [ 0 0 0 1 0 1 1 1 ] inputs [ 5 3 1 ]
8 gate arity 0 table [0] inputs []
9 output gate arity 2 table [ 0 1 1 1 ] inputs [ 7 8 ]\t//output$output.alice$2
10 output gate arity 1 table [ 0 1 ] inputs [ 7 ]\t//output$output.bob$0
";

const FMT: &str = "\
Bob input integer \"input.bob\" [ 0 1 ]
Alice input integer \"input.alice\" [ 2 3 ]
Alice output integer \"output.alice\" [ 4 6 9 ]
Bob output integer \"output.bob\" [ 10 ]
";

fn with_fmt(circuit: &str, fmt: &str) -> Result<Circuit, ParseError> {
    let beside = Beside { ports: None, fmt: Some(("x.fmt", fmt.as_bytes())) };
    parse("x.circuit", circuit.as_bytes(), beside)?.combinational("x.circuit")
}

#[test]
fn shdl_with_its_fmt_file_or_its_comments() {
    let bare: String =
        SHDL.lines().map(|line| line.split("//").next().unwrap().to_owned() + "\n").collect();
    for circuit in [circuit(SHDL), with_fmt(SHDL, FMT).unwrap(), with_fmt(&bare, FMT).unwrap()] {
        let signature = circuit.signature();
        assert_eq!(ports(&signature), "input.bob:2 input.alice:2 -> output.alice:3 output.bob:1");
        let owners: Vec<_> = signature.inputs.iter().map(|port| port.owner).collect();
        assert_eq!(owners, [Some(Role::Evaluator), Some(Role::Garbler)]);
        let receivers: Vec<_> = signature.outputs.iter().map(|port| port.receiver).collect();
        assert_eq!(receivers, [Some(Receivers::Garbler), Some(Receivers::Evaluator)]);
        // An AND for each full adder.
        assert_eq!(circuit.stats().and, 2);
        for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
            assert_eq!(eval(&circuit, &[b, a]), [a + b, (a + b) >> 2]);
        }
    }
    let circuit = circuit(&bare);
    assert_eq!(ports(&circuit.signature()), "in0:4 -> out0:4");
    assert_eq!(eval(&circuit, &[0b1011]), [(2 + 3) | 1 << 3]);
}

#[test]
fn shdl_in_other_spacing() {
    // Any order, any line breaks, brackets that touch, tables in one word, # comments, CR LF.
    let text = "# a\r\n3 output gate arity 2 table [0010] inputs [0\r\n 1] // f\r\n\
                1 input #x\r\n0 input\r\n2 output input";
    let circuit = circuit(text);
    assert_eq!(ports(&circuit.signature()), "in0:3 -> out0:2");
    // The first input is the least significant bit of a place in the table: entry 2 is 0 and 1.
    for value in 0..8u128 {
        let (wire1, wire0, wire2) = (value & 1, value >> 1 & 1, value >> 2);
        assert_eq!(eval(&circuit, &[value]), [(wire1 & (1 - wire0)) | wire2 << 1]);
    }
}

#[test]
fn shdl_tables_in_both_orders() {
    // x and not y; a multiplexer, once written for each order.
    let text = |table: &str| {
        format!(
            "0 input\n1 input\n2 input\n3 output gate arity 2 table [{table}] inputs [0 1]\n\
             4 output gate arity 3 table [ 0 0 1 1 0 1 0 1 ] inputs [ 0 1 2 ]\n"
        )
    };
    let read = |table: &str, ports: &str| {
        let ports = Ports::parse("x.ports.toml", ports.as_bytes()).unwrap();
        let beside = Beside { ports: Some(&ports), fmt: None };
        parse("x.circuit", text(table).as_bytes(), beside).unwrap().combinational("x").unwrap()
    };
    for value in 0..8u128 {
        let (x, y, z) = (value & 1, value >> 1 & 1, value >> 2);
        // Fairplay counts with the first input in ones: entry 1 is x = 1, y = 0.
        let (least, least_mux) = (x & (1 - y), if z == 1 { x } else { y });
        let (most, most_mux) = (x & (1 - y), if x == 1 { z } else { y });
        let fairplay = [least | least_mux << 1];
        assert_eq!(eval(&read("0100", "version = 1"), &[value]), fairplay);
        assert_eq!(
            eval(&read("0100", "version = 1\ntables = \"first-least\""), &[value]),
            fairplay
        );
        let other = read("0010", "version = 1\ntables = \"first-most\"");
        assert_eq!(eval(&other, &[value]), [most | most_mux << 1]);
    }
    let wrong = Ports::parse("x.ports.toml", b"version = 1\ntables = \"most\"").unwrap_err();
    assert!(wrong.to_string().starts_with("x.ports.toml:2:10: "), "{wrong}");
    let ports = Ports::parse("x.ports.toml", b"version = 1\n tables = \"first-most\"").unwrap();
    let error = parse_with_ports("x", b"0 4\n2 3 1\n1 4\n", Some(&ports)).unwrap_err();
    let said = "x.ports.toml:2:11: only SHDL circuits have tables; leave out `tables`";
    assert_eq!(error.to_string(), said);
}

#[test]
fn fmt_files_share_and_split_outputs() {
    let fmt = "Alice input integer \"Enter a: \" [ 2 3 ] Bob input integer \"b=\" [0 1]\n\
               // what both learn\n\
               Alice output integer \"sum\" [ 4 6 9 ]\nBob output integer \"sum\" [ 4 6 9 ]\n\
               Alice output boolean \"x\" [ 4 ]\nBob output boolean \"x\" [ 10 ]\n\
               Bob output boolean \"\" [ 8 ]\n";
    let circuit = with_fmt(SHDL, fmt).unwrap();
    let signature = circuit.signature();
    assert_eq!(ports(&signature), "Enter a:2 b:2 -> sum:3 x (Alice):1 x (Bob):1 out3:1");
    assert_eq!(signature.outputs[0].receiver, Some(Receivers::Both));
    assert_eq!(eval(&circuit, &[3, 2]), [5, 1, 1, 0]);
}

#[test]
fn blif_covers() {
    let text = "# comment\n.model m\n.inputs a b \\\n c d\n.outputs and or nand xor dc one zero id\n\
                .names id t # later wires first\n1 1\n.names d id\n0 0\n\
                .names a b c and\n111 1\n.names a b or\n1- 1\n-1 1\n.names a b nand\n11 0\n\
                .names a b xor\n01 1\n10 1\n.names a b c dc\n1-0 1\n\
                .names one\n1\n.names zero\n.end\nanything\n";
    let circuit = circuit(text);
    assert_eq!(
        ports(&circuit.signature()),
        "a:1 b:1 c:1 d:1 -> and:1 or:1 nand:1 xor:1 dc:1 one:1 zero:1 id:1"
    );
    for i in 0..16u128 {
        let [a, b, c, d] = [i & 1, i >> 1 & 1, i >> 2 & 1, i >> 3];
        let expected = [a & b & c, a | b, 1 - (a & b), a ^ b, a & (1 - c), 1, 0, d];
        assert_eq!(eval(&circuit, &[a, b, c, d]), expected);
    }
    // Wider than a table.
    let text = ".inputs x[0] x[1] x[2] x[3] x[4] x[5] x[6] x[7]\n.outputs z\n\
                .names x[0] x[1] x[2] x[3] x[4] x[5] x[6] x[7] z\n\
                1--0---- 0\n-1-----1 0\n00000000 0\n";
    let circuit = self::circuit(text);
    for x in 0..256u128 {
        let off = x & 0b1001 == 1 || x & 0b1000_0010 == 0b1000_0010 || x == 0;
        assert_eq!(eval(&circuit, &[x]), [u128::from(!off)]);
    }
}

/// A counter of two bits with an enable input, which starts at 2.
const COUNTER: &str = ".model counter\n.inputs clk enable\n.outputs q[0] q[1] wraps\n\
                       .latch n0 q[0] re clk 0\n.latch n1 q[1] re clk 1\n\
                       .names enable q[0] n0\n10 1\n01 1\n\
                       .names enable q[0] q[1] n1\n110 1\n0-1 1\n-01 1\n\
                       .names enable q[0] q[1] wraps\n111 1\n.end\n";

#[test]
fn latches_make_cycles() {
    let aag = "aag 9 1 2 3 6\n2\n4 18\n6 16 1\n4\n6\n12\n8 2 4\n10 3 5\n12 8 6\n14 9 7\n16 13 15\n\
               18 9 11\ni0 enable\nl1 high\no0 q[0]\no1 q[1]\no2 wraps\nc\nthe same\n";
    let counter = sequential(COUNTER.as_bytes());
    assert_eq!(ports(&counter.signature()), "enable:1 -> q:2 wraps:1");
    assert_eq!(counter.initial(), [false, true]);
    assert_eq!(ports(&counter.circuit().signature()), "enable:1 state:2 -> q:2 wraps:1 state:2");
    let mut state = counter.initial().to_vec();
    let mut expected = 2;
    let mut shown = Vec::new();
    for enable in [1u128, 1, 0, 1, 1, 1, 1] {
        let out = counter.step(&mut state, &[bits_of(enable, 1)]);
        let wraps = u128::from(expected == 3) & enable;
        assert_eq!([value_of(&out[0]), value_of(&out[1])], [expected, wraps]);
        shown.push((expected, wraps));
        expected = (expected + enable) % 4;
    }
    let enables = 0b111_1011;
    let every = counter.unroll(7, Shown::Every, 1 << 20).unwrap();
    assert_eq!(ports(&every.signature()), "enable:7 -> q:14 wraps:7");
    let all = shown.iter().rev().fold((0, 0), |(q, w), now| (q << 2 | now.0, w << 1 | now.1));
    assert_eq!(eval(&every, &[enables]), [all.0, all.1]);
    let last = counter.unroll(7, Shown::Last, 1 << 20).unwrap();
    assert_eq!(ports(&last.signature()), "enable:7 -> q:2 wraps:1");
    assert_eq!(eval(&last, &[enables]), [shown[6].0, shown[6].1]);
    // The program runs the same without being unrolled.
    let cycles = counter.cycles(7, Shown::Last).unwrap();
    assert_eq!(
        Clear::eval(&cycles, &[bits_of(enables, 7)]),
        Clear::eval(&last, &[bits_of(enables, 7)])
    );
    let graph = sequential(aag.as_bytes());
    assert_eq!(graph.initial(), counter.initial());
    let graph = graph.unroll(7, Shown::Every, 1 << 20).unwrap();
    assert_eq!(eval(&graph, &[enables]), [all.0, all.1]);
    let error = parse_any("x", COUNTER.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("(2 bits of state); say for how many cycles"), "{error}");
}

#[test]
fn unrolling_has_limits() {
    let counter = sequential(COUNTER.as_bytes());
    let gates = counter.circuit().gates().len();
    assert_eq!(counter.unroll(0, Shown::Last, 100), Err(SequentialError::NoCycle));
    assert!(counter.unroll(10, Shown::Last, 10 * gates).is_ok());
    let error = counter.unroll(10, Shown::Last, 10 * gates - 1).unwrap_err();
    assert_eq!(error, SequentialError::Gates { gates, cycles: 10, limit: 10 * gates - 1 });
    assert!(counter.unroll(usize::MAX, Shown::Last, usize::MAX).is_err());
    let many = MAX_PORT_BITS + 1;
    assert_eq!(
        counter.cycles(many, Shown::Last).err(),
        Some(SequentialError::Ports { cycles: many })
    );
    let plain = circuit("1 3\n2 1 1\n1 1\n\n2 1 0 1 2 XOR\n");
    assert!(Sequential::new(plain.clone(), vec![false; 2]).is_err());
    assert!(Sequential::new(plain, vec![true]).is_ok());
}

#[test]
fn clocks_and_ports_files() {
    // A state next to a port of the same name, and a ports file that turns bits around.
    let text =
        ".inputs state a[0] a[1]\n.outputs z[0] z[1]\n.latch a[0] z[0] 1\n.latch a[1] z[1]\n.end";
    let file = br#"version = 1
[[input]]
name = "enable"
[[input]]
name = "x"
order = "msb"
owner = "evaluator"
"#;
    let machine = sequential(text.as_bytes());
    assert_eq!(ports(&machine.circuit().signature()), "state:1 a:2 state_:2 -> z:2 state_:2");
    let described = Ports::parse("p", file).unwrap();
    let beside = Beside { ports: Some(&described), fmt: None };
    let Parsed::Sequential(machine) = parse("x", text.as_bytes(), beside).unwrap() else {
        panic!("it has latches")
    };
    assert_eq!(ports(&machine.signature()), "enable:1 x:2 -> z:2");
    let two = machine.unroll(2, Shown::Every, 100).unwrap();
    assert_eq!(eval(&two, &[0, 0b01]), [0b10_01]);
}

#[test]
fn aiger_texts_and_bytes() {
    // z = a and not b, y = a xor b, one, zero; the text leaves variable 9 out and is not in order.
    let text = "aag 10 2 0 4 4\n2\n4\n6\n12\n1\n0\n6 2 8\n8 1 5\n14 2 4\n12 15 21\n";
    let error = parse_any("x", text.as_bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "x:11:1: literal 21 is read but not defined; define it as input, latch or AND"
    );
    let text = "aag 10 2 0 4 5\n2\n4\n6\n12\n1\n0\n6 2 8\n8 1 5\n12 15 21\n14 2 4\n20 3 5\n";
    let circuit = circuit(text);
    assert_eq!(ports(&circuit.signature()), "in0:2 -> out0:4");
    // The XOR is found again.
    assert_eq!(circuit.stats().and, 1);
    for x in 0..4u128 {
        let (a, b) = (x & 1, x >> 1);
        assert_eq!(eval(&circuit, &[x]), [(a & (1 - b)) | (a ^ b) << 1 | 1 << 2]);
    }
    // The same in bytes: variables 1, 2 inputs; 3 = 2 and not 4; 4 = 2 and 4; 5 = not 2, not 4; 6.
    let bytes =
        b"aig 6 2 0 2 4 0 0 0\n6\n12\n\x01\x03\x04\x02\x05\x02\x01\x02i0 a\ni1 b\no1 xor\nc\n\xff";
    let circuit = parse_any("x", bytes).unwrap();
    assert_eq!(ports(&circuit.signature()), "a:1 b:1 -> o0:1 xor:1");
    for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        assert_eq!(eval(&circuit, &[a, b]), [a & (1 - b), a ^ b]);
    }
}

#[test]
fn multiplexers_of_aiger_take_one_and() {
    // 14 is not (2 ? 4 : 6), written in every way.
    for (p, q) in [("2 4", "3 6"), ("4 2", "3 6"), ("2 4", "6 3"), ("4 2", "6 3")] {
        let text = format!("aag 7 3 0 1 3\n2\n4\n6\n15\n10 {p}\n12 {q}\n14 11 13\n");
        let circuit = circuit(&text);
        assert_eq!(circuit.stats().and, 1);
        for x in 0..8u128 {
            assert_eq!(eval(&circuit, &[x]), [if x & 1 == 1 { x >> 1 & 1 } else { x >> 2 }]);
        }
    }
}

#[test]
fn formats_are_told_apart_by_their_contents() {
    let cases: &[(&str, &str, Format)] = &[
        ("x", SHDL, Format::Shdl),
        ("x.v", "// c\n# d\n/* e */ 0 input\n", Format::Shdl),
        ("x", "0 4\n2 3 1\n1 4\n", Format::BristolFashion),
        ("x.blif", "0 4\n3 1 4\n", Format::OldBristol),
        ("x", "# c\n.model x", Format::Blif),
        ("x.blif", "", Format::Blif),
        ("x", "aag 0 0 0 0 0", Format::AigerAscii),
        ("x", "aig 0 0 0 0 0", Format::AigerBinary),
        ("x", "// c\nmodule m; endmodule", Format::Verilog),
        ("x", "(* keep *) module m; endmodule", Format::Verilog),
        ("x", "`timescale 1ns/1ps", Format::Verilog),
        ("x.sv", "typedef struct", Format::Verilog),
    ];
    for (name, text, format) in cases {
        assert_eq!(detect(name, text.as_bytes()), Ok(*format), "{text}");
    }
    let error = parse_any("x.v", b"module m; endmodule").unwrap_err();
    assert!(error.to_string().starts_with("x.v:1:1: this is Verilog; make BLIF"));
    assert!(detect("x", b"/* never closed").is_err());
}

/// File name, contents, and the error.
type Malformed = (&'static str, &'static [u8], &'static str);

const MALFORMED_SHDL: &[Malformed] = &[
    (
        "s",
        b"0 input\n1 gat",
        "2:3: `gat` stands where input, output or gate should; write NUMBER [output] gate arity N table [ 2^N BITS ] inputs [ N NUMBERS ]",
    ),
    (
        "s",
        b"0 input\n1 output",
        "2:9: the file ends where input or gate should stand; write NUMBER [output] gate arity N table [ 2^N BITS ] inputs [ N NUMBERS ]",
    ),
    ("s", b"0 gate arity 7 table", "1:14: a gate cannot have `7` inputs; write 0 to 6"),
    (
        "s",
        b"0 gate arty 1",
        "1:8: `arty` stands where arity should; write NUMBER [output] gate arity N table [ 2^N BITS ] inputs [ N NUMBERS ]",
    ),
    (
        "s",
        b"0 gate arity 1 table [ 0 2 ]",
        "1:26: `2` is no part of a table of 2 bits; write NUMBER [output] gate arity N table [ 2^N BITS ] inputs [ N NUMBERS ]",
    ),
    (
        "s",
        b"0 gate arity 1 table [011]",
        "1:23: `011` is no part of a table of 2 bits; write NUMBER [output] gate arity N table [ 2^N BITS ] inputs [ N NUMBERS ]",
    ),
    (
        "s",
        b"0 input\n1 gate arity 1 table [0 1] inputs [ x ]",
        "2:37: `x` is no number of a wire; number inputs and gates 0, 1, 2, ... in the order of the file",
    ),
    (
        "s",
        b"4000000000 input",
        "1:1: `4000000000` is no number of a wire; number inputs and gates 0, 1, 2, ... in the order of the file",
    ),
    ("s", b"0 input\n0 input", "2:1: `0` is driven twice; give every wire one driver"),
    (
        "s",
        b"0 output gate arity 1 table [0 1] inputs [1]",
        "1:43: `1` is read but nothing drives it; list it among the inputs, or add its gate",
    ),
    (
        "s",
        b"0 gate arity 1 table [0 1] inputs [1]\n1 gate arity 1 table [0 1] inputs [0]",
        "1:1: `0` is computed from itself; cut the cycle, with a latch where one is meant",
    ),
    (
        "s",
        b"0 gate arity 1 table [0 1] inputs [0]",
        "1:1: `0` is computed from itself; cut the cycle, with a latch where one is meant",
    ),
    ("s", b"0 input // a\n1 in\xffput", "2:5: this is not text; give a circuit in SHDL"),
];

const MALFORMED_FMT: &[(&str, &str)] = &[
    ("bidder[0] input", "1:1: `bidder` is no party; the parties are Alice and Bob"),
    (
        "Alice in",
        "1:7: `in` stands where input or output should; write PARTY input|output integer \"NAME\" [ NUMBER... ]",
    ),
    (
        "Alice input integer a",
        "1:21: `a` stands where a quoted name should; write PARTY input|output integer \"NAME\" [ NUMBER... ]",
    ),
    (
        "Alice input integer \"a\" 1",
        "1:25: `1` stands where [ should; write PARTY input|output integer \"NAME\" [ NUMBER... ]",
    ),
    (
        "Alice input integer \"a\" [ 1",
        "1:28: the file ends where ] should stand; write PARTY input|output integer \"NAME\" [ NUMBER... ]",
    ),
    (
        "Alice input integer \"a\" [ -1 ]",
        "1:27: `-1` is no number of a wire; write PARTY input|output integer \"NAME\" [ NUMBER... ]",
    ),
    (
        "Alice input integer \"a\" [ 0 1 2 ]",
        "1:34: input 3 belongs to nobody; list every input of the circuit once",
    ),
    (
        "Alice input integer \"a\" [ 0 1 2 3 3 ]",
        "1:35: wire 3 is no input, or listed twice; list every input of the circuit once",
    ),
    (
        "Alice input integer \"a\" [ 0 1 2 3 ]\nBob output integer \"z\" [ 11 ]",
        "2:26: wire 11 is not in the circuit; list wires of the circuit",
    ),
];

const MALFORMED_BLIF: &[Malformed] = &[
    ("b", b".names\n", "1:1: .names has no output; write .names INPUT... OUTPUT"),
    (
        "b",
        b".inputs a\n11 1\n",
        "2:1: `11` is no command; start the line with a command like .names",
    ),
    (
        "b",
        b".names a z\n1 1 1\n",
        "2:1: this is no row for 1 inputs; write 1 characters of 0, 1 and -, a blank, and 1 or 0",
    ),
    ("b", b".names z\n1 1\n", "2:1: this is no row for 0 inputs; write 1 or 0"),
    (
        "b",
        b".names a b z\n1 1\n",
        "2:1: `1` is no row for 2 inputs; write 2 characters of 0, 1 and -, a blank, and 1 or 0",
    ),
    (
        "b",
        b".names a b z\n1x 1\n",
        "2:1: `1x` is no row for 2 inputs; write 2 characters of 0, 1 and -, a blank, and 1 or 0",
    ),
    ("b", b".names a z\n1 x\n", "2:3: an output cannot be `x`; write 1 or 0"),
    (
        "b",
        b".names a z\n1 1\n0 0\n",
        "3:3: rows for 1 and rows for 0 are mixed; list where the output is 1, or where it is 0",
    ),
    (
        "b",
        b".inputs a\n.outputs z\n.names a z\n1 1\n.names a z\n",
        "5:10: `z` is driven twice; give every wire one driver",
    ),
    ("b", b".inputs a a\n", "1:11: `a` is driven twice; give every wire one driver"),
    (
        "b",
        b".outputs z\n.names a \\\n b z\n11 1\n",
        "2:8: `a` is read but nothing drives it; list it among the inputs, or add its gate",
    ),
    (
        "b",
        b".outputs z\n",
        "1:10: `z` is read but nothing drives it; list it among the inputs, or add its gate",
    ),
    (
        "b",
        b".names x y\n1 1\n.names y x\n1 1\n",
        "1:8: `x` is computed from itself; cut the cycle, with a latch where one is meant",
    ),
    (
        "b",
        b".model a\n.model b\n",
        "2:1: a second model starts here; flatten the design into one model, e.g. `synth -flatten` or `flatten` in yosys",
    ),
    (
        "b",
        b".model a\n.end\n.model b\n",
        "3:1: a second model starts here; flatten the design into one model, e.g. `synth -flatten` or `flatten` in yosys",
    ),
    (
        "b",
        b".subckt and a=b\n",
        "1:1: .subckt calls another model or a library; flatten the design into one model, e.g. `synth -flatten` or `flatten` in yosys",
    ),
    (
        "b",
        b".kiss\n",
        "1:1: `.kiss` is not known; use .model, .inputs, .outputs, .clock, .names, .latch and .end",
    ),
    (
        "b",
        b".latch a\n",
        "1:1: .latch has 1 operands; write .latch INPUT OUTPUT [TYPE CONTROL] [INIT]",
    ),
    (
        "b",
        b".latch a b ah c 0\n",
        "1:12: a latch of type `ah` is not known; use the type re or fe: latches change at an edge of one clock",
    ),
    (
        "b",
        b".latch a b 4\n",
        "1:12: a latch cannot start as `4`; write 0, 1, 2 (any) or 3 (unknown)",
    ),
    (
        "b",
        b".latch b a re c\n.latch a b fe c\n",
        "2:12: this latch follows fe of `c`, an earlier one re of `c`; use one edge of one clock for all latches",
    ),
    (
        "b",
        b".inputs c\n.outputs a\n.latch c a re c\n",
        "3:8: the clock `c` is read or driven as data; use it for latches only",
    ),
    (
        "b",
        b".inputs a\n.outputs a a\n",
        "1:1: two outputs are named `a`; give each a name of its own",
    ),
    (
        "b",
        b".inputs a\x1b\n",
        "1:1: a port cannot be named `a\\u{1b}`; use up to 64 printable characters",
    ),
    ("b", b".model a\n.in\xff", "2:4: this is not text; give a circuit in BLIF"),
];

const MALFORMED_AIGER: &[Malformed] = &[
    (
        "a",
        b"aag 1 1",
        "1:1: the header has fewer than five counts; start with `aag M I L O A` (text) or `aig M I L O A` (binary)",
    ),
    (
        "a",
        b"aag 1 1 x 0 0",
        "1:9: `x` is no count below 1073741824; start with `aag M I L O A` (text) or `aig M I L O A` (binary)",
    ),
    (
        "a",
        b"aag 0 0 0 0 0 0 2",
        "1:17: the file has 2 constraints; remove them: they are for model checkers, and no circuit computes them",
    ),
    (
        "a",
        b"aag 0 0 0 0 0 0 0 0 0 0",
        "1:23: the header has more than nine counts; start with `aag M I L O A` (text) or `aig M I L O A` (binary)",
    ),
    (
        "a",
        b"aag 9000 9000 0 0 0\n",
        "1:5: the header announces more than the file can hold; correct the counts, or fetch the whole file",
    ),
    (
        "a",
        b"aag 999999999 0 0 0 0\n",
        "1:5: 999999999 variables are announced and 0 are used; number the variables 1, 2, 3, ...",
    ),
    (
        "a",
        b"aag 0 1 0 0 0\n2\n",
        "1:5: 0 variables are announced for 1 inputs, latches and ANDs; write M = I + L + A",
    ),
    (
        "a",
        b"aag 1 1 0 0 0\n3\n",
        "2:1: literal 3 cannot be defined; define even literals from 2 on",
    ),
    ("a", b"aag 1 1 0 0 0\n4\n", "2:1: literal 4 is beyond 3; correct it, or M in the header"),
    (
        "a",
        b"aag 2 2 0 0 0\n2\n2\n",
        "3:1: literal 2 is defined twice; give every variable one definition",
    ),
    (
        "a",
        b"aag 1 1 0 0 0\n2\ni0 fir",
        "3:1: the last line has no end; fetch the whole file, or end the line",
    ),
    ("a", b"aag 1 1 0 0 0\n2 2\n", "2:1: this is no input; write the even literal of an input"),
    ("a", b"aag 1 1 0 0 0\nx2\n", "2:1: `x2` is no number; write the even literal of an input"),
    (
        "a",
        b"aag 1 0 1 0 0\n2 3 4\n",
        "2:5: a latch cannot start as 4; write 0, 1, or the latch itself if it may start as either",
    ),
    ("a", b"aag 1 0 1 0 0\n2\n", "2:1: this is no latch; write LATCH NEXT [INIT]"),
    (
        "a",
        b"aag 0 0 0 1 0\n0 1 2 3 4\n",
        "2:9: an output has more numbers than it may; write the literal of an output",
    ),
    (
        "a",
        b"aag 2 0 0 0 2\n2 4 4\n4 2 2\n",
        "2:1: AND 2 is computed from itself; cut the cycle, with a latch where one is meant",
    ),
    ("a", b"aag 1 0 0 0 1\n2 1\n", "2:1: this is no AND; write AND INPUT INPUT"),
    ("a", b"aag 2 1 0 1 1\n2\n4\n\n", "4:1: this is no AND; write AND INPUT INPUT"),
    (
        "a",
        b"aag 0 0 0 0 0\nx0 a\n",
        "2:1: this is no symbol; write i, l or o, the number counted from 0, a blank and a name; a line `c` starts the comment",
    ),
    (
        "a",
        b"aag 1 1 0 0 0\n2\ni1 a\n",
        "3:2: a symbol names number `1` of 1; write i, l or o, the number counted from 0, a blank and a name; a line `c` starts the comment",
    ),
    (
        "a",
        b"aag 1 1 0 0 0\n2\ni0 a\ni0 b\n",
        "4:1: `i0` is named twice; write i, l or o, the number counted from 0, a blank and a name; a line `c` starts the comment",
    ),
    (
        "a",
        b"aig 3 2 0 0 2\n",
        "byte 4: the header announces more than the file can hold; correct the counts, or fetch the whole file",
    ),
    (
        "a",
        b"aig 4 2 0 0 1\n\x02\x02",
        "byte 4: 4 variables are announced for 3 inputs, latches and ANDs; write M = I + L + A",
    ),
    (
        "a",
        b"aig 3 2 0 0 1\n\x02\x82",
        "byte 16: the file ends within the ANDs; fetch the whole file",
    ),
    (
        "a",
        b"aig 3 2 0 0 1\n\x00\x02",
        "byte 14: AND 6 cannot read literal 6 - 0; write ANDs after what they read, differences as AIGER 1.0 says",
    ),
    (
        "a",
        b"aig 3 2 0 0 1\n\x02\x05",
        "byte 15: AND 6 cannot read literal 4 - 5; write ANDs after what they read, differences as AIGER 1.0 says",
    ),
    (
        "a",
        b"aig 3 2 0 0 1\n\xff\xff\xff\xff\xff\x02",
        "byte 14: a difference is too large; write ANDs after what they read, differences as AIGER 1.0 says",
    ),
    (
        "a",
        b"aig 1 0 1 0 0\n2 3\n",
        "byte 16: a latch cannot start as 3; write 0, 1, or the latch itself if it may start as either",
    ),
];

const MALFORMED: &[Malformed] = &[
    (
        "dir/x",
        b"",
        "1:1: the file is empty; give a circuit in a Bristol format, SHDL, BLIF, AIGER or Verilog",
    ),
    (
        "dir/x",
        b"# c\n  entity x is",
        "2:3: `entity` starts no circuit; give a circuit in a Bristol format, SHDL, BLIF, AIGER or Verilog",
    ),
    (
        "dir/x",
        b"\x1b[31m",
        "1:1: `\\u{1b}[31m` starts no circuit; give a circuit in a Bristol format, SHDL, BLIF, AIGER or Verilog",
    ),
];

#[test]
fn malformed_files_are_refused_with_place_and_remedy() {
    let all = [MALFORMED_SHDL, MALFORMED_BLIF, MALFORMED_AIGER, MALFORMED];
    for (name, bytes, expected) in all.concat() {
        let text = String::from_utf8_lossy(bytes);
        match parse(name, bytes, Beside::default()) {
            Ok(_) => panic!("read: {text:?}"),
            Err(error) => assert_eq!(error.to_string(), format!("{name}:{expected}"), "{text:?}"),
        }
    }
    for (fmt, expected) in MALFORMED_FMT {
        let error = with_fmt(SHDL, fmt).unwrap_err();
        assert_eq!(error.to_string(), format!("x.fmt:{expected}"), "{fmt:?}");
    }
}

#[test]
fn deep_files_take_no_stack() {
    let depth = 200_000;
    let mut blif = String::from(".inputs n200000\n.outputs n0\n");
    let mut shdl = String::new();
    for i in 0..depth {
        blif.push_str(&format!(".names n{} n{i}\n0 1\n", i + 1));
        shdl.push_str(&format!("{i} gate arity 1 table [1 0] inputs [{}]\n", i + 1));
    }
    shdl.push_str("200000 input\n200001 output gate arity 1 table [01] inputs [0]\n");
    for text in [blif, shdl] {
        let circuit = circuit(&text);
        assert_eq!((circuit.gates().len(), eval(&circuit, &[1])), (0, vec![1]));
    }
}

#[test]
fn fmt_and_ports_lie_beside_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sum.Opt.circuit");
    std::fs::write(&path, SHDL.replace("//output$", "// ")).unwrap();
    std::fs::write(dir.path().join("sum.Opt.fmt"), FMT.replace("input.alice", "a")).unwrap();
    let circuit = read_circuit(&path).unwrap();
    assert_eq!(circuit.name(), "sum.Opt");
    assert_eq!(ports(&circuit.signature()), "input.bob:2 a:2 -> output.alice:3 output.bob:1");
    std::fs::write(
        dir.path().join("sum.Opt.ports.toml"),
        "version = 1\n[[output]]\nname = \"z\"\nbits = 4\n",
    )
    .unwrap();
    let circuit = read_circuit(&path).unwrap();
    assert_eq!(ports(&circuit.signature()), "input.bob:2 a:2 -> z:4");
    std::fs::write(dir.path().join("sum.Opt.fmt"), "Eve").unwrap();
    let error = read_circuit(&path).unwrap_err().to_string();
    assert!(error.contains("sum.Opt.fmt:1:1: `Eve` is no party"), "{error}");
}

/// A random circuit of two ports and a state.
fn machines() -> impl Strategy<Value = (Parsed, Vec<Vec<bool>>)> {
    let gate = (0..6u8, any::<u32>(), any::<u32>());
    let gates = prop::collection::vec(gate, 0..60);
    let wires = prop::collection::vec(any::<u32>(), 1..9);
    (0..4usize, 1..4usize, gates, wires, prop::collection::vec(any::<bool>(), 0..4)).prop_flat_map(
        |(first, second, gates, outputs, initial)| {
            let inputs = first + second + initial.len();
            let gate = |(i, (kind, a, b)): (usize, &(u8, u32, u32))| {
                let (a, b) = (a % (inputs + i) as u32, b % (inputs + i) as u32);
                match kind {
                    0 => cenote_circuit::Gate::Xor(a, b),
                    1 | 2 => cenote_circuit::Gate::And(a, b),
                    3 => cenote_circuit::Gate::Inv(a),
                    4 => cenote_circuit::Gate::Eqw(a),
                    _ => cenote_circuit::Gate::Eq(b % 2 == 1),
                }
            };
            let list: Vec<_> = gates.iter().enumerate().map(gate).collect();
            let wires = (inputs + list.len()) as u32;
            let mut out: Vec<u32> = outputs.iter().map(|wire| wire % wires).collect();
            out.extend((0..initial.len() as u32).map(|i| (i * 7 + 3) % wires));
            let mut signature = Signature::new()
                .input("in", first, None)
                .input("one two", second, None)
                .output("in", outputs.len(), None);
            let mut widths = vec![first, second];
            let parsed = if initial.is_empty() {
                Parsed::Circuit(Circuit::new("random", signature, list, out).unwrap())
            } else {
                signature = signature.input("state", initial.len(), None).output(
                    "state",
                    initial.len(),
                    None,
                );
                widths.push(initial.len());
                let circuit = Circuit::new("random", signature, list, out).unwrap();
                Parsed::Sequential(Sequential::new(circuit, initial).unwrap())
            };
            let bits = widths.into_iter().map(|bits| prop::collection::vec(any::<bool>(), bits));
            (Just(parsed), bits.collect::<Vec<_>>())
        },
    )
}

/// One cycle, with empty ports left out, which files do not have.
fn cycle(parsed: &Parsed, inputs: &[Vec<bool>]) -> (usize, Vec<Vec<bool>>) {
    let (circuit, state) = match parsed {
        Parsed::Circuit(circuit) => (circuit, 0),
        Parsed::Sequential(sequential) => (sequential.circuit(), sequential.initial().len()),
    };
    let mut inputs = inputs.iter().filter(|bits| !bits.is_empty());
    let ports = circuit.signature().inputs;
    let inputs = ports.iter().map(|port| match port.bits {
        0 => Vec::new(),
        _ => inputs.next().cloned().unwrap_or_default(),
    });
    (state, Clear::eval(circuit, &inputs.collect::<Vec<_>>()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_written_is_read_as_the_same((parsed, inputs) in machines()) {
        let files = [
            write_blif(&parsed).into_bytes(),
            write_aiger_ascii(&parsed).into_bytes(),
            write_aiger_binary(&parsed),
        ];
        for bytes in files {
            let read = parse("x", &bytes, Beside::default()).unwrap();
            prop_assert_eq!(cycle(&read, &inputs), cycle(&parsed, &inputs));
            if let (Parsed::Sequential(a), Parsed::Sequential(b)) = (&read, &parsed) {
                prop_assert_eq!(a.initial(), b.initial());
            }
        }
        if let Parsed::Circuit(circuit) = &parsed {
            let read = parse_any("x", write_bristol_fashion(circuit).as_bytes()).unwrap();
            prop_assert_eq!(cycle(&Parsed::Circuit(read), &inputs).1, cycle(&parsed, &inputs).1);
        }
    }

    #[test]
    fn damaged_files_never_panic(
        cut in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        noise in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let aig = b"aig 4 1 1 2 2\n6 1\n8\n3\n\x02\x02\x01\x01i0 a\nc\n";
        for text in [SHDL.as_bytes(), COUNTER.as_bytes(), aig] {
            let mut bytes = text.to_vec();
            let place = at.index(bytes.len());
            bytes[place] = byte;
            let _ = parse("x", &bytes, Beside::default());
            bytes.truncate(cut.index(bytes.len()));
            let _ = parse("x", &bytes, Beside::default());
        }
        let _ = with_fmt(SHDL, &String::from_utf8_lossy(&noise));
        for start in ["aag ", "aig 1 1 0 0 0\n", ".names ", "0 input\n"] {
            let _ = parse("x", &[start.as_bytes(), &noise].concat(), Beside::default());
        }
    }
}
