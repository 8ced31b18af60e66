//! Properties of the pool and the stock: always full, nothing twice, nothing lost, both parties
//! alike.

use std::cell::Cell;
use std::collections::HashSet;

use cenote_pool::{Draws, Occupancy, Pool, Stock, StoreError};
use proptest::prelude::*;
use zeroize::Zeroize;

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
    Pool::full(capacity, (0..capacity as u64).collect()).expect("exactly full")
}

proptest! {
    /// Every item is its own number, so a number seen twice is an item handed out twice.
    #[test]
    fn items_are_conserved(capacity in 4usize..60, bucket in 1usize..5, runs in prop::collection::vec(0usize..20, 1..6), seed: u64) {
        let mut pool = numbered(capacity);
        let mut draws = Draws::new(bucket, capacity).expect("shape");
        let mut coins = coins(seed);
        let (mut next, mut seen) = (capacity as u64, HashSet::new());
        for buckets in &runs {
            draws.draw(*buckets, &mut coins);
            let mut items: Vec<u64> = (next..).take(buckets * bucket).collect();
            next += items.len() as u64;
            pool.exchange(&draws, &mut items).expect("matching sizes");
            prop_assert_eq!(pool.capacity(), capacity);
            for item in items {
                prop_assert!(item < next, "an item that never entered");
                prop_assert!(seen.insert(item), "item {} twice", item);
            }
        }
        let buckets: usize = runs.iter().sum();
        prop_assert_eq!(pool.buckets(), buckets as u64);
        prop_assert_eq!(pool.refilled(), (buckets * bucket) as u64);
        // What has not left is still inside: empty the pool and count.
        let mut rest = Draws::new(capacity, capacity).expect("shape");
        rest.draw(1, &mut coins);
        let mut items = vec![u64::MAX; capacity];
        pool.exchange(&rest, &mut items).expect("matching sizes");
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
        let mut draws = Draws::new(bucket, capacity).expect("shape");
        draws.draw(buckets, coins(seed));
        let (mut expected, mut got) = (fresh.clone(), fresh);
        ahead.exchange(&draws, &mut expected).expect("matching sizes");
        let mut coins = coins(seed);
        for items in got.chunks_mut(bucket) {
            draws.draw(1, &mut coins);
            single.exchange(&draws, items).expect("matching sizes");
        }
        prop_assert_eq!(got, expected);
    }

    #[test]
    fn stock_is_first_in_first_out(ops in prop::collection::vec((any::<bool>(), 0usize..40), 1..40)) {
        let mut stock = Stock::new();
        let (mut pushed, mut taken) = (0u64, 0u64);
        for (push, count) in ops {
            let level = stock.level();
            if push {
                let items: Vec<u64> = (pushed..).take(count).collect();
                stock.push(&items);
                pushed += count as u64;
            } else if let Ok(mut lease) = stock.reserve(count) {
                let expected: Vec<u64> = (taken..).take(count).collect();
                prop_assert_eq!(lease.take(count / 2).expect("reserved"), &expected[..count / 2]);
                prop_assert_eq!(lease.rest(), &expected[count / 2..]);
                taken += count as u64;
            } else {
                prop_assert!(count > level);
            }
            prop_assert_eq!(stock.level() as u64, pushed - taken);
            prop_assert_eq!(stock.consumed(), taken);
        }
    }
}

#[test]
fn misuse_is_refused_and_moves_nothing() {
    assert_eq!(
        Pool::full(3, vec![1u64, 2]).err(),
        Some(StoreError::NotFull { capacity: 3, items: 2 })
    );
    assert_eq!(
        Pool::full(3, vec![0u64; 4]).err(),
        Some(StoreError::NotFull { capacity: 3, items: 4 })
    );
    let mut pool = numbered(8);
    let mut draws = Draws::new(2, 8).expect("shape");
    draws.draw(2, coins(3));
    let mut items = [7u64; 5];
    let short = pool.exchange(&draws, &mut items[..3]);
    assert_eq!(short, Err(StoreError::Length { expected: 4, got: 3 }));
    let long = pool.exchange(&draws, &mut items);
    assert_eq!(long, Err(StoreError::Length { expected: 4, got: 5 }));
    let mut other = Draws::new(2, 9).expect("shape");
    other.draw(2, coins(3));
    let foreign = pool.exchange(&other, &mut items[..4]);
    assert_eq!(foreign, Err(StoreError::OtherPool { drawn_for: 9, capacity: 8 }));
    assert_eq!((items, pool.buckets(), pool.refilled()), ([7; 5], 0, 0));
    items = [99; 5];
    pool.exchange(&draws, &mut items[..4]).expect("matching sizes");
    assert!(items[..2].iter().all(|item| *item < 8), "the first bucket holds first items");
}

#[test]
fn a_dropped_lease_burns_its_items() {
    let mut stock = Stock::new();
    stock.push(&[1u64, 2, 3, 4, 5]);
    let mut lease = stock.reserve(3).expect("level");
    assert_eq!(lease.take(1).expect("reserved"), [1]);
    assert_eq!(lease.take(3).err(), Some(StoreError::Exhausted { asked: 3, left: 2 }));
    drop(lease);
    assert_eq!((stock.level(), stock.consumed()), (2, 3));
    assert_eq!(stock.reserve(3).err(), Some(StoreError::Exhausted { asked: 3, left: 2 }));
    assert_eq!(stock.reserve(2).expect("level").take(2).expect("reserved"), [4, 5]);
}

#[test]
fn occupancy_counts_and_survives_json() {
    let mut pool = numbered(8);
    let mut stock = Stock::new();
    let mut draws = Draws::new(2, 8).expect("shape");
    draws.draw(3, coins(5));
    let mut items = [9; 6];
    pool.exchange(&draws, &mut items).expect("matching sizes");
    stock.push(&items[..3]);
    drop(stock.reserve(2));
    let seen = Occupancy::of(&pool, &stock, -40.0);
    let expected = Occupancy {
        capacity: 8,
        level: 8,
        stock: 1,
        consumed: 2,
        refilled: 6,
        buckets: 3,
        epsilon_log2: -40.0,
    };
    assert_eq!(seen, expected);
    let json = serde_json::to_string(&seen).expect("plain numbers");
    assert_eq!(serde_json::from_str::<Occupancy>(&json).expect("own output"), seen);
}

#[test]
fn debug_output_shows_no_item() {
    let pool = Pool::full(2, vec![0xdead_beefu64, 3_735_928_559]).expect("full");
    let mut stock = Stock::new();
    stock.push(&[3_735_928_559u64]);
    let lease = stock.reserve(1).expect("level");
    let shown = format!("{pool:?} {stock:?} {lease:?}");
    assert!(!shown.contains("3735928559"), "{shown}");
}

/// An item that counts how often one like it is wiped.
#[derive(Clone, Copy)]
struct Counted<'c>(&'c Cell<usize>);

impl Zeroize for Counted<'_> {
    fn zeroize(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn a_stock_keeps_no_copy_of_what_it_hands_out() {
    let wiped = Cell::new(0);
    let mut stock = Stock::new();
    stock.push(&[Counted(&wiped); 5]);
    let lease = stock.reserve(3).expect("five are there");
    assert_eq!(wiped.get(), 3, "the places that they were in");
    drop(lease);
    assert_eq!(wiped.get(), 6, "the items handed out");
    drop(stock);
    assert_eq!(wiped.get(), 8, "the items left");
}
