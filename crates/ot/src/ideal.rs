//! The ideal functionality of correlated OT, for tests of what is built on it: a dealer whom both
//! parties trust. Anybody who has the seed knows everything.

use cenote_net::{Channel, Fault};
use cenote_prim::{Block, Prg};

use crate::{CotReceive, CotSend};

/// The side with Delta.
pub struct IdealSender {
    delta: Block,
    dealer: Dealer,
}

/// The side with the choice bits.
pub struct IdealReceiver {
    dealer: Dealer,
}

/// Two ends of one functionality; they need no channel, and each may run ahead of the other.
///
/// # Panics
/// If bit 0 of `delta` is 0.
pub fn ideal_pair(seed: Block, delta: Block) -> (IdealSender, IdealReceiver) {
    assert!(delta.lsb(), "bit 0 of Delta is 1");
    (IdealSender { delta, dealer: Dealer::new(seed) }, IdealReceiver { dealer: Dealer::new(seed) })
}

struct Dealer {
    macs: Prg,
    starts: Prg,
}

impl Dealer {
    fn new(seed: Block) -> Dealer {
        let mut prg = Prg::new(seed);
        Dealer { macs: prg.fork(), starts: prg.fork() }
    }

    fn macs(&mut self, out: &mut [Block]) -> Result<(), Fault> {
        if out.is_empty() || !out.len().is_multiple_of(128) {
            return Err(Fault::Misuse(format!("ot: an extension by {} COTs", out.len())));
        }
        self.macs.fill(out);
        Ok(())
    }
}

impl IdealSender {
    /// As [`CotSend::extend`], without a channel.
    ///
    /// # Errors
    /// `Misuse` when the length is 0 or no multiple of 128.
    pub fn deal(&mut self, keys: &mut [Block]) -> Result<(), Fault> {
        self.dealer.macs(keys)?;
        keys.iter_mut().for_each(|mac| *mac ^= self.delta.times(mac.lsb()));
        Ok(())
    }
}

impl IdealReceiver {
    /// As [`CotReceive::extend`], without a channel.
    ///
    /// # Errors
    /// `Misuse` when the length is 0 or no multiple of 128.
    pub fn deal(&mut self, macs: &mut [Block]) -> Result<(), Fault> {
        self.dealer.macs(macs)
    }
}

impl CotSend for IdealSender {
    fn delta(&self) -> Block {
        self.delta
    }

    fn extend(&mut self, _: &mut Channel, keys: &mut [Block]) -> Result<(), Fault> {
        self.deal(keys)
    }

    fn hash_start(&mut self) -> Block {
        self.dealer.starts.block()
    }
}

impl CotReceive for IdealReceiver {
    fn extend(&mut self, _: &mut Channel, macs: &mut [Block]) -> Result<(), Fault> {
        self.deal(macs)
    }

    fn hash_start(&mut self) -> Block {
        self.dealer.starts.block()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dealer_keeps_the_contract_however_the_calls_are_cut() {
        let delta = Prg::new(Block::new(2)).block().with_lsb(true);
        let (mut s, mut r) = ideal_pair(Block::new(1), delta);
        let (mut keys, mut macs) = (vec![Block::ZERO; 512], vec![Block::ZERO; 512]);
        s.deal(&mut keys).unwrap();
        r.deal(&mut macs[..128]).unwrap();
        r.deal(&mut macs[128..]).unwrap();
        assert!(keys.iter().zip(&macs).all(|(k, m)| !k.lsb() && *k == *m ^ delta.times(m.lsb())));
        let ones = macs.iter().filter(|m| m.lsb()).count();
        // 256 +- 6 sigma (sigma 11.3).
        assert!((188..=324).contains(&ones));
        assert_eq!(s.hash_start(), r.hash_start());
        assert_ne!(s.hash_start(), s.hash_start());
        assert!(matches!(s.deal(&mut keys[..100]), Err(Fault::Misuse(_))));
        assert!(matches!(r.deal(&mut []), Err(Fault::Misuse(_))));
    }
}
