//! Structured programs: files, values, prices, limits, and runs with a peer.

mod common;

use std::path::{Path, PathBuf};

use common::{ADDER, PURCHASES, Said, parties, run, write};
use tempfile::TempDir;

const SALARIES: &str = "cenote 1
program salaries \"a total, and who earns more\"
input x: garbler int 3xb16
input y: evaluator int 3xb16
input rate: evaluator fixed.4 b12
input bonus: garbler bool b1
{
  %4 = add %0, %1
  %5 = sums{width=20, groups=1} %4
  %6 = lts %0, %1
  %7 = sext{width=13} %2
  %8 = sext{width=13} %2
  %9 = add %7, %8
  %10 = not %3
}
output total: both int %5
output less: garbler bool %6
output twice: both fixed.4 %9
output none: evaluator bool %10
";

const INPUTS: &str =
    "--input x=1200,-3,0x10 --input bonus=true --input rate=-1.5 --input y=-1,-2,3";

fn salaries(dir: &TempDir) -> PathBuf {
    write(dir.path(), "salaries.any", SALARIES)
}

fn at(dir: &TempDir, name: &str) -> String {
    dir.path().join(name).display().to_string()
}

#[track_caller]
fn told(said: &Said) {
    let values = &said.json["values"];
    assert_eq!(values["total"], 1213, "{said:?}");
    assert_eq!(values["less"], serde_json::json!([false, true, false]), "{said:?}");
    assert_eq!(values["twice"], -3.0, "{said:?}");
    assert_eq!(values["none"], false, "{said:?}");
}

#[test]
fn both_forms_hold_the_same() {
    let dir = TempDir::new().expect("a directory");
    let (text, binary) = (salaries(&dir), at(&dir, "binary.txt"));
    let built = run(&format!("program build {} -o {binary}", text.display())).json;
    assert_eq!(built["form"], "binary");
    let [one, two] = [text.display().to_string(), binary.clone()].map(|file| {
        let info = run(&format!("program info {file}")).json;
        let shown = run(&format!("program show {file}")).json["text"].clone();
        told(&run(&format!("program eval {file} {INPUTS}")));
        (info["digest"].clone(), info["stats"].clone(), info["inputs"].clone(), shown)
    });
    assert_eq!(one, two);
    assert_eq!(one.0, built["digest"]);
    assert_eq!(one.2[2]["kind"], "fixed.4");
    assert_eq!(one.3, SALARIES, "the text is the canonical one");
    // The content tells the form, not the name; and nothing is written over unasked.
    let back = run(&format!("program build {binary} -o {binary}"));
    assert!(back.error(2).contains("--force"));
    let back = run(&format!("program build {binary} -o {binary} --force"));
    assert_eq!((&back.json["form"], &back.json["digest"]), (&"text".into(), &one.0));
    assert_eq!(std::fs::read_to_string(&binary).expect("it is there"), SALARIES);
}

const SHOP: &str = "cenote 2
program shop \"records, a tuple and a matrix\"
input rows[3].cents: a uint b8
input rows[3].tags[2]: a bool b1
input limit: b int b8
{
  %3 = not %0
}
output result.0: both int %2
output result.1.cents[3]: both uint %3
output result.1.tags[3, 2]: a bool %1
output one[1]: b int %2
";

