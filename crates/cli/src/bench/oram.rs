//! `cenote bench oram`: accesses to a memory, kept in the cheapest way, in trees or permuted, as told.

use std::time::Instant;

use cenote_circuit::{Kind, Layout, Needs, Plan, Price, bits_of, hex_from_bits};
use cenote_engine::{Fault, Job, Party, Receivers, Role, SessionConfig};
use cenote_net::Channels;
use cenote_prim::{Block, Prg};
use cenote_program::ANDS_PER_OPENING;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::module::Tail;
use super::{Setting, and, measure, module, sessions, summary, wrong};
use crate::bench::args::BenchOramArgs;
use crate::exit::Failure;
use crate::output::{self, Format, Reply};
use crate::workers::{Both, Report, Task};

/// Accesses that a memory is planned for.
const LIFE: u64 = 1 << 20;

/// Updates of a memory that begins with zeros or with words of the garbler's, each at a place of the garbler's with a word of the
/// evaluator's. The result is the XOR of all rows that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Work {
    blocks: usize,
    width: usize,
    accesses: usize,
    /// Whether it begins with given rows.
    given: bool,
    /// Trees of Circuit ORAM, or levels of square-root ORAM; neither for scans.
    trees: usize,
    levels: usize,
    /// How many positions a block of a further one has, as a power of two.
    factor: usize,
    /// Accesses between two shuffles.
    period: usize,
}

pub(super) fn command(args: &BenchOramArgs, format: Format) -> Result<Reply, Failure> {
    let work = Work::of(args)?;
    let (access, all) = (work.plan()?.access(work.index(), Kind::Update), work.price()?);
    let sessions = sessions(&args.security, all.ands)?;
    let setting = Setting::new(&args.line)?;
    let task = |config: &SessionConfig| Task::Oram { work, warm: args.warm.warm, config: *config };
    let tasks: Vec<Task> = sessions.iter().map(task).collect();
    let expected = vec![Some(hex_from_bits(&work.expected()))];
    let runs = measure(&tasks, &setting, args.line.repeat, format, |both| {
        let right = both.garbler.outputs == expected && both.evaluator.outputs == expected;
        if right { Ok(()) } else { Err(wrong("bench oram")) }
    })?;
    let results = sessions.iter().zip(runs).map(|(config, runs)| {
        let mut result = summary::session(config)?;
        for (name, value) in [
            ("blocks", work.blocks),
            ("width", work.width),
            ("accesses", work.accesses),
            ("trees", work.trees),
            ("levels", work.levels),
            ("factor", work.factor),
            ("period", work.period),
        ] {
            result.insert(name.into(), json!(value));
        }
        result.insert("given".into(), json!(work.given));
        result.insert("warm".into(), json!(args.warm.warm));
        result.insert("layout".into(), json!(name(&work.plan()?)));
        let cheapest = Plan::cheapest(work.needs());
        result.insert("cheapest".into(), json!(cheapest.as_ref().map(name)));
        let after_start = all.ands - work.plan()?.start().ands;
        result.insert("ands_per_access".into(), json!(after_start / args.accesses));
        result.insert("start_ands".into(), json!(all.ands - after_start));
        result.insert("opens_per_access".into(), json!(access.opens));
        let figures = runs.iter().map(|both| figures(both, work, all.ands)).collect();
        Ok(summary::result(result, figures, &setting, &args.line))
    });
    Ok(summary::reply(results.collect::<Result<_, Failure>>()?))
}

/// Those of `bench and`, and the accesses alone: refills are in them, the first filling and the beginning of the memory are not. Bytes and
/// rounds are those of the whole job, so there are none for each access where the beginning has most of them.
fn figures(both: &Both, work: Work, ands: u64) -> Value {
    let mut figures = and::figures(both, ands);
    let (job, accesses) = (summary::last_job(both), work.accesses as f64);
    let rounds = both.garbler.jobs.last().map_or(0, |job| job.rounds);
    let each = |value: f64| if work.given { Value::Null } else { json!(value / accesses) };
    figures["job_s"] = json!(job.seconds);
    figures["job_bytes"] = json!(job.bytes);
    figures["start_s"] = json!(job.start_s);
    figures["wall_per_access_s"] = json!((job.seconds - job.start_s).max(1e-9) / accesses);
    figures["bytes_per_access"] = each(job.bytes as f64);
    figures["rounds_per_access"] = each(rounds as f64);
    figures
}

/// One party's work.
pub(crate) fn party(
    channels: Channels,
    role: Role,
    work: Work,
    warm: bool,
    config: SessionConfig,
) -> Result<Report, Failure> {
    let (plan, ands) = (work.plan()?, work.price()?.ands);
    let config = config.for_ands(ands);
    let job = Updates { work, plan, ands, role, accesses: Tail::default() };
    let mut report = module::jobs(channels, role, &config, &module::measured(&job, warm))?;
    if let Some(done) = report.jobs.last_mut() {
        job.accesses.leave_to(done);
    }
    Ok(report)
}

