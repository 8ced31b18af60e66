use cenote_net::Fault;

/// Rows of a matrix square, COTs of the smallest extension, bits of a block.
pub(crate) const ROWS: usize = 128;

/// Blocks of a strip of columns: what is worked on at a time, so that the 16 leaves of a tree and
/// their sums stay in the first-level cache.
pub(crate) const STRIP: usize = 64;

/// The parameters of a set-up of SoftSpokenOT; both parties must use the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    pub(crate) digit_bits: usize,
    pub(crate) chunk: usize,
}

impl Params {
    /// The largest chunk, in COTs.
    pub const MAX_CHUNK: usize = 1 << 18;

    /// `digit_bits`: 1, 2, 4 or 8 bits of Delta per tree; a bigger digit means fewer bytes and more
    /// AES. `chunk`: COTs per message at most, a multiple of 128; a bigger chunk means fewer bytes
    /// of checks and more memory.
    ///
    /// # Errors
    /// `Misuse` for any other value, or a chunk over [`Params::MAX_CHUNK`].
    pub fn new(digit_bits: usize, chunk: usize) -> Result<Params, Fault> {
        if !matches!(digit_bits, 1 | 2 | 4 | 8) {
            return Err(Fault::Misuse(format!("ot: digits of {digit_bits} bits")));
        }
        if chunk == 0 || !chunk.is_multiple_of(ROWS) || chunk > Params::MAX_CHUNK {
            return Err(Fault::Misuse(format!("ot: chunks of {chunk} COTs")));
        }
        Ok(Params { digit_bits, chunk })
    }

    /// Bits of Delta per tree.
    pub const fn digit_bits(self) -> usize {
        self.digit_bits
    }

    /// COTs per message at most.
    pub const fn chunk(self) -> usize {
        self.chunk
    }

    /// Trees: digits of Delta.
    pub const fn trees(self) -> usize {
        ROWS / self.digit_bits
    }

    /// Leaves of a tree: values of a digit.
    pub const fn leaves(self) -> usize {
        1 << self.digit_bits
    }
}

impl Default for Params {
    /// 4-bit digits (31 bits on the wire per COT), and chunks that with their sacrificed rows fill
    /// four strips: 32640 COTs.
    fn default() -> Params {
        Params { digit_bits: 4, chunk: ROWS * (4 * STRIP - 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_supported_values_are_accepted() {
        for k in 0..20 {
            assert_eq!(Params::new(k, 128).is_ok(), [1, 2, 4, 8].contains(&k));
        }
        for (chunk, ok) in
            [(0, false), (127, false), (128, true), (1 << 18, true), (1 << 19, false)]
        {
            assert_eq!(Params::new(4, chunk).is_ok(), ok);
        }
        let params = Params::default();
        assert_eq!(Params::new(params.digit_bits(), params.chunk()), Ok(params));
        assert_eq!((params.trees(), params.leaves()), (32, 16));
    }
}
