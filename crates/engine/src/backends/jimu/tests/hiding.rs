//! The secrets that the supplies keep to themselves: searched for in what travels, and held against
//! all that the evaluator sees of a wire.

use std::collections::HashSet;

use bytemuck::cast_slice;
use cenote_circuit::Gates;
use cenote_net::{Channel, Direction, Fault, Recording, Role};
use cenote_prim::{Block, Prg, SessionId};

use super::{channels, params, supplies};
use crate::backends::jimu::depot::Supply;
use crate::backends::jimu::evaluator::InputWire;
use crate::backends::jimu::ihash::{HashReceiver, LANES, Label, Message};
use crate::backends::jimu::input_check::none;
use crate::backends::jimu::tags;
use crate::backends::jimu::{JimuSession, Side};
use crate::backends::{Live, Protocol};
use crate::options::Rho;
use crate::party::{Party, Receivers};

/// Windows of 64 bits, found at any bit position.
#[derive(Default)]
struct Windows {
    all: HashSet<u64>,
    /// By the low 16 bits: most of what is looked up is not there.
    low: Vec<bool>,
}

impl Windows {
    /// As it is, negated and in reverse.
    fn add(&mut self, window: u64) {
        self.low.resize(1 << 16, false);
        for one in [window, !window, window.reverse_bits(), !window.reverse_bits()] {
            self.low[one as usize & 0xffff] = true;
            self.all.insert(one);
        }
    }

    fn add_blocks(&mut self, blocks: &[Block]) {
        for block in blocks.iter().map(|block| block.to_u128()) {
            self.add(block as u64);
            self.add((block >> 64) as u64);
        }
    }

    fn add_bits(&mut self, bits: &[bool]) {
        assert!(bits.len() >= 64);
        for bits in bits.windows(64) {
            self.add(bits.iter().rev().fold(0, |sum, &bit| sum << 1 | u64::from(bit)));
        }
    }

    fn occur(&self, bytes: &[u8]) -> bool {
        bytes.windows(16).any(|bytes| {
            let bits = u128::from_le_bytes(bytes.try_into().expect("16 bytes"));
            let at = |shift: u32| (bits >> shift) as u64;
            (0..8).map(at).any(|w| self.low[w as usize & 0xffff] && self.all.contains(&w))
        })
    }
}

/// Secrets of one side: blocks, bits in their order, and of the garbler Delta.
#[derive(Default)]
struct Secrets {
    blocks: Vec<Block>,
    bits: Vec<Vec<bool>>,
    delta: Label,
}

/// Cores and wires that are looked at.
const CORES: usize = 70;
const WIRES: usize = 64;

/// A request with inputs of both, ANDs, a multiplexer, and outputs for one side each.
fn request(session: &mut JimuSession, role: Role) -> Result<(), Fault> {
    let mut party = session.party();
    let bits: Vec<bool> = (0..WIRES).map(|i| i % 3 == 0).collect();
    let own = |owner: Role| (owner == role).then_some(&bits[..]);
    let x = party.input(Role::Garbler, WIRES, own(Role::Garbler))?;
    let y = party.input(Role::Evaluator, WIRES, own(Role::Evaluator))?;
    let products = party.and_many(&x[..20], &y[..20])?;
    let chosen = party.mux_many(&x[1], &x[2..10], &y[2..10])?;
    party.reveal(Receivers::Garbler, &products)?;
    party.reveal(Receivers::Evaluator, &chosen)?;
    Ok(())
}

