//! How often cheating against `jimu` is caught: measured frequencies against the formulas.

use cenote_engine::backends::jimu::garbled_core::{Checked, Shape, check, garble, open_for_check};
use cenote_engine::backends::jimu::ihash::{
    HashReceiver, HashSender, LANES, Label, Message, ReedSolomonReceiver, ReedSolomonSender, Tag,
    Watch,
};
use cenote_engine::{Fault, Role};
use cenote_pool::{Draws, MemoryJournal, Pool, params};
use cenote_prim::{Block, Prg, SessionId, bits};
use cenote_testkit::cheater::jimu::{
    Cheat, Code, Coins, Flaw, Kind, Plan, Selection, Talk, Which, expected, plan_of, rehearse,
    run_session, tiny,
};
use cenote_testkit::stats::{fits, in_parallel, same};

/// Both ends of an interactive hash, in one thread.
struct Lab {
    prg: Prg,
    sender: ReedSolomonSender,
    receiver: ReedSolomonReceiver,
    delta: Label,
    delta_tag: Block,
}

/// ANDs whose wires fill a vector.
const BATCH: usize = LANES / 3;

/// A batch of ANDs.
struct Batch {
    numbers: Vec<u64>,
    wires: Vec<Message>,
    tags: Vec<Tag>,
    tables: Vec<Block>,
}

impl Lab {
    fn new(seed: u128) -> Lab {
        let codes = params::hash_codes(40).expect("in range");
        let mut prg = Prg::new(Block::new(seed));
        let lists = [codes.labels, codes.perms].map(|code| {
            let mut seeds = vec![Block::ZERO; code.n as usize];
            prg.fill(&mut seeds);
            // Which places are watched makes no difference to gates.
            let positions: Vec<u8> = (0..code.w as u8).map(|place| 2 * place).collect();
            let known = positions.iter().map(|place| seeds[usize::from(*place)]).collect();
            (seeds, positions, known)
        });
        let session = SessionId([3; 32]);
        let sender = ReedSolomonSender::new(&codes, session, &lists[0].0, &lists[1].0);
        let watch = |list: usize| {
            let (_, positions, known): &(Vec<Block>, Vec<u8>, Vec<Block>) = &lists[list];
            Watch { positions, seeds: known }
        };
        let receiver = ReedSolomonReceiver::new(&codes, session, watch(0), watch(1), &mut prg);
        let (delta, delta_tag) = (Label::ZERO, Block::ZERO);
        let mut lab = Lab { prg, sender, receiver, delta, delta_tag };
        let (_, wires, tags) = lab.hash();
        (lab.delta, lab.delta_tag) = (wires[0].label, tags[0].label);
        lab
    }

    fn hash(&mut self) -> (u64, Vec<Message>, Vec<Tag>) {
        let (mut wires, mut corrections, mut tags) = (Vec::new(), Vec::new(), Vec::new());
        let first = self.sender.hash(LANES, &mut wires, &mut corrections);
        self.receiver.hash(LANES, &corrections, &mut tags).expect("honest");
        (first, wires, tags)
    }

    fn batch(&mut self) -> Batch {
        let (first, mut wires, mut tags) = self.hash();
        wires.truncate(3 * BATCH);
        tags.truncate(3 * BATCH);
        let numbers: Vec<u64> = (0..BATCH as u64).map(|gate| first + 3 * gate).collect();
        let mut tables = vec![Block::ZERO; 9 * BATCH];
        garble(Shape::AND, &self.delta, &numbers, &wires, &mut tables);
        Batch { numbers, wires, tags, tables }
    }

