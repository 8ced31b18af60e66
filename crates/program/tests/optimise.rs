//! Functions become smaller circuits, and modules compute what they did; circuits with a state loop.

mod random;

use cenote_circuit::optimise::Options;
use cenote_circuit::{Circuit, Gate, Role, Sequential, Shown, Signature};
use cenote_program::{Module, Shape};
use proptest::prelude::*;

use random::{Limits, Random, Sample};

const LIMITS: Limits = Limits { statements: 30, width: 6, reveals: true };

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn optimised_modules_compute_the_same(seed: u64) {
        let sample = Sample::new(seed, LIMITS);
        let (optimised, report) = sample.module.optimised(&Options::default());
        prop_assert_eq!(Module::from_bytes(&optimised.to_bytes()).unwrap(), optimised.clone());
        prop_assert_eq!(report.ands_after, optimised.stats().unwrap().ands);
        prop_assert!(report.ands_after <= report.ands_before);
        for round in 0..3 {
            let inputs = sample.input_bits(seed ^ round);
            let Ok(expected) = sample.reference(&inputs) else { break };
            prop_assert_eq!(optimised.evaluate(&inputs), expected, "{}", optimised.to_text());
        }
    }

    #[test]
    fn cycles_are_those_of_the_circuit(seed: u64, cycles in 1u32..6) {
        let sequential = machine(&mut Random(seed));
        let shown = if seed % 2 == 0 { Shown::Every } else { Shown::Last };
        let module = Module::from_cycles("machine", &sequential, cycles, shown).unwrap();
        let inputs: Vec<Vec<bool>> =
            module.inputs().iter().map(|port| Random(seed).bits(port.shape.bits())).collect();
        let mut state = sequential.initial().to_vec();
        let mut expected = vec![Vec::new(); 2];
        for cycle in 0..cycles as usize {
            let part = |(all, bits): (&Vec<bool>, usize)| all[cycle * bits..][..bits].to_vec();
            let now: Vec<_> = inputs.iter().zip([2, 3]).map(part).collect();
            for (all, bits) in expected.iter_mut().zip(sequential.step(&mut state, &now)) {
                if shown == Shown::Last {
                    all.clear();
                }
                all.extend(bits);
            }
        }
        prop_assert_eq!(module.evaluate(&inputs), expected);
        let one = Module::from_cycles("machine", &sequential, 1, shown).unwrap().stats().unwrap();
        prop_assert_eq!(module.stats().unwrap().ands, u64::from(cycles) * one.ands);
    }
}

/// A circuit with inputs of 2 and 3 bits, outputs of 1 and 2, and a state of 4.
fn machine(random: &mut Random) -> Sequential {
    let mut gates = Vec::new();
    for wires in 9..49 {
        let (a, b) = (random.within(0, wires - 1), random.within(0, wires - 1));
        gates.push(if random.one_in(2) { Gate::And(a, b) } else { Gate::Xor(a, b) });
    }
    let outputs: Vec<u32> = (0..7).map(|_| random.within(0, 48)).collect();
    let signature = Signature::new()
        .input("a", 2, Some(Role::Garbler))
        .input("b", 3, Some(Role::Evaluator))
        .input("state", 4, None)
        .output("c", 1, None)
        .output("d", 2, None)
        .output("state", 4, None);
    let circuit = Circuit::new("machine", signature, gates, outputs).unwrap();
    Sequential::new(circuit, random.bits(4)).unwrap()
}

#[test]
fn inputs_of_cycles_have_owners() {
    let signature = Signature::new()
        .input("a", 1, None)
        .input("s", 1, None)
        .output("z", 1, None)
        .output("s", 1, None);
    let circuit = Circuit::new("x", signature, vec![Gate::Xor(0, 1)], vec![2, 2]).unwrap();
    let sequential = Sequential::new(circuit, vec![false]).unwrap();
    let error = Module::from_cycles("x", &sequential, 3, Shown::Last).unwrap_err().to_string();
    assert_eq!(error, "input `a` has no owner; say whose it is");
}

