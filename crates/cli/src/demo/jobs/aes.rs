//! AES-128 under a key that neither side knows.
//!
//! **Inputs.** Each side: a share of the key, which is the XOR of both; A: the block.
//! **Revealed.** To both: the ciphertext. Either share alone says nothing about the key.

use cenote_circuit::gadgets;
use cenote_engine::{Fault, Job, Party, Receivers, Role};

/// The job; the receivers are both.
pub(crate) struct Aes {
    /// This side's share, least significant bit first.
    pub(crate) share: Vec<bool>,
    /// The block, at A.
    pub(crate) block: Option<Vec<bool>>,
}

impl Job for Aes {
    type Output = Option<Vec<bool>>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", "demo aes-shared-key v1".into())]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Self::Output, Fault> {
        let own = party.role();
        let share = |owner: Role| (own == owner).then_some(self.share.as_slice());
        let a = party.input(Role::Garbler, 128, share(Role::Garbler))?;
        let b = party.input(Role::Evaluator, 128, share(Role::Evaluator))?;
        let block = party.input(Role::Garbler, 128, self.block.as_deref())?;
        let key = gadgets::xor_bits(party, &a, &b)?;
        let out = gadgets::aes128(party, &key, &block)?;
        party.reveal(Receivers::Both, &out)
    }
}

/// FIPS 197, appendix C.1: key, block, ciphertext.
pub(crate) const FIPS_197: [u128; 3] = [
    0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f,
    0x0011_2233_4455_6677_8899_aabb_ccdd_eeff,
    0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a,
];

#[cfg(test)]
mod tests {
    use cenote_circuit::bits_of;

    use super::super::tests::run_both;
    use super::*;

    #[test]
    fn the_standard_vector() {
        let [key, block, cipher] = FIPS_197;
        let split = 0x1234_5678_9abc_def0_0fed_cba9_8765_4321;
        let (a, b) = run_both(|role| {
            let share = if role == Role::Garbler { split } else { split ^ key };
            let block = (role == Role::Garbler).then(|| bits_of(block, 128));
            Aes { share: bits_of(share, 128), block }
        });
        let expected = Some(bits_of(cipher, 128));
        assert_eq!((a, b), (expected.clone(), expected));
    }
}
