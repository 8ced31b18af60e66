//! Parameters of a `wrk` session: everything follows from what the owners choose.

use cenote_net::Fault;
use cenote_ot::Choice;
use cenote_pool::{PoolError, params};
use cenote_prim::Block;
use serde_json::{Value, json};

use super::leaky_and::Width;
use super::slices::Slices;
use crate::options::{PoolChoice, Rho, SessionConfig};
use crate::parts::chunk::CHUNK_ANDS;
use crate::parts::pace::{Line, Load};

/// Derived parameters of a `wrk` session.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WrkParams {
    /// Capacity of the pool in leaky ANDs, if there is one.
    pub pool: Option<usize>,
    /// Leaky ANDs of a bucket.
    pub bucket: usize,
    /// Leaky ANDs made at a time: a multiple of the bucket.
    pub batch: usize,
    /// Base-2 logarithm of the error bound over the life of the session, by POOL's rule: the cheater
    /// brings its bad items in at the start.
    pub epsilon_log2: f64,
    /// The same for a cheater that brings bad items in when it sees that it still needs them
    /// (docs/parameters.md): a fraction of a bit above, with a pool.
    pub adaptive_epsilon_log2: f64,
    /// Low bits of a leaky AND that are sent and compared.
    pub leaky: Width,
    /// The protocol of correlated OT: over one channel, if the line is to decide.
    pub ot: Choice,
    /// Whether the line is to decide on it as the session opens.
    pub ot_by_line: bool,
    /// COTs each way that the session is opened for, about.
    pub cots: u64,
}

/// Most leaky ANDs made at a time: bounds the memory of a refill.
const MAX_BATCH: u64 = 64 << 10;
/// Most leaky ANDs of a one-shot batch, whose size follows from the bound. Larger ones, which a bucket of three asks for, would spare
/// a quarter of the leaky ANDs, and take twice the time for each, as a batch that no cache holds is shuffled, and 300 MB.
const MAX_ONE_SHOT: u64 = 256 << 10;
/// One-shot batches of a job, unless they are smaller than the next number or larger than [`MAX_BATCH`].
const ONE_SHOTS: u64 = 8;
/// Fewest leaky ANDs of a one-shot batch that are worth a test of equality of their own, if the bound asks for no more.
const LEAST_ONE_SHOT: u64 = 32 << 10;
/// Fewest leaky ANDs made at a time beside a pool.
const MIN_BATCH: u64 = 4096;
/// Largest pool that an in-memory session accepts, in leaky ANDs of 72 to 96 bytes.
const MAX_POOL: u64 = 1 << 28;

/// Seconds of one core, at the least, for a leaky AND once its COTs are made, and for a chunk of gates. The first is less than the mean, as
/// slices come in bursts, between the ends of batches.
const LEAKY_S: f64 = 2.5e-8;
const CHUNK_S: f64 = 1.0e-3;

impl WrkParams {
    /// The fields of a result.
    pub(super) fn shown(&self) -> Value {
        json!({
            "pool": self.pool,
            "bucket": self.bucket,
            "batch": self.batch,
            "rho": -self.epsilon_log2 as u32,
            "epsilon_log2": self.epsilon_log2,
            "adaptive_epsilon_log2": self.adaptive_epsilon_log2,
            "leaky_bits": self.leaky.bits(),
        })
    }

    /// How likely it is that a cheater gets anything by so many pools.
    pub(super) fn error(&self, pools: u64) -> PoolError {
        let times = |log2: f64| pools as f64 * log2.exp2();
        let (at_once, adaptive) = (times(self.epsilon_log2), times(self.adaptive_epsilon_log2));
        PoolError { at_once, adaptive }
    }

    /// Ready triples that a refill makes.
    #[must_use]
    pub const fn triples(&self) -> usize {
        self.batch / self.bucket
    }

