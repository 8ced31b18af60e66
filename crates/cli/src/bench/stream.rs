//! The synthetic stream of ANDs: half wide, half one long chain, with an XOR for each.

use cenote_circuit::{Gates, Program, Role, Signature, bits_of};
use cenote_prim::{Block, Prg};

/// Width of the wide half's batches, and links of the chain between two of them.
pub(super) const WIDTH: usize = 1024;

/// `ands` ANDs on three `WIDTH`-bit inputs.
///
/// A round is `a ^= b & x`, one batch, and then, for each i, `b[i] = link = b[i] ^ (link & a[i])`. Both
/// steps are invertible, so a wrong bit anywhere is still wrong at the end.
pub(super) struct Stream {
    pub(super) ands: u64,
}

impl Stream {
    /// The input of each port, fixed so that everybody can check the result.
    pub(super) fn inputs() -> Vec<Vec<bool>> {
        let mut prg = Prg::new(Block::new(1));
        let mut port = || {
            let blocks = (0..WIDTH / 128).map(|_| prg.block().to_u128());
            blocks.flat_map(|block| bits_of(block, 128)).collect()
        };
        vec![port(), port(), port()]
    }

    /// The inputs that are one party's.
    pub(super) fn inputs_of(role: Role) -> Vec<Vec<bool>> {
        let mut own = Stream::inputs();
        let of_evaluator = own.split_off(1);
        if role == Role::Garbler { own } else { of_evaluator }
    }
}

impl Program for Stream {
    fn name(&self) -> String {
        format!("bench and {}", self.ands)
    }

    fn signature(&self) -> Signature {
        Signature::new()
            .input("x", WIDTH, Some(Role::Garbler))
            .input("a", WIDTH, Some(Role::Evaluator))
            .input("b", WIDTH, Some(Role::Evaluator))
            .output("a", WIDTH, None)
            .output("b", WIDTH, None)
    }

    /// Name, parameters and version: a pass over the stream would cost as much as some backends do.
    fn digest(&self) -> [u8; 32] {
        super::digest(&format!("{} v1", self.name()))
    }

    fn run<G: Gates>(
        &self,
        g: &mut G,
        inputs: &[Vec<G::Wire>],
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        let [x, a, b] = inputs else { return Ok(Vec::new()) };
        let (mut a, mut b) = (a.clone(), b.clone());
        let mut link = b[0].clone();
        let mut left = self.ands;
        while left > 0 {
            let round = left.min(2 * WIDTH as u64) as usize;
            let (wide, chain) = (round / 2, round - round / 2);
            let product = g.and_many(&b[..wide], &x[..wide])?;
            let sum = g.xor_many(&product, &a[..wide])?;
            a.splice(..wide, sum);
            for (a, b) in a.iter().zip(&mut b).take(chain) {
                let product = g.and(&link, a)?;
                link = g.xor(&product, b)?;
                *b = link.clone();
            }
            left -= round as u64;
        }
        Ok(vec![a, b])
    }
}

#[cfg(test)]
mod tests {
    use cenote_circuit::{Clear, Counter};

    use super::*;

    #[test]
    fn a_stream_has_as_many_ands_as_asked_for() {
        for ands in [0, 1, 2, 3, 2047, 2048, 2049, 10_000] {
            let counts = Counter::count(&Stream { ands });
            assert_eq!((counts.and, counts.xor), (ands, ands));
            assert!(u64::from(counts.and_depth) >= ands / 2);
        }
    }

    #[test]
    fn every_input_bit_reaches_the_output() {
        let inputs = Stream::inputs();
        let program = Stream { ands: 20_000 };
        let right = Clear::eval(&program, &inputs);
        for (port, bit) in [(0, 0), (1, 7), (2, 1023)] {
            let mut other = inputs.clone();
            other[port][bit] ^= true;
            assert_ne!(Clear::eval(&program, &other), right, "{port} {bit}");
        }
    }
}
