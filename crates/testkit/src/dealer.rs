//! Authenticated shares from an honest dealer, for simulations without a network.

use cenote_engine::Role;
use cenote_engine::backends::wrk::share::conventional_delta;
use cenote_prim::{Block, Prg};

/// The dealer and its global keys.
pub struct Dealer {
    prg: Prg,
    /// Of the garbler and of the evaluator.
    pub deltas: [Block; 2],
}

/// One party's halves of many shares.
#[derive(Clone, Default)]
pub struct Half {
    /// MACs on the own bits.
    pub macs: Vec<Block>,
    /// Keys for the peer's.
    pub keys: Vec<Block>,
}

impl Dealer {
    /// A dealer with this seed.
    #[must_use]
    pub fn new(seed: u128) -> Dealer {
        let mut prg = Prg::new(Block::new(seed));
        let deltas =
            [Role::Garbler, Role::Evaluator].map(|role| conventional_delta(prg.block(), role));
        Dealer { prg, deltas }
    }

    /// The halves of `n` random shares.
    pub fn shares(&mut self, n: usize) -> [Half; 2] {
        let mut halves = [Half::default(), Half::default()];
        for _ in 0..n {
            let keys = [self.prg.block().with_lsb(false), self.prg.block().with_lsb(false)];
            let bits = self.prg.block();
            let bits = [bits.lsb(), bits.colour()];
            for (i, half) in halves.iter_mut().enumerate() {
                half.keys.push(keys[i]);
                half.macs.push(keys[1 - i] ^ self.deltas[1 - i].times(bits[i]));
            }
        }
        halves
    }

    /// A random word.
    pub fn word(&mut self) -> u64 {
        self.prg.block().to_u128() as u64
    }
}
