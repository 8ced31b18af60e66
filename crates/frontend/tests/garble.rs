//! Garble programs as modules give what Garble's own evaluator gives.

use cenote_circuit::{Receivers, Role};
use cenote_frontend::garble::{Options, compile};
use cenote_program::{Kind, Module, Shape};
use garble_lang::ast::Type;
use garble_lang::literal::{Literal, VariantLiteral};
use garble_lang::token::{SignedNumType, UnsignedNumType};
use garble_lang::{GarbleProgram, compile as garble};

/// A few numbers of a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.0 ^ (self.0 >> 29)
    }
}

fn random(program: &GarbleProgram, ty: &Type, r: &mut Random) -> Literal {
    let many =
        |types: &[Type], r: &mut Random| types.iter().map(|t| random(program, t, r)).collect();
    // Small numbers are as likely as large ones.
    let number = |r: &mut Random, bits: u64| r.next() >> (64 - bits + r.next() % bits);
    match ty {
        Type::Bool if r.next().is_multiple_of(2) => Literal::True,
        Type::Bool => Literal::False,
        Type::Unsigned(kind) => {
            let bits = match kind {
                UnsignedNumType::U8 => 8,
                UnsignedNumType::U16 => 16,
                UnsignedNumType::U64 => 64,
                _ => 32,
            };
            Literal::NumUnsigned(number(r, bits), *kind)
        }
        Type::Signed(kind) => {
            let bits = match kind {
                SignedNumType::I8 => 8,
                SignedNumType::I16 => 16,
                SignedNumType::I64 => 64,
                _ => 32,
            };
            let value = number(r, bits);
            Literal::NumSigned((value << (64 - bits)) as i64 >> (64 - bits), *kind)
        }
        Type::Array(element, count) => {
            Literal::Array((0..*count).map(|_| random(program, element, r)).collect())
        }
        Type::Tuple(types) => Literal::Tuple(many(types, r)),
        Type::Struct(name) => {
            let fields = &program.program.struct_defs[name].fields;
            let field = |(name, ty): &(String, Type)| (name.clone(), random(program, ty, r));
            Literal::Struct(name.clone(), fields.iter().map(field).collect())
        }
        Type::Enum(name) => {
            let variants = &program.program.enum_defs[name].variants;
            let at = r.next() as usize % variants.len();
            let (variant, payload) = match &variants[at] {
                garble_lang::ast::Variant::Unit(variant) => (variant, VariantLiteral::Unit),
                garble_lang::ast::Variant::Tuple(variant, types) => {
                    (variant, VariantLiteral::Tuple(many(types, r)))
                }
            };
            Literal::Enum(name.clone(), variant.clone(), payload)
        }
        other => panic!("{other}"),
    }
}

/// The bits of a value as docs/formats/garble.md says, port by port.
fn ports(program: &GarbleProgram, literal: &Literal) -> Vec<Vec<bool>> {
    match literal {
        Literal::Tuple(fields) => fields.iter().flat_map(|f| ports(program, f)).collect(),
        Literal::Struct(_, fields) => fields.iter().flat_map(|(_, f)| ports(program, f)).collect(),
        // What each item has at one place is one port.
        Literal::Array(items) => {
            let items: Vec<Vec<Vec<bool>>> = items.iter().map(|i| ports(program, i)).collect();
            let count = items.first().map_or(0, Vec::len);
            (0..count).map(|at| items.iter().flat_map(|i| i[at].clone()).collect()).collect()
        }
        other => vec![bits(program, other)],
    }
}

