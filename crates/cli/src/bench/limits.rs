//! `cenote bench limits`: what this machine could do, and what that allows the protocols at most.
//!
//! Each figure but the round trip is in processor time, so that other processes disturb it little, and the median of many runs of a
//! millisecond or so, on the first core that this process may use; those of the loopback on the first two.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use cenote_ot::Choice;
use cenote_prim::aes::Aes128;
use cenote_prim::half_gates::HalfGates;
use cenote_prim::mitccrh::Mitccrh;
use cenote_prim::simd::{self, Level};
use cenote_prim::{Block, Prg, places, prefer_large_pages, prefetch};
use rustix::time::ClockId;
use serde::Serialize;
use serde_json::{Value, json};

use super::{summary, two_cores};
use crate::exit::Failure;
use crate::output::Reply;
use crate::workers::child::pin;
use crate::workers::spent_by;

/// Runs of each measurement.
const RUNS: usize = 51;
/// Seconds that a run takes, at least.
const RUN_S: f64 = 0.001;

/// Blocks that stay in the first-level cache.
const CACHED: usize = 1024;
/// Gates whose labels and tables do.
const GATES: usize = CACHED / 4;
/// Bytes that no cache holds.
const LARGE: usize = 288 << 20;
/// Bytes of a table that fits a second-level cache or nearly so: the secret of silent OT.
const TABLE: usize = 2 << 20;
/// Reads that are under way at a time.
const AHEAD: usize = 16;

/// Calls that send through the loopback, and the bytes of one.
const CALLS: usize = 2048;
const CALL: usize = 256 << 10;
/// Round trips.
const TRIPS: usize = 4000;

/// What the kernels do, per second.
#[derive(Clone, Copy, Serialize)]
struct Kernels {
    /// Blocks under one key.
    aes_blocks_per_s: f64,
    /// Keys of the re-keyed hash, with one block each and with two.
    rekeyed_singles_per_s: f64,
    rekeyed_pairs_per_s: f64,
    /// Half gates, in cache.
    garbled_per_s: f64,
    evaluated_per_s: f64,
}

/// What memory and line do, per second.
#[derive(Clone, Copy, Serialize)]
struct Movers {
    copied_cache_bytes_per_s: f64,
    copied_memory_bytes_per_s: f64,
    fresh_bytes_per_s: f64,
    table_reads_per_s: f64,
    cold_64_per_s: f64,
    cold_72_per_s: f64,
    cold_272_per_s: f64,
    loopback_bytes_per_s: f64,
    round_trip_us: f64,
}

pub(super) fn command() -> Result<Reply, Failure> {
    let cores = two_cores();
    if let Some([first, _]) = cores {
        pin(&[first])?;
    }
    let levels =
        [("portable", Level::Portable), ("aesni", Level::Aesni), ("vaes512", Level::Vaes512)];
    let mut kernels = Vec::new();
    for (name, level) in levels {
        // The last one is the best, which stays.
        if simd::limit(level) == level {
            kernels.push((name, self::kernels()));
        }
    }
    let movers = movers(cores)?;
    let best = kernels.last().map(|(_, best)| *best).unwrap_or_else(self::kernels);
    let kernels: BTreeMap<_, _> = kernels.into_iter().collect();
    Ok(Reply::table(json!({
        "kernels": kernels,
        "memory": movers,
        "limits": limits(&best, &movers)?,
        "pinned": cores.is_some(),
    })))
}

/// Seconds of processor time of this thread.
fn spent() -> f64 {
    spent_by(ClockId::ThreadCPUTime)
}

fn median(runs: Vec<f64>) -> f64 {
    let runs = runs.into_iter().map(Value::from).collect();
    summary::median(runs).as_f64().unwrap_or_default()
}

/// Units a second of `work`, which does `units`.
fn rate(units: usize, mut work: impl FnMut()) -> f64 {
    let mut time = |calls: usize| {
        let start = spent();
        (0..calls).for_each(|_| work());
        spent() - start
    };
    // To ask for the time costs as much as a call.
    let mut calls = 1;
    while time(calls) < RUN_S {
        calls *= 2;
    }
    median((0..RUNS).map(|_| (calls * units) as f64 / time(calls)).collect())
}

