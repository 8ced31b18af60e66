//! Commands without a peer.

mod common;

use common::{ADDER, cenote, run, write};
use std::io::Write as _;
use tempfile::TempDir;

#[test]
fn params_are_those_of_the_paper() {
    // POOL table 3 and section 7.3 (jimu) and table 6 (wrk).
    for (pool, bucket, rate) in [(10_000, 6, 0.122), (100_000, 5, 0.055), (1_000_000, 4, 0.055)] {
        let said = run(&format!("params --backend jimu --pool {pool} --epsilon-log2 -41"));
        assert_eq!(said.json["bucket"], bucket);
        let found = said.json["check_rate"].as_f64().expect("a number");
        assert!((found - rate).abs() < 0.0006, "{found}");
        let cost = said.json["gates_per_and"].as_f64().expect("a number");
        assert!((cost - f64::from(bucket) / (1.0 - found)).abs() < 1e-9);
    }
    for (pool, bucket) in [(7673, 4), (7672, 5), (1073, 5), (1072, 6)] {
        let said = run(&format!("params --backend wrk --pool {pool} --epsilon-log2 -40"));
        assert_eq!((&said.json["bucket"], &said.json["check_rate"]), (&bucket.into(), &1.0.into()));
    }
}

#[test]
fn a_pool_that_is_too_small_is_bad_input() {
    for backend in ["jimu", "wrk"] {
        let said = run(&format!("params --backend {backend} --pool 10 --epsilon-log2 -41"));
        assert!(said.error(2).contains("needs at least"));
    }
}

#[test]
fn wrong_usage_is_bad_input_with_an_object() {
    assert!(run("params --backend wrk --pool many").error(2).contains("--pool"));
    let missing = run("party x.txt");
    let missing = missing.error(2);
    for name in ["--role", "--listen", "--identity"] {
        assert!(missing.contains(name), "{missing}");
    }
    let values = run("params --backend nosuch --pool 1");
    assert!(values.error(2).contains("possible values: jimu, wrk"), "{values:?}");
    // Processes that commands start are no commands.
    for line in ["", "worke", "limite", "help"] {
        let said = run(line);
        for text in [&said.stdout, &said.stderr] {
            assert!(!text.contains("worker\n") && !text.contains("'worker'\n"), "{said:?}");
            assert!(!text.contains("worker,") && !text.contains("'limited'"), "{said:?}");
        }
    }
    let said = run("params --backend wrk --pool 480000 --epsilon-log2 40");
    assert!(said.error(2).contains("use -40"), "{said:?}");
    let said = run("--help");
    assert_eq!(said.code, 0);
    assert!(said.stdout.contains("Exit codes"));
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure_with_a_message() {
    for line in ["params --backend wrk --pool 480000", "--help"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let said = cenote(line.split(' ')).stdout(full).output().expect("the command starts");
        assert_eq!(said.status.code(), Some(1), "{said:?}");
        assert!(String::from_utf8_lossy(&said.stderr).contains("cannot write the result"));
    }
}

#[test]
fn circuits_are_described_evaluated_and_converted() {
    let dir = TempDir::new().expect("a directory");
    let file = write(dir.path(), "adder.txt", ADDER);
    let file = file.display();
    let info = run(&format!("circuit info {file}")).json;
    assert_eq!((&info["and"], &info["xor"], &info["wires"]), (&3.into(), &4.into(), &13.into()));
    assert_eq!(info["inputs"][1]["bits"], 2);
    for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
        let said = run(&format!("circuit eval {file} --input {a:x} --input 0x0{b:x}"));
        let (sum, odd) = (format!("{:x}", a + b), format!("{:x}", a & b & 1));
        assert_eq!(said.outputs(), [Some(sum.as_str()), Some(odd.as_str())]);
    }
    // The old format has one output, and knows no EQW.
    let refused = run(&format!("circuit convert {file}"));
    assert!(refused.error(2).contains("Bristol Fashion"));
    let one = write(dir.path(), "one.txt", "2 6\n2 2 2\n1 2\n\n2 1 0 2 4 AND\n2 1 1 3 5 AND\n");
    let old = dir.path().join("old.txt");
    let said = run(&format!("circuit convert {} -o {}", one.display(), old.display()));
    assert_eq!((said.code, &said.json["format"]), (0, &"old".into()));
    let said = run(&format!("circuit eval {} --input 3 --input 2", old.display()));
    assert_eq!(said.outputs(), [Some("2")]);
    let back = run(&format!("circuit convert {}", old.display()));
    assert_eq!(back.json["format"], "fashion");
    // Nothing is written over unasked, and no old ports file applies to a new circuit.
    let again = format!("circuit convert {} -o {}", one.display(), old.display());
    assert!(run(&again).error(2).contains("old.txt: exists; remove it"));
    let stale = write(dir.path(), "new.ports.toml", "[[input]]\nname = \"a\"\n");
    let new = format!("circuit convert {} -o {}/new.txt", one.display(), dir.path().display());
    assert!(run(&new).error(2).contains("new.ports.toml: exists and would apply; remove it"));
    assert!(!dir.path().join("new.txt").exists());
    assert_eq!(
        (run(&format!("{again} --force")).code, run(&format!("{new} --force")).code),
        (0, 0)
    );
    assert!(!stale.exists());
}

