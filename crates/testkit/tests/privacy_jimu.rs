//! The properties that an output test cannot see, for `jimu`: its messages repeat themselves many
//! times over, some come once a session, and most of what it hides are sums.
//!
//! `privacy.rs` searches for inputs and outputs; the secrets of the supply are searched for beside
//! the code, in `engine/src/backends/jimu/tests`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use cenote_circuit::{Clear, bits_of};
use cenote_engine::backends::jimu;
use cenote_engine::{Backend, Fault, Receivers, Role, Session, tags};
use cenote_net::{Direction, RecordedFrame, Tag, mem_pair};
use cenote_ot::{Choice, tags as ot, watch};
use cenote_pool::params::hash_codes;
use cenote_prim::{Block, Prg, SessionId, bits};
use cenote_testkit::canary;
use cenote_testkit::programs::{Kind, TestProgram};
use cenote_testkit::run::{patient_pair, prg_of, program_job, smallest};
use cenote_testkit::run_pair_over;

/// The frames of a session with a request for each of the inputs, seen from the garbler.
fn record(
    program: TestProgram,
    requests: &[Vec<Vec<bool>>],
    to: Receivers,
    seed: u128,
) -> Vec<RecordedFrame> {
    let (mut garbler, evaluator) = patient_pair();
    let recording = garbler.record();
    let ends = run_pair_over((garbler, evaluator), |channel, role| {
        let config = smallest(Backend::Jimu);
        let mut session = Session::open_seeded(channel, role, &config, prg_of(role, seed))?;
        for inputs in requests {
            session.run(&program_job(&program, role, inputs, to)?)?;
        }
        session.close();
        Ok::<_, Fault>(())
    });
    assert_eq!(ends, (Ok(()), Ok(())));
    recording.frames()
}

/// The frames of the set-up, then those of each request.
fn by_request(frames: Vec<RecordedFrame>) -> Vec<Vec<RecordedFrame>> {
    let mut requests: Vec<Vec<RecordedFrame>> = Vec::new();
    for frame in frames {
        if frame.tag == Tag::HELLO.id && frame.direction == Direction::Sent {
            requests.push(Vec::new());
        }
        requests.last_mut().expect("a hello comes first").push(frame);
    }
    requests
}

/// How often a bit was one.
#[derive(Clone, Copy, Default)]
struct Frequency {
    ones: usize,
    samples: usize,
}

/// Frequencies of the bits of each message, by their places.
type Frequencies = BTreeMap<String, Vec<Frequency>>;

/// Bits of an opening, a permutation message, a label.
const OPENING: usize = 512;
const PERM: usize = 128;
const LABEL: usize = 384;
/// Vectors of 64 wires of which an answer to a consistency check has sums: of labels, then of
/// permutation messages. A batch sacrifices as many as the larger number.
static COMBINATIONS: LazyLock<[usize; 2]> = LazyLock::new(|| {
    let codes = hash_codes(40).expect("in range");
    [codes.label_combinations, codes.perm_combinations].map(|count| count as usize)
});
/// Places, about, that are counted of a long message that does not repeat itself.
const SPREAD: usize = 600;

fn is_any(frame: &RecordedFrame, tags: &[Tag]) -> bool {
    tags.iter().any(|tag| tag.id == frame.tag)
}

/// After how many bits a message repeats itself, if it does.
fn period(frame: &RecordedFrame) -> Option<usize> {
    let openings = [jimu::tags::JIMU_CHECK, jimu::tags::JIMU_INNER, jimu::tags::JIMU_OUTER];
    let perms = [jimu::tags::JIMU_PERMS, jimu::tags::JIMU_BOND];
    let labels = [jimu::tags::JIMU_LABELS, jimu::tags::JIMU_PROOF];
    let all: [(&[Tag], usize); 4] =
        [(&openings, OPENING), (&perms, PERM), (&labels, LABEL), (&[jimu::tags::JIMU_SUM], 8)];
    all.into_iter().find(|(tags, _)| is_any(frame, tags)).map(|(_, period)| period)
}