/// The majority of three bits takes one AND, written with three.
#[test]
fn functions_lose_what_they_need_not() {
    let text = "\
cenote 1
program majority \"\"
function majority (%0: b1, %1: b1, %2: b1) {
  %3 = and %0, %1
  %4 = and %0, %2
  %5 = and %1, %2
  %6 = or %3, %4
  %7 = or %6, %5
  yield %7
}
input x: garbler bits 30xb1
{
  %z = map 10 (%0) { |%p|
    %a = lanes{at=0, count=1, stride=1} %p
    %b = lanes{at=1, count=1, stride=1} %p
    %c = lanes{at=2, count=1, stride=1} %p
    %m = call majority (%a, %b, %c)
    yield %m
  }
}
output z: both bits %z
";
    let module = Module::parse_text(text).unwrap();
    let (optimised, report) = module.optimised(&Options::default());
    assert_eq!((report.ands_before, report.ands_after), (50, 10));
    assert_eq!(report.functions.len(), 1);
    assert_eq!((report.functions[0].ands_before, report.functions[0].ands_after), (5, 1));
    assert_eq!(optimised.inputs()[0].shape, Shape::vector(30, 1));
}

/// The body of a loop is optimised once and counts for every iteration; what picks lanes stays outside.
#[test]
fn loop_bodies_lose_what_they_need_not() {
    let text = "\
cenote 1
program majorities \"\"
input x: garbler bits 30xb1
{
  %none = const b1 0x0
  %z = for 10 (%none) { |%so_far|
    %a = lanes{at=0 + 3*i0, count=1, stride=1} %0
    %b = lanes{at=1 + 3*i0, count=1, stride=1} %0
    %c = lanes{at=2 + 3*i0, count=1, stride=1} %0
    %ab = and %a, %b
    %ac = and %a, %c
    %bc = and %b, %c
    %either = or %ab, %ac
    %most = or %either, %bc
    %odd = xor %so_far, %most
    yield %odd
  }
}
output z: both bits %z
";
    let module = Module::parse_text(text).unwrap();
    let (optimised, report) = module.optimised(&Options::default());
    assert_eq!((report.ands_before, report.ands_after), (50, 10));
    for seed in 0..20u32 {
        let bits: Vec<bool> = (0..30).map(|i| (seed * 77 + i * i * 13 + i / 3) % 5 < 2).collect();
        let inputs = [bits];
        assert_eq!(optimised.evaluate(&inputs), module.evaluate(&inputs));
    }
}

#[test]
fn what_repeats_or_is_not_read_goes() {
    let text = "\
cenote 1
program repeats \"\"
input x: garbler uint b8
input y: evaluator uint b8
{
  %p = add %0, %1
  %q = add %0, %1
  %unread = mul %p, %q
  %of_unread = add %unread, %0
  %z = join %p, %q
}
output z: both uint %z
";
    let module = Module::parse_text(text).unwrap();
    let (optimised, report) = module.optimised(&Options::default());
    let expected = text
        .replace("  %q = add %0, %1\n  %unread = mul %p, %q\n  %of_unread = add %unread, %0\n", "")
        .replace("%p, %q", "%p, %p");
    assert_eq!(optimised, Module::parse_text(&expected).unwrap());
    let left: Vec<_> = report.passes.iter().map(|pass| (pass.name.as_str(), pass.ands)).collect();
    assert_eq!(left, [("start", report.ands_before), ("words", 7), ("recorded", 7), ("end", 7)]);
}

