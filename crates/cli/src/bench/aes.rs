//! `cenote bench aes`: AES-128 in counter mode, the key from one party, the nonce from the other.

use std::time::Instant;

use cenote_circuit::gadgets::{Aes128Key, aes128_many};
use cenote_circuit::{Counter, Gates, Program, Signature, bits_of, hex_from_bits};
use cenote_engine::{ProgramJob, Receivers, Role, Session, SessionConfig};
use cenote_job::Summary;
use cenote_net::Channels;
use cenote_prim::Block;
use cenote_prim::aes::Aes128;
use serde_json::{Value, json};

use super::{Setting, measure, sessions, summary, wrong};
use crate::bench::args::BenchAesArgs;
use crate::exit::Failure;
use crate::output::{Format, Reply};
use crate::workers::{Both, JobReport, Report, Task};

/// FIPS 197, appendix C.1.
const KEY: u128 = 0x000102030405060708090a0b0c0d0e0f;
const NONCE: u128 = 0x00112233445566778899aabbccddeeff;
/// Blocks that go through the cipher side by side.
const SIDE_BY_SIDE: u32 = 64;

/// Block i is the encryption of the nonce with i added bit by bit, which costs no gates.
struct AesBlocks {
    blocks: u32,
}

impl Program for AesBlocks {
    fn name(&self) -> String {
        format!("bench aes {}", self.blocks)
    }

    fn signature(&self) -> Signature {
        let mut signature = Signature::new().input("key", 128, Some(Role::Garbler)).input(
            "nonce",
            128,
            Some(Role::Evaluator),
        );
        for i in 0..self.blocks {
            signature = signature.output(&format!("block{i}"), 128, None);
        }
        signature
    }

    /// As for the stream of ANDs: a name, parameters and a version.
    fn digest(&self) -> [u8; 32] {
        super::digest(&format!("{} v1", self.name()))
    }

    fn run<G: Gates>(
        &self,
        g: &mut G,
        inputs: &[Vec<G::Wire>],
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        let [key, nonce] = inputs else { return Ok(Vec::new()) };
        if self.blocks <= SIDE_BY_SIDE {
            let blocks = counters(g, nonce, 0, self.blocks)?;
            return aes128_many(g, key, &blocks);
        }
        let key = Aes128Key::expand(g, key)?;
        let mut outputs = Vec::with_capacity(self.blocks as usize);
        for first in (0..self.blocks).step_by(SIDE_BY_SIDE as usize) {
            let end = self.blocks.min(first + SIDE_BY_SIDE);
            let blocks = counters(g, nonce, first, end)?;
            outputs.extend(key.encrypt(g, &blocks)?);
        }
        Ok(outputs)
    }
}

/// The nonce with each of the numbers from `first` to before `end` added bit by bit.
fn counters<G: Gates>(
    g: &mut G,
    nonce: &[G::Wire],
    first: u32,
    end: u32,
) -> Result<Vec<Vec<G::Wire>>, G::Error> {
    (first..end)
        .map(|i| {
            let bits = bits_of(i.into(), nonce.len());
            let bit = |(wire, flip): (&G::Wire, bool)| {
                if flip { g.not(wire) } else { Ok(wire.clone()) }
            };
            nonce.iter().zip(bits).map(bit).collect()
        })
        .collect()
}

pub(super) fn command(args: &BenchAesArgs, format: Format) -> Result<Reply, Failure> {
    let ands = Counter::count(&AesBlocks { blocks: args.blocks }).and;
    let sessions = sessions(&args.security, ands)?;
    let setting = Setting::new(&args.line)?;
    let task = |config: &SessionConfig| Task::Aes {
        blocks: args.blocks,
        jobs: args.jobs,
        warm: !args.cold,
        config: *config,
    };
    let tasks: Vec<Task> = sessions.iter().map(task).collect();
    let expected = expected(args.blocks);
    let runs = measure(&tasks, &setting, args.line.repeat, format, |both| {
        let mut jobs = both.garbler.jobs.iter().chain(&both.evaluator.jobs);
        if jobs.all(|job| job.outputs == expected) { Ok(()) } else { Err(wrong("bench aes")) }
    })?;
    let results = sessions.iter().zip(runs).map(|(config, runs)| {
        let mut result = summary::session(config)?;
        result.insert("blocks".into(), json!(args.blocks));
        result.insert("jobs".into(), json!(args.jobs));
        result.insert("warm".into(), json!(!args.cold));
        result.insert("ands".into(), json!(ands));
        let figures = runs.iter().map(|both| figures(both, ands)).collect();
        Ok(summary::result(result, figures, &setting, &args.line))
    });
    Ok(summary::reply(results.collect::<Result<_, Failure>>()?))
}

