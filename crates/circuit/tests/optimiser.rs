//! The optimiser: in memory and streaming, on random circuits, the public ones and long ones.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use cenote_circuit::formats::bristol::write_bristol_fashion;
use cenote_circuit::optimise::{self, Options, PassReport};
use cenote_circuit::{Circuit, Clear, Gate, Program, Role, Signature, read_circuit};
use tempfile::TempDir;

/// Numbers from a seed (splitmix64).
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.word() % bound as u64) as usize
    }
}

/// A circuit of every kind of gate, with repetitions; outputs are inputs, constants, gates, and some of
/// them twice.
fn random(seed: u64, gates: usize) -> Circuit {
    let mut random = Random(seed);
    let inputs = 2 + random.below(10);
    let mut list: Vec<Gate> = Vec::new();
    for i in 0..gates {
        let wires = inputs + i;
        let mut wire = || {
            let near = wires - 1 - random.below(wires.min(20));
            (if random.below(6) == 0 { random.below(wires) } else { near }) as u32
        };
        let (a, b) = (wire(), wire());
        list.push(match random.below(20) {
            0..=7 => Gate::And(a, b),
            8..=13 => Gate::Xor(a, b),
            14 | 15 => Gate::Inv(a),
            16 => Gate::Eq(random.below(2) == 1),
            17 => Gate::Eqw(a),
            _ => list.last().copied().unwrap_or(Gate::Inv(a)),
        });
    }
    let wires = inputs + gates;
    let outputs: Vec<u32> =
        (0..12).map(|i| random.below(wires.min(wires >> (i % 3))) as u32).collect();
    let signature = Signature::new().input("x", inputs, None).output("z", outputs.len(), None);
    Circuit::new("random", signature, list, outputs).unwrap()
}

/// Both circuits give the same outputs for random inputs, none and all ones.
fn assert_same(a: &Circuit, b: &Circuit, what: &str) {
    assert_eq!(a.signature(), b.signature(), "{what}");
    let mut random = Random(7);
    for round in 0..10 {
        let ports = a.signature().inputs;
        let bit = |random: &mut Random| match round {
            0 => false,
            1 => true,
            _ => random.word() & 1 == 1,
        };
        let port = |bits: usize, random: &mut Random| (0..bits).map(|_| bit(random)).collect();
        let inputs: Vec<Vec<bool>> = ports.iter().map(|p| port(p.bits, &mut random)).collect();
        assert_eq!(Clear::eval(a, &inputs), Clear::eval(b, &inputs), "{what}, round {round}");
    }
}

/// The file optimised in windows of this size, read again, and what was said about it.
fn streamed(file: &Path, window: usize) -> (Circuit, optimise::Optimised) {
    let out = file.with_extension("optimised.txt");
    let options = Options { window, ..Options::default() };
    let said = optimise::file(file, &out, &options).unwrap();
    (read_circuit(&out).unwrap(), said)
}

#[test]
fn random_circuits_keep_their_function() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("x.txt");
    for seed in 0..60 {
        let circuit = random(seed, 5 + 9 * seed as usize);
        for depth in [false, true] {
            let options = Options { depth, ..Options::default() };
            let (after, report) = optimise::circuit(&circuit, &options);
            assert_same(&circuit, &after, &format!("{seed}"));
            assert!(after.stats().and <= circuit.stats().and);
            assert_eq!(report.start().ands, circuit.stats().and as u64);
        }
        fs::write(&file, write_bristol_fashion(&circuit)).unwrap();
        let before = read_circuit(&file).unwrap();
        for window in [1, 2, 7, 50, 1 << 20] {
            let (after, said) = streamed(&file, window);
            assert_same(&before, &after, &format!("{seed} in windows of {window}"));
            assert!(after.stats().and <= circuit.stats().and);
            let end = said.report.end();
            assert_eq!(
                (end.gates, end.ands),
                (after.gates().len() as u64, after.stats().and as u64)
            );
            assert!(said.window <= window);
        }
        // Twice is no worse than once.
        let (once, _) = optimise::circuit(&circuit, &Options::default());
        let (twice, _) = optimise::circuit(&once, &Options::default());
        assert!(twice.stats().and <= once.stats().and);
    }
}

