//! `cenote bench kills`: services that are killed at random instants while jobs run: small ones of both owners, and a large one of the first now and then.
//! No item leaves twice, no result is wrong, each job has a stated end, and they always start again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cenote_engine::SessionConfig;
use cenote_prim::{Block, Prg};
use cenote_service::check_journal;
use serde_json::{Value, json};

use super::pair::{Pair, ROWS, Sizes, large_job, small_job, small_job_back};
use crate::bench::args::BenchKillsArgs;
use crate::exit::Failure;
use crate::output::Reply;
use crate::progress;
use crate::service::client::Client;

/// Kills after which both begin anew: each costs a pool, and a relation has 1,024.
const ROUND: u32 = 200;
/// Longest time between a start and the next kill.
const MOST_MS: u64 = 2500;
/// How long jobs may take to end after the last kill.
const LONG: Duration = Duration::from_secs(120);
/// Jobs that wait at a time.
const OPEN: usize = 8;
/// Of so many jobs of the first side one is large.
const LARGE_EVERY: u32 = 40;
/// Numbers that it sorts: more ANDs than a small one may have.
const SORTED: u32 = 64;
const SORTED_OUTPUT: &str = "sorted";

/// What a side asked for.
struct Ask {
    side: usize,
    /// The output that is named so.
    output: &'static str,
    expected: Value,
}

/// By id.
type Asked = Mutex<HashMap<String, Ask>>;

#[derive(Default)]
struct Tally {
    kills: [u32; 3],
    jobs: HashMap<String, u64>,
    items: [u64; 2],
    both: u64,
    /// Large jobs that are done, and small ones of the second side.
    large: u64,
    of_b: u64,
}

pub(super) fn command(args: &BenchKillsArgs) -> Result<Reply, Failure> {
    let mut random = Prg::new(Block::new(u128::from(args.seed)));
    let (mut tally, mut left) = (Tally::default(), args.kills);
    let bar = progress::bar(u64::from(args.kills), "killing");
    let begun = Instant::now();
    while left > 0 {
        let kills = left.min(ROUND);
        round(kills, args.backend, &mut random, &mut tally, || bar.inc(1))?;
        left -= kills;
    }
    bar.finish_and_clear();
    let [a, b, both] = tally.kills;
    Ok(Reply::table(json!({
        "seed": args.seed,
        "kills": { "a": a, "b": b, "both": both },
        "jobs": tally.jobs,
        "done_on_both": tally.both,
        "large_done": tally.large,
        "done_of_b": tally.of_b,
        "items_used_once": tally.items.iter().sum::<u64>(),
        "items_of_large_jobs": tally.items[1],
        "seconds": begun.elapsed().as_secs_f64(),
    })))
}

/// So many kills of two services that are made for it, and what they leave, checked.
fn round(
    kills: u32,
    backend: SessionConfig,
    random: &mut Prg,
    tally: &mut Tally,
    step: impl Fn(),
) -> Result<(), Failure> {
    let sizes = Sizes { backend, small: 2000, large: 2000, sorted: SORTED };
    let mut pair = Pair::prepare(sizes)?;
    for side in 0..2 {
        pair.start(side)?;
    }
    pair.ready()?;
    pair.agree()?;
    pair.agree_back()?;
    let (asked, over) = (Asked::default(), AtomicBool::new(false));
    let (client, back) = (pair.client(0)?, pair.client(1)?);
    let mut number = || u64::from_le_bytes(random.bytes32()[..8].try_into().unwrap_or_default());
    thread::scope(|scope| {
        let (asked, over) = (&asked, &over);
        let asks = [(&client, 0), (&back, 1)]
            .map(|(client, side)| scope.spawn(move || ask(client, side, sizes, asked, over)));
        let mut killed = || -> Result<(), Failure> {
            for _ in 0..kills {
                thread::sleep(Duration::from_millis(number() % MOST_MS));
                let which = (number() % 3) as usize;
                let sides: &[usize] = [&[0][..], &[1], &[0, 1]][which];
                tally.kills[which] += 1;
                sides.iter().for_each(|side| pair.kill(*side));
                for side in sides {
                    pair.start(*side)?;
                }
                step();
            }
            Ok(())
        };
        let killed = killed();
        over.store(true, Ordering::SeqCst);
        for asks in asks {
            asks.join().map_err(|_| Failure::internal("a client panicked"))??;
        }
        killed
    })?;
    pair.ready()?;
    ends(&pair, &asked, tally)?;
    // In the end they work as ever.
    let (job, expected) = small_job(1, 2);
    let last = client.post("/v1/jobs", &job)?;
    let id = last["id"].as_str().unwrap_or_default();
    let last = client.get(&format!("/v1/jobs/{id}"), &[("wait_s", "60".to_owned())])?;
    if last["result"]["z"] != json!(expected) {
        return Err(pair.wrong(0, &format!("after all kills a job ends as {last}")));
    }
    put_away(&mut pair, tally)
}

