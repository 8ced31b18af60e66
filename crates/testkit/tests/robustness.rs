//! An honest party against a peer that sends anything: it ends with a fault, soon, without a panic
//! and, where cheating is covered, without a wrong output.
//!
//! The frames of one side of an honest session are recorded. Sent again to a party with the same
//! randomness they make the same session; changed from some frame on, they are a peer that was
//! honest until then.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cenote_circuit::Clear;
use cenote_engine::{Backend, Fault, Job, Party, Receivers, Role, Session, SessionConfig};
use cenote_net::{
    Channel, Channels, Direction, Fate, HEADER_LEN, MAX_FRAME, RecordedFrame, Recording, Tag,
};
use cenote_prim::{Block, Prg};
use cenote_testkit::adversary::{Entry, entries, entry};
use cenote_testkit::programs::{Kind, TestProgram};
use cenote_testkit::run::{
    expected, extendable_pair, pair_with_limit, patient_pair, prg_of, run_program,
};
use cenote_testkit::run_pair_over;
use cenote_testkit::stats::in_parallel;
use cenote_testkit::tamper::{REQUESTS, against, record};

const SEED: u128 = 4;
/// How long a starved party waits, and how long any of this may take.
const SILENCE: Duration = Duration::from_millis(150);
const SLOWEST: Duration = Duration::from_secs(30);
/// Mutations of each backend and role.
const MUTATIONS: usize = 70;

fn frame_bytes(tag: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// The frames that `role` sends in an honest session.
fn sent_by(backend: Backend, role: Role) -> Vec<RecordedFrame> {
    let direction = if role == Role::Garbler { Direction::Sent } else { Direction::Received };
    let mut frames = record(backend, SEED).frames();
    frames.retain(|frame| frame.direction == direction);
    frames
}

/// Puts raw bytes on the way to the peer.
fn send_raw(channel: &mut Channel, bytes: Vec<u8>) {
    let mut bytes = Some(bytes);
    channel.tamper(move |_| bytes.take().map_or(Fate::Drop, Fate::Raw));
    channel.send(Tag::new(99, "raw"), &[]).and_then(|()| channel.flush()).expect("room");
}

/// The ending of an honest `role` that receives `bytes` and then nothing.
fn face(backend: Backend, role: Role, bytes: Vec<u8>) -> (usize, usize, Option<Fault>) {
    let (own, mut peer) = pair_with_limit(SILENCE);
    send_raw(&mut peer, bytes);
    let start = Instant::now();
    let ending = against(backend, own, role, SEED);
    assert!(start.elapsed() < SLOWEST, "{} {role}: {:?}", backend.name(), start.elapsed());
    ending
}

struct Dice(Prg);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        (self.0.block().to_u128() % bound.max(1) as u128) as usize
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.0.fill_bytes(&mut bytes);
        bytes
    }

    /// A recorded session that goes wrong from frame `at` on.
    fn mutate(&mut self, frames: &[RecordedFrame], at: usize) -> Vec<u8> {
        let whole = |frames: &[RecordedFrame]| -> Vec<u8> {
            frames.iter().flat_map(|frame| frame_bytes(frame.tag, &frame.payload)).collect()
        };
        let (before, frame, after) = (whole(&frames[..at]), &frames[at], whole(&frames[at + 1..]));
        let len = frame.payload.len();
        let changed = match self.below(9) {
            0 => frame_bytes(frame.tag, &self.bytes(len)),
            1 => frame_bytes(self.below(256) as u8, &frame.payload),
            2 => {
                let other = self.below(2 * len + 2);
                frame_bytes(frame.tag, &self.bytes(other))
            }
            3 => {
                // Garbage to the end.
                let garbage = self.below(3000);
                return [before, self.bytes(garbage)].concat();
            }
            4 => {
                let mut bytes = frame_bytes(frame.tag, &frame.payload);
                bytes.truncate(self.below(HEADER_LEN + len));
                return [before, bytes].concat();
            }
            5 => {
                let mut payload = frame.payload.clone();
                for _ in 0..=self.below(20) {
                    let at = self.below(len);
                    if let Some(byte) = payload.get_mut(at) {
                        *byte ^= 1 << self.below(8);
                    }
                }
                frame_bytes(frame.tag, &payload)
            }
            6 => {
                let extra = self.below(100);
                let extra = frame_bytes(self.below(70) as u8, &self.bytes(extra));
                [extra, frame_bytes(frame.tag, &frame.payload)].concat()
            }
            7 => {
                let other = &frames[self.below(frames.len())];
                frame_bytes(frame.tag, &other.payload)
            }
            _ => {
                let fill = [0, 255][self.below(2)];
                frame_bytes(frame.tag, &vec![fill; len])
            }
        };
        [before, changed, after].concat()
    }
}

