//! Square-root ORAM: arrays over many periods, prices, and what is opened.

use super::*;

#[test]
fn ten_thousand_accesses_over_many_periods() {
    for (blocks, width, layout) in [
        (2, 3, root(1, 1, 2)),
        (3, 100, root(1, 1, 3)),
        (5, 7, root(2, 1, 3)),
        (7, 120, root(2, 2, 2)),
        (100, 16, root(2, 2, 25)),
        (100, 9, root(3, 2, 6)),
        (1000, 32, root(1, 1, 150)),
        (1000, 32, root(3, 2, 63)),
    ] {
        let steps = if blocks < 1000 { 10_000 } else { 3000 };
        for is_given in [false, true] {
            against_an_array(needs(blocks, width, is_given), layout, steps);
        }
    }
}

/// What all accesses together take, after each of them, is the price of the beginning, that of each, and the upkeep.
#[test]
fn prices_are_what_runs_take() {
    for (blocks, width, layout) in [
        (2, 1, root(1, 1, 1)),
        (5, 3, root(1, 1, 4)),
        (8, 9, root(2, 1, 4)),
        (37, 32, root(2, 2, 5)),
        (100, 2, root(3, 1, 12)),
        (100, 40, root(2, 3, 13)),
    ] {
        for is_given in [false, true] {
            let plan = Plan::new(needs(blocks, width, is_given), layout).unwrap();
            let what = format!("{blocks} of {width}, given {is_given}, {layout:?}");
            let mut g = Machine::new(7);
            let rows = Rows::new(vec![vec![true; width]; blocks]).unwrap();
            let mut ram = if is_given {
                Ram::of(&mut g, plan.clone(), rows).unwrap()
            } else {
                Ram::empty(&mut g, plan.clone()).unwrap()
            };
            let mut expected = plan.start();
            assert_eq!(g.taken, expected, "start of {what}");
            let mut sample = Tally::default();
            let mut counted = Ram::sample(&mut sample, plan.clone()).unwrap();
            for step in 0..40 {
                let index = [1, 4, 7, 11][step % 4];
                let kind = [Kind::Read, Kind::Write, Kind::Update][step % 3];
                one_access(&mut g, &mut ram, kind, index, &false);
                expected = expected.and(plan.access(index, kind));
                let all = expected.and(plan.upkeep(step as u64 + 1));
                assert_eq!(g.taken, all, "{kind:?} {step} {what}");
                one_access(&mut sample, &mut counted, kind, index, &Depth::default());
                assert_eq!(sample.take(), plan.access(index, kind), "sample of {what}");
            }
        }
    }
}

fn one_access<G: Reactive>(
    g: &mut G,
    ram: &mut Ram<G::Wire>,
    kind: Kind,
    index: usize,
    wire: &G::Wire,
) where
    G::Error: std::fmt::Debug,
{
    let (place, word) = (vec![wire.clone(); index], vec![wire.clone(); ram.plan().needs.width]);
    match kind {
        Kind::Read => ram.access(g, &place, Access::Read),
        Kind::Write => ram.access(g, &place, Access::Write { word: &word, enable: wire }),
        Kind::Update => ram.update(g, &place, |_, row| Ok(row.to_vec())),
    }
    .unwrap();
}

/// The period that is taken is about the best one.
#[test]
fn periods_are_chosen_by_price() {
    for (blocks, width, accesses, opens) in
        [(100, 32, 1000, 0), (1000, 32, 1 << 20, 0), (1000, 8, 77, 1 << 14), (5000, 256, 5000, 10)]
    {
        let needs = Needs { ands_per_open: opens, ..Needs::new(blocks, width, accesses) };
        for (levels, factor) in [(1, 1), (2, 2)] {
            let plan = Plan::root(needs, levels, factor).unwrap();
            let most = plan.levels[levels - 1].blocks;
            let worth = |plan: &Plan| {
                let each = plan.access(bits_for(blocks), Kind::Update).times(accesses);
                plan.start().and(each).and(plan.upkeep(accesses)).worth(opens)
            };
            let all =
                (1..=most).filter_map(|period| Plan::new(needs, root(levels, factor, period)));
            let best = all.map(|plan| worth(&plan)).min().unwrap();
            assert!(worth(&plan) * 100 <= best * 101, "{needs:?} {:?}", plan.layout);
        }
    }
}

