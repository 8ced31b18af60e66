//! What the tests must know of each backend: an [`Entry`] in a file of its own, with its rows of the adversary
//! table, its byte formulas and what else the tests of all backends take from it.
//!
//! The adversary table, as data: every message tampered with in every way, every check with the
//! cheat it exists for, and what the honest side must make of it. `tests/adversary.rs` runs every row and fails
//! when a message tag or a check of the source has none. Whatever the row, the honest side never gives a wrong
//! output against a protocol that covers cheating, and the cheater sees the one uniform abort frame.

pub mod bytes;
mod jimu;
mod plain;
mod wrk;
mod yao;

use cenote_engine::{Adversary, Backend, Role, SessionConfig};
use cenote_net::{RecordedFrame, Tag};

pub use jimu::{CHEATS as JIMU, JimuRow};
pub use wrk::{CheatRow, MATTERS, cheats};

use self::bytes::{Bytes, Case};
use crate::run::{smallest, with_option};

/// How a session must end at the honest side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum End {
    /// By this check; nothing is output after the cheat.
    Caught(&'static str),
    /// By any fault: the code behind a changed frame may notice first. Nothing is output.
    Noticed,
    /// By a fault, or with the right output: the change hits a place that is read by chance only.
    NoticedOrRight,
    /// By this check with this probability, independent of the honest inputs; else with the right output.
    Chance(&'static str, f64),
    /// By this check or with the right output.
    CaughtOrRight(&'static str),
    /// Without a fault and with the right output: the protocol makes up for what was done.
    Right,
    /// Refused on both sides by name, as any difference is.
    Refused,
    /// No promise: the backend does not cover cheating. It still ends, without a panic.
    Unprotected,
}

/// An option and its value.
pub type Variant = (&'static str, &'static str);

/// The smallest session of a backend, or of one of its variants.
fn smallest_of(backend: Backend, variant: Option<Variant>) -> SessionConfig {
    let config = smallest(backend);
    variant.map_or(config, |(option, value)| with_option(config, option, value))
}

/// One message of one backend. Dropped, doubled and swapped frames have the same end in every row:
/// [`End::Noticed`].
#[derive(Clone, Copy, Debug)]
pub struct FrameRow {
    /// The backend.
    pub backend: Backend,
    /// The [variant](Entry::variants) of its sessions, if it is not sent in the usual ones.
    pub variant: Option<Variant>,
    /// Whether it is one of the first data channel, in a session that can open any.
    pub beside: bool,
    /// The message.
    pub tag: Tag,
    /// Who sends it, changed.
    pub from: Role,
    /// Which of the messages with this tag, counted from 0.
    pub index: usize,
    /// One bit flipped: the first, the last, others.
    pub flip: End,
    /// The last byte lost.
    pub cut: End,
    /// Sent again in place of the next with its tag; none where a session has no next one.
    pub replay: Option<End>,
}

impl FrameRow {
    /// The sessions that the message is of.
    #[must_use]
    pub fn config(&self) -> SessionConfig {
        smallest_of(self.backend, self.variant)
    }
}

/// Bytes in place of a frame.
#[derive(Clone, Copy, Debug)]
pub struct RawRow {
    /// A description of the bytes.
    pub what: &'static str,
    /// The bytes.
    pub bytes: &'static [u8],
    /// The display form of the honest side's fault starts like this.
    pub fault: &'static str,
}

const A: Role = Role::Garbler;
const B: Role = Role::Evaluator;

const fn frame(backend: Backend, tag: Tag, from: Role, flip: End, replay: Option<End>) -> FrameRow {
    let cut = if tag.id == Tag::HELLO.id {
        End::Caught("handshake: hello cut short")
    } else {
        End::Caught("frame: wrong length")
    };
    FrameRow { backend, variant: None, beside: false, tag, from, index: 0, flip, cut, replay }
}

const COLUMNS: End = End::Caught(cenote_ot::softspoken::COLUMN_CHECK);
const COIN: End = End::Caught("coin.opening");

/// The entry of a backend in the tests of all.
#[derive(Debug)]
pub struct Entry {
    /// The backend.
    pub backend: Backend,
    /// The conduct of the peer that it promises to withstand. Sessions must claim the same.
    pub adversary: Adversary,
    /// Options with which a session sends messages that the usual ones do not.
    pub variants: &'static [Variant],
    /// Every message of its sessions, from each side that sends it.
    pub frames: &'static [FrameRow],
    /// The messages of its own at whose sending a session is cancelled: one for each phase.
    pub milestones: &'static [(Tag, Role)],
    /// Where cheating is not covered: messages whose last bit pads their last byte, and the checks that
    /// refuse it when it is set.
    pub stray: &'static [(Tag, Role, &'static str)],
    /// First bytes of the digests of an honest session with fixed randomness: garbler's frames, evaluator's
    /// frames. They change when a byte on the wire does, and then
    /// [`PROTOCOL_VERSION`](cenote_net::PROTOCOL_VERSION) must as well, once a release is out.
    pub wire: [&'static str; 2],
    /// Sessions whose bytes are compared with the formula, message by message.
    pub cases: &'static [Case],
    /// The formula: bytes of every message of a case but hellos; a message without any has no place. What
    /// coins decide comes from the frames.
    pub bytes: fn(&Case, &[RecordedFrame]) -> Bytes,
    /// Sessions whose traffic is compared with their plans. Without a pool, batches are for the program.
    pub plans: &'static [&'static str],
    /// Whether its ANDs are so slow, and its transcripts so long, that tests make do with few.
    pub few_ands: bool,
    /// Pairs of messages that a listener can XOR, such as masked bits with an opened share of their masks:
    /// the sums must be balanced. None where nothing is hidden, or a test of its own looks at all messages.
    pub masked: &'static [[(Tag, Role); 2]],
}

