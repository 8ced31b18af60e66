//! Recording, planning and executing circuits.

use cenote_circuit::gadgets::{Order, aes128, divide, mul, sort};
use cenote_circuit::{
    Circuit, CircuitError, Clear, Counter, Depth, Gate, Gates, Live, Program, RecordError,
    Recorder, Role, Signature, bits_of, value_of,
};

/// A program that touches integers, sorting and a cipher.
struct Mixture;

impl Program for Mixture {
    fn name(&self) -> String {
        "mixture".into()
    }

    fn signature(&self) -> Signature {
        Signature::new()
            .input("a", 32, Some(Role::Garbler))
            .input("b", 32, Some(Role::Evaluator))
            .output("product", 32, None)
            .output("quotient", 32, None)
            .output("bytes", 32, None)
            .output("cipher", 128, None)
    }

    fn run<G: Gates>(
        &self,
        g: &mut G,
        inputs: &[Vec<G::Wire>],
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        let (a, b) = (&inputs[0], &inputs[1]);
        let product = mul(g, a, b)?;
        let (quotient, _) = divide(g, a, b)?;
        let bytes: Vec<_> = a.chunks(8).map(<[_]>::to_vec).collect();
        let bytes = sort(g, &bytes, 8, Order::Descending)?.concat();
        let key = [&a[..], b, a, b].concat();
        let cipher = aes128(g, &key, &key)?;
        Ok(vec![product, quotient, bytes, cipher])
    }
}

#[test]
fn a_recorded_program_computes_the_same_with_no_more_gates() {
    let circuit = Circuit::from_program(&Mixture).unwrap();
    assert_eq!(circuit.name(), "mixture");
    assert_eq!(circuit.signature(), Mixture.signature());
    for (a, b) in [(0, 0), (0xdead_beef, 0x1234), (7, 0), (u32::MAX.into(), u32::MAX.into())] {
        let inputs = [bits_of(a, 32), bits_of(b, 32)];
        assert_eq!(Clear::eval(&circuit, &inputs), Clear::eval(&Mixture, &inputs));
    }
    let (recorded, streamed) = (Counter::count(&circuit), Counter::count(&Mixture));
    assert!(recorded.and <= streamed.and && recorded.xor <= streamed.xor);
    assert_eq!(recorded.and, circuit.stats().and as u64);
    assert_eq!(recorded.and_depth as usize, circuit.stats().and_depth);
    assert!(recorded.and_batches < streamed.and_batches, "planning did not batch");
}

#[test]
fn digests_tell_circuits_apart_but_not_file_names() {
    let circuit = |label: &str, gate: Gate| {
        let signature = Signature::new().input("x", 2, None).output("z", 1, None);
        Circuit::new(label, signature, vec![gate], vec![2]).unwrap()
    };
    let and = circuit("one", Gate::And(0, 1));
    assert_eq!(and.digest(), circuit("two", Gate::And(0, 1)).digest());
    assert_ne!(and.digest(), circuit("one", Gate::Xor(0, 1)).digest());
    assert_ne!(and.digest(), circuit("one", Gate::And(0, 0)).digest());
}