fn bits_for(blocks: usize) -> usize {
    plan::bits(blocks - 1)
}

#[test]
fn a_memory_too_small_for_its_levels_has_no_plan() {
    let usual = Needs::new(100, 8, 10);
    for (levels, factor, period) in [
        (0, 1, 1),
        (25, 1, 1),
        (1, 0, 1),
        (1, 17, 1),
        (1, 1, 0),
        (1, 1, 101),
        (2, 2, 26),
        (4, 3, 1),
    ] {
        assert_eq!(
            Plan::new(usual, root(levels, factor, period)),
            None,
            "{levels} {factor} {period}"
        );
    }
    assert!(Plan::new(usual, root(2, 2, 25)).is_some());
    assert_eq!(Plan::new(Needs { width: 0, ..usual }, root(1, 1, 1)), None);
    assert_eq!(Plan::new(Needs { blocks: 1, ..usual }, root(1, 1, 1)), None);
}

/// Accesses of a run whose openings are looked at, and those of a period.
const STEPS: usize = 10;
const PERIOD: usize = 4;

/// What accesses to eight rows open: places of the rows, and of what the shuffles open the first numbers.
fn opened(
    layout: Layout,
    seed: u64,
    zeros: Option<Role>,
    place: fn(u64) -> u64,
) -> (Vec<usize>, Vec<usize>) {
    let mut g = Machine { zeros, ..Machine::new(seed) };
    let plan = Plan::new(needs(8, 1, seed % 2 == 1), layout).unwrap();
    let levels = plan.levels.len();
    let mut ram = if seed % 2 == 1 {
        Ram::of(&mut g, plan, Rows::new(vec![vec![true]; 8]).unwrap()).unwrap()
    } else {
        Ram::empty(&mut g, plan).unwrap()
    };
    for step in 0..STEPS as u64 {
        let place = bits_of(u128::from(place(step)), 4);
        ram.access(&mut g, &place, Access::Read).unwrap();
    }
    let number = |bits: &[bool]| value_of(bits) as usize;
    let (shuffles, places): (Vec<_>, Vec<_>) = g.opened.iter().partition(|bits| bits.len() > 3);
    // The last place that an access opens is that of a row; no place of any level comes twice.
    assert_eq!((shuffles.len(), places.len()), (2, STEPS * levels));
    for level in 0..levels {
        let of_level: Vec<_> = places.iter().skip(level).step_by(levels).collect();
        for period in of_level.chunks(PERIOD) {
            let different: std::collections::BTreeSet<_> = period.iter().collect();
            assert_eq!(different.len(), period.len());
        }
    }
    let rows = places.iter().skip(levels - 1).step_by(levels).map(|bits| number(bits)).collect();
    let numbers = shuffles.iter().map(|bits| number(&bits[..3])).collect();
    (rows, numbers)
}

/// What is opened is as uniform for one place again and again as for all in turn, with two honest parties and where either of them
/// enters the permutation that moves nothing: chi-square of places, of two in one period or in two, and of a place beside what the next shuffle opens.
#[test]
fn opened_places_are_uniform_whatever_is_accessed() {
    let patterns: [fn(u64) -> u64; 4] =
        [|_| 5, |step| step % 8, |step| step / 2 % 8, |step| 8 + step % 2];
    for layout in [root(1, 1, PERIOD), root(2, 1, PERIOD)] {
        for zeros in [None, Some(Role::Garbler), Some(Role::Evaluator)] {
            for (kind, pattern) in (0..).zip(patterns) {
                let runs: Vec<_> = (0..1500)
                    .map(|run| opened(layout, 10_000 * kind + run, zeros, pattern))
                    .collect();
                let what = format!("{layout:?}, {zeros:?}, accesses {kind}");
                uniform(&runs, &what);
            }
        }
    }
}