impl Entry {
    /// Every kind of session: the smallest, and that of each variant.
    pub fn sessions(&self) -> impl Iterator<Item = SessionConfig> + use<> {
        let (backend, variants) = (self.backend, self.variants);
        let all = std::iter::once(None).chain(variants.iter().copied().map(Some));
        all.map(move |variant| smallest_of(backend, variant))
    }

    /// Whether a peer that does anything gets no wrong output accepted.
    #[must_use]
    pub fn covers_cheating(&self) -> bool {
        self.adversary == Adversary::Malicious
    }
}

/// Hands the names of all backends to the macro `then`, each also the name of a file of the adversary table:
/// one place to name a backend in for all tests that are made for each.
#[macro_export]
macro_rules! for_each_backend {
    ($then:ident) => {
        $then! {
            plain
            yao
            wrk
            jimu
        }
    };
}

macro_rules! entries {
    ($($file:ident)*) => {
        /// The entry of each backend.
        const ENTRIES: &[Entry] = &[$($file::ENTRY),*];
    };
}

for_each_backend!(entries);

/// The entry of `backend`.
///
/// # Panics
/// If it has none.
#[must_use]
pub fn entry(backend: Backend) -> &'static Entry {
    let entry = ENTRIES.iter().find(|entry| entry.backend == backend);
    entry.unwrap_or_else(|| panic!("{} has no entry in the testkit", backend.name()))
}

/// The entries of all backends.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    Backend::ALL.into_iter().map(entry)
}

/// Every message that a session of any backend sends, from each side that sends it.
pub fn frames() -> impl Iterator<Item = &'static FrameRow> {
    entries().flat_map(|entry| entry.frames)
}

