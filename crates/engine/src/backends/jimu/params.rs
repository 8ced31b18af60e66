//! Parameters of a session: everything follows from what the owners choose.

use cenote_net::Fault;
use cenote_ot::Choice;
use cenote_pool::PoolError;
use cenote_pool::params::{self, Code, Guesses, HashCodes, ParamsError, PoolParams, shown_log2};
use serde_json::{Map, Value, json};

use super::kept::SPARE;
use crate::backends::jimu::garbled_core::Shape;
use crate::options::{Opt, PoolChoice, Rho, SessionConfig};
use crate::parts::chunk::{CORE_WIDTHS, Chunk};
use crate::parts::keeper::MOST_CONNECTIONS;

pub(super) const MUXCORE: Opt =
    Opt::switch("muxcore", true, "multiplexers draw from pools of their own");
pub(super) const COMPACT: Opt =
    Opt::switch("compact", false, "pools are not stored: what is drawn is sent again");

/// The features that the owners may switch, for comparisons and for small machines.
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

/// One pool, of cores of one shape.
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
    /// Where bad items come to lie that pass for good.
    pub guesses: Guesses,
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

    /// The fields of a result.
    #[must_use]
    pub fn shown(&self) -> Value {
        json!({
            "pool": self.capacity,
            "bucket": self.bucket,
            "check_rate": self.check_rate(),
            "batch": self.batch,
            "made_per_bucket": self.made(),
            "error_log2": shown_log2(self.error_log2, 3),
        })
    }

    /// Items made for one bucket on average: some are checked, and those are spent.
    fn made(&self) -> f64 {
        self.bucket as f64 / (1.0 - self.check_rate())
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
            guesses: params::jimu_guesses(&found, detection)?,
            derived: found,
            detection,
        };
        // A batch gives two buckets at least, or refilling might take for ever.
        let least = (2.0 * f64::from(found.bucket) / (1.0 - spec.check_rate())).ceil() as usize;
        let most = MAX_BATCH.min(MAX_BATCH_WIRES / wires);
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
    /// Pools of the cores of multiplexers, widest first; none when switched off.
    pub muxes: Vec<(Shape, PoolSpec)>,
    /// The switches.
    pub switches: JimuSwitches,
    /// The protocol of correlated OT: for watch lists and the evaluator's inputs.
    pub ot: Choice,
    /// The sum of all error bounds over all sets of pools with this peer, if they are kept; of one otherwise.
    pub kept: Option<PoolError>,
}

/// Most items made in a batch: POOL's buffer.
const MAX_BATCH: usize = 1 << 17;
/// Most wires hashed in a batch: those of as many ANDs.
const MAX_BATCH_WIRES: usize = 3 * MAX_BATCH;
/// Fewest items made at a time.
const MIN_BATCH: usize = 256;
/// Most bytes that a side keeps of one pool.
const MAX_POOL_BYTES: usize = 8 << 30;
/// The same for a pool of multiplexers.
const MAX_MUX_BYTES: usize = 2 << 30;
/// Bytes that the garbler keeps of an item in compact storage.
const NUMBER_BYTES: usize = size_of::<u64>();

impl JimuParams {
    /// The parameters of a session by `config`.
    ///
    /// # Errors
    /// As [`JimuParams::derive`].
    pub fn of(config: &SessionConfig) -> Result<JimuParams, Fault> {
        let (muxcore, compact) = (config.is_on(MUXCORE.name), config.is_on(COMPACT.name));
        let switches = JimuSwitches { muxcore, compact };
        let derived = JimuParams::derive(config.pool(), config.rho(), switches)?;
        Ok(JimuParams { ot: config.ot().unwrap_or_default(), ..derived })
    }