#[test]
fn circuits_are_optimised() {
    let dir = TempDir::new().expect("a directory");
    // The carry of a full adder with three ANDs, and a gate that nobody reads.
    let carry = "2 1 0 1 3 AND\n2 1 0 2 4 AND\n2 1 1 2 5 AND\n2 1 3 4 6 XOR\n2 1 0 2 7 XOR\n\
                 2 1 6 5 8 XOR\n";
    let file = write(dir.path(), "carry.txt", &format!("6 9\n1 3\n1 1\n\n{carry}"));
    let out = dir.path().join("out.txt");
    let line = format!("circuit optimise {} -o {}", file.display(), out.display());
    let said = run(&format!("{line} --report"));
    assert_eq!((&said.json["ands"], &said.json["ands_before"]), (&1.into(), &3.into()), "{said:?}");
    let passes = said.json["report"].as_array().expect("a list");
    assert_eq!((&passes[0]["name"], &passes[0]["gates"]), (&"start".into(), &6.into()));
    assert_eq!(passes.last().map(|pass| &pass["gates"]), Some(&said.json["gates"]));
    for x in 0..8u32 {
        let said = run(&format!("circuit eval {} --input {x:x}", out.display()));
        assert_eq!(said.outputs(), [Some(if x.count_ones() > 1 { "1" } else { "0" })]);
    }
    assert!(run(&line).error(2).contains("out.txt: exists; remove it"));
    let own = format!("circuit optimise {0} -o {0} --force", file.display());
    assert!(run(&own).error(2).contains("the circuit itself"));
    // A ports file goes along.
    write(dir.path(), "carry.ports.toml", "version = 1\n[[input]]\nname = \"abc\"\n");
    assert_eq!(run(&format!("{line} --force")).code, 0);
    assert_eq!(run(&format!("circuit info {}", out.display())).json["inputs"][0]["name"], "abc");
    let said = run(&format!("circuit convert {} --optimise --to fashion", file.display()));
    assert_eq!(said.json["gates"], passes.last().expect("a pass")["gates"]);
    let broken = write(dir.path(), "broken.txt", &format!("7 9\n1 3\n1 1\n\n{carry}"));
    let line = format!("circuit optimise {} -o {}/x.txt", broken.display(), dir.path().display());
    assert!(run(&line).error(2).contains("broken.txt:"));
    assert!(!dir.path().join("x.txt").exists());
}

/// The carry of a full adder with too many ANDs, in formats that are read as a whole.
const CARRIES: [(&str, &str); 4] = [
    (
        "carry.blif",
        ".model carry\n.inputs a b c\n.outputs z\n.names x y w z\n1-- 1\n-1- 1\n--1 1\n\
         .names a b x\n11 1\n.names a c y\n11 1\n.names b c w\n11 1\n.end\n",
    ),
    (
        "carry.aag",
        "aag 8 3 0 1 5\n2\n4\n6\n17\n8 2 4\n10 2 6\n12 4 6\n14 9 11\n16 14 13\n\
         i0 a\ni1 b\ni2 c\no0 z\n",
    ),
    ("carry.aig", "aig 8 3 0 1 5\n17\n\x04\x02\x04\x04\x06\x02\x03\x02\x02\x01"),
    (
        "carry.txt",
        "0 input\n1 input\n2 input\n3 gate arity 2 table [ 0 0 0 1 ] inputs [ 0 1 ]\n\
         4 gate arity 2 table [ 0 0 0 1 ] inputs [ 0 2 ]\n5 gate arity 2 table [ 0 0 0 1 ] inputs [ 1 2 ]\n\
         6 output gate arity 3 table [ 0 1 1 1 1 1 1 1 ] inputs [ 3 4 5 ]\n",
    ),
];

