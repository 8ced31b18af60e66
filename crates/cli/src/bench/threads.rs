//! `cenote bench threads`: one party alone, with one thread and with several, against what its peer sent in a run that was
//! recorded before. Both parties on the machine at once would share the cores that are to be compared.
//!
//! The randomness of the two is drawn once, so that a party that is played says what it said then, and the recorded
//! answers fit. Refills may be far ahead of the request, as the orders for them would else depend on how fast that is. Should a
//! party that is played order something else after all, or measure another pace of the line, the answers do not fit: it is
//! recorded and played again.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use cenote_circuit::Clear;
use cenote_engine::{Fault, ProgramJob, Receivers, Role, Session, SessionConfig};
use cenote_net::{Channel, Channels, Direction, Recording, mem_channels, replay};
use cenote_prim::{Block, Prg, os_block};
use rustix::time::ClockId;
use serde_json::{Map, Value, json};

use super::stream::Stream;
use super::{cores, sessions, summary, wrong};
use crate::bench::args::BenchThreadsArgs;
use crate::exit::Failure;
use crate::output::{self, Reply};
use crate::workers::child::pin;
use crate::workers::spent_by;

/// Triples that refills may be ahead: more than the request leaves unused while it waits for its turn on a core.
const AHEAD: usize = 1 << 20;
/// How often a run is recorded and played before it is given up.
const TRIES: u32 = 10;

pub(super) fn command(args: &BenchThreadsArgs) -> Result<Reply, Failure> {
    let cores = cores();
    if cores.len() < args.threads {
        output::note("note: fewer processor cores than threads");
    }
    let results = sessions(&args.security, args.ands)?.into_iter().map(|config| {
        let mut result = summary::session(&config)?;
        result.insert("ands".into(), json!(args.ands));
        result.insert("threads".into(), json!(args.threads));
        let program = Stream { ands: args.ands };
        let expected = Clear::eval(&program, &Stream::inputs()).into_iter().map(Some).collect();
        let work = Work { config: config.for_ands(args.ands), program, expected };
        let figures = tried(|| work.measure(args, &cores))?;
        result.extend(figures);
        Ok(Value::Object(result))
    });
    Ok(summary::reply(results.collect::<Result<_, Failure>>()?))
}

/// `work` until its answers fit.
fn tried<T>(work: impl Fn() -> Result<T, Fault>) -> Result<T, Failure> {
    let mut result = work();
    for _ in 1..TRIES {
        if !matches!(result, Err(Fault::Misbehaved(_) | Fault::Transport(_))) {
            break;
        }
        result = work();
    }
    Ok(result?)
}

struct Work {
    config: SessionConfig,
    program: Stream,
    /// The result, evaluated in the clear.
    expected: Vec<Option<Vec<bool>>>,
}

/// What a party received on a channel.
type Received = Arc<Vec<u8>>;

/// What each party received in a run, and what it sent on the control channel.
struct Record {
    randomness: [Block; 2],
    control: [Received; 2],
    data: [Received; 2],
    sent: [u64; 2],
}

impl Work {
    /// Plays each party with one thread of the supply and one core, with one and several cores, with several threads and
    /// cores.
    fn measure(
        &self,
        args: &BenchThreadsArgs,
        cores: &[usize],
    ) -> Result<Map<String, Value>, Fault> {
        let record = self.record()?;
        let several = &cores[..args.threads.min(cores.len())];
        let one = &several[..several.len().min(1)];
        let ways = [
            ("one_thread_one_core", 1, one),
            ("one_thread", 1, several),
            ("threads", args.threads, several),
        ];
        let mut parties = Map::new();
        for role in [Role::Garbler, Role::Evaluator] {
            let mut runs = ways.map(|_| Vec::new());
            // In turns: the machine may be busier at one time than at another.
            for _ in 0..args.repeat {
                for ((_, threads, cores), runs) in ways.iter().zip(&mut runs) {
                    runs.push(self.play(&record, role, *threads, cores)?);
                }
            }
            let mut figures: Map<String, Value> = (ways.iter().zip(runs))
                .map(|((name, ..), runs)| ((*name).to_owned(), summary::median(runs)))
                .collect();
            let seconds = |way: usize| figures[ways[way].0]["seconds"].as_f64().unwrap_or_default();
            let speed_up = [seconds(0) / seconds(2), seconds(1) / seconds(2)];
            figures.insert("speed_up".into(), json!(speed_up[0]));
            figures.insert("speed_up_over_one_thread".into(), json!(speed_up[1]));
            parties.insert(role.name().into(), Value::Object(figures));
        }
        Ok(parties)
    }

