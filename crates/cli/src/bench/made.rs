//! A large circuit as a simple front end writes it, for the optimiser.

use std::io::{self, Write};

/// Bits of a word.
const WORD: usize = 32;

/// Writes a circuit of at least `gates` gates in Bristol Fashion: from two words, over and over, sums and
/// products with textbook adders of three ANDs, constants that are made again for every word,
/// copies, double inverters and sums that nobody reads.
pub(super) fn write(gates: u64, out: impl Write) -> io::Result<()> {
    let inputs = 2 * WORD as u64;
    let mut counter = Maker { next: 0, out: io::sink() };
    let words = || [(0..WORD as u64).collect(), (WORD as u64..inputs).collect()];
    counter.round(words())?;
    let rounds = gates.saturating_sub(inputs).div_ceil(counter.next).max(1);
    let all = rounds * counter.next + inputs;
    let mut maker = Maker { next: inputs, out };
    write!(maker.out, "{all} {}\n2 {WORD} {WORD}\n2 {WORD} {WORD}\n\n", all + inputs)?;
    let mut state = words();
    for _ in 0..rounds {
        state = maker.round(state)?;
    }
    for wire in state.iter().flatten() {
        maker.gate("EQW", &[*wire])?;
    }
    maker.out.flush()
}

/// Writes gates and numbers their results.
struct Maker<W> {
    next: u64,
    out: W,
}

type Word = Vec<u64>;

impl<W: Write> Maker<W> {
    fn gate(&mut self, kind: &str, inputs: &[u64]) -> io::Result<u64> {
        match inputs {
            [a] => writeln!(self.out, "1 1 {a} {} {kind}", self.next)?,
            [a, b, ..] => writeln!(self.out, "2 1 {a} {b} {} {kind}", self.next)?,
            [] => {}
        }
        self.next += 1;
        Ok(self.next - 1)
    }

    /// Gates bit by bit.
    fn each(&mut self, kind: &str, word: &[u64]) -> io::Result<Word> {
        word.iter().map(|bit| self.gate(kind, &[*bit])).collect()
    }

    fn round(&mut self, [x, y]: [Word; 2]) -> io::Result<[Word; 2]> {
        let sum = self.add(&x, &y)?;
        let product = self.multiply(&sum, &x)?;
        self.add(&product, &x)?;
        let next = self.add(&product, &y)?;
        let inverted = self.each("INV", &sum)?;
        Ok([self.each("EQW", &next)?, self.each("INV", &inverted)?])
    }

    /// The sum, with carries `x y or (x + y) c` and a union of two gates and an AND.
    fn add(&mut self, x: &[u64], y: &[u64]) -> io::Result<Word> {
        let mut carry = self.gate("EQ", &[0])?;
        let mut sum = Vec::with_capacity(x.len());
        for (&x, &y) in x.iter().zip(y) {
            let half = self.gate("XOR", &[x, y])?;
            sum.push(self.gate("XOR", &[half, carry])?);
            let one = self.gate("AND", &[x, y])?;
            let other = self.gate("AND", &[half, carry])?;
            let either = self.gate("XOR", &[one, other])?;
            let both = self.gate("AND", &[one, other])?;
            carry = self.gate("XOR", &[either, both])?;
        }
        Ok(sum)
    }

    /// The low word of the product, row by row, with zeros for the bits that are shifted in.
    fn multiply(&mut self, x: &[u64], y: &[u64]) -> io::Result<Word> {
        let mut product = self.each("EQ", &[0; WORD])?;
        for shift in 0..WORD {
            let mut row = self.each("EQ", &[0; WORD][..shift])?;
            for bit in &x[..WORD - shift] {
                row.push(self.gate("AND", &[*bit, y[shift]])?);
            }
            product = self.add(&product, &row)?;
        }
        Ok(product)
    }
}

#[cfg(test)]
mod tests {
    use cenote_circuit::{Clear, bits_of, parse_any, value_of};

    use super::*;

    #[test]
    fn it_computes_sums_and_products() {
        let mut text = Vec::new();
        write(20_000, &mut text).expect("written");
        let circuit = parse_any("made", &text).unwrap_or_else(|error| panic!("{error}"));
        assert!(circuit.gates().len() >= 20_000);
        let mut once = Vec::new();
        write(1, &mut once).expect("written");
        let once = parse_any("once", &once).unwrap_or_else(|error| panic!("{error}"));
        // Both end with copies of their outputs.
        let rounds = (circuit.gates().len() - 2 * WORD) / (once.gates().len() - 2 * WORD);
        assert!(rounds > 1);
        for (mut x, mut y) in [(0u32, 0u32), (1, 2), (0xdead_beef, 0x1234_5678)] {
            let found = Clear::eval(&circuit, &[bits_of(x.into(), 32), bits_of(y.into(), 32)]);
            for _ in 0..rounds {
                let sum = x.wrapping_add(y);
                (x, y) = (sum.wrapping_mul(x).wrapping_add(y), sum);
            }
            assert_eq!([x, y].map(u128::from), [0, 1].map(|port: usize| value_of(&found[port])));
        }
    }
}
