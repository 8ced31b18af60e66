//! Refusals, and the words that say why.

use cenote_circuit::{Circuit, Gate, Receivers, Role, Signature};
use cenote_program::{Affine, BuildError, Builder, Kind, Module, Shape, ValueId, WordOp};

const TOO_LARGE: &str = "too large: a word has at most 16777216 bits and a value 67108864; go through it in parts, in a loop";

/// A builder with a word of 8 bits, four of them, and one bit.
fn start() -> (Builder, [ValueId; 3]) {
    let mut b = Builder::new("errors", "").unwrap();
    let word = b.input("word", Role::Garbler, Kind::UInt, Shape::word(8)).unwrap();
    let four = b.input("four", Role::Evaluator, Kind::UInt, Shape::vector(4, 8)).unwrap();
    let bit = b.input("bit", Role::Evaluator, Kind::Bool, Shape::word(1)).unwrap();
    (b, [word, four, bit])
}

/// Returns what the builder says to a call on a fresh module.
fn refused<T>(call: impl FnOnce(&mut Builder, [ValueId; 3]) -> Result<T, BuildError>) -> String {
    let (mut b, values) = start();
    call(&mut b, values).err().map_or("accepted".to_owned(), |error| error.to_string())
}

/// Returns what the builder says to an operation.
fn word(op: WordOp, attrs: &[u32], args: &[usize]) -> String {
    refused(|b, values| {
        let args: Vec<ValueId> = args.iter().map(|i| values[*i]).collect();
        b.word(op, attrs, &args)
    })
}

const WORD: usize = 0;
const FOUR: usize = 1;
const BIT: usize = 2;

#[test]
fn names_and_ports() {
    let name = |name: &str| Builder::new(name, "").err().unwrap().to_string();
    let rule = "is no name: use at most 256 letters, digits and _ - ., a letter first";
    assert_eq!(name(""), format!("`` {rule}"));
    assert_eq!(name("1st"), format!("`1st` {rule}"));
    assert_eq!(name("a\nb"), format!("`a\\nb` {rule}"));
    let about = Builder::new("a", "two\nlines").err().unwrap().to_string();
    assert_eq!(about, "the text about a module is one line of at most 4096 bytes, all visible");
    let input = |kind, shape| refused(|b, _| b.input("x", Role::Garbler, kind, shape));
    assert_eq!(input(Kind::Bool, Shape::word(2)), "port `x`: b2 is no bool, which is one bit");
    let fixed = input(Kind::Fixed { fraction: 8 }, Shape::word(8));
    assert_eq!(fixed, "port `x`: b8 is no fixed.8, which has more than 8 bits");
    assert_eq!(input(Kind::Bits, Shape::word(0)), "b0 is empty");
    let huge = input(Kind::Bits, Shape::vector(1 << 20, 1 << 20));
    assert_eq!(huge, format!("1048576xb1048576 is {TOO_LARGE}"));
    let twice = refused(|b, _| b.input("bit", Role::Garbler, Kind::Bits, Shape::word(1)));
    assert_eq!(twice, "there are two inputs `bit`");
    let late = refused(|b, [word, ..]| {
        b.word(WordOp::Not, &[], &[word])?;
        b.input("late", Role::Garbler, Kind::Bits, Shape::word(1))
    });
    assert_eq!(late, "input `late` comes after a statement; move it up");
    let outputs = refused(|b, [word, ..]| {
        b.output("z", Receivers::Both, Kind::UInt, word)?;
        b.output("z", Receivers::Both, Kind::UInt, word)
    });
    assert_eq!(outputs, "there are two outputs `z`");
    let inside = refused(|b, [word, ..]| {
        b.begin_for(2, &[])?;
        b.output("z", Receivers::Both, Kind::UInt, word)
    });
    assert_eq!(inside, "outputs are values of the main block; end the blocks first");
    let many = refused(|b, _| {
        (0..5000).try_for_each(|i| {
            b.input(&format!("n{i}"), Role::Garbler, Kind::Bits, Shape::word(1)).map(drop)
        })
    });
    assert_eq!(many, "more than 4096 inputs");
    let many = refused(|b, [word, ..]| {
        (0..5000).try_for_each(|i| b.output(&format!("n{i}"), Receivers::Both, Kind::Bits, word))
    });
    assert_eq!(many, "more than 4096 outputs");
}

