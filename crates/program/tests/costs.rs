//! The tables of operations in docs/formats/program.md: shapes of results and ANDs.

use std::fs;
use std::path::Path;

use cenote_program::{Module, WordOp};

/// Shapes of the results and ANDs of an operation on operands of these shapes.
fn priced(operation: &str, operands: &str) -> (String, u64) {
    let shapes: Vec<&str> = operands.split(", ").collect();
    let inputs: Vec<String> =
        (0..shapes.len()).map(|i| format!("input x{i}: garbler bits {}\n", shapes[i])).collect();
    let args: Vec<String> = (0..shapes.len()).map(|i| format!("%{i}")).collect();
    let name = operation.split('{').next().unwrap_or_default();
    let two = ["divrem", "divrems", "argmin", "argmax", "argmins", "argmaxs"].contains(&name)
        || name.ends_with('o')
        || name.ends_with("os");
    let results = if two { &["%100", "%101"][..] } else { &["%100"] };
    let outputs: Vec<String> =
        results.iter().enumerate().map(|(i, r)| format!("output y{i}: both bits {r}\n")).collect();
    let text = format!(
        "cenote 1\nprogram p \"one operation\"\n{}{{\n{} = {operation} {}\n}}\n{}",
        inputs.concat(),
        results.join(", "),
        args.join(", "),
        outputs.concat()
    );
    let module = Module::parse_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let shapes: Vec<String> = module.outputs().iter().map(|port| port.shape.to_string()).collect();
    (shapes.join(", "), module.stats().expect("small").ands)
}

#[test]
fn the_tables_of_the_format_are_true_and_complete() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/program.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let (mut seen, mut wrong) = (Vec::new(), Vec::new());
    for line in page.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", operation, operands, results, ands, _, ""] = cells[..] else { continue };
        let Some(operation) = operation.strip_prefix('`').and_then(|o| o.strip_suffix('`')) else {
            continue;
        };
        let said = format!("| {results} | {ands} |");
        let (shapes, count) = priced(operation, operands);
        let found = format!("| {shapes} | {count} |");
        if said != found {
            wrong.push(format!("`{operation}` on {operands} is {found}, the page says {said}"));
        }
        seen.push(operation.split('{').next().unwrap_or_default().to_owned());
    }
    assert!(wrong.is_empty(), "correct docs/formats/program.md:\n{}", wrong.join("\n"));
    for op in WordOp::ALL {
        assert!(seen.iter().any(|name| name == op.name()), "no row for `{}`", op.name());
    }
}

#[test]
fn the_codes_of_the_binary_form_are_those_of_the_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/program.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let words: Vec<&str> = page.split_whitespace().collect();
    let codes: Vec<String> =
        WordOp::ALL.iter().enumerate().map(|(code, op)| format!("{code} {}", op.name())).collect();
    assert!(words.join(" ").contains(&codes.join(", ")), "{}", codes.join(", "));
}

/// A division of words of `width` bits, the operands of which are extended from these shapes.
fn division(op: &str, width: u32, operands: [&str; 2]) -> Module {
    let [a, b] = operands;
    Module::parse_text(&format!(
        "cenote 1 program p \"\" input a: garbler bits {a} input b: garbler bits {b}
         {{
           %a = zext{{width={width}}} %0
           %b = zext{{width={width}}} %1
           %q, %r = {op} %a, %b
         }}
         output q: both bits %q output r: both bits %r"
    ))
    .unwrap()
}

#[test]
fn a_division_looks_at_no_known_zeros() {
    let bits = |value: u32, width: u32| (0..width).map(move |i| value >> i & 1 == 1);
    for (n, m) in (1..6).flat_map(|n| (1..6).map(move |m| (n, m))) {
        let places = || (0..1u32 << n).flat_map(|a| (0..1u32 << m).map(move |b| (a, b)));
        let inputs = |x: u32, y: u32| {
            let a: Vec<bool> = places().flat_map(|(a, _)| bits(a, x)).collect();
            [a, places().flat_map(|(_, b)| bits(b, y)).collect()]
        };
        for op in ["divrem", "divrems"] {
            let shape = |width: u32| format!("{}xb{width}", 1 << (n + m));
            let narrow = division(op, 6, [&shape(n), &shape(m)]).evaluate(&inputs(n, m));
            let wide = division(op, 6, [&shape(6), &shape(6)]).evaluate(&inputs(6, 6));
            assert_eq!(narrow, wide, "{op} of {n} by {m} bits");
        }
    }
    let ands = |op, operands| division(op, 40, operands).stats().unwrap().ands;
    let cases = [["b40", "b40"], ["b40", "b12"], ["b12", "b40"], ["b12", "b12"]];
    assert_eq!(cases.map(|case| ands("divrem", case)), [976, 487, 167, 135]);
    assert_eq!(cases.map(|case| ands("divrems", case)), [1134, 633, 220, 137]);
}