    /// Derives the parameters.
    ///
    /// # Errors
    /// `Policy` when no bucket is sound for the choice, or the pool does not fit in memory.
    pub fn derive(choice: PoolChoice, rho: Rho) -> Result<WrkParams, Fault> {
        let refuse = |error: params::ParamsError| Fault::Policy(error.to_string());
        let epsilon_log2 = rho.epsilon_log2();
        let (leaky, ot, ot_by_line) = (Width::of(rho), Choice::default(), true);
        match choice {
            PoolChoice::Kept(pool) if pool > MAX_POOL => {
                Err(Fault::Policy(format!("a pool in memory holds at most {MAX_POOL} leaky ANDs")))
            }
            PoolChoice::Kept(pool) => {
                let bucket = params::wrk_bucket(pool, epsilon_log2).map_err(refuse)?.bucket;
                let adaptive_epsilon_log2 =
                    params::wrk_adaptive_error_log2(pool, bucket, epsilon_log2).map_err(refuse)?;
                let adaptive_epsilon_log2 = params::shown_log2(adaptive_epsilon_log2, 3);
                let bucket = u64::from(bucket);
                let batch = (pool / 4).clamp(MIN_BATCH, MAX_BATCH) / bucket * bucket;
                Ok(WrkParams {
                    pool: Some(pool as usize),
                    bucket: bucket as usize,
                    batch: batch as usize,
                    epsilon_log2,
                    adaptive_epsilon_log2,
                    leaky,
                    ot,
                    ot_by_line,
                    cots: 3 * pool,
                })
            }
            PoolChoice::OneShot(ands) => {
                let (bucket, triples) = one_shot(ands, epsilon_log2)?;
                let batch = (bucket * triples) as usize;
                Ok(WrkParams {
                    pool: None,
                    bucket: bucket as usize,
                    batch,
                    epsilon_log2,
                    adaptive_epsilon_log2: epsilon_log2,
                    leaky,
                    ot,
                    ot_by_line,
                    cots: 0,
                })
            }
        }
    }

    /// The parameters of a session by `config`.
    ///
    /// # Errors
    /// As [`WrkParams::derive`].
    pub(super) fn of(config: &SessionConfig) -> Result<WrkParams, Fault> {
        let derived = WrkParams::derive(config.pool(), config.rho())?;
        let refills = config.ands.div_ceil(derived.triples() as u64);
        let each = (3 * derived.batch + derived.triples()) as u64;
        let cots = derived.cots.saturating_add(refills.saturating_mul(each));
        let params = WrkParams { cots, ..derived };
        match config.ot() {
            Some(ot) if !params.allows(ot) => Err(Fault::Policy(
                "the check of silent OT is no better than 2^-62: take it with rho=40".into(),
            )),
            chosen => Ok(chosen.map_or(params, |ot| params.with_ot(ot))),
        }
    }

    /// Whether a check of this protocol would not be the weakest of the session: who cheats in the trees of silent OT passes with
    /// 2^-62 (docs/protocols/ot.md).
    fn allows(&self, ot: Choice) -> bool {
        !ot.is_silent() || self.epsilon_log2 >= Rho::Bits40.epsilon_log2()
    }

    /// The same with this protocol of correlated OT.
    pub(super) const fn with_ot(self, ot: Choice) -> WrkParams {
        WrkParams { ot, ot_by_line: false, ..self }
    }

    /// The protocols of correlated OT that the owners allow.
    pub(super) fn ots(&self) -> Vec<Choice> {
        if !self.ot_by_line {
            return vec![self.ot];
        }
        Choice::all().into_iter().filter(|ot| self.allows(*ot)).collect()
    }

    /// What a slice of a batch and a chunk of gates put on the line, in the direction in which there is more.
    pub(super) fn loads(&self) -> [Load; 2] {
        let slices = Slices::of(self);
        let place = slices.place(slices.of_pool());
        let whole = self.ot.traffic(self.ot.chunk() as u64).bytes() as usize;
        let corrections = whole * place.shares() / self.ot.chunk();
        let of_cots = 2.0 * place.shares() as f64 * self.ot.seconds_per_cot();
        let slice = Load {
            bytes: corrections + self.leaky.bytes() * place.ands,
            computed: of_cots + place.ands as f64 * LEAKY_S,
        };
        [slice, Load { bytes: 2 * size_of::<Block>() * CHUNK_ANDS, computed: CHUNK_S }]
    }

    /// Whether silent OT is used, or the line may choose it.
    pub(super) fn may_be_silent(&self) -> bool {
        self.ots().into_iter().any(Choice::is_silent)
    }