// Long: a table.
#[test]
fn operands_and_attributes() {
    use WordOp::*;
    let cases = [
        (word(Add, &[], &[WORD]), "`add` takes 2 operands, 1 were given"),
        (word(Concat, &[], &[]), "`concat` takes at least one operand"),
        (word(Slice, &[1], &[WORD]), "`slice` takes the attributes [lo, width], 1 were given"),
        (word(Slice, &[7, 2], &[WORD]), "`slice`: bits 7..9 of b8"),
        (word(Slice, &[u32::MAX, 2], &[WORD]), "`slice`: the slice ends too far out"),
        (word(Slice, &[0, 0], &[WORD]), "`slice` would give b0, which is empty"),
        (word(Zext, &[4], &[WORD]), "`zext`: b8 is wider than 4; take a slice"),
        (
            word(Add, &[], &[WORD, BIT]),
            "`add`: b8 and b1 differ in width; extend the narrower with zext or sext",
        ),
        (
            word(Mux, &[], &[WORD, WORD, WORD]),
            "`mux`: the first operand has one bit a lane, not b8",
        ),
        (word(Join, &[], &[WORD, BIT]), "`join`: b8 and b1 differ in width"),
        (word(Tile, &[0], &[WORD]), "`tile` would give 0xb8, which is empty"),
        (word(Tile, &[u32::MAX], &[FOUR]), "`tile`: too many lanes"),
        (word(Reshape, &[3, 8], &[FOUR]), "`reshape`: 4xb8 has 32 bits, 3xb8 has 24"),
        (word(Transpose, &[3], &[FOUR]), "`transpose`: 4 lanes do not split into 3 rows"),
        (word(Sum, &[8, 3], &[FOUR]), "`sum`: 4 lanes do not split into 3 groups"),
        (word(Rand, &[0], &[FOUR]), "`rand`: 4 lanes do not split into 0 groups"),
        (word(Sum, &[5000, 1], &[FOUR]), "`sum`: numbers have at most 4096 bits, not 5000"),
        (word(ArgMin, &[], &[WORD]), "`argmin`: one lane has no position; it is its own extreme"),
        (word(Sort, &[4, 5, 0, 0], &[FOUR]), "`sort`: a key in bits 4..9 of 4xb8"),
        (word(Sort, &[0, 8, 2, 0], &[FOUR]), "`sort`: signed and descending are 0 or 1"),
        (word(TopK, &[5, 0, 8, 0, 0], &[FOUR]), "`topk`: 5 of 4 lanes"),
        (word(MatMul, &[3, 1, 8, 0], &[FOUR, FOUR]), "`matmul`: 4xb8 is not a matrix of 3 x 1"),
        (
            word(MatMul, &[1, 4, 8, 0], &[FOUR, WORD]),
            "`matmul`: 1 lanes do not split into 4 rows of the second matrix",
        ),
        (
            word(Store, &[], &[FOUR, WORD, BIT, BIT]),
            "`store`: one position, one value of b8 and one bit, not b8, b1 and b1",
        ),
    ];
    for (got, expected) in cases {
        assert_eq!(got, expected);
    }
    let wide = refused(|b, [word, ..]| {
        let wide = b.word(Zext, &[33], &[word])?[0];
        b.word(ShlBy, &[], &[word, wide])
    });
    assert_eq!(wide, "`shlby`: a shift by b33; 32 bits are enough");
    let index = refused(|b, [word, four, _]| {
        let wide = b.word(Zext, &[33], &[word])?[0];
        b.word(Lookup, &[], &[four, wide])
    });
    assert_eq!(index, "`lookup`: a position of b33; 32 bits are enough");
    let lanes = refused(|b, [_, four, _]| {
        let three = b.lanes(four, Affine::at(0), 3, 1)?;
        b.word(Xor, &[], &[four, three])
    });
    assert_eq!(lanes, "`xor`: 3xb8 and 4 lanes do not go together; use one lane or as many");
    let number = refused(|b, [word, ..]| {
        let wide = b.word(Zext, &[4097], &[word])?[0];
        b.word(Mul, &[], &[wide, wide])
    });
    assert_eq!(number, "`mul`: numbers have at most 4096 bits, not 4097");
}