/// Ends both in order; what left their stores.
fn put_away(pair: &mut Pair, tally: &mut Tally) -> Result<(), Failure> {
    for side in 0..2 {
        pair.stop(side)?;
        for (lane, items) in ["small", "large"].iter().zip(&mut tally.items) {
            let journal = pair.dir(side).join("journal").join(format!("{lane}.log"));
            *items +=
                check_journal(&journal).map_err(|error| Failure::internal(error.to_string()))?;
        }
    }
    Ok(())
}

/// Keeps asking for jobs of a side, whether the service is there or not; a lost answer is made good by the job's key.
fn ask(
    client: &Client,
    side: usize,
    sizes: Sizes,
    asked: &Asked,
    over: &AtomicBool,
) -> Result<(), Failure> {
    let mut number = 0_u32;
    while !over.load(Ordering::SeqCst) {
        let open = client.get("/v1/jobs", &[("state", "queued".to_owned())]);
        if !open.is_ok_and(|open| open.as_array().is_some_and(|all| all.len() < OPEN)) {
            thread::sleep(Duration::from_millis(20));
            continue;
        }
        number += 1;
        let (mut job, output, expected) = job(number, side, sizes);
        job["idempotency_key"] = json!(format!("job {number}"));
        while !over.load(Ordering::SeqCst) {
            match client.post("/v1/jobs", &job) {
                Ok(job) => {
                    let id = job["id"].as_str().unwrap_or_default().to_owned();
                    let one = Ask { side, output, expected };
                    asked.lock().unwrap_or_else(PoisonError::into_inner).insert(id, one);
                    break;
                }
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
    }
    Ok(())
}

/// A job of this number, the name of its output and what that is.
fn job(number: u32, side: usize, sizes: Sizes) -> (Value, &'static str, Value) {
    let (own, which) = (number % 13, number % ROWS);
    match side {
        0 if number.is_multiple_of(LARGE_EVERY) => {
            let (job, expected) = large_job(sizes);
            (job, SORTED_OUTPUT, json!(expected))
        }
        0 => {
            let (job, expected) = small_job(own, which);
            (job, "z", json!(expected))
        }
        _ => {
            let (job, expected) = small_job_back(own, which);
            (job, "z", json!(expected))
        }
    }
}

/// Waits for all jobs to end and checks how each did.
fn ends(pair: &Pair, asked: &Asked, tally: &mut Tally) -> Result<(), Failure> {
    let clients = [pair.client(0)?, pair.client(1)?];
    let end = Instant::now() + LONG;
    let asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
    for (id, Ask { side: own, output, expected }) in asked.iter() {
        let mut states = Vec::new();
        for (side, client) in clients.iter().enumerate() {
            let job = ended(client, id, end);
            let job = match job {
                Ok(job) => job,
                // The other side may never have heard of it.
                Err(_) if side != *own => json!({ "state": "unknown" }),
                Err(failure) => {
                    return Err(pair.wrong(side, &format!("job {id}: {}", failure.message)));
                }
            };
            let state = job["state"].as_str().unwrap_or_default().to_owned();
            let right = match state.as_str() {
                "done" => job["result"][output] == *expected,
                "submitted" | "queued" | "running" => false,
                "unknown" => true,
                _ => job["reason"].as_str().is_some_and(|reason| !reason.is_empty()),
            };
            if !right {
                return Err(pair.wrong(side, &format!("job {id} ends as {job}")));
            }
            states.push(state);
        }
        let is_done = u64::from(states[*own] == "done");
        *tally.jobs.entry(states[*own].clone()).or_default() += 1;
        tally.large += if *output == SORTED_OUTPUT { is_done } else { 0 };
        tally.of_b += if *own == 1 { is_done } else { 0 };
        tally.both += u64::from(states.iter().all(|state| state == "done"));
    }
    Ok(())
}

/// A job once it has ended.
fn ended(client: &Client, id: &str, end: Instant) -> Result<Value, Failure> {
    loop {
        let job = client.get(&format!("/v1/jobs/{id}"), &[("wait_s", "5".to_owned())])?;
        let waits = matches!(job["state"].as_str(), Some("submitted" | "queued" | "running"));
        if !waits || Instant::now() >= end {
            return Ok(job);
        }
    }
}