    /// Whether the checked gates of a batch pass.
    fn passes(&self, batch: &Batch, checked: &[usize], inputs: &[bool]) -> bool {
        let inputs = &bits::pack(inputs.iter().copied());
        let numbers: Vec<u64> = checked.iter().map(|gate| batch.numbers[*gate]).collect();
        let tables: Vec<Block> = checked
            .iter()
            .flat_map(|gate| &batch.tables[9 * gate..9 * gate + 9])
            .copied()
            .collect();
        let wires: Vec<usize> = checked.iter().flat_map(|gate| 3 * gate..3 * gate + 3).collect();
        let own: Vec<Message> = wires.iter().map(|wire| batch.wires[*wire]).collect();
        let tags: Vec<Tag> = wires.iter().map(|wire| batch.tags[*wire]).collect();
        let mut opened = Vec::new();
        open_for_check(Shape::AND, &self.delta, &own, inputs, &mut opened);
        let (numbers, tables, tags, opened) = (&numbers[..], &tables[..], &tags[..], &opened[..]);
        let checked = Checked { numbers, tables, tags, inputs, opened };
        check(Shape::AND, &self.receiver, self.delta_tag, &checked)
    }
}

/// A rate of checks as words are compared with it.
fn below(rate: f64) -> u32 {
    (rate * 2f64.powi(32)) as u32
}

#[test]
fn a_bad_gate_is_caught_as_often_as_it_is_checked_and_shows() {
    const TRIALS: u64 = 1500;
    for (i, (flaw, shows)) in Flaw::ALL.into_iter().enumerate() {
        let (mut lab, rate) = (Lab::new(i as u128), [0.5, 0.2][i % 2]);
        let caught = (0..TRIALS).filter(|trial| {
            let mut batch = lab.batch();
            let bad = *trial as usize % BATCH;
            let (wires, tables) = (3 * bad..3 * bad + 3, 9 * bad..9 * bad + 9);
            let (delta, number) = (&lab.delta, batch.numbers[bad]);
            flaw.apply(Shape::AND, (number, &batch.wires[wires]), delta, &mut batch.tables[tables]);
            let chosen = Selection::new(lab.prg.block(), below(rate), Kind::And, BATCH);
            !lab.passes(&batch, &chosen.checked, &chosen.inputs)
        });
        let caught = caught.count() as u64;
        let odds = rate * shows;
        assert!(fits(caught, TRIALS, odds, odds), "{flaw:?}: {caught} of {TRIALS}, not {odds}");
    }
}

/// Why one half is the least: the inputs on which a gate is right are an affine space, so that no
/// tables are wrong on one input alone.
#[test]
fn no_tables_are_wrong_on_fewer_than_half_of_the_inputs() {
    let mut lab = Lab::new(20);
    let mut errors = [Label::ZERO; 4];
    errors[1] = lab.delta;
    errors[2] = Label([lab.prg.block(), lab.prg.block(), lab.prg.block()]);
    errors[3] = errors[1] ^ errors[2];
    let mut counts = [0; 5];
    for errors in (0..64).map(|i| [errors[i % 4], errors[i / 4 % 4], errors[i / 16]]) {
        let mut batch = lab.batch();
        let error = errors.iter().flat_map(|label| label.0);
        batch.tables.iter_mut().zip(error).for_each(|(table, error)| *table ^= error);
        let right = (0..4).filter(|i| lab.passes(&batch, &[0], &[i & 1 == 1, i & 2 == 2]));
        counts[right.count()] += 1;
    }
    // No error is right on all four. The others: two, one or none, and never three.
    assert_eq!((counts[4], counts[3]), (1, 0), "{counts:?}");
    assert!(counts[..3].iter().all(|count| *count > 0), "{counts:?}");
}

/// P_B(n, b) of POOL section 4 in plain arithmetic: some bucket of a pool of `n` that is refilled
/// with good items ever holds bad ones only, of which there are `bad`.
fn lifetime_odds(n: u64, bucket: u64, bad: u64) -> f64 {
    if bad < bucket {
        return 0.0;
    }
    let h = |i: u64| choose(n - bad, bucket - i) * choose(bad, i) / choose(n, bucket);
    let later: f64 = (1..bucket).map(|i| h(i) * lifetime_odds(n, bucket, bad - i)).sum();
    (h(bucket) + later) / (1.0 - h(0))
}