fn kernels() -> Kernels {
    let mut blocks = vec![Block::ONE; CACHED];
    let aes = Aes128::new(Block::new(7));
    let mut hash = Mitccrh::new(Block::new(7));
    let aes_blocks_per_s = rate(CACHED, || aes.encrypt(&mut blocks));
    let rekeyed_singles_per_s = rate(CACHED, || hash.singles(&mut blocks));
    let rekeyed_pairs_per_s = rate(CACHED / 2, || hash.pairs(&mut blocks));
    let (mut gates, delta) = (HalfGates::new(Block::new(9)), Block::new(u128::MAX / 3));
    let (a, b) = (blocks[..GATES].to_vec(), blocks[GATES..][..GATES].to_vec());
    let mut tables = vec![[Block::ZERO; 2]; a.len()];
    let mut out = vec![Block::ZERO; a.len()];
    let garbled_per_s = rate(GATES, || gates.garble(delta, [&a, &b], &mut tables, &mut out));
    let evaluated_per_s = rate(GATES, || gates.evaluate([&a, &b], &tables, &mut out));
    black_box((blocks, out));
    Kernels {
        aes_blocks_per_s,
        rekeyed_singles_per_s,
        rekeyed_pairs_per_s,
        garbled_per_s,
        evaluated_per_s,
    }
}

fn movers(cores: Option<[usize; 2]>) -> Result<Movers, Failure> {
    let fresh_bytes_per_s = fresh();
    let table = table(LARGE);
    let copy = |bytes: usize| {
        let (from, to) = Block::as_bytes(&table).split_at(LARGE / 2);
        let (from, mut to) = (&from[..bytes], to[..bytes].to_vec());
        rate(bytes, || black_box(&mut to).copy_from_slice(black_box(from)))
    };
    let [copied_cache_bytes_per_s, copied_memory_bytes_per_s] = [16 << 10, LARGE / 2].map(copy);
    let (loopback_bytes_per_s, round_trip_us) =
        loopback(cores).map_err(|error| Failure::internal(format!("the loopback: {error}")))?;
    Ok(Movers {
        copied_cache_bytes_per_s,
        copied_memory_bytes_per_s,
        fresh_bytes_per_s,
        table_reads_per_s: reads(&table[..TABLE / size_of::<Block>()]),
        cold_64_per_s: cold::<64>(&table),
        cold_72_per_s: cold::<72>(&table),
        cold_272_per_s: cold::<272>(&table),
        loopback_bytes_per_s,
        round_trip_us,
    })
}

/// An array in large pages, if the system has them, as pools and secrets are.
fn table(bytes: usize) -> Vec<Block> {
    let blocks = bytes / size_of::<Block>();
    let mut table = Vec::with_capacity(blocks);
    prefer_large_pages(&table);
    table.resize(blocks, Block::ONE);
    table
}

/// Bytes a second of pages that were never touched.
fn fresh() -> f64 {
    // More than a large page, and all of them more than the allocator would keep from what was freed.
    const RUN: usize = 4 << 20;
    let mut pages = vec![0u8; RUNS * RUN];
    let touch = |pages: &mut [u8]| {
        let start = spent();
        pages.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        RUN as f64 / (spent() - start)
    };
    let rate = median(pages.chunks_mut(RUN).map(touch).collect());
    drop(black_box(pages));
    rate
}

/// Places that a run visits.
const PLACES: usize = 1 << 16;

