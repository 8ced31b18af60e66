//! How often cheating is caught: measured frequencies against the formulas.

use cenote_engine::Role;
use cenote_engine::backends::wrk::bucket::Folded;
use cenote_engine::backends::wrk::leaky_and::{Generator, Pending, Width};
use cenote_engine::backends::wrk::packed::{Packed, packed_bytes};
use cenote_engine::backends::wrk::share::ShareSlice;
use cenote_pool::{Draws, MemoryJournal, Pool, params, shuffle};
use cenote_prim::{Block, Secret, SessionId, Workers};
use cenote_testkit::cheater::{Cheat, Plan, Setting};
use cenote_testkit::dealer::{Dealer, Half};
use cenote_testkit::stats::{fits, in_parallel, same};

/// The narrowest leaky ANDs.
const WIDTH: Width = Width::Bits64;
type LeakyAnd = cenote_engine::backends::wrk::leaky_and::LeakyAnd<{ packed_bytes(WIDTH) }>;

/// Both sides of the making of leaky ANDs, in one thread.
struct Lab {
    dealer: Dealer,
    generators: [Generator; 2],
}

/// The evaluator's MAC on its share of x.
fn mac(item: &LeakyAnd) -> Block {
    item.x.share(Role::Evaluator).mac
}

fn slice(half: &Half) -> ShareSlice<'_> {
    ShareSlice { macs: &half.macs, keys: &half.keys }
}

impl Lab {
    fn new(seed: u128) -> Lab {
        let dealer = Dealer::new(seed);
        let generator = |role: Role| {
            let delta = dealer.deltas[role as usize];
            Generator::new(SessionId([1; 32]), role, delta, Block::new(seed), WIDTH)
        };
        Lab { generators: [generator(Role::Garbler), generator(Role::Evaluator)], dealer }
    }

    /// A batch of `n` of which the garbler attacks the first `bad`: the evaluator's items, in which
    /// attacked ones can be told by their first MAC, and whether the equality test passes.
    fn batch(&mut self, n: usize, bad: usize) -> (Vec<LeakyAnd>, bool) {
        let [a, b] = self.dealer.shares(3 * n);
        let [garbler, evaluator] = &mut self.generators;
        let (mut p_a, mut p_b) = <(Pending, Pending)>::default();
        let (mut own, mut items) = <(Secret<Vec<LeakyAnd>>, Secret<Vec<LeakyAnd>>)>::default();
        let mut g_a = garbler.send_g(slice(&a), &mut p_a, &mut own).expect("three each");
        let g_b = evaluator.send_g(slice(&b), &mut p_b, &mut items).expect("three each");
        g_a[..bad * WIDTH.bytes()].chunks_mut(WIDTH.bytes()).for_each(|g| g[6] ^= 4);
        let d_a = garbler.send_d(&mut p_a, &g_b).expect("length");
        let d_b = evaluator.send_d(&mut p_b, &g_a).expect("length");
        let mut d = Vec::new();
        garbler.finish(&mut p_a, &d_b, &mut d).expect("length");
        evaluator.finish(&mut p_b, &d_a, &mut d).expect("length");
        (items.to_vec(), *garbler.digest() == *evaluator.digest())
    }
}

#[test]
fn attacked_leaky_ands_pass_with_one_half_each() {
    let mut lab = Lab::new(1);
    for (bad, trials) in [(1, 2000u64), (2, 2000), (3, 3000), (5, 4000)] {
        let passed = (0..trials).filter(|_| lab.batch(6, bad).1).count() as u64;
        let odds = 0.5f64.powi(bad as i32);
        assert!(fits(passed, trials, odds, odds), "{bad} attacked: {passed} of {trials} passed");
    }
    assert!((0..500).all(|_| lab.batch(6, 0).1), "honest batches pass");
}

