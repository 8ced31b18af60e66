//! What must not change unnoticed: codes of operations, and the gates that they become.

use cenote_circuit::{DigestGates, Owner, Program, Receiver};
use cenote_program::{Affine, Builder, Kind, Module, Shape, ValueId, WordOp};

/// The code of an operation in the binary form is its place in this list.
#[test]
fn codes_of_operations_stay() {
    let names: Vec<&str> = WordOp::ALL.iter().map(|op| op.name()).collect();
    let expected = "slice concat zext sext shl shr sar rotl join tile repeat reshape transpose xor and or not mux \
        add sub neg abs mul square mulfull mulfulls squarefull divrem divrems isqrt popcount lzcnt addo addos subo \
        subos mulo mulos min max mins maxs eq lt le lts les shlby shrby sarby rotlby sum sums rand ror rxor argmin \
        argmax argmins argmaxs sort topk matmul lookup store";
    let expected: Vec<&str> = expected.split_whitespace().collect();
    assert_eq!(names, expected, "new operations come last; none goes");
}

/// Attributes and operands for words of `width` bits in 4 lanes; an operand of `(lanes, width)`.
fn example(op: WordOp, width: u32) -> (Vec<u32>, Vec<(u32, u32)>) {
    use WordOp::*;
    let (word, words) = ((1, width), (4, width));
    let key = width.min(3);
    match op {
        Slice => (vec![width / 2, 1], vec![words]),
        Zext | Sext => (vec![width + 3], vec![words]),
        Shl | Shr | Sar | Rotl => (vec![1], vec![words]),
        Tile | Repeat => (vec![2], vec![words]),
        Reshape => (vec![2, 2 * width], vec![words]),
        Transpose => (vec![2], vec![words]),
        Not | Neg | Abs | Square | SquareFull | Isqrt | Popcount | Lzcnt => (vec![], vec![words]),
        ArgMin | ArgMax | ArgMinS | ArgMaxS => (vec![], vec![words]),
        Mux => (vec![], vec![(4, 1), words, word]),
        Sum | SumS => (vec![width + 1, 2], vec![words]),
        Rand | Ror | Rxor => (vec![2], vec![words]),
        Sort => (vec![width - key, key, 1, 0], vec![words]),
        TopK => (vec![3, 0, key, 0, 1], vec![words]),
        MatMul => (vec![2, 2, width, 1], vec![words, words]),
        Lookup => (vec![], vec![words, (2, 2)]),
        Store => (vec![], vec![words, (1, 2), word, (1, 1)]),
        ShlBy | ShrBy | SarBy | RotlBy => (vec![], vec![words, (1, 3)]),
        _ => (vec![], vec![words, word]),
    }
}

/// Every operation on words of `width` bits, on secrets and with a constant as the last operand.
fn module_of_all(width: u32) -> Module {
    let mut b = Builder::new("all", "").unwrap();
    let mut inputs: Vec<((u32, u32), ValueId)> = Vec::new();
    let shapes = [(1, 1), (1, 2), (1, 3), (2, 2), (4, 1), (1, width), (4, width)];
    for (i, (lanes, width)) in shapes.into_iter().enumerate() {
        let owner = if i % 2 == 0 { Owner::Garbler } else { Owner::Evaluator };
        let shape = Shape::vector(lanes, width);
        let id = b.input(&format!("x{i}"), owner, Kind::Bits, shape).unwrap();
        inputs.push(((lanes, width), id));
    }
    let mut outputs = Vec::new();
    for op in WordOp::ALL.iter().copied() {
        let (attrs, shapes) = example(op, width);
        let secret = |shape| inputs.iter().find(|(known, _)| *known == shape).unwrap().1;
        let mut args: Vec<ValueId> = shapes.iter().map(|shape| secret(*shape)).collect();
        outputs.extend(b.word(op, &attrs, &args).unwrap());
        let (lanes, width) = shapes[shapes.len() - 1];
        let shape = Shape::vector(lanes, width);
        let bits: Vec<bool> = (0..shape.bits()).map(|bit| bit % 3 == 0).collect();
        let last = args.len() - 1;
        args[last] = b.constant(shape, &bits).unwrap();
        outputs.extend(b.word(op, &attrs, &args).unwrap());
    }
    let (counter, carried) = b.begin_for(4, &[inputs[5].1]).unwrap();
    let lane = b.lanes(inputs[6].1, Affine::at(0).plus(counter, 1), 1, 1).unwrap();
    let sum = b.word(WordOp::Add, &[], &[carried[0], lane]).unwrap();
    outputs.extend(b.end_for(&sum).unwrap());
    let part = b.begin_map(2, &[inputs[6].1]).unwrap();
    let product = b.word(WordOp::Mul, &[], &[part[0], inputs[5].1]).unwrap();
    outputs.extend(b.end_map(&product).unwrap());
    for (i, value) in outputs.into_iter().enumerate() {
        b.output(&format!("z{i}"), Receiver::Both, Kind::Bits, value).unwrap();
    }
    b.finish().unwrap()
}

/// Two parties with the same digest execute the same gates only if their versions of the execution are
/// the same.
#[test]
fn gates_change_with_the_version_of_the_execution() {
    let mut hasher = blake3::Hasher::new();
    for width in [1, 5, 33, 110] {
        let module = module_of_all(width);
        let mut gates = DigestGates::new();
        let inputs = gates.inputs(&module.signature());
        let outputs = module.stream().unwrap().run(&mut gates, &inputs);
        let Ok(outputs) = outputs;
        hasher.update(&gates.finish(&outputs));
    }
    let found = hasher.finalize().to_hex();
    assert_eq!(
        (cenote_program::EXECUTION, found.as_str()),
        (1, "2a721c90cec5fc8e4cf2d1455f949ea4587f6d71d8dedd8bb9900382b80336c5"),
        "other gates than before: raise EXECUTION, and note the new digest here"
    );
}
