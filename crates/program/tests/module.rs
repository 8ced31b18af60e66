//! Modules are built, written, read, run and counted.

use cenote_circuit::{Counter, Receivers, Role, bits_of, value_of};
use cenote_program::library::edit_distance;
use cenote_program::{Builder, Kind, Module, Shape, WordOp};

#[test]
fn forms_round_trip() {
    let module = edit_distance(8, 8, 1).unwrap();
    let bytes = module.to_bytes();
    assert_eq!(Module::from_bytes(&bytes).unwrap(), module);
    let text = module.to_text();
    let parsed = Module::parse_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(parsed, module);
    assert_eq!(parsed.to_text(), text);
    assert!(bytes.len() < 1000, "{}", bytes.len());
}

#[test]
fn counts_are_those_of_the_stream() {
    let module = edit_distance(12, 12, 1).unwrap();
    let stats = module.stats().unwrap();
    let counts = Counter::count(&module.stream().unwrap());
    assert_eq!((stats.ands, stats.xors, stats.nots), (counts.and, counts.xor, counts.not));
    assert_eq!(stats.batches, counts.and_batches);
    assert!(stats.depth >= u64::from(counts.and_depth));
}

#[test]
fn counts_of_many_lanes_are_those_of_the_stream() {
    let text = "cenote 1\nprogram p \"\"\ninput a: garbler uint 300xb9\ninput b: evaluator uint b9\n\
        input c: garbler uint 300xb1\n{\n\
        %3 = mul %0, %1\n\
        %4 = zext{width=20} %3\n\
        %5 = zext{width=20} %0\n\
        %6, %7 = divrem %4, %5\n\
        %8 = const 300xb20 all 0x00fff\n\
        %9 = mulfulls %6, %8\n\
        %10 = const b40 0x0000000123\n\
        %11 = put{at=7} %9, %10\n\
        %12 = mux %2, %11, %9\n\
        %13 = lts %12, %11\n\
        %14 = isqrt %9\n\
        %15 = for 5 (%14) { |%16| %17 = lanes{at=0 + 3*i0, count=1, stride=1} %9 %18 = put{at=0 + 2*i0} %16, %17 yield %18 }\n\
        }\noutput x: both uint %13\noutput y: both uint %15\n";
    let module = Module::parse_text(text).unwrap();
    let stats = module.stats().unwrap();
    let counts = Counter::count(&module.stream().unwrap());
    assert_eq!((stats.ands, stats.xors, stats.nots), (counts.and, counts.xor, counts.not));
    assert_eq!(stats.batches, counts.and_batches);
    assert!(stats.depth >= u64::from(counts.and_depth));
    // One lane is looked at of those that are alike.
    assert!(stats.counted < 2 * stats.ands, "{} for {}", stats.counted, stats.ands);
    // A put into what is used up moves no more than it puts.
    let whole = 9 + 5 * 20 + 6 * 40;
    assert_eq!(stats.moved_bits, 300 * whole + 40 + 40 + 5 * (40 + 40));
}

/// Squares, side by side, of numbers of 4 bits, plus a number both know and one they do not.
fn squares() -> Module {
    let mut b = Builder::new("squares", "").unwrap();
    let x = b.input("x", Role::Garbler, Kind::UInt, Shape::vector(6, 4)).unwrap();
    let y = b.input("y", Role::Evaluator, Kind::UInt, Shape::word(8)).unwrap();
    let outer = b.begin_map(2, &[x]).unwrap()[0];
    let inner = b.begin_map(3, &[outer]).unwrap()[0];
    let square = b.word(WordOp::SquareFull, &[], &[inner]).unwrap()[0];
    let sum = b.word(WordOp::Add, &[], &[square, y]).unwrap()[0];
    let known = b.constant(Shape::word(8), &bits_of(3, 8)).unwrap();
    let sum = b.word(WordOp::Add, &[], &[sum, known]).unwrap()[0];
    let results = b.end_map(&[sum]).unwrap();
    let results = b.end_map(&results).unwrap();
    b.output("z", Receivers::Both, Kind::UInt, results[0]).unwrap();
    b.finish().unwrap()
}

#[test]
fn maps_run_side_by_side() {
    let module = squares();
    let x: Vec<bool> = (0..6).flat_map(|i| bits_of(2 * i + 1, 4)).collect();
    let z = module.evaluate(&[x, bits_of(100, 8)]);
    let values: Vec<u128> = z[0].chunks(8).map(value_of).collect();
    let expected: Vec<u128> = (0..6u128).map(|i| ((2 * i + 1).pow(2) + 103) % 256).collect();
    assert_eq!(values, expected);
    let stats = module.stats().unwrap();
    let counts = Counter::count(&module.stream().unwrap());
    assert_eq!((stats.ands, stats.xors, stats.nots), (counts.and, counts.xor, counts.not));
    assert_eq!(Module::parse_text(&module.to_text()).unwrap(), module);
}

#[test]
fn a_missing_attribute_is_named() {
    let said = |body: &str| {
        let text = format!(
            "cenote 1\nprogram p \"\"\ninput a: garbler uint 4xb8\n{{\n%1 = {body}\n}}\noutput x: both uint %1\n"
        );
        Module::parse_text(&text).unwrap_err().to_string()
    };
    assert_eq!(said("zext %0"), "5:11: expected `{`: `zext{width=..}`, found `%0`");
    let sum = "5:17: expected `,`: `sum{width=.., groups=..}`, found `}`";
    assert_eq!(said("sum{width=9} %0"), sum);
}