fn uniform(runs: &[(Vec<usize>, Vec<usize>)], what: &str) {
    // Beyond it with a probability of about 2^-20 for 7, 55 and 63 degrees of freedom.
    let check = |counts: &[u32], bound: f64, of: String| {
        assert!(chi_square(counts) < bound, "{what}, {of}: {counts:?}");
    };
    for a in 0..STEPS {
        let mut single = vec![0; 8];
        runs.iter().for_each(|(places, _)| single[places[a]] += 1);
        check(&single, 43.0, format!("access {a}"));
        for b in a + 1..STEPS {
            let mut pairs = vec![0; 64];
            runs.iter().for_each(|(places, _)| pairs[8 * places[a] + places[b]] += 1);
            if a / PERIOD == b / PERIOD {
                pairs = pairs
                    .into_iter()
                    .enumerate()
                    .filter(|(i, _)| i % 9 != 0)
                    .map(|(_, n)| n)
                    .collect();
            }
            check(&pairs, if pairs.len() == 64 { 135.0 } else { 124.0 }, format!("{a} and {b}"));
        }
        for shuffle in 0..2 {
            let mut pairs = vec![0; 64];
            runs.iter().for_each(|(places, numbers)| pairs[8 * places[a] + numbers[shuffle]] += 1);
            check(&pairs, 135.0, format!("{a} and shuffle {shuffle}"));
        }
    }
}

/// A machine whose openings repeat: nobody may be asked to open a place again.
struct Repeats {
    inner: Machine,
    /// Which opening, and what it gives.
    at: (usize, Vec<bool>),
}

impl Gates for Repeats {
    type Wire = bool;
    type Error = Broken;
    crate::delegate!(self => self.inner);
}

impl Reactive for Repeats {
    fn open(&mut self, wires: &[bool]) -> Result<Vec<bool>, Broken> {
        let opened = self.inner.open(wires)?;
        let (at, other) = &self.at;
        Ok(if self.inner.opened.len() == *at { other.clone() } else { opened })
    }
    fn own_inputs(
        &mut self,
        owner: Role,
        bits: usize,
        draw: &Draw<'_>,
    ) -> Result<Vec<bool>, Broken> {
        self.inner.own_inputs(owner, bits, draw)
    }
    fn toss(&mut self, bits: usize) -> Result<Vec<bool>, Broken> {
        self.inner.toss(bits)
    }
    fn broken(&mut self, why: Broken) -> Broken {
        why
    }
}

/// Where openings are not what the circuit has, as with a backend that covers no cheating, a place that is none or comes again, and numbers
/// that are no permutation, end the memory.
#[test]
fn places_that_cannot_be_end_the_memory() {
    let places = {
        let mut g = Machine::new(9);
        let mut ram =
            Ram::empty(&mut g, Plan::new(needs(6, 2, false), root(1, 1, 3)).unwrap()).unwrap();
        (0..4).for_each(|_| one_access(&mut g, &mut ram, Kind::Read, 3, &false));
        g.opened
    };
    let none = vec![true; 3];
    let equal = vec![false; 18];
    for (at, other, accesses) in [
        (1, none.clone(), 1),
        (2, places[0].clone(), 2),
        (3, places[0].clone(), 3),
        // The fourth opening is of the shuffle.
        (4, equal, 4),
        (4, vec![true; 18], 4),
        (5, none, 4),
    ] {
        let mut g = Repeats { inner: Machine::new(9), at: (at, other) };
        let mut ram =
            Ram::empty(&mut g, Plan::new(needs(6, 2, false), root(1, 1, 3)).unwrap()).unwrap();
        for access in 1..=accesses {
            let end = ram.access(&mut g, &[false; 3], Access::Read).map(drop);
            let expected = if access == accesses { Err(Broken::Misplaced) } else { Ok(()) };
            assert_eq!(end, expected, "opening {at}, access {access}");
        }
    }
}

/// Both parties' permutations are applied: with one of them known, places are those of the other.
#[test]
fn a_permutation_is_that_of_both() {
    let places = |seeds: [u128; 2]| {
        let mut g = Machine::new(1);
        g.prgs = seeds.map(|seed| Prg::new(Block::new(seed)));
        let mut ram =
            Ram::empty(&mut g, Plan::new(needs(100, 1, false), root(1, 1, 20)).unwrap()).unwrap();
        (0..20).for_each(|i| {
            ram.row(&mut g, i).unwrap();
        });
        g.opened
    };
    let [usual, garbler, evaluator] = [[1, 2], [3, 2], [1, 3]].map(places);
    let same = |other: &[Vec<bool>]| usual.iter().zip(other).filter(|(a, b)| a == b).count();
    assert!(same(&garbler) < 6 && same(&evaluator) < 6);
}
