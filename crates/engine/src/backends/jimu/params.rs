//! Parameters of a session: everything follows from what the owners choose.

use cenote_net::Fault;
use cenote_ot::Params as OtParams;
use cenote_pool::params::{self, Code, HashCodes, ParamsError, PoolParams};

use crate::chunk::{CORE_WIDTHS, Chunk};
use crate::params::{PoolChoice, Rho};
use crate::protocols::garbled_core::Shape;

/// What the owners may switch, for comparisons and for small machines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JimuSwitches {
    /// Multiplexers take pools of their own (POOL section 5).
    pub muxcore: bool,
    /// The pools are not stored: the garbler keeps a seed and the evaluator a Merkle root, and gates
    /// are sent again when drawn (POOL section 4).
    pub compact: bool,
}

impl JimuSwitches {
    /// Multiplexers on, pools stored.
    pub const DEFAULT: JimuSwitches = JimuSwitches { muxcore: true, compact: false };
}

impl Default for JimuSwitches {
    fn default() -> JimuSwitches {
        JimuSwitches::DEFAULT
    }
}

/// One pool: of cores of one width, or of escrow gadgets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PoolSpec {
    /// Items in the pool.
    pub capacity: usize,
    /// Items of a bucket.
    pub bucket: usize,
    /// An item is checked when a random 32-bit word is below this.
    pub check_below: u32,
    /// Items made at a time.
    pub batch: usize,
    /// Base-2 logarithm of the error bound over the life of the pool.
    pub error_log2: f64,
    /// Base-2 logarithm of how many bad items meet in buckets whose vote they do not lose, on average.
    pub contested_log2: f64,
    /// Where these come from.
    pub derived: PoolParams,
    /// The chance that checking a bad item shows it.
    pub detection: f64,
}

impl PoolSpec {
    /// Share of the items that is checked.
    #[must_use]
    pub fn check_rate(&self) -> f64 {
        f64::from(self.check_below) / 2f64.powi(32)
    }

    /// Items to make when `missing` have to survive the check; mostly one batch is enough.
    pub(crate) fn fresh(&self, missing: usize) -> usize {
        let expected = missing as f64 / (1.0 - self.check_rate());
        let spread = 4.0 * expected.sqrt() + 16.0;
        ((expected + spread) as usize).min(self.batch)
    }

    fn derive(
        capacity: u64,
        wires: usize,
        error_log2: f64,
        detection: f64,
    ) -> Result<PoolSpec, ParamsError> {
        let found = params::jimu(capacity, error_log2, detection)?;
        let check_below = (found.check_rate * 2f64.powi(32)).ceil().min(f64::from(u32::MAX));
        let spec = PoolSpec {
            capacity: capacity as usize,
            bucket: found.bucket as usize,
            check_below: check_below as u32,
            batch: 0,
            error_log2: found.error_log2,
            contested_log2: params::jimu_contested_log2(&found, detection)?,
            derived: found,
            detection,
        };
        // A batch gives two buckets at least, or refilling might take for ever.
        let least = (2.0 * f64::from(found.bucket) / (1.0 - spec.check_rate())).ceil() as usize;
        let most = MAX_BATCH_WIRES / wires;
        if least > most {
            let minimum = capacity + 1;
            return Err(ParamsError::PoolTooSmall {
                pool: capacity,
                epsilon_log2: error_log2,
                minimum,
            });
        }
        let batch = (capacity as usize).max(MIN_BATCH).max(least).min(most);
        Ok(PoolSpec { batch, ..spec })
    }
}

/// Derived parameters of a session.
#[derive(Clone, PartialEq, Debug)]
pub struct JimuParams {
    /// Statistical security asked for.
    pub rho: Rho,
    /// The interactive hash.
    pub codes: HashCodes,
    /// Pool of ANDs.
    pub ands: PoolSpec,
    /// Pools of the wider cores, in the order of their widths, widest first; none when switched off.
    pub muxes: Vec<(usize, PoolSpec)>,
    /// Pool of escrow gadgets.
    pub escrow: PoolSpec,
    /// The switches.
    pub switches: JimuSwitches,
    /// The COT extension for the evaluator's inputs.
    pub ot: OtParams,
    /// Base-2 logarithm of the sum of all error bounds.
    pub epsilon_log2: f64,
}