    /// The place of the one among `allowed` with which the COTs of the session take the shortest time on a line, both directions
    /// computed on one core.
    pub(super) fn fastest(&self, allowed: &[Choice], line: Line) -> usize {
        let seconds = |ot: &Choice| {
            let bytes = ot.traffic(self.cots).bytes().saturating_add(ot.setup_traffic().bytes());
            let trips = ot.trips() as f64 * line.rtt.as_secs_f64() / 2.0;
            // Of silent OT in whole extensions, whose trees are computed at once.
            let made = self.cots.div_ceil(ot.chunk() as u64) as f64 * ot.chunk() as f64;
            2.0 * made * ot.seconds_per_cot() + bytes as f64 * line.usual + trips
        };
        let seconds: Vec<f64> = allowed.iter().map(seconds).collect();
        (0..seconds.len()).min_by(|a, b| seconds[*a].total_cmp(&seconds[*b])).unwrap_or(0)
    }
}

/// The cheapest sound (bucket, triples a batch) for a request of `ands` ANDs: the bucket with the
/// fewest leaky ANDs once the last batch is padded.
///
/// The bound holds for a session of any number of batches: a cheater that fails in a batch without
/// winning it is caught with probability 1 - 2^-B at least, so all batches together give it at most
/// 1 / (1 - 2^-B) times the bound of one.
fn one_shot(ands: u64, epsilon_log2: f64) -> Result<(u64, u64), Fault> {
    let mut best: Option<(u128, u64, u64)> = None;
    for bucket in 3..=9 {
        let each = epsilon_log2 + (1.0 - (-f64::from(bucket)).exp2()).log2();
        let Ok(minimum) = params::one_shot_minimum_batch(bucket, each) else { continue };
        let bucket = u64::from(bucket);
        // Equal batches, so that the last is not padded by much; several, so that gates of the first are garbled while the others are made.
        let wanted = (ands / ONE_SHOTS).clamp(LEAST_ONE_SHOT / bucket, MAX_BATCH / bucket);
        let batches = ands.max(1).div_ceil(minimum.max(wanted));
        let triples = minimum.max(ands.max(1).div_ceil(batches));
        if triples * bucket > MAX_ONE_SHOT {
            continue;
        }
        // An untrusted program may ask for more than there are numbers.
        let cost = u128::from(batches) * u128::from(triples * bucket);
        if best.is_none_or(|(least, ..)| cost < least) {
            best = Some((cost, bucket, triples));
        }
    }
    let (_, bucket, triples) =
        best.ok_or_else(|| Fault::Policy("no one-shot batch is sound and fits in memory".into()))?;
    Ok((bucket, triples))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The bound of one batch.
    fn error_log2(p: &WrkParams) -> f64 {
        let triples = (p.batch / p.bucket) as u64;
        params::one_shot(triples, p.bucket as u32, p.epsilon_log2).expect("in range").error_log2
    }

    #[test]
    fn every_choice_fits_the_frames_and_keeps_the_bound() {
        for rho in [Rho::Bits40, Rho::Bits64, Rho::Bits80] {
            for shift in 0..40 {
                for ands in [1u64 << shift, (1 << shift) + 1, 3 << shift] {
                    let p = WrkParams::derive(PoolChoice::OneShot(ands), rho).expect("sound");
                    assert!(p.pool.is_none() && p.batch.is_multiple_of(p.bucket));
                    assert!(16 * p.batch <= cenote_net::MAX_FRAME, "{rho:?} {ands}: {p:?}");
                    // A session has any number of batches: the cheater that fails in one without
                    // winning comes to the next with probability 2^-B at most.
                    let next = 0.5f64.powi(p.bucket as i32);
                    let session = error_log2(&p).exp2() / (1.0 - next);
                    assert!(session.log2() <= p.epsilon_log2, "{rho:?} {ands}: {p:?}");
                }
            }
        }
    }

    #[test]
    fn the_line_and_the_size_of_the_job_decide_on_oblivious_transfer() {
        let fastest = |config: &str, ands, rtt_ms, mbit: f64| {
            let config: SessionConfig = config.parse().expect("well-formed");
            let params = WrkParams::of(&config.for_ands(ands)).expect("sound");
            let line = Line::steady(Duration::from_millis(rtt_ms), 8e-6 / mbit);
            let allowed = params.ots();
            allowed[params.fastest(&allowed, line)]
        };
        let [narrow, wide, silent] = Choice::all();
        for (rtt_ms, mbit, ot) in [(0, 1e5, narrow), (1, 1e4, narrow), (10, 1e3, silent)] {
            assert_eq!(fastest("wrk:pool=480000", 4_000_000, rtt_ms, mbit), ot, "{mbit}");
        }
        assert_eq!(fastest("wrk", 100_000, 40, 200.0), silent);
        // Too small for an extension.
        assert_eq!(fastest("wrk", 100, 40, 200.0), narrow);
        assert_eq!(fastest("wrk", 100, 10, 1000.0), narrow);
        // What the owners chose stays.
        assert_eq!(fastest("wrk:ot=softspoken8", 4_000_000, 40, 200.0), wide);
        assert_eq!(fastest("wrk:ot=silent", 1, 0, 1e5), silent);
        assert_eq!(fastest("wrk", u64::MAX, 40, 1.0), silent);
        // Its check would be the weakest of the session.
        assert_eq!(fastest("wrk:rho=64", 4_000_000, 40, 200.0), wide);
        let refused = "wrk:rho=80,ot=silent".parse().and_then(|config| WrkParams::of(&config));
        assert!(matches!(refused, Err(Fault::Policy(_))));
    }

    #[test]
    fn no_request_is_too_large_for_a_choice() {
        for ands in [1 << 60, u64::MAX] {
            let p = WrkParams::derive(PoolChoice::OneShot(ands), Rho::Bits40).expect("sound");
            assert!(16 * p.batch <= cenote_net::MAX_FRAME);
        }
    }

    #[test]
    fn a_little_more_work_costs_a_little_more() {
        let cost = |ands: u64, rho| {
            let p = WrkParams::derive(PoolChoice::OneShot(ands), rho).expect("sound");
            ands.div_ceil((p.batch / p.bucket) as u64) * p.batch as u64
        };
        for rho in [Rho::Bits40, Rho::Bits64, Rho::Bits80] {
            for ands in (1000..120_000).step_by(3500) {
                let (less, more) = (cost(ands, rho), cost(ands + ands / 10, rho));
                assert!(more * 2 < less * 3, "{rho:?} {ands}: {less} and {more}");
            }
        }
    }

    #[test]
    fn pools_follow_the_papers_thresholds() {
        let bucket = |pool, rho| WrkParams::derive(PoolChoice::Kept(pool), rho).map(|p| p.bucket);
        assert_eq!(bucket(480_000, Rho::Bits40), Ok(3));
        assert_eq!(bucket(7_673, Rho::Bits40), Ok(4));
        assert_eq!(bucket(7_672, Rho::Bits40), Ok(5));
        assert_eq!(bucket(2_000_000, Rho::Bits64), Ok(4));
        assert!(matches!(bucket(39, Rho::Bits40), Err(Fault::Policy(_))));
        assert!(matches!(bucket(MAX_POOL + 1, Rho::Bits40), Err(Fault::Policy(_))));
    }

    #[test]
    fn a_session_keeps_the_bound_that_its_owner_chose() {
        for (rho, log2) in [(Rho::Bits40, -40.0), (Rho::Bits64, -64.0), (Rho::Bits80, -80.0)] {
            for choice in [PoolChoice::Kept(480_000), PoolChoice::OneShot(1000)] {
                assert_eq!(WrkParams::derive(choice, rho).map(|p| p.epsilon_log2), Ok(log2));
            }
        }
    }

    #[test]
    fn guesses_at_delta_add_less_than_a_millionth() {
        for (rho, bits) in [(Rho::Bits40, 64), (Rho::Bits64, 96), (Rho::Bits80, 128)] {
            let p = WrkParams::derive(PoolChoice::Kept(480_000), rho).expect("sound");
            assert_eq!((p.leaky.bits(), p.leaky.bytes()), (bits, bits as usize / 8));
            assert!((p.leaky.error_log2() - (6.32 - f64::from(bits))).abs() < 0.01);
            let all = p.epsilon_log2.exp2() + p.leaky.error_log2().exp2();
            assert!(all < p.epsilon_log2.exp2() * (1.0 + (-16f64).exp2()), "{rho:?}");
        }
    }

    #[test]
    fn the_adaptive_bound_is_a_fraction_of_a_bit_above() {
        let p = WrkParams::derive(PoolChoice::Kept(480_000), Rho::Bits40).expect("sound");
        assert!(p.adaptive_epsilon_log2 > -40.0 && p.adaptive_epsilon_log2 < -39.7);
        let p = WrkParams::derive(PoolChoice::OneShot(1000), Rho::Bits40).expect("sound");
        assert_eq!(p.adaptive_epsilon_log2, -40.0);
    }
}
