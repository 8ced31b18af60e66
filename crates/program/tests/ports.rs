//! Names, structure and owners of ports, in all versions of the format.

use cenote_circuit::{Receivers, Role};
use cenote_program::limits::{MAX_SIZES, MAX_STEPS};
use cenote_program::{BuildError, Builder, Kind, Module, PathStep, PortPath, Shape, Version};

/// A module of version 1 as it was written before there was another: ports are words and vectors, and dots
/// in their names mean nothing.
const FIRST: &str = r#"cenote 1
program golden "a module of version 1"
input rows.age: garbler uint 3xb8
input rows.name: garbler bits b16
input rows: evaluator fixed.4 b12
input a..b: evaluator bool b1
{
  %4 = sum{width=10, groups=1} %0
}
output z.: evaluator uint %4
output z: both int %2
"#;
const FIRST_BYTES: &str = "8963656e6f74650106676f6c64656e1561206d6f64756c65206f662076657273696f6e2031000408\
    726f77732e6167650002030809726f77732e6e616d650000011004726f7773010404010c04612e2e62010101010101330a010\
    10002027a2e010204017a020302";
const FIRST_DIGEST: &str = "42e5ed8a76fb7f9005a52dce80aab7192e1dea6daab4c0dd66ad287fb044b7f7";

const SECOND: &str = r#"cenote 2
program golden "a table, a record and a matrix"
input rows[3].age: a uint b8
input rows[3].name[2, 4]: a uint b7
input rows[3].home.street: a bits b5
input limit: b fixed.4 b12
input one[1]: b bool b1
{
  %5 = sum{width=10, groups=1} %0
}
output result.0: b uint %5
output result.1.names[12, 2]: both uint %1
output result.1.limit: a fixed.4 %3
"#;
const SECOND_BYTES: &str = "8963656e6f74650206676f6c64656e1e61207461626c652c2061207265636f726420616e64206120\
    6d61747269780005\
    0204726f7773010303616765000002080204726f77730103046e616d6502020400020703\
    04726f7773010304686f6d6500067374726565740000000501056c696d69740001040\
    40c01036f6e6501010101010101330a01010003\
    0206726573756c74000130000102050306726573756c74000131\
    00056e616d6573020c0202020103\
    06726573756c740001310005\
    6c696d69740000040403";
const SECOND_DIGEST: &str = "7ad27b715287931105cf9e05f3d940ab971ead1ca3f8309cb11fd6133d6e6ebf";

const THIRD: &str = r#"cenote 3
program golden "memories that are found, begun and ended"
input x: a uint b8
memory total: found uint b8
memory seen[2].at: new uint b4
memory seen[2].flag[3]: new bool b1
memory gone: found fixed.2 b6
{
  %5 = add %1, %0
}
keep total: %5
keep seen.at: %2
keep seen.flag: %3
output z: both uint %5
"#;
const THIRD_BYTES: &str = "8963656e6f74650306676f6c64656e286d656d6f7269657320746861742061726520666f756e642c20626567756e20616e64\
    20656e646564000101017800000208040105746f74616c0000020802047365656e01020261740001020402047365656e0102\
    04666c616701030101010104676f6e650000040206010112020100060304000101017a00020205";