/// Wires that prove the key of Delta.
const PROVING: usize = 128;
/// Bytes of corrections of a wire: 40 planes of symbols, 18 of packed ones.
const PLANES: usize = 58;

/// The corrections in a message: their first byte, and the lanes of their planes. Of a strip, which
/// has one of each, all that its length may be.
fn corrections(frame: &RecordedFrame) -> Vec<(usize, usize)> {
    let (len, last) = (frame.payload.len(), 64 * COMBINATIONS[0].max(COMBINATIONS[1]));
    if is_any(frame, &[jimu::tags::JIMU_DELTA]) {
        // The key's difference, a vector with Delta's wire and those that prove it, keys of these.
        let lanes = 64 + PROVING;
        return vec![(16, lanes), (16 + lanes * PLANES + 16 * PROVING, last)];
    }
    if is_any(frame, &[jimu::tags::JIMU_CLOSE]) {
        return vec![(0, last)];
    }
    if !is_any(frame, &[jimu::tags::JIMU_STRIP]) {
        return Vec::new();
    }
    // ANDs, wires for inputs, wires in escrow: wires and further bytes of each.
    let found = [(3, 144), (1, 16), (1, 0)].into_iter().filter_map(|(wires, more)| {
        let lanes = |items: usize| (wires * items).next_multiple_of(64);
        let items = (1..=4096).find(|items| lanes(*items) * PLANES + more * items == len);
        items.map(|items| (0, lanes(items)))
    });
    found.collect()
}

/// Whether a bit may be padding: a permutation message has 126 bits, its corrections fill a quarter
/// of their last plane.
fn padding(frame: &RecordedFrame) -> impl Fn(usize) -> bool {
    let (period, planes) = (period(frame), corrections(frame));
    let answer = is_any(frame, &[jimu::tags::JIMU_ANSWER]).then(|| 64 * COMBINATIONS[0] * LABEL);
    move |bit| match period {
        Some(OPENING) => bit % OPENING >= LABEL + 126,
        Some(PERM) => bit % PERM >= 126,
        Some(_) => false,
        None => {
            let perms = answer.and_then(|labels| bit.checked_sub(labels));
            let last = |&(first, lanes): &(usize, usize)| {
                let plane = first + (PLANES - 1) * lanes..first + PLANES * lanes;
                plane.contains(&(bit / 8)) && bit % 8 >= 2
            };
            planes.iter().any(last) || perms.is_some_and(|bit| bit % PERM >= 126)
        }
    }
}

/// A message by its name; strips of ANDs, of inputs and of escrow are laid out each in its way.
fn name_of(frame: &RecordedFrame) -> String {
    let known = tags::all().chain(ot::ALL).find(|tag| tag.id == frame.tag);
    let name = known.map_or("?", |tag| tag.name);
    if period(frame).is_some() { name.into() } else { format!("{name} {}", frame.payload.len()) }
}

/// Counts the bits of a message: repeated ones together, and spread over all of it if it is long.
fn count(found: &mut Frequencies, name: &str, frame: &RecordedFrame) {
    let (all, is_padding) = (8 * frame.payload.len(), padding(frame));
    let sure = corrections(frame).len() < 2 || is_any(frame, &[jimu::tags::JIMU_DELTA]);
    let (step, fold) = match period(frame) {
        Some(period) => (1, period),
        // An odd step meets every bit of a byte.
        None => ((all / SPREAD) | 1, all),
    };
    let places = found.entry(name.to_owned()).or_default();
    places.resize(fold.min(all), Frequency::default());
    for bit in (0..all).step_by(step) {
        let one = bits::get(&frame.payload, bit);
        if is_padding(bit) {
            assert!(!(one && sure), "{name}: padding at {bit}");
            continue;
        }
        places[bit % fold].ones += usize::from(one);
        places[bit % fold].samples += 1;
    }
}

