//! Modules made to take time or memory: reading and counting end with a figure or a refusal.

use std::fmt::Write as _;

use cenote_program::{Module, Stats};

fn module(text: &str) -> Module {
    Module::parse_text(text).unwrap_or_else(|error| panic!("{error}"))
}

fn stats(text: &str) -> Result<Stats, String> {
    module(text).stats_within(1 << 26).map_err(|error| error.to_string())
}

fn refusal(text: &str) -> String {
    Module::parse_text(text).unwrap_err().to_string()
}

const REFUSED: &str = "the bodies of the program have more than 67108864 gates to look at; write it with \
                       loops";

/// Function `f0`, and `depth` more that each call the one before twice.
fn chain(head: &str, first: &str, depth: u32, args: [&str; 2]) -> String {
    let mut text = format!("cenote 1\nprogram chain \"\"\n{first}");
    for i in 1..=depth {
        let _ = write!(
            text,
            "function f{i} (%x: b8, %y: b8) {{\n%a = call f{} ({})\n%b = call f{0} ({})\n%c = xor %a, %b\nyield %c\n}}\n",
            i - 1,
            args[0],
            args[1],
        );
    }
    let _ = write!(text, "{head}");
    text
}

#[test]
fn calls_of_calls_are_counted_or_refused() {
    let head = |depth: u32| {
        format!(
            "input x: garbler uint b8\n{{\n%z = call f{depth} (%0, %0)\n}}\noutput z: both uint %z\n"
        )
    };
    let add = "function f0 (%x: b8, %y: b8) {\n%s = add %x, %y\nyield %s\n}\n";
    let few = stats(&chain(&head(10), add, 10, ["%x, %y", "%y, %x"])).unwrap();
    assert_eq!(few.ands, 7 << 10);
    // 2^100 additions, of secrets and of constants that differ from call to call.
    let many = stats(&chain(&head(100), add, 100, ["%x, %y", "%y, %x"]));
    assert_eq!(many.unwrap_err(), REFUSED);
    let known = head(100).replace("%z =", "%k = const b8 0x5\n%z =").replace("%0, %0", "%k, %k");
    let many = stats(&chain(&known, add, 100, ["%x, %y", "%y, %x"]));
    assert_eq!(many.unwrap_err(), REFUSED);
    let wires = "circuit f0 (b8, b8) -> (b8) {\ncopy 1\ncopy 16\nyield 0 1 2 3 4 5 6 17\n}\n";
    assert_eq!(stats(&chain(&head(100), wires, 100, ["%x, %y", "%y, %x"])).unwrap_err(), REFUSED);
}

/// Whoever walks a module recurses as deep as its blocks and calls go.
#[test]
fn depth_is_limited_over_all_functions() {
    let head = "input x: garbler uint b8\n{\n%z = call f150 (%0, %0)\n}\noutput z: both uint %z\n";
    let add = "function f0 (%x: b8, %y: b8) {\n%s = add %x, %y\nyield %s\n}\n";
    let error = Module::parse_text(&chain(head, add, 150, ["%x, %y", "%y, %x"])).unwrap_err();
    assert_eq!(error.what, "blocks and calls are nested more than 128 deep in all");
}

#[test]
fn loops_in_loops_cost_no_more_than_their_body() {
    let trips = 1 << 30;
    let text = format!(
        "cenote 1\nprogram loops \"\"\ninput x: garbler uint b32\n{{\n\
         %z = for {trips} (%0) {{ |%a|\n%c = for {trips} (%a) {{ |%b|\n%d = mul %b, %0\nyield %d\n}}\n\
         yield %c\n}}\n}}\noutput z: both uint %z\n"
    );
    let stats = stats(&text).unwrap();
    let one = 1u64 << 60;
    assert_eq!((stats.statements, stats.moved_bits), (one + (1 << 30) + 1, u64::MAX));
    assert_eq!(stats.ands, u64::MAX, "far more than a number holds");
    let deep = "for 2 () { ||\n".repeat(40);
    let text = format!("cenote 1\nprogram deep \"\"\n{{\n{deep}");
    assert_eq!(refusal(&text), "35:1: blocks are nested more than 32 deep");
}

#[test]
fn constants_do_not_grow_beyond_their_text() {
    let many: String = (0..9).map(|i| format!("%c{i} = const 67108864xb1 all 0x1\n")).collect();
    let text = format!("cenote 1\nprogram constants \"\"\n{{\n{many}}}\n");
    let expected = "8:13: the constants have more than 268435456 bits; make them inputs";
    assert_eq!(refusal(&text), expected);
}