/// Values of records and arrays have their structure; each part is given and shown by its own name.
#[test]
fn records_keep_their_structure() {
    let dir = TempDir::new().expect("a directory");
    let file = write(dir.path(), "shop", SHOP).display().to_string();
    let info = run(&format!("program info {file}")).json;
    assert_eq!(info["version"], 2);
    let port = &info["inputs"][1];
    assert_eq!((&port["name"], &port["path"]), (&"rows.tags".into(), &"rows[3].tags[2]".into()));
    assert_eq!((&port["owner"], &port["shape"]), (&"a".into(), &"6xb1".into()));
    assert_eq!(info["outputs"][3]["receiver"], "b");
    let own = "--input rows.cents=1,2,255 --input rows.tags=110100";
    let values = run(&format!("program eval {file} {own} --input limit=-5")).json["values"].clone();
    let tags = [[true, true], [false, true], [false, false]];
    let rows = serde_json::json!({ "cents": [254, 253, 0], "tags": tags });
    assert_eq!(values, serde_json::json!({ "result": [-5, rows], "one": [-5] }));
    // As JSON: what was shown, rows, or a file with either; and parts by their own names.
    let columns = "{\"cents\":[1,2,255],\"tags\":[[true,true],[false,true],[false,false]]}";
    let rows = "[{\"cents\":1,\"tags\":[1,true]},{\"cents\":\"0x2\",\"tags\":\"01\"},{\"cents\":255,\"tags\":[0,0]}]";
    write(dir.path(), "rows.json", rows);
    let parts = "--input rows.tags=[[1,1],[0,1],\"00\"] --input rows.cents=[1,2,255]";
    let at_file = format!("@{}", at(&dir, "rows.json"));
    for json in [columns, rows, &at_file] {
        let said = run(&format!("program eval {file} --input rows={json} --input limit=-5"));
        assert_eq!(said.json["values"], values, "{json}: {said:?}");
    }
    let said = run(&format!("program eval {file} {parts} --input limit=-5"));
    assert_eq!(said.json["values"], values, "{said:?}");
    for (from, to, told) in [
        ("[1,2,255]", "[1,2]", "`rows.cents`: 3 items are needed, 2 were given"),
        ("[1,2,255]", "[1,2,256]", "`rows.cents`, row 3 (the first is row 1): out of range"),
        ("[1,2,255]", "[1,2,[3]]", "`rows.cents`: the JSON has another structure"),
        ("[1,2,255]", "[1,\"2,3\",4]", "`rows.cents`: the JSON has another structure"),
        ("[1,2,255]", "[1,2,2.5]", "`rows.cents`, row 3"),
        ("cents", "price", "`rows.cents`: the JSON has no `cents`"),
        ("]}", "]", "`rows`: no JSON: "),
    ] {
        let json = columns.replace(from, to);
        let said = run(&format!("program eval {file} --input rows={json} --input limit=-5"));
        assert!(said.error(2).contains(told), "{json}: {said:?}");
    }
    let line = format!("{file} --insecure-plaintext --backend plain");
    let (one, two) = parties(&format!("{line} {own}"), &format!("{line} --input limit=-5"));
    for (said, tags) in [(one, serde_json::json!(tags)), (two, serde_json::Value::Null)] {
        assert_eq!(said.json["values"]["result"][1]["tags"], tags, "{said:?}");
    }
}

#[test]
fn values_are_refused_by_name_row_and_range() {
    let dir = TempDir::new().expect("a directory");
    let file = salaries(&dir);
    let column = write(dir.path(), "column.txt", "1200\n40000\n16\n").display().to_string();
    for (wrong, said) in [
        (
            INPUTS.replace("x=1200", "x=40000"),
            "`x`, row 1 (the first is row 1): out of range: int b16",
        ),
        (
            INPUTS.replace("x=1200,-3,0x10", &format!("x=@{column}")),
            "column.txt:2: column 1 (`x`): out of range: int b16",
        ),
        (INPUTS.replace(",0x10", ""), "`x`: 3 values are needed, 2 were given"),
        (INPUTS.replace("rate=-1.5", "rate=much"), "`rate`: no fixed.4 b12"),
        (INPUTS.replace("y=", "z="), "no input `z` to give; inputs: x, y, rate, bonus"),
        (
            INPUTS.replace("--input bonus=true", ""),
            "takes 4 values, 3 were given; add --input bonus=..",
        ),
        (format!("{INPUTS} --input x=1,2,3"), "given twice"),
        (format!("{INPUTS} --input 1"), "takes 4 values, 5 were given; leave the last ones out"),
        (
            INPUTS.replace("x=1200,-3,0x10", "12,3"),
            "position 3; a value without a name is one hexadecimal number: write --input x=VALUE",
        ),
    ] {
        let got = run(&format!("program eval {} {wrong}", file.display()));
        assert!(got.error(2).contains(said), "{wrong}: {got:?}");
    }
    let good = INPUTS.replace("x=1200,-3,0x10", &format!("x=@{column}"));
    for column in ["1200\n-3\n16\n", "\u{feff}x\r\n1.2e3\r\n-3.0\r\n\"16\"\r\n\r\n", "1200,-3,0x10"]
    {
        write(dir.path(), "column.txt", column);
        told(&run(&format!("program eval {} {good}", file.display())));
    }
    write(dir.path(), "column.txt", "x\n1200\n-3\n");
    let got = run(&format!("program eval {} {good}", file.display()));
    assert!(got.error(2).contains("column.txt: `x` takes 3 rows, the file has 2"), "{got:?}");
}

