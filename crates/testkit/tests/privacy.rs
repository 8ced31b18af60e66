//! The property that an output test cannot see: that no message carries a private value in the
//! clear.
//!
//! The plain backend goes through the same tests, which must find its inputs.

use std::collections::BTreeMap;

use cenote_circuit::Clear;
use cenote_engine::backends::wrk;
use cenote_engine::parts;
use cenote_engine::{Adversary, Backend, PoolChoice, Receivers, Role, Session, tags};
use cenote_net::{Direction, RecordedFrame, Recording, Tag};
use cenote_prim::bits;
use cenote_testkit::adversary::{entries, entry};
use cenote_testkit::canary;
use cenote_testkit::programs::{Kind, TestProgram};
use cenote_testkit::run::{
    adversary_of, patient_pair, prg_of, program_job, roomy, run_program, sessions_over, smallest,
    with_pool,
};
use cenote_testkit::run_pair_over;

/// The backends that hide anything.
fn hiding() -> impl Iterator<Item = Backend> {
    entries().filter(|entry| entry.adversary != Adversary::None).map(|entry| entry.backend)
}

#[test]
fn entries_say_what_sessions_promise() {
    for entry in entries() {
        assert_eq!(adversary_of(entry.backend), entry.adversary, "{}", entry.backend.name());
    }
}

/// Programs whose inputs and outputs have 128 bits.
fn canaries_of(backend: Backend) -> TestProgram {
    TestProgram(if entry(backend).few_ands { Kind::Mixed } else { Kind::Aes })
}

/// Records, at the garbler, a session that runs `program` on each of the inputs.
fn record(
    backend: Backend,
    program: TestProgram,
    requests: &[Vec<Vec<bool>>],
    to: Receivers,
    seed: u128,
) -> Recording {
    let config = if program == TestProgram(Kind::Aes) { roomy(backend) } else { smallest(backend) };
    let (mut garbler, evaluator) = patient_pair();
    let recording = garbler.record();
    let ends = run_pair_over((garbler, evaluator), |channel, role| {
        let mut session = Session::open_seeded(channel, role, &config, prg_of(role, seed))?;
        for inputs in requests {
            session.run(&program_job(&program, role, inputs, to)?)?;
        }
        session.close();
        Ok::<_, cenote_engine::Fault>(())
    });
    assert_eq!(ends, (Ok(()), Ok(())));
    recording
}

#[test]
fn no_canary_in_either_transcript() {
    for to in Receivers::ALL {
        for backend in hiding() {
            let program = canaries_of(backend);
            let inputs = program.inputs(900 + to as u128);
            let output = Clear::eval(&program, &inputs).concat();
            let canaries = [&inputs[0], &inputs[1], &output];
            let recording = record(backend, program, std::slice::from_ref(&inputs), to, 1);
            for direction in [Direction::Sent, Direction::Received] {
                let bytes = recording.wire_bytes(direction);
                assert!(bytes.len() > 5_000, "the whole session was recorded");
                for (i, canary) in canaries.iter().enumerate() {
                    let found = canary::occurs(canary, &bytes);
                    assert!(!found, "{} {to:?} {direction:?}: canary {i}", backend.name());
                }
            }
        }
        // The same search finds what the plain backend sends.
        let program = canaries_of(Backend::Plain);
        let inputs = program.inputs(900 + to as u128);
        let recording = record(Backend::Plain, program, std::slice::from_ref(&inputs), to, 1);
        let found =
            |canary: &[bool], direction| canary::occurs(canary, &recording.wire_bytes(direction));
        assert!(found(&inputs[0], Direction::Sent) && found(&inputs[1], Direction::Received));
    }
}

/// Requests of a session, and sessions: the samples of a frequency.
const REQUESTS: usize = 48;
const SESSIONS: u128 = 8;

/// How often a payload bit was one, and how often there was such a bit.
#[derive(Clone, Copy, Default)]
struct Frequency {
    ones: usize,
    samples: usize,
}