#[test]
fn constants_and_positions() {
    let bits = refused(|b, _| b.constant(Shape::word(8), &[true; 7]));
    assert_eq!(bits, "a constant of b8 has 8 bits, 7 were given");
    let lanes = |at: i64, count, stride| {
        refused(|b, [_, four, _]| b.lanes(four, Affine::at(at), count, stride))
    };
    assert_eq!(lanes(2, 3, 1), "`lanes` reaches lanes 2 to 4 of 4");
    assert_eq!(lanes(0, 2, -1), "`lanes` reaches lanes -1 to 0 of 4");
    assert_eq!(lanes(0, 0, 0), "0xb8 is empty");
    assert_eq!(lanes(0, 3, i64::MAX), "`lanes`: a stride too large");
    let far = "`lanes`: a loop counter that is not in scope, or a position too far out";
    assert_eq!(lanes(i64::MAX, 2, 1), far);
    let gone = refused(|b, [_, four, _]| {
        let (var, _) = b.begin_for(2, &[])?;
        b.end_for(&[])?;
        b.lanes(four, Affine::at(0).plus(var, 1), 1, 1)
    });
    assert_eq!(gone, far);
    let moving = refused(|b, [_, four, _]| {
        let (var, _) = b.begin_for(3, &[])?;
        b.lanes(four, Affine::at(0).plus(var, 2), 1, 1)
    });
    assert_eq!(moving, "`lanes` reaches lanes 0 to 4 of 4");
    let put = refused(|b, [_, four, bit]| b.put(four, Affine::at(0), bit));
    assert_eq!(put, "`put`: b1 into 4xb8, of another width");
    let put = refused(|b, [word, four, _]| b.put(four, Affine::at(4), word));
    assert_eq!(put, "`put` reaches lanes 4 to 4 of 4");
    let gather = refused(|b, [_, four, _]| b.gather(four, &[0, 4]));
    assert_eq!(gather, "`gather`: lane 4 of 4xb8");
    assert_eq!(refused(|b, [_, four, _]| b.gather(four, &[])), "0xb8 is empty");
}