fn bits(program: &GarbleProgram, literal: &Literal) -> Vec<bool> {
    let number = |value: u64, bits: u32| (0..bits).map(|i| value >> i & 1 == 1).collect();
    match literal {
        Literal::True => vec![true],
        Literal::False => vec![false],
        Literal::NumUnsigned(value, kind) => match kind {
            UnsignedNumType::U8 => number(*value, 8),
            UnsignedNumType::U16 => number(*value, 16),
            UnsignedNumType::U64 => number(*value, 64),
            _ => number(*value, 32),
        },
        Literal::NumSigned(value, kind) => match kind {
            SignedNumType::I8 => number(*value as u64, 8),
            SignedNumType::I16 => number(*value as u64, 16),
            SignedNumType::I64 => number(*value as u64, 64),
            _ => number(*value as u64, 32),
        },
        // The tag is a number, what follows stays in Garble's order.
        Literal::Enum(name, ..) => {
            let count = program.program.enum_defs[name].variants.len();
            let tag = count.next_power_of_two().trailing_zeros() as usize;
            let mut all = literal.as_bits(&program.program, &program.const_sizes);
            all[..tag].reverse();
            all
        }
        other => panic!("{other}"),
    }
}

/// Runs both on inputs of 60 seeds; gives how often Garble panicked.
fn agree(source: &str) -> usize {
    let program = garble(source).unwrap_or_else(|error| panic!("{}", error.prettify(source)));
    let module = compile("sample.garble.rs", source, &Options::default()).unwrap();
    assert_eq!(Module::from_bytes(&module.to_bytes()).as_ref(), Ok(&module));
    let panics = module.outputs().first().is_some_and(|port| port.name == "panic.happened");
    let mut panicked = 0;
    for seed in 0..60 {
        let mut r = Random(seed * 7919 + 1);
        let args: Vec<Literal> =
            program.main.params.iter().map(|p| random(&program, &p.ty, &mut r)).collect();
        let inputs: Vec<Vec<bool>> = match &args[..] {
            [Literal::Array(both)] => both.iter().flat_map(|arg| ports(&program, arg)).collect(),
            args => args.iter().flat_map(|arg| ports(&program, arg)).collect(),
        };
        let outputs = module.evaluate(&inputs);
        // One array is one input for each party.
        let given = match &args[..] {
            [Literal::Array(both)] => both,
            args => args,
        };
        let raw = |arg: &Literal| arg.as_bits(&program.program, &program.const_sizes);
        let output = program.circuit.eval(&given.iter().map(raw).collect::<Vec<_>>());
        let expected = program.parse_output(&output);
        let (report, result) = outputs.split_at(if panics { 4 } else { 0 });
        match expected {
            Ok(literal) => {
                assert_eq!(result, ports(&program, &literal), "{literal}");
                assert!(!panics || report[0] == [false]);
            }
            Err(garble_lang::eval::EvalError::Panic(panic)) => {
                panicked += 1;
                let number = |bits: &[bool]| cenote_circuit::value_of(bits) as usize;
                assert_eq!(report[0], [true]);
                assert!((1..=3).contains(&number(&report[1])));
                let place = (number(&report[2]), number(&report[3]));
                assert_eq!(place, panic.panicked_at.start);
            }
            Err(other) => panic!("{other}"),
        }
    }
    panicked
}

#[test]
fn results_are_those_of_garble() {
    assert_eq!(agree("pub fn main(x: bool, y: bool) -> bool { x & !y }"), 0);
    assert_eq!(agree("pub fn main(x: u32, y: u32) -> bool { x > y }"), 0);
    assert!(agree("pub fn main(x: u8, y: u8) -> u8 { x + y }") > 0);
    assert!(agree("pub fn main(x: i16, y: i16) -> (i16, i16) { (x * y, x / y) }") > 0);
    assert_eq!(
        agree("pub fn main(x: u64, y: u64) -> (u64, [bool; 2]) { (x ^ y, [x == y, x < y]) }"),
        0
    );
    assert_eq!(agree("pub fn main(xs: [i32; 2]) -> bool { xs[0] < xs[1] }"), 0);
    assert!(agree("pub fn main(xs: [u8; 5], i: usize) -> u8 { xs[i] }") > 0);
}

