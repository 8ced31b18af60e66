//! Whether what two services need stays what it was while they run: memory, and how long jobs take.
//!
//! The last third of the time is compared with the one before. The first does not count: pools, buffers and the allocator find their sizes then.

use serde_json::{Value, json};

/// The memory of both sides at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Seconds since the begin.
    pub(super) at: f64,
    pub(super) bytes: [u64; 2],
}

/// Milliseconds below which latencies are all alike: a machine that does other things as well has such pauses.
const NOTHING_MS: f64 = 25.0;
/// Jobs of a third from which its median says something.
const FEW: usize = 5;

/// Jobs by the third in which they ended, each as milliseconds and the second of its end.
pub(super) fn thirds(jobs: &[(f64, f64)], seconds: f64) -> [Vec<(f64, f64)>; 3] {
    [0, 1, 2]
        .map(|third| jobs.iter().copied().filter(|(_, at)| is_in(third, *at, seconds)).collect())
}

fn is_in(third: usize, at: f64, seconds: f64) -> bool {
    // What ends last ends in the last one.
    ((at / seconds * 3.0) as usize).min(2) == third
}

/// Milliseconds of jobs, the shortest first.
pub(super) fn sorted(jobs: &[(f64, f64)]) -> Vec<f64> {
    let mut times: Vec<f64> = jobs.iter().map(|(ms, _)| *ms).collect();
    times.sort_unstable_by(f64::total_cmp);
    times
}

/// The time within which this share of jobs ended.
pub(super) fn quantile(times: &[f64], share: f64) -> Option<f64> {
    times.get(((times.len() as f64 * share) as usize).min(times.len().max(1) - 1)).copied()
}

/// Memory of both at the start, in the middle and at the end.
pub(super) fn three(memory: &[Sample]) -> Value {
    let at = |place: usize| memory.get(place).map(|sample| sample.bytes);
    let last = memory.len().saturating_sub(1);
    json!({ "start": at(0), "middle": at(last / 2), "end": at(last) })
}

/// Most memory of each side in each third.
pub(super) fn most(memory: &[Sample], seconds: f64) -> [[u64; 2]; 3] {
    [0, 1, 2].map(|third| {
        let samples = memory.iter().filter(|sample| is_in(third, sample.at, seconds));
        samples.fold([0; 2], |most, sample| [0, 1].map(|side| most[side].max(sample.bytes[side])))
    })
}

/// Whose memory grew by more than this factor.
pub(super) fn memory(memory: &[Sample], seconds: f64, factor: f64) -> Vec<String> {
    let [_, before, after] = most(memory, seconds);
    let grew = |side: &usize| after[*side] as f64 > before[*side] as f64 * factor;
    let text = |side: usize| {
        let [before, after] = [before, after].map(|most| most[side] >> 20);
        format!("memory of side {side}: {before} MiB in the second third, {after} MiB in the last")
    };
    [0, 1].into_iter().filter(grew).map(text).collect()
}

/// Whether the median of these jobs grew by more than this factor.
pub(super) fn latency(
    kind: &str,
    jobs: &[(f64, f64)],
    seconds: f64,
    factor: f64,
) -> Option<String> {
    let [_, before, after] = thirds(jobs, seconds);
    if before.len().min(after.len()) < FEW {
        return None;
    }
    let median = |jobs: &[(f64, f64)]| quantile(&sorted(jobs), 0.5).unwrap_or_default();
    let [before, after] = [median(&before), median(&after)];
    (after > before.max(NOTHING_MS) * factor).then(|| {
        format!(
            "median of {kind} jobs: {before:.0} ms in the second third, {after:.0} ms in the last"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_grows_is_said_and_a_warm_up_is_not() {
        let samples = |bytes: fn(u64) -> [u64; 2]| -> Vec<Sample> {
            (0..=30_u64).map(|at| Sample { at: at as f64, bytes: bytes(at) }).collect()
        };
        let flat = samples(|at| [100 << 20, if at < 10 { 50 << 20 } else { 200 << 20 }]);
        assert_eq!(memory(&flat, 30.0, 1.2), Vec::<String>::new());
        let leak = samples(|at| [100 << 20, (100 << 20) + (at << 22)]);
        let said = memory(&leak, 30.0, 1.2);
        assert_eq!(said, ["memory of side 1: 176 MiB in the second third, 220 MiB in the last"]);
        assert_eq!(memory(&leak, 30.0, 1.3), Vec::<String>::new());
        assert_eq!(three(&leak)["middle"], json!([100 << 20, 160 << 20]));
    }

    #[test]
    fn latency_that_grows_is_said() {
        let jobs = |ms: fn(f64) -> f64| -> Vec<(f64, f64)> {
            (1..=60).map(|at| (ms(f64::from(at)), f64::from(at))).collect()
        };
        let slower = jobs(|at| at * 10.0);
        let said = latency("small", &slower, 60.0, 1.5);
        let text = "median of small jobs: 300 ms in the second third, 500 ms in the last";
        assert_eq!(said.as_deref(), Some(text));
        assert_eq!(latency("small", &slower, 60.0, 1.7), None);
        assert_eq!(latency("small", &jobs(|at| 700.0 - at), 60.0, 1.0), None);
        // Too short to be told, too few to say anything.
        assert_eq!(
            latency("small", &jobs(|at| if at > 40.0 { 24.0 } else { 1.0 }), 60.0, 1.0),
            None
        );
        assert_eq!(latency("large", &slower[..43], 60.0, 1.0), None);
    }
}
