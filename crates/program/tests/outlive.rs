//! Memories that outlive a run: both forms, what is refused, and what a machine is asked for.

use cenote_circuit::{bits_of, value_of};
use cenote_program::{Builder, Kind, Module, PortPath, Remembering, Shape, Version};

/// A total that each run adds to.
const ADDS: &str = r#"cenote 3
program adds "adds to a total"
input x: a uint b8
memory total: found uint b8
memory seen[2].at: found uint b4
memory seen[2].flag[3]: found bool b1
{
  %4 = add %1, %0
}
keep total: %4
keep seen.at: %2
keep seen.flag: %3
output z: both uint %4
"#;

fn read(text: &str) -> Module {
    Module::parse_text(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn refusal(text: &str) -> String {
    Module::parse_text(text).unwrap_err().to_string()
}

#[test]
fn both_forms_have_the_memories() {
    let module = read(ADDS);
    assert_eq!((module.version(), module.to_text().as_str()), (Version::Three, ADDS));
    assert_eq!(Module::from_bytes(&module.to_bytes()).as_ref(), Ok(&module));
    let shapes: Vec<_> = module.memories().iter().map(|m| (m.name.as_str(), m.shape)).collect();
    let expected = [
        ("total", Shape::word(8)),
        ("seen.at", Shape::vector(2, 4)),
        ("seen.flag", Shape::vector(6, 1)),
    ];
    assert_eq!(shapes, expected);
    // No ports: neither side provides or receives them.
    assert_eq!((module.signature().inputs.len(), module.signature().outputs.len()), (1, 1));
    assert!(module.stream().is_none(), "gates alone cannot find what was left");
    let smaller = module.optimised(&cenote_circuit::optimise::Options::default()).0;
    assert_eq!((smaller.memories(), smaller.version()), (module.memories(), Version::Three));
    for (old, new) in [("found uint b8", "new uint b8"), ("keep total: %4", "keep total: %1")] {
        assert_ne!(read(&ADDS.replace(old, new)).digest(), module.digest(), "{new}");
    }
}

#[test]
fn a_run_finds_what_the_last_one_left() {
    let begins = read(
        "cenote 3\nprogram p \"\"\nmemory total: new uint b8\n{\n %1 = const b8 0x07\n %2 = add %0, %1\n}\nkeep total: %2\n",
    );
    // The sum of zeros and a constant is known when the program is counted.
    assert_eq!(begins.stats().unwrap().ands, 0);
    let adds = read(
        "cenote 3\nprogram q \"\"\ninput x: a uint b8\nmemory total: found uint b8\n{\n %2 = add %1, %0\n}\nkeep total: %2\noutput z: both uint %2\n",
    );
    assert_eq!(adds.stats().unwrap().ands, 7, "what was left is secret");
    let ends = read(
        "cenote 3\nprogram r \"\"\nmemory total: found uint b8\n{\n}\noutput z: both uint %0\n",
    );
    let mut host = Remembering::default();
    let mut run = |module: &Module, inputs: &[u128]| {
        let inputs = inputs.iter().map(|x| bits_of(*x, 8)).collect();
        let Ok(outputs) = module.run_on(&mut host, inputs);
        (outputs.iter().map(|bits| value_of(bits)).collect::<Vec<_>>(), host.0.len())
    };
    assert_eq!(run(&begins, &[]), (vec![], 1));
    assert_eq!(run(&adds, &[5]), (vec![12], 1));
    assert_eq!(run(&adds, &[250]), (vec![6], 1));
    assert_eq!(run(&ends, &[]), (vec![6], 0), "nothing was left in it");
    // A machine on which nothing outlives a run finds zeros.
    assert_eq!(adds.evaluate(&[bits_of(5, 8)]), [bits_of(5, 8)]);
}

#[test]
fn what_is_no_memory_is_refused() {
    let cases = [
        (ADDS.replace("cenote 3", "cenote 2"), "expected `function`, `circuit`, `input`, or `{`"),
        (ADDS.replace("keep seen.flag: %3\n", ""), "nothing is left in a part of it"),
        (ADDS.replace("keep total: %4", "keep totals: %4"), "no memory `totals`"),
        (ADDS.replace("keep total: %4", "keep total: %2"), "is b8, not 2xb4"),
        (ADDS.replace("keep total: %4", "keep total: %4\nkeep total: %4"), "left in it already"),
        (ADDS.replace("at: found", "at: new"), "all parts of a memory begin, or none"),
        (ADDS.replace("total: found", "total: old"), "expected new or found"),
        (ADDS.replace("memory total", "memory seen"), "does not go with"),
        ("cenote 3\nprogram p \"\"\n{\n}\n".into(), "a program of version 3 has a memory"),
    ];
    for (text, expected) in cases {
        let refused = refusal(&text);
        assert!(refused.contains(expected), "{refused}\n{text}");
    }
}

#[test]
fn memories_come_between_inputs_and_statements() {
    let mut b = Builder::new("p", "").unwrap();
    let x = b.input("x", cenote_circuit::Role::Garbler, Kind::UInt, Shape::word(8)).unwrap();
    let memory =
        |b: &mut Builder, name: &str| b.memory_at(PortPath::flat(name, 1), true, Kind::UInt, 8);
    memory(&mut b, "m").unwrap();
    assert!(b.input("y", cenote_circuit::Role::Garbler, Kind::UInt, Shape::word(8)).is_err());
    b.word(cenote_program::WordOp::Not, &[], &[x]).unwrap();
    let late = memory(&mut b, "n").unwrap_err().to_string();
    assert!(late.contains("comes after a statement"), "{late}");
}
