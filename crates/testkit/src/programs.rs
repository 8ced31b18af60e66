//! Programs for the tests: every kind that a backend could treat differently, all small but one.

use cenote_circuit::{
    Gates, Operand, Order, Program, Role, Signature, Starts, Tape, TapeRecorder, TooLong, bits_of,
    gadgets,
};
use cenote_prim::{Block, Prg};

/// The computation of a [`TestProgram`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Sum of two numbers.
    Add,
    /// Less-than, equality and maximum of two numbers.
    Compare,
    /// AES-128 of the evaluator's block under the garbler's key.
    Aes,
    /// Sort of eight rows, four from each side: a 6-bit key with a payload of two bits.
    Sort,
    /// No gates at all: the inputs are the outputs.
    Nothing,
    /// XORs and negations only.
    Linear,
    /// One AND.
    OneAnd,
    /// Constants, repeated wires and gates on one wire twice.
    Constants,
    /// Ports without bits, and a constant.
    Empty,
    /// Only the garbler has an input.
    GarblerOnly,
    /// Only the evaluator has an input.
    EvaluatorOnly,
    /// Ten ANDs of layers two deep: the target of cheats.
    Small,
    /// Sixteen independent ANDs: every packed message fills whole bytes.
    Products,
    /// So many ANDs, half of them a chain, with other gates between.
    Ands(usize),
    /// So many XORs, then one AND.
    Xors(usize),
    /// A hundred ANDs, so many XORs, a hundred ANDs.
    Gap(usize),
    /// So many chunks: each but the last is full of gates, 143 of them independent ANDs, of whose
    /// outputs the first is read in the next chunk. The outputs are the sums of their outputs.
    Chunks(usize),
    /// A stream of so many gates, a quarter of them ANDs, that holds few wires.
    Stream(usize),
    /// The same with one AND in 64 gates.
    Sparse(usize),
    /// 128 ANDs and as many XORs: an output as random as the inputs.
    Mixed,
    /// Products of bits, then the garbler's input.
    Echo,
    /// Multiplexers of the widths [`MUX_WIDTHS`].
    Muxes,
    /// Tapes in both orders on so many lanes, which read words at their places and words for all lanes; ANDs that share an operand, outputs that are inputs or each
    /// other, chains and results that nobody reads.
    Tapes(usize),
    /// Multiplexers whose select or data are ORs, negations, constants, each other, or the same wire.
    MuxEdges,
}

/// One lane, and around each width that a backend could treat in a way of its own.
pub const MUX_WIDTHS: [usize; 8] = [1, 7, 8, 9, 63, 64, 65, 130];

/// One of the test programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TestProgram(pub Kind);

impl TestProgram {
    /// The quick ones: each runs in a moment on every backend.
    pub const QUICK: [TestProgram; 10] = [
        TestProgram(Kind::Add),
        TestProgram(Kind::Compare),
        TestProgram(Kind::Sort),
        TestProgram(Kind::Nothing),
        TestProgram(Kind::Linear),
        TestProgram(Kind::OneAnd),
        TestProgram(Kind::Constants),
        TestProgram(Kind::Empty),
        TestProgram(Kind::GarblerOnly),
        TestProgram(Kind::EvaluatorOnly),
    ];

    /// Inputs for every port, from a seed.
    #[must_use]
    pub fn inputs(self, seed: u128) -> Vec<Vec<bool>> {
        let mut prg = Prg::new(Block::new(seed ^ 0x1217));
        self.signature().inputs.iter().map(|port| random_bits(&mut prg, port.bits)).collect()
    }
}

fn random_bits(prg: &mut Prg, n: usize) -> Vec<bool> {
    let blocks = n.div_ceil(128);
    (0..blocks).flat_map(|_| bits_of(prg.block().to_u128(), 128)).take(n).collect()
}

