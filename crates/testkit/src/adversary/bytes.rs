//! Bytes of sessions: formulas for what each message has, beside what was recorded.

use std::collections::BTreeMap;

use cenote_circuit::{Counter, Program};
use cenote_engine::{Receivers, Role, SessionConfig, parts, tags};
use cenote_net::{Direction, RecordedFrame, Tag};
use cenote_ot::{Choice, tags as ot};

use crate::programs::{Kind, MUX_WIDTHS, TestProgram};
use crate::run::config;

/// Payload bytes by tag and sender.
pub type Bytes = BTreeMap<(&'static str, &'static str), usize>;

/// A session with one request, whose bytes a formula tells.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The backend and its options.
    pub config: &'static str,
    /// Without a pool: for about how many ANDs at a time there are batches.
    pub at_a_time: u64,
    /// What is computed.
    pub program: TestProgram,
    /// Who receives the outputs.
    pub to: Receivers,
}

impl Case {
    pub(super) const fn new(config: &'static str, kind: Kind, to: Receivers) -> Case {
        Case { config, at_a_time: 1, program: TestProgram(kind), to }
    }

    /// What both sides agree on.
    #[must_use]
    pub fn session(&self) -> SessionConfig {
        config(self.config).for_ands(self.at_a_time)
    }

    pub(super) fn work(&self) -> Work {
        let signature = self.program.signature();
        let ands = Counter::count(&self.program).and as usize;
        let muxes = match self.program.0 {
            Kind::Muxes => MUX_WIDTHS.to_vec(),
            _ => Vec::new(),
        };
        Work {
            inputs: [0, 1].map(|owner| signature.inputs[owner].bits),
            ands: ands - muxes.iter().sum::<usize>(),
            muxes,
            outputs: signature.outputs.iter().map(|port| port.bits).sum(),
        }
    }
}

/// What a program asks of a backend.
pub(super) struct Work {
    /// Bits of the garbler's input and of the evaluator's.
    pub(super) inputs: [usize; 2],
    /// ANDs, those of multiplexers aside.
    pub(super) ands: usize,
    /// Widths of multiplexers.
    pub(super) muxes: Vec<usize>,
    /// Bits of all outputs.
    pub(super) outputs: usize,
}

/// Payload bytes of each message, hellos aside. A message without any has its place here as well.
#[must_use]
pub fn recorded(frames: &[RecordedFrame]) -> Bytes {
    let mut bytes = Bytes::new();
    for frame in frames {
        let from = match frame.direction {
            Direction::Sent => Role::Garbler,
            Direction::Received => Role::Evaluator,
        };
        let mut known = tags::all().chain(ot::ALL);
        if let Some(tag) = known.find(|tag| tag.id == frame.tag) {
            *bytes.entry((tag.name, from.name())).or_default() += frame.payload.len();
        }
    }
    bytes
}

/// ANDs of a full chunk.
pub(super) const CHUNK: usize = 4 << 10;

/// The sizes of chunks of `ands` ANDs that are independent of each other.
pub(super) fn chunks(ands: usize) -> impl Iterator<Item = usize> {
    (0..ands).step_by(CHUNK).map(move |first| CHUNK.min(ands - first))
}

/// Bytes that are added up, step by step.
#[derive(Default)]
pub(super) struct Formula(pub(super) Bytes);

impl Formula {
    pub(super) fn add(&mut self, tag: Tag, from: Role, bytes: usize) {
        if bytes > 0 {
            *self.0.entry((tag.name, from.name())).or_default() += bytes;
        }
    }

    pub(super) fn both(&mut self, tag: Tag, bytes: usize) {
        self.add(tag, Role::Garbler, bytes);
        self.add(tag, Role::Evaluator, bytes);
    }

    /// A set-up of correlated OT with `sender` the one that has Delta.
    pub(super) fn setup(&mut self, choice: Choice, sender: Role) {
        self.bases(sender);
        self.trees(choice, sender);
    }

    /// Base OTs, of which `sender` chooses.
    pub(super) fn bases(&mut self, sender: Role) {
        self.add(ot::BASE_POINTS, sender, 128 * 2 * 32);
        self.add(ot::BASE_POINT, sender.peer(), 32);
    }

    /// What follows the base OTs.
    pub(super) fn trees(&mut self, choice: Choice, sender: Role) {
        let params = match choice {
            Choice::SoftSpoken(params) => params,
            Choice::Silent(_) => {
                // The first COTs come from SoftSpokenOT: 148480 of the secret, 20480 of the levels, 128 of the mask.
                let wide = Choice::softspoken(8).expect("allowed");
                self.trees(wide, sender);
                return self.cots(wide, sender.peer(), 148_480 + 20_480 + 128);
            }
        };
        let (trees, depth) = (params.trees(), params.digit_bits());
        self.add(ot::TREES, sender.peer(), trees * (32 * depth + 32) + 32);
    }

    /// An extension of silent OT, in both directions: 20480 levels.
    pub(super) fn extension(&mut self) {
        self.both(ot::SILENT_CHOICES, 20_480 / 8);
        self.both(ot::SILENT_LEVELS, 16 * 20_480);
        self.both(ot::SILENT_FOLD, 32);
        self.both(ot::SILENT_DIGEST, 32);
    }

    /// `n` COTs from `receiver`, in chunks; of silent OT its extensions are counted by themselves.
    pub(super) fn cots(&mut self, choice: Choice, receiver: Role, n: usize) {
        let Choice::SoftSpoken(params) = choice else { return };
        let mut left = n.next_multiple_of(128);
        while left > 0 {
            let chunk = left.min(params.chunk());
            let blocks = chunk / 128 + 1;
            self.add(ot::CHUNK, receiver, 16 * (params.trees() - 1) * blocks + 16 * 129);
            left -= chunk;
        }
    }

    pub(super) fn toss(&mut self) {
        self.add(parts::tags::COIN_COMMIT, Role::Garbler, 32);
        self.add(parts::tags::COIN_REPLY, Role::Evaluator, 16);
        self.add(parts::tags::COIN_OPEN, Role::Garbler, 48);
    }

    /// A toss with a test of equality: points and tags beside.
    pub(super) fn toss_equal(&mut self) {
        self.toss();
        self.add(parts::tags::COIN_COMMIT, Role::Garbler, 32);
        self.add(parts::tags::COIN_REPLY, Role::Evaluator, 32 + 32);
        self.add(parts::tags::COIN_OPEN, Role::Garbler, 32);
    }

    pub(super) fn total(&self) -> usize {
        self.0.values().sum()
    }
}