#[test]
fn a_table_is_one_input() {
    let dir = TempDir::new().expect("a directory");
    let program = write(dir.path(), "spent.txt", PURCHASES).display().to_string();
    let table = |text: &str| {
        let file = write(dir.path(), "rows.csv", text).display().to_string();
        run(&format!("run {program} --backend plain --input rows=@{file} --input who=7"))
    };
    let said = table("amount,customer\r\n1.5,7.0\r\n3e-05,8\r\n-0.25,7\r\n");
    assert_eq!(said.json["values"]["spent"], 1.25, "{said:?}");
    for (text, wrong) in [
        ("amount,customer\n1,7\n1,70000\n1,7\n", ":3: column 2 (`customer`): out of range"),
        ("amount\n1\n1\n1\n", ":1: no column `customer`; the program takes customer, amount"),
        ("7,1\n7,1\n7\n", ":3: 1 cells, line 1 has 2"),
        ("7,1\n7,1\n", ": `rows.customer` takes 3 rows, the file has 2"),
    ] {
        let said = table(text);
        assert!(said.error(2).contains(&format!("rows.csv{wrong}")), "{said:?}");
    }
}

#[test]
fn files_that_are_no_programs_are_bad_input_with_their_place() {
    let dir = TempDir::new().expect("a directory");
    let wrong = SALARIES.replace("add %0, %1", "add %0, %2");
    let wrong = write(dir.path(), "wrong.txt", &wrong).display().to_string();
    for command in ["program info", "program show", "run"] {
        let said = run(&format!("{command} {wrong}"));
        assert!(said.error(2).contains(&format!("{wrong}:8:")), "{said:?}");
    }
    let later = SALARIES.replace("cenote 1", "cenote 5");
    let later = write(dir.path(), "later.txt", &later).display().to_string();
    assert!(run(&format!("program info {later}")).error(2).contains("version 1, 2, 3 or 4"));
    let cut = dir.path().join("cut");
    std::fs::write(&cut, b"\x89cenote\x01\x05").expect("writable");
    assert!(run(&format!("program info {}", cut.display())).error(2).contains("byte "));
    let adder = write(dir.path(), "adder.txt", ADDER).display().to_string();
    assert!(run(&format!("program info {adder}")).error(2).contains("cenote circuit"));
    let directory = format!("program info {}", dir.path().display());
    assert!(run(&directory).error(2).contains("this is a directory"));
    let source = write(dir.path(), "f.garble.rs", "pub fn main(x: u8, y: u8) -> u8 { x ^ y }");
    for command in ["program cost", "program info", "run"] {
        let said = run(&format!("{command} {}", source.display()));
        assert!(said.error(2).contains("compile it first: cenote program build"), "{said:?}");
    }
}

#[test]
fn circuits_become_programs_and_programs_circuits() {
    let dir = TempDir::new().expect("a directory");
    let adder = write(dir.path(), "adder.txt", ADDER).display().to_string();
    let (program, flat) = (at(&dir, "adder.cenote"), at(&dir, "flat.txt"));
    run(&format!("program from-circuit {adder} -o {program} --owners e,g --reveal-to garbler"));
    let info = run(&format!("program info {program}")).json;
    assert_eq!((&info["form"], &info["stats"]["ands"]), (&"binary".into(), &3.into()));
    assert_eq!(info["inputs"][0]["owner"], "b");
    assert_eq!(info["outputs"][1]["receiver"], "a");
    let flattened = run(&format!("program flatten {program} -o {flat}"));
    assert_eq!(flattened.json["and"], 3, "{flattened:?}");
    let values = "--input 3 --input 1";
    for line in [
        format!("circuit eval {adder}"),
        format!("circuit eval {flat}"),
        format!("program eval {program}"),
    ] {
        assert_eq!(run(&format!("{line} {values}")).outputs(), [Some("4"), Some("1")], "{line}");
    }
    // Owners and receivers survive in the ports file.
    let named = run(&format!("run {flat} --backend plain --input garbler=3 --input evaluator=1"));
    assert!(named.error(2).contains("the other party"), "{named:?}");
    let reactive = SALARIES.replace("%10 = not %3", "%10 = reveal %3");
    let reactive = write(dir.path(), "reactive.txt", &reactive).display().to_string();
    let said = run(&format!("program flatten {reactive} -o {}", at(&dir, "no.txt")));
    assert!(said.error(2).contains("opens values"));
}

