//! The parameters that the owners choose, for backends that have them.

/// The pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PoolChoice {
    /// A pool of this many leaky ANDs, kept full for the life of the session.
    Kept(u64),
    /// No pool: one-shot batches, the smallest sound one for about this many ANDs at a time.
    OneShot(u64),
}

/// Statistical security, in bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rho {
    /// 2^-40.
    Bits40,
    /// 2^-64.
    Bits64,
    /// 2^-80.
    Bits80,
}

impl Rho {
    /// The number of bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Rho::Bits40 => 40,
            Rho::Bits64 => 64,
            Rho::Bits80 => 80,
        }
    }

    /// Base-2 logarithm of the error bound.
    #[must_use]
    pub const fn epsilon_log2(self) -> f64 {
        -(self.bits() as f64)
    }
}