/// (input bits a side, output ports).
fn shape(kind: Kind) -> ((usize, usize), &'static [usize]) {
    match kind {
        Kind::Add => ((32, 32), &[32]),
        Kind::Compare => ((16, 16), &[1, 1, 16]),
        Kind::Aes => ((128, 128), &[128]),
        Kind::Sort => ((32, 32), &[64]),
        Kind::Nothing => ((9, 5), &[9, 5]),
        Kind::Linear => ((7, 7), &[7, 7]),
        Kind::OneAnd => ((1, 1), &[1]),
        Kind::Constants => ((2, 1), &[9]),
        Kind::Empty => ((0, 0), &[0, 2]),
        Kind::GarblerOnly => ((8, 0), &[4]),
        Kind::EvaluatorOnly => ((0, 8), &[4]),
        Kind::Small => ((5, 5), &[10]),
        Kind::Products => ((16, 16), &[16]),
        Kind::Ands(_) | Kind::Xors(_) | Kind::Gap(_) | Kind::Stream(_) => ((64, 64), &[2]),
        Kind::Chunks(_) => ((13, 11), &[143]),
        Kind::Sparse(_) => ((64, 64), &[1]),
        Kind::Mixed => ((128, 128), &[128]),
        Kind::Echo => ((8, 8), &[8, 8]),
        Kind::Muxes => ((131, 131), &MUX_WIDTHS),
        Kind::MuxEdges => ((9, 9), &[9; 10]),
        Kind::Tapes(_) => ((64, 64), &[32, 32]),
    }
}

impl Program for TestProgram {
    fn name(&self) -> String {
        format!("test {:?}", self.0)
    }

    fn signature(&self) -> Signature {
        let ((x, y), outputs) = shape(self.0);
        let signature = Signature::new().input("x", x, Some(Role::Garbler)).input(
            "y",
            y,
            Some(Role::Evaluator),
        );
        outputs
            .iter()
            .enumerate()
            .fold(signature, |signature, (i, bits)| signature.output(&format!("z{i}"), *bits, None))
    }

    fn run<G: Gates>(
        &self,
        g: &mut G,
        inputs: &[Vec<G::Wire>],
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        let (x, y) = (&inputs[0], &inputs[1]);
        Ok(match self.0 {
            Kind::Add => vec![gadgets::add(g, x, y)?],
            Kind::Compare => {
                let (lt, eq) = (gadgets::lt(g, x, y)?, gadgets::eq(g, x, y)?);
                vec![vec![lt], vec![eq], gadgets::max(g, x, y)?]
            }
            Kind::Aes => vec![gadgets::aes128(g, x, y)?],
            Kind::Sort => {
                let rows: Vec<Vec<G::Wire>> =
                    x.chunks(8).chain(y.chunks(8)).map(<[G::Wire]>::to_vec).collect();
                vec![gadgets::sort(g, &rows, 6, gadgets::Order::Ascending)?.concat()]
            }
            Kind::Nothing => vec![x.clone(), y.clone()],
            Kind::Linear => vec![g.xor_many(x, y)?, gadgets::not_bits(g, x)?],
            Kind::OneAnd | Kind::Products => vec![g.and_many(x, y)?],
            Kind::Constants => vec![constants(g, x, &y[0])?],
            Kind::Empty => vec![Vec::new(), vec![g.constant(true)?, g.constant(false)?]],
            Kind::GarblerOnly => vec![g.and_many(&x[..4], &x[4..])?],
            Kind::EvaluatorOnly => vec![g.and_many(&y[..4], &y[4..])?],
            Kind::Small => {
                let mut first = g.and_many(x, y)?;
                let second = g.and_many(&first, y)?;
                first.extend(second);
                vec![first]
            }
            Kind::Ands(n) => vec![ands(g, x, y, n)?],
            Kind::Xors(n) => vec![xors_then_and(g, x, y, n)?],
            Kind::Gap(n) => {
                let before = ands(g, x, y, 100)?;
                let middle = xors_then_and(g, &before, y, n)?;
                vec![ands(g, &middle, x, 100)?]
            }
            Kind::Chunks(n) => vec![chunks(g, x, y, n)?],
            Kind::Stream(n) => vec![ands(g, x, y, n / 4)?],
            Kind::Sparse(n) => vec![sparse(g, x, y, n / 64)?],
            Kind::Mixed => {
                let mut rotated = x.clone();
                rotated.rotate_left(1);
                let products = g.and_many(x, y)?;
                vec![g.xor_many(&products, &rotated)?]
            }
            Kind::Echo => vec![g.and_many(x, y)?, x.clone()],
            Kind::Muxes => muxes(g, x, y)?,
            Kind::MuxEdges => mux_edges(g, x, y)?,
            Kind::Tapes(lanes) => [Order::Recorded, Order::LAYERS]
                .map(|order| tapes(g, x, y, lanes, order))
                .into_iter()
                .collect::<Result<_, _>>()?,
        })
    }
}