/// Frequencies by what was counted and position.
type Ones = BTreeMap<(String, usize), Frequency>;

/// Bits that are counted of a message; longer ones repeat themselves.
const COUNTED: usize = 400;

fn count(ones: &mut Ones, name: &str, payload: &[u8]) {
    count_at(ones, name, payload, (0..(8 * payload.len()).min(COUNTED)).map(|i| (i, i)));
}

/// Counts bits, each with the position under which it is counted.
fn count_at(
    ones: &mut Ones,
    name: &str,
    payload: &[u8],
    places: impl Iterator<Item = (usize, usize)>,
) {
    for (bit, position) in places {
        let frequency = ones.entry((name.to_owned(), position)).or_default();
        frequency.ones += usize::from(bits::get(payload, bit));
        frequency.samples += 1;
    }
}

fn name_of(frame: &RecordedFrame) -> String {
    let all = tags::all().chain(cenote_ot::tags::ALL);
    let tag = all.clone().find(|tag| tag.id == frame.tag);
    format!("{} {:?}", tag.map_or("?", |tag| tag.name), frame.direction)
}

/// The frames of one request: from its hello on.
fn per_request(recording: &Recording) -> Vec<Vec<RecordedFrame>> {
    let mut requests = Vec::new();
    for frame in recording.frames() {
        if frame.tag == Tag::HELLO.id && frame.direction == Direction::Sent {
            requests.push(Vec::new());
        }
        if let Some(last) = requests.last_mut() {
            last.push(frame);
        }
    }
    // The first is the handshake and set-up of the session.
    requests.split_off(1)
}

/// XORs of messages that a listener can make: of the masked inputs with the opened shares
/// of their masks, of the masked values with the opened shares of the output masks.
fn combinations(frames: &[RecordedFrame], masked: &[[(Tag, Role); 2]]) -> Vec<(String, Vec<u8>)> {
    let first = |(tag, from): (Tag, Role)| {
        let by = if from == Role::Garbler { Direction::Sent } else { Direction::Received };
        let mut all = frames.iter().filter(|f| f.tag == tag.id && f.direction == by);
        all.next().map(|frame| &frame.payload[..2])
    };
    let made = masked.iter().filter_map(|&[a, b]| {
        let (x, y) = (first(a)?, first(b)?);
        let name = format!("{} of the {} xor {} of the {}", a.0.name, a.1, b.0.name, b.1);
        Some((name, x.iter().zip(y).map(|(x, y)| x ^ y).collect()))
    });
    made.collect()
}

/// Frequencies over many sessions with the inputs fixed to `bit` on both sides; the output goes to
/// one receiver.
fn frequencies(backend: Backend, bit: bool, to: Receivers) -> Ones {
    let program = TestProgram(Kind::Products);
    let requests = vec![vec![vec![bit; 16]; 2]; REQUESTS];
    let mut ones = Ones::new();
    for seed in 0..SESSIONS {
        let recording = record(backend, program, &requests, to, 100 + seed);
        for frames in per_request(&recording) {
            let mut seen: Vec<(u8, Direction)> = Vec::new();
            for frame in &frames {
                // One of each kind, of the kinds that every request has.
                let kind = (frame.tag, frame.direction);
                let online = frame.tag >= wrk::tags::BEAVER_OPEN.id;
                let online = online || frame.tag == cenote_ot::tags::CHOICES.id;
                if online && !seen.contains(&kind) {
                    seen.push(kind);
                    count(&mut ones, &name_of(frame), &frame.payload);
                }
            }
            for (name, combined) in combinations(&frames, entry(backend).masked) {
                count(&mut ones, &name, &combined);
            }
        }
    }
    ones
}