#[test]
fn loops_maps_and_branches() {
    let trips = refused(|b, _| b.begin_for(0, &[]));
    assert_eq!(trips, "a loop runs 1 to 1073741824 times, not 0");
    let trips = refused(|b, _| b.begin_map((1 << 30) + 1, &[]));
    assert_eq!(trips, "a loop runs 1 to 1073741824 times, not 1073741825");
    let carried = refused(|b, [word, four, _]| {
        b.begin_for(2, &[word])?;
        b.end_for(&[four])
    });
    assert_eq!(carried, "the loop carries (b8), its body gives (4xb8)");
    assert_eq!(refused(|b, _| b.end_for(&[])), "there is no open loop");
    assert_eq!(refused(|b, _| b.end_map(&[])), "there is no open map");
    assert_eq!(refused(|b, _| b.begin_else(&[])), "there is no open `if`");
    assert_eq!(refused(|b, _| b.end_if(&[])), "there is no open `else`");
    let parts = refused(|b, [_, four, _]| b.begin_map(3, &[four]));
    assert_eq!(parts, "`map`: the lanes of 4xb8 do not split into 3 parts");
    let large = refused(|b, [word, ..]| {
        b.begin_map(1 << 30, &[])?;
        b.end_map(&[word])
    });
    assert_eq!(large, format!("1073741824xb8 is {TOO_LARGE}"));
    let secret = refused(|b, [_, _, bit]| b.begin_if(bit));
    let rule = "`if` takes one public bit; choose between secrets with mux, or reveal the bit";
    assert_eq!(secret, rule);
    let wide = refused(|b, [word, ..]| {
        let word = b.reveal(word)?;
        b.begin_if(word)
    });
    assert_eq!(wide, rule);
    let branches = refused(|b, [word, four, bit]| {
        let bit = b.reveal(bit)?;
        b.begin_if(bit)?;
        b.begin_else(&[word])?;
        b.end_if(&[four])
    });
    assert_eq!(branches, "one branch gives (b8), the other (4xb8)");
    let hidden = refused(|b, [word, ..]| {
        b.begin_for(2, &[])?;
        let inside = b.word(WordOp::Not, &[], &[word])?;
        b.end_for(&[])?;
        b.word(WordOp::Not, &[], &inside)
    });
    assert_eq!(hidden, "value 3 is not defined here; blocks see what encloses them");
    let map = refused(|b, [word, ..]| {
        b.begin_map(2, &[])?;
        b.reveal(word)
    });
    assert_eq!(map, "nothing is revealed inside a map; reveal its results");
    let deep = refused(|b, _| (0..40).try_for_each(|_| b.begin_for(2, &[]).map(drop)));
    assert_eq!(deep, "blocks are nested more than 32 deep");
    let (mut b, _) = start();
    b.begin_for(2, &[]).unwrap();
    assert_eq!(b.finish().unwrap_err().to_string(), "blocks or functions are still open");
}

#[test]
fn functions_and_circuits() {
    let twice = refused(|b, _| {
        b.begin_function("f", &[])?;
        b.end_function(&[])?;
        b.begin_function("f", &[])
    });
    assert_eq!(twice, "there are two functions `f`");
    assert_eq!(refused(|b, _| b.end_function(&[])), "there is no open function");
    let open = refused(|b, _| {
        b.begin_function("f", &[])?;
        b.begin_for(2, &[])?;
        b.end_function(&[])
    });
    assert_eq!(open, "blocks of the function are still open");
    let deep =
        refused(|b, _| (0..40).try_for_each(|i| b.begin_function(&format!("f{i}"), &[]).map(drop)));
    assert_eq!(deep, "functions are nested more than 32 deep: does one use itself?");
    let many = refused(|b, _| {
        (0..5000).try_for_each(|i| {
            b.begin_function(&format!("f{i}"), &[])?;
            b.end_function(&[]).map(drop)
        })
    });
    assert_eq!(many, "more than 4096 functions");
    let args = refused(|b, [word, ..]| {
        b.begin_function("f", &[Shape::word(3)])?;
        let f = b.end_function(&[])?;
        b.call(f, &[word])
    });
    assert_eq!(args, "`f` takes (b3), not (b8)");
    let reveals = refused(|b, [_, _, bit]| {
        let params = b.begin_function("f", &[Shape::word(1)])?;
        let opened = b.reveal(params[0])?;
        let f = b.end_function(&[opened])?;
        b.begin_map(2, &[])?;
        b.call(f, &[bit])
    });
    assert_eq!(reveals, "`f` reveals something, which no map may do");
    let stranger = {
        let (mut b, _) = start();
        b.begin_function("f", &[]).unwrap();
        b.end_function(&[]).unwrap()
    };
    assert_eq!(refused(|b, _| b.call(stranger, &[])), "there is no such function");
    let circuit = || {
        let signature = Signature::new().input("a", 2, None).output("z", 1, None);
        Circuit::new("and", signature, vec![Gate::And(0, 1)], vec![2]).unwrap()
    };
    let ports = refused(|b, _| b.circuit("and", circuit(), &[Shape::word(3)], &[Shape::word(1)]));
    assert_eq!(ports, "circuit `and` has input ports of [2] bits, not [3]");
    let ports = refused(|b, _| b.circuit("and", circuit(), &[Shape::word(2)], &[]));
    assert_eq!(ports, "circuit `and` has output ports of [1] bits, not []");
}