fn constants<G: Gates>(g: &mut G, x: &[G::Wire], y: &G::Wire) -> Result<Vec<G::Wire>, G::Error> {
    let (zero, one) = (g.constant(false)?, g.constant(true)?);
    let (a, b) = (&x[0], &x[1]);
    let masked = g.and(a, &one)?;
    let nothing = g.and(&zero, y)?;
    let flipped = g.xor(y, &one)?;
    let same = g.and(b, b)?;
    let gone = g.xor(b, b)?;
    Ok(vec![one.clone(), zero, a.clone(), a.clone(), masked, nothing, flipped, same, gone])
}

/// `n` ANDs and about three times as many other gates; the two outputs depend on all of them.
fn ands<G: Gates>(
    g: &mut G,
    x: &[G::Wire],
    y: &[G::Wire],
    n: usize,
) -> Result<Vec<G::Wire>, G::Error> {
    let (mut chain, mut sum) = (x[0].clone(), y[0].clone());
    for i in 0..n {
        let mixed = g.xor(&chain, &x[i % x.len()])?;
        if i % 2 == 0 {
            let and = g.and(&mixed, &y[i % y.len()])?;
            chain = g.not(&and)?;
        } else {
            let and = g.and(&x[i % x.len()], &y[(3 * i + 1) % y.len()])?;
            let odd = g.not(&and)?;
            sum = g.xor(&sum, &odd)?;
        }
    }
    Ok(vec![chain, sum])
}

fn xors_then_and<G: Gates>(
    g: &mut G,
    x: &[G::Wire],
    y: &[G::Wire],
    n: usize,
) -> Result<Vec<G::Wire>, G::Error> {
    let (mut a, mut b) = (x[0].clone(), y[0].clone());
    for i in 0..n {
        let next = g.xor(&a, &y[i % y.len()])?;
        (a, b) = (b, next);
    }
    let both = g.and(&a, &b)?;
    Ok(vec![a, both])
}

/// Gates of a full chunk of `wrk` and `yao`.
const CHUNK_GATES: usize = 128 << 10;

fn chunks<G: Gates>(
    g: &mut G,
    x: &[G::Wire],
    y: &[G::Wire],
    n: usize,
) -> Result<Vec<G::Wire>, G::Error> {
    let mut x = x.to_vec();
    let mut sums: Vec<G::Wire> = Vec::new();
    for left in (0..n).rev() {
        let mut products = Vec::new();
        for (a, b) in x.iter().flat_map(|a| y.iter().map(move |b| (a, b))) {
            products.push(g.and(a, b)?);
        }
        let mut gates = products.len();
        let mut chain = products[0].clone();
        if sums.is_empty() {
            sums = products;
        } else {
            sums = g.xor_many(&sums, &products)?;
            gates += products.len();
        }
        if left > 0 {
            for i in gates..CHUNK_GATES {
                chain = g.xor(&chain, &y[i % y.len()])?;
            }
            x.rotate_left(1);
            x[0] = chain;
        }
    }
    Ok(sums)
}