#[test]
fn the_recording_itself_is_an_honest_peer() {
    for backend in Backend::ALL {
        for role in [Role::Garbler, Role::Evaluator] {
            let frames = sent_by(backend, role.peer());
            let bytes = frames.iter().flat_map(|f| frame_bytes(f.tag, &f.payload)).collect();
            assert_eq!(
                face(backend, role, bytes),
                (REQUESTS, 0, None),
                "{} {role}",
                backend.name()
            );
        }
    }
}

#[test]
fn any_change_of_any_frame_ends_in_a_fault_or_changes_nothing() {
    let cases: Vec<(Backend, Role, Vec<RecordedFrame>)> = Backend::ALL
        .into_iter()
        .flat_map(|b| [Role::Garbler, Role::Evaluator].map(|r| (b, r, sent_by(b, r.peer()))))
        .collect();
    in_parallel(&cases, |case, (backend, role, frames)| {
        let mut dice = Dice(Prg::new(Block::new(500 + case as u128)));
        let covered = entry(*backend).covers_cheating();
        let mut faults = 0;
        for i in 0..MUTATIONS {
            // Every frame gets its turn; then the dice choose.
            let at = if i < frames.len() { i } else { dice.below(frames.len()) };
            let bytes = dice.mutate(frames, at);
            let (right, wrong, fault) = face(*backend, *role, bytes);
            let what = format!("{} {role}, mutation {i} at frame {at}", backend.name());
            assert!(wrong == 0 || !covered, "{what}: a wrong output");
            assert!(fault.is_some() || right + wrong == REQUESTS, "{what}");
            let ours = matches!(fault, Some(Fault::Internal(_) | Fault::Misuse(_)));
            assert!(!ours, "{what}: {fault:?}");
            faults += usize::from(fault.is_some());
        }
        assert!(faults > MUTATIONS / 3, "{} {role}: only {faults} faults", backend.name());
    });
}

/// A session with one request. Its messages depend on more than its inputs.
struct Scenario {
    config: SessionConfig,
    to: Receivers,
    /// Whether it is about the messages of a data channel.
    beside: bool,
}

/// The backends that cover cheating.
fn covering() -> impl Iterator<Item = &'static Entry> {
    entries().filter(|entry| entry.covers_cheating())
}

/// Keeps a wire, takes it up again and shows it.
struct KeepsOne(Role);

impl Job for KeepsOne {
    type Output = ();

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", "keeps one".into())]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<(), Fault> {
        let own = (self.0 == Role::Garbler).then_some(&[true][..]);
        let wires = party.input(Role::Garbler, 1, own)?;
        party.keep("one", &wires)?;
        let wires = party.kept("one")?;
        party.reveal(Receivers::Both, &wires).map(drop)
    }
}

/// A message of a scenario: the frames that the peer of `to` sends before it, and itself.
struct Message {
    scenario: usize,
    to: Role,
    before: Vec<u8>,
    frame: RecordedFrame,
    /// All that the peer sends on the control channel, where that is another one.
    control: Vec<u8>,
}

impl Scenario {
    /// The scenarios in which every message of the backends that cover cheating occurs.
    fn all() -> Vec<Scenario> {
        let configs: Vec<_> = covering().flat_map(Entry::sessions).collect();
        let of = |to, beside: bool| {
            let all = configs.iter().filter(move |it| !beside || it.backend.data_channels() > 0);
            all.map(move |config| Scenario { config: *config, to, beside })
        };
        let alone = of(Receivers::Both, false).chain(of(Receivers::Garbler, false));
        alone.chain(of(Receivers::Both, true)).collect()
    }

    /// Whether the outputs of this side were right.
    fn run(&self, channels: impl Into<Channels>, role: Role) -> Result<bool, Fault> {
        let program = TestProgram(Kind::Small);
        let inputs = program.inputs(SEED);
        let mut session = Session::open_seeded(channels, role, &self.config, prg_of(role, SEED))?;
        session.keep(usize::from(self.beside), usize::from(self.beside))?;
        let output = run_program(&mut session, &program, &inputs, self.to)?;
        if self.to == Receivers::Both && !self.beside {
            session.run(&KeepsOne(role))?;
        }
        session.close();
        Ok(output == expected(&Clear::eval(&program, &inputs), self.to, role))
    }

    /// The frames of an honest session on the control channel and on a data channel, those of the garbler being
    /// the ones sent.
    fn frames(&self) -> [Vec<RecordedFrame>; 2] {
        let data = Arc::new(Mutex::new(Recording::default()));
        let (control, ends) = if self.beside {
            let kept = Arc::clone(&data);
            let (mut garbler, evaluator) = extendable_pair(SLOWEST, move |role, channel| {
                if role == Role::Garbler {
                    *kept.lock().expect("no panic") = channel.record();
                }
            });
            let control = garbler.control().record();
            (control, run_pair_over((garbler, evaluator), |it, role| self.run(it, role)))
        } else {
            let (mut garbler, evaluator) = patient_pair();
            (garbler.record(), run_pair_over((garbler, evaluator), |it, role| self.run(it, role)))
        };
        assert_eq!(ends, (Ok(true), Ok(true)), "an honest session");
        let data = data.lock().expect("no panic").frames();
        [control.frames(), data]
    }

