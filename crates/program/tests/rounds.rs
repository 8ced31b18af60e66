//! Loops whose rounds are played as tapes give what the same loops give round by round.

use std::convert::Infallible;

use cenote_circuit::{Clear, Counter, Gates, Operand, Program, Tape};
use cenote_program::Module;

/// Rounds of every loop here: in one loop they can be a tape, in loops of five each they are too few for that.
const ROUNDS: usize = 20;

/// What bodies read: vectors of 40 and 31 words, one as wide as bodies work on, a word, bits, and constants.
const HEAD: &str = r#"cenote 1
program rounds ""
circuit turn (b3) -> (b3) {
and 0 1
not 3
xor 2 4
yield 5 0 4
}
input a: garbler bits 40xb3
input b: evaluator bits 12xb3
input c: garbler bits b3
input d: evaluator bits 12xb1
input r: evaluator bits 31xb3
{
%5 = const b3 0x5
%6 = const 12xb3 all 0x3
"#;

struct Loop {
    what: &'static str,
    is_tape: bool,
    carried: &'static str,
    /// `@` is the number of the round.
    body: &'static str,
}

const fn tape(what: &'static str, carried: &'static str, body: &'static str) -> Loop {
    Loop { what, is_tape: true, carried, body }
}

const fn no_tape(what: &'static str, carried: &'static str, body: &'static str) -> Loop {
    Loop { what, is_tape: false, carried, body }
}

const LOOPS: &[Loop] = &[
    tape(
        "words one after the other",
        "%2",
        "%w = lanes{at=3 + @, count=1, stride=1} %0\n%s = add %p0, %w\nyield %s",
    ),
    tape(
        "a constant",
        "%2",
        "%w = lanes{at=0 + @, count=1, stride=1} %0\n%s = add %p0, %5\n%t = mul %s, %w\nyield %t",
    ),
    tape(
        "some words at once",
        "%2",
        "%w = lanes{at=1 + @, count=4, stride=1} %0\n%s = sum{width=3, groups=1} %w\n%t = xor %s, %p0\nyield %t",
    ),
    tape("two change places", "%2, %5", "%s = add %p0, %p1\nyield %p1, %s"),
    tape(
        "one goes on, one stays, one is from outside",
        "%2, %5, %2",
        "%s = mul %p0, %2\nyield %s, %p1, %5",
    ),
    tape("the same twice", "%2, %5", "%s = add %p0, %p1\nyield %s, %s"),
    tape(
        "a word is put into a ring and read again",
        "%4, %2",
        "%w = lanes{at=0 + @, count=1, stride=1} %p0\n%s = mul %w, %p1\n%r = put{at=11 + @} %p0, %s\n%t = add %s, %w\nyield %r, %t",
    ),
    tape(
        "two words are put, the second over the first",
        "%4, %2",
        "%s = add %p1, %5\n%q = put{at=2 + @} %p0, %s\n%r = put{at=2 + @} %q, %p1\nyield %r, %s",
    ),
    tape(
        "a word of a constant that moves",
        "%2",
        "%w = lanes{at=0 + @, count=1, stride=1} %8\n%s = mul %w, %p0\n%t = add %s, %2\nyield %t",
    ),
    tape(
        "lanes side by side",
        "%1",
        "%w = lanes{at=0 + @, count=12, stride=1} %4\n%s = add %p0, %w\nyield %s",
    ),
    tape(
        "lanes with one word for all, and constants",
        "%1",
        "%w = lanes{at=2 + @, count=1, stride=1} %0\n%s = mul %p0, %w\n%t = xor %s, %6\n%u = add %t, %5\nyield %u",
    ),
    tape(
        "each lane chooses for itself",
        "%1",
        "%w = lanes{at=0 + @, count=12, stride=1} %4\n%m = mux %3, %p0, %w\n%s = sub %m, %2\nyield %s",
    ),
    tape(
        "lanes are put into a ring",
        "%4, %1",
        "%w = lanes{at=0 + @, count=12, stride=1} %p0\n%s = add %w, %p1\n%q = not %s\n%r = put{at=0 + @} %p0, %q\nyield %r, %s",
    ),
    tape(
        "every other lane",
        "%1",
        "%w = lanes{at=0 + @, count=12, stride=1} %0\n%x = lanes{at=0, count=12, stride=2} %4\n%s = mul %w, %x\n%t = xor %s, %p0\nyield %t",
    ),
    tape(
        "bits side by side",
        "%3",
        "%w = lanes{at=0 + @, count=12, stride=1} %4\n%k = slice{lo=2, width=1} %w\n%s = xor %p0, %k\n%t = and %s, %3\nyield %t",
    ),
    tape(
        "what is put is used up after it",
        "%4, %2",
        "%s = add %p1, %5\n%q = put{at=0 + @} %p0, %s\n%m = join %p1, %p1\n%n = put{at=0} %m, %s\n%t = lanes{at=0, count=1, stride=1} %n\n%u = mul %t, %p1\nyield %q, %u",
    ),
    tape(
        "what is put goes through a circuit after it",
        "%4, %2",
        "%q = put{at=0 + @} %p0, %p1\n%s = call turn (%p1)\nyield %q, %s",
    ),
    no_tape(
        "one bit chooses for all lanes",
        "%1",
        "%w = lanes{at=0 + @, count=12, stride=1} %4\n%k = slice{lo=1, width=1} %2\n%m = mux %k, %p0, %w\nyield %m",
    ),
    no_tape(
        "lanes backwards",
        "%1",
        "%w = lanes{at=11 + @, count=12, stride=-1} %4\n%s = add %w, %p0\n%t = add %s, %2\nyield %t",
    ),
    no_tape(
        "lanes are added up",
        "%2",
        "%w = lanes{at=0 + @, count=12, stride=1} %4\n%s = sum{width=3, groups=1} %w\n%t = add %s, %p0\nyield %t",
    ),
    no_tape(
        "what is put is read in the same round",
        "%4, %2",
        "%r = put{at=0 + @} %p0, %p1\n%w = lanes{at=1 + @, count=1, stride=1} %r\n%s = add %w, %p1\nyield %r, %s",
    ),
    no_tape(
        "lanes go round",
        "%1",
        "%j = join %p0, %2\n%g = gather{12, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10} %j\n%s = add %g, %1\n%t = add %s, %2\nyield %t",
    ),
    tape(
        "a part of a constant that stays",
        "%2",
        "%w = lanes{at=3, count=1, stride=1} %8\n%s = mul %w, %p0\n%t = add %s, %2\nyield %t",
    ),
];

impl Loop {
    /// One loop, or a loop of loops of five rounds.
    fn module(&self, nested: bool) -> Module {
        let carried = self.carried;
        let count = carried.split(", ").count();
        let list = |prefix: &str| {
            let names: Vec<String> = (0..count).map(|i| format!("%{prefix}{i}")).collect();
            names.join(", ")
        };
        let [z, o, i, p] = ["z", "o", "i", "p"].map(list);
        let text = if nested {
            let (trips, body) = (ROUNDS / 5, self.body.replace('@', "5*i0 + 1*i1"));
            format!(
                "{z} = for {trips} ({carried}) {{ |{o}|\n{i} = for 5 ({o}) {{ |{p}|\n{body}\n}}\nyield {i}\n}}\n"
            )
        } else {
            let body = self.body.replace('@', "1*i0");
            format!("{z} = for {ROUNDS} ({carried}) {{ |{p}|\n{body}\n}}\n")
        };
        let words: Vec<String> = (0..31).map(|i| format!("0x{}", i * i % 8)).collect();
        let outputs: String =
            (0..count).map(|i| format!("output z{i}: both bits %z{i}\n")).collect();
        let text = format!("{HEAD}%8 = const 31xb3 {}\n{text}}}\n{outputs}", words.join(" "));
        Module::parse_text(&text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", self.what))
    }
}

/// The clear, which counts tapes, and plays them on arrays or gate by gate.
struct Plays {
    tapes: usize,
    on_arrays: bool,
}

impl Gates for Plays {
    type Wire = bool;
    type Error = Infallible;

    fn constant(&mut self, bit: bool) -> Result<bool, Infallible> {
        Ok(bit)
    }

    fn xor(&mut self, a: &bool, b: &bool) -> Result<bool, Infallible> {
        Ok(a ^ b)
    }

    fn not(&mut self, a: &bool) -> Result<bool, Infallible> {
        Ok(!a)
    }

    fn and(&mut self, a: &bool, b: &bool) -> Result<bool, Infallible> {
        Ok(a & b)
    }

    fn play(
        &mut self,
        tape: &Tape,
        lanes: usize,
        operands: &[Operand<'_, bool>],
        out: &mut [Vec<bool>],
    ) -> Result<(), Infallible> {
        self.tapes += 1;
        if self.on_arrays {
            return Clear.play(tape, lanes, operands, out);
        }
        tape.by_gates(self, [lanes, tape.lanes_together()], operands, out)
    }
}

fn inputs(module: &Module, seed: usize) -> Vec<Vec<bool>> {
    let bits = |(port, bits): (usize, usize)| {
        let bit = |i: usize| (i * i + 7 * i * (port + seed) + i / 3 + seed) % 5 < 2;
        (0..bits).map(bit).collect()
    };
    module.inputs().iter().map(|input| input.shape.bits()).enumerate().map(bits).collect()
}

#[test]
fn rounds_as_tapes_give_what_rounds_give() {
    for one in LOOPS {
        let (long, short) = (one.module(false), one.module(true));
        for seed in 0..8 {
            let inputs = inputs(&long, seed);
            for on_arrays in [true, false] {
                let mut machine = Plays { tapes: 0, on_arrays };
                let Ok(given) = long.stream().unwrap().run(&mut machine, &inputs);
                assert_eq!(given, short.evaluate(&inputs), "{}", one.what);
                let tapes = machine.tapes;
                assert_eq!(tapes == ROUNDS, one.is_tape, "{}: {tapes} tapes", one.what);
            }
        }
    }
}

#[test]
fn rounds_cost_what_is_counted_of_them_and_no_more_than_without_tapes() {
    for one in LOOPS {
        let (long, short) = (one.module(false), one.module(true));
        let (stats, without) = (long.stats().unwrap(), short.stats().unwrap());
        let counts = Counter::count(&long.stream().unwrap());
        let (xors, ands) = ((stats.xors, stats.nots), (stats.ands, stats.batches));
        assert_eq!(ands, (counts.and, counts.and_batches), "{}", one.what);
        assert_eq!(xors, (counts.xor, counts.not), "{}", one.what);
        assert_eq!((stats.ands, stats.xors), (without.ands, without.xors), "{}", one.what);
    }
}