/// `n` ANDs in a chain, each after 62 XORs and before a negation.
fn sparse<G: Gates>(
    g: &mut G,
    x: &[G::Wire],
    y: &[G::Wire],
    n: usize,
) -> Result<Vec<G::Wire>, G::Error> {
    let mut chain = x[0].clone();
    for i in 0..n {
        for other in &y[..62] {
            chain = g.xor(&chain, other)?;
        }
        let and = g.and(&chain, &x[i % x.len()])?;
        chain = g.not(&and)?;
    }
    Ok(vec![chain])
}

/// Words of one lane of [`recorded`].
const WORD: usize = 16;

/// Plays [`recorded`] on so many lanes, and adds up what each bit is in all of them.
fn tapes<G: Gates>(
    g: &mut G,
    x: &[G::Wire],
    y: &[G::Wire],
    lanes: usize,
    order: Order,
) -> Result<Vec<G::Wire>, G::Error> {
    let tape = recorded(order);
    // Lanes in the middle read backwards, so that rows are not in a row.
    let starts: Vec<u32> = (0..lanes).map(|lane| ((lane * 7) % (x.len() - WORD)) as u32).collect();
    let operands = [
        Operand { wires: x, bits: WORD, starts: Starts::Listed(&starts) },
        Operand::same(&y[..WORD]),
    ];
    let words = tape.play(g, lanes, &operands)?;
    let lanes = words[0].chunks(WORD).zip(words[1].chunks(WORD));
    let mut lanes = lanes.map(|(first, second)| [first, second].concat());
    let mut sums = lanes.next().unwrap_or_default();
    for lane in lanes {
        sums = g.xor_many(&sums, &lane)?;
        sums.rotate_left(1);
    }
    Ok(sums)
}

/// Inputs x and y of a word each, two words of outputs.
fn recorded(order: Order) -> Tape {
    let (mut g, wires) = TapeRecorder::new(2 * WORD);
    let (x, y) = wires.split_at(WORD);
    let outputs = (|| {
        let zero = g.constant(false)?;
        let one = g.constant(true)?;
        let products = g.and_many(x, y)?;
        // Ten ANDs that share an operand on the first layer, with others of a layer below between the two groups.
        let mut outputs = g.and_groups(&[x[0], y[1]], &[&y[..10], &products[..10]].concat())?;
        let mut chain = outputs[3];
        for (i, product) in products.iter().enumerate() {
            let sum = g.xor(&chain, product)?;
            let and = g.and(&sum, &outputs[(5 * i) % 20])?;
            chain = g.xor(&and, &x[i])?;
        }
        let unread = g.not(&chain)?;
        g.and(&unread, &unread)?;
        let same = g.xor(&chain, &chain)?;
        outputs.truncate(20);
        outputs.extend([chain, chain, x[5], y[2], zero, one, same, unread, outputs[0]]);
        outputs.extend(g.xor_many(&x[..3], &[one, zero, chain])?);
        Ok::<_, TooLong>(outputs)
    })();
    let mut first = outputs.unwrap_or_else(|_| unreachable!("few gates"));
    let second = first.split_off(WORD);
    g.finish(&[first, second], order)
}

/// The last bit of each input selects, alone and together.
fn muxes<G: Gates>(g: &mut G, x: &[G::Wire], y: &[G::Wire]) -> Result<Vec<Vec<G::Wire>>, G::Error> {
    let both = g.xor(&x[130], &y[130])?;
    let selects = [&x[130], &y[130], &both];
    let mux = |(i, width): (usize, usize)| g.mux_many(selects[i % 3], &x[..width], &y[..width]);
    MUX_WIDTHS.into_iter().enumerate().map(mux).collect()
}