/// The ciphertexts by the cipher of `prim`.
fn expected(blocks: u32) -> Vec<Option<String>> {
    let aes = Aes128::new(Block::from_bytes(KEY.to_be_bytes()));
    (0..blocks)
        .map(|i| {
            let input = Block::from_bytes((NONCE ^ u128::from(i)).to_be_bytes());
            let block = u128::from_be_bytes(aes.encrypt_one(input).to_bytes());
            Some(hex_from_bits(&bits_of(block, 128)))
        })
        .collect()
}

fn figures(both: &Both, ands: u64) -> Value {
    let mut figures = summary::times(both);
    let jobs = both.garbler.jobs.len();
    let all = ands as f64 * jobs as f64;
    figures.insert("ands_per_s".into(), json!(all / summary::after_setup(both)));
    figures.insert("bytes_per_and".into(), json!(summary::bytes(both) as f64 / all));
    let latency = |pick: fn(&JobReport) -> f64| {
        let pairs = both.garbler.jobs.iter().zip(&both.evaluator.jobs);
        summary::median(pairs.map(|(g, e)| json!(pick(g).max(pick(e)) * 1e3)).collect())
    };
    figures.insert("latency_ms".into(), latency(|job| job.wall_s));
    // With a full pool and triples in stock, a job is online work alone.
    figures.insert("online_ms".into(), latency(|job| job.online_s));
    let job_bytes = |report: &Report| report.jobs.last().map_or(0, |job| job.bytes_sent);
    let bytes = job_bytes(&both.garbler) + job_bytes(&both.evaluator);
    figures.insert("job_bytes".into(), json!(bytes));
    let rounds = both.garbler.jobs.last().map_or(0, |job| job.rounds);
    figures.insert("job_rounds".into(), json!(rounds));
    figures.insert("parties".into(), summary::parties(both));
    Value::Object(figures)
}

/// One party's work.
pub(crate) fn party(
    channels: Channels,
    role: Role,
    blocks: u32,
    jobs: u32,
    warm: bool,
    config: SessionConfig,
) -> Result<Report, Failure> {
    let program = AesBlocks { blocks };
    let ands = Counter::count(&program).and;
    let mut session = Session::open(channels, role, &config.for_ands(ands))?;
    let mut report = Report::default();
    let value = match role {
        Role::Garbler => KEY,
        Role::Evaluator => NONCE,
    };
    let job =
        ProgramJob::new(&program, role, vec![bits_of(value, 128)], Receivers::Both)?.of_ands(ands);
    for _ in 0..jobs {
        if warm {
            session.fill()?;
            session.stock(ands as usize)?;
        }
        let started = Instant::now();
        let outcome = session.run(&job)?;
        let wall_s = started.elapsed().as_secs_f64();
        report.jobs.push(JobReport { wall_s, ..JobReport::of(&outcome) });
    }
    report.session(&Summary::of(&mut session));
    session.close();
    Ok(report.finish())
}

#[cfg(test)]
mod tests {
    use cenote_circuit::Clear;

    use super::*;

    #[test]
    fn blocks_are_those_of_the_cipher() {
        for blocks in [1, 3, SIDE_BY_SIDE, SIDE_BY_SIDE + 1] {
            let program = AesBlocks { blocks };
            let outputs = Clear::eval(&program, &[bits_of(KEY, 128), bits_of(NONCE, 128)]);
            let outputs: Vec<_> = outputs.iter().map(|bits| Some(hex_from_bits(bits))).collect();
            assert_eq!(outputs, expected(blocks));
            assert_eq!(Counter::count(&program).and, 1280 + 5120 * u64::from(blocks));
        }
        assert_eq!(expected(1), [Some("69c4e0d86a7b0430d8cdb78070b4c55a".to_owned())]);
    }
}
