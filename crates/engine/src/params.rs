//! Parameters of a `wrk` session: everything follows from what the owners choose.

use cenote_net::Fault;
use cenote_ot::Params as OtParams;
use cenote_pool::params;

/// What the owners choose.
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
    /// Base-2 logarithm of the error bound.
    #[must_use]
    pub const fn epsilon_log2(self) -> f64 {
        match self {
            Rho::Bits40 => -40.0,
            Rho::Bits64 => -64.0,
            Rho::Bits80 => -80.0,
        }
    }
}

/// Derived parameters of a `wrk` session.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WrkParams {
    /// Capacity of the pool in leaky ANDs, if there is one.
    pub pool: Option<usize>,
    /// Leaky ANDs of a bucket.
    pub bucket: usize,
    /// Leaky ANDs made at a time: a multiple of the bucket.
    pub batch: usize,
    /// Base-2 logarithm of the error bound: over the life of the pool, or of each one-shot batch.
    pub epsilon_log2: f64,
    /// The COT extension.
    pub ot: OtParams,
}

/// Most leaky ANDs made at a time: bounds the memory of a refill.
const MAX_BATCH: u64 = 128 << 10;
/// Fewest leaky ANDs made at a time beside a pool.
const MIN_BATCH: u64 = 4096;
/// Largest pool that an in-memory session accepts, in leaky ANDs of 96 bytes.
const MAX_POOL: u64 = 1 << 28;

impl WrkParams {
    /// Derives the parameters.
    ///
    /// # Errors
    /// `Policy` when no bucket is sound for the choice, or the pool does not fit in memory.
    pub fn derive(choice: PoolChoice, rho: Rho) -> Result<WrkParams, Fault> {
        let refuse = |error: params::ParamsError| Fault::Policy(error.to_string());
        let epsilon_log2 = rho.epsilon_log2();
        let ot = OtParams::default();
        match choice {
            PoolChoice::Kept(pool) if pool > MAX_POOL => {
                Err(Fault::Policy(format!("a pool in memory holds at most {MAX_POOL} leaky ANDs")))
            }
            PoolChoice::Kept(pool) => {
                let bucket =
                    u64::from(params::wrk_bucket(pool, epsilon_log2).map_err(refuse)?.bucket);
                let batch = (pool / 4).clamp(MIN_BATCH, MAX_BATCH) / bucket * bucket;
                Ok(WrkParams {
                    pool: Some(pool as usize),
                    bucket: bucket as usize,
                    batch: batch as usize,
                    epsilon_log2,
                    ot,
                })
            }
            PoolChoice::OneShot(ands) => {
                let (bucket, triples) = one_shot(ands, epsilon_log2).map_err(refuse)?;
                let batch = (bucket * triples) as usize;
                Ok(WrkParams { pool: None, bucket: bucket as usize, batch, epsilon_log2, ot })
            }
        }
    }
}

/// The cheapest sound (bucket, triples a batch) for a request of `ands` ANDs: the bucket with the
/// fewest leaky ANDs once the last batch is padded.
fn one_shot(ands: u64, epsilon_log2: f64) -> Result<(u64, u64), params::ParamsError> {
    let mut best: Option<(u64, u64, u64)> = None;
    for bucket in 3..=9 {
        let minimum = params::one_shot_minimum_batch(bucket, epsilon_log2)?;
        let bucket = u64::from(bucket);
        let triples = minimum.max(ands.min(MAX_BATCH / bucket)).max(1);
        let cost = ands.max(1).div_ceil(triples) * triples * bucket;
        if best.is_none_or(|(least, ..)| cost < least) {
            best = Some((cost, bucket, triples));
        }
    }
    let (_, bucket, triples) = best.unwrap_or((0, 3, MAX_BATCH));
    Ok((bucket, triples))
}
