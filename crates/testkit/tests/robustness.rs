//! An honest party against a peer that sends anything: it ends with a fault, soon, without a panic
//! and, where cheating is covered, without a wrong output.
//!
//! The frames of one side of an honest session are recorded. Sent again to a party with the same
//! randomness they make the same session; changed from some frame on, they are a peer that was
//! honest until then.

use std::time::{Duration, Instant};

use cenote_engine::{Backend, Fault, Role};
use cenote_net::{Channel, Direction, Fate, HEADER_LEN, RecordedFrame, Tag};
use cenote_prim::{Block, Prg};
use cenote_testkit::run::pair_with_limit;
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
        let mut faults = 0;
        for i in 0..MUTATIONS {
            // Every frame gets its turn; then the dice choose.
            let at = if i < frames.len() { i } else { dice.below(frames.len()) };
            let bytes = dice.mutate(frames, at);
            let (right, wrong, fault) = face(*backend, *role, bytes);
            let what = format!("{} {role}, mutation {i} at frame {at}", backend.name());
            assert!(wrong == 0 || *backend != Backend::Wrk, "{what}: a wrong output");
            assert!(fault.is_some() || right + wrong == REQUESTS, "{what}");
            let ours = matches!(fault, Some(Fault::Internal(_) | Fault::Misuse(_)));
            assert!(!ours, "{what}: {fault:?}");
            faults += usize::from(fault.is_some());
        }
        assert!(faults > MUTATIONS / 3, "{} {role}: only {faults} faults", backend.name());
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