/// The messages of each backend whose last bit pads their last byte, where cheating is not covered.
pub fn stray() -> impl Iterator<Item = (Backend, (Tag, Role, &'static str))> {
    entries().flat_map(|entry| entry.stray.iter().map(|stray| (entry.backend, *stray)))
}

/// Bytes that are no frame of the protocol, in place of the first frame after the handshakes.
pub const RAW: &[RawRow] = &[
    RawRow { what: "abort", bytes: &[0, 0, 0, 0, 0], fault: "the peer aborted" },
    RawRow { what: "bye", bytes: &[1, 0, 0, 0, 0], fault: "connection: the peer ended" },
    RawRow {
        what: "abort with a payload",
        bytes: &[0, 1, 0, 0, 0, 7],
        fault: "the peer misbehaved: frame: control frame with a payload",
    },
    RawRow {
        what: "bye with a payload",
        bytes: &[1, 9, 0, 0, 0, 7],
        fault: "the peer misbehaved: frame: control frame with a payload",
    },
    RawRow {
        what: "a frame over the limit",
        bytes: &[44, 255, 255, 255, 255],
        fault: "the peer misbehaved: frame: length over the limit",
    },
    RawRow {
        what: "a tag that nobody has",
        bytes: &[255, 0, 0, 0, 0],
        fault: "the peer misbehaved: frame: wrong tag",
    },
    RawRow {
        what: "a hello out of place",
        bytes: &[2, 0, 0, 0, 0],
        fault: "the peer misbehaved: frame: wrong tag",
    },
];

/// A check whose cheat is made by a test of its own.
#[derive(Clone, Copy, Debug)]
pub struct Elsewhere {
    /// The check's id.
    pub check: &'static str,
    /// The file of the test, seen from the root of the repository.
    pub file: &'static str,
    /// The test's name.
    pub test: &'static str,
}

const fn elsewhere(check: &'static str, file: &'static str, test: &'static str) -> Elsewhere {
    Elsewhere { check, file, test }
}

const fn in_hello(check: &'static str) -> Elsewhere {
    elsewhere(check, "crates/net/tests/handshake.rs", "every_malformed_hello_meets_its_check")
}

/// Checks of the source that have their cheats elsewhere than in this table, or there as well.
pub const ELSEWHERE: &[Elsewhere] = &[
    elsewhere(
        "wrk.kept",
        "crates/testkit/tests/adversary.rs",
        "a_cheater_that_changes_a_kept_wire_is_caught",
    ),
    elsewhere(
        "wrk.kept.format",
        "crates/engine/src/backends/wrk/resting.rs",
        "stray_bits_are_refused",
    ),
    elsewhere("ot.pprf", "crates/ot/src/pprf.rs", "tags_digest_lengths_and_sessions_are_checked"),
    // No length of it passes the frame check.
    elsewhere("ot.choices", "crates/ot/src/rot.rs", "stray_choice_bits_are_refused"),
    elsewhere(
        "ot.silent.consistency",
        "crates/ot/src/silent.rs",
        "any_changed_byte_is_caught_and_ends_the_session",
    ),
    elsewhere("ot.silent.choices", "crates/ot/src/silent.rs", "stray_choice_bits_end_the_session"),
    elsewhere("net.route", "crates/net/src/route.rs", "another_hello_is_no_route"),
    // A backend against cheaters covers it: nobody opens another place than the circuit has.
    elsewhere(
        "ram.place",
        "crates/circuit/src/memory/tests/root.rs",
        "places_that_cannot_be_end_the_memory",
    ),
    elsewhere(
        "service.message",
        "crates/service/src/peer/messages.rs",
        "what_is_sent_is_read_and_nothing_else",
    ),
    in_hello("handshake: hello cut short"),
    in_hello("handshake: hello too long"),
    in_hello("handshake: bytes after the end"),
    in_hello("handshake: no such role"),
    in_hello("handshake: bad name"),
    in_hello("handshake: too many fields"),
    in_hello("handshake: value too long"),
    in_hello("handshake: field named twice"),
    elsewhere(
        "handshake: our own nonce came back",
        "crates/net/tests/handshake.rs",
        "a_reflected_hello_is_misbehaviour",
    ),
    elsewhere(
        "handshake: fields in another order",
        "crates/net/tests/handshake.rs",
        "fields_in_another_order_are_misbehaviour",
    ),
    elsewhere(
        "supply.order",
        "crates/engine/src/backends/wrk/refiller.rs",
        "a_malformed_order_is_refused",
    ),
    elsewhere(
        "supply.room",
        "crates/engine/src/backends/wrk/refiller.rs",
        "orders_without_end_are_refused",
    ),
    elsewhere(
        "jimu.order",
        "crates/engine/src/backends/jimu/tests/beside.rs",
        "a_malformed_order_is_refused",
    ),
    elsewhere(
        "epoch.state",
        "crates/testkit/tests/epoch.rs",
        "malformed_states_and_other_snapshots_are_refused",
    ),
    elsewhere(
        "pair.commitment",
        "crates/net/src/pairing/tests.rs",
        "an_opening_of_anything_else_is_misbehaviour",
    ),
    elsewhere("pace.range", "crates/engine/src/parts/pace.rs", "a_pace_out_of_range_is_refused"),
    elsewhere("pace.train", "crates/engine/src/parts/pace.rs", "a_train_out_of_order_is_refused"),
    elsewhere("frame: wrong tag", "crates/net/tests/channel.rs", WRONG_FRAMES),
    elsewhere("frame: wrong length", "crates/net/tests/channel.rs", WRONG_FRAMES),
    elsewhere(
        "frame: length over the limit",
        "crates/net/tests/channel.rs",
        "a_hostile_length_is_refused_before_memory_is_allocated",
    ),
    elsewhere(
        "frame: control frame with a payload",
        "crates/net/tests/alive.rs",
        "a_keep_alive_has_no_payload",
    ),
    elsewhere(
        "shape: not a shaped line on the other side",
        "crates/net/tests/shape.rs",
        "one_shaped_side_is_found_out",
    ),
    elsewhere(
        "tls: no welcome",
        "crates/net/src/tls/tests.rs",
        "a_server_that_says_something_else_than_welcome_misbehaves",
    ),
];

const WRONG_FRAMES: &str = "wrong_tag_and_wrong_length_are_misbehaviour";