#[test]
fn circuits_in_all_formats_are_optimised() {
    let dir = TempDir::new().expect("a directory");
    for (name, text) in CARRIES {
        let file = write(dir.path(), name, text);
        let evaluated = |file: &std::path::Path, x: u32| {
            let ports = run(&format!("circuit info {}", file.display()));
            let ports = ports.json["inputs"].as_array().expect("ports").len() as u32;
            let inputs: String = match ports {
                1 => format!(" --input {x:x}"),
                _ => (0..ports).map(|i| format!(" --input {}", x >> i & 1)).collect(),
            };
            let said = run(&format!("circuit eval {}{inputs}", file.display()));
            said.outputs().first().copied().flatten().map(str::to_owned)
        };
        for to in ["", "fashion", "blif", "aag", "aig"] {
            let out = dir.path().join(format!("out-{name}.{to}"));
            let asked = if to.is_empty() { String::new() } else { format!("--to {to}") };
            let line = format!("circuit optimise {} -o {} {asked}", file.display(), out.display());
            let said = run(&format!("{line} --report --force"));
            assert_eq!(said.code, 0, "{name} {to}: {said:?}");
            assert_eq!(said.json["ands"], 1, "{name} {to}: {said:?}");
            assert!(said.json["ands_before"].as_u64() > Some(2), "{name} {to}: {said:?}");
            assert_eq!(said.json["report"][0]["name"], "start");
            let info = run(&format!("circuit info {}", out.display()));
            let ands = if to.starts_with("ai") { 4 } else { 1 };
            assert!(info.json["and"].as_u64() <= Some(ands), "{name} {to}: {info:?}");
            for x in 0..8u32 {
                let expected = if x.count_ones() > 1 { "1" } else { "0" };
                assert_eq!(evaluated(&out, x).as_deref(), Some(expected), "{name} {to}");
            }
        }
    }
    // From a Bristol format to another one.
    let file = write(dir.path(), "and.txt", "2 4\n1 1 1\n\n2 1 0 1 2 AND\n2 1 2 0 3 AND\n");
    let out = dir.path().join("and.blif");
    let said = run(&format!("circuit optimise {} -o {} --to blif", file.display(), out.display()));
    assert_eq!(
        (&said.json["ands"], &said.json["gates_before"]),
        (&1.into(), &2.into()),
        "{said:?}"
    );
    // What is read as a whole has a largest size, and what is wrong a place.
    let huge = write(dir.path(), "huge.blif", ".model huge\n");
    std::fs::File::options()
        .write(true)
        .open(&huge)
        .and_then(|f| f.set_len(1 << 31))
        .expect("sparse");
    let out = dir.path().join("huge.txt");
    let said = run(&format!("circuit optimise {} -o {}", huge.display(), out.display()));
    assert!(said.error(2).contains("more than 1073741824 bytes; only"), "{said:?}");
    let broken = write(
        dir.path(),
        "broken.blif",
        ".model b\n.inputs a\n.outputs z\n.names q z\n1 1\n.end\n",
    );
    let said = run(&format!("circuit optimise {} -o {}", broken.display(), out.display()));
    assert!(said.error(2).contains("broken.blif:"), "{said:?}");
    assert!(!out.exists());
}

#[test]
fn the_public_benchmarks_are_optimised() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/epfl");
    let dir = TempDir::new().expect("a directory");
    for name in ["adder", "max"].iter().filter(|_| folder.exists()) {
        let file = |extension: &str| folder.join(name).with_extension(extension);
        let mut ands = Vec::new();
        for extension in ["aig", "blif"] {
            let out = dir.path().join(format!("{name}-{extension}.txt"));
            let file = file(extension);
            let said = run(&format!("circuit optimise {} -o {}", file.display(), out.display()));
            let [before, after] = ["ands_before", "ands"].map(|name| said.json[name].as_u64());
            assert!(after < before && after.is_some(), "{name}.{extension}: {said:?}");
            ands.push(after);
        }
        if *name == "adder" {
            assert_eq!(ands, [Some(128), Some(510)]);
        }
    }
}

