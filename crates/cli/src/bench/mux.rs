//! `cenote bench mux`: multiplexers from pools of their own (POOL section 5), and from ANDs.

use cenote_circuit::{Clear, Gates, Program, Signature, bits_of, hex_from_bits};
use cenote_engine::{JimuParams, ProgramJob, Receivers, Role, Session, SessionConfig};
use cenote_job::Summary;
use cenote_net::Channels;
use cenote_prim::{Block, Prg};
use serde_json::{Map, Value, json};

use super::{Setting, measure, summary, wrong};
use crate::args::sound;
use crate::bench::args::BenchMuxArgs;
use crate::exit::Failure;
use crate::output::{Format, Reply};
use crate::workers::{Both, Fill, JobReport, Report, Task};

/// ANDs of a bench that names no number of multiplexers: dozens of refills.
const DEFAULT_ANDS: u64 = 1 << 20;
/// Words of each party, and select bits.
const WORDS: usize = 8;
const SELECTS: usize = 64;
/// Bits of the sum: a prime, so that the place of a word and the place in the sum do not move together.
const SUM: usize = 127;

/// `muxes` multiplexers of `width` bits, of which none reads what another one chose.
///
/// A word that is read is the sum of a word of each party, and a select bit of a bit of each. The
/// chosen words are added up, each from another place on.
struct Muxes {
    muxes: u64,
    width: usize,
}

impl Muxes {
    /// The input of each port, fixed so that everybody can check the result.
    fn inputs(&self) -> Vec<Vec<bool>> {
        let mut prg = Prg::new(Block::new(2));
        let ports = self.signature().inputs.into_iter();
        ports
            .map(|port| {
                let blocks = (0..port.bits.div_ceil(128)).map(|_| prg.block().to_u128());
                let mut bits: Vec<bool> = blocks.flat_map(|block| bits_of(block, 128)).collect();
                bits.truncate(port.bits);
                bits
            })
            .collect()
    }
}

impl Program for Muxes {
    fn name(&self) -> String {
        format!("bench mux {} {}", self.width, self.muxes)
    }

    fn signature(&self) -> Signature {
        let words = WORDS * self.width;
        Signature::new()
            .input("x", words, Some(Role::Garbler))
            .input("s", SELECTS, Some(Role::Garbler))
            .input("y", words, Some(Role::Evaluator))
            .input("t", SELECTS, Some(Role::Evaluator))
            .output("sum", SUM, None)
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
        let [x, s, y, t] = inputs else { return Ok(Vec::new()) };
        let mut words = Vec::with_capacity(WORDS * WORDS);
        for x in x.chunks(self.width) {
            for y in y.chunks(self.width) {
                words.push(g.xor_many(x, y)?);
            }
        }
        let mut sum = vec![g.constant(false)?; SUM];
        for i in 0..self.muxes as usize {
            let select = g.xor(&s[i % SELECTS], &t[i / SELECTS % SELECTS])?;
            // The distance between the two goes through all numbers but zero.
            let first = 5 * i % words.len();
            let second = (first + 1 + i / words.len() % (words.len() - 1)) % words.len();
            let chosen = g.mux_many(&select, &words[first], &words[second])?;
            for (place, bit) in (29 * i..).zip(&chosen) {
                let place = &mut sum[place % SUM];
                *place = g.xor(place, bit)?;
            }
        }
        Ok(vec![sum])
    }
}

pub(super) fn command(args: &BenchMuxArgs, format: Format) -> Result<Reply, Failure> {
    let width = usize::from(args.width);
    let muxes = args.muxes.unwrap_or(DEFAULT_ANDS.div_ceil(width as u64));
    let session = |muxcore| sound(args.jimu.session(args.pool, muxcore)?, 0);
    let sessions = [session(true)?, session(false)?];
    let setting = Setting::new(&args.line)?;
    let tasks = sessions.map(|config| Task::Mux { width, muxes, config });
    let program = Muxes { muxes, width };
    let expected: Vec<Option<String>> = Clear::eval(&program, &program.inputs())
        .iter()
        .map(|bits| Some(hex_from_bits(bits)))
        .collect();
    let mut result = summary::session(&sessions[0])?;
    result.insert("width".into(), json!(width));
    result.insert("muxes".into(), json!(muxes));
    let runs = measure(&tasks, &setting, args.line.repeat, format, |both| {
        let right = both.garbler.outputs == expected && both.evaluator.outputs == expected;
        if right { Ok(()) } else { Err(wrong("bench mux")) }
    })?;
    let [with, without] = &runs[..] else { return Err(Failure::internal("two tasks were run")) };
    let pairs = with.iter().zip(without).map(|(with, without)| compared(with, without, muxes));
    Ok(Reply::table(summary::result(result, pairs.collect(), &setting, &args.line)))
}