#[test]
fn every_backend_runs_a_program_on_this_machine() {
    let dir = TempDir::new().expect("a directory");
    let file = salaries(&dir);
    for backend in ["plain", "yao", "wrk", "jimu"] {
        let said = run(&format!("run {} --backend {backend} {INPUTS}", file.display()));
        told(&said);
    }
}

#[test]
fn two_commands_run_a_program_and_get_what_is_theirs() {
    let dir = TempDir::new().expect("a directory");
    let text = salaries(&dir).display().to_string();
    let binary = at(&dir, "program");
    run(&format!("program build {text} -o {binary}"));
    let line = "--insecure-plaintext --backend yao";
    // One has the text, the other the binary form: the digest is the same.
    let (garbler, evaluator) = parties(
        &format!("{text} {line} --input x=1200,-3,16 --input bonus=1"),
        &format!("{binary} {line} --input y=-1,-2,3 --input fe8"),
    );
    assert_eq!(garbler.json["values"]["total"], 1213, "{garbler:?}");
    assert_eq!(evaluator.json["values"]["twice"], -3.0, "{evaluator:?}");
    assert!(garbler.json["values"]["none"].is_null() && evaluator.json["values"]["less"].is_null());
    let other = SALARIES.replace("lts %0, %1", "les %0, %1");
    let other = write(dir.path(), "other.txt", &other).display().to_string();
    let (garbler, evaluator) = parties(
        &format!("{text} {line} --input x=1,2,3 --input bonus=1"),
        &format!("{other} {line} --input y=-1,-2,3 --input rate=0"),
    );
    for said in [garbler, evaluator] {
        assert!(said.error(3).contains("program info"), "{said:?}");
    }
}

/// Multiplies often enough to be above any small limit.
const LONG: &str = "cenote 1
program long \"multiplies\"
input x: garbler uint b64
input y: evaluator uint b64
{
  %2 = for 1000000 (%0) { |%3|
    %4 = mul %3, %1
    yield %4
  }
}
output z: both uint %2
";

#[test]
fn what_is_above_a_limit_is_refused_on_both_sides_before_anything_runs() {
    let dir = TempDir::new().expect("a directory");
    let file = write(dir.path(), "long.txt", LONG).display().to_string();
    let side = |name: &str, limit: &str| {
        format!("{file} --insecure-plaintext --input {name}=1 --backend yao {limit}")
    };
    let limits = write(dir.path(), "limits.toml", "moved_bits = 1000\n").display().to_string();
    for (limit, named) in [
        ("--max-ands 1000".to_owned(), "ANDs predicted"),
        ("--max-bytes 1000".to_owned(), "bytes on the wire predicted"),
        ("--max-seconds 0.001".to_owned(), "seconds predicted"),
        ("--max-memory 1000".to_owned(), "bytes of memory predicted"),
        (format!("--limits {limits}"), "bits moved predicted"),
    ] {
        let (garbler, evaluator) = parties(&side("x", &limit), &side("y", ""));
        let (own, peers) = (garbler.error(3), evaluator.error(3));
        assert!(own.contains(named) && own.contains("the limit of"), "{own}");
        assert!(peers.contains(named) && peers.contains("limits of the other side"), "{peers}");
        assert!(!peers.contains("1000"), "the limit is its owner's business: {peers}");
    }
    let said = run(&format!("run {file} --backend yao --input x=1 --input y=1 --max-ands 7"));
    assert!(said.error(3).contains("limit of 7"), "{said:?}");
    // What nobody could run is refused without being asked.
    let endless = LONG.replace("1000000", "1000000000").replace("b64", "b4096");
    let endless = write(dir.path(), "endless.txt", &endless).display().to_string();
    let said = run(&format!("run {endless} --backend yao --input x=1 --input y=1"));
    assert!(said.error(3).contains("limit"), "{said:?}");
    let typo = write(dir.path(), "typo.toml", "\nand = 1\n").display().to_string();
    let said = run(&format!("run {file} --input x=1 --input y=1 --limits {typo}"));
    assert!(said.error(2).contains("typo.toml:2:1"), "{said:?}");
}