#[test]
fn the_optimiser_is_measured_on_a_circuit_that_is_made_or_given() {
    let said = run("bench optimise --made 50000 --window 20000 --repeat 2").json;
    let number = |name: &str| said[name].as_u64().expect("a number");
    assert!(number("gates") >= 50_000 && number("non_xor") > 10_000, "{said}");
    assert!(2 * number("non_xor_after") < number("non_xor"), "{said}");
    assert!(number("gates_after") < number("gates") && number("peak_rss_bytes") > 0);
    assert!(said["compile_s"].as_f64() > Some(0.0) && said["gates_per_s"].as_f64() > Some(0.0));
    assert_eq!(said["verified"], true);
    let dir = TempDir::new().expect("a directory");
    let file = write(dir.path(), "adder.txt", ADDER);
    let said = run(&format!("bench optimise {}", file.display())).json;
    assert_eq!((&said["gates"], &said["non_xor"]), (&9.into(), &3.into()));
    assert!(run("bench optimise").error(2).contains("--made"));
}

#[test]
fn circuits_of_every_format_are_read_and_written() {
    let dir = TempDir::new().expect("a directory");
    let source = write(dir.path(), "adder.txt", ADDER);
    let mut from = source.display().to_string();
    for to in ["blif", "aag", "aig", "fashion"] {
        let out = dir.path().join(format!("{to}.out")).display().to_string();
        let said = run(&format!("circuit convert {from} --to {to} -o {out}"));
        assert_eq!((said.code, &said.json["format"]), (0, &to.into()), "{said:?}");
        let said = run(&format!("circuit eval {out} --input 3 --input 1"));
        assert_eq!(said.outputs(), [Some("4"), Some("1")], "{to}");
        from = out;
    }
    let said = run(&format!("circuit convert {} --to aig", source.display()));
    // Text by luck or bytes: never a broken text.
    assert!(said.code == 0 || said.error(2).contains("-o OUT"), "{said:?}");
    let shdl = "0 input //output$input.bob$0\n1 input //output$input.alice$0\n\
                2 output gate arity 2 table [ 0 0 1 0 ] inputs [ 0 1 ] //output$output.bob$0\n";
    let file = write(dir.path(), "and.circuit", shdl);
    let said = run(&format!("run {} --backend plain --input 0 --input 1", file.display()));
    assert_eq!(said.outputs(), [Some("1")], "{said:?}");
    let out = dir.path().join("and.txt").display().to_string();
    let said = run(&format!("circuit convert {} -o {out}", file.display()));
    assert_eq!(said.json["format"], "fashion");
    let info = run(&format!("circuit info {out}")).json;
    assert_eq!((&info["inputs"][0]["owner"], &info["and"]), (&"evaluator".into(), &1.into()));
    let broken = write(dir.path(), "broken.blif", ".inputs a\n.outputs z\n.names a b z\n11 1\n");
    let said = run(&format!("circuit info {}", broken.display()));
    assert!(said.error(2).contains("broken.blif:3:10: `b` is read but nothing drives it; "));
}

#[test]
fn circuits_with_latches_run_for_cycles() {
    let dir = TempDir::new().expect("a directory");
    let text = ".inputs x\n.outputs q\n.names x q n\n10 1\n01 1\n.latch n q 1\n";
    let file = write(dir.path(), "parity.blif", text);
    let file = file.display();
    let info = run(&format!("circuit info {file}")).json;
    assert_eq!((&info["latches"], &info["inputs"][1]["name"]), (&1.into(), &"state".into()));
    for line in ["circuit eval", "run --backend plain"] {
        let said = run(&format!("{line} {file} --input 1"));
        assert!(
            said.error(2).contains("has latches (1 bits of state); say for how many cycles"),
            "{said:?}"
        );
    }
    let said = run(&format!("circuit eval {file} --cycles 4 --every --input 5"));
    // Starts at 1 and flips after cycles 0 and 2.
    assert_eq!(said.outputs(), [Some("9")]);
    let out = dir.path().join("parity.txt").display().to_string();
    let said = run(&format!("circuit convert {file} --cycles 4 -o {out}"));
    assert!(said.error(2).contains("choose another name"), "{said:?}");
    let out = dir.path().join("parity4.txt").display().to_string();
    let said = run(&format!("circuit convert {file} --cycles 4 -o {out}"));
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(run(&format!("circuit eval {out} --input 5")).outputs(), [Some("1")]);
    assert!(run(&format!("circuit info {out} --cycles 2")).error(2).contains("no latches"));
    assert!(run(&format!("circuit info {file} --cycles 0")).error(2).contains("at least one"));
    let said = run(&format!("circuit info {file} --cycles 99999999"));
    assert!(said.error(2).contains("take fewer cycles"), "{said:?}");
    let again = dir.path().join("again.aig").display().to_string();
    run(&format!("circuit convert {file} --optimise --to aig -o {again}"));
    let said = run(&format!("circuit eval {again} --cycles 4 --every --input 5"));
    assert_eq!(said.outputs(), [Some("9")]);
}