#[test]
fn structs_and_enums_have_the_documented_layout() {
    let source = "
enum Wish { Nothing, Price(u16), Both(u8, i8) }
struct Offer { least: u16, sizes: [(u8, bool); 3], open: bool }
struct Deal { price: u16, wish: Wish, first: (u8, bool) }
pub fn main(offer: Offer, wish: Wish) -> Deal {
    let price = match wish {
        Wish::Nothing => 0u16,
        Wish::Price(price) => price,
        Wish::Both(a, b) => a as u16,
    };
    let sizes = offer.sizes;
    let price = if offer.open & (price >= offer.least) { price } else { 0u16 };
    Deal { price: price, wish: wish, first: sizes[1] }
}
";
    assert_eq!(agree(source), 0);
    let module = compile("deals.garble.rs", source, &Options::default()).unwrap();
    assert_eq!(module.name(), "deals");
    let inputs: Vec<_> =
        module.inputs().iter().map(|p| (p.name.as_str(), p.owner, p.kind, p.shape)).collect();
    let (garbler, evaluator) = (Role::Garbler, Role::Evaluator);
    let expected = [
        ("offer.least", garbler, Kind::UInt, Shape::word(16)),
        ("offer.open", garbler, Kind::Bool, Shape::word(1)),
        ("offer.sizes.0", garbler, Kind::UInt, Shape::vector(3, 8)),
        ("offer.sizes.1", garbler, Kind::Bool, Shape::vector(3, 1)),
        ("wish", evaluator, Kind::Bits, Shape::word(18)),
    ];
    assert_eq!(inputs, expected);
    let outputs: Vec<_> =
        module.outputs().iter().map(|p| (p.name.as_str(), p.kind, p.shape)).collect();
    let expected = [
        ("result.first.0", Kind::UInt, Shape::word(8)),
        ("result.first.1", Kind::Bool, Shape::word(1)),
        ("result.price", Kind::UInt, Shape::word(16)),
        ("result.wish", Kind::Bits, Shape::word(18)),
    ];
    assert_eq!(outputs, expected);
    assert!(module.outputs().iter().all(|port| port.receiver == Receivers::Both));
    let paths: Vec<String> = module.inputs().iter().map(|port| port.path.to_string()).collect();
    assert_eq!(paths[2..4], ["offer.sizes[3].0", "offer.sizes[3].1"]);
}

/// Arrays of arrays, of records, and records with arrays in them: a port for each leaf.
#[test]
fn arrays_are_columns() {
    let source = "
struct Row { id: u16, marks: [[u8; 2]; 3], open: bool }
pub fn main(rows: [Row; 4], grid: [[i16; 3]; 2]) -> [(u8, [bool; 2]); 4] {
    let mut out = [(0u8, [false, false]); 4];
    for i in 0usize..4usize {
        let row = rows[i];
        out[i] = (row.marks[1][0] ^ row.marks[2][1], [row.open, grid[1][2] > 5i16]);
    }
    out
}
";
    agree(source);
    let module = compile("rows.garble.rs", source, &Options::default()).unwrap();
    let inputs: Vec<String> = module.inputs().iter().map(|port| port.path.to_string()).collect();
    assert_eq!(inputs, ["rows[4].id", "rows[4].marks[3, 2]", "rows[4].open", "grid[2, 3]"]);
    let outputs = module.outputs().iter().map(|port| port.path.to_string());
    let outputs: Vec<String> = outputs.filter(|path| path.starts_with("result")).collect();
    assert_eq!(outputs, ["result[4].0", "result[4].1[2]"]);
    assert_eq!(Module::parse_text(&module.to_text()).as_ref(), Ok(&module));
}