/// Random words.
fn words() -> Vec<u32> {
    let mut blocks = vec![Block::ZERO; PLACES / 4];
    Prg::new(Block::new(5)).fill(&mut blocks);
    Block::as_bytes(&blocks).as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Reads a second of random single blocks, ten to a sum.
fn reads(table: &[Block]) -> f64 {
    let mut words = words();
    places::spread(&mut words, table.len() as u32, &[0; PLACES]);
    let rows: &[[u32; 10]] = words.as_chunks().0;
    let mut sums = vec![Block::ZERO; rows.len()];
    let rate = rate(PLACES, || places::add_rows(table, rows, &mut sums));
    black_box(sums);
    rate
}

/// Random rows of `N` bytes a second, each read as a whole, and asked for ahead.
fn cold<const N: usize>(table: &[Block]) -> f64 {
    let rows = Block::as_bytes(table).as_chunks::<N>().0;
    let (mut words, count) = (words(), rows.len() as u32);
    places::spread(&mut words, count, &[0; PLACES]);
    let (mut sum, mut shift) = ([0; N], 0);
    let rate = rate(PLACES, || {
        // Other rows each time.
        shift = (shift + count / 61) % count;
        let place = |word: &u32| {
            let place = word + shift;
            (if place < count { place } else { place - count }) as usize
        };
        for (i, word) in words.iter().enumerate() {
            prefetch(rows, words.get(i + AHEAD).map_or(0, place));
            sum.iter_mut().zip(&rows[place(word)]).for_each(|(sum, byte)| *sum ^= *byte);
        }
    });
    black_box(sum);
    rate
}

/// Bytes a second of the side that spends more time on them, and microseconds of a round trip of a byte.
fn loopback(cores: Option<[usize; 2]>) -> io::Result<(f64, f64)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let peer = thread::spawn(move || -> io::Result<f64> {
        if let Some([_, second]) = cores {
            pin(&[second]).map_err(|failure| io::Error::other(failure.message))?;
        }
        let mut line = TcpStream::connect(address)?;
        line.set_nodelay(true)?;
        let (mut room, start) = (vec![0; CALL], spent());
        (0..CALLS).try_for_each(|_| line.read_exact(&mut room))?;
        let receiving = spent() - start;
        for _ in 0..TRIPS {
            line.read_exact(&mut room[..1])?;
            line.write_all(&room[..1])?;
        }
        Ok(receiving)
    });
    let (mut line, _) = listener.accept()?;
    line.set_nodelay(true)?;
    let (mut room, start) = (vec![1; CALL], spent());
    (0..CALLS).try_for_each(|_| line.write_all(&room))?;
    let sending = spent() - start;
    let mut trip = || {
        let start = Instant::now();
        line.write_all(&room[..1])?;
        line.read_exact(&mut room[..1])?;
        Ok(start.elapsed().as_secs_f64() * 1e6)
    };
    let trips = (0..TRIPS).map(|_| trip()).collect::<io::Result<_>>()?;
    let receiving = peer.join().map_err(|_| io::Error::other("the peer panicked"))??;
    Ok(((CALLS * CALL) as f64 / sending.max(receiving), median(trips)))
}

/// What a party cannot do without for a unit of work: kernels, reads that miss caches, bytes on the line.
#[derive(Clone, Copy, Default)]
struct Work {
    aes: f64,
    singles: f64,
    pairs: f64,
    garbled: f64,
    evaluated: f64,
    table_reads: f64,
    cold_72: f64,
    cold_272: f64,
    /// Both ways.
    bytes: f64,
}

impl Work {
    /// Seconds on one core, one after the other.
    fn seconds(&self, kernels: &Kernels, movers: &Movers) -> f64 {
        [
            (self.aes, kernels.aes_blocks_per_s),
            (self.singles, kernels.rekeyed_singles_per_s),
            (self.pairs, kernels.rekeyed_pairs_per_s),
            (self.garbled, kernels.garbled_per_s),
            (self.evaluated, kernels.evaluated_per_s),
            (self.table_reads, movers.table_reads_per_s),
            (self.cold_72, movers.cold_72_per_s),
            (self.cold_272, movers.cold_272_per_s),
            (self.bytes, movers.loopback_bytes_per_s),
        ]
        .iter()
        .map(|(units, rate)| units / rate)
        .sum()
    }
}

/// Units a second that the busier party cannot exceed, by what the figures of the README are of.
fn limits(kernels: &Kernels, movers: &Movers) -> Result<Value, Failure> {
    let mut works = vec![
        (
            "yao_ands_per_s",
            vec![
                Work { garbled: 1.0, bytes: 32.0, ..Work::default() },
                Work { evaluated: 1.0, bytes: 32.0, ..Work::default() },
            ],
        ),
        // At rho 40, and at rho 64 with a pool of 2 million.
        ("wrk_ands_per_s", vec![wrk_and(3.0, 8.0)]),
        ("wrk_64_ands_per_s", vec![wrk_and(4.0, 12.0)]),
        ("jimu_ands_per_s", jimu_and().to_vec()),
        ("jimu_made_per_s", vec![jimu_gate()]),
    ];
    for (name, k) in [("ot_k2_per_s", 2), ("ot_k4_per_s", 4), ("ot_k8_per_s", 8)] {
        works.push((name, vec![cot(Choice::softspoken(k)?)]));
    }
    works.push(("ot_silent_per_s", vec![silent_cot()]));
    let limit = |parties: Vec<Work>| {
        let seconds = parties.iter().map(|work| work.seconds(kernels, movers));
        json!(1.0 / seconds.fold(0.0, f64::max))
    };
    Ok(works.into_iter().map(|(name, parties)| (name.to_owned(), limit(parties))).collect())
}