#[test]
fn memory_is_bounded() {
    let (mut b, [word, ..]) = start();
    let mut values = Vec::new();
    for _ in 0..5 {
        values.push(b.word(WordOp::Tile, &[1 << 23], &[word]).unwrap()[0]);
    }
    b.word(WordOp::Join, &[], &values[..1]).unwrap();
    for value in &values {
        b.word(WordOp::Not, &[], &[*value]).unwrap();
    }
    let error = b.finish().unwrap_err().to_string();
    let expected = "bits are alive at once, more than 268435456; map over fewer lanes, or loop";
    assert!(error.ends_with(expected), "{error}");
}

/// A module that holds everything the text form has.
const TEXT: &str = "\
cenote 1
program demo \"all of it\"
function twice (%0: b8) {
  %1 = add %0, %0
  yield %1
}
circuit both (b2) -> (b1) {
  and 0 1
  yield 2
}
input x: garbler uint b8
input y: evaluator uint 4xb8
{
  %2 = const 2xb8 0x01 0x02
  %5 = for 4 (%0) { |%3|
    %4 = lanes{at=0 + 1*i0, count=1, stride=1} %1
    yield %4
  }
  %6 = call twice (%5)
  %7 = slice{lo=0, width=1} %6
  %8 = reveal %7
  %9 = if %8 {
    yield %5
  } else {
    yield %0
  }
}
output z: both uint %9
";

#[test]
fn the_text_is_canonical() {
    let module = Module::parse_text(TEXT).unwrap();
    assert_eq!(module.to_text(), TEXT);
    let free = TEXT.replace("%5", "%sum").replace(" {", "{ # opens\n").replace(", ", ",");
    assert_eq!(Module::parse_text(&free).unwrap(), module);
}

/// The message for the text with its only `from` replaced.
fn broken(from: &str, to: &str) -> String {
    assert_eq!(TEXT.matches(from).count(), 1, "{from}");
    let error = Module::parse_text(&TEXT.replace(from, to)).err();
    error.map_or("accepted".to_owned(), |error| error.to_string())
}