/// P_B(n, b) of POOL section 4 in plain arithmetic: some bucket of a pool of `n` that is refilled
/// with good items ever holds bad ones only, of which there are `bad`.
fn lifetime_odds(n: u64, bucket: u64, bad: u64) -> f64 {
    fn choose(n: u64, k: u64) -> f64 {
        if k > n { 0.0 } else { (0..k).map(|j| (n - j) as f64 / (j + 1) as f64).product() }
    }
    if bad < bucket {
        return 0.0;
    }
    let h = |i: u64| choose(n - bad, bucket - i) * choose(bad, i) / choose(n, bucket);
    let later: f64 = (1..bucket).map(|i| h(i) * lifetime_odds(n, bucket, bad - i)).sum();
    (h(bucket) + later) / (1.0 - h(0))
}

/// Whether a garbler that attacks `bad` items of the pool's first filling wins: passes the check, and
/// some bucket is of attacked items only.
fn wins(lab: &mut Lab, n: usize, bucket: usize, bad: usize) -> bool {
    let (items, passed) = lab.batch(n, bad);
    if !passed {
        return false;
    }
    let mut bad: Vec<Block> = items[..bad].iter().map(mac).collect();
    let mut pool = Pool::full("attacked", n, items).expect("full");
    let mut journal = MemoryJournal::default();
    let mut draws = Draws::new(bucket, n).expect("shape");
    while bad.len() >= bucket {
        let (mut members, fresh) = lab.batch(bucket, 0);
        assert!(fresh, "honest refills pass");
        draws.draw(1, || lab.dealer.word());
        pool.exchange(&mut journal, &draws, &mut members).expect("shape");
        let attacked = |member: &LeakyAnd| bad.contains(&mac(member));
        if members.iter().all(attacked) {
            return true;
        }
        bad.retain(|mac| !members.iter().any(|member| self::mac(member) == *mac));
    }
    false
}

#[test]
fn attacks_on_a_tiny_pool_win_as_often_as_the_recurrence_says() {
    // (pool, bucket, attacked items, trials)
    for (n, bucket, bad, trials) in
        [(6, 2, 2, 3000u64), (6, 2, 3, 3000), (6, 2, 4, 3000), (9, 3, 3, 4000), (9, 3, 5, 4000)]
    {
        let mut lab = Lab::new(n as u128 * 100 + bad as u128);
        let won = (0..trials).filter(|_| wins(&mut lab, n, bucket, bad)).count() as u64;
        let odds = 0.5f64.powi(bad as i32) * lifetime_odds(n as u64, bucket as u64, bad as u64);
        assert!(
            fits(won, trials, odds, odds),
            "pool {n}, buckets of {bucket}, {bad} attacked: {won} of {trials}, expected {odds:.4}"
        );
        // No number of attacked items beats what the parameters were derived from.
        let bound = params::wrk_error_log2(n as u64, bucket as u32, -20.0).expect("in range");
        let best = (0..=n as u64)
            .map(|b| 0.5f64.powi(b as i32) * lifetime_odds(n as u64, bucket as u64, b))
            .fold(0.0, f64::max);
        assert!((best.log2() - bound).abs() < 1e-9, "pool {n}: {best} and 2^{bound}");
    }
}

#[test]
fn attacks_on_a_one_shot_batch_win_no_more_often_than_the_bound() {
    let (batch, bucket) = (4usize, 2usize);
    let bound = params::one_shot(batch as u64, bucket as u32, -20.0).expect("in range");
    let bound = bound.error_log2.exp2();
    let mut most = 0.0f64;
    for bad in 2..=5 {
        let (mut lab, trials) = (Lab::new(70 + bad as u128), 3000u64);
        let won = (0..trials).filter(|_| {
            let (mut items, passed) = lab.batch(batch * bucket, bad);
            let attacked: Vec<Block> = items[..bad].iter().map(mac).collect();
            shuffle(&mut items, || lab.dealer.word());
            let all_bad = |members: &[LeakyAnd]| members.iter().all(|m| attacked.contains(&mac(m)));
            passed && items.chunks(bucket).any(all_bad)
        });
        let won = won.count() as u64;
        assert!(fits(won, trials, 0.0, bound), "{bad} attacked: {won} of {trials} beat {bound}");
        most = most.max(won as f64 / trials as f64);
    }
    assert!(most > bound / 2.0, "the bound is no use: {most} of {bound}");
}