/// Returns the secrets that a side has left after a request: wires that nobody has used, Delta,
/// choice bits.
fn left(session: &mut JimuSession) -> Result<Secrets, Fault> {
    let core = &mut session.core;
    let counts = [CORES, 0, 0, 0, 0];
    let mut found = Secrets::default();
    match &mut core.side {
        Side::Garbler(side) => {
            let (delta, depot) = (side.depot.delta(), &mut side.depot);
            let mut wires: Vec<Message> =
                cast_slice(&depot.ready()?.take_cores(&counts)?[0]).to_vec();
            for first in 0..3 {
                found.bits.push(wires[first..].iter().step_by(3).map(|w| w.perm.bit()).collect());
            }
            found.bits.push(wires.iter().map(|wire| wire.perm.bit()).collect());
            let (lease, _) = depot.take_escrowed(core.channels.control(), WIRES, WIRES)?;
            wires.extend_from_slice(cast_slice(&lease));
            drop(lease);
            let mut labels: Vec<Label> = wires.iter().map(|wire| wire.label).collect();
            let lease = depot.take_inputs(core.channels.control(), WIRES, WIRES)?;
            labels.extend_from_slice(cast_slice(&lease));
            labels.extend(labels.clone().iter().map(|label| *label ^ delta));
            labels.push(delta);
            found.delta = delta;
            found.blocks.extend(labels.iter().flat_map(|label| label.0));
            found.blocks.extend(wires.iter().map(|wire| wire.perm.0[0]));
        }
        Side::Evaluator(side) => {
            let (delta, depot) = (side.depot.delta(), &mut side.depot);
            let cores = depot.ready()?.take_cores(&counts)?[0].to_vec();
            let stride = cores.len() / CORES;
            // The tags of a bucket's base are its first blocks.
            let tags = cores.chunks(stride).flat_map(|core| &core[..6]).copied();
            found.blocks = tags.chain([delta]).collect();
            for tag in depot.take_escrowed(core.channels.control(), WIRES, WIRES)?.tags() {
                found.blocks.extend([tag.label, tag.perm]);
            }
            let wires = depot.take_inputs(core.channels.control(), WIRES, WIRES)?;
            let wires: Vec<InputWire> = InputWire::all(&wires).collect();
            found.blocks.extend(wires.iter().flat_map(|wire| [wire.tag, wire.label.key()]));
            found.bits.push(wires.iter().map(|wire| wire.choice).collect());
        }
    }
    core.channels.control().flush()?;
    Ok(found)
}

/// A session with a request: the secrets of both sides, and what the garbler sent and received.
fn session(rho: Rho) -> ([Secrets; 2], Recording) {
    let (mut own, other) = channels();
    let recording = own.record();
    let run = |channel: Channel, role: Role| {
        let prg = Prg::new(Block::new(40 + role as u128));
        let (id, params) = (SessionId([6; 32]), params(100, rho, false));
        let mut session = JimuSession::open(channel.into(), id, role, params, || prg, None)?;
        session.stock(CORES + 20)?;
        request(&mut session, role)?;
        left(&mut session)
    };
    let secrets = std::thread::scope(|scope| {
        let garbler = scope.spawn(|| run(own, Role::Garbler));
        let evaluator = run(other, Role::Evaluator);
        [garbler.join().expect("no panic"), evaluator]
            .map(|end: Result<_, Fault>| end.expect("honest"))
    });
    (secrets, recording)
}

/// The active labels of the garbler's inputs, which travel.
fn shown(recording: &Recording) -> Vec<Block> {
    let frames = recording.frames();
    let frame = frames.iter().find(|frame| frame.tag == tags::JIMU_LABELS.id).expect("inputs");
    let blocks = frame.payload.as_chunks::<16>().0.iter();
    blocks.map(|bytes| Block::from_bytes(*bytes)).collect()
}

#[test]
fn no_label_delta_permutation_bit_choice_or_tag_travels() {
    for rho in [Rho::Bits40, Rho::Bits64] {
        let ([garbler, evaluator], recording) = session(rho);
        let shown = shown(&recording);
        let mut windows = Windows::default();
        for secrets in [&garbler, &evaluator] {
            windows.add_blocks(&secrets.blocks);
            secrets.bits.iter().for_each(|bits| windows.add_bits(bits));
        }
        // The label that is not shown of each input.
        for label in shown.chunks(3) {
            let other: Vec<Block> =
                label.iter().zip(garbler.delta.0).map(|(a, b)| *a ^ b).collect();
            windows.add_blocks(&other);
        }
        let sent = recording.wire_bytes(Direction::Sent);
        let received = recording.wire_bytes(Direction::Received);
        assert!(
            sent.len() > 1 << 20 && received.len() > 1 << 14,
            "{} {}",
            sent.len(),
            received.len()
        );
        assert!(!windows.occur(&sent) && !windows.occur(&received), "{rho:?}");
        let mut windows = Windows::default();
        windows.add_blocks(&shown[..1]);
        assert!(windows.occur(&sent), "what is shown is found");
    }
}

/// A column over many wires.
pub(super) type Column = Vec<u64>;

/// Columns, of which sums are found.
#[derive(Default)]
pub(super) struct Span {
    basis: Vec<Column>,
}

impl Span {
    /// Adds a column; whether it was no sum of those before.
    pub(super) fn add(&mut self, mut column: Column) -> bool {
        for known in &self.basis {
            let pivot = known.iter().position(|word| *word != 0).expect("not zero");
            if column[pivot] >> known[pivot].trailing_zeros() & 1 == 1 {
                column.iter_mut().zip(known).for_each(|(a, b)| *a ^= b);
            }
        }
        let new = column.iter().any(|word| *word != 0);
        if new {
            self.basis.push(column);
        }
        new
    }
}