// Long: a table.
#[test]
fn texts_say_where_they_are_wrong() {
    let cases = [
        ("cenote 1", "cenote 5", "1:8: expected version 1, 2, 3 or 4, found `5`"),
        ("cenote 1", "", "2:1: expected `cenote`, found `program`"),
        (
            "program demo",
            "program 7",
            "2:9: `7` is no name: use at most 256 letters, digits and _ - ., a letter first",
        ),
        (
            "\"all of it\"",
            "all",
            "2:14: expected a text that says what the program is for, found `all`",
        ),
        ("\"all of it\"", "\"all of it", "2:14: the text does not end on its line; end it with \""),
        ("\"all of it\"", "\"all\\n\"", "2:14: after \\ comes \" or \\"),
        ("(%0: b8)", "(%0: 8)", "3:21: expected a shape like b32 or 100xb32, found `8`"),
        ("(%0: b8)", "(0: b8)", "3:17: expected a value like %7, found `0`"),
        ("%1 = add %0, %0", "%1 = add %0, %7", "4:16: `%7` is not defined before this line"),
        ("%1 = add %0, %0", "%0 = add %0, %0", "4:3: %0 is defined twice; choose another name"),
        ("%1 = add %0, %0", "%1, %2 = add %0, %0", "4:3: this gives 1 values, 2 are named"),
        ("%1 = add %0, %0", "%1 = plus %0, %0", "4:8: expected an operation, found `plus`"),
        ("%1 = add %0, %0", "%1 = add %0", "4:8: `add` takes 2 operands, 1 were given"),
        (
            "and 0 1",
            "nand 0 1",
            "8:3: expected a gate: xor, and, not, const or copy; or yield, found `nand`",
        ),
        ("and 0 1", "and 0 2", "7:9: circuit `both`: wire 2 is read before it is written"),
        ("and 0 1", "const 2", "8:9: expected 0 or 1, found `2`"),
        ("garbler uint b8", "alice uint b8", "11:10: expected garbler or evaluator, found `alice`"),
        (
            "garbler uint b8",
            "garbler word b8",
            "11:18: expected a kind: bits, bool, uint, int or fixed.8, found `word`",
        ),
        ("garbler uint b8", "garbler bool b8", "11:7: port `x`: b8 is no bool, which is one bit"),
        ("0x01 0x02", "0x101 0x02", "14:19: the number has more than 8 bits"),
        ("0x01 0x02", "0x01 2", "14:24: expected a hexadecimal number like 0x2a, found `2`"),
        ("2xb8", "0xb8", "14:14: 0xb8 is empty"),
        ("for 4", "for many", "15:12: expected how often the loop runs, found `many`"),
        ("for 4", "for 5", "16:15: `lanes` reaches lanes 0 to 4 of 4"),
        ("|%3|", "%3", "15:21: expected `|`, found `%3`"),
        ("1*i0", "1*i1", "16:25: expected the counter of a loop around this statement, found `i1`"),
        (
            "1*i0",
            "99999999999999999999*i0",
            "16:23: expected a factor, found `99999999999999999999`",
        ),
        (
            "    yield %4\n",
            "",
            "17:3: expected a statement, or `yield` and the results of the block, found `}`",
        ),
        ("yield %4", "yield %1", "15:8: the loop carries (b8), its body gives (4xb8)"),
        (
            "call twice",
            "call thrice",
            "19:13: expected a function that is defined above, found `thrice`",
        ),
        ("reveal %7", "reveal %7, %7", "21:15: 1 operands are needed, 2 are given"),
        (
            "if %8",
            "if %7",
            "22:8: `if` takes one public bit; choose between secrets with mux, or reveal the bit",
        ),
        ("} else {", "} {", "24:5: expected `else`, found `{`"),
        ("both uint %9", "all uint %9", "28:11: expected garbler, evaluator or both, found `all`"),
        ("both uint %9", "both uint %3", "28:21: `%3` is not defined before this line"),
        ("both uint %9", "both uint %9 ;", "28:24: `;` means nothing here"),
        ("both uint %9", "both uint %9 x", "28:24: expected `output`, or the end, found `x`"),
        ("output z", "z", "28:1: expected `output`, or the end, found `z`"),
    ];
    for (from, to, expected) in cases {
        assert_eq!(broken(from, to), expected, "{from} -> {to}");
    }
    // What comes first counts: a text is read no further than to its error.
    let at = |text: &str| Module::parse_text(text).unwrap_err().to_string();
    assert_eq!(at("cenote 5\nprogram ;"), "1:8: expected version 1, 2, 3 or 4, found `5`");
    assert_eq!(at("cenote 1\nprogram 7 ;"), "2:11: `;` means nothing here");
    let missing = broken("%1 = add %0, %0", "%1 = add %0, ;");
    assert_eq!(missing, "4:16: `;` means nothing here");
    let empty = Module::parse_text("").unwrap_err().to_string();
    assert_eq!(empty, "1:1: expected `cenote`, found the end");
}