/// Counts messages whose names begin like this: each, and the XOR of each with the one
/// before it of its name, which would lay a fixed value open if a mask were used twice.
fn count_session(found: &mut Frequencies, start: &str, frames: &[RecordedFrame]) {
    let mut before: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for frame in frames.iter().filter(|frame| name_of(frame).starts_with(start)) {
        let mut frame = frame.clone();
        let name = name_of(&frame);
        count(found, &name, &frame);
        let last = before.insert(name.clone(), frame.payload.clone()).unwrap_or_default();
        if !last.is_empty() {
            frame.payload.truncate(last.len());
            frame.payload.iter_mut().zip(last).for_each(|(byte, last)| *byte ^= last);
            count(found, &format!("{name} twice"), &frame);
        }
    }
}

/// Adds the counts of some sessions to those of others.
fn merge(all: &mut Frequencies, more: Frequencies) {
    for (name, places) in more {
        let sums = all.entry(name).or_default();
        sums.resize(sums.len().max(places.len()), Frequency::default());
        for (sum, place) in sums.iter_mut().zip(places) {
            sum.ones += place.ones;
            sum.samples += place.samples;
        }
    }
}

/// Places that lean to one side by more than six standard deviations.
fn leaning(found: &Frequencies) -> Vec<String> {
    let off = |frequency: &Frequency| {
        let (ones, samples) = (frequency.ones as f64, frequency.samples as f64);
        (ones - samples / 2.0).abs() > 6.0 * (samples / 4.0).sqrt()
    };
    let all = found.iter().flat_map(|(name, places)| {
        places.iter().enumerate().filter(|(_, place)| off(place)).map(move |place| (name, place))
    });
    all.map(|(name, (place, f))| format!("{name} at {place}: {} of {}", f.ones, f.samples))
        .collect()
}

/// Sessions for each case, and their requests.
const SESSIONS: u128 = 8;
const REQUESTS: usize = 14;

#[test]
fn every_bit_of_every_message_is_balanced_whatever_the_inputs() {
    let mut all = Frequencies::new();
    for (i, to) in Receivers::ALL.into_iter().enumerate() {
        for bit in [false, true] {
            let mut found = Frequencies::new();
            let requests = vec![vec![vec![bit; 16]; 2]; REQUESTS];
            for seed in 0..SESSIONS {
                let seed = 1000 * (2 * i as u128 + u128::from(bit)) + seed;
                let frames = record(TestProgram(Kind::Products), &requests, to, seed);
                count_session(&mut found, "jimu.", &frames);
            }
            let leaning = leaning(&found);
            assert!(leaning.is_empty(), "inputs {bit}, {to:?}: {leaning:?}");
            merge(&mut all, found);
        }
    }
    let leaning = leaning(&all);
    assert!(leaning.is_empty(), "{leaning:?}");
    // Six standard deviations are less than half of this many samples.
    let enough = |tag: &Tag| {
        let named = all.iter().filter(|(name, _)| name.starts_with(tag.name));
        named.flat_map(|(_, places)| places).any(|place| place.samples > 40)
    };
    // Those of compact storage, and an order, which has a number of a stock that both know.
    let others = [jimu::tags::JIMU_AGAIN, jimu::tags::JIMU_PATHS, jimu::tags::JIMU_ORDER];
    for tag in jimu::tags::ALL.iter().filter(|tag| !others.contains(tag)) {
        assert!(enough(tag), "{}", tag.name);
    }
}