/// Adds to a register; the carry is an output.
const VERILOG: &str = "module accumulate(input clk, input [7:0] x, output [7:0] sum, output carry);
  reg [7:0] total = 8'h10;
  assign {carry, sum} = total + x;
  always @(posedge clk) total <= sum;
endmodule
";

#[test]
fn verilog_is_read_by_yosys() {
    if !yosys_is_there() {
        return;
    }
    let dir = TempDir::new().expect("a directory");
    let file = write(dir.path(), "accumulate.v", VERILOG);
    let file = file.display();
    let info = run(&format!("circuit info {file}")).json;
    assert_eq!(info["latches"], 8, "{info}");
    let ports = |kind: &str| {
        let ports = info[kind].as_array().expect("ports").iter();
        ports.map(|port| (port["name"].to_string(), port["bits"].to_string())).collect::<Vec<_>>()
    };
    let named = |name: &str, bits: &str| (format!("\"{name}\""), bits.to_owned());
    assert_eq!(ports("inputs"), [named("x", "8"), named("state", "8")]);
    assert_eq!(ports("outputs"), [named("sum", "8"), named("carry", "1"), named("state", "8")]);
    // 0x10 + 0x05, + 0xf0 = 0x105, + 0x20.
    let said = run(&format!("circuit eval {file} --cycles 3 --every --input 20f005"));
    assert_eq!(said.outputs(), [Some("250515"), Some("2")]);
    let plain = "module m(input [3:0] a, b, output [3:0] z); assign z = a & ~b; endmodule\n";
    let plain = write(dir.path(), "plain.v", plain);
    let said = run(&format!("run {} --backend plain --input d --input 7", plain.display()));
    assert_eq!(said.outputs(), [Some("8")]);
    let broken = write(dir.path(), "broken.v", "module m(input a);\n assign b = ;\nendmodule\n");
    let said = run(&format!("circuit info {}", broken.display()));
    assert!(said.error(2).contains("broken.v:2:13: syntax error"), "{said:?}");
    // What is mistyped or left open would be zero.
    for (body, message) in [
        ("assign z = a & c;", "open.v:1:60: Identifier `\\c' is implicitly declared"),
        ("wire [3:0] c; assign z = a & c;", "open.v: Wire m.\\c [3] is used but has no driver"),
    ] {
        let text = format!("module m(input [3:0] a, b, output [3:0] z); {body} endmodule\n");
        let open = write(dir.path(), "open.v", &text);
        let said = run(&format!("circuit info {}", open.display()));
        assert!(said.error(2).contains(message), "{said:?}");
    }
    // What yosys cannot do within its limits is bad input as well.
    let wide = "module m(input [99999999:0] a, output [99999999:0] z); assign z = ~a; endmodule\n";
    let wide = write(dir.path(), "wide.v", wide);
    let said = run(&format!("circuit info {}", wide.display()));
    assert!(said.error(2).contains("wide.v:1: Expression width"), "{said:?}");
    // A word of the file is no word of a script.
    let name = write(
        dir.path(),
        "a;b$(c).v",
        "module \\;!ls (input a, output z); assign z = a; endmodule\n",
    );
    let output = cenote(["circuit", "info", &name.display().to_string()]).output();
    assert!(output.expect("it runs").status.success());
}

/// Whether Verilog can be read here; where everything has to run, it can.
fn yosys_is_there() -> bool {
    let there = std::process::Command::new("yosys").arg("-V").output().is_ok();
    if !there {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "yosys is missing");
        // The harness swallows what passing tests print.
        let _ = writeln!(std::io::stderr(), "skipped: yosys is missing");
    }
    there
}

#[test]
fn verilog_calls_no_functions_of_the_system_and_reads_no_other_files() {
    if !yosys_is_there() {
        return;
    }
    let dir = TempDir::new().expect("a directory");
    let foreign = "import \"DPI-C\" function integer getpid();\nlocalparam integer p = getpid();\n";
    let text = format!(
        "module m(input [31:0] a, output [31:0] z);\n{foreign}assign z = a ^ p;\nendmodule\n"
    );
    let calls = write(dir.path(), "calls.v", &text);
    let said = run(&format!("circuit info {}", calls.display()));
    assert!(said.error(2).contains("DPI function"), "{said:?}");
    for reading in
        ["`include \"/etc/hostname\"", "initial $readmemh(\"/etc/hostname\", k);", "a``b"]
    {
        let text = format!("module m(input a, output z);\n{reading}\nassign z = a;\nendmodule\n");
        let reads = write(dir.path(), "reads.v", &text);
        let said = run(&format!("circuit info {}", reads.display()));
        assert!(said.error(2).contains("complete in itself"), "{said:?}");
    }
}