/// Positions that lean to one side by more than six standard deviations, which for fewer than 37
/// samples is never.
fn leaning(ones: &Ones) -> Vec<(String, usize)> {
    let off = |Frequency { ones, samples }: &Frequency| {
        let margin = 6.0 * (*samples as f64 / 4.0).sqrt();
        (*ones as f64 - *samples as f64 / 2.0).abs() > margin
    };
    ones.iter().filter(|(_, count)| off(count)).map(|(place, _)| place.clone()).collect()
}

#[test]
fn every_bit_of_every_message_is_balanced_whatever_the_inputs() {
    // privacy_jimu.rs looks at the messages of `jimu`.
    for entry in entries().filter(|entry| !entry.masked.is_empty()) {
        let backend = entry.backend;
        for to in [Receivers::Garbler, Receivers::Evaluator] {
            for bit in [false, true] {
                let counted = frequencies(backend, bit, to);
                let messages: Vec<&String> = counted.keys().map(|(name, _)| name).collect();
                assert!(messages.len() > 100, "messages were recorded: {messages:?}");
                let leaning = leaning(&counted);
                assert!(leaning.is_empty(), "{} {bit} {to:?}: {leaning:?}", backend.name());
            }
        }
    }
}

#[test]
fn the_balance_test_finds_inputs_in_the_clear() {
    let leaning = leaning(&frequencies(Backend::Plain, true, Receivers::Garbler));
    let of = |role: Role| {
        let name = if role == Role::Garbler { "plain.input Sent" } else { "plain.input Received" };
        leaning.iter().filter(|(place, _)| place == name).count()
    };
    assert_eq!((of(Role::Garbler), of(Role::Evaluator)), (16, 16));
}

/// The parts of a frame of `wrk` that are drawn for it alone, in blocks.
fn drawn_for_it_alone(frame: &RecordedFrame) -> Vec<&[u8]> {
    let payload = &frame.payload[..];
    let parts = match frame.tag {
        tag if tag == parts::tags::COIN_COMMIT.id => payload,
        tag if tag == parts::tags::COIN_REPLY.id => payload,
        tag if tag == parts::tags::COIN_OPEN.id => payload,
        tag if tag == wrk::tags::INPUT_LABELS.id => payload,
        tag if tag == wrk::tags::REPORT.id => &payload[payload.len() - 16..],
        _ => &[],
    };
    parts.chunks(16).collect()
}

/// A coin, nonce, point, tag, label or seed that comes twice, in a session or in two, was no secret the second
/// time: who knows it can choose its own coin by it, read a commitment, unmask Delta, or forge D_M.
#[test]
fn what_is_drawn_for_one_message_comes_in_no_other() {
    let mut seen = BTreeMap::new();
    for seed in 1..3 {
        let (mut garbler, evaluator) = patient_pair();
        let recording = garbler.record();
        let config = with_pool(Backend::Wrk, PoolChoice::Kept(5_000));
        let program = TestProgram(Kind::Ands(300));
        let ends = sessions_over((garbler, evaluator), &config, seed, |session, _| {
            (0..3).try_for_each(|i| {
                run_program(session, &program, &program.inputs(i), Receivers::Both).map(drop)
            })
        });
        assert_eq!(ends, (Ok(()), Ok(())));
        for frame in recording.frames() {
            for block in drawn_for_it_alone(&frame) {
                let other = seen.insert(block.to_vec(), (seed, name_of(&frame)));
                assert_eq!(other, None, "again in {}", name_of(&frame));
            }
        }
    }
    let count = |tag: Tag| {
        let of = |(_, name): &&(u128, String)| name.starts_with(tag.name);
        seen.values().filter(of).count()
    };
    let counts = [
        parts::tags::COIN_COMMIT,
        parts::tags::COIN_REPLY,
        parts::tags::COIN_OPEN,
        wrk::tags::INPUT_LABELS,
        wrk::tags::REPORT,
    ];
    // Two sessions with a toss for the set-up and, with points and tags, of three batches; three requests of 128 inputs.
    assert_eq!(counts.map(count), [28, 32, 36, 768, 6]);
}