/// One party's run of it.
struct Updates {
    work: Work,
    plan: Plan,
    ands: u64,
    role: Role,
    /// From when both sides have all of the memory.
    accesses: Tail,
}

impl Job for Updates {
    type Output = Vec<Option<Vec<bool>>>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        let digest = super::digest(&format!("bench oram {:?} v2", self.work));
        vec![("program", "bench oram".to_owned()), ("digest", output::hex(&digest))]
    }

    fn ands(&self) -> u64 {
        self.ands
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Self::Output, Fault> {
        let Work { width, accesses, given, .. } = self.work;
        let input = |party: &mut P, owner: Role, bits: usize, words: Vec<u64>| {
            let bits: Vec<bool> =
                words.iter().flat_map(|word| bits_of(u128::from(*word), bits)).collect();
            let own = (owner == self.role).then_some(bits.as_slice());
            party.input(owner, bits.len(), own)
        };
        let rows = if given {
            let rows = input(party, Role::Garbler, width, self.work.rows())?;
            Some(rows.chunks(width).map(<[P::Wire]>::to_vec).collect())
        } else {
            None
        };
        let mut memory = party.init_ram(self.plan.clone(), rows, Prg::from_os())?;
        let mut sum = vec![party.constant(false)?; width];
        // Both sides have all of the memory when this is open.
        party.reveal(Receivers::Both, &sum[..1])?;
        let begun = Instant::now();
        let index = self.work.index();
        let places = input(party, Role::Garbler, index, self.work.places())?;
        let words = input(party, Role::Evaluator, width, self.work.words())?;
        for (place, word) in places.chunks(index).zip(words.chunks(width)).take(accesses) {
            let old = party.update_ram(&mut memory, place, |_, _| Ok(word.to_vec()))?;
            sum = party.xor_many(&sum, &old)?;
        }
        let result = party.reveal(Receivers::Both, &sum)?;
        self.accesses.ends(begun);
        Ok(vec![result])
    }
}

impl Work {
    fn of(args: &BenchOramArgs) -> Result<Work, Failure> {
        let (blocks, width) = (args.blocks as usize, usize::from(args.width));
        let plan = Work::asked_for(args, needs(blocks, width, args.given)).ok_or_else(|| {
            Failure::bad_input(format!("--blocks {blocks}: too few for a memory of this kind"))
        })?;
        let (trees, levels, factor, period) = match plan.layout {
            Layout::Scan => (0, 0, 0, 0),
            Layout::Trees { trees, factor } => (trees, 0, factor, 0),
            Layout::SquareRoot { levels, factor, period } => (0, levels, factor, period),
        };
        let (accesses, given) = (args.accesses as usize, args.given);
        Ok(Work { blocks, width, accesses, given, trees, levels, factor, period })
    }

    /// The plan of the layout that the arguments name.
    fn asked_for(args: &BenchOramArgs, needs: Needs) -> Option<Plan> {
        let trees = |trees, factor| Plan::new(needs, Layout::Trees { trees, factor });
        let nested = (2..=8).flat_map(|count| (1..=6).map(move |factor| (count, factor)));
        if args.scan {
            Plan::new(needs, Layout::Scan)
        } else if args.flat {
            trees(1, 1)
        } else if args.recursive {
            nested.filter_map(|(count, factor)| trees(count, factor)).min_by_key(worth)
        } else if let (Some(factor), Some(cutoff)) = (args.factor, args.cutoff) {
            let all = std::iter::successors(Some(args.blocks), |left| Some(left.div_ceil(factor)));
            let further = all.take_while(|left| *left > cutoff);
            trees(1 + further.count(), factor.ilog2() as usize)
        } else if args.sqrt {
            let all = std::iter::once((1, 1)).chain(nested);
            all.filter_map(|(levels, factor)| Plan::root(needs, levels, factor)).min_by_key(worth)
        } else {
            Plan::cheapest(needs)
        }
    }

    fn plan(self) -> Result<Plan, Failure> {
        let Work { trees, levels, factor, period, .. } = self;
        let layout = match (trees, levels) {
            (0, 0) => Layout::Scan,
            (0, levels) => Layout::SquareRoot { levels, factor, period },
            _ => Layout::Trees { trees, factor },
        };
        let plan = Plan::new(self.needs(), layout);
        plan.ok_or_else(|| Failure::internal("a memory that has no plan"))
    }

    fn needs(self) -> Needs {
        needs(self.blocks, self.width, self.given)
    }

    /// What the whole of it takes.
    fn price(self) -> Result<Price, Failure> {
        let (plan, accesses) = (self.plan()?, self.accesses as u64);
        let each = plan.access(self.index(), Kind::Update).times(accesses);
        Ok(plan.start().and(each).and(plan.upkeep(accesses)))
    }