fn column(bits: impl IntoIterator<Item = bool>) -> Column {
    let bits: Vec<bool> = bits.into_iter().collect();
    let word = |word: &[bool]| word.iter().rev().fold(0, |sum, &bit| sum << 1 | u64::from(bit));
    bits.chunks(64).map(word).collect()
}

/// Of each code, the span of all that the evaluator sees of the wires of a batch of ANDs, and their
/// messages.
fn seen(rho: Rho) -> ([Span; 2], Vec<Message>) {
    let params = params(400, rho, false);
    let (mut own, other) = channels();
    let recording = own.record();
    // The first batch is that of Delta: a vector, the wires that prove it, and those that are sacrificed.
    let codes = params.codes;
    let sacrificed = codes.label_combinations.max(codes.perm_combinations) as usize * LANES;
    let first = (LANES + none(&params) + sacrificed) as u64;
    let wires: usize = 3 * 400;
    let lanes = wires.next_multiple_of(LANES);
    let (messages, planes) = supplies(
        (own, other),
        &params,
        50,
        |channel, depot| {
            depot.supply()?.fill(channel, 0)?;
            Ok(depot.supply()?.messages(first, wires))
        },
        |channel, depot| {
            depot.supply()?.fill(channel, 0)?;
            let frames = recording.frames();
            let strip = frames.iter().find(|frame| frame.tag == tags::JIMU_STRIP.id);
            let corrections = depot.supply()?.hash().corrections_len(lanes);
            let strip = &strip.expect("a batch").payload[..corrections];
            Ok(depot.supply()?.hash().seen(first, lanes, strip))
        },
    );
    let bits = [8, codes.perms.field_bits];
    let planes = planes.expect("honest");
    let spans = [0, 1].map(|code| {
        let mut span = Span::default();
        for plane in planes[code].chunks_exact(lanes) {
            for bit in 0..bits[code] {
                span.add(column(plane[..wires].iter().map(|byte| byte >> bit & 1 == 1)));
            }
        }
        span.add(column((0..wires).map(|_| true)));
        assert!(span.basis.len() + 200 < wires, "a random column has no chance");
        span
    });
    (spans, messages.expect("honest"))
}

/// Bits `range` of a block of every message, one column each; how many of these are no sums of the
/// columns before.
fn unseen(
    span: &mut Span,
    messages: &[Message],
    block: impl Fn(&Message) -> Block,
    range: std::ops::Range<usize>,
) -> usize {
    let bits = |bit: usize| messages.iter().map(move |message| (bit, message));
    let value = |(bit, message): (usize, &Message)| block(message).to_u128() >> bit & 1 == 1;
    range.filter(|&bit| span.add(column(bits(bit).map(value)))).count()
}

/// All that the evaluator has of a fresh wire, whatever it does with it: no sum of it is a sum of
/// bits of the key, or of the symbol with the permutation bit.
#[test]
fn keys_and_permutation_bits_are_no_sums_of_what_is_watched() {
    for rho in [Rho::Bits40, Rho::Bits64] {
        let ([mut of_labels, mut of_perms], messages) = seen(rho);
        let field = if rho == Rho::Bits40 { 6 } else { 8 };
        let keys = unseen(&mut of_labels, &messages, |m| m.label.key(), 0..128);
        let symbols = unseen(&mut of_perms, &messages, |m| m.perm.0[0], 0..field);
        assert_eq!((keys, symbols), (128, field), "{rho:?}");
        // Together with these, what is watched is everything: the columns are those of the messages.
        let labels = [1, 2].map(|i| unseen(&mut of_labels, &messages, |m| m.label.0[i], 0..128));
        let perms = unseen(&mut of_perms, &messages, |m| m.perm.0[0], 0..126);
        assert_eq!((labels, perms), ([0, 0], 0), "{rho:?}");
    }
}

/// The other symbols of a message are its values at the first places, of which some are watched: a key
/// made of them, as in the released code of JIMU, would be found.
#[test]
fn symbols_that_can_be_watched_are_found() {
    let ([mut of_labels, mut of_perms], messages) = seen(Rho::Bits40);
    let hidden = unseen(&mut of_labels, &messages, |m| m.label.0[1], 0..128);
    assert!(hidden.is_multiple_of(8) && hidden < 128, "{hidden}");
    let hidden = unseen(&mut of_perms, &messages, |m| m.perm.0[0], 6..126);
    assert!(hidden <= 6, "all but one symbol: {hidden}");
}
