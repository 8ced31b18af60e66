//! Bytes of the messages of `jimu`.

use std::collections::BTreeMap;
use std::vec::IntoIter;

use cenote_engine::backends::Protocol;
use cenote_engine::backends::jimu::costs::{self, InputBatch};
use cenote_engine::backends::jimu::garbled_core::Shape;
use cenote_engine::backends::jimu::{JimuSession, PoolSpec, tags};
use cenote_engine::{JimuParams, Receivers, Role};
use cenote_net::{RecordedFrame, Tag};
use cenote_ot::tags as ot;
use cenote_prim::bits::packed_len;

use crate::adversary::bytes::{Bytes, Case, Formula, Work, chunks};
use crate::programs::Kind;
use crate::stats::fits;

/// No ANDs, one, batches within a chunk, a pool that is filled in one batch and in several, error
/// bounds, one input, multiplexers.
pub(super) const CASES: &[Case] = &[
    Case::new("jimu:pool=100", Kind::Ands(0), Receivers::Both),
    Case::new("jimu:pool=100", Kind::Ands(1), Receivers::Garbler),
    Case::new("jimu:pool=255", Kind::Ands(333), Receivers::Evaluator),
    Case::new("jimu:pool=3000", Kind::Ands(17_000), Receivers::Both),
    Case::new("jimu:pool=100,rho=64", Kind::Ands(20), Receivers::Garbler),
    Case::new("jimu:pool=100,rho=80", Kind::Ands(20), Receivers::Garbler),
    Case::new("jimu:pool=100", Kind::EvaluatorOnly, Receivers::Evaluator),
    Case::new("jimu:pool=70,muxcore=true", Kind::Muxes, Receivers::Both),
    Case::new("jimu:pool=70,muxcore=false", Kind::Muxes, Receivers::Both),
];

/// The bytes of a session, given its frames.
///
/// # Panics
/// If checks in the frames are not as many, or as frequent, as the parameters say.
pub(super) fn of(case: &Case, frames: &[RecordedFrame]) -> Bytes {
    let params = JimuSession::derive(&case.session()).expect("sound");
    let work = case.work();
    let mut jimu = Jimu::new(&params, frames);
    jimu.setup();
    jimu.garbler_input(work.inputs[0]);
    jimu.evaluator_input(work.inputs[1]);
    jimu.gates(&work);
    jimu.output(work.outputs, case.to);
    jimu.finish(case)
}

/// A session of `jimu` by the formulas of `costs`. What the coins decide, the number of items that
/// are checked in each batch, comes from the transcript.
struct Jimu<'p> {
    formula: Formula,
    params: &'p JimuParams,
    /// Bytes of checks of each batch, from the transcript.
    checks: IntoIter<usize>,
    /// Cores made, cores checked, and so many on the average.
    made: (u64, u64, f64),
    /// Ready buckets by width.
    ready: BTreeMap<usize, usize>,
    /// Wires in escrow.
    escrowed: usize,
    /// Wires made for inputs of the evaluator.
    inputs: usize,
}

