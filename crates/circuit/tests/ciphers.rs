//! AES-128 and SHA-256 against the standards and against maintained crates.

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use cenote_circuit::gadgets::*;
use cenote_circuit::{Clear, bits_of};
use proptest::prelude::*;
use sha2::Digest;

/// The first byte becomes the most significant.
fn bits(bytes: &[u8]) -> Vec<bool> {
    bytes.iter().rev().flat_map(|byte| bits_of(u128::from(*byte), 8)).collect()
}

fn bytes(bits: &[bool]) -> Vec<u8> {
    bits.rchunks(8).map(|byte| cenote_circuit::value_of(byte) as u8).collect()
}

fn ok<T>(result: Result<T, std::convert::Infallible>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

#[test]
fn fips_197_appendix_b_and_c() {
    for (key, block, expected) in [
        (
            0x2b7e151628aed2a6abf7158809cf4f3c_u128,
            0x3243f6a8885a308d313198a2e0370734_u128,
            0x3925841d02dc09fbdc118597196a0b32_u128,
        ),
        (
            0x000102030405060708090a0b0c0d0e0f,
            0x00112233445566778899aabbccddeeff,
            0x69c4e0d86a7b0430d8cdb78070b4c55a,
        ),
    ] {
        let out = ok(aes128(&mut Clear, &bits_of(key, 128), &bits_of(block, 128)));
        assert_eq!(out, bits_of(expected, 128));
    }
}

#[test]
fn sha_256_of_abc_and_of_two_blocks() {
    for message in [&b"abc"[..], b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", b""] {
        let mut padded = message.to_vec();
        padded.push(0x80);
        while padded.len() % 64 != 56 {
            padded.push(0);
        }
        padded.extend((8 * message.len() as u64).to_be_bytes());
        let initial: Vec<u8> = SHA256_INITIAL_STATE.iter().flat_map(|w| w.to_be_bytes()).collect();
        let mut state = bits(&initial);
        for block in padded.chunks(64) {
            state = ok(sha256_compress(&mut Clear, &bits(block), &state));
        }
        assert_eq!(bytes(&state), sha2::Sha256::digest(message).to_vec());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn aes_equals_the_aes_crate(
        key in any::<[u8; 16]>(),
        blocks in prop::collection::vec(any::<[u8; 16]>(), 0..40),
    ) {
        let cipher = aes::Aes128::new(&key.into());
        let expected: Vec<Vec<bool>> = blocks
            .iter()
            .map(|block| {
                let mut block = (*block).into();
                cipher.encrypt_block(&mut block);
                bits(&block)
            })
            .collect();
        let inputs: Vec<Vec<bool>> = blocks.iter().map(|block| bits(block)).collect();
        prop_assert_eq!(&ok(aes128_many(&mut Clear, &bits(&key), &inputs)), &expected);
        let expanded = ok(Aes128Key::expand(&mut Clear, &bits(&key)));
        prop_assert_eq!(&ok(expanded.encrypt(&mut Clear, &inputs)), &expected);
    }

    #[test]
    fn sha_256_lanes_equal_the_sha2_crate(
        blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 64), 0..4),
        state in prop::array::uniform8(any::<u32>()),
    ) {
        let state_bytes: Vec<u8> = state.iter().flat_map(|word| word.to_be_bytes()).collect();
        let states = vec![bits(&state_bytes); blocks.len()];
        let inputs: Vec<Vec<bool>> = blocks.iter().map(|block| bits(block)).collect();
        let found = ok(sha256_compress_many(&mut Clear, &inputs, &states));
        for (block, found) in blocks.iter().zip(found) {
            let mut state = state;
            let block: [u8; 64] = block.as_slice().try_into().unwrap();
            sha2::block_api::compress256(&mut state, &[block]);
            let expected: Vec<u8> = state.iter().flat_map(|word| word.to_be_bytes()).collect();
            prop_assert_eq!(bytes(&found), expected);
        }
    }
}