/// A run with pools for multiplexers beside the run without that followed it.
fn compared(with: &Both, without: &Both, muxes: u64) -> Value {
    let (job, other) = (summary::last_job(with), summary::last_job(without));
    json!({
        "time_ratio": job.seconds / other.seconds,
        "bytes_ratio": job.bytes as f64 / other.bytes as f64,
        "with_muxcore": figures(with, muxes),
        "without_muxcore": figures(without, muxes),
    })
}

fn figures(both: &Both, muxes: u64) -> Value {
    let mut figures: Map<String, Value> = summary::times(both);
    let job = summary::last_job(both);
    let muxes = muxes as f64;
    let (fill_s, fill_bytes) = summary::fill(both).unwrap_or_default();
    figures.insert("fill_s".into(), json!(fill_s));
    figures.insert("fill_bytes".into(), json!(fill_bytes));
    figures.insert("job_s".into(), json!(job.seconds));
    figures.insert("us_per_mux".into(), json!(1e6 * job.seconds / muxes));
    figures.insert("muxes_per_s".into(), json!(muxes / job.seconds));
    figures.insert("bytes_per_mux".into(), json!(job.bytes as f64 / muxes));
    figures.insert("parties".into(), summary::parties(both));
    Value::Object(figures)
}

/// Widths of the cores that make a multiplexer of `width` bits: the widest ones first, as often as
/// they fit, and single ANDs for the rest.
fn cores(params: &JimuParams, width: usize) -> Vec<usize> {
    let (mut rest, mut found) = (width, Vec::new());
    for core in params.muxes.iter().map(|(shape, _)| shape.ands()) {
        if rest >= core {
            found.push(core);
            rest %= core;
        }
    }
    found.extend((rest > 0).then_some(1));
    found
}

/// One party's work.
pub(crate) fn party(
    channels: Channels,
    role: Role,
    width: usize,
    muxes: u64,
    config: SessionConfig,
) -> Result<Report, Failure> {
    let params = JimuParams::of(&config)?;
    let cores = cores(&params, width);
    let mut session = Session::open(channels, role, &config)?;
    let fill = Fill::of(&mut session, |session| {
        cores.into_iter().try_for_each(|core| session.measure(|cores| cores.fill_pool(core)))?;
        // What inputs and outputs take.
        session.stock(0)
    })?;
    let mut report = Report { fill: Some(fill), ..Report::default() };
    let program = Muxes { muxes, width };
    let inputs = program.inputs().into_iter();
    let own = match role {
        Role::Garbler => inputs.take(2).collect(),
        Role::Evaluator => inputs.skip(2).collect(),
    };
    let job = ProgramJob::new(&program, role, own, Receivers::Both)?;
    let outcome = session.run(&job)?;
    report.jobs.push(JobReport::of(&outcome));
    report.session(&Summary::of(&mut session));
    session.close();
    Ok(report.finish())
}

#[cfg(test)]
mod tests {
    use cenote_circuit::Counter;

    use super::*;

    #[test]
    fn every_bit_is_multiplexed_and_every_input_is_read() {
        for width in [1, 8, 20, 64] {
            let program = Muxes { muxes: 300, width };
            assert_eq!(Counter::count(&program).and, 300 * width as u64);
            assert_eq!(Counter::count(&program).and_depth, 1, "none reads what another one chose");
            let inputs = program.inputs();
            let right = Clear::eval(&program, &inputs);
            for (port, bit) in [(0, 0), (1, 5), (2, width), (3, 2)] {
                let mut other = inputs.clone();
                other[port][bit] ^= true;
                assert_ne!(Clear::eval(&program, &other), right, "{width} {port} {bit}");
            }
        }
    }
}