fn choose(n: u64, k: u64) -> f64 {
    if k > n { 0.0 } else { (0..k).map(|j| (n - j) as f64 / (j + 1) as f64).product() }
}

/// A pool of `n`, of whose first batch the garbler spoils the first `bad` items; honest refills
/// follow. Bad items that are checked show on half of all inputs. Whether a bucket is ever bad
/// throughout, and nothing was caught.
fn wins(prg: &mut Prg, (n, bucket, rate): (usize, usize, f64), bad: usize) -> bool {
    let mut number = 0u64;
    let mut batch = |items: usize, bad: usize, prg: &mut Prg| {
        let chosen = Selection::new(prg.block(), below(rate), Kind::And, items);
        let inputs = chosen.checked.iter().zip(chosen.inputs.chunks(2));
        // The permutation bit, which nobody knows but the garbler, makes the masked value random.
        let caught = inputs.filter(|(item, input)| **item < bad && input[0] ^ prg.block().lsb());
        let caught = caught.count() > 0;
        let first = number;
        number += items as u64;
        let fresh: Vec<u64> = chosen.survivors.iter().map(|item| first + *item as u64).collect();
        (fresh, chosen.coins, caught)
    };
    let (mut items, _, caught) = batch(4 * n + bad, bad, prg);
    if caught {
        return false;
    }
    while items.len() < n {
        items.extend(batch(n, 0, prg).0);
    }
    items.truncate(n);
    let is_bad = |item: &u64| *item < bad as u64;
    let mut left = items.iter().filter(|item| is_bad(item)).count();
    let mut journal = MemoryJournal::default();
    let mut pool = Pool::full("attacked", n, items).expect("full");
    let mut draws = Draws::new(bucket, n).expect("shape");
    while left >= bucket {
        let (mut fresh, mut coins, _): (_, Coins, _) = batch(2 * n, 0, prg);
        fresh.truncate(fresh.len() / bucket * bucket);
        draws.draw(fresh.len() / bucket, || coins.word());
        pool.exchange(&mut journal, &draws, &mut fresh).expect("shape");
        if fresh.chunks(bucket).any(|members| members.iter().all(is_bad)) {
            return true;
        }
        left -= fresh.iter().filter(|item| is_bad(item)).count();
    }
    false
}

#[test]
fn attacks_on_a_tiny_pool_win_as_often_as_the_recurrence_says() {
    const TRIALS: u64 = 4000;
    for (n, bucket, rate, bad) in
        [(6, 2, 0.25, 2), (6, 2, 0.25, 4), (8, 2, 0.5, 3), (9, 3, 0.125, 3), (9, 3, 0.25, 5)]
    {
        let mut prg = Prg::new(Block::new(n as u128 * 100 + bad as u128));
        let won = (0..TRIALS).filter(|_| wins(&mut prg, (n, bucket, rate), bad)).count() as u64;
        let (n, bucket, bad) = (n as u64, bucket as u64, bad as u64);
        // A bad item is in the pool, or was checked and did not show.
        let odds = |in_pool: u64| {
            let passed = (rate / 2.0).powi((bad - in_pool) as i32);
            choose(bad, in_pool) * (1.0 - rate).powi(in_pool as i32) * passed
        };
        let exact: f64 = (0..=bad).map(|b| odds(b) * lifetime_odds(n, bucket, b)).sum();
        let what = format!("pool {n}, buckets of {bucket}, {bad} bad: {won} of {TRIALS}");
        assert!(fits(won, TRIALS, exact, exact), "{what}, expected {exact}");
        // What the parameters are derived from counts all that were not caught as if in the pool.
        let bound = (1.0 - rate / 2.0).powi(bad as i32) * lifetime_odds(n, bucket, bad);
        assert!(exact <= bound && exact > bound / 5.0, "{what}: {exact} and {bound}");
    }
}