#[test]
fn the_balance_test_finds_a_fixed_value_and_a_mask_used_twice() {
    let frame = |payload: Vec<u8>| RecordedFrame {
        direction: Direction::Received,
        tag: jimu::tags::JIMU_CHOICES.id,
        payload,
    };
    let mut prg = Prg::new(Block::new(3));
    let mut random = || prg.block().to_bytes()[..2].to_vec();
    let masked: Vec<RecordedFrame> = (0..100).map(|_| frame(random())).collect();
    let mut found = Frequencies::new();
    count_session(&mut found, "", &masked);
    assert_eq!(leaning(&found), Vec::<String>::new());
    // The top bit of each message in the clear.
    let mut open = masked.clone();
    open.iter_mut().for_each(|frame| frame.payload[1] |= 0x80);
    let mut found = Frequencies::new();
    count_session(&mut found, "", &open);
    assert!(leaning(&found).iter().any(|place| place.contains("at 15: 100 of 100")));
    // Each mask for four messages.
    let twice: Vec<_> = masked.into_iter().flat_map(|frame| vec![frame; 4]).collect();
    let mut found = Frequencies::new();
    count_session(&mut found, "", &twice);
    let sums = leaning(&found).iter().filter(|place| place.contains("twice")).count();
    assert_eq!(sums, 16);
}

/// Rows of bits.
type Row = Vec<u64>;

fn row(bits: impl IntoIterator<Item = bool>) -> Row {
    let bits: Vec<bool> = bits.into_iter().collect();
    let word = |word: &[bool]| word.iter().rev().fold(0, |sum, &bit| sum << 1 | u64::from(bit));
    bits.chunks(64).map(word).collect()
}

/// The columns of `targets` that are sums of columns of `views` and a constant.
fn explained(views: &[Vec<bool>], targets: &[Vec<bool>]) -> Vec<usize> {
    let column = |rows: &[Vec<bool>], i: usize| row(rows.iter().map(|row| row[i]));
    let mut basis: Vec<Row> = Vec::new();
    let reduce = |basis: &[Row], mut column: Row| {
        for known in basis {
            let pivot = known.iter().position(|word| *word != 0).expect("not zero");
            let bit = known[pivot].trailing_zeros();
            if column[pivot] >> bit & 1 == 1 {
                column.iter_mut().zip(known).for_each(|(a, b)| *a ^= b);
            }
        }
        column
    };
    let constant = row(views.iter().map(|_| true));
    for column in std::iter::once(constant).chain((0..views[0].len()).map(|i| column(views, i))) {
        let rest = reduce(&basis, column);
        if rest.iter().any(|word| *word != 0) {
            basis.push(rest);
        }
    }
    assert!(basis.len() + 40 < views.len(), "a random column has no chance");
    let found = |i: &usize| reduce(&basis, column(targets, *i)).iter().all(|word| *word == 0);
    (0..targets[0].len()).filter(found).collect()
}

fn unpack(bytes: &[u8], count: usize) -> Vec<bool> {
    (0..count).map(|bit| bits::get(bytes, bit)).collect()
}

/// Returns the bits that a listener could add up of a request: the symbols with the permutation
/// bits in everything that is opened, masked inputs, masked outputs.
fn view(frames: &[RecordedFrame]) -> Vec<bool> {
    let mut found = Vec::new();
    for frame in frames {
        let payload = &frame.payload;
        let first_symbols = |skip: usize, stride: usize| {
            let symbols = payload.chunks_exact(stride).flat_map(move |opened| &opened[skip..=skip]);
            symbols.flat_map(|byte| (0..6).map(move |bit| byte >> bit & 1 == 1)).collect::<Vec<_>>()
        };
        match frame.tag {
            tag if tag == jimu::tags::JIMU_OUTER.id => found.extend(first_symbols(48, 64)),
            tag if tag == jimu::tags::JIMU_BOND.id => found.extend(first_symbols(0, 16)),
            tag if tag == jimu::tags::JIMU_PERMS.id => found.extend(first_symbols(0, 16)),
            tag if tag == jimu::tags::JIMU_CHOICES.id => found.extend(unpack(payload, 8)),
            tag if tag == jimu::tags::JIMU_RESULT.id => found.extend(unpack(payload, 16)),
            _ => {}
        }
    }
    found
}