/// Most wires hashed in a batch: those of the 128K gates of POOL's buffer.
const MAX_BATCH_WIRES: usize = 3 << 17;
/// Fewest items made at a time.
const MIN_BATCH: usize = 256;
/// Most items of the escrow pool, whose items serve inputs and outputs alone.
const MAX_ESCROW: u64 = 1 << 14;
/// Most bytes that a side keeps of one pool.
const MAX_POOL_BYTES: usize = 8 << 30;
/// The same for a pool of multiplexers.
const MAX_MUX_BYTES: usize = 2 << 30;
/// Bytes that the garbler keeps of an item in compact storage.
const NUMBER_BYTES: usize = size_of::<u64>();
/// Detection of a checked core (POOL section 7.3) and of an escrow gadget, which is opened whole.
const CORE_DETECTION: f64 = 0.5;
const ESCROW_DETECTION: f64 = 1.0;

impl JimuParams {
    /// Derives the parameters. The pool of ANDs may fail with 2^-(rho + 1) over its life, each of the
    /// other pools with 2^-(rho + 4): what they add to the bound is small beside the codes'.
    ///
    /// # Errors
    /// `Policy` when no bucket is sound for the pool, when it does not fit in memory, or when no
    /// pool is asked for: one-shot buckets are the other backend's.
    pub fn derive(
        choice: PoolChoice,
        rho: Rho,
        switches: JimuSwitches,
    ) -> Result<JimuParams, Fault> {
        let refuse = |error: ParamsError| Fault::Policy(error.to_string());
        let PoolChoice::Kept(pool) = choice else {
            return Err(Fault::Policy("jimu draws from a pool; wrk does without one".into()));
        };
        let and = Shape::AND;
        let kept = if switches.compact { NUMBER_BYTES } else { row_bytes(and) };
        let most = (MAX_POOL_BYTES / kept) as u64;
        if pool > most {
            let held = if switches.compact { "compact storage" } else { "memory" };
            return Err(Fault::Policy(format!("a pool in {held} has at most {most} garbled ANDs")));
        }
        let codes = params::hash_codes(rho.bits()).map_err(refuse)?;
        let (main, other) = (rho.epsilon_log2() - 1.0, rho.epsilon_log2() - 4.0);
        let ands = PoolSpec::derive(pool, and.wires(), main, CORE_DETECTION).map_err(refuse)?;
        let escrow = PoolSpec::derive(pool.min(MAX_ESCROW), 1, other, ESCROW_DETECTION);
        let mut muxes = Vec::new();
        for width in CORE_WIDTHS.into_iter().filter(|_| switches.muxcore) {
            let shape = Shape::new(width);
            let capacity = pool.min((MAX_MUX_BYTES / row_bytes(shape)) as u64);
            // A pool too small for wide cores goes without: their ANDs are taken one by one.
            if let Ok(spec) = PoolSpec::derive(capacity, shape.wires(), other, CORE_DETECTION) {
                muxes.push((width, spec));
            }
        }
        let escrow = escrow.map_err(refuse)?;
        let ot = OtParams::default();
        let mut params =
            JimuParams { rho, codes, ands, muxes, escrow, switches, ot, epsilon_log2: 0.0 };
        params.epsilon_log2 = total(&params, |spec| spec.error_log2);
        Ok(params)
    }

    /// As `epsilon_log2`, against a garbler that brings bad items in when it sees that it still needs
    /// them (docs/parameters.md). Takes some milliseconds.
    #[must_use]
    pub fn adaptive_epsilon_log2(&self) -> f64 {
        total(self, |spec| {
            // What was derived is in range.
            params::jimu_adaptive_error_log2(&spec.derived, spec.detection).unwrap_or(0.0)
        })
    }

    /// Sums by which a batch of the evaluator's input wires is checked: a wrong one is right by chance
    /// with probability 2^-(rho + 8).
    #[must_use]
    pub fn input_sums(&self) -> usize {
        (self.rho.bits() + 8).div_ceil(8) as usize
    }

