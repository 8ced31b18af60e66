use crate::Block;

/// Fills `bytes` from the operating system: the only door to its randomness.
///
/// # Panics
/// If the operating system has no randomness to give; nothing secure can be done then.
pub fn os_bytes(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the operating system has a source of randomness");
}

/// A uniform block from the operating system.
///
/// # Panics
/// As [`os_bytes`].
pub fn os_block() -> Block {
    let mut bytes = [0; 16];
    os_bytes(&mut bytes);
    Block::from_bytes(bytes)
}