/// A correlated OT of long calls.
fn cot(choice: Choice) -> Work {
    let cots = choice.chunk() as u64;
    let bytes = choice.traffic(cots).bytes() as f64 / cots as f64;
    Work { aes: choice.aes_per_cot(), bytes, ..Work::default() }
}

/// As [`cot`]; 5.5 calls of AES and ten reads of the secret make an output, also those that the next extension takes.
fn silent_cot() -> Work {
    let work = cot(Choice::silent());
    Work { table_reads: 10.0 / 5.5 * work.aes, ..work }
}

/// An AND of a long request with buckets of so many leaky ANDs (docs/protocols/wrk.md, "Costs"): three COTs each way
/// for each of them and one; their hashes in both directions, so many bytes each way, and an item that is exchanged
/// with the pool; a half gate with its table and some bits.
fn wrk_and(bucket: f64, leaky_bytes: f64) -> Work {
    let cots = 2.0 * (3.0 * bucket + 1.0);
    let cot = cot(Choice::default());
    Work {
        aes: cots * cot.aes,
        singles: bucket,
        pairs: bucket,
        garbled: 1.0,
        cold_72: bucket,
        bytes: cots * cot.bytes + 2.0 * bucket * leaky_bytes + 33.0,
        ..Work::default()
    }
}

/// A garbled gate of jimu (docs/protocols/jimu.md, "Costs"): 12 blocks under 4 keys, and 25 of a stream.
fn jimu_gate() -> Work {
    Work { pairs: 4.0, aes: 4.0 + 25.0, bytes: 3.0 * 58.0 + 144.0, ..Work::default() }
}

/// An AND at a pool of 2^20, with a bucket of 4: 4.2 gates and 4 that are garbled again; 4 that are read
/// and evaluated.
fn jimu_and() -> [Work; 2] {
    const BUCKET: f64 = 4.0;
    const GATES: f64 = 4.2257;
    let gate = jimu_gate();
    let bytes = 2102.0;
    [
        Work {
            pairs: (GATES + BUCKET) * gate.pairs,
            aes: GATES * gate.aes + BUCKET * 4.0,
            bytes,
            ..Work::default()
        },
        Work { pairs: BUCKET * 2.0, aes: BUCKET * 2.0, cold_272: BUCKET, bytes, ..Work::default() },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine that does everything a million times a second has limits that count units of work.
    #[test]
    fn a_limit_is_the_time_of_its_work_on_the_busier_side() {
        let rate = 1e6;
        let kernels = Kernels {
            aes_blocks_per_s: rate,
            rekeyed_singles_per_s: rate,
            rekeyed_pairs_per_s: rate,
            garbled_per_s: rate,
            evaluated_per_s: rate / 2.0,
        };
        let mut movers = Movers {
            copied_cache_bytes_per_s: rate,
            copied_memory_bytes_per_s: rate,
            fresh_bytes_per_s: rate,
            table_reads_per_s: rate,
            cold_64_per_s: rate,
            cold_72_per_s: rate,
            cold_272_per_s: rate,
            loopback_bytes_per_s: 32.0 * rate,
            round_trip_us: 1.0,
        };
        let units = |movers: &Movers, name: &str| {
            let limits = limits(&kernels, movers).expect("sound choices");
            rate / limits[name].as_f64().expect("a number")
        };
        // Two for an evaluated gate, and its table.
        assert!((units(&movers, "yao_ands_per_s") - 3.0).abs() < 1e-9);
        movers.loopback_bytes_per_s = f64::INFINITY;
        assert!((units(&movers, "ot_k4_per_s") - 4.0).abs() < 1e-9);
        assert!((units(&movers, "ot_k8_per_s") - 32.0).abs() < 1e-9);
        // 80 blocks of OT, six keys and a gate, three items.
        assert!((units(&movers, "wrk_ands_per_s") - 90.0).abs() < 1e-9);
        // 5.5 blocks and 10 reads of each output, of which 8 % are kept.
        let silent = units(&movers, "ot_silent_per_s");
        assert!((16.0..18.0).contains(&silent), "{silent}");
    }
}