#[test]
fn attacks_on_batch_after_batch_win_no_more_often_than_the_bound_of_a_session() {
    let (batch, bucket) = (4usize, 2usize);
    let bound = params::one_shot(batch as u64, bucket as u32, -20.0).expect("in range");
    let bound = bound.error_log2.exp2() / (1.0 - 0.5f64.powi(bucket as i32));
    for (bad, alone) in [(2, 1.0 / 7.0), (3, 3.0 / 7.0)] {
        let (mut lab, trials) = (Lab::new(80 + bad as u128), 3000u64);
        let won = (0..trials).filter(|_| wins_some_batch(&mut lab, batch, bucket, bad)).count();
        // An attack that passes is alone in a bucket with these odds; else there is another batch.
        let pass = 0.5f64.powi(bad as i32);
        let odds = pass * alone / (1.0 - pass * (1.0 - alone));
        assert!(odds <= bound, "{bad} attacked: {odds} beats {bound}");
        assert!(fits(won as u64, trials, odds, odds), "{bad} attacked: {won} of {trials}");
    }
}

/// Whether a garbler that attacks `bad` items of each batch wins before it is caught.
fn wins_some_batch(lab: &mut Lab, batch: usize, bucket: usize, bad: usize) -> bool {
    loop {
        let (mut items, passed) = lab.batch(batch * bucket, bad);
        if !passed {
            return false;
        }
        let attacked: Vec<Block> = items[..bad].iter().map(mac).collect();
        shuffle(&mut items, || lab.dealer.word());
        let mut buckets = items.chunks(bucket);
        if buckets.any(|members| members.iter().all(|m| attacked.contains(&mac(m)))) {
            return true;
        }
    }
}

/// The worth of an attack that passes: the attacked bits of x, hidden as long as one member of the
/// bucket was not attacked.
#[test]
fn one_good_member_hides_the_x_of_a_bucket() {
    let mut lab = Lab::new(9);
    let (mut passes, mut ones) = (0u64, 0u64);
    while passes < 1000 {
        let (items, passed) = lab.batch(3, 2);
        if !passed {
            continue;
        }
        passes += 1;
        // Passing tells the garbler that both attacked bits of the evaluator are zero.
        assert!(!mac(&items[0]).lsb() && !mac(&items[1]).lsb());
        let (mut folded, mut macs) = (Folded::default(), Secret::default());
        let mut triples = [[Packed::default(); 4]];
        folded.begin((1, 3), Role::Evaluator, &mut macs).fold((&items, &[Packed::default()]));
        folded.combine(&Workers::default(), 3, (&[0], &[0]), &mut triples);
        ones += u64::from(triples[0][0].share(Role::Evaluator).bit());
    }
    assert!(fits(ones, passes, 0.5, 0.5), "x was one in {ones} of {passes}");
}

/// How often the honest side, whose input bits are all `bit`, ends the session.
fn aborts(cheat: Cheat, by: Role, bit: bool, trials: u64) -> u64 {
    let one = |seed: u64| {
        let seed = u128::from(seed) << 1 | u128::from(bit);
        let mut plan = Plan::new(Setting::Small, by, (cheat, 0), seed);
        plan.inputs[0][by.peer() as usize] = vec![bit; 5];
        u64::from(plan.run().fault.is_some())
    };
    (0..trials).map(one).sum()
}

#[test]
fn whether_a_session_aborts_tells_nothing_of_the_honest_input() {
    const TRIALS: u64 = 40;
    let cheats = [
        (Cheat::TableColour(0), Role::Garbler),
        (Cheat::InputLabel, Role::Garbler),
        (Cheat::WrongG(1), Role::Evaluator),
    ];
    in_parallel(&cheats, |_, &(cheat, by)| {
        let zero = aborts(cheat, by, false, TRIALS);
        let one = aborts(cheat, by, true, TRIALS);
        assert!(zero > 0 && zero < TRIALS, "{cheat:?}: {zero} of {TRIALS}");
        assert!(same((zero, TRIALS), (one, TRIALS)), "{cheat:?}: {zero} and {one} of {TRIALS}");
    });
}