    /// Both parties, with what they receive.
    fn record(&self) -> Result<Record, Fault> {
        let randomness = [os_block(), os_block()];
        let (garbler, evaluator) = mem_channels();
        let (garbler, evaluator) = thread::scope(|scope| {
            let garbler = scope.spawn(|| self.recorded(garbler, Role::Garbler, &randomness));
            let evaluator = self.recorded(evaluator, Role::Evaluator, &randomness);
            (garbler.join().unwrap_or_else(|_| Err(panicked())), evaluator)
        });
        let ([control_a, data_a], sent_a) = garbler?;
        let ([control_b, data_b], sent_b) = evaluator?;
        let (control, data) = ([control_a, control_b], [data_a, data_b]);
        Ok(Record { randomness, control, data, sent: [sent_a, sent_b] })
    }

    /// One of them: the bytes that it received on its control and its data channel, and how many it sent on the first.
    fn recorded(
        &self,
        mut channels: Channels,
        role: Role,
        randomness: &[Block; 2],
    ) -> Result<([Received; 2], u64), Fault> {
        let control = channels.control().record();
        let data = Arc::new(Mutex::new(Recording::default()));
        let hook = Arc::clone(&data);
        let channels = channels.on_open(move |_, channel: &mut Channel| {
            *hook.lock().unwrap_or_else(PoisonError::into_inner) = channel.record();
        });
        let mut session = self.open(channels, role, 1, randomness)?;
        self.run(&mut session, role)?;
        let sent = session.channel().counters().total().bytes_sent;
        let data = data.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let received = [control, data].map(|all| Arc::new(all.wire_bytes(Direction::Received)));
        session.close();
        Ok((received, sent))
    }

    fn open(
        &self,
        channels: Channels,
        role: Role,
        threads: usize,
        randomness: &[Block; 2],
    ) -> Result<Session, Fault> {
        let prg = Prg::new(randomness[role as usize]);
        let mut session = Session::open_seeded(channels, role, &self.config, prg)?;
        session.set_threads(threads)?;
        // So that the orders do not depend on how fast the request is.
        session.set_ahead(AHEAD);
        Ok(session)
    }

    fn run(&self, session: &mut Session, role: Role) -> Result<(), Fault> {
        // Shares of inputs first, so that it is known when they are made.
        session.stock(0)?;
        let own = Stream::inputs_of(role);
        let job = ProgramJob::new(&self.program, role, own, Receivers::Both)?;
        let output = session.run(&job.of_ands(self.program.ands))?.output;
        let wrong = || Fault::Internal(wrong("bench threads").message);
        if output == self.expected { Ok(()) } else { Err(wrong()) }
    }

    /// One party alone on `cores`: its time from the end of the set-up to the result.
    fn play(
        &self,
        record: &Record,
        role: Role,
        threads: usize,
        cores: &[usize],
    ) -> Result<Value, Fault> {
        let work = || {
            pin(cores).map_err(|failure| Fault::Internal(failure.message))?;
            let [control, data] =
                [&record.control, &record.data].map(|all| Arc::clone(&all[role as usize]));
            let channels = Channels::new(replay(control), move |_| Ok(replay(Arc::clone(&data))));
            let mut session = self.open(channels, role, threads, &record.randomness)?;
            let (started, cpu) = (Instant::now(), spent_by(ClockId::ProcessCPUTime));
            self.run(&mut session, role)?;
            let seconds = started.elapsed().as_secs_f64();
            let cpu_s = spent_by(ClockId::ProcessCPUTime) - cpu;
            let sent = session.channel().counters().total().bytes_sent;
            session.close();
            if sent != record.sent[role as usize] {
                return Err(Fault::Internal("a party that is played sends something else".into()));
            }
            Ok(json!({ "seconds": seconds, "cpu_s": cpu_s }))
        };
        // A thread of its own, whose cores are those of the threads that it starts.
        let played = thread::scope(|scope| scope.spawn(work).join());
        played.unwrap_or_else(|_| Err(panicked()))
    }
}

fn panicked() -> Fault {
    Fault::Internal("a party has failed".into())
}