fn mux_edges<G: Gates>(
    g: &mut G,
    x: &[G::Wire],
    y: &[G::Wire],
) -> Result<Vec<Vec<G::Wire>>, G::Error> {
    let (zero, one) = (g.constant(false)?, g.constant(true)?);
    let either = gadgets::or(g, &x[0], &y[0])?;
    let neither = g.not(&either)?;
    let ors = gadgets::or_bits(g, x, y)?;
    let nots = gadgets::not_bits(g, &ors)?;
    let constants: Vec<G::Wire> = (0..9).map(|i| [&zero, &one][i % 2].clone()).collect();
    let repeated = vec![x[3].clone(); 9];
    let mut found = vec![
        g.mux_many(&either, &ors, &nots)?,
        g.mux_many(&neither, &nots, y)?,
        g.mux_many(&zero, x, y)?,
        g.mux_many(&one, x, &ors)?,
        g.mux_many(&y[1], &constants, &nots)?,
        g.mux_many(&x[3], &repeated, y)?,
        g.mux_many(&x[2], x, x)?,
        // Both inputs of the AND of lane 4 are the same wire, or one and its negation.
        g.mux_many(&y[4], y, &constants)?,
    ];
    // What comes out selects, and is selected from, at once.
    let first = found[0].clone();
    let second = g.mux_many(&first[0], &first, &found[7])?;
    let third = g.mux_many(&second[8], &second, &first)?;
    found.extend([second, third]);
    Ok(found)
}

/// Keeps 256 rows of 256 bits behind a permutation: four are read and written, two of them the same one, one beyond the end; another is read.
pub const PERMUTED: &str = r#"
cenote 2
program permuted "reads and writes a memory that is kept behind a permutation"
input at[4]: a uint b9
input put[4]: b uint b64
{
  %zeros = const 256xb256 all 0x0
  %end, %seen = for 4 (%zeros, %1) { |%t, %r|
    %i = lanes{at=0+1*i0, count=1, stride=1} %0
    %x = lanes{at=0+1*i0, count=1, stride=1} %1
    %old = lookup %t, %i
    %low = slice{lo=0, width=64} %old
    %sum = add %low, %x
    %new = zext{width=256} %sum
    %on = slice{lo=0, width=1} %x
    %s = store %t, %i, %new, %on
    %q = put{at=0+1*i0} %r, %low
    yield %s, %q
  }
  %three = const b9 0x3
  %last = lookup %end, %three
  %all = slice{lo=0, width=64} %last
}
output seen[4]: both uint %seen
output last: both uint %all
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use cenote_circuit::{Clear, Counter, value_of};

    #[test]
    fn programs_do_what_their_names_say() {
        let add = TestProgram(Kind::Add);
        let inputs = add.inputs(4);
        let sum = value_of(&Clear::eval(&add, &inputs)[0]);
        assert_eq!(sum, (value_of(&inputs[0]) + value_of(&inputs[1])) & 0xffff_ffff);
        assert_eq!(Counter::count(&TestProgram(Kind::Ands(1000))).and, 1000);
        assert_eq!(Counter::count(&TestProgram(Kind::Linear)).and, 0);
        assert_eq!(Counter::count(&TestProgram(Kind::OneAnd)).and, 1);
        assert_eq!(Counter::count(&TestProgram(Kind::Small)).and, 10);
        let chunks = Counter::count(&TestProgram(Kind::Chunks(3)));
        assert_eq!(chunks.and, 3 * 143);
        assert_eq!(chunks.and + chunks.xor, 2 * CHUNK_GATES as u64 + 2 * 143);
        let stream = Counter::count(&TestProgram(Kind::Stream(400_000)));
        let all = stream.and + stream.xor + stream.not;
        assert_eq!(stream.and, 100_000);
        assert!(all >= 300_000);
        let sparse = Counter::count(&TestProgram(Kind::Sparse(640)));
        assert_eq!((sparse.and, sparse.xor + sparse.not), (10, 630));
        let muxes = TestProgram(Kind::Muxes);
        let inputs = muxes.inputs(5);
        let chosen = Clear::eval(&muxes, &inputs);
        assert_eq!(chosen.iter().map(Vec::len).sum::<usize>(), 347);
        let third = if inputs[0][130] ^ inputs[1][130] { &inputs[0] } else { &inputs[1] };
        assert_eq!(chosen[2], third[..8]);
    }
}
