//! AES-128 with a public or secret key, many blocks in flight.

use ::aes::cipher::{BlockCipherEncrypt, KeyInit};

use crate::Block;

/// An expanded AES-128 key.
#[derive(Clone)]
pub struct Aes128 {
    portable: ::aes::Aes128,
}

impl Aes128 {
    /// Expands `key`.
    pub fn new(key: Block) -> Aes128 {
        Aes128 { portable: ::aes::Aes128::new(&key.to_bytes().into()) }
    }

    /// Replaces every block by its encryption.
    pub fn encrypt(&self, blocks: &mut [Block]) {
        for block in blocks {
            let mut bytes = block.to_bytes().into();
            self.portable.encrypt_block(&mut bytes);
            *block = Block::from_bytes(bytes.into());
        }
    }

    /// The encryptions of the counters `first, first + 1, ..`.
    pub fn counter_stream(&self, first: u128, out: &mut [Block]) {
        for (i, block) in out.iter_mut().enumerate() {
            *block = Block::new(first.wrapping_add(i as u128));
        }
        self.encrypt(out);
    }
}