#[test]
fn functions_and_constants_are_chosen() {
    let source = "
const ROWS: usize = PARTY_0::ROWS;
pub fn total(xs: [u16; ROWS], limit: u16) -> u16 {
    let mut sum = 0u16;
    for x in xs { sum = sum ^ x; }
    if sum < limit { sum } else { limit }
}
pub fn main(x: bool, y: bool) -> bool { x ^ y }
";
    let constants = vec![("PARTY_0::ROWS".to_owned(), "3usize".to_owned())];
    let options = Options { function: "total".into(), constants };
    let module = compile("dir/rows.garble.rs", source, &options).unwrap();
    assert_eq!(module.name(), "rows.total");
    assert_eq!(module.inputs()[0].shape, Shape::vector(3, 16));
    let word = |value: u128| cenote_circuit::bits_of(value, 16);
    let rows: Vec<bool> = [5u128, 9, 300].iter().flat_map(|x| word(*x)).collect();
    assert_eq!(module.evaluate(&[rows, word(1000)]), [word(5 ^ 9 ^ 300)]);
}

fn refused(source: &str, options: &Options) -> String {
    compile("a.garble.rs", source, options).unwrap_err().to_string()
}

#[test]
fn refusals_name_the_place() {
    let main = Options::default();
    let cases = [
        ("pub fn main(x: u8, y: u8) -> u8 { x + }", "a.garble.rs:1:39: Expected an expression"),
        (
            "pub fn main(x: u8, y: u16) -> u8 { x + y }",
            "a.garble.rs:1:36: The arguments have incompatible types; u8 vs u16",
        ),
        ("pub fn main(x: u8, y: u8) -> u8 { x $ y }", "a.garble.rs:1:37: Unexpected character"),
        ("pub fn main(x: u8, y: u8) -> u8 {\n  z }", "a.garble.rs:2:3: Unknown identifier 'z'"),
        (
            "pub fn main(x: u8, y: u8, z: u8) -> u8 { x }",
            "a.garble.rs:1:1: `main` has 3 parameters, one for each party, and there are two parties; put what one of them provides into one struct",
        ),
        (
            "pub fn main(x: [u8; 3]) -> u8 { x[0] }",
            "a.garble.rs:1:1: in Garble, one array is one input for each party: of two parties, not of 3; add a parameter for the other party",
        ),
        (
            "pub fn other(x: u8) -> u8 { x }",
            "a.garble.rs: there is no function `main`; there are: other",
        ),
        (
            "const N: usize = A::N;\npub fn main(x: [u8; N], y: u8) -> u8 { y }",
            "a.garble.rs:1:18: the constant A::N needs a value of type usize; add --const A::N=VALUE",
        ),
        // The end of the text has a place too, and so have the starts of lines.
        (
            "pub fn main(x: u8, y: u8) -> u8 {\n  let a = x;\n  a + y\n\n",
            "a.garble.rs:1:33: this bracket has no end",
        ),
        ("pub fn main(x: u8, y: u8) -> u8 {\nz\n}", "a.garble.rs:2:1: Unknown identifier 'z'"),
        ("pub fn main(x: u8, y: u8) -> u8 {\n// é\n$ x }", "a.garble.rs:3:1: Unexpected character"),
        ("$", "a.garble.rs:1:1: Unexpected character"),
        ("", "a.garble.rs: there is no function `main`; there are: no function at all"),
        (
            "pub fn main(x: u8, y: u8) -> u8 { /* // */ /* /* */ x }",
            "a.garble.rs:1:44: this comment has no end; close it with */",
        ),
        ("pub fn main(x: (), y: ()) -> bool { true }", "a.garble.rs:1:1: `main` has no inputs"),
    ];
    for (source, expected) in cases {
        assert_eq!(refused(source, &main), expected, "{source}");
    }
    let constant = |name: &str, text: &str| Options {
        constants: vec![(name.to_owned(), text.to_owned())],
        ..Options::default()
    };
    let source = "const N: usize = A::N;\npub fn main(x: [u8; N], y: u8) -> u8 { y }";
    let unknown = "a.garble.rs: the program asks for A::N, not for `A::M`";
    assert_eq!(refused(source, &constant("A::M", "3")), unknown);
    let wrong = "a.garble.rs: the constant `A::N` is of type usize, which `true` is not";
    assert_eq!(refused(source, &constant("A::N", "true")), wrong);
    let large = "a.garble.rs: a Garble program has at most 1048576 bytes";
    assert_eq!(refused(&" ".repeat(2 << 20), &main), large);
}