#[test]
fn operations_on_constants_are_work_as_well() {
    let mut text =
        "cenote 1\nprogram work \"\"\n{\n%a = const b4096 0x7\n%b = const b4096 0x3\n".to_owned();
    for i in 0..100_000 {
        let _ = writeln!(text, "%q{i}, %r{i} = divrem %a, %b");
    }
    text.push_str("}\n");
    assert_eq!(stats(&text).unwrap_err(), REFUSED);
    // In a loop as well, whose rounds would be a tape without gates.
    let text =
        text.replace("\"\"\n{\n", "\"\"\ninput x: garbler uint b8\n{\n%z = for 8 (%0) { |%p|\n");
    let text = text.strip_suffix("}\n").unwrap_or_default().to_owned() + "yield %p\n}\n}\n";
    assert_eq!(stats(&text).unwrap_err(), REFUSED);
}

/// Values of a round go when they are done with, tape or not; and nothing is copied for each of many puts or reads.
#[test]
fn rounds_that_are_long_cost_no_more_than_their_text() {
    let head =
        "cenote 1\nprogram work \"\"\ninput x: garbler uint 64xb8\ninput y: evaluator uint b8\n{\n";
    let mut turned = format!(
        "{head}%z = for 8 (%1) {{ |%p|\n%c = const b1 0x1\n%d = zext{{width=16777216}} %c\n%e0 = tile{{times=4}} %d\n"
    );
    for i in 0..1000 {
        let _ = writeln!(turned, "%e{} = rotl{{by=1}} %e{i}", i + 1);
    }
    turned.push_str("yield %p\n}\n}\n");
    assert_eq!(stats(&turned).unwrap_err(), REFUSED);
    let mut puts = format!("{head}%z = for 8 (%0) {{ |%p|\n%q0 = put{{at=0}} %p, %1\n");
    let mut reads = format!("{head}%z = for 8 (%1) {{ |%p|\n");
    for i in 0..30_000 {
        let _ = writeln!(puts, "%q{} = put{{at=1 + 1*i0}} %q{i}, %1", i + 1);
        let _ =
            writeln!(reads, "%w{i} = lanes{{at=0 + 1*i0, count=1, stride=1}} %0\n%n{i} = not %1");
    }
    puts.push_str("yield %q30000\n}\n}\noutput z: both uint %z\n");
    reads.push_str("yield %p\n}\n}\noutput z: both uint %z\n");
    assert_eq!((stats(&puts).unwrap().ands, stats(&reads).unwrap().ands), (0, 0));
}

#[test]
fn giant_shapes_are_refused_before_they_are_executed() {
    let sort = |lanes: u32| {
        format!(
            "cenote 1\nprogram sort \"\"\ninput x: garbler uint b1\n{{\n%l = tile{{times={lanes}}} %0\n\
             %s = sort{{lo=0, key=1, signed=0, descending=0}} %l\n%t = slice{{lo=0, width=1}} %s\n}}\n\
             output z: both uint %0\n"
        )
    };
    assert!(stats(&sort(256)).is_ok());
    assert_eq!(stats(&sort(1 << 26)).unwrap_err(), REFUSED);
    let product = |inner: u32| {
        format!(
            "cenote 1\nprogram product \"\"\ninput x: garbler uint 4096xb16\n{{\n\
             %p = matmul{{rows={}, inner={inner}, width=16, signed=0}} %0, %0\n}}\n\
             output z: both uint %0\n",
            4096 / inner
        )
    };
    assert_eq!(
        refusal(&product(1)),
        "5:6: `matmul` would give 16777216xb16, which is too large: a word has at most 16777216 bits and a value 67108864; go through it in parts, in a loop"
    );
    assert_eq!(stats(&product(16)).unwrap_err(), REFUSED);
    let large = "cenote 1\nprogram large \"\"\ninput x: garbler bits 67108864xb2\n{\n}\n";
    assert_eq!(
        refusal(large),
        "3:7: 67108864xb2 is too large: a word has at most 16777216 bits and a value 67108864; go through it in parts, in a loop"
    );
    let circuit = "cenote 1\nprogram large \"\"\ncircuit c (4294967295xb4294967295, 4294967295xb4294967295) -> (b1) {\nyield 0\n}\n{\n}\n";
    assert!(refusal(circuit).starts_with("3:9: "), "{}", refusal(circuit));
}

