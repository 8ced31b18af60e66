//! `cenote bench service`: how many jobs a second, and how long one takes, for whoever asks over the API.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::flat::{self, Sample};
use super::pair::{Pair, ROWS, Sizes, large_job, small_job};
use crate::bench::args::BenchServiceArgs;
use crate::exit::{Failure, Kind};
use crate::output::Reply;
use crate::service::client::Client;

/// Between two looks at the memory of both.
const LOOK: Duration = Duration::from_secs(2);
/// How long a job may take before it counts as one that never ends.
const NEVER: Duration = Duration::from_secs(1800);

/// What the threads share.
struct Load<'a> {
    args: &'a BenchServiceArgs,
    sizes: Sizes,
    begun: Instant,
    /// Jobs that were begun.
    next: AtomicU64,
    /// Milliseconds of each job, and when it ended, in seconds.
    small: Mutex<Vec<(f64, f64)>>,
    large: Mutex<Vec<(f64, f64)>>,
}

pub(super) fn command(args: &BenchServiceArgs) -> Result<Reply, Failure> {
    let BenchServiceArgs { backend, small, large, sorted, .. } = *args;
    let sizes = Sizes { backend, small, large, sorted };
    let mut pair = Pair::prepare(sizes)?;
    for side in 0..2 {
        pair.start(side)?;
    }
    let filled = pair.ready()?;
    pair.agree()?;
    // Once before it counts: programs are read, connections are there.
    one(&pair.client(0)?, small_job(1, 2))?;
    let load = Load {
        args,
        sizes,
        begun: Instant::now(),
        next: AtomicU64::new(0),
        small: Mutex::default(),
        large: Mutex::default(),
    };
    let clients: Result<Vec<Client>, Failure> =
        (0..args.clients + u32::from(args.mixed)).map(|_| pair.client(0)).collect();
    let mut clients = clients?;
    let large = if args.mixed { clients.pop() } else { None };
    let look = |pair: &Pair| Sample {
        at: load.begun.elapsed().as_secs_f64(),
        bytes: [0, 1].map(|side| pair.resident(side)),
    };
    let mut memory = vec![look(&pair)];
    thread::scope(|scope| -> Result<(), Failure> {
        let small = clients.iter().map(|client| scope.spawn(|| load.small_jobs(client)));
        let mut threads: Vec<_> = small.collect();
        threads.extend(large.as_ref().map(|client| scope.spawn(|| load.large_jobs(client))));
        while !load.is_over() {
            thread::sleep(LOOK.min(load.end().saturating_duration_since(Instant::now())));
            memory.push(look(&pair));
        }
        for thread in threads {
            thread.join().map_err(|_| Failure::internal("a client panicked"))??;
        }
        Ok(())
    })?;
    for side in 0..2 {
        pair.stop(side)?;
    }
    let started = restart(&mut pair)?;
    Ok(load.reply(&memory, filled, started))
}

/// Seconds from the start of both to ready, with what they keep on disk.
fn restart(pair: &mut Pair) -> Result<Duration, Failure> {
    let begun = Instant::now();
    for side in 0..2 {
        pair.start(side)?;
    }
    pair.ready()?;
    Ok(begun.elapsed())
}

/// Asks for a job and waits for its result.
fn one<T: Into<Value>>(client: &Client, (job, expected): (Value, T)) -> Result<Value, Failure> {
    let asked = client.post("/v1/jobs", &job)?;
    let id = asked["id"].as_str().unwrap_or_default().to_owned();
    let (path, end) = (format!("/v1/jobs/{id}"), Instant::now() + NEVER);
    let ended = loop {
        let job = client.get(&path, &[("wait_s", "60".to_owned())])?;
        let waits = matches!(job["state"].as_str(), Some("submitted" | "queued" | "running"));
        if !waits || Instant::now() >= end {
            break job;
        }
    };
    let outputs = ended["result"].as_object().and_then(|all| all.values().next());
    if outputs == Some(&expected.into()) {
        return Ok(ended);
    }
    let (state, reason) = (&ended["state"], &ended["reason"]);
    Err(Failure::new(
        Kind::Internal,
        format!("job {id} is {state}, {reason}, with a wrong result or none"),
    ))
}