/// Which are sums of what travels online: of the products, the garbler's input, both of them outputs
/// of [`Kind::Echo`], and the evaluator's input.
fn told(to: Receivers) -> Vec<usize> {
    let program = TestProgram(Kind::Echo);
    let inputs: Vec<Vec<Vec<bool>>> = (0..320).map(|seed| program.inputs(seed)).collect();
    let (mut views, mut targets) = (Vec::new(), Vec::new());
    for (seed, inputs) in inputs.chunks(80).enumerate() {
        let frames = record(program, inputs, to, 5000 + seed as u128);
        // The first hello is that of the session.
        views.extend(by_request(frames)[1..].iter().map(|frames| view(frames)));
        let target = |inputs: &Vec<Vec<bool>>| {
            [Clear::eval(&program, inputs).concat(), inputs[1].clone()].concat()
        };
        targets.extend(inputs.iter().map(target));
    }
    explained(&views, &targets)
}

#[test]
fn no_sum_of_what_travels_tells_a_value_that_one_side_receives() {
    for to in [Receivers::Garbler, Receivers::Evaluator] {
        assert_eq!(told(to), Vec::<usize>::new(), "{to:?}");
    }
    // What both receive is in the open: masked values and permutation bits. That the evaluator's
    // input is not shows that the others are not found by chance.
    assert_eq!(told(Receivers::Both), (0..16).collect::<Vec<usize>>());
}

/// Watch lists, one after the other, with the same seeds and the same places each time: the places,
/// and the frames seen from the sender.
fn watch_lists(lists: u64, seeds: &[Block], watched: usize) -> (Vec<u8>, Vec<RecordedFrame>) {
    let session = SessionId([9; 32]);
    let (mut own, peer) = mem_pair();
    let recording = own.record();
    let ends = run_pair_over((own, peer), |mut channel, role| {
        let (channel, mut prg) = (&mut channel, prg_of(role, 71));
        let mut places = Vec::new();
        if role == Role::Garbler {
            let delta = prg.block().with_lsb(true);
            let mut cot = Choice::default().sender(channel, &session, 0, delta, &mut prg)?;
            for list in 0..lists {
                watch::send(channel, &mut *cot, &session, list, seeds, watched, &mut prg)?;
            }
        } else {
            let mut cot = Choice::default().receiver(channel, &session, 0, &mut prg)?;
            for list in 0..lists {
                let (n, prg) = (seeds.len(), &mut Prg::new(Block::new(2)));
                let found = watch::receive(channel, &mut *cot, &session, list, n, watched, prg)?;
                places = found.positions.to_vec();
            }
        }
        Ok::<_, Fault>(places)
    });
    (ends.1.expect("honest"), recording.frames())
}

#[test]
fn watch_lists_tell_neither_places_nor_seeds() {
    let mut seeds = vec![Block::ZERO; 40];
    Prg::new(Block::new(1)).fill(&mut seeds);
    let (places, frames) = watch_lists(200, &seeds, 17);
    let mut found = Frequencies::new();
    let own = [ot::CHOICES, ot::MASKED, ot::WATCH_COMMIT, ot::WATCH_SECRET];
    let frames: Vec<RecordedFrame> =
        frames.into_iter().filter(|frame| is_any(frame, &own)).collect();
    count_session(&mut found, "ot.", &frames);
    assert_eq!(found.len(), 2 * own.len());
    assert_eq!(leaning(&found), Vec::<String>::new());
    // One seed that is watched and one that is not.
    let other = (0..40).find(|place| !places.contains(place)).expect("some are not");
    let bytes: Vec<u8> = frames.iter().take(40).flat_map(|frame| &frame.payload).copied().collect();
    for place in [places[0], other] {
        let seed = bits_of(seeds[usize::from(place)].to_u128(), 128);
        assert!(!canary::occurs(&seed, &bytes), "the seed at {place}");
    }
}