#[test]
fn a_wrong_clause_of_a_match_has_a_place() {
    // Garble's own parser has no end there.
    let cases = [
        (
            "pub fn main(x: u8, y: u8) -> u8 {\n  match x {\n    0 => { y }\n    1 - { x }\n  }\n}",
            "a.garble.rs:4:7: Expected '=>'",
        ),
        (
            "pub fn main(x: u8, y: u8) -> u8 { match x { 0 => { y } _ => { x }",
            "a.garble.rs:1:43: this bracket has no end",
        ),
    ];
    for (source, expected) in cases {
        assert_eq!(refused(source, &Options::default()), expected, "{source}");
    }
}

#[test]
fn a_cause_comes_before_its_consequence() {
    let source = "fn due(x: u8) -> u8 { x }\npub fn main(x: u8, y: u8) -> u8 {\n  deu(x) ^ y\n}";
    let said = refused(source, &Options::default());
    assert_eq!(said, "a.garble.rs:3:3: Unknown identifier 'deu' (and 1 more)");
    let said = refused("fn main(x: u8, y: u8) -> u8 { x }", &Options::default());
    assert!(said.ends_with("never used; write `pub fn` for what is compiled"), "{said}");
}

#[test]
fn nesting_has_an_end() {
    let body = |expression: String| format!("pub fn main(x: u8, y: u8) -> u8 {{ {expression} }}");
    let many = |open: &str, times: usize, close: &str| {
        body(format!("{}x{}", open.repeat(times), close.repeat(times)))
    };
    let chains = |times: usize| {
        [
            many("(", times, ")"),
            many("!", times, ""),
            many("x ^ ", times / 2, ""),
            many("", times / 2, " as u8"),
            many("if x < y { y } else ", times / 12, "").replace("else x", "else { x }"),
            many("{ ", times, " }"),
            format!(
                "pub fn main(x: {}u8{}, y: u8) -> u8 {{ y }}",
                "(".repeat(times),
                ",)".repeat(times)
            ),
        ]
    };
    // What is allowed does not overflow the stack.
    for source in chains(3900) {
        if let Err(error) = compile("a.garble.rs", &source, &Options::default()) {
            assert!(!error.what.contains("within each other"), "{error}");
            assert!(!error.what.contains("failed on"), "{error}");
        }
    }
    let too_much = |source: &str| {
        let said = refused(&source[..source.len().min(1 << 20)], &Options::default());
        said.starts_with("a.garble.rs:1:") && said.contains("too much stands within each other")
    };
    for source in chains(300_000) {
        assert!(too_much(&source));
    }
    // Nor do functions that call each other.
    let calls = |functions: usize| {
        let one = |at| format!("fn f{at}(x: u8) -> u8 {{ f{}(x) }} ", at + 1);
        let chain: String = (0..functions).map(one).collect();
        format!("{chain}fn f{functions}(x: u8) -> u8 {{ x }} {}", body("f0(x ^ y)".to_owned()))
    };
    assert!(compile("a.garble.rs", &calls(4000), &Options::default()).is_ok());
    assert!(too_much(&calls(25_000)));
    // Long is not deep.
    let lines =
        "let z = x ^ y; for i in 0..2 { let w = z; } if x == y { let u = z; }\n".repeat(2000);
    assert!(compile("a.garble.rs", &body(format!("{lines}x")), &Options::default()).is_ok());
    let elements = "x, ".repeat(20_000);
    let source = body(format!("let all = [{elements}]; all[1]"));
    assert!(compile("a.garble.rs", &source, &Options::default()).is_ok());
}
