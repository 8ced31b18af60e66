//! Modules are built, written, read, run and counted.

use cenote_circuit::{Counter, Owner, Receiver, bits_of, value_of};
use cenote_program::{Affine, Builder, Kind, Module, Shape, ValueId, WordOp};

/// The edit distance of two strings of `n` bits, `strip` rows at a time: `n` is a multiple of it.
fn edit_distance(n: u32, strip: u32) -> Module {
    let mut b = Builder::new("edit-distance", "edit distance of two strings of bits").unwrap();
    let x = b.input("x", Owner::Garbler, Kind::Bits, Shape::vector(n, 1)).unwrap();
    let y = b.input("y", Owner::Evaluator, Kind::Bits, Shape::vector(n, 1)).unwrap();
    let bit = |b: &mut Builder, lanes: u32, bit: bool| {
        b.constant(Shape::vector(lanes, 1), &vec![bit; lanes as usize]).unwrap()
    };
    let one = |ids: Vec<_>| ids[0];
    let (plus, minus) = (bit(&mut b, n, true), bit(&mut b, n, false));
    let pad = bit(&mut b, strip - 1, false);
    let padded_y = one(b.word(WordOp::Join, &[], &[pad, y, pad]).unwrap());
    let (strips, top) = b.begin_for(n / strip, &[plus, minus]).unwrap();
    // Row `strip - 1 - i` of the strip is lane i, so that lanes of y run forwards.
    let rows = b.lanes(x, Affine::at(0).plus(strips, i64::from(strip)), strip, 1).unwrap();
    let reversed: Vec<u32> = (0..strip).rev().collect();
    let rows = b.gather(rows, &reversed).unwrap();
    // Cells left of the table: v = 1 and h = -1 reproduce themselves.
    let top_plus = one(b.word(WordOp::Join, &[], &[top[0], pad]).unwrap());
    let top_minus = one(b.word(WordOp::Join, &[], &[top[1], pad]).unwrap());
    let start = [
        bit(&mut b, strip, true),
        bit(&mut b, strip, false),
        bit(&mut b, strip, false),
        bit(&mut b, strip, true),
        top_plus,
        top_minus,
    ];
    let (step, carried) = b.begin_for(n + strip - 1, &start).unwrap();
    let [v_plus, v_minus, h_plus, h_minus, bottom_plus, bottom_minus] = carried[..] else {
        panic!()
    };
    let at = Affine::at(0).plus(step, 1);
    let fresh = [
        b.lanes(bottom_plus, at.clone(), 1, 1).unwrap(),
        b.lanes(bottom_minus, at.clone(), 1, 1).unwrap(),
    ];
    let shift = |b: &mut Builder, old, new| {
        let kept = b.lanes(old, Affine::at(1), strip - 1, 1).unwrap();
        one(b.word(WordOp::Join, &[], &[kept, new]).unwrap())
    };
    let h_plus = shift(&mut b, h_plus, fresh[0]);
    let h_minus = shift(&mut b, h_minus, fresh[1]);
    let columns = b.lanes(padded_y, at.clone(), strip, 1).unwrap();
    let word = |b: &mut Builder, op, args: &[_]| one(b.word(op, &[], args).unwrap());
    let differs = word(&mut b, WordOp::Xor, &[rows, columns]);
    let [new_v_plus, new_v_minus, new_h_plus, new_h_minus] =
        cells(&mut b, differs, [v_plus, v_minus], [h_plus, h_minus]);
    let first = [
        b.lanes(new_h_plus, Affine::at(0), 1, 1).unwrap(),
        b.lanes(new_h_minus, Affine::at(0), 1, 1).unwrap(),
    ];
    let bottom_plus = b.put(bottom_plus, at.clone(), first[0]).unwrap();
    let bottom_minus = b.put(bottom_minus, at, first[1]).unwrap();
    let carried = b
        .end_for(&[new_v_plus, new_v_minus, new_h_plus, new_h_minus, bottom_plus, bottom_minus])
        .unwrap();
    let next_plus = b.lanes(carried[4], Affine::at(i64::from(strip) - 1), n, 1).unwrap();
    let next_minus = b.lanes(carried[5], Affine::at(i64::from(strip) - 1), n, 1).unwrap();
    let bottom = b.end_for(&[next_plus, next_minus]).unwrap();
    let distance = total(&mut b, n, [bottom[0], bottom[1]]);
    b.output("distance", Receiver::Both, Kind::UInt, distance).unwrap();
    b.finish().unwrap()
}

/// The last entry of the table: that of the left column, and the deltas of the bottom row.
fn total(b: &mut Builder, n: u32, bottom: [ValueId; 2]) -> ValueId {
    let width = 2 * n.ilog2() + 2;
    let left = b.constant(Shape::word(width), &bits_of(u128::from(n), width as usize)).unwrap();
    let ups = b.word(WordOp::Sum, &[width, 1], &[bottom[0]]).unwrap()[0];
    let downs = b.word(WordOp::Sum, &[width, 1], &[bottom[1]]).unwrap()[0];
    let up = b.word(WordOp::Add, &[], &[left, ups]).unwrap()[0];
    b.word(WordOp::Sub, &[], &[up, downs]).unwrap()[0]
}