#[test]
fn without_yosys_verilog_is_bad_input() {
    let dir = TempDir::new().expect("a directory");
    let file = write(dir.path(), "m.v", VERILOG);
    let arguments = ["circuit", "info", &file.display().to_string(), "--json"];
    let output = cenote(arguments).env("PATH", dir.path()).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("m.v: this is Verilog") && said.contains("install yosys"), "{said}");
}

#[test]
fn values_come_from_files_too() {
    let dir = TempDir::new().expect("a directory");
    let file = write(dir.path(), "adder.txt", ADDER);
    let value = write(dir.path(), "value", "3\n");
    let (file, value) = (file.display(), value.display());
    let said = run(&format!("circuit eval {file} --input @{value} --input 1"));
    assert_eq!(said.outputs(), [Some("4"), Some("1")]);
    let said = run(&format!("circuit eval {file} --input @{value}.not --input 1"));
    assert!(said.error(2).contains("value.not"));
}

#[test]
fn bad_values_are_refused_without_repeating_them() {
    let dir = TempDir::new().expect("a directory");
    let file = write(dir.path(), "adder.txt", ADDER);
    for line in ["circuit eval", "run --backend plain"] {
        let said = run(&format!("{line} {} --input 5 --input 1", file.display()));
        assert!(said.error(2).contains("`in0` needs 3 bits"));
        let said = run(&format!("{line} {} --input 1 --input c0ffees", file.display()));
        assert!(!said.error(2).contains("ffees"));
        let said = run(&format!("{line} {} --input 1", file.display()));
        assert!(said.error(2).contains("1 were given"));
    }
}

#[test]
fn a_malformed_circuit_is_named_with_line_and_remedy_and_nothing_starts() {
    let dir = TempDir::new().expect("a directory");
    let broken = ADDER.replace("2 1 5 4 7 AND", "2 1 5 40 7 AND");
    let file = write(dir.path(), "broken.txt", &broken);
    let file = file.display();
    for line in [
        format!("circuit info {file}"),
        format!("run {file} --input 1 --input 1"),
        format!("party {file} --role garbler --listen 127.0.0.1:0 --insecure-plaintext --input 1"),
    ] {
        let said = run(&line);
        let error = said.error(2);
        assert!(error.contains("broken.txt:8:7: ") && error.contains("; "), "{error}");
        assert!(!said.stderr.contains("listening"));
    }
    assert!(run("circuit info /no/such/file.txt").error(2).contains("/no/such/file.txt"));
}

#[test]
fn identities_are_made_once_and_paired() {
    let dir = TempDir::new().expect("a directory");
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    let (a, b) = (a.display(), b.display());
    let made = run(&format!("init {a} --name alice")).json["fingerprint"].clone();
    assert!(run(&format!("init {a}")).error(2).contains("identity."));
    run(&format!("init {b}"));
    let paired = run(&format!("pair {b} {a}/identity.crt.pem"));
    assert_eq!(paired.json["peer_fingerprint"], made);
    assert!(run(&format!("pair {a} {a}/identity.crt.pem")).error(2).contains("own certificate"));
    // Another peer takes its place only when told; the same one may come again.
    let c = dir.path().join("c");
    let c = c.display();
    let third = run(&format!("init {c}")).json["fingerprint"].clone();
    assert_eq!(run(&format!("pair {b} {a}/identity.crt.pem")).code, 0);
    let other = format!("pair {b} {c}/identity.crt.pem");
    let said = run(&other);
    for fingerprint in [&made, &third] {
        assert!(said.error(2).contains(fingerprint.as_str().expect("text")), "{said:?}");
    }
    let said = run(&format!("{other} --replace"));
    assert_eq!((said.code, &said.json["peer_fingerprint"]), (0, &third));
    assert!(run(&format!("pair {a} {c}/none.pem")).error(2).contains("none.pem"));
    assert!(run(&format!("pair {a}/none")).error(2).contains("cenote init"));
    let bad = write(dir.path(), "bad.pem", "-----BEGIN CERTIFICATE-----\n!\n");
    assert!(run(&format!("pair {a} {}", bad.display())).error(2).contains("bad.pem"));
}