#[test]
fn what_would_not_run_is_not_evaluated_or_checked_either() {
    let dir = TempDir::new().expect("a directory");
    let nested = "cenote 1\nprogram nested \"two loops\"\ninput x: garbler uint b8\n{\n\
                  %z = for 1073741824 (%0) { |%a|\n%c = for 1073741824 (%a) { |%b|\n%d = add %b, %0\nyield %d\n}\n\
                  yield %c\n}\n}\noutput z: both uint %z\n";
    let nested = write(dir.path(), "nested.txt", nested).display().to_string();
    let eval = format!("program eval {nested} --input x=1");
    let check = format!("program cost {nested} --backend yao --check");
    for line in [&eval, &check] {
        let said = run(line).error(3).to_owned();
        assert!(said.contains("ANDs predicted") && said.contains("limit"), "{said}");
    }
    run(&format!("program cost {nested} --backend yao"));
    // Options lift and lower limits, and a file does.
    let said = run(&format!("{eval} --max-ands {}", u64::MAX)).error(3).to_owned();
    assert!(!said.contains("ANDs"), "{said}");
    let file = salaries(&dir).display().to_string();
    let limits = write(dir.path(), "limits.toml", "statements = 2\n").display().to_string();
    for (limit, named) in
        [("--max-ands 3".to_owned(), "ANDs"), (format!("--limits {limits}"), "statements")]
    {
        for line in [
            format!("program eval {file} {INPUTS} {limit}"),
            format!("program cost {file} --backend plain --check {limit}"),
        ] {
            let said = run(&line).error(3).to_owned();
            assert!(said.contains(named) && said.contains("limit of"), "{line}: {said}");
        }
    }
}

/// How far a prediction is from what was measured.
fn off(result: &serde_json::Value, field: &str, party: &str) -> f64 {
    let number = |value: &serde_json::Value| value[field][party].as_f64().expect("a number");
    (number(result) / number(&result["measured"]) - 1.0).abs()
}

/// A memory behind a permutation: what the prediction says of it is among the counts, and a run takes as much.
#[test]
fn costs_say_how_tables_are_kept() {
    let text = "cenote 2\nprogram memory \"\"\ninput at: a uint b8\ninput put: b uint b1\n{\n\
        %zeros = const 256xb256 all 0x0\n%new = zext{width=256} %1\n\
        %table = store %zeros, %0, %new, %1\n%row = lookup %table, %0\n\
        %bit = slice{lo=0, width=1} %row\n}\noutput bit: both bool %bit\n";
    let dir = TempDir::new().expect("a directory");
    let file = write(dir.path(), "memory.txt", text).display().to_string();
    let said = run(&format!("program cost {file} --backend yao --check")).json;
    let [kept] = said["memories"].as_array().expect("a list").as_slice() else { panic!("{said}") };
    let names = ["rows", "bits", "trees", "levels", "reads", "writes", "updates"];
    assert_eq!(names.map(|name| kept[name].clone()), [256, 256, 0, 1, 1, 1, 0]);
    assert_eq!((&kept["kept"], &kept["memory_from"]["zeros"]), (&"square root".into(), &1.into()));
    // Given rows have to be permuted as well.
    assert!(kept["memory_from"]["given"].as_u64().is_some_and(|from| from > 2), "{kept}");
    let number = |value: &serde_json::Value| value.as_u64().expect("a number");
    let accesses = number(&said["counts"]["ands"]) - number(&kept["start_ands"]);
    assert_eq!(number(&kept["ands_per_access"]), accesses / 2);
    assert!(off(&said["backends"][0], "bytes_sent", "garbler") < 0.1, "{said}");
}

#[test]
fn costs_are_predicted_for_programs_and_circuits_and_checked_by_a_run() {
    let dir = TempDir::new().expect("a directory");
    let file = salaries(&dir).display().to_string();
    let adder = write(dir.path(), "adder.txt", ADDER).display().to_string();
    for file in [&file, &adder] {
        let said =
            run(&format!("program cost {file} --link 1,1000 --backend yao,wrk --check")).json;
        assert_eq!(said["link"]["rtt_ms"], 1.0);
        for result in said["backends"].as_array().expect("a list") {
            for party in ["garbler", "evaluator"] {
                assert!(off(result, "bytes_sent", party) < 0.1, "{result}");
            }
            assert!(result["seconds"].as_f64().expect("a number") > 0.0);
        }
    }
    let all = run(&format!("program cost {file} --link wan")).json;
    let names = all["backends"].as_array().expect("a list").iter().map(|r| r["backend"].clone());
    assert_eq!(names.collect::<Vec<_>>(), ["yao", "wrk", "jimu"]);
    assert!(run(&format!("program cost {file} --link far")).error(2).contains("lan, wan"));
    let missing = Path::new("/nonexistent/machine.json").display().to_string();
    run(&format!("program cost {file} --machine {missing}")).error(2);
}