    /// The fields of a result; codes are \[n, k, w\]: symbols of a word, of a message, and those that are
    /// watched.
    pub(super) fn shown(&self) -> Value {
        let code = |code: &Code| [code.n, code.k, code.w];
        let muxes = self.muxes.iter().map(|(shape, spec)| (shape.ands().to_string(), spec.shown()));
        json!({
            "pool": self.ands.capacity,
            "bucket": self.ands.bucket,
            "check_rate": self.ands.check_rate(),
            "batch": self.ands.batch,
            "gates_per_and": self.ands.made(),
            "error_log2": shown_log2(self.ands.error_log2, 3),
            "rho": self.rho.bits(),
            "epsilon_log2": self.epsilon_log2(),
            "adaptive_epsilon_log2": self.adaptive_epsilon_log2(),
            "mux_pools": muxes.collect::<Map<String, Value>>(),
            "codes": { "labels": code(&self.codes.labels), "perms": code(&self.codes.perms) },
            "compact": self.switches.compact,
        })
    }

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
        let ands = PoolSpec::derive(pool, and.wires(), main, and.detection()).map_err(refuse)?;
        let mut muxes = Vec::new();
        for shape in Shape::MUXES.into_iter().filter(|_| switches.muxcore) {
            let capacity = pool.min((MAX_MUX_BYTES / row_bytes(shape)) as u64);
            // A pool too small for wide cores goes without: their ANDs are taken one by one.
            let spec = PoolSpec::derive(capacity, shape.wires(), other, shape.detection());
            muxes.extend(spec.ok().map(|spec| (shape, spec)));
        }
        let ot = Choice::default();
        Ok(JimuParams { rho, codes, ands, muxes, switches, ot, kept: None })
    }

    /// Base-2 logarithm of the sum of all error bounds, rounded up to a thousandth.
    #[must_use]
    pub fn epsilon_log2(&self) -> f64 {
        let error = self.kept.map_or_else(|| self.error_at_once(1), |all| all.at_once);
        shown_log2(error.log2(), 3)
    }

    /// The same against a garbler that brings bad items in when it sees that it still needs them
    /// (docs/parameters.md). Takes some milliseconds.
    #[must_use]
    pub fn adaptive_epsilon_log2(&self) -> f64 {
        let error = self.kept.map_or_else(|| self.adaptive_error(1), |all| all.adaptive);
        shown_log2(error.log2(), 3)
    }

    /// How likely it is that a cheater gets anything by so many sets of pools.
    pub(super) fn error(&self, sets: u64) -> PoolError {
        PoolError { at_once: self.error_at_once(sets), adaptive: self.adaptive_error(sets) }
    }

    fn error_at_once(&self, sets: u64) -> f64 {
        total(self, sets, |spec| spec.error_log2)
    }

    fn adaptive_error(&self, sets: u64) -> f64 {
        total(self, sets, |spec| {
            // What was derived is in range.
            params::jimu_adaptive_error_log2(&spec.derived, spec.detection).unwrap_or(0.0)
        })
    }

    /// Number of the stock of wires in escrow, behind those of cores; that of wires for inputs comes next.
    pub(super) fn escrow_stock(&self) -> usize {
        1 + self.muxes.len()
    }

    /// Wires for inputs and as many in escrow that are made ready with a stock: more if that is kept.
    pub(super) fn spare(&self, kept: bool) -> usize {
        if kept { SPARE.min(self.ands.capacity) } else { 1 }
    }

    /// Sums by which a batch of the evaluator's input wires is checked: a wrong one is right by chance
    /// with probability 2^-(rho + 8).
    #[must_use]
    pub fn input_sums(&self) -> usize {
        (self.rho.bits() + 8).div_ceil(8) as usize
    }

    /// Wires of such a batch that are not kept: their choice bits blind the sums. The coefficients of so
    /// many fail to span the 8 bits of every sum with probability 2^-(rho + 40). Nobody notices, so each
    /// batch of a session is a try: there are less than 2^32, by the number of its COTs.
    #[must_use]
    pub fn input_sacrificed(&self) -> usize {
        8 * self.input_sums() + self.rho.bits() as usize + 40
    }

    /// At how many watched places of labels and of permutation messages a sum of two labels must open what was dealt to be held for Delta, where it may
    /// have come from a bucket that is not contested. With more, a garbler that spoils some of these places could hide Delta in a bucket that it
    /// has won; with fewer, labels that have a tag by luck pass for it.
    pub(super) fn tried(&self) -> [u32; 2] {
        let labels = if self.rho == Rho::Bits40 { 15 } else { 14 };
        [labels, self.codes.perms.w / 6]
    }

    /// Base-2 logarithms of the chance that the places are all watched which a garbler has to spoil so that Delta is refused in a bucket that it has won;
    /// and of the chance that those are which it has to seal for another sum, if that has the tag of Delta by luck. (To have it refused where half of a bucket
    /// disagrees it must spoil all places of a list: the same single try as a wrong opening.)
    fn trial_log2(&self) -> [f64; 2] {
        let HashCodes { labels, perms, .. } = &self.codes;
        let [of_labels, of_perms] = self.tried();
        let refused = [(labels, of_labels), (perms, of_perms)]
            .map(|(code, places)| watched_log2(code.n, code.w, code.w + 1 - places).exp2());
        // The places of labels are roots of the difference to Delta as well.
        let sealed = watched_log2(labels.k - 1, labels.w, of_labels);
        [refused.iter().sum::<f64>().log2(), sealed + watched_log2(perms.n, perms.w, of_perms)]
    }

    /// Returns the terms that both sides must agree on, by name.
    #[must_use]
    pub fn terms(&self) -> Vec<(&'static str, String)> {
        let pool = |spec: &PoolSpec| {
            format!("{} x {} of {}", spec.bucket, spec.check_rate(), spec.capacity)
        };
        let code = |code: &Code| format!("[{}, {}, {}]", code.n, code.k, code.w);
        let muxes: Vec<String> = self
            .muxes
            .iter()
            .map(|(shape, spec)| format!("{}: {}", shape.ands(), pool(spec)))
            .collect();
        let mut terms = vec![
            ("pool", self.ands.capacity.to_string()),
            ("bucket", self.ands.bucket.to_string()),
            ("batch", self.ands.batch.to_string()),
            ("check rate", self.ands.check_rate().to_string()),
            ("multiplexers", muxes.join(", ")),
            ("compact", self.switches.compact.to_string()),
            ("codes", format!("{} {}", code(&self.codes.labels), code(&self.codes.perms))),
            ("epsilon", format!("2^{}", self.epsilon_log2())),
        ];
        terms.extend(self.ot.term());
        terms
    }

    /// The pools of cores.
    pub fn cores(&self) -> impl Iterator<Item = (Shape, &PoolSpec)> + Clone {
        std::iter::once((Shape::AND, &self.ands)).chain(self.muxes.iter().map(|(s, p)| (*s, p)))
    }

    /// The pool of cores of a shape; `None` for one that has none.
    #[must_use]
    pub fn pool_of(&self, shape: Shape) -> Option<&PoolSpec> {
        self.cores().find(|pool| pool.0 == shape).map(|(_, spec)| spec)
    }

    /// Cores of each pool that `chunk` takes.
    pub(super) fn demand(&self, chunk: &Chunk) -> Vec<usize> {
        let recorded = |(shape, _): &(Shape, PoolSpec)| {
            let place = CORE_WIDTHS.iter().position(|width| *width == shape.ands());
            place.map_or(0, |place| chunk.cores[place])
        };
        let wide: Vec<usize> = self.muxes.iter().map(recorded).collect();
        let taken: usize =
            wide.iter().zip(&self.muxes).map(|(cores, (shape, _))| cores * shape.ands()).sum();
        std::iter::once(chunk.ands - taken).chain(wide).collect()
    }
}