#[test]
fn bytes_say_where_they_are_wrong() {
    let bytes = Module::parse_text(TEXT).unwrap().to_bytes();
    let read = |bytes: &[u8]| Module::from_bytes(bytes).unwrap_err().to_string();
    assert_eq!(read(b""), "byte 0: this is no program of Cenote");
    let later = read(&[&bytes[..7], &[5], &bytes[8..]].concat());
    assert_eq!(
        later,
        "byte 8: this is a program of version 5; this reader knows version 1, 2, 3 or 4"
    );
    assert_eq!(read(&bytes[..7]), "byte 7: the file ends here");
    let changed = |at: usize, byte: u8| {
        let mut changed = bytes.clone();
        changed[at] = byte;
        read(&changed)
    };
    let longer = read(&[&bytes[..], &[0]].concat());
    assert_eq!(longer, format!("byte {}: there are bytes after the end", bytes.len()));
    assert_eq!(changed(8, 0xff), "byte 10: 12927 items are announced, 113 bytes are left");
    assert_eq!(changed(9, 0xff), "byte 13: text that is not UTF-8");
    // Each byte that is cut off at the end is missed.
    for end in 8..bytes.len() {
        let error = Module::from_bytes(&bytes[..end]).unwrap_err();
        assert!(error.offset <= end && error.offset + 40 >= end, "{end}: {error}");
    }
    // The same number in more bytes is not the one form.
    let mut padded = bytes.clone();
    padded.splice(8..9, [0x84, 0x00]);
    let error = read(&padded);
    assert!(error.ends_with("this is not the one form that the module has"), "{error}");
}

/// A place that the text names is one of the table, wherever the table is; one that is computed, or comes through a loop or a call, may be beyond the end.
#[test]
fn constant_places_are_within_the_table() {
    let place = |lanes: u32, numbers: &[u32], op: WordOp| {
        refused(|b, [word, four, bit]| {
            let bits: Vec<bool> = numbers
                .iter()
                .flat_map(|number| (0..8).map(move |i| number >> i & 1 == 1))
                .collect();
            let place = b.constant(Shape::vector(lanes, 8), &bits)?;
            // Inside of a block as well.
            b.begin_for(2, &[])?;
            let args = [four, place, word, bit];
            b.word(op, &[], &args[..if op == WordOp::Lookup { 2 } else { 4 }])
        })
    };
    assert_eq!(place(1, &[3], WordOp::Lookup), "accepted");
    assert_eq!(place(1, &[3], WordOp::Store), "accepted");
    let beyond = |op, number| {
        format!("`{op}`: the place is {number}, but the table has 4 lanes, numbered from 0")
    };
    assert_eq!(place(1, &[4], WordOp::Lookup), beyond("lookup", 4));
    assert_eq!(place(1, &[255], WordOp::Store), beyond("store", 255));
    assert_eq!(place(3, &[3, 9, 4], WordOp::Lookup), beyond("lookup", 9));

    let text = |memory: &str, body: &str| {
        let version = if memory.contains("ram") { 4 } else { 3 };
        let text = format!(
            "cenote {version}\nprogram p \"\"\ninput t[4]: a uint b8\ninput x: b uint b8\n{memory}{{\n%on = const b1 0x1\n%k = const b4 0x9\n{body}\n}}\n\
             output z: both uint %z\n"
        );
        Module::parse_text(&text).err().map_or("accepted".to_owned(), |error| error.to_string())
    };
    let memory = "memory m[4]: found ram 9 uint b8\n";
    let read = text(memory, "%z = lookup %2, %k");
    assert_eq!(read, format!("9:6: {}", beyond("lookup", 9)));
    let updated = text(memory, "%z = lookup %2, %1\n%n = store %2, %k, %z, %on");
    assert_eq!(updated, format!("10:6: {}", beyond("store", 9)));
    let found = text("memory m[4]: found uint b8\n", "%z = lookup %2, %k");
    assert_eq!(found, format!("9:6: {}", beyond("lookup", 9)));
    let computed = text(memory, "%i = add %k, %k\n%z = lookup %2, %i");
    assert_eq!(computed, "accepted");
    let carried =
        text(memory, "%z, %i = for 2 (%1, %k) { |%x, %p| %r = lookup %0, %p yield %r, %p }");
    assert_eq!(carried, "accepted");
}