#[test]
fn streaming_evaluation_agrees_with_the_clear_one() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("x.txt");
    for seed in 100..110 {
        let circuit = random(seed, 500);
        fs::write(&file, write_bristol_fashion(&circuit)).unwrap();
        let mut random = Random(seed);
        let inputs: Vec<u64> =
            (0..circuit.signature().input_bits()).map(|_| random.word()).collect();
        let outputs = optimise::outputs(&file, |wire| inputs[wire as usize]).unwrap();
        for lane in [0, 1, 63] {
            let bit = |word: &u64| word >> lane & 1 == 1;
            let clear = Clear::eval(&circuit, &[inputs.iter().map(bit).collect()]);
            assert_eq!(clear[0], outputs.iter().map(bit).collect::<Vec<_>>());
        }
    }
}

/// The public circuit, or nothing when the data directory is missing, which CI does not forgive.
fn public(name: &str) -> Option<PathBuf> {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = data.join("bristol-fashion").join(name);
    if !path.exists() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", path.display());
        // The harness swallows what passing tests print.
        let _ = writeln!(std::io::stderr(), "skipped: {} is missing", path.display());
        return None;
    }
    Some(path)
}

/// Public circuits: name, ANDs, gates, and both when optimised.
const PUBLIC: [(&str, [u64; 2], [u64; 2]); 10] = [
    ("adder64.txt", [63, 376], [63, 376]),
    ("sub64.txt", [63, 439], [63, 439]),
    ("neg64.txt", [62, 190], [62, 189]),
    ("zero_equal.txt", [63, 127], [63, 127]),
    ("mult64.txt", [4033, 13_675], [4033, 13_675]),
    ("udivide64.txt", [4285, 16_952], [4221, 16_632]),
    ("divide64.txt", [4664, 29_926], [4469, 29_218]),
    ("FP-add.txt", [5385, 15_637], [5365, 14_244]),
    ("aes_128.txt", [6400, 36_663], [6400, 36_208]),
    ("sha256.txt", [22_573, 135_073], [22_573, 135_073]),
];

#[test]
fn public_circuits_lose_what_the_documentation_says() {
    let dir = TempDir::new().unwrap();
    for (name, before, expected) in PUBLIC {
        let Some(path) = public(name) else { continue };
        let circuit = read_circuit(&path).unwrap();
        let (after, report) = optimise::circuit(&circuit, &Options::default());
        let sizes = |pass: PassReport| [pass.ands, pass.gates];
        let left = [after.stats().and as u64, after.gates().len() as u64];
        println!("{name}: {:?} to {left:?}", sizes(report.start()));
        for pass in &report.passes {
            println!("  {:12}{:8}{:8}  {:.4}", pass.name, pass.gates, pass.ands, pass.gates_left);
        }
        assert_eq!(sizes(report.start()), before, "{name}");
        assert_eq!(left, expected, "{name}");
        assert_same(&circuit, &after, name);
        let copy = dir.path().join(name);
        fs::copy(&path, &copy).unwrap();
        for window in [1000, 1 << 20] {
            let (after, _) = streamed(&copy, window);
            assert_same(&circuit, &after, name);
            assert!(after.stats().and as u64 <= before[0]);
            assert!(window == 1000 || after.stats().and as u64 == expected[0]);
        }
    }
}

#[test]
fn balancing_makes_circuits_shallower_with_no_more_ands() {
    for name in ["zero_equal.txt", "sha256.txt", "FP-add.txt"] {
        let Some(path) = public(name) else { continue };
        let circuit = read_circuit(&path).unwrap();
        let plain = optimise::circuit(&circuit, &Options::default()).0;
        let options = Options { depth: true, ..Options::default() };
        let balanced = optimise::circuit(&circuit, &options).0;
        assert_same(&circuit, &balanced, name);
        let (plain, balanced) = (plain.stats(), balanced.stats());
        let deep = |stats: &cenote_circuit::Stats| (stats.and_depth, stats.depth);
        println!("{name}: {:?} to {:?} ANDs and gates deep", deep(&plain), deep(&balanced));
        assert!(balanced.and <= plain.and && balanced.and_depth <= plain.and_depth, "{name}");
        // The comparison with zero is a tree as it is; the path of a hash is its carries.
        let falls = balanced.and_depth < plain.and_depth;
        assert_eq!(falls, name == "FP-add.txt", "{name}");
    }
}