/// As many operands as fit, which reading and counting may look at a few times, but not each for each.
#[test]
fn many_operands_and_results() {
    let count = 60_000;
    let list =
        |prefix: &str| (0..count).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>().join(", ");
    let same = vec!["%0"; count].join(", ");
    let text = format!(
        "cenote 1\nprogram wide \"\"\ninput x: garbler uint b1\n{{\n{} = for 3 ({same}) {{ |{}|\nyield {}\n}}\n}}\n\
         output z: both uint %a0\n",
        list("%a"),
        list("%b"),
        vec!["%b7"; count].join(", "),
    );
    let module = module(&text);
    assert_eq!(module.stats().unwrap().statements, 1);
    assert_eq!(module.evaluate(&[vec![true]]), [[true]]);
}

/// One line of a megabyte.
#[test]
fn long_lines() {
    let text = format!("cenote 1 program line \"\" {{ {}", "%a = ".repeat(200_000));
    let error = refusal(&text);
    assert!(error.starts_with("1:33: expected an operation, found `%a`"), "{error}");
    let text = format!("cenote 1 program line \"\" {{ # {}", "%".repeat(1 << 20));
    assert!(refusal(&text).starts_with("2:1: "));
}

/// Few lines that ask for much: the limit that everybody has refuses them in a short time.
#[test]
fn short_texts_that_take_long_to_count() {
    let text = |width: u32, lanes: u32, line: &str| {
        let lines: String = (0..4).map(|i| format!("%a{i}, %b{i} = {line}\n")).collect();
        let text = format!(
            "cenote 1\nprogram near \"\"\ninput x: garbler uint b{width}\n{{\n%t = tile{{times={lanes}}} %0\n\
             {lines}}}\noutput z: both uint %0\n"
        );
        module(&text).stats()
    };
    let refused = text(4096, 9, "divrem %t, %0").unwrap_err().to_string();
    assert!(refused.contains("more than 268435456 gates"), "{refused}");
    assert!(text(64, 9, "divrem %t, %0").is_ok());
}

/// A map makes room for what is in it, not for all values of its function.
#[test]
fn maps_among_many_values() {
    let mut text = "cenote 1\nprogram maps \"\"\ninput x: garbler uint 2xb1\n{\n".to_owned();
    let (mut from, count) = ("%0".to_owned(), 20_000);
    for i in 0..count {
        let _ =
            writeln!(text, "%a{i} = map 2 ({from}) {{ |%p{i}| %q{i} = not %p{i}\nyield %q{i} }}");
        from = format!("%a{i}");
    }
    let _ = write!(text, "}}\noutput z: both uint {from}\n");
    let module = module(&text);
    // 4 * 10^8 places of all values would be refused.
    let stats = module.stats_within(1 << 24).unwrap();
    assert_eq!((stats.nots, stats.statements), (2 * count, 2 * count + count));
    assert_eq!(module.evaluate(&[vec![true, false]]), [[true, false]]);
}

/// Statements that give little and read, copy or see much are counted by that, however many there are.
#[test]
fn statements_that_read_much_are_counted_by_what_they_read() {
    let head = "input x: garbler uint 2xb1\ninput y: evaluator uint 65536xb16\n{\n";
    let shown = "%d = lanes{at=0, count=1, stride=1}";
    let cases = [
        ("", "%z = eq %1, %1\n".to_owned()),
        (
            "",
            format!(
                "%z = map 2 (%0) {{ |%a| {shown} %1 %q = slice{{lo=0, width=1}} %d yield %q }}\n"
            ),
        ),
        ("", format!("%z = map 2 (%1) {{ |%a| {shown} %a yield %d }}\n")),
        (
            "function f (%p: 65536xb16) {\n%d = lanes{at=0, count=1, stride=1} %p\nyield %d\n}\n",
            "%z = call f (%1)\n".to_owned(),
        ),
        ("", "%i = const b16 0x1234\n%z = lookup %1, %i\n".to_owned()),
        ("", "%z = for 9 (%1) { |%a| yield %1 }\n".to_owned()),
    ];
    for (function, body) in cases {
        let text = |times: usize| {
            let lines: String = (0..times)
                .map(|i| body.replace("%z", &format!("%z{i}")).replace("%i", &format!("%i{i}")))
                .collect();
            format!(
                "cenote 1\nprogram p \"\"\n{function}{head}{lines}}}\noutput z: both uint %z0\noutput y: both uint %1\n"
            )
        };
        let one = module(&text(1)).stats().unwrap();
        assert!(one.moved_bits >= 1 << 20 && one.counted >= 1 << 20, "{body}: {one:?}");
        assert_eq!(stats(&text(70)).unwrap_err(), REFUSED, "{body}");
    }
}