#[test]
fn circuits_with_latches_become_loops() {
    let dir = TempDir::new().expect("a directory");
    let text = ".inputs x\n.outputs q\n.names x q n\n10 1\n01 1\n.latch n q 1\n";
    let file = write(dir.path(), "parity.blif", text).display().to_string();
    let out = at(&dir, "parity.txt");
    let said = run(&format!("program from-circuit {file} -o {out}"));
    assert!(said.error(2).contains("--cycles N: `program from-circuit` makes a loop"), "{said:?}");
    for cycles in ["0", "67108865", "99999999999"] {
        let said = run(&format!("program from-circuit {file} --cycles {cycles} -o {out}"));
        assert!(said.error(2).contains("this circuit can run for 1 to 67108864"), "{said:?}");
    }
    run(&format!("program from-circuit {file} --cycles 4 --every -o {out}"));
    let program = std::fs::read_to_string(&out).expect("written");
    assert!(program.contains("for 4 ("), "{program}");
    let said = run(&format!("program eval {out} --input 5"));
    // Starts at 1 and flips after cycles 0 and 2.
    assert_eq!(said.outputs(), [Some("9")]);
}

#[test]
fn garble_cannot_exhaust_the_command() {
    let dir = TempDir::new().expect("a directory");
    let build = |source: &str| {
        let file = write(dir.path(), "a.garble.rs", source).display().to_string();
        let said = run(&format!("program build {file} -o {} --force", at(&dir, "a.cenote")));
        (file, said)
    };
    let (_, said) = build("pub fn main(x: u8, y: u8) -> u8 { x ^ y }");
    assert_eq!(said.code, 0, "{said:?}");
    let said = run(&format!("program eval {} --input x=5 --input y=3", at(&dir, "a.cenote")));
    assert_eq!(said.json["values"]["result"], 6, "{said:?}");
    for body in
        ["let mut s = x; for i in 0u32..1000000000u32 { s = s ^ y; } s", "[x; 10000000000][0]"]
    {
        let (file, said) = build(&format!("pub fn main(x: u8, y: u8) -> u8 {{ {body} }}"));
        let died =
            format!("{file}: Garble's compiler died, as it does when it needs more than 4 GiB");
        assert!(said.error(2).starts_with(&died), "{said:?}");
    }
    let nested = format!("pub fn main(x: u8, y: u8) -> u8 {{ {}x", "(".repeat(480_000));
    let (file, said) = build(&nested);
    assert!(said.error(2).starts_with(&format!("{file}:1:")), "{said:?}");
    assert!(said.error(2).contains("too much stands within each other"), "{said:?}");
    std::fs::write(dir.path().join("a.garble.rs"), b"// \xc3\xa9\n x \xff").expect("writable");
    let said = run(&format!("program build {file} -o {}", at(&dir, "b")));
    assert!(said.error(2).starts_with(&format!("{file}:2:4: the text is not UTF-8")), "{said:?}");
}

#[test]
fn optimised_programs_are_reported_pass_by_pass() {
    let dir = TempDir::new().unwrap();
    let text = "cenote 1
program majority \"\"
input x: garbler bits b16
input y: evaluator bits b16
input z: evaluator bits b16
{
  %3 = and %0, %1
  %4 = and %0, %2
  %5 = and %1, %2
  %6 = or %3, %4
  %7 = or %6, %5
}
output most: both bits %7
";
    let (file, out) = (write(dir.path(), "majority.txt", text), at(&dir, "out.cenote"));
    let command = format!("program optimise {} -o {out} --depth --report", file.display());
    let said = run(&command).json;
    assert_eq!((&said["ands_before"], &said["ands_after"]), (&80.into(), &16.into()), "{said}");
    let passes = said["report"].as_array().unwrap();
    let names: Vec<_> = passes.iter().map(|pass| pass["name"].as_str().unwrap()).collect();
    let all = "start words recorded inverters constants identities redundant dead ands depth end";
    assert_eq!(names.join(" "), all);
    assert_eq!((&passes[0]["ands_left"], &passes[10]["ands_left"]), (&1.0.into(), &0.2.into()));
    assert_eq!(said["functions"][0]["times"], 1);
    for file in [file.display().to_string(), out] {
        let said =
            run(&format!("program eval {file} --input x=0xff00 --input y=0xf0f0 --input z=0xcccc"));
        assert!(said.json.to_string().contains("fcc0"), "{said:?}");
    }
}