/// Bytes that the evaluator keeps of a core: tables, two tags a wire, its number, its place.
pub(super) const fn row_bytes(shape: Shape) -> usize {
    16 * (shape.table_blocks() + 2 * shape.wires() + 2)
}

/// Sum of the bounds of so many sets of pools: the pools by `worst`, an opening, guesses that cost nothing, the linear checks. The
/// argument is in docs/protocols/jimu.md.
fn total(params: &JimuParams, sets: u64, worst: impl Fn(&PoolSpec) -> f64) -> f64 {
    let [label, perm] = [params.codes.labels, params.codes.perms].map(|code| code.binding_log2());
    // What a label is held against are the tags of both labels of a wire.
    let either = label + 1.0;
    let pools = params.cores().map(|(_, spec)| worst(spec));
    let Guessed { contested, lost, all, pairs } = guessed(params);
    // Both halves of a pair lie under one Delta: each set of pools makes pairs with those of its epoch.
    let pairs = pairs * sets.min(MOST_CONNECTIONS) as f64;
    let [refused, sealed] = params.trial_log2();
    let guesses =
        [either + (contested + pairs).log2(), lost.log2() + refused, all.log2() + label + sealed];
    // Consistency of labels and of permutation messages; of the evaluator's inputs, and their blinding. That clean places of wires in escrow
    // decode differently is less likely by 2^15, over all batches.
    let checks = [params.rho.epsilon_log2() - 8.0; 4];
    let terms = pools.chain([either.max(perm)]).chain(guesses).chain(checks);
    sets as f64 * terms.map(f64::exp2).sum::<f64>()
}

/// The chance that so many of `n` places are all among the `watched` ones, in bits.
fn watched_log2(n: u32, watched: u32, places: u32) -> f64 {
    (0..places).map(|i| (f64::from(watched - i) / f64::from(n - i)).log2()).sum()
}