    /// Bits of a place.
    fn index(self) -> usize {
        index_bits(self.blocks)
    }

    /// Every other one was there before, so that rows other than zeros are read.
    fn places(self) -> Vec<u64> {
        let mut places: Vec<u64> = Vec::with_capacity(self.accesses);
        for (i, random) in numbers(4).take(self.accesses).enumerate() {
            let again = i % 2 == 1;
            places.push(if again {
                places[random as usize % i]
            } else {
                random % self.blocks as u64
            });
        }
        places
    }

    /// Low bits of the words that are written.
    fn words(self) -> Vec<u64> {
        self.random(5).take(self.accesses).collect()
    }

    /// The rows that it begins with.
    fn rows(self) -> Vec<u64> {
        if self.given { self.random(6).take(self.blocks).collect() } else { vec![0; self.blocks] }
    }

    /// Words that fit a row.
    fn random(self, seed: u128) -> impl Iterator<Item = u64> {
        let mask = u64::MAX >> (64 - self.width.min(64));
        numbers(seed).map(move |random| random & mask)
    }

    /// The result, by a list.
    fn expected(self) -> Vec<bool> {
        let mut rows = self.rows();
        let steps = self.places().into_iter().zip(self.words());
        let sum = steps
            .fold(0, |sum, (place, word)| sum ^ std::mem::replace(&mut rows[place as usize], word));
        bits_of(u128::from(sum), self.width)
    }
}

fn needs(blocks: usize, width: usize, is_given: bool) -> Needs {
    Needs { ands_per_open: ANDS_PER_OPENING, is_given, ..Needs::new(blocks, width, LIFE) }
}

/// How a memory is kept.
const fn name(plan: &Plan) -> &'static str {
    match plan.layout {
        Layout::Scan => "scan",
        Layout::Trees { trees: 1, .. } => "one tree",
        Layout::Trees { .. } => "recursive",
        Layout::SquareRoot { .. } => "square root",
    }
}

/// Bits of a place of so many.
fn index_bits(blocks: usize) -> usize {
    (usize::BITS - (blocks - 1).leading_zeros()).max(1) as usize
}

fn worth(plan: &Plan) -> u128 {
    let each = plan.access(index_bits(plan.needs.blocks), Kind::Update).times(LIFE);
    plan.start().and(each).and(plan.upkeep(LIFE)).worth(ANDS_PER_OPENING)
}

/// Numbers that everybody knows.
fn numbers(seed: u128) -> impl Iterator<Item = u64> {
    let mut prg = Prg::new(Block::new(seed));
    std::iter::repeat_with(move || prg.block().to_u128() as u64)
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    /// The work of a command line.
    fn work(line: &str) -> Result<Work, Failure> {
        let line = ["oram"].into_iter().chain(line.split_whitespace());
        let matches =
            BenchOramArgs::augment_args(clap::Command::new("oram")).get_matches_from(line);
        Work::of(&BenchOramArgs::from_arg_matches(&matches).expect("arguments"))
    }

    #[test]
    fn layouts_are_those_asked_for_and_rows_are_read_again() {
        assert_eq!(work("--flat").unwrap().trees, 1);
        let nested = work("--recursive --accesses 64").unwrap();
        assert!(nested.trees > 1 && nested.plan().unwrap().trees.len() == nested.trees);
        assert!(nested.expected().contains(&true));
        assert_eq!(work("--blocks 100").unwrap().trees, 0);
        assert!(work("--blocks 2 --recursive").is_err());
        // POOL's: 10,000, 1,250 and 157 positions.
        let pool = work("--factor 8 --cutoff 256").unwrap();
        assert_eq!((pool.trees, pool.factor), (3, 3));
        assert_eq!(work("--factor 8 --cutoff 1250").unwrap().trees, 2);
        assert_eq!(work("--factor 8 --cutoff 1249").unwrap().trees, 3);
        assert_eq!(work("--factor 8 --cutoff 10000").unwrap().trees, 1);
        assert!(work("--blocks 100 --factor 8 --cutoff 1").is_err());
        let root = work("--blocks 500 --sqrt").unwrap();
        assert!(root.trees == 0 && root.plan().unwrap().levels.len() == root.levels);
        assert!(root.levels > 0 && (50..500).contains(&root.period), "{}", root.period);
        assert_eq!(work("--blocks 500").unwrap().period, root.period);
        assert_eq!(work("--blocks 500 --scan").unwrap().plan().unwrap().layout, Layout::Scan);
        // Rows that are given are read without having been written.
        let given = work("--accesses 1 --given").unwrap();
        assert_eq!((given.rows().len(), given.expected().contains(&true)), (10_000, true));
        assert!(!work("--accesses 1").unwrap().expected().contains(&true));
    }
}