/// `true` if all bits of one word and none of another are set, bit after bit.
#[test]
fn balancing_makes_chains_as_shallow_as_they_can_be() {
    let signature = Signature::new()
        .input("a", 64, Some(Role::Garbler))
        .input("b", 64, Some(Role::Evaluator))
        .output("z", 1, None);
    let mut gates: Vec<Gate> = (64..128).map(Gate::Inv).collect();
    gates.push(Gate::And(0, 1));
    for bit in (2..64).chain(128..192) {
        gates.push(Gate::And(127 + gates.len() as u32, bit));
    }
    let last = 127 + gates.len() as u32;
    let chain = Circuit::new("chain", signature, gates, vec![last]).unwrap();
    let depth = |options: &Options| {
        let after = optimise::circuit(&chain, options).0;
        assert_same(&chain, &after, "chain");
        let all = [vec![true; 64], vec![false; 64]];
        assert_eq!(Clear::eval(&after, &all), [[true]]);
        assert_eq!(after.stats().and, 127);
        after.stats().and_depth
    };
    assert_eq!(depth(&Options::default()), 127);
    assert_eq!(depth(&Options { depth: true, ..Options::default() }), 7);
}

/// A chain of textbook full adders over two words: every gate and every carry depends on those before.
fn chain(gates: usize) -> String {
    let rounds = gates / 8;
    let mut text = format!("{} {}\n2 32 32\n1 2\n\n", rounds * 8 + 2, rounds * 8 + 66);
    let mut next = 64;
    let (mut carry, mut sum) = (0, 32);
    for round in 0..rounds {
        let (a, b) = (round % 32, sum);
        let w = |i: usize| next + i;
        for (kind, x, y) in [
            ("XOR", a, b),
            ("XOR", w(0), carry),
            ("AND", a, b),
            ("AND", w(0), carry),
            ("XOR", w(2), w(3)),
            ("AND", w(2), w(3)),
            ("XOR", w(4), w(5)),
            ("AND", a, carry),
        ] {
            writeln!(text, "2 1 {x} {y} {next} {kind}").unwrap();
            next += 1;
        }
        (sum, carry) = (next - 7, next - 2);
    }
    for output in [sum, carry] {
        writeln!(text, "1 1 {output} {next} EQW").unwrap();
        next += 1;
    }
    text
}

#[test]
fn memory_does_not_grow_with_the_file() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("x.txt");
    let measured = [1_000_000, 4_000_000].map(|gates| {
        fs::write(&file, chain(gates)).unwrap();
        let options = Options { window: 1 << 16, ..Options::default() };
        let said = optimise::file(&file, &dir.path().join("y.txt"), &options).unwrap();
        let end = said.report.end();
        assert_eq!(said.report.start().gates, gates as u64 + 2);
        // One AND for each adder, and some more where a window cuts one.
        let adders = gates as u64 / 8;
        assert!((adders..adders + adders / 1000).contains(&end.ands), "{}", end.ands);
        (said.live_wires, said.window)
    });
    assert_eq!(measured[0], measured[1]);
    assert!(measured[0].0 < 100, "{measured:?}");
}

#[test]
fn what_cannot_be_read_or_written_is_named() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("x.txt");
    fs::write(&file, "1 3\n1 2\n1 1\n\n2 1 0 3 2 AND\n").unwrap();
    let said = |from: &Path, to: &Path| {
        optimise::file(from, to, &Options::default()).unwrap_err().to_string()
    };
    let out = dir.path().join("y.txt");
    assert!(said(&file, &out).contains("x.txt:5:"));
    assert!(!out.exists());
    assert!(said(&dir.path().join("none"), &out).contains("none: "));
    assert!(said(dir.path(), &out).contains("regular file"));
    fs::write(&file, "1 3\n1 2\n1 1\n\n2 1 0 1 2 AND\n").unwrap();
    assert!(said(&file, &dir.path().join("no/dir.txt")).contains("room"));
}