/// Whole sessions with a pool so weak that the garbler wins at times: a rehearsal tells how each of
/// them must end.
#[test]
fn sessions_with_a_weak_pool_end_as_the_coins_say() {
    const SESSIONS: u64 = 32;
    const BAD: usize = 3;
    let mut params = tiny();
    (params.ands.capacity, params.ands.bucket, params.ands.batch) = (6, 2, 24);
    params.ands.check_below = 1 << 29;
    let seeds: Vec<u128> = (0..SESSIONS.into()).collect();
    let ends = std::sync::Mutex::new([0u64; 3]);
    in_parallel(&seeds, |_, seed| {
        let talks = [Talk::random(Role::Evaluator, *seed)];
        let gates = rehearse(&params, &talks, *seed).gates;
        let bad = &gates.made[..BAD];
        let plan = Plan::flaws(bad.iter().map(|gate| (*gate, Flaw::Nand)).collect());
        let outcome = run_session(&params, &plan, &talks, Role::Evaluator, *seed);
        let checked = bad.iter().any(|gate| gates.checked.contains(gate));
        let lost = gates.used().any(|bucket| bucket.iter().all(|gate| bad.contains(gate)));
        let right = expected(&talks, Role::Evaluator);
        let end = match outcome.honest {
            (_, Some(fault)) => {
                assert_eq!((checked, fault), (true, Fault::Misbehaved("jimu.check")));
                0
            }
            (outputs, None) => {
                assert!(!checked);
                assert!(lost || outputs == right, "no bucket was bad");
                1 + usize::from(lost)
            }
        };
        ends.lock().expect("no panic")[end] += 1;
    });
    let [caught, harmless, lost] = ends.into_inner().expect("no panic");
    let odds = 1.0 - (1.0 - 0.125f64).powi(BAD as i32);
    assert!(fits(caught, SESSIONS, odds, odds), "{caught} of {SESSIONS} were caught");
    assert!(harmless > 0 && lost > 0, "{harmless} and {lost}");
}

/// How often an evaluator whose inputs are all `bit` ends the session.
fn aborts(cheat: Cheat, bit: bool, trials: u64) -> u64 {
    let one = |seed: u64| {
        let seed = u128::from(seed) << 1 | u128::from(bit);
        let talks = [Talk::new(Role::Evaluator, [vec![true; 8], vec![bit; 8]])];
        let plan = plan_of(cheat, &tiny(), &talks, seed);
        let outcome = run_session(&tiny(), &plan, &talks, Role::Evaluator, seed);
        u64::from(outcome.honest.1.is_some())
    };
    (0..trials).map(one).sum()
}

#[test]
fn whether_a_session_aborts_tells_nothing_of_the_evaluators_input() {
    // By chance, always, never.
    let cheats = [
        (Cheat::Gate(Flaw::Half, Which::First), 32),
        (Cheat::Symbol(Code::Labels), 32),
        (Cheat::Key, 6),
        (Cheat::OtherKey, 6),
        (Cheat::Correlation, 6),
        (Cheat::Gate(Flaw::Half, Which::Used(0)), 6),
        (Cheat::Gate(Flaw::Turn, Which::Used(1)), 6),
        (Cheat::Gate(Flaw::Nand, Which::Used(0)), 6),
    ];
    in_parallel(&cheats, |_, &(cheat, trials)| {
        let zero = aborts(cheat, false, trials);
        let one = aborts(cheat, true, trials);
        let what = format!("{cheat:?}: {zero} and {one} of {trials}");
        match cheat {
            Cheat::Gate(_, Which::Used(_)) => assert_eq!((zero, one), (0, 0), "{what}"),
            Cheat::Gate(..) | Cheat::Symbol(_) => {
                assert!(zero > 0 && zero < trials, "{what}");
                assert!(same((zero, trials), (one, trials)), "{what}");
            }
            _ => assert_eq!((zero, one), (trials, trials), "{what}"),
        }
    });
}