    /// The end of `role`, which receives what precedes a message, these bytes, and then nothing.
    fn face(&self, message: &Message, bytes: &[u8]) -> Result<bool, Fault> {
        let (own, mut peer) = pair_with_limit(SILENCE);
        send_raw(&mut peer, [&message.before, bytes].concat());
        let start = Instant::now();
        let end = if self.beside {
            let (control, mut other) = pair_with_limit(SILENCE);
            send_raw(&mut other, message.control.clone());
            let mut own = Some(own);
            let one = move |_| own.take().ok_or_else(|| Fault::Misuse("one channel".into()));
            self.run(Channels::new(control, one), message.to)
        } else {
            self.run(own, message.to)
        };
        assert!(start.elapsed() < SLOWEST, "tag {}: {:?}", message.frame.tag, start.elapsed());
        end
    }
}

/// Each message of the scenarios once, but for hellos, whose length is free.
fn messages(scenarios: &[Scenario]) -> Vec<Message> {
    let mut found: Vec<Message> = Vec::new();
    for (scenario, of) in scenarios.iter().enumerate() {
        let [control, data] = of.frames();
        let frames = if of.beside { &data } else { &control };
        for (to, direction) in
            [(Role::Garbler, Direction::Received), (Role::Evaluator, Direction::Sent)]
        {
            let mut before = Vec::new();
            let control = control.iter().filter(|frame| of.beside && frame.direction == direction);
            let control: Vec<u8> =
                control.flat_map(|frame| frame_bytes(frame.tag, &frame.payload)).collect();
            for frame in frames.iter().filter(|frame| frame.direction == direction) {
                let known = |other: &Message| {
                    let backend = scenarios[other.scenario].config.backend;
                    (backend, other.to, other.frame.tag) == (of.config.backend, to, frame.tag)
                };
                if frame.tag != Tag::HELLO.id && !found.iter().any(known) {
                    let (before, frame) = (before.clone(), frame.clone());
                    let control = control.clone();
                    found.push(Message { scenario, to, before, frame, control });
                }
                before.extend(frame_bytes(frame.tag, &frame.payload));
            }
        }
    }
    found
}

#[test]
fn the_scenes_have_every_message() {
    let scenarios = Scenario::all();
    let mut found: Vec<u8> = messages(&scenarios).iter().map(|message| message.frame.tag).collect();
    found.sort_unstable();
    for tag in covering().flat_map(|entry| entry.backend.tags()) {
        assert!(found.binary_search(&tag.id).is_ok(), "{} is never sent", tag.name);
    }
}

/// Refused by its header, however long it claims to be, without waiting for what it announces or
/// making room for it.
#[test]
fn a_message_of_another_length_is_refused_by_its_header() {
    let scenarios = Scenario::all();
    in_parallel(&messages(&scenarios), |_, message| {
        let (tag, len) = (message.frame.tag, message.frame.payload.len());
        for other in [len - 1, len + 1, MAX_FRAME] {
            let mut header = frame_bytes(tag, &[]);
            header[1..].copy_from_slice(&(other as u32).to_le_bytes());
            let end = scenarios[message.scenario].face(message, &header);
            let what = format!("tag {tag} to the {}, {other} for {len} bytes", message.to);
            assert!(matches!(end, Err(Fault::Misbehaved(_))), "{what}: {end:?}");
        }
    });
}

/// Each message replaced by as many bytes of no meaning, or cut off in the middle.
#[test]
fn garbage_of_the_right_length_ends_in_a_fault() {
    let scenarios = Scenario::all();
    in_parallel(&messages(&scenarios), |case, message| {
        let mut dice = Dice(Prg::new(Block::new(700 + case as u128)));
        let RecordedFrame { tag, payload, .. } = &message.frame;
        let whole = frame_bytes(*tag, payload);
        let garbage = frame_bytes(*tag, &dice.bytes(payload.len()));
        for bytes in [garbage, whole[..whole.len() / 2].to_vec()] {
            let end = scenarios[message.scenario].face(message, &bytes);
            let faulty = matches!(end, Err(Fault::Misbehaved(_) | Fault::Transport(_)));
            assert!(faulty, "tag {tag} to the {}: {end:?}", message.to);
        }
    });
}

#[test]
fn noise_from_the_first_byte() {
    let mut dice = Dice(Prg::new(Block::new(9)));
    for backend in Backend::ALL {
        for role in [Role::Garbler, Role::Evaluator] {
            for len in [0, 1, 4, 5, 6, 100, 5000] {
                let (right, wrong, fault) = face(backend, role, dice.bytes(len));
                assert_eq!((right, wrong), (0, 0));
                assert!(matches!(fault, Some(Fault::Misbehaved(_) | Fault::Transport(_))));
            }
        }
    }
}
