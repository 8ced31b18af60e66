//! `cenote bench ot`: correlated OTs; the garbler sends, the evaluator chooses.

use cenote_engine::Role;
use cenote_net::{Channel, Fault, Handshake, Phase, Tag};
use cenote_ot::Choice;
use cenote_prim::{Block, Prg, SessionId};
use serde_json::{Map, Value, json};

use super::{Setting, measure, summary};
use crate::bench::args::BenchOtArgs;
use crate::exit::Failure;
use crate::output::{Format, Reply};
use crate::workers::{Both, Report, Task};

/// The MACs of the last chunk, for the sender to check.
const SAMPLE: Tag = Tag::new(250, "bench.ot.sample");

/// COTs of a call at most: what stays in the cache.
const PIECE: usize = 255 * 128;

pub(super) fn command(args: &BenchOtArgs, format: Format) -> Result<Reply, Failure> {
    let digit_bits = args.k.parse().map_err(|_| Failure::bad_input("--k takes 1, 2, 4 or 8"))?;
    let digit_bits = (!args.silent).then_some(digit_bits);
    let setting = Setting::new(&args.line)?;
    let tasks = [Task::Ot { digit_bits, count: args.count }];
    // The parties compared a chunk themselves.
    let runs = measure(&tasks, &setting, args.line.repeat, format, |_| Ok(()))?;
    let runs = runs.into_iter().flatten().map(|both| figures(&both, args.count)).collect();
    let mut result = Map::new();
    let protocol = if args.silent { "silent" } else { "softspoken" };
    result.insert("protocol".into(), json!(protocol));
    if let Some(digit_bits) = digit_bits {
        result.insert("k".into(), json!(digit_bits));
    }
    result.insert("count".into(), json!(args.count));
    Ok(Reply::table(summary::result(result, runs, &setting, &args.line)))
}

fn figures(both: &Both, count: u64) -> Value {
    let mut figures = summary::times(both);
    // The check of the sample after the phase of the OTs is not theirs.
    let seconds = both.garbler.preprocess_s.max(both.evaluator.preprocess_s).max(1e-9);
    figures.insert("ots_per_s".into(), json!(count as f64 / seconds));
    let bytes = summary::bytes(both);
    figures.insert("bytes".into(), json!(bytes));
    figures.insert("bits_per_ot".into(), json!(8.0 * bytes as f64 / count as f64));
    figures.insert("parties".into(), summary::parties(both));
    Value::Object(figures)
}

/// One party's work.
pub(crate) fn party(
    mut channel: Channel,
    role: Role,
    digit_bits: Option<usize>,
    count: u64,
) -> Result<Report, Failure> {
    let result = transfer(&mut channel, role, digit_bits, count);
    let counters = channel.counters();
    if let Err(fault) = result {
        channel.abort();
        return Err(fault.into());
    }
    channel.close();
    let mut report = Report { kappa: cenote_ot::KAPPA, ..Report::default() };
    report.count(&counters);
    Ok(report.finish())
}

fn transfer(
    channel: &mut Channel,
    role: Role,
    digit_bits: Option<usize>,
    count: u64,
) -> Result<(), Fault> {
    let mut prg = Prg::from_os();
    let ot = digit_bits.map_or(Ok(Choice::silent()), Choice::softspoken)?;
    let agreed = Handshake::new("bench ot")
        .field("ot", ot.to_string())
        .field("count", count.to_string())
        .run(channel, role, prg.bytes32())?;
    let session = SessionId(agreed.session_id);
    let piece = ot.chunk().min(PIECE);
    let mut blocks = vec![Block::ZERO; piece];
    let mut left = count.next_multiple_of(128);
    let mut chunks = std::iter::from_fn(|| {
        let next = left.min(piece as u64);
        left -= next;
        (next > 0).then_some(next as usize)
    });
    match role {
        Role::Garbler => {
            // Bit 0 of Delta is 1, so that bit 0 of a MAC is its choice.
            let delta = Block::new(prg.block().to_u128() | 1);
            let mut sender = ot.sender(channel, &session, 0, delta, &mut prg)?;
            channel.set_phase(Phase::Preprocess);
            let last =
                chunks.try_fold(0, |_, n| sender.extend(channel, &mut blocks[..n]).map(|()| n))?;
            channel.set_phase(Phase::Online);
            let keys = &blocks[..last];
            let macs = channel.recv(SAMPLE, 16 * last)?;
            check(keys, &macs, delta)
        }
        Role::Evaluator => {
            let mut receiver = ot.receiver(channel, &session, 0, &mut prg)?;
            channel.set_phase(Phase::Preprocess);
            let last = chunks
                .try_fold(0, |_, n| receiver.extend(channel, &mut blocks[..n]).map(|()| n))?;
            channel.flush()?;
            channel.set_phase(Phase::Online);
            channel.send(SAMPLE, Block::as_bytes(&blocks[..last]))
        }
    }
}

/// Every MAC is its key, plus Delta where the choice is 1.
fn check(keys: &[Block], macs: &[u8], delta: Block) -> Result<(), Fault> {
    let (macs, _) = macs.as_chunks::<16>();
    let right = keys.iter().zip(macs).all(|(key, mac)| {
        let mac = Block::from_bytes(*mac);
        let choice = mac.to_u128() & 1 == 1;
        mac == if choice { *key ^ delta } else { *key }
    });
    let wrong = || Fault::Internal("bench ot: a MAC is not its key plus choice times Delta".into());
    if right { Ok(()) } else { Err(wrong()) }
}