/// How many labels of bad cores would matter if they had a tag by luck, on average.
struct Guessed {
    /// Those in contested buckets.
    contested: f64,
    /// Lost buckets.
    lost: f64,
    /// All labels.
    all: f64,
    /// Which takes two events, all of them where a bucket is lost.
    pairs: f64,
}

fn guessed(params: &JimuParams) -> Guessed {
    let labels =
        |(shape, spec): (Shape, &PoolSpec)| shape.ands() as f64 * spec.guesses.all_log2.exp2();
    let all: f64 = params.cores().map(labels).sum();
    let mut sum = Guessed { contested: 0.0, lost: 0.0, all, pairs: 0.0 };
    for (shape, spec) in params.cores() {
        let Guesses { contested_log2, lost_log2, hiding_log2, .. } = spec.guesses;
        let others = (all - labels((shape, spec))).max(0.0);
        let ands = shape.ands() as f64;
        sum.contested += ands * contested_log2.exp2();
        sum.lost += lost_log2.exp2();
        sum.pairs += ands * hiding_log2.exp2() + lost_log2.exp2() * others;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::Protocol;
    use crate::backends::jimu::JimuSession;

    fn derive(pool: u64, rho: Rho, muxcore: bool) -> Option<JimuParams> {
        // Stored as long as that is possible.
        let compact = pool > (MAX_POOL_BYTES / row_bytes(Shape::AND)) as u64;
        JimuParams::derive(PoolChoice::Kept(pool), rho, JimuSwitches { muxcore, compact }).ok()
    }

    fn page(name: &str) -> String {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        std::fs::read_to_string(root.join(name)).expect("the page is there")
    }

    /// The worst bounds over all sizes of pools: against a garbler that brings all bad items in at once, and
    /// against one that adapts, which takes long to find and so is found for fewer.
    fn worst(rho: Rho) -> [String; 2] {
        let sizes = (10..=60).map(|step| (f64::from(step) / 2.0).exp2() as u64);
        let few = [1 << 10, 185_363, 31_000_000];
        let of = |pool: u64| derive(pool, rho, true);
        let at_once = sizes.filter_map(of).map(|params| params.epsilon_log2());
        let adaptive = few.into_iter().filter_map(of).map(|params| params.adaptive_epsilon_log2());
        let shown = |bounds: &mut dyn Iterator<Item = f64>| {
            let worst = bounds.fold(f64::NEG_INFINITY, f64::max);
            format!("2^{}", params::shown_log2(worst, 1))
        };
        [shown(&mut at_once.into_iter()), shown(&mut adaptive.into_iter())]
    }

    #[test]
    fn pages_say_the_bounds_of_sessions() {
        let [forty, more, most] = [Rho::Bits40, Rho::Bits64, Rho::Bits80].map(worst);
        let (readme, own) = (page("README.md"), page("docs/protocols/jimu.md"));
        let once = |i: usize| format!("{}, {} or {}", forty[i], more[i], most[i]);
        let promised = format!("the bound is {} when 2^-40, 2^-64 or 2^-80 is asked for", once(0));
        let adaptive = format!("({} against a garbler that adapts)", once(1));
        assert!(readme.contains(&promised) && readme.contains(&adaptive), "{promised} {adaptive}");
        let threats = format!("{} when 2^-40 is asked for", forty[0]);
        assert!(page("docs/threat-model.md").contains(&threats), "{threats}");
        let [a, b, c] = [&forty[0], &more[0], &most[0]];
        let sum = format!("{a} or less, {b} and {c} at rho = 64 and 80");
        let [a, b, c] = [&forty[1], &more[1], &most[1]];
        let adaptive = format!("its bound is {a}, {b} and {c}");
        assert!(own.contains(&sum) && own.contains(&adaptive), "{sum} {adaptive}");
    }

    #[test]
    fn pages_say_the_bound_of_the_usual_session() {
        let params = derive(1 << 20, Rho::Bits40, true).expect("sound");
        let text = |log2: f64, decimals: u32| params::shown_log2(log2, decimals).to_string();
        let own = page("docs/protocols/jimu.md");
        let sum = format!("| sum | 2^{} |", text(params.epsilon_log2(), 2));
        assert!(own.contains(&sum), "{sum}");
        let said = format!(
            "\"epsilon_log2\": {}, \"adaptive_epsilon_log2\": {}",
            text(params.epsilon_log2(), 3),
            text(params.adaptive_epsilon_log2(), 3)
        );
        assert!(page("docs/cli.md").contains(&said), "{said}");
        // What guesses come to, with pools of wide cores and without.
        let either = params.codes.labels.binding_log2() + 1.0;
        let without = derive(1 << 20, Rho::Bits40, false).expect("sound");
        let [with, without] = [&params, &without].map(|p| text(either + matter(p).log2(), 1));
        let guesses =
            format!("that is 2^{with}, nearly all of it from the wide cores; 2^{without} without");
        assert!(own.contains(&guesses), "{guesses}");
        let [refused, taken] = trial(&params).map(|log2| text(log2, 1));
        let trial = format!("2^{refused} and 2^{taken} in the usual session");
        assert!(own.contains(&trial), "{trial}");
        let [labels, perms] = params.tried();
        let places = format!("at {labels} places of labels and at {perms} of permutation");
        assert!(own.contains(&places), "{places}");
        let kappa =
            format!("and `kappa` is {} in the claims", JimuSession::promises(&params).kappa);
        assert!(own.contains(&kappa), "{kappa}");
    }

    /// How likely the trial of a sum fails: Delta is refused in a bucket that is lost, or another sum taken that has its tag by luck.
    fn trial(params: &JimuParams) -> [f64; 2] {
        let choose =
            |n: u32, k: u32| (0..k).map(|i| f64::from(n - i) / f64::from(k - i)).product::<f64>();
        let HashCodes { labels, perms, .. } = &params.codes;
        // All watch lists, and those that have so many places, of which one is spoiled less.
        let [of_labels, of_perms] = params.tried();
        let spoiled = [(labels, of_labels), (perms, of_perms)].map(|(code, needed)| {
            let spoiled = code.w + 1 - needed;
            choose(code.n - spoiled, code.w - spoiled) / choose(code.n, code.w)
        });
        let sealed = choose(labels.k - 1 - of_labels, labels.w - of_labels)
            / choose(labels.n, labels.w)
            * choose(perms.n - of_perms, perms.w - of_perms)
            / choose(perms.n, perms.w);
        let Guessed { lost, all, .. } = guessed(params);
        [lost * spoiled.iter().sum::<f64>(), all * sealed].map(f64::log2)
    }

    /// Labels that matter if they have a tag by luck.
    fn matter(params: &JimuParams) -> f64 {
        let Guessed { contested, pairs, .. } = guessed(params);
        contested + pairs
    }

    /// What takes one event grows with the sets of pools; what takes two, with those of an epoch as well.
    #[test]
    fn a_bound_counts_sets_of_pools_and_pairs_of_them() {
        let once = derive(1 << 20, Rho::Bits40, true).expect("sound");
        let pairs = guessed(&once).pairs * (once.codes.labels.binding_log2() + 1.0).exp2();
        assert!(pairs > 0.0);
        for (sets, in_an_epoch) in [(1u64, 1.0), (2, 2.0), (256, 256.0), (1024, 256.0)] {
            let mut params = once.clone();
            params.kept = Some(params.error(sets));
            let each = once.error(1).at_once + (in_an_epoch - 1.0) * pairs;
            let expected = (sets as f64 * each).log2();
            assert!((params.epsilon_log2() - expected).abs() < 0.002, "{sets}: {expected}");
            let more = params.adaptive_epsilon_log2() - params.epsilon_log2();
            assert!((0.0..0.2).contains(&more), "{sets}: {more}");
        }
    }

    /// The terms one by one, in units of 2^-rho.
    #[test]
    fn a_bound_is_the_sum_of_its_terms() {
        for (rho, pool) in [(Rho::Bits40, 128), (Rho::Bits40, 1 << 20), (Rho::Bits80, 100_000)] {
            let params = derive(pool, rho, true).expect("sound");
            let unit = |log2: f64| (log2 - rho.epsilon_log2()).exp2();
            let [label, perm] =
                [params.codes.labels, params.codes.perms].map(|code| code.binding_log2());
            // An opening has one try in a session, an input label two tags.
            let opening = (2.0 * unit(label)).max(unit(perm));
            let pools = 0.5 + params.muxes.len() as f64 / 16.0;
            let rest = unit(params.epsilon_log2()) - opening - pools - 4.0 / 256.0;
            let guesses = 2.0 * unit(label) * matter(&params);
            let trials = trial(&params).map(unit).iter().sum::<f64>();
            assert!(trials > 0.0 && trials < 0.2, "{rho:?} {pool}: {trials}");
            let missing = rest - guesses - trials;
            assert!(missing > -1e-6 && missing < 0.003, "{rho:?} {pool}: {missing}");
            assert!(guesses > 0.0 && guesses < 0.2, "{rho:?} {pool}: {guesses}");
        }
    }
}