impl<'p> Jimu<'p> {
    fn new(params: &'p JimuParams, frames: &[RecordedFrame]) -> Jimu<'p> {
        let mut checks = Vec::new();
        for frame in frames {
            match (frame.tag, checks.last_mut()) {
                (tag, _) if tag == tags::JIMU_CLOSE.id => checks.push(0),
                (tag, Some(last)) if tag == tags::JIMU_CHECK.id => *last += frame.payload.len(),
                _ => {}
            }
        }
        Jimu {
            formula: Formula::default(),
            params,
            checks: checks.into_iter(),
            made: (0, 0, 0.0),
            ready: BTreeMap::new(),
            escrowed: 0,
            inputs: 0,
        }
    }

    fn sent(&mut self, tag: Tag, bytes: usize) {
        self.formula.add(tag, Role::Garbler, bytes);
    }

    fn setup(&mut self) {
        let params = self.params;
        let before = self.formula.total();
        self.formula.setup(params.ot, Role::Garbler);
        for code in [params.codes.labels, params.codes.perms] {
            let seeds = code.n as usize;
            self.formula.cots(params.ot, Role::Evaluator, seeds);
            self.formula.add(ot::CHOICES, Role::Evaluator, packed_len(seeds));
            self.sent(ot::WATCH_COMMIT, 32);
            self.sent(ot::MASKED, 32 * seeds);
            self.formula.add(ot::WATCH_SECRET, Role::Evaluator, 16);
        }
        let proving = costs::proving(params);
        self.formula.cots(params.ot, Role::Evaluator, proving);
        self.sent(tags::JIMU_DELTA, costs::delta(params));
        let batch = InputBatch::new(params, proving);
        self.end_of_batch();
        self.formula.add(tags::JIMU_SUM, Role::Evaluator, batch.sums);
        self.sent(tags::JIMU_PROOF, batch.proof);
        assert_eq!(self.formula.total() - before, costs::setup(params));
    }

    /// The end of a batch; the bytes of its checks.
    fn close(&mut self) -> usize {
        self.sent(tags::JIMU_CLOSE, costs::closing(self.params));
        self.end_of_batch();
        self.checks.next().expect("the transcript has all batches")
    }

    /// The coin of a batch, and the answer.
    fn end_of_batch(&mut self) {
        self.formula.toss();
        self.sent(tags::JIMU_ANSWER, costs::answer(self.params));
    }

    /// A batch of `items`; returns how many survive.
    fn batch(&mut self, shape: Shape, items: usize) -> usize {
        let params = self.params;
        let before = self.formula.total();
        self.sent(tags::JIMU_STRIP, costs::strips(params, shape, items));
        let bytes = self.close();
        let checked = bytes / costs::check(params, shape, 1);
        self.sent(tags::JIMU_CHECK, costs::check(params, shape, checked));
        let whole = costs::batch(params, shape, items, checked);
        assert_eq!(self.formula.total() - before, whole);
        let rate = params.pool_of(shape).expect("a pool").check_rate();
        let (made, shown, expected) = &mut self.made;
        *made += items as u64;
        *shown += checked as u64;
        *expected += items as f64 * rate;
        items - checked
    }

    /// Adds the bytes that fill a pool, the first time that it is drawn from.
    fn fill(&mut self, shape: Shape) {
        if self.ready.contains_key(&shape.ands()) {
            return;
        }
        self.ready.insert(shape.ands(), 0);
        let pool = *self.params.pool_of(shape).expect("a pool");
        let (mut level, before) = (0, self.formula.total());
        while level < pool.capacity {
            let items = costs::fresh_items(&pool, pool.capacity - level);
            level += self.batch(shape, items).min(pool.capacity - level);
        }
        let average = costs::filling(self.params, shape).expect("a pool");
        self.compare_average(&pool, before, average, 1);
    }

    /// Asserts that the bytes added since the formula had `before` are so many for each of
    /// `pieces`, on the average: in large pools, where coins and what is left of a batch matter
    /// little.
    fn compare_average(&self, pool: &PoolSpec, before: usize, average: f64, pieces: usize) {
        let each = (self.formula.total() - before) as f64 / pieces as f64;
        let fits = (each / average - 1.0).abs() < 0.05;
        assert!(fits || pool.capacity < 2000, "{each} bytes, average {average}");
    }

    /// As many ready cores of a shape as are taken.
    fn take(&mut self, shape: Shape, cores: usize) {
        let (params, width) = (self.params, shape.ands());
        while cores > 0 && self.ready.get(&width).is_none_or(|ready| *ready < cores) {
            self.fill(shape);
            let (pool, before) = (params.pool_of(shape).expect("a pool"), self.formula.total());
            let buckets = self.batch(shape, pool.batch) / pool.bucket;
            self.sent(tags::JIMU_INNER, costs::inner(params, shape, pool, buckets));
            let average = costs::core(params, shape).expect("a pool");
            let online = costs::outer(params, shape) as f64;
            self.compare_average(pool, before, average - online, buckets);
            *self.ready.entry(width).or_default() += buckets;
        }
        if let Some(ready) = self.ready.get_mut(&width) {
            *ready -= cores;
        }
        self.sent(tags::JIMU_OUTER, cores * costs::outer(params, shape));
    }

    fn take_escrowed(&mut self, wires: usize) {
        while self.escrowed < wires {
            let made = costs::escrow_batch(wires - self.escrowed);
            let before = self.formula.total();
            self.sent(tags::JIMU_STRIP, costs::plain_strips(self.params, made));
            assert_eq!(self.close(), 0, "nothing is checked by opening");
            assert_eq!(self.formula.total() - before, costs::escrow(self.params, made));
            self.escrowed += made;
        }
        self.escrowed -= wires;
    }

    fn garbler_input(&mut self, bits: usize) {
        if bits > 0 {
            self.take_escrowed(bits);
        }
        self.sent(tags::JIMU_LABELS, 48 * bits);
    }

    fn evaluator_input(&mut self, bits: usize) {
        while self.inputs < bits {
            let (wires, kept) = costs::input_batch(self.params, bits - self.inputs);
            let (bytes, before) = (InputBatch::new(self.params, wires), self.formula.total());
            self.formula.cots(self.params.ot, Role::Evaluator, wires);
            self.sent(tags::JIMU_STRIP, bytes.strip);
            assert_eq!(self.close(), 0, "nothing is checked by opening");
            self.formula.add(tags::JIMU_SUM, Role::Evaluator, bytes.sums);
            self.sent(tags::JIMU_PROOF, bytes.proof);
            assert_eq!(self.formula.total() - before, bytes.total(self.params));
            self.inputs += kept;
        }
        self.inputs -= bits;
        self.formula.add(tags::JIMU_CHOICES, Role::Evaluator, packed_len(bits));
    }

    /// Cores for all ANDs, as wide ones as there are. Pools are drawn from in their order: ANDs, then
    /// the widest first.
    fn gates(&mut self, work: &Work) {
        let mut lanes = work.muxes.clone();
        let mut cores = Vec::new();
        for shape in self.params.muxes.iter().map(|pool| pool.0) {
            let width = shape.ands();
            cores.push((shape, lanes.iter().map(|lanes| lanes / width).sum::<usize>()));
            lanes.iter_mut().for_each(|lanes| *lanes %= width);
        }
        for ands in chunks(work.ands + lanes.iter().sum::<usize>()) {
            self.take(Shape::AND, ands);
        }
        for (shape, count) in cores {
            self.take(shape, count);
        }
    }

    fn output(&mut self, bits: usize, to: Receivers) {
        let perms = bits * costs::perm(self.params);
        if to.include(Role::Evaluator) {
            self.sent(tags::JIMU_PERMS, perms);
        } else {
            self.take_escrowed(bits);
            self.sent(tags::JIMU_BOND, perms);
        }
        if to.include(Role::Garbler) {
            self.formula.add(tags::JIMU_RESULT, Role::Evaluator, packed_len(bits) + 16);
        }
    }

    fn finish(mut self, case: &Case) -> Bytes {
        assert_eq!(self.checks.next(), None, "{case:?}: a batch too many");
        let (made, shown, expected) = self.made;
        let rate = expected / made.max(1) as f64;
        assert!(fits(shown, made, rate, rate), "{case:?}: {shown} of {made} cores");
        self.formula.0
    }
}

#[cfg(test)]
mod tests {
    use cenote_engine::{JimuSwitches, PoolChoice, Rho};