#[test]
fn the_recorder_simplifies() {
    let signature = Signature::new().input("x", 2, None).output("z", 12, None);
    let (mut g, inputs) = Recorder::new(&signature).unwrap();
    let (x, y) = (inputs[0][0], inputs[0][1]);
    let one = g.constant(true).unwrap();
    let zero = g.constant(false).unwrap();
    let not_x = g.not(&x).unwrap();
    let x_y = g.xor(&x, &y).unwrap();
    let outputs = vec![
        g.xor(&x, &x).unwrap(),
        g.xor(&x, &zero).unwrap(),
        g.xor(&not_x, &one).unwrap(),
        g.and(&x, &x).unwrap(),
        g.and(&x, &not_x).unwrap(),
        g.and(&x, &zero).unwrap(),
        g.and(&one, &x).unwrap(),
        g.not(&not_x).unwrap(),
        g.and(&x, &y).unwrap(),
        g.and(&y, &x).unwrap(),
        g.xor(&not_x, &y).unwrap(),
        x_y,
    ];
    g.and(&x_y, &x).unwrap();
    let circuit = g.finish("toy", signature, &[outputs]).unwrap();
    let stats = circuit.stats();
    // One AND, one XOR, its negation, and the constant false; what no output needs is left out.
    assert_eq!((stats.and, stats.xor, stats.inv, stats.eq), (1, 1, 1, 1));
    for (x, y) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let out = Clear::eval(&circuit, &[bits_of(x | y << 1, 2)]);
        let both = x & y;
        let expected = [0, x, x, x, 0, 0, x, x, both, both, 1 ^ x ^ y, x ^ y];
        let expected: u128 = expected.iter().enumerate().map(|(i, bit)| bit << i).sum();
        assert_eq!(value_of(&out[0]), expected);
    }
}

#[test]
fn parts_that_make_no_circuit_are_refused() {
    let signature = || Signature::new().input("x", 2, None).output("z", 1, None);
    let new = |gates, outputs| Circuit::new("x", signature(), gates, outputs).unwrap_err();
    assert_eq!(new(vec![Gate::And(0, 2)], vec![2]), CircuitError::Order { wire: 2 });
    assert_eq!(new(vec![], vec![2]), CircuitError::Order { wire: 2 });
    assert_eq!(new(vec![], vec![0, 1]), CircuitError::Outputs { expected: 1, given: 2 });
    let huge = Signature::new().input("x", usize::MAX, None).input("y", 2, None);
    assert_eq!(Circuit::new("x", huge.clone(), vec![], vec![]), Err(CircuitError::TooLarge));
    assert!(matches!(Recorder::new(&huge), Err(RecordError::TooLarge)));
}

#[test]
fn wires_are_dropped_after_their_last_use() {
    // A chain of 200,000 gates over several windows needs a handful of wires at a time.
    let gates = (0..200_000).map(|i| match i % 3 {
        0 => Gate::And(i, i + 1),
        1 => Gate::Xor(i, i + 1),
        _ => Gate::Inv(i + 1),
    });
    let signature = Signature::new().input("x", 2, None).output("z", 1, None);
    let circuit = Circuit::new("chain", signature, gates.collect(), vec![200_001]).unwrap();
    let mut g = Live::new(Counter::new());
    let inputs = vec![vec![g.adopt(Depth(0)), g.adopt(Depth(0))]];
    circuit.run(&mut g, &inputs).unwrap();
    assert!(g.peak() < 10, "{} wires", g.peak());
    assert_eq!(g.inner().counts().and, circuit.stats().and as u64);
}

#[test]
fn independent_ands_become_one_batch() {
    // Adders in the order of a file: bit by bit, one after the other.
    let lanes = 50;
    let mut gates = Vec::new();
    let mut outputs = Vec::new();
    for lane in 0..lanes {
        let first = 2 * lanes + gates.len() as u32;
        gates.push(Gate::And(lane, lanes + lane));
        gates.push(Gate::Xor(lane, first));
        gates.push(Gate::And(first, first + 1));
        outputs.push(first + 2);
    }
    let signature = Signature::new()
        .input("a", lanes as usize, None)
        .input("b", lanes as usize, None)
        .output("z", lanes as usize, None);
    let circuit = Circuit::new("wide", signature, gates, outputs).unwrap();
    assert_eq!(Counter::count(&circuit).and_batches, 2);
}

#[test]
fn statistics_survive_json() {
    let stats = Circuit::from_program(&Mixture).unwrap().stats();
    let json = serde_json::to_string(&stats).unwrap();
    assert_eq!(serde_json::from_str::<cenote_circuit::Stats>(&json).unwrap(), stats);
    assert!(json.contains(r#"{"name":"a","bits":32,"owner":"garbler"}"#), "{json}");
}