/// A result of constants is a constant, as far as it is small and no loop counts in it.
#[test]
fn constants_are_computed() {
    let text = "\
cenote 1
program constants \"\"
input x: garbler uint b8
{
  %a = const 4xb8 0x01 0x02 0x03 0x04
  %sum = sum{width=8, groups=1} %a
  %two = const b8 0x2
  %product = mul %sum, %two
  %q, %r = divrem %product, %sum
  %last = lanes{at=3, count=1, stride=1} %a
  %swapped = gather{1, 0} %a
  %put = put{at=1} %swapped, %last
  %all = sum{width=8, groups=1} %put
  %wide = tile{times=1000} %a
  %y = xor %0, %product
  %z = for 4 (%y) { |%so_far|
    %more = add %all, %q
    %lane = lanes{at=0 + 1*i0, count=1, stride=1} %a
    %step = xor %lane, %more
    %next = xor %so_far, %step
    yield %next
  }
}
output wide: both bits %wide
output z: both uint %z
output r: both uint %r
";
    let module = Module::parse_text(text).unwrap();
    let (optimised, _) = module.optimised(&Options::default());
    let expected = "\
cenote 1
program constants \"\"
input x: garbler uint b8
{
  %a = const 4xb8 0x01 0x02 0x03 0x04
  %product = const b8 0x14
  %r = const b8 0x00
  %wide = tile{times=1000} %a
  %y = xor %0, %product
  %z = for 4 (%y) { |%so_far|
    %more = const b8 0x08
    %lane = lanes{at=0 + 1*i0, count=1, stride=1} %a
    %step = xor %lane, %more
    %next = xor %so_far, %step
    yield %next
  }
}
output wide: both bits %wide
output z: both uint %z
output r: both uint %r
";
    assert_eq!(optimised.to_text(), Module::parse_text(expected).unwrap().to_text());
    for x in [0u32, 1, 200] {
        let inputs = [(0..8).map(|i| x >> i & 1 == 1).collect()];
        assert_eq!(optimised.evaluate(&inputs), module.evaluate(&inputs));
    }
}

/// The majority of three words, written with five ANDs a bit.
fn majority(shape: &str) -> Module {
    let text = format!(
        "\
cenote 1
program majority \"\"
input x: garbler bits {shape}
input y: evaluator bits {shape}
input z: evaluator bits {shape}
{{
  %xy = and %0, %1
  %xz = and %0, %2
  %yz = and %1, %2
  %either = or %xy, %xz
  %most = or %either, %yz
}}
output most: both bits %most
"
    );
    Module::parse_text(&text).unwrap()
}

fn agree_on_random_inputs(one: &Module, other: &Module) {
    for seed in 0..20 {
        let mut random = Random(seed);
        let inputs: Vec<_> =
            one.inputs().iter().map(|port| random.bits(port.shape.bits())).collect();
        assert_eq!(one.evaluate(&inputs), other.evaluate(&inputs), "{}", other.to_text());
    }
}

#[test]
fn the_main_block_loses_what_it_needs_not() {
    let module = majority("b16");
    let (optimised, report) = module.optimised(&Options::default());
    assert_eq!((report.ands_before, report.ands_after), (80, 16));
    agree_on_random_inputs(&module, &optimised);
    let names: Vec<&str> = report.passes.iter().map(|pass| pass.name.as_str()).collect();
    let passes = ["inverters", "constants", "identities", "redundant", "dead", "ands"];
    assert_eq!(names, [&["start", "words", "recorded"], &passes[..], &["end"]].concat());
    let (start, end) = (&report.passes[0], report.passes.last().unwrap());
    let stats = module.stats().unwrap();
    assert_eq!((start.gates, start.ands), (stats.ands + stats.xors + stats.nots, 80));
    assert_eq!((end.ands, end.ands_left), (16, 0.2));
    assert_eq!(report.passes[report.passes.len() - 2].ands, 16);
}

/// The circuit is that of one lane, in a map: no larger for many lanes, and its ANDs stay together.
#[test]
fn vectors_stay_vectors() {
    let module = majority("5000xb3");
    let (optimised, report) = module.optimised(&Options::default());
    assert_eq!((report.ands_before, report.ands_after), (75_000, 15_000));
    assert_eq!((report.functions.len(), report.functions[0].times), (1, 5000));
    assert!(optimised.to_text().contains("map 5000"), "{}", optimised.to_text());
    assert!(optimised.to_bytes().len() < 500, "{}", optimised.to_bytes().len());
    let batches = [&module, &optimised].map(|module| module.stats().unwrap().batches);
    assert!(batches[1] <= batches[0], "{batches:?}");
    agree_on_random_inputs(&module, &optimised);
}