const THIRD_DIGEST: &str = "c67f4ed6a47114ad11d4af7f864e87fce424c2dbfa37fa5477a625284e56e142";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(text: &str) -> Module {
    Module::parse_text(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Neither form of either version changes, and what was read is written as it was.
#[test]
fn all_versions_stay() {
    let cases = [
        (Version::One, FIRST, FIRST_BYTES, FIRST_DIGEST),
        (Version::Two, SECOND, SECOND_BYTES, SECOND_DIGEST),
        (Version::Three, THIRD, THIRD_BYTES, THIRD_DIGEST),
    ];
    for (version, text, bytes, digest) in cases {
        let module = read(text);
        assert_eq!(module.version(), version);
        assert_eq!(hex(&module.to_bytes()), bytes);
        assert_eq!(hex(&module.digest()), digest);
        assert_eq!(module.to_text(), text);
        let again = Module::from_bytes(&module.to_bytes()).unwrap();
        assert_eq!(again, module);
        assert_eq!(again.to_text(), text);
    }
}

/// Files from before version 2, with the digests that they had.
#[test]
fn files_of_version_1_keep_their_digests() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/program_");
    for (name, digest) in [
        ("sort", "b27424c6bf2121e713eb82e63e151fd406f7b0b6075231ce74c0338c7c4658be"),
        ("mod-exp", "364f8bf64da3c0aa4b116807df500eac1c64bcaf502315869fb5a2a0e403aa98"),
        ("edit-distance", "8173c7cb26545aee474a957f7ae0bdc7b38074b64fdfe7e2e8400375e3d3ab1f"),
        ("random-3", "1c4c6f3ac8dbec5a6b1d29ddcbca8b522241251e1a6d760ac93f53697c911796"),
        ("random-77", "38d8d91a6901c62deb9a6ac2a1a4f552232f7a6bb601915ea4711caf4f7baf1f"),
    ] {
        let bytes = std::fs::read(format!("{directory}binary/{name}")).unwrap();
        let module = Module::from_bytes(&bytes).unwrap();
        assert_eq!((module.version(), hex(&module.digest()).as_str()), (Version::One, digest));
        assert_eq!(module.to_bytes(), bytes);
        assert_eq!(read(&module.to_text()), module);
        // What is made of it is of its version as well: its names may mean nothing in another.
        let smaller = module.optimised(&cenote_circuit::optimise::Options::default()).0;
        assert_eq!(smaller.version(), Version::One);
    }
}

/// The same text with the parties called as in the other version.
#[test]
fn the_digest_covers_the_version() {
    let first =
        "cenote 1\nprogram p \"\"\ninput x: garbler uint b8\n{\n}\noutput z: evaluator uint %0\n";
    let second = first.replace("cenote 1", "cenote 2").replace("garbler", "a");
    let second = second.replace("evaluator", "b");
    let (first, second) = (read(first), read(&second));
    assert_eq!(first.signature(), second.signature());
    assert_eq!(first.inputs(), second.inputs());
    assert_ne!(first.digest(), second.digest());
    assert_eq!(Builder::new("p", "").unwrap().finish().unwrap().version(), Version::Two);
}

#[test]
fn paths_are_shapes_and_names() {
    let module = read(SECOND);
    let inputs: Vec<_> = module
        .inputs()
        .iter()
        .map(|port| (port.name.as_str(), port.path.to_string(), port.owner, port.shape))
        .collect();
    let path = |text: &str| text.to_owned();
    assert_eq!(
        inputs,
        [
            ("rows.age", path("rows[3].age"), Role::Garbler, Shape::vector(3, 8)),
            ("rows.name", path("rows[3].name[2, 4]"), Role::Garbler, Shape::vector(24, 7)),
            ("rows.home.street", path("rows[3].home.street"), Role::Garbler, Shape::vector(3, 5)),
            ("limit", path("limit"), Role::Evaluator, Shape::word(12)),
            ("one", path("one[1]"), Role::Evaluator, Shape::word(1)),
        ]
    );
    let receivers: Vec<_> = module.outputs().iter().map(|port| port.receiver).collect();
    assert_eq!(receivers, [Receivers::Evaluator, Receivers::Both, Receivers::Garbler]);
    assert_eq!(module.outputs()[1].path.sizes().collect::<Vec<_>>(), [12, 2]);
}

/// Returns what the builder says to inputs at these places: name, sizes, name, sizes ..
fn refused(paths: &[&[(&str, &[u32])]], owner: impl Fn(usize) -> Role) -> String {
    let mut b = Builder::new("p", "").unwrap();
    let added: Result<Vec<_>, BuildError> = paths
        .iter()
        .enumerate()
        .map(|(i, steps)| {
            let step = |(name, sizes): &(&str, &[u32])| PathStep {
                name: (*name).to_owned(),
                sizes: sizes.to_vec(),
            };
            let path = PortPath::new(steps.iter().map(step).collect());
            b.input_at(path, owner(i), Kind::UInt, 8)
        })
        .collect();
    added.err().map_or("accepted".to_owned(), |error| error.to_string())
}

// Long: a table.
#[test]
fn paths_that_make_no_tree_are_refused() {
    let all = |_| Role::Garbler;
    let none: &[u32] = &[];
    let apart = |port: &str, record: &str| {
        format!(
            "input `{port}` does not go with the `{record}` before it: the parts of a record follow one another, \
             all with its sizes"
        )
    };
    let same = refused(&[&[("x", none), ("y", none)], &[("x", none), ("y", none)]], all);
    assert_eq!(same, "there are two inputs `x.y`");
    // A part of a word, and a word that has parts.
    assert_eq!(refused(&[&[("x", none)], &[("x", none), ("y", none)]], all), apart("x.y", "x"));
    assert_eq!(
        refused(&[&[("x", none), ("y", none)], &[("x", none)]], all),
        "there are two inputs `x`"
    );
    let later = refused(&[&[("x", none)], &[("z", none)], &[("x", none), ("y", none)]], all);
    assert_eq!(later, apart("x.y", "x"));
    // Other sizes, in the record itself and further in.
    let sizes = refused(&[&[("x", &[3]), ("y", none)], &[("x", &[4]), ("z", none)]], all);
    assert_eq!(sizes, apart("x[4].z", "x"));
    let inner = refused(
        &[&[("x", none), ("y", &[2]), ("u", none)], &[("x", none), ("y", none), ("v", none)]],
        all,
    );
    assert_eq!(inner, apart("x.y.v", "x.y"));
    // Another input in between.
    let split =
        refused(&[&[("x", none), ("y", none)], &[("z", none)], &[("x", none), ("w", none)]], all);
    assert_eq!(split, apart("x.w", "x"));
    let owners = |i| if i == 0 { Role::Garbler } else { Role::Evaluator };
    let two = refused(&[&[("x", none), ("y", none)], &[("x", none), ("z", none)]], owners);
    assert_eq!(two, "input `x.z`: all parts of an input have one owner");
    assert_eq!(refused(&[&[("x", none)], &[("y", none)]], owners), "accepted");
    let deep: Vec<(&str, &[u32])> = vec![("x", none); MAX_STEPS];
    assert_eq!(refused(&[&deep], all), "accepted");
    let rule = format!("goes through at most {MAX_STEPS} names and {MAX_SIZES} sizes");
    let deeper: Vec<(&str, &[u32])> = vec![("x", none); MAX_STEPS + 1];
    assert_eq!(refused(&[&deeper], all), format!("`{}` {rule}", ["x"; MAX_STEPS + 1].join(".")));
    let ones = [1u32; MAX_SIZES + 1];
    assert_eq!(refused(&[&[("x", &ones[1..])]], all), "accepted");
    assert_eq!(refused(&[&[("x", &ones)]], all), format!("`x` {rule}"));
    assert_eq!(refused(&[&[("x", &[2, 0])]], all), "`x[2, 0]` is empty");
    let many = refused(&[&[("x", &[1 << 16, 1 << 16])]], all);
    assert_eq!(many, "`x[65536, 65536]` has too many items");
    assert!(refused(&[&[("x", &[1 << 26])]], all).contains("is too large"));
    let dot = "is no name of a port: each dot stands between two names";
    assert_eq!(refused(&[&[("x.y", none)]], all), format!("`x.y` {dot}"));
    assert_eq!(refused(&[&[("x", none), ("", none)]], all), format!("`x.` {dot}"));
    assert!(refused(&[&[("0", none)]], all).starts_with("`0` is no name"));
    assert!(refused(&[&[]], all).starts_with("`` is no name"));
    let long = "n".repeat(200);
    assert!(refused(&[&[(&long, none), (&long, none)]], all).contains("at most 256"));
}

#[test]
fn texts_of_version_2_say_where_they_are_wrong() {
    let cases = [
        ("rows[3].age", "rows[3 .age", "3:14: expected `]`, found `.age`"),
        ("rows[3].age", "rows[].age", "3:12: expected a size, found `]`"),
        ("rows[3].age", "rows[3]age", "3:14: expected `:`, found `age`"),
        (
            "rows[3].age",
            "rows[3]..age",
            "3:7: `rows..age` is no name of a port: each dot stands between two names",
        ),
        ("limit: b fixed.4 b12", "limit: c fixed.4 b12", "6:14: expected a or b, found `c`"),
        (
            "limit: b fixed.4 b12",
            "limit: b fixed.4 2xb12",
            "6:24: expected a word like b32; sizes follow the name: x[100], found `2xb12`",
        ),
        ("result.0: b", "result.0: evaluator", "11:18: expected a, b or both, found `evaluator`"),
        (
            "names[12, 2]",
            "names[12, 3]",
            "12:8: output `result.1.names[12, 3]` has 36 items, not those of 24xb7",
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(SECOND.matches(from).count(), 1, "{from}");
        let error = Module::parse_text(&SECOND.replace(from, to)).unwrap_err().to_string();
        assert_eq!(error, expected, "{from} -> {to}");
    }
    let first = FIRST.replace("rows.name", "rows[1]");
    let error = Module::parse_text(&first).unwrap_err().to_string();
    assert_eq!(error, "4:11: expected `:`, found `[`");
}

/// Names that would take far more memory than their file.
#[test]
fn endless_paths_are_refused_while_they_are_read() {
    let deep = ["a.".repeat(1 << 20), "a[1].".repeat(1 << 20)];
    for name in deep {
        let text = format!("cenote 2\nprogram p \"\"\ninput {name}a: a uint b8\n{{\n}}\n");
        let error = Module::parse_text(&text).unwrap_err();
        assert!(
            error.what.starts_with("expected a name of at most 16 parts"),
            "{:.200}",
            error.what
        );
    }
    let bytes = read(SECOND).to_bytes();
    // The count of steps of the first input, with as many steps behind it.
    let at = bytes.windows(6).position(|part| part == b"\x02\x04rows").unwrap();
    let steps = [&[17u8][..], &[0; 34], &bytes[at + 1..]].concat();
    let error = Module::from_bytes(&[&bytes[..at], &steps[..]].concat()).unwrap_err();
    assert_eq!(error.to_string(), format!("byte {}: a port is named by at most 16 steps", at + 1));
}