    /// Wires of such a batch that are not kept: their choice bits blind the sums. The coefficients of so
    /// many fail to span the 8 bits of every sum with probability 2^-(rho + 40), and so in any of 2^32
    /// batches with 2^-(rho + 8).
    #[must_use]
    pub fn input_sacrificed(&self) -> usize {
        8 * self.input_sums() + self.rho.bits() as usize + 40
    }

    /// What both sides must agree on, by name.
    #[must_use]
    pub fn terms(&self) -> Vec<(&'static str, String)> {
        let pool = |spec: &PoolSpec| {
            format!("{} x {} of {}", spec.bucket, spec.check_rate(), spec.capacity)
        };
        let code = |code: &Code| format!("[{}, {}, {}]", code.n, code.k, code.w);
        let muxes: Vec<String> =
            self.muxes.iter().map(|(width, spec)| format!("{width}: {}", pool(spec))).collect();
        vec![
            ("pool", self.ands.capacity.to_string()),
            ("bucket", self.ands.bucket.to_string()),
            ("batch", self.ands.batch.to_string()),
            ("check rate", self.ands.check_rate().to_string()),
            ("multiplexers", muxes.join(", ")),
            ("escrow", pool(&self.escrow)),
            ("compact", self.switches.compact.to_string()),
            ("codes", format!("{} {}", code(&self.codes.labels), code(&self.codes.perms))),
            ("epsilon", format!("2^{}", self.epsilon_log2)),
        ]
    }

    /// Widths of the cores that have pools, in the order of the pools.
    pub(super) fn widths(&self) -> impl Iterator<Item = usize> {
        std::iter::once(1).chain(self.muxes.iter().map(|(width, _)| *width))
    }

    /// The pools of cores.
    fn specs(&self) -> impl Iterator<Item = &PoolSpec> {
        std::iter::once(&self.ands).chain(self.muxes.iter().map(|(_, spec)| spec))
    }

    /// Width and bucket of each pool of cores.
    pub(super) fn pools(&self) -> impl Iterator<Item = (usize, usize)> {
        let muxes = self.muxes.iter().map(|(width, spec)| (*width, spec.bucket));
        std::iter::once((1, self.ands.bucket)).chain(muxes)
    }

    /// Cores of each pool that `chunk` takes.
    pub(super) fn demand(&self, chunk: &Chunk) -> Vec<usize> {
        let recorded = |width: usize| {
            let place = CORE_WIDTHS.iter().position(|w| *w == width);
            place.map_or(0, |place| chunk.cores[place])
        };
        let wide: Vec<usize> = self.muxes.iter().map(|(width, _)| recorded(*width)).collect();
        let lanes: usize =
            wide.iter().zip(&self.muxes).map(|(cores, (width, _))| cores * width).sum();
        std::iter::once(chunk.ands - lanes).chain(wide).collect()
    }
}

/// Bytes that the evaluator keeps of a core: tables, two tags a wire, its number, its place.
pub(super) const fn row_bytes(shape: Shape) -> usize {
    16 * (shape.table_blocks() + 2 * shape.wires() + 2)
}

/// Sum of the bounds: the pools by `worst`, both codes, and the linear checks.
fn total(params: &JimuParams, worst: impl Fn(&PoolSpec) -> f64) -> f64 {
    let HashCodes { labels, perms, .. } = params.codes;
    // Tags by luck: in the pools of cores of labels, in that of escrow of permutation messages.
    let lucky = |width: usize| labels.binding_log2() + (width as f64).log2();
    let cores = params.widths().zip(params.specs()).map(|(width, spec)| (spec, lucky(width)));
    let pools = cores.chain([(&params.escrow, perms.binding_log2())]);
    let pools = pools.flat_map(|(spec, luck)| [worst(spec), luck + spec.contested_log2]);
    // Consistency of labels and of permutation messages; of the evaluator's inputs, and their blinding.
    let checks = [params.rho.epsilon_log2() - 8.0; 4];
    let codes = [labels.binding_log2(), perms.binding_log2()];
    pools.chain(codes).chain(checks).map(f64::exp2).sum::<f64>().log2()
}