/// New deltas of cells of the table, from those on the left and above.
fn cells(
    b: &mut Builder,
    differs: ValueId,
    [v_plus, v_minus]: [ValueId; 2],
    [h_plus, h_minus]: [ValueId; 2],
) -> [ValueId; 4] {
    let mut word = |op, args: &[ValueId]| b.word(op, &[], args).unwrap()[0];
    let (v_ok, h_ok) = (word(WordOp::Not, &[v_minus]), word(WordOp::Not, &[h_minus]));
    let ok = word(WordOp::And, &[v_ok, h_ok]);
    let d = word(WordOp::And, &[differs, ok]);
    let not_d = word(WordOp::Not, &[d]);
    let new_v_minus = word(WordOp::And, &[h_plus, not_d]);
    let new_h_minus = word(WordOp::And, &[v_plus, not_d]);
    let mut sum = |terms: [ValueId; 4]| {
        terms[1..].iter().fold(terms[0], |sum, term| word(WordOp::Xor, &[sum, *term]))
    };
    let new_v_plus = sum([d, h_plus, new_v_minus, h_minus]);
    let new_h_plus = sum([d, v_plus, new_h_minus, v_minus]);
    [new_v_plus, new_v_minus, new_h_plus, new_h_minus]
}

#[test]
fn forms_round_trip() {
    let module = edit_distance(8, 4);
    let bytes = module.to_bytes();
    assert_eq!(Module::from_bytes(&bytes).unwrap(), module);
    let text = module.to_text();
    let parsed = Module::parse_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(parsed, module);
    assert_eq!(parsed.to_text(), text);
    assert!(bytes.len() < 1000, "{}", bytes.len());
}

fn levenshtein(a: &[bool], b: &[bool]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let best = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row[b.len()]
}

#[test]
fn edit_distances_are_right() {
    for (n, strip) in [(8, 2), (8, 4), (8, 8), (12, 3)] {
        let module = edit_distance(n, strip);
        for seed in 0..20u64 {
            let word = |salt: u64| {
                let mixed = (seed * 2 + salt + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                bits_of(u128::from(mixed >> 20), n as usize)
            };
            let (x, y) = (word(0), word(1));
            let expected = levenshtein(&x, &y) as u128;
            let got = module.evaluate(&[x, y]);
            assert_eq!(value_of(&got[0]), expected, "n {n}, strip {strip}, seed {seed}");
        }
    }
}

#[test]
fn counts_are_those_of_the_stream() {
    let module = edit_distance(12, 3);
    let stats = module.stats().unwrap();
    let counts = Counter::count(&module.stream().unwrap());
    assert_eq!((stats.ands, stats.xors, stats.nots), (counts.and, counts.xor, counts.not));
    assert_eq!(stats.batches, counts.and_batches);
    assert!(stats.depth >= u64::from(counts.and_depth));
}

/// Squares, side by side, of numbers of 4 bits, plus a number both know and one they do not.
fn squares() -> Module {
    let mut b = Builder::new("squares", "").unwrap();
    let x = b.input("x", Owner::Garbler, Kind::UInt, Shape::vector(6, 4)).unwrap();
    let y = b.input("y", Owner::Evaluator, Kind::UInt, Shape::word(8)).unwrap();
    let outer = b.begin_map(2, &[x]).unwrap()[0];
    let inner = b.begin_map(3, &[outer]).unwrap()[0];
    let square = b.word(WordOp::SquareFull, &[], &[inner]).unwrap()[0];
    let sum = b.word(WordOp::Add, &[], &[square, y]).unwrap()[0];
    let known = b.constant(Shape::word(8), &bits_of(3, 8)).unwrap();
    let sum = b.word(WordOp::Add, &[], &[sum, known]).unwrap()[0];
    let results = b.end_map(&[sum]).unwrap();
    let results = b.end_map(&results).unwrap();
    b.output("z", Receiver::Both, Kind::UInt, results[0]).unwrap();
    b.finish().unwrap()
}

#[test]
fn maps_run_side_by_side() {
    let module = squares();
    let x: Vec<bool> = (0..6).flat_map(|i| bits_of(2 * i + 1, 4)).collect();
    let z = module.evaluate(&[x, bits_of(100, 8)]);
    let values: Vec<u128> = z[0].chunks(8).map(value_of).collect();
    let expected: Vec<u128> = (0..6u128).map(|i| ((2 * i + 1).pow(2) + 103) % 256).collect();
    assert_eq!(values, expected);
    let stats = module.stats().unwrap();
    let counts = Counter::count(&module.stream().unwrap());
    assert_eq!((stats.ands, stats.xors, stats.nots), (counts.and, counts.xor, counts.not));
    assert_eq!(Module::parse_text(&module.to_text()).unwrap(), module);
}