impl Load<'_> {
    fn end(&self) -> Instant {
        self.begun + Duration::from_secs(self.args.seconds)
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.end()
    }

    /// Small jobs one after the other, or each at its time.
    fn small_jobs(&self, client: &Client) -> Result<(), Failure> {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let due = self.args.rate.map_or_else(Instant::now, |rate| {
                self.begun + Duration::from_secs_f64(number as f64 / rate)
            });
            if due >= self.end() || self.is_over() {
                return Ok(());
            }
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let (x, which) = (number as u32 % 7, (number / 7) as u32 % ROWS);
            one(client, small_job(x, which))?;
            self.note(&self.small, due);
        }
    }

    /// Large jobs one after the other, each at its time at the earliest.
    fn large_jobs(&self, client: &Client) -> Result<(), Failure> {
        while !self.is_over() {
            let due = Instant::now();
            one(client, large_job(self.sizes))?;
            self.note(&self.large, due);
            let next = due + Duration::from_secs(self.args.large_every);
            thread::sleep(next.min(self.end()).saturating_duration_since(Instant::now()));
        }
        Ok(())
    }

    fn note(&self, jobs: &Mutex<Vec<(f64, f64)>>, since: Instant) {
        let entry = (since.elapsed().as_secs_f64() * 1e3, self.begun.elapsed().as_secs_f64());
        jobs.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(entry);
    }

    fn reply(&self, memory: &[Sample], filled: Duration, started: Duration) -> Reply {
        let jobs = |all: &Mutex<Vec<(f64, f64)>>| {
            all.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
        };
        let (small, large) = (jobs(&self.small), jobs(&self.large));
        let end = small.iter().chain(&large).map(|(_, at)| *at).fold(0.0, f64::max);
        let ands = large.len() as u64 * sort_ands(self.sizes.sorted) + small.len() as u64 * 32;
        let mut grew = Vec::new();
        if let Some(most) = self.args.memory_growth {
            grew.extend(flat::memory(memory, end, most));
        }
        if let Some(most) = self.args.latency_growth {
            grew.extend(flat::latency("small", &small, end, most));
            grew.extend(flat::latency("large", &large, end, most));
        }
        let json = json!({
            "clients": self.args.clients,
            "rate": self.args.rate,
            "seconds": end,
            "small": figures(&small, end),
            "large": figures(&large, end),
            "ands_per_s": ands as f64 / end,
            "ands_per_hour": ands as f64 / end * 3600.0,
            "fill_s": filled.as_secs_f64(),
            "restart_s": started.as_secs_f64(),
            "resident_bytes": flat::three(memory),
            "most_resident_bytes_by_third": flat::most(memory, end),
            "grew": grew,
        });
        let reply = Reply::table(json);
        if grew.is_empty() { reply } else { reply.ending(Kind::Internal) }
    }
}

/// ANDs of a sort, as its program counts them.
fn sort_ands(numbers: u32) -> u64 {
    let module = cenote_program::library::sort(numbers, 32).ok();
    module
        .and_then(|module| crate::bench::compile::stats(&module).ok())
        .map_or(0, |stats| stats.ands)
}

/// Number, rate and latencies of jobs; of each third of the time as well, to be compared.
fn figures(jobs: &[(f64, f64)], seconds: f64) -> Value {
    let quantiles = |jobs: &[(f64, f64)]| {
        let times = flat::sorted(jobs);
        let at = |share: f64| flat::quantile(&times, share);
        json!({ "p50": at(0.5), "p99": at(0.99), "most": times.last() })
    };
    json!({
        "jobs": jobs.len(),
        "jobs_per_s": jobs.len() as f64 / seconds,
        "latency_ms": quantiles(jobs),
        "latency_ms_by_third": flat::thirds(jobs, seconds).map(|jobs| quantiles(&jobs)),
    })
}