    use super::*;

    #[test]
    fn bytes_per_and_with_a_pool_of_a_million() {
        let params =
            JimuParams::derive(PoolChoice::Kept(1 << 20), Rho::Bits40, JimuSwitches::DEFAULT);
        let params = params.expect("sound");
        // What the parts add up to, without a look at the code that sends them.
        let PoolSpec { bucket, batch, .. } = params.ands;
        let (bucket, rate) = (bucket as f64, params.ands.check_rate());
        let gates = bucket / (1.0 - rate);
        let made = gates * (3.0 * 40.0 + 3.0 * 18.0 + 144.0);
        let solders = (3.0 * (bucket - 1.0) + 2.0) * 64.0;
        let checks = gates * rate * 3.0 * 64.0;
        let (labels, perms) = (params.codes.label_combinations, params.codes.perm_combinations);
        let closing = 64 * labels.max(perms) * (40 + 18);
        let end = closing + 32 + 48 + 80 + 64 * (48 * labels + 16 * perms);
        let ends = gates / batch as f64 * f64::from(end);
        let parts = made + solders + checks + ends;
        let found = costs::core(&params, Shape::AND).expect("always");
        assert!((found / parts - 1.0).abs() < 1e-3, "{found} bytes, the parts {parts}");
        assert!(found > 2000.0 && found <= 2200.0, "{found} bytes");
    }
}