/// Products of which half is read, each of another width: each is a circuit of its own.
#[test]
fn programs_stay_small() {
    let mut text = "cenote 1\nprogram products \"\"\n".to_owned();
    let widths = 24..56;
    for width in widths.clone() {
        text += &format!("input x{width}: garbler uint b{width}\n");
        text += &format!("input y{width}: evaluator uint b{width}\n");
    }
    text += "{\n";
    for (i, width) in widths.clone().enumerate() {
        text += &format!("  %p{i} = mulfull %{}, %{}\n", 2 * i, 2 * i + 1);
        text += &format!("  %z{i} = slice{{lo={}, width={width}}} %p{i}\n", width / 4);
    }
    text += "}\n";
    for (i, width) in widths.enumerate() {
        text += &format!("output z{width}: both uint %z{i}\n");
    }
    let module = Module::parse_text(&text).unwrap();
    let (optimised, report) = module.optimised(&Options::default());
    let (before, after) = (module.to_bytes().len(), optimised.to_bytes().len());
    println!("{before} to {after} bytes, {report:?}");
    assert!(report.ands_after < report.ands_before);
    assert!(after > before + (1 << 14) && after < before + (1 << 16) + 1024, "{before} {after}");
    // Not all of them found room.
    assert!((1..32).contains(&report.functions.len()));
    agree_on_random_inputs(&module, &optimised);
}

#[test]
fn circuits_become_shallow_on_request() {
    let mut text = "cenote 1\nprogram chain \"\"\ninput x: garbler bits 64xb1\n{\n".to_owned();
    for bit in 0..64 {
        text += &format!("  %x{bit} = lanes{{at={bit}, count=1, stride=1}} %0\n");
    }
    text += "  %z1 = and %x0, %x1\n";
    for bit in 2..64 {
        text += &format!("  %z{bit} = and %z{}, %x{bit}\n", bit - 1);
    }
    text += "}\noutput z: both bits %z63\n";
    let module = Module::parse_text(&text).unwrap();
    let deep = Options { depth: true, ..Options::default() };
    for (options, depth) in [(Options::default(), 63), (deep, 6)] {
        let (optimised, report) = module.optimised(&options);
        let stats = optimised.stats().unwrap();
        assert_eq!((stats.ands, report.ands_after, stats.depth), (63, 63, depth));
        agree_on_random_inputs(&module, &optimised);
        assert_eq!(optimised.evaluate(&[vec![true; 64]]), [[true]]);
    }
}

/// Each round finds one statement of such a chain; there are not as many rounds as statements.
#[test]
fn long_chains_that_nothing_reads_take_no_time() {
    let mut text = String::from("cenote 1\nprogram chain \"\"\ninput x: garbler bits b8\n{\n");
    let chain = |i: usize| format!("  %{} = xor %{i}, %0\n", i + 1);
    text.extend((0..20_000).map(chain));
    text.push_str("}\noutput y: both bits %0\n");
    let module = Module::parse_text(&text).unwrap();
    let (better, _) = module.optimised(&Options::default());
    let input = [vec![true, false, true, true, false, false, true, false]];
    assert_eq!(better.evaluate(&input), module.evaluate(&input));
}

/// A place that turns out to be a constant beyond the end is none in the text that the optimiser writes, which may be read again.
#[test]
fn computed_places_beyond_the_end_go() {
    let text = "\
cenote 1
program beyond \"\"
input t: garbler uint 4xb8
input x: evaluator uint b8
{
  %k = const 3xb4 0x1 0x2 0x3
  %i = add %k, %k
  %r = lookup %0, %i
  %one = const b4 0x2
  %p = add %one, %one
  %on = const b1 0x1
  %s = store %0, %p, %1, %on
}
output r: both uint %r
output s: both uint %s
";
    let module = Module::parse_text(text).unwrap();
    let (optimised, _) = module.optimised(&Options::default());
    let shown = optimised.to_text();
    assert_eq!(Module::parse_text(&shown).unwrap(), optimised);
    assert_eq!((shown.matches("add").count(), shown.matches("store").count()), (0, 0), "{shown}");
    let bits = |bytes: &[u32]| -> Vec<bool> {
        bytes.iter().flat_map(|byte| (0..8).map(move |i| byte >> i & 1 == 1)).collect()
    };
    for module in [module, optimised] {
        let found = module.evaluate(&[bits(&[5, 6, 7, 8]), bits(&[99])]);
        assert_eq!(found, [bits(&[7, 0, 0]), bits(&[5, 6, 7, 8])]);
    }
}
