//! Values that must not change unnoticed: codes of operations, and the gates that they become.

use cenote_circuit::{DigestGates, Kind as Access, Needs, Plan, Program, Receivers, Role};
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
        let owner = if i % 2 == 0 { Role::Garbler } else { Role::Evaluator };
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
    let (_, carried) = b.begin_for(8, &[inputs[6].1]).unwrap();
    let sum = b.word(WordOp::Add, &[], &[carried[0], inputs[5].1]).unwrap();
    outputs.extend(b.end_for(&sum).unwrap());
    let part = b.begin_map(2, &[inputs[6].1]).unwrap();
    let product = b.word(WordOp::Mul, &[], &[part[0], inputs[5].1]).unwrap();
    outputs.extend(b.end_map(&product).unwrap());
    for (i, value) in outputs.into_iter().enumerate() {
        b.output(&format!("z{i}"), Receivers::Both, Kind::Bits, value).unwrap();
    }
    b.finish().unwrap()
}

/// Operations on more lanes than run side by side, on few lanes, on words of which a part is known, and
/// on a place that may be beyond the end.
const AT_BOUNDARIES: &str = r#"cenote 1
program boundaries ""
input a: garbler bits 2049xb1
input b: evaluator bits 300xb17
input c: evaluator bits 3xb20
input i: evaluator bits b2
{
  %4 = sum{width=12, groups=1} %0
  %5 = add %0, %0
  %6 = rotl{by=3} %1
  %7 = lt %1, %6
  %8 = mux %7, %1, %6
  %9 = mul %2, %2
  %10 = lanes{at=0, count=1, stride=1} %2
  %11 = slice{lo=0, width=5} %10
  %12 = zext{width=20} %11
  %13, %14 = divrem %2, %12
  %15 = lookup %1, %3
  %16 = matmul{rows=300, inner=1, width=17, signed=0} %1, %1
  %17 = lookup %2, %3
  %18 = sum{width=40, groups=1} %2
  %19 = sums{width=40, groups=1} %2
  %20 = sums{width=40, groups=75} %1
}
output p: both bits %4
output q: both bits %5
output r: both bits %8
output s: both bits %9
output t: both bits %13
output u: both bits %14
output v: both bits %15
output w: both bits %16
output x: both bits %17
output l: both bits %18
output m: both bits %19
output n: both bits %20
"#;

/// Two parties with the same digest execute the same gates only if their versions of the execution are
/// the same.
#[test]
fn gates_change_with_the_version_of_the_execution() {
    let mut hasher = blake3::Hasher::new();
    let boundaries = Module::parse_text(AT_BOUNDARIES).unwrap();
    let modules = [1, 5, 33, 110].map(module_of_all).into_iter().chain([boundaries]);
    for module in modules {
        let mut gates = DigestGates::new();
        let inputs = gates.inputs(&module.signature());
        let outputs = module.stream().unwrap().run(&mut gates, &inputs);
        let Ok(outputs) = outputs;
        hasher.update(&gates.finish(&outputs));
    }
    // Memories of every kind, of rows that are given and not, whose gates follow from what they take.
    for (blocks, accesses) in [(64, 9), (1_000, 50), (1 << 15, 1 << 20)] {
        for is_given in [false, true] {
            let needs = Needs { is_given, ..Needs::new(blocks, 16, accesses) };
            let plan = Plan::cheapest(needs).unwrap();
            let takes = (plan.start(), plan.access(12, Access::Update), plan.upkeep(accesses));
            hasher.update(format!("{plan:?} {takes:?}").as_bytes());
        }
    }
    let found = hasher.finalize().to_hex();
    assert_eq!(
        (cenote_program::EXECUTION, found.as_str()),
        (11, "ecf1f5088b60482ea0379a04a9d206e868ae74b21b64a554d8d484efb70a51b6"),
        "other gates than before: raise EXECUTION, and note the new digest here"
    );
}
