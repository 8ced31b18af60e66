//! Properties of the pool and the stock: always full, nothing twice, nothing lost, both parties
//! alike.

use std::collections::HashSet;
use std::ops::Range;

use cenote_pool::{
    Draws, Journal, Level, MemoryJournal, Occupancy, Pool, Refused, Stock, StoreError,
};
use cenote_prim::{Block, Workers};
use proptest::prelude::*;

/// A fixed sequence of coins (xorshift64*), the same for both parties.
fn coins(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed | 1;
    move || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

fn numbered(capacity: usize) -> Pool<u64> {
    Pool::full("numbers", capacity, (0..capacity as u64).collect()).expect("exactly full")
}

/// Appends the numbers from `first` on.
fn push(stock: &mut Stock, first: u64, count: usize) {
    for (number, block) in (first..).zip(stock.room(count)) {
        *block = Block::new(number.into());
    }
}

fn numbers(blocks: &[Block]) -> Vec<u64> {
    blocks.iter().map(|block| block.to_u128() as u64).collect()
}

/// Lets `left` more items leave and keeps the list of what did.
struct Strict {
    left: u64,
    seen: Vec<(String, Range<u64>)>,
}

impl Journal for Strict {
    fn reserve(&mut self, store: &str, items: Range<u64>) -> Result<(), Refused> {
        if items.end - items.start > self.left {
            return Err(Refused { store: store.into(), reason: "enough".into() });
        }
        self.left -= items.end - items.start;
        self.seen.push((store.into(), items));
        Ok(())
    }

    fn consumed(&self, store: &str) -> u64 {
        let last = self.seen.iter().rfind(|(name, _)| name == store);
        last.map_or(0, |(_, items)| items.end)
    }
}

proptest! {
    /// Every item is its own number, so a number seen twice is an item handed out twice.
    #[test]
    fn items_are_conserved(capacity in 4usize..60, bucket in 1usize..5, runs in prop::collection::vec(0usize..20, 1..6), seed: u64) {
        let mut pool = numbered(capacity);
        let mut draws = Draws::new(bucket, capacity).expect("shape");
        let mut coins = coins(seed);
        let (mut next, mut seen) = (capacity as u64, HashSet::new());
        let mut journal = MemoryJournal::default();
        for buckets in &runs {
            draws.draw(*buckets, &mut coins);
            let mut items: Vec<u64> = (next..).take(buckets * bucket).collect();
            next += items.len() as u64;
            pool.exchange(&mut journal, &draws, &mut items).expect("matching sizes");
            prop_assert_eq!(pool.capacity(), capacity);
            for item in items {
                prop_assert!(item < next, "an item that never entered");
                prop_assert!(seen.insert(item), "item {} twice", item);
            }
        }
        let buckets: usize = runs.iter().sum();
        prop_assert_eq!(journal.consumed("numbers"), (buckets * bucket) as u64);
        prop_assert_eq!(pool.counters(&journal).made, next);
        // What has not left is still inside: empty the pool and count.
        let mut rest = Draws::new(capacity, capacity).expect("shape");
        rest.draw(1, &mut coins);
        let mut items = vec![u64::MAX; capacity];
        pool.exchange(&mut journal, &rest, &mut items).expect("matching sizes");
        seen.extend(items);
        prop_assert_eq!(seen, (0..next).collect::<HashSet<_>>());
    }

    #[test]
    fn positions_are_distinct_within_a_bucket(capacity in 1usize..30, share in 0.0..1.0f64, seed: u64) {
        let bucket = 1 + (share * (capacity - 1) as f64) as usize;
        let mut draws = Draws::new(bucket, capacity).expect("shape");
        draws.draw(25, coins(seed));
        prop_assert_eq!(draws.buckets(), 25);
        for chosen in draws.positions().chunks(bucket) {
            prop_assert!(chosen.iter().all(|p| (*p as usize) < capacity));
            prop_assert_eq!(chosen.iter().collect::<HashSet<_>>().len(), bucket);
        }
    }

    /// One run of many buckets does what many runs of one bucket do: the pool is refilled between
    /// buckets.
    #[test]
    fn drawing_ahead_changes_nothing(buckets in 1usize..30, seed: u64) {
        let (bucket, capacity) = (3, 12);
        let fresh: Vec<u64> = (100..).take(buckets * bucket).collect();
        let (mut ahead, mut single) = (numbered(capacity), numbered(capacity));
        let mut journals = [MemoryJournal::default(), MemoryJournal::default()];
        let mut draws = Draws::new(bucket, capacity).expect("shape");
        draws.draw(buckets, coins(seed));
        let (mut expected, mut got) = (fresh.clone(), fresh);
        ahead.exchange(&mut journals[0], &draws, &mut expected).expect("matching sizes");
        let mut coins = coins(seed);
        for items in got.chunks_mut(bucket) {
            draws.draw(1, &mut coins);
            single.exchange(&mut journals[1], &draws, items).expect("matching sizes");
        }
        prop_assert_eq!(got, expected);
        prop_assert_eq!(journals[0].consumed("numbers"), journals[1].consumed("numbers"));
    }

    /// Items that replace others may leave again in the same run: on one thread or several, in the order of the draw.
    #[test]
    fn any_number_of_threads_exchanges_alike(capacity in 4usize..60, bucket in 1usize..5, runs in prop::collection::vec(0usize..40, 1..4), threads in 1usize..5, seed: u64) {
        let workers = Workers::new(threads).expect("threads");
        let (mut one, mut several) = (numbered(capacity), numbered(capacity));
        let mut journals = [MemoryJournal::default(), MemoryJournal::default()];
        let mut draws = Draws::new(bucket, capacity).expect("shape");
        let mut coins = coins(seed);
        for buckets in runs {
            draws.draw(buckets, &mut coins);
            let mut items: Vec<u64> = (1000..).take(buckets * bucket).collect();
            let mut same = items.clone();
            one.exchange(&mut journals[0], &draws, &mut items).expect("matching sizes");
            let (first, others) = same.split_at_mut(buckets * bucket / 3);
            let pieces = &mut [first, others];
            let leaving = several.leave(&mut journals[1], &draws, buckets * bucket);
            leaving.expect("matching sizes").exchange_on(&workers, pieces).expect("all of them");
            prop_assert_eq!(&items, &same);
            prop_assert_eq!(one.items(), several.items());
            prop_assert_eq!(one.counters(&journals[0]), several.counters(&journals[1]));
        }
    }

    #[test]
    fn stock_is_first_in_first_out(ops in prop::collection::vec((any::<bool>(), 0usize..40), 1..40)) {
        let (mut stock, mut journal) = (Stock::new("numbers", 1), MemoryJournal::default());
        let (mut pushed, mut taken) = (0u64, 0u64);
        for (more, count) in ops {
            let level = stock.level();
            if more {
                push(&mut stock, pushed, count);
                pushed += count as u64;
            } else if let Ok(lease) = stock.reserve(&mut journal, count) {
                let expected: Vec<u64> = (taken..).take(count).collect();
                prop_assert_eq!(numbers(&lease), expected);
                taken += count as u64;
            } else {
                prop_assert!(count > level);
            }
            let (name, level) = ("numbers".to_owned(), pushed - taken);
            prop_assert_eq!(stock.level() as u64, level);
            let expected = Level { name, level, capacity: None, made: pushed, consumed: taken };
            prop_assert_eq!(stock.counters(&journal), expected);
        }
    }
}

#[test]
fn misuse_is_refused_and_moves_nothing() {
    assert_eq!(
        Pool::full("three", 3, vec![1u64, 2]).err(),
        Some(StoreError::NotFull { capacity: 3, items: 2 })
    );
    assert_eq!(
        Pool::full("three", 3, vec![0u64; 4]).err(),
        Some(StoreError::NotFull { capacity: 3, items: 4 })
    );
    let (mut pool, mut journal) = (numbered(8), MemoryJournal::default());
    let mut draws = Draws::new(2, 8).expect("shape");
    draws.draw(2, coins(3));
    let mut items = [7u64; 5];
    let short = pool.exchange(&mut journal, &draws, &mut items[..3]);
    assert_eq!(short, Err(StoreError::Length { expected: 4, got: 3 }));
    let long = pool.exchange(&mut journal, &draws, &mut items);
    assert_eq!(long, Err(StoreError::Length { expected: 4, got: 5 }));
    let mut other = Draws::new(2, 9).expect("shape");
    other.draw(2, coins(3));
    let foreign = pool.exchange(&mut journal, &other, &mut items[..4]);
    assert_eq!(foreign, Err(StoreError::OtherPool { drawn_for: 9, capacity: 8 }));
    assert_eq!((items, pool.counters(&journal).made, journal.consumed("numbers")), ([7; 5], 8, 0));
    items = [99; 5];
    pool.exchange(&mut journal, &draws, &mut items[..4]).expect("matching sizes");
    assert!(items[..2].iter().all(|item| *item < 8), "the first bucket holds first items");
}

#[test]
fn a_dropped_lease_burns_its_items() {
    let (mut stock, mut journal) = (Stock::new("numbers", 1), MemoryJournal::default());
    push(&mut stock, 1, 5);
    assert_eq!(numbers(stock.peek(9)), [1, 2, 3, 4, 5]);
    drop(stock.reserve(&mut journal, 3).expect("level"));
    assert_eq!((stock.level(), journal.consumed("numbers")), (2, 3));
    assert_eq!(numbers(stock.peek(1)), [4]);
    let exhausted = stock.reserve(&mut journal, 3).err();
    assert_eq!(exhausted, Some(StoreError::Exhausted { asked: 3, left: 2 }));
    assert_eq!(numbers(&stock.reserve(&mut journal, 2).expect("level")), [4, 5]);
}

#[test]
fn nothing_leaves_that_the_journal_did_not_see() {
    let mut journal = Strict { left: 9, seen: Vec::new() };
    let (mut pool, mut stock) = (numbered(8), Stock::new("ready", 1));
    push(&mut stock, 0, 20);
    let mut draws = Draws::new(2, 8).expect("shape");
    draws.draw(2, coins(5));
    let mut items = [99; 4];
    pool.exchange(&mut journal, &draws, &mut items).expect("four may leave");
    drop(stock.reserve(&mut journal, 0).expect("nothing leaves"));
    assert_eq!(numbers(&stock.reserve(&mut journal, 2).expect("two more")), [0, 1]);
    // Three more may leave, not four.
    let (held, before) = (pool.items().to_vec(), items);
    let refused = Refused { store: "numbers".into(), reason: "enough".into() };
    assert_eq!(
        pool.exchange(&mut journal, &draws, &mut items),
        Err(StoreError::Refused(refused.clone()))
    );
    assert_eq!((pool.items(), items), (&held[..], before));
    let refused = Refused { store: "ready".into(), ..refused };
    assert_eq!(stock.reserve(&mut journal, 4).err(), Some(StoreError::Refused(refused)));
    assert_eq!(numbers(&stock.reserve(&mut journal, 3).expect("three more")), [2, 3, 4]);
    let seen = [("numbers", 0..4), ("ready", 0..2), ("ready", 2..5)];
    assert_eq!(journal.seen, seen.map(|(name, items)| (name.to_owned(), items)));
}

#[test]
fn a_journal_in_memory_lets_no_number_pass_twice() {
    let mut journal = MemoryJournal::default();
    journal.reserve("a", 0..3).expect("the first");
    journal.reserve("b", 0..1).expect("another store");
    for again in [0..3, 2..4, 4..5] {
        let refused = journal.reserve("a", again.clone()).expect_err("not the next");
        assert_eq!(refused.store, "a", "{again:?}");
    }
    journal.reserve("a", 3..7).expect("the next");
    assert_eq!(["a", "b", "c"].map(|store| journal.consumed(store)), [7, 1, 0]);
    // Two stores of one name would hide each other's items.
    let mut twin = Stock::new("a", 1);
    push(&mut twin, 0, 2);
    assert!(matches!(twin.reserve(&mut journal, 1), Err(StoreError::Refused(_))));
}

#[test]
fn occupancy_lists_by_name_and_survives_json() {
    let (mut pool, mut stock) = (numbered(8), Stock::new("ready", 1));
    let mut journal = MemoryJournal::default();
    let mut draws = Draws::new(2, 8).expect("shape");
    draws.draw(3, coins(5));
    let mut items = [9; 6];
    pool.exchange(&mut journal, &draws, &mut items).expect("matching sizes");
    push(&mut stock, 0, 3);
    drop(stock.reserve(&mut journal, 2));
    let stores =
        vec![pool.counters(&journal), Level::unfilled("other", 5), stock.counters(&journal)];
    let seen = Occupancy { stores, epsilon_log2: -40.0 };
    let level = |name: &str, level, capacity, made, consumed| Level {
        name: name.to_owned(),
        level,
        capacity,
        made,
        consumed,
    };
    assert_eq!(seen.of("numbers"), Some(&level("numbers", 8, Some(8), 14, 6)));
    assert_eq!(seen.of("other"), Some(&level("other", 0, Some(5), 0, 0)));
    assert_eq!(seen.of("ready"), Some(&level("ready", 1, None, 3, 2)));
    assert_eq!(seen.of("none"), None);
    let json = serde_json::to_string(&seen).expect("plain numbers");
    assert_eq!(serde_json::from_str::<Occupancy>(&json).expect("own output"), seen);
}

#[test]
fn debug_output_shows_no_item() {
    let pool = Pool::full("p", 2, vec![0xdead_beefu64, 3_735_928_559]).expect("full");
    let (mut stock, mut journal) = (Stock::new("s", 1), MemoryJournal::default());
    push(&mut stock, 3_735_928_559, 2);
    let mut shown = format!("{pool:?} {stock:?}");
    shown += &format!("{:?}", stock.reserve(&mut journal, 1).expect("level"));
    assert!(!shown.contains("3735928559"), "{shown}");
}
